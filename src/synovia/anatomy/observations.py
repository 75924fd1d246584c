"""Observations of a person, for fits of the human: points and rotations of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Vectors, evenly_spaced
from ..rigs import Rig, align, recognize
from ..skeleton import Clip, Pose, forward, list_names
from .human import human
from .part import MIRROR_NORMAL, SIDES, load_tables, mirror_point

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inches": 0.0254, "units of 5.64 cm": 0.0254 / 0.45}
"""Units of length of captures, in metres; the last is that of CMU's skeletons."""
LEG_LENGTHS = (0.55, 1.15)  # metres: thigh and shank of people, from children to tall adults
MARKER_SPANS = (0.9, 3.0)  # metres: greatest extent of a person's markers along an axis
MIN_FRAMES = 8  # of a fit
MAX_FRAMES = 2000  # evenly spaced, from which the frames of a fit are chosen
POINT_NOISE, ROTATION_NOISE = 0.005, np.radians(1.0)  # metres, radians: of captures

LIMB_POINTS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
TRUNK_POINTS = {"hips": "Pelvis", "chest": "T12", "neck": "C7", "head": "Head"}
LIMB_ROTATIONS = ("UpperArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
TRUNK_ROTATIONS = {"hips": "Pelvis", "chest": "Sternum", "head": "Head"}
TRUNK_SPREAD = 0.1  # metres: joints of a rig's trunk are only near those of the human
REST_SPREAD = np.radians(10.0)  # to which the T-pose of a rig is known
MARKER_SPREAD = 0.03  # metres: markers of people against the human's table
UNKNOWN_MARKER_SPREAD = 5.0 * MARKER_SPREAD  # metres, if only the marker's segment is known


@dataclass(frozen=True, eq=False)
class Observations:
    """Points and rotations of segments in F frames, in metres, in one world; NaN where unseen.

    A point is fixed to its segment, at a position that is known to within `position_spread`. A
    rotation is that of its segment, times a constant rotation that is the identity to within
    `rotation_spread`. A spread of 0 means that the value is known.
    """

    names: tuple[str, ...]
    """Names of the points."""
    points: Floats
    """(F, M, 3)."""
    point_segments: tuple[str, ...]
    positions: Vectors
    """(M, 3): in the segment's frame."""
    position_spread: Floats
    """(M,): metres."""
    rotations: Quats
    """(F, K, 4)."""
    rotation_segments: tuple[str, ...]
    rotation_spread: Floats
    """(K,): radians."""
    unit: str = "m"
    """The unit of the captures."""

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.points)

    def take(self, rows: Ints) -> Self:
        """Return some of the frames, by index."""
        return replace(self, points=self.points[rows], rotations=self.rotations[rows])


def choose_unit(length: float, bounds: tuple[float, float], units: Sequence[str]) -> str:
    """Return the first unit in which a length is within `bounds`, in metres."""
    possible = [unit for unit in units if bounds[0] <= length * UNITS[unit] <= bounds[1]]
    if not possible:
        raise ValueError(
            f"the unit of length must be one of {', '.join(units)}: a length that is from "
            f"{bounds[0]:g} to {bounds[1]:g} m in people is {length:.4g} here"
        )
    return possible[0]


