"""The spine: three joint sets, nine controls, 24 vertebrae; the head as a fourth.

Every vertebra turns about three axes that are not orthogonal, each with a centre of its own. A
control is the turn of its whole set, in degrees; flexion is positive forwards, bend and twist to
the person's left. The levels share it so that all reach their limits together, piecewise linearly
through zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Vectors
from ..components import (
    DEGREE,
    Component,
    Control,
    Curve,
    JointSet,
    Network,
    OneToMany,
    Product,
    Rotation,
)
from .numbers import millimetres, numbers
from .part import Part

MOVES = ("flexion", "bend", "twist")
REGIONS = ("lumbar", "thoracic", "cervical", "head")


@dataclass(frozen=True, eq=False)
class Level:
    """A vertebra: where it is, and its three turns against the one below.

    `place` is from the middle between the hips, `offset` from the vertebra below, in metres.
    `axes`, `centers` (in its own frame) and `ranges` (lowest and highest, degrees) are by move.
    """

    name: str
    below: str
    place: Vectors
    offset: Vectors
    axes: Mapping[str, Vectors]
    centers: Mapping[str, Vectors]
    ranges: Mapping[str, tuple[float, float]]


def levels(height: float) -> dict[str, list[Level]]:
    """Return the vertebrae of each region, from bottom to top, for a person of this height."""
    data, unit = numbers("spine"), millimetres(height)
    place, below = np.array(data["posture"]["sacrum"]), "Pelvis"
    found: dict[str, list[Level]] = {}
    for region in REGIONS:
        posture, table = data["posture"], data[region]
        ranges = {move: _ranges(table[move]) for move in MOVES}
        found[region] = []
        for k, name in enumerate(table["names"]):
            up, forward = posture["rise"][region][k], posture["forward"][region][k]
            next_place = np.array([0.0, place[1] + up, forward])
            start = place if below != "Pelvis" else np.zeros(3)
            axes, centers = _joint(next_place - place, data["joints"][region])
            level = Level(
                name,
                below,
                unit * next_place,
                unit * (next_place - start),
                axes,
                {move: unit * center for move, center in centers.items()},
                {move: ranges[move][k] for move in MOVES},
            )
            found[region].append(level)
            place, below = next_place, name
    return found


def spine(height: float, regions: Sequence[str]) -> Part:
    """Return some of the lumbar and cervical sets and the head; `cage` has the thoracic one."""
    found = levels(height)
    bones = [level for region in regions for level in found[region]]
    vertex = millimetres(height) * np.array(numbers("spine")["posture"]["vertex"])
    return Part(
        {level.name: level.below for level in bones},
        {level.name: level.offset for level in bones},
        {region: vertebral_set(found[region]) for region in regions},
        {"Head": [vertex]} if "head" in regions else {},
    )


def cervical_of_source() -> Network:
    """Return the source's example: the controls of the neck go from -1 to 1.

    Its ranges of flexion are linear over them, so that the neck is bent back by 9.9 degrees in
    all at 0. It publishes neither the ranges of the other moves nor axes and centres: ours.
    """
    bones = levels(1.75)["cervical"]
    curves = {
        move: {
            level.name: Curve.linear(
                (-1.0, level.ranges[move][0]), (1.0, level.ranges[move][1]), y_scale=DEGREE
            )
            for level in bones
        }
        for move in MOVES
    }
    return vertebrae(bones, curves)


def vertebral_set(bones: Sequence[Level], **extra: Any) -> JointSet:
    """Return the joint set of some vertebrae, with controls in degrees; see `vertebrae`."""
    spans = {move: span(bones, move) for move in MOVES}
    curves = {
        move: {level.name: through_zero(spans[move], level.ranges[move]) for level in bones}
        for move in MOVES
    }
    controls = {move: Control(*spans[move], 0.0, "degrees") for move in MOVES}
    return JointSet(vertebrae(bones, curves, **extra), controls)


def span(bones: Sequence[Level], move: str) -> tuple[float, float]:
    """Return the range, in degrees, of all these vertebrae together."""
    low, high = np.sum([level.ranges[move] for level in bones], axis=0).round(9).tolist()
    return low, high


def through_zero(control: tuple[float, float], turn: tuple[float, float]) -> Curve:
    """Return the curve from a control to an angle, both in degrees, out in radians."""
    x, y = np.array([control[0], 0.0, control[1]]), np.array([turn[0], 0.0, turn[1]])
    return Curve(x, y, y_scale=DEGREE)


def vertebrae(
    bones: Sequence[Level],
    curves: Mapping[str, Mapping[str, Curve]],
    more: Mapping[str, Mapping[str, Rotation]] | None = None,
    outputs: Mapping[str, str] | None = None,
) -> Network:
    """Return the network: a mapping for each move, then three turns and a product for each bone.

    `more` are the turns, by move, of bones that are no vertebrae, which need curves too;
    `outputs` are the bones that they move, vertebrae aside.
    """
    turns: dict[str, Mapping[str, Rotation]] = {
        level.name: {
            move: Rotation(
                level.axes[move], np.radians(level.ranges[move]), level.centers[move][None]
            )
            for move in MOVES
        }
        for level in bones
    } | dict(more or {})
    parts: dict[str, Component] = {move: OneToMany(curves[move]) for move in MOVES}
    wires = {f"{move}.value": move for move in MOVES}
    for bone, three in turns.items():
        parts[bone] = Product(MOVES)
        for move in MOVES:
            parts[f"{bone}-{move}"] = three[move]
            wires[f"{bone}-{move}.angle"] = f"{move}.{bone}"
            wires[f"{bone}.{move}"] = f"{bone}-{move}.matrix"
    named = {level.name: level.name for level in bones} | dict(outputs or {})
    return Network(parts, wires, {bone: f"{turn}.matrix" for bone, turn in named.items()}, MOVES)


def _ranges(table: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the lowest and the highest angle of each level, degrees."""
    if "low" in table:
        return list(zip(table["low"], table["high"], strict=True))
    if "side" in table:
        return [(-side, side) for side in table["side"]]
    ahead, living = table.get("forward_share", 0.5), table.get("living", 1.0)
    return [(-(1.0 - ahead) * living * arc, ahead * living * arc) for arc in table["arc"]]


def _joint(
    rise: Vectors, joint: Mapping[str, Any]
) -> tuple[dict[str, Vectors], dict[str, Vectors]]:
    """Return the axes and the centres, by move, of a vertebra that is `rise` above the next."""
    along = rise / np.linalg.norm(rise)
    left = np.array([1.0, 0.0, 0.0])
    ahead = np.cross(left, along)
    tilt = np.radians(joint["coupling"])
    axes = {"flexion": left, "bend": np.sin(tilt) * along - np.cos(tilt) * ahead, "twist": along}
    centers = {
        move: np.array([0.0, joint[move][0] * rise[1], joint[move][1] * rise[1]]) for move in MOVES
    }
    return axes, centers
