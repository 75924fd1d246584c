"""Distances and projections of rotations as operators of PyTorch, with their gradients.

On the processor answers come from the kernels. One of them reads rotations in the form that they
have, and writes distances and gradients by the same numbers, so that a backward pass is one
product. `torch.compile` and `torch.func` see an opaque step without gradients, and that product.
For other devices see `devices`; where a limit has no operations there, tensors go to the processor
and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import kernels
from ..arrays import Floats, Ints
from ..limit import Limit
from . import devices
from .registry import known_as, number_of
from .rotations import FORMS, SIZES, Form, check_form, multiply, quaternions

NUDGE = 1e-5  # radians, of the turns by which the slope of projections is seen


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
    found: Tensor = _Projection.apply(quaternions(rotations, form), number_of(limit))
    return found


def numbered_distance(values: Tensor, number: int, form: Form = "quaternion") -> Tensor:
    """Return the distances (...) of rotations of a form from a limit."""
    if not devices.on_processor(values) and devices.stays(number, values.device.type):
        rotations = quaternions(values, form)
        found: Tensor = _Sloped.apply(*devices.measure(number, rotations))
        found = found.reshape(rotations.shape[:-1]).to(values.dtype)
    elif torch.compiler.is_compiling() or is_transformed():
        found = _Sloped.apply(values, *_distance(values.detach(), number, form))
    else:
        found = _Distance.apply(values, number, form)
    return found


def is_transformed() -> bool:
    """Tell whether a transform of `torch.func` is at work, as `torch.autograd.Function` asks."""
    return bool(torch._C._are_functorch_transforms_active())


def _array(tensor: Tensor) -> Any:
    """Return numbers as NumPy has them: float64 or float32."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return known.detach().cpu().numpy()


def _measure(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    """Return distances of rotations of a form, and gradients by their numbers."""
    given, known = np.ascontiguousarray(_array(values)), known_as(limit)
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
    """Distances by a kernel, where a gradient may be scaled in place.

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
        (values,) = ctx.saved_tensors
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:
            gradient = _measure(values, ctx.limit, ctx.form)[1]
        if torch.is_grad_enabled():
            return _Once.apply(values, _widen(grown, gradient) * gradient), None, None
        if grown.numel() and not any(grown.stride()):  # of a sum or a mean: all alike
            factor = grown[(0,) * grown.ndim]
            return gradient if factor == 1.0 else gradient.mul_(factor), None, None
        return gradient.mul_(_widen(grown, gradient)), None, None


class _Sloped(torch.autograd.Function):
    """Numbers (...) that were found for values (..., k), with gradients by these."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, found: Tensor, gradients: Tensor) -> Tensor:
        return found.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], inputs[2])

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[Tensor, None, None]:
        values, gradients = ctx.saved_tensors
        return _Once.apply(values, _widen(grown, gradients) * gradients), None, None


class _Once(torch.autograd.Function):
    """A first derivative by values, which has none itself."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, slopes: Tensor) -> Tensor:
        return slopes.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[None, None]:
        raise RuntimeError("limits have first derivatives only")


def _widen(grown: Tensor, gradient: Tensor) -> Tensor:
    """Return numbers (...) with axes of length 1 after them, as many as the gradient has more."""
    return grown.reshape(grown.shape + (1,) * (gradient.ndim - grown.ndim))


@torch.library.custom_op("synovia::distance", mutates_args=())
def _distance(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    return _measure(values, limit, form)


@_distance.register_fake
def _(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    batch = values.shape[: values.ndim - len(SIZES[form])]
    return values.new_empty(batch), values.new_empty(values.shape)


@_distance.register_vmap
def _(info: Any, dims: tuple[Any, ...], values: Tensor, limit: int, form: str) -> Any:
    return _distance(values.movedim(dims[0], 0), limit, form), (0, 0)


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
    cost: Tensor = _Sloped.apply(poses, *_loss(poses.detach(), number))
    return cost


@torch.library.custom_op("synovia::loss", mutates_args=())
def _loss(poses: Tensor, loss: int) -> tuple[Tensor, Tensor]:
    given, known = np.ascontiguousarray(_array(poses)), known_as(loss)
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


class _Projection(torch.autograd.Function):
    """Nearest legal rotations, with gradients by differences."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rotations: Tensor, limit: int) -> Tensor:
        found: Tensor = _project(rotations, limit)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        rotations, ctx.limit = inputs
        ctx.save_for_backward(rotations)

    @staticmethod
    def backward(ctx: Any, grown: Tensor) -> tuple[Tensor, None]:
        (rotations,) = ctx.saved_tensors
        turns = _project_backward(rotations.detach(), grown.detach(), ctx.limit)
        return _Once.apply(rotations, _by_components(rotations.detach(), turns)), None


@torch.library.custom_op("synovia::project", mutates_args=())
def _project(rotations: Tensor, limit: int) -> Tensor:
    return _nearest(rotations, limit)


@_project.register_fake
def _(rotations: Tensor, limit: int) -> Tensor:
    return torch.empty_like(rotations)


@_project.register_vmap
def _(info: Any, dims: tuple[Any, ...], rotations: Tensor, limit: int) -> Any:
    return _project(rotations.movedim(dims[0], 0), limit), 0


def _nearest(rotations: Tensor, limit: int) -> Tensor:
    """Return the nearest legal rotations, found on their device or by kernels."""
    if not devices.on_processor(rotations) and devices.stays(limit, rotations.device.type):
        return devices.project(limit, rotations)
    return torch.from_numpy(known_as(limit).project(_array(rotations))).to(rotations)


@torch.library.custom_op("synovia::project_backward", mutates_args=())
def _project_backward(rotations: Tensor, grown: Tensor, limit: int) -> Tensor:
    """Return what `grown` (..., 4) by the projections is by small turns (..., 3), per radian."""
    given = rotations if rotations.device.type != "mps" else rotations.cpu()
    given, along = given.double(), grown.to(given)
    slopes = []
    for axis in range(3):
        turn = torch.zeros(4, dtype=torch.float64)
        turn[0], turn[1 + axis] = np.cos(0.5 * NUDGE), np.sin(0.5 * NUDGE)
        ends = [
            _nearest(multiply(given, way.to(given)), limit)
            for way in (turn, turn * torch.tensor([1.0, -1.0, -1.0, -1.0]))
        ]
        slopes.append(((ends[0] - ends[1]) * along).sum(dim=-1) / (2.0 * NUDGE))
    return torch.stack(slopes, dim=-1).to(rotations)


@_project_backward.register_fake
def _(rotations: Tensor, grown: Tensor, limit: int) -> Tensor:
    return rotations.new_empty((*rotations.shape[:-1], 3))


@_project_backward.register_vmap
def _(info: Any, dims: tuple[Any, ...], rotations: Tensor, grown: Tensor, limit: int) -> Any:
    both = [
        each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
        for each, dim in zip((rotations, grown), dims, strict=False)
    ]
    return _project_backward(*both, limit), 0


def _by_components(rotations: Tensor, turns: Tensor) -> Tensor:
    """Return gradients (..., 4) by quaternions of those by small turns (..., 3): 2 q · (0, g)."""
    return 2.0 * multiply(rotations, torch.nn.functional.pad(turns, (1, 0)))
