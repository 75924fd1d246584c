"""Measure the surfaces of the page: from an edit to the new mesh of a limit, by family.

python benchmarks/page.py [CLIP JOINT]

Limits are fitted to 400 rotations at random, or to those of a joint in a clip. Each edit is one
that a person makes while dragging: a point of a cone is moved, a field brushed, a table given a
sample in a new cell, a table or a convex shape more margin. Counted are the edit with the new
limit, and what the page is told at every step: the draft of both pictures, directions and
rotations, and about what share of all rotations the limit allows. Nothing is cached: every limit is
a new one, and makes the tables that its verbs need anew; they are counted, and shown for
themselves. The fine pictures follow when the drag ends, and have no bar.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from synovia import DistanceField, Limit, ReachCone, ThetaPhi, Union, load_clip, quat
from synovia.arrays import Quats
from synovia.edit import add, brush
from synovia.edit.reach_cone import move_point
from synovia.mesh import DRAFT, FINE, Quality, sheet_and_boundary
from synovia.view.display import SHARE_SAMPLES

BAR = 16.0  # ms, a frame at 60 Hz
EDITS = 30
AXIS = np.array([0.0, 0.6, 0.8])
REFERENCE = quat.exp(np.array([0.3, -0.2, 0.5]))

Edit = Callable[[Limit, int], Limit]


def at_random() -> Quats:
    """Return 400 rotations with standard deviations of 29, 17 and 11 degrees."""
    spread = np.random.default_rng(0).normal(size=(400, 3)) * [0.5, 0.3, 0.2]
    return quat.mul(REFERENCE, quat.exp(spread))


def families(rotations: Quats) -> Iterator[tuple[str, Limit, Edit]]:
    """Yield limits of every family around the rotations, and their edits."""

    def fit(family: str, chart: str, **options: object) -> Limit:
        axis = AXIS if chart in ("swing-twist", "direction-twist") else None
        return Limit.fit(rotations, family, chart, axis=axis, **options)

    yield "box", fit("box", "rotation-vector", along="chart"), grown
    yield "oriented box", fit("box", "rotation-vector"), grown
    yield "swing-twist box", fit("box", "swing-twist", along="chart"), grown
    for chart in ("rotation-vector", "swing-twist"):
        yield f"ellipsoid, {chart}", fit("ellipsoid", chart), grown
        yield f"k-DOP, {chart}", fit("kdop", chart), grown
    yield "product, swing-twist", fit("product", "swing-twist"), grown
    cone = fit("reach-cone", "direction-twist")
    yield "reach cone", cone, pointed
    yield "union of cones", fit("union", "direction-twist"), pointed
    table = fit("theta-phi", "direction-twist")
    if not isinstance(table.shape, ThetaPhi):
        raise ValueError(f"a table is needed, got {table.shape.name}")
    yield "theta-phi table, margin", table, grown
    yield "theta-phi table, sample", table, sampled(table.shape)
    for chart in ("rotation-vector", "swing-twist", "euler"):
        yield f"field 32³, {chart}", fit("distance-field", chart), stroked


def grown(limit: Limit, number: int) -> Limit:
    """Return the limit with a little more margin."""
    return limit.grow(0.001 * (number + 1))


def pointed(limit: Limit, number: int) -> Limit:
    """Return the limit with a point of its cone moved towards the visible one."""
    shape = limit.shape
    cone = shape.parts[0] if isinstance(shape, Union) else shape
    if not isinstance(cone, ReachCone):
        raise ValueError(f"a cone is needed, got {cone.name}")
    which = number % len(cone.points)
    point = cone.points[which] + 0.005 * (number + 1) * (cone.visible - cone.points[which])
    moved = move_point(cone, which, point / np.linalg.norm(point))
    edited = Union((moved, *shape.parts[1:])) if isinstance(shape, Union) else moved
    return replace(limit, shape=edited)


def sampled(table: ThetaPhi) -> Edit:
    """Return the edits that add a sample next to the legal cells of a table."""
    directions = np.random.default_rng(0).normal(size=(EDITS + 2, 500, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    points = np.concatenate([directions, np.full((*directions.shape[:2], 1), 0.1)], axis=-1)
    away = np.where(table.contains_direction(directions), np.inf, table.distance(points))
    beside = np.take_along_axis(points, away.argmin(axis=1)[:, None, None], axis=1)
    return lambda limit, number: replace(limit, shape=add(table, beside[number]))


def stroked(limit: Limit, number: int) -> Limit:
    """Return the limit with its field pushed out or pulled in by a brush."""
    field = limit.shape
    if not isinstance(field, DistanceField):
        raise ValueError(f"a field is needed, got {field.name}")
    middle = field.bounds.mean(axis=0)
    place = middle + 0.6 * (field.bounds[1] - middle) * np.cos(0.7 * number + np.arange(3))
    return replace(limit, shape=brush(field, place, 0.3, 0.05 * (-1.0) ** number))


def draw(limit: Limit, quality: Quality) -> None:
    """Compute everything that the page receives about a limit."""
    sheet_and_boundary(limit, AXIS, quality)
    limit.volume(SHARE_SAMPLES)


def line(limit: Limit, edit: Edit) -> str:
    """Return the times of edits of a limit, in ms: median, maximum, and parts.

    Drawn twice, the second time without the tables that `contains` has made by then.
    """
    times = np.zeros((EDITS, 4))
    draw(edit(limit, EDITS), DRAFT)
    for number in range(EDITS):
        times[number, 0] = time.perf_counter()
        edited = edit(limit, number)
        for column in (1, 2, 3):
            times[number, column] = time.perf_counter()
            if column < 3:
                draw(edited, DRAFT)
    edits, firsts, seconds = 1e3 * np.diff(times, axis=1).T
    start = time.perf_counter()
    draw(edit(limit, EDITS + 1), FINE)
    fine = 1e3 * (time.perf_counter() - start)
    total = edits + firsts
    tables = max(float(np.median(firsts - seconds)), 0.0)
    return (
        f"{np.median(edits):>8.1f}{tables:>8.1f}{np.median(firsts) - tables:>8.1f}"
        f"{np.median(total):>8.1f}{total.max():>8.1f}{np.median(total) / BAR:>8.2f}{fine:>8.0f}"
    )


def main() -> None:
    """Print the table."""
    rotations = at_random()
    if len(sys.argv) > 1:
        clip = load_clip(Path(sys.argv[1]))
        rotations = clip.pose.rotations[:, clip.skeleton.index(sys.argv[2])]
    titles = ("edit", "tables", "draft", "median", "worst", "of bar", "fine")
    print(f"{'ms, bar ' + f'{BAR:.0f}':<28}" + "".join(f"{title:>8}" for title in titles))
    for name, limit, edit in families(rotations):
        print(f"{name:<28}{line(limit, edit)}", flush=True)


if __name__ == "__main__":
    main()
