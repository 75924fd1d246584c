"""Clinical angles of joints, as goniometers measure them, and back from angles to rotations.

All angles are 0 when standing with hanging arms, the palms at the thighs, and feet and head
straight. Those of right joints are mirrored, so that both sides have equal signs. Rotation about an
upper arm or thigh is seen at the bent elbow or knee: it is the angle of forearm or shin about the
upper bone, from where the shortest swing of the hanging limb brings it.

- shoulder: the components of that swing, forwards (flexion) and to the side (abduction). The size
  of both together is the elevation, up to 180°. Near 180° the components mean little.
- hip: flexion in the sagittal plane, abduction out of it, then inward rotation.
- elbow, knee: flexion, valgus (outwards), then pronation or inward rotation.
- wrist: flexion, radial deviation, and the pronation within the hand.
- ankle: dorsiflexion, inversion, then inward rotation.
- others: components of the rotation vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Quats, Scalars, Vectors
from ..rigs.canonical import FORWARD, LEFT, UP
from ..rigs.human import PHALANGES, SIDES, split_role
from .envelope import published_ranges
from .hand import thumb_axes

HALF_TURN = np.pi  # radians
LOWEST_FLEXION = np.radians(-120.0)  # angles of flexion begin there; nobody bends farther back
MIRROR = np.array([1.0, 1.0, -1.0, -1.0])  # of quaternions, across the sagittal plane
TO_HANGING = quat.exp(0.5 * np.pi * FORWARD)  # from a left upper arm that hangs to the T-pose


@dataclass(frozen=True)
class ClinicalAxis:
    """A clinical axis of a joint: the words for both directions, and the values of its angle."""

    name: str
    """The motion in the positive direction, such as "flexion"."""
    opposite: str
    """The motion in the negative direction, such as "extension"."""
    low: float = -HALF_TURN
    """The least angle, in radians; angles are unique from there to `high`."""
    high: float = HALF_TURN


_flexion = ClinicalAxis("flexion", "extension", LOWEST_FLEXION, LOWEST_FLEXION + TURN)
_valgus = ClinicalAxis("valgus", "varus", -0.5 * np.pi, 0.5 * np.pi)
_inward = ClinicalAxis("inward rotation", "outward rotation")
_pronation = ClinicalAxis("pronation", "supination")
AXES: Mapping[str, tuple[ClinicalAxis, ...]] = {
    "UpperArm": (
        ClinicalAxis("flexion", "extension"),
        ClinicalAxis("abduction", "adduction"),
        _inward,
    ),
    "UpperLeg": (
        _flexion,
        ClinicalAxis("abduction", "adduction", -0.5 * np.pi, 0.5 * np.pi),
        _inward,
    ),
    "LowerArm": (_flexion, _valgus, _pronation),
    "LowerLeg": (_flexion, _valgus, _inward),
    "Hand": (
        ClinicalAxis("flexion", "extension"),
        ClinicalAxis("radial deviation", "ulnar deviation"),
        _pronation,
    ),
    "Foot": (
        ClinicalAxis("dorsiflexion", "plantarflexion"),
        ClinicalAxis("inversion", "eversion", -0.5 * np.pi, 0.5 * np.pi),
        _inward,
    ),
}
"""Axes of joints of the limbs, by role without its side."""
EULER = {
    "LowerArm": ("yzx", (-1.0, 1.0, 1.0)),
    "LowerLeg": ("xzy", (1.0, 1.0, -1.0)),
    "Foot": ("xzy", (-1.0, -1.0, -1.0)),
}
"""Sequences of Euler angles on the left side, and the sign of each clinical angle."""
Components = tuple[tuple[str, str, Vectors], ...]
"""The words for both directions of an axis, and its unit vector on the left side."""
_TRUNK: Components = (
    ("flexion", "extension", LEFT),
    ("bend to the right", "bend to the left", FORWARD),
    ("rotation to the left", "rotation to the right", UP),
)
_ROTATION_AXES: Mapping[str, Components] = {
    "chest": _TRUNK,
    "head": _TRUNK,
    "Shoulder": (
        ("elevation", "depression", FORWARD),
        ("protraction", "retraction", -UP),
        ("backward rotation", "forward rotation", -LEFT),
    ),
    "Toes": (
        ("extension", "flexion", -LEFT),
        ("inversion", "eversion", -FORWARD),
        ("inward rotation", "outward rotation", -UP),
    ),
    "jaw": (
        ("opening", "closing", LEFT),
        ("shift to the left", "shift to the right", UP),
        ("tilt to the right", "tilt to the left", FORWARD),
    ),
    "Eye": (
        ("abduction", "adduction", UP),
        ("depression", "elevation", LEFT),
        ("outward torsion", "inward torsion", -FORWARD),
    ),
}
_FINGER = (
    ("flexion", "extension", -FORWARD),
    ("bend to the thumb", "bend to the little finger", -UP),
    ("pronation", "supination", LEFT),
)


@cache
def rotation_axes(bone: str) -> Components:
    """Return the axes of a bone's rotation vector that have names; empty for bones of limbs."""
    if bone.startswith("Thumb"):
        flexion, side, twist = thumb_axes()
        return (
            ("flexion", "extension", flexion),
            ("palmar abduction", "palmar adduction", -side),
            ("pronation", "supination", twist),
        )
    if bone in {finger + phalanx for finger, bones in PHALANGES.items() for phalanx in bones}:
        return _FINGER
    return _ROTATION_AXES.get(bone, ())


