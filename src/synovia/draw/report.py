"""Range-of-motion reports: one HTML file with tables, plots and pictures of the worst frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars
from ..model import LimitModel, Report
from ..population.angles import ClinicalAxis, Norm
from ..population.findings import Finding, join_sides, joint_name
from ..population.motion import AngleCurve, ClipAngles, clip_angles, verdict_frames
from ..rigs import Alignment
from ..rigs.canonical import FORWARD, UP
from ..rigs.human import split_role
from ..skeleton import Clip, Pose, forward
from .skeleton import strokes, with_descendants

if TYPE_CHECKING:
    from ..learn import Progress
    from ..population import HumanLimits

MAX_RECORDINGS = 2
MAX_PICTURES = 8  # of worst frames, for each recording
YAW = np.radians(35.0)  # of the view of a worst frame, from the front
PITCH = np.radians(8.0)
BAR, CURVE, FIGURE = (230, 20), (190, 34), (150, 190)  # width and height of pictures, in px
COLUMNS = 90  # of a curve; each shows its smallest and its largest angle
STILL = np.radians(0.5)  # joints whose angles change less are listed, without a table
MIN_NORM = 20.0  # degrees; shares of smaller norms say little


@dataclass(frozen=True, eq=False)
class Recording:
    """A clip with its angles, violations and findings."""

    clip: Clip
    alignment: Alignment
    angles: ClipAngles
    report: Report
    findings: Sequence[Finding] = ()
    """Joints outside in words, worst first; without any, the report names joints."""

    @classmethod
    def of_human(cls, human: HumanLimits, clip: Clip, progress: Progress = iter) -> Recording:
        """Return the recording of a clip, checked against human limits."""
        angles = clip_angles(human.model, human.alignment, clip, progress=progress)
        return cls(clip, human.alignment, angles, *human.check(clip))

    @classmethod
    def of_model(cls, model: LimitModel, alignment: Alignment, clip: Clip) -> Recording:
        """Return the recording of a clip, checked against other limits for its skeleton."""
        return cls(clip, alignment, clip_angles(model, alignment, clip), model.check(clip))

    @cached_property
    def worst(self) -> list[tuple[str, str, int, str]]:
        """Joints outside, worst first: the rig's joint, verdict, frame, and a sentence."""
        if self.findings:
            return [(row.joint, row.verdict, row.frame, row.text) for row in self.findings]
        return [
            (
                *(row.name, part.verdict, row.worst_frame),
                f"{row.name}: {np.degrees(row.worst):.0f}° {part.verdict}",
            )
            for part in self.report.verdicts
            for row in part.joints
            if row.frames
        ]

    def seconds(self, frame: int) -> str:
        """Return the time of a frame as text, in seconds."""
        return f"{frame * self.clip.frame_time:.2f} s"


