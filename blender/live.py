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

from synovia.arrays import Quats

from . import draw
from .channels import Channels
from .limits import ROUNDING, SKIN, Bound, bound, has_limits
from .rig import driven_bones, evaluated_rotations

NEAR = float(np.cos(0.5 * (SKIN + ROUNDING)))
"""The least inner product of rotations that are no farther apart than rounding."""
_running = False
_seen: dict[int, tuple[str, bytes, bytes]] = {}
"""By armature object: its limits, the values of its channels, what constraints made of bones."""


def settle(thing: Any, graph: Any) -> int:
    """Bring the bones of an armature object within their limits; return how many were turned."""
    limits, channels = bound(thing), Channels.read(thing)
    rotations, driven = read_pose(thing, limits, channels, graph)
    key, evaluated = thing.session_uid, rotations[driven].tobytes()
    if _seen.get(key) == (thing.synovia.limits_id, channels.tobytes(), evaluated):
        return 0
    legal = limits.target.project(limits.pose(rotations)).rotations
    free = np.ones(len(rotations), dtype=bool)
    free[driven] = False
    if limits.split:
        legal = limits.share_turns(rotations, legal, free)
    turned = np.flatnonzero(free & (np.abs(np.einsum("ij,ij->i", rotations, legal)) < NEAR))
    if len(turned):
        channels = channels.turn(limits.rig.order[turned], limits.rig.basis(turned, legal[turned]))
        channels.write(thing)
    _seen[key] = thing.synovia.limits_id, channels.tobytes(), evaluated
    if draw.drawn(thing):
        _show(thing, limits, read_pose(thing, limits, channels, graph)[0])
    return len(turned)


def read_pose(thing: Any, limits: Bound, channels: Channels, graph: Any) -> tuple[Quats, list[int]]:
    """Return the rotations (J, 4) of all joints, and the joints that constraints turn.

    The latter are as they come out.
    """
    rotations = limits.rig.aligned(channels.basis()[limits.rig.order])
    driven = [limits.rig.skeleton.index(name) for name in driven_bones(thing)]
    if driven:
        found = evaluated_rotations(thing.evaluated_get(graph), limits.rig, driven)
        for joint, rotation in found.items():
            rotations[joint] = rotation
    return rotations, driven


def show_outside(thing: Any, graph: Any) -> None:
    """Colour what is drawn of limits by the pose as it is."""
    limits = bound(thing)
    _show(thing, limits, read_pose(thing, limits, Channels.read(thing), graph)[0])


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
