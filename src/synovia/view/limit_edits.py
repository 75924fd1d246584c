"""Edits of one limit: its numbers, its boundary, its reach cones, and samples to include.

Each returns a new limit, or raises ValueError with the reason for the refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import edit, quat
from ..arrays import Quats, Vectors, unit_quats
from ..charts import DirectionTwist
from ..edit import Number, reach_cone
from ..limit import Limit
from ..mesh import coordinate_names
from ..shapes import ReachCone
from ..shapes.reach_cone.paths import nearest_on_edges
from ..shapes.reach_cone.star import StarError, from_polar
from .hinges import move_end
from .protocol import ConePoints, Edge, EdgeReason, Reason, ShapeNumber
from .protocol.requests import (
    AddPoint,
    AddSample,
    Brush,
    ConeEdit,
    MovePoint,
    MoveVisible,
    Relax,
    ReorderPoint,
    SetHingeEnd,
    SetNumber,
    Settle,
    Simplify,
    Smooth,
    Twist,
)

LimitEdit = Callable[[Limit, Any], Limit]
"""A function of a limit and a request of `protocol.requests`."""


def describe_numbers(limit: Limit) -> list[ShapeNumber]:
    """Return the numbers that the limit's shape offers, in rows and columns."""
    return [
        ShapeNumber(
            row=number.row,
            column=number.column,
            field=number.field,
            index=number.index,
            deg=round(float(np.degrees(number.value)), 6),
        )
        for number in _numbers(limit)
    ]


def _a_shape(limit: Limit) -> str:
    """Return the name of the limit's shape in a sentence, with its article."""
    name, called = limit.shape.name, edit.label(limit.shape)
    called = name.replace("-", " ") if called == name else called
    called = called[0].lower() + called[1:]
    return f"{'an' if called[0] in 'aeiou' else 'a'} {called}"


def _numbers(limit: Limit) -> list[Number]:
    return edit.numbers(limit.shape, coordinate_names(limit.chart))


def set_number(limit: Limit, change: SetNumber) -> Limit:
    """Return the limit with another number, by its field and index."""
    field, index = change.field, change.index
    known = {(number.field, number.index): number for number in _numbers(limit)}
    if (field, index) not in known:
        raise ValueError(f"{_a_shape(limit)} has no number {field!r:.40} [{index}]")
    angle = float(np.radians(change.deg))
    _check_number(known[field, index], angle)
    return replace(limit, shape=edit.with_number(limit.shape, field, index, angle))


def _check_number(number: Number, angle: float) -> None:
    """Raise ValueError unless the number can be this angle while the others stay."""
    if number.least <= angle <= number.most:
        return
    ends_deg = np.degrees([number.least, angle, number.most])
    if number.column in ("from", "to"):
        start, end = ends_deg[1:] if number.column == "from" else ends_deg[:2]
        raise ValueError(f"a range must not end before it starts: {start:.6g} to {end:.6g} degrees")
    raise ValueError(
        f"a {number.column} must be at least {ends_deg[0]:.6g} degrees, got {ends_deg[1]:.6g}"
    )


def set_hinge_end(limit: Limit, change: SetHingeEnd) -> Limit:
    """Return the limit of a hinge with one end at another angle from its reference."""
    moved = move_end(limit, float(np.radians(change.deg)), high=change.side == "high")
    if moved is None:
        raise ValueError(
            f"{_a_shape(limit)} cannot be pulled in at one end: change its numbers, or its family"
        )
    return moved


def brush_limit(limit: Limit, change: Brush) -> Limit:
    """Return the limit with its shape pushed out around each center in turn."""
    _check_sculptable(limit)
    shape = limit.shape
    radius, amount = float(np.radians(change.radius_deg)), float(np.radians(change.amount_deg))
    for center in change.centers:
        rotation = quat.mul(limit.chart.reference, quat.exp(center))
        points = np.stack(limit.covers(rotation))
        point = points[np.argmin(edit.level(shape, points))]
        stroke = edit.brush if change.draft else edit.push
        shape = stroke(shape, point, radius, amount)
    return replace(limit, shape=shape)


def settle(limit: Limit, change: Settle) -> Limit:
    """Return the limit after the last of some drafts."""
    _check_sculptable(limit)
    return replace(limit, shape=edit.settle(limit.shape))


