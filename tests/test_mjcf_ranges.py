"""MJCF is checked before MuJoCo sees it: files, sizes and numbers; errors have a place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from command_line import result_of
from synovia import quat
from synovia.io.ranges import read_ranges

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

ARM = '<body name="arm" pos="0 0 1"><joint name="bend" range="-40 40"/></body>'


def write_model(path: Path, inner: str, after: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<mujoco>\n<worldbody>\n{inner}\n</worldbody>{after}\n</mujoco>\n")
    return path


def test_included_files_are_read_as_mujoco_reads_them(tmp_path):
    model = write_model(tmp_path / "model.xml", '<include file="parts/body.xml"/>')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "body.xml").write_text(
        '<mujoco>\n\n<body name="trunk"><include file="arm.xml"/></body></mujoco>'
    )
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujoco>{ARM}</mujoco>")
    file = read_ranges(model)
    assert file.skeleton.names == ("trunk", "arm")
    (hinge,) = file.hinges
    assert np.degrees(hinge.high) == pytest.approx(40.0)
    assert hinge.line == 0  # it is in another file
    (tmp_path / "parts" / "arm.xml").write_text('<mujoco>\n<body pos="far"/></mujoco>')
    with pytest.raises(ValueError, match=r"arm\.xml:2: MuJoCo cannot read it: .*'pos'"):
        read_ranges(model)
    (tmp_path / "parts" / "arm.xml").write_text('<mujoco><include file="model.xml"/></mujoco>')
    with pytest.raises(ValueError, match=r"arm\.xml:1: a file must be included once"):
        read_ranges(model)


def test_files_outside_of_the_folder_are_not_included(tmp_path):
    outside = tmp_path / "outside.xml"
    outside.write_text(f"<mujoco>{ARM}</mujoco>")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.xml").symlink_to(outside)
    for name in ("../outside.xml", str(outside), "link.xml"):
        model = write_model(folder / "model.xml", f'<include file="{name}"/>')
        with pytest.raises(ValueError, match=r"model\.xml:3: an included file must be in the fold"):
            read_ranges(model)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_fifo_is_not_included(tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    model = write_model(tmp_path / "model.xml", '<include file="pipe.xml"/>')
    assert "only regular files can be read" in result_of("lint", model, code=2).output


@pytest.mark.parametrize(
    ("inner", "after", "message"),
    [
        ('<body name="a"><flexcomp name="f" file="f.obj"/></body>', "", "3: <flexcomp> must have"),
        (ARM, '<asset><model name="m" file="m.xml"/></asset>', "4: <model> must have no file"),
        (ARM.replace("0 0 1", "0 nan 1"), "", "3: <body> must have numbers as its pos"),
        (ARM.replace("-40 40", "nan 40"), "", "3: <joint> must have numbers as its range"),
        ('<body zaxis="0 0 0"/>', "", "3: <body> must have numbers as its orientation"),
        (
            ARM,
            '\n<tendon><fixed name="t" range="0 1"><joint joint="no" coef="1"/></fixed></tendon>',
            "5: the tendon 't' must name joints of the model",
        ),
        ("", "", "1: expected a body in <worldbody>, got none"),
    ],
    ids=["flexcomp", "model", "pos", "range", "axis", "tendon", "empty"],
)
def test_errors_have_file_and_line_and_no_log_is_left(inner, after, message, tmp_path, monkeypatch):
    model = write_model(tmp_path / "model.xml", inner, after)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert f"{model}:{message}" in result_of("lint", model, code=2).output
    assert os.listdir() == []


def test_text_that_is_no_utf8_has_file_and_line(tmp_path):
    (tmp_path / "a.xml").write_bytes(b'<mujoco>\n<worldbody><body name="\xff"/></worldbody>')
    with pytest.raises(ValueError, match=r"a\.xml:2: expected well-formed XML"):
        read_ranges(tmp_path / "a.xml")


def test_bodies_without_names_are_parents(tmp_path):
    leg = ARM.replace("arm", "leg").replace("bend", "knee")
    inner = f"<body>{ARM}</body><body><body>{leg}</body></body>"
    file = read_ranges(write_model(tmp_path / "model.xml", inner))
    assert file.skeleton.parents.tolist() == [-1, 0, -1, 2, 3]


def test_frames_move_and_rotate_what_is_in_them(tmp_path):
    (tmp_path / "a.xml").write_text(
        """<mujoco><worldbody><body name="a"><geom size="1"/>
          <frame pos="0 0 1" euler="90 0 0"><frame pos="1 0 0">
            <body name="b" pos="0 0 2" euler="0 0 45"><geom size="1"/>
              <frame axisangle="0 0 1 90"><joint axis="1 0 0" range="0 90"/></frame>
            </body></frame></frame>
        </body></worldbody></mujoco>"""
    )
    file = read_ranges(tmp_path / "a.xml")
    model = mujoco.MjSpec.from_file(str(tmp_path / "a.xml")).compile()
    rotation = file.skeleton.rest_rotations[1]
    np.testing.assert_allclose(file.skeleton.offsets[1], model.body("b").pos, atol=1e-12)
    np.testing.assert_allclose(np.abs(rotation @ model.body("b").quat), 1.0, atol=1e-12)
    axis = quat.rotate(rotation, model.jnt_axis[0])
    np.testing.assert_allclose(file.hinges[0].axis, axis, atol=1e-12)
