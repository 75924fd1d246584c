"""Files that the page sends and takes home: read in private, checked, and the same as Python's."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import time
from dataclasses import replace

import numpy as np
import pytest

import rigs
from clips import clip
from synovia import Clip, LimitModel, Pose, human, load_clip, load_limits, save_clip, save_limits
from synovia.anatomy import limits_of
from synovia.components.figure import clip_of
from synovia.demo import wild
from synovia.io import limits_bytes
from synovia.population import limits_for
from synovia.view import messages
from synovia.view import session as session_module
from synovia.view.answers import answer
from synovia.view.folder import Folder
from synovia.view.scene import scene_of, with_limits
from synovia.view.session import Session
from synovia.view.standalone import request_key, standalone_html


@pytest.fixture(scope="module")
def model():
    return LimitModel.fit([clip(size=0.4, frames=60)], "box", margin=0.0)


@pytest.fixture
def session(model):
    return Session(scene_of(model, clip("walk", size=0.8, frames=30)))


def ask(session, asked, /, content=None, **given):
    text = json.dumps({"id": 1, "ask": asked, **given})
    if content is not None:
        text = len(text).to_bytes(4, "little") + text.encode() + content
    return messages.unpack(answer(session, text))


def send(session, name, content, piece=1000):
    for at in range(0, len(content), piece):
        part = content[at : at + piece]
        ask(session, "send", part, upload="u", name=name, size=len(content))


def loaded(session, name, content, *, discard=False):
    send(session, name, content)
    return ask(session, "load", upload="u", discard=discard)[0]


def bytes_of(made, path):
    save_clip(made, path)
    return path.read_bytes()


def test_a_human_clip_dropped_on_the_default_figure_gets_human_limits(tmp_path):
    """As on the command line: the figure's limits know only joints with equal names."""
    figure = human()
    session = Session(scene_of(limits_of(figure), figure=figure))
    skeleton, _, _ = rigs.rig(rigs.RIGS["Mixamo"])
    rest = skeleton.rest_pose()
    person = Clip(skeleton, Pose(rest.rotations[None], rest.positions[None]), 0.1, "person")
    loaded(session, "person.bvh", bytes_of(person, tmp_path / "person.bvh"))
    wanted = limits_for(load_clip(tmp_path / "person.bvh")).model
    assert session.model.provenance["source"] == "human"
    assert list(session.scene.model.limits) == list(wanted.limits)
    own = clip_of(figure, figure.pose())
    other = Session(scene_of(limits_of(figure), figure=figure))
    loaded(other, "figure.bvh", bytes_of(own, tmp_path / "figure.bvh"))
    assert other.model.provenance["figure"] == "human"


