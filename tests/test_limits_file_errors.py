"""Limits files with a wrong value somewhere: the place is named, the rule, and what came."""

from __future__ import annotations

import json

import numpy as np
import pytest

from limits_files import SCHEMA, deep, packed, refusal

# Broken files: the place to change, the value to put there (or REMOVED), and what is said; the
# sign @ stands for that place, as errors write it.

REMOVED = object()
IDENTITY = np.eye(3).tolist()
LIMIT = {
    "chart": {"type": "rotation-vector", "reference": [1, 0, 0, 0]},
    "shape": {"type": "ellipsoid", "center": [0] * 3, "radii": [1] * 3, "axes": IDENTITY},
}
FOOT = "limits['left foot']"
TOLD_BY_SCHEMA = [
    ("skeleton", REMOVED, "the key 'skeleton' is missing; the keys here are format, "),
    ("extra", 1, "unknown key 'extra'; the keys here are format, version, skeleton, limits, "),
    ("provenance", None, "@: expected an object, got None"),
    ("version", 0, "@: expected 2, got 0"),
    (
        "format",
        REMOVED,
        'expected a limits file, an object with "format": "synovia-limits", got no format',
    ),
    ("skeleton/names", "abc", "@: expected a list, got 'abc'"),
    (
        "skeleton/parents/1",
        0.5,
        "skeleton.parents: expected whole numbers of 64 bits, got [-1, 0.5, 1]",
    ),
    (
        "skeleton/parents/1",
        -2,
        "skeleton.parents: expected numbers of at least -1, got",
    ),
    ("skeleton/offsets/1", [1, 2], "skeleton.offsets: expected rows of one length, got"),
    ("skeleton/channels/0/0", "W", "@: expected Xposition or Yposition or"),
    ("skeleton/up", "w", "@: expected x or y or z, got 'w'"),
    ("skeleton/unit", -1, "@: expected a number of at least 0, got -1"),
    (
        "limits/knee/chart",
        REMOVED,
        "limits.knee: the key 'chart' is missing; the keys here are chart, shape",
    ),
    ("limits/knee/soft", 0.1, "limits.knee: unknown key 'soft'"),
    (
        "limits/knee/chart/type",
        "polar",
        "@: expected one of rotation-vector, swing-twist, direction-twist, euler, hinges, got",
    ),
    ("limits/knee/chart/type", [], "@: expected one of rotation-vector, "),
    ("limits/knee/chart/reference", [1, 0, 0], "@: expected 4 numbers, got [1, 0, 0]"),
    ("limits/knee/shape/type", "product", "limits.knee.shape: unknown key 'axes'"),
    ("limits/knee/shape/low", 1.0, "@: expected 3 numbers, got 1.0"),
    ("limits/knee/shape/low", [1, "2", 3], "@[1]: expected a number, got '2'"),
    ("limits/knee/shape/low", [[1, 2, 3]], "@: expected 3 numbers, got [[1, 2, 3]]"),
    ("limits/knee/shape/low", packed([2], bytes(16)), "@: expected 3 numbers, got 2 numbers"),
    (
        "limits/knee/shape/low",
        packed([3], bytes(24), "int64"),
        "@.dtype: expected float64, got 'int64'",
    ),
    ("limits/knee/shape/low", packed([]), "@.shape: expected at least 1 whole numbers, got []"),
    ("limits/knee/shape/low", packed([2**70]), "@.shape: expected whole numbers of 64 bits"),
    ("limits/knee/shape/axes", packed([2**40, 2**40, 2**40]), "@.base64: expected "),
    (
        "limits/left foot/shape/swing/type",
        "product",
        "@: expected one of box, ellipsoid, kdop, got 'product'",
    ),
    ("samples/knee/0/frames", [0, -1], "@: expected numbers of at least 0, got [0, -1]"),
    (
        "samples/knee/0/rotations",
        [[1, 0, 0]] * 2,
        "@: expected 2 by 4 numbers, got [[1, 0, 0], [1, 0, 0]]",
    ),
]
BEYOND_SCHEMA = [
    ("limits/knee/shape/low", {**packed([3]), "base64": "ab!="}, "@.base64: expected base64 ("),
    ("skeleton/names/1", "hip", "skeleton: Skeleton.names must differ from each other, got 'hip'"),
    ("limits/nee", LIMIT, "@: no joint 'nee'; did you mean knee? this skeleton has hip"),
    (
        "skeleton/names",
        ["hip", "knee"],
        "skeleton: Skeleton.parents must have shape (2,), got (3,)",
    ),
    (
        "skeleton/offsets",
        packed([2**61, 3]),
        "@.base64: expected 55340232221128654848 bytes, got 0",
    ),
    ("skeleton/offsets", packed([0, 2**62]), "skeleton.offsets"),
    ("skeleton/parents", [-1, 2, 1], "skeleton: Skeleton.parents must name an earlier joint"),
    ("skeleton/parents/1", 2**63, "skeleton.parents: expected whole numbers of 64 bits, got"),
    ("limits/knee/shape/low/1", 5, "limits.knee.shape: Box.low must not exceed Box.high, got"),
    ("limits/knee/shape/low/1", float("nan"), "@: expected a finite number, got nan"),
    (
        "limits/knee/shape/low/1",
        -1e101,
        "limits.knee.shape.low: expected finite numbers of at most 1e+100, got",
    ),
    (
        "limits/knee/shape/low",
        packed([3], np.array([-1, np.nan, 0])),
        "@.base64: expected finite numbers, got nan as number 1",
    ),
    ("limits/knee/shape/low", packed([3], bytes(23)), "@.base64: expected 24 bytes, got 23"),
    (
        "limits/knee/chart/reference",
        [1, 0, 0, 1],
        "limits.knee.chart: reference must be unit quaternions",
    ),
    (
        "provenance/x",
        [1, {"a b": float("inf")}],
        "provenance.x[1]['a b']: expected a finite number, got inf",
    ),
    ("provenance/x", "\ud800", "@: expected text of whole Unicode characters, got '\\ud800'"),
    (
        "provenance/\udfff",
        1,
        "provenance: expected text of whole Unicode characters, got '\\udfff'",
    ),
    ("provenance/x", deep(70), "provenance.x[0][0]"),
    (
        "samples/knee/0/rotations/1",
        [1, 1, 0, 0],
        "samples.knee[0].rotations: rotations must be unit",
    ),
    (
        "samples/knee/0/frames",
        [0],
        "samples.knee[0].rotations: expected 1 by 4 numbers, got 2 by 4 numbers",
    ),
]


