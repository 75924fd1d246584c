"""What kind of joint is this: fixed, hinge, universal or ball?

Unit quaternions lie on a sphere in four dimensions. Rotations of a fixed joint are one point of
it, of a hinge a great circle, of a swing without twist a great sphere: subspaces of 1, 2 and 3
dimensions, which need no reference and fit a turn of 300 degrees as well as one of three. A point
at distance sin(x / 2) from the subspace is x radians from the nearest rotation in it.

A universal joint turns about an axis a of the parent and an axis b of the child, which stay at the
same angle to each other: a . (R b) is constant, and that says all. So of all pairs of axes the one
with the steadiest angle is looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Quats, Scalars, Vectors, own, unit_quats, unit_vectors
from ..skeleton import Clip
from .takes import invented_first_frame, takes_of

DEGREES_OF_FREEDOM = {"fixed": 0, "hinge": 1, "universal": 2, "ball": 3}
"""In how many directions joints of each kind turn."""
SLACK = np.radians(1.0)
"""Rotations this near to a kind of joint, in radians, are of that kind."""
OUTLIER_SHARE = 0.001
"""The share of rotations that may lie anywhere."""
MAX_ROTATIONS = 4000
"""So many rotations, evenly spaced, tell the kind; more only take time."""
MIN_AXIS_ANGLE = np.radians(15.0)
"""Axes of a universal joint nearer than this, in radians, are a hinge that wobbles."""
ROUNDS = 3
"""A fit is repeated so often, each time without what the last one made out to be outliers."""
RACE_STEPS = 15
"""Pairs of axes from different starts go on for so many steps; then the best is known."""


@dataclass(frozen=True, eq=False)
class JointKind:
    """A joint's `kind`, and how far it turns about each of its axes from its mean rotation."""

    kind: str
    """One of `DEGREES_OF_FREEDOM`."""
    mean: Quats
    """(4,): the rotation that `ranges` are measured from."""
    axes: Vectors
    """(freedoms, 3): unit axes in the parent's frame.

    A hinge is turn(a, s) mean. A universal joint with axes a and b is turn(a, s) turn(b, t) mean,
    or, where it is a swing without twist, exp(s a + t b) mean; a ball is the like with three.
    """
    ranges: Floats
    """(freedoms, 2): the lowest and the highest of s, t and so on, in radians."""

    def __post_init__(self) -> None:
        if self.kind not in DEGREES_OF_FREEDOM:
            raise ValueError(
                f"no kind of joint {self.kind!r}; there are {', '.join(DEGREES_OF_FREEDOM)}"
            )
        freedoms = DEGREES_OF_FREEDOM[self.kind]
        own(self, mean=(4,), axes=(freedoms, 3), ranges=(freedoms, 2))


def joint_kind(rotations: Quats, slack: float = SLACK) -> JointKind:
    """Return the simplest kind of joint that comes within `slack` radians of all `rotations`.

    All but one in a thousand, that is, of (n, 4).
    """
    rotations = _subsample(unit_quats("rotations", rotations).reshape(-1, 4))
    if len(rotations) == 0:
        raise ValueError("joint_kind needs at least one rotation, got none")
    frame, off_point = _subspace(rotations, 1)
    if off_point <= slack:
        return JointKind("fixed", frame[0], np.empty((0, 3)), np.empty((0, 2)))
    frame, off_circle = _subspace(rotations, 2)
    if off_circle <= slack:
        axes = _axes(frame, 1)
        quarter = quat.mul(np.array([0.0, *axes[0]]), frame[0])
        turns = 2.0 * np.arctan2(rotations @ quarter, rotations @ frame[0])
        return JointKind("hinge", frame[0], axes, np.array([_range(turns, TURN)]))
    frame, off_sphere = _subspace(rotations, 3)
    mean = frame[0]
    a, b, off_pair = _steadiest_pair(quat.to_matrix(rotations))
    if off_pair <= slack and off_pair <= off_sphere:
        axes = np.stack([_fix_signs(a), _fix_signs(quat.rotate(mean, b))])
        return JointKind("universal", mean, axes, _turns_about_pair(rotations, mean, axes))
    kind = "universal" if off_sphere <= slack else "ball"
    axes = _axes(frame, DEGREES_OF_FREEDOM[kind])
    along = quat.log(quat.mul(rotations, quat.inverse(mean))) @ axes.T
    return JointKind(kind, mean, axes, np.array([_range(angles) for angles in along.T]))


def _subspace(rotations: Quats, dimensions: int) -> tuple[Floats, float]:
    """Return the principal quaternions, strongest first, and how far, in radians, rotations lie
    from the span of the first `dimensions` of them.
    """
    inliers = rotations
    for _ in range(ROUNDS):
        frame = np.linalg.eigh(inliers.T @ inliers)[1].T[::-1]
        off = np.linalg.norm(rotations @ frame[dimensions:].T, axis=-1)
        extent = _extent(off)
        inliers = rotations[off <= extent]
    frame[0] *= np.copysign(1.0, frame[0, 0])
    return frame, 2.0 * np.arcsin(min(extent, 1.0))


def _axes(frame: Quats, count: int) -> Vectors:
    """Return the parent's axes that lead from the first quaternion of `frame` to the next ones."""
    return _fix_signs(quat.mul(frame[1 : count + 1], quat.inverse(frame[0]))[:, 1:])


