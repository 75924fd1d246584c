"""AMC (Acclaim): motions of a skeleton that is in an ASF file beside them. See docs/formats.md."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from .. import kernels, quat
from ..arrays import TURN, Floats, Ints, Quats, tolerance
from ..quat import IDENTITY, angle_between, from_euler, inverse, mul, rotate, to_euler
from ..skeleton import Clip, Pose, Skeleton
from ..skeleton.world import with_unit, with_up
from .asf import (
    CMU_UNIT,
    MAX_NUMBER,
    ROOT,
    SHIFTS,
    TURNS,
    AsfOrigin,
    asf_text,
    find_asf,
    is_ours,
    parse_asf,
    read_asf,
)
from .euler import euler_angles_deg, other_triple
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, only_clip
from .lines import Source, decode_text, parse_numbers, quote_line, scan_numbers

FRAME_TIME = 1.0 / 120.0
"""Seconds between frames where a file does not say: CMU's rate."""
MAX_STILL_POSES = 10**6
"""So many frames times joints are believed of a file that is shorter than that."""
DECIMALS = 8
"""Of degrees that are written; a hundredth of what we promise. Radians have two more."""

_ASF = re.compile(rb"^\s*:(version|units|root|bonedata|hierarchy)\b", re.MULTILINE | re.IGNORECASE)
_AMC = re.compile(rb"^\s*:(fully-specified|degrees|radians)\b", re.MULTILINE | re.IGNORECASE)
_COMMENT = re.compile(rb"#[^\r\n]*")
_NO_WORD = re.compile(rb"[\s#(),]")
_ROWS_AT_ONCE = 256
_UNCHANGED = 1e-12
"""Radians by which rounding turns a rotation that was read and is written."""
_FRAME, _OTHER = -2, -1
_NEWLINE = 10


