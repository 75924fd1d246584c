"""Paths in time of several joints that are legal together, with bounded steps.

Where a step of such a path exceeds its bound (a jump), dynamic programming (Viterbi) finds the
cheapest path through candidates of the frames around it: the frames as they are, the branches on
both sides continued, and transitions from one side to the other. All candidates are legal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars
from .bounded import LONGEST_RUN, MOVED, OVER, SLACK, lengths

SIDES = ((1, 1), (2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5))
"""Frames before and after a jump at which transitions start and end, relative to half of them."""
PACES = (1.0, 0.6, 0.4)  # shares of the bounds that transitions use, slower where jumps remain
REPACINGS = 4  # iterations that equalise the steps of a transition


class JointFrames(NamedTuple):
    """Legal rotations of the joints in some frames, and their controls."""

    frames: Ints
    """Indices (n,) of the frames."""
    controls: Floats
    """Controls (n, C)."""
    rotations: Quats
    """Rotations (n, S, 4)."""

    def take(self, rows: Ints | Mask) -> JointFrames:
        """Return some rows, by their indices or by a mask (n,)."""
        return JointFrames(self.frames[rows], self.controls[rows], self.rotations[rows])


class Moves(Protocol):
    """Legal movements of the joints, described by the values of any number of controls."""

    @property
    def weights(self) -> Scalars:
        """Weights (S,) of the joints in sums of squared angles."""

    def contains(self, rotations: Quats) -> Mask:
        """Return a mask (n,) of the legal ones of rotations (n, S, 4)."""

    def between(self, controls: Floats, rotations: Quats, share: Scalars) -> tuple[Floats, Quats]:
        """Return controls (n, C) and rotations (n, S, 4) at shares (n,) between two poses.

        `controls` (2, C) and `rotations` (2, S, 4) are those of the poses.
        """

    def branch(self, inputs: Quats, controls: Floats, path: Floats) -> tuple[Floats, Quats]:
        """Return controls (m, C) and rotations (m, S, 4) near inputs (n, S, 4), continuously.

        They begin at `controls` (C,) and end, m ≤ n, where they meet those of `path` (n, C).
        """


def step_ratios(start: Quats, end: Quats, bounds: Floats) -> Floats:
    """Return the steps of joints (..., S) relative to their bounds; more than 1 is too far."""
    return np.asarray(quat.angle_between(start, end) / (bounds + SLACK))


@dataclass(frozen=True, eq=False)
class JointPaths:
    """A legal path of the joints, whose controls and rotations are changed in place."""

    moves: Moves
    inputs: Quats
    bounds: Floats
    kept: Mask
    controls: Floats
    rotations: Quats

    def jumps(self) -> Ints:
        """Return the indices of the frames to which some joint's step exceeds its bound."""
        ratios = step_ratios(self.rotations[:-1], self.rotations[1:], self.bounds[1:])
        return np.flatnonzero((ratios > 1.0).any(axis=1)) + 1

    def remove_jumps(self) -> Mask:
        """Remove jumps from the path, as far as possible; return a mask of the changed frames."""
        nearest, every = self.rotations.copy(), np.arange(len(self.rotations))
        candidates = JointFrames(every, self.controls.copy(), nearest)
        for pace in PACES:
            jumps = self.jumps().tolist()
            if not jumps:
                break
            runs = [self._shortest_run(jump, side, pace) for jump in jumps for side in SIDES]
            added = [run for run in runs if run is not None]
            if pace == PACES[0]:
                added += [branch for jump in jumps for branch in self._branches(jump)]
            legal = [each.take(self.moves.contains(each.rotations)) for each in added]
            candidates = _join([candidates, *legal])
            self._choose(candidates)
        return np.asarray((self.rotations != nearest).any(axis=(1, 2)))

    def _branches(self, jump: int) -> Iterator[JointFrames]:
        """Yield the branch before a jump continued forwards, and that after it backwards.

        A branch ends where it meets the path again, or after the frames that the longest transition
        takes.
        """
        most = int(np.ceil(LONGEST_RUN / self.bounds[0].min()))
        ahead, back = np.arange(jump, len(self.rotations))[:most], np.arange(jump)[::-1][:most]
        for start, frames in ((jump - 1, ahead), (jump, back)):
            path = self.controls[frames]
            controls, legal = self.moves.branch(self.inputs[frames], self.controls[start], path)
            yield JointFrames(frames[: len(legal)], controls, legal)

    def _shortest_run(
        self, jump: int, side: tuple[float, float], pace: float
    ) -> JointFrames | None:
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

    def _run(self, start: int, end: int, pace: float) -> JointFrames | None:
        """Return the transition between two frames; None if too fast.

        It may start before the first frame and end after the last, where the path stands still.
        """
        last = len(self.rotations) - 1
        frames = np.arange(start, end + 1)
        inside = np.clip(frames, 0, last)
        beyond = (frames[1:] < 1) | (frames[1:] > last)
        bounds = np.where(beyond[:, None], self.bounds[0], self.bounds[inside[1:]])
        ends, share = inside[[0, -1]], np.linspace(0.0, 1.0, len(frames))
        for _ in range(REPACINGS):
            controls, rotations = self.moves.between(
                self.controls[ends], self.rotations[ends], share
            )
            ratios = step_ratios(rotations[:-1], rotations[1:], bounds).max(axis=1)
            if (ratios <= pace).all():
                inner = (frames >= 0) & (frames <= last) & (frames != start) & (frames != end)
                return JointFrames(frames[inner], controls[inner], rotations[inner])
            gone = np.append(0.0, np.cumsum(ratios))
            share = np.interp(np.linspace(0.0, gone[-1], len(frames)), gone, share)
        return None

    def _choose(self, candidates: JointFrames) -> None:
        """Set the path to the cheapest one through the candidates, by Viterbi's algorithm.

        A frame costs its weighted squared angles to the input, a legal frame that moves costs
        `MOVED`, and a step over its bound `OVER`, in proportion. Every frame has a candidate.
        """
        order = np.argsort(candidates.frames, kind="stable")
        frames, controls, rotations = candidates.take(order)
        squares = quat.angle_between(rotations, self.inputs[frames]) ** 2
        costs = (self.moves.weights * squares).sum(axis=1)
        moved = (rotations != self.inputs[frames]).any(axis=(1, 2))
        costs += MOVED * (self.kept[frames] & moved)
        rows = np.split(np.arange(len(frames)), np.flatnonzero(np.diff(frames)) + 1)
        total, before = costs[rows[0]], np.zeros(len(frames), np.int64)
        for frame in range(1, len(rows)):
            last, row = rows[frame - 1], rows[frame]
            ratios = step_ratios(rotations[last], rotations[row][:, None], self.bounds[frame])
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


def _join(parts: Sequence[JointFrames]) -> JointFrames:
    """Return the candidates of all parts, concatenated."""
    frames, controls, rotations = (np.concatenate(each) for each in zip(*parts, strict=True))
    return JointFrames(frames, controls, rotations)
