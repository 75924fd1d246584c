"""Comfort: a wish that keeps joints and controls away from their limits."""

import math

import numpy as np
import pytest

from synovia import LimitModel, Skeleton, human, quat
from synovia.charts import DirectionTwist, RotationVector, SwingTwist
from synovia.ik import Comfort, Orient, Reach, Stay, follow, solve, solve_controls, track
from synovia.kernels.ik_goals import TURN_SHARE
from synovia.limit import Limit
from synovia.shapes import Box, KDop, ReachCone
from synovia.shapes.derived import Offset
from synovia.skeleton import Clip, Pose, forward

Z = np.array([0.0, 0.0, 1.0])
CHAIN = Skeleton(("A", "B", "C", "Hand"), [-1, 0, 1, 2], [[0, 0, 0], *3 * [[1.0, 0, 0]]])
WIDTHS = {"A": (-1.2, 1.2), "B": (-0.4, 2.0), "C": (-0.3, 1.0)}
MARGIN = 0.5


def hinge(low, high):
    """A hinge about z, in radians."""
    return Limit(SwingTwist(axis=Z), Box([0.0, 0.0, low], [0.0, 0.0, high], np.eye(3)))


HINGES = LimitModel({name: hinge(*ends) for name, ends in WIDTHS.items()}, CHAIN)


def planar(angles):
    """The pose of the chain with these angles about z, (..., 3)."""
    turns = np.concatenate([angles, np.zeros_like(angles[..., :1])], axis=-1)
    rotations = quat.exp(turns[..., None] * Z)
    return Pose(rotations, np.broadcast_to(CHAIN.offsets, (*rotations.shape[:-1], 3)))


def angles_of(pose):
    return quat.log(pose.rotations)[..., :3, 2]


def discomfort_by_joint(angles):
    """How much nearer to an end than the margin each angle is."""
    low, high = np.array(list(WIDTHS.values())).T
    inside = np.minimum(MARGIN, 0.5 * (high - low))
    return np.maximum(np.maximum(low + inside - angles, angles - high + inside), 0.0)


def discomfort(angles):
    return np.square(discomfort_by_joint(angles)).sum(axis=-1)


@pytest.mark.parametrize("target", [(2.0, 1.7, 0.0), (1.2, 1.9, 0.0), (0.5, 2.3, 0.0)])
def test_the_optimum_is_that_of_brute_force(target):
    weight = 0.01
    goals = [Reach("Hand", np.array(target)), Comfort(margin=MARGIN, weight=weight)]
    found = solve(HINGES, CHAIN, planar(np.array([0.2, 1.0, 0.3])), goals, joints=["A", "B", "C"])
    assert found.converged
    assert HINGES.contains(found.pose).all()
    low, high = np.array(list(WIDTHS.values())).T
    grid = np.stack(
        np.meshgrid(*(np.linspace(a, b, 61) for a, b in zip(low, high, strict=True))), axis=-1
    ).reshape(-1, 3)
    spread = 0.04

    def cost(angles):
        far = forward(CHAIN, planar(angles))[0][..., 3, :] - target
        return np.square(far / 3.0).sum(-1) + (weight * TURN_SHARE) ** 2 * discomfort(angles)

    best, rng = grid[cost(grid).argmin()], np.random.default_rng(0)
    for _ in range(60):  # a search by chance around the best of the grid, ever nearer
        near = np.clip(best + spread * rng.normal(size=(4000, 3)), low, high)
        near[0] = best
        best, spread = near[cost(near).argmin()], 0.8 * spread
    assert cost(angles_of(found.pose)) <= 1.02 * cost(best) + 1e-12
    assert found.errors[1] == pytest.approx(
        max(np.abs(discomfort_by_joint(angles_of(found.pose)))), abs=1e-9
    )


def test_it_decides_what_goals_leave_open_and_takes_nothing_from_them():
    start = planar(np.array([0.9, 0.1, 0.9]))
    target = forward(CHAIN, start)[0][3]
    goals = [Reach("Hand", target)]
    joints = ["A", "B", "C"]
    eased = solve(HINGES, CHAIN, start, [*goals, Comfort(margin=MARGIN)], joints=joints)
    assert eased.converged
    assert discomfort(angles_of(eased.pose)) < 0.5 * discomfort(angles_of(start))
    ranked = solve(
        *(HINGES, CHAIN, start),
        [*goals, Orient("C", quat.exp(1.6 * Z), priority=1), Comfort(margin=MARGIN)],
        joints=joints,
    )
    assert ranked.errors[0] < 3.0 * 2e-4


def test_joints_that_are_at_ease_stay_where_they_are():
    start = planar(np.array([0.0, 0.8, 0.35]))
    found = solve(HINGES, CHAIN, start, [Comfort(margin=0.2)], joints=["A", "B", "C"])
    assert np.array_equal(found.pose.rotations, start.rotations)
    assert found.errors[0] == 0.0


def shapes():
    """A limit of every kind of distance: convex, directional, thin, and without a kernel."""
    square = np.array([[1, 1, 2], [-1, 1, 2], [-1, -1, 2], [1, -1, 2]]) / math.sqrt(6.0)
    points = np.random.default_rng(1).normal(scale=0.4, size=(60, 3))
    return {
        "kdop": Limit(RotationVector(), KDop.fit(points)),
        "cone": Limit(DirectionTwist(axis=Z), ReachCone(square, [-0.5] * 4, [0.5] * 4)),
        "universal": Limit(DirectionTwist(axis=Z), ReachCone(square, [0.0] * 4, [0.0] * 4)),
        "hinge": hinge(-0.3, 1.0),
        "offset": Limit(RotationVector(), Offset(Box(-np.ones(3), np.ones(3), np.eye(3)), 0.1)),
    }


