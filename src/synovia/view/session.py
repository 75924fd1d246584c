"""Session: what all pages of a server share, a scene whose limits are edited, with history."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from ..io import limits_bytes, load_limits
from ..io.files import atomic_write
from ..io.limits import SUFFIX
from ..model import LimitModel
from ..skeleton import Clip
from .messages import Leftover, State
from .scene import EDITED_KEY, Scene, edited_source, restored_scene, same_tree, scene_of

if TYPE_CHECKING:
    from .fitting import FitJob
    from .folder import Folder

MAX_VERSIONS = 200  # steps that can be undone; older ones are forgotten
IDLE_SECONDS = 0.1  # without a change, after which no drag is in progress
MAX_BYTES = 256 << 20  # of an upload: a clip of an hour is smaller
MAX_UPLOADS = 4  # in progress; for one more, the oldest is dropped


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
        present, past = version, (*self.past, self.present)
        if version.stroke is not None and version.stroke == self.present.stroke:
            present, past = replace(version, label=self.present.label), self.past
        return replace(self, present=present, past=past[-MAX_VERSIONS:], future=())

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
        past = (*self.past, self.present)
        return replace(self, present=following, past=past, future=tuple(future))


@dataclass
class Recovery:
    """The file with unsaved edits, beside the limits file; without that, nothing is kept."""

    limits_file: Path | None
    is_ours: bool = False
    """True if the recovery file holds edits of this session, which it may replace."""

    @property
    def path(self) -> Path | None:
        """Path of the recovery file, whether it exists or not."""
        file = self.limits_file
        return file and file.with_name(f"{file.name[: -len(SUFFIX)]}.unsaved{SUFFIX}")

    def write(self, model: LimitModel) -> None:
        """Keep limits; OSError or ValueError if that fails, as for a file of another session."""
        path = self.path
        if self.limits_file is None or path is None:
            return
        content = limits_bytes(model, self.limits_file.name)
        if not self.is_ours:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                raise FileExistsError(
                    f"{path} has edits of another session: restore or remove them first"
                ) from None
            self.is_ours = True
        atomic_write(path, content, follow=False)

    def remove(self) -> None:
        """Remove the file, if it is of this session."""
        if self.is_ours and self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.is_ours = False


@dataclass
class Upload:
    """A file that is being uploaded: its name, its size in bytes, and the bytes received."""

    name: str
    size: int
    content: bytearray = field(default_factory=bytearray)


class Session:
    """A scene, the history of its limits, and where they are saved.

    Pages edit it from threads of their own.
    """

    def __init__(self, scene: Scene, save_to: Path | None = None) -> None:
        self._lock = threading.Lock()
        self.changes = 0
        """Number of changes that concern all pages: edits, steps back, saves."""
        self._scenes = self._evidence = 0
        self._changed_at = -IDLE_SECONDS
        if save_to is not None and save_to.is_symlink():
            save_to = Path(os.path.realpath(save_to))  # later links are not followed
        self.file = save_to
        """Where the limits are saved; without it they can only be downloaded."""
        self._written: set[Path] = set()
        self._fingerprints = {} if save_to is None else {save_to: fingerprint(save_to)}
        self._recovery = Recovery(save_to)
        path = self._recovery.path
        is_left = path is not None and path.is_file() and not path.is_symlink()
        self.leftover = path if is_left else None
        """The file with edits that the last session did not save, until the user decides."""
        self.clip_suffix = ".bvh"
        """Suffix of the file that the clip comes from."""
        self.folder: Folder | None = None
        """Clips to choose between: of the folder that the command line names, and dropped ones."""
        self._uploads: dict[str, Upload] = {}
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
        self.first = self.saved = scene.model
        """The limits of the clip's joints when they were opened, and when they were saved last."""
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
    def unsaved(self) -> bool:
        """True if the limits differ from those that were given, or saved last."""
        model, saved = self.scene.model, self.saved
        same = model.limits == saved.limits and model.dependents == saved.dependents
        return self._carried or not same

    @property
    def model(self) -> LimitModel:
        """The limits as they were given, by their own names, with the edits."""
        return edited_source(self.scene)

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

    def _mark_change(self, *, new_scene: bool = False) -> None:
        self._scenes += new_scene
        self.changes += 1
        self._changed_at = time.monotonic()

    def wait_until_idle(self) -> None:
        """Return when the limits have not changed for a moment."""
        while (left := self._changed_at + IDLE_SECONDS - time.monotonic()) > 0.0:
            time.sleep(left)

    def show(self, scene: Scene, *, unsaved: bool) -> None:
        """Show another scene; what was edited before can no longer be undone.

        Where other limits are `unsaved`, no file is theirs yet: what is there is replaced only
        after a question.
        """
        with self._lock:
            self._set_scene(scene, unsaved=unsaved)
            self._written.clear()
            self._mark_change(new_scene=True)

    def show_clip(self, clip: Clip) -> None:
        """Show another clip within the limits as they are now.

        Where its skeleton is the same, what was edited can still be undone.
        """
        with self._lock:
            if same_tree(clip.skeleton, self.scene.clip.skeleton):
                present = replace(self._history.present, scene=self.scene.with_clip(clip))
                self._history = replace(self._history, present=present)
            else:
                self._set_scene(scene_of(self.model, clip), unsaved=self.unsaved)
            self._mark_change(new_scene=True)

    # Files: limits, unsaved edits beside them, and uploads.

    def save(self, write: Callable[[LimitModel, Path], None], path: Path) -> None:
        """Let `write` save the limits at a path, which is where they are saved from now on.

        If it raises, they stay unsaved.
        """
        with self._lock:
            write(self.model, path)
            self.file, self.saved = path, self.scene.model
            self._carried = False
            self._written.add(path)
            self._fingerprints[path] = fingerprint(path)
            self._recovery.remove()
            self._recovery = Recovery(path)
            self.changes += 1

    def in_the_way(self, path: Path, *, overwrite: bool) -> Literal["there", "changed"] | None:
        """Return why a file is not replaced unasked; None where it may be.

        It is `there`, and not because it was saved here; or somebody else `changed` it since it was
        last read, written or asked about here. With `overwrite` only the latter counts.
        """
        present = fingerprint(path)
        if present is None:
            return None
        before = self._fingerprints.get(path, present)
        self._fingerprints[path] = present
        if before not in (None, present):
            return "changed"
        return None if overwrite or path in self._written else "there"

    def keep_unsaved(self) -> None:
        """Keep unsaved edits beside the limits file; OSError or ValueError where it cannot."""
        with self._lock:
            if self.unsaved:
                self._recovery.write(self.model)
            else:
                self._recovery.remove()

    @property
    def kept(self) -> Path | None:
        """The file in which unsaved edits of this session are kept."""
        return self._recovery.path if self._recovery.is_ours else None

    def recover(self, *, restore: bool) -> None:
        """Restore the edits that the last session did not save, or delete them."""
        leftover = self.leftover
        if leftover is None:
            raise ValueError("there are no unsaved edits of the last session")
        if not restore:
            with self._lock:
                with contextlib.suppress(OSError):
                    leftover.unlink()
                self.leftover = None
                self.changes += 1
            return
        found = load_limits(leftover)
        with self._lock:
            scene = self.scene
            source = scene.source or scene.model
            if EDITED_KEY in found.provenance and found.skeleton.names == source.skeleton.names:
                version = Version(restored_scene(scene, found), "unsaved edits of the last session")
                self._set_history(self._history.push(version))
            else:  # they are other limits altogether
                self._set_scene(scene_of(found, scene.clip, scene.figure), unsaved=True)
            self._mark_change(new_scene=True)
            self.leftover = None
            self._recovery.is_ours = True
        self.keep_unsaved()

    def receive(self, key: str, name: str, size: int, part: bytes) -> int:
        """Append a part to the upload with an id that the page chose; return the bytes received."""
        if not 0 < size <= MAX_BYTES:
            raise ValueError(f"{name}: a file must have 1 to {MAX_BYTES >> 20} MiB, got {size} B")
        with self._lock:
            uploads = self._uploads
            if key not in uploads:
                while len(uploads) >= MAX_UPLOADS:
                    del uploads[next(iter(uploads))]
                uploads[key] = Upload(name, size)
            upload = uploads[key]
            if (upload.name, upload.size) != (name, size):
                raise ValueError(f"{name}: the upload id belongs to another file")
            if len(upload.content) + len(part) > size:
                del uploads[key]
                raise ValueError(f"{name}: expected {size} bytes, got more")
            upload.content += part
            return len(upload.content)

    def take_upload(self, key: str) -> Upload:
        """Return a complete upload and remove it."""
        with self._lock:
            upload = self._uploads.pop(key, None)
        if upload is None or len(upload.content) != upload.size:
            raise ValueError("the upload is not complete: send the file again")
        return upload

    def state(self) -> State:
        """Return what pages show of it: limited joints, what can be undone, where it is saved."""
        history, scene, leftover = self._history, self.scene, self.leftover
        skeleton, model = scene.clip.skeleton, scene.model
        measured_from = skeleton.parents.tolist()
        for name, ancestor in model.ancestors.items():
            measured_from[skeleton.index(name)] = skeleton.index(ancestor)
        drivers = [-1] * len(skeleton)
        for name, dependent in model.dependents.items():
            drivers[skeleton.index(name)] = skeleton.index(dependent.driver)
        written = 0.0
        if leftover is not None:
            with contextlib.suppress(OSError):
                written = leftover.stat().st_mtime
        return State(
            limited=scene.limited,
            grouped=[skeleton.index(name) for group in model.groups for name in group.joints],
            measured_from=measured_from,
            drivers=drivers,
            undo=history.present.label if history.past else None,
            redo=history.future[0].label if history.future else None,
            file=None if self.file is None else str(self.file),
            unsaved=self.unsaved,
            two_verdicts=model.usual is not None,
            scene=self._scenes,
            evidence=scene.evidence,
            leftover=None if leftover is None else Leftover(name=leftover.name, written=written),
        )


def fingerprint(path: Path) -> str | None:
    """Return a hash of a file's content; None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
