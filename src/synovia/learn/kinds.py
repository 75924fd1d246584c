"""Classification of joints by their rotations: fixed, hinge, universal or ball.

Unit quaternions lie on a sphere in four dimensions. Rotations of a fixed joint are one point of
it, those of a hinge a great circle, those of a swing without twist a great sphere: subspaces of 1,
2 and 3 dimensions, which need no reference. A point at distance sin(x / 2) from the subspace is x
radians from the nearest rotation in it.

A joint of two axes, each fixed in one of the bones, as in a cardan shaft, is classified as a ball,
because its rotations are not a subspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Quats, Scalars, Vectors, evenly_spaced, own, unit_quats
from ..skeleton import Clip
from .takes import takes_of

DEGREES_OF_FREEDOM = {"fixed": 0, "hinge": 1, "universal": 2, "ball": 3}
SLACK = np.radians(1.0)  # radians; noise of optical capture
OUTLIER_SHARE = 0.001  # of rotations that are ignored
MAX_ROTATIONS = 4000  # evenly spaced; more do not change the kind
SUBSPACE_FITS = 3  # each without the outliers of the previous one


@dataclass(frozen=True, eq=False)
class JointKind:
    """The kind of a joint, and its range of motion about each axis."""

    kind: str
    """One of `DEGREES_OF_FREEDOM`."""
    mean: Quats
    """(4,): the mean rotation, from which `ranges` are measured."""
    axes: Vectors
    """(freedoms, 3): unit axes in the parent's frame.

    A hinge is exp(s a) mean, a universal joint exp(s a + t b) mean, which swings without twist,
    and a ball exp(s a + t b + u c) mean.
    """
    ranges: Floats
    """(freedoms, 2): lower and upper bounds of s, t and u, radians."""

    def __post_init__(self) -> None:
        if self.kind not in DEGREES_OF_FREEDOM:
            raise ValueError(
                f"no kind of joint {self.kind!r}; there are {', '.join(DEGREES_OF_FREEDOM)}"
            )
        freedoms = DEGREES_OF_FREEDOM[self.kind]
        own(self, mean=(4,), axes=(freedoms, 3), ranges=(freedoms, 2))


def joint_kind(rotations: Quats, slack: float = SLACK) -> JointKind:
    """Return the simplest kind of joint within `slack` radians of the rotations (n, 4).

    One rotation in a thousand is ignored.
    """
    rotations = unit_quats("rotations", rotations).reshape(-1, 4)
    if len(rotations) == 0:
        raise ValueError("joint_kind needs at least one rotation, got none")
    rotations = np.asarray(rotations[evenly_spaced(len(rotations), MAX_ROTATIONS)], np.float64)
    frame, off_point = _subspace(rotations, 1)
    if off_point <= slack:
        return JointKind("fixed", frame[0], np.empty((0, 3)), np.empty((0, 2)))
    frame, off_circle = _subspace(rotations, 2)
    if off_circle <= slack:
        axes = _axes(frame, 1)
        quarter = quat.mul(np.array([0.0, *axes[0]]), frame[0])
        angles = 2.0 * np.arctan2(rotations @ quarter, rotations @ frame[0])
        return JointKind("hinge", frame[0], axes, np.array([_range(angles, TURN)]))
    frame, off_sphere = _subspace(rotations, 3)
    mean = frame[0]
    kind = "universal" if off_sphere <= slack else "ball"
    axes = _axes(frame, DEGREES_OF_FREEDOM[kind])
    along = quat.log(quat.mul(rotations, quat.inverse(mean))) @ axes.T
    return JointKind(kind, mean, axes, np.array([_range(angles) for angles in along.T]))


def _subspace(rotations: Quats, dimensions: int) -> tuple[Floats, float]:
    """Return the principal quaternions (4, 4) and the largest angle to their subspace, radians.

    The subspace is spanned by the first `dimensions` of them, the strongest. Outliers are ignored.
    """
    inliers = rotations
    for _ in range(SUBSPACE_FITS):
        frame = np.linalg.eigh(inliers.T @ inliers)[1].T[::-1]
        across = rotations @ frame[dimensions:].T
        off = np.sqrt(np.einsum("ij,ij->i", across, across))
        last = _inlier_count(off) - 1
        extent = float(np.partition(off, last)[last])
        inliers = rotations[off <= extent]
    frame[0] *= np.copysign(1.0, frame[0, 0])
    return frame, 2.0 * np.arcsin(min(extent, 1.0))


def _axes(frame: Quats, count: int) -> Vectors:
    """Return the axes (count, 3), in the parent's frame, from the first quaternion to the next.

    Their signs make the largest components positive.
    """
    axes = quat.mul(frame[1 : count + 1], quat.inverse(frame[0]))[:, 1:]
    largest = np.abs(axes).argmax(axis=-1, keepdims=True)
    upright: Vectors = axes * np.sign(np.take_along_axis(axes, largest, axis=-1))
    return upright


def _range(values: Scalars, period: float = 0.0) -> tuple[float, float]:
    """Return the shortest interval that contains all `values` except outliers.

    With a period, values are equivalent modulo it, and the interval is a continuous one near 0.
    """
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


def _inlier_count(values: Scalars) -> int:
    """Return the number of `values` that are not outliers."""
    return len(values) - int(OUTLIER_SHARE * len(values))


def joint_kinds(clips: Sequence[Clip]) -> dict[str, JointKind]:
    """Return the kind of each joint of the first clip, from the frames of all clips."""
    return {
        joint: joint_kind(np.concatenate([take.rotations for take in takes]))
        for joint, takes in takes_of(clips, clips[0].skeleton.names).items()
        if takes
    }
