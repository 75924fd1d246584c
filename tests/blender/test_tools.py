"""Limits of a human, learning, drawings, reach cones and Blender's own limits, in Blender."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from armatures import PLACES, animate, human, small_limits, wild_rotations

from synovia import Box, Limit, Report, RotationVector, load_limits, quat
from synovia.edit import cones
from synovia.limit import DependentMargin, DependentRange


@pytest.fixture
def limited(part):
    """A human with boxes for limits, and a motion that leaves them."""
    thing = human()
    animate(thing, part, wild_rotations())
    part("limits").store(thing, small_limits(thing, part), "boxes")
    return thing


def activate(thing, bone):
    bpy.context.view_layer.objects.active = thing
    thing.data.bones.active = thing.data.bones[bone]


def test_impossible_bones_are_listed_before_unusual_ones(part):
    check = part("check")
    names, impossible = ("Arm", "Leg"), np.array([[0.2, 0.0], [0.0, 0.0], [0.0, 0.0]])
    usual = Report("clip", names, np.array([[0.5, 0.0], [0.3, 0.0], [0.0, 0.4]]), 0.1)
    report = Report("clip", names, impossible, 0.1).with_unusual(usual)
    found = [(each.bone, each.verdict, each.frame) for each in check.stretches(report, 1)]
    assert found == [("Arm", "impossible", 1), ("Leg", "unusual", 3), ("Arm", "unusual", 2)]
    assert check.summarize(report, "Walk") == (
        "Walk: 1 of 3 frames impossible, 1 of 2 joints; 2 of 3 frames unusual, 2 of 2 joints"
    )


# Where limits come from.


@pytest.mark.parametrize(
    "rename",
    [str, lambda bone: f"mixamorig:{bone}", lambda bone: f"{bone}.001"],
    ids=["plain", "mixamo", "numbered"],
)
def test_a_rig_is_recognised_with_one_click(rename, part):
    thing = human(rename=rename, rolls=np.linspace(-2.0, 2.0, len(PLACES)))
    assert bpy.ops.synovia.human() == {"FINISHED"}
    limits = part("limits").bound(thing)
    found = limits.model.limits
    assert {rename(name) for name in ("LeftArm", "RightUpLeg", "LeftLeg", "Head")} <= set(found)
    shin = thing.pose.bones[rename("LeftLeg")]
    shin.rotation_quaternion = quat.exp(np.array([0.0, 2.0, 0.0]))  # twisted by 115 degrees
    outside = []
    for _ in range(2):
        basis = part("channels").Channels.read(thing).basis()[limits.rig.order]
        outside.append(limits.outside(limits.pose(limits.rig.aligned(basis))))
        bpy.ops.synovia.settle()
    assert outside[0].any()
    assert not outside[1].any()


def test_the_rigify_human_is_recognised(part):
    bpy.ops.preferences.addon_enable(module="rigify")
    try:
        bpy.ops.object.armature_human_metarig_add()
        bpy.ops.synovia.human()
        found = part("limits").bound(bpy.context.object).model.limits
        assert {"upper_arm.L", "forearm.R", "thigh.R", "shin.L", "foot.R"} <= set(found)
    finally:
        bpy.ops.preferences.addon_disable(module="rigify")


def test_a_rig_that_is_not_human_is_an_error(part):
    armature = bpy.data.armatures.new("Chain")
    thing = bpy.data.objects.new("Chain", armature)
    bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = thing
    bpy.ops.object.mode_set(mode="EDIT")
    armature.edit_bones.new("Bone").tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(RuntimeError, match="Error"):
        bpy.ops.synovia.human()
    assert thing.synovia.limits_id == ""


def split_forearm(thing):
    """Cut the left forearm into two bones, one after the other."""
    bpy.ops.object.mode_set(mode="EDIT")
    bones = thing.data.edit_bones
    whole = bones["LeftForeArm"]
    whole.name = "LeftForeArm1"
    half, tail = whole.head.lerp(whole.tail, 0.5), whole.tail.copy()
    made = bones.new("LeftForeArm2")
    made.head, made.tail, made.parent = half, tail, whole
    bones["LeftHand"].parent = made
    whole.tail = half
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_split_forearm_bends_at_the_elbow_and_twists_at_its_end(part):
    thing = human()
    split_forearm(thing)
    bpy.ops.synovia.human()
    small = small_limits(thing, part).limits["LeftForeArm2"]
    part("operators").store_limit(thing, "LeftForeArm2", replace(small, relative_to="LeftArm"))
    limits = part("limits").bound(thing)
    assert limits.split == {"LeftForeArm2": "LeftForeArm1"}
    elbow, end = thing.pose.bones["LeftForeArm1"], thing.pose.bones["LeftForeArm2"]
    elbow.rotation_quaternion = (0.6, 0.0, 0.0, 0.8)
    end.rotation_quaternion = quat.exp(np.array([0.0, -2.0, 0.0]))
    channels = part("channels").Channels.read(thing)
    graph = bpy.context.evaluated_depsgraph_get()
    given, _ = part("live").read_pose(thing, limits, channels, graph)
    legal = limits.target.project(limits.pose(given)).rotations
    bpy.ops.synovia.settle()
    channels = part("channels").Channels.read(thing)
    found, _ = part("live").read_pose(thing, limits, channels, graph)
    first, last = (limits.rig.skeleton.index(bone.name) for bone in (elbow, end))
    whole = [quat.mul(each[first], each[last]) for each in (found, legal)]
    assert quat.angle_between(*whole) < 1e-5  # the hand is where it would be
    assert quat.angle_between(found[first], given[first]) > 0.1
    axis = limits.rig.skeleton.rest_directions[first]
    swing, _ = quat.swing_twist(quat.mul(quat.inverse(given[last]), found[last]), axis)
    assert 2.0 * np.arccos(min(abs(swing[0]), 1.0)) < 1e-3  # the end has but twisted
    assert quat.angle_between(found[last], given[last]) > 0.1
    assert not limits.outside(limits.pose(found)).any()


# Which bone is which.


def test_bones_without_known_names_are_assigned_by_rows(part):
    numbers = {name: f"Bone.{k:03}" for k, name in enumerate(PLACES)}
    thing = human(rename=numbers.__getitem__)
    with pytest.raises(RuntimeError, match="Bones of a Human"):
        bpy.ops.synovia.human()
    bpy.ops.synovia.suggest_roles()
    roles = thing.synovia.roles
    assert "leftUpperArm" in roles
    assert not any(row.bone for row in roles)
    # From an upper arm and a thigh the other bones follow.
    for role, bone in (("leftUpperArm", "LeftArm"), ("leftUpperLeg", "LeftUpLeg")):
        roles[role].bone = numbers[bone]
    bpy.ops.synovia.suggest_roles()
    found = {role: row.bone for role, row in roles.items()}
    wanted = {"rightLowerArm": "RightForeArm", "rightFoot": "RightFoot", "hips": "Hips"}
    assert {role: found[role] for role in wanted} == {r: numbers[b] for r, b in wanted.items()}
    assert bpy.ops.synovia.human() == {"FINISHED"}
    limited = set(part("limits").bound(thing).model.limits)
    assert {numbers[name] for name in ("LeftArm", "RightLeg", "RightForeArm")} <= limited
    # The map goes with the object into files of others' limits, too.
    roles["rightUpperArm"].bone = numbers["LeftArm"]
    with pytest.raises(RuntimeError, match="one role"):
        bpy.ops.synovia.human()
    bpy.ops.synovia.clear_roles()
    assert len(roles) == 0


def test_rows_that_agree_with_names_change_nothing(part):
    thing = human()
    skeleton = part("rig").rig_of(thing).skeleton
    bpy.ops.synovia.suggest_roles()
    assert thing.synovia.roles["leftLowerArm"].bone == "LeftForeArm"
    assert part("roles").assigned_roles(thing, skeleton) == {}
    thing.synovia.roles["leftHand"].bone = ""
    assert part("roles").assigned_roles(thing, skeleton) == {"LeftHand": ""}
    bpy.ops.synovia.human()
    limited = part("limits").bound(thing).model.limits
    assert "RightHand" in limited
    assert "LeftHand" not in limited


def test_limits_of_another_human_rig_are_converted(part, tmp_path):
    other = human("Other", rename=lambda bone: f"mixamorig:{bone}x" if bone == "Hips" else bone)
    bpy.ops.synovia.human()
    file = tmp_path / "other.limits.json"
    bpy.ops.synovia.save(filepath=str(file))
    assert set(load_limits(file).limits) == set(part("limits").bound(other).model.limits)
    words = {"Arm": "UpperArm", "ForeArm": "LowerArm", "UpLeg": "Thigh", "Leg": "Shin"}

    def rename(bone):
        side = next((each for each in ("Left", "Right") if bone.startswith(each)), "")
        plain = bone.removeprefix(side)
        return f"{words.get(plain, plain)}{'.' + side[0] if side else ''}"

    thing = human("Renamed", rename=rename)
    assert bpy.ops.synovia.open(filepath=str(file)) == {"FINISHED"}
    assert {"UpperArm.L", "Thigh.R", "Shin.L"} <= set(part("limits").bound(thing).model.limits)


@pytest.mark.parametrize("shape", ["kdop", "box", "ellipsoid", "product"])
def test_learned_limits_contain_the_action(shape, part):
    thing = human()
    action = animate(thing, part, wild_rotations(1))
    thing.synovia.shape = shape
    assert bpy.ops.synovia.learn() == {"FINISHED"}
    report = part("check").check_action(thing, action, bpy.context.scene)
    assert report.ok
    assert len(report.names) == len(PLACES) - 1


def test_learning_without_scipy_is_an_error(part):
    thing = human()
    animate(thing, part, wild_rotations())
    thing.synovia.shape = "reach-cone"
    with pytest.raises(RuntimeError, match="SciPy"):
        bpy.ops.synovia.learn()
    bpy.data.actions[0].synovia_learn = False
    thing.synovia.shape = "box"
    with pytest.raises(RuntimeError, match="choose an action"):
        bpy.ops.synovia.learn()


def test_limits_are_saved_with_the_file_and_all_operators_can_be_undone(limited, part, tmp_path):
    assert all(
        {"REGISTER", "UNDO"} <= getattr(bpy.types, name).bl_options
        for name in dir(bpy.types)
        if name.startswith("SYNOVIA_OT")
    )
    kept = limited.synovia.limits_id
    path = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.synovia.forget()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    thing = bpy.data.objects["Human"]
    assert thing.synovia.limits_id == kept
    assert len(part("limits").bound(thing).limited) == len(PLACES) - 1


# Drawings.


@pytest.mark.parametrize("source", ["boxes", "human"])
def test_the_drawn_limit_shows_the_legal_directions(limited, source, part):
    thing = limited
    if source == "human":
        bpy.ops.synovia.human()
    activate(thing, "LeftArm")
    assert bpy.ops.synovia.draw() == {"FINISHED"}
    draw, limits = part("draw"), part("limits").bound(thing)
    (made,) = draw.drawings(thing)
    bpy.context.scene.frame_set(7)
    graph = bpy.context.evaluated_depsgraph_get()
    bone = thing.evaluated_get(graph).pose.bones["LeftArm"]
    placed = made.evaluated_get(graph).matrix_world
    head = np.array(thing.matrix_world @ bone.head)
    np.testing.assert_allclose(np.array(placed.translation), head, atol=1e-5)
    # In a legal rotation the bone's tip is close to the mesh, here to its vertices and centroids.
    limit = limits.model.limits["LeftArm"]
    joint = limits.rig.skeleton.index("LeftArm")
    channels = part("channels").Channels.read(thing)
    rotations, _ = part("live").read_pose(thing, limits, channels, graph)
    vertices = np.array([placed @ vertex.co for vertex in made.data.vertices])
    triangles = np.array([polygon.vertices[:] for polygon in made.data.polygons])
    surface = np.concatenate([vertices, vertices[triangles].mean(axis=1)])
    for legal in limit.sample(20, np.random.default_rng(0)):
        own = legal  # the frames between the ancestor and the bone stay as they are
        if limit.relative_to is not None:
            between = limits.rig.skeleton.index("LeftShoulder")
            own = quat.mul(quat.inverse(rotations[between]), legal)
        thing.pose.bones["LeftArm"].rotation_quaternion = limits.rig.basis(joint, own)
        bpy.context.view_layer.update()
        tip = np.array(thing.matrix_world @ thing.pose.bones["LeftArm"].tail)
        assert np.linalg.norm(surface - tip, axis=1).min() < 0.03


def test_drawings_are_red_while_the_bone_is_outside(limited, part):
    thing = limited
    thing.animation_data.action = None
    for bone in thing.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    activate(thing, "LeftArm")
    bpy.ops.synovia.draw()
    (made,) = part("draw").drawings(thing)
    assert {slot.link for slot in made.material_slots} == {"DATA"}
    assert len({slot.material.name for slot in made.material_slots}) == part("draw").BANDS
    thing.pose.bones["LeftArm"].rotation_quaternion = (0.0, 1.0, 0.0, 0.0)
    bpy.ops.synovia.draw()
    (made,) = part("draw").drawings(thing)
    assert {slot.material.name for slot in made.material_slots} == {"Synovia outside"}
    assert bpy.ops.synovia.erase() == {"FINISHED"}
    assert not thing.children


# Reach cones.


def test_a_cone_is_edited_as_a_mesh(limited, part):
    thing = limited
    activate(thing, "LeftArm")
    assert bpy.ops.synovia.edit_cone() == {"FINISHED"}
    limits = part("limits")
    (before,) = cones(limits.bound(thing).model.limits["LeftArm"].shape)
    ring = bpy.context.object
    assert len(ring.data.vertices) == len(before.points)
    bpy.ops.synovia.apply_cone()
    (same,) = cones(limits.bound(thing).model.limits["LeftArm"].shape)
    np.testing.assert_allclose(same.points, before.points, atol=1e-6)
    np.testing.assert_allclose(same.low, before.low, atol=1e-6)

    # Cut an edge in Edit Mode, and push its new point out.
    bpy.context.view_layer.objects.active = ring
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.synovia.apply_cone()
    (finer,) = cones(limits.bound(thing).model.limits["LeftArm"].shape)
    assert len(finer.points) == 2 * len(before.points)
    assert finer.low.min() == pytest.approx(before.low.min(), abs=1e-6)
    bpy.ops.mesh.delete(type="VERT")
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(RuntimeError, match="ring"):
        bpy.ops.synovia.apply_cone()
    assert len(cones(limits.bound(thing).model.limits["LeftArm"].shape)[0].points) == len(
        finer.points
    )


def test_a_converted_cone_contains_the_limit(limited, part):
    bound = part("limits").bound(limited)
    old = bound.model.limits["LeftArm"]
    axis = bound.rig.skeleton.rest_directions[bound.rig.skeleton.index("LeftArm")]
    made = part("cone").as_cone(old, axis)
    members = old.sample(3000, np.random.default_rng(9))
    assert made.contains(members).mean() > 0.99
    others = made.sample(3000, np.random.default_rng(9))
    assert np.degrees(old.violation(others).max()) < 45.0


# Limits that depend on another bone.


BOX = Limit(RotationVector(), Box([-0.5] * 3, [0.5] * 3, np.eye(3)))


def depend(thing, part, kind, *numbers):
    """Let a forearm's limit, a box, depend on the upper arm."""
    model = part("limits").bound(thing).model
    own = replace(BOX, margin=0.1) if kind is DependentMargin else BOX
    each = kind(own, "LeftArm", [1.0, 0.0, 0.0], *numbers)
    every = {**model.limits, "LeftForeArm": own}
    model = model.with_limits(every, {"LeftForeArm": each})
    part("limits").store(thing, model, "boxes")


