"""Files that are dropped on the page, and files to download from it.

The server reads only files that the command line names and content that the page sends. It writes
to a private directory only, which is deleted when the request is answered.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from ..arrays import Bytes
from ..io import (
    clip_suffix,
    limits_bytes,
    list_clips,
    load_clip,
    load_limits,
    save_clip,
    writable_suffixes,
)
from ..io.limits import SUFFIX
from ..limit.softening import parse_softening
from ..model import LimitModel
from ..population import limits_for
from ..population.limits import Source as HumanSource
from ..rigs import FINGERS, ROLES, NotHumanError, recognize, suggest_roles
from ..schema import Numbers
from ..skeleton import Clip, Pose, Skeleton, forward
from ..text import VIOLATION_COLUMNS, csv_text, file_stem
from .angles import angles_table, ranges_table, report_page
from .folder import MAX_DROPPED, remember_clips, show_clip
from .human import remember_alignment
from .messages import Empty
from .poses import PoseRequest, pose_from
from .scene import scene_of
from .session import Session, Upload

ASF, AMC = ".asf", ".amc"
Kind = TypeVar("Kind", list[Clip], LimitModel)


@dataclass(frozen=True, kw_only=True)
class SendRequest:
    """A piece of a file, with the upload's id, and the file's name and size in bytes."""

    upload: str
    name: str
    size: int
    content: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Received:
    """The number of bytes of a file that have come."""

    received: int


@dataclass(frozen=True, kw_only=True)
class FileRequest:
    """A request about an uploaded file."""

    upload: str


@dataclass(frozen=True, kw_only=True)
class LoadRequest(FileRequest):
    """A request to show an uploaded file: a clip, or limits."""

    discard: bool
    """True if unsaved edits may be lost."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The answer to a request that replaces the limits."""

    discards: bool = False
    """True if nothing was done, because unsaved edits would be lost."""


def receive_piece(session: Session, request: SendRequest) -> Received:
    """Append a piece to an uploaded file, and return how many bytes it has."""
    upload, name, size, piece = request.upload, request.name, request.size, request.content
    return Received(received=session.receive(upload, name, size, piece))


def load_upload(session: Session, request: LoadRequest) -> Loaded:
    """Show an uploaded clip, or use uploaded limits."""
    upload = session.take_upload(request.upload)
    if not upload.name.lower().endswith(SUFFIX):
        clips, suffix = remember_upload(session, upload)
        show_clip(session, clips[0], suffix)
        return Loaded()
    model = read_upload(upload, SUFFIX, load_limits)
    if session.unsaved and not request.discard:
        return Loaded(discards=True)
    session.show(scene_of(model, session.scene.clip), unsaved=True)
    return Loaded()


def keep_upload(session: Session, request: FileRequest) -> Empty:
    """Add the clips of an uploaded file to the list without showing them.

    An ASF file is kept for AMC files that follow.
    """
    upload = session.take_upload(request.upload)
    if clip_suffix(upload.name) == ASF:
        session.skeleton_file = bytes(upload.content)
    else:
        remember_upload(session, upload)
    return Empty()


def remember_upload(session: Session, upload: Upload) -> tuple[list[Clip], str]:
    """Add the clips of an uploaded file to the list; return them, and the file's suffix."""
    suffix = clip_suffix(upload.name)
    if not suffix:
        raise ValueError(f"{upload.name}: expected limits or a clip, got another kind of file")

    def load_all(path: Path) -> list[Clip]:
        names = list_clips(path)[:MAX_DROPPED]
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


# Limits of a human, for a rig that is recognised or mapped by hand.


@dataclass(frozen=True, kw_only=True)
class RolesRequest:
    """A request for the roles of joints. `roles` maps some of them by hand."""

    roles: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The roles of a human's bones, suggested ones by joint, and why it is no human yet."""

    roles: list[str]
    found: dict[str, str]
    recognised: bool
    """True if that is known without a map."""
    why: str | None


@dataclass(frozen=True, kw_only=True)
class HumanRequest:
    """A request for default human limits, with roles of joints that are mapped by hand.

    An empty role marks a joint that has none.
    """

    source: HumanSource
    roles: dict[str, str]
    discard: bool


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
    return Roles(roles=[*ROLES, *FINGERS], found=suggested, recognised=recognised, why=why)


