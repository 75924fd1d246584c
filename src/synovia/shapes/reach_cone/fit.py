"""Reach cones from samples: the least boundary, and the narrowest twist limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import TURN, Floats, Ints, Points, Scalars, Vectors, cross, unit_vectors
from ..extent import spread_directions
from .star import argmax_by_group, from_polar, polar, twist_gradients

# The price of a bend, relative to that of width. Steep ends of twists leave much of the true
# neighbourhood out of a margin: with 0.5 as little as 85 % was covered, with 1.5 at least 90 %.
# At the same rejection of newcomers the volume is within 1 or 2 % of that with 0.5.
SMOOTH = 1.5
ROUNDS = 6
BINS = 720  # of the circle of twists, to find a gap
RINGS, RING_PIECES = 6, 3  # cells of a slice that give one sample each
SPARE = 1e-12
# The most that limits may change per radian of direction: in float32 directions are right to
# some 3e-7, and what is projected must be a member to 1e-5.
STEEPEST = 20.0
OCTAGON = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)


def fit_twists(
    corners: Vectors, visible: Vectors, directions: Vectors, twists: Scalars
) -> tuple[Floats, Floats, Vectors, float, float]:
    """Return the narrowest twist limits that contain samples, as fields of a cone.

    These are low and high at the corners, the visible point, and low and high there, in radians.
    If `twists` leave no gap on the circle, the limits are −π and π.
    """
    turned = unroll_twists(twists)
    n = len(corners)
    if turned is None:
        return np.full(n, -np.pi), np.full(n, np.pi), visible, -np.pi, np.pi
    number, weights = _weights(corners, visible, directions)
    low, high = turned.min(), turned.max()
    if high - low < 1e-9:
        return np.full(n, low), np.full(n, high), visible, float(low), float(high)
    cell = _cells(number, weights)
    kept = np.unique(
        np.concatenate([argmax_by_group(cell, -turned), argmax_by_group(cell, turned)])
    )
    gradients = twist_gradients(corners, visible)
    for _ in range(ROUNDS):
        limits = _solve_limits(gradients, number[kept], weights[kept], turned[kept])
        missing = np.stack(
            [
                _interpolate(limits[0], number, weights) - turned,
                turned - _interpolate(limits[1], number, weights),
            ]
        )
        if missing.max() <= SPARE:
            break
        worst = [argmax_by_group(number, part) for part in missing]
        kept = np.unique(np.concatenate([kept, *worst]))
    missing = np.maximum(missing, 0.0)
    for side, sign in ((0, -1.0), (1, 1.0)):
        lack = np.zeros(n)
        np.maximum.at(lack, number, missing[side])
        lack = np.maximum(lack, np.roll(lack, 1)) + SPARE
        limits[side] += sign * np.append(lack, lack.max())
    limits = np.sort(limits, axis=0)  # the solver is right to 1e-7 only
    return limits[0, :-1], limits[1, :-1], visible, float(limits[0, -1]), float(limits[1, -1])


def unroll_twists(twists: Scalars) -> Scalars | None:
    """Return the twists plus whole turns such that none is across their widest gap.

    The middle of the result is within half a turn of 0. None if there is no gap.
    """
    where = np.unique((twists % TURN * (BINS / TURN)).astype(np.int64) % BINS)
    gaps = np.diff(where, append=where[:1] + BINS)
    widest = int(gaps.argmax())
    if gaps[widest] < 3:
        return None
    cut = (where[widest] + 0.5 * (gaps[widest] + 1)) * (TURN / BINS)
    turned = cut + (twists - cut) % TURN
    middle = 0.5 * (turned.min() + turned.max())
    return np.asarray(turned - TURN * np.rint(middle / TURN))


def _weights(corners: Vectors, visible: Vectors, directions: Vectors) -> tuple[Ints, Floats]:
    """Return the slice of each direction, and its weights (n, 3) there.

    A slice is the triangle of two consecutive corners and the visible point, in this order.
    """
    around, azimuth = polar(directions, visible)[0], polar(corners, visible)[0]
    begin = azimuth[0]
    edges = (azimuth - begin) % TURN
    number = np.searchsorted(edges, (around - begin) % TURN, side="right") - 1
    following = np.roll(corners, -1, axis=0)
    normals = (
        -cross(visible, following),
        cross(visible, corners),
        cross(corners, following),
    )
    heights = [np.einsum("ij,ij->i", normal[number], directions) for normal in normals]
    weights = np.maximum(np.stack(heights, axis=1), 0.0)
    return number, weights / weights.sum(axis=1, keepdims=True)


def _interpolate(limits: Floats, number: Ints, weights: Floats) -> Scalars:
    """Return the limits interpolated at the samples (m,), from those at the corners.

    The last of `limits` (n + 1,) is that at the visible point; see `_weights` for the others.
    """
    n = len(limits) - 1
    first, second = limits[number], limits[(number + 1) % n]
    return np.asarray(weights[:, 0] * first + weights[:, 1] * second + weights[:, 2] * limits[n])


def _cells(number: Ints, weights: Floats) -> Ints:
    """Return the number of the cell, a part of its slice, that contains a sample: (m,)."""
    out = np.minimum((1.0 - weights[:, 2]) * RINGS, RINGS - 1).astype(np.int64)
    share = weights[:, 1] / np.maximum(weights[:, 0] + weights[:, 1], 1e-300)
    piece = np.minimum(share * RING_PIECES, RING_PIECES - 1).astype(np.int64)
    return np.asarray((number * RINGS + out) * RING_PIECES + piece)


def _minimize(
    price: Floats, matrix: Any, bound: Floats, low: Floats, high: Floats, what: str
) -> Floats:
    """Return the x that minimizes price · x with matrix · x <= bound and low <= x <= high.

    This calls HiGHS through `milp`, with continuous variables, because the checks of `linprog`
    take longer than the solution. ValueError, which names `what` is computed, if there is none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = LinearConstraint(matrix, -np.inf, bound)
    result = milp(price, constraints=rows, bounds=Bounds(low, high))
    if result.x is None:
        raise ValueError(f"no {what} can contain the samples: {result.message}")
    return np.asarray(result.x)


