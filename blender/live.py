# SPDX-License-Identifier: GPL-3.0-or-later
"""Live limits: bones stay inside while the user poses.

The handler runs after each change that Blender evaluates. It rotates bones that are outside by more
than rounding, but not those driven by constraints or inverse kinematics, which would move them
back. Its own change causes one more call, which ends after comparing the state with the last one.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from synovia.arrays import Quats

from . import draw
from .channels import Channels
from .limits import INSET, ROUNDING, Bound, bound, has_limits
from .rig import driven_bones, evaluated_rotations

NEAR = float(np.cos(0.5 * (INSET + ROUNDING)))
"""Rotations with a larger inner product differ by rounding only."""
_running = False
_last_states: dict[int, tuple[str, bytes, bytes]] = {}
"""The last state of each armature object: limits, channel values, rotations of driven bones."""


def settle(armature: Any, graph: Any) -> int:
    """Move the bones of an armature object inside their limits; return how many were rotated."""
    limits, channels = bound(armature), Channels.read(armature)
    rotations, driven = read_pose(armature, limits, channels, graph)
    key, evaluated = armature.session_uid, rotations[driven].tobytes()
    if _last_states.get(key) == (armature.synovia.limits_id, channels.tobytes(), evaluated):
        return 0
    legal = limits.target.project(limits.pose(rotations)).rotations
    free = np.ones(len(rotations), dtype=bool)
    free[driven] = False
    if limits.split:
        legal = limits.bend_where_split_bones_begin(rotations, legal, free)
    outside = np.flatnonzero(free & (np.abs(np.einsum("ij,ij->i", rotations, legal)) < NEAR))
    if len(outside):
        basis = limits.rig.basis(outside, legal[outside])
        channels = channels.with_basis(limits.rig.order[outside], basis)
        channels.write(armature)
    _last_states[key] = armature.synovia.limits_id, channels.tobytes(), evaluated
    if draw.drawings(armature):
        _show(armature, limits, read_pose(armature, limits, channels, graph)[0])
    return len(outside)


def read_pose(
    armature: Any, limits: Bound, channels: Channels, graph: Any
) -> tuple[Quats, list[int]]:
    """Return the rotations (J, 4) of all joints, and the joints driven by constraints.

    Driven joints have their evaluated rotations.
    """
    rotations = limits.rig.aligned(channels.basis()[limits.rig.order])
    driven = [limits.rig.skeleton.index(name) for name in driven_bones(armature)]
    if driven:
        evaluated = evaluated_rotations(armature.evaluated_get(graph), limits.rig, driven)
        for joint, rotation in evaluated.items():
            rotations[joint] = rotation
    return rotations, driven


def show_outside(armature: Any, graph: Any) -> None:
    """Colour the drawn limits by the current pose."""
    limits = bound(armature)
    _show(armature, limits, read_pose(armature, limits, Channels.read(armature), graph)[0])


def _show(armature: Any, limits: Bound, rotations: Quats) -> None:
    outside = np.flatnonzero(limits.outside(limits.pose(rotations)))
    draw.show_state(armature, {limits.rig.skeleton.names[joint] for joint in outside})


def forget(armature: Any) -> None:
    """Forget the last state of an armature object."""
    _last_states.pop(armature.session_uid, None)


@persistent
def on_update(scene: Any, graph: Any) -> None:
    """Settle the live armatures that have changed."""
    global _running
    if _running:
        return
    _running = True
    try:
        for update in graph.updates:
            armature = update.id.original
            if not isinstance(armature, bpy.types.Object) or not has_limits(armature):
                continue
            if armature.synovia.live:
                settle(armature, graph)
    except ValueError as error:
        print(f"Synovia: {error}")
    finally:
        _running = False


@persistent
def on_load(*_: Any) -> None:
    """Forget the states of another file."""
    _last_states.clear()


def register() -> None:
    """Add the handlers."""
    bpy.app.handlers.depsgraph_update_post.append(on_update)
    bpy.app.handlers.load_post.append(on_load)


def unregister() -> None:
    """Remove the handlers."""
    bpy.app.handlers.depsgraph_update_post.remove(on_update)
    bpy.app.handlers.load_post.remove(on_load)
    _last_states.clear()
