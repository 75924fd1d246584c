"""Pictures, with matplotlib, which is imported when something is drawn."""

from .limit import draw_joint, draw_joints, draw_limit, samples_of
from .overview import draw_overview, draw_violation
from .skeleton import PLATES, Plate, draw_plate, draw_skeleton
from .sphere import draw_dependence
from .style import save_picture
from .tradeoff import draw_tradeoff

__all__ = [
    "PLATES",
    "Plate",
    "draw_dependence",
    "draw_joint",
    "draw_joints",
    "draw_limit",
    "draw_overview",
    "draw_plate",
    "draw_skeleton",
    "draw_tradeoff",
    "draw_violation",
    "samples_of",
    "save_picture",
]
