"""Parameters of the human: numbers that a person has of their own, and how far people differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats, Vectors
from ..components import Component, Figure, Network
from .part import SIDES

Places = Mapping[str, Floats]
Parts = Mapping[str, Component]

LENGTH_SPREAD = 0.15
"""Of its length: how far a bone is longer or shorter than the human's."""
ACROSS_SPREAD, GIRDLE_SPREAD = 0.015, 0.005
"""Metres by which a joint is elsewhere, across the bone before it; in the shoulder girdle."""
STRETCH_SPREAD = 0.15
AXIS_SPREAD = np.radians(8.0)
CURVE_SPREAD = 0.5
"""Of its values: how far a curve is steeper or flatter."""

JOINTS = ("UpperLeg", "LowerLeg", "Foot", "Toes", "Clavicle", "UpperArm", "LowerArm", "Hand")
"""Segments whose joint's centre, in the segment before, is a parameter."""
GIRDLE = ("Clavicle", "UpperArm")
AXES = {
    "elbow": ("flexion-turn", "pronation-turn"),
    "knee": ("flexion",),
    "toes": ("flexion-turn",),
}
"""The hinges, by joint set, whose axes are parameters."""
CURVES = {"knee": ("tibia-rotation", "tibia-adduction")}
REGIONS = {"lumbar": "L", "thoracic": "T", "cervical": "C"}
"""Joint sets of the spine, which are as a whole longer or shorter, and how their bones begin."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """Numbers (n,) of a figure, where they start, and how far (n,) people differ from that."""

    name: str
    start: Floats
    spread: Floats
    joint_set: str
    """Which joint set it changes; none where it is empty."""
    segments: tuple[str, ...]
    """Whose offsets it changes."""

    def offsets(self, offsets: Places, numbers: Floats) -> Places:
        """Return the offsets of segments that these numbers change, in metres, by name."""
        return {}

    def components(self, parts: Parts, numbers: Floats) -> Parts:
        """Return the components of its joint set that these numbers change, by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Center(Parameter):
    """Where the frame of a segment, its joint's centre, is in that of its parent; metres."""

    @property
    def segment(self) -> str:
        """The one that it is about."""
        return self.segments[0]

    def offsets(self, offsets: Places, numbers: Floats) -> Places:
        return {self.segment: numbers}


@dataclass(frozen=True, eq=False)
class Stretch(Parameter):
    """By which factor a region of the spine, its centres of rotation with it, is longer."""

    def offsets(self, offsets: Places, numbers: Floats) -> Places:
        return {name: numbers[0] * offsets[name] for name in self.segments}

    def components(self, parts: Parts, numbers: Floats) -> Parts:
        return {
            name: part.with_parameters({"centers": numbers[0] * part.centers})
            for name, part in parts.items()
            if hasattr(part, "centers")
        }


@dataclass(frozen=True, eq=False)
class Clavicle(Parameter):
    """By which factor a clavicle is longer: the scapula, and where its joint is, go with it."""

    def offsets(self, offsets: Places, numbers: Floats) -> Places:
        return {name: numbers[0] * offsets[name] for name in self.segments}

    def components(self, parts: Parts, numbers: Floats) -> Parts:
        part = parts["acromion"]
        longer = numbers[0] * part.parameters()["offset"]
        return {"acromion": part.with_parameters({"offset": longer})}


@dataclass(frozen=True, eq=False)
class Numbers(Parameter):
    """A parameter of a component, "component.field", or with `factor` by what it is multiplied."""

    path: str
    factor: bool = False

    def components(self, parts: Parts, numbers: Floats) -> Parts:
        name, _, field = self.path.partition(".")
        before = parts[name].parameters()[field]
        after = numbers[0] * before if self.factor else numbers.reshape(before.shape)
        return {name: parts[name].with_parameters({field: after})}


Changes = Sequence[tuple[Parameter, Floats]]
"""Parameters, each with its numbers."""


def change_figure(figure: Figure, changes: Changes) -> Figure:
    """Return the figure with these numbers for its parameters; others stay as they are."""
    offsets = change_offsets(figure, changes)
    joint_sets = dict(figure.joint_sets)
    for name in {each.joint_set for each, _ in changes} - {""}:
        joint_sets[name] = replace(joint_sets[name], network=change_network(figure, name, changes))
    skeleton = replace(figure.skeleton, offsets=np.array(list(offsets.values())))
    return replace(figure, skeleton=skeleton, joint_sets=joint_sets)


def change_offsets(figure: Figure, changes: Changes) -> Places:
    """Return all offsets of segments with these numbers for the figure's parameters, by name."""
    offsets: dict[str, Floats] = dict(
        zip(figure.skeleton.names, figure.skeleton.offsets, strict=True)
    )
    for each, numbers in changes:
        offsets |= each.offsets(offsets, numbers)
    return offsets


def change_network(figure: Figure, joint_set: str, changes: Changes) -> Network:
    """Return the network of a joint set with these numbers for the figure's parameters."""
    network = figure.joint_sets[joint_set].network
    parts = dict(network.components)
    for each, numbers in changes:
        if each.joint_set == joint_set:
            parts |= each.components(parts, numbers)
    return network.with_components(parts)


def human_parameters(figure: Figure) -> list[Parameter]:
    """Return the parameters of a human, or of what was fitted before: joints, axes and curves."""
    skeleton, found = figure.skeleton, list[Parameter]()
    for side in SIDES:
        for joint in JOINTS:
            place = skeleton.offsets[skeleton.index(side + joint)]
            least = GIRDLE_SPREAD if joint in GIRDLE else ACROSS_SPREAD
            spreads = _center_spread(place, least)
            found.append(Center(side + joint, place, spreads, "", (side + joint,)))
        one, spread = np.ones(1), np.full(1, STRETCH_SPREAD)
        shoulder = f"{side.lower()}_shoulder"
        found.append(Clavicle(f"{side}Clavicle length", one, spread, shoulder, (f"{side}Scapula",)))
        for joint, parts in AXES.items():
            name = f"{side.lower()}_{joint}"
            for part in parts:
                axis = figure.joint_sets[name].network.components[part].parameters()["axis"]
                spreads, path = np.full(3, AXIS_SPREAD), f"{part}.axis"
                found.append(Numbers(f"{name}.{path}", axis, spreads, name, (), path))
        for joint, curves in CURVES.items():
            name, spread = f"{side.lower()}_{joint}", np.full(1, CURVE_SPREAD)
            for curve in curves:
                path = f"map.{curve}"
                found.append(Numbers(f"{name}.{path}", one, spread, name, (), path, factor=True))
    for region, letter in REGIONS.items():
        numbers = [n for n in skeleton.names if n[0] == letter and n[1:].isdigit()]
        also = {"thoracic": ["Sternum"], "cervical": ["Head"]}.get(region, [])
        segments = tuple(n for n in skeleton.names if n in (*numbers, *also))
        spread = np.full(1, STRETCH_SPREAD)
        found.append(Stretch(f"{region} length", np.ones(1), spread, region, segments))
    return found


def _center_spread(place: Vectors, least: float) -> Floats:
    """Return how far (3,) a centre is off: along the axis that it is farthest along, the most."""
    along = np.abs(place) / max(float(np.linalg.norm(place)), 1e-9)
    return np.maximum(least, LENGTH_SPREAD * np.linalg.norm(place) * along)
