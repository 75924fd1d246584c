"""Random damage to files, for fuzz tests: what is left is a clip, or an error that says why."""

from __future__ import annotations

import os
import re

GARBAGE = [b"\0", b"{", b"]", b'"', b",", b"nan", b"1e999", b"-", b"\r", b"\n", b"\xff", b"9" * 400]
NUMBERS = [
    b"-1",
    b"0",
    b"3",
    b"7",
    b"0.05",
    b"-0.5",
    b"2",
    b"1e-320",
    b"1e18",
    b"99999999999",
    b"1e308",
    b"null",
    b'"x"',
]


def count(few: int = 300) -> int:
    """How many mutations to try: few, or all 10,000 where that was asked for."""
    return 10_000 if os.environ.get("SYNOVIA_EXHAUSTIVE") == "1" else few


def mutate(content: bytes, rng) -> bytes:
    """Return `content` with one to three random changes."""
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(content) + 1))
        to = at + int(rng.integers(1, 30))
        match rng.integers(0, 7):
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
            case _:
                content = content[:at] + GARBAGE[int(rng.integers(len(GARBAGE)))] + content[at:]
    return content


def renumber(content: bytes, rng) -> bytes:
    """Return text with another number in the place of one."""
    found = list(re.finditer(rb"[-+.0-9e]*\d", content))
    if not found:
        return content
    start, stop = found[int(rng.integers(len(found)))].span()
    return content[:start] + NUMBERS[int(rng.integers(len(NUMBERS)))] + content[stop:]


def flip(content: bytes, rng) -> bytes:
    """Return `content` with one to three bytes changed, as long as before."""
    changed = bytearray(content)
    for at in rng.integers(0, len(content), rng.integers(1, 4)).tolist():
        changed[at] = int(rng.integers(256))
    return bytes(changed)


def outcomes(read, mutants):
    """Return the clips and the error messages that result from reading mutants."""
    clips, errors = [], []
    for mutant in mutants:
        try:
            clips.append(read(mutant))
        except (ValueError, OSError) as error:
            errors.append(str(error))
    return clips, errors
