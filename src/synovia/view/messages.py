"""Messages to the page: a JSON header and arrays behind it, as bytes that a browser reads at once.

First the header's length (4 bytes, little-endian), then the header, padded with spaces to a
multiple of 4, then the arrays one after the other, each padded with zeros to a multiple of 4:
32-bit floats, 32-bit unsigned integers, or short ones where they were made so. The header's
`arrays` names them in order, with their types and shapes. Large arrays are sent as differences of
rows, which compress well; see `Differences`. A request is JSON as text; one with the
bytes of a file is the header's length, the header, and these bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..schema import encode

Answer = Mapping[str, object]
"""One of the answers of `protocol`: values of the header, and arrays behind it."""


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
    def type(self) -> str:
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


MAX_REQUEST_BYTES = 1 << 20
"""Requests of more bytes than this are refused."""


def pack(answer: Answer) -> bytes:
    """Return a message with this answer: its arrays behind all the rest."""
    header: dict[str, object] = {}
    flat, listed = [], []
    for name, array in answer.items():
        if isinstance(array, Differences):
            content = array.encode()
            entry = {"name": name, "type": array.type, "shape": list(array.values.shape)}
            listed.append({**entry, "step": array.step, "whole": array.is_whole})
            flat.append(content + bytes(-len(content) % 4))
            continue
        if not isinstance(array, np.ndarray):
            header[name] = array
            continue
        kind = _array_type(array)
        content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
        flat.append(content + bytes(-len(content) % 4))
        listed.append({"name": name, "type": kind, "shape": list(array.shape)})
    header["arrays"] = listed
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, default=encode).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *flat])


SHORT = {np.dtype(np.int16): "i2", np.dtype(np.uint16): "u2", np.dtype(np.uint8): "u1"}
"""Types of arrays that are sent as they are."""


def _array_type(array: NDArray[Any]) -> str:
    if array.dtype in SHORT:
        return SHORT[array.dtype]
    return "u4" if np.issubdtype(array.dtype, np.integer) else "f4"


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a message."""
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    arrays = {}
    for each in header["arrays"]:
        count = int(np.prod(each["shape"], dtype=np.int64))
        if each["type"].startswith("d"):
            size = count * int(each["type"][1])
            arrays[each["name"]] = Differences.decode(message[start : start + size], each)
            start += size + -size % 4
            continue
        flat = np.frombuffer(message, "<" + each["type"], count, start)
        arrays[each["name"]] = flat.reshape(each["shape"])
        start += flat.nbytes + -flat.nbytes % 4
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
