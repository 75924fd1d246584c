"""Selection of the frames of a joint to which a limit is fitted.

`trim` drops capture flips, and then frames that too few other performers confirm or, with one or
two performers, frames that are isolated from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Ints, Mask, Points, Quats, Scalars, rows
from .takes import Take, check_positive

CONFIRMATION_RADIUS = np.radians(9.0)  # radians within which another performer confirms a frame
LINK = np.radians(10.0)  # radians between neighbours of one connected component
LINK_CELL = 0.05  # radians; resolution of connected components
COMPARED_CELL = 0.02  # radians; frames are compared with other performers in cells
COUNTED_CELL = 0.04  # radians; frames held out are counted in cells, twice those of corpora
MAX_DROPPED = 0.05  # default of the largest share of frames to drop
MAX_CONFIRMATIONS = 6  # a third of 18 performers; more people do not make a frame more certain
BLOCK = 10_000  # rotations queried at once, to bound memory


@dataclass(frozen=True, eq=False)
class TrimResult:
    """The frames to fit to, and the numbers of frames that were dropped."""

    kept: tuple[Mask, ...]
    """One mask for each take."""
    rule: str
    """The rule applied: "confirmation", "isolation" or "none"."""
    frames: int
    """Number of all frames."""
    flips: int
    unconfirmed: int
    isolated: int

    def rotations(self, takes: Sequence[Take]) -> Quats:
        """Return the kept rotations of `takes`, concatenated: (kept frames, 4)."""
        pairs = zip(takes, self.kept, strict=True)
        return np.concatenate([take.rotations[kept] for take, kept in pairs])


def thin(points: Points, *, cell: float = 0.05) -> Ints:
    """Return the indices, ascending, of the first of `points` (n, 3) in each cell of a grid.

    Cells are cubes of side `cell`, in the unit of the points, with corners at multiples of it.
    """
    first = first_in_cell(points, cell)
    return np.flatnonzero(first == np.arange(len(first)))


def thin_takes(takes: Sequence[Take], group_of: Callable[[Take], str]) -> list[Take]:
    """Return one take for each group, with one rotation for each cell of `COUNTED_CELL`.

    A cell is represented by its first frame, with the number of all its frames. Capture flips are
    dropped. Samples of a population form a take of their own in each group, and are not thinned.
    """
    groups: dict[tuple[str, bool], list[Take]] = {}
    for take in takes:
        groups.setdefault((group_of(take), take.is_sample), []).append(take.subset(~take.flips()))
    thinned = []
    for (_, is_sample), group in groups.items():
        rotations, counts = np.concatenate([take.rotations for take in group]), None
        if not is_sample:
            cells, cell_of = _cells(rotations, COUNTED_CELL)
            frames = np.concatenate([take.frame_counts for take in group])
            counts = np.bincount(cell_of, weights=frames).astype(np.int64)
            rotations = rotations[cells]
        people = max(take.person_count for take in group)
        merged = replace(group[0], rotations=rotations, counts=counts, thinned=True)
        thinned.append(replace(merged, person_count=people))
    return thinned


def confirmations(performers: int) -> int:
    """Return how many others must confirm a frame: a third of the performers, from 1 to 6."""
    return min(max(round(performers / 3), 1), MAX_CONFIRMATIONS)


def distances_without(
    takes: Sequence[Take],
    groups: Sequence[Collection[str]],
    *,
    enough: float = 0.0,
    spare: float = 0.0,
) -> list[list[Scalars]]:
    """Return distances to other performers, once for each group of performers left out.

    `result[group][take]` (frames,) is the angle in radians from each frame to the n-th nearest
    other performer. Here n is `confirmations` for all performers, or the number of those not left
    out if that is less. A performer who represents several people counts several times. Values
    for the performers left out are undefined.

    Frames are compared by cells of rotation vectors, so angles have errors of up to twice a
    cell's diagonal. Angles up to `enough` may be returned as 0, which is much faster. If at most a
    share `spare` of the frames that need confirmation has larger angles, those angles are 2π.
    """
    rotations = np.concatenate([take.rotations for take in takes])
    names, who, counts = _performers_of(takes)
    performers, others = len(names), confirmations(int(counts.sum()))
    present = [~np.isin(names, list(group)) for group in groups]
    wanted = [min(others, int(counts[those].sum()) - 1) for those in present]
    cells, cell_of = _cells(rotations, COMPARED_CELL)
    cells_of = [cells[np.unique(cell_of[who == p])] for p in range(performers)]
    trees = [rotation_tree(rotations[own_cells]) for own_cells in cells_of]
    # One query for each cell and performer in it, because nobody confirms themselves.
    queries, query_of = np.unique(cell_of * performers + who, return_inverse=True)
    cell_asked, asking = np.divmod(queries, performers)
    asked = rotations[cells[cell_asked]]
    nearest = np.zeros((len(groups), len(queries)))
    searched = list(zip(nearest, present, wanted, strict=True))
    left: Ints = np.arange(len(queries))
    if enough > 0.0:
        # This number of others is enough for every group.
        most = max(n + int(counts[~those].sum()) for those, n in zip(present, wanted, strict=True))
        met = _others_in_cell(rotations[cells], cell_asked, asking, counts, enough)
        left = np.flatnonzero(met < most)
        rest, is_near = _unconfirmed(asked[left], asking[left], trees, counts, most, enough)
        left = left[rest]
        doubted = [take.frame_counts * take.needs_confirmation for take in takes]
        frames = np.bincount(query_of, weights=np.concatenate(doubted))
        for row, those, number in searched:
            row[left[is_near[:, those] @ counts[those] < number]] = np.inf
        searched = [
            (row, those, number)
            for row, those, number in searched
            if frames[np.isinf(row) & those[asking]].sum()
            > int(spare * frames[those[asking]].sum())
        ]
        left = np.flatnonzero(np.isinf([row for row, _, _ in searched]).any(axis=0))
    for block in np.array_split(left, 1 + len(left) // BLOCK):
        chords = np.stack([tree.query(asked[block])[0] for tree in trees], axis=1)
        chords[np.arange(len(block)), asking[block]] = np.inf
        for row, those, number in searched:
            met = np.repeat(chords[:, those], counts[those], axis=1)
            row[block] = np.partition(met, number - 1, axis=1)[:, number - 1]
    angles = 4.0 * np.arcsin(np.minimum(nearest / 2.0, 1.0))
    return [_per_take(row[query_of], takes) for row in angles]


def _others_in_cell(
    rotations: Quats, asked: Ints, asking: Ints, counts: Ints, within: float
) -> Ints:
    """Return, for each query, the number of other people in the same large cell: (queries,).

    Performer `asking[k]` queries rotation `asked[k]`. Rotations of one cell of rotation vectors
    are `within` radians of each other, since their angle is at most the distance of the vectors.
    """
    large = first_in_cell(quat.log(rotations), (1.0 - 1e-9) * within / np.sqrt(3.0))[asked]
    met = np.unique(large * len(counts) + asking)
    people = np.bincount(met // len(counts), weights=counts[met % len(counts)])
    return np.asarray(people[large] - counts[asking])


def _unconfirmed(
    asked: Quats, asking: Ints, trees: Sequence[Any], counts: Ints, others: int, within: float
) -> tuple[Ints, Mask]:
    """Return the indices of rotations with fewer than `others` other people `within` radians.

    Also returns a mask (indices, performers) of the performers within that angle. The performers
    with the most rotations are queried first, because they confirm nearly all.
    """
    chord = chord_of(within)
    is_near = np.zeros((len(asked), len(trees)), dtype=bool)
    met = np.zeros(len(asked), np.int64)
    left = np.arange(len(asked))
    for performer in sorted(range(len(trees)), key=lambda p: -trees[p].n):
        distance = trees[performer].query(asked[left], distance_upper_bound=chord)[0]
        is_near[left, performer] = meets = (distance < np.inf) & (asking[left] != performer)
        met[left] += counts[performer] * meets
        left = left[met[left] < others]
    return left, is_near[left]


def isolated_frames(takes: Sequence[Take], *, share: float = MAX_DROPPED) -> list[Mask]:
    """Return masks of the frames that are isolated from the bulk of the rotations.

    Thinned rotations within 10 degrees of each other are connected. All connected components but
    the largest are isolated, the smallest first, up to `share` of all frames.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rotations = np.concatenate([take.rotations for take in takes])
    cells, cell_of = _cells(rotations, LINK_CELL)
    n = len(cells)
    pairs = rotation_tree(rotations[cells]).query_pairs(chord_of(LINK), output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs % n).T), shape=(n, n))
    _, group = connected_components(links, directed=False)
    group_of = group[cell_of]
    frames = np.concatenate([take.frame_counts for take in takes])
    sizes = np.bincount(group_of, weights=frames)
    smallest_first = np.argsort(sizes, kind="stable")[:-1]
    fits = np.cumsum(sizes[smallest_first]) <= share * frames.sum()
    return _per_take(np.isin(group_of, smallest_first[fits]), takes)


