"""Network: components wired into one function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Vectors
from ..text import did_you_mean
from .component import Component, check_names, stack_values, unpack_values
from .least_squares import difference_quotients
from .program import SHAPE, WIDTH, Instruction, Kind, Program, Step, value_columns

DIFFERENCE_STEP = 1e-6  # of central differences, relative above 1; their errors are some 1e-10


def sources_of(components: Mapping[str, Component], wires: Mapping[str, str]) -> dict[str, Kind]:
    """Return the type of everything a wire may come from, components' outputs and controls.

    Raises ValueError for unknown inputs and outputs, wires between different types, and required
    inputs without a wire. A source without a dot is a control, of the type of its inputs.
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
    first_target: dict[str, str] = {}
    for target, source in wires.items():
        if target not in inputs:
            raise ValueError(f"no input {target!r}; {_hint(target, inputs)}")
        if not isinstance(source, str) or not source:
            raise ValueError(f"the wire to {target!r} must name its source, got {source!r}")
        if "." not in source:
            check_names("a network's controls", (source,))
            sources.setdefault(source, inputs[target])
            first_target.setdefault(source, target)
        elif source not in sources:
            raise ValueError(f"no output {source!r} for {target!r}; {_hint(source, sources)}")
        if sources[source] != inputs[target]:
            also = f", as {first_target[source]!r} is" if source in first_target else ""
            raise ValueError(
                f"{target!r} is a {inputs[target]}, and cannot be wired to {source!r}, "
                f"a {sources[source]}{also}"
            )
    for target in inputs:
        component, port = target.split(".")
        if target not in wires and port not in components[component].defaults:
            raise ValueError(f"the input {target!r} must be wired, got nothing")
    return sources


