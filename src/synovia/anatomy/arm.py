"""The arm below the shoulder: elbow with forearm, and wrist.

At rest it hangs with the palm to the thigh, the forearm half way between its extremes.
"""

from __future__ import annotations

import numpy as np

from .numbers import millimetres, numbers
from .part import Part
from .turns import ball, hinges

HEADS = ("radial", "ulnar")


def arm(side: str, height: float) -> Part:
    """Return ulna, radius and hand of the side "Left" or "Right"."""
    data, unit = numbers("limbs"), millimetres(height)
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
    return left if side == "Left" else left.mirrored()
