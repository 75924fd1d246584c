"""Network: components wired into one function, with its plan of steps and its derivatives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Vectors
from .component import (
    LANES,
    SHAPE,
    WIDTH,
    Component,
    Kind,
    Step,
    check_names,
    columns,
    evaluate_steps,
    stack_values,
    unpack_values,
)

# What a network's wires must be: known names, equal types, nothing missing, no cycle.


def sources_of(components: Mapping[str, Component], wires: Mapping[str, str]) -> dict[str, Kind]:
    """Return the type of everything a wire may come from, components' outputs and controls.

    Raises ValueError for a wire to or from what is not there, or between different types. A
    source without a dot is a control, and has the type of the inputs that it goes to.
    """
    inputs = {
        f"{name}.{port}": kind
        for name, component in components.items()
        for port, kind in component.inputs.items()
    }
    sources: dict[str, Kind] = {
        f"{name}.{port}": kind
        for name, component in components.items()
        for port, kind in component.outputs.items()
    }
    fed: dict[str, str] = {}
    for target, source in wires.items():
        if target not in inputs:
            raise ValueError(f"no input {target!r}; {_hint(target, inputs)}")
        if not isinstance(source, str) or not source:
            raise ValueError(f"the wire to {target!r} must name its source, got {source!r}")
        if "." not in source:
            check_names("a network's controls", (source,))
            sources.setdefault(source, inputs[target])
            fed.setdefault(source, target)
        elif source not in sources:
            raise ValueError(f"no output {source!r} for {target!r}; {_hint(source, sources)}")
        if sources[source] != inputs[target]:
            also = f", as {fed[source]!r} is" if source in fed else ""
            raise ValueError(
                f"{target!r} is a {inputs[target]}, and cannot be wired to {source!r}, "
                f"a {sources[source]}{also}"
            )
    for target in inputs:
        component, port = target.split(".")
        if target not in wires and port not in components[component].defaults:
            raise ValueError(f"the input {target!r} must be wired, got nothing")
    return sources


def topological_order(
    components: Mapping[str, Component], wires: Mapping[str, str], results: Iterable[str]
) -> tuple[str, ...]:
    """Return the components' names, each after all that it takes from; refuse a cycle.

    One result after the other, so that what is between is soon done with; what none needs, last.
    """
    needs: dict[str, list[str]] = {name: [] for name in components}
    for target, source in wires.items():
        if "." in source:
            needs[target.split(".")[0]].append(source.split(".")[0])
    done: dict[str, None] = {}
    wanted = [source.split(".")[0] for source in results if "." in source]
    for first in (*wanted, *components):
        path, pending = [first], [iter(needs[first])]
        while path and first not in done:
            before = next((name for name in pending[-1] if name not in done), None)
            if before is None:
                done[path.pop()] = None
                pending.pop()
            elif before in path:
                cycle = [*path[path.index(before) :], before]
                raise ValueError(
                    f"a network must not have a cycle, got {' → '.join(reversed(cycle))}"
                )
            else:
                path.append(before)
                pending.append(iter(needs[before]))
    return tuple(done)


def unknown_name(what: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return the words about a name that is not among those that exist."""
    return f"no {what} {name!r}; {_hint(name, known)}"


def _hint(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    close = get_close_matches(str(name), list(known))
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}there are {', '.join(known) or 'none'}"


# Where a network's values stand in the work space, and the steps that compute them.


UNUSED = -1  # the place of an output that nothing reads, if its component can do without


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


def plan_network(
    network: Network, kept: Iterable[str], first: int = 0, given: Mapping[str, int] | None = None
) -> Plan:
    """Return the network as steps over the rows from `first` on.

    Rows are used again when the last component that reads them has run, except those of the
    sources `kept`; so a large network stays in the caches. Controls are where `given` says, or get
    rows of their own.
    """
    pool = _RowPool(first)
    places = dict(given) if given else {}
    for name, kind in network.kinds.items():
        if name not in places:
            places[name] = pool.take(kind)
    feeds = {
        f"{name}.{port}": network.wires.get(f"{name}.{port}", f"{name}.{port} unwired")
        for name in network.order
        for port in network.components[name].inputs
    }
    constants = _constants(network, pool, places)
    last = {source: target.split(".")[0] for target, source in feeds.items()}
    permanent = {*kept, *network.controls, *constants}
    steps = [_fill_step(constants, places)] if constants else []
    for name in network.order:
        component = network.components[name]
        read = [feeds[f"{name}.{port}"] for port in component.inputs]
        written = [f"{name}.{port}" for port in component.outputs]
        for source in written:
            unread = source not in last and source not in permanent
            unused = unread and source.split(".")[1] in component.optional_outputs
            places[source] = UNUSED if unused else pool.take(network.sources[source])
        inputs, outputs = ([places[source] for source in each] for each in (read, written))
        steps.append(component.bind(tuple(inputs), tuple(outputs)))
        for source in dict.fromkeys((*read, *written)):
            if source not in permanent and last.get(source, name) == name:
                pool.release(places.pop(source), network.sources[source])
    return Plan(tuple(steps), places, pool.rows)


