"""Studies: for each joint who is held out, what the others did, and limits fitted to that."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from .. import learn, quat
from ..arrays import Mask, Quats, Scalars, Vectors, whole_number
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
    trim: float
    """The share that may be dropped; see `learn.trim`."""

    @cached_property
    def trims(self) -> Mapping[str | None, learn.TrimResult]:
        """What trimming leaves of the others, by the name of the fold; by None that of all takes.

        All families share it.
        """
        found: dict[str | None, learn.TrimResult] = {None: learn.trim(self.takes, self.trim)}
        return found | {fold.name: learn.trim(fold.rest, self.trim) for fold in self.folds}

    @cached_property
    def fingerprint(self) -> bytes:
        """The same for joints with the same rotations in the same clips, whatever their axis."""
        found = hashlib.sha256()
        for take in self.takes:
            found.update(f"{take.clip}\0{len(take.rotations)}\0".encode())
            found.update(take.rotations.tobytes())
        return found.digest()

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


@dataclass(frozen=True)
class Excerpt:
    """A part of what can be compared, for a quick look."""

    joints: int
    """At most so many, those whose rotations are the farthest from the mean of their clip."""
    frames: int
    """At most so many of a clip, evenly spread, capture flips aside."""
    charts: int
    """At most so many of each shape, the first ones."""

    def __post_init__(self) -> None:
        for name in ("joints", "frames", "charts"):
            whole_number(name, getattr(self, name), least=1)

    def study(self, whole: Study) -> Study:
        """Return the study of fewer joints and frames."""
        spread = {name: _spread(takes) for name, takes in whole.takes.items() if takes}
        chosen = sorted(spread, key=lambda name: -spread[name])[: self.joints]
        names = tuple(name for name in whole.names if name in chosen)
        takes = {
            name: [_fewer_frames(take, self.frames) for take in whole.takes[name]] for name in names
        }
        return replace(whole, names=names, takes=takes)

    def families(self, chosen: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the families of fewer charts, each a shape and a chart."""
        charts: dict[str, list[str]] = {}
        for shape, chart in chosen:
            charts.setdefault(shape, []).append(chart)
        return [(shape, chart) for shape, own in charts.items() for chart in own[: self.charts]]


QUICK = Excerpt(joints=3, frames=300, charts=1)
"""What `synovia compare --quick` looks at."""


def _spread(takes: Sequence[learn.Take]) -> float:
    """Return how far rotations are from the mean of their take, in radians, as a mean."""
    paths = [take.without_flips() for take in takes]
    return float(np.mean([quat.angle_between(quat.mean(path), path).mean() for path in paths]))


def _fewer_frames(take: learn.Take, most: int) -> learn.Take:
    """Return every n-th frame, so that there are at most so many."""
    rotations = take.without_flips()
    step = -(-len(rotations) // most)
    return replace(take, rotations=rotations[::step], frame_time=step * take.frame_time)


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
        return JointStudy(name, axis, tuple(takes), folds, self.trim)


def widen(limit: Limit, margin: float) -> Limit:
    """Return the limit `margin` radians wider, or narrower where that is below 0."""
    if margin == 0.0:
        return limit
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


KEPT_LIMITS = 4
"""So many limits of the margins asked for last are kept, since they are asked for again."""


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
        if margin not in self._limits:
            for earliest in list(self._limits)[: 1 - KEPT_LIMITS]:
                del self._limits[earliest]
            self._limits[margin] = widen(self.tight, margin)
        return self._limits[margin]

    def outside(self, margin: float) -> Mask:
        """Tell which of the rotations are outside at this margin."""
        if margin not in self._outside:
            self._outside[margin] = np.asarray(~self.limit(margin).contains(self.rotations))
        return self._outside[margin]

    def volume(self, margin: float, seed: int) -> float:
        """Return the share of all rotations that is inside at this margin."""
        return self.limit(margin).volume(VOLUME_SAMPLES, seed)

    def required_margins(self, margin: float) -> Scalars:
        """Return about the margins, in radians, from which each of the rotations is inside: (n,).

        The nearer they are to the `margin` that they are seen from, the better are they known.
        """
        return margin + self.limit(margin).required_growth(self.rotations)

    @cached_property
    def _limits(self) -> dict[float, Limit]:
        return {}

    @cached_property
    def _outside(self) -> dict[float, Mask]:
        return {}


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

    def required_margins(self, margin: float) -> Scalars:
        return np.asarray(self._distances - learn.DEFAULT_WITHIN)

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
