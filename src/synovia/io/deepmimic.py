"""Motion of DeepMimic: JSON with rows of frames, and the character that has its skeleton beside it.

A joint's frame in its parent's is its attachment, turned by what the row holds: a quaternion, an
angle about z, or nothing. See docs/formats.md.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import UNIT_SLACK, Floats, Quats, Scalars, Vectors
from ..skeleton import Clip, Pose, Skeleton
from .bounds import (
    MAX_ANGLE,
    MAX_FRAME_TIME,
    MAX_JOINTS,
    MAX_LENGTH,
    check_frame_time,
    check_numbers,
)
from .encoding import Entry, check_json, errors_name, parse_json
from .files import read_file
from .format import ClipFormat, ReadOptions
from .ranges import HingeRange, RangesFile

WIDTHS = {"none": 7, "spherical": 4, "revolute": 1, "prismatic": 1, "planar": 3, "fixed": 0}
"""How many numbers of a row a joint of each type has; only the root is none."""
DEFAULT_FPS = 30.0
"""Of a single frame without a duration."""
UNEVEN = 1e-3
"""Durations may differ by this share; they are written with few digits."""
MIN_QUATERNION, MAX_QUATERNION = 0.1, 2.0
"""Lengths that are taken for rounding or blending of unit quaternions."""


@dataclass(frozen=True)
class Character:
    """A skeleton, and the type of each of its joints."""

    skeleton: Skeleton
    types: tuple[str, ...]


# The character.


def read_character(path: Path) -> Character:
    """Return the skeleton in a character file; lengths are metres, and y is up."""
    root = Entry(parse_json(str(path), read_file(path)))
    with errors_name(str(path)):
        check_json(root)
        joints = _member(_member(root, "Skeleton"), "Joints").items()
        if not 0 < len(joints) <= MAX_JOINTS:
            raise ValueError(f"Skeleton.Joints: expected 1 to {MAX_JOINTS}, got {len(joints)}")
        parents = [int(_member(joint, "Parent").ints()) for joint in joints]
        types = [_joint_type(joint, number) for number, joint in enumerate(joints)]
        names = [joint.members().get("Name") for joint in joints]
        return Character(
            _skeleton(
                [f"joint{k}" if name is None else name.text() for k, name in enumerate(names)],
                parents,
                np.array([_triple(joint, "Attach", MAX_LENGTH) for joint in joints]),
                np.array([_triple(joint, "AttachTheta", MAX_ANGLE) for joint in joints]),
                _bodies(root, len(joints)),
            ),
            tuple(types),
        )


def read_character_ranges(path: Path) -> RangesFile:
    """Return the joints of a character file, and the ranges of those that turn.

    A revolute joint is a hinge about z; a spherical one three, about x, y and z in this order, as
    Bullet has them. Ends that are exchanged stand for no limit in these files.
    """
    character = read_character(path)
    content = read_file(path)
    root = Entry(parse_json(str(path), content))
    lines = content.decode(errors="replace").splitlines()
    hinges = []
    with errors_name(str(path)):
        joints = _member(_member(root, "Skeleton"), "Joints").items()
        for number, (joint, kind) in enumerate(zip(joints, character.types, strict=True)):
            name, rest = character.skeleton.names[number], character.skeleton.rest_rotations[number]
            line = next((k for k, text in enumerate(lines, 1) if f'"{name}"' in text), 0)
            for k, axis in enumerate({"revolute": "z", "spherical": "xyz"}.get(kind, "")):
                members = joint.members()
                ends = [
                    float(members[key].floats()) if key in members else np.inf
                    for key in (f"LimLow{k}", f"LimHigh{k}")
                ]
                low, high = ends if ends[0] <= ends[1] < np.inf else (-np.inf, np.inf)
                along = quat.rotate(rest, np.eye(3)["xyz".index(axis)])
                title = f"{name}.{axis}" if kind == "spherical" else name
                hinges.append(HingeRange(title, name, along, low, high, line=line))
    return RangesFile(path, character.skeleton, tuple(hinges))


def _joint_type(joint: Entry, number: int) -> str:
    """Return the type of a joint; the first is the root, whatever it is said to be."""
    parent = _member(joint, "Parent")
    if not -1 <= parent.value < number or (parent.value < 0) != (number == 0):
        parent.fail("-1 for the first joint, and an earlier joint for others")
    if number == 0:
        return "none"
    kind = _member(joint, "Type")
    known = [each for each in WIDTHS if each != "none"]
    return kind.text() if kind.value in known else kind.fail(" or ".join(known))


def _bodies(root: Entry, joints: int) -> dict[int, list[float]]:
    """Return where the middle of each joint's body is, in the joint's frame."""
    bodies = root.members().get("BodyDefs")
    found = [] if bodies is None else bodies.items()[:joints]
    return {k: _triple(body, "Attach", MAX_LENGTH) for k, body in enumerate(found)}


def _skeleton(
    names: list[str],
    parents: list[int],
    places: Vectors,
    angles: Vectors,
    bodies: dict[int, list[float]],
) -> Skeleton:
    """Return the skeleton with attachments at `places`, turned by `angles` about x, y, then z.

    The tip of a joint that no other hangs on is the middle of its body.
    """
    places[0] = 0.0  # DeepMimic does so; its dog has 50 m there
    turns = quat.from_euler(angles[:, ::-1], "ZYX")
    frames, offsets = turns.copy(), places.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            frames[joint] = quat.mul(frames[parent], turns[joint])
            offsets[joint] = quat.rotate(frames[parent], places[joint])
    inner = {0, *parents}
    ends = [joint for joint in bodies if joint not in inner and any(bodies[joint])]
    tips = [quat.rotate(frames[joint], np.array(bodies[joint])) for joint in ends]
    return Skeleton(
        tuple(names),
        np.array(parents),
        offsets,
        end_parents=np.array(ends, dtype=np.int64),
        end_offsets=np.array(tips).reshape(-1, 3),
        rest_rotations=frames,
        up="y",
        unit=1.0,
    )


def _member(entry: Entry, key: str) -> Entry:
    """Return what an object has under `key`; it may have other keys."""
    members = entry.members()
    if key not in members:
        entry.refuse(f"the key {key!r} is missing")
    return members[key]


def _triple(entry: Entry, key: str, limit: float) -> list[float]:
    """Return the numbers under the key with X, Y and Z after it, 0 where there are none."""
    members = entry.members()
    found = [members[key + axis].floats() if key + axis in members else 0.0 for axis in "XYZ"]
    check_numbers(f"{entry.place}.{key}", np.array(found), limit)
    return [float(number) for number in found]


def _find_character(path: Path, options: ReadOptions) -> Path:
    """Return the file of the character: what was asked for, or the one beside the motion."""
    if options.skeleton is not None:
        return options.skeleton
    prefix = path.name.partition("_")[0]
    beside = [
        path.with_name(f"{prefix}{suffix}") for suffix in (".character.json", ".json", ".txt")
    ]
    beside.append(path.parent.parent / "characters" / f"{prefix}.txt")  # as in DeepMimic's data
    for file in beside:
        if file.is_file() and file != path:
            return file
    raise ValueError(
        f"{path}: expected the character beside it, as {beside[0].name} or {beside[2].name}, got "
        "none: name it with --skeleton FILE or load_clip(…, skeleton=FILE)"
    )


# The motion.


def read_deepmimic(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the file of motion at `path`, with the skeleton of its character."""
    root = Entry(parse_json(str(path), read_file(path)))
    frames = _frames(_member(root, "Frames"))
    character = read_character(_find_character(path, options))
    notes: list[str] = []
    rotations, positions = _pose(character, frames, notes)
    frame_time = _frame_time(frames[:, 0])
    if not _is_even(frames[:, 0]):
        rotations, positions = _resample(frames[:, 0], rotations, positions)
        notes.append(f"frames last differently long: resampled at {1.0 / frame_time:.6g} a second")
    for note in notes:
        warnings.warn(f"{path}: {note}", stacklevel=3)
    name = re.sub(r"\.deepmimic$", "", path.stem, flags=re.IGNORECASE)
    return Clip(character.skeleton, Pose(rotations, positions), frame_time, name)


