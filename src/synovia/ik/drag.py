"""Drag: an interactive pull at a joint, in small steps from one pose to the next.

A drag is a value. The caller keeps the state: the pose where the drag began and the last pose are
fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Vectors
from ..components import (
    DEGREE,
    Component,
    Control,
    Figure,
    JointSet,
    MatrixProduct,
    Network,
    Rotation,
    Translation,
)
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .descent import (
    ControlCoordinates,
    Coordinates,
    Differentiable,
    JointCoordinates,
    Point,
    descend,
    unit_blocks,
)
from .goals import JointGoal, Orient, Reach, World, errors_of, moved_segments
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
from .problem import passive_joints
from .search import BETTER_START
from .solution import ControlSolution, Solution

ITERATIONS = 2  # of a step
LARGEST_STEP = np.radians(6.0)  # of a joint or control in an iteration
MAX_ROTATION = np.radians(18.0)  # of a joint in a step
MAX_PULL = 0.03  # largest step towards a target, as a share of the body's length
MAX_STEPS = 40  # of a thorough pull from one start
DAMPING, TRIES = 1e-2, 4  # initial damping of a step, and how often it may grow
PROJECTIONS = 8  # of joints onto their limits in an iteration
SETTLED = np.radians(0.2)  # a step that changes no variable by more is the last one
MET = 3e-3  # a goal is met below this share of the body's length; radians count 0.3
BENT = np.radians(15.0)  # least bend of elbows and knees in the posture that poses stay near
BALANCED = 0.02  # metres of a human of 1.75 m that the centre of mass may be beyond its support
JOINT_BEND = np.radians(3.0)  # of another start, towards a legal pose
STRAIN_MARGIN = np.radians(1.0)  # kept from the muscles' limits, so that `make_legal` moves little
ROOT_SET = "root"  # joint set that `with_free_root` adds
ROOT_REACH = 2.0  # range of the root's position, as a multiple of the figure's extent at rest
AXIS_NAMES = ("x", "y", "z")

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

STIFFNESS = {
    "limb": 0.5,
    "arm": 0.7,
    "leg": 2.0,
    "head": 8.0,
    "trunk": 8.0,
    "root": 9.0,
    "shift": 1.0,
}
"""Weights with which parts stay near the pose where the drag began; stiff parts move little.

