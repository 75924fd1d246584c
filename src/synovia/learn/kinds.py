"""Classification of joints by their rotations: fixed, hinge, universal or ball.

Unit quaternions lie on a sphere in four dimensions. Rotations of a fixed joint are one point of
it, those of a hinge a great circle, those of a swing without twist a great sphere: subspaces of 1,
2 and 3 dimensions, which need no reference. A point at distance sin(x / 2) from the subspace is x
radians from the nearest rotation in it.

A universal joint rotates about an axis a of the parent and an axis b of the child, whose angle is
constant: a . (R b) is the same for all rotations R. Of all pairs of axes, the search finds the one
whose angle varies least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import quat
from ..arrays import (
    TURN,
    Floats,
    Quats,
    Scalars,
    Vectors,
    evenly_spaced,
    own,
    unit_quats,
    unit_vectors,
)
from ..skeleton import Clip
from .takes import invented_first_frame, takes_of

DEGREES_OF_FREEDOM = {"fixed": 0, "hinge": 1, "universal": 2, "ball": 3}
SLACK = np.radians(1.0)  # radians; noise of optical capture
OUTLIER_SHARE = 0.001  # of rotations that are ignored
MAX_ROTATIONS = 4000  # evenly spaced; more do not change the kind
MIN_AXIS_ANGLE = np.radians(15.0)  # radians between axes; below, it is a hinge that wobbles
SUBSPACE_FITS = 3  # each without the outliers of the previous one
CONVERGED = (1e-6, 1e-6, 1e-12)  # 1 - cosine of a step's rotation; the first fits find outliers
FIRST_STEPS = 15  # of all starts; then only the best one continues
MAX_STEPS = 100  # of the search for a pair of axes
Search = tuple[Vectors, Vectors, Scalars]
"""Axes a and b (starts, 3), and the variance of their angle for each start."""


class AxisPair(NamedTuple):
    """The axes a of the parent and b of the child whose angle varies least."""

    a: Vectors
    b: Vectors
    variation: float
    """Half the range of the angle, radians; infinite if the axes are too close to each other."""


@dataclass(frozen=True, eq=False)
class JointKind:
    """The kind of a joint, and its range of motion about each axis."""

    kind: str
    """One of `DEGREES_OF_FREEDOM`."""
    mean: Quats
    """(4,): the mean rotation, from which `ranges` are measured."""
    axes: Vectors
    """(freedoms, 3): unit axes in the parent's frame.

    With R(a, s) the rotation by s about a, a hinge is R(a, s) mean. A universal joint is
    R(a, s) R(b, t) mean or, if it swings without twist, exp(s a + t b) mean. A ball is
    exp(s a + t b + u c) mean.
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
    return kinds_of([rotations], slack)[0]


def kinds_of(joints: Sequence[Quats], slack: float = SLACK) -> list[JointKind]:
    """Return the kind of each joint from its rotations (n, 4), as `joint_kind` does.

    Axes of all joints are searched as one batch, which is faster.
    """
    kept = [_subsample(unit_quats("rotations", each).reshape(-1, 4)) for each in joints]
    kinds = [_fixed_or_hinge(rotations, slack) for rotations in kept]
    others = [rotations for rotations, kind in zip(kept, kinds, strict=True) if kind is None]
    pairs = iter(_steadiest_pairs([quat.to_matrix(rotations) for rotations in others]))
    return [
        _universal_or_ball(rotations, next(pairs), slack) if kind is None else kind
        for rotations, kind in zip(kept, kinds, strict=True)
    ]


def _fixed_or_hinge(rotations: Quats, slack: float) -> JointKind | None:
    """Return the kind of a joint with at most one axis; None if it has more."""
    if len(rotations) == 0:
        raise ValueError("joint_kind needs at least one rotation, got none")
    frame, off_point = _subspace(rotations, 1)
    if off_point <= slack:
        return JointKind("fixed", frame[0], np.empty((0, 3)), np.empty((0, 2)))
    frame, off_circle = _subspace(rotations, 2)
    if off_circle > slack:
        return None
    axes = _axes(frame, 1)
    quarter = quat.mul(np.array([0.0, *axes[0]]), frame[0])
    turns = 2.0 * np.arctan2(rotations @ quarter, rotations @ frame[0])
    return JointKind("hinge", frame[0], axes, np.array([_range(turns, TURN)]))


