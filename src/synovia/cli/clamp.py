"""`synovia clamp` and `synovia repair`: bring clips back inside their limits."""

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
    from ..model import ClampReport, LimitModel
    from ..repairs import RepairReport, StageReport
    from ..skeleton import Clip

CLAMP_EXAMPLES = (
    ("a clip of a human, on any rig", "synovia clamp wild.bvh -o clamped.bvh"),
    ("limits of your own, many clips", "synovia clamp takes/ -l mine.limits.json -o clamped/"),
    (
        "slow down within the last 5 degrees instead of hitting the limit",
        "synovia clamp wild.bvh -o clamped.bvh --soften inside:5",
    ),
)
REPAIR_EXAMPLES = (
    ("a clip of a human, on any rig", "synovia repair wild.bvh -o repaired.bvh"),
    ("what would change, without writing", "synovia repair wild.bvh --dry-run"),
    ("keep only the feet in place", "synovia repair wild.bvh -o repaired.bvh --keep feet"),
)
STAGE_WORDS = {
    "glitches": "interpolated glitches",
    "twist": "redistributed twist",
    "keep": "solved inverse kinematics",
    "clamp": "clamped the rest",
}
MIN_STEP_DEG = 1.0  # smaller steps may grow without being visible
NOTABLE_GROWTH = 1.5  # factor; a step that grew less is not reported
MAX_RANGES = 8  # ranges of frames in one line
max_speed_option = click.option(
    "--max-speed",
    type=click.FloatRange(min=0.0, min_open=True),
    callback=options.parsed_by(math.radians),
    default=400.0,
    show_default=True,
    metavar="DEG/S",
    help="How fast a joint may rotate from one side of its limit to another, in degrees a second; "
    "where the clip itself is faster, up to twice its own speed.",
)


def _parse_softening(text: str) -> Softening | None:
    from ..limit.softening import parse_softening

    return parse_softening(text)


@options.command(examples=CLAMP_EXAMPLES)
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
    callback=options.parsed_by(_parse_softening),
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
    soften: Softening | None,
    max_speed: float,
    as_json: bool,
) -> None:
    """Write clips with every joint inside its limits, free of pops.

    Legal frames stay as they are, unless a joint could not change sides in time otherwise: these
    are listed.
    """
    run = ClipRun(clips, limits, "clamping", output)
    lines, documents = [], []
    for file, clip, applied in run:
        judge = applied.model.usual if to == "usual" else applied.model
        if judge is None:
            raise click.UsageError(f"--to usual needs limits with both verdicts, got {limits}")
        legal, report = applied.clamp(
            clip,
            to_usual=to == "usual",
            softening=soften,
            max_speed=max_speed,
            progress=run.joint_progress,
        )
        target = run.write(file, legal)
        if as_json:
            rows = _joint_rows(judge, applied.names, clip, legal, report)
            document = {"clip": clip.name, "frames": clip.frames, "joints": rows}
            documents.append(document | {"wrote": str(target)})
        else:
            lines += [f"{_summary(clip, legal)}; wrote {target}", *largest_growth(clip, legal)]
            lines += _exceptions(report)
    run.finish_writing()
    if as_json:
        terminal.echo_json(documents)
    else:
        terminal.echo_lines([*lines, *run.left_out("not clamped")])
    options.exit_with(False)


def _corrections(before: Clip, after: Clip) -> Scalars:
    """Return the angle by which clamping moved each joint (frames, joints), in radians."""
    import numpy as np

    from .. import quat

    changed = (before.pose.rotations != after.pose.rotations).any(axis=-1)
    angles = np.zeros(changed.shape)
    for joint in np.flatnonzero(changed.any(axis=0)):  # all joints at once take too much memory
        old, new = before.pose.rotations[:, joint], after.pose.rotations[:, joint]
        angles[:, joint] = quat.angle_between(old, new) * changed[:, joint]
    return angles


def _joint_rows(
    model: LimitModel, names: Mapping[str, str], before: Clip, after: Clip, report: ClampReport
) -> list[dict[str, Any]]:
    """Return what clamping changed by joint as plain values, in degrees, for JSON.

    `names` lead from joints of the clip to those of the model. `violation_deg` is the largest of a
    joint before, and `correction_deg` the largest angle by which it was moved.
    """
    with warnings.catch_warnings(action="ignore"):  # given when the clip was clamped
        check = model.check(before, names=names)
    joints = model.match(before.skeleton, names).joints
    worst = {joints[row.name]: math.degrees(row.worst) for row in check.joints}
    corrections = _corrections(before, after)

    def frames_of(frames: Mapping[str, Ints], name: str) -> list[int]:
        return frames[name].tolist() if name in frames else []

    return [
        {
            "name": name,
            "frames_changed": int((corrections[:, joint] > 0.0).sum()),
            "violation_deg": worst.get(joint, 0.0),
            "correction_deg": math.degrees(corrections[:, joint].max()),
            "legal_frames_moved": frames_of(report.moved, name),
            "jumps_to_frames": frames_of(report.over, name),
        }
        for joint, name in enumerate(before.skeleton.names)
        if corrections[:, joint].any()
    ]


