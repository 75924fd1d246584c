"""Meshes of limits as triangles, for pictures and for the page."""

from .difference import SheetDifference, map_sheet, sheet_difference
from .region import DRAFT, FINE, PRINT, boundary, coordinate_names, sheet, sheet_and_boundary
from .triangles import Quality

__all__ = [
    "DRAFT",
    "FINE",
    "PRINT",
    "Quality",
    "SheetDifference",
    "boundary",
    "coordinate_names",
    "map_sheet",
    "sheet",
    "sheet_and_boundary",
    "sheet_difference",
]
