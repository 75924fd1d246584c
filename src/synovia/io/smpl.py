"""SMPL, SMPL-H, SMPL-X and MANO motion: npz files, as of AMASS, and plain arrays of poses.

SMPL's rotations are rest-aligned already. Offsets are those of its mean body, whatever the shape of
the body in a file, with the pelvis (MANO: the wrist) as the origin. See docs/formats.md.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Floats, Mask, Quats, Vectors, floats, rows, unit_quats
from ..skeleton import Axis, Clip, Pose, Skeleton, with_up
from .files import atomic_write, read_file
from .format import ClipFormat, ReadOptions, in_metres, only_clip
from .skeletons import MAX_LENGTH, check_numbers

MAX_ANGLE = 1e6  # radians: larger rotation vectors are taken for mistakes
MAX_EXPANSION = 200  # bytes of compressed content per byte of its file
SMALL_CONTENT = 2**26  # bytes of compressed content that any file may have
UNIT_MATRIX_SLACK = 1e-3  # tolerance of the orthonormality of rotation matrices
SIDES = ("left", "right")
_BODY = [
    *("pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2"),
    *("left_ankle", "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar"),
    *("right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow"),
    *("left_wrist", "right_wrist"),
]
_FACE = ["jaw", "left_eye_smplhf", "right_eye_smplhf"]
_PALMS = ["left_hand", "right_hand"]
_LEFT_FINGERS, _RIGHT_FINGERS = (
    [
        f"{side}_{name}{n}"
        for name in ("index", "middle", "pinky", "ring", "thumb")
        for n in (1, 2, 3)
    ]
    for side in SIDES
)
MANO = 16
"""Number of joints of a MANO hand."""
KINDS: dict[int, tuple[str, list[str]]] = {
    24: ("SMPL", _BODY + _PALMS),
    52: ("SMPL-H", _BODY + _LEFT_FINGERS + _RIGHT_FINGERS),
    55: ("SMPL-X", _BODY + _FACE + _LEFT_FINGERS + _RIGHT_FINGERS),
    22: ("SMPL without hands", _BODY),
    MANO: ("MANO", ["right_wrist", *_RIGHT_FINGERS]),
}
"""Names of the models, and their joints in the order of their poses.

MANO's are those of a right hand."""

Triple = tuple[float, float, float]
_BONES: Mapping[str, tuple[str, Triple]] = {
    "pelvis": ("", (0, 0, 0)),
    "hip": ("pelvis", (69, -91, -6)),
    "knee": ("hip", (36, -379, -7)),
    "ankle": ("knee", (-15, -398, -43)),
    "foot": ("ankle", (26, -52, 121)),
    "spine1": ("pelvis", (0, 109, -27)),
    "spine2": ("spine1", (0, 135, 1)),
    "spine3": ("spine2", (0, 53, 25)),
    "neck": ("spine3", (0, 214, -43)),
    "head": ("neck", (0, 65, 51)),
    "jaw": ("head", (0, -5, 20)),
    "eye_smplhf": ("head", (32, 50, 80)),
    "collar": ("spine3", (80, 120, -36)),
    "shoulder": ("collar", (94, 32, -9)),
    "elbow": ("shoulder", (257, -13, -24)),
    "wrist": ("elbow", (252, 8, -3)),
    "hand": ("wrist", (84, -7, -13)),
    "index1": ("wrist", (102, -9, 19)),
    "index2": ("index1", (32, 2, 3)),
    "index3": ("index2", (22, -2, 0)),
    "middle1": ("wrist", (109, -6, -4)),
    "middle2": ("middle1", (31, 1, -4)),
    "middle3": ("middle2", (23, -2, -4)),
    "pinky1": ("wrist", (84, -14, -44)),
    "pinky2": ("pinky1", (15, -1, -12)),
    "pinky3": ("pinky2", (15, -2, -11)),
    "ring1": ("wrist", (97, -9, -27)),
    "ring2": ("ring1", (28, 1, -5)),
    "ring3": ("ring2", (23, -2, -7)),
    "thumb1": ("wrist", (41, -18, 26)),
    "thumb2": ("thumb1", (17, 1, 25)),
    "thumb3": ("thumb2", (20, -5, 15)),
}
"""Parent, and offset from it at rest in mm, left side: x left, y up, z forward.

Joint positions of the mean body of no gender: SMPL's body joints, left and right averaged, and
SMPL-X's fingers, as published in the MuJoCo models of PHC and UniPhys (smpl_humanoid.xml,
smplx_humanoid.xml). Jaw and eyes are estimates.
"""
_TIPS_MM: Mapping[str, Triple] = {
    "head": (0, 180, 0),
    "foot": (-3, 5, 70),
    "hand": (95, 0, -10),
    "index3": (24, 0, 2),
    "middle3": (26, 0, -2),
    "pinky3": (18, 0, -9),
    "ring3": (25, 0, -5),
    "thumb3": (22, -3, 18),
}
"""Vectors from the last joints to the tips, as the offsets; head, foot and hand are estimates."""