def _constants(network: Network, pool: _RowPool, places: dict[str, int]) -> dict[str, Floats]:
    """Return the numbers of all inputs that nothing is wired to, and give them places."""
    constants: dict[str, Floats] = {}
    for name in network.order:
        component = network.components[name]
        for port, kind in component.inputs.items():
            if f"{name}.{port}" not in network.wires:
                value = np.asarray(component.defaults[port], dtype=np.float64)
                source = f"{name}.{port} unwired"
                constants[source] = (value[:3] if kind == "matrix" else value).ravel()
                places[source] = pool.take(kind)
    return constants


class _RowPool:
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

    def release(self, place: int, kind: Kind) -> None:
        """Give a place back, if it is one."""
        if place != UNUSED:
            self.free[WIDTH[kind]].append(place)


def _fill_step(constants: Mapping[str, Floats], places: Mapping[str, int]) -> Step:
    """Return the step that writes the constants."""
    numbers = np.concatenate(list(constants.values()))
    rows = [places[name] + LANES * np.arange(len(each)) for name, each in constants.items()]
    return partial(kernels.transforms.fill, numbers, np.concatenate(rows))


# The chain rule through a network.


def tangents(network: Network, table: Floats) -> dict[str, Floats]:
    """Return how every source changes with the controls, (n, its width, all controls' width).

    `table` has the controls side by side, (n, width).
    """
    plan = network.whole_plan
    everything = LANES * np.arange(plan.rows)
    inputs_at = plan.columns(network.controls, network.sources)
    values = evaluate_steps(plan.steps, plan.rows, table, inputs_at, everything)
    found: dict[str, Floats] = {}
    first, total = 0, table.shape[1]
    for control, kind in network.kinds.items():
        share = np.eye(total)[first : first + WIDTH[kind]]
        found[control] = np.broadcast_to(share, (len(table), *share.shape))
        first += WIDTH[kind]
    for name in network.order:
        component = network.components[name]
        given: list[Floats] = []
        moves: list[Floats] = []
        for port, kind in component.inputs.items():
            source = network.wires.get(f"{name}.{port}")
            width = WIDTH[kind]
            if source is None:
                constant = np.asarray(component.defaults[port], dtype=np.float64)
                constant = constant[:3] if kind == "matrix" else constant
                given.append(np.broadcast_to(constant.ravel(), (len(table), width)))
                moves.append(np.zeros((len(table), width, total)))
            else:
                row = plan.places[source] // LANES
                given.append(values[:, row : row + width])
                moves.append(found[source])
        change = component.partials(np.concatenate(given, axis=1)) @ np.concatenate(moves, axis=1)
        first = 0
        for port, kind in component.outputs.items():
            found[f"{name}.{port}"] = change[:, first : first + WIDTH[kind]]
            first += WIDTH[kind]
    return found


# Network: components wired into one function, a few controls in, many transforms out.