def _solve_limits(gradients: Floats, number: Ints, weights: Floats, twists: Scalars) -> Floats:
    """Return low and high (2, n + 1), the visible point's last, of the least width and bend.

    The variables are lows, highs, and the bends of both around the boundary. A bend costs more
    than the width it saves, so limits without samples follow those of the neighbours.
    """
    from scipy.sparse import block_array, coo_array, eye_array

    n, m = len(gradients), len(twists)
    corner, following = np.arange(n), (np.arange(n) + 1) % n
    columns = np.concatenate([number, (number + 1) % n, np.full(m, n)])
    interpolate = coo_array((weights.T.ravel(), (np.tile(np.arange(m), 3), columns)), (m, n + 1))
    columns = np.concatenate([corner, (corner - 1) % n, following])
    bend = coo_array((np.repeat([2.0, -1.0, -1.0], n), (np.tile(corner, 3), columns)), (n, n + 1))
    # Both coordinates of a gradient, as shares of the steepest, and their sum and difference: their
    # bounds keep the gradient within an octagon.
    steep = np.concatenate([gradients, gradients @ OCTAGON], axis=2) / STEEPEST
    scale = np.maximum(np.abs(steep).max(axis=1), 1.0)
    steep = np.swapaxes(steep / scale[:, None, :], 0, 1).reshape(2, -1)
    values = np.concatenate([steep[0], steep[1], -steep[0] - steep[1]])
    columns = np.concatenate([np.repeat(corner, 4), np.repeat(following, 4), np.full(4 * n, n)])
    slope = coo_array((values, (np.tile(np.arange(4 * n), 3), columns)), (4 * n, n + 1))
    one, ordered = eye_array(n), eye_array(n + 1)
    constraints = block_array(
        [
            [interpolate, None, None, None],
            [None, -interpolate, None, None],
            [bend, None, -one, None],
            [-bend, None, -one, None],
            [None, bend, None, -one],
            [None, -bend, None, -one],
            [ordered, -ordered, None, None],
            [slope, None, None, None],
            [-slope, None, None, None],
            [None, slope, None, None],
            [None, -slope, None, None],
        ],
        format="csc",
    )
    bound = np.concatenate([twists, -twists, np.zeros(5 * n + 1), np.tile(1.0 / scale.ravel(), 4)])
    size = np.append(np.full(n, 2.0 / (3.0 * n)), 1.0 / 3.0)
    price = np.concatenate([-size, size, np.full(2 * n, SMOOTH * size[0])])
    least = np.repeat([float(twists.min()), 0.0], [2 * n + 2, 2 * n])
    most = np.repeat([float(twists.max()), np.inf], [2 * n + 2, 2 * n])
    solution = _minimize(price, constraints, bound, least, most, "limits of the twist")
    return np.asarray(solution[: 2 * n + 2].reshape(2, n + 1))


