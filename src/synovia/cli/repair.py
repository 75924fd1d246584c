"""`synovia repair`: make clips possible, with hands, feet and head where they were."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, terminal
from .apply import ClipRun
from .clamp import frame_ranges, max_speed_option

if TYPE_CHECKING:
    from ..arrays import Ints
    from ..repairs import RepairReport, StageReport

EXAMPLES = (
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
NOTHING = "none"  # value of --keep that keeps nothing


@options.command(examples=EXAMPLES)
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
    maps: tuple[str, ...],
    force: bool,
) -> None:
    """Write clips that look the same, with every joint inside its limits.

    Glitches of a few frames are interpolated, twist is redistributed along limbs, and inverse
    kinematics keeps hands, feet and head where they were. What is left is clamped.
    """
    from ..repairs import repair as repair_clip

    if output is None and not dry_run:
        raise click.UsageError("--output is missing: the clip to write, or use --dry-run")
    keep_names, written = _parse_keep(keep), None if dry_run else output
    run = ClipRun(clips, limits, maps, "repairing", written, force=force)
    lines: list[str] = []
    documents: list[dict[str, Any]] = []
    for file, clip, applied in run:
        repaired, report = repair_clip(
            clip,
            applied.human or applied.model,
            keep_names,
            names=applied.names,
            max_speed=math.radians(max_speed),
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


def _parse_keep(text: str) -> tuple[str, ...]:
    """Return the value of `--keep`."""
    from ..repairs import KEEP

    names = tuple(options.split_names([text]))
    if names == (NOTHING,):
        return ()
    if not names or not set(names) <= set(KEEP):
        raise click.UsageError(f"--keep takes {', '.join(KEEP)} or {NOTHING}, got {text!r}")
    return names


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
        f"{terminal.degrees(math.degrees(stage.max_rotation))} degrees "
        f"({terminal.printable(stage.max_rotation_joint)}); hands and feet moved by at most {size}"
    )


def _joint_lines(words: str, frames: Mapping[str, Ints]) -> Iterator[str]:
    """Yield a line for each joint with its frames."""
    for name, indices in frames.items():
        yield f"  {words} {terminal.printable(name)}: {frame_ranges(indices)}"
