"""Session: what all pages of a server share, a scene whose limits are edited, with history."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from ..components import Figure, clip_of, sweep
from ..io import load_limits
from ..limit import DependentLimit, Limit
from ..model import LimitModel
from ..skeleton import Clip, Pose, Skeleton, list_names, match
from .messages import Leftover, State
from .recovery import Recovery, discard, find_recovery
from .uploads import Uploads

if TYPE_CHECKING:
    from .fitting import FitJob
    from .folder import Folder

MAX_VERSIONS = 200  # steps that can be undone; older ones are forgotten
FRAMES_PER_CONTROL = 60  # of a figure without a clip, which runs each control through its range
IDLE_SECONDS = 0.1  # without a change, after which no drag is in progress
EDITED_KEY = "edited"
"""The key in the provenance for the joints whose limits were edited at a page."""

Limits = Mapping[str, Limit]


@dataclass(frozen=True, kw_only=True)
class Start:
    """The pose and the picked joint that the page opens with if there is no clip."""

    values: dict[str, float]
    """Of the figure's controls; others are neutral."""
    joint: str


RAISED_ARM = Start(
    values={
        "left_shoulder.abduction": 122.0,
        "left_elbow.flexion": 22.0,
        "right_shoulder.flexion": 12.0,
        "right_elbow.flexion": 26.0,
        "left_hip.abduction": 6.0,
        "right_hip.abduction": 6.0,
        "cervical.twist": 18.0,
    },
    joint="LeftUpperArm",
)
"""The default human with one arm raised, so that its scapula and its cone are seen; in degrees."""


def start_of(figure: Figure | None) -> Start | None:
    """Return the start of a figure; None if it does not have the controls of the human."""
    if figure is None or not RAISED_ARM.values.keys() <= figure.controls.keys():
        return None
    return RAISED_ARM if RAISED_ARM.joint in figure.skeleton.names else None


@dataclass(frozen=True, eq=False)
class Scene:
    """A clip, and limits by the names that its own skeleton has for the joints."""

    clip: Clip
    model: LimitModel
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    """Sentences on what is the matter, for the person at the page."""
    source: LimitModel | None = None
    """The limits as they were given, by their own names for the joints; None for `model`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The source's names for joints that it has, by the clip's."""
    start: Start | None = None
    """The pose to open with, where that is none of the clip's."""
    given: LimitModel | None = None
    """The limits by the clip's names before any edit; None for `model`."""
    evidence: int = 0
    """Number of the given limits in a session."""

    @property
    def limited(self) -> list[int]:
        """The indices of the joints that have limits, in the order of the model."""
        return [self.clip.skeleton.index(name) for name in self.model.names]

    def frame(self, number: int) -> Pose:
        """Return the pose of one frame."""
        pose = self.clip.pose
        return Pose(pose.rotations[number], pose.positions[number])

    def with_clip(self, clip: Clip) -> Scene:
        """Return the scene with another clip of the same joints."""
        if clip is self.clip:
            return self
        model = replace(self.model, skeleton=clip.skeleton)
        return replace(self, clip=clip, model=model, notes=(), start=None)


@dataclass(frozen=True, eq=False)
class Version:
    """A scene, the edit that led to it, and the stroke of the mouse or keyboard."""

    scene: Scene
    label: str = ""
    stroke: str | None = None


