"""Angles: the largest angle from rest of each joint, as text."""

from __future__ import annotations

import numpy as np

from .. import quat
from ..charts import RotationVector
from ..limit import Limit
from ..model import LimitModel
from ..shapes import Ellipsoid
from . import Exported, Progress
from .hinged import measure_loss


def write_angles(model: LimitModel, name: str, _mass: float, progress: Progress) -> Exported:
    """Return a line per joint: its name and an angle in degrees."""
    lines, losses = [f"# {name}"], {}
    for joint in progress(list(model.limits)):
        limit = model.limits[joint]
        members = limit.sample(1000, np.random.default_rng(0))
        angle = float(quat.angle_between(quat.IDENTITY, members).max())
        ball = Limit(RotationVector(), Ellipsoid(np.zeros(3), np.full(3, angle), np.eye(3)))
        losses[joint] = measure_loss(limit, ball)
        lines.append(f"{joint} {np.degrees(angle):.1f}")
    return Exported("\n".join([*lines, ""]).encode(), losses, {})
