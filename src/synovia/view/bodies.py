"""The body for the page: which joint moves each segment of the default human, and how it fits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..body import body_of
from ..body.asset import FILE
from ..skeleton import Clip
from .protocol import BodyShape
from .protocol.requests import EmptyRequest
from .session import Session


def body_shape(session: Session, request: EmptyRequest) -> BodyShape:
    """Return how the meshes of `human.glb` attach to the clip's skeleton; see `BodyShape`."""
    return _shape(session.scene.clip)


@lru_cache(maxsize=4)
def _shape(clip: Clip) -> BodyShape:
    body = body_of(clip.skeleton, clip)
    if body is None:
        return BodyShape(
            human=np.zeros(0, np.uint8),
            joints=[],
            offsets=np.zeros((0, 12)),
            skin=False,
        )
    return BodyShape(
        human=np.frombuffer(FILE.read_bytes(), np.uint8),
        joints=body.joints.tolist(),
        offsets=body.offsets.reshape(-1, 12),
        skin=body.skin is not None,
    )
