"""The body for the page: the default human on the clip's joints, or the mesh of the clip's file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Bytes, Floats
from ..body import body_of
from ..body.asset import Mesh, load_human
from ..io.gltf import mesh_of
from ..skeleton import Clip
from .messages import Differences, Empty, SmoothFloats, SmoothInts
from .session import Session


@dataclass(frozen=True, kw_only=True)
class BodyShape:
    """The default human's meshes, and how they attach to a skeleton; empty without a human.

    Each mesh has vertices, triangles, and the four segments that move each vertex, with weights.
    """

    bones_vertices: SmoothFloats
    bones_triangles: SmoothInts
    bones_segments: SmoothInts
    bones_weights: SmoothInts
    """In 255ths."""
    skin_vertices: SmoothFloats
    skin_triangles: SmoothInts
    skin_segments: SmoothInts
    skin_weights: SmoothInts
    joints: list[int]
    """The joint that moves each segment, -1 where there is none."""
    offsets: Floats
    """For each segment, a matrix of three rows and four columns, from the meshes' coordinates to
    the frame of its joint."""
    skin: bool
    """True if the skin is to be shown."""


@dataclass(frozen=True, kw_only=True)
class OwnMesh:
    """The glTF file that a clip was read from; empty if it has no meshes of its own."""

    content: Bytes
    nodes: list[int]
    """The node of each joint, by its index in the file."""


def body_shape(session: Session, request: Empty) -> BodyShape:
    """Return the default human's meshes, and how they attach to the clip's skeleton."""
    return _shape(session.scene.clip)


def own_mesh(session: Session, request: Empty) -> OwnMesh:
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
        bones_vertices=Differences(bones.vertices, 1.0),
        bones_triangles=Differences(bones.triangles.ravel()),
        bones_segments=Differences(bones.segments),
        bones_weights=_weights(bones),
        skin_vertices=Differences(skin.vertices, 1.0),
        skin_triangles=Differences(skin.triangles.ravel()),
        skin_segments=Differences(skin.segments),
        skin_weights=_weights(skin),
        joints=[] if body is None else body.joints.tolist(),
        offsets=np.zeros((0, 12)) if body is None else body.offsets.reshape(-1, 12),
        skin=body is not None and body.skin is not None,
    )


def _weights(mesh: Mesh) -> Differences:
    """Return the weights in 255ths, as the file has them."""
    return Differences(np.rint(255.0 * mesh.weights).astype(np.int64))
