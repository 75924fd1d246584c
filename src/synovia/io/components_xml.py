"""Components in XML: parameters by name, each as the kind of thing that it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..components import COMPONENTS, Component, Curve
from ..shapes import ReachCone
from .xml import Element, made, row

_CURVE_NUMBERS = ("x_scale", "y_scale", "low", "high")


def component_in(element: Element) -> Component:
    """Return the component that a <component> describes."""
    attributes = element.read("name!", "type!")
    kind = attributes["type"]
    if kind not in COMPONENTS:
        element.fail(f"no component of type {kind!r}; there are {', '.join(COMPONENTS)}")
    parameters: dict[str, Any] = {}
    for child in element.parts("number", "numbers", "text", "texts", "curve", "curves", "cone"):
        name = child.attributes.get("name", "")
        if name in parameters:
            child.fail(f"a parameter must be given once, got {name!r} twice")
        parameters[name] = _VALUES[child.tag](child)
    with element.blamed():
        return COMPONENTS[kind].from_dict(parameters)


def component_out(name: str, component: Component) -> Element:
    """Return a component as an element."""
    kind = component.kind
    if COMPONENTS.get(kind) is not type(component):
        raise ValueError(
            f"the component {name!r} must be of a registered type to be written, "
            f"got {type(component).__name__}; there are {', '.join(COMPONENTS)}"
        )
    element = made("component", name=name, type=kind)
    for parameter, value in component.to_dict().items():
        if value is not None:
            element.children.append(_value_out(f"{kind} {name!r}", parameter, value))
    return element


def _value_out(owner: str, name: str, value: Any) -> Element:
    if isinstance(value, Curve):
        return _curve_out(name, value)
    if isinstance(value, ReachCone):
        element = made("cone", name=name)
        fields = {each: part for each, part in value.to_dict().items() if each != "type"}
        element.children = [_array_out(each, part) for each, part in fields.items()]
        return element
    if isinstance(value, np.ndarray):
        return _array_out(name, value)
    if isinstance(value, Mapping) and all(isinstance(each, Curve) for each in value.values()):
        element = made("curves", name=name)
        element.children = [_curve_out(each, curve) for each, curve in value.items()]
        return element
    if isinstance(value, str):
        return made("text", value, name=name)
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return made("texts", " ".join(value), name=name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return made("number", repr(float(value)), name=name)
    raise ValueError(f"{owner}: {name} cannot be written as XML, got {value!r:.60}")


def _array_out(name: str, value: Any) -> Element:
    array = np.asarray(value, dtype=np.float64)
    return made("numbers", row(array), name=name, shape=" ".join(map(str, array.shape)))


def _curve_out(name: str, curve: Curve) -> Element:
    numbers = {each: repr(float(getattr(curve, each))) for each in _CURVE_NUMBERS}
    element = made("curve", name=name, kind=curve.kind, beyond=curve.beyond, **numbers)
    element.children = [made("x", row(curve.x)), made("y", row(curve.y))]
    return element


def _text(element: Element) -> str:
    element.read("name!")
    if element.children:
        element.fail(f"<{element.tag}> may hold text alone, got <{element.children[0].tag}>")
    return element.text.strip()


def _number(element: Element) -> float:
    return element.number(_text(element))


def _numbers(element: Element) -> Any:
    shape = element.read("name!", "shape!")["shape"].split()
    if not all(size.isascii() and size.isdigit() and len(size) < 10 for size in shape):
        element.fail(f"expected a shape such as '2 3', got {element.attributes['shape']!r}")
    if element.children:
        element.fail(f"<numbers> may hold numbers alone, got <{element.children[0].tag}>")
    return element.numbers(element.text, tuple(map(int, shape)))


def _texts(element: Element) -> tuple[str, ...]:
    return tuple(_text(element).split())


def _curve(element: Element) -> Curve:
    attributes = element.read("name!", "kind!", "beyond", *_CURVE_NUMBERS)
    knots = {}
    for part in element.parts("x", "y"):
        if part.tag in knots:
            part.fail(f"a curve must have <{part.tag}> once, got it twice")
        part.read()
        knots[part.tag] = part.numbers(part.text)
    for tag in ("x", "y"):
        if tag not in knots:
            element.fail(f"a curve must have <{tag}>, got none")
    numbers: dict[str, Any] = {
        name: element.number(attributes[name]) for name in _CURVE_NUMBERS if name in attributes
    }
    with element.blamed():
        return Curve(
            knots["x"],
            knots["y"],
            kind=attributes["kind"],  # type: ignore[arg-type]
            beyond=attributes.get("beyond", "hold"),  # type: ignore[arg-type]
            **numbers,
        )


def _curves(element: Element) -> dict[str, Curve]:
    element.read("name!")
    found: dict[str, Curve] = {}
    for part in element.parts("curve"):
        name = part.read("name!", "kind!", "beyond", *_CURVE_NUMBERS)["name"]
        if name in found:
            part.fail(f"curves must have different names, got {name!r} twice")
        found[name] = _curve(part)
    return found


def _cone(element: Element) -> ReachCone:
    element.read("name!")
    fields: dict[str, Any] = {}
    for part in element.parts("numbers"):
        array = _numbers(part)
        fields[part.attributes["name"]] = array if array.shape else float(array)
    with element.blamed():
        try:
            return ReachCone.from_dict(fields)
        except TypeError as error:
            raise ValueError(f"a cone has points, low, high and so on: {error}") from error


_VALUES = {
    "number": _number,
    "numbers": _numbers,
    "text": _text,
    "texts": _texts,
    "curve": _curve,
    "curves": _curves,
    "cone": _cone,
}
