"""Distances and projections of rotations as PyTorch operators with gradients.

All values come from the kernels, which run on the CPU: tensors on another device are copied there
and back. The distance kernel also writes the gradient, so a backward pass is one product.
`torch.compile` and `torch.func` see an opaque operator without gradients, followed by that product.
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
from .registry import id_of, object_of
from .rotations import FORMS, SIZES, Form, check_form, multiply, quaternions

STEP = 1e-5  # radians; half the base of the central differences of projections


def distance(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return the signed distances (...) from `limit`, in radians of its chart; at most 0 inside.

    The values of `Limit.distance`, with the dtype and device of `rotations`, and with gradients
    (see `Limit.distance_and_gradient`), but no second derivatives.

    Parameters
    ----------
    limit
        A limit of any chart and shape.
    rotations
        Rotations of any batch shape; see `quaternions` for the forms.
    form
        The form of `rotations`.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> limit = Limit(RotationVector(), Box(low=[-1] * 3, high=[1] * 3, axes=np.eye(3)))
    >>> vector = torch.tensor([0.0, 1.5, 0.0], requires_grad=True)
    >>> beyond = distance(limit, vector, form="rotation-vector")
    >>> beyond.backward()
    >>> round(beyond.item(), 4), [round(slope.item(), 4) for slope in vector.grad]
    (0.5, [0.0, 1.0, 0.0])
    """
    check_form(rotations, form)
    if not limit.compiled and form != "quaternion":
        rotations, form = quaternions(rotations, form), "quaternion"
    return distance_by_id(rotations, id_of(limit), form)


def project(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return the nearest legal rotations (..., 4) as quaternions; legal ones bit for bit.

    As `Limit.project`, with gradients by differences, accurate to about 1e-9. Parameters are those
    of `distance`.
    """
    nearest: Tensor = _Projection.apply(quaternions(rotations, form), id_of(limit))
    return nearest


def distance_by_id(values: Tensor, limit_id: int, form: Form = "quaternion") -> Tensor:
    """Return the distances (...) of rotations of a form from the limit with this id."""
    distances: Tensor = _WithGradient.apply(values, *_distance(values.detach(), limit_id, form))
    return distances


def _array(tensor: Tensor) -> Any:
    """Return the values as a NumPy array of float64 or float32, on the CPU."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return known.detach().cpu().numpy()


class _WithGradient(torch.autograd.Function):
    """Precomputed results (...) for values (..., k), with precomputed gradients (..., k)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, results: Tensor, gradients: Tensor) -> Tensor:
        return results.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], inputs[2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        values, gradients = ctx.saved_tensors
        factor = grad.reshape(grad.shape + (1,) * (gradients.ndim - grad.ndim))
        return _FirstDerivative.apply(values, factor * gradients), None, None


class _FirstDerivative(torch.autograd.Function):
    """A gradient by `values` that cannot be differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor, gradient: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None]:
        raise RuntimeError("limits have first derivatives only")


