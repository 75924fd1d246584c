"""Edits of reach cones: vertices, visible point, twists; smoothing, simplification, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np

from ..arrays import TURN, Floats, Points, Vectors, floats, unit_vectors
from ..shapes import ReachCone, Region, Union
from ..shapes.directional import angle_between, unit_directions
from ..shapes.reach_cone.cone import LEAST_POINTS
from ..shapes.reach_cone.star import (
    StarError,
    broken_edge,
    nearest_on_edges,
    polar,
    slice_rows,
)

ALPHA = {3: 0.1667, 4: 0.1036, 5: 0.0850, 6: 0.0773, 7: 0.0700}
ALPHA_BEYOND = 0.0625
"""How far a new vertex bulges, by the number of vertices before (Wilhelms & Van Gelder)."""
OPPOSITE = 1e-6  # radians from -visible within which the azimuth is undefined
THIN = 0.01  # radians of azimuth; limits of the twist could jump within a thinner slice


@singledispatch
def cones(shape: Region) -> tuple[ReachCone, ...]:
    """Return the reach cones that the shape is made of, by default none."""
    return ()


@cones.register
def _(shape: ReachCone) -> tuple[ReachCone, ...]:
    return (shape,)


@cones.register
def _(shape: Union) -> tuple[ReachCone, ...]:
    return shape.parts


@singledispatch
def with_cones(shape: Region, parts: Sequence[ReachCone]) -> Region:
    """Return the shape with other reach cones in place of its `cones`."""
    raise ValueError(f"only reach cones have points, this limit is a {shape.name}")


@with_cones.register
def _(shape: ReachCone, parts: Sequence[ReachCone]) -> Region:
    (cone,) = parts
    return cone


@with_cones.register
def _(shape: Union, parts: Sequence[ReachCone]) -> Region:
    return Union(tuple(parts))


def add_point(cone: ReachCone, point: Vectors, index: int | None = None) -> ReachCone:
    """Return the cone with a vertex at `point`, as number `index` or in the edge nearest to it.

    Its twist limits are those that its two neighbours have halfway.
    """
    point = _direction(point)
    n = len(cone.points)
    if index is None:
        index = int(nearest_on_edges(cone.points, point)[1]) + 1
    if not 0 <= index <= n:
        raise ValueError(f"a point can be added as number 0 to {n}, got {index}")
    points = np.insert(cone.points, index, point, axis=0)
    low, high = (
        np.insert(limits, index, 0.5 * (limits[index - 1] + limits[index % n]))
        for limits in (cone.low, cone.high)
    )
    return replace(cone, points=points, low=low, high=high)


def move_point(cone: ReachCone, index: int, point: Vectors) -> ReachCone:
    """Return the cone with vertex `index` at `point`, its twist limits as they are."""
    index = _vertex(cone, index)
    points = cone.points.copy()
    points[index] = _direction(point)
    return replace(cone, points=points)


def delete_point(cone: ReachCone, index: int) -> ReachCone:
    """Return the cone without vertex `index`; three must stay."""
    index = _vertex(cone, index)
    if len(cone.points) <= LEAST_POINTS:
        raise ValueError(f"a cone needs at least {LEAST_POINTS} points: point {index} must stay")
    points = np.delete(cone.points, index, axis=0)
    return replace(
        cone, points=points, low=np.delete(cone.low, index), high=np.delete(cone.high, index)
    )


def set_visible(cone: ReachCone, visible: Vectors) -> ReachCone:
    """Return the cone with another visible point, which must see every vertex."""
    return replace(cone, visible=_direction(visible))


def set_twist(cone: ReachCone, low: float, high: float, index: int | None = None) -> ReachCone:
    """Return the cone with these twist limits, in radians, at vertex `index`.

    Without a number, they are those at the visible point.
    """
    if index is None:
        return replace(cone, visible_low=low, visible_high=high)
    index = _vertex(cone, index)
    lows, highs = cone.low.copy(), cone.high.copy()
    lows[index], highs[index] = float(floats("low", low)), float(floats("high", high))
    return replace(cone, low=lows, high=highs)


def _vertex(cone: ReachCone, index: int) -> int:
    if not 0 <= index < len(cone.points):
        raise ValueError(f"no point {index}; this cone has points 0 to {len(cone.points) - 1}")
    return int(index)


def _direction(point: Vectors) -> Vectors:
    direction = unit_directions("point", point)
    if direction.shape != (3,):
        raise ValueError(f"point must have shape (3,), got {direction.shape}")
    return direction


def stereographic(points: Vectors, visible: Vectors) -> Floats:
    """Return points of the unit sphere in the plane that touches it at `visible`, (..., 3).

    They are seen from the opposite point, which has no place in the plane.
    """
    share = 2.0 / (1.0 + points @ visible)[..., None]
    return np.asarray(share * points - (1.0 - share) * visible)


def from_stereographic(plane: Floats, visible: Vectors) -> Vectors:
    """Return the points of the sphere that `stereographic` gives."""
    away = plane - visible
    share = 4.0 / (4.0 + np.sum(away * away, axis=-1, keepdims=True))
    return np.asarray(share * plane - (1.0 - share) * visible)


def smooth(cone: ReachCone, rounds: int = 1) -> ReachCone:
    """Return the cone with twice as many vertices each round, on a smoother curve.

    Old vertices stay where they are. New ones have the middle of their neighbours' twist limits,
    since a curve through those could cross. Where a round would break the star, ValueError names
    the edge and the round; the rounds before it are valid: ask for so many.
    """
    if rounds < 0:
        raise ValueError(f"rounds must be at least 0, got {rounds}")
    for done in range(rounds):
        n = len(cone.points)
        points = np.empty((2 * n, 3))
        points[0::2] = cone.points
        points[1::2] = _new_vertices(cone.points, cone.visible)
        broken = broken_edge(points, cone.visible)
        if broken:
            raise StarError(
                f"round {done + 1} of smoothing breaks the star: {broken.why}; "
                f"{done} round{'' if done == 1 else 's'} can be done",
                broken,
            )
        low, high = (
            np.stack([limits, 0.5 * (limits + np.roll(limits, -1))], axis=1).ravel()
            for limits in (cone.low, cone.high)
        )
        cone = replace(cone, points=points, low=low, high=high)
    return cone


def _new_vertices(points: Vectors, visible: Vectors) -> Vectors:
    """Return a new vertex after each: the middle, pushed out by how the neighbours bend."""
    plane = stereographic(points, visible)
    alpha = ALPHA.get(len(points), ALPHA_BEYOND)
    before, after, second = (np.roll(plane, shift, axis=0) for shift in (1, -1, -2))
    middle = 0.5 * (plane + after) + alpha * (after - before) + alpha * (plane - second)
    return from_stereographic(middle, visible)


def relax(cone: ReachCone, rounds: int = 1) -> ReachCone:
    """Return the cone with each vertex moved half of the way to the middle of its neighbours.

    Their number stays, spikes and dents go; twist limits follow likewise. A round draws the
    outline in where it bulges. Where one would break the star, ValueError names the edge.
    """
    if rounds < 0:
        raise ValueError(f"rounds must be at least 0, got {rounds}")
    for done in range(rounds):
        points = from_stereographic(_calm(stereographic(cone.points, cone.visible)), cone.visible)
        broken = broken_edge(points, cone.visible)
        if broken:
            raise StarError(f"round {done + 1} of relaxing breaks the star: {broken.why}", broken)
        cone = replace(cone, points=points, low=_calm(cone.low), high=_calm(cone.high))
    return cone


def _calm(rows: Floats) -> Floats:
    return np.asarray(0.5 * rows + 0.25 * (np.roll(rows, 1, axis=0) + np.roll(rows, -1, axis=0)))


def simplify(cone: ReachCone, tolerance: float) -> ReachCone:
    """Return the cone without vertices that the others make up for, to `tolerance` radians.

    Every vertex that is left out is as near to the new outline, and so are its twist limits to
    those there. The one that matters least goes first; three stay, and so does the star.
    """
    if not tolerance >= 0.0:
        raise ValueError(f"tolerance must be at least 0 radians, got {tolerance}")
    kept = list(range(len(cone.points)))
    errors = {at: _omission(cone, kept, at) for at in kept}
    while len(kept) > LEAST_POINTS:
        number = min(errors, key=lambda each: errors[each])
        if errors[number] > tolerance:
            break
        place = kept.index(number)
        fewer = kept[:place] + kept[place + 1 :]
        if broken_edge(cone.points[fewer], cone.visible):
            errors[number] = np.inf
            continue
        del errors[number]
        kept = fewer
        for beside in (kept[place - 1], kept[place % len(kept)]):
            errors[beside] = _omission(cone, kept, beside)
    return replace(cone, points=cone.points[kept], low=cone.low[kept], high=cone.high[kept])


def _omission(cone: ReachCone, kept: Sequence[int], number: int) -> float:
    """Return how far off, in radians, the outline is where vertex `number` is left out, too."""
    place, n = kept.index(number), len(cone.points)
    start, end = kept[place - 1], kept[(place + 1) % len(kept)]
    gone = (start + 1 + np.arange((end - start - 1) % n)) % n
    ends = cone.points[[start, end]]
    feet, _ = nearest_on_edges(ends, cone.points[gone])
    share = angle_between(ends[0], feet) / max(float(angle_between(ends[0], ends[1])), 1e-12)
    off = [angle_between(cone.points[gone], feet)]
    for limits in (cone.low, cone.high):
        off.append(np.abs(limits[gone] - (limits[start] + share * (limits[end] - limits[start]))))
    return float(np.max(off))


def include_sample(cone: ReachCone, point: Points) -> ReachCone:
    """Return a cone that contains the cone and a direction with a twist (4,).

    A direction outside becomes a vertex, or the vertex with nearly the same azimuth moves out.
    Limits of the twist are widened by the smallest sum of squares. ValueError if the direction is
    opposite the visible point.
    """
    if not cone.contains_direction(point[:3]):
        cone = _include_direction(cone, point)
    return _include_twist(cone, point)


def _include_direction(cone: ReachCone, point: Points) -> ReachCone:
    """Return the cone with the direction of `point` on its boundary, and all it held."""
    direction, n = point[:3], len(cone.points)
    azimuth, angle = polar(np.vstack([cone.points, direction]), cone.visible)
    if np.pi - angle[-1] < OPPOSITE:
        raise ValueError(
            "the sample's direction is opposite the visible point, which no cone about that can "
            "hold: move the visible point first"
        )
    number = int(cone.slices(direction))
    after = (number + 1) % n
    share = _shares(cone, number, direction)
    aside = np.abs(azimuth[[number, after]] - azimuth[-1])
    aside = np.minimum(aside, TURN - aside)
    if aside.min() >= THIN:
        points = np.insert(cone.points, number + 1, direction, axis=0)
        lows, highs = (np.insert(limits, number + 1, 0.0) for limits in (cone.low, cone.high))
        place, around = number + 1, [number, after]
    else:
        # The direction is then on the edge from the vertex's new place to the other one.
        share[2 - int(aside.argmin())] = 0.0
        place = (number, after)[int(aside.argmin())]
        moved = share @ np.stack([cone.visible, *cone.points[[number, after]]])
        share /= np.linalg.norm(moved)
        points, lows, highs = cone.points.copy(), cone.low.copy(), cone.high.copy()
        points[place] = unit_vectors(moved)
        around = [place - 1, place, (place + 1) % n]
    corners = [number, after]
    low, fall = _needed_limits(share, -cone.visible_low, -cone.low[corners], -cone.low[around])
    high, rise = _needed_limits(share, cone.visible_high, cone.high[corners], cone.high[around])
    if -low <= high:
        lows[place], highs[place] = -low, high
    else:  # crossed twice: the twist between them that is nearest to the sample's
        middle = 0.5 * (cone.visible_low + cone.visible_high)
        twist = point[3] - TURN * np.rint((point[3] - middle) / TURN)
        lows[place] = highs[place] = np.clip(twist, high, -low)
    if cone.is_free:  # and stays so, whatever was rounded
        lows[place], highs[place], fall, rise = cone.low[number], cone.high[number], 0.0, 0.0
    return replace(
        cone,
        points=points,
        low=lows,
        high=highs,
        visible_low=cone.visible_low - fall,
        visible_high=cone.visible_high + rise,
    )


def _needed_limits(
    share: Floats, at_visible: float, corners: Floats, around: Floats
) -> tuple[float, float]:
    """Return the least upper limit of a new vertex, and the rise of the visible point's, radians.

    `share` (3,) are the coefficients (α, β, γ) of the vertex D = αV + βP + γQ, with V the visible
    point and P, Q the slice's corners; `around` are the limits at vertices of the slices around D.

    In a slice the limit at aV + bP + cQ is the mean (av + bp + cq) / (a + b + c). For D beyond the
    edge (α < 0), the new mean is nowhere below the old one if it is not so at V, P and Q, because
    their difference has the sign of a linear form: h ≥ αv + βp + γq − (α + β + γ − 1) w for the
    limit h at D and w = v, p, q. If that exceeds the limits at all corners, as for a small cone
    and a far sample, the visible point's limit rises too; a rise there counts |α| times.
    """
    limits = np.append(around, at_visible)
    linear = share @ [at_visible, *corners]
    least = float((linear - (share.sum() - 1.0) * limits).max())
    most = float(limits.max())
    lack = max(least - most, 0.0) / (1.0 + share[0] ** 2)
    return min(least, most) + lack, lack * abs(share[0])


def _include_twist(cone: ReachCone, point: Points) -> ReachCone:
    """Return the cone with the limits at a slice's corners wide enough for the sample's twist."""
    if cone.is_free:
        return cone
    number = int(cone.slices(point[:3]))
    corners = [number, (number + 1) % len(cone.points)]
    share = np.maximum(_shares(cone, number, point[:3]), 0.0)
    share /= share.sum()
    low = float(share @ [cone.visible_low, *cone.low[corners]])
    high = float(share @ [cone.visible_high, *cone.high[corners]])
    above = float(np.remainder(point[3] - low, TURN)) - (high - low)
    if above <= 0.0:
        return cone
    below = TURN - (high - low) - above
    widening = share / (share @ share)
    lows, highs = cone.low.copy(), cone.high.copy()
    if above <= below:
        highs[corners] += above * widening[1:]
        return replace(cone, high=highs, visible_high=cone.visible_high + above * widening[0])
    lows[corners] -= below * widening[1:]
    return replace(cone, low=lows, visible_low=cone.visible_low - below * widening[0])


def _shares(cone: ReachCone, number: int, direction: Vectors) -> Floats:
    """Return how much of the visible point and of a slice's two corners a direction is: (3,)."""
    planes = slice_rows(cone.points, cone.visible, cone.low, cone.high)[number]
    heights = planes[:9].reshape(3, 3) @ direction
    depth = planes[6:9] @ cone.visible
    return np.asarray(np.array([heights[2], -heights[1], heights[0]]) / depth)
