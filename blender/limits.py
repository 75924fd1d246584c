# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage of an armature's limits, and their binding to its bones.

The armature object stores them as a limits file. They are therefore saved with the .blend, covered
by undo, and copied with the object.
"""

from __future__ import annotations

import base64
import hashlib
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from synovia import Clip, Limit, LimitModel, Pose, quat
from synovia.arrays import Ints, Mask, Quats
from synovia.io.limits import limits_bytes, parse_limits
from synovia.rigs import Rig as HumanRig
from synovia.rigs import recognize
from synovia.skeleton import list_names, match

from .rig import Rig, axes_rotation, driven_bones, matching_names, rest_state, rig_of, up_axis

ROUNDING = 1e-5  # radians; smaller violations are rounding, as Blender has single precision
INSET = 2e-5  # radians; rotations are projected this far inside, so that rounding keeps them inside
SPLIT = "split_bones"  # key of split bones in the provenance of stored limits
SIDES = ("left", "right")  # prefixes of the roles of limbs
CACHE_SIZE = 8  # armatures whose limits stay in memory
_MODELS: OrderedDict[str, LimitModel] = OrderedDict()
_BOUND: OrderedDict[tuple[Any, ...], Bound] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Bound:
    """Limits bound to an armature: the model's joints are the rig's."""

    rig: Rig
    model: LimitModel
    split: Mapping[str, str] = field(default_factory=dict)
    """The last joint of each bone that is split into several, with the first joint."""

    @cached_property
    def limited(self) -> Ints:
        """The indices of the joints that have a limit."""
        return np.array([self.rig.skeleton.index(name) for name in self.model.names], np.int64)

    def pose(self, rotations: Quats) -> Pose:
        """Return the pose of the rig with these rotations (J, 4)."""
        return self._rest.with_rotations(rotations)

    @cached_property
    def _rest(self) -> Pose:
        return self.rig.skeleton.rest_pose()

    def outside(self, pose: Pose) -> Mask:
        """Return a mask (J,) of the joints of a pose that are outside."""
        return np.asarray(self.model.violation(pose) > ROUNDING)

    def bend_where_split_bones_begin(self, given: Quats, legal: Quats, free: Mask) -> Quats:
        """Return legal rotations (..., J, 4) in which split bones bend at their first joint.

        Limits rotate the last joint of a bone, which would bend a split bone in its middle. With
        swings S, S' and twists T, T' of the complete bone in `given` and in `legal`, rotating the
        first joint by S' S⁻¹ and the last one by T⁻¹ T' gives the bone the same orientation. Bones
        whose joints are not `free` (J,), or whose first joint has a limit, are left unchanged.
        """
        index, result = self.rig.skeleton.index, legal
        for end, start in self.split.items():
            last, first = index(end), index(start)
            moved = (given[..., last, :] != legal[..., last, :]).any(axis=-1, keepdims=True)
            if not moved.any() or not free[[first, last]].all() or start in self.model.names:
                continue
            path = self.rig.skeleton.path_to_root(last)
            between = path[: path.index(first) + 1][::-1]
            axis = self.rig.skeleton.rest_directions[first]
            (swing, twist), (swung, twisted) = (
                quat.swing_twist(reduce(quat.mul, [rotations[..., k, :] for k in between]), axis)
                for rotations in (given, legal)
            )
            result = result.copy() if result is legal else result
            for joint, rotated in (
                (first, quat.mul(quat.mul(swung, quat.inverse(swing)), given[..., first, :])),
                (last, quat.mul(given[..., last, :], quat.mul(quat.inverse(twist), twisted))),
            ):
                normalized = quat.normalize(rotated)
                result[..., joint, :] = np.where(moved, normalized, given[..., joint, :])
        return result

    @cached_property
    def target(self) -> LimitModel:
        """The limits reduced by `INSET`, onto which rotations are projected."""
        smaller = {name: limit.shrink(INSET) for name, limit in self.model.limits.items()}
        coupled = self.model.dependents.items()
        dependents = {name: dependent.shrink(INSET) for name, dependent in coupled}
        smaller |= {name: dependent.limit for name, dependent in dependents.items()}
        return self.model.with_limits(smaller, dependents)


def store(armature: Any, model: LimitModel, source: str) -> None:
    """Store limits in an armature object; `source` describes their origin for the user."""
    content = limits_bytes(replace(model, samples={}), "limits")
    settings = armature.synovia
    settings.limits = base64.b64encode(zlib.compress(content)).decode()
    settings.limits_id = hashlib.sha256(content).hexdigest()
    settings.source = source


def with_limit(model: LimitModel, bone: str, limit: Limit) -> LimitModel:
    """Return limits with one limit replaced; ValueError if a coupled limit does not allow it."""
    try:
        return model.with_limits({**model.limits, bone: limit})
    except ValueError as error:
        if bone not in model.dependents:
            raise
        raise ValueError(
            f"{bone} depends on {model.dependents[bone].driver} and cannot have such a limit: "
            f"remove the dependence first, in synovia view ({error})"
        ) from error


def loss_note(model: LimitModel, bone: str) -> str:
    """Return a note about what Blender's limits ignore of a bone's limit; "" for nothing."""
    above, dependent = model.limits[bone].relative_to, model.dependents.get(bone)
    notes = [f"as if bones between it and {above} were at rest"] if above else []
    if dependent is not None:
        notes.append(f"as if it did not depend on {dependent.driver}, which gains more")
    return "; ".join(notes)


def forget(armature: Any) -> None:
    """Remove the limits from an armature object."""
    settings = armature.synovia
    settings.limits = settings.limits_id = settings.source = ""


def has_limits(armature: Any) -> bool:
    """Return True if an object is an armature with limits."""
    return armature is not None and armature.type == "ARMATURE" and bool(armature.synovia.limits_id)


def model_of(armature: Any) -> LimitModel:
    """Return the limits of an armature object; ValueError if it has none."""
    key = armature.synovia.limits_id
    if not key:
        raise ValueError(f"{armature.name} has no limits: open a file, or take human limits")
    if key not in _MODELS:
        content = zlib.decompress(base64.b64decode(armature.synovia.limits))
        _add_to_cache(_MODELS, key, parse_limits(f"limits of {armature.name}", content))
    return _MODELS[key]


def bound(armature: Any) -> Bound:
    """Return the limits of an armature object bound to its bones; the last few are cached."""
    key = (armature.synovia.limits_id, up_axis(armature), *rest_state(armature.data))
    if key not in _BOUND:
        _add_to_cache(_BOUND, key, bind(model_of(armature), rig_of(armature)))
    return _BOUND[key]


def _add_to_cache(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    while len(cache) > CACHE_SIZE:
        cache.popitem(last=False)


def bind(model: LimitModel, rig: Rig) -> Bound:
    """Return limits bound to a rig by names, which may differ by numbers.

    The rig's axes are rotated to those of the limits' skeleton.
    """
    names, rotated = _in_axes_of(model, rig)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing bones were reported when limits were opened
        bound_model = model.for_skeleton(rotated.skeleton, names)
    joints, split = set(rotated.skeleton.names), model.provenance.get(SPLIT, {})
    present = {last: first for last, first in split.items() if {last, first} <= joints}
    return Bound(rotated, bound_model, present)


def _in_axes_of(model: LimitModel, rig: Rig) -> tuple[dict[str, str], Rig]:
    """Return the rig's joints whose names differ by a number, and the rig in the limits' axes."""
    names = matching_names(model.skeleton.names, rig.skeleton.names)
    shared = match(model.skeleton.names, model.skeleton, rig.skeleton, names).joints
    return names, rig.rotate(axes_rotation(rig.skeleton, model.skeleton, shared))


def fit_to(
    model: LimitModel, rig: Rig, clips: list[Clip], roles: Mapping[str, str]
) -> tuple[LimitModel, list[str]]:
    """Return limits that suit a rig, and notes for the user.

    Limits are returned unchanged if names and rest pose agree; otherwise they are converted from
    one human rig to the other. `roles` are the roles of bones that the user assigned.
    """
    names, rotated = _in_axes_of(model, rig)
    common = model.match(rotated.skeleton, names)
    missing = [f"no bones for {list_names(common.missing)}"] if common.missing else []
    if 2 * len(common.joints) >= len(model.names) and not common.bone_angles:
        return model, missing
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            converted = model.on(rig.skeleton, clips=clips, roles=roles)
            converted = with_split_bones(converted, recognize(rig.skeleton, roles))
        except ValueError as error:
            if common.joints:
                return model, common.warnings()
            raise ValueError(
                f"no bone has the name of a joint of these limits, and one of the two rigs is not "
                f"recognised as a human: {error}"
            ) from None
    if len(converted.names) < len(common.joints) and not common.bone_angles:
        return model, missing
    notes = [str(warning.message) for warning in caught]
    return converted, ["converted from another human rig", *notes]


def with_split_bones(model: LimitModel, rig: HumanRig) -> LimitModel:
    """Return limits whose provenance lists last and first joints of limb bones that are split.

    See `Bound.bend_where_split_bones_begin`.
    """
    split = {
        joint: rig.starts[role]
        for role, joint in rig.roles.items()
        if role.startswith(SIDES) and joint in model.ancestors and rig.starts[role] != joint
    }
    return replace(model, provenance={**model.provenance, SPLIT: split}) if split else model


def movable(armature: Any, bound: Bound) -> Mask:
    """Return a mask (J,) of the joints that only their own channels rotate."""
    free = np.ones(len(bound.rig.order), dtype=bool)
    free[[bound.rig.skeleton.index(name) for name in driven_bones(armature)]] = False
    return free
