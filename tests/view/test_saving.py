"""What the page saves: the limits as they were given, with the edited ones, and only where told."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from clips import clip, skeleton
from synovia import (
    Box,
    Clip,
    Limit,
    LimitModel,
    Pose,
    RotationVector,
    Skeleton,
    load_limits,
    save_limits,
    show,
)
from synovia.view import editing
from synovia.view.answers import answer
from synovia.view.editing import sibling_path
from synovia.view.messages import unpack
from synovia.view.scene import Scene, scene_of, with_limits
from synovia.view.session import Session
from view.browser import needed

OURS = {"Hips": "pelvis", "Chest": "torso", "LeftArm": "arm.L", "LeftForeArm": "elbow.L"}
"""The clip's names, and the limits' for the same joints; the hand is the clip's alone."""


def box(size, relative_to=None):
    return Limit(RotationVector(), Box(np.full(3, -size), np.full(3, size), np.eye(3)), relative_to)


@pytest.fixture(scope="module")
def model():
    """Limits of a skeleton with other names, one more joint, samples, and an ancestor."""
    fitted = LimitModel.fit([clip(frames=30)], "box", keep_samples=True)
    own = Skeleton(
        (*OURS.values(), "tail"), [-1, 0, 1, 2, 0], [*skeleton().offsets[:4], [0.0, -0.2, 0.0]]
    )
    limits = {
        "arm.L": box(0.3, "pelvis"),
        "tail": box(0.9),
        "elbow.L": fitted.limits["LeftForeArm"],
    }
    samples = {"elbow.L": fitted.samples["LeftForeArm"]}
    return LimitModel(limits, own, {"clips": [{"name": "ann"}], "by": "hand"}, samples)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "mine.limits.json"


@pytest.fixture
def session(model, file):
    names = {ours: theirs for ours, theirs in OURS.items() if ours != "Hips"}
    return Session(scene_of(model, clip(frames=3), names={**names, "Hips": "pelvis"}), file)


def ask(session, name, /, **given):
    return unpack(answer(session, json.dumps({"id": 1, "ask": name, **given})))[0]


def save(session, name=None, *, overwrite=False):
    return ask(session, "save", **{"as": name, "overwrite": overwrite})


def turned(session, name, limit):
    session.edit(
        lambda model: with_limits(model, {**model.limits, name: limit}),
        f"new limit of {name}",
        None,
    )


def test_an_edited_joint_comes_back_by_its_own_name(session, model, file):
    assert session.scene.model.ancestors == {"LeftArm": "Hips"}
    edited = replace(session.scene.model.limits["LeftArm"], shape=box(0.1).shape)
    turned(session, "LeftArm", edited)
    assert save(session)["state"]["unsaved"] is False
    found = load_limits(file)
    assert list(found.limits) == list(model.limits)
    np.testing.assert_array_equal(found.limits["arm.L"].shape.high, 0.1)
    assert found.limits["arm.L"].relative_to == "pelvis"
    assert found.provenance == {**model.provenance, "edited": ["arm.L"]}
    assert found.skeleton.names == model.skeleton.names
    for name in ("tail", "elbow.L"):
        assert type(found.limits[name].shape) is type(model.limits[name].shape)
        np.testing.assert_array_equal(found.limits[name].shape.low, model.limits[name].shape.low)
    np.testing.assert_array_equal(
        found.samples["elbow.L"][0].rotations, model.samples["elbow.L"][0].rotations
    )


def test_what_was_edited_is_remembered_from_file_to_file(session, file):
    turned(session, "LeftForeArm", box(0.2))
    save(session)
    again = Session(scene_of(load_limits(file), clip(frames=3), names=OURS), file)
    turned(again, "LeftArm", box(0.1, "Hips"))
    save(again, overwrite=True)
    assert load_limits(file).provenance["edited"] == ["arm.L", "elbow.L"]


def test_an_ancestor_that_is_the_parent_in_the_clip_stays_the_ancestor(file):
    """Where the clip lacks the joints between, what it is measured from is its parent there."""
    bones = skeleton()
    model = LimitModel({"LeftArm": box(0.3, "Hips")}, bones)
    short = Skeleton(("Hips", "LeftArm"), [-1, 0], [[0, 1, 0], [0.2, 0.5, 0]])
    rest = short.rest_pose()
    still = Clip(short, Pose(rest.rotations[None], rest.positions[None]), 0.1, "short")
    session = Session(scene_of(model, still), file)
    assert session.scene.model.ancestors == {}
    turned(session, "LeftArm", box(0.1))
    save(session)
    assert load_limits(file).limits["LeftArm"].relative_to == "Hips"


