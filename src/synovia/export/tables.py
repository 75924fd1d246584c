"""Tables of swing–twist or Euler ranges, for editors and engines that have no more than these.

Every one of them is a limit of ours in another family, so that what it gains and loses is measured
as for any conversion.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors
from ..charts import Hinges, SwingTwist
from ..limit import Limit
from ..limit.convert import approximate
from ..model import LimitModel
from ..shapes import Box, Ellipsoid, Product
from .hinged import MEMBERS, Loss, measure_loss

SLIMMEST = 1e-6
"""Radians that a cone has at least, and is short of half a turn."""


@dataclass(frozen=True, eq=False)
class TableRow:
    """A joint's limit as an engine has it: the numbers, what they accept, and the loss."""

    name: str
    values: dict[str, Any]
    limit: Limit
    loss: Loss


def bone_axis(model: LimitModel, name: str) -> Vectors:
    """Return the direction (3,) of a joint's bone in its rest-aligned frame."""
    along = model.skeleton.rest_directions[model.skeleton.index(name)]
    return along if along.any() else np.array([0.0, 1.0, 0.0])


def _twist_chart(limit: Limit, axis: Vectors) -> SwingTwist:
    members = limit.sample(MEMBERS // 4, np.random.default_rng(0))
    return SwingTwist(quat.mean(members), axis)


def elliptic_cone(limit: Limit, axis: Vectors) -> tuple[Limit, dict[str, Any]]:
    """Return an ellipse of swings about a bone's axis and a range of twist, in degrees."""
    chart = _twist_chart(limit, axis)
    points = chart.points(limit.sample(MEMBERS // 2, np.random.default_rng(1)))
    half = np.maximum(np.abs(points[:, :2]).max(axis=0), SLIMMEST)
    half = half * np.sqrt(np.square(points[:, :2] / half).sum(axis=1).max())
    half = np.minimum(half, np.pi - SLIMMEST)
    twist = np.array([points[:, 2].min(), points[:, 2].max()])
    made = Product(Ellipsoid(np.zeros(2), half, np.eye(2)), float(twist[0]), float(twist[1]))
    x, y = quat.rotate(chart.swing_frame, np.eye(3)[:2])
    return Limit(chart, made), {
        "reference_wxyz": chart.reference,
        "axis": chart.axis,
        "swing_x_axis": x,
        "swing_y_axis": y,
        "swing_x_deg": np.degrees(half[0]),
        "swing_y_deg": np.degrees(half[1]),
        "twist_low_deg": np.degrees(twist[0]),
        "twist_high_deg": np.degrees(twist[1]),
    }


def round_cone(limit: Limit, axis: Vectors) -> tuple[Limit, dict[str, Any]]:
    """Return a round cone of swings about a bone's axis, in degrees; the twist is free."""
    chart = _twist_chart(limit, axis)
    points = chart.points(limit.sample(MEMBERS // 2, np.random.default_rng(1)))
    angle = min(float(np.linalg.norm(points[:, :2], axis=1).max()), np.pi - SLIMMEST)
    made = Product(Ellipsoid(np.zeros(2), np.full(2, angle), np.eye(2)), -np.pi, np.pi)
    return Limit(chart, made), {
        "reference_wxyz": chart.reference,
        "axis": chart.axis,
        "cone_deg": np.degrees(angle),
    }


def euler_box(order: str) -> Callable[[Limit, Vectors], tuple[Limit, dict[str, Any]]]:
    """Return what makes ranges of Euler angles from rest, in degrees, turned in this order.

    q = first letter · second · third, so that the last letter's turn comes first.
    """

    def make(limit: Limit, axis: Vectors) -> tuple[Limit, dict[str, Any]]:
        chart = Hinges(quat.IDENTITY, np.eye(3)[["XYZ".index(letter) for letter in order]])
        made = approximate(limit, Box, chart, MEMBERS, {"along": "chart"})
        low, high = np.degrees(made.bounds)
        ranges = {
            f"{letter.lower()}_{end}_deg": value
            for k, letter in enumerate(order)
            for end, value in (("low", low[k]), ("high", high[k]))
        }
        return Limit(chart, made), {"order": order, **ranges}

    return make


TABLES: dict[str, tuple[str, Callable[[Limit, Vectors], tuple[Limit, dict[str, Any]]]]] = {
    "blender": ("Limit Rotation: ranges of Euler angles, order XYZ (z · y · x)", euler_box("ZYX")),
    "vrm": ("ranges of Euler angles from the T-pose, order XYZ", euler_box("XYZ")),
    "godot": ("JointLimitationCone3D: a round cone; no twist", round_cone),
    "unity": ("Character Joint: an elliptic cone of swings, a range of twist", elliptic_cone),
    "physx": ("D6 joint: an elliptic cone of swings, a range of twist", elliptic_cone),
}
"""What editors and engines have, and what makes it of a limit and its bone's axis."""


def table_rows(
    model: LimitModel,
    target: str,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> list[TableRow]:
    """Return every limit of a model as `target` has it."""
    _, make = TABLES[target]
    rows = []
    for name in progress(list(model.limits)):
        limit = model.limits[name]
        made, values = make(limit, bone_axis(model, name))
        rows.append(TableRow(name, values, made, measure_loss(limit, made)))
    return rows


def table_text(rows: Iterable[TableRow], target: str) -> str:
    """Return a table as JSON: degrees where a name says so, losses as shares of all rotations."""
    document = {
        "about": f"Joint limits by Synovia for {target}. {TABLES[target][0]}. Losses are shares of "
        "all rotations; angles of losses are radians.",
        "joints": {
            row.name: {**{key: _plain(value) for key, value in row.values.items()},
                       "loss": asdict(row.loss)}
            for row in rows
        },
    }  # fmt: skip
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    array: Floats = np.asarray(value, dtype=np.float64)
    return array.tolist() if array.ndim else float(array)
