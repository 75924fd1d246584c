"""Intervals of legal clinical angles: along one axis, with all other angles fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars
from ..limit.hinge import HingePath, hinge_path
from ..model import ControlGroup, JointLimit, Limb, LimitModel
from ..model.placed import Placed
from ..rigs import Alignment
from ..skeleton import Pose, forward
from .angles import ClinicalAxis, angles_of, clinical_axes, ends_of, rotation_of

STEP = np.radians(5.0)  # between tested angles; an illegal part that is narrower can be missed
BISECTIONS = 8  # of a step, to 0.02 degrees
TESTED_AT_ONCE = 200  # angles; few poses are tested many steps ahead in one call
HINGE_NODES = 33  # of a hinge's path; between them angles are linear
MAX_LINKS = 2  # limited joints that share a clinical joint, as an elbow and its forearm do


@dataclass(frozen=True, eq=False)
class Link:
    """A joint of a rig that moves a clinical joint: a bone against the one it is measured from."""

    role: str
    anchor: int
    """Index of the joint from which the role is measured."""
    bone: int
    """Index of the joint of the role."""
    moving: int
    """Index of the joint that rotates; mostly `bone`."""
    base: int
    """Index of the joint from which its limit is measured; -1 for the world."""
    placed: Placed | None = None
    """The constraint with its limit; None if it has none that is tested."""

    @cached_property
    def column(self) -> int:
        """The index of the moving joint in its constraint."""
        return 0 if self.placed is None else self.placed.joints.index(self.moving)


def links(model: LimitModel, alignment: Alignment) -> dict[str, list[Link]]:
    """Return the joints that move each trusted clinical joint of a rig, by role.

    There are several where several joints with limits share it. Roles that more than two share,
    such as the spine of the default human, are left out.
    """
    skeleton, roles = alignment.rig.skeleton, alignment.rig.roles
    placed = {
        joint: placed_constraint
        for placed_constraint in model.placed
        if not isinstance(placed_constraint.constraint, ControlGroup)
        for joint in placed_constraint.joints
    }
    grouped = {skeleton.index(name) for group in model.groups for name in group.joints}
    ancestors = {
        skeleton.index(name): skeleton.index(above) for name, above in model.ancestors.items()
    }
    links_by_role = {}
    for role in alignment.trusted:
        if not clinical_axes(role):
            continue
        bone, anchor = skeleton.index(roles[role]), skeleton.index(alignment.anchors[role][0])
        path = skeleton.path_to_root(bone)
        path = path[: path.index(anchor)]
        if grouped & set(path):
            continue
        limited = [joint for joint in path if joint in placed]
        if bone in ancestors and ancestors[bone] == anchor:
            limited = [bone]
        if len(limited) <= MAX_LINKS:
            links_by_role[role] = [
                Link(
                    *(role, anchor, bone, joint),
                    ancestors.get(joint, int(skeleton.parents[joint])),
                    placed.get(joint),
                )
                for joint in limited or [bone]
            ]
    return links_by_role


@dataclass(frozen=True, eq=False)
class HingeAngles:
    """Clinical angles along the path of a joint that is a hinge.

    The path of a knee also has a little valgus and rotation, so that it is not straight along the
    clinical axis.
    """

    axis: int
    """The clinical axis about which the hinge mostly turns."""
    path: HingePath
    along: Scalars
    """(k,): angles along the path in radians, rising or falling with the clinical ones."""
    angles: Floats
    """(n, k): clinical angles there, in n poses, rising."""


@dataclass(frozen=True, eq=False)
class ClinicalJoint:
    """A clinical joint in poses: its angles, and how to set them."""

    link: Link
    alignment: Alignment
    pose: Pose
    """Poses (n,) of the rig."""

    @property
    def axes(self) -> tuple[ClinicalAxis, ...]:
        """The clinical axes."""
        return clinical_axes(self.link.role)

    @cached_property
    def _world(self) -> Quats:
        return forward(self.alignment.rig.skeleton, self.pose)[1]

    def _world_of(self, joint: int) -> Quats:
        """Return the world rotations (n, 4) of a joint; the identity for none."""
        if joint < 0:
            return np.broadcast_to(quat.IDENTITY, (len(self._world), 4))
        return self._world[:, joint]

    @cached_property
    def angles(self) -> Floats:
        """The clinical angles (n, 3) in radians."""
        link = self.link
        relative = quat.mul(quat.inverse(self._world_of(link.anchor)), self._world_of(link.bone))
        return angles_of(link.role, self.alignment.to_canonical(link.role, relative))

    def _rotations_for(self, angles: Floats, rows: Ints) -> Quats:
        """Return the world rotations (m, 4) of the moving joint that give clinical angles (m, 3).

        Other joints are as in the poses of `rows` (m,).
        """
        link = self.link
        canonical = rotation_of(link.role, angles)
        _, above = self.alignment.anchors[link.role]
        frame = self.alignment.frames[link.role]
        relative = quat.mul(quat.mul(above, canonical), quat.inverse(frame))
        bone = quat.mul(self._world_of(link.anchor)[rows], relative)
        below = quat.mul(
            quat.inverse(self._world_of(link.moving)[rows]), self._world_of(link.bone)[rows]
        )
        return quat.normalize(quat.mul(bone, quat.inverse(below)))

    @cached_property
    def hinge(self) -> HingeAngles | None:
        """The angles along the joint's path, if its limit allows rotation about one axis only."""
        link = self.link
        if link.placed is None or not isinstance(link.placed.constraint, JointLimit):
            return None
        path = hinge_path(link.placed.constraint.limit)
        if path is None:
            return None
        along = np.linspace(path.low, path.high, HINGE_NODES)
        moving = quat.mul(self._world_of(link.base)[:, None], path.at(along))
        below = quat.mul(quat.inverse(self._world_of(link.moving)), self._world_of(link.bone))
        bone = quat.mul(moving, below[:, None])
        relative = quat.mul(quat.inverse(self._world_of(link.anchor))[:, None], bone)
        angles = angles_of(link.role, self.alignment.to_canonical(link.role, relative))
        change = (angles[:, -1] - angles[:, 0]).mean(axis=0)
        axis = int(np.abs(change).argmax())
        if change[axis] < 0.0:
            along, angles = along[::-1], angles[:, ::-1]
        return HingeAngles(axis, path, along, angles[..., axis])

    def with_angle(self, axis: int, angle: Scalars) -> Pose:
        """Return the poses (n,) with angles (n,) along one axis.

        A hinge stays on its path; beyond the ends it rotates further about its axis.
        """
        if self.hinge is None or self.hinge.axis != axis:
            angles = self.angles.copy()
            angles[:, axis] = angle
            return self.with_angles(angles)
        along = self.hinge.along
        within = np.clip(angle, self.hinge.angles[:, 0], self.hinge.angles[:, -1])
        on_path = [
            np.interp(angle_in_pose, nodes, along)
            for angle_in_pose, nodes in zip(within, self.hinge.angles, strict=True)
        ]
        beyond = np.sign(along[-1] - along[0]) * (angle - within)
        rotations = self.hinge.path.at(np.array(on_path) + beyond)
        return self._with_world(quat.mul(self._world_of(self.link.base), rotations))

    def with_angles(self, angles: Floats) -> Pose:
        """Return the poses (n,) with other clinical angles (n, 3)."""
        return self._with_world(self._rotations_for(angles, np.arange(len(angles))))

    def _with_world(self, world: Quats) -> Pose:
        """Return the poses (n,) with the moving joint at world rotations (n, 4)."""
        parent = int(self.alignment.rig.skeleton.parents[self.link.moving])
        rotations = self.pose.rotations.copy()
        rotations[:, self.link.moving] = quat.mul(quat.inverse(self._world_of(parent)), world)
        return self.pose.with_rotations(rotations)

    def contains(self, angles: Floats, rows: Ints) -> Mask:
        """Return which clinical angles (m, 3) are legal in the poses of `rows` (m,)."""
        placed, link = self.link.placed, self.link
        if placed is None:
            return np.ones(len(angles), bool)
        rotations = self._rotations[rows].copy()
        base = quat.inverse(self._world_of(link.base)[rows])
        rotations[:, link.column] = quat.mul(base, self._rotations_for(angles, rows))
        limb, column = placed.constraint, link.column
        if not isinstance(limb, Limb):
            return np.asarray(limb.distance(rotations)[:, column] <= TOLERANCE)
        pooled, _ = limb.pool(rotations)
        limbs = limb.shift_twist(pooled, self._shift[rows])
        excess = limb.muscle_excess(pooled)[:, column]
        for k in (1, 2) if column == 2 else (column,):  # the lower bone's limit has the end's twist
            limit = limb.limits[limb.joints[k]]
            excess = np.maximum(excess, limit.distance(limbs[:, k]))
        return np.asarray(excess <= TOLERANCE)

    @cached_property
    def _shift(self) -> Scalars:
        """The twist (n,) that moves along the limb in each pose, so that the limb is legal.

        It is fixed while an angle changes, because twist could compensate almost any angle.
        """
        assert self.link.placed is not None
        limb = self.link.placed.constraint
        assert isinstance(limb, Limb)
        return limb.share_twist(self._rotations, TOLERANCE).shift

    @cached_property
    def _rotations(self) -> Quats:
        """The rotations (n, k, 4) that the constraint sees."""
        assert self.link.placed is not None
        return np.array(self.link.placed.relative(self.pose.rotations))

    def bands(self) -> Floats:
        """Return the legal angles (n, 3, 2) along each axis, from low to high, in radians.

        They are the ends of the legal interval around the present angle; of an illegal angle, the
        nearest one. Along the axis of a hinge they are the ends of its path. NaN where no angle is
        legal; where nothing ends an axis sooner, its own ends (`ends_of`).
        """
        count, axes = self.angles.shape
        axis_ends = ends_of(self.link.role, self.angles)
        if self.link.placed is None:
            return axis_ends
        rows, axis = (indices.ravel() for indices in np.indices((count, axes)))

        def legal(tested: Ints, values: Scalars) -> Mask:
            """Return which values of the tested pairs of pose and axis are legal."""
            angles = self.angles[rows[tested]]
            angles[np.arange(len(tested)), axis[tested]] = values
            return self.contains(angles, rows[tested])

        low, high = axis_ends[..., 0].ravel(), axis_ends[..., 1].ravel()
        start = _nearest_legal(legal, self.angles.ravel(), low, high)
        ends = [first_exit(legal, start, end) for end in (low, high)]
        bands = np.stack(ends, axis=-1).reshape(count, axes, 2)
        if self.hinge is not None:
            bands[:, self.hinge.axis] = self.hinge.angles[:, [0, -1]]
        return bands


