"""Networks and figures as XML, bit for bit; see docs/methods/components.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_origin

import numpy as np

from ..components import COMPONENTS, Component, Control, Curve, Figure, JointSet, Network
from ..schema import LISTS, MAX_NUMBER, DeclaredField, declared_fields
from ..shapes import SHAPES, Region
from ..skeleton import Skeleton
from .files import atomic_write, read_file
from .skeletons import check_skeleton
from .xml import Element, format_element, format_numbers, make_element, parse_xml

DEFAULT_SHAPE = "reach-cone"  # of a <cone> without a type
VERSION = "1"
SUFFIX = ".xml"


def _scalar_fields(kind: type) -> dict[str, DeclaredField]:
    """Return the fields of a class that are XML attributes (numbers and choices), by name."""
    declared = declared_fields(kind, LISTS)
    return {f.name: f for f in declared if f.hint is float or get_origin(f.hint) is Literal}


def _read_scalars(element: Element, kind: type, *required: str) -> dict[str, Any]:
    """Return the values of an element's attributes that are fields of class `kind`, by name.

    The attributes `name`, those of fields without a default, and `required` ones must exist.
    """
    scalars = _scalar_fields(kind)
    needed = {name for name, field in scalars.items() if not field.is_optional} | {*required}
    texts = element.read("name!", *(f"{name}!" if name in needed else name for name in scalars))
    return {
        name: element.number(texts[name]) if field.hint is float else texts[name]
        for name, field in scalars.items()
        if name in texts
    }


def _scalar_texts(value: Any) -> dict[str, str]:
    """Return the texts of the attributes for an instance, by name."""
    scalars = {name: getattr(value, name) for name in _scalar_fields(type(value))}
    return {name: repr(v) if isinstance(v, float) else v for name, v in scalars.items()}


def read_component(element: Element) -> Component:
    """Return the component that a <component> describes."""
    kind = element.read("name!", "type!")["type"]
    if kind not in COMPONENTS:
        element.fail(f"no component of type {kind!r}; there are {', '.join(COMPONENTS)}")
    element.parts(*_READERS)
    parts = element.parts_by("name", *_READERS)
    parameters = {name: _READERS[part.tag](part) for name, part in parts.items()}
    with element.locate_errors():
        return COMPONENTS[kind].from_dict(parameters)


def component_element(name: str, component: Component) -> Element:
    """Return a component as an element; ValueError if its type is not registered."""
    kind = component.kind
    if COMPONENTS.get(kind) is not type(component):
        raise ValueError(
            f"the component {name!r} must be of a registered type to be written, "
            f"got {type(component).__name__}; there are {', '.join(COMPONENTS)}"
        )
    element = make_element("component", name=name, type=kind)
    for parameter, value in component.to_dict().items():
        if value is not None:
            element.children.append(_value_element(f"{kind} {name!r}", parameter, value))
    return element


def _value_element(owner: str, name: str, value: Any) -> Element:
    """Return a parameter of a component; `owner` is the component, for errors."""
    match value:
        case Curve():
            parts = [make_element(axis, format_numbers(getattr(value, axis))) for axis in "xy"]
            return make_element("curve", *parts, name=name, **_scalar_texts(value))
        case Region():
            other = {} if value.name == DEFAULT_SHAPE else {"type": value.name}
            names = [item.name for item in fields(value)]  # type: ignore[arg-type]
            arrays = [_value_element(owner, item, np.array(getattr(value, item))) for item in names]
            return make_element("cone", *arrays, name=name, **other)
        case Mapping():
            curves = [_value_element(owner, item, curve) for item, curve in value.items()]
            return make_element("curves", *curves, name=name)
        case str():
            return make_element("text", value, name=name)
        case int() | float():
            return make_element("number", repr(float(value)), name=name)
        case tuple() if all(isinstance(item, str) for item in value):
            return make_element("texts", " ".join(value), name=name)
        case np.ndarray() | tuple() | list():
            array = np.asarray(value, dtype=np.float64)
            shape = " ".join(map(str, array.shape))
            return make_element("numbers", format_numbers(array), name=name, shape=shape)
    raise ValueError(f"{owner}: {name} cannot be written as XML, got {value!r:.60}")


def _text(element: Element) -> str:
    element.read("name!")
    if element.children:
        element.fail(f"<{element.tag}> may hold text alone, got <{element.children[0].tag}>")
    return element.text.strip()


def _numbers(element: Element) -> Any:
    shape = element.read("name!", "shape!")["shape"].split()
    if not all(size.isascii() and size.isdigit() and len(size) < 10 for size in shape):
        element.fail(f"expected a shape such as '2 3', got {element.attributes['shape']!r}")
    if element.children:
        element.fail(f"<numbers> may hold numbers alone, got <{element.children[0].tag}>")
    return element.numbers(element.text, tuple(map(int, shape)))


def _curve(element: Element) -> Curve:
    scalars = _read_scalars(element, Curve, "kind")
    knots: dict[str, Any] = {}
    for part in element.parts("x", "y"):
        knots[part.tag] = part.numbers(part.text)
    if len(knots) < 2 or len(element.children) > 2:
        element.fail(f"a curve must have <x> and <y> once, got {len(element.children)} elements")
    with element.locate_errors():
        return Curve(**knots, **scalars)


def _curves(element: Element) -> dict[str, Curve]:
    element.read("name!")
    element.parts("curve")
    return {name: _curve(part) for name, part in element.parts_by("name", "curve").items()}


def _shape(element: Element) -> Region:
    kind = element.read("name!", "type").get("type", DEFAULT_SHAPE)
    if kind not in SHAPES:
        element.fail(f"no shape of type {kind!r}; there are {', '.join(SHAPES)}")
    parts: dict[str, Any] = {}
    for part in element.parts("numbers"):
        array = _numbers(part)
        parts[part.attributes["name"]] = array if array.shape else float(array)
    with element.locate_errors():
        try:
            return SHAPES[kind](**parts)
        except TypeError as error:
            raise ValueError(f"a cone has points, low, high and so on: {error}") from error


_READERS: dict[str, Callable[[Element], Any]] = {
    "number": lambda element: element.number(_text(element)),
    "numbers": _numbers,
    "text": _text,
    "texts": lambda element: tuple(_text(element).split()),
    "curve": _curve,
    "curves": _curves,
    "cone": _shape,
}


def is_figure(path: str | PathLike[str]) -> bool:
    """Return True if the first element of an XML file is <figure>."""
    first = re.search(rb"<(\w+)", re.sub(rb"<!--.*?-->", b"", read_file(path), flags=re.DOTALL))
    return first is not None and first[1] == b"figure"


def load_figure(path: str | PathLike[str]) -> Figure:
    """Return the figure in the XML file at `path`."""
    return parse_figure(str(path), read_file(_check_suffix(path)))


def parse_figure(path: str, content: bytes) -> Figure:
    """Return the figure in XML; ValueError names `path` and the line."""
    root = _root(path, content, "figure")
    attributes = root.read("version!", "name", "up", "unit")
    root.parts("segment", "joint-set")
    elements = root.parts_by("name", "joint-set")
    sets = {name: _joint_set(element) for name, element in elements.items()}
    skeleton = _skeleton(root, root.parts_by("name", "segment"))
    with root.locate_errors(elements):
        return Figure(skeleton, sets, attributes.get("name", ""))


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` to the XML file at `path`, atomically."""
    _save(figure_element(figure), path)


