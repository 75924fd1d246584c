"""Roadmap: shortest legal paths through a region that is not convex.

It is a probabilistic roadmap (PRM), see Kavraki et al., "Probabilistic roadmaps for path planning
in high-dimensional configuration spaces", 1996.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Mask, Quats, Scalars

NEIGHBOURS = 10  # candidates for links of each member
SAMPLES = 24  # largest number of points that are tested on a link
JUMP = 1.5  # steps longer than this factor times the even step are gaps
FINEST = 12  # largest number of bisections of a link
TRIES = 20  # paths that are tested before the search gives up
BLOCK = 256  # rotations whose distances from all members are computed at once
DESCENTS = 16  # steps of the descent in `nearest_to`


def angles(one: Quats, other: Quats) -> Scalars:
    """Return the angles (n,) between rotations (n, 4), in radians."""
    out = np.empty(len(one))
    kernels.clamp.angles(np.ascontiguousarray(one), np.ascontiguousarray(other), out)
    return out


def slerp(start: Quats, end: Quats, run: Ints, share: Scalars) -> Quats:
    """Return rotations (n, …, 4) at shares (n,) of the rotations from start[run] to end[run]."""
    shape = start.shape[1:-1]
    joints = int(np.prod(shape))
    rows = (joints * run[:, None] + np.arange(joints)).ravel()
    out = np.empty((len(rows), 4))
    ends = (np.ascontiguousarray(points).reshape(-1, 4) for points in (start, end))
    kernels.clamp.turn_along(*ends, rows, np.repeat(share, joints), out)
    return out.reshape(len(run), *shape, 4)


class Roadmap:
    """A graph of legal rotations of a joint, linked where a legal path without gaps connects them.

    Steps of up to `hop` radians are not gaps.

    `waypoints` (m, 4) are the first members; `project` returns the nearest members to rotations
    (n, 1, 4).
    """

    def __init__(self, waypoints: Quats, project: Callable[[Quats], Quats], hop: float) -> None:
        self.project, self.hop = project, hop
        self.members = np.empty((0, 4))
        self.pairs = np.empty((0, 2), np.int64)
        self.lengths = np.empty(0)  # of the pairs, inf across gaps
        self.add(waypoints)

    def add(self, rotations: Quats) -> Ints:
        """Add members (n, 4), link them with their neighbours, and return their indices (n,)."""
        before = len(self.members)
        self.members = np.concatenate([self.members, rotations])
        added = np.arange(before, len(self.members))
        nearby = self._nearest_members(rotations, NEIGHBOURS + 1)
        one, other = np.repeat(added, nearby.shape[1]), nearby.ravel()
        both = np.minimum(one, other) * len(self.members) + np.maximum(one, other)
        both = np.unique(both[one != other])
        pairs = np.stack(np.divmod(both, len(self.members)), axis=1)
        self.pairs = np.concatenate([self.pairs, pairs])
        legal, length = self._ways(self.members[pairs[:, 0]], self.members[pairs[:, 1]])
        self.lengths = np.append(self.lengths, np.where(legal, length, np.inf))
        ends, others = self.pairs.T.ravel(), self.pairs[:, ::-1].T.ravel()
        order = np.argsort(ends, kind="stable")
        numbers = np.tile(np.arange(len(self.pairs)), 2)
        self._links = np.ascontiguousarray(np.stack([others, numbers], axis=1)[order])
        self._owners = ends[order]
        self._first = np.searchsorted(self._owners, np.arange(len(self.members) + 1))
        return added

    def _project(self, rotations: Quats) -> Quats:
        return self.project(rotations[:, None])[:, 0]

    def _ways(self, start: Quats, end: Quats) -> tuple[Mask, Scalars]:
        """Return which straight paths, projected to the region, have no gap, and their lengths."""
        straight = angles(start, end)
        count = int(np.clip(np.ceil(straight.max(initial=0.0) / (0.5 * self.hop)), 4, SAMPLES))
        share = np.linspace(0.0, 1.0, count + 1)[1:-1]
        run = np.repeat(np.arange(len(start)), len(share))
        between = self._project(slerp(start, end, run, np.tile(share, len(start))))
        ways = np.concatenate(
            [start[:, None], between.reshape(len(start), count - 1, 4), end[:, None]], axis=1
        )
        steps = angles(ways[:, :-1].reshape(-1, 4), ways[:, 1:].reshape(-1, 4))
        steps = steps.reshape(len(start), count)
        usual = np.maximum(self.hop, JUMP / count * straight)
        return (steps <= usual[:, None]).all(axis=1), steps.sum(axis=1)

    def parts(self) -> Ints:
        """Return the connected component (members,) of each member."""
        parts = np.arange(len(self.members))
        pairs = self.pairs[np.isfinite(self.lengths)]
        while True:  # label propagation: the smallest index of the neighbours
            least = parts.copy()
            np.minimum.at(least, pairs[:, 0], parts[pairs[:, 1]])
            np.minimum.at(least, pairs[:, 1], parts[pairs[:, 0]])
            least = least[least]
            if (least == parts).all():
                return parts
            parts = least

    def routes(self, starts: Quats, ends: Quats) -> list[Quats]:
        """Return legal rotations (m, 4) from each start to its end, both (n, 4), in steps of `hop`.

        An entry is empty if the roadmap has no such path.
        """
        out: list[Quats] = [np.empty((0, 4))] * len(starts)
        entries, exits = self._ways_from(starts), self._ways_from(ends)
        ahead = 2.0 * np.arccos(np.minimum(np.abs(ends @ self.members.T), 1.0))
        left = np.arange(len(starts))
        for _ in range(TRIES):
            paths, taken = self._shortest(entries[left], exits[left], ahead[left])
            left, paths, taken = (
                left[[len(by) > 0 for by in paths]],
                [by for by in paths if by],
                [links for by, links in zip(paths, taken, strict=True) if by],
            )
            if len(left) == 0:
                break
            legs = [len(by) + 1 for by in paths]
            stops = [
                np.concatenate([starts[[k]], self.members[by], ends[[k]]])
                for k, by in zip(left, paths, strict=True)
            ]
            ways, gaps = self._fill(stops)
            bad = np.split(gaps, np.cumsum(legs)[:-1])
            for k, by, links, filled, leg in zip(
                left.tolist(), paths, taken, ways, bad, strict=True
            ):
                if leg.any():  # do not try this link again
                    entries[k, by[0]] = np.inf if leg[0] else entries[k, by[0]]
                    exits[k, by[-1]] = np.inf if leg[-1] else exits[k, by[-1]]
                    self.lengths[np.array(links, np.int64)[leg[1:-1]]] = np.inf
                else:
                    out[k] = filled
            left = left[[bool(leg.any()) for leg in bad]]
        return out

    def _ways_from(self, rotations: Quats) -> Floats:
        """Return the lengths (n, m) of paths from rotations to near members, inf to others."""
        nearby = self._nearest_members(rotations, NEIGHBOURS)
        rows, columns = np.repeat(np.arange(len(nearby)), nearby.shape[1]), nearby.ravel()
        legal, length = self._ways(rotations[rows], self.members[columns])
        out = np.full((len(rotations), len(self.members)), np.inf)
        out[rows, columns] = np.where(legal, length, np.inf)
        return out

    def _nearest_members(self, rotations: Quats, count: int) -> Ints:
        """Return the indices (n, count) of the nearest members, or of all if there are fewer."""
        most = min(count, len(self.members))
        nearby = np.empty((len(rotations), most), np.int64)
        for rows in range(0, len(rotations), BLOCK):
            cosines = np.abs(rotations[rows : rows + BLOCK] @ self.members.T)  # of half the angles
            nearby[rows : rows + BLOCK] = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
        return nearby

    def _shortest(
        self, entries: Floats, exits: Floats, ahead: Floats
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the members on the shortest paths, and their links; empty without a path.

        `entries` and `exits` (n, m) are the lengths from the start to each member and from there to
        the end. `ahead` (n, m) are lower bounds of the remaining length, for A*.
        """
        before, last = np.empty(entries.shape, np.int64), np.empty(len(entries), np.int64)
        kernels.clamp.shortest_ways(
            self._first, self._links, self.lengths, entries, exits, ahead, before, last
        )
        members: list[list[int]] = []
        links: list[list[int]] = []
        for back, at in zip(before, last.tolist(), strict=True):
            path, taken = [at] if at >= 0 else [], []
            while at >= 0 and (row := int(back[at])) >= 0:
                at = int(self._owners[row])
                path.append(at)
                taken.append(int(self._links[row, 1]))
            members.append(path[::-1])
            links.append(taken[::-1])
        return members, links

    def _fill(self, stops: list[Quats]) -> tuple[list[Quats], Mask]:
        """Return legal paths through stops, in steps of `hop`, and a mask of legs with gaps."""
        path_index = np.repeat(np.arange(len(stops)), [len(path) for path in stops])
        every = np.concatenate(stops)
        leg = np.arange(len(path_index)) - path_index  # leg after each stop
        for _ in range(FINEST):
            within = path_index[:-1] == path_index[1:]
            wide = np.flatnonzero(within & (angles(every[:-1], every[1:]) > 0.5 * self.hop))
            if len(wide) == 0:
                break
            middles = self._project(slerp(every[:-1], every[1:], wide, np.full(len(wide), 0.5)))
            twice = np.ones(len(every), np.int64)
            twice[wide] = 2
            source = np.repeat(np.arange(len(every)), twice)
            every, path_index, leg = every[source], path_index[source], leg[source]
            every[wide + 1 + np.arange(len(wide))] = middles
            moves = (angles(every[:-1], every[1:]) > 1e-9) | (path_index[:-1] != path_index[1:])
            kept = np.append(True, moves)
            every, path_index, leg = every[kept], path_index[kept], leg[kept]
        steps = angles(every[:-1], every[1:])
        gaps = np.zeros(sum(len(path) - 1 for path in stops), dtype=bool)
        gaps[leg[:-1][(steps > self.hop) & (path_index[:-1] == path_index[1:])]] = True
        first = np.searchsorted(path_index, np.arange(len(stops) + 1))
        thin = np.empty(len(every), dtype=bool)
        kernels.clamp.thin_ways(every, first, self.hop, thin)
        return np.split(every[thin], np.cumsum(np.add.reduceat(thin, first[:-1]))[:-1]), gaps

    def nearest_to(self, rotations: Quats, members: Quats) -> Quats:
        """Return legal rotations near each of (n, 4), by descent from the nearest of `members`.

        They are connected to the members, but not always the nearest such rotations.
        """
        nearest: Quats = members[np.abs(rotations @ members.T).argmax(axis=1)]
        size, indices = self.hop, np.arange(len(rotations))
        away = angles(nearest, rotations)
        for _ in range(DESCENTS):
            share = np.minimum(size / np.maximum(away, 1e-300), 1.0)
            tried = self._project(slerp(nearest, rotations, indices, share))
            nearer = angles(tried, rotations)
            better = (nearer < away) & (angles(tried, nearest) <= self.hop)
            nearest = np.where(better[:, None], tried, nearest)
            away = np.where(better, nearer, away)
            size = size if better.mean() > 0.5 else 0.5 * size
        return nearest


def cheapest_columns(costs: Floats, step_costs: Callable[[int], Floats | float]) -> Ints:
    """Return the columns (rows,) of `costs` (rows, m) with the least sum, by Viterbi's algorithm.

    `step_costs(row)` (m, m) are added for the step to each column of a row from each of the row
    before.
    """
    total, before = costs[0], np.zeros(costs.shape, np.int64)
    for row in range(1, len(costs)):
        reached = np.broadcast_to(total, (len(total), len(total))) + step_costs(row)
        before[row] = reached.argmin(axis=1)
        total = costs[row] + reached.min(axis=1)
    chosen = np.empty(len(costs), np.int64)
    chosen[-1] = total.argmin()
    for row in range(len(costs) - 1, 0, -1):
        chosen[row - 1] = before[row, chosen[row]]
    return chosen
