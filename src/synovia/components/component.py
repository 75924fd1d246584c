"""What a component is: typed inputs to typed outputs, and the work space it runs in."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints, Vectors, floats
from ..shapes import Shape

# The work space that components run in, and how arrays get in and out of it.
#
# Rows of LANES numbers, as `kernels.transforms` explains: a scalar is 1 row, a vector 3, a matrix
# 12, its upper three rows. A network runs through it block after block, so that a large batch needs
# no more memory than the caches have.

Kind = Literal["scalar", "vector", "matrix"]
SHAPE: dict[Kind, tuple[int, ...]] = {"scalar": (), "vector": (3,), "matrix": (4, 4)}
WIDTH: dict[Kind, int] = {"scalar": 1, "vector": 3, "matrix": 12}
"""How many numbers, and so rows, a value of each type has."""

LANES = 64
BLOCKS = 16  # at once: fewer calls a pose, against what the caches hold

Step = Callable[[int, int, Floats], object]
"""Reads and writes values of the first n lanes: (n, stride of a block, work space)."""
Finish = Callable[[int, int, int, Floats], object]
"""Collects results: (number of the first lane, and then as a step)."""


def columns(place: int, kind: Kind) -> Ints:
    """Return the places of a value's rows, which starts at `place`."""
    return place + LANES * np.arange(WIDTH[kind])


def run(
    stages: Sequence[tuple[Sequence[Step], Finish]],
    rows: int,
    table: Floats,
    inputs_at: Ints,
    threads: int = 1,
) -> None:
    """Take the rows of `table` (n, columns) through all stages, some blocks at a time.

    `inputs_at` are the places of the columns. A stage is steps, and what collects their results.
    """
    stride, most = rows * LANES, BLOCKS * LANES

    def part(starts: range) -> None:
        work = np.empty(-(-min(most, len(table)) // LANES) * stride)
        for start in starts:
            n = min(most, len(table) - start)
            kernels.transforms.load(table[start : start + n], inputs_at, n, stride, work)
            for steps, finish in stages:
                for step in steps:
                    step(n, stride, work)
                finish(start, n, stride, work)

    starts = range(0, len(table), most)
    if threads <= 1 or len(starts) < 2:
        part(starts)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, (starts[k::threads] for k in range(threads))))


def evaluate_steps(
    steps: Sequence[Step], rows: int, table: Floats, inputs_at: Ints, outputs_at: Ints
) -> Floats:
    """Return what stands at the places `outputs_at` (n, columns) when all steps are done."""
    out = np.empty((len(table), len(outputs_at)))

    def finish(start: int, n: int, stride: int, work: Floats) -> None:
        kernels.transforms.store(outputs_at, n, stride, work, 0, out[start : start + n])

    run([(steps, finish)], rows, table, inputs_at)
    return out


def matrices_of(rows: Floats) -> Floats:
    """Return matrices (..., 4, 4) of their upper rows (..., 12)."""
    matrices = np.zeros((*rows.shape[:-1], 4, 4))
    matrices[..., :3, :] = rows.reshape(*rows.shape[:-1], 3, 4)
    matrices[..., 3, 3] = 1.0
    return matrices


def error_weights(count: int, length: float) -> Floats:
    """Return weights (12 · count,) of the entries of matrices, for errors in radians.

    Entries of rotations differ by √2 times the angle; `length` is the shift that is a radian's.
    """
    turn = 1 / 2**0.5
    return np.tile([turn, turn, turn, 1 / length], 3 * count)


def unpack_values(table: Floats, kinds: Mapping[str, Kind]) -> dict[str, Floats]:
    """Return the values (..., shape) whose numbers stand side by side in `table` (..., width)."""
    values, first = {}, 0
    for name, kind in kinds.items():
        part = table[..., first : first + WIDTH[kind]]
        first += WIDTH[kind]
        shape = (*table.shape[:-1], *SHAPE[kind])
        values[name] = matrices_of(part) if kind == "matrix" else part.reshape(shape).copy()
    return values


# The door for values: what a scalar, a vector and a matrix must be.


RIGID_TOLERANCE = 1e-6  # how far a matrix may be off a rigid transform


def check_value(name: str, value: Any, kind: Kind) -> Floats:
    """Return a value as float64 (..., shape of its type)."""
    array = np.asarray(floats(name, value), dtype=np.float64)
    shape = SHAPE[kind]
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{name} is a {kind} and must have shape ({wanted}), got {array.shape}")
    if kind == "matrix":
        _check_rigid(name, array)
    return array


