"""Parts of a figure: numbers from the data files, simple joints, and how parts are joined."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Vectors
from ..charts import DirectionTwist
from ..components import (
    DEGREE,
    Component,
    Control,
    Curve,
    Figure,
    JointCone,
    JointSet,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
)
from ..shapes import ReachCone
from ..skeleton import Skeleton, other_side

REFERENCE_HEIGHT = 1.75
"""Metres: lengths in millimetres in the data files are those of a person so tall."""


@cache
def load_tables(name: str) -> dict[str, Any]:
    """Return the tables of the data file `name`.toml; not to be changed."""
    text = Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def millimetres(height: float) -> float:
    """Return the metres in a millimetre of the data files, for a person of this height."""
    return 1e-3 * height / REFERENCE_HEIGHT


SIDES = ("Left", "Right")
MIRROR_NORMAL = np.array([1.0, 0.0, 0.0])
"""To the person's left: the normal of the plane between the sides."""


@dataclass(frozen=True, eq=False)
class Part:
    """Segments of a figure, by name, and the joint sets that move them.

    `parents` name each segment's parent, of this or another part, or None for a root. `offsets`
    are where a segment's frame is in its parent's at rest, `ends` the tips of its bone in its own
    frame; both in metres.
    """

    parents: Mapping[str, str | None]
    offsets: Mapping[str, ArrayLike]
    joint_sets: Mapping[str, JointSet]
    ends: Mapping[str, Sequence[ArrayLike]] = field(default_factory=dict)

    def mirror(self) -> Part:
        """Return the part of the other side: Left and Right, left and right change places."""
        joint_sets = {}
        for name, joint_set in self.joint_sets.items():
            names = {segment: other_side(segment) for segment in joint_set.network.outputs}
            network = joint_set.network.mirror(MIRROR_NORMAL, names)
            joint_sets[other_side(name)] = JointSet(network, joint_set.controls)
        return Part(
            {
                other_side(name): None if parent is None else other_side(parent)
                for name, parent in self.parents.items()
            },
            {other_side(name): mirror_point(offset) for name, offset in self.offsets.items()},
            joint_sets,
            {
                other_side(name): [mirror_point(end) for end in self.ends[name]]
                for name in self.ends
            },
        )


def join(*parts: Part, name: str = "") -> Figure:
    """Return the figure of all parts; each segment is followed by its descendants.

    Lengths of parts are metres, and y is up.
    """
    parents = {name: parent for part in parts for name, parent in part.parents.items()}
    offsets = {name: offset for part in parts for name, offset in part.offsets.items()}
    joint_sets = {name: joint_set for part in parts for name, joint_set in part.joint_sets.items()}

    def descendants(above: str | None) -> Iterator[str]:
        for segment in (segment for segment in parents if parents[segment] == above):
            yield segment
            yield from descendants(segment)

    names = tuple(descendants(None))
    ends = [(owner, end) for part in parts for owner in part.ends for end in part.ends[owner]]
    index = {segment: k for k, segment in enumerate(names)}
    skeleton = Skeleton(
        names,
        np.array([index.get(parents[name] or "", -1) for name in names]),
        np.array([np.asarray(offsets[name], dtype=float) for name in names]),
        end_parents=np.array([index[owner] for owner, _ in ends], np.int64),
        end_offsets=np.array([np.asarray(end, dtype=float) for _, end in ends]).reshape(-1, 3),
        up="y",
        unit=1.0,
    )
    return Figure(skeleton, joint_sets, name)


def mirror_point(point: ArrayLike) -> Vectors:
    """Return a point or a direction (..., 3) of the other side."""
    return np.asarray(np.asarray(point, dtype=float) * (1.0 - 2.0 * MIRROR_NORMAL))


