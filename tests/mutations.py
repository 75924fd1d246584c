"""Random damage to files and to the documents in them, for fuzz tests."""

from __future__ import annotations

import copy
import os
import re

import numpy as np

from limits_files import packed

COUNT = 10_000 if os.environ.get("SYNOVIA_EXHAUSTIVE") == "1" else 300
"""How many mutations of a format are tried."""
GARBAGE = [
    *(b"\0", b"{", b"}", b"[", b"]", b'"', b",", b"-", b".", b"\r", b"\n", b"\xff", b"NaN"),
    *(b"1e999", b"\\ud800", b"JOINT x", b"9" * 400),
]
NUMBERS = [
    *(0, -0.0, -1, 1, 2, 3, 5, 7, 13, 0.05, 0.5, 1e-320, 1e18, 1e99, 1e100, 1e308, -1e308),
    *(5123, 5126, 10**20, 2**31, 2**32 - 1, 2**63 - 1, -(2**63), 10**400),
]
VALUES = [
    *NUMBERS,
    *(float("nan"), float("inf"), None, True, "", "knee", "kdop", "swing-twist", "AAAA", [], {}),
    *([0], [0, 0, 0], [1, 0, 0, 0], np.eye(3).tolist(), [1e300] * 4, [[1]], {"a": 1}),
    *("SCALAR", "VEC3", "CUBICSPLINE", "STEP", "rotation", "translation", "scale", "../x"),
    *("data:,AAAA", "data:;base64,AAAA", packed([3], bytes(24)), packed([2**40, 3])),
    *(packed([0, 3]), packed([1, 4], np.array([1.0, 0.0, 0.0, 0.0]))),
    {"type": "box", "low": [-1, -1, -1], "high": [1, 1, 1], "axes": np.eye(3).tolist()},
]
KEYS = ("hip", "axis", "type", "", "x y", "shape")


def mutate(content: bytes, rng) -> bytes:
    """Return `content` with one to three random changes of bytes, lines or numbers."""
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(content) + 1))
        to = at + int(rng.integers(1, 30))
        lines = content.splitlines(keepends=True) or [b""]
        i, j = rng.integers(0, len(lines), 2).tolist()
        match rng.integers(0, 9):
            case 0 if content:
                at = min(at, len(content) - 1)
                flipped = bytes([content[at] ^ 1 << int(rng.integers(8))])
                content = content[:at] + flipped + content[at + 1 :]
            case 1:
                content = content[:at] + content[to:]
            case 2:
                content = content[:to] + content[at:]
            case 3:
                content = content[:at]
            case 4:
                content = content[:at] + bytes(rng.integers(0, 256, 8).tolist()) + content[to:]
            case 5:
                content = renumber(content, rng)
            case 6:
                lines[i], lines[j] = lines[j], lines[i]
                content = b"".join(lines)
            case 7:
                content = b"".join([*lines[:i], lines[j], *lines[i + int(rng.integers(2)) :]])
            case _:
                content = content[:at] + GARBAGE[int(rng.integers(len(GARBAGE)))] + content[at:]
    return content


def renumber(content: bytes, rng) -> bytes:
    """Return text with another number in the place of one."""
    found = list(re.finditer(rb"[-+.0-9e]*\d", content))
    if not found:
        return content
    start, stop = found[int(rng.integers(len(found)))].span()
    return content[:start] + str(NUMBERS[int(rng.integers(20))]).encode() + content[stop:]


def flip(content: bytes, rng) -> bytes:
    """Return `content` with one to three bytes changed, as long as before."""
    changed = bytearray(content)
    for at in rng.integers(0, len(content), rng.integers(1, 4)).tolist():
        changed[at] = int(rng.integers(256))
    return bytes(changed)


def paths_in(value, path=()):
    """Yield the path to every value of a document."""
    yield path
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_in(each, (*path, key))


def value_at(root, path):
    """Return the value at a path of a document."""
    for key in path:
        root = root[key]
    return root


def mutate_values(root, rng):
    """Return a document with one or two values changed, added, exchanged or left out."""
    root = copy.deepcopy(root)
    for _ in range(rng.integers(1, 3)):
        paths = list(paths_in(root))
        if len(paths) < 2:
            break
        *above, last = paths[int(rng.integers(1, len(paths)))]
        holder, other = value_at(root, above), paths[int(rng.integers(1, len(paths)))]
        value = VALUES[int(rng.integers(len(VALUES)))]
        match rng.integers(0, 6):
            case 0:
                del holder[last]
            case 1:
                holder[last] = copy.deepcopy(value_at(root, other))
            case 2 if isinstance(holder, dict):
                holder[str(rng.choice(KEYS))] = value
            case 3 if isinstance(holder, list):
                holder.insert(last, holder[last])
            case 4 if isinstance(holder[last], (int, float)):
                holder[last] = NUMBERS[int(rng.integers(len(NUMBERS)))]
            case _:
                holder[last] = copy.deepcopy(value)
    return root