def clinical_axes(role: str) -> tuple[ClinicalAxis, ...]:
    """Return the three clinical axes of a joint, in the order of its angles; empty for none.

    Examples
    --------
    >>> [axis.name for axis in clinical_axes("leftUpperLeg")]
    ['flexion', 'abduction', 'inward rotation']
    """
    bone = split_role(role)[1]
    if bone in AXES:
        return AXES[bone]
    return tuple(ClinicalAxis(name, opposite) for name, opposite, _ in rotation_axes(bone))


def angles_of(role: str, rotations: Quats) -> Floats:
    """Return the clinical angles (..., 3) of canonical rotations (..., 4) of a joint, in radians.

    They are in the order of `clinical_axes`; see the module for zeros and signs.
    """
    side, bone = split_role(role)
    left = np.asarray(rotations, np.float64) * (MIRROR if side == SIDES[1] else 1.0)
    if bone in ("UpperArm", "UpperLeg"):
        return _ball_angles(left, is_arm=bone == "UpperArm")
    if bone in EULER:
        sequence, signs = EULER[bone]
        angles = quat.to_euler(left, sequence) * signs
        angles[..., 0] = _wrap_from(angles[..., 0], AXES[bone][0].low)
        return angles
    if bone == "Hand":
        twist = _wrap_from(2.0 * np.arctan2(left[..., 1], left[..., 0]), -np.pi)
        swing = quat.log(quat.mul(quat.exp(-twist[..., None] * LEFT), left))
        return np.stack([-swing[..., 2], -swing[..., 1], twist], axis=-1)
    return np.asarray(quat.log(left) @ _axis_vectors(role, bone).T)


def ends_of(role: str, angles: Floats) -> Floats:
    """Return the least and greatest value (..., 3, 2) of each angle with the others (..., 3) fixed.

    All are in radians. Flexion and abduction of a shoulder end where both together raise the arm by
    180 degrees: beyond that, smaller angles describe the same pose.
    """
    ends = np.array([(axis.low, axis.high) for axis in clinical_axes(role)])
    ends = np.broadcast_to(ends, (*np.shape(angles), 2)).copy()
    if split_role(role)[1] == "UpperArm":
        other = np.asarray(angles)[..., 1::-1]
        largest = np.sqrt(np.maximum(HALF_TURN**2 - other**2, 0.0))
        ends[..., :2, :] = np.stack([-largest, largest], axis=-1)
    return ends


def rotation_of(role: str, angles: Floats) -> Quats:
    """Return the canonical rotations (..., 4) of a joint that has clinical angles (..., 3).

    This is the inverse of `angles_of`.
    """
    side, bone = split_role(role)
    angles = np.asarray(angles, np.float64)
    first, second, third = np.moveaxis(angles, -1, 0)
    if bone in ("UpperArm", "UpperLeg"):
        left = _ball_rotation(first, second, third, is_arm=bone == "UpperArm")
    elif bone in EULER:
        sequence, signs = EULER[bone]
        left = quat.from_euler(angles * signs, sequence)
    elif bone == "Hand":
        swing = -first[..., None] * FORWARD - second[..., None] * UP
        left = quat.mul(quat.exp(third[..., None] * LEFT), quat.exp(swing))
    else:
        left = quat.exp(angles @ _axis_vectors(role, bone))
    return left * (MIRROR if side == SIDES[1] else 1.0)


