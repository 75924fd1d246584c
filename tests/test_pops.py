"""Clips without pops: legal frames only, bounded steps, and as near to the input as that allows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from clips import clamp_path, wave
from synovia import (
    SHAPES,
    Beyond,
    Box,
    Clip,
    DistanceField,
    Inside,
    Limit,
    LimitModel,
    Pose,
    RotationVector,
    Skeleton,
    load_clip,
    quat,
)
from synovia.limit import charts_of, has_axis
from synovia.model import JointLimit, LiveClamp, LivePath, project_path
from synovia.model.clamp import MAX_SPEED, step_bounds
from synovia.model.roadmap import Roadmap
from synovia.population import clamp_until_clean, limits_for
from synovia.repairs.paths import joint_step_bounds, measured_steps

FRAME = 1.0 / 60.0
ROUNDING = 1e-9
FAMILIES = [(shape, chart) for shape in SHAPES for chart in charts_of(shape)]
CIRCLES_DEG = (30, 60, 90, 120, 150, 170)
CAPTURES = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh" / "motion"


def steps_of(path: np.ndarray) -> np.ndarray:
    return quat.angle_between(path[:-1], path[1:])


def assert_bounded(path: np.ndarray, out: np.ndarray, frame_time: float = FRAME) -> None:
    """Each step is at most 400 degrees a second, or twice the input's but that speed more."""
    assert (steps_of(out) <= longest_steps(path, frame_time) + ROUNDING).all()


def longest_steps(path: np.ndarray, frame_time: float) -> np.ndarray:
    steps, least = steps_of(path), np.radians(400.0) * frame_time
    return np.maximum(np.minimum(2.0 * steps, steps + least), least)


def about_x(angles: np.ndarray) -> np.ndarray:
    return quat.exp(np.asarray(angles, float)[..., None] * np.array([1.0, 0.0, 0.0]))


def family_limit(shape: str, chart: str) -> Limit:
    """A bent region, as a shoulder's is, fitted by one family."""
    rng = np.random.default_rng(3)
    turn = rng.uniform(-1.3, 1.3, size=1500)
    bow = np.stack([1.1 * np.sin(turn), 0.9 * np.cos(1.6 * turn) - 0.4, 0.3 * turn], axis=1)
    rotations = quat.exp(bow + rng.normal(scale=0.12, size=(1500, 3)))
    axis = np.array([0.0, 0.0, 1.0]) if has_axis(chart) else None
    return Limit.fit(rotations, shape, chart, axis=axis)


def circle(tilt_deg: float, frames: int = 500) -> np.ndarray:
    """A bone that goes slowly around, so many degrees from its axis z."""
    around = np.linspace(0.0, 2.0 * np.pi, frames)
    axes = np.stack([np.cos(around), np.sin(around), np.zeros(frames)], axis=1)
    return quat.exp(np.radians(tilt_deg) * axes)


@pytest.fixture(scope="module", params=FAMILIES, ids="-".join)
def limit(request: pytest.FixtureRequest) -> Limit:
    return family_limit(*request.param)


def test_no_family_pops_on_circles_and_wild_paths(limit: Limit) -> None:
    paths = [circle(tilt) for tilt in CIRCLES_DEG]
    paths += [quat.exp(wave(250, 3, size, seed)) for seed, size in enumerate((1.2, 2.0, 3.0))]
    paths.append(paths[-2].copy())
    paths[-1][20::50] = quat.exp(np.random.default_rng(0).normal(size=(5, 3)))  # glitches
    moved, least = [], []
    for number, path in enumerate(paths):
        found = clamp_path(limit, path, step_bounds(path, FRAME))
        out, legal = found.rotations, limit.contains(path)
        assert limit.contains(out).all()
        assert len(found.over) == 0
        assert_bounded(path, out)
        stays = legal.copy()
        stays[found.moved] = False
        np.testing.assert_array_equal(out[stays], path[stays])
        assert legal[found.moved].all()
        np.testing.assert_array_equal(project_path(limit, out, FRAME), out)
        if number < len(CIRCLES_DEG):
            moved.append(quat.angle_between(path, out).mean())
            least.append(quat.angle_between(path, limit.project(path)).mean())
    assert np.sum(moved) <= 1.3 * np.sum(least)


def test_a_path_without_changes_of_side_is_the_plain_projection(limit: Limit) -> None:
    path = quat.mul(limit.chart.reference, quat.exp(wave(300, 3, 0.4, 5)))
    plain = limit.project(path)
    if (steps_of(plain) <= step_bounds(path, FRAME)[1:]).all():
        np.testing.assert_array_equal(project_path(limit, path, FRAME), plain)
    np.testing.assert_array_equal(project_path(limit, path, FRAME, max_speed=np.inf), plain)


