"""From the takes of one joint to its limit: trim, refer to the mean, choose the margin, fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Quats, Vectors
from ..charts import RotationVector
from ..limit import DependentLimit, Limit, chart_for, has_axis
from ..shapes import Box
from ..skeleton import Clip, Skeleton, lineage
from .dependents import (
    LearnedPair,
    VariableLimit,
    cut_chains,
    frames_together,
    learn_pair,
    pairs_to_learn,
)
from .kinds import joint_kind
from .margins import DEFAULT_REJECT, HeldOut, Promise, check_rejection, promise
from .people import DEFAULT_WITHIN, ESTIMATORS, MAX_WITHIN, MIN_WITHIN, People
from .population import Population
from .takes import (
    Performers,
    Progress,
    Sample,
    Take,
    bone_axes,
    find_duplicates,
    invented_first_frame,
    joints_to_fit,
    performer_of,
    takes_of,
)
from .trimming import MAX_DROPPED, TrimResult, thin, thin_takes, trim, trim_without

DEFAULT_MARGIN = 0.05
"""How much wider than what was observed limits are, in radians, where nobody else can tell."""
MIN_PERFORMERS = 3
"""With at least this many performers, the margin is chosen for `DEFAULT_REJECT` by leaving some
out."""
MAX_MARGIN = np.radians(90.0)
"""The largest margin, in radians, that is tried for the rejection asked for."""
MAX_FOLDS = 10
"""Largest number of groups of performers that are left out one after another."""
OWN_SHARE = 0.5
"""Share of the rejection that the limit without the driver may use; the rest is left for the
dependence."""
GAP = np.radians(60.0)
"""Radians between consecutive thinned rotations; a larger rotation starts a new path."""


@dataclass(frozen=True, eq=False)
class FitOptions:
    """Options of a fit, as keywords of `LimitModel.fit`."""

    shape: str = "kdop"
    """The name of a shape, or of one of `ESTIMATORS`."""
    chart: str = "swing-twist"
    """The name of the chart, among `synovia.CHARTS`."""
    _: KW_ONLY
    margin: float | None = None
    """Depth of observed frames inside the limit, in radians.

    Unless given, it is chosen for a rejection of 1 % with three performers or more, and 0.05 with
    fewer.
    """
    reject: float | None = None
    """The largest expected share of frames outside, for people who are not in the clips.

    The margin of each joint is increased until this holds. It is measured by leaving out
    performers, or clips if there is one performer.
    """
    trim: float = MAX_DROPPED
    """The largest share of frames, besides capture flips, that may be dropped for lack of support.

    These are frames that too few other performers confirm, or that are isolated; see `trim`. 0
    keeps every frame, flips too.
    """
    reference: str = "mean"
    """The origin of the chart: "mean" of the observed rotations, or "rest"."""
    performers: Performers = None
    """The performer of each clip, by the clip's name; or a regular expression with one group that
    finds the performer in the name. See `performer_of`."""
    joints: Sequence[str] | None = None
    """The joints to limit; all but the roots unless given."""
    exclude: Sequence[str] = ()
    """Joints not to limit."""
    names: Mapping[str, str] | None = None
    """Names of the clips' joints, mapped to those of the first clip."""
    relative_to: Mapping[str, str] | None = None
    """Ancestors from which joints are measured instead of from their parents, by joint."""
    keep_samples: bool = False
    """Whether to keep observed rotations, thinned, to blend or calibrate with."""
    blend: Population | None = None
    """Observations of other performers to blend with."""
    depends: Mapping[str, str] | str | None = None
    """The driver that a limit depends on, by joint, such as ``{"LeftLeg": "LeftUpLeg"}``.

    For a hinge, the ends vary with the direction of the driver's bone; for other joints, the
    margin does. "auto" selects the joints whose limits become significantly smaller, as measured
    on people left out.
    """
    shape_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the shape's fit, or of the estimator."""

    @classmethod
    def of(cls, shape: str, chart: str | None, **options: Any) -> FitOptions:
        """Return the options from keywords; those that are not fields become `shape_options`.

        The default chart is "swing-twist" if the shape supports it, else the shape's first one.
        """
        names = {field.name for field in fields(cls)} - {"shape_options"}
        fit_options = {name: options[name] for name in options if name in names}
        shape_options = {name: options[name] for name in options if name not in names}
        kind = ESTIMATORS[shape].shape if shape in ESTIMATORS else shape
        return cls(
            shape=shape,
            chart=chart_for(kind, chart),
            shape_options=shape_options,
            **fit_options,
        )

    def __post_init__(self) -> None:
        check_rejection(self.reject)
        if isinstance(self.depends, str) and self.depends != "auto":
            raise ValueError(
                f"depends must map joints to others, or be 'auto', got {self.depends!r}"
            )
        if self.reference not in ("mean", "rest"):
            raise ValueError(f"reference must be 'mean' or 'rest', got {self.reference!r}")

    @property
    def estimator(self) -> type[People] | None:
        """The estimator if `shape` names one, else None."""
        return ESTIMATORS.get(self.shape)

    def with_defaults(self, performers: Collection[str]) -> FitOptions:
        """Return the options with the default margin and the default rejection filled in."""
        margin = DEFAULT_MARGIN if self.margin is None else self.margin
        return replace(self, margin=margin, reject=self.rejection_for(performers))

    def rejection_for(self, performers: Collection[str]) -> float | None:
        """Return `reject`, or its default for these performers; None if nobody is left out."""
        if self.reject is None and self.leaves_out(performers):
            return DEFAULT_REJECT
        return self.reject

    def leaves_out(self, performers: Collection[str]) -> bool:
        """Return True if the margin is chosen by leaving out performers or clips."""
        several = len(performers) >= MIN_PERFORMERS
        return self.reject is not None or (self.margin is None and several)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are recorded in the provenance of limits."""
        recorded = ("shape", "chart", "margin", "reject", "trim", "reference")
        return {name: getattr(self, name) for name in recorded} | dict(self.shape_options)


@dataclass(frozen=True, eq=False)
class FittedJoint:
    """A joint's limit, the frames that were dropped, and the margin that was used."""

    limit: Limit
    trimmed: TrimResult
    limit_at: Callable[[float], Limit]
    """Returns the limit with another margin, in radians."""
    promise_for: Callable[[float], Promise]
    """Returns the margin, and the rejections to expect, for a requested rejection. Only for fits
    with a rejection."""
    margin: float
    promise: Promise | None
    """Shares of frames outside, of people left out and of new ones; None without a rejection."""


