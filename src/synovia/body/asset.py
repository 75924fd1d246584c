"""The mesh of the default human: bones and skin on its segments, read from `human.glb`.

`tools/build_body.py` writes the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Vectors
from ..skeleton import Skeleton

FILE = Path(__file__).parent / "human.glb"
DTYPES = {5121: "u1", 5122: "<i2", 5123: "<u2", 5126: "<f4"}
"""NumPy's types by glTF's component types."""
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles (m, 3) between vertices (n, 3), which move with segments (n, 4) by weights (n, 4).

    Vertices are in the coordinates of the asset, counter-clockwise as seen from outside.
    """

    vertices: Vectors
    triangles: Ints
    segments: Ints
    weights: Floats

    @property
    def owners(self) -> Ints:
        """The segment (n,) with the largest weight at each vertex."""
        best = self.weights.argmax(axis=1)
        return np.asarray(np.take_along_axis(self.segments, best[:, None], axis=1)[:, 0])


@dataclass(frozen=True, eq=False)
class HumanAsset:
    """The default human of 1.75 m: its skeleton at rest (metres) and its meshes.

    `inverses` (segments, 3, 4) map the asset's coordinates to the frame of each segment: glTF's
    inverse bind matrices.
    """

    skeleton: Skeleton
    inverses: Floats
    bones: Mesh
    skin: Mesh


@cache
def load_human() -> HumanAsset:
    """Return the mesh of the default human."""
    content = FILE.read_bytes()
    length = struct.unpack_from("<I", content, 12)[0]
    root = json.loads(content[20 : 20 + length])
    data = memoryview(content)[28 + length :]

    def read(accessor: int) -> NDArray[Any]:
        entry = root["accessors"][accessor]
        view = root["bufferViews"][entry["bufferView"]]
        dtype, width = np.dtype(DTYPES[entry["componentType"]]), WIDTHS[entry["type"]]
        shape = entry["count"], width
        stride = view.get("byteStride", width * dtype.itemsize)
        strides = stride, dtype.itemsize
        return np.ndarray(shape, dtype, data, view["byteOffset"], strides)

    skin = root["skins"][0]
    inverses = read(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
    meshes = {mesh["name"]: _mesh(mesh["primitives"][0], read) for mesh in root["meshes"]}
    nodes = [root["nodes"][joint] for joint in skin["joints"]]
    parents = np.full(len(nodes), -1)
    for number, node in enumerate(nodes):
        parents[node.get("children", [])] = number
    offsets = np.array([node["translation"] for node in nodes])
    skeleton = Skeleton(tuple(node["name"] for node in nodes), parents, offsets)
    return HumanAsset(skeleton, inverses[:, :3].astype(float), **meshes)


def _mesh(primitive: Mapping[str, Any], read: Any) -> Mesh:
    """Return the mesh of a glTF primitive; `read` gives the array of an accessor."""
    attributes = {name: read(number) for name, number in primitive["attributes"].items()}
    return Mesh(
        attributes["POSITION"].astype(float),
        read(primitive["indices"]).reshape(-1, 3).astype(np.int64),
        attributes["JOINTS_0"].astype(np.int64),
        attributes["WEIGHTS_0"] / 255.0,
    )
