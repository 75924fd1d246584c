"""Where a network's values stand in the work space, and the steps that compute them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from .block import LANES, WIDTH, Kind, Step, columns

if TYPE_CHECKING:
    from .network import Network

SPARED = -1  # the place of an output that nothing reads, if its component can do without


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps in order, the places of values that can be read afterwards, and the rows needed."""

    steps: tuple[Step, ...]
    places: Mapping[str, int]
    rows: int

    def columns(self, sources: Iterable[str], kinds: Mapping[str, Kind]) -> Ints:
        """Return where the rows of these values stand, side by side."""
        found = [columns(self.places[name], kinds[name]) for name in sources]
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def planned(
    network: Network, kept: Iterable[str], first: int = 0, given: Mapping[str, int] | None = None
) -> Plan:
    """Return the network as steps over the rows from `first` on.

    Rows are used again when the last component that reads them has run, except those of the
    sources `kept`; so a large network stays in the caches. Controls are where `given` says, or get
    rows of their own.
    """
    rooms = _Rooms(first)
    places = dict(given) if given else {}
    for name, kind in network.kinds.items():
        if name not in places:
            places[name] = rooms.take(kind)
    feeds = {
        f"{name}.{port}": network.wires.get(f"{name}.{port}", f"{name}.{port} unwired")
        for name in network.order
        for port in network.components[name].inputs
    }
    constants = _constants(network, rooms, places)
    last = {source: target.split(".")[0] for target, source in feeds.items()}
    forever = {*kept, *network.controls, *constants}
    steps = [_filling(constants, places)] if constants else []
    for name in network.order:
        component = network.components[name]
        takes = [feeds[f"{name}.{port}"] for port in component.inputs]
        gives = [f"{name}.{port}" for port in component.outputs]
        for source in gives:
            unread = source not in last and source not in forever
            spared = unread and source.split(".")[1] in component.spares
            places[source] = SPARED if spared else rooms.take(network.sources[source])
        inputs, outputs = ([places[source] for source in each] for each in (takes, gives))
        steps.append(component.bind(tuple(inputs), tuple(outputs)))
        for source in dict.fromkeys((*takes, *gives)):
            if source not in forever and last.get(source, name) == name:
                rooms.leave(places.pop(source), network.sources[source])
    return Plan(tuple(steps), places, rooms.rows)


def _constants(network: Network, rooms: _Rooms, places: dict[str, int]) -> dict[str, Floats]:
    """Return the numbers of all inputs that nothing is wired to, and give them places."""
    constants: dict[str, Floats] = {}
    for name in network.order:
        component = network.components[name]
        for port, kind in component.inputs.items():
            if f"{name}.{port}" not in network.wires:
                value = np.asarray(component.defaults[port], dtype=np.float64)
                source = f"{name}.{port} unwired"
                constants[source] = (value[:3] if kind == "matrix" else value).ravel()
                places[source] = rooms.take(kind)
    return constants


class _Rooms:
    """Rows of the work space that are free to be written."""

    def __init__(self, first: int) -> None:
        self.rows = first
        self.free: dict[int, list[int]] = defaultdict(list)

    def take(self, kind: Kind) -> int:
        """Return a place for a value of this type."""
        width = WIDTH[kind]
        if self.free[width]:
            return self.free[width].pop()
        self.rows += width
        return (self.rows - width) * LANES

    def leave(self, place: int, kind: Kind) -> None:
        """Give a place back, if it is one."""
        if place != SPARED:
            self.free[WIDTH[kind]].append(place)


def _filling(constants: Mapping[str, Floats], places: Mapping[str, int]) -> Step:
    """Return the step that writes the constants."""
    numbers = np.concatenate(list(constants.values()))
    rows = [places[name] + LANES * np.arange(len(each)) for name, each in constants.items()]
    return partial(kernels.transforms.fill, numbers, np.concatenate(rows))
