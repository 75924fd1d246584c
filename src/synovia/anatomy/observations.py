"""What was captured of a person, as a fit of the human reads it: points and turns of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Quats, Vectors
from ..rigs import Rig, align, recognize
from ..skeleton import Clip, Pose, forward, list_names
from .part import MIRROR_NORMAL, load_tables, mirror_point

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inches": 0.0254, "units of 5.64 cm": 0.0254 / 0.45}
"""Units of length of captures, in metres; the last is that of CMU's skeletons."""
LEG_LENGTHS, SPANS = (0.55, 1.15), (0.9, 3.0)
"""Thigh and shank of people, and the farthest that two of their markers are apart, in metres."""
LEAST_FRAMES = 8
MOST_FRAMES = 2000
"""Frames, spread over all, from which some are chosen."""
POINT_NOISE, TURN_NOISE = 0.005, np.radians(1.0)
"""What points and turns are taken to be off by, metres and radians."""

LIMB_POINTS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
TRUNK_POINTS = {"hips": "Pelvis", "chest": "T12", "neck": "C7", "head": "Head"}
TURNS = ("UpperArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
TRUNK_TURNS = {"hips": "Pelvis", "chest": "Sternum", "head": "Head"}
TRUNK_SPREAD = 0.1
"""Metres: a rig's joints of the trunk are anywhere near the human's."""
FRAME_SPREAD = np.radians(10.0)
"""A rig's T-pose is known to about this angle."""
MARKER_SPREAD = 0.03
"""Metres by which markers are elsewhere than on the human's table."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Points and turns of segments in F frames, in metres, in one world; NaN where there are none.

    A point is fixed to its segment, at a place that is known to within `place_spread`; a turn is
    that of its segment, before a constant turn that is known to within `frame_spread`. A spread of
    0 means that there is nothing to find.
    """

    names: tuple[str, ...]
    """Of the points."""
    points: Floats
    """(F, M, 3)."""
    point_segments: tuple[str, ...]
    places: Vectors
    """(M, 3): in the segment's frame."""
    place_spread: Floats
    """(M,): metres."""
    turns: Quats
    """(F, K, 4)."""
    turn_segments: tuple[str, ...]
    frame_spread: Floats
    """(K,): radians."""
    unit: str = "m"
    """What the captures were in."""

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.points)

    def take(self, rows: Ints) -> Self:
        """Return some of the frames."""
        fields = {**vars(self), "points": self.points[rows], "turns": self.turns[rows]}
        return type(self)(**fields)


def choose_unit(length: float, bounds: tuple[float, float], units: Sequence[str]) -> str:
    """Return the unit in which a length is within bounds, in metres; ValueError where in none."""
    fits = [unit for unit in units if bounds[0] <= length * UNITS[unit] <= bounds[1]]
    if not fits:
        raise ValueError(
            f"the unit of length must be one of {', '.join(units)}: a length that is from "
            f"{bounds[0]:g} to {bounds[1]:g} m in people is {length:.4g} here"
        )
    return fits[0]


# Clips of a rig.


