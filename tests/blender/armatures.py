"""A small rig of a human in Blender, made in code, with a motion that leaves its limits."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Vector

from synovia import Box, Limit, LimitModel, quat
from synovia.charts import SwingTwist

PLACES = {
    "Hips": ("", (0, 0, 1.0), (0, 0, 1.1)),
    "Spine": ("Hips", (0, 0, 1.1), (0, 0, 1.35)),
    "Head": ("Spine", (0, 0, 1.5), (0, 0, 1.7)),
    "LeftShoulder": ("Spine", (0.03, 0, 1.42), (0.16, 0, 1.42)),
    "LeftArm": ("LeftShoulder", (0.16, 0, 1.42), (0.45, 0, 1.42)),
    "LeftForeArm": ("LeftArm", (0.45, 0, 1.42), (0.7, 0, 1.42)),
    "LeftHand": ("LeftForeArm", (0.7, 0, 1.42), (0.85, 0, 1.42)),
    "RightShoulder": ("Spine", (-0.03, 0, 1.42), (-0.16, 0, 1.42)),
    "RightArm": ("RightShoulder", (-0.16, 0, 1.42), (-0.45, 0, 1.42)),
    "RightForeArm": ("RightArm", (-0.45, 0, 1.42), (-0.7, 0, 1.42)),
    "RightHand": ("RightForeArm", (-0.7, 0, 1.42), (-0.85, 0, 1.42)),
    "LeftUpLeg": ("Hips", (0.1, 0, 0.95), (0.1, 0, 0.5)),
    "LeftLeg": ("LeftUpLeg", (0.1, 0, 0.5), (0.1, 0, 0.08)),
    "LeftFoot": ("LeftLeg", (0.1, 0, 0.08), (0.1, -0.15, 0.02)),
    "RightUpLeg": ("Hips", (-0.1, 0, 0.95), (-0.1, 0, 0.5)),
    "RightLeg": ("RightUpLeg", (-0.1, 0, 0.5), (-0.1, 0, 0.08)),
    "RightFoot": ("RightLeg", (-0.1, 0, 0.08), (-0.1, -0.15, 0.02)),
}
FRAMES = 40


def human(name="Human", *, rename=lambda bone: bone, rolls=None, turn=None, mode="QUATERNION"):
    """Make an armature of a human, z up and facing −y, bones rolled and the whole turned."""
    turn = turn or Matrix.Identity(3)
    armature = bpy.data.armatures.new(name)
    thing = bpy.data.objects.new(name, armature)
    bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = thing
    bpy.ops.object.mode_set(mode="EDIT")
    for k, (bone, (parent, head, tail)) in enumerate(PLACES.items()):
        made = armature.edit_bones.new(rename(bone))
        made.head, made.tail = turn @ Vector(head), turn @ Vector(tail)
        made.roll = 0.0 if rolls is None else rolls[k]
        if parent:
            made.parent = armature.edit_bones[rename(parent)]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in thing.pose.bones:
        bone.rotation_mode = mode
    return thing


def wild_rotations(seed=0, frames=FRAMES):
    """Rotations (frames, J, 4) of all bones about the armature's axes, smooth and large."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 2.0 * np.pi, frames)[:, None, None]
    size = rng.normal(0.0, 0.7, (2, 1, len(PLACES), 3))
    return quat.exp(size[0] * np.sin(time) + size[1] * np.sin(2.0 * time))


def animate(thing, part, rotations, name="Wild"):
    """Give an armature an action with these rotations (frames, J, 4), in the order of PLACES."""
    rig, channels, bake = part("rig"), part("channels"), part("action")
    action = bpy.data.actions.new(name)
    data = thing.animation_data_create()
    data.action = action
    if data.action_slot is None:
        data.action_slot = action.slots.new("OBJECT", thing.name)
    curves = bake.ensure_curves(action, data.action_slot.identifier)
    own = rig.rig_of(thing)
    frames = range(1, len(rotations) + 1)
    bones = sorted(thing.pose.bones, key=lambda bone: list(PLACES).index(bone.name.split(".")[0]))
    for k, bone in enumerate(bones):
        frame = quat.from_matrix(np.array(bone.bone.matrix_local.to_3x3()))
        basis = quat.mul(quat.mul(quat.inverse(frame), rotations[:, k]), frame)
        prop, size = channels.channel(bone.rotation_mode)
        start = np.array([1.0, 0, 0, 0]) if bone.rotation_mode == "QUATERNION" else np.zeros(size)
        if bone.rotation_mode == "AXIS_ANGLE":
            start[2] = 1.0
        values = channels.channel_values(basis, bone.rotation_mode, start)
        for index in range(size):
            path = f'pose.bones["{bone.name}"].{prop}'
            bake.set_keys(curves.new(path, index=index), frames, values[:, index])
    assert len(own.skeleton) == len(bones)
    bpy.context.scene.frame_set(1)
    return action


def small_limits(thing, part, size=0.5):
    """Boxes of swing and twist for all joints but the root, on the armature's own skeleton."""
    skeleton = part("rig").rig_of(thing).skeleton
    limits = {}
    for joint, name in enumerate(skeleton.names):
        if skeleton.parents[joint] >= 0:
            chart = SwingTwist(axis=skeleton.rest_directions[joint])
            limits[name] = Limit(chart, Box([-size] * 3, [0.6 * size] * 3, np.eye(3)))
    return LimitModel(limits, skeleton)
