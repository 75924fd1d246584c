"""SMPL, SMPL-H and SMPL-X motion: the npz files of AMASS, and plain arrays of poses.

SMPL's rotations are rest-aligned already. Its body is not ours to ship: offsets are those of our
own human, in SMPL's rest pose, with the pelvis as the origin. So joints turn as in SMPL, and are
where a person of other proportions has them. See docs/formats.md.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Floats, Quats, Vectors, floats, rows, unit_quats
from ..skeleton import Axis, Clip, Pose, Skeleton, forward, with_unit, with_up
from .bounds import MAX_ANGLE, MAX_LENGTH, check_content, check_frame_time, check_numbers
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, only_clip

# The joints.

SIDES = ("left", "right")
_BODY = {
    "pelvis": "",
    "left_hip": "pelvis",
    "right_hip": "pelvis",
    "spine1": "pelvis",
    "left_knee": "left_hip",
    "right_knee": "right_hip",
    "spine2": "spine1",
    "left_ankle": "left_knee",
    "right_ankle": "right_knee",
    "spine3": "spine2",
    "left_foot": "left_ankle",
    "right_foot": "right_ankle",
    "neck": "spine3",
    "left_collar": "spine3",
    "right_collar": "spine3",
    "head": "neck",
    "left_shoulder": "left_collar",
    "right_shoulder": "right_collar",
    "left_elbow": "left_shoulder",
    "right_elbow": "right_shoulder",
    "left_wrist": "left_elbow",
    "right_wrist": "right_elbow",
}
_FACE = {"jaw": "head", "left_eye_smplhf": "head", "right_eye_smplhf": "head"}
_PALMS = {f"{side}_hand": f"{side}_wrist" for side in SIDES}
_FINGERS = {
    f"{side}_{finger}{n}": f"{side}_{finger}{n - 1}" if n > 1 else f"{side}_wrist"
    for side in SIDES
    for finger in ("index", "middle", "pinky", "ring", "thumb")
    for n in (1, 2, 3)
}
KINDS: dict[int, tuple[str, dict[str, str]]] = {
    24: ("SMPL", _BODY | _PALMS),
    52: ("SMPL-H", _BODY | _FINGERS),
    55: ("SMPL-X", _BODY | _FACE | _FINGERS),
}
"""What a model is called, and its joints, in the order of its poses, with their parents."""

# Where our human has them.

_OURS = {
    "pelvis": "Pelvis",
    "spine1": "L5",
    "spine2": "L1",
    "spine3": "T10",
    "neck": "C7",
    "head": "Head",
    "hip": "UpperLeg",
    "knee": "LowerLeg",
    "ankle": "Foot",
    "foot": "Toes",
    "collar": "Clavicle",
    "shoulder": "UpperArm",
    "elbow": "LowerArm",
    "wrist": "Hand",
}
PALM = 0.5
"""From the wrist to SMPL's hand, as a share of the hand's length."""
FINGERS = {
    "index": (0.49, 0.13, 0.45),
    "middle": (0.50, 0.02, 0.50),
    "ring": (0.47, -0.07, 0.46),
    "pinky": (0.43, -0.15, 0.38),
    "thumb": (0.12, 0.13, 0.53),
}
"""Shares of the hand's length: the first joint's place along the hand and towards the thumb, and
the length from there to the tip. Lengths of the four fingers are to each other as measured by
Chatzioglou et al. 2024; all else, and the thumb with its metacarpal, is ours."""
PHALANGES = (0.48, 0.29, 0.23)
"""Shares of a finger's length; ours."""
EYES, JAW = (0.032, 0.05, 0.08), (0.0, -0.005, 0.02)
"""Metres from the head's joint, of the left eye and of the jaw's hinge; ours."""


