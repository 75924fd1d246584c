"""Human limits on captured people: frames and clips outside, and detection of wrong rotations.

    python benchmarks/human.py CLIPS [--sources possible,usual] [--half A|B|both] [--step 10]
                               [--descriptions INDEX] [--faults] [--against OLD.limits.json]

CLIPS is a directory of clips with people.csv (clip, performer) in it, such as CMU's captures as
BVH. Each clip is aligned by itself, as `synovia check` does, and every `step`-th frame is judged.
People are sorted by number: even indices are half A, on which limits may be chosen, odd indices
half B, on which they are reported. A clean clip has no joint faster than 3600 degrees a second.
`capture_faults.csv`, beside this script, lists joints that were captured wrongly.

INDEX is CMU's list of clips with their descriptions; with it, clips of everyday motions are
counted. `--faults` prints signs of capture faults instead, `--against` compares the detection of
one joint rotated by 30, 45 and 90 degrees with limits of another file at equal false alarms.
"""

from __future__ import annotations

import argparse
import csv
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synovia import Clip, LimitModel, Pose, load_clip, load_limits, quat
from synovia.learn import invented_first_frame
from synovia.learn.takes import MAX_SPEED
from synovia.population import canonical_limits, joint_name, limits_on
from synovia.population.findings import HINGES
from synovia.population.limits import both_sides
from synovia.rigs import Alignment, align, canonical_skeleton, recognize
from synovia.rigs.canonical import BONE_DIRECTIONS
from synovia.rigs.human import split_role

FAULTS = Path(__file__).parent / "capture_faults.csv"
JOINTS = ("collarbone", "shoulder", "elbow", "wrist", "spine", "neck", "hip", "knee", "ankle")
ANGLES_DEG = (30, 45, 90)
FALSE_ALARMS = 0.01  # share of true rotations above the threshold of the comparison
EVERYDAY = {
    "wave": r"\bwav(e|ing)\b",
    "raised hand": r"\brais(e|ed|ing)\b.*\b(hand|arm)s?\b|\b(hand|arm)s? (raised|up|overhead)\b",
    "hand on hip": r"\bhands? on (the )?hips?\b",
    "seated": r"\bsit(s|ting)?\b|\bseated\b|\bfrom chair\b",
}
"""Patterns of the descriptions of clips in which nothing may be impossible."""
Faults = set[tuple[str, str, str]]


@dataclass(frozen=True, eq=False)
class Judged:
    """Verdicts on one clip."""

    name: str
    person: str
    clean: bool
    frames: int
    outside: dict[str, int]
    """Number of frames outside, by role."""
    silent: tuple[str, ...]
    """Common names of joints without a verdict."""

    def without(self, faults: Faults) -> Judged:
        """Return the verdicts without limbs of which `faults` lists a joint for this clip.

        Twist counts along the whole limb: a foot that is rolled is found at the knee, too.
        """
        listed = {
            limb_of(role)
            for person, clip, role in faults
            if person == self.person and clip in (self.name, "all")
        }
        kept = {role: n for role, n in self.outside.items() if limb_of(role) not in listed}
        return replace(self, outside=kept)


def limb_of(role: str) -> str:
    """Return the arm or leg of a role, such as "left leg"; roles of the trunk as they are."""
    side, bone = split_role(role)
    leg = bone.endswith("Leg") or bone in ("Foot", "Toes")
    arm = bone.endswith("Arm") or bone == "Hand"
    return f"{side} {'leg' if leg else 'arm'}" if leg or arm else role


def people_of(folder: Path, half: str) -> dict[str, list[str]]:
    """Return the clips of each person of a half ("A", "B" or "both")."""
    people = defaultdict(list)
    with open(folder / "people.csv", newline="") as file:
        for row in csv.DictReader(file):
            people[row["performer"]].append(row["clip"])
    ordered = sorted(people, key=int)
    chosen = {"A": ordered[::2], "B": ordered[1::2], "both": ordered}[half]
    return {person: people[person] for person in chosen}


def read_faults() -> Faults:
    """Return person, clip (or "all") and role of each listed fault."""
    with open(FAULTS, newline="") as file:
        return {
            (row["person"], clip, role)
            for row in csv.DictReader(file)
            for clip in row["clips"].split()
            for role in row["roles"].split()
        }


def clips_of(folder: Path, names: Sequence[str]) -> Iterator[Clip]:
    """Yield clips without an initial T-pose frame."""
    for name in names:
        clip = load_clip(folder / f"{name}.bvh")
        yield frames_of(clip, slice(int(invented_first_frame(clip)), None))


def frames_of(clip: Clip, which: slice) -> Clip:
    pose = Pose(clip.pose.rotations[which], clip.pose.positions[which])
    return replace(clip, pose=pose)


