"""Summaries of clips: cells of the rotations of each joint, with the number of frames in each.

Pairs of a joint and the joint that it may depend on have cells of both together. Summaries merge
exactly: counts add up, and a cell is represented by its lowest clip and frame. The result does not
depend on the order, the split or the number of workers.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Points, Quats, Within
from ..io.files import atomic_write
from ..io.skeletons import MAX_FRAME_TIME, MIN_FRAME_TIME, StoredSkeleton
from ..learn import Take, flips, invented_first_frame
from ..learn.takes import fingerprint, flips_by_steps
from ..schema import LISTS, decode, encode
from ..skeleton import Clip, Skeleton, lineage

if TYPE_CHECKING:
    from ..learn.dependents import PairFrames

VERSION: Literal[3] = 3
CELL = 0.02  # radians: side of a cell of rotation vectors
PAIR_CELLS = 2  # side of a cell of pairs, in cells of single joints
SECOND = 10**9  # nanoseconds: integer times add up exactly, in any order
MAX_WAITING = 20_000  # cells that wait before they are merged with those of other clips
Key = tuple[str, ...]
"""What cells are of: a joint, or a joint and the driver that it may depend on."""
Label = TypeVar("Label", str, tuple[str, str])
Motion = tuple[Quats, Points, Mask]
"""Rotations (n, 4) of a joint, their rotation vectors (n, 3), and which are capture flips."""
Count = Annotated[int, Within(0, 2**53)]
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions raised by JSON with unexpected types, sizes or keys."""


@dataclass(frozen=True)
class SummaryOptions:
    """Options of summaries; summaries with different options do not merge."""

    cell: float = CELL
    ancestors: dict[str, str] = field(default_factory=dict)
    """Ancestors from which joints are measured, by joint, if not from the parent."""
    pairs: Any = field(default_factory=dict)
    """Drivers by joint (a dict): cells of both together are kept. Or "auto": all parents."""

    def __post_init__(self) -> None:
        if self.pairs != "auto" and not isinstance(self.pairs, dict):
            raise ValueError(f"pairs must map joints to others, or be 'auto', got {self.pairs!r}")

    def pairs_in(self, skeleton: Skeleton) -> list[tuple[str, str]]:
        """Return the pairs of a skeleton that are kept; with "auto" each joint and its parent.

        Roots are in none, and a pair that is not wholly in the skeleton is left out.
        """
        names, parents = skeleton.names, skeleton.parents.tolist()
        moving = {name: names[up] for name, up in zip(names, parents, strict=True) if up >= 0}
        requested = moving if self.pairs == "auto" else self.pairs
        return sorted(pair for pair in requested.items() if set(pair) <= set(moving))


USUAL = SummaryOptions()
"""Cells of 0.02 radians, joints measured from their parents."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one joint in some clips of one performer, sorted by their keys.

    `keys` (n, 3) count cells along the axes of rotation vectors. `counts` are the frames in each,
    `times` the nanoseconds spent there. Each has a frame that stands for it, `rotations` (n, 4): of
    the clip with the lowest number in `clips`, the first one, whose numbers are `frames`. Of a pair
    the driver comes first, then the joint: keys are (n, 6), rotations (n, 8).
    """

    keys: Ints
    counts: Ints
    times: Ints
    clips: Ints
    frames: Ints
    rotations: Quats

    @classmethod
    def concatenate(cls, parts: Sequence[Cells]) -> Cells:
        """Return cells of the same joint and performer as one, exactly, in any order."""
        keys = np.concatenate([part.keys for part in parts])
        clips = np.concatenate([part.clips for part in parts])
        frames = np.concatenate([part.frames for part in parts])
        codes = _codes(keys)
        order = np.lexsort((frames, clips, *reversed(codes)))
        starts = _changes([code[order] for code in codes])
        first = order[starts]

        def total(name: str) -> Ints:
            values = np.concatenate([getattr(part, name) for part in parts])
            return np.add.reduceat(values[order], starts) if len(order) else values

        rotations = np.concatenate([part.rotations for part in parts])
        return cls(
            keys[first], total("counts"), total("times"), clips[first], frames[first],
            rotations[first],
        )  # fmt: skip


@dataclass(frozen=True)
class CellsInfo:
    """The cells of one joint, or of a pair, as the header of a summary describes them."""

    joints: Key
    size: Count
    """Number of cells."""
    flips: Count = 0
    """Number of frames that are capture flips and in no cell; 0 for a pair."""


