"""The thorax: twelve vertebrae, their ribs and the sternum, one joint set.

Rigid ribs on a bent spine would run into each other on one side and gape on the other. So a rib
turns back: its vertebra has turned against the middle of the cage, and the rib undoes a share of
that, less than all. Were the share one of the vertebra's own turn against its neighbour, as the
source reads, ribs of a spine that bends evenly would come as close as rigid ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Vectors
from ..components import Control, Curve, JointSet, Rotation
from .numbers import millimetres, numbers
from .part import Part, mirrored
from .spine import MOVES, Level, levels, span, through_zero, vertebrae

SIDES = ("Left", "Right")


def cage(height: float, share: float | None = None) -> Part:
    """Return the thorax; `share` is how much of its vertebra's turn a rib takes back.

    At a share of 0 ribs and sternum are rigid with the vertebrae that they hang on.
    """
    data, unit = numbers("spine"), millimetres(height)
    bones = levels(height)["thoracic"]
    parents: dict[str, str | None] = {level.name: level.below for level in bones}
    offsets: dict[str, ArrayLike] = {level.name: level.offset for level in bones}
    ends: dict[str, list[Vectors]] = {}
    ribs = data["ribs"]
    for number, level in enumerate(reversed(bones), start=1):
        head = unit * np.array(ribs["head"])
        tips = [unit * np.array(ribs[where][number - 1]) for where in ("side", "front")]
        for side in SIDES:
            facing = (lambda point: point) if side == "Left" else mirrored
            name = rib(number, side)
            parents[name], offsets[name] = level.name, facing(head)
            ends[name] = [facing(tip - level.place - head) for tip in tips]
    about = next(level for level in bones if level.name == ribs["about"])
    notch, tip = (unit * np.array(data["sternum"][where]) for where in ("notch", "tip"))
    parents["Sternum"], offsets["Sternum"] = about.name, notch - about.place
    ends["Sternum"] = [tip - notch]
    taken = ribs["share"] if share is None else share
    follows = data["sternum"]["share"] if taken else dict.fromkeys(MOVES, 0.0)
    joint_set = _joint_set(bones, about, taken, follows, about.place - notch)
    return Part(parents, offsets, {"thoracic": joint_set}, ends)


def rib(number: int, side: str) -> str:
    """Return the name of a rib, from 1 to 12, of the side "Left" or "Right"."""
    return f"Rib{number}{side}"


def _joint_set(
    bones: list[Level], about: Level, share: float, follows: Mapping[str, float], center: Vectors
) -> JointSet:
    """Return the thoracic set; the sternum turns about `center`, in its own frame."""
    spans = {move: span(bones, move) for move in MOVES}
    back: Mapping[str, float] = dict.fromkeys(MOVES, -share)
    shares = {f"rib{12 - k}": (level, back) for k, level in enumerate(bones) if level is not about}
    shares["sternum"] = (bones[-1], follows)
    if not share:
        shares = {}
    curves: dict[str, dict[str, Curve]] = {}
    more: dict[str, dict[str, Rotation]] = {name: {} for name in shares}
    for move in MOVES:
        curves[move] = {
            level.name: through_zero(spans[move], level.ranges[move]) for level in bones
        }
        for name, (level, factors) in shares.items():
            low, high = (factors[move] * turn for turn in _against(bones, about, level, move))
            curves[move][name] = through_zero(spans[move], (low, high))
            where = center[None] if name == "sternum" else np.zeros((1, 3))
            more[name][move] = Rotation(about.axes[move], np.radians(sorted((low, high))), where)
    outputs: dict[str, str] = {}
    for name in shares:
        if name == "sternum":
            outputs["Sternum"] = name
        else:
            outputs |= {rib(int(name[3:]), side): name for side in SIDES}
    controls = {move: Control(*spans[move], 0.0, "degrees") for move in MOVES}
    return JointSet(vertebrae(bones, curves, more, outputs), controls)


def _against(bones: list[Level], about: Level, level: Level, move: str) -> tuple[float, float]:
    """Return how far a vertebra turns against `about` at both ends of a move, degrees."""
    here, there = bones.index(level), bones.index(about)
    between = bones[there + 1 : here + 1] if here > there else bones[here + 1 : there + 1]
    low, high = span(between, move)
    return (low, high) if here > there else (-low, -high)
