"""ControlGroup: legal are the rotations that controls of a figure give, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Quats, Scalars, unit_quats
from ..arrays import tolerance as rounding
from ..components.controls import control_task, program_for
from ..components.figure import Figure
from ..components.least_squares import minimize
from ..learn import join_groups
from ..skeleton import Lineage, Skeleton, lineage
from .bounded import Ways, step_ratios
from .constraint import Carried, Constraint

TOLERANCE = np.radians(2.0)
"""Default angle between a legal pose and what controls give, in radians."""
STORED = {1: 17, 2: 81, 3: 256}  # initial guesses of a search, by the number of controls
MAX_STORED = 1024  # the same for more controls
HALVINGS = 12  # of a step that is too long, before the group stays where it was


class NearestPose(NamedTuple):
    """The pose within the ranges of controls that is nearest to given rotations."""

    controls: Floats
    """Values (..., C) of the group's controls."""
    rotations: Quats
    """Rotations (..., S, 4) of the segments that the controls give."""
    angles: Scalars
    """Angles (..., S) between these and the given rotations, in radians."""


@dataclass(frozen=True, eq=False)
class ControlGroup(Constraint):
    """Segments of a figure that share controls, and share none with others.

    Rotations (..., S, 4) of its segments, each relative to its parent, are legal if some controls
    within their ranges give rotations that are within a tolerance of them, segment by segment.
    `tolerance`, in radians, is the largest deviation of a segment relative to the group's base;
    the segments of a chain share it evenly (`tolerances`).
    """

    figure: Figure
    segments: tuple[str, ...]
    controls: tuple[str, ...]
    """Their names "set.control", in the figure's order; none if nothing moves the segments."""
    tolerance: float = TOLERANCE
    joints: tuple[str, ...] = ()
    """Names of the segments in the constrained skeleton; those of the figure unless given."""

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
        """Largest deviation (S,) of each segment relative to its parent, in radians."""
        skeleton = self.figure.skeleton
        own = {skeleton.index(name) for name in self.segments}
        longest = max(len(own.intersection(skeleton.path_to_root(joint))) for joint in own)
        return np.full(len(self.segments), self.tolerance / longest)

    @cached_property
    def weights(self) -> Floats:
        """Weights (S,) of the segments' squared angles, 1 on average.

        A weight is proportional to the number of joints below the segment, so that a vertebra
        counts more than the ribs, which only follow it.
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
        """Return the angle (..., S) of each segment to the nearest pose, less its tolerance.

        It is in radians. The nearest pose has the least weighted sum of squared angles beyond the
        tolerances. A pose is legal if no segment's value is above 0.
        """
        return self.nearest(rotations).angles - self.tolerances

    def violation(self, rotations: Quats) -> Scalars:
        """Return the angle (..., S) of each segment from its projection, in radians; 0 if legal."""
        rotations = unit_quats("rotations", rotations)
        beyond = self.distance(rotations)
        return np.where(beyond > rounding(rotations.dtype), beyond, 0.0).astype(rotations.dtype)

    def project(self, rotations: Quats) -> Quats:
        """Return the nearest legal rotations (..., S, 4) that the search finds.

        Legal rotations come back bit for bit; others move to the edge of their tolerance.
        """
        rotations = unit_quats("rotations", rotations)
        given = rotations.reshape(-1, *rotations.shape[-2:])
        return self.move_to_edge(given, self.nearest(given)).reshape(rotations.shape)

    def nearest(self, rotations: Quats) -> NearestPose:
        """Return the nearest pose that controls give, for each of the rotations (..., S, 4)."""
        rotations = self._check(rotations)
        targets = rotations.reshape(-1, *rotations.shape[-2:])
        poses = self._solve(targets, kernels.control_group.COLD)
        return NearestPose(
            *(part.reshape(*rotations.shape[:-2], *part.shape[1:]) for part in poses)
        )

    def follow(self, rotations: Quats, controls: Floats) -> NearestPose:
        """Return poses near a path (frames, S, 4) in time, by continuous controls.

        Each frame descends from the controls of the frame before, the first from `controls` (C,).
        The result stays on one branch, and need not be the nearest pose.
        """
        start = self._shares(np.asarray(controls))
        return self._solve(self._check(rotations), kernels.control_group.FOLLOW, start)

    def pose(self, controls: Floats) -> Quats:
        """Return the rotations (..., S, 4) that the group's controls (..., C) give."""
        table = np.tile(self.figure.ranges[1], (*np.shape(controls)[:-1], 1))
        table[..., self._indices] = controls
        joints = [self.figure.skeleton.index(name) for name in self.segments]
        return self.figure.pose(table).rotations[..., joints, :]

    def sample(self, n: int, rng: np.random.Generator, rest: Quats | None = None) -> Quats:
        """Return legal rotations (n, S, 4): those of controls drawn evenly from their ranges."""
        low, _, high = self._ranges
        return self.pose(low + (high - low) * rng.random((n, len(low))))

    @property
    def path_weights(self) -> Scalars:
        return self.weights

    def between(self, start: Quats, end: Quats) -> Iterator[Ways]:
        """Yield one path: straight in the controls, as in `Constraint.between`.

        The deviations from the poses of the controls are interpolated as well, so that none is
        larger than at one of the ends.
        """
        poses = [self.nearest(rotations) for rotations in (start, end)]
        controls = [pose.controls for pose in poses]
        offsets = [
            quat.log(quat.mul(quat.inverse(pose.rotations), rotations))
            for pose, rotations in zip(poses, (start, end), strict=True)
        ]

        def ways(run: Ints, share: Scalars) -> Quats:
            values, offset = (
                one[run] + share.reshape(-1, *[1] * (one.ndim - 1)) * (other - one)[run]
                for one, other in (controls, offsets)
            )
            return quat.mul(self.pose(values), quat.exp(offset))

        yield ways

    def branch(self, inputs: Quats, start: Quats, path: Quats) -> Quats:
        """Return legal rotations (m, S, 4) near inputs (n, S, 4), with continuous controls.

        They start from the controls at `start` and end, m ≤ n, where they meet `path` (n, S, 4).
        """
        poses = self.follow(inputs, self.nearest(start).controls)
        edge = np.minimum(1.0, self.tolerances / np.maximum(poses.angles, 1e-300))
        angles = quat.angle_between(quat.slerp(poses.rotations, inputs, edge), path)
        count = np.append((angles <= MERGED * self.tolerances).all(axis=-1), True).argmax()
        return self.move_to_edge(inputs[:count], NearestPose(*(part[:count] for part in poses)))

    def step_towards(self, start: Quats, wanted: Quats, bounds: Scalars) -> Quats:
        """Return the projection (S, 4) of `wanted`, or a legal pose on the path to it.

        No joint rotates from the legal `start` (S, 4) by more than its bound (S,) in radians. The
        path is straight in the controls. If no tried pose on it is legal and near enough, the
        result is `start`.
        """
        target = rotations = self.project(wanted)
        (ways,) = self.between(start[None], target[None])
        share = 1.0
        for _ in range(HALVINGS):
            ratio = float(step_ratios(start[None], rotations[None], bounds[None])[0])
            if ratio <= 1.0 and self.contains(rotations):
                return rotations
            share *= min(0.9 / max(ratio, 1.0), 0.5)
            rotations = ways(np.zeros(1, np.int64), np.array([share]))[0]
        return start

    @cached_property
    def _indices(self) -> Ints:
        """Indices (C,) of the group's controls among the figure's."""
        names = list(self.figure.controls)
        return np.array([names.index(name) for name in self.controls], np.int64)

    @cached_property
    def _ranges(self) -> tuple[Floats, Floats, Floats]:
        """Low, neutral and high values (C,) of the group's controls."""
        low, neutral, high = (values[self._indices] for values in self.figure.ranges)
        return low, neutral, high

    @cached_property
    def _varying(self) -> Ints:
        """Indices (F,), among the group's controls, of those with more than one value."""
        low, _, high = self._ranges
        return np.flatnonzero(low < high)

    def _shares(self, values: Floats) -> Floats:
        """Return the shares (F,) of the varying ranges for controls (C,)."""
        low, _, high = self._ranges
        return ((values - low)[self._varying]) / (high - low)[self._varying]

    @cached_property
    def _library(self) -> tuple[Floats, Quats]:
        """Initial guesses of a search: shares of ranges (N, F), and their rotations (N, S, 4).

        The neutral controls come first, then random ones, some of them at ends of ranges.
        """
        free = len(self._varying)
        if free == 0:
            return np.zeros((0, 0)), np.zeros((0, len(self.segments), 4))
        shares = np.linspace(0.0, 1.0, STORED[1])[:, None]
        if free > 1:
            rng = np.random.default_rng(0)
            count = STORED.get(free, MAX_STORED)
            shares = np.clip(rng.uniform(-0.25, 1.25, (count, free)), 0.0, 1.0)
        shares = np.concatenate([self._shares(self._ranges[1])[None], shares])
        return shares, np.ascontiguousarray(self.pose(self._values(shares)))

    @cached_property
    def _task(self) -> Any:
        """The task for `kernels.control_group`; None if a component has no kernel."""
        figure = self.figure
        joints = [figure.skeleton.index(name) for name in self.segments]
        program = program_for(figure, frozenset(joints))
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
        free, start = self._indices[self._varying], self._shares(self._ranges[1])
        return control_task(program, figure, figure.ranges[1], free, start, aims)

    def _check(self, rotations: Quats) -> Quats:
        """Return rotations (..., S, 4) as a contiguous array of float64, after a check."""
        rotations = unit_quats("rotations", rotations)
        if rotations.ndim < 2 or rotations.shape[-2] != len(self.segments):
            raise ValueError(
                f"rotations must have shape (..., {len(self.segments)}, 4), got {rotations.shape}"
            )
        return np.ascontiguousarray(rotations, np.float64)

    def _values(self, shares: Floats) -> Floats:
        """Return the group's controls (..., C) for shares (..., F) of the varying ranges."""
        low, neutral, high = self._ranges
        values = np.tile(neutral, (*shares.shape[:-1], 1))
        low, high = low[self._varying], high[self._varying]
        values[..., self._varying] = np.clip(low + (high - low) * shares, low, high)
        return values

    def _solve(self, targets: Quats, search: int, start: Floats | float = 0.0) -> NearestPose:
        """Return the poses nearest to `targets` (n, S, 4), by a search of `kernels.control_group`.

        `start` (F,) are the shares of ranges from which `FOLLOW` descends to the first target.
        """
        shares = np.zeros((len(targets), len(self._varying)))
        shares[:1] = start
        found = np.empty((*targets.shape[:-1], 5))
        if self._task is None:
            _solve_in_python(self, targets, search, shares, found)
        else:
            library, stored = self._library
            kernels.control_group.nearest_each(
                self._task, self.tolerances, library, stored, targets, shares, search, found
            )
        return NearestPose(self._values(shares), found[..., :4], found[..., 4])

    def move_to_edge(self, given: Quats, nearest: NearestPose) -> Quats:
        """Return rotations (n, S, 4), moved to within the tolerance of the `nearest` poses.

        A search may not recognise a member close to the tolerance, so poses move farther in until
        the search accepts them. Members are returned unchanged.
        """
        slack, out = rounding(given.dtype), given.copy()
        going = np.flatnonzero((nearest.angles > self.tolerances + slack).any(axis=-1))
        for inset, search in INSETS:
            if len(going) == 0:
                break
            inner = (1.0 - inset) * self.tolerances
            angles, rotations = nearest.angles[going], given[going]
            share = np.minimum(1.0, inner / np.maximum(angles, 1e-300))
            moved = quat.slerp(nearest.rotations[going], rotations.astype(np.float64), share)
            moved *= np.where(np.sum(moved * rotations, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            beyond = (angles > inner)[..., None]
            out[going] = np.where(beyond, moved, rotations)
            again = self._solve(self._check(out[going]), search)
            going = going[(again.angles > self.tolerances + slack).any(axis=-1)]
        return out


INSETS = (
    *((inset, kernels.control_group.QUICK) for inset in (0.01, 0.1)),
    *((inset, kernels.control_group.COLD) for inset in (0.01, 0.1, 0.3, 1.0)),
)
"""Depths of projections, as shares of the tolerance, and the searches that must accept them. If one
fails, the next is tried."""
MERGED = 0.03  # share of the tolerance; branches nearer to each other have merged


def _solve_in_python(
    group: ControlGroup, targets: Quats, search: int, shares: Floats, found: Floats
) -> None:
    """Write `shares` (n, F) and `found` (n, S, 5), as `kernels.control_group.nearest_each` does.

    This works for components without kernels. The last column of `found` has the angles.
    """
    library, stored = group._library
    rules, weights = kernels.control_group, np.sqrt(group.weights)[:, None]

    def beyond(shares: Floats, _: Ints | None = None, *, target: Quats, scale: float) -> Floats:
        """Return the weighted rotation vectors beyond the scaled tolerances: (..., 3 S)."""
        given = group.pose(group._values(shares))
        vectors = quat.log(quat.mul(quat.inverse(given), target))
        angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
        slack = scale * group.tolerances[:, None]
        over = 1.0 - slack / np.maximum(angle, np.maximum(slack, 1e-300))
        return np.asarray(weights * over * vectors).reshape(*shares.shape[:-1], -1)

    def fit(start: Floats, target: Quats) -> tuple[Floats, float]:
        """Return shares (F,), fitted without and then with tolerances, and the sum of squares."""
        share, left = start[None], beyond(start[None], target=target, scale=1.0)
        for scale in (0.0, 1.0):
            if np.square(left).sum() > rules.ENOUGH:
                share = minimize(partial(beyond, target=target, scale=scale), share).points
                left = beyond(share, target=target, scale=1.0)
        return share[0], float(np.square(left).sum())

    for i, target in enumerate(targets):
        angles = np.maximum(quat.angle_between(stored, target) - group.tolerances, 0.0)
        order = np.argsort((group.weights * np.square(angles)).sum(axis=1), kind="stable")
        starts = library[order[: rules.NEAR_STARTS if search == rules.COLD else 1]]
        if search == rules.FOLLOW or len(library) == 0:
            starts = shares[[max(i - 1, 0)]]
        shares[i], _ = min((fit(start, target) for start in starts), key=itemgetter(1))
        found[i, :, :4] = group.pose(group._values(shares[i]))
        found[i, :, 4] = quat.angle_between(found[i, :, :4], target)


def control_groups(figure: Figure, tolerance: float = TOLERANCE) -> tuple[ControlGroup, ...]:
    """Return the groups of a figure: the smallest sets of segments that share no controls.

    A segment that nothing moves is a group without controls, except for roots.
    """
    groups: list[ControlGroup] = []
    for name, joint_set in figure.joint_sets.items():
        network = joint_set.network
        controls = {segment: network.part([segment]).controls for segment in network.outputs}
        sharing = [
            [segment for segment in controls if control in controls[segment]]
            for control in joint_set.controls
        ]
        group_of = join_groups(list(controls), filter(None, sharing))
        for group in dict.fromkeys(group_of.values()):
            segments = [
                segment for segment in figure.skeleton.names if group_of.get(segment) == group
            ]
            moving = {control for segment in segments for control in controls[segment]}
            names = tuple(
                f"{name}.{control}" for control in joint_set.controls if control in moving
            )
            groups.append(ControlGroup(figure, tuple(segments), names, tolerance))
    parents = figure.skeleton.parents.tolist()
    groups += [
        ControlGroup(figure, (name,), (), tolerance)
        for name, parent in zip(figure.skeleton.names, parents, strict=True)
        if name not in figure.moved_segments and parent >= 0
    ]
    return tuple(groups)
