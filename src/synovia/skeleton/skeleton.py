"""Skeletons, poses and clips; forward kinematics; other axes, units and frame rates of clips."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from .. import kernels
from ..arrays import Ints, Quats, Scalars, Vectors, own, rows, unit_quats
from ..quat import IDENTITY, angle_between, exp, mul, rotate, slerp
from ..text import did_you_mean

POSITIONS = ("Xposition", "Yposition", "Zposition")
ROTATIONS = ("Zrotation", "Xrotation", "Yrotation")
CHANNELS = frozenset(POSITIONS + ROTATIONS)
"""Channels of a joint, named as in BVH."""
Axis = Literal["", "x", "y", "z"]
"""An axis of the world; empty if unknown."""
MAX_NAMED = 12  # joint names in an error message
MAX_FRAMES = 10**9  # more, 96 days at 120 Hz, are a mistake
_UPRIGHT = {
    "x": exp(np.array([0.0, 0.0, np.pi / 2])),
    "y": exp(np.zeros(3)),
    "z": exp(np.array([-np.pi / 2, 0.0, 0.0])),
}
"""Rotations that take each axis to y."""
NO_DIRECTION = 1e-9  # of the bones' total length; shorter sums of bones cancel


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A tree of named joints, parents before children.

    Rotations of poses are rest-aligned: at rest all are the identity, and all frames are parallel
    to the world's axes.

    Examples
    --------
    >>> arm = Skeleton(("Upper", "Lower"), [-1, 0], [[0.0, 1.4, 0.0], [0.3, 0.0, 0.0]])
    >>> arm.index("Lower"), len(arm)
    (1, 2)
    """

    names: tuple[str, ...]
    parents: Ints
    """(J,): index of the parent; -1 for roots."""
    offsets: Vectors
    """(J, 3): from the parent to the joint, at rest."""
    channels: tuple[tuple[str, ...], ...] = ()
    """Channels of each joint in a file; by default six for roots, Z, X, Y rotation for others."""
    end_parents: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(E,): joints of the end sites (tips of bones)."""
    end_offsets: Vectors = field(default_factory=lambda: np.zeros((0, 3)))
    """(E, 3): from those joints to the end sites."""
    rest_rotations: Quats = field(default_factory=lambda: np.zeros((0, 4)))
    """(J, 4): world rotations of the file's own joint frames at rest; identities by default."""
    up: Axis = ""
    unit: float = 0.0
    """Metres per unit of length; 0 if unknown."""

    def __post_init__(self) -> None:
        names = _check_names(self.names)
        count = len(names)
        object.__setattr__(self, "names", names)
        parents = _joint_indices("Skeleton.parents", self.parents)
        if parents.shape != (count,):
            raise ValueError(f"Skeleton.parents must have shape ({count},), got {parents.shape}")
        for joint, parent in enumerate(parents.tolist()):
            if not -1 <= parent < joint:
                raise ValueError(
                    f"Skeleton.parents must name an earlier joint, or -1 for a root, "
                    f"got {parent} for joint {joint} ({names[joint]})"
                )
        ends = _joint_indices("Skeleton.end_parents", self.end_parents)
        if ends.ndim != 1 or ((ends < 0) | (ends >= count)).any():
            raise ValueError(
                f"Skeleton.end_parents must be joints from 0 to {count - 1}, got {ends!r:.80}"
            )
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "end_parents", ends)
        if len(self.rest_rotations) == 0:
            object.__setattr__(self, "rest_rotations", np.tile(IDENTITY, (count, 1)))
        unit_quats("Skeleton.rest_rotations", self.rest_rotations)
        own(self, offsets=(count, 3), end_offsets=(len(ends), 3), rest_rotations=(count, 4))
        if self.up not in get_args(Axis):
            raise ValueError(f"Skeleton.up must be x, y or z, or empty, got {self.up!r}")
        if not 0.0 <= self.unit < math.inf:
            raise ValueError(f"Skeleton.unit must be metres, or 0 if unknown, got {self.unit}")
        channels = self.channels or tuple(
            POSITIONS + ROTATIONS if parent < 0 else ROTATIONS for parent in parents
        )
        object.__setattr__(self, "channels", _check_channels(channels, names))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Return the index of the joint with this name."""
        try:
            return self.names.index(name)
        except ValueError:
            rest = len(self) - MAX_NAMED
            others = f" and {rest} more" if rest > 0 else ""
            raise ValueError(
                f"no joint {name!r:.60}; {did_you_mean(name, self.names)}this skeleton has "
                f"{', '.join(self.names[:MAX_NAMED])}{others}"
            ) from None

    def children(self, joint: int) -> tuple[int, ...]:
        """Return the children of a joint, in order; for -1, the roots."""
        if not -1 <= joint < len(self):
            raise ValueError(f"joint must be from -1 to {len(self) - 1}, got {joint}")
        return tuple(np.flatnonzero(self.parents == joint).tolist())

    def ends_of(self, joint: int) -> Vectors:
        """Return the offsets (n, 3) of a joint's children and of its end sites."""
        children = self.offsets[list(self.children(joint))]
        return np.concatenate([children, self.end_offsets[self.end_parents == joint]])

    def path_to_root(self, joint: int) -> list[int]:
        """Return the indices of a joint and its ancestors, up to the root; empty for -1."""
        path = []
        while joint >= 0:
            path.append(joint)
            joint = int(self.parents[joint])
        return path

    @property
    def rest_directions(self) -> Vectors:
        """Unit vectors (J, 3) from each joint to the mean of its children and end sites.

        Zero if there are none, or if they cancel.
        """
        joints = np.flatnonzero(self.parents >= 0)
        owners = np.concatenate([self.parents[joints], self.end_parents])
        bones = np.concatenate([self.offsets[joints], self.end_offsets])
        total, lengths = np.zeros((len(self), 3)), np.linalg.norm(bones, axis=-1)
        np.add.at(total, owners, bones)
        length = np.linalg.norm(total, axis=-1)
        valid = length > NO_DIRECTION * np.bincount(owners, lengths, len(self))
        return np.where(valid[:, None], total / np.where(valid, length, 1.0)[:, None], 0.0)

    def rest_pose(self) -> Pose:
        """Return the pose with identity rotations, every joint at its offset."""
        rotations = np.zeros((len(self), 4))
        rotations[:, 0] = 1.0
        return Pose(rotations, self.offsets)


