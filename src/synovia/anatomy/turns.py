"""What simple joints are made of: controls in degrees, hinges, and balls in a reach cone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Floats, Vectors
from ..charts import DirectionTwist
from ..components import (
    DEGREE,
    Component,
    Control,
    Curve,
    JointCone,
    JointSet,
    Network,
    OneToMany,
    Product,
    Rotation,
)
from ..shapes import ReachCone

VERTICES = 24
"""Of a reach cone made of ellipses; a multiple of four, so that the ends of ranges are vertices."""


def in_radians(low: float, high: float) -> OneToMany:
    """Return the mapping from a control in degrees to its `angle`, within a range in degrees."""
    return OneToMany({"angle": Curve.linear((low, low), (high, high), y_scale=DEGREE)})


def degrees(low: float, high: float) -> Control:
    """Return a control in degrees, neutral at 0."""
    return Control(low, high, 0.0, "degrees")


def hinges(moves: Mapping[str, tuple[str, Mapping[str, Any]]]) -> JointSet:
    """Return a set of hinges: to each control the segment that it turns, its axis and range."""
    parts: dict[str, Component] = {}
    wires, outputs, controls = {}, {}, {}
    for move, (segment, data) in moves.items():
        parts[move] = in_radians(*data["range"])
        parts[f"{move}-turn"] = Rotation(data["axis"], np.radians(data["range"]))
        wires[f"{move}.value"] = move
        wires[f"{move}-turn.angle"] = f"{move}.angle"
        outputs[segment] = f"{move}-turn.matrix"
        controls[move] = degrees(*data["range"])
    return JointSet(Network(parts, wires, outputs), controls)


def ball(segment: str, data: Mapping[str, Any], moves: tuple[str, str]) -> JointSet:
    """Return a left ball joint from its table: two turns and a twist, kept in its reach cone.

    A joint whose table has a range `coupled` instead of `twist` has no control for it.
    """
    first, second = moves
    parts: dict[str, Component] = {"turns": Product(moves)}
    wires = {"cone.matrix": "turns.matrix"}
    for move in moves:
        parts[move] = in_radians(*data[move]["range"])
        parts[f"{move}-turn"] = Rotation(data[move]["axis"], np.radians(data[move]["range"]))
        wires[f"{move}.value"] = move
        wires[f"{move}-turn.angle"] = f"{move}.angle"
        wires[f"turns.{move}"] = f"{move}-turn.matrix"
    controls = {move: degrees(*data[move]["range"]) for move in moves}
    if "twist" in data:
        parts["twist"] = in_radians(*data["twist"]["range"])
        wires |= {"twist.value": "twist", "cone.twist": "twist.angle"}
        controls["twist"] = degrees(*data["twist"]["range"])
    parts["cone"] = JointCone(
        ball_cone(data, moves),
        data["rest"],
        axes=np.array([data[first]["axis"], data[second]["axis"]]),
        sense=-1.0,  # outwards is positive: on the left, against the turn about the bone
    )
    return JointSet(Network(parts, wires, {segment: "cone.matrix"}, tuple(controls)), controls)


def ball_cone(data: Mapping[str, Any], moves: tuple[str, str]) -> ReachCone:
    """Return the reach cone of a left ball joint's table: quarters of ellipses about the rest."""
    first, second = (np.radians(data[move]["range"]) for move in moves)
    around = 2.0 * np.pi * np.arange(VERTICES) / VERTICES
    across, along = np.cos(around), np.sin(around)
    corners = np.stack(
        [
            np.abs(first)[(across > 0.0).astype(int)] * across,
            np.abs(second)[(along > 0.0).astype(int)] * along,
        ],
        axis=1,
    )
    outwards = np.radians(data["twist" if "twist" in data else "coupled"]["range"])
    axes = [data[move]["axis"] for move in moves]
    return cone_through(corners, axes, data["rest"], -outwards[::-1])


def cone_through(
    corners: Floats, axes: Sequence[ArrayLike], rest: ArrayLike, twist: ArrayLike
) -> ReachCone:
    """Return the cone whose corners (n, 2) are angles about two axes, the first outermost.

    `twist` is its lowest and highest value, alike for all or (n, 2), added to the twist that the
    two turns bring with them. All angles are in radians, and the rest is the visible point.
    """
    bone = np.asarray(rest, dtype=float)
    first, second = (np.asarray(axis, dtype=float) for axis in axes)
    a, b = (_turn(axis, angles) for axis, angles in zip((first, second), corners.T, strict=True))
    points = DirectionTwist(axis=bone).points(quat.mul(a, b))
    directions, carried = points[:, :3], points[:, 3:]
    limits = carried + np.broadcast_to(np.asarray(twist, dtype=float), (len(points), 2))
    ahead = np.roll(directions, -1, axis=0)
    if np.sum(np.cross(directions, ahead) @ bone) < 0.0:  # clockwise: the other way round
        directions, limits = directions[::-1], limits[::-1]
    middle = np.asarray(twist, dtype=float).reshape(-1, 2).mean(axis=0)
    return ReachCone(
        directions, limits[:, 0], limits[:, 1], bone, float(middle[0]), float(middle[1])
    )


def _turn(axis: Vectors, angles: Floats) -> Floats:
    return quat.exp(angles[:, None] * axis / np.linalg.norm(axis))
