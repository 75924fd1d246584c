"""Files of other tools that hold ranges of hinges: what they say, and limits made of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..charts import Hinges, RotationVector
from ..limit import Limit
from ..model import LimitModel
from ..shapes import Box, Ellipsoid
from ..skeleton import Skeleton
from .bounds import check_skeleton
from .encoding import errors_name

RANGE_FORMATS: dict[str, str] = {
    ".xml": "mjcf_ranges.read_mjcf_ranges",
    ".mjcf": "mjcf_ranges.read_mjcf_ranges",
    ".urdf": "urdf.read_urdf_ranges",
    ".osim": "opensim.read_opensim_ranges",
    ".usda": "usd.read_usd_ranges",
    ".usdc": "usd.read_usd_ranges",
    ".usd": "usd.read_usd_ranges",
    ".asf": "asf.read_asf_ranges",
}
"""Formats with ranges by suffix, and where they are read."""
FULL = np.pi
"""Radians either way that stand for a hinge without a range."""
PARALLEL = 1e-3
"""Radians between axes up to which two hinges turn about the same axis."""


@dataclass(frozen=True, eq=False)
class HingeRange:
    """A hinge of a joint: its `axis` (3,) in the joint's rest-aligned frame, and its range.

    `low` and `high` are radians from the skeleton at rest, as the file orders them; infinite where
    it gives none. `length` is that of the axis in the file, and `line` where it stands there, 0
    where that is not known. `zero` is the angle, in radians, that the file gives it at rest. A
    ball has no axis: its `high` is how far it may turn.
    """

    name: str
    joint: str
    axis: Vectors
    low: float
    high: float
    length: float = 1.0
    line: int = 0
    zero: float = 0.0
    ball: bool = False

    @property
    def is_limited(self) -> bool:
        """Whether the file gives a range."""
        return bool(np.isfinite([self.low, self.high]).all())


@dataclass(frozen=True, eq=False)
class Coupling:
    """A hinge that follows another: driven = Σ coefficients[k] · driverᵏ, in radians from rest."""

    driven: str
    driver: str
    coefficients: tuple[float, ...]
    line: int = 0

    def driven_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest driven angle while the driver goes from low to high."""
        curve = Polynomial(self.coefficients)
        extrema = np.clip(curve.trim().deriv().roots().real, low, high)
        values = curve(np.concatenate([[low, high], extrema]))
        return float(values.min()), float(values.max())


@dataclass(frozen=True, eq=False)
class RangesFile:
    """What a file says about the turns of its joints: hinges in order, the outermost first.

    `slants` are sums of angles with a range: shares by the names of hinges, and low and high in
    radians. `degrees` tells whether the file's own numbers are degrees.
    """

    path: Path
    skeleton: Skeleton
    hinges: tuple[HingeRange, ...]
    couplings: tuple[Coupling, ...] = ()
    slants: tuple[tuple[dict[str, float], float, float], ...] = ()
    degrees: bool = False

    def by_joint(self) -> dict[str, list[HingeRange]]:
        """Return the hinges of each joint that has some, in order."""
        found: dict[str, list[HingeRange]] = {}
        for hinge in self.hinges:
            found.setdefault(hinge.joint, []).append(hinge)
        return found


def skeleton_at_rest(
    names: Sequence[str],
    parents: Sequence[int],
    offsets: Sequence[Vectors],
    rest: Sequence[Quats],
    up: Literal["y", "z"],
    unit: float = 1.0,
) -> Skeleton:
    """Return a skeleton, in metres unless told, whose rotations at rest (4,) a file tells."""
    tree = (tuple(names), np.array(parents), np.array(offsets))
    return Skeleton(*tree, rest_rotations=np.array(rest), up=up, unit=unit)


def range_suffix(path: str | PathLike[str]) -> str:
    """Return the suffix of a file that ranges are read from; empty for others."""
    name = Path(path).name.lower()
    return max((each for each in RANGE_FORMATS if name.endswith(each)), key=len, default="")


def read_ranges(path: str | PathLike[str]) -> RangesFile:
    """Return what a file of another tool says about ranges; the suffix tells the format."""
    path = Path(path)
    suffix = range_suffix(path)
    if not suffix:
        known = ", ".join(RANGE_FORMATS)
        raise ValueError(f"{path}: ranges are read from {known}, got {path.suffix!r}")
    module, _, function = RANGE_FORMATS[suffix].partition(".")
    with errors_name(str(path)):
        found = getattr(import_module(f"{__package__}.{module}"), function)(path)
        assert isinstance(found, RangesFile)
        check_skeleton(found.skeleton)
    return found


