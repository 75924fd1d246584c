"""Long clips as consecutive short ones, so that memory does not grow with them."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Floats, Quats, whole_number
from ..skeleton import Clip, Pose, Skeleton

if TYPE_CHECKING:
    from ..model import ClampReport, LimitModel

FRAMES = 4096
"""Frames of a chunk, unless somebody asks for others."""
SHORT = 2**24
"""A file of at most so many bytes is read once, whole, and chunks are cut from that."""


@dataclass(frozen=True, eq=False)
class Chunks:
    """A clip as consecutive shorter ones, made anew each time that they are gone through.

    There is at least one; `Clip.start` is the number of its first frame. All have one skeleton.
    """

    skeleton: Skeleton
    frames: int
    """Of all of them together."""
    frame_time: float
    name: str
    read: Callable[[], Iterator[Clip]] = field(repr=False)

    @classmethod
    def of(cls, clip: Clip, frames: int = FRAMES) -> Self:
        """Return a clip that is in memory, in chunks of at most `frames` frames."""
        return cls(
            clip.skeleton, clip.frames, clip.frame_time, clip.name, lambda: _parts(clip, frames)
        )

    def __iter__(self) -> Iterator[Clip]:
        return self.read()

    def change(self, each: Callable[[Clip], Clip]) -> Chunks:
        """Return what `each` makes of the chunks, when they are gone through."""
        return replace(self, read=lambda: map(each, self.read()))

    def rename(self, name: str) -> Chunks:
        """Return the chunks under another name."""
        return replace(self.change(lambda clip: replace(clip, name=name)), name=name)

    def clip(self) -> Clip:
        """Return the whole clip."""
        return join_clips(self)


def _parts(clip: Clip, frames: int) -> Iterator[Clip]:
    rotations, positions = clip.pose.rotations, clip.pose.positions
    for first in range(0, max(clip.frames, 1), frames):
        part = slice(first, first + frames)
        pose = Pose(rotations[part], positions[part])
        yield replace(clip, pose=pose, start=first)


def join_clips(clips: Iterable[Clip]) -> Clip:
    """Return the clip that consecutive ones of one skeleton make together."""
    parts = list(same_skeleton(clips))
    if len(parts) == 1:
        return parts[0]
    rotations = np.concatenate([part.pose.rotations for part in parts])
    positions = np.concatenate([part.pose.positions for part in parts])
    return replace(parts[0], pose=Pose(rotations, positions))


def same_skeleton(clips: Iterable[Clip]) -> Iterator[Clip]:
    """Yield the clips; ValueError where there is none, or one does not go with the first."""
    first: Clip | None = None
    for clip in clips:
        first = first or clip
        if clip.skeleton is not first.skeleton or clip.frame_time != first.frame_time:
            raise ValueError(
                f"chunks must have the skeleton and the frame time of the first, {first.name!r}, "
                f"got others in {clip.name!r} at frame {clip.start}"
            )
        yield clip
    if first is None:
        raise ValueError("expected at least one chunk of a clip, got none")


def check_chunk_frames(frames: int) -> int:
    """Return `frames`, how many a chunk has at most; ValueError unless it is at least 1."""
    return whole_number("frames", frames, 1)


def check_repeatable(clips: Iterable[Clip]) -> None:
    """Raise ValueError unless clips can be gone through twice, as those of an iterator cannot."""
    if iter(clips) is clips:
        raise ValueError(
            "chunks are gone through more than once: give a list, or what load_chunks returns, "
            f"got {clips!r:.60}"
        )


def regroup_rows(tables: Iterable[Floats], frames: int) -> Iterator[Floats]:
    """Yield the same rows in tables of `frames` each; the last may be shorter. At least one."""
    held: list[Floats] = []
    count = 0
    for table in tables:
        held.append(table)
        count += len(table)
        if count > frames:
            rows = np.concatenate(held)
            cut = (count - 1) // frames * frames
            yield from (rows[first : first + frames] for first in range(0, cut, frames))
            held, count = [rows[cut:]], count - cut
    yield np.concatenate(held)


def is_short(path: Path) -> bool:
    """Return whether a file is best read whole."""
    return os.stat(path).st_size <= SHORT


def path_state(path: Path) -> tuple[int, int, int]:
    """Return what tells one state of a file from another: its number, size and time."""
    about = os.stat(path)
    return about.st_ino, about.st_size, about.st_mtime_ns


class JointPaths:
    """The rotations of a long clip by joint, in a temporary file that vanishes with the object.

    `paths[joint]` are the rotations (frames, 4) of one joint; they can be set. One joint is in
    memory at a time, or one chunk.
    """

    def __init__(self, chunks: Chunks, folder: str | os.PathLike[str] | None = None) -> None:
        """Copy the rotations of `chunks` to `folder`, or to where temporary files usually are."""
        self._frames = chunks.frames
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        for clip in chunks:
            self._dtype = clip.pose.rotations.dtype
            for joint in range(len(clip.skeleton)):
                self._write(joint, clip.start, clip.pose.rotations[:, joint])

    def __getitem__(self, joint: int) -> Quats:
        return self._read(joint, 0, self._frames)

    def __setitem__(self, joint: int, path: Quats) -> None:
        self._write(joint, 0, path)

    def pose_rotations(self, clip: Clip) -> Quats:
        """Return the rotations (frames, J, 4) of all joints in the frames of a chunk."""
        joints = range(len(clip.skeleton))
        return np.stack([self._read(joint, clip.start, clip.frames) for joint in joints], axis=1)

    def _write(self, joint: int, first: int, rotations: Quats) -> None:
        self._seek(joint, first)
        self._file.write(np.ascontiguousarray(rotations).data)

    def _read(self, joint: int, first: int, count: int) -> Quats:
        self._seek(joint, first)
        content = self._file.read(count * 4 * self._dtype.itemsize)
        return np.frombuffer(content, self._dtype).reshape(count, 4)

    def _seek(self, joint: int, frame: int) -> None:
        self._file.seek((joint * self._frames + frame) * 4 * self._dtype.itemsize)


def project_chunks(
    model: LimitModel,
    chunks: Chunks,
    *,
    folder: str | os.PathLike[str] | None = None,
    notice: Callable[[Clip, Clip], object] = lambda before, after: None,
    report: Callable[[ClampReport], object] = lambda found: None,
    **options: Any,
) -> Chunks:
    """Return what `LimitModel.project` makes of a clip, bit for bit, in chunks.

    The path of a joint is clamped as a whole, one joint after the other. The rotations of all are
    in a temporary file meanwhile, of 32 bytes a joint and frame, in `folder` or where temporary
    files usually are. `options` are those of `LimitModel.project`; `notice` is given each chunk
    before and after, whenever they are gone through, and `report` is given what the clamping took.
    """
    paths = JointPaths(chunks, folder)
    report(
        model.project_paths(paths, chunks.skeleton, chunks.frame_time, clip=chunks.name, **options)
    )

    def project(before: Clip) -> Clip:
        rotations = paths.pose_rotations(before)
        after = replace(before, pose=before.pose.with_rotations(rotations))
        notice(before, after)
        return after

    return chunks.change(project)
