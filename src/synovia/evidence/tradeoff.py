"""Curves of rejection against volume: of every family of limits, and of the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Quats, own
from ..charts import CHARTS
from ..learn import FIELD_SOURCES, MAX_DROPPED, FitOptions, People, Performers
from ..limit import shape_named
from ..shapes import SHAPES, DistanceField
from ..skeleton import Clip
from .baselines import BASELINES, Baseline
from .study import GroupBy, JointStudy, Study, uniform_rotations, widen

MARGINS = np.radians([*range(-40, -10, 3), *range(-10, 20), *range(20, 50, 2), 55.0, 65.0, 80.0])
"""Margins, in radians, that a family's curve is drawn through."""
FIELD_FAMILIES, FIELD_CHART = FIELD_SOURCES[1:], "rotation-vector"
"""Families beside the shapes: distance fields near people, in the chart they suit."""
CURVE_POINTS = 120
"""Knobs that the curve of a baseline, or of fields near people, is drawn through."""


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """How often newcomers are rejected, for how many rotations accepted, while a knob is turned."""

    name: str
    knobs: Floats
    rejected: Floats
    """The share of held-out frames outside, as a mean over those who were held out."""
    volume: Floats
    """The share of all rotations inside."""

    def __post_init__(self) -> None:
        own(self, knobs=(None,), rejected=(None,), volume=(None,))
        if not len(self.knobs) == len(self.rejected) == len(self.volume) > 0:
            raise ValueError(
                "a curve needs as many rejections and volumes as knobs, and at least one, got "
                f"{len(self.knobs)}, {len(self.rejected)} and {len(self.volume)}"
            )

    @property
    def frontier(self) -> tuple[Floats, Floats]:
        """Volumes that grow and the rejections there, which never do: the best so far at each."""
        order = np.lexsort((self.rejected, self.volume))
        return self.volume[order], np.minimum.accumulate(self.rejected[order])


def at_volume(curve: TradeoffCurve, volume: float) -> float:
    """Return the share rejected where `volume` is accepted; nan below the least volume tried."""
    volumes, rejected = curve.frontier
    if volume < volumes[0]:
        return float("nan")
    return float(np.interp(volume, volumes, rejected))


def at_rejection(curve: TradeoffCurve, rejected: float) -> float:
    """Return the least volume where at most `rejected` is; nan where the curve stays above."""
    volumes, shares = curve.frontier
    enough = np.flatnonzero(shares <= rejected)
    if len(enough) == 0:
        return float("nan")
    k = int(enough[0])
    if k == 0:
        return float(volumes[0])
    back = (shares[k - 1] - rejected) / (shares[k - 1] - shares[k])
    return float(volumes[k - 1] + back * (volumes[k] - volumes[k - 1]))


