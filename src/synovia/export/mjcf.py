"""MJCF (MuJoCo): three stacked hinges a joint, fixed tendons for half-spaces, and a ragdoll."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..io.xml import Element
from .body import BodyCapsule, capsules, rest_positions, touching, upright
from .hinged import HalfSpaces, HingedBody, export_body, loss_lines
from .xml import document_text, element

TIMESTEP = 0.002  # seconds; a limit needs at least two of them to act
STIFFNESS = {"solreflimit": "0.004 1", "solimplimit": "0.98 0.999 0.005"}
"""The stiffest at this step."""
OVERSHOOT_DEG = 6.0  # degrees: largest violation of a dropped ragdoll
CLEARANCE = 0.02  # metres between the ground and the lowest capsule at the start


def mjcf_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body: skeleton, limits, capsules of `mass` kilograms in all.

    Angles are radians, lengths metres, z is up. At 0 every joint is in the middle of its range; the
    keyframe `rest` is the skeleton at rest.
    """
    skeleton, segments = body.skeleton, capsules(body.skeleton, mass)
    height = _height(body, segments)
    roots = [joint for joint, parent in enumerate(skeleton.parents) if parent < 0]
    hinges: list[str] = []
    bodies = [_body(body, root, segments, hinges, height) for root in roots]
    names = skeleton.names
    pairs = [(names[a], names[b]) for a, b in touching(skeleton, segments)]
    excluded = [element("exclude", body1=one, body2=other) for one, other in pairs]
    root = element(
        "mujoco",
        element("compiler", angle="radian", autolimits="true"),
        element("option", timestep=TIMESTEP, integrator="implicitfast"),
        element(
            "default",
            element("joint", armature=0.02, damping=1.5, **STIFFNESS),
            element("tendon", **STIFFNESS),
            element("geom", type="capsule", rgba="0.8 0.6 0.4 1", friction=0.9),
        ),
        element(
            "worldbody",
            element("light", pos="0 0 3", dir="0 0 -1"),
            element("geom", name="floor", type="plane", size="5 5 0.1", rgba="0.4 0.4 0.4 1"),
            *bodies,
        ),
        *([element("contact", *excluded)] if excluded else []),
        *tendons(slants_of(body)),
        model=name,
    )
    if len(roots) == 1:
        rest = {
            hinge: angle
            for joint in body.joints.values()
            for hinge, angle in zip(joint.hinge_names, joint.rest, strict=True)
        }
        qpos = [0.0, 0.0, height, *upright(skeleton), *(rest[hinge] for hinge in hinges)]
        root.children.append(element("keyframe", element("key", name="rest", qpos=qpos)))
    return document_text(root, comments(body))


def comments(body: HingedBody) -> list[str]:
    """Return the comments of a file: its conventions, and the losses."""
    return [
        "Joint limits by Synovia. Angles in radians; shares are of all rotations, of two "
        "joints together of all pairs that are legal one by one.",
        f"Limits are soft: up to {OVERSHOOT_DEG:g} degrees beyond them in a fall.",
        *loss_lines(body.losses, body.notes),
    ]


def _body(
    body: HingedBody, joint: int, segments: list[BodyCapsule], hinges: list[str], height: float
) -> Element:
    """Return the body of a joint, with those below it; append the names of all hinges in order."""
    skeleton = body.skeleton
    name, children = skeleton.names[joint], list[Element]()
    placement: dict[str, Any] = {"pos": skeleton.offsets[joint]}
    if skeleton.parents[joint] < 0:
        placement = {"pos": [0.0, 0.0, height], "quat": upright(skeleton)}
        children.append(element("freejoint", name=f"{name}_free"))
    if name in body.joints:
        hinged = body.joints[name]
        placement["quat"] = hinged.reference
        hinges += hinged.hinge_names
        children += [
            element("joint", name=hinge, axis=axis, range=[low, high])
            for hinge, axis, low, high in hinged.hinges()
        ]
    children += [_geom(capsule) for capsule in segments if capsule.joint == joint]
    children += [_body(body, child, segments, hinges, height) for child in skeleton.children(joint)]
    return element("body", *children, name=name, **placement)


def _geom(capsule: BodyCapsule) -> Element:
    sizes = {"size": f"{capsule.radius:.6g}", "mass": f"{capsule.mass:.6g}"}
    if not capsule.length:
        return element("geom", type="sphere", **sizes)
    return element("geom", fromto=[*capsule.start, *capsule.end], **sizes)


def _height(body: HingedBody, segments: list[BodyCapsule]) -> float:
    """Return the height of the root, in metres, that puts the rest pose just above the ground."""
    positions, up = rest_positions(body.skeleton), "xyz".index(body.skeleton.up)
    lowest = min(
        (positions[capsule.joint] + end)[up] - capsule.radius
        for capsule in segments
        for end in (capsule.start, capsule.end)
    )
    root = positions[int(np.flatnonzero(body.skeleton.parents < 0)[0]), up]
    return float(root - lowest) + CLEARANCE


@dataclass(frozen=True, eq=False)
class Slant:
    """A sum of hinge angles, with the share of each by its name, and its range in radians."""

    name: str
    shares: dict[str, float]
    low: float
    high: float


def slants_of(body: HingedBody) -> Iterator[Slant]:
    """Yield the half-spaces of all joints, then those of pairs of joints."""
    for joint in body.joints.values():
        yield from name_slants(f"{joint.name}_slant", joint.hinge_names, joint.slants)
    for pair in body.pairs:
        hinges = [
            hinge for name in (pair.driver, pair.name) for hinge in body.joints[name].hinge_names
        ]
        yield from name_slants(f"{pair.driver}_{pair.name}_pair", hinges, pair.slants)


def name_slants(title: str, hinges: Sequence[str], planes: HalfSpaces) -> Iterator[Slant]:
    """Yield half-spaces of the angles of n hinges, with numbered names."""
    for k, (shares, low, high) in enumerate(
        zip(planes.axes, planes.low, planes.high, strict=True), start=1
    ):
        parts = {hinge: float(share) for hinge, share in zip(hinges, shares, strict=True) if share}
        yield Slant(f"{title}{k}", parts, float(low), float(high))


def tendons(slants: Iterable[Slant]) -> list[Element]:
    """Return an element of fixed tendons, each a sum of angles with a range; none without any."""
    fixed = [
        element(
            "fixed",
            *(element("joint", joint=hinge, coef=share) for hinge, share in slant.shares.items()),
            name=slant.name,
            limited="true",
            range=[slant.low, slant.high],
        )
        for slant in slants
    ]
    return [element("tendon", *fixed)] if fixed else []


write_mjcf = partial(export_body, mjcf_text, True)
