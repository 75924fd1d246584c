"""In which directions a limit lets its joint turn at all, and legal rotations to start from."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..joint_kind import joint_kind
from ..limit import Limit

STORED = 256
"""Legal poses that restarts choose from."""
THIN = 1e-6  # radians; rotations this near to a hinge are on it


@dataclass(frozen=True, eq=False)
class Freedom:
    """Axes (n, 3) in the joint's frame about which it turns, and legal rotations (STORED, 4).

    `swing` (8,) is all 0, but for a joint that does not twist, whose axes depend on where it is:
    1, the inverse of its reference, the bone's axis.
    """

    axes: Vectors
    swing: Floats
    legal: Quats


_KNOWN: WeakKeyDictionary[Limit, Freedom] = WeakKeyDictionary()


def freedom_of(limit: Limit) -> Freedom:
    """Return the freedom of a limit: one axis for a hinge, two for one that does not twist."""
    found = _KNOWN.get(limit)
    if found is None:
        legal = limit.sample(STORED, np.random.default_rng(0))
        found = _KNOWN[limit] = Freedom(*_axes(limit, legal), legal)
    return found


def _axes(limit: Limit, legal: Quats) -> tuple[Vectors, Floats]:
    still = np.zeros(8)
    if limit.shape.measure > 0.0:
        return np.eye(3), still
    seen = joint_kind(legal, THIN)
    if seen.kind == "fixed":
        return np.empty((0, 3)), still
    if seen.kind == "hinge":
        return quat.rotate(quat.inverse(seen.mean), seen.axes), still
    axis = getattr(limit.chart, "axis", None)
    if axis is not None and np.ptp(limit.chart.points(legal)[:, -1]) <= THIN:
        return across(axis), np.array([1.0, *quat.inverse(limit.chart.reference), *axis])
    return np.eye(3), still


def across(axis: Vectors) -> Floats:
    """Return two unit vectors (2, 3) at right angles to `axis` and to each other."""
    first = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])
