"""Pull: the search for the next pose of a drag, from the last one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Vectors
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .coordinates import Point
from .goals import JointGoal, Orient, Reach, World, errors_of
from .person import (
    SIDES,
    STANDING,
    Person,
    Term,
    balance,
    hang,
    keep_above,
    keep_apart,
    level,
    person_of,
)
from .search import BETTER_START, Differentiable, LinearModel, descend_numerically, residuals_at
from .solution import Solution

if TYPE_CHECKING:
    from .drag import Drag

ITERATIONS = 2  # of a step
LARGEST_STEP = np.radians(6.0)  # of a variable in an iteration
MAX_ROTATION = np.radians(18.0)  # of a joint in a step
MAX_PULL = 0.03  # share of the body's length by which a target is ahead in a step
MAX_STEPS = 40  # of a thorough pull from one start
DAMPING, TRIES = 1e-2, 4  # initial damping of a step, and how often it may grow
PROJECTIONS = 8  # of joints onto their limits in an iteration
SETTLED = np.radians(0.2)  # a step that changes no variable by more is the last one
MET = 3e-3  # a goal is met below this share of the body's length; radians count 0.3
BENT = np.radians(15.0)  # least bend of elbows and knees in the posture that poses stay near
BALANCED = 0.02  # metres of a human of 1.75 m that the centre of mass may be beyond its support

WEIGHTS = {
    "goal": 20.0,
    "pin": 100.0,
    "turn": 300.0,
    "stay": 0.04,
    "bend": 3.0,
    "strain": 10.0,
    "apart": 60.0,
    "floor": 150.0,
    "balance": 15.0,
    "hang": 0.2,
    "level": 1.0,
}
"""Relative weights of residuals, which are shares of the body's length, or radians."""


@dataclass(frozen=True, eq=False)
class PullStep:
    """The pose after a step of a pull, or after all steps of a thorough one."""

    solution: Solution
    settled: bool
    """True if the same pull again would change nothing."""
    jumped: bool = False
    """True if the pose is far from the last one, because no path from there meets the goal."""
    center: Vectors | None = None
    """The centre of mass (3,) of a human, projected onto the floor."""
    balanced: bool = True
    """True if that is between the feet that stand on the floor."""