@dataclass(frozen=True, eq=False)
class Network:
    """A joint set function: named components, wired, with named results.

    `wires` say where each input comes from: {"turn.angle": "map.c7", "map.value": "flexion"}. A
    source is an output, "component.output", or a control, a name without a dot. `outputs` name
    results and where they come from: in a figure these are segments and their matrices. Controls
    are in the order in which wires name them, or in that of `controls`, which must be all of them.
    """

    components: Mapping[str, Component]
    wires: Mapping[str, str]
    outputs: Mapping[str, str]
    controls: tuple[str, ...] = ()
    _sources: Mapping[str, Kind] = field(init=False, repr=False)
    _order: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_names("a network's components", tuple(self.components))
        for name, component in self.components.items():
            if not isinstance(component, Component):
                raise ValueError(f"the component {name!r} must be one, got {component!r:.80}")
        sources = sources_of(self.components, self.wires)
        used = tuple(dict.fromkeys(source for source in self.wires.values() if "." not in source))
        controls = tuple(self.controls) or used
        if set(controls) != set(used) or len(controls) != len(used):
            raise ValueError(
                f"a network's controls must be those that its wires use, {', '.join(used)}, "
                f"each once, got {', '.join(controls)}"
            )
        check_names("a network's outputs", tuple(self.outputs))
        for name, source in self.outputs.items():
            if source not in sources:
                raise ValueError(f"the output {name!r}: {unknown_name('source', source, sources)}")
        order = topological_order(self.components, self.wires, self.outputs.values())
        for name, value in (
            ("components", dict(self.components)),
            ("wires", dict(self.wires)),
            ("outputs", dict(self.outputs)),
            ("controls", controls),
            ("_sources", sources),
            ("_order", order),
        ):
            object.__setattr__(self, name, value)

    @property
    def order(self) -> tuple[str, ...]:
        """The components' names in the order in which they are computed."""
        return self._order

    @property
    def kinds(self) -> dict[str, Kind]:
        """The types of the controls, by name."""
        return {name: self._sources[name] for name in self.controls}

    @property
    def results(self) -> dict[str, Kind]:
        """The types of the outputs, by name."""
        return {name: self._sources[source] for name, source in self.outputs.items()}

    @property
    def gaps(self) -> tuple[str, ...]:
        """The outputs of components, "component.output", that tell where one could not comply."""
        return tuple(
            f"{name}.{gap}" for name, component in self.components.items() for gap in component.gaps
        )

    @property
    def sources(self) -> Mapping[str, Kind]:
        """The types of all that a wire may come from: components' outputs, then controls."""
        return self._sources

    @cached_property
    def _plan(self) -> Plan:
        return plan_network(self, tuple(self.outputs.values()))

    @cached_property
    def whole_plan(self) -> Plan:
        """The steps with a place for every value, to look at them all afterwards."""
        return plan_network(self, self._sources)

    def __call__(self, controls: Mapping[str, Any]) -> dict[str, Floats]:
        """Return every output by name, (..., shape), for all controls, which broadcast."""
        table, batch = self._table(controls)
        out = self.rows(table)
        return unpack_values(out.reshape(*batch, out.shape[-1]), self.results)

    def rows(self, table: Floats) -> Floats:
        """Return the outputs (n, width) for rows of controls (n, width), matrices as 12 numbers."""
        plan = self._plan
        inputs_at = plan.columns(self.controls, self._sources)
        outputs_at = plan.columns(self.outputs.values(), self._sources)
        return evaluate_steps(plan.steps, plan.rows, table, inputs_at, outputs_at)

    def jacobian(self, controls: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
        """Return the derivative of each output by each control, (..., output's, control's shape).

        The chain rule over the components: analytic where a component has its own derivatives,
        central differences of that component alone where it has none. Of a matrix that controls,
        the upper rows (3, 4) count.
        """
        table, batch = self._table(controls)
        values = tangents(self, table)
        found: dict[str, dict[str, Floats]] = {}
        for name, source in self.outputs.items():
            found[name], first = {}, 0
            for control, kind in self.kinds.items():
                part = values[source][:, :, first : first + WIDTH[kind]]
                first += WIDTH[kind]
                result = self._sources[source]
                if result == "matrix":
                    full = np.zeros((len(part), 4, 4, part.shape[-1]))
                    full[:, :3] = part.reshape(len(part), 3, 4, -1)
                    part = full
                shape = (*SHAPE[result], *(SHAPE[kind] if kind != "matrix" else (3, 4)))
                found[name][control] = part.reshape(*batch, *shape)
        return found

    def with_components(self, components: Mapping[str, Component]) -> Self:
        """Return the network with some components replaced by others of the same ports."""
        return replace(self, components={**self.components, **components})

    def part(self, outputs: Iterable[str]) -> Network:
        """Return the network with some of its outputs, and with no component that they can spare.

        Controls that none of them depends on are gone, too.
        """
        kept = {name: self.outputs[name] for name in outputs}
        needed, pending = set[str](), [source.split(".")[0] for source in kept.values()]
        while pending:
            name = pending.pop()
            if name in needed or name not in self.components:
                continue
            needed.add(name)
            inputs = (f"{name}.{port}" for port in self.components[name].inputs)
            sources = [self.wires[target] for target in inputs if target in self.wires]
            pending += [source.split(".")[0] for source in sources if "." in source]
        return Network(
            {name: each for name, each in self.components.items() if name in needed},
            {to: source for to, source in self.wires.items() if to.split(".")[0] in needed},
            kept,
        )

    def mirror(self, normal: Vectors, names: Mapping[str, str] | None = None) -> Self:
        """Return the network of the other side, mirrored in the plane across `normal`.

        The same controls give mirrored transforms. `names` are new names for outputs, by the old.
        """
        parts = {name: each.mirror(normal) for name, each in self.components.items()}
        for name in names or {}:
            if name not in self.outputs:
                raise ValueError(unknown_name("output", name, tuple(self.outputs)))
        outputs = {(names or {}).get(name, name): source for name, source in self.outputs.items()}
        return replace(self, components=parts, outputs=outputs)

    def _table(self, controls: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
        for name in controls:
            if name not in self.controls:
                raise ValueError(unknown_name("control", name, self.controls))
        missing = [name for name in self.controls if name not in controls]
        if missing:
            raise ValueError(f"the control {missing[0]!r} must be given, got none")
        return stack_values({name: controls[name] for name in self.controls}, self.kinds)
