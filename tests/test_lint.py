"""Lint: each rule finds what was broken on purpose, and where; a clean file has no findings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import run
from synovia import Clip, Pose, Skeleton, load_limits, quat
from synovia.export.lint import RULES, lint_ranges
from synovia.io.ranges import limits_from_ranges, read_ranges
from synovia.rigs.canonical import mujoco_cmu_skeleton

SHARED = Path(__file__).parents[2] / "shared" / "data"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared captures are not here")

URDF = """<robot name="arms">
  <link name="base"/>
  <link name="left_arm"><visual/></link>
  <link name="left_hand"><visual/></link>
  <link name="right_arm"><visual/></link>
  <link name="right_hand"><visual/></link>
  <joint name="left_lift" type="revolute">
    <parent link="base"/><child link="left_arm"/><origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1.2" upper="0.5" effort="1" velocity="1"/>
  </joint>
  <joint name="right_lift" type="revolute">
    <parent link="base"/><child link="right_arm"/><origin xyz="-0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="1.2" effort="1" velocity="1"/>
  </joint>
  <joint name="left_bend" type="revolute">
    <parent link="left_arm"/><child link="left_hand"/><origin xyz="0.3 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.2" upper="2.4" effort="1" velocity="1"/>
  </joint>
  <joint name="right_bend" type="revolute">
    <parent link="right_arm"/><child link="right_hand"/><origin xyz="-0.3 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.2" upper="2.4" effort="1" velocity="1"/>
  </joint>
