"""OpenSim: a CustomJoint a joint, with three clamped coordinates; ranges alone."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from .hinged import HingedBody, HingedJoint, loss_lines, upright
from .mass import capsules
from .mjcf import comment_text, hinge_names, numbers

VERSION = 40500
SMALL_INERTIA = 1e-4
"""kg·m² that a body has at least about each axis."""


def opensim_text(body: HingedBody, *, name: str = "synovia", mass: float = 75.0) -> str:
    """Return a model of the whole body; lengths are metres, angles radians, y is up.

    Coordinates are clamped to their ranges; joints without a limit are welded.
    """
    skeleton, segments = body.skeleton, capsules(body.skeleton, mass)
    # OpenSim's ground has y up.
    stand = quat.mul(quat.exp(np.array([-0.5 * np.pi, 0.0, 0.0])), upright(skeleton))
    bodies, joints = [], []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        title = element_name(skeleton.names[joint])
        own = [each for each in segments if each.joint == joint]
        total = sum(each.mass for each in own)
        middle = (
            sum((each.mass * 0.5 * (each.start + each.end) for each in own), np.zeros(3)) / total
        )
        size = max(max(float(np.linalg.norm(each.end - each.start)) for each in own), 0.05)
        inertia = max(total * size**2 / 12.0, SMALL_INERTIA)
        bodies += [
            f"<Body name={quoteattr(title)}><mass>{total:.6g}</mass>"
            f"<mass_center>{numbers(middle)}</mass_center>"
            f"<inertia>{inertia:.6g} {inertia:.6g} {inertia:.6g} 0 0 0</inertia></Body>"
        ]
        if parent < 0:
            joints += _joint(
                "FreeJoint", title, "/ground", skeleton.offsets[joint] * 0.0, stand, []
            )
            continue
        above = f"/bodyset/{element_name(skeleton.names[parent])}"
        hinged = body.joints.get(skeleton.names[joint])
        turn = quat.IDENTITY if hinged is None else hinged.reference
        kind = "WeldJoint" if hinged is None else "CustomJoint"
        inner = [] if hinged is None else _coordinates(hinged)
        joints += _joint(kind, title, above, skeleton.offsets[joint], turn, inner)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Joint limits by Synovia. Angles in radians; shares are of all rotations. -->",
        *(f"<!-- {comment_text(line)} -->" for line in loss_lines(body.losses, body.notes)),
        f'<OpenSimDocument Version="{VERSION}"><Model name={quoteattr(element_name(name))}>',
        "<BodySet><objects>",
        *bodies,
        "</objects></BodySet><JointSet><objects>",
        *joints,
        "</objects></JointSet></Model></OpenSimDocument>",
    ]
    return "\n".join(lines) + "\n"


def element_name(name: str) -> str:
    """Return a name as OpenSim takes it, without slashes, spaces and other signs."""
    return "".join(letter if letter.isalnum() or letter in "_.-" else "_" for letter in name)


def _joint(
    kind: str, title: str, above: str, place: Vectors, turn: Quats, inner: list[str]
) -> list[str]:
    angles = quat.to_euler(turn, "XYZ")
    return [
        f"<{kind} name={quoteattr(f'{title}_joint')}>",
        "<socket_parent_frame>above</socket_parent_frame>",
        "<socket_child_frame>below</socket_child_frame>",
        *inner[:-1],
        f'<frames><PhysicalOffsetFrame name="above"><socket_parent>{escape(above)}</socket_parent>'
        f"<translation>{numbers(place)}</translation><orientation>{numbers(angles)}</orientation>"
        '</PhysicalOffsetFrame><PhysicalOffsetFrame name="below">'
        f"<socket_parent>/bodyset/{escape(title)}</socket_parent></PhysicalOffsetFrame></frames>",
        *inner[-1:],
        f"</{kind}>",
    ]


def _coordinates(joint: HingedJoint) -> list[str]:
    names = [element_name(hinge) for hinge in hinge_names(joint)]
    middle = 0.5 * (joint.low + joint.high)
    held = [
        f"<Coordinate name={quoteattr(names[k])}><default_value>{numbers([middle[k]])}"
        f"</default_value><range>{numbers([joint.low[k], joint.high[k]])}</range>"
        "<clamped>true</clamped></Coordinate>"
        for k in range(3)
    ]
    axes = [
        f'<TransformAxis name="rotation{k + 1}"><coordinates>{escape(names[k])}</coordinates>'
        f'<axis>{numbers(joint.axes[k])}</axis><LinearFunction name="function">'
        "<coefficients>1 0</coefficients></LinearFunction></TransformAxis>"
        for k in range(3)
    ]
    axes += [
        f'<TransformAxis name="translation{k + 1}"><axis>{numbers(np.eye(3)[k])}</axis>'
        '<Constant name="function"><value>0</value></Constant></TransformAxis>'
        for k in range(3)
    ]
    return [
        f"<coordinates>{''.join(held)}</coordinates>",
        f"<SpatialTransform>{''.join(axes)}</SpatialTransform>",
    ]
