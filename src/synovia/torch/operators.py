"""Distances and projections of rotations as operators of PyTorch, with their gradients.

Answers come from the kernels, on the processor: tensors of another device go there and back. One
kernel reads rotations in the form that they have, and writes distances and gradients by the same
numbers, so that a backward pass is one product. To `torch.compile` an operator is one opaque step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from .. import kernels, quat
from ..arrays import Floats, Ints
from ..limit import Limit
from .rotations import FORMS, SIZES, Form, check_form, multiply, quaternions

NUDGE = 1e-5  # radians, of the turns by which the slope of projections is seen
_NUMBERS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_KNOWN: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NEXT = count()


def distance(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return how far outside `limit` rotations are, in radians of its chart; at most 0 inside.

    The same numbers as `Limit.distance`, in the type of `rotations` and on their device, with
    gradients (see `Limit.distance_and_gradient`), but no second derivatives.

    Parameters
    ----------
    limit
        Of any chart and shape.
    rotations
        Of any batch shape; see `quaternions` for the forms.
    form
        What they are.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> limit = Limit(RotationVector(), Box(low=[-1] * 3, high=[1] * 3, axes=np.eye(3)))
    >>> turn = torch.tensor([0.0, 1.5, 0.0], requires_grad=True)
    >>> beyond = distance(limit, turn, form="rotation-vector")
    >>> beyond.backward()
    >>> round(beyond.item(), 4), [round(slope.item(), 4) for slope in turn.grad]
    (0.5, [0.0, 1.0, 0.0])
    """
    check_form(rotations, form)
    if not limit.compiled and form != "quaternion":
        rotations, form = quaternions(rotations, form), "quaternion"
    return numbered_distance(rotations, number_of(limit), form)


