"""Network: components wired into one function, a few controls in, many transforms out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..arrays import Floats, Vectors
from .block import SHAPE, WIDTH, Kind, evaluated, unpacked
from .component import Component, check_names
from .planning import Plan, planned
from .values import batched
from .wiring import ordered, sources_of, unknown


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
        order = ordered(self.components, self.wires, self.outputs.values())
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
        return planned(self, tuple(self.outputs.values()))

    @cached_property
    def whole_plan(self) -> Plan:
        """The steps with a place for every value, to look at them all afterwards."""
        return planned(self, self._sources)

    def __call__(self, controls: Mapping[str, Any]) -> dict[str, Floats]:
        """Return every output by name, (..., shape), for all controls, which broadcast."""
        table, batch = self._table(controls)
        out = self.rows(table)
        return unpacked(out.reshape(*batch, out.shape[-1]), self.results)

    def rows(self, table: Floats) -> Floats:
        """Return the outputs (n, width) for rows of controls (n, width), matrices as 12 numbers."""
        plan = self._plan
        takes = plan.columns(self.controls, self._sources)
        gives = plan.columns(self.outputs.values(), self._sources)
        return evaluated(plan.steps, plan.rows, table, takes, gives)

    def jacobian(self, controls: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
        """Return the derivative of each output by each control, (..., output's, control's shape).

        The chain rule over the components: analytic where a component has its own derivatives,
        central differences of that component alone where it has none. Of a matrix that controls,
        the upper rows (3, 4) count.
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

    def mirrored(self, normal: Vectors, names: Mapping[str, str] | None = None) -> Self:
        """Return the network of the other side, mirrored in the plane across `normal`.

        The same controls give mirrored transforms. `names` are new names for outputs, by the old.
        """
        parts = {name: each.mirrored(normal) for name, each in self.components.items()}
        for name in names or {}:
            if name not in self.outputs:
                raise ValueError(unknown("output", name, tuple(self.outputs)))
        outputs = {(names or {}).get(name, name): source for name, source in self.outputs.items()}
        return replace(self, components=parts, outputs=outputs)

    def _table(self, controls: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
        for name in controls:
            if name not in self.controls:
                raise ValueError(unknown("control", name, self.controls))
        missing = [name for name in self.controls if name not in controls]
        if missing:
            raise ValueError(f"the control {missing[0]!r} must be given, got none")
        return batched({name: controls[name] for name in self.controls}, self.kinds)
