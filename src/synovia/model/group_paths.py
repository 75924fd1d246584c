"""Paths in time of the joints of a control group, with bounded steps.

Each frame is projected by itself first. Where a step of that path exceeds its bound (a jump),
dynamic programming (Viterbi) finds the cheapest path through candidates of the frames around it:
their projections, the branches of the frames on both sides followed by continuous controls, and
transitions through the controls from one side to the other. The group's own search accepts every
candidate, and so the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, unit_quats
from .bounded import LONGEST_RUN, MOVED, OVER, SLACK, lengths
from .clamp import allowed_steps, check_speed, same_sign
from .constraint import ClampedPaths
from .control_group import ControlGroup, NearestPose
from .live import LivePaths

SIDES = ((1, 1), (2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5))
"""Frames before and after a jump at which transitions start and end, relative to half of them."""
PACES = (1.0, 0.6, 0.4)  # shares of the bounds that transitions use, slower where jumps remain
REPACINGS = 4  # iterations that equalise the steps of a transition
SAME = 1e-6  # radians; branches that are nearer than this have merged
HALVINGS = 12  # of a single step that is too long, before the group stays where it was
AS_NEAR = 1.0 + 1e-6  # factor within which two squared distances are equal


class GroupFrames(NamedTuple):
    """Legal rotations of a group in some frames, and controls that give them to the tolerance."""

    frames: Ints
    """Indices (n,) of the frames."""
    controls: Floats
    """Controls (n, C)."""
    rotations: Quats
    """Rotations (n, S, 4)."""

    def take(self, rows: Ints | Mask) -> GroupFrames:
        """Return some rows, by their indices or by a mask (n,)."""
        return GroupFrames(self.frames[rows], self.controls[rows], self.rotations[rows])


def clamp_group(group: ControlGroup, rotations: Quats, bounds: Floats) -> ClampedPaths:
    """Return legal paths (frames, S, 4) of a group's joints near the given ones.

    No step exceeds its bound (frames, S), in radians, unless no path through the controls is found
    that keeps to it; such steps are reported. Frames that are legal move only around such steps.
    """
    rotations = unit_quats("rotations", rotations)
    found = group.nearest(rotations)
    nearest = group.move_to_edge(rotations, found)
    kept = (nearest == rotations).all(axis=(1, 2))
    path = _GroupPath(
        *(group, rotations.astype(np.float64), bounds, kept),
        *(found.controls.copy(), nearest.astype(np.float64)),
    )
    changed = path.remove_jumps()
    out = same_sign(path.rotations, rotations).astype(rotations.dtype)
    out = np.where(changed[:, None, None], out, nearest)
    over = np.zeros(out.shape[:2], dtype=bool)
    over[1:] = _ratios(path.rotations[:-1], path.rotations[1:], bounds[1:]) > 1.0
    return ClampedPaths(out, kept[:, None] & (out != rotations).any(axis=-1), over)


def _ratios(start: Quats, end: Quats, bounds: Floats) -> Floats:
    """Return the steps of joints (..., S) relative to their bounds; more than 1 is too far."""
    return np.asarray(quat.angle_between(start, end) / (bounds + SLACK))


@dataclass(frozen=True, eq=False)
class _GroupPath:
    """A legal path of a group's joints, whose controls and rotations are changed in place."""

    group: ControlGroup
    inputs: Quats
    bounds: Floats
    kept: Mask
    controls: Floats
    rotations: Quats

    def jumps(self) -> Ints:
        """Return the indices of the frames to which some joint's step exceeds its bound."""
        ratios = _ratios(self.rotations[:-1], self.rotations[1:], self.bounds[1:])
        return np.flatnonzero((ratios > 1.0).any(axis=1)) + 1

    def remove_jumps(self) -> Mask:
        """Remove jumps from the path, as far as possible; return a mask of the changed frames."""
        nearest, every = self.rotations.copy(), np.arange(len(self.rotations))
        candidates = GroupFrames(every, self.controls.copy(), nearest)
        for pace in PACES:
            jumps = self.jumps().tolist()
            if not jumps:
                break
            runs = [self._shortest_run(jump, side, pace) for jump in jumps for side in SIDES]
            added = [run for run in runs if run is not None]
            if pace == PACES[0]:
                added += [branch for jump in jumps for branch in self._branches(jump)]
            legal = [each.take(self.group.contains(each.rotations)) for each in added]
            candidates = _join([candidates, *legal])
            self._choose(candidates)
        return np.asarray((self.rotations != nearest).any(axis=(1, 2)))

    def _branches(self, jump: int) -> Iterator[GroupFrames]:
        """Yield the branch before a jump continued forwards, and that after it backwards.

        A branch ends where it meets the path again, or after the frames that the longest transition
        takes.
        """
        most = int(np.ceil(LONGEST_RUN / self.bounds[0].min()))
        ahead, back = np.arange(jump, len(self.rotations))[:most], np.arange(jump)[::-1][:most]
        for start, frames in ((jump - 1, ahead), (jump, back)):
            found = self.group.follow(self.inputs[frames], self.controls[start])
            away = quat.angle_between(found.rotations, self.group.pose(self.controls[frames]))
            met = int(np.argmax(np.append((away <= SAME).all(axis=-1), True)))
            found, frames = NearestPose(*(each[:met] for each in found)), frames[:met]
            legal = self.group.move_to_edge(self.inputs[frames], found)
            yield GroupFrames(frames, found.controls, legal)

    def _shortest_run(
        self, jump: int, side: tuple[float, float], pace: float
    ) -> GroupFrames | None:
        """Return the shortest transition across a jump, at a share `pace` of the bounds.

        It starts and ends a multiple of `side` frames before and after the jump. None if there is
        no such transition.
        """
        before, after, last = *side, len(self.rotations) - 1
        for k in lengths(2.0 * last + 2.0):
            start, end = jump - 1 - int(np.ceil(before * k)), jump + int(np.ceil(after * k))
            ends = np.clip([start, end], 0, last)
            inside = np.arange(max(start, 0), min(end, last)) + 1
            room = self.bounds[0] * (end - start)
            room = pace * (room + (self.bounds[inside] - self.bounds[0]).sum(axis=0))
            if (quat.angle_between(*self.rotations[ends]) <= room).all():
                run = self._run(start, end, pace)
                if run is not None:
                    return run
            if start < 0 and end > last:
                break
        return None

    def _run(self, start: int, end: int, pace: float) -> GroupFrames | None:
        """Return the transition between two frames through the controls; None if too fast.

        It may start before the first frame and end after the last, where the path stands still.
        """
        last = len(self.rotations) - 1
        frames = np.arange(start, end + 1)
        inside = np.clip(frames, 0, last)
        beyond = (frames[1:] < 1) | (frames[1:] > last)
        bounds = np.where(beyond[:, None], self.bounds[0], self.bounds[inside[1:]])
        ends, share = inside[[0, -1]], np.linspace(0.0, 1.0, len(frames))
        for _ in range(REPACINGS):
            controls, rotations = _between(
                self.group, self.controls[ends], self.rotations[ends], share
            )
            ratios = _ratios(rotations[:-1], rotations[1:], bounds).max(axis=1)
            if (ratios <= pace).all():
                inner = (frames >= 0) & (frames <= last) & (frames != start) & (frames != end)
                return GroupFrames(frames[inner], controls[inner], rotations[inner])
            gone = np.append(0.0, np.cumsum(ratios))
            share = np.interp(np.linspace(0.0, gone[-1], len(frames)), gone, share)
        return None

    def _choose(self, candidates: GroupFrames) -> None:
        """Set the path to the cheapest one through the candidates, by Viterbi's algorithm.

        A frame costs its weighted squared angles to the input, a legal frame that moves costs
        `MOVED`, and a step over its bound `OVER`, in proportion. Every frame has a candidate.
        """
        order = np.argsort(candidates.frames, kind="stable")
        frames, controls, rotations = candidates.take(order)
        squares = quat.angle_between(rotations, self.inputs[frames]) ** 2
        costs = (self.group.weights * squares).sum(axis=1)
        moved = (rotations != self.inputs[frames]).any(axis=(1, 2))
        costs += MOVED * (self.kept[frames] & moved)
        rows = np.split(np.arange(len(frames)), np.flatnonzero(np.diff(frames)) + 1)
        total, before = costs[rows[0]], np.zeros(len(frames), np.int64)
        for frame in range(1, len(rows)):
            last, row = rows[frame - 1], rows[frame]
            ratios = _ratios(rotations[last], rotations[row][:, None], self.bounds[frame])
            worst = ratios.max(axis=-1)
            reached = total + np.where(worst > 1.0, OVER * worst, 0.0)
            best = reached.argmin(axis=1)
            before[row] = last[best]
            total = costs[row] + np.take_along_axis(reached, best[:, None], axis=1)[:, 0]
        chosen = np.empty(len(rows), np.int64)
        chosen[-1] = rows[-1][total.argmin()]
        for frame in range(len(rows) - 1, 0, -1):
            chosen[frame - 1] = before[chosen[frame]]
        self.controls[:], self.rotations[:] = controls[chosen], rotations[chosen]


