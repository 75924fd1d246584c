"""Maps: small triangles over all directions that a bone may have, for numbers to be drawn on."""

from __future__ import annotations

import numpy as np

from ..arrays import Vectors
from ..limit import Limit
from ..limit.octahedral import node_directions, triangles
from ..shapes import Surface
from .difference import COMPARED, refine_directions
from .region import sheet

DIVISIONS = 24
"""Into how many parts edges of an octahedron are cut, where a bone may point anywhere."""


def map_sheet(limit: Limit | None, bone: Vectors) -> tuple[Surface, Vectors, Vectors]:
    """Return triangles over where a bone may point, the ends of edges around it, and the bone.

    Directions are seen from the limit's reference; ends are in pairs, (2 e, 3). The bone (3,) is
    the axis of the limit, if its family is one of directions. Without a limit directions are all
    that there are, and no edges are around them.
    """
    if limit is None:
        return Surface(node_directions(DIVISIONS), triangles(DIVISIONS)), np.zeros((0, 3)), bone
    whole = sheet(limit, bone)
    mesh = refine_directions(whole.mesh, COMPARED)
    return mesh, whole.mesh.vertices[whole.rim.reshape(-1)], whole.axis