def limits_from_ranges(file: RangesFile) -> LimitModel:
    """Return limits of hinges for all joints of a file that have ranges.

    Ends that are exchanged are put in order, with a warning. Hinges that no chart holds, as more
    than three of a joint, are left out with a warning, too, and so are tendons over several joints.
    """
    limits = {}
    for joint, hinges in file.by_joint().items():
        if not any(hinge.is_limited for hinge in hinges):
            continue
        try:
            limits[joint] = _limit(file, hinges)
        except ValueError as error:
            warnings.warn(f"{file.path}: {joint} is left out: {error}", stacklevel=3)
    if not limits:
        raise ValueError(f"{file.path}: expected joints with ranges, got none")
    owner = {hinge.name: hinge.joint for hinge in file.hinges}
    across = [{owner[name] for name in shares} for shares, *_ in file.slants]
    if count := sum(len(joints) > 1 for joints in across):
        warnings.warn(
            f"{file.path}: {count} tendons over hinges of several joints are left out: limits are "
            "of single joints",
            stacklevel=3,
        )
    return LimitModel(limits, file.skeleton, {"source": {"file": file.path.name}})


def _limit(file: RangesFile, hinges: Sequence[HingeRange]) -> Limit:
    if hinges[0].ball:
        if len(hinges) > 1:
            raise ValueError("a ball with hinges beside it")
        reach = min(max(hinges[0].high, 0.0), np.pi)
        return Limit(RotationVector(), Ellipsoid(np.zeros(3), np.full(3, reach), np.eye(3)))
    axes, low, high = complete_axes(hinges)
    for hinge in hinges:
        if hinge.low > hinge.high:
            warnings.warn(
                f"{file.path}: the ends of {hinge.name} are exchanged: put in order", stacklevel=4
            )
    chart = Hinges(quat.IDENTITY, axes)
    box = Box(np.minimum(low, high), np.maximum(low, high), np.eye(3))
    numbers = {hinge.name: k for k, hinge in enumerate(hinges)}
    planes = [
        ([shares.get(hinge.name, 0.0) for hinge in hinges] + [0.0] * (3 - len(hinges)), ends)
        for shares, *ends in file.slants
        if set(shares) <= set(numbers)
    ]
    if not planes:
        return Limit(chart, box)
    from ..shapes import KDop

    slants = np.array([plane for plane, _ in planes])
    lengths = np.linalg.norm(slants, axis=1)
    rest = np.array([*(hinge.zero for hinge in hinges), 0.0, 0.0])[:3]  # tendons are of all that
    ends = np.array([ends for _, ends in planes]) - (slants @ rest)[:, None]
    ends /= lengths[:, None]
    return Limit(
        chart,
        KDop(
            np.concatenate([np.eye(3), slants / lengths[:, None]]),
            np.concatenate([box.low, ends[:, 0]]),
            np.concatenate([box.high, ends[:, 1]]),
        ),
    )


def complete_axes(hinges: Sequence[HingeRange]) -> tuple[Floats, Floats, Floats]:
    """Return three axes (rows) with low and high (3,): those of one to three hinges come first.

    An axis that is added is at right angles to the one before it, and its range is nothing.
    """
    if len(hinges) > 3:
        raise ValueError(f"{len(hinges)} hinges, and at most three make a rotation")
    axes = [hinge.axis for hinge in hinges]
    for one, other in pairwise(axes):
        if np.linalg.norm(np.cross(one, other)) < PARALLEL:
            raise ValueError("two hinges about the same axis")
    while len(axes) < 3:
        last = axes[-1]
        beside = axes[-2] if len(axes) > 1 else np.eye(3)[np.abs(last).argmin()]
        across = np.cross(last, beside)
        axes.append(across / np.linalg.norm(across))
    low, high = np.zeros(3), np.zeros(3)
    for k, hinge in enumerate(hinges):
        free = not hinge.is_limited
        low[k], high[k] = (-FULL, FULL) if free else (hinge.low, hinge.high)
    return np.array(axes), low, high
