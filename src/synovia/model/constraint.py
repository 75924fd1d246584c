"""Constraints: rules about some joints of a skeleton."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, tolerance, unit_quats
from ..limit import Limit
from ..limit.softening import Softening
from ..shapes.region import interpolate
from ..skeleton import Lineage, Skeleton, lineage, measure_from_ancestor
from .bounded import Ways
from .clamp import MAX_SPEED, clamp_paths, step_bounds
from .report import Held
from .roadmap import slerp

EDGE = 0.5 * TOLERANCE  # radians; leaves room for rounding, so that results are members
MIN_STEP = 3e-5  # radians; the shortest step of `first_exit` in the kernel
EXIT_STEP = np.radians(0.25)  # of `first_exit` without a kernel
EXIT_HALVINGS = 34  # of the last of these steps: to 1e-13 radians
WAYPOINTS = 1000  # samples of a limit for detours around what is not legal


class Carried(NamedTuple):
    """A constraint on another skeleton: one, several simpler ones, or none."""

    constraints: tuple[Constraint, ...]
    loss: str = ""
    """What was lost, as a clause; empty if nothing was, or if only joints are missing."""
    lost: tuple[str, ...] = ()
    """The joints that it is about."""


class Constraint(ABC):
    """A rule about the rotations of some joints, which it may move to keep it.

    A joint is moved by one constraint of a model at most. All verbs take rotations (..., k, 4) of
    the k joints in `measured_from`, each relative to its parent or to the ancestor named there.
    """

    kind: ClassVar[str]
    """The name of this kind of constraint in files."""

    @property
    @abstractmethod
    def measured_from(self) -> Mapping[str, str | None]:
        """The constrained joints in order, and the ancestor of each; None for its parent."""

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the constrained joints."""
        return tuple(self.measured_from)

    @abstractmethod
    def distance(self, rotations: Quats) -> Scalars:
        """Return the signed distance (..., k) of each joint; at most 0 where it is legal."""

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (...): True where all joints are legal."""
        distance = self.distance(rotations)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    @abstractmethod
    def violation(self, rotations: Quats) -> Scalars:
        """Return the angle (..., k) from each joint to `nearest_rotations`, radians; 0 if legal."""

    def nearest_rotations(self, rotations: Quats) -> Quats:
        """Return the legal rotations (..., k, 4) at the smallest angle from each joint's own.

        Other joints stay as they are, and so do legal rotations. For constraints that are decided
        by a search over several joints, this is `project`.
        """
        return self.project(rotations)

    @abstractmethod
    def project(self, rotations: Quats) -> Quats:
        """Return legal rotations (..., k, 4) near to those given; legal ones come back as is."""

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        """Return rotations that approach the limit instead of stopping at it."""
        raise ValueError(f"{self.joints[0]}: a {self.kind} cannot be softened")

    def first_exit(self, previous: Quats, proposed: Quats) -> Scalars:
        """Return the largest t (...) in [0, 1] up to which the path between rotations is legal.

        Each joint takes the shortest rotation. By default the path is examined in steps of
        `EXIT_STEP`, so that shorter parts outside are missed.
        """
        ends = (each.astype(np.float64) for each in np.broadcast_arrays(previous, proposed))
        start, end = (each.reshape(-1, *each.shape[-2:]) for each in ends)
        low, high = np.ones(len(start)), np.ones(len(start))
        for k, angle in enumerate(quat.angle_between(start, end).max(axis=-1)):
            shares = np.linspace(0.0, 1.0, 2 + int(np.ceil(angle / EXIT_STEP)))
            path = quat.slerp(start[k], end[k], shares[:, None])
            illegal = np.flatnonzero(~self.contains(path))
            if len(illegal):
                low[k], high[k] = shares[max(illegal[0] - 1, 0)], shares[illegal[0]]
        for _ in range(EXIT_HALVINGS):
            middle = 0.5 * (low + high)
            legal = self.contains(quat.slerp(start, end, middle[:, None]))
            low, high = np.where(legal, middle, low), np.where(legal, high, middle)
        return low.reshape(np.broadcast_shapes(previous.shape, proposed.shape)[:-2])

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        """Return `n` legal rotations (n, k, 4); joints that are free stay at `rest` (k, 4)."""

    def held_frames(self, rotations: Quats, violation: Scalars) -> dict[str, Held]:
        """Return the frames in which a joint is illegal only because of another, by joint."""
        return {}

    @property
    def path_weights(self) -> Scalars:
        """Return the weights (k,) of the joints in the cost of a path, a sum of squared angles."""
        return np.ones(len(self.joints))

    is_fast: ClassVar[bool] = False
    """True for a constraint of one joint with projections that are cheap enough for detours."""

    def nearest_path(self, rotations: Quats, bounds: Floats) -> tuple[Quats, Mask]:
        """Return legal rotations (frames, k, 4) near to each frame, and a mask of legal frames.

        `bounds` (frames, k) are those of the steps of the path that they are a start for.
        """
        nearest = self.project(rotations)
        return nearest, np.asarray((nearest == rotations).all(axis=(1, 2)))

    def between(self, start: Quats, end: Quats) -> Iterator[Ways]:
        """Yield ways from legal `start` to legal `end`, (runs, k, 4), the preferred one first.

        By default they are the shortest rotations, projected.
        """
        yield lambda run, share: self.project(slerp(start, end, run, share))

    def branch(self, inputs: Quats, start: Quats, path: Quats) -> Quats:
        """Return legal rotations (m, k, 4) near inputs (n, k, 4), continuous from `start` (k, 4).

        They end, m ≤ n, where they meet `path` (n, k, 4). By default there are none.
        """
        return inputs[:0]

    def waypoints(self) -> Quats:
        """Return legal samples (m, 4), for detours of a constraint that `is_fast`."""
        return np.empty((0, 4))

    @abstractmethod
    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        """Return the constraints that express this one on another skeleton.

        `found` has the joints that are there, by this constraint's names for them.
        """

    def check(self, skeleton: Skeleton) -> None:
        """Raise ValueError if the skeleton lacks joints, or has them in another hierarchy."""
        for name, ancestor in self.measured_from.items():
            lineage(skeleton, name, ancestor)


def carry_limits(
    limits: Mapping[str, Limit], skeleton: Skeleton, found: Mapping[str, Lineage]
) -> dict[str, Limit]:
    """Return the limits of the joints that another skeleton has, by its names; see `on`."""
    return {
        skeleton.names[found[name].joint]: measure_from_ancestor(limit, found[name], skeleton)
        for name, limit in limits.items()
        if name in found
    }


@dataclass(frozen=True, eq=False)
class JointLimit(Constraint):
    """A limit on one joint, measured from its parent or from the limit's `relative_to`."""

    joint: str
    limit: Limit

    kind: ClassVar[str] = "joint limit"

    @property
    def measured_from(self) -> Mapping[str, str | None]:
        return {self.joint: self.limit.relative_to}

    def distance(self, rotations: Quats) -> Scalars:
        return self.limit.distance(rotations[..., 0, :])[..., None]

    def violation(self, rotations: Quats) -> Scalars:
        return self.limit.violation(rotations[..., 0, :])[..., None]

    def nearest_rotations(self, rotations: Quats) -> Quats:
        return self.limit.nearest_rotation(rotations[..., 0, :])[..., None, :]

    def project(self, rotations: Quats) -> Quats:
        return self.limit.project(rotations[..., 0, :])[..., None, :]

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        return self.limit.soften(rotations[..., 0, :], softening)[..., None, :]

    def first_exit(self, previous: Quats, proposed: Quats) -> Scalars:
        if not self.limit.compiled:
            return super().first_exit(previous, proposed)
        ends = (each.astype(np.float64) for each in np.broadcast_arrays(previous, proposed))
        start, end = (each.reshape(-1, 4) for each in ends)
        angles, reached = quat.angle_between(start, end), np.empty(len(start))
        kernels.clamp.first_exit(
            start.ravel(), end.ravel(), angles, self.limit.packed, EDGE, MIN_STEP, reached
        )
        return reached.reshape(np.broadcast_shapes(previous.shape, proposed.shape)[:-2])

    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        return self.limit.sample(n, rng)[:, None]

    is_fast: ClassVar[bool] = True

    def between(self, start: Quats, end: Quats) -> Iterator[Ways]:
        """Yield the shortest rotations, and paths that are straight in the chart, projected."""
        yield from super().between(start, end)
        limit = self.limit
        ends = [limit.nearest_cover(rotations[:, 0]) for rotations in (start, end)]

        def straight(run: Ints, share: Scalars) -> Quats:
            points = interpolate(limit.region, ends[0][run], ends[1][run], share)
            rotations = limit.chart.rotations(limit.region.project(points))
            return limit.project(rotations)[:, None]  # removes rounding errors only

        yield straight

    def waypoints(self) -> Quats:
        points = self.limit.region.scatter(WAYPOINTS, np.random.default_rng(0))
        return self.limit.project(self.limit.chart.rotations(points))

    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        limits = carry_limits({self.joint: self.limit}, skeleton, found)
        return Carried(tuple(JointLimit(*each) for each in limits.items()))


