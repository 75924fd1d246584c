"""Edits of reach cones at the page: a limit in, a new one out, or a reason why not.

A union's cones are edited one by one: requests say which `part` they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..arrays import Quats, Vectors, unit_quats
from ..charts import DirectionTwist
from ..limit import Limit
from ..shapes import ReachCone, Union
from ..shapes.reach_cone.edit import (
    add_point,
    delete_point,
    move_point,
    reorder,
    set_twist,
    set_visible,
    smooth,
)
from ..shapes.reach_cone.paths import nearest_on_edges
from ..shapes.reach_cone.star import StarError, from_polar
from .messages import Request, degrees, vector
from .protocol import ConePoints, Edge, EdgeReason, Reason

MOST_POINTS = 1000
NEW_CONE_POINTS = 8
NEW_CONE_ANGLE, NEW_CONE_TWIST = np.radians(30.0), np.radians(45.0)
"""A new cone: how far its points are from the bone, and how far it may twist to either side."""


def cones_of(limit: Limit) -> tuple[ReachCone, ...]:
    """Return the limit's cone, or those of a union; none if it is of another family."""
    if isinstance(limit.shape, Union):
        return limit.shape.parts
    return (limit.shape,) if isinstance(limit.shape, ReachCone) else ()


def apply_move(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone with point `index` in the direction `point`, as the reference sees it."""
    return move_point(cone, _index(asked), _direction(asked))


def apply_add(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone with a new point: at `point`, or in the middle of the edge `after` a point.

    A point is put into the edge that is nearest to it.
    """
    if asked.get("point") is not None:
        return add_point(cone, _direction(asked))
    after = _whole_number(asked, "after")
    if not 0 <= after < len(cone.points):
        raise ValueError(f"after must be from 0 to {len(cone.points) - 1}, got {after}")
    ends = cone.points[[after, (after + 1) % len(cone.points)]]
    middle = ends.sum(axis=0)
    return add_point(cone, middle / np.linalg.norm(middle), after + 1)


def apply_delete(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone without point `index`."""
    return delete_point(cone, _index(asked))


def apply_reorder(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone with point `index` `by` so many places later in the order, or earlier."""
    index, by, n = _index(asked), _whole_number(asked, "by"), len(cone.points)
    order = [each for each in range(n) if each != index]
    order.insert((index + by) % n, index)
    return reorder(cone, order)


def apply_visible(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone with its visible point in the direction `point`."""
    return set_visible(cone, _direction(asked))


def apply_twist(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone with `lowDeg` and `highDeg` as limits of the twist at point `index`.

    If that is null, they are those at the visible point.
    """
    low, high = degrees(asked, "lowDeg"), degrees(asked, "highDeg")
    if low > high:
        raise ValueError(f"a twist must not end before it begins, got {low:.1f}° to {high:.1f}°")
    index = None if asked["index"] is None else _index(asked)
    return set_twist(cone, float(np.radians(low)), float(np.radians(high)), index)


def apply_smooth(cone: ReachCone, asked: Request) -> ReachCone:
    """Return the cone after so many `rounds` of smoothing."""
    rounds = _whole_number(asked, "rounds")
    if len(cone.points) * 2 ** min(max(rounds, 0), 20) > MOST_POINTS:
        raise ValueError(
            f"{rounds} rounds would make more than {MOST_POINTS} points of {len(cone.points)}"
        )
    return smooth(cone, rounds)


def new_cone_limit(rotation: Quats, bone: Vectors) -> Limit:
    """Return a new limit: a cone of eight points around where the bone points at a rotation."""
    chart = DirectionTwist(unit_quats("rotation", rotation), bone)
    azimuth = np.arange(NEW_CONE_POINTS) * 2.0 * np.pi / NEW_CONE_POINTS
    points = from_polar(azimuth, np.full(NEW_CONE_POINTS, NEW_CONE_ANGLE), chart.axis)
    return Limit(chart, ReachCone(points, -NEW_CONE_TWIST, NEW_CONE_TWIST, chart.axis))


def outline(limit: Limit) -> ConePoints:
    """Return what the page needs to edit cones: points and visible points, twists in degrees.

    Points of one cone follow those of another; there are `cornerCounts` of each. Other families
    have none.
    """
    cones = cones_of(limit)
    limits = [np.stack([cone.low, cone.high], axis=1) for cone in cones]
    return {
        "corners": np.concatenate([np.zeros((0, 3)), *(cone.points for cone in cones)]),
        "cornersTwistDeg": np.degrees(np.concatenate([np.zeros((0, 2)), *limits])),
        "cornerCounts": np.array([len(cone.points) for cone in cones], dtype=np.int64),
        "visible": np.reshape([cone.visible for cone in cones], (-1, 3)),
        "visibleTwistDeg": np.degrees(
            np.reshape([(cone.visible_low, cone.visible_high) for cone in cones], (-1, 2))
        ),
    }


def refusal(error: ValueError) -> Reason | EdgeReason:
    """Return why an edit is refused, and the edge at fault where there is one."""
    if not isinstance(error, StarError):
        return {"refused": str(error)}
    broken = error.broken
    edge = Edge(number=broken.edge, ends=broken.ends.tolist())
    return {"refused": f"no longer a star: {broken.why}", "edge": edge}


def _index(asked: Request) -> int:
    return _whole_number(asked, "index")


def _whole_number(asked: Request, name: str) -> int:
    value = asked[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r:.60}")
    return value


def _direction(asked: Request) -> Vectors:
    point = vector(asked, "point")
    length = float(np.linalg.norm(point))
    if length == 0.0:
        raise ValueError(f"point must be a direction, got {asked['point']!r:.60}")
    return np.asarray(point / length)


ConeEdit = Callable[[ReachCone, Request], ReachCone]


def _on_limits(edit: ConeEdit) -> Callable[[Limit, Request], Limit]:
    def edited(limit: Limit, asked: Request) -> Limit:
        cones = cones_of(limit)
        if not cones:
            raise ValueError(f"only reach cones have points, this limit is a {limit.shape.name}")
        if not isinstance(limit.shape, Union):
            return replace(limit, shape=edit(cones[0], asked))
        parts = list(cones)
        for number in _parts(cones, asked):
            try:
                parts[number] = edit(cones[number], asked)
            except StarError as error:
                broken = replace(error.broken, why=f"cone {number}, {error.broken.why}")
                raise StarError(str(error), broken) from error
        return replace(limit, shape=Union(tuple(parts)))

    return edited


def _parts(cones: tuple[ReachCone, ...], asked: Request) -> list[int]:
    """Return which cones a request means: its `part`, or that of the edge nearest to a new point.

    Without either it is all of them for smoothing.
    """
    if asked.get("part") is not None:
        part = _whole_number(asked, "part")
        if not 0 <= part < len(cones):
            raise ValueError(f"part must be from 0 to {len(cones) - 1}, got {part}")
        return [part]
    if asked["edit"] == "smooth":
        return list(range(len(cones)))
    if asked["edit"] == "add-point" and asked.get("point") is not None:
        point = _direction(asked)
        away = [np.linalg.norm(nearest_on_edges(cone.points, point)[0] - point) for cone in cones]
        return [int(np.argmin(away))]
    raise ValueError(f"part must say which of the {len(cones)} cones is meant, got none")


CONE_EDITS: Mapping[str, Callable[[Limit, Request], Limit]] = {
    name: _on_limits(edit)
    for name, edit in {
        "move-point": apply_move,
        "add-point": apply_add,
        "delete-point": apply_delete,
        "reorder-point": apply_reorder,
        "move-visible": apply_visible,
        "twist": apply_twist,
        "smooth": apply_smooth,
    }.items()
}
"""What can be done to reach cones, by name."""
