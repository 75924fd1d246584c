"""Tables of every kind, and slow plain answers about them."""

from __future__ import annotations

import numpy as np

from cones import angle_between
from oracles import directions, random_frame
from synovia import ThetaPhi
from synovia.arrays import TURN
from synovia.shapes.theta_phi.grid import centres, edges, vectors_at

ONE_TURN = np.array([0.0, 0.0, 0.0, TURN])


def masks(shape=(18, 36)):
    """Sets of legal cells, by name."""
    rows, columns = shape
    c = centres(shape)
    around = np.arctan2(c[..., 2], c[..., 1])
    empty = np.zeros(shape, dtype=bool)
    single, polar, seam, lone = (empty.copy() for _ in range(4))
    single[rows // 2, columns // 2] = True
    polar[-1, 3] = True
    seam[rows // 3, [0, -1]] = True
    lone[:] = True
    lone[4, 7] = False
    ragged = np.random.default_rng(2).random(shape) < 0.3
    return {
        "blob": np.arccos(c[..., 0]) + 0.25 * np.sin(5.0 * around) < 1.1,
        "single": single,
        "polar": polar,
        "seam": seam,
        "all but one": lone,
        "whole": np.ones(shape, dtype=bool),
        "islands": (c @ [0.0, 0.8, 0.6] > 0.9) | (c @ [-0.8, 0.0, -0.6] > 0.85),
        "ring": (c[..., 2] > 0.6) & (c[..., 2] < 0.9),
        "cap": c[..., 2] < -0.7,
        "ragged": ragged,
    }


MASKS = masks()


def table(kind, *, seed=3, spread=0.3):
    """A table with these legal cells, and twists that are nothing special."""
    mask = MASKS[kind]
    rng = np.random.default_rng(seed)
    c = centres(mask.shape)
    middle = 0.4 * c[..., 1] + spread * rng.normal(size=mask.shape)
    half = 0.5 + spread * rng.random(mask.shape)
    counts = np.where(mask, rng.integers(1, 9, size=mask.shape), 0)
    frame = random_frame(rng)
    return ThetaPhi(counts, middle - half, middle + half, frame)


def points_around(n, rng):
    """All directions, with any twist."""
    return np.column_stack([directions(n, rng), rng.uniform(-TURN, TURN, n)])


def cloud(n, rng, spread=0.5):
    """Directions about the x axis of some frame, with twists that depend on them."""
    frame = random_frame(rng)
    v = np.column_stack([np.ones(n), spread * rng.normal(size=(n, 2))])
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    twist = 3.0 + 0.5 * v[:, 1] + 0.3 * rng.normal(size=n)
    return np.column_stack([v @ frame, np.remainder(twist + np.pi, TURN) - np.pi])


def hard_directions(shape, rng):
    """The poles, the seam, borders and corners of cells, and points very near to them."""
    phi, theta = edges(shape)
    corners = vectors_at(theta[:, None], phi[None]).reshape(-1, 3)
    near = corners + 10.0 ** rng.uniform(-14, -2, size=(len(corners), 1)) * rng.normal(
        size=corners.shape
    )
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    every = np.concatenate([axes, corners, near])
    return every / np.linalg.norm(every, axis=1, keepdims=True)


def nearest_cell_point(vectors, cells, shape):
    """The nearest point of any of `cells` to each vector, and its angle, cell by cell."""
    phi, theta = edges(shape)
    x, y, z = vectors.T
    longitude, latitude = np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))
    best, least = np.zeros_like(vectors), np.full(len(vectors), np.inf)
    for row, column in np.argwhere(cells):
        middle, half = 0.5 * (theta[column] + theta[column + 1]), np.pi / shape[1]
        off = np.remainder(longitude - middle + np.pi, TURN) - np.pi
        at = middle + np.clip(off, -half, half)
        beyond = np.abs(off) - np.minimum(np.abs(off), half)
        ideal = np.arctan2(np.sin(latitude), np.cos(latitude) * np.cos(beyond))
        for foot in (np.clip(ideal, *phi[row : row + 2]), phi[row], phi[row + 1]):
            point = vectors_at(at, foot)
            angle = angle_between(vectors, point)
            nearer = angle < least
            least = np.where(nearer, angle, least)
            best = np.where(nearer[:, None], point, best)
    return best, least
