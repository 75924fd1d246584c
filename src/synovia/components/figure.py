"""Figure: a skeleton whose segments are posed by a few named controls."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..arrays import Floats, Mask, Scalars, floats
from ..skeleton import POSITIONS, ROTATIONS, Clip, Pose, Skeleton
from .component import check_names
from .network import Network, plan_network, unknown_name
from .program import Instruction, Program, SetRange, Step, value_columns

if TYPE_CHECKING:
    from .controls import FittedControls


Unit = Literal["radians", "degrees", "length", "share"]


@dataclass(frozen=True)
class Control:
    """The range of a control, its neutral value and its unit.

    A "length" is in the figure's own unit, a "share" is a bare number, such as -1 to 1.
    """

    low: float
    high: float
    neutral: float = 0.0
    unit: Unit = "radians"

    def __post_init__(self) -> None:
        for name in ("low", "high", "neutral"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not -np.inf < self.low <= self.neutral <= self.high < np.inf:
            raise ValueError(
                "a control must have low <= neutral <= high, all finite, got "
                f"{self.low}, {self.neutral}, {self.high}"
            )
        if self.unit not in get_args(Unit):
            raise ValueError(
                f"Control.unit must be one of {', '.join(get_args(Unit))}, got {self.unit!r}"
            )


@dataclass(frozen=True, eq=False)
class JointSet:
    """A network whose outputs are the transforms of segments, by the segments' names.

    `controls` are the ranges of the network's controls, which are all scalars.
    """

    network: Network
    controls: Mapping[str, Control] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.controls:
            if name not in self.network.controls:
                raise ValueError(unknown_name("control", name, self.network.controls))
        for name, kind in self.network.kinds.items():
            if name not in self.controls:
                raise ValueError(f"the control {name!r} must have a range, got none")
            if kind != "scalar":
                raise ValueError(
                    f"the control {name!r} of a joint set must be a scalar, got a {kind}"
                )
        for name, kind in self.network.results.items():
            if kind != "matrix":
                raise ValueError(
                    f"the output {name!r} of a joint set must be a matrix, got a {kind}"
                )
        in_order = {name: self.controls[name] for name in self.network.controls}
        object.__setattr__(self, "controls", in_order)


@dataclass(frozen=True, eq=False)
class FigurePose(Pose):
    """The pose of a figure, and the controls that gave it.

    `controls` (..., C) are those used, in the figure's order and units. `clamped` has the signed
    distances (...) beyond the range, of controls that were clamped somewhere. `gaps` has the
    errors (...) of components that could not fulfil their constraint somewhere, by
    "set.component.output".
    """

    controls: Floats
    clamped: Mapping[str, Scalars]
    gaps: Mapping[str, Scalars]


def figure_program(figure: Figure, segments: Container[str] | None = None) -> Program:
    """Return the program that poses a figure.

    With `segments`, it poses only these: it has only the components that they need, and no gaps.
    """
    count, control, stored = len(figure.controls), 0, 0
    width = max(count, 1)
    index = figure.skeleton.index
    steps: list[Step] = [Instruction(kernels.figure.LOAD, lists=(range(count),))]
    sets: dict[str, SetRange] = {}
    for name, joint_set in figure.joint_sets.items():
        network, first_control, first_row = joint_set.network, control, len(steps)
        control_offsets = {name: control + k for k, name in enumerate(joint_set.controls)}
        control += len(control_offsets)
        if segments is not None:
            needed = [segment for segment in network.outputs if segment in segments]
            if not needed:
                continue
            network = network.part(needed)
        known = {name: control_offsets[name] for name in network.controls}
        network_steps, offsets, end = plan_network(network, count, known)
        transforms = [offsets[source] for source in network.outputs.values()]
        moved = [index(segment) for segment in network.outputs]
        steps += [*network_steps, Instruction(kernels.figure.POSE, lists=(moved, transforms))]
        if segments is None and network.gaps:
            gaps = [offsets[gap] for gap in network.gaps]
            steps.append(Instruction(kernels.figure.STORE, lists=(gaps,), offsets=(stored,)))
            stored += len(gaps)
        width = max(width, end)
        sets[name] = SetRange(first_row, len(steps), first_control, control)
    names, moved_segments = figure.skeleton.names, figure.moved_segments
    fixed = [joint for joint, name in enumerate(names) if name not in moved_segments]
    if fixed and segments is None:
        identity = np.eye(4)[:3].ravel()
        columns = value_columns(count, "matrix")
        steps += [
            Instruction(kernels.figure.FILL, (identity,), (columns,)),
            Instruction(kernels.figure.POSE, lists=(fixed, [count] * len(fixed))),
        ]
        width = max(width, columns.stop)
    return Program(steps, width, figure.skeleton.offsets, stored, sets)


Controls = Mapping[str, ArrayLike] | ArrayLike
"""By name, or all in order (..., C)."""

GAP_TOLERANCE = 1e-9  # gaps up to this count as none
POSE_TOLERANCE = 1e-6  # of `contains`: radians, and lengths as a share of the longest offset


@dataclass(frozen=True, eq=False)
class Figure:
    """A skeleton that is posed by the controls of joint sets.

    A joint set is a network that gives the transforms of some segments, which need not be next to
    each other. A segment is at its offset from its parent, then moved by its transform, in its own
    frame; the frames of all segments are parallel at rest. Segments without a transform stay at
    rest. Controls are named "set.control".
    """

    skeleton: Skeleton
    joint_sets: Mapping[str, JointSet]
    name: str = ""

    def __post_init__(self) -> None:
        if self.joint_sets:
            check_names("a figure's joint sets", tuple(self.joint_sets))
        drivers: dict[str, str] = {}
        for name, joint_set in self.joint_sets.items():
            for segment in joint_set.network.outputs:
                if segment not in self.skeleton.names:
                    words = unknown_name("segment", segment, self.skeleton.names)
                    raise ValueError(f"the joint set {name!r}: {words}")
                if segment in drivers:
                    raise ValueError(
                        f"a segment must be in one joint set, got {segment!r} in "
                        f"{drivers[segment]!r} and {name!r}"
                    )
                drivers[segment] = name
        object.__setattr__(self, "joint_sets", dict(self.joint_sets))

    @cached_property
    def controls(self) -> dict[str, Control]:
        """Every control by its name "set.control", in the order of arrays of controls."""
        return {
            f"{name}.{control}": limits
            for name, joint_set in self.joint_sets.items()
            for control, limits in joint_set.controls.items()
        }

    @cached_property
    def ranges(self) -> tuple[Floats, Floats, Floats]:
        """Low ends, neutral values and high ends (C,) of all controls."""
        rows = [(control.low, control.neutral, control.high) for control in self.controls.values()]
        low, neutral, high = np.array(rows).reshape(-1, 3).T.copy()
        return low, neutral, high

    @cached_property
    def _program(self) -> Program:
        return figure_program(self)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The outputs "set.component.output" with the errors of components; see `FigurePose`."""
        return tuple(
            f"{name}.{gap}"
            for name, joint_set in self.joint_sets.items()
            for gap in joint_set.network.gaps
        )

    @cached_property
    def moved_segments(self) -> frozenset[str]:
        """The segments that joint sets move."""
        joint_sets = self.joint_sets.values()
        return frozenset(name for joint_set in joint_sets for name in joint_set.network.outputs)

    def pose(self, controls: Controls = ()) -> FigurePose:
        """Return the pose (...) that controls give.

        By name, "set.control", controls broadcast against each other, and those not named are
        neutral; an array (..., C) has all in order. Controls out of range are clamped and reported.
        """
        requested = self.values(controls)
        low, _, high = self.ranges
        used = np.clip(requested, low, high)
        excess = requested - used
        clamped = {
            name: excess[..., k] for k, name in enumerate(self.controls) if excess[..., k].any()
        }
        rotations, positions, stored = self._program.run(
            used.reshape(math.prod(used.shape[:-1]), used.shape[-1])
        )
        stored = stored.reshape(*used.shape[:-1], len(self.gaps))
        gaps = {
            name: stored[..., k]
            for k, name in enumerate(self.gaps)
            if stored[..., k].max(initial=0.0) > GAP_TOLERANCE
        }
        shape = (*used.shape[:-1], len(self.skeleton))
        return FigurePose(
            rotations.reshape(*shape, 4), positions.reshape(*shape, 3), used, clamped, gaps
        )

    def values(self, controls: Controls = ()) -> Floats:
        """Return controls given by name, or as an array, as finite numbers (..., C) in order."""
        neutral = self.ranges[1]
        if isinstance(controls, Mapping):
            index = {name: k for k, name in enumerate(self.controls)}
            for name in controls:
                if name not in index:
                    raise ValueError(unknown_name("control", name, tuple(index)))
            arrays = {name: floats(f"control {name}", value) for name, value in controls.items()}
            try:
                batch = np.broadcast_shapes(*(value.shape for value in arrays.values()))
            except ValueError:
                listed = ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
                raise ValueError(f"the batches of controls must agree, got {listed}") from None
            table = np.empty((*batch, len(neutral)))
            table[:] = neutral
            for name, value in arrays.items():
                table[..., index[name]] = value
            return table
        array = floats("controls", controls).astype(np.float64, copy=False)
        if array.shape == (0,):
            return neutral.copy()
        if array.ndim == 0 or array.shape[-1] != len(neutral):
            raise ValueError(f"controls must have shape (..., {len(neutral)}), got {array.shape}")
        return array

    def controls_for(self, pose: Pose, *, tolerance: float = 1e-12) -> FittedControls:
        """Return the controls, within their ranges, whose pose is nearest to `pose` (...).

        Joint sets are solved one by one, by least squares from several starts, until one comes
        within `tolerance`: radians, and shares of the figure's size. A pose that was rounded, as by
        single precision, should say so: 1e-5.
        """
        from .controls import controls_for

        return controls_for(self, pose, tolerance)

    def contains(self, pose: Pose, tolerance: float = POSE_TOLERANCE) -> Mask:
        """Return a mask (...) of the poses that controls within their ranges give.

        The tolerance is in radians for rotations, and a share of the longest offset for positions.
        Where a root is in the world makes no difference, unless a joint set moves it.
        """
        fitted = self.controls_for(pose)
        return np.asarray((fitted.angle <= tolerance) & (fitted.shift <= tolerance * self.size))

    @cached_property
    def size(self) -> float:
        """The longest offset between segments, a measure of lengths; 1 if all are 0."""
        longest = float(np.linalg.norm(self.skeleton.offsets, axis=-1).max())
        return longest if longest > 0.0 else 1.0


