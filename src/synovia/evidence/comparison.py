"""Comparison of families of limits by leave-one-out over performers or clips, and their curves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import learn
from ..arrays import Floats, Quats, own
from ..io.limits import FILES
from ..learn.margins import HeldOut, least_for
from ..limit import Limit
from ..schema import encode
from ..shapes import SHAPES
from ..skeleton import Clip
from .study import (
    VOLUME_SAMPLES,
    GroupBy,
    GrowingLimit,
    JointStudy,
    Study,
    families,
    family_name,
    growing_limit,
    uniform_rotations,
)

ALL = "all joints"  # joint name of a trial that is a mean over joints
GUESSES = 3  # of a margin; later ones differ by less than a step
MARGIN_STEP = np.radians(0.1)  # radians; resolution of the margin
MAX_REJECTION = 0.3  # share of frames; curves end where limits are too tight to be of use
TIMED_JOINTS = 4  # timing all joints of a field would take longer than the comparison
TIMED_ROTATIONS = 4096  # enough for a stable mean of one call


@dataclass(frozen=True, eq=False)
class TradeoffCurve:
    """Share of held-out frames rejected against share of all rotations accepted."""

    name: str
    knobs: Floats
    """(n,): the parameter that makes the region grow; margins in radians for limits."""
    rejected: Floats
    """(n,): share of held-out frames outside, as a mean over the groups held out."""
    volume: Floats
    """(n,): share of all rotations inside."""

    def __post_init__(self) -> None:
        own(self, knobs=(None,), rejected=(None,), volume=(None,))
        if not len(self.knobs) == len(self.rejected) == len(self.volume) > 0:
            raise ValueError(
                "a curve needs as many rejections and volumes as knobs, and at least one, got "
                f"{len(self.knobs)}, {len(self.rejected)} and {len(self.volume)}"
            )

    def to_rows(self) -> list[dict[str, float]]:
        """Return a JSON-compatible dictionary for each point, margins in degrees."""
        columns = np.degrees(self.knobs), self.rejected, self.volume
        names = ("margin_deg", "rejected", "volume")
        return [dict(zip(names, row, strict=True)) for row in np.stack(columns, axis=1).tolist()]

    @property
    def frontier(self) -> tuple[Floats, Floats]:
        """Volumes in ascending order, and the least rejection at that volume or below it."""
        order = np.lexsort((self.rejected, self.volume))
        return self.volume[order], np.minimum.accumulate(self.rejected[order])


def at_rejection(curve: TradeoffCurve, rejected: float) -> float:
    """Return the least volume that rejects at most `rejected`; nan if the curve stays above."""
    volumes, shares = curve.frontier
    enough = np.flatnonzero(shares <= rejected)
    if len(enough) == 0:
        return float("nan")
    k = int(enough[0])
    if k == 0:
        return float(volumes[0])
    back = (shares[k - 1] - rejected) / (shares[k - 1] - shares[k])
    return float(volumes[k - 1] + back * (volumes[k] - volumes[k - 1]))


@dataclass(frozen=True)
class Outcome:
    """Results of one family at one margin for everybody who was held out."""

    margin: float
    """Growth beyond the fitted region, radians."""
    rejected: Mapping[str, float]
    """Share of frames outside, by the group held out."""
    volume: float
    """Share of all rotations inside, as a mean over folds."""
    correction: float
    """Mean angle of projection over all frames, radians."""
    correction_outside: float
    """Mean angle of projection over the frames outside, radians."""

    @property
    def mean(self) -> float:
        """Mean of `rejected`."""
        return float(np.mean(list(self.rejected.values())))

    @property
    def worst(self) -> tuple[str, float]:
        """The group with the largest share of frames outside, and that share."""
        return max(self.rejected.items(), key=lambda item: item[1])

    @property
    def percentile_95(self) -> float:
        """95th percentile of `rejected`."""
        return float(np.percentile(list(self.rejected.values()), 95.0))


@dataclass(frozen=True, eq=False)
class Trial:
    """One family at one joint, or over all joints."""

    joint: str
    """The joint's name, or `ALL` for means over joints."""
    shape: str
    chart: str
    outcome: Outcome
    met_target: bool
    """True if some margin met the requested rejection, or if none was requested."""
    bytes: int
    """Size of the limit in a file."""
    ns: float | None
    """Nanoseconds to project one rotation on this machine; None if not measured."""
    curve: TradeoffCurve | None
    """Rejection against volume, if margins were given."""

    @property
    def family(self) -> str:
        """Display name: "kdop in swing-twist", or the name of an estimator."""
        return family_name(self.shape, self.chart)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible dictionary, angles in degrees."""
        outcome = self.outcome
        return {
            "shape": self.shape,
            "chart": self.chart,
            "margin_deg": float(np.degrees(outcome.margin)),
            "rejected": outcome.mean,
            "rejected_95th": outcome.percentile_95,
            "worst": outcome.worst[0],
            "rejected_worst": outcome.worst[1],
            "rejected_by": dict(outcome.rejected),
            "reached": self.met_target,
            "volume": outcome.volume,
            "correction_deg": float(np.degrees(outcome.correction)),
            "correction_outside_deg": float(np.degrees(outcome.correction_outside)),
            "bytes": self.bytes,
            "ns": self.ns,
            "curve": [] if self.curve is None else self.curve.to_rows(),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Trials of every family at every joint, on the same folds."""

    by: GroupBy
    groups: tuple[str, ...]
    duplicates: learn.Duplicates
    trials: tuple[Trial, ...]
    """Ordered by joint, then as `families` orders them."""

    @property
    def joints(self) -> dict[str, list[Trial]]:
        """Trials by joint name."""
        by_joint: dict[str, list[Trial]] = {}
        for trial in self.trials:
            by_joint.setdefault(trial.joint, []).append(trial)
        return by_joint

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible dictionary, angles in degrees."""
        return {
            "by": self.by,
            "left_out": list(self.groups),
            "identical_clips": [list(names) for names in self.duplicates.identical],
            "same_bones": [list(names) for names in self.duplicates.same_bones],
            "common_rig": list(self.duplicates.common_rig),
            "overall": [trial.to_dict() for trial in self.overall],
            "joints": {
                name: [trial.to_dict() for trial in trials] for name, trials in self.joints.items()
            },
        }

    @property
    def overall(self) -> list[Trial]:
        """One trial for each family: means over the joints, sizes summed."""
        by_family: dict[str, list[Trial]] = {}
        for trial in self.trials:
            by_family.setdefault(trial.family, []).append(trial)
        return [_mean_trial(trials) for trials in by_family.values()]


def _mean_trial(trials: Sequence[Trial]) -> Trial:
    """Return the mean over joints; for each group, over the joints that it has."""
    outcomes = [trial.outcome for trial in trials]
    groups = dict.fromkeys(name for outcome in outcomes for name in outcome.rejected)
    curves = [trial.curve for trial in trials if trial.curve is not None]
    times = [trial.ns for trial in trials if trial.ns is not None]
    return Trial(
        joint=ALL,
        shape=trials[0].shape,
        chart=trials[0].chart,
        outcome=Outcome(
            margin=_mean(outcome.margin for outcome in outcomes),
            rejected={
                name: _mean(o.rejected[name] for o in outcomes if name in o.rejected)
                for name in groups
            },
            volume=_mean(outcome.volume for outcome in outcomes),
            correction=_mean(outcome.correction for outcome in outcomes),
            correction_outside=_mean(outcome.correction_outside for outcome in outcomes),
        ),
        met_target=all(trial.met_target for trial in trials),
        bytes=sum(trial.bytes for trial in trials),
        ns=_mean(times) if times else None,
        curve=_mean_curve(curves) if curves else None,
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _mean_curve(curves: Sequence[TradeoffCurve]) -> TradeoffCurve:
    """Return the means over joints of volume and margin at equal rejection.

    Margins are not shared between joints: the same margin of a field may be narrow at a shoulder
    and wide at a head.
    """
    every = np.unique(np.concatenate([curve.rejected for curve in curves]))[::-1]
    levels = every[every >= max(curve.rejected.min() for curve in curves)]
    volumes = np.array([[at_rejection(curve, level) for level in levels] for curve in curves])
    knobs = [
        np.interp(volume, curve.volume, curve.knobs)
        for volume, curve in zip(volumes, curves, strict=True)
    ]
    return TradeoffCurve(curves[0].name, np.mean(knobs, axis=0), levels, volumes.mean(axis=0))


def compare(
    clips: Sequence[Clip],
    shapes: Sequence[str] | None = None,
    *,
    by: GroupBy = "performer",
    margin: float | None = None,
    reject: float = 0.01,
    margins: Sequence[float] = (),
    trim: float = learn.MAX_DROPPED,
    performers: learn.Performers = None,
    joints: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    quick: bool = False,
    progress: learn.Progress = iter,
) -> Comparison:
    """Return how each family of limits performs on held-out frames.

    Each performer or clip is left out in turn. Limits are fitted to the others as `LimitModel.fit`
    does, and tested on the frames left out, without capture flips. Duplicate clips and people are
    merged, with a warning.

    Parameters
    ----------
    clips
        Clips of at least two performers, or two clips.
    shapes
        Names of shapes, or "people"; all of them by default.
    by
        What is held out: all clips of a "performer", or each "clip".
    margin
        Growth of all limits, in radians.
    reject
        Without a `margin`, each family is compared at its least margin, joint by joint, that
        leaves at most this share of held-out frames outside.
    margins
        Margins, in radians, for curves of rejection against volume.
    trim, performers, joints, names
        As in `LimitModel.fit`.
    quick
        Compares one chart of each shape, at a few joints and frames.
    progress
        Receives the steps, such as "box in euler, LeftArm", and yields them one by one. The
        fastest families come first.
    """
    if margin is not None and not 0.0 <= margin < np.inf:
        raise ValueError(f"margin must be at least 0 radians, got {margin}")
    learn.check_rejection(reject)
    options = learn.FitOptions(trim=trim, performers=performers, joints=joints, names=names)
    chosen = families(shapes)
    study = Study.of(clips, options, by=by)
    study.duplicates.warn()
    if quick:
        first_charts = {shape: (shape, chart) for shape, chart in reversed(chosen)}
        chosen = [family for family in chosen if family in first_charts.values()]
        study = study.excerpt()
    studied = [joint for joint in map(study.joint, study.names) if joint.folds]
    if not studied:
        raise ValueError(f"no joint is in two of the {by}s: {', '.join(study.names)}")
    slow = {name for name, _ in chosen if name not in SHAPES or not SHAPES[name].exact_distance}
    steps = {
        f"{family_name(*family)}, {joint.name}": (joint, *family)
        for family in sorted(chosen, key=lambda family: family[0] in slow)
        for joint in studied
    }
    timed = studied[:: -(-len(studied) // TIMED_JOINTS)]
    trials: dict[tuple[str, str, str], Trial] = {}
    for step in progress(list(steps)):
        joint, shape, chart = steps[step]
        trials[joint.name, shape, chart] = _trial(
            joint, shape, chart, margin, reject, margins, timed=joint in timed
        )
    ordered = [trials[joint.name, *family] for joint in studied for family in chosen]
    return Comparison(by, study.groups, study.duplicates, tuple(ordered))


def size_in_file(limit: Limit) -> int:
    """Return the number of bytes that the limit takes in a file without white space."""
    return len(json.dumps(encode(limit, FILES), separators=(",", ":")).encode())


def nanoseconds(limit: Limit, observed: Quats) -> float:
    """Return the time to project one rotation, for half observed and half uniform rotations."""
    rng = np.random.default_rng(0)
    rotations = np.concatenate(
        [rng.choice(observed, TIMED_ROTATIONS // 2), uniform_rotations(TIMED_ROTATIONS // 2)]
    )
    limit.project(rotations)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        limit.project(rotations)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / TIMED_ROTATIONS


def _trial(
    joint: JointStudy,
    shape: str,
    chart: str,
    margin: float | None,
    reject: float,
    margins: Sequence[float],
    *,
    timed: bool,
) -> Trial:
    """Return the results of a family at a joint; the options are those of `compare`."""
    options, name = learn.FitOptions(shape, chart, margin=0.0), family_name(shape, chart)
    limits = [growing_limit(joint, options, fold, fold.held_out) for fold in joint.folds]
    met_target = True
    if margin is None:
        margin = _margin_for(reject, limits)
        shares = [limit.outside(margin).mean() for limit in limits]
        met_target = bool(np.mean(shares) <= reject)
    observed = joint.folds[0].held_out
    everybody = growing_limit(joint, options, None, observed).limit(margin)
    return Trial(
        joint=joint.name,
        shape=shape,
        chart=chart,
        outcome=_outcome([fold.name for fold in joint.folds], limits, margin),
        met_target=met_target,
        bytes=size_in_file(everybody),
        ns=nanoseconds(everybody, observed) if timed else None,
        curve=_curve(limits, name, margins) if len(margins) else None,
    )


def _margin_for(reject: float, limits: Sequence[GrowingLimit]) -> float:
    """Return the least margin that leaves at most `reject` outside, in steps of 0.1 degrees.

    It is the greatest one where none does. The search starts at the margin that the frames outside
    seem to need, as seen from the margin before.
    """
    least = limits[0].min_margin

    def suffices(margin: float) -> bool:
        return bool(np.mean([limit.outside(margin).mean() for limit in limits]) <= reject)

    def step(count: int) -> float:
        return float(min(least + max(count, 0) * MARGIN_STEP, learn.MAX_MARGIN))

    count = 0
    for _ in range(GUESSES):
        needed = [limit.required_margins(step(count)) for limit in limits]
        held_out = [HeldOut(margins, np.ones(len(margins), np.int64)) for margins in needed]
        count = int(np.ceil((least_for(reject, held_out) - least) / MARGIN_STEP))
    while not suffices(step(count)) and step(count) < learn.MAX_MARGIN:
        count += 1
    while count > 0 and suffices(step(count - 1)):
        count -= 1
    return step(count)


def _outcome(names: Sequence[str], limits: Sequence[GrowingLimit], margin: float) -> Outcome:
    wider = [limit.limit(margin) for limit in limits]
    pairs = [(wide, limit.rotations) for wide, limit in zip(wider, limits, strict=True)]
    outside = [~wide.contains(rotations) for wide, rotations in pairs]
    moved = [wide.correction(rotations) for wide, rotations in pairs]
    beyond = np.concatenate([angles[out] for angles, out in zip(moved, outside, strict=True)])
    return Outcome(
        margin=margin,
        rejected={name: float(out.mean()) for name, out in zip(names, outside, strict=True)},
        volume=float(np.mean([wide.volume(VOLUME_SAMPLES) for wide in wider])),
        correction=float(np.mean([angles.mean() for angles in moved])),
        correction_outside=float(beyond.mean()) if len(beyond) else 0.0,
    )


def _curve(limits: Sequence[GrowingLimit], name: str, margins: Sequence[float]) -> TradeoffCurve:
    starts = np.array([limits[0].min_margin, 0.0])
    knobs = np.unique(np.round(starts[:, None] + np.asarray(margins), 9))
    # The widest first: building it caches the narrower ones, and the loop can stop early.
    rows: list[tuple[float, float, float]] = []
    for knob in knobs[::-1].tolist():
        rejected = float(np.mean([limit.outside(knob).mean() for limit in limits]))
        if rows and rejected > max(MAX_REJECTION, rows[0][1]):
            break
        volume = np.mean([limit.volume(knob) for limit in limits])
        rows.append((knob, rejected, float(volume)))
    return TradeoffCurve(name, *np.array(rows[::-1]).T)
