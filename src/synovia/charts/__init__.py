"""Charts: maps between rotations and points, each with a reference and a metric."""

from ..arrays import TURN
from .chart import Chart, DirectionTwist, EulerZYZ, RotationVector, SwingTwist, takes_axis
from .hinges import Hinges

CHARTS: dict[str, type[Chart]] = {
    "rotation-vector": RotationVector,
    "swing-twist": SwingTwist,
    "direction-twist": DirectionTwist,
    "euler": EulerZYZ,
    "hinges": Hinges,
}
"""The registry: every chart by its name."""

__all__ = [
    "CHARTS",
    "TURN",
    "Chart",
    "DirectionTwist",
    "EulerZYZ",
    "Hinges",
    "RotationVector",
    "SwingTwist",
    "takes_axis",
]