@cache
def smpl_skeleton(joints: int, side: str = "right") -> Skeleton:
    """Return the skeleton of one of `KINDS`, by its number of joints, in metres.

    At rest y is up, x to the left, z forward, and the arms are stretched out to the sides. `side`
    is that of MANO's hand.
    """
    if joints not in KINDS:
        raise ValueError(f"joints must be {_choices(KINDS)}, got {joints}")
    parents = _parents(joints, side)
    names = list(parents)
    ends = [name for name in names if _bare(name) in _TIPS_MM and name not in parents.values()]
    offsets = np.array([_in_metres(name, _BONES[_bare(name)][1]) for name in names])
    offsets[0] = 0.0
    return Skeleton(
        tuple(names),
        np.array([names.index(parent) if parent else -1 for parent in parents.values()]),
        offsets,
        end_parents=np.array([names.index(name) for name in ends]),
        end_offsets=np.array([_in_metres(name, _TIPS_MM[_bare(name)]) for name in ends]),
        up="z",
        unit=1.0,
    )


def _parents(joints: int, side: str) -> dict[str, str]:
    """Return the names of the joints with their parents, "" for the root's.

    `side` is that of MANO's hand.
    """
    names = KINDS[joints][1]
    if joints == MANO and side == "left":
        names = [name.replace("right", "left") for name in names]
    parents = {}
    for name in names:
        parent = _BONES[_bare(name)][0]
        candidates = (name.replace(_bare(name), parent), parent)  # of this side, and in the middle
        parents[name] = next((each for each in candidates if each in names), "")
    return parents


def _bare(name: str) -> str:
    return name.removeprefix("left_").removeprefix("right_")


def _in_metres(name: str, left_mm: Triple) -> Vectors:
    """Return a vector (3,) of a joint in metres, from that of the left side in mm."""
    sign = -1.0 if name.startswith("right_") else 1.0
    return np.array(left_mm) * [sign, 1.0, 1.0] / 1000.0 + 0.0


Form = Literal["flat", "rotation-vector", "6d", "matrix", "quaternion"]
_WRITE: Mapping[str, Callable[[Quats], Floats]] = {
    "flat": lambda rotations: quat.log(rotations).reshape(len(rotations), -1),
    "rotation-vector": quat.log,
    "6d": quat.to_6d,
    "matrix": quat.to_matrix,
    "quaternion": lambda rotations: rotations,
}


def clip_from_poses(
    poses: ArrayLike,
    trans: ArrayLike | None = None,
    *,
    frame_time: float = 1.0 / 30.0,
    up: Axis = "z",
    name: str = "",
    side: Literal["left", "right"] = "right",
) -> Clip:
    """Return a clip of SMPL, SMPL-H, SMPL-X or MANO poses, with the bones of the mean body.

    Parameters
    ----------
    poses
        Rotations of J = 22, 24, 52, 55 or 16 (MANO) joints, by their shape: rotation vectors
        (N, 3 J) or (N, J, 3), radians; quaternions (N, J, 4), w first; the first two columns of
        matrices (N, J, 6), as `quat.from_6d` takes them; matrices (N, J, 3, 3).
    trans
        Positions (N, 3) of the pelvis, or of MANO's wrist, metres; by default the origin.
    frame_time
        Seconds from frame to frame.
    up
        The world's axis that is up: z in AMASS.
    side
        Side of MANO's hand.

    Examples
    --------
    >>> import numpy as np
    >>> clip = clip_from_poses(np.zeros((10, 72)), frame_time=1 / 60)
    >>> clip.frames, len(clip.skeleton), clip.skeleton.names[1]
    (10, 24, 'left_hip')
    """
    values = floats("poses", poses)
    form, joints = _form(values.shape)
    if joints not in KINDS:
        raise ValueError(
            "poses must have shape (frames, 3 joints), or (frames, joints) and 3, 4, 6 or 3 x 3 "
            f"numbers, for {_choices(KINDS)} joints, got {values.shape}"
        )
    rotations = _rotations("poses", values, form, joints)
    frames = len(rotations)
    positions = np.zeros((frames, 3)) if trans is None else rows("trans", trans, 3)
    if positions.shape != (frames, 3):
        raise ValueError(f"trans must have shape ({frames}, 3), got {positions.shape}")
    skeleton = replace(smpl_skeleton(joints, side), up=up)
    return Clip(skeleton, _pose(skeleton, rotations, positions), frame_time, name)


