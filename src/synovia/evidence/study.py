"""Studies: for each joint who is held out, what the others did, and limits fitted to that."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from .. import learn, quat
from ..arrays import Mask, Quats, Scalars, Vectors
from ..limit import Limit
from ..skeleton import Clip

GroupBy = Literal["performer", "clip"]


@dataclass(frozen=True, eq=False)
class JointStudy:
    """One joint of all clips, with each group that has it held out in turn."""

    name: str
    axis: Vectors
    takes: tuple[learn.Take, ...]
    folds: tuple[learn.Fold, ...]
    trims: Mapping[str | None, learn.TrimResult]
    """What trimming leaves of the others, by the name of the fold; by None that of all takes."""

    def limit(self, options: learn.FitOptions, fold: learn.Fold | None = None) -> Limit:
        """Return the limit that the others of `fold` give; without a fold, that of everybody."""
        takes = self.takes if fold is None else fold.rest
        trimmed = self.trims[None if fold is None else fold.name]
        with warnings.catch_warnings():
            # Not about these limits, which nobody applies.
            warnings.simplefilter("ignore", UserWarning)
            fitted = learn.fit_joint(
                takes, options, reference=None, axis=self.axis, trimmed=trimmed
            )
        return fitted.limit


@dataclass(frozen=True, eq=False)
class Study:
    """Clips with their duplicates merged: who is held out in turn, and the joints studied."""

    clips: tuple[Clip, ...]
    groups: tuple[str, ...]
    """Who, or which clips, are held out, one after another."""
    group_of: Mapping[str, str]
    """The group of each clip, by the clip's name."""
    duplicates: learn.Duplicates
    names: tuple[str, ...]
    takes: Mapping[str, list[learn.Take]]
    trim: float

    @classmethod
    def of(
        cls,
        clips: Sequence[Clip],
        options: learn.FitOptions | None = None,
        *,
        by: GroupBy = "performer",
    ) -> Study:
        """Return the study of `clips`.

        Parameters
        ----------
        clips
            The clips, which must differ in their names.
        options
            What `LimitModel.fit` takes; of it joints, names, performers and trim count here.
        by
            By performer, all of a person's clips are held out together; by clip, each by itself.
        """
        options = learn.FitOptions() if options is None else options
        if by not in ("performer", "clip"):
            raise ValueError(f"by must be 'performer' or 'clip', got {by!r}")
        if not clips:
            raise ValueError("a comparison needs clips, got none")
        performers = {
            clip.name: learn.performer_of(clip.name, options.performers) for clip in clips
        }
        if len(performers) < len(clips):
            raise ValueError("a comparison tells clips apart by their names, got one name twice")
        duplicates = learn.find_duplicates(clips, performers)
        people = duplicates.people(performers)
        identical = duplicates.identical
        group_of = people if by == "performer" else learn.join_groups(list(performers), identical)
        groups = tuple(dict.fromkeys(group_of.values()))
        if len(groups) < 2:
            raise ValueError(_too_few(by, groups))
        wanted = learn.joints_to_fit(clips[0].skeleton, options.joints)
        invented = [options.trim > 0.0 and learn.invented_first_frame(clip) for clip in clips]
        takes = learn.takes_of(
            clips, wanted, drop_first=invented, performers=people, names=options.names
        )
        return cls(tuple(clips), groups, group_of, duplicates, tuple(wanted), takes, options.trim)

    def joint(self, name: str) -> JointStudy:
        """Return the joint, with each group that has it held out in turn."""
        takes, skeleton = self.takes[name], self.clips[0].skeleton
        axis = learn.bone_axes(skeleton)[skeleton.index(name)]
        folds = learn.leave_one_out(takes, lambda take: self.group_of[take.clip])
        trims: dict[str | None, learn.TrimResult] = {None: learn.trim(takes, self.trim)}
        trims |= {fold.name: learn.trim(fold.rest, self.trim) for fold in folds}
        return JointStudy(name, axis, tuple(takes), folds, trims)


def widen(limit: Limit, margin: float) -> Limit:
    """Return the limit `margin` radians wider, or narrower where that is below 0."""
    shape = limit.shape.grow(margin) if margin >= 0.0 else limit.shape.shrink(-margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return replace(limit, shape=shape)


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


def uniform_rotations(n: int, seed: int = 0) -> Quats:
    """Return `n` rotations (n, 4) spread evenly over all of them: the same for the same seed."""
    return quat.normalize(np.random.default_rng(seed).normal(size=(n, 4)))


@dataclass(frozen=True, eq=False)
class WidenedLimit:
    """A limit whose shape is grown, or shrunk where the margin is below 0."""

    tight: Limit
    rotations: Quats
    """Those (n, 4) that are held against it."""
    min_margin: ClassVar[float] = 0.0
    """The margin, in radians, of the smallest limit that is tried."""

    def limit(self, margin: float) -> Limit:
        """Return the limit at this margin."""
        return widen(self.tight, margin)

    def outside(self, margin: float) -> Mask:
        """Tell which of the rotations are outside at this margin."""
        return np.asarray(~self.limit(margin).contains(self.rotations))

    def volume(self, margin: float, seed: int) -> float:
        """Return the share of all rotations that is inside at this margin."""
        return self.limit(margin).volume(VOLUME_SAMPLES, seed)


@dataclass(frozen=True, eq=False)
class NearPeople:
    """What is near to people: the margin adds to `DEFAULT_WITHIN`.

    Limits are fields on a grid; shares are measured before that, so no field is built for them.
    """

    people: learn.People
    options: learn.FitOptions
    axis: Vectors
    rotations: Quats
    min_margin: ClassVar[float] = -float(learn.DEFAULT_WITHIN)

    def limit(self, margin: float) -> Limit:
        within = min(max(float(learn.DEFAULT_WITHIN) + margin, 1e-6), np.pi)
        return learn.people_field(self.people, within, self.options, self.axis)

    def outside(self, margin: float) -> Mask:
        return np.asarray(self._distances > learn.DEFAULT_WITHIN + margin)

    def volume(self, margin: float, seed: int) -> float:
        return float((self._everywhere(seed) <= learn.DEFAULT_WITHIN + margin).mean())

    @cached_property
    def _distances(self) -> Scalars:
        return self.people.distance(self.rotations)

    @cached_property
    def _known(self) -> dict[int, Scalars]:
        return {}

    def _everywhere(self, seed: int) -> Scalars:
        if seed not in self._known:
            self._known[seed] = self.people.distance(uniform_rotations(UNIFORM_SAMPLES, seed))
        return self._known[seed]


GrowingLimit = WidenedLimit | NearPeople
"""Limits that grow with a margin, in radians, and rotations that are held against them."""


def growing_limit(
    joint: JointStudy, options: learn.FitOptions, fold: learn.Fold | None, rotations: Quats
) -> GrowingLimit:
    """Return what the others of `fold` give, or everybody, with `rotations` (n, 4) to measure."""
    if options.by == "people":
        takes = joint.takes if fold is None else fold.rest
        return NearPeople(learn.People.of(takes), options, joint.axis, rotations)
    return WidenedLimit(joint.limit(options, fold), rotations)
