"""Dataclasses as declarations of JSON: decode with the place of every error, and encode.

A field with a default may be missing. A `Codec` says how keys are written and whether unknown keys
are refused: `MESSAGES` of the page ignore them, limits files (`io.limits`) refuse them.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
import types
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING
from functools import cache, partial, reduce
from operator import or_
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from .arrays import EachWithin, Floats, Ints, Within

MAX_NUMBER = 1e100  # larger numbers overflow when they are squared
MAX_QUOTE = 60  # characters of a value in an error message
MAX_LIST_NUMBERS = 256  # larger arrays in files are base64, others lists
STEP = 2.0**-10  # multiples of this, up to 32, take 16 bits in files, and are compressed
_DTYPES = {"float64": "<f8", "int64": "<i8"}
_PLAIN_KEY = re.compile(r"[\w:-]{1,60}")

Class = TypeVar("Class")
Key = str | int
Sizes = dict[str, int]
"""Sizes that letters of annotated shapes stand for, in one object."""
Decoder = Callable[[Any, Sizes], Any]

FLAT = "flat"
"""Annotation of a field whose own keys are in the same object, not in one of their own."""

Vector = Annotated[Floats, 3]
Rotation = Annotated[Floats, 4]
"""A quaternion, w first, of any length above 0."""
Numbers = Annotated[Floats, None]
VectorList = Annotated[Floats, None, 3]


class DecodeError(ValueError):
    """A value that its declaration does not allow, with the keys that lead to it."""

    def __init__(self, message: str, keys: tuple[Key, ...] = ()) -> None:
        self.message, self.keys = message, keys
        place = format_keys(keys)
        super().__init__(f"{place}: {message}" if place else message)


def format_keys(keys: Iterable[Key]) -> str:
    """Return keys as an error shows them, such as `limits['left foot'].shape.low[1]`."""
    steps = (
        f".{key}" if isinstance(key, str) and _PLAIN_KEY.fullmatch(key) else f"[{quote_value(key)}]"
        for key in keys
    )
    return "".join(steps).removeprefix(".")


def quote_value(value: Any) -> str:
    """Return `value` as an error shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."


@contextmanager
def located(*keys: Key) -> Iterator[None]:
    """Prefix the place of errors with `keys`; errors of constructors become DecodeError."""
    try:
        yield
    except DecodeError as error:
        raise DecodeError(error.message, (*keys, *error.keys)) from error.__cause__
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise DecodeError(str(error), keys) from error


