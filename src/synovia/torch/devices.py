"""Limits by operations of PyTorch, for rotations on devices that the kernels do not run on.

Shapes and charts have these operations themselves, where they have any: see `torch_nearest` of a
shape and `torch_covers` of a chart. The nearest members are found without gradients; that of a
distance then follows from the slope in the chart, and from how points change with rotations.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arrays import TURN, tolerance
from ..charts import Chart
from ..limit import Limit
from ..shapes import Shape
from .registry import known_as
from .rotations import multiply

SINGLE = np.dtype(np.float32)
ROUNDING = 1e-6  # radians, of a distance from a shape's bounds
STEPS, GOLDEN = 60, 0.5 * (5.0**0.5 - 1.0)  # of the search along a line


def has_form(limit: Limit) -> bool:
    """Tell whether both chart and shape of a limit have operations of PyTorch."""
    shape, chart = type(limit.shape), type(limit.chart)
    if shape.torch_nearest is Shape.torch_nearest or chart.kernel is None:
        return False
    return chart.torch_covers is not Chart.torch_covers


@torch.compiler.assume_constant_result
def stays(number: int, device: str) -> bool:
    """Tell whether a limit has operations for a kind of device; warn if it has not."""
    limit = known_as(number)
    if has_form(limit) and (device != "mps" or not _is_double(limit)):
        return True
    warnings.warn(
        f"a {limit.shape.name} in {limit.chart.name} has no operations on {device}: rotations go "
        "to the processor and back",
        stacklevel=2,
    )
    return False


def on_processor(values: Tensor) -> bool:
    """Tell whether the kernels can read a tensor where it is."""
    return values.device.type == "cpu"


def measure(number: int, rotations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return points (n, d) of rotations (..., 4), distances (n,) from a limit, and slopes (n, d).

    Points have gradients by the rotations, and the slopes are those of the distances by the points.
    Beside a point stands how far its rotation is out of the chart's reach, if some are.
    """
    chart, (_, local, _) = known_as(number).chart, _enter(number, rotations)
    covers = chart.torch_covers(local, _constants(number).turns)
    beyond = chart.torch_shortfall(local)
    best, _, distances, slopes = _nearest(covers.detach(), number)
    points = covers.take_along_dim(best[None, :, None], dim=0)[0]
    if beyond is None:
        return points, distances, slopes
    out = beyond.detach()
    far = out > tolerance(np.dtype(np.float64))
    slopes = torch.where((far & (distances <= 0.0))[:, None], 0.0, slopes)
    distances = torch.where(far, out + distances.clamp(min=0.0), distances)
    points = torch.cat([points, beyond[:, None]], dim=-1)
    return points, distances, torch.cat([slopes, far.to(slopes)[:, None]], dim=-1)


def project(number: int, rotations: Tensor) -> Tensor:
    """Return the nearest legal rotations (..., 4), legal ones bit for bit, as `Limit.project`."""
    chart, (flat, local, sides) = known_as(number).chart, _enter(number, rotations)
    covers = chart.torch_covers(local, _constants(number).turns)
    _, members, distances, _ = _nearest(covers, number)
    legal = distances <= tolerance(np.dtype(np.float32 if _is_single(rotations) else np.float64))
    beyond = chart.torch_shortfall(local)
    if beyond is not None:
        legal = legal & (beyond <= tolerance(np.dtype(np.float64)))
    found = multiply(multiply(sides[2], chart.torch_rotations(members)), sides[3])
    found = torch.where((found * flat).sum(dim=-1, keepdim=True) < 0.0, -found, found)
    found = found.reshape(rotations.shape).to(rotations)
    return torch.where(legal.reshape(rotations.shape[:-1])[..., None], rotations, found)


def _is_single(values: Tensor) -> bool:
    return values.dtype != torch.float64


def _is_double(limit: Limit) -> bool:
    """Tell whether a limit is computed in float64 whatever comes in, as kernels do it."""
    return limit.precision(SINGLE) != SINGLE


