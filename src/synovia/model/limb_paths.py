"""Paths in time of the joints of a limb: shifts of twist without jumps.

The shift of twist φ is chosen for all illegal frames together: of all paths of φ, the one with the
least excess whose changes are not seen as pops, by dynamic programming (Viterbi) on a grid and then
on finer ones around the result. With twist moved by it, each joint has a path of its own and is
clamped by its own limit; then the twist is moved back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import TOLERANCE, Floats, Ints, Quats, Scalars, tolerance
from .clamp import clamp_paths, step_bounds
from .constraint import JointLimit
from .roadmap import cheapest_columns

if TYPE_CHECKING:
    from .limb import Limb

GRID_STEP = np.radians(5.0)  # of the first grid of φ
PACE = 0.1  # share of the bound on steps that φ may use; joints use the rest
FINER = (4.0, 16.0)  # times finer than the first grid are the next ones
OFFSETS = np.arange(-4.0, 5.0)  # their nodes, in steps from the path before
TOO_FAST = 1e3  # cost of a change beyond its bound, per radian; excesses cost their squares
CHANGE = 1e-4  # cost of any change of φ, per radian


def clamp_by_joint(limb: Limb, rotations: Quats, max_step: float) -> Quats:
    """Return paths (frames, k, 4) near to those of a limb, clamped joint by joint.

    Joints other than the end's may step by `max_step` radians. Muscles are not regarded, so that
    the result is not always legal; legal frames may move.
    """
    wide = rotations.astype(np.float64)
    shared = limb.share_twist(wide, tolerance(rotations.dtype))
    pooled, _ = limb.pool(wide)
    shift = _smooth_shift(limb, pooled, shared.shift, PACE * max_step)
    paths = limb.shift_twist(pooled, shift)
    moved = paths.copy()
    for k, (name, limit) in enumerate(limb.limits.items()):
        path = paths[:, [k]]
        bounds = step_bounds(path, 1.0, (1.0 - PACE) * max_step)
        moved[:, [k]] = clamp_paths(JointLimit(name, limit), path, bounds).rotations
    return limb.restore_twist(rotations, shared._replace(rotations=paths, shift=shift), moved)


def _smooth_shift(limb: Limb, pooled: Quats, best: Scalars, max_change: float) -> Scalars:
    """Return shifts (frames,) with little excess, and without jumps between illegal frames.

    `best` (frames,) are the shifts that are best for each frame by itself. Legal frames keep these,
    as they do not move, whatever the shift.
    """
    outside = np.flatnonzero(limb.excess_at(pooled, best) > TOLERANCE)
    if len(outside) == 0:
        return best
    path, limbs = best[outside], pooled[outside]
    most = limb.max_shift(limbs)[:, None]
    reach = GRID_STEP * np.ceil(most.max() / GRID_STEP)
    grid = np.arange(-reach, reach + 0.5 * GRID_STEP, GRID_STEP)
    nodes = np.column_stack([np.broadcast_to(grid, (len(path), len(grid))), path])
    for finer in (1.0, *FINER):
        if finer > 1.0:
            nodes = np.column_stack([path[:, None] + OFFSETS * GRID_STEP / finer, best[outside]])
        nodes = np.clip(nodes, -most, most)
        path = _cheapest(outside, nodes, limb.excess_at(limbs, nodes), max_change)
    shift = best.copy()
    shift[outside] = path
    return shift


def _cheapest(frames: Ints, nodes: Floats, excess: Floats, max_change: float) -> Scalars:
    """Return the cheapest path (n,) of φ through nodes (n, m).

    By a change of φ, corrections change by no more than it, nor by more than both of them are
    long. Next to frames that are not among `frames` (n,), which are legal, it is one of them alone.
    """
    adjacent = np.diff(frames) == 1
    ends = np.append(True, ~adjacent) | np.append(~adjacent, True)
    costs = excess**2
    costs[ends] += TOO_FAST * np.maximum(excess[ends] - max_change, 0.0)

    def step_costs(k: int) -> Floats | float:
        if not adjacent[k - 1]:
            return 0.0
        change = np.abs(nodes[k][:, None] - nodes[k - 1])
        visible = np.minimum(change, excess[k][:, None] + excess[k - 1])
        return np.asarray(CHANGE * change + TOO_FAST * np.maximum(visible - max_change, 0.0))

    return nodes[np.arange(len(nodes)), cheapest_columns(costs, step_costs)]
