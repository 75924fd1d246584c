"""The body as the page gets it: each surface once, in little, and where bones with it are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Vectors
from ..body import Body, Mesh, body_of
from ..skeleton import Clip
from .messages import Request
from .protocol import BodyShape, SkinShape
from .session import Session

STEPS, SKIN_STEPS = 2047, 8191
"""Into which the farthest coordinate of a surface, and that of the skin, is divided."""
NO_SKIN = SkinShape(
    skinStep=1.0,
    skinPoints=np.zeros((3, 0), np.int16),
    skinCorners=np.zeros((3, 0), np.int16),
    skinJoints=np.zeros((0, 4), np.uint16),
    skinWeights=np.zeros((0, 4), np.uint8),
    skinRotations=np.zeros((0, 4)),
    skinPositions=np.zeros((0, 3)),
)


def body_shape(session: Session, request: Request) -> BodyShape:
    """Return bones and skin of the clip's skeleton; none where no human is recognised."""
    return _shape(session.scene.clip)


@lru_cache(maxsize=4)
def _shape(clip: Clip) -> BodyShape:
    return pack_body(body_of(clip.skeleton, clip))


def pack_body(body: Body | None) -> BodyShape:
    """Return a body for the page: see `BodyShape`."""
    bones = () if body is None else body.bones
    surfaces = {bone.kind: bone.surface for bone in bones}
    kinds = list(surfaces)
    steps = [_step(each.vertices) for each in surfaces.values()]
    return {
        "sizes": [[len(each.vertices), len(each.triangles)] for each in surfaces.values()],
        "steps": steps,
        "kinds": [kinds.index(bone.kind) for bone in bones],
        "points": _join(
            [
                pack_points(each.vertices, step)
                for each, step in zip(surfaces.values(), steps, strict=True)
            ]
        ),
        "corners": _join([pack_corners(each.triangles) for each in surfaces.values()]),
        "shares": _bytes([each for surface in surfaces.values() for each in surface.shares]),
        "joints": np.array([bone.joints for bone in bones], dtype=np.uint16).reshape(-1, 2),
        "placings": np.array([bone.placing for bone in bones]).reshape(-1, 12),
        "bindRotations": np.zeros((0, 4)) if body is None else np.asarray(body.bind.rotations),
        "bindPositions": np.zeros((0, 3)) if body is None else np.asarray(body.bind.positions),
        **(NO_SKIN if body is None or body.skin is None else _skin(body.skin)),
    }


def _skin(skin: Mesh) -> SkinShape:
    step = _step(skin.vertices, SKIN_STEPS)
    return {
        "skinStep": step,
        "skinPoints": pack_points(skin.vertices, step),
        "skinCorners": pack_corners(skin.triangles),
        "skinJoints": skin.joints.astype(np.uint16),
        "skinWeights": pack_weights(skin.weights),
        "skinRotations": np.asarray(skin.bind.rotations),
        "skinPositions": np.asarray(skin.bind.positions),
    }


def pack_points(vertices: Vectors, step: float) -> NDArray[np.int16]:
    """Return vertices (n, 3) as steps from one to the next, (3, n)."""
    whole = np.round(vertices / step).astype(np.int64)
    return np.ascontiguousarray(np.diff(whole, axis=0, prepend=0).T.astype(np.int16))


def pack_corners(triangles: Ints) -> NDArray[np.int16]:
    """Return triangles (m, 3) as (3, m), in order of their least corner.

    That corner comes as the difference to that of the triangle before, the others as those to it.
    Differences wrap around at 16 bits.
    """
    turn = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3
    rolled = np.take_along_axis(triangles, turn, axis=1)
    rows = rolled[np.lexsort((rolled[:, 2], rolled[:, 1], rolled[:, 0]))]
    first = np.diff(rows[:, 0], prepend=0)
    apart = np.stack([first, rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 0]])
    return np.ascontiguousarray(apart.astype(np.uint16).view(np.int16))


def pack_weights(weights: Floats) -> NDArray[np.uint8]:
    """Return weights (n, k) of the sum 1 as bytes of the sum 255: nothing is stretched."""
    whole = np.round(255.0 * weights).astype(np.int64)
    rows = np.arange(len(whole))
    whole[rows, weights.argmax(axis=1)] += 255 - whole.sum(axis=1)
    return whole.astype(np.uint8)


def _join(parts: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    return np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int16)


def _bytes(shares: Floats | Sequence[float]) -> NDArray[np.uint8]:
    return np.round(255.0 * np.asarray(shares)).astype(np.uint8)


def _step(vertices: Vectors, count: int = STEPS) -> float:
    return float(np.abs(vertices).max()) / count
