"""The extension, as Blender runs it: installed, on real captures, and on rigs of every kind."""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from armatures import FRAMES, PLACES, animate, human, small_limits, wild_rotations
from mathutils import Matrix

from synovia import LimitModel, load_clip, load_limits, quat, save_limits
from synovia.model.report import NEGLIGIBLE

FIVE = [
    "animateddrawings_mit/cmu1__jumping_jacks.bvh",
    "makehuman/10_01__97872f.bvh",
    "makehuman/zombieWalk1__f08cf2.bvh",
    "odd/rosemotion_robin_crlf_trailing_blank.bvh",
    "cmu_bvh/motion/74_03.bvh",
]
BOXES = {"shape": "box", "trim": 0.0, "margin": 0.02}


def handlers():
    return [
        each
        for name in dir(bpy.app.handlers)
        if isinstance(getattr(bpy.app.handlers, name), list)
        for each in getattr(bpy.app.handlers, name)
        if "synovia" in getattr(each, "__module__", "")
    ]


def test_the_zip_installs_into_an_empty_profile(installed):
    import synovia

    extensions = Path(bpy.utils.user_resource("EXTENSIONS"))
    assert Path(installed.__file__).is_relative_to(extensions)
    assert Path(synovia.__file__).is_relative_to(extensions)
    assert "scipy" not in sys.modules
    assert bpy.types.SYNOVIA_PT_limits.bl_category == "Synovia"


def test_enabling_and_disabling_twice_leaves_nothing(installed):
    module = installed.__name__
    for _ in range(2):
        bpy.ops.preferences.addon_disable(module=module)
        assert handlers() == []
        assert not hasattr(bpy.types.Object, "synovia")
        assert not hasattr(bpy.types, "SYNOVIA_PT_limits")
        bpy.ops.preferences.addon_enable(module=module)
        assert len(handlers()) == 2


@pytest.mark.parametrize(
    ("name", "mode"), [*((name, "NATIVE") for name in FIVE), (FIVE[0], "QUATERNION")]
)
def test_rotations_agree_with_the_bvh_reader(name, mode, data, load, part):
    thing = load(data / name, rotate_mode=mode)
    rig = part("rig").rig_of(thing)
    clip = part("action").clip_of(thing, thing.animation_data.action, rig, bpy.context.scene)
    read = load_clip(data / name)
    assert clip.frames == read.frames
    joints = [rig.skeleton.index(joint) for joint in read.skeleton.names]
    angles = quat.angle_between(clip.pose.rotations[:, joints], read.pose.rotations)
    assert np.degrees(angles.max()) <= 1e-4
    scale = np.abs(read.skeleton.offsets).max()
    np.testing.assert_allclose(
        clip.skeleton.offsets[joints][1:], read.skeleton.offsets[1:], atol=1e-5 * scale
    )


@pytest.fixture
def limits_file(data, tmp_path):
    """A capture, and a file of limits that were learned from some of its frames."""
    path = data / FIVE[0]
    read = load_clip(path)
    half = type(read)(
        read.skeleton, type(read.pose)(read.pose.rotations[::7], read.pose.positions[::7]), 0.1
    )
    file = tmp_path / "half.limits.json"
    save_limits(LimitModel.fit([half], **BOXES), file)
    return path, file


@pytest.fixture
def limited(limits_file, load):
    """The capture in Blender, with these limits."""
    path, file = limits_file
    thing = load(path)
    assert bpy.ops.synovia.open(filepath=str(file)) == {"FINISHED"}
    return thing, path, file


def test_verdicts_agree_with_the_command_line(limited, synovia):
    thing, path, file = limited
    assert bpy.ops.synovia.check() == {"FINISHED"}
    told, code = synovia("check", path, "--limits", file, "--json")
    report = told["clips"][0] if "clips" in told else told
    worst = {row["name"]: row for row in report["joints"] if row["frames_outside"]}
    assert code == 1
    assert worst
    rows = thing.synovia.rows
    assert {row.bone for row in rows} == set(worst)
    for name, row in worst.items():
        mine = [each for each in rows if each.bone == name]
        assert sum(each.last - each.first + 1 for each in mine) == row["frames_outside"]
        top = max(mine, key=lambda each: each.worst)
        assert np.degrees(top.worst) == pytest.approx(row["worst_deg"], abs=2e-4)
    assert [row.worst for row in rows] == sorted((row.worst for row in rows), reverse=True)