def test_editing_a_coupled_bone_names_its_driver(limited, part):
    ends = np.full(6, -0.2), np.full(6, 0.2), [1.0, 0.0, 0.0]
    depend(limited, part, DependentRange, *ends)
    before = limited.synovia.limits_id
    activate(limited, "LeftForeArm")
    with pytest.raises(RuntimeError, match="LeftForeArm depends on LeftArm"):
        bpy.ops.synovia.edit_cone()
    assert limited.synovia.limits_id == before
    assert not part("draw").drawings(limited)
    bpy.ops.synovia.write()
    notes = {row.bone: row.note for row in limited.synovia.losses}
    assert "did not depend on LeftArm" in notes["LeftForeArm"]
    assert "depend" not in notes["LeftArm"]


def test_a_pose_is_clamped_to_a_margin(limited, part):
    depend(limited, part, DependentMargin, np.linspace(0.0, 0.1, 6))
    bound = part("limits").bound(limited)
    pose = bound.pose(quat.normalize(np.random.default_rng(3).normal(size=(len(PLACES), 4))))
    assert bound.model.violation(bound.target.project(pose)).max() < 1e-9


# Blender's own limits.


@pytest.mark.parametrize("form", ["rotation", "ik"])
def test_blenders_limits_contain_the_limit_and_report_the_gain(form, limited, part):
    thing = limited
    thing.synovia.form = form
    assert bpy.ops.synovia.write() == {"FINISHED"}
    losses = {row.bone: row for row in thing.synovia.losses}
    assert set(losses) == set(PLACES) - {"Hips"}
    assert max(row.lost for row in losses.values()) < 0.01 * min(
        row.share for row in losses.values()
    )
    if form == "ik":
        bone = thing.pose.bones["LeftArm"]
        assert bone.use_ik_limit_x
        assert bone.ik_min_x <= 0.0 <= bone.ik_max_x
        bpy.ops.synovia.unwrite()
        assert not bone.use_ik_limit_x
        return
    # The constraint leaves legal rotations alone, and turns others.
    thing.animation_data.action = None
    limits = part("limits").bound(thing)
    joint = limits.rig.skeleton.index("LeftArm")
    bone = thing.pose.bones["LeftArm"]
    moved = []
    rng = np.random.default_rng(2)
    for rotation in [
        *limits.model.limits["LeftArm"].sample(30, rng),
        *quat.normalize(rng.normal(size=(30, 4))),
    ]:
        bone.rotation_quaternion = limits.rig.basis(joint, rotation)
        bpy.context.view_layer.update()
        graph = bpy.context.evaluated_depsgraph_get()
        seen = part("rig").evaluated_rotations(thing.evaluated_get(graph), limits.rig, [joint])
        moved.append(float(quat.angle_between(seen[joint], rotation)))
    assert max(moved[:30]) < 1e-3
    assert np.mean(np.array(moved[30:]) > 0.1) > 0.5
    bpy.ops.synovia.unwrite()
    assert not len(bone.constraints)


