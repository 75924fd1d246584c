# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures as skeletons: conversion of pose bones to the rest-aligned rotations of limits.

A pose bone rotates by `basis` from its rest, in its own axes. With B the bone's rotation at rest in
the armature, B · basis · B⁻¹ is the rotation in the armature's axes: the identity at rest, and
independent of the bone's roll. With A the change from the armature's axes to those of the limits,
the rest-aligned rotation is A · B · basis · B⁻¹ · A⁻¹.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np

from synovia import Skeleton, quat
from synovia.arrays import Floats, Ints, Quats, Vectors
from synovia.skeleton import bare_name

UPRIGHT = {
    "x": quat.exp(np.array([0.0, 0.0, np.pi / 2])),
    "y": quat.IDENTITY,
    "z": quat.exp(np.array([-np.pi / 2, 0.0, 0.0])),
}
"""The rotation that takes each axis to y, the up axis of rigs."""
NUMBERED = re.compile(r"\.\d{3,}$")  # the suffix that Blender appends to a name in use
SAME_REST = np.radians(0.1)  # largest angle between bones of equal rest poses
SNAP = np.radians(15.0)  # axes closer to a multiple of right angles are rounded to it


@dataclass(frozen=True, eq=False)
class Rig:
    """The bones of an armature as joints, in axes that may differ from the armature's.

    Joints have the names of bones, and parents precede children.
    """

    skeleton: Skeleton
    axes: Quats
    """The rotation (4,) from the armature's axes to the skeleton's."""
    frames: Quats
    """The rotation of each bone at rest (J, 4), in the skeleton's axes."""
    order: Ints
    """The index (J,) of each joint among the armature's pose bones."""

    @cached_property
    def _into(self) -> Floats:
        back = quat.inverse(self.frames)[:, None]
        return quat.mul(quat.mul(self.frames[:, None], np.eye(4)), back)

    @cached_property
    def _back(self) -> Floats:
        back = quat.inverse(self.frames)[:, None]
        return quat.mul(quat.mul(back, np.eye(4)), self.frames[:, None])

    def aligned(self, basis: Quats) -> Quats:
        """Return the rest-aligned rotations (..., J, 4) for rotations of pose bones (..., J, 4)."""
        return np.asarray(np.matmul(basis[..., None, :], self._into)[..., 0, :])

    def basis(self, joints: int | Ints, rotations: Quats) -> Quats:
        """Return the pose bone's rotations (..., 4) for rest-aligned rotations of a joint.

        `joints` may also be several indices (n,), with one rotation (n, 4) each.
        """
        return np.asarray(np.matmul(rotations[..., None, :], self._back[joints])[..., 0, :])

    def rotate(self, rotation: Quats) -> Rig:
        """Return the rig in other axes; `rotation` (4,) takes the current axes to them."""
        if np.abs(rotation[1:]).max() == 0.0:
            return self
        skeleton = replace(
            self.skeleton,
            offsets=quat.rotate(rotation, self.skeleton.offsets),
            end_offsets=quat.rotate(rotation, self.skeleton.end_offsets),
            rest_rotations=quat.normalize(quat.mul(rotation, self.skeleton.rest_rotations)),
        )
        axes = quat.normalize(quat.mul(rotation, self.axes))
        return Rig(skeleton, axes, quat.normalize(quat.mul(rotation, self.frames)), self.order)

    def to_armature(self, vectors: Vectors) -> Vectors:
        """Return vectors (..., 3), given in the skeleton's axes, in the armature's axes."""
        return quat.rotate(quat.inverse(self.axes), vectors)


def rest_state(armature: Any) -> tuple[tuple[str, ...], bytes]:
    """Return names and rest matrices of an armature's bones, which determine its rig."""
    bones = armature.bones
    matrices = np.empty(16 * len(bones), np.float32)
    bones.foreach_get("matrix_local", matrices)
    return tuple(bones.keys()), matrices.tobytes()


