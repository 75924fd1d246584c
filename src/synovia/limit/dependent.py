"""Limits that depend on another joint, such as those of a knee at a rotation of the hip.

The other joint, the driver, determines a few values: the two ends of a range, or the margin around
a shape. They are stored at nodes and interpolated linearly, so that they are continuous and each
can be edited by itself. Nodes are rotations of the driver, or directions of its bone if its twist
about the bone changes nothing (`limit.node_grid`). Their number tells which.

Legal rotations are always within the joint's own limit.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import quat
from ..arrays import (
    TURN,
    Floats,
    Ints,
    Mask,
    Quats,
    Scalars,
    Vectors,
    own,
    tolerance,
    unit_quats,
)
from ..charts.chart import ROUNDING, half_turn, reflect, unit_axis
from ..edit import add
from ..edit.numbers import interval_along, with_interval
from ..shapes.derived import project_offset
from .convert import mirror_limit
from .limit import Limit
from .nearest import nearest_by_angle
from .node_grid import NodeGrid

VALUE_TOLERANCE = 1e-12  # radians by which a value may differ from the one that was set
MAX_CHANGE = 1e6  # radians; bound of the search for the change of the nodes
BISECTIONS = 80  # of that search, down to rounding


@dataclass(frozen=True, eq=False)
class DependentLimit(ABC):
    """The legal rotations of a joint as a function of the rotation of its driver.

    `limit` is the joint's own limit, for all rotations of the driver. `driver` is the name of the
    other joint, and `axis` (3,) the direction of its bone in its own frame. Nodes are rotations of
    the driver, or directions of its bone, relative to its parent (or to the ancestor from which
    its limit is measured), rotated by `frame`. If nodes are rotations, `bone_frame` rotates from
    the driver's own axes to those of the nodes.
    """

    limit: Limit = field(metadata={"stored": False})
    driver: str
    axis: Annotated[Vectors, 3]
    frame: Annotated[Quats, 4] = field(
        default_factory=lambda: quat.IDENTITY, kw_only=True, metadata={"optional": True}
    )
    bone_frame: Annotated[Quats, 4] = field(
        default_factory=lambda: quat.IDENTITY, kw_only=True, metadata={"optional": True}
    )

    name: ClassVar[str]
    at_nodes: ClassVar[tuple[str, ...]]
    """The fields that have one value for each node."""

    def __post_init__(self) -> None:
        if not isinstance(self.driver, str) or not self.driver:
            raise ValueError(f"driver must name a joint, got {self.driver!r}")
        for name in ("frame", "bone_frame"):
            object.__setattr__(self, name, unit_quats(name, getattr(self, name)))
        own(self)
        object.__setattr__(self, "axis", unit_axis(self.axis, f"{type(self).__name__}.axis"))
        chart = self.limit.chart
        if chart.shortfall(chart.reference) is not None:
            raise ValueError(
                f"{type(self).__name__}.limit must be in a chart that has all rotations, got "
                f"{chart.name} with axes that are not at right angles: convert it first, for "
                "instance to rotation-vector"
            )
        self.grid  # noqa: B018 - checks the number of nodes

    @cached_property
    def values(self) -> Floats:
        """The values at the nodes: (nodes, k), radians."""
        return np.stack([getattr(self, name) for name in self.at_nodes], axis=-1)

    @cached_property
    def grid(self) -> NodeGrid:
        """The nodes as directions or rotations before they are rotated by the frames."""
        count = len(getattr(self, self.at_nodes[0]))
        grid = NodeGrid.with_count(count)
        if grid is None:
            raise ValueError(
                f"{type(self).__name__}.{self.at_nodes[0]} must have 4 n² + 2 numbers for some n, "
                "such as 6, 18, 66 or 258, for directions of the driver's bone, or (4 n³ + 8 n)/3, "
                f"such as 16, 96 or 704, for its rotations, got {count}"
            )
        return grid

    @property
    def by_rotation(self) -> bool:
        """True if the driver's twist matters: nodes are its rotations."""
        return self.grid.dimension == 4

    @property
    def nodes(self) -> Floats:
        """The nodes: directions (n, 3) of the driver's bone, or its rotations (n, 4)."""
        if self.by_rotation:
            return quat.mul(quat.mul(self.frame, self.grid.nodes), quat.inverse(self.bone_frame))
        return quat.rotate(self.frame, self.grid.nodes)

    @cached_property
    def packed(self) -> Floats:
        """The packed form: a header, then the values at the nodes; see `kernels.dependent`."""
        turns = 1 + self.limit.region.reach((0, 1, 2)) // TURN
        head: list[float] = [len(self.at_nodes), self.by_rotation, self.grid.divisions]
        head += [*self.axis, *quat.inverse(self.frame), *self.bone_frame, *self._packed_ends, turns]
        return np.array([1 + len(head) + self.values.size, *head, *self.values.ravel()])

    @property
    def _packed_ends(self) -> tuple[float, ...]:
        """The direction of a range in the chart, and its widest ends: five numbers."""
        return (0.0,) * 5

    def locate(self, driver: Quats) -> tuple[Ints, Scalars]:
        """Return the nodes (..., c) around rotations (..., 4) of the driver, and their weights."""
        in_frame = quat.mul(quat.inverse(self.frame), np.asarray(driver, np.float64))
        if self.by_rotation:
            return self.grid.locate(quat.mul(in_frame, self.bone_frame))
        return self.grid.locate(quat.rotate(in_frame, self.axis))

    def values_at(self, driver: Quats) -> Floats:
        """Return the interpolated values (..., k) at rotations (..., 4) of the driver."""
        nodes, weights = self.locate(driver)
        return np.asarray(np.einsum("...c,...ck->...k", weights, self.values[nodes]))

    def with_value_at(self, driver: Quats, name: str, value: float, *, radius: float = 0.0) -> Self:
        """Return the limit with another value at one rotation of the driver.

        The nodes around it change, the nearest by the most. A value that the joint's own limit does
        not allow widens that as well.

        Parameters
        ----------
        driver
            The rotation (4,).
        name
            The field to change, one of `at_nodes`.
        value
            The new value there, in radians. ValueError if no values at the nodes give it.
        radius
            Radius in radians within which nodes change; the nodes of the interpolation always do.
        """
        if name not in self.at_nodes:
            raise ValueError(f"name must be one of {', '.join(self.at_nodes)}, got {name!r}")
        driver, wide = unit_quats("driver", driver), self._widen(value)
        corners, weights = self.locate(driver)
        corners, weights = corners[weights > 0.0], weights[weights > 0.0]
        if self.by_rotation:
            angles = quat.angle_between(self.nodes, driver)
        else:
            bone = quat.rotate(driver, self.axis)
            angles = np.arccos(np.clip(self.nodes @ bone, -1.0, 1.0))
        # Slightly larger, so that the share of the farthest of these nodes is not 0.
        reach = max(radius, 1.01 * float(angles[corners].max()), VALUE_TOLERANCE)
        shares = np.maximum(1.0 - (angles / reach) ** 2, 0.0) ** 2
        shares /= weights @ shares[corners]
        before = np.array(getattr(self, name))
        least, most = wide._bounds(name)

        def moved(change: float) -> Floats:
            return np.where(shares > 0.0, np.clip(before + change * shares, least, most), before)

        def reached(change: float) -> float:
            return float(weights @ moved(change)[corners])

        sign = 1.0 if value > reached(0.0) else -1.0
        inner, outer = 0.0, sign * MAX_CHANGE
        if (value - reached(outer)) * sign > VALUE_TOLERANCE:
            raise ValueError(f"{name} can go to {reached(outer):.6g} here, got {value:.6g}")
        for _ in range(BISECTIONS):
            half = 0.5 * (inner + outer)
            inner, outer = (half, outer) if (value - reached(half)) * sign > 0 else (inner, half)
        changed: dict[str, Any] = {name: moved(outer)}
        return replace(wide, **changed)

    @abstractmethod
    def _widen(self, value: float) -> Self:
        """Return the limit with a joint's own limit that allows a value at a node, in radians."""

    @abstractmethod
    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        """Return the least and greatest values (nodes,) that a field may have."""

    def including(self, rotation: Quats) -> Self:
        """Return the limit with a joint's own limit that also contains a rotation (4,)."""
        shape = add(self.limit.shape, self.limit.nearest_cover(rotation)[None])
        return replace(self, limit=replace(self.limit, shape=shape))

    @abstractmethod
    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        """Return values by field with which a rotation (4,) is legal at a rotation of the driver.

        They are the nearest to the present values, if the joint's own limit contains the rotation.
        """

    @abstractmethod
    def measure(self, rotations: Quats) -> Floats:
        """Return what `gap` needs of rotations; it does not depend on the driver."""

    @abstractmethod
    def gap(self, measured: Floats, values: Floats) -> Scalars:
        """Return the signed distances of measured rotations, given the values (..., k)."""

    @abstractmethod
    def _nearest(self, rotations: Quats, values: Floats) -> Quats:
        """Return the nearest legal rotations (n, 4) of illegal ones, given the values (n, k)."""

    def distance(self, rotations: Quats, driver: Quats) -> Scalars:
        """Return the signed distance of each rotation at a fixed rotation of the driver.

        It is in the metric of the limit's chart, and at most 0 inside.
        """
        rotations = unit_quats("rotations", rotations)
        found = self.gap(self.measure(rotations), self.values_at(driver))
        return np.asarray(found, rotations.dtype)

    def contains(self, rotations: Quats, driver: Quats) -> Mask:
        """Return a mask of the rotations that are legal at those of the driver."""
        distance = self.distance(rotations, driver)
        return np.asarray(distance <= tolerance(distance.dtype))

    def project(self, rotations: Quats, driver: Quats) -> Quats:
        """Return the nearest legal rotations while the driver stays; members bit for bit."""
        rotations = unit_quats("rotations", rotations)
        batch = np.broadcast_shapes(rotations.shape, np.shape(driver))
        out = np.array(np.broadcast_to(rotations, batch))
        outside = ~self.contains(out, driver)
        if outside.any():
            values = np.broadcast_to(self.values_at(driver), (*batch[:-1], len(self.at_nodes)))
            far = out[outside].astype(np.float64)
            near = self._nearest(far, values[outside])
            opposite = np.sum(near * far, axis=-1, keepdims=True) < 0.0
            out[outside] = np.where(opposite, -near, near)
        return out

    def violation(self, rotations: Quats, driver: Quats) -> Scalars:
        """Return the rotation angle, in radians, to the nearest legal rotation; 0 if legal.

        The driver stays as it is; see `Limit.violation`.
        """
        rotations = unit_quats("rotations", rotations)
        nearest = self.nearest_rotation(rotations, driver)
        moved = (nearest != rotations).any(axis=-1)
        angles = np.where(moved, quat.angle_between(rotations, nearest), 0.0)
        return np.asarray(angles, rotations.dtype)

    def nearest_rotation(self, rotations: Quats, driver: Quats) -> Quats:
        """Return the legal rotations at the smallest rotation angle, while the driver stays.

        Legal ones stay as they are; see `Limit.nearest_rotation`.
        """
        rotations = unit_quats("rotations", rotations)
        nearest = self.project(rotations, driver)
        moved = (nearest != rotations).any(axis=-1)
        drivers = np.broadcast_to(driver, nearest.shape)[moved]
        given = np.broadcast_to(rotations, nearest.shape)[moved].astype(np.float64)
        nearest[moved] = nearest_by_angle(
            lambda tried, rows: self.project(tried, drivers[rows, None]),
            given,
            nearest[moved].astype(np.float64),
            self.limit.spread_members,
        )
        return nearest

    def limit_at(self, driver: Quats) -> Limit:
        """Return the limit at one rotation (4,) of the driver."""
        return self._limit_of(self.values_at(unit_quats("driver", driver)))

    @abstractmethod
    def _limit_of(self, values: Floats) -> Limit:
        """Return the limit with the values (k,)."""

    @abstractmethod
    def shrink(self, r: float) -> Self:
        """Return the limit shrunk by `r` radians, as far as members remain."""

    def in_frames(self, parent: Quats, child: Quats) -> Self:
        """Return the limit for rotations r of the driver that were parent⁻¹ · r · child before.

        The joint's own limit stays in its frames; `Limit.in_frames` changes those.
        """
        axis, frame = quat.rotate(child, self.axis), quat.normalize(quat.mul(parent, self.frame))
        if not self.by_rotation:
            return replace(self, axis=axis, frame=frame)
        bone = quat.normalize(quat.mul(child, self.bone_frame))
        return replace(self, axis=axis, frame=frame, bone_frame=bone)

    def mirror(self, normal: Vectors, driver: str, driver_normal: Vectors | None = None) -> Self:
        """Return the limit of the other side, which depends on the `driver` of that side.

        `normal` (3,) is the mirror's normal in the joint's parent frame, and `driver_normal` in the
        driver's, if that differs.
        """
        across = normal if driver_normal is None else driver_normal
        if self.by_rotation:  # mirrored rotations are H r H, with H half a turn about the normal
            half = half_turn(across)
            return replace(
                self.in_frames(half, half),
                driver=driver,
                axis=reflect(self.axis, across),
                **self._mirror_fields(normal),
            )
        # With the mirror M and the mirror D across x, mirrored nodes are those rotated by
        # M · frame · D, in the order given by D.
        frame = quat.mul(quat.mul(half_turn(across), self.frame), half_turn(np.eye(3)[0]))
        order = self.grid.mirrored
        changed = {name: getattr(self, name)[order] for name in self.at_nodes}
        return replace(
            self,
            driver=driver,
            axis=reflect(self.axis, across),
            frame=quat.normalize(frame),
            **(changed | self._mirror_fields(normal)),
        )

    def _mirror_fields(self, normal: Vectors) -> dict[str, Any]:
        """Return the mirrored limit and the other fields that change."""
        return {"limit": mirror_limit(self.limit, normal)}


