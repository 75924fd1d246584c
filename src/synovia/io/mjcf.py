"""MJCF (MuJoCo): the skeleton of a body made of hinges, in the order in which they are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Quats, Vectors
from ..quat import IDENTITY, mul, normalize, rotate
from ..skeleton import Skeleton
from .files import read_file
from .xml import Element, parse_xml

MAX_DEPTH = 200
"""Bodies within bodies that are believed; a body has fewer."""
MAX_LENGTH = 1e6
_TURNED = ("axisangle", "euler", "xyaxes", "zaxis")
_HINGE = ("axis", "pos", "ref", "type")


class Hinge(NamedTuple):
    """A hinge: its unit axis and a point on it, in the frame of its body."""

    axis: Vectors
    anchor: Vectors


@dataclass
class HingeSkeleton:
    """A skeleton, and the hinges of each joint, the outermost first."""

    skeleton: Skeleton
    hinges: list[list[Hinge]]


@dataclass
class _Bodies:
    """The bodies so far, parents before children; `rotations` are those of the world at rest."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[Vectors] = field(default_factory=list)
    rotations: list[Quats] = field(default_factory=list)
    hinges: list[list[Hinge]] = field(default_factory=list)


def read_mjcf(path: Path) -> HingeSkeleton:
    """Return the one body with all below it in the MJCF file at `path`; lengths are metres."""
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "mujoco":
        root.fail(f"expected <mujoco>, got <{root.tag}>")
    for default in _all(root, "default"):
        for joint in _only(default, "joint"):
            if set(joint.attributes) & set(_HINGE):
                joint.fail(f"<joint> must have its {', '.join(_HINGE)} in bodies, got a default")
    worlds = _only(root, "worldbody")
    tops = [body for world in worlds for body in _only(world, "body")]
    if len(tops) != 1:
        root.fail(f"expected one body in <worldbody>, got {len(tops)}")
    bodies = _Bodies()
    _read_body(tops[0], -1, bodies)
    with root.locate_errors():
        skeleton = Skeleton(
            tuple(bodies.names),
            np.array(bodies.parents),
            np.array(bodies.offsets),
            rest_rotations=np.array(bodies.rotations),
            up="z",
            unit=1.0,
        )
    return HingeSkeleton(skeleton, bodies.hinges)


def _read_body(body: Element, parent: int, bodies: _Bodies) -> None:
    for name in _TURNED:
        if name in body.attributes:
            body.fail(f"expected the turn of a body as quat, got {name}")
    own = normalize(_numbers(body, "quat", 4, IDENTITY))
    around = IDENTITY if parent < 0 else bodies.rotations[parent]
    joint = len(bodies.names)
    bodies.names.append(body.attributes.get("name", f"body_{joint}"))
    bodies.parents.append(parent)
    bodies.offsets.append(rotate(around, _numbers(body, "pos", 3, np.zeros(3))))
    bodies.rotations.append(mul(around, own))
    bodies.hinges.append([])
    for each in body.children:
        if each.tag == "joint" and not (parent < 0 and each.attributes.get("type") == "free"):
            bodies.hinges[joint].append(_read_hinge(each))
    for each in _only(body, "body"):
        _read_body(each, joint, bodies)


def _read_hinge(joint: Element) -> Hinge:
    kind = joint.attributes.get("type", "hinge")
    if kind != "hinge":
        joint.fail(f"expected a hinge, got type {kind!r:.40}")
    if _numbers(joint, "ref", 1, np.zeros(1)).any():
        joint.fail(f"expected a hinge with ref 0, got {joint.attributes['ref']!r:.40}")
    axis = _numbers(joint, "axis", 3, np.array([0.0, 0.0, 1.0]))
    length = np.linalg.norm(axis)
    if not length > 0.0:
        joint.fail("expected an axis that points somewhere, got zero")
    return Hinge(axis / length, _numbers(joint, "pos", 3, np.zeros(3)))


def _numbers(element: Element, name: str, count: int, default: Floats) -> Floats:
    if name not in element.attributes:
        return default
    numbers = element.numbers(element.attributes[name], (count,))
    if np.abs(numbers).max() > MAX_LENGTH:
        element.fail(
            f"expected numbers of at most {MAX_LENGTH:g} as {name}, got {numbers.tolist()}"
        )
    return numbers


def _only(element: Element, tag: str) -> list[Element]:
    return [child for child in element.children if child.tag == tag]


def _all(element: Element, tag: str) -> list[Element]:
    """Return the elements below with this tag, at any depth."""
    found = _only(element, tag)
    for child in element.children:
        found += _all(child, tag)
    return found