def _steadiest_pair(matrices: Floats) -> tuple[Vectors, Vectors, float]:
    """Return the axes a of the parent and b of the child whose angle changes least, and how much.

    Minimises Var(a . R b) / (1 - (a . E[R] b)^2), nearly the variance of the angle, for a and for
    b in turn: each is an eigenvalue problem of 3 x 3. Many starts go some steps, the best goes on.
    """
    inliers = matrices
    starts = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)[14:]
    b = unit_vectors(starts)
    for _ in range(ROUNDS):
        mean = inliers.mean(axis=0)
        spread = (inliers - mean).reshape(-1, 9)
        covariance = (spread.T @ spread / len(spread)).reshape(3, 3, 3, 3)
        for step in range(100):
            before = b
            a, _ = _steadiest(np.einsum("ijkl,sj,sl->sik", covariance, b, b), b @ mean.T)
            b, ratio = _steadiest(np.einsum("ijkl,si,sk->sjl", covariance, a, a), a @ mean)
            if np.abs(np.abs(np.sum(b * before, axis=-1)) - 1.0).max() < 1e-12:
                break
            if step == RACE_STEPS:
                b = b[[ratio.argmin()]]
        best = int(ratio.argmin())
        carried = matrices @ b[best]
        angles = np.arctan2(np.linalg.norm(np.cross(a[best], carried), axis=-1), carried @ a[best])
        low, high = _range(angles)
        off = np.abs(angles - 0.5 * (low + high))
        inliers = matrices[off <= _extent(off)]
    apart = MIN_AXIS_ANGLE < 0.5 * (low + high) < np.pi - MIN_AXIS_ANGLE
    return a[best], b[best], 0.5 * (high - low) if apart else np.inf


def _steadiest(covariance: Floats, mean: Vectors) -> tuple[Vectors, Scalars]:
    """Return the unit x that minimises x' covariance x / (1 - (x . mean)^2), and the minimum."""
    square = np.sum(mean * mean, axis=-1)[:, None, None]
    stretch = (1.0 / np.sqrt(np.maximum(1.0 - square, 1e-12)) - 1.0) / np.maximum(square, 1e-12)
    root = np.eye(3) + stretch * mean[:, :, None] * mean[:, None, :]
    values, vectors = np.linalg.eigh(root @ covariance @ root)
    x = (root @ vectors[:, :, :1])[:, :, 0]
    return unit_vectors(x), values[:, 0]


def _turns_about_pair(rotations: Quats, mean: Quats, axes: Vectors) -> Floats:
    """Return the ranges of the angles s and t with rotation = turn(a, s) turn(b, t) mean."""
    a, b = axes
    moved = quat.mul(rotations, quat.inverse(mean))
    s = _azimuth(quat.rotate(moved, b), a, b)
    t = -_azimuth(quat.rotate(quat.inverse(moved), a), b, a)
    return np.array([_range(s, TURN), _range(t, TURN)])


def _azimuth(vectors: Vectors, axis: Vectors, start: Vectors) -> Scalars:
    """Return the angle about `axis` from `start` to each of `vectors`, in radians."""
    across = np.cross(axis, start)
    return np.arctan2(vectors @ across, vectors @ np.cross(across, axis))


def _range(values: Scalars, period: float = 0.0) -> tuple[float, float]:
    """Return the shortest interval of all `values` but outliers, around 0 if it can be."""
    ordered = np.sort(values - period * np.round(values / (period or 1.0)))
    count = _inlier_count(ordered)
    if period:
        ordered = np.concatenate([ordered, ordered[: count - 1] + period])
    widths = ordered[count - 1 :] - ordered[: len(ordered) - count + 1]
    start = int(widths.argmin())
    low, high = float(ordered[start]), float(ordered[start + count - 1])
    if period and low > 0.0 and high >= period:
        return low - period, high - period
    return low, high


def _extent(off: Scalars) -> float:
    """Return the largest of `off` but for the share that is ignored."""
    return float(np.partition(off, _inlier_count(off) - 1)[_inlier_count(off) - 1])


def _inlier_count(values: Scalars) -> int:
    """Return how many of `values` count."""
    return len(values) - int(OUTLIER_SHARE * len(values))


def _fix_signs(axes: Vectors) -> Vectors:
    """Return `axes` with signs such that the largest component of each is positive."""
    largest = np.abs(axes).argmax(axis=-1, keepdims=True)
    upright: Vectors = axes * np.sign(np.take_along_axis(axes, largest, axis=-1))
    return upright


def _subsample(rotations: Quats) -> Quats:
    every = np.arange(len(rotations))
    if len(rotations) > MAX_ROTATIONS:
        every = np.linspace(0, len(rotations) - 1, MAX_ROTATIONS).astype(int)
    return np.asarray(rotations[every], dtype=np.float64)


def joint_kinds(
    clips: Sequence[Clip], *, names: Mapping[str, str] | None = None
) -> dict[str, JointKind]:
    """Return what kind of joint each joint of the first clip is, from the frames of all.

    `names` maps names of joints of the clips to those of the first.
    """
    joints = clips[0].skeleton.names
    invented = [invented_first_frame(clip) for clip in clips]
    takes = takes_of(clips, joints, drop_first=invented, names=names)
    return {
        joint: joint_kind(np.concatenate([take.rotations for take in takes[joint]]))
        for joint in joints
        if takes[joint]
    }
