"""Measure limits on people left out of the fit: recipes, accuracy of `--reject`, and offsets.

    python benchmarks/people.py CLIPS [recipes] [promise] [offsets] [--joints A,B] [--people chosen]
    python benchmarks/people.py CLIPS roles
    python benchmarks/people.py CLIPS variants [--joints leftUpperLeg] [--people others]

CLIPS is a directory of clips with people.csv (clip, performer) in it, such as CMU's captures as
BVH. Everybody who is tested is none of those fitted. Frames are counted by cells of 0.05 radians.

Recipes were chosen on the first half of the people, in the order of a seeded shuffle, and are
reported on the other half: `--people chosen` shows the first. The one constant of `promise`, where
the tail begins, was chosen there too. `roles` does the same with the recipe that was taken for all
joints of the canonical human, sides together, at the volumes of `human_limits(source="people")`.
`variants` compares simple changes of that recipe there, on the people that recipes are chosen on,
by frames and by people, with those who make up most of what is outside.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from synovia import human_limits, load_clip, quat
from synovia.evidence.study import uniform_rotations
from synovia.learn import (
    FitOptions,
    Sample,
    Take,
    bone_axes,
    fit_joint,
    flips,
    invented_first_frame,
)
from synovia.learn.fitting import FittedJoint
from synovia.learn.margins import HeldOut, promise
from synovia.learn.people import MAX_PEOPLE, MAX_WITHIN, combine, distances
from synovia.learn.population import estimate_offset, turn_bones
from synovia.learn.trimming import first_in_cell
from synovia.rigs import align, recognize

VOLUMES = {"LeftArm": 0.25, "RightArm": 0.25, "LeftUpLeg": 0.12}
"""Volumes at which the recipes of a joint are compared; 10 % for other joints."""
CELL = 0.05
SPLITS = 30
DRAWN = (10, 22, 44)
REJECT = 0.005
MEASURED = 12
"""People whose joints are calibrated."""
STUDIES = ("recipes", "promise", "offsets")
MIRROR = np.array([1.0, 1.0, -1.0, -1.0])
EVERYWHERE = uniform_rotations(10_000)


def load(folder: Path, joints: Sequence[str]) -> dict[str, Crowd]:
    """Return one take of cells for each person by joint, without capture flips."""
    with open(folder / "people.csv", newline="") as file:
        performers = dict(list(csv.reader(file))[1:])
    parts: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray, float]]] = {}
    axes: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("*.bvh")):
        clip = load_clip(path)
        if not axes:
            axes = dict(zip(clip.skeleton.names, bone_axes(clip.skeleton), strict=True))
        first = int(invented_first_frame(clip))
        for name in joints:
            path_ = clip.pose.rotations[first:, clip.skeleton.index(name)].astype(float)
            path_ = path_[~flips(path_, clip.frame_time)]
            cells = count_cells(path_, np.ones(len(path_)))
            parts.setdefault((name, performers[path.stem]), []).append((*cells, clip.frame_time))
    takes: dict[str, list[Take]] = {name: [] for name in joints}
    for (name, who), own in sorted(parts.items()):
        rotations, counts = (np.concatenate([part[k] for part in own]) for k in range(2))
        rotations, counts = count_cells(rotations, counts)
        frame_time = own[0][2]
        takes[name].append(Take(rotations, frame_time, who, who, thinned=True, counts=counts))
    return {name: Crowd(own, axes[name]) for name, own in takes.items()}


def load_roles(folder: Path, roles: Sequence[str]) -> dict[str, Crowd]:
    """Return the same by role of the canonical human, with right sides mirrored."""
    with open(folder / "people.csv", newline="") as file:
        performers = dict(list(csv.reader(file))[1:])
    takes: dict[str, list[Take]] = {role: [] for role in roles}
    for who in sorted(set(performers.values())):
        names = [name for name, each in performers.items() if each == who]
        clips = [load_clip(folder / f"{name}.bvh") for name in names]
        alignment = align(recognize(clips[0].skeleton), clips)
        seen: dict[str, list[np.ndarray]] = {}
        for clip in clips:
            first = int(invented_first_frame(clip))
            for role, rotations in alignment.canonical_rotations(clip.pose).items():
                path = rotations[first:]
                path = path[~flips(path, clip.frame_time)]
                left = role.replace("right", "left")
                if role in alignment.trusted and left in roles:
                    seen.setdefault(left, []).append(path if left == role else path * MIRROR)
        for role, paths in seen.items():
            every = np.concatenate(paths)
            rotations, counts = count_cells(every, np.ones(len(every)))
            takes[role].append(
                Take(rotations, clips[0].frame_time, who, who, thinned=True, counts=counts)
            )
    return {role: Crowd(own, np.array([0.0, 0.0, 1.0])) for role, own in takes.items()}


def roles_of_human(folder: Path) -> None:
    """Print the rejection of `people` at every canonical joint, at the shipped volume."""
    shipped = human_limits(source="people")
    roles = [
        role
        for role in shipped.provenance["joints"]
        if "volume" in shipped.provenance["joints"][role]
    ]
    print("role             people  volume, %   rejected, %      95th   worst person")
    for role, everybody in load_roles(folder, roles).items():
        crowd, volume = everybody.subset("others"), shipped.limits[role].volume()
        people, rows = len(crowd.takes), []
        for some, others in splits(people, 2 * people // 3, seed=1):
            at, everywhere = RECIPES["people"](crowd, some)
            outside = at > np.quantile(everywhere, volume)
            each = 100.0 * np.array(crowd.shares(others, outside))
            rows.append(
                (100.0 * crowd.share(others, outside), np.percentile(each, 95.0), each.max())
            )
        found = np.array(rows)
        mean = found.mean(axis=0)
        print(
            f"{role:<16}{people:5}{100.0 * volume:12.1f}{mean[0]:10.2f} ± "
            f"{standard_error(found[:, 0]):.2f}{mean[1]:10.1f}{mean[2]:10.1f}",
            flush=True,
        )


def variants(folder: Path, role: str, which: str) -> None:
    """Print the rejection of variants of `people` at the shipped volume, by person."""
    volume = human_limits(source="people").limits[role].volume()
    crowd = load_roles(folder, [role])[role].subset(which)
    people = len(crowd.takes)
    print(f"{role}, {people} people ({which}), {100.0 * volume:.1f} % accepted; rejected, %")
    plain: np.ndarray | None = None
    for name, score in VARIANTS.items():
        rows, frames = [], np.zeros(people)
        for some, others in splits(people, 2 * people // 3, seed=1):
            at, everywhere = score(crowd, some)
            outside = at > np.quantile(everywhere, volume)
            rows.append((crowd.share(others, outside), np.mean(crowd.shares(others, outside))))
            lost = np.where(np.isin(crowd.person, others) & outside, crowd.counts, 0)
            frames += np.bincount(crowd.person, lost, minlength=people)
        found = 100.0 * np.array(rows)
        plain = found if plain is None else plain
        both = [
            f"{found[:, k].mean():.2f} ± {standard_error(found[:, k]):.2f} "
            f"({(found - plain)[:, k].mean():+.2f} ± {standard_error((found - plain)[:, k]):.2f})"
            for k in range(2)
        ]
        most = [
            f"{crowd.takes[k].performer} {frames[k] / frames.sum():.0%}"
            for k in np.argsort(-frames)[:3]
        ]
        print(
            f"  {name:<22} by frames {both[0]}, by people {both[1]}, of {', '.join(most)}",
            flush=True,
        )


def count_cells(rotations: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rotation of each cell, and the number of rotations in it."""
    cells, cell_of = np.unique(first_in_cell(quat.log(rotations), CELL), return_inverse=True)
    return rotations[cells], np.bincount(cell_of, counts).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Distances of all cells, and of uniform rotations, from each person, for one joint."""

    takes: Sequence[Take]
    axis: np.ndarray
    """Axis of the bone."""

    def subset(self, which: str) -> Crowd:
        """Return people: for development, for the report, or all."""
        names = sorted(take.performer for take in self.takes)
        chosen = set(np.random.default_rng(0).permutation(names)[: len(names) // 2])
        wanted = {"chosen": chosen, "others": set(names) - chosen, "all": set(names)}[which]
        return Crowd([take for take in self.takes if take.performer in wanted], self.axis)

    @cached_property
    def rotations(self) -> np.ndarray:
        return np.concatenate([take.rotations for take in self.takes])

    @cached_property
    def counts(self) -> np.ndarray:
        return np.concatenate([take.frame_counts for take in self.takes])

    @cached_property
    def person(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.takes)), [len(t.rotations) for t in self.takes])

    @cached_property
    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n, people) of cells and of uniform rotations from each person."""
        people = [take.rotations for take in self.takes]
        return distances(self.rotations, people), distances(EVERYWHERE, people)

    @cached_property
    def seconds(self) -> tuple[np.ndarray, np.ndarray]:
        """Seconds (n, people) spent near cells and near uniform rotations, at most 1."""
        found = []
        for asked in (self.rotations, EVERYWHERE):
            columns = [seconds_nearby(asked, take) for take in self.takes]
            found.append(np.minimum(np.stack(columns, axis=1), 1.0))
        return found[0], found[1]

    def share(self, people: Sequence[int], outside: np.ndarray) -> float:
        """Return the share of all frames of some people that is outside."""
        theirs = np.isin(self.person, people)
        return float(np.average(outside[theirs], weights=self.counts[theirs]))

    def shares(self, people: Sequence[int], outside: np.ndarray) -> list[float]:
        """Return the share of frames outside for each of some people."""
        return [self.share([k], outside) for k in people]


