"""URDF: links as joints of a skeleton, with the ranges of the joints that move them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .files import read_file
from .ranges import Coupling, RangesBuilder, RangesFile, group_by
from .xml import Element, parse_xml

MAX_DEPTH = 12  # of XML elements
ROTATING = ("revolute", "continuous")  # types of joints


@dataclass
class _UrdfJoint:
    """A joint between two links; `position` (3,) and `rotation` (4,) are in the parent link."""

    element: Element
    parent: str
    child: str
    position: Vectors
    rotation: Quats

    @property
    def rotates(self) -> bool:
        return self.element.attributes.get("type") in ROTATING


def read_urdf_ranges(path: Path) -> RangesFile:
    """Return the links of a URDF as joints, and the ranges of its revolute joints.

    Consecutive revolute joints at one position, with bare links between them, are one joint, which
    is named after the last link.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "robot":
        root.fail(f"expected <robot>, got <{root.tag}>")
    joints = [_read_joint(element) for element in root.children if element.tag == "joint"]
    links = {
        element.attributes.get("name", ""): element
        for element in root.children
        if element.tag == "link"
    }
    by_parent = group_by(joints, lambda joint: joint.parent)
    tops = [name for name in links if name not in {joint.child for joint in joints}]
    if len(tops) != 1:
        root.fail(f"expected one link that is no joint's child, got {len(tops)}")
    builder = RangesBuilder()
    builder.add_joint(tops[0], -1, np.zeros(3), quat.IDENTITY)
    stack = [(0, joint) for joint in reversed(by_parent.get(tops[0], []))]
    while stack:
        parent, first = stack.pop()
        chain = _chain(first, by_parent, links)
        link = chain[-1].child
        index = builder.add_joint(link, parent, first.position, first.rotation)
        for joint in chain:
            if joint.rotates:
                _add_hinge(builder, joint.element, link)
        stack += [(index, joint) for joint in reversed(by_parent.get(link, []))]
        if len(builder.names) > len(links):
            root.fail("expected a tree of links, got a loop")
    with root.locate_errors():
        skeleton = builder.skeleton("z")
    return RangesFile(path, skeleton, tuple(builder.hinges), tuple(_couplings(joints)))


def _read_joint(element: Element) -> _UrdfJoint:
    parts = {child.tag: child for child in element.children}
    for tag in ("parent", "child"):
        if "link" not in (parts[tag].attributes if tag in parts else {}):
            element.fail(f"<joint> must have <{tag} link=…>, got none")
    origin = parts.get("origin")
    position: Vectors = np.zeros(3)
    rotation = quat.IDENTITY
    if origin is not None:
        position = origin.numbers(origin.attributes.get("xyz", "0 0 0"), (3,))
        angles = origin.numbers(origin.attributes.get("rpy", "0 0 0"), (3,))
        rotation = quat.from_euler(angles[::-1], "ZYX")
    parent, child = (parts[tag].attributes["link"] for tag in ("parent", "child"))
    return _UrdfJoint(element, parent, child, position, rotation)


def _chain(
    first: _UrdfJoint, by_parent: dict[str, list[_UrdfJoint]], links: dict[str, Element]
) -> list[_UrdfJoint]:
    """Return up to three joints that rotate the link of the last one about one position."""
    chain = [first]
    while len(chain) < 3 and chain[-1].rotates:
        below = by_parent.get(chain[-1].child, [])
        link = links.get(chain[-1].child)
        is_bare = link is None or all(part.tag == "inertial" for part in link.children)
        if len(below) != 1 or not is_bare or not below[0].rotates:
            break
        if below[0].position.any() or below[0].rotation[1:].any():
            break
        chain.append(below[0])
    return chain


def _add_hinge(builder: RangesBuilder, element: Element, link: str) -> None:
    parts = {child.tag: child for child in element.children}
    axis = np.array([1.0, 0.0, 0.0])
    if "axis" in parts:
        axis = parts["axis"].numbers(parts["axis"].attributes.get("xyz", "1 0 0"), (3,))
    low, high, line = -np.inf, np.inf, element.line
    if "limit" in parts and element.attributes.get("type") == "revolute":
        limit = parts["limit"]
        low, high = (limit.number(limit.attributes.get(key, "0")) for key in ("lower", "upper"))
        line = limit.line
    with parts.get("axis", element).locate_errors():
        name = element.attributes.get("name", link)
        builder.add_hinge(name, axis, builder.rest[-1], low, high, line)


def _couplings(joints: list[_UrdfJoint]) -> Iterator[Coupling]:
    """Yield the joints that mimic others."""
    for joint in joints:
        for mimic in joint.element.children:
            if mimic.tag == "mimic":
                ratio = mimic.number(mimic.attributes.get("multiplier", "1"))
                offset = mimic.number(mimic.attributes.get("offset", "0"))
                driven = joint.element.attributes.get("name", "")
                yield Coupling(driven, mimic.attributes["joint"], (offset, ratio), mimic.line)
