"""Models carried to other skeletons, and reduced to limits of single joints."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Quats
from ..limit import Limit
from ..skeleton import Clip, Match, Skeleton, list_names
from .constraint import Constraint
from .coupled import couple
from .limb import Limb

if TYPE_CHECKING:
    from ..rigs import Alignment
    from .model import LimitModel


def carry(model: LimitModel, matched: Match, clip: str) -> LimitModel:
    """Return the constraints on the skeleton of `matched`, without samples and provenance.

    Warns of constraints that are lost; `clip` names the skeleton in the warnings.
    """
    if matched.skeleton is model.skeleton and not matched.names:
        return model
    joints = matched.lineages(model.ancestors, clip)
    constraints: list[Constraint] = []
    losses: dict[str, list[str]] = {}
    for constraint in model.constraints:
        carried = constraint.on(matched.skeleton, joints)
        constraints += carried.constraints
        if carried.loss:
            losses.setdefault(carried.loss, []).extend(carried.lost)
    for loss, lost in losses.items():
        warnings.warn(f"{clip or 'clip'}: {loss}: {list_names(lost)}", stacklevel=4)
    usual = None if model.usual is None else carry(model.usual, matched, clip)
    return type(model)(constraints, matched.skeleton, usual=usual)


def for_clip(
    model: LimitModel, clip: Clip, names: Mapping[str, str] | None
) -> tuple[LimitModel, dict[str, str]]:
    """Return a model on a clip's skeleton, and its joint names by those of the clip.

    Warns of joints without a match and of constraints that are lost.
    """
    matched = model.match(clip.skeleton, names)
    matched.warn(clip.name)
    ours = {clip.skeleton.names[joint]: name for name, joint in matched.joints.items()}
    return carry(model, matched, clip.name), ours


def retarget(
    model: LimitModel,
    skeleton: Skeleton,
    clips: Sequence[Clip],
    roles: Mapping[str, str] | None,
    own_clips: Sequence[Clip],
) -> LimitModel:
    """Return the limits for another rig of a human, without groups; see `LimitModel.on`.

    Limbs, dependent limits and usual limits are converted as well. Warns of joints that are lost;
    ValueError if either rig is not recognised.
    """
    from ..rigs import (
        align,
        canonical_skeleton,
        dependents_from_rig,
        dependents_on_rig,
        limits_from_rig,
        limits_on_rig,
        recognize,
    )

    dependents, limbs = dict(model.dependents), list(model.limbs)
    here = None
    if set(model.skeleton.names) <= set(canonical_skeleton().names):
        canonical, names = dict(model.limits), {name: name for name in model.limits}
    else:
        rig = recognize(model.skeleton)
        try:
            here = align(rig, own_clips)
            canonical = limits_from_rig(model.limits, here)
            dependents = dependents_from_rig(model.dependents, canonical, here)
            limbs = limbs_from_rig(model.limbs, canonical, here)
        except ValueError as error:
            raise ValueError(f"of the rig that these limits are for: {error}") from None
        names = dict(rig.roles)
    there = align(recognize(skeleton, roles), clips)
    limits = limits_on_rig(canonical, there)
    dependents = dependents_on_rig(dependents, limits, there)
    carried = {names[role] for role in canonical if there.rig.roles.get(role) in limits}
    lost = [name for name in model.names if name not in carried]
    for reason, joints in reasons_lost(model, lost, here, there).items():
        warnings.warn(f"not carried over: {', '.join(joints)}: {reason}", stacklevel=3)
    if alone := len(carried.intersection(model.dependents)) - len(dependents):
        warnings.warn(
            f"{alone} of {len(model.dependents)} joints depend on no other here, because that "
            "one is not carried over",
            stacklevel=3,
        )
    limbs = limbs_on_rig(limbs, limits, there)
    if apart := len(model.limbs) - len(limbs):
        warnings.warn(
            f"{apart} of {len(model.limbs)} limbs are limited joint by joint here, because a bone "
            "is not carried over",
            stacklevel=3,
        )
    usual = None
    if model.usual is not None:
        with warnings.catch_warnings(action="ignore"):  # of the same joints as above
            usual = retarget(model.usual, skeleton, clips, roles, own_clips)
    return replace(
        model,
        constraints=couple(limits, dependents, limbs),
        skeleton=skeleton,
        samples={},
        usual=usual,
    )


def reasons_lost(
    model: LimitModel, lost: Sequence[str], here: Alignment | None, there: Alignment
) -> dict[str, list[str]]:
    """Return the joints whose limits are not carried to another rig, by reason with a remedy.

    `here` is the alignment of the model's rig, or None for the canonical human; `there` is that of
    the other rig. Fingers and face of the canonical human are omitted, because most rigs have none.
    """
    from ..rigs import FACE, FINGERS

    role_of = {name: name for name in lost}
    if here is not None:
        role_of = {joint: role for role, joint in here.rig.roles.items()}
    grouped = {name for group in model.groups for name in group.joints}
    reasons: dict[str, list[str]] = {}
    options: dict[str, str] = {}
    for name in lost:
        role = role_of.get(name)
        if here is None and name in (*FACE, *FINGERS):
            continue
        if name in grouped:
            reason = "controls of a figure limit it together with others"
        elif role is None or (here is not None and role not in here.trusted):
            assert here is not None
            reason = here.no_verdict.get(name, "part of a bone that is limited as a whole")
            if role is not None and name in here.no_verdict:
                reason += "; a clip of the rig that these limits are for may show it (--learned-on)"
        elif role not in there.rig.roles:
            reason = "the rig has no such bone; if it has, --map JOINT=ROLE says which"
        elif role not in there.trusted:
            joint = there.rig.roles[role]
            reason = f"on the rig {there.no_verdict[joint]}; a clip as --rig may show more"
        else:
            assert here is not None
            options[name] = here.rig.roles[here.trusted[role]]
            continue
        reasons.setdefault(reason, []).append(name)
    if options:
        again = " ".join(f"--relative-to {name}={above}" for name, above in options.items())
        reason = f"measured from another joint than on other rigs; fit again with {again}"
        reasons[reason] = list(options)
    return reasons


def limbs_on_rig(
    limbs: Sequence[Limb],
    limits: Mapping[str, Limit],
    alignment: Alignment,
) -> list[Limb]:
    """Return limbs of the canonical human, converted to a rig.

    `limits` is the result of `rigs.limits_on_rig`. Limbs without limits of both bones are left
    out; those without an end have two joints.
    """
    frames, roles = alignment.frames, alignment.rig.roles
    parents = {role: frame for role, (_, frame) in alignment.anchors.items()}
    return _limbs_in_frames(limbs, limits, frames, parents, roles)


def limbs_from_rig(
    limbs: Sequence[Limb],
    limits: Mapping[str, Limit],
    alignment: Alignment,
) -> list[Limb]:
    """Return limbs of a rig, converted to the canonical human; the inverse of `limbs_on_rig`."""
    roles = {joint: role for role, joint in alignment.rig.roles.items()}
    limited = [limb for limb in limbs if all(roles.get(name) in limits for name in limb.joints)]
    back = {role: quat.inverse(frame) for role, frame in alignment.frames.items()}
    joints, anchors = alignment.rig.roles, alignment.anchors
    frames = {joints[role]: back[role] for role in limits}
    parents = {joints[role]: quat.inverse(anchors[role][1]) for role in limits}
    return _limbs_in_frames(limited, limits, frames, parents, roles)


def _limbs_in_frames(
    limbs: Sequence[Limb],
    limits: Mapping[str, Limit],
    frames: Mapping[str, Quats],
    parents: Mapping[str, Quats],
    names: Mapping[str, str],
) -> list[Limb]:
    """Return limbs with joints renamed by `names`, and directions rotated.

    `frames` and `parents` are rotations (4,) by joint. They apply to directions in the frame of
    the joint, and in the frame of the bone that the joint is measured from. Limbs without limits
    of both bones are left out.
    """
    converted = []
    for limb in limbs:
        upper, lower, *end = limb.joints
        if names.get(upper) not in limits or names.get(lower) not in limits:
            continue
        axes = quat.rotate(np.stack([frames[upper], frames[lower]]), limb.axes)
        neutral = limb.neutral
        if neutral is not None and end and names.get(end[0]) in limits:
            neutral = quat.mul(quat.mul(frames[lower], neutral), quat.inverse(frames[end[0]]))
        muscles = [
            muscle.in_frames(parents[muscle.joint], frames[muscle.joint])
            for muscle in limb.muscles
            if names.get(muscle.joint) in limits
        ]
        rebuilt = limb.rebuild(limits, names, axes=axes, neutral=neutral, muscles=muscles)
        converted += [] if rebuilt is None else [rebuilt]
    return converted


def joint_by_joint(model: LimitModel, what: str) -> LimitModel:
    """Return the model reduced to limits of single joints, for a feature `what`.

    Limbs and dependent limits are replaced by the limits of their joints, the widest for any pose
    of the driver, with a warning each. ValueError if there are groups.
    """
    if model.groups:
        raise ValueError(f"{what} takes limits of single joints, got groups of a figure")
    model = without_limbs(model, what)
    if not model.dependents:
        return model
    warnings.warn(
        f"{what} does not know that {list_names(model.dependents)} depend on other joints: what "
        "they may do at all is legal",
        stacklevel=3,
    )
    return model.with_limits(model.limits, {})


def without_limbs(model: LimitModel, what: str | None = None) -> LimitModel:
    """Return the model with joints of limbs limited one by one, without muscles.

    Warns if there are limbs and `what` names a feature that does not support them.
    """
    if not model.limbs:
        return model
    if what is not None:
        joints = [name for limb in model.limbs for name in limb.joints]
        warnings.warn(
            f"{what} does not share twist along limbs: each of {list_names(joints)} is limited by "
            "itself",
            stacklevel=4,
        )
    return replace(model, constraints=(*couple(model.limits, model.dependents), *model.groups))
