"""URDF: links as joints of a skeleton, with the ranges of the joints that move them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .files import read_file
from .ranges import Coupling, HingeRange, RangedBody, RangesFile
from .skeletons import group_by
from .xml import Element, parse_xml

MAX_DEPTH = 12  # of XML elements
MAX_HINGES = 3  # of one joint
ROTATING = ("revolute", "continuous")  # types of joints


@dataclass(frozen=True, eq=False)
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

    @property
    def is_at_parent(self) -> bool:
        """True if the joint's frame is that of the parent link."""
        return not (self.position.any() or self.rotation[1:].any())


def read_urdf_ranges(path: Path) -> RangesFile:
    """Return the links of a URDF as joints, and the ranges of its revolute joints.

    Consecutive revolute joints at one position, with bare links between them, are one joint, which
    is named after the last link.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "robot":
        root.fail(f"expected <robot>, got <{root.tag}>")
    joints = [_read_joint(element) for element in root.children if element.tag == "joint"]
    links = {part.attributes.get("name", ""): part for part in root.children if part.tag == "link"}
    tops = [name for name in links if name not in {joint.child for joint in joints}]
    if len(tops) != 1:
        root.fail(f"expected one link that is no joint's child, got {len(tops)}")
    by_parent = group_by(joints, lambda joint: joint.parent)
    bodies = [RangedBody(tops[0], None, np.zeros(3), quat.IDENTITY)]
    stack = by_parent.get(tops[0], [])[::-1]
    while stack and len(bodies) <= len(joints):  # a loop has no end, and is refused below
        chain = _chain(stack.pop(), by_parent, links)
        first, link = chain[0], chain[-1].child
        hinges = [_hinge(joint.element, link) for joint in chain if joint.rotates]
        bodies.append(RangedBody(link, first.parent, first.position, first.rotation, hinges))
        stack += reversed(by_parent.get(link, []))
    with root.locate_errors({joint.child: joint.element for joint in joints}):
        return RangesFile.of_bodies(path, bodies, "z", couplings=tuple(_couplings(joints)))


def _read_joint(element: Element) -> _UrdfJoint:
    parent, child = _linked(element, "parent"), _linked(element, "child")
    rotation = quat.from_euler(element.vector("origin", "rpy")[::-1], "ZYX")
    return _UrdfJoint(element, parent, child, element.vector("origin", "xyz"), rotation)


def _linked(joint: Element, tag: str) -> str:
    """Return the name of the link at one end of a joint."""
    end = joint.child(tag)
    if end is None or "link" not in end.attributes:
        joint.fail(f"<joint> must have <{tag} link=…>, got none")
    return end.attributes["link"]


def _chain(
    first: _UrdfJoint, by_parent: Mapping[str, list[_UrdfJoint]], links: Mapping[str, Element]
) -> list[_UrdfJoint]:
    """Return up to three joints that rotate the link of the last one about one position."""
    chain = [first]
    while len(chain) < MAX_HINGES and chain[-1].rotates:
        link, below = links.get(chain[-1].child), by_parent.get(chain[-1].child, [])
        is_bare = link is None or all(part.tag == "inertial" for part in link.children)
        if not (is_bare and len(below) == 1 and below[0].rotates and below[0].is_at_parent):
            break
        chain += below
    return chain


def _hinge(joint: Element, link: str) -> HingeRange:
    low, high, line = -np.inf, np.inf, joint.line
    limit = joint.child("limit")
    if limit and joint.attributes.get("type") == "revolute":
        low, high = (limit.number(limit.attributes.get(key, "0")) for key in ("lower", "upper"))
        line = limit.line
    axis = joint.vector("axis", "xyz", "1 0 0")
    with (joint.child("axis") or joint).locate_errors():
        return HingeRange.about(axis, joint.attributes.get("name", link), link, low, high, line)


def _couplings(joints: list[_UrdfJoint]) -> Iterator[Coupling]:
    """Yield the joints that mimic others."""
    for joint in joints:
        if mimic := joint.element.child("mimic"):
            ratio = mimic.number(mimic.attributes.get("multiplier", "1"))
            offset = mimic.number(mimic.attributes.get("offset", "0"))
            driven, driver = joint.element.attributes.get("name", ""), mimic.attributes["joint"]
            yield Coupling(driven, driver, (offset, ratio), mimic.line)