@torch.library.custom_op("synovia::distance", mutates_args=())
def _distance(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    """Return distances (...) of rotations of a form, and gradients by their components."""
    given, known = np.ascontiguousarray(_array(values)), object_of(limit)
    batch = given.shape[: given.ndim - len(SIZES[form])]
    if known.compiled:
        distances, gradients = np.empty(batch, given.dtype), np.empty_like(given)
        outputs = (distances.reshape(-1), gradients.reshape(-1))
        number, size = FORMS.index(form), int(np.prod(SIZES[form]))
        kernels.gradient.measure(given.reshape(-1), number, size, known.packed, *outputs)
    else:
        length = np.linalg.norm(given, axis=-1, keepdims=True)
        distances, gradients = known.distance_and_gradient(given / length)
        gradients = gradients / length
    return torch.as_tensor(distances).to(values), torch.as_tensor(gradients).to(values)


@_distance.register_fake
def _(values: Tensor, limit: int, form: str) -> tuple[Tensor, Tensor]:
    batch = values.shape[: values.ndim - len(SIZES[form])]
    return values.new_empty(batch), values.new_empty(values.shape)


@_distance.register_vmap
def _(info: Any, dims: tuple[Any, ...], values: Tensor, limit: int, form: str) -> Any:
    return _distance(values.movedim(dims[0], 0), limit, form), (0, 0)


@dataclass(frozen=True, eq=False)
class PackedLoss:
    """Arguments of `kernels.gradient.loss`: the limits of a model, and the form of the poses."""

    form: Form
    joints: int
    paths: Ints
    packed: Floats
    margin: float


def loss_by_id(poses: Tensor, loss_id: int) -> Tensor:
    """Return the mean cost, in radians², of poses (..., J, form) by the `PackedLoss` of this id."""
    cost: Tensor = _WithGradient.apply(poses, *_loss(poses.detach(), loss_id))
    return cost


@torch.library.custom_op("synovia::loss", mutates_args=())
def _loss(poses: Tensor, loss: int) -> tuple[Tensor, Tensor]:
    """Return the mean cost (), and its gradient by the poses."""
    given, known = np.ascontiguousarray(_array(poses)), object_of(loss)
    gradients, size = np.zeros_like(given), int(np.prod(SIZES[known.form]))
    layout = np.array([FORMS.index(known.form), size, known.joints])
    cost = kernels.gradient.loss(
        given.reshape(-1), layout, known.paths, known.packed, known.margin, gradients.ravel()
    )
    return poses.new_tensor(cost), torch.as_tensor(gradients).to(poses)


@_loss.register_fake
def _(poses: Tensor, loss: int) -> tuple[Tensor, Tensor]:
    return poses.new_empty(()), poses.new_empty(poses.shape)


@_loss.register_vmap
def _(info: Any, dims: tuple[Any, ...], poses: Tensor, loss: int) -> Any:
    costs, gradients = zip(*(_loss(each, loss) for each in poses.unbind(dims[0])), strict=True)
    return (torch.stack(costs), torch.stack(gradients)), (0, 0)


class _Projection(torch.autograd.Function):
    """Nearest legal rotations, with gradients by central differences."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rotations: Tensor, limit: int) -> Tensor:
        nearest: Tensor = _project(rotations, limit)
        return nearest

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        rotations, ctx.limit = inputs
        ctx.save_for_backward(rotations)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rotations,) = ctx.saved_tensors
        given = rotations.detach()
        by_turns = _project_backward(given, grad.detach(), ctx.limit)
        # With q · exp(ω), the gradient by q is 2 q · (0, the gradient by ω).
        gradient = 2.0 * multiply(given, torch.nn.functional.pad(by_turns, (1, 0)))
        return _FirstDerivative.apply(rotations, gradient), None


@torch.library.custom_op("synovia::project", mutates_args=())
def _project(rotations: Tensor, limit: int) -> Tensor:
    """Return the nearest legal rotations (..., 4)."""
    return torch.from_numpy(object_of(limit).project(_array(rotations))).to(rotations)


@_project.register_fake
def _(rotations: Tensor, limit: int) -> Tensor:
    return torch.empty_like(rotations)


@_project.register_vmap
def _(info: Any, dims: tuple[Any, ...], rotations: Tensor, limit: int) -> Any:
    return _project(rotations.movedim(dims[0], 0), limit), 0


@torch.library.custom_op("synovia::project_backward", mutates_args=())
def _project_backward(rotations: Tensor, grad: Tensor, limit: int) -> Tensor:
    """Return the gradient (..., 3) by the vector ω of q · exp(ω), per radian.

    `grad` (..., 4) is the gradient by the projections.
    """
    given, along = (each.cpu().double() for each in (rotations, grad))
    slopes = []
    for axis in range(3):
        turn = torch.zeros(4, dtype=torch.float64)
        turn[0], turn[1 + axis] = np.cos(0.5 * STEP), np.sin(0.5 * STEP)
        back = turn * torch.tensor([1.0, -1.0, -1.0, -1.0])
        after, before = (_project(multiply(given, each), limit) for each in (turn, back))
        slopes.append(((after - before) * along).sum(dim=-1) / (2.0 * STEP))
    return torch.stack(slopes, dim=-1).to(rotations)


@_project_backward.register_fake
def _(rotations: Tensor, grad: Tensor, limit: int) -> Tensor:
    return rotations.new_empty((*rotations.shape[:-1], 3))


@_project_backward.register_vmap
def _(info: Any, dims: tuple[Any, ...], rotations: Tensor, grad: Tensor, limit: int) -> Any:
    both = [
        each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
        for each, dim in zip((rotations, grad), dims, strict=False)
    ]
    return _project_backward(*both, limit), 0
