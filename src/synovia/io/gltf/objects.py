"""The parts of glTF's JSON that are read, as declared classes; see the glTF 2.0 specification."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from ...arrays import Floats, Within
from ...schema import DecodeError, Key

FLOAT = 5126
DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", FLOAT: "<f4"}
"""Types of numbers by glTF's code."""
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
"""How many numbers an element has, by its type."""
Index = Annotated[int, Within(0, math.inf)]


@dataclass(frozen=True)
class Asset:
    """About the file."""

    version: str


@dataclass(frozen=True)
class Buffer:
    """Bytes: in the GLB, in a data URI, or in another file."""

    byte_length: Index
    uri: str | None = None


@dataclass(frozen=True)
class Image:
    """An image, whose file may be beside this one."""

    uri: str | None = None


@dataclass(frozen=True)
class BufferView:
    """A part of a buffer."""

    buffer: Index
    byte_length: Index
    byte_offset: Index = 0
    byte_stride: Index = 0
    extensions: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SparsePart:
    """Elements in a buffer view that replace others."""

    buffer_view: Index
    byte_offset: Index = 0


@dataclass(frozen=True, kw_only=True)
class SparseIndices(SparsePart):
    """Indices of the elements that are replaced."""

    component_type: Literal[5121, 5123, 5125]


@dataclass(frozen=True)
class Sparse:
    """Elements of an accessor that differ from its buffer view."""

    count: Index
    indices: SparseIndices
    values: SparsePart


@dataclass(frozen=True)
class Accessor:
    """Numbers in a buffer view: zeros without one."""

    component_type: Literal[5120, 5121, 5122, 5123, 5125, 5126]
    count: Index
    type: Literal["SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"]
    buffer_view: Index | None = None
    byte_offset: Index = 0
    normalized: bool = False
    sparse: Sparse | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the scene, with its transform relative to the node above."""

    name: str = ""
    children: tuple[Index, ...] = ()
    translation: Annotated[Floats, 3] = field(default_factory=lambda: np.zeros(3))
    rotation: Annotated[Floats, 4] = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    """x, y, z, w."""
    scale: Annotated[Floats, 3] = field(default_factory=lambda: np.ones(3))
    matrix: Annotated[Floats, 16] | None = None
    """Column after column, instead of the other three."""
    mesh: Any = None
    camera: Any = None
    skin: Any = None
    extensions: Any = None


@dataclass(frozen=True)
class Skin:
    """Nodes that are joints."""

    joints: tuple[Index, ...]


@dataclass(frozen=True)
class Target:
    """The property of a node that a channel moves."""

    path: str
    node: Index | None = None


@dataclass(frozen=True)
class Channel:
    """A sampler that moves a property."""

    sampler: Index
    target: Target


@dataclass(frozen=True)
class Sampler:
    """Accessors with times and values of keys."""

    input: Index
    output: Index
    interpolation: Literal["LINEAR", "STEP", "CUBICSPLINE"] = "LINEAR"


@dataclass(frozen=True)
class Animation:
    """Keys of several nodes."""

    channels: tuple[Channel, ...]
    samplers: tuple[Sampler, ...]
    name: str = ""
    extras: Any = None


@dataclass(frozen=True)
class Gltf:
    """A whole file."""

    asset: Asset
    buffers: tuple[Buffer, ...] = ()
    buffer_views: tuple[BufferView, ...] = ()
    accessors: tuple[Accessor, ...] = ()
    images: tuple[Image, ...] = ()
    meshes: tuple[Any, ...] = ()
    nodes: tuple[Node, ...] = ()
    skins: tuple[Skin, ...] = ()
    animations: tuple[Animation, ...] = ()
    extensions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.asset.version.startswith("2."):
            got = repr(self.asset.version)[:60]
            raise DecodeError(f"expected glTF 2.0, got {got}", ("asset", "version"))
        for index, kind, count, keys in self._references():
            if index >= count:
                raise DecodeError(f"expected the index of one of {count} {kind}, got {index}", keys)

    def _references(self) -> Iterator[tuple[int, str, int, tuple[Key, ...]]]:
        """Yield each index into a list, with the list's name and length, and its own keys."""
        views, nodes = len(self.buffer_views), len(self.nodes)
        for n, view in enumerate(self.buffer_views):
            yield view.buffer, "buffers", len(self.buffers), ("bufferViews", n, "buffer")
        for n, accessor in enumerate(self.accessors):
            location: tuple[Key, ...] = ("accessors", n)
            if accessor.buffer_view is not None:
                yield accessor.buffer_view, "bufferViews", views, (*location, "bufferView")
            if sparse := accessor.sparse:
                location = (*location, "sparse")
                yield sparse.indices.buffer_view, "bufferViews", views, (*location, "indices")
                yield sparse.values.buffer_view, "bufferViews", views, (*location, "values")
        for n, node in enumerate(self.nodes):
            for k, child in enumerate(node.children):
                yield child, "nodes", nodes, ("nodes", n, "children", k)
        for n, skin in enumerate(self.skins):
            for k, joint in enumerate(skin.joints):
                yield joint, "nodes", nodes, ("skins", n, "joints", k)
        for n, animation in enumerate(self.animations):
            for k, sampler in enumerate(animation.samplers):
                location = ("animations", n, "samplers", k)
                yield sampler.input, "accessors", len(self.accessors), (*location, "input")
                yield sampler.output, "accessors", len(self.accessors), (*location, "output")
            for k, channel in enumerate(animation.channels):
                location = ("animations", n, "channels", k)
                yield channel.sampler, "samplers", len(animation.samplers), (*location, "sampler")
                if channel.target.node is not None:
                    yield channel.target.node, "nodes", nodes, (*location, "target", "node")


@dataclass(frozen=True)
class HumanBone:
    """A node that is a bone of a human."""

    node: Index
    bone: str = ""
    """The bone's name in VRM 0.x."""


@dataclass(frozen=True)
class Humanoid:
    """The bones of a human."""

    human_bones: Any
    """A list of `HumanBone` in VRM 0.x; from 1.0 on an object of them, by the names of bones."""


@dataclass(frozen=True)
class Vrm:
    """The extensions VRM (of VRM 0.x), VRMC_vrm and VRMC_vrm_animation."""

    humanoid: Humanoid | None = None
