"""The knee: one control moves tibia, patella and fibula, by cubic splines of the flexion.

The tibia slides and rotates as it bends, so that the axis of its motion changes with the angle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..components import DEGREE, Curve, JointSet, OneToMany, Rotation, Translation
from .part import Part, Wiring, degree_control, load_tables, millimetres

LEFT, UP, FORWARD = np.eye(3)


def knee(side: str, height: float) -> Part:
    """Return tibia, patella and fibula of the side "Left" or "Right"."""
    data, unit = load_tables("knee"), millimetres(height)
    lengths = load_tables("limbs")["lengths"]
    bottom = np.array([0.0, -lengths["thigh"] * height, 0.0])
    right = Part(
        {
            "RightLowerLeg": "RightUpperLeg",
            "RightPatella": "RightUpperLeg",
            "RightFibula": "RightLowerLeg",
        },
        {
            "RightLowerLeg": bottom,
            "RightPatella": bottom + unit * np.array(data["patella"]["place"]),
            "RightFibula": unit * np.array(data["fibula"]["place"]),
        },
        {"right_knee": _joint_set(data, unit)},
        {"RightFibula": [unit * np.array(data["fibula"]["ankle"])]},
    )
    return right if side == "Right" else right.mirror()


def _joint_set(data: Mapping[str, Any], unit: float) -> JointSet:
    """Return the right knee's joint set; `unit` is a millimetre of the data in metres."""
    low, high = data["flexion"]["range"]
    tibia, patella, fibula = (data[bone] for bone in ("tibia", "patella", "fibula"))
    curves = {
        "flexion": Curve.linear((low, low), (high, high), y_scale=DEGREE),
        **{f"tibia-{name}": _spline(tibia, name, DEGREE) for name in ("adduction", "rotation")},
        **{f"tibia-{name}": _spline(tibia, name, unit) for name in ("up", "outwards")},
        "patella-tip": _spline(patella, "tip", DEGREE),
        **{f"patella-{name}": _spline(patella, name, unit) for name in ("up", "forward")},
        "fibula-rotation": _spline(fibula, "rotation", DEGREE),
        "fibula-forward": _spline(fibula, "forward", unit),
    }
    wiring = Wiring()
    wiring.add("map", OneToMany(curves), "flexion")
    wiring.add("flexion", Rotation(LEFT, np.radians([low, high])), "map.flexion")
    wiring.add("adduction", Rotation(FORWARD), "map.tibia-adduction")
    wiring.add("rotation", Rotation(UP), "map.tibia-rotation")
    along = np.stack([UP, -LEFT, FORWARD])
    wiring.add("slide", Translation(directions=along), "map.tibia-up", "map.tibia-outwards")
    wiring.multiply("tibia", "slide", "flexion", "adduction", "rotation")
    wiring.add("tip", Rotation(LEFT), "map.patella-tip")
    along = np.stack([UP, FORWARD, LEFT])
    wiring.add("glide", Translation(directions=along), "map.patella-up", "map.patella-forward")
    wiring.multiply("patella", "glide", "tip")
    wiring.add("fibula-turn", Rotation(UP), "map.fibula-rotation")
    along = np.stack([FORWARD, UP, LEFT])
    wiring.add("fibula-slide", Translation(directions=along), "map.fibula-forward")
    wiring.multiply("fibula", "fibula-slide", "fibula-turn")
    outputs = {"RightLowerLeg": "tibia", "RightPatella": "patella", "RightFibula": "fibula"}
    return JointSet(wiring.network(outputs), {"flexion": degree_control(low, high)})


def _spline(table: Mapping[str, Any], name: str, scale: float) -> Curve:
    """Return a spline over flexion (degrees), from a column of a table; `scale` is its unit."""
    return Curve(table["flexion"], table[name], "spline", y_scale=scale)
