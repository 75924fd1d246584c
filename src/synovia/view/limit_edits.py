"""Edits of one limit at the page: a limit in, a new one out, or a reason why not.

What can be edited is what the shape offers: its numbers, its boundary, its cones, more samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from .messages import Request, degrees, row, vector, vectors, whole_number, word
from .protocol import ConePoints, ShapeNumber
from .protocol.edits import Edge, EdgeReason, Reason

LimitEdit = Callable[[Limit, Request], Limit]
ConeEdit = Callable[[ReachCone, Request], ReachCone]

# Numbers to type, in degrees.

WIDEST_DEG = 1800.0


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
    """Return what the limit's shape is called in a sentence, with its article."""
    name, called = limit.shape.name, edit.label(limit.shape)
    called = name.replace("-", " ") if called == name else called
    called = called[0].lower() + called[1:]
    return f"{'an' if called[0] in 'aeiou' else 'a'} {called}"


def _numbers(limit: Limit) -> list[Number]:
    return edit.numbers(limit.shape, coordinate_names(limit.chart))


def set_number(limit: Limit, request: Request) -> Limit:
    """Return the limit with `deg` degrees at place `index` of the `field`, by its name."""
    field, index, deg = request["field"], request["index"], degrees(request, "deg")
    known = {(number.field, number.index): number for number in _numbers(limit)}
    if (field, index) not in known:
        raise ValueError(f"{_a_shape(limit)} has no number {field!r:.40} [{index!r:.10}]")
    if abs(deg) > WIDEST_DEG:
        raise ValueError(f"a number must be from -1800 to 1800 degrees, got {deg:g}")
    angle = float(np.radians(deg))
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


def set_hinge_end(limit: Limit, request: Request) -> Limit:
    """Return the limit of a hinge with its `side`, "low" or "high", at `deg` from its reference."""
    side, deg = word(request, "side"), degrees(request, "deg")
    if side not in ("low", "high"):
        raise ValueError(f"side must be low or high, got {side!r:.20}")
    if abs(deg) > 180.0:
        raise ValueError(f"a hinge must end within 180 degrees of its reference, got {deg:g}")
    moved = move_end(limit, float(np.radians(deg)), high=side == "high")
    if moved is None:
        raise ValueError(
            f"{_a_shape(limit)} cannot be pulled in at one end: change its numbers, or its family"
        )
    return moved


# The brush, and the present pose as one more sample.

MOST_TOUCHES = 32
"""Places that one request may brush."""


def brush_limit(limit: Limit, request: Request) -> Limit:
    """Return the shape pushed out around each of `centers`, one after the other.

    These are rotation vectors from the limit's reference; `radiusDeg` is the brush's, and
    `amountDeg` what it pushes at its center, negative to pull in. In the middle of a drag, which
    `settle` ends, a `draft` is soon made.
    """
    _check_sculptable(limit)
    shape = limit.shape
    radius, amount = (float(np.radians(degrees(request, of))) for of in ("radiusDeg", "amountDeg"))
    for center in vectors(request, "centers", MOST_TOUCHES):
        rotation = quat.mul(limit.chart.reference, quat.exp(center))
        points = np.stack(limit.covers(rotation))
        point = points[np.argmin(edit.level(shape, points))]
        stroke = edit.brush if request.get("draft") is True else edit.push
        shape = stroke(shape, point, radius, amount)
    return replace(limit, shape=shape)


def settle(limit: Limit, request: Request) -> Limit:
    """Return the limit after the last of some drafts."""
    _check_sculptable(limit)
    return replace(limit, shape=edit.settle(limit.shape))


def _check_sculptable(limit: Limit) -> None:
    if not edit.is_sculptable(type(limit.shape)):
        raise ValueError(f"{_a_shape(limit)} cannot be sculpted: make it a distance field")


def include_sample(limit: Limit, request: Request) -> Limit:
    """Return the limit with the rotation (4,) of the request in it, as its shape takes samples in.

    A shape that counts samples takes in one that is inside, too. Others have nothing to take in
    then, and refuse it, so that no step to undo does nothing.
    """
    rotation = unit_quats("rotation", row(request, "rotation", 4))
    if not edit.counts_samples(limit.shape) and limit.contains(rotation):
        raise ValueError("this pose is inside already")
    return replace(limit, shape=edit.add(limit.shape, limit.nearest_cover(rotation)[None]))


# Reach cones, one by one: requests say which `part` they mean.

MOST_POINTS = 1000
NEW_CONE_POINTS = 8
NEW_CONE_ANGLE, NEW_CONE_TWIST = np.radians(30.0), np.radians(45.0)
"""A new cone: how far its points are from the bone, and how far it may twist to either side."""


