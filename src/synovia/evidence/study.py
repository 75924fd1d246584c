"""Families to compare, folds of each joint, and limits fitted to the others of a fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import ClassVar, Literal

import numpy as np

from .. import learn, quat
from ..arrays import Mask, Quats, Scalars, Vectors
from ..charts import CHARTS
from ..limit import Limit, compared_charts, shape_named, suits
from ..shapes import SHAPES
from ..skeleton import Clip

GroupBy = Literal["performer", "clip"]
VOLUME_SAMPLES = 4000  # legal rotations for the volume of one limit; means over folds are finer
UNIFORM_SAMPLES = 20_000  # uniform rotations for the volume near people
KEPT_LIMITS = 4  # grown limits kept; the search for a margin asks for the last few again
QUICK_JOINTS, QUICK_FRAMES = 3, 300  # for a quick comparison, with one chart for each shape
ESTIMATOR_CHART = "rotation-vector"  # the chart in which estimators are compared


def families(shapes: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return pairs of shape or estimator names and chart names, for `shapes` or for all.

    Charts are those of `compared_charts`.
    """
    for name in shapes or ():
        if name not in learn.ESTIMATORS:
            shape_named(name)
    return [
        (shape, chart)
        for shape in shapes or (*SHAPES, *learn.ESTIMATORS)
        for chart in ([ESTIMATOR_CHART] if shape in learn.ESTIMATORS else compared_charts())
        if shape in learn.ESTIMATORS or suits(CHARTS[chart], SHAPES[shape])
    ]


def family_name(shape: str, chart: str) -> str:
    """Return the display name of a family: "kdop in swing-twist", or that of an estimator."""
    return shape if shape in learn.ESTIMATORS else f"{shape} in {chart}"


