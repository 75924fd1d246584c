"""Lessons: limits of every family from the same takes, so that only the family differs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import Vectors
from ...clip import Clip
from ...fitting import Recipe, fit_joint
from ...learning import bone_axes, takes_of
from ...limit import Limit
from ...model import LimitModel
from ...sampling import Trimmed, trim
from ...shapes import DistanceField, push
from ...skeleton import Skeleton
from ...takes import Take

STROKE = np.radians(8.0)
"""How far the one stroke of sculpting pushes the middle of a field's boundary out, in radians."""


@dataclass(frozen=True)
class Family:
    """A shape in a chart, with the options of its fit; `sculpted` ones get a stroke of a brush."""

    name: str
    shape: str
    chart: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sculpted: bool = False


SOURCE_FIELD = {"resolution": 32, "closing": 0.0}
"""Nothing but what was sampled; 32 cells a turn, so that one is the source's threshold of 0.2."""
BOX = Family("box", "box", "rotation-vector", {"along": "chart"})
SAMPLED = Family("field, sampled", "distance-field", "euler", SOURCE_FIELD)
FAMILIES = (
    BOX,
    SAMPLED,
    Family("field, sculpted", "distance-field", "euler", SOURCE_FIELD, sculpted=True),
    Family("reach cone", "reach-cone", "direction-twist"),
    Family("box, turned", "box", "swing-twist"),
    Family("ellipsoid", "ellipsoid", "swing-twist"),
    Family("k-DOP", "kdop", "swing-twist"),
    Family("product", "product", "swing-twist"),
    Family("theta-phi table", "theta-phi", "direction-twist"),
    Family("field, filled", "distance-field", "rotation-vector"),
)
"""Those of the source first: box, field, field by hand; then the cone of 000, then ours."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """What was seen of each joint, and what of it is believed."""

    skeleton: Skeleton
    joints: Mapping[str, tuple[Sequence[Take], Trimmed, Vectors]]

    @classmethod
    def of(cls, clips: Sequence[Clip], joints: Sequence[str]) -> Lesson:
        """Return what `clips` show of `joints`, which are named as in the first clip."""
        skeleton = clips[0].skeleton
        axes = bone_axes(skeleton)
        takes = takes_of(clips, list(joints), None, None, [False] * len(clips))
        seen = {
            name: (takes[name], trim(takes[name]), axes[skeleton.index(name)])
            for name in joints
            if takes[name]
        }
        return cls(skeleton, seen)

    def model(self, family: Family) -> LimitModel:
        """Return the limits of one family for all joints."""
        recipe = Recipe(family.shape, family.chart, options=dict(family.options))
        limits = {}
        with warnings.catch_warnings():
            # About directions that no frame comes near.
            warnings.simplefilter("ignore", UserWarning)
            for name, (takes, trimmed, axis) in self.joints.items():
                fitted = fit_joint(takes, recipe, reference=None, axis=axis, trimmed=trimmed)
                limits[name] = sculpted(fitted.limit) if family.sculpted else fitted.limit
        return LimitModel(limits, self.skeleton)


def sculpted(limit: Limit) -> Limit:
    """Return the limit with its field pushed out by one broad stroke from the middle.

    The source's animator left no record; this is ours, the plainest there is.
    """
    shape = limit.shape
    if not isinstance(shape, DistanceField):
        raise ValueError(f"only distance fields are sculpted, got {shape.name}")
    inside = shape.nodes[shape.values <= shape.threshold]
    middle = inside.mean(axis=0)
    radius = 2.0 * float(np.linalg.norm(inside - middle, axis=-1).max()) + STROKE
    return replace(limit, shape=push(shape, middle, radius, STROKE))
