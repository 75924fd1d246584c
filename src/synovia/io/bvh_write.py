"""The BVH writer: what it writes is read back the same; see docs/bvh.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..arrays import Floats, Quats, Vectors, tolerance
from ..quat import IDENTITY, angle_between, from_euler, to_euler
from ..skeleton import POSITIONS, ROTATIONS, Clip, Skeleton
from .atomic import atomic_write

_MAX_INDENT = 40


def write_bvh(clip: Clip, path: Path) -> None:
    """Write `clip` to a BVH file at `path`, joints in the order of depth first."""
    for name in clip.skeleton.names:
        _check_name(name, path)
    channels, columns = _columns(clip)
    added = [
        name
        for name, had, has in zip(
            clip.skeleton.names, clip.skeleton.channels, channels, strict=True
        )
        if had != has
    ]
    if added:
        warnings.warn(
            f"{path}: added the channels that the motion needs to {', '.join(added)}",
            UserWarning,
            stacklevel=3,
        )
    order = _depth_first(clip.skeleton)
    lines = ["HIERARCHY", *_hierarchy_lines(clip.skeleton, channels, order)]
    lines += ["MOTION", f"Frames: {clip.frames}", f"Frame Time: {clip.frame_time!r}"]
    # Positions are exact; eight decimals of a degree are a hundredth of what we promise.
    form = " ".join(
        "%r" if channel in POSITIONS else "%.8f" for joint in order for channel in channels[joint]
    )
    if form:
        table = np.concatenate([columns[joint] for joint in order], axis=1)
        lines += [form % tuple(row) for row in table.tolist()]
    atomic_write(path, "\n".join([*lines, ""]).encode())


def _check_name(name: str, path: Path) -> None:
    """Raise ValueError unless a reader gives `name` back as it is."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        encoded = b""
    writable = encoded == encoded.strip() and not re.search(rb"[\r\n]|{\Z|\A\Z", encoded)
    if not writable:
        raise ValueError(
            f"{path}: a joint's name in BVH must be one line of Unicode without a space at either "
            f"end or a brace at the last, got {name!r}"
        )


def _depth_first(skeleton: Skeleton) -> list[int]:
    """Return the joints such that each is followed by all that hangs on it."""
    children: list[list[int]] = [[] for _ in range(len(skeleton) + 1)]
    for joint, parent in enumerate(skeleton.parents.tolist()):
        children[parent].append(joint)
    order, stack = [], children[-1][::-1]
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack += children[joint][::-1]
    return order


def _hierarchy_lines(
    skeleton: Skeleton, channels: list[tuple[str, ...]], order: list[int]
) -> Iterator[str]:
    """Yield the lines between HIERARCHY and MOTION."""
    ends: dict[int, list[list[float]]] = {}
    for joint, offset in zip(
        skeleton.end_parents.tolist(), skeleton.end_offsets.tolist(), strict=True
    ):
        ends.setdefault(joint, []).append(offset)
    stack: list[int] = []
    for joint in order:
        while stack and stack[-1] != skeleton.parents[joint]:
            stack.pop()
            yield f"{_indent(len(stack))}}}"
        outer, inner = _indent(len(stack)), _indent(len(stack) + 1)
        yield f"{outer}{'JOINT' if stack else 'ROOT'} {skeleton.names[joint]}"
        yield f"{outer}{{"
        yield f"{inner}OFFSET {_triple(skeleton.offsets[joint].tolist())}"
        yield " ".join([f"{inner}CHANNELS {len(channels[joint])}", *channels[joint]])
        for offset in ends.get(joint, []):
            yield f"{inner}End Site"
            yield f"{inner}{{"
            yield f"{_indent(len(stack) + 2)}OFFSET {_triple(offset)}"
            yield f"{inner}}}"
        stack.append(joint)
    while stack:
        stack.pop()
        yield f"{_indent(len(stack))}}}"


def _indent(depth: int) -> str:
    return "\t" * min(depth, _MAX_INDENT)


def _triple(values: list[float]) -> str:
    return " ".join(map(repr, values))