def _is_human(skeleton: Skeleton) -> bool:
    try:
        recognize(skeleton)
    except NotHumanError:
        return False
    return True


def use_human_limits(session: Session, request: HumanRequest) -> Loaded:
    """Use human limits for the rig of the clip."""
    if session.unsaved and not request.discard:
        return Loaded(discards=True)
    human = limits_for(session.scene.clip, request.source, roles=request.roles or None)
    remember_alignment(session.scene.clip, human.alignment)
    scene = scene_of(human.model, session.scene.clip)
    summary = f"Human limits ({human.words}) for {len(human.roles)} joints of this rig."
    silent = [f"No verdict on {', '.join(each)} ({why})." for why, each in human.no_verdict.items()]
    session.show(replace(scene, notes=(*scene.notes, summary, *silent)), unsaved=True)
    return Loaded()


# Exports.


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A request for a file to download."""

    what: Literal[
        "clip",
        "clamped",
        "repaired",
        "pose",
        "violations",
        "page",
        "angles",
        "ranges",
        "report",
        "limits",
    ]
    suffix: Literal[".glb"] | None = None
    """Of clips and poses, if not the default."""
    view: str = ""
    """What a page opens with: frame, joint and camera, as in a link."""
    soften: str | None = None
    frame: int | None = None
    rotations: Numbers | None = None
    positions: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class Export:
    """A file to download, and its name."""

    name: str
    content: Bytes


def export(session: Session, request: ExportRequest) -> Export:
    """Return the name and content of a file to download."""
    clip, suffix = session.scene.clip, request.suffix or session.clip_suffix
    match request.what:
        case "clip":
            name, content = clip_file(clip, suffix)
        case "clamped":
            softening = parse_softening(request.soften)
            made = session.scene.model.project(clip, softening=softening)
            name, content = clip_file(replace(made, name=f"{made.name} clamped"), suffix)
        case "repaired":
            before, repaired = session.repaired or (None, None)
            if repaired is None or before is not clip:
                raise ValueError("this clip has not been repaired yet")
            made = replace(repaired, name=f"{repaired.name} repaired")
            name, content = clip_file(made, suffix)
        case "pose":
            name, content = clip_file(_one_pose(session, request), request.suffix or BVH)
        case "violations":
            name, content = violations_table(session)
        case "page":
            name, content = _standalone_page(session, request.view)
        case "angles":
            name, content = angles_table(session)
        case "ranges":
            name, content = ranges_table(session)
        case "report":
            name, content = report_page(session)
        case "limits":
            name = f"limits{SUFFIX}" if session.file is None else session.file.name
            content = limits_bytes(session.model, name)
    return Export(name=name, content=np.frombuffer(content, np.uint8))


def _one_pose(session: Session, request: ExportRequest) -> Clip:
    """Return the pose that the page shows as a clip of one frame, with positions of `frame`."""
    clip, frame, rotations = session.scene.clip, request.frame, request.rotations
    if frame is None or rotations is None:
        raise ValueError("the export of a pose must have a frame and rotations, got one or neither")
    sent = PoseRequest(frame=frame, rotations=rotations, positions=request.positions)
    pose = pose_from(session.scene, sent)
    still = Pose(pose.rotations[None], pose.positions[None])
    return Clip(clip.skeleton, still, clip.frame_time, f"{clip.name} pose {frame}")


def violations_table(session: Session) -> tuple[str, bytes]:
    """Return a row for each frame and joint outside, with the columns of `synovia check --csv`."""
    report = session.scene.model.check(session.scene.clip)
    rows = [VIOLATION_COLUMNS, *report.violation_rows()]
    return f"{file_stem(report.clip)} violations.csv", csv_text(rows).encode()


def _standalone_page(session: Session, view: str) -> tuple[str, bytes]:
    """Return the page with the scene as one HTML file, which needs no server."""
    from .server import page_files
    from .standalone import standalone_html

    html = standalone_html(session, page_files(), view)
    return f"{file_stem(session.scene.clip.name)}.html", html.encode()


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
