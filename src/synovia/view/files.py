"""Files that are dropped on the page, and files to download from it.

The server reads only files that the command line names and content that the page sends. It writes
to a private directory only, which is deleted when the request is answered.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, get_args

import numpy as np

from ..io import clip_suffix, list_clips, load_clip, load_limits, save_clip, writable_suffixes
from ..io.limits import SUFFIX
from ..limit.softening import parse_softening
from ..model import LimitModel
from ..population import limits_for
from ..population.sources import Source
from ..rigs import FINGERS, ROLES, NotHumanError, recognize, suggest_roles
from ..skeleton import Clip, Pose, Skeleton, forward
from ..text import VIOLATION_COLUMNS, csv_text, file_stem
from .angles import angles_table, ranges_table, report_page
from .clinical import remember_alignment
from .poses import pose_from
from .protocol import Discards, Export, Received, Refusal, Roles, State
from .protocol.requests import (
    ExportRequest,
    FileRequest,
    HumanRequest,
    LoadRequest,
    PoseRequest,
    RolesRequest,
    SendRequest,
)
from .session import EDITED_KEY, Session, scene_of
from .uploads import Upload

ASF, AMC = ".asf", ".amc"
Kind = TypeVar("Kind", list[Clip], LimitModel)


def receive_piece(session: Session, request: SendRequest) -> Received:
    """Append a piece to an uploaded file, and return how many bytes it has."""
    uploads, piece = session.uploads, request.content
    return {"received": uploads.receive(request.upload, request.name, request.size, piece)}


def load_upload(session: Session, request: LoadRequest) -> State | Refusal | Discards:
    """Show an uploaded clip, or use uploaded limits, and return the state.

    If unsaved edits would be lost, the answer is `discards` unless the request allows it.
    """
    upload = session.uploads.take(request.upload)
    limits = upload.name.lower().endswith(SUFFIX)
    try:
        if limits:
            model = read_upload(upload, SUFFIX, load_limits)
            if session.unsaved and not request.discard:
                return {"discards": True, **session.state()}
            session.show(scene_of(model, session.scene.clip), unsaved=True)
        else:
            clips, suffix = remember_upload(session, upload)
            show_clip(session, clips[0], suffix)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()


def keep_upload(session: Session, request: FileRequest) -> State | Refusal:
    """Add the clips of an uploaded file to the list without showing them; return the state.

    An ASF file is kept for AMC files that follow.
    """
    upload = session.uploads.take(request.upload)
    try:
        if clip_suffix(upload.name) == ASF:
            session.skeleton_file = bytes(upload.content)
        else:
            remember_upload(session, upload)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return session.state()


def remember_upload(session: Session, upload: Upload) -> tuple[list[Clip], str]:
    """Add the clips of an uploaded file to the list; return them, and the file's suffix."""
    from .folder import MOST_DROPPED, remember_clips

    suffix = clip_suffix(upload.name)
    if not suffix:
        raise ValueError(f"{upload.name}: expected limits or a clip, got another kind of file")

    def load_all(path: Path) -> list[Clip]:
        names = list_clips(path)[:MOST_DROPPED]
        return [
            replace(load_clip(f"{path}#{name}" if name else path), name=f"{stem}#{name}".strip("#"))
            for name in names
        ]

    stem = upload.name[: -len(suffix)]
    if suffix == ASF:
        session.skeleton_file = bytes(upload.content)
    clips = read_upload(upload, suffix, load_all, session.skeleton_file if suffix == AMC else b"")
    remember_clips(session, clips, suffix)
    return clips, suffix


def read_upload(
    upload: Upload, suffix: str, load: Callable[[Path], Kind], skeleton: bytes = b""
) -> Kind:
    """Load an uploaded file from a private directory; errors have the name of the upload.

    `skeleton` is the content of an ASF file to put beside it.
    """
    with tempfile.TemporaryDirectory(prefix="synovia-") as folder:
        path = Path(folder) / f"dropped{suffix}"
        path.write_bytes(upload.content)
        if skeleton:
            path.with_suffix(ASF).write_bytes(skeleton)
        try:
            return load(path)
        except (OSError, ValueError) as error:
            raise ValueError(str(error).replace(str(path), upload.name)) from error


def show_clip(session: Session, clip: Clip, suffix: str) -> None:
    """Show another clip. Human limits without edits are replaced by those for its rig."""
    source = None if session.unsaved else human_source(session.model)
    figure = session.scene.figure
    is_figure = figure is not None and figure.skeleton.names == clip.skeleton.names
    if source is None or is_figure:
        session.show_clip(clip)
    else:
        session.show(scene_of(model_for(clip, session.model, source), clip), unsaved=False)
    session.clip_suffix = suffix


def human_source(model: LimitModel) -> Source | None:
    """Return the source of human limits without edits; None for other limits.

    The limits of the default figure count as "human", the default of the command line.
    """
    about = model.provenance
    if EDITED_KEY in about:
        return None
    if about.get("figure") == "human":
        return "human"
    return next((each for each in get_args(Source) if each == about.get("source")), None)


def model_for(clip: Clip, model: LimitModel, source: Source | None) -> LimitModel:
    """Return human limits for the rig of a clip, or `model` if it is no human."""
    if source is None:
        return model
    try:
        return limits_for(clip, source).model
    except ValueError:
        return model


# Limits of a human, for a rig that is recognised, or that somebody maps.


def describe_roles(session: Session, request: RolesRequest) -> Roles:
    """Return suggested roles of joints, all roles, and why the rig is not recognised, if so.

    Suggestions take the roles that the user has mapped into account.
    """
    skeleton, mapped = session.scene.clip.skeleton, request.roles
    suggested, why = dict(mapped), None
    try:
        suggested = {**suggest_roles(skeleton, mapped), **mapped}
        recognize(skeleton, suggested)
    except ValueError as error:
        why = str(error)
    recognised = not mapped and why is None and _is_human(skeleton)
    return {"roles": [*ROLES, *FINGERS], "found": suggested, "recognised": recognised, "why": why}