def observe_rig(clips: Sequence[Clip], names: Mapping[str, str] | None = None) -> Observations:
    """Return where the joints of a recognised rig are, and how its bones are turned.

    All clips must have the same joints. `names` are roles of joints, where names do not tell them.
    """
    first = clips[0].skeleton
    for clip in clips[1:]:
        if clip.skeleton.names != first.names:
            raise ValueError(
                f"clips to fit to must have the same joints; {clip.name} has "
                f"{list_names(clip.skeleton.names, 5)}, {clips[0].name} has "
                f"{list_names(first.names, 5)}"
            )
    rig = recognize(first, names)
    alignment = align(rig, clips)
    pose = _spread_poses(clips)
    where, how = forward(first, pose)
    unit, scale = _rig_unit(rig)
    roles = rig.roles
    limbs = {
        f"{side.lower()}{bone}": f"{side}{bone}"
        for side in ("Left", "Right")
        for bone in LIMB_POINTS
    }
    points = {role: seg for role, seg in {**TRUNK_POINTS, **limbs}.items() if role in roles}
    turns = {
        role: segment
        for role, segment in {**TRUNK_TURNS, **limbs}.items()
        if role in alignment.frames and (role in TRUNK_TURNS or segment.endswith(TURNS))
    }
    axes = alignment.axes
    seen = [scale * quat.rotate(axes, where[:, first.index(roles[role])]) for role in points]
    turned = [
        quat.mul(
            quat.mul(quat.mul(axes, how[:, first.index(roles[role])]), alignment.frames[role]),
            _hanging(segment),
        )
        for role, segment in turns.items()
    ]
    return Observations(
        tuple(roles[role] for role in points),
        np.stack(seen, axis=1),
        tuple(points.values()),
        np.zeros((len(points), 3)),
        np.array([TRUNK_SPREAD if role in TRUNK_POINTS else 0.0 for role in points]),
        np.stack(turned, axis=1),
        tuple(turns.values()),
        np.full(len(turns), FRAME_SPREAD),
        unit,
    )


def _hanging(segment: str) -> Quats:
    """Return the turn of a segment in a T-pose: arms hang at the human's rest."""
    if not segment.endswith(("UpperArm", "LowerArm", "Hand")):
        return quat.IDENTITY
    side = 1.0 if segment.startswith("Left") else -1.0
    return quat.exp(np.array([0.0, 0.0, 0.5 * np.pi * side]))


def _spread_poses(clips: Sequence[Clip]) -> Pose:
    """Return frames spread over all clips, `MOST_FRAMES` at most."""
    rotations = np.concatenate([clip.pose.rotations for clip in clips]).astype(np.float64)
    positions = np.concatenate([clip.pose.positions for clip in clips]).astype(np.float64)
    rows = np.unique(np.linspace(0, len(rotations) - 1, MOST_FRAMES).astype(np.int64))
    return Pose(rotations[rows], positions[rows])


def _rig_unit(rig: Rig) -> tuple[str, float]:
    """Return the unit of a rig's lengths, and what it is in metres: what its file says, or fits."""
    skeleton = rig.skeleton
    if skeleton.unit > 0.0:
        return f"{skeleton.unit:g} m", skeleton.unit
    lengths = [
        sum(
            float(np.linalg.norm(skeleton.offsets[joint]))
            for lower in ("LowerLeg", "Foot")
            if side + lower in rig.roles
            for joint in [skeleton.index(rig.roles[side + lower])]
        )
        for side in ("left", "right")
    ]
    unit = choose_unit(max(lengths), LEG_LENGTHS, [*UNITS])
    return unit, UNITS[unit]


# Tracks of markers.


@dataclass(frozen=True, eq=False)
class MarkerTracks:
    """Places (F, M, 3) of named markers in some frames, in any unit; NaN where one is not seen."""

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
    """Return the markers of the human's table: the segment of each, and its place there, metres."""
    table = load_tables("markers")["markers"]
    found: dict[str, tuple[str, Vectors]] = {}
    for name, (segment, *place) in table.items():
        at = 1e-3 * np.array(place)
        found[name] = (segment, at)
        if name.startswith("L") and segment.startswith("Left"):
            found["R" + name[1:]] = ("Right" + segment.removeprefix("Left"), mirror_point(at))
        elif name.startswith("L") and at @ MIRROR_NORMAL != 0.0:
            found["R" + name[1:]] = (segment, mirror_point(at))
    return found


