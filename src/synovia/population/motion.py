"""Clinical angles of clips: curves with the limit as a band, and ranges of motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Scalars
from ..model import LimitModel, Report
from ..rigs import Alignment
from ..skeleton import Clip, Pose
from .angles import ClinicalAxis, Norm, angles_of, clinical_axes, norms_of
from .bands import joint_bands, links
from .findings import joint_name

if TYPE_CHECKING:
    from ..learn import Progress

MAX_BANDS = 200  # evenly spaced frames in which bands are computed; others are interpolated
RANGE_COLUMNS = (
    *("clip", "joint", "rig_joint", "axis", "opposite"),
    *("min_deg", "min_frame", "max_deg", "max_frame", "mean_deg"),
    *("limit_low_deg", "limit_high_deg", "impossible_frames", "unusual_frames"),
    *("norm_low_deg", "norm_low_sd_deg", "norm_low_source"),
    *("norm_high_deg", "norm_high_sd_deg", "norm_high_source"),
)
"""Titles of the rows of `ClipAngles.range_rows`."""


@dataclass(frozen=True, eq=False)
class AngleCurve:
    """The angle of a joint along one clinical axis in each frame of a clip."""

    role: str
    joint: str
    """Name of the rig's joint."""
    axis: ClinicalAxis
    angles: Scalars
    """(frames,): angles in radians; see `population.angles` for zero and sign."""
    bands: Floats
    """(frames, 2): least and greatest legal angle in radians, the joint's other angles and all
    other joints being as they are; NaN where no angle is legal. See `clip_angles`."""
    first: int = 0
    """The first frame that counts for ranges: 1 if frame 0 was added to the capture."""

    @property
    def name(self) -> str:
        """The joint and the motion, such as "left knee flexion"."""
        return f"{joint_name(self.role)} {self.axis.name}"

    @property
    def frames(self) -> tuple[int, int]:
        """The frames with the least and the greatest angle."""
        performed = self.angles[self.first :]
        return self.first + int(performed.argmin()), self.first + int(performed.argmax())

    @property
    def least(self) -> float:
        """The least angle, in radians."""
        return float(self.angles[self.frames[0]])

    @property
    def most(self) -> float:
        """The greatest angle, in radians."""
        return float(self.angles[self.frames[1]])

    @property
    def norms(self) -> tuple[Norm, ...]:
        """Published ranges along the axis."""
        return norms_of(self.role, self.axis)

    def norm(self, sign: int) -> Norm | None:
        """Return the published range in one direction, the first if several postures have one."""
        return next((norm for norm in self.norms if norm.sign == sign), None)

    @property
    def norm_text(self) -> str:
        """The published range in both directions, in whole degrees; empty if there is none."""
        norms = [self.norm(sign) for sign in (-1, 1)]
        ends = ["" if norm is None else f"{norm.sign * norm.mean_deg:.0f}" for norm in norms]
        return " to ".join(ends) if any(ends) else ""

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest legal angle in any frame, in radians; NaN if there is none."""
        bands = self.bands[self.first :]
        if np.isnan(bands).all():
            return np.nan, np.nan
        return float(np.nanmin(bands)), float(np.nanmax(bands))


@dataclass(frozen=True, eq=False)
class ClipAngles:
    """The clinical angles of a clip."""

    clip: str
    frame_time: float
    """Seconds."""
    curves: tuple[AngleCurve, ...]
    """By joint and axis."""
    notes: tuple[str, ...] = ()
    """Sentences on angles whose zero is not certain."""

    def curve_rows(self) -> Iterator[tuple[object, ...]]:
        """Yield titles, then a row for each frame: clip, frame, seconds, and angles in degrees."""
        yield "clip", "frame", "time", *(f"{curve.name} (deg)" for curve in self.curves)
        if not self.curves:
            return
        table = np.degrees(np.stack([curve.angles for curve in self.curves], axis=-1))
        for frame, row in enumerate(table.tolist()):
            yield self.clip, frame, frame * self.frame_time, *row

    def range_rows(self, report: Report | None = None) -> Iterator[tuple[object, ...]]:
        """Yield a row for each curve, with the columns of `RANGE_COLUMNS`, angles in degrees.

        Frames that are impossible or unusual are those of the joint, whatever the axis; `report`
        has them.
        """
        for curve in self.curves:
            low, high = curve.frames
            degrees = np.degrees(curve.angles)
            norms = [curve.norm(sign) for sign in (-1, 1)]
            cells = [
                cell
                for norm in norms
                for cell in (
                    ("", "", "")
                    if norm is None
                    else (norm.sign * norm.mean_deg, norm.sd_deg, norm.source)
                )
            ]
            yield (
                *(self.clip, joint_name(curve.role), curve.joint),
                *(curve.axis.name, curve.axis.opposite),
                *(
                    float(degrees[low]),
                    low,
                    float(degrees[high]),
                    high,
                    float(degrees[curve.first :].mean()),
                ),
                *("" if np.isnan(end) else float(np.degrees(end)) for end in curve.span),
                *verdict_frames(report, curve.joint),
                *cells,
            )


def verdict_frames(report: Report | None, joint: str) -> tuple[int, int]:
    """Return the number of frames in which a joint is impossible, and in which it is unusual."""
    counts = {"impossible": 0, "unusual": 0}
    for part in () if report is None else report.verdicts:
        for row in part.joints:
            if row.name == joint and part.verdict in counts:
                counts[part.verdict] = row.frames
    return counts["impossible"], counts["unusual"]


def clip_angles(
    model: LimitModel,
    alignment: Alignment,
    clip: Clip,
    *,
    roles: Sequence[str] | None = None,
    progress: Progress = iter,
) -> ClipAngles:
    """Return the clinical angles of a clip, with the limits of a model as bands.

    Parameters
    ----------
    model
        The limits, for the clip's skeleton, such as `HumanLimits.model`.
    alignment
        How the clip's rig was recognised, such as `HumanLimits.alignment`. Joints whose zero is not
        known well enough to be judged are left out.
    clip
        The motion.
    roles
        Only these joints, by their roles.
    progress
        Wraps the iterable of roles, to show progress.

    Examples
    --------
    >>> from synovia.demo import wild
    >>> from synovia.population import clip_angles, limits_for
    >>> clip = wild(frames=60)
    >>> human = limits_for(clip)
    >>> curves = clip_angles(human.model, human.alignment, clip).curves
    >>> next(curve.name for curve in curves if curve.role == "leftLowerLeg")
    'left knee flexion'
    """
    from ..learn import invented_first_frame

    links_by_role, first = links(model, alignment), int(invented_first_frame(clip))
    wanted = [role for role in alignment.trusted if clinical_axes(role)]
    if roles is not None:
        wanted = [role for role in wanted if role in roles]
    count = min(clip.frames, MAX_BANDS)
    rows = np.unique(np.linspace(0, clip.frames - 1, count).round().astype(int))
    pose = Pose(clip.pose.rotations[rows], clip.pose.positions[rows])
    all_frames = np.arange(clip.frames)
    canonical = alignment.canonical_rotations(clip.pose)
    curves = []
    for role in progress(wanted):
        angles = angles_of(role, canonical[role])
        if role in links_by_role:
            bands = joint_bands(links_by_role[role], alignment, pose)[1]
        else:
            bands = np.full((len(rows), angles.shape[1], 2), np.nan)
        for k, axis in enumerate(clinical_axes(role)):
            ends = [np.interp(all_frames, rows, bands[:, k, end]) for end in (0, 1)]
            joint = alignment.rig.roles[role]
            band = np.stack(ends, axis=-1)
            curves.append(AngleCurve(role, joint, axis, angles[:, k], band, first))
    return ClipAngles(clip.name, clip.frame_time, tuple(curves), tuple(_notes(alignment, wanted)))


def _notes(alignment: Alignment, roles: Sequence[str]) -> Iterator[str]:
    """Yield sentences on angles whose zero is not certain."""
    for side, shown_by in alignment.palm.items():
        if shown_by is None and any(role == f"{side}Hand" for role in roles):
            yield (
                f"{side} forearm and wrist: the skeleton does not show where the palm faces, so "
                "the zero of pronation is arbitrary, and wrist angles mix flexion and deviation"
            )
    if any("zero moved" in step for step in alignment.steps):
        yield (
            "ankles and collarbones: rest poses do not show their zero, so it is their median "
            "position in this motion"
        )
