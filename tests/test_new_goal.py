"""A goal that a user adds in one file: by joints, by controls, in clips and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

from arms import arm
from synovia import Clip, Pose, forward, human, load_clip, save_clip, save_limits
from synovia.cli import main
from synovia.ik import GOALS, Comfort, JointGoal, Reach, follow, solve, solve_controls
from synovia.model import LimitModel


@dataclass(frozen=True, eq=False)
class Height(JointGoal):
    """A joint should be at the height of a target; its other coordinates do not matter."""

    joint: str
    target: np.ndarray
    weight: float = 1.0
    priority: int = 0

    is_length: ClassVar[bool] = True

    def residual(self, model, pose, world):
        joint = model.skeleton.index(self.joint)
        return (self.target - world[0][..., joint, :])[..., 1:2]


MODEL = arm()
BONES = MODEL.skeleton
REST = BONES.rest_pose()


def heights(n, seed=0):
    positions, _ = forward(BONES, MODEL.sample(n, np.random.default_rng(seed)))
    return positions[:, -1] * [0.0, 1.0, 0.0]


def test_joints_meet_a_new_goal_within_their_limits():
    targets = heights(5)
    solution = solve(MODEL, BONES, REST, [Height("Hand", targets)])
    assert solution.converged.all()
    assert MODEL.contains(solution.pose).all()
    positions, _ = forward(BONES, solution.pose)
    np.testing.assert_allclose(positions[:, -1, 1], targets[:, 1], atol=1e-3)
    np.testing.assert_allclose(solution.errors[:, 0], 0.0, atol=1e-3)


def test_known_goals_beside_a_new_one_end_as_in_the_kernels():
    positions, _ = forward(BONES, MODEL.sample(4, np.random.default_rng(3)))
    goals = [Reach("Wrist", positions[:, 3]), Height("Wrist", positions[:, 3])]
    solution = solve(MODEL, BONES, REST, goals)
    assert solution.converged.all()
    assert MODEL.contains(solution.pose).all()


def test_a_soft_goal_without_joints_may_stand_beside_a_new_one():
    free = LimitModel({}, BONES)
    assert solve(free, BONES, REST, [Height("Hand", heights(1)[0]), Comfort()]).converged


def test_a_new_goal_that_cannot_be_met_names_what_holds_it():
    solution = solve(MODEL, BONES, REST, [Height("Hand", [0.0, 9.0, 0.0])], joints=["Elbow"])
    assert not solution.converged
    assert MODEL.contains(solution.pose)
    assert list(solution.blocking()) == ["Elbow"]
    assert solution.reason().startswith("Hand is ")


def test_controls_meet_a_new_goal():
    body = human()
    solution = solve_controls(body, (), [Height("LeftHand", [0.0, 1.4, 0.0])])
    assert solution.converged
    positions, _ = forward(body.skeleton, solution.pose)
    assert positions[body.skeleton.index("LeftHand"), 1] == pytest.approx(1.4, abs=2e-3)


def still_clip(frames=4):
    rotations = np.tile(REST.rotations, (frames, 1, 1))
    return Clip(BONES, Pose(rotations, np.tile(REST.positions, (frames, 1, 1))), 1 / 30)


def test_a_clip_follows_a_new_goal():
    driven = follow(MODEL, still_clip(), [Height("Hand", [0.0, 1.3, 0.0])])
    assert driven.solution.converged[-1]
    assert MODEL.contains(driven.clip.pose).all()


def test_the_command_line_knows_a_registered_goal(tmp_path, monkeypatch):
    monkeypatch.setitem(GOALS, "height", Height)
    save_clip(still_clip(), tmp_path / "still.bvh")
    save_limits(LimitModel(MODEL.limits, BONES), tmp_path / "arm.limits.json")
    words = ["solve", str(tmp_path / "still.bvh"), "-l", str(tmp_path / "arm.limits.json")]
    words += ["-o", str(tmp_path / "out.bvh")]
    result = CliRunner().invoke(main, [*words, "-g", "height:Hand=0,1.3,0"])
    assert result.exit_code == 0, result.output
    heights_reached = forward(BONES, load_clip(tmp_path / "out.bvh").pose)[0][:, -1, 1]
    np.testing.assert_allclose(heights_reached, 1.3, atol=1e-3)
    unknown = CliRunner().invoke(main, [*words, "-g", "depth:Hand=0,1.3,0", "--force"])
    assert unknown.exit_code == 2
    assert "no joint 'depth:Hand'" in unknown.output
