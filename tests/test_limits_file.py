"""Limits files: all of a model comes back, and what is written is for people and programs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import warnings
import zlib

import jsonschema
import numpy as np
import pytest

from limits_files import SKELETON, again, assert_same, sample, small
from oracles import fitted, placed
from synovia import quat
from synovia.charts import CHARTS, RotationVector, SwingTwist
from synovia.io import limits_schema, load_limits, save_limits
from synovia.io.limits import STORED_SHAPES
from synovia.learn import Sample
from synovia.limit import DEPENDENT_LIMITS, Limit
from synovia.model import LimitModel
from synovia.shapes import SHAPES, Box, DistanceField
from synovia.skeleton import Clip, Pose, Skeleton


def spinning():
    """Return a clip of three joints, two of which move."""
    skeleton = Skeleton(("hub", "arm", "hand"), [-1, 0, 1], np.eye(3), (), [2], [[0, 0, 1]])
    turns = np.sin(np.arange(60)[:, None, None] / [[7.0, 9.0, 11.0]]) * np.ones((3, 1)) * 0.5
    positions = np.broadcast_to(skeleton.offsets, (60, 3, 3))
    return Clip(skeleton, Pose(quat.exp(turns), positions), 1 / 30, "07_spin")


@pytest.mark.parametrize("with_samples", [True, False])
def test_all_of_a_model_comes_back_bit_for_bit(tmp_path, with_samples):
    model = small(with_samples)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model, again(loaded, tmp_path))
    assert isinstance(loaded.samples.get("knee", ()), tuple)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_learned_comes_back_bit_for_bit(tmp_path, shape):
    model = LimitModel.fit([spinning()], shape)
    assert_same(model, again(model, tmp_path))


def test_options_that_are_arrays_come_back_as_lists(tmp_path):
    model = LimitModel.fit([spinning()], "kdop", axes=np.eye(3), joints=("arm",))
    options = again(model, tmp_path).provenance["options"]
    assert options["axes"] == np.eye(3).tolist()


def test_a_skeleton_without_end_sites_comes_back(tmp_path):
    model = LimitModel({}, Skeleton(("a",), [-1], [[0, 0, 0]]))
    assert_same(model, again(model, tmp_path))


def test_single_precision_samples_keep_their_values(tmp_path):
    single = sample(5).rotations.astype(np.float32)
    samples = {"knee": (Sample("a", "b", np.arange(5, dtype=np.int32), single),)}
    loaded = again(LimitModel({}, SKELETON, {}, samples), tmp_path).samples["knee"][0]
    np.testing.assert_array_equal(loaded.rotations, single)
    assert loaded.rotations.dtype == np.float64
    assert loaded.frames.dtype == np.int64


def test_small_arrays_are_lists_and_large_ones_base64(tmp_path):
    samples = {"knee": (sample(64), sample(65), sample(256), sample(257))}
    save_limits(LimitModel({}, SKELETON, {}, samples), tmp_path / "a.limits.json")
    entries = json.loads((tmp_path / "a.limits.json").read_text())["samples"]["knee"]
    assert [type(entry["rotations"]) for entry in entries] == [list, dict, dict, dict]
    assert [type(entry["frames"]) for entry in entries] == [list, list, list, dict]
    rotations, frames = entries[3]["rotations"], entries[3]["frames"]
    assert (rotations["dtype"], rotations["shape"]) == ("float64", [257, 4])
    assert (frames["dtype"], frames["shape"]) == ("int64", [257])
    content = base64.b64decode(frames["base64"])
    np.testing.assert_array_equal(np.frombuffer(content, "<i8"), 3 * np.arange(257))


def test_numbers_on_a_grid_of_steps_take_little_room(tmp_path):
    steps = np.random.default_rng(3).integers(-(2**15) + 1, 2**15, size=(9, 8, 7)) / 1024.0
    field = DistanceField(low=-np.ones(3), spacing=np.full(3, 0.3), values=steps, threshold=0.0)
    model = LimitModel({"knee": Limit(RotationVector(), field)}, SKELETON)
    loaded = again(model, tmp_path)
    assert loaded.limits["knee"].shape.values.tobytes() == steps.tobytes()
    save_limits(model, tmp_path / "a.limits.json")
    document = json.loads((tmp_path / "a.limits.json").read_text())
    jsonschema.validate(document, limits_schema())
    values = document["limits"]["knee"]["shape"]["values"]
    assert set(values) == {"dtype", "shape", "step", "zlib"}
    bomb = {**values, "zlib": base64.b64encode(zlib.compress(bytes(10**8))).decode()}
    document["limits"]["knee"]["shape"]["values"] = bomb
    (tmp_path / "b.limits.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"zlib: expected 1008 bytes, compressed, got 1009"):
        load_limits(tmp_path / "b.limits.json")


def test_the_file_is_for_people_too(tmp_path):
    save_limits(small(), tmp_path / "a.limits.json")
    text = (tmp_path / "a.limits.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "format": "synovia-limits",\n  "version": 2,\n  "skeleton": {\n')
    assert '        "low": [-1.0, -0.5, -0.0],\n' in text
    assert '"performer": "Zoë"' in text
    assert text.endswith("}\n")
    plain = [line for line in text.splitlines() if "base64" not in line]
    assert max(map(len, plain)) < 130


def test_every_chart_and_shape_has_its_entry_in_the_schema():
    jsonschema.Draft202012Validator.check_schema(limits_schema())
    known = {
        each["properties"]["type"]["const"]
        for each in limits_schema()["$defs"].values()
        if "const" in each.get("properties", {}).get("type", {})
    }
    assert known == {*CHARTS, *STORED_SHAPES, *DEPENDENT_LIMITS}
    assert {*SHAPES} < {*STORED_SHAPES}


def test_a_shape_that_is_registered_later_is_kept(tmp_path, monkeypatch):
    class Crate(Box):
        name = "crate"

    monkeypatch.setitem(SHAPES, "crate", Crate)
    crate = Crate([-1, -1, -0.0], [1, 1, 1], np.eye(3))
    model = LimitModel({"knee": Limit(placed("swing-twist"), crate)}, SKELETON)
    save_limits(model, tmp_path / "a.limits.json")
    assert_same(model, load_limits(tmp_path / "a.limits.json"))
    text = (tmp_path / "a.limits.json").read_text()
    for old, new in [('"low"', '"lwo"'), ("[-1.0, -1.0, -0.0]", '"x"'), ("[1.0, 1.0, 1.0]", "{}")]:
        (tmp_path / "b.limits.json").write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=r"b\.limits\.json: limits\.knee\.shape"):
            load_limits(tmp_path / "b.limits.json")


def wide():
    return Box([-4, -4, -1], [4, 4, 1], np.eye(3))


def test_the_warning_about_the_twist_is_not_said_again(tmp_path):
    with pytest.warns(UserWarning, match="opposite the bone's axis"):
        model = LimitModel({"knee": Limit(SwingTwist(), wide())}, SKELETON)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert_same(model, again(model, tmp_path))
    assert caught == []


def test_loading_and_applying_need_numpy_alone(tmp_path):
    path = tmp_path / "a.limits.json"
    limits = {"knee": Limit(placed("swing-twist"), fitted("kdop", "round"))}
    save_limits(LimitModel(limits, SKELETON), path)
    code = (
        "import sys\n"
        "for name in ('scipy', 'click'): sys.modules[name] = None\n"
        "from synovia.io import load_limits\n"
        f"model = load_limits({str(path)!r})\n"
        "print(model.contains(model.skeleton.rest_pose()))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() in ("True", "False")
    assert run.stderr == ""
