"""Triangles as few small codes: a walk over the surface that meets each vertex in its order.

The walk goes from triangle to triangle over edges that have one on one side only. Of the triangle
on the other side, only its third corner is to be said, and mostly that is a vertex not met before,
or one that is next to the edge along the border of what is met already. Vertices are numbered as
they are met, and each is near to where the triangle before, turned over the edge, would have it.
The page takes the same walk, in `web/src/stage/mesh.ts`. (After Touma & Gotsman, 1998.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Ints

NEW, AFTER, BEFORE, OTHER, NONE = range(5)
"""The third corner: not met before; next to the end of the edge along the border, or next to its
start; any other; or there is no triangle."""


@dataclass(frozen=True, eq=False)
class Connectivity:
    """The walk over some triangles: which vertices it meets, in order, and the codes it says.

    `others` are the vertices, by their new numbers, that the code `OTHER` stands for. `bases`
    (n, 3) are those from which a vertex is guessed: at the first plus the second less the third;
    -1 for none.
    """

    order: Ints
    codes: Ints
    others: Ints
    bases: Ints


def connect(triangles: Ints) -> Connectivity:
    """Return the walk over triangles (m, 3) that turn alike; they need not be closed."""
    sides = _sides(triangles)
    walk = _Walk()
    used = [False] * len(triangles)
    for first, corners in enumerate(triangles.tolist()):
        if used[first]:
            continue
        used[first] = True
        walk.begin(*corners)
        while walk.gates:
            start, end, base = walk.gates.pop()
            if not walk.take(start, end):
                continue
            there = sides.get((start, end), [])
            while there and used[there[-1][0]]:
                there.pop()
            if not there:
                walk.codes.append(NONE)
                continue
            triangle, third = there.pop()
            used[triangle] = True
            walk.meet(start, end, base, third)
    return walk.finish()


def _sides(triangles: Ints) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return, by directed edge, the triangles that have it, each with its third corner."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, (a, b, c) in enumerate(triangles.tolist()):
        found.setdefault((a, b), []).append((number, c))
        found.setdefault((b, c), []).append((number, a))
        found.setdefault((c, a), []).append((number, b))
    return found


class _Walk:
    """What is met already: the border, and the edges at which the walk goes on."""

    def __init__(self) -> None:
        self.gates: list[tuple[int, int, int]] = []
        self.codes: list[int] = []
        self._new: dict[int, int] = {}
        self._others: list[int] = []
        self._bases: list[tuple[int, int, int]] = []
        self._open: dict[tuple[int, int], int] = {}
        self._after: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._last = -1

    def begin(self, a: int, b: int, c: int) -> None:
        """Begin at a triangle that no other leads to."""
        for corner in (a, b, c):
            known = corner in self._new
            self.codes.append(OTHER if known else NEW)
            if known:
                self._others.append(self._new[corner])
            else:
                self._add(corner, (self._last, -1, -1))
            self._last = self._new[corner]
        self._close(a, b, c)

    def take(self, start: int, end: int) -> bool:
        """Tell whether an edge still wants a triangle, which it gets now."""
        return self._shut(start, end)

    def meet(self, start: int, end: int, base: int, third: int) -> None:
        """Go over an edge, from the triangle with a third corner `base`, to one with `third`."""
        if third not in self._new:
            self.codes.append(NEW)
            self._add(third, (self._new[start], self._new[end], self._new[base]))
        elif self._after.get(end) == third:
            self.codes.append(AFTER)
        elif self._before.get(start) == third:
            self.codes.append(BEFORE)
        else:
            self.codes.append(OTHER)
            self._others.append(self._new[third])
        self._last = self._new[third]
        self._go_on(end, third, start)
        self._go_on(third, start, end)

    def finish(self) -> Connectivity:
        """Return the walk."""
        return Connectivity(
            np.fromiter(self._new, dtype=np.int64, count=len(self._new)),
            np.array(self.codes, dtype=np.uint8),
            np.array(self._others, dtype=np.int64),
            np.array(self._bases, dtype=np.int64).reshape(-1, 3),
        )

    def _add(self, vertex: int, bases: tuple[int, int, int]) -> None:
        self._new[vertex] = len(self._new)
        self._bases.append(bases)

    def _close(self, a: int, b: int, c: int) -> None:
        self._go_on(a, b, c)
        self._go_on(b, c, a)
        self._go_on(c, a, b)

    def _go_on(self, start: int, end: int, base: int) -> None:
        """A triangle has this edge: it fills a gap in the border, or is the border itself."""
        if self._shut(start, end):
            return
        self._open[end, start] = self._open.get((end, start), 0) + 1
        self._after[end] = start
        self._before[start] = end
        self.gates.append((end, start, base))

    def _shut(self, start: int, end: int) -> bool:
        count = self._open.get((start, end), 0)
        if count == 0:
            return False
        self._open[start, end] = count - 1
        return True


def guess(points: Ints, bases: Ints) -> Ints:
    """Return whole points (n, 3) as guessed from those before them, in the order of a walk."""
    padded = np.concatenate([points, np.zeros((1, 3), dtype=points.dtype)])
    a, b, c = (padded[bases[:, k]] for k in range(3))  # -1 is the last one, at 0
    return np.asarray(a + b - c)