@dataclass(frozen=True, eq=False)
class JointStudy:
    """One joint of all clips, with a fold for each group that has it."""

    name: str
    axis: Vectors
    takes: tuple[learn.Take, ...]
    folds: tuple[learn.Fold, ...]
    trim: float
    """Largest share of frames to drop; see `learn.trim`."""

    @cached_property
    def trims(self) -> Mapping[str | None, learn.TrimResult]:
        """Frames kept of the others, by the fold's name, and of all takes, by None.

        Computed once for all families.
        """
        everybody: dict[str | None, learn.TrimResult] = {None: learn.trim(self.takes, self.trim)}
        return everybody | {fold.name: learn.trim(fold.rest, self.trim) for fold in self.folds}

    def limit(self, options: learn.FitOptions, fold: learn.Fold | None = None) -> Limit:
        """Return the limit fitted to the others of `fold`, or to all takes if it is None."""
        takes = self.takes if fold is None else fold.rest
        trimmed = self.trims[None if fold is None else fold.name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = learn.fit_joint(
                takes, options, reference=None, axis=self.axis, trimmed=trimmed
            )
        return fitted.limit


@dataclass(frozen=True, eq=False)
class Study:
    """Clips with duplicates merged, their groups, and the joints to study."""

    clips: tuple[Clip, ...]
    groups: tuple[str, ...]
    """Names of the performers or clips that are held out in turn."""
    group_of: Mapping[str, str]
    """Group of each clip, by the clip's name."""
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
            Clips with different names.
        options
            Options of `LimitModel.fit`; joints, names, performers and trim are used.
        by
            "performer" holds all clips of a person out together, "clip" each clip.
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
            messages = {
                "clip": f"to leave clips out takes two that differ, got {groups[0]}",
                "performer": f"to leave performers out takes two or more, got {groups[0]}; say who "
                "performs, or leave out clip by clip",
            }
            raise ValueError(messages[by])
        wanted = learn.joints_to_fit(clips[0].skeleton, options.joints)
        invented = [options.trim > 0.0 and learn.invented_first_frame(clip) for clip in clips]
        takes = learn.takes_of(
            clips, wanted, drop_first=invented, performers=people, names=options.names
        )
        return cls(tuple(clips), groups, group_of, duplicates, tuple(wanted), takes, options.trim)

    def excerpt(self) -> Study:
        """Return the joints that vary most, at few frames, evenly spaced, without flips."""

        def spread(name: str) -> float:
            """Return the mean angle between rotations and the mean of their take, in radians."""
            paths = [take.without_flips() for take in self.takes[name]]
            return float(np.mean([quat.angle_between(quat.mean(q), q).mean() for q in paths]))

        def shorten(take: learn.Take) -> learn.Take:
            """Return every n-th frame, with the least n for at most `QUICK_FRAMES` of them."""
            rotations = take.without_flips()
            step = -(-len(rotations) // QUICK_FRAMES)
            return replace(take, rotations=rotations[::step], frame_time=step * take.frame_time)

        captured = [name for name in self.names if self.takes[name]]
        chosen = sorted(captured, key=spread, reverse=True)[:QUICK_JOINTS]
        names = tuple(name for name in self.names if name in chosen)
        takes = {name: [shorten(take) for take in self.takes[name]] for name in names}
        return replace(self, names=names, takes=takes)

    def joint(self, name: str) -> JointStudy:
        """Return one joint with its folds."""
        takes, skeleton = self.takes[name], self.clips[0].skeleton
        axis = learn.bone_axes(skeleton)[skeleton.index(name)]
        folds = learn.leave_one_out(takes, lambda take: self.group_of[take.clip])
        return JointStudy(name, axis, tuple(takes), folds, self.trim)


def widen(limit: Limit, margin: float) -> Limit:
    """Return the limit grown by `margin` radians, or shrunk if it is negative."""
    if margin == 0.0:
        return limit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return limit.grow(margin) if margin >= 0.0 else limit.shrink(-margin)


def uniform_rotations(n: int, seed: int = 0) -> Quats:
    """Return `n` uniformly distributed rotations (n, 4), reproducible by `seed`."""
    return quat.normalize(np.random.default_rng(seed).normal(size=(n, 4)))


@dataclass(frozen=True, eq=False)
class WidenedLimit:
    """A fitted limit that is grown, and held-out rotations to test it with."""

    tight: Limit
    rotations: Quats
    """(n, 4): the rotations tested."""
    min_margin: ClassVar[float] = 0.0
    """Smallest margin to try, radians."""

    @cached_property
    def limit(self) -> Callable[[float], Limit]:
        """Returns the limit grown by a margin in radians."""
        return lru_cache(KEPT_LIMITS)(partial(widen, self.tight))

    def outside(self, margin: float) -> Mask:
        """Return a mask (n,) of the rotations outside at this margin."""
        return ~self.limit(margin).contains(self.rotations)

    def volume(self, margin: float) -> float:
        """Return the share of all rotations inside at this margin."""
        return self.limit(margin).volume(VOLUME_SAMPLES)

    def required_margins(self, margin: float) -> Scalars:
        """Return estimates (n,) of the least margin, in radians, at which each rotation is inside.

        They are the more accurate the closer they are to `margin`.
        """
        return margin + self.limit(margin).required_margin(self.rotations)


@dataclass(frozen=True, eq=False)
class NearPeople:
    """Rotations within `DEFAULT_WITHIN` + margin of enough people.

    Shares are computed from exact distances, so that no field is built for them.
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

    def volume(self, margin: float) -> float:
        return float((self._everywhere <= learn.DEFAULT_WITHIN + margin).mean())

    def required_margins(self, margin: float) -> Scalars:
        return np.asarray(self._distances - learn.DEFAULT_WITHIN)

    @cached_property
    def _distances(self) -> Scalars:
        return self.people.distance(self.rotations)

    @cached_property
    def _everywhere(self) -> Scalars:
        """Distances of uniform rotations."""
        return self.people.distance(uniform_rotations(UNIFORM_SAMPLES))


GrowingLimit = WidenedLimit | NearPeople
"""A limit at any margin, in radians, and the rotations to test it with."""


def growing_limit(
    joint: JointStudy, options: learn.FitOptions, fold: learn.Fold | None, rotations: Quats
) -> GrowingLimit:
    """Return the family fitted to the others of `fold` (everybody if None), to test `rotations`."""
    if options.estimator is not None:
        takes = joint.takes if fold is None else fold.rest
        return NearPeople(options.estimator.of(takes), options, joint.axis, rotations)
    return WidenedLimit(joint.limit(options, fold), rotations)