def fit_joint(
    takes: Sequence[Take],
    options: FitOptions,
    *,
    reference: Quats | None,
    axis: Vectors,
    trimmed: TrimResult | None = None,
) -> FittedJoint:
    """Return the limit of one joint, fitted to its trimmed takes.

    Warns if no margin achieves the rejection.

    Parameters
    ----------
    takes
        The takes of the joint.
    options
        The options of the fit; those about several joints are not used.
    reference
        The rotation (4,) that angles are measured from; None for the mean.
    axis
        The direction (3,) of the bone in the joint's own frame.
    trimmed
        The result of `trim` for the takes; computed if None.
    """
    trimmed = trim(takes, options.trim) if trimmed is None else trimmed
    if reference is None and (weights := _kept_weights(takes, trimmed)) is not None:
        reference = quat.mean(trimmed.rotations(takes), weights)
    options = options.with_defaults(_performers(takes))
    margin, reject = options.margin or 0.0, options.reject
    held_out: list[HeldOut] = []
    if options.estimator is None:
        base, ends = 0.0, (margin, max(margin, float(MAX_MARGIN)))
        paths = _kept_paths(takes, trimmed.kept)
        limit_at = partial(_fit_limit, options, reference, axis, paths)
        if reject is not None:
            held_out = _held_out(takes, options, reference, axis)
    else:
        people = options.estimator.of(takes)
        base, ends = float(DEFAULT_WITHIN), (float(MIN_WITHIN), float(MAX_WITHIN))
        limit_at = partial(_grow_from_people, people, options, reference, axis)
        if reject is not None:
            held_out = people.leave_one_out()

    def promise_for(reject: float) -> Promise:
        promised = promise(reject, held_out, *ends)
        return replace(promised, margin=promised.margin - base)

    if reject is None:
        return FittedJoint(limit_at(margin), trimmed, limit_at, promise_for, margin, None)
    promised = promise_for(reject)
    if promised.rejected > reject * (1.0 + 1e-6):
        unit = "of margin" if base == 0.0 else "around people"
        warnings.warn(
            f"{reject:.2%} was asked for, but these people promise no less than "
            f"{promised.rejected:.2%} of newcomers' frames outside, at "
            f"{np.degrees(base + promised.margin):.0f} degrees {unit}",
            stacklevel=2,
        )
    limit = limit_at(promised.margin)
    return FittedJoint(limit, trimmed, limit_at, promise_for, promised.margin, promised)


