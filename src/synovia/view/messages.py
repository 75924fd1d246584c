"""Messages to the page: a JSON header and arrays behind it, as bytes that a browser reads at once.

Messages are frozen dataclasses, declared beside the function that answers them. `synovia.schema`
decodes requests and encodes answers; `web/protocol.py` derives the TypeScript types.

First the header's length (4 bytes, little-endian), then the header, padded with spaces to a
multiple of 4, then the arrays one after the other, each padded with zeros to a multiple of 4:
32-bit floats, 32-bit unsigned integers, or short ones where they were made so. The header's
`arrays` names them in order, with their types and shapes. Large arrays are sent as differences of
rows, which compress well; see `Differences`. A request is JSON as text; one with the
bytes of a file is the header's length, the header, and these bytes.

Angles are in degrees if names end in `_deg`. Rotations are quaternions, w first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..schema import MESSAGES, declared_fields, encode

ArrayType = Literal["f4", "u4", "i2", "u2", "u1", "d2", "d4"]
"""Numbers of so many bytes: floats, unsigned and signed integers, or differences."""


@dataclass(frozen=True, kw_only=True)
class ArrayEntry:
    """An array behind the header of a message."""

    name: str
    type: ArrayType
    shape: list[int]
    step: float | None = None
    """Of differences: what their sums are multiplied by; 0 if they are bits of numbers."""
    whole: bool = False
    """True if the sums are integers."""


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """A file with edits that were not saved when the limits were last shown."""

    name: str
    written: float
    """When it was, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class State:
    """State of the limits on all pages: limited joints, undo and redo, the file."""

    limited: list[int]
    grouped: list[int]
    """Those of them that are limited together with others: they have no region to draw."""
    measured_from: list[int]
    """By joint, the one that its limit is measured from; -1 for none."""
    drivers: list[int]
    """By joint, the one that its limit depends on; -1 for none."""
    undo: str | None
    redo: str | None
    file: str | None
    """Where the limits are saved; without it they can only be downloaded."""
    unsaved: bool
    two_verdicts: bool
    """True if joints are judged as impossible and unusual; else they are outside or not."""
    scene: int
    """Number of the scene: with another number, there is another clip."""
    evidence: int
    """Number of the limits that were given or fitted; the present ones are edits of these."""
    leftover: Leftover | None


@dataclass(frozen=True, kw_only=True)
class Edge:
    """An edge of a cone, for which an edit was refused."""

    number: int
    ends: list[list[float]]


@dataclass(frozen=True, kw_only=True)
class Header:
    """The JSON that every message to the page has besides its answer."""

    id: int | None = None
    """Number of the request; None if another page has changed the limits."""
    error: str | None = None
    """Why there is no answer; nothing has changed."""
    edge: Edge | None = None
    """The edge of a cone that is at fault."""
    state: State | None = None
    """If the request has changed it."""
    arrays: list[ArrayEntry]
    """In the order in which they follow."""


@dataclass(frozen=True, kw_only=True)
class Empty:
    """A message without content."""


@dataclass(frozen=True, kw_only=True)
class JointRequest:
    """A request about a joint, by its name."""

    joint: str


@dataclass(frozen=True, eq=False)
class Differences:
    """An array (n, ...) sent as differences of successive rows, column by column.

    Of each column, first the low bytes of all differences are sent, then the next higher ones.
    Floats are rounded to 16-bit multiples of `step`; if it is 0, the bits of 32-bit floats are
    sent as they are. Integers have 16 bits if they fit.
    """

    values: NDArray[Any]
    step: float = 0.0

    @property
    def type(self) -> Literal["d2", "d4"]:
        """The type of the message: "d" and the bytes of each number."""
        if self.step or (self.is_whole and self.values.max(initial=0) < 1 << 16):
            return "d2"
        return "d4"

    @property
    def is_whole(self) -> bool:
        """True for integers."""
        return np.issubdtype(self.values.dtype, np.integer)

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        unsigned = np.dtype(f"<u{self.type[1]}")
        if self.step:
            numbers = np.rint(self.values / self.step).astype("<i2").view(unsigned)
        elif self.is_whole:
            numbers = self.values.astype(unsigned)
        else:
            numbers = np.ascontiguousarray(self.values, "<f4").view(unsigned)
        rows, width = len(numbers), math.prod(numbers.shape[1:])
        columns = np.ascontiguousarray(numbers.reshape(rows, width).T)
        columns[:, 1:] = np.diff(columns, axis=1)  # wraps around
        numbers = columns.view(np.uint8).reshape(width, rows, unsigned.itemsize)
        return numbers.transpose(2, 0, 1).tobytes()

    @staticmethod
    def decode(content: bytes, entry: Mapping[str, Any]) -> NDArray[Any]:
        """Return the array of an entry of the header: float32, or integers."""
        width, shape = int(entry["type"][1]), entry["shape"]
        planes = np.frombuffer(content, np.uint8).reshape(width, math.prod(shape[1:]), shape[0])
        columns = np.ascontiguousarray(planes.transpose(1, 2, 0)).view(f"<u{width}")[..., 0]
        numbers = np.cumsum(columns, axis=1, dtype=columns.dtype).T.reshape(shape)
        if entry["step"]:
            return np.asarray(numbers.view("<i2") * entry["step"], np.float32)
        return numbers.astype(np.uint32) if entry["whole"] else numbers.copy().view("<f4")


