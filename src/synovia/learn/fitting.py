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
"""From so many performers on, margins are chosen by who is left out, for `DEFAULT_REJECT`."""
MAX_MARGIN = np.radians(90.0)
"""The largest margin, in radians, that is tried for the rejection asked for."""
MAX_FOLDS = 10
"""More performers than so many are left out several at a time."""
OWN_SHARE = 0.5
"""Of a rejection, the part for the own limit of a joint that depends on another one."""
GAP = np.radians(60.0)
"""Where thinned rotations are farther apart than this, in radians, they are not one path."""


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
    """The largest expected share of frames outside, of people who are not in the clips.

    Each joint is widened to it, at least by the margin. Performers are left out in turn to measure
    it, or clips if there is one performer.
    """
    trim: float = MAX_DROPPED
    """The largest share of frames, besides capture flips, that may be dropped for lack of support.

    These are frames that no other performer comes near, or that stand alone. 0 keeps every frame,
    flips too.
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
    """By joint, the ancestor from which it is measured instead of from its parent."""
    keep_samples: bool = False
    """Whether to keep observed rotations, thinned, to blend or calibrate with."""
    blend: Population | None = None
    """Observations of other performers to blend with."""
    depends: Mapping[str, str] | str | None = None
    """By joint, the driver that its limit depends on, such as ``{"LeftLeg": "LeftUpLeg"}``.

    A hinge gets ends that vary with the direction of the driver's bone, another joint a margin.
    "auto" finds the joints for which that pays on people who are left out.
    """
    shape_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the shape's fit, or of the estimator."""

    @classmethod
    def of(cls, shape: str, chart: str | None, **options: Any) -> FitOptions:
        """Return the options from keywords: what is not a field here goes to the shape's fit.

        Without a chart it is "swing-twist" where the shape works in that, else its first one.
        """
        known = {each.name for each in fields(cls)} - {"shape_options"}
        own = {name: value for name, value in options.items() if name in known}
        others = {name: value for name, value in options.items() if name not in known}
        kind = ESTIMATORS[shape].shape if shape in ESTIMATORS else shape
        return cls(shape=shape, chart=chart_for(kind, chart), shape_options=others, **own)

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
        """The estimator that is named in place of a shape, if one is."""
        return ESTIMATORS.get(self.shape)

    def with_defaults(self, performers: Collection[str]) -> FitOptions:
        """Return the options with a margin, and with a rejection where several people perform."""
        margin = DEFAULT_MARGIN if self.margin is None else self.margin
        return replace(self, margin=margin, reject=self.rejection_for(performers))

    def rejection_for(self, performers: Collection[str]) -> float | None:
        """Return the share of newcomers' frames that may be outside, with such performers."""
        if self.reject is None and self.leaves_out(performers):
            return DEFAULT_REJECT
        return self.reject

    def leaves_out(self, performers: Collection[str]) -> bool:
        """Tell whether some of so many performers are left out, to choose the margin."""
        several = len(performers) >= MIN_PERFORMERS
        return self.reject is not None or (self.margin is None and several)

    def to_dict(self) -> dict[str, Any]:
        """Return what the provenance of limits keeps of the options."""
        kept = ("shape", "chart", "margin", "reject", "trim", "reference")
        return {name: getattr(self, name) for name in kept} | dict(self.shape_options)


@dataclass(frozen=True, eq=False)
class FittedJoint:
    """A joint's limit, the frames that were dropped, and the margin that was used."""

    limit: Limit
    trimmed: TrimResult
    limit_at: Callable[[float], Limit]
    """Returns the limit with another margin, in radians."""
    promise_for: Callable[[float], Promise]
    """Returns the margin for a rejection; only for fits with a rejection."""
    margin: float
    promise: Promise | None
    """Shares of frames outside, of people left out and of newcomers, if a rejection was asked."""


def fit_joint(
    takes: Sequence[Take],
    options: FitOptions,
    *,
    reference: Quats | None,
    axis: Vectors,
    trimmed: TrimResult | None = None,
) -> FittedJoint:
    """Return the limit of one joint around what is left of its takes when they are trimmed.

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
        The result of `trim` for the takes, if it is known already.
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
        kept = promise(reject, held_out, *ends)
        return replace(kept, margin=kept.margin - base)

    if reject is None:
        return FittedJoint(limit_at(margin), trimmed, limit_at, promise_for, margin, None)
    kept = promise_for(reject)
    if kept.rejected > reject * (1.0 + 1e-6):
        unit = "of margin" if base == 0.0 else "around people"
        warnings.warn(
            f"{reject:.2%} was asked for, but these people promise no less than "
            f"{kept.rejected:.2%} of newcomers' frames outside, at "
            f"{np.degrees(base + kept.margin):.0f} degrees {unit}",
            stacklevel=2,
        )
    limit = limit_at(kept.margin)
    return FittedJoint(limit, trimmed, limit_at, promise_for, kept.margin, kept)


def _performers(takes: Iterable[Take]) -> set[str]:
    """Return the performers of whom there are more than samples."""
    return {take.performer for take in takes if not take.is_sample}


def _fit_limit(
    options: FitOptions,
    reference: Quats | None,
    axis: Vectors,
    paths: Sequence[Quats],
    margin: float,
) -> Limit:
    """Return the limit around paths (frames, 4)."""
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
    """Return the limit `DEFAULT_WITHIN` plus a margin, in radians, from the people."""
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
    """Return the limit `within` so many radians of the people, charted about their mean."""
    return _grow_from_people(people, options, None, axis, within - DEFAULT_WITHIN)


def _held_out(
    takes: Sequence[Take], options: FitOptions, reference: Quats | None, axis: Vectors
) -> list[HeldOut]:
    """Return the margins, in radians, that each performer needs who was left out.

    Performers are left out in turn (clips, where there is one performer, or one who is blended with
    others), and their frames are compared with the limit of the others. Frames are counted by
    cells.
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
    """Return what tells whom to leave out: the performer, or the clip where there is one.

    Samples are never left out.
    """
    own = [take for take in takes if not take.is_sample]
    name_of = _performer if len(set(map(_performer, own))) > 1 else _clip
    if (count := len(set(map(name_of, own)))) < 2:
        raise ValueError(
            "a rejection can be asked for only with two clips or more, since each is left out in "
            f"turn; got {count}"
        )
    return name_of