@cache
def smpl_skeleton(joints: int) -> Skeleton:
    """Return the skeleton of SMPL (24 joints), SMPL-H (52) or SMPL-X (55), in metres.

    At rest y is up, x to the left, z forward, and the arms are stretched out to the sides.
    """
    if joints not in KINDS:
        raise ValueError(f"joints must be {_choices(KINDS)}, got {joints}")
    parents = KINDS[joints][1]
    places, tips = _places()
    names = tuple(parents)
    offsets = [places[name] - places[parents[name] or name] for name in names]
    ends = [name for name in names if name in tips]
    return Skeleton(
        names,
        np.array([names.index(parent) if parent else -1 for parent in parents.values()]),
        np.array(offsets) + 0.0,
        end_parents=np.array([names.index(name) for name in ends]),
        end_offsets=np.array([tips[name] for name in ends]) + 0.0,
        up="z",
        unit=1.0,
    )


@cache
def _places() -> tuple[dict[str, Vectors], dict[str, Vectors]]:
    """Return where our human has SMPL's joints at rest, and how far the tips of bones are."""
    from ..anatomy import human  # much to import, and to build, for those who have no such file

    ours = human().skeleton
    at_rest = dict(zip(ours.names, forward(ours, ours.rest_pose())[0], strict=True))
    ends = {
        ours.names[joint]: end
        for joint, end in zip(ours.end_parents.tolist(), ours.end_offsets, strict=True)
    }
    places = {name: at_rest[_our_name(name)] for name in _BODY}
    tips = {"head": ends["Head"]}
    for side in SIDES:
        sign = 1.0 if side == "left" else -1.0
        shoulder = places[f"{side}_shoulder"]
        lift = quat.exp(np.array([0.0, 0.0, sign * np.pi / 2]))  # our human lets them hang
        for name in (f"{side}_elbow", f"{side}_wrist"):
            places[name] = shoulder + quat.rotate(lift, places[name] - shoulder).round(12)
        tips[f"{side}_foot"] = ends[_our_name(f"{side}_foot")]
        _add_hand(side, sign, float(np.linalg.norm(ends[_our_name(f"{side}_wrist")])), places, tips)
        places[f"{side}_eye_smplhf"] = places["head"] + np.array(EYES) * [sign, 1.0, 1.0]
    places["jaw"] = places["head"] + np.array(JAW)
    return places, tips


def _our_name(name: str) -> str:
    side, _, part = name.rpartition("_")
    return side.capitalize() + _OURS[part]


def _add_hand(
    side: str, sign: float, length: float, places: dict[str, Vectors], tips: dict[str, Vectors]
) -> None:
    """Add the joints of a hand of this length, in metres, and its tips."""
    wrist, outwards = places[f"{side}_wrist"], np.array([sign * length, 0.0, 0.0])
    places[f"{side}_hand"] = wrist + PALM * outwards
    tips[f"{side}_hand"] = (1.0 - PALM) * outwards
    for finger, (along, across, reach) in FINGERS.items():
        way = np.array([sign, 0.0, 1.0]) / math.sqrt(2.0)
        if finger != "thumb":
            way = np.array([sign, 0.0, 0.0])
        at = wrist + along * outwards + np.array([0.0, 0.0, across * length])
        for n, share in enumerate(PHALANGES, start=1):
            places[f"{side}_{finger}{n}"] = at
            at = at + share * reach * length * way
        tips[f"{side}_{finger}3"] = at - places[f"{side}_{finger}3"]


# Plain arrays.

Form = Literal["flat", "rotation-vector", "6d", "matrix", "quaternion"]
UNIT_MATRIX_SLACK = 1e-3
"""By so much the columns of a rotation matrix may miss being orthonormal."""


