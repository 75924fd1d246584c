"""Groups of joints that controls of a figure rule: what is legal, and what is nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from clips import wave
from command_line import run
from synovia import (
    Clip,
    Figure,
    LimitModel,
    Pose,
    Skeleton,
    human,
    load_clip,
    load_limits,
    quat,
    save_clip,
    save_figure,
    save_limits,
)
from synovia.components import (
    ArrayComponent,
    Control,
    JointSet,
    Network,
    Rotation,
    clip_of,
)
from synovia.model import ControlGroup, LiveClamp, control_groups
from synovia.model.clamp import clamp_paths, step_bounds

BODY = human()
MODEL = LimitModel.of_figure(BODY)
GROUPS = {group.segments[0]: group for group in MODEL.groups}
SMALL = ("LeftLowerLeg", "LeftHand", "LeftFoot", "LeftToes", "LeftForearm", "C7", "LeftUpperLeg")
TOLERANCE = np.radians(2.0)
FRAME = 1.0 / 60.0
NOISE_SEEDS = (10, 20)


def anywhere(n, seed=0):
    """Poses of the human for controls all over their ranges."""
    low, _, high = BODY.ranges
    shares = np.random.default_rng(seed).random((n, len(low)))
    return BODY.pose(low + (high - low) * shares)


def off(rotations, angle, seed=1):
    """Rotations, each turned by some `angle`."""
    vectors = np.random.default_rng(seed).normal(size=(*rotations.shape[:-1], 3))
    return quat.mul(rotations, quat.exp(angle * vectors))


def joints_of(group):
    return [BODY.skeleton.index(name) for name in group.segments]


def squares(group, angles):
    beyond = np.maximum(angles - group.tolerances, 0.0)
    return (group.weights * np.square(beyond)).sum(axis=-1)


def test_segments_that_share_controls_are_together_and_others_apart():
    segments = [name for group in MODEL.groups for name in group.segments]
    assert sorted(segments) == sorted(set(BODY.skeleton.names) - {"Pelvis"})
    assert GROUPS["LeftLowerArm"].controls == ("left_elbow.flexion",)
    assert GROUPS["LeftForearm"].controls == ("left_elbow.pronation",)
    assert GROUPS["LeftLowerLeg"].segments == ("LeftLowerLeg", "LeftFibula", "LeftPatella")
    assert GROUPS["Rib6Left"].controls == ()


def test_the_tolerance_is_that_of_all_segments_in_a_row():
    assert np.allclose(GROUPS["C7"].tolerances, TOLERANCE / 7)
    assert np.allclose(GROUPS["LeftToes"].tolerances, TOLERANCE)
    with pytest.raises(ValueError, match="tolerance must be between"):
        ControlGroup(BODY, ("C7",), (), 0.0)


def test_what_controls_give_is_legal_and_comes_back_bit_for_bit():
    posed = anywhere(8)
    assert MODEL.contains(posed).all()
    assert (MODEL.violation(posed) == 0.0).all()
    assert np.array_equal(MODEL.project(posed).rotations, posed.rotations)
    clip = clip_of(BODY, BODY.pose({"lumbar.bend": np.linspace(-20, 20, 30)}))
    assert np.array_equal(MODEL.project(clip).pose.rotations, clip.pose.rotations)
    assert MODEL.check(clip).ok


@pytest.mark.parametrize("angle", [0.05, 0.5])
def test_projections_are_legal_and_projecting_again_changes_nothing(angle):
    posed = anywhere(2)
    wild = Pose(off(posed.rotations, angle), posed.positions)
    legal = MODEL.project(wild)
    assert MODEL.contains(legal).all()
    assert not MODEL.contains(wild).any()
    assert np.array_equal(MODEL.project(legal).rotations, legal.rotations)
    moved = quat.angle_between(wild.rotations, legal.rotations)
    for group in MODEL.groups:  # by as much as they are outside, and 1 % of the tolerance
        beyond = np.maximum(MODEL.distance(wild)[:, joints_of(group)], 0.0)
        inside = np.degrees(moved[:, joints_of(group)] - beyond)
        assert inside.max() < 0.31 * np.degrees(group.tolerances[0])


@pytest.mark.parametrize("name", SMALL)
def test_projection_is_the_nearest_that_brute_force_finds(name):
    group = GROUPS[name]
    wild = off(anywhere(6).rotations[:, joints_of(group)], 0.3)
    found = squares(group, group.nearest(wild).angles)
    low, _, high = group._ranges
    steps = {1: 4001, 2: 61, 3: 17}[len(low)]
    values = [np.linspace(a, b, steps) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(low))
    poses = group.pose(grid)
    best = [squares(group, quat.angle_between(poses, each)).min() for each in wild]
    assert (np.sqrt(found) <= np.sqrt(best) + 1e-4).all()
    cell = 0.5 * np.linalg.norm((high - low) / (steps - 1)) * np.pi / 180
    assert (np.sqrt(best) <= np.sqrt(found) + 3.0 * cell).all()  # so the grid is a fair judge


def test_the_spine_turns_no_farther_than_its_controls():
    rest = BODY.pose()
    turned = rest.rotations.copy()
    spine = [f"T{n}" for n in range(1, 13)]
    turned[[BODY.skeleton.index(name) for name in spine]] = quat.exp([0.0, np.radians(3.5), 0.0])
    legal = MODEL.project(Pose(turned, rest.positions)).rotations
    whole = quat.IDENTITY
    for name in spine[::-1]:
        whole = quat.mul(whole, legal[BODY.skeleton.index(name)])
    most = BODY.controls["thoracic.twist"].high
    assert most < np.degrees(np.linalg.norm(quat.log(whole))) < most + 2.5


def wild_clip(frames=24):
    _, neutral, high = BODY.ranges
    sway = np.sin(np.linspace(0.0, 3.0, frames))[:, None]
    posed = BODY.pose(neutral + 0.6 * sway * (high - neutral))
    beyond = 0.4 * np.sin(np.linspace(0.0, 4.0, frames))[:, None, None] * np.ones((1, 75, 3))
    beyond[:, 0] = 0.0
    pose = Pose(quat.mul(posed.rotations, quat.exp(beyond)), posed.positions)
    return clip_of(BODY, pose)


def noisy_path(group, noise_deg, seed, frames=40):
    """A legal path (frames, S, 4) of a group, with smooth noise of so many degrees."""
    low, _, high = group._ranges
    share = np.clip(0.5 + wave(frames, len(low), 0.6, seed), 0.0, 1.0)
    noise = wave(frames, 3 * len(group.segments), np.radians(noise_deg), seed + 1)
    noise = noise.reshape(frames, len(group.segments), 3)
    return quat.mul(group.pose(low + (high - low) * share), quat.exp(noise))


def bounds_of(path):
    return step_bounds(path, FRAME)


def assert_clamped(group, path, found):
    """Check what is promised of clips of any group; `found` is the clamped `path`."""
    out, bounds = found.rotations, bounds_of(path)
    steps = quat.angle_between(out[:-1], out[1:])
    np.testing.assert_array_equal(found.over[1:], steps > bounds[1:] + 1e-9)
    assert group.contains(out).all()
    assert (group.violation(out) == 0.0).all()
    np.testing.assert_array_equal(clamp_paths(group, out, bounds).rotations, out)
    changed = (out != path).any(axis=2)
    np.testing.assert_array_equal(found.moved, changed & group.contains(path)[:, None])


def test_whole_clips_are_legal_afterwards():
    clip = wild_clip()
    assert MODEL.check(clip).joints[0].worst > 0.2
    legal = MODEL.project(clip)
    assert MODEL.contains(legal.pose).all()
    assert MODEL.check(legal).ok


@pytest.mark.parametrize("noise_deg", [1.0, 4.0])
@pytest.mark.parametrize("name", ["LeftClavicle", "L5", "T12"])
def test_noise_on_a_legal_clip_moves_joints_as_far_as_pose_by_pose(name, noise_deg):
    """The reference is the projection of each frame by itself, which knows no branches."""
    group = GROUPS[name]
    for seed in NOISE_SEEDS:
        path = noisy_path(group, noise_deg, seed)
        found = clamp_paths(group, path, bounds_of(path))
        assert_clamped(group, path, found)
        moves = [quat.angle_between(each, path) for each in (found.rotations, group.project(path))]
        assert (moves[0] <= moves[1] + bounds_of(path) + np.radians(1.0)).all()


def test_random_shoulders_are_nearly_all_found_to_be_legal():
    """Of 1,000, five were not while only two of the stored poses nearest to them were tried."""
    group, posed = GROUPS["LeftClavicle"], anywhere(1000, seed=0)
    assert (group.distance(posed.rotations[:, joints_of(group)]) > 1e-9).any(axis=-1).sum() <= 1


@pytest.mark.parametrize("name", ["LeftUpperLeg", "LeftHand", "LeftLowerLeg", "T12"])
def test_a_group_that_changes_branches_keeps_to_the_bound(name):
    group = GROUPS[name]
    path = np.stack([quat.exp(wave(90, 3, 1.6, k)) for k in range(len(group.segments))], axis=1)
    alone = group.project(path)
    assert (quat.angle_between(alone[:-1], alone[1:]) > bounds_of(path)[1:]).any()
    found = clamp_paths(group, path, bounds_of(path))
    assert_clamped(group, path, found)
    assert not found.over.any()
    squares = [
        float((group.weights * quat.angle_between(each, path) ** 2).sum())
        for each in (found.rotations, alone)
    ]
    assert squares[0] < 1.1 * squares[1]


def test_answers_keep_the_batch_shape_and_the_precision():
    posed = anywhere(2)
    batch = Pose(posed.rotations.reshape(2, 1, 75, 4), posed.positions.reshape(2, 1, 75, 3))
    assert MODEL.distance(batch).shape == (2, 1, 75)
    assert np.isneginf(MODEL.distance(batch)[..., 0]).all()  # the root is not limited
    single = Pose(off(posed.rotations, 0.2).astype(np.float32), posed.positions.astype(np.float32))
    legal = MODEL.project(single)
    assert legal.rotations.dtype == np.float32
    assert MODEL.contains(legal).all()
    group = GROUPS["LeftToes"]
    flipped = -posed.rotations[:, joints_of(group)]
    assert np.array_equal(group.project(flipped), flipped)


def test_the_first_exit_is_where_the_range_ends():
    straight = BODY.pose()
    bent = BODY.pose({"left_knee.flexion": 200.0})
    most = BODY.controls["left_knee.flexion"].high
    group = GROUPS["LeftToes"]
    rise = BODY.controls["left_toes.flexion"].high
    axis = quat.log(BODY.pose({"left_toes.flexion": rise}).rotations[joints_of(group)[0]])
    axis /= np.linalg.norm(axis)
    rotations = straight.rotations.copy()
    rotations[joints_of(group)[0]] = quat.exp(np.radians(rise + 20.0) * axis)
    reached = MODEL.first_exit(straight, Pose(rotations, straight.positions))
    assert reached == pytest.approx((rise + 2.0) / (rise + 20.0), abs=1e-6)
    assert MODEL.first_exit(bent, bent) == 1.0
    assert most > 0.0


def test_groups_go_with_joints_of_other_names_and_are_left_out_where_some_are_missing():
    names = tuple(f"rig:{name}" for name in BODY.skeleton.names)
    renamed = replace(BODY.skeleton, names=names)
    on_rig = MODEL.for_skeleton(renamed)
    assert on_rig.names == tuple(f"rig:{name}" for name in MODEL.names)
    assert on_rig.contains(anywhere(1)).all()
    arm = Skeleton(("LeftLowerArm", "LeftForearm"), [-1, 0], np.eye(3)[:2])
    with pytest.warns(UserWarning, match="not connected here as in the figure.*L5"):
        assert [group.joints for group in MODEL.for_skeleton(arm).groups] == [("LeftForearm",)]


def test_a_limits_file_keeps_groups(tmp_path):
    save_limits(MODEL, tmp_path / "body.limits.json")
    again = load_limits(tmp_path / "body.limits.json")
    assert [each.joints for each in again.groups] == [each.joints for each in MODEL.groups]
    poses = anywhere(3)
    assert np.array_equal(again.distance(poses), MODEL.distance(poses))
    save_limits(again, tmp_path / "again.limits.json")
    texts = [(tmp_path / f"{name}.limits.json").read_bytes() for name in ("body", "again")]
    assert texts[0] == texts[1]


def test_groups_are_clamped_while_frames_come_in():
    """Each frame is legal, and no step is longer than its bound."""
    clip = clip_of(BODY, BODY.pose({}))
    rng = np.random.default_rng(4)
    noise = quat.exp(np.cumsum(rng.normal(size=(12, len(BODY.skeleton), 3)) * 0.02, axis=0))
    rotations = quat.mul(clip.pose.rotations[:1], noise)
    positions = np.repeat(clip.pose.positions[:1], 12, axis=0)
    live = LiveClamp(MODEL, 1.0 / 30.0)
    out = [live.push(Pose(*each)) for each in zip(rotations, positions, strict=True)]
    found = np.stack([pose.rotations for pose in out])
    assert not MODEL.contains(Pose(rotations, positions)).all()
    assert MODEL.contains(Pose(found, positions)).all()
    given, steps = (quat.angle_between(each[:-1], each[1:]) for each in (rotations, found))
    limited = [BODY.skeleton.index(name) for name in MODEL.names]
    most = np.radians(400.0) / 30.0
    bounds = np.maximum(np.minimum(2.0 * given, given + most), most)
    assert (steps <= bounds + 1e-9)[:, limited].all()


def test_groups_need_the_hierarchy_of_the_figure():
    with pytest.raises(ValueError, match="L5"):
        LimitModel(MODEL.groups[:1], Skeleton(("A", "B"), [-1, 0], np.zeros((2, 3))))


class Tilt(ArrayComponent):
    """A component of one's own: a turn about x, in NumPy alone."""

    kind = "tilt"
    inputs: ClassVar = {"angle": "scalar"}
    outputs: ClassVar = {"matrix": "matrix"}

    def evaluate(self, angle):
        out = np.tile(np.eye(4), (len(angle), 1, 1))
        c, s = np.cos(angle), np.sin(angle)
        out[:, 1, 1], out[:, 1, 2], out[:, 2, 1], out[:, 2, 2] = c, -s, s, c
        return (out,)


