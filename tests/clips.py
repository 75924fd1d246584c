"""Small clips that the tests make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synovia import Clip, Limit, Pose, Skeleton, quat
from synovia.limit.softening import Softening
from synovia.model import JointLimit
from synovia.model.clamp import clamp_paths

NAMES = ("Hips", "Chest", "LeftArm", "LeftForeArm", "LeftHand")


def skeleton(names: tuple[str, ...] = NAMES) -> Skeleton:
    """A chain: hips, chest, and an arm along x, with the hand's tip as its end site."""
    offsets = np.array([[0, 1, 0], [0, 0.3, 0], [0.2, 0.2, 0], [0.3, 0, 0], [0.25, 0, 0]], float)
    return Skeleton(names, np.arange(-1, 4), offsets, end_parents=[4], end_offsets=[[0.1, 0, 0]])


def wave(frames: int, freedoms: int, size: float, seed: int) -> np.ndarray:
    """Smooth curves (frames, freedoms) within `size` radians or so."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
    speeds, phases = rng.uniform(1.0, 3.0, freedoms), rng.uniform(0.0, 6.0, freedoms)
    return size * np.sin(speeds * t + phases)


@dataclass(frozen=True, eq=False)
class ClampedPath:
    """A path (frames, 4) of one joint, and the indices of frames as in `ClampedPaths`."""

    rotations: np.ndarray
    moved: np.ndarray
    over: np.ndarray


def clamp_path(
    limit: Limit, path: np.ndarray, bounds: np.ndarray, softening: Softening | None = None
) -> ClampedPath:
    """Clamp the path (frames, 4) of one joint."""
    found = clamp_paths(JointLimit("joint", limit), path[:, None], bounds[:, None], softening)
    masks = (np.flatnonzero(mask[:, 0]) for mask in (found.moved, found.over))
    return ClampedPath(found.rotations[:, 0], *masks)


def clip(
    name: str = "ann_01", *, frames: int = 240, size: float = 0.5, seed: int = 0, fps: float = 60.0
) -> Clip:
    """The chain in motion: chest and upper arm as balls, forearm as a hinge, hand fixed."""
    bones = skeleton()
    vectors = np.zeros((frames, 5, 3))
    vectors[:, 1] = wave(frames, 3, 0.4 * size, seed)
    vectors[:, 2] = wave(frames, 3, size, seed + 1)
    vectors[:, 3, 1] = size * (1.0 + np.sin(np.linspace(0.0, 9.0, frames) + seed))
    positions = np.tile(bones.offsets, (frames, 1, 1))
    return Clip(bones, Pose(quat.exp(vectors), positions), 1.0 / fps, name)


def person(
    name: str, seed: int = 0, *, tall: float = 1.0, size: float = 0.5, frames: int = 120
) -> Clip:
    """The same by somebody with bones of their own."""
    acted = clip(name, frames=frames, size=size, seed=seed)
    bones, pose = acted.skeleton, acted.pose
    own = Skeleton(
        bones.names,
        bones.parents,
        tall * bones.offsets,
        bones.channels,
        bones.end_parents,
        tall * bones.end_offsets,
    )
    return Clip(own, Pose(pose.rotations, tall * pose.positions), acted.frame_time, name)


def chain(count: int, names: tuple[str, ...] | None = None) -> Clip:
    """As many joints as asked for, or named, one upon the other, at rest in one frame."""
    names = tuple(f"Joint{k}" for k in range(count)) if names is None else names
    offsets = np.tile([0.0, 0.1, 0.02], (len(names), 1))
    skeleton = Skeleton(names, np.arange(len(names)) - 1, offsets)
    rest = skeleton.rest_pose()
    return Clip(skeleton, Pose(rest.rotations[None], rest.positions[None]), 0.1, "one frame")
