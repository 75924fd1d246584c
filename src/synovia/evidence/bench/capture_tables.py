"""What the runs on captures say, in tables beside the source's figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Points, Scalars
from ...clip import Clip
from ...limit import chart_named
from ...quat import mean
from ...shapes.field_build import sample_distance
from .capture import ITSELF, LESSONS, Capture, Run
from .finding import Finding, Table, shortest

SAMPLES, JOINTS = 200, 30
SOURCE_BUILDING = {8: (0.21, 4.0), 16: (1.34, 32.7), 32: (8.30, 262.0)}
"""003, Table I: seconds and kilobytes by nodes a side, for 30 joints of 200 samples."""
SOURCE_WORST_MS = {"box": 100.0, "field, sampled": 50.0}  # 10 and 20 frames a second
SOURCE_WORST_CM = {"box": 20.0}


def finding(capture: Capture) -> Finding:
    """Return tables of deviation, of time a frame, and of building fields, with notes."""
    taught = [lesson for lesson in LESSONS if any(run.lesson == lesson for run in capture.runs)]
    clips = list(dict.fromkeys(run.clip.name for run in capture.runs))
    frames = sum(run.clip.frames for run in capture.of(ITSELF, "box"))
    return Finding(
        "capture",
        (
            *(
                _deviations(capture, part, taught, source)
                for part, source in (("elbow", SOURCE_WORST_CM), ("knee", {}))
            ),
            _times(capture),
            _building(capture),
        ),
        (
            f"{frames} frames of {', '.join(clips)} ({capture.clips_from}), 30 a second, hands, "
            "feet and head driven, the root as captured; each frame starts from the last",
            "lengths as on a person of 175 cm; the source's clip, body and solver are not "
            "published, and its figures are read off its text",
            f"every pose legal by `contains`: {'yes' if _all_legal(capture) else 'NO'}",
        ),
        {
            "clips": clips,
            "frames": frames,
            "legal": _all_legal(capture),
            "runs": [
                _summary(capture.of(lesson, family), lesson, family)
                for lesson in taught
                for family in capture.families
                if capture.of(lesson, family)
            ],
            "building": [
                {"nodes": n, "seconds": seconds, "kilobytes": kilobytes}
                for n, seconds, kilobytes in capture.built
            ],
        },
    )


def built_fields(clip: Clip, grids: Sequence[int]) -> tuple[tuple[int, float, float], ...]:
    """Return nodes a side, seconds and kilobytes of the fields of 30 joints of 200 samples.

    Distances at every node, in the chart of the source; where a clip has fewer joints some are
    built again, where it has fewer frames some are looked at twice.
    """
    frames = np.linspace(0, clip.frames - 1, SAMPLES).astype(int)
    clouds = []
    for k in range(JOINTS):
        joint = k % len(clip.skeleton)
        rotations = clip.pose.rotations[frames, joint]
        chart = chart_named("euler", mean(rotations), None)
        clouds.append(chart.points(rotations))
    found = []
    for n in grids:
        boxes = [(p.min(axis=0) - 0.3, np.ptp(p, axis=0) + 0.6) for p in clouds]
        jobs = [
            (cloud, low, size / (n - 1)) for cloud, (low, size) in zip(clouds, boxes, strict=True)
        ]
        seconds = shortest(partial(_measure_all, jobs, n))
        found.append((n, seconds, 8.0 * n**3 / 1e3))
    return tuple(found)


def _measure_all(jobs: Sequence[tuple[Points, Points, Points]], n: int) -> None:
    for points, low, spacing in jobs:
        sample_distance(points, low, spacing, (n, n, n), np.zeros(3))


def _all_legal(capture: Capture) -> bool:
    return all(run.legal for run in capture.runs)


def _pooled(runs: Sequence[Run], name: str) -> Scalars:
    return np.concatenate([getattr(run, name) for run in runs])


def _spread(values: Scalars) -> tuple[float, float, float]:
    """Return mean, 95th percentile and worst."""
    return float(values.mean()), float(np.quantile(values, 0.95)), float(values.max())


def _summary(runs: Sequence[Run], lesson: str, family: str) -> dict[str, Any]:
    parts = {}
    for part in ("elbow", "knee"):
        mean_, high, worst = _spread(_pooled(runs, f"{part}_cm"))
        parts[f"{part}_cm"] = {"mean": mean_, "95th": high, "worst": worst}
    milliseconds = 1e3 * _pooled(runs, "seconds")
    return {
        "learned_from": lesson,
        "family": family,
        **parts,
        "ms": {
            "median": float(np.median(milliseconds)),
            "95th": float(np.quantile(milliseconds, 0.95)),
            "worst": float(milliseconds.max()),
        },
        "met": float(_pooled(runs, "met").mean()),
        "worst_by_clip": {
            run.clip.name: {
                part: float(getattr(run, part).max()) for part in ("elbow_cm", "knee_cm")
            }
            for run in runs
        },
    }


def _deviations(
    capture: Capture, part: str, taught: Sequence[str], source: dict[str, float]
) -> Table:
    rows = []
    for family in capture.families:
        cells = [family]
        for lesson in taught:
            runs = capture.of(lesson, family)
            spread = _spread(_pooled(runs, f"{part}_cm")) if runs else None
            cells += [f"{v:.1f}" for v in spread] if spread else ["-"] * 3
        cells += [f"{source[family]:.0f}" if family in source else "-"] if source else []
        rows.append(tuple(cells))
    columns = ["family", *[name for _ in taught for name in ("mean", "95th", "worst")]]
    columns += ["source: worst"] if source else []
    return Table(
        f"deviation of the {part} from the capture, cm; limits learned from "
        + ", then from ".join(taught),
        tuple(columns),
        tuple(rows),
    )


def _times(capture: Capture) -> Table:
    rows = []
    for family in capture.families:
        runs = [run for run in capture.runs if run.family == family]
        of = _summary(runs, "", family)
        worst = SOURCE_WORST_MS.get(family)
        rows.append(
            (
                family,
                *(f"{of['ms'][name]:.2f}" for name in ("median", "95th", "worst")),
                f"{100.0 * of['met']:.0f}%",
                "-" if worst is None else f"{worst:.0f}",
            )
        )
    return Table(
        "time a frame, ms, over all lessons, and frames in which every end is met",
        ("family", "median", "95th", "worst", "met", "source: worst"),
        tuple(rows),
    )


def _building(capture: Capture) -> Table:
    rows = []
    for n, seconds, kilobytes in capture.built:
        theirs, stored = SOURCE_BUILDING[n]
        rows.append(
            (f"{n}³", f"{seconds:.3f}", f"{theirs:.2f}", f"{kilobytes:.1f}", f"{stored:.1f}")
        )
    return Table(
        "building fields for 30 joints of 200 samples each",
        ("grid", "s", "source: s", "kB", "source: kB"),
        tuple(rows),
    )