def computation_order(
    components: Mapping[str, Component], wires: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the components' names in an order in which each follows those that it reads from.

    Raises ValueError for a cycle.
    """
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(components, ()))
    for target, source in wires.items():
        if "." in source:
            sorter.add(target.split(".")[0], source.split(".")[0])
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        cycle = " → ".join(error.args[1])
        raise ValueError(f"a network must not have a cycle, got {cycle}") from None


def unknown_name(what: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return an error message about an unknown name, with similar ones."""
    return f"no {what} {name!r}; {_hint(name, known)}"


def _hint(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return a sentence with similar names and all known ones."""
    return f"{did_you_mean(name, known)}there are {', '.join(known) or 'none'}"


def plan_network(
    network: Network, first: int = 0, controls: Mapping[str, int] | None = None
) -> tuple[list[Step], dict[str, int], int]:
    """Return the steps of a network, the offsets of its sources, and the end of its work space.

    Its values are in a work space from `first` on. `controls` has the offsets of controls that are
    there already.
    """
    offsets, end = dict(controls or {}), first
    for source, kind in network.sources.items():
        if source not in offsets:
            offsets[source] = end
            end += WIDTH[kind]
    steps: list[Step] = []
    for name in network.order:
        component = network.components[name]
        read: list[int] = []
        for port, kind in component.inputs.items():
            if f"{name}.{port}" in network.wires:
                read.append(offsets[network.wires[f"{name}.{port}"]])
                continue
            value = np.asarray(component.defaults[port], dtype=np.float64)
            numbers = (value[:3] if kind == "matrix" else value).ravel()
            read.append(end)
            end += WIDTH[kind]
            fill = (value_columns(read[-1], kind),)
            steps.append(Instruction(kernels.figure.FILL, (numbers,), fill))
        written = [offsets[f"{name}.{port}"] for port in component.outputs]
        steps.append(component.bind(tuple(read), tuple(written)))
    return steps, offsets, end


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
    sources: Mapping[str, Kind] = field(init=False, repr=False)
    """The types of all that a wire may come from: components' outputs, then controls."""
    order: tuple[str, ...] = field(init=False, repr=False)
    """The components' names in the order in which they are computed."""

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
        order = computation_order(self.components, self.wires)
        for name, value in (
            ("components", dict(self.components)),
            ("wires", dict(self.wires)),
            ("outputs", dict(self.outputs)),
            ("controls", controls),
            ("sources", sources),
            ("order", order),
        ):
            object.__setattr__(self, name, value)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The types of the controls, by name."""
        return {name: self.sources[name] for name in self.controls}

    @property
    def results(self) -> dict[str, Kind]:
        """The types of the outputs, by name."""
        return {name: self.sources[source] for name, source in self.outputs.items()}

    @property
    def gaps(self) -> tuple[str, ...]:
        """The outputs "component.output" with the errors of components; see `FigurePose`."""
        return tuple(
            f"{name}.{gap}" for name, component in self.components.items() for gap in component.gaps
        )

    @cached_property
    def _program(self) -> Program:
        steps, offsets, end = plan_network(self)
        read, written = (
            [row for name in names for row in value_columns(offsets[name], self.sources[name])]
            for names in (self.controls, self.outputs.values())
        )
        load = Instruction(kernels.figure.LOAD, lists=(read,))
        store = Instruction(kernels.figure.STORE, lists=(written,), offsets=(0,))
        return Program((load, *steps, store), end, stored=len(written))

    def __call__(self, controls: Mapping[str, Any]) -> dict[str, Floats]:
        """Return every output by name, (..., shape), for all controls, which broadcast."""
        table, batch = self._table(controls)
        out = self.rows(table)
        return unpack_values(out.reshape(*batch, out.shape[-1]), self.results)

    def rows(self, table: Floats) -> Floats:
        """Return outputs (..., width) for rows of controls (..., width), matrices as 12 numbers."""
        flat = table.reshape(math.prod(table.shape[:-1]), table.shape[-1])
        stored = self._program.run(flat)[2]
        return stored.reshape(*table.shape[:-1], stored.shape[-1])

    def jacobian(self, controls: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
        """Return the derivative of each output by each control, (..., output's, control's shape).

        By central differences. A matrix among the controls counts by its upper rows (3, 4).
        """
        table, batch = self._table(controls)
        steps = DIFFERENCE_STEP * np.maximum(1.0, np.abs(table))
        ahead, behind = (difference_quotients(self.rows, table, h) for h in (steps, -steps))
        rates = np.moveaxis(0.5 * (ahead + behind), 0, -1)
        derivatives: dict[str, dict[str, Floats]] = {}
        row = 0
        for name, result in self.results.items():
            derivatives[name], column = {}, 0
            for control, kind in self.kinds.items():
                part = rates[:, row : row + WIDTH[result], column : column + WIDTH[kind]]
                column += WIDTH[kind]
                if result == "matrix":
                    part = np.concatenate([part, np.zeros((len(part), 4, part.shape[-1]))], axis=1)
                shape = (*SHAPE[result], *(SHAPE[kind] if kind != "matrix" else (3, 4)))
                derivatives[name][control] = part.reshape(*batch, *shape)
            row += WIDTH[result]
        return derivatives

    def parameter(self, name: str) -> Floats:
        """Return the values of a parameter, by the name "component.parameter"."""
        component, _, field = name.partition(".")
        if component not in self.components:
            raise ValueError(unknown_name("component", component, self.components))
        values = self.components[component].parameters()
        if field not in values:
            raise ValueError(f"{component!r} has {unknown_name('parameter', field, values)}")
        return values[field]

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        """Return the network with other values of parameters, by "component.parameter"."""
        changes: dict[str, dict[str, Floats]] = {}
        for name, value in values.items():
            component, _, field = name.partition(".")
            changes.setdefault(component, {})[field] = value
        changed = {
            name: self.components[name].with_parameters(part) for name, part in changes.items()
        }
        return replace(self, components={**self.components, **changed})

    def part(self, outputs: Iterable[str]) -> Network:
        """Return the network of some of its outputs, with only the components that they need.

        Controls are only those that these components read.
        """
        part_outputs = {name: self.outputs[name] for name in outputs}
        needed, pending = set[str](), [source.split(".")[0] for source in part_outputs.values()]
        while pending:
            name = pending.pop()
            if name in needed or name not in self.components:
                continue
            needed.add(name)
            inputs = (f"{name}.{port}" for port in self.components[name].inputs)
            sources = [self.wires[target] for target in inputs if target in self.wires]
            pending += [source.split(".")[0] for source in sources if "." in source]
        return Network(
            {name: part for name, part in self.components.items() if name in needed},
            {to: source for to, source in self.wires.items() if to.split(".")[0] in needed},
            part_outputs,
        )

    def mirror(self, normal: Vectors, names: Mapping[str, str] | None = None) -> Self:
        """Return the network of the other side, mirrored in the plane across `normal`.

        The same controls give mirrored transforms. `names` are new names for outputs, by the old.
        """
        parts = {name: part.mirror(normal) for name, part in self.components.items()}
        for name in names or {}:
            if name not in self.outputs:
                raise ValueError(unknown_name("output", name, tuple(self.outputs)))
        outputs = {(names or {}).get(name, name): source for name, source in self.outputs.items()}
        return replace(self, components=parts, outputs=outputs)

    def _table(self, controls: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
        """Return checked controls as rows (n, width), and the shape of their batch."""
        for name in controls:
            if name not in self.controls:
                raise ValueError(unknown_name("control", name, self.controls))
        missing = [name for name in self.controls if name not in controls]
        if missing:
            raise ValueError(f"the control {missing[0]!r} must be given, got none")
        return stack_values({name: controls[name] for name in self.controls}, self.kinds)
