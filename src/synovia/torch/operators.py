"""Distances and projections of rotations as PyTorch operators with gradients.

All values come from the kernels, which run on the CPU: tensors on another device are copied there
and back. The distance kernel also writes the gradient, so a backward pass is one product.
`torch.compile` and `torch.func` see an opaque operator without gradients, followed by that product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from .. import kernels
from ..arrays import Floats, Ints, Quats, Scalars
from ..limit import Limit
from ..model import pack_limits
from .rotations import Form, multiply, quaternions

STEP = 1e-5  # radians; half the base of the central differences of projections

# Operators take only tensors and numbers, so limits and losses have ids.
_IDS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_OBJECTS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NEXT = count()


@torch.compiler.assume_constant_result
def id_of(known: Any) -> int:
    """Return the id of a limit or a loss, valid as long as that object lives."""
    number = _IDS.get(known)
    if number is None:
        number = _IDS[known] = next(_NEXT)
        _OBJECTS[number] = known
    return number


def object_of(number: int) -> Any:
    """Return the object with this id; RuntimeError if it was deleted."""
    known = _OBJECTS.get(number)
    if known is None:
        raise RuntimeError("the limit or loss that this was compiled for is gone: keep it alive")
    return known


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
    return distances_by_id(quaternions(rotations, form)[..., None, :], id_of(limit))[..., 0]


def project(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return the nearest legal rotations (..., 4) as quaternions; legal ones bit for bit.

    As `Limit.project`, with gradients by differences, accurate to about 1e-9. Parameters are those
    of `distance`.
    """
    nearest: Tensor = _Projection.apply(quaternions(rotations, form), id_of(limit))
    return nearest


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of several joints, and whether `kernels.limit` evaluates all of them."""

    limits: tuple[Limit, ...]

    @cached_property
    def packed(self) -> tuple[Ints, Floats]:
        """The offsets of the packed limits, and these one after another."""
        return pack_limits(self.limits)

    def measure(self, rotations: Quats, least: float) -> tuple[Scalars, Floats]:
        """Return the distances (..., k) of rotations (..., k, 4), and gradients (..., k, 4).

        Gradients are by the quaternions; where a distance is at most `least` they may be 0.
        """
        distances, gradients = np.empty(rotations.shape[:-1], rotations.dtype), rotations.copy()
        if all(limit.compiled for limit in self.limits):
            flat = distances.reshape(-1, len(self.limits)), gradients.reshape(-1)
            kernels.limit.measure_gradients(rotations.reshape(-1), *self.packed, least, *flat)
        else:
            for k, limit in enumerate(self.limits):
                distances[..., k], gradients[..., k, :] = limit.distance_and_gradient(
                    rotations[..., k, :]
                )
        return distances, gradients


def distances_by_id(rotations: Tensor, number: int, least: float = -np.inf) -> Tensor:
    """Return the distances (..., k) of unit quaternions (..., k, 4) from the limits with this id.

    They are those of one limit, or of `JointLimits`. Distances of at most `least` have no gradient.
    """
    measured = _distances(rotations.detach(), number, least)
    distances: Tensor = _WithGradient.apply(rotations, *measured)
    return distances


def as_array(tensor: Tensor) -> Any:
    """Return values as a contiguous NumPy array of float64 or float32, on the CPU."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return np.ascontiguousarray(known.detach().cpu().numpy())


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


class _WithGradient(torch.autograd.Function):
    """Precomputed results (...) for values (..., 4), with precomputed gradients (..., 4)."""

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
        return _FirstDerivative.apply(values, grad[..., None] * gradients), None, None


@torch.library.custom_op("synovia::distances", mutates_args=())
def _distances(rotations: Tensor, limits: int, least: float) -> tuple[Tensor, Tensor]:
    """Return distances (..., k) of unit quaternions (..., k, 4), and gradients by these."""
    known = object_of(limits)
    known = JointLimits((known,)) if isinstance(known, Limit) else known
    distances, gradients = known.measure(as_array(rotations), least)
    return torch.as_tensor(distances).to(rotations), torch.as_tensor(gradients).to(rotations)


@_distances.register_fake
def _(rotations: Tensor, limits: int, least: float) -> tuple[Tensor, Tensor]:
    return rotations.new_empty(rotations.shape[:-1]), rotations.new_empty(rotations.shape)


@_distances.register_vmap
def _(info: Any, dims: tuple[Any, ...], rotations: Tensor, limits: int, least: float) -> Any:
    return _distances(rotations.movedim(dims[0], 0), limits, least), (0, 0)


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
    return torch.from_numpy(object_of(limit).project(as_array(rotations))).to(rotations)


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
    batched = [
        each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
        for each, dim in zip((rotations, grad), dims[:2], strict=True)
    ]
    return _project_backward(*batched, limit), 0
