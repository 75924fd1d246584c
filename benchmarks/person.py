"""Measure the accuracy of `fit_figure`: known parameters with noise, and captures of CMU.

    python benchmarks/person.py                  # made people
    python benchmarks/person.py markers 20       # made people with three markers a segment
    python benchmarks/person.py CLIPS 02 16 35   # clips CLIPS/02_*.bvh, …: what is left

Prints for made people how far lengths, joint centres and hinge axes are off, and before the fit:
with noise of 1 degree and 5 mm, root mean squares, and again with as much along each axis.
For markers, of which only the segments are known and which have 5 mm of noise along each axis, it
prints how far lengths are off, and how many of these errors are within their standard errors.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from synovia import Figure, human, load_clip, quat
from synovia.anatomy import MarkerTracks, Observations, fit_figure
from synovia.anatomy.bundle_adjustment import BundleProblem, human_parameters
from synovia.anatomy.observations import middle_of
from synovia.skeleton import forward

SIDES = ("Left", "Right")
POINTS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
TURNS = ("UpperArm", "LowerArm", "Forearm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
LENGTHS = ("LowerArm", "Hand", "LowerLeg", "Foot", "Toes")
"""Segments whose joint is at the end of a bone: its length is one of a segment."""
FIRST, PERFORMERS, FRAMES = 30, 4, 150
BARS = {
    "lengths": (0.01, 100.0, "%"),
    "centers": (0.01, 1e3, "mm"),
    "axes": (np.radians(3.0), 57.3, "degrees"),
}
"""Largest allowed error, and the unit in which it is printed."""


def make_person(seed: int, frames: int, noise: float = 1.0) -> tuple[Figure, Observations]:
    """Return a figure with parameters changed by half a spread, and observations with noise.

    Controls are about neutral, by a fifth of their ranges; `noise` is in degrees, and times 5 mm,
    along each axis.
    """
    rng, base = np.random.default_rng(seed), human()
    parameters = human_parameters(base)
    nothing = Observations(
        *((), np.zeros((1, 0, 3)), (), np.zeros((0, 3)), np.zeros(0)),
        *(np.zeros((1, 0, 4)), (), np.zeros(0)),
    )
    blank = BundleProblem(base, parameters, nothing)
    true = blank.figure_at(blank.start + 0.5 * blank.spread * rng.normal(size=len(blank.start)))
    low, neutral, high = true.ranges
    shares = (neutral - low) / (high - low) + 0.2 * rng.normal(size=(frames, len(low)))
    pose = true.pose(low + (high - low) * np.clip(shares, 0.02, 0.98))
    where, how = forward(true.skeleton, pose)
    turn = quat.exp(rng.normal(size=(frames, 1, 3)) * [0.2, 2.0, 0.2])
    where = quat.rotate(turn, where) + rng.normal(size=(frames, 1, 3))
    how = quat.mul(turn, how)
    points = [*(side + name for side in SIDES for name in POINTS), "Pelvis", "T12", "C7", "Head"]
    turns = [*(side + name for side in SIDES for name in TURNS), "Pelvis", "Sternum", "Head"]
    at, of = ([true.skeleton.index(name) for name in names] for names in (points, turns))
    shift = 0.005 * noise * rng.normal(size=(frames, len(points), 3))
    twist = np.radians(noise) * rng.normal(size=(frames, len(turns), 3))
    return true, Observations(
        *(tuple(points), where[:, at] + shift, tuple(points)),
        *(np.zeros((len(points), 3)), np.zeros(len(points))),
        *(quat.mul(how[:, of], quat.exp(twist)), tuple(turns), np.zeros(len(turns))),
    )


def errors_of(true: Figure, fitted: Figure) -> dict[str, dict[str, float]]:
    """Return errors of lengths (shares), centres (metres) and hinge axes (radians), by name."""
    lengths, centers, axes = {}, {}, {}
    for parameter in human_parameters(human()):
        if parameter.is_center:
            (segment,) = parameter.segments
            joint = true.skeleton.index(segment)
            a, b = fitted.skeleton.offsets[joint], true.skeleton.offsets[joint]
            centers[segment] = float(np.linalg.norm(a - b))
            if segment.endswith(LENGTHS):
                lengths[segment] = float(abs(np.linalg.norm(a) / np.linalg.norm(b) - 1.0))
        elif parameter.name.endswith(".axis"):
            part = parameter.fields[0].partition(".")[0]
            a, b = (
                figure.joint_sets[parameter.joint_set].network.components[part].parameters()["axis"]
                for figure in (fitted, true)
            )
            axes[parameter.name] = float(np.arccos(np.clip(a @ b, -1.0, 1.0)))
    return {"lengths": lengths, "centers": centers, "axes": axes}


def made_people(noise: float) -> None:
    """Print the errors of fits to synthetic people."""
    every: dict[str, list[float]] = {kind: [] for kind in BARS}
    for seed in range(FIRST, FIRST + PERFORMERS):
        true, seen = make_person(seed, FRAMES, noise)
        start = time.process_time()
        found = fit_figure(seen, frames=FRAMES)
        spent = time.process_time() - start
        before, after = errors_of(true, human(found.height)), errors_of(true, found.figure)
        for kind, (_, scale, unit) in BARS.items():
            mean, worst = (scale * f(list(after[kind].values())) for f in (np.mean, np.max))
            at_first = scale * np.max(list(before[kind].values()))
            name = max(after[kind], key=after[kind].__getitem__)
            every[kind] += after[kind].values()
            print(
                f"person {seed} {kind}: mean {mean:.2f} {unit}, worst {worst:.2f} {unit} ({name}), "
                f"worst at first {at_first:.1f}",
                flush=True,
            )
        print(
            f"  {spent:.0f} s of processor time, {found.left_out} of {found.frames} frames left out"
        )
    for kind, (bar, scale, unit) in BARS.items():
        share, worst = np.mean(np.array(every[kind]) <= bar), scale * max(every[kind])
        print(
            f"{kind}: {100 * share:.0f} % of {len(every[kind])} within {scale * bar:.0f} {unit}, "
            f"worst {worst:.1f}"
        )


def mark(true: Figure, frames: int, seed: int) -> tuple[MarkerTracks, dict[str, tuple[str, None]]]:
    """Return tracks of three markers at random places on each segment, and their segments."""
    rng = np.random.default_rng(seed)
    low, neutral, high = true.ranges
    shares = (neutral - low) / (high - low) + 0.2 * rng.normal(size=(frames, len(low)))
    pose = true.pose(low + (high - low) * np.clip(shares, 0.02, 0.98))
    where, how = forward(true.skeleton, pose)
    turn = quat.exp(rng.normal(size=(frames, 1, 3)) * [0.2, 2.0, 0.2])
    where, how = quat.rotate(turn, where), quat.mul(turn, how)
    segments = ["Pelvis", "Sternum", "Head"]
    segments += [side + name for side in SIDES for name in POINTS if name != "Toes"]
    table: dict[str, tuple[str, None]] = {}
    points = []
    for segment in segments:
        joint = true.skeleton.index(segment)
        for number in range(3):
            along = (number + 0.5) / 1.5 * middle_of(segment)
            place = along + rng.normal(size=3) * [0.05, 0.02, 0.05]
            table[f"{segment}{number}"] = segment, None
            shift = 0.005 * rng.normal(size=(frames, 3))
            points.append(where[:, joint] + quat.rotate(how[:, joint], place) + shift)
    return MarkerTracks(tuple(table), np.stack(points, axis=1)), table


def marked_people(count: int) -> None:
    """Print the errors of lengths of synthetic people with markers."""
    errors, ratios = [], []
    for seed in range(count):
        true, _ = make_person(seed, 1)
        tracks, table = mark(true, FRAMES, seed)
        found = fit_figure([tracks], frames=FRAMES, markers=table)
        for name in (side + end for side in SIDES for end in LENGTHS if end != "Toes"):
            _, length, error = found.lengths[name]
            off = length - np.linalg.norm(true.skeleton.offsets[true.skeleton.index(name)])
            errors.append(100.0 * abs(off) / (length - off))
            ratios.append(abs(off) / error)
        print(f"person {seed}: lengths off by at most {max(errors[-8:]):.1f} %", flush=True)
    within, inside = (
        100.0 * np.mean(np.array(errors) <= 2.0),
        100.0 * np.mean(np.array(ratios) <= 1),
    )
    print(f"{within:.0f} % of lengths within 2 %, {inside:.0f} % within their standard errors")


def captured_people(folder: Path, people: list[str]) -> None:
    """Print residuals of captures before and after the fit."""
    for person in people:
        clips = [load_clip(path) for path in sorted(folder.glob(f"{person}_*.bvh"))]
        found = fit_figure(clips)
        for what, scale, unit in (("shift", 1e3, "mm"), ("angle", 57.3, "degrees")):
            before, after = (
                scale * np.sqrt(np.nanmean([getattr(each, what) ** 2 for each in part.values()]))
                for part in (found.before, found.after)
            )
            print(f"{person}: {before:.1f} -> {after:.1f} {unit}", flush=True)
        print(f"  {len(clips)} clips, {found.left_out} of {found.frames} frames left out")


if __name__ == "__main__":
    if sys.argv[1:2] == ["markers"]:
        marked_people(int(sys.argv[2]))
    elif len(sys.argv) > 1:
        captured_people(Path(sys.argv[1]), sys.argv[2:])
    else:
        for each in (3.0**-0.5, 1.0):
            print(f"noise of {each:.2f} degrees and {5 * each:.1f} mm along each axis")
            made_people(each)
