"""Clinical angles at the page: of a joint in a pose, over the clip, as tables and as a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..arrays import TOLERANCE, Floats, Within
from ..population import (
    ClipAngles,
    HumanLimits,
    clinical_axes,
    clip_angles,
    joint_name,
    limits_on,
)
from ..population.angles import ends_of
from ..population.bands import ClinicalJoint, joint_bands
from ..population.motion import RANGE_COLUMNS, AngleCurve
from ..rigs import Alignment
from ..skeleton import Pose, forward
from ..text import csv_text, file_stem
from .drags import FigureRequest, Pulled, TurnRequest, rotate_joint
from .folder import human_source
from .human import alignment_of, links_of
from .messages import Empty, JointRequest
from .poses import JointPoseRequest, PoseAnswer, pose_answer, pose_from
from .scene import Scene
from .session import Session


@dataclass(frozen=True, kw_only=True)
class ClinicalAngle:
    """The angle of a joint along a clinical axis, and how far it can go."""

    name: str
    """The motion in the positive direction, such as "flexion"."""
    opposite: str
    deg: float
    low_deg: float | None
    """The least legal angle, the others being as they are; null where no limit ends it."""
    high_deg: float | None
    is_possible: bool
    """True if any angle along the axis is legal."""
    least_deg: float
    """The least angle of the axis, legal or not."""
    most_deg: float


@dataclass(frozen=True, kw_only=True)
class JointAngles:
    """The clinical angles of a joint in a pose."""

    joint: str
    name: str
    """The common name of the joint; empty if it has no clinical angles."""
    axes: list[ClinicalAngle]


@dataclass(frozen=True, kw_only=True)
class AngleRequest(FigureRequest):
    """A request for the pose with a joint at an angle along one of its clinical axes."""

    joint: str
    axis: int
    deg: Annotated[float, Within(-360, 360)]
    limits: bool
    """True if the limit is kept."""


@dataclass(frozen=True, kw_only=True)
class CurveTitle:
    """The joint and the axis of a curve."""

    joint: str
    name: str
    axis: str
    opposite: str


@dataclass(frozen=True, kw_only=True)
class AngleCurves:
    """Clinical angles of a joint in each frame, and the limit's ends; NaN where none is legal."""

    curves: list[CurveTitle]
    angles_deg: Floats
    """By curve and frame."""
    low_deg: Floats
    high_deg: Floats
    usual_low_deg: Floats
    """The ends of the usual limit; empty without one."""
    usual_high_deg: Floats


@dataclass(frozen=True, kw_only=True)
class RangeRow(CurveTitle):
    """The range of motion along one axis, the frames at its ends, norm and limit."""

    min_deg: float
    min_frame: int
    max_deg: float
    max_frame: int
    norm: str
    """The published norm of both directions, such as "-4 to 142"; empty for none."""
    low_deg: float | None
    """The widest limit in the clip."""
    high_deg: float | None


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """The ranges of motion of the clip."""

    ranges: list[RangeRow]
    notes: list[str]


def human_limits_of(session: Session) -> HumanLimits | None:
    """Return the human limits of the scene; None if it has other limits, or edited ones."""
    scene = session.scene
    source, alignment = human_source(session.model), alignment_of(scene.clip)
    if source is None or alignment is None:
        return None
    human = limits_on(alignment, source)
    return human if human.model.names == scene.model.names else None


def _batch(pose: Pose) -> Pose:
    """Return a batch of one pose."""
    return Pose(pose.rotations[None], pose.positions[None])


def joint_angles(session: Session, request: JointPoseRequest) -> JointAngles:
    """Return the clinical angles of a joint in a pose, and how far it can go along each axis."""
    scene = session.scene
    linked = links_of(scene, request.joint)
    if linked is None:
        return JointAngles(joint=request.joint, name="", axes=[])
    alignment, links = linked
    angles, bands, _ = joint_bands(links, alignment, _batch(pose_from(scene, request)))
    role = links[0].role
    # Where nothing ends an axis sooner, its band ends where the axis does.
    is_end = np.isnan(bands[0]) | (np.abs(bands[0] - ends_of(role, angles[0])) < TOLERANCE)
    axes = [
        ClinicalAngle(
            name=axis.name,
            opposite=axis.opposite,
            deg=float(np.degrees(angles[0, k])),
            low_deg=_degrees(np.nan if is_end[k, 0] else bands[0, k, 0]),
            high_deg=_degrees(np.nan if is_end[k, 1] else bands[0, k, 1]),
            is_possible=not np.isnan(bands[0, k]).any(),
            least_deg=float(np.degrees(axis.low)),
            most_deg=float(np.degrees(axis.high)),
        )
        for k, axis in enumerate(clinical_axes(role))
    ]
    return JointAngles(joint=request.joint, name=joint_name(role), axes=axes)


def _degrees(angle: float) -> float | None:
    """Return an angle in degrees; None for NaN."""
    return None if np.isnan(angle) else float(np.degrees(angle))


