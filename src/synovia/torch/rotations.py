"""Conversion of rotations to unit quaternions as tensors, with finite gradients everywhere."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..arrays import unit_rounding

Form = Literal["quaternion", "rotation-vector", "6d", "matrix"]  # in the order of `kernels.forms`
FORMS: tuple[str, ...] = get_args(Form)
SIZES: dict[str, tuple[int, ...]] = {
    "quaternion": (4,),
    "rotation-vector": (3,),
    "6d": (6,),
    "matrix": (3, 3),
}
SHORT = 1e-4  # radians; below this the series of sine and cosine are exact to rounding


def quaternions(values: Tensor, form: Form = "quaternion") -> Tensor:
    """Return rotations of any form as unit quaternions (..., 4), w first.

    Parameters
    ----------
    values
        Quaternions (..., 4) of any length but 0, rotation vectors (..., 3) in radians, the first
        two columns of matrices (..., 6) after Zhou et al. (2019), which need not be orthonormal, or
        matrices (..., 3, 3).
    form
        The form of `values`.

    Examples
    --------
    >>> quaternions(torch.zeros(2, 3), "rotation-vector")
    tensor([[1., 0., 0., 0.],
            [1., 0., 0., 0.]])
    """
    check_form(values, form)
    match form:
        case "quaternion":
            return _unit(values)
        case "rotation-vector":
            return _from_vectors(values)
        case "6d":
            return _from_matrices(_orthonormal(values))
        case _:
            return _from_matrices(values)


def check_form(values: Tensor, form: Form) -> None:
    """Raise ValueError if values cannot be rotations of a form."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    size = SIZES[form]
    if values.shape[-len(size) :] != size or not values.is_floating_point():
        wanted = ", ".join(map(str, size))
        raise ValueError(
            f"rotations of the form {form} must be floats (..., {wanted}), "
            f"got {values.dtype} {tuple(values.shape)}"
        )


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return the quaternions (..., 4) of the rotations that apply `b` first, then `a`."""
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    return torch.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        dim=-1,
    )


def rotate(rotations: Tensor, vectors: Tensor) -> Tensor:
    """Return vectors (..., 3) rotated by unit quaternions (..., 4)."""
    axis, w = rotations[..., 1:], rotations[..., :1]
    across = 2.0 * torch.linalg.cross(axis, vectors.expand_as(axis))
    return vectors + w * across + torch.linalg.cross(axis, across)


def _unit(values: Tensor) -> Tensor:
    """Return quaternions of length 1; those of length 1 up to rounding, bit for bit."""
    square = values.square().sum(-1, keepdim=True)
    double = values.dtype == torch.float64
    rounding = unit_rounding(np.dtype(np.float64 if double else np.float32))
    off = (square.detach() - 1.0).abs() > 2.0 * rounding
    return torch.where(off, values / torch.where(off, square, 1.0).sqrt(), values)


def _from_vectors(vectors: Tensor) -> Tensor:
    square = vectors.square().sum(-1, keepdim=True)
    short = square < SHORT * SHORT
    half = 0.5 * torch.where(short, 1.0, square).sqrt()  # a root of 0 would have no slope
    sine = torch.where(short, 0.5 - square / 48.0, 0.5 * half.sin() / half)
    return torch.cat([torch.where(short, 1.0 - square / 8.0, half.cos()), sine * vectors], dim=-1)


def _orthonormal(columns: Tensor) -> Tensor:
    x = torch.nn.functional.normalize(columns[..., :3], dim=-1)
    z = torch.nn.functional.normalize(torch.linalg.cross(x, columns[..., 3:]), dim=-1)
    return torch.stack([x, torch.linalg.cross(z, x), z], dim=-1)


def _from_matrices(matrices: Tensor) -> Tensor:
    """Return the quaternions of matrices (..., 3, 3), from the largest component (Shepperd)."""
    m = [[matrices[..., i, j] for j in range(3)] for i in range(3)]
    x, y, z = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    xy, yz, zx = m[0][1] + m[1][0], m[1][2] + m[2][1], m[2][0] + m[0][2]
    squares = [
        1.0 + m[0][0] + m[1][1] + m[2][2],
        1.0 + m[0][0] - m[1][1] - m[2][2],
        1.0 - m[0][0] + m[1][1] - m[2][2],
        1.0 - m[0][0] - m[1][1] + m[2][2],
    ]
    rows = [(squares[0], x, y, z), (x, squares[1], xy, zx), (y, xy, squares[2], yz)]
    candidates = torch.stack([torch.stack(row, -1) for row in [*rows, (z, zx, yz, squares[3])]], -2)
    largest = torch.stack(squares, -1).argmax(-1)[..., None, None].expand(*m[0][0].shape, 1, 4)
    return torch.nn.functional.normalize(candidates.gather(-2, largest)[..., 0, :], dim=-1)
