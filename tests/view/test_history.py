"""What was done to limits at the page can be undone, a stroke at a time."""

from __future__ import annotations

import pytest

from clips import clip
from synovia import LimitModel
from synovia.view.scene import scene_of
from synovia.view.session import MAX_VERSIONS, History, Version

SCENE = scene_of(LimitModel({}, clip().skeleton), clip())


def test_a_stroke_is_one_step():
    start = Version(SCENE)
    history = History(start)
    for number in range(5):
        history = history.push(Version(SCENE, f"drag {number}", "a"))
    history = history.push(Version(SCENE, "click", "b"))
    assert [version.label for version in history.past] == ["", "drag 0"]
    assert history.undo().undo().present is start
    assert history.undo().undo().redo().present.label == "drag 0"


def test_edits_without_a_stroke_are_steps_of_their_own():
    history = History(Version(SCENE)).push(Version(SCENE, "a")).push(Version(SCENE, "b"))
    assert len(history.past) == 2


def test_a_new_edit_forgets_what_was_undone():
    history = (
        History(Version(SCENE)).push(Version(SCENE, "a", "1")).undo().push(Version(SCENE, "b", "2"))
    )
    assert history.future == ()
    with pytest.raises(ValueError, match="nothing to redo"):
        history.redo()


def test_an_edit_after_an_undo_is_not_taken_for_the_stroke_before_it():
    history = History(Version(SCENE)).push(Version(SCENE, "a", "1")).push(Version(SCENE, "b", "2"))
    again = history.undo().push(Version(SCENE, "c", "2"))
    assert [version.label for version in again.past] == ["", "a"]


def test_only_so_many_steps_are_kept():
    history = History(Version(SCENE))
    for number in range(MAX_VERSIONS + 10):
        history = history.push(Version(SCENE, str(number)))
    assert len(history.past) == MAX_VERSIONS
    with pytest.raises(ValueError, match="nothing to undo"):
        History(Version(SCENE)).undo()
