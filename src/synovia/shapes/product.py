"""Product: a shape for the swing and an interval for the twist, each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ..arrays import Floats, Points, Scalars
from ..kernels.layout import PRODUCT
from .ellipsoid import Ellipsoid
from .polytope import Box, KDop
from .region import THIN, Convex, Region, check_margin, sample_points

SWINGS: dict[str, type[Box] | type[Ellipsoid] | type[KDop]] = {
    shape.name: shape for shape in (Box, Ellipsoid, KDop)
}


@dataclass(frozen=True, eq=False)
class Product(Convex):
    """All points whose first two coordinates are in `swing` and whose third is in [low, high]."""

    swing: Annotated[Box | Ellipsoid | KDop, 2]
    low: float
    high: float

    name: ClassVar[str] = "product"
    kernel: ClassVar[int | None] = PRODUCT
    charts: ClassVar[tuple[str, ...]] = ("swing-twist",)

    def __post_init__(self) -> None:
        if self.swing.dimension != 2:
            raise ValueError(f"Product.swing must be a shape of the plane, got {self.swing}")
        low, high = float(self.low), float(self.high)
        if not (np.isfinite([low, high]).all() and low <= high):
            raise ValueError(f"Product.low must not exceed Product.high, got {low} and {high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def fit(
        cls, points: Points, *, margin: float = 0.0, swing: str = "ellipsoid", **options: Any
    ) -> Self:
        """Return the product around `points`; `swing` names the shape of the first two coordinates.

        Further options go to the fit of that shape.
        """
        points, margin = sample_points(points, (3,)), check_margin(margin)
        if swing not in SWINGS:
            raise ValueError(f"swing must be one of {', '.join(SWINGS)}, got {swing!r}")
        plane = SWINGS[swing].fit(points[:, :2], margin=margin, **options)
        twist = points[:, 2]
        return cls(plane, float(twist.min()) - margin, float(twist.max()) + margin)

    @classmethod
    def fit_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        swing = SWINGS.get(given.get("swing", "ellipsoid"))
        options = {} if swing is None else swing.fit_options(given)
        return {"swing": Literal[tuple(SWINGS)], **options}

    @cached_property
    def packed(self) -> Floats:
        return np.concatenate([[PRODUCT, self.low, self.high], self.swing.packed])

    @property
    def bounds(self) -> Points:
        return np.concatenate([self.swing.bounds, [[self.low], [self.high]]], axis=1)

    def reach(self, columns: tuple[int, ...]) -> float:
        across = tuple(c for c in columns if c < 2)
        swing = self.swing.reach(across) if across else 0.0
        twist = max(abs(self.low), abs(self.high)) if 2 in columns else 0.0
        return float(np.hypot(swing, twist))

    def turn(self, turn: Floats) -> Region:
        if turn[2, 2] > -1.0 + 1e-9:  # about the bone only: a mirrored one twists the other way
            return super().turn(turn)
        return replace(self, swing=self.swing.turn(turn[:2, :2]), low=-self.high, high=-self.low)

    def grow(self, r: float) -> Self:
        """Return the product with swing and twist grown by `r` radians."""
        return replace(self, swing=self.swing.grow(r), low=self.low - r, high=self.high + r)

    def shrink(self, r: float) -> Self:
        """Return the product with swing and twist shrunk by `r`, while members are left."""
        step = min(r, 0.5 * (self.high - self.low))
        low = self.low + step
        return replace(self, swing=self.swing.shrink(r), low=low, high=max(self.high - step, low))

    @property
    def deepest(self) -> Points:
        return np.append(self.swing.deepest, 0.5 * (self.low + self.high))

    def required_margin(self, points: Points) -> Scalars:
        twist = np.maximum(points[..., 2] - self.high, self.low - points[..., 2])
        return np.asarray(np.maximum(self.swing.required_margin(points[..., :2]), twist))

    @property
    def measure(self) -> float:
        height = self.high - self.low
        return self.swing.measure * height if height > THIN else 0.0

    def scatter(self, n: int, rng: np.random.Generator) -> Points:
        twist = rng.uniform(self.low, self.high, size=(n, 1))
        return np.concatenate([self.swing.scatter(n, rng), twist], axis=1)