def motion_report(recordings: Sequence[Recording]) -> str:
    """Return a range-of-motion report of one or two recordings as HTML.

    The file needs no other file. It has, for each joint and clinical axis, the range used, the
    published norm, what is impossible or unusual, plots, and pictures of the worst frames.
    """
    if not 1 <= len(recordings) <= MAX_RECORDINGS:
        raise ValueError(f"a report takes one or two clips, got {len(recordings)}")
    title = " and ".join(recording.clip.name for recording in recordings)
    style = (files(__package__) / "report.css").read_text("utf-8")
    body = "\n".join(_body(recordings))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Range of motion: {escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _body(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield the HTML of the page below `main`."""
    yield "<h1>Range of motion</h1>"
    yield '<dl class="clips">'
    for recording, mark in zip(recordings, "AB", strict=False):
        label = "Recording" if len(recordings) == 1 else f"Recording {mark}"
        seconds = recording.clip.frames * recording.clip.frame_time
        yield (
            f"<div><dt>{label}</dt><dd><b>{escape(recording.clip.name)}</b>, "
            f"{recording.clip.frames} frames, {seconds:.1f} s. {_verdict(recording)}</dd></div>"
        )
    yield "</dl>"
    yield "<h2>What stands out</h2>"
    if not any(recording.worst for recording in recordings):
        yield "<p>Every joint stays within what healthy people do, in every frame.</p>"
    for recording, mark in zip(recordings, "AB", strict=False):
        if recording.worst:
            name = "" if len(recordings) == 1 else f"<h3>Recording {mark}</h3>"
            pictures = "".join(_worst(recording, *row) for row in recording.worst[:MAX_PICTURES])
            more = len(recording.worst) - MAX_PICTURES
            remainder = f"<p>And {more} more, in the tables below.</p>" if more > 0 else ""
            yield f'{name}<ul class="worst">{pictures}</ul>{remainder}'
    yield "<h2>Joints</h2>"
    yield _legend(len(recordings))
    rows = [
        (k, curve) for k, recording in enumerate(recordings) for curve in recording.angles.curves
    ]
    still = []
    for joint in dict.fromkeys(_plain_joint(curve.role) for _, curve in rows):
        joint_rows = [row for row in rows if _plain_joint(row[1].role) == joint]
        if max(curve.most - curve.least for _, curve in joint_rows) < STILL:
            still.append(joint)
        else:
            yield _joint_section(recordings, joint, joint_rows)
    if still:
        yield f"<p>These joints do not move: {', '.join(still)}.</p>"
    yield "<h2>How to read this</h2>"
    yield from _notes(recordings)


def _plain_joint(role: str) -> str:
    """Return the name of a joint without its side."""
    return joint_name(role).removeprefix("left ").removeprefix("right ")


def _verdict(recording: Recording) -> str:
    """Return a sentence: how many joints have each verdict, and in how many frames."""
    words = []
    for part in recording.report.verdicts:
        joints = join_sides(
            [name for name, verdict, *_ in recording.worst if verdict == part.verdict]
        )
        if joints:
            frames = int(part.outside.any(axis=1).sum())
            count_words = f"{len(joints)} joints are" if len(joints) > 1 else "1 joint is"
            words.append(f"{count_words} {part.verdict} in {frames} frame{'s' * (frames > 1)}")
    return f"{'; '.join(words)}." if words else "All joints stay inside."


def _worst(recording: Recording, joint: str, verdict: str, frame: int, text: str) -> str:
    """Return a list item about a joint outside, with a picture of its worst frame."""
    picture = _figure(recording, joint, frame, text)
    return (
        f'<li class="{verdict}">{picture}<p><b>{verdict.capitalize()}</b> {escape(text)}. '
        f"Worst at {recording.seconds(frame)}, frame {frame}.</p></li>"
    )


def _figure(recording: Recording, joint: str, frame: int, text: str) -> str:
    """Return a picture of a frame from the side of a joint, with the joint marked."""
    clip, skeleton = recording.clip, recording.clip.skeleton
    pose = Pose(clip.pose.rotations[frame], clip.pose.positions[frame])
    role = next((role for role, name in recording.alignment.rig.roles.items() if name == joint), "")
    view = _view(recording.alignment, pose, split_role(role)[0])
    colours = dict.fromkeys(with_descendants(skeleton, [joint]), "bone marked")
    drawn = strokes(skeleton, pose, colors=colours, color="bone", view=view)
    ends = np.array([point[:2] for stroke in drawn for point in (stroke.start, stroke.end)])
    joint_position = quat.rotate(view, forward(skeleton, pose)[0])[skeleton.index(joint), :2]
    low, high = ends.min(axis=0), ends.max(axis=0)
    scale = 0.9 * min(FIGURE / np.maximum(high - low, 1e-9))
    middle = 0.5 * (low + high)

    def to_pixels(point: Floats) -> Floats:
        return np.asarray(0.5 * np.array(FIGURE) + scale * (point[:2] - middle) * [1.0, -1.0])

    lines = []
    for stroke in sorted(drawn, key=lambda one: float(one.start[2] + one.end[2])):
        (x1, y1), (x2, y2) = to_pixels(stroke.start), to_pixels(stroke.end)
        lines.append(
            f'<line class="{stroke.color}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
            f'y2="{y2:.1f}" stroke-width="{max(2.0 * scale * stroke.radius, 2.0):.1f}"/>'
        )
    x, y = to_pixels(joint_position)
    lines.append(f'<circle class="spot" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    return _svg(FIGURE, f"Pose at frame {frame}: {text}", lines, "figure")


def _view(alignment: Alignment, pose: Pose, side: str) -> Quats:
    """Return the rotation (4,) of the world for a view from the front and from the joint's side."""
    rig, heading = alignment.rig, 0.0
    if "hips" in alignment.frames:
        _, world = forward(rig.skeleton, pose)
        hips = world[rig.skeleton.index(rig.roles["hips"])]
        canonical = quat.mul(quat.mul(alignment.axes, hips), alignment.frames["hips"])
        aside, _, ahead = quat.rotate(canonical, FORWARD)
        heading = float(np.arctan2(aside, ahead))
    yaw = (YAW if side == "right" else -YAW) - heading
    tilt = quat.exp(PITCH * np.array([1.0, 0.0, 0.0]))
    return quat.mul(quat.mul(tilt, quat.exp(yaw * UP)), alignment.axes)


def _joint_section(
    recordings: Sequence[Recording], joint: str, rows: Sequence[tuple[int, AngleCurve]]
) -> str:
    """Return the table of a joint, with a row for each axis, side and recording.

    `rows` are curves, each with the index of its recording.
    """
    several = len(recordings) > 1
    titles = {
        "motion": "Motion",
        "side": "Side",
        **({"take": "Rec."} if several else {}),
        "range": "Used",
        "norm": "Published norm, % used",
        "bars": "Used, norm and limit",
        "curves": "Over time",
    }
    head = "".join(f'<th scope="col" class="{kind}">{title}</th>' for kind, title in titles.items())
    body = []
    for axis in dict.fromkeys(curve.axis for _, curve in rows):
        axis_rows = [row for row in rows if row[1].axis == axis]
        axis_rows.sort(key=lambda row: (split_role(row[1].role)[0], row[0]))
        ends = _scale([curve for _, curve in axis_rows])
        words = f"{axis.name} +<br><small>{axis.opposite} −</small>"
        first = f'<th scope="rowgroup" rowspan="{len(axis_rows)}">{words}</th>'
        for role, group in groupby(axis_rows, lambda row: row[1].role):
            curves = list(group)
            span = f'rowspan="{len(curves)}"'
            first += f"<td {span}>{split_role(role)[0] or '–'}</td>"
            norm = f"<td {span}>{_norm_words([curve for _, curve in curves])}</td>"
            for k, curve in curves:
                mark = f"<td>{'AB'[k]}</td>" if several else ""
                used = f"<td>{_used(recordings[k], curve)}</td>"
                plots = f"<td>{_bar(curve, ends, k)}</td><td>{_plot(curve, ends, k)}</td>"
                body.append(f"<tr>{first}{mark}{used}{norm}{plots}</tr>")
                first = norm = ""
    return (
        f'<section><h3>{joint.capitalize()}</h3><div class="wide" role="region" tabindex="0" '
        f'aria-label="{joint.capitalize()}: table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div></section>"
    )


def _degrees(angle: float) -> str:
    """Return an angle in degrees with a minus sign; never −0."""
    return f"{round(angle)}°".replace("-", "−")


def _used(recording: Recording, curve: AngleCurve) -> str:
    """Return the range of a curve in degrees, and how often its joint is outside, as HTML."""
    low, high = np.degrees([curve.least, curve.most])
    text = f"<b>{_degrees(low)} to {_degrees(high)}</b><br><small>{high - low:.0f}° in all</small>"
    frames = verdict_frames(recording.report, curve.joint)
    for verdict, count in zip(("impossible", "unusual"), frames, strict=True):
        if count:
            words = f"joint {verdict} in {count} frames"
            text += f'<br><span class="flag {verdict}">{words}</span>'
    return text


def _norm_words(curves: Sequence[AngleCurve]) -> str:
    """Return the published norms in both directions, and the share that each recording uses."""
    lines = []
    for norm in curves[0].norms:
        motion = escape(_norm_motion(curves[0].axis, norm))
        line = f"{motion} <b>{norm.mean_deg:g} ± {norm.sd_deg:g}°</b>{'*' * norm.sd_is_estimated}"
        if norm.mean_deg >= MIN_NORM and not norm.condition:
            used_deg = [
                np.degrees(max(curve.most if norm.sign > 0 else -curve.least, 0.0))
                for curve in curves
            ]
            used = " / ".join(f"{100.0 * angle / norm.mean_deg:.0f}" for angle in used_deg)
            line += f" <small>{used} %</small>"
        lines.append(line)
    return "<br>".join(lines) or "–"


def _scale(curves: Sequence[AngleCurve]) -> tuple[float, float]:
    """Return the ends of the scale, in degrees, that several curves of one axis share."""
    ends = [0.0]
    for curve in curves:
        ends += np.degrees([curve.least, curve.most, *curve.span]).tolist()
        ends += [norm.sign * (norm.mean_deg + norm.sd_deg) for norm in curve.norms]
    finite = [end for end in ends if np.isfinite(end)]
    return float(np.floor(min(finite) / 10.0) * 10.0), float(np.ceil(max(finite) / 10.0) * 10.0)


def _bar(curve: AngleCurve, ends: tuple[float, float], k: int) -> str:
    """Return a bar of the used range, over the limit, with marks at the norms."""
    width, height = BAR

    def x(degrees: float) -> float:
        return float(np.interp(degrees, ends, (2.0, width - 2.0)))

    parts = []
    low, high = np.degrees(curve.span)
    if np.isfinite(low):
        parts.append(_rect("limit", x(low), 2.0, x(high) - x(low), height - 4.0))
    for norm in curve.norms:
        inner, outer = (norm.sign * (norm.mean_deg + side * norm.sd_deg) for side in (-1, 1))
        left, right = sorted((x(inner), x(outer)))
        parts.append(_rect("sd", left, 2.0, max(right - left, 1.0), height - 4.0))
        mean = x(norm.sign * norm.mean_deg)
        parts.append(
            f'<line class="mean" x1="{mean:.1f}" y1="1" x2="{mean:.1f}" y2="{height - 1}"/>'
        )
    least, most = np.degrees([curve.least, curve.most])
    parts.append(_rect(f"used {'ab'[k]}", x(least), 7.0, max(x(most) - x(least), 1.5), 6.0))
    parts.append(f'<line class="zero" x1="{x(0.0):.1f}" y1="0" x2="{x(0.0):.1f}" y2="{height}"/>')
    label = f"{curve.name}: {_degrees(least)} to {_degrees(most)} on a scale from "
    return _svg(BAR, label + f"{_degrees(ends[0])} to {_degrees(ends[1])}", parts)


def _plot(curve: AngleCurve, ends: tuple[float, float], k: int) -> str:
    """Return the curve of an angle over time, with the limit as a band."""
    width, height = CURVE
    angles = curve.angles[curve.first :]
    frames = np.arange(len(angles))
    column = frames * COLUMNS // max(len(frames), 1)
    firsts = np.flatnonzero(np.diff(column, prepend=-1))
    x = frames[firsts] / max(len(frames) - 1, 1) * width

    def y(angles: Scalars) -> Scalars:
        inside = np.clip(np.degrees(angles), *ends)
        return np.asarray(np.interp(inside, ends, (height - 1.0, 1.0)))

    low, high = (np.nan_to_num(curve.bands[curve.first + firsts, side], nan=0.0) for side in (0, 1))
    band = np.concatenate([np.stack([x, y(high)], -1), np.stack([x, y(low)], -1)[::-1]])
    least, most = (reduce.reduceat(angles, firsts) for reduce in (np.minimum, np.maximum))
    line = np.stack([np.repeat(x, 2), y(np.stack([least, most], -1).ravel())], -1)
    parts = [
        f'<polygon class="limit" points="{_points(band)}"/>',
        f'<line class="zero" x1="0" x2="{width}" y1="{y(np.zeros(1))[0]:.1f}" '
        f'y2="{y(np.zeros(1))[0]:.1f}"/>',
        f'<polyline class="curve {"ab"[k]}" points="{_points(line)}"/>',
    ]
    return _svg(CURVE, f"{curve.name} over time", parts)


def _points(points: Floats) -> str:
    """Return points (n, 2) as the attribute of an SVG polyline."""
    return " ".join(f"{x:.0f},{y:.1f}" for x, y in points)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}"/>'


def _svg(size: tuple[int, int], label: str, parts: Sequence[str], kind: str = "plot") -> str:
    """Return a picture of a size in px, with a label for screen readers."""
    width, height = size
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(label)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def _legend(count: int) -> str:
    """Return the legend of the bars as HTML; `count` is the number of recordings."""
    marks = [("used a", "range used" if count == 1 else "used in A")]
    marks += [("used b", "used in B")] if count > 1 else []
    marks += [("sd", "published norm, mean ± SD"), ("limit", "possible for a healthy adult")]
    items = "".join(
        f'<li><svg aria-hidden="true" width="22" height="12">{_rect(kind, 0, 1, 22, 10)}</svg> '
        f"{words}</li>"
        for kind, words in marks
    )
    return f'<ul class="legend">{items}</ul>'


def _notes(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield sentences on zeros, signs, norms and sources."""
    yield (
        "<p>All angles are 0 when standing with hanging arms, the palms at the thighs. Left and "
        "right have equal signs. Shoulder flexion and abduction are the parts of the arm’s "
        "elevation forwards and to the side; rotation of shoulder and hip is seen at the bent "
        "elbow or knee. The limit is shown as it is along one axis while the others keep still, so "
        "it changes with the posture; the bar shows its widest extent.</p>"
        "<p>Norms are ranges of healthy adults, each measured along one axis; standard "
        "deviations with * are estimates. A recording that uses less is no sign of a restriction: "
        "most movements need less. Angles are computed from a recording of the skeleton and "
        "inherit its errors. This report does not replace a clinical examination.</p>"
    )
    notes = dict.fromkeys(note for recording in recordings for note in recording.angles.notes)
    yield "".join(f"<p>{escape(note[0].upper() + note[1:])}.</p>" for note in notes)
    sources: dict[str, dict[str, None]] = {}
    for curve in (curve for recording in recordings for curve in recording.angles.curves):
        for norm in curve.norms:
            motion = f"{_plain_joint(curve.role)} {_norm_motion(curve.axis, norm)}"
            sources.setdefault(norm.source, {})[motion] = None
    items = "".join(
        f"<li>{escape(source)}: {escape(', '.join(motions))}</li>"
        for source, motions in sources.items()
    )
    yield f'<h3>Sources of the norms</h3><ul class="sources">{items}</ul>'


def _norm_motion(axis: ClinicalAxis, norm: Norm) -> str:
    """Return the name of the motion that a norm is for, with its condition."""
    word = axis.name if norm.sign > 0 else axis.opposite
    return f"{word}, {norm.condition}" if norm.condition else word
