"""The leg: hip, knee, ankle and toes."""

from __future__ import annotations

import numpy as np

from .knee import knee
from .numbers import millimetres, numbers
from .part import Part
from .turns import ball, hinges


def leg(side: str, height: float) -> tuple[Part, Part]:
    """Return the hip and foot, and the knee, of the side "Left" or "Right"."""
    data, unit = numbers("limbs"), millimetres(height)
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
    return (left if side == "Left" else left.mirrored()), knee(side, height)
