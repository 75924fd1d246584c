# SPDX-License-Identifier: GPL-3.0-or-later
"""Live: bones stay within their limits while one poses.

The handler runs after each change that Blender evaluates. It turns bones only where they are
outside by more than rounding, and never those that constraints or inverse kinematics turn, since
those would be turned back and forth. What it has seen it does not look at again: its own change
causes one more call, which ends at a comparison.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from synovia import quat
from synovia.arrays import Mask, Quats

from . import draw
from .limits import Bound, bound, has_limits, movable
from .rig import driven_bones, evaluated_rotations, read_basis, write_basis

_running = False
_seen: dict[int, tuple[Any, bytes]] = {}


def settle(thing: Any, graph: Any = None) -> int:
    """Bring the bones of an armature object within their limits; return how many were turned."""
    limits = bound(thing)
    basis = read_basis(thing, limits.rig)
    rotations = limits.rig.aligned(basis)
    _use_evaluated(thing, graph, limits, rotations)
    state = (thing.synovia.limits_id, rotations.tobytes())
    if _seen.get(thing.session_uid) == state:
        return 0
    pose = limits.pose(rotations)
    outside = limits.outside(pose)
    moving = outside & movable(thing, limits) if outside.any() else outside
    if moving.any():
        rotations = _turn(thing, limits, rotations, moving)
        outside = limits.outside(limits.pose(rotations))
    _seen[thing.session_uid] = (thing.synovia.limits_id, rotations.tobytes())
    draw.show_state(thing, {limits.rig.skeleton.names[j] for j in np.flatnonzero(outside)})
    return int(moving.sum())


def forget(thing: Any) -> None:
    """Look at an armature object anew at the next change."""
    _seen.pop(thing.session_uid, None)


def show_outside(thing: Any, graph: Any) -> None:
    """Colour what is drawn of limits by the pose as it is."""
    limits = bound(thing)
    rotations = limits.rig.aligned(read_basis(thing, limits.rig))
    _use_evaluated(thing, graph, limits, rotations)
    outside = np.flatnonzero(limits.outside(limits.pose(rotations)))
    draw.show_state(thing, {limits.rig.skeleton.names[joint] for joint in outside})


def _use_evaluated(thing: Any, graph: Any, limits: Bound, rotations: Quats) -> None:
    """Take joints that constraints turn as they come out."""
    driven = [limits.rig.skeleton.index(name) for name in driven_bones(thing)]
    if driven and graph is not None:
        found = evaluated_rotations(thing.evaluated_get(graph), limits.rig, driven)
        for joint, rotation in found.items():
            rotations[joint] = rotation


def _turn(thing: Any, limits: Bound, rotations: Quats, moving: Mask) -> Quats:
    """Turn the bones that are outside and may be moved; return all rotations as they are then."""
    legal = limits.target.project(limits.pose(rotations)).rotations
    changed = np.flatnonzero((quat.angle_between(rotations, legal) > 0.0) & movable(thing, limits))
    bones = thing.pose.bones
    for joint in changed.tolist():
        write_basis(bones[int(limits.rig.order[joint])], limits.rig.basis(joint, legal[joint]))
    now = limits.rig.aligned(read_basis(thing, limits.rig))
    rotations = rotations.copy()
    rotations[changed] = now[changed]
    return rotations


@persistent
def on_update(scene: Any, graph: Any) -> None:
    """Settle the live armatures among what has changed."""
    global _running
    if _running:
        return
    _running = True
    try:
        for update in graph.updates:
            thing = update.id.original
            if isinstance(thing, bpy.types.Object) and has_limits(thing) and thing.synovia.live:
                settle(thing, graph)
    except ValueError as error:
        print(f"Synovia: {error}")
    finally:
        _running = False


@persistent
def on_load(*_: Any) -> None:
    """Forget what was seen in another file."""
    _seen.clear()


def register() -> None:
    """Listen to changes."""
    bpy.app.handlers.depsgraph_update_post.append(on_update)
    bpy.app.handlers.load_post.append(on_load)


def unregister() -> None:
    """Listen no more."""
    bpy.app.handlers.depsgraph_update_post.remove(on_update)
    bpy.app.handlers.load_post.remove(on_load)
    _seen.clear()
