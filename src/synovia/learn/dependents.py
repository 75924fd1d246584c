"""Limits that depend on another joint, learned from captures of both.

Each frame gives a pair (driver, number): the driver's rotation or the direction of its bone, and
one number of the joint, the angle of a hinge or the distance of a ball joint from a narrow shape.
The distance of a pair from a person is the smallest √(angle² + number²) to that person's own
pairs; its *score* is the mean over the few nearest people, so that several people confirm a pair.
The legal range at a node of the driver has scores up to a *level*, which is chosen by
cross-validation over people, like a margin.

Whether a dependence pays is decided by the joint's mean legal volume over the captured rotations of
the driver, relative to that of a limit without the dependence for the same rejection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Self

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, Vectors
from ..edit.numbers import interval_along
from ..limit import (
    DependentLimit,
    DependentMargin,
    DependentRange,
    Limit,
)
from ..limit.convert import approximate_shape
from ..limit.node_grid import NodeGrid
from ..shapes import Shape
from ..skeleton import Skeleton
from .margins import DEFAULT_REJECT, HeldOut, Promise, promise
from .people import combine
from .takes import Take
from .trimming import first_in_cell

CELL = 0.07
"""Size in radians of the cells, of driver and number, in which frames are counted."""
STEP = np.radians(3.0)
"""Spacing of the grid of numbers, in radians."""
BEYOND = np.radians(45.0)  # by which the grid extends beyond the observed numbers
LEVEL_STEP = np.radians(1.0)  # between trial levels, radians: a third of the grid of numbers
TRIAL_LEVELS = LEVEL_STEP * np.arange(76)  # up to 75 degrees, the largest level
DEFAULT_LEVEL = np.radians(25.0)
"""The level without a rejection to meet, in radians."""
TOGETHER = 2048
"""Cells of a person in one batch, which bounds the memory."""
NARROW_SHARE = 0.6  # largest shrinking of the narrow shape, as a share of the depth
BEYOND_SHARE = 0.1  # of the rejection: share of frames that may be farther from the narrow shape
HALVINGS, COUNTED_FRAMES = 6, 20_000  # trials of the shrinking, and frames used for them
NARROW_MEMBERS = 4000  # samples to which the narrow shape is fitted
MAX_VOLUME_SHARE = 0.9  # of the volume without a dependence: larger ones are not worth it
VOLUME_MARGINS = 9  # margins at which a volume is computed; it is linear between them
MIN_PAIR_SHARE = 0.25  # of a rejection, for the dependence where the own limit promises too much
MIN_PEOPLE = 3  # from whom a level can be chosen by cross-validation


DIRECTIONS, ROTATIONS = NodeGrid(3, 8), NodeGrid(4, 8)
"""Nodes of the driver: 258 directions of its bone, or 704 rotations, so that its twist matters."""


@dataclass(frozen=True, eq=False)
class PairCrowd:
    """Pairs of all people, and distances of nodes and numbers from them.

    The arrays have one entry for each occupied cell of each person: `driver` (n, 4) and `number`
    (n,) are its first pair, `counts` (n,) its frames, and `owner` (n,) the index of the person in
    `performers`. `axis` (3,) is the driver's bone in its own frame. `nodes` are directions of that
    bone, or rotations of the driver.
    """

    performers: Sequence[str]
    driver: Quats
    number: Scalars
    counts: Ints
    owner: Ints
    axis: Vectors
    nodes: NodeGrid

    @classmethod
    def of(
        cls, pairs: Mapping[str, tuple[Quats, Scalars, Ints]], axis: Vectors, nodes: NodeGrid
    ) -> Self:
        """Return the cells of pairs, given by performer.

        `pairs` has the driver's rotations (n, 4), the numbers (n,), and how many frames each
        represents (n,).
        """
        cells = []
        for owner, (driver, number, counts) in enumerate(pairs.values()):
            cell = [first_in_cell(quat.log(driver), CELL), np.floor(number / CELL)]
            _, first, inverse = np.unique(
                np.stack(cell, axis=1), axis=0, return_index=True, return_inverse=True
            )
            totals = np.bincount(inverse.ravel(), counts, len(first)).astype(np.int64)
            cells.append((driver[first], number[first], totals, np.full(len(first), owner)))
        driver, number, counts, owners = map(np.concatenate, zip(*cells, strict=True))
        return cls(tuple(pairs), driver, number, counts, owners, axis, nodes)

    @cached_property
    def grid(self) -> Scalars:
        """The grid of numbers (g,)."""
        return np.arange(self.number.min() - BEYOND, self.number.max() + BEYOND + STEP, STEP)

    @cached_property
    def at_nodes(self) -> Floats:
        """Distances (nodes, grid, people) of pairs of a node and a number from each person."""
        distances = []
        for person in range(len(self.performers)):
            least = np.full((self.nodes.count, len(self.grid)), np.inf, np.float32)
            cells = np.flatnonzero(self.owner == person)
            for k in range(0, len(cells), TOGETHER):
                part = cells[k : k + TOGETHER]
                along = ((self.grid[:, None] - self.number[part]) ** 2).astype(np.float32)
                driver = self.driver[part]
                if self.nodes.dimension == 3:
                    squares = 2.0 - 2.0 * self.nodes.nodes @ quat.rotate(driver, self.axis).T
                else:  # the angle between quaternions is half that of rotations
                    squares = 8.0 - 8.0 * np.abs(self.nodes.nodes @ driver.T)
                across = np.maximum(squares, 0.0).astype(np.float32)
                for row, node in zip(least, across, strict=True):
                    np.minimum(row, np.min(along + node, axis=1), out=row)
            distances.append(least)
        return np.sqrt(np.stack(distances, axis=-1))

    def locate(self, driver: Quats) -> tuple[Ints, Scalars]:
        """Return the nodes (n, c) around the driver's rotations (n, 4), and their weights."""
        by_bone = self.nodes.dimension == 3
        return self.nodes.locate(quat.rotate(driver, self.axis) if by_bone else driver)

    @cached_property
    def places(self) -> tuple[Ints, Scalars]:
        """Nodes around the driver's rotation in each cell, and their weights."""
        return self.locate(self.driver)

    def scores(self, people: Ints, count: int) -> Floats:
        """Return the scores (nodes, grid) of all pairs, from some people only."""
        flat = self.at_nodes[..., people].reshape(-1, len(people))
        return from_people(flat, count).reshape(self.at_nodes.shape[:2])

    def required(self, scores: Floats, cells: Mask | Ints) -> Scalars:
        """Return the smallest level (n,) at which each cell is legal, in radians.

        Ranges at the nodes are those of the fitted limit, interpolated in the same way. Between
        trial levels the distance from the range is taken as linear; beyond the last one, as
        falling by a radian for each radian.
        """
        nodes, weights = (each[cells] for each in self.places)
        used, corners = np.unique(nodes, return_inverse=True)
        number, corners = self.number[cells], corners.reshape(nodes.shape)
        required, before = np.full(len(number), np.inf), np.full(len(number), np.inf)
        for level in TRIAL_LEVELS:
            ends = self.ranges(scores[used], level)[corners]
            low, high = np.einsum("nck,nc->kn", ends, weights)
            beyond = np.maximum(low - number, number - high)
            crossed = np.isinf(required) & (beyond <= 0.0)
            share = beyond / np.where(crossed, beyond - before, 1.0)  # 0 if the first level does
            required = np.where(crossed, level - share * LEVEL_STEP, required)
            before = beyond
        return np.where(np.isinf(required), TRIAL_LEVELS[-1] + before, required)

    def ranges(self, scores: Floats, level: float) -> Floats:
        """Return the ends (..., 2) of the range with scores (..., grid) up to `level`.

        If there is none, both ends are the number with the smallest score.
        """
        within = scores <= level
        first, last = within.argmax(axis=-1), scores.shape[-1] - 1 - within[..., ::-1].argmax(-1)
        ends = [
            self._crossing(scores, first, -1, level),
            self._crossing(scores, last, 1, level),
        ]
        nearest = self.grid[scores.argmin(axis=-1)]
        some = within.any(axis=-1)
        return np.stack([np.where(some, end, nearest) for end in ends], axis=-1)

    def _crossing(self, scores: Floats, at: Ints, step: int, level: float) -> Scalars:
        """Return the numbers where scores cross a level, between indices `at` and `at + step`."""
        beyond = np.clip(at + step, 0, len(self.grid) - 1)
        here, there = (np.take_along_axis(scores, k[..., None], -1)[..., 0] for k in (at, beyond))
        rise = np.where(there > here, there - here, 1.0)
        share = np.clip((level - here) / rise, 0.0, 1.0) * (beyond != at)
        return np.asarray(self.grid[at] + share * (self.grid[beyond] - self.grid[at]))


