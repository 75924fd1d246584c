"""Limits files, `*.limits.json`: all of a model, bit for bit; see docs/limits-file.md.

`*.limits.bin`, for programs without Python, is only written: see `packed_limits`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, get_origin

import numpy as np

from ..arrays import field_types, optional_fields, unit_quats
from ..charts import CHARTS, Chart
from ..learn import Sample
from ..limit import DEPENDENT_LIMITS, DependentLimit, DependentMargin, Limit
from ..model import Constraint, ControlGroup, Limb, LimitModel, TwoJointMuscle, couple
from ..shapes.stored import nested_shapes, shape_from_dict, stored_shapes
from ..skeleton import Skeleton
from . import old_limits, packed_limits
from .bounds import MAX_NUMBER, check_skeleton
from .encoding import (
    Entry,
    check_json,
    encode_array,
    errors_name,
    json_text,
    parse_json,
    quote_value,
    to_json,
)
from .figure import figure_text, parse_figure
from .files import atomic_write, read_file
from .ranges import limits_from_ranges, range_suffix, read_ranges

FORMAT = "synovia-limits"
VERSION = 2
SUFFIX = ".limits.json"
CONSTRAINT_KEYS = ("dependents", "limbs", "groups")
"""Optional keys of constraints beside limits, of a model and of its usual limits."""


def load_limits(path: str | PathLike[str]) -> LimitModel:
    """Return the model in the limits file at `path`.

    Ranges of other tools are read as limits of hinges: MJCF (with MuJoCo), URDF, OpenSim, USD
    (with usd-core) and ASF.
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
        document = _document(model)
        check_json(Entry(document))
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


def _document(model: LimitModel) -> dict[str, Any]:
    skeleton = model.skeleton
    return {
        "format": FORMAT,
        "version": VERSION,
        "skeleton": {
            "names": list(skeleton.names),
            "parents": encode_array(skeleton.parents),
            "offsets": encode_array(skeleton.offsets),
            "channels": [list(channels) for channels in skeleton.channels],
            "end_parents": encode_array(skeleton.end_parents),
            "end_offsets": encode_array(skeleton.end_offsets),
            **({"up": skeleton.up} if skeleton.up else {}),
            **({"unit": skeleton.unit} if skeleton.unit else {}),
        },
        **_constraint_entries(model),
        **({} if model.usual is None else {"usual": _constraint_entries(model.usual)}),
        "provenance": to_json(model.provenance, "provenance", np.ndarray.tolist),
        "samples": {
            name: [
                {
                    "clip": sample.clip,
                    "performer": sample.performer,
                    "frames": encode_array(np.asarray(sample.frames)),
                    "rotations": encode_array(np.asarray(sample.rotations)),
                }
                for sample in samples
            ]
            for name, samples in model.samples.items()
        },
    }


def _constraint_entries(model: LimitModel) -> dict[str, Any]:
    """Return the constraints of a model, by kind."""
    return {
        "limits": {
            name: to_json(limit.to_dict(), f"limits.{name}") for name, limit in model.limits.items()
        },
        **(
            {
                "dependents": {
                    name: to_json(each.to_dict(), f"dependents.{name}")
                    for name, each in model.dependents.items()
                }
            }
            if model.dependents
            else {}
        ),
        **({"limbs": [_limb_entry(limb) for limb in model.limbs]} if model.limbs else {}),
        **({"groups": _group_entries(model)} if model.groups else {}),
    }


def _limb_entry(limb: Limb) -> dict[str, Any]:
    """Return what makes joints a limb; their limits are among those of single joints."""
    neutral = {} if limb.neutral is None else {"neutral": encode_array(limb.neutral)}
    axes, shifts = encode_array(limb.axes), encode_array(limb.shifts)
    muscles = [
        {
            "name": muscle.name,
            "joint": muscle.joint,
            "bone": encode_array(muscle.bone),
            "zero": encode_array(muscle.zero),
            "axis": encode_array(muscle.axis),
            "rows": encode_array(muscle.rows),
        }
        for muscle in limb.muscles
    ]
    optional = {**neutral, **({"muscles": muscles} if muscles else {})}
    return {"joints": list(limb.joints), "axes": axes, "shifts": shifts, **optional}


def _limb(entry: Entry, limits: Mapping[str, Limit]) -> Limb:
    fields = entry.fields("joints", "axes", "shifts", maybe=("neutral", "muscles"))
    joints = fields["joints"].texts()
    if missing := [name for name in joints if name not in limits]:
        fields["joints"].refuse(f"{missing[0]} must have a limit of its own, among limits")
    neutral = fields["neutral"].floats(4) if "neutral" in fields else None
    with entry.locate_errors():
        return Limb(
            {name: limits[name] for name in joints},
            fields["axes"].floats(2, 3),
            fields["shifts"].floats(None, 2),
            neutral,
            tuple(map(_muscle, fields["muscles"].items() if "muscles" in fields else ())),
        )


