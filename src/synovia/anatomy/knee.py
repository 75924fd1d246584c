"""The knee: one control moves tibia, patella and fibula, by cubic splines of the flexion.

The tibia slides and turns as it bends, so that the axis of its motion is another at every angle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..components import (
    DEGREE,
    Component,
    Curve,
    JointSet,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
    Translation,
)
from .part import Part, degree_control, load_tables, millimetres

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
    low, high = data["flexion"]["range"]
    tibia, patella, fibula = (data[bone] for bone in ("tibia", "patella", "fibula"))
    curves = {
        "flexion": Curve.linear((low, low), (high, high), y_scale=DEGREE),
        **{f"tibia-{way}": _spline(tibia, way, DEGREE) for way in ("adduction", "rotation")},
        **{f"tibia-{way}": _spline(tibia, way, unit) for way in ("up", "outwards")},
        "patella-tip": _spline(patella, "tip", DEGREE),
        **{f"patella-{way}": _spline(patella, way, unit) for way in ("up", "forward")},
        "fibula-rotation": _spline(fibula, "rotation", DEGREE),
        "fibula-forward": _spline(fibula, "forward", unit),
    }
    parts: dict[str, Component] = {
        "map": OneToMany(curves),
        "flexion": Rotation(LEFT, np.radians([low, high])),
        "adduction": Rotation(FORWARD),
        "rotation": Rotation(UP),
        "slide": Translation(directions=np.stack([UP, -LEFT, FORWARD])),
        "tibia": MatrixProduct(("slide", "flexion", "adduction", "rotation")),
        "tip": Rotation(LEFT),
        "glide": Translation(directions=np.stack([UP, FORWARD, LEFT])),
        "patella": MatrixProduct(("glide", "tip")),
        "fibula-turn": Rotation(UP),
        "fibula-slide": Translation(directions=np.stack([FORWARD, UP, LEFT])),
        "fibula": MatrixProduct(("slide", "turn")),
    }
    wires = {
        "map.value": "flexion",
        "flexion.angle": "map.flexion",
        "adduction.angle": "map.tibia-adduction",
        "rotation.angle": "map.tibia-rotation",
        "slide.x": "map.tibia-up",
        "slide.y": "map.tibia-outwards",
        **{f"tibia.{each}": f"{each}.matrix" for each in ("slide", "flexion")},
        **{f"tibia.{each}": f"{each}.matrix" for each in ("adduction", "rotation")},
        "tip.angle": "map.patella-tip",
        "glide.x": "map.patella-up",
        "glide.y": "map.patella-forward",
        "patella.glide": "glide.matrix",
        "patella.tip": "tip.matrix",
        "fibula-turn.angle": "map.fibula-rotation",
        "fibula-slide.x": "map.fibula-forward",
        "fibula.slide": "fibula-slide.matrix",
        "fibula.turn": "fibula-turn.matrix",
    }
    outputs = {
        "RightLowerLeg": "tibia.matrix",
        "RightPatella": "patella.matrix",
        "RightFibula": "fibula.matrix",
    }
    return JointSet(Network(parts, wires, outputs), {"flexion": degree_control(low, high)})


def _spline(table: Mapping[str, Any], way: str, scale: float) -> Curve:
    return Curve(table["flexion"], table[way], "spline", y_scale=scale)
