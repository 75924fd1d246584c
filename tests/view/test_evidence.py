"""Evidence at the page, Python's side: samples and whose they are, two limits, fits."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from clips import clip, person
from synovia import LimitModel, Skeleton, load_limits, quat, save_clip, save_limits, show
from synovia.limit import mirror_limit
from synovia.view import fitting, messages
from synovia.view.answers import answer
from synovia.view.editing import write_limits
from synovia.view.families import families
from synovia.view.folder import Folder
from synovia.view.scene import scene_of, with_limits
from synovia.view.session import Session

ARM = "LeftArm"
PEOPLE = ("ann", "bo", "cy")


def ask(session, asked, content=None, **given):
    text = json.dumps({"id": 1, "ask": asked, **given})
    if content is not None:
        text = len(text).to_bytes(4, "little") + text.encode() + content
    header, arrays = messages.unpack(answer(session, text))
    return header | arrays


@pytest.fixture(scope="module")
def takes():
    return [person(f"{who}_1", seed, frames=60) for seed, who in enumerate(PEOPLE)]


@pytest.fixture(scope="module")
def model(takes):
    return LimitModel.fit(takes, "kdop", keep_samples=True, joints=["Chest", ARM], margin=0.02)


@pytest.fixture
def session(model):
    return Session(scene_of(model, clip("wild", size=0.9, frames=50)))


@pytest.fixture
def folder(takes, tmp_path):
    for each in takes:
        save_clip(each, tmp_path / f"{each.name}.bvh")
    paths = sorted(tmp_path.glob("*.bvh"))
    return Folder(paths, [path.name for path in paths])


def pose_of(session, frame=0):
    pose = session.scene.frame(frame)
    return {"frame": frame, "rotations": pose.rotations.ravel().tolist()}


# Samples, and whose they are.


def test_of_many_samples_all_performers_are_shown_with_as_many(session, model):
    counts = [len(each.rotations) for each in model.samples[ARM]]
    told = ask(session, "observed", joint=ARM, most=3 * min(counts) - 6)
    shown = np.bincount(told["whose"], minlength=3)
    assert len(told["rotations"]) <= 3 * min(counts) - 6
    assert np.ptp(shown) == 0
    assert told["counts"] == counts


def test_a_limit_that_is_measured_from_elsewhere_has_no_samples(session):
    copied = session.scene.model.limits["Chest"]
    session.edit(
        lambda model: with_limits(model, {**model.limits, "LeftForeArm": copied}), "copied", None
    )
    assert ask(session, "observed", joint="LeftForeArm", most=9)["count"] == 0


def recalled(session, sample, number):
    return ask(
        session,
        "recall",
        joint=ARM,
        rotation=sample.rotations[number].tolist(),
        clip=sample.clip,
        at=int(sample.frames[number]),
        **pose_of(session),
    )


def test_a_sample_poses_the_joint_or_the_whole_body_where_its_clip_is_at_hand(
    session, model, takes, folder
):
    sample = model.samples[ARM][1]
    alone = recalled(session, sample, 5)
    assert (alone["whole"], alone["shown"]) == (False, None)
    pose = session.scene.frame(0).rotations
    np.testing.assert_allclose(alone["rotations"][2], sample.rotations[5], atol=1e-6)
    np.testing.assert_allclose(alone["rotations"][[0, 1, 3, 4]], pose[[0, 1, 3, 4]], atol=1e-6)
    session.folder = folder
    whole = recalled(session, sample, 5)
    assert whole["whole"]
    there = takes[1].pose.rotations[sample.frames[5]]
    assert np.degrees(quat.angle_between(whole["rotations"], there)).max() < 0.1
    session.show_clip(takes[1])
    assert recalled(session, sample, 5)["shown"] == sample.frames[5]
    session.folder = None
    stranger = model.samples[ARM][0]
    odd = ask(
        session,
        "recall",
        joint=ARM,
        rotation=stranger.rotations[3].tolist(),
        clip=sample.clip,
        at=int(sample.frames[0]),
        **pose_of(session),
    )
    assert not odd["whole"]  # the clip has the name, but is in another pose there


# Two limits.


def others_of(session, joint=ARM):
    told = ask(session, "compare", joint=joint, to=None)
    return {each["name"]: each["why"] for each in told["others"]}


def test_before_and_after_are_compared_since_opening_and_since_saving(session, tmp_path):
    assert all(others_of(session).values())
    before = session.scene.model.limits[ARM]
    wide = before.__class__(before.chart, before.shape.grow(0.1))
    session.edit(lambda model: with_limits(model, {**model.limits, ARM: wide}), "wider", None)
    told = ask(session, "compare", joint=ARM, to="opened")
    rng = np.random.default_rng(8)
    some = quat.normalize(rng.normal(size=(60_000, 4)))
    gained = float((wide.contains(some) & ~before.contains(some)).mean())
    assert told["gained"] == pytest.approx(gained, abs=0.003)
    assert told["gained"] > 0.005
    assert told["lost"] == 0.0
    assert (told["gainedTwists"] == 255).any()
    assert not told["lostTwists"].any()
    session.save(write_limits, tmp_path / "arm.limits.json")
    why = others_of(session)
    assert why["opened"] is None
    assert why["saved"] is not None
    session.edit(lambda model: with_limits(model, {**model.limits, ARM: before}), "back", None)
    told = ask(session, "compare", joint=ARM, to="saved")
    assert (told["gained"], told["lost"] > 0.005) == (0.0, True)


def test_the_other_side_is_mirrored_and_other_files_are_matched(tmp_path):
    name, other = ARM, "RightArm"
    skeleton = Skeleton(
        ("Hips", name, other), [-1, 0, 0], np.array([[0, 1, 0], [0.2, 0.5, 0], [-0.2, 0.5, 0]])
    )
    limit = LimitModel.fit([clip()], "box", joints=[ARM]).limits[ARM]
    wide = limit.__class__(limit.chart, limit.shape.grow(0.2))
    mirrored = mirror_limit(limit, np.array([1.0, 0.0, 0.0]))
    session = Session(scene_of(LimitModel({name: limit, other: mirrored}, skeleton)))
    told = ask(session, "compare", joint=name, to="mirror")
    assert told["gained"] + told["lost"] < 1e-3
    save_limits(LimitModel({name: wide}, skeleton), tmp_path / "wide.limits.json")
    content = (tmp_path / "wide.limits.json").read_bytes()
    ask(session, "send", content, upload="u", name="wide.limits.json", size=len(content))
    before = session.changes
    ask(session, "other", upload="u")
    assert session.changes == before
    told = ask(session, "compare", joint=name, to="file")
    assert told["gained"] == 0.0
    assert told["lost"] > 0.01
    assert others_of(session, other)["file"] == f"wide has no limit for {other}."
    ask(session, "send", b"{}", upload="v", name="wrong.limits.json", size=2)
    assert "wrong.limits.json" in ask(session, "other", upload="v")["error"]
    page = show(LimitModel({name: limit}, skeleton), compare=LimitModel({name: wide}, skeleton))
    told = ask(page.server.session, "compare", joint=name, to="file")
    page.close()
    assert told["lost"] > 0.01


# Fits.


def fit(session, **changed):
    choice = {"family": "box", "marginDeg": 2.0, "rejectPercent": None, "performers": None}
    return ask(session, "fit", **{"clips": [0, 1, 2], **choice, **changed})


def finished(session):
    for _ in range(1200):
        told = ask(session, "progress")
        if not told["running"]:
            return told
        time.sleep(0.05)
    raise TimeoutError(told)


def test_a_fit_is_that_of_the_library_and_can_be_undone(session, model, takes, folder, tmp_path):
    session.folder = folder
    news = []
    session.notify = lambda: news.append(session.state().undo)
    stages = {fit(session)["stage"], finished(session)["stage"]}
    assert any("Limits for 4 joints, fit from 3 clips" in stage for stage in stages)
    assert news == ["fit from 3 clips"]
    loaded = [folder.entries[number].load() for number in range(3)]
    options = dict(families()["box"].options)
    expected = LimitModel.fit(loaded, "box", margin=np.radians(2.0), **options)
    for name, limit in expected.limits.items():
        np.testing.assert_array_equal(session.scene.model.limits[name].shape.low, limit.shape.low)
    assert ask(session, "observed", joint="LeftForeArm", most=9)["performers"] == list(PEOPLE)
    session.save(write_limits, tmp_path / "fitted.limits.json")
    saved = load_limits(tmp_path / "fitted.limits.json")
    assert [row["performer"] for row in saved.provenance["clips"]] == list(PEOPLE)
    assert set(saved.samples) == set(expected.limits)
    assert session.undo() == "fit from 3 clips"
    assert session.scene.source is model
    assert session.scene.model.limits[ARM] is model.limits[ARM]
    assert ask(session, "observed", joint=ARM, most=9)["counts"] == [
        len(each.rotations) for each in model.samples[ARM]
    ]
    session.redo()
    assert session.scene.source is not model


def test_what_cannot_be_fitted_is_said(session, tmp_path):
    for wrong, words in (
        ({"clips": []}, "one clip at least"),
        ({"clips": [7]}, "numbers of the list"),
        ({"clips": [fitting.SHOWN], "rejectPercent": 1.0}, "give one of them"),
        ({"clips": [fitting.SHOWN], "family": "sphere"}, "family must be one of"),
    ):
        assert words in fit(session, **wrong)["error"]
    (tmp_path / "broken.bvh").write_text("HIERARCHY")
    session.folder = Folder([tmp_path / "broken.bvh"], ["broken.bvh"])
    fit(session, clips=[0])
    told = finished(session)
    assert told["failed"]
    assert "broken.bvh" in told["stage"]
    assert session.state().undo is None


def test_performers_are_found_by_a_pattern(session, folder):
    session.folder = folder
    rows = ask(session, "clips")["clips"]
    assert sorted(row["performer"] for row in rows) == list(PEOPLE)
    rows = ask(session, "clips", performers=r"_(\d)")["clips"]
    assert {row["performer"] for row in rows} == {"1"}
    assert "finds nobody" in ask(session, "clips", performers="(zed)")["why"]


def test_dropped_clips_join_the_list_and_may_replace_each_other(session, takes, tmp_path):
    save_clip(takes[0], tmp_path / "ann_1.bvh")
    content = (tmp_path / "ann_1.bvh").read_bytes()
    for upload in "ab":
        ask(session, "send", content, upload=upload, name="ann_1.bvh", size=len(content))
        assert "error" not in ask(session, "keep", upload=upload)
    assert [row["name"] for row in ask(session, "clips")["clips"]] == ["ann_1"]
    assert session.scene.clip.name == "wild"
    fit(session, clips=[1])
    assert not finished(session)["failed"]