def test_a_new_limit_goes_to_a_joint_that_the_limits_know(session, file):
    turned(session, "Chest", box(0.4))
    save(session)
    assert set(load_limits(file).limits) == {"arm.L", "tail", "elbow.L", "torso"}


def test_a_limit_that_is_taken_away_is_gone(session, file):
    session.edit(
        lambda model: with_limits(model, {"LeftArm": model.limits["LeftArm"]}), "less", None
    )
    save(session)
    assert list(load_limits(file).limits) == ["arm.L", "tail"]
    assert load_limits(file).provenance["edited"] == ["elbow.L"]


def test_a_limit_of_a_joint_that_is_not_theirs_is_refused(session, file):
    turned(session, "LeftHand", box(0.4))
    for what in (save(session), ask(session, "export", what="limits")):
        assert "the skeleton of the limits has no such joint" in what["error"]
        assert "LeftHand" in what["error"]
        assert session.unsaved
    assert not file.exists()
    session.undo()
    assert "saved" in save(session)


def test_a_joint_whose_name_means_another_one_there_is_refused(file):
    bones = skeleton()
    model = LimitModel({"LeftForeArm": box(0.3)}, bones)
    session = Session(scene_of(model, clip(frames=3), names={"LeftArm": "LeftForeArm"}), file)
    assert list(session.scene.model.limits) == ["LeftArm"]
    turned(session, "LeftForeArm", box(0.1))
    assert "no such joint" in save(session)["error"]


def test_a_scene_without_a_source_saves_its_own_limits(file):
    still = clip(frames=2)
    session = Session(Scene(still, LimitModel({"LeftArm": box(0.3)}, still.skeleton)), file)
    turned(session, "LeftHand", box(0.1))
    save(session)
    assert list(load_limits(file).limits) == ["LeftArm", "LeftHand"]


def test_from_python_the_present_limits_are_saved_anywhere(model, tmp_path):
    try:
        page = show(model, clip(frames=3), names=OURS, save_to=tmp_path / "page.limits.json")
    except FileNotFoundError as error:
        needed(str(error))
    turned(page.server.session, "LeftArm", box(0.1, "Hips"))
    page.save(tmp_path / "copy.limits.json")
    page.close()
    np.testing.assert_array_equal(page.model.limits["LeftArm"].shape.high, 0.1)
    found = load_limits(tmp_path / "copy.limits.json")
    np.testing.assert_array_equal(found.limits["arm.L"].shape.high, 0.1)
    assert page.server.session.file == tmp_path / "page.limits.json"
    with pytest.raises(ValueError, match="suffix"):
        show(model, save_to=tmp_path / "page.json")


def test_unsaved_is_what_differs_from_the_file(session):
    assert session.state().unsaved is False
    turned(session, "LeftArm", box(0.1, "Hips"))
    assert session.state().unsaved is True
    session.undo()
    assert session.state().unsaved is False
    session.redo()
    save(session)
    assert session.state().unsaved is False
    session.undo()
    assert session.state().unsaved is True


@pytest.mark.parametrize(
    "name",
    [
        *("", "   ", ".limits.json", ".", "..", "../up", "a/b", "/etc/passwd", "a\\b", "C:x", "~"),
        *(".hidden", "nul", "CON", "com1.txt", "aux.limits.json", "a\x00b", "a\nb", "-rf", "a."),
        *("x" * 300, "\ud800", "a:stream", 'a"b', "a*"),
    ],
)
def test_a_name_is_a_name_and_leads_nowhere_else(session, file, name):
    told = save(session, name)
    assert "name" in told["error"]
    assert list(file.parent.iterdir()) == []


