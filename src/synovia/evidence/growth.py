"""Growing: a family's limit for those who are held out, from tight to wide by its margin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from ..arrays import Mask, Quats, Scalars, Vectors
from ..fitting import NEAR, Recipe, people_field
from ..limit import Limit
from ..people import People
from .curve import uniform_rotations
from .folds import Fold, Joint, widened

VOLUME_SAMPLES = 4000
"""Members that the volume of one limit is measured by; the mean over those held out is finer."""
SPREAD = 20_000
"""Rotations everywhere that the volume near people is measured by."""


class Growing(Protocol):
    """Limits that grow with a margin, in radians, and rotations that are held against them."""

    least: ClassVar[float]
    """The margin that the smallest limit worth asking for has."""

    @property
    def asked(self) -> Quats:
        """The rotations (n, 4)."""

    def limit(self, margin: float) -> Limit:
        """Return the limit at this margin."""

    def outside(self, margin: float) -> Mask:
        """Tell which of the rotations are outside at this margin."""

    def volume(self, margin: float, seed: int) -> float:
        """Return the share of all rotations that is inside at this margin."""


@dataclass(frozen=True, eq=False)
class Widened:
    """A limit whose shape is grown, or shrunk where the margin is below 0."""

    tight: Limit
    asked: Quats
    least: ClassVar[float] = 0.0

    def limit(self, margin: float) -> Limit:
        return widened(self.tight, margin)

    def outside(self, margin: float) -> Mask:
        return np.asarray(~self.limit(margin).contains(self.asked))

    def volume(self, margin: float, seed: int) -> float:
        return self.limit(margin).volume(VOLUME_SAMPLES, seed)


@dataclass(frozen=True, eq=False)
class NearPeople:
    """What is near to people: the margin adds to how near that is where nothing is asked for.

    Limits are fields on a grid; questions are answered before that, so no field is built for them.
    """

    people: People
    recipe: Recipe
    axis: Vectors
    asked: Quats
    least: ClassVar[float] = -float(NEAR)

    def limit(self, margin: float) -> Limit:
        within = min(max(float(NEAR) + margin, 1e-6), np.pi)
        return people_field(self.people, within, self.recipe, None, self.axis)

    def outside(self, margin: float) -> Mask:
        return np.asarray(self._far > NEAR + margin)

    def volume(self, margin: float, seed: int) -> float:
        return float((self._everywhere(seed) <= NEAR + margin).mean())

    @cached_property
    def _far(self) -> Scalars:
        return self.people.far(self.asked)

    @cached_property
    def _known(self) -> dict[int, Scalars]:
        return {}

    def _everywhere(self, seed: int) -> Scalars:
        if seed not in self._known:
            self._known[seed] = self.people.far(uniform_rotations(SPREAD, seed))
        return self._known[seed]


def growing(joint: Joint, recipe: Recipe, fold: Fold | None, asked: Quats) -> Growing:
    """Return what the others of `fold` give, or everybody, with what is `asked` of it (n, 4)."""
    if recipe.by == "people":
        takes = joint.takes if fold is None else fold.rest
        return NearPeople(People.of(takes), recipe, joint.axis, asked)
    return Widened(joint.limit(recipe, fold), asked)
