"""Both verdicts of human limits at the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synovia import Pose, quat
from synovia.demo import wild
from synovia.population import limits_for
from synovia.view.angles import joint_angles
from synovia.view.display import check_clip
from synovia.view.messages import Empty
from synovia.view.poses import JointPoseRequest, outside_deg
from synovia.view.reasons import explain
from synovia.view.scene import scene_of, with_limits
from synovia.view.session import Session
from twins import walker


def test_unusual_joints_have_negative_angles():
    """Of a walk whose elbow is bent back by 12 degrees, then by 60."""
    walk = walker()
    rotations, elbow = np.array(walk.pose.rotations), walk.skeleton.index("mixamorig:LeftForeArm")
    rotations[10:20, elbow] = quat.exp(np.radians([0.0, 12.0, 0.0]))
    rotations[20:30, elbow] = quat.exp(np.radians([0.0, 60.0, 0.0]))
    clip = replace(walk, pose=Pose(rotations, walk.pose.positions))
    session = Session(scene_of(limits_for(clip).model, clip))
    assert session.state().two_verdicts
    place = session.scene.limited.index(elbow)
    angles = check_clip(session, Empty()).outside_deg
    assert (angles[:10] == 0.0).all()
    assert (angles[10:20, place] < 0.0).all()
    assert (angles[20:30, place] > 30.0).all()
    for frame in (5, 15, 25):
        pose = Pose(rotations[frame], walk.pose.positions[frame])
        np.testing.assert_allclose(outside_deg(session.scene, pose), angles[frame], atol=1e-3)
        if frame > 5:
            request = JointPoseRequest(
                frame=frame, rotations=rotations[frame].ravel(), joint="mixamorig:LeftForeArm"
            )
            why = explain(session, request)
            assert why.name == "left elbow"
            assert why.move == "extension"
            np.testing.assert_allclose(why.outside_deg, abs(angles[frame, place]), rtol=0.02)
    session.edit(lambda model: with_limits(model, {**model.limits}), "nothing", None)
    assert session.scene.model.usual is not None


def test_the_panel_says_what_findings_say():
    clip = wild()
    human = limits_for(clip)
    session = Session(scene_of(human.model, clip))
    for finding in human.check(clip)[1]:
        rotations = clip.pose.rotations[finding.frame].ravel()
        request = JointPoseRequest(frame=finding.frame, rotations=rotations, joint=finding.joint)
        shown = {axis.name: axis.deg for axis in joint_angles(session, request).axes}
        expected = {name: np.degrees(angle) for name, angle in finding.angles.items()}
        assert shown == pytest.approx(expected, abs=1e-4)
        why = explain(session, request)
        assert (why.name, why.move) == (finding.name, finding.direction)
        np.testing.assert_allclose(why.outside_deg, np.degrees(finding.violation), atol=0.01)
