"""A glTF file: its JSON, buffers and accessors, with checked indices."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import numpy as np

from ...arrays import Floats
from ..encoding import JsonEntry, parse_json, quote_value
from ..files import read_file, read_file_below

MAGIC = b"glTF"
JSON, BIN = b"JSON", b"BIN\0"
BYTES = "application/octet-stream"
FLOAT = 5126
DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", FLOAT: "<f4"}
"""Types of numbers by glTF's code."""
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
MAX_ZEROS = 10**6  # zeros in an accessor without bytes
MAX_WHOLE = 2**53  # larger indices and counts are taken for mistakes
MAX_NUMBER = 1e12  # larger lengths and scales are taken for mistakes

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_OUTSIDE = re.compile(r"[\\\0]|\A/|\A\Z|(\A|/)\.\.(/|\Z)")


@dataclass(frozen=True, eq=False)
class Document:
    """A glTF file: its bytes, its JSON, and its chunks if it is a GLB."""

    path: Path
    folder: Path
    content: bytes
    chunks: tuple[tuple[bytes, bytes], ...]
    text: str
    root: JsonEntry
    _buffers: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Document:
        """Return the file at `path`."""
        return cls.parse(path, read_file(path))

    @classmethod
    def parse(cls, path: Path, content: bytes) -> Document:
        """Return the file with this content; its buffers are in the folder of `path`."""
        chunks = tuple(_split_chunks(content)) if content.startswith(MAGIC) else ()
        text = (chunks[0][1].rstrip(b"\0") if chunks else content).removeprefix(b"\xef\xbb\xbf")
        root = JsonEntry(parse_json(str(path), text))
        asset = require(root, "asset")
        version = require(asset, "version")
        if not version.text().startswith("2."):
            version.fail("glTF 2.0")
        return cls(path, path.parent.resolve(), content, chunks, text.decode(), root)

    @property
    def is_binary(self) -> bool:
        """True for a GLB."""
        return bool(self.chunks)

    @property
    def size(self) -> int:
        """Bytes of the file and of the buffers that have been read."""
        return len(self.content) + sum(map(len, self._buffers.values()))

    def count(self, kind: str) -> int:
        """Return the number of items of one of the lists of the file."""
        entry = member(self.root, kind)
        return 0 if entry is None else len(list_of(entry))

    def items(self, kind: str) -> list[JsonEntry]:
        """Return the items of one of the lists of the file."""
        entry = member(self.root, kind)
        return [] if entry is None else entry.items()

    def index(self, kind: str, entry: JsonEntry) -> int:
        """Return the index of an item, stored in `entry`."""
        count = self.count(kind)
        if not count:
            entry.fail(f"an item of {kind}, of which there are none")
        return whole_number(entry, 0, count - 1)

    def item(self, kind: str, entry: JsonEntry) -> JsonEntry:
        """Return the item whose index is stored in `entry`."""
        return self.at(kind, self.index(kind, entry))

    def at(self, kind: str, number: int) -> JsonEntry:
        """Return an item with a valid index."""
        return self.root.child(kind).child(number)

    def bin_buffer(self) -> bool:
        """Return whether the first buffer is the binary chunk of a GLB."""
        has_chunk = len(self.chunks) > 1 and self.chunks[1][0] == BIN and self.count("buffers") > 0
        return has_chunk and member(self.at("buffers", 0), "uri") is None

    def buffer(self, number: int) -> bytes:
        """Return the bytes of a buffer: in the GLB, in its URI, or in another file."""
        if number not in self._buffers:
            entry = self.at("buffers", number)
            length = whole_number(require(entry, "byteLength"), 1)
            uri = member(entry, "uri")
            if uri is not None:
                content = read_uri(uri, self.folder)
            elif number == 0 and self.bin_buffer():
                content = self.chunks[1][1]
            else:
                entry.fail("a uri, or the binary chunk of a GLB", "neither")
            if len(content) < length:
                entry.child("byteLength").fail(f"at most the {len(content)} bytes there are")
            self._buffers[number] = content[:length]
        return self._buffers[number]