</robot>
"""
LEFT, RIGHT = 'lower="-1.2" upper="0.5"', 'lower="-0.5" upper="1.2"'
BEND = '<limit lower="-0.2" upper="2.4" effort="1" velocity="1"/>'
MUTATIONS = {
    "exchanged": (LEFT, 'lower="0.5" upper="-1.2"', 9),
    "rest-outside": (LEFT, 'lower="0.1" upper="0.5"', 9),
    "everything": (LEFT, 'lower="-3.14159" upper="3.14159"', 9),
    "half-turn": (LEFT, 'lower="-3.1" upper="0.0"', 9),
    "units": (LEFT, 'lower="-70" upper="30"', 9),
    "axis-length": ('<axis xyz="0 1 0"/>', '<axis xyz="0 2 0"/>', 9),
    "sides": (RIGHT, 'lower="-1.2" upper="0.5"', 13),
    "coupling": (BEND, BEND + '<mimic joint="right_lift" multiplier="3"/>', 17),
}


def findings(tmp_path, text, name="a.urdf", **more):
    path = tmp_path / name
    path.write_text(text)
    return lint_ranges(read_ranges(path), **more)


def test_a_clean_file_has_no_findings(tmp_path):
    assert findings(tmp_path, URDF) == []
    assert "nothing wrong" in run("lint", tmp_path / "a.urdf")


@pytest.mark.parametrize("rule", MUTATIONS)
def test_what_is_broken_is_found_where_it_stands(rule, tmp_path):
    old, new, line = MUTATIONS[rule]
    assert old in URDF
    found = findings(tmp_path, URDF.replace(old, new, 1))
    ours = [each for each in found if each.rule == rule]
    assert ours
    assert ours[0].line == line
    assert {each.rule for each in found} <= {
        rule,
        "sides",
        "rest-outside",
        "everything",
        "half-turn",
    }


@pytest.mark.parametrize("rule", ["exchanged", "rest-outside", "units", "sides", "coupling"])
def test_what_is_suggested_repairs_it(rule, tmp_path):
    old, new, _ = MUTATIONS[rule]
    broken = URDF.replace(old, new, 1)
    found = next(each for each in findings(tmp_path, broken) if each.rule == rule)
    assert found.source
    ends = f'lower="{found.low:.5f}" upper="{found.high:.5f}"'
    target = new if rule != "coupling" else 'lower="-0.2" upper="2.4"'
    again = findings(tmp_path, broken.replace(target, ends, 1) if rule != "sides" else
                     ends.join(broken.rsplit(target, 1)))  # fmt: skip
    assert rule not in {each.rule for each in again}


def test_gimbal_lock_and_units_in_mjcf(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    body = """<mujoco><compiler angle="degree"/><worldbody><body name="a"><geom size="1"/>
    <joint name="x" axis="1 0 0" range="-40 40"/>
    <joint name="y" axis="0 1 0" range="-40 {}"/>
    <joint name="z" axis="0 0 1" range="-40 40"/></body></worldbody></mujoco>"""
    assert findings(tmp_path, body.format(80), "a.xml") == []
    for end, words in ((120, "has gimbal lock inside"), (89.5, "reaches gimbal lock")):
        (found,) = findings(tmp_path, body.format(end), "a.xml")
        assert (found.rule, found.line) == ("gimbal-lock", 3)
        assert words in found.message
        assert np.degrees(found.high) == pytest.approx(85.0)
    small = body.format(0.7).replace("-40 40", "-1.2 1.2").replace("-40", "-0.7")
    (found,) = findings(tmp_path, small, "a.xml")
    assert found.rule == "units"
    assert "radians, probably" in found.message


@pytest.mark.parametrize("axis", ["1 0 0", "0.9 0 0.436"])
def test_a_hinge_that_twists_does_not_fold_a_bone(axis, tmp_path):
    twisting = URDF.replace(LEFT, 'lower="-3.1" upper="0.0"').replace("0 1 0", axis, 1)
    assert "half-turn" not in {each.rule for each in findings(tmp_path, twisting)}


def test_a_hinge_without_a_range_is_no_half_turn(tmp_path):
    free = URDF.replace('name="left_lift" type="revolute"', 'name="left_lift" type="continuous"')
    assert findings(tmp_path, free) == []


@pytest.mark.parametrize(
    ("equality", "high"),
    [
        ('polycoef="0 1 0 0 0"', None),
        ('polycoef="0 0 0.5 0 0"', None),  # 0 to 28.6°, at both ends
        ('polycoef="0 0 1.5 0 0"', 1.5),
        ('polycoef="0 0 0 0 2"', 2.0),
        ('polycoef="0 2 0 -1 0"', np.sqrt(2 / 3) * 4 / 3),  # between the ends
        ('polycoef="0 3 0 -2.5 0"', np.sqrt(0.4) * 2.0),
        ('polycoef="0 0 1.5 0 0" active="false"', None),
    ],
)
def test_a_coupling_has_all_coefficients(equality, high, tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    text = f"""<mujoco><compiler angle="radian"/><worldbody>
    <body name="a"><joint name="x" range="-1 1"/>
      <body name="b" pos="1 0 0"><joint name="y" range="-1 1"/></body></body></worldbody>
    <equality><joint joint1="y" joint2="x" {equality}/></equality></mujoco>"""
    found = [each for each in findings(tmp_path, text, "a.xml") if each.rule == "coupling"]
    assert [each.high for each in found] == ([] if high is None else [pytest.approx(high)])
    assert all(each.line == 4 for each in found)


OPENSIM = """<OpenSimDocument Version="40500"><Model name="m"><JointSet><objects>
<CustomJoint name="{side}_hip"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/{side}_leg</socket_child_frame>
<coordinates><Coordinate name="spread"><range>-0.5 0.9</range><clamped>{clamped}</clamped>
</Coordinate></coordinates>
<SpatialTransform><TransformAxis name="rotation1"><coordinates>spread</coordinates>
<axis>1 0 0</axis><LinearFunction><coefficients>{slope} 0</coefficients></LinearFunction>
</TransformAxis></SpatialTransform></CustomJoint></objects></JointSet></Model></OpenSimDocument>"""


def test_opensim_coordinates_turn_either_way_and_may_have_no_range(tmp_path):
    path = tmp_path / "a.osim"
    for slope, axis in (("1", [1, 0, 0]), ("-1", [-1, 0, 0])):
        path.write_text(OPENSIM.format(side="left", clamped="true", slope=slope))
        (hinge,) = read_ranges(path).hinges
        np.testing.assert_array_equal(hinge.axis, axis)
        assert (hinge.low, hinge.high) == (-0.5, 0.9)
    path.write_text(OPENSIM.format(side="left", clamped="true", slope="0.5"))
    assert read_ranges(path).hinges == ()
    path.write_text(OPENSIM.format(side="left", clamped="false", slope="1"))
    assert lint_ranges(read_ranges(path)) == []


@shared
@pytest.mark.parametrize("name", ["g1_29dof.urdf", "g1_old.xml"])
def test_a_robot_with_wide_motors_has_no_findings(name):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    model = SHARED / "wild" / "models" / name
    if not model.is_file():
        pytest.skip("the shared models of Unitree's G1 are not here")
    assert lint_ranges(read_ranges(model)) == []


def test_captures_break_ranges_or_hardly_use_them(tmp_path):
    (tmp_path / "a.urdf").write_text(URDF)
    file = read_ranges(tmp_path / "a.urdf")
    skeleton = file.skeleton
    vectors = np.zeros((100, len(skeleton), 3))
    vectors[:, skeleton.index("left_arm"), 1] = np.linspace(-1.5, 0.4, 100)
    vectors[:, skeleton.index("left_hand"), 0] = 0.1
    pose = Pose(quat.exp(vectors), np.tile(skeleton.offsets, (100, 1, 1)))
    found = lint_ranges(file, clips=[Clip(skeleton, pose, 1 / 30)])
    by_rule = {(each.rule, each.joint): each for each in found}
    outside = by_rule["captures-outside", "left_arm"]
    assert "in 16% of frames, by up to 17.2°" in outside.message
    assert outside.low == pytest.approx(-1.5)
    assert ("unused", "left_hand") in by_rule
    other = Clip(Skeleton(("One", "Two"), [-1, 0], np.ones((2, 3))), Pose(
        np.tile(quat.IDENTITY, (1, 2, 1)), np.ones((1, 2, 3))), 1 / 30, "other")  # fmt: skip
    with pytest.raises(ValueError, match="other has other joints than"):
        lint_ranges(file, clips=[other])


def test_limits_that_ranges_exclude(tmp_path):
    (tmp_path / "a.urdf").write_text(URDF)
    wide = URDF.replace(LEFT, 'lower="-1.8" upper="0.5"')
    (tmp_path / "wide.urdf").write_text(wide)
    other = limits_from_ranges(read_ranges(tmp_path / "wide.urdf"))
    found = lint_ranges(read_ranges(tmp_path / "a.urdf"), limits=[other])
    assert [(each.rule, each.joint) for each in found] == [("limits-outside", "left_arm")]
    assert found[0].low == pytest.approx(-1.8, abs=0.02)
    said = run("lint", tmp_path / "a.urdf", "--against", tmp_path / "wide.urdf", "--json", code=1)
    (only,) = json.loads(said)["findings"]
    assert only["low_deg"] == pytest.approx(np.degrees(found[0].low))


def test_every_rule_says_what_it_yields():
    assert all((rule.__doc__ or "").startswith("Yield ") for rule in RULES)


# Files that are known to be wrong.


@shared
def test_the_cmu_humanoid(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    found = lint_ranges(read_ranges(SHARED / "dm_control" / "humanoid_CMU_V2020.xml"))
    rest = {each.joint: each.message for each in found if each.rule == "rest-outside"}
    assert rest == dict.fromkeys(("ltibia", "rtibia"), "the rest pose is outside by 0.57°")
    locked = {each.joint for each in found if each.rule == "gimbal-lock"}
    assert locked == {"lhumerus", "rhumerus"}


@shared
def test_the_rig_of_the_cmu_humanoid_is_that_of_its_file():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    there = read_ranges(SHARED / "dm_control" / "humanoid_CMU_V2020.xml").skeleton
    here = mujoco_cmu_skeleton()
    assert here.names == there.names
    np.testing.assert_array_equal(here.parents, there.parents)
    np.testing.assert_allclose(here.offsets, there.offsets, atol=1e-4)


@shared
def test_the_dance_of_131_is_outside_of_its_own_limits():
    from synovia import load_clip

    folder = SHARED / "cmu_asfamc"
    clip = load_clip(folder / "131_04-dance.amc", skeleton=folder / "131-dance.asf")
    found = lint_ranges(read_ranges(folder / "131-dance.asf"), clips=[clip])
    broken = {each.joint: each.message for each in found if each.rule == "captures-outside"}
    assert "84% of frames" in broken["lhumerus"]
    assert "100% of frames" in broken["lwrist"]
    model = load_limits(folder / "131-dance.asf")  # and the limits are like any other
    part = replace(clip, pose=Pose(clip.pose.rotations[:40], clip.pose.positions[:40]), origin=None)
    assert model.check(part).violation.max() > 0.3
    assert model.check(model.project(part)).violation.max() < 1e-6
