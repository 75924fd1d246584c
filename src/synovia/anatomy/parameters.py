"""Parameters of the human: numbers that a person has of their own, and how far people differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats, Vectors
from ..components import Component, Figure
from ..components.fit import change_parameters
from .part import SIDES

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

    def change(self, figure: Figure, numbers: Floats) -> Figure:
        """Return the figure with these numbers."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Center(Parameter):
    """Where the frame of a segment, its joint's centre, is in that of its parent; metres."""

    @property
    def segment(self) -> str:
        """The one that it is about."""
        return self.segments[0]

    def change(self, figure: Figure, numbers: Floats) -> Figure:
        """Return the figure with the segment there."""
        return _with_offsets(figure, {self.segment: numbers})


@dataclass(frozen=True, eq=False)
class Stretch(Parameter):
    """By which factor a region of the spine, its centres of rotation with it, is longer."""

    def change(self, figure: Figure, numbers: Floats) -> Figure:
        """Return the figure with the region as long."""
        factor, skeleton = float(numbers[0]), figure.skeleton
        network = figure.joint_sets[self.joint_set].network
        moved = _with_offsets(
            figure,
            {name: factor * skeleton.offsets[skeleton.index(name)] for name in self.segments},
        )
        centers: dict[str, dict[str, Any]] = {
            name: {"centers": factor * part.centers}
            for name, part in network.components.items()
            if hasattr(part, "centers")
        }
        parts = {name: replace(network.components[name], **new) for name, new in centers.items()}
        return _with_components(moved, self.joint_set, parts)


@dataclass(frozen=True, eq=False)
class Clavicle(Parameter):
    """By which factor a clavicle is longer: the scapula, and where its joint is, go with it."""

    def change(self, figure: Figure, numbers: Floats) -> Figure:
        """Return the figure with the clavicle as long."""
        (segment,), name = self.segments, self.joint_set
        place = numbers[0] * figure.skeleton.offsets[figure.skeleton.index(segment)]
        part = figure.joint_sets[name].network.components["acromion"]
        scaled = part.with_parameters({"offset": numbers[0] * part.parameters()["offset"]})
        return _with_components(_with_offsets(figure, {segment: place}), name, {"acromion": scaled})


@dataclass(frozen=True, eq=False)
class Numbers(Parameter):
    """A parameter of a component, "component.field", or with `factor` by what it is multiplied."""

    path: str
    factor: bool = False

    def change(self, figure: Figure, numbers: Floats) -> Figure:
        """Return the figure with these numbers."""
        network = figure.joint_sets[self.joint_set].network
        if self.factor:
            name, _, part = self.path.partition(".")
            numbers = numbers[0] * network.components[name].parameters()[part].ravel()
        changed = change_parameters(network, [self.path], numbers)
        return _with_components(figure, self.joint_set, changed.components)


def _with_offsets(figure: Figure, places: Mapping[str, Floats]) -> Figure:
    offsets = figure.skeleton.offsets.copy()
    for name, place in places.items():
        offsets[figure.skeleton.index(name)] = place
    return replace(figure, skeleton=replace(figure.skeleton, offsets=offsets))


def _with_components(figure: Figure, name: str, parts: Mapping[str, Component]) -> Figure:
    joint_set = figure.joint_sets[name]
    network = joint_set.network.with_components(parts)
    return replace(
        figure, joint_sets={**figure.joint_sets, name: replace(joint_set, network=network)}
    )


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
