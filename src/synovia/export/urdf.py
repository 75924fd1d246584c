"""URDF: three revolute joints a joint, with small links between them; ranges alone."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .hinged import HingedBody, loss_lines, upright
from .mass import Capsule, capsules
from .mjcf import comment_text, hinge_names, numbers

BETWEEN_MASS, BETWEEN_INERTIA = 1e-3, 1e-6
"""Kilograms, and kg·m², of the links between hinges: simulators refuse those without."""
EFFORT, VELOCITY = 300.0, 20.0
"""Newton metres and radians a second, which a URDF must say and nobody measured here."""


def urdf_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body; lengths are metres, angles radians, z is up at rest.

    Half-spaces beside the ranges cannot be said, so the body should be made without.
    """
    skeleton, segments = body.skeleton, capsules(body.skeleton, mass)
    lines = [
        '<?xml version="1.0"?>',
        f"<robot name={quoteattr(name)}>",
        "  <!-- Joint limits by Synovia. Angles in radians; shares are of all rotations. -->",
        *(f"  <!-- {comment_text(line)} -->" for line in loss_lines(body.losses, body.notes)),
        '  <link name="world"/>',
    ]
    for joint, parent in enumerate(skeleton.parents.tolist()):
        title = skeleton.names[joint]
        above = "world" if parent < 0 else skeleton.names[parent]
        turn = upright(skeleton) if parent < 0 else quat.IDENTITY
        place = np.zeros(3) if parent < 0 else skeleton.offsets[joint]
        lines += _link_lines(title, [each for each in segments if each.joint == joint])
        if title not in body.joints:
            lines += _joint_lines(f"{title}_fixed", "fixed", above, title, place, turn)
            continue
        hinged = body.joints[title]
        links = [f"{title}_link1", f"{title}_link2", title]
        lines += [line for link in links[:2] for line in _between_lines(link)]
        turn = hinged.reference
        for k, hinge in enumerate(hinge_names(hinged)):
            limit = (
                f'<limit lower="{numbers([hinged.low[k]])}" upper="{numbers([hinged.high[k]])}" '
                f'effort="{EFFORT:g}" velocity="{VELOCITY:g}"/>'
            )
            inner = [f'<axis xyz="{numbers(hinged.axes[k])}"/>', limit]
            lines += _joint_lines(hinge, "revolute", above, links[k], place, turn, inner)
            above, place, turn = links[k], np.zeros(3), quat.IDENTITY
    return "\n".join([*lines, "</robot>"]) + "\n"


def roll_pitch_yaw(rotation: Quats) -> Floats:
    """Return the angles (3,), in radians, about x, y, z, turned about fixed axes in this order."""
    return np.asarray(quat.to_euler(rotation, "ZYX")[..., ::-1])


def _joint_lines(
    name: str,
    kind: str,
    parent: str,
    child: str,
    place: Vectors,
    turn: Quats,
    inner: list[str] | None = None,
) -> list[str]:
    return [
        f'  <joint name={quoteattr(name)} type="{kind}">',
        f"    <parent link={quoteattr(parent)}/><child link={quoteattr(child)}/>",
        f'    <origin xyz="{numbers(place)}" rpy="{numbers(roll_pitch_yaw(turn))}"/>',
        *(f"    {line}" for line in inner or []),
        "  </joint>",
    ]


def _between_lines(name: str) -> list[str]:
    return [f"  <link name={quoteattr(name)}>", *_inertia(BETWEEN_MASS, np.zeros(3), np.eye(3) *
            BETWEEN_INERTIA), "  </link>"]  # fmt: skip


def _link_lines(name: str, segments: list[Capsule]) -> list[str]:
    """Return a link with the mass and inertia of its capsules, and cylinders as their geometry."""
    mass = sum(each.mass for each in segments)
    middle = sum((each.mass * 0.5 * (each.start + each.end) for each in segments), np.zeros(3))
    middle = middle / mass
    total = np.zeros((3, 3))
    lines = []
    for each in segments:
        way, center = each.end - each.start, 0.5 * (each.start + each.end)
        length = float(np.linalg.norm(way))
        axis = way / length if length else np.array([0.0, 0.0, 1.0])
        off = center - middle
        total += each.inertia + each.mass * (off @ off * np.eye(3) - np.outer(off, off))
        turn = roll_pitch_yaw(quat.between(np.array([0.0, 0.0, 1.0]), axis))
        shape = f'<cylinder radius="{each.radius:.6g}" length="{max(length, 1e-3):.6g}"/>'
        origin = f'<origin xyz="{numbers(center)}" rpy="{numbers(turn)}"/>'
        lines += [
            f"    <{tag}>{origin}<geometry>{shape}</geometry></{tag}>"
            for tag in ("visual", "collision")
        ]
    return [f"  <link name={quoteattr(name)}>", *_inertia(mass, middle, total), *lines, "  </link>"]


def _inertia(mass: float, middle: Vectors, inertia: Floats) -> list[str]:
    parts = {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }
    values = " ".join(f'{key}="{numbers([inertia[at]])}"' for key, at in parts.items())
    return [
        f'    <inertial><origin xyz="{numbers(middle)}"/><mass value="{numbers([mass])}"/>'
        f"<inertia {values}/></inertial>"
    ]