def _performers(takes: Iterable[Take]) -> set[str]:
    """Return the performers of takes that are not samples of a population."""
    return {take.performer for take in takes if not take.is_sample}


def _fit_limit(
    options: FitOptions,
    reference: Quats | None,
    axis: Vectors,
    paths: Sequence[Quats],
    margin: float,
) -> Limit:
    """Return the limit around paths (frames, 4), widened by `margin` radians."""
    return Limit.fit(
        [path for path in paths if len(path)],
        options.shape,
        options.chart,
        margin=margin,
        reference=reference,
        axis=axis if has_axis(options.chart) else None,
        **options.shape_options,
    )


def _grow_from_people(
    people: People, options: FitOptions, reference: Quats | None, axis: Vectors, margin: float
) -> Limit:
    """Return the limit of rotations within `DEFAULT_WITHIN` + `margin` radians of the people.

    ValueError if a shape option is unknown.
    """
    unknown = set(options.shape_options) - set(people.fit_options({}))
    if unknown:
        raise ValueError(f"{people.name} takes no option {', '.join(sorted(unknown))}")
    return people.field(
        DEFAULT_WITHIN + margin,
        options.chart,
        reference=reference,
        axis=axis if has_axis(options.chart) else None,
        **options.shape_options,
    )


def people_field(people: People, within: float, options: FitOptions, axis: Vectors) -> Limit:
    """Return the limit of rotations `within` that many radians of the people.

    Its chart is about the mean of the observed rotations.
    """
    return _grow_from_people(people, options, None, axis, within - DEFAULT_WITHIN)


def _held_out(
    takes: Sequence[Take], options: FitOptions, reference: Quats | None, axis: Vectors
) -> list[HeldOut]:
    """Return the margins in radians that the frames of each performer left out require.

    The limit is fitted without a margin to the takes of the others, for up to `MAX_FOLDS` groups
    of performers. Clips are left out instead if one performer is recorded, alone or blended with a
    population. Frames are thinned to one for each cell, with its count.
    """
    name_of = _left_out_by(takes)
    thinned = thin_takes(takes, name_of)
    if reference is None:
        weights = np.concatenate([take.frame_counts for take in thinned]).astype(float)
        reference = quat.mean(np.concatenate([take.rotations for take in thinned]), weights)
    names = [name_of(take) for take in thinned if not take.is_sample]
    groups = [names[k::MAX_FOLDS] for k in range(min(MAX_FOLDS, len(names)))]
    if name_of is _performer:
        rests = trim_without(thinned, groups, options.trim)
    else:
        others = (
            [take for take in thinned if take.is_sample or take.clip not in group]
            for group in groups
        )
        rests = ((rest, trim(rest, options.trim).kept) for rest in others)
    held_out = []
    for group, (rest, kept) in zip(groups, rests, strict=True):
        limit = _fit_limit(options, reference, axis, _kept_paths(rest, kept), 0.0)
        held_out += [
            HeldOut(limit.required_margin(take.rotations), take.frame_counts)
            for take in thinned
            if not take.is_sample and name_of(take) in group
        ]
    return held_out