def _check_sculptable(limit: Limit) -> None:
    if not edit.is_sculptable(type(limit.shape)):
        raise ValueError(f"{_a_shape(limit)} cannot be sculpted: make it a distance field")


def include_sample(limit: Limit, change: AddSample) -> Limit:
    """Return the limit extended to contain a rotation.

    A rotation that is inside already is refused, because undoing it would change nothing, unless
    the shape counts samples.
    """
    rotation = unit_quats("rotation", change.rotation)
    if not edit.counts_samples(limit.shape) and limit.contains(rotation):
        raise ValueError("this pose is inside already")
    return replace(limit, shape=edit.add(limit.shape, limit.nearest_cover(rotation)[None]))


MAX_POINTS = 1000  # of a smoothed cone: the page stays interactive
NEW_CONE_POINTS = 8
NEW_CONE_ANGLE = np.radians(30.0)  # between the bone and the points of a new cone
NEW_CONE_TWIST = np.radians(45.0)  # of a new cone, to either side


def apply_add(cone: ReachCone, change: AddPoint) -> ReachCone:
    """Return the cone with a new point in its nearest edge, or in the edge after a point."""
    if change.point is not None:
        return reach_cone.add_point(cone, change.point)
    after = -1 if change.after is None else change.after
    if not 0 <= after < len(cone.points):
        raise ValueError(f"after must be from 0 to {len(cone.points) - 1}, got {after}")
    ends = cone.points[[after, (after + 1) % len(cone.points)]]
    middle = ends.sum(axis=0)
    return reach_cone.add_point(cone, middle / np.linalg.norm(middle), after + 1)


def apply_reorder(cone: ReachCone, change: ReorderPoint) -> ReachCone:
    """Return the cone with a point moved by so many positions in the order."""
    order = [index for index in range(len(cone.points)) if index != change.index]
    order.insert((change.index + change.by) % len(cone.points), change.index)
    return reach_cone.reorder(cone, order)


def apply_twist(cone: ReachCone, change: Twist) -> ReachCone:
    """Return the cone with other limits of the twist at a point, or at the visible point."""
    low, high = change.low_deg, change.high_deg
    if low > high:
        raise ValueError(f"a twist must not end before it begins, got {low:.1f}° to {high:.1f}°")
    ends = float(np.radians(low)), float(np.radians(high))
    return reach_cone.set_twist(cone, *ends, change.index)


def apply_smooth(cone: ReachCone, change: Smooth) -> ReachCone:
    """Return the cone after some rounds of smoothing, each of which doubles its points."""
    rounds = change.rounds
    if len(cone.points) * 2 ** min(max(rounds, 0), 20) > MAX_POINTS:
        raise ValueError(
            f"{rounds} rounds would make more than {MAX_POINTS} points of {len(cone.points)}"
        )
    return reach_cone.smooth(cone, rounds)


def apply_simplify(cone: ReachCone, change: Simplify) -> ReachCone:
    """Return the cone without points that change it by less than the tolerance."""
    fewer = reach_cone.simplify(cone, float(np.radians(change.tolerance_deg)))
    if len(fewer.points) == len(cone.points):
        raise ValueError(
            f"each of the {len(cone.points)} points matters by more than "
            f"{change.tolerance_deg:g} degrees"
        )
    return fewer


def _on_cones(apply: Callable[[ReachCone, Any], ReachCone]) -> LimitEdit:
    """Return the edit of a limit that applies an edit to some of its cones."""

    def edited(limit: Limit, change: ConeEdit) -> Limit:
        cones = list(edit.cones(limit.shape))
        if not cones:
            raise ValueError(f"only reach cones have points, this limit is {_a_shape(limit)}")
        if isinstance(change, AddPoint | MovePoint | MoveVisible) and change.point is not None:
            # The page has directions in the joint's frame.
            change = replace(change, point=limit.chart.in_chart(_direction(change.point)))
        for number in _cone_indices(cones, change):
            try:
                cones[number] = apply(cones[number], change)
            except StarError as error:
                why = error.broken.why if len(cones) == 1 else f"cone {number}, {error.broken.why}"
                ends = limit.chart.in_joint(error.broken.ends)
                raise StarError(str(error), replace(error.broken, why=why, ends=ends)) from error
        return replace(limit, shape=edit.with_cones(limit.shape, cones))

    return edited