def test_limits_that_are_dropped_are_those_of_the_file(session):
    tight = LimitModel.fit([clip(size=0.1, frames=60)], "box", joints=["LeftArm"])
    content = limits_bytes(tight, "x")
    session.edit(
        lambda model: with_limits(model, {**model.limits, "Chest": tight.limits["LeftArm"]}),
        "tight",
        None,
    )
    assert loaded(session, "tight.limits.json", content)["discards"] is True
    assert session.scene.model.limits.keys() > {"LeftArm"}
    told = loaded(session, "tight.limits.json", content, discard=True)
    assert told["state"]["unsaved"] is True
    assert list(session.scene.model.limits) == ["LeftArm"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.bvh", b"HIERARCHY\n", "a.bvh"),
        ("a.limits.json", b"{}", "a.limits.json"),
        ("a.txt", b"x", "expected limits or a clip"),
        ("a.fbx", b"x", "a.fbx"),
        ("../../etc/a.bvh", b"x", "../../etc/a.bvh"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_name(session, name, content, said):
    told = loaded(session, name, content)
    assert said in told["error"]
    assert "/tmp" not in told["error"]
    assert session.state().scene == 0


def test_files_too_large_or_not_whole_are_refused(session, monkeypatch):
    monkeypatch.setattr(session_module, "MAX_BYTES", 3 << 20)
    told = ask(session, "send", b"x", upload="u", name="a.bvh", size=(3 << 20) + 1)[0]
    assert "1 to 3 MiB" in told["error"]
    assert ask(session, "send", b"x", upload="u", name="a.bvh", size=2)[0]["received"] == 1
    assert "not complete" in ask(session, "load", upload="u", discard=False)[0]["error"]
    told = ask(session, "send", b"xyz", upload="v", name="a.bvh", size=2)[0]
    assert "expected 2 bytes, got more" in told["error"]


def exported(session, what, **given):
    header, arrays = ask(session, "export", what=what, **given)
    return header["name"], arrays["content"].tobytes()


def test_the_clamped_clip_keeps_the_format_it_came_in(session, tmp_path):
    told = loaded(session, "run.motion.csv", bytes_of(clip("run"), tmp_path / "x.motion.csv"))
    assert "error" not in told
    assert exported(session, "clamped", soften=None)[0] == "run clamped.motion.csv"


def test_names_of_exports_suit_any_system():
    made = replace(wild(frames=10), name="walks/run#2")
    session = Session(scene_of(limits_for(made).model, made))
    names = [exported(session, what)[0] for what in ("clip", "angles", "ranges", "report")]
    endings = (".bvh", " angles.csv", " ranges.csv", " range of motion.html")
    assert names == [f"walks_run_2{ending}" for ending in endings]


def test_violations_are_a_table(session):
    name, content = exported(session, "violations")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    report = session.scene.model.check(session.scene.clip)
    assert name == "walk violations.csv"
    assert len(rows) == report.outside.sum() > 0
    worst = max(float(row["violation_deg"]) for row in rows)
    assert worst == pytest.approx(np.degrees(report.violation.max()), rel=1e-5)


def test_one_file_of_html_holds_all_that_is_looked_at(session):
    page = (
        '<html><head><script type="module" crossorigin src="./a.js"></script>\n'
        '<link rel="stylesheet" crossorigin href="./a.css"></head><body></body></html>'
    )
    files = {
        "index.html": page.encode(),
        "a.js": b"'</script>'",
        "a.css": b"p{background:url(../a.svg)}",
    }
    files["a.svg"] = b"<svg/>"
    text = standalone_html(session, {name: ("", content) for name, content in files.items()})
    assert "src=" not in text
    assert "href=" not in text
    assert "url(data:;base64,PHN2Zy8+)" in text
    data = text.split('id="recorded">')[1].split("</script>")[0].replace("<\\/", "</")
    told = {
        key: gzip.decompress(base64.b64decode(value)) for key, value in json.loads(data).items()
    }
    header, arrays = messages.unpack(told[request_key("open", {})])
    assert header["clip"] == "walk"
    np.testing.assert_allclose(arrays["rotations"], session.scene.clip.pose.rotations, atol=4e-5)
    for joint in session.scene.model.limits:
        assert request_key("region", {"joint": joint}) in told
        assert request_key("curves", {"joint": joint}) in told


def test_clips_of_a_folder_come_worst_first(session, tmp_path):
    sizes = {"calm": 0.2, "wild": 0.9, "some": 0.5}
    for name, size in sizes.items():
        save_clip(clip(name, size=size, frames=20), tmp_path / f"{name}.bvh")
    (tmp_path / "zero.bvh").write_text("HIERARCHY")
    paths = sorted(tmp_path.iterdir())
    session.folder = Folder(paths, [path.stem for path in paths])
    while ask(session, "clips")[0]["checking"]:
        time.sleep(0.01)
    rows = ask(session, "clips")[0]["clips"]
    assert [row["name"] for row in rows] == ["wild", "some", "calm", "zero"]
    report = session.scene.model.check(load_clip(tmp_path / "wild.bvh"))
    assert rows[0]["worstDeg"] == pytest.approx(np.degrees(report.violation.max()))
    assert "zero.bvh" in rows[-1]["error"]
    told = ask(session, "choose", number=rows[0]["number"])[0]
    assert (told["state"]["scene"], session.scene.clip.name) == (1, "wild")
    assert "error" in ask(session, "choose", number=rows[-1]["number"])[0]
    assert "in the list" in ask(session, "choose", number=9)[0]["error"]


def test_saved_limits_after_a_drop_ask_before_they_replace(model, tmp_path):
    file = tmp_path / "mine.limits.json"
    save_limits(model, file)
    session = Session(scene_of(model, clip(frames=5)), file)
    assert "saved" in ask(session, "save", **{"as": None, "overwrite": True})[0]
    tight = LimitModel.fit([clip(size=0.1, frames=60)], "box", joints=["LeftArm"])
    loaded(session, "tight.limits.json", limits_bytes(tight, "x"))
    assert ask(session, "save", **{"as": None, "overwrite": False})[0]["exists"] == file.name
    ask(session, "save", **{"as": None, "overwrite": True})
    assert list(load_limits(file).limits) == ["LeftArm"]