def _frames(rows: Entry) -> Floats:
    """Return the rows of numbers, as many in each."""
    lists = rows.value
    if not isinstance(lists, list) or not lists:
        rows.fail("a list of at least one row")
    width = len(lists[0]) if isinstance(lists[0], list) else 0
    for number, row in enumerate(lists):
        if not isinstance(row, list) or len(row) != width:
            rows.child(number).fail(f"{width} numbers, as in the first row")
    if not set(map(type, chain.from_iterable(lists))) <= {int, float}:
        for number in range(len(lists)):
            rows.child(number).floats(width)  # one of them says what is wrong
    try:
        values = np.array(lists, dtype=np.float64)
    except OverflowError:
        rows.fail("finite numbers", "one of too many digits")
    check_numbers(rows.place, values, MAX_LENGTH)
    return values


def _pose(character: Character, frames: Floats, notes: list[str]) -> tuple[Quats, Vectors]:
    """Return rest-aligned rotations and positions of all frames."""
    types = np.array(character.types)
    widths = [WIDTHS[kind] for kind in character.types]
    if frames.shape[1] != 1 + sum(widths):
        raise ValueError(
            f"Frames[0]: expected {1 + sum(widths)} numbers, for the {len(types)} joints of the "
            f"character, got {frames.shape[1]}"
        )
    starts = 1 + np.cumsum([0, *widths[:-1]])
    turns = np.tile(quat.IDENTITY, (len(frames), len(types), 1))
    shifts: Vectors = np.zeros((len(frames), len(types), 3))

    balls = np.flatnonzero((types == "none") | (types == "spherical"))
    firsts = starts[balls] + 3 * (types[balls] == "none")
    turns[:, balls] = _unit_quats(frames[:, firsts[:, None] + np.arange(4)], notes)
    for kind, last in (("revolute", 0), ("planar", 2)):
        hinges = np.flatnonzero(types == kind)
        angles = frames[:, starts[hinges] + last]
        check_numbers(f"Frames, {kind} joints", angles, MAX_ANGLE, "radians")
        turns[:, hinges, 0], turns[:, hinges, 3] = np.cos(angles / 2), np.sin(angles / 2)
    for kind, axes in (("none", 3), ("prismatic", 1), ("planar", 2)):
        slides = np.flatnonzero(types == kind)
        shifts[:, slides, :axes] = frames[:, starts[slides, None] + np.arange(axes)]
    planar = types == "planar"
    shifts[:, planar] = quat.rotate(turns[:, planar], shifts[:, planar])  # they turn first

    rest = character.skeleton.rest_rotations
    if (rest != quat.IDENTITY).any():
        turns = quat.mul(quat.mul(rest, turns), quat.inverse(rest))
        shifts = quat.rotate(rest, shifts)
    return turns, character.skeleton.offsets + shifts


