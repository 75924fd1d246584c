# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions as clips, and clips as actions."""

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
UNCHANGED = 1e-7
"""Rotations so near to each other, in radians, are the same."""
ANOTHER_TURN = 1.0
"""Values of one rotation that are so far apart are a turn apart, or have another sign."""


def action_of(thing: Any) -> Any:
    """Return the action that an armature object has; ValueError where it has none."""
    data = thing.animation_data
    if data is None or data.action is None:
        raise ValueError(f"{thing.name} has no action: give it one in the Action Editor")
    return data.action


def curves(action: Any, thing: Any) -> Any:
    """Return the F-curves of an action for an object: those of its slot."""
    slot = slot_for(action, thing)
    for layer in action.layers if slot else ():
        for strip in layer.strips:
            bag = strip.channelbag(slot)
            if bag is not None:
                return bag.fcurves
    return ()


def slot_for(action: Any, thing: Any) -> Any:
    """Return the slot of an action that an object has, or would get; None without one."""
    data = thing.animation_data
    if data is not None and data.action == action and data.action_slot is not None:
        return data.action_slot
    own = [slot for slot in action.slots if slot.target_id_type in ("OBJECT", "UNSPECIFIED")]
    return own[0] if own else None


def suits(action: Any, thing: Any) -> bool:
    """Tell whether an action turns a bone of an armature object."""
    paths = {_path(bone.name, bone.rotation_mode)[0] for bone in thing.pose.bones}
    return any(curve.data_path in paths for curve in curves(action, thing))


def _path(name: str, mode: str) -> tuple[str, int]:
    prop, size = channel(mode)
    return f'pose.bones["{escape_identifier(name)}"].{prop}', size


def frames_of(action: Any) -> range:
    """Return the whole frames of an action, the first to the last."""
    first, last = (float(end) for end in action.frame_range)
    found = range(math.floor(first), math.ceil(last) + 1)
    if len(found) > MAX_FRAMES:
        raise ValueError(f"{action.name} must have at most {MAX_FRAMES} frames, got {len(found)}")
    return found


def frame_time(scene: Any) -> float:
    """Return the seconds from frame to frame."""
    return float(scene.render.fps_base / scene.render.fps)


def channel_paths(thing: Any, action: Any, rig: Rig) -> list[Floats]:
    """Return the values (frames, 3 or 4) of each joint's rotation channel.

    A channel without a curve has the value that it has now, as when the action plays.
    """
    frames, modes = frames_of(action), read_modes(thing, rig)
    by_path: dict[str, dict[int, Any]] = {}
    for curve in curves(action, thing):
        by_path.setdefault(curve.data_path, {})[curve.array_index] = curve
    found: list[Floats] = []
    for name, mode in zip(rig.skeleton.names, modes, strict=True):
        path, size = _path(name, mode)
        bone = thing.pose.bones[name]
        values = np.tile(np.array(getattr(bone, channel(mode)[0]), np.float64), (len(frames), 1))
        for index, curve in by_path.get(path, {}).items():
            if index < size:
                values[:, index] = sample_curve(curve, frames)
        found.append(values)
    return found


def sample_curve(curve: Any, frames: range) -> Floats:
    """Return the values of a curve at frames, as Blender evaluates it."""
    points = curve.keyframe_points
    if len(points) == len(frames) and not len(curve.modifiers):
        keys = np.empty(2 * len(points), np.float32)
        points.foreach_get("co", keys)
        if np.array_equal(keys[::2], np.arange(frames.start, frames.stop)):
            return keys[1::2].astype(np.float64)  # a key at each frame
    return np.array([curve.evaluate(frame) for frame in frames])


