"""Limits files, `*.limits.json`: a whole model, bit for bit; see docs/reference/limits-file.md.

The classes here and those of charts, shapes and dependent limits declare the format. Files of
version 1 kept margins in shapes, and how much narrower dependent limits become. Packed limits,
`*.limits.bin`, for programs without Python, are only written: see `packed_limits`.
"""

from __future__ import annotations

import warnings
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np

from ..arrays import Floats, Quats, Vectors, unit_quats
from ..charts import CHARTS, Chart
from ..learn import Sample
from ..limit import DEPENDENT_LIMITS, DependentLimit, DependentMargin, Limit, gained_and_lost
from ..model import Constraint, ControlGroup, Limb, LimitModel, TwoJointMuscle, couple
from ..schema import (
    FLAT,
    LISTS,
    MAX_NUMBER,
    Codec,
    DecodeError,
    decode,
    encode,
    located,
    quote_value,
)
from ..shapes import SHAPES, Offset, Region, Turned
from ..skeleton import Skeleton
from . import packed_limits
from .encoding import check_json, errors_name, json_text, parse_json
from .figure import figure_text, parse_figure
from .files import atomic_write, read_file
from .ranges import limits_from_ranges, range_suffix, read_ranges
from .skeletons import StoredSkeleton, check_skeleton

FORMAT: Final = "synovia-limits"
VERSION: Final = 2
SUFFIX = ".limits.json"
STORED_SHAPES: Mapping[str, type[Region]] = ChainMap(
    {Offset.name: Offset, Turned.name: Turned}, SHAPES
)
"""Every shape that a file may contain, by name, including those made of others."""
FILES = Codec(
    key=str,
    strict=True,
    packs=True,
    registries={Chart: CHARTS, Region: STORED_SHAPES, DependentLimit: DEPENDENT_LIMITS},
)


@dataclass(frozen=True, eq=False)
class StoredLimb:
    """A limb, whose joints have limits of their own."""

    joints: tuple[str, ...]
    """Upper bone, lower bone, and perhaps an end."""
    axes: Annotated[Vectors, 2, 3]
    """Directions of the two bones, each in its own frame."""
    shifts: Annotated[Floats, "n>=1", 2]
    """Rows: angle between the bones, and the largest twist moved between them there, in radians."""
    neutral: Annotated[Quats, 4] | None = None
    """Rotation of the end without swing and twist, if its twist counts as the lower bone's."""
    muscles: tuple[TwoJointMuscle, ...] = ()
    """Muscles that span two joints."""


@dataclass(frozen=True, eq=False)
class StoredGroup:
    """Joints that controls of a figure move together."""

    segments: tuple[str, ...]
    """Segments of the figure."""
    joints: tuple[str, ...]
    """The skeleton's joint for each segment."""
    controls: tuple[str, ...]
    """Controls that move them."""
    tolerance: float
    """Deviation from the figure's poses that is legal, in radians."""


@dataclass(frozen=True, eq=False)
class StoredFigure:
    """Control groups of one figure."""

    figure: str
    """The figure, as XML."""
    members: tuple[StoredGroup, ...]
    """The groups."""


