# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits that are made here: of a human for this rig, or learned from actions."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import bpy
import numpy as np

from synovia import Clip, LimitModel
from synovia.population import limits_for
from synovia.rigs import NotHumanError

from .action import clip_of, suits
from .limits import with_split_bones
from .rig import Rig, rig_of
from .roles import said_roles

NEED_SCIPY = frozenset({"reach-cone", "theta-phi", "distance-field"})
"""Shapes that are not fitted with NumPy alone."""


def has_scipy() -> bool:
    """Tell whether SciPy is there; Blender does not bring it."""
    return find_spec("scipy") is not None


def clips_for(thing: Any, rig: Rig, scene: Any) -> list[Clip]:
    """Return what an armature object's own action shows of how it stands; none without one."""
    data = thing.animation_data
    if data is None or data.action is None or not suits(data.action, thing):
        return []
    return [clip_of(thing, data.action, rig, scene)]


def human_limits(thing: Any, source: Any, scene: Any) -> tuple[LimitModel, list[str]]:
    """Return limits of a human for an armature object's bones, and what was understood of them."""
    rig = rig_of(thing)
    clips = clips_for(thing, rig, scene) or [_still(rig)]
    try:
        found = limits_for(clips, source, roles=said_roles(thing, rig.skeleton))
    except NotHumanError as error:
        raise ValueError(f"{error}. Say which bone is which in Bones of a Human") from None
    if not found.model.limits:
        raise ValueError(f"no bone of {thing.name} is sure enough: {'; '.join(found.explain())}")
    return with_split_bones(found.model, found.alignment.rig), list(found.explain())


def _still(rig: Rig) -> Clip:
    """Return the rest pose as a clip of no frames."""
    from synovia import Pose

    joints = len(rig.skeleton)
    return Clip(rig.skeleton, Pose(np.zeros((0, joints, 4)), np.zeros((0, joints, 3))), 1 / 30)


def chosen_actions(thing: Any) -> list[Any]:
    """Return the actions that are chosen to learn from, and that turn bones of an armature."""
    return [each for each in bpy.data.actions if each.synovia_learn and suits(each, thing)]


def learn_limits(thing: Any, scene: Any) -> tuple[LimitModel, list[str]]:
    """Return limits around what the chosen actions do, and what a user should know."""
    settings, actions = thing.synovia, chosen_actions(thing)
    if not actions:
        raise ValueError(f"choose an action at least that moves {thing.name}")
    if settings.shape in NEED_SCIPY and not has_scipy():
        raise ValueError(
            f"a {settings.shape} is fitted by SciPy, which this Blender's Python does not have; "
            "k-DOP, box, ellipsoid and swing and twist do without"
        )
    rig = rig_of(thing)
    clips = [clip_of(thing, action, rig, scene) for action in actions]
    options: dict[str, Any] = {"margin": float(settings.margin)}
    notes = []
    if not has_scipy():
        options["trim"] = 0.0
        notes.append("without SciPy every frame counts, faults of the capture too")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = LimitModel.fit(clips, settings.shape, **options)
    return model, [*notes, *(str(each.message) for each in said)]