def _universal_or_ball(rotations: Quats, pair: AxisPair, slack: float) -> JointKind:
    """Return the kind of a joint with more than one axis."""
    frame, off_sphere = _subspace(rotations, 3)
    mean = frame[0]
    a, b, variation = pair
    if variation <= slack and variation <= off_sphere:
        axes = np.stack([_fix_signs(a), _fix_signs(quat.rotate(mean, b))])
        return JointKind("universal", mean, axes, _turns_about_pair(rotations, mean, axes))
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
        extent = _extent(off)
        inliers = rotations[off <= extent]
    frame[0] *= np.copysign(1.0, frame[0, 0])
    return frame, 2.0 * np.arcsin(min(extent, 1.0))


def _axes(frame: Quats, count: int) -> Vectors:
    """Return the axes (count, 3), in the parent's frame, from the first quaternion to the next."""
    return _fix_signs(quat.mul(frame[1 : count + 1], quat.inverse(frame[0]))[:, 1:])


def _steadiest_pairs(joints: Sequence[Floats]) -> list[AxisPair]:
    """Return the axes whose angle varies least, for the matrices (n, 3, 3) of each joint."""
    starts = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)[14:]
    starts /= np.linalg.norm(starts, axis=-1, keepdims=True)
    inliers, bs = list(joints), [starts] * len(joints)
    pairs: list[AxisPair] = []
    for converged in CONVERGED:
        searches = _search_all(inliers, bs, converged)
        pairs, bs, inliers = [], [], []
        for matrices, (a, b, ratio) in zip(joints, searches, strict=True):
            best = int(ratio.argmin())
            bs.append(b[best : best + 1])
            angles = _angles_between(a[best], matrices @ b[best])
            low, high = _range(angles)
            off = np.abs(angles - 0.5 * (low + high))
            inliers.append(matrices[off <= _extent(off)])
            apart = MIN_AXIS_ANGLE < 0.5 * (low + high) < np.pi - MIN_AXIS_ANGLE
            pairs.append(AxisPair(a[best], b[best], 0.5 * (high - low) if apart else np.inf))
    return pairs


def _angles_between(axis: Vectors, vectors: Vectors) -> Scalars:
    """Return the angles (n,) between an axis and each of `vectors` (n, 3), in radians."""
    (a, b, c), (x, y, z) = axis, vectors.T
    across = np.sqrt((b * z - c * y) ** 2 + (c * x - a * z) ** 2 + (a * y - b * x) ** 2)
    return np.asarray(np.arctan2(across, vectors @ axis))


def _search_all(joints: Sequence[Floats], bs: Sequence[Vectors], converged: float) -> list[Search]:
    """Return the search of each joint from its starts `bs`; equal numbers of starts are batched."""
    moments = [_moments(matrices) for matrices in joints]
    found: dict[int, Search] = {}
    for count in {len(b) for b in bs}:
        group = [joint for joint, b in enumerate(bs) if len(b) == count]
        means, covariances = (np.stack([moments[k][m] for k in group]) for m in range(2))
        searches = _search_pairs(means, covariances, np.stack([bs[k] for k in group]), converged)
        found |= dict(zip(group, searches, strict=True))
    return [found[joint] for joint in range(len(joints))]


def _moments(matrices: Floats) -> tuple[Floats, Floats]:
    """Return the mean (3, 3) and the covariance (3, 3, 3, 3) of matrices."""
    mean = matrices.mean(axis=0)
    spread = (matrices - mean).reshape(-1, 9)
    return mean, (spread.T @ spread / len(spread)).reshape(3, 3, 3, 3)


