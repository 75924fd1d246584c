"""Rules that find errors and suspicious values in the ranges of a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from .. import quat
from ..arrays import TURN, Floats, Quats
from ..charts import Hinges
from ..io.ranges import HingeRange, RangesFile, complete_axes, limits_from_ranges
from ..limit import Limit
from ..model import LimitModel
from ..shapes.mesh import shape_surface
from ..skeleton import Clip, partner, partner_limit
from .into import fit_ranges, stands_alike

Severity = Literal["error", "warning", "note"]
ROUNDING = np.radians(0.05)  # radians: rounding error of numbers in files
NEAR_LOCK = np.radians(1.0)  # radians from gimbal lock
EVERYTHING = TURN - np.radians(2.0)  # radians: width of a range without effect
FOLDED = np.radians(5.0)  # radians between a bone and its parent that lie on each other
APART = np.radians(3.0)  # radians that left and right may differ
BROKEN, BROKEN_ANGLE = 0.01, np.radians(1.0)  # share of frames outside; radians outside
UNUSED = 0.25  # share of a range below which captures hardly use it
SMALL_DEG = 3.2  # degrees: ranges of a file that are all smaller look like radians
FOLD_STEPS = 720  # of a hinge's range: at most half a degree each
MEMBERS = 400  # sampled rotations of a limit
MANY = 3  # hinges of a joint, or ranges of a file


@dataclass(frozen=True)
class RangeFinding:
    """A finding about a range: the rule, its severity, the location, and a suggestion.

    `low` and `high` are suggested ends in radians from rest, with the `source` of the suggestion;
    None without one.
    """

    rule: str
    severity: Severity
    joint: str
    hinge: str
    line: int
    message: str
    low: float | None = None
    high: float | None = None
    source: str = ""


class Subject:
    """The file to examine, with values that several rules need."""

    def __init__(self, file: RangesFile) -> None:
        self.file = file
        self.joints = file.by_joint()

    @cached_property
    def model(self) -> LimitModel | None:
        """Limits made of the ranges; None if there are none."""
        with warnings.catch_warnings(action="ignore"):
            try:
                return limits_from_ranges(self.file)
            except ValueError:
                return None


Rule = Callable[[Subject], Iterator[RangeFinding]]


def find_exchanged(subject: Subject) -> Iterator[RangeFinding]:
    """Yield ranges whose low end is above the high one."""
    for hinge in subject.file.hinges:
        if hinge.is_limited and hinge.low > hinge.high:
            message = f"the ends are exchanged: {range_text(hinge.low, hinge.high)}"
            ends = (hinge.high, hinge.low, "the ends in order")
            yield _at(hinge, "exchanged", "error", message, ends)


def find_rest_outside(subject: Subject) -> Iterator[RangeFinding]:
    """Yield ranges that the skeleton at rest is outside of."""
    for hinge in subject.file.hinges:
        low, high = sorted((hinge.low, hinge.high))
        beyond = max(low, -high)
        if hinge.is_limited and not hinge.ball and beyond > ROUNDING:
            severity: Severity = "error" if beyond > np.radians(5.0) else "warning"
            fixed = (min(low, 0.0), max(high, 0.0), "to have rest inside")
            message = f"the rest pose is outside by {np.degrees(beyond):.2f}°"
            yield _at(hinge, "rest-outside", severity, message, fixed)


def find_everything(subject: Subject) -> Iterator[RangeFinding]:
    """Yield ranges that allow everything."""
    for hinges in subject.joints.values():
        some = any(hinge.is_limited for hinge in hinges)
        for hinge in hinges:
            if hinge.ball:
                if hinge.high >= np.pi - ROUNDING:
                    yield _at(hinge, "everything", "warning", "a ball that may turn anywhere")
            elif abs(hinge.high - hinge.low) >= EVERYTHING and some:
                what = f"{range_text(hinge.low, hinge.high)} allows everything"
                what = what if hinge.is_limited else "no range: it may turn anywhere"
                yield _at(hinge, "everything", "warning", what)


def find_folded(subject: Subject) -> Iterator[RangeFinding]:
    """Yield single hinges that rotate a bone back onto the bone above it.

    A hinge along the bone only twists it. A bone at less than 90° to the one above it at rest, as
    on a bracket of a robot's motor, is not judged.
    """
    skeleton = subject.file.skeleton
    for name, (hinge, *others) in subject.joints.items():
        joint = skeleton.index(name)
        bone, above = skeleton.rest_directions[joint], skeleton.offsets[joint]
        width = abs(hinge.high - hinge.low)
        has_bones = skeleton.parents[joint] >= 0 and bone.any() and above.any()
        if others or hinge.ball or not has_bones or not hinge.is_limited or width >= EVERYTHING:
            continue
        angles = np.append(np.linspace(hinge.low, hinge.high, 1 + FOLD_STEPS), 0.0)
        bones = quat.rotate(quat.exp(angles[:, None] * hinge.axis), bone)
        between = np.arccos(np.clip(bones @ -above / np.linalg.norm(above), -1.0, 1.0))
        if between[:-1].min() <= FOLDED and between[-1] > 0.5 * np.pi:
            angle = np.degrees(angles[between.argmin()])
            message = f"at {angle:.0f}° the bone lies on the one above it"
            yield _at(hinge, "half-turn", "warning", message)


def find_gimbal_lock(subject: Subject) -> Iterator[RangeFinding]:
    """Yield middle hinges whose range has the three axes in a plane, or nearly."""
    for hinges in subject.joints.values():
        if len(hinges) != MANY or any(hinge.ball or not hinge.is_limited for hinge in hinges):
            continue
        try:
            chart = Hinges(axes=complete_axes(hinges)[0])
        except ValueError:
            continue
        low, high = sorted((hinges[1].low, hinges[1].high))
        multiples = np.arange(np.ceil((low - NEAR_LOCK - chart.lock) / np.pi), 9.0)
        lock = float(chart.lock + multiples[0] * np.pi)
        if lock <= high + NEAR_LOCK:
            what = "has gimbal lock inside" if low < lock < high else "reaches gimbal lock"
            message = f"the middle hinge {what}, at {np.degrees(lock):.0f}°"
            room = np.radians(5.0)
            ends = (low, lock - room) if abs(lock - low) > abs(high - lock) else (lock + room, high)
            yield _at(hinges[1], "gimbal-lock", "warning", message, (*ends, "5° short of the lock"))


def find_couplings(subject: Subject) -> Iterator[RangeFinding]:
    """Yield couplings that drive a hinge beyond its own range."""
    hinges = {hinge.name: hinge for hinge in subject.file.hinges}
    for coupling in subject.file.couplings:
        driver, driven = hinges.get(coupling.driver), hinges.get(coupling.driven)
        if driver is None or driven is None or not (driver.is_limited and driven.is_limited):
            continue
        ends = coupling.driven_range(*sorted((driver.low, driver.high)))
        low, high = sorted((driven.low, driven.high))
        beyond = max(low - ends[0], ends[1] - high)
        if beyond > ROUNDING:
            message = (
                f"{coupling.driver} drives it to {range_text(*ends)}, {np.degrees(beyond):.1f}° "
                f"beyond its range {range_text(low, high)}"
            )
            wider = (min(ends[0], low), max(ends[1], high), "what the coupling makes")
            finding = _at(driven, "coupling", "error", message, wider)
            yield replace(finding, line=coupling.line or driven.line)


def find_units(subject: Subject) -> Iterator[RangeFinding]:
    """Yield ranges that look like degrees where radians are expected, or the other way round."""
    limited = [hinge for hinge in subject.file.hinges if hinge.is_limited and not hinge.ball]
    for hinge in limited:
        if max(abs(hinge.low), abs(hinge.high)) > 1.01 * TURN:
            ends = np.radians([hinge.low, hinge.high])
            message = f"{hinge.low:g} to {hinge.high:g} radians look like degrees"
            yield _at(hinge, "units", "error", message, (*ends.tolist(), "the same as degrees"))
    widest = max((max(abs(hinge.low), abs(hinge.high)) for hinge in limited), default=0.0)
    if subject.file.degrees and len(limited) >= MANY and np.degrees(widest) <= SMALL_DEG:
        message = f"all ranges of the file are within {np.degrees(widest):.2f}°: radians, probably"
        ends = np.degrees([limited[0].low, limited[0].high])
        yield _at(limited[0], "units", "error", message, (*ends.tolist(), "the same as radians"))


def find_axes(subject: Subject) -> Iterator[RangeFinding]:
    """Yield axes that are not of unit length."""
    for hinge in subject.file.hinges:
        if not hinge.ball and abs(hinge.length - 1.0) > 1e-3:
            message = f"the axis has length {hinge.length:.4g}, not 1"
            yield _at(hinge, "axis-length", "warning", message)


def find_sides(subject: Subject) -> Iterator[RangeFinding]:
    """Yield joints whose limits are not the mirror image of the other side's."""
    limits = {} if subject.model is None else subject.model.limits
    skeleton = subject.file.skeleton
    for name, limit in limits.items():
        other = partner(name, skeleton.names)
        if other is None or other not in limits or other < name:
            continue
        try:
            _, mirrored = partner_limit(skeleton, name, limit)
        except ValueError:
            continue
        difference = _apart(mirrored, limits[other])
        if difference <= APART:
            continue
        hinges = subject.joints[other]
        ranges, ours, theirs = (
            fit_ranges(mirrored, hinges),
            _ends(subject.joints[name]),
            _ends(hinges),
        )
        same = len(ours) == len(theirs) and np.abs(ours - theirs).sum(axis=1).max() < ROUNDING
        how = "has the same numbers, not mirrored" if same else "is not its mirror image"
        message = f"{other} {how}: {name} differs by up to {np.degrees(difference):.1f}°"
        worst = int(np.abs(theirs - ranges).max(axis=1).argmax())
        ends = (*ranges[worst].tolist(), f"the mirror image of {name}")
        yield _at(hinges[worst], "sides", "warning", message, ends)


