"""Plan: what problems of one kind have in common, as the kernels read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import kernels, quat
from ..arrays import TOLERANCE, Ints, Mask, Quats, Vectors
from ..model import LimitModel
from ..skeleton import Skeleton
from .freedom import STORED, freedom_of
from .goals import Aim, Goal, Orient, Reach, Stay

LOOSE = 0.7  # radians; how far joints without a limit are turned for a stored pose
MOST_PLANS = 64  # that are kept of a model


@dataclass(frozen=True, eq=False)
class Plan:
    """What a problem is without its pose and its targets: the same, frame after frame."""

    joints: tuple[tuple[int, ...], ...]
    """Those of each goal."""
    rows: tuple[slice, ...]
    """The targets of each goal among all."""
    levels: Ints
    """The level of each target, from 0: goals of later levels give way to those of earlier ones."""
    chain: Any
    library: Quats
    """Legal rotations (STORED, movers, 4) to start again from."""


_PLANS: WeakKeyDictionary[LimitModel, dict[Any, Plan]] = WeakKeyDictionary()


def plan_of(
    model: LimitModel, goals: Sequence[Goal], joints: Sequence[str] | None, free_root: bool
) -> Plan:
    """Return what the problem is without pose and targets, once for each kind of problem."""
    known = _PLANS.setdefault(model, {})
    joints = joints if joints is None or isinstance(joints, str) else [*joints]
    key = (tuple(_kind(goal) for goal in goals), repr(joints), free_root)
    found = known.get(key)
    if found is None:
        movers = _movers(model.skeleton, joints, free_root)
        expanded = [_expanded(goal, model.skeleton, movers) for goal in goals]
        ends = np.cumsum([0, *(len(part) for part in expanded)]).tolist()
        if ends[-1] == 0:
            raise ValueError("goals must be about a joint that may move, got Stay for none")
        if len(known) >= MOST_PLANS:
            known.clear()
        chain = _chain(model, goals, expanded, movers, free_root)
        found = known[key] = Plan(
            tuple(tuple(part) for part in expanded),
            tuple(slice(a, b) for a, b in pairwise(ends)),
            _levels(goals, expanded),
            chain,
            _library(model, chain.movers.tolist()),
        )
    return found


def _library(model: LimitModel, movers: list[int]) -> Quats:
    """Return the stored legal rotations (STORED, movers, 4), the same at every call."""
    stored = np.empty((STORED, len(movers), 4))
    limits = {model.skeleton.index(name): limit for name, limit in model.limits.items()}
    for m, joint in enumerate(movers):
        rng = np.random.default_rng(joint)
        if joint in limits:
            stored[:, m] = rng.permutation(freedom_of(limits[joint]).legal)
        else:
            stored[:, m] = quat.exp(LOOSE * rng.normal(size=(STORED, 3)))
    return stored


def _kind(goal: Goal) -> tuple[Any, ...]:
    """Return all of a goal but its target, as a key."""
    if isinstance(goal, Stay):
        return Stay, goal.joints, goal.weight
    shape = [_vector_of(goal, name).tobytes() for name in ("point", "axis")]
    return type(goal), goal.joint, goal.weight, goal.priority, *shape


def _levels(goals: Sequence[Goal], expanded: Sequence[Sequence[int]]) -> Ints:
    """Return the level of each target; those of a wish are of the last."""
    given = sorted({goal.priority for goal in goals if not isinstance(goal, Stay)})
    levels = [
        max(len(given) - 1, 0) if isinstance(goal, Stay) else given.index(goal.priority)
        for goal, part in zip(goals, expanded, strict=True)
        for _ in part
    ]
    return np.array(levels, dtype=np.int64)


def _movers(skeleton: Skeleton, joints: Sequence[str] | None, free_root: bool) -> list[int]:
    """Return the numbers of the joints that may turn, parents first."""
    if isinstance(joints, str):
        raise ValueError(f"joints must be a list of names, got {joints!r}")
    if joints is None:
        return [j for j, up in enumerate(skeleton.parents.tolist()) if up >= 0 or free_root]
    return sorted({skeleton.index(name) for name in joints})


def _expanded(goal: Goal, skeleton: Skeleton, movers: list[int]) -> list[int]:
    """Return the joints of a goal: one, or for `Stay` each that may move."""
    if not isinstance(goal, Stay):
        return [skeleton.index(goal.joint)]
    if goal.joints is None:
        return movers
    return [j for j in (skeleton.index(name) for name in goal.joints) if j in movers]


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
