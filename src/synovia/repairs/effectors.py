"""Effectors: the hands, feet and head that a repair keeps in place, and contacts of the feet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Quats, Scalars, Vectors
from ..rigs import Rig
from ..rigs.human import SIDES
from ..rigs.stance import world_up
from ..skeleton import Clip, Pose, Skeleton, forward

KEEP = ("hands", "feet", "head")
"""What a repair can keep."""
ROLES = {
    "hands": [f"{side}Hand" for side in SIDES],
    "feet": [f"{side}{bone}" for bone in ("Foot", "Toes") for side in SIDES],
    "head": ["head"],
}
"""Roles of the joints to keep. Hands and feet keep their positions, the head its rotation."""
ANKLE_TO_HEAD = 0.84  # share of a person's height along the bones, from ankle to head joint
CONTACT_HEIGHT = 0.03  # of the height: a foot in contact is at most so far above its lowest
CONTACT_SPEED = 0.15  # heights a second, about 0.25 m/s; feet in contact are slower
FLOOR_PERCENTILE = 5.0  # of a foot's heights: its lowest, but for a few wrong frames
FREE_FOOT_WEIGHT = 0.1  # of the error of a foot in the air, relative to one in contact
POSITION_TOLERANCE = 0.003  # of the height: 5 mm for a person of 1.7 m
ROTATION_TOLERANCE = float(np.radians(3.0))  # radians, for the head


@dataclass(frozen=True, eq=False)
class Effectors:
    """Joints of a clip that should stay where they are, with their positions and rotations."""

    skeleton: Skeleton
    points: list[int]
    """Joints of hands and feet, P of them."""
    head: int | None
    height: float
    """Height of the body, in the skeleton's unit."""
    positions: Vectors
    """Positions (frames, P, 3) of hands and feet in the world."""
    head_rotations: Quats
    """Rotations (frames, 4) of the head in the world; the identity without a head."""
    in_contact: Mask
    """Points (frames, P) to keep: feet in contact with the ground, and all hands."""

    @classmethod
    def of(cls, rig: Rig, clip: Clip, keep: Sequence[str]) -> Effectors:
        """Return those of a clip, as far as its rig has them; `keep` are names among `KEEP`."""
        names = {
            kind: [rig.starts[role] for role in ROLES[kind] if role in rig.starts] for kind in keep
        }
        hands, feet, heads = (
            [rig.skeleton.index(name) for name in names.get(kind, [])] for kind in KEEP
        )
        points, head = [*hands, *feet], heads[0] if heads else None
        world, rotations = forward(clip.skeleton, clip.pose)
        height = body_height(rig)
        up = world_up(rig, [clip]) if feet else np.zeros(3)
        in_contact: Mask = np.ones((clip.frames, len(points)), np.bool_)
        for k, foot in enumerate(feet, len(hands)):
            in_contact[:, k] = find_contacts(world[:, foot], up, height, clip.frame_time)
        identity = np.broadcast_to(quat.IDENTITY, (clip.frames, 4))
        return cls(
            clip.skeleton,
            points,
            head,
            height,
            world[:, points],
            identity if head is None else rotations[:, head],
            in_contact,
        )

    def at(self, frames: Ints) -> Effectors:
        """Return those of some frames."""
        return replace(
            self,
            positions=self.positions[frames],
            head_rotations=self.head_rotations[frames],
            in_contact=self.in_contact[frames],
        )

    def errors(self, pose: Pose) -> tuple[Scalars, Scalars]:
        """Return how far points moved (frames, P), and by what angle the head rotated (frames,).

        Distances are in the skeleton's unit, angles in radians.
        """
        world, rotations = forward(self.skeleton, pose)
        moved = np.linalg.norm(world[:, self.points] - self.positions, axis=-1)
        if self.head is None:
            return moved, np.zeros(len(moved))
        return moved, quat.angle_between(self.head_rotations, rotations[:, self.head])

    def find_lost(self, pose: Pose) -> Mask:
        """Return which joints (frames, J) are not where they were, beyond tolerances."""
        moved, angle = self.errors(pose)
        lost = np.zeros(pose.rotations.shape[:-1], np.bool_)
        lost[:, self.points] = self.in_contact & (moved > POSITION_TOLERANCE * self.height)
        if self.head is not None:
            lost[:, self.head] = angle > ROTATION_TOLERANCE
        return lost

    def worst(self, pose: Pose) -> Scalars:
        """Return the largest error in each frame (frames,), in tolerances: kept up to 1.

        Errors of feet in the air count with `FREE_FOOT_WEIGHT`.
        """
        moved, angle = self.errors(pose)
        weights = np.where(self.in_contact, 1.0, FREE_FOOT_WEIGHT)
        shares = (weights * moved).max(axis=1, initial=0.0) / (POSITION_TOLERANCE * self.height)
        return np.asarray(np.maximum(shares, angle / ROTATION_TOLERANCE))


def body_height(rig: Rig) -> float:
    """Return the height of a person with these bones, in the skeleton's unit.

    It is estimated from the length of the bones from an ankle to the head; 1 if there are none.
    """
    skeleton = rig.skeleton
    lengths = np.linalg.norm(skeleton.offsets, axis=-1)
    for side in SIDES:
        ends = [rig.starts.get(role) for role in (f"{side}Foot", "head")]
        if None not in ends:
            one, other = (set(skeleton.path_to_root(skeleton.index(str(name)))) for name in ends)
            total = float(lengths[sorted(one ^ other)].sum())
            if total > 0.0:
                return total / ANKLE_TO_HEAD
    return 1.0


def find_contacts(path: Vectors, up: Vectors, height: float, frame_time: float) -> Mask:
    """Return in which frames a point of a foot is on the ground: low, and hardly moving.

    `path` (frames, 3) are its positions, `up` the world's unit direction, `height` the body's.
    """
    if len(path) < 2:
        return np.ones(len(path), np.bool_)
    above = path @ up
    low = above - np.percentile(above, FLOOR_PERCENTILE) < CONTACT_HEIGHT * height
    steps = np.linalg.norm(np.diff(path, axis=0), axis=-1) / (height * frame_time)
    slow = np.minimum(np.append(steps[:1], steps), np.append(steps, steps[-1:])) < CONTACT_SPEED
    return np.asarray(low & slow)