def _muscle(entry: Entry) -> TwoJointMuscle:
    fields = entry.fields("name", "joint", "bone", "zero", "axis", "rows")
    with entry.locate_errors():
        return TwoJointMuscle(
            fields["name"].text(),
            fields["joint"].text(),
            fields["bone"].floats(3),
            fields["zero"].floats(3),
            fields["axis"].floats(3),
            fields["rows"].floats(None, 2),
        )


def _group_entries(model: LimitModel) -> list[dict[str, Any]]:
    """Return the groups by figure, each figure once, as XML."""
    figures = {id(group.figure): group.figure for group in model.groups}
    return [
        {
            "figure": figure_text(figure),
            "members": [
                {
                    "segments": list(group.segments),
                    "joints": list(group.joints),
                    "controls": list(group.controls),
                    "tolerance": group.tolerance,
                }
                for group in model.groups
                if group.figure is figure
            ],
        }
        for figure in figures.values()
    ]


def _groups(entry: Entry, path: str) -> list[ControlGroup]:
    found = []
    for each in entry.items():
        parts = each.fields("figure", "members")
        with parts["figure"].locate_errors():
            figure = parse_figure(path, parts["figure"].text().encode())
        for member in parts["members"].items():
            fields = member.fields("segments", "joints", "controls", "tolerance")
            segments, joints, controls = (
                fields[name].texts() for name in ("segments", "joints", "controls")
            )
            tolerance = float(fields["tolerance"].floats())
            with member.locate_errors():
                found.append(ControlGroup(figure, segments, controls, tolerance, joints))
    return found


def parse_limits(path: str, content: bytes) -> LimitModel:
    """Return the model in the bytes of the file at `path`."""
    document = Entry(parse_json(path, content))
    with errors_name(path):
        _check_version(document)
        check_json(document)
        return _model(document, path)


def _check_version(document: Entry) -> None:
    """Raise ValueError unless this is a limits file of a version that is read here."""
    wanted = f'a limits file, an object with "format": "{FORMAT}"'
    if not isinstance(document.value, dict):
        check_json(document)
        document.fail(wanted)
    if document.value.get("format") != FORMAT:
        has_format = "format" in document.value
        document.fail(wanted, quote_value(document.value["format"]) if has_format else "no format")
    version = document.value.get("version")
    if type(version) is int and version > VERSION:
        document.refuse(
            f"this is version {quote_value(version)} of the format, and this Synovia reads version "
            f"{VERSION}; upgrade Synovia to read it"
        )
    if "version" in document.value and (type(version) is not int or version < 1):
        document.child("version").fail(f"{VERSION}")


def _model(document: Entry, path: str) -> LimitModel:
    parts = document.fields(
        *("format", "version", "skeleton", "limits", "provenance", "samples"),
        maybe=(*CONSTRAINT_KEYS, "usual"),
    )
    skeleton, old = _skeleton(parts["skeleton"]), parts["version"].value < VERSION
    constraints = _constraints(document, skeleton, path, old)
    parts["provenance"].members()
    samples = {
        name: tuple(_sample(each) for each in entry.items())
        for name, entry in _by_joint(parts["samples"], skeleton).items()
    }
    usual = None
    if "usual" in parts:
        parts["usual"].fields("limits", maybe=CONSTRAINT_KEYS)
        tighter = _constraints(parts["usual"], skeleton, path, old)
        with parts["usual"].locate_errors():
            usual = LimitModel(tighter, skeleton)
    with document.locate_errors():
        return LimitModel(constraints, skeleton, parts["provenance"].value, samples, usual)


def _constraints(entry: Entry, skeleton: Skeleton, path: str, old: bool) -> list[Constraint]:
    """Return the constraints of a model, or of its usual limits; `old` is for version 1."""
    parts = entry.members()
    limits = {
        name: _limit(each, old) for name, each in _by_joint(parts["limits"], skeleton).items()
    }
    dependents = {}
    if "dependents" in parts:
        for name, each in _by_joint(parts["dependents"], skeleton).items():
            if name not in limits:
                each.refuse(f"{name} must have a limit of its own, among limits")
            dependents[name] = _dependent(name, each, limits[name], skeleton, old)
            limits[name] = dependents[name].limit
    entries = parts["limbs"].items() if "limbs" in parts else []
    limbs = [_limb(each, limits) for each in entries]
    with entry.locate_errors():
        single = couple(limits, dependents, limbs)
    return [*single, *(_groups(parts["groups"], path) if "groups" in parts else ())]


def _dependent(
    name: str, entry: Entry, limit: Limit, skeleton: Skeleton, old: bool
) -> DependentLimit:
    """Return how the limit of a joint depends on another; `old` is for files of version 1."""
    fields = _fields(entry, DEPENDENT_LIMITS, 3, known=("limit",))
    kind = fields.pop("type")
    with entry.child("driver").locate_errors():
        skeleton.index(fields["driver"])
    with entry.locate_errors(), np.errstate(all="ignore"):
        if old and kind == DependentMargin.name:
            return old_limits.dependent_margin(name, limit, fields)
        return DEPENDENT_LIMITS[kind].from_dict(limit, fields)


def _by_joint(entry: Entry, skeleton: Skeleton) -> dict[str, Entry]:
    members = entry.members()
    for name, member in members.items():
        with member.locate_errors():
            skeleton.index(name)
    return members


