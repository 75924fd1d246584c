"""What a limit that depends on another joint saves, on people whom it never met.

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
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from synovia import load_clip, quat
from synovia.learn import bone_axes, flips, invented_first_frame
from synovia.learn.dependents import (
    DIRECTIONS,
    ROTATIONS,
    PairCrowd,
    Tradeoff,
    count_cells,
    tradeoffs,
)
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


def load(
    folder: Path, performers: dict[str, str], wanted: set[str], pairs: dict[str, str], nodes: str
) -> dict[str, PairCrowd]:
    """Return the pairs of those who are wanted, by joint."""
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
        people = []
        for who, rows in own.items():
            a, b = (np.concatenate(each) for each in zip(*rows, strict=True))
            angle = quat.log(b) @ along
            people.append(count_cells(who, a, np.where(angle < -2.0, angle + 2.0 * np.pi, angle)))
        axis = axes[driver]
        grid = ROTATIONS if nodes == "rotations" else DIRECTIONS
        found[joint] = PairCrowd(people, axis, grid)
    return found


def halves(performers: dict[str, str]) -> tuple[set[str], set[str]]:
    """Return the people to choose on, and the others."""
    names = sorted(set(performers.values()))
    chosen = set(np.random.default_rng(0).permutation(names)[: len(names) // 2])
    return chosen, set(names) - chosen


def splits(
    crowd: PairCrowd, tested: set[str], count: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield who is fitted and who is tested: a third of those who may be."""
    may_be = np.array([each.performer in tested for each in crowd.people])
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
        (found,) = tradeoffs([crowd], parted)
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
    """Print what recipes save, each against the best for the joint alone."""
    alone = {own: np.array([each.volume(REJECT, own) for each in found]) for own in OWN}
    best = min(OWN, key=lambda own: alone[own].mean())
    print(f"  alone: {', '.join(f'{own} {alone[own].mean():.3f}' for own in OWN)}")
    for count, pair in product(COUNTS, PAIR):
        with_ = np.array([each.volume(REJECT, best, pair, count) for each in found])
        report(f"own {best}, pairs {pair}, confirmed by {count}", with_, alone[best])


if __name__ == "__main__":
    main()
