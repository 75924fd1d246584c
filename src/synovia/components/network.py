"""Network: components wired into one function, a few controls in, many transforms out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from .block import LANES, SHAPE, WIDTH, Kind, Step, columns, evaluated, unpacked
from .component import Component, check_names
from .values import batched
from .wiring import ordered, sources_of, unknown


@dataclass(frozen=True, eq=False)
class Plan:
    """A network ready to run: steps in order, and where values stand in the work space."""

    steps: tuple[Step, ...]
    places: Mapping[str, int]
    rows: int


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
                raise ValueError(f"the output {name!r}: {unknown('source', source, sources)}")
        order = ordered(self.components, self.wires)
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

    @cached_property
    def plan(self) -> Plan:
        """The network as steps over a work space of its own."""
        return self.planned(0)

    def planned(self, first: int) -> Plan:
        """Return the network as steps over the rows from `first` on, a place for each value."""
        places: dict[str, int] = {}
        rows = first
        for source, kind in self._sources.items():
            places[source] = rows * LANES
            rows += WIDTH[kind]
        steps: list[Step] = []
        numbers: list[float] = []
        constant: list[Ints] = []
        for name in self._order:
            component = self.components[name]
            takes = []
            for port, kind in component.inputs.items():
                target = f"{name}.{port}"
                if target in self.wires:
                    takes.append(places[self.wires[target]])
                    continue
                takes.append(rows * LANES)
                constant.append(columns(rows * LANES, kind))
                numbers.extend(_flat(component.defaults[port], kind))
                rows += WIDTH[kind]
            gives = tuple(places[f"{name}.{port}"] for port in component.outputs)
            steps.append(component.bind(tuple(takes), gives))
        if numbers:
            fill = kernels.transforms.fill
            steps.insert(0, partial(fill, np.array(numbers), np.concatenate(constant)))
        return Plan(tuple(steps), places, rows)

    def places(self, sources: Sequence[str]) -> Ints:
        """Return where the rows of these controls or outputs stand, side by side."""
        found = [columns(self.plan.places[name], self._sources[name]) for name in sources]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def __call__(self, controls: Mapping[str, Any]) -> dict[str, Floats]:
        """Return every output by name, (..., shape), for all controls, which broadcast."""
        table, batch = self._table(controls)
        out = self.rows(table)
        return unpacked(out.reshape(*batch, out.shape[-1]), self.results)

    def rows(self, table: Floats) -> Floats:
        """Return the outputs (n, width) for rows of controls (n, width), matrices as 12 numbers."""
        plan, gives = self.plan, self.places(tuple(self.outputs.values()))
        return evaluated(plan.steps, plan.rows, table, self.places(self.controls), gives)

    def jacobian(self, controls: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
        """Return the derivative of each output by each control, (..., output's, control's shape).

        The chain rule over the components: analytic where a component has its own derivatives,
        central differences of that component alone where it has none.
        """
        from .derivatives import tangents

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

    def _table(self, controls: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
        for name in controls:
            if name not in self.controls:
                raise ValueError(unknown("control", name, self.controls))
        missing = [name for name in self.controls if name not in controls]
        if missing:
            raise ValueError(f"the control {missing[0]!r} must be given, got none")
        return batched({name: controls[name] for name in self.controls}, self.kinds)


def _flat(value: Floats, kind: Kind) -> list[float]:
    array = np.asarray(value, dtype=np.float64)
    flat: list[float] = (array[:3] if kind == "matrix" else array).ravel().tolist()
    return flat