def changed(text, place, value):
    """Return the document with another value at the place, and the place as errors write it."""
    root = holder = json.loads(text)
    *way, last = [int(key) if key.isdigit() else key for key in place.split("/")]
    written = ""
    for key in (*way, last):
        plain = (isinstance(key, str) and key.isalpha()) or "_" in str(key)
        written += f".{key}" if plain else f"[{key!r}]"
    for key in way:
        holder = holder[key]
    if value is REMOVED:
        del holder[last]
    else:
        holder[last] = value
    return root, written.removeprefix(".")


@pytest.mark.parametrize(("place", "value", "message"), TOLD_BY_SCHEMA)
def test_what_the_schema_refuses_is_named_by_its_place(document, tmp_path, place, value, message):
    broken, written = changed(document, place, value)
    assert not SCHEMA.is_valid(broken)
    said = refusal(tmp_path, json.dumps(broken))
    assert said.startswith(f": {message.replace('@', written)}")


@pytest.mark.parametrize(("place", "value", "message"), BEYOND_SCHEMA)
def test_what_no_schema_can_tell_is_named_by_its_place(document, tmp_path, place, value, message):
    broken, written = changed(document, place, value)
    said = refusal(tmp_path, json.dumps(broken))
    assert said.startswith(f": {message.replace('@', written)}")


def test_a_product_needs_its_chart(document, tmp_path):
    broken = json.loads(document)
    broken["limits"]["left foot"]["chart"] = broken["limits"]["knee"]["chart"]
    assert not SCHEMA.is_valid(broken)
    said = refusal(tmp_path, json.dumps(broken))
    assert said.startswith(f": {FOOT}: a product works in swing-twist, got the chart rotation-vect")