# A reach cone around samples: the least boundary first, then the narrowest limits of the twist.
#
# Seen from the visible point, an edge from (azimuth a, angle α) to (b, β) contains a sample (φ, ρ)
# in between if cot ρ >= (cot α · sin(b − φ) + cot β · sin(φ − a))/sin(b − a): linear in the
# cotangents of the vertices. Twist limits are linear in the limits at the vertices. So both are
# linear programs.


LEAST = 1e-4  # radians from the visible point to a vertex
MOST = np.pi - 0.02  # largest such angle, so that the opposite direction stays outside
FLATTEST = 0.05  # least ratio of the axes in the distribution of vertices
SECTOR_PIECES = 8  # pieces of a sector; only the farthest sample of a piece is used
FEW = 8  # a sector with fewer samples is filled from more neighbours


def fit_cone(
    points: Points, vertices: int, visible: Vectors | None
) -> tuple[Vectors, Floats, Floats, Vectors, float, float]:
    """Return the fields of a cone of `vertices` points that contains every sample (n, 4).

    They are those of `fit_twists`, after the corners. `visible` is the mean direction if None.
    ValueError if samples are too far from it.
    """
    directions, twists = points[:, :3], points[:, 3]
    middle = _middle(directions) if visible is None else visible
    azimuth, angle = polar(directions, middle)
    if float(angle.max()) > MOST:
        raise ValueError(
            f"a cone cannot reach {float(angle.max()):.6g} radians from its visible point, at most "
            f"{MOST:.6g}; give another visible point"
        )
    begins = _spread(azimuth, angle, vertices)
    around = azimuth % TURN
    number = (np.searchsorted(begins, around, side="right") - 1) % vertices  # of the sector
    past = (around - begins[number]) % TURN  # the beginning of the sector
    step = np.diff(begins, append=begins[:1] + TURN)
    cotangents = _boundary(number, past, step, np.maximum(angle, 1e-9))
    corners = from_polar(begins, np.arctan2(1.0, cotangents), middle)
    return (corners, *fit_twists(corners, middle, directions, twists))


def _middle(directions: Vectors) -> Vectors:
    """Return the mean direction, or if samples are too far from it, the one farthest from a gap."""
    mean = directions.mean(axis=0)
    if np.linalg.norm(mean) > 1e-6:
        mean = unit_vectors(mean)
        if (directions @ mean).min() > np.cos(MOST - 0.1):
            return mean
    from scipy.spatial import cKDTree

    everywhere = spread_directions(2000)
    return np.asarray(-everywhere[int(cKDTree(directions).query(everywhere)[0].argmax())])