def _join(parts: Sequence[GroupFrames]) -> GroupFrames:
    """Return the candidates of all parts, concatenated."""
    frames, controls, rotations = (np.concatenate(each) for each in zip(*parts, strict=True))
    return GroupFrames(frames, controls, rotations)


def _between(
    group: ControlGroup, controls: Floats, rotations: Quats, share: Scalars
) -> tuple[Floats, Quats]:
    """Return controls (n, C) and legal rotations (n, S, 4) at shares (n,) between two poses.

    The controls (2, C) of the poses are interpolated, and so are the deviations of their rotations
    (2, S, 4) from what the controls give: no deviation is larger than at one of the ends.
    """
    between = controls[0] + share[:, None] * (controls[1] - controls[0])
    off = quat.log(quat.mul(quat.inverse(group.pose(controls)), rotations))
    off = off[0] + share[:, None, None] * (off[1] - off[0])
    return between, quat.mul(group.pose(between), quat.exp(off))


def step_towards(
    group: ControlGroup, start: Quats, controls: Floats, wanted: Quats, bounds: Scalars
) -> tuple[Quats, Floats]:
    """Return the legal pose nearest to `wanted`, or one on the path to it, and its controls.

    No joint rotates from `start` (S, 4), legal with `controls` (C,), by more than its bound (S,) in
    radians. The path is straight in the controls. If the search accepts no pose on it that is near
    enough, the result is `start`.
    """
    target, ends = _nearest_one(group, wanted, controls)
    rotations, found, share = target, ends, 1.0
    for _ in range(HALVINGS):
        ratio = float(_ratios(start, rotations, bounds).max())
        if ratio <= 1.0 and group.contains(rotations):
            return rotations, found
        share *= min(0.9 / max(ratio, 1.0), 0.5)
        between, steps = _between(
            group, np.stack([controls, ends]), np.stack([start, target]), np.array([share])
        )
        rotations, found = steps[0], between[0]
    return start, controls


