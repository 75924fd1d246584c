"""Measure the volume that coupled limits save, on people left out of the fit.

    python benchmarks/coupled.py CLIPS [--people chosen|others] [--fitted all|half]
        [--nodes directions|rotations] [--splits 30] [--pairs A:B,C:D]

CLIPS is a directory of clips with people.csv (clip, performer) in it, such as CMU's captures as
BVH. Recipes are chosen on one half of the people, in the order of a seeded shuffle (as in
people.py), and reported on the others: a third of them is tested, again and again, and the rest is
fitted, with everybody of the half to choose on (`--fitted all`) or without. `--people chosen` tries
recipes, with two thirds of that half fitted and one third tested.

The driver is legal near to people, and so is the joint by itself; with the dependence, the joint's
range is also what people did with both. Both are made wider until 0.5 % of the tested frames are
outside, and their volumes compared. Clips in which one of the two joints jumps by more than 3,600
degrees a second are left out for that pair.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from synovia import load_clip, quat
from synovia.arrays import Floats, Ints, Mask, Quats, Scalars
from synovia.learn import bone_axes, flips, invented_first_frame
from synovia.learn.dependents import (
    DIRECTIONS,
    ROTATIONS,
    PairCrowd,
    confirming,
    from_people,
)
from synovia.learn.people import MAX_PEOPLE
from synovia.learn.takes import MAX_SPEED

PAIRS = {"LeftLeg": "LeftUpLeg", "LeftForeArm": "LeftArm"}
REJECT = 0.005
OWN, PAIR, COUNTS = (0.05, 0.1, 0.2, 0.5, 0.8, 1.0), (0.4, 0.55, 0.7, 0.85), (1, 2, 3, 5)
"""What is tried: the joint's own margin and the level of pairs, as shares of how near to people the
driver is legal, and how many people confirm a pair."""
CHOSEN = {
    "rotations": {"LeftLeg": (0.8, 0.8, 0.7, 5), "LeftForeArm": (0.1, 0.1, 0.85, 5)},
    "directions": {"LeftLeg": (0.8, 0.8, 0.7, 5), "LeftForeArm": (0.1, 0.1, 0.55, 5)},
}
"""On the first half: own margin without the dependence, and with it, level of pairs, people."""


LEVELS = np.radians(np.concatenate([np.arange(2.0, 50.0, 1.0), np.arange(50.0, 150.0, 5.0)]))
"""Levels of the driver, radians: legal distances from people that are tried."""
ROOM = {DIRECTIONS: 0.25 * np.pi / 8, ROTATIONS: 0.1}
"""Radians added to a level, to allow for linear interpolation between nodes."""
UNIFORM = 4000  # uniform rotations of the driver that estimate a volume


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Rejection of tested people against the volume of limits of fitted people."""

    crowd: PairCrowd
    fitted: Ints
    tested: Ints
    distances: tuple[Floats, Floats]
    """Distances of the driver in cells, and of uniform rotations, from each person."""
    places: tuple[Ints, Scalars]
    """Nodes around the uniform rotations, and their weights."""

    @cached_property
    def _mine(self) -> Mask:
        """Mask of the cells of tested people."""
        return np.isin(self.crowd.owner, self.tested)

    @cached_property
    def _driver(self) -> tuple[Scalars, Scalars]:
        """Scores of the driver, in tested cells and of the uniform rotations."""
        cells, rotations = self.distances
        mine, every = cells[self._mine][:, self.fitted], rotations[:, self.fitted]
        return from_people(mine, self._nearest), from_people(every, self._nearest)

    @property
    def _nearest(self) -> int:
        return min(max(round(len(self.fitted) / 3), 1), MAX_PEOPLE)

    @cached_property
    def _alone(self) -> Scalars:
        crowd = self.crowd
        numbers = [crowd.number[crowd.owner == person] for person in self.fitted]
        gaps = [np.abs(crowd.grid[:, None] - number).min(axis=1) for number in numbers]
        return from_people(np.stack(gaps, axis=-1), self._nearest)

    @cached_property
    def _scores(self) -> dict[int, Floats]:
        return {}

    @cached_property
    def _ends(self) -> dict[tuple[int, float], Floats]:
        return {}

    @cached_property
    def _cells(self) -> tuple[Scalars, Ints, Ints, Scalars]:
        """Numbers, counts, nodes and their weights of the tested cells."""
        crowd, mine = self.crowd, self._mine
        nodes, weights = crowd.places
        return crowd.number[mine], crowd.counts[mine], nodes[mine], weights[mine]

    def _ends_at(self, level: float, count: int) -> Floats:
        """Return the ends (nodes, 2) of the ranges of pairs, cached."""
        key = count, level
        if key not in self._ends:
            self._ends[key] = self.crowd.ranges(self._scores[count], level + ROOM[self.crowd.nodes])
        return self._ends[key]

    def volume(
        self, reject: float, own: float, pair: float | None = None, count: int | None = None
    ) -> float:
        """Return the volume at which a share `reject` of the tested frames is outside, else inf.

        Parameters
        ----------
        reject
            The share of frames.
        own, pair
            Ratios of the joint's own level, and of the level of pairs, to that of the driver.
            Without `pair`, the joint does not depend on the driver.
        count
            Number of people in a score; `confirming` by default.
        """
        count = confirming(len(self.fitted)) if count is None else count
        if pair is not None and count not in self._scores:
            self._scores[count] = self.crowd.scores(self.fitted, count)
        found: dict[int, tuple[float, float]] = {}

        def at(level: int) -> tuple[float, float]:
            if level not in found:
                found[level] = self._at(float(LEVELS[level]), own, pair, count)
            return found[level]

        low, high = -1, len(LEVELS) - 1  # the rejection falls with the level
        if at(high)[0] > reject:
            return np.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if at(middle)[0] <= reject else (middle, high)
        if low < 0 or at(low)[1] <= 0.0:
            return at(high)[1]
        (beyond, small), (enough, large) = at(low), at(high)
        share = (beyond - reject) / (beyond - enough)
        return float(small ** (1.0 - share) * large**share)

    def _at(self, level: float, own: float, pair: float | None, count: int) -> tuple[float, float]:
        """Return the share of tested frames outside at a level of the driver, and the volume."""
        crowd, (cells, rotations) = self.crowd, self._driver
        low, high = crowd.ranges(self._alone, own * level)
        number, counts, nodes, weights = self._cells
        width = high - low
        if pair is not None:
            ends = np.clip(self._ends_at(pair * level, count), low, high)
            low, high = np.einsum("nck,nc->kn", ends[nodes], weights)
            nodes, weights = self.places
            width = np.sum((ends[:, 1] - ends[:, 0])[nodes] * weights, axis=-1)
        outside = (cells > level) | (number < low) | (number > high)
        volume = float(np.mean((rotations <= level) * width))
        return float(np.average(outside, weights=counts)), volume