def clip_from_poses(
    poses: ArrayLike,
    trans: ArrayLike | None = None,
    *,
    frame_time: float = 1.0 / 30.0,
    up: Axis = "z",
    name: str = "",
) -> Clip:
    """Return a clip of SMPL, SMPL-H or SMPL-X poses; bones are those of our own human, in metres.

    Parameters
    ----------
    poses
        Rotations of the 24, 52 or 55 joints, by their shape: rotation vectors (N, 72), (N, 156),
        (N, 165) or (N, J, 3), radians; quaternions (N, J, 4), w first; the first two columns of
        matrices (N, J, 6), as `quat.from_6d` takes them; matrices (N, J, 3, 3).
    trans
        Where the pelvis is (N, 3), metres; the origin unless given.
    frame_time
        Seconds from frame to frame.
    up
        The world's axis that is up: z in AMASS.

    Examples
    --------
    >>> import numpy as np
    >>> clip = clip_from_poses(np.zeros((10, 72)), frame_time=1 / 60)
    >>> clip.frames, len(clip.skeleton), clip.skeleton.names[1]
    (10, 24, 'left_hip')
    """
    rotations = _rotations(poses)
    frames, joints = rotations.shape[:2]
    places = np.zeros((frames, 3)) if trans is None else rows("trans", trans, 3)
    if places.shape != (frames, 3):
        raise ValueError(f"trans must have shape ({frames}, 3), got {places.shape}")
    skeleton = replace(smpl_skeleton(joints), up=up)
    return Clip(skeleton, _pose(skeleton, rotations, places), frame_time, name)


def poses_of(clip: Clip, form: Form = "flat") -> tuple[Floats, Vectors]:
    """Return the poses of a clip with SMPL's joints, in SMPL's order, and where its pelvis is.

    `form` is "flat" for rotation vectors (N, 3 J), else "rotation-vector" (N, J, 3), "6d"
    (N, J, 6), "matrix" (N, J, 3, 3) or "quaternion" (N, J, 4); `clip_from_poses` takes all.
    """
    if form not in get_args(Form):
        raise ValueError(f"form must be {_choices(get_args(Form))}, got {form!r}")
    rotations, trans = _in_order(clip, clip.name or "clip")
    match form:
        case "flat":
            return quat.log(rotations).reshape(len(rotations), -1), trans
        case "rotation-vector":
            return quat.log(rotations), trans
        case "6d":
            return quat.to_6d(rotations), trans
        case "matrix":
            return quat.to_matrix(rotations), trans
        case _:
            return rotations, trans


def _rotations(poses: ArrayLike) -> Quats:
    """Return the rotations (N, J, 4) that poses of any form stand for."""
    array = floats("poses", poses).astype(np.float64)
    match array.shape:
        case (frames, width) if width % 3 == 0 and width // 3 in KINDS:
            return quat.exp(array.reshape(frames, width // 3, 3))
        case (_, joints, 3) if joints in KINDS:
            return quat.exp(array)
        case (_, joints, 4) if joints in KINDS:
            return unit_quats("poses", array)
        case (_, joints, 6) if joints in KINDS:
            first, second = array[..., :3], array[..., 3:]
            area = np.linalg.norm(np.cross(first, second), axis=-1)
            if not (area > 1e-6).all():
                where = np.argwhere(~(area > 1e-6))[0].tolist()
                raise ValueError(f"poses must have columns in two directions, not so at {where}")
            return quat.from_6d(array)
        case (_, joints, 3, 3) if joints in KINDS:
            error = np.abs(np.einsum("...ji,...jk->...ik", array, array) - np.eye(3)).max((-2, -1))
            fine = (error <= UNIT_MATRIX_SLACK) & (np.linalg.det(array) > 0.0)
            if not fine.all():
                where = np.argwhere(~fine)[0].tolist()
                raise ValueError(f"poses must be rotation matrices, not so at {where}")
            return quat.from_matrix(array)
    raise ValueError(
        "poses must have shape (frames, 72), (frames, 156) or (frames, 165), or (frames, joints) "
        f"and 3, 4, 6 or 3 x 3 numbers for {_choices(KINDS)} joints, got {array.shape}"
    )


def _pose(skeleton: Skeleton, rotations: Quats, trans: Vectors) -> Pose:
    positions = np.tile(skeleton.offsets, (len(rotations), 1, 1))
    positions[:, 0] = trans
    return Pose(rotations, positions)


def _in_order(clip: Clip, place: str) -> tuple[Quats, Vectors]:
    """Return the rotations in the order of SMPL's joints, and the pelvis' positions."""
    skeleton = clip.skeleton
    known = {name: joint for joint, name in enumerate(skeleton.names)}
    kind, parents = min(KINDS.values(), key=lambda each: len(each[1].keys() ^ known.keys()))
    missing = [name for name in parents if name not in known]
    others = [name for name in known if name not in parents]
    for what, odd in (("is missing", missing), ("is none of them", others)):
        if odd:
            more = f", and {len(odd) - 1} more" if len(odd) > 1 else ""
            raise ValueError(
                f"{place}: expected the {len(parents)} joints of {kind}, got a rig of another "
                f"kind: {odd[0]!r:.60} {what}{more}"
            )
    for name, parent in parents.items():
        found = skeleton.parents[known[name]]
        if found != known.get(parent, -1):
            came = skeleton.names[found] if found >= 0 else "nothing"
            raise ValueError(
                f"{place}: expected {name} on {parent or 'nothing'}, as {kind} has it, got {came}"
            )
    order = [known[name] for name in parents]
    return clip.pose.rotations[:, order].astype(np.float64), clip.pose.positions[:, known["pelvis"]]


def _choices(values: Sequence[Any] | Mapping[Any, Any]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}"


# Files.

RATES = ("mocap_framerate", "mocap_frame_rate")
DEFAULT_FPS = 30.0
"""Of files that do not say."""
_PARTS = {
    52: {"root_orient": (0, 3), "pose_body": (3, 66), "pose_hand": (66, 156)},
    55: {
        "root_orient": (0, 3),
        "pose_body": (3, 66),
        "pose_jaw": (66, 69),
        "pose_eye": (69, 75),
        "pose_hand": (75, 165),
    },
}
"""Columns of poses that newer files hold once more, by joints."""
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, NotImplementedError, RuntimeError),
    *(EOFError, OSError, ValueError, LookupError, ArithmeticError),
)