def _summary(before: Clip, after: Clip) -> str:
    """Return a line with the number of joints and frames changed, and the largest change."""
    import numpy as np

    changed = (before.pose.rotations != after.pose.rotations).any(axis=-1)
    if not changed.any():
        return f"{terminal.bold(before.name)}: nothing to change"
    angles = _corrections(before, after)
    joint, frame = np.unravel_index(int(angles.T.argmax()), angles.T.shape)
    joints = terminal.pluralize(int(changed.any(axis=0).sum()), "joint")
    frames = terminal.pluralize(before.frames, "frame")
    return (
        f"{terminal.bold(before.name)}: changed {joints} in {int(changed.any(axis=1).sum())} of "
        f"{frames}, by at most {terminal.degrees(float(angles.max()))} degrees "
        f"({before.skeleton.names[int(joint)]}, frame {int(frame)})"
    )


def largest_growth(before: Clip, after: Clip) -> list[str]:
    """Return a line about the step between frames that grew most, if one grew notably."""
    import numpy as np

    from .. import quat

    largest, lines, least = NOTABLE_GROWTH, list[str](), math.radians(MIN_STEP_DEG)
    for joint, name in enumerate(before.skeleton.names):
        paths = (clip.pose.rotations[:, joint] for clip in (before, after))
        old, new = (quat.angle_between(path[:-1], path[1:]) for path in paths)
        growth = np.where(new > least, new / np.maximum(old, least), 0.0)
        if growth.max(initial=0.0) > largest:
            frame = int(growth.argmax())
            largest = float(growth[frame])
            lines = [
                f"  the step that grew most: {terminal.printable(name)}, frames {frame} to "
                f"{frame + 1}, from {terminal.degrees(old[frame])} to "
                f"{terminal.degrees(new[frame])} degrees"
            ]
    return lines


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


@options.command(examples=REPAIR_EXAMPLES)
@options.clips_argument
@options.human_options
@options.output_option(
    "The clip to write, like repaired.bvh; for several clips, a directory.", required=False
)
@click.option(
    "--keep",
    default="hands,feet,head",
    show_default=True,
    metavar="LIST",
    help="What stays where it is: hands, feet in contact with the ground, the head's rotation; "
    "or none.",
)
@max_speed_option
@click.option("--dry-run", is_flag=True, help="Report what would change, and write nothing.")
@options.json_option
@options.humans_only_option
def repair(
    clips: tuple[str, ...],
    limits: str,
    output: Path | None,
    keep: str,
    max_speed: float,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write clips that look the same, with every joint inside its limits.

    Glitches of a few frames are interpolated, twist is redistributed along limbs, and inverse
    kinematics keeps hands, feet and head where they were. What is left is clamped.
    """
    from ..repairs import KEEP
    from ..repairs import repair as repair_clip

    if output is None and not dry_run:
        raise click.UsageError("--output is missing: the clip to write, or use --dry-run")
    names = options.split_names([keep])
    if names != ["none"] and not (names and set(names) <= set(KEEP)):
        raise click.UsageError(f"--keep takes {', '.join(KEEP)} or none, got {keep!r}")
    run = ClipRun(clips, limits, "repairing", None if dry_run else output)
    lines: list[str] = []
    documents = []
    for file, clip, applied in run:
        repaired, report = repair_clip(
            clip,
            applied.human or applied.model,
            () if names == ["none"] else names,
            names=applied.names,
            max_speed=max_speed,
            progress=run.joint_progress,
        )
        documents.append(report.to_dict())
        lines += _describe(report)
        if not dry_run:
            lines.append(f"  wrote {run.write(file, repaired)}")
    run.finish_writing()
    if as_json:
        terminal.echo_json(documents[0] if len(run.files) == 1 else documents)
    else:
        terminal.echo_lines([*lines, *run.left_out("not repaired")])
    options.exit_with(False)


def _describe(report: RepairReport) -> Iterator[str]:
    """Yield lines about a repaired clip."""
    changed, frames = len(report.changed), terminal.pluralize(len(report.kept), "frame")
    if not changed:
        yield f"{terminal.bold(report.clip)}: nothing to repair"
        return
    yield f"{terminal.bold(report.clip)}: changed {changed} of {frames}"
    for stage in report.stages:
        if len(stage.frames):
            yield f"  {_describe_stage(stage, report.millimetres)}"
    yield from _joint_lines("glitches of", report.glitches)
    if report.note:
        yield f"  {report.note}"
    elif report.keep:
        kept_names = " and ".join(filter(None, (", ".join(report.keep[:-1]), report.keep[-1])))
        yield f"  {kept_names} kept in {100.0 * report.share_kept:.1f} % of these frames"
    yield from _joint_lines("could not keep", report.not_kept)
    yield from _joint_lines("steps over the bound of", report.over)


def _describe_stage(stage: StageReport, millimetres: float) -> str:
    """Return a line about a stage that changed something."""
    moved = stage.max_displacement
    size = (
        f"{moved * millimetres:.1f} mm" if millimetres else f"{100.0 * moved:.2f} % of the height"
    )
    return (
        f"{STAGE_WORDS[stage.name]}: {terminal.pluralize(len(stage.joints), 'joint')} in "
        f"{terminal.pluralize(len(stage.frames), 'frame')}, by at most "
        f"{terminal.degrees(stage.max_rotation)} degrees "
        f"({terminal.printable(stage.max_rotation_joint)}); hands and feet moved by at most {size}"
    )


def _joint_lines(words: str, frames: Mapping[str, Ints]) -> Iterator[str]:
    """Yield a line for each joint with its frames."""
    for name, indices in frames.items():
        yield f"  {words} {terminal.printable(name)}: {frame_ranges(indices)}"
