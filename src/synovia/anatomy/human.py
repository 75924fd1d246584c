"""The default human: a figure with all joints, in metres, standing with the arms hanging."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ..components import DEGREE, Curve, Figure, JointSet, OneToMany, Rotation, Translation
from .part import (
    REFERENCE_HEIGHT,
    SIDES,
    Part,
    Wiring,
    ball,
    degree_control,
    hinges,
    join,
    load_tables,
    millimetres,
)
from .shoulder import shoulder
from .spine import spine, thorax

HEADS = ("radial", "ulnar")
LEFT, UP, FORWARD = np.eye(3)


def arm(side: str, height: float) -> Part:
    """Return ulna, radius and hand of the side "Left" or "Right".

    At rest the palm faces the thigh, the forearm half way between its extremes.
    """
    data, unit = load_tables("limbs"), millimetres(height)
    upper, fore, hand = (
        np.array([0.0, -data["lengths"][name] * height, 0.0])
        for name in ("upper_arm", "forearm", "hand")
    )
    radial, ulnar = (unit * np.array(data["places"][f"{bone}_head"]) for bone in HEADS)
    pronation = {**data["elbow"]["pronation"], "axis": ulnar - radial}
    moves = {
        "flexion": ("LeftLowerArm", data["elbow"]["flexion"]),
        "pronation": ("LeftForearm", pronation),
    }
    left = Part(
        {
            "LeftLowerArm": "LeftUpperArm",
            "LeftForearm": "LeftLowerArm",
            "LeftHand": "LeftForearm",
        },
        {"LeftLowerArm": upper, "LeftForearm": radial, "LeftHand": fore - radial},
        {
            "left_elbow": hinges(moves),
            "left_wrist": ball("LeftHand", data["wrist"], ("flexion", "deviation")),
        },
        {"LeftLowerArm": [ulnar], "LeftHand": [hand]},
    )
    return left if side == "Left" else left.mirror()


def leg(side: str, height: float) -> tuple[Part, Part]:
    """Return the hip and foot, and the knee, of the side "Left" or "Right"."""
    data, unit = load_tables("limbs"), millimetres(height)
    places = {name: unit * np.array(data["places"][name]) for name in ("hip", "heel", "toes")}
    tips = unit * np.array(data["places"]["toe_tips"])
    shank = np.array([0.0, -data["lengths"]["shank"] * height, 0.0])
    left = Part(
        {"LeftUpperLeg": "Pelvis", "LeftFoot": "LeftLowerLeg", "LeftToes": "LeftFoot"},
        {"LeftUpperLeg": places["hip"], "LeftFoot": shank, "LeftToes": places["toes"]},
        {
            "left_hip": ball("LeftUpperLeg", data["hip"], ("flexion", "abduction")),
            "left_ankle": ball("LeftFoot", data["ankle"], ("dorsiflexion", "inversion")),
            "left_toes": hinges({"flexion": ("LeftToes", data["toes"]["flexion"])}),
        },
        {"LeftFoot": [places["heel"]], "LeftToes": [tips]},
    )
    return (left if side == "Left" else left.mirror()), knee(side, height)


def knee(side: str, height: float) -> Part:
    """Return tibia, patella and fibula of the side "Left" or "Right".

    One control moves all three, by cubic splines of the flexion. The tibia slides and rotates as it
    bends, so that the axis of its motion changes with the angle.
    """
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
        {"right_knee": _knee_joint_set(data, unit)},
        {"RightFibula": [unit * np.array(data["fibula"]["ankle"])]},
    )
    return right if side == "Right" else right.mirror()


def _knee_joint_set(data: Mapping[str, Any], unit: float) -> JointSet:
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


@cache
def human(height: float = REFERENCE_HEIGHT) -> Figure:
    """Return a person of a height in metres: segments, joint sets, and controls in degrees.

    x is to the person's left, y up, z forward; all frames are parallel at rest, palms to the
    thighs, heels on the ground. The root is the pelvis, between the hips.

    Examples
    --------
    >>> body = human()
    >>> pose = body.pose({"left_shoulder.abduction": 90.0})
    >>> len(body.controls), pose.rotations.shape == (len(body.skeleton), 4)
    (44, True)
    """
    if not (height > 0.0 and math.isfinite(height)):
        raise ValueError(f"height must be above 0 metres and finite, got {height}")
    lengths = load_tables("limbs")["lengths"]
    hips = sum(lengths[name] for name in ("thigh", "shank", "ankle_height")) * height
    parts = [
        Part({"Pelvis": None}, {"Pelvis": [0.0, hips, 0.0]}, {}),
        spine(height, ("lumbar",)),
        thorax(height),
        spine(height, ("cervical", "head")),
    ]
    for side in SIDES:
        parts += [shoulder(side, height), arm(side, height), *leg(side, height)]
    return join(*parts, name="human")