RULES: tuple[Rule, ...] = (
    find_exchanged,
    find_units,
    find_rest_outside,
    find_everything,
    find_folded,
    find_gimbal_lock,
    find_couplings,
    find_axes,
    find_sides,
)
"""Every rule that needs the file alone."""


def lint_ranges(
    file: RangesFile, *, clips: Sequence[Clip] = (), limits: Sequence[LimitModel] = ()
) -> list[RangeFinding]:
    """Return findings about the ranges in a file, in its order.

    With `clips`, also ranges that they leave or hardly use; with `limits`, also ranges that exclude
    legal rotations.
    """
    subject = Subject(file)
    findings = [finding for rule in RULES for finding in rule(subject)]
    findings += [finding for model in limits for finding in against_limits(subject, model)]
    if clips:
        findings += against_clips(subject, clips)
    return sorted(findings, key=lambda finding: (finding.line, finding.joint))


def against_clips(subject: Subject, clips: Sequence[Clip]) -> Iterator[RangeFinding]:
    """Yield ranges that captures leave, and those that they hardly use."""
    if subject.model is None:
        return
    for clip in clips:
        if not stands_alike(clip.skeleton, subject.file.skeleton):
            raise ValueError(
                f"{clip.name} has other joints than {subject.file.path.name}, or stands "
                "otherwise: convert the limits to its rig with `synovia limits`"
            )
    for name, limit in subject.model.limits.items():
        rotations = [
            clip.pose.rotations[:, clip.skeleton.index(name)]
            for clip in clips
            if name in clip.skeleton.names
        ]
        hinges = subject.joints[name]
        if rotations and not hinges[0].ball:
            yield from _captured(hinges, limit, np.concatenate(rotations))


