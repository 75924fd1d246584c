"""Which family of limits holds for people never seen: each is left out in turn, and asked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Quats, Scalars
from ..io.encoding import to_json
from ..learn import MAX_DROPPED, MAX_MARGIN, Progress, Recipe
from ..limit import Limit
from ..skeleton import Clip
from .curve import TradeoffCurve, uniform_rotations
from .folds import VOLUME_SAMPLES, GroupBy, GrowingLimit, Joint, Study, growing_limit
from .results import Comparison, Outcome, Trial
from .tradeoff import families, family_name, recipe_of

FIRST_STEP, LAST_STEP = np.radians(6.0), np.radians(0.1)
"""Steps that double, in radians, lead past the margin; they are halved down to the finest."""
MAX_REJECTION = 0.3
"""Of a curve only what rejects at most this share of frames is told: nobody limits joints so."""
TIMED_ROTATIONS = 8192
"""Rotations that are projected to measure the time of one."""


def compare(
    clips: Sequence[Clip],
    shapes: Sequence[str] | None = None,
    *,
    by: GroupBy = "performer",
    margin: float | None = None,
    reject: float = 0.01,
    margins: Sequence[float] = (),
    trim: float = MAX_DROPPED,
    performers: str | Mapping[str, str] | None = None,
    joints: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    seed: int = 0,
    progress: Progress = iter,
) -> Comparison:
    """Return how limits of each shape, in each of its charts, serve those held out.

    Each performer (each clip, where `by` says so) is left out in turn; limits are fitted to the
    others as `LimitModel.fit` does it, and hold against the frames left out, capture flips aside.
    Families are compared at the least margin, joint by joint, that leaves at most the share
    `reject` outside, or all at `margin` radians where that is given. Through `margins` a curve of
    rejection against volume is drawn. Clips and people that come twice are merged, and warned of.
    """
    if margin is not None and not 0.0 <= margin < np.inf:
        raise ValueError(f"margin must be at least 0 radians, got {margin}")
    if not 0.0 < reject < 1.0:
        raise ValueError(f"reject must be a share between 0 and 1, got {reject}")
    chosen = families(shapes)
    study = Study.of(clips, by=by, performers=performers, joints=joints, names=names, trim=trim)
    study.leaks.warn()
    trials: list[Trial] = []
    for name in progress(study.names):
        joint = study.joint(name)
        if not joint.folds:
            continue
        for shape, chart in chosen:
            recipe = recipe_of(shape, chart, trim)
            trials.append(_trial(joint, shape, recipe, margin, reject, margins, seed))
    if not trials:
        raise ValueError(f"no joint is in two of the {by}s: {', '.join(study.names)}")
    return Comparison(by, study.groups, study.leaks, tuple(trials))


def size_in_file(limit: Limit) -> int:
    """Return how many bytes the limit takes in a file, but for white space."""
    return len(json.dumps(to_json(limit.to_dict(), "limit"), separators=(",", ":")).encode())


def nanoseconds(limit: Limit, observed: Quats, seed: int = 0) -> float:
    """Return the time to project a rotation, of which half are observed and half are anywhere."""
    rng = np.random.default_rng(seed)
    rotations = np.concatenate(
        [rng.choice(observed, TIMED_ROTATIONS // 2), uniform_rotations(TIMED_ROTATIONS // 2, seed)]
    )
    limit.project(rotations)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        limit.project(rotations)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / TIMED_ROTATIONS


def _trial(
    joint: Joint,
    family: str,
    recipe: Recipe,
    margin: float | None,
    reject: float,
    margins: Sequence[float],
    seed: int,
) -> Trial:
    names, name = [fold.name for fold in joint.folds], family_name(family, recipe.chart)
    held = [growing_limit(joint, recipe, fold, fold.held_out) for fold in joint.folds]
    asked = margin is None
    if margin is None:
        margin = _margin_for(reject, held)
    outcome = _outcome(names, held, margin, seed)
    everybody = growing_limit(joint, recipe, None, joint.folds[0].held_out).limit(margin)
    return Trial(
        joint=joint.name,
        shape=family,
        chart=recipe.chart,
        outcome=outcome,
        reached=not asked or float(_rejection_shares(held, margin).mean()) <= reject,
        bytes=size_in_file(everybody),
        ns=nanoseconds(everybody, joint.folds[0].held_out, seed),
        curve=_curve(held, name, margins, seed) if len(margins) else None,
    )


def _margin_for(reject: float, held: Sequence[GrowingLimit]) -> float:
    """Return the least margin, to a tenth of a degree, that leaves at most `reject` outside."""
    low, high = held[0].least, held[0].least
    below = above = _rejection_shares(held, low)
    step = FIRST_STEP
    while above.mean() > reject and high < MAX_MARGIN:
        low, below = high, above
        high, step = min(high + step, float(MAX_MARGIN)), 2.0 * step
        above = _rejection_shares(held, high, below, np.zeros(len(held)))
    while high - low > LAST_STEP:
        middle = 0.5 * (low + high)
        shares = _rejection_shares(held, middle, below, above)
        if shares.mean() <= reject:
            high, above = middle, shares
        else:
            low, below = middle, shares
    return high


def _rejection_shares(
    held: Sequence[GrowingLimit],
    margin: float,
    most: Scalars | None = None,
    least: Scalars | None = None,
) -> Scalars:
    """Return the share outside of each; only those are asked for whom `most` and `least` differ."""
    if most is None or least is None:
        return np.array([each.outside(margin).mean() for each in held])
    known = zip(held, most.tolist(), least.tolist(), strict=True)
    return np.array([a if a == b else each.outside(margin).mean() for each, a, b in known])


def _outcome(
    names: Sequence[str], held: Sequence[GrowingLimit], margin: float, seed: int
) -> Outcome:
    wider = [each.limit(margin) for each in held]
    outside = [~wide.contains(each.asked) for wide, each in zip(wider, held, strict=True)]
    moved = [wide.violation(each.asked) for wide, each in zip(wider, held, strict=True)]
    far = np.concatenate([angles[out] for angles, out in zip(moved, outside, strict=True)])
    return Outcome(
        margin=margin,
        rejected={name: float(out.mean()) for name, out in zip(names, outside, strict=True)},
        volume=float(np.mean([wide.volume(VOLUME_SAMPLES, seed) for wide in wider])),
        correction=float(np.mean([angles.mean() for angles in moved])),
        correction_outside=float(far.mean()) if len(far) else 0.0,
    )


def _curve(
    held: Sequence[GrowingLimit], name: str, margins: Sequence[float], seed: int
) -> TradeoffCurve:
    # Fields near people begin below 0, where others' margins do.
    starts = np.array([held[0].least, 0.0])
    knobs = np.unique(np.round(starts[:, None] + np.asarray(margins), 9))
    rows = [
        [(each.outside(knob).mean(), each.volume(knob, seed)) for knob in knobs] for each in held
    ]
    rejected, volume = np.mean(rows, axis=0).T
    told = rejected <= max(MAX_REJECTION, float(rejected.min()))
    return TradeoffCurve(name, knobs[told], rejected[told], volume[told])
