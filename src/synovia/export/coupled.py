"""Joints moved by one control of a figure, as curves of one coordinate: knees in OpenSim."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quat
from ..arrays import Floats, Points, Quats, Vectors
from ..charts import Hinges
from ..components import DEGREE, Control, Curve, Figure
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Skeleton
from .body import in_metres
from .hinged import Loss, measured_note

KNOTS, MAX_REFINEMENTS = 25, 16  # initial knots of a curve; bisections of its intervals
MAX_ERROR = 1e-7  # radians, or the figure's unit: of a spline halfway between two knots
MIN_COSINE = np.cos(np.radians(5.0))  # of the angle between a bone and the figure's
SAMPLES = 1000  # legal rotations, and points of the curve, between which distances are measured


@dataclass(frozen=True, eq=False)
class CoupledJoint:
    """A joint on a curve: position(t) and reference · a1(θ1) · a2(θ2) · a3(θ3).

    `knots` (n,) are values of the `coordinate`, in radians where it is an angle, from one end of
    its range to the other and `neutral` between them; at each of them are `angles` (n, 3) about the
    `axes`, in radians, and `shifts` (n, 3) along the axes of the reference, in metres.
    """

    name: str
    coordinate: str
    neutral: float
    knots: Floats
    reference: Quats
    axes: Floats
    angles: Points
    shifts: Vectors


def coupled_joints(skeleton: Skeleton, figure: Figure) -> dict[str, CoupledJoint]:
    """Return the joints of a skeleton that one control of `figure` moves by itself, by name.

    The skeleton has the figure's segments, with their names and rest frames, in any size: the
    displacement of a joint is scaled by the length of the bone above.
    """
    skeleton, theirs = in_metres(skeleton), figure.skeleton
    joints = {}
    for title, joint_set in figure.joint_sets.items():
        if len(joint_set.controls) != 1:
            continue
        ((control, span),) = joint_set.controls.items()
        coordinate = f"{title}.{control}"
        values = _values_along(figure, coordinate, span)
        pose = figure.pose({coordinate: values})
        for name in joint_set.network.outputs:
            if name not in skeleton.names:
                continue
            joint, segment = skeleton.index(name), theirs.index(name)
            bones = skeleton.offsets[joint], theirs.offsets[segment]
            lengths = [float(np.linalg.norm(bone)) for bone in bones]
            if _parent(skeleton, joint) != (above := _parent(theirs, segment)):
                raise ValueError(
                    f"{name} must hang from {above}, as in the figure {figure.name}, for its "
                    f"curves to fit, got {_parent(skeleton, joint)}"
                )
            if min(lengths) == 0.0 or bones[0] @ bones[1] < MIN_COSINE * lengths[0] * lengths[1]:
                raise ValueError(
                    f"{name} must lie in the same direction from {above} as in the figure "
                    f"{figure.name}, for its curves to fit, got {bones[0]} and there {bones[1]}"
                )
            rotations = pose.rotations[:, segment]
            chart = Hinges(quat.mean(rotations)).align(rotations)
            size = lengths[0] / lengths[1]
            moved = pose.positions[:, segment] - theirs.offsets[segment]
            joints[name] = CoupledJoint(
                name,
                coordinate,
                float(_in_radians(span, span.neutral)),
                _in_radians(span, values),
                chart.reference,
                chart.in_joint(chart.axes) + 0.0,
                chart.follow(chart.points(rotations)),
                quat.rotate(quat.inverse(chart.reference), size * moved),
            )
    return joints


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


def measure_curve(limit: Limit, joint: CoupledJoint, figure: Figure) -> Loss:
    """Return the loss of a curve that replaces a limit. A curve has no volume, so it loses all.

    The angles are the largest from the curve to the limit, and from the limit to the curve.
    """
    title, _, control = joint.coordinate.partition(".")
    span = figure.joint_sets[title].controls[control]
    pose = figure.pose({joint.coordinate: np.linspace(span.low, span.high, SAMPLES)})
    along = pose.rotations[:, figure.skeleton.index(joint.name)]
    members = limit.sample(SAMPLES, np.random.default_rng(0))
    nearest = 2.0 * np.arccos(np.minimum(np.abs(members @ along.T).max(axis=1), 1.0))
    share = limit.volume()
    return Loss(share, 0.0, share, float(limit.correction(along).max()), float(nearest.max()))


def coupled_note(joint: CoupledJoint, limit: Limit | None) -> str:
    """Return a note about a joint."""
    note = f"goes along curves of {joint.coordinate}"
    if limit is None or limit.relative_to is None:
        return note
    return f"{note}; {measured_note(limit.relative_to)}"


def split_model(
    model: LimitModel, figure: Figure
) -> tuple[LimitModel, dict[str, CoupledJoint], dict[str, Loss]]:
    """Return the limits of joints without curves, the joints with curves, and their losses."""
    joints = coupled_joints(model.skeleton, figure)
    if not joints:
        raise ValueError(
            f"the limits are of no joint that one control of the figure {figure.name} moves, got "
            "other names: `synovia figure … -o own.limits.json` writes limits of its own segments"
        )
    losses = {
        name: measure_curve(model.limits[name], joint, figure)
        for name, joint in joints.items()
        if name in model.limits
    }
    others = {name: limit for name, limit in model.limits.items() if name not in joints}
    return LimitModel(others, model.skeleton), joints, losses


def _parent(skeleton: Skeleton, joint: int) -> str:
    parent = int(skeleton.parents[joint])
    return skeleton.names[parent] if parent >= 0 else "nothing"


def _in_radians(control: Control, values: Floats | float) -> Floats:
    return np.asarray(values) * (DEGREE if control.unit == "degrees" else 1.0)