def tradeoffs(crowd: PairCrowd, splits: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[Tradeoff]:
    """Return the trade-off of each split (fitted, tested)."""
    everywhere = quat.normalize(np.random.default_rng(0).normal(size=(UNIFORM, 4)))
    people = range(len(crowd.performers))
    drivers = [crowd.driver[crowd.owner == person] for person in people]
    rotations = [np.concatenate([driver, -driver]) for driver in drivers]

    def distances(asked: Quats) -> Floats:
        """Return distances (n, people) from each person's rotations of the driver, radians."""
        chords = np.stack([cKDTree(both).query(asked)[0] for both in rotations], axis=-1)
        return 4.0 * np.arcsin(np.minimum(0.5 * chords, 1.0))

    both, places = (distances(crowd.driver), distances(everywhere)), crowd.locate(everywhere)
    return [Tradeoff(crowd, *each, both, places) for each in splits]


def load(
    folder: Path, performers: dict[str, str], wanted: set[str], pairs: dict[str, str], nodes: str
) -> dict[str, PairCrowd]:
    """Return the requested pairs by joint."""
    parts: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    axes: dict[str, np.ndarray] = {}
    dropped = 0
    for path in sorted(folder.glob("*.bvh")):
        who = performers[path.stem]
        if who not in wanted:
            continue
        clip = load_clip(path)
        skeleton, first = clip.skeleton, int(invented_first_frame(clip))
        axes = axes or dict(zip(skeleton.names, bone_axes(skeleton), strict=True))
        for joint, driver in pairs.items():
            both = [
                clip.pose.rotations[first:, skeleton.index(name)].astype(float)
                for name in (driver, joint)
            ]
            steps = max(quat.angle_between(each[:-1], each[1:]).max() for each in both)
            if steps > MAX_SPEED * clip.frame_time:
                dropped += 1
                continue
            kept = ~(flips(both[0], clip.frame_time) | flips(both[1], clip.frame_time))
            parts.setdefault((joint, who), []).append((both[0][kept], both[1][kept]))
    print(f"{len(wanted)} people; {dropped} times a clip was left out for a jump")
    found = {}
    for joint, driver in pairs.items():
        own = {who: rows for (name, who), rows in parts.items() if name == joint}
        vectors = np.concatenate([quat.log(b[::20]) for rows in own.values() for _, b in rows])
        along = np.linalg.svd(vectors, full_matrices=False)[2][0]
        along = along if np.median(vectors @ along) > 0.0 else -along
        people = {}
        for who, rows in own.items():
            a, b = (np.concatenate(each) for each in zip(*rows, strict=True))
            angle = quat.log(b) @ along
            angle = np.where(angle < -2.0, angle + 2.0 * np.pi, angle)
            people[who] = a, angle, np.ones(len(a), np.int64)
        grid = ROTATIONS if nodes == "rotations" else DIRECTIONS
        found[joint] = PairCrowd.of(people, axes[driver], grid)
    return found


def halves(performers: dict[str, str]) -> tuple[set[str], set[str]]:
    """Return the people to choose on, and the others."""
    names = sorted(set(performers.values()))
    chosen = set(np.random.default_rng(0).permutation(names)[: len(names) // 2])
    return chosen, set(names) - chosen


def splits(
    crowd: PairCrowd, tested: set[str], count: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield fitted and tested people: a third of the candidates is tested."""
    may_be = np.array([performer in tested for performer in crowd.performers])
    always, others = np.flatnonzero(~may_be), np.flatnonzero(may_be)
    rng = np.random.default_rng(seed)
    for _ in range(count):
        order = others[rng.permutation(len(others))]
        fitted = 2 * len(order) // 3
        yield np.concatenate([always, order[:fitted]]), order[fitted:]


def report(title: str, with_: np.ndarray, without: np.ndarray) -> None:
    ratios = with_ / without
    error = ratios.std(ddof=1) / np.sqrt(len(ratios))
    print(
        f"  {title:<44}{ratios.mean():.3f} ± {error:.3f}   of means "
        f"{with_.mean() / without.mean():.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--people", choices=["chosen", "others"], default="others")
    parser.add_argument("--fitted", choices=["all", "half"], default="all")
    parser.add_argument("--nodes", choices=list(CHOSEN), default="rotations")
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--pairs", default=",".join(f"{a}:{b}" for a, b in PAIRS.items()))
    options = parser.parse_args()
    pairs = dict(pair.split(":") for pair in options.pairs.split(","))
    with open(options.clips / "people.csv", newline="") as file:
        performers = dict(list(csv.reader(file))[1:])
    chosen, others = halves(performers)
    tested = chosen if options.people == "chosen" else others
    wanted = tested if options.people == "chosen" or options.fitted == "half" else chosen | others
    for joint, crowd in load(options.clips, performers, wanted, pairs, options.nodes).items():
        start = time.process_time()
        parted = list(splits(crowd, tested, options.splits, seed=1))
        found = tradeoffs(crowd, parted)
        fitted, left = map(len, parted[0])
        print(f"{joint} on {pairs[joint]}, {options.nodes}: {fitted} fitted, {left} tested")
        if options.people == "others":
            alone, *recipe = CHOSEN[options.nodes][joint]
            without = np.array([each.volume(REJECT, alone) for each in found])
            report("as chosen", np.array([each.volume(REJECT, *recipe) for each in found]), without)
        else:
            choose(found)
        print(f"  {time.process_time() - start:.0f} s", flush=True)


def choose(found: list[Tradeoff]) -> None:
    """Print the volume saved by each recipe, relative to the best limit of the joint alone."""
    alone = {own: np.array([each.volume(REJECT, own) for each in found]) for own in OWN}
    best = min(OWN, key=lambda own: alone[own].mean())
    print(f"  alone: {', '.join(f'{own} {alone[own].mean():.3f}' for own in OWN)}")
    for count, pair in product(COUNTS, PAIR):
        with_ = np.array([each.volume(REJECT, best, pair, count) for each in found])
        report(f"own {best}, pairs {pair}, confirmed by {count}", with_, alone[best])


if __name__ == "__main__":
    main()
