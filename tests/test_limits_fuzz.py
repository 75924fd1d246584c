"""Broken limits files by the thousand: a model, or an error that names the file."""

import copy
import json
import re

import numpy as np
import pytest

from limits_files import SCHEMA, SKELETON, assert_same, packed, sample, small
from oracles import EXHAUSTIVE, fitted, placed
from synovia.io import load_limits, save_limits
from synovia.io.limits import FILES, LimitsFile
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.schema import DecodeError, decode

TRIES = 10_000 if EXHAUSTIVE else 500
GARBAGE = [b"\0", b"{", b"}", b"[", b"]", b",", b"NaN", b"1e999", b"-", b"\xff", b'"', b"\\ud800"]
NUMBERS = [
    0,
    -0.0,
    -1,
    1,
    7,
    0.5,
    1e-320,
    1e99,
    1e100,
    -1e308,
    10**20,
    2**63 - 1,
    -(2**63),
    10**400,
]
VALUES = [
    *NUMBERS,
    float("nan"),
    float("inf"),
    None,
    True,
    "",
    "knee",
    "kdop",
    "swing-twist",
    "AAAA",
    [],
    {},
    [0, 0, 0],
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [1, 0, 0, 0],
    packed([3], bytes(24)),
    packed([2**40, 3]),
    packed([0, 3]),
    packed([1, 4], np.array([1.0, 0.0, 0.0, 0.0])),
    {"type": "box", "low": [-1, -1, -1], "high": [1, 1, 1], "axes": np.eye(3).tolist()},
]


def seeds(folder):
    """Return three small files."""
    kdops = {
        "knee": Limit(placed("swing-twist"), fitted("kdop", "plane")),
        "left foot": Limit(placed("rotation-vector"), fitted("ellipsoid", "round")),
        "hip": Limit(placed("swing-twist"), fitted("product kdop", "round")),
    }
    large = LimitModel({}, SKELETON, {"a": [{}]}, {"hip": (sample(65),)})
    for model in (small(), LimitModel(kdops, SKELETON), large):
        save_limits(model, folder / "seed.limits.json")
        yield (folder / "seed.limits.json").read_bytes()


def places(value, place=()):
    """Yield where every value of a document is."""
    yield place
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*place, key))


def with_other_values(root, rng):
    """Return the document with one or two values changed, added, exchanged or left out."""
    root = copy.deepcopy(root)
    for _ in range(rng.integers(1, 3)):
        known = list(places(root))
        *way, last = known[int(rng.integers(1, len(known)))]
        holder = root
        for key in way:
            holder = holder[key]
        other = root
        for key in known[int(rng.integers(1, len(known)))]:
            other = other[key]
        value = VALUES[int(rng.integers(len(VALUES)))]
        match rng.integers(0, 6):
            case 0:
                del holder[last]
            case 1:
                holder[last] = copy.deepcopy(other)
            case 2 if isinstance(holder, dict):
                holder[str(rng.choice(["hip", "axis", "type", "", "x y", "shape"]))] = value
            case 3 if isinstance(holder, list):
                holder.insert(last, holder[last])
            case 4 if isinstance(holder[last], (int, float)):
                holder[last] = NUMBERS[int(rng.integers(len(NUMBERS)))]
            case _:
                holder[last] = copy.deepcopy(value)
    return root


def with_other_bytes(text, rng):
    """Return the text with one or two random changes."""
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(0, len(text)))
        to = at + int(rng.integers(0, 20))
        match rng.integers(0, 6):
            case 0 | 1:
                text = text[:at] + bytes([text[at] ^ 1 << int(rng.integers(8))]) + text[at + 1 :]
            case 2:
                text = text[:at] + text[to:]
            case 3:
                text = text[:to] + text[at:]
            case 4 if rng.random() < 0.2:
                text = text[: at + 1]
            case _:
                text = text[:at] + GARBAGE[int(rng.integers(len(GARBAGE)))] + text[at:]
    return text


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutated", ["bytes", "values"])
def test_mutations_give_a_model_or_an_error_that_names_the_file(tmp_path, mutated):
    rng = np.random.default_rng(8)
    originals = list(seeds(tmp_path))
    documents = [json.loads(text) for text in originals]
    path, copied = tmp_path / "human.limits.json", tmp_path / "copy.limits.json"
    loaded = refused = 0
    for _ in range(TRIES // 2):
        which = int(rng.integers(len(originals)))
        if mutated == "bytes":
            path.write_bytes(with_other_bytes(originals[which], rng))
        else:
            path.write_text(json.dumps(with_other_values(documents[which], rng)))
        try:
            model = load_limits(path)
        except ValueError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
            assert len(str(error)) < 2000  # noqa: PT017
            refused += 1
            continue
        loaded += 1
        save_limits(model, copied)
        assert_same(model, load_limits(copied))
    assert min(loaded, refused) > TRIES // 100


# What JSON Schema cannot say: sizes that agree, bytes, and 1.0, which it takes for an integer.
BEYOND_SCHEMA = re.compile(r"\d (whole )?numbers|rows of|finite|64 bits|base64|bytes|zlib|shape")


def decode_error(document):
    """Return the error of decoding a document; None if there is none."""
    try:
        decode(LimitsFile, document, FILES)
    except DecodeError as error:
        return error
    return None


def test_the_schema_accepts_what_the_decoder_accepts(tmp_path):
    rng = np.random.default_rng(9)
    documents = [json.loads(text) for text in seeds(tmp_path)]
    accepted = refused = 0
    for _ in range(TRIES // 2):
        document = with_other_values(documents[int(rng.integers(len(documents)))], rng)
        error = decode_error(document)
        if error is None:
            SCHEMA.validate(document)
            accepted += 1
        elif error.__cause__ is None and not BEYOND_SCHEMA.search(error.message):
            assert not SCHEMA.is_valid(document), error
            refused += 1
    assert min(accepted, refused) > TRIES // 40
