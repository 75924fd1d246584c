"""Families of limits at the page: evidence for a joint, and refits as edits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import numpy as np

from .. import edit, learn
from ..arrays import Vectors, Within
from ..limit import Limit, chart_for, has_axis
from ..model import LimitModel
from ..shapes import SHAPES
from ..skeleton import Clip, Skeleton
from .limit_edits import ModelEdit
from .messages import JointRequest
from .reasons import kept_samples
from .scene import Scene, limit_to_edit, with_limits
from .session import Session

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
        label = families()[choice_of(self).family].label
        return f"{label[:1].lower()}{label[1:]} for {name}"

    def change(self, scene: Scene, model: LimitModel, name: str) -> LimitModel:
        limit = refit_limit(scene, limit_to_edit(model.limits, name), name, choice_of(self))
        return with_limits(model, {**model.limits, name: limit})


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
    """Return the sources that a joint's limit can be fitted to or converted from."""
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
    """Return the rotations of a joint in a source, relative to the frame of its limit."""
    why = {known.name: known.why for known in sources_of(scene, name)}[source]
    if why is not None:
        raise ValueError(f"{why} Only this limit itself can be made another family.")
    if source == FROM_CLIP:
        return _clip_evidence(scene.clip, name, limit.relative_to)
    assert scene.source is not None  # samples are those of the source
    return _sample_evidence(kept_samples(scene, name), scene.source.skeleton, scene.names[name])


@lru_cache(maxsize=32)
def _clip_evidence(clip: Clip, name: str, ancestor: str | None) -> Evidence:
    above = {} if ancestor is None else {name: ancestor}
    takes = learn.takes_of([clip], [name], ancestors=above)[name]
    return Evidence(
        tuple(takes), learn.MAX_DROPPED, learn.bone_axes(clip.skeleton)[clip.skeleton.index(name)]
    )


@lru_cache(maxsize=32)
def _sample_evidence(samples: Sequence[learn.Sample], skeleton: Skeleton, name: str) -> Evidence:
    """Return samples as takes. None is trimmed, because outliers were not kept."""
    takes = tuple(sample.take() for sample in samples)
    return Evidence(takes, 0.0, learn.bone_axes(skeleton)[skeleton.index(name)])


@lru_cache(maxsize=32)
def trim_evidence(evidence: Evidence) -> learn.TrimResult:
    """Return the evidence without outliers."""
    return learn.trim(evidence.takes, evidence.trim)


MARGIN = 0.05  # radians; the default of `LimitModel.fit`, for limits without a recorded margin


def families() -> dict[str, edit.Family]:
    """Return the families of all registered shapes, by name."""
    return {family.name: family for shape in SHAPES.values() for family in edit.families(shape)}


@dataclass(frozen=True, eq=False)
class FitRecord:
    """The choice that a limit was made by, warnings of the fit, and the cost of a conversion."""

    choice: Choice
    warnings: tuple[str, ...] = ()
    origin: Limit | None = None
    """The limit that it was converted from. Another conversion starts there, to lose no more."""
    cost: Cost | None = None


FIT_RECORDS: WeakKeyDictionary[Limit, FitRecord] = WeakKeyDictionary()
"""Records of limits made at a page, so that it shows the right choice after an undo."""


def describe_families(session: Session, request: JointRequest) -> Families:
    """Return all families with their charts, the sources, and how the present limit was made."""
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
    """Return the joint's limit fitted or converted by a choice, and record how it was made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if choice.from_ == FROM_LIMIT:
            made, origin, cost = _convert(scene, limit, name, choice)
        else:
            evidence = evidence_of(scene, limit, name, choice.from_)
            made, origin, cost = fit_limit(evidence, choice), None, None
            if limit.relative_to is not None:
                made = learn.measure_from(made, limit.relative_to)
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    FIT_RECORDS[made] = FitRecord(choice, messages, origin, cost)
    return made


def fit_limit(evidence: Evidence, choice: Choice) -> Limit:
    """Return the limit fitted to the trimmed evidence, as by `LimitModel.fit`."""
    kind, margin = SHAPES[families()[choice.family].shape], float(np.radians(choice.margin_deg))
    if kind.fits_margin and not kind.exact_distance:  # the grid of a field depends on the margin
        return _fit(evidence, choice.family, choice.chart, margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `grow` repeats the warnings
        core = _fit_without_margin(evidence, choice.family, choice.chart)
    return core.grow(margin)


@lru_cache(maxsize=256)
def _fit_without_margin(evidence: Evidence, family: str, chart: str | None) -> Limit:
    """Return the limit without a margin; cached, for a slider that changes the margin alone."""
    return _fit(evidence, family, chart, 0.0)


def _fit(evidence: Evidence, family: str, chart: str | None, margin: float) -> Limit:
    kind = families()[family]
    options = learn.FitOptions(
        kind.shape,
        chart_for(kind.shape, chart),
        margin=margin,
        trim=evidence.trim,
        shape_options=dict(kind.options),
    )
    return learn.fit_joint(
        evidence.takes, options, reference=None, axis=evidence.axis, trimmed=trim_evidence(evidence)
    ).limit


def _convert(scene: Scene, limit: Limit, name: str, choice: Choice) -> tuple[Limit, Limit, Cost]:
    """Return the limit converted to another family, its origin, and the cost."""
    known, family = FIT_RECORDS.get(limit), families()[choice.family]
    origin = limit if known is None or known.origin is None else known.origin
    skeleton = scene.clip.skeleton
    bone = origin.chart.bone
    axis = learn.bone_axes(skeleton)[skeleton.index(name)] if bone is None else bone
    chart = chart_for(family.shape, choice.chart)
    chart_axis = axis if has_axis(chart) else None
    conversion = origin.to(family.shape, chart, axis=chart_axis, **dict(family.options))
    cost = Cost(
        gained=conversion.gained,
        lost=conversion.lost,
        error_deg=float(np.degrees(conversion.error)),
    )
    # A copy, because `to` returns a limit that has the family already as it is.
    return replace(conversion.limit), origin, cost


def describe_choice(scene: Scene, name: str) -> Making:
    """Return how a joint's limit was made, as far as that is recorded."""
    limit = scene.model.limits[name]
    record = FIT_RECORDS.get(limit)
    if record is not None:
        remarks = list(record.warnings)
        return Making(choice=record.choice, known=True, remarks=remarks, cost=record.cost)
    original = provenance = None
    if scene.source is not None:
        source_name = scene.names.get(name, "")
        original = scene.source.limits.get(source_name)
        joints = scene.source.provenance.get("joints")
        provenance = joints.get(source_name) if isinstance(joints, dict) else None
    is_original = original is not None and original.shape is limit.shape
    margin = provenance.get("margin") if isinstance(provenance, dict) else None
    margin_deg = np.degrees(margin if isinstance(margin, int | float) else MARGIN)
    # The clip on the page becomes evidence only if the user chooses it.
    choice = Choice(
        family=edit.family_of(limit.shape),
        chart=limit.chart.name,
        margin_deg=round(float(margin_deg), 4),
        from_=FROM_SAMPLES if is_original and kept_samples(scene, name) else FROM_LIMIT,
    )
    return Making(choice=choice, known=is_original, remarks=[], cost=None)
