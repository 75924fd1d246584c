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
    places = {} if given is None else dict(given)
    for name, kind in network.kinds.items():
        places.setdefault(name, -1)
        if places[name] < 0:
            places[name] = rooms.take(kind)
    constants: dict[int, Floats] = {}
    wired = {name: [] for name in network.order}  # type: dict[str, list[str]]
    for target, source in network.wires.items():
        wired[target.split(".")[0]].append(source)
    for name in network.order:
        component = network.components[name]
        for port, kind in component.inputs.items():
            if f"{name}.{port}" not in network.wires:
                places[f"{name}.{port}:"] = rooms.take(kind)
                value = np.asarray(component.defaults[port], dtype=np.float64)
                value = value[:3] if kind == "matrix" else value
                constants[places[f"{name}.{port}:"]] = value.ravel()
    last = {source: name for name in network.order for source in wired[name]}
    forever = {*kept, *network.controls}
    steps = [_filling(constants)] if constants else []
    for name in network.order:
        component = network.components[name]
        outputs = {f"{name}.{port}": kind for port, kind in component.outputs.items()}
        read = {source for source in outputs if source in last or source in forever}
        for source, kind in outputs.items():
            spared = component.spares and source not in read and kind == "scalar"
            places[source] = -1 if spared else rooms.take(kind)
        targets = (f"{name}.{port}" for port in component.inputs)
        takes = tuple(places[network.wires.get(target, f"{target}:")] for target in targets)
        steps.append(component.bind(takes, tuple(places[source] for source in outputs)))
        for source in {*wired[name], *outputs}:
            if source not in forever and last.get(source, name) == name:
                place = places.pop(source)
                if place >= 0:
                    rooms.leave(place, network.sources[source])
    return Plan(tuple(steps), places, rooms.rows)


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
        """Give a place back."""
        self.free[WIDTH[kind]].append(place)


def _filling(constants: Mapping[int, Floats]) -> Step:
    """Return the step that writes constants, which inputs have that nothing is wired to."""
    numbers = np.concatenate(list(constants.values()))
    places = [place + LANES * k for place, each in constants.items() for k in range(len(each))]
    return partial(kernels.transforms.fill, numbers, np.array(places, np.int64))