# Against brute force: dynamic programming over all of a fine grid.


def least_squares(members: np.ndarray, path: np.ndarray, kept: np.ndarray, snap: float) -> float:
    """Return the least sum of squared angles of any path of members (m, 4) within the bound.

    Frames that are to be kept may move by `snap` radians, to the next member.
    """
    apart = 2.0 * np.arccos(np.minimum(np.abs(members @ members.T), 1.0))
    costs = (2.0 * np.arccos(np.minimum(np.abs(path @ members.T), 1.0))) ** 2
    costs = np.where(kept[:, None] & (costs > snap**2), np.inf, costs)
    total = costs[0]
    for cost, bound in zip(costs[1:], step_bounds(path, FRAME)[1:], strict=True):
        total = cost + np.where(apart <= bound + ROUNDING, total[:, None], np.inf).min(axis=0)
    return float(total.min())


def assert_nearly_least(limit: Limit, members: np.ndarray, path: np.ndarray, snap: float) -> None:
    found = clamp_path(limit, path, step_bounds(path, FRAME))
    assert len(found.moved) == len(found.over) == 0
    assert_bounded(path, found.rotations)
    mine = float(np.sum(quat.angle_between(found.rotations, path) ** 2))
    assert mine <= 1.02 * least_squares(members, path, limit.contains(path), snap)


@pytest.fixture(scope="module")
def hinge() -> Limit:
    """Turns about x by at most one radian each way, and nothing else."""
    return Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], np.eye(3)))


HINGE_PATHS = {
    "whole turn": np.linspace(1.1, 2.0 * np.pi - 1.1, 200),
    "there and back": np.pi + 1.5 * np.sin(np.linspace(0.0, 2.0 * np.pi, 200)),
    "to and fro at the far side": np.pi + 0.4 * np.sin(np.linspace(0.0, 25.0, 200)),
    "ends beyond": np.linspace(2.0, 3.5, 60),
    "too short": np.linspace(2.6, 3.7, 8),
}


@pytest.mark.parametrize("name", HINGE_PATHS)
def test_a_hinge_is_as_near_as_brute_force_finds(hinge: Limit, name: str) -> None:
    members = about_x(np.linspace(-1.0, 1.0, 401))
    assert_nearly_least(hinge, members, about_x(HINGE_PATHS[name]), 0.006)


@pytest.mark.parametrize("seed", range(2))
def test_swings_are_as_near_as_brute_force_finds(seed: int) -> None:
    limit = Limit(RotationVector(), Box([-1.0, -0.5, 0.0], [1.0, 0.5, 0.0], np.eye(3)))
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 41), np.linspace(-0.5, 0.5, 21), indexing="ij")
    members = quat.exp(np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1))
    swings = wave(100, 2, 2.6, 10 + seed) + np.array([2.2, 0.0])
    path = quat.exp(np.concatenate([swings, np.zeros((100, 1))], axis=1))
    assert_nearly_least(limit, members, path, 0.04)


def roadmap_of(limit: Limit) -> Roadmap:
    constraint = JointLimit("joint", limit)
    return Roadmap(constraint.waypoints(), constraint.project, 0.12)


def test_a_roadmap_leads_the_shortest_way_there_is() -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    limit, rng = family_limit("theta-phi", "direction-twist"), np.random.default_rng(2)
    roadmap = roadmap_of(limit)
    parts = roadmap.parts()
    legal = np.isfinite(roadmap.lengths)
    one, other = roadmap.pairs[legal].T
    table = csr_array((roadmap.lengths[legal], (one, other)), shape=(len(parts), len(parts)))
    count, labels = connected_components(table, directed=False)
    assert len(np.unique(parts)) == count
    assert len(np.unique(parts * len(parts) + labels)) == count
    ends = rng.choice(len(parts), (2, 12))
    entries, exits = np.full((2, 12, len(parts)), np.inf)
    entries[np.arange(12), ends[0]], exits[np.arange(12), ends[1]] = 0.0, 0.0
    ways, links = roadmap._shortest(entries, exits, np.zeros((12, len(parts))))
    least = dijkstra(table, directed=False, indices=ends[0])[np.arange(12), ends[1]]
    for way, by in zip(ways, links, strict=True):
        joined = [tuple(sorted(pair)) for pair in pairwise(way)]
        assert [tuple(pair) for pair in roadmap.pairs[by].tolist()] == joined
    found = [
        roadmap.lengths[by].sum() if way else np.inf for way, by in zip(ways, links, strict=True)
    ]
    np.testing.assert_allclose(found, least, rtol=1e-12)


# Changes of side that are forced, and those that cannot be.


