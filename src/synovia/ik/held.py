"""Limits that are measured from an ancestor: the joints between keep still while others move."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from ..holding import held_at
from ..lineage import lineage, lineages, seen_by
from ..matching import match
from ..model import LimitModel
from ..skeleton import Pose, Skeleton

_FITTED: WeakKeyDictionary[LimitModel, LimitModel] = WeakKeyDictionary()
_HELD: WeakKeyDictionary[LimitModel, tuple[bytes, LimitModel]] = WeakKeyDictionary()


def for_skeleton(model: LimitModel, skeleton: Skeleton) -> LimitModel:
    """Return the limits of `model` for the joints that `skeleton` has, by its names."""
    if skeleton is model.skeleton:
        return model
    found = match(model.limits, model.skeleton, skeleton).joints
    limits = {
        skeleton.names[way.joint]: seen_by(model.limits[name], way, skeleton)
        for name, way in lineages(found, model.ancestors, model.skeleton, skeleton).items()
    }
    known = _FITTED.get(model)
    if known is not None and known.skeleton is skeleton and dict(known.limits) == limits:
        return known  # frame after frame
    _FITTED[model] = fitted = LimitModel(limits, skeleton)
    return fitted


def between(model: LimitModel) -> list[str]:
    """Return the joints between others and what their limits are measured from."""
    skeleton = model.skeleton
    ways = [lineage(skeleton, name, above) for name, above in model.ancestors.items()]
    return [skeleton.names[joint] for joint in sorted({j for way in ways for j in way.between})]


def held(
    model: LimitModel, pose: Pose, joints: Sequence[str] | None, free_root: bool
) -> tuple[LimitModel, Sequence[str] | None]:
    """Return the limits as parents see them, and the joints that may turn but those between.

    A solver turns many joints at once and knows parents only; with the joints between as in `pose`,
    made legal, an ancestor's limit is one about another reference. They must be alike in all poses.
    """
    if not model.ancestors:
        return model, joints
    skeleton, names = model.skeleton, between(model)
    numbers = [skeleton.index(name) for name in names]
    legal = model.project(pose)
    one = Pose(
        legal.rotations.reshape(-1, len(skeleton), 4)[0],
        legal.positions.reshape(-1, len(skeleton), 3)[0],
    )
    if not np.array_equal(
        legal.rotations[..., numbers, :],
        np.broadcast_to(one.rotations[numbers], (*pose.rotations.shape[:-2], len(numbers), 4)),
    ):
        raise ValueError(
            f"poses must be alike in {', '.join(names)}, which are between joints and what their "
            "limits are measured from; solve them one by one"
        )
    if joints is None:
        movers = [name for name in skeleton.names if name not in names]
        joints = [n for n in movers if free_root or skeleton.parents[skeleton.index(n)] >= 0]
    key = one.rotations[numbers].tobytes()
    known = _HELD.get(model)
    if known is None or known[0] != key:
        _HELD[model] = known = (key, held_at(model, one))
    held_at_pose = known[1]
    if turning := [name for name in joints if name in names]:
        raise ValueError(
            f"{', '.join(turning)} must not move: limits of joints below are measured from above "
            f"({', '.join(f'{name} from {above}' for name, above in model.ancestors.items())})"
        )
    return held_at_pose, joints
