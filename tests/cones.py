"""Reach cones to test with, and slow plain answers about them."""

from __future__ import annotations

import numpy as np

from synovia import ReachCone
from synovia.arrays import TURN, unit_vectors
from synovia.shapes.reach_cone.star import from_polar

NORTH = np.array([0.0, 0.0, 1.0])


def ring(azimuth_deg, angle_deg):
    """Directions at these angles from the north, for these azimuths."""
    return from_polar(np.radians(azimuth_deg), np.radians(angle_deg), NORTH)


def sphere(n, rng):
    """Directions, uniform over all."""
    return unit_vectors(rng.normal(size=(n, 3)))


def star(n, nearest, farthest, seed=0, *, twist="varying"):
    """A cone of `n` vertices at random angles from a random visible point."""
    rng = np.random.default_rng(seed)
    visible = sphere(1, rng)[0]
    azimuth = TURN * (np.arange(n) + 0.5 * rng.random(n)) / n
    points = from_polar(azimuth, rng.uniform(nearest, farthest, n), visible)
    if twist == "free":
        return ReachCone(points, visible=visible)
    if twist == "none":
        level = rng.uniform(-1.0, 1.0, n)
        return ReachCone(points, level, level, visible, 0.1, 0.1)
    shift = 3.0 if twist == "past π" else 0.0
    low, high = rng.uniform(-1.5, -0.5, n) + shift, rng.uniform(0.2, 1.5, n) + shift
    if twist == "partly free":
        high[: n // 3] = low[: n // 3] + 7.0
    return ReachCone(points, low, high, visible, -0.7 + shift, 1.1 + shift)


CONES = {
    "three": lambda: star(3, 0.4, 1.0, 1),
    "convex": lambda: ReachCone(
        from_polar(np.arange(8) * TURN / 8, np.full(8, 0.7), np.array([0.0, 0.6, 0.8])), -1.0, 1.0
    ),
    "concave": lambda: star(25, 0.3, 1.4, 2),
    "beyond a hemisphere": lambda: star(12, 1.2, 2.6, 3),
    "nearly everything": lambda: star(9, 3.0, 3.1, 4),
    "tiny": lambda: star(6, 1e-4, 3e-4, 5),
    "many": lambda: star(200, 0.6, 1.2, 6),
    "free": lambda: star(10, 0.5, 1.2, 7, twist="free"),
    "universal": lambda: star(10, 0.5, 1.2, 8, twist="none"),
    "past π": lambda: star(10, 0.5, 1.2, 9, twist="past π"),
    "partly free": lambda: star(12, 0.5, 1.2, 10, twist="partly free"),
    "long edge": lambda: long_edge(),
}


def long_edge():
    """A cone one edge of which is 170 degrees long."""
    azimuth = np.radians([0.0, 170.5, 230.0, 300.0])
    points = from_polar(azimuth, np.radians([89.0, 89.0, 60.0, 60.0]), np.array([0.0, 0.0, 1.0]))
    assert np.degrees(np.arccos(points[0] @ points[1])) > 168.0
    return ReachCone(points, [-1.0, -0.5, -0.2, -0.4], [0.5, 1.0, 0.3, 0.7])


def queries(cone, rng, n=1500):
    """Points all over, near the boundary, and where something is special."""
    directions = sphere(n, rng)
    following = np.roll(cone.points, -1, axis=0)
    special = [
        *(cone.visible, -cone.visible, *cone.points, *unit_vectors(cone.points + following)),
        *unit_vectors(cone.points + cone.visible),  # on slice planes
        *-cone.points,
    ]
    rim = unit_vectors(
        cone.points[rng.integers(0, len(cone.points), n // 3)]
        + 10.0 ** rng.uniform(-9.0, -1.0, (n // 3, 1)) * sphere(n // 3, rng)
    )
    directions = np.concatenate([directions, np.array(special), rim])
    points = np.column_stack([directions, rng.uniform(-7.0, 7.0, len(directions))])
    return np.concatenate([points, cone.scatter(n // 3, rng)])


def angle_between(a, b):
    """The angle between unit vectors."""
    return 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def inside_by_slices(cone, directions):
    """Which directions are in some slice, by three triple products each, and its limits there."""
    n = len(cone.points)
    inside = np.zeros(len(directions), dtype=bool)
    limits = np.full((len(directions), 2), np.nan)
    for i in range(n):
        p, q, v = cone.points[i], cone.points[(i + 1) % n], cone.visible
        corners = np.stack([v, p, q], axis=1)
        shares = np.linalg.solve(corners, directions.T).T
        here = (shares >= -1e-15 * np.linalg.cond(corners)).all(axis=1)
        shares = shares / shares.sum(axis=1, keepdims=True)
        low = shares @ [cone.visible_low, cone.low[i], cone.low[(i + 1) % n]]
        high = shares @ [cone.visible_high, cone.high[i], cone.high[(i + 1) % n]]
        limits[here] = np.stack([low, high], axis=1)[here]
        inside |= here
    return inside, limits


def nearest_by_edges(cone, directions):
    """The angle to the boundary, and the point there: every edge and every vertex is tried."""
    best = np.full(len(directions), np.inf)
    foot = np.zeros_like(directions)
    for start, end in zip(cone.points, np.roll(cone.points, -1, axis=0), strict=True):
        normal = np.cross(start, end) / np.linalg.norm(np.cross(start, end))
        on_circle = directions - (directions @ normal)[:, None] * normal
        length = np.linalg.norm(on_circle, axis=1, keepdims=True)
        on_circle /= np.where(length > 0.0, length, 1.0)
        between = (np.cross(start, on_circle) @ normal >= 0.0) & (
            np.cross(on_circle, end) @ normal >= 0.0
        )
        on_circle = np.where(between[:, None], on_circle, start)
        for candidate in (on_circle, np.broadcast_to(start, directions.shape)):
            angle = angle_between(directions, candidate)
            nearer = angle < best
            best, foot = np.where(nearer, angle, best), np.where(nearer[:, None], candidate, foot)
    return best, foot