def test_blenders_ik_solver_agrees_with_ik_ranges(limited, part):
    """Wherever the target is, a bone of the chain is in `IKRanges`, and reaches their edge."""
    thing, constraints = limited, part("constraints")
    thing.animation_data.action = None
    for bone in thing.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    rig = part("limits").bound(thing).rig
    joint = rig.skeleton.index("LeftForeArm")
    ranges = np.array([[-0.4, -0.5, -1.9], [1.4, 0.3, 0.7]])
    constraints.write_ik_limits(thing.pose.bones["LeftForeArm"], ranges)
    target = bpy.data.objects.new("Target", None)
    bpy.context.collection.objects.link(target)
    solver = thing.pose.bones["LeftHand"].constraints.new("IK")
    solver.target, solver.chain_count = target, 2
    seen, rng = [], np.random.default_rng(3)
    for way in rng.normal(size=(300, 3)):
        target.location = (0.45, 0.0, 1.42) + 0.5 * way / np.linalg.norm(way)
        bpy.context.view_layer.update()
        graph = bpy.context.evaluated_depsgraph_get()
        found = part("rig").evaluated_rotations(thing.evaluated_get(graph), rig, [joint])
        seen.append(found[joint])
    rotations = np.array(seen)
    region = constraints.IKRanges(rig.frames[joint], ranges)
    assert region.correction(rotations).max() < 1e-4
    swings, twists = constraints.swing_and_twist(rig.frames[joint], rotations)
    ends = np.sin(0.5 * np.where(swings < 0.0, -ranges[0, [0, 2]], ranges[1, [0, 2]]))
    levels = np.linalg.norm(swings / ends, axis=1)
    between = (np.abs(swings) > 0.1).all(axis=1)  # at an axis a box would do the same
    assert np.sum(np.abs(levels[between] - 1.0) < 1e-4) > 20
    assert np.ptp(twists) <= 0.8 + 1e-4


