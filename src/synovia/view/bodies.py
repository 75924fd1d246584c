"""The body for the page: the default human on the clip's joints, or the mesh of the clip's file."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..body import body_of
from ..body.asset import FILE
from ..io.gltf import mesh_of
from ..skeleton import Clip
from .protocol import BodyShape, OwnMesh
from .protocol.requests import EmptyRequest
from .session import Session


def body_shape(session: Session, request: EmptyRequest) -> BodyShape:
    """Return how the meshes of `human.glb` attach to the clip's skeleton; see `BodyShape`."""
    return _shape(session.scene.clip)


def own_mesh(session: Session, request: EmptyRequest) -> OwnMesh:
    """Return the glTF file that the clip was read from, if it has meshes; see `OwnMesh`."""
    content, nodes = mesh_of(session.scene.clip) or (b"", ())
    return OwnMesh(content=np.frombuffer(content, np.uint8), nodes=list(nodes))


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
