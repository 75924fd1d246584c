"""Limits as parents see them, where those of some joints are measured from an ancestor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .limit import Limit
from .lineage import lineage
from .model import LimitModel
from .skeleton import Pose, check_joints


def held_at(model: LimitModel, pose: Pose, moving: Iterable[str] = ()) -> LimitModel:
    """Return the limits, all measured from parents, while joints between stay as in one `pose`.

    With these still, a limit that is measured from an ancestor is the same region about another
    reference, so nothing is lost. Where a joint that is `moving` is between, it is refused.
    """
    if not model.ancestors:
        return model
    check_joints(model.skeleton, pose)
    if pose.rotations.ndim != 2:
        raise ValueError(
            f"limits measured from an ancestor ({', '.join(model.ancestors)}) are held at one "
            f"pose, got poses of shape {pose.rotations.shape[:-2]}"
        )
    moving, limits = set(moving), dict(model.limits)
    for name, ancestor in model.ancestors.items():
        way = lineage(model.skeleton, name, ancestor)
        between = [model.skeleton.names[joint] for joint in way.between]
        if turning := [each for each in between if each in moving]:
            raise ValueError(
                f"{name} is measured from {ancestor}: {' and '.join(turning)} between them must "
                "not move"
            )
        chart = limits[name].chart
        reference = way.local(pose.rotations.astype(np.float64), chart.reference)
        limits[name] = Limit(replace(chart, reference=reference), limits[name].shape)
    return replace(model, limits=limits, samples={})
