"""Dataclasses as declarations of JSON: decode with the place of every error, and encode.

Keys of JSON are the names of fields in camel case; a trailing underscore, as in `from_`, is left
out. Unknown keys are ignored. A field with a default may be missing.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from .arrays import Floats

MAX_NUMBER = 1e100  # larger numbers overflow when they are squared
MAX_QUOTE = 60  # characters of a value in an error message

Class = TypeVar("Class")
Decoder = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Within:
    """Annotation of a number, or of the length of a list: the range that it must be in."""

    low: float
    high: float


FLAT = "flat"
"""Annotation of a field whose own keys are in the same object, not in one of their own."""

Vector = Annotated[Floats, 3]
Rotation = Annotated[Floats, 4]
"""A quaternion, w first, of any length above 0."""
Numbers = Annotated[Floats, None]
VectorList = Annotated[Floats, None, 3]


class DecodeError(ValueError):
    """A value that its declaration does not allow, with the keys that lead to it."""

    def __init__(self, message: str, keys: tuple[str | int, ...] = ()) -> None:
        self.message, self.keys = message, keys
        steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
        place = "".join(steps).removeprefix(".")
        super().__init__(f"{place}: {message}" if place else message)


def decode(kind: type[Class], value: Any) -> Class:
    """Return the instance of a dataclass that JSON describes.

    DecodeError names the place, the rule and the value, as `pose.frame: expected a whole number,
    got 0.5`.
    """
    declared: Any = kind
    decoded: Class = _decoder(declared)(value)
    return decoded


def encode(value: Any) -> Any:
    """Return the JSON of a declared instance; fields that are None and may be missing are left out.

    Arrays become lists.
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    members: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if item is None and field.default is None:
            continue
        encoded = encode(item)
        is_flat = FLAT in getattr(_hints(type(value))[field.name], "__metadata__", ())
        members |= encoded if is_flat else {json_key(field.name): encoded}
    return members


