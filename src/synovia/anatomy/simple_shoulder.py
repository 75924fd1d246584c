"""A shoulder without its girdle: clavicle and scapula stay, the arm moves in a reach cone."""

from __future__ import annotations

import numpy as np

from ..shapes import ReachCone
from .numbers import millimetres, numbers
from .part import Part
from .turns import ball

MOVES = ("flexion", "abduction")


def simple_shoulder(side: str, height: float) -> Part:
    """Return clavicle, scapula and upper arm of the side "Left" or "Right"."""
    data, unit = numbers("limbs"), millimetres(height)
    names = ("LeftClavicle", "LeftScapula", "LeftUpperArm")
    places = [
        unit * np.array(data["places"][name]) for name in ("clavicle", "acromion", "shoulder")
    ]
    left = Part(
        dict(zip(names, ("Sternum", *names), strict=False)),
        dict(zip(names, places, strict=True)),
        {"left_shoulder": ball("LeftUpperArm", data["shoulder"], MOVES, _cone())},
    )
    return left if side == "Left" else left.mirrored()


def _cone() -> ReachCone:
    """Return the left arm's cone: how far it swings, sixteen ways round, from in front outwards."""
    swings = np.radians(numbers("limbs")["shoulder"]["swings"])
    around = 2.0 * np.pi * np.arange(len(swings)) / len(swings)
    outwards, ahead = np.sin(swings) * np.sin(around), np.sin(swings) * np.cos(around)
    points = np.stack([outwards, -np.cos(swings), ahead], axis=1)
    return ReachCone(points[::-1], visible=np.array([0.0, -1.0, 0.0]))