def _nearest_one(group: ControlGroup, rotations: Quats, controls: Floats) -> tuple[Quats, Floats]:
    """Return the legal pose nearest to rotations (S, 4), and its controls (C,).

    Of controls that come equally near, those are taken that `controls` (C,) lead to.
    """
    nearest, followed = group.nearest(rotations[None]), group.follow(rotations[None], controls)
    squares = [
        (group.weights * np.maximum(each.angles[0] - group.tolerances, 0.0) ** 2).sum()
        for each in (nearest, followed)
    ]
    found = followed if squares[1] <= AS_NEAR * squares[0] else nearest
    legal: Quats = group.move_to_edge(rotations[None], found)[0]
    return legal, found.controls[0]


class LiveGroup(LivePaths):
    """Clamps the joints of a group frame by frame, without look-ahead; see `step_towards`."""

    def __init__(self, group: ControlGroup, frame_time: float, max_speed: float) -> None:
        check_speed(max_speed)
        self.group, self.max_step = group, max_speed * frame_time
        self.last: tuple[Quats, Quats, Floats] | None = None  # input, output and its controls

    def push(self, rotations: Quats) -> Quats:
        rotations = unit_quats("rotations", rotations).astype(np.float64)
        if self.last is None:
            legal, controls = self.group.project(rotations), self.group.nearest(rotations).controls
        else:
            given, before, controls = self.last
            bounds = allowed_steps(quat.angle_between(given, rotations), self.max_step)
            legal, controls = step_towards(self.group, before, controls, rotations, bounds)
        legal = same_sign(legal, rotations)
        self.last = rotations, legal, controls
        return legal

    def finish(self) -> list[Quats]:
        return []
