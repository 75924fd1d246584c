"""A reach cone around samples: the least boundary first, then the narrowest limits of the twist.

Seen from the visible point, an edge from (azimuth a, angle α) to (b, β) contains a sample (φ, ρ)
in between if cot ρ >= (cot α · sin(b − φ) + cot β · sin(φ − a))/sin(b − a): linear in the
cotangents of the vertices. Twist limits are linear in the limits at the vertices. So both are
linear programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats, Ints, Points, Scalars, Vectors
from .cone_star import from_polar, greatest, normalized, polar
from .cone_twist_fit import fitted_twists

TURN = 2.0 * np.pi
LEAST = 1e-4  # radians from the visible point to a vertex
MOST = np.pi - 0.02  # and at most, so that the opposite direction stays outside
FLATTEST = 0.05  # the least ratio of axes by which vertices are spread
PIECES = 8  # of a sector, each giving its farthest sample
FEW = 8  # samples in a sector; fewer do not make a dent


def fitted_cone(
    points: Points, vertices: int, visible: Vectors | None
) -> tuple[Vectors, Floats, Floats, Vectors, float, float]:
    """Return the fields of a cone of `vertices` points that contains every sample (n, 4)."""
    directions, twists = points[:, :3], points[:, 3]
    middle = _middle(directions) if visible is None else visible
    azimuth, angle = polar(directions, middle)
    if float(angle.max()) > MOST:
        raise ValueError(
            f"a cone cannot reach {float(angle.max()):.6g} radians from its visible point, at most "
            f"{MOST:.6g}; give another visible point"
        )
    begins = _spread(azimuth, angle, vertices)
    number, past, step = _sectors(azimuth, begins)
    cotangents = _boundary(number, past, step, np.maximum(angle, 1e-9))
    corners = from_polar(begins, np.arctan2(1.0, cotangents), middle)
    return (corners, *fitted_twists(corners, middle, directions, twists))


def _middle(directions: Vectors) -> Vectors:
    """Return the mean direction, or the opposite of the middle of the widest gap."""
    mean = directions.mean(axis=0)
    if np.linalg.norm(mean) > 1e-6:
        mean = normalized(mean)
        if (directions @ mean).min() > np.cos(MOST - 0.1):
            return mean
    k = np.arange(2000) + 0.5
    around, z = k * np.pi * (1.0 + np.sqrt(5.0)), 1.0 - 2.0 * k / 2000.0
    ring = np.sqrt(1.0 - z * z)
    everywhere = np.stack([ring * np.cos(around), ring * np.sin(around), z], axis=1)
    nearest = np.full(len(everywhere), -1.0)
    for first in range(0, len(directions), 4096):
        part = everywhere @ directions[first : first + 4096].T
        np.maximum(nearest, part.max(axis=1), out=nearest)
    return np.asarray(-everywhere[int(nearest.argmin())])


def _spread(azimuth: Scalars, angle: Scalars, vertices: int) -> Scalars:
    """Return azimuths for the vertices, denser along the longer axis of the samples."""
    across = angle[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    spread, axes = np.linalg.eigh(across.T @ across / len(across))
    ratio = max(np.sqrt(max(spread[0], 0.0) / max(spread[1], 1e-300)), FLATTEST)
    around = TURN * np.arange(vertices) / vertices
    turned = np.arctan2(ratio * np.sin(around), np.cos(around))
    return np.asarray(np.sort((turned + np.arctan2(axes[1, 1], axes[0, 1])) % TURN))


def _sectors(azimuth: Scalars, begins: Scalars) -> tuple[Ints, Scalars, Scalars]:
    """Return each sample's sector, how far past its beginning it is, and the sectors' widths."""
    around = azimuth % TURN
    number = (np.searchsorted(begins, around, side="right") - 1) % len(begins)
    step = np.diff(begins, append=begins[:1] + TURN)
    return number, (around - begins[number]) % TURN, step


def _boundary(number: Ints, past: Scalars, step: Scalars, angle: Scalars) -> Scalars:
    """Return the cotangents of the least angles at the vertices that contain every sample."""
    n = len(step)
    piece = number * PIECES + np.minimum(past / step[number] * PIECES, PIECES - 1).astype(np.int64)
    kept = greatest(piece, angle)
    number_, past_, angle_ = number[kept], past[kept], angle[kept]
    filled = _filled(number, past, step, angle)
    held = np.flatnonzero(filled > 0.0)
    number_ = np.concatenate([number_, held])
    past_ = np.concatenate([past_, 0.5 * step[held]])
    angle_ = np.concatenate([angle_, filled[held]])
    matrix = _matrix(number_, past_, step)
    bound = np.minimum(np.cos(angle_) / np.sin(angle_), 1.0 / np.tan(LEAST))
    # No vertex needs to go farther out than an edge across the farthest sample beside it.
    farthest = np.full(n, LEAST)
    np.maximum.at(farthest, number_, angle_)
    np.maximum.at(farthest, (number_ + 1) % n, angle_)
    least = 1.0 / np.tan(farthest)
    widest = np.maximum(step, np.roll(step, 1))
    least = np.where(least > 0.0, least * np.cos(0.5 * widest), least)
    cotangents = 1.0 / np.tan(farthest)
    for _ in range(2):
        # The area falls by sin³ of the angle as the cotangent grows.
        weights = (step + np.roll(step, 1)) * np.sin(np.arctan2(1.0, cotangents)) ** 3
        cotangents = _program(weights, matrix, bound, least)
    return _lowered(cotangents, number, past, step, angle)


def _matrix(number: Ints, past: Scalars, step: Scalars) -> Any:
    """Return the sparse matrix that takes the cotangents of vertices to those at the samples."""
    from scipy.sparse import csr_array

    rows = np.tile(np.arange(len(number)), 2)
    columns = np.concatenate([number, (number + 1) % len(step)])
    wide = step[number]
    shares = np.concatenate([np.sin(wide - past), np.sin(past)]) / np.tile(np.sin(wide), 2)
    return csr_array((np.maximum(shares, 0.0), (rows, columns)), shape=(len(number), len(step)))


def _program(weights: Scalars, matrix: Any, bound: Scalars, least: Scalars) -> Scalars:
    """Return the greatest cotangents, by `weights`, that keep all constraints."""
    from scipy.optimize import linprog

    limits = [(low - 1e-9 * abs(low), max(low, 1.0 / np.tan(LEAST))) for low in least.tolist()]
    scaled = -weights / weights.max()
    found = linprog(scaled, A_ub=matrix, b_ub=bound, bounds=limits, method="highs")
    if found.x is None:
        raise ValueError(f"no boundary contains the samples: {found.message}")
    return np.asarray(found.x)


def _lowered(
    cotangents: Scalars, number: Ints, past: Scalars, step: Scalars, angle: Scalars
) -> Scalars:
    """Return cotangents so much lower, sector by sector, that every single sample is inside.

    A sample's two shares add up to at least 1, so it suffices to lower both by what is missing.
    """
    wide, sine = step[number], np.sin(step)[number]
    level = cotangents[number] * np.sin(wide - past)
    level += np.roll(cotangents, -1)[number] * np.sin(past)
    missing = np.zeros(len(step))
    np.maximum.at(missing, number, level / sine - np.cos(angle) / np.sin(angle))
    missing = np.maximum(missing, np.roll(missing, 1))
    return cotangents - missing - 1e-12 * (1.0 + np.abs(cotangents))


def _filled(number: Ints, past: Scalars, step: Scalars, angle: Scalars) -> Scalars:
    """Return for each sector the angle at its middle that chords across it reach, or 0.

    Chords go between the farthest samples of nearby sectors: of the next ones, or where a sector
    has few samples of its own, of those up to three away, or as far as there is one.
    """
    n = len(step)
    count = np.bincount(number, minlength=n)
    last = greatest(number, angle)
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
            found = []
            for far in range(1, n // 2 + 1):
                j = (k + sign * far) % n
                if farthest[j] > 0.0:
                    found.append((sign * ((sign * (at[j] - middle)) % TURN), farthest[j]))
                if far >= wide and found:
                    break
            sides.append(found)
        for before, left in sides[0]:
            for after, right in sides[1]:
                if after - before < np.pi - 1e-6:
                    chord = np.sin(after) / np.tan(left) + np.sin(-before) / np.tan(right)
                    reached[k] = max(reached[k], np.arctan2(np.sin(after - before), chord))
    return np.minimum(reached, MOST)
