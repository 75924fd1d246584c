"""Component: a function from typed inputs to typed outputs, and checks of their values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Floats, Vectors, floats
from ..charts.chart import reflect
from .program import SHAPE, WIDTH, Kind, Step, value_columns

RIGID_TOLERANCE = 1e-6  # of entries of R Rᵀ and of the last row: rounding of single precision


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


def _check_rigid(name: str, matrices: Floats) -> None:
    """Raise ValueError unless all matrices (..., 4, 4) are rigid transforms."""
    rotations = matrices[..., :3, :3]
    off = np.abs(rotations @ np.swapaxes(rotations, -1, -2) - np.eye(3)).max(initial=0.0)
    last_row = np.abs(matrices[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0)
    error = max(off, last_row)
    if error > RIGID_TOLERANCE or (np.linalg.det(rotations) < 0.0).any():
        raise ValueError(
            f"{name} must be rigid transforms (a rotation, a translation, last row 0 0 0 1), "
            f"got one that is off by {error:.3g}"
            + (" or mirrors" if error <= RIGID_TOLERANCE else "")
        )


def stack_values(
    values: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> tuple[Floats, tuple[int, ...]]:
    """Return checked values as columns (n, width), and the shape of the batch.

    Values broadcast against each other. A matrix has 12 columns, its upper three rows.
    """
    arrays = {name: check_value(name, values[name], kind) for name, kind in kinds.items()}
    batches = {
        name: array.shape[: array.ndim - len(SHAPE[kinds[name]])] for name, array in arrays.items()
    }
    try:
        batch = np.broadcast_shapes(*batches.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in batches.items())
        raise ValueError(f"the batches of the values must agree, got {listed}") from None
    table = pack_values(list(arrays.values()), list(kinds.values()), batch)
    return table.reshape(math.prod(batch), table.shape[-1]), batch


def pack_values(values: Sequence[Floats], kinds: Sequence[Kind], batch: tuple[int, ...]) -> Floats:
    """Return values as columns (*batch, width) of one table."""
    table = np.empty((*batch, sum(WIDTH[kind] for kind in kinds)))
    first = 0
    for value, kind in zip(values, kinds, strict=True):
        array = np.broadcast_to(value, (*batch, *SHAPE[kind]))
        if kind == "matrix":
            array = array[..., :3, :]
        table[..., first : first + WIDTH[kind]] = array.reshape(*batch, WIDTH[kind])
        first += WIDTH[kind]
    return table


def unpack_values(table: Floats, kinds: Mapping[str, Kind]) -> dict[str, Floats]:
    """Return the values (..., shape) whose numbers are the columns of `table` (..., width)."""
    values, first = {}, 0
    for name, kind in kinds.items():
        part = table[..., first : first + WIDTH[kind]]
        first += WIDTH[kind]
        if kind == "matrix":
            values[name] = np.zeros((*table.shape[:-1], 4, 4))
            values[name][..., :3, :] = part.reshape(*table.shape[:-1], 3, 4)
            values[name][..., 3, 3] = 1.0
        else:
            values[name] = part.reshape((*table.shape[:-1], *SHAPE[kind])).copy()
    return values


def error_weights(count: int, length: float) -> Floats:
    """Return weights (12 · count,) that turn differences of matrices' entries into radians.

    The entries of two rotations differ by √2 times the angle between them, as a vector. `length` is
    the translation that weighs as much as a radian.
    """
    return np.tile([0.5**0.5, 0.5**0.5, 0.5**0.5, 1.0 / length], 3 * count)


@dataclass(frozen=True, eq=False)
class Component(ABC):
    """A function from named, typed inputs to named, typed outputs.

    Scalars are (...), vectors (..., 3), matrices (..., 4, 4): rigid transforms of column vectors.
    Leading axes are batches. Parameters are the fields of the frozen dataclass, checked when it is
    created: numbers, arrays, texts, tuples of texts, curves or shapes, as in files. A
    component of your own derives from `ArrayComponent` and is written in NumPy; the components of
    this package use kernels.
    """

    kind: ClassVar[str]
    """The name in files and in `COMPONENTS`."""
    mirror_signs: ClassVar[Mapping[str, int] | None] = None
    """Parameters that are reflected to mirror the component, each with a sign.

    It is 1 for points and directions, and -1 for axes of rotation. None if there is no mirror.
    """

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Kind]:
        """Names and types of the inputs, in order."""

    @property
    def outputs(self) -> Mapping[str, Kind]:
        """Names and types of the outputs, in order: one matrix by default."""
        return {"matrix": "matrix"}

    @property
    def defaults(self) -> Mapping[str, Floats]:
        """Values of inputs that are not wired; inputs without a default must be wired."""
        return {}

    @property
    def gaps(self) -> tuple[str, ...]:
        """Scalar outputs that are above 0 where the component cannot fulfil its constraint."""
        return ()

    @abstractmethod
    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        """Return the step that reads and writes values at these offsets in the work space."""

    def __call__(self, **inputs: Any) -> dict[str, Floats]:
        """Return every output by name, for inputs that broadcast against each other."""
        from .network import Network

        for name in inputs:
            if name not in self.inputs:
                raise ValueError(
                    f"{self.kind} has no input {name!r}; it has {', '.join(self.inputs)}"
                )
        for name in self.inputs:
            if name not in inputs and name not in self.defaults:
                raise ValueError(f"{self.kind} needs the input {name!r}, got none")
        wires = {f"this.{name}": name for name in inputs}
        outputs = {name: f"this.{name}" for name in self.outputs}
        return Network({"this": self}, wires, outputs)(inputs)

    def mirror(self, normal: Vectors) -> Self:
        """Return the component of the other side, mirrored in the plane across `normal`.

        For the same scalars and for mirrored vectors and matrices it gives mirrored results. Only
        the scapula's second angle changes its sign: it is about a line between points.
        """
        if {*self.inputs.values(), *self.outputs.values()} == {"scalar"}:
            return self
        return replace(self, **self.reflected_parameters(normal))

    def reflected_parameters(self, normal: Vectors) -> dict[str, Vectors]:
        """Return the parameters in `mirror_signs`, mirrored in the plane across `normal`."""
        if self.mirror_signs is None:
            raise ValueError(
                f"a component of type {self.kind!r} cannot be mirrored: it has no mirror_signs"
            )
        signs = self.mirror_signs.items()
        return {name: sign * reflect(getattr(self, name), normal) for name, sign in signs}

    def parameters(self) -> dict[str, Floats]:
        """Return the parameters that can be fitted to data, by name."""
        named = self.to_dict()
        return {
            name: np.asarray(value, dtype=np.float64)
            for name, value in named.items()
            if isinstance(value, np.ndarray | float)
        }

    def with_parameters(self, values: Mapping[str, Floats]) -> Self:
        """Return this component with other values of some of its parameters."""
        return replace(
            self, **{name: value if value.ndim else float(value) for name, value in values.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, as `from_dict` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the component with these parameters."""
        known = [field.name for field in fields(cls)]
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
        input_kinds, output_kinds = self.inputs, tuple(self.outputs.values())
        read, written = (
            np.array(
                [c for value in zip(offsets, kinds, strict=True) for c in value_columns(*value)],
                int,
            )
            for offsets, kinds in ((inputs, input_kinds.values()), (outputs, output_kinds))
        )

        def step(work: Floats) -> None:
            values = self.evaluate(*unpack_values(work[:, read], input_kinds).values())
            work[:, written] = pack_values(values, output_kinds, (len(work),))

        return step


def check_names(owner: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names as a tuple; ValueError if there is none, one is invalid or two are equal."""
    if isinstance(names, str):
        raise ValueError(f"{owner} must be several names, got the text {names!r}")
    names = tuple(names)
    if not names:
        raise ValueError(f"{owner} must name at least one, got none")
    for name in names:
        if not isinstance(name, str) or not name or any(c in "./" or c.isspace() for c in name):
            raise ValueError(f"{owner} must be names without '.', '/' or spaces, got {name!r}")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"{owner} must differ from each other, got {twice!r} twice")
    return names
