"""Meshes: a limit's region as triangles, for pictures and for the page."""

from .mesh import Finish, edges_of
from .region import DRAFT, FINE, boundary, share_of, sheet, sheet_and_boundary

__all__ = [
    "DRAFT",
    "FINE",
    "Finish",
    "boundary",
    "edges_of",
    "share_of",
    "sheet",
    "sheet_and_boundary",
]