@dataclass(frozen=True)
class _Npz:
    """The arrays of an npz file by their keys, as the bytes of npy files: most are not needed."""

    path: Path
    members: dict[str, bytes]

    def array(self, key: str) -> Floats:
        """Return an array of numbers; ValueError names the file and the key."""
        place, content = f"{self.path}: {key}", self.members[key]
        header = npy_header(content)
        if header is None:
            raise ValueError(f"{place}: expected an npy array, got {content[:16]!r}")
        shape, by_columns, dtype, start = header
        if dtype.kind not in "fiu" or dtype.itemsize > 8:
            raise ValueError(f"{place}: expected numbers, got an array of {dtype.str!r}")
        size = math.prod(shape) * dtype.itemsize
        if len(content) - start != size:
            raise ValueError(
                f"{place}: expected {size} bytes for the shape {shape}, got {len(content) - start}"
            )
        values = np.frombuffer(content, dtype, offset=start)
        return values.reshape(shape, order="F" if by_columns else "C")


def npy_header(content: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], int] | None:
    """Return shape, Fortran order or not, type and the offset of the numbers of an npy array.

    None if the bytes are no such array.
    """
    file = io.BytesIO(content)
    try:
        narrow = np.lib.format.read_magic(file) == (1, 0)
        read = np.lib.format.read_array_header_1_0
        return *(read if narrow else np.lib.format.read_array_header_2_0)(file), file.tell()
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError):
        return None


def _open_npz(path: Path) -> _Npz:
    content = read_file(path)
    with _zip_errors(path):
        archive = zipfile.ZipFile(io.BytesIO(content))
    files = archive.infolist()
    check_content(str(path), sum(file.file_size for file in files), len(content))
    with _zip_errors(path):
        return _Npz(
            path, {file.filename.removesuffix(".npy"): archive.read(file) for file in files}
        )


@contextmanager
def _zip_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except _ZIP_ERRORS as error:
        raise ValueError(f"{path}: expected an npz, a zip of arrays, got {error!r:.120}") from error


