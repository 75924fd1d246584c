"""JSON with arrays in it, bit for bit, as people read it; errors name the place."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints

WIDTH = 100
"""Columns of a file, where text and base64 do not need more."""


def json_text(value: Any, indent: int = 0) -> str:
    """Return `value` as JSON, indented by 2, what is short in one line."""
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
    """Return rows of as many items as fit."""
    rows = [items[0]]
    for item in items[1:]:
        if len(rows[-1]) + len(item) + 2 <= width:
            rows[-1] += f", {item}"
        else:
            rows.append(item)
    return rows


def _scalar(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


# JSON with arrays in it, bit for bit: values that know their place, so that errors can name it.


MAX_LIST_NUMBERS = 256
"""Arrays of more numbers than this are written as base64, others as lists."""
MAX_DEPTH = 64
DEPTH_RULE = f"at most {MAX_DEPTH} lists and objects inside each other"
MAX_QUOTE = 60

STEP = 2.0**-10
"""Arrays whose numbers are all multiples of this, up to 32, are written in 16 bits, compressed."""

_DTYPES = {"float64": "<f8", "int64": "<i8"}
_MAX_DIGITS = 300  # digits; longer ones are no finite float, and slow to read
_PLAIN_KEY = re.compile(r"[\w:-]{1,60}")


@dataclass(frozen=True)
class _DuplicateKey:
    """Stands for an object that has a key twice, until the place is known."""

    key: str


@dataclass(frozen=True)
class Entry:
    """A value of a JSON file, and its place, such as `limits.LeftArm.shape`."""

    value: Any
    place: str = ""

    def fail(self, wanted: str, got: str | None = None) -> NoReturn:
        """Raise ValueError: at this place `wanted` was expected."""
        self.refuse(f"expected {wanted}, got {quote_value(self.value) if got is None else got}")

    def refuse(self, message: str) -> NoReturn:
        """Raise ValueError about this place."""
        raise ValueError(f"{self.place}: {message}" if self.place else message)

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Name this place in the errors of constructors that are given what stands here."""
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise ValueError(f"{self.place}: {error}") from error

    def child(self, key: str | int) -> Entry:
        """Return what an object or a list has under `key`."""
        if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
            return Entry(self.value[key], f"{self.place}.{key}" if self.place else key)
        return Entry(self.value[key], f"{self.place}[{quote_value(key)}]")

    def members(self) -> dict[str, Entry]:
        """Return the members of an object, whatever their keys."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        return {key: self.child(key) for key in self.value}

    def fields(self, *names: str, maybe: tuple[str, ...] = ()) -> dict[str, Entry]:
        """Return the members of an object that has exactly these keys, and `maybe` some others."""
        members = self.members()
        for key in members:
            if key not in (*names, *maybe):
                known = ", ".join((*names, *maybe))
                self.refuse(f"unknown key {quote_value(key)}; the keys here are {known}")
        for name in names:
            if name not in members:
                self.refuse(f"the key {name!r} is missing; the keys here are {', '.join(names)}")
        return members

    def items(self) -> list[Entry]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            self.fail("a list")
        return [self.child(number) for number in range(len(self.value))]

    def text(self) -> str:
        """Return the text that stands here."""
        return self.value if isinstance(self.value, str) else self.fail("text")

    def texts(self) -> tuple[str, ...]:
        """Return the texts of a list of them."""
        return tuple(item.text() for item in self.items())

    def floats(self, *shape: int | None) -> Floats:
        """Return finite numbers of this shape, as float64; `None` allows any length."""
        return self._array("numbers", ("float64",), shape)

    def ints(self, *shape: int | None) -> Ints:
        """Return whole numbers of this shape, as int64."""
        return self._array("whole numbers", ("int64",), shape)

    def array(self) -> NDArray[Any]:
        """Return numbers of any shape, whole or not as they stand in the file."""
        return self._array("numbers", ("float64", "int64"), None)

    def _array(
        self, what: str, dtypes: tuple[str, ...], wanted: tuple[int | None, ...] | None
    ) -> NDArray[Any]:
        packed = isinstance(self.value, dict)
        if wanted and not isinstance(self.value, (dict, list)):
            self.fail(_describe_shape(wanted, what))
        array = self._unpacked(dtypes) if packed else self._listed(dtypes)
        if wanted and array.shape == (0,):
            array = array.reshape(0, *(n or 0 for n in wanted[1:]))
        fits = wanted is None or (
            len(wanted) == array.ndim
            and all(n is None or n == m for n, m in zip(wanted, array.shape, strict=True))
        )
        if not fits:
            brief = not packed and len(repr(self.value)) <= MAX_QUOTE
            self.fail(
                _describe_shape(wanted or (), what),
                None if brief else _describe_shape(array.shape, what),
            )
        array.flags.writeable = False
        return array

    def _listed(self, dtypes: tuple[str, ...]) -> NDArray[Any]:
        shape, numbers = self._flattened()
        whole = all(type(number) is int and -(2**63) <= number < 2**63 for number in numbers)
        if not whole and "float64" not in dtypes:
            self.fail("whole numbers of 64 bits")
        dtype = "int64" if whole and "int64" in dtypes and numbers else dtypes[0]
        return np.array(numbers, dtype=dtype).reshape(shape)

    def _flattened(self) -> tuple[tuple[int, ...], list[int | float]]:
        """Return the shape of lists in lists, all of one length, and the numbers in them."""
        if not isinstance(self.value, list):
            return (), [self._number()]
        if not any(isinstance(item, list) for item in self.value):
            return (len(self.value),), [item._number() for item in self.items()]
        rows = [item._flattened() for item in self.items()]
        if len({shape for shape, _ in rows}) > 1:
            self.fail("rows of one length")
        return (len(rows), *rows[0][0]), [number for _, row in rows for number in row]

    def _number(self) -> int | float:
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            return self.value
        return self.fail("a number")

    def _unpacked(self, dtypes: tuple[str, ...]) -> NDArray[Any]:
        """Return the array of an object with dtype, shape and base64; trusts the bytes alone."""
        steps = isinstance(self.value, dict) and "step" in self.value
        fields = self.fields("dtype", "shape", *(("step", "zlib") if steps else ("base64",)))
        dtype = fields["dtype"].text()
        if dtype not in dtypes:
            fields["dtype"].fail(" or ".join(dtypes))
        shape = fields["shape"].ints(None).tolist()
        if min(shape, default=0) < 0 or not shape:
            fields["shape"].fail("lengths of at least 0")
        if steps:
            numbers = fields["step"].floats() * fields["zlib"]._inflated(math.prod(shape))
            return np.asarray(numbers.reshape(shape))
        content = fields["base64"]._decoded()
        if len(content) != 8 * math.prod(shape):
            fields["base64"].fail(f"{8 * math.prod(shape)} bytes", f"{len(content)}")
        numbers = np.frombuffer(content, _DTYPES[dtype]).astype(dtype)
        if not np.isfinite(numbers).all():
            where = int(np.argmin(np.isfinite(numbers)))
            fields["base64"].fail("finite numbers", f"{numbers[where]} as number {where}")
        with fields["shape"].locate_errors():
            return numbers.reshape(shape)

    def _decoded(self) -> bytes:
        """Return the bytes that base64 stands for."""
        text = self.text()
        try:
            return base64.b64decode(text, validate=True)
        except ValueError as error:
            return self.fail(f"base64 ({error})")

    def _inflated(self, count: int) -> Ints:
        """Return so many integers of 16 bits, compressed, each the difference to the one before."""
        try:
            content = zlib.decompressobj().decompress(self._decoded(), 2 * count + 1)
        except zlib.error as error:
            self.fail(f"zlib ({error})")
        if len(content) != 2 * count:
            self.fail(f"{2 * count} bytes, compressed", f"{len(content)}")
        return np.frombuffer(content, "<i2").cumsum(dtype=np.int16).astype(np.int64)


def encode_array(array: NDArray[Any]) -> Any:
    """Return `array` as lists of numbers, or as base64 with its shape where it is large.

    Nothing is lost. Numbers on a grid of steps take little room; see docs/limits-file.md.
    """
    dtype = "int64" if np.issubdtype(array.dtype, np.integer) else "float64"
    array = array.astype(dtype)
    if array.size <= MAX_LIST_NUMBERS:
        return array.tolist()
    steps = np.rint(array / STEP)
    if dtype == "float64" and (steps * STEP == array).all() and np.abs(steps).max() < 2**15:
        changes = np.diff(steps.reshape(-1).astype("<i2"), prepend=np.int16(0)).astype("<i2")
        text = base64.b64encode(zlib.compress(changes.tobytes(), 9)).decode("ascii")
        return {"dtype": dtype, "shape": list(array.shape), "step": STEP, "zlib": text}
    content = np.ascontiguousarray(array, dtype=_DTYPES[dtype]).tobytes()
    text = base64.b64encode(content).decode("ascii")
    return {"dtype": dtype, "shape": list(array.shape), "base64": text}


def to_json(value: Any, place: str, of_array: Callable[[NDArray[Any]], Any] = encode_array) -> Any:
    """Return `value` made of what JSON has; `of_array` turns the arrays in it."""
    if isinstance(value, np.ndarray):
        return of_array(value)
    if isinstance(value, np.generic):
        return to_json(value.item(), place)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                Entry(key, place).fail("text for a key")
        return {str(key): to_json(each, f"{place}.{key}", of_array) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(each, f"{place}[{k}]", of_array) for k, each in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return Entry(value, place).fail("what JSON can hold")


def parse_json(path: str, content: bytes) -> Any:
    """Return the JSON in the file at `path`; errors of syntax name the line."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ValueError(f"{path}:{line}: expected UTF-8, got the byte 0x{byte:02x}") from None
    try:
        return json.loads(text, object_pairs_hook=_members, parse_int=_integer)
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 60].strip()
        got = quote_value(rest.splitlines()[0]) if rest else "the end of the file"
        message = f"{path}:{error.lineno}: expected JSON ({error.msg}), got {got}"
        raise ValueError(message) from None
    except RecursionError:
        raise ValueError(f"{path}: expected {DEPTH_RULE}, got more") from None


