"""Clinical angles at the page: of a joint in a pose, over the clip, as tables and as a report."""

from __future__ import annotations

import numpy as np

from ..arrays import TOLERANCE, Floats
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
from ..population.motion import RANGE_COLUMNS
from ..rigs import Alignment
from ..skeleton import Pose, forward
from ..text import csv_text, file_stem
from .clinical import alignment_of, links_of
from .drags import rotate_joint
from .poses import outside_deg, pose_from
from .protocol import Refusal
from .protocol.poses import (
    AngleCurves,
    ClinicalAngle,
    JointAngles,
    PoseAnswer,
    Pulled,
    RangeRow,
    Ranges,
)
from .protocol.requests import (
    AngleRequest,
    AnglesRequest,
    CurvesRequest,
    EmptyRequest,
    ExportRequest,
    TurnRequest,
)
from .session import Scene, Session

NOT_HUMAN = "angles need a human: Files, Map joints … says which joint is which"


def human_limits_of(session: Session) -> HumanLimits | None:
    """Return the human limits of the scene; None if it has other limits, or edited ones."""
    from .files import human_source

    scene = session.scene
    source, alignment = human_source(session.model), alignment_of(scene.clip)
    if source is None or alignment is None:
        return None
    human = limits_on(alignment, source)
    return human if human.model.names == scene.model.names else None


def _batch(pose: Pose) -> Pose:
    """Return a batch of one pose."""
    return Pose(pose.rotations[None], pose.positions[None])


def joint_angles(session: Session, request: AnglesRequest) -> JointAngles:
    """Return the clinical angles of a joint in a pose, and how far it can go along each axis."""
    scene = session.scene
    linked = links_of(scene, request.joint)
    if linked is None:
        return {"joint": request.joint, "name": "", "axes": []}
    alignment, links = linked
    angles, bands, _ = joint_bands(links, alignment, _batch(pose_from(scene, request)))
    return {
        "joint": request.joint,
        "name": joint_name(links[0].role),
        "axes": _describe(links[0].role, angles[0], bands[0]),
    }


def _describe(role: str, angles: Floats, bands: Floats) -> list[ClinicalAngle]:
    """Return the axes of a joint with angles (3,) and bands (3, 2)."""
    rows: list[ClinicalAngle] = []
    ends = ends_of(role, angles)
    for axis, angle, band, own_ends in zip(clinical_axes(role), angles, bands, ends, strict=True):
        low, high = (
            None if np.isnan(end) or abs(end - own_end) < TOLERANCE else float(np.degrees(end))
            for end, own_end in zip(band, own_ends, strict=True)
        )
        rows.append(
            {
                "name": axis.name,
                "opposite": axis.opposite,
                "deg": float(np.degrees(angle)),
                "lowDeg": low,
                "highDeg": high,
                "isPossible": not np.isnan(band).any(),
                "leastDeg": float(np.degrees(axis.low)),
                "mostDeg": float(np.degrees(axis.high)),
            }
        )
    return rows


def set_joint_angle(session: Session, request: AngleRequest) -> Pulled | PoseAnswer:
    """Return the pose with a joint at an angle along a clinical axis.

    Angles end where those of the axis do, and if limits are kept, at the limit. In a figure within
    its limits, the controls of the joint's own set change, so that its bones stay coupled.
    """
    scene = session.scene
    linked = links_of(scene, request.joint)
    if linked is None:
        raise ValueError(f"{request.joint} has no clinical angles")
    (alignment, links), pose = linked, pose_from(scene, request)
    _, bands, best = joint_bands(links, alignment, _batch(pose))
    if not 0 <= request.axis < len(best):
        raise ValueError(f"axis must be from 0 to {len(best) - 1}, got {request.axis}")
    joint = ClinicalJoint(best[request.axis], alignment, _batch(pose))
    axis, band = joint.axes[request.axis], bands[0, request.axis]
    is_limited = request.limits and not np.isnan(band).any()
    low, high = band if is_limited else (axis.low, axis.high)
    angle = float(np.clip(np.radians(request.deg), low, high))
    moved = joint.with_angle(request.axis, np.array([angle]))
    if scene.figure is None or not request.limits:
        changed = pose.with_rotations(moved.rotations[0])
        return {
            "outsideDeg": outside_deg(scene, changed),
            "rotations": changed.rotations,
            "positions": changed.positions,
        }
    moving = joint.link.moving
    turn = TurnRequest(
        frame=request.frame,
        rotations=request.rotations,
        positions=request.positions,
        values=request.values,
        last=request.last,
        joint=scene.clip.skeleton.names[moving],
        rotation=forward(scene.clip.skeleton, moved)[1][0, moving],
        limits=True,
    )
    return rotate_joint(session, turn)


