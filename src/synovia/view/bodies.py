"""The body as the page gets it: each surface once, in little, and where bones with it are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Vectors
from ..body import Body, Mesh, Surface, body_of
from ..body.connectivity import Connectivity, connect, guess
from ..body.surface import SKIN_STEPS, STEPS
from ..skeleton import Clip
from .messages import Request
from .protocol import BodyShape, SkinShape
from .session import Session

NO_SKIN = SkinShape(
    skinStep=1.0,
    skinTriangles=0,
    skinPoints=np.zeros((2, 3, 0), np.uint8),
    skinCodes=np.zeros(0, np.uint8),
    skinOthers=np.zeros(0, np.uint16),
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
    walks = [_walk(each) for each in surfaces.values()]
    steps = [_step(each.vertices, STEPS) for each in surfaces.values()]
    packed = [
        pack_points(each.vertices, step, walk)
        for each, step, walk in zip(surfaces.values(), steps, walks, strict=True)
    ]
    shares = [
        _bytes(each.shares[walk.order]) for each, walk in zip(surfaces.values(), walks, strict=True)
    ]
    return {
        "sizes": [
            [len(walk.order), len(each.triangles)]
            for each, walk in zip(surfaces.values(), walks, strict=True)
        ],
        "steps": steps,
        "kinds": [kinds.index(bone.kind) for bone in bones],
        "points": np.concatenate([np.zeros((2, 3, 0), np.uint8), *packed], axis=2),
        "codes": np.concatenate([_bytes([]), *(walk.codes for walk in walks)]).astype(np.uint8),
        "others": np.concatenate([[], *(walk.others for walk in walks)]).astype(np.uint16),
        "shares": np.concatenate([_bytes([]), *shares]),
        "joints": np.array([bone.joints for bone in bones], dtype=np.uint16).reshape(-1, 2),
        "placings": np.array([bone.placing for bone in bones]).reshape(-1, 12),
        "bindRotations": np.zeros((0, 4)) if body is None else np.asarray(body.bind.rotations),
        "bindPositions": np.zeros((0, 3)) if body is None else np.asarray(body.bind.positions),
        **(NO_SKIN if body is None or body.skin is None else _skin(body.skin)),
    }


def _skin(skin: Mesh) -> SkinShape:
    step = _step(skin.vertices, SKIN_STEPS)
    walk = _walk(skin)
    return {
        "skinStep": step,
        "skinTriangles": len(skin.triangles),
        "skinPoints": pack_points(skin.vertices, step, walk),
        "skinCodes": walk.codes.astype(np.uint8),
        "skinOthers": walk.others.astype(np.uint16),
        "skinJoints": skin.joints[walk.order].astype(np.uint16),
        "skinWeights": pack_weights(skin.weights[walk.order]),
        "skinRotations": np.asarray(skin.bind.rotations),
        "skinPositions": np.asarray(skin.bind.positions),
    }


@lru_cache(maxsize=64)
def _walk(surface: Surface | Mesh) -> Connectivity:
    """Return the walk over a surface; one that is stored has its own."""
    return surface.connectivity or connect(surface.triangles)


def pack_points(vertices: Vectors, step: float, walk: Connectivity) -> NDArray[np.uint8]:
    """Return vertices (n, 3) in steps from where they are guessed, as bytes (2, 3, n).

    Low bytes come before high ones. Of numbers of steps, 0, -1, 1, -2 and so on are 0, 1, 2, 3.
    """
    whole = np.round(vertices[walk.order] / step).astype(np.int64)
    off = whole - guess(whole, walk.bases)
    folded = np.where(off < 0, -2 * off - 1, 2 * off).T.astype(np.uint16)
    return np.stack([folded & 255, folded >> 8]).astype(np.uint8)


def pack_weights(weights: Floats) -> NDArray[np.uint8]:
    """Return weights (n, k) of the sum 1 as bytes of the sum 255: nothing is stretched."""
    whole = np.round(255.0 * weights).astype(np.int64)
    rows = np.arange(len(whole))
    whole[rows, weights.argmax(axis=1)] += 255 - whole.sum(axis=1)
    return whole.astype(np.uint8)


def _bytes(shares: Floats | Sequence[float]) -> NDArray[np.uint8]:
    return np.round(255.0 * np.asarray(shares, dtype=float)).astype(np.uint8)


def _step(vertices: Vectors, count: int) -> float:
    return float(np.abs(vertices).max()) / count
