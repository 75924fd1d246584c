"""A glTF file: the parts of its JSON that are read, its buffers and accessors.

The classes declare glTF's JSON; see the glTF 2.0 specification.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn
from urllib.parse import unquote, unquote_to_bytes

import numpy as np

from ...arrays import Floats, Within
from ...schema import DecodeError, Key, decode, json_key
from ..encoding import parse_json, quote_value
from ..files import read_file, read_file_below
from ..lines import BYTE_ORDER_MARK

MAGIC = b"glTF"
JSON, BIN = b"JSON", b"BIN\0"
BYTES = "application/octet-stream"
MAX_ZEROS = 10**6  # zeros in an accessor without bytes
FLOAT = 5126
DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", FLOAT: "<f4"}
"""Types of numbers by glTF's code."""
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
"""How many numbers an element has, by its type."""
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_OUTSIDE = re.compile(r"[\\\0]|\A/|\A\Z|(\A|/)\.\.(/|\Z)")
Index = Annotated[int, Within(0, math.inf)]


def fail(location: str, expected: str, got: object) -> NoReturn:
    """Raise ValueError about a location such as `nodes[3].scale`."""
    raise ValueError(f"{location}: expected {expected}, got {got}")


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
class Accessor:
    """Numbers in a buffer view: zeros without one."""

    component_type: Literal[5120, 5121, 5122, 5123, 5125, 5126]
    count: Index
    type: Literal["SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"]
    buffer_view: Index | None = None
    byte_offset: Index = 0
    normalized: bool = False
    sparse: Any = None


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
    """The JSON of a file. References between its parts are indices of the lists."""

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
        for steps, kind in REFERENCES.items():
            _check_indices(self, steps.split("."), kind, len(getattr(self, kind)), ())
        for number, animation in enumerate(self.animations):
            keys = ("animations", number, "channels")
            count = len(animation.samplers)
            _check_indices(animation.channels, ["sampler"], "samplers", count, keys)


REFERENCES = {
    "buffer_views.buffer": "buffers",
    "accessors.buffer_view": "buffer_views",
    "nodes.children": "nodes",
    "skins.joints": "nodes",
    "animations.samplers.input": "accessors",
    "animations.samplers.output": "accessors",
    "animations.channels.target.node": "nodes",
}
"""The lists that fields with indices refer to, by path of the field."""


def _check_indices(
    value: Any, steps: Sequence[str], kind: str, count: int, keys: tuple[Key, ...]
) -> None:
    """Raise DecodeError unless the indices in `value` are below `count`, the number of `kind`.

    `steps` are the names of the fields from `value` to the indices; `keys` locate `value`.
    """
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            _check_indices(item, steps, kind, count, (*keys, number))
    elif value is not None and steps:
        first, *rest = steps
        _check_indices(getattr(value, first), rest, kind, count, (*keys, json_key(first)))
    elif value is not None and value >= count:
        what = f"one of {count} {json_key(kind)}"
        raise DecodeError(f"expected the index of {what}, got {value}", keys)


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


