"""What a figure gives: a pose, with what became of its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Scalars
from ..skeleton import Pose
from .block import Finish, Step, columns


@dataclass(frozen=True, eq=False)
class Posed(Pose):
    """The pose of a figure, and what became of the controls.

    `controls` (..., C) are those used, in the figure's order and units. `clamped` has, for each
    that was out of range somewhere, how far (...) it was beyond, with its sign. `gaps` has, for
    each component that could not do what it is for somewhere ("set.component.output"), how far
    (...) it is off.
    """

    controls: Floats
    clamped: Mapping[str, Scalars]
    gaps: Mapping[str, Scalars]


@dataclass(frozen=True, eq=False)
class Stage:
    """The steps of one joint set, then its segments and where their transforms and gaps stand."""

    steps: Sequence[Step]
    segments: Ints
    transforms: Ints
    gaps: Ints

    def finish(self, offsets: Floats, rotations: Floats, positions: Floats, gaps: Floats) -> Finish:
        """Return what writes the segments of poses (n, J, …), and the gaps."""

        def finish(start: int, n: int, stride: int, work: Floats) -> None:
            kernels.posing.pose(
                self.segments,
                self.transforms,
                offsets,
                start,
                n,
                stride,
                work,
                rotations,
                positions,
            )
            if len(self.gaps):
                kernels.transforms.store(self.gaps, n, stride, work, gaps[start : start + n])

        return finish


def resting(segments: Ints, place: int) -> Stage:
    """Return the stage of segments that nothing moves: the identity, at `place`, for each."""
    identity = np.eye(4)[:3].ravel()
    steps = (partial(kernels.transforms.fill, identity, columns(place, "matrix")),)
    return Stage(steps, segments, np.full(len(segments), place), np.zeros(0, np.int64))


def unchecked(
    rotations: Floats,
    positions: Floats,
    controls: Floats,
    clamped: Mapping[str, Scalars],
    gaps: Mapping[str, Scalars],
) -> Posed:
    """Return a pose known to be good: the checks of `Pose` take longer than posing does."""
    posed = object.__new__(Posed)
    fields: dict[str, Any] = {
        "rotations": rotations,
        "positions": positions,
        "controls": controls,
        "clamped": clamped,
        "gaps": gaps,
    }
    for array in (rotations, positions):
        array.flags.writeable = False
    for name, value in fields.items():
        object.__setattr__(posed, name, value)
    return posed