def poses_of(clip: Clip, form: Form = "flat") -> tuple[Floats, Vectors]:
    """Return the poses of a clip with SMPL's joints, in SMPL's order, and its pelvis' positions.

    `form` is "flat" for rotation vectors (N, 3 J), else "rotation-vector" (N, J, 3), "6d"
    (N, J, 6), "matrix" (N, J, 3, 3) or "quaternion" (N, J, 4); `clip_from_poses` takes all.
    """
    if form not in _WRITE:
        raise ValueError(f"form must be {_choices(_WRITE)}, got {form!r}")
    rotations, trans = _in_order(clip, clip.name or "clip")
    return _WRITE[form](rotations), trans


def _form(shape: tuple[int, ...]) -> tuple[Form, int]:
    """Return the form of rotations in an array with frames first, and of how many joints; or 0."""
    match shape[1:]:
        case (3, 3):
            return "matrix", 1
        case (joints, 3, 3):
            return "matrix", joints
        case (joints, 3):
            return "rotation-vector", joints
        case (joints, 4):
            return "quaternion", joints
        case (joints, 6):
            return "6d", joints
        case (width,) if width % 3 == 0:
            return "flat", width // 3
    return "flat", 0


def _rotations(location: str, values: Floats, form: Form, joints: int) -> Quats:
    """Return the rotations (N, joints, 4) in an array; ValueError if some are none."""
    values, frames = values.astype(np.float64), len(values)
    if form == "matrix":
        matrices = values.reshape(frames, joints, 3, 3)
        gram = np.einsum("...ji,...jk->...ik", matrices, matrices)
        is_unit = np.abs(gram - np.eye(3)).max((-2, -1)) <= UNIT_MATRIX_SLACK
        is_rotation = is_unit & (np.linalg.det(matrices) > 0.0)
        _check_all(is_rotation, f"{location} must be rotation matrices")
        return quat.from_matrix(matrices)
    if form == "quaternion":
        return unit_quats(location, values)
    if form == "6d":
        area = np.linalg.norm(np.cross(values[..., :3], values[..., 3:]), axis=-1)
        _check_all(area > 1e-6, f"{location} must have columns in two directions")
        return quat.from_6d(values)
    check_numbers(location, values, MAX_ANGLE)
    return quat.exp(values.reshape(frames, joints, 3))


def _check_all(fine: Mask, rule: str) -> None:
    if not fine.all():
        raise ValueError(f"{rule}, not so at {np.argwhere(~fine)[0].tolist()}")


def _pose(skeleton: Skeleton, rotations: Quats, trans: Vectors) -> Pose:
    positions = np.tile(skeleton.offsets, (len(rotations), 1, 1))
    positions[:, 0] = trans
    return Pose(rotations, positions)


