"""What learning counts: the first point in each grid cell, and how near rotations are to others."""

from __future__ import annotations

import math

import numpy as np

from .jit import kernel

# A hash table of grid cells: which point came first in the cell of each.

LOW_BITS = 0xFFFFFFFF  # 32 bits of a hash


@kernel("f8[,] f8 i8[] i8[]")
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


# How near rotations are to others.

LANES = 8


@kernel("f8[,] f8[,] f8[]")
def nearest_cosine(nodes, centers, out):
    """Write for each of the (n, 4) nodes cos(a/2) of the angle a to the nearest of the centers."""
    count = centers.shape[0]
    w, x, y, z = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    dots, lanes = np.zeros(count + LANES), np.empty(LANES)
    for j in range(count):
        w[j], x[j], y[j], z[j] = centers[j, 0], centers[j, 1], centers[j, 2], centers[j, 3]
    for i in range(nodes.shape[0]):
        a, b, c, d = nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3]
        for j in range(count):
            dots[j] = abs(a * w[j] + b * x[j] + c * y[j] + d * z[j])
        # The greatest of each of several lanes, then of all: one by one would wait for each other.
        for lane in range(LANES):
            lanes[lane] = 0.0
        for j in range(0, count, LANES):
            for lane in range(LANES):
                lanes[lane] = max(lanes[lane], dots[j + lane])
        best = 0.0
        for lane in range(LANES):
            best = max(best, lanes[lane])
        out[i] = best