_performer, _clip = attrgetter("performer"), attrgetter("clip")


def _left_out_by(takes: Sequence[Take]) -> Callable[[Take], str]:
    """Return the key by which takes are left out: the performer, or the clip of a single one.

    Samples are never left out. ValueError if fewer than two would be.
    """
    recorded = [take for take in takes if not take.is_sample]
    name_of = _performer if len(set(map(_performer, recorded))) > 1 else _clip
    if (count := len(set(map(name_of, recorded)))) < 2:
        raise ValueError(
            "a rejection can be asked for only with two clips or more, since each is left out in "
            f"turn; got {count}"
        )
    return name_of


def _kept_paths(takes: Sequence[Take], masks: Sequence[Mask]) -> list[Quats]:
    """Return the paths (frames, 4) of the frames in the masks; thinned ones are split at gaps."""
    paths: list[Quats] = []
    for take, kept in zip(takes, masks, strict=True):
        path = take.rotations[kept]
        if take.thinned:
            # Thinning drops frames in cells that the path has visited before.
            cosines = np.abs(np.einsum("ij,ij->i", path[:-1], path[1:]))
            gaps = 1 + np.flatnonzero(cosines < np.cos(0.5 * GAP))
            paths += np.split(path, gaps)
        else:
            paths.append(path)
    return paths


@dataclass(frozen=True, eq=False)
class LearnedLimits:
    """Limits learned from clips, with samples and provenance, all by joint."""

    limits: dict[str, Limit]
    samples: dict[str, tuple[Sample, ...]]
    provenance: dict[str, Any]
    dependents: dict[str, DependentLimit] = field(default_factory=dict)
    variable: dict[str, VariableLimit] = field(default_factory=dict)
    """Limits of the joints that may depend on another one, in the form that this needs."""

    def with_dependents(self, pairs: Mapping[str, LearnedPair]) -> LearnedLimits:
        """Return a copy with these dependent limits, by joint, and their provenance."""
        joints = {
            name: row | ({"depends": pairs[name].to_dict()} if name in pairs else {})
            for name, row in self.provenance["joints"].items()
        }
        return replace(
            self,
            limits=self.limits | {name: pair.dependent.limit for name, pair in pairs.items()},
            provenance=self.provenance | {"joints": joints},
            dependents={name: pair.dependent for name, pair in pairs.items()},
        )


def learn(
    clips: Sequence[Clip], options: FitOptions, *, progress: Progress = iter
) -> LearnedLimits:
    """Return a limit for each requested joint; see `LimitModel.fit` for the options.

    ValueError if there are no clips or no frames, or if an option names an unsuitable joint.
    """
    if not clips:
        raise ValueError("limits need at least one clip to learn from, got none")
    for clip in clips:
        if clip.frames == 0:
            raise ValueError(f"{clip.name or 'clip'}: limits cannot be learned from no frames")
    skeleton, ancestors = clips[0].skeleton, options.relative_to or {}
    wanted = joints_to_fit(skeleton, options.joints, options.exclude)
    for name, ancestor in ancestors.items():
        lineage(skeleton, name, ancestor)
        if name not in wanted:
            raise ValueError(f"relative_to names {name}, for which no limit is wanted")
    performers = options.performers
    if options.leaves_out({performer_of(clip.name, performers) for clip in clips}):
        # A person left out must not be among the others under another name.
        names = {clip.name: performer_of(clip.name, performers) for clip in clips}
        duplicates = replace(find_duplicates(clips, names), common_rig=())
        duplicates.warn(stacklevel=4)
        performers = duplicates.people(names)
    invented = [options.trim > 0.0 and invented_first_frame(clip) for clip in clips]
    takes = takes_of(
        clips,
        wanted,
        drop_first=invented,
        performers=performers,
        names=options.names,
        ancestors=ancestors,
    )
    population, added = options.blend, dict[str, Sequence[Sample]]()
    if population is not None:
        takes, added = population.blend(takes, skeleton, options.names, ancestors)
    rows = [
        {
            "name": clip.name,
            "performer": performer_of(clip.name, performers),
            "frames": clip.frames,
            "frame_time": clip.frame_time,
            "first_frame_dropped": dropped,
        }
        for clip, dropped in zip(clips, invented, strict=True)
    ]
    learned = learn_from_takes(takes, skeleton, options, rows, progress=progress)
    learned = _learn_dependents(learned, takes, skeleton, options)
    if population is None:
        return learned
    kept = {name: (*own, *added.get(name, ())) for name, own in learned.samples.items()}
    blend = {"blend": population.provenance(added)}
    return replace(learned, samples=kept, provenance=learned.provenance | blend)


