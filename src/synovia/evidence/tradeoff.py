"""Curves of rejection against volume: of every family of limits, and of the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Floats, Quats
from ..charts import CHARTS
from ..learn import FIELD_SOURCES, MAX_DROPPED, People, Recipe
from ..limit import shape_named
from ..shapes import SHAPES, DistanceField
from ..skeleton import Clip
from .baselines import BASELINES, Baseline
from .curve import TradeoffCurve, uniform_rotations
from .folds import GroupBy, Joint, Study, widen

MARGINS = np.radians([*range(-40, -10, 3), *range(-10, 20), *range(20, 50, 2), 55.0, 65.0, 80.0])
"""Margins, in radians, that a family's curve is drawn through."""
FIELD_FAMILIES, FIELD_CHART = FIELD_SOURCES[1:], "rotation-vector"
"""Families beside the shapes: distance fields of what many people do, in the chart they suit."""
CURVE_POINTS = 120
"""Knobs that the curve of a baseline, or of fields near people, is drawn through."""


def families(shapes: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return each shape, all unless `shapes` names some, with each chart that it works in."""
    for name in shapes or ():
        if name not in FIELD_FAMILIES:
            shape_named(name)
    return [
        (shape, chart)
        for shape in shapes or (*SHAPES, *FIELD_FAMILIES)
        for chart in ([FIELD_CHART] if shape in FIELD_FAMILIES else CHARTS)
        if shape in FIELD_FAMILIES or CHARTS[chart].suits(SHAPES[shape])
    ]


def recipe_of(shape: str, chart: str, trim: float = MAX_DROPPED) -> Recipe:
    """Return how to fit a family: a shape, or a distance field of what many people do."""
    if shape in FIELD_FAMILIES:
        return Recipe(DistanceField.name, chart, 0.0, None, trim, {"by": shape})
    return Recipe(shape, chart, margin=0.0, trim=trim)


def curves(
    clips: Sequence[Clip],
    joint: str,
    *,
    shapes: Sequence[str] | None = None,
    baselines: Sequence[type[Baseline]] = BASELINES,
    by: GroupBy = "performer",
    performers: str | Mapping[str, str] | None = None,
    trim: float = MAX_DROPPED,
    margins: Floats = MARGINS,
    samples: int = 20_000,
    seed: int = 0,
) -> list[TradeoffCurve]:
    """Return the curve of each family, then of each baseline, for one joint of `clips`.

    Each performer (each clip) is held out in turn, doubles merged; rejections and volumes are
    means over them. All volumes are shares of the same `samples` rotations.
    """
    study = Study.of(clips, by=by, performers=performers, joints=[joint], trim=trim)
    folds = study.joint(joint)
    everywhere = uniform_rotations(samples, seed)
    found = [family_curve(folds, *family, margins, everywhere) for family in families(shapes)]
    return found + [baseline_curve(folds, baseline, everywhere) for baseline in baselines]


def family_curve(
    joint: Joint, shape: str, chart: str, margins: Floats, everywhere: Quats
) -> TradeoffCurve:
    """Return the curve of one family: fitted once for each who is held out, then widened.

    Fields near people are not widened but asked how near, as the baselines are.
    """
    recipe, name = recipe_of(shape, chart), family_name(shape, chart)
    if recipe.by == "people":
        people = [(fold.held_out, People.of(fold.rest)) for fold in joint.folds]
        return _sweep_knob(name, [(each.far(held), each.far(everywhere)) for held, each in people])
    rows = []
    for fold in joint.folds:
        limit = joint.limit(recipe, fold)
        wider = [widen(limit, margin) for margin in margins.tolist()]
        rejected = [1.0 - wide.contains(fold.held_out).mean() for wide in wider]
        rows.append((rejected, [wide.contains(everywhere).mean() for wide in wider]))
    rejected, volume = np.mean(rows, axis=0)
    return TradeoffCurve(name, margins, rejected, volume)


def family_name(shape: str, chart: str) -> str:
    """Return what a family is called: its shape and chart, but of fields of people their own."""
    return shape if shape in FIELD_FAMILIES else f"{shape} in {chart}"


def baseline_curve(joint: Joint, baseline: type[Baseline], everywhere: Quats) -> TradeoffCurve:
    """Return the curve of a baseline."""
    asked = []
    for fold in joint.folds:
        fitted = baseline.fit(fold.steady, joint.axis)
        asked.append((fitted.needed(fold.held_out), fitted.needed(everywhere)))
    return _sweep_knob(baseline.name, asked)


def _sweep_knob(name: str, asked: Sequence[tuple[Floats, Floats]]) -> TradeoffCurve:
    """Return the curve through knobs that are evenly spread over volumes.

    `asked` has for each who is held out the knobs that their frames need, and all rotations.
    """
    shares = np.linspace(0.0, 1.0, CURVE_POINTS) ** 2
    knobs = np.unique(np.quantile(np.concatenate([every for _, every in asked]), shares))
    return TradeoffCurve(
        name,
        knobs,
        np.mean([_share_above(held_out, knobs) for held_out, _ in asked], axis=0),
        np.mean([1.0 - _share_above(every, knobs) for _, every in asked], axis=0),
    )


def _share_above(values: Floats, knobs: Floats) -> Floats:
    ordered = np.sort(values)
    return 1.0 - np.searchsorted(ordered, knobs, side="right") / len(ordered)
