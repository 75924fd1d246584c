"""Meshes of limits as triangles, for pictures and for the page."""

from .region import (
    DRAFT,
    FINE,
    PRINT,
    SheetDifference,
    boundary,
    coordinate_names,
    map_sheet,
    sheet,
    sheet_and_boundary,
    sheet_difference,
)
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