def learn_from_takes(
    takes: Mapping[str, Sequence[Take]],
    skeleton: Skeleton,
    options: FitOptions,
    clip_rows: Sequence[Mapping[str, Any]],
    *,
    flips: Mapping[str, int] | None = None,
    progress: Progress = iter,
) -> LearnedLimits:
    """Return a limit, with provenance, for each joint that has takes. None depends on another.

    Parameters
    ----------
    takes
        Takes by joint name of `skeleton`.
    clip_rows
        Provenance of each clip.
    flips
        Numbers of capture flips that were removed from the takes before, by joint.
    """
    axes, ancestors = bone_axes(skeleton), options.relative_to or {}
    reference = quat.IDENTITY if options.reference == "rest" else None
    fits: dict[str, FittedJoint] = {}
    for name in progress([*takes]):
        if takes[name]:
            axis = axes[skeleton.index(name)]
            fitted = _fit_named(name, takes[name], options, reference, axis)
            if name in ancestors:
                fitted = replace(fitted, limit=measure_from(fitted.limit, ancestors[name]))
            if lost := (flips or {}).get(name, 0):
                had = fitted.trimmed
                counted = replace(had, frames=had.frames + lost, flips=had.flips + lost)
                fitted = replace(fitted, trimmed=counted)
            fits[name] = fitted
    rows = {name: _joint_row(fitted, takes[name]) for name, fitted in fits.items()}
    varying = fits if options.depends == "auto" else set(options.depends or ()) & set(fits)
    return LearnedLimits(
        limits={name: fitted.limit for name, fitted in fits.items()},
        samples={
            name: _samples_of(takes[name], fits[name]) for name in fits if options.keep_samples
        },
        provenance={
            "clips": list(clip_rows),
            "options": options.with_defaults(_performers(chain(*takes.values()))).to_dict(),
            "joints": rows,
        },
        variable={
            name: _variable_limit(
                fits[name],
                takes[name],
                rows[name]["kind"],
                options.rejection_for(_performers(takes[name])),
            )
            for name in fits
            if name in varying
        },
    )


def _learn_dependents(
    learned: LearnedLimits,
    takes: Mapping[str, Sequence[Take]],
    skeleton: Skeleton,
    options: FitOptions,
) -> LearnedLimits:
    """Return the limits, made dependent on other joints as `options.depends` says.

    ValueError if an explicitly named joint has a thin limit and is no hinge.
    """
    if not options.depends:
        return learned
    auto, axes = options.depends == "auto", bone_axes(skeleton)
    pairs = {}
    for name, driver in pairs_to_learn(options.depends, skeleton, learned.limits).items():
        variable = learned.variable[name]
        if variable.is_thin:
            if auto:
                continue
            raise ValueError(thin_message(name, driver))
        people = frames_together(takes[driver], takes[name])
        reject = options.rejection_for(_performers(takes[name]))
        axis = axes[skeleton.index(driver)]
        pair = learn_pair(variable, driver, axis, people, reject, if_pays=auto)
        if pair is not None:
            pairs[name] = pair
    return learned.with_dependents(cut_chains(pairs) if auto else pairs)


