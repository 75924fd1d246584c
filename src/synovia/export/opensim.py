"""OpenSim: CustomJoints with three clamped coordinates, or with curves of one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import Figure
from ..io.xml import Element
from ..model import LimitModel
from . import Exported, Progress
from .body import capsules_by_joint, total_mass, upright
from .coupled import CoupledJoint, coupled_note, split_model
from .hinged import HingedBody, HingedJoint, Loss, export_body, hinged_body, loss_lines
from .xml import document_text, element

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
    bodies, joints, constraints = list[Element](), list[Element](), list[Element]()
    owners: dict[str, str] = {}
    for joint, parent in enumerate(skeleton.parents.tolist()):
        name_of_joint = skeleton.names[joint]
        title = element_name(name_of_joint)
        mass_of_body = total_mass(segments[joint])
        inertia = mass_of_body.inertia
        inertia += max(0.0, MIN_INERTIA - np.linalg.eigvalsh(inertia)[0]) * np.eye(3)
        moments = [*inertia.diagonal(), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        bodies.append(
            element(
                "Body",
                element("mass", f"{mass_of_body.mass:.6g}"),
                element("mass_center", mass_of_body.center),
                element("inertia", " ".join(f"{moment:.6g}" for moment in moments)),
                name=title,
            )
        )
        if parent < 0:
            joints.append(_joint("FreeJoint", title, "/ground", np.zeros(3), stand))
            continue
        above = f"/bodyset/{element_name(skeleton.names[parent])}"
        hinged, curved = body.joints.get(name_of_joint), (coupled or {}).get(name_of_joint)
        kind, rotation, inner = "WeldJoint", quat.IDENTITY, list[Element]()
        if curved is not None:
            kind, rotation = "CustomJoint", curved.reference
            first = owners.setdefault(curved.coordinate, name_of_joint)
            coordinate = element_name(curved.coordinate)
            if first != name_of_joint:
                coordinate, leader = f"{title}.{coordinate}", coordinate
                constraints.append(_constraint(coordinate, leader))
            inner = _curves(curved, coordinate)
        elif hinged is not None:
            kind, rotation, inner = "CustomJoint", hinged.reference, _coordinates(hinged)
        joints.append(_joint(kind, title, above, skeleton.offsets[joint], rotation, inner))
    sets = {"BodySet": bodies, "JointSet": joints, "ConstraintSet": constraints}
    model = element(
        "Model",
        *(element(tag, element("objects", *parts)) for tag, parts in sets.items() if parts),
        name=element_name(name),
    )
    return document_text(
        element("OpenSimDocument", model, Version=str(VERSION)),
        [
            "Joint limits by Synovia. Angles in radians; shares are of all rotations.",
            *loss_lines({**body.losses, **(losses or {})}, body.notes),
        ],
    )


def element_name(name: str) -> str:
    """Return a name that is valid in OpenSim: letters, digits, and `_.-`."""
    return "".join(letter if letter.isalnum() or letter in "_.-" else "_" for letter in name)


def _joint(
    kind: str,
    title: str,
    above: str,
    position: Vectors,
    rotation: Quats,
    inner: list[Element] | None = None,
) -> Element:
    """Return a joint; `inner` are its coordinates and its transform."""
    coordinates, transform = (inner[:-1], inner[-1:]) if inner else ([], [])
    frames = element(
        "frames",
        element(
            "PhysicalOffsetFrame",
            element("socket_parent", above),
            element("translation", position),
            element("orientation", quat.to_euler(rotation, "XYZ")),
            name="above",
        ),
        element("PhysicalOffsetFrame", element("socket_parent", f"/bodyset/{title}"), name="below"),
    )
    return element(
        kind,
        element("socket_parent_frame", "above"),
        element("socket_child_frame", "below"),
        *coordinates,
        frames,
        *transform,
        name=f"{title}_joint",
    )


def _linear() -> Element:
    return element("LinearFunction", element("coefficients", "1 0"), name="function")


def _coordinates(joint: HingedJoint) -> list[Element]:
    coordinates, axes = [], []
    for k, (hinge, direction, low, high) in enumerate(joint.hinges(), start=1):
        name = element_name(hinge)
        coordinates.append(_coordinate(name, 0.5 * (low + high), low, high))
        axes.append(_axis(f"rotation{k}", direction, name, _linear()))
    for k, direction in enumerate(np.eye(3), start=1):
        zero = element("Constant", element("value", "0"), name="function")
        axes.append(_axis(f"translation{k}", direction, "", zero))
    return [element("coordinates", *coordinates), element("SpatialTransform", *axes)]


def _curves(joint: CoupledJoint, name: str) -> list[Element]:
    coordinate = _coordinate(name, joint.neutral, joint.knots[0], joint.knots[-1])
    axes = []
    for kind, directions, values in (
        ("rotation", joint.axes, joint.angles),
        ("translation", np.eye(3), joint.shifts),
    ):
        for k in range(3):
            spline = element(
                "SimmSpline",
                element("x", joint.knots),
                element("y", values[:, k]),
                name="function",
            )
            axes.append(_axis(f"{kind}{k + 1}", directions[k], name, spline))
    return [element("coordinates", coordinate), element("SpatialTransform", *axes)]


def _coordinate(name: str, default: float, low: float, high: float) -> Element:
    return element(
        "Coordinate",
        element("default_value", default),
        element("range", [low, high]),
        element("clamped", "true"),
        name=name,
    )


def _axis(title: str, direction: Floats, coordinate: str, function: Element) -> Element:
    names = [element("coordinates", coordinate)] if coordinate else []
    return element("TransformAxis", *names, element("axis", direction), function, name=title)


def _constraint(coordinate: str, leader: str) -> Element:
    """Return the constraint that a coordinate equals another."""
    return element(
        "CoordinateCouplerConstraint",
        element("coupled_coordinates_function", _linear()),
        element("independent_coordinate_names", leader),
        element("dependent_coordinate_name", coordinate),
        element("scale_factor", "1"),
        name=f"{coordinate}.coupler",
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
