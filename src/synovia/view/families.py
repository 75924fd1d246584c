"""Families of limits at the page: evidence, refits as edits, and how good each is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import numpy as np

from .. import edit, learn
from ..arrays import Quats, Vectors, Within
from ..limit import Limit, chart_for, has_axis
from ..model import LimitModel
from ..shapes import SHAPES
from ..skeleton import Clip, Skeleton
from .limit_edits import ModelEdit
from .messages import JointRequest
from .samples import kept_samples
from .session import Scene, Session, limit_to_edit, with_limits

EvidenceSource = Literal["samples", "clip", "limit"]
"""What a limit is made from: kept samples, the clip, or the present limit."""
FROM_SAMPLES: EvidenceSource = "samples"
FROM_CLIP: EvidenceSource = "clip"
FROM_LIMIT: EvidenceSource = "limit"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Family and chart of a limit, its margin, and what it is made from."""

    family: str
    chart: str | None
    margin_deg: Annotated[float, Within(0, 90)]
    from_: EvidenceSource


@dataclass(frozen=True, kw_only=True)
class Refit(Choice, ModelEdit):
    """An edit that fits or converts the limit."""

    edit: Literal["refit"]

    def label(self, name: str) -> str:
        """Return what the edit is called in the history."""
        label = families()[choice_of(self).family].label
        return f"{label[:1].lower()}{label[1:]} for {name}"

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        """Return the model with the limit made anew."""
        limit = refit_limit(scene, limit_to_edit(model.limits, name), name, choice_of(self))
        return with_limits(model, {**model.limits, name: limit})


@dataclass(frozen=True, kw_only=True)
class JudgeRequest(Choice):
    """A request to evaluate a choice: as a whole, or one of its folds."""

    joint: str
    part: int | None = None


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The share of all rotations that a choice allows, and by what it can be judged."""

    share: float
    parts: int
    basis: str


@dataclass(frozen=True, kw_only=True)
class PartJudgement:
    """The share of a part's frames that is outside the limit of the others."""

    outside: float


@dataclass(frozen=True, kw_only=True)
class FamilyName:
    """A family of limits, and its name for people."""

    name: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Family(FamilyName):
    """The same, and the charts that it works in."""

    charts: list[str]
    sculptable: bool


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a limit can be made from or compared with, and why not, if it cannot."""

    name: str
    label: str
    why: str | None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a conversion gained and lost, as shares of all rotations, and its largest error."""

    gained: float
    lost: float
    error_deg: float


@dataclass(frozen=True, kw_only=True)
class Making:
    """How the present limit was made, as far as that is known."""

    choice: Choice
    known: bool
    fitted: bool
    remarks: list[str]
    cost: Cost | None


@dataclass(frozen=True, kw_only=True)
class Families(Making):
    """What a joint's limit can be, and what it is."""

    families: list[Family]
    sources: list[Source]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Takes of one joint, the share of them that may be dropped, and the direction of its bone."""

    takes: tuple[learn.Take, ...]
    trim: float
    axis: Vectors


def sources_of(scene: Scene, name: str) -> list[Source]:
    """Return what a joint's limit can be made from."""
    kept = kept_samples(scene, name)
    people = len({sample.performer for sample in kept})
    samples = f" of {people} {'person' if people == 1 else 'people'}" if kept else ""
    no_samples = None if kept else "The limits kept no samples."
    no_clip = None if scene.clip.frames > 1 else "The clip has one frame."
    return [
        Source(name=FROM_SAMPLES, label=f"kept samples{samples}", why=no_samples),
        Source(name=FROM_CLIP, label="the clip", why=no_clip),
        Source(name=FROM_LIMIT, label="this limit", why=None),
    ]


def evidence_of(scene: Scene, limit: Limit, name: str, source: str) -> Evidence:
    """Return what there is of a joint in samples kept or in the clip, as its limit is measured."""
    why = {known.name: known.why for known in sources_of(scene, name)}[source]
    if why is not None:
        raise ValueError(f"{why} Only this limit itself can be made another family.")
    if source == FROM_CLIP:
        return _clip_evidence(scene.clip, name, limit.relative_to)
    assert scene.source is not None  # or nothing would have been kept
    return _sample_evidence(kept_samples(scene, name), scene.source.skeleton, scene.names[name])


@lru_cache(maxsize=32)
def _clip_evidence(clip: Clip, name: str, ancestor: str | None) -> Evidence:
    above = {} if ancestor is None else {name: ancestor}
    invented = [learn.invented_first_frame(clip)]
    takes = learn.takes_of([clip], [name], drop_first=invented, ancestors=above)[name]
    return Evidence(
        tuple(takes), learn.MAX_DROPPED, learn.bone_axes(clip.skeleton)[clip.skeleton.index(name)]
    )


