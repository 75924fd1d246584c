"""Controls of a figure found for goals: within their ranges, and near to what they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synovia import Figure, Pose, ReachCone, Skeleton, human, quat
from synovia.components import (
    ArrayComponent,
    Compensation,
    Control,
    Curve,
    Dependency,
    JointCone,
    JointSet,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
    Translation,
)
from synovia.ik import Aim, Orient, Reach, SearchSettings, Stay, solve_controls
from synovia.ik.controls import ControlVariables
from synovia.ik.search import search
from synovia.skeleton import forward

BODY = human()
ONCE = SearchSettings(restarts=0)


def turn(axis, segment):
    return Network({"turn": Rotation(axis)}, {"turn.angle": "angle"}, {segment: "turn.matrix"})


def arm(low=0.0, high=2.5):
    """A shoulder that turns about z and y, and an elbow that bends about z; radians."""
    bones = Skeleton(
        ("Chest", "Collar", "Arm", "Forearm", "Hand"),
        [-1, 0, 1, 2, 3],
        [[0, 1, 0], [0, 0, 0], [0, 0, 0], [0.3, 0, 0], [0.3, 0, 0]],
    )
    sets = {
        "raise": JointSet(turn([0, 1, 0], "Collar"), {"angle": Control(-1.0, 1.5)}),
        "swing": JointSet(turn([0, 0, 1], "Arm"), {"angle": Control(-1.0, 1.0)}),
        "elbow": JointSet(turn([0, 0, 1], "Forearm"), {"angle": Control(low, high, low)}),
        "still": JointSet(turn([1, 0, 0], "Hand"), {"angle": Control(0.0, 0.0)}),
    }
    return Figure(bones, sets)


def scattered(figure, n, seed=0):
    low, high = np.array([(each.low, each.high) for each in figure.controls.values()]).T
    return low + (high - low) * np.random.default_rng(seed).random((n, len(low)))


def placed(figure, pose, name):
    joint = figure.skeleton.index(name)
    where, how = forward(figure.skeleton, pose)
    return where[..., joint, :], how[..., joint, :]


def in_range(found):
    low, high = np.array([(c.low, c.high) for c in found.figure.controls.values()]).T
    return bool(((found.controls >= low) & (found.controls <= high)).all())


def test_what_controls_reach_is_found_again():
    figure = arm()
    target, _ = placed(figure, figure.pose(scattered(figure, 12)), "Hand")
    found = solve_controls(figure, (), [Reach("Hand", target)])
    assert found.converged.all()
    assert in_range(found)
    assert found.errors.max() < 2e-4 * 0.6
    assert found.iterations.shape == (12,)
    np.testing.assert_array_equal(found.pose.rotations, figure.pose(found.controls).rotations)
    missed = np.linalg.norm(placed(figure, found.pose, "Hand")[0] - target, axis=1)
    np.testing.assert_allclose(found.errors[:, 0], missed, atol=1e-12)
    assert figure.contains(Pose(found.pose.rotations[0], found.pose.positions[0]))
    assert found.reason(0) == "all goals are met"
    assert found.blocking(0) == {}


def test_many_problems_are_solved_as_one_by_one():
    figure = arm()
    target, _ = placed(figure, figure.pose(scattered(figure, 4, seed=1)), "Hand")
    whole = solve_controls(figure, (), [Reach("Hand", target.reshape(2, 2, 3))])
    for item in np.ndindex(2, 2):
        one = solve_controls(figure, (), [Reach("Hand", target[2 * item[0] + item[1]])])
        np.testing.assert_array_equal(whole.controls[item], one.controls)


@pytest.mark.parametrize("seed", range(3))
def test_what_cannot_be_reached_comes_as_near_as_can_be(seed):
    """Against all controls of a fine grid."""
    figure = arm(0.2, 1.2)
    target = np.random.default_rng(seed).normal([0.2, 1.0, 0.0], 0.4)
    found = solve_controls(figure, (), [Reach("Hand", target)])
    axes = [np.linspace(c.low, c.high, 31) for c in figure.controls.values() if c.low < c.high]
    grid = np.stack(np.meshgrid(*axes, [0.0], indexing="ij"), axis=-1).reshape(-1, 4)
    reached, _ = placed(figure, figure.pose(grid), "Hand")
    assert found.errors[0] < np.linalg.norm(reached - target, axis=1).min() + 1e-4
    assert in_range(found)


def test_controls_at_their_end_are_named():
    figure = arm()
    goal = Reach("Hand", [-0.5, 1.0, 0.0])
    found = solve_controls(figure, (), [goal])
    assert not found.converged
    assert found.at_end() == {"swing.angle": 1.0, "elbow.angle": 2.5}
    assert found.blocking_controls() == {"swing.angle": 1.0}
    wider = solve_controls(arm(0.0, 2.6), (), [goal])  # does not help, so it does not block
    assert wider.errors[0] > found.errors[0] - 1e-3
    assert found.reason().startswith("Hand is 0.")
    assert found.reason().endswith(" its target: held by the range of swing.angle at 1")
    far = solve_controls(figure, (), [Reach("Hand", [3.0, 1.0, 0.0])])
    assert far.at_end() == {"elbow.angle": 0.0}
    assert far.reason().endswith(" from its target: beyond the chain's reach for Hand")
    both = solve_controls(figure, (), [Reach("Hand", [[-0.5, 1.0, 0.0], [3.0, 1.0, 0.0]])])
    np.testing.assert_array_equal(both.beyond, [[False], [True]])
    with pytest.raises(ValueError, match="this is for one problem"):
        solve_controls(figure, (), [Reach("Hand", [[3.0, 1.0, 0.0]])]).at_end()


def test_other_goals_only_some_controls_and_a_start():
    figure = arm()
    start = {"swing.angle": 0.4, "elbow.angle": 1.0}
    there = figure.pose([0.5, 0.4, 1.5, 0.0])
    elbow, rotation = placed(figure, there, "Forearm")
    found = solve_controls(figure, start, [Orient("Forearm", rotation)])
    assert found.converged
    assert quat.angle_between(placed(figure, found.pose, "Forearm")[1], rotation) < 1e-3
    seen = elbow + 2.0 * quat.rotate(rotation, np.array([1.0, 0.0, 0.0]))
    aimed = solve_controls(figure, start, [Aim("Forearm", seen, axis=[1, 0, 0])])
    assert aimed.converged
    only = solve_controls(figure, start, [Reach("Hand", [0.3, 1.2, 0.1])], only=["raise.angle"])
    np.testing.assert_array_equal(only.controls[1:], figure.values(start)[1:])
    stay = solve_controls(figure, start, [Stay(there)])
    assert stay.converged  # a wish is no demand
    np.testing.assert_allclose(stay.controls, [0.5, 0.4, 1.5, 0.0], atol=1e-3)
    np.testing.assert_allclose(
        solve_controls(figure, start, [Reach("Chest", [0, 1, 0])]).controls, figure.values(start)
    )


def test_a_wish_decides_what_goals_leave_open():
    figure = arm()
    aim = Aim("Forearm", [0.0, 3.0, 0.0], axis=[1, 0, 0])
    bent, straight = figure.pose([0.0, 0.3, 1.3, 0.0]), figure.pose([0.0, 1.0, 0.6, 0.0])
    a, b = (solve_controls(figure, (), [aim, Stay(pose)]) for pose in (bent, straight))
    assert a.converged
    assert b.converged
    assert a.controls[2] > b.controls[2] + 0.3


@pytest.mark.parametrize(
    ("goals", "options", "said"),
    [
        ([Reach("Hnad", [0, 0, 0])], {}, "no joint 'Hnad'; did you mean Hand"),
        ([], {}, "goals must be some of Reach, Aim, Orient, Stay"),
        (["Hand"], {}, "goals must be some of"),
        ([Reach("Hand", [0, 0, 0])], {"only": ["elbow"]}, "no control 'elbow'; did you mean"),
        ([Reach("Hand", [0, 0, 0])], {"only": "elbow.angle"}, "only must be a list"),
        (
            [Reach("Hand", np.zeros((2, 3))), Aim("Hand", np.zeros((3, 3)))],
            {},
            "leading axes that go together",
        ),
        ([Stay(Skeleton(("a",), [-1], [[0, 0, 0]]).rest_pose())], {}, "pose must have the"),
    ],
)
def test_it_says_what_is_wrong(goals, options, said):
    with pytest.raises(ValueError, match=said):
        solve_controls(arm(), (), goals, **options)


def test_the_human_reaches_what_it_can_reach():
    """The hand and its turn, of poses all over the ranges."""
    pose = BODY.pose(scattered(BODY, 2, seed=3))
    where, how = placed(BODY, pose, "LeftHand")
    found = solve_controls(BODY, (), [Reach("LeftHand", where), Orient("LeftHand", how)])
    assert found.converged.all()
    assert in_range(found)
    legs = [n for n, name in enumerate(BODY.controls) if "hip" in name or "knee" in name]
    np.testing.assert_array_equal(found.controls[:, legs], 0.0)


def test_the_human_leans_little_where_the_arm_can_do_it():
    found = solve_controls(BODY, (), [Reach("LeftHand", [0.2, 1.3, 0.4])])
    values = dict(zip(BODY.controls, found.controls, strict=True))
    assert found.converged
    assert values["left_elbow.flexion"] > 30.0
    assert abs(values["thoracic.bend"]) < 10.0


def every_step():
    """A figure whose joint set has each kind of component that is compiled, with two controls."""
    around = 2.0 * np.pi * np.arange(9) / 9
    ring = np.stack([np.sin(0.6) * np.cos(around), np.sin(0.6) * np.sin(around)], axis=1)
    cone = ReachCone(np.column_stack([ring, np.full(9, np.cos(0.6))]), -0.4, 0.3)
    parts = {
        "map": OneToMany(
            {
                "a": Curve([-1.0, 0.0, 1.0, 2.0], [-0.5, 0.1, 0.4, 0.3], "spline"),
                "b": Curve([-0.5, 0.5], [0.2, 0.9], beyond="extend"),
                "c": Curve([-1.0, 0.2, 1.0], [0.0, 0.3, -0.2], low=-0.1),
            }
        ),
        "follows": Dependency(exact=Curve([-1.0, 1.0], [0.5, -0.5])),
        "bound": Dependency(lower=Curve([-1.0, 1.0], [-0.4, 0.5]), upper=Curve([0, 1], [0.5, 0.6])),
        "turn": Rotation([0, 1, 1], [-1.0, 0.1, 1.5], [[0, 0.1, 0], [0.1, 0, 0.2]]),
        "swing": Rotation([1, 0, 0]),
        "slide": Translation([0.1, 0.0, 0.0], [[1, 0, 0], [0, 0.6, 0.8], [0, 0, 1]]),
        "both": MatrixProduct(("slide", "turn", "swing")),
        "kept": Compensation([0.1, 0.2, 0.3], ("turn",)),
        "cone": JointCone(cone, [0, 0, 1], [0.1, 0.0, 0.2]),
        "angles": JointCone(cone, [0, 0, 1]),
        "last": Rotation([0, 0, 1]),
        "tip": MatrixProduct(("cone", "last")),
    }
    wires = {
        "map.value": "one",
        "follows.driver": "two",
        "bound.driver": "two",
        "bound.value": "one",
        "turn.angle": "map.a",
        "swing.angle": "bound.value",
        "slide.x": "map.b",
        "slide.y": "follows.value",
        "both.slide": "slide.matrix",
        "both.turn": "turn.matrix",
        "both.swing": "swing.matrix",
        "kept.ancestor": "both.matrix",
        "kept.turn": "turn.matrix",
        "cone.matrix": "swing.matrix",
        "cone.twist": "map.c",
        "angles.matrix": "both.matrix",
        "last.angle": "angles.second",
        "tip.cone": "cone.matrix",
        "tip.last": "last.matrix",
    }
    outputs = {"Arm": "both.matrix", "Forearm": "kept.matrix", "Hand": "tip.matrix"}
    network = Network(parts, wires, outputs)
    bones = Skeleton(
        ("Chest", "Arm", "Forearm", "Hand"), [-1, 0, 1, 2], [[0, 1, 0]] + [[0.3, 0, 0]] * 3
    )
    ranges = {"one": Control(-0.9, 1.9), "two": Control(-0.9, 0.9)}
    return Figure(bones, {"all": JointSet(network, ranges)})


def problem_of(figure, start, goals):
    free = [k for k, each in enumerate(figure.controls.values()) if each.low < each.high]
    return ControlVariables.of(figure, np.asarray(start, float), goals, free)


@pytest.mark.parametrize("name", ["arm", "steps", "human"])
def test_gradients_are_those_of_finite_differences(name):
    figure = {"arm": arm, "steps": every_step, "human": lambda: BODY}[name]()
    tip = "LeftHand" if name == "human" else "Hand"
    other = "RightFoot" if name == "human" else "Forearm"
    rng, off = np.random.default_rng(2), []
    for start in scattered(figure, 12, seed=4):
        goals = [
            Reach(tip, rng.normal(size=3), point=[0.1, 0.0, 0.2]),
            Orient(tip, quat.exp(rng.normal(size=3))),
            Aim(other, rng.normal(size=3), axis=[1, 2, 0], weight=0.5),
            Stay(figure.pose(scattered(figure, 1, seed=5)[0]), [tip, other], weight=0.3),
        ]
        problem = problem_of(figure, start, goals if rng.random() < 0.5 else goals[:3])
        assert problem.task is not None
        home = problem.shares_at(problem.start)
        share = np.clip(home + rng.normal(scale=0.1, size=len(problem.free)), 0.02, 0.98)
        trial = problem.trials(share[None])
        problem.descend(trial, 0)
        plain = replace(problem, task=None)
        oracle = plain.trials(share[None])
        plain.descend(oracle, 0)
        np.testing.assert_allclose(trial.squares, oracle.squares, rtol=1e-12)
        np.testing.assert_allclose(trial.errors, oracle.errors, atol=1e-12)
        np.testing.assert_allclose(problem.squares(share[None]), trial.squares, rtol=1e-12)
        off.append(np.abs(trial.downhill - oracle.downhill).max())
    assert np.median(off) < 1e-6  # the kernels' own differences are one-sided
    assert np.sort(off)[-3] < 1e-5  # not where a curve or a limit has a corner between differences


@pytest.mark.parametrize("seed", range(6))
def test_kernels_come_as_near_as_numpy(seed):
    rng, figure = np.random.default_rng(seed), every_step()
    where, how = placed(figure, figure.pose(scattered(figure, 1, seed=seed)[0]), "Hand")
    aside = 0.2 * rng.normal(size=3) * (seed % 2)  # which no controls can reach
    goals = [Reach("Hand", where + aside), Orient("Hand", how)]
    problem = problem_of(figure, figure.pose().controls, goals)
    home, settings = problem.shares_at(problem.start), SearchSettings()
    trial, slow = problem.trials(home[None]), problem.trials(home[None])
    search(problem, trial, settings)
    search(replace(problem, task=None), slow, settings)
    assert trial.errors.max() <= max(slow.errors.max() * (1.0 + 1e-3), 2e-4)
    assert ((trial.shares >= 0.0) & (trial.shares <= 1.0)).all()


def test_a_figure_with_a_component_of_ones_own_is_solved_by_differences():
    class Twice(ArrayComponent):
        kind = "twice-as-far"
        inputs = {"angle": "scalar"}  # noqa: RUF012
        outputs = {"angle": "scalar"}  # noqa: RUF012

        def evaluate(self, angle):
            return (2.0 * angle,)

    network = Network(
        {"twice": Twice(), "turn": Rotation([0, 0, 1])},
        {"twice.angle": "bend", "turn.angle": "twice.angle"},
        {"Arm": "turn.matrix"},
    )
    bones = Skeleton(("Body", "Arm", "Hand"), [-1, 0, 1], [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    figure = Figure(bones, {"arm": JointSet(network, {"bend": Control(-0.7, 0.7)})})
    found = solve_controls(figure, (), [Reach("Hand", [np.cos(0.8), np.sin(0.8), 0.0])])
    assert found.converged
    assert found.controls == pytest.approx([0.4], abs=1e-3)
    fitted = figure.controls_for(found.pose)
    np.testing.assert_allclose(fitted.controls, found.controls, atol=1e-9)


def test_priorities_are_refused():
    figure = arm()
    goals = [Reach("Hand", [0.5, 1.1, 0.0]), Reach("Hand", [0.4, 1.0, 0.0], priority=1)]
    with pytest.raises(ValueError, match="priorities are for joints, not for controls"):
        solve_controls(figure, {}, goals)
