"""The body for the page: the default human on the clip's joints, or the mesh of the clip's file."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..body import body_of
from ..body.asset import Mesh, load_human
from ..io.gltf import mesh_of
from ..skeleton import Clip
from .messages import Differences
from .protocol import BodyShape, OwnMesh
from .protocol.requests import EmptyRequest
from .session import Session


def body_shape(session: Session, request: EmptyRequest) -> BodyShape:
    """Return the default human's meshes, and how they attach to the clip's skeleton."""
    return _shape(session.scene.clip)


def own_mesh(session: Session, request: EmptyRequest) -> OwnMesh:
    """Return the glTF file that the clip was read from, if it has meshes; see `OwnMesh`."""
    content, nodes = mesh_of(session.scene.clip) or (b"", ())
    return OwnMesh(content=np.frombuffer(content, np.uint8), nodes=list(nodes))


@lru_cache(maxsize=4)
def _shape(clip: Clip) -> BodyShape:
    body = body_of(clip.skeleton, clip)
    nothing = np.zeros((0, 4), np.int64)
    empty = Mesh(np.zeros((0, 3)), nothing[:, :3], nothing, nothing.astype(float))
    human = None if body is None else load_human()
    bones, skin = (empty, empty) if human is None else (human.bones, human.skin)
    return BodyShape(
        bonesVertices=Differences(bones.vertices, 1.0),
        bonesTriangles=Differences(bones.triangles.ravel()),
        bonesSegments=Differences(bones.segments),
        bonesWeights=_weights(bones),
        skinVertices=Differences(skin.vertices, 1.0),
        skinTriangles=Differences(skin.triangles.ravel()),
        skinSegments=Differences(skin.segments),
        skinWeights=_weights(skin),
        joints=[] if body is None else body.joints.tolist(),
        offsets=np.zeros((0, 12)) if body is None else body.offsets.reshape(-1, 12),
        skin=body is not None and body.skin is not None,
    )


def _weights(mesh: Mesh) -> Differences:
    """Return the weights in 255ths, as the file has them."""
    return Differences(np.rint(255.0 * mesh.weights).astype(np.int64))
