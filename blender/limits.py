# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an armature's limits are kept, and how they are joined to its bones.

They are stored in the object, as the text of a limits file: saved with the .blend, taken back by
undo, copied with the object.
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
from synovia.skeleton import Skeleton, list_names, match

from .rig import Rig, driven_bones, matching_names, rest_state, rest_turn, rig_of, up_axis

ROUNDING = 1e-5
"""Violations up to this angle, in radians, are rounding: Blender has single precision."""
SKIN = 2e-5
"""How deep inside, in radians, rotations are put, so that rounding does not lead out again."""
SPLIT = "split_bones"
"""What limits that are stored have joints of split bones under."""
SIDES = ("left", "right")
"""What the roles of limbs begin with."""
KEPT = 8
"""How many armatures' limits stay in memory."""
_MODELS: OrderedDict[str, LimitModel] = OrderedDict()
_BOUND: OrderedDict[tuple[Any, ...], Bound] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Bound:
    """Limits as an armature's bones have them: the model's joints are the rig's."""

    rig: Rig
    model: LimitModel
    split: Mapping[str, str] = field(default_factory=dict)
    """Joints that end a bone which is split into several, and the joints where it begins."""

    @cached_property
    def limited(self) -> Ints:
        """The numbers of the joints that have a limit."""
        return np.array([self.rig.skeleton.index(name) for name in self.model.names], np.int64)

    def pose(self, rotations: Quats) -> Pose:
        """Return a pose (J, 4) of the rig."""
        return self._rest.with_rotations(rotations)

    @cached_property
    def _rest(self) -> Pose:
        return self.rig.skeleton.rest_pose()

    def outside(self, pose: Pose) -> Mask:
        """Tell which joints (J,) of a pose are outside."""
        return np.asarray(self.model.violation(pose) > ROUNDING)

    def share_turns(self, given: Quats, legal: Quats, free: Mask) -> Quats:
        """Return legal rotations (..., J, 4) in which split bones bend where they begin.

        Limits turn the joint that ends a bone, which would bend a split one in its middle. With
        swings S, S' and twists T, T' of the whole bone as `given` and as `legal`, turning the first
        joint by S' S⁻¹ and the last one by T⁻¹ T' brings the bone to the same place. Joints that
        are not `free` (J,) to turn, or have limits of their own, keep the turn where it is.
        """
        index, found = self.rig.skeleton.index, legal
        for end, start in self.split.items():
            last, first = index(end), index(start)
            moved = (given[..., last, :] != legal[..., last, :]).any(axis=-1, keepdims=True)
            if not moved.any() or not free[[first, last]].all() or start in self.model.names:
                continue
            path = self.rig.skeleton.path_to_root(last)
            between = path[: path.index(first) + 1][::-1]
            axis = self.rig.skeleton.rest_directions[first]
            (swing, twist), (swung, twisted) = (
                quat.swing_twist(reduce(quat.mul, [each[..., k, :] for k in between]), axis)
                for each in (given, legal)
            )
            found = found.copy() if found is legal else found
            for joint, turned in (
                (first, quat.mul(quat.mul(swung, quat.inverse(swing)), given[..., first, :])),
                (last, quat.mul(given[..., last, :], quat.mul(quat.inverse(twist), twisted))),
            ):
                own = quat.normalize(turned)
                found[..., joint, :] = np.where(moved, own, given[..., joint, :])
        return found

    @cached_property
    def target(self) -> LimitModel:
        """The limits, smaller by a hair's breadth, where rotations are put."""
        smaller = {name: limit.shrink(SKIN) for name, limit in self.model.limits.items()}
        dependents = {name: each.shrink(SKIN) for name, each in self.model.dependents.items()}
        smaller |= {name: each.limit for name, each in dependents.items()}
        return self.model.with_limits(smaller, dependents)


def store(thing: Any, model: LimitModel, source: str) -> None:
    """Keep limits in an armature object; `source` says in words where they are from."""
    content = limits_bytes(replace(model, samples={}), "limits")
    settings = thing.synovia
    settings.limits = base64.b64encode(zlib.compress(content)).decode()
    settings.limits_id = hashlib.sha256(content).hexdigest()
    settings.source = source


def with_limit(model: LimitModel, bone: str, limit: Limit) -> LimitModel:
    """Return limits with another one for a bone; ValueError where what it depends on forbids it."""
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
    """Return what Blender's own limits do not know of a bone's, in words; "" for nothing."""
    above, each = model.limits[bone].relative_to, model.dependents.get(bone)
    notes = [f"as if bones between it and {above} were at rest"] if above else []
    if each is not None:
        notes.append(f"as if it did not depend on {each.driver}, which gains more")
    return "; ".join(notes)


