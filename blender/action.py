# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of actions to clips, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import bpy
import numpy as np
from bpy.utils import escape_identifier

from synovia import Clip, Pose, quat
from synovia.arrays import Floats, Quats

from .channels import channel, channel_values, read_modes, rotations_of
from .rig import Rig, driven_bones, evaluated_rotations

MAX_FRAMES = 1_000_000
UNCHANGED = 1e-7  # radians; rotations that are closer count as equal
WRAP_DISTANCE = 1.0  # values of one rotation that differ by more differ by 2π or in sign


def action_of(armature: Any) -> Any:
    """Return the action of an armature object; ValueError if it has none."""
    data = armature.animation_data
    if data is None or data.action is None:
        raise ValueError(f"{armature.name} has no action: give it one in the Action Editor")
    return data.action


def curves(action: Any, armature: Any) -> Any:
    """Return the F-curves of an action in the slot of an armature object."""
    slot = slot_for(action, armature)
    for layer in action.layers if slot else ():
        for strip in layer.strips:
            bag = strip.channelbag(slot)
            if bag is not None:
                return bag.fcurves
    return ()


def slot_for(action: Any, armature: Any) -> Any:
    """Return the action slot that an object uses, or would use; None without one."""
    data = armature.animation_data
    if data is not None and data.action == action and data.action_slot is not None:
        return data.action_slot
    suitable = (slot for slot in action.slots if slot.target_id_type in ("OBJECT", "UNSPECIFIED"))
    return next(suitable, None)


def suits(action: Any, armature: Any) -> bool:
    """Return True if an action rotates a bone of an armature object."""
    paths = {_path(bone.name, bone.rotation_mode)[0] for bone in armature.pose.bones}
    return any(curve.data_path in paths for curve in curves(action, armature))


def _path(name: str, mode: str) -> tuple[str, int]:
    prop, size = channel(mode)
    return f'pose.bones["{escape_identifier(name)}"].{prop}', size


def frames_of(action: Any) -> range:
    """Return the whole frame numbers that an action spans."""
    first, last = (float(end) for end in action.frame_range)
    frames = range(math.floor(first), math.ceil(last) + 1)
    if len(frames) > MAX_FRAMES:
        raise ValueError(f"{action.name} must have at most {MAX_FRAMES} frames, got {len(frames)}")
    return frames


def frame_time(scene: Any) -> float:
    """Return the duration of a frame, in seconds."""
    return float(scene.render.fps_base / scene.render.fps)


def channel_paths(armature: Any, action: Any, rig: Rig) -> list[Floats]:
    """Return the values (frames, 3 or 4) of each joint's rotation channel.

    A channel without a curve keeps its current value, as when the action plays.
    """
    frames, modes = frames_of(action), read_modes(armature, rig)
    by_path: dict[str, dict[int, Any]] = {}
    for curve in curves(action, armature):
        by_path.setdefault(curve.data_path, {})[curve.array_index] = curve
    channels: list[Floats] = []
    for name, mode in zip(rig.skeleton.names, modes, strict=True):
        path, size = _path(name, mode)
        bone = armature.pose.bones[name]
        values = np.tile(np.array(getattr(bone, channel(mode)[0]), np.float64), (len(frames), 1))
        for index, curve in by_path.get(path, {}).items():
            if index < size:
                values[:, index] = sample_curve(curve, frames)
        channels.append(values)
    return channels


def sample_curve(curve: Any, frames: range) -> Floats:
    """Return the values of a curve at frames, as Blender evaluates it."""
    points = curve.keyframe_points
    if len(points) == len(frames) and not len(curve.modifiers):
        keys = np.empty(2 * len(points), np.float32)
        points.foreach_get("co", keys)
        if np.array_equal(keys[::2], np.arange(frames.start, frames.stop)):
            return keys[1::2].astype(np.float64)  # a key at each frame
    return np.array([curve.evaluate(frame) for frame in frames])