def check_json(entry: Entry, depth: int = 0) -> None:
    """Raise ValueError where there is what only some JSON files have, or too deep nesting."""
    value = entry.value
    if isinstance(value, _DuplicateKey):
        entry.fail("each key once", f"{quote_value(value.key)} twice")
    if isinstance(value, float) and not math.isfinite(value):
        entry.fail("a finite number")
    if isinstance(value, int) and value.bit_length() > 3 * _MAX_DIGITS:
        entry.fail("a finite number", "one of too many digits")
    if isinstance(value, str):
        _check_text(entry, value)
    if isinstance(value, (dict, list)):
        if depth >= MAX_DEPTH:
            Entry(value, entry.place[:60]).fail(DEPTH_RULE, "more")
        for key in value if isinstance(value, dict) else range(len(value)):
            if isinstance(key, str):
                _check_text(entry, key)
            check_json(entry.child(key), depth + 1)


@contextmanager
def errors_name(path: str) -> Iterator[None]:
    """Name the file in errors about its content that do not name it yet."""
    try:
        yield
    except RecursionError:
        raise ValueError(f"{path}: expected {DEPTH_RULE}, got more") from None
    except (ValueError, ArithmeticError) as error:
        if str(error).startswith(f"{path}:"):
            raise
        raise ValueError(f"{path}: {error}") from error


def quote_value(value: Any) -> str:
    """Return `value` as an error shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _DuplicateKey:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            return _DuplicateKey(key)
        members[key] = value
    return members


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def _check_text(entry: Entry, text: str) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        entry.fail("text of whole Unicode characters", quote_value(text))


def _describe_shape(shape: tuple[int | None, ...], what: str) -> str:
    if not shape:
        return "a number"
    return " by ".join("any" if n is None else str(n) for n in shape) + f" {what}"