def angle_curves(session: Session, request: CurvesRequest) -> AngleCurves:
    """Return the clinical angles of joints in each frame, with the limits as bands, in degrees."""
    scene, curves = session.scene, []
    for name in request.joints:
        linked = links_of(scene, name)
        if linked is not None:
            alignment, links = linked
            angles = clip_angles(scene.model, alignment, scene.clip, roles=[links[0].role])
            curves += [(name, curve) for curve in angles.curves]
    bands = np.array([curve.bands for _, curve in curves]).reshape(-1, scene.clip.frames, 2)
    values = np.array([curve.angles for _, curve in curves]).reshape(-1, scene.clip.frames)
    return {
        "curves": [
            {
                "joint": joint,
                "name": joint_name(curve.role),
                "axis": curve.axis.name,
                "opposite": curve.axis.opposite,
            }
            for joint, curve in curves
        ],
        "anglesDeg": np.degrees(values),
        "lowDeg": np.degrees(bands[..., 0]),
        "highDeg": np.degrees(bands[..., 1]),
    }


def clip_ranges(session: Session, request: EmptyRequest) -> Ranges | Refusal:
    """Return the range of motion of each joint and axis of the clip."""
    try:
        angles = _clip_angles(session.scene)
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    rows: list[RangeRow] = []
    for curve in angles.curves:
        low, high = (None if np.isnan(end) else float(np.degrees(end)) for end in curve.span)
        first, last = curve.frames
        rows.append(
            {
                "joint": curve.joint,
                "name": joint_name(curve.role),
                "axis": curve.axis.name,
                "opposite": curve.axis.opposite,
                "minDeg": float(np.degrees(curve.least)),
                "minFrame": first,
                "maxDeg": float(np.degrees(curve.most)),
                "maxFrame": last,
                "norm": curve.norm_text,
                "lowDeg": low,
                "highDeg": high,
            }
        )
    return {"ranges": rows, "notes": list(angles.notes)}


def _require_alignment(scene: Scene) -> Alignment:
    """Return the alignment of the clip's rig; ValueError if it is not recognised."""
    alignment = alignment_of(scene.clip)
    if alignment is None:
        raise ValueError(NOT_HUMAN)
    return alignment


def _clip_angles(scene: Scene) -> ClipAngles:
    """Return the angles of the clip; ValueError if its rig is not recognised."""
    return clip_angles(scene.model, _require_alignment(scene), scene.clip)


def angles_table(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the angles in each frame as CSV, as `synovia report --csv` writes them."""
    rows = _clip_angles(session.scene).curve_rows()
    return f"{file_stem(session.scene.clip.name)} angles.csv", csv_text(rows).encode()


def ranges_table(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the ranges of motion as CSV, as `synovia report --ranges` writes them."""
    scene = session.scene
    ranges = _clip_angles(scene).range_rows(scene.model.check(scene.clip))
    return f"{file_stem(scene.clip.name)} ranges.csv", csv_text([RANGE_COLUMNS, *ranges]).encode()


def report_page(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the range-of-motion report, as `synovia report -o` writes it."""
    name = f"{file_stem(session.scene.clip.name)} range of motion.html"
    return name, _report(session.scene, human_limits_of(session)).encode()


def _report(scene: Scene, human: HumanLimits | None) -> str:
    from ..draw.report import Recording, motion_report

    alignment = _require_alignment(scene)
    if human is not None:
        return motion_report([Recording.of_human(human, scene.clip)])
    return motion_report([Recording.of_model(scene.model, alignment, scene.clip)])