@dataclass(frozen=True)
class ElementLayout:
    """Location of the elements of an accessor in a buffer; (count, width) numbers."""

    buffer: int
    start: int
    stride: int
    count: int
    width: int
    dtype: str

    def view(self, data: bytes | bytearray) -> Any:
        """Return the numbers as an array (count, width) that shares the memory of `data`."""
        strides = (self.stride, np.dtype(self.dtype).itemsize)
        return np.ndarray((self.count, self.width), self.dtype, data, self.start, strides)


def layout(document: Document, accessor: JsonEntry) -> ElementLayout | None:
    """Return the location of the elements of an accessor; None if all are zeros."""
    dtype = _dtype(require(accessor, "componentType"), DTYPES)
    width = _width(accessor)
    count = whole_number(require(accessor, "count"), 1)
    if member(accessor, "bufferView") is None:
        if count * width > MAX_ZEROS:
            accessor.child("count").fail(f"at most {MAX_ZEROS // width} without a bufferView")
        return None
    return _view_layout(document, accessor, count, width, dtype)


def accessor_floats(document: Document, accessor: JsonEntry) -> Floats:
    """Return the elements of an accessor as finite numbers (count, width), float64."""
    elements = layout(document, accessor)
    dtype = DTYPES[accessor.value["componentType"]]
    if elements is None:
        numbers = np.zeros((accessor.value["count"], _width(accessor)), dtype)
    else:
        numbers = elements.view(document.buffer(elements.buffer))
    if sparse := member(accessor, "sparse"):
        numbers = _replace_sparse(document, sparse, np.array(numbers))
    with np.errstate(invalid="ignore"):  # a signalling NaN
        floats = numbers.astype(np.float64)
    if dtype == "<f4":
        if not np.isfinite(floats).all():
            accessor.fail("finite numbers", f"{floats[~np.isfinite(floats)][0]}")
        return floats
    if not (member(accessor, "normalized") or JsonEntry(False)).value:
        accessor.fail("floats or normalized integers", "plain integers")
    # The lowest two signed integers both mean -1.
    return np.maximum(floats / np.iinfo(dtype).max, -1.0)


def _replace_sparse(document: Document, sparse: JsonEntry, numbers: Any) -> Any:
    """Return `numbers` (count, width) with the rows replaced that a sparse accessor lists."""
    count = whole_number(require(sparse, "count"), 1, len(numbers))
    indices, values = require(sparse, "indices"), require(sparse, "values")
    kinds = {code: DTYPES[code] for code in (5121, 5123, 5125)}
    at = _view_layout(document, indices, count, 1, _dtype(require(indices, "componentType"), kinds))
    rows = at.view(document.buffer(at.buffer))[:, 0].astype(np.int64)
    if (np.diff(rows) <= 0).any() or rows[-1] >= len(numbers):
        indices.fail(f"increasing numbers below {len(numbers)}", quote_value(rows.tolist()))
    new = _view_layout(document, values, count, numbers.shape[1], numbers.dtype.str)
    numbers[rows] = new.view(document.buffer(new.buffer))
    return numbers


def _view_layout(
    document: Document, owner: JsonEntry, count: int, width: int, dtype: str
) -> ElementLayout:
    """Return the location of `count` elements in the bufferView that `owner` names."""
    view = document.item("bufferViews", require(owner, "bufferView"))
    extensions = member(view, "extensions")
    if extensions is not None and any("compression" in name for name in extensions.members()):
        got = quote_value(list(extensions.value))
        view.fail("bytes without compression", f"{got}; gltf-transform cp IN OUT decompresses them")
    buffer = document.index("buffers", require(view, "buffer"))
    begin, length = _optional(view, "byteOffset"), whole_number(require(view, "byteLength"), 1)
    available = len(document.buffer(buffer))
    if begin + length > available:
        view.fail(f"bytes within the buffer's {available}", f"{begin} to {begin + length}")
    size = np.dtype(dtype).itemsize * width
    stride = _optional(view, "byteStride", least=4, most=252, default=size)
    if stride < size:
        view.child("byteStride").fail(f"at least an element's {size} bytes")
    offset = _optional(owner, "byteOffset")
    if offset + stride * (count - 1) + size > length:
        owner.fail(
            f"elements within the {length} bytes of {view.place}",
            f"{count} of {size} bytes, {stride} apart, from byte {offset}",
        )
    return ElementLayout(buffer, begin + offset, stride, count, width, dtype)


