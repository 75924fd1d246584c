"""Twist limits of a fitted cone: the narrowest that contain every sample, and smooth."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints, Scalars, Vectors
from .cone_star import across, greatest, polar
from .cone_tables import slice_rows

TURN = 2.0 * np.pi
SMOOTH = 0.5  # the price of a bend, as a share of the price of width
ROUNDS = 6
BINS = 720  # of the circle of twists, to find a gap
RINGS, PIECES = 6, 3  # cells of a slice that give one sample each
SPARE = 1e-12
# The most that limits may change per radian of direction: in float32 directions are right to
# some 3e-7, and what is projected must be a member to 1e-5.
STEEPEST = 20.0
OCTAGON = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)


def fitted_twists(
    corners: Vectors, visible: Vectors, directions: Vectors, twists: Scalars
) -> tuple[Floats, Floats, Vectors, float, float]:
    """Return low and high at the corners, the visible point, and low and high there.

    Where twists leave no gap on the circle, they are free.
    """
    turned = unrolled_twists(twists)
    n = len(corners)
    if turned is None:
        return np.full(n, -np.pi), np.full(n, np.pi), visible, -np.pi, np.pi
    number, weights = _weights(corners, visible, directions)
    low, high = turned.min(), turned.max()
    if high - low < 1e-9:
        return np.full(n, low), np.full(n, high), visible, float(low), float(high)
    cell = _cells(number, weights)
    kept = np.unique(np.concatenate([greatest(cell, -turned), greatest(cell, turned)]))
    gradients = _gradients(corners, visible)
    for _ in range(ROUNDS):
        limits = _program(gradients, number[kept], weights[kept], turned[kept])
        missing = np.stack(
            [
                _at(limits[0], number, weights) - turned,
                turned - _at(limits[1], number, weights),
            ]
        )
        if missing.max() <= SPARE:
            break
        worst = [greatest(number, part) for part in missing]
        kept = np.unique(np.concatenate([kept, *worst]))
    missing = np.maximum(missing, 0.0)
    for side, sign in ((0, -1.0), (1, 1.0)):
        lack = np.zeros(n)
        np.maximum.at(lack, number, missing[side])
        lack = np.maximum(lack, np.roll(lack, 1)) + SPARE
        limits[side] += sign * np.append(lack, lack.max())
    limits = np.sort(limits, axis=0)  # the solver is right to 1e-7 only
    return limits[0, :-1], limits[1, :-1], visible, float(limits[0, -1]), float(limits[1, -1])


def unrolled_twists(twists: Scalars) -> Scalars | None:
    """Return the twists cut open in the middle of their widest gap; None if they have none."""
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
    """Return the slice of each direction and its weights there: start, end, visible point."""
    around, azimuth = polar(directions, visible)[0], polar(corners, visible)[0]
    begin = azimuth[0]
    edges = (azimuth - begin) % TURN
    number = np.searchsorted(edges, (around - begin) % TURN, side="right") - 1
    following = np.roll(corners, -1, axis=0)
    normals = (
        -np.cross(visible, following),
        np.cross(visible, corners),
        np.cross(corners, following),
    )
    heights = [np.einsum("ij,ij->i", normal[number], directions) for normal in normals]
    weights = np.maximum(np.stack(heights, axis=1), 0.0)
    return number, weights / weights.sum(axis=1, keepdims=True)


def _at(limits: Floats, number: Ints, weights: Floats) -> Scalars:
    """Return the limits at the samples; those of the visible point come last."""
    n = len(limits) - 1
    first, second = limits[number], limits[(number + 1) % n]
    return np.asarray(weights[:, 0] * first + weights[:, 1] * second + weights[:, 2] * limits[n])


def _cells(number: Ints, weights: Floats) -> Ints:
    """Return a number for the cell of its slice that each sample is in."""
    out = np.minimum((1.0 - weights[:, 2]) * RINGS, RINGS - 1).astype(np.int64)
    share = weights[:, 1] / np.maximum(weights[:, 0] + weights[:, 1], 1e-300)
    piece = np.minimum(share * PIECES, PIECES - 1).astype(np.int64)
    return np.asarray((number * RINGS + out) * PIECES + piece)


def _gradients(corners: Vectors, visible: Vectors) -> Floats:
    """Return the gradients (n, 2, 2) in each slice, of limits of 1 at its start and at its end.

    First the vertex, then two coordinates across; the visible point's limit takes both, negative.
    The slope is greatest where the slice's plane triangle is nearest to the centre: see `steepest`.
    """
    rows = slice_rows(corners, visible, np.zeros(len(corners)), np.zeros(len(corners)))
    weights = rows[:, 0:3] - rows[:, 3:6] + rows[:, 6:9]
    size, depth = np.linalg.norm(weights, axis=1), rows[:, 6:9] @ visible
    frames = across(weights / size[:, None])
    both = np.stack([-rows[:, 3:6], rows[:, 0:3]], axis=1)
    return np.asarray(both @ np.swapaxes(frames, 1, 2) * (size / depth**2)[:, None, None])


def _program(gradients: Floats, number: Ints, weights: Floats, twists: Scalars) -> Floats:
    """Return low and high (2, n + 1), the visible point's last, of the least width and bend.

    Variables: lows, highs, and the bends of both around the boundary. What no sample holds apart
    is held by its neighbours, because a bend costs more than the width it saves.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, coo_array, csr_array, eye_array

    n, m = len(gradients), len(twists)
    rows = np.tile(np.arange(m), 3)
    columns = np.concatenate([number, (number + 1) % n, np.full(m, n)])
    interpolate = csr_array((weights.T.ravel(), (rows, columns)), shape=(m, n + 1))
    i = np.tile(np.arange(n), 3)
    j = np.concatenate([np.arange(n), (np.arange(n) - 1) % n, (np.arange(n) + 1) % n])
    bend = coo_array((np.repeat([2.0, -1.0, -1.0], n), (i, j)), shape=(n, n + 1)).tocsr()
    # Each coordinate of a gradient, as a share of the steepest, and both sums of the two: these
    # keep it within an octagon.
    steep = np.concatenate([gradients, gradients @ OCTAGON], axis=2) / STEEPEST
    scale = np.maximum(np.abs(steep).max(axis=1), 1.0)
    steep = np.swapaxes(steep / scale[:, None, :], 0, 1).reshape(2, -1)
    i = np.tile(np.arange(4 * n), 3)
    j = np.concatenate([np.repeat(k, 4) for k in (np.arange(n), (np.arange(n) + 1) % n)])
    j = np.concatenate([j, np.full(4 * n, n)])
    entries = np.concatenate([steep[0], steep[1], -steep[0] - steep[1]])
    slope = csr_array((entries, (i, j)), shape=(4 * n, n + 1))
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
        ]
    )
    bound = np.concatenate([twists, -twists, np.zeros(5 * n + 1), np.tile(1.0 / scale.ravel(), 4)])
    size = np.append(np.full(n, 2.0 / (3.0 * n)), 1.0 / 3.0)
    price = np.concatenate([-size, size, np.full(2 * n, SMOOTH * size[0])])
    low, high = float(twists.min()), float(twists.max())
    limits = [(low, high)] * (2 * n + 2) + [(0.0, None)] * (2 * n)
    found = linprog(price, A_ub=constraints, b_ub=bound, bounds=limits, method="highs")
    if found.x is None:
        raise ValueError(f"no limits of the twist contain the samples: {found.message}")
    return np.asarray(found.x[: 2 * n + 2].reshape(2, n + 1))
