"""Smoothing a reach cone: new vertices between the old ones, in the stereographic plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats, Vectors
from .cone_star import StarError, broken_edge
from .reach_cone import ReachCone

ALPHA = {3: 0.1667, 4: 0.1036, 5: 0.0850, 6: 0.0773, 7: 0.0700}
ALPHA_BEYOND = 0.0625
"""The source's table: how far a new vertex bulges, by the number of vertices before."""


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
        points[1::2] = _between(cone.points, cone.visible)
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


def _between(points: Vectors, visible: Vectors) -> Vectors:
    """Return a new vertex after each: the middle, pushed out by how the neighbours bend."""
    plane = stereographic(points, visible)
    alpha = ALPHA.get(len(points), ALPHA_BEYOND)
    before, after, second = (np.roll(plane, shift, axis=0) for shift in (1, -1, -2))
    middle = 0.5 * (plane + after) + alpha * (after - before) + alpha * (plane - second)
    return from_stereographic(middle, visible)