def confirming(people: int) -> int:
    """Return the number of people in a score: a fifth of all, between 1 and 6.

    It is smaller than for single joints, because each person covers fewer pairs.
    """
    return min(max(round(people / 5), 1), 6)


def from_people(distances: Floats, count: int) -> Scalars:
    """Return scores (n,) from distances (n, people)."""
    return combine(distances, np.ones(distances.shape[1], dtype=np.int64), count)


def level_for(reject: float, crowd: PairCrowd) -> Promise:
    """Return the level at which a share `reject` of the frames of new people is outside."""
    everybody, held_out = np.arange(len(crowd.performers)), []
    count = confirming(len(everybody))
    for person in everybody:
        own = np.flatnonzero(crowd.owner == person)
        others = everybody[everybody != person]
        nodes = np.unique(crowd.places[0][own])
        scores = np.full(crowd.at_nodes.shape[:2], np.inf)
        flat = crowd.at_nodes[nodes][..., others].reshape(-1, len(others))
        scores[nodes] = from_people(flat, count).reshape(len(nodes), -1)
        held_out.append(HeldOut(crowd.required(scores, own), crowd.counts[own]))
    return promise(reject, held_out, 0.0, float(TRIAL_LEVELS[-1]))


@dataclass(frozen=True, eq=False)
class PairFrames:
    """One person's rotations of a driver and of a joint, (n, 4) each, in the same frames.

    `counts` (n,) are the numbers of frames that each row represents.
    """

    performer: str
    driver: Quats
    rotations: Quats
    counts: Ints


