"""OpenSim: bodies as joints of a skeleton, with the ranges of their joints' coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .files import read_file
from .ranges import RangesBuilder, RangesFile, group_by
from .xml import Element, parse_xml

MAX_DEPTH = 64  # of XML elements
_AXES = {
    "PinJoint": ((0.0, 0.0, 1.0),),
    "UniversalJoint": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "BallJoint": (),
    "GimbalJoint": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}
"""Axes of joints of a fixed kind, in the parent's frame, from the outermost."""


@dataclass
class _OpenSimJoint:
    """A joint between two bodies.

    `position` (3,) and `before` (4,) are those of its frame in the parent, `after` (4,) the
    rotation of its frame in the child. `axes` are pairs of a coordinate's name and an axis (3,).
    """

    element: Element
    parent: str
    child: str
    position: Vectors
    before: Quats
    after: Quats
    axes: list[tuple[str, Vectors]] = field(default_factory=list)


def read_opensim_ranges(path: Path) -> RangesFile:
    """Return the bodies of an OpenSim model as joints, and the ranges of its coordinates.

    Hinges are the coordinates that are the angle about one axis. A coordinate that is not clamped
    has no range. Files of version 4 are read.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "OpenSimDocument":
        root.fail(f"expected <OpenSimDocument>, got <{root.tag}>")
    joints = [
        _read_joint(element)
        for tag in ("CustomJoint", "WeldJoint", "FreeJoint", *_AXES)
        for element in _below(root, tag)
    ]
    if not joints:
        root.fail("expected joints of version 4 of the format, got none")
    coordinates = {
        element.attributes.get("name", ""): element for element in _below(root, "Coordinate")
    }
    by_parent = group_by(joints, lambda joint: joint.parent)
    builder = RangesBuilder()
    stack = [(-1, joint) for joint in reversed(by_parent.get("ground", []))]
    while stack:
        parent, joint = stack.pop()
        if joint.child in builder.names:
            joint.element.fail(f"expected a tree of bodies, got {joint.child!r:.40} twice")
        frame = quat.mul(builder.rest_rotation(parent), joint.before)
        rotation = quat.mul(joint.before, quat.inverse(joint.after))
        index = builder.add_joint(joint.child, parent, joint.position, rotation)
        for name, axis in joint.axes:
            low, high, line = _range(coordinates.get(name))
            with joint.element.locate_errors():
                builder.add_hinge(name, axis, frame, low, high, line or joint.element.line)
        stack += [(index, below) for below in reversed(by_parent.get(joint.child, []))]
    with root.locate_errors():
        skeleton = builder.skeleton("y")
    return RangesFile(path, skeleton, tuple(builder.hinges))


def _range(coordinate: Element | None) -> tuple[float, float, int]:
    """Return the range of a coordinate in radians, and its line; infinite and 0 without one."""
    parts = {child.tag: child for child in coordinate.children} if coordinate else {}
    if "range" not in parts or "clamped" not in parts:
        return -np.inf, np.inf, 0
    if parts["clamped"].text.strip().lower() != "true":
        return -np.inf, np.inf, 0
    low, high = parts["range"].numbers(parts["range"].text, (2,)).tolist()
    return low, high, parts["range"].line


def _read_joint(element: Element) -> _OpenSimJoint:
    parts = {child.tag: child for child in element.children}
    frames = {
        frame.attributes.get("name", ""): frame for frame in _below(element, "PhysicalOffsetFrame")
    }
    parent, position, before = _end(element, parts, frames, "parent")
    child, _, after = _end(element, parts, frames, "child")
    names = [coordinate.attributes.get("name", "") for coordinate in _below(element, "Coordinate")]
    fixed = zip(names, _AXES.get(element.tag, ()), strict=False)
    axes = [(name, np.array(axis)) for name, axis in fixed]
    for transform in _below(element, "TransformAxis"):
        if transform.attributes.get("name", "").startswith("rotation"):
            inner = {child.tag: child for child in transform.children}
            words = inner["coordinates"].text.split() if "coordinates" in inner else []
            sign = _sign(transform)
            if len(words) == 1 and "axis" in inner and sign:
                axis = inner["axis"].numbers(inner["axis"].text, (3,))
                axes.append((words[0], sign * axis))
    return _OpenSimJoint(element, parent, child, position, before, after, axes)


def _sign(axis: Element) -> float:
    """Return 1 or -1 if the angle about an axis is its coordinate or the opposite, else 0."""
    for element in _below(axis, "coefficients"):
        values: Floats = element.numbers(element.text)
        is_plain = len(values) == 2 and abs(values[0]) == 1.0 and values[1] == 0.0
        return float(values[0]) if is_plain else 0.0
    return 0.0 if _below(axis, "SimmSpline") else 1.0


def _end(
    joint: Element, parts: dict[str, Element], frames: dict[str, Element], side: str
) -> tuple[str, Vectors, Quats]:
    """Return the body at one end of a joint, and the position and rotation of the joint in it."""
    key = f"socket_{side}_frame"
    if key not in parts:
        joint.fail(f"<{joint.tag}> must have <{key}>, got none")
    name = parts[key].text.strip().rsplit("/", 1)[-1]
    if name not in frames:
        return name, np.zeros(3), quat.IDENTITY
    inner = {child.tag: child for child in frames[name].children}
    body = inner["socket_parent"].text.strip().rsplit("/", 1)[-1]
    position, angles = (
        inner[tag].numbers(inner[tag].text, (3,)) if tag in inner else np.zeros(3)
        for tag in ("translation", "orientation")
    )
    return body, position, quat.from_euler(angles, "XYZ")


def _below(element: Element, tag: str) -> list[Element]:
    """Return the elements with a tag below an element, in order of depth."""
    matches = [child for child in element.children if child.tag == tag]
    for child in element.children:
        matches += _below(child, tag)
    return matches
