import base64
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from oracles import CASES, SEEN, fitted, placed, random_quats
from synovia import quat
from synovia.charts import CHARTS, SwingTwist
from synovia.clip import Clip
from synovia.fitting import Sample
from synovia.io import limits_schema, load_limits, save_limits
from synovia.limit import Limit
from synovia.model import LimitModel
from synovia.shapes import SHAPES, Box
from synovia.skeleton import Pose, Skeleton

SKELETON = Skeleton(
    ("hip", "knee", "left foot"),
    [-1, 0, 1],
    [[0.0, -0.0, 1e-300], [0.1, 1 / 3, 0.0], [-0.0, 5e-324, 1e99]],
    (("Xposition", "Yrotation"), (), ("Zrotation", "Xrotation", "Yrotation")),
    [2, 2],
    [[0.0, 0.1, 0.2], [0.0, 0.0, -0.0]],
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


def spinning():
    """Return a clip of three joints, two of which move."""
    skeleton = Skeleton(("hub", "arm", "hand"), [-1, 0, 1], np.eye(3), (), [2], [[0, 0, 1]])
    turns = np.sin(np.arange(60)[:, None, None] / [[7.0, 9.0, 11.0]]) * np.ones((3, 1)) * 0.5
    positions = np.broadcast_to(skeleton.offsets, (60, 3, 3))
    return Clip(skeleton, Pose(quat.exp(turns), positions), 1 / 30, "07_spin")


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
        assert bits(limit.to_dict()) == bits(b.limits[name].to_dict())
        assert bits(limit.packed) == bits(b.limits[name].packed)
        assert type(limit.shape) is type(b.limits[name].shape)
    assert bits(a.provenance) == bits(b.provenance)
    assert list(a.samples) == list(b.samples)
    for name, samples in a.samples.items():
        assert bits([vars(each) for each in samples]) == bits(list(map(vars, b.samples[name])))


def test_every_limit_comes_back_bit_for_bit(limit, tmp_path):
    model = LimitModel({"knee": limit}, SKELETON)
    assert_same(model, again(model, tmp_path))


@pytest.mark.parametrize("with_samples", [True, False])
def test_all_of_a_model_comes_back_bit_for_bit(tmp_path, with_samples):
    model = small(with_samples)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model, again(loaded, tmp_path))
    assert isinstance(loaded.samples.get("knee", ()), tuple)