def _in_order(clip: Clip, location: str) -> tuple[Quats, Vectors]:
    """Return the rotations in the order of SMPL's joints, and the pelvis' positions."""
    skeleton = clip.skeleton
    above = {
        name: skeleton.names[parent] if parent >= 0 else ""
        for name, parent in zip(skeleton.names, skeleton.parents.tolist(), strict=True)
    }
    models = [
        (kind, _parents(joints, side)) for joints, (kind, _) in KINDS.items() for side in SIDES
    ]

    def mismatch(model: tuple[str, dict[str, str]]) -> tuple[int, int]:
        shared = len(model[1].keys() & above.keys())
        return -shared, len(model[1]) * bool(shared)  # SMPL if none shares any

    kind, parents = min(models, key=mismatch)
    for name in [*parents, *above]:
        if above.get(name) != parents.get(name):
            what = "is missing" if name not in above else "is none of them"
            if name in above and name in parents:
                what = f"is on {above[name] or 'nothing'}, not on {parents[name] or 'nothing'}"
            raise ValueError(
                f"{location}: expected the {len(parents)} joints of {kind}, got a rig of another "
                f"kind: {name!r:.60} {what}"
            )
    order = [skeleton.index(name) for name in parents]
    return clip.pose.rotations[:, order].astype(np.float64), clip.pose.positions[:, order[0]]


def _choices(values: Iterable[Any]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}"


RATES = ("mocap_framerate", "mocap_frame_rate", "fps")
POSITIONS = ("trans", "transl")
DEFAULT_FPS = 30.0
"""Frames per second of files that do not state it."""
WHOLE = ("poses", "pose")
"""Keys of arrays with all joints."""
HANDS = ("pose_hand", "left_hand_pose", "right_hand_pose")
FACE = ("pose_jaw", "jaw_pose", "pose_eye", "leye_pose", "reye_pose")
BODY = ("pose_body", "body_pose")
ROOT = ("root_orient", "global_orient")
Spans = dict[str, tuple[int, int]]
"""First joint, and the one after the last, of the arrays of a file, by key."""


def _part_spans(joints: int) -> Spans:
    """Return the spans of joints of arrays that hold a part of the body."""
    spans = dict.fromkeys(ROOT, (0, 1)) | dict.fromkeys(BODY, (1, 24 if joints == 24 else 22))
    if joints == 55:
        spans |= dict(zip(FACE, [(22, 23), (22, 23), (23, 25), (23, 24), (24, 25)], strict=True))
    if joints > 24:
        middle = joints - 15
        hands = [(joints - 30, joints), (joints - 30, middle), (middle, joints)]
        spans |= dict(zip(HANDS, hands, strict=True))
    return spans


@dataclass(frozen=True)
class _Npz:
    """The members of an npz file by key, as bytes of npy files, since few are decoded."""

    path: Path
    members: dict[str, bytes]

    @classmethod
    def open(cls, path: Path) -> _Npz:
        """Return the content of a file; what would expand to too many bytes is refused."""
        content = read_file(path)
        allowed = max(SMALL_CONTENT, MAX_EXPANSION * len(content))
        try:
            archive = zipfile.ZipFile(io.BytesIO(content))
            files = archive.infolist()
            size = sum(file.file_size for file in files)
            if size <= allowed:
                members = {file.filename.removesuffix(".npy"): archive.read(file) for file in files}
                return cls(path, members)
        except Exception as error:  # zipfile raises many kinds for damaged files
            rule = "expected an npz, a zip of arrays"
            raise ValueError(f"{path}: {rule}, got {error!r:.120}") from error
        rule = f"expected at most {allowed} bytes in a file of {len(content)}"
        raise ValueError(f"{path}: {rule}, got {size}")

    def array(self, key: str) -> Floats:
        """Return an array of numbers; ValueError names the file and the key."""
        try:
            values: Floats = _read_npy(self.members[key])
        except Exception as error:  # NumPy raises many kinds for damaged files
            raise ValueError(f"{self.path}: {key}: expected an npy array: {error!s:.80}") from None
        if values.dtype.kind not in "fiu" or values.dtype.itemsize > 8:
            got = f"an array of {values.dtype.str!r}"
            raise ValueError(f"{self.path}: {key}: expected numbers, got {got}")
        return values

    def first(self, keys: Sequence[str]) -> str | None:
        """Return the first of `keys` that the file has."""
        return next((key for key in keys if key in self.members), None)

    def frame_time(self) -> float | None:
        """Return the seconds from frame to frame; None if the file does not state them."""
        key = self.first(RATES)
        if key is None:
            return None
        rate = self.array(key)
        if rate.size != 1 or not rate.item() > 0:
            got = f"{rate.tolist()!r:.80}"
            raise ValueError(f"{self.path}: {key}: expected one number above 0, got {got}")
        return 1.0 / float(rate.item())