@pytest.mark.parametrize("name", shapes())
def test_every_family_goes_into_its_smaller_limit(name):
    limit = shapes()[name]
    model = LimitModel({"B": limit}, CHAIN)
    goal = Comfort(["B"], margin=0.1)
    inner, depth = goal.limits(model)["B"]
    edge = limit.project(quat.exp(np.random.default_rng(2).normal(size=(6, 3))))
    rotations = np.tile(quat.IDENTITY, (6, 4, 1))
    rotations[:, 1] = edge
    start = Pose(rotations, np.tile(CHAIN.offsets, (6, 1, 1)))
    found = solve(model, CHAIN, start, [goal], joints=["B"])
    assert model.contains(found.pose).all()
    left = inner.distance(found.pose.rotations[:, 1]) + depth
    assert left.max() < 2e-3
    assert found.errors[:, 0] == pytest.approx(
        np.maximum(left, 0.0),
        abs=1e-9 if limit.compiled else 1e-5,
    )


def test_limits_that_are_measured_from_an_ancestor():
    limit = Limit(RotationVector(), Box(-0.6 * np.ones(3), 0.6 * np.ones(3), np.eye(3)), "A")
    model = LimitModel({"C": limit, "B": hinge(-1.0, 1.0)}, CHAIN)
    start = planar(np.array([0.0, 0.5, 0.1]))
    found = solve(model, CHAIN, start, [Comfort(["C"], margin=0.3), Stay(start, weight=1e-4)])
    both = quat.log(quat.mul(found.pose.rotations[1], found.pose.rotations[2]))
    assert np.abs(both).max() < 0.31
    assert model.contains(found.pose).all()
    assert angles_of(found.pose)[1] < 0.45  # the joint between gives way, too


def test_clips_and_tracks_take_it():
    start = planar(np.array([0.9, 0.1, 0.9]))
    target = forward(CHAIN, start)[0][3]
    goals = [Reach("Hand", target), Comfort(margin=MARGIN, weight=0.05)]
    clip = Clip(
        CHAIN, Pose(np.tile(start.rotations, (12, 1, 1)), np.tile(CHAIN.offsets, (12, 1, 1))), 0.1
    )
    driven = follow(HINGES, clip, goals, joints=["A", "B", "C"])
    assert driven.solution.converged.all()
    assert driven.solution.errors[-1, 1] < driven.solution.errors[0, 1] + 1e-9
    assert discomfort(angles_of(driven.clip.pose))[-1] < 0.6 * discomfort(angles_of(start))
    pose = start
    for _ in range(40):
        pose = track(HINGES, CHAIN, pose, goals, joints=["A", "B", "C"]).pose
    assert discomfort(angles_of(pose)) < 0.6 * discomfort(angles_of(start))


def test_controls_keep_away_from_the_ends_of_their_ranges():
    body = human()
    start = {"left_elbow.flexion": 20.0, "left_shoulder.flexion": 60.0, "left_wrist.flexion": 80.0}
    place = forward(body.skeleton, body.pose(start))[0][body.skeleton.index("LeftHand")]
    arm = ["left_shoulder.flexion", "left_shoulder.abduction", "left_shoulder.twist"]
    only = [*arm, "left_elbow.flexion", "left_elbow.pronation", "left_wrist.flexion"]
    goals = [Reach("LeftHand", place + np.array([0.0, 0.02, -0.12]))]
    plain = solve_controls(body, start, goals, only=only)
    eased = solve_controls(body, start, [*goals, Comfort(margin=math.radians(15.0))], only=only)
    assert plain.converged
    assert eased.converged
    wrist = list(body.controls).index("left_wrist.flexion")
    assert plain.controls[wrist] == pytest.approx(80.0, abs=1.0)
    # Nothing but two wishes moves the wrist: to stay, and to be at ease; the optimum is their mean.
    low, high = -85.0, 85.0
    share, ease = (80.0 - low) / (high - low), 1.0 - 15.0 / (high - low)
    stay, away = 0.01 / share, 0.01 * TURN_SHARE * math.radians(high - low)
    mean = (stay**2 * share + away**2 * ease) / (stay**2 + away**2)
    assert eased.controls[wrist] == pytest.approx(low + mean * (high - low), abs=0.01)
    at_ease = solve_controls(
        body, start, [*goals, Comfort(margin=math.radians(15.0), weight=1.0)], only=only
    )
    assert at_ease.converged
    assert at_ease.errors[1] < math.radians(0.1)
    low, _, high = body.ranges
    assert (eased.controls >= low).all()
    assert (eased.controls <= high).all()
    far = solve_controls(body, eased.controls, [Comfort(["LeftHand"], margin=math.radians(2.0))])
    assert np.array_equal(far.controls, eased.controls)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Comfort("B"), "Comfort.joints must be a list of names"),
        (lambda: Comfort(margin=0.0), "Comfort.margin must be above 0"),
        (lambda: Comfort(margin=[1.0]), "Comfort.margin must be above 0"),
        (lambda: Comfort(weight=-1.0), "Comfort.weight must be a number above 0"),
        (
            lambda: solve(HINGES, CHAIN, CHAIN.rest_pose(), [Comfort(["Hand"])]),
            "Comfort.joints must have limits, got Hand without one",
        ),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()
