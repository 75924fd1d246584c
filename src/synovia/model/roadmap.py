"""Roadmap: ways through a region that is not convex, by members of it that see each other."""

from __future__ import annotations

import heapq
from typing import Protocol

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Quats, Scalars

NEIGHBOURS = 10  # that each member is linked with, if the way there is legal
SAMPLES = 24  # on such a way, at most
JUMP = 1.5  # times the usual step between these: a longer one is a gap
FINEST = 12  # how often a way is halved, at most, until its steps are short enough
TRIES = 20  # ways that turn out to have a gap, before there is none
DESCENTS = 16  # steps towards the nearest member in sight


class PathRegion(Protocol):
    """What is legal in each frame of a path."""

    def project(self, rotations: Quats, frames: Ints) -> Quats:
        """Return the nearest legal rotation to each of (n, 4), in its frame (n,)."""

    def toward(self, start: Quats, end: Quats, run: Ints, share: Scalars, frames: Ints) -> Quats:
        """Return legal rotations (n, 4) on ways from `start` to `end`, (runs, 4), both legal.

        Each is about a `share` of the way of number `run`, and legal in its frame, (n,) all three.
        """

    def waypoints(self) -> Quats:
        """Return legal rotations (m, 4) all over the region, to go by where no way is straight."""


def angles(one: Quats, other: Quats) -> Scalars:
    """Return the angles (n,) between rotations (n, 4), in radians."""
    out = np.empty(len(one))
    kernels.clamp.angles(np.ascontiguousarray(one), np.ascontiguousarray(other), out)
    return out


def slerp(start: Quats, end: Quats, run: Ints, share: Scalars) -> Quats:
    """Return rotations (n, 4) at shares of the shortest turns, by number, from start to end."""
    out = np.empty((len(run), 4))
    kernels.clamp.turn_along(
        np.ascontiguousarray(start), np.ascontiguousarray(end), run, share, out
    )
    return out


