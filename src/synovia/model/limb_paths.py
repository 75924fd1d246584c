"""Paths in time of the joints of a limb, with bounded steps.

First the shift of twist φ is chosen for all illegal frames: of all paths of φ, the one with the
least excess whose changes are not seen as pops, by dynamic programming (Viterbi) on a grid and then
on finer ones around the result. With twist moved by it, each joint has a path of its own and
is clamped by its own limit; then the twist is moved back. Jumps that this leaves, where twist of
the end or the whole limb's projection jumps, are removed by transitions of the whole limb.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, tolerance, unit_quats
from ..limit.softening import Softening
from .bounded import SLACK
from .clamp import check_speed, clamp_path, same_sign, step_bounds
from .constraint import ClampedPaths
from .joint_paths import JointPaths
from .limb import GRID_STEP, ORDER, Limb, SharedTwist
from .live import LivePath, LivePaths

PACE = 0.1  # share of the bound on steps that φ may use; joints use the rest
FINER = (4.0, 16.0)  # times finer than the first grid are the next ones
OFFSETS = np.arange(-4.0, 5.0)  # their nodes, in steps from the path before
TOO_FAST = 1e3  # cost of a change beyond its bound, per radian; excesses cost their squares
CHANGE = 1e-4  # cost of any change of φ, per radian


def clamp_limb(
    limb: Limb, rotations: Quats, bounds: Scalars, softening: Softening | None
) -> ClampedPaths:
    """Return legal paths (frames, k, 4) of a limb's joints; see `model.clamp.clamp_path`.

    Steps over the bound remain where the limb as a whole has to jump; these are reported.
    """
    rotations = unit_quats("rotations", rotations)
    legal = limb.contains(rotations)
    if len(rotations) == 0 or (softening is None and legal.all()):
        none = np.zeros(rotations.shape[:2], dtype=bool)
        return ClampedPaths(rotations.copy(), none, none)
    wide = rotations.astype(np.float64)
    shared = limb.share_twist(wide, tolerance(rotations.dtype))
    pooled, twist = limb.pool(wide)
    max_step = float(bounds[0, 0])
    shift = _smooth_shift(limb, pooled, shared.shift, PACE * max_step)
    paths = limb.shift_twist(pooled, shift)
    moved = paths.copy()
    limits = list(limb.limits.values())
    for k in ORDER[: len(limits)]:
        moved[:, k] = clamp_path(
            limits[k],
            paths[:, k],
            step_bounds(paths[:, k], 1.0, (1.0 - PACE) * max_step),
            softening=softening,
            within=partial(_hold, limb, k, moved[:, 1]) if limb.has_muscle(k) else None,
        ).rotations
    out = limb.restore_twist(rotations, SharedTwist(paths, shared.distance, shift, twist), moved)
    if softening is None:
        out = limb.project(out)
    if softening is None:
        out = _remove_jumps(limb, rotations, out, bounds, legal)
    steps = quat.angle_between(out[:-1].astype(np.float64), out[1:].astype(np.float64))
    over = np.zeros(out.shape[:2], dtype=bool)
    over[1:] = steps > bounds[1:] + SLACK
    changed = (out != rotations).any(axis=-1)
    return ClampedPaths(out, legal[:, None] & changed & (softening is None), over)


def _remove_jumps(limb: Limb, rotations: Quats, out: Quats, bounds: Floats, legal: Mask) -> Quats:
    """Return legal paths `out` (frames, k, 4) of a limb with fewer steps over their bounds."""
    shared = limb.share_twist(out.astype(np.float64), tolerance(out.dtype))
    moves, wide = LimbMoves(limb), [each.astype(np.float64) for each in (rotations, out)]
    controls = np.column_stack([shared.shift, shared.twist])
    path = JointPaths(moves, wide[0], bounds, legal, controls, wide[1])
    changed = path.remove_jumps()
    moved = same_sign(path.rotations, rotations).astype(out.dtype)
    return np.where(changed[:, None, None], moved, out)


@dataclass(frozen=True, eq=False)
class LimbMoves:
    """Movements of a whole limb. Its controls (5,) are the shift and the twist of `SharedTwist`."""

    limb: Limb

    @property
    def weights(self) -> Scalars:
        """Weights (k,) of the joints."""
        return np.ones(len(self.limb.limits))

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (n,) of the legal ones of limbs (n, k, 4)."""
        return self.limb.contains(rotations)

    def branch(self, inputs: Quats, controls: Floats, path: Floats) -> tuple[Floats, Quats]:
        """Return no branches: limbs do not follow their controls."""
        return path[:0], inputs[:0]

    def between(self, controls: Floats, rotations: Quats, share: Scalars) -> tuple[Floats, Quats]:
        """Return controls (n, 5) and limbs (n, k, 4) at shares (n,) between two (2, k, 4).

        With twist shared, joints rotate by the shortest rotations, projected to their limits. The
        twist that is moved changes evenly.
        """
        limb, shift, twist = self.limb, controls[:, 0], controls[:, 1:]
        ends = limb.move_twist(rotations, shift, twist, back=False)
        limbs = limb.project_each(quat.slerp(ends[0], ends[1], share[:, None]))
        most = limb.max_shift(limbs)
        shift = np.clip(shift[0] + share * (shift[1] - shift[0]), -most, most)
        twist = quat.slerp(twist[0], twist[1], share)
        return np.column_stack([shift, twist]), limb.move_twist(limbs, shift, twist)