def observe_rig(clips: Sequence[Clip], names: Mapping[str, str] | None = None) -> Observations:
    """Return positions of the joints of a recognised rig, and rotations of its bones.

    All clips must have the same joints. `names` are roles by joint, where recognition misses them.
    """
    skeleton = clips[0].skeleton
    for clip in clips[1:]:
        if clip.skeleton.names != skeleton.names:
            raise ValueError(
                f"clips to fit to must have the same joints; {clip.name} has "
                f"{list_names(clip.skeleton.names, 5)}, {clips[0].name} has "
                f"{list_names(skeleton.names, 5)}"
            )
    rig = recognize(skeleton, names)
    alignment, roles = align(rig, clips), rig.roles
    axes, frames = alignment.axes, alignment.frames
    local_rotations, local_positions = (
        np.concatenate([getattr(clip.pose, name) for clip in clips]).astype(np.float64)
        for name in ("rotations", "positions")
    )
    rows = evenly_spaced(len(local_rotations), MAX_FRAMES)
    positions, rotations = forward(skeleton, Pose(local_rotations[rows], local_positions[rows]))
    unit, scale = _rig_unit(rig)
    limbs = {f"{side.lower()}{bone}": f"{side}{bone}" for side in SIDES for bone in LIMB_POINTS}
    points = {role: segment for role, segment in {**TRUNK_POINTS, **limbs}.items() if role in roles}
    rotated = {
        role: segment
        for role, segment in {**TRUNK_ROTATIONS, **limbs}.items()
        if role in frames and (role in TRUNK_ROTATIONS or segment.endswith(LIMB_ROTATIONS))
    }

    def rotation(role: str, segment: str) -> Quats:
        bone = quat.mul(axes, rotations[:, skeleton.index(roles[role])])
        in_t_pose = quat.mul(bone, frames[role])
        if not segment.endswith(("UpperArm", "LowerArm", "Hand")):
            return in_t_pose
        quarter = 0.5 * np.pi if segment.startswith("Left") else -0.5 * np.pi
        return quat.mul(in_t_pose, quat.exp(np.array([0.0, 0.0, quarter])))  # to hanging arms

    point_joints = [skeleton.index(roles[role]) for role in points]
    return Observations(
        tuple(roles[role] for role in points),
        scale * quat.rotate(axes, positions[:, point_joints]),
        tuple(points.values()),
        np.zeros((len(points), 3)),
        np.array([TRUNK_SPREAD if role in TRUNK_POINTS else 0.0 for role in points]),
        np.stack([rotation(role, segment) for role, segment in rotated.items()], axis=1),
        tuple(rotated.values()),
        np.full(len(rotated), REST_SPREAD),
        unit,
    )


def _rig_unit(rig: Rig) -> tuple[str, float]:
    """Return the unit of a rig's lengths, from its file or its legs, and its value in metres."""
    skeleton = rig.skeleton
    if skeleton.unit > 0.0:
        return f"{skeleton.unit:g} m", skeleton.unit
    bones = np.linalg.norm(skeleton.offsets, axis=-1)
    legs = [
        [rig.roles[side + bone] for bone in ("LowerLeg", "Foot") if side + bone in rig.roles]
        for side in ("left", "right")
    ]
    longest = max(float(sum(bones[skeleton.index(joint)] for joint in leg)) for leg in legs)
    unit = choose_unit(longest, LEG_LENGTHS, [*UNITS])
    return unit, UNITS[unit]


@dataclass(frozen=True, eq=False)
class MarkerTracks:
    """Positions (F, M, 3) of named markers, in any unit of length; NaN where one is not seen."""

    names: tuple[str, ...]
    points: Floats
    name: str = ""

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=np.float64)
        if points.ndim != 3 or points.shape[1:] != (len(self.names), 3):
            raise ValueError(
                f"MarkerTracks.points must have shape (frames, {len(self.names)}, 3), "
                f"got {points.shape}"
            )
        object.__setattr__(self, "points", points)


def known_markers() -> dict[str, tuple[str, Vectors]]:
    """Return segment, and position in its frame in metres, of the default human's markers."""
    table = load_tables("markers")["markers"]
    markers: dict[str, tuple[str, Vectors]] = {}
    for name, (segment, *millimetres) in table.items():
        position = 1e-3 * np.array(millimetres)
        markers[name] = (segment, position)
        if name.startswith("L") and segment.startswith("Left"):
            other = "Right" + segment.removeprefix("Left")
            markers["R" + name[1:]] = (other, mirror_point(position))
        elif name.startswith("L") and position @ MIRROR_NORMAL != 0.0:
            markers["R" + name[1:]] = (segment, mirror_point(position))
    return markers