@dataclass(frozen=True, eq=False)
class StoredConstraints:
    """Constraints of a model."""

    limits: dict[str, Limit]
    """Limits by joint."""
    dependents: dict[str, DependentLimit] = field(default_factory=dict)
    """By joint: how its limit depends on another joint, its driver."""
    limbs: tuple[StoredLimb, ...] = ()
    """Limbs, along which twist is shared."""
    groups: tuple[StoredFigure, ...] = ()
    """Control groups by figure."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LimitsFile:
    """A limit for each joint of a skeleton that has one; all angles are in radians."""

    format: Literal["synovia-limits"] = field(default=FORMAT, metadata={"optional": False})
    version: Literal[2] = field(default=VERSION, metadata={"optional": False})
    skeleton: StoredSkeleton
    """The skeleton whose joints are limited."""
    constraints: Annotated[StoredConstraints, FLAT]
    usual: StoredConstraints | None = None
    """Tighter limits: a legal pose outside them is unusual."""
    provenance: dict[str, Any]
    """Where the limits come from: any JSON object; `edited` names joints edited by hand."""
    samples: dict[str, tuple[Sample, ...]]
    """By joint: what was observed, clip by clip, thinned."""


def load_limits(path: str | PathLike[str]) -> LimitModel:
    """Return the model in the limits file at `path`.

    Ranges of other tools are read as limits of hinges: MJCF (with MuJoCo), URDF, OpenSim and ASF.
    """
    if range_suffix(path):
        return limits_from_ranges(read_ranges(path))
    path = limits_path(path)
    return parse_limits(str(path), read_file(path))


def save_limits(model: LimitModel, path: str | PathLike[str]) -> None:
    """Write `model` to the limits file at `path`, whole or not at all.

    A file `*.limits.bin` has what other programs need to apply the limits, and is not read here.

    Examples
    --------
    >>> from synovia import Box, Limit, LimitModel, RotationVector, Skeleton
    >>> arm = Skeleton(("Upper", "Lower"), [-1, 0], [[0.0, 1.4, 0.0], [0.3, 0.0, 0.0]])
    >>> box = Box(low=[0, 0, 0], high=[2.4, 0, 0], axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> save_limits(LimitModel({"Lower": Limit(RotationVector(), box)}, arm), "arm.limits.json")
    >>> list(load_limits("arm.limits.json").limits)
    ['Lower']
    """
    if Path(path).name.lower().endswith(packed_limits.SUFFIX):
        with errors_name(str(path)):
            content = packed_limits.packed_limits_bytes(model)
        atomic_write(Path(path), content)
        return
    path = limits_path(path)
    atomic_write(path, limits_bytes(model, str(path)))


def limits_bytes(model: LimitModel, path: str) -> bytes:
    """Return what a limits file of `model` holds; errors name it by `path`."""
    with errors_name(path):
        with located("provenance"):
            provenance = encode(model.provenance, LISTS)
        stored = LimitsFile(
            skeleton=StoredSkeleton.of(model.skeleton),
            constraints=_stored_constraints(model),
            usual=None if model.usual is None else _stored_constraints(model.usual),
            provenance=provenance,
            samples=dict(model.samples),
        )
        document = encode(stored, FILES)
        check_json(document)
        content = f"{json_text(document)}\n".encode()
    parse_limits(path, content)  # what could not be read is not written
    return content


def limits_path(path: str | PathLike[str]) -> Path:
    """Return the path of a limits file; ValueError where it lacks the suffix."""
    path = Path(path)
    if path.name.lower().endswith(packed_limits.SUFFIX):
        raise ValueError(
            f"{path}: packed limits are for other programs; the {SUFFIX} that they were made of is "
            "read here"
        )
    if not path.name.lower().endswith(SUFFIX):
        raise ValueError(f"{path}: the suffix of limits must be {SUFFIX}, got {path.suffix!r}")
    return path


def _stored_constraints(model: LimitModel) -> StoredConstraints:
    figures = {id(group.figure): group.figure for group in model.groups}
    return StoredConstraints(
        dict(model.limits),
        dict(model.dependents),
        tuple(
            StoredLimb(tuple(limb.joints), limb.axes, limb.shifts, limb.neutral, limb.muscles)
            for limb in model.limbs
        ),
        tuple(
            StoredFigure(
                figure_text(figure),
                tuple(
                    StoredGroup(group.segments, group.joints, group.controls, group.tolerance)
                    for group in model.groups
                    if group.figure is figure
                ),
            )
            for figure in figures.values()
        ),
    )


def parse_limits(path: str, content: bytes) -> LimitModel:
    """Return the model in the bytes of the file at `path`."""
    document = parse_json(path, content)
    with errors_name(path):
        is_old = _check_version(document) < VERSION
        check_json(document)
        margins = _take_table_margins(document) if is_old else {}
        usual_margins = _take_table_margins(document.get("usual")) if is_old else {}
        document |= {"version": VERSION} if is_old else {}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # This warning was given when the limit was made.
            warnings.filterwarnings("ignore", "the region contains the direction", UserWarning)
            stored = decode(LimitsFile, document, FILES)
        with located("skeleton"):
            skeleton = stored.skeleton.skeleton()
            check_skeleton(skeleton, MAX_NUMBER)
        usual = None
        if stored.usual is not None:
            with located("usual"):
                constraints = _constraints(stored.usual, skeleton, path, is_old, usual_margins)
                usual = LimitModel(constraints, skeleton)
        constraints = _constraints(stored.constraints, skeleton, path, is_old, margins)
        _check_samples(stored.samples, skeleton)
        return LimitModel(constraints, skeleton, stored.provenance, stored.samples, usual)


def _check_version(document: Any) -> int:
    """Return the version; ValueError unless this is a limits file of a version that is read."""
    wanted = f'a limits file, an object with "format": "{FORMAT}"'
    if not isinstance(document, dict):
        check_json(document)
        raise ValueError(f"expected {wanted}, got {quote_value(document)}")
    if document.get("format") != FORMAT:
        got = quote_value(document["format"]) if "format" in document else "no format"
        raise ValueError(f"expected {wanted}, got {got}")
    version = document.get("version", VERSION)
    if type(version) is not int or version < 1:
        raise DecodeError(f"expected {VERSION}, got {quote_value(version)}", ("version",))
    if version > VERSION:
        raise ValueError(
            f"this is version {quote_value(version)} of the format, and this Synovia reads version "
            f"{VERSION}; upgrade Synovia to read it"
        )
    return version


def _constraints(
    stored: StoredConstraints,
    skeleton: Skeleton,
    path: str,
    is_old: bool,
    margins: Mapping[str, float],
) -> list[Constraint]:
    """Return the constraints of a model, or of its usual limits.

    `is_old` is True for files of version 1, whose tables have `margins`, by joint.
    """
    limits, dependents = stored.limits, {}
    for name, limit in limits.items():
        with located("limits", name):
            skeleton.index(name)
            if is_old:
                limits[name] = _with_margin(limit, margins.get(name, 0.0))
    for name, dependent in stored.dependents.items():
        made: Any = dependent  # a partial without the limit
        with located("dependents", name), np.errstate(all="ignore"):
            skeleton.index(name)
            _check_limited([name], limits)
            with located("driver"):
                skeleton.index(made.keywords["driver"])
            if is_old and made.func is DependentMargin:
                dependents[name] = _dependent_margin(name, limits[name], made.keywords)
            else:
                dependents[name] = made(limit=limits[name])
            limits[name] = dependents[name].limit
    limbs = []
    for index, limb in enumerate(stored.limbs):
        with located("limbs", index, "joints"):
            _check_limited(limb.joints, limits)
        with located("limbs", index):
            joints = {name: limits[name] for name in limb.joints}
            limbs.append(Limb(joints, limb.axes, limb.shifts, limb.neutral, limb.muscles))
    return [*couple(limits, dependents, limbs), *_groups(stored.groups, path)]


def _check_limited(joints: tuple[str, ...] | list[str], limits: Mapping[str, Limit]) -> None:
    if missing := [name for name in joints if name not in limits]:
        raise ValueError(f"{missing[0]} must have a limit of its own, among limits")


def _groups(stored: tuple[StoredFigure, ...], path: str) -> list[ControlGroup]:
    groups = []
    for index, stored_figure in enumerate(stored):
        with located("groups", index, "figure"):
            figure = parse_figure(path, stored_figure.figure.encode())
        for number, group in enumerate(stored_figure.members):
            with located("groups", index, "members", number):
                groups.append(
                    ControlGroup(
                        figure, group.segments, group.controls, group.tolerance, group.joints
                    )
                )
    return groups


def _check_samples(samples: Mapping[str, tuple[Sample, ...]], skeleton: Skeleton) -> None:
    for name, joint_samples in samples.items():
        with located("samples", name):
            skeleton.index(name)
        for index, sample in enumerate(joint_samples):
            with located("samples", name, index, "rotations"):
                unit_quats("rotations", sample.rotations)  # only checked: bits are kept


def _take_table_margins(document: Any) -> dict[str, float]:
    """Remove the margins of theta-phi tables from a document of version 1; return them by joint."""
    limits = document.get("limits") if isinstance(document, dict) else None
    margins = {}
    for name, limit in limits.items() if isinstance(limits, dict) else ():
        shape = limit.get("shape") if isinstance(limit, dict) else None
        if isinstance(shape, dict) and {"counts", "margin"} <= shape.keys():
            with located("limits", name, "shape", "margin"):
                margins[name] = decode(float, shape.pop("margin"))
    return margins


def _with_margin(limit: Limit, table_margin: float) -> Limit:
    """Return the limit with the margin that version 1 kept in its shape.

    An offset of at least 0 is a margin. A table had `table_margin` (radians) at both ends of its
    ranges of twists: they become shorter by it, at most to their middle.
    """
    shape: Any = limit.shape
    if isinstance(shape, Offset) and shape.radius >= 0.0:
        return replace(limit, shape=shape.shape, margin=shape.radius)
    if table_margin == 0.0:
        return limit
    middle = 0.5 * (shape.low + shape.high)
    low = np.minimum(shape.low + table_margin, middle)
    high = np.maximum(shape.high - table_margin, middle)
    return replace(limit, shape=replace(shape, low=low, high=high), margin=table_margin)


def _dependent_margin(name: str, limit: Limit, fields: dict[str, Any]) -> DependentMargin:
    """Return a dependent margin of version 1, where it was how much narrower the limit becomes.

    The limit shrunk by the largest of these margins is grown again, by as much less as each says.
    What a shrunk and grown limit has lost of the one in the file is reported by a warning.
    """
    narrower = np.asarray(fields["margin"], np.float64)
    inner = limit.shrink(max(float(narrower.max(initial=0.0)), 0.0))
    widest = inner.margin + float(narrower.max(initial=0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        narrowest = replace(inner, margin=widest)
    lost, volume = gained_and_lost(limit, narrowest)[1], limit.volume()
    warnings.warn(
        f"{name}: its limit depends on {fields['driver']} as in files of version 1, and without "
        f"its corners loses {lost / max(volume, lost, 1e-300):.1%} of its rotations",
        stacklevel=2,
    )
    return DependentMargin(narrowest, **fields | {"margin": widest - narrower})
