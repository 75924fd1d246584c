"""JSON tables of swing–twist or Euler ranges, for editors and engines with simple joint limits.

Each table entry is itself a `Limit` of another family, so that its loss is measured like that of
any conversion.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..charts import Hinges, SwingTwist
from ..limit import Limit
from ..limit.convert import approximate
from ..model import LimitModel
from ..shapes import Box, Ellipsoid, Product
from . import EXPORTERS, Exported, Progress
from .hinged import MEMBERS, Loss, measure_loss

MIN_CONE = 1e-6  # radians: half angle of a cone at least, and its distance from π
Values = dict[str, Any]


def elliptic_cone(limit: Limit, axis: Vectors) -> tuple[Limit, Values]:
    """Return an elliptic cone of swings about a bone's axis with a range of twist, in degrees."""
    chart = _twist_chart(limit, axis)
    points = chart.points(limit.sample(MEMBERS // 2, np.random.default_rng(1)))
    half = np.maximum(np.abs(points[:, :2]).max(axis=0), MIN_CONE)
    half = half * np.sqrt(np.square(points[:, :2] / half).sum(axis=1).max())
    half = np.minimum(half, np.pi - MIN_CONE)
    twist = np.array([points[:, 2].min(), points[:, 2].max()])
    cone = Product(Ellipsoid(np.zeros(2), half, np.eye(2)), float(twist[0]), float(twist[1]))
    x, y = quat.rotate(chart.swing_frame, np.eye(3)[:2])
    return Limit(chart, cone), {
        "reference_wxyz": chart.reference,
        "axis": chart.axis,
        "swing_x_axis": x,
        "swing_y_axis": y,
        "swing_x_deg": np.degrees(half[0]),
        "swing_y_deg": np.degrees(half[1]),
        "twist_low_deg": np.degrees(twist[0]),
        "twist_high_deg": np.degrees(twist[1]),
    }


def round_cone(limit: Limit, axis: Vectors) -> tuple[Limit, Values]:
    """Return a round cone of swings about a bone's axis, in degrees; the twist is free."""
    chart = _twist_chart(limit, axis)
    points = chart.points(limit.sample(MEMBERS // 2, np.random.default_rng(1)))
    angle = min(float(np.linalg.norm(points[:, :2], axis=1).max()), np.pi - MIN_CONE)
    cone = Product(Ellipsoid(np.zeros(2), np.full(2, angle), np.eye(2)), -np.pi, np.pi)
    return Limit(chart, cone), {
        "reference_wxyz": chart.reference,
        "axis": chart.axis,
        "cone_deg": np.degrees(angle),
    }


def euler_box(order: str, limit: Limit, _axis: Vectors) -> tuple[Limit, Values]:
    """Return ranges of Euler angles from rest, in degrees: q = first letter · second · third."""
    chart = Hinges(quat.IDENTITY, np.eye(3)[["XYZ".index(letter) for letter in order]])
    box = approximate(limit, Box, chart, MEMBERS, {"along": "chart"})
    low, high = np.degrees(box.bounds)
    values: Values = {"order": order}
    for letter, least, greatest in zip(order.lower(), low, high, strict=True):
        values |= {f"{letter}_low_deg": least, f"{letter}_high_deg": greatest}
    return Limit(chart, box), values


def _twist_chart(limit: Limit, axis: Vectors) -> SwingTwist:
    members = limit.sample(MEMBERS // 4, np.random.default_rng(0))
    return SwingTwist(quat.mean(members), axis)


def _write_table(
    target: str,
    make: Callable[[Limit, Vectors], tuple[Limit, Values]],
    model: LimitModel,
    _name: str,
    _mass: float,
    progress: Progress,
) -> Exported:
    """Return a table as JSON. `make` takes a limit and the direction (3,) of the joint's bone."""
    joints: dict[str, Any] = {}
    losses: dict[str, Loss] = {}
    for name in progress(list(model.limits)):
        limit = model.limits[name]
        bone = model.skeleton.rest_directions[model.skeleton.index(name)]
        exported, values = make(limit, bone if bone.any() else np.array([0.0, 1.0, 0.0]))
        losses[name] = measure_loss(limit, exported)
        plain = {
            key: value if isinstance(value, str) else np.asarray(value, np.float64).tolist()
            for key, value in values.items()
        }
        joints[name] = {**plain, "loss": asdict(losses[name])}
    about = (
        f"Joint limits by Synovia. {EXPORTERS[target].about}. Losses are shares of all rotations; "
        "angles of losses are radians."
    )
    text = json.dumps({"about": about, "joints": joints}, indent=2, allow_nan=False)
    return Exported(f"{text}\n".encode(), losses, {})


write_blender = partial(_write_table, "blender", partial(euler_box, "ZYX"))
write_vrm = partial(_write_table, "vrm", partial(euler_box, "XYZ"))
write_godot = partial(_write_table, "godot", round_cone)
write_unity = partial(_write_table, "unity", elliptic_cone)
write_physx = partial(_write_table, "physx", elliptic_cone)
