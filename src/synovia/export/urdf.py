"""URDF: three revolute joints per joint, with small links between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from xml.sax.saxutils import quoteattr

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .body import BodyCapsule, RigidMass, capsules_by_joint, total_mass, upright
from .hinged import HingedBody, export_body, loss_lines
from .mjcf import comment_text, hinge_names, numbers

BETWEEN_HINGES = RigidMass(1e-3, np.zeros(3), 1e-6 * np.eye(3))
"""Mass of the links between hinges: simulators refuse links without."""
EFFORT, VELOCITY = 300.0, 20.0  # N·m and rad/s: required by the format, not measured


def urdf_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body: metres and radians, z up at rest.

    URDF cannot express half-spaces: they are left out.
    """
    skeleton, segments = body.skeleton, capsules_by_joint(body.skeleton, mass)
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
        rotation = upright(skeleton) if parent < 0 else quat.IDENTITY
        position = np.zeros(3) if parent < 0 else skeleton.offsets[joint]
        lines += _link_lines(title, total_mass(segments[joint]), segments[joint])
        if title not in body.joints:
            lines += _joint_lines(f"{title}_fixed", "fixed", above, title, position, rotation)
            continue
        hinged = body.joints[title]
        links = [f"{title}_link1", f"{title}_link2", title]
        lines += [line for link in links[:2] for line in _link_lines(link, BETWEEN_HINGES)]
        rotation = hinged.reference
        for k, hinge in enumerate(hinge_names(hinged)):
            limit = (
                f'<limit lower="{numbers([hinged.low[k]])}" upper="{numbers([hinged.high[k]])}" '
                f'effort="{EFFORT:g}" velocity="{VELOCITY:g}"/>'
            )
            inner = [f'<axis xyz="{numbers(hinged.axes[k])}"/>', limit]
            lines += _joint_lines(hinge, "revolute", above, links[k], position, rotation, inner)
            above, position, rotation = links[k], np.zeros(3), quat.IDENTITY
    return "\n".join([*lines, "</robot>"]) + "\n"


def roll_pitch_yaw(rotation: Quats) -> Floats:
    """Return the angles (3,), in radians, of rotations about the fixed axes x, y, z in turn."""
    return np.asarray(quat.to_euler(rotation, "ZYX")[..., ::-1])


def _joint_lines(
    name: str,
    kind: str,
    parent: str,
    child: str,
    position: Vectors,
    rotation: Quats,
    inner: Sequence[str] = (),
) -> list[str]:
    return [
        f'  <joint name={quoteattr(name)} type="{kind}">',
        f"    <parent link={quoteattr(parent)}/><child link={quoteattr(child)}/>",
        f'    <origin xyz="{numbers(position)}" rpy="{numbers(roll_pitch_yaw(rotation))}"/>',
        *(f"    {line}" for line in inner),
        "  </joint>",
    ]


def _link_lines(name: str, mass: RigidMass, segments: Sequence[BodyCapsule] = ()) -> list[str]:
    """Return a link with its mass and inertia, and its capsules as cylinders."""
    lines = []
    for capsule in segments:
        angles = roll_pitch_yaw(quat.between(np.array([0.0, 0.0, 1.0]), capsule.axis))
        shape = (
            f'<cylinder radius="{capsule.radius:.6g}" length="{max(capsule.length, 1e-3):.6g}"/>'
        )
        origin = f'<origin xyz="{numbers(capsule.center)}" rpy="{numbers(angles)}"/>'
        lines += [
            f"    <{tag}>{origin}<geometry>{shape}</geometry></{tag}>"
            for tag in ("visual", "collision")
        ]
    inertia = " ".join(
        f'i{"xyz"[row]}{"xyz"[column]}="{numbers([mass.inertia[row, column]])}"'
        for row in range(3)
        for column in range(row, 3)
    )
    return [
        f"  <link name={quoteattr(name)}>",
        f'    <inertial><origin xyz="{numbers(mass.center)}"/>'
        f'<mass value="{numbers([mass.mass])}"/><inertia {inertia}/></inertial>',
        *lines,
        "  </link>",
    ]


write_urdf = partial(export_body, urdf_text, False)