SLIDE_TOLERANCE = 1e-9
"""Segments that move by more than this share of the figure's longest offset need positions."""


def clip_of(figure: Figure, pose: Pose, frame_time: float = 1.0 / 30.0) -> Clip:
    """Return poses (..., J) of a figure as a clip, frames `frame_time` seconds apart.

    Segments that slide as they turn have channels for their positions.
    """
    skeleton = figure.skeleton
    rotations = pose.rotations.reshape(-1, len(skeleton), 4)
    positions = pose.positions.reshape(-1, len(skeleton), 3)
    off = np.abs(positions - skeleton.offsets).max(axis=(0, 2), initial=0.0)
    slides = (off > SLIDE_TOLERANCE * figure.size) | (skeleton.parents < 0)
    channels = tuple(POSITIONS + ROTATIONS if slide else ROTATIONS for slide in slides)
    clip_pose = Pose(rotations, positions)
    return Clip(replace(skeleton, channels=channels), clip_pose, frame_time, figure.name)


def sweep(figure: Figure, frames: int = 60, start: Floats | None = None) -> Floats:
    """Return controls (C · frames, C) that run one control after the other through its range.

    A control goes from its start to its low end, to its high end and back, each in a third of the
    frames, while the others stay at their start. `start` (C,) are the neutral values by default.
    """
    if frames < 2:
        raise ValueError(f"a sweep needs two frames a control at least, got {frames}")
    base = figure.values(() if start is None else start)
    table = np.tile(base, (len(base) * frames, 1))
    for column, limits in enumerate(figure.controls.values()):
        waypoints = [base[column], limits.low, limits.high, base[column]]
        times = np.linspace(0.0, 3.0, frames)
        table[column * frames : (column + 1) * frames, column] = np.interp(
            times, np.arange(4), waypoints
        )
    return table
