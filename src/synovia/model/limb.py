"""Limb: an upper bone, a lower bone and an end, whatever share of twist a rig puts on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import quat
from ..arrays import TOLERANCE, Floats, Ints, Mask, Quats, Scalars, Vectors, tolerance, unit_quats
from ..charts.chart import mirror_rotations, reflect
from ..limit import Limit, mirror_limit
from ..limit.softening import Beyond, Softening
from ..skeleton import Lineage, Skeleton
from .bounded import Ways
from .clamp import clamp_paths, same_sign, step_bounds
from .constraint import Carried, Constraint, JointLimit, carry_limits
from .muscle import TwoJointMuscle, check_rows
from .report import NEGLIGIBLE, Held
from .roadmap import cheapest_columns, slerp

ARM_SHIFTS = np.radians([[15.0, 90.0], [25.0, 50.0], [30.0, 50.0], [45.0, 62.0], [60.0, 70.0]])
LEG_SHIFTS = np.radians([[30.0, 20.0], [60.0, 70.0]])
"""Largest twist moved between the bones, by the angle between them, in radians.

As large as possible while a joint bent by 30° or more to the side (20° at the knee) stays illegal:
a shift by 90° less the hinge's tolerance would make that a flexion. A straight elbow shows no axial
rotation; a straight knee does at the foot."""
GRID_STEP = np.radians(5.0)  # of the search for φ; refined where no node is legal
NEAREST_TO_0 = np.ravel([[k, -k] for k in range(37)])[1:] * GRID_STEP  # up to ±180°, 0 first
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
GOLDEN_STEPS = 48  # from two grid steps down to 1e-11 radians
STEEPEST = 4.0  # excess per radian of φ: a bracket whose excess is above this cannot become legal
COARSE = np.radians(0.05)  # width of a bracket at which hopeless searches stop
ROUNDS = 12  # of projection; two suffice for nearly all limbs
ORDER = (1, 0, 2)  # of projections: muscles of the others depend on the lower bone
PACE = 0.1  # share of the bound on steps that φ may use; joints use the rest
FINER = (4.0, 16.0)  # grids of φ around a path, times finer than the first one
OFFSETS = np.arange(-4.0, 5.0)  # nodes of these, in steps from the path before
TOO_FAST = 1e3  # cost of a change of φ beyond its bound, per radian; excesses cost their squares
CHANGE = 1e-4  # cost of any change of φ, per radian


class SharedTwist(NamedTuple):
    """Limbs (n, k, 4) as their limits see them, and what was moved to get there."""

    rotations: Quats
    distance: Scalars
    """Signed distances (n, k) of the joints to their limits."""
    shift: Scalars
    """Radians (n,) of twist moved from the lower to the upper bone: φ."""
    twist: Quats
    """Twists (n, 4) moved from the end to the lower bone."""


@dataclass(frozen=True, eq=False)
class Limb(Constraint):
    """Limits of an upper bone, a lower bone and perhaps an end, with twist shared along them.

    Let U, E, H be the rotations of the three joints, a and b the axes of the two bones, R_a(φ) the
    rotation by φ about a, and N the end's `neutral` rotation. The end's twist p about the lower
    bone, H = R_b(p) · S · N with a swing S, counts as twist of the lower bone:

        E' = E · R_b(p),  H' = S · N.

    The limb is legal if for some φ in [−T, T] the limits of the joints contain U · R_a(φ),
    R_a(−φ) · E' and H'. None of this moves a joint's position. T depends on the angle between the
    bones, which φ and p do not change.

    `distance` and `violation` are those of the joints at the φ with the smallest of the larger
    excesses of upper and lower bone; if several are equal, at the one nearest to 0.
    """

    limits: Mapping[str, Limit]
    """Limits by joint: upper, lower and perhaps end, each measured from the one before."""
    axes: Vectors
    """Unit directions (2, 3) of the upper and the lower bone, each in its joint's own frame."""
    shifts: Floats
    """Rows (n, 2): angle between the bones, rising, and T there, both in radians. T is linear
    between rows and constant beyond them; see `ARM_SHIFTS`."""
    neutral: Quats | None = field(default_factory=lambda: quat.IDENTITY)
    """The end's rotation (4,) without swing and twist; None: the end keeps its own twist."""
    muscles: tuple[TwoJointMuscle, ...] = ()
    """Bounds of upper bone and end that depend on the angle between the bones."""

    kind: ClassVar[str] = "limb"

    def __post_init__(self) -> None:
        if len(self.limits) not in (2, 3):
            raise ValueError(f"a limb must have 2 or 3 joints, got {', '.join(self.limits)}")
        axes, shifts = (np.array(each, np.float64) for each in (self.axes, self.shifts))
        first = next(iter(self.limits))
        if axes.shape != (2, 3) or not np.allclose(np.linalg.norm(axes, axis=-1), 1.0):
            raise ValueError(f"Limb.axes of {first} must be 2 unit vectors, got {axes.tolist()}")
        check_rows(f"Limb.shifts of {first}", shifts)
        if not ((shifts[:, 1] >= 0.0) & (shifts[:, 1] <= np.pi)).all():
            raise ValueError(f"Limb.shifts of {first} must be 0 to π, got {shifts[:, 1].tolist()}")
        joints = list(self.limits)
        for muscle in self.muscles:
            if muscle.joint not in joints[::2]:
                raise ValueError(
                    f"the {muscle.name} in the limb of {first} must bound its upper bone or its "
                    f"end, got {muscle.joint}"
                )
        neutral = None if self.neutral is None else unit_quats("Limb.neutral", self.neutral)
        for name, value in {
            "limits": MappingProxyType(dict(self.limits)),
            "axes": axes,
            "shifts": shifts,
            "neutral": neutral,
            "muscles": tuple(self.muscles),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def measured_from(self) -> Mapping[str, str | None]:
        return {name: limit.relative_to for name, limit in self.limits.items()}

    def check(self, skeleton: Skeleton) -> None:
        super().check(skeleton)
        for above, name in pairwise(self.joints):
            parent = skeleton.names[skeleton.parents[skeleton.index(name)]]
            if (self.limits[name].relative_to or parent) != above:
                raise ValueError(f"{name} in a limb must be measured from {above}")

    def rebuild(
        self, limits: Mapping[str, Limit], names: Mapping[str, str] | None = None, **changes: Any
    ) -> Limb | None:
        """Return the limb with other limits; None if upper or lower bone has none.

        `names` are the joints' names in `limits`, by those of this limb, where they differ.
        `changes` are other fields. An end without a limit is left out, with its muscles.
        """
        names = {name: name for name in self.joints} if names is None else names
        present = {name: names[name] for name in self.joints if names.get(name) in limits}
        if not {*self.joints[:2]} <= present.keys():
            return None
        muscles = tuple(
            replace(muscle, joint=present[muscle.joint])
            for muscle in changes.pop("muscles", self.muscles)
            if muscle.joint in present
        )
        there = {new: limits[new] for new in present.values()}
        return replace(self, limits=there, muscles=muscles, **changes)

    def mirror(self, normal: Vectors, names: Mapping[str, str]) -> Limb:
        """Return the limb of the other side, for parallel frames of its joints.

        `normal` (3,) is that of the mirror, and `names` are the joints of the other side, by name.
        """
        other = {names[name]: mirror_limit(limit, normal) for name, limit in self.limits.items()}
        neutral = None if self.neutral is None else mirror_rotations(self.neutral, normal)
        muscles = tuple(muscle.mirror(normal, names) for muscle in self.muscles)
        return Limb(other, reflect(self.axes, normal), self.shifts, neutral, muscles)

    @property
    def moves_end_twist(self) -> bool:
        """True if the end's twist counts as twist of the lower bone."""
        return len(self.limits) == 3 and self.neutral is not None

    def pool(self, rotations: Quats) -> tuple[Quats, Quats]:
        """Return limbs with the end's twist moved to the lower bone, and that twist (n, 4)."""
        if not self.moves_end_twist:
            return rotations, np.broadcast_to(quat.IDENTITY, rotations[..., 0, :].shape)
        assert self.neutral is not None
        end = rotations[..., 2, :]
        _, twist = quat.swing_twist(quat.mul(end, quat.inverse(self.neutral)), self.axes[1])
        lower = quat.mul(rotations[..., 1, :], twist)
        end = quat.mul(quat.inverse(twist), end)
        return np.stack([rotations[..., 0, :], lower, end], axis=-2), twist

    def shift_twist(self, pooled: Quats, shift: Scalars) -> Quats:
        """Return limbs (..., k, 4) with `shift` (...) radians moved to the upper bone: φ."""
        turn = quat.exp(np.asarray(shift)[..., None] * self.axes[0])
        upper = quat.mul(pooled[..., 0, :], turn)
        lower = quat.mul(quat.inverse(turn), pooled[..., 1, :])
        ends = [np.broadcast_to(pooled[..., k, :], upper.shape) for k in range(2, len(self.limits))]
        return np.stack([upper, lower, *ends], axis=-2)

    def bend(self, lower: Quats) -> Scalars:
        """Return the angle (...) between the bones, in radians; twist does not change it.

        `lower` (..., 4) are rotations of the lower bone.
        """
        lower = quat.rotate(lower, self.axes[1])
        across = np.linalg.norm(np.cross(self.axes[0], lower), axis=-1)
        return np.asarray(np.arctan2(across, lower @ self.axes[0]))

    def max_shift(self, rotations: Quats) -> Scalars:
        """Return T (...), the largest shift of twist of each limb, in radians."""
        return np.asarray(np.interp(self.bend(rotations[..., 1, :]), *self.shifts.T))

    def joint_distance(self, rotations: Quats) -> Scalars:
        """Return the signed distance (..., k) of each joint by its limit, without moving twist."""
        limits = self.limits.values()
        return np.stack(
            [limit.distance(rotations[..., k, :]) for k, limit in enumerate(limits)], axis=-1
        )

    def muscle_excess(self, pooled: Quats) -> Scalars:
        """Return by how many radians (..., k) muscles are stretched too far; −inf without any."""
        excess = np.full(pooled.shape[:-1], -np.inf)
        if not self.muscles:
            return excess
        bend = self.bend(pooled[..., 1, :])
        for muscle in self.muscles:
            k = self.joints.index(muscle.joint)
            excess[..., k] = np.maximum(excess[..., k], muscle.excess(pooled[..., k, :], bend))
        return excess

    def hold(self, k: int, rotations: Quats, lower: Quats) -> Quats:
        """Return rotations (n, 4) of joint k that its limit and its muscles allow.

        `lower` (n, 4) are rotations of the lower bone. Both are projected to in turn, as long as
        they differ; legal rotations come back unchanged.
        """
        limit = self.limits[self.joints[k]]
        rotations = limit.project(rotations)
        muscles = [muscle for muscle in self.muscles if muscle.joint == self.joints[k]]
        if not muscles:
            return rotations
        bend = self.bend(lower)
        for _ in range(ROUNDS):
            held = rotations
            for muscle in muscles:
                held = muscle.pull(held, bend)
            if (held == rotations).all():
                break
            rotations = limit.project(held)
        return rotations

    def excess(self, distance: Scalars) -> Scalars:
        """Return how far limbs (...) are outside, as far as a shift of twist can change it."""
        return np.asarray(np.maximum(distance[..., :2], 0.0).max(axis=-1))

    def excess_at(self, pooled: Quats, shift: Scalars) -> Scalars:
        """Return `excess` (n, ...) of limbs (n, k, 4) at shifts (n, ...)."""
        limbs = pooled.reshape(len(pooled), *[1] * (np.ndim(shift) - 1), *pooled.shape[1:])
        return self.excess(self.joint_distance(self.shift_twist(limbs, shift)))

    def share_twist(self, rotations: Quats, slack: float) -> SharedTwist:
        """Return limbs (n, k, 4) with twist shared so that they are legal, or as near as it gets.

        Limbs that are legal to `slack` radians without a shift get none; of others, a grid of
        shifts is searched, and around its best node, unless that is legal, a golden section.
        """
        pooled, twist = self.pool(rotations)
        distance, shift = self.joint_distance(pooled), np.zeros(len(pooled))
        limbs = pooled
        outside = np.flatnonzero(self.excess(distance) > slack)
        if len(outside):
            limbs, distance = limbs.copy(), distance.copy()
            shift[outside] = self._best_shift(pooled[outside], slack)
            limbs[outside] = self.shift_twist(pooled[outside], shift[outside])
            distance[outside] = self.joint_distance(limbs[outside])
        distance = np.maximum(distance, self.muscle_excess(pooled))
        return SharedTwist(limbs, distance, shift, twist)

    def _best_shift(self, pooled: Quats, slack: float) -> Scalars:
        """Return the shift (n,) with the least excess; of several, that nearest to 0."""
        most = self.max_shift(pooled)
        count = 1 + 2 * int(np.ceil(most.max(initial=0.0) / GRID_STEP - 1e-9))
        nodes = np.clip(NEAREST_TO_0[:count], -most[:, None], most[:, None])
        excess = self.excess_at(pooled, nodes)
        best = excess.argmin(axis=1)[:, None]
        shift = np.take_along_axis(nodes, best, axis=1)[:, 0]
        least = np.take_along_axis(excess, best, axis=1)[:, 0]
        low, high = np.maximum(shift - GRID_STEP, -most), np.minimum(shift + GRID_STEP, most)
        going = np.flatnonzero(least > slack)
        for _ in range(GOLDEN_STEPS):
            if len(going) == 0:
                break
            a, b = low[going], high[going]
            inner = np.stack([b - GOLDEN * (b - a), a + GOLDEN * (b - a)], axis=-1)
            values = self.excess_at(pooled[going], inner)
            left = values[:, 0] <= values[:, 1]
            low[going], high[going] = np.where(left, a, inner[:, 0]), np.where(left, inner[:, 1], b)
            value = values.min(axis=1)
            better = value < least[going]
            shift[going[better]] = np.where(left, *inner.T)[better]
            least[going[better]] = value[better]
            width = high[going] - low[going]
            hopeless = (width < COARSE) & (value > STEEPEST * width)
            going = going[(least[going] > slack) & ~hopeless]
        return shift

    def restore_twist(self, given: Quats, shared: SharedTwist, moved: Quats) -> Quats:
        """Return `moved`, changed from `shared.rotations`, with twist back to where it was given.

        Joints that did not move come back as they were given, bit for bit.
        """
        limbs = self.move_twist(moved, shared.shift, shared.twist)
        limbs = same_sign(limbs, given).astype(given.dtype)
        kept = (moved == shared.rotations).all(axis=-1, keepdims=True)
        return np.where(kept, given, limbs)

    def move_twist(self, limbs: Quats, shift: Scalars, twist: Quats) -> Quats:
        """Return limbs (n, k, 4) with twist moved back from where it is in `SharedTwist`."""
        limbs = self.shift_twist(limbs, -shift)
        limbs[:, 1] = quat.mul(limbs[:, 1], quat.inverse(twist))
        if self.moves_end_twist:
            limbs[:, 2] = quat.mul(twist, limbs[:, 2])
        return quat.normalize(limbs)

    def _flat(self, rotations: Quats) -> Quats:
        rotations = unit_quats("rotations", rotations)
        if rotations.ndim < 2 or rotations.shape[-2] != len(self.limits):
            raise ValueError(
                f"rotations must have shape (..., {len(self.limits)}, 4), got {rotations.shape}"
            )
        return rotations.reshape(-1, *rotations.shape[-2:])

    def _shared(self, rotations: Quats) -> SharedTwist:
        """Return limbs (n, k, 4) of any float type as their limits see them."""
        return self.share_twist(rotations.astype(np.float64), tolerance(rotations.dtype))

    def redistribute(self, rotations: Quats) -> Quats:
        """Return the rotations (..., k, 4) as the joints' limits judge them: with twist shared."""
        shared = self._shared(self._flat(rotations))
        return shared.rotations.reshape(np.shape(rotations))

    def distance(self, rotations: Quats) -> Scalars:
        flat = self._flat(rotations)
        return self._shared(flat).distance.astype(flat.dtype).reshape(np.shape(rotations)[:-1])

    def violation(self, rotations: Quats) -> Scalars:
        flat = self._flat(rotations)
        shared, angles = self._shared(flat), np.zeros(flat.shape[:-1], flat.dtype)
        outside = shared.distance > tolerance(flat.dtype)
        some = np.flatnonzero(outside.any(axis=-1))
        limbs = shared.rotations[some]
        nearest = self.project_each(limbs, lower=limbs[:, 1])
        angles[some] = np.where(outside[some], quat.angle_between(limbs, nearest), 0.0)
        return angles.reshape(np.shape(rotations)[:-1])

    def project_each(self, limbs: Quats, lower: Quats | None = None) -> Quats:
        """Return limbs (n, k, 4) projected joint by joint, without moving twist.

        Muscles depend on the lower bone's rotation `lower` (n, 4), by default its projection.
        """
        out = np.empty_like(limbs)
        for k in ORDER[: len(self.limits)]:
            out[:, k] = self.hold(k, limbs[:, k], out[:, 1] if lower is None else lower)
        return out

    def project(self, rotations: Quats) -> Quats:
        """Return legal limbs (..., k, 4) near to those given; legal ones come back as they are.

        Joints are projected at the shift of twist that `distance` uses, then the twist is moved
        back. The angle between the bones may have changed by that, and with it T, so this repeats.
        """
        flat = self._flat(rotations)
        out, given, going = flat.copy(), flat, np.arange(len(flat))
        for kept in (True, False):  # twist goes back to where it was; or else stays where it is
            for _ in range(ROUNDS):
                shared = self._shared(given)
                outside = (shared.distance > tolerance(flat.dtype)).any(axis=-1)
                if not outside.any():
                    return out.reshape(np.shape(rotations))
                shared = SharedTwist(*(each[outside] for each in shared))
                going, given = going[outside], given[outside]
                limbs = self.project_each(shared.rotations)
                given = (
                    self.restore_twist(given, shared, limbs)
                    if kept
                    else same_sign(limbs, given).astype(flat.dtype)
                )
                out[going] = given
        left = ~self.contains(given)
        out[going[left]] = self._any_legal.astype(flat.dtype)
        return out.reshape(np.shape(rotations))

    @cached_property
    def _any_legal(self) -> Quats:
        """A legal limb (k, 4), for limbs that no projection makes legal."""
        return np.asarray(self.sample(1, np.random.default_rng(0), quat.IDENTITY)[0])

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        """Return limbs that approach the limits instead of stopping at them.

        `Inside` softens each joint at the shift of twist that `distance` uses. `Beyond` lets each
        joint go on from its projection towards the rotation given.
        """
        flat = self._flat(rotations)
        if isinstance(softening, Beyond):
            legal = self.project(flat)
            angle = quat.angle_between(legal, flat)
            goes_on = softening.radius * np.tanh(softening.falloff * angle)
            share = np.minimum(goes_on / np.maximum(angle, 1e-300), 1.0)
            soft = np.where(legal == flat, flat, quat.slerp(legal, flat, share))
            return soft.astype(flat.dtype).reshape(np.shape(rotations))
        shared = self._shared(flat)
        limbs = shared.rotations.copy()
        for k, limit in enumerate(self.limits.values()):
            limbs[:, k] = limit.soften(limbs[:, k], softening)
        return self.project(self.restore_twist(flat, shared, limbs)).reshape(np.shape(rotations))

    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        """Return `n` limbs that are legal without a shift: joints uniform in their limits.

        The end has no twist of its own if that counts as twist of the lower bone.
        """
        kept: list[Quats] = [np.empty((0, len(self.limits), 4))]
        for _ in range(1000):
            if sum(map(len, kept)) >= n:
                return np.concatenate(kept)[:n]
            drawn = np.stack([limit.sample(n, rng) for limit in self.limits.values()], axis=1)
            pooled, _ = self.pool(drawn)
            drawn[:, 2:] = pooled[:, 2:]
            distance = np.maximum(self.joint_distance(drawn), self.muscle_excess(drawn))
            legal = distance <= 0.5 * tolerance(drawn.dtype)
            kept.append(drawn[legal.all(axis=-1)])
        raise ValueError(f"{self.joints[0]}: no legal rotations of the limb were found")

    def tight_muscle(self, name: str, limbs: Quats) -> tuple[TwoJointMuscle, Mask] | None:
        """Return the muscle that makes a joint illegal in most limbs, and a mask (n,) of these.

        `limbs` (n, k, 4) have their twist shared (`redistribute`); those that the joint's own
        limit does not contain are not counted. None if there are no others.
        """
        k = self.joints.index(name)
        alone, bend = self.limits[name].contains(limbs[:, k]), self.bend(limbs[:, 1])
        found = [
            (muscle, alone & (muscle.excess(limbs[:, k], bend) > NEGLIGIBLE))
            for muscle in self.muscles
            if muscle.joint == name
        ]
        muscle, frames = max(found, key=lambda each: each[1].sum(), default=(None, alone))
        return None if muscle is None or not frames.any() else (muscle, frames)

    def held_frames(self, rotations: Quats, violation: Scalars) -> dict[str, Held]:
        limbs = self.redistribute(rotations)
        tight = {name: self.tight_muscle(name, limbs) for name in self.joints}
        return {name: Held(self.joints[1], each[1]) for name, each in tight.items() if each}

    def nearest_path(self, rotations: Quats, bounds: Floats) -> tuple[Quats, Mask]:
        """Return legal paths with few jumps of twist.

        The shift φ is chosen for all illegal frames together. With twist moved by it, each joint is
        clamped by its own limit, without muscles; then the twist is moved back.
        """
        legal = self.contains(rotations)
        if legal.all():
            return rotations, legal
        max_step, pooled = float(bounds[0, 0]), self.pool(rotations.astype(np.float64))[0]
        shared = self._shared(rotations)
        shift = self._smooth_shift(pooled, shared.shift, PACE * max_step)
        paths = self.shift_twist(pooled, shift)
        moved = paths.copy()
        for k, (name, limit) in enumerate(self.limits.items()):
            path = paths[:, [k]]
            steps = step_bounds(path, 1.0, (1.0 - PACE) * max_step)
            moved[:, [k]] = clamp_paths(JointLimit(name, limit), path, steps).rotations
        shared = shared._replace(rotations=paths, shift=shift)
        return self.project(self.restore_twist(rotations, shared, moved)), legal

    def _smooth_shift(self, pooled: Quats, best: Scalars, max_change: float) -> Scalars:
        """Return shifts (frames,) with little excess, and without jumps between illegal frames.

        They come from dynamic programming (Viterbi) on a grid of φ, then on finer ones around the
        result. `best` (frames,) are the shifts that are best for each frame by itself. Legal frames
        keep these, as they do not move, whatever the shift.
        """
        outside = np.flatnonzero(self.excess_at(pooled, best) > TOLERANCE)
        if len(outside) == 0:
            return best
        path, limbs = best[outside], pooled[outside]
        most = self.max_shift(limbs)[:, None]
        reach = GRID_STEP * np.ceil(most.max() / GRID_STEP)
        grid = np.arange(-reach, reach + 0.5 * GRID_STEP, GRID_STEP)
        nodes = np.column_stack([np.broadcast_to(grid, (len(path), len(grid))), path])
        for finer in (1.0, *FINER):
            if finer > 1.0:
                nodes = path[:, None] + OFFSETS * GRID_STEP / finer
                nodes = np.column_stack([nodes, best[outside]])
            nodes = np.clip(nodes, -most, most)
            path = _cheapest(outside, nodes, self.excess_at(limbs, nodes), max_change)
        shift = best.copy()
        shift[outside] = path
        return shift

    def between(self, start: Quats, end: Quats) -> Iterator[Ways]:
        """Yield the shortest rotations with twist shared, projected, with twist moved evenly."""
        one, other = (self.share_twist(each, TOLERANCE) for each in (start, end))

        def ways(run: Ints, share: Scalars) -> Quats:
            limbs = self.project_each(slerp(one.rotations, other.rotations, run, share))
            most = self.max_shift(limbs)
            shift = np.clip(one.shift[run] + share * (other.shift - one.shift)[run], -most, most)
            return self.move_twist(limbs, shift, slerp(one.twist, other.twist, run, share))

        yield ways

    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        """Return the limb, without its end if the skeleton has none; or limits of its joints."""
        names = {name: skeleton.names[found[name].joint] for name in self.joints if name in found}
        limits = carry_limits(self.limits, skeleton, found)
        limb = self.rebuild(limits, names)
        if limb is not None:
            try:
                limb.check(skeleton)
                return Carried((limb,))
            except ValueError:  # other joints are between these
                pass
        alone = tuple(JointLimit(*each) for each in limits.items())
        loss = "limbs that are not complete here are limited joint by joint"
        return Carried(alone, loss if alone else "", tuple(names))


def _cheapest(frames: Ints, nodes: Floats, excess: Floats, max_change: float) -> Scalars:
    """Return the cheapest path (n,) of φ through nodes (n, m).

    By a change of φ, corrections change by no more than it, nor by more than both of them are
    long. Next to frames that are not among `frames` (n,), which are legal, it is one of them alone.
    """
    adjacent = np.diff(frames) == 1
    ends = np.append(True, ~adjacent) | np.append(~adjacent, True)
    costs = excess**2
    costs[ends] += TOO_FAST * np.maximum(excess[ends] - max_change, 0.0)

    def step_costs(k: int) -> Floats | float:
        if not adjacent[k - 1]:
            return 0.0
        change = np.abs(nodes[k][:, None] - nodes[k - 1])
        visible = np.minimum(change, excess[k][:, None] + excess[k - 1])
        return np.asarray(CHANGE * change + TOO_FAST * np.maximum(visible - max_change, 0.0))

    return nodes[np.arange(len(nodes)), cheapest_columns(costs, step_costs)]
