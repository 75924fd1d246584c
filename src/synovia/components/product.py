"""Matrix multiplication: transforms one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from .. import kernels
from ..arrays import Vectors
from .component import Component, check_names
from .program import Instruction, Kind


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

    def bind(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Instruction:
        return Instruction(kernels.figure.PRODUCT, lists=(inputs,), offsets=outputs)

    def mirror(self, normal: Vectors) -> Self:
        return self