def rig_of(armature: Any) -> Rig:
    """Return the rig of an armature object, y up."""
    if not len(armature.data.bones):
        raise ValueError(f"{armature.name} has no bones")
    bones = sorted(armature.data.bones, key=lambda bone: len(bone.parent_recursive))
    names = tuple(bone.name for bone in bones)
    index = {name: joint for joint, name in enumerate(names)}
    parents = [index[bone.parent.name] if bone.parent else -1 for bone in bones]
    heads = np.array([bone.head_local for bone in bones])
    parent_heads = np.array([heads[p] if p >= 0 else np.zeros(3) for p in parents])
    ends = [joint for joint, bone in enumerate(bones) if not bone.children]
    tips = [np.subtract(bones[joint].tail_local, bones[joint].head_local) for joint in ends]
    matrices = np.array([bone.matrix_local.to_3x3() for bone in bones], dtype=np.float64)
    axes = UPRIGHT[up_axis(armature)]
    frames = quat.normalize(quat.mul(axes, quat.from_matrix(matrices)))
    skeleton = Skeleton(
        names,
        np.array(parents),
        quat.rotate(axes, heads - parent_heads),
        end_parents=np.array(ends, dtype=np.int64),
        end_offsets=quat.rotate(axes, np.array(tips).reshape(-1, 3)),
        rest_rotations=frames,
        up="y",
    )
    pose_bones = list(armature.pose.bones.keys())
    return Rig(skeleton, axes, frames, np.array([pose_bones.index(name) for name in names]))


def up_axis(armature: Any) -> str:
    """Return the axis of an armature object that is closest to up in the world."""
    up = np.array(armature.matrix_world.to_3x3())[2]
    return "xyz"[int(np.abs(up).argmax())]


def matching_names(wanted: Iterable[str], bones: Iterable[str]) -> dict[str, str]:
    """Return a map from bones to names in `wanted` from which they differ by a numeric suffix.

    "Hips.001" is mapped to "Hips" if no bone has that name, because importers number names in use.
    Bones that have a wanted name, also after `bare_name`, are left out.
    """
    wanted, bones = set(wanted), list(bones)
    taken = {form for name in bones for form in (name, bare_name(name)) if form in wanted}
    mapped: dict[str, str] = {}
    for name in bones:
        for plain in (NUMBERED.sub("", name), bare_name(NUMBERED.sub("", name))):
            if name not in wanted and plain in wanted - taken:
                mapped[name] = plain
                taken.add(plain)
                break
    return mapped


