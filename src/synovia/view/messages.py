"""Messages to the page: a JSON header and arrays behind it, as bytes that a browser reads at once.

First the header's length (4 bytes, little-endian), then the header, padded with spaces to a
multiple of 4, then the arrays one after the other: 32-bit floats, or 32-bit unsigned integers. The
header's `arrays` names them in order, with their types and shapes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Request = Mapping[str, Any]
Answer = Mapping[str, object]
"""What `protocol` says: what goes into the header, and arrays behind it."""
LONGEST = 1 << 20
"""Requests of more bytes than this are refused."""


def packed(answer: Answer) -> bytes:
    """Return a message with this answer: its arrays behind all the rest."""
    header: dict[str, object] = {}
    flat, listed = [], []
    for name, array in answer.items():
        if not isinstance(array, np.ndarray):
            header[name] = array
            continue
        whole = np.issubdtype(array.dtype, np.integer)
        flat.append(np.ascontiguousarray(array, dtype="<u4" if whole else "<f4").tobytes())
        listed.append({"name": name, "type": "u4" if whole else "f4", "shape": list(array.shape)})
    text = json.dumps({**header, "arrays": listed}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *flat])


def unpacked(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a message."""
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    arrays = {}
    for each in header["arrays"]:
        count = int(np.prod(each["shape"], dtype=np.int64))
        flat = np.frombuffer(message, "<" + each["type"], count, start)
        arrays[each["name"]] = flat.reshape(each["shape"])
        start += 4 * count
    return header, arrays


def request(text: str | bytes) -> dict[str, Any]:
    """Return a request of the page: an object with an `id` and what it asks for, `ask`."""
    if not isinstance(text, str):
        raise ValueError("a request must be text, got bytes")
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"a request must be JSON, got {text!r:.60}") from None
    if not isinstance(asked, dict):
        raise ValueError(f"a request must be an object, got {text!r:.60}")
    if not isinstance(asked.get("id"), int) or not isinstance(asked.get("ask"), str):
        raise ValueError("a request must have an integer id and a word to ask, got neither or one")
    return asked
