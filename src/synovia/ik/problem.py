"""Problem: pose, goals and limits as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Floats, Mask, Quats, Scalars, Vectors
from ..matching import match
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, check_joints, forward
from .freedom import STORED, freedom_of
from .goals import Aim, Goal, Orient, Reach, Stay

PIN = 10.0
"""The weight of a pin: that much more than a goal's."""
LOOSE = 0.7  # radians; how far joints without a limit are turned for a stored pose


@dataclass(frozen=True, eq=False)
class Problem:
    """A batch of problems with the same joints and the same kinds of goals."""

    model: LimitModel
    """The limits, by the names of the skeleton that is posed."""
    start: Pose
    """Legal, float64, with the problems' leading axes."""
    mended: Scalars
    """By how much it was turned to be legal: (..., joints)."""
    goals: tuple[Goal, ...]
    rows: tuple[slice, ...]
    """The targets of each goal among all."""
    chain: Any
    targets: Floats
    """(problems, all, 4)."""

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.start.rotations.shape[:-2]

    def library(self) -> Quats:
        """Return the stored legal rotations (STORED, movers, 4), the same at every call."""
        stored = np.empty((STORED, len(self.chain.movers), 4))
        limits = {self.model.skeleton.index(n): limit for n, limit in self.model.limits.items()}
        for m, joint in enumerate(self.chain.movers.tolist()):
            rng = np.random.default_rng(joint)
            if joint in limits:
                stored[:, m] = rng.permutation(freedom_of(limits[joint]).legal)
            else:
                stored[:, m] = quat.exp(LOOSE * rng.normal(size=(STORED, 3)))
        return stored


def pack(
    model: LimitModel,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    joints: Sequence[str] | None = None,
    pinned: Sequence[str] = (),
    free_root: bool = False,
) -> Problem:
    """Return the problem, after checks of all that came, with its start made legal."""
    check_joints(skeleton, pose)
    if isinstance(goals, (Reach, Aim, Orient, Stay)):
        goals = [goals]
    if not goals or not all(isinstance(goal, (Reach, Aim, Orient, Stay)) for goal in goals):
        raise ValueError(f"goals must be some of Reach, Aim, Orient and Stay, got {goals!r:.80}")
    fitted = for_skeleton(model, skeleton)
    movers = _movers(skeleton, joints, free_root)
    asked = (*goals, *_pins(skeleton, pose, pinned))
    start, mended = _legal_start(fitted, pose, asked)
    expanded = [_expanded(goal, skeleton, movers) for goal in asked]
    ends = np.cumsum([0, *(len(part) for part in expanded)])
    if ends[-1] == 0:
        raise ValueError("goals must be about a joint that may move, got Stay for none")
    targets = [
        _target(goal, joint, start)
        for goal, part in zip(asked, expanded, strict=True)
        for joint in part
    ]
    return Problem(
        fitted,
        start,
        mended,
        asked,
        tuple(slice(a, b) for a, b in pairwise(ends.tolist())),
        _chain(fitted, asked, expanded, movers, free_root),
        np.ascontiguousarray(np.stack(targets, axis=-2).reshape(-1, len(targets), 4)),
    )


def for_skeleton(model: LimitModel, skeleton: Skeleton) -> LimitModel:
    """Return the limits of `model` for the joints that `skeleton` has, by its names."""
    if skeleton is model.skeleton:
        return model
    found = match(model.limits, model.skeleton, skeleton).joints
    limits = {skeleton.names[joint]: model.limits[name] for name, joint in found.items()}
    return LimitModel(limits, skeleton)


def _movers(skeleton: Skeleton, joints: Sequence[str] | None, free_root: bool) -> list[int]:
    """Return the numbers of the joints that may turn, parents first."""
    if isinstance(joints, str):
        raise ValueError(f"joints must be a list of names, got {joints!r}")
    if joints is None:
        return [j for j, up in enumerate(skeleton.parents.tolist()) if up >= 0 or free_root]
    return sorted({skeleton.index(name) for name in joints})


def _pins(skeleton: Skeleton, pose: Pose, pinned: Sequence[str]) -> list[Goal]:
    """Return the goals that keep joints where they are in the world."""
    if isinstance(pinned, str):
        raise ValueError(f"pinned must be a list of names, got {pinned!r}")
    if not pinned:
        return []
    places, _ = forward(skeleton, pose)
    return [Reach(n, places[..., skeleton.index(n), :], weight=PIN) for n in pinned]


