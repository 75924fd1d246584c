"""OpenSim: CustomJoints with three clamped coordinates, or with curves of one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import Figure
from ..model import LimitModel
from . import Exported, Progress
from .body import capsules_by_joint, total_mass, upright
from .coupled import CoupledJoint, coupled_note, split_model
from .hinged import HingedBody, HingedJoint, Loss, export_body, hinged_body, loss_lines
from .mjcf import comment_text, hinge_names, numbers

VERSION = 40500
MIN_INERTIA = 1e-4  # kg·m² about any axis: lighter bodies make the integrator slow


def opensim_text(
    body: HingedBody,
    *,
    name: str = "synovia",
    mass: float = 75.0,
    coupled: Mapping[str, CoupledJoint] | None = None,
    losses: Mapping[str, Loss] | None = None,
) -> str:
    """Return a model of the whole body; lengths are metres, angles radians, y is up.

    Coordinates are clamped to their ranges; joints without a limit are welded. Joints that are
    `coupled` go along curves of one coordinate, and `losses` say what that means; of several with
    the same coordinate, the first has it, and those of the others are constrained to it.
    """
    skeleton, segments = body.skeleton, capsules_by_joint(body.skeleton, mass)
    # OpenSim's ground has y up.
    stand = quat.mul(quat.exp(np.array([-0.5 * np.pi, 0.0, 0.0])), upright(skeleton))
    bodies, joints, constraints = [], [], list[str]()
    owners: dict[str, str] = {}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        title = element_name(skeleton.names[joint])
        mass_of_body = total_mass(segments[joint])
        inertia = mass_of_body.inertia
        inertia += max(0.0, MIN_INERTIA - np.linalg.eigvalsh(inertia)[0]) * np.eye(3)
        moments = [*inertia.diagonal(), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        bodies += [
            f"<Body name={quoteattr(title)}><mass>{mass_of_body.mass:.6g}</mass>"
            f"<mass_center>{numbers(mass_of_body.center)}</mass_center>"
            f"<inertia>{' '.join(f'{capsule:.6g}' for capsule in moments)}</inertia></Body>"
        ]
        if parent < 0:
            joints += _joint(
                "FreeJoint", title, "/ground", skeleton.offsets[joint] * 0.0, stand, []
            )
            continue
        above = f"/bodyset/{element_name(skeleton.names[parent])}"
        own_name = skeleton.names[joint]
        hinged, curved = body.joints.get(own_name), (coupled or {}).get(own_name)
        kind, rotation, inner = "WeldJoint", quat.IDENTITY, []
        if curved is not None:
            kind, rotation = "CustomJoint", curved.reference
            first = owners.setdefault(curved.coordinate, own_name)
            coordinate = element_name(curved.coordinate)
            if first != own_name:
                coordinate, leader = f"{title}.{coordinate}", coordinate
                constraints += [_constraint(coordinate, leader)]
            inner = _curves(curved, coordinate)
        elif hinged is not None:
            kind, rotation, inner = "CustomJoint", hinged.reference, _coordinates(hinged)
        joints += _joint(kind, title, above, skeleton.offsets[joint], rotation, inner)
    loss_text = loss_lines({**body.losses, **(losses or {})}, body.notes)
    constraint_set = ["<ConstraintSet><objects>", *constraints, "</objects></ConstraintSet>"]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Joint limits by Synovia. Angles in radians; shares are of all rotations. -->",
        *(f"<!-- {comment_text(line)} -->" for line in loss_text),
        f'<OpenSimDocument Version="{VERSION}"><Model name={quoteattr(element_name(name))}>',
        "<BodySet><objects>",
        *bodies,
        "</objects></BodySet><JointSet><objects>",
        *joints,
        "</objects></JointSet>",
        *(constraint_set if constraints else ()),
        "</Model></OpenSimDocument>",
    ]
    return "\n".join(lines) + "\n"


def element_name(name: str) -> str:
    """Return a name that is valid in OpenSim: letters, digits, and `_.-`."""
    return "".join(letter if letter.isalnum() or letter in "_.-" else "_" for letter in name)


def _joint(
    kind: str, title: str, above: str, position: Vectors, rotation: Quats, inner: list[str]
) -> list[str]:
    angles = quat.to_euler(rotation, "XYZ")
    return [
        f"<{kind} name={quoteattr(f'{title}_joint')}>",
        "<socket_parent_frame>above</socket_parent_frame>",
        "<socket_child_frame>below</socket_child_frame>",
        *inner[:-1],
        f'<frames><PhysicalOffsetFrame name="above"><socket_parent>{escape(above)}</socket_parent>'
        f"<translation>{numbers(position)}</translation><orientation>{numbers(angles)}</orientation>"
        '</PhysicalOffsetFrame><PhysicalOffsetFrame name="below">'
        f"<socket_parent>/bodyset/{escape(title)}</socket_parent></PhysicalOffsetFrame></frames>",
        *inner[-1:],
        f"</{kind}>",
    ]


LINEAR = '<LinearFunction name="function"><coefficients>1 0</coefficients></LinearFunction>'
ZERO = '<Constant name="function"><value>0</value></Constant>'


def _coordinates(joint: HingedJoint) -> list[str]:
    names = [element_name(hinge) for hinge in hinge_names(joint)]
    middle = 0.5 * (joint.low + joint.high)
    coordinates = [_coordinate(names[k], middle[k], joint.low[k], joint.high[k]) for k in range(3)]
    axes = [_axis(f"rotation{k + 1}", joint.axes[k], names[k], LINEAR) for k in range(3)]
    axes += [_axis(f"translation{k + 1}", np.eye(3)[k], "", ZERO) for k in range(3)]
    return _transform(coordinates, axes)


def _curves(joint: CoupledJoint, name: str) -> list[str]:
    coordinates = [_coordinate(name, joint.neutral, joint.knots[0], joint.knots[-1])]
    axes = []
    for kind, directions, values in (
        ("rotation", joint.axes, joint.angles),
        ("translation", np.eye(3), joint.shifts),
    ):
        for k in range(3):
            curve = (
                f'<SimmSpline name="function"><x>{numbers(joint.knots)}</x>'
                f"<y>{numbers(values[:, k])}</y></SimmSpline>"
            )
            axes += [_axis(f"{kind}{k + 1}", directions[k], name, curve)]
    return _transform(coordinates, axes)


def _coordinate(name: str, default: float, low: float, high: float) -> str:
    return (
        f"<Coordinate name={quoteattr(name)}><default_value>{numbers([default])}</default_value>"
        f"<range>{numbers([low, high])}</range><clamped>true</clamped></Coordinate>"
    )


def _axis(title: str, direction: Floats, coordinate: str, function: str) -> str:
    named = f"<coordinates>{escape(coordinate)}</coordinates>" if coordinate else ""
    return (
        f'<TransformAxis name="{title}">{named}<axis>{numbers(direction)}</axis>{function}'
        "</TransformAxis>"
    )


def _transform(coordinates: list[str], axes: list[str]) -> list[str]:
    return [
        f"<coordinates>{''.join(coordinates)}</coordinates>",
        f"<SpatialTransform>{''.join(axes)}</SpatialTransform>",
    ]


def _constraint(coordinate: str, leader: str) -> str:
    """Return the constraint that a coordinate equals another."""
    return (
        f"<CoordinateCouplerConstraint name={quoteattr(f'{coordinate}.coupler')}>"
        "<coupled_coordinates_function><LinearFunction><coefficients>1 0</coefficients>"
        "</LinearFunction></coupled_coordinates_function>"
        f"<independent_coordinate_names>{escape(leader)}</independent_coordinate_names>"
        f"<dependent_coordinate_name>{escape(coordinate)}</dependent_coordinate_name>"
        "<scale_factor>1</scale_factor></CoordinateCouplerConstraint>"
    )


def write_opensim_curves(
    model: LimitModel, figure: Figure, name: str, mass: float, progress: Progress
) -> Exported:
    """Return a model whose joints that one control of `figure` moves are curves of it."""
    others, coupled, losses = split_model(model, figure)
    body = hinged_body(others, slanted=False, progress=progress)
    text = opensim_text(body, name=name, mass=mass, coupled=coupled, losses=losses)
    notes = {name: coupled_note(joint, model.limits.get(name)) for name, joint in coupled.items()}
    return Exported(text.encode(), body.losses | losses, body.notes | notes)


write_opensim = partial(export_body, opensim_text, False)
