"""A glTF file: its JSON, buffers and accessors."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, unquote_to_bytes

import numpy as np

from ...arrays import Floats
from ...schema import decode
from ..encoding import parse_json, quote_value
from ..files import read_file, read_file_below
from ..lines import BYTE_ORDER_MARK
from .objects import DTYPES, WIDTHS, Gltf, Sparse

MAGIC = b"glTF"
JSON, BIN = b"JSON", b"BIN\0"
BYTES = "application/octet-stream"
MAX_ZEROS = 10**6  # zeros in an accessor without bytes

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_OUTSIDE = re.compile(r"[\\\0]|\A/|\A\Z|(\A|/)\.\.(/|\Z)")


def fail(location: str, expected: str, got: object) -> NoReturn:
    """Raise ValueError about a location such as `nodes[3].scale`."""
    raise ValueError(f"{location}: expected {expected}, got {got}")


@dataclass(frozen=True, eq=False)
class Document:
    """A glTF file: its bytes, its JSON, and its chunks if it is a GLB."""

    path: Path
    folder: Path
    content: bytes
    chunks: tuple[tuple[bytes, bytes], ...]
    text: str
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
        return cls(path, path.parent.resolve(), content, chunks, text.decode(), gltf)

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
        """Return the bytes of a buffer: in the GLB, in its URI, or in another file."""
        if number not in self._buffers:
            buffer, location = self.gltf.buffers[number], f"buffers[{number}]"
            if buffer.uri is not None:
                content = read_uri(f"{location}.uri", buffer.uri, self.folder)
            elif number == 0 and self.has_bin_buffer:
                content = self.chunks[1][1]
            else:
                fail(location, "a uri, or the binary chunk of a GLB", "neither")
            if len(content) < buffer.byte_length:
                there = f"at most the {len(content)} bytes there are"
                fail(f"{location}.byteLength", there, buffer.byte_length)
            self._buffers[number] = content[: buffer.byte_length]
        return self._buffers[number]

    def floats(self, number: int) -> Floats:
        """Return the elements of an accessor as finite numbers (count, width), float64."""
        accessor, location = self.gltf.accessors[number], f"accessors[{number}]"
        dtype, width = DTYPES[accessor.component_type], WIDTHS[accessor.type]
        if not accessor.count:
            fail(f"{location}.count", "at least 1", 0)
        if accessor.buffer_view is not None:
            view = accessor.buffer_view
            elements = self._elements(
                location, view, accessor.byte_offset, accessor.count, width, dtype
            )
        elif accessor.count * width <= MAX_ZEROS:
            elements = np.zeros((accessor.count, width), dtype)
        else:
            rule = f"at most {MAX_ZEROS // width} without a bufferView"
            fail(f"{location}.count", rule, accessor.count)
        if accessor.sparse:
            elements = self._replace_sparse(f"{location}.sparse", accessor.sparse, elements)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            floats: Floats = elements.astype(np.float64)
        if dtype == "<f4":
            if not np.isfinite(floats).all():
                fail(location, "finite numbers", floats[~np.isfinite(floats)][0])
            return floats
        if not accessor.normalized:
            fail(location, "floats or normalized integers", "plain integers")
        # The lowest two signed integers both mean -1.
        return np.asarray(np.maximum(floats / np.iinfo(dtype).max, -1.0))

    def _replace_sparse(self, location: str, sparse: Sparse, elements: Any) -> Any:
        """Return `elements` (count, width) with the rows replaced that a sparse accessor lists."""
        if not 0 < sparse.count <= len(elements):
            fail(f"{location}.count", f"1 to {len(elements)}", sparse.count)
        indices, values, dtype = (
            sparse.indices,
            sparse.values,
            DTYPES[sparse.indices.component_type],
        )
        rows = self._elements(
            f"{location}.indices", indices.buffer_view, indices.byte_offset, sparse.count, 1, dtype
        )[:, 0].astype(np.int64)
        if (np.diff(rows) <= 0).any() or rows[-1] >= len(elements):
            rule = f"increasing numbers below {len(elements)}"
            fail(f"{location}.indices", rule, quote_value(rows.tolist()))
        replaced = np.array(elements)
        replaced[rows] = self._elements(
            f"{location}.values",
            values.buffer_view,
            values.byte_offset,
            sparse.count,
            elements.shape[1],
            elements.dtype.str,
        )
        return replaced

    def _elements(
        self, owner: str, number: int, offset: int, count: int, width: int, dtype: str
    ) -> Any:
        """Return `count` elements (count, width) in a buffer view, from a byte of it on.

        `owner` is the location of what they belong to.
        """
        view, location = self.gltf.buffer_views[number], f"bufferViews[{number}]"
        if any("compression" in name for name in view.extensions):
            got = (
                f"{quote_value(list(view.extensions))}; gltf-transform cp IN OUT decompresses them"
            )
            fail(location, "bytes without compression", got)
        data = self.buffer(view.buffer)
        end = view.byte_offset + view.byte_length
        if end > len(data):
            rule = f"bytes within the buffer's {len(data)}"
            fail(location, rule, f"{view.byte_offset} to {end}")
        size = np.dtype(dtype).itemsize * width
        stride = view.byte_stride or size
        if stride < size:
            fail(f"{location}.byteStride", f"at least an element's {size} bytes", stride)
        if offset + stride * (count - 1) + size > view.byte_length:
            got = f"{count} of {size} bytes, {stride} apart, from byte {offset}"
            fail(owner, f"elements within the {view.byte_length} bytes of {location}", got)
        strides = (stride, np.dtype(dtype).itemsize)
        return np.ndarray((count, width), dtype, data, view.byte_offset + offset, strides)


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
    """Return the GLB with these chunks, each filled up to a multiple of four bytes."""
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
        about, comma, coded = uri.partition(",")
        if not comma:
            fail(location, "a comma in a data URI", quote_value(uri))
        try:
            if about.endswith(";base64"):
                return base64.b64decode(coded, validate=True)
            return unquote_to_bytes(coded)
        except (binascii.Error, ValueError) as error:
            fail(location, f"base64 ({error})", quote_value(uri))
    name = unquote(uri)
    if _SCHEME.match(name) or _OUTSIDE.search(name):
        fail(location, "a file in the same folder", quote_value(uri))
    try:
        return read_file_below(folder, name)
    except ValueError as error:
        raise ValueError(f"{location}: {error}") from None


def data_uri(content: bytes, kind: str = BYTES) -> str:
    """Return `content` as a URI."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def json_text(value: Any, indent: int | None = None) -> str:
    """Return `value` as JSON; ValueError if JSON or glTF does not allow it."""
    separators = None if indent else (",", ":")
    try:
        return json.dumps(
            value, allow_nan=False, ensure_ascii=False, separators=separators, indent=indent
        )
    except (TypeError, RecursionError) as error:
        raise ValueError(f"expected JSON that can be written again, got {error}") from error