def project(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return the nearest legal rotations (..., 4) as quaternions; legal ones bit for bit.

    As `Limit.project`, with gradients, by differences to some 1e-9. Parameters are those of
    `distance`.
    """
    return _project(quaternions(rotations, form), number_of(limit))


def numbered_distance(values: Tensor, number: int, form: Form = "quaternion") -> Tensor:
    """Return the distances (...) of rotations of a form from a limit."""
    if torch.compiler.is_compiling():
        found: Tensor = _distance(values, number, form)[0]
    else:
        found = _Distance.apply(values, number, form)
    return found


def number_of(known: Limit | PackedLoss) -> int:
    """Return the number by which operators know a limit or a loss, as long as that lives."""
    number = _NUMBERS.get(known)
    if number is None:
        number = _NUMBERS[known] = next(_NEXT)
        _KNOWN[number] = known
    return number


def _array(tensor: Tensor) -> Any:
    """Return numbers as NumPy has them: float64 or float32."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return known.detach().cpu().numpy()


def _measure(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    """Return distances of rotations of a form, and gradients by their numbers."""
    given, known = np.ascontiguousarray(_array(values)), _KNOWN[limit]
    batch = given.shape[: given.ndim - len(SIZES[form])]
    if known.compiled:
        distances, gradients = np.empty(batch, given.dtype), np.empty_like(given)
        exact = kernels.gradient.has_formula(known.packed, 0)
        precision = known.precision(given.dtype) if exact else np.float64
        work = np.empty(2 * kernels.rotation.BLOCK, precision)
        flat = (distances.reshape(-1), gradients.reshape(-1), work)
        number, size = FORMS.index(form), int(np.prod(SIZES[form]))
        kernels.gradient.measure(given.reshape(-1), number, size, known.packed, *flat)
    else:
        length = np.linalg.norm(given, axis=-1, keepdims=True)
        distances, gradients = known.distance_and_gradient(given / length)
        gradients = gradients / length
    return torch.as_tensor(distances).to(values), torch.as_tensor(gradients).to(values)


class _Distance(torch.autograd.Function):
    """Distances, outside of `torch.compile`, where a gradient may be scaled in place.

    It is made by the forward pass and used up by the backward pass; if there is another one, it is
    made anew.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, limit: int, form: str) -> Tensor:
        distances, ctx.gradient = _measure(values, limit, form)
        ctx.save_for_backward(values)
        ctx.limit, ctx.form = limit, form
        return distances

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[Tensor, None, None]:
        _refuse_second_derivatives()
        (values,) = ctx.saved_tensors
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:
            gradient = _measure(values, ctx.limit, ctx.form)[1]
        if grown.numel() and not any(grown.stride()):  # of a sum or a mean: all alike
            factor = grown[(0,) * grown.ndim]
            return gradient if factor == 1.0 else gradient.mul_(factor), None, None
        return gradient.mul_(_widen(grown, gradient)), None, None


@torch.library.custom_op("synovia::distance", mutates_args=())
def _distance(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    return _measure(values, limit, form)


@_distance.register_fake
def _(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    batch = values.shape[: values.ndim - len(SIZES[form])]
    return values.new_empty(batch), values.new_empty(values.shape)


def _save_gradient(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def _follow_gradient(ctx: Any, grown: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
    _refuse_second_derivatives()
    (gradient,) = ctx.saved_tensors
    return _widen(grown, gradient) * gradient, None, None


def _widen(grown: Tensor, gradient: Tensor) -> Tensor:
    """Return numbers (...) with axes of length 1 after them, as many as the gradient has more."""
    return grown.reshape(grown.shape + (1,) * (gradient.ndim - grown.ndim))


_distance.register_autograd(_follow_gradient, setup_context=_save_gradient)


@dataclass(frozen=True, eq=False)
class PackedLoss:
    """The limits of a model as the kernel of the loss reads them; see `kernels.gradient.loss`."""

    form: Form
    joints: int
    paths: Ints
    packed: Floats
    margin: float


def numbered_loss(poses: Tensor, number: int) -> Tensor:
    """Return the mean over poses (..., J, form) of what joints cost that are outside, radians²."""
    cost: Tensor = _loss(poses, number)[0]
    return cost


@torch.library.custom_op("synovia::loss", mutates_args=())
def _loss(poses: Tensor, loss: int) -> tuple[Tensor, Tensor]:
    given, known = np.ascontiguousarray(_array(poses)), _KNOWN[loss]
    gradients, size = np.zeros_like(given), int(np.prod(SIZES[known.form]))
    layout = np.array([FORMS.index(known.form), size, known.joints])
    work = np.empty(2 * kernels.rotation.BLOCK)
    cost = kernels.gradient.loss(
        given.reshape(-1), layout, known.paths, known.packed, known.margin, gradients.ravel(), work
    )
    return poses.new_tensor(cost), torch.as_tensor(gradients).to(poses)


@_loss.register_fake
def _(poses: Tensor, loss: int) -> tuple[Tensor, Tensor]:
    return poses.new_empty(()), poses.new_empty(poses.shape)


def _follow_loss(ctx: Any, grown: Tensor, _: Tensor) -> tuple[Tensor, None]:
    _refuse_second_derivatives()
    (gradient,) = ctx.saved_tensors
    return grown * gradient, None


_loss.register_autograd(_follow_loss, setup_context=_save_gradient)


@torch.library.custom_op("synovia::project", mutates_args=())
def _project(rotations: Tensor, limit: int) -> Tensor:
    return torch.from_numpy(_KNOWN[limit].project(_array(rotations))).to(rotations)


@_project.register_fake
def _(rotations: Tensor, limit: int) -> Tensor:
    return torch.empty_like(rotations)


@torch.library.custom_op("synovia::project_backward", mutates_args=())
def _project_backward(rotations: Tensor, grown: Tensor, limit: int) -> Tensor:
    """Return what `grown` (..., 4) by the projections is by small turns (..., 3), per radian."""
    given, along = _array(rotations).astype(np.float64), _array(grown)
    slopes = []
    for axis in np.eye(3):
        ends = [
            _KNOWN[limit].project(quat.mul(given, quat.exp(side * NUDGE * axis)))
            for side in (1.0, -1.0)
        ]
        slopes.append(np.sum((ends[0] - ends[1]) * along, axis=-1) / (2.0 * NUDGE))
    return torch.as_tensor(np.stack(slopes, axis=-1)).to(rotations)


@_project_backward.register_fake
def _(rotations: Tensor, grown: Tensor, limit: int) -> Tensor:
    return rotations.new_empty((*rotations.shape[:-1], 3))


def _save_rotations(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
    rotations, ctx.limit = inputs
    ctx.save_for_backward(rotations)


def _follow_projection(ctx: Any, grown: Tensor) -> tuple[Tensor, None]:
    _refuse_second_derivatives()
    (rotations,) = ctx.saved_tensors
    return _by_components(rotations, _project_backward(rotations, grown, ctx.limit)), None


_project.register_autograd(_follow_projection, setup_context=_save_rotations)


def _by_components(rotations: Tensor, turns: Tensor) -> Tensor:
    """Return gradients (..., 4) by quaternions of those by small turns (..., 3): 2 q · (0, g)."""
    return 2.0 * multiply(rotations, torch.nn.functional.pad(turns, (1, 0)))


def _refuse_second_derivatives() -> None:
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        raise RuntimeError("limits have first derivatives only; use backward without create_graph")
