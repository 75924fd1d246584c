"""Paths in time of joints that controls rule together, with bounded steps.

A group's frames are projected to where the controls of the frame before lead. Where that ends, the
path jumps. Each jump becomes a run: controls go straight from those of a frame before it to those
of one after it, which are all within their ranges, at a pace at which no joint turns farther in a
frame than it may. Of runs that begin early, late, or in between, the one is taken that stays
nearest to the input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, unit_quats
from .bounded import MOVED, SLACK, lengths
from .clamp import GROWTH, check_speed, same_sign
from .constraint import ClampedPaths
from .control_group import ControlGroup, NearestPose
from .live import LivePaths

SIDES = ((1, 1), (2, 0), (0, 2), (1.5, 0.5), (0.5, 1.5))
"""How long before and after a jump runs begin and end, in turns of the same length."""
PACES = (1.0, 0.6)  # shares of their bounds that steps of a run take; slower where that fails
LIVE_HALVINGS = 12  # of a live step that is too long, before the group stays where it was
SETTLINGS = 4  # projections of a path, until one changes nothing
EVENINGS = 4  # how often shares of a run are set anew, until its steps are even


def clamp_group(group: ControlGroup, rotations: Quats, bounds: Floats) -> ClampedPaths:
    """Return paths (frames, S, 4) of a group's joints as legal ones without pops.

    No step is longer than its bound, (frames, S), unless there is no way through the controls on
    which that holds: such steps are reported.
    """
    rotations = unit_quats("rotations", rotations)
    found = group.follow(rotations)
    legal = group.move_to_edge(rotations, found)
    kept = (legal == rotations).all(axis=(1, 2))
    path = _GroupPath(
        group, rotations.astype(np.float64), bounds, kept, found.controls, legal.astype(np.float64)
    )
    changed = np.zeros(len(kept), dtype=bool)
    tried: set[int] = set()
    while len(jumps := [frame for frame in path.jumps().tolist() if frame not in tried]):
        tried.add(jumps[0])
        changed[path.remove_jump(jumps[0])] = True
    found_path = same_sign(path.rotations, rotations).astype(rotations.dtype)
    out = np.where(changed[:, None, None], found_path, legal)
    out = _settled(group, out, bounds) if changed.any() else out
    over = np.zeros(out.shape[:2], dtype=bool)
    over[1:] = path.ratios(out[:-1], out[1:], bounds[1:]) > 1.0
    return ClampedPaths(out, kept[:, None] & (out != rotations).any(axis=-1), over)


def _settled(group: ControlGroup, rotations: Quats, bounds: Floats) -> Quats:
    """Return a path that `project_path` leaves as it is, where repeated projection finds one.

    A run is accepted by a search for each frame, and a path by one that starts at the frame before:
    one may find controls where the other does not.
    """
    path = rotations
    for _ in range(SETTLINGS):
        after = group.project_path(path)
        if (after == path).all():
            return path
        if (quat.angle_between(after[:-1], after[1:]) > bounds[1:] + SLACK).any():
            break
        path = after
    return rotations


@dataclass(frozen=True, eq=False)
class _GroupPath:
    """A path of a group's joints, and the controls that prove it legal; both are changed."""

    group: ControlGroup
    inputs: Quats
    bounds: Floats
    kept: Mask
    controls: Floats
    rotations: Quats

    def ratios(self, start: Quats, end: Quats, bounds: Floats) -> Floats:
        """Return what share of its bound each joint turns by, (n, S); more than 1 is too far."""
        return np.asarray(quat.angle_between(start, end) / (bounds + SLACK))

    def jumps(self) -> Ints:
        """Return the frames to which some joint's step is over its bound."""
        ratios = self.ratios(self.rotations[:-1], self.rotations[1:], self.bounds[1:])
        return np.flatnonzero((ratios > 1.0).any(axis=1)) + 1

    def remove_jump(self, jump: int) -> Ints:
        """Set frames around a jump so that it is none; return these, or none where none do."""
        for pace in PACES:
            runs = [self._shortest_run(jump, before, after, pace) for before, after in SIDES]
            for run in sorted((run for run in runs if run is not None), key=lambda run: run.cost):
                if self._take(run):
                    return run.frames
        return np.zeros(0, np.int64)

    def _take(self, run: _Run) -> bool:
        """Set the path to a run, as far as a search finds it to be legal; tell if it has no jump.

        What controls give is legal, but of a hard pose a search does not always find that. It is
        then moved to where it does.
        """
        found = self.group.nearest(run.rotations)
        legal = self.group.move_to_edge(run.rotations, found)
        same = (legal == run.rotations).all(axis=(1, 2))
        first, last = max(run.frames[0] - 1, 0), min(run.frames[-1] + 1, len(self.rotations) - 1)
        around = self.rotations[first : last + 1].copy()
        around[run.frames - first] = legal
        if (self.ratios(around[:-1], around[1:], self.bounds[first + 1 : last + 1]) > 1.0).any():
            return False
        self.rotations[run.frames] = legal
        self.controls[run.frames] = np.where(same[:, None], run.controls, found.controls)
        return True

    def _shortest_run(self, jump: int, before: float, after: float, pace: float) -> _Run | None:
        """Return the shortest run over a jump that begins and ends so, where there is one.

        Its steps are at most a share `pace` of their bounds.
        """
        last = len(self.rotations) - 1
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

    def _run(self, start: int, end: int, pace: float) -> _Run | None:
        """Return the way from one frame to another through the controls; None where too fast."""
        last = len(self.rotations) - 1
        frames = np.arange(start, end + 1)
        here = np.clip(frames, 0, last)
        beyond = (frames[1:] < 1) | (frames[1:] > last)
        bounds = np.where(beyond[:, None], self.bounds[0], self.bounds[here[1:]])
        share = np.linspace(0.0, 1.0, len(frames))
        for _ in range(EVENINGS):
            controls, rotations = self._between(here[[0, -1]], share)
            ratios = self.ratios(rotations[:-1], rotations[1:], bounds).max(axis=1)
            if (ratios <= pace).all():
                inner = (frames >= 0) & (frames <= last) & (frames != start) & (frames != end)
                return self._rated(frames[inner], controls[inner], rotations[inner])
            gone = np.append(0.0, np.cumsum(ratios))
            share = np.interp(np.linspace(0.0, gone[-1], len(frames)), gone, share)
        return None

    def _between(self, ends: Ints, share: Scalars) -> tuple[Floats, Quats]:
        """Return controls (n, C) and rotations (n, S, 4) at shares of the way between two frames.

        Rotations are off what the controls give by what they are at the ends, interpolated: no
        more than at one of them.
        """
        first, other = self.controls[ends]
        controls = first + share[:, None] * (other - first)
        given = self.group.pose(self.controls[ends])
        off = quat.log(quat.mul(quat.inverse(given), self.rotations[ends]))
        off = off[0] + share[:, None, None] * (off[1] - off[0])
        return controls, quat.mul(self.group.pose(controls), quat.exp(off))

    def _rated(self, frames: Ints, controls: Floats, rotations: Quats) -> _Run:
        squares = self.group.weights * quat.angle_between(rotations, self.inputs[frames]) ** 2
        return _Run(
            frames, controls, rotations, float(squares.sum() + MOVED * self.kept[frames].sum())
        )