def test_a_link_is_not_followed(session, file, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "theirs.limits.json"
    link = file.with_name("link.limits.json")
    try:
        link.symlink_to(elsewhere)
    except OSError:
        pytest.skip("no symbolic links here")
    assert "link" in save(session, "link", overwrite=True)["error"]
    assert not elsewhere.exists()


def test_a_failure_is_told_and_nothing_is_lost(session, file, monkeypatch):
    save(session)
    before = file.read_bytes()
    turned(session, "LeftArm", box(0.1, "Hips"))

    def full(model, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(editing, "write_limits", full)
        told = save(session)
    assert "No space left" in told["error"]
    assert session.unsaved
    assert file.read_bytes() == before
    assert "saved" in save(session)
    assert file.read_bytes() != before


def test_beside_keeps_the_directory(tmp_path):
    assert sibling_path(tmp_path / "a.limits.json", " b ") == tmp_path / "b.limits.json"


def test_a_file_that_others_changed_is_not_replaced_unasked(session, file):
    save(session)
    turned(session, "LeftArm", box(0.1, "Hips"))
    theirs = file.read_bytes() + b"\n"
    file.write_bytes(theirs)
    told = save(session)
    assert (told["exists"], told["changed"]) == (file.name, True)
    assert file.read_bytes() == theirs
    file.write_bytes(theirs + b"\n")  # once more, while somebody reads the question
    assert save(session, overwrite=True)["changed"] is True
    assert "saved" in save(session, overwrite=True)
    turned(session, "LeftArm", box(0.2, "Hips"))
    assert "saved" in save(session)


def test_the_file_that_was_loaded_counts_as_known(model, file):
    save_limits(model, file)
    session = Session(scene_of(model), file)
    assert save(session)["changed"] is False
    file.write_text("theirs")
    assert save(session, overwrite=True)["changed"] is True
    assert file.read_text() == "theirs"


def test_a_link_planted_after_a_save_is_not_followed(session, file, tmp_path_factory):
    save(session)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "theirs.limits.json"
    elsewhere.write_text("precious")
    file.unlink()
    try:
        file.symlink_to(elsewhere)
    except OSError:
        pytest.skip("no symbolic links here")
    turned(session, "LeftArm", box(0.1, "Hips"))
    assert "link" in save(session, overwrite=True)["error"]
    with pytest.raises(OSError, match="link"):  # nor where it is planted after the look
        editing.write_limits(session.model, file)
    assert elsewhere.read_text() == "precious"


def test_a_link_that_the_command_line_names_is_followed_once(model, tmp_path):
    target, link = tmp_path / "target.limits.json", tmp_path / "link.limits.json"
    save_limits(model, target)
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("no symbolic links here")
    session = Session(scene_of(model), link)
    assert "saved" in save(session, overwrite=True)
    assert session.file == target.resolve()
    assert link.is_symlink()


def test_unsaved_edits_are_kept_until_they_are_saved(session, file):
    kept = file.with_name("mine.unsaved.limits.json")
    session.keep_unsaved()
    assert not kept.exists()
    turned(session, "LeftArm", box(0.1, "Hips"))
    session.keep_unsaved()
    np.testing.assert_array_equal(load_limits(kept).limits["arm.L"].shape.high, 0.1)
    if os.name == "posix":
        assert kept.stat().st_mode & 0o777 == 0o600
    session.undo()
    session.keep_unsaved()
    assert not kept.exists()
    session.redo()
    session.keep_unsaved()
    assert kept.exists()
    save(session)
    assert not kept.exists()


def test_the_next_start_offers_what_was_not_saved(session, model, file):
    turned(session, "LeftArm", box(0.1, "Hips"))
    session.edit(
        lambda model: with_limits(model, {"LeftArm": model.limits["LeftArm"]}),
        "without an elbow",
        None,
    )
    session.keep_unsaved()
    following = Session(scene_of(model, clip(frames=3), names=OURS), file)
    kept = file.with_name("mine.unsaved.limits.json")
    assert following.state().leftover.name == kept.name
    before = kept.read_bytes()
    turned(following, "Chest", box(0.5))
    with pytest.raises(FileExistsError, match="restore or remove them first"):
        following.keep_unsaved()
    assert kept.read_bytes() == before  # until it is decided
    scene = following.state().scene
    told = ask(following, "recover", restore=True)
    assert (told["state"]["leftover"], told["state"]["unsaved"]) == (None, True)
    assert told["state"]["scene"] > scene  # pages show it all anew
    assert following.kept == kept
    limits = following.scene.model.limits
    np.testing.assert_array_equal(limits["LeftArm"].shape.high, 0.1)
    assert limits["LeftArm"].relative_to == "Hips"
    assert "LeftForeArm" not in limits
    following.undo()
    assert "LeftForeArm" in following.scene.model.limits
    again = ask(following, "recover", restore=True)
    assert again["error"] == "there are no unsaved edits of the last session"


def test_what_was_not_saved_can_be_left(session, model, file):
    turned(session, "LeftArm", box(0.1, "Hips"))
    session.keep_unsaved()
    following = Session(scene_of(model, clip(frames=3), names=OURS), file)
    told = ask(following, "recover", restore=False)
    assert (told["state"]["leftover"], told["state"]["unsaved"]) == (None, False)
    assert list(file.parent.iterdir()) == []


def test_a_leftover_that_cannot_be_read_is_told(model, file):
    file.with_name("mine.unsaved.limits.json").write_text("half")
    session = Session(scene_of(model), file)
    assert "JSON" in ask(session, "recover", restore=True)["error"]
    assert session.state().leftover is not None
