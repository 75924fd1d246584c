"""Descriptions of poses outside the limits, in clinical terms.

Directions are those of the canonical human (`rigs.canonical`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import quat
from ..anatomy.isb import isb_angles_of
from ..arrays import Quats, Vectors
from ..model.report import Verdict
from ..rigs.canonical import BONE_DIRECTIONS, FORWARD
from ..rigs.human import FACE, FINGERS, PHALANGES, split_role

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
        finger + bone: f"{finger.lower()}{' finger' * (finger != 'Thumb')} {place} joint"
        for finger, bones in PHALANGES.items()
        for bone, place in zip(bones, ("base", "middle", "end"), strict=True)
    },
}
"""Common names of the joint at which a bone begins."""
HINGES = {"LowerArm": FORWARD, "LowerLeg": -FORWARD}
"""Directions to which a bone moves when its joint bends."""
# Pairs of clinical terms for positive and negative rotation; right sides are mirrored to the left.
ROTATION_TERMS = {
    **dict.fromkeys(
        ("chest", "head"),
        (
            ("flexion", "extension"),
            ("rotation to the left", "rotation to the right"),
            ("bend to the right", "bend to the left"),
        ),
    ),
    **dict.fromkeys(
        ("Foot", "Toes"),
        (
            ("plantarflexion", "dorsiflexion"),
            ("outward rotation", "inward rotation"),
            ("eversion", "inversion"),
        ),
    ),
    **dict.fromkeys(
        (bone for bone in JOINT_NAMES if "finger" in JOINT_NAMES[bone]),
        (
            ("twist", "twist"),
            ("bend to the little finger", "bend to the thumb"),
            ("extension", "flexion"),
        ),
    ),
    "jaw": (("opening", "closing"), ("shift to the left", "shift to the right"), ("tilt", "tilt")),
    "Eye": (("depression", "elevation"), ("abduction", "adduction"), ("torsion", "torsion")),
    "Shoulder": (
        ("forward rotation", "backward rotation"),
        ("retraction", "protraction"),
        ("elevation", "depression"),
    ),
}
"""Terms for rotation about x, y and z."""
LIMB_TERMS = (("abduction", "adduction"), ("flexion", "extension"))
"""Terms for moving a limb outwards and forwards."""
SECOND = 0.5  # of the largest component; a second one is named if it is at least as large
ANGLE_NAMES = {
    "shoulder": ("plane of elevation", "elevation", "inward rotation"),
    **dict.fromkeys(("spine", "neck"), ("flexion", "bend to the right", "rotation to the left")),
    "": ("flexion", "adduction", "inward rotation"),
}
"""Names of the angles in the order of the ISB, by joint; "" for the others."""
FLEXES_BACKWARDS = ("spine", "neck", "knee")
"""Joints whose flexion is negative in the sequence of the ISB."""


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
    """(4,): canonical rotation of the joint."""
    nearest: Quats
    """(4,): the nearest legal rotation."""
    verdict: Verdict | Literal["inside"]
    people: float | None = None
    """Share of people who come within 10 degrees; None if unknown."""

    @property
    def name(self) -> str:
        """Common name of the joint."""
        return joint_name(self.role)

    @property
    def direction(self) -> str:
        """Direction in which it is outside, in clinical terms."""
        return describe_move(self.role, self.nearest, self.rotation)

    @property
    def text(self) -> str:
        """The finding in words, such as "left knee: 9° beyond extension (flexion -21°)"."""
        angles = ", ".join(
            f"{name} {round(math.degrees(each))}°" for name, each in self.angles.items()
        )
        beyond_deg = math.degrees(self.violation)
        size = f"{beyond_deg:.0f}" if beyond_deg >= 1.0 else f"{beyond_deg:.2g}"
        return f"{self.name}: {size}° beyond {self.direction}{f' ({angles})' if angles else ''}"

    @property
    def angles(self) -> dict[str, float]:
        """Clinical angles of the joint, radians; see `clinical_angles`."""
        return clinical_angles(self.role, self.rotation)


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
    found = []
    for name in names:
        side, _, joint = name.partition(" ")
        if side == "left" and f"right {joint}" in names:
            found.append(f"both {joint.removesuffix('s')}s")
        elif not (side == "right" and f"left {joint}" in names):
            found.append(name)
    return found


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
    turn = quat.log(quat.mul(end, quat.inverse(start)))
    if bone in ROTATION_TERMS:
        return _both_directions(ROTATION_TERMS[bone], turn * [1.0, mirror, mirror])
    if role not in BONE_DIRECTIONS:
        return [("rotation", float(np.linalg.norm(turn)))]
    before, after = (quat.rotate(each, BONE_DIRECTIONS[role]) for each in (start, end))
    is_forearm = bone in ("LowerArm", "Hand")
    terms = ("pronation", "supination") if is_forearm else ("inward rotation", "outward rotation")
    twists = _both_directions([terms], [mirror * float(turn @ before)])
    if bone in HINGES:
        hinge = np.cross(BONE_DIRECTIONS[role], HINGES[bone])
        return [
            *_both_directions([("flexion", "extension")], [float(turn @ hinge)]),
            ("sideways bend", abs(float(turn @ HINGES[bone]))),
            *twists,
        ]
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
    """Return a joint's angles by name, in radians, in the sequence of the ISB.

    The shoulder has plane of elevation (0 is abduction, π/2 flexion), elevation and inward
    rotation; others have flexion, adduction and inward rotation. All are 0 when standing with
    hanging arms, the palms at the thighs. Collarbones, toes, fingers and the face have none.
    """
    side, bone = split_role(role)
    if bone in ("Shoulder", "Toes") or role in (*FINGERS, *FACE):
        return {}
    hanging = quat.exp(np.array([0.0, 0.0, (-0.5 if side == "right" else 0.5) * np.pi]))
    seen = rotation
    if bone in ("UpperArm", "LowerArm", "Hand"):
        seen = quat.mul(seen, hanging)
    if bone in ("LowerArm", "Hand"):
        seen = quat.mul(quat.inverse(hanging), seen)
    joint = JOINT_NAMES[bone]
    angles = isb_angles_of(seen, f"{side}_{joint}" if side else joint)
    names = ANGLE_NAMES.get(joint, ANGLE_NAMES[""])
    found = dict(zip(names, angles.tolist(), strict=True))
    if joint == "shoulder":
        found["elevation"] = -found["elevation"]
    if joint in FLEXES_BACKWARDS:
        found["flexion"] = -found["flexion"]
    return found