@dataclass(frozen=True, eq=False)
class History:
    """The present version, those before it, oldest first, and those undone, the next one first."""

    present: Version
    past: tuple[Version, ...] = ()
    future: tuple[Version, ...] = ()

    def push(self, version: Version) -> Self:
        """Return the history with a new version; one of the same stroke replaces the last.

        The stroke has the label of its first edit.
        """
        if version.stroke is not None and version.stroke == self.present.stroke:
            same = replace(version, label=self.present.label)
            return replace(self, present=same, future=())
        return replace(
            self, present=version, past=(*self.past, self.present)[-MAX_VERSIONS:], future=()
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
    matched = model.match(clip.skeleton, names)
    kept = model.for_skeleton(clip.skeleton, names, clip=clip.name)
    if kept.groups:
        together = [name for group in kept.groups for name in group.joints]
        notes.append(
            f"What {list_names(together, 4)} may do together with other joints is checked, but not "
            "drawn: the page draws limits of single joints."
        )
    ours = {clip.skeleton.names[joint]: name for name, joint in matched.joints.items()}
    limited = {name: ours[name] for name in kept.names}
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
        notes += [f"{clip.name or 'The clip'}: {warning}." for warning in matched.warnings()]
    if figure is not None and figure.skeleton.names != clip.skeleton.names:
        notes.append("The clip has another skeleton than the figure, so controls are left out.")
        figure = None
    others = match(model.skeleton.names, model.skeleton, clip.skeleton, names).joints
    known = {
        clip.skeleton.names[joint]: name
        for name, joint in others.items()
        if name not in limited.values()
    }
    return Scene(clip, kept, figure, tuple(notes), source=model, names={**known, **limited})


def _clip_of(skeleton: Skeleton, figure: Figure | None) -> Clip:
    if figure is not None and figure.controls:
        clip = clip_of(figure, figure.pose(sweep(figure, FRAMES_PER_CONTROL)))
        return replace(clip, name=f"{figure.name}: every control through its range")
    return Clip(skeleton, _rest_frame(skeleton), 1.0 / 30.0, "rest")


def _rest_frame(skeleton: Skeleton) -> Pose:
    rest = skeleton.rest_pose()
    return Pose(np.array(rest.rotations[None]), np.array(rest.positions[None]))


# Edits at the page are by the clip's names for joints; the limits as they were given have others.


def edited_source(scene: Scene) -> LimitModel:
    """Return the limits that a scene was made of, with those that were edited.

    Skeleton, samples, provenance and joints that the clip does not have stay as they are;
    provenance gets the names of the edited joints. Where nothing was changed, it is the source.
    """
    source, present, given = scene.source or scene.model, scene.model, scene.given or scene.model
    edited = [
        name
        for name in dict.fromkeys([*given.limits, *present.limits])
        if present.limits.get(name) is not given.limits.get(name)
        or present.dependents.get(name) is not given.dependents.get(name)
    ]
    if not edited:
        return source
    names = _source_names(scene)
    changed = _carry_edits(present, given, source, names, edited)
    before = source.provenance.get(EDITED_KEY)
    known = set(before) if isinstance(before, list) else set()
    known |= {_look_up(names, name) for name in edited}
    listed = [name for name in source.skeleton.names if name in known]
    return replace(changed, provenance={**source.provenance, EDITED_KEY: listed})


def restored_scene(scene: Scene, found: LimitModel) -> Scene:
    """Return a scene with the edits that are noted in another version of its source."""
    source, given = scene.source or scene.model, scene.given or scene.model
    edited = found.provenance.get(EDITED_KEY)
    ours = {theirs: name for name, theirs in _source_names(scene).items()}
    touched = [name for name in ours if name in (edited if isinstance(edited, list) else [])]
    return replace(scene, model=_carry_edits(found, source, given, ours, touched))


def _source_names(scene: Scene) -> dict[str, str]:
    """Return the source's names of joints, by the clip's."""
    if scene.source is None:
        return {name: name for name in scene.clip.skeleton.names}
    return dict(scene.names)


def _look_up(names: Mapping[str, str], name: str) -> str:
    if name not in names:
        raise ValueError(
            f"the limit of {name} cannot be saved: the skeleton of the limits has no such joint; "
            f"undo it, or map the joint to one of theirs with --map {name}=JOINT"
        )
    return names[name]


def _carry_edits(
    edited: LimitModel,
    before: LimitModel,
    target: LimitModel,
    names: Mapping[str, str],
    joints: Iterable[str],
) -> LimitModel:
    """Return `target` with the edits of some joints, which it has by other `names`.

    `before` is the model that was edited. A limit that is still measured from the same joint is
    measured in `target` as before; otherwise from the joint of that name.
    """
    limits, dependents = dict(target.limits), dict(target.dependents)
    for name in joints:
        theirs, limit = _look_up(names, name), edited.limits.get(name)
        dependents.pop(theirs, None)
        if limit is None:
            limits.pop(theirs, None)
            continue
        was, there = before.limits.get(name), target.limits.get(theirs)
        if limit is not was:
            above = limit.relative_to
            if was is not None and there is not None and above == was.relative_to:
                above = there.relative_to
            elif above is not None:
                above = _look_up(names, above)
            limits[theirs] = replace(limit, relative_to=above)
        dependent = edited.dependents.get(name)
        if dependent is not None:
            driver = _look_up(names, dependent.driver)
            dependents[theirs] = replace(dependent, limit=limits[theirs], driver=driver)
    return target.with_limits(limits, dependents)


def limit_to_edit(limits: Limits, name: str) -> Limit:
    """Return the limit of a joint, which must have one."""
    if name not in limits:
        raise ValueError(f"{name} has no limit to edit")
    return limits[name]


def with_limits(model: LimitModel, limits: Limits) -> LimitModel:
    """Return a model with other limits, which depend on the same joints as before.

    ValueError where one is of a family that cannot.
    """
    dependents: dict[str, DependentLimit] = {}
    for name, dependent in model.dependents.items():
        if name not in limits:
            continue
        try:
            same = dependent.limit is limits[name]
            dependents[name] = dependent if same else replace(dependent, limit=limits[name])
        except ValueError as error:
            raise ValueError(
                f"{name} depends on {dependent.driver}, which a limit like this cannot: {error}. "
                "Remove the dependence first"
            ) from error
    return model.with_limits(limits, dependents)


class Session:
    """A scene, the history of its limits, and where they are saved.

    Pages edit it from threads of their own.
    """

    def __init__(self, scene: Scene, save_to: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._changes = self._scenes = self._evidence = 0
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
        """Suffix of the file that the clip comes from."""
        self.folder: Folder | None = None
        """Clips to choose between: of the folder that the command line names, and dropped ones."""
        self.uploads = Uploads()
        self.skeleton_file = b""
        """The last ASF file that was dropped, for AMC files that follow."""
        self.compared: tuple[str, LimitModel] | None = None
        """Other limits to compare with, and the name of their file."""
        self.repaired: tuple[Clip, Clip] | None = None
        """The clip that was repaired last, before and after."""
        self.fitting: FitJob | None = None
        """The last fit that was begun."""
        self.notify: Callable[[], None] = lambda: None
        """Tells pages of changes that they did not make themselves."""
        self._set_scene(scene, unsaved=False)

    def _set_scene(self, scene: Scene, *, unsaved: bool) -> None:
        scene = self._as_given(scene)
        self._history = History(Version(scene))
        self._first = self._saved = scene.model
        self._carried = unsaved

    def _as_given(self, scene: Scene) -> Scene:
        """Return a scene whose limits nobody has edited yet."""
        self._evidence += 1
        return replace(scene, given=scene.model, evidence=self._evidence)

    @property
    def scene(self) -> Scene:
        """The scene with its present limits."""
        return self._history.present.scene

    @property
    def file(self) -> Path | None:
        """Where the limits are saved; without it they can only be downloaded."""
        return self._file

    @property
    def unsaved(self) -> bool:
        """True if the limits differ from those that were given, or saved last."""
        model, saved = self.scene.model, self._saved
        same = model.limits == saved.limits and model.dependents == saved.dependents
        return self._carried or not same

    @property
    def changes(self) -> int:
        """Number of changes that concern all pages: edits, steps back, saves."""
        return self._changes

    @property
    def model(self) -> LimitModel:
        """The limits as they were given, by their own names, with the edits."""
        return edited_source(self.scene)

    @property
    def first(self) -> LimitModel:
        """The limits of the clip's joints when the scene was opened."""
        return self._first

    @property
    def saved(self) -> LimitModel:
        """The limits of the clip's joints when they were saved last, or else opened."""
        return self._saved

    def edit(
        self, edited: Callable[[LimitModel], LimitModel], label: str, stroke: str | None
    ) -> None:
        """Replace the limits by a pure function of them; if it raises, nothing has changed.

        Edits of one `stroke`, such as a drag, are undone together.
        """
        with self._lock:
            scene = replace(self.scene, model=edited(self.scene.model))
            self._set_history(self._history.push(Version(scene, label, stroke)))

    def adopt(self, model: LimitModel, label: str) -> tuple[str, ...]:
        """Replace the limits by others with their samples, as one step that can be undone.

        Return notes on how they suit the clip; ValueError where they have no limit for any of its
        joints.
        """
        with self._lock:
            scene = scene_of(model, self.scene.clip, self.scene.figure)
            if not scene.model.limits:
                raise ValueError(" ".join(scene.notes))
            self._set_history(self._history.push(Version(self._as_given(scene), label)))
            return scene.notes

    def undo(self) -> str:
        """Go back one step, and return its label."""
        with self._lock:
            label = self._history.present.label
            self._set_history(self._history.undo())
            return label

    def redo(self) -> str:
        """Go on one step that was undone, and return its label."""
        with self._lock:
            self._set_history(self._history.redo())
            return self._history.present.label

    def _set_history(self, history: History) -> None:
        """Show the present version of a history, on the clip that is shown."""
        present = history.present
        scene = present.scene.with_clip(self.scene.clip)
        self._history = replace(history, present=replace(present, scene=scene))
        self._mark_change()

    def _mark_change(self) -> None:
        self._changes += 1
        self._changed_at = time.monotonic()

    def save(self, write: Callable[[LimitModel, Path], None], path: Path) -> None:
        """Let `write` save the limits at a path, which is where they are saved from now on.

        If it raises, they stay unsaved.
        """
        with self._lock:
            write(self.model, path)
            self._file, self._saved = path, self.scene.model
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
        self._known[path] = present
        if known is not None and known != present:
            return "changed"
        return None if overwrite or path in self._written else "there"

    def show(self, scene: Scene, *, unsaved: bool) -> None:
        """Show another scene; what was edited before can no longer be undone.

        Where other limits are `unsaved`, no file is theirs yet: what is there is replaced only
        after a question.
        """
        with self._lock:
            self._set_scene(scene, unsaved=unsaved)
            self._written.clear()
            self._scenes += 1
            self._mark_change()

    def show_clip(self, clip: Clip) -> None:
        """Show another clip within the limits as they are now.

        Where its skeleton is the same, what was edited can still be undone.
        """
        with self._lock:
            if same_tree(clip.skeleton, self.scene.clip.skeleton):
                scene = self.scene.with_clip(clip)
                present = replace(self._history.present, scene=scene)
                self._history = replace(self._history, present=present)
            else:
                unsaved, model = self.unsaved, self.model
                self._set_scene(scene_of(model, clip), unsaved=unsaved)
            self._scenes += 1
            self._mark_change()

    # Edits that are not saved yet are kept beside the limits.

    def keep_unsaved(self) -> None:
        """Keep unsaved edits beside the limits file; OSError or ValueError where it cannot."""
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
            scene = self.scene
            source = scene.source or scene.model
            if EDITED_KEY in found.provenance and found.skeleton.names == source.skeleton.names:
                version = Version(restored_scene(scene, found), "unsaved edits of the last session")
                self._set_history(self._history.push(version))
            else:  # they are other limits altogether
                self._set_scene(scene_of(found, scene.clip, scene.figure), unsaved=True)
            self._scenes += 1
            self._mark_change()
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
        history, scene = self._history, self.scene
        skeleton, model = scene.clip.skeleton, scene.model
        measured_from = skeleton.parents.tolist()
        for name, ancestor in model.ancestors.items():
            measured_from[skeleton.index(name)] = skeleton.index(ancestor)
        drivers = [-1] * len(skeleton)
        for name, dependent in model.dependents.items():
            drivers[skeleton.index(name)] = skeleton.index(dependent.driver)
        return State(
            limited=scene.limited,
            grouped=[skeleton.index(name) for group in model.groups for name in group.joints],
            measured_from=measured_from,
            drivers=drivers,
            undo=history.present.label if history.past else None,
            redo=history.future[0].label if history.future else None,
            file=None if self._file is None else str(self._file),
            unsaved=self.unsaved,
            two_verdicts=model.usual is not None,
            scene=self._scenes,
            evidence=scene.evidence,
            leftover=_describe_leftover(self._leftover),
        )


def fingerprint(path: Path) -> str | None:
    """Return a hash of a file's content; None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _without_link(path: Path) -> Path:
    """Return the target of a link that the command line names: later ones are not followed."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _describe_leftover(path: Path | None) -> Leftover | None:
    if path is None:
        return None
    written = 0.0
    with contextlib.suppress(OSError):
        written = path.stat().st_mtime
    return Leftover(name=path.name, written=written)


def same_tree(one: Skeleton, other: Skeleton) -> bool:
    """Return True if two skeletons have the same joints on the same parents."""
    return one.names == other.names and one.parents.tolist() == other.parents.tolist()