def _cone_indices(cones: list[ReachCone], change: ConeEdit) -> list[int]:
    """Return the indices of the cones that an edit is for.

    That is its `part`, or the cone with the edge nearest to a new point. Without either it is the
    only cone; smoothing, relaxing and simplifying are then for all of them.
    """
    if len(cones) == 1:
        return [0]
    if change.part is not None:
        if not 0 <= change.part < len(cones):
            raise ValueError(f"part must be from 0 to {len(cones) - 1}, got {change.part}")
        return [change.part]
    if isinstance(change, Smooth | Relax | Simplify):
        return list(range(len(cones)))
    if isinstance(change, AddPoint) and change.point is not None:
        point = change.point
        distances = [np.linalg.norm(nearest_on_edges(c.points, point)[0] - point) for c in cones]
        return [int(np.argmin(distances))]
    raise ValueError(f"part must say which of the {len(cones)} cones is meant, got none")


def _direction(point: Vectors) -> Vectors:
    length = float(np.linalg.norm(point))
    if length == 0.0:
        raise ValueError(f"point must be a direction, got {point.tolist()}")
    return np.asarray(point / length)


def new_cone_limit(rotation: Quats, bone: Vectors) -> Limit:
    """Return a new limit: a cone of eight points around where the bone points at a rotation."""
    chart = DirectionTwist(unit_quats("rotation", rotation), bone)
    azimuth = np.arange(NEW_CONE_POINTS) * 2.0 * np.pi / NEW_CONE_POINTS
    points = from_polar(azimuth, np.full(NEW_CONE_POINTS, NEW_CONE_ANGLE), chart.axis)
    return Limit(chart, ReachCone(points, -NEW_CONE_TWIST, NEW_CONE_TWIST, chart.axis))


def cone_points(limit: Limit) -> ConePoints:
    """Return what the page needs to edit cones: points and visible points, twists in degrees.

    Directions are in the joint's own frame. Points of one cone follow those of another; there are
    `cornerCounts` of each. Shapes without cones have none.
    """
    cones, in_joint = edit.cones(limit.shape), limit.chart.in_joint
    limits = [np.stack([cone.low, cone.high], axis=1) for cone in cones]
    return {
        "corners": np.concatenate([np.zeros((0, 3)), *(in_joint(cone.points) for cone in cones)]),
        "cornersTwistDeg": np.degrees(np.concatenate([np.zeros((0, 2)), *limits])),
        "cornerCounts": np.array([len(cone.points) for cone in cones], dtype=np.int64),
        "visible": np.reshape([in_joint(cone.visible) for cone in cones], (-1, 3)),
        "visibleTwistDeg": np.degrees(
            np.reshape([(cone.visible_low, cone.visible_high) for cone in cones], (-1, 2))
        ),
    }


def refusal(error: ValueError) -> Reason | EdgeReason:
    """Return why an edit is refused, and the edge of a cone at fault where there is one."""
    if not isinstance(error, StarError):
        return {"refused": str(error)}
    broken = error.broken
    edge = Edge(number=broken.edge, ends=broken.ends.tolist())
    return {"refused": f"no longer a star: {broken.why}", "edge": edge}


LIMIT_EDITS: dict[str, LimitEdit] = {
    "move-point": _on_cones(
        lambda cone, change: reach_cone.move_point(cone, change.index, change.point)
    ),
    "add-point": _on_cones(apply_add),
    "delete-point": _on_cones(lambda cone, change: reach_cone.delete_point(cone, change.index)),
    "reorder-point": _on_cones(apply_reorder),
    "move-visible": _on_cones(lambda cone, change: reach_cone.set_visible(cone, change.point)),
    "twist": _on_cones(apply_twist),
    "smooth": _on_cones(apply_smooth),
    "relax": _on_cones(lambda cone, change: reach_cone.relax(cone, change.rounds)),
    "simplify": _on_cones(apply_simplify),
    "brush": brush_limit,
    "settle": settle,
    "add-sample": include_sample,
    "number": set_number,
    "hinge": set_hinge_end,
}
"""Edits of a limit, by the name of the request."""