def trim(takes: Sequence[Take], share: float = MAX_DROPPED) -> TrimResult:
    """Return the frames of one joint's takes to fit to.

    Parameters
    ----------
    takes
        The takes of one joint, at least one.
    share
        Capture flips are dropped, and at most this share of the other frames: with three
        performers or more, those that too few others confirm, the farthest first; with fewer,
        isolated ones. 0 keeps every frame, flips too.
    """
    if not takes:
        raise ValueError("trim needs at least one take, got none")
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must be at least 0 and below 1, got {share}")
    if share == 0.0:
        every = tuple(np.ones(len(take.rotations), dtype=bool) for take in takes)
        return TrimResult(every, "none", _frames(takes), flips=0, unconfirmed=0, isolated=0)
    kept = [~take.flips() for take in takes]
    unflipped = [take.subset(mask) for take, mask in zip(takes, kept, strict=True)]
    if _confirm_each_other(takes):
        (angles,) = distances_without(unflipped, [()], enough=CONFIRMATION_RADIUS, spare=share)
        rule, dropped = "confirmation", _least_confirmed(unflipped, angles, share)
    else:
        rule, dropped = "isolation", isolated_frames(unflipped, share=share)
    pairs = zip(unflipped, dropped, strict=True)
    lost = sum(int(take.frame_counts[drop].sum()) for take, drop in pairs)
    for mask, drop in zip(kept, dropped, strict=True):
        mask[mask] = ~drop
        mask.flags.writeable = False
    return TrimResult(
        kept=tuple(kept),
        rule=rule,
        frames=_frames(takes),
        flips=_frames(takes) - _frames(unflipped),
        unconfirmed=lost if rule == "confirmation" else 0,
        isolated=lost if rule == "isolation" else 0,
    )