def test_a_check_adds_markers_colours_bones_and_selects_frames(limited):
    thing, *_ = limited
    action = thing.animation_data.action
    bpy.ops.synovia.check()
    rows = thing.synovia.rows
    bones = {row.bone for row in rows}
    assert len(action.pose_markers) == len(bones)
    red = {bone.name for bone in thing.pose.bones if bone.color.palette == "THEME01"}
    assert red == bones
    thing.synovia.row = len(rows) - 1
    assert bpy.context.scene.frame_current == rows[-1].frame
    assert thing.data.bones.active.name == rows[-1].bone
    bpy.ops.synovia.clear()
    assert len(action.pose_markers) == 0
    assert {bone.color.palette for bone in thing.pose.bones} == {"DEFAULT"}


def test_the_command_line_accepts_a_baked_action(limits_file, load, synovia, tmp_path):
    path, file = limits_file
    # As it is, without a change of axes: Blender's exporter makes none either.
    thing = load(path, axis_forward="Y", axis_up="Z")
    bpy.ops.synovia.open(filepath=str(file))
    before = thing.animation_data.action
    keys = len(before.slots)
    assert bpy.ops.synovia.bake() == {"FINISHED"}
    made = thing.animation_data.action
    assert made != before
    assert len(before.slots) == keys
    assert len(thing.synovia.rows) == 0
    out = tmp_path / "baked.bvh"
    bpy.ops.export_anim.bvh(
        filepath=str(out),
        rotate_mode="NATIVE",
        frame_start=int(made.frame_range[0]),
        frame_end=int(made.frame_range[1]),
        root_transform_only=True,
    )
    told, code = synovia("check", out, "--limits", file, "--json")
    assert code == 0, told
    legal = load_limits(file).project(load_clip(path))
    exported = load_clip(out)
    joints = [exported.skeleton.index(name) for name in legal.skeleton.names]
    angles = quat.angle_between(exported.pose.rotations[:, joints], legal.pose.rotations)
    assert np.degrees(angles.max()) < 0.01


# Rigs of every kind.

ROLLS = np.random.default_rng(5).uniform(-3.0, 3.0, len(PLACES))
TURNS = {
    "z up": None,
    "y up": Matrix.Rotation(-np.pi / 2, 3, "X"),
    "turned": Matrix.Rotation(0.7, 3, "Z") @ Matrix.Rotation(0.3, 3, "X"),
}


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZXY", "YZX", "AXIS_ANGLE"])
def test_channels_of_any_kind_are_read_and_written(mode, part):
    thing = human(mode=mode, rolls=ROLLS)
    wanted = wild_rotations()
    action = animate(thing, part, wanted)
    rig = part("rig").rig_of(thing)
    clip = part("action").clip_of(thing, action, rig, bpy.context.scene)
    turn = rig.axes
    joints = [rig.skeleton.index(name) for name in PLACES]
    expected = quat.mul(quat.mul(turn, wanted), quat.inverse(turn))
    assert quat.angle_between(clip.pose.rotations[:, joints], expected).max() < 1e-5
    graph = bpy.context.evaluated_depsgraph_get()
    for frame in (1, 17, FRAMES):
        bpy.context.scene.frame_set(frame)
        seen = part("rig").evaluated_rotations(
            thing.evaluated_get(graph), rig, range(len(rig.skeleton))
        )
        for joint, rotation in seen.items():
            assert quat.angle_between(rotation, clip.pose.rotations[frame - 1, joint]) < 1e-5


@pytest.mark.parametrize("mode", ["QUATERNION", "XZY", "AXIS_ANGLE"])
def test_bakes_have_no_jumps_between_frames(mode, part):
    thing = human(mode=mode, rolls=ROLLS)
    before = animate(thing, part, wild_rotations())
    part("limits").store(thing, small_limits(thing, part), "test")
    bpy.ops.synovia.bake()
    made = thing.animation_data.action
    rig = part("rig").rig_of(thing)
    old = part("action").channel_paths(thing, before, rig)
    for values, given in zip(part("action").channel_paths(thing, made, rig), old, strict=True):
        assert np.abs(np.diff(values, axis=0)).max() < 1.0 + np.abs(np.diff(given, axis=0)).max()


def copies(part):
    """The same body rolled, turned, renamed and with other channels, all in the same motion."""
    for k, (name, turn) in enumerate(TURNS.items()):
        mode = ("QUATERNION", "YXZ", "AXIS_ANGLE")[k]
        thing = human(name, rolls=None if k == 0 else ROLLS + k, turn=turn, mode=mode)
        moved = wild_rotations()
        if turn is not None:
            by = quat.from_matrix(np.array(turn))
            moved = quat.mul(quat.mul(by, moved), quat.inverse(by))
        yield thing, animate(thing, part, moved, name)