def _legal_start(model: LimitModel, pose: Pose, goals: Sequence[Goal]) -> tuple[Pose, Scalars]:
    """Return the pose, repeated for each problem and legal, and by how much it had to turn."""
    shapes = [pose.rotations.shape[:-2]]
    for goal in goals:
        if isinstance(goal, Stay):
            check_joints(model.skeleton, goal.pose)
            shapes.append(goal.pose.rotations.shape[:-2])
        else:
            wanted = goal.rotation if isinstance(goal, Orient) else goal.target
            shapes.append(wanted.shape[:-1])
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"pose and targets must have leading axes that go together, got {shapes}"
        ) from None
    given = Pose(pose.rotations.astype(np.float64), pose.positions.astype(np.float64))
    legal, mended = model.project(given), model.violation(given)
    count = len(model.skeleton)
    return (
        Pose(
            np.broadcast_to(legal.rotations, (*batch, count, 4)),
            np.broadcast_to(legal.positions, (*batch, count, 3)),
        ),
        np.broadcast_to(mended, (*batch, count)),
    )


def _expanded(goal: Goal, skeleton: Skeleton, movers: list[int]) -> list[int]:
    """Return the joints of a goal: one, or for `Stay` each that may move."""
    if not isinstance(goal, Stay):
        return [skeleton.index(goal.joint)]
    if goal.joints is None:
        return movers
    return [j for j in (skeleton.index(name) for name in goal.joints) if j in movers]


def _target(goal: Goal, joint: int, start: Pose) -> Floats:
    """Return what goal wants of the joint, (..., 4) for each problem."""
    out = np.zeros((*start.rotations.shape[:-2], 4))
    if isinstance(goal, Stay):
        out[...] = goal.pose.rotations[..., joint, :]
    elif isinstance(goal, Orient):
        out[...] = goal.rotation
    else:
        out[..., :3] = goal.target
    return out


def _chain(
    model: LimitModel,
    goals: Sequence[Goal],
    expanded: Sequence[Sequence[int]],
    movers: list[int],
    free_root: bool,
) -> Any:
    """Return the bundle that `kernels.ik_chain` explains, with the joints that goals hang on."""
    parents = model.skeleton.parents
    each = [(goal, joint) for goal, part in zip(goals, expanded, strict=True) for joint in part]
    above = [_line(parents.tolist(), joint) for _, joint in each]
    order = sorted(set().union(*above))
    used = [j for j in movers if j in order]
    slides = [j for j in order if free_root and parents[j] < 0]
    moves: Mask = np.array(
        [
            [(j == joint) if isinstance(goal, Stay) else (j in line) for j in used]
            + [j in line and not isinstance(goal, Stay) for j in slides]
            for (goal, joint), line in zip(each, above, strict=True)
        ],
        dtype=np.bool_,
    ).reshape(len(each), len(used) + len(slides))
    limited, offsets, packed = model.packed
    at = dict(zip(limited.tolist(), offsets.tolist(), strict=True))
    limits = {model.skeleton.index(name): limit for name, limit in model.limits.items()}
    freedoms, basis = np.full(len(used), 3), np.tile(np.eye(3), (len(used), 1, 1))
    swings = np.zeros((len(used), 8))
    for m, joint in enumerate(used):
        if joint in limits:
            freedom = freedom_of(limits[joint])
            freedoms[m] = len(freedom.axes)
            basis[m, : freedoms[m]] = freedom.axes
            swings[m] = freedom.swing
    kinds = {Reach: 0, Aim: 1, Orient: 2, Stay: 3}
    return kernels.ik_chain.Chain(
        parents=np.ascontiguousarray(parents, dtype=np.int64),
        order=np.array(order, dtype=np.int64),
        movers=np.array(used, dtype=np.int64),
        freedoms=freedoms.astype(np.int64),
        basis=basis,
        swings=swings,
        limits=np.array([at.get(joint, -1) for joint in used], dtype=np.int64),
        packed=packed,
        slides=np.array(slides, dtype=np.int64),
        kinds=np.array([kinds[type(goal)] for goal, _ in each], dtype=np.int64),
        owners=np.array([joint for _, joint in each], dtype=np.int64),
        weights=np.array([goal.weight for goal, _ in each], dtype=np.float64),
        points=np.array([_vector_of(goal, "point") for goal, _ in each]).reshape(-1, 3),
        axes=np.array([_vector_of(goal, "axis") for goal, _ in each]).reshape(-1, 3),
        moves=moves,
        tolerance=TOLERANCE,
    )


def _vector_of(goal: Goal, name: str) -> Vectors:
    return np.asarray(getattr(goal, name, np.zeros(3)))


def _line(parents: list[int], joint: int) -> set[int]:
    """Return a joint and all above it."""
    line = set()
    while joint >= 0:
        line.add(joint)
        joint = parents[joint]
    return line
