"""Maps: small triangles over all directions that a bone may have, for numbers to be drawn on."""

from __future__ import annotations

import numpy as np

from ..arrays import Vectors
from ..limit import Limit
from ..limit.octahedral import node_directions, triangles
from ..shapes import Surface
from .difference import COMPARED, refine_directions, sheet_about

DIVISIONS = 24
"""Into how many parts edges of an octahedron are cut, where a bone may point anywhere."""


def map_sheet(limit: Limit | None, bone: Vectors) -> tuple[Surface, Vectors]:
    """Return triangles over where a bone may point, and the ends (2 e, 3) of edges around it.

    Directions are seen from the limit's reference. Without a limit they are all there are, and no
    edges are around them.
    """
    if limit is None:
        return Surface(node_directions(DIVISIONS), triangles(DIVISIONS)), np.zeros((0, 3))
    sheet = sheet_about(limit, bone, COMPARED)
    return refine_directions(sheet.mesh, COMPARED), sheet.mesh.vertices[sheet.rim.reshape(-1)]
