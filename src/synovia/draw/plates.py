"""The source's plates, as data: which controls of a human, which bones, from where."""

from __future__ import annotations

from collections.abc import Mapping

from ..anatomy.shoulder import scapula_outline
from .plate import Plate

SHOULDER = ("Sternum", "*Clavicle", "*Scapula", "*UpperArm")
TRUNK = ("Pelvis", "L[1-5]", "T[0-9]*", "C[1-7]", "Head", "Sternum", "Rib*")


def both(**controls: float) -> dict[str, float]:
    """Return controls of a shoulder, for both sides."""
    return {
        f"{side}_shoulder.{name}": value
        for side in ("left", "right")
        for name, value in controls.items()
    }


def plates(height: float = 1.75) -> Mapping[str, Plate]:
    """Return every plate by its name, for a human of this height in metres."""
    outlines = {f"{side}Scapula": scapula_outline(side, height) for side in ("Left", "Right")}
    return {
        "knee": Plate(
            "One control moves tibia, patella and fibula, about a moving centre",
            tuple({"left_knee.flexion": angle} for angle in (0.0, 40.0, 80.0, 120.0)),
            shown=("LeftUpperLeg", "LeftLowerLeg", "LeftPatella", "LeftFibula", "LeftFoot"),
            strong=("LeftLowerLeg", "LeftPatella", "LeftFibula"),
            pitch=0.0,
            yaw=-90.0,
            moving="LeftLowerLeg",
            close=0.11,
            width=0.004,
        ),
        "bend": Plate(
            "Side bend: the cage keeps its shape",
            tuple(
                {"thoracic.bend": share * 28.0, "lumbar.bend": share * 18.0}
                for share in (-1.0, 0.0, 1.0)
            ),
            shown=TRUNK,
            strong=("L[1-5]", "T[0-9]*"),
            pitch=4.0,
            yaw=0.0,
            width=0.005,
        ),
        "neck": Plate(
            "Neck: extended, at rest, flexed",
            tuple({"cervical.flexion": angle} for angle in (-50.0, 0.0, 45.0)),
            shown=("T[1-4]", "C[1-7]", "Head"),
            strong=("C[1-7]",),
            pitch=0.0,
            yaw=-90.0,
            width=0.014,
        ),
        "lumbar": Plate(
            "Lumbar spine: extended, at rest, flexed",
            tuple({"lumbar.flexion": angle} for angle in (-20.0, 0.0, 45.0)),
            shown=TRUNK,
            strong=("L[1-5]",),
            pitch=0.0,
            yaw=-90.0,
            width=0.006,
        ),
        "abduction": Plate(
            "Abduction: clavicle and scapula follow the arm",
            tuple({"right_shoulder.abduction": angle} for angle in (0.0, 60.0, 120.0, 170.0)),
            shown=SHOULDER,
            strong=("RightClavicle", "RightUpperArm"),
            pitch=6.0,
            yaw=180.0,
            outlines={"RightScapula": outlines["RightScapula"]},
            ellipsoids=True,
        ),
        "scapula": Plate(
            "Scapulae glide on two ellipsoids: at rest, shrugged, drawn forward, arms raised",
            (
                {},
                both(elevation=35.0),
                both(protraction=25.0),
                both(abduction=150.0),
            ),
            shown=SHOULDER,
            strong=("*Clavicle",),
            pitch=10.0,
            yaw=180.0,
            outlines=outlines,
            ellipsoids=True,
        ),
    }
