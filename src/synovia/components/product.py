"""Matrix multiplication: transforms one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np

from .. import kernels
from ..arrays import Floats, Vectors
from .component import Component, Kind, Step, check_names, matrices_of


@dataclass(frozen=True, eq=False)
class MatrixProduct(Component):
    """The product of the matrices on the inputs named `factors`, in that order.

    For column vectors the last factor acts first.
    """

    factors: tuple[str, ...]

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", check_names("Product.factors", self.factors))

    @property
    def inputs(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.factors, "matrix")

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        return partial(kernels.transforms.product, np.array(inputs, np.int64), outputs[0])

    @property
    def product_inputs(self) -> tuple[str, ...]:
        return self.factors

    def mirror(self, normal: Vectors) -> Self:
        return self

    def partials(self, table: Floats) -> Floats:
        factors = matrices_of(table.reshape(len(table), -1, 12))
        count = factors.shape[1]
        found = np.empty((len(table), 12, 12 * count))
        left = np.broadcast_to(np.eye(4), factors[:, 0].shape)
        for k in range(count):
            right = np.broadcast_to(np.eye(4), factors[:, 0].shape)
            for later in range(count - 1, k, -1):
                right = factors[:, later] @ right
            # d(L F R)[i, j] = L[i, a] R[b, j] for each entry (a, b) of the upper rows of F.
            share = np.einsum("nia,nbj->nijab", left[:, :3, :3], right)
            found[:, :, 12 * k : 12 * (k + 1)] = share.reshape(-1, 12, 12)
            left = left @ factors[:, k]
        return found
