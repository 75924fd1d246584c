# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures as skeletons: pose bones and the rest-aligned rotations that limits are about.

A pose bone turns by `basis` from its rest, about its own axes. With B the rotation of the bone at
rest in the armature, B · basis · B⁻¹ is the turn about the armature's axes, which is the identity
at rest and the same whatever the bone's roll. One change of axes A, from the armature's to those
that limits are in, does the rest: A · B · basis · B⁻¹ · A⁻¹.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
"""The rotation that takes each axis to y, which is up in most files of motion."""
NUMBERED = re.compile(r"\.\d{3,}$")
"""What Blender appends to a name that is taken."""
SAME_REST = np.radians(0.1)
SNAP = np.radians(15.0)
"""Axes that are so near to another skeleton's, in radians, are meant to be along them."""


@dataclass(frozen=True, eq=False)
class Rig:
    """The bones of an armature as joints, in axes that may be turned against the armature's.

    Joints are called as the bones are, and are in the order of `Pose.bones`, parents first.
    """

    skeleton: Skeleton
    axes: Quats
    """The rotation (4,) from the armature's axes to the skeleton's."""
    frames: Quats
    """How each bone is turned at rest (J, 4), in the skeleton's axes."""
    order: Ints
    """The number of each joint among the armature's pose bones."""

    @cached_property
    def _into(self) -> Floats:
        back = quat.inverse(self.frames)[:, None]
        return quat.mul(quat.mul(self.frames[:, None], np.eye(4)), back)

    @cached_property
    def _back(self) -> Floats:
        back = quat.inverse(self.frames)[:, None]
        return quat.mul(quat.mul(back, np.eye(4)), self.frames[:, None])

    def aligned(self, basis: Quats) -> Quats:
        """Return the rest-aligned rotations (..., J, 4) of all joints from those of pose bones."""
        return np.asarray(np.matmul(basis[..., None, :], self._into)[..., 0, :])

    def basis(self, joints: int | Ints, rotations: Quats) -> Quats:
        """Return rotations (..., 4) of a joint's pose bone from its rest-aligned ones.

        Or of several joints (n,), from one rotation (n, 4) of each.
        """
        return np.asarray(np.matmul(rotations[..., None, :], self._back[joints])[..., 0, :])

    def turn(self, turn: Quats) -> Rig:
        """Return the same joints in axes that are turned further."""
        if np.abs(turn[1:]).max() == 0.0:
            return self
        own = self.skeleton
        skeleton = Skeleton(
            own.names,
            own.parents,
            quat.rotate(turn, own.offsets),
            end_parents=own.end_parents,
            end_offsets=quat.rotate(turn, own.end_offsets),
            rest_rotations=quat.normalize(quat.mul(turn, own.rest_rotations)),
            up=own.up,
            unit=own.unit,
        )
        axes, frames = (quat.normalize(quat.mul(turn, each)) for each in (self.axes, self.frames))
        return Rig(skeleton, axes, frames, self.order)

    def to_armature(self, vectors: Vectors) -> Vectors:
        """Return vectors (..., 3) of the skeleton's axes in the armature's."""
        return quat.rotate(quat.inverse(self.axes), vectors)


def rest_state(armature: Any) -> tuple[tuple[str, ...], bytes]:
    """Return what a rig follows from: names and rest matrices of an armature's bones."""
    bones = armature.bones
    matrices = np.empty(16 * len(bones), np.float32)
    bones.foreach_get("matrix_local", matrices)
    return tuple(bones.keys()), matrices.tobytes()


def rig_of(thing: Any) -> Rig:
    """Return the rig of an armature object, y up."""
    if not len(thing.data.bones):
        raise ValueError(f"{thing.name} has no bones")
    bones = sorted(thing.data.bones, key=lambda bone: len(bone.parent_recursive))
    names = tuple(bone.name for bone in bones)
    number = {name: joint for joint, name in enumerate(names)}
    parents = [number[bone.parent.name] if bone.parent else -1 for bone in bones]
    heads = np.array([bone.head_local for bone in bones])
    above = np.array([heads[p] if p >= 0 else np.zeros(3) for p in parents])
    ends = [joint for joint, bone in enumerate(bones) if not bone.children]
    tips = [np.subtract(bones[joint].tail_local, bones[joint].head_local) for joint in ends]
    matrices = np.array([bone.matrix_local.to_3x3() for bone in bones], dtype=np.float64)
    axes = UPRIGHT[up_axis(thing)]
    frames = quat.normalize(quat.mul(axes, quat.from_matrix(matrices)))
    skeleton = Skeleton(
        names,
        np.array(parents),
        quat.rotate(axes, heads - above),
        end_parents=np.array(ends, dtype=np.int64),
        end_offsets=quat.rotate(axes, np.array(tips).reshape(-1, 3)),
        rest_rotations=frames,
        up="y",
    )
    places = {name: place for place, name in enumerate(thing.pose.bones.keys())}
    return Rig(skeleton, axes, frames, np.array([places[name] for name in names]))


def up_axis(thing: Any) -> str:
    """Return which axis of an armature object is up in the world, or nearly."""
    up = np.array(thing.matrix_world.to_3x3())[2]
    return "xyz"[int(np.abs(up).argmax())]


# Names: importers number those that are taken.


