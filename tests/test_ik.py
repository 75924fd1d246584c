"""Goals within limits: legal whatever happens, met where they can be, and said why not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arms import FAMILIES, X, arm, hinge, legs, of_family, skeleton
from oracles import random_quats
from synovia import kernels, quat
from synovia.ik import Aim, Orient, Reach, SearchSettings, Stay, solve, track
from synovia.ik.problem import pack
from synovia.model import LimitModel
from synovia.skeleton import Pose, Skeleton, forward

CHAIN = 0.9  # from the arm's shoulder to its hand


@pytest.fixture(scope="module")
def model():
    return arm()


def at(pose, item):
    return Pose(pose.rotations[item], pose.positions[item])


def hands(model, n, seed=0, joint=-1):
    """Where legal poses put the hand, so that all can be met."""
    where, how = forward(model.skeleton, model.sample(n, np.random.default_rng(seed)))
    return where[:, joint], how[:, joint]


def all_goals(model, rng):
    other = at(model.sample(1, rng), 0)
    return [
        Reach("Hand", rng.normal(size=3), point=[0.1, 0.2, 0.3]),
        Aim("Elbow", rng.normal(size=3), axis=[1.0, 0.2, 0.0], point=[0.0, 0.1, 0.0], weight=2.0),
        Orient("Wrist", random_quats(1, rng)[0]),
        Stay(other, weight=0.3),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_finite_differences(model, seed):
    rng = np.random.default_rng(seed)
    pose = at(model.sample(1, rng), 0)
    problem = pack(model, model.skeleton, pose, all_goals(model, rng), free_root=True)
    chain, target = problem.chain, problem.targets[0]
    work, goals = kernels.ik_chain.new_work(chain), chain.goals
    q, p = np.array(problem.start.rotations), np.array(problem.start.positions)
    basis, world, state = work.basis, work.world, work.state
    kernels.ik_chain.refresh_basis(chain.movers, chain.ways, chain.swings, chain.basis, q, basis)

    def gaps(x):
        turned, moved, steps = q.copy(), p.copy(), x.reshape(-1, 3)
        for step, axes, joint in zip(steps, basis, problem.movers, strict=False):
            turned[joint] = quat.mul(q[joint], quat.exp(step @ axes.reshape(3, 3)))
        moved[chain.slides] += steps[len(basis) :]
        out, k = np.zeros(3 * len(goals)), kernels.ik_goals
        k.place(chain.parents, chain.order, turned, moved, world)
        k.find_gaps(goals, target, turned, world, state)
        k.weigh(goals, 0.7, state, out)
        return out

    slopes = work.jacobian[kernels.ik_chain.ALL]
    variables = len(slopes)
    steps = 1e-6 * np.eye(variables)
    expected = np.stack([(gaps(-step) - gaps(step)) / 2e-6 for step in steps])
    gaps(np.zeros(variables))
    kernels.ik_goals.refresh_rates(goals, target, 0.7, world, state)
    kernels.ik_goals.refresh_jacobian(
        chain.movers, goals, chain.moves, basis, world, state, work.jacobian
    )
    assert basis.reshape(-1, 3, 3).any(axis=2).sum(axis=1).tolist() == [3, 3, 1, 2, 3]
    assert np.abs(slopes - expected).max() < 1e-8


def test_a_joint_without_twist_is_stepped_along_its_limit(model):
    """Steps along its axes leave the limit only to second order, wherever it is."""
    limit = model.limits["Wrist"]
    rotations = limit.sample(50, np.random.default_rng(6))
    for q in (*rotations, quat.IDENTITY):
        pose = model.skeleton.rest_pose().rotations.copy()
        pose[3] = q
        problem = pack(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", X)])
        chain = problem.chain
        basis = kernels.ik_chain.new_work(chain).basis
        kernels.ik_chain.refresh_basis(
            chain.movers, chain.ways, chain.swings, chain.basis, pose, basis
        )
        axes = basis[2, :6].reshape(2, 3)
        np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
        _, twist = quat.swing_twist(quat.mul(q, quat.exp(1e-4 * axes)), X)
        assert np.abs(quat.log(twist)).max() < 1e-7


def test_what_can_be_reached_is_reached(model):
    where, _ = hands(model, 300)
    found = solve(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", where)])
    assert found.converged.all()
    assert model.contains(found.pose).all()
    reached, _ = forward(model.skeleton, found.pose)
    error = np.linalg.norm(reached[:, -1] - where, axis=-1)
    np.testing.assert_allclose(found.errors[:, 0], error, atol=1e-12)
    assert error.max() <= 1e-3 * CHAIN


def test_the_hand_is_turned_as_asked(model):
    where, how = hands(model, 200, joint=3)
    goals = [Reach("Wrist", where), Orient("Wrist", how)]
    found = solve(model, model.skeleton, model.skeleton.rest_pose(), goals)
    assert found.converged.all()
    _, turned = forward(model.skeleton, found.pose)
    off = quat.angle_between(turned[:, 3], how)[found.converged]
    assert off.max() < np.radians(0.2)


def test_it_comes_as_near_as_scipy_does():
    """Beyond reach and within, on a chain of hinges with ranges: boxes that SciPy can do too."""
    from scipy.optimize import least_squares

    axes = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    low, high = np.array([-1.0, -0.5, 0.0]), np.array([1.0, 0.9, 2.0])
    names = ("Shoulder", "Elbow", "Wrist")
    chain = skeleton()
    limits = {n: hinge(a, lo, hi) for n, a, lo, hi in zip(names, axes, low, high, strict=True)}
    model = LimitModel(limits, chain)

    def hand(angles):
        rotations = chain.rest_pose().rotations.copy()
        rotations[1:4] = quat.exp(angles[:, None] * axes)
        return forward(chain, Pose(rotations, chain.offsets))[0][-1]

    rng = np.random.default_rng(2)
    targets = chain.offsets[:2].sum(axis=0) + rng.normal(scale=0.5, size=(25, 3))
    found = solve(model, chain, chain.rest_pose(), [Reach("Hand", targets)], joints=names)
    for k, target in enumerate(targets):
        best = min(
            np.linalg.norm(
                least_squares(lambda a, t=target: hand(a) - t, x, bounds=(low, high)).fun
            )
            for x in rng.uniform(low, high, size=(6, 3))
        )
        assert found.errors[k, 0] <= best + 0.01 * CHAIN
        assert found.converged[k] == (best < 1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_the_pose_is_legal_whatever_happens(family, seed, scale):
    model, rng = of_family(family), np.random.default_rng(seed)
    start = Pose(random_quats(5, rng), rng.normal(scale=0.3, size=(5, 3)))
    goals = [
        Reach("Hand", scale * rng.normal(size=3)),
        Aim("Wrist", scale * rng.normal(size=3), axis=rng.normal(size=3)),
        Orient("Elbow", random_quats(1, rng)[0]),
        Stay(start),
    ]
    some = [goals[k] for k in rng.permutation(4)[: 1 + seed % 4]]
    found = solve(model, model.skeleton, start, some, settings=SearchSettings(iterations=12))
    assert model.contains(found.pose)
    assert np.isfinite(found.errors).all()
    assert found.errors.shape == (len(some),)
    legal = model.project(Pose(quat.normalize(start.rotations), start.positions))
    expected = quat.angle_between(start.rotations, legal.rotations)
    np.testing.assert_allclose(found.start_correction, expected, atol=1e-7)
    kept = np.delete(np.arange(5), 0)
    assert found.pose.positions[kept].tobytes() == start.positions[kept].tobytes()


def test_a_batch_gives_the_same_answers_as_one_by_one(model):
    where, _ = hands(model, 40, seed=5)
    targets = np.where(np.arange(40)[:, None] % 3 == 0, 1.5 * where, where).reshape(4, 10, 3)
    rest = model.skeleton.rest_pose()
    many = solve(
        model, model.skeleton, rest, [Reach("Hand", targets)], settings=SearchSettings(threads=3)
    )
    assert many.pose.rotations.shape == (4, 10, 5, 4)
    for item in np.ndindex(4, 10):
        one = solve(model, model.skeleton, rest, [Reach("Hand", targets[item])])
        assert one.pose.rotations.tobytes() == many.pose.rotations[item].tobytes()
        assert one.iterations == many.iterations[item]
        assert one.reason() == many.reason(item)


def test_it_says_that_a_target_is_beyond_the_chain(model):
    found = solve(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", [9.0, 1.2, 0])])
    assert not found.converged
    assert found.beyond.tolist() == [True]
    assert "beyond the chain's reach for Hand" in found.reason()


def test_it_says_which_joint_blocks_and_by_how_much():
    """A straight arm whose elbow bends by 60 degrees at most, and a target that needs 90."""
    chain = skeleton(4)
    model = LimitModel({"Elbow": hinge([0.0, 0.0, 1.0], 0.0, np.radians(60.0))}, chain)
    pose = chain.rest_pose()
    elbow = chain.offsets[:3].sum(axis=0)
    found = solve(
        model, chain, pose, [Reach("Wrist", elbow + np.array([0.0, 0.3, 0.0]))], joints=["Elbow"]
    )
    assert not found.converged
    assert list(found.blocking()) == ["Elbow"]
    assert found.blocking()["Elbow"] == pytest.approx(np.radians(30.0), abs=1e-2)
    assert "Elbow (30.0 degrees more)" in found.reason()
    free = solve(
        model,
        chain,
        pose,
        [Reach("Wrist", elbow + 0.3 * quat.rotate(quat.exp(np.array([0.0, 0.0, 0.9])), X))],
        joints=["Elbow"],
    )
    assert free.converged
    assert free.blocking() == {}
    assert free.reason() == "all goals are met"


def test_error_goes_to_the_joints_that_are_still_free():
    """The first of two hinges stops early; the second makes up for it, unlike after a clamp."""
    chain = skeleton(4)
    limits = {
        "Shoulder": hinge([0.0, 0.0, 1.0], -0.2, 0.2),
        "Elbow": hinge([0.0, 0.0, 1.0], -2.0, 2.0),
    }
    model, target = LimitModel(limits, chain), np.array([0.85, 1.47, 0.0])
    goals, names = [Reach("Wrist", target)], ["Shoulder", "Elbow"]
    found = solve(
        model, chain, chain.rest_pose(), goals, joints=names, settings=SearchSettings(restarts=0)
    )
    wide = LimitModel({n: hinge([0.0, 0.0, 1.0], -3.0, 3.0) for n in names}, chain)
    clamped = model.project(solve(wide, chain, chain.rest_pose(), goals, joints=names).pose)
    after = np.linalg.norm(forward(chain, clamped)[0][-1] - target)
    assert model.distance(found.pose)[1] == pytest.approx(0.0, abs=1e-6)
    assert found.errors[0] < 0.5 * after


def test_only_the_chosen_joints_move(model):
    where, _ = hands(model, 20, seed=8)
    rest = model.skeleton.rest_pose()
    found = solve(model, model.skeleton, rest, [Reach("Hand", where)], joints=["Elbow", "Wrist"])
    assert (found.pose.rotations[:, [0, 1, 4]] == rest.rotations[[0, 1, 4]]).all()
    assert (found.pose.positions == rest.positions).all()


def test_a_tree_with_a_free_root_and_pins():
    """One foot of two legs stays, the other goes, and the hip follows."""
    model = legs()
    body, rest, target = model.skeleton, model.skeleton.rest_pose(), np.array([-0.1, 0.0, 0.9])
    goals = [Reach("RightFoot", target)]
    assert not solve(model, body, rest, goals, pinned=["LeftFoot"]).converged
    free = solve(model, body, rest, goals, pinned=["LeftFoot"], free_root=True)
    where, _ = forward(body, free.pose)
    assert free.converged
    assert model.contains(free.pose)
    assert np.linalg.norm(where[3] - forward(body, rest)[0][3]) < 1e-3
    assert np.linalg.norm(where[6] - target) < 1e-3
    assert len(free.goals) == 2


def test_weights_decide_between_contradictory_goals(model):
    a, b = hands(model, 2, seed=4)[0]
    rest = model.skeleton.rest_pose()
    for heavy, light in ((a, b), (b, a)):
        goals = [Reach("Hand", heavy, weight=30.0), Reach("Hand", light)]
        found = solve(model, model.skeleton, rest, goals)
        assert not found.converged
        assert found.errors[0] < 0.05 * found.errors[1]
        assert "contradict" in found.reason() or "held" in found.reason()


def test_an_aim_straight_back_finds_a_way_round():
    chain = skeleton()
    found = solve(
        LimitModel({}, chain), chain, chain.rest_pose(), [Aim("Shoulder", [-9.0, 1.2, 0.0], axis=X)]
    )
    assert found.converged
    assert found.errors[0] < 1e-3


def test_stay_decides_what_goals_leave_open(model):
    where, _ = hands(model, 20, seed=11)
    start = model.sample(20, np.random.default_rng(12))
    plain = solve(model, model.skeleton, start, [Reach("Hand", where)])
    near = solve(model, model.skeleton, start, [Reach("Hand", where), Stay(start)])
    assert near.converged.mean() > 0.9
    assert (
        near.errors[:, 1].mean()
        <= quat.angle_between(plain.pose.rotations, start.rotations).max(axis=-1).mean()
    )


def test_joints_of_another_skeleton_are_matched_by_name(model):
    own = model.skeleton
    other = Skeleton(tuple(f"rig:{name}" for name in own.names), own.parents, 1.1 * own.offsets)
    found = solve(model, other, other.rest_pose(), [Reach("rig:Hand", [0.7, 1.6, 0.2])])
    assert found.converged
    assert model.contains(found.pose)


def test_tracking_follows_without_jumps(model):
    """Warm starts, no restarts, short steps: no joint turns far in a frame."""
    t = np.linspace(0.0, 2.0 * np.pi, 120)
    path = np.array([0.75, 1.2, 0.1]) + 0.25 * np.stack([np.cos(t) - 1, np.sin(t), 0 * t], axis=1)
    pose = solve(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", path[0])]).pose
    for target in path[1:]:
        found = track(model, model.skeleton, pose, [Reach("Hand", target)])
        assert quat.angle_between(pose.rotations, found.pose.rotations).max() < np.radians(10.0)
        assert model.contains(found.pose)
        pose = found.pose


def test_tracking_keeps_up_with_what_moves_slowly(model):
    place = hands(model, 1, seed=4)[0][0]
    pose = solve(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", place)]).pose
    for angle in np.linspace(0.0, 2.0 * np.pi, 40):
        target = place + 0.03 * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        found = track(model, model.skeleton, pose, [Reach("Hand", target)])
        assert found.converged
        pose = found.pose


def test_tracking_lags_behind_a_target_that_jumps(model):
    a, b = hands(model, 2, seed=4)[0]
    start = solve(model, model.skeleton, model.skeleton.rest_pose(), [Reach("Hand", a)]).pose
    found = track(model, model.skeleton, start, [Reach("Hand", b)], largest_turn=0.1)
    turned = quat.angle_between(start.rotations, found.pose.rotations)
    assert not found.converged
    assert 0.05 < turned.max() < 0.101