@dataclass(frozen=True, eq=False)
class Pose:
    """Rotations (..., J, 4) and positions (..., J, 3) of joints, relative to their parents.

    The arrays are read-only views, not copies.
    """

    rotations: Quats
    positions: Vectors

    def __post_init__(self) -> None:
        rotations = unit_quats("Pose.rotations", self.rotations)
        positions = rows("Pose.positions", self.positions, 3)
        if rotations.ndim < 2 or rotations.shape[:-1] != positions.shape[:-1]:
            raise ValueError(
                f"Pose.rotations (..., joints, 4) and Pose.positions (..., joints, 3) must agree, "
                f"got {rotations.shape} and {positions.shape}"
            )
        for name, array in (("rotations", rotations), ("positions", positions)):
            locked = array.view()
            locked.flags.writeable = False
            object.__setattr__(self, name, locked)

    def with_rotations(self, rotations: Quats) -> Pose:
        """Return this pose with other unit rotations of the same shape, without a check."""
        pose = object.__new__(Pose)
        rotations.flags.writeable = False
        object.__setattr__(pose, "rotations", rotations)
        object.__setattr__(pose, "positions", self.positions)
        return pose


@dataclass(frozen=True, eq=False)
class Clip:
    """Poses of a skeleton over time."""

    skeleton: Skeleton
    pose: Pose
    """Rotations (frames, J, 4) and positions (frames, J, 3); there may be no frames."""
    frame_time: float
    """Seconds between frames."""
    name: str = ""
    origin: object = field(default=None, repr=False)
    """Private data of the reader, with which the writer of the same format preserves the file."""

    def __post_init__(self) -> None:
        shape = self.pose.rotations.shape
        if len(shape) != 3:
            raise ValueError(
                f"Clip.pose must have rotations of shape (frames, joints, 4), got {shape}"
            )
        check_joints(self.skeleton, self.pose)
        if not (self.frame_time > 0.0 and math.isfinite(self.frame_time)):
            raise ValueError(
                f"Clip.frame_time must be above 0 seconds and finite, got {self.frame_time}"
            )
        object.__setattr__(self, "frame_time", float(self.frame_time))

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.pose.rotations.shape[0])

    @property
    def steps(self) -> Scalars:
        """Angles of joints between consecutive frames: (frames - 1, J), radians."""
        rotations = self.pose.rotations
        return angle_between(rotations[:-1], rotations[1:])


def forward(skeleton: Skeleton, pose: Pose) -> tuple[Vectors, Quats]:
    """Return world positions (..., J, 3) and world rotations (..., J, 4) of the joints.

    Examples
    --------
    >>> arm = Skeleton(("Upper", "Lower"), [-1, 0], [[0.0, 1.4, 0.0], [0.3, 0.0, 0.0]])
    >>> forward(arm, arm.rest_pose())[0].tolist()
    [[0.0, 1.4, 0.0], [0.3, 1.4, 0.0]]
    """
    check_joints(skeleton, pose)
    rotations = np.array(pose.rotations, np.float64, order="C")
    positions = np.array(pose.positions, np.float64, order="C")
    joints = len(skeleton)
    kernels.vector.forward(
        skeleton.parents, rotations.reshape(-1, joints, 4), positions.reshape(-1, joints, 3)
    )
    return (
        positions.astype(pose.positions.dtype, copy=False),
        rotations.astype(pose.rotations.dtype, copy=False),
    )


