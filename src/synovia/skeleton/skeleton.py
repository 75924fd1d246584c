"""Skeletons, poses and clips, and where a pose puts the joints in the world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from .. import kernels
from ..arrays import Ints, Quats, Scalars, Vectors, own, rows, unit_quats
from ..quat import IDENTITY, angle_between, rotate

POSITIONS = ("Xposition", "Yposition", "Zposition")
ROTATIONS = ("Zrotation", "Xrotation", "Yrotation")
CHANNELS = frozenset(POSITIONS + ROTATIONS)
"""The channels a joint may have, by the names that BVH gives them."""
Axis = Literal["", "x", "y", "z"]
"""An axis of the world; empty where a file does not say."""
MAX_NAMED = 12
"""How many joints are named where none of a skeleton was meant."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joints by name, parents before children; a root's parent is -1.

    `offsets` (J, 3) lead from the parent to the joint. `channels` name what a file holds of each
    joint, in its order: six for a root and Z, X, Y rotation for the others unless given. End sites
    are the tips of bones: the joint each hangs on, and the way to it.

    Rotations of poses are rest-aligned: at rest all are the identity, and all see the axes of the
    world. What a file needs beyond that to be written again is kept where it is known:
    `rest_rotations` (J, 4), how the file's own frame of each joint is turned in the world at rest;
    `up`, which axis of the world is up; and `unit`, how many metres a unit of length has, 0 where
    the file does not say.

    Examples
    --------
    >>> arm = Skeleton(("Upper", "Lower"), [-1, 0], [[0.0, 1.4, 0.0], [0.3, 0.0, 0.0]])
    >>> arm.index("Lower"), len(arm)
    (1, 2)
    """

    names: tuple[str, ...]
    parents: Ints
    offsets: Vectors
    channels: tuple[tuple[str, ...], ...] = ()
    end_parents: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    end_offsets: Vectors = field(default_factory=lambda: np.zeros((0, 3)))
    rest_rotations: Quats = field(default_factory=lambda: np.zeros((0, 4)))
    up: Axis = ""
    unit: float = 0.0

    def __post_init__(self) -> None:
        names = _check_names(self.names)
        count = len(names)
        object.__setattr__(self, "names", names)
        parents = _joints("Skeleton.parents", self.parents)
        if parents.shape != (count,):
            raise ValueError(f"Skeleton.parents must have shape ({count},), got {parents.shape}")
        for joint, parent in enumerate(parents.tolist()):
            if not -1 <= parent < joint:
                raise ValueError(
                    f"Skeleton.parents must name an earlier joint, or -1 for a root, "
                    f"got {parent} for joint {joint} ({names[joint]})"
                )
        ends = _joints("Skeleton.end_parents", self.end_parents)
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
        """Return the number of the joint with this name."""
        try:
            return self.names.index(name)
        except ValueError:
            by_small = {each.lower(): each for each in self.names}
            close = [by_small[each] for each in get_close_matches(str(name).lower(), by_small)]
            hint = f"did you mean {' or '.join(close)}? " if close else ""
            rest = len(self) - MAX_NAMED
            others = f" and {rest} more" if rest > 0 else ""
            raise ValueError(
                f"no joint {name!r:.60}; {hint}this skeleton has "
                f"{', '.join(self.names[:MAX_NAMED])}{others}"
            ) from None

    def children(self, joint: int) -> tuple[int, ...]:
        """Return the joints whose parent is `joint`, in order; those of -1 are the roots."""
        if not -1 <= joint < len(self):
            raise ValueError(f"joint must be from -1 to {len(self) - 1}, got {joint}")
        return tuple(np.flatnonzero(self.parents == joint).tolist())

    def path_to_root(self, joint: int) -> list[int]:
        """Return the numbers of a joint and of all its ancestors, the root last; none of -1."""
        path = []
        while joint >= 0:
            path.append(joint)
            joint = int(self.parents[joint])
        return path

    @property
    def rest_directions(self) -> Vectors:
        """Unit vectors (J, 3) from each joint to the mean of its children and end sites.

        Zero where there are none, or where they cancel.
        """
        limbs = np.flatnonzero(self.parents >= 0)
        owners = np.concatenate([self.parents[limbs], self.end_parents])
        ways = np.concatenate([self.offsets[limbs], self.end_offsets])
        total = np.zeros((len(self), 3))
        reach = np.zeros(len(self))
        np.add.at(total, owners, ways)
        np.add.at(reach, owners, np.linalg.norm(ways, axis=-1))
        length = np.linalg.norm(total, axis=-1)
        points = length > 1e-9 * reach
        return np.where(points[:, None], total / np.where(points, length, 1.0)[:, None], 0.0)

    def rest_pose(self) -> Pose:
        """Return the pose without any turn, every joint at its offset."""
        rotations = np.zeros((len(self), 4))
        rotations[:, 0] = 1.0
        return Pose(rotations, self.offsets)


@dataclass(frozen=True, eq=False)
class Pose:
    """Rotations (..., J, 4) and positions (..., J, 3) of joints, each as its parent sees it.

    The arrays are locked views, not copies: a clip's worth may be large.
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
        """Return this pose with other rotations of the same shape, known to be unit: unchecked."""
        pose = object.__new__(Pose)
        rotations.flags.writeable = False
        object.__setattr__(pose, "rotations", rotations)
        object.__setattr__(pose, "positions", self.positions)
        return pose


@dataclass(frozen=True, eq=False)
class Clip:
    """Poses of a skeleton, frames first, `frame_time` seconds apart; there may be none.

    `origin` is what a reader keeps of its file, so that the writer of the same format can change
    the motion and leave all else as it was; nobody else looks into it. `start` is the number of the
    first frame, where a clip is a chunk of a longer one.
    """

    skeleton: Skeleton
    pose: Pose
    frame_time: float
    name: str = ""
    origin: object = field(default=None, repr=False)
    start: int = 0

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
        """How many frames there are."""
        return int(self.pose.rotations.shape[0])

    @property
    def steps(self) -> Scalars:
        """The angle of each joint from each frame to the next: (frames - 1, joints), radians."""
        rotations = self.pose.rotations
        return angle_between(rotations[:-1], rotations[1:])


def forward(skeleton: Skeleton, pose: Pose) -> tuple[Vectors, Quats]:
    """Return the positions (..., J, 3) and rotations (..., J, 4) of the joints in the world.

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
    kernels.skeleton.forward(
        skeleton.parents, rotations.reshape(-1, joints, 4), positions.reshape(-1, joints, 3)
    )
    return (
        positions.astype(pose.positions.dtype, copy=False),
        rotations.astype(pose.rotations.dtype, copy=False),
    )


def end_positions(skeleton: Skeleton, pose: Pose) -> Vectors:
    """Return the positions (..., E, 3) of the end sites in the world."""
    positions, rotations = forward(skeleton, pose)
    ends = skeleton.end_parents
    ways = skeleton.end_offsets.astype(positions.dtype)
    return positions[..., ends, :] + rotate(rotations[..., ends, :], ways)


def check_joints(skeleton: Skeleton, pose: Pose) -> None:
    """Raise ValueError unless `pose` has as many joints as `skeleton`."""
    if pose.rotations.shape[-2] != len(skeleton):
        raise ValueError(
            f"pose must have the skeleton's {len(skeleton)} joints, got {pose.rotations.shape[-2]}"
        )


def _joints(name: str, values: Any) -> Ints:
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
        twice = next(name for place, name in enumerate(names) if name in names[:place])
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
