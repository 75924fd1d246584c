"""Trimming: which frames of a joint a limit is fitted to.

A region fitted to captures is only as good as the frames behind it. `trim` drops capture flips,
then what no other performer confirms; with one or two performers, what stands apart from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Points, Quats, Scalars, rows
from .takes import Take, check_positive

CONFIRMATION_RADIUS = np.radians(9.0)
"""Another performer confirms a rotation by coming this near, in radians."""
LINK = np.radians(10.0)
"""Rotations this near to each other, in radians, belong together."""
COUNTED_CELL = 0.04
"""Cells, in radians, that frames of those who are held out are counted by; corpora have halves."""
FARTHEST = 2.0 * np.pi
"""No rotation is as far as this from another, in radians."""
NEARER = (2.0 * CONFIRMATION_RADIUS, 4.0 * CONFIRMATION_RADIUS, FARTHEST)
"""Within how many radians others are searched for, in turn."""
MAX_DROPPED = 0.05
"""The most that is dropped, of a joint's frames, for want of others near them."""


@dataclass(frozen=True, eq=False)
class TrimResult:
    """Which frames to fit to: `kept` has one mask a take; other numbers count what was dropped."""

    kept: tuple[Mask, ...]
    rule: str
    """What was asked of the frames: "confirmation", "isolation" or "none"."""
    frames: int
    flips: int
    unconfirmed: int
    isolated: int

    def rotations(self, takes: Sequence[Take]) -> Quats:
        """Return the kept rotations of `takes`, one after another: (kept frames, 4)."""
        pairs = zip(takes, self.kept, strict=True)
        return np.concatenate([take.rotations[kept] for take, kept in pairs])


def thin(points: Points, *, cell: float = 0.05) -> Ints:
    """Return the indices, in order, of the first of `points` (n, 3) in each cell of a grid.

    Cells are cubes with sides of `cell`, in the unit of the points, with corners at multiples of
    it. Takes linear time.
    """
    first = first_in_cell(points, cell)
    return np.flatnonzero(first == np.arange(len(first)))


def thin_takes(takes: Sequence[Take], group_of: Callable[[Take], str]) -> list[Take]:
    """Return one take for each group, with a rotation a cell of `COUNTED_CELL`, flips aside.

    A cell is stood for by its first frame, and counts all of them. What came thinned, without
    counts, stays as it is.
    """
    groups: dict[tuple[str, bool], list[Take]] = {}
    for take in takes:
        groups.setdefault((group_of(take), take.is_sample), []).append(take)
    return [_thin_group(own) for own in groups.values()]


def _thin_group(takes: Sequence[Take]) -> Take:
    kept = [take.subset(~take.flips()) for take in takes]
    rotations, counts = np.concatenate([take.rotations for take in kept]), None
    if not takes[0].is_sample:
        cells, cell_of = _cells(rotations, COUNTED_CELL)
        frames = np.concatenate([take.frame_counts for take in kept])
        counts = np.bincount(cell_of, weights=frames).astype(np.int64)
        rotations = rotations[cells]
    people = max(take.person_count for take in takes)
    return replace(takes[0], rotations=rotations, counts=counts, person_count=people, thinned=True)


def confirmations(performers: int) -> int:
    """Return how many others must confirm a frame: a third of the performers, from 1 to 6."""
    return min(max(round(performers / 3), 1), 6)


def distance_to_others(
    takes: Sequence[Take], *, others: int | None = None, cell: float = 0.02, enough: float = 0.0
) -> list[Scalars]:
    """Return how near, in radians, the `others`-th nearest other performer comes to each frame.

    One array a take. Frames are compared by cells of rotation vectors, so answers are off by at
    most twice a cell's diagonal; `others` is `confirmations` of the performers unless given.
    Performers who count for several are met as often. Where they come within `enough` radians,
    which is often seen at once, answers may be 0.
    """
    (found,) = distances_without(takes, [()], others=others, cell=cell, enough=enough)
    return found