class Roadmap:
    """Members of a region, linked where a legal way without gaps leads from one to another.

    Steps of up to `hop` radians are no gaps.
    """

    def __init__(self, region: PathRegion, hop: float, ends: Quats) -> None:
        self.region, self.hop = region, hop
        self.members = np.concatenate([ends, region.waypoints()])
        dots = np.abs(self.members @ self.members.T)
        count = min(NEIGHBOURS + 1, len(dots))
        near = np.argpartition(-dots, count - 1, axis=1)[:, :count]
        pairs = np.stack([np.repeat(np.arange(len(dots)), count), near.ravel()], axis=1)
        pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
        legal, length = self._ways(self.members[pairs[:, 0]], self.members[pairs[:, 1]])
        self.links: list[dict[int, float]] = [{} for _ in dots]
        for (i, j), each in zip(pairs[legal].tolist(), length[legal].tolist(), strict=True):
            self.links[i][j] = self.links[j][i] = each
        self.parts = self._label_parts()

    def _project(self, rotations: Quats) -> Quats:
        return self.region.project(rotations, np.zeros(len(rotations), np.int64))

    def _ways(self, start: Quats, end: Quats) -> tuple[Mask, Scalars]:
        """Tell which straight ways, brought back inside, have no gap; and how long they are."""
        straight = angles(start, end)
        count = int(np.clip(np.ceil(straight.max(initial=0.0) / (0.5 * self.hop)), 4, SAMPLES))
        share = np.linspace(0.0, 1.0, count + 1)[1:-1]
        run = np.repeat(np.arange(len(start)), len(share))
        between = self._project(slerp(start, end, run, np.tile(share, len(start))))
        ways = np.concatenate(
            [start[:, None], between.reshape(len(start), -1, 4), end[:, None]], axis=1
        )
        steps = angles(ways[:, :-1].reshape(-1, 4), ways[:, 1:].reshape(-1, 4))
        steps = steps.reshape(len(start), -1)
        usual = np.maximum(self.hop, JUMP / count * straight)
        return (steps <= usual[:, None]).all(axis=1), steps.sum(axis=1)

    def _label_parts(self) -> Ints:
        """Return the number of the connected part that each member is in."""
        parts = np.full(len(self.members), -1)
        for first in range(len(parts)):
            if parts[first] >= 0:
                continue
            parts[first], ahead = first, [first]
            while ahead:
                for other in self.links[ahead.pop()]:
                    if parts[other] < 0:
                        parts[other] = first
                        ahead.append(other)
        return parts

    def route(self, start: Quats, end: Quats) -> Quats | None:
        """Return legal rotations (m, 4) from start to end, both (4,), in steps of a hop at most.

        None where the roadmap has no such way.
        """
        away = np.abs(self.members @ np.stack([start, end]).T)
        near = np.argsort(-away, axis=0)[:NEIGHBOURS].T
        ends = []
        for one, each in zip((start, end), near, strict=True):
            legal, length = self._ways(np.tile(one, (len(each), 1)), self.members[each])
            ends.append(dict(zip(each[legal].tolist(), length[legal].tolist(), strict=True)))
        ahead = (2.0 * np.arccos(np.minimum(away[:, 1], 1.0))).tolist()
        for _ in range(TRIES):
            found = self._shortest(ends[0], ends[1], ahead)
            if found is None:
                return None
            stops = np.concatenate([start[None], self.members[found], end[None]])
            way, gaps = self._fill(stops)
            for k in gaps:  # not to be tried again
                if k == 0:
                    del ends[0][found[0]]
                elif k == len(found):
                    del ends[1][found[-1]]
                else:
                    here, there = found[k - 1 : k + 1]
                    self.links[here].pop(there, None)
                    self.links[there].pop(here, None)
            if not gaps:
                return self._thin(way)
        return None

    def _shortest(
        self, entries: dict[int, float], exits: dict[int, float], ahead: list[float]
    ) -> list[int] | None:
        """Return the members on the shortest way from one of `entries` to one of `exits`.

        By A*: it is at least `ahead` from each member to the end.
        """
        heap = [(cost + ahead[at], cost, at, -1) for at, cost in entries.items()]
        heapq.heapify(heap)
        before: dict[int, int] = {}
        best, last = np.inf, -1
        while heap and heap[0][0] < best:
            _, cost, here, came = heapq.heappop(heap)
            if here in before:
                continue
            before[here] = came
            if here in exits and cost + exits[here] < best:
                best, last = cost + exits[here], here
            for other, step in self.links[here].items():
                if other not in before:
                    gone = cost + step
                    heapq.heappush(heap, (gone + ahead[other], gone, other, here))
        found = []
        while last >= 0:
            found.append(last)
            last = before[last]
        return found[::-1] or None

    def _fill(self, stops: Quats) -> tuple[Quats, list[int]]:
        """Return a legal way (m, 4) by `stops` in short steps, and the legs that have a gap."""
        leg = np.arange(len(stops) - 1)  # of each step
        for _ in range(FINEST):
            wide = np.flatnonzero(angles(stops[:-1], stops[1:]) > 0.5 * self.hop)
            if len(wide) == 0:
                break
            middles = self._project(slerp(stops[:-1], stops[1:], wide, np.full(len(wide), 0.5)))
            stops, leg = (
                np.insert(stops, wide + 1, middles, axis=0),
                np.insert(leg, wide, leg[wide]),
            )
            moves = angles(stops[:-1], stops[1:]) > 1e-9
            stops, leg = stops[np.append(True, moves)], leg[moves]
        return stops, np.unique(leg[angles(stops[:-1], stops[1:]) > self.hop]).tolist()

    def _thin(self, way: Quats) -> Quats:
        """Return as few of the rotations of a way as go from first to last by hops."""
        taken = [0]
        while taken[-1] < len(way) - 1:
            ahead = way[taken[-1] + 1 :]
            within = angles(np.tile(way[taken[-1]], (len(ahead), 1)), ahead) <= self.hop
            gone = len(within) if within.all() else int(within.argmin())
            taken.append(taken[-1] + max(gone, 1))
        return way[taken]

    def nearest_in(self, part: int, rotations: Quats) -> Quats:
        """Return members of one part near to each of `rotations` (n, 4): downhill from the nearest.

        These are legal, and in sight of the part, but not always the nearest.
        """
        members = self.members[self.parts == part]
        found: Quats = members[np.abs(rotations @ members.T).argmax(axis=1)]
        size, own = self.hop, np.arange(len(rotations))
        away = angles(found, rotations)
        for _ in range(DESCENTS):
            share = np.minimum(size / np.maximum(away, 1e-300), 1.0)
            tried = self._project(slerp(found, rotations, own, share))
            nearer = angles(tried, rotations)
            better = (nearer < away) & (angles(tried, found) <= self.hop)
            found = np.where(better[:, None], tried, found)
            away = np.where(better, nearer, away)
            size = size if better.mean() > 0.5 else 0.5 * size
        return found


def cheapest_parts(costs: Floats, switch: float) -> Ints:
    """Return the column to take in each row of `costs`, with `switch` for each change: (rows,)."""
    total, before = costs[0].copy(), np.zeros(costs.shape, np.int64)
    for row in range(1, len(costs)):
        stay, other = total, int(total.argmin())
        before[row] = np.where(stay <= total[other] + switch, np.arange(len(stay)), other)
        total = np.minimum(stay, total[other] + switch) + costs[row]
    chosen = np.empty(len(costs), np.int64)
    chosen[-1] = total.argmin()
    for row in range(len(costs) - 1, 0, -1):
        chosen[row - 1] = before[row, chosen[row]]
    return chosen
