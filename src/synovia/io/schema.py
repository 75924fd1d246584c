"""The JSON Schema of limits files, made from the fields of charts and shapes."""

from __future__ import annotations

import inspect
from typing import Any, Literal, get_args, get_origin

import numpy as np

from ..arrays import field_types, optional_fields
from ..charts import CHARTS
from ..limit import DEPENDENT_LIMITS, suits
from ..shapes import SHAPES
from ..shapes.stored import nested_shapes, stored_shapes
from ..skeleton.skeleton import POSITIONS, ROTATIONS

Schema = dict[str, Any]

PLAIN: dict[Any, Schema] = {
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
}
BASE64: Schema = {
    "type": "string",
    "contentEncoding": "base64",
    "pattern": "^[A-Za-z0-9+/]*={0,2}$",
}
PACKED: Schema = {
    "description": "An array of numbers as base64 of its bytes: little-endian, row after row. "
    "Written for more than 256 numbers.",
    "type": "object",
    "required": ["dtype", "shape"],
    "oneOf": [{"required": ["base64"]}, {"required": ["step", "zlib"]}],
    "dependentRequired": {"step": ["zlib"], "zlib": ["step"]},
    "additionalProperties": False,
    "properties": {
        "dtype": {"enum": ["float64", "int64"]},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
        "base64": BASE64,
        "step": {"type": "number"},
        "zlib": {
            **BASE64,
            "description": "Instead of base64, for multiples of step: differences between one and "
            "the next as integers of 16 bits, compressed.",
        },
    },
}
NUMBERS: Schema = {
    "description": "Numbers, in lists or as one array.",
    "anyOf": [
        {"type": "number"},
        {"type": "array", "items": {"$ref": "#/$defs/numbers"}},
        {"$ref": "#/$defs/packed"},
    ],
}


