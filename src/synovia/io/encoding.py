"""JSON in a readable layout, and checked JSON of other tools; errors name the position."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..schema import DecodeError
from ..schema import quote_value as quote_value
from .lines import decode_utf8

MAX_DEPTH = 64
DEPTH_RULE = f"at most {MAX_DEPTH} lists and objects inside each other"
MAX_DIGITS = 300  # longer whole numbers are no finite float, and slow to read
WIDTH = 100  # columns of a file, where text and base64 do not need more


def json_text(value: Any, indent: int = 0) -> str:
    """Return `value` as JSON, indented by 2; a list that fits into `WIDTH` is on one line.

    `indent` is the number of columns before the value.
    """
    outer, inner = " " * indent, " " * (indent + 2)
    if isinstance(value, dict) and value:
        members = [f"{inner}{_scalar(key)}: {json_text(value[key], indent + 2)}" for key in value]
        return "{\n" + ",\n".join(members) + f"\n{outer}}}"
    if isinstance(value, list):
        items = [json_text(item, indent + 2) for item in value]
        line = f"[{', '.join(items)}]"
        if "\n" not in line and len(line) <= WIDTH - indent:
            return line
        nested = any(isinstance(item, (dict, list)) for item in value)
        rows = items if nested else _fill_rows(items, WIDTH - indent)
        return "[\n" + ",\n".join(f"{inner}{row}" for row in rows) + f"\n{outer}]"
    return _scalar(value)


def _fill_rows(items: list[str], width: int) -> list[str]:
    """Return the items joined to rows of at most `width` columns."""
    rows = [items[0]]
    for item in items[1:]:
        if len(rows[-1]) + len(item) + 2 <= width:
            rows[-1] += f", {item}"
        else:
            rows.append(item)
    return rows


def _scalar(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


@dataclass(frozen=True)
class _DuplicateKey:
    """Marks an object with a duplicate key until `check_json` reports its position."""

    key: str


def parse_json(path: str, content: bytes) -> Any:
    """Return the value of JSON text; ValueError names `path` and the line.

    Call `check_json` for errors that are not of syntax, such as duplicate keys.
    """
    text = decode_utf8(path, content)
    try:
        return json.loads(text, object_pairs_hook=_members, parse_int=_integer)
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 60].strip()
        got = quote_value(rest.splitlines()[0]) if rest else "the end of the file"
        message = f"{path}:{error.lineno}: expected JSON ({error.msg}), got {got}"
        raise ValueError(message) from None
    except RecursionError:
        raise ValueError(f"{path}: expected {DEPTH_RULE}, got more") from None


def check_json(value: Any) -> None:
    """Raise DecodeError for duplicate keys, numbers that are not finite, or too deep nesting."""
    _check_value(value, MAX_DEPTH)


def _check_value(value: Any, depth: int) -> None:
    """Do the same as `check_json`, for a nesting of at most `depth`."""
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise DecodeError(f"expected a finite number, got {value}")
    elif isinstance(value, int) and value.bit_length() > 3 * MAX_DIGITS:
        raise DecodeError("expected a finite number, got one of too many digits")
    elif isinstance(value, _DuplicateKey):
        raise DecodeError(f"expected each key once, got {quote_value(value.key)} twice")
    elif isinstance(value, dict | list):
        if depth == 0:
            raise DecodeError(f"expected {DEPTH_RULE}, got more")
        members: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in members:
            if isinstance(key, str):
                _check_text(key)
            try:
                _check_value(item, depth - 1)
            except DecodeError as error:
                raise DecodeError(error.message, (key, *error.keys)) from None


@contextmanager
def errors_name(path: str) -> Iterator[None]:
    """Re-raise errors about a file's content as ValueError that begins with `path`."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"{path}: expected {DEPTH_RULE}, got more") from None
    except (ValueError, ArithmeticError) as error:
        if str(error).startswith(f"{path}:"):
            raise
        raise ValueError(f"{path}: {error}") from error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _DuplicateKey:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            return _DuplicateKey(key)
        members[key] = value
    return members


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_DIGITS else math.inf


def _check_text(text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise DecodeError(f"expected text of whole Unicode characters, got {quote_value(text)}")