def json_key(name: str) -> str:
    """Return the key of a field in JSON: `radius_deg` is `radiusDeg`, `from_` is `from`."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _decoder(hint: Any) -> Decoder:
    """Return the function that decodes values of a type."""
    if hint in _PLAIN:
        return partial(_decode_plain, *_PLAIN[hint])
    if hint is float:
        return _decode_number
    if dataclasses.is_dataclass(hint):
        return partial(_decode_object, hint, _fields(hint))  # type: ignore[arg-type]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated_decoder(*arguments)
    if origin is Literal:
        return partial(_decode_choice, arguments)
    if origin in _UNIONS:
        return _union_decoder(arguments)
    if origin in (list, tuple):
        return partial(_decode_list, _decoder(arguments[0]), origin)
    if origin is dict:
        return partial(_decode_mapping, _decoder(arguments[1]))
    raise TypeError(f"no decoder is known for {hint}")


_UNIONS = (Union, types.UnionType)  # `Annotated[...] | None` has the first origin
_PLAIN: dict[Any, tuple[type, str]] = {
    str: (str, "text"),
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    bytes: (bytes, "bytes"),
    type(None): (type(None), "null"),
}


def _fail(expected: str, value: Any) -> DecodeError:
    text = repr(value)
    short = text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 3]}..."
    return DecodeError(f"expected {expected}, got {short}")


def _decode_at(decoder: Decoder, key: str | int, value: Any) -> Any:
    """Return a decoded member of an object or a list; errors name its key."""
    try:
        return decoder(value)
    except DecodeError as error:
        raise DecodeError(error.message, (key, *error.keys)) from None


def _decode_plain(kind: type, expected: str, value: Any) -> Any:
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise _fail(expected, value)


def _decode_number(value: Any) -> float:
    if _is_number(value):
        return float(value)
    raise _fail("a finite number", value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < MAX_NUMBER  # False for NaN


def _decode_choice(allowed: tuple[Any, ...], value: Any) -> Any:
    if isinstance(value, str | bool) and value in allowed:
        return value
    raise _fail(" or ".join(map(str, allowed)), value)


def _decode_list(decoder: Decoder, kind: type, value: Any) -> Any:
    if not isinstance(value, list):
        raise _fail("a list", value)
    return kind(_decode_at(decoder, index, item) for index, item in enumerate(value))


def _decode_mapping(decoder: Decoder, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _fail("an object", value)
    return {key: _decode_at(decoder, key, item) for key, item in value.items()}


def _fields(kind: type) -> list[tuple[str, str, Decoder, bool, bool]]:
    """Return name, key, decoder, whether it may be missing, and whether it is flat, by field."""
    return [
        (
            field.name,
            json_key(field.name),
            _decoder(_hints(kind)[field.name]),
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING,
            FLAT in getattr(_hints(kind)[field.name], "__metadata__", ()),
        )
        for field in dataclasses.fields(kind)
    ]


def _decode_object(
    kind: type, fields: list[tuple[str, str, Decoder, bool, bool]], value: Any
) -> Any:
    if not isinstance(value, dict):
        raise _fail("an object", value)
    decoded = {}
    for name, key, decoder, is_optional, is_flat in fields:
        if is_flat:
            decoded[name] = decoder(value)
        elif key in value:
            decoded[name] = _decode_at(decoder, key, value[key])
        elif not is_optional:
            raise DecodeError(f"the key {key!r} is missing")
    return kind(**decoded)


def _annotated_decoder(hint: Any, *notes: Any) -> Decoder:
    ranges = [note for note in notes if isinstance(note, Within)]
    if get_origin(hint) is np.ndarray:
        decoder: Decoder = partial(_decode_array, tuple(n for n in notes if n not in ranges))
    else:
        decoder = _decoder(hint)
    return partial(_decode_within, decoder, ranges[0]) if ranges else decoder


def _decode_within(decoder: Decoder, allowed: Within, value: Any) -> Any:
    decoded = decoder(value)
    if decoded is None:
        return None
    number = decoded if isinstance(decoded, int | float) else len(decoded)
    if allowed.low <= number <= allowed.high:
        return decoded
    what = "a number" if number is decoded else "a list whose length is"
    ends = f"of at least {allowed.low:g}"
    if math.isfinite(allowed.high):
        ends = f"from {allowed.low:g} to {allowed.high:g}"
    raise _fail(f"{what} {ends}", value)


def _decode_array(sizes: tuple[int | None, ...], value: Any) -> Floats:
    if _is_array(sizes, value):
        return np.array(value, dtype=np.float64).reshape([-1 if n is None else n for n in sizes])
    shape = " by ".join("any number of" if n is None else str(n) for n in sizes)
    raise _fail(f"{shape} finite numbers", value)


def _is_array(sizes: tuple[int | None, ...], value: Any) -> bool:
    if not sizes:
        return _is_number(value)
    if not isinstance(value, list) or sizes[0] not in (None, len(value)):
        return False
    return all(_is_array(sizes[1:], item) for item in value)


def _union_decoder(members: tuple[Any, ...]) -> Decoder:
    """Return the decoder of `X | None`, or of classes that differ in a literal field."""
    if types.NoneType in members:
        rest = tuple(member for member in members if member is not types.NoneType)
        decoder = _decoder(rest[0]) if len(rest) == 1 else _union_decoder(rest)
        return lambda value: None if value is None else decoder(value)
    tag, classes = _tagged_classes(members)
    decoders = {name: _decoder(kind) for name, kind in classes.items()}

    def decode_tagged(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _fail("an object", value)
        name = value.get(tag)
        if not isinstance(name, str) or name not in decoders:
            raise DecodeError(_fail(f"one of {', '.join(decoders)}", name).message, (tag,))
        return decoders[name](value)

    return decode_tagged


def _tagged_classes(members: tuple[Any, ...]) -> tuple[str, dict[str, type]]:
    """Return the key of the literal field that all classes have, and the classes by its value."""
    for name, hint in _hints(members[0]).items():
        if get_origin(hint) is Literal:
            return json_key(name), {get_args(_hints(kind)[name])[0]: kind for kind in members}
    raise TypeError(f"classes of a union must differ in a literal field, got {members}")
