"""Session: what all pages of a server share, a scene whose limits are edited, with history."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from ..components import Figure, clip_of, sweep
from ..io import load_limits
from ..limit import DependentLimit, Limit
from ..model import LimitModel, couple
from ..skeleton import Clip, Pose, Skeleton, list_names, match
from .protocol import Leftover, State
from .recovery import Recovery, discard, find_recovery
from .start import Start
from .uploads import Uploads

MOST_VERSIONS = 200
"""Steps that can be undone; older ones are forgotten."""


@dataclass(frozen=True, eq=False)
class Given:
    """Limits as they were given or fitted, before any edit."""

    source: LimitModel | None
    """By their own names for the joints."""
    names: Mapping[str, str]
    """Their names by the clip's."""
    model: LimitModel
    """By the clip's names."""
    number: int = 0
    """Which of those that were shown they are."""


@dataclass(frozen=True, eq=False)
class Version:
    """All limits by joint, what made them so, and in which stroke of the mouse or keyboard."""

    limits: Mapping[str, Limit]
    label: str = ""
    stroke: str | None = None
    given: Given | None = None
    """What they are edits of; None where only their history matters."""
    dependents: Mapping[str, DependentLimit] = field(default_factory=dict)
    """What some of the limits depend on."""


@dataclass(frozen=True, eq=False)
class History:
    """The present version, those before it, oldest first, and those undone, the next one first."""

    present: Version
    past: tuple[Version, ...] = ()
    future: tuple[Version, ...] = ()

    def push(self, version: Version) -> Self:
        """Return the history with a new version; one of the same stroke replaces the last.

        The stroke goes by the name of its first edit.
        """
        if version.stroke is not None and version.stroke == self.present.stroke:
            same = replace(version, label=self.present.label)
            return replace(self, present=same, future=())
        return replace(
            self, present=version, past=(*self.past, self.present)[-MOST_VERSIONS:], future=()
        )

    def undo(self) -> Self:
        """Return the history one step back."""
        if not self.past:
            raise ValueError("there is nothing to undo")
        *past, last = self.past
        return replace(self, present=last, past=tuple(past), future=(self.present, *self.future))

    def redo(self) -> Self:
        """Return the history one step on again."""
        if not self.future:
            raise ValueError("there is nothing to redo")
        following, *future = self.future
        return replace(
            self, present=following, past=(*self.past, self.present), future=tuple(future)
        )


FRAMES_A_CONTROL = 60


@dataclass(frozen=True, eq=False)
class Scene:
    """A clip, and limits by the names that its own skeleton has for the joints."""

    clip: Clip
    model: LimitModel
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    """Sentences on what is the matter, for the person at the page."""
    source: LimitModel | None = None
    """The limits as they were given, by their own names for the joints."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The source's names for joints that it has, by the clip's."""
    start: Start | None = None
    """The pose to open with, where that is none of the clip's."""

    @property
    def limited(self) -> list[int]:
        """The numbers of the joints that have limits, in the order of the model."""
        return [self.clip.skeleton.index(name) for name in self.model.names]

    @property
    def grouped(self) -> list[int]:
        """The indices of the joints that are limited together with others, in groups."""
        names = (name for group in self.model.groups for name in group.joints)
        return [self.clip.skeleton.index(name) for name in names]

    @property
    def measured_from(self) -> list[int]:
        """By joint, the number of the one that its limit is measured from; -1 for none."""
        skeleton = self.clip.skeleton
        above = skeleton.parents.tolist()
        for name, ancestor in self.model.ancestors.items():
            above[skeleton.index(name)] = skeleton.index(ancestor)
        return list(above)

    @property
    def drivers(self) -> list[int]:
        """By joint, the number of the one that its limit depends on; -1 for none."""
        skeleton = self.clip.skeleton
        found = [-1] * len(skeleton)
        for name, each in self.model.dependents.items():
            found[skeleton.index(name)] = skeleton.index(each.driver)
        return found

    def frame(self, number: int) -> Pose:
        """Return the pose of one frame."""
        pose = self.clip.pose
        return Pose(pose.rotations[number], pose.positions[number])


