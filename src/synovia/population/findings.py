"""What is wrong with a pose, in words: the joint's common name, which way it is beyond, how far.

Directions are those of the canonical human (`rigs.canonical`): a limb is moved too far forwards or
to the side, or is turned too far about itself; a spine bends, and a knee has an angle of flexion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import quat
from ..anatomy.isb import isb_angles_of
from ..arrays import Quats, Vectors
from ..rigs.canonical import BONE_DIRECTIONS

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
}
"""What people call the joint at the beginning of a bone."""
AHEAD = np.array([0.0, 0.0, 1.0])
HINGES = {"LowerArm": AHEAD, "LowerLeg": -AHEAD}
"""Where the bone goes when the joint bends."""
TRUNK_TERMS = (
    ("flexion", "extension"),
    ("rotation to the left", "rotation to the right"),
    ("bend to the right", "bend to the left"),
)
LIMB_TERMS = (("abduction", "adduction"), ("flexion", "extension"))
"""What moving outwards and forwards is called, and the opposite."""
FOOT_TERMS = (
    ("plantarflexion", "dorsiflexion"),
    ("outward rotation", "inward rotation"),
    ("eversion", "inversion"),
)
COLLARBONE_TERMS = (
    ("forward rotation", "backward rotation"),
    ("retraction", "protraction"),
    ("elevation", "depression"),
)
SECOND = 0.5
"""A second direction is named if it is at least this share of the first."""
ANGLE_NAMES = {
    "shoulder": ("plane of elevation", "elevation", "inward rotation"),
    "spine": ("flexion", "bend to the right", "rotation to the left"),
    "neck": ("flexion", "bend to the right", "rotation to the left"),
    "": ("flexion", "adduction", "inward rotation"),
}
FLEXES_BACKWARDS = ("spine", "neck", "knee")
"""The joints whose flexion counts as negative in the sequence of the ISB."""


@dataclass(frozen=True, eq=False)
class Finding:
    """A joint of a clip that is outside, where it is the worst."""

    role: str
    joint: str
    """What the rig calls the bone."""
    violation: float
    """How far outside it is, in radians."""
    frame: int
    rotation: Quats
    """The joint's rotation (4,) on the canonical human."""
    nearest: Quats
    """The nearest legal one (4,)."""
    outside: tuple[str, ...] = ()
    """Of which limits it is outside: "people", "anatomy"."""
    people: float | None = None
    """The share of people who come within 10 degrees; None where that is not known."""

    @property
    def name(self) -> str:
        """What people call the joint."""
        return joint_name(self.role)

    @property
    def direction(self) -> str:
        """Which way it is beyond, in clinical terms."""
        return describe_move(self.role, self.nearest, self.rotation)

    @property
    def beyond(self) -> str:
        """What it is beyond, in words."""
        people, anatomy = "what 66 people did", "what anatomy says"
        if self.outside == ("people",):
            return f"beyond {people}"
        if self.outside == ("anatomy",):
            return f"beyond {anatomy}"
        return f"beyond {people} and {anatomy}" if self.outside else "beyond the human's range"

    @property
    def angles(self) -> dict[str, float]:
        """The joint's clinical angles, in radians; see `clinical_angles`."""
        return clinical_angles(self.role, self.rotation)


def joint_name(role: str) -> str:
    """Return what people call the joint of a role.

    Examples
    --------
    >>> joint_name("leftUpperArm"), joint_name("chest")
    ('left shoulder', 'spine')
    """
    side, bone = _side_and_bone(role)
    return f"{side} {JOINT_NAMES[bone]}".strip()


def join_sides(names: Sequence[str]) -> list[str]:
    """Return names of joints with left and right ones of the same kind as one.

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
    """Return which way a bone goes from one rotation (4,) of the canonical human to another.

    Examples
    --------
    >>> import numpy as np
    >>> from synovia import quat
    >>> describe_move("leftUpperLeg", quat.IDENTITY, quat.exp(np.array([0.4, 0.0, 0.0])))
    'extension'
    """
    sizes = {term: size for term, size in _moves(role, start, end) if size > 0.0}
    ordered = sorted(sizes, key=lambda term: -sizes[term])
    named = [term for term in ordered[:2] if sizes[term] >= SECOND * sizes[ordered[0]]]
    return " with ".join(named)


def _moves(role: str, start: Quats, end: Quats) -> list[tuple[str, float]]:
    """Return all directions in words, each with how far it goes that way, in radians."""
    side, bone = _side_and_bone(role)
    mirror = -1.0 if side == "right" else 1.0
    turn = quat.log(quat.mul(end, quat.inverse(start)))
    if bone in ("chest", "head"):
        return _both_ways(TRUNK_TERMS, turn)
    if bone in ("Foot", "Toes"):
        return _both_ways(FOOT_TERMS, turn * [1.0, mirror, mirror])
    if bone == "Shoulder":
        return _both_ways(COLLARBONE_TERMS, turn * [1.0, mirror, mirror])
    if role not in BONE_DIRECTIONS:
        return [("rotation", float(np.linalg.norm(turn)))]
    before, after = (quat.rotate(each, BONE_DIRECTIONS[role]) for each in (start, end))
    twist = mirror * float(turn @ before)
    about_itself = ("pronation", "supination") if bone in ("LowerArm", "Hand") else None
    twists = _both_ways([about_itself or ("inward rotation", "outward rotation")], [twist])
    if bone in HINGES:
        hinge = np.cross(BONE_DIRECTIONS[role], HINGES[bone])
        bend, sideways = float(turn @ hinge), float(turn @ HINGES[bone])
        return [
            *_both_ways([("flexion", "extension")], [bend]),
            ("sideways bend", abs(sideways)),
            *twists,
        ]
    # How far the bone went along the sphere, outwards, upwards and forwards.
    angle = float(np.arccos(np.clip(before @ after, -1.0, 1.0)))
    length = float(np.linalg.norm(after - before))
    scale = angle / length if length > 0.0 else 0.0
    outwards, upwards, forwards = scale * (after - before) * [mirror, 1.0, 1.0]
    # To raise a limb that points sideways is to abduct it, one that points forwards to flex it.
    aside, ahead = mirror * after[0], after[2]
    if abs(aside) >= abs(ahead):
        outwards += np.copysign(upwards, upwards * aside)
    else:
        forwards += np.copysign(upwards, upwards * ahead)
    return [*_both_ways(LIMB_TERMS, [float(outwards), float(forwards)]), *twists]


def _both_ways(
    terms: Sequence[tuple[str, str]], sizes: Sequence[float] | Vectors
) -> list[tuple[str, float]]:
    """Return the terms of either way, the second with the size's sign changed."""
    return [
        (term, float(size) * sign)
        for pair, size in zip(terms, sizes, strict=True)
        for term, sign in zip(pair, (1.0, -1.0), strict=True)
    ]


def clinical_angles(role: str, rotation: Quats) -> dict[str, float]:
    """Return a joint's angles in the ISB's sequence, in radians, by what they are called.

    The shoulder has its plane of elevation (0 is abduction, a quarter turn flexion), elevation and
    inward rotation; others flexion, adduction and inward rotation. All are 0 while one stands with
    hanging arms, the palms at the thighs. Collarbones and toes have none.
    """
    side, bone = _side_and_bone(role)
    if bone in ("Shoulder", "Toes"):
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


def _side_and_bone(role: str) -> tuple[str, str]:
    for side in ("left", "right"):
        if role.startswith(side):
            return side, role.removeprefix(side)
    return "", role
