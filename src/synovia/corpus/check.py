"""Checking a corpus: violations by clip, joint and person, as a table and as a page."""

from __future__ import annotations

import html
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..io import load_clip, load_limits
from ..model import LimitModel
from ..skeleton import Clip, names_in
from ..text import csv_text, error_text, percent, printable
from .store import Task, TaskOutcome

EDGES_DEG = (1.0, 2.0, 5.0, 10.0, 20.0, 45.0, 90.0)
"""Upper ends of the bars of a histogram of violations, in degrees; the last bar is open."""


@dataclass(frozen=True)
class Row:
    """One joint in one clip; angles are true rotation angles, in degrees."""

    clip: str
    performer: str
    joint: str
    frames: int
    outside: int
    share: float
    worst_deg: float
    worst_frame: int
    mean_deg: float
    histogram: tuple[int, ...]
    """Number of frames outside in each bar of `EDGES_DEG`, and beyond the last."""


@dataclass(frozen=True, eq=False)
class ClipCheck:
    """Result of the check of one clip."""

    rows: tuple[Row, ...]
    listed: tuple[int, ...]
    """The frames in which some joint is outside."""


def check_work(names: dict[str, str], limits: str, task: Task) -> TaskOutcome:
    """Check one clip against the limits in a file, in any process; never raises ValueError."""
    try:
        model = _load_model(limits, os.stat(limits).st_mtime_ns)
        clip = replace(load_clip(task.place, skeleton=task.skeleton), name=task.name)
        return TaskOutcome(task, check_clip(model, clip, task.performer, names))
    except (ValueError, OSError) as error:
        return TaskOutcome(task, error=error_text(error))


@lru_cache(maxsize=1)
def _load_model(path: str, _modified: int) -> LimitModel:
    return load_limits(path)


def check_clip(model: LimitModel, clip: Clip, performer: str, names: dict[str, str]) -> ClipCheck:
    """Return how far, where and how often the joints of a clip are outside."""
    report = model.check(clip, names=names_in(names, clip.skeleton))
    if not report.names:
        raise ValueError(f"{clip.name}: no joint of this clip has a limit")
    pairs = zip(report.names, report.violation.T, report.outside.T, strict=True)
    histograms = {
        name: tuple(
            np.bincount(
                np.searchsorted(EDGES_DEG, np.degrees(violation[outside])),
                minlength=len(EDGES_DEG) + 1,
            ).tolist()
        )
        for name, violation, outside in pairs
    }
    rows = tuple(
        Row(
            clip.name,
            performer,
            row.name,
            clip.frames,
            row.frames,
            row.share,
            float(np.degrees(row.worst)),
            row.worst_frame,
            float(np.degrees(row.mean)),
            histograms[row.name],
        )
        for row in report.joints
    )
    listed = tuple(np.flatnonzero(report.outside.any(axis=1)).tolist())
    return ClipCheck(rows, listed)


def table_csv(rows: Iterable[Row]) -> str:
    """Return the rows as CSV, with a column for each bar of the histogram."""
    plain = [name for name in Row.__dataclass_fields__ if name != "histogram"]
    cells = ([*(getattr(row, name) for name in plain), *row.histogram] for row in rows)
    return csv_text([[*plain, *bar_names()], *cells])


def bar_names() -> list[str]:
    """Return the names of the columns of a histogram."""
    lows = (0.0, *EDGES_DEG)
    return [
        *(f"deg_{low:g}_to_{high:g}" for low, high in zip(lows, EDGES_DEG, strict=False)),
        f"deg_above_{EDGES_DEG[-1]:g}",
    ]


def frames_csv(checks: Iterable[tuple[str, ClipCheck]]) -> str:
    """Return the frames in which some joint is outside: clip, frame."""
    rows = ((clip, frame) for clip, check in checks for frame in check.listed)
    return csv_text([("clip", "frame"), *rows])


STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{padding:.25rem .6rem;text-align:right}
th{border-bottom:2px solid #888;font-weight:600}td{border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}.bar{fill:#c2410c}.note{color:#666}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}td{border-color:#333}}
"""
MAX_CLIPS = 24  # clips that the page shows, the worst first


def report_page(checks: Sequence[ClipCheck], limits: str, failed: Sequence[str]) -> str:
    """Return a page without outside references: by joint, by performer, and the worst clips."""
    rows = [row for check in checks for row in check.rows]
    clips = len(checks)
    frames = sum(check.rows[0].frames for check in checks)
    bad = sum(len(check.listed) for check in checks)
    worst = sorted(
        (check for check in checks if check.listed),
        key=lambda check: -check.rows[0].worst_deg,
    )
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{_text(limits)}: what is outside</title><style>{STYLE}</style>",
        f"<h1>{clips} clips against {_text(limits)}</h1>",
        f"<p>{len(worst)} of {clips} clips and {bad:,} of {frames:,} frames "
        f"({percent(bad / max(frames, 1))}) have a joint outside. Angles are those from "
        "each rotation to the nearest legal one.</p>",
        *([f"<p class='note'>Not read: {_text('; '.join(failed[:20]))}</p>"] if failed else []),
        "<h2>By joint, the worst first</h2>",
        _group_table(rows, "joint", lambda row: row.joint),
        "<h2>By performer</h2>",
        _group_table(rows, "performer", lambda row: row.performer),
        f"<h2>The worst clips{f', {MAX_CLIPS} of {len(worst)}' if len(worst) > MAX_CLIPS else ''}"
        "</h2>",
        _clip_table(worst[:MAX_CLIPS]),
        "</html>",
    ]
    return "\n".join(parts)


def _group_table(rows: Sequence[Row], title: str, key: Callable[[Row], str]) -> str:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    lines = [
        f"<table><tr><th>{title}<th>joints × frames<th>outside<th>share<th>worst deg<th>in<th>"
        f"deg outside, {' · '.join(f'{edge:g}' for edge in EDGES_DEG)}</tr>"
    ]
    for name, members in sorted(
        groups.items(), key=lambda item: -max(r.worst_deg for r in item[1])
    ):
        outside, frames = sum(row.outside for row in members), sum(row.frames for row in members)
        peak = max(members, key=lambda row: row.worst_deg)
        where = f"{_text(peak.clip)}, frame {peak.worst_frame}" if outside else ""
        bars = np.sum([row.histogram for row in members], axis=0).tolist()
        lines.append(
            f"<tr><td>{_text(name)}<td>{frames:,}<td>{outside:,}<td>"
            f"{percent(outside / max(frames, 1))}"
            f"<td>{peak.worst_deg:.1f}<td>{where}<td>{_histogram(bars)}</tr>"
        )
    return "\n".join([*lines, "</table>"])


def _histogram(bars: Sequence[int]) -> str:
    """Return bars as SVG, on a logarithmic scale, since few frames are far outside."""
    tall = np.log1p(np.array(bars, float))
    heights = 22.0 * tall / max(float(tall.max()), 1e-9)
    drawn = "".join(
        f"<rect class='bar' x='{12 * k}' y='{24 - h:.1f}' width='10' height='{h:.1f}'>"
        f"<title>{count:,} frames</title></rect>"
        for k, (h, count) in enumerate(zip(heights.tolist(), bars, strict=True))
    )
    return f"<svg width='{12 * len(bars)}' height='24' role='img'>{drawn}</svg>"


def _clip_table(checks: Sequence[ClipCheck]) -> str:
    lines = ["<table><tr><th>clip<th>joint<th>worst deg<th>at frame<th>frames outside</tr>"]
    for check in checks:
        row = check.rows[0]
        lines.append(
            f"<tr><td>{_text(row.clip)}<td>{_text(row.joint)}<td>{row.worst_deg:.1f}"
            f"<td>{row.worst_frame}<td>{len(check.listed):,} of {row.frames:,}</tr>"
        )
    return "\n".join([*lines, "</table>"])


def _text(value: str) -> str:
    return html.escape(printable(value))