def scene_of(
    model: LimitModel,
    clip: Clip | None = None,
    figure: Figure | None = None,
    names: Mapping[str, str] | None = None,
) -> Scene:
    """Return the scene of a clip with limits, which are matched by name; see `skeleton.match`.

    Without a clip, a figure runs each of its controls through its range, and a skeleton stands
    still.
    """
    notes = []
    if clip is None:
        clip = _clip_of(model.skeleton, figure)
    if clip.frames == 0:
        notes.append("The clip has no frames: its skeleton is shown at rest.")
        clip = replace(clip, pose=_rest_frame(clip.skeleton))
    found = model.match(clip.skeleton, names)
    kept = model.for_skeleton(clip.skeleton, names, clip=clip.name)
    if kept.groups:
        together = [name for group in kept.groups for name in group.joints]
        notes.append(
            f"What {list_names(together, 4)} may do together with other joints is checked, but not "
            "drawn: the page draws limits of single joints."
        )
    ours = {clip.skeleton.names[joint]: name for name, joint in found.joints.items()}
    theirs = {name: ours[name] for name in kept.names}
    if not model.limits and not model.groups:
        notes.append(
            "There are no limits here, so nothing is checked: --limits FILE gives some, and Edit "
            "draws them, joint by joint."
        )
    elif not kept.names:
        notes.append(
            f"No joint of this clip has a limit. It has {list_names(clip.skeleton.names, 4)}; the "
            f"limits are for {list_names(model.names, 4)}. --map, or names= in Python, says "
            "which is which; Files, Human limits has some for the rig of a human."
        )
    else:
        notes += [f"{clip.name or 'The clip'}: {each}." for each in found.warnings()]
    if figure is not None and figure.skeleton.names != clip.skeleton.names:
        notes.append("The clip has another skeleton than the figure, so controls are left out.")
        figure = None
    same = {**_other_names(model.skeleton, clip.skeleton, names, theirs), **theirs}
    return Scene(clip, kept, figure, tuple(notes), source=model, names=same)


def _other_names(
    source: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None,
    known: Mapping[str, str],
) -> dict[str, str]:
    """Return the source's names, by the clip's, of joints besides those that are known."""
    found = match(source.names, source, skeleton, names).joints
    ours = {skeleton.names[joint]: name for name, joint in found.items()}
    taken = set(known.values())
    return {
        name: theirs for name, theirs in ours.items() if name not in known and theirs not in taken
    }


def _clip_of(skeleton: Skeleton, figure: Figure | None) -> Clip:
    if figure is not None and figure.controls:
        clip = clip_of(figure, figure.pose(sweep(figure, FRAMES_A_CONTROL)))
        return replace(clip, name=f"{figure.name}: every control through its range")
    return Clip(skeleton, _rest_frame(skeleton), 1.0 / 30.0, "rest")


def _rest_frame(skeleton: Skeleton) -> Pose:
    rest = skeleton.rest_pose()
    return Pose(np.array(rest.rotations[None]), np.array(rest.positions[None]))


# What was edited at the page, as the limits were given: by their own names, on their skeleton.


EDITED_KEY = "edited"
"""The key, among provenance, of the joints whose limits were edited at a page."""


def edited_source(scene: Scene, opened: LimitModel) -> LimitModel:
    """Return the limits that a scene was made of, with those changed since it was `opened`.

    Skeleton, samples, provenance and joints that the clip does not have stay as they are;
    provenance gets the names of the edited joints. Where nothing was changed, it is the source.
    """
    source, present = _source(scene), scene.model
    limits, dependents, touched = dict(source.limits), dict(source.dependents), set()
    for name in dict.fromkeys([*opened.limits, *present.limits]):
        before, limit = opened.limits.get(name), present.limits.get(name)
        each = present.dependents.get(name)
        if limit is before and each is opened.dependents.get(name):
            continue
        theirs = _source_name(scene, name)
        touched.add(theirs)
        dependents.pop(theirs, None)
        if limit is None:
            del limits[theirs]
            continue
        if limit is not before:
            limits[theirs] = _restore_ancestor(scene, name, limit, before)
        if each is not None:
            driver = _source_name(scene, each.driver)
            dependents[theirs] = replace(each, limit=limits[theirs], driver=driver)
    if not touched:
        return source
    return replace(source.with_limits(limits, dependents), provenance=_provenance(source, touched))


def _source(scene: Scene) -> LimitModel:
    return scene.model if scene.source is None else scene.source


def _source_name(scene: Scene, name: str) -> str:
    """Return the source's name for a joint of the clip."""
    given = name if scene.source is None else scene.names.get(name)
    if given is None:
        raise ValueError(
            f"the limit of {name} cannot be saved: the skeleton of the limits has no such joint; "
            f"undo it, or map the joint to one of theirs with --map {name}=JOINT"
        )
    return given