def thin_message(name: str, driver: str) -> str:
    """Return the error message for a limit that cannot depend on a driver because it is thin."""
    return f"{name} cannot depend on {driver}: its limit is thin, but no hinge"


def _variable_limit(
    fitted: FittedJoint, takes: Sequence[Take], kind: str, reject: float | None
) -> VariableLimit:
    """Return a joint's limit in the form from which a dependent one is learned.

    That of a hinge is a box with a side along the hinge's axis. A dependent limit is a part of
    this one, so this one gets a larger margin, that for `OWN_SHARE` of the rejection. `plain` has
    the joint's usual margin.
    """
    promised = None if reject is None else fitted.promise_for(OWN_SHARE * reject)
    margins = (fitted.margin if promised is None else promised.margin, fitted.margin)
    if kind != "hinge":
        limits = [fitted.limit_at(margin) for margin in margins]
        wide, plain = (replace(limit, relative_to=fitted.limit.relative_to) for limit in limits)
        return VariableLimit(wide, None, promised, plain)
    rotations = fitted.trimmed.rotations(takes)
    chart = RotationVector(quat.mean(rotations, _kept_weights(takes, fitted.trimmed)))
    boxes = [Box.fit(chart.points(rotations), margin=margin, along="data") for margin in margins]
    wide, plain = (Limit(chart, box, fitted.limit.relative_to) for box in boxes)
    along = boxes[0].axes[int((boxes[0].high - boxes[0].low).argmax())]
    return VariableLimit(wide, along, promised, plain)


def _kept_weights(takes: Sequence[Take], trimmed: TrimResult) -> Floats | None:
    """Return the numbers of frames that kept rotations represent; None if all are 1."""
    if all(take.counts is None for take in takes):
        return None
    counts = [take.frame_counts[kept] for take, kept in zip(takes, trimmed.kept, strict=True)]
    return np.concatenate(counts).astype(float)


def _fit_named(
    name: str, takes: Sequence[Take], options: FitOptions, reference: Quats | None, axis: Floats
) -> FittedJoint:
    """Return the result of `fit_joint`; its warnings name the joint, and are not repeated."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit_joint(takes, options, reference=reference, axis=axis)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        warnings.warn(f"{name}: {message}", stacklevel=4)
    return fitted


def measure_from(limit: Limit, ancestor: str) -> Limit:
    """Return a copy of a limit, measured from the joint `ancestor`.

    Warnings about the region are not repeated.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return replace(limit, relative_to=ancestor)


def _samples_of(takes: Sequence[Take], fitted: FittedJoint) -> tuple[Sample, ...]:
    """Return the kept rotations of each take, one for each cell of 0.05 radians.

    Takes that are samples of a population themselves are left out.
    """
    chart, samples = fitted.limit.chart, []
    if chart.dimension != 3:
        chart = RotationVector(chart.reference)
    for take, kept in zip(takes, fitted.trimmed.kept, strict=True):
        frames = np.flatnonzero(kept)
        if len(frames) == 0 or take.is_sample:
            continue
        frames = frames[thin(chart.points(take.rotations[frames]))]
        rotations = take.rotations[frames]
        samples.append(Sample(take.clip, take.performer, frames + take.first_frame, rotations))
    return tuple(samples)


def _joint_row(fitted: FittedJoint, takes: Sequence[Take]) -> dict[str, Any]:
    """Return the entry of a joint in a model's provenance."""
    trimmed, kind = fitted.trimmed, joint_kind(fitted.trimmed.rotations(takes))
    counts = ("frames", "rule", "flips", "unconfirmed", "isolated")
    return {
        "kind": kind.kind,
        "axes": kind.axes.tolist(),
        **{name: getattr(trimmed, name) for name in counts},
        "margin": fitted.margin,
        "rejected": None if fitted.promise is None else fitted.promise.held_out,
        "promised": None if fitted.promise is None else fitted.promise.rejected,
    }
