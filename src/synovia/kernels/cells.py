"""A hash table of grid cells: which point came first in the cell of each."""

from __future__ import annotations

import math

from .jit import kernel

LOW_BITS = 0xFFFFFFFF


@kernel
def first_in_cell(points, cell, table, out):
    """Set `out[i]` to the index of the first point in the cell of `points[i]`, in order.

    `points` is (n, 3). `table` is filled with -1; its length is a power of two above n. A place
    that is taken by another cell sends the search to the next one, so the time is linear in n.
    """
    last = table.shape[0] - 1
    for i in range(points.shape[0]):
        x = math.floor(points[i, 0] / cell)
        y = math.floor(points[i, 1] / cell)
        z = math.floor(points[i, 2] / cell)
        # The low bits of a product are the same for Python's integers and for wrapping ones.
        mixed = ((x * 73856093) ^ (y * 19349663) ^ (z * 83492791)) & LOW_BITS
        place = (mixed ^ (mixed >> 15)) & last
        while True:
            j = table[place]
            if j < 0:
                table[place] = i
                out[i] = i
                break
            if (
                math.floor(points[j, 0] / cell) == x
                and math.floor(points[j, 1] / cell) == y
                and math.floor(points[j, 2] / cell) == z
            ):
                out[i] = j
                break
            place = (place + 1) & last
