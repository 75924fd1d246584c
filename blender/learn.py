# SPDX-License-Identifier: GPL-3.0-or-later
"""Human limits for an armature, and limits learned from actions."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import bpy
import numpy as np

from synovia import Clip, LimitModel, Pose
from synovia.population import limits_for
from synovia.rigs import NotHumanError

from .action import clip_of, suits
from .limits import with_split_bones
from .rig import Rig, rig_of
from .roles import assigned_roles

NEED_SCIPY = frozenset({"reach-cone", "theta-phi", "distance-field"})
"""Shapes whose fit needs SciPy."""


def has_scipy() -> bool:
    """Return True if SciPy is installed; Blender does not include it."""
    return find_spec("scipy") is not None


def clips_for(armature: Any, rig: Rig, scene: Any) -> list[Clip]:
    """Return the armature object's action as a clip, from which the rig is aligned, or nothing."""
    data = armature.animation_data
    if data is None or data.action is None or not suits(data.action, armature):
        return []
    return [clip_of(armature, data.action, rig, scene)]


def human_limits(armature: Any, source: Any, scene: Any) -> tuple[LimitModel, list[str]]:
    """Return human limits for an armature object, and lines that explain how it was recognised."""
    rig = rig_of(armature)
    clips = clips_for(armature, rig, scene) or [_empty_clip(rig)]
    try:
        human = limits_for(clips, source, roles=assigned_roles(armature, rig.skeleton))
    except NotHumanError as error:
        raise ValueError(f"{error}. Assign bones in Bones of a Human") from None
    lines = list(human.explain())
    if not human.model.limits:
        raise ValueError(f"no bone of {armature.name} is certain enough: {'; '.join(lines)}")
    return with_split_bones(human.model, human.alignment.rig), lines


def _empty_clip(rig: Rig) -> Clip:
    """Return a clip of the rig without frames."""
    joints = len(rig.skeleton)
    return Clip(rig.skeleton, Pose(np.zeros((0, joints, 4)), np.zeros((0, joints, 3))), 1 / 30)


def chosen_actions(armature: Any) -> list[Any]:
    """Return the actions chosen for learning that rotate bones of an armature object."""
    actions = bpy.data.actions
    return [action for action in actions if action.synovia_learn and suits(action, armature)]


def learn_limits(armature: Any, scene: Any) -> tuple[LimitModel, list[str]]:
    """Return limits fitted to the chosen actions, and notes for the user."""
    settings, actions = armature.synovia, chosen_actions(armature)
    if not actions:
        raise ValueError(f"choose an action that moves {armature.name}")
    if settings.shape in NEED_SCIPY and not has_scipy():
        raise ValueError(
            f"fitting a {settings.shape} needs SciPy, which this Blender's Python does not have; "
            "k-DOP, box, ellipsoid and swing and twist do not need it"
        )
    rig = rig_of(armature)
    clips = [clip_of(armature, action, rig, scene) for action in actions]
    options: dict[str, Any] = {"margin": float(settings.margin)}
    notes = []
    if not has_scipy():
        options["trim"] = 0.0
        notes.append("without SciPy no frames are dropped, so capture faults widen the limits")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LimitModel.fit(clips, settings.shape, **options)
    return model, [*notes, *(str(warning.message) for warning in caught)]