def is_clean(clip: Clip) -> bool:
    """Return True if no joint of the body, in the clip's own rotations, jumps."""
    body = [
        joint
        for joint, name in enumerate(clip.skeleton.names)
        if not re.search("thumb|finger", name, re.IGNORECASE) and joint
    ]
    path = clip.pose.rotations[:, body]
    steps = quat.angle_between(path[:-1], path[1:])
    return bool(steps.max(initial=0.0) <= MAX_SPEED * clip.frame_time)


def judge(
    folder: Path, people: dict[str, list[str]], sources: Sequence[str], step: int
) -> dict[str, list[Judged]]:
    """Return verdicts on all clips of some people, by source."""
    found: dict[str, list[Judged]] = {source: [] for source in sources}
    for person, names in people.items():
        for clip in clips_of(folder, names):
            try:
                alignment = align(recognize(clip.skeleton), [clip])
            except ValueError as error:
                print(f"{clip.name}: {error}")
                continue
            clean, thinned = is_clean(clip), frames_of(clip, slice(None, None, step))
            for source in sources:
                limits = limits_on(alignment, source)
                report = limits.model.check(thinned)
                outside = {
                    limits.roles[name]: int(count)
                    for name, count in zip(report.names, report.outside.sum(axis=0), strict=True)
                    if name in limits.roles
                }
                found[source].append(
                    Judged(
                        Path(clip.name).stem,
                        person,
                        clean,
                        thinned.frames,
                        outside,
                        tuple(limits.silent),
                    )
                )
    return found


def mean_of_people(shares: dict[str, list[tuple[float, float]]]) -> str:
    """Return a share of totals in percent with its standard error over people.

    `shares` has pairs of a count and a total by person. The error of the ratio r = Σc / Σt is
    sqrt(n / (n − 1) Σ(c − r t)²) / Σt.
    """
    pairs = np.array([np.sum(each, axis=0) for each in shares.values()], float)
    if not len(pairs) or not pairs[:, 1].sum():
        return "      –       "
    counts, totals = pairs.T
    ratio, n = counts.sum() / totals.sum(), len(pairs)
    spread = np.sqrt(n / max(n - 1, 1) * np.square(counts - ratio * totals).sum()) / totals.sum()
    return f"{100.0 * ratio:6.2f} ± {100.0 * spread:5.2f}"


def print_shares(judged: Sequence[Judged], faults: Faults) -> None:
    """Print, by joint, the share of frames outside; then the share of clips."""
    print(f"{'joint':<12}{'frames, %':>16}{'listed faults out':>20}{'clips no verdict':>18}")
    corrected = [each.without(faults) for each in judged]
    for joint in JOINTS:
        cells = []
        for clips in (judged, corrected):
            shares = defaultdict(list)
            for clip in clips:
                for role, count in clip.outside.items():
                    if joint_name(role).split()[-1] == joint:
                        shares[clip.person].append((count, clip.frames))
            cells.append(mean_of_people(shares))
        silent = sum(any(name.endswith(joint) for name in clip.silent) for clip in judged)
        print(f"{joint:<12}{cells[0]:>16}{cells[1]:>20}{silent:>18}")
    for words, clips in (
        ("all clips", judged),
        ("clean clips", [clip for clip in judged if clip.clean]),
        ("clean, listed faults out", [clip for clip in corrected if clip.clean]),
    ):
        shares = defaultdict(list)
        for clip in clips:
            shares[clip.person].append((float(any(clip.outside.values())), 1.0))
        print(f"{words}: {mean_of_people(shares)} % of {len(clips)} outside")


def print_everyday(judged: Sequence[Judged], index: Path) -> None:
    """Print how many clips of everyday motions are outside, and at which joints."""
    text = index.read_text(encoding="utf-8", errors="replace")
    described = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    for kind, pattern in EVERYDAY.items():
        some = [clip for clip in judged if re.search(pattern, described.get(clip.name, ""), re.I)]
        outside = [
            f"{clip.name} ({', '.join(joint_name(role) for role, n in clip.outside.items() if n)})"
            for clip in some
            if any(clip.outside.values())
        ]
        print(f"{kind}: {len(outside)} of {len(some)} clips outside{': ' * bool(outside)}", end="")
        print(", ".join(outside))


def canonical_pose(alignment: Alignment, pose: Pose) -> Pose:
    """Return poses of the canonical human; joints that the rig lacks are at rest."""
    skeleton = canonical_skeleton()
    count = len(pose.rotations)
    rotations = np.tile(quat.IDENTITY, (count, len(skeleton), 1))
    for role, path in alignment.canonical_rotations(pose).items():
        rotations[:, skeleton.index(role)] = path
    return Pose(rotations, np.tile(skeleton.offsets, (count, 1, 1)))