def _hold(limb: Limb, k: int, lower: Quats, rotations: Quats, frames: Ints) -> Quats:
    """Return rotations of joint k that `Limb.hold` allows, with the lower bone's by frame."""
    return limb.hold(k, rotations, lower[frames])


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
    """Return, of paths (n,) of φ through nodes (n, m), the cheapest, by Viterbi's algorithm.

    By a change of φ, corrections change by no more than it, nor by more than both of them are
    long. Next to frames that are not among `frames` (n,), which are legal, it is one of them alone.
    """
    adjacent = np.diff(frames) == 1
    ends = np.append(True, ~adjacent) | np.append(~adjacent, True)
    costs = excess**2
    costs[ends] += TOO_FAST * np.maximum(excess[ends] - max_change, 0.0)
    total, back = costs[0], np.zeros(nodes.shape, np.int64)
    for k in range(1, len(nodes)):
        reached = np.broadcast_to(total, (nodes.shape[1], len(total)))
        if adjacent[k - 1]:
            change = np.abs(nodes[k][:, None] - nodes[k - 1])
            visible = np.minimum(change, excess[k][:, None] + excess[k - 1])
            reached = total + CHANGE * change + TOO_FAST * np.maximum(visible - max_change, 0.0)
        back[k] = reached.argmin(axis=1)
        total = costs[k] + np.take_along_axis(reached, back[k][:, None], axis=1)[:, 0]
    path, node = np.empty(len(nodes)), int(total.argmin())
    for k in range(len(nodes) - 1, -1, -1):
        path[k], node = nodes[k, node], int(back[k, node])
    return path


class LiveLimb(LivePaths):
    """Clamps the joints of a limb frame by frame, without look-ahead.

    The shift of twist follows the best one of each frame, no faster than a joint may always turn.
    """

    def __init__(self, limb: Limb, frame_time: float, max_speed: float) -> None:
        check_speed(max_speed)
        self.limb, self.max_change = limb, PACE * max_speed * frame_time
        speed = (1.0 - PACE) * max_speed
        self.paths = [
            LivePath(
                limit,
                frame_time,
                max_speed=speed,
                within=partial(limb.hold, k) if limb.has_muscle(k) else None,
            )
            for k, limit in enumerate(limb.limits.values())
        ]
        self.shift: float | None = None

    def push(self, rotations: Quats) -> Quats:
        given = unit_quats("rotations", rotations).astype(np.float64)[None]
        shared = self.limb.share_twist(given, tolerance(given.dtype))
        pooled, twist = self.limb.pool(given)
        shift = shared.shift
        if self.shift is not None:
            stay = np.clip([self.shift], -(most := self.limb.max_shift(pooled)), most)
            least = self.limb.excess_at(pooled, shift)
            if self.limb.excess_at(pooled, stay)[0] <= least[0] + tolerance(least.dtype):
                shift = stay
            shift = self.shift + np.clip(shift - self.shift, -self.max_change, self.max_change)
        self.shift = float(shift[0])
        limbs = self.limb.shift_twist(pooled, shift)
        moved = limbs.copy()
        for k in ORDER[: len(self.paths)]:
            moved[0, k] = self.paths[k].push(limbs[0, k], moved[0, 1])
        shared = SharedTwist(limbs, shared.distance, shift, twist)
        found: Quats = self.limb.project(self.limb.restore_twist(given, shared, moved))[0]
        return found

    def finish(self) -> list[Quats]:
        return []
