"""Parameters of the human that differ between people, with their standard deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats, Vectors
from ..components import Figure, Network
from .part import SIDES

LENGTH_SPREAD = 0.15
"""Standard deviation of a bone's length, as a share of it."""
ACROSS_SPREAD, GIRDLE_SPREAD = 0.015, 0.005
"""Least standard deviations of a joint's coordinates in metres; the second in the girdle."""
STRETCH_SPREAD = 0.15  # standard deviation of factors of a clavicle's or spine's length
AXIS_SPREAD = np.radians(8.0)  # standard deviation of the direction of a hinge's axis
CURVE_SPREAD = 0.5
"""Standard deviation of the factor of a curve's values."""

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
    """Numbers (n,) of a figure: their start values and their standard deviations between people.

    They replace the offsets of `segments`, in metres, and the `fields` ("component.field") of
    components in the network of `joint_set`. With `is_factor`, the one number multiplies them.
    """

    name: str
    start: Floats
    spread: Floats
    segments: tuple[str, ...] = ()
    joint_set: str = ""
    fields: tuple[str, ...] = ()
    is_factor: bool = False

    @property
    def is_center(self) -> bool:
        """True for the centre of a joint: the offset of one segment."""
        return bool(self.segments) and not self.is_factor

    def change(self, before: Floats, numbers: Floats) -> Floats:
        """Return the new value of an offset or a field, from the value `before` and the numbers."""
        return numbers[0] * before if self.is_factor else numbers.reshape(before.shape)


Changes = Sequence[tuple[Parameter, Floats]]
"""Parameters, each with its numbers."""


def change_figure(figure: Figure, changes: Changes) -> Figure:
    """Return the figure with these numbers for its parameters; others stay as they are."""
    joint_sets = dict(figure.joint_sets)
    for name in {parameter.joint_set for parameter, _ in changes} - {""}:
        joint_sets[name] = replace(joint_sets[name], network=change_network(figure, name, changes))
    skeleton = replace(figure.skeleton, offsets=change_offsets(figure, changes))
    return replace(figure, skeleton=skeleton, joint_sets=joint_sets)


def change_offsets(figure: Figure, changes: Changes) -> Floats:
    """Return the offsets (J, 3) of all segments with these numbers for the figure's parameters."""
    offsets = figure.skeleton.offsets.copy()
    for parameter, numbers in changes:
        for segment in parameter.segments:
            joint = figure.skeleton.index(segment)
            offsets[joint] = parameter.change(offsets[joint], numbers)
    return offsets


def change_network(figure: Figure, joint_set: str, changes: Changes) -> Network:
    """Return the network of a joint set with these numbers for the figure's parameters."""
    network = figure.joint_sets[joint_set].network
    return network.with_parameters(
        {
            name: parameter.change(network.parameter(name), numbers)
            for parameter, numbers in changes
            if parameter.joint_set == joint_set
            for name in parameter.fields
        }
    )


def human_parameters(figure: Figure) -> list[Parameter]:
    """Return the parameters of a human figure: joint centres, hinge axes, curves and lengths.

    They start at the figure's own values, so a fitted figure can be fitted again.
    """
    skeleton, parameters = figure.skeleton, list[Parameter]()
    components = {
        name: joint_set.network.components for name, joint_set in figure.joint_sets.items()
    }
    one = np.ones(1)
    for side in SIDES:
        for joint in JOINTS:
            offset = skeleton.offsets[skeleton.index(side + joint)]
            least = GIRDLE_SPREAD if joint in GIRDLE else ACROSS_SPREAD
            parameters.append(
                Parameter(side + joint, offset, _center_spread(offset, least), (side + joint,))
            )
        # The scapula, and where its joint is, go with the length of the clavicle.
        name, shoulder = f"{side}Clavicle length", f"{side.lower()}_shoulder"
        scapula, fields = (f"{side}Scapula",), ("acromion.offset",)
        parameters.append(
            Parameter(name, one, STRETCH_SPREAD * one, scapula, shoulder, fields, is_factor=True)
        )
        for joint, parts in AXES.items():
            joint_set = f"{side.lower()}_{joint}"
            for part in parts:
                axis, path = components[joint_set][part].parameters()["axis"], f"{part}.axis"
                spread = np.full(3, AXIS_SPREAD)
                parameters.append(
                    Parameter(f"{joint_set}.{path}", axis, spread, (), joint_set, (path,))
                )
        for joint, curves in CURVES.items():
            joint_set, spread = f"{side.lower()}_{joint}", CURVE_SPREAD * one
            for path in (f"map.{curve}" for curve in curves):
                name = f"{joint_set}.{path}"
                parameters.append(
                    Parameter(name, one, spread, (), joint_set, (path,), is_factor=True)
                )
    for region, letter in REGIONS.items():
        bones = [n for n in skeleton.names if n[0] == letter and n[1:].isdigit()]
        ends = {"thoracic": ["Sternum"], "cervical": ["Head"]}.get(region, [])
        segments = tuple(n for n in skeleton.names if n in (*bones, *ends))
        centers = tuple(
            f"{name}.centers"
            for name, part in components[region].items()
            if "centers" in part.parameters()
        )
        name, spread = f"{region} length", STRETCH_SPREAD * one
        parameters.append(Parameter(name, one, spread, segments, region, centers, is_factor=True))
    return parameters


def _center_spread(offset: Vectors, least: float) -> Floats:
    """Return the standard deviations (3,) of a joint's centre, in metres; along the bone the most.

    Each coordinate differs by `LENGTH_SPREAD` of itself, and by `least` metres at least.
    """
    return np.maximum(least, LENGTH_SPREAD * np.abs(offset))