def project_path(
    limit: Limit,
    rotations: Quats,
    frame_time: float,
    *,
    softening: Softening | None = None,
    max_speed: float = MAX_SPEED,
) -> Quats:
    """Return legal rotations (frames, 4) near a path, with bounded steps; see `clamp_paths`."""
    rotations = unit_quats("rotations", rotations)[:, None]
    bounds = step_bounds(rotations, frame_time, max_speed)
    return clamp_paths(JointLimit("joint", limit), rotations, bounds, softening).rotations[:, 0]


def first_exit(limit: Limit, previous: Quats, proposed: Quats) -> Scalars:
    """Return the largest t in [0, 1] up to which the rotation from previous to proposed is legal.

    The rotation between them is the shortest one; t is 0 where `previous` is not legal. The search
    advances by the known depth inside the limit, at least by `MIN_STEP` radians, so it can only
    miss gaps that are narrower than that; in limits without a kernel, gaps below `EXIT_STEP`.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> hinge = Limit(RotationVector(), Box(low=[0, 0, 0], high=[1, 0, 0], axes=np.eye(3)))
    >>> straight, bent = [1.0, 0.0, 0.0, 0.0], [np.cos(1.0), np.sin(1.0), 0.0, 0.0]
    >>> round(float(first_exit(hinge, straight, bent)), 6)  # 1 of 2 radians
    0.5
    """
    ends = unit_quats("previous", previous), unit_quats("proposed", proposed)
    return JointLimit("joint", limit).first_exit(*(each[..., None, :] for each in ends))
