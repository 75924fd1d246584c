"""Every error about the content of a file names the file."""

from __future__ import annotations

import json
import re

import pytest

from command_line import result_of
from synovia import LimitModel, human, load_clip, load_limits, save_limits
from synovia.io import (
    CLIP_FORMATS,
    ClipFormat,
    FormatEntry,
    list_clips,
    load_figure,
    save_figure,
)

URDF = (
    '<?xml version="1.0" encoding="{encoding}"?><robot name="r"><link name="a"/><link name="b"/>'
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="{x} 0 0"/>'
    '<limit lower="-1" upper="1"/></joint></robot>'
)
BVH = (
    "HIERARCHY\nROOT a\n{{\nOFFSET {x} 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n"
    "{{\nOFFSET {x} 0 0\n}}\n}}\nMOTION\nFrames: 1\nFrame Time: 0.01\n0 0 0\n"
)


def message_of(read, path):
    """The message of the error, which begins with the path."""
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}:") as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-7", "utf-32", "shift_jis", "idna", "none-such"])
@pytest.mark.parametrize(
    ("suffix", "read"), [(".urdf", load_limits), (".osim", load_limits), (".xml", load_figure)]
)
def test_xml_in_an_encoding_that_is_not_read_is_named(tmp_path, encoding, suffix, read):
    path = tmp_path / f"a{suffix}"
    path.write_text(URDF.format(encoding=encoding, x=0))
    assert ":1: expected an encoding that is known, got " in message_of(read, path)


def huge_bvh(path):
    path.write_text(BVH.format(x="1e308"))


def huge_urdf(path):
    path.write_text(URDF.format(encoding="utf-8", x="1e308"))


def huge_limits(path):
    save_limits(LimitModel({}, human().skeleton), path)
    content = json.loads(path.read_text())
    content["skeleton"]["offsets"][1] = [1e308, 0, 0]
    path.write_text(json.dumps(content))


def huge_figure(path):
    save_figure(human(), path)
    first, offset, rest = path.read_text().partition('offset="')
    path.write_text(f"{first}{offset}1e308 0 0{rest[rest.index(chr(34)) :]}")


@pytest.mark.parametrize(
    ("write", "name", "read"),
    [
        (huge_bvh, "a.bvh", load_clip),
        (huge_urdf, "a.urdf", load_limits),
        (huge_limits, "a.limits.json", load_limits),
        (huge_figure, "a.xml", load_figure),
    ],
)
def test_huge_offsets_are_refused_with_the_file(tmp_path, write, name, read):
    write(tmp_path / name)
    message = message_of(read, tmp_path / name)
    assert re.search(r"expected (finite )?numbers of at most 1e\+", message)


@pytest.mark.parametrize("read", [load_clip, list_clips])
@pytest.mark.parametrize(
    "error", [ValueError("wrong"), OverflowError("wrong"), RecursionError("wrong")]
)
def test_errors_of_any_format_name_the_file(tmp_path, monkeypatch, read, error):
    def fail(*_):
        raise error

    monkeypatch.setitem(CLIP_FORMATS, ".bad", FormatEntry("bad", ClipFormat(fail, contents=fail)))
    (tmp_path / "a.bad").touch()
    assert message_of(read, tmp_path / "a.bad")


def test_an_error_names_the_file_once(tmp_path):
    path = tmp_path / "a.bvh"
    path.write_text("HIERARCHY\nnonsense\n")
    assert message_of(load_clip, path).count("a.bvh") == 1
    assert "Traceback" not in result_of("info", path, code=2).output


@pytest.mark.parametrize("command", ["info", "check"])
@pytest.mark.parametrize("suffix", [".c3d", ".trc"])
def test_files_of_markers_are_refused_with_advice(tmp_path, command, suffix):
    path = tmp_path / f"walk{suffix}"
    path.write_bytes(b"\x02P")
    said = result_of(command, path, code=2).output
    assert f"{path}: it holds positions of markers, not rotations of joints: solve them" in said
    assert "NAME.markers.csv" in said


def test_too_many_joints_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("synovia.io.skeletons.MAX_JOINTS", 200)
    count = 201
    nodes = [{"name": f"n{k}", "children": [k + 1]} for k in range(count)]
    root = {"asset": {"version": "2.0"}, "nodes": [*nodes[:-1], {"name": "last"}]}
    path = tmp_path / "deep.gltf"
    path.write_text(json.dumps({**root, "skins": [{"joints": list(range(count))}]}))
    assert "expected at most 200 joints, got 201" in message_of(load_clip, path)