def set_joint_angle(session: Session, request: AngleRequest) -> Pulled | PoseAnswer:
    """Return the pose with a joint at an angle along a clinical axis.

    Angles end where those of the axis do, and if limits are kept, at the limit. In a figure within
    its limits, the controls of the joint's own set change, so that its bones stay coupled.
    """
    scene = session.scene
    linked = links_of(scene, request.joint)
    if linked is None:
        raise ValueError(f"{request.joint} has no clinical angles")
    (alignment, links), pose = linked, _batch(pose_from(scene, request))
    _, bands, best = joint_bands(links, alignment, pose)
    if not 0 <= request.axis < len(best):
        raise ValueError(f"axis must be from 0 to {len(best) - 1}, got {request.axis}")
    joint = ClinicalJoint(best[request.axis], alignment, pose)
    axis, band = joint.axes[request.axis], bands[0, request.axis]
    is_limited = request.limits and not np.isnan(band).any()
    low, high = band if is_limited else (axis.low, axis.high)
    angle = float(np.clip(np.radians(request.deg), low, high))
    moved = joint.with_angle(request.axis, np.array([angle]))
    if scene.figure is None or not request.limits:
        return pose_answer(scene, Pose(moved.rotations[0], moved.positions[0]))
    moving, skeleton = joint.link.moving, scene.clip.skeleton
    fields = {name: getattr(request, name) for name in FigureRequest.__dataclass_fields__}
    turn = TurnRequest(
        **fields,
        joint=skeleton.names[moving],
        rotation=forward(skeleton, moved)[1][0, moving],
        limits=True,
    )
    return rotate_joint(session, turn)


def angle_curves(session: Session, request: JointRequest) -> AngleCurves:
    """Return the clinical angles of a joint in each frame, with the limits as bands, in degrees."""
    scene, linked = session.scene, links_of(session.scene, request.joint)
    curves: tuple[AngleCurve, ...] = ()
    usual: tuple[AngleCurve, ...] = ()
    if linked is not None:
        alignment, links = linked
        roles, model = [links[0].role], scene.model
        curves = clip_angles(model, alignment, scene.clip, roles=roles).curves
        if model.usual is not None:
            usual = clip_angles(model.usual, alignment, scene.clip, roles=roles).curves
    shape = (-1, scene.clip.frames, 2)
    bands, usual_bands = (
        np.degrees(np.array([curve.bands for curve in part]).reshape(shape))
        for part in (curves, usual)
    )
    return AngleCurves(
        curves=[CurveTitle(**_title(curve) | {"joint": request.joint}) for curve in curves],
        angles_deg=np.degrees(np.array([curve.angles for curve in curves])),
        low_deg=bands[..., 0],
        high_deg=bands[..., 1],
        usual_low_deg=usual_bands[..., 0],
        usual_high_deg=usual_bands[..., 1],
    )


def _title(curve: AngleCurve) -> dict[str, str]:
    """Return the fields of `CurveTitle`."""
    return {
        "joint": curve.joint,
        "name": joint_name(curve.role),
        "axis": curve.axis.name,
        "opposite": curve.axis.opposite,
    }


def clip_ranges(session: Session, request: Empty) -> Ranges:
    """Return the range of motion of each joint and axis of the clip."""
    angles = _clip_angles(session.scene)
    rows = [
        RangeRow(
            **_title(curve),
            min_deg=float(np.degrees(curve.least)),
            min_frame=curve.frames[0],
            max_deg=float(np.degrees(curve.most)),
            max_frame=curve.frames[1],
            norm=curve.norm_text,
            low_deg=_degrees(curve.span[0]),
            high_deg=_degrees(curve.span[1]),
        )
        for curve in angles.curves
    ]
    return Ranges(ranges=rows, notes=list(angles.notes))


def _require_alignment(scene: Scene) -> Alignment:
    """Return the alignment of the clip's rig; ValueError if it is not recognised."""
    alignment = alignment_of(scene.clip)
    if alignment is None:
        raise ValueError("angles need a human: Files, Map joints … says which joint is which")
    return alignment


def _clip_angles(scene: Scene) -> ClipAngles:
    return clip_angles(scene.model, _require_alignment(scene), scene.clip)


def angles_table(session: Session) -> tuple[str, bytes]:
    """Return name and content of a CSV with the angles, as `synovia report --csv` writes them."""
    scene = session.scene
    rows = _clip_angles(scene).curve_rows()
    return f"{file_stem(scene.clip.name)} angles.csv", csv_text(rows).encode()


def ranges_table(session: Session) -> tuple[str, bytes]:
    """Return name and content of a CSV with ranges, as `synovia report --ranges` writes them."""
    scene = session.scene
    ranges = _clip_angles(scene).range_rows(scene.model.check(scene.clip))
    return f"{file_stem(scene.clip.name)} ranges.csv", csv_text([RANGE_COLUMNS, *ranges]).encode()


def report_page(session: Session) -> tuple[str, bytes]:
    """Return name and content of the report, as `synovia report -o` writes it."""
    from ..draw.report import Recording, motion_report

    scene, human = session.scene, human_limits_of(session)
    if human is not None:
        recording = Recording.of_human(human, scene.clip)
    else:
        recording = Recording.of_model(scene.model, _require_alignment(scene), scene.clip)
    name = f"{file_stem(scene.clip.name)} range of motion.html"
    return name, motion_report([recording]).encode()