def _is_human(skeleton: Skeleton) -> bool:
    try:
        recognize(skeleton)
    except NotHumanError:
        return False
    return True


def use_human_limits(session: Session, request: HumanRequest) -> State | Refusal | Discards:
    """Use human limits for the rig of the clip, and return the state.

    `roles` maps joints that are not recognised; an empty role marks a joint that has none.
    """
    if session.unsaved and not request.discard:
        return {"discards": True, **session.state()}
    try:
        human = limits_for(session.scene.clip, request.source, roles=request.roles or None)
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    remember_alignment(session.scene.clip, human.alignment)
    scene = scene_of(human.model, session.scene.clip)
    summary = f"Human limits ({human.words}) for {len(human.roles)} joints of this rig."
    silent = [f"No verdict on {', '.join(each)} ({why})." for why, each in human.no_verdict.items()]
    session.show(replace(scene, notes=(*scene.notes, summary, *silent)), unsaved=True)
    return session.state()


# Exports.


def export(session: Session, request: ExportRequest) -> Export | Refusal:
    """Return the name and content of a file to download; `EXPORTS` lists the kinds."""
    try:
        name, content = EXPORTS[request.what](session, request)
    except (OSError, ValueError) as error:
        return {"refused": str(error), **session.state()}
    return {"name": name, "content": np.frombuffer(content, np.uint8)}


def clamped_clip(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the clamped clip in the format of its file, or as BVH or glTF."""
    softening = parse_softening(request.soften)
    made = session.scene.model.project(session.scene.clip, softening=softening)
    suffix = request.suffix or session.clip_suffix
    return clip_file(replace(made, name=f"{made.name} clamped"), suffix)


def repaired_clip(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the last repaired version of the clip."""
    clip, repaired = session.repaired or (None, None)
    if repaired is None or clip is not session.scene.clip:
        raise ValueError("this clip has not been repaired yet")
    made = replace(repaired, name=f"{repaired.name} repaired")
    return clip_file(made, request.suffix or session.clip_suffix)


def whole_clip(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the clip in the format of its file, or as BVH or glTF."""
    return clip_file(session.scene.clip, request.suffix or session.clip_suffix)


def one_pose(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the pose that the page shows as a clip of one frame, with positions of `frame`."""
    clip, frame, rotations = session.scene.clip, request.frame, request.rotations
    if frame is None or rotations is None:
        raise ValueError("the export of a pose must have a frame and rotations, got one or neither")
    sent = PoseRequest(frame=frame, rotations=rotations, positions=request.positions)
    pose = pose_from(session.scene, sent)
    still = Pose(pose.rotations[None], pose.positions[None])
    made = Clip(clip.skeleton, still, clip.frame_time, f"{clip.name} pose {frame}")
    return clip_file(made, request.suffix or BVH)


def violations_table(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return a row for each frame and joint outside, with the columns of `synovia check --csv`."""
    report = session.scene.model.check(session.scene.clip)
    rows = [VIOLATION_COLUMNS, *report.violation_rows()]
    return f"{file_stem(report.clip)} violations.csv", csv_text(rows).encode()


def standalone_page(session: Session, request: ExportRequest) -> tuple[str, bytes]:
    """Return the page with the scene as one HTML file, which needs no server."""
    from .server import page_files
    from .standalone import standalone_html

    html = standalone_html(session, page_files(), request.view)
    return f"{file_stem(session.scene.clip.name)}.html", html.encode()


Exporter = Callable[[Session, ExportRequest], tuple[str, bytes]]
EXPORTS: dict[str, Exporter] = {
    "clip": whole_clip,
    "clamped": clamped_clip,
    "repaired": repaired_clip,
    "pose": one_pose,
    "violations": violations_table,
    "page": standalone_page,
    "angles": angles_table,
    "ranges": ranges_table,
    "report": report_page,
}
"""By the name in the request."""


BVH, GLB = ".bvh", ".glb"
UNITS = (1.0, 0.01, 0.001)
"""Metres, centimetres and millimetres, in metres."""
BODY_SPAN = 1.6
"""Largest extent of the joints of a person along an axis, in metres."""


def clip_file(clip: Clip, suffix: str) -> tuple[str, bytes]:
    """Return the name and bytes of a clip's file; BVH if the format cannot express the clip.

    glTF needs metres: if a clip has no unit, it is guessed from the size of the body.
    """
    if suffix == GLB and not clip.skeleton.unit:
        clip = replace(clip, skeleton=replace(clip.skeleton, unit=likely_unit(clip.skeleton)))
    for form in (suffix, BVH) if suffix in writable_suffixes() else (BVH,):
        with tempfile.TemporaryDirectory(prefix="synovia-") as folder:
            path = Path(folder) / f"clip{form}"
            try:
                with warnings.catch_warnings(action="ignore"):  # of channels that were added
                    save_clip(clip, path)
            except ValueError:
                if form == BVH:
                    raise
                continue
            return f"{file_stem(clip.name)}{form}", path.read_bytes()
    raise ValueError(f"{clip.name}: this clip cannot be written")


def likely_unit(skeleton: Skeleton) -> float:
    """Return the likely unit of length in metres, for a skeleton of a person."""
    positions, _ = forward(skeleton, skeleton.rest_pose())
    span = float(np.ptp(positions, axis=0).max())
    return min(UNITS, key=lambda unit: abs(math.log(max(unit * span, 1e-9) / BODY_SPAN)))
