"""Limits that depend on another joint: what a knee may do at this rotation of the hip.

The other joint, the driver, changes a few numbers: the two ends of a range, or the margin around a
shape. They are given at nodes and are linear between them, so that they are continuous and each can
be edited by itself. Nodes are rotations of the driver, or directions of its bone if its twist about
the bone changes nothing (`limit.node_grid`). Their number tells which.

Whatever the driver does, legal rotations are within the joint's own limit.
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
from ..shapes.derived import project_offset
from .convert import mirror_limit
from .intervals import interval_along, with_interval
from .limit import Limit, frame_of
from .nearest import nearest_by_angle
from .node_grid import NodeGrid

NEAR = 1e-12  # radians to which a number is what it was set to
FARTHEST = 1e6  # radians by which a number is moved at most


@dataclass(frozen=True, eq=False)
class DependentLimit(ABC):
    """The rotations of a joint that are legal while another one, its driver, is as it is.

    `limit` is the joint's own, whatever the other does. `driver` is the name of the other joint,
    and `axis` (3,) its bone in its own frame. Nodes are rotations, or directions of that bone, as
    the driver's parent sees it (or the ancestor that the driver's limit is measured from), turned
    by `frame`; `bone_frame` turns the driver's own axes to those that nodes that are rotations are
    for.
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
    """The fields that have a number for each node."""

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

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(getattr(self, self.at_nodes[0]))

    @cached_property
    def values(self) -> Floats:
        """The numbers at the nodes: (nodes, k), radians."""
        return np.stack([getattr(self, name) for name in self.at_nodes], axis=-1)

    @property
    def range_along(self) -> Vectors | None:
        """The direction (3,) of the chart along which the numbers are two ends; None for others."""
        return None

    @cached_property
    def grid(self) -> NodeGrid:
        """The nodes as directions or rotations before they are rotated by the frames."""
        found = NodeGrid.with_count(self.node_count)
        if found is None:
            raise ValueError(
                f"{type(self).__name__}.{self.at_nodes[0]} must have 4 n² + 2 numbers for some n, "
                "such as 6, 18, 66 or 258, for directions of the driver's bone, or (4 n³ + 8 n)/3, "
                f"such as 16, 96 or 704, for its rotations, got {self.node_count}"
            )
        return found

    @property
    def by_rotation(self) -> bool:
        """True if the driver's twist matters: nodes are its rotations."""
        return self.grid.dimension == 4

    @property
    def nodes(self) -> Floats:
        """What numbers are given at: directions (nodes, 3) of the driver's bone, or its rotations.

        The latter are (nodes, 4).
        """
        if self.by_rotation:
            return quat.mul(quat.mul(self.frame, self.grid.nodes), quat.inverse(self.bone_frame))
        return quat.rotate(self.frame, self.grid.nodes)

    @cached_property
    def packed(self) -> Floats:
        """What kernels read: a header, then the numbers at the nodes; see `kernels.dependent`."""
        turns = 1 + self.limit.region.reach((0, 1, 2)) // TURN
        head: list[float] = [len(self.at_nodes), self.by_rotation, self.grid.divisions]
        head += [*self.axis, *quat.inverse(self.frame), *self.bone_frame, *self._packed_ends, turns]
        return np.array([1 + len(head) + self.values.size, *head, *self.values.ravel()])

    @property
    def _packed_ends(self) -> tuple[float, ...]:
        """The direction of a range in the chart, and its widest ends: five numbers."""
        return (0.0,) * 5

    @cached_property
    def steepness(self) -> float:
        """A bound on how fast the numbers change, in radians a radian of the driver's turn."""
        return self.grid.steepest(self.values)

    def directions(self, driver: Quats) -> Vectors:
        """Return the direction (..., 3), by the nodes' axes, of the bone at rotations of it."""
        return quat.rotate(quat.mul(quat.inverse(self.frame), driver), self.axis)

    def locate(self, driver: Quats) -> tuple[Ints, Scalars]:
        """Return the nodes (..., c) around rotations (..., 4) of the driver, and their weights."""
        if self.by_rotation:
            turned = quat.mul(quat.mul(quat.inverse(self.frame), driver), self.bone_frame)
            return self.grid.locate(turned)
        return self.grid.locate(self.directions(np.asarray(driver, np.float64)))

    def values_at(self, driver: Quats) -> Floats:
        """Return the numbers (..., k) at rotations (..., 4) of the driver."""
        nodes, weights = self.locate(driver)
        return np.asarray(np.einsum("...c,...ck->...k", weights, self.values[nodes]))

    def with_value_at(self, driver: Quats, name: str, value: float, *, radius: float = 0.0) -> Self:
        """Return the same with another number at one rotation of the driver.

        Nodes around it change, the nearest by most.

        Parameters
        ----------
        driver
            The rotation (4,).
        name
            Which number: one of `at_nodes`.
        value
            What it is there from now on, in radians. ValueError where no numbers at nodes give it.
        radius
            How far from there nodes change, in radians; at least those around it do.
        """
        if name not in self.at_nodes:
            raise ValueError(f"name must be one of {', '.join(self.at_nodes)}, got {name!r}")
        driver = unit_quats("driver", driver)
        corners, weights = self.locate(driver)
        corners, weights = corners[weights > 0.0], weights[weights > 0.0]
        away = self._node_distances(driver)
        # Not 0 at the farthest of the nodes around it.
        reach = max(radius, 1.01 * float(away[corners].max()), NEAR)
        shares = np.maximum(1.0 - (away / reach) ** 2, 0.0) ** 2
        shares /= weights @ shares[corners]
        before = np.array(getattr(self, name))
        least, most = self._bounds(name)

        def moved(by: float) -> Floats:
            return np.where(shares > 0.0, np.clip(before + by * shares, least, most), before)

        def here(by: float) -> float:
            return float(weights @ moved(by)[corners])

        change = value - here(0.0)
        if abs(here(change) - value) > NEAR:  # some nodes cannot go so far, others have to
            inner, outer = change, np.sign(change) * FARTHEST
            if (here(outer) - value) * change < -NEAR:
                raise ValueError(f"{name} can go to {here(outer):.6g} here, got {value:.6g}")
            for _ in range(80):
                half = 0.5 * (inner + outer)
                inner, outer = (half, outer) if (value - here(half)) * change > 0 else (inner, half)
            change = outer
        changed: dict[str, Any] = {name: moved(change)}
        return replace(self, **changed)

    def _node_distances(self, driver: Quats) -> Scalars:
        """Return the angles (nodes,) from one rotation of the driver to the nodes."""
        if self.by_rotation:
            return quat.angle_between(self.nodes, driver)
        bone = quat.rotate(driver, self.axis)
        return np.asarray(np.arccos(np.clip(self.nodes @ bone, -1.0, 1.0)))

    @abstractmethod
    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        """Return how low and how high numbers of a name may be at the nodes, or anywhere."""

    def including(self, rotation: Quats) -> Self:
        """Return the same with a joint's own limit that has a rotation (4,), too."""
        shape = add(self.limit.shape, self.limit.nearest_cover(rotation)[None])
        return replace(self, limit=replace(self.limit, shape=shape))

    @abstractmethod
    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        """Return numbers, by name, with which a rotation (4,) is legal at one of the driver.

        They are the nearest to the present ones, if the joint's own limit has the rotation.
        """

    @abstractmethod
    def measure(self, rotations: Quats) -> Floats:
        """Return all that `gap` needs to know of rotations, whatever the driver does."""

    @abstractmethod
    def gap(self, measured: Floats, values: Floats) -> Scalars:
        """Return how far outside rotations are, at numbers (..., k); at most 0 inside."""

    @abstractmethod
    def _nearest(self, rotations: Quats, values: Floats) -> Quats:
        """Return the nearest legal rotations (n, 4) of illegal ones, at numbers (n, k)."""

    def distance(self, rotations: Quats, driver: Quats) -> Scalars:
        """Return how far outside each rotation is while the driver stays at its own.

        In the metric of the limit's chart; at most 0 inside.
        """
        rotations = unit_quats("rotations", rotations)
        found = self.gap(self.measure(rotations), self.values_at(driver))
        return np.asarray(found, rotations.dtype)

    def contains(self, rotations: Quats, driver: Quats) -> Mask:
        """Tell which rotations are legal at those of the driver."""
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
        """Return what is legal at one rotation (4,) of the driver, as a limit by itself."""
        return self._limit_of(self.values_at(unit_quats("driver", driver)))

    @abstractmethod
    def _limit_of(self, values: Floats) -> Limit:
        """Return the legal rotations at numbers (k,)."""

    @abstractmethod
    def shrink(self, r: float) -> Self:
        """Return the same, `r` radians smaller all around, as far as members are left."""

    def in_frames(self, parent: Quats, child: Quats) -> Self:
        """Return the same for a driver r of which this one sees c = parent⁻¹ · r · child.

        The limit itself is left alone: `limit.change_frames` is for that.
        """
        axis, frame = quat.rotate(child, self.axis), quat.normalize(quat.mul(parent, self.frame))
        if not self.by_rotation:
            return replace(self, axis=axis, frame=frame)
        bone = quat.normalize(quat.mul(child, self.bone_frame))
        return replace(self, axis=axis, frame=frame, bone_frame=bone)

    def mirror(self, normal: Vectors, driver: str, driver_normal: Vectors | None = None) -> Self:
        """Return the limit of the other side, which depends on the `driver` of that side.

        `normal` (3,) is that of the mirror, as the joint is seen; `driver_normal` the same as the
        driver is seen, where that is not from the same axes.
        """
        across = normal if driver_normal is None else driver_normal
        if self.by_rotation:  # of which a mirror shows H r H, H half a turn about its normal
            half = half_turn(across)
            return replace(
                self.in_frames(half, half),
                driver=driver,
                axis=reflect(self.axis, across),
                **self._mirror_fields(normal),
            )
        # With M the mirror and D the one across x, nodes turned by M · frame · D are what the
        # mirror shows of the nodes, in the order that D gives them.
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
        """Return the mirrored limit, and other fields that change with it."""
        return {"limit": mirror_limit(self.limit, normal)}


