"""Distances and projections of rotations as operators of PyTorch, with their gradients.

Answers come from the kernels, on the processor: tensors of another device go there and back. To
`torch.compile` an operator is one opaque step.
"""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from .. import quat
from ..limit import Limit
from .rotations import Form, multiply, quaternions

NUDGE = 1e-5  # radians, of the turns by which the slope of projections is seen
_NUMBERS: WeakKeyDictionary[Limit, int] = WeakKeyDictionary()
_LIMITS: WeakValueDictionary[int, Limit] = WeakValueDictionary()
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
    plain = rotations if form == "quaternion" else quaternions(rotations, form)
    return numbered_distance(plain, number_of(limit))


def project(limit: Limit, rotations: Tensor, *, form: Form = "quaternion") -> Tensor:
    """Return the nearest legal rotations (..., 4) as quaternions; legal ones bit for bit.

    As `Limit.project`, with gradients, by differences to some 1e-9. Parameters are those of
    `distance`.
    """
    return _project(quaternions(rotations, form), number_of(limit))


def numbered_distance(rotations: Tensor, number: int) -> Tensor:
    """Return the distances (...) of quaternions, of any length but 0, from a limit."""
    distances: Tensor = _distance(rotations, number)[0]
    return distances


def number_of(limit: Limit) -> int:
    """Return the number by which operators know a limit, as long as that lives."""
    number = _NUMBERS.get(limit)
    if number is None:
        number = _NUMBERS[limit] = next(_NEXT)
        _LIMITS[number] = limit
    return number


def _array(tensor: Tensor) -> Any:
    """Return numbers as NumPy has them: float64 or float32."""
    known = tensor if tensor.dtype in (torch.float64, torch.float32) else tensor.float()
    return known.detach().cpu().numpy()


@torch.library.custom_op("synovia::distance", mutates_args=())
def _distance(rotations: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    given = _array(rotations)
    length = np.sqrt(np.einsum("...i,...i->...", given, given))[..., None]
    off = np.abs(length - 1.0).max(initial=0.0) > 4.0 * np.finfo(given.dtype).eps
    unit = given / length if off else given
    distances, gradients = _LIMITS[limit].distance_and_gradient(unit)
    if off:
        gradients = gradients / length
    return torch.as_tensor(distances).to(rotations), torch.as_tensor(gradients).to(rotations)


@_distance.register_fake
def _(rotations: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    shape = rotations.shape[:-1]
    return rotations.new_empty(shape), torch.empty_like(rotations)


def _save_gradient(ctx: Any, inputs: tuple[Tensor, int], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def _follow_gradient(ctx: Any, grown: Tensor, _: Tensor) -> tuple[Tensor, None]:
    _refuse_second_derivatives()
    (gradient,) = ctx.saved_tensors
    return grown[..., None] * gradient, None


_distance.register_autograd(_follow_gradient, setup_context=_save_gradient)


@torch.library.custom_op("synovia::project", mutates_args=())
def _project(rotations: Tensor, limit: int) -> Tensor:
    return torch.from_numpy(_LIMITS[limit].project(_array(rotations))).to(rotations)


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
            _LIMITS[limit].project(quat.mul(given, quat.exp(side * NUDGE * axis)))
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
