"""The default human: a figure with all joints, in metres, standing with the arms hanging."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ..components import Figure
from .knee import knee
from .part import REFERENCE_HEIGHT, SIDES, Part, ball, hinges, join, load_tables, millimetres
from .shoulder import shoulder
from .spine import spine, thorax

HEADS = ("radial", "ulnar")


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
