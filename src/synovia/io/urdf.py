"""URDF: links as joints of a skeleton, with the ranges of the joints that move them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .files import read_file
from .ranges import Coupling, HingeRange, RangesFile, skeleton_at_rest
from .xml import Element, parse_xml

MAX_DEPTH = 12
TURNING = ("revolute", "continuous")


@dataclass
class _Joint:
    """A joint of a URDF: what it is between, and the element that it is read from."""

    element: Element
    parent: str
    child: str
    place: Vectors
    turn: Quats


@dataclass
class _Chain:
    """Joints that are at one place and turn one bone: the last one's child is the bone."""

    joints: list[_Joint] = field(default_factory=list)


def read_urdf_ranges(path: Path) -> RangesFile:
    """Return the links of a URDF as joints, and the ranges of its revolute joints.

    Revolute joints one after another at the same place, with nothing on the links between, are one
    joint, called like the last link.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "robot":
        root.fail(f"expected <robot>, got <{root.tag}>")
    joints = [_read_joint(each) for each in root.children if each.tag == "joint"]
    links = {each.attributes.get("name", ""): each for each in root.children if each.tag == "link"}
    by_parent: dict[str, list[_Joint]] = {}
    for joint in joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    tops = [name for name in links if name not in {joint.child for joint in joints}]
    if len(tops) != 1:
        root.fail(f"expected one link that is no joint's child, got {len(tops)}")
    names, parents = [tops[0]], [-1]
    offsets: list[Vectors] = [np.zeros(3)]
    rest: list[Quats] = [quat.IDENTITY]
    hinges: list[HingeRange] = []
    stack = [(0, each) for each in reversed(by_parent.get(tops[0], []))]
    while stack:
        parent, first = stack.pop()
        chain = _chain(first, by_parent, links)
        around, last = rest[parent], chain.joints[-1]
        number, frame = len(names), quat.mul(around, first.turn)
        names.append(last.child)
        parents.append(parent)
        offsets.append(quat.rotate(around, first.place))
        for joint in chain.joints:
            if joint.element.attributes.get("type") in TURNING:
                hinges.append(_hinge(joint.element, last.child, frame))
        rest.append(frame)
        stack += [(number, each) for each in reversed(by_parent.get(last.child, []))]
        if len(names) > len(links):
            root.fail("expected a tree of links, got a loop")
    with root.locate_errors():
        skeleton = skeleton_at_rest(names, parents, offsets, rest, "z")
    return RangesFile(path, skeleton, tuple(hinges), tuple(_couplings(joints)))


def _read_joint(element: Element) -> _Joint:
    parts = {each.tag: each for each in element.children}
    for tag in ("parent", "child"):
        if "link" not in (parts[tag].attributes if tag in parts else {}):
            element.fail(f"<joint> must have <{tag} link=…>, got none")
    origin = parts.get("origin")
    place: Vectors = np.zeros(3)
    turn = quat.IDENTITY
    if origin is not None:
        place = origin.numbers(origin.attributes.get("xyz", "0 0 0"), (3,))
        angles = origin.numbers(origin.attributes.get("rpy", "0 0 0"), (3,))
        turn = quat.from_euler(angles[::-1], "ZYX")
    return _Joint(
        element, parts["parent"].attributes["link"], parts["child"].attributes["link"], place, turn
    )


def _chain(first: _Joint, by_parent: dict[str, list[_Joint]], links: dict[str, Element]) -> _Chain:
    chain = _Chain([first])
    while len(chain.joints) < 3 and chain.joints[-1].element.attributes.get("type") in TURNING:
        below = by_parent.get(chain.joints[-1].child, [])
        link = links.get(chain.joints[-1].child)
        bare = link is None or all(each.tag == "inertial" for each in link.children)
        if len(below) != 1 or not bare:
            break
        follower = below[0]
        turns = follower.element.attributes.get("type") in TURNING
        if not turns or follower.place.any() or follower.turn[1:].any():
            break
        chain.joints.append(follower)
    return chain


def _hinge(element: Element, joint: str, frame: Quats) -> HingeRange:
    name = element.attributes.get("name", joint)
    parts = {each.tag: each for each in element.children}
    axis = np.array([1.0, 0.0, 0.0])
    if "axis" in parts:
        axis = parts["axis"].numbers(parts["axis"].attributes.get("xyz", "1 0 0"), (3,))
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        parts["axis"].fail("expected an axis that points somewhere, got zero")
    low, high, line = -np.inf, np.inf, element.line
    if "limit" in parts and element.attributes.get("type") == "revolute":
        limit = parts["limit"]
        low, high = (limit.number(limit.attributes.get(key, "0")) for key in ("lower", "upper"))
        line = limit.line
    return HingeRange(name, joint, quat.rotate(frame, axis / length), low, high, length, line)


def _couplings(joints: list[_Joint]) -> list[Coupling]:
    found = []
    for joint in joints:
        for each in joint.element.children:
            if each.tag == "mimic":
                ratio = each.number(each.attributes.get("multiplier", "1"))
                offset = each.number(each.attributes.get("offset", "0"))
                driven, driver = joint.element.attributes.get("name", ""), each.attributes["joint"]
                found.append(Coupling(driven, driver, (offset, ratio), each.line))
    return found