def _axis_vectors(role: str, bone: str) -> Vectors:
    """Return the axes (3, 3) of the left bone's rotation vector."""
    axes = rotation_axes(bone)
    if not axes:
        raise ValueError(f"{role} has no clinical angles")
    return np.array([axis for _, _, axis in axes])


def _ball_angles(left: Quats, *, is_arm: bool) -> Floats:
    """Return the clinical angles (..., 3) of a left shoulder or hip."""
    hanging = quat.mul(left, TO_HANGING) if is_arm else left
    # hanging = swing · twist, with the twist about the vertical; inward is clockwise from above.
    inward = _wrap_from(-2.0 * np.arctan2(hanging[..., 2], hanging[..., 0]), -np.pi)
    outwards, up, ahead = np.moveaxis(quat.rotate(hanging, -UP), -1, 0)
    if not is_arm:
        flexion = _wrap_from(np.arctan2(ahead, -up), LOWEST_FLEXION)
        return np.stack([flexion, np.arcsin(np.clip(outwards, -1.0, 1.0)), inward], axis=-1)
    across = np.hypot(outwards, ahead)
    elevation = np.arctan2(across, -up)
    scale = elevation / np.maximum(across, 1e-300)
    flexion = np.where(across > 0.0, scale * ahead, elevation)
    return np.stack([flexion, scale * outwards, inward], axis=-1)


def _ball_rotation(first: Scalars, second: Scalars, inward: Scalars, *, is_arm: bool) -> Quats:
    """Return the rotations (..., 4) of a left shoulder or hip with clinical angles."""
    twist = quat.exp(-inward[..., None] * UP)
    if is_arm:  # forwards is rotation about −x, to the side about z
        swing = quat.exp(-first[..., None] * LEFT + second[..., None] * FORWARD)
        return quat.mul(quat.mul(swing, twist), quat.inverse(TO_HANGING))
    across = np.cos(second)
    down = [np.sin(second), -across * np.cos(first), across * np.sin(first)]
    return quat.mul(quat.between(-UP, np.stack(down, axis=-1)), twist)


def _wrap_from(angles: Scalars, lowest: float) -> Scalars:
    """Return angles wrapped to the range from `lowest` to `lowest` + 2π, in radians."""
    return np.asarray((angles - lowest) % TURN + lowest)


@dataclass(frozen=True)
class Norm:
    """A published range of motion of healthy people in one direction of a clinical axis."""

    sign: int
    """1 for the axis's own direction, -1 for the opposite one."""
    mean_deg: float
    sd_deg: float
    """Standard deviation between people."""
    sd_is_estimated: bool
    """True if the source has no standard deviation, so that it is an estimate."""
    condition: str
    """The posture in which it is measured, such as "flexed 90"; empty if any."""
    source: str


OTHER_WORDS = {"hyperextension": "extension"}
BOTH_DIRECTIONS = {"bend to the side": "bend to the right", "rotation": "rotation to the left"}
"""Motions that are published once for both directions of an axis."""


@cache
def norms_of(role: str, axis: ClinicalAxis) -> tuple[Norm, ...]:
    """Return the published ranges along a clinical axis of a joint; empty if there are none."""
    bone = split_role(role)[1]
    norms = []
    for row in published_ranges():
        if split_role(row.joint)[1] != bone:
            continue
        motion, _, condition = row.motion.partition(", ")
        motion = motion.removesuffix(" with the foot")
        motion = OTHER_WORDS.get(motion, motion)
        signs = [1] * (motion == axis.name) + [-1] * (motion == axis.opposite)
        if BOTH_DIRECTIONS.get(motion) == axis.name:
            signs = [1, -1]
        norms += [
            Norm(sign, row.mean, row.sd, row.sd_is_stated, condition, row.source) for sign in signs
        ]
    return tuple(norms)