def print_detection(
    folder: Path, people: dict[str, list[str]], source: str, old: LimitModel, step: int
) -> None:
    """Print how often one wrong joint is found, by new and old limits, at equal false alarms.

    The score is the signed distance of the joint. Its threshold is the quantile that
    `FALSE_ALARMS` of the true rotations exceed. The difference has its standard error over people.
    """
    new, skeleton, rng = canonical_limits(source), canonical_skeleton(), np.random.default_rng(0)
    parts, performers = [], []
    for person, names in people.items():
        clips = list(clips_of(folder, names))
        alignment = align(recognize(clips[0].skeleton), clips)
        for clip in clips:
            parts.append(canonical_pose(alignment, frames_of(clip, slice(None, None, step)).pose))
            performers += [person] * len(parts[-1].rotations)
    owner = np.array(performers)
    pose = Pose(
        *(
            np.concatenate([getattr(part, each) for part in parts])
            for each in ("rotations", "positions")
        )
    )
    print(f"{'joint':<12}" + "".join(f"{angle:>8}° old    new − old     " for angle in ANGLES_DEG))
    for role in (role for role in skeleton.names if not role.startswith("right")):
        models = (new, old)
        if not all(role in model.names for model in models):
            continue
        joint = skeleton.index(role)
        levels = [
            np.quantile(model.distance(pose)[:, joint], 1.0 - FALSE_ALARMS) for model in models
        ]
        cells = []
        for angle in ANGLES_DEG:
            axes = rng.normal(size=(len(pose.rotations), 3))
            turns = quat.exp(np.radians(angle) * axes / np.linalg.norm(axes, axis=1)[:, None])
            rotations = pose.rotations.copy()
            rotations[:, joint] = quat.mul(rotations[:, joint], turns)
            wrong = Pose(rotations, pose.positions)
            found, found_before = (
                model.distance(wrong)[:, joint] > level
                for model, level in zip(models, levels, strict=True)
            )
            gain = found.astype(float) - found_before
            shares = {
                person: [(gain[owner == person].sum(), (owner == person).sum())]
                for person in people
            }
            cells.append(f"{100.0 * found_before.mean():>13.1f}{mean_of_people(shares):>17}")
        print(f"{joint_name(role).split()[-1]:<12}{''.join(cells)}", flush=True)


def print_signs(folder: Path, people: dict[str, list[str]]) -> None:
    """Print signs of capture faults, from which `capture_faults.csv` was made; uses no limits.

    These are elbows and knees more than 25 degrees beyond straight, heads, chests and feet more
    than 110 degrees from rest, each in over 2 % of frames, and feet whose median is rotated or
    tilted by more than 30 degrees.
    """
    for person, names in people.items():
        for clip in clips_of(folder, names):
            try:
                alignment = align(recognize(clip.skeleton), [clip])
            except ValueError:
                continue
            signs = []
            for role, path in alignment.canonical_rotations(clip.pose).items():
                angles_deg = np.degrees(quat.angle_between(quat.IDENTITY, path))
                most_deg = 110.0
                _, bone = split_role(role)
                if bone in HINGES:
                    along = quat.rotate(path, BONE_DIRECTIONS[role])
                    bend = np.arctan2(along @ HINGES[bone], along @ BONE_DIRECTIONS[role])
                    angles_deg, most_deg = -np.degrees(bend), 25.0
                elif bone not in ("chest", "head", "Foot"):
                    continue
                if (share := (angles_deg > most_deg).mean()) > 0.02:
                    signs.append(f"{role} beyond {most_deg:.0f} in {share:.0%}")
                _, turned, tilted = np.degrees(np.quantile(quat.log(path), 0.5, axis=0))
                if bone == "Foot" and max(abs(turned), abs(tilted)) > 30.0:
                    signs.append(f"{role} median rotated {turned:.0f}, tilted {tilted:.0f}")
            if signs:
                print(f"{person}, {Path(clip.name).stem}: {'; '.join(signs)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument(
        "--sources", type=lambda text: text.split(","), default=["possible", "usual"]
    )
    parser.add_argument("--half", choices=("A", "B", "both"), default="both")
    parser.add_argument("--step", type=int, default=10)
    parser.add_argument("--descriptions", type=Path)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for half in ("A", "B") if options.half == "both" else (options.half,):
        people = people_of(options.clips, half)
        if options.faults:
            print_signs(options.clips, people)
            continue
        if options.against is not None:
            left = load_limits(options.against)
            old = LimitModel(both_sides(left.limits), canonical_skeleton())
            for source in options.sources:
                print(f"\nhalf {half}, {source}: wrong joints found, %")
                print_detection(options.clips, people, source, old, 6 * options.step)
            continue
        faults = read_faults()
        for source, judged in judge(options.clips, people, options.sources, options.step).items():
            print(f"\nhalf {half}, {source}: {len(people)} people, {len(judged)} clips outside, %")
            print_shares(judged, faults)
            if options.descriptions is not None:
                print_everyday([clip.without(faults) for clip in judged], options.descriptions)


if __name__ == "__main__":
    main()