def test_components_of_ones_own_are_solved_for_as_well():
    parts = {"one": Tilt(), "two": Rotation([1.0, 0.0, 0.0])}
    wires = {"one.angle": "bend", "two.angle": "bend"}
    network = Network(parts, wires, {"A": "one.matrix", "B": "two.matrix"})
    bones = Skeleton(("Root", "A", "B"), [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
    figure = Figure(bones, {"hinge": JointSet(network, {"bend": Control(0.0, 1.0)})})
    (group,) = control_groups(figure)
    legal = group.pose(np.array([[0.3], [0.9]]))
    assert np.array_equal(group.project(legal), legal)
    wild = quat.exp(np.array([[[0.2, 0, 0], [1.0, 0, 0]], [[1.4, 0, 0], [1.3, 0, 0]]]))
    found = group.nearest(wild)
    # The first counts twice: 2 (c - 0.2 - t)² + (1 - c - t)² is least.
    least = (1.4 + np.radians(1.0)) / 3.0
    assert found.controls[:, 0] == pytest.approx([least, 1.0], abs=1e-6)
    assert (group.distance(group.project(wild)) <= 1e-9).all()
    path = clamp_paths(
        group, np.repeat(wild, 3, axis=0), np.full((3 * len(wild), len(group.joints)), 0.1)
    ).rotations
    assert (group.distance(path) <= 1e-9).all()


def test_the_command_line_checks_and_clamps_by_a_figure(tmp_path):
    save_figure(BODY, tmp_path / "body.xml")
    save_clip(wild_clip(6), tmp_path / "wild.bvh")
    wild, body, legal = (str(tmp_path / name) for name in ("wild.bvh", "body.xml", "legal.bvh"))
    assert "Rib" in run("check", wild, "--limits", body, code=1)
    run("clamp", wild, "--limits", body, "-o", legal)
    run("check", legal, "--limits", body)
    assert isinstance(load_clip(legal), Clip)


def test_xml_of_other_tools_is_no_figure(tmp_path):
    from synovia.io.figure import is_figure

    for text, expected in (
        ("<!-- <figure> --><mujoco><a><b/></a></mujoco>", False),
        ('<?xml version="1.0"?>\n<figure name="x"/>', True),
        ("", False),
    ):
        (tmp_path / "model.xml").write_text(text)
        assert is_figure(tmp_path / "model.xml") is expected


def test_the_page_checks_groups_and_keeps_them_through_edits():
    from synovia.view.display import check_clip
    from synovia.view.messages import Empty
    from synovia.view.scene import scene_of
    from synovia.view.session import Session

    clip = clip_of(BODY, anywhere(3))
    rotations = quat.mul(clip.pose.rotations, quat.exp([0.0, 0.0, 0.3]))
    session = Session(scene_of(MODEL, replace(clip, pose=clip.pose.with_rotations(rotations))))
    scene = session.scene
    assert [scene.clip.skeleton.names[joint] for joint in scene.limited] == list(MODEL.names)
    outside_deg = check_clip(session, Empty()).outside_deg
    assert outside_deg.shape == (3, len(MODEL.names))
    assert outside_deg.max() > 1.0
    assert session.state().grouped == scene.limited
    session.edit(lambda model: model.with_limits({}), "nothing", None)
    assert session.scene.model.groups == scene.model.groups
