"""Limits files that cannot be written, and what was there before, which stays."""

from __future__ import annotations

import numpy as np
import pytest

from limits_files import SKELETON, deep, small
from synovia.io import load_limits, save_limits
from synovia.learn import Sample
from synovia.model import LimitModel


@pytest.mark.parametrize("name", ["a.json", "a.limits", "a.bvh", "a", "limits.json"])
def test_the_suffix_tells_the_format(tmp_path, name):
    for attempt in (load_limits, lambda path: save_limits(small(), path)):
        with pytest.raises(ValueError, match=r": the suffix of limits must be \.limits\.json, got"):
            attempt(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


UNWRITABLE = [
    ({"provenance": {"a": [1.0, np.nan]}}, "provenance.a[1]: expected a finite number, got nan"),
    ({"provenance": {"a": {3: 1}}}, "provenance.a: expected text for a key, got 3"),
    ({"provenance": {"a": {1, 2}}}, "provenance.a: expected what JSON can hold, got {1, 2}"),
    ({"provenance": {"a": "\ud800"}}, "provenance.a: expected text of whole Unicode characters"),
    ({"provenance": {"a": 10**5000}}, "provenance.a: expected a finite number, got one"),
    ({"provenance": {"a": deep(100)}}, "provenance.a[0]"),
    ({"provenance": {"a": deep(900)}}, ""),
    (
        {"samples": {"hip": (Sample("a", "b", np.arange(3), np.eye(4)),)}},
        "samples.hip[0].rotations: expected 3 by 4 numbers",
    ),
    (
        {"samples": {"hip": (Sample("a", "b", np.arange(100), np.full((100, 4), np.nan)),)}},
        "samples.hip[0].rotations.base64: expected finite",
    ),
    (
        {"samples": {"hip": (Sample("a", None, np.arange(4), np.eye(4)),)}},
        "samples.hip[0].performer: expected text, got None",
    ),
]


@pytest.mark.parametrize(("parts", "message"), UNWRITABLE)
def test_what_could_not_be_read_is_not_written(tmp_path, parts, message):
    path = tmp_path / "a.limits.json"
    save_limits(small(), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"a\.limits\.json: ") as caught:
        save_limits(LimitModel({}, SKELETON, **parts), path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert path.read_bytes() == before


def test_a_provenance_that_contains_itself_is_refused(tmp_path):
    circle = {}
    circle["a"] = circle
    with pytest.raises(ValueError, match=r"a\.limits\.json: expected at most 64 lists and objects"):
        save_limits(LimitModel({}, SKELETON, circle), tmp_path / "a.limits.json")
