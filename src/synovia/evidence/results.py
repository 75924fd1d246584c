"""What a comparison found: outcomes of families, joint by joint and over all joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..learn import Duplicates
from .curve import TradeoffCurve, at_rejection
from .folds import GroupBy
from .tradeoff import family_name

ALL = "all joints"


@dataclass(frozen=True)
class Outcome:
    """How limits of one family, so much wider than what was observed, served those held out."""

    margin: float
    """In radians."""
    rejected: Mapping[str, float]
    """The share of frames outside, by who was held out."""
    volume: float
    """The share of all rotations accepted, as a mean over those held out."""
    correction: float
    """The mean angle, in radians, that frames are moved by; most are not moved."""
    correction_outside: float
    """The same over the frames outside alone."""

    @property
    def mean(self) -> float:
        """The share of frames outside, as a mean over those held out."""
        return float(np.mean(list(self.rejected.values())))

    @property
    def worst(self) -> tuple[str, float]:
        """Who is outside most, and in what share of the frames."""
        return max(self.rejected.items(), key=lambda item: item[1])

    @property
    def unlucky(self) -> float:
        """The share of frames outside that 95 of 100 held out stay below."""
        return float(np.percentile(list(self.rejected.values()), 95.0))


@dataclass(frozen=True, eq=False)
class Trial:
    """One family at one joint, or over all joints."""

    joint: str
    """The joint's name; `ALL` where the numbers are means over them."""
    shape: str
    chart: str
    outcome: Outcome
    reached: bool
    """Whether the rejection asked for, if one was, could be had."""
    bytes: int
    """The size of the limit in a file."""
    ns: float
    """The time, in nanoseconds, to project a rotation: as measured here and now."""
    curve: TradeoffCurve | None
    """Rejection against volume, where margins were swept."""

    @property
    def family(self) -> str:
        """Shape and chart, as in "kdop in swing-twist"; of fields of people how they come about."""
        return family_name(self.shape, self.chart)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain values, in degrees, for JSON."""
        outcome = self.outcome
        return {
            "shape": self.shape,
            "chart": self.chart,
            "margin_deg": float(np.degrees(outcome.margin)),
            "rejected": outcome.mean,
            "rejected_95th": outcome.unlucky,
            "worst": outcome.worst[0],
            "rejected_worst": outcome.worst[1],
            "rejected_by": dict(outcome.rejected),
            "reached": self.reached,
            "volume": outcome.volume,
            "correction_deg": float(np.degrees(outcome.correction)),
            "correction_outside_deg": float(np.degrees(outcome.correction_outside)),
            "bytes": self.bytes,
            "ns": self.ns,
            "curve": [] if self.curve is None else _points(self.curve),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every family beside the others, on the same people."""

    by: GroupBy
    groups: tuple[str, ...]
    leaks: Duplicates
    trials: tuple[Trial, ...]
    """Joint by joint, families in the order of `families`."""

    @property
    def joints(self) -> dict[str, list[Trial]]:
        """The trials of each joint."""
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            found.setdefault(trial.joint, []).append(trial)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, in degrees, for JSON."""
        return {
            "by": self.by,
            "left_out": list(self.groups),
            "identical_clips": [list(names) for names in self.leaks.identical],
            "same_bones": [list(names) for names in self.leaks.same_bones],
            "common_rig": list(self.leaks.common_rig),
            "overall": [trial.to_dict() for trial in self.overall],
            "joints": {
                name: [trial.to_dict() for trial in trials] for name, trials in self.joints.items()
            },
        }

    @property
    def overall(self) -> list[Trial]:
        """A trial for each family: means over the joints, sizes summed."""
        families_: dict[tuple[str, str], list[Trial]] = {}
        for trial in self.trials:
            families_.setdefault((trial.shape, trial.chart), []).append(trial)
        return [_over_joints(trials) for trials in families_.values()]


def _over_joints(trials: Sequence[Trial]) -> Trial:
    """Return the means over the joints, those held out each by their own mean."""
    outcomes = [trial.outcome for trial in trials]
    groups = dict.fromkeys(name for outcome in outcomes for name in outcome.rejected)
    found = [trial.curve for trial in trials if trial.curve is not None]
    first = trials[0]
    return Trial(
        joint=ALL,
        shape=first.shape,
        chart=first.chart,
        outcome=Outcome(
            margin=float(np.mean([outcome.margin for outcome in outcomes])),
            rejected={
                name: float(np.mean([o.rejected[name] for o in outcomes if name in o.rejected]))
                for name in groups
            },
            volume=float(np.mean([outcome.volume for outcome in outcomes])),
            correction=float(np.mean([outcome.correction for outcome in outcomes])),
            correction_outside=float(np.mean([o.correction_outside for o in outcomes])),
        ),
        reached=all(trial.reached for trial in trials),
        bytes=sum(trial.bytes for trial in trials),
        ns=float(np.mean([trial.ns for trial in trials])),
        curve=_mean_curve(found) if found else None,
    )


def _mean_curve(found: Sequence[TradeoffCurve]) -> TradeoffCurve:
    """Return volumes, and margins, at equal rejection, as means over the joints.

    As in the tables each joint has a margin of its own: of fields near people one and the same may
    be narrow at a shoulder and wide at a head.
    """
    every = np.unique(np.concatenate([curve.rejected for curve in found]))[::-1]
    levels = every[every >= max(curve.rejected.min() for curve in found)]
    volumes = np.array([[at_rejection(curve, level) for level in levels] for curve in found])
    knobs = [
        np.interp(volume, curve.volume, curve.knobs)
        for volume, curve in zip(volumes, found, strict=True)
    ]
    return TradeoffCurve(found[0].name, np.mean(knobs, axis=0), levels, volumes.mean(axis=0))


def _points(curve: TradeoffCurve) -> list[dict[str, float]]:
    columns = np.degrees(curve.knobs).tolist(), curve.rejected.tolist(), curve.volume.tolist()
    names = ("margin_deg", "rejected", "volume")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