def trim_without(
    takes: Sequence[Take], groups: Sequence[Collection[str]], share: float = MAX_DROPPED
) -> Iterator[tuple[list[Take], Sequence[Mask]]]:
    """Yield the takes of the others and the masks to keep, for each group left out.

    Results equal those of `trim` on thinned takes, in little more time than trimming once.
    """
    rests = [[take for take in takes if take.performer not in group] for group in groups]
    if share == 0.0 or not all(map(_confirm_each_other, rests)):
        for rest in rests:
            yield rest, trim(rest, share).kept
        return
    distances = distances_without(takes, groups, enough=CONFIRMATION_RADIUS, spare=share)
    for group, rest, angles in zip(groups, rests, distances, strict=True):
        pairs = zip(takes, angles, strict=True)
        others = [angle for take, angle in pairs if take.performer not in group]
        yield rest, [~drop for drop in _least_confirmed(rest, others, share)]


def _frames(takes: Sequence[Take]) -> int:
    """Return the number of frames of all takes."""
    return sum(int(take.frame_counts.sum()) for take in takes)


def _confirm_each_other(takes: Sequence[Take]) -> bool:
    """Return True if there are at least three people and two performers."""
    names, _, counts = _performers_of(takes)
    return len(names) > 1 and bool(counts.sum() >= 3)


def _least_confirmed(
    takes: Sequence[Take], distances: Sequence[Scalars], share: float
) -> list[Mask]:
    """Return masks of the unconfirmed frames to drop, those with the largest distances first.

    At most `share` of the frames that need confirmation is dropped.
    """
    pairs = zip(takes, distances, strict=True)
    angles = np.concatenate(
        [angles if take.needs_confirmation else np.zeros(len(angles)) for take, angles in pairs]
    )
    frames = np.concatenate([take.frame_counts for take in takes])
    doubtful = _frames([take for take in takes if take.needs_confirmation])
    order = np.argsort(-angles, kind="stable")
    order = order[np.cumsum(frames[order]) <= int(share * doubtful)]
    drop = np.zeros(len(angles), dtype=bool)
    drop[order] = angles[order] > CONFIRMATION_RADIUS
    return _per_take(drop, takes)


def first_in_cell(points: Points, cell: float) -> Ints:
    """Return, for each of `points` (n, 3), the index of the first point in its cell (`thin`)."""
    points = rows("points", points, 3)
    if points.ndim != 2:
        raise ValueError(f"points must have shape (n, 3), got {points.shape}")
    check_positive("cell", cell, "")
    cells = np.floor(points / cell)
    order = np.lexsort(cells.T)  # stable: the first point of each cell comes first
    begins = np.ones(len(points), dtype=bool)
    begins[1:] = (np.diff(cells[order], axis=0) != 0.0).any(axis=1)
    first = np.empty(len(points), dtype=np.int64)
    first[order] = order[begins][np.cumsum(begins) - 1]
    return first


def _cells(rotations: Quats, cell: float) -> tuple[Ints, Ints]:
    """Return the first rotation of each cell of rotation vectors, and the cell of each rotation."""
    first = first_in_cell(quat.log(rotations), cell)
    cells, cell_of = np.unique(first, return_inverse=True)
    return cells, cell_of


def _performers_of(takes: Sequence[Take]) -> tuple[list[str], Ints, Ints]:
    """Return the performers' names, the index of each rotation's performer, and person counts.

    The counts (performers,) are the numbers of people each counts for.
    """
    names, numbers = np.unique([take.performer for take in takes], return_inverse=True)
    counts = np.ones(len(names), dtype=np.int64)
    np.maximum.at(counts, numbers, [take.person_count for take in takes])
    return names.tolist(), np.repeat(numbers, [len(take.rotations) for take in takes]), counts


def _per_take(values: Any, takes: Sequence[Take]) -> list[Any]:
    """Split concatenated values by take."""
    return np.split(values, np.cumsum([len(take.rotations) for take in takes])[:-1])


def chord_of(angle: float) -> float:
    """Return the distance of unit quaternions whose rotations differ by `angle` radians."""
    return float(2.0 * np.sin(angle / 4.0))


def rotation_tree(rotations: Quats) -> Any:
    """Return a k-d tree of the quaternions with both signs, with the fastest settings."""
    from scipy.spatial import cKDTree

    both = np.concatenate([rotations, -rotations])
    return cKDTree(both, leafsize=32, balanced_tree=False, compact_nodes=False)