@dataclass(frozen=True, eq=False)
class Head:
    """Header of a summary: everything but the cells."""

    version: Literal[3] = field(default=VERSION, kw_only=True, metadata={"optional": False})
    mark: str
    """Hash of the clip's content and of the options."""
    fingerprint: str
    """Hash of the rotations. It identifies the same motion under another name."""
    options: SummaryOptions
    stored_skeleton: StoredSkeleton
    frames: Count
    frame_time: Annotated[float, Within(MIN_FRAME_TIME, MAX_FRAME_TIME)]
    first_frame_dropped: bool
    cells: tuple[CellsInfo, ...]
    """Cells of joints, without roots, then of pairs, in the order of the file."""

    @cached_property
    def skeleton(self) -> Skeleton:
        """The skeleton of the clip, without channels."""
        return self.stored_skeleton.skeleton()


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of one clip: the cells of its joints, except roots, and of pairs."""

    head: Head
    cells: dict[Key, Cells]


def mark_of(clip: Clip, options: SummaryOptions) -> str:
    """Return the hash of everything that the summary of a clip depends on."""
    skeleton = clip.skeleton
    about = {
        "version": VERSION,
        "options": encode(options, LISTS),
        "names": skeleton.names,
        "parents": skeleton.parents.tolist(),
        "frame_time": clip.frame_time,
    }
    mark = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    mark.update(np.ascontiguousarray(skeleton.offsets).tobytes())
    mark.update(np.ascontiguousarray(clip.pose.rotations, np.float64).tobytes())
    return mark.hexdigest()[:40]


def summarize(clip: Clip, options: SummaryOptions = USUAL) -> Summary:
    """Return the summary of a clip: cells of each joint, without capture flips."""
    if clip.frames == 0:
        raise ValueError(f"{clip.name or 'clip'}: no frames to summarise")
    skeleton, nanoseconds = clip.skeleton, round(clip.frame_time * SECOND)
    by_frame = np.asarray(clip.pose.rotations, np.float64)
    steps = np.ascontiguousarray(quat.angle_between(by_frame[:-1], by_frame[1:]).T)
    invented = invented_first_frame(clip, steps=steps)
    first = 1 if invented else 0
    by_frame, steps = by_frame[first:], steps[:, first:]
    motion: dict[str, Motion] = {}
    for joint in np.flatnonzero(skeleton.parents >= 0).tolist():
        name = skeleton.names[joint]
        rotations: Quats = by_frame[:, joint]
        flipped = flips_by_steps(steps[joint], clip.frame_time)
        if ancestor := options.ancestors.get(name):
            rotations = lineage(skeleton, name, ancestor).relative_rotation(by_frame)
            flipped = flips(rotations, clip.frame_time)
        motion[name] = (np.ascontiguousarray(rotations), quat.log(rotations), flipped)
    cells: dict[Key, Cells] = {
        (name,): _cells_of([joint], first, nanoseconds, options.cell)
        for name, joint in motion.items()
    }
    infos = [
        CellsInfo(key, len(part.counts), int(motion[key[0]][2].sum()))
        for key, part in cells.items()
    ]
    for pair in options.pairs_in(skeleton):
        driven, driver = (motion[name] for name in pair)
        cells[pair] = _cells_of([driver, driven], first, nanoseconds, PAIR_CELLS * options.cell)
        infos.append(CellsInfo(pair, len(cells[pair].counts)))
    head = Head(
        mark_of(clip, options),
        fingerprint(clip),
        options,
        StoredSkeleton.of(skeleton, channels=()),
        clip.frames,
        clip.frame_time,
        invented,
        tuple(infos),
    )
    return Summary(head, cells)


def _cells_of(joints: Sequence[Motion], first: int, nanoseconds: int, cell: float) -> Cells:
    """Return the cells of a joint, or of a driver and a joint, without capture flips.

    `first` is the index in the clip of their first frame.
    """
    rotations, points, flipped = zip(*joints, strict=True)
    rows = np.flatnonzero(~np.any(flipped, axis=0))
    keys = np.floor(np.concatenate(points, axis=-1)[rows] / cell).astype(np.int64)
    codes = _codes(keys)
    runs = _changes(codes)  # frames in a row that stay in their cell are sorted as one
    order = np.lexsort([code[runs] for code in reversed(codes)])
    starts = _changes([code[runs[order]] for code in codes])
    chosen = runs[order[starts]]
    lengths = np.diff(runs, append=len(rows))[order]
    counts = np.add.reduceat(lengths, starts) if len(starts) else lengths
    return Cells(
        keys[chosen], counts, counts * nanoseconds, np.zeros_like(counts),
        rows[chosen] + first, np.concatenate(rotations, axis=-1)[rows[chosen]],
    )  # fmt: skip


def _changes(codes: Sequence[Ints]) -> Ints:
    """Return the indices at which any of the columns (n,) changes, and 0."""
    if len(codes[0]) == 0:
        return np.zeros(0, np.int64)
    changes = np.any([code[1:] != code[:-1] for code in codes], axis=0)
    return np.concatenate([[0], 1 + np.flatnonzero(changes)])


def _codes(keys: Ints) -> list[Ints]:
    """Return one sortable integer per key and joint, which packs the three numbers of the key."""
    codes = []
    for k in range(0, keys.shape[1], 3):
        x, y, z = (np.asarray(keys[:, k : k + 3], np.int64) + 2**15).T
        codes.append(np.asarray((x << 32) | (y << 16) | z))
    return codes


def take_of(cells: Cells, performer: str) -> Take:
    """Return cells as a take: rotations in order of time, with their number of frames."""
    order = np.lexsort((cells.frames, cells.clips))
    frames = int(cells.counts.sum())
    return Take(
        cells.rotations[order],
        cells.times.sum() / (SECOND * max(frames, 1)),
        performer,
        performer,
        thinned=True,
        counts=cells.counts[order],
    )


def frames_of(cells: Cells, performer: str) -> PairFrames:
    """Return cells of a pair as the frames of one performer, in order of time."""
    from ..learn.dependents import PairFrames

    order = np.lexsort((cells.frames, cells.clips))
    both, counts = cells.rotations[order], cells.counts[order]
    return PairFrames(performer, both[:, :4], both[:, 4:], counts)


def save_summary(summary: Summary, path: Path) -> None:
    """Write a summary as npz, atomically; the same summary gives the same bytes.

    `header` is the head as JSON; `cells0`, `cells1`, … are records, in the order of the header.
    """
    header = json.dumps(encode(summary.head, LISTS)).encode()
    arrays: dict[str, Any] = {"header": np.frombuffer(header, np.uint8)}
    for number, cells in enumerate(summary.cells.values()):
        record = np.empty(len(cells.counts), cell_type(cells.keys.shape[1] // 3))
        for name in record.dtype.names or ():
            record[name] = getattr(cells, name)
        arrays[f"cells{number}"] = record
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    atomic_write(path, buffer.getvalue())


def load_head(path: Path) -> Head:
    """Return the header of a summary; ValueError if the file is damaged."""
    return load_summary(path, ()).head


def load_summary(path: Path, keys: Iterable[Key] | None = None) -> Summary:
    """Return the summary in a file, with the cells of `keys`, by default of all.

    Raises ValueError if the file is damaged.
    """
    wanted = None if keys is None else set(keys)
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                head: Head = decode(Head, json.loads(archive["header"].tobytes()), LISTS)
                _ = head.skeleton  # its parts fit together
                cells = {}
                for number, info in enumerate(head.cells):
                    member = f"cells{number}"
                    bytes_there = archive.zip.getinfo(f"{member}.npy").file_size
                    if info.size * cell_type(1).itemsize > bytes_there:
                        raise ValueError(f"expected {info.size} cells in {member}")
                    if wanted is None or info.joints in wanted:
                        cells[info.joints] = _cells(archive[member], info.size, head.frame_time)
        except (*MALFORMED, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{path}: not a summary that can be read: {error}. Delete it, and `corpus add` "
                "makes it again"
            ) from None
    return Summary(head, cells)


def cell_type(joints: int) -> np.dtype[Any]:
    """Return the record type of a cell of one joint, or of two joints together."""
    return np.dtype(
        [
            ("keys", "<i2", (3 * joints,)),
            ("counts", "<i8"),
            ("frames", "<i8"),
            ("rotations", "<f8", (4 * joints,)),
        ]
    )


def _cells(record: Any, size: int, frame_time: float) -> Cells:
    """Return the cells of one clip in records (size,)."""
    if record.shape != (size,):
        raise ValueError(f"expected {size} cells, got {record.shape}")
    counts = record["counts"].astype(np.int64)
    return Cells(
        record["keys"].astype(np.int64),
        counts,
        counts * round(frame_time * SECOND),
        np.zeros(size, np.int64),
        record["frames"].astype(np.int64),
        record["rotations"].astype(np.float64),
    )


def numbered(cells: Cells, clip: int) -> Cells:
    """Return the cells of a single clip as those of clip number `clip` among others."""
    return replace(cells, clips=np.full(len(cells.counts), clip, np.int64))


def merge_cells(parts: Iterable[tuple[Label, Cells]]) -> dict[Label, Cells]:
    """Return the merged cells of each label, sorted; the order of `parts` does not matter."""
    merged: dict[Label, list[Cells]] = {}
    waiting: Counter[Label] = Counter()
    for label, cells in parts:
        queue = merged.setdefault(label, [])
        queue.append(cells)
        waiting[label] += len(cells.counts)
        if waiting[label] > max(MAX_WAITING, len(queue[0].counts)):
            merged[label] = [Cells.concatenate(queue)]
            waiting[label] = 0
    return {label: Cells.concatenate(merged[label]) for label in sorted(merged)}
