"""Edits of one limit: its numbers, its boundary, its reach cones, and samples to include.

An edit is the request of the page; its `change` returns another model, or raises ValueError with
the reason for the refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from .. import edit, quat
from ..arrays import Floats, Ints, Quats, Vectors, Within, unit_quats
from ..charts import DirectionTwist
from ..edit import Number, reach_cone
from ..limit import Limit
from ..limit.hinge import hinge_path
from ..mesh import coordinate_names
from ..model import LimitModel
from ..schema import Rotation, Vector, VectorList
from ..shapes import ReachCone
from ..shapes.reach_cone.star import StarError, from_polar, nearest_on_edges
from .messages import Edge
from .scene import Scene, limit_to_edit, with_limits

MIN_RANGE = np.radians(1.0)  # a limit with a smaller range is not shown as a hinge
MAX_CENTERS = 32  # points that one request may brush
MAX_POINTS = 1000  # of a smoothed cone: the page stays interactive
NEW_CONE_POINTS = 8
NEW_CONE_ANGLE = np.radians(30.0)  # between the bone and the points of a new cone
NEW_CONE_TWIST = np.radians(45.0)  # of a new cone, to either side


@dataclass(frozen=True, kw_only=True)
class ShapeNumber:
    """A number of a shape that can be typed."""

    row: str
    column: str
    field: str
    index: int
    deg: float


@dataclass(frozen=True, kw_only=True)
class ConePoints:
    """The points of reach cones, one cone after the other; of other families there are none.

    Directions are in the joint's own frame.
    """

    corners: Floats
    corners_twist_deg: Floats
    corner_counts: Ints
    visible: Floats
    visible_twist_deg: Floats


class ModelEdit:
    """An edit of the limits, requested for a joint."""

    edit: str

    def label(self, name: str) -> str:
        """Return what the edit is called in the history."""
        return f"{self.edit.replace('-', ' ')}, {name}"

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the edited limits."""
        raise NotImplementedError


class LimitEdit(ModelEdit):
    """An edit of the limit of one joint."""

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the model with the edited limit."""
        limit = self.apply(limit_to_edit(model.limits, name))
        return with_limits(model, {**model.limits, name: limit})

    def apply(self, limit: Limit) -> Limit:
        """Return the edited limit."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ConeEdit(LimitEdit):
    """An edit of one reach cone of a limit, by its index; some edit all cones without it."""

    part: int | None = None

    def apply(self, limit: Limit) -> Limit:
        """Return the limit with edited cones."""
        cones = list(edit.cones(limit.shape))
        if not cones:
            raise ValueError(f"only reach cones have points, this limit is {_a_shape(limit)}")
        for index in self.select(limit, cones):
            try:
                cones[index] = self.apply_to_cone(limit, cones[index])
            except StarError as error:
                why = error.broken.why if len(cones) == 1 else f"cone {index}, {error.broken.why}"
                ends = limit.chart.in_joint(error.broken.ends)
                raise StarError(str(error), replace(error.broken, why=why, ends=ends)) from error
        return replace(limit, shape=edit.with_cones(limit.shape, cones))

    def select(self, limit: Limit, cones: list[ReachCone]) -> list[int]:
        """Return the indices of the cones that are edited: `part`, or the only one."""
        if len(cones) == 1:
            return [0]
        if self.part is None:
            raise ValueError(f"part must say which of the {len(cones)} cones is meant, got none")
        if not 0 <= self.part < len(cones):
            raise ValueError(f"part must be from 0 to {len(cones) - 1}, got {self.part}")
        return [self.part]

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        """Return the edited cone, one of those of a limit."""
        raise NotImplementedError


class AllConesEdit(ConeEdit):
    """An edit of one cone, or of every cone."""

    def select(self, limit: Limit, cones: list[ReachCone]) -> list[int]:
        """Return the index `part`, or all indices."""
        return super().select(limit, cones) if self.part is not None else [*range(len(cones))]


