"""OpenSim: CustomJoints with three clamped coordinates, or with curves of one coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors
from ..charts import Hinges
from ..components import DEGREE, Control, Curve, Figure
from ..io.xml import Element
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Skeleton
from . import Exported, Progress
from .body import capsules, in_metres, total_mass, upright
from .hinged import (
    HingedBody,
    HingedJoint,
    Loss,
    document_text,
    element,
    hinged_body,
    measured_note,
)

VERSION = 40500
MIN_INERTIA = 1e-4  # kg·m² about any axis: lighter bodies make the integrator slow
KNOTS, MAX_REFINEMENTS = 25, 16  # initial knots of a curve; bisections of its intervals
MAX_ERROR = 1e-7  # radians, or the figure's unit: of a spline halfway between two knots
MIN_COSINE = np.cos(np.radians(5.0))  # of the angle between a bone and the figure's
SAMPLES = 1000  # legal rotations, and points of the curve, between which distances are measured


def opensim_text(
    body: HingedBody,
    *,
    name: str = "synovia",
    mass: float = 75.0,
    coupled: Mapping[str, CoupledJoint] | None = None,
) -> str:
    """Return a model of the whole body; lengths are metres, angles radians, y is up.

    Coordinates are clamped to their ranges; joints without a limit are welded. Joints that are
    `coupled` go along curves of one coordinate; of several with the same coordinate, the first has
    it, and those of the others are constrained to it.
    """
    coupled = coupled or {}
    skeleton, segments = body.skeleton, capsules(body.skeleton, mass)
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
        hinged, curved = body.joints.get(name_of_joint), coupled.get(name_of_joint)
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
    about = ["Joint limits by Synovia. Angles in radians; shares are of all rotations."]
    losses = body.losses | {name: joint.loss for name, joint in coupled.items() if joint.loss}
    notes = body.notes | {name: joint.note for name, joint in coupled.items()}
    root = element("OpenSimDocument", model, Version=str(VERSION))
    return document_text(root, about, losses, notes)


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
    """Return the coordinates of three hinges, and the transform that follows them."""
    coordinates, axes = [], []
    for k, (hinge, direction, low, high) in enumerate(joint.hinges()):
        name = element_name(hinge)
        coordinates.append(_coordinate(name, 0.5 * (low + high), low, high))
        axes.append(_axis("rotation", k, direction, name, _linear()))
    zero = element("Constant", element("value", "0"), name="function")
    axes += [_axis("translation", k, direction, "", zero) for k, direction in enumerate(np.eye(3))]
    return [element("coordinates", *coordinates), element("SpatialTransform", *axes)]


def _curves(joint: CoupledJoint, name: str) -> list[Element]:
    """Return the coordinate of a curve, and the transform with a spline for each axis."""
    coordinate = _coordinate(name, joint.neutral, joint.knots[0], joint.knots[-1])

    def spline(values: Floats) -> Element:
        knots = element("x", joint.knots), element("y", values)
        return element("SimmSpline", *knots, name="function")

    axes = [
        _axis(kind, k, directions[k], name, spline(values[:, k]))
        for kind, directions, values in (
            ("rotation", joint.axes, joint.angles),
            ("translation", np.eye(3), joint.shifts),
        )
        for k in range(3)
    ]
    return [element("coordinates", coordinate), element("SpatialTransform", *axes)]


def _coordinate(name: str, default: float, low: float, high: float) -> Element:
    return element(
        "Coordinate",
        element("default_value", default),
        element("range", [low, high]),
        element("clamped", "true"),
        name=name,
    )


def _axis(kind: str, k: int, direction: Floats, coordinate: str, function: Element) -> Element:
    """Return the axis at index `k` of a transform, and the function of a coordinate along it."""
    names = [element("coordinates", coordinate)] if coordinate else []
    parts = (*names, element("axis", direction), function)
    return element("TransformAxis", *parts, name=f"{kind}{k + 1}")


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


@dataclass(frozen=True, eq=False)
class CoupledJoint:
    """A joint on a curve: position(t) and reference · a1(θ1) · a2(θ2) · a3(θ3).

    `knots` (n,) are values of the `coordinate`, in radians where it is an angle, from one end of
    its range to the other and `neutral` between them; at each of them are `angles` (n, 3) about the
    `axes`, in radians, and `shifts` (n, 3) along the axes of the reference, in metres. The loss is
    None for a joint without a limit.
    """

    coordinate: str
    neutral: float
    knots: Floats
    reference: Quats
    axes: Floats
    angles: Points
    shifts: Vectors
    loss: Loss | None
    note: str


def coupled_joints(model: LimitModel, figure: Figure) -> dict[str, CoupledJoint]:
    """Return the joints of a model that one control of `figure` moves by itself, by name.

    The skeleton has the figure's segments, with their names and rest frames, in any size: the
    displacement of a joint is scaled by the length of the bone above.
    """
    skeleton, joints = in_metres(model.skeleton), {}
    for title, joint_set in figure.joint_sets.items():
        if len(joint_set.controls) != 1:
            continue
        ((control, span),) = joint_set.controls.items()
        coordinate = f"{title}.{control}"
        values = _values_along(figure, coordinate, span)
        pose = figure.pose({coordinate: values})
        even = figure.pose({coordinate: np.linspace(span.low, span.high, SAMPLES)})
        for name in joint_set.network.outputs:
            if name not in skeleton.names:
                continue
            segment, limit = figure.skeleton.index(name), model.limits.get(name)
            size = _relative_size(skeleton, figure, name)
            rotations = pose.rotations[:, segment]
            chart = Hinges(quat.mean(rotations)).align(rotations)
            moved = pose.positions[:, segment] - figure.skeleton.offsets[segment]
            notes = [f"goes along curves of {coordinate}"]
            notes += [measured_note(limit)] if limit is not None else []
            joints[name] = CoupledJoint(
                coordinate,
                float(_in_radians(span, span.neutral)),
                _in_radians(span, values),
                chart.reference,
                chart.in_joint(chart.axes) + 0.0,
                chart.follow(chart.points(rotations)),
                quat.rotate(quat.inverse(chart.reference), size * moved),
                None if limit is None else measure_curve(limit, even.rotations[:, segment]),
                "; ".join(filter(None, notes)),
            )
    if not joints:
        raise ValueError(
            f"the limits are of no joint that one control of the figure {figure.name} moves, got "
            "other names: `synovia figure … -o own.limits.json` writes limits of its own segments"
        )
    return joints


def _relative_size(skeleton: Skeleton, figure: Figure, name: str) -> float:
    """Return the length of the bone to a joint, in lengths of the figure's bone.

    Raises ValueError unless both have the same parent and direction.
    """
    skeletons = (skeleton, figure.skeleton)
    joints = [one.index(name) for one in skeletons]
    bones = [one.offsets[joint] for one, joint in zip(skeletons, joints, strict=True)]
    ours, theirs = (
        one.names[one.parents[joint]] if one.parents[joint] >= 0 else "nothing"
        for one, joint in zip(skeletons, joints, strict=True)
    )
    if ours != theirs:
        raise ValueError(
            f"{name} must hang from {theirs}, as in the figure {figure.name}, for its curves to "
            f"fit, got {ours}"
        )
    lengths = np.linalg.norm(bones, axis=1)
    if lengths.min() == 0.0 or bones[0] @ bones[1] < MIN_COSINE * lengths.prod():
        raise ValueError(
            f"{name} must lie in the same direction from {theirs} as in the figure {figure.name}, "
            f"for its curves to fit, got {bones[0]} and there {bones[1]}"
        )
    return float(lengths[0] / lengths[1])


def _values_along(figure: Figure, coordinate: str, span: Control) -> Floats:
    """Return values of a control (n,), dense enough for splines to follow the segments.

    They are densest at kinks, where a curve of the figure ends and becomes constant.
    """
    title = coordinate.partition(".")[0]
    segments = [figure.skeleton.index(n) for n in figure.joint_sets[title].network.outputs]

    def numbers(values: Floats) -> Floats:
        pose = figure.pose({coordinate: values})
        rotations, middle = pose.rotations[:, segments], pose.rotations[len(values) // 2, segments]
        rotations = rotations * np.copysign(1.0, (rotations * middle).sum(axis=-1, keepdims=True))
        moved = np.concatenate([rotations, pose.positions[:, segments]], axis=-1)
        return moved.reshape(len(values), -1)

    values = np.linspace(span.low, span.high, KNOTS)
    for _ in range(MAX_REFINEMENTS):
        halfway = 0.5 * (values[:-1] + values[1:])
        columns = [Curve(values, column, "spline")(halfway) for column in numbers(values).T]
        off = np.abs(np.stack(columns, axis=1) - numbers(halfway)).max(axis=1)
        if not (off > MAX_ERROR).any():
            break
        values = np.sort(np.concatenate([values, halfway[off > MAX_ERROR]]))
    return values


def measure_curve(limit: Limit, along: Quats) -> Loss:
    """Return the loss of a curve, rotations (n, 4), that replaces a limit.

    A curve has no volume, so it loses all. The angles are the largest from the curve to the limit,
    and from the limit to the curve.
    """
    members = limit.sample(SAMPLES, np.random.default_rng(0))
    nearest = 2.0 * np.arccos(np.minimum(np.abs(members @ along.T).max(axis=1), 1.0))
    share = limit.volume()
    return Loss(share, 0.0, share, float(limit.correction(along).max()), float(nearest.max()))


def _in_radians(control: Control, values: Floats | float) -> Floats:
    return np.asarray(values) * (DEGREE if control.unit == "degrees" else 1.0)


def write_opensim(
    model: LimitModel, name: str, mass: float, progress: Progress, figure: Figure | None = None
) -> Exported:
    """Return a model of hinges; joints that one control of `figure` moves are curves of it."""
    coupled = {} if figure is None else coupled_joints(model, figure)
    others = {title: limit for title, limit in model.limits.items() if title not in coupled}
    body = hinged_body(LimitModel(others, model.skeleton), slanted=False, progress=progress)
    losses = {title: joint.loss for title, joint in coupled.items() if joint.loss is not None}
    notes = {title: joint.note for title, joint in coupled.items()}
    text = opensim_text(body, name=name, mass=mass, coupled=coupled)
    return Exported(text.encode(), body.losses | losses, body.notes | notes)