class _Constants(NamedTuple):
    """What tensors need of a limit: the quaternions around them, covers, and the precision."""

    sides: list[float]
    turns: int
    double: bool


@torch.compiler.assume_constant_result
def _constants(number: int) -> _Constants:
    limit = known_as(number)
    turns = 1 + int(limit.region.reach((0, 1, 2)) // TURN)
    return _Constants([float(each) for each in limit.chart.packed[1:17]], turns, _is_double(limit))


def _enter(number: int, rotations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return unit quaternions (n, 4) of rotations (..., 4), in the chart's frame, and the sides."""
    constants = _constants(number)
    double = constants.double or not _is_single(rotations)
    flat = rotations.to(torch.float64 if double else torch.float32).reshape(-1, 4)
    flat = torch.nn.functional.normalize(flat, dim=-1)
    sides = torch.tensor(constants.sides, dtype=flat.dtype, device=flat.device).reshape(4, 4)
    return flat, multiply(multiply(sides[0], flat), sides[1]), sides


@torch.library.custom_op("synovia::nearest", mutates_args=())
def _nearest(covers: Tensor, limit: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return which of the covers (c, n, d) is nearest, its nearest member, distance and slope."""
    known: Limit = known_as(limit)
    slides = known.chart.torch_slides(covers[0])
    if slides is not None and bool((loose := slides.any(dim=-1)).any()):
        covers = covers.clone()
        covers[:, loose] += _slide(known.shape, covers[:, loose], slides[loose])
    best = _distances(known.shape, covers).argmin(dim=0)
    points = covers.take_along_dim(best[None, :, None], dim=0)[0]
    members, distances, slopes = known.shape.torch_nearest(points)
    if known.margin > 0.0:
        share = torch.where(distances > known.margin, known.margin / distances, 1.0)
        members = members + share[:, None] * (points - members)
    return best, members, distances - known.margin, slopes


@_nearest.register_fake
def _(covers: Tensor, limit: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _, n, d = covers.shape
    best = covers.new_empty(n, dtype=torch.int64)
    return best, covers.new_empty(n, d), covers.new_empty(n), covers.new_empty(n, d)


@_nearest.register_vmap
def _(info: Any, dims: tuple[Any, ...], covers: Tensor, limit: int) -> Any:
    covers = covers.movedim(dims[0], 1)
    found = _nearest(covers.flatten(1, 2), limit)
    return [each.unflatten(0, covers.shape[1:3]) for each in found], [0] * 4


def _distances(shape: Shape, covers: Tensor) -> Tensor:
    """Return distances in covers (c, n, d), infinite where another is nearer: as `Limit` does."""
    low, high = covers.new_tensor(np.asarray(shape.bounds))
    least = (covers - covers.clamp(low, high)).norm(dim=-1)
    first = covers.take_along_dim(least.argmin(dim=0)[None, :, None], dim=0)[0]
    worth = least <= shape.torch_nearest(first).distances.clamp(min=0.0) + ROUNDING
    distances = torch.full_like(least, torch.inf)
    distances[worth] = shape.torch_nearest(covers[worth]).distances
    return distances


def _slide(shape: Shape, covers: Tensor, along: Tensor) -> Tensor:
    """Return by what covers (c, n, d) move along lines (n, d) to where they are nearest.

    Distances from a convex shape have no second least one along a line.
    """

    def distances(ways: Tensor) -> Tensor:
        moved = (covers + ways[..., None] * along).flatten(0, 1)
        return shape.torch_nearest(moved).distances.reshape(ways.shape)

    high = torch.full_like(covers[..., 0], np.pi)
    low = -high
    for _ in range(STEPS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left = distances(a) < distances(b)
        low, high = torch.where(left, low, a), torch.where(left, b, high)
    return (0.5 * (low + high))[..., None] * along