@dataclass(frozen=True, eq=False)
class VariableLimit:
    """A limit that is to depend on a driver: by the ends along a direction, or by its margin."""

    limit: Limit
    along: Vectors | None
    """The direction (3,) of a hinge in the chart; None for a margin."""
    promise: Promise | None = None
    """Shares of frames outside the limit, whatever the driver does."""
    plain: Limit | None = None
    """The joint's limit without a dependence, for the whole rejection; `limit` if None."""

    @property
    def is_thin(self) -> bool:
        """True if neither ends nor margin can vary."""
        return self.along is None and depth_of(self.limit) == 0.0


def frames_together(driver_takes: Sequence[Take], takes: Sequence[Take]) -> list[PairFrames]:
    """Return the frames of each person, without flips, in which both joints were captured."""
    theirs = {take.clip: take for take in driver_takes}
    parts: dict[str, list[tuple[Quats, Quats]]] = {}
    for take in takes:
        other = theirs.get(take.clip)
        if other is None or take.is_sample or other.is_sample:
            continue
        if take.counts is not None or len(other.rotations) != len(take.rotations):
            raise ValueError(f"takes of {take.clip!r} must have the same frames for both joints")
        kept = ~(take.flips() | other.flips())
        parts.setdefault(take.performer, []).append((other.rotations[kept], take.rotations[kept]))
    people = []
    for performer, own in parts.items():
        driver, rotations = (np.concatenate(each) for each in zip(*own, strict=True))
        people.append(PairFrames(performer, driver, rotations, np.ones(len(driver), np.int64)))
    return people


