"""Ranges of hinges in files of other tools, and limits made of them."""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.polynomial import Polynomial

from .. import quat
from ..arrays import Floats, Quats, Vectors
from ..charts import Hinges, RotationVector
from ..limit import Limit
from ..model import LimitModel
from ..shapes import Box, Ellipsoid
from ..skeleton import Axis, Skeleton
from .encoding import errors_name
from .skeletons import check_skeleton, depth_first, group_by

RANGE_FORMATS: dict[str, str] = {
    ".xml": "synovia.io.mjcf_ranges:read_mjcf_ranges",
    ".mjcf": "synovia.io.mjcf_ranges:read_mjcf_ranges",
    ".urdf": "synovia.io.urdf:read_urdf_ranges",
    ".osim": "synovia.io.opensim:read_opensim_ranges",
    ".asf": "synovia.io.acclaim:read_asf_ranges",
}
"""The registry of files with ranges: by suffix, the function that reads them."""
FULL = np.pi  # radians in both directions: range of a hinge without one
PARALLEL = 1e-3  # radians between axes that count as the same


@dataclass(frozen=True, eq=False)
class HingeRange:
    """A hinge of a joint: its `axis` (3,) in the joint's rest-aligned frame, and its range.

    `low` and `high` are radians from the skeleton at rest, in the order of the file; infinite
    without a range. `length` is that of the axis in the file, and `line` the hinge's line, 0 if it
    is not known. `zero` is the file's angle at rest, in radians. A ball has no axis: `high` is the
    largest angle of its rotation.
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

    @classmethod
    def about(
        cls, axis: Vectors, name: str, joint: str, low: float, high: float, line: int = 0
    ) -> Self:
        """Return a hinge about an axis (3,) of any length but 0."""
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise ValueError(f"expected an axis of {name!r:.40} that points somewhere, got zero")
        return cls(name, joint, axis / length, low, high, length, line)

    @property
    def is_limited(self) -> bool:
        """True if the file has a range."""
        return bool(np.isfinite([self.low, self.high]).all())


@dataclass(frozen=True, eq=False)
class Coupling:
    """A hinge that follows another: driven = Σ coefficients[k] · driverᵏ, in radians from rest."""

    driven: str
    driver: str
    coefficients: tuple[float, ...]
    line: int = 0

    def driven_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the smallest and largest driven angle for a driver from low to high, radians."""
        curve = Polynomial(self.coefficients)
        extrema = np.clip(curve.trim().deriv().roots().real, low, high)
        values = curve(np.concatenate([[low, high], extrema]))
        return float(values.min()), float(values.max())


@dataclass(frozen=True, eq=False)
class RangedBody:
    """A body of a file: position (3,) and rotation (4,) at rest in its parent, and its hinges.

    Hinges are in order from the outermost, and their axes in the body's own frame at rest. A root
    has no parent.
    """

    name: str
    parent: str | None
    position: Vectors
    rotation: Quats
    hinges: Sequence[HingeRange] = ()


@dataclass(frozen=True, eq=False)
class RangesFile:
    """The hinges of a file's joints; those of one joint are in order from the outermost.

    `slants` are sums of angles with a range: shares by the names of hinges, and low and high in
    radians. `degrees` is true if the numbers in the file are degrees.
    """

    path: Path
    skeleton: Skeleton
    hinges: tuple[HingeRange, ...]
    couplings: tuple[Coupling, ...] = ()
    slants: tuple[tuple[dict[str, float], float, float], ...] = ()
    degrees: bool = False

    @classmethod
    def of_bodies(
        cls,
        path: Path,
        bodies: Iterable[RangedBody],
        up: Axis,
        unit: float = 1.0,
        **others: Any,
    ) -> Self:
        """Return a file whose joints are the bodies below roots, depth first.

        `unit` is that of lengths, in metres. ValueError if a name is used twice, as in a loop.
        """
        children = group_by(bodies, lambda body: body.parent)
        indices: dict[str, int] = {}
        parents, offsets, rotations, hinges = [], list[Vectors](), list[Quats](), []
        roots = children.get(None, [])
        for body in depth_first(roots, lambda body: children.get(body.name, [])):
            if body.name in indices:
                raise ValueError(f"expected a tree of bodies, got {body.name!r:.60} twice")
            parent = -1 if body.parent is None else indices[body.parent]
            above = rotations[parent] if parent >= 0 else quat.IDENTITY
            indices[body.name] = len(indices)
            parents.append(parent)
            offsets.append(quat.rotate(above, body.position))
            rotations.append(quat.mul(above, body.rotation))
            rotation = rotations[-1]
            hinges += [replace(h, axis=quat.rotate(rotation, h.axis)) for h in body.hinges]
        skeleton = Skeleton(
            tuple(indices),
            np.array(parents),
            np.array(offsets),
            rest_rotations=np.array(rotations),
            up=up,
            unit=unit,
        )
        return cls(path, skeleton, tuple(hinges), **others)

    def by_joint(self) -> dict[str, list[HingeRange]]:
        """Return the hinges of each joint that has some, in order."""
        return group_by(self.hinges, lambda hinge: hinge.joint)


def range_suffix(path: str | PathLike[str]) -> str:
    """Return the suffix of a file that ranges are read from; empty for others."""
    name = Path(path).name.lower()
    return max((suffix for suffix in RANGE_FORMATS if name.endswith(suffix)), key=len, default="")


def read_ranges(path: str | PathLike[str]) -> RangesFile:
    """Return the ranges in a file of another tool, by its suffix."""
    path = Path(path)
    suffix = range_suffix(path)
    if not suffix:
        suffixes = ", ".join(RANGE_FORMATS)
        raise ValueError(f"{path}: ranges are read from {suffixes}, got {path.suffix!r}")
    with errors_name(str(path)):
        file: RangesFile = pkgutil.resolve_name(RANGE_FORMATS[suffix])(path)
        check_skeleton(file.skeleton)
    return file


def limits_from_ranges(file: RangesFile) -> LimitModel:
    """Return limits of hinges for all joints of a file that have ranges.

    Exchanged ends are put in order, with a warning. Joints whose hinges no chart can express, and
    tendons over several joints, are left out, with a warning.
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
    rest = np.array([*(hinge.zero for hinge in hinges), 0.0, 0.0])[:3]
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
    """Return three axes (3, 3), one per row, and low and high (3,), from one to three hinges.

    Added axes come last, are orthogonal to the axis before them, and have the range 0 to 0.
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