def distances_without(
    takes: Sequence[Take],
    groups: Sequence[Collection[str]],
    *,
    others: int | None = None,
    cell: float = 0.02,
    enough: float = 0.0,
    spare: float = 0.0,
) -> list[list[Scalars]]:
    """Return as `distance_to_others`, once for each group of performers who are left out.

    The nearest are searched for once, whoever is left out. What is returned for those themselves
    means nothing. Where at most a share of `spare` of the frames that need confirmation are farther
    than `enough`, how far these are is not searched for: answers are a whole turn, 2 pi.
    """
    rotations, who, performers = _stack_takes(takes)
    counts, names = _person_counts(takes), np.unique([take.performer for take in takes])
    present = [~np.isin(names, list(group)) for group in groups]
    if others is None:
        # As many as with everybody, where so many are left.
        others = confirmations(int(counts.sum()))
        wanted = [min(others, int(counts[those].sum()) - 1) for those in present]
    else:
        wanted = [others] * len(groups)
    for those, number in zip(present, wanted, strict=True):
        if not 1 <= number < (people := counts[those].sum()):
            raise ValueError(
                f"others must be at least 1 and fewer than the {people} performers, got {number}"
            )
    cells, cell_of = _cells(rotations, cell)
    own = [cells[np.unique(cell_of[who == p])] for p in range(performers)]
    trees = [rotation_tree(rotations[each]) for each in own]
    # Nobody confirms themselves, so the performers who meet in a cell ask for it one by one.
    visits, visit_of = np.unique(cell_of * performers + who, return_inverse=True)
    cell_asked, asking = np.divmod(visits, performers)
    asked = rotations[cells[cell_asked]]
    left: Ints = np.arange(len(visits))
    # So many are enough whoever is left out.
    most = max(
        number + int(counts[~those].sum()) for those, number in zip(present, wanted, strict=True)
    )
    nearest = np.zeros((len(groups), len(visits)))
    searched = list(zip(nearest, present, wanted, strict=True))
    if enough > 0.0:
        met = _others_in_cell(rotations[cells], cell_asked, asking, counts, enough)
        left = np.flatnonzero(met < most)
        rest, near = _unconfirmed(asked[left], asking[left], trees, counts, most, enough)
        left = left[rest]
        for row, those, number in searched:
            row[left[near[:, those] @ counts[those] < number]] = np.inf
        doubted = [take.frame_counts * take.needs_confirmation for take in takes]
        frames = np.bincount(visit_of, weights=np.concatenate(doubted))
        searched = [
            (row, those, number)
            for row, those, number in searched
            if frames[np.isinf(row) & those[asking]].sum()
            > int(spare * frames[those[asking]].sum())
        ]
        left = np.flatnonzero(np.isinf([row for row, _, _ in searched]).any(axis=0))
    for part, chords in _chords(asked[left], asking[left], trees, counts, most):
        for row, those, number in searched:
            met = np.repeat(chords[:, those], counts[those], axis=1)
            row[left[part]] = np.partition(met, number - 1, axis=1)[:, number - 1]
    angles = 4.0 * np.arcsin(np.minimum(nearest / 2.0, 1.0))
    return [_per_take(row[visit_of], takes) for row in angles]


