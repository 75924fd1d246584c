"""The canonical human as a skeleton: motion and limits of a rig on it, and back.

Its joints are those that limits are measured at, each seen from the bone that it moves against: the
chest from the hips whatever the number of vertebrae, the head and the upper arms from the chest.
All frames are parallel in a T-pose that faces +Z, with +X to the left and +Y up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Vectors
from ..skeleton import Clip, Pose, Skeleton
from .human import SIDES

if TYPE_CHECKING:
    from ..limit import DependentLimit, Limit
    from .reference import Alignment

SEEN_FROM = {
    "Shoulder": "chest",
    "UpperArm": "chest",
    "LowerArm": "UpperArm",
    "Hand": "LowerArm",
    "UpperLeg": "hips",
    "LowerLeg": "UpperLeg",
    "Foot": "LowerLeg",
    "Toes": "Foot",
}
"""What bones of the limbs are measured from: one of the torso, or one of the same side."""


def _measured_from() -> dict[str, str]:
    found = {"chest": "hips", "head": "chest"}
    for side in SIDES:
        for bone, above in SEEN_FROM.items():
            found[side + bone] = above if above.islower() else side + above
    return found


MEASURED_FROM: Mapping[str, str] = MappingProxyType(_measured_from())
"""The roles that have a range of motion, each with the role that it is measured from."""
TOWARDS_LEFT, DOWN = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
BONE_DIRECTIONS: Mapping[str, Vectors] = MappingProxyType(
    {
        side + bone: DOWN if bone.endswith("Leg") else sign * TOWARDS_LEFT
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
        for bone in ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg")
    }
)
"""Where the bones of limbs point in the T-pose."""
# Of a person of 1.7 m, in metres: about as our human has them.
_PLACES = {
    "hips": (0.0, 0.92, 0.0),
    "chest": (0.0, 1.25, 0.0),
    "head": (0.0, 1.50, 0.02),
    "Shoulder": (0.02, 1.38, 0.02),
    "UpperArm": (0.18, 1.38, 0.0),
    "LowerArm": (0.47, 1.38, 0.0),
    "Hand": (0.72, 1.38, 0.0),
    "UpperLeg": (0.09, 0.90, 0.0),
    "LowerLeg": (0.09, 0.48, 0.0),
    "Foot": (0.09, 0.08, 0.0),
    "Toes": (0.09, 0.02, 0.14),
}
_ENDS = {"head": (0.0, 0.2, 0.0), "Hand": (0.18, 0.0, 0.0), "Toes": (0.0, 0.0, 0.06)}


@cache
def canonical_skeleton() -> Skeleton:
    """Return the skeleton of the canonical human, in metres, in its T-pose."""
    names = ("hips", *MEASURED_FROM)
    above = [names.index(MEASURED_FROM[name]) if name in MEASURED_FROM else -1 for name in names]
    places = np.array([place_of(name) for name in names])
    ends = [name for name in names if _bone(name) in _ENDS]
    return Skeleton(
        names,
        np.array(above),
        np.concatenate([places[:1], places[1:] - places[above[1:]]]),
        end_parents=np.array([names.index(name) for name in ends]),
        end_offsets=np.array([place_of(name, _ENDS) for name in ends]),
        up="y",
        unit=1.0,
    )


def _bone(role: str) -> str:
    return role.removeprefix("left").removeprefix("right")


def place_of(
    role: str, table: Mapping[str, tuple[float, float, float]] = MappingProxyType(_PLACES)
) -> Vectors:
    """Return where a bone of the canonical human begins (3,), in metres."""
    mirror = np.array([-1.0, 1.0, 1.0]) if role.startswith("right") else np.ones(3)
    return np.asarray(mirror * np.array(table[_bone(role)]))


def canonical_clip(alignment: Alignment, clip: Clip) -> Clip:
    """Return the motion of a clip on the canonical human, who stays where it is.

    Joints that the rig does not have, or that are not above each other as here, keep still.
    """
    skeleton = canonical_skeleton()
    rotations = np.tile(quat.IDENTITY, (clip.frames, len(skeleton), 1))
    for role, seen in alignment.canonical_rotations(clip.pose).items():
        rotations[:, skeleton.index(role)] = seen
    positions = np.tile(skeleton.offsets, (clip.frames, 1, 1))
    return replace(clip, skeleton=skeleton, pose=Pose(rotations, positions), origin=None)


def limits_on_rig(limits: Mapping[str, Limit], alignment: Alignment) -> dict[str, Limit]:
    """Return limits of the canonical human as the joints of a rig have them, by their names.

    Roles that the rig does not have, and those whose frames are not sure enough, have none.
    """
    roles, frames = alignment.rig.roles, alignment.frames
    found = {}
    for role, above in alignment.trusted.items():
        if role in limits:
            there = limits[role].in_frames(frames[above], frames[role])
            found[roles[role]] = replace(there, relative_to=_ancestor(alignment, role, above))
    return found


def limits_from_rig(limits: Mapping[str, Limit], alignment: Alignment) -> dict[str, Limit]:
    """Return limits of a rig's joints as the canonical human has them, by role.

    Only those that are measured as here: from the bone that a role is measured from.
    """
    roles, frames = alignment.rig.roles, alignment.frames
    found = {}
    for role, above in alignment.trusted.items():
        limit = limits.get(roles[role])
        if limit is not None and limit.relative_to == _ancestor(alignment, role, above):
            back = limit.in_frames(quat.inverse(frames[above]), quat.inverse(frames[role]))
            found[role] = replace(back, relative_to=None)
    return found


def dependents_on_rig(
    dependents: Mapping[str, DependentLimit], limits: Mapping[str, Limit], alignment: Alignment
) -> dict[str, DependentLimit]:
    """Return dependent limits of the canonical human as a rig has them, by its names.

    `limits` are those that `limits_on_rig` gives. Where the rig lacks the driver, there is none.
    """
    roles, frames, trusted = alignment.rig.roles, alignment.frames, alignment.trusted
    found = {}
    for role, each in dependents.items():
        driver = each.driver
        seen = driver in trusted and (roles[driver] in limits or _is_plain(alignment, driver))
        if seen and role in trusted and roles[role] in limits:
            there = each.in_frames(frames[trusted[each.driver]], frames[each.driver])
            found[roles[role]] = replace(
                there, limit=limits[roles[role]], driver=roles[each.driver]
            )
    return found


def dependents_from_rig(
    dependents: Mapping[str, DependentLimit], limits: Mapping[str, Limit], alignment: Alignment
) -> dict[str, DependentLimit]:
    """Return dependent limits of a rig's joints as the canonical human has them, by role.

    `limits` are those that `limits_from_rig` gives. A driver must be measured as here.
    """
    frames, trusted = alignment.frames, alignment.trusted
    role_of = {joint: role for role, joint in alignment.rig.roles.items()}
    found = {}
    for joint, each in dependents.items():
        role, driver = role_of.get(joint), role_of.get(each.driver)
        if role is None or driver is None or role not in limits or driver not in trusted:
            continue
        if driver in limits or _is_plain(alignment, driver):
            parent, child = (quat.inverse(frames[bone]) for bone in (trusted[driver], driver))
            found[role] = replace(each.in_frames(parent, child), limit=limits[role], driver=driver)
    return found


def _is_plain(alignment: Alignment, role: str) -> bool:
    """Tell whether the parent of a role's joint is the bone that it is measured from."""
    return _ancestor(alignment, role, alignment.trusted[role]) is None


def _ancestor(alignment: Alignment, role: str, above: str) -> str | None:
    """Return the joint that a role is measured from on a rig; None if it is the parent."""
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    joint, ancestor = (skeleton.index(roles[each]) for each in (role, above))
    return None if skeleton.parents[joint] == ancestor else roles[above]