def test_samples_of_ik_ranges_are_uniform_and_inside(part):
    constraints, rng = part("constraints"), np.random.default_rng(0)
    frame = quat.normalize(rng.normal(size=4))
    region = constraints.IKRanges(frame, np.array([[-0.4, -0.5, -1.9], [1.4, 2.3, 0.7]]))
    members = region.sample(2000, rng)
    assert region.contains(members).all()
    assert region.correction(members).max() < 1e-6
    anywhere = quat.normalize(rng.normal(size=(200_000, 4)))
    inside = region.contains(anywhere)
    assert inside.mean() == pytest.approx(region.volume(), rel=0.05)
    spread = [np.mean(np.abs(quat.log(each)), axis=0) for each in (members, anywhere[inside])]
    np.testing.assert_allclose(*spread, atol=0.03)


def test_quarter_ellipses_contain_all_points(part):
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.3, 0.5, (500, 2)) * (1.0, 0.6)
    (left, down), (right, up) = part("constraints").quarter_ellipses(points)
    ends = np.where(points < 0.0, (-left, -down), (right, up))
    levels = np.linalg.norm(points / ends, axis=1)
    assert levels.max() <= 1.0 + 1e-6
    # By brute force: no smaller one among many.
    best = np.inf
    for _ in range(3000):
        trial = np.array([-left, right, -down, up]) * np.exp(rng.normal(0.0, 0.1, 4))
        along = np.where(points < 0.0, trial[[0, 2]], trial[[1, 3]])
        if np.linalg.norm(points / along, axis=1).max() <= 1.0:
            best = min(best, (trial[0] + trial[1]) * (trial[2] + trial[3]))
    assert (right - left) * (up - down) <= 1.02 * best


