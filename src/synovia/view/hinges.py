"""Hinges at the page: the arc of one, and its two ends, which are moved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..edit import add, numbers, with_number
from ..limit import Limit
from ..limit.hinge import HingePath, hinge_path
from ..mesh import coordinate_names

NARROWEST = np.radians(1.0)  # a hinge that turns less is none any more


@dataclass(frozen=True, kw_only=True)
class HingeAngle:
    """How angles of a hinge are clinical ones: `sign` times the degrees, plus `offset_deg`."""

    name: str
    sign: float
    offset_deg: float


@dataclass(frozen=True, kw_only=True)
class Hinge:
    """The axis of a joint that turns about one, and its range, as its parent sees it."""

    axis: list[float]
    zero: list[float]
    """Where the bone points at 0, which is the limit's reference, across the axis."""
    low_deg: float
    high_deg: float
    clinical: HingeAngle | None = None
    """How these angles are clinical ones, if they are."""


def hinge_of(limit: Limit, bone: Vectors) -> Hinge | None:
    """Return the hinge of a limit as the page draws it, for a bone (3,); None where it is none."""
    path = hinge_path(limit)
    if path is None:
        return None
    return Hinge(
        axis=path.axis.tolist(),
        zero=_across(quat.rotate(path.base, bone), path.axis).tolist(),
        low_deg=float(np.degrees(path.low)),
        high_deg=float(np.degrees(path.high)),
    )


def _across(direction: Vectors, axis: Vectors) -> Vectors:
    """Return the unit part of a direction across an axis; any, where it has none."""
    part = direction - (direction @ axis) * axis
    if np.linalg.norm(part) < 0.2:
        part = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    return np.asarray(part / np.linalg.norm(part))


def move_end(limit: Limit, angle: float, *, high: bool) -> Limit | None:
    """Return the limit of a hinge with one end at an angle from its reference, in radians.

    Outwards the shape takes the rotation there in, as it takes samples; inwards one of the numbers
    of its widest range moves. None where no number does that.
    """
    path = hinge_path(limit)
    if path is None:
        raise ValueError("this joint is no hinge: it turns about more than one axis")
    low_end, high_end = (path.low, angle) if high else (angle, path.high)
    if high_end - low_end < NARROWEST:
        ends_deg = np.degrees([low_end, high_end])
        raise ValueError(
            f"a range must not end before it starts: {ends_deg[0]:.6g} to {ends_deg[1]:.6g} degrees"
        )
    way = 1.0 if high else -1.0
    if way * (angle - (path.high if high else path.low)) > 0.0:
        return replace(limit, shape=add(limit.shape, limit.nearest_cover(path.at(angle))[None]))
    return _pull_in(limit, path, angle, way)


def _pull_in(limit: Limit, path: HingePath, angle: float, way: float) -> Limit | None:
    """Return the limit with the number changed whose range then ends at an angle of the path."""
    rows: dict[str, dict[str, float]] = {}
    found = numbers(limit.shape, coordinate_names(limit.chart))
    for number in found:
        rows.setdefault(number.row, {})[number.column] = number.value
    ranges = {name: ends for name, ends in rows.items() if ends.keys() >= {"from", "to"}}
    if not ranges:
        return None
    widest = max(ranges, key=lambda name: ranges[name]["to"] - ranges[name]["from"])
    target, inner = path.at(angle), path.at(angle - way * 0.5 * NARROWEST)
    for number in found:
        if number.row != widest or number.column not in ("from", "to"):
            continue
        keeps, cuts = number.value, sum(ranges[widest].values()) - number.value
        for _ in range(40):
            half = 0.5 * (keeps + cuts)
            tried = replace(limit, shape=with_number(limit.shape, number.field, number.index, half))
            keeps, cuts = (half, cuts) if tried.contains(target) else (keeps, half)
        made = replace(limit, shape=with_number(limit.shape, number.field, number.index, keeps))
        beyond = path.at(angle + way * 0.5 * NARROWEST)
        if made.contains(inner) and not made.contains(beyond):
            return made
    return None