@pytest.fixture(scope="module")
def horseshoe() -> Limit:
    """Two arms of a region that is no further than 0.25 rad across."""
    turn = np.linspace(-2.4, 2.4, 400)
    bow = np.stack([0.9 * np.cos(turn), 0.9 * np.sin(turn), np.zeros(400)], axis=1)
    return Limit(RotationVector(), DistanceField.fit(bow, resolution=40, closing=0.0))


def test_a_forced_change_of_sides_goes_around_and_lists_the_legal_frames(horseshoe: Limit) -> None:
    rests = [np.full(80, 0.0), np.linspace(0.0, 1.0, 20), np.full(80, 1.0)]
    y = 0.61 - 1.22 * np.concatenate(rests)
    path = quat.exp(np.stack([np.full(180, -0.67), y, np.zeros(180)], axis=1))
    assert horseshoe.contains(path[[0, -1]]).all()
    found = clamp_path(horseshoe, path, step_bounds(path, FRAME))
    assert horseshoe.contains(found.rotations).all()
    assert_bounded(path, found.rotations)
    assert len(found.over) == 0
    assert len(found.moved) > 0
    changed = (found.rotations != path).any(axis=1) & horseshoe.contains(path)
    np.testing.assert_array_equal(found.moved, np.flatnonzero(changed))
    around = 4.3 / (MAX_SPEED * FRAME)  # frames, all the way
    assert changed.sum() < 1.5 * around
    assert np.abs(found.moved - 90).max() < 1.5 * around


@pytest.fixture(scope="module")
def two_parts() -> Limit:
    """Turns about x near 0, and near 1.5."""
    parts = np.concatenate([np.linspace(0.0, 0.3, 60), np.linspace(1.4, 1.7, 60)])
    points = parts[:, None] * np.array([1.0, 0.0, 0.0])
    return Limit(RotationVector(), DistanceField.fit(points, resolution=40, closing=0.0))


def test_two_parts_with_legal_frames_in_both_are_reported(two_parts: Limit) -> None:
    path = about_x(np.linspace(0.1, 1.6, 200))
    found = clamp_path(two_parts, path, step_bounds(path, FRAME))
    legal = two_parts.contains(path)
    np.testing.assert_array_equal(found.rotations[legal], path[legal])
    assert two_parts.contains(found.rotations).all()
    assert len(found.over) == 1
    assert not legal[found.over[0]]


def test_random_fields_in_two_parts_are_legal_and_report_jumps_between_them() -> None:
    jumps = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        parts = [
            rng.normal(scale=0.8, size=3) + rng.normal(scale=0.15, size=(150, 3)) for _ in "ab"
        ]
        shape = DistanceField.fit(np.concatenate(parts), resolution=24, closing=0.0)
        limit, path = Limit(RotationVector(), shape), quat.exp(wave(120, 3, 2.0, seed))
        path = quat.mul(path, quat.exp(rng.normal(scale=0.3, size=(120, 3)) * (seed % 2)))
        found = clamp_path(limit, path, step_bounds(path, FRAME))
        assert limit.contains(found.rotations).all()
        long = np.flatnonzero(steps_of(found.rotations) > step_bounds(path, FRAME)[1:] + ROUNDING)
        np.testing.assert_array_equal(found.over, long + 1)
        np.testing.assert_array_equal(project_path(limit, found.rotations, FRAME), found.rotations)
        jumps += len(long)
    assert jumps > 0


def test_a_roadmap_has_the_parts_of_its_region(two_parts: Limit) -> None:
    assert len(np.unique(roadmap_of(two_parts).parts())) > 1


def test_a_part_that_is_only_passed_by_is_left_out(two_parts: Limit) -> None:
    there = np.linspace(0.1, 1.2, 200)
    path = about_x(np.concatenate([there, there[::-1]]))
    found = clamp_path(two_parts, path, step_bounds(path, FRAME))
    assert len(found.over) == len(found.moved) == 0
    assert_bounded(path, found.rotations)


