"""`synovia export` and `synovia lint`: limits for other tools, and errors in their ranges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..export import EXPORTERS, export_limits, target_of
from ..text import percent
from . import options, terminal
from .apply import load_model
from .clips import clip_files, load_clips
from .figure import figure_of

if TYPE_CHECKING:
    from ..export import Exported
    from ..export.lint import RangeFinding
    from ..model import LimitModel
    from ..skeleton import Axis, Clip

EXPORT_EXAMPLES = (
    ("a human for MuJoCo, that falls as a ragdoll", "synovia export human -o human.xml"),
    ("limits of your own, as URDF", "synovia export mine.limits.json -o mine.urdf"),
    (
        "into a model that you have, by the names of its bodies",
        "synovia export human --into humanoid.xml -o limited.xml",
    ),
    (
        "a table for Unity; fail where a joint gains more than 5% of all rotations",
        "synovia export mine.limits.json -o mine.unity.json --max-gain 5%",
    ),
)
LINT_EXAMPLES = (
    ("a model of MuJoCo", "synovia lint humanoid.xml"),
    ("a skeleton, against its own captures", "synovia lint 131.asf --against 131_04.amc"),
    (
        "a model, against what humans can do, for a script",
        "synovia lint robot.urdf --against human --json",
    ),
)
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@options.command(examples=EXPORT_EXAMPLES)
@click.argument("limits", metavar=options.LIMITS_METAVAR)
@options.output_option("The file to write; its suffix gives the target: .xml, .urdf …")
@click.option(
    "--to",
    type=click.Choice(list(EXPORTERS)),
    help="The target, if the suffix does not tell it. "
    + "; ".join(f"{name}: {exporter.about}" for name, exporter in EXPORTERS.items())
    + ".",
)
@click.option(
    "--into",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="An MJCF or URDF model whose ranges are narrowed, by the names of its bodies; all else in "
    "it stays.",
)
@click.option(
    "--figure",
    metavar="human|FILE.xml",
    help="A figure whose joints the limits are of: those that one of its controls moves, as the "
    "knees, become curves of one coordinate. OpenSim has such.",
)
@click.option(
    "--mass",
    default=75.0,
    show_default=True,
    type=click.FloatRange(min=0.0, min_open=True, max=1e6),
    help="Kilograms of the whole body.",
)
@click.option(
    "--max-gain",
    callback=options.parsed_by(options.parse_share),
    metavar="SHARE",
    help="Write nothing if a joint gains more than this share (5% or 0.05) of "
    "all rotations; with --into, of the model's own range.",
)
@click.option("--up", type=options.AXIS, help="Which axis of the skeleton is up.")
@click.option(
    "--unit",
    callback=options.parsed_by(options.parse_unit),
    metavar="UNIT",
    help="What its lengths are: m, cm, in, or a number of metres. Unless known or given, it "
    "becomes as tall as a human.",
)
def export(
    limits: str,
    output: Path,
    to: str | None,
    into: Path | None,
    figure: str | None,
    mass: float,
    max_gain: float | None,
    up: Axis | None,
    unit: float | None,
) -> None:
    """Write limits for an engine or an editor, and say what that gains and loses.

    A joint becomes three hinges along the axes that suit it best; MuJoCo has half-spaces beside
    their ranges, as tendons. What a target cannot say is measured: the share of all rotations that
    it accepts and the limit does not, and the other way round, with the largest angles. The same is
    in the file, as a comment. A joint that depends on another has its widest ranges. With --into,
    shares are of the model's own ranges, and no range becomes wider.
    """
    from ..io.files import atomic_write

    options.check_output(output)
    model = load_model(limits, "FILE")
    world = model.skeleton
    world = replace(world, up=up or world.up, unit=unit or world.unit)
    model = replace(model, skeleton=world)
    show_progress = terminal.progress("fitting hinges")
    if into is not None:
        if figure:
            raise click.UsageError("--figure is for a whole body, --into for ranges: give one")
        from ..export.into import write_into

        exported = write_into(model, into, progress=lambda names: show_progress(list(names)))
        target = "ranges"
    else:
        target = to or target_of(output.name) or ""
        if not target:
            raise click.UsageError(
                f"--output does not tell the target, one of {', '.join(EXPORTERS)}: give --to, got "
                f"{output.name!r}"
            )
        exported = export_limits(
            model,
            target,
            name=output.stem,
            mass=mass,
            figure=None if figure is None else figure_of(figure, None),
            progress=lambda names: show_progress(list(names)),
        )
    exceeding = [
        name
        for name, loss in exported.losses.items()
        if max_gain is not None and loss.gained > max_gain
    ]
    if not exceeding:
        atomic_write(output, exported.content)
    terminal.echo_lines(loss_table(exported))
    for name, note in exported.notes.items():
        if note:
            terminal.echo(f"{terminal.printable(name)}: {note}")
    if exceeding:
        gained = percent(max_gain or 0.0)
        terminal.note(f"not written: {', '.join(exceeding)} gain more than {gained}")
        raise click.exceptions.Exit(1)
    count = terminal.pluralize(len(exported.losses), "joint")
    terminal.echo(f"{count} as {target}; wrote {output}")


def loss_table(exported: Exported) -> Iterator[str]:
    """Yield the lines of a table: what each joint has, gains and loses."""
    titles = ("joint", "limit", "gained", "by up to", "lost", "by up to")
    rows = [
        (
            name,
            percent(loss.share),
            percent(loss.gained),
            f"{terminal.degrees(loss.gained_angle)}°",
            percent(loss.lost),
            f"{terminal.degrees(loss.lost_angle)}°",
        )
        for name, loss in exported.losses.items()
    ]
    return terminal.table(titles, rows)


@options.command(examples=LINT_EXAMPLES)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--against",
    multiple=True,
    metavar="CLIPS|LIMITS",
    help="Clips of the same skeleton, whose frames should be inside; or limits, a file or human, "
    "people or anatomy, whose legal rotations should be.",
)
@options.json_option
@options.skeleton_option
def lint(file: Path, against: tuple[str, ...], as_json: bool) -> None:
    """Show what is wrong with the ranges in a model of another tool.

    FILE is MJCF, URDF, OpenSim or ASF. Looked for are ends that are
    exchanged, units mistaken, rest poses outside, ranges that allow everything, gimbal lock
    inside, couplings that drive joints beyond their ranges, axes not of unit length,
    sides that are not mirror images, and ranges that captures break or hardly use. Each with its
    place in the file, and a value to write instead where there is one. Notes do not count for the
    exit code.
    """
    from ..export.lint import lint_ranges
    from ..io.ranges import read_ranges

    options.check_file(file)
    clips, limits = _references(against)
    findings = lint_ranges(read_ranges(file), clips=clips, limits=limits)
    if as_json:
        terminal.echo_json({"file": str(file), "findings": [_describe(f) for f in findings]})
    else:
        terminal.echo_lines(report_lines(file, findings))
    options.exit_with(any(finding.severity != "note" for finding in findings))


def _describe(finding: RangeFinding) -> dict[str, Any]:
    """Return a finding as plain values; its suggested ends are in degrees."""
    document = asdict(finding)
    for key in ("low", "high"):
        end = document.pop(key)
        document[f"{key}_deg"] = None if end is None else math.degrees(end)
    return document


def _references(against: Sequence[str]) -> tuple[list[Clip], list[LimitModel]]:
    """Return the clips and the limits that `--against` names."""
    from ..io import clip_suffix
    from ..io.ranges import range_suffix

    limits = [
        argument
        for argument in against
        if argument in options.SOURCES
        or argument.lower().endswith(options.LIMITS_SUFFIX)
        or (range_suffix(argument) and not clip_suffix(argument))
    ]
    clips = [argument for argument in against if argument not in limits]
    return (
        load_clips(clip_files(clips)) if clips else [],
        [load_model(argument, "--against") for argument in limits],
    )


def report_lines(file: Path, findings: Sequence[RangeFinding]) -> Iterator[str]:
    """Yield a line for each finding, as compilers write them, and a last one with the numbers."""
    from ..export.lint import range_text

    for finding in findings:
        position = f"{file}:{finding.line}" if finding.line else str(file)
        severity = click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
        title = finding.joint
        if finding.hinge != finding.joint:
            title += f" ({finding.hinge})"
        yield f"{position}: {severity}: {title}: {finding.message} [{finding.rule}]"
        if finding.low is not None and finding.high is not None:
            yield f"    write {range_text(finding.low, finding.high)}: {finding.source}"
    counts = Counter[str](finding.severity for finding in findings)
    counted = [terminal.pluralize(counts[name], name) for name in COLOURS if counts[name]]
    yield f"{file}: {', '.join(counted) or 'nothing wrong'}"