# Files of other formats.


def test_verdicts_agree_between_glb_and_fbx(limited, part, tmp_path):
    thing = limited
    report = part("check").check_action(thing, thing.animation_data.action, bpy.context.scene)
    model = part("limits").model_of(thing)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, len(report.violation)
    # An armature alone is no skin: a triangle that hangs on it goes along.
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    skin = bpy.data.objects.new("skin", mesh)
    skin.parent = thing
    skin.vertex_groups.new(name="Hips").add([0, 1, 2], 1.0, "REPLACE")
    skin.modifiers.new("skin", "ARMATURE").object = thing
    bpy.context.collection.objects.link(skin)
    glb, fbx = (str(tmp_path / f"clip.{suffix}") for suffix in ("glb", "fbx"))
    bpy.ops.export_scene.gltf(
        filepath=glb, export_optimize_animation_size=False, export_force_sampling=True
    )
    bpy.ops.export_scene.fbx(
        filepath=fbx,
        bake_anim_simplify_factor=0.0,
        add_leaf_bones=False,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
    )
    found = []
    for read, path in ((bpy.ops.import_scene.gltf, glb), (bpy.ops.wm.fbx_import, fbx)):
        known = set(bpy.data.objects)
        read(filepath=path)
        (there,) = (each for each in set(bpy.data.objects) - known if each.type == "ARMATURE")
        part("limits").store(there, model, "the same")
        action = part("action").action_of(there)
        again = part("check").check_action(there, action, bpy.context.scene)
        order = [again.names.index(name) for name in report.names]
        found.append(again.violation[: len(report.violation), order])
    for other in found:
        np.testing.assert_allclose(other, report.violation, atol=np.radians(0.05))
    np.testing.assert_allclose(found[0], found[1], atol=np.radians(0.05))