@dataclass(frozen=True, eq=False)
class Document:
    """A glTF file: its bytes, its JSON, and its chunks if it is a GLB."""

    path: Path
    folder: Path
    content: bytes
    chunks: tuple[tuple[bytes, bytes], ...]
    text: bytes
    gltf: Gltf
    _buffers: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Document:
        """Return the file at `path`."""
        return cls.parse(path, read_file(path))

    @classmethod
    def parse(cls, path: Path, content: bytes) -> Document:
        """Return the file with this content; its buffers are in the folder of `path`."""
        chunks = tuple(_split_chunks(content)) if content.startswith(MAGIC) else ()
        text = (chunks[0][1].rstrip(b"\0") if chunks else content).removeprefix(BYTE_ORDER_MARK)
        gltf = decode(Gltf, parse_json(str(path), text))
        return cls(path, path.parent.resolve(), content, chunks, text, gltf)

    @property
    def is_binary(self) -> bool:
        """True for a GLB."""
        return bool(self.chunks)

    @property
    def size(self) -> int:
        """Bytes of the file and of the buffers that have been read."""
        return len(self.content) + sum(map(len, self._buffers.values()))

    @property
    def has_bin_buffer(self) -> bool:
        """True if the first buffer is the binary chunk of a GLB."""
        has_chunk = len(self.chunks) > 1 and self.chunks[1][0] == BIN
        return has_chunk and bool(self.gltf.buffers) and self.gltf.buffers[0].uri is None

    def buffer(self, number: int) -> bytes:
        """Return the bytes of a buffer, from the GLB, its data URI or another file; cached.

        ValueError if they are missing or too few.
        """
        if number not in self._buffers:
            buffer, location = self.gltf.buffers[number], f"buffers[{number}]"
            if buffer.uri is not None:
                content = read_uri(f"{location}.uri", buffer.uri, self.folder)
            elif number == 0 and self.has_bin_buffer:
                content = self.chunks[1][1]
            else:
                fail(location, "a uri, or the binary chunk of a GLB", "neither")
            if len(content) < buffer.byte_length:
                rule = f"at most the {len(content)} bytes there are"
                fail(f"{location}.byteLength", rule, buffer.byte_length)
            self._buffers[number] = content[: buffer.byte_length]
        return self._buffers[number]

    def floats(self, number: int) -> Floats:
        """Return the elements of an accessor (count, width) as float64, integers normalized.

        ValueError for plain integers, sparse accessors, and numbers that are not finite.
        """
        accessor, location = self.gltf.accessors[number], f"accessors[{number}]"
        dtype = np.dtype(DTYPES[accessor.component_type])
        width = WIDTHS[accessor.type]
        if not accessor.count:
            fail(f"{location}.count", "at least 1", 0)
        if accessor.sparse is not None:
            fail(location, "an accessor whose elements are all in one bufferView", "a sparse one")
        if accessor.buffer_view is not None:
            elements = self._elements(location, accessor, dtype, width)
        elif accessor.count * width <= MAX_ZEROS:
            elements = np.zeros((accessor.count, width), dtype)
        else:
            rule = f"at most {MAX_ZEROS // width} without a bufferView"
            fail(f"{location}.count", rule, accessor.count)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            floats: Floats = elements.astype(np.float64)
        if not np.isfinite(floats).all():
            fail(location, "finite numbers", floats[~np.isfinite(floats)][0])
        if dtype.kind == "f":
            return floats
        if not accessor.normalized:
            fail(location, "floats or normalized integers", "plain integers")
        # The lowest two signed integers both mean -1.
        return np.asarray(np.maximum(floats / np.iinfo(dtype).max, -1.0))

    def _elements(self, location: str, accessor: Accessor, dtype: np.dtype[Any], width: int) -> Any:
        """Return the elements (count, width) of an accessor with a buffer view, as stored."""
        assert accessor.buffer_view is not None
        view = self.gltf.buffer_views[accessor.buffer_view]
        view_location = f"bufferViews[{accessor.buffer_view}]"
        if any("compression" in name for name in view.extensions):
            names = quote_value(list(view.extensions))
            got = f"{names}; gltf-transform cp IN OUT decompresses them"
            fail(view_location, "bytes without compression", got)
        data = self.buffer(view.buffer)
        end = view.byte_offset + view.byte_length
        if end > len(data):
            rule = f"bytes within the buffer's {len(data)}"
            fail(view_location, rule, f"{view.byte_offset} to {end}")
        size, offset, count = dtype.itemsize * width, accessor.byte_offset, accessor.count
        stride = view.byte_stride or size
        if stride < size:
            fail(f"{view_location}.byteStride", f"at least an element's {size} bytes", stride)
        if offset + stride * (count - 1) + size > view.byte_length:
            got = f"{count} of {size} bytes, {stride} apart, from byte {offset}"
            fail(location, f"elements within the {view.byte_length} bytes of {view_location}", got)
        start, strides = view.byte_offset + offset, (stride, dtype.itemsize)
        return np.ndarray((count, width), dtype, data, start, strides)


def _split_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and payload of each chunk of a GLB."""
    if len(content) < 20:
        fail(f"byte {len(content)}", "the header of a GLB", "its end")
    version, length = struct.unpack_from("<II", content, 4)
    if version != 2:
        fail("byte 4", "version 2", version)
    if length > len(content):
        fail("byte 8", f"{length} bytes in the file", len(content))
    at = 12
    while at < length:
        if at + 8 > length:
            fail(f"byte {at}", "a chunk's header", "the end of the file")
        size, kind = struct.unpack_from("<I4s", content, at)
        if at + 8 + size > length:
            fail(f"byte {at}", f"a chunk of at most {length - at - 8} bytes", size)
        if (at == 12) != (kind == JSON):
            fail(f"byte {at + 4}", "one JSON chunk, the first", kind)
        yield kind, content[at + 8 : at + 8 + size]
        at += 8 + size


def join_chunks(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """Return the GLB with these chunks, padded to multiples of four bytes."""
    parts = []
    for kind, payload in chunks:
        payload += (b" " if kind == JSON else b"\0") * (-len(payload) % 4)
        parts += [struct.pack("<I4s", len(payload), kind), payload]
    length = 12 + sum(map(len, parts))
    if length >= 2**32:
        raise ValueError(f"a GLB has at most 4294967295 bytes, got {length}")
    return b"".join([struct.pack("<4sII", MAGIC, 2, length), *parts])


def read_uri(location: str, uri: str, folder: Path) -> bytes:
    """Return the bytes of a data URI, or of a file below `folder`; links out of it are refused.

    `location` is that of the URI in the JSON, for errors.
    """
    if uri.startswith("data:"):
        header, comma, data = uri.partition(",")
        if not comma:
            fail(location, "a comma in a data URI", quote_value(uri))
        try:
            if header.endswith(";base64"):
                return base64.b64decode(data, validate=True)
            return unquote_to_bytes(data)
        except (binascii.Error, ValueError) as error:
            fail(location, f"base64 ({error})", quote_value(uri))
    name = unquote(uri)
    if _URL.match(name) or _OUTSIDE.search(name):
        fail(location, "a file in the same folder", quote_value(uri))
    try:
        return read_file_below(folder, name)
    except ValueError as error:
        raise ValueError(f"{location}: {error}") from None


def data_uri(content: bytes, media_type: str = BYTES) -> str:
    """Return `content` as a data URI in base64."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def json_text(value: Any, indent: int | None = None) -> str:
    """Return `value` as JSON; ValueError if JSON or glTF does not allow it."""
    separators = None if indent else (",", ":")
    try:
        return json.dumps(
            value, allow_nan=False, ensure_ascii=False, separators=separators, indent=indent
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(f"expected JSON that can be written again, got {error}") from error