def _captured(
    hinges: Sequence[HingeRange], limit: Limit, rotations: Quats
) -> Iterator[RangeFinding]:
    """Yield findings about the hinges of one joint, with its rotations (n, 4) in all frames."""
    outside, angles = ~limit.contains(rotations), limit.nearest_cover(rotations)
    used = np.stack([angles.min(axis=0), angles.max(axis=0)], axis=1)[: len(hinges)]
    source = f"{len(rotations)} frames of captures"
    share = float(outside.mean())
    worst = float(limit.correction(rotations[outside]).max(initial=0.0))
    if share > BROKEN and worst > BROKEN_ANGLE:
        k = _most_exceeded(hinges, used)
        message = (
            f"captures are outside in {share:.0%} of frames, by up to {np.degrees(worst):.1f}°"
        )
        low, high = used[k].tolist()
        wide = (min(hinges[k].low, low), max(hinges[k].high, high), source)
        yield _at(hinges[k], "captures-outside", "error", message, wide)
    for hinge, ends in zip(hinges, used, strict=True):
        width = hinge.high - hinge.low
        low, high = np.clip(ends, hinge.low, hinge.high).tolist()
        if hinge.is_limited and width > np.radians(10.0) and high - low < UNUSED * width:
            message = f"captures use {max(high - low, 0.0) / width:.0%} of the range"
            yield _at(hinge, "unused", "note", message, (low, high, source))


