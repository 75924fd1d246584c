"""Pictures, with matplotlib, which is imported when something is drawn."""

from .center import center_of_motion
from .joint import draw_joint, draw_joints, samples_of
from .limit import draw_limit, draw_region
from .overview import draw_overview
from .plate import Plate, draw_plate
from .plates import plates
from .saving import save_figure
from .skeleton import draw_skeleton
from .tradeoff import draw_tradeoff
from .violation import draw_violation

__all__ = [
    "Plate",
    "center_of_motion",
    "draw_joint",
    "draw_joints",
    "draw_limit",
    "draw_overview",
    "draw_plate",
    "draw_region",
    "draw_skeleton",
    "draw_tradeoff",
    "draw_violation",
    "plates",
    "samples_of",
    "save_figure",
]