def test_steps_can_be_bounded_by_those_of_another_clip(hinge: Limit) -> None:
    slow = about_x(np.linspace(-1.5, 3.5, 200))
    fast = slow[:: len(slow) // 20]
    like, clip = (joint_clip(np.repeat(path, n, axis=0)) for path, n in ((slow, 1), (fast, 10)))
    model = LimitModel({"Joint": hinge}, clip.skeleton)
    free, bounded = model.project(clip), model.project(clip, like=like)
    bounds = step_bounds(slow, FRAME)[1:]
    assert (free.steps[:, 1] > 2.0 * bounds).any()
    assert model.contains(bounded.pose).all()
    assert (bounded.steps[:, 1] <= bounds + ROUNDING).all()


@pytest.mark.parametrize("softening", [Inside(0.2), Beyond(0.2)])
def test_softened_paths_do_not_pop_either(hinge: Limit, softening: Inside | Beyond) -> None:
    path = about_x(np.linspace(0.0, 2.0 * np.pi, 300))
    found = clamp_path(hinge, path, step_bounds(path, FRAME), softening=softening)
    assert_bounded(path, found.rotations)
    radius = softening.radius if isinstance(softening, Beyond) else 0.0
    assert hinge.distance(found.rotations).max() <= radius + ROUNDING
    assert steps_of(found.rotations).max() > 0.05  # it does go over


def test_a_speed_of_nothing_is_refused(hinge: Limit) -> None:
    with pytest.raises(ValueError, match="max_speed must be more than 0 radians a second"):
        project_path(hinge, about_x(np.zeros(2)), FRAME, max_speed=0.0)


# Whole clips: what README and pages promise.


def joint_clip(path: np.ndarray, frame_time: float = FRAME) -> Clip:
    skeleton = Skeleton(("Root", "Joint"), [-1, 0], np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    rotations = np.stack([np.tile(quat.IDENTITY, (len(path), 1)), path], axis=1)
    positions = np.tile(skeleton.offsets, (len(path), 1, 1))
    return Clip(skeleton, Pose(rotations, positions), frame_time, "made")


def joint_model(limit: Limit) -> LimitModel:
    skeleton = joint_clip(np.tile(quat.IDENTITY, (1, 1))).skeleton
    return LimitModel({"Joint": limit}, skeleton)


def test_a_model_reports_frames_by_joint(two_parts: Limit) -> None:
    clip = joint_clip(about_x(np.linspace(0.1, 1.6, 200)))
    model = joint_model(two_parts)
    clamped, report = model.project_clip(clip)
    assert list(report.over) == ["Joint"]
    assert not report.moved
    assert not report.ok
    assert model.project_clip(clamped)[1].ok  # it is legal throughout, so nothing is asked for
    again = model.project(clamped)
    assert again.pose.rotations.tobytes() == clamped.pose.rotations.tobytes()


@pytest.mark.skipif(not CAPTURES.exists(), reason="needs the captures beside the repository")
def test_captures_with_wild_joints_do_not_pop() -> None:
    """Each joint is turned farther from rest than a human can, where it moves."""
    clip = load_clip(sorted(CAPTURES.glob("*.bvh"))[0])
    vectors = 2.5 * quat.log_unrolled(quat.unroll(clip.pose.rotations))
    wild = Clip(
        clip.skeleton, clip.pose.with_rotations(quat.exp(vectors)), clip.frame_time, clip.name
    )
    human = limits_for(wild)
    clamped, report = clamp_until_clean(human, wild)
    changed = (clamped.pose.rotations != wild.pose.rotations).any(axis=(0, 2))
    assert changed.sum() >= 5
    bounds = joint_step_bounds(human.model, wild, MAX_SPEED)
    long = measured_steps(human.model, clamped) > bounds + ROUNDING
    for joint in np.flatnonzero(changed):
        over = report.over.get(clip.skeleton.names[joint], np.zeros(0, int))
        assert len(over) < 0.02 * clip.frames  # of limbs; they are reported
        assert set(np.flatnonzero(long[:, joint]) + 1) <= set(over)


# Live: nothing is known of the future, or little.


@pytest.mark.parametrize("look_ahead", [0, 8])
@pytest.mark.parametrize("family", ["kdop swing-twist", "reach-cone direction-twist"])
def test_a_live_path_is_legal_and_bounded(family: str, look_ahead: int) -> None:
    limit = family_limit(*family.split())
    path = quat.exp(wave(80, 3, 2.5, 4))
    live = LivePath(JointLimit("joint", limit), FRAME, look_ahead=look_ahead)
    came = [live.push(rotation[None]) for rotation in path]
    assert [each is None for each in came] == [True] * look_ahead + [False] * (80 - look_ahead)
    out = np.array([each for each in came if each is not None] + live.finish())[:, 0]
    assert len(out) == len(path)
    assert limit.contains(out).all()
    assert_bounded(path, out)


def test_live_poses_are_those_of_the_clip_where_nothing_is_forced(hinge: Limit) -> None:
    clip = joint_clip(about_x(1.4 * np.sin(np.linspace(0.0, 9.0, 120))))
    model = joint_model(hinge)
    live = LiveClamp(model, FRAME, look_ahead=3)
    frames = [Pose(q, p) for q, p in zip(clip.pose.rotations, clip.pose.positions, strict=True)]
    came = [live.push(pose) for pose in frames]
    poses = [pose for pose in came if pose is not None] + live.finish()
    expected = model.project(clip).pose.rotations
    np.testing.assert_array_equal([pose.rotations for pose in poses], expected)
