"""Leaving out: for each joint who is held out, what the others did, and what is believed of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..arrays import Quats, Vectors
from ..clip import Clip
from ..fitting import Recipe, fit_joint, invented_first_frame
from ..leaks import Leaks, find_leaks, joined
from ..learning import bone_axes, performer_in, takes_of, wanted_joints
from ..limit import Limit
from ..sampling import SHARE, Trimmed, flips, trim
from ..takes import Take

By = Literal["performer", "clip"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One joint with somebody held out: their rotations, and the takes of the others."""

    name: str
    held_out: Quats
    rest: tuple[Take, ...]
    trimmed: Trimmed

    @property
    def steady(self) -> Quats:
        """What the others did, flips aside, confirmed or not: (n, 4)."""
        return np.concatenate([_steady(take) for take in self.rest])


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint of all clips, ready to be held out of itself."""

    name: str
    axis: Vectors
    takes: tuple[Take, ...]
    trimmed: Trimmed
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
    leaks: Leaks
    names: tuple[str, ...]
    takes: Mapping[str, list[Take]]
    trim: float

    @classmethod
    def of(
        cls,
        clips: Sequence[Clip],
        *,
        by: By = "performer",
        performers: str | Mapping[str, str] | None = None,
        joints: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        trim: float = SHARE,
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
        leaks = find_leaks(clips, who)
        group_of = (
            {clip: leaks.person[performer] for clip, performer in who.items()}
            if by == "performer"
            else joined(list(who), leaks.identical)
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
                held_out = np.concatenate([_steady(take) for take in left])
                yield Fold(group, held_out, rest, trim(rest, self.trim))


def widened(limit: Limit, margin: float) -> Limit:
    """Return the limit `margin` radians wider, or narrower where that is below 0."""
    shape = limit.shape.grow(margin) if margin >= 0.0 else limit.shape.shrink(-margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return replace(limit, shape=shape)


def _steady(take: Take) -> Quats:
    return take.rotations[~flips(take.rotations, take.frame_time)]


def _too_few(by: By, groups: Sequence[str]) -> str:
    if by == "clip":
        return f"to leave clips out takes two that differ, got {groups[0]}"
    return (
        f"to leave performers out takes two or more, got {groups[0]}; say who performs, or leave "
        "out clip by clip"
    )
