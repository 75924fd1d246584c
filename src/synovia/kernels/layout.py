"""Layouts of packed numbers, and the numbers of charts and shapes that have kernels.

Not compiled itself: to the translator an attribute of a layout is an integer constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ROTATION_VECTOR, SWING_TWIST, DIRECTION_TWIST, EULER, HINGES = CHART_KINDS = range(5)
BOX, ELLIPSOID, KDOP, PRODUCT, CONE, TABLE, FIELD, UNION = SHAPE_KINDS = range(8)
SOLIDS = (BOX, ELLIPSOID, KDOP)  # convex shapes of points, which are the swing of a product too

MAX_AXES = 64  # of a k-DOP: its corners are among the 300,000 points where three planes meet
MAX_NUMBER = 1e12  # bound on parameters, so that nothing computed from them overflows
MAX_REACH = 32.0  # radians: a little more than the five turns that a limit may reach

REAL, WHOLE, COUNT, OFFSET = range(4)  # kinds of fields


@dataclass(frozen=True)
class Field:
    """Values of a packed record that must be from `least` to `most`, in files too.

    REAL values may have fractions, WHOLE ones not. A COUNT is whole and at most the size of the
    whole record. An OFFSET is whole and points behind the layout, within the record.
    """

    least: float = -MAX_NUMBER
    most: float = MAX_NUMBER
    count: int = 1
    kind: int = REAL


class Layout:
    """The consecutive fields of a packed record, by name.

    A field is the number of its values, or a `Field` with bounds. Its offset is an attribute, and
    the total number of values is `SIZE`. `bounds` (SIZE, 3) are the least and greatest value and
    the kind of each number, which `runtime_file.fits` checks.

    >>> HEADER = Layout("header", version=1, into=4)
    >>> HEADER.into, HEADER.SIZE
    (1, 5)
    """

    def __init__(self, title: str, /, **fields: int | Field) -> None:
        known = {n: Field(count=f) if isinstance(f, int) else f for n, f in fields.items()}
        self.title, self.counts, offset = title, {n: f.count for n, f in known.items()}, 0
        for name, count in self.counts.items():
            setattr(self, name, offset)
            offset += count
        self.SIZE = offset
        least = {name: float(offset) if f.kind == OFFSET else f.least for name, f in known.items()}
        self.bounds = np.array(
            [(least[n], f.most, f.kind) for n, f in known.items() for _ in range(f.count)]
        ).reshape(-1, 3)

    def __getattr__(self, name: str) -> int:
        raise AttributeError(f"the layout of a {self.title} has no field {name!r}")

    def pack(self, **values: Any) -> np.ndarray:
        """Return the values of all fields as one float64 array, (SIZE,)."""
        if values.keys() != self.counts.keys():
            differing = ", ".join(sorted(values.keys() ^ self.counts.keys()))
            raise ValueError(f"fields of a {self.title} are missing or unknown: {differing}")
        parts = {name: np.ravel(values[name]) for name in self.counts}
        for name, count in self.counts.items():
            if len(parts[name]) != count:
                raise ValueError(
                    f"{name} of a {self.title} must have {count} values, got {len(parts[name])}"
                )
        return np.concatenate([*parts.values()]).astype(np.float64)