def families(shapes: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return each shape, all unless `shapes` names some, with each chart that it works in.

    Charts that kernels do not know are left out, as they would take most of the time, and those
    that are not to be compared.
    """
    for name in shapes or ():
        if name not in FIELD_FAMILIES:
            shape_named(name)
    known = [name for name, chart in CHARTS.items() if chart.kernel is not None and chart.compared]
    return [
        (shape, chart)
        for shape in shapes or (*SHAPES, *FIELD_FAMILIES)
        for chart in ([FIELD_CHART] if shape in FIELD_FAMILIES else known)
        if shape in FIELD_FAMILIES or CHARTS[chart].suits(SHAPES[shape])
    ]


def fastest_first(chosen: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return families in another order: convex shapes, which take the least time, come first."""
    return sorted(
        chosen, key=lambda family: family[0] not in SHAPES or not SHAPES[family[0]].convex
    )


def family_options(shape: str, chart: str) -> FitOptions:
    """Return how to fit a family: a shape, or a distance field of what many people do."""
    if shape in FIELD_FAMILIES:
        return FitOptions(DistanceField.name, chart, margin=0.0, shape_options={"by": shape})
    return FitOptions(shape, chart, margin=0.0)


def curves(
    clips: Sequence[Clip],
    joint: str,
    *,
    shapes: Sequence[str] | None = None,
    baselines: Sequence[type[Baseline]] = BASELINES,
    by: GroupBy = "performer",
    performers: Performers = None,
    trim: float = MAX_DROPPED,
    margins: Floats = MARGINS,
    samples: int = 20_000,
    seed: int = 0,
) -> list[TradeoffCurve]:
    """Return the curve of each family, then of each baseline, for one joint of `clips`.

    Each performer (each clip) is held out in turn, duplicates merged; rejections and volumes are
    means over them.

    Parameters
    ----------
    clips
        Clips of at least two performers, or two clips.
    joint
        The name of the joint.
    shapes
        Names of shapes, or "people"; all of them unless given.
    baselines
        Simpler regions to compare with.
    by
        What is held out in turn: all clips of a "performer", or each "clip".
    performers, trim
        As `LimitModel.fit` takes them.
    margins
        Margins, in radians, that curves of families are drawn through.
    samples, seed
        All volumes are shares of the same so many rotations.
    """
    options = FitOptions(trim=trim, performers=performers, joints=[joint])
    study = Study.of(clips, options, by=by).joint(joint)
    everywhere = uniform_rotations(samples, seed)
    found = [family_curve(study, *family, margins, everywhere) for family in families(shapes)]
    return found + [baseline_curve(study, baseline, everywhere) for baseline in baselines]


def family_curve(
    joint: JointStudy, shape: str, chart: str, margins: Floats, everywhere: Quats
) -> TradeoffCurve:
    """Return the curve of one family: fitted once for each who is held out, then widened.

    Fields near people are not widened but asked how near, as the baselines are.
    """
    options, name = family_options(shape, chart), family_name(shape, chart)
    if options.by == "people":
        pairs = [(fold.held_out, People.of(fold.rest)) for fold in joint.folds]
        return _sweep_knob(
            name, [(people.distance(held), people.distance(everywhere)) for held, people in pairs]
        )
    rows = []
    for fold in joint.folds:
        limit = joint.limit(options, fold)
        wider = [widen(limit, margin) for margin in margins.tolist()]
        rejected = [1.0 - wide.contains(fold.held_out).mean() for wide in wider]
        rows.append((rejected, [wide.contains(everywhere).mean() for wide in wider]))
    rejected, volume = np.mean(rows, axis=0)
    return TradeoffCurve(name, margins, rejected, volume)


def family_name(shape: str, chart: str) -> str:
    """Return what a family is called: its shape and chart, but of fields of people their own."""
    return shape if shape in FIELD_FAMILIES else f"{shape} in {chart}"


def baseline_curve(joint: JointStudy, baseline: type[Baseline], everywhere: Quats) -> TradeoffCurve:
    """Return the curve of a baseline."""
    required = []
    for fold in joint.folds:
        fitted = baseline.fit(fold.rest_rotations, joint.axis)
        required.append((fitted.required_knob(fold.held_out), fitted.required_knob(everywhere)))
    return _sweep_knob(baseline.name, required)


def _sweep_knob(name: str, required: Sequence[tuple[Floats, Floats]]) -> TradeoffCurve:
    """Return the curve through knobs that are evenly spread over volumes.

    `required` has, for each who is held out, the knobs for their frames, and for all rotations.
    """
    shares = np.linspace(0.0, 1.0, CURVE_POINTS) ** 2
    knobs = np.unique(np.quantile(np.concatenate([every for _, every in required]), shares))
    return TradeoffCurve(
        name,
        knobs,
        np.mean([_share_above(held_out, knobs) for held_out, _ in required], axis=0),
        np.mean([1.0 - _share_above(every, knobs) for _, every in required], axis=0),
    )


def _share_above(values: Floats, knobs: Floats) -> Floats:
    ordered = np.sort(values)
    return 1.0 - np.searchsorted(ordered, knobs, side="right") / len(ordered)
