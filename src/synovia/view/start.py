"""The pose and the picked joint that the page opens with if there is no clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..components import Figure


@dataclass(frozen=True)
class Start:
    """Values of a figure's controls, and the picked joint."""

    values: Mapping[str, float]
    joint: str


RAISED_ARM = Start(
    {
        "left_shoulder.abduction": 122.0,
        "left_elbow.flexion": 22.0,
        "right_shoulder.flexion": 12.0,
        "right_elbow.flexion": 26.0,
        "left_hip.abduction": 6.0,
        "right_hip.abduction": 6.0,
        "cervical.twist": 18.0,
    },
    "LeftUpperArm",
)
"""The default human with one arm raised, so that its scapula and its cone are seen; in degrees."""


def start_of(figure: Figure | None) -> Start | None:
    """Return the start of a figure; None if it does not have the controls of the human."""
    if figure is None or not RAISED_ARM.values.keys() <= figure.controls.keys():
        return None
    return RAISED_ARM if RAISED_ARM.joint in figure.skeleton.names else None
