"""Joint angles in the sequences of the International Society of Biomechanics.

Wu et al. 2002 and 2005: X forward, Y up, Z to the right; the shoulder in the sequence Y-X-Y,
clavicle and scapula in Y-X-Z, all others in Z-X-Y; left sides as if they were right ones.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, wrap_angles
from ..skeleton import Pose, Skeleton, forward
from .part import load_tables

SPINE = {
    "lumbar": ("Pelvis", "L1"),
    "thoracic": ("L1", "T1"),
    "cervical": ("T1", "C1"),
    "head": ("C1", "Head"),
}
GIRDLE = {"clavicle": ("Sternum", "Clavicle"), "scapula": ("Sternum", "Scapula")}
LIMBS = GIRDLE | {
    "shoulder": ("Sternum", "UpperArm"),
    "elbow": ("UpperArm", "Forearm"),
    "wrist": ("Forearm", "Hand"),
    "hip": ("Pelvis", "UpperLeg"),
    "knee": ("UpperLeg", "LowerLeg"),
    "ankle": ("LowerLeg", "Foot"),
}
TRUNK = ("Pelvis", "Sternum")
JOINTS = SPINE | {
    f"{side}_{name}": tuple(
        bone if bone in TRUNK else f"{side.capitalize()}{bone}" for bone in bones
    )
    for side in ("left", "right")
    for name, bones in LIMBS.items()
}
"""The two segments of each joint, the nearer to the trunk first."""


def isb_angles(skeleton: Skeleton, pose: Pose, joint: str) -> Floats:
    """Return the angles (..., 3) of a joint of the human, radians, in the order of its sequence.

    A shoulder's are plane of elevation (0 is abduction, a quarter turn is flexion), elevation,
    which is negative, and axial rotation (inwards is positive). Others' are about Z (forwards is
    positive for hip, elbow and ankle, negative for knee and spine), X (adduction) and Y (inwards).
    They are 0 in the human's rest pose, where the palms are at the thighs.

    A scapula's are protraction, medial rotation (upward rotation is negative) and posterior tilt, a
    clavicle's protraction, depression and backward rotation. They are angles of frames through the
    bone's landmarks, against the sternum's: not 0 at rest.
    """
    if joint not in JOINTS:
        raise ValueError(f"no joint {joint!r}; there are {', '.join(JOINTS)}")
    near, far = (skeleton.index(name) for name in JOINTS[joint])
    _, rotations = forward(skeleton, pose)
    return isb_angles_of(
        quat.mul(quat.inverse(rotations[..., near, :]), rotations[..., far, :]), joint
    )


def isb_angles_of(rotations: Quats, joint: str) -> Floats:
    """Return the angles (..., 3) of a joint from its rotations (..., 4); see `isb_angles`.

    They are of the farther segment as the nearer one sees it, with x to the left, y up and z
    forward in both while the human stands with hanging arms.
    """
    isb_rotations = _to_isb_axes(rotations, mirrored=joint.startswith("left"))
    bone = joint.rpartition("_")[2]
    if bone in GIRDLE:
        return quat.to_euler(quat.mul(isb_rotations, _landmark_frame(bone)), "yxz")
    if bone != "shoulder":
        return quat.to_euler(isb_rotations, "zxy")
    plane, elevation, axial = np.moveaxis(quat.to_euler(isb_rotations, "yxy"), -1, 0)
    # Elevation is negative, which moves plane and axial rotation by half a turn. A hanging arm has
    # no plane, and only the sum of the other two angles is known.
    hangs = np.abs(np.sin(elevation)) < 1e-9
    plane, axial = plane + np.where(hangs, -plane, np.pi), axial + np.where(hangs, plane, -np.pi)
    return np.stack([wrap_angles(plane), -elevation, wrap_angles(axial)], axis=-1)


def _to_isb_axes(rotations: Quats, mirrored: bool) -> Quats:
    """Return rotations seen in X forward, Y up, Z right, as those of a right side if mirrored."""
    w, left, up, ahead = np.moveaxis(rotations, -1, 0)
    isb_rotations = np.stack([w, ahead, up, -left], axis=-1)
    return np.asarray(isb_rotations * [1.0, -1.0, -1.0, 1.0]) if mirrored else isb_rotations


@cache
def _landmark_frame(bone: str) -> Quats:
    """Return the frame (4,) of the right clavicle or scapula at rest, in the axes of the ISB.

    The clavicle's Z goes along the bone, and X is level. The scapula's Z goes from the root of the
    spine to the acromial angle, and X forward, across the plane of both and the lower angle.
    """
    data = load_tables("shoulder")["human"]
    if bone == "clavicle":
        z = np.array(data["places"]["scapula"])
        x = np.cross([0.0, 1.0, 0.0], z)
    else:
        names = ("acromial_angle", "spine_root", "lower_angle")
        acromial, root, lower = (np.array(data["landmarks"][name]) for name in names)
        z = acromial - root
        x = np.cross(root - lower, z)
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    left, up, ahead = np.stack([x, np.cross(z, x), z], axis=1)
    return quat.from_matrix(np.stack([ahead, up, -left]))