def matching_names(wanted: Iterable[str], bones: Iterable[str]) -> dict[str, str]:
    """Return bones by which joint of `wanted` they are, where their names differ by a number.

    "Hips.001" is "Hips" if no bone is called so. Names that are the same, or that `bare_name` makes
    the same, are not among them.
    """
    wanted, bones = set(wanted), list(bones)
    taken = {each for name in bones for each in (name, bare_name(name)) if each in wanted}
    found: dict[str, str] = {}
    for name in bones:
        for plain in (NUMBERED.sub("", name), bare_name(NUMBERED.sub("", name))):
            if name not in wanted and plain in wanted - taken:
                found[name] = plain
                taken.add(plain)
                break
    return found


# Axes: limits were made for a skeleton that may be turned against the armature.


@lru_cache(maxsize=1)
def right_angles() -> Quats:
    """Return the 24 rotations (24, 4) that take axes to axes."""
    matrices = [
        np.array(signs)[:, None] * np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return quat.from_matrix(np.array([each for each in matrices if np.linalg.det(each) > 0.0]))


def rest_turn(own: Skeleton, theirs: Skeleton, joints: Mapping[str, int]) -> Quats:
    """Return the rotation (4,) that takes a skeleton's axes to those of another.

    `joints` are numbers in `own` by the names of `theirs`. Bones at rest tell: where the two stand
    alike, the rotation is exact; otherwise it is a multiple of right angles where one is near.
    """
    one, other = paired_directions(own, theirs, joints)
    spread = np.linalg.svd(one, compute_uv=False) if len(one) else np.zeros(1)
    if len(spread) < 2 or spread[1] < 0.05 * spread[0]:
        return quat.IDENTITY  # all along one line
    u, _, v = np.linalg.svd(other.T @ one)
    best = quat.from_matrix(u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v)
    corner: Quats = right_angles()[quat.angle_between(right_angles(), best).argmin()]
    near = float(quat.angle_between(corner, best))
    if near < 1e-5 or (near < SNAP and _apart(quat.rotate(best, one), other) > SAME_REST):
        return corner
    return best


def paired_directions(
    own: Skeleton, theirs: Skeleton, joints: Mapping[str, int]
) -> tuple[Vectors, Vectors]:
    """Return unit vectors (n, 3) from joints to those above that both skeletons have, of each."""
    pairs = {number: theirs.index(name) for name, number in joints.items()}
    found = []
    for number, other in pairs.items():
        above = next((each for each in own.path_to_root(number)[1:] if each in pairs), None)
        if above is None or pairs[above] not in theirs.path_to_root(other)[1:]:
            continue
        ways = _way(own, number, above), _way(theirs, other, pairs[above])
        lengths = [float(np.linalg.norm(way)) for way in ways]
        if min(lengths) > 0.0:
            found.append([way / length for way, length in zip(ways, lengths, strict=True)])
    stacked = np.array(found).reshape(-1, 2, 3)
    return stacked[:, 0], stacked[:, 1]


def _way(skeleton: Skeleton, joint: int, above: int) -> Vectors:
    path = skeleton.path_to_root(joint)
    return np.asarray(skeleton.offsets[path[: path.index(above)]].sum(axis=0))


def _apart(one: Vectors, other: Vectors) -> float:
    """Return the largest angle, in radians, between vectors and their partners."""
    return float(np.arctan2(np.linalg.norm(np.cross(one, other), axis=1),
                            np.sum(one * other, axis=1)).max(initial=0.0))  # fmt: skip


# What constraints do: such bones are judged as they come out, and are not moved.

OWN = "Synovia"
"""The name of constraints that are ours."""


def is_active(constraint: Any) -> bool:
    """Tell whether a constraint acts and is not ours."""
    return not constraint.mute and constraint.influence > 0.0 and constraint.name != OWN


def driven_bones(thing: Any) -> set[str]:
    """Return the bones whose rotation is not theirs alone to say.

    Those that have constraints, are in a chain of inverse kinematics, or do not turn with parents.
    """
    inherit = np.empty(len(thing.data.bones), dtype=bool)
    thing.data.bones.foreach_get("use_inherit_rotation", inherit)
    names = thing.data.bones.keys() if not inherit.all() else ()
    found = {name for name, with_parent in zip(names, inherit, strict=False) if not with_parent}
    for bone in [each for each in thing.pose.bones if each.constraints]:  # mostly none
        for constraint in bone.constraints:
            if is_active(constraint):
                found.add(bone.name)
                found.update(_chain(bone, constraint))
    return found


def _chain(bone: Any, constraint: Any) -> Sequence[str]:
    if constraint.type not in ("IK", "SPLINE_IK"):
        return ()
    chain = [bone, *bone.parent_recursive]
    if constraint.type == "IK" and not constraint.use_tail:
        chain = chain[1:]
    count = constraint.chain_count or len(chain)
    return [each.name for each in chain[:count]]


def evaluated_rotations(thing: Any, rig: Rig, joints: Iterable[int]) -> dict[int, Quats]:
    """Return rest-aligned rotations (4,) of joints as they come out, constraints included.

    `thing` is the object as evaluated at the current frame.
    """
    bones, parents = thing.pose.bones, rig.skeleton.parents
    turned: dict[int, Quats] = {-1: quat.IDENTITY}

    def world(joint: int) -> Quats:
        if joint not in turned:
            matrix = np.array(bones[int(rig.order[joint])].matrix.to_3x3().normalized())
            whole = quat.mul(rig.axes, quat.from_matrix(matrix))
            turned[joint] = quat.mul(whole, quat.inverse(rig.frames[joint]))
        return turned[joint]

    return {
        joint: quat.normalize(quat.mul(quat.inverse(world(int(parents[joint]))), world(joint)))
        for joint in joints
    }