def _kept_paths(takes: Sequence[Take], masks: Sequence[Mask]) -> list[Quats]:
    paths: list[Quats] = []
    for take, kept in zip(takes, masks, strict=True):
        path = take.rotations[kept]
        if take.thinned:
            # Where a thinned path goes on elsewhere, it was on the way there before.
            cosines = np.abs(np.einsum("ij,ij->i", path[:-1], path[1:]))
            gaps = 1 + np.flatnonzero(cosines < np.cos(0.5 * GAP))
            paths += np.split(path, gaps)
        else:
            paths.append(path)
    return paths


@dataclass(frozen=True, eq=False)
class LearnedLimits:
    """What a model is made of."""

    limits: dict[str, Limit]
    samples: dict[str, tuple[Sample, ...]]
    provenance: dict[str, Any]
    dependents: dict[str, DependentLimit] = field(default_factory=dict)
    variable: dict[str, VariableLimit] = field(default_factory=dict)
    """Of joints that are to depend on another one, what of their limits may vary."""

    def with_dependents(self, pairs: Mapping[str, LearnedPair]) -> LearnedLimits:
        """Return the same with limits that depend on others, by joint."""
        joints = {
            name: row | ({"depends": pairs[name].to_dict()} if name in pairs else {})
            for name, row in self.provenance["joints"].items()
        }
        return replace(
            self,
            limits=self.limits | {name: each.dependent.limit for name, each in pairs.items()},
            provenance=self.provenance | {"joints": joints},
            dependents={name: each.dependent for name, each in pairs.items()},
        )


def learn(
    clips: Sequence[Clip], options: FitOptions, *, progress: Progress = iter
) -> LearnedLimits:
    """Return a limit for each joint wanted; `LimitModel.fit` says what the options mean."""
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
        # Whoever is held out must not be among the others under another name.
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
    """Return a limit for each joint that has takes, and a record of how; none depends on another.

    Parameters
    ----------
    takes
        By joint, named as in `skeleton`.
    clip_rows
        What the provenance says of each clip.
    flips
        By joint, frames of capture flips that are no longer in the takes.
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
    """Return the limits with those that depend on another joint, as the options say."""
    if not options.depends:
        return learned
    auto, axes = options.depends == "auto", bone_axes(skeleton)
    found = {}
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
            found[name] = pair
    return learned.with_dependents(cut_chains(found) if auto else found)


def thin_message(name: str, driver: str) -> str:
    """Return why nothing of a joint's limit can depend on a driver."""
    return f"{name} cannot depend on {driver}: its limit is thin, but no hinge"


def _variable_limit(
    fitted: FittedJoint, takes: Sequence[Take], kind: str, reject: float | None
) -> VariableLimit:
    """Return what may vary of a limit: a hinge's is a box along its axis, with that direction.

    What is outside the joint's own limit is outside the dependent one as well. So the own limit
    is wider, for `OWN_SHARE` of the rejection asked for.
    """
    kept = None if reject is None else fitted.promise_for(OWN_SHARE * reject)
    margins = (fitted.margin if kept is None else kept.margin, fitted.margin)
    if kind != "hinge":
        limits = [fitted.limit_at(margin) for margin in margins]
        wide, plain = (replace(each, relative_to=fitted.limit.relative_to) for each in limits)
        return VariableLimit(wide, None, kept, plain)
    rotations = fitted.trimmed.rotations(takes)
    chart = RotationVector(quat.mean(rotations, _kept_weights(takes, fitted.trimmed)))
    boxes = [Box.fit(chart.points(rotations), margin=each, along="data") for each in margins]
    wide, plain = (Limit(chart, box, fitted.limit.relative_to) for box in boxes)
    along = boxes[0].axes[int((boxes[0].high - boxes[0].low).argmax())]
    return VariableLimit(wide, along, kept, plain)


def _kept_weights(takes: Sequence[Take], trimmed: TrimResult) -> Floats | None:
    """Return the frames that each rotation left stands for; None where each is a frame."""
    if all(take.counts is None for take in takes):
        return None
    counts = [take.frame_counts[kept] for take, kept in zip(takes, trimmed.kept, strict=True)]
    return np.concatenate(counts).astype(float)


def _fit_named(
    name: str, takes: Sequence[Take], options: FitOptions, reference: Quats | None, axis: Floats
) -> FittedJoint:
    """Fit, and let warnings name the joint, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit_joint(takes, options, reference=reference, axis=axis)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        warnings.warn(f"{name}: {message}", stacklevel=4)
    return fitted


def measure_from(limit: Limit, ancestor: str) -> Limit:
    """Return the region of a limit that was just fitted, measured from an ancestor by name.

    What is wrong with the region was warned about when it was fitted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return replace(limit, relative_to=ancestor)


def _samples_of(takes: Sequence[Take], fitted: FittedJoint) -> tuple[Sample, ...]:
    """Return the kept rotations of each take, one in each cell of 0.05 radians.

    Those that came thinned are not among them.
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