class Wiring:
    """Components of a network under construction, and the wires between them."""

    def __init__(self) -> None:
        self.components: dict[str, Component] = {}
        self.wires: dict[str, str] = {}

    def add(self, name: str, component: Component, *sources: str) -> None:
        """Add a component with the sources of its first inputs: outputs or controls."""
        self.components[name] = component
        ports = zip(component.inputs, sources, strict=False)
        self.wires |= {f"{name}.{port}": source for port, source in ports}

    def multiply(self, name: str, *factors: str) -> None:
        """Add the product of the matrices that these components give, in that order."""
        self.add(name, MatrixProduct(factors), *(f"{factor}.matrix" for factor in factors))

    def add_hinge(self, move: str, data: Mapping[str, Any]) -> None:
        """Add the rotation "`move`-turn" by a control in degrees, about its axis."""
        self.add(move, degrees_to_radians(*data["range"]), move)
        rotation = Rotation(data["axis"], np.radians(data["range"]))
        self.add(f"{move}-turn", rotation, f"{move}.angle")

    def network(self, outputs: Mapping[str, str], controls: Sequence[str] = ()) -> Network:
        """Return the network; `outputs` are segments, each with the component of its matrix."""
        sources = {segment: f"{name}.matrix" for segment, name in outputs.items()}
        return Network(self.components, self.wires, sources, tuple(controls))


VERTICES = 24
"""Of a reach cone made of ellipses; a multiple of four, so that the ends of ranges are vertices."""


def degrees_to_radians(low: float, high: float) -> OneToMany:
    """Return the mapping from a control in degrees to its `angle`, within a range in degrees."""
    return OneToMany({"angle": Curve.linear((low, low), (high, high), y_scale=DEGREE)})


def degree_control(low: float, high: float) -> Control:
    """Return a control in degrees, neutral at 0."""
    return Control(low, high, 0.0, "degrees")


def hinges(moves: Mapping[str, tuple[str, Mapping[str, Any]]]) -> JointSet:
    """Return a joint set of hinges.

    `moves` has for each control the segment that it rotates, and a table of axis and range.
    """
    wiring = Wiring()
    for move, (_, data) in moves.items():
        wiring.add_hinge(move, data)
    network = wiring.network({segment: f"{move}-turn" for move, (segment, _) in moves.items()})
    return JointSet(
        network, {move: degree_control(*data["range"]) for move, (_, data) in moves.items()}
    )


def ball(segment: str, data: Mapping[str, Any], moves: tuple[str, str]) -> JointSet:
    """Return a left ball joint from its table: two rotations and a twist, kept in its reach cone.

    A joint whose table has a range `coupled` instead of `twist` has no control of its twist.
    """
    wiring = Wiring()
    for move in moves:
        wiring.add_hinge(move, data[move])
    wiring.multiply("turns", *(f"{move}-turn" for move in moves))
    axes = np.array([data[move]["axis"] for move in moves])
    # Outwards is positive: on the left, against the rotation about the bone.
    cone = JointCone(ball_cone(data, moves), data["rest"], axes=axes, sense=-1.0)
    controls: tuple[str, ...] = moves
    if "twist" in data:
        wiring.add("twist", degrees_to_radians(*data["twist"]["range"]), "twist")
        controls = (*moves, "twist")
    wiring.add("cone", cone, "turns.matrix", *(["twist.angle"] if "twist" in data else []))
    network = wiring.network({segment: "cone"}, controls)
    return JointSet(network, {name: degree_control(*data[name]["range"]) for name in controls})


def ball_cone(data: Mapping[str, Any], moves: tuple[str, str]) -> ReachCone:
    """Return the reach cone of a left ball joint's table: quarters of ellipses about the rest.

    Its corners are angles about the axes of both moves, the first outermost. The range of the twist
    is added to the twist that these two rotations bring with them. The rest is the visible point.
    """
    around = 2.0 * np.pi * np.arange(VERTICES) / VERTICES
    bone, rotations = np.asarray(data["rest"], dtype=float), []
    for move, along in zip(moves, (np.cos(around), np.sin(around)), strict=True):
        axis = np.asarray(data[move]["axis"], dtype=float)
        ends = np.abs(np.radians(data[move]["range"]))
        angles = ends[(along > 0.0).astype(int)] * along
        rotations.append(quat.exp(angles[:, None] * axis / np.linalg.norm(axis)))
    points = DirectionTwist(axis=bone).points(quat.mul(*rotations))
    directions, carried = points[:, :3], points[:, 3:]
    twist = -np.radians(data["twist" if "twist" in data else "coupled"]["range"])[::-1]
    limits = carried + twist
    ahead = np.roll(directions, -1, axis=0)
    if np.sum(np.cross(directions, ahead) @ bone) < 0.0:  # clockwise: the other way round
        directions, limits = directions[::-1], limits[::-1]
    return ReachCone(directions, limits[:, 0], limits[:, 1], bone, *twist.tolist())
