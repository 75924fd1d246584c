"""Families of limits at the page: what a joint can be refitted as, and the refit, an edit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import whole_number
from ..fitting import Recipe, fit_joint
from ..limit import Limit, chart_for, has_axis
from ..shapes import SHAPES, Box
from .evidence import CLIP, KEPT, THIS, Evidence, evidence_of, kept_of, sources_of, trimmed
from .given import degrees
from .messages import Request
from .protocol import Cost, Families, Making, Observed, Refitted, Refusal
from .region import DRAFT
from .scene import Scene
from .session import Limits, Session, limit_to_edit
from .showing import pictures

MARGIN = 0.05
"""Radians, where nobody said how wide a limit was made: that of `LimitModel.fit`."""
WIDEST_DEG = 90.0


@dataclass(frozen=True)
class Family:
    """A shape with the options of its fit, by a name for the person at the page."""

    label: str
    shape: str
    options: tuple[tuple[str, Any], ...] = ()
    grows: bool = True
    """Whether a fit with a margin is, bit for bit, the fit without one grown by it."""


FAMILIES = {
    "box": Family("Box", "box", (("along", "chart"),)),
    "oriented-box": Family("Oriented box", "box", (("along", "data"),)),
    "ellipsoid": Family("Ellipsoid", "ellipsoid"),
    "kdop": Family("k-DOP", "kdop"),
    "product": Family("Swing ellipse and twist", "product"),
    "reach-cone": Family("Reach cone", "reach-cone"),
    "union": Family("Two reach cones", "union"),
    "theta-phi": Family("Theta-phi table", "theta-phi"),
    "distance-field": Family("Distance field", "distance-field", grows=False),
}
"""What a limit can be made at the page, by name; a box along the chart's axes is one of its own."""


@dataclass(frozen=True)
class Choice:
    """A family in a chart, the margin in radians, and what it is made from."""

    family: str
    chart: str
    margin: float
    source: str


@dataclass(frozen=True, eq=False)
class Made:
    """How a limit came about at the page, what was said on the way, and what a conversion cost."""

    choice: Choice
    notes: tuple[str, ...] = ()
    origin: Limit | None = None
    """What it was converted from: another conversion starts there again, and loses no more."""
    cost: tuple[float, float, float] | None = None
    """Shares of all rotations gained and lost, and the largest error in radians."""


MADE: WeakKeyDictionary[Limit, Made] = WeakKeyDictionary()
"""How limits were made, so that after an undo the page shows the choices that led there."""


def described(session: Session, asked: Request) -> Families:
    """Return the families and charts there are, the present choice, and what limits can be from."""
    scene, name = session.scene, asked["joint"]
    limit_to_edit(scene.model.limits, name)
    return {
        "families": [
            {"name": key, "label": family.label, "charts": list(SHAPES[family.shape].charts)}
            for key, family in FAMILIES.items()
        ],
        "sources": [
            {"name": source, "label": label, "why": why}
            for source, label, why in sources_of(scene, name)
        ],
        **_told(scene, name),
    }


def observed(session: Session, asked: Request) -> Observed:
    """Return what was kept of a joint's rotations, at most `most` (n, 4); none if nothing was."""
    scene, name = session.scene, asked["joint"]
    kept = kept_of(scene, name)
    rotations = np.concatenate([np.zeros((0, 4)), *(sample.rotations for sample in kept)])
    people = len({sample.performer for sample in kept})
    step = -(-len(rotations) // whole_number("most", asked["most"], 1)) or 1
    return {"people": people, "count": len(rotations), "rotations": rotations[::step]}


def refitted(session: Session, asked: Request) -> Refitted | Refusal:
    """Return the pictures of a joint's limit made anew, in a family and a chart, from evidence.

    An edit: requests of one `stroke` are undone together, and where the fit fails the limit stays
    as it is, and the answer is the reason, `refused`.
    """
    scene, name, stroke = session.scene, asked["joint"], asked.get("stroke")
    choice = choice_of(asked)

    def with_fit(limits: Limits) -> Limits:
        return {**limits, name: made_anew(scene, limit_to_edit(limits, name), name, choice)}

    what = f"{FAMILIES[choice.family].label.lower()} for {name}"
    try:
        session.edit(with_fit, what, stroke)
    except ValueError as error:
        return {"refused": str(error), **session.state()}
    picture = pictures(session.scene, name, DRAFT)
    return {**picture, **_told(session.scene, name), **session.state()}


def choice_of(asked: Request) -> Choice:
    """Return the family, chart, margin (`marginDeg`) and source (`from`) of a request, checked."""
    family, chart, source = asked["family"], asked.get("chart"), asked["from"]
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r:.60}")
    charts = SHAPES[FAMILIES[family].shape].charts
    if chart is not None and chart not in charts:
        raise ValueError(f"{family} works in {' or '.join(charts)}, got the chart {chart!r:.60}")
    if source not in (KEPT, CLIP, THIS):
        raise ValueError(f"from must be {KEPT}, {CLIP} or {THIS}, got {source!r:.60}")
    margin_deg = degrees(asked, "marginDeg")
    if not 0.0 <= margin_deg <= WIDEST_DEG:
        raise ValueError(f"margin must be from 0 to {WIDEST_DEG:.0f} degrees, got {margin_deg!r}")
    where = chart_for(FAMILIES[family].shape, chart)
    return Choice(family, where, float(np.radians(margin_deg)), source)