def against_limits(subject: Subject, other: LimitModel) -> Iterator[RangeFinding]:
    """Yield joints that exclude rotations that are legal by other limits."""
    if subject.model is None:
        return
    skeleton = subject.file.skeleton
    on_rig = other if stands_alike(other.skeleton, skeleton) else other.on(skeleton)
    for name, limit in on_rig.limits.items():
        range_limit, hinges = subject.model.limits.get(name), subject.joints.get(name, [])
        if range_limit is None or hinges[0].ball:
            continue
        legal = limit.sample(MEMBERS, np.random.default_rng(0))
        if len(hinges) < MANY:  # of what its hinges can make
            points = range_limit.chart.points(legal)
            points[:, len(hinges) :] = 0.0
            legal = range_limit.chart.rotations(points)
            legal = legal[limit.contains(legal)]
        if not len(legal):
            continue
        outside = ~range_limit.contains(legal)
        worst = float(range_limit.correction(legal[outside]).max(initial=0.0))
        if outside.mean() > BROKEN and worst > BROKEN_ANGLE:
            ranges = fit_ranges(limit, hinges)
            k = _most_exceeded(hinges, ranges)
            message = (
                f"excludes {outside.mean():.0%} of what is legal elsewhere, by up to "
                f"{np.degrees(worst):.1f}°"
            )
            ends = (*ranges[k].tolist(), "the limits it is held against")
            yield _at(hinges[k], "limits-outside", "warning", message, ends)


def _ends(hinges: Sequence[HingeRange]) -> Floats:
    """Return the low and high end (n, 2) of hinges, in radians."""
    return np.array([(hinge.low, hinge.high) for hinge in hinges])


def _most_exceeded(hinges: Sequence[HingeRange], ranges: Floats) -> int:
    """Return the index of the hinge that is exceeded most by `ranges` (n, 2)."""
    return int(((ranges - _ends(hinges)) * [-1.0, 1.0]).max(axis=1).argmax())


def _apart(one: Limit, other: Limit) -> float:
    """Return the largest violation, in radians, of either limit by members of the other."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for inner, judge in ((one, other), (other, one)):
        corners = inner.chart.rotations(shape_surface(inner.region, 1).vertices)
        members = np.concatenate([inner.sample(MEMBERS, rng), corners])
        largest = max(largest, float(judge.correction(members).max(initial=0.0)))
    return largest


def range_text(low: float, high: float) -> str:
    """Return a range of radians as text in degrees."""
    ends = [float(np.round(np.degrees(end), 1)) + 0.0 for end in (low, high)]
    return f"{ends[0]:.1f}° to {ends[1]:.1f}°"


def _at(
    hinge: HingeRange,
    rule: str,
    severity: Severity,
    message: str,
    suggested: tuple[float | None, float | None, str] = (None, None, ""),
) -> RangeFinding:
    return RangeFinding(rule, severity, hinge.joint, hinge.name, hinge.line, message, *suggested)