def limits_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of limits files, of all registered families."""
    charts, shapes = (
        {name: _fields(name, kind, 3) for name, kind in kinds.items()}
        for kinds in (CHARTS, stored_shapes())
    )
    dependents = {
        f"dependent-{name}": _fields(name, kind, 3, ("limit",))
        for name, kind in DEPENDENT_LIMITS.items()
    }
    by_joint = {"description": "By the names of joints, which are the skeleton's."}
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:synovia:limits:1",
        "title": "Synovia limits",
        "description": "A limit for each joint of a skeleton that has one. All angles are radians, "
        "all numbers finite.",
        **_object(
            format={"const": "synovia-limits"},
            version={"const": 2},
            skeleton={"$ref": "#/$defs/skeleton"},
            limits={
                **by_joint,
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/limit"},
            },
            provenance={"description": "Where they come from: any JSON.", "type": "object"},
            samples={
                "description": "What was observed of each joint, clip by clip, thinned.",
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/sample"}},
            },
        ),
        "$defs": {
            "packed": PACKED,
            "numbers": NUMBERS,
            "skeleton": _skeleton(),
            "limit": _limit(),
            "chart": {
                "description": "How rotations become points, about a reference.",
                "oneOf": [{"$ref": f"#/$defs/{name}"} for name in charts],
            },
            "shape": {
                "description": "A region of the chart; lengths are radians.",
                "oneOf": [{"$ref": f"#/$defs/{name}"} for name in shapes],
            },
            "sample": _object(
                clip={"type": "string"},
                performer={"type": "string"},
                frames=_array("n", item={"type": "integer", "minimum": 0}),
                rotations=_array("n", 4),
            ),
            "dependent": {
                "description": "How a joint's limit depends on another joint, by nodes: directions "
                "of that one's bone all over the sphere.",
                "oneOf": [{"$ref": f"#/$defs/{name}"} for name in dependents],
            },
            **charts,
            **shapes,
            **dependents,
        },
    }
    schema["properties"]["dependents"] = {  # which files of limits that stand alone lack
        **by_joint,
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/dependent"},
    }
    texts: Schema = {"type": "array", "items": {"type": "string"}}
    limb = _object(joints=texts, axes=_array(2, 3), shifts=_array("n>=1", 2))
    limb["properties"]["neutral"] = _array(4)
    text: Schema = {"type": "string"}
    directions = {each: _array(3) for each in ("bone", "zero", "axis")}
    muscle = _object(name=text, joint=text, **directions, rows=_array("n>=1", 2))
    limb["properties"]["muscles"] = {"type": "array", "items": muscle}
    schema["properties"]["limbs"] = {
        "description": "Joints along which twist is shared: upper bone, lower bone and perhaps an "
        "end; optional.",
        "type": "array",
        "items": limb,
    }
    schema["properties"]["groups"] = {
        "description": "Joints that controls of a figure move together, by figure; optional.",
        "type": "array",
        "items": _object(
            figure={"description": "The figure, as XML.", "type": "string"},
            members={
                "type": "array",
                "items": _object(
                    segments=texts, joints=texts, controls=texts, tolerance={"type": "number"}
                ),
            },
        ),
    }
    constraints = {key: schema["properties"][key] for key in ("limits", "dependents", "groups")}
    schema["properties"]["usual"] = {
        "description": "Tighter limits, outside of which a legal pose is unusual; optional.",
        **_object(**constraints),
        "required": ["limits"],
    }
    return schema


def _object(**properties: Schema) -> Schema:
    """Return what an object with these properties, and no others, is."""
    return {
        "type": "object",
        "required": [*properties],
        "additionalProperties": False,
        "properties": properties,
    }


def _fields(name: str, kind: type, dimension: int, known: tuple[str, ...] = ()) -> Schema:
    """Return what a chart or a shape of so many dimensions is, with its name as type.

    Fields that are `known` otherwise are not in the file.
    """
    fields = {
        field: _value(hint, about, dimension)
        for field, (hint, about) in field_types(kind).items()
        if field not in known
    }
    says = (inspect.getdoc(kind) or "").partition("\n")[0]
    described = {"description": says, **_object(type={"const": name}, **fields)}
    optional = optional_fields(kind)
    described["required"] = [each for each in described["required"] if each not in optional]
    return described


def _value(hint: Any, about: tuple[Any, ...], dimension: int) -> Schema:
    """Return what a field is of this type, with what is annotated about it."""
    if shapes := nested_shapes(hint):
        one: Schema = {"$ref": "#/$defs/shape"}
        if shapes.keys() != stored_shapes().keys():
            inner = about[0] if about else dimension
            one = {"oneOf": [_fields(name, kind, inner) for name, kind in shapes.items()]}
        return {"type": "array", "items": one, "minItems": 1} if get_origin(hint) is tuple else one
    if get_origin(hint) is np.ndarray:
        sizes = [dimension if size == "d" else size for size in about]
        return _array(*sizes) if sizes else {"$ref": "#/$defs/numbers"}
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    plain = dict(PLAIN.get(hint, {}))
    return {**plain, "minimum": float(about[0].removeprefix(">="))} if about else plain


def _array(*sizes: int | str, item: Schema = PLAIN[float]) -> Schema:
    """Return what an array of these sizes is: lists in lists, or packed."""
    listed: Schema = item
    lengths: list[Schema] = []
    for size in reversed(sizes):
        least = int(str(size).partition(">=")[2] or 0)
        exact = {"minItems": size, "maxItems": size} if isinstance(size, int) else {}
        listed = {"type": "array", "items": listed, "minItems": least, **exact}
        lengths.insert(0, {"const": size} if isinstance(size, int) else {"minimum": least})
    packed = {
        "dtype": {"const": "float64" if item["type"] == "number" else "int64"},
        "shape": {"prefixItems": lengths, "minItems": len(sizes), "maxItems": len(sizes)},
    }
    return {"anyOf": [listed, {"$ref": "#/$defs/packed", "properties": packed}]}


def _skeleton() -> Schema:
    name = {"type": "string", "minLength": 1}
    skeleton = _object(
        names={"type": "array", "items": name, "minItems": 1, "uniqueItems": True},
        parents={
            "description": "The number of each joint's parent, which comes before it; -1: a root.",
            **_array("n", item={"type": "integer", "minimum": -1}),
        },
        offsets={
            "description": "From the parent to the joint, in the unit of the clips.",
            **_array("n", 3),
        },
        channels={
            "type": "array",
            "items": {
                "type": "array",
                "uniqueItems": True,
                "items": {"enum": [*POSITIONS, *ROTATIONS]},
            },
        },
        end_parents={
            "description": "The joint that each end site hangs on.",
            **_array("n", item={"type": "integer", "minimum": 0}),
        },
        end_offsets={"description": "From that joint to the end site.", **_array("n", 3)},
    )
    skeleton["properties"] |= {
        "up": {"description": "Which axis is up, where it is known.", "enum": ["x", "y", "z"]},
        "unit": {
            "description": "Metres that a unit of length has, where it is known.",
            "type": "number",
            "minimum": 0,
        },
    }
    return skeleton


def _limit() -> Schema:
    """Return what a limit is: a shape is in one of its charts."""
    limit = _object(chart={"$ref": "#/$defs/chart"}, shape={"$ref": "#/$defs/shape"})
    limit["properties"]["relative_to"] = {
        "description": "The joint above it that it is measured from, if that is not its parent.",
        "type": "string",
    }
    limit["properties"]["margin"] = {
        "description": "What is within so many radians of the shape is legal; 0 unless given.",
        "type": "number",
        "minimum": 0,
    }
    limit["allOf"] = [
        {
            "if": _typed("shape", [name]),
            "then": _typed("chart", [chart for chart in CHARTS if suits(CHARTS[chart], kind)]),
        }
        for name, kind in SHAPES.items()
    ]
    return limit


def _typed(part: str, names: list[str]) -> Schema:
    """Return a limit whose chart or shape has one of these types."""
    typed = {"type": "object", "required": ["type"], "properties": {"type": {"enum": names}}}
    return {"properties": {part: typed}}
