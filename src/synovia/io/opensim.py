"""OpenSim: bodies as joints of a skeleton, with the ranges of their joints' coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .files import read_file
from .ranges import HingeRange, RangedBody, RangesFile
from .xml import Element, parse_xml

MAX_DEPTH = 64  # of XML elements
JOINT_AXES = {
    "CustomJoint": "",
    "WeldJoint": "",
    "FreeJoint": "",
    "BallJoint": "",
    "PinJoint": "z",
    "UniversalJoint": "xy",
    "GimbalJoint": "xyz",
}
"""Kinds of joints, and the axes that are the same in all joints of a kind, from the outermost."""


def read_opensim_ranges(path: Path) -> RangesFile:
    """Return the bodies of an OpenSim model as joints, and the ranges of its coordinates.

    Hinges are the coordinates that are the angle about one axis. A coordinate that is not clamped
    has no range. Files of version 4 are read.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "OpenSimDocument":
        root.fail(f"expected <OpenSimDocument>, got <{root.tag}>")
    coordinates = _by_name(root, "Coordinate")
    joints = list(root.below(*JOINT_AXES))
    if not joints:
        root.fail("expected joints of version 4 of the format, got none")
    bodies = [_read_body(joint, coordinates) for joint in joints]
    elements = {body.name: joint for body, joint in zip(bodies, joints, strict=True)}
    with root.locate_errors(elements):
        return RangesFile.of_bodies(path, bodies, "y")


def _by_name(element: Element, tag: str) -> dict[str, Element]:
    return {part.attributes.get("name", ""): part for part in element.below(tag)}


def _read_body(joint: Element, coordinates: Mapping[str, Element]) -> RangedBody:
    """Return the body that a joint moves."""
    parent, position, before = _end(joint, "parent")
    child, _, after = _end(joint, "child")
    hinges = []
    for name, axis in _axes(joint):
        low, high, line = _range(coordinates.get(name))
        axis = quat.rotate(after, axis)
        with joint.locate_errors():
            hinges.append(HingeRange.about(axis, name, child, low, high, line or joint.line))
    rotation = quat.mul(before, quat.inverse(after))
    return RangedBody(child, None if parent == "ground" else parent, position, rotation, hinges)


def _end(joint: Element, side: str) -> tuple[str, Vectors, Quats]:
    """Return the body at one end of a joint, and the position and rotation of the joint in it."""
    socket = joint.child(f"socket_{side}_frame")
    if socket is None:
        joint.fail(f"<{joint.tag}> must have <socket_{side}_frame>, got none")
    name = _last_part(socket)
    frame = _by_name(joint, "PhysicalOffsetFrame").get(name)
    if frame is None:
        return name, np.zeros(3), quat.IDENTITY
    body = frame.child("socket_parent")
    if body is None:
        frame.fail("<PhysicalOffsetFrame> must have <socket_parent>, got none")
    rotation = quat.from_euler(frame.vector("orientation"), "XYZ")
    return _last_part(body), frame.vector("translation"), rotation


def _last_part(socket: Element) -> str:
    """Return the name of the frame that a socket has the path of."""
    return socket.text.strip().rsplit("/", 1)[-1]


def _axes(joint: Element) -> Iterator[tuple[str, Vectors]]:
    """Yield the names of a joint's coordinates that are angles, and their axes (3,) in its frame.

    A coordinate of a CustomJoint is an angle if the function of its axis is plus or minus one.
    """
    for name, axis in zip(_by_name(joint, "Coordinate"), JOINT_AXES[joint.tag], strict=False):
        yield name, np.eye(3)["xyz".index(axis)]
    for transform in joint.below("TransformAxis"):
        coordinates, sign = transform.child("coordinates"), _sign(transform)
        names = coordinates.text.split() if coordinates else []
        is_rotation = transform.attributes.get("name", "").startswith("rotation")
        if is_rotation and len(names) == 1 and transform.child("axis") and sign:
            yield names[0], sign * transform.vector("axis")


def _sign(axis: Element) -> float:
    """Return 1 or -1 if the angle about an axis is its coordinate or the opposite, else 0."""
    for element in axis.below("coefficients"):
        slope, *rest = element.numbers(element.text).tolist()
        return slope if abs(slope) == 1.0 and rest == [0.0] else 0.0
    return 0.0 if any(axis.below("SimmSpline")) else 1.0


def _range(coordinate: Element | None) -> tuple[float, float, int]:
    """Return the range of a coordinate in radians, and its line; infinite and 0 without one."""
    limits = coordinate and coordinate.child("range")
    clamped = coordinate and coordinate.child("clamped")
    if not limits or not clamped or clamped.text.strip().lower() != "true":
        return -np.inf, np.inf, 0
    low, high = limits.numbers(limits.text, (2,)).tolist()
    return low, high, limits.line
