"""`synovia check`: which joints leave their limits, how far, where and how often."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import VIOLATION_COLUMNS, csv_text, percent
from . import human, inputs, terminal

if TYPE_CHECKING:
    from ..learn import Calibration
    from ..model import JointReport, LimitModel, Report
    from ..population import Finding, HumanLimits, Source

    HumanFound = tuple[HumanLimits, Sequence[Finding]]


EXAMPLES = (
    ("a clip of a human, on any rig, in any format", "synovia check walk.bvh"),
    ("limits of your own, which fit learned", "synovia check wild.bvh -l mine.limits.json"),
    (
        "every clip of a project, for a script: exit code 1 if a joint is outside its limits",
        "synovia check takes/ -l human.limits.json --json > report.json",
    ),
    (
        "a rig with other names, every single violation for a spreadsheet",
        "synovia check rig.bvh -l human.limits.json -m Arm_L=LeftArm --csv outside.csv",
    ),
    (
        "markers set up otherwise: learn from ann's other clips how far her joints are off",
        "synovia check ann/new.bvh -l human.limits.json --calibrate ann/",
    ),
)
SECTIONS = {
    "Limits": ("limits", "strict", "maps", "tpose", "others", "humans_only"),
    "Output": ("every", "as_json", "csv_path", "force"),
}
MOST_FINDINGS = 6  # sentences for each verdict
ROWS_AT_ONCE = 4096  # of a CSV file; bounds the memory of its text
TITLES = ("joint", "verdict", "frames", "share", "worst deg", "at frame", "at s", "mean deg")
COLOURS = {"outside": "red", "impossible": "red", "unusual": "yellow"}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@inputs.clips_argument
@inputs.human_options
@click.option("--strict", is_flag=True, help="Unusual joints count for the exit code, too.")
@click.option(
    "--calibrate",
    "others",
    multiple=True,
    metavar="CLIP",
    help="Other clips of the same performer: estimate from them by which constant rotation each "
    "joint is off, report it, and turn it back before checking. Needs limits written with "
    "--keep-samples. Repeat it for more.",
)
@human.humans_only_option
@click.option("-a", "--all", "every", is_flag=True, help="List the joints that stay inside, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
@click.option(
    "--csv",
    "csv_path",
    metavar="FILE|-",
    help="Write a row for each frame and joint outside: "
    f"{', '.join(VIOLATION_COLUMNS)}. With - to stdout, and nothing else.",
)
@inputs.force_option
@terminal.debug_option
@click.pass_context
def check(
    ctx: click.Context,
    clips: tuple[str, ...],
    limits: str,
    strict: bool,
    maps: tuple[str, ...],
    others: tuple[str, ...],
    humans_only: bool,
    every: bool,
    as_json: bool,
    csv_path: str | None,
    force: bool,
) -> None:
    """Show which joints of clips leave their limits.

    CLIPs are files, directories (with all that is below them) and globs. Human limits give two
    verdicts: impossible is beyond what anatomy lets a healthy adult do; unusual is possible, but
    beyond what nearly all captured people did. Limits of your own give one, outside. Angles are
    rotation angles to the nearest legal rotation. The exit code is 1 if a joint is impossible or
    outside (with --strict, also if it is unusual) or a clip is left out because it is no human, 2
    for an error, and 0 otherwise.
    """
    from ..io import split_clip
    from ..io.files import atomic_file
    from ..learn import invented_first_frame
    from ..population import describe_spans

    if as_json and csv_path == "-":
        raise click.UsageError("--json and --csv - would both print to stdout: choose one")
    if csv_path not in (None, "-"):
        inputs.check_output(Path(csv_path), force=force)
    names = inputs.joint_names(maps)
    files = inputs.clip_files(clips)
    model = inputs.load_limits_or_figure(limits)
    calibration = calibrate_performer(model, limits, others, files, names) if others else None
    reports, invented = [], set()
    humans: dict[str, HumanFound] = {}
    spans: dict[str, list[str]] = {}
    progress = inputs.joint_progress("checking", files)
    for file, clip, applied in inputs.clips_for(model, files, names, "checking"):
        if not clip.frames:
            raise ValueError(f"{file.path}: expected a clip with frames to check, got none")
        if invented_first_frame(clip):
            invented.add(clip.name)
        if calibration is not None:
            clip = calibration.apply(clip, names=applied.names)
        if applied.human is not None:
            report, found = applied.human.check(clip, progress=progress)
            humans[clip.name] = applied.human, found
            spans[clip.name] = describe_spans(applied.human.alignment, clip)
        else:
            report = applied.model.check(clip, names=applied.names, progress=progress)
        reports.append(report)
    if csv_path == "-":
        for text in csv_pieces(reports):
            terminal.echo(text, nl=False)
    elif csv_path is not None:
        with atomic_file(csv_path) as table:
            table.writelines(text.encode() for text in csv_pieces(reports))
    if as_json:
        single = len(clips) == len(reports) == 1 and split_clip(clips[0])[0].is_file()
        offsets = {} if calibration is None else offsets_deg(calibration)
        documents = [
            report.to_dict()
            | offsets
            | describe_human(report, humans.get(report.clip), spans.get(report.clip, []))
            for report in reports
        ]
        terminal.echo(json.dumps(documents[0] if single else documents, indent=2, allow_nan=False))
    elif csv_path != "-":
        for line in [] if calibration is None else offset_lines(calibration):
            terminal.echo(line)
        findings = {name: found for name, (_, found) in humans.items()}
        for line in summary(reports, every=every, invented=invented, findings=findings):
            terminal.echo(line)
        for name, sentences in spans.items():
            for sentence in sentences:
                terminal.echo(f"{terminal.printable(name)}: {sentence}")
        if len(reports) < len(files):
            terminal.echo(human.left_out(len(files) - len(reports), "not checked"))
    checked = humans_only or len(reports) == len(files)
    counted = [part for report in reports for part in report.verdicts[: 2 if strict else 1]]
    inside = all(part.ok for part in counted) and not any(spans.values())
    ctx.exit(0 if checked and inside else 1)


def calibrate_performer(
    model: LimitModel | Source,
    limits: str,
    others: Sequence[str],
    files: Sequence[inputs.ClipFile],
    names: Mapping[str, str],
) -> Calibration:
    """Return the offsets of the performer of `others`, from those clips that are not checked."""
    from ..learn import calibrate
    from ..skeleton import names_in

    if isinstance(model, str):
        raise click.UsageError(
            "--calibrate needs limits of your own, written with fit --keep-samples: "
            f"those of a human ({limits}) hold no samples"
        )
    if not any(model.samples.values()):
        raise ValueError(
            f"{limits}: no samples to calibrate with; write it with fit --keep-samples"
        )
    checked = {file.path.resolve() for file in files}
    used = [file for file in inputs.clip_files(others) if file.path.resolve() not in checked]
    if not used:
        raise click.UsageError("--calibrate needs other clips of the performer than those checked")
    clips = inputs.load_all(used)
    for clip in clips:
        inputs.check_match(model, clip, names_in(names, clip.skeleton))
    wanted = [name for name in model.limits if model.samples.get(name)]
    return calibrate(
        clips,
        model.population,
        joints=wanted,
        names=names,
        progress=terminal.progress("calibrating"),
    )


def offsets_deg(calibration: Calibration) -> dict[str, Any]:
    """Return the rotation vectors that turn joints back, and how far off they are, in degrees."""
    found = calibration.offsets.items()
    return {
        "offsets_deg": {
            name: [math.degrees(angle) for angle in offset.vector.tolist()]
            for name, offset in found
        },
        "offset_uncertainty_deg": {
            name: math.degrees(offset.uncertainty) for name, offset in found
        },
    }


def offset_lines(calibration: Calibration) -> Iterator[str]:
    """Yield a table of what joints were turned back by, the largest first."""
    ordered = sorted(calibration.offsets.items(), key=lambda item: -item[1].angle)
    rows = []
    for name, offset in ordered:
        size, error, *about = (
            f"{math.degrees(angle):.1f}"
            for angle in (offset.angle, offset.uncertainty, *offset.vector)
        )
        rows.append((name, f"{size} ± {error}", *about))
    titles = ("turned back", "by deg", "about x", "y", "z")
    yield from terminal.heading(terminal.table(titles, rows))
    yield ""


def summary(
    reports: Sequence[Report],
    *,
    every: bool,
    invented: set[str],
    findings: Mapping[str, Sequence[Finding]],
) -> Iterator[str]:
    """Yield each clip's lines, then one for all of them where there are several.

    `invented` names the clips whose first frame nobody performed; `findings` are by clip, where
    limits are those of a human.
    """
    for report in reports:
        found = findings.get(report.clip)
        yield from clip_summary(
            report, every=every, invented=report.clip in invented, findings=found
        )
    if len(reports) > 1:
        counted = Counter[str]()
        for part in (part for report in reports for part in report.verdicts):
            counted[part.verdict] += not part.ok
        counts = [f"{count} {verdict}" for verdict, count in counted.items()]
        yield f"of {terminal.pluralize(len(reports), 'clip')}: {', '.join(counts)}"


def clip_summary(
    report: Report, *, every: bool, invented: bool, findings: Sequence[Finding] | None = None
) -> Iterator[str]:
    """Yield a line about a clip, lines about each verdict, and a table of joints."""
    frames, joints = len(report.violation), len(report.judged)
    name = click.style(terminal.printable(report.clip), bold=True)
    found = [part for part in report.verdicts if not part.ok]
    if not found:
        inside = click.style("inside", fg="green")
        of = f"{terminal.pluralize(joints, 'joint')} in {terminal.pluralize(frames, 'frame')}"
        yield f"{name}: {inside}, all of {of}"
    for part in found:
        rows = [row for row in part.joints if row.frames]
        outside = int(part.outside.any(axis=1).sum())
        yield (
            f"{name}: {click.style(part.verdict, fg=COLOURS[part.verdict])}, {len(rows)} of "
            f"{terminal.pluralize(joints, 'joint')} in {outside} of "
            f"{terminal.pluralize(frames, 'frame')} ({percent(outside / frames)})"
        )
        said = [each for each in findings or [] if each.verdict == part.verdict]
        if not said:
            worst = rows[0]
            yield from terminal.wrap(
                f"worst at frame {worst.worst_frame} ({_time(report, worst.worst_frame)} s): "
                f"{worst.name}, {_deg(worst.worst)} degrees outside"
            )
        for finding in said[:MOST_FINDINGS]:
            yield from terminal.wrap(f"  {finding_text(finding, report)}")
        for row in rows:
            if row.held_by is not None:
                yield from terminal.wrap(
                    f"  {row.name} is held by {row.held_by} in {row.held_frames} of "
                    f"{terminal.pluralize(row.frames, 'frame')}: elsewhere it could turn so far"
                )
    if invented and any(part.outside[0].any() for part in found):
        yield "frame 0 counts, though nobody performed it: the motion jumps from it"
    listed = [row for row in report.rows if every or row.frames]
    if listed and frames:
        cells = [TITLES, *(_cells(report, row) for row in listed)]
        if report.unusual is None:  # the line above says the only verdict
            cells = [(name, *others) for name, _, *others in cells]
        yield ""
        yield from terminal.heading(terminal.table(cells[0], cells[1:]))
        yield ""


def finding_text(finding: Finding, report: Report) -> str:
    """Return a sentence about a joint of a human with a verdict, and where it is worst."""
    people = finding.verdict == "unusual" and finding.people is not None
    near = f"; {finding.people:.0%} of people come within 10°" if people else ""
    return f"{finding.text}: {finding.joint} at {_time(report, finding.frame)} s{near}"


def describe_human(
    report: Report, found: HumanFound | None, spans: Sequence[str]
) -> dict[str, object]:
    """Return how the limits of a human came onto a rig, and what was found, as plain values.

    Nothing where limits are those of a file. `spans` are sentences of `describe_spans`.
    """
    if found is None:
        return {}
    human, findings = found
    return {
        "human": {
            "limits": human.source,
            "convention": human.alignment.rig.convention,
            "no_verdict": human.no_verdict,
            "steps": list(human.alignment.steps),
            "spans": list(spans),
        },
        "findings": [
            {
                "joint": finding.joint,
                "role": finding.role,
                "name": finding.name,
                "verdict": finding.verdict,
                "text": finding.text,
                "frame": finding.frame,
                "time": finding.frame * report.frame_time,
                "violation_deg": math.degrees(finding.violation),
                "direction": finding.direction,
                "posture": finding.posture,
                "angles_deg": {name: math.degrees(each) for name, each in finding.angles.items()},
                "people_within_10_deg": finding.people,
            }
            for finding in findings
        ],
    }


def _cells(report: Report, row: JointReport) -> tuple[str, ...]:
    if not row.frames:
        return row.name, row.verdict, *"------"
    often = str(row.frames), percent(row.share)
    where = str(row.worst_frame), _time(report, row.worst_frame)
    return row.name, row.verdict, *often, _deg(row.worst), *where, _deg(row.mean)


def csv_pieces(reports: Sequence[Report]) -> Iterator[str]:
    """Yield the titles, then a row for each clip, verdict, frame and joint; many rows at a time."""
    rows = itertools.chain.from_iterable(report.violation_rows() for report in reports)
    yield csv_text([VIOLATION_COLUMNS])
    while piece := list(itertools.islice(rows, ROWS_AT_ONCE)):
        yield csv_text(piece)


def _deg(angle: float) -> str:
    return terminal.degrees(math.degrees(angle))


def _time(report: Report, frame: int) -> str:
    return f"{frame * report.frame_time:.2f}"
