"""Declared classes: what is encoded is decoded again, and errors name their place."""

from __future__ import annotations

import dataclasses
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from synovia.arrays import Within
from synovia.schema import FLAT, DecodeError, decode, encode, json_key
from synovia.view.answers import HANDLERS
from synovia.view.editing import EditRequest

CLASSES = list(dict.fromkeys(get_type_hints(handler)["request"] for handler in HANDLERS.values()))
WRONG = [None, True, 3, 0.5, "text", [], [1], ["text"], {}, {"a": []}, float("nan"), 1e200]


def random_value(hint: Any, rng: np.random.Generator) -> Any:
    """Return an instance of a type, drawn at random."""
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{name: random_value(each, rng) for name, each in hints.items()})
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated and get_origin(arguments[0]) is np.ndarray:
        sizes = (size for size in arguments[1:] if not isinstance(size, Within))
        return rng.normal(size=[size or int(rng.integers(1, 5)) for size in sizes])
    if origin is Annotated and isinstance(arguments[1], Within):
        low, high = arguments[1].low, min(arguments[1].high, 50.0)
        return int(rng.integers(low, high)) if arguments[0] is int else rng.uniform(low, high)
    if origin is Annotated or origin is Literal:
        return random_value(arguments[0], rng) if origin is Annotated else rng.choice(arguments)
    if origin in (Union, types.UnionType):
        return random_value(arguments[rng.integers(len(arguments))], rng)
    if origin is list:
        return [random_value(arguments[0], rng) for _ in range(rng.integers(3))]
    if origin is dict:
        return {name: random_value(arguments[1], rng) for name in "ab"[: rng.integers(3)]}
    plain = {str: "text", bool: True, int: int(rng.integers(9)), float: rng.normal(), bytes: b"x"}
    return plain.get(hint)


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_encoded_is_decoded_again(kind, rng):
    for _ in range(20):
        value = random_value(kind, rng)
        again = decode(kind, encode(value))
        assert type(again) is kind
        assert encode(again) == encode(value)


def error_of(kind: type, value: Any) -> str:
    """Return the error of decoding; empty if there is none."""
    try:
        decode(kind, value)
    except DecodeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", CLASSES)
def test_a_wrong_value_is_named_by_its_place(kind, rng):
    """Some of the wrong values suit no type, so every field refuses at least one of them."""
    good = encode(random_value(kind, rng))
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if FLAT in getattr(hint, "__metadata__", ()):
            continue
        errors = [error_of(kind, good | {json_key(name): bad}) for bad in WRONG]
        refused = [error for error in errors if error]
        assert len(refused) >= len(WRONG) // 2
        assert all(error.startswith(json_key(name)) for error in refused)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_missing_key_is_named(kind, rng):
    good, hints = encode(random_value(kind, rng)), get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        key = json_key(field.name)
        needed = field.default is field.default_factory is dataclasses.MISSING
        if needed and FLAT not in getattr(hints[field.name], "__metadata__", ()):
            with pytest.raises(DecodeError, match=f"the key '{key}' is missing"):
                decode(kind, {name: each for name, each in good.items() if name != key})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"expected an object, got \[\]"),
        ({"edit": "fly"}, "edit: expected one of move-point, add-point, .*, got 'fly'"),
        ({"edit": []}, r"edit: expected one of .*, got \[\]"),
        ({"edit": "relax", "rounds": 101}, "rounds: expected a number from 0 to 100, got 101"),
        (
            {"edit": "allow-here", "radiusDeg": 1, "pose": {"frame": 0.5}},
            "pose.frame: expected a whole number, got 0.5",
        ),
        (
            {"edit": "brush", "centers": [], "radiusDeg": 1, "amountDeg": 1},
            r"centers: expected a list whose length is from 1 to 32, got \[\]",
        ),
    ],
)
def test_errors_say_the_place_the_rule_and_the_value(value, message):
    given = {"joint": "LeftArm", **value} if isinstance(value, dict) else value
    with pytest.raises(DecodeError, match=f"^{message}$"):
        decode(EditRequest, given)