@dataclass(frozen=True, eq=False)
class DependentRange(DependentLimit):
    """A range of one coordinate with ends that depend on the driver, for hinges and twists.

    At each node `low` and `high` are the ends along `along`, a unit direction (3,) of the limit's
    chart, in radians. The limit must be an interval along it times a shape across, as a box or a
    product is. Ends outside its interval are clipped to it.
    """

    low: Annotated[Floats, "n"]
    high: Annotated[Floats, "n"]
    along: Annotated[Vectors, 3]

    name: ClassVar[str] = "range"
    at_nodes: ClassVar[tuple[str, ...]] = ("low", "high")

    def __post_init__(self) -> None:
        super().__post_init__()
        along = unit_axis(np.array(self.along), "DependentRange.along")
        object.__setattr__(self, "along", along)
        if (self.low > self.high).any():
            node = int(np.argmax(self.low > self.high))
            raise ValueError(
                f"DependentRange.low must not exceed DependentRange.high, got {self.low[node]:.6g} "
                f"and {self.high[node]:.6g} at node {node}"
            )
        for name in self.at_nodes:
            within = np.clip(getattr(self, name), *self._ends)
            within.flags.writeable = False
            object.__setattr__(self, name, within)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        limit = self.limit
        known = limit.chart.dimension == 3 and limit.margin == 0.0
        ends = interval_along(limit.shape, self.along) if known else None
        if ends is None:
            raise ValueError(
                f"DependentRange needs a limit that is an interval along {self.along.tolist()}, "
                f"such as a box without a margin, got a {limit.shape.name} in {limit.chart.name} "
                f"with a margin of {limit.margin:.6g}"
            )
        return ends

    @property
    def _packed_ends(self) -> tuple[float, ...]:
        return (*self.along.tolist(), *self._ends)

    def _widen(self, value: float) -> Self:
        low, high = self._ends
        if low <= value <= high:
            return self
        ends = min(low, value), max(high, value)
        shape = with_interval(self.limit.shape, self.along, *ends)
        return replace(self, limit=replace(self.limit, shape=shape))

    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        low, high = (np.full_like(self.low, end) for end in self._ends)
        return (low, self.high) if name == "low" else (self.low, high)

    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        low, high = self.values_at(driver).tolist()
        covers = np.stack(self.limit.covers(unit_quats("rotation", rotation))) @ self.along
        beyond = np.maximum(low - covers, covers - high)
        along = float(covers[beyond.argmin()])
        return {"low": min(low, along), "high": max(high, along)}

    def measure(self, rotations: Quats) -> Floats:
        """Return by cover the distance across the range, the coordinate along it, the depth."""
        points = np.stack(self.limit.covers(rotations), axis=-2)
        distance = self.limit.shape.distance(points)
        along = points @ self.along
        low, high = self._ends
        beyond = np.maximum(np.maximum(low - along, along - high), 0.0)
        across = np.sqrt(np.maximum(np.maximum(distance, 0.0) ** 2 - beyond**2, 0.0))
        return np.stack([across, along, np.minimum(distance, 0.0)], axis=-1)

    def gap(self, measured: Floats, values: Floats) -> Scalars:
        return np.asarray(self._gaps(measured, values).min(axis=-1))

    def _gaps(self, measured: Floats, values: Floats) -> Scalars:
        across, along, depth = np.moveaxis(measured, -1, 0)
        beyond = np.maximum(values[..., :1] - along, along - values[..., 1:])
        outside = np.hypot(across, np.maximum(beyond, 0.0))
        return np.asarray(np.where(outside > 0.0, outside, np.maximum(beyond, depth)))

    def _nearest(self, rotations: Quats, values: Floats) -> Quats:
        measured = self.measure(rotations)
        cover = self._gaps(measured, values).argmin(axis=-1)
        points = np.stack(self.limit.covers(rotations), axis=-2)
        points = np.take_along_axis(points, cover[:, None, None], axis=1)[:, 0]
        nearest = self.limit.shape.project(points)
        along = nearest @ self.along
        change = np.clip(along, values[:, 0], values[:, 1]) - along
        return self.limit.chart.rotations(nearest + change[:, None] * self.along)

    def _limit_of(self, values: Floats) -> Limit:
        low, high = float(values[0]), float(values[1])
        return replace(self.limit, shape=with_interval(self.limit.shape, self.along, low, high))

    def shrink(self, r: float) -> Self:
        middle = 0.5 * (self.low + self.high)
        return replace(
            self,
            limit=self.limit.shrink(r),
            low=np.minimum(self.low + r, middle),
            high=np.maximum(self.high - r, middle),
        )

    def _mirror_fields(self, normal: Vectors) -> dict[str, Any]:
        limit = mirror_limit(self.limit, normal)
        for there in self.limit.chart.mirror(normal):
            along = there.turn @ self.along
            same = quat.angle_between(there.chart.frame, limit.chart.frame) < ROUNDING
            if same and interval_along(limit.shape, along) is not None:
                return {"limit": limit, "along": along}
        raise ValueError(f"a range along {self.along.tolist()} cannot be mirrored")