def test_bones_driven_by_constraints_are_checked_as_evaluated(limited, part):
    thing = limited
    free = part("check").check_action(thing, thing.animation_data.action, bpy.context.scene)
    follow = thing.pose.bones["LeftHand"].constraints.new("COPY_ROTATION")
    follow.target, follow.subtarget = thing, "LeftForeArm"
    follow.target_space = follow.owner_space = "POSE"
    bpy.context.view_layer.update()
    now = bpy.context.scene.frame_current
    held = part("check").check_action(thing, thing.animation_data.action, bpy.context.scene)
    assert bpy.context.scene.frame_current == now
    k = held.names.index("LeftHand")
    assert (free.violation[:, k] > 0.0).any()
    assert held.violation[:, k].max() == 0.0  # it does as the forearm does
    others = [each for each in range(len(held.names)) if each != k]
    np.testing.assert_array_equal(held.violation[:, others], free.violation[:, others])
    bpy.ops.synovia.bake()
    baked = part("check").check_action(thing, thing.animation_data.action, bpy.context.scene)
    assert baked.ok


def test_a_repaired_action_is_within_the_limits(limited, part):
    before = limited.animation_data.action
    assert bpy.ops.synovia.repair(head=False) == {"FINISHED"}
    made = limited.animation_data.action
    assert made != before
    assert made.name == f"{before.name} repaired"
    assert part("check").check_action(limited, made, bpy.context.scene).ok


