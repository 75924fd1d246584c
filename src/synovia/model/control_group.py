"""ControlGroup: segments that share controls, and the rotations that these give, to a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Quats, Scalars, unit_quats
from ..arrays import tolerance as rounding
from ..components.controls import program_for
from ..components.figure import Figure
from ..limit.softening import Softening
from ..skeleton import Lineage, Skeleton, lineage
from .clamp import MAX_SPEED, step_bounds
from .constraint import Carried, ClampedPaths, Constraint
from .live import LivePaths

TOLERANCE = np.radians(2.0)
"""Radians by which a pose may be off what controls give, unless given."""
STORED = {1: 17, 2: 81, 3: 256}
"""Controls that are stored to start from, by how many there are; with more, MAX_STORED."""
MAX_STORED = 1024


@dataclass(frozen=True, eq=False)
class NearestPose:
    """What controls within their ranges give, as near as possible to some rotations.

    `controls` (..., C) are those of the group in its order, `rotations` (..., S, 4) what they give
    its segments, and `angles` (..., S) how far these are from the rotations asked for, in radians.
    """

    controls: Floats
    rotations: Quats
    angles: Scalars


@dataclass(frozen=True, eq=False)
class ControlGroup(Constraint):
    """Segments of a figure that share controls, and share none with others.

    Rotations (..., S, 4) of its segments, each relative to its parent, are legal if some controls
    within their ranges give rotations that are within a tolerance of them, segment by segment.
    `tolerance`, in radians, is how far a segment may be off as seen from where the group begins;
    segments in a row share it evenly (`tolerances`).
    """

    figure: Figure
    segments: tuple[str, ...]
    controls: tuple[str, ...]
    """Their names "set.control", in the figure's order; none where nothing moves the segments."""
    tolerance: float = TOLERANCE
    joints: tuple[str, ...] = ()
    """What a skeleton that is limited calls the segments; as the figure does unless given."""

    kind: ClassVar[str] = "control group"

    def __post_init__(self) -> None:
        for segment in self.segments:
            self.figure.skeleton.index(segment)
        if unknown := [name for name in self.controls if name not in self.figure.controls]:
            raise ValueError(f"the figure {self.figure.name!r} has no control {unknown[0]!r}")
        if self.joints and len(self.joints) != len(self.segments):
            raise ValueError(
                f"joints must name one joint for each of {len(self.segments)} segments, got "
                f"{len(self.joints)}"
            )
        if not 0.0 < self.tolerance < np.pi:
            raise ValueError(f"tolerance must be between 0 and π radians, got {self.tolerance!r}")
        object.__setattr__(self, "joints", tuple(self.joints) or self.segments)

    @cached_property
    def tolerances(self) -> Floats:
        """The radians (S,) by which each segment may be off, as its parent sees it."""
        skeleton = self.figure.skeleton
        own = {skeleton.index(name) for name in self.segments}
        longest = max(len(own.intersection(skeleton.path_to_root(joint))) for joint in own)
        return np.full(len(self.segments), self.tolerance / longest)

    @cached_property
    def weights(self) -> Floats:
        """What the squared angles (S,) of segments count: as many as turn with them, of all.

        So a vertebra counts more than the ribs, which only follow it. They are 1 on average.
        """
        skeleton = self.figure.skeleton
        lines = [skeleton.path_to_root(joint) for joint in range(len(skeleton))]
        own = [skeleton.index(name) for name in self.segments]
        carried = np.array([sum(joint in line for line in lines) for joint in own], dtype=float)
        return np.asarray(carried / carried.mean())

    @property
    def measured_from(self) -> Mapping[str, str | None]:
        return dict.fromkeys(self.joints)

    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        """Return the group if the skeleton has its joints, connected as in the figure."""
        if self._fits(skeleton, found):
            names = tuple(skeleton.names[found[name].joint] for name in self.joints)
            return Carried((self if names == self.joints else replace(self, joints=names),))
        loss = "groups of joints that are not connected here as in the figure are not limited"
        return Carried((), loss, self.joints[:1])

    def check(self, skeleton: Skeleton) -> None:
        super().check(skeleton)
        if not self._fits(skeleton, {name: lineage(skeleton, name) for name in self.joints}):
            raise ValueError(
                f"joints of a group ({', '.join(self.joints)}) must be connected in the skeleton "
                "as they are in the figure"
            )

    def _fits(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> bool:
        """Return True if the skeleton has all joints, each below the same one as in the figure."""
        if any(name not in found for name in self.joints):
            return False
        own = self.figure.skeleton
        pairs = zip(self.segments, self.joints, strict=True)
        joints = {own.index(segment): found[name].joint for segment, name in pairs}
        for segment, joint in joints.items():
            above = int(skeleton.parents[joint])
            if above < 0 or joints.get(int(own.parents[segment]), above) != above:
                return False
        return True

    def distance(self, rotations: Quats) -> Scalars:
        """Return how far (..., S) segments are beyond their tolerance, in radians.

        The controls are those that come nearest, in the sum of squares by `weights`. At most 0
        where a segment is legal; a pose is, where all are.
        """
        return self.nearest(rotations).angles - self.tolerances

    def violation(self, rotations: Quats) -> Scalars:
        """Return the angle (..., S) of each segment from its projection, in radians; 0 if legal."""
        rotations = unit_quats("rotations", rotations)
        beyond = self.distance(rotations)
        return np.where(beyond > rounding(rotations.dtype), beyond, 0.0).astype(rotations.dtype)

    def project(self, rotations: Quats) -> Quats:
        """Return the nearest legal rotations (..., S, 4), in the sum of squares by `weights`.

        Those found from the nearest of stored controls, and from others. What is legal
        comes back bit for bit; what is not is turned to the edge of its tolerance.
        """
        rotations = unit_quats("rotations", rotations)
        given = rotations.reshape(-1, *rotations.shape[-2:])
        return self.move_to_edge(given, self.nearest(given)).reshape(rotations.shape)

    def excess(self, found: NearestPose) -> Scalars:
        """Return the weighted sums (...) of squared angles beyond the tolerances, in radians²."""
        beyond = np.maximum(found.angles - self.tolerances, 0.0)
        return np.asarray((self.weights * np.square(beyond)).sum(axis=-1))

    def nearest(self, rotations: Quats) -> NearestPose:
        """Return the nearest pose that controls give, for each of the rotations (..., S, 4)."""
        rotations = self._check(rotations)
        targets = rotations.reshape(-1, *rotations.shape[-2:])
        found = self._solve(targets, np.full(len(targets), kernels.control_group.COLD))
        return _reshape(found, rotations.shape[:-2])

    def follow(self, rotations: Quats, controls: Floats) -> NearestPose:
        """Return poses near a path (frames, S, 4) in time, by continuous controls.

        Each frame descends from the controls of the frame before, the first from `controls` (C,).
        The result stays on one branch, and need not be the nearest pose.
        """
        low, _, high = (each[self._places] for each in self.figure.ranges)
        start = (np.asarray(controls)[self._varying] - low) / (high - low)
        targets = self._check(rotations)
        return self._solve(targets, np.full(len(targets), kernels.control_group.FOLLOW), start)

    def pose(self, controls: Floats) -> Quats:
        """Return the rotations (..., S, 4) that the group's controls (..., C) give."""
        places = [list(self.figure.controls).index(name) for name in self.controls]
        table = np.tile(self.figure.ranges[1], (*np.shape(controls)[:-1], 1))
        table[..., places] = controls
        joints = [self.figure.skeleton.index(name) for name in self.segments]
        return self.figure.pose(table).rotations[..., joints, :]

    def sample(self, n: int, rng: np.random.Generator, rest: Quats | None = None) -> Quats:
        """Return legal rotations (n, S, 4): those of controls drawn evenly from their ranges."""
        low, high = self._ranges
        return self.pose(low + (high - low) * rng.random((n, len(low))))

    def first_exit(self, previous: Quats, proposed: Quats) -> Scalars:
        """Return the largest t (...) in [0, 1] with the turn between rotations legal before it.

        Both are (..., S, 4); each segment takes the shortest turn. Every step is within what the
        depths of the segments prove to be legal, or `EXIT_STEP` radians of the farthest turn.
        """
        start, end = np.broadcast_arrays(self._check(previous), self._check(proposed))
        batch = start.shape[:-2]
        pairs = zip(
            start.reshape(-1, *start.shape[-2:]), end.reshape(-1, *end.shape[-2:]), strict=True
        )
        return np.array([self._first_exit(a, b) for a, b in pairs]).reshape(batch)

    def _first_exit(self, start: Quats, end: Quats) -> float:
        angles = np.maximum(quat.angle_between(start, end), 1e-300)
        last, here = 0.0, 0.0
        while True:
            distance = self.distance(quat.slerp(start, end, np.full(len(start), here)))
            if (distance > rounding(np.dtype(np.float64))).any():
                break
            if here >= 1.0:
                return 1.0
            step = max(float((-distance / angles).min()), EXIT_STEP / float(angles.max()))
            last, here = here, min(here + step, 1.0)
        while here - last > EXIT_NEARNESS and here > 0.0:
            middle = 0.5 * (last + here)
            distance = self.distance(quat.slerp(start, end, np.full(len(start), middle)))
            legal = (distance <= rounding(np.dtype(np.float64))).all()
            last, here = (middle, here) if legal else (last, middle)
        return last

    def clamp_paths(
        self,
        rotations: Quats,
        frame_time: float,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
    ) -> ClampedPaths:
        from .group_paths import clamp_group

        if softening is not None:
            raise ValueError(f"{self.joints[0]}: a {self.kind} cannot be softened")
        by_joint = np.moveaxis(rotations.astype(np.float64), 1, 0)
        bounds = [step_bounds(each, frame_time, max_speed) for each in by_joint]
        return clamp_group(self, rotations, np.stack(bounds, axis=-1))

    def live_paths(self, frame_time: float, look_ahead: int, max_speed: float) -> LivePaths:
        """Return an object that clamps frames as they come in; groups do not look ahead."""
        from .group_paths import LiveGroup

        return LiveGroup(self, frame_time, max_speed)

    @cached_property
    def _places(self) -> Ints:
        """The numbers, among the figure's controls, of those that have more than one value."""
        numbers = {name: k for k, name in enumerate(self.figure.controls)}
        low, _, high = self.figure.ranges
        places = [numbers[name] for name in self.controls]
        return np.array([place for place in places if low[place] < high[place]], np.int64)

    @cached_property
    def _varying(self) -> list[int]:
        """The indices, among the group's controls, of those that have more than one value."""
        names = list(self.figure.controls)
        return [self.controls.index(names[index]) for index in self._places]

    @cached_property
    def _ranges(self) -> tuple[Floats, Floats]:
        each = [self.figure.controls[name] for name in self.controls]
        low, high = np.array([(one.low, one.high) for one in each]).reshape(-1, 2).T
        return low, high

    @cached_property
    def _start(self) -> Floats:
        """The shares (F,) of ranges at which neutral controls are."""
        low, neutral, high = (each[self._places] for each in self.figure.ranges)
        return (neutral - low) / (high - low)

    @cached_property
    def _library(self) -> tuple[Floats, Quats]:
        """Shares (N, F), neutral first, then all over the ranges and at ends; their rotations."""
        free = len(self._places)
        if free == 0:
            return np.zeros((0, 0)), np.zeros((0, len(self.segments), 4))
        shares = np.linspace(0.0, 1.0, STORED[1])[:, None]
        if free > 1:
            rng = np.random.default_rng(0)
            count = STORED.get(free, MAX_STORED)
            shares = np.clip(rng.uniform(-0.25, 1.25, (count, free)), 0.0, 1.0)
        shares = np.concatenate([self._start[None], shares])
        return shares, np.ascontiguousarray(self.pose(self._values(shares)))

    @cached_property
    def _task(self) -> Any:
        """The bundle that `kernels.controls` explains; None where a component is not compiled."""
        figure, places = self.figure, self._places
        joints = [figure.skeleton.index(name) for name in self.segments]
        program = program_for(figure, joints)
        if program is None:
            return None
        goals = np.zeros((len(joints), kernels.ik_chain.GOAL.SIZE))
        goals[:, kernels.ik_chain.GOAL.kind] = kernels.ik_chain.STAY
        goals[:, kernels.ik_chain.GOAL.owner] = joints
        goals[:, kernels.ik_chain.GOAL.weight] = np.sqrt(self.weights) / kernels.ik_goals.TURN_SHARE
        above = np.zeros((len(joints), len(figure.skeleton)), np.bool_)
        above[np.arange(len(joints)), joints] = True
        aims: Mapping[str, Any] = {
            "order": np.array(sorted(joints), np.int64),
            "goals": goals,
            "targets": np.zeros((len(joints), 4)),
            "above": above,
        }
        return program.task(figure, figure.ranges[1], places, self._start, aims)

    def _check(self, rotations: Quats) -> Quats:
        rotations = unit_quats("rotations", rotations)
        if rotations.ndim < 2 or rotations.shape[-2] != len(self.segments):
            raise ValueError(
                f"rotations must have shape (..., {len(self.segments)}, 4), got {rotations.shape}"
            )
        return np.ascontiguousarray(rotations, np.float64)

    def _values(self, shares: Floats) -> Floats:
        """Return the group's controls (..., C) for shares (..., F) of those that vary."""
        low, _, high = (each[self._places] for each in self.figure.ranges)
        neutral = [self.figure.controls[name].neutral for name in self.controls]
        values = np.tile(neutral, (*shares.shape[:-1], 1))
        values[..., self._varying] = np.clip(low + (high - low) * shares, low, high)
        return values

    def _solve(self, targets: Quats, search: Ints, start: Floats | None = None) -> NearestPose:
        """Return the nearest poses to `targets` (n, S, 4); `start` are shares for the first."""
        shares = np.zeros((len(targets), len(self._places)))
        shares[:1] = 0.0 if start is None else start
        found = np.empty((*targets.shape[:-1], 5))
        if self._task is None:
            _solve_by_differences(self, targets, search, shares, found)
        else:
            library, stored = self._library
            kernels.control_group.nearest_each(
                self._task, self.tolerances, library, stored, targets, shares, search, found
            )
        return NearestPose(self._values(shares), found[..., :4], found[..., 4])

    def move_to_edge(self, given: Quats, found: NearestPose) -> Quats:
        """Return rotations (n, S, 4), those beyond their tolerance turned to the edge of it.

        A pose at the very edge has one set of controls that prove it legal, and a search may stop
        just before; such poses are turned a little farther in, until they are found to be members.
        """
        slack, out = rounding(given.dtype), given.copy()
        going = np.flatnonzero((found.angles > self.tolerances + slack).any(axis=-1))
        for inset, search in INSETS:
            if len(going) == 0:
                break
            inner = (1.0 - inset) * self.tolerances
            angles, rotations = found.angles[going], given[going]
            share = np.minimum(1.0, inner / np.maximum(angles, 1e-300))
            moved = quat.slerp(found.rotations[going], rotations.astype(np.float64), share)
            moved *= np.where(np.sum(moved * rotations, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            beyond = (angles > inner)[..., None]
            out[going] = np.where(beyond, moved, rotations)
            again = self._solve(self._check(out[going]), np.full(len(going), search))
            going = going[(again.angles > self.tolerances + slack).any(axis=-1)]
        return out


INSETS = (
    *((inset, kernels.control_group.QUICK) for inset in (0.01, 0.1)),
    *((inset, kernels.control_group.COLD) for inset in (0.01, 0.1, 0.3, 1.0)),
)
"""Shares of the tolerance by which projections are inside, and how it is found out that they are
members: the first, and the next where that fails."""
EXIT_STEP = 1e-4
"""Radians of the shortest step of `first_exit`."""
EXIT_NEARNESS = 1e-9
"""Shares of the way within which the exit is found."""


def _reshape(found: NearestPose, batch: tuple[int, ...]) -> NearestPose:
    return NearestPose(
        *(
            array.reshape(*batch, *array.shape[1:])
            for array in (found.controls, found.rotations, found.angles)
        )
    )


def _solve_by_differences(
    group: ControlGroup, targets: Quats, search: Ints, shares: Floats, found: Floats
) -> None:
    """As `kernels.control_group.nearest_each`, for components that are not compiled."""
    from scipy.optimize import least_squares

    library, stored = group._library

    def gaps(share: Floats, target: Quats) -> Floats:
        given = group.pose(group._values(share))
        return quat.log(quat.mul(quat.inverse(given), target))

    def beyond(share: Floats, target: Quats, scale: float) -> Floats:
        left = gaps(share, target)
        angle = np.linalg.norm(left, axis=-1, keepdims=True)
        slack = scale * group.tolerances[:, None]
        over = 1.0 - slack / np.maximum(angle, np.maximum(slack, 1e-300))
        return np.asarray(np.sqrt(group.weights)[:, None] * over * left).ravel()

    def fit(share: Floats, target: Quats) -> tuple[Floats, float]:
        for scale in (0.0, 1.0):
            if len(share) and (beyond(share, target, 1.0) != 0.0).any():
                solved = least_squares(
                    beyond, share, args=(target, scale), bounds=(0.0, 1.0), xtol=1e-12, ftol=1e-14
                )
                share = np.clip(solved.x, 0.0, 1.0)
        return share, float(np.square(beyond(share, target, 1.0)).sum())

    rules = kernels.control_group
    for i, target in enumerate(targets):
        angles = np.maximum(quat.angle_between(stored, target) - group.tolerances, 0.0)
        order = np.argsort((group.weights * np.square(angles)).sum(axis=1), kind="stable")
        follow = search[i] == rules.FOLLOW or len(library) == 0
        best, square = fit(shares[max(i - 1, 0)] if follow else library[order[0]], target)
        for row in order[1 : rules.NEAR_STARTS] if search[i] == rules.COLD else ():
            if square <= rules.ENOUGH:
                break
            other, now = fit(library[row], target)
            if now < square:
                best, square = other, now
        shares[i] = best
        left = gaps(best, target)
        found[i, :, :4] = group.pose(group._values(best))
        found[i, :, 4] = np.linalg.norm(left, axis=-1)


def control_groups(figure: Figure, tolerance: float = TOLERANCE) -> tuple[ControlGroup, ...]:
    """Return the groups of a figure: segments that share controls, each group by itself.

    Segments that nothing moves, roots apart, are groups without controls: they stay at rest.
    """
    found: list[ControlGroup] = []
    for name, joint_set in figure.joint_sets.items():
        network = joint_set.network
        parts: list[tuple[set[str], set[str]]] = []  # of controls and segments that hang together
        for segment in network.outputs:
            controls, segments = set(network.part([segment]).controls), {segment}
            apart = []
            for known in parts:
                if known[0] & controls:
                    controls, segments = known[0] | controls, known[1] | segments
                else:
                    apart.append(known)
            parts = [*apart, (controls, segments)]
        for controls, segments in parts:
            found.append(
                ControlGroup(
                    figure,
                    tuple(each for each in figure.skeleton.names if each in segments),
                    tuple(f"{name}.{each}" for each in joint_set.controls if each in controls),
                    tolerance,
                )
            )
    parents = figure.skeleton.parents.tolist()
    found += [
        ControlGroup(figure, (name,), (), tolerance)
        for name, parent in zip(figure.skeleton.names, parents, strict=True)
        if name not in figure.moved_segments and parent >= 0
    ]
    return tuple(found)