def apply_add(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone with a new point: at `point`, or in the middle of the edge `after` a point.

    A point is put into the edge that is nearest to it.
    """
    if request.get("point") is not None:
        return reach_cone.add_point(cone, _direction(request))
    after = whole_number(request, "after")
    if not 0 <= after < len(cone.points):
        raise ValueError(f"after must be from 0 to {len(cone.points) - 1}, got {after}")
    ends = cone.points[[after, (after + 1) % len(cone.points)]]
    middle = ends.sum(axis=0)
    return reach_cone.add_point(cone, middle / np.linalg.norm(middle), after + 1)


def apply_reorder(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone with point `index` `by` so many places later in the order, or earlier."""
    index, by = _index(request), whole_number(request, "by")
    order = [each for each in range(len(cone.points)) if each != index]
    order.insert((index + by) % len(cone.points), index)
    return reach_cone.reorder(cone, order)


def apply_twist(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone with `lowDeg` and `highDeg` as limits of the twist at point `index`.

    If that is null, they are those at the visible point.
    """
    low, high = degrees(request, "lowDeg"), degrees(request, "highDeg")
    if low > high:
        raise ValueError(f"a twist must not end before it begins, got {low:.1f}° to {high:.1f}°")
    index = None if request["index"] is None else _index(request)
    return reach_cone.set_twist(cone, float(np.radians(low)), float(np.radians(high)), index)


def apply_smooth(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone after so many `rounds` of smoothing."""
    rounds = whole_number(request, "rounds")
    if len(cone.points) * 2 ** min(max(rounds, 0), 20) > MOST_POINTS:
        raise ValueError(
            f"{rounds} rounds would make more than {MOST_POINTS} points of {len(cone.points)}"
        )
    return reach_cone.smooth(cone, rounds)


MOST_ROUNDS = 100
"""Rounds of relaxing at a time."""


def apply_relax(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone after so many `rounds` of relaxing."""
    rounds = whole_number(request, "rounds")
    if rounds > MOST_ROUNDS:
        raise ValueError(f"rounds must be at most {MOST_ROUNDS}, got {rounds}")
    return reach_cone.relax(cone, rounds)


def apply_simplify(cone: ReachCone, request: Request) -> ReachCone:
    """Return the cone without points that matter by less than `toleranceDeg` degrees."""
    fewer = reach_cone.simplify(cone, float(np.radians(degrees(request, "toleranceDeg"))))
    if len(fewer.points) == len(cone.points):
        raise ValueError(
            f"each of the {len(cone.points)} points matters by more than "
            f"{request['toleranceDeg']:g} degrees"
        )
    return fewer


def _on_cones(change: ConeEdit) -> LimitEdit:
    """Return the edit of a limit that edits one of its cones, or all that are meant."""

    def edited(limit: Limit, request: Request) -> Limit:
        cones = list(edit.cones(limit.shape))
        if not cones:
            raise ValueError(f"only reach cones have points, this limit is {_a_shape(limit)}")
        if request.get("point") is not None:  # directions are in the joint's frame at the page
            request = {**request, "point": limit.chart.in_chart(_direction(request)).tolist()}
        for number in _parts(cones, request):
            try:
                cones[number] = change(cones[number], request)
            except StarError as error:
                why = error.broken.why if len(cones) == 1 else f"cone {number}, {error.broken.why}"
                ends = limit.chart.in_joint(error.broken.ends)
                raise StarError(str(error), replace(error.broken, why=why, ends=ends)) from error
        return replace(limit, shape=edit.with_cones(limit.shape, cones))

    return edited


def _parts(cones: list[ReachCone], request: Request) -> list[int]:
    """Return which cones a request means: its `part`, or that of the edge nearest to a new point.

    Without either it is the only one, or for smoothing and its kin all of them.
    """
    if len(cones) == 1:
        return [0]
    if request.get("part") is not None:
        part = whole_number(request, "part")
        if not 0 <= part < len(cones):
            raise ValueError(f"part must be from 0 to {len(cones) - 1}, got {part}")
        return [part]
    if request["edit"] in ("smooth", "relax", "simplify"):
        return list(range(len(cones)))
    if request["edit"] == "add-point" and request.get("point") is not None:
        point = _direction(request)
        away = [np.linalg.norm(nearest_on_edges(cone.points, point)[0] - point) for cone in cones]
        return [int(np.argmin(away))]
    raise ValueError(f"part must say which of the {len(cones)} cones is meant, got none")


def _index(request: Request) -> int:
    return whole_number(request, "index")


def _direction(request: Request) -> Vectors:
    point = vector(request, "point")
    length = float(np.linalg.norm(point))
    if length == 0.0:
        raise ValueError(f"point must be a direction, got {request['point']!r:.60}")
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
        lambda cone, request: reach_cone.move_point(cone, _index(request), _direction(request))
    ),
    "add-point": _on_cones(apply_add),
    "delete-point": _on_cones(lambda cone, request: reach_cone.delete_point(cone, _index(request))),
    "reorder-point": _on_cones(apply_reorder),
    "move-visible": _on_cones(
        lambda cone, request: reach_cone.set_visible(cone, _direction(request))
    ),
    "twist": _on_cones(apply_twist),
    "smooth": _on_cones(apply_smooth),
    "relax": _on_cones(apply_relax),
    "simplify": _on_cones(apply_simplify),
    "brush": brush_limit,
    "settle": settle,
    "add-sample": include_sample,
    "number": set_number,
    "hinge": set_hinge_end,
}
"""What can be done to a limit, by name."""
