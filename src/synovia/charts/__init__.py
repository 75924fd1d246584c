"""Charts: rotations as points, and back. A chart holds the reference, and owns the metric.

`CHARTS` is the one registry.
"""

from ..arrays import TURN
from .chart import Chart
from .direction_twist import DirectionTwist
from .euler import EulerZYZ
from .framed import FramedChart
from .hinges import Hinges
from .rotation_vector import RotationVector
from .swing_twist import SwingTwist

CHARTS: dict[str, type[Chart]] = {
    "rotation-vector": RotationVector,
    "swing-twist": SwingTwist,
    "direction-twist": DirectionTwist,
    "euler": EulerZYZ,
    "hinges": Hinges,
}
"""Every chart by its name."""

__all__ = [
    "CHARTS",
    "TURN",
    "Chart",
    "DirectionTwist",
    "EulerZYZ",
    "FramedChart",
    "Hinges",
    "RotationVector",
    "SwingTwist",
]
