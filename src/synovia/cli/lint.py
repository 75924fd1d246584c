"""`synovia lint`: what is wrong with the ranges in a model of another tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, terminal
from .clips import clip_files, load_clips

if TYPE_CHECKING:
    from ..export.lint import Finding
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

    FILE is MJCF, URDF, OpenSim, USD or ASF. Looked for are ends that
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
    found = lint_ranges(read_ranges(file), clips=clips, limits=limits)
    if as_json:
        import numpy as np

        findings = [
            {
                **{key: value for key, value in asdict(each).items() if key not in ("low", "high")},
                "low_deg": None if each.low is None else float(np.degrees(each.low)),
                "high_deg": None if each.high is None else float(np.degrees(each.high)),
            }
            for each in found
        ]
        document = {"file": str(file), "findings": findings}
        terminal.echo_json(document)
    else:
        terminal.echo_lines(report_lines(file, found))
    if any(each.severity != "note" for each in found):
        raise click.exceptions.Exit(1)


def _references(against: Sequence[str]) -> tuple[list[Clip], list[LimitModel]]:
    from ..io import clip_suffix, load_limits
    from ..io.limits import SUFFIX
    from ..io.ranges import range_suffix
    from ..population.limits import canonical_limits

    clips: list[Clip] = []
    limits: list[LimitModel] = []
    for each in against:
        if each in options.SOURCES:
            limits.append(canonical_limits(each))
        elif each.lower().endswith(SUFFIX) or (range_suffix(each) and not clip_suffix(each)):
            limits.append(load_limits(each))
        else:
            clips += load_clips(clip_files([each]))
    return clips, limits


def report_lines(file: Path, found: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each finding, as compilers write them, and a last one with the numbers."""
    from ..export.lint import range_text

    for each in found:
        position = f"{file}:{each.line}" if each.line else str(file)
        severity = click.style(each.severity, fg=COLOURS[each.severity], bold=True)
        title = each.joint if each.hinge == each.joint else f"{each.joint} ({each.hinge})"
        yield f"{position}: {severity}: {title}: {each.message} [{each.rule}]"
        if each.low is not None and each.high is not None:
            yield f"    write {range_text(each.low, each.high)}: {each.source}"
    counts = {severity: sum(each.severity == severity for each in found) for severity in COLOURS}
    said = [terminal.pluralize(count, severity) for severity, count in counts.items() if count]
    yield f"{file}: {', '.join(said) or 'nothing wrong'}"
