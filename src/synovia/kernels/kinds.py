"""Kinds of charts and of shapes that have kernels: the numbers that begin what is packed.

Not compiled itself, and light to import. A kind that is not here is refused before any kernel runs.
"""

from __future__ import annotations

ROTATION_VECTOR, SWING_TWIST, DIRECTION_TWIST, EULER, HINGES = CHART_KINDS = range(5)
BOX, ELLIPSOID, KDOP, PRODUCT, CONE, TABLE, FIELD, UNION = SHAPE_KINDS = range(8)
SOLIDS = (BOX, ELLIPSOID, KDOP)  # convex shapes of points, which are the swing of a product too
CONVEX = (*SOLIDS, PRODUCT)

MAX_AXES = 64  # of a k-DOP: corners are looked for where three planes meet, some 300,000