@pytest.mark.parametrize("keep_samples", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_learned_comes_back_bit_for_bit(tmp_path, shape, keep_samples):
    model = LimitModel.fit([spinning()], shape, keep_samples=keep_samples)
    assert_same(model, again(model, tmp_path))


def test_options_that_are_arrays_come_back_as_lists(tmp_path):
    model = LimitModel.fit([spinning()], "kdop", axes=np.eye(3), joints=("arm",))
    options = again(model, tmp_path).provenance["options"]
    assert options["axes"] == np.eye(3).tolist()


def test_a_skeleton_without_end_sites_comes_back(tmp_path):
    model = LimitModel({}, Skeleton(("a",), [-1], [[0, 0, 0]]))
    assert_same(model, again(model, tmp_path))
    text = (tmp_path / "a.limits.json").read_text()
    assert '"end_offsets": []' in text


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


def test_the_file_is_for_people_too(tmp_path):
    save_limits(small(), tmp_path / "a.limits.json")
    text = (tmp_path / "a.limits.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "format": "synovia-limits",\n  "version": 1,\n  "skeleton": {\n')
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
    assert known == {*CHARTS, *SHAPES}


def test_a_shape_the_format_has_not_heard_of_is_kept(tmp_path, monkeypatch):
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
        with pytest.raises(ValueError, match=r"b\.limits\.json: limits\.knee\.shape: "):
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


# Broken files: the place to change, the value to put there (or REMOVED), and what is said; the
# sign @ stands for that place, as errors write it.

REMOVED = object()
FOOT = "limits['left foot']"


def packed(shape, content=b"", dtype="float64"):
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(content).decode()}


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


TOLD_BY_SCHEMA = [
    ("skeleton", REMOVED, "the key 'skeleton' is missing; the keys here are format, "),
    ("extra", 1, "unknown key 'extra'; the keys here are format, version, skeleton, limits, "),
    ("samples", [], "@: expected an object, got []"),
    ("provenance", None, "@: expected an object, got None"),
    ("limits", 3, "@: expected an object, got 3"),
    ("version", 0, "@: expected 1, got 0"),
    ("version", "1", "@: expected 1, got '1'"),
    ("version", True, "@: expected 1, got True"),
    ("version", REMOVED, "the key 'version' is missing"),
    (
        "format",
        REMOVED,
        'expected a limits file, an object with "format": "synovia-limits", got no format',
    ),
    (
        "format",
        ["x"],
        'expected a limits file, an object with "format": "synovia-limits", got [\'x\']',
    ),
    ("skeleton/names", "abc", "@: expected a list, got 'abc'"),
    ("skeleton/names/1", 7, "@: expected text, got 7"),
    ("skeleton/names/1", "hip", "skeleton: Skeleton.names must differ from each other, got 'hip'"),
    ("skeleton/names/1", "", "skeleton: Skeleton.names must be non-empty strings, got"),
    (
        "skeleton/parents/1",
        0.5,
        "skeleton.parents: expected whole numbers of 64 bits, got [-1, 0.5, 1]",
    ),
    ("skeleton/parents/1", False, "@: expected a number, got False"),
    ("skeleton/parents/1", -2, "skeleton: Skeleton.parents must name an earlier joint"),
    ("skeleton/offsets/1", [1, 2], "skeleton.offsets: expected rows of one length, got"),
    ("skeleton/offsets/1", "x", "@: expected a number, got 'x'"),
    ("skeleton/channels/0/0", "W", "skeleton: Skeleton.channels must be some of Xposition"),
    ("skeleton/channels/0", "Xposition", "@: expected a list, got 'Xposition'"),
    ("skeleton/end_parents/0", -1, "skeleton: Skeleton.end_parents must be joints from 0 to 2"),
    ("limits/knee", [], "@: expected an object, got []"),
    (
        "limits/knee/chart",
        REMOVED,
        "limits.knee: the key 'chart' is missing; the keys here are chart, shape",
    ),
    ("limits/knee/soft", 0.1, "limits.knee: unknown key 'soft'"),
    ("limits/knee/chart", "swing-twist", "@: expected an object, got 'swing-twist'"),
    (
        "limits/knee/chart/type",
        "polar",
        "@: expected one of rotation-vector, swing-twist, direction-twist, euler, got 'polar'",
    ),
    ("limits/knee/chart/type", [], "@: expected text, got []"),
    ("limits/knee/chart/axis", [0, 0, 1], "limits.knee.chart: unknown key 'axis'"),
    ("limits/knee/chart/reference", [1, 0, 0], "@: expected 4 numbers, got [1, 0, 0]"),
    (
        "limits/left foot/chart/axis",
        REMOVED,
        "limits['left foot'].chart: the key 'axis' is missing",
    ),
    ("limits/knee/shape/type", "blob", "@: expected one of box, "),
    ("limits/knee/shape/type", REMOVED, "limits.knee.shape: the key 'type' is missing"),
    ("limits/knee/shape/type", "product", "limits.knee.shape: unknown key 'axes'"),
    ("limits/knee/shape/low", [1, 2], "@: expected 3 numbers, got [1, 2]"),
    ("limits/knee/shape/low", 1.0, "@: expected 3 numbers, got 1.0"),
    ("limits/knee/shape/low", None, "@: expected 3 numbers, got None"),
    ("limits/knee/shape/low", [1, "2", 3], "@[1]: expected a number, got '2'"),
    ("limits/knee/shape/low", [[1, 2, 3]], "@: expected 3 numbers, got [[1, 2, 3]]"),
    ("limits/knee/shape/low", packed([2], bytes(16)), "@: expected 3 numbers, got 2 numbers"),
    (
        "limits/knee/shape/low",
        packed([3], bytes(24), "int64"),
        "@.dtype: expected float64, got 'int64'",
    ),
    ("limits/knee/shape/low", packed([3], bytes(24), "O"), "@.dtype: expected float64, got 'O'"),
    ("limits/knee/shape/low", packed([]), "@.shape: expected lengths of at least 0, got []"),
    ("limits/knee/shape/low", packed([-3]), "@.shape: expected lengths of at least 0, got [-3]"),
    ("limits/knee/shape/low", packed([2**70]), "@.shape: expected whole numbers of 64 bits"),
    ("limits/knee/shape/low", {**packed([3]), "base64": 3}, "@.base64: expected text, got 3"),
    ("limits/knee/shape/low", {**packed([3]), "base64": "ab!="}, "@.base64: expected base64 ("),
    ("limits/knee/shape/low", {"base64": ""}, "@: the key 'dtype' is missing"),
    ("limits/knee/shape/axes", packed([2**40, 2**40, 2**40]), "@.base64: expected "),
    ("limits/left foot/shape/low", [1.0], "@: expected a number, got [1.0]"),
    ("limits/left foot/shape/low", "1", "@: expected a number, got '1'"),
    (
        "limits/left foot/shape/swing/type",
        "product",
        "@: expected one of box, ellipsoid, kdop, got 'product'",
    ),
    ("limits/left foot/shape/swing/low", [1, 2, 3], "@: expected 2 numbers, got [1, 2, 3]"),
    ("samples/knee/0", [], "@: expected an object, got []"),
    ("samples/knee/0/clip", 3, "@: expected text, got 3"),
    ("samples/knee/0/frames", REMOVED, "samples.knee[0]: the key 'frames' is missing"),
    ("samples/knee/0/frames", [0, -1], "@: expected numbers of frames, at least 0, got [0, -1]"),
    (
        "samples/knee/0/rotations",
        [[1, 0, 0]] * 2,
        "@: expected 2 by 4 numbers, got [[1, 0, 0], [1, 0, 0]]",
    ),
]
BEYOND_SCHEMA = [
    ("limits/nee", {}, "@: no joint 'nee'; did you mean knee? this skeleton has hip"),
    ("samples/elbow joint", [], "@: no joint 'elbow joint'; this skeleton"),
    (
        "skeleton/names",
        ["hip", "knee"],
        "skeleton.parents: expected 2 whole numbers, got [-1, 0, 1]",
    ),
    ("skeleton/offsets", [[1, 2, 3]], "@: expected 3 by 3 numbers, got [[1, 2, 3]]"),
    (
        "skeleton/offsets",
        packed([2**61, 3]),
        "@.base64: expected 55340232221128654848 bytes, got 0",
    ),
    ("skeleton/offsets", packed([0, 2**62]), "skeleton.offsets"),
    ("skeleton/channels", [[]], "@: expected one list for each of 3 joints, got 1"),
    ("skeleton/parents", [-1, 2, 1], "skeleton: Skeleton.parents must name an earlier joint"),
    ("skeleton/parents/1", 2**63, "skeleton.parents: expected whole numbers of 64 bits, got"),
    ("skeleton/end_offsets", [], "@: expected 2 by 3 numbers, got []"),
    ("limits/knee/shape/low/1", 5, "limits.knee.shape: Box.low must not exceed Box.high, got"),
    ("limits/knee/shape/low/1", float("nan"), "@: expected a finite number, got nan"),
    ("limits/knee/shape/low/1", float("-inf"), "@: expected a finite number, got -inf"),
    (
        "limits/knee/shape/low/1",
        -1e101,
        "limits.knee.shape.low: expected numbers within 1e+100, got",
    ),
    (
        "limits/knee/shape/low",
        packed([3], np.array([-1, np.nan, 0])),
        "@.base64: expected finite numbers, got nan as number 1",
    ),
    ("limits/knee/shape/low", packed([3], bytes(23)), "@.base64: expected 24 bytes, got 23"),
    ("limits/knee/shape/low", {**packed([3]), "base64": "abcde"}, "@.base64: expected base64 ("),
    ("limits/knee/shape/axes/1", [0, 1, 1], "limits.knee.shape: Box.axes must be orthonormal rows"),
    (
        "limits/knee/chart/reference",
        [1, 0, 0, 1],
        "limits.knee.chart: reference must be unit quaternions",
    ),
    (
        "limits/left foot/chart/axis",
        [0, 0, 0],
        "limits['left foot'].chart: SwingTwist.axis must not be zero",
    ),
    (
        "limits/left foot/shape/low",
        99,
        "limits['left foot'].shape: Product.low must not exceed Product.high",
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


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "a.limits.json"
    save_limits(small(), path)
    return path.read_text(encoding="utf-8")


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


def refusal(folder, content):
    """Return what is said about the file, after its path."""
    path = folder / "human.limits.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"human\.limits\.json") as caught:
        load_limits(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


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


WANTED = ': expected a limits file, an object with "format": "synovia-limits", got '
SYNTAX = [
    (b"", ":1: expected JSON (Expecting value), got the end of the file"),
    (b"\n \n", ":3: expected JSON (Expecting value), got the end of the file"),
    (b"[1, 2]", WANTED + "[1, 2]"),
    (b"3", WANTED + "3"),
    (b"null", WANTED + "None"),
    (b"{}", WANTED + "no format"),
    (b'{"format": "other"}', WANTED + "'other'"),
    (b'{"a": 1,\n "a": 2}', ": expected each key once, got 'a' twice"),
    (b'{"a": 1,\n "b": }', ":2: expected JSON (Expecting value), got '}'"),
    (b'{"a": 1,\n\n "b": 2 "c"}', ":3: expected JSON (Expecting ',' delimiter), got '\"c\"}'"),
    (b'{}\n{"b": 3}', ":2: expected JSON (Extra data), got '{\"b\": 3}'"),
    (b'{\n"a\xff"}', ":2: expected UTF-8, got the byte 0xff"),
    ("{}".encode("utf-16"), ":1: expected UTF-8, got the byte 0xff"),
    (b"\x80\x04\x95", ":1: expected UTF-8, got the byte 0x80"),
    (b"[" * 100_000, ": expected at most 64 lists and objects inside each other, got more"),
    (b'{"a":' * 100_000, ": expected at most 64 lists and objects inside each other, got more"),
]


@pytest.mark.parametrize(("content", "message"), SYNTAX, ids=range(len(SYNTAX)))
def test_what_is_not_a_limits_file_is_said_to_be_none(tmp_path, content, message):
    assert refusal(tmp_path, content).startswith(message)


WRITTEN = [
    ('"version": 1', '"version": 1, "version": 1', ": expected each key once, got 'version' twice"),
    ('"note": ', '"note": 1, "note": ', ": provenance: expected each key once, got 'note' twice"),
    (
        "[-1.0, -0.5, -0.0]",
        "[-1.0, -1e999, -0.0]",
        ": limits.knee.shape.low[1]: expected a finite number, got -inf",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[-1.0, NaN, -0.0]",
        ": limits.knee.shape.low[1]: expected a finite number, got nan",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[" + "9" * 5000 + "]",
        ": limits.knee.shape.low[0]: expected a finite number, got inf",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[" + "9" * 290 + "]",
        ": limits.knee.shape.low[0]: expected a finite number, got one",
    ),
    ("[-1.0, -0.5, -0.0]", "[-01.0]", ":"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRITTEN)
def test_what_only_text_can_hold_is_named_too(document, tmp_path, old, new, message):
    assert old in document
    assert refusal(tmp_path, document.replace(old, new, 1)).startswith(message)


def test_truncated_files_are_refused(document, tmp_path):
    content = document.strip().encode()
    for end in range(0, len(content), 97):
        assert "expected" in refusal(tmp_path, content[:end])


def test_a_byte_order_mark_and_other_line_ends_do_not_matter(document, tmp_path):
    path = tmp_path / "A.LIMITS.JSON"
    path.write_bytes(b"\xef\xbb\xbf" + document.replace("\n", "\r\n").encode())
    assert_same(load_limits(path), small())


def test_whole_numbers_do_for_others(document, tmp_path):
    path = tmp_path / "a.limits.json"
    path.write_text(document.replace("[-1.0, -0.5, -0.0]", "[-1, -1, 0]"), encoding="utf-8")
    assert load_limits(path).limits["knee"].shape.low.tolist() == [-1.0, -1.0, 0.0]


def test_a_newer_version_asks_for_an_upgrade(document, tmp_path):
    newer = json.loads(document) | {"version": 7, "limits": "of another kind"}
    assert not SCHEMA.is_valid(newer)
    assert refusal(tmp_path, json.dumps(newer)) == (
        ": this is version 7 of the format, and this Synovia reads version 1; "
        "upgrade Synovia to read it"
    )


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


def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.limits.json"
    save_limits(small(), path)
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, interrupted)
            with pytest.raises(KeyboardInterrupt):
                save_limits(small(False), path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["a.limits.json"]


def test_a_bad_place_is_an_oserror(tmp_path):
    (tmp_path / "dir.limits.json").mkdir()
    for path in (tmp_path / "dir.limits.json", tmp_path / "none" / "a.limits.json"):
        with pytest.raises(OSError, match=path.name.replace(".", r"\.")):
            save_limits(small(), path)
        with pytest.raises(OSError, match=path.name.replace(".", r"\.")):
            load_limits(path)


def test_loading_and_applying_need_numpy_alone(tmp_path):
    path = tmp_path / "a.limits.json"
    limits = {"knee": Limit(placed("swing-twist"), fitted("kdop", "round"))}
    save_limits(LimitModel(limits, SKELETON), path)
    code = (
        "import sys\n"
        "for name in ('scipy', 'click', 'numba'): sys.modules[name] = None\n"
        "from synovia.io import load_limits\n"
        f"model = load_limits({str(path)!r})\n"
        "print(model.contains(model.skeleton.rest_pose()))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() in ("True", "False")
    assert "RuntimeWarning: numba is not installed" in run.stderr


def test_the_example_in_the_documentation_is_one(tmp_path):
    page = (Path(__file__).parents[1] / "docs" / "limits-file.md").read_text(encoding="utf-8")
    example = page.split("```json\n")[1].split("```")[0]
    SCHEMA.validate(json.loads(example))
    (tmp_path / "a.limits.json").write_text(example)
    assert set(load_limits(tmp_path / "a.limits.json").limits) == {"LeftLeg"}


def test_the_limits_of_all_cases_go_into_one_file(tmp_path):
    names = tuple(f"joint {k}" for k in range(len(SEEN)))
    assert {case for case, _ in SEEN} == set(CASES)
    skeleton = Skeleton(names, np.arange(-1, len(names) - 1), np.ones((len(names), 3)))
    limits = {
        name: Limit(placed(chart), fitted(case, "tilted"))
        for name, (case, chart) in zip(names, SEEN, strict=True)
    }
    model = LimitModel(limits, skeleton)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    rotations = random_quats(len(names), np.random.default_rng(0))
    pose = Pose(rotations, skeleton.offsets)
    assert bits(loaded.project(pose).rotations) == bits(model.project(pose).rotations)