def json_key(name: str) -> str:
    """Return the key of a field in messages: `radius_deg` is `radiusDeg`, `from_` is `from`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclasses.dataclass(frozen=True, eq=False)
class Codec:
    """How declared classes are written as JSON."""

    key: Callable[[str], str] = json_key
    """Key of a field, by its name."""
    strict: bool = False
    """Unknown keys are refused, and optional fields that have their default are not written."""
    packs: bool = False
    """Arrays may be base64."""
    registries: Mapping[type, Mapping[str, type]] = dataclasses.field(default_factory=dict)
    """Classes by the value of the key `type`, for each base class whose subclasses have it.

    Their fields are all required but those whose metadata say `optional`; those whose metadata say
    `stored=False` are not written, and such a class is decoded to a partial that takes them.
    """

    def base_of(self, kind: Any) -> type | None:
        """Return the class in `registries` that `kind` is or derives from; None if none is."""
        bases = kind.__mro__ if isinstance(kind, type) else ()
        return next((base for base in bases if base in self.registries), None)

    def tagged_classes(self, hint: Any) -> tuple[str, Mapping[str, type]] | None:
        """Return the key by whose text the classes of a type differ, and the classes by text.

        None if the type is neither a union nor a class of the registries.
        """
        members = get_args(hint) if get_origin(hint) in UNIONS else (hint,)
        if hint in self.registries:
            return "type", self.registries[hint]
        if all(self.base_of(member) for member in members):
            return "type", {member.name: member for member in members}
        if len(members) == 1:
            return None
        for name, literal in _hints(members[0]).items():
            if get_origin(literal) is Literal:
                kinds = {get_args(_hints(kind)[name])[0]: kind for kind in members}
                return self.key(name), kinds
        raise TypeError(f"classes of a union must differ in a literal field, got {members}")


MESSAGES = Codec()
UNIONS = (Union, types.UnionType)  # `Annotated[...] | None` has the first origin


class DeclaredField(NamedTuple):
    """A field of a declared class."""

    name: str
    key: str
    hint: Any
    is_optional: bool
    is_flat: bool
    default: Any


@cache
def declared_fields(kind: type, codec: Codec) -> list[DeclaredField]:
    """Return the fields of a dataclass that are in JSON."""
    is_registered = codec.base_of(kind) is not None
    declared = []
    for field in dataclasses.fields(kind):
        if not field.metadata.get("stored", True):
            continue
        hint, key = _hints(kind)[field.name], codec.key(field.name)
        has_default = field.default is not MISSING or field.default_factory is not MISSING
        is_optional = has_default and field.metadata.get("optional", not is_registered)
        default = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        is_flat = FLAT in getattr(hint, "__metadata__", ())
        declared.append(DeclaredField(field.name, key, hint, is_optional, is_flat, default))
    return declared


def decode(kind: type[Class], value: Any, codec: Codec = MESSAGES) -> Class:
    """Return the instance of a dataclass that JSON describes.

    DecodeError names the place, the rule and the value, as `pose.frame: expected a whole number,
    got 0.5`. It has a cause if not the declaration but a constructor refuses a value.
    """
    declared: Any = kind
    decoded: Class = _decoder(declared, codec)(value, {})
    return decoded


def encode(value: Any, codec: Codec = MESSAGES) -> Any:
    """Return the JSON of a declared instance; arrays become lists, or base64 if the codec packs.

    Optional fields that have their default are left out if the codec is strict, else only None.
    """
    if isinstance(value, np.ndarray):
        return pack_array(value) if codec.packs else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_at(encode, index, item, codec) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise _fail("text for a key", wrong[0])
        return {str(key): _at(encode, key, item, codec) for key, item in value.items()}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes) and not codec.strict:
        return value
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise _fail("what JSON can hold", value)
    kind = type(value)
    members: dict[str, Any] = {} if codec.base_of(kind) is None else {"type": kind.name}  # type: ignore[attr-defined]
    for field in declared_fields(kind, codec):
        item = getattr(value, field.name)
        if field.is_optional and _is_default(item, field.default, codec):
            continue
        if field.is_flat:
            members |= encode(item, codec)
        else:
            members[field.key] = _at(encode, field.key, item, codec)
    return members


def _is_default(value: Any, default: Any, codec: Codec) -> bool:
    if not codec.strict:
        return value is None and default is None
    return np.array_equal(value, default) if isinstance(value, np.ndarray) else value == default


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def without_none(hint: Any) -> Any:
    """Return the type `X` of `X | None`."""
    return reduce(or_, (member for member in get_args(hint) if member is not types.NoneType))


@cache
def _decoder(hint: Any, codec: Codec) -> Decoder:
    """Return the function that decodes values of a type."""
    if hint in _PLAIN:
        return partial(_decode_plain, *_PLAIN[hint])
    if hint is Any:
        return lambda value, sizes: value
    if hint is float:
        return _decode_number
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated_decoder(codec, *arguments)
    if origin is np.ndarray:
        return _annotated_decoder(codec, hint)
    if origin is Literal:
        return partial(_decode_choice, arguments)
    if types.NoneType in arguments:
        inner = _decoder(without_none(hint), codec)
        return lambda value, sizes: None if value is None else inner(value, sizes)
    if origin in (list, tuple):
        return partial(_decode_list, _decoder(arguments[0], codec), origin)
    if origin is dict:
        return partial(_decode_mapping, _decoder(arguments[1], codec))
    if tagged := codec.tagged_classes(hint):
        return partial(_decode_tagged, codec, *tagged)
    if dataclasses.is_dataclass(hint):
        kind: Any = hint
        return partial(_decode_object, codec, kind, _keys(kind, codec))
    raise TypeError(f"no decoder is known for {hint}")


_PLAIN: dict[Any, tuple[type, str]] = {
    str: (str, "text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    bytes: (bytes, "bytes"),
    type(None): (type(None), "null"),
}


def _fail(expected: str, value: Any, *keys: Key) -> DecodeError:
    return DecodeError(f"expected {expected}, got {quote_value(value)}", keys)


def _at(function: Callable[..., Any], key: Key, *arguments: Any) -> Any:
    """Return the result for a member of an object or a list; errors name its key."""
    try:
        return function(*arguments)
    except DecodeError as error:
        raise DecodeError(error.message, (key, *error.keys)) from error.__cause__


def _decode_plain(kind: type, expected: str, value: Any, sizes: Sizes) -> Any:
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise _fail(expected, value)


def _decode_number(value: Any, sizes: Sizes) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _fail("a number", value)
    if not abs(value) <= MAX_NUMBER:  # also for NaN
        raise _fail(f"a finite number of at most {MAX_NUMBER:g}", value)
    return float(value)


def _decode_choice(allowed: tuple[Any, ...], value: Any, sizes: Sizes) -> Any:
    if any(type(value) is type(choice) and value == choice for choice in allowed):
        return value
    raise _fail(" or ".join(map(str, allowed)), value)


def _decode_list(decoder: Decoder, kind: type, value: Any, sizes: Sizes) -> Any:
    if not isinstance(value, list):
        raise _fail("a list", value)
    return kind(_at(decoder, index, item, sizes) for index, item in enumerate(value))


def _decode_mapping(decoder: Decoder, value: Any, sizes: Sizes) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _fail("an object", value)
    return {key: _at(decoder, key, item, sizes) for key, item in value.items()}


def _decode_tagged(
    codec: Codec, tag: str, classes: Mapping[str, type], value: Any, sizes: Sizes
) -> Any:
    if not isinstance(value, dict):
        raise _fail("an object", value)
    if tag not in value:
        raise DecodeError(f"the key {tag!r} is missing")
    name = value[tag]
    if not isinstance(name, str) or name not in classes:
        raise _fail(f"one of {', '.join(classes)}", name, tag)
    kind = classes[name]
    return _decode_object(codec, kind, _keys(kind, codec), value, sizes)


@cache
def _keys(kind: type, codec: Codec) -> list[str]:
    """Return the keys that objects of a class may have; none are known unless they are checked."""
    if not codec.strict:
        return []
    keys = [] if codec.base_of(kind) is None else ["type"]
    for field in declared_fields(kind, codec):
        keys += _keys(get_args(field.hint)[0], codec) if field.is_flat else [field.key]
    return keys


def _decode_object(codec: Codec, kind: type, keys: list[str], value: Any, sizes: Sizes) -> Any:
    if not isinstance(value, dict):
        raise _fail("an object", value)
    if codec.strict and (unknown := [key for key in value if key not in keys]):
        raise DecodeError(
            f"unknown key {quote_value(unknown[0])}; the keys here are {', '.join(keys)}"
        )
    decoded, own_sizes = {}, {"d": sizes.get("d", 3)}
    for field in declared_fields(kind, codec):
        if field.is_flat:
            part = value
            if codec.strict:
                own_keys = _keys(get_args(field.hint)[0], codec)
                part = {key: item for key, item in value.items() if key in own_keys}
            decoded[field.name] = _decoder(field.hint, codec)(part, sizes)
        elif field.key in value:
            decoder = _decoder(field.hint, codec)
            decoded[field.name] = _at(decoder, field.key, value[field.key], own_sizes)
        elif not field.is_optional:
            known = f"; the keys here are {', '.join(keys)}" if codec.strict else ""
            raise DecodeError(f"the key {field.key!r} is missing{known}")
    if codec.strict and len(declared_fields(kind, codec)) < len(dataclasses.fields(kind)):
        return partial(kind, **decoded)
    with located():
        return kind(**decoded)


def _annotated_decoder(codec: Codec, hint: Any, *notes: Any) -> Decoder:
    allowed = next((note for note in notes if isinstance(note, Within)), None)
    shape = tuple(note for note in notes if not isinstance(note, Within) and note != FLAT)
    if get_origin(hint) is np.ndarray:
        dtype = "int64" if hint == Ints else "float64"
        decoder: Decoder = partial(
            decode_array, shape=shape if notes else None, dtype=dtype, packs=codec.packs
        )
    elif shape:
        decoder = partial(_decode_region, _decoder(hint, codec), shape[0])
    else:
        decoder = _decoder(hint, codec)
    return decoder if allowed is None else partial(_decode_within, decoder, allowed)


def _decode_region(decoder: Decoder, dimension: int, value: Any, sizes: Sizes) -> Any:
    return decoder(value, {"d": dimension})


def _decode_within(decoder: Decoder, allowed: Within, value: Any, sizes: Sizes) -> Any:
    decoded = decoder(value, sizes)
    if decoded is None:
        return None
    what, numbers = "numbers", decoded
    if isinstance(decoded, int | float):
        what = "a number"
    elif not isinstance(allowed, EachWithin):
        what, numbers = "a list whose length is", len(decoded)
    if np.all(numbers >= allowed.low) and np.all(numbers <= allowed.high):
        return decoded
    ends = f"of at least {allowed.low:g}"
    if math.isfinite(allowed.high):
        ends = f"from {allowed.low:g} to {allowed.high:g}"
    raise _fail(f"{what} {ends}", value)


def size_parts(size: Any) -> tuple[Any, int]:
    """Return the number or letter of an annotated size, such as "n>=2", and its minimum."""
    if not isinstance(size, str):
        return size, size or 0
    letter, _, least = size.partition(">=")
    return letter, int(least or 0)


def _fits(shape: tuple[int, ...], annotated: tuple[Any, ...], sizes: Sizes) -> bool:
    """Return True if a shape is as annotated, and note what its letters stand for."""
    if len(shape) != len(annotated):
        return False
    for count, (name, least) in zip(shape, map(size_parts, annotated), strict=True):
        expected = sizes.setdefault(name, count) if isinstance(name, str) else name
        if count < least or expected not in (None, count):
            return False
    return True


def describe_shape(shape: tuple[Any, ...], sizes: Sizes, what: str = "numbers") -> str:
    """Return an annotated shape as an error shows it: "3 by any numbers"."""
    words = []
    for name, least in map(size_parts, shape):
        known = sizes.get(name, name) if isinstance(name, str) else name
        anything = f"at least {least}" if least else "any"
        words.append(str(known) if isinstance(known, int) else anything)
    return f"{' by '.join(words)} {what}" if words else "a number"


def decode_array(
    value: Any,
    sizes: Sizes,
    *,
    shape: tuple[Any, ...] | None,
    dtype: str = "float64",
    packs: bool = True,
) -> NDArray[Any]:
    """Return numbers in nested lists, or in base64 if `packs`, as a read-only array.

    `shape` has numbers, letters that are looked up in `sizes`, and None for any size; without it
    any shape is accepted.
    """
    what = "numbers" if dtype == "float64" else "whole numbers"
    is_packed = packs and isinstance(value, dict)
    if shape and not is_packed and not isinstance(value, list):
        raise _fail(describe_shape(shape, sizes, what), value)
    array = _unpack(value, dtype) if is_packed else _array_of_lists(value, dtype)
    if shape and array.shape == (0,):
        array = array.reshape(0, *(n if isinstance(n, int) else 0 for n in shape[1:]))
    known = dict(sizes)
    if shape is not None and not _fits(array.shape, shape, sizes):
        expected = describe_shape(shape, known, what)
        if is_packed or len(repr(value)) > MAX_QUOTE:
            raise DecodeError(f"expected {expected}, got {describe_shape(array.shape, {}, what)}")
        raise _fail(expected, value)
    if dtype == "float64" and not (np.abs(array) <= MAX_NUMBER).all():
        raise _fail(f"finite numbers of at most {MAX_NUMBER:g}", value)
    array.flags.writeable = False
    return array


def _array_of_lists(value: Any, dtype: str) -> NDArray[Any]:
    numbers = np.array(value, dtype=object)
    kinds = {*map(type, numbers.flat)}
    if not kinds <= {int, float}:
        index, number = next(
            item for item in np.ndenumerate(numbers) if type(item[1]) not in (int, float)
        )
        if isinstance(number, list):
            raise _fail("rows of one length", value)
        raise _fail("a number", number, *index)
    if dtype == "int64" and (float in kinds or (abs(numbers) >= 2**63).any()):
        raise _fail("whole numbers of 64 bits", value)
    try:
        return numbers.astype(dtype)
    except OverflowError:
        raise _fail("finite numbers", value) from None


@dataclasses.dataclass(frozen=True)
class PackedArray:
    """An array of numbers as base64 of its bytes: little-endian, row after row."""

    dtype: Literal["float64", "int64"]
    shape: Annotated[Ints, "n>=1", EachWithin(0, math.inf)]
    base64: str


@dataclasses.dataclass(frozen=True)
class SteppedArray:
    """Multiples of `step`: differences of neighbours as integers of 16 bits, by zlib and base64."""

    dtype: Literal["float64"]
    shape: Annotated[Ints, "n>=1", EachWithin(0, math.inf)]
    step: float
    zlib: str


LISTS = Codec(key=str, strict=True)
"""JSON of files in which arrays are lists."""


def pack_array(array: NDArray[Any]) -> Any:
    """Return `array` as lists of numbers, or as base64 with its shape where it is large.

    Nothing is lost; see docs/reference/limits-file.md.
    """
    dtype = "int64" if np.issubdtype(array.dtype, np.integer) else "float64"
    array = array.astype(dtype)
    if array.size <= MAX_LIST_NUMBERS:
        return array.tolist()
    shape = list(array.shape)
    steps = np.rint(array / STEP)
    if dtype == "float64" and (steps * STEP == array).all() and np.abs(steps).max() < 2**15:
        changes = np.diff(steps.reshape(-1).astype("<i2"), prepend=np.int16(0)).astype("<i2")
        text = base64.b64encode(zlib.compress(changes.tobytes(), 9)).decode("ascii")
        return {"dtype": dtype, "shape": shape, "step": STEP, "zlib": text}
    content = np.ascontiguousarray(array, dtype=_DTYPES[dtype]).tobytes()
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(content).decode("ascii")}


def _unpack(value: dict[str, Any], dtype: str) -> NDArray[Any]:
    """Return the array in base64; the memory is that of the bytes, whatever the shape says."""
    kind: type[Any] = SteppedArray if "step" in value else PackedArray
    packed: PackedArray | SteppedArray = decode(kind, value, LISTS)
    if packed.dtype != dtype:
        raise _fail(dtype, packed.dtype, "dtype")
    shape = packed.shape.tolist()
    count = math.prod(shape)
    if isinstance(packed, SteppedArray):
        differences = _at(_inflate, "zlib", packed.zlib, count)
        steps = np.frombuffer(differences, "<i2").cumsum(dtype=np.int16)
        return np.asarray(packed.step * steps.astype(np.int64)).reshape(shape)
    content = _at(_decode_base64, "base64", packed.base64)
    if len(content) != 8 * count:
        raise DecodeError(f"expected {8 * count} bytes, got {len(content)}", ("base64",))
    numbers = np.frombuffer(content, _DTYPES[dtype]).astype(dtype)
    if not np.isfinite(numbers).all():
        index = int(np.argmin(np.isfinite(numbers)))
        raise DecodeError(
            f"expected finite numbers, got {numbers[index]} as number {index}", ("base64",)
        )
    with located("shape"):
        return numbers.reshape(shape)


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise _fail(f"base64 ({error})", text) from None


def _inflate(text: str, count: int) -> bytes:
    """Return `count` integers of 16 bits; a larger content is never decompressed."""
    try:
        content = zlib.decompressobj().decompress(_decode_base64(text), 2 * count + 1)
    except zlib.error as error:
        raise _fail(f"zlib ({error})", text) from None
    if len(content) != 2 * count:
        raise DecodeError(f"expected {2 * count} bytes, compressed, got {len(content)}")
    return content
