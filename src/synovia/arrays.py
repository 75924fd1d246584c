"""Array types, validation of arguments, and tolerances."""

from __future__ import annotations

import dataclasses
from functools import cache
from numbers import Integral
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

# Not `NDArray`, whose origin is not `np.ndarray` from NumPy 2.5 on; `_array_sizes` tests that.
Floats = np.ndarray[tuple[Any, ...], np.dtype[np.floating[Any]]]
"""float64, or float32 if all inputs are."""
Quats = Floats
"""(..., 4): unit quaternions, w first."""
Points = Floats
"""(..., d): points of a chart, radians."""
Vectors = Floats
"""(..., 3): directions or positions."""
Scalars = Floats
"""(...): one number for each item."""
Mask = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
"""(...): one boolean for each item."""
Ints = np.ndarray[tuple[Any, ...], np.dtype[np.integer[Any]]]
Halves = np.ndarray[tuple[Any, ...], np.dtype[np.uint16]]
Bytes = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]

_TOLERANCES = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}  # radians
TOLERANCE = _TOLERANCES[np.dtype(np.float64)]
"""Largest distance of a member, in radians, for float64."""

TURN = 2.0 * np.pi  # radians
UNIT_SLACK = 1e-3  # largest error of a quaternion's length that is corrected, not refused
_UNIT_ROUNDING = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}


@dataclasses.dataclass(frozen=True)
class Within:
    """Annotation of a number, or of the length of a list or array: the range it must be in."""

    low: float
    high: float


class EachWithin(Within):
    """Annotation of an array: the range that each of its numbers must be in."""


def tolerance(dtype: np.dtype[Any]) -> float:
    """Return the largest distance of a member, in radians, for a float type."""
    return _TOLERANCES[np.dtype(dtype)]


def unit_rounding(dtype: np.dtype[Any]) -> float:
    """Return the largest error by rounding of a unit quaternion's length, for a float type."""
    return _UNIT_ROUNDING[np.dtype(dtype)]


def floats(name: str, values: ArrayLike) -> Floats:
    """Return `values` as an array of finite floats; float32 is kept, others become float64."""
    try:
        array = np.asarray(values)
        if array.dtype != np.float32:
            array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {values!r:.80}") from error
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name} must be finite, got {array[tuple(where)]} at {where.tolist()}")
    return array


def whole_number(name: str, value: Any, least: int | None = None) -> int:
    """Return `value` as int; raise ValueError unless it is an integer of at least `least`."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least is None or number >= least:
            return number
    expected = "an integer" if least is None else f"an integer of at least {least}"
    raise ValueError(f"{name} must be {expected}, got {value!r:.80}")


def rows(name: str, values: ArrayLike, width: int) -> Floats:
    """Return `values` as finite floats of shape (..., width)."""
    array = floats(name, values)
    if array.ndim == 0 or array.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., {width}), got {array.shape}")
    return array


def unit_quats(name: str, values: Any) -> Quats:
    """Return `values` as unit quaternions (..., 4), w first.

    A SciPy `Rotation` is accepted. Quaternions that are unit up to rounding stay unchanged, bit for
    bit; lengths within `UNIT_SLACK` of 1 are normalised; others raise ValueError.
    """
    if hasattr(values, "as_quat"):
        xyzw = np.asarray(values.as_quat(), dtype=np.float64)
        return np.concatenate([xyzw[..., 3:], xyzw[..., :3]], axis=-1)
    array = rows(name, values, 4)
    length = np.sqrt(np.einsum("...i,...i->...", array, array))
    error = np.abs(length - 1.0)
    if error.size == 0 or error.max() <= unit_rounding(array.dtype):
        return array
    if error.max() > UNIT_SLACK:
        where = np.unravel_index(int(error.argmax()), error.shape)
        raise ValueError(
            f"{name} must be unit quaternions to within {UNIT_SLACK}, "
            f"got length {float(length[where]):.6g} at {[int(i) for i in where]}"
        )
    off = (error > unit_rounding(array.dtype))[..., None]
    return np.where(off, array / np.where(off, length[..., None], 1.0), array)


def unit_vectors(vectors: Vectors) -> Vectors:
    """Return non-zero vectors (..., n) scaled to length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def cross(a: Vectors, b: Vectors) -> Vectors:
    """Return the cross products (..., 3); for small arrays several times faster than NumPy's."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def evenly_spaced(count: int, most: int) -> Ints:
    """Return at most `most` indices, evenly spaced from 0 to `count` - 1."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def wrap_angles(angles: Scalars) -> Scalars:
    """Return angles (...) modulo 2π, within ±π radians."""
    return np.asarray(angles - TURN * np.rint(angles / TURN))


def principal_axes(points: Points) -> Floats:
    """Return principal axes of points (n, d) as right-handed rows, largest variance first."""
    centered = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    axes = vectors.T[::-1]
    # Fixed signs make the axes reproducible on any machine.
    leading = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(leading < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[-1] = -axes[-1]
    return axes


def check_orthonormal(name: str, axes: Floats) -> None:
    """Raise ValueError unless the rows of `axes` (n, n) are orthonormal."""
    if np.abs(axes @ axes.T - np.eye(len(axes))).max() > TOLERANCE:
        raise ValueError(f"{name} must be orthonormal rows, got {axes.tolist()}")


@cache
def _array_sizes(kind: type) -> dict[str, tuple[int | str | None, ...]]:
    """Return the annotated shape of each array field of a dataclass, as numbers or letters.

    `Annotated[Floats, "k", 3]` is an array of shape (k, 3). A letter is any size, the same in all
    fields; "k>=2" is a size of at least 2, which files and their schema check.
    """
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: tuple(size if isinstance(size, int) else size.partition(">=")[0] for size in sizes)
        for name in (field.name for field in dataclasses.fields(kind))
        if get_origin(hints[name]) is Annotated
        for hint, *sizes in [get_args(hints[name])]
        if get_origin(hint) is np.ndarray
    }


def own(owner: object, **shapes: tuple[int | str | None, ...]) -> None:
    """Copy array fields of a frozen dataclass, check their shapes and make them read-only.

    Shapes are those annotated (see `_array_sizes`) unless given; `None` is any length.
    """
    kind: type = type(owner)
    known: dict[str, int] = {}
    for field, sizes in (shapes or _array_sizes(kind)).items():
        name = f"{kind.__name__}.{field}"
        array = floats(name, getattr(owner, field)).astype(np.float64)
        wanted = [known.get(size, size) if isinstance(size, str) else size for size in sizes]
        fits = array.ndim == len(sizes)
        for size, n in zip(sizes, array.shape, strict=False):
            wants = known.setdefault(size, n) if isinstance(size, str) else size
            fits &= wants is None or wants == n
        if not fits:
            shape = ", ".join("any" if size is None else str(size) for size in wanted)
            raise ValueError(f"{name} must have shape ({shape}), got {array.shape}")
        array.flags.writeable = False
        object.__setattr__(owner, field, array)