def figure_text(figure: Figure) -> str:
    """Return `figure` as XML."""
    return format_element(figure_element(figure))


def figure_element(figure: Figure) -> Element:
    """Return `figure` as an XML element."""
    skeleton = figure.skeleton
    unit = repr(skeleton.unit) if skeleton.unit else ""
    attributes = {"name": figure.name, "up": skeleton.up, "unit": unit}
    root = make_element("figure", version=VERSION, **{k: v for k, v in attributes.items() if v})
    for joint, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        above = {"parent": skeleton.names[parent]} if parent >= 0 else {}
        offset = format_numbers(skeleton.offsets[joint])
        ends = [
            make_element("end", offset=format_numbers(end))
            for end in skeleton.end_offsets[skeleton.end_parents == joint]
        ]
        channels = " ".join(skeleton.channels[joint])
        root.children.append(
            make_element("segment", *ends, name=name, **above, offset=offset, channels=channels)
        )
    for name, joint_set in figure.joint_sets.items():
        elements = _network_elements(joint_set.network, joint_set)
        root.children.append(make_element("joint-set", *elements, name=name))
    return root


def load_network(path: str | PathLike[str]) -> Network:
    """Return the network in the XML file at `path`."""
    root = _root(str(path), read_file(_check_suffix(path)), "network")
    root.read("version!")
    return _network(root)[0]


