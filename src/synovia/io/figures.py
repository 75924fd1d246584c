"""Networks and figures as XML, bit for bit; see docs/components.md."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from os import PathLike
from pathlib import Path

import numpy as np

from ..components import Component, Control, Figure, JointSet, Network
from ..skeleton import Skeleton
from .atomic import atomic_write
from .components_xml import component_in, component_out
from .xml import Element, made, parsed, row, written

VERSION = "1"
SUFFIX = ".xml"


def load_figure(path: str | PathLike[str]) -> Figure:
    """Return the figure in the XML file at `path`."""
    root = _root(path, "figure")
    attributes = root.read("version!", "name")
    segments: list[Element] = []
    sets: dict[str, JointSet] = {}
    elements: dict[str, Element] = {}
    for child in root.parts("segment", "joint-set"):
        if child.tag == "segment":
            segments.append(child)
            continue
        name = child.read("name!")["name"]
        if name in sets:
            child.fail(f"joint sets must have different names, got {name!r} twice")
        sets[name] = _joint_set(child)
        elements[name] = child
    skeleton = _skeleton(root, segments)
    with root.blamed(elements):
        return Figure(skeleton, sets, attributes.get("name", ""))


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` to the XML file at `path`, whole or not at all."""
    root = made("figure", version=VERSION, **({"name": figure.name} if figure.name else {}))
    skeleton = figure.skeleton
    for joint, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        above = {"parent": skeleton.names[parent]} if parent >= 0 else {}
        offset, channels = row(skeleton.offsets[joint]), " ".join(skeleton.channels[joint])
        segment = made("segment", name=name, **above, offset=offset, channels=channels)
        ends = skeleton.end_offsets[skeleton.end_parents == joint]
        segment.children = [made("end", offset=row(end)) for end in ends]
        root.children.append(segment)
    for name, joint_set in figure.joint_sets.items():
        element = made("joint-set", name=name)
        element.children = _network_out(joint_set.network, joint_set)
        root.children.append(element)
    _save(root, path)


def load_network(path: str | PathLike[str]) -> Network:
    """Return the network in the XML file at `path`."""
    root = _root(path, "network")
    root.read("version!")
    return _network(root)[0]


def save_network(network: Network, path: str | PathLike[str]) -> None:
    """Write `network` to the XML file at `path`, whole or not at all."""
    root = made("network", version=VERSION)
    root.children = _network_out(network, None)
    _save(root, path)


def figure_schema() -> str:
    """Return the XML Schema of figures and networks."""
    return files("synovia.io").joinpath("figure.xsd").read_text(encoding="utf-8")


def _root(path: str | PathLike[str], tag: str) -> Element:
    root = parsed(str(path), _suffixed(path).read_bytes())
    if root.tag != tag:
        root.fail(f"expected a <{tag}>, got <{root.tag}>")
    version = root.attributes.get("version", VERSION)
    if version != VERSION:
        root.fail(f"this Synovia reads version {VERSION} of the format, got {version!r}")
    return root


def _save(root: Element, path: str | PathLike[str]) -> None:
    target = _suffixed(path)
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n{written(root)}'.encode()
    parsed(str(path), content)  # what could not be read is not written
    atomic_write(target, content)


def _suffixed(path: str | PathLike[str]) -> Path:
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise ValueError(f"{path}: the suffix of a figure must be {SUFFIX}, got {path.suffix!r}")
    return path


def _skeleton(root: Element, segments: list[Element]) -> Skeleton:
    if not segments:
        root.fail("a figure must have at least one <segment>, got none")
    places: dict[str, int] = {}
    parents, offsets, channels, end_parents, end_offsets = [], [], [], [], []
    for number, segment in enumerate(segments):
        attributes = segment.read("name!", "parent", "offset!", "channels")
        name, parent = attributes["name"], attributes.get("parent")
        if name in places:
            segment.fail(f"segments must have different names, got {name!r} twice")
        if parent is not None and parent not in places:
            segment.fail(
                f"a segment must come after its parent, got {parent!r} as that of {name!r}"
            )
        places[name] = number
        parents.append(-1 if parent is None else places[parent])
        offsets.append(segment.numbers(attributes["offset"], (3,)))
        channels.append(tuple(attributes.get("channels", "").split()))
        for end in segment.parts("end"):
            end_parents.append(number)
            end_offsets.append(end.numbers(end.read("offset!")["offset"], (3,)))
    given = any("channels" in segment.attributes for segment in segments)
    with segments[0].blamed():
        return Skeleton(
            tuple(places),
            np.array(parents),
            np.array(offsets),
            tuple(channels) if given else (),
            np.array(end_parents, np.int64),
            np.array(end_offsets).reshape(-1, 3),
        )


def _network(element: Element) -> tuple[Network, list[Element]]:
    """Return the network in an element, and its <control> elements."""
    components: dict[str, Component] = {}
    wires: dict[str, str] = {}
    outputs: dict[str, str] = {}
    controls: dict[str, Element] = {}
    wired: dict[str, Element] = {}
    results: dict[str, Element] = {}
    tables: dict[str, Mapping[str, object]] = {
        "control": controls,
        "component": components,
        "output": outputs,
    }
    for child in element.parts("control", "component", "wire", "output"):
        if child.tag == "wire":
            attributes = child.read("from!", "to!")
            if attributes["to"] in wires:
                child.fail(f"an input must be wired once, got {attributes['to']!r} twice")
            wires[attributes["to"]] = attributes["from"]
            wired[attributes["to"]] = child
            continue
        name = child.attributes.get("name", "")
        if name in tables[child.tag]:
            child.fail(f"<{child.tag}> names must differ, got {name!r} twice")
        if child.tag == "control":
            child.read("name!", "low", "high", "neutral", "unit")
            controls[name] = child
        elif child.tag == "component":
            components[name] = component_in(child)
        else:
            outputs[name] = child.read("name!", "from!")["from"]
            results[name] = child
    with element.blamed(wired, results):
        return Network(components, wires, outputs, tuple(controls)), list(controls.values())


def _joint_set(element: Element) -> JointSet:
    network, controls = _network(element)
    limits = {}
    for control in controls:
        attributes = control.read("name!", "low!", "high!", "neutral", "unit")
        low, high = (control.number(attributes[name]) for name in ("low", "high"))
        neutral = control.number(attributes.get("neutral", "0"))
        with control.blamed():
            unit = attributes.get("unit", "radians")
            limits[attributes["name"]] = Control(low, high, neutral, unit)  # type: ignore[arg-type]
    with element.blamed():
        return JointSet(network, limits)


def _network_out(network: Network, joint_set: JointSet | None) -> list[Element]:
    elements = []
    for name in network.controls:
        limits = None if joint_set is None else joint_set.controls[name]
        ranges = (
            {}
            if limits is None
            else {
                "low": repr(limits.low),
                "high": repr(limits.high),
                "neutral": repr(limits.neutral),
                "unit": limits.unit,
            }
        )
        elements.append(made("control", name=name, **ranges))
    elements += [component_out(name, each) for name, each in network.components.items()]
    for to, source in network.wires.items():
        elements.append(made("wire", **{"from": source, "to": to}))
    for name, source in network.outputs.items():
        elements.append(made("output", name=name, **{"from": source}))
    return elements