def forget(thing: Any) -> None:
    """Take the limits away from an armature object."""
    settings = thing.synovia
    settings.limits = settings.limits_id = settings.source = ""


def has_limits(thing: Any) -> bool:
    """Tell whether something is an armature object with limits."""
    return thing is not None and thing.type == "ARMATURE" and bool(thing.synovia.limits_id)


def model_of(thing: Any) -> LimitModel:
    """Return the limits of an armature object; ValueError where it has none."""
    key = thing.synovia.limits_id
    if not key:
        raise ValueError(f"{thing.name} has no limits yet: open a file, or take those of a human")
    if key not in _MODELS:
        content = zlib.decompress(base64.b64decode(thing.synovia.limits))
        _keep(_MODELS, key, parse_limits(f"limits of {thing.name}", content))
    return _MODELS[key]


def bound(thing: Any) -> Bound:
    """Return the limits of an armature object on its bones; the last few are remembered."""
    key = (thing.synovia.limits_id, up_axis(thing), *rest_state(thing.data))
    if key not in _BOUND:
        _keep(_BOUND, key, bind(model_of(thing), rig_of(thing)))
    return _BOUND[key]


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    while len(cache) > KEPT:
        cache.popitem(last=False)


def bind(model: LimitModel, rig: Rig) -> Bound:
    """Return limits on a rig whose bones are called as the joints are, or nearly.

    The rig's axes are turned to those of the skeleton that the limits were made for.
    """
    names = names_for(model, rig.skeleton)
    turned = rig.turn(rest_turn(rig.skeleton, model.skeleton, _shared(model, rig.skeleton, names)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is missing was said when the limits were taken
        here = model.for_skeleton(turned.skeleton, names)
    split = model.provenance.get(SPLIT, {})
    both = {end: start for end, start in split.items() if {end, start} <= {*turned.skeleton.names}}
    return Bound(turned, here, both)


def names_for(model: LimitModel, skeleton: Skeleton) -> dict[str, str]:
    """Return joints of a skeleton whose names differ from the model's by a number, with those."""
    return matching_names(model.skeleton.names, skeleton.names)


def _shared(model: LimitModel, skeleton: Skeleton, names: dict[str, str]) -> dict[str, int]:
    """Return all joints that both have, limited or not: numbers in `skeleton` by the model's."""
    return match(model.skeleton.names, model.skeleton, skeleton, names).joints


def fit_to(
    model: LimitModel, rig: Rig, clips: list[Clip], roles: Mapping[str, str]
) -> tuple[LimitModel, list[str]]:
    """Return limits that suit a rig, and what a user should know.

    Where names and rest pose are those of the skeleton that the limits are for, they stay as they
    are; otherwise they are carried over from one human to the other. `roles` are those of bones
    that a user says.
    """
    names = names_for(model, rig.skeleton)
    turned = rig.turn(rest_turn(rig.skeleton, model.skeleton, _shared(model, rig.skeleton, names)))
    found = model.match(turned.skeleton, names)
    missing = [f"no bones for {list_names(found.missing)}"] if found.missing else []
    if 2 * len(found.joints) >= len(model.names) and not found.bone_angles:
        return model, missing
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            there = model.on(rig.skeleton, clips=clips, roles=roles)
            there = with_split_bones(there, recognize(rig.skeleton, roles))
        except ValueError as error:
            if found.joints:
                return model, found.warnings()
            raise ValueError(
                f"none of the bones is called as a joint of these limits, and one of the two rigs "
                f"is not known to be a human: {error}"
            ) from None
    if len(there.names) < len(found.joints) and not found.bone_angles:
        return model, missing
    notes = [str(each.message) for each in said]
    return there, ["carried over from another rig of a human", *notes]


def with_split_bones(model: LimitModel, rig: HumanRig) -> LimitModel:
    """Return limits that remember which limited joints end a limb's bone, and where that begins.

    Only of bones that are split into several joints; see `Bound.share_turns`.
    """
    split = {
        joint: rig.starts[role]
        for role, joint in rig.roles.items()
        if role.startswith(SIDES) and joint in model.ancestors and rig.starts[role] != joint
    }
    return replace(model, provenance={**model.provenance, SPLIT: split}) if split else model


def movable(thing: Any, bound: Bound) -> Mask:
    """Tell which joints (J,) are turned by nothing but their own channels."""
    found = np.ones(len(bound.rig.order), dtype=bool)
    found[[bound.rig.skeleton.index(name) for name in driven_bones(thing)]] = False
    return found