@dataclass(frozen=True, eq=False)
class DependentRange(DependentLimit):
    """A range of one coordinate whose ends depend on the driver: a hinge's, or a twist's.

    At each node `low` and `high` are the ends along `along`, a unit direction (3,) of the limit's
    chart, in radians. The limit must be an interval along it, and anything across, as a box or a
    product is; ends beyond that are its own.
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

    @property
    def range_along(self) -> Vectors | None:
        return self.along

    def with_value_at(self, driver: Quats, name: str, value: float, *, radius: float = 0.0) -> Self:
        """Return the same with another end at one rotation of the driver.

        One beyond the joint's own limit makes that wider, too; elsewhere nothing changes.
        """
        low, high = self._ends
        if low <= value <= high or name not in self.at_nodes:
            return super().with_value_at(driver, name, value, radius=radius)
        ends = min(low, value), max(high, value)
        wider = replace(self.limit, shape=with_interval(self.limit.shape, self.along, *ends))
        wide = replace(self, limit=wider)
        return super(DependentRange, wide).with_value_at(driver, name, value, radius=radius)

    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        low, high = (np.full(len(self.low), end) for end in self._ends)
        return (low, self.high) if name == "low" else (self.low, high)

    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        low, high = self.values_at(driver).tolist()
        covers = np.stack(self.limit.covers(unit_quats("rotation", rotation))) @ self.along
        beyond = np.maximum(low - covers, covers - high)
        along = float(covers[beyond.argmin()])
        return {"low": min(low, along), "high": max(high, along)}

    def measure(self, rotations: Quats) -> Floats:
        """Return, for each cover, how far outside across the range, where along it, and depth."""
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
            same = quat.angle_between(frame_of(there.chart), frame_of(limit.chart)) < ROUNDING
            if same and interval_along(limit.shape, along) is not None:
                return {"limit": limit, "along": along}
        raise ValueError(f"a range along {self.along.tolist()} cannot be mirrored")


@dataclass(frozen=True, eq=False)
class DependentMargin(DependentLimit):
    """A limit whose margin, in radians, depends on the driver.

    At each node `margin` is at least 0 and at most the margin of the joint's own limit. A rotation
    is legal where its distance from the limit's shape is at most the margin there: at the widest
    that is the joint's own limit, at the narrowest its shape.
    """

    margin: Annotated[Floats, "n"]

    name: ClassVar[str] = "margin"
    at_nodes: ClassVar[tuple[str, ...]] = ("margin",)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = float(self.margin.min()), float(self.margin.max())
        if not (low >= 0.0 and high <= self.limit.margin + NEAR):
            raise ValueError(
                f"DependentMargin.margin must be from 0 to that of the limit, "
                f"{self.limit.margin:.6g}, got {low:.6g} to {high:.6g}"
            )

    def including(self, rotation: Quats) -> Self:
        return self._widen(float(self.measure(unit_quats("rotation", rotation))[0]))

    def with_value_at(self, driver: Quats, name: str, value: float, *, radius: float = 0.0) -> Self:
        """Return the same with another margin at one rotation of the driver.

        One beyond that of the joint's own limit makes the limit wider; elsewhere nothing changes.
        """
        wide = self._widen(value)
        return super(DependentMargin, wide).with_value_at(driver, name, value, radius=radius)

    def _widen(self, margin: float) -> Self:
        """Return the same with a joint's own limit of at least this margin, in radians."""
        wide = max(margin, self.limit.margin)
        return replace(self, limit=replace(self.limit, margin=wide))

    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        return np.zeros(self.node_count), np.full(self.node_count, self.limit.margin)

    def values_for(self, rotation: Quats, driver: Quats) -> dict[str, float]:
        here = float(self.values_at(driver)[0])
        needed = float(self.measure(unit_quats("rotation", rotation))[0])
        return {"margin": float(np.clip(needed, here, self.limit.margin))}

    @cached_property
    def narrowest(self) -> Limit:
        """The shape without a margin: legal whatever the driver does."""
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
        with warnings.catch_warnings():  # about the region, which were given for the limit
            warnings.simplefilter("ignore")
            return replace(self.limit, margin=max(float(values[0]), 0.0))

    def shrink(self, r: float) -> Self:
        margin = np.maximum(self.margin - r, 0.0)
        wide = max(self.limit.margin - r, 0.0)
        return replace(self, limit=self._limit_of(np.array([wide])), margin=margin)


DEPENDENT_LIMITS: dict[str, type[DependentLimit]] = {
    kind.name: kind for kind in (DependentRange, DependentMargin)
}
"""Every way in which a limit may depend on another joint, by its name."""
