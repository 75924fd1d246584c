"""A panel: several views of what people do, and how large a region they agree on.

A joint is looked at in five ways: how far a rotation is from several people; the same with how far
it is beyond an enclosure of what they did; how far beyond the enclosure alone; beyond ranges of
Euler angles; beyond a round cone and a range of twist. What few do counts in none. A view would
have to accept a share of all rotations to accept this one; the root mean square of the shares
counts, as the angle of a ball of rotations that is as large, ranges in it less than what people
did. Where one view misleads, the others hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import quat
from .arrays import Floats, Ints, Quats, Scalars, Vectors
from .charts import Chart
from .everywhere import Everywhere
from .limit import Limit
from .people import People, distances, field_of
from .ranges import EulerBox, RoundCone
from .takes import Take

WEIGHTS = (2.0, 3.0, 2.0, 1.0, 1.0)
"""Of the views, in that order: on either side of the body, ranges tell less than people do."""
REACH = np.radians(5.0)
"""A field has so many radians of room around those of the rotations everywhere that it holds."""
ANGLES = np.linspace(0.0, np.pi, 4001)
"""Angles of balls, in radians, between which shares are interpolated."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One joint of several people, whose bone points along `axis` in its own frame."""

    people: People
    axis: Vectors
    everywhere: Everywhere
    apart: Floats
    """How far each rotation everywhere is from each performer, in radians: (n, performers)."""

    @classmethod
    def of(cls, takes: Sequence[Take], axis: Vectors) -> Panel:
        """Return the panel of one joint's takes, capture flips aside."""
        people = People.of(takes)
        everywhere = Everywhere.around(people.rotations)
        apart = distances(everywhere.rotations, people.each)
        return cls(people, axis, everywhere, apart)

    def without(self, performer: int) -> Panel:
        """Return the panel of the others."""
        kept = np.delete(self.apart, performer, axis=1)
        return replace(self, people=self.people.without(performer), apart=kept)

    @cached_property
    def box(self) -> EulerBox:
        """Ranges of Euler angles."""
        return EulerBox.of_people(self._counted, self.people.few - 1)

    @cached_property
    def cone(self) -> RoundCone:
        """A round cone, and a range of twist."""
        return RoundCone.of_people(self._counted, self.axis, self.people.few - 1)

    @cached_property
    def _counted(self) -> list[Quats]:
        """All frames of each person, as often as they count for people."""
        people = self.people
        frames = [
            np.repeat(people.rotations[own], people.frames[own], axis=0) for own in people.own
        ]
        return [
            own for own, count in zip(frames, people.counted, strict=True) for _ in range(count)
        ]

    def far(self, rotations: Quats) -> Scalars:
        """Return, for each of the rotations (n, 4), how large a region must be to have it.

        That is the angle, in radians, of a ball as large: (angle − sin angle) / π of all rotations.
        """
        return self._far(rotations, distances(rotations, self.people.each))

    def _far(self, rotations: Quats, apart: Floats) -> Scalars:
        return _angle_of(self._shares(rotations, apart))

    def _shares(self, rotations: Quats, apart: Floats) -> Scalars:
        """Return the root mean square of the shares that the views would have to accept."""
        views = zip(self._views(rotations, apart), self._seen, strict=True)
        squares = [self.everywhere.shares(seen, asked) ** 2 for asked, seen in views]
        return np.asarray(np.sqrt(np.average(squares, axis=0, weights=WEIGHTS)))

    def _views(self, rotations: Quats, apart: Floats) -> Floats:
        """Return how far rotations are in each view, in radians: (views, n)."""
        near = self.people.nearness(apart)
        hull = self.people.enclosure.beyond(rotations)
        cone, box = self.cone.needed(rotations), self.box.needed(rotations)
        return np.stack([near, near + np.maximum(hull, 0.0), hull, box, cone])

    @cached_property
    def _seen(self) -> Floats:
        return self._views(self.everywhere.rotations, self.apart)

    @cached_property
    def _found(self) -> Scalars:
        """What rotations everywhere need, as shares."""
        return self._shares(self.everywhere.rotations, self.apart)

    def held_out(self) -> list[tuple[Scalars, Ints]]:
        """Return, for each performer, how large regions of the others must be, in how many frames.

        Sizes are angles of balls, in radians.
        """
        return [
            (self.without(k)._far(rotations, apart), frames)
            for k, (rotations, apart, frames) in enumerate(self.people.each_and_others())
        ]

    def as_large_as(self, within: float) -> float:
        """Return the size, as the angle of a ball, of what is `within` so many radians of people.

        What is beyond their enclosure is so much farther.
        """
        inside = self._seen[1] <= within
        return float(_angle_of(np.maximum(self.everywhere.weights[inside].sum(), 1e-9)))

    def field(
        self,
        within: float,
        chart: str | type[Chart] = "rotation-vector",
        *,
        resolution: int = 32,
        reference: Quats | None = None,
        axis: Vectors | None = None,
    ) -> Limit:
        """Return the region as large as a ball of the angle `within`, as a field of distances.

        Regions narrower than the grid tells, as a hinge's, are as wide as it takes to hold them.
        """
        if not 0.0 < within <= np.pi:
            raise ValueError(f"within must be above 0 and at most π radians, got {within}")
        share = float(_share_of(np.asarray(within)))
        members = self.everywhere.rotations[self._found <= share]

        def far(rotations: Quats) -> Scalars:
            apart = distances(rotations, self.people.each)
            return self._from_people(self._shares(rotations, apart))

        return field_of(
            far,
            float(self._from_people(np.asarray(share))),
            np.concatenate([self.people.rotations, members]),
            chart,
            reach=REACH,
            steep=2.0,  # what is beyond the enclosure counts twice
            reference=quat.mean(self.people.rotations) if reference is None else reference,
            resolution=resolution,
            axis=axis,
        )

    def _from_people(self, shares: Scalars) -> Scalars:
        """Return how far from people, in radians, as large shares of all rotations are."""
        order = np.argsort(self._seen[1])
        below = np.cumsum(self.everywhere.weights[order])
        return np.asarray(np.interp(shares, below, self._seen[1][order]))


def _share_of(angle: Scalars) -> Scalars:
    """Return the share of all rotations in a ball of this angle, in radians."""
    return np.asarray((angle - np.sin(angle)) / np.pi)


def _angle_of(share: Scalars) -> Scalars:
    """Return the angle, in radians, of a ball with this share of all rotations."""
    return np.asarray(np.interp(np.cbrt(share), np.cbrt(_share_of(ANGLES)), ANGLES))