# The panel.


class Layout:
    """Stands for Blender's layout, which no script can make, and looks each name up."""

    def __init__(self):
        self.seen = []

    def row(self, **options):
        return self

    column = row

    def label(self, *, text, icon="NONE"):
        self.seen.append(text)

    def prop(self, data, name, **options):
        assert name in data.bl_rna.properties
        self.seen.append(name)

    def prop_search(self, data, name, within, bones, *, text):
        self.prop(data, name)
        assert bones in within.bl_rna.properties
        self.seen.append(text)

    def operator(self, name, **options):
        assert name.removeprefix("synovia.") in dir(bpy.ops.synovia)
        self.seen.append(name)

    def template_list(self, kind, _, data, name, active_data, active, **options):
        assert hasattr(bpy.types, kind)
        assert {name, active} <= set(data.bl_rna.properties.keys())
        self.seen.append(kind)


def test_all_panels_draw(limited, part):
    bpy.ops.synovia.check()
    limited.synovia.form = "ik"
    bpy.ops.synovia.write()
    bpy.ops.synovia.suggest_roles()
    drawn = {}
    for each in part("panel").CLASSES:
        if issubclass(each, bpy.types.Panel):
            assert each.poll(bpy.context)
            stand_in = SimpleNamespace(layout=Layout())
            each.draw(stand_in, bpy.context)
            drawn[each.__name__] = stand_in.layout.seen
    assert "Left Upper Arm" in drawn["SYNOVIA_PT_roles"]
    assert "SYNOVIA_UL_rows" in drawn["SYNOVIA_PT_action"]
    assert "SYNOVIA_UL_losses" in drawn["SYNOVIA_PT_write"]
    pressed = {name for names in drawn.values() for name in names if name.startswith("synovia.")}
    jobs = {f"synovia.{each.bl_idname.split('.')[1]}" for each in part("operators").CLASSES}
    assert pressed == jobs  # each operator has a button