def _width(accessor: JsonEntry) -> int:
    kind = require(accessor, "type")
    return WIDTHS.get(kind.text()) or kind.fail(f"one of {', '.join(WIDTHS)}")


def _dtype(entry: JsonEntry, kinds: Mapping[int, str]) -> str:
    code = whole_number(entry)
    return kinds.get(code) or entry.fail(f"one of {', '.join(map(str, kinds))}")


def _optional(
    entry: JsonEntry, key: str, *, least: int = 0, most: int = MAX_WHOLE, default: int = 0
) -> int:
    value = member(entry, key)
    return default if value is None else whole_number(value, least, most)


def member(entry: JsonEntry, key: str) -> JsonEntry | None:
    """Return the value of an object for `key`; None if there is none."""
    if not isinstance(entry.value, dict):
        entry.fail("an object")
    return entry.child(key) if key in entry.value else None


def require(entry: JsonEntry, key: str) -> JsonEntry:
    """Return the value of an object for `key`; ValueError if there is none."""
    return member(entry, key) or entry.refuse(f"the key {key!r} is missing")


def list_of(entry: JsonEntry) -> list[Any]:
    """Return the value as a list."""
    return entry.value if isinstance(entry.value, list) else entry.fail("a list")


def whole_number(entry: JsonEntry, least: int = 0, most: int = MAX_WHOLE) -> int:
    """Return the value as a whole number."""
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        entry.fail(f"a whole number {_bounds(least, most)}")
    return int(value)


def _bounds(least: int, most: int) -> str:
    return f"from {least}" if most == MAX_WHOLE else f"from {least} to {most}"


def numbers(entry: JsonEntry, count: int) -> list[float]:
    """Return `count` numbers, each within `MAX_NUMBER`."""
    values = list_of(entry)
    sane = len(values) == count and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER
        for value in values
    )
    return [float(value) for value in values] if sane else entry.fail(f"{count} numbers")


def _split_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and payload of each chunk of a GLB."""
    if len(content) < 20:
        raise ValueError(f"byte {len(content)}: expected the header of a GLB, got its end")
    version, length = struct.unpack_from("<II", content, 4)
    if version != 2:
        raise ValueError(f"byte 4: expected version 2, got {version}")
    if length > len(content):
        raise ValueError(f"byte 8: expected {length} bytes in the file, got {len(content)}")
    at = 12
    while at < length:
        if at + 8 > length:
            raise ValueError(f"byte {at}: expected a chunk's header, got the end of the file")
        size, kind = struct.unpack_from("<I4s", content, at)
        if at + 8 + size > length:
            raise ValueError(
                f"byte {at}: expected a chunk of at most {length - at - 8} bytes, got {size}"
            )
        if (at == 12) != (kind == JSON):
            raise ValueError(f"byte {at + 4}: expected one JSON chunk, the first, got {kind!r}")
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


def read_uri(uri: JsonEntry, folder: Path) -> bytes:
    """Return the bytes of a data URI, or of a file below `folder`; links out of it are refused."""
    text = uri.text()
    if text.startswith("data:"):
        about, comma, coded = text.partition(",")
        if not comma:
            uri.fail("a comma in a data URI")
        try:
            return (
                base64.b64decode(coded, validate=True)
                if about.endswith(";base64")
                else unquote_to_bytes(coded)
            )
        except (binascii.Error, ValueError) as error:
            uri.fail(f"base64 ({error})")
    name = unquote(text)
    if _SCHEME.match(name) or _OUTSIDE.search(name):
        uri.fail("a file in the same folder")
    try:
        return read_file_below(folder, name)
    except ValueError as error:
        uri.refuse(str(error))


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