class Pull(Differentiable):
    """Residuals of one pull for `descend_numerically`; variables are steps times their stiffness.

    Points are those of the drag's coordinates.
    """

    def __init__(self, drag: Drag, goal: JointGoal, home: Point, last: Point) -> None:
        skeleton = drag.skeleton
        self.drag, self.goal, self.home, self.last = drag, goal, home, last
        self.model, self.person = _unlimited(skeleton), person_of(skeleton)
        rest, _ = forward(skeleton, skeleton.rest_pose())
        self.length = float(np.ptp(rest, axis=0).max()) or 1.0
        self.joint = skeleton.index(goal.joint)
        groups = () if self.person is None else self.person.groups
        pulled = {groups[self.joint]} if groups else set()
        first = {"leftLeg", "rightLeg"} if "root" in pulled else pulled  # legs carry a pelvis
        limb = [joint for joint, group in enumerate(groups) if group in first]
        self.coordinates, self.stiffness = drag.coordinates(limb, self.length)
        self.block = self.coordinates.block
        self.aim = goal
        """The goal, with a target that is at most `MAX_PULL` ahead."""
        self.pins = self._pins()
        self.floor, self.terms = 0.0, list[tuple[Term, float]]()
        if self.person is not None:
            self._add_person(self.person)
        hinges = {} if self.person is None else self.person.hinges
        # No small rotation shortens a straight limb, so that a search would never bend it.
        self.posture = self.coordinates.bend(home, hinges, BENT)
        self.bends = self._bends()

    def world(self, point: Point) -> World:
        """Return positions and rotations of all joints in the world at one point."""
        return forward(self.drag.skeleton, self.coordinates.pose(point))

    @cached_property
    def pulled_foot(self) -> str | None:
        """The side of the foot that is pulled; None if none is."""
        if self.person is None:
            return None
        skeleton = self.drag.skeleton
        path = {skeleton.names[joint] for joint in skeleton.path_to_root(self.joint)}
        return next((side for side in SIDES if self.person.foot(side) in path), None)

    def _pins(self) -> list[JointGoal]:
        """Return goals that keep pinned joints and feet as they are."""
        drag, (positions, rotations) = self.drag, self.world(self.home)
        pinned, oriented = dict(drag.pinned_positions), dict(drag.pinned_rotations)
        if self.person is not None and drag.feet_stay and drag.joints is None:
            for side in SIDES:
                if side != self.pulled_foot:
                    name = self.person.foot(side)
                    foot = drag.skeleton.index(name)
                    pinned.setdefault(name, positions[foot])
                    oriented.setdefault(name, rotations[foot])
        return [
            *(Reach(name, position) for name, position in pinned.items()),
            *(Orient(name, rotation) for name, rotation in oriented.items()),
        ]

    def _add_person(self, person: Person) -> None:
        """Write `floor`, `balance` and `terms`, the residuals that only humans have."""
        world = self.world(self.home)
        home, length = person.lines(world), self.length
        soles = {side: person.sole(world, side) for side in SIDES}
        heights = {side: float((sole @ person.up).min()) for side, sole in soles.items()}
        self.floor = min(heights.values())
        highest = self.floor + STANDING * person.size
        standing = {side: sole for side, sole in soles.items() if heights[side] <= highest}
        self.balance = balance(person, self._support(person, standing))
        resting = [f"{side}Foot" for side in SIDES if side != self.pulled_foot]
        self.terms = [
            (keep_apart(person), WEIGHTS["apart"] / length),
            (keep_above(person, self.floor, resting), WEIGHTS["floor"] / length),
        ]
        if self.drag.joints is None:
            self.terms += [
                (self.balance, WEIGHTS["balance"] / length),
                (level(person, home), WEIGHTS["level"]),
            ]
        arms = [side for side in SIDES if person.groups[self.joint] != f"{side}Arm"]
        self.terms += [(hang(person, home, side), WEIGHTS["hang"]) for side in arms]

    def _support(self, person: Person, standing: dict[str, Vectors]) -> Vectors:
        """Return the corners (n, 3) of the soles that carry the body.

        The sole of the pulled foot shifts to the other one while it is lifted.
        """
        lifted = self.pulled_foot
        others = [sole for side, sole in standing.items() if side != lifted]
        if lifted in standing and others:
            sole = person.sole(self.world(self.last), lifted)
            lift = float((sole @ person.up).min()) - self.floor
            share = float(np.clip(lift / (STANDING * person.size), 0.0, 1.0))
            others.append(sole + share * (others[0].mean(axis=0) - sole))
        return np.concatenate(others or [*standing.values()])

    def _bends(self) -> Floats:
        """Return unit directions (n, F) in which the hinges that `posture` bends are bent."""
        blocks = self.coordinates.steps_to(_batch(self.home), self.posture)[0]
        blocks = blocks.reshape(-1, self.block)
        lengths = np.linalg.norm(blocks, axis=1)
        rows = np.flatnonzero(lengths > 1e-6)
        directions = np.zeros((len(rows), *blocks.shape))
        directions[np.arange(len(rows)), rows] = blocks[rows] / lengths[rows, None]
        return directions.reshape(len(rows), self.coordinates.count)

    def _parts(self, points: Point) -> list[tuple[Floats, bool]]:
        """Return weighted residuals (n, rows), and whether they count only where above 0."""
        pose = self.coordinates.pose(points)
        world = forward(self.drag.skeleton, pose)
        steps = self.coordinates.steps_to(points, self.posture)
        parts = [
            (weight * goal.unit(self.length) * goal.residual(self.model, pose, world), False)
            for goal, weight in (
                (self.aim, WEIGHTS["goal"]),
                *((pin, WEIGHTS["pin" if pin.is_length else "turn"]) for pin in self.pins),
            )
        ]
        parts += [
            (WEIGHTS["stay"] * self.stiffness * steps, False),
            (WEIGHTS["bend"] * steps @ self.bends.T, True),
            (WEIGHTS["strain"] * self.drag.strain(pose), True),
        ]
        if self.person is not None:
            lines = self.person.lines(world)
            parts += [
                (weight * term.residual(lines), term.one_sided) for term, weight in self.terms
            ]
        return parts

    @cached_property
    def one_sided(self) -> Mask:
        parts = self._parts(_batch(self.home))
        return np.concatenate([np.full(part.shape[1], one_sided) for part, one_sided in parts])

    def residuals(self, points: Point) -> Floats:
        return np.concatenate([part for part, _ in self._parts(points)], axis=1)

    def perturbed(self, point: Point, size: float) -> tuple[Point, Floats]:
        points, steps = self.coordinates.perturbed(point, size)
        return points, self.stiffness * steps

    def retract(self, point: Point, step: Floats) -> tuple[Point, Floats]:
        """Return the legal point nearest to a step, with bounded steps of all joints."""
        blocks = (step / self.stiffness).reshape(-1, self.block)
        lengths = np.linalg.norm(blocks, axis=1, keepdims=True)
        blocks = blocks * np.minimum(1.0, LARGEST_STEP / np.maximum(lengths, 1e-300))
        reached, actual = self.coordinates.retract(point, blocks.ravel())
        return reached, self.stiffness * actual

    def _aim_from(self, point: Point) -> None:
        """Write `aim`: the goal, with a target at most `MAX_PULL` ahead of a point."""
        position, rotation = (array[self.joint] for array in self.world(point))
        reached = self.goal.reached(position, rotation)
        if self.goal.is_length and reached is not None:
            away = self.goal.target - reached
            share = MAX_PULL * self.length / max(float(np.linalg.norm(away)), 1e-300)
            self.aim = self.goal.map_target(lambda _: reached + min(share, 1.0) * away)

    def step(self, start: Point) -> tuple[Point, bool]:
        """Return the point after a step, and whether the pull has settled there."""
        if not self.coordinates.count:
            return start, True
        self._aim_from(start)
        point, _, _ = descend_numerically(
            *(self, start),
            iterations=ITERATIONS,
            damping=DAMPING,
            largest_step=np.inf,
            rounds=PROJECTIONS if self.block == 3 else None,
            tries=TRIES,
        )
        point, pose = self.drag.make_legal(point), self.coordinates.pose
        step = self.coordinates.steps_to(_batch(start), point)[0]
        angle = float(quat.angle_between(pose(start).rotations, pose(point).rotations).max())
        if angle > MAX_ROTATION:
            part, _ = self.coordinates.retract(start, MAX_ROTATION / angle * step)
            point = self.drag.make_legal(part)
        return point, bool(np.abs(step).max(initial=0.0) < SETTLED)

    def run(self, thorough: bool) -> PullStep:
        """Return the pose after one step, or if `thorough`, where the pull settles.

        A thorough pull that misses the goal continues from other starts.
        """
        if not thorough:
            return self._result(*self.step(self.last))
        point, settled = self._settle(self.last)
        error, jumped = float(self.errors(point)[0]), False
        for start in self.drag.other_starts():
            if error * self.goal.unit(self.length) <= MET:
                break
            other, other_settled = self._settle(start)
            if self.errors(other)[0] < BETTER_START * error:
                point, settled, jumped = other, other_settled, True
                error = float(self.errors(point)[0])
        return self._result(point, settled, jumped)

    def _settle(self, point: Point) -> tuple[Point, bool]:
        """Return the point after at most `MAX_STEPS` steps, and whether the pull settled there."""
        for _ in range(MAX_STEPS):
            point, settled = self.step(point)
            if settled:
                break
        return point, settled

    def errors(self, point: Point) -> Floats:
        """Return the errors of the goal and the pins, lengths or radians."""
        pose = self.coordinates.pose(point)
        return np.asarray(errors_of([self.goal, *self.pins], self.model, pose))

    def _result(self, point: Point, settled: bool, jumped: bool = False) -> PullStep:
        errors, skeleton, free = self.errors(point), self.drag.skeleton, self.coordinates.count
        met = float(errors[0]) * self.goal.unit(self.length) <= MET
        solution = self.drag.solution(
            point,
            self._blocked_step(point) if settled and not met and free else np.zeros(free),
            errors=errors,
            iterations=np.array(ITERATIONS),
            converged=np.array(met),
            beyond=np.zeros(len(errors), np.bool_),
            start_correction=np.zeros(len(skeleton)),
            goals=(self.goal, *self.pins),
            skeleton=skeleton,
        )
        if self.person is None:
            return PullStep(solution, settled, jumped)
        lines, up = self.person.lines(self.world(point)), self.person.up
        center = self.person.center_of_mass(lines)
        outside = float(self.balance.residual(lines).max())
        center = center + (self.floor - center @ up) * up
        return PullStep(solution, settled, jumped, center, outside < BALANCED * self.person.size)

    def _blocked_step(self, point: Point) -> Floats:
        """Return the part (F,) that limits remove from the next step towards the goal."""
        self._aim_from(point)
        residuals = residuals_at(self, point)
        model = LinearModel(self.jacobian(point, residuals), residuals, self.one_sided, 1e-6)
        count = self.coordinates.count
        step = model.step(np.zeros((0, count)), np.zeros(count)) / self.stiffness
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        return step - self.coordinates.retract(point, step)[1]


