"""Descriptions of poses outside the limits, in clinical terms.

Directions are those of the canonical human (`rigs.canonical`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import quat
from ..arrays import TURN, Quats, Vectors
from ..model.report import Verdict
from ..rigs.canonical import BONE_DIRECTIONS, FORWARD, LEFT, UP
from ..rigs.human import LEG, PHALANGES, split_role
from .angles import angles_of, clinical_axes, rotation_axes

JOINT_NAMES = {
    "chest": "spine",
    "head": "neck",
    "Shoulder": "collarbone",
    "UpperArm": "shoulder",
    "LowerArm": "elbow",
    "Hand": "wrist",
    "UpperLeg": "hip",
    "LowerLeg": "knee",
    "Foot": "ankle",
    "Toes": "toes",
    "jaw": "jaw",
    "Eye": "eye",
    **{
        finger + bone: f"{finger.lower()}{' finger' * (finger != 'Thumb')} {position} joint"
        for finger, bones in PHALANGES.items()
        for bone, position in zip(bones, ("base", "middle", "end"), strict=True)
    },
}
"""Common names of the joint at which a bone begins."""
HINGES = {"LowerArm": FORWARD, "LowerLeg": -FORWARD}
"""Directions to which a bone moves when its joint bends."""
FOOT_AXES = (
    ("dorsiflexion", "plantarflexion", -LEFT),
    ("inversion", "eversion", -FORWARD),
    ("inward rotation", "outward rotation", -UP),
)
"""Words for the rotations of a left foot (Euler angles), in both directions of each axis."""
LIMB_TERMS = (("abduction", "adduction"), ("flexion", "extension"))
"""Terms for moving a limb outwards and forwards."""
SHARED = np.radians(10.0)  # rotations that differ by more before and after sharing get a remark
SECOND = 0.5  # of the largest component; a second one is named if it is at least as large
LOWEST_PLANE = np.radians(-130.0)  # planes of elevation begin there: behind the other shoulder
HANGING, OVERHEAD = np.radians([15.0, 165.0])  # elevations beyond which the plane means nothing
PLANES_DEG = (
    (-60.0, "backwards"),
    (-30.0, "to the side and backwards"),
    (30.0, "to the side"),
    (60.0, "to the side and forwards"),
    (120.0, "forwards"),
    (230.0, "across the body"),
)
"""Words for planes of elevation, each up to an angle in degrees."""


@dataclass(frozen=True, eq=False)
class Finding:
    """A joint of a clip that is outside its limit, in its worst frame."""

    role: str
    joint: str
    """Name of the rig's joint."""
    violation: float
    """Angle to the nearest legal rotation, radians."""
    frame: int
    rotation: Quats
    """(4,): canonical rotation of the joint, with twist along a limb where its limits put it."""
    nearest: Quats
    """(4,): the nearest legal rotation."""
    measured: Quats
    """(4,): canonical rotation of the joint in the clip."""
    verdict: Verdict | Literal["inside"]
    people: float | None = None
    """Share of people who come within 10 degrees; None if unknown."""
    reason: str = ""
    """Why the range ends where it does, such as "for a knee bent by 10° (hamstrings)"."""

    @property
    def name(self) -> str:
        """Common name of the joint."""
        return joint_name(self.role)

    @property
    def direction(self) -> str:
        """Direction in which it is outside, in clinical terms."""
        return describe_move(self.role, self.nearest, self.rotation)

    @property
    def angles(self) -> dict[str, float]:
        """Clinical angles of the joint in the clip, radians; see `clinical_angles`."""
        return clinical_angles(self.role, self.measured)

    @property
    def posture(self) -> str:
        """The joint's clinical angles in words, such as "arm raised 80° to the side"."""
        return describe_posture(self.role, self.measured)

    @property
    def text(self) -> str:
        """The finding in words.

        For example "right shoulder: 9° beyond inward rotation (arm raised 80° to the side)".
        Angles in brackets are those in the clip; where sharing twist along the limb changes the
        joint's rotation much, a remark says that it counts as shared.
        """
        beyond_deg = np.degrees(self.violation)
        size = f"{beyond_deg:.0f}" if beyond_deg >= 1.0 else f"{beyond_deg:.1g}"
        words = [f"{self.name}: {size}° beyond {self.direction or 'its range'}"]
        if self.reason:
            words.append(self.reason)
        else:
            if quat.angle_between(self.rotation, self.measured) > SHARED:
                limb = "leg" if split_role(self.role)[1] in LEG else "arm"
                words.append(f"once twist is shared along the {limb}")
            words.append(f"({self.posture})" if self.posture else "")
        return " ".join(words).strip()


def joint_name(role: str) -> str:
    """Return the common name of the joint of a role.

    Examples
    --------
    >>> joint_name("leftUpperArm"), joint_name("chest")
    ('left shoulder', 'spine')
    """
    side, bone = split_role(role)
    return f"{side} {JOINT_NAMES[bone]}".strip()


def join_sides(names: Sequence[str]) -> list[str]:
    """Return names of joints with left and right ones joined.

    Examples
    --------
    >>> join_sides(["neck", "left wrist", "right wrist", "left knee"])
    ['neck', 'both wrists', 'left knee']
    """
    joined = []
    for name in names:
        side, _, joint = name.partition(" ")
        if side == "left" and f"right {joint}" in names:
            joined.append(f"both {joint.removesuffix('s')}s")
        elif not (side == "right" and f"left {joint}" in names):
            joined.append(name)
    return joined


