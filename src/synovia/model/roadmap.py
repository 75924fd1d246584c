"""Roadmap: ways through a region that is not convex, by members of it that see each other."""

from __future__ import annotations

from collections.abc import Callable
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


Ways = Callable[[Ints, Scalars, Ints], Quats]


class PathRegion(Protocol):
    """What is legal in each frame of a path."""

    def project(self, rotations: Quats, frames: Ints) -> Quats:
        """Return the nearest legal rotation to each of (n, 4), in its frame (n,)."""

    def ways(self, start: Quats, end: Quats) -> Ways:
        """Return ways from `start` to `end`, (runs, 4), both legal, that are straight in a chart.

        They are asked for legal rotations (n, 4) by their numbers, shares of the way and frames,
        (n,) each.
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

    Steps of up to `hop` radians are no gaps. Links are looked at when a way first goes by there:
    until then they count as if they were straight and legal, so that a way that is shortest among
    known links is the shortest of all.
    """

    def __init__(self, region: PathRegion, hop: float) -> None:
        self.region, self.hop = region, hop
        self.members = np.empty((0, 4))
        self.pairs = np.empty((0, 2), np.int64)
        self.lengths, self.known = np.empty(0), np.empty(0, dtype=bool)
        self.add(region.waypoints())

    def add(self, rotations: Quats) -> Ints:
        """Add members (n, 4), linked with those about them, and return their numbers (n,)."""
        before = len(self.members)
        self.members = np.concatenate([self.members, rotations])
        added = np.arange(before, len(self.members))
        near = self._nearest_members(rotations, NEIGHBOURS + 1)
        one, other = np.repeat(added, near.shape[1]), near.ravel()
        both = np.minimum(one, other) * len(self.members) + np.maximum(one, other)
        both = np.unique(both[one != other])
        pairs = np.stack(np.divmod(both, len(self.members)), axis=1)
        self.pairs = np.concatenate([self.pairs, pairs])
        straight = angles(self.members[pairs[:, 0]], self.members[pairs[:, 1]])
        self.lengths = np.concatenate([self.lengths, straight])
        self.known = np.append(self.known, np.zeros(len(pairs), dtype=bool))
        ends, others = self.pairs.T.ravel(), self.pairs[:, ::-1].T.ravel()
        order = np.argsort(ends, kind="stable")
        numbers = np.tile(np.arange(len(self.pairs)), 2)
        self._links = np.ascontiguousarray(np.stack([others, numbers], axis=1)[order])
        self._owners = ends[order]
        self._first = np.searchsorted(self._owners, np.arange(len(self.members) + 1))
        return added

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

    def _look_at(self, links: Ints) -> None:
        """Find out how long some links are, by number, and which of them have gaps."""
        one, other = self.pairs[links].T
        legal, length = self._ways(self.members[one], self.members[other])
        self.lengths[links], self.known[links] = np.where(legal, length, np.inf), True

    def parts(self) -> Ints:
        """Return the number of the connected part that each member is in."""
        self._look_at(np.flatnonzero(~self.known))
        parts = np.arange(len(self.members))
        pairs = self.pairs[np.isfinite(self.lengths)]
        while True:  # each takes the least number about it, until nothing changes
            least = parts.copy()
            np.minimum.at(least, pairs[:, 0], parts[pairs[:, 1]])
            np.minimum.at(least, pairs[:, 1], parts[pairs[:, 0]])
            least = least[least]
            if (least == parts).all():
                return parts
            parts = least

    def routes(self, starts: Quats, ends: Quats) -> list[Quats]:
        """Return legal rotations (m, 4) from each start to its end, both (n, 4), by hops at most.

        Empty where the roadmap has no such way.
        """
        out: list[Quats] = [np.empty((0, 4))] * len(starts)
        entries, exits = self._ways_from(starts), self._ways_from(ends)
        ahead = 2.0 * np.arccos(np.minimum(np.abs(ends @ self.members.T), 1.0))
        left = np.arange(len(starts))
        for _ in range(TRIES):
            found, taken = self._shortest(entries[left], exits[left], ahead[left])
            left, found, taken = (
                left[[len(by) > 0 for by in found]],
                [by for by in found if by],
                [links for by, links in zip(found, taken, strict=True) if by],
            )
            if len(left) == 0:
                break
            legs = [len(by) + 1 for by in found]
            stops = [
                np.concatenate([starts[[k]], self.members[by], ends[[k]]])
                for k, by in zip(left, found, strict=True)
            ]
            ways, gaps = self._fill(stops)
            bad = np.split(gaps, np.cumsum(legs)[:-1])
            for k, by, links, way, leg in zip(left.tolist(), found, taken, ways, bad, strict=True):
                if leg.any():  # not to be tried again
                    entries[k, by[0]] = np.inf if leg[0] else entries[k, by[0]]
                    exits[k, by[-1]] = np.inf if leg[-1] else exits[k, by[-1]]
                    self.lengths[np.array(links, np.int64)[leg[1:-1]]] = np.inf
                else:
                    out[k] = way
            left = left[[bool(leg.any()) for leg in bad]]
        return out

    def _ways_from(self, rotations: Quats) -> Floats:
        """Return how far it is from rotations (n, 4) to members (n, m); inf if not about them."""
        near = self._nearest_members(rotations, NEIGHBOURS)
        rows, columns = np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()
        legal, length = self._ways(rotations[rows], self.members[columns])
        out = np.full((len(rotations), len(self.members)), np.inf)
        out[rows, columns] = np.where(legal, length, np.inf)
        return out

    def _nearest_members(self, rotations: Quats, count: int) -> Ints:
        """Return the numbers of the nearest members, so many if there are, to each of (n, 4)."""
        near = np.empty((len(rotations), min(count, len(self.members))), np.int64)
        kernels.clamp.nearest_members(rotations, self.members, near)
        return near

    def _shortest(
        self, entries: Floats, exits: Floats, ahead: Floats
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the members on the shortest ways, none where there is no way, and their links.

        `entries` and `exits` are what it costs to begin or end at each member, (n, m), and `ahead`
        how far it is from there to the end at least.
        """
        found: list[list[int]] = [[]] * len(entries)
        taken: list[list[int]] = [[]] * len(entries)
        left = np.arange(len(entries))
        while True:
            before, last = np.empty((len(left), entries.shape[1]), np.int64), np.empty_like(left)
            kernels.clamp.shortest_ways(
                *(self._first, self._links, self.lengths),
                *(each[left] for each in (entries, exits, ahead)),
                *(before, last),
            )
            for k, back, at in zip(left.tolist(), before, last.tolist(), strict=True):
                found[k], taken[k] = [at] if at >= 0 else [], []
                while at >= 0 and (row := int(back[at])) >= 0:
                    at = int(self._owners[row])
                    found[k].append(at)
                    taken[k].append(int(self._links[row, 1]))
            left = left[[not self.known[taken[k]].all() for k in left.tolist()]]
            if len(left) == 0:
                return [by[::-1] for by in found], [links[::-1] for links in taken]
            on_way = np.zeros(len(self.members), dtype=bool)
            on_way[np.concatenate([found[k] for k in left.tolist()])] = True
            wanted = np.zeros(len(self.pairs), dtype=bool)
            wanted[self._links[on_way[self._owners], 1]] = True
            self._look_at(np.flatnonzero(wanted & ~self.known))

    def _fill(self, stops: list[Quats]) -> tuple[list[Quats], Mask]:
        """Return legal ways (m, 4) by given stops, in hops, and which legs of all have a gap."""
        way = np.repeat(np.arange(len(stops)), [len(each) for each in stops])
        every, leg = np.concatenate(stops), np.arange(len(way)) - way  # of the step after each
        for _ in range(FINEST):
            within = way[:-1] == way[1:]
            wide = np.flatnonzero(within & (angles(every[:-1], every[1:]) > 0.5 * self.hop))
            if len(wide) == 0:
                break
            middles = self._project(slerp(every[:-1], every[1:], wide, np.full(len(wide), 0.5)))
            twice = np.ones(len(every), np.int64)
            twice[wide] = 2
            source = np.repeat(np.arange(len(every)), twice)
            every, way, leg = every[source], way[source], leg[source]
            every[wide + 1 + np.arange(len(wide))] = middles
            moves = (angles(every[:-1], every[1:]) > 1e-9) | (way[:-1] != way[1:])
            kept = np.append(True, moves)
            every, way, leg = every[kept], way[kept], leg[kept]
        steps = angles(every[:-1], every[1:])
        gaps = np.zeros(sum(len(each) - 1 for each in stops), dtype=bool)
        gaps[leg[:-1][(steps > self.hop) & (way[:-1] == way[1:])]] = True
        first = np.searchsorted(way, np.arange(len(stops) + 1))
        thin = np.empty(len(every), dtype=bool)
        kernels.clamp.thin_ways(every, first, self.hop, thin)
        return np.split(every[thin], np.cumsum(np.add.reduceat(thin, first[:-1]))[:-1]), gaps

    def nearest_to(self, rotations: Quats, members: Quats) -> Quats:
        """Return legal rotations near to each of (n, 4): downhill from the nearest of members.

        These are in sight of the members, but not always the nearest.
        """
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