def _search_pairs(mean: Floats, covariance: Floats, b: Vectors, converged: float) -> list[Search]:
    """Return axes a and b for each joint, from each of its starts b (joints, starts, 3).

    Alternating minimisation of Var(a . R b) / (1 - (a . E[R] b)^2), nearly the variance of the
    angle: each half step is a 3 x 3 eigenvalue problem. After `FIRST_STEPS` only the best start
    continues. A joint leaves the batch once a step rotates b by a cosine within `converged` of 1.
    """
    found: dict[int, Search] = {}
    joints = np.arange(len(b))
    for step in range(MAX_STEPS):
        before = b
        a, _ = _steadiest(
            np.einsum("nijkl,nsj,nsl->nsik", covariance, b, b), b @ mean.swapaxes(-1, -2)
        )
        b, ratio = _steadiest(np.einsum("nijkl,nsi,nsk->nsjl", covariance, a, a), a @ mean)
        moved = np.abs(np.abs(np.sum(b * before, axis=-1)) - 1.0).max(axis=-1)
        settled = (moved < converged) | (step == MAX_STEPS - 1)
        for k in np.flatnonzero(settled):
            found[int(joints[k])] = a[k], b[k], ratio[k]
        if settled.all():
            break
        if settled.any():
            joints, mean, covariance = (each[~settled] for each in (joints, mean, covariance))
            b, ratio = b[~settled], ratio[~settled]
        if step == FIRST_STEPS:
            b = np.take_along_axis(b, ratio.argmin(axis=1)[:, None, None], axis=1)
    return [found[joint] for joint in range(len(found))]


def _steadiest(covariance: Floats, mean: Vectors) -> tuple[Vectors, Scalars]:
    """Return the unit x that minimises x' covariance x / (1 - (x . mean)^2), and the minimum."""
    square = np.sum(mean * mean, axis=-1)[..., None, None]
    stretch = (1.0 / np.sqrt(np.maximum(1.0 - square, 1e-12)) - 1.0) / np.maximum(square, 1e-12)
    root = np.eye(3) + stretch * mean[..., :, None] * mean[..., None, :]
    values, vectors = np.linalg.eigh(root @ covariance @ root)
    x = (root @ vectors[..., :1])[..., 0]
    return unit_vectors(x), values[..., 0]


def _turns_about_pair(rotations: Quats, mean: Quats, axes: Vectors) -> Floats:
    """Return the ranges (2, 2) of s and t with rotation = R(a, s) R(b, t) mean, radians."""
    a, b = axes
    moved = quat.mul(rotations, quat.inverse(mean))
    s = _azimuth(quat.rotate(moved, b), a, b)
    t = -_azimuth(quat.rotate(quat.inverse(moved), a), b, a)
    return np.array([_range(s, TURN), _range(t, TURN)])


def _azimuth(vectors: Vectors, axis: Vectors, start: Vectors) -> Scalars:
    """Return the angles (n,) about `axis` from `start` to each of `vectors`, in radians."""
    across = np.cross(axis, start)
    return np.arctan2(vectors @ across, vectors @ np.cross(across, axis))


def _range(values: Scalars, period: float = 0.0) -> tuple[float, float]:
    """Return the shortest interval with all `values` but outliers; periodic ones start near 0."""
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
    """Return the largest of `off` without outliers."""
    return float(np.partition(off, _inlier_count(off) - 1)[_inlier_count(off) - 1])


def _inlier_count(values: Scalars) -> int:
    """Return the number of `values` that are not outliers."""
    return len(values) - int(OUTLIER_SHARE * len(values))


def _fix_signs(axes: Vectors) -> Vectors:
    """Return `axes` (..., 3) with signs that make their largest components positive."""
    largest = np.abs(axes).argmax(axis=-1, keepdims=True)
    upright: Vectors = axes * np.sign(np.take_along_axis(axes, largest, axis=-1))
    return upright


def _subsample(rotations: Quats) -> Quats:
    """Return at most `MAX_ROTATIONS` evenly spaced rotations, float64."""
    kept = evenly_spaced(len(rotations), MAX_ROTATIONS)
    return np.asarray(rotations[kept], dtype=np.float64)


def joint_kinds(
    clips: Sequence[Clip], *, names: Mapping[str, str] | None = None
) -> dict[str, JointKind]:
    """Return the kind of each joint of the first clip, from the frames of all clips.

    `names` maps joint names of the clips to those of the first.
    """
    joints = clips[0].skeleton.names
    invented = [invented_first_frame(clip) for clip in clips]
    takes = takes_of(clips, joints, drop_first=invented, names=names)
    found = [joint for joint in joints if takes[joint]]
    rotations = [np.concatenate([take.rotations for take in takes[joint]]) for joint in found]
    return dict(zip(found, kinds_of(rotations), strict=True))