def _unit_quats(rotations: Floats, notes: list[str]) -> Quats:
    """Return quaternions of length 1: frames of some files are blends, and not of that length."""
    check_numbers("Frames, quaternions", rotations, MAX_QUATERNION)
    lengths = np.linalg.norm(rotations, axis=-1, keepdims=True)
    if not (lengths >= MIN_QUATERNION).all():
        frame = int(np.argwhere(lengths < MIN_QUATERNION)[0, 0])
        raise ValueError(f"Frames[{frame}]: expected unit quaternions, got one of length 0 or so")
    off = int((np.abs(lengths - 1.0) > UNIT_SLACK).sum())
    if off:
        notes.append(
            f"{off} quaternions are not of length 1, but {lengths.min():.3g} to "
            f"{lengths.max():.3g}: normalised"
        )
    return quat.normalize(rotations)


def _is_even(durations: Scalars) -> bool:
    """Return whether all frames but the last, whose duration says nothing, last the same."""
    steps = durations[:-1]
    return bool(np.ptp(steps) <= UNEVEN * steps.mean()) if len(steps) else True


def _frame_time(durations: Scalars) -> float:
    """Return the seconds from frame to frame, or their mean."""
    steps = durations[:-1] if len(durations) > 1 else durations
    fine = (steps >= 0.0) & (steps <= MAX_FRAME_TIME)
    if not fine.all():
        where = int(fine.argmin())
        raise ValueError(
            f"Frames[{where}][0]: expected a duration from 0 to {MAX_FRAME_TIME:g} seconds, "
            f"got {steps[where]}"
        )
    if len(durations) == 1 and not steps[0]:
        return 1.0 / DEFAULT_FPS
    seconds = steps[0] if (steps == steps[0]).all() else steps.mean()
    return check_frame_time("Frames, durations", float(seconds))


def _resample(durations: Scalars, rotations: Quats, positions: Vectors) -> tuple[Quats, Vectors]:
    """Return as many frames, evenly from the first to the last."""
    times = np.concatenate([[0.0], np.cumsum(durations[:-1])])
    wanted = np.linspace(0.0, times[-1], len(times))
    before = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 2)
    span = times[before + 1] - times[before]
    share = np.clip((wanted - times[before]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
    weight = share[:, None, None]
    return (
        quat.slerp(rotations[before], rotations[before + 1], share[:, None]),
        (1.0 - weight) * positions[before] + weight * positions[before + 1],
    )


_BEGINNING = re.compile(rb"\s*\{.*?\"Frames\"\s*:\s*\[\s*\[[-+.\deE\s]+,", re.DOTALL)


def begins_deepmimic(head: bytes) -> bool:
    """Return whether a file that begins like this has DeepMimic's motion."""
    return _BEGINNING.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


DEEPMIMIC = ClipFormat(read_deepmimic, begins=begins_deepmimic)