@dataclass(frozen=True, eq=False)
class DependentMargin(DependentLimit):
    """A limit whose margin, in radians, depends on the driver.

    At each node `margin` is from 0 to the margin of the joint's own limit. A rotation is legal if
    its distance from the limit's shape is at most the interpolated margin. The widest margin gives
    the joint's own limit, the narrowest its shape.
    """

    margin: Annotated[Floats, "n"]

    name: ClassVar[str] = "margin"
    at_nodes: ClassVar[tuple[str, ...]] = ("margin",)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = float(self.margin.min()), float(self.margin.max())
        if not (low >= 0.0 and high <= self.limit.margin + VALUE_TOLERANCE):
            raise ValueError(
                f"DependentMargin.margin must be from 0 to that of the limit, "
                f"{self.limit.margin:.6g}, got {low:.6g} to {high:.6g}"
            )

    def including(self, rotation: Quats) -> Self:
        return self._widen(float(self.measure(unit_quats("rotation", rotation))[0]))

    def _widen(self, value: float) -> Self:
        wide = max(value, self.limit.margin)
        return replace(self, limit=replace(self.limit, margin=wide))

    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        return np.zeros_like(self.margin), np.full_like(self.margin, self.limit.margin)

    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        here = float(self.values_at(driver)[0])
        needed = float(self.measure(unit_quats("rotation", rotation))[0])
        return {"margin": float(np.clip(needed, here, self.limit.margin))}

    @cached_property
    def narrowest(self) -> Limit:
        """The shape without a margin, which is legal at all rotations of the driver."""
        return self._limit_of(np.zeros(1))

    def measure(self, rotations: Quats) -> Floats:
        """Return the distance of rotations from the shape: (..., 1)."""
        return self.narrowest.distance(np.asarray(rotations, np.float64))[..., None]

    def gap(self, measured: Floats, values: Floats) -> Scalars:
        return np.asarray(measured[..., 0] - values[..., 0])

    def _nearest(self, rotations: Quats, values: Floats) -> Quats:
        narrowest = self.narrowest
        points = narrowest.nearest_cover(rotations)
        grown = project_offset(narrowest.shape, points, values[:, 0])
        return narrowest.chart.rotations(grown)

    def _limit_of(self, values: Floats) -> Limit:
        with warnings.catch_warnings():  # the same warnings were issued for the limit
            warnings.simplefilter("ignore")
            return replace(self.limit, margin=max(float(values[0]), 0.0))

    def shrink(self, r: float) -> Self:
        margin = np.maximum(self.margin - r, 0.0)
        wide = max(self.limit.margin - r, 0.0)
        return replace(self, limit=self._limit_of(np.array([wide])), margin=margin)


DEPENDENT_LIMITS: dict[str, type[DependentLimit]] = {
    kind.name: kind for kind in (DependentRange, DependentMargin)
}
"""Classes of dependent limits by name."""
