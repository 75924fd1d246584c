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
from synovia.arrays import Quats

from . import draw
from .limits import ROUNDING, SKIN, Bound, bound, has_limits
from .rig import driven_bones, evaluated_rotations, read_basis, write_basis

_running = False
_seen: dict[int, tuple[Any, bytes]] = {}


def settle(thing: Any, graph: Any) -> int:
    """Bring the bones of an armature object within their limits; return how many were turned."""
    limits = bound(thing)
    rotations, driven = read_pose(thing, limits, graph)
    key, name = thing.session_uid, thing.synovia.limits_id
    if _seen.get(key) == (name, rotations.tobytes()):
        return 0
    legal = limits.target.project(limits.pose(rotations)).rotations
    outside = quat.angle_between(rotations, legal) > SKIN + ROUNDING
    outside[driven] = False
    turned = np.flatnonzero(outside).tolist()
    bones, rig = thing.pose.bones, limits.rig
    for joint in turned:
        write_basis(bones[int(rig.order[joint])], rig.basis(joint, legal[joint]))
    if turned:
        rotations = rotations.copy()
        rotations[turned] = rig.aligned(read_basis(thing, rig))[turned]
    _seen[key] = name, rotations.tobytes()
    if draw.drawn(thing):
        _show(thing, limits, rotations)
    return len(turned)


def read_pose(thing: Any, limits: Bound, graph: Any) -> tuple[Quats, list[int]]:
    """Return the rotations (J, 4) of all joints, and the joints that constraints turn.

    The latter are as they come out.
    """
    rotations = limits.rig.aligned(read_basis(thing, limits.rig))
    driven = [limits.rig.skeleton.index(name) for name in driven_bones(thing)]
    if driven:
        found = evaluated_rotations(thing.evaluated_get(graph), limits.rig, driven)
        for joint, rotation in found.items():
            rotations[joint] = rotation
    return rotations, driven


def show_outside(thing: Any, graph: Any) -> None:
    """Colour what is drawn of limits by the pose as it is."""
    limits = bound(thing)
    _show(thing, limits, read_pose(thing, limits, graph)[0])


def _show(thing: Any, limits: Bound, rotations: Quats) -> None:
    outside = np.flatnonzero(limits.outside(limits.pose(rotations)))
    draw.show_state(thing, {limits.rig.skeleton.names[joint] for joint in outside})


def forget(thing: Any) -> None:
    """Look at an armature object anew at the next change."""
    _seen.pop(thing.session_uid, None)


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
