"""Pictures, with matplotlib, which is imported when something is drawn."""

from .dependence import draw_dependence
from .limit import draw_joint, draw_joints, draw_limit, samples_of
from .overview import draw_overview, draw_violation
from .plate import Plate, draw_plate, plates
from .skeleton import draw_skeleton
from .style import save_picture
from .tradeoff import draw_tradeoff

__all__ = [
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
    "plates",
    "samples_of",
    "save_picture",
]
