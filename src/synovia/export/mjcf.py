"""MJCF (MuJoCo): three stacked hinges a joint, fixed tendons for half-spaces, and a ragdoll."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..io.xml import Element
from .body import BodyCapsule, Segments, capsules, rest_positions, touching, upright
from .hinged import HalfSpaces, HingedBody, document_text, element, export_body

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
    fixed = [
        tendon
        for joint in body.joints.values()
        for tendon in tendons(f"{joint.name}_slant", joint.hinge_names, joint.slants)
    ]
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
        *([element("tendon", *fixed)] if fixed else []),
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
    about = (
        "Joint limits by Synovia. Angles in radians; shares are of all rotations.",
        f"Limits are soft: up to {OVERSHOOT_DEG:g} degrees beyond them in a fall.",
    )
    return document_text(root, about, body.losses, body.notes)


def _body(
    body: HingedBody, joint: int, segments: Segments, hinges: list[str], height: float
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
    children += [_geom(capsule) for capsule in segments[joint]]
    children += [_body(body, child, segments, hinges, height) for child in skeleton.children(joint)]
    return element("body", *children, name=name, **placement)


def _geom(capsule: BodyCapsule) -> Element:
    sizes = {"size": f"{capsule.radius:.6g}", "mass": f"{capsule.mass:.6g}"}
    if not capsule.length:
        return element("geom", type="sphere", **sizes)
    return element("geom", fromto=[0.0, 0.0, 0.0, *capsule.end], **sizes)


def _height(body: HingedBody, segments: Segments) -> float:
    """Return the height of the root, in metres, that puts the rest pose just above the ground."""
    positions, up = rest_positions(body.skeleton), "xyz".index(body.skeleton.up)
    lowest = min(
        positions[joint, up] + min(0.0, capsule.end[up]) - capsule.radius
        for joint, group in enumerate(segments)
        for capsule in group
    )
    root = positions[int(np.flatnonzero(body.skeleton.parents < 0)[0]), up]
    return float(root - lowest) + CLEARANCE


def tendons(title: str, hinges: Sequence[str], planes: HalfSpaces) -> Iterator[Element]:
    """Yield fixed tendons with numbered names: half-spaces of the angles of three hinges."""
    rows = zip(planes.axes, planes.low, planes.high, strict=True)
    for k, (shares, low, high) in enumerate(rows, start=1):
        joints = [
            element("joint", joint=hinge, coef=share)
            for hinge, share in zip(hinges, shares, strict=True)
            if share
        ]
        yield element("fixed", *joints, name=f"{title}{k}", limited="true", range=[low, high])


write_mjcf = partial(export_body, mjcf_text, True)