def read_npz(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in the npz file at `path`, as AMASS has them."""
    npz = _open_npz(path)
    if why := _no_motion(npz.members):
        raise ValueError(f"{path}: {why}")
    rotations, trans = _motion(npz)
    if "trans" not in npz.members:
        warnings.warn(f"{path}: no trans: the pelvis stays at the origin", stacklevel=3)
    frame_time = _frame_time(npz)
    if frame_time is None:
        warnings.warn(
            f"{path}: no {' or '.join(RATES)}: taken to have {DEFAULT_FPS:g} frames a second",
            stacklevel=3,
        )
        frame_time = 1.0 / DEFAULT_FPS
    skeleton = smpl_skeleton(rotations.shape[1])
    return Clip(skeleton, _pose(skeleton, rotations, trans), frame_time, path.stem, npz)


def _no_motion(keys: Mapping[str, Any] | Sequence[str]) -> str:
    """Return why a file with these keys is no clip; empty for a clip."""
    if "poses" in keys:
        return ""
    if "pose_body" in keys:
        return (
            "holds a pose in parts: expected the key 'poses', got 'pose_body'; write "
            "np.hstack([root_orient, pose_body, np.zeros((frames, 6))]) as 'poses'"
        )
    what = "a shape, not motion" if "betas" in keys else "no motion"
    some = ", ".join(map(repr, list(keys)[:6])) or "nothing"
    return f"holds {what}: expected the key 'poses', got {some:.120}"


def skip_npz(path: Path) -> str | None:
    """Return why the npz file at `path` is no clip, by its keys alone; None for a clip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _no_motion([name.removesuffix(".npy") for name in archive.namelist()]) or None
    except _ZIP_ERRORS:
        return None  # reading it says what is wrong


def _motion(npz: _Npz) -> tuple[Quats, Vectors]:
    """Return the rotations and the pelvis' positions of a file."""
    vectors = _vectors(npz)
    frames = len(vectors)
    if "trans" in npz.members:
        trans = npz.array("trans").astype(np.float64)
        if trans.shape != (frames, 3):
            raise ValueError(
                f"{npz.path}: trans: expected the shape ({frames}, 3), got {trans.shape}"
            )
        check_numbers(f"{npz.path}: trans", trans, MAX_LENGTH, "metres")
    else:
        trans = np.zeros((frames, 3))
    return quat.exp(vectors.astype(np.float64)), trans


def _vectors(npz: _Npz) -> Vectors:
    """Return the rotation vectors (N, J, 3) of a file, in its own float type."""
    poses = npz.array("poses")
    shape = poses.shape
    width = math.prod(shape[1:])
    flat = len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
    if not flat or width % 3 or width // 3 not in KINDS:
        known = ", ".join(f"{3 * joints} ({kind})" for joints, (kind, _) in KINDS.items())
        raise ValueError(
            f"{npz.path}: poses: expected frames of {known} numbers, got the shape {shape}"
        )
    check_numbers(f"{npz.path}: poses", poses, MAX_ANGLE, "radians")
    return poses.reshape(len(poses), width // 3, 3)


def _frame_time(npz: _Npz) -> float | None:
    """Return the seconds from frame to frame, None where the file does not say."""
    for key in RATES:
        if key in npz.members:
            rate = npz.array(key)
            if rate.size != 1 or not rate.item() > 0:
                raise ValueError(
                    f"{npz.path}: {key}: expected one number above 0, got {rate.tolist()!r:.80}"
                )
            return check_frame_time(f"{npz.path}: {key}", 1.0 / float(rate.item()))
    return None


def write_npz(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip with SMPL's joints to an npz file at `path`, under the keys of AMASS."""
    clip = only_clip(clips, path)
    _in_order(clip, str(path))  # before anything is said of what is lost
    _warn_of_losses(clip, path)
    clip = with_up(with_unit(clip, 1.0) if clip.skeleton.unit else clip, "z")
    rotations, trans = _in_order(clip, str(path))
    if isinstance(clip.origin, _Npz):
        members = _patch(clip.origin, rotations, trans, clip.frame_time, path)
    else:
        members = _new_members(rotations, trans, clip.frame_time)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, content in members.items():
            info = zipfile.ZipInfo(f"{key}.npy")  # always of 1980, so that files can be compared
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    atomic_write(path, buffer.getvalue())


def _warn_of_losses(clip: Clip, path: Path) -> None:
    skeleton = clip.skeleton
    ours = smpl_skeleton(len(skeleton))
    scale = skeleton.unit or 1.0
    limbs = np.flatnonzero(skeleton.parents >= 0)
    offsets = np.array([ours.offsets[ours.index(name)] for name in skeleton.names])
    if not np.allclose(scale * skeleton.offsets[limbs], offsets[limbs], rtol=0.0, atol=1e-6):
        warnings.warn(
            f"{path}: SMPL holds rotations alone: the clip's bones are lost, and its rest pose is "
            "taken to be SMPL's",
            stacklevel=4,
        )
    if not skeleton.unit:
        warnings.warn(
            f"{path}: the clip's unit is not known; lengths are written as metres", stacklevel=4
        )
    moved = np.abs(clip.pose.positions - skeleton.offsets)[:, limbs].max(initial=0.0)
    if scale * moved > 1e-6:
        warnings.warn(f"{path}: positions of joints other than the pelvis are lost", stacklevel=4)


def _new_members(rotations: Quats, trans: Vectors, frame_time: float) -> dict[str, bytes]:
    """Return the arrays of a new file; the body is the mean one of no gender."""
    frames, joints = rotations.shape[:2]
    return {
        "poses": _npy(quat.log(rotations).reshape(frames, -1)),
        "trans": _npy(np.asarray(trans, np.float64)),
        RATES[joints == 55]: _npy(1.0 / frame_time),
        "gender": _npy("neutral"),
        "betas": _npy(np.zeros(16)),
        "surface_model_type": _npy(KINDS[joints][0].lower().replace("-", "")),
    }


def _patch(
    origin: _Npz, rotations: Quats, trans: Vectors, frame_time: float, path: Path
) -> dict[str, bytes]:
    """Return a file's arrays with other motion; rotations that stayed are as they were, exactly."""
    members = dict(origin.members)
    frames, joints = rotations.shape[:2]
    had, had_time = _vectors(origin), _frame_time(origin)
    vectors = quat.log(rotations)
    if had.shape == vectors.shape:
        same = _motion(origin)[0] == rotations
        vectors = np.where(same.all(axis=-1, keepdims=True), had, vectors)
    poses = vectors.reshape(frames, -1).astype(_float_type(had))
    place_type = _float_type(origin.array("trans") if "trans" in members else had)
    members |= {"poses": _npy(poses), "trans": _npy(trans.astype(place_type))}
    for key, (start, stop) in _PARTS.get(joints, {}).items():
        if key in members:
            members[key] = _npy(poses[:, start:stop])
    if frame_time != had_time:
        key = next((key for key in RATES if key in members), RATES[joints == 55])
        members[key] = _npy(1.0 / frame_time)
    if "mocap_time_length" in members and (frames, frame_time) != (len(had), had_time):
        members["mocap_time_length"] = _npy(frames * frame_time)
    lost = _drop_frames(members, len(had), frames)
    if lost:
        warnings.warn(
            f"{path}: left out {', '.join(lost)}, of {len(had)} frames: the clip has {frames}",
            stacklevel=4,
        )
    return members


def _drop_frames(members: dict[str, bytes], had: int, has: int) -> list[str]:
    """Remove arrays of another number of frames, and return their keys."""
    headers = {key: npy_header(content) for key, content in members.items() if had != has}
    shapes = {key: header[0] for key, header in headers.items() if header}
    lost = [key for key, shape in shapes.items() if len(shape) > 1 and shape[0] == had]
    for key in lost:
        del members[key]
    return lost


def _float_type(values: Floats) -> np.dtype[Any]:
    """Return in which type numbers are written that were read as `values`."""
    return values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)


def _npy(value: ArrayLike) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array(value, order="C"), allow_pickle=False)
    return buffer.getvalue()


NPZ = ClipFormat(
    read_npz,
    write_npz,
    begins=lambda head: head.startswith(b"PK\x03\x04") and b".npy" in head,
    skip=skip_npz,
    up="z",
    unit=1.0,
    beside="a body's shape, gender and other arrays",
)
