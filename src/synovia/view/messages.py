"""Messages to the page: a JSON header and arrays behind it, as bytes that a browser reads at once.

First the header's length (4 bytes, little-endian), then the header, padded with spaces to a
multiple of 4, then the arrays one after the other, each padded with zeros to a multiple of 4:
32-bit floats, 32-bit unsigned integers, or short ones where they were made so. The header's
`arrays` names them in order, with their types and shapes. A request is JSON as text; one with the
bytes of a file is the header's length, the header, and these bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import quat
from ..arrays import Floats, Quats, Vectors

Request = Mapping[str, Any]
Answer = Mapping[str, object]
"""What `protocol` says: what goes into the header, and arrays behind it."""
MAX_REQUEST_BYTES = 1 << 20
"""Requests of more bytes than this are refused."""


def pack(answer: Answer) -> bytes:
    """Return a message with this answer: its arrays behind all the rest."""
    header: dict[str, object] = {}
    flat, listed = [], []
    for name, array in answer.items():
        if not isinstance(array, np.ndarray):
            header[name] = array
            continue
        kind = _array_type(array)
        content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
        flat.append(content + bytes(-len(content) % 4))
        listed.append({"name": name, "type": kind, "shape": list(array.shape)})
    text = json.dumps({**header, "arrays": listed}, ensure_ascii=False, allow_nan=False).encode()
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
        flat = np.frombuffer(message, "<" + each["type"], count, start)
        arrays[each["name"]] = flat.reshape(each["shape"])
        start += flat.nbytes + -flat.nbytes % 4
    return header, arrays


def parse_request(text: str | bytes) -> dict[str, Any]:
    """Return a request of the page: an object with an `id` and what it asks for, `ask`.

    Bytes that come with it are its `content`.
    """
    if not isinstance(text, str):
        start = 4 + int.from_bytes(text[:4], "little")
        if len(text) < max(start, 4):
            raise ValueError(f"a request must be text, or a header and bytes, got {text!r:.60}")
        try:
            header = text[4:start].decode()
        except UnicodeDecodeError:
            raise ValueError(f"the header of a request must be text, got {text!r:.60}") from None
        return {**parse_request(header), "content": text[start:]}
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"a request must be JSON, got {text!r:.60}") from None
    if not isinstance(request, dict):
        raise ValueError(f"a request must be an object, got {text!r:.60}")
    if not isinstance(request.get("id"), int) or not isinstance(request.get("ask"), str):
        raise ValueError("a request must have an integer id and a word to ask, got neither or one")
    return request


# What requests give, checked: each must be of its kind, and what came instead is said.


def flag(request: Request, name: str) -> bool:
    """Return what must be true or false."""
    value = request[name]
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r:.60}")
    return value


def word(request: Request, name: str) -> str:
    """Return what must be text."""
    value = request[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {value!r:.60}")
    return value


def words(request: Request, name: str) -> list[str]:
    """Return what must be a list of texts."""
    value = request[name]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of names, got {value!r:.60}")
    return value


def whole_number(request: Request, name: str) -> int:
    """Return what must be a whole number."""
    value = request[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r:.60}")
    return value


def degrees(request: Request, name: str) -> float:
    """Return what must be a finite number of degrees."""
    value = request[name]
    if not _is_number(value):
        raise ValueError(f"{name} must be a finite number of degrees, got {value!r:.60}")
    return float(value)


def row(request: Request, name: str, count: int) -> Floats:
    """Return what must be so many finite numbers (count,)."""
    value = request[name]
    if not _is_row(value, count):
        raise ValueError(f"{name} must be {count} finite numbers, got {value!r:.60}")
    return np.array(value, dtype=np.float64)


def vector(request: Request, name: str) -> Vectors:
    """Return what must be three finite numbers."""
    return row(request, name, 3)


def vectors(request: Request, name: str, most: int) -> Vectors:
    """Return what must be one or more vectors, but not more than `most`: (n, 3)."""
    value = request[name]
    fits = isinstance(value, list) and 1 <= len(value) <= most
    if not fits or not all(_is_row(each, 3) for each in value):
        raise ValueError(f"{name} must be 1 to {most} lists of 3 finite numbers, got {value!r:.60}")
    return np.array(value, dtype=np.float64)


def numbers(request: Request, name: str) -> dict[str, float]:
    """Return what must be finite numbers by name."""
    value = request[name]
    if not isinstance(value, dict) or not all(map(_is_number, value.values())):
        raise ValueError(f"{name} must be finite numbers by name, got {value!r:.60}")
    return {each: float(number) for each, number in value.items()}


def rotations(request: Request, count: int) -> Quats:
    """Return what must be as many rotations (count, 4), of any length above 0."""
    value = request["rotations"]
    if not _is_row(value, 4 * count):
        raise ValueError(f"rotations must be 4 finite numbers for each of {count} joints")
    turns = np.array(value, dtype=np.float64).reshape(count, 4)
    if not (np.linalg.norm(turns, axis=1) > 1e-6).all():
        raise ValueError("rotations must be longer than 0")
    return quat.normalize(turns)


def _is_row(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and abs(value) < 1e100
