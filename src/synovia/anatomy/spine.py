"""The spine: 24 vertebrae by nine controls, the head, and the rib cage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Vectors
from ..components import (
    DEGREE,
    Control,
    Curve,
    JointSet,
    Network,
    OneToMany,
    Rotation,
)
from .part import SIDES, Part, Wiring, load_tables, millimetres, mirror_point

# The spine: three joint sets, nine controls, 24 vertebrae; the head as a fourth.
#
# Every vertebra rotates about three axes that are not orthogonal and have different centres. A
# control is the rotation of the set, in degrees; flexion is positive forwards, bend and twist to
# the person's left. The levels share it so that all reach their limits together, piecewise linearly
# through zero.

MOVES = ("flexion", "bend", "twist")
REGIONS = ("lumbar", "thoracic", "cervical", "head")
LEFT = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Turns:
    """Three rotations of a bone, by move: their axes, centres and ranges.

    Centres (3,) are in the bone's frame, in metres. Ranges are angles in degrees at both ends of
    the control.
    """

    name: str
    axes: Mapping[str, Vectors]
    centers: Mapping[str, Vectors]
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Vertebra(Turns):
    """A vertebra and its rotations against the one below.

    `position` is from the middle between the hips, `offset` from the vertebra below, in metres.
    """

    below: str
    position: Vectors
    offset: Vectors


def levels(height: float) -> dict[str, list[Vertebra]]:
    """Return the vertebrae of each region, from bottom to top, for a person of this height."""
    data, unit = load_tables("spine"), millimetres(height)
    position, below = np.array(data["posture"]["sacrum"]), "Pelvis"
    by_region: dict[str, list[Vertebra]] = {}
    for region in REGIONS:
        posture, table = data["posture"], data[region]
        ranges = {move: _ranges(table[move]) for move in MOVES}
        by_region[region] = []
        for k, name in enumerate(table["names"]):
            up, forward = posture["rise"][region][k], posture["forward"][region][k]
            next_position = np.array([0.0, position[1] + up, forward])
            start = position if below != "Pelvis" else np.zeros(3)
            rise, joint = next_position - position, data["joints"][region]
            along, tilt = rise / np.linalg.norm(rise), np.radians(joint["coupling"])
            bend = np.sin(tilt) * along - np.cos(tilt) * np.cross(LEFT, along)
            level = Vertebra(
                name,
                {"flexion": LEFT, "bend": bend, "twist": along},
                {move: unit * rise[1] * np.array([0.0, *joint[move]]) for move in MOVES},
                {move: ranges[move][k] for move in MOVES},
                below,
                unit * next_position,
                unit * (next_position - start),
            )
            by_region[region].append(level)
            position, below = next_position, name
    return by_region


def spine(height: float, regions: Sequence[str]) -> Part:
    """Return some of the lumbar and cervical sets and the head; `thorax` has the thoracic one."""
    by_region = levels(height)
    bones = [level for region in regions for level in by_region[region]]
    vertex = millimetres(height) * np.array(load_tables("spine")["posture"]["vertex"])
    return Part(
        {level.name: level.below for level in bones},
        {level.name: level.offset for level in bones},
        {region: joint_set(by_region[region]) for region in regions},
        {"Head": [vertex]} if "head" in regions else {},
    )


def cervical_shao_2003() -> Network:
    """Return the example of Shao & Ng-Thow-Hing (2003): the neck's controls go from -1 to 1.

    Flexion is linear over that range, so that the whole neck is bent back by 9.9 degrees at 0.
    Ranges of the other moves, axes and centres are ours: the paper does not publish them.
    """

    def curve(move: str, ends: tuple[float, float]) -> Curve:
        return Curve.linear((-1.0, ends[0]), (1.0, ends[1]), y_scale=DEGREE)

    return turning_network(levels(1.75)["cervical"], curve)


def joint_set(bones: Sequence[Vertebra], more: Mapping[str, Turns] | None = None) -> JointSet:
    """Return the joint set of some vertebrae, with controls in degrees.

    Each control ranges over the sum of the vertebrae's ranges. All bones reach their limits at the
    same control, and are at rest at 0. `more` are the rotations of further segments.
    """
    spans = {move: span(bones, move) for move in MOVES}

    def curve(move: str, ends: tuple[float, float]) -> Curve:
        low, high = spans[move]
        x, y = np.array([low, 0.0, high]), np.array([ends[0], 0.0, ends[1]])
        return Curve(x, y, y_scale=DEGREE)

    controls = {move: Control(*spans[move], 0.0, "degrees") for move in MOVES}
    return JointSet(turning_network(bones, curve, more), controls)


def span(bones: Sequence[Vertebra], move: str) -> tuple[float, float]:
    """Return the sum of these vertebrae's ranges for a move, in degrees."""
    low, high = np.sum([level.ranges[move] for level in bones], axis=0).round(9).tolist()
    return low, high