def _spread(azimuth: Scalars, angle: Scalars, vertices: int) -> Scalars:
    """Return azimuths (vertices,), ascending, denser along the longer axis of the samples."""
    across = angle[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    spread, axes = np.linalg.eigh(across.T @ across / len(across))
    ratio = max(np.sqrt(max(spread[0], 0.0) / max(spread[1], 1e-300)), FLATTEST)
    around = TURN * np.arange(vertices) / vertices
    turned = np.arctan2(ratio * np.sin(around), np.cos(around))
    return np.asarray(np.sort((turned + np.arctan2(axes[1, 1], axes[0, 1])) % TURN))


def _boundary(number: Ints, past: Scalars, step: Scalars, angle: Scalars) -> Scalars:
    """Return the cotangents of the least angles at the vertices that contain every sample.

    A sample is in the sector `number`, `past` radians of azimuth after its beginning, at an `angle`
    from the visible point. `step` (vertices,) are the widths of the sectors.
    """
    n = len(step)
    piece = number * SECTOR_PIECES + np.minimum(
        past / step[number] * SECTOR_PIECES, SECTOR_PIECES - 1
    ).astype(np.int64)
    kept = argmax_by_group(piece, angle)
    number_, past_, angle_ = number[kept], past[kept], angle[kept]
    filled = _fill_sectors(number, past, step, angle)
    sectors = np.flatnonzero(filled > 0.0)
    number_ = np.concatenate([number_, sectors])
    past_ = np.concatenate([past_, 0.5 * step[sectors]])
    angle_ = np.concatenate([angle_, filled[sectors]])
    matrix = _matrix(number_, past_, step)
    bound = np.minimum(np.cos(angle_) / np.sin(angle_), 1.0 / np.tan(LEAST))
    # No vertex needs to go farther out than an edge across the farthest sample beside it.
    farthest = np.full(n, LEAST)
    np.maximum.at(farthest, number_, angle_)
    np.maximum.at(farthest, (number_ + 1) % n, angle_)
    least = 1.0 / np.tan(farthest)
    widest = np.maximum(step, np.roll(step, 1))
    least = np.where(least > 0.0, least * np.cos(0.5 * widest), least)
    low, high = least - 1e-9 * np.abs(least), np.maximum(least, 1.0 / np.tan(LEAST))
    cotangents = 1.0 / np.tan(farthest)
    for _ in range(2):
        # The area falls by sin³ of the angle as the cotangent grows.
        weights = (step + np.roll(step, 1)) * np.sin(np.arctan2(1.0, cotangents)) ** 3
        cotangents = _minimize(-weights / weights.max(), matrix, bound, low, high, "boundary")
    return _lower(cotangents, number, past, step, angle)


def _matrix(number: Ints, past: Scalars, step: Scalars) -> Any:
    """Return the sparse matrix from cotangents at the vertices to those at the samples."""
    from scipy.sparse import csr_array

    rows = np.tile(np.arange(len(number)), 2)
    columns = np.concatenate([number, (number + 1) % len(step)])
    wide = step[number]
    shares = np.concatenate([np.sin(wide - past), np.sin(past)]) / np.tile(np.sin(wide), 2)
    return csr_array((np.maximum(shares, 0.0), (rows, columns)), shape=(len(number), len(step)))


def _lower(
    cotangents: Scalars, number: Ints, past: Scalars, step: Scalars, angle: Scalars
) -> Scalars:
    """Return cotangents reduced, sector by sector, until every sample is inside.

    This corrects the solver's errors. A sample's two shares add up to at least 1, so it suffices to
    reduce both cotangents by the lacking amount.
    """
    wide, sine = step[number], np.sin(step)[number]
    level = cotangents[number] * np.sin(wide - past)
    level += np.roll(cotangents, -1)[number] * np.sin(past)
    missing = np.zeros(len(step))
    np.maximum.at(missing, number, level / sine - np.cos(angle) / np.sin(angle))
    missing = np.maximum(missing, np.roll(missing, 1))
    return cotangents - missing - 1e-12 * (1.0 + np.abs(cotangents))


def _fill_sectors(number: Ints, past: Scalars, step: Scalars, angle: Scalars) -> Scalars:
    """Return the largest angle at the middle of each sector that chords across it reach, or 0.

    Chords connect the farthest samples of sectors on both sides: of the adjacent ones, or of up to
    three for a sector with few samples. The search goes farther if these have no samples.
    """
    n = len(step)
    count = np.bincount(number, minlength=n)
    last = argmax_by_group(number, angle)
    farthest, at = np.zeros(n), np.zeros(n)
    farthest[number[last]] = angle[last]
    begins = np.concatenate([[0.0], np.cumsum(step)[:-1]])
    at[number[last]] = begins[number[last]] + past[last]
    reached = np.zeros(n)
    for k in range(n):
        middle = begins[k] + 0.5 * step[k]
        wide = 1 if count[k] >= FEW else 3
        sides: list[list[tuple[float, float]]] = []
        for sign in (-1, 1):
            ends = []
            for far in range(1, n // 2 + 1):
                j = (k + sign * far) % n
                if farthest[j] > 0.0:
                    ends.append((sign * ((sign * (at[j] - middle)) % TURN), farthest[j]))
                if far >= wide and ends:
                    break
            sides.append(ends)
        for before, left in sides[0]:
            for after, right in sides[1]:
                if after - before < np.pi - 1e-6:
                    chord = np.sin(after) / np.tan(left) + np.sin(-before) / np.tan(right)
                    reached[k] = max(reached[k], np.arctan2(np.sin(after - before), chord))
    return np.minimum(reached, MOST)
