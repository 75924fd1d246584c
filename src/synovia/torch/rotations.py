"""Rotations in the forms of networks to unit quaternions, by the kernels, with gradients."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from .. import kernels
from ..arrays import unit_rounding

Form = Literal["quaternion", "rotation-vector", "6d", "matrix"]  # in the order of `kernels.forms`
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
    whole = values.unsqueeze(-1 - len(SIZES[form]))
    return relative_rotations(whole, form, torch.tensor([[1, 0]]))[..., 0, :]


def relative_rotations(values: Tensor, form: Form, paths: Tensor) -> Tensor:
    """Return rotations (..., k, 4) of joints relative to ancestors, as unit quaternions.

    Parameters
    ----------
    values
        Rotations of joints relative to their parents, (..., J, *form).
    form
        Their form; see `quaternions`.
    paths
        Integers (k, 1 + longest): a number of joints, and these, from the outermost on.
    """
    made: Tensor = _Relative.apply(values, form, paths)
    return made


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


class FirstDerivative(torch.autograd.Function):
    """A gradient by `values` that cannot be differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient."""
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None]:
        """Raise RuntimeError."""
        raise RuntimeError("limits have first derivatives only")


class _Relative(torch.autograd.Function):
    """Relative rotations, with gradients by the kernel."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, form: str, paths: Tensor) -> Tensor:
        made: Tensor = _relative(values, form, paths)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, str, Tensor], output: Tensor) -> None:
        values, ctx.form, paths = inputs
        ctx.save_for_backward(values, paths)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        values, paths = ctx.saved_tensors
        gradient = _relative_backward(values.detach(), ctx.form, paths, grad.detach())
        return FirstDerivative.apply(values, gradient), None, None


@torch.library.custom_op("synovia::relative", mutates_args=())
def _relative(values: Tensor, form: str, paths: Tensor) -> Tensor:
    """Return what `relative_rotations` does."""
    given, known = as_array(values), paths.cpu().numpy()
    made = np.empty((*_batch(values, form), len(known), 4), given.dtype)
    rounding = 4.0 * unit_rounding(given.dtype)  # of the square, with those of its terms
    layout = _layout(values, form)
    kernels.forms.relative(given.reshape(-1), layout, known, rounding, made.reshape(-1))
    return torch.from_numpy(made).to(values)


@torch.library.custom_op("synovia::relative_backward", mutates_args=())
def _relative_backward(values: Tensor, form: str, paths: Tensor, grad: Tensor) -> Tensor:
    """Return gradients by values, given those (..., k, 4) by relative rotations."""
    given, by, known = as_array(values), as_array(grad), paths.cpu().numpy()
    gradients, by = np.zeros_like(given), by.astype(given.dtype, copy=False)
    flat = by.reshape(-1), gradients.reshape(-1)
    kernels.forms.add_gradients(given.reshape(-1), _layout(values, form), known, *flat)
    return torch.from_numpy(gradients).to(values)


def as_array(tensor: Tensor) -> Any:
    """Return values as a contiguous NumPy array of float64 or float32, on the CPU."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return np.ascontiguousarray(known.detach().cpu().numpy())


def _batch(values: Tensor, form: str) -> torch.Size:
    return values.shape[: -1 - len(SIZES[form])]


def _layout(values: Tensor, form: str) -> Any:
    """Return the number of a form, its size, and the number of joints."""
    size = SIZES[form]
    return np.array([FORMS.index(form), int(np.prod(size)), values.shape[-1 - len(size)]])


@_relative.register_fake
def _(values: Tensor, form: str, paths: Tensor) -> Tensor:
    return values.new_empty((*_batch(values, form), len(paths), 4))


@_relative_backward.register_fake
def _(values: Tensor, form: str, paths: Tensor, grad: Tensor) -> Tensor:
    return torch.empty_like(values)


@_relative.register_vmap
def _(info: Any, dims: tuple[Any, ...], values: Tensor, form: str, paths: Tensor) -> Any:
    return _relative(values.movedim(dims[0], 0), form, paths), 0


@_relative_backward.register_vmap
def _(
    info: Any, dims: tuple[Any, ...], values: Tensor, form: str, paths: Tensor, grad: Tensor
) -> Any:
    both = batched(info, (dims[0], dims[3]), values, grad)
    return _relative_backward(both[0], form, paths, both[1]), 0


def batched(info: Any, dims: tuple[Any, ...], *tensors: Tensor) -> list[Tensor]:
    """Return tensors with the mapped axis first, for an operator under `vmap`."""
    return [
        each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
        for each, dim in zip(tensors, dims, strict=True)
    ]
