"""A chain of seven hinges with ranges, as Synovia, MuJoCo and plain NumPy have it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ... import quat
from ...arrays import Floats, Quats, Scalars, Vectors
from ...model import LimitModel
from ...skeleton import Pose, Skeleton, forward
from .arm_model import hinge


@dataclass(frozen=True)
class Hinge:
    """A hinge: how far along x after the last, its axis, and its range in degrees."""

    offset: float
    axis: tuple[float, float, float]
    low_deg: float
    high_deg: float


HINGES = (
    Hinge(0.0, (0.0, 0.0, 1.0), -90.0, 90.0),
    Hinge(0.0, (0.0, -1.0, 0.0), -90.0, 90.0),
    Hinge(0.0, (1.0, 0.0, 0.0), -70.0, 70.0),
    Hinge(0.30, (0.0, -1.0, 0.0), 0.0, 150.0),
    Hinge(0.13, (1.0, 0.0, 0.0), -80.0, 80.0),
    Hinge(0.13, (0.0, -1.0, 0.0), -50.0, 50.0),
    Hinge(0.0, (0.0, 0.0, 1.0), -30.0, 30.0),
)
"""Shoulder of three, elbow, forearm, wrist of two."""
TIP = 0.08
LENGTH = sum(each.offset for each in HINGES) + TIP
NAMES = tuple(f"Hinge{k}" for k in range(len(HINGES)))
CLOSE, STRAIGHT = 1e-3 * LENGTH, float(np.radians(0.2))
AXES = np.array([each.axis for each in HINGES])
CROSSES = np.cross(AXES[:, None], -np.eye(3))
"""The matrices of a vector product with each axis: (7, 3, 3)."""
ALONG = np.array([*(each.offset for each in HINGES[1:]), TIP])
TURN_SHARE = 0.3  # of the chain's length: what a radian counts for, as in `solve`
RANGES = np.radians([[each.low_deg, each.high_deg] for each in HINGES]).T
START = np.radians([0.0, 0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
"""The elbow is bent: stretched out, every solver is stuck."""


@cache
def chain_model() -> LimitModel:
    """Return the chain's limits with its skeleton, the hand at the end; the same at every call."""
    offsets = np.array([[each.offset, 0.0, 0.0] for each in HINGES] + [[TIP, 0.0, 0.0]])
    skeleton = Skeleton((*NAMES, "Hand"), np.arange(len(offsets)) - 1, offsets)
    limits = {
        name: hinge(np.array(each.axis), *np.radians([each.low_deg, each.high_deg]))
        for name, each in zip(NAMES, HINGES, strict=True)
    }
    return LimitModel(limits, skeleton)


def posed(skeleton: Skeleton, angles: Floats) -> Pose:
    """Return the pose of angles (..., 7)."""
    rest = skeleton.rest_pose()
    turns = quat.exp(angles[..., None] * AXES)
    hand = np.broadcast_to(rest.rotations[-1], (*angles.shape[:-1], 1, 4))
    positions = np.broadcast_to(rest.positions, (*angles.shape[:-1], *rest.positions.shape))
    return Pose(np.concatenate([turns, hand], axis=-2), positions)


def hand_at(skeleton: Skeleton, angles: Floats) -> tuple[Vectors, Quats]:
    """Return where the hand is (..., 3), and its rotation in the world (..., 4)."""
    where, how = forward(skeleton, posed(skeleton, angles))
    return where[..., -1, :], how[..., -1, :]


def angles_of(pose: Pose) -> Floats:
    """Return the angles (..., 7) of a pose whose joints turn about their own axes."""
    vectors = quat.log(pose.rotations[..., : len(NAMES), :])
    return np.asarray((vectors * AXES).sum(axis=-1))


def within_ranges(angles: Floats) -> bool:
    """Tell whether all angles are in range, to a millionth of a radian."""
    return bool(((angles >= RANGES[0] - 1e-6) & (angles <= RANGES[1] + 1e-6)).all())


def as_mjcf() -> str:
    """Return the chain as a model for MuJoCo."""
    opening, closing = [], []
    for name, each in zip(NAMES, HINGES, strict=True):
        axis = " ".join(f"{value:g}" for value in each.axis)
        opening.append(
            f'<body name="{name}" pos="{each.offset} 0 0">'
            f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
            f'<joint type="hinge" axis="{axis}" range="{each.low_deg} {each.high_deg}"/>'
        )
        closing.append("</body>")
    tip = f'<site name="hand" pos="{TIP} 0 0"/>'
    inside = "".join(opening) + tip + "".join(closing)
    return (
        '<mujoco><compiler angle="degree" autolimits="true"/>'
        f"<worldbody>{inside}</worldbody></mujoco>"
    )


class PlainChain:
    """The same chain as a residual with its slopes, in matrices, for SciPy's least squares."""

    def __init__(self, target: Vectors, turn: Quats | None) -> None:
        self.target = target
        self.turn = None if turn is None else quat.to_matrix(turn)

    def residual(self, angles: Scalars) -> Scalars:
        """Return what is left of the goal: lengths over the chain's, then 0.3 of radians."""
        from scipy.spatial.transform import Rotation

        places, turns = self._walk(angles)
        off = (places[-1] - self.target) / LENGTH
        if self.turn is None:
            return np.asarray(off)
        twist = Rotation.from_matrix(turns[-1] @ self.turn.T).as_rotvec()
        return np.concatenate([off, TURN_SHARE * twist])

    def slopes(self, angles: Scalars) -> Floats:
        """Return how the residual changes with each angle, (3 or 6, 7), near the goal."""
        places, turns = self._walk(angles)
        axes = np.einsum("kij,kj->ki", turns, AXES)
        moving = np.cross(axes, places[-1] - places[:-1]).T / LENGTH
        if self.turn is None:
            return np.asarray(moving)
        return np.concatenate([moving, TURN_SHARE * axes.T])

    def _walk(self, angles: Scalars) -> tuple[Vectors, Floats]:
        """Return places of hinges and hand (8, 3), and rotations after each hinge (7, 3, 3)."""
        sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
        turns = np.eye(3) + sine * CROSSES + (1.0 - cosine) * (CROSSES @ CROSSES)
        places = np.zeros((len(HINGES) + 1, 3))
        for k in range(len(HINGES)):
            if k > 0:
                turns[k] = turns[k - 1] @ turns[k]
            places[k + 1] = places[k] + ALONG[k] * turns[k, :, 0]
        return places, turns