def read_amc(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the AMC file at `path`, or the pose at rest of an ASF file."""
    data = read_file(path)
    if path.suffix.lower() == ".asf" or (path.suffix.lower() != ".amc" and _ASF.search(data)):
        origin = parse_asf(path, data)
        still = np.zeros((1, sum(map(len, origin.freedoms))))
        return Clip(origin.skeleton, _pose(origin, still), FRAME_TIME, path.stem, origin)
    origin = read_asf(options.skeleton or find_asf(path))
    source = Source(str(path), data.rstrip())
    origin, frame_time = _read_header(source, origin)
    values = _rows(source, origin)
    for message in source.warnings:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
    origin = replace(origin, values=values)
    return Clip(origin.skeleton, _pose(origin, values), frame_time, path.stem, origin)


def _read_header(source: Source, origin: AsfOrigin) -> tuple[AsfOrigin, float]:
    """Return how the file's numbers are to be taken, and the seconds between its frames."""
    frame_time = FRAME_TIME
    before = source.at, source.number
    known = False
    while source.at < len(source.data):
        line = source.advance("the number of a frame")
        words = line.partition(b"#")[0].upper().split()
        if words and not words[0].startswith(b":"):
            break
        before = source.at, source.number
        match words[:1]:
            case [b":DEGREES"]:
                origin = replace(origin, angle=np.pi / 180.0)
            case [b":RADIANS"]:
                origin = replace(origin, angle=1.0)
            case [b":FORCE-ALL-JOINTS-BE-3DOF"]:
                freedoms = (origin.freedoms[0], *[TURNS] * (len(origin.freedoms) - 1))
                origin = replace(origin, freedoms=freedoms, forced=True)
            case [b":SAMPLES-PER-SECOND"]:
                rate = parse_numbers(b" ".join(words[1:]))
                if rate is None or len(rate) != 1 or not 1e-4 <= rate[0] <= 1e6:
                    source.fail("expected a rate from 1e-4 to 1e6 after :SAMPLES-PER-SECOND")
                frame_time = 1.0 / rate[0]
        known = known or bool(words)
    else:
        if not known:
            source.fail_at(1, "expected the number of a frame", "the end of the file")
    source.at, source.number = before
    return origin, frame_time


def _rows(source: Source, origin: AsfOrigin) -> Floats:
    """Return the numbers of all frames, (frames, freedoms), bones in the order of the skeleton."""
    numbers, bones = _split_names(source, origin)
    values, counts = scan_numbers(Source(source.path, numbers, number=source.number))
    counts = counts[: len(bones)]
    widths = np.array([len(each) for each in origin.freedoms])
    wrong = np.flatnonzero(counts != np.where(bones >= 0, widths[bones], 0))
    if wrong.size:
        line = int(wrong[0])
        name = decode_text(origin.bones[bones[line]])
        _fail(source, line, f"expected {widths[bones[line]]} numbers for {name:.60}", counts[line])
    huge = np.flatnonzero(np.abs(values) > MAX_NUMBER)
    if huge.size:
        line = int(np.searchsorted(np.cumsum(counts), huge[0], side="right"))
        _fail(source, line, f"expected numbers of at most {MAX_NUMBER:g}", values[huge[0]])
    order = _regular_order(bones, widths)
    if order is not None:
        firsts = np.zeros(len(widths), np.int64)
        firsts[order] = np.cumsum(widths[order]) - widths[order]
        columns = [np.arange(first, first + n) for first, n in zip(firsts, widths, strict=True)]
        return values.reshape(-1, int(widths.sum()))[:, np.concatenate(columns)]
    places = _lines_of_bones(source, origin, bones)
    starts = np.cumsum(counts) - counts
    within = np.concatenate([np.arange(width) for width in widths])
    chosen = places[:, np.repeat(np.arange(len(widths)), widths)]
    values = np.append(values, 0.0)  # for bones that are not listed
    table: Floats = values[np.where(chosen >= 0, starts[chosen] + within, -1)]
    return table


def _regular_order(bones: Ints, widths: Ints) -> Ints | None:
    """Return the order in which every frame lists all bones that move; None where frames differ."""
    later = np.flatnonzero(bones[1:] == _FRAME)
    period = int(later[0]) + 1 if later.size else len(bones)
    if period < 2 or len(bones) % period:
        return None
    frames = bones.reshape(-1, period)
    order: Ints = frames[0, 1:]
    listed = np.bincount(order[order >= 0], minlength=len(widths))
    whole = (listed <= 1).all() and (order >= 0).all() and not widths[listed == 0].any()
    return order if whole and frames[0, 0] == _FRAME and (frames == frames[0]).all() else None


def _split_names(source: Source, origin: AsfOrigin) -> tuple[bytes, Ints]:
    """Return the text with spaces for the first word of each line, and the joints they name."""
    rest = source.data[source.at :]
    if b"#" in rest:
        rest = _COMMENT.sub(b"", rest)
    if b"\r" in rest and rest.count(b"\r") > rest.count(b"\r\n"):
        rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    known = {name.lower(): joint for joint, name in enumerate(origin.bones)}
    text = bytearray(rest)
    starts = np.append(0, np.flatnonzero(np.frombuffer(rest, np.uint8) == _NEWLINE) + 1)
    starts = starts[starts < len(text)]
    bones = np.empty(len(starts), np.int64)
    names = np.frombuffer(b"".join(origin.bones), np.uint8)
    name_ends = np.cumsum([len(name) for name in origin.bones])
    kernels.text.blank_names(np.frombuffer(text, np.uint8), names, name_ends, bones)
    frames = -2 - bones[bones < -1]
    bones[bones < -1] = _FRAME
    for line in np.flatnonzero(bones == _OTHER).tolist():  # few: other case, nothing, mistakes
        start = int(starts[line])
        words = rest[start : rest.find(b"\n", start) % (len(rest) + 1)].split(None, 1)
        name = words[0] if words else b""
        if name.lower() in known:
            bones[line] = known[name.lower()]
        elif name:
            rule = f"expected the number of a frame or a bone of {origin.path.name}"
            source.fail_at(source.number + 1 + line, rule, quote_line(name))
        start = rest.find(name, start)
        text[start : start + len(name)] = b" " * len(name)
    if (np.diff(frames) != 1).any():
        source.warnings.append("the numbers of frames have gaps; frames follow as they stand")
    return bytes(text), bones


def _lines_of_bones(source: Source, origin: AsfOrigin, bones: Ints) -> Ints:
    """Return the line of each bone in each frame, (frames, joints); -1 where it has none at all."""
    frames, joints = np.flatnonzero(bones == _FRAME), len(origin.bones)
    if len(frames) * joints > MAX_STILL_POSES + len(source.data):
        rule = f"expected at most {MAX_STILL_POSES // joints} frames of {joints} bones"
        _fail(source, 0, f"{rule} in so short a file", len(frames))
    listed = np.flatnonzero(bones >= 0)
    if listed.size and (not frames.size or listed[0] < frames[0]):
        _fail(source, int(listed[0]), "expected the number of a frame before bones", "a bone")
    frame = np.searchsorted(frames, listed) - 1
    places = np.full((len(frames), joints), -1)
    places[frame[::-1], bones[listed[::-1]]] = listed[::-1]  # of two the first stays
    twice = np.flatnonzero(places[frame, bones[listed]] != listed)
    if twice.size:
        line = int(listed[twice[0]])
        again = decode_text(origin.bones[bones[line]])
        _fail(source, line, "expected each bone once in a frame", f"{again:.60} twice")
    has = places >= 0
    for joint in np.flatnonzero(has.any(axis=0) & ~has.all(axis=0)).tolist():
        line = int(frames[has[:, joint].argmin()])
        name = decode_text(origin.bones[joint])
        _fail(source, line, f"expected {name:.60} in every frame or in none", "a frame without it")
    absent = [
        joint
        for joint, freedoms in enumerate(origin.freedoms)
        if freedoms and not has[:, joint].any()
    ]
    if absent and frames.size:
        names = ", ".join(decode_text(origin.bones[joint]) for joint in absent[:12])
        source.warnings.append(f"without motion of {names}: at rest")
    return places


def _fail(source: Source, line: int, rule: str, came: object) -> NoReturn:
    """Raise the error about a line that is counted from the first frame on."""
    source.fail_at(source.number + 1 + line, rule, f"{came}")


def _pose(origin: AsfOrigin, values: Floats) -> Pose:
    """Return the poses for rows of numbers (frames, freedoms)."""
    skeleton, frames = origin.skeleton, len(values)
    padded = np.concatenate([values, np.zeros((frames, 1))], axis=1)  # for freedoms that are not
    rotations = np.empty((frames, len(skeleton), 4))
    columns = _columns(origin)
    orders: dict[str, list[int]] = {}
    for joint, freedoms in enumerate(origin.freedoms):
        orders.setdefault(_common_order(freedoms), []).append(joint)
    for order, joints in orders.items():
        each = np.array(
            [[columns[joint].get(f"r{axis}", -1) for axis in order] for joint in joints]
        )
        turns = quat.to_matrix(origin.axes[joints])
        for first in range(0, frames, _ROWS_AT_ONCE):
            block = slice(first, first + _ROWS_AT_ONCE)
            # Turns about fixed axes, the first freedom first: the last is the outermost.
            angles = origin.angle * padded[block][:, each[:, ::-1]]
            turned = from_euler(angles, order[::-1])
            # C M C⁻¹ has the angle of M, about an axis that C turns.
            for place, turn in enumerate(turns):
                turned[:, place, 1:] = turned[:, place, 1:] @ turn.T
            rotations[block, joints] = turned
    rotations[:, 0] = mul(rotations[:, 0], origin.axes[0])  # O M O⁻¹ O
    positions = np.broadcast_to(skeleton.offsets, (frames, len(skeleton), 3)).copy()
    shifts = padded[:, [columns[0].get(shift, -1) for shift in SHIFTS]]
    positions[:, 0] = origin.position + rotate(origin.axes[0], shifts)
    return Pose(rotations, positions)


def _columns(origin: AsfOrigin) -> list[dict[str, int]]:
    """Return the column of each freedom of each joint."""
    columns, width = [], 0
    for freedoms in origin.freedoms:
        columns.append({freedom: width + place for place, freedom in enumerate(freedoms)})
        width += len(freedoms)
    return columns


def _turn_order(freedoms: tuple[str, ...]) -> str:
    """Return the axes that a bone turns about, in the order of its freedoms."""
    return "".join(freedom[1] for freedom in freedoms if freedom in TURNS)


def _common_order(freedoms: tuple[str, ...]) -> str:
    """Return the first order of three axes in which those of a bone follow each other."""
    wanted = _turn_order(freedoms)
    orders = map("".join, itertools.permutations("xyz"))
    return next(order for order in orders if "".join(a for a in order if a in wanted) == wanted)


def _full_order(freedoms: tuple[str, ...]) -> str:
    """Return the axes that a bone turns about, and then the others."""
    order = _turn_order(freedoms)
    return order + "".join(axis for axis in "xyz" if axis not in order)


def write_amc(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip to an AMC file at `path`, and an ASF file beside it unless its own is there."""
    clip, origin = _fit_skeleton(with_up(only_clip(clips, path), "y"), path)
    table = _table(origin, clip, path)
    form = "\n".join(
        " ".join([name.decode("latin-1").replace("%", "%%"), *["%r"] * len(freedoms)])
        for name, freedoms in zip(origin.bones, origin.freedoms, strict=True)
        if freedoms
    )
    header = [f"# {clip.frames} frames, written by Synovia"]
    if clip.frame_time != FRAME_TIME:
        header.append(f":SAMPLES-PER-SECOND {1.0 / clip.frame_time!r}")
    header += [":FULLY-SPECIFIED", *[":FORCE-ALL-JOINTS-BE-3DOF"] * origin.forced]
    header.append(":RADIANS" if origin.angle == 1.0 else ":DEGREES")
    frames = [f"{number + 1}\n{form % tuple(row)}" for number, row in enumerate(table.tolist())]
    _write_skeleton(origin, path)
    atomic_write(path, "\n".join([*header, *frames, ""]).encode("latin-1"))


def _fit_skeleton(clip: Clip, path: Path) -> tuple[Clip, AsfOrigin]:
    """Return the clip on the skeleton of an ASF file, and that: its own, or else a new one."""
    if isinstance(clip.origin, AsfOrigin):
        own = clip.origin.skeleton
        scaled = with_unit(clip, own.unit) if own.unit and clip.skeleton.unit else clip
        if _same(scaled.skeleton, own):
            return scaled, clip.origin
    roots = np.flatnonzero(clip.skeleton.parents < 0)
    if len(roots) > 1:
        raise ValueError(f"{path}: a skeleton in ASF has one root, got {len(roots)}")
    if clip.skeleton.unit:
        clip = with_unit(clip, CMU_UNIT)
    names = _bone_names(clip.skeleton, path)
    origin = parse_asf(path.with_suffix(".asf"), asf_text(clip.skeleton, names))
    order = [names.index(name) for name in (names[0], *origin.bones[1:])]
    pose = Pose(clip.pose.rotations[:, order], clip.pose.positions[:, order])
    return replace(clip, skeleton=origin.skeleton, pose=pose), origin


def _same(a: Skeleton, b: Skeleton) -> bool:
    """Whether two skeletons have the same joints in the same places."""
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and np.allclose(a.offsets[1:], b.offsets[1:], rtol=0.0, atol=1e-6 * np.abs(b.offsets).max())
    )


def _bone_names(skeleton: Skeleton, path: Path) -> tuple[bytes, ...]:
    """Return names as ASF can hold them: one word each, different in more than case."""
    names = []
    for joint, name in enumerate(skeleton.names):
        word = _NO_WORD.sub(b"_", name.encode(errors="replace"))
        unclear = word.isdigit() or word.startswith(b":") or (joint > 0 and word.lower() == ROOT)
        names.append(b"_" + word if unclear else word)
    if len({name.lower() for name in names}) < len(names):
        raise ValueError(f"{path}: names of bones in ASF must be words that differ in any case")
    changed = [
        name for name, word in zip(skeleton.names, names, strict=True) if name != word.decode()
    ]
    if changed:
        _warn(f"{path}: names in ASF are single words; changed {', '.join(changed[:12])}")
    return tuple(names)


def _write_skeleton(origin: AsfOrigin, path: Path) -> None:
    """Write the ASF file beside an AMC file, unless it is there; another one is not replaced."""
    try:
        if read_file(find_asf(path)) == origin.content:
            return
    except ValueError:
        pass  # none, or several of which none is meant
    beside = path.with_suffix(".asf")
    if beside.exists() and not is_ours(read_file(beside)):
        raise ValueError(f"{beside}: expected the skeleton of {path.name}, got another one")
    atomic_write(beside, origin.content)


def _table(origin: AsfOrigin, clip: Clip, path: Path) -> Floats:
    """Return the numbers to write, (frames, freedoms); what is lost is warned about."""
    known = (
        origin.values if origin.values is not None and len(origin.values) == clip.frames else None
    )
    table = np.zeros((clip.frames, sum(map(len, origin.freedoms))))
    lost = np.zeros(len(origin.bones))
    decimals = DECIMALS + 2 * (origin.angle == 1.0)
    for joint, columns in enumerate(_columns(origin)):
        axes = origin.axes[joint]
        rotations = mul(inverse(axes), clip.pose.rotations[:, joint].astype(np.float64))
        local = mul(rotations, axes) if joint else rotations
        order = _turn_order(origin.freedoms[joint])
        turns = [columns[f"r{axis}"] for axis in order]
        near = None if known is None else origin.angle * known[:, turns]
        angles = _angles(local, order, near)
        lost[joint] = angle_between(_turned(angles, order), local).max(initial=0.0)
        table[:, turns] = np.round(angles / origin.angle, decimals)
        if known is not None and near is not None:
            kept = angle_between(_turned(near, order), local) <= _UNCHANGED
            table[:, turns] = np.where(kept[:, None], known[:, turns], table[:, turns])
    root = _columns(origin)[0]
    shifts = rotate(inverse(origin.axes[0]), clip.pose.positions[:, 0] - origin.position)
    for axis, shift in enumerate(SHIFTS):
        if shift in root:
            table[:, root[shift]] = shifts[:, axis]
            shifts[:, axis] = 0.0
    moved = clip.pose.positions[:, 1:] - origin.skeleton.offsets[1:]
    _warn_lost(origin, clip, path, lost, np.concatenate([shifts[:, None], moved], axis=1))
    if np.abs(table).max(initial=0.0) > MAX_NUMBER:
        raise ValueError(f"{path}: expected numbers of at most {MAX_NUMBER:g}, got larger ones")
    return table


def _warn_lost(origin: AsfOrigin, clip: Clip, path: Path, lost: Floats, moved: Floats) -> None:
    """Warn about rotations (J,), radians, and moves (frames, J, 3) that AMC does not hold."""
    slack = tolerance(clip.pose.rotations.dtype)
    turned = np.flatnonzero(lost > slack)
    if turned.size:
        worst = int(lost.argmax())
        _warn(
            f"{path}: {origin.path.name} has no freedoms for all of the motion of "
            f"{len(turned)} bones; lost up to {np.degrees(lost[worst]):.3g} degrees, at "
            f"{origin.skeleton.names[worst]}"
        )
    far = np.abs(moved).max(axis=(0, 2), initial=0.0)
    if far.max() > slack * np.abs(origin.skeleton.offsets).max():
        worst = int(far.argmax())
        _warn(
            f"{path}: bones have one length in ASF/AMC; lost moves of joints by up to "
            f"{far[worst]:.3g}, at {origin.skeleton.names[worst]}"
        )


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def _turned(angles: Floats, order: str) -> Quats:
    """Return the rotations by `angles` (frames, n), radians, about fixed axes, the first first."""
    if not order:
        return np.tile(IDENTITY, (len(angles), 1))
    return from_euler(angles[:, ::-1], order[::-1])


def _angles(rotations: Quats, order: str, near: Floats | None) -> Floats:
    """Return the angles (frames, n), radians, about fixed axes that turn nearest to `rotations`.

    Of the triples and whole turns that give the same, those nearest to the angles `near` are taken,
    or without them such that frames follow each other without a jump.
    """
    if len(order) == 3:
        if near is None:
            return np.radians(euler_angles_deg(rotations, order[::-1]))[:, ::-1]
        first = to_euler(rotations, order[::-1])[:, ::-1]
        choices = np.stack([first, other_triple(first)])
    else:
        choices = _partial_angles(rotations, order)[None]
    if near is None:
        return np.unwrap(choices[0], axis=0)
    choices = choices + TURN * np.round((near - choices) / TURN)
    best = np.abs(choices - near).sum(axis=-1).argmin(axis=0)
    nearest: Floats = np.take_along_axis(choices, best[None, :, None], axis=0)[0]
    return nearest


def _partial_angles(rotations: Quats, order: str) -> Floats:
    """Return the angles about no, one or two fixed axes that turn nearest to `rotations`."""
    if not order:
        return np.zeros((len(rotations), 0))
    axes = ["xyz".index(axis) for axis in order]
    w, first = rotations[:, 0], rotations[:, 1 + axes[0]]
    if len(axes) == 1:
        return 2.0 * np.arctan2(first, w)[:, None]
    second, third = rotations[:, 1 + axes[1]], rotations[:, 1 + 3 - sum(axes)]
    # The product of two turns is an outer product of half angles' cosines and sines, so that the
    # nearest to any quaternion is its best approximation of rank one.
    side = -1.0 if (axes[1] - axes[0]) % 3 == 1 else 1.0
    parts = np.stack([np.stack([w, first], -1), np.stack([second, side * third], -1)], -2)
    left, _, right = np.linalg.svd(parts)
    outer, inner = left[:, :, 0], right[:, 0]
    return 2.0 * np.stack([np.arctan2(each[:, 1], each[:, 0]) for each in (inner, outer)], -1)


AMC = ClipFormat(
    read_amc,
    write_amc,
    begins=lambda head: bool(_AMC.search(head)),
    up="y",
    beside="limits of the skeleton file",
)
ASF = ClipFormat(read_amc, begins=lambda head: bool(_ASF.search(head)), skip=lambda path: "")
