"""The JSON Schema of limits files, derived from the classes that declare them."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np

from ..arrays import Ints, Within
from ..charts import CHARTS
from ..limit import Limit, suits
from ..schema import (
    LISTS,
    MAX_NUMBER,
    UNIONS,
    Codec,
    PackedArray,
    SteppedArray,
    declared_fields,
    size_parts,
    without_none,
)
from ..shapes import SHAPES
from .limits import FILES, LimitsFile

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
PLAIN: dict[Any, Schema] = {
    Any: {},
    float: NUMBER,
    int: {"type": "integer"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
}
PACKED = ("PackedArray", "SteppedArray")


def limits_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of limits files, with all registered families."""
    writer = _SchemaWriter(FILES)
    root = writer.object(LimitsFile)
    lists = _SchemaWriter(LISTS)
    for kind in (PackedArray, SteppedArray):
        writer.definitions[kind.__name__] = lists.object(kind)
    numbers = {"type": "array", "items": {"$ref": "#/$defs/numbers"}}
    references = [{"$ref": f"#/$defs/{name}"} for name in PACKED]
    writer.definitions["numbers"] = {"anyOf": [NUMBER, numbers, *references]}  # of any shape
    writer.definitions[Limit.__name__]["allOf"] = [
        {
            "if": _typed("shape", [name]),
            "then": _typed("chart", [chart for chart in CHARTS if suits(CHARTS[chart], kind)]),
        }
        for name, kind in SHAPES.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:synovia:limits:2",
        "title": "Synovia limits",
        **root,
        "$defs": writer.definitions,
    }


def _typed(key: str, names: list[str]) -> Schema:
    """Return the schema of a limit whose chart or shape has one of these types."""
    typed = {"type": "object", "required": ["type"], "properties": {"type": {"enum": names}}}
    return {"properties": {key: typed}}


@dataclasses.dataclass
class _SchemaWriter:
    """Schemas of types, and the definitions that they refer to, by name."""

    codec: Codec
    definitions: dict[str, Schema] = dataclasses.field(default_factory=dict)

    def object(self, kind: type, dimension: int = 3) -> Schema:
        """Return the schema of a declared class; `dimension` is that of a region's points."""
        properties, required = {}, []
        if self.codec.base_of(kind) is not None:
            properties["type"] = {"const": kind.name}  # type: ignore[attr-defined]
            required.append("type")
        for field in declared_fields(kind, self.codec):
            if field.is_flat:
                flat = self.object(get_args(field.hint)[0])
                properties |= flat["properties"]
                required += flat["required"]
                continue
            properties[field.key] = self.value(field.hint, dimension)
            required += [] if field.is_optional else [field.key]
        return {
            "description": (inspect.getdoc(kind) or "").partition("\n")[0],
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def value(self, hint: Any, dimension: int) -> Schema:
        """Return the schema of a type."""
        if hint in PLAIN:
            return PLAIN[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(dimension, *arguments)
        if origin is np.ndarray:
            return {"$ref": "#/$defs/numbers"}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in UNIONS and types.NoneType in arguments:
            return {"anyOf": [self.value(without_none(hint), dimension), {"type": "null"}]}
        if origin in (list, tuple):
            return {"type": "array", "items": self.value(arguments[0], dimension)}
        if origin is dict:
            members = self.value(arguments[1], dimension)
            return {"type": "object", "additionalProperties": members}
        if tagged := self.codec.tagged_classes(hint):
            kinds = tagged[1].values()
            return {"oneOf": [self._reference(kind, dimension) for kind in kinds]}
        return self._reference(hint, dimension)

    def _reference(self, kind: type, dimension: int) -> Schema:
        """Return a reference to the definition of a class; add it if it is new."""
        base = self.codec.base_of(kind)
        name = f"{base.__name__}-{kind.name}" if base else kind.__name__  # type: ignore[attr-defined]
        name += "" if dimension == 3 else f"-{dimension}"
        if name not in self.definitions:
            self.definitions[name] = {}  # classes may contain each other
            self.definitions[name] = self.object(kind, dimension)
        return {"$ref": f"#/$defs/{name}"}

    def _annotated(self, dimension: int, hint: Any, *notes: Any) -> Schema:
        bounds: Schema = {}
        for allowed in (note for note in notes if isinstance(note, Within)):
            ends = {"minimum": allowed.low, "maximum": allowed.high}
            bounds |= {name: end for name, end in ends.items() if math.isfinite(end)}
        sizes = [
            dimension if note == "d" else note for note in notes if not isinstance(note, Within)
        ]
        if get_origin(hint) is np.ndarray:
            return self._array(sizes, PLAIN[int if hint == Ints else float] | bounds)
        return self.value(hint, sizes[0] if sizes else dimension) | bounds

    def _array(self, sizes: list[Any], item: Schema) -> Schema:
        """Return the schema of an array: nested lists, or packed."""
        listed, lengths = item, list[Schema]()
        for exact, least in map(size_parts, reversed(sizes)):
            is_exact = isinstance(exact, int)
            listed = {"type": "array", "items": listed, "minItems": least}
            listed |= {"maxItems": exact} if is_exact else {}
            lengths.insert(0, {"const": exact} if is_exact else {"minimum": least})
        if not self.codec.packs:
            return listed
        shape = {"prefixItems": lengths, "minItems": len(sizes), "maxItems": len(sizes)}
        dtype = {"const": "float64" if item["type"] == "number" else "int64"}
        packed = {"properties": {"dtype": dtype, "shape": shape}}
        return {"anyOf": [listed, *({"$ref": f"#/$defs/{kind}", **packed} for kind in PACKED)]}