def _columns(clip: Clip) -> tuple[list[tuple[str, ...]], list[Floats]]:
    """Return the channels to write for each joint, and their numbers (frames, channels)."""
    skeleton, pose = clip.skeleton, clip.pose
    slack = tolerance(pose.positions.dtype) * np.abs(skeleton.offsets).max()
    moved = np.abs(pose.positions - skeleton.offsets).max(axis=0, initial=0.0) > slack
    channels, columns = [], []
    for joint, had in enumerate(skeleton.channels):
        rotations = pose.rotations[:, joint].astype(np.float64)
        orders = "".join(channel[0] for channel in had if channel in ROTATIONS)
        angles_deg = _partial_angles_deg(rotations, orders, tolerance(pose.rotations.dtype))
        has = had
        if angles_deg is None:
            has += tuple(channel for channel in ROTATIONS if channel not in had)
            orders = "".join(channel[0] for channel in has if channel in ROTATIONS)
            angles_deg = _angles_deg(rotations, orders)
        if any(moved[joint, axis] for axis, name in enumerate(POSITIONS) if name not in had):
            has = tuple(channel for channel in POSITIONS if channel not in had) + has
        channels.append(has)
        columns.append(_table(has, pose.positions[:, joint], angles_deg))
    return channels, columns


def _table(channels: tuple[str, ...], positions: Vectors, angles_deg: Floats) -> Floats:
    """Return positions and angles as `channels` order them."""
    table = np.empty((len(positions), len(channels)))
    turn = 0
    for column, channel in enumerate(channels):
        if channel in POSITIONS:
            table[:, column] = positions[:, POSITIONS.index(channel)]
        else:
            table[:, column] = angles_deg[:, turn]
            turn += 1
    return table


def _partial_angles_deg(rotations: Quats, order: str, slack: float) -> Floats | None:
    """Return angles (frames, n) about the n axes in `order`, or None where those do not suffice."""
    if len(order) == 3:
        return _angles_deg(rotations, order)
    if not order:
        still = angle_between(IDENTITY, rotations).max(initial=0.0) <= slack
        return np.zeros((len(rotations), 0)) if still else None
    full = order + "".join(channel[0] for channel in ROTATIONS if channel[0] not in order)
    angles = to_euler(rotations, full)
    first, middle, third = np.moveaxis(angles, -1, 0)
    # With the last angle at zero there is one answer, though it may be the other of the two
    # triples for this rotation, or be hidden by gimbal lock, where first and third are one turn.
    each = np.stack(
        [
            angles,
            _other_triple(angles),
            np.stack([first + third, middle, 0 * third], axis=-1),
            np.stack([first - third, middle, 0 * third], axis=-1),
        ]
    )[..., : len(order)]
    error = angle_between(from_euler(each, order), rotations)
    if error.min(axis=0).max(initial=0.0) > slack:
        return None
    best = np.take_along_axis(each, error.argmin(axis=0)[None, :, None], axis=0)[0]
    return _unwrap_deg(best)


def _angles_deg(rotations: Quats, order: str) -> Floats:
    """Return angles (frames, 3), degrees, that go on from frame to frame without a jump."""
    angles = to_euler(rotations, order)
    other = _other_triple(angles)
    # Changing to the other triple costs the same whichever of the two the frame before used.
    stay = np.abs(_wrap_angles(np.diff(angles, axis=0))).sum(axis=-1)
    change = np.abs(_wrap_angles(other[1:] - angles[:-1])).sum(axis=-1)
    changed = np.cumsum(np.concatenate([np.zeros(len(angles[:1])), change < stay])) % 2 == 1
    chosen = np.where(changed[:, None], other, angles)
    return _unwrap_deg(chosen)


def _unwrap_deg(angles: Floats) -> Floats:
    """Return `angles` (radians) in degrees, whole turns added so that no step is above 180."""
    angles_deg: Floats = np.unwrap(np.degrees(angles), axis=0, period=360.0)
    return angles_deg


def _other_triple(angles: Floats) -> Floats:
    """Return the other three angles, about three different axes, of the same rotations."""
    other: Floats = np.pi + angles * np.array([1.0, -1.0, 1.0])
    return other


def _wrap_angles(angles: Floats) -> Floats:
    """Return `angles` (radians) less whole turns, within ±pi."""
    return angles - 2 * np.pi * np.round(angles / (2 * np.pi))
