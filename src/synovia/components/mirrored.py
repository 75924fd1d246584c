"""Mirrored: what any component does, as a mirror shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from ..arrays import Floats, Vectors, own
from ..charts.chart import unit_axis
from .component import ArrayComponent, Component, pack_values, unpack_values
from .program import Kind


@dataclass(frozen=True, eq=False)
class Mirrored(ArrayComponent):
    """The `component`, mirrored in the plane across `normal`: inputs and outputs are reflected.

    This is what `Component.mirror` gives unless a component knows better; scalars stay the same.
    """

    component: Component
    normal: Vectors

    kind: ClassVar[str] = "mirrored"

    def __post_init__(self) -> None:
        if not isinstance(self.component, Component):
            raise ValueError(f"Mirrored.component must be one, got {self.component!r:.80}")
        own(self, normal=(3,))
        object.__setattr__(self, "normal", unit_axis(self.normal, "Mirrored.normal"))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return self.component.inputs

    @property
    def outputs(self) -> Mapping[str, Kind]:
        return self.component.outputs

    @property
    def defaults(self) -> Mapping[str, Floats]:
        given = self.component.defaults
        return {name: self._reflect(each, self.inputs[name]) for name, each in given.items()}

    @property
    def gaps(self) -> tuple[str, ...]:
        return self.component.gaps

    def evaluate(self, *inputs: Floats) -> tuple[Floats, ...]:
        kinds = tuple(self.inputs.values())
        parts = [self._reflect(each, kind) for each, kind in zip(inputs, kinds, strict=True)]
        table = pack_values(parts, kinds, (len(parts[0]),))
        found = unpack_values(self.component.rows(table), self.outputs)
        return tuple(self._reflect(found[name], kind) for name, kind in self.outputs.items())

    def mirror(self, normal: Vectors) -> Component:
        along = np.abs(unit_axis(np.asarray(normal, np.float64), "the mirror's normal"))
        if np.array_equal(along, np.abs(self.normal)):
            return self.component
        return super().mirror(normal)

    def parameters(self) -> dict[str, Floats]:
        return self.component.parameters()

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        return replace(self, component=self.component.with_parameters(values))

    def _reflect(self, value: Floats, kind: Kind) -> Floats:
        """Return a value as the mirror shows it; what an item becomes does not depend on others."""
        if kind == "scalar":
            return np.asarray(value)
        n = self.normal
        if kind == "vector":
            along = value[..., 0] * n[0] + value[..., 1] * n[1] + value[..., 2] * n[2]
            return np.asarray(value - 2.0 * along[..., None] * n)
        out = np.array(value, dtype=np.float64)
        rows, columns = out[..., :3, :], out[..., :3, :3]
        across = rows[..., 0, :] * n[0] + rows[..., 1, :] * n[1] + rows[..., 2, :] * n[2]
        rows -= 2.0 * n[:, None] * across[..., None, :]
        along = columns[..., 0] * n[0] + columns[..., 1] * n[1] + columns[..., 2] * n[2]
        columns -= 2.0 * along[..., None] * n
        return out