def test_verdicts_do_not_depend_on_roll_and_orientation(part, tmp_path):
    found, model = [], None
    for thing, action in copies(part):
        model = model or small_limits(thing, part)
        part("limits").store(thing, model, "test")
        report = part("check").check_action(thing, action, bpy.context.scene)
        order = [report.names.index(name) for name in sorted(report.names)]
        found.append(report.violation[:, order])
    assert (found[0] > NEGLIGIBLE).any()
    assert (found[0] <= NEGLIGIBLE).any()
    for other in found[1:]:
        near = (np.abs(found[0] - NEGLIGIBLE) < 1e-5) | (np.abs(other - NEGLIGIBLE) < 1e-5)
        assert ((found[0] > NEGLIGIBLE) == (other > NEGLIGIBLE))[~near].all()
        np.testing.assert_allclose(other, found[0], atol=1e-5)


def test_names_with_numeric_suffixes_are_matched(part):
    thing = human(rename=lambda bone: f"{bone}.001")
    plain = human("Other")
    part("limits").store(thing, small_limits(plain, part), "test")
    assert len(part("limits").bound(thing).limited) == len(PLACES) - 1
    names = part("rig").matching_names({"Hips", "Arm"}, ["Hips.001", "Arm", "Arm.001", "rig:Leg"])
    assert names == {"Hips.001": "Hips"}


# Live.


def test_live_limits_keep_a_pose_inside(part):
    thing = human(rolls=ROLLS, mode="YZX")
    model = small_limits(thing, part)
    part("limits").store(thing, model, "test")
    thing.synovia.live = True
    arm = thing.pose.bones["LeftArm"]
    arm.rotation_euler = (0.9, 1.2, -0.8)
    bpy.context.view_layer.update()
    limits = part("limits").bound(thing)
    rig = limits.rig
    rotations = rig.aligned(part("channels").Channels.read(thing).basis()[rig.order])
    assert not limits.outside(limits.pose(rotations)).any()
    graph = bpy.context.evaluated_depsgraph_get()
    joint = rig.skeleton.index("LeftArm")
    seen = part("rig").evaluated_rotations(thing.evaluated_get(graph), rig, [joint])[joint]
    assert quat.angle_between(seen, rotations[joint]) < 1e-5  # what is shown is legal, too
    thing.synovia.live = False
    arm.rotation_euler = (0.9, 1.2, -0.8)
    bpy.context.view_layer.update()
    assert tuple(arm.rotation_euler) == pytest.approx((0.9, 1.2, -0.8))


def test_live_limits_evaluate_each_change_once(part, monkeypatch):
    thing = human()
    part("limits").store(thing, small_limits(thing, part), "test")
    thing.synovia.live = True
    asked = []
    project = LimitModel.project
    monkeypatch.setattr(
        LimitModel, "project", lambda self, pose: (asked.append(1), project(self, pose))[1]
    )
    thing.pose.bones["LeftArm"].rotation_quaternion = (0.6, 0.0, 0.8, 0.0)
    for _ in range(5):
        bpy.context.view_layer.update()
        bpy.context.view_layer.depsgraph.update()
    assert len(asked) == 1


def test_live_limits_do_not_move_bones_driven_by_ik(part):
    thing = human()
    part("limits").store(thing, small_limits(thing, part, 0.2), "test")
    target = bpy.data.objects.new("Target", None)
    bpy.context.collection.objects.link(target)
    target.location = (0.2, -0.4, 1.2)
    solver = thing.pose.bones["LeftForeArm"].constraints.new("IK")
    solver.target, solver.chain_count = target, 2
    thing.synovia.live = True
    bpy.context.view_layer.update()
    poses = []
    for _ in range(6):
        thing.update_tag()
        bpy.context.view_layer.update()
        graph = bpy.context.evaluated_depsgraph_get()
        poses.append(np.array(thing.evaluated_get(graph).pose.bones["LeftForeArm"].matrix))
    assert np.abs(np.diff(poses, axis=0)).max() == 0.0
    for name in ("LeftArm", "LeftForeArm"):
        assert tuple(thing.pose.bones[name].rotation_quaternion) == (1.0, 0.0, 0.0, 0.0)
    hand = thing.pose.bones["LeftHand"]  # below the chain, and free
    hand.rotation_quaternion = (0.6, 0.0, 0.8, 0.0)
    bpy.context.view_layer.update()
    assert hand.rotation_quaternion[2] < 0.5


def test_clamp_pose_moves_bones_inside_once(part):
    thing = human()
    part("limits").store(thing, small_limits(thing, part), "test")
    thing.pose.bones["Head"].rotation_quaternion = (0.0, 1.0, 0.0, 0.0)
    assert bpy.ops.synovia.settle() == {"FINISHED"}
    assert abs(thing.pose.bones["Head"].rotation_quaternion[0]) > 0.5
    before = tuple(thing.pose.bones["Head"].rotation_quaternion)
    bpy.ops.synovia.settle()
    assert tuple(thing.pose.bones["Head"].rotation_quaternion) == before