def _nearest_legal(
    legal: Callable[[Ints, Scalars], Mask], angles: Scalars, low: Scalars, high: Scalars
) -> Scalars:
    """Return the legal angles (m,) that are nearest to `angles`; NaN where none is legal."""
    outside = np.flatnonzero(~legal(np.arange(len(angles)), angles))
    nearest = angles.copy()
    for row in outside:
        count = int(np.ceil((high[row] - low[row]) / STEP)) + 1
        tried = np.linspace(low[row], high[row], count)
        legal_angles = tried[legal(np.full(count, row), tried)]
        distance = np.abs(legal_angles - angles[row])
        nearest[row] = legal_angles[distance.argmin()] if len(legal_angles) else np.nan
    return nearest


def first_exit(legal: Callable[[Ints, Scalars], Mask], start: Scalars, end: Scalars) -> Scalars:
    """Return how far angles (m,) stay legal from `start` towards `end`.

    `legal(rows, angles)` returns a mask. Steps of `STEP` are tested, and the first with an illegal
    end is bisected.
    """
    last, beyond = start.copy(), np.full(len(start), np.nan)
    step = np.copysign(STEP, end - start)
    active = np.flatnonzero(~np.isnan(start))
    while len(active):
        ahead = np.arange(1, max(TESTED_AT_ONCE // len(active), 1) + 1)
        tried = last[active, None] + step[active, None] * ahead
        bound = np.abs(end - last)[active, None]
        tried = np.where(np.abs(tried - last[active, None]) >= bound, end[active, None], tried)
        rows = np.repeat(active, len(ahead))
        exits = ~legal(rows, tried.ravel()).reshape(tried.shape)
        first = np.where(exits.any(axis=1), exits.argmax(axis=1), len(ahead))
        before = np.maximum(first - 1, 0)
        column = np.arange(len(active))
        last[active] = np.where(first > 0, tried[column, before], last[active])
        stops = first < len(ahead)
        beyond[active[stops]] = tried[column, np.minimum(first, len(ahead) - 1)][stops]
        active = active[~stops & (last[active] != end[active])]
    rows = np.flatnonzero(~np.isnan(beyond))
    for _ in range(BISECTIONS if len(rows) else 0):
        middle = 0.5 * (last[rows] + beyond[rows])
        inside = legal(rows, middle)
        last[rows] = np.where(inside, middle, last[rows])
        beyond[rows] = np.where(inside, beyond[rows], middle)
    return last


def joint_bands(
    joint_links: Sequence[Link], alignment: Alignment, pose: Pose
) -> tuple[Floats, Floats, list[Link]]:
    """Return the angles (n, 3) of a clinical joint, its bands (n, 3, 2), and the link of each axis.

    Where several joints share it, the widest band along each axis counts.
    """
    joints = [ClinicalJoint(link, alignment, pose) for link in joint_links]
    bands = np.stack([joint.bands() for joint in joints])
    width = np.nan_to_num(bands[..., 1] - bands[..., 0], nan=-1.0)
    axis = np.arange(bands.shape[2])
    best = width.max(axis=1).argmax(axis=0)  # by axis
    return joints[0].angles, bands[best, :, axis].swapaxes(0, 1), [joint_links[k] for k in best]
