"""What a component is: typed inputs to typed outputs, configured by parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Floats, Vectors
from ..charts.chart import unit_axis
from .block import (
    LANES,
    SHAPE,
    WIDTH,
    Kind,
    Step,
    evaluated,
    matrices_of,
    rows_of,
    unpacked,
)
from .values import batched

NUDGE = 1e-6  # the step of central differences; their error is some 1e-10


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """A function from named, typed inputs to named, typed outputs.

    Scalars are (...), vectors (..., 3), matrices (..., 4, 4): rigid transforms of column vectors.
    Leading axes are batches. Parameters are the fields of the frozen dataclass, checked when it
    is made; they are numbers, arrays, texts, tuples of texts, curves or cones, which is what files
    can hold. A component of your own derives from `ArrayComponent` and is written in NumPy;
    those here bind a compiled loop.
    """

    kind: ClassVar[str]
    """Its name in files and in `COMPONENTS`."""
    gaps: ClassVar[tuple[str, ...]] = ()
    """Scalar outputs that are above 0 where the component could not do what it is for."""

    spares: ClassVar[tuple[str, ...]] = ()
    """Outputs that it need not compute: where nothing reads them, their place is negative."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Kind]:
        """The inputs' names and types, in order."""

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, Kind]:
        """The outputs' names and types, in order."""

    @property
    def defaults(self) -> Mapping[str, Floats]:
        """What inputs are that nothing is wired to; those not named here must be wired."""
        return {}

    @abstractmethod
    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        """Return the step that reads `inputs` and writes `outputs`, places in a work space."""

    def __call__(self, **inputs: Any) -> dict[str, Floats]:
        """Return every output by name, for inputs that broadcast against each other."""
        unknown = [name for name in inputs if name not in self.inputs]
        if unknown:
            raise ValueError(
                f"{self.kind} has no input {unknown[0]!r}; it has {', '.join(self.inputs)}"
            )
        missing = [name for name in self.inputs if name not in {**self.defaults, **inputs}]
        if missing:
            raise ValueError(f"{self.kind} needs the input {missing[0]!r}, got none")
        given = {name: {**self.defaults, **inputs}[name] for name in self.inputs}
        table, batch = batched(given, self.inputs)
        out = self.rows(table)
        return unpacked(out.reshape(*batch, out.shape[-1]), self.outputs)

    def rows(self, table: Floats) -> Floats:
        """Return the outputs (n, width) for rows of inputs (n, width), matrices as 12 numbers."""
        places = [LANES * row for row in rows_of([*self.inputs.values(), *self.outputs.values()])]
        count = len(self.inputs)
        step = self.bind(tuple(places[:count]), tuple(places[count:-1]))
        width = sum(WIDTH[kind] for kind in self.inputs.values())
        total = places[-1] // LANES
        takes, gives = LANES * np.arange(width), LANES * np.arange(width, total)
        return evaluated([step], total, table, takes, gives)

    def partials(self, table: Floats) -> Floats:
        """Return the derivatives (n, outputs, inputs) at rows of inputs, by central differences."""
        n, width = table.shape
        nudges = NUDGE * np.diag(np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0)))
        ahead = self.rows((table[:, None] + nudges).reshape(-1, width)).reshape(n, width, -1)
        behind = self.rows((table[:, None] - nudges).reshape(-1, width)).reshape(n, width, -1)
        return np.swapaxes((ahead - behind) / (2.0 * np.diagonal(nudges)[:, None]), 1, 2)

    def mirrored(self, normal: Vectors) -> Self:
        """Return the component of the other side, mirrored in the plane across `normal`.

        For the same scalars and for mirrored vectors and matrices it gives mirrored ones. Only
        the scapula's second angle changes its sign: it turns about a line between points.
        """
        raise ValueError(f"a {self.kind} cannot be mirrored")

    def adjustable(self) -> dict[str, Floats]:
        """Return the numbers that can be fitted to data, by the names of their parameters."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    def adjusted(self, values: Mapping[str, Floats]) -> Self:
        """Return this component with other numbers for some of what is adjustable."""
        return replace(self, **values)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, as `from_dict` takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the component that `to_dict` described."""
        known = [each.name for each in fields(cls)]
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(
                f"{cls.kind} has no parameter {unknown[0]!r}; it has {', '.join(known)}"
            )
        try:
            return cls(**parameters)
        except TypeError as error:
            raise ValueError(f"{cls.kind} lacks a parameter: {error}") from error


class ArrayComponent(Component):
    """A component written in NumPy: a subclass gives `evaluate`, and that is all."""

    @abstractmethod
    def evaluate(self, *inputs: Floats) -> tuple[Floats, ...]:
        """Return the outputs in order, for inputs in order with one leading axis of n items."""

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        takes, gives = tuple(self.inputs.values()), tuple(self.outputs.values())

        def step(n: int, stride: int, work: Floats) -> None:
            lanes = np.arange(n)
            first = lanes // LANES * stride + lanes % LANES
            given = []
            for place, kind in zip(inputs, takes, strict=True):
                rows = work[first[:, None] + place + LANES * np.arange(WIDTH[kind])]
                given.append(
                    matrices_of(rows) if kind == "matrix" else rows.reshape(n, *SHAPE[kind])
                )
            for place, kind, value in zip(outputs, gives, self.evaluate(*given), strict=True):
                value = np.broadcast_to(value, (n, *SHAPE[kind]))
                rows = value[:, :3].reshape(n, 12) if kind == "matrix" else value.reshape(n, -1)
                work[first[:, None] + place + LANES * np.arange(WIDTH[kind])] = rows

        return step


def check_names(owner: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of ports; raise ValueError unless there are some, plain and all different."""
    if isinstance(names, str):
        raise ValueError(f"{owner} must be several names, got the text {names!r}")
    names = tuple(names)
    if not names:
        raise ValueError(f"{owner} must name at least one, got none")
    for name in names:
        if not isinstance(name, str) or not name or any(c in "./" or c.isspace() for c in name):
            raise ValueError(f"{owner} must be names without '.', '/' or spaces, got {name!r}")
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{owner} must differ from each other, got {twice!r} twice")
    return names


def seen(points: Floats, normal: Vectors) -> Floats:
    """Return points or directions (..., 3) as a mirror in the plane across `normal` shows them."""
    across = unit_axis(np.asarray(normal, dtype=np.float64), "the mirror's normal")
    return np.asarray(points - 2.0 * (points @ across)[..., None] * across)