def _others_in_cell(
    rotations: Quats, visited: Ints, visitors: Ints, counts: Ints, within: float
) -> Ints:
    """Return for each visit how many others visit rotations in the same large cell: (visits,).

    Performer `visitors[k]` visits rotation `visited[k]`. Cells are of rotation vectors, and such
    that rotations in one are `within` so many radians: their angle is at most the distance of
    their vectors.
    """
    large = first_in_cell(quat.log(rotations), (1.0 - 1e-9) * within / np.sqrt(3.0))[visited]
    met = np.unique(large * len(counts) + visitors)
    people = np.bincount(met // len(counts), weights=counts[met % len(counts)])
    return np.asarray(people[large] - counts[visitors])


def _unconfirmed(
    asked: Quats, asking: Ints, trees: Sequence[Any], counts: Ints, others: int, within: float
) -> tuple[Ints, Mask]:
    """Return which rotations fewer than `others` other performers come `within` radians of.

    And which of the performers come so near to these: (rotations, performers). Nearly all are
    confirmed by the first performers who are asked, the busiest first.
    """
    reach = 2.0 * np.sin(within / 4.0)
    near = np.zeros((len(asked), len(trees)), dtype=bool)
    met = np.zeros(len(asked), np.int64)
    left = np.arange(len(asked))
    for performer in sorted(range(len(trees)), key=lambda p: -trees[p].n):
        distance = trees[performer].query(asked[left], distance_upper_bound=reach)[0]
        near[left, performer] = meets = (distance < np.inf) & (asking[left] != performer)
        met[left] += counts[performer] * meets
        left = left[met[left] < others]
    return left, near[left]


def _chords(
    asked: Quats, asking: Ints, trees: Sequence[Any], counts: Ints, most: int
) -> Iterator[tuple[Ints, Floats]]:
    """Yield numbers of rotations, some at a time, and the chords (n, performers) to all others.

    Those of performers beyond the `most` nearest may be infinite, as is that to oneself: a search
    that ends early is much quicker, and most rotations have so many others nearby.
    """
    left: Ints = np.arange(len(asked))
    for within in NEARER:
        reach, beyond = 2.0 * np.sin(within / 4.0), [left[:0]]
        for start in range(0, len(left), 10_000):
            block = left[start : start + 10_000]
            chords = np.stack(
                [tree.query(asked[block], distance_upper_bound=reach)[0] for tree in trees], axis=1
            )
            chords[np.arange(len(block)), asking[block]] = np.inf
            known = (np.isfinite(chords) @ counts >= most) | (within == FARTHEST)
            beyond.append(block[~known])
            yield block[known], chords[known]
        left = np.concatenate(beyond)


def isolated_frames(takes: Sequence[Take], *, share: float = MAX_DROPPED) -> list[Mask]:
    """Return which frames stand apart from the bulk of their joint's rotations, one mask a take.

    Thinned rotations within 10 degrees of each other belong together. Of the groups that this
    makes, all but the largest are apart, the smallest first, up to `share` of the frames in all.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rotations, _, _ = _stack_takes(takes)
    cells, cell_of = _cells(rotations, 0.05)
    n = len(cells)
    chord = 2.0 * np.sin(LINK / 4.0)
    pairs = rotation_tree(rotations[cells]).query_pairs(chord, output_type="ndarray")
    near = coo_array((np.ones(len(pairs)), (pairs % n).T), shape=(n, n))
    _, group = connected_components(near, directed=False)
    group_of = group[cell_of]
    frames = np.concatenate([take.frame_counts for take in takes])
    sizes = np.bincount(group_of, weights=frames)
    smallest_first = np.argsort(sizes, kind="stable")[:-1]
    fits = np.cumsum(sizes[smallest_first]) <= share * frames.sum()
    return _per_take(np.isin(group_of, smallest_first[fits]), takes)


def trim(takes: Sequence[Take], share: float = MAX_DROPPED) -> TrimResult:
    """Return which frames of one joint's takes to fit to.

    Parameters
    ----------
    takes
        The takes of one joint, at least one.
    share
        Capture flips are dropped, and of the other frames at most this share: with three
        performers or more those that too few others confirm, the farthest from others first; with
        fewer those that stand apart. 0 keeps every frame, flips too.
    """
    if not takes:
        raise ValueError("trim needs at least one take, got none")
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must be at least 0 and below 1, got {share}")
    if share == 0.0:
        every = tuple(np.ones(len(take.rotations), dtype=bool) for take in takes)
        frames = sum(int(take.frame_counts.sum()) for take in takes)
        return TrimResult(every, "none", frames, flips=0, unconfirmed=0, isolated=0)
    kept = [~take.flips() for take in takes]
    unflipped = [take.subset(mask) for take, mask in zip(takes, kept, strict=True)]
    if _confirm_each_other(takes):
        (angles,) = distances_without(unflipped, [()], enough=CONFIRMATION_RADIUS, spare=share)
        rule, dropped = "confirmation", _least_confirmed(unflipped, angles, share)
    else:
        rule, dropped = "isolation", isolated_frames(unflipped, share=share)
    lost = sum(
        int(take.frame_counts[drop].sum()) for take, drop in zip(unflipped, dropped, strict=True)
    )
    for mask, drop in zip(kept, dropped, strict=True):
        mask[mask] = ~drop
        mask.flags.writeable = False
    frames = sum(int(take.frame_counts.sum()) for take in takes)
    return TrimResult(
        kept=tuple(kept),
        rule=rule,
        frames=frames,
        flips=frames - sum(int(take.frame_counts.sum()) for take in unflipped),
        unconfirmed=lost if rule == "confirmation" else 0,
        isolated=lost if rule == "isolation" else 0,
    )


def trim_without(
    takes: Sequence[Take], groups: Sequence[Collection[str]], share: float = MAX_DROPPED
) -> Iterator[tuple[list[Take], Sequence[Mask]]]:
    """Yield, for each group of performers who are left out, the others' takes and what is kept.

    That is as `trim` has it, of takes that came thinned, in little more time than trimming once.
    """
    rests = [[take for take in takes if take.performer not in group] for group in groups]
    if share == 0.0 or not all(map(_confirm_each_other, rests)):
        for rest in rests:
            yield rest, trim(rest, share).kept
        return
    found = distances_without(takes, groups, enough=CONFIRMATION_RADIUS, spare=share)
    for group, rest, angles in zip(groups, rests, found, strict=True):
        pairs = zip(takes, angles, strict=True)
        others = [own for take, own in pairs if take.performer not in group]
        yield rest, [~drop for drop in _least_confirmed(rest, others, share)]


def _confirm_each_other(takes: Sequence[Take]) -> bool:
    """Tell whether there are others enough to ask for confirmation: three people, or more."""
    return bool(_person_counts(takes).sum() >= 3) and len({take.performer for take in takes}) > 1


def _least_confirmed(
    takes: Sequence[Take], distances: Sequence[Scalars], share: float
) -> list[Mask]:
    """Return which frames are unconfirmed, those farthest from others first, up to `share`."""
    pairs = zip(takes, distances, strict=True)
    angles = np.concatenate(
        [own if take.needs_confirmation else np.zeros(len(own)) for take, own in pairs]
    )
    frames = np.concatenate([take.frame_counts for take in takes])
    doubtful = sum(int(take.frame_counts.sum()) for take in takes if take.needs_confirmation)
    order = np.argsort(-angles, kind="stable")
    order = order[np.cumsum(frames[order]) <= int(share * doubtful)]
    drop = np.zeros(len(angles), dtype=bool)
    drop[order] = angles[order] > CONFIRMATION_RADIUS
    return _per_take(drop, takes)


def first_in_cell(points: Points, cell: float) -> Ints:
    """Return, for each of `points` (n, 3), the index of the first one in its cell: see `thin`."""
    from ..kernels import learn

    points = rows("points", points, 3)
    if points.ndim != 2:
        raise ValueError(f"points must have shape (n, 3), got {points.shape}")
    check_positive("cell", cell, "")
    flat = np.ascontiguousarray(points, dtype=np.float64)
    table = np.full(1 << (2 * len(flat)).bit_length(), -1, dtype=np.int64)
    out = np.empty(len(flat), dtype=np.int64)
    learn.first_in_cell(flat, float(cell), table, out)
    return out


def _cells(rotations: Quats, cell: float) -> tuple[Ints, Ints]:
    """Return the first frame of each cell of rotation vectors, and the cell of each frame."""
    first = first_in_cell(quat.log(rotations), cell)
    cells, cell_of = np.unique(first, return_inverse=True)
    return cells, cell_of


def _stack_takes(takes: Sequence[Take]) -> tuple[Quats, Ints, int]:
    """Return the rotations of all takes, the performer of each, by number, and their count."""
    if not takes:
        raise ValueError("at least one take is needed, got none")
    names, number = np.unique([take.performer for take in takes], return_inverse=True)
    who = np.repeat(number, [len(take.rotations) for take in takes])
    return np.concatenate([take.rotations for take in takes]), who, len(names)


def _person_counts(takes: Sequence[Take]) -> Ints:
    """Return how many people each performer counts for, in the order of `_stack_takes`."""
    names, number = np.unique([take.performer for take in takes], return_inverse=True)
    counts = np.ones(len(names), dtype=np.int64)
    np.maximum.at(counts, number, [take.person_count for take in takes])
    return counts


def _per_take(values: Any, takes: Sequence[Take]) -> list[Any]:
    return np.split(values, np.cumsum([len(take.rotations) for take in takes])[:-1])


def rotation_tree(rotations: Quats) -> Any:
    """Return a tree of the quaternions of both signs; one that is not compact answers sooner."""
    from scipy.spatial import cKDTree

    both = np.concatenate([rotations, -rotations])
    return cKDTree(both, leafsize=32, balanced_tree=False, compact_nodes=False)
