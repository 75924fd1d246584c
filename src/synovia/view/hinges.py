"""Hinges on the page: the arc of a hinge, and edits that move its ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..edit import add, numbers, with_number
from ..limit import Limit
from ..limit.hinge import HingePath, hinge_path
from ..mesh import coordinate_names

MIN_RANGE = np.radians(1.0)  # a limit with a smaller range is not shown as a hinge


@dataclass(frozen=True, kw_only=True)
class HingeAngle:
    """The clinical angle of a hinge: `sign` times its angle in degrees, plus `offset_deg`."""

    name: str
    sign: float
    offset_deg: float


@dataclass(frozen=True, kw_only=True)
class Hinge:
    """The axis and the range of a joint with one axis, in the frame of its parent."""

    axis: list[float]
    zero: list[float]
    """The bone's direction at angle 0, the limit's reference; perpendicular to the axis."""
    low_deg: float
    high_deg: float
    clinical: HingeAngle | None = None
    """The conversion to clinical angles, if there is one."""


def hinge_of(limit: Limit, bone: Vectors) -> Hinge | None:
    """Return the hinge of a limit for a bone direction (3,); None if the limit is not a hinge."""
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
    """Return the unit component of a direction perpendicular to an axis.

    It is any perpendicular direction if they are nearly parallel.
    """
    part = direction - (direction @ axis) * axis
    if np.linalg.norm(part) < 0.2:
        part = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    return np.asarray(part / np.linalg.norm(part))


def move_end(limit: Limit, angle: float, *, high: bool) -> Limit | None:
    """Return the limit of a hinge with one end at an angle from its reference, in radians.

    To move it outwards, the rotation there is added to the shape as a sample. To move it inwards,
    a number of the shape's widest range is changed; None if no number has that effect.
    """
    path = hinge_path(limit)
    if path is None:
        raise ValueError("this joint is no hinge: it turns about more than one axis")
    low_end, high_end = (path.low, angle) if high else (angle, path.high)
    if high_end - low_end < MIN_RANGE:
        ends_deg = np.degrees([low_end, high_end])
        raise ValueError(
            f"a range must not end before it starts: {ends_deg[0]:.6g} to {ends_deg[1]:.6g} degrees"
        )
    direction = 1.0 if high else -1.0
    if direction * (angle - (path.high if high else path.low)) > 0.0:
        return replace(limit, shape=add(limit.shape, limit.nearest_cover(path.at(angle))[None]))
    return _pull_in(limit, path, angle, direction)


def _pull_in(limit: Limit, path: HingePath, angle: float, direction: float) -> Limit | None:
    """Return the limit with a number bisected so that the path's range ends at an angle, or None.

    `direction` is 1 for the high end and -1 for the low end.
    """
    rows: dict[str, dict[str, float]] = {}
    shape_numbers = numbers(limit.shape, coordinate_names(limit.chart))
    for number in shape_numbers:
        rows.setdefault(number.row, {})[number.column] = number.value
    ranges = {name: ends for name, ends in rows.items() if ends.keys() >= {"from", "to"}}
    if not ranges:
        return None
    widest = max(ranges, key=lambda name: ranges[name]["to"] - ranges[name]["from"])
    target, inner = path.at(angle), path.at(angle - direction * 0.5 * MIN_RANGE)
    for number in shape_numbers:
        if number.row != widest or number.column not in ("from", "to"):
            continue
        legal, illegal = number.value, sum(ranges[widest].values()) - number.value
        for _ in range(40):
            middle = 0.5 * (legal + illegal)
            trial = replace(
                limit, shape=with_number(limit.shape, number.field, number.index, middle)
            )
            legal, illegal = (middle, illegal) if trial.contains(target) else (legal, middle)
        result = replace(limit, shape=with_number(limit.shape, number.field, number.index, legal))
        beyond = path.at(angle + direction * 0.5 * MIN_RANGE)
        if result.contains(inner) and not result.contains(beyond):
            return result
    return None
