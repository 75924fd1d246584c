"""What the page opens with where there is no clip to open: a pose, and the joint that is picked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..components import Figure


@dataclass(frozen=True)
class Start:
    """Controls of a figure, and the joint whose limit is shown."""

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
"""Of the default human: one arm up, so that its scapula and its cone are seen. In degrees."""


def start_of(figure: Figure | None) -> Start | None:
    """Return what to open a figure with; None where it has other controls than the human."""
    if figure is None or not RAISED_ARM.values.keys() <= figure.controls.keys():
        return None
    return RAISED_ARM if RAISED_ARM.joint in figure.skeleton.names else None
