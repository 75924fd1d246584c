"""`synovia lint`: what is wrong with the ranges in a model of another tool."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, terminal
from .apply import load_model
from .clips import clip_files, load_clips

if TYPE_CHECKING:
    from ..export.lint import RangeFinding
    from ..model import LimitModel
    from ..skeleton import Clip

EXAMPLES = (
    ("a model of MuJoCo", "synovia lint humanoid.xml"),
    ("a skeleton, against its own captures", "synovia lint 131.asf --against 131_04.amc"),
    (
        "a model, against what humans can do, for a script",
        "synovia lint robot.urdf --against human --json",
    ),
)
COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@options.command(examples=EXAMPLES)
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

    FILE is MJCF, URDF, OpenSim or ASF. Looked for are ends that
    are exchanged, units mistaken, rest poses outside, ranges that allow everything, gimbal lock
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
    if any(finding.severity != "note" for finding in findings):
        raise click.exceptions.Exit(1)


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
    from ..io.limits import SUFFIX
    from ..io.ranges import range_suffix

    limits = [
        argument
        for argument in against
        if argument in options.SOURCES
        or argument.lower().endswith(SUFFIX)
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
        title = (
            finding.joint
            if finding.hinge == finding.joint
            else f"{finding.joint} ({finding.hinge})"
        )
        yield f"{position}: {severity}: {title}: {finding.message} [{finding.rule}]"
        if finding.low is not None and finding.high is not None:
            yield f"    write {range_text(finding.low, finding.high)}: {finding.source}"
    counts = {
        severity: sum(finding.severity == severity for finding in findings) for severity in COLOURS
    }
    counted = [terminal.pluralize(count, severity) for severity, count in counts.items() if count]
    yield f"{file}: {', '.join(counted) or 'nothing wrong'}"
