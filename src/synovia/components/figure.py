"""Figure: segments, posed by a few named controls."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints, Mask, Scalars, floats
from ..skeleton import Pose, Skeleton
from .block import LANES, WIDTH, Finish, Step, run
from .component import check_names
from .control import Control, JointSet
from .planning import planned
from .posed import Posed, Stage, resting, unchecked
from .program import MANY, Program, programmed
from .wiring import unknown

if TYPE_CHECKING:
    from .solving import Found

Controls = Mapping[str, ArrayLike] | ArrayLike
"""By name, or all in order (..., C)."""

REACHED = 1e-9  # gaps up to this count as none
TOLERANCE = 1e-6  # of `contains`: radians, and lengths as a share of the longest offset


@dataclass(frozen=True, eq=False)
class Figure:
    """A skeleton whose segments follow joint sets, by their controls.

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
                    words = unknown("segment", segment, self.skeleton.names)
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
    def _ranges(self) -> tuple[Floats, Floats, Floats]:
        parts = [(each.low, each.neutral, each.high) for each in self.controls.values()]
        low, neutral, high = np.array(parts).reshape(-1, 3).T.copy()
        return low, neutral, high

    @cached_property
    def _plan(self) -> tuple[tuple[Stage, ...], int]:
        """Every set's steps, over rows that the sets share, and how many; controls come first."""
        place, stages, rows = 0, [], len(self.controls)
        for joint_set in self.joint_sets.values():
            network = joint_set.network
            given = {}
            for name in network.controls:
                given[name] = place * LANES
                place += 1
            sources = network.outputs.values()
            plan = planned(network, (*sources, *network.gaps), len(self.controls), given)
            segments = [self.skeleton.index(name) for name in network.outputs]
            stage = Stage(
                plan.steps,
                np.array(segments, np.int64),
                np.array([plan.places[name] for name in sources], np.int64),
                np.array([plan.places[name] for name in network.gaps], np.int64),
            )
            stages.append(stage)
            rows = max(rows, plan.rows)
        if len(self._still):
            stages.append(resting(self._still, len(self.controls) * LANES))
            rows = max(rows, len(self.controls) + WIDTH["matrix"])
        return tuple(stages), max(rows, 1)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The outputs "set.component.output" that tell where a component could not comply."""
        return tuple(
            f"{name}.{gap}"
            for name, joint_set in self.joint_sets.items()
            for gap in joint_set.network.gaps
        )

    @cached_property
    def moved(self) -> frozenset[str]:
        """The segments that joint sets move."""
        return frozenset(name for each in self.joint_sets.values() for name in each.network.outputs)

    def pose(
        self, controls: Controls = (), *, strict: bool = False, threads: int | None = None
    ) -> Posed:
        """Return the pose (...) that controls give, with what became of them.

        By name, "set.control", controls broadcast against each other, and those not named are
        neutral; an array (..., C) has all in order. What is out of range is clamped and reported,
        or refused if `strict`. A large batch is shared by as many `threads` as there are
        processors unless said otherwise, or goes in one if a component is one of your own; what
        comes back does not depend on it.
        """
        given = self.values(controls)
        low, _, high = self._ranges
        used = np.maximum(given, low)
        np.minimum(used, high, out=used)
        clamped: dict[str, Scalars] = {}
        if not (used == given).all():
            clamped = self._beyond(given, used, strict)
        return self._posed(used, clamped, threads)

    def values(self, controls: Controls = ()) -> Floats:
        """Return controls given by name, or as an array, as finite numbers (..., C) in order."""
        neutral = self._ranges[1]
        if isinstance(controls, Mapping):
            place = self._place
            for name in controls:
                if name not in place:
                    raise ValueError(unknown("control", name, tuple(place)))
            given = {name: floats(f"control {name}", each) for name, each in controls.items()}
            try:
                batch = np.broadcast_shapes(*(each.shape for each in given.values()))
            except ValueError:
                listed = ", ".join(f"{name} {each.shape}" for name, each in given.items())
                raise ValueError(f"the batches of controls must agree, got {listed}") from None
            table = np.empty((*batch, len(neutral)))
            table[:] = neutral
            for name, each in given.items():
                table[..., place[name]] = each
            return table
        array = floats("controls", controls).astype(np.float64, copy=False)
        if array.shape == (0,):
            return neutral.copy()
        if array.ndim == 0 or array.shape[-1] != len(neutral):
            raise ValueError(f"controls must have shape (..., {len(neutral)}), got {array.shape}")
        return array

    def controls_for(self, pose: Pose) -> Found:
        """Return the controls, within their ranges, whose pose is nearest to `pose` (...).

        Joint sets are solved one by one, by least squares from several starts.
        """
        from .solving import controls_for

        return controls_for(self, pose)

    def contains(self, pose: Pose, tolerance: float = TOLERANCE) -> Mask:
        """Tell which poses (...) some controls within their ranges give, to a tolerance.

        The tolerance is in radians for rotations, and a share of the longest offset for positions.
        Where a root is in the world makes no difference, unless a joint set moves it.
        """
        found = self.controls_for(pose)
        return np.asarray((found.angle <= tolerance) & (found.shift <= tolerance * self.size))

    @cached_property
    def size(self) -> float:
        """The longest offset between segments, a measure of lengths; 1 if all are 0."""
        longest = float(np.linalg.norm(self.skeleton.offsets, axis=-1).max())
        return longest if longest > 0.0 else 1.0

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.controls)}

    def _beyond(self, given: Floats, used: Floats, strict: bool) -> dict[str, Scalars]:
        off = given - used
        found: dict[str, Scalars] = {
            name: off[..., place] for name, place in self._place.items() if off[..., place].any()
        }
        if strict:
            name = next(iter(found))
            limits, values = self.controls[name], given[..., self._place[name]]
            worst = values.ravel()[np.abs(found[name]).argmax()]
            raise ValueError(
                f"the control {name!r} must be from {limits.low:g} to {limits.high:g} "
                f"({limits.unit}), got {worst:g}"
            )
        return found

    def _posed(self, used: Floats, clamped: Mapping[str, Scalars], threads: int | None) -> Posed:
        rows = self._plan[1]
        batch, joints = used.shape[:-1], len(self.skeleton)
        n = math.prod(batch)
        table = np.ascontiguousarray(used).reshape(n, used.shape[-1])
        rotations, positions = np.empty((n, joints, 4)), np.empty((n, joints, 3))
        off = np.empty((n, len(self.gaps)))
        if n >= MANY and self._program is not None:
            offsets = self.skeleton.offsets
            workers = threads or os.cpu_count() or 1
            self._program.run(table, rows, offsets, rotations, positions, off, workers)
        else:
            self._run_steps(table, rotations, positions, off, threads or 1)
        gaps: dict[str, Scalars] = {}
        if off.size and off.max() > REACHED:
            shaped = off.reshape(*batch, off.shape[-1])
            gaps = {
                name: shaped[..., k]
                for k, name in enumerate(self.gaps)
                if shaped[..., k].max() > REACHED
            }
        return unchecked(
            rotations.reshape(*batch, joints, 4),
            positions.reshape(*batch, joints, 3),
            used,
            clamped,
            gaps,
        )

    def _run_steps(
        self, table: Floats, rotations: Floats, positions: Floats, off: Floats, threads: int
    ) -> None:
        """Write poses (n, J, …) and gaps, step by step: few, or with components of one's own."""
        stages, rows = self._plan
        work: list[tuple[Sequence[Step], Finish]] = []
        first = 0
        for stage in stages:
            into = off[:, first : first + len(stage.gaps)]
            first += len(stage.gaps)
            offsets = self.skeleton.offsets
            work.append((stage.steps, stage.finish(offsets, rotations, positions, into)))
        run(work, rows, table, LANES * np.arange(table.shape[1]), threads)

    @cached_property
    def _program(self) -> Program | None:
        """The same steps for batches; none where a component is not compiled."""
        return programmed(self._plan[0])

    @cached_property
    def _still(self) -> Ints:
        """The segments that no joint set moves."""
        names = self.skeleton.names
        return np.array([j for j, name in enumerate(names) if name not in self.moved], np.int64)
