"""Where things stand in a packed reach cone, and in a block of its directions."""

from __future__ import annotations

from .rotation import LANES, SCRATCH

# In a packed cone, after its kind.
SIZE = 0  # how many numbers in all
BUCKETS, MOST = 1, 2  # of azimuth; the most vertices in one of them
SIDE = 3  # cells along the side of a face of the cube
SLOPE = 4  # 1/√(1 + G²): how much of a twist's margin is left for moves in any direction
FREE = 5  # 1 if every twist is legal everywhere
VISIBLE_LOW, VISIBLE_HIGH = 6, 7
FRAME = 8  # two directions across the visible point
SLICES, EDGES, TABLE, CELLS = 14, 15, 16, 17  # where these begin, counted from after the kind
COUNT = 18  # of vertices
SLICE = 16  # numbers a slice: both of its planes, its edge's, limits at both vertices
EDGE = 16  # numbers an edge: start, tangent, normal, cosine and sine of its length, end
CELL_ROW = 2  # numbers a cell: where its edges are listed, and how far off the boundary is

# Rows of a block: unit directions, buckets, cells, then heights over the edge and twist limits.
NX, NY, NZ = SCRATCH, SCRATCH + LANES, SCRATCH + 2 * LANES
BUCKET, CELL = SCRATCH + 3 * LANES, SCRATCH + 4 * LANES
LOW, HIGH, HEIGHT = SCRATCH + 5 * LANES, SCRATCH + 6 * LANES, SCRATCH + 7 * LANES
# When buckets and cells have been used: what is left in twist and in direction.
MARGIN, ANGLE = BUCKET, CELL
