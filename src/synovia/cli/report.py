"""`synovia report`: ranges of motion and clinical angles, as tables and as a page to print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..text import csv_text
from . import options, terminal
from .apply import ClipRun

if TYPE_CHECKING:
    from ..draw.report import Recording

EXAMPLES = (
    ("the range of motion of each joint, as a table", "synovia report walk.bvh"),
    ("a page to print, with plots and published norms", "synovia report walk.bvh -o report.html"),
    ("two recordings side by side", "synovia report before.bvh after.bvh -o report.html"),
    ("angles in each frame, for a spreadsheet", "synovia report walk.bvh --csv angles.csv"),
)
HTML = (".html", ".htm")
TITLES = ("joint", "motion", "used deg", "norm deg", "limit deg")


@options.command(examples=EXAMPLES)
@options.clips_argument
@options.map_option
@options.skeleton_option
@options.tpose_option
@options.verbose_option
@click.option(
    "-o",
    "--output",
    metavar="REPORT.html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with tables, plots, published norms and pictures of the worst frames, of "
    "one or two clips.",
)
@click.option(
    "--csv",
    "curves",
    metavar="FILE|-",
    help="Write the angles in each frame, in degrees, a column for each joint and axis. With - to "
    "stdout, and nothing else.",
)
@click.option(
    "--ranges",
    metavar="FILE|-",
    help="Write the ranges of motion with norms and limits, a row for each joint and axis. With - "
    "to stdout, and nothing else.",
)
@options.humans_only_option
@options.force_option
def report(
    clips: tuple[str, ...],
    maps: tuple[str, ...],
    output: Path | None,
    curves: str | None,
    ranges: str | None,
    force: bool,
) -> None:
    """Show the range of motion of clips, joint by joint.

    Angles are clinical: flexion, abduction and rotation, 0 when standing with hanging arms. Beside
    the range that a clip uses are the published norm of healthy adults (mean and standard
    deviation) and the limit of what is possible.
    """
    from ..draw.report import MAX_RECORDINGS, Recording, motion_report
    from ..io.files import atomic_file, atomic_write
    from ..population.motion import RANGE_COLUMNS

    if curves == ranges == "-":
        raise click.UsageError("--csv - and --ranges - would both print to stdout: choose one")
    run = ClipRun(clips, "human", maps, "measuring")
    if output is not None:
        if output.suffix.lower() not in HTML:
            raise click.UsageError(f"--output must end in .html, got {str(output)!r}")
        if len(run.files) > MAX_RECORDINGS:
            raise click.UsageError(f"--output takes one or two clips, got {len(run.files)}")
    tables_to = [Path(target) for target in (curves, ranges) if target not in (None, "-")]
    paths = tables_to if output is None else [output, *tables_to]
    for k, path in enumerate(paths):
        if path in paths[:k]:
            raise click.UsageError(f"two outputs would go to {path}: give each a file of its own")
        options.check_output(path, force=force)
    recordings = [
        Recording.of_human(applied.human, clip, run.joint_progress)
        for _, clip, applied in run
        if applied.human is not None
    ]
    tables = (
        (curves, _joined([recording.angles.curve_rows() for recording in recordings])),
        (
            ranges,
            [
                RANGE_COLUMNS,
                *(
                    row
                    for recording in recordings
                    for row in recording.angles.range_rows(recording.report)
                ),
            ],
        ),
    )
    for target, rows in tables:
        if target == "-":
            terminal.echo(csv_text(rows), nl=False)
        elif target is not None:
            with atomic_file(target) as table:
                table.write(csv_text(rows).encode())
    if output is not None:
        atomic_write(output, motion_report(recordings).encode())
        if "-" not in (curves, ranges):
            terminal.echo(f"wrote {output}")
    elif curves is None and ranges is None:
        for recording in recordings:
            terminal.echo_lines(_summary(recording))
    for line in run.left_out("not measured"):
        terminal.note(line)
    options.exit_with(False)


def _joined(tables: Sequence[Iterator[tuple[object, ...]]]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of all tables; titles equal to the last ones are left out.

    Clips of other rigs can have other columns, whose titles are then kept.
    """
    last_titles: tuple[object, ...] | None = None
    for table in tables:
        titles = next(table)
        if titles != last_titles:
            yield titles
        last_titles = titles
        yield from table


def _summary(recording: Recording) -> Iterator[str]:
    """Yield the ranges of motion of a clip as a table."""
    yield terminal.bold(recording.clip.name)
    rows = []
    for curve in recording.angles.curves:
        joint = curve.name.removesuffix(f" {curve.axis.name}")
        low, high = (math.degrees(end) for end in curve.span)
        rows.append(
            (
                *(joint, f"{curve.axis.name} (−{curve.axis.opposite})"),
                terminal.interval(math.degrees(curve.least), math.degrees(curve.most)),
                curve.norm_text,
                "" if math.isnan(low) else terminal.interval(low, high),
            )
        )
    yield from terminal.table(TITLES, rows, left=2)
    for note in recording.angles.notes:
        yield from terminal.wrap(note)
    yield ""