def clip_of(thing: Any, action: Any, rig: Rig, scene: Any) -> Clip:
    """Return an action as a clip of the rig's skeleton.

    Bones that constraints drive are as they come out, which takes a walk over all frames; that is
    only possible for the action that the object has.
    """
    frames, modes = frames_of(action), read_modes(thing, rig)
    paths = channel_paths(thing, action, rig)
    basis = np.stack([rotations_of(p, m) for p, m in zip(paths, modes, strict=True)], axis=1)
    rotations = quat.normalize(rig.aligned(basis))
    driven = sorted(rig.skeleton.index(name) for name in driven_bones(thing))
    if driven and thing.animation_data and thing.animation_data.action == action:
        for frame, found in _walk(thing, rig, driven, scene, frames):
            for joint, rotation in found.items():
                rotations[frame, joint] = rotation
    positions = np.tile(rig.skeleton.offsets, (len(frames), 1, 1))
    _add_translations(thing, action, rig, positions)
    pose = Pose(rotations, positions)
    return Clip(rig.skeleton, pose, frame_time(scene), action.name)


def _walk(
    thing: Any, rig: Rig, joints: list[int], scene: Any, frames: range
) -> Iterable[tuple[int, dict[int, Quats]]]:
    """Yield the numbers of frames, and what joints are turned by there; then go back."""
    now, subframe = scene.frame_current, scene.frame_subframe
    try:
        for number, frame in enumerate(frames):
            scene.frame_set(frame)
            graph = bpy.context.evaluated_depsgraph_get()
            yield number, evaluated_rotations(thing.evaluated_get(graph), rig, joints)
    finally:
        scene.frame_set(now, subframe=subframe)


def _add_translations(thing: Any, action: Any, rig: Rig, positions: Floats) -> None:
    """Add what moves roots, the only joints that are placed by an action here."""
    frames = frames_of(action)
    for joint in np.flatnonzero(rig.skeleton.parents < 0).tolist():
        name = rig.skeleton.names[joint]
        path = f'pose.bones["{escape_identifier(name)}"].location'
        along = np.tile(np.array(thing.pose.bones[name].location, np.float64), (len(frames), 1))
        for curve in curves(action, thing):
            if curve.data_path == path:
                along[:, curve.array_index] = sample_curve(curve, frames)
        positions[:, joint] += quat.rotate(rig.frames[joint], along)


# Back into an action.


def bake(thing: Any, action: Any, rig: Rig, rotations: Mapping[int, Quats], name: str) -> Any:
    """Return a copy of an action in which joints have other `rotations` (frames, 4).

    Frames where a joint's rotation is the same keep their values. The curves of such joints get a
    key at each frame; other curves stay as they are.
    """
    frames = frames_of(action)
    paths, modes = channel_paths(thing, action, rig), read_modes(thing, rig)
    slot = slot_for(action, thing)
    if slot is None:
        raise ValueError(f"{action.name} has no slot for {thing.name}: choose one for it")
    made = action.copy()
    made.name = name
    found = ensure_curves(made, slot.identifier)
    for joint, wanted in rotations.items():
        values = _merge(paths[joint], rig.basis(joint, wanted), modes[joint])
        path, size = _path(rig.skeleton.names[joint], modes[joint])
        for index in range(size):
            curve = found.find(path, index=index) or found.new(path, index=index)
            set_keys(curve, frames, values[:, index])
    return made


def ensure_curves(action: Any, slot_name: str) -> Any:
    """Return the F-curves of an action's slot, to which others can be added."""
    slot = action.slots[slot_name]
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def _merge(values: Floats, basis: Quats, mode: str) -> Floats:
    """Return values of a channel for `basis` (frames, 4), each near to the frame before.

    Where a rotation is the one that was there, its values stay as they were, unless those belong
    to another turn.
    """
    followed = channel_values(basis, mode, values[0])
    same = quat.angle_between(rotations_of(values, mode), basis) <= UNCHANGED
    same &= np.abs(followed - values).max(axis=1) < ANOTHER_TURN
    return np.where(same[:, None], values, followed)


def set_keys(curve: Any, frames: range, values: Floats) -> None:
    """Give a curve a key at each frame, with straight lines between them."""
    points = curve.keyframe_points
    points.clear()
    points.add(len(frames))
    keys = np.empty(2 * len(frames), np.float32)
    keys[::2], keys[1::2] = np.arange(frames.start, frames.stop), values
    points.foreach_set("co", keys)
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    points.foreach_set("interpolation", np.full(len(frames), linear, np.int32))
    curve.update()