def _read_npy(content: bytes) -> Any:
    """Return the array in an npy file; arrays of Python objects are refused."""
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def read_npz(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in an npz file of AMASS or of SMPL's own programs."""
    npz = _Npz.open(path)
    if why := _no_motion(npz.members):
        raise ValueError(f"{path}: {why}")
    rotations, trans = _motion(npz)
    is_hand = rotations.shape[1] == MANO
    if npz.first(POSITIONS) is None and not is_hand:
        warnings.warn(f"{path}: no trans: the pelvis stays at the origin", stacklevel=3)
    frame_time = npz.frame_time()
    if frame_time is None:
        warnings.warn(
            f"{path}: no {' or '.join(RATES[:2])}: taken to have {DEFAULT_FPS:g} frames a second",
            stacklevel=3,
        )
        frame_time = 1.0 / DEFAULT_FPS
    side = "left" if "left" in path.stem.lower() else "right"
    if is_hand:
        warnings.warn(f"{path}: taken for a {side} hand, by the file's name", stacklevel=3)
    skeleton = smpl_skeleton(rotations.shape[1], side)
    if not {"poses", "root_orient"} & npz.members.keys():
        skeleton = replace(skeleton, up="")  # z is up in AMASS, not in other programs
    return Clip(skeleton, _pose(skeleton, rotations, trans), frame_time, path.stem, npz)


def _no_motion(keys: Iterable[str]) -> str:
    """Return the reason why a file with these keys is no clip; "" for a clip."""
    keys = list(keys)
    has_body = not {*BODY}.isdisjoint(keys)
    if not {*WHOLE}.isdisjoint(keys) or (has_body and not {*ROOT}.isdisjoint(keys)):
        return ""
    if has_body:
        return (
            "holds a pose without the pelvis: expected the key 'root_orient' or 'global_orient' "
            "beside the pose of the body"
        )
    what = "a shape, not motion" if "betas" in keys else "no motion"
    some = ", ".join(map(repr, keys[:6])) or "nothing"
    return f"holds {what}: expected the key 'poses', got {some:.120}"


def skip_npz(path: Path) -> str | None:
    """Return the reason why an npz file is no clip, from its keys alone; None for a clip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _no_motion(name.removesuffix(".npy") for name in archive.namelist()) or None
    except Exception:
        return None  # reading it says what is wrong


def _motion(npz: _Npz) -> tuple[Quats, Vectors]:
    """Return the rotations (N, J, 4) and the pelvis' positions (N, 3) of a file."""
    joints, spans = _layout(npz)
    parts = {}
    for key, (start, stop) in spans.items():
        values, location = npz.array(key), f"{npz.path}: {key}"
        form, count = _form(values.shape)
        if count != stop - start:
            raise ValueError(
                f"{location}: expected frames of {3 * (stop - start)} numbers, or as many rotation "
                f"matrices, got the shape {values.shape}"
            )
        parts[key] = _rotations(location, values, form, count)
    frames = len(next(iter(parts.values())))
    rotations = np.tile(quat.IDENTITY, (frames, joints, 1))
    for key, part in parts.items():
        if len(part) != frames:
            raise ValueError(f"{npz.path}: {key}: expected {frames} frames, got {len(part)}")
        rotations[:, slice(*spans[key])] = part
    position_key = npz.first(POSITIONS)
    if position_key is None:
        return rotations, np.zeros((frames, 3))
    location, trans = f"{npz.path}: {position_key}", npz.array(position_key).astype(np.float64)
    if trans.shape != (frames, 3):
        raise ValueError(f"{location}: expected the shape ({frames}, 3), got {trans.shape}")
    check_numbers(location, trans, MAX_LENGTH)
    return rotations, trans


def _layout(npz: _Npz) -> tuple[int, Spans]:
    """Return the number of joints, and the spans of the arrays to read.

    That is one array with all joints, or several with parts of the body.
    """
    if (key := npz.first(WHOLE)) is not None:
        shape = npz.array(key).shape
        joints = _form(shape)[1]
        if joints not in KINDS:
            widths = ", ".join(f"{3 * count} ({kind})" for count, (kind, _) in KINDS.items())
            raise ValueError(
                f"{npz.path}: {key}: expected frames of {widths} numbers, or as many rotation "
                f"matrices, got the shape {shape}"
            )
        return joints, {key: (0, joints)}
    parts = (*ROOT, *BODY, *FACE, *HANDS)
    counts = {key: _form(npz.array(key).shape)[1] for key in parts if key in npz.members}
    for key in HANDS:
        if counts.get(key) not in (None, 15, 30):
            del counts[key]
            warnings.warn(
                f"{npz.path}: {key} holds no rotations of fingers, left out", stacklevel=4
            )
    joints = 24 if 23 in [counts.get(key) for key in BODY] else 22
    if not {*FACE[:4]}.isdisjoint(counts):
        joints = 55
    elif not {*HANDS}.isdisjoint(counts):
        joints = 52
    spans = _part_spans(joints)
    return joints, {key: spans[key] for key in counts if key in spans}


def write_npz(clips: Sequence[Clip], path: Path) -> None:
    """Write a clip with SMPL's joints to an npz file at `path`, under the keys of AMASS.

    Arrays without motion of the npz file that the clip comes from stay; without one, the body is
    the mean one of no gender.
    """
    clip = only_clip(clips, path)
    _in_order(clip, str(path))  # errors before warnings
    _warn_of_losses(clip, path)
    clip = with_up(in_metres(clip, path), "z")
    rotations, trans = _in_order(clip, str(path))
    joints = rotations.shape[1]
    others = {
        "gender": _npy("neutral"),
        "betas": _npy(np.zeros(16)),
        "surface_model_type": _npy(KINDS[joints][0].lower().replace("-", "").split()[0]),
    }
    if isinstance(clip.origin, _Npz):
        others = _other_members(clip.origin, clip.frames, path)
    members = {
        "poses": _npy(quat.log(rotations).reshape(clip.frames, -1)),
        "trans": _npy(np.asarray(trans, np.float64)),
        RATES[joints == 55]: _npy(1.0 / clip.frame_time),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, content in (members | others).items():
            info = zipfile.ZipInfo(f"{key}.npy")  # always of 1980, so that files can be compared
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    atomic_write(path, buffer.getvalue())


def _warn_of_losses(clip: Clip, path: Path) -> None:
    skeleton = clip.skeleton
    smpl = smpl_skeleton(len(skeleton), "left" if "left_wrist" in skeleton.names else "right")
    scale = skeleton.unit or 1.0
    limbs = np.flatnonzero(skeleton.parents >= 0)
    offsets = np.array([smpl.offsets[smpl.index(name)] for name in skeleton.names])
    moved = np.abs(clip.pose.positions - skeleton.offsets)[:, limbs].max(initial=0.0)
    if not np.allclose(scale * skeleton.offsets[limbs], offsets[limbs], rtol=0.0, atol=1e-6):
        warnings.warn(
            f"{path}: SMPL holds rotations alone: the clip's bones are lost, and its rest pose is "
            "taken to be SMPL's",
            stacklevel=4,
        )
    if scale * moved > 1e-6:
        warnings.warn(f"{path}: positions of joints other than the pelvis are lost", stacklevel=4)


def _other_members(npz: _Npz, frames: int, path: Path) -> dict[str, bytes]:
    """Return the arrays of a file but its motion; a row for each of other frames is left out."""
    motion = {*WHOLE, *ROOT, *BODY, *FACE, *HANDS, *POSITIONS, *RATES, "mocap_time_length"}
    others = {key: content for key, content in npz.members.items() if key not in motion}
    old_frames = len(_motion(npz)[0])
    lost = []
    for key, content in others.items():
        with suppress(Exception):  # what cannot be decoded is copied
            shape = _read_npy(content).shape
            if old_frames != frames and len(shape) > 1 and shape[0] == old_frames:
                lost.append(key)
    if lost:
        warnings.warn(
            f"{path}: left out {', '.join(lost)}, of {old_frames} frames: the clip has {frames}",
            stacklevel=4,
        )
    return {key: content for key, content in others.items() if key not in lost}


def _npy(value: ArrayLike) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array(value, order="C"), allow_pickle=False)
    return buffer.getvalue()


NPZ = ClipFormat(
    read_npz,
    write_npz,
    skip=skip_npz,
    up="z",
    unit=1.0,
    beside="a body's shape, gender and other arrays",
)
