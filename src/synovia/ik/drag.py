"""Drag: an interactive pull at a joint, in small steps from one pose to the next.

A drag is a value. The caller keeps the state: the pose where the drag began and the last pose are
fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..components import (
    Component,
    Control,
    Figure,
    JointSet,
    MatrixProduct,
    Network,
    Rotation,
    Translation,
)
from ..limit import Limit
from ..model import LimitModel
from ..skeleton import Pose, Skeleton, forward
from .coordinates import ControlCoordinates, Coordinates, JointCoordinates, Point
from .goals import JointGoal
from .person import Person, person_of
from .problem import passive_joints
from .pull import SETTLED, Pull, PullStep, muscles_of
from .solution import ControlSolution, Solution

ROOT_SET = "root"  # joint set that `with_free_root` adds
ROOT_REACH = 2.0  # range of the root's position, as a multiple of the figure's extent at rest
AXIS_NAMES = ("x", "y", "z")
ROOT_SHIFTS = tuple(f"{ROOT_SET}.{name}" for name in AXIS_NAMES)

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
JOINT_BEND = np.radians(3.0)  # of another start, towards the middle of limits
MIDDLE_SAMPLES = 64  # legal rotations whose mean is the middle of a limit
STRAIN_MARGIN = np.radians(1.0)  # kept from the muscles' limits, so that `make_legal` moves little


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
    def coordinates(self, limb: Collection[int], length: float) -> tuple[Coordinates, Floats]:
        """Return the variables and their stiffness (F,); joints of `limb` move most easily.

        `length` is the unit of steps of positions.
        """

    @abstractmethod
    def solution(self, point: Point, blocked_step: Floats, **fields: Any) -> Solution:
        """Return the solution at a point.

        `blocked_step` (F,) is the part that limits remove from the next step towards the goal.
        """

    def strain(self, pose: Pose) -> Floats:
        """Return by how many radians (..., n) muscles are stretched too far; below 0 if not."""
        return np.zeros((*pose.rotations.shape[:-2], 0))

    def make_legal(self, point: Point) -> Point:
        """Return a legal point near one that the search gave."""
        return point

    def other_starts(self) -> list[Point]:
        """Return the points from which a thorough pull starts again if it misses the goal."""
        return [self.points[0]]

    def pull(self, goal: JointGoal) -> PullStep:
        """Return the pose after one step towards a goal, or where it settles if `thorough`."""
        return Pull(self, goal, *self.points).run(self.thorough)

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

    def coordinates(self, limb: Collection[int], length: float) -> tuple[Coordinates, Floats]:
        person, figure = person_of(self.skeleton), self.figure
        names = figure.controls if self.joints is None else controls_of(figure, self.joints)
        moves_root = self.holds_root(person)
        free, stiffness = list[int](), list[float]()
        for index, (name, control) in enumerate(figure.controls.items()):
            set_name = name.rpartition(".")[0]
            is_root = set_name == ROOT_SET
            if name in names and control.low < control.high and (moves_root or not is_root):
                segment = next(iter(figure.joint_sets[set_name].network.outputs))
                part = part_of(person, self.skeleton.index(segment), limb)
                if is_root:
                    part = "shift" if name in ROOT_SHIFTS else "root"
                free.append(index)
                stiffness.append(STIFFNESS[part])
        return ControlCoordinates(figure, np.array(free, np.int64), length), np.array(stiffness)

    def solution(self, point: Point, blocked_step: Floats, **fields: Any) -> ControlSolution:
        low, _, high = self.figure.ranges
        ends, wanted = (point >= high).astype(np.int64) - (point <= low), np.zeros(len(point))
        coordinates, _ = self.coordinates((), 1.0)
        wanted[coordinates.indices] = np.abs(blocked_step)
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

    def coordinates(self, limb: Collection[int], length: float) -> tuple[Coordinates, Floats]:
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
        return (
            JointCoordinates(_searched_limits(self.model, self.limited), movers, slides, length),
            np.repeat([STIFFNESS[part] for part in parts], 3),
        )

    def strain(self, pose: Pose) -> Floats:
        if not self.limited or not any(limb.muscles for limb in self.model.limbs):
            return super().strain(pose)
        return np.asarray(muscles_of(self.model).excess(pose) + STRAIN_MARGIN)

    def make_legal(self, point: Point) -> Point:
        if not self.limited:
            return point
        return self.model.project(Pose(*point)).rotations, point[1]

    def other_starts(self) -> list[Point]:
        """Return the start of the drag, and the last pose with all joints bent a little.

        No small rotation moves the end of a straight chain along it.
        """
        home, (rotations, positions) = self.points
        movers, bent = self.coordinates((), 1.0)[0].indices, rotations.copy()
        for joint in movers:
            limit = self.model.limits.get(self.skeleton.names[joint])
            if limit is not None and limit.relative_to is None:
                step = quat.log(quat.mul(quat.inverse(bent[joint]), _middle_rotation(limit)))
                step *= JOINT_BEND / max(float(np.linalg.norm(step)), JOINT_BEND)
                bent[joint] = quat.normalize(quat.mul(bent[joint], quat.exp(step)))
        return [home, (bent, positions)]

    def solution(self, point: Point, blocked_step: Floats, **fields: Any) -> Solution:
        coordinates, _ = self.coordinates((), 1.0)
        angles, movers = np.zeros(len(self.skeleton)), coordinates.indices
        angles[movers] = np.linalg.norm(blocked_step.reshape(-1, 3), axis=1)[: len(movers)]
        blocked = np.where(angles > SETTLED, angles, 0.0)
        return Solution(pose=Pose(*point), blocked_angle=blocked, **fields)


@lru_cache(maxsize=256)
def _middle_rotation(limit: Limit) -> Quats:
    """Return the mean (4,) of legal rotations, by the method of Markley et al. (2007)."""
    samples = limit.sample(MIDDLE_SAMPLES, np.random.default_rng(0))
    return np.asarray(np.linalg.eigh(np.einsum("ni,nj->ij", samples, samples))[1][:, -1])


@lru_cache(maxsize=8)
def _searched_limits(model: LimitModel, limited: bool) -> LimitModel:
    """Return the model with limits of single joints only, or without any unless `limited`.

    Projection onto these is fast; `JointDrag.make_legal` applies all limits.
    """
    return LimitModel(model.limits if limited else {}, model.skeleton)


def joints_above(skeleton: Skeleton, joints: Sequence[str]) -> set[str]:
    """Return the names of joints and of all joints above them."""
    return {
        skeleton.names[above]
        for name in joints
        for above in skeleton.path_to_root(skeleton.index(name))
    }


def controls_of(figure: Figure, joints: Collection[str]) -> list[str]:
    """Return the controls of all joint sets that move one of the joints."""
    return [
        f"{name}.{control}"
        for name, joint_set in figure.joint_sets.items()
        if any(joint in joint_set.network.outputs for joint in joints)
        for control in joint_set.controls
    ]


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