def stack_values(
    values: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> tuple[Floats, tuple[int, ...]]:
    """Return values side by side, (n, width) with matrices as 12 numbers, and the batch's shape."""
    arrays = {name: check_value(name, values[name], kind) for name, kind in kinds.items()}
    batches = {
        name: array.shape[: array.ndim - len(SHAPE[kinds[name]])] for name, array in arrays.items()
    }
    try:
        batch = np.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise ValueError(f"the batches of the values must agree, got {listed}") from None
    table = np.empty((*batch, sum(WIDTH[kind] for kind in kinds.values())))
    first = 0
    for name, kind in kinds.items():
        array = arrays[name]
        if kind == "matrix":
            array = array[..., :3, :].reshape(*array.shape[:-2], 12)
        elif kind == "scalar":
            array = array[..., None]
        table[..., first : first + WIDTH[kind]] = array
        first += WIDTH[kind]
    return table.reshape(math.prod(batch), table.shape[-1]), batch


def _check_rigid(name: str, matrices: Floats) -> None:
    turns = matrices[..., :3, :3]
    off = np.abs(turns @ np.swapaxes(turns, -1, -2) - np.eye(3)).max(initial=0.0)
    last = np.abs(matrices[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0)
    if max(off, last) > RIGID_TOLERANCE or (np.linalg.det(turns) < 0.0).any():
        raise ValueError(
            f"{name} must be rigid transforms (a rotation, a translation, last row 0 0 0 1), "
            f"got one that is off by {max(off, last):.3g}"
            + (" or mirrors" if max(off, last) <= RIGID_TOLERANCE else "")
        )


DIFFERENCE_STEP = 1e-6  # the step of central differences; their error is some 1e-10


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """A function from named, typed inputs to named, typed outputs.

    Scalars are (...), vectors (..., 3), matrices (..., 4, 4): rigid transforms of column vectors.
    Leading axes are batches. Parameters are the fields of the frozen dataclass, checked when it
    is made; they are numbers, arrays, texts, tuples of texts, curves, shapes or components, which
    is what files can hold. A component of your own derives from `ArrayComponent` and is written in
    NumPy; those here bind a compiled loop. All else has a default, which a component overrides
    where it can do better or faster.
    """

    kind: ClassVar[str]
    """Its name in files and in `COMPONENTS`."""
    optional_outputs: ClassVar[tuple[str, ...]] = ()
    """Outputs that it need not compute: where nothing reads them, their place is negative."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Kind]:
        """The inputs' names and types, in order."""

    @property
    def outputs(self) -> Mapping[str, Kind]:
        """The outputs' names and types, in order: one matrix, unless a component has others."""
        return {"matrix": "matrix"}

    @property
    def defaults(self) -> Mapping[str, Floats]:
        """What inputs are that nothing is wired to; those not named here must be wired."""
        return {}

    @property
    def gaps(self) -> tuple[str, ...]:
        """Scalar outputs that are above 0 where the component could not do what it is for."""
        return ()

    @property
    def product_inputs(self) -> tuple[str, ...]:
        """The inputs whose matrices, multiplied in this order, are the output `matrix`, if so."""
        return ()

    @property
    def cancelled_input(self) -> str | None:
        """The input whose rotation the output `matrix` undoes, if it is for that."""
        return None

    @property
    def direction_limit(self) -> tuple[Vectors, Shape] | None:
        """A bone's axis, and the directions and twists that the output keeps to, if there are."""
        return None

    @property
    def ellipsoid(self) -> tuple[Vectors, Floats] | None:
        """Centre and half axes (3, 3), as rows, of an ellipsoid to be drawn, if there is one."""
        return None

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
        table, batch = stack_values(given, self.inputs)
        out = self.rows(table)
        return unpack_values(out.reshape(*batch, out.shape[-1]), self.outputs)

    def rows(self, table: Floats) -> Floats:
        """Return the outputs (n, width) for rows of inputs (n, width), matrices as 12 numbers."""
        widths = [WIDTH[kind] for kind in (*self.inputs.values(), *self.outputs.values())]
        places = [LANES * row for row in accumulate(widths, initial=0)]
        count = len(self.inputs)
        step = self.bind(tuple(places[:count]), tuple(places[count:-1]))
        width = sum(WIDTH[kind] for kind in self.inputs.values())
        total = places[-1] // LANES
        inputs_at, outputs_at = LANES * np.arange(width), LANES * np.arange(width, total)
        return evaluate_steps([step], total, table, inputs_at, outputs_at)

    def partials(self, table: Floats) -> Floats:
        """Return the derivatives (n, outputs, inputs) at rows of inputs, by central differences."""
        n, width = table.shape
        nudges = DIFFERENCE_STEP * np.diag(np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0)))
        ahead = self.rows((table[:, None] + nudges).reshape(-1, width)).reshape(n, width, -1)
        behind = self.rows((table[:, None] - nudges).reshape(-1, width)).reshape(n, width, -1)
        return np.swapaxes((ahead - behind) / (2.0 * np.diagonal(nudges)[:, None]), 1, 2)

    def mirror(self, normal: Vectors) -> Component:
        """Return the component of the other side, mirrored in the plane across `normal`.

        For the same scalars and for mirrored vectors and matrices it gives mirrored ones. Only
        the scapula's second angle changes its sign: it turns about a line between points.
        """
        from .mirrored import Mirrored

        if {*self.inputs.values(), *self.outputs.values()} == {"scalar"}:
            return self
        return Mirrored(self, normal)

    def parameters(self) -> dict[str, Floats]:
        """Return the numbers that can be fitted to data, by the names of their parameters."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: np.asarray(value, dtype=np.float64)
            for name, value in named.items()
            if isinstance(value, np.ndarray | float)
        }

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        """Return this component with other numbers for some of its parameters."""
        return replace(
            self, **{name: each if each.ndim else float(each) for name, each in values.items()}
        )

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
    """A component written in NumPy: a subclass gives its name, its ports and `evaluate`."""

    @abstractmethod
    def evaluate(self, *inputs: Floats) -> tuple[Floats, ...]:
        """Return the outputs in order, for inputs in order with one leading axis of n items."""

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        input_kinds, output_kinds = tuple(self.inputs.values()), tuple(self.outputs.values())

        def step(n: int, stride: int, work: Floats) -> None:
            lanes = np.arange(n)
            first = lanes // LANES * stride + lanes % LANES
            given = []
            for place, kind in zip(inputs, input_kinds, strict=True):
                rows = work[first[:, None] + place + LANES * np.arange(WIDTH[kind])]
                given.append(
                    matrices_of(rows) if kind == "matrix" else rows.reshape(n, *SHAPE[kind])
                )
            found = self.evaluate(*given)
            for place, kind, value in zip(outputs, output_kinds, found, strict=True):
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