@dataclass(frozen=True, eq=False)
class _Run:
    """What to set frames (n,) to, and what that costs."""

    frames: Ints
    controls: Floats
    rotations: Quats
    cost: float


class LiveGroup(LivePaths):
    """Clamps the joints of a group frame by frame, without look-ahead.

    Each frame starts the search at the controls of the frame before. Where a joint would turn
    farther than its bound, all controls go only part of the way; if no part of it is found to be
    legal, the group stays where it was.
    """

    def __init__(self, group: ControlGroup, frame_time: float, max_speed: float) -> None:
        check_speed(max_speed)
        self.group, self.max_step = group, max_speed * frame_time
        self.last: tuple[Quats, Quats, Floats] | None = None  # input, output and its controls

    def push(self, rotations: Quats) -> Quats:
        rotations = unit_quats("rotations", rotations).astype(np.float64)
        if self.last is None:
            found = self.group.nearest(rotations)
            legal = self._legal(rotations, found)
            self.last = rotations, legal, found.controls
            return legal
        given, before, controls = self.last
        found = self.group.nearest_from(rotations, controls)
        legal, ends = self._legal(rotations, found), found.controls
        bounds = np.maximum(GROWTH * quat.angle_between(given, rotations), self.max_step)
        path = _GroupPath(
            self.group,
            np.stack([given, rotations]),
            np.stack([bounds, bounds]),
            np.zeros(2, dtype=bool),
            np.stack([controls, ends]),
            np.stack([before, legal]),
        )
        share = 1.0
        for _ in range(LIVE_HALVINGS):
            ratio = float(path.ratios(before, legal, bounds).max())
            if ratio <= 1.0:
                break
            share *= min(0.9 / ratio, 0.5)
            between, steps = path._between(np.array([0, 1]), np.array([share]))
            found = self.group.nearest_from(steps[0], between[0])
            legal, ends = self._legal(steps[0], found), found.controls
        else:
            legal, ends = before, controls
        self.last = rotations, legal, ends
        return same_sign(legal, rotations)

    def _legal(self, rotations: Quats, found: NearestPose) -> Quats:
        one = NearestPose(*(each[None] for each in (found.controls, found.rotations, found.angles)))
        legal: Quats = self.group.move_to_edge(rotations[None], one)[0]
        return legal

    def finish(self) -> list[Quats]:
        return []