@dataclass(frozen=True, kw_only=True)
class MovePoint(ConeEdit):
    """Move a point of a cone to a direction."""

    edit: Literal["move-point"]
    index: int
    point: Vector

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        return reach_cone.move_point(cone, self.index, _in_chart(limit, self.point))


@dataclass(frozen=True, kw_only=True)
class AddPoint(ConeEdit):
    """Add a point: in a direction, or in the middle of the edge after a point."""

    edit: Literal["add-point"]
    point: Vector | None = None
    after: int | None = None

    def select(self, limit: Limit, cones: list[ReachCone]) -> list[int]:
        """Return the cone of the request, or the one with the edge nearest to the new point."""
        if self.part is not None or self.point is None:
            return super().select(limit, cones)
        point = _in_chart(limit, self.point)
        feet = [nearest_on_edges(cone.points, point)[0] for cone in cones]
        return [int(np.argmin([np.linalg.norm(foot - point) for foot in feet]))]

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        if self.point is not None:
            return reach_cone.add_point(cone, _in_chart(limit, self.point))
        after = -1 if self.after is None else self.after
        if not 0 <= after < len(cone.points):
            raise ValueError(f"after must be from 0 to {len(cone.points) - 1}, got {after}")
        middle = cone.points[[after, (after + 1) % len(cone.points)]].sum(axis=0)
        return reach_cone.add_point(cone, middle / np.linalg.norm(middle), after + 1)


@dataclass(frozen=True, kw_only=True)
class DeletePoint(ConeEdit):
    """Delete a point of a cone."""

    edit: Literal["delete-point"]
    index: int

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        return reach_cone.delete_point(cone, self.index)


@dataclass(frozen=True, kw_only=True)
class MoveVisible(ConeEdit):
    """Move the visible point of a cone to a direction."""

    edit: Literal["move-visible"]
    point: Vector

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        return reach_cone.set_visible(cone, _in_chart(limit, self.point))


@dataclass(frozen=True, kw_only=True)
class Twist(ConeEdit):
    """Set the limits of the twist at the point `index`, or at the visible point without one."""

    edit: Literal["twist"]
    index: int | None
    low_deg: float
    high_deg: float

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        low, high = self.low_deg, self.high_deg
        if low > high:
            raise ValueError(
                f"a twist must not end before it begins, got {low:.1f}° to {high:.1f}°"
            )
        low, high = np.radians([low, high]).tolist()
        return reach_cone.set_twist(cone, low, high, self.index)


@dataclass(frozen=True, kw_only=True)
class Smooth(AllConesEdit):
    """Smooth one cone, or every cone, by subdivision; each round doubles its points."""

    edit: Literal["smooth"]
    rounds: int

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        if len(cone.points) * 2 ** min(max(self.rounds, 0), 20) > MAX_POINTS:
            raise ValueError(
                f"{self.rounds} rounds would make more than {MAX_POINTS} points of "
                f"{len(cone.points)}"
            )
        return reach_cone.smooth(cone, self.rounds)


@dataclass(frozen=True, kw_only=True)
class Relax(AllConesEdit):
    """Smooth the vertices of one cone, or of every cone, without adding any."""

    edit: Literal["relax"]
    rounds: Annotated[int, Within(0, 100)]

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        return reach_cone.relax(cone, self.rounds)


@dataclass(frozen=True, kw_only=True)
class Simplify(AllConesEdit):
    """Remove points that change one cone, or every cone, by less than the tolerance."""

    edit: Literal["simplify"]
    tolerance_deg: float

    def apply_to_cone(self, limit: Limit, cone: ReachCone) -> ReachCone:
        fewer = reach_cone.simplify(cone, float(np.radians(self.tolerance_deg)))
        if len(fewer.points) == len(cone.points):
            raise ValueError(
                f"each of the {len(cone.points)} points matters by more than "
                f"{self.tolerance_deg:g} degrees"
            )
        return fewer


