"""OpenSim: bodies as joints of a skeleton, with the ranges of their joints' coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .files import read_file
from .ranges import HingeRange, RangesFile, skeleton_at_rest
from .xml import Element, parse_xml

MAX_DEPTH = 64
_AXES = {
    "PinJoint": ((0.0, 0.0, 1.0),),
    "UniversalJoint": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "BallJoint": (),
    "GimbalJoint": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}
"""What joints of a fixed kind turn about, in the parent's frame, the outermost first."""


@dataclass
class _Joint:
    element: Element
    parent: str
    child: str
    place: Vectors
    before: Quats
    after: Quats
    axes: list[tuple[str, Vectors]] = field(default_factory=list)


def read_opensim_ranges(path: Path) -> RangesFile:
    """Return the bodies of an OpenSim model as joints, and the ranges of coordinates that turn.

    Only coordinates that turn about one axis, one to one, are hinges; a coordinate that is not
    clamped has no range. Files of version 4 are read.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "OpenSimDocument":
        root.fail(f"expected <OpenSimDocument>, got <{root.tag}>")
    found = [
        _read_joint(each) for tag in ("CustomJoint", "WeldJoint", "FreeJoint", *_AXES)
        for each in _below(root, tag)
    ]  # fmt: skip
    if not found:
        root.fail("expected joints of version 4 of the format, got none")
    coordinates = {each.attributes.get("name", ""): each for each in _below(root, "Coordinate")}
    by_parent: dict[str, list[_Joint]] = {}
    for joint in found:
        by_parent.setdefault(joint.parent, []).append(joint)
    names: list[str] = []
    parents: list[int] = []
    offsets: list[Vectors] = []
    rest: list[Quats] = []
    hinges: list[HingeRange] = []
    stack = [(-1, each) for each in reversed(by_parent.get("ground", []))]
    while stack:
        parent, joint = stack.pop()
        around = quat.IDENTITY if parent < 0 else rest[parent]
        frame = quat.mul(around, joint.before)
        number = len(names)
        if joint.child in names:
            joint.element.fail(f"expected a tree of bodies, got {joint.child!r:.40} twice")
        names.append(joint.child)
        parents.append(parent)
        offsets.append(quat.rotate(around, joint.place))
        rest.append(quat.mul(frame, quat.inverse(joint.after)))
        for coordinate, axis in joint.axes:
            hinges.append(_hinge(joint, coordinates.get(coordinate), coordinate, axis, frame))
        stack += [(number, each) for each in reversed(by_parent.get(joint.child, []))]
    with root.locate_errors():
        skeleton = skeleton_at_rest(names, parents, offsets, rest, "y")
    return RangesFile(path, skeleton, tuple(hinges))


def _hinge(
    joint: _Joint, element: Element | None, name: str, axis: Vectors, frame: Quats
) -> HingeRange:
    low, high, line = -np.inf, np.inf, joint.element.line
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        joint.element.fail(f"expected an axis of {name!r:.40} that points somewhere, got zero")
    if element is not None:
        parts = {each.tag: each for each in element.children}
        clamped = parts["clamped"].text.strip().lower() == "true" if "clamped" in parts else False
        if clamped and "range" in parts:
            line = parts["range"].line
            low, high = parts["range"].numbers(parts["range"].text, (2,)).tolist()
    return HingeRange(name, joint.child, quat.rotate(frame, axis / length), low, high, length, line)


def _read_joint(element: Element) -> _Joint:
    parts = {each.tag: each for each in element.children}
    frames = {
        each.attributes.get("name", ""): each
        for each in _below(element, "PhysicalOffsetFrame")
    }  # fmt: skip
    ends = [_end(element, parts, frames, side) for side in ("parent", "child")]
    (parent, place, before), (child, _, after) = ends
    joint = _Joint(element, parent, child, place, before, after)
    fixed = _AXES.get(element.tag, ())
    named = [each.attributes.get("name", "") for each in _below(element, "Coordinate")]
    joint.axes = [(name, np.array(axis)) for name, axis in zip(named, fixed, strict=False)]
    for each in _below(element, "TransformAxis"):
        if each.attributes.get("name", "").startswith("rotation"):
            inner = {child.tag: child for child in each.children}
            words = inner["coordinates"].text.split() if "coordinates" in inner else []
            sign = _sign(each)
            if len(words) == 1 and "axis" in inner and sign:
                axis = inner["axis"].numbers(inner["axis"].text, (3,))
                joint.axes.append((words[0], sign * axis))
    return joint


def _sign(axis: Element) -> float:
    """Return 1 or -1 if the angle about an axis is its coordinate or the opposite, else 0."""
    for each in _below(axis, "coefficients"):
        values: Floats = each.numbers(each.text)
        plain = len(values) == 2 and abs(values[0]) == 1.0 and values[1] == 0.0
        return float(values[0]) if plain else 0.0
    return 0.0 if _below(axis, "SimmSpline") else 1.0


def _end(
    joint: Element, parts: dict[str, Element], frames: dict[str, Element], side: str
) -> tuple[str, Vectors, Quats]:
    """Return the body at an end of a joint, and where and how the joint's frame is in it."""
    key = f"socket_{side}_frame"
    if key not in parts:
        joint.fail(f"<{joint.tag}> must have <{key}>, got none")
    name = parts[key].text.strip().rsplit("/", 1)[-1]
    if name not in frames:
        return name, np.zeros(3), quat.IDENTITY
    inner = {each.tag: each for each in frames[name].children}
    body = inner["socket_parent"].text.strip().rsplit("/", 1)[-1]
    place, angles = (
        inner[tag].numbers(inner[tag].text, (3,)) if tag in inner else np.zeros(3)
        for tag in ("translation", "orientation")
    )
    return body, place, quat.from_euler(angles, "XYZ")


def _below(element: Element, tag: str) -> list[Element]:
    found = [child for child in element.children if child.tag == tag]
    for child in element.children:
        found += _below(child, tag)
    return found
