"""`synovia clamp`: bring clips back inside their limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, terminal
from .apply import ClipRun

if TYPE_CHECKING:
    from ..arrays import Ints, Scalars
    from ..limit.softening import Softening
    from ..model import ClampReport
    from ..skeleton import Clip
    from .apply import AppliedLimits

EXAMPLES = (
    ("a clip of a human, on any rig", "synovia clamp wild.bvh -o clamped.bvh"),
    ("limits of your own, many clips", "synovia clamp takes/ -l mine.limits.json -o clamped/"),
    (
        "slow down within the last 5 degrees instead of hitting the limit",
        "synovia clamp wild.bvh -o clamped.bvh --soften inside:5",
    ),
)
MIN_STEP_DEG = 1.0  # smaller steps may grow without being visible
NOTABLE_GROWTH = 1.5  # factor; a step that grew less is not reported
MAX_RANGES = 8  # ranges of frames in one line
max_speed_option = click.option(
    "--max-speed",
    type=click.FloatRange(min=0.0, min_open=True),
    default=400.0,
    show_default=True,
    metavar="DEG/S",
    help="How fast a joint may rotate from one side of its limit to another, in degrees a second; "
    "where the clip itself is faster, up to twice its own speed.",
)


@options.command(examples=EXAMPLES)
@options.clips_argument
@options.human_options
@options.output_option("The clip to write, like clamped.bvh; for several clips, a directory.")
@click.option(
    "--to",
    type=click.Choice(("possible", "usual")),
    default="possible",
    show_default=True,
    help="With human limits, how far to bring poses: to what a healthy adult can do, or also to "
    "what nearly all captured people did.",
)
@click.option(
    "-s",
    "--soften",
    metavar="inside:DEG|beyond:DEG",
    help="Approach limits instead of hitting them: slow down within the last DEG degrees inside, "
    "or let violations go on beyond by less than DEG.",
)
@max_speed_option
@options.humans_only_option
@options.json_option
def clamp(
    clips: tuple[str, ...],
    limits: str,
    output: Path,
    to: str,
    soften: str | None,
    max_speed: float,
    maps: tuple[str, ...],
    as_json: bool,
    force: bool,
) -> None:
    """Write clips with every joint inside its limits, free of pops.

    Legal frames stay as they are, unless a joint could not change sides in time otherwise: these
    are listed.
    """
    softening = _parse_softening(soften)
    run = ClipRun(clips, limits, maps, "clamping", output, force=force)
    lines, documents = [], []
    settings: dict[str, Any] = {
        "to_usual": to == "usual",
        "softening": softening,
        "max_speed": math.radians(max_speed),
        "progress": run.joint_progress,
    }
    for file, clip, applied in run:
        if to == "usual" and applied.model.usual is None:
            raise click.UsageError(f"--to usual needs limits with both verdicts, got {limits}")
        legal, report = applied.clamp(clip, **settings)
        target = run.write(file, legal)
        lines += [f"{_summary(clip, legal)}; wrote {target}", *largest_growth(clip, legal)]
        lines += _exceptions(report)
        if as_json:
            violations = _violations(applied, clip, to)
            documents.append(_describe(violations, clip, legal, report) | {"wrote": str(target)})
    run.finish_writing()
    if as_json:
        terminal.echo_json(documents)
    else:
        terminal.echo_lines([*lines, *run.left_out("not clamped")])
    options.exit_with(False)


def _parse_softening(text: str | None) -> Softening | None:
    """Return the value of `--soften`."""
    from ..limit.softening import parse_softening

    try:
        return parse_softening(text)
    except ValueError:
        raise click.UsageError(
            f"--soften takes inside:DEG or beyond:DEG, with degrees above 0, got {text!r}"
        ) from None


def _corrections_deg(before: Clip, after: Clip) -> Scalars:
    """Return the angle by which clamping moved each joint (frames, joints), in degrees."""
    import numpy as np

    from .. import quat

    changed = (before.pose.rotations != after.pose.rotations).any(axis=-1)
    angles_deg = np.zeros(changed.shape)
    for joint in np.flatnonzero(changed.any(axis=0)):  # all joints at once take too much memory
        old, new = before.pose.rotations[:, joint], after.pose.rotations[:, joint]
        angles_deg[:, joint] = np.degrees(quat.angle_between(old, new)) * changed[:, joint]
    return angles_deg


def _violations(applied: AppliedLimits, clip: Clip, to: str) -> dict[int, Scalars]:
    """Return the violations (frames,) of a clip by joint index, in radians; `to` is `--to`."""
    model = applied.model.usual if to == "usual" else applied.model
    assert model is not None
    with warnings.catch_warnings(action="ignore"):  # given when the clip was clamped
        report = model.check(clip, names=applied.names)
    joints = model.match(clip.skeleton, applied.names).joints
    return {joints[name]: report.violation[:, k] for k, name in enumerate(report.names)}


def _describe(
    violations: Mapping[int, Scalars], before: Clip, after: Clip, report: ClampReport
) -> dict[str, Any]:
    """Return what clamping changed as plain values, in degrees, for JSON.

    `violations` are those of the clip before. `violation_deg` is the largest of a joint, and
    `correction_deg` the largest angle by which it was moved.
    """
    import numpy as np

    corrections_deg, no_frames = _corrections_deg(before, after), np.zeros(0, int)
    rows = [
        {
            "name": name,
            "frames_changed": int((corrections_deg[:, joint] > 0.0).sum()),
            "violation_deg": math.degrees(violations.get(joint, np.zeros(1)).max()),
            "correction_deg": float(corrections_deg[:, joint].max()),
            "legal_frames_moved": report.moved.get(name, no_frames).tolist(),
            "jumps_to_frames": report.over.get(name, no_frames).tolist(),
        }
        for joint, name in enumerate(before.skeleton.names)
        if corrections_deg[:, joint].any()
    ]
    return {"clip": before.name, "frames": before.frames, "joints": rows}


def _summary(before: Clip, after: Clip) -> str:
    """Return a line with the number of joints and frames changed, and the largest change."""
    import numpy as np

    changed = (before.pose.rotations != after.pose.rotations).any(axis=-1)
    if not changed.any():
        return f"{terminal.bold(before.name)}: nothing to change"
    angles_deg = _corrections_deg(before, after)
    joint, frame = np.unravel_index(int(angles_deg.T.argmax()), angles_deg.T.shape)
    return (
        f"{terminal.bold(before.name)}: changed "
        f"{terminal.pluralize(int(changed.any(axis=0).sum()), 'joint')} in "
        f"{int(changed.any(axis=1).sum())} of {terminal.pluralize(before.frames, 'frame')}, by at "
        f"most {terminal.degrees(float(angles_deg[frame, joint]))} degrees "
        f"({before.skeleton.names[int(joint)]}, frame {int(frame)})"
    )


def largest_growth(before: Clip, after: Clip) -> Iterator[str]:
    """Yield a line about the step between frames that grew most, if one grew notably."""
    import numpy as np

    from .. import quat

    largest, line = NOTABLE_GROWTH, ""
    for joint, name in enumerate(before.skeleton.names):
        old_deg, new_deg = (
            np.degrees(quat.angle_between(path[:-1], path[1:]))
            for path in (clip.pose.rotations[:, joint] for clip in (before, after))
        )
        growth = np.where(new_deg > MIN_STEP_DEG, new_deg / np.maximum(old_deg, MIN_STEP_DEG), 0.0)
        if growth.max(initial=0.0) > largest:
            frame = int(growth.argmax())
            largest = float(growth[frame])
            line = (
                f"  the step that grew most: {terminal.printable(name)}, frames {frame} to "
                f"{frame + 1}, from {terminal.degrees(float(old_deg[frame]))} to "
                f"{terminal.degrees(float(new_deg[frame]))} degrees"
            )
    if line:
        yield line


def _exceptions(report: ClampReport) -> Iterator[str]:
    """Yield lines about legal frames that moved, and about steps faster than `--max-speed`."""
    for joint, frames in report.moved.items():
        yield (
            f"  {terminal.printable(joint)} moved in legal frames too, to change sides in time: "
            f"{frame_ranges(frames)}"
        )
    for joint, frames in report.over.items():
        yield (
            f"  {terminal.printable(joint)} has no legal way within the speed, and jumps to "
            f"{frame_ranges(frames)}"
        )


def frame_ranges(frames: Ints) -> str:
    """Return ascending frame indices in words, at most `MAX_RANGES` consecutive ranges."""
    import numpy as np

    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    named = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(named) > MAX_RANGES:
        hidden = sum(len(run) for run in runs[MAX_RANGES:])
        named = [*named[:MAX_RANGES], f"and {hidden} more"]
    return f"frame{'s' * (len(frames) > 1)} {', '.join(named)}"