def _restore_ancestor(scene: Scene, name: str, limit: Limit, before: Limit | None) -> Limit:
    """Return a limit measured from the joint that the source has for the one it is seen from."""
    was = _source(scene).limits.get(_source_name(scene, name))
    if before is not None and was is not None and limit.relative_to == before.relative_to:
        above = was.relative_to
    else:
        above = None if limit.relative_to is None else _source_name(scene, limit.relative_to)
    return limit if limit.relative_to == above else replace(limit, relative_to=above)


def _provenance(source: LimitModel, touched: set[str]) -> dict[str, Any]:
    """Return the provenance with the joints that were edited, now and before, as they stand."""
    before = source.provenance.get(EDITED_KEY)
    known = {name for name in before if isinstance(name, str)} if isinstance(before, list) else ()
    edited = [name for name in source.skeleton.names if name in touched or name in known]
    return {**source.provenance, EDITED_KEY: edited}


def restored_model(scene: Scene, opened: LimitModel, found: LimitModel) -> LimitModel:
    """Return the limits of a scene with those that are noted as edited in a model of its source."""
    edited = found.provenance.get(EDITED_KEY)
    touched = set(edited) if isinstance(edited, list) else set(found.limits)
    given = scene.clip.skeleton.names if scene.source is None else scene.names
    theirs = {name: _source_name(scene, name) for name in given}
    ours = {source: name for name, source in theirs.items()}
    limits, dependents = dict(opened.limits), dict(opened.dependents)
    for name, source in theirs.items():
        if source not in touched:
            continue
        dependents.pop(name, None)
        limit, each = found.limits.get(source), found.dependents.get(source)
        if limit is None:
            limits.pop(name, None)
            continue
        was, before = _source(scene).limits.get(source), opened.limits.get(name)
        if was is not None and before is not None and limit.relative_to == was.relative_to:
            above = before.relative_to
        else:
            above = None if limit.relative_to is None else ours.get(limit.relative_to)
        limits[name] = replace(limit, relative_to=above)
        if each is not None and each.driver in ours:
            dependents[name] = replace(each, limit=limits[name], driver=ours[each.driver])
    constraints = couple(limits, dependents, opened.limbs)
    return LimitModel(constraints, opened.skeleton, usual=opened.usual)


Limits = Mapping[str, Limit]
IDLE_SECONDS = 0.1
"""Seconds without a change after which nobody drags."""


def limit_to_edit(limits: Limits, name: str) -> Limit:
    """Return the limit of a joint, which must have one."""
    if name not in limits:
        raise ValueError(f"{name} has no limit to edit")
    return limits[name]


def with_limits(model: LimitModel, limits: Limits) -> LimitModel:
    """Return a model with other limits, which depend on the same joints as before.

    ValueError where one is of a family that cannot.
    """
    dependents = {}
    for name, each in model.dependents.items():
        if name not in limits:
            continue
        try:
            same = each.limit is limits[name]
            dependents[name] = each if same else replace(each, limit=limits[name])
        except ValueError as error:
            raise ValueError(
                f"{name} depends on {each.driver}, which a limit like this cannot: {error}. Remove "
                "the dependence first"
            ) from error
    return model.with_limits(limits, dependents)


def _version(
    model: LimitModel, label: str = "", stroke: str | None = None, given: Given | None = None
) -> Version:
    return Version(model.limits, label, stroke, given, model.dependents)


def _same_limits(one: LimitModel, other: LimitModel) -> bool:
    return one.limits == other.limits and one.dependents == other.dependents


