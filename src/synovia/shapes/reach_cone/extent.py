"""Bounds and volume of a reach cone, and uniform members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import TURN, Floats, Ints, Points, Scalars, Vectors
from .packing import edge_rows
from .star import from_polar, polar

if TYPE_CHECKING:
    from .cone import ReachCone


WIDEST = np.radians(10.0)  # of a sector of the quadrature
NODES = 16


def cone_bounds(cone: ReachCone) -> Points:
    """Return the least and greatest coordinates (2, 4) of directions and twists.

    A coordinate is greatest at a vertex, within an edge, or on its own axis if that is legal.
    """
    edges = edge_rows(cone.points)
    low, high = cone.points.min(axis=0), cone.points.max(axis=0)
    length = np.arctan2(edges[:, 10], edges[:, 9])
    for side in (1.0, -1.0):
        along, across = side * edges[:, 0:3], side * edges[:, 3:6]
        at = np.arctan2(across, along)  # (n, 3): where on the edge's circle it is greatest
        peak = np.where((at >= 0.0) & (at <= length[:, None]), np.hypot(along, across), -1.0)
        top = np.where(cone.contains_direction(side * np.eye(3)), 1.0, peak.max(axis=0))
        low, high = (low, np.maximum(high, top)) if side > 0 else (np.minimum(low, -top), high)
    twist_low = min(float(cone.low.min()), cone.visible_low)
    twist_high = max(float(cone.high.max()), cone.visible_high)
    return np.array([[*low, twist_low], [*high, twist_high]])


def cone_measure(cone: ReachCone) -> float:
    """Return the integral of the twist's width, at most 2π, over the legal directions."""
    _, (low, high), areas = cone_nodes(cone)
    return float(np.sum(np.minimum(high - low, TURN) * areas))


def cone_nodes(cone: ReachCone) -> tuple[Vectors, Floats, Scalars]:
    """Return legal directions (n, 3), low and high there (2, n), and the areas they stand for.

    Sums over them, by areas, are integrals over the legal directions.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    azimuth, step = _sectors(cone)
    parts = np.ceil(step / WIDEST).astype(int)
    begin = np.repeat(azimuth, parts) + np.repeat(step / parts, parts) * _count_within(parts)
    wide = np.repeat(step / parts, parts)
    around = begin[:, None] + wide[:, None] * nodes
    which = np.repeat(np.arange(len(parts)), parts)
    radius = boundary_angle(cone, around, which[:, None])
    angle = radius[..., None] * nodes
    directions = from_polar(np.broadcast_to(around[..., None], angle.shape), angle, cone.visible)
    areas = np.sin(angle) * weights * (radius * weights * wide[:, None])[..., None]
    directions = directions.reshape(-1, 3)
    return directions, cone.twist_range(directions).T, areas.ravel()


def _count_within(parts: Ints) -> Ints:
    """Return 0, 1, … for each of the parts in turn."""
    ends = np.cumsum(parts)
    return np.arange(ends[-1]) - np.repeat(ends - parts, parts)


def _sectors(cone: ReachCone) -> tuple[Scalars, Scalars]:
    """Return the azimuth at which each slice begins, and how wide it is."""
    azimuth = polar(cone.points, cone.visible)[0]
    return azimuth, np.diff(azimuth, append=azimuth[:1]) % TURN


def boundary_angle(cone: ReachCone, azimuth: Scalars, number: Ints) -> Scalars:
    """Return the angle from the visible point to edge `number` at these azimuths.

    Along a great circle the cotangent of that angle is a sine of the azimuth.
    """
    begin, step = _sectors(cone)
    angle = polar(cone.points, cone.visible)[1]
    sine, cosine = np.sin(angle), np.cos(angle)
    following = np.roll(sine, -1), np.roll(cosine, -1)
    past = azimuth - begin[number]
    before, after = np.sin(step[number] - past), np.sin(past)
    # Both sides times the sines of both angles, so that nothing is divided by a small number.
    opposite = sine[number] * following[0][number] * np.sin(step[number])
    adjacent = cosine[number] * following[0][number] * before
    adjacent = adjacent + following[1][number] * sine[number] * after
    return np.asarray(np.arctan2(opposite, adjacent))


def slice_areas(cone: ReachCone) -> Scalars:
    """Return the solid angle of each slice."""
    step = _sectors(cone)[1]
    half = 0.5 * polar(cone.points, cone.visible)[1]
    sines, cosines = np.sin(half), np.cos(half)
    sines, cosines = sines * np.roll(sines, -1), cosines * np.roll(cosines, -1)
    return np.asarray(2.0 * np.arctan2(sines * np.sin(step), cosines + sines * np.cos(step)))


def sample_cone(cone: ReachCone, n: int, rng: np.random.Generator) -> Points:
    """Return `n` members, uniform: directions in proportion to the width of the twist."""
    areas = slice_areas(cone)
    wide = np.minimum(cone.high - cone.low, TURN)
    widest = np.maximum(np.maximum(wide, np.roll(wide, -1)), cone.visible_high - cone.visible_low)
    widest = np.minimum(widest, TURN)
    # Slices by the most they can hold: in a third or so of that a member is found at once.
    shares = areas * widest if widest.max() > 0.0 else areas
    chosen: list[Points] = [np.empty((0, 4))]
    count = 0
    while count < n:
        number = rng.choice(len(areas), size=2 * (n - count) + 16, p=shares / shares.sum())
        directions = _sample_slices(cone, number, areas, rng)
        low, high = np.moveaxis(cone.twist_range(directions), -1, 0)
        width = np.minimum(high - low, TURN)
        legal = rng.random(len(width)) * widest[number] <= width
        twist = low + rng.random(len(width)) * width
        chosen.append(np.concatenate([directions, twist[:, None]], axis=1)[legal])
        count += int(legal.sum())
    return np.concatenate(chosen)[:n]


def _sample_slices(
    cone: ReachCone, number: Ints, areas: Scalars, rng: np.random.Generator
) -> Vectors:
    """Return directions, uniform in the given slices.

    The part of a slice up to an azimuth has the area E if tan(azimuth) is as below, with b the
    angle at the slice's first vertex and a that vertex's angle from the visible point.
    """
    edges, angle = edge_rows(cone.points), polar(cone.points, cone.visible)[1]
    meridian = cone.visible - np.cos(angle)[:, None] * cone.points
    back = np.sum(meridian * edges[:, 3:6], axis=1)
    aside = np.sum(meridian * edges[:, 6:9], axis=1)
    b, a = np.arctan2(aside, back)[number], angle[number]
    area = areas[number] * rng.random(len(number))
    half = np.sin(0.5 * area)
    top = 2.0 * half * np.sin(b - 0.5 * area)
    bottom = 2.0 * np.sin(b) * (np.sin(0.5 * a) ** 2 - half**2) - np.cos(b) * np.sin(area)
    begin, step = _sectors(cone)
    past = np.clip(np.arctan2(top, bottom), 0.0, step[number])
    around = begin[number] + past
    reach = np.sin(0.5 * boundary_angle(cone, around, number)) * np.sqrt(rng.random(len(number)))
    return from_polar(around, 2.0 * np.arcsin(np.minimum(reach, 1.0)), cone.visible)
