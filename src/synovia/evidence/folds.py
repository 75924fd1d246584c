"""Leaving out: for each joint who is held out, what the others did, and what is believed of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Protocol

import numpy as np

from ..arrays import Mask, Quats, Scalars, Vectors
from ..learn import (
    DEFAULT_WITHIN,
    MAX_DROPPED,
    Duplicates,
    People,
    Recipe,
    Take,
    TrimResult,
    bone_axes,
    find_duplicates,
    fit_joint,
    flips,
    invented_first_frame,
    join_groups,
    people_field,
    performer_in,
    takes_of,
    trim,
    wanted_joints,
)
from ..limit import Limit
from ..skeleton import Clip
from .curve import uniform_rotations

GroupBy = Literal["performer", "clip"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One joint with somebody held out: their rotations, and the takes of the others."""

    name: str
    held_out: Quats
    rest: tuple[Take, ...]
    trimmed: TrimResult

    @property
    def steady(self) -> Quats:
        """What the others did, flips aside, confirmed or not: (n, 4)."""
        return np.concatenate([_drop_flips(take) for take in self.rest])


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint of all clips, ready to be held out of itself."""

    name: str
    axis: Vectors
    takes: tuple[Take, ...]
    trimmed: TrimResult
    folds: tuple[Fold, ...]

    def limit(self, recipe: Recipe, fold: Fold | None = None) -> Limit:
        """Return the limit that the others of `fold` give; without a fold, that of everybody."""
        takes = self.takes if fold is None else fold.rest
        trimmed = self.trimmed if fold is None else fold.trimmed
        with warnings.catch_warnings():
            # Not about these limits, which nobody applies.
            warnings.simplefilter("ignore", UserWarning)
            fitted = fit_joint(takes, recipe, reference=None, axis=self.axis, trimmed=trimmed)
        return fitted.limit


@dataclass(frozen=True, eq=False)
class Study:
    """Clips with their doubles merged: who is held out in turn, and the joints asked about."""

    clips: tuple[Clip, ...]
    groups: tuple[str, ...]
    """Who, or which clips, are held out, one after another."""
    group_of: Mapping[str, str]
    """The group of each clip, by the clip's name."""
    leaks: Duplicates
    names: tuple[str, ...]
    takes: Mapping[str, list[Take]]
    trim: float

    @classmethod
    def of(
        cls,
        clips: Sequence[Clip],
        *,
        by: GroupBy = "performer",
        performers: str | Mapping[str, str] | None = None,
        joints: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        trim: float = MAX_DROPPED,
    ) -> Study:
        """Return the study of `clips`; `LimitModel.fit` says what the arguments mean.

        By performer, all of a person's clips are held out together; by clip, each by itself.
        """
        if by not in ("performer", "clip"):
            raise ValueError(f"by must be 'performer' or 'clip', got {by!r}")
        if not clips:
            raise ValueError("a comparison needs clips, got none")
        who = {clip.name: performer_in(clip.name, performers) for clip in clips}
        if len(who) < len(clips):
            raise ValueError("a comparison tells clips apart by their names, got one name twice")
        leaks = find_duplicates(clips, who)
        group_of = (
            {clip: leaks.person[performer] for clip, performer in who.items()}
            if by == "performer"
            else join_groups(list(who), leaks.identical)
        )
        groups = tuple(dict.fromkeys(group_of.values()))
        if len(groups) < 2:
            raise ValueError(_too_few(by, groups))
        wanted = wanted_joints(clips[0].skeleton, joints)
        invented = [trim > 0.0 and invented_first_frame(clip) for clip in clips]
        people = {clip: leaks.person[performer] for clip, performer in who.items()}
        takes = takes_of(clips, wanted, names, people, invented)
        return cls(tuple(clips), groups, group_of, leaks, tuple(wanted), takes, trim)

    def joint(self, name: str) -> Joint:
        """Return the joint, with each group that has it held out in turn."""
        takes, skeleton = self.takes[name], self.clips[0].skeleton
        axis = bone_axes(skeleton)[skeleton.index(name)]
        folds = tuple(self._folds(takes))
        return Joint(name, axis, tuple(takes), trim(takes, self.trim), folds)

    def _folds(self, takes: Sequence[Take]) -> Iterator[Fold]:
        for group in self.groups:
            left = [take for take in takes if self.group_of[take.clip] == group]
            rest = tuple(take for take in takes if self.group_of[take.clip] != group)
            if left and rest:
                held_out = np.concatenate([_drop_flips(take) for take in left])
                yield Fold(group, held_out, rest, trim(rest, self.trim))


def widen(limit: Limit, margin: float) -> Limit:
    """Return the limit `margin` radians wider, or narrower where that is below 0."""
    shape = limit.shape.grow(margin) if margin >= 0.0 else limit.shape.shrink(-margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return replace(limit, shape=shape)


def _drop_flips(take: Take) -> Quats:
    return take.rotations[~flips(take.rotations, take.frame_time)]


def _too_few(by: GroupBy, groups: Sequence[str]) -> str:
    if by == "clip":
        return f"to leave clips out takes two that differ, got {groups[0]}"
    return (
        f"to leave performers out takes two or more, got {groups[0]}; say who performs, or leave "
        "out clip by clip"
    )


# Growing: a family's limit for those who are held out, from tight to wide by its margin.


VOLUME_SAMPLES = 4000
"""Members that the volume of one limit is measured by; the mean over those held out is finer."""
UNIFORM_SAMPLES = 20_000
"""Rotations everywhere that the volume near people is measured by."""


class GrowingLimit(Protocol):
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
class WidenedLimit:
    """A limit whose shape is grown, or shrunk where the margin is below 0."""

    tight: Limit
    asked: Quats
    least: ClassVar[float] = 0.0

    def limit(self, margin: float) -> Limit:
        return widen(self.tight, margin)

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
    least: ClassVar[float] = -float(DEFAULT_WITHIN)

    def limit(self, margin: float) -> Limit:
        within = min(max(float(DEFAULT_WITHIN) + margin, 1e-6), np.pi)
        return people_field(self.people, within, self.recipe, None, self.axis)

    def outside(self, margin: float) -> Mask:
        return np.asarray(self._far > DEFAULT_WITHIN + margin)

    def volume(self, margin: float, seed: int) -> float:
        return float((self._everywhere(seed) <= DEFAULT_WITHIN + margin).mean())

    @cached_property
    def _far(self) -> Scalars:
        return self.people.far(self.asked)

    @cached_property
    def _known(self) -> dict[int, Scalars]:
        return {}

    def _everywhere(self, seed: int) -> Scalars:
        if seed not in self._known:
            self._known[seed] = self.people.far(uniform_rotations(UNIFORM_SAMPLES, seed))
        return self._known[seed]


def growing_limit(joint: Joint, recipe: Recipe, fold: Fold | None, asked: Quats) -> GrowingLimit:
    """Return what the others of `fold` give, or everybody, with what is `asked` of it (n, 4)."""
    if recipe.by == "people":
        takes = joint.takes if fold is None else fold.rest
        return NearPeople(People.of(takes), recipe, joint.axis, asked)
    return WidenedLimit(joint.limit(recipe, fold), asked)