def describe_move(role: str, start: Quats, end: Quats) -> str:
    """Return in clinical terms how a bone moves between two canonical rotations (4,).

    Examples
    --------
    >>> import numpy as np
    >>> from synovia import quat
    >>> describe_move("leftUpperLeg", quat.IDENTITY, quat.exp(np.array([0.4, 0.0, 0.0])))
    'extension'
    """
    sizes = {term: size for term, size in _components(role, start, end) if size > 0.0}
    ordered = sorted(sizes, key=lambda term: -sizes[term])
    named = [term for term in ordered[:2] if sizes[term] >= SECOND * sizes[ordered[0]]]
    return " with ".join(named)


def _components(role: str, start: Quats, end: Quats) -> list[tuple[str, float]]:
    """Return clinical terms, each with the signed angle moved in its direction, in radians."""
    side, bone = split_role(role)
    mirror = -1.0 if side == "right" else 1.0
    rotation_vector = quat.log(quat.mul(end, quat.inverse(start)))
    axes = FOOT_AXES if bone == "Foot" else rotation_axes(bone)
    if axes:
        sizes = [float(rotation_vector * [1.0, mirror, mirror] @ axis) for *_, axis in axes]
        return _both_directions([(name, opposite) for name, opposite, _ in axes], sizes)
    before, after = (quat.rotate(rotation, BONE_DIRECTIONS[role]) for rotation in (start, end))
    is_forearm = bone in ("LowerArm", "Hand")
    terms = ("pronation", "supination") if is_forearm else ("inward rotation", "outward rotation")
    twists = _both_directions([terms], [mirror * float(rotation_vector @ before)])
    if bone in HINGES:
        hinge = np.cross(BONE_DIRECTIONS[role], HINGES[bone])
        first, last = (clinical_angles(role, rotation) for rotation in (start, end))
        valgus = np.copysign(rotation_vector @ HINGES[bone], last["valgus"] - first["valgus"])
        terms_of_hinge = [("flexion", "extension"), ("valgus", "varus")]
        return [
            *_both_directions(terms_of_hinge, [float(rotation_vector @ hinge), float(valgus)]),
            *twists,
        ]
    if bone == "UpperLeg":
        first, last = (clinical_angles(role, rotation) for rotation in (start, end))
        abduction = last["abduction"] - first["abduction"]
        # The plane of flexion shrinks to a point as the thigh points to the side.
        scale = np.cos(0.5 * (first["abduction"] + last["abduction"]))
        flexion = scale * (last["flexion"] - first["flexion"])
        return [*_both_directions(LIMB_TERMS, [abduction, float(flexion)]), *twists]
    # Arc of the bone's direction, as components outwards, upwards and forwards.
    angle = float(np.arccos(np.clip(before @ after, -1.0, 1.0)))
    length = float(np.linalg.norm(after - before))
    scale = angle / length if length > 0.0 else 0.0
    outwards, upwards, forwards = scale * (after - before) * [mirror, 1.0, 1.0]
    # Raising a limb is abduction if it points sideways, and flexion if it points forwards.
    aside, ahead = mirror * after[0], after[2]
    if abs(aside) >= abs(ahead):
        outwards += np.copysign(upwards, upwards * aside)
    else:
        forwards += np.copysign(upwards, upwards * ahead)
    return [*_both_directions(LIMB_TERMS, [float(outwards), float(forwards)]), *twists]


def _both_directions(
    terms: Sequence[tuple[str, str]], sizes: Sequence[float] | Vectors
) -> list[tuple[str, float]]:
    """Return both terms of each pair, the second with the negated angle."""
    return [
        (term, float(size) * sign)
        for pair, size in zip(terms, sizes, strict=True)
        for term, sign in zip(pair, (1.0, -1.0), strict=True)
    ]


def clinical_angles(role: str, rotation: Quats) -> dict[str, float]:
    """Return the clinical angles of a joint by name, in radians; see `population.angles`.

    Bones without clinical axes have none.
    """
    axes = clinical_axes(role)
    angles = angles_of(role, rotation).tolist() if axes else []
    return {axis.name: angle for axis, angle in zip(axes, angles, strict=True)}


def describe_posture(role: str, rotation: Quats) -> str:
    """Return the clinical angles of a joint in words; empty for joints without any.

    Examples
    --------
    >>> from synovia import quat
    >>> describe_posture("leftUpperArm", quat.IDENTITY)
    'arm raised 90° to the side'
    """
    angles = clinical_angles(role, rotation)
    if role.endswith("UpperArm"):
        forwards, aside = angles["flexion"], angles["abduction"]
        elevation = np.hypot(forwards, aside)
        plane = (np.arctan2(forwards, aside) - LOWEST_PLANE) % TURN + LOWEST_PLANE
        if elevation < HANGING:
            return "arm hanging"
        if elevation > OVERHEAD:
            return "arm overhead"
        direction = next(word for end, word in PLANES_DEG if np.degrees(plane) <= end)
        return f"arm raised {np.degrees(elevation):.0f}° {direction}"
    return ", ".join(f"{name} {round(np.degrees(angle))}°" for name, angle in angles.items())
