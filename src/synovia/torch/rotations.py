"""Rotations in the forms of networks as unit quaternions, in PyTorch."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..arrays import unit_rounding

Form = Literal["quaternion", "rotation-vector", "6d", "matrix"]
FORMS: tuple[str, ...] = get_args(Form)
SIZES: dict[str, tuple[int, ...]] = {
    "quaternion": (4,),
    "rotation-vector": (3,),
    "6d": (6,),
    "matrix": (3, 3),
}


def quaternions(values: Tensor, form: Form = "quaternion") -> Tensor:
    """Return rotations of any form as unit quaternions (..., 4), w first.

    Parameters
    ----------
    values
        Quaternions (..., 4) of any length but 0, rotation vectors (..., 3) in radians, the first
        two columns of matrices (..., 6) after Zhou et al. (2019), which need not be orthonormal, or
        matrices (..., 3, 3). Quaternions that are unit but for rounding stay as they are.
    form
        The form of `values`.

    Examples
    --------
    >>> quaternions(torch.zeros(2, 3), "rotation-vector")
    tensor([[1., 0., 0., 0.],
            [1., 0., 0., 0.]])
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    size = SIZES[form]
    if values.shape[-len(size) :] != size or not values.is_floating_point():
        wanted = ", ".join(map(str, size))
        raise ValueError(
            f"rotations of the form {form} must be floats (..., {wanted}), "
            f"got {values.dtype} {tuple(values.shape)}"
        )
    if form == "quaternion":
        return _normalized(values)
    if form == "rotation-vector":
        half = 0.5 * torch.linalg.vector_norm(values, dim=-1, keepdim=True)
        return torch.cat([torch.cos(half), 0.5 * torch.sinc(half / torch.pi) * values], dim=-1)
    if form == "matrix":
        return _from_matrix(values)
    x = torch.nn.functional.normalize(values[..., :3], dim=-1)
    z = torch.nn.functional.normalize(torch.linalg.cross(x, values[..., 3:]), dim=-1)
    return _from_matrix(torch.stack([x, torch.linalg.cross(z, x), z], dim=-1))


def _normalized(values: Tensor) -> Tensor:
    """Return quaternions of length 1; those that are unit but for rounding stay, bit for bit."""
    square = values.square().sum(dim=-1, keepdim=True)
    scale = square.rsqrt()
    rounding = unit_rounding(np.dtype(np.float64 if values.dtype == torch.float64 else np.float32))
    unit = (square - 1.0).abs() <= 4.0 * rounding
    # Exactly 1, with the gradient of the scale.
    return values * torch.where(unit, scale + (1.0 - scale).detach(), scale)


def _from_matrix(matrices: Tensor) -> Tensor:
    """Return the unit quaternions of rotation matrices.

    Each row of 4 q qᵀ is linear in the matrix and a multiple of q. The one with the largest
    diagonal element keeps its digits (Shepperd 1978).
    """
    (a, b, c), (d, e, f), (g, h, i) = (row.unbind(-1) for row in matrices.unbind(-2))
    elements = [
        *(1.0 + a + e + i, h - f, c - g, d - b),
        *(h - f, 1.0 + a - e - i, b + d, c + g),
        *(c - g, b + d, 1.0 - a + e - i, f + h),
        *(d - b, c + g, f + h, 1.0 - a - e + i),
    ]
    rows = torch.stack(elements, dim=-1).unflatten(-1, (4, 4))
    largest = rows.detach().diagonal(dim1=-2, dim2=-1).argmax(dim=-1)
    row = torch.take_along_dim(rows, largest[..., None, None], dim=-2).squeeze(-2)
    return torch.nn.functional.normalize(row, dim=-1)


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