@dataclass(frozen=True, kw_only=True)
class Brush(LimitEdit):
    """Push a distance field out around points, or pull it in."""

    edit: Literal["brush"]
    draft: bool = False
    """True during a drag, which `settle` ends."""
    centers: Annotated[VectorList, Within(1, MAX_CENTERS)]
    """Rotation vectors from the limit's reference."""
    radius_deg: float
    amount_deg: float
    """Outward displacement of the centre; negative to pull in."""

    def apply(self, limit: Limit) -> Limit:
        _check_sculptable(limit)
        shape = limit.shape
        radius, amount = np.radians([self.radius_deg, self.amount_deg]).tolist()
        for center in self.centers:
            rotation = quat.mul(limit.chart.reference, quat.exp(center))
            points = np.stack(limit.covers(rotation))
            point = points[np.argmin(edit.level(shape, points))]
            stroke = edit.brush if self.draft else edit.push
            shape = stroke(shape, point, radius, amount)
        return replace(limit, shape=shape)


@dataclass(frozen=True, kw_only=True)
class Settle(LimitEdit):
    """End the drafts of a brush."""

    edit: Literal["settle"]

    def apply(self, limit: Limit) -> Limit:
        _check_sculptable(limit)
        return replace(limit, shape=edit.settle(limit.shape))


@dataclass(frozen=True, kw_only=True)
class AddSample(LimitEdit):
    """Extend the limit to contain a rotation.

    A rotation that is inside already is refused, because undoing it would change nothing, unless
    the shape counts samples.
    """

    edit: Literal["add-sample"]
    rotation: Rotation

    def apply(self, limit: Limit) -> Limit:
        rotation = unit_quats("rotation", self.rotation)
        if not edit.counts_samples(limit.shape) and limit.contains(rotation):
            raise ValueError("this pose is inside already")
        return _with_sample(limit, rotation)


@dataclass(frozen=True, kw_only=True)
class SetNumber(LimitEdit):
    """Set a number of the shape, by its field and index."""

    edit: Literal["number"]
    field: str
    index: int
    deg: Annotated[float, Within(-1800, 1800)]

    def apply(self, limit: Limit) -> Limit:
        numbers = {(number.field, number.index): number for number in _numbers(limit)}
        number = numbers.get((self.field, self.index))
        if number is None:
            raise ValueError(f"{_a_shape(limit)} has no number {self.field!r:.40} [{self.index}]")
        angle = float(np.radians(self.deg))
        _check_number(number, angle)
        return _with_number(limit, number, angle)


@dataclass(frozen=True, kw_only=True)
class SetHingeEnd(LimitEdit):
    """Move an end of the range of a hinge, in degrees from the limit's reference."""

    edit: Literal["hinge"]
    side: Literal["low", "high"]
    deg: Annotated[float, Within(-180, 180)]

    def apply(self, limit: Limit) -> Limit:
        return move_end(limit, float(np.radians(self.deg)), high=self.side == "high")