def observe_markers(
    tracks: Sequence[MarkerTracks],
    segments: Sequence[str],
    table: Mapping[str, tuple[str, Vectors | None]] | None = None,
) -> Observations:
    """Return the observations of markers; y must be up.

    `segments` are those of the figure. `table` extends or overrides `known_markers`: the segment of
    each marker, and its position in the segment's frame in metres, or None.
    """
    known: dict[str, tuple[str, Vectors | None]] = {**known_markers(), **(table or {})}
    names = tracks[0].names
    for track in tracks:
        unknown = [name for name in track.names if name not in known]
        if unknown:
            raise ValueError(
                f"no marker {unknown[0]!r} is known: say its segment in a table; known are "
                f"{list_names(sorted(known), 60)}"
            )
        if set(track.names) != set(names):
            raise ValueError(
                f"tracks must have the same markers, {track.name} and {tracks[0].name} differ in "
                f"{list_names(sorted(set(track.names) ^ set(names)))}"
            )
    for name in names:
        if known[name][0] not in segments:
            raise ValueError(f"marker {name}: no segment {known[name][0]!r} in the figure")
    columns = [[track.names.index(name) for name in names] for track in tracks]
    points = np.concatenate(
        [track.points[:, order] for track, order in zip(tracks, columns, strict=True)]
    )
    is_seen = np.isfinite(points).all(axis=-1)
    points = points[is_seen.any(axis=1)]
    points = points[evenly_spaced(len(points), MAX_FRAMES)]
    unseen = np.array(names)[~np.isfinite(points).all(axis=-1).any(axis=0)]
    if len(unseen):
        raise ValueError(f"markers must be seen in some frame, {', '.join(unseen)} never is")
    span = float(np.nanmax(np.nanmax(points, axis=1) - np.nanmin(points, axis=1)))
    unit = choose_unit(span, MARKER_SPANS, ("m", "cm", "mm"))
    marker_segments = tuple(known[name][0] for name in names)
    positions = [known[name][1] for name in names]
    pairs = zip(positions, marker_segments, strict=True)
    return Observations(
        names,
        points * UNITS[unit],
        marker_segments,
        np.array([middle_of(segment) if p is None else p for p, segment in pairs]),
        np.array([UNKNOWN_MARKER_SPREAD if p is None else MARKER_SPREAD for p in positions]),
        np.zeros((len(points), 0, 4)),
        (),
        np.zeros(0),
        unit,
    )


def middle_of(segment: str) -> Vectors:
    """Return the middle (3,) of a segment of the human, in its frame: where markers may start."""
    skeleton = human().skeleton
    ends = skeleton.ends_of(skeleton.index(segment))
    return np.asarray(0.5 * ends.mean(axis=0)) if len(ends) else np.zeros(3)


def choose_frames(points: Floats, count: int) -> Ints:
    """Return the indices of `count` frames that differ most, by farthest-point sampling.

    Points (F, M, 3) of each frame are first moved rigidly onto those of the frame with the fewest
    gaps, so that only the pose matters. Frames with more than half of their points missing are
    left out.
    """
    visible = ~np.isnan(points).any(axis=-1)
    first = int(visible.sum(axis=1).argmax())
    fits = [rigid_fit(frame, points[first]) for frame in points]
    rotations, shifts = (np.stack(values)[:, None] for values in zip(*fits, strict=True))
    aligned = quat.rotate(rotations, points) + shifts
    filled = np.nan_to_num(np.where(np.isnan(aligned), points[first], aligned))
    usable = visible.mean(axis=1) >= 0.5
    chosen, nearest = [first], np.full(len(points), np.inf)
    while len(chosen) < min(count, int(usable.sum())):
        distance = np.linalg.norm(filled - filled[chosen[-1]], axis=-1).mean(axis=-1)
        nearest = np.minimum(nearest, distance)
        nearest[~usable] = -1.0
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return np.sort(np.array(chosen, dtype=np.int64))


def rigid_fit(points: Floats, target: Floats) -> tuple[Quats, Vectors]:
    """Return the rotation (4,) and the shift (3,) that bring points (M, 3) nearest to `target`.

    The Kabsch algorithm, over points that are in both.
    """
    both = ~(np.isnan(points) | np.isnan(target)).any(axis=-1)
    if both.sum() < 3:
        return quat.IDENTITY.copy(), np.zeros(3)
    a, b = points[both], target[both]
    u, _, vt = np.linalg.svd((a - a.mean(axis=0)).T @ (b - b.mean(axis=0)))
    side = np.sign(np.linalg.det(vt.T @ u.T))
    rotation = quat.from_matrix(vt.T @ np.diag([1.0, 1.0, side]) @ u.T)
    return rotation, b.mean(axis=0) - quat.rotate(rotation, a.mean(axis=0))