@lru_cache(maxsize=32)
def _sample_evidence(samples: Sequence[learn.Sample], skeleton: Skeleton, name: str) -> Evidence:
    """Return samples as takes of which nothing is dropped: what was kept was believed."""
    takes = tuple(sample.take() for sample in samples)
    return Evidence(takes, 0.0, learn.bone_axes(skeleton)[skeleton.index(name)])


@lru_cache(maxsize=32)
def trim_evidence(found: Evidence) -> learn.TrimResult:
    """Return which frames of the evidence to believe."""
    return learn.trim(found.takes, found.trim)


# How good a family is for a joint: its volume, and what it rejects of frames that it never saw.


TIME_FOLDS = 5
"""Into so many pieces, one after the other in time, a single clip is cut."""
FEWEST_FRAMES = 10
"""Frames that a clip needs to be cut."""


def judge_family(session: Session, request: JudgeRequest) -> Judgement | PartJudgement:
    """Return the volume of a joint's limit in a family, and in how many parts it can be judged.

    With a `part`, return instead the share of that part's frames that is outside the limit of the
    others, made in the same way. The mean over all parts is the held-out rejection; each is a
    request of its own, so that a page can stop in between.
    """
    scene, name, choice = session.scene, request.joint, choice_of(request)
    if choice.from_ == FROM_LIMIT:
        raise ValueError("only what is made from evidence can be judged by evidence left out")
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit to judge")
    found = evidence_of(scene, scene.model.limits[name], name, choice.from_)
    folds, basis = folds_of(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the limit is made, if it is
        part = request.part
        if part is None:
            share = fit_limit(found, choice).volume(4000)
            return Judgement(share=share, parts=len(folds), basis=basis)
        if not 0 <= part < len(folds):
            raise ValueError(f"part must be from 0 to {len(folds) - 1}, got {part}")
        rest, held_out = folds[part]
        outside = 1.0 - float(fit_limit(rest, choice).contains(held_out).mean())
    return PartJudgement(outside=outside)


@lru_cache(maxsize=32)
def folds_of(found: Evidence) -> tuple[list[tuple[Evidence, Quats]], str]:
    """Return what is left out in turn, and in words what that is: people, clips or times.

    Each is the rest of the evidence, and the rotations (n, 4) of the part left out.
    """
    for attribute, words in (("performer", "people"), ("clip", "clips")):
        if folds := learn.leave_one_out(found.takes, attrgetter(attribute)):
            return _as_evidence(found, folds), f"{len(folds)} {words}"
    if len(found.takes) != 1 or found.takes[0].thinned:
        return [], "samples of one clip, which cannot be parted in time"
    if len(found.takes[0].rotations) < FEWEST_FRAMES:
        return [], "a clip too short to be cut in parts"
    folds = learn.leave_parts_out(found.takes[0], TIME_FOLDS)
    return _as_evidence(found, folds), f"{TIME_FOLDS} parts of this clip"


def _as_evidence(found: Evidence, folds: Sequence[learn.Fold]) -> list[tuple[Evidence, Quats]]:
    return [(replace(found, takes=fold.rest), fold.held_out) for fold in folds]


MARGIN = 0.05
"""Radians, where nobody said how wide a limit was made: that of `LimitModel.fit`."""


def families() -> dict[str, edit.Family]:
    """Return what a limit can be made at the page, by name: what the registered shapes offer."""
    return {family.name: family for shape in SHAPES.values() for family in edit.families(shape)}


@dataclass(frozen=True, eq=False)
class FitRecord:
    """How a limit came about at the page, what a fit warned of, and what a conversion cost."""

    choice: Choice
    warnings: tuple[str, ...] = ()
    origin: Limit | None = None
    """What it was converted from: another conversion starts there again, and loses no more."""
    cost: Cost | None = None


FIT_RECORDS: WeakKeyDictionary[Limit, FitRecord] = WeakKeyDictionary()
"""How limits were made, so that after an undo the page shows the choices that led there."""


def describe_families(session: Session, request: JointRequest) -> Families:
    """Return the families and charts there are, the present choice, and what limits can be from."""
    scene, name = session.scene, request.joint
    limit_to_edit(scene.model.limits, name)
    known = [
        Family(
            name=key,
            label=family.label,
            charts=list(SHAPES[family.shape].charts),
            sculptable=edit.is_sculptable(SHAPES[family.shape]),
        )
        for key, family in families().items()
    ]
    making = describe_choice(scene, name)
    return Families(families=known, sources=sources_of(scene, name), **vars(making))


def choice_of(request: Choice) -> Choice:
    """Return the choice of a request with its chart; ValueError for an unknown family."""
    family, chart, known = request.family, request.chart, families()
    if family not in known:
        raise ValueError(f"family must be one of {', '.join(known)}, got {family!r:.60}")
    shape = known[family].shape
    charts = SHAPES[shape].charts
    if chart is not None and chart not in charts:
        raise ValueError(f"{family} works in {' or '.join(charts)}, got the chart {chart!r:.60}")
    return Choice(
        family=family,
        chart=chart_for(shape, chart),
        margin_deg=request.margin_deg,
        from_=request.from_,
    )


def refit_limit(scene: Scene, limit: Limit, name: str, choice: Choice) -> Limit:
    """Return the joint's limit as the choice has it, and remember how it was made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if choice.from_ == FROM_LIMIT:
            made, origin, cost = _convert(scene, limit, name, choice)
        else:
            found = evidence_of(scene, limit, name, choice.from_)
            made, origin, cost = fit_limit(found, choice), None, None
            if limit.relative_to is not None:
                made = learn.measure_from(made, limit.relative_to)
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    FIT_RECORDS[made] = FitRecord(choice, messages, origin, cost)
    return made


def fit_limit(found: Evidence, choice: Choice) -> Limit:
    """Return the limit around what can be believed of the evidence, as `LimitModel.fit` does it."""
    kind, margin = SHAPES[families()[choice.family].shape], float(np.radians(choice.margin_deg))
    if kind.fits_margin and not kind.convex:  # the grid of a field depends on the margin
        return _fit(found, choice.family, choice.chart, margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the limit that is grown from it warns for itself
        core = _fit_without_margin(found, choice.family, choice.chart)
    return core.grow(margin)


@lru_cache(maxsize=256)
def _fit_without_margin(found: Evidence, family: str, chart: str | None) -> Limit:
    """Return the limit without a margin, so that a slider of margins need not fit again."""
    return _fit(found, family, chart, 0.0)


def _fit(found: Evidence, family: str, chart: str | None, margin: float) -> Limit:
    kind = families()[family]
    options = learn.FitOptions(
        kind.shape,
        chart_for(kind.shape, chart),
        margin=margin,
        trim=found.trim,
        shape_options=dict(kind.options),
    )
    return learn.fit_joint(
        found.takes, options, reference=None, axis=found.axis, trimmed=trim_evidence(found)
    ).limit


def _convert(scene: Scene, limit: Limit, name: str, choice: Choice) -> tuple[Limit, Limit, Cost]:
    """Return the limit in another family, what it is converted from, and what that costs."""
    known, family = FIT_RECORDS.get(limit), families()[choice.family]
    origin = limit if known is None or known.origin is None else known.origin
    skeleton = scene.clip.skeleton
    bone = origin.chart.bone
    axis = learn.bone_axes(skeleton)[skeleton.index(name)] if bone is None else bone
    chart = chart_for(family.shape, choice.chart)
    turned = axis if has_axis(chart) else None
    done = origin.to(family.shape, chart, axis=turned, **dict(family.options))
    # A copy, since a limit that is of the family already comes back itself.
    return (
        replace(done.limit),
        origin,
        Cost(gained=done.gained, lost=done.lost, error_deg=float(np.degrees(done.error))),
    )


def describe_choice(scene: Scene, name: str) -> Making:
    """Return the choice that the limit is from; where nobody chose, what can be told of it."""
    limit = scene.model.limits[name]
    made = FIT_RECORDS.get(limit)
    known = made is not None or _is_original(scene, name)
    if made is None:
        # Frames that happen to be shown are no evidence for a limit, unless a person says so.
        has_samples = _is_original(scene, name) and kept_samples(scene, name)
        choice = Choice(
            family=edit.family_of(limit.shape),
            chart=limit.chart.name,
            margin_deg=round(float(np.degrees(_recorded_margin(scene, name))), 4),
            from_=FROM_SAMPLES if has_samples else FROM_LIMIT,
        )
        return Making(choice=choice, known=known, fitted=False, remarks=[], cost=None)
    return Making(
        choice=made.choice,
        known=known,
        fitted=made.choice.from_ != FROM_LIMIT,
        remarks=list(made.warnings),
        cost=made.cost,
    )


def _is_original(scene: Scene, name: str) -> bool:
    """Tell whether a joint's limit is still the one that was given."""
    given = scene.source.limits.get(scene.names.get(name, "")) if scene.source is not None else None
    return given is not None and given.shape is scene.model.limits[name].shape


def _recorded_margin(scene: Scene, name: str) -> float:
    """Return the margin that the limits' own record has for a joint, in radians."""
    joints = scene.source.provenance.get("joints") if scene.source is not None else None
    row = joints.get(scene.names.get(name)) if isinstance(joints, dict) else None
    margin = row.get("margin") if isinstance(row, dict) else None
    return float(margin) if isinstance(margin, int | float) else MARGIN