@lru_cache(maxsize=1)
def right_angles() -> Quats:
    """Return the 24 rotations (24, 4) that take axes to axes."""
    matrices = [
        np.array(signs)[:, None] * np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return quat.from_matrix(np.array([m for m in matrices if np.linalg.det(m) > 0.0]))


def axes_rotation(skeleton: Skeleton, target: Skeleton, joints: Mapping[str, int]) -> Quats:
    """Return the rotation (4,) from a skeleton's axes to those of a target (Kabsch algorithm).

    `joints` are indices in `skeleton` by names in `target`. The rotation aligns bones at rest: it
    is exact for equal rest poses; otherwise it is rounded to a multiple of right angles, if one is
    near.
    """
    one, other = paired_directions(skeleton, target, joints)
    spread = np.linalg.svd(one, compute_uv=False) if len(one) else np.zeros(1)
    if len(spread) < 2 or spread[1] < 0.05 * spread[0]:
        return quat.IDENTITY  # all directions are parallel
    u, _, v = np.linalg.svd(other.T @ one)
    best = quat.from_matrix(u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v)
    corner: Quats = right_angles()[quat.angle_between(right_angles(), best).argmin()]
    angle = float(quat.angle_between(corner, best))
    if angle < 1e-5 or (angle < SNAP and _largest_angle(quat.rotate(best, one), other) > SAME_REST):
        return corner
    return best


def paired_directions(
    skeleton: Skeleton, target: Skeleton, joints: Mapping[str, int]
) -> tuple[Vectors, Vectors]:
    """Return unit vectors (n, 3) from common ancestors to common joints, for both skeletons."""
    pairs = {joint: target.index(name) for name, joint in joints.items()}
    directions = []
    for joint, other in pairs.items():
        ancestors = skeleton.path_to_root(joint)[1:]
        above = next((ancestor for ancestor in ancestors if ancestor in pairs), None)
        if above is None or pairs[above] not in target.path_to_root(other)[1:]:
            continue
        vectors = np.array([_vector(skeleton, joint, above), _vector(target, other, pairs[above])])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if lengths.min() > 0.0:
            directions.append(vectors / lengths)
    stacked = np.array(directions).reshape(-1, 2, 3)
    return stacked[:, 0], stacked[:, 1]


def _vector(skeleton: Skeleton, joint: int, above: int) -> Vectors:
    """Return the vector (3,) from a joint's ancestor to the joint, at rest."""
    path = skeleton.path_to_root(joint)
    return np.asarray(skeleton.offsets[path[: path.index(above)]].sum(axis=0))


def _largest_angle(one: Vectors, other: Vectors) -> float:
    """Return the largest angle, in radians, between corresponding vectors (n, 3)."""
    return float(np.arctan2(np.linalg.norm(np.cross(one, other), axis=1),
                            np.sum(one * other, axis=1)).max(initial=0.0))  # fmt: skip


CONSTRAINT_NAME = "Synovia"  # of the constraints that the extension adds


def is_active(constraint: Any) -> bool:
    """Return True if a constraint has an effect and was not added by the extension."""
    return not constraint.mute and constraint.influence > 0.0 and constraint.name != CONSTRAINT_NAME


def driven_bones(armature: Any) -> set[str]:
    """Return the bones whose rotation does not follow from their channels alone.

    They have constraints, are in an IK chain, or do not inherit the parent's rotation. Such bones
    are checked by their evaluated rotations, and are not moved.
    """
    inherit = np.empty(len(armature.data.bones), dtype=bool)
    armature.data.bones.foreach_get("use_inherit_rotation", inherit)
    names = armature.data.bones.keys() if not inherit.all() else ()
    driven = {name for name, with_parent in zip(names, inherit, strict=False) if not with_parent}
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            if is_active(constraint):
                driven.add(bone.name)
                driven.update(_ik_chain(bone, constraint))
    return driven


def _ik_chain(bone: Any, constraint: Any) -> Sequence[str]:
    """Return the names of the bones that an IK constraint moves."""
    if constraint.type not in ("IK", "SPLINE_IK"):
        return ()
    chain = [bone, *bone.parent_recursive]
    if constraint.type == "IK" and not constraint.use_tail:
        chain = chain[1:]
    count = constraint.chain_count or len(chain)
    return [link.name for link in chain[:count]]


def evaluated_rotations(armature: Any, rig: Rig, joints: Iterable[int]) -> dict[int, Quats]:
    """Return the rest-aligned rotations (4,) of joints after constraints, by joint.

    `armature` is the evaluated object.
    """
    bones, parents = armature.pose.bones, rig.skeleton.parents
    world_rotations: dict[int, Quats] = {-1: quat.IDENTITY}

    def world(joint: int) -> Quats:
        if joint not in world_rotations:
            matrix = np.array(bones[int(rig.order[joint])].matrix.to_3x3().normalized())
            oriented = quat.mul(rig.axes, quat.from_matrix(matrix))
            world_rotations[joint] = quat.mul(oriented, quat.inverse(rig.frames[joint]))
        return world_rotations[joint]

    return {
        joint: quat.normalize(quat.mul(quat.inverse(world(int(parents[joint]))), world(joint)))
        for joint in joints
    }