def _skeleton(entry: Entry) -> Skeleton:
    parts = entry.fields(
        *("names", "parents", "offsets", "channels", "end_parents", "end_offsets"),
        maybe=("up", "unit"),
    )
    names = parts["names"].texts()
    parents = parts["parents"].ints(len(names))
    offsets = parts["offsets"].floats(len(names), 3)
    channels = tuple(each.texts() for each in parts["channels"].items())
    if len(channels) != len(names):
        parts["channels"].fail(f"one list for each of {len(names)} joints", f"{len(channels)}")
    end_parents = parts["end_parents"].ints(None)
    end_offsets = parts["end_offsets"].floats(len(end_parents), 3)
    known: dict[str, Any] = {}
    if "up" in parts:
        known["up"] = parts["up"].text()
    if "unit" in parts:
        known["unit"] = float(parts["unit"].floats())
    with entry.locate_errors():
        skeleton = Skeleton(names, parents, offsets, channels, end_parents, end_offsets, **known)
        check_skeleton(skeleton, MAX_NUMBER)
    return skeleton


def _limit(entry: Entry, old: bool) -> Limit:
    """Return the limit that stands here; `old` is for files of version 1."""
    parts = entry.fields("chart", "shape", maybe=("relative_to", "margin"))
    table_margin = old_limits.take_table_margin(parts["shape"]) if old else 0.0
    margin = float(parts["margin"].floats()) if "margin" in parts else 0.0
    chart = _build(parts["chart"], CHARTS)
    shape = _build(parts["shape"], stored_shapes())
    with entry.locate_errors(), warnings.catch_warnings(), np.errstate(all="ignore"):
        # That was said when the limit was made.
        warnings.filterwarnings("ignore", "the region contains the direction opposite", UserWarning)
        above = parts["relative_to"].text() if "relative_to" in parts else None
        limit = Limit(chart, shape, above, margin)
        return old_limits.with_margin(limit, table_margin) if old else limit


def _build(entry: Entry, registry: Mapping[str, Any]) -> Any:
    """Return the chart or shape that stands here."""
    fields = _fields(entry, registry, 3)
    kind = fields.pop("type")
    with entry.locate_errors(), np.errstate(all="ignore"):
        made = registry[kind]
        return made(**fields) if issubclass(made, Chart) else shape_from_dict(made, fields)


def _fields(
    entry: Entry, registry: Mapping[str, Any], dimension: int, *, known: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the fields of a chart or shape, with their arrays, and its `type`.

    Those that are `known` otherwise are not in the file.
    """
    members = entry.members()
    if "type" not in members:
        entry.refuse("the key 'type' is missing")
    kind = members["type"].text()
    if kind not in registry:
        members["type"].fail(f"one of {', '.join(registry)}")
    optional = optional_fields(registry[kind])
    types = {name: each for name, each in field_types(registry[kind]).items() if name not in known}
    entry.fields("type", *(name for name in types if name not in optional), maybe=optional)
    sizes: dict[Any, int] = {"d": dimension}
    fields = {name: _value(members[name], *types[name], sizes) for name in types if name in members}
    return {"type": kind, **fields}


def _value(entry: Entry, hint: Any, about: tuple[Any, ...], known: dict[Any, int]) -> Any:
    """Return what a field of this type holds; `known` are the sizes that letters stand for."""
    if shapes := nested_shapes(hint):
        inner = about[0] if about else known["d"]
        if get_origin(hint) is tuple:
            return [_fields(item, shapes, inner) for item in entry.items()]
        return _fields(entry, shapes, inner)
    if hint is not float and not (about and get_origin(hint) is np.ndarray):
        return _raw_value(entry)  # what is wrong, its constructor says
    sizes = [] if hint is float else [str(size).partition(">=")[0] for size in about]
    array = entry.floats(*(int(n) if n.isdigit() else known.get(n) for n in sizes))
    known.update(zip(sizes, array.shape, strict=True))
    if np.abs(array).max(initial=0.0) > MAX_NUMBER:
        entry.fail(f"numbers within {MAX_NUMBER:g}")
    return array if sizes else float(array)


def _raw_value(entry: Entry) -> Any:
    """Return what stands here, objects with base64 and lists of numbers as arrays."""
    if isinstance(entry.value, dict) and "base64" not in entry.value:
        return {name: _raw_value(member) for name, member in entry.members().items()}
    if isinstance(entry.value, list) and any(isinstance(v, (dict, str)) for v in entry.value):
        return [_raw_value(item) for item in entry.items()]
    if isinstance(entry.value, (dict, list)):
        return entry.array()
    return entry.value


def _sample(entry: Entry) -> Sample:
    parts = entry.fields("clip", "performer", "frames", "rotations")
    frames = parts["frames"].ints(None)
    if frames.min(initial=0) < 0:
        parts["frames"].fail("numbers of frames, at least 0")
    rotations = parts["rotations"].floats(len(frames), 4)
    with parts["rotations"].locate_errors():
        unit_quats("rotations", rotations)  # checked, but kept as they are, bit for bit
    return Sample(parts["clip"].text(), parts["performer"].text(), frames, rotations)