def save_network(network: Network, path: str | PathLike[str]) -> None:
    """Write `network` to the XML file at `path`, atomically."""
    _save(make_element("network", *_network_elements(network, None), version=VERSION), path)


def figure_schema() -> str:
    """Return the XML Schema of figures and networks."""
    return Path(__file__).with_name("figure.xsd").read_text(encoding="utf-8")


def _root(path: str, content: bytes, tag: str) -> Element:
    root = parse_xml(path, content)
    if root.tag != tag:
        root.fail(f"expected a <{tag}>, got <{root.tag}>")
    version = root.attributes.get("version", VERSION)
    if version != VERSION:
        root.fail(f"this Synovia reads version {VERSION} of the format, got {version!r}")
    return root


def _save(root: Element, path: str | PathLike[str]) -> None:
    target = _check_suffix(path)
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n{format_element(root)}'.encode()
    parse_xml(str(path), content)  # what could not be read is not written
    atomic_write(target, content)


def _check_suffix(path: str | PathLike[str]) -> Path:
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise ValueError(f"{path}: the suffix of a figure must be {SUFFIX}, got {path.suffix!r}")
    return path


def _skeleton(root: Element, segments: dict[str, Element]) -> Skeleton:
    if not segments:
        root.fail("a figure must have at least one <segment>, got none")
    indices = {name: index for index, name in enumerate(segments)}
    parents, offsets, channels, end_parents, end_offsets = [], [], [], [], []
    for index, segment in enumerate(segments.values()):
        attributes = segment.read("name!", "parent", "offset!", "channels")
        parent = attributes.get("parent")
        if parent is not None and not indices.get(parent, index) < index:
            segment.fail(
                f"a segment must come after its parent, got {parent!r} as that of "
                f"{attributes['name']!r}"
            )
        parents.append(-1 if parent is None else indices[parent])
        offsets.append(segment.numbers(attributes["offset"], (3,)))
        channels.append(tuple(attributes.get("channels", "").split()))
        for end in segment.parts("end"):
            end_parents.append(index)
            end_offsets.append(end.numbers(end.read("offset!")["offset"], (3,)))
    has_channels = any("channels" in segment.attributes for segment in segments.values())
    with next(iter(segments.values())).locate_errors():
        skeleton = Skeleton(
            tuple(indices),
            np.array(parents),
            np.array(offsets),
            tuple(channels) if has_channels else (),
            np.array(end_parents, np.int64),
            np.array(end_offsets).reshape(-1, 3),
        )
        check_skeleton(skeleton, MAX_NUMBER)
    unit = root.number(root.attributes.get("unit", "0"))
    world: dict[str, Any] = {"up": root.attributes.get("up", ""), "unit": unit}
    with root.locate_errors():
        return replace(skeleton, **world)


def _network(element: Element) -> tuple[Network, list[Element]]:
    """Return the network in an element, and its <control> elements."""
    element.parts("control", "component", "wire", "output")
    controls, components, outputs = (
        element.parts_by("name", tag) for tag in ("control", "component", "output")
    )
    wires = element.parts_by("to", "wire")
    for control in controls.values():
        control.read("name!", *_scalar_fields(Control))
    components_by_name = {name: read_component(part) for name, part in components.items()}
    with element.locate_errors(wires, outputs):
        network = Network(
            components_by_name,
            {to: wire.read("from!", "to!")["from"] for to, wire in wires.items()},
            {name: output.read("name!", "from!")["from"] for name, output in outputs.items()},
            tuple(controls),
        )
    return network, list(controls.values())


def _joint_set(element: Element) -> JointSet:
    network, controls = _network(element)
    limits = {}
    for control in controls:
        scalars = _read_scalars(control, Control)
        with control.locate_errors():
            limits[control.attributes["name"]] = Control(**scalars)
    with element.locate_errors():
        return JointSet(network, limits)


def _network_elements(network: Network, joint_set: JointSet | None) -> list[Element]:
    """Return the elements of a network; with a joint set, its controls have their ranges."""
    elements = []
    for name in network.controls:
        ranges = {} if joint_set is None else _scalar_texts(joint_set.controls[name])
        elements.append(make_element("control", name=name, **ranges))
    elements += [component_element(*item) for item in network.components.items()]
    for to, source in network.wires.items():
        elements.append(make_element("wire", **{"from": source, "to": to}))
    for name, source in network.outputs.items():
        elements.append(make_element("output", name=name, **{"from": source}))
    return elements
