"""Report: how far, where and how often a clip leaves its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..arrays import Ints, Mask, Scalars

NEGLIGIBLE = 1e-6
"""Violations up to this angle, in radians, are rounding: of files, and of single precision."""

Verdict = Literal["outside", "impossible", "unusual"]
"""Of limits that stand alone; of the possible limits, and of the usual ones (docs/glossary.md)."""


@dataclass(frozen=True, eq=False)
class Held:
    """The joint that another depends on, and in which frames (n,) that alone makes it illegal."""

    driver: str
    frames: Mask


@dataclass(frozen=True)
class JointReport:
    """One joint in one clip; angles are true rotation angles, in radians."""

    name: str
    frames: int
    """How many frames are outside."""
    share: float
    """The same, as a share of the clip."""
    worst: float
    """The largest violation."""
    worst_frame: int
    """Where that is, counted from 0; -1 where the joint is never outside."""
    mean: float
    """The mean violation over the frames that are outside."""
    held_by: str | None = None
    """The joint that it depends on, where that makes frames illegal which it could do otherwise."""
    held_frames: int = 0
    """How many frames these are."""
    verdict: Verdict | Literal["inside"] = "inside"
    """The report's verdict if a frame is outside."""


@dataclass(frozen=True, eq=False)
class Report:
    """The violations of a clip: (frames, joints), radians, for the joints that have a limit."""

    clip: str
    names: tuple[str, ...]
    violation: Scalars
    frame_time: float
    held: Mapping[str, Held] = field(default_factory=dict)
    """By joint that depends on another, what that one does."""
    verdict: Verdict = "outside"
    """What violations of these limits are called."""
    unusual: Report | None = None
    """Violations of the usual limits where the possible ones are kept; None without such limits."""

    def with_unusual(self, usual: Report) -> Report:
        """Return the report with a second verdict, from a report of the usual limits.

        Joints that are impossible in a frame are not unusual there.
        """
        columns = {name: k for k, name in enumerate(self.names)}
        violation = usual.violation.copy()
        for k, name in enumerate(usual.names):
            if name in columns:
                violation[self.outside[:, columns[name]], k] = 0.0
        unusual = replace(usual, violation=violation, verdict="unusual")
        return replace(self, verdict="impossible", unusual=unusual)

    @property
    def verdicts(self) -> list[Report]:
        """The report itself, then that of the unusual if there is one."""
        return [self] if self.unusual is None else [self, self.unusual]

    @property
    def judged(self) -> tuple[str, ...]:
        """Names of the joints that have a limit, possible or usual."""
        return tuple(dict.fromkeys(name for report in self.verdicts for name in report.names))

    @property
    def rows(self) -> list[JointReport]:
        """A row for each joint and verdict, the impossible first, then for each joint inside."""
        found = [row for report in self.verdicts for row in report.joints if row.frames]
        outside = {row.name for row in found}
        quiet = {row.name: row for report in self.verdicts for row in report.joints}
        return found + [row for name, row in quiet.items() if name not in outside]

    @property
    def outside(self) -> Mask:
        """Which joints are outside, frame by frame: (frames, joints)."""
        return np.asarray(self.violation > NEGLIGIBLE)

    @property
    def ok(self) -> bool:
        """Whether every joint is inside in every frame."""
        return not self.outside.any()

    @property
    def worst_joints(self) -> Ints:
        """The number, in `names`, of the worst joint of each frame; -1 where all are inside."""
        if self.violation.size == 0:
            return np.full(len(self.violation), -1)
        return np.where(self.outside.any(axis=1), self.violation.argmax(axis=1), -1)

    @property
    def joints(self) -> list[JointReport]:
        """A row for each joint, the worst first."""
        rows = [self._joint(k) for k in range(len(self.names))]
        return sorted(rows, key=lambda row: -row.worst)

    def _joint(self, k: int) -> JointReport:
        angles = np.ascontiguousarray(self.violation[:, k])
        outside = angles > NEGLIGIBLE
        count, held = int(outside.sum()), self.held.get(self.names[k])
        held_frames = 0 if held is None else int(held.frames.sum())
        return JointReport(
            name=self.names[k],
            frames=count,
            share=count / len(angles) if len(angles) else 0.0,
            worst=float(angles.max(initial=0.0)) if count else 0.0,
            worst_frame=int(angles.argmax()) if count else -1,
            mean=float(angles[outside].mean()) if count else 0.0,
            held_by=held.driver if held is not None and held_frames else None,
            held_frames=held_frames,
            verdict=self.verdict if count else "inside",
        )

    @property
    def signed_violation(self) -> Scalars:
        """Violations (frames, joints), with the unusual ones as negative angles; radians."""
        signed = np.where(self.outside, self.violation, 0.0)
        unusual = self.unusual
        for k, name in enumerate(() if unusual is None else unusual.names):
            if unusual is not None and name in self.names:
                column = np.where(unusual.outside[:, k], unusual.violation[:, k], 0.0)
                signed[:, self.names.index(name)] -= column
        return signed

    def violation_rows(self) -> Iterator[tuple[object, ...]]:
        """Yield `text.VIOLATION_COLUMNS` for each verdict, frame and joint outside."""
        for part in self.verdicts:
            for frame, joint in np.argwhere(part.outside).tolist():
                angle_deg = float(np.degrees(part.violation[frame, joint]))
                time = frame * part.frame_time
                yield part.clip, frame, time, part.names[joint], angle_deg, part.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, in degrees, for JSON."""
        return {
            "clip": self.clip,
            "frames": len(self.violation),
            "ok": self.ok,
            **({} if self.unusual is None else {"usual": self.ok and self.unusual.ok}),
            "joints": [
                {
                    "name": row.name,
                    "verdict": row.verdict,
                    "frames_outside": row.frames,
                    "share_outside": row.share,
                    "worst_deg": float(np.degrees(row.worst)),
                    "worst_frame": row.worst_frame,
                    "mean_deg": float(np.degrees(row.mean)),
                    **(
                        {"held_by": row.held_by, "held_frames": row.held_frames}
                        if row.held_by
                        else {}
                    ),
                }
                for row in self.rows
            ],
            "worst_joint_of_frame": [
                self.names[k] if k >= 0 else None for k in self.worst_joints.tolist()
            ],
        }


@dataclass(frozen=True)
class ClampReport:
    """What it took to clamp a clip without pops: frames, counted from 0, by the joint's name."""

    clip: str
    moved: Mapping[str, Ints]
    """Frames that were legal and moved all the same, so that a change of side is no pop."""
    over: Mapping[str, Ints]
    """Frames to which the step is over the bound: no legal way within it was found."""

    @property
    def ok(self) -> bool:
        """Whether every step keeps to the bound."""
        return not self.over
