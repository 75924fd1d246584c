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
from typing import NamedTuple

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
SETTLED = (1e-6, 1e-6, 1e-12)
"""Axes are settled, in each of the rounds, where a step leaves the cosine so near to 1: the first
ones only tell outliers."""
MAX_STEPS = 100
"""The search for a pair of axes ends after so many steps, settled or not."""
ROUNDING = 1e-12
"""Variances of rotations are exact to within this."""
Search = tuple[Vectors, Vectors, Scalars]
"""Axes a and b (starts, 3) and, for each start, how little their angle changes."""


class AxisPair(NamedTuple):
    """The axes a of the parent and b of the child whose angle changes least."""

    a: Vectors
    b: Vectors
    off: float
    """How much it changes to either side, in radians; infinite where the axes are too near."""


NO_PAIR = AxisPair(np.zeros(3), np.zeros(3), np.inf)
PARTS = 0.5 * np.array(
    [
        *([0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0]),
        *([2, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 2, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 2]),
        *([0, 0, 0, 0, 0, 1, 0, 1, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0, 0, 0, 0]),
    ]
)
"""From the nine numbers of a matrix to its axial vector, and to the six of its symmetric part."""


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
    return kinds_of([rotations], slack)[0]


def kinds_of(joints: Sequence[Quats], slack: float = SLACK) -> list[JointKind]:
    """Return the kind of each joint from its rotations, (n, 4), as `joint_kind` does.

    Many joints together take much less time than one after the other.
    """
    kept = [_subsample(unit_quats("rotations", each).reshape(-1, 4)) for each in joints]
    kinds = [_fixed_or_hinge(rotations, slack) for rotations in kept]
    others = [rotations for rotations, kind in zip(kept, kinds, strict=True) if kind is None]
    pairs = iter(_pairs_within([quat.to_matrix(rotations) for rotations in others], slack))
    return [
        _universal_or_ball(rotations, next(pairs), slack) if kind is None else kind
        for rotations, kind in zip(kept, kinds, strict=True)
    ]


def _fixed_or_hinge(rotations: Quats, slack: float) -> JointKind | None:
    """Return the kind of a joint with one axis or none; None where it has more."""
    if len(rotations) == 0:
        raise ValueError("joint_kind needs at least one rotation, got none")
    if _leaves_subspaces(rotations, 2, slack):
        return None
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
    a, b, off_pair = pair
    if off_pair <= slack and off_pair <= off_sphere:
        axes = np.stack([_fix_signs(a), _fix_signs(quat.rotate(mean, b))])
        return JointKind("universal", mean, axes, _turns_about_pair(rotations, mean, axes))
    kind = "universal" if off_sphere <= slack else "ball"
    axes = _axes(frame, DEGREES_OF_FREEDOM[kind])
    along = quat.log(quat.mul(rotations, quat.inverse(mean))) @ axes.T
    return JointKind(kind, mean, axes, np.array([_range(angles) for angles in along.T]))


def _leaves_subspaces(rotations: Quats, dimensions: int, slack: float) -> bool:
    """Tell quickly that no subspace of so many dimensions comes within `slack` of all rotations
    but outliers; False says nothing.

    Of one block more than there are outliers, one has none, whichever rotations these are. And
    the mean square of the distances of a block is at least the sum of its least eigenvalues.
    """
    grams = np.stack([block.T @ block / len(block) for block in _blocks(rotations)])
    least = np.linalg.eigvalsh(grams)[:, : 4 - dimensions].sum(axis=-1)
    return bool(least.min() > np.sin(slack / 2.0) ** 2 + ROUNDING)


def _blocks(rotations: Floats) -> list[Floats]:
    """Return rotations in blocks, one more than there may be outliers, dealt out like cards."""
    count = len(rotations) - _inlier_count(rotations) + 1
    return [rotations[start::count] for start in range(count)]


def _subspace(rotations: Quats, dimensions: int) -> tuple[Floats, float]:
    """Return the principal quaternions, strongest first, and how far, in radians, rotations lie
    from the span of the first `dimensions` of them.
    """
    inliers = rotations
    for _ in range(ROUNDS):
        frame = np.linalg.eigh(inliers.T @ inliers)[1].T[::-1]
        across = rotations @ frame[dimensions:].T
        off = np.sqrt(np.einsum("ij,ij->i", across, across))
        extent = _extent(off)
        inliers = rotations[off <= extent]
    frame[0] *= np.copysign(1.0, frame[0, 0])
    return frame, 2.0 * np.arcsin(min(extent, 1.0))


def _axes(frame: Quats, count: int) -> Vectors:
    """Return the parent's axes that lead from the first quaternion of `frame` to the next ones."""
    return _fix_signs(quat.mul(frame[1 : count + 1], quat.inverse(frame[0]))[:, 1:])