def turning_network(
    bones: Sequence[Vertebra],
    curve: Callable[[str, tuple[float, float]], Curve],
    more: Mapping[str, Turns] | None = None,
) -> Network:
    """Return the network: a mapping for each move, and three rotations for each bone.

    `curve` gives the curve from the control of a move to an angle, by its values at both ends.
    `more` are the rotations of segments that are no vertebrae; several may share one.
    """
    turns_by_segment: dict[str, Turns] = {bone.name: bone for bone in bones} | dict(more or {})
    turns_by_name = {turns.name: turns for turns in turns_by_segment.values()}
    wiring = Wiring()
    for move in MOVES:
        curves = {name: curve(move, turns.ranges[move]) for name, turns in turns_by_name.items()}
        wiring.add(move, OneToMany(curves), move)
    for name, turns in turns_by_name.items():
        for move in MOVES:
            bounds = np.radians(sorted(turns.ranges[move]))
            rotation = Rotation(turns.axes[move], bounds, turns.centers[move][None])
            wiring.add(f"{name}-{move}", rotation, f"{move}.{name}")
        wiring.multiply(name, *(f"{name}-{move}" for move in MOVES))
    outputs = {segment: turns.name for segment, turns in turns_by_segment.items()}
    return wiring.network(outputs, MOVES)


def _ranges(table: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the lowest and the highest angle of each level, degrees."""
    if "low" in table:
        return list(zip(table["low"], table["high"], strict=True))
    if "side" in table:
        return [(-side, side) for side in table["side"]]
    ahead, living = table.get("forward_share", 0.5), table.get("living", 1.0)
    return [(-(1.0 - ahead) * living * arc, ahead * living * arc) for arc in table["arc"]]


# The thorax: twelve vertebrae, their ribs and the sternum, one joint set.
#
# Rigid ribs on a bent spine would intersect on one side and spread on the other. So a rib undoes a
# share, below 1, of its vertebra's rotation against the middle of the cage. The source says
# a share of the rotation against the next vertebra, but then the ribs of an evenly bent spine would
# come as close to each other as rigid ones.


def thorax(height: float) -> Part:
    """Return the thorax: twelve vertebrae, their ribs and the sternum."""
    data, unit = load_tables("spine"), millimetres(height)
    bones = levels(height)["thoracic"]
    parents: dict[str, str | None] = {level.name: level.below for level in bones}
    offsets: dict[str, ArrayLike] = {level.name: level.offset for level in bones}
    ends: dict[str, list[Vectors]] = {}
    ribs = data["ribs"]
    for number, level in enumerate(reversed(bones), start=1):
        head = unit * np.array(ribs["head"])
        tips = [unit * np.array(ribs[where][number - 1]) for where in ("side", "front")]
        for side in SIDES:
            facing = (lambda point: point) if side == "Left" else mirror_point
            name = rib(number, side)
            parents[name], offsets[name] = level.name, facing(head)
            ends[name] = [facing(tip - level.position - head) for tip in tips]
    about = next(level for level in bones if level.name == ribs["about"])
    notch, tip = (unit * np.array(data["sternum"][where]) for where in ("notch", "tip"))
    parents["Sternum"], offsets["Sternum"] = about.name, notch - about.position
    ends["Sternum"] = [tip - notch]
    turns = _cage_turns(
        bones, about, ribs["share"], data["sternum"]["share"], about.position - notch
    )
    return Part(parents, offsets, {"thoracic": joint_set(bones, turns)}, ends)


def rib(number: int, side: str) -> str:
    """Return the name of a rib, from 1 to 12, of the side "Left" or "Right"."""
    return f"Rib{number}{side}"


def _cage_turns(
    bones: list[Vertebra],
    about: Vertebra,
    share: float,
    follows: Mapping[str, float],
    center: Vectors,
) -> dict[str, Turns]:
    """Return the rotations of ribs and sternum by segment.

    A rib undoes a share of its vertebra's rotation against `about`. The sternum follows the topmost
    vertebra by shares of each move, about `center` in its own frame.
    """
    middle = bones.index(about)

    def turns(name: str, level: int, shares: Mapping[str, float], center: Vectors) -> Turns:
        between = bones[min(middle, level) + 1 : max(middle, level) + 1]
        sign, ranges = 1.0 if level > middle else -1.0, {}
        for move in MOVES:
            low, high = span(between, move)
            ranges[move] = (sign * shares[move] * low, sign * shares[move] * high)
        return Turns(name, about.axes, dict.fromkeys(MOVES, center), ranges)

    turns_by_segment: dict[str, Turns] = {}
    for level in (level for level in range(len(bones)) if level != middle):
        number = len(bones) - level
        back = turns(f"rib{number}", level, dict.fromkeys(MOVES, -share), np.zeros(3))
        turns_by_segment |= {rib(number, side): back for side in SIDES}
    turns_by_segment["Sternum"] = turns("sternum", len(bones) - 1, follows, center)
    return turns_by_segment
