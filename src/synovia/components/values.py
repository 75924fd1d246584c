"""The door for values: what a scalar, a vector and a matrix must be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import Floats, floats
from .block import SHAPE, WIDTH, Kind

RIGID = 1e-6  # how far a matrix may be off a rigid transform


def checked(name: str, value: Any, kind: Kind) -> Floats:
    """Return a value as float64 (..., shape of its type)."""
    array = np.asarray(floats(name, value), dtype=np.float64)
    shape = SHAPE[kind]
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{name} is a {kind} and must have shape ({wanted}), got {array.shape}")
    if kind == "matrix":
        _check_rigid(name, array)
    return array


def batched(values: Mapping[str, Any], kinds: Mapping[str, Kind]) -> tuple[Floats, tuple[int, ...]]:
    """Return values side by side, (n, width) with matrices as 12 numbers, and the batch's shape."""
    arrays = {name: checked(name, values[name], kind) for name, kind in kinds.items()}
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
    if max(off, last) > RIGID or (np.linalg.det(turns) < 0.0).any():
        raise ValueError(
            f"{name} must be rigid transforms (a rotation, a translation, last row 0 0 0 1), "
            f"got one that is off by {max(off, last):.3g}"
            + (" or mirrors" if max(off, last) <= RIGID else "")
        )