def _pairs_within(joints: Sequence[Floats], slack: float) -> list[AxisPair]:
    """Return the pairs of `_steadiest_pairs`; none of a joint where none can be within `slack`."""
    hopeless = [_turns_every_pair(matrices, slack) for matrices in joints]
    others = [matrices for matrices, skip in zip(joints, hopeless, strict=True) if not skip]
    pairs = iter(_steadiest_pairs(others))
    return [NO_PAIR if skip else next(pairs) for skip in hopeless]


def _turns_every_pair(matrices: Floats, slack: float) -> bool:
    """Tell quickly that the angle of every pair of axes changes by more than `slack` to either
    side, outliers aside; False says nothing.

    Let all angles of a pair, a . R b, be within s of m, and Q = R M' for one of the rotations, M.
    Then cos(angle) is v . w plus something linear in the symmetric part of Q, where w is the axial
    vector of its other part and v is Mb x a, of length sin(angle at M): at least
    sin(m) (cos s - cot(m) sin s). The variance of the cosine is at most (sin m sin s)^2, and at
    least that of v . w as far as no linear function of the symmetric part explains it.
    """
    room = np.tan(MIN_AXIS_ANGLE) - np.tan(slack)
    if room <= 0.0:
        return False
    bound = np.tan(slack) * np.tan(MIN_AXIS_ANGLE) / room
    return all(_least_unexplained(block) > bound**2 + ROUNDING for block in _blocks(matrices))


def _least_unexplained(matrices: Floats) -> float:
    """Return the least variance of a component of w that the symmetric part does not explain."""
    mean, covariance = _moments(matrices)
    middle = matrices[(matrices.reshape(-1, 9) @ mean.ravel()).argmax()]
    turn = PARTS @ np.kron(np.eye(3), middle)
    covariance = turn @ covariance.reshape(9, 9) @ turn.T
    mixed = covariance[:3, 3:]
    explained = mixed @ np.linalg.solve(covariance[3:, 3:] + 1e-14 * np.eye(6), mixed.T)
    return float(np.linalg.eigvalsh(covariance[:3, :3] - explained)[0])


def _steadiest_pairs(joints: Sequence[Floats]) -> list[AxisPair]:
    """Return, for the matrices (n, 3, 3) of each joint, the axes whose angle changes least."""
    starts = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)[14:]
    starts /= np.linalg.norm(starts, axis=-1, keepdims=True)
    inliers, bs = list(joints), [starts] * len(joints)
    pairs: list[AxisPair] = []
    for still in SETTLED:
        searches = _search_all(inliers, bs, still)
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
    """Return the angles between an axis and each of `vectors`, in radians."""
    (a, b, c), (x, y, z) = axis, vectors.T
    across = np.sqrt((b * z - c * y) ** 2 + (c * x - a * z) ** 2 + (a * y - b * x) ** 2)
    return np.asarray(np.arctan2(across, vectors @ axis))


def _search_all(joints: Sequence[Floats], bs: Sequence[Vectors], still: float) -> list[Search]:
    """Return the search of each joint, from its own starts `bs`; as many starts, as one batch."""
    moments = [_moments(matrices) for matrices in joints]
    found: dict[int, Search] = {}
    for count in {len(b) for b in bs}:
        group = [joint for joint, b in enumerate(bs) if len(b) == count]
        means, covariances = (np.stack([moments[k][m] for k in group]) for m in range(2))
        searches = _search_pairs(means, covariances, np.stack([bs[k] for k in group]), still)
        found |= dict(zip(group, searches, strict=True))
    return [found[joint] for joint in range(len(joints))]


def _moments(matrices: Floats) -> tuple[Floats, Floats]:
    """Return the mean (3, 3) and the covariance (3, 3, 3, 3) of matrices."""
    mean = matrices.mean(axis=0)
    spread = (matrices - mean).reshape(-1, 9)
    return mean, (spread.T @ spread / len(spread)).reshape(3, 3, 3, 3)


def _search_pairs(mean: Floats, covariance: Floats, b: Vectors, still: float) -> list[Search]:
    """Return axes a and b for each joint, from each of its starts b (joints, starts, 3).

    Minimises Var(a . R b) / (1 - (a . E[R] b)^2), nearly the variance of the angle, for a and for
    b in turn: each is an eigenvalue problem of 3 x 3. Many starts go some steps, the best goes on.
    A joint leaves the batch once the cosine of the angle that its axes turn by is `still` from 1.
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
        settled = (moved < still) | (step == MAX_STEPS - 1)
        for k in np.flatnonzero(settled):
            found[int(joints[k])] = a[k], b[k], ratio[k]
        if settled.all():
            break
        if settled.any():
            joints, mean, covariance = (each[~settled] for each in (joints, mean, covariance))
            b, ratio = b[~settled], ratio[~settled]
        if step == RACE_STEPS:
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
    found = [joint for joint in joints if takes[joint]]
    rotations = [np.concatenate([take.rotations for take in takes[joint]]) for joint in found]
    return dict(zip(found, kinds_of(rotations), strict=True))