def move_end(limit: Limit, angle: float, *, high: bool) -> Limit:
    """Return the limit of a hinge with one end at an angle from its reference, in radians.

    To move it outwards, the rotation there is added to the shape as a sample. To move it inwards,
    a number of the shape's widest range is changed; ValueError if no number has that effect.
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
    outwards = 1.0 if high else -1.0
    if outwards * (angle - (path.high if high else path.low)) > 0.0:
        return _with_sample(limit, path.at(angle))
    numbers = _numbers(limit)
    ranges: dict[str, dict[str, Number]] = {}
    for number in numbers:
        ranges.setdefault(number.row, {})[number.column] = number
    pairs = [
        (ends["from"], ends["to"]) for ends in ranges.values() if {"from", "to"} <= ends.keys()
    ]
    widest = max(pairs, key=lambda pair: pair[1].value - pair[0].value, default=())
    target = path.at(angle)
    inside, outside = (path.at(angle - sign * outwards * 0.5 * MIN_RANGE) for sign in (1.0, -1.0))
    for number in widest:
        legal, illegal = number.value, sum(end.value for end in widest) - number.value
        for _ in range(40):
            middle = 0.5 * (legal + illegal)
            is_legal = _with_number(limit, number, middle).contains(target)
            legal, illegal = (middle, illegal) if is_legal else (legal, middle)
        result = _with_number(limit, number, legal)
        if result.contains(inside) and not result.contains(outside):
            return result
    raise ValueError(
        f"{_a_shape(limit)} cannot be pulled in at one end: change its numbers, or its family"
    )


def _with_number(limit: Limit, number: Number, value: float) -> Limit:
    """Return the limit with another value of a number of its shape, in radians."""
    return replace(limit, shape=edit.with_number(limit.shape, number.field, number.index, value))


def _with_sample(limit: Limit, rotation: Quats) -> Limit:
    """Return the limit extended to contain a rotation (4,)."""
    return replace(limit, shape=edit.add(limit.shape, limit.nearest_cover(rotation)[None]))


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


def _numbers(limit: Limit) -> list[Number]:
    return edit.numbers(limit.shape, coordinate_names(limit.chart))


def _a_shape(limit: Limit) -> str:
    """Return the name of the limit's shape in a sentence, with its article."""
    name, called = limit.shape.name, edit.label(limit.shape)
    called = name.replace("-", " ") if called == name else called
    called = called[0].lower() + called[1:]
    return f"{'an' if called[0] in 'aeiou' else 'a'} {called}"


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


def _check_sculptable(limit: Limit) -> None:
    if not edit.is_sculptable(type(limit.shape)):
        raise ValueError(f"{_a_shape(limit)} cannot be sculpted: make it a distance field")


def _in_chart(limit: Limit, point: Vectors) -> Vectors:
    """Return a direction in the joint's frame as a unit vector in the frame of the chart."""
    length = float(np.linalg.norm(point))
    if length == 0.0:
        raise ValueError(f"point must be a direction, got {point.tolist()}")
    return limit.chart.in_chart(point / length)


def new_cone_limit(rotation: Quats, bone: Vectors) -> Limit:
    """Return a new limit: a cone of eight points around where the bone points at a rotation."""
    chart = DirectionTwist(unit_quats("rotation", rotation), bone)
    azimuth = np.arange(NEW_CONE_POINTS) * 2.0 * np.pi / NEW_CONE_POINTS
    points = from_polar(azimuth, np.full(NEW_CONE_POINTS, NEW_CONE_ANGLE), chart.axis)
    return Limit(chart, ReachCone(points, -NEW_CONE_TWIST, NEW_CONE_TWIST, chart.axis))


def cone_points(limit: Limit) -> ConePoints:
    """Return the points and visible points of the limit's cones, with twists in degrees."""
    cones, in_joint = edit.cones(limit.shape), limit.chart.in_joint
    limits = [np.stack([cone.low, cone.high], axis=1) for cone in cones]
    corners = [np.zeros((0, 3)), *(in_joint(cone.points) for cone in cones)]
    visible_twists = [(cone.visible_low, cone.visible_high) for cone in cones]
    return ConePoints(
        corners=np.concatenate(corners),
        corners_twist_deg=np.degrees(np.concatenate([np.zeros((0, 2)), *limits])),
        corner_counts=np.array([len(cone.points) for cone in cones], dtype=np.int64),
        visible=np.reshape([in_joint(cone.visible) for cone in cones], (-1, 3)),
        visible_twist_deg=np.degrees(np.reshape(visible_twists, (-1, 2))),
    )


def broken_edge(error: StarError) -> Edge:
    """Return the edge of a cone that is at fault."""
    return Edge(number=error.broken.edge, ends=error.broken.ends.tolist())