def clip_of(armature: Any, action: Any, rig: Rig, scene: Any) -> Clip:
    """Return an action as a clip of the rig's skeleton.

    Bones that constraints drive have their evaluated rotations. This needs a walk over all frames,
    and is only possible for the action that is assigned to the object.
    """
    frames, modes = frames_of(action), read_modes(armature, rig)
    paths = channel_paths(armature, action, rig)
    basis = np.stack([rotations_of(p, m) for p, m in zip(paths, modes, strict=True)], axis=1)
    rotations = quat.normalize(rig.aligned(basis))
    driven = sorted(rig.skeleton.index(name) for name in driven_bones(armature))
    if driven and armature.animation_data and armature.animation_data.action == action:
        for frame, evaluated in _walk(armature, rig, driven, scene, frames):
            for joint, rotation in evaluated.items():
                rotations[frame, joint] = rotation
    positions = np.tile(rig.skeleton.offsets, (len(frames), 1, 1))
    _add_translations(armature, action, rig, positions)
    pose = Pose(rotations, positions)
    return Clip(rig.skeleton, pose, frame_time(scene), action.name)


def _walk(
    armature: Any, rig: Rig, joints: list[int], scene: Any, frames: range
) -> Iterable[tuple[int, dict[int, Quats]]]:
    """Yield frame indices with the evaluated rotations of joints; restore the frame at the end."""
    current, subframe = scene.frame_current, scene.frame_subframe
    try:
        for number, frame in enumerate(frames):
            scene.frame_set(frame)
            graph = bpy.context.evaluated_depsgraph_get()
            yield number, evaluated_rotations(armature.evaluated_get(graph), rig, joints)
    finally:
        scene.frame_set(current, subframe=subframe)


def _add_translations(armature: Any, action: Any, rig: Rig, positions: Floats) -> None:
    """Add the translations of roots in place; other joints keep their offsets."""
    frames = frames_of(action)
    for joint in np.flatnonzero(rig.skeleton.parents < 0).tolist():
        name = rig.skeleton.names[joint]
        path = f'pose.bones["{escape_identifier(name)}"].location'
        location = np.array(armature.pose.bones[name].location, np.float64)
        locations = np.tile(location, (len(frames), 1))
        for curve in curves(action, armature):
            if curve.data_path == path:
                locations[:, curve.array_index] = sample_curve(curve, frames)
        positions[:, joint] += quat.rotate(rig.frames[joint], locations)


def bake(armature: Any, action: Any, rig: Rig, rotations: Mapping[int, Quats], name: str) -> Any:
    """Return a copy of an action with new `rotations` (frames, 4) of some joints.

    Frames in which a joint's rotation is unchanged keep their values. The curves of these joints
    get a key at each frame; other curves stay as they are.
    """
    frames = frames_of(action)
    paths, modes = channel_paths(armature, action, rig), read_modes(armature, rig)
    slot = slot_for(action, armature)
    if slot is None:
        raise ValueError(f"{action.name} has no slot for {armature.name}: choose one for it")
    baked = action.copy()
    baked.name = name
    fcurves = ensure_curves(baked, slot.identifier)
    for joint, rotation in rotations.items():
        values = _merge(paths[joint], rig.basis(joint, rotation), modes[joint])
        path, size = _path(rig.skeleton.names[joint], modes[joint])
        for index in range(size):
            curve = fcurves.find(path, index=index) or fcurves.new(path, index=index)
            set_keys(curve, frames, values[:, index])
    return baked


def ensure_curves(action: Any, slot_name: str) -> Any:
    """Return the F-curves of an action's slot; create layer, strip and channel bag if needed."""
    slot = action.slots[slot_name]
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def _merge(values: Floats, basis: Quats, mode: str) -> Floats:
    """Return channel values for `basis` (frames, 4), continuous from frame to frame.

    Unchanged rotations keep their values, unless these differ by 2π or in sign.
    """
    followed = channel_values(basis, mode, values[0])
    same = quat.angle_between(rotations_of(values, mode), basis) <= UNCHANGED
    same &= np.abs(followed - values).max(axis=1) < WRAP_DISTANCE
    return np.where(same[:, None], values, followed)


def set_keys(curve: Any, frames: range, values: Floats) -> None:
    """Replace the keys of a curve by one at each frame, interpolated linearly."""
    points = curve.keyframe_points
    points.clear()
    points.add(len(frames))
    keys = np.empty(2 * len(frames), np.float32)
    keys[::2], keys[1::2] = np.arange(frames.start, frames.stop), values
    points.foreach_set("co", keys)
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    points.foreach_set("interpolation", np.full(len(frames), linear, np.int32))
    curve.update()