def observe_markers(
    tracks: Sequence[MarkerTracks],
    segments: Sequence[str],
    table: Mapping[str, tuple[str, Vectors | None]] | None = None,
) -> Observations:
    """Return where markers were, each on the segment that a table says; the human's unless given.

    `table` adds to that of the human, or changes it: to each marker its segment, and its place in
    the segment's frame, in metres, where that is known. y must be up.
    """
    known: dict[str, tuple[str, Vectors | None]] = {**known_markers(), **(table or {})}
    names = tracks[0].names
    for each in tracks:
        strange = [name for name in each.names if name not in known]
        if strange:
            raise ValueError(
                f"no marker {strange[0]!r} is known: say its segment in a table; known are "
                f"{list_names(sorted(known), 60)}"
            )
        apart = sorted(set(each.names) ^ set(names))
        if apart:
            where, which = (each, tracks[0]) if apart[0] in each.names else (tracks[0], each)
            raise ValueError(
                f"tracks must have the same markers, {where.name} has {apart[0]}, {which.name} not"
            )
    for name in names:
        if known[name][0] not in segments:
            raise ValueError(f"marker {name}: no segment {known[name][0]!r} in the figure")
    columns = [[each.names.index(name) for name in names] for each in tracks]
    points = np.concatenate(
        [each.points[:, order] for each, order in zip(tracks, columns, strict=True)]
    )
    points = points[np.isfinite(points).all(axis=-1).any(axis=-1)]  # frames without any say nothing
    if not len(points):
        raise ValueError("markers must be seen in some frame, none ever is")
    rows = np.unique(np.linspace(0, len(points) - 1, MOST_FRAMES).astype(np.int64))
    points = points[rows]
    unseen = [name for k, name in enumerate(names) if np.isnan(points[:, k]).any(axis=-1).all()]
    if unseen:
        raise ValueError(f"markers must be seen in some frame, {', '.join(unseen)} never is")
    span = float(np.nanmax(np.nanmax(points, axis=1) - np.nanmin(points, axis=1)))
    unit = choose_unit(span, SPANS, ("m", "cm", "mm"))
    places = [known[name][1] for name in names]
    return Observations(
        names,
        points * UNITS[unit],
        tuple(known[name][0] for name in names),
        np.array([np.zeros(3) if place is None else place for place in places]),
        np.array([5.0 * MARKER_SPREAD if place is None else MARKER_SPREAD for place in places]),
        np.zeros((len(points), 0, 4)),
        (),
        np.zeros(0),
        unit,
    )


# Which frames: a few that differ from each other most.


def choose_frames(points: Floats, count: int) -> Ints:
    """Return the numbers of `count` frames, each as far as can be from those before it.

    Points (F, M, 3) are brought to where those of the first frame are, so that where the body is
    and how it is turned does not count. Frames with the fewest gaps come first.
    """
    seen = ~np.isnan(points).any(axis=-1)
    first = int(seen.sum(axis=1).argmax())
    aligned = np.stack([_align_points(frame, points[first]) for frame in points])
    filled = np.where(np.isnan(aligned), points[first], aligned)
    filled = np.where(np.isnan(filled), 0.0, filled)
    whole = seen.mean(axis=1) >= 0.5
    chosen, far = [first], np.full(len(points), np.inf)
    while len(chosen) < min(count, int(whole.sum())):
        away = np.linalg.norm(filled - filled[chosen[-1]], axis=-1).mean(axis=-1)
        far = np.minimum(far, away)
        far[~whole] = -1.0
        far[chosen] = -1.0
        chosen.append(int(far.argmax()))
    return np.sort(np.array(chosen, dtype=np.int64))


def _align_points(points: Floats, target: Floats) -> Floats:
    """Return points (M, 3), moved as a whole to lie on others as well as they can."""
    turn, shift = rigid_fit(points, target)
    return np.asarray(quat.rotate(turn, points) + shift)


def rigid_fit(points: Floats, target: Floats) -> tuple[Quats, Vectors]:
    """Return the rotation and the shift that bring points (M, 3) nearest to others (Kabsch)."""
    both = ~(np.isnan(points) | np.isnan(target)).any(axis=-1)
    if both.sum() < 3:
        return quat.IDENTITY.copy(), np.zeros(3)
    a, b = points[both], target[both]
    u, _, vt = np.linalg.svd((a - a.mean(axis=0)).T @ (b - b.mean(axis=0)))
    side = np.sign(np.linalg.det(vt.T @ u.T))
    turn = quat.from_matrix(vt.T @ np.diag([1.0, 1.0, side]) @ u.T)
    return turn, b.mean(axis=0) - quat.rotate(turn, a.mean(axis=0))
