"""Limits files to test with, whether two models are the same, and what is said of broken ones."""

from __future__ import annotations

import base64
import json

import jsonschema
import numpy as np
import pytest

from oracles import fitted, placed, random_quats
from synovia.io import limits_schema, load_limits, save_limits
from synovia.io.limits import FILES
from synovia.learn import Sample
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.schema import encode
from synovia.shapes import Box
from synovia.skeleton import Skeleton

SKELETON = Skeleton(
    ("hip", "knee", "left foot"),
    [-1, 0, 1],
    [[0.0, -0.0, 1e-300], [0.1, 1 / 3, 0.0], [-0.0, 5e-324, 1e99]],
    (("Xposition", "Yrotation"), (), ("Zrotation", "Xrotation", "Yrotation")),
    [2, 2],
    [[0.0, 0.1, 0.2], [0.0, 0.0, -0.0]],
    up="z",
    unit=0.0254 / 0.45,
)
SCHEMA = jsonschema.Draft202012Validator(limits_schema())


def sample(frames, seed=1):
    rotations = random_quats(frames, np.random.default_rng(seed))
    return Sample(f"walk {seed}", "Zoë", 3 * np.arange(frames), rotations)


def small(with_samples=True):
    """Return a model of two joints, with a box and a product."""
    limits = {
        "knee": Limit(placed("rotation-vector"), Box([-1, -0.5, -0.0], [1, 0.0, 2], np.eye(3))),
        "left foot": Limit(placed("swing-twist"), fitted("product box", "round")),
    }
    provenance = {"clips": [{"name": "walk", "frames": 3}], "note": "é\n\u2028", "reject": None}
    samples = {"knee": (sample(2), sample(100, 2)), "left foot": (sample(0),)}
    return LimitModel(limits, SKELETON, provenance, samples if with_samples else {})


def again(model, folder):
    """Return the model after a trip through a file, which the schema allows."""
    save_limits(model, folder / "a.limits.json")
    SCHEMA.validate(json.loads((folder / "a.limits.json").read_text(encoding="utf-8")))
    return load_limits(folder / "a.limits.json")


def bits(value):
    """Return a value with its arrays as types, shapes and bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {key: bits(each) for key, each in value.items()}
    return [bits(each) for each in value] if isinstance(value, (list, tuple)) else value


def assert_same(a, b):
    """Assert that two models are the same, bit for bit and in the same order."""
    assert bits(vars(a.skeleton)) == bits(vars(b.skeleton))
    assert list(a.limits) == list(b.limits)
    for name, limit in a.limits.items():
        assert bits(encode(limit, FILES)) == bits(encode(b.limits[name], FILES))
        if limit.compiled:
            assert bits(limit.packed) == bits(b.limits[name].packed)
        assert type(limit.shape) is type(b.limits[name].shape)
    assert bits(a.provenance) == bits(b.provenance)
    assert list(a.samples) == list(b.samples)
    for name, samples in a.samples.items():
        assert bits([vars(each) for each in samples]) == bits(list(map(vars, b.samples[name])))


def packed(shape, content=b"", dtype="float64"):
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(content).decode()}


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def refusal(folder, content):
    """Return what is said about the file, after its path."""
    path = folder / "human.limits.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"human\.limits\.json") as caught:
        load_limits(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))
