"""URDF: three revolute joints per joint, with small links between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..io.xml import Element
from .body import BodyCapsule, RigidMass, capsules, total_mass, upright
from .hinged import HingedBody, document_text, element, export_body

BETWEEN_HINGES = RigidMass(1e-3, np.zeros(3), 1e-6 * np.eye(3))
"""Mass of the links between hinges: simulators refuse links without."""
EFFORT, VELOCITY = 300.0, 20.0  # N·m and rad/s: required by the format, not measured


def urdf_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body: metres and radians, z up at rest.

    URDF cannot express half-spaces: they are left out.
    """
    skeleton, segments = body.skeleton, capsules(body.skeleton, mass)
    parts = [element("link", name="world")]
    for joint, parent in enumerate(skeleton.parents.tolist()):
        title = skeleton.names[joint]
        above = "world" if parent < 0 else skeleton.names[parent]
        rotation = upright(skeleton) if parent < 0 else quat.IDENTITY
        position = np.zeros(3) if parent < 0 else skeleton.offsets[joint]
        parts.append(_link(title, total_mass(segments[joint]), segments[joint]))
        if title not in body.joints:
            parts.append(_joint(f"{title}_fixed", "fixed", above, title, position, rotation))
            continue
        hinged = body.joints[title]
        links = [f"{title}_link1", f"{title}_link2", title]
        parts += [_link(link, BETWEEN_HINGES) for link in links[:2]]
        rotation = hinged.reference
        for link, (hinge, axis, low, high) in zip(links, hinged.hinges(), strict=True):
            limit = element("limit", lower=low, upper=high, effort=EFFORT, velocity=VELOCITY)
            revolute = _joint(hinge, "revolute", above, link, position, rotation)
            revolute.children += [element("axis", xyz=axis), limit]
            parts.append(revolute)
            above, position, rotation = link, np.zeros(3), quat.IDENTITY
    about = ["Joint limits by Synovia. Angles in radians; shares are of all rotations."]
    return document_text(element("robot", *parts, name=name), about, body.losses, body.notes)


def roll_pitch_yaw(rotation: Quats) -> Floats:
    """Return the angles (3,), in radians, of rotations about the fixed axes x, y, z in turn."""
    return np.asarray(quat.to_euler(rotation, "ZYX")[..., ::-1])


def _joint(
    name: str, kind: str, parent: str, child: str, position: Vectors, rotation: Quats
) -> Element:
    return element(
        "joint",
        element("parent", link=parent),
        element("child", link=child),
        element("origin", xyz=position, rpy=roll_pitch_yaw(rotation)),
        name=name,
        type=kind,
    )


def _link(name: str, mass: RigidMass, segments: Sequence[BodyCapsule] = ()) -> Element:
    """Return a link with its mass and inertia, and its capsules as cylinders."""
    upper = np.triu_indices(3)
    moments = {f"i{'xyz'[row]}{'xyz'[column]}": mass.inertia[row, column]
               for row, column in zip(*upper, strict=True)}  # fmt: skip
    link = element(
        "link",
        element(
            "inertial",
            element("origin", xyz=mass.center),
            element("mass", value=mass.mass),
            element("inertia", **moments),
        ),
        name=name,
    )
    for capsule in segments:
        angles = roll_pitch_yaw(quat.between(np.array([0.0, 0.0, 1.0]), capsule.axis))
        length = f"{max(capsule.length, 1e-3):.6g}"
        cylinder = element("cylinder", radius=f"{capsule.radius:.6g}", length=length)
        shape = element("origin", xyz=capsule.center, rpy=angles), element("geometry", cylinder)
        link.children += [element("visual", *shape), element("collision", *shape)]
    return link


write_urdf = partial(export_body, urdf_text, False)