def pair_crowd(people: Sequence[PairFrames], variable: VariableLimit, axis: Vectors) -> PairCrowd:
    """Return the pairs of all people, counted in cells.

    The number is the angle of a hinge, or the distance from the limit's shape without its margin.
    `axis` (3,) is the driver's bone in its own frame.
    """
    limit, along = variable.limit, variable.along
    pairs = {}
    for person in people:
        if along is None:
            number = _shape_distance(limit, person.rotations)
        else:
            number = np.asarray(limit.nearest_cover(person.rotations) @ along)
        pairs[person.performer] = person.driver, number, person.counts
    return PairCrowd.of(pairs, axis, DIRECTIONS)


def depth_of(limit: Limit) -> float:
    """Return the depth of a limit's deepest member, in radians."""
    return max(-float(limit.region.distance(limit.region.deepest)), 0.0)


def narrow(limit: Limit, people: Sequence[PairFrames], reject: float) -> Limit:
    """Return a limit of about the same rotations, with a narrow shape and a wide margin.

    The shape is shrunk by `NARROW_SHARE` of the limit's depth, halved until few legal frames are
    farther from the shape than that. The margin keeps all legal frames legal.
    """
    every = np.concatenate([each.rotations for each in people])
    some = slice(None, None, max(len(every) // COUNTED_FRAMES, 1))
    rotations, counts = every[some], np.concatenate([each.counts for each in people])[some]
    inside = limit.contains(rotations)
    smaller = NARROW_SHARE * depth_of(limit)
    for _ in range(HALVINGS):
        shape = _shrink(limit, smaller)
        needed = np.where(inside, _shape_distance(replace(limit, shape=shape), rotations), 0.0)
        if np.average(needed > smaller, weights=counts) <= BEYOND_SHARE * reject:
            break
        smaller *= 0.5
    needed = _shape_distance(replace(limit, shape=shape), every[limit.contains(every)])
    return replace(limit, shape=shape, margin=max(smaller, float(needed.max(initial=0.0))))


def _shrink(limit: Limit, r: float) -> Shape:
    """Return a shape of a limit's family, about `r` radians inside the limit."""
    inner = limit.shrink(r)
    if inner.compiled and inner.margin == 0.0:
        return inner.shape
    points = inner.region.scatter(NARROW_MEMBERS, np.random.default_rng(0))
    family = type(limit.shape)
    return approximate_shape(family, limit.chart, points, inner.region.distance, exact=True)


def _shape_distance(limit: Limit, rotations: Quats) -> Scalars:
    """Return the distance of rotations (n, 4) from a limit's shape, in radians; 0 inside."""
    return np.maximum(replace(limit, margin=0.0).distance(rotations), 0.0)


def fit_dependent(
    crowd: PairCrowd, limit: Limit, driver: str, along: Vectors | None, level: float
) -> DependentLimit:
    """Return the dependent limit of the pairs with scores up to `level` radians."""
    people = np.arange(len(crowd.performers))
    ends = crowd.ranges(crowd.scores(people, confirming(len(people))), level)
    if along is not None:
        return DependentRange(limit, driver, crowd.axis, ends[:, 0], ends[:, 1], along)
    return DependentMargin(limit, driver, crowd.axis, np.clip(ends[:, 1], 0.0, limit.margin))


@dataclass(frozen=True, eq=False)
class LearnedPair:
    """A learned dependence, with its expected rejection if one was requested."""

    dependent: DependentLimit
    volume_share: float | None = None
    """Mean volume relative to that without the dependence; None without a rejection."""
    promise: Promise | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of a model's provenance."""
        return {
            "driver": self.dependent.driver,
            "type": self.dependent.name,
            "nodes": len(self.dependent.values),
            "volume_share": self.volume_share,
            "rejected": None if self.promise is None else self.promise.held_out,
            "promised": None if self.promise is None else self.promise.rejected,
        }


def pairs_to_learn(
    depends: Mapping[str, str] | str, skeleton: Skeleton, limited: Collection[str]
) -> dict[str, str]:
    """Return drivers by joint: the requested ones, or with "auto" the nearest limited ancestors.

    Raises ValueError if a joint has no limit, or if a driver depends on another joint.
    """
    if isinstance(depends, str):
        drivers = {}
        for name in limited:
            above = skeleton.path_to_root(skeleton.index(name))[1:]
            if limited_above := [each for j in above if (each := skeleton.names[j]) in limited]:
                drivers[name] = limited_above[0]
        return drivers
    for name, driver in depends.items():
        for joint in (name, driver):
            skeleton.index(joint)
            if joint not in limited:
                raise ValueError(f"{name} is to depend on {driver}, but {joint} gets no limit")
        if driver in depends:
            raise ValueError(
                f"{name} is to depend on {driver}, which depends on {depends[driver]} itself"
            )
    return dict(depends)


def learn_pair(
    variable: VariableLimit,
    driver: str,
    axis: Vectors,
    people: Sequence[PairFrames],
    reject: float | None,
    *,
    if_pays: bool = False,
) -> LearnedPair | None:
    """Return a limit that depends on a driver; None if `if_pays` and it saves too little volume.

    With a rejection and at least `MIN_PEOPLE` people, cross-validation chooses the level, and of
    both kinds of nodes those with the smaller volume are taken.
    """
    people = [each for each in people if len(each.driver)]
    if not people:
        raise ValueError(f"no frames to learn from how it depends on {driver}")
    if variable.along is None:
        wanted = DEFAULT_REJECT if reject is None else reject
        variable = replace(variable, limit=narrow(variable.limit, people, wanted))
    crowd = pair_crowd(people, variable, axis)
    if reject is None or len(people) < MIN_PEOPLE:
        dependent = fit_dependent(crowd, variable.limit, driver, variable.along, DEFAULT_LEVEL)
        return None if if_pays else LearnedPair(dependent)
    # Frames are outside of the joint's own limit, or of the dependence: the shares add up.
    own = variable.promise or Promise(0.0, 0.0, 0.0)
    left = max(reject - own.rejected, MIN_PAIR_SHARE * reject)
    found = []
    for each in (crowd, replace(crowd, nodes=ROTATIONS)):
        pairs = level_for(left, each)
        dependent = fit_dependent(each, variable.limit, driver, variable.along, pairs.margin)
        kept = Promise(pairs.margin, own.held_out + pairs.held_out, own.rejected + pairs.rejected)
        share = volume_share(variable, dependent, each.driver)
        found.append((share, LearnedPair(dependent, share, kept)))
    share, best = min(found, key=itemgetter(0))
    return None if if_pays and share > MAX_VOLUME_SHARE else best


def volume_share(variable: VariableLimit, dependent: DependentLimit, driver: Quats) -> float:
    """Return the mean volume of a dependent limit relative to that without the dependence.

    The mean is over rotations (n, 4) of the driver. The volume of a hinge is the width of its
    range.
    """
    limit, along, values = variable.limit, variable.along, dependent.values_at(driver)
    plain = limit if variable.plain is None else variable.plain
    if along is not None:
        widest, plain_ends = (interval_along(each.shape, along) for each in (limit, plain))
        assert widest is not None  # hinges are boxes with an axis along the direction
        assert plain_ends is not None
        low, high = np.clip(values, *widest).T
        return float(np.mean(high - low) / (plain_ends[1] - plain_ends[0]))
    margins = np.linspace(0.0, limit.margin, VOLUME_MARGINS)
    volumes = [replace(limit, margin=margin).volume() for margin in margins.tolist()]
    return float(np.mean(np.interp(values[:, 0], margins, volumes)) / plain.volume())


def cut_chains(learned: Mapping[str, LearnedPair]) -> dict[str, LearnedPair]:
    """Return the dependences without those whose driver is dependent.

    Of each two, the one that saves the larger share of the volume is kept.
    """
    found = dict(learned)
    for name, each in learned.items():
        driver = each.dependent.driver
        if name in found and driver in found:
            worse = max((name, driver), key=lambda joint: learned[joint].volume_share or 1.0)
            del found[worse]
    return found
