"""Settings: how to go down to goals, how far, and in how many threads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from ..arrays import whole_number

TOLERANCE = 2e-4
"""A goal is met when less is left of it, as a share of the chain's length."""


@dataclass(frozen=True)
class Settings:
    """Checked: numbers of steps, radians a step, what counts as met, threads or None for all."""

    restarts: int
    iterations: int
    largest_step: float
    tolerance: float
    threads: int | None

    def __post_init__(self) -> None:
        for name, least in (("restarts", 0), ("iterations", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.threads is not None:
            object.__setattr__(self, "threads", whole_number("threads", self.threads, 1))
        for name in ("largest_step", "tolerance"):
            check_above_0(name, getattr(self, name))


def check_above_0(name: str, number: float) -> None:
    """Refuse what is not a finite number above 0."""
    if not (isinstance(number, Real) and 0.0 < float(number) < math.inf):
        raise ValueError(f"{name} must be above 0 and finite, got {number!r}")