def end_positions(skeleton: Skeleton, pose: Pose) -> Vectors:
    """Return the world positions (..., E, 3) of the end sites."""
    positions, rotations = forward(skeleton, pose)
    ends = skeleton.end_parents
    offsets = skeleton.end_offsets.astype(positions.dtype)
    return positions[..., ends, :] + rotate(rotations[..., ends, :], offsets)


def check_joints(skeleton: Skeleton, pose: Pose) -> None:
    """Raise ValueError unless `pose` has as many joints as `skeleton`."""
    if pose.rotations.shape[-2] != len(skeleton):
        raise ValueError(
            f"pose must have the skeleton's {len(skeleton)} joints, got {pose.rotations.shape[-2]}"
        )


# Rotations of joints other than roots stay unchanged, bit for bit, so that limits hold as before.


def with_up(clip: Clip, up: Axis) -> Clip:
    """Return `clip` in a world with another up axis: rotations and positions of roots change.

    The skeleton at rest stays as it is. Clips without an up axis are taken to be y up.
    """
    if not up:
        raise ValueError("up must be x, y or z, got nothing")
    old = clip.skeleton.up or "y"
    skeleton = replace(clip.skeleton, up=up)
    if old == up:
        return replace(clip, skeleton=skeleton)
    turn = mul(_UPRIGHT[up] * np.array([1.0, -1.0, -1.0, -1.0]), _UPRIGHT[old])
    roots = np.flatnonzero(skeleton.parents < 0)
    rotations, positions = np.array(clip.pose.rotations), np.array(clip.pose.positions)
    rotations[:, roots] = mul(turn, rotations[:, roots])
    positions[:, roots] = rotate(turn, positions[:, roots])
    return replace(clip, skeleton=skeleton, pose=Pose(rotations, positions))


def with_unit(clip: Clip, unit: float) -> Clip:
    """Return `clip` with lengths in units of `unit` metres.

    Raises ValueError if the unit of the clip's skeleton is unknown.
    """
    skeleton = clip.skeleton
    if not 0.0 < unit < math.inf:
        raise ValueError(f"unit must be metres above 0, got {unit}")
    if not skeleton.unit:
        raise ValueError(f"{clip.name}: this clip does not say what unit its lengths are in")
    if skeleton.unit == unit:
        return clip
    scale = skeleton.unit / unit
    skeleton = replace(
        skeleton,
        offsets=scale * skeleton.offsets,
        end_offsets=scale * skeleton.end_offsets,
        unit=unit,
    )
    return replace(
        clip, skeleton=skeleton, pose=Pose(clip.pose.rotations, scale * clip.pose.positions)
    )


def resample(clip: Clip, frame_time: float) -> Clip:
    """Return `clip` with frames `frame_time` seconds apart, from its first frame on.

    Rotations are interpolated by slerp, positions linearly. Motion after the last new frame is
    lost.
    """
    if not (frame_time > 0.0 and math.isfinite(frame_time)):
        raise ValueError(f"frame_time must be above 0 seconds and finite, got {frame_time}")
    if frame_time == clip.frame_time or clip.frames < 2:
        return replace(clip, frame_time=frame_time)
    ratio = frame_time / clip.frame_time
    # The last frame is kept if rounding puts it just beyond the end.
    count = math.floor((clip.frames - 1) / ratio * (1.0 + 1e-12) + 1e-9) + 1
    if count > MAX_FRAMES:
        raise ValueError(f"{clip.name}: expected at most {MAX_FRAMES} frames, got {count}")
    at = np.minimum(np.arange(count) * ratio, clip.frames - 1)
    before = np.minimum(at.astype(np.int64), clip.frames - 2)
    share = at - before
    rotations, positions = clip.pose.rotations, clip.pose.positions
    weight = share[:, None, None]
    pose = Pose(
        slerp(rotations[before], rotations[before + 1], share[:, None]),
        (1.0 - weight) * positions[before] + weight * positions[before + 1],
    )
    return replace(clip, pose=pose, frame_time=frame_time)


def _joint_indices(name: str, values: Any) -> Ints:
    array = np.array(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be integers, got {values!r:.80}")
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"Skeleton.names must be non-empty strings, got {names!r:.80}")
    if not names:
        raise ValueError("Skeleton.names must name at least one joint, got none")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"Skeleton.names must differ from each other, got {twice!r} twice")
    return tuple(names)


def _check_channels(
    channels: Sequence[Sequence[str]], names: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    if len(channels) != len(names):
        raise ValueError(
            f"Skeleton.channels must have one entry for each of {len(names)} joints, "
            f"got {len(channels)}"
        )
    for name, each in zip(names, channels, strict=True):
        if isinstance(each, str) or not CHANNELS.issuperset(each) or len(set(each)) < len(each):
            raise ValueError(
                f"Skeleton.channels must be some of {', '.join(POSITIONS + ROTATIONS)}, "
                f"each once, got {each!r} for joint {name!r}"
            )
    return tuple(tuple(each) for each in channels)