class Session:
    """A scene, the history of its limits, and where they are saved.

    Pages edit it from threads of their own.
    """

    def __init__(self, scene: Scene, save_to: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._changes = self._scenes = self._givens = 0
        self._changed_at = -IDLE_SECONDS
        self._written: set[Path] = set()
        self._known: dict[Path, str | None] = {}
        self._file = None if save_to is None else _without_link(save_to)
        self._recovery = Recovery(self._file)
        self._leftover: Path | None = None
        if self._file is not None:
            self._known[self._file] = fingerprint(self._file)
            self._leftover = find_recovery(self._file)
        self.clip_suffix = ".bvh"
        """That of the file which the clip comes from."""
        self.folder: object = None
        """Clips to choose between: of the folder that the command line names, and dropped ones."""
        self.uploads = Uploads()
        self.skeleton_file = b""
        """The last ASF file that was dropped, for AMC files that follow."""
        self.compared: tuple[str, LimitModel] | None = None
        """Other limits to compare with, and what their file is called."""
        self.repaired: tuple[Clip, Clip] | None = None
        """The clip that was repaired last, before and after."""
        self.fitting: object = None
        """The last fit that was begun."""
        self.notify: Callable[[], None] = lambda: None
        """Tells pages of what they did not do themselves."""
        self._set_scene(scene, unsaved=False)

    def _set_scene(self, scene: Scene, *, unsaved: bool) -> None:
        self._scene = scene
        given = self._given(scene)
        self._history = History(_version(given.model, given=given))
        self._first = self._opened = self._saved = given.model
        self._carried = unsaved

    def _given(self, scene: Scene) -> Given:
        """Return the limits of a scene that nobody has edited yet."""
        self._givens += 1
        return Given(scene.source, scene.names, scene.model, self._givens)

    @property
    def scene(self) -> Scene:
        """The scene with its present limits."""
        return self._scene

    @property
    def file(self) -> Path | None:
        """Where the limits are saved; without it they can only be downloaded."""
        return self._file

    @property
    def unsaved(self) -> bool:
        """Whether the limits are others than those that were given, or saved last."""
        return self._carried or not _same_limits(self._scene.model, self._saved)

    @property
    def changes(self) -> int:
        """How often there was something new for all pages: an edit, a step back, a save."""
        return self._changes

    @property
    def model(self) -> LimitModel:
        """The limits as they were given, by their own names, with what was edited since."""
        return edited_source(self._scene, self._opened)

    @property
    def first(self) -> LimitModel:
        """The limits of the clip's joints when the scene was opened."""
        return self._first

    @property
    def saved(self) -> LimitModel:
        """The limits of the clip's joints when they were saved last, or else opened."""
        return self._saved

    def edit(self, edited: Callable[[Limits], Limits], label: str, stroke: str | None) -> None:
        """Let a pure function make new limits of the present ones; if it raises, nothing changed.

        Edits of one `stroke`, such as a drag, are undone together.
        """
        self.edit_model(lambda model: with_limits(model, edited(model.limits)), label, stroke)

    def edit_model(
        self, edited: Callable[[LimitModel], LimitModel], label: str, stroke: str | None
    ) -> None:
        """Do the same with a function of the limits and of what they depend on."""
        with self._lock:
            model = edited(self._scene.model)
            version = _version(model, label, stroke, self._history.present.given)
            self._set_history(self._history.push(version))

    def adopt(self, model: LimitModel, label: str) -> tuple[str, ...]:
        """Put other limits in the place of the present ones, as one step that can be undone.

        Their samples and where they come from go with them. Return what is to be said of how they
        suit the clip; ValueError where they have no limit for any of its joints.
        """
        with self._lock:
            scene = scene_of(model, self._scene.clip, self._scene.figure)
            if not scene.model.limits:
                raise ValueError(" ".join(scene.notes))
            given = self._given(scene)
            version = _version(given.model, label, given=given)
            self._set_history(self._history.push(version))
            return scene.notes

    def undo(self) -> str:
        """Go back one step, and return what it was."""
        with self._lock:
            label = self._history.present.label
            self._set_history(self._history.undo())
            return label

    def redo(self) -> str:
        """Go on one step that was undone, and return what it is."""
        with self._lock:
            self._set_history(self._history.redo())
            return self._history.present.label

    def save(self, write: Callable[[LimitModel, Path], None], path: Path) -> None:
        """Let `write` save the limits at a path, which is where they are saved from now on.

        If it raises, they stay unsaved.
        """
        with self._lock:
            write(self.model, path)
            self._file, self._saved = path, self._scene.model
            self._carried = False
            self._written.add(path)
            self._known[path] = fingerprint(path)
            self._recovery.remove()
            self._recovery = Recovery(path)
            self._changes += 1

    def in_the_way(self, path: Path, *, overwrite: bool) -> Literal["there", "changed"] | None:
        """Return why a file is not replaced unasked; None where it may be.

        It is `there`, and not because it was saved here; or somebody else `changed` it since it was
        last read, written or asked about here. With `overwrite` only the latter counts.
        """
        present = fingerprint(path)
        if present is None:
            return None
        known = self._known.setdefault(path, present)
        if known is not None and known != present:
            self._known[path] = present
            return "changed"
        self._known[path] = present
        return None if overwrite or path in self._written else "there"

    # Another clip, or other limits, in the place of those that were given.

    def show(self, scene: Scene, *, unsaved: bool) -> None:
        """Show another scene; what was edited before can no longer be undone.

        Where other limits are `unsaved`, no file is theirs yet: what is there is replaced only
        after a question.
        """
        with self._lock:
            self._set_scene(scene, unsaved=unsaved)
            self._written.clear()
            self._mark_new_scene()

    def show_clip(self, clip: Clip) -> None:
        """Show another clip within the limits as they are now.

        Where its skeleton is the same, what was edited can still be undone.
        """
        with self._lock:
            scene = self._scene
            if not same_tree(clip.skeleton, scene.clip.skeleton):
                unsaved, model = self.unsaved, self.model
                self._set_scene(scene_of(model, clip), unsaved=unsaved)
            else:
                model = replace(scene.model, skeleton=clip.skeleton)
                self._scene = replace(scene, clip=clip, model=model, notes=(), start=None)
            self._mark_new_scene()

    def _mark_new_scene(self) -> None:
        self._scenes += 1
        self._changes += 1
        self._changed_at = time.monotonic()

    # What is not saved yet is kept beside the limits.

    def keep_unsaved(self) -> None:
        """Keep what is not saved beside the limits file; OSError or ValueError where it cannot."""
        with self._lock:
            if self.unsaved:
                self._recovery.write(self.model)
            else:
                self._recovery.remove()

    @property
    def kept(self) -> Path | None:
        """The file in which unsaved edits are kept."""
        return self._recovery.path

    @property
    def leftover(self) -> Path | None:
        """The file with edits that were not saved when this was last shown, until it is decided."""
        return self._leftover

    def restore(self, leftover: Path) -> None:
        """Bring back edits that were not saved when this was last shown."""
        found = load_limits(leftover)
        with self._lock:
            source = _source(self._scene)
            edited = EDITED_KEY in found.provenance  # or they are others altogether
            if edited and found.skeleton.names == source.skeleton.names:
                model = restored_model(self._scene, self._opened, found)
                given = self._history.present.given
                version = _version(model, "edits of last time", given=given)
                self._set_history(self._history.push(version))
            else:
                clip, figure = self._scene.clip, self._scene.figure
                self._set_scene(scene_of(found, clip, figure), unsaved=True)
            self._mark_new_scene()
            self._leftover = None
            self._recovery.is_ours = True
        self.keep_unsaved()

    def forget(self, leftover: Path) -> None:
        """Remove edits that were not saved when this was last shown."""
        with self._lock:
            discard(leftover)
            self._leftover = None
            self._changes += 1

    def wait_until_idle(self) -> None:
        """Return when the limits have not changed for a moment."""
        while (left := self._changed_at + IDLE_SECONDS - time.monotonic()) > 0.0:
            time.sleep(left)

    def state(self) -> State:
        """Return what pages show of it: limited joints, what can be undone, where it is saved."""
        history = self._history
        return {
            "limited": self._scene.limited,
            "grouped": self._scene.grouped,
            "measuredFrom": self._scene.measured_from,
            "drivers": self._scene.drivers,
            "undo": history.present.label if history.past else None,
            "redo": history.future[0].label if history.future else None,
            "file": None if self._file is None else str(self._file),
            "unsaved": self.unsaved,
            "twoVerdicts": self._scene.model.usual is not None,
            "scene": self._scenes,
            "evidence": 0 if history.present.given is None else history.present.given.number,
            "leftover": _describe_leftover(self._leftover),
        }

    def _set_history(self, history: History) -> None:
        skeleton, given = self._scene.clip.skeleton, history.present.given
        if given is not None:
            self._scene = replace(self._scene, source=given.source, names=given.names)
            self._opened = given.model
        present = history.present
        single = couple(present.limits, present.dependents, self._opened.limbs)
        groups, usual = self._scene.model.groups, self._opened.usual
        model = LimitModel((*single, *groups), skeleton, usual=usual)
        self._scene = replace(self._scene, model=model)
        self._history = history
        self._changes += 1
        self._changed_at = time.monotonic()


def fingerprint(path: Path) -> str | None:
    """Return what tells one content of a file from another; None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _without_link(path: Path) -> Path:
    """Return where a link leads that the command line names: later ones are not followed."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _describe_leftover(path: Path | None) -> Leftover | None:
    if path is None:
        return None
    written = 0.0
    with contextlib.suppress(OSError):
        written = path.stat().st_mtime
    return {"name": path.name, "written": written}


def same_tree(one: Skeleton, other: Skeleton) -> bool:
    """Tell whether two skeletons have the same joints on the same parents."""
    return one.names == other.names and one.parents.tolist() == other.parents.tolist()