def seconds_nearby(asked: np.ndarray, take: Take, width: float = np.radians(10.0)) -> np.ndarray:
    """Return the time spent near each rotation, weighted by a Gaussian cut off at 22 degrees."""
    spent = take.frame_time * take.frame_counts
    least = np.float32(np.cos(0.5 * np.radians(22.0)))
    centers, found = take.rotations.astype(np.float32), np.zeros(len(asked))
    for start in range(0, len(asked), 2048):
        cosines = np.abs(asked[start : start + 2048].astype(np.float32) @ centers.T)
        row, column = np.nonzero(cosines >= least)
        angle = 2.0 * np.arccos(np.minimum(cosines[row, column], 1.0))
        near = spent[column] * np.exp(-0.5 * np.square(angle / width))
        found[start : start + 2048] = np.bincount(row, near, minlength=len(cosines))
    return found


# Recipes: each scores rotations by some people; lower is accepted sooner.

Score = Callable[[Crowd, Sequence[int]], tuple[np.ndarray, np.ndarray]]


def by_distance(combine_: Callable[[np.ndarray], np.ndarray]) -> Score:
    """Return the recipe with this name, which combines distances (n, people) into one."""
    return lambda crowd, people: tuple(combine_(each[:, people]) for each in crowd.angles)


def nearest(count: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda angles: np.partition(angles, count - 1, axis=1)[:, count - 1]


def near_people(angles: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return the mean over the farther half of the nearest third of people, as `learn.People`."""
    count = neighbor_count(angles.shape[1]) if count is None else count
    return combine(angles, np.ones(angles.shape[1], np.int64), count)


def neighbor_count(people: int) -> int:
    return min(max(round(people / 3), 1), MAX_PEOPLE)


def gaussian(angles: np.ndarray, width: float = np.radians(15.0)) -> np.ndarray:
    """Return the negative mean over people of a Gaussian of the distance."""
    return -np.exp(-0.5 * np.square(angles / width)).mean(axis=1)


def density(crowd: Crowd, people: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the negative mean over people of the seconds nearby, at most 1 each."""
    return tuple(-each[:, people].mean(axis=1) for each in crowd.seconds)


def confirmed_kdop(crowd: Crowd, people: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin that the default k-DOP of confirmed frames needs."""
    limit = fit_some(crowd, people, FitOptions(margin=0.0)).limit
    return limit.required_margin(crowd.rotations), limit.required_margin(EVERYWHERE)


def fit_some(crowd: Crowd, people: Sequence[int], options: FitOptions) -> FittedJoint:
    takes = [crowd.takes[k] for k in people]
    return fit_joint(takes, options, reference=None, axis=crowd.axis)


RECIPES: dict[str, Score] = {
    "people": by_distance(near_people),
    "density": density,
    "Gaussian of distances": by_distance(gaussian),
    "third nearest person": by_distance(nearest(3)),
    "nearest frame": by_distance(nearest(1)),
    "k-DOP of confirmed frames": confirmed_kdop,
}


def mean_of_nearest(first: int, last: int) -> Score:
    """Return the recipe of the mean distance to the `first` to `last` nearest people."""
    return by_distance(lambda angles: np.sort(angles, axis=1)[:, first - 1 : last].mean(axis=1))


def people_and_kdop(crowd: Crowd, people: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the recipes `people` and k-DOP of confirmed frames."""
    scores = zip(RECIPES["people"](crowd, people), confirmed_kdop(crowd, people), strict=True)
    return tuple(0.5 * (a + b) for a, b in scores)


VARIANTS: dict[str, Score] = {
    "people": RECIPES["people"],
    "3rd to 5th nearest": mean_of_nearest(3, 5),
    "6th to 10th nearest": mean_of_nearest(6, 10),
    "nearest 7": mean_of_nearest(1, 7),
    "nearest 10": mean_of_nearest(1, 10),
    "Gaussian of 10 degrees": by_distance(partial(gaussian, width=np.radians(10.0))),
    "Gaussian of 25 degrees": by_distance(partial(gaussian, width=np.radians(25.0))),
    "k-DOP": confirmed_kdop,
    "people and k-DOP": people_and_kdop,
}


def splits(people: int, fitted: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield fitted and tested people."""
    rng = np.random.default_rng(seed)
    for _ in range(SPLITS):
        order = rng.permutation(people)
        yield order[:fitted], order[fitted:]


def recipes(name: str, crowd: Crowd) -> None:
    """Print the rejection of each recipe at one volume: two thirds fitted, one third tested."""
    people, volume = len(crowd.takes), VOLUMES.get(name, 0.1)
    fitted = 2 * people // 3
    print(f"\n{name}: {fitted} fitted, {people - fitted} tested, {100 * volume:.0f} % accepted")
    print(f"  {'rejected, %':<27} mean ± s.e.     less `people`     95th  worst person")
    first: np.ndarray | None = None
    for recipe, score in RECIPES.items():
        shares, each = [], []
        for some, others in splits(people, fitted, seed=1):
            at, everywhere = score(crowd, some)
            outside = at > np.quantile(everywhere, volume)
            shares.append(100.0 * crowd.share(others, outside))
            each.append(100.0 * np.array(crowd.shares(others, outside)))
        found = np.array(shares)
        first = found if first is None else first
        ends = np.mean([(np.percentile(one, 95.0), one.max()) for one in each], axis=0)
        print(
            f"  {recipe:<25} {found.mean():6.2f} ± {standard_error(found):.2f}   "
            f"{(found - first).mean():+6.2f} ± {standard_error(found - first):.2f}   "
            f"{ends[0]:6.1f} {ends[1]:6.1f}",
            flush=True,
        )


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def promises(name: str, crowd: Crowd, reject: float) -> None:
    """Print the rejection of tested people by number of fitted people, for a target `reject`."""
    print(f"\n{name}: {100 * reject:g} % aimed at")
    print("  people fitted    rejected, %     by frames   left out    promised   volume, %")
    for title, fit in (("people", promise_people), ("k-DOP", promise_kdop)):
        for fitted in DRAWN:
            if fitted >= len(crowd.takes):
                continue
            rows = []
            for some, others in splits(len(crowd.takes), fitted, seed=2):
                outside, volume, left, promised = fit(crowd, some, reject)
                mean = np.mean(crowd.shares(others, outside))
                rows.append((mean, crowd.share(others, outside), left, promised, volume))
            found = 100.0 * np.array(rows)
            mean = found.mean(axis=0)
            print(
                f"  {title:<8}{fitted:4}   {mean[0]:8.2f} ± {standard_error(found[:, 0]):.2f}"
                f"{mean[1]:12.2f}{mean[2]:12.2f}{mean[3]:12.2f}{mean[4]:12.1f}",
                flush=True,
            )


Promised = tuple[np.ndarray, float, float, float]


def promise_people(crowd: Crowd, people: Sequence[int], reject: float) -> Promised:
    """Return rejection, volume, and promised rejection of a field near people.

    Everybody's distances from everybody are known already.
    """
    at, everywhere = (each[:, people] for each in crowd.angles)
    held_out = []
    for column, k in enumerate(people):
        own = crowd.person == k
        far = near_people(np.delete(at[own], column, axis=1), neighbor_count(len(people)))
        held_out.append(HeldOut(far, crowd.counts[own]))
    kept = promise(reject, held_out, 0.0, float(MAX_WITHIN))
    volume = float((near_people(everywhere) <= kept.margin).mean())
    return near_people(at) > kept.margin, volume, kept.held_out, kept.rejected


def promise_kdop(crowd: Crowd, people: Sequence[int], reject: float) -> Promised:
    """Return the same for the default shape of `fit_joint`."""
    fitted = fit_some(crowd, people, FitOptions(reject=reject))
    kept, limit = fitted.promise, fitted.limit
    assert kept is not None
    volume = float(limit.contains(EVERYWHERE).mean())
    return ~limit.contains(crowd.rotations), volume, kept.held_out, kept.rejected


def offsets(name: str, crowd: Crowd, turned: float = np.radians(10.0)) -> None:
    """Print estimated offsets of people calibrated on all others, without and with an added 10°."""
    rng = np.random.default_rng(3)
    rows = []
    for k in rng.permutation(len(crowd.takes))[:MEASURED]:
        own = crowd.takes[k].rotations
        samples = [
            Sample(take.clip, take.performer, np.arange(len(take.rotations)), take.rotations)
            for j, take in enumerate(crowd.takes)
            if j != k
        ]
        turn = turned * quat.rotate(quat.normalize(rng.normal(size=4)), np.eye(3)[0])
        plain = estimate_offset(own, samples)
        other = estimate_offset(turn_bones(own, turn), samples)
        # What the two differ by should be the turn, whatever the joint was off by before.
        back = quat.mul(quat.exp(turn), quat.exp(other.vector))
        missed = quat.angle_between(back, quat.exp(plain.vector))
        rows.append((plain.angle, plain.uncertainty, other.uncertainty, missed))
    found = np.degrees(np.array(rows))
    within = [100.0 * (found[:, 3] <= times * found[:, 2]).mean() for times in (1.0, 2.0)]
    print(
        f"{name}: off by {np.median(found[:, 0]):.1f} deg (median; most {found[:, 0].max():.1f}), "
        f"stated ± {np.median(found[:, 1]):.1f}; of a turn of {np.degrees(turned):.0f} deg, "
        f"{np.median(found[:, 3]):.1f} are left (median), within the stated uncertainty "
        f"{within[0]:.0f} %, twice that {within[1]:.0f} %",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument(
        "studies", nargs="*", choices=[*STUDIES, "roles", "variants"], default=STUDIES
    )
    parser.add_argument("--joints", default=",".join(VOLUMES))
    parser.add_argument("--people", choices=["chosen", "others", "all"])
    parser.add_argument("--reject", type=float, default=REJECT)
    options = parser.parse_args()
    if "roles" in options.studies:
        roles_of_human(options.clips)
        return
    if "variants" in options.studies:
        given = options.joints != parser.get_default("joints")
        variants(
            options.clips, options.joints if given else "leftUpperLeg", options.people or "chosen"
        )
        return
    joints = options.joints.split(",")
    everybody = load(options.clips, joints)
    for study in options.studies:
        for name in joints:
            start = time.process_time()
            which = options.people or ("others" if study == "recipes" else "all")
            crowd = everybody[name].subset(which)
            if study == "recipes":
                recipes(name, crowd)
            elif study == "promise":
                promises(name, crowd, options.reject)
            else:
                offsets(name, crowd)
            print(f"  ({time.process_time() - start:.0f} s)")


if __name__ == "__main__":
    main()