"limb" is the limb that is pulled, "root" the rotation of the root and "shift" its position.
"""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Drag(ABC):
    """A pull at a joint, in small steps from the last pose.

    A step is a few damped Gauss–Newton iterations from the last pose, so the motion is continuous.
    In a human skeleton the feet stay where they are, the centre of mass stays above them, nothing
    goes below the floor, hands and forearms keep out of trunk, head and thighs, and the other arm
    hangs.
    """

    joints: Collection[str] | None = None
    """Joints that may move; all unless given."""
    feet_stay: bool = True
    """Whether feet keep position and rotation, except one that is pulled itself."""
    thorough: bool = False
    """Whether to step until the pose settles, and to try other starts if it misses the goal.

    For the end of a drag; otherwise a pull takes one step.
    """
    pinned_positions: Mapping[str, Vectors] = field(default_factory=dict)
    """Positions (3,) in the world that joints keep, by name."""
    pinned_rotations: Mapping[str, Quats] = field(default_factory=dict)
    """Rotations (4,) in the world that joints keep, by name."""

    @property
    @abstractmethod
    def skeleton(self) -> Skeleton:
        """The skeleton that is pulled."""

    @property
    @abstractmethod
    def points(self) -> tuple[Point, Point]:
        """The points where the drag began, and of the last step."""

    @abstractmethod
    def coordinates(self, limb: Collection[int], length: float) -> Coordinates:
        """Return the variables; joints of `limb` move most easily.

        `length` is the unit of steps of positions.
        """

    @abstractmethod
    def posture(self, person: Person) -> Point:
        """Return the start of the drag with elbows and knees bent by at least `BENT`.

        Joints may leave their limits; controls are kept at least the angle from both ends of their
        ranges, or at the middle of narrow ranges.
        """

    @abstractmethod
    def solution(
        self, point: Point, coordinates: Coordinates, blocked_step: Floats, **fields: Any
    ) -> Solution:
        """Return the solution at a point.

        `blocked_step` (F,) is the part that limits remove from the next step towards the goal.
        """

    def strain(self, pose: Pose) -> Floats:
        """Return by how many radians (..., n) muscles are stretched too far; below 0 if not."""
        return np.zeros((*pose.rotations.shape[:-2], 0))

    def make_legal(self, point: Point) -> Point:
        """Return a legal point near one that the search gave."""
        return point

    def other_starts(self, coordinates: Coordinates) -> list[Point]:
        """Return the points from which a thorough pull starts again if it misses the goal."""
        return [self.points[0]]

    def pull(self, goal: JointGoal) -> PullStep:
        """Return the pose after one step towards a goal, or where it settles if `thorough`."""
        return Pull(self, goal).run()

    def holds_root(self, person: Person | None) -> bool:
        """Return True if pins or feet hold the body, so that its root may move."""
        pinned = self.pinned_positions or self.pinned_rotations
        return self.joints is None and bool(pinned or (person is not None and self.feet_stay))


def part_of(person: Person | None, joint: int, limb: Collection[int]) -> str:
    """Return the key of `STIFFNESS` of a joint, by index."""
    if joint in limb or person is None:
        return "limb"
    return person.groups[joint].removeprefix("left").removeprefix("right").lower()


@dataclass(frozen=True, eq=False)
class ControlDrag(Drag):
    """A pull over the controls of a figure."""

    figure: Figure
    """`with_free_root(figure)` can crouch and lean; other figures keep their root."""
    home: Floats
    """(C,): controls where the drag began; the others stay near them."""
    last: Floats
    """(C,): controls of the last step."""

    @property
    def skeleton(self) -> Skeleton:
        return self.figure.skeleton

    @property
    def points(self) -> tuple[Floats, Floats]:
        return self.home, self.last

    def coordinates(self, limb: Collection[int], length: float) -> ControlCoordinates:
        person, figure = person_of(self.skeleton), self.figure
        names = figure.controls if self.joints is None else controls_of(figure, self.joints)
        moves_root = self.holds_root(person)
        free, stiffness = list[int](), list[float]()
        for index, (name, control) in enumerate(figure.controls.items()):
            set_name, _, bare = name.rpartition(".")
            is_root = set_name == ROOT_SET
            if name in names and control.low < control.high and (moves_root or not is_root):
                segment = next(iter(figure.joint_sets[set_name].network.outputs))
                part = part_of(person, self.skeleton.index(segment), limb)
                if is_root:
                    part = "shift" if bare in AXIS_NAMES else "root"
                free.append(index)
                stiffness.append(STIFFNESS[part])
        return ControlCoordinates(
            *(figure, np.array(free, np.int64)),
            length=length,
            stiffness=np.array(stiffness),
            max_step=LARGEST_STEP,
        )

    def posture(self, person: Person) -> Floats:
        low, _, high = self.figure.ranges
        names = {self.skeleton.names[joint] for joint in person.hinges}
        controls = [*self.figure.controls.values()]
        units = np.array([DEGREE if control.unit == "degrees" else 1.0 for control in controls])
        margins = np.minimum(BENT / units, 0.5 * (high - low))
        bent = np.clip(self.home, low + margins, high - margins)
        of_hinges = [not names.isdisjoint(moved) for moved in moved_segments(self.figure)]
        return np.where(of_hinges, bent, self.home)

    def solution(
        self, point: Point, coordinates: Coordinates, blocked_step: Floats, **fields: Any
    ) -> ControlSolution:
        low, _, high = self.figure.ranges
        ends, wanted = (point >= high).astype(np.int64) - (point <= low), np.zeros(len(point))
        wanted[cast(ControlCoordinates, coordinates).free] = np.abs(blocked_step)
        return ControlSolution(
            pose=self.figure.pose(point),
            blocked_angle=np.zeros(len(self.skeleton)),
            figure=self.figure,
            controls=point,
            ends=ends,
            wanted=(wanted > SETTLED) & (ends != 0),
            **fields,
        )


@dataclass(frozen=True, eq=False)
class JointDrag(Drag):
    """A pull over the joints of a skeleton, within limits."""

    model: LimitModel
    last: Pose
    """Pose of the last step."""
    home: Pose | None = None
    """Pose where the drag began, if it is not the last one."""
    limited: bool = True
    """Whether to keep within the limits."""

    @property
    def skeleton(self) -> Skeleton:
        return self.model.skeleton

    @property
    def points(self) -> tuple[Point, Point]:
        home, last = (
            (np.array(pose.rotations, np.float64), np.array(pose.positions, np.float64))
            for pose in (self.home or self.last, self.last)
        )
        return home, last

    def coordinates(self, limb: Collection[int], length: float) -> JointCoordinates:
        person, skeleton = person_of(self.skeleton), self.skeleton
        roots = np.flatnonzero(skeleton.parents < 0).tolist()
        moves_root = self.holds_root(person) and len(roots) == 1
        if self.joints is not None:
            movers = sorted(skeleton.index(name) for name in self.joints)
        else:
            still = {skeleton.index(name) for name in passive_joints(self.model)}
            still.update(() if moves_root else roots)
            bones = range(len(skeleton)) if person is None else person.movers.union(limb)
            movers = [joint for joint in sorted(bones) if joint not in still]
        slides = roots if moves_root else []
        parts = [part_of(person, joint, limb) for joint in movers] + ["shift"] * len(slides)
        return JointCoordinates(
            *(_joint_limits(self.model, self.limited), movers, slides),
            length=length,
            stiffness=np.repeat([STIFFNESS[part] for part in parts], 3),
            max_step=LARGEST_STEP,
        )

    def posture(self, person: Person) -> Point:
        (rotations, positions), offsets = self.points[0], self.skeleton.offsets
        for joint, (bone, axis) in person.hinges.items():
            straight = quat.between(offsets[joint], quat.rotate(rotations[joint], bone))
            missing = max(BENT - float(np.linalg.norm(quat.log(straight))), 0.0)
            bent = quat.mul(rotations[joint], quat.exp(missing * axis))
            rotations[joint] = quat.normalize(bent)
        return rotations, positions

    def strain(self, pose: Pose) -> Floats:
        limbs = [limb for limb in self.model.limbs if limb.muscles]
        if not limbs or not self.limited:
            return super().strain(pose)
        muscles, index = [muscle for limb in limbs for muscle in limb.muscles], self.skeleton.index
        bones, zeros, axes = (
            np.array([getattr(muscle, name) for muscle in muscles])
            for name in ("bone", "zero", "axis")
        )
        rotations = pose.rotations[..., [index(muscle.joint) for muscle in muscles], :]
        swings = quat.log(quat.between(zeros, quat.rotate(rotations, bones)))
        bends = [limb.bend(pose.rotations[..., index(limb.joints[1]), :]) for limb in limbs]
        bounds = [
            np.interp(bend, *muscle.rows.T)
            for limb, bend in zip(limbs, bends, strict=True)
            for muscle in limb.muscles
        ]
        return np.asarray((swings * axes).sum(axis=-1) - np.stack(bounds, axis=-1) + STRAIN_MARGIN)

    def make_legal(self, point: Point) -> Point:
        if not self.limited:
            return point
        return self.model.project(Pose(*point)).rotations, point[1]

    def other_starts(self, coordinates: Coordinates) -> list[Point]:
        """Return the start of the drag, and the last pose with all joints bent a little.

        No small rotation moves the end of a straight chain along it.
        """
        home, last = self.points
        legal = _legal_rotations(_joint_limits(self.model, self.limited))
        towards = coordinates.steps_to(last, (legal, last[1]))
        bent, _ = replace(coordinates, max_step=JOINT_BEND).retract(last, towards)
        return [home, bent]

    def solution(
        self, point: Point, coordinates: Coordinates, blocked_step: Floats, **fields: Any
    ) -> Solution:
        movers = cast(JointCoordinates, coordinates).movers
        angles = np.zeros(len(self.skeleton))
        angles[movers] = np.linalg.norm(blocked_step.reshape(-1, 3), axis=1)[: len(movers)]
        blocked = np.where(angles > SETTLED, angles, 0.0)
        return Solution(pose=Pose(*point), blocked_angle=blocked, **fields)


@lru_cache(maxsize=8)
def _joint_limits(model: LimitModel, limited: bool) -> LimitModel:
    """Return the model with limits of single joints only, or without any unless `limited`.

    Projection onto these is fast; `JointDrag.make_legal` applies all limits.
    """
    return LimitModel(model.limits if limited else {}, model.skeleton)


@lru_cache(maxsize=8)
def _legal_rotations(model: LimitModel) -> Quats:
    """Return the rotations (J, 4) of a legal pose, drawn with a fixed seed."""
    return np.asarray(model.sample(1, np.random.default_rng(0)).rotations[0])


class Pull(Differentiable):
    """Residuals of one pull; points are those of the drag's coordinates."""

    def __init__(self, drag: Drag, goal: JointGoal) -> None:
        skeleton = drag.skeleton
        self.drag, self.goal, (self.home, self.last) = drag, goal, drag.points
        self.model, self.person = LimitModel({}, skeleton), person_of(skeleton)
        rest, _ = forward(skeleton, skeleton.rest_pose())
        self.length = float(np.ptp(rest, axis=0).max()) or 1.0
        self.joint = skeleton.index(goal.joint)
        groups = () if self.person is None else self.person.groups
        pulled = {groups[self.joint]} if groups else set()
        first = {"leftLeg", "rightLeg"} if "root" in pulled else pulled  # legs carry a pelvis
        limb = [joint for joint, group in enumerate(groups) if group in first]
        self.coordinates = drag.coordinates(limb, self.length)
        self.aim = goal
        """The goal, with a target that is at most `MAX_PULL` ahead."""
        self.pins = self._pins()
        self.floor, self.terms = 0.0, list[tuple[Term, float]]()
        self.posture = self.home
        if self.person is not None:
            self._add_person(self.person)
            # No small rotation shortens a straight limb, so that a search would never bend it.
            self.posture = drag.posture(self.person)
        bends = self.coordinates.steps_to(self.home, self.posture)
        self.bends = unit_blocks(bends, self.coordinates.block, 1e-6)
        """Unit directions (n, F) in which the hinges that `posture` bends are bent."""

    def world(self, point: Point) -> World:
        """Return positions and rotations of all joints in the world at one point."""
        return forward(self.drag.skeleton, self.coordinates.pose(point))

    @cached_property
    def pulled_foot(self) -> str | None:
        """The side of the foot that is pulled; None if none is."""
        if self.person is None:
            return None
        path = joints_above(self.drag.skeleton, [self.goal.joint])
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

    def _parts(self, points: Point) -> list[tuple[Floats, bool]]:
        """Return weighted residuals (..., rows), and whether they count only where above 0."""
        pose = self.coordinates.pose(points)
        world = forward(self.drag.skeleton, pose)
        steps = self.coordinates.steps_to(points, self.posture)
        pins = [(pin, WEIGHTS["pin" if pin.is_length else "turn"]) for pin in self.pins]
        parts = [
            (weight * goal.unit(self.length) * goal.residual(self.model, pose, world), False)
            for goal, weight in [(self.aim, WEIGHTS["goal"]), *pins]
        ]
        parts += [
            (WEIGHTS["stay"] * self.coordinates.stiffness * steps, False),
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
        parts = self._parts(self.home)
        return np.concatenate([np.full(len(part), one_sided) for part, one_sided in parts])

    def residuals(self, points: Point) -> Floats:
        return np.concatenate([part for part, _ in self._parts(points)], axis=-1)

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
        coordinates, make_legal = self.coordinates, self.drag.make_legal
        self._aim_from(start)
        point, _, _ = descend(
            *(self, start),
            iterations=ITERATIONS,
            damping=DAMPING,
            rounds=PROJECTIONS if coordinates.block == 3 else None,
            tries=TRIES,
        )
        point = make_legal(point)
        step = coordinates.steps_to(start, point)
        before, after = (coordinates.pose(end).rotations for end in (start, point))
        angle = float(quat.angle_between(before, after).max())
        if angle > MAX_ROTATION:
            part = coordinates.moved(start, MAX_ROTATION / angle * step)
            point = make_legal(coordinates.project(part))
        return point, bool(np.abs(step).max(initial=0.0) < SETTLED)

    def run(self) -> PullStep:
        """Return the pose after one step, or where the pull settles if the drag is thorough.

        A thorough pull that misses the goal continues from other starts.
        """
        if not self.drag.thorough:
            return self._result(*self.step(self.last))
        point, settled = self._settle(self.last)
        error, jumped = float(self.errors(point)[0]), False
        for start in self.drag.other_starts(self.coordinates):
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
            *(point, self.coordinates),
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
        coordinates, residuals = self.coordinates, self.residuals(point)
        normals, fixed = np.zeros((0, coordinates.count)), np.zeros(coordinates.count)
        step = self.step_towards(self.jacobian(point, residuals), residuals, 1e-6, normals, fixed)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        legal = coordinates.project(coordinates.moved(point, step))
        return step - coordinates.steps_to(point, legal)


def joints_above(skeleton: Skeleton, joints: Sequence[str]) -> set[str]:
    """Return the names of joints and of all joints above them."""
    return {
        skeleton.names[above]
        for name in joints
        for above in skeleton.path_to_root(skeleton.index(name))
    }


def controls_of(figure: Figure, joints: Collection[str]) -> list[str]:
    """Return the controls of all joint sets that move one of the joints."""
    moved = zip(figure.controls, moved_segments(figure), strict=True)
    return [name for name, segments in moved if not segments.isdisjoint(joints)]


@lru_cache(maxsize=4)
def with_free_root(figure: Figure) -> Figure:
    """Return the figure with a last joint set, `root`, that moves and rotates its root.

    With it pinned feet can stand while the pelvis moves. The figure itself is returned if it has
    several roots, a joint set that moves the root, or one of that name.
    """
    skeleton = figure.skeleton
    roots = [
        name for name, parent in zip(skeleton.names, skeleton.parents, strict=True) if parent < 0
    ]
    moved = roots[0] in figure.moved_segments or ROOT_SET in figure.joint_sets
    if len(roots) > 1 or moved:
        return figure
    positions, _ = forward(skeleton, skeleton.rest_pose())
    reach = ROOT_REACH * float(np.ptp(positions, axis=0).max())
    parts: dict[str, Component] = {"shift": Translation()}
    wires = {f"shift.{name}": name for name in AXIS_NAMES}
    controls = {name: Control(-reach, reach, 0.0, "length") for name in AXIS_NAMES}
    for name, axis in zip(AXIS_NAMES, np.eye(3), strict=True):
        parts[f"turn-{name}"] = Rotation(axis)
        wires |= {f"turn-{name}.angle": f"turn-{name}", f"product.{name}": f"turn-{name}.matrix"}
        controls[f"turn-{name}"] = Control(-np.pi, np.pi, 0.0, "radians")
    parts["product"] = MatrixProduct(("shift", *AXIS_NAMES))
    wires["product.shift"] = "shift.matrix"
    network = Network(parts, wires, {roots[0]: "product.matrix"}, tuple(controls))
    sets = {**figure.joint_sets, ROOT_SET: JointSet(network, controls)}
    return Figure(skeleton, sets, figure.name)