@lru_cache(maxsize=8)
def _unlimited(skeleton: Skeleton) -> LimitModel:
    return LimitModel({}, skeleton)


def _batch(point: Point) -> Point:
    """Return a batch of one point."""
    return tuple(array[None] for array in point) if isinstance(point, tuple) else point[None]


class Muscles:
    """All two-joint muscles of a model, evaluated together."""

    def __init__(self, model: LimitModel) -> None:
        rows = [
            (model.skeleton.index(muscle.joint), model.skeleton.index(limb.joints[1]), limb, muscle)
            for limb in model.limbs
            for muscle in limb.muscles
        ]
        joints, lower, limbs, muscles = zip(*rows, strict=True)
        self.joints, self.lower, self.curves = list(joints), list(lower), [m.rows for m in muscles]
        self.upper_axes, self.lower_axes = (
            np.array([limb.axes[k] for limb in limbs]) for k in range(2)
        )
        self.bones, self.zeros, self.axes = (
            np.array([getattr(muscle, name) for muscle in muscles])
            for name in ("bone", "zero", "axis")
        )

    def excess(self, pose: Pose) -> Floats:
        """Return `TwoJointMuscle.excess` (..., n) of each muscle."""
        below = quat.rotate(pose.rotations[..., self.lower, :], self.lower_axes)
        cosines = np.clip((below * self.upper_axes).sum(axis=-1), -1.0, 1.0)
        bones = quat.rotate(pose.rotations[..., self.joints, :], self.bones)
        swings = (quat.log(quat.between(self.zeros, bones)) * self.axes).sum(axis=-1)
        bends = np.arccos(cosines)
        for column, curve in enumerate(self.curves):
            swings[..., column] -= np.interp(bends[..., column], *curve.T)
        return np.asarray(swings)


muscles_of = lru_cache(maxsize=8)(Muscles)