SmoothFloats = Differences
SmoothInts = Differences

MAX_REQUEST_BYTES = 1 << 20
"""Requests of more bytes than this are refused."""


def pack(answer: Any, **header: Any) -> bytes:
    """Return a message with an answer, whose arrays follow the header.

    `header` has fields of `Header`; those that are None are left out.
    """
    content: dict[str, object] = {}
    entries: list[ArrayEntry] = []
    arrays: list[bytes] = []
    for field in declared_fields(answer.__class__, MESSAGES):
        value = getattr(answer, field.name)
        if not isinstance(value, np.ndarray | Differences):
            content[field.key] = encode(value)
            continue
        entry, flat = _pack_array(field.key, value)
        entries.append(entry)
        arrays.append(flat + bytes(-len(flat) % 4))
    content = {**encode(Header(**header, arrays=entries)), **content}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *arrays])


SHORT: dict[np.dtype[Any], ArrayType] = {
    np.dtype(np.int16): "i2",
    np.dtype(np.uint16): "u2",
    np.dtype(np.uint8): "u1",
}
"""Types of arrays that are sent as they are."""


def _pack_array(name: str, array: NDArray[Any] | Differences) -> tuple[ArrayEntry, bytes]:
    """Return the entry and the bytes of an array."""
    if isinstance(array, Differences):
        shape, whole = list(array.values.shape), array.is_whole
        entry = ArrayEntry(name=name, type=array.type, shape=shape, step=array.step, whole=whole)
        return entry, array.encode()
    is_whole = np.issubdtype(array.dtype, np.integer)
    kind: ArrayType = SHORT.get(array.dtype, "u4" if is_whole else "f4")
    flat = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return ArrayEntry(name=name, type=kind, shape=list(array.shape)), flat


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a message, as tests and benchmarks read them."""
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    arrays = {}
    for entry in header["arrays"]:
        count = math.prod(entry["shape"])
        size = count * int(entry["type"][1])
        content = message[start : start + size]
        if entry["type"].startswith("d"):
            arrays[entry["name"]] = Differences.decode(content, entry)
        else:
            flat = np.frombuffer(content, "<" + entry["type"])
            arrays[entry["name"]] = flat.reshape(entry["shape"])
        start += size + -size % 4
    return header, arrays


def parse_request(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a request, with `id` and `ask`.

    Bytes that follow the header become its `content`.
    """
    content = {}
    if not isinstance(text, str):
        start = 4 + int.from_bytes(text[:4], "little")
        if len(text) < max(start, 4):
            raise ValueError(f"a request must be text, or a header and bytes, got {text!r:.60}")
        content = {"content": text[start:]}
        try:
            text = text[4:start].decode()
        except UnicodeDecodeError:
            raise ValueError(f"the header of a request must be text, got {text!r:.60}") from None
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"a request must be JSON, got {text!r:.60}") from None
    if not isinstance(request, dict):
        raise ValueError(f"a request must be an object, got {text!r:.60}")
    if type(request.get("id")) is not int or not isinstance(request.get("ask"), str):
        raise ValueError("a request must have an integer id and a name, ask, got neither or one")
    return {**request, **content}