def made_anew(scene: Scene, limit: Limit, name: str, choice: Choice) -> Limit:
    """Return the joint's limit as the choice has it, and remember how it was made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if choice.source == THIS:
            made, origin, cost = _converted(scene, limit, name, choice)
        else:
            found = evidence_of(scene, limit, name, choice.source)
            made, origin, cost = fitted(found, choice), None, None
            made = made if limit.relative_to is None else _seen_from(limit.relative_to, made)
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    MADE[made] = Made(choice, notes, origin, cost)
    return made


def fitted(found: Evidence, choice: Choice) -> Limit:
    """Return the limit around what can be believed of the evidence, as `LimitModel.fit` does it."""
    if not FAMILIES[choice.family].grows:
        return _fit(found, choice.family, choice.chart, choice.margin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the limit that is grown from it warns for itself
        core = _core(found, choice.family, choice.chart)
    return replace(core, shape=core.shape.grow(choice.margin))


@lru_cache(maxsize=256)
def _core(found: Evidence, family: str, chart: str) -> Limit:
    """Return the limit without a margin, so that a slider of margins need not fit again."""
    return _fit(found, family, chart, 0.0)


def _fit(found: Evidence, family: str, chart: str, margin: float) -> Limit:
    kind = FAMILIES[family]
    recipe = Recipe(kind.shape, chart, margin, trim=found.trim, options=dict(kind.options))
    return fit_joint(
        found.takes, recipe, reference=None, axis=found.axis, trimmed=trimmed(found)
    ).limit


def _seen_from(ancestor: str, limit: Limit) -> Limit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong was said when the limit was fitted
        return replace(limit, relative_to=ancestor)


def _converted(
    scene: Scene, limit: Limit, name: str, choice: Choice
) -> tuple[Limit, Limit, tuple[float, float, float]]:
    """Return the limit in another family, what it is converted from, and what that costs."""
    from ..learning import bone_axes

    known, family = MADE.get(limit), FAMILIES[choice.family]
    origin = limit if known is None or known.origin is None else known.origin
    skeleton = scene.clip.skeleton
    axis = getattr(origin.chart, "axis", bone_axes(skeleton)[skeleton.index(name)])
    turned = axis if has_axis(choice.chart) else None
    done = origin.to(family.shape, choice.chart, axis=turned, **dict(family.options))
    # A copy, since a limit that is of the family already comes back itself.
    return replace(done.limit), origin, (done.gained, done.lost, done.error)


def family_of(limit: Limit) -> str:
    """Return the name, in `FAMILIES`, of the family that a limit is of."""
    shape = limit.shape
    if isinstance(shape, Box) and np.abs(shape.axes - np.eye(3)).max() > 1e-9:
        return "oriented-box"
    return str(shape.name)


def _told(scene: Scene, name: str) -> Making:
    """Return the choice that the limit is from; where nobody chose, what can be told of it."""
    limit = scene.model.limits[name]
    made = MADE.get(limit)
    known = made is not None or _as_given(scene, name)
    if made is None:
        # Frames that happen to be shown are no evidence for a limit, unless a person says so.
        first = KEPT if kept_of(scene, name) and _as_given(scene, name) else THIS
        made = Made(Choice(family_of(limit), limit.chart.name, _margin_given(scene, name), first))
        chosen = False
    else:
        chosen = made.choice.source != THIS
    choice = made.choice
    cost: Cost | None = None
    if made.cost is not None:
        gained, lost, error = made.cost
        cost = {"gained": gained, "lost": lost, "errorDeg": float(np.degrees(error))}
    return {
        "choice": {
            "family": choice.family,
            "chart": choice.chart,
            "marginDeg": round(float(np.degrees(choice.margin)), 4),
            "from": choice.source,
        },
        "known": known,
        "fitted": chosen,
        "remarks": list(made.notes),
        "cost": cost,
    }


def _as_given(scene: Scene, name: str) -> bool:
    """Tell whether a joint's limit is still the one that was given."""
    given = scene.source.limits.get(scene.names.get(name, "")) if scene.source is not None else None
    return given is not None and given.shape is scene.model.limits[name].shape


def _margin_given(scene: Scene, name: str) -> float:
    """Return the margin that the limits' own record has for a joint, in radians."""
    joints = scene.source.provenance.get("joints") if scene.source is not None else None
    row = joints.get(scene.names.get(name)) if isinstance(joints, dict) else None
    margin = row.get("margin") if isinstance(row, dict) else None
    return float(margin) if isinstance(margin, int | float) else MARGIN


CHOSEN = {"family": described, "observed": observed, "refit": refitted}
"""What may be asked for, by name."""
