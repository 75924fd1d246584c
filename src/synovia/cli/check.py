"""`synovia check` and `synovia report`: joints outside of their limits, and ranges of motion."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import VIOLATION_COLUMNS, csv_text, percent
from . import options, terminal
from .apply import ClipRun, check_match
from .clips import clip_files, load_clips

if TYPE_CHECKING:
    from ..draw.report import Recording
    from ..learn import Calibration
    from ..model import JointReport, Report
    from ..population import Finding, HumanLimits

CHECK_EXAMPLES = (
    ("a clip of a human, on any rig, in any format", "synovia check walk.bvh"),
    (
        "every clip of a project against limits of your own, for a script",
        "synovia check takes/ -l mine.limits.json --json > report.json",
    ),
    (
        "correct a constant marker offset, estimated from other clips of the same performer",
        "synovia check ann/new.bvh -l mine.limits.json --calibrate ann/",
    ),
)
MAX_FINDINGS = 6  # sentences for each verdict
CHECK_TITLES = ("joint", "verdict", "frames", "share", "worst deg", "at frame", "at s", "mean deg")
REPORT_EXAMPLES = (
    ("the range of motion of each joint, as a table", "synovia report walk.bvh"),
    ("a page to print, with plots and published norms", "synovia report walk.bvh -o report.html"),
    ("two recordings side by side", "synovia report before.bvh after.bvh -o report.html"),
    ("angles in each frame, for a spreadsheet", "synovia report walk.bvh --csv angles.csv"),
)
REPORT_TITLES = ("joint", "motion", "used deg", "norm deg", "limit deg")
COLOURS = {"outside": "red", "impossible": "red", "unusual": "yellow"}


@dataclass(frozen=True, eq=False)
class CheckedClip:
    """A clip's report, and for human limits the findings in words."""

    report: Report
    invented_first_frame: bool
    """True if the motion jumps from a first frame that nobody performed."""
    human: HumanLimits | None
    findings: Sequence[Finding]
    spans: Sequence[str]
    """Sentences about ranges of pronation that are larger than possible."""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, angles in degrees."""
        document = self.report.to_dict()
        if self.human is None:
            return document
        document["human"] = {
            "limits": self.human.source,
            "convention": self.human.alignment.rig.convention,
            "no_verdict": self.human.no_verdict,
            "steps": list(self.human.alignment.steps),
            "spans": list(self.spans),
        }
        keys = ("joint", "role", "name", "verdict", "text", "frame", "direction", "posture")
        document["findings"] = [
            {key: getattr(finding, key) for key in keys}
            | {
                "time": finding.frame * self.report.frame_time,
                "violation_deg": math.degrees(finding.violation),
                "angles_deg": {name: math.degrees(a) for name, a in finding.angles.items()},
                "people_within_10_deg": finding.people,
            }
            for finding in self.findings
        ]
        return document


@options.command(examples=CHECK_EXAMPLES)
@options.clips_argument
@options.human_options
@click.option("--strict", is_flag=True, help="Unusual joints count for the exit code, too.")
@click.option(
    "--calibrate",
    "others",
    multiple=True,
    metavar="CLIP",
    help="Other clips of the same performer: estimate the constant offset of each joint from "
    "them, report it, and correct it before checking. Needs limits written with "
    "--keep-samples. Repeat it for more.",
)
@options.humans_only_option
@click.option(
    "-a", "--all", "list_all", is_flag=True, help="List the joints that stay inside, too."
)
@options.json_option
@click.option(
    "--csv",
    "csv_path",
    metavar="FILE|-",
    help="Write a row for each frame and joint outside: "
    f"{', '.join(VIOLATION_COLUMNS)}. With - to stdout, and nothing else.",
)
@options.force_option
def check(
    clips: tuple[str, ...],
    limits: str,
    strict: bool,
    others: tuple[str, ...],
    list_all: bool,
    as_json: bool,
    csv_path: str | None,
) -> None:
    """Show which joints of clips leave their limits.

    Human limits give two verdicts: impossible is beyond what anatomy lets a healthy adult do;
    unusual is possible, but beyond what nearly all captured people did, and counts for the exit
    code only with --strict. Limits of your own give one verdict, outside. Angles are rotation
    angles to the nearest legal rotation.
    """
    from ..io import split_clip
    from ..learn import invented_first_frame
    from ..population import describe_spans

    if as_json and csv_path == "-":
        raise click.UsageError("--json and --csv - would both print to stdout: choose one")
    if csv_path not in (None, "-"):
        options.check_output(Path(csv_path))
    run = ClipRun(clips, limits, "checking")
    calibration = calibrate_performer(run, limits, others) if others else None
    lines: list[str] = []
    span_lines: list[str] = []
    documents: list[dict[str, Any]] = []
    violated, failed = Counter[str](), False  # clips by verdict
    with csv_writer(csv_path) as write_rows:
        write_rows([VIOLATION_COLUMNS])
        for _, clip, applied in run:  # one by one, to store only the output for a directory
            invented = bool(invented_first_frame(clip))
            if calibration is not None:
                clip = calibration.apply(clip, names=applied.names)
            human = applied.human
            spans = [] if human is None else describe_spans(human.alignment, clip)
            report, findings = applied.check(clip, run.joint_progress)
            checked = CheckedClip(report, invented, human, findings, spans)
            write_rows(checked.report.violation_rows())
            if as_json:
                documents.append(checked.to_dict())
            lines += clip_summary(checked, list_all=list_all)
            verdicts = checked.report.verdicts
            violated.update({part.verdict: int(not part.ok) for part in verdicts})
            failed |= not all(part.ok for part in verdicts[: 2 if strict else 1])
            name = terminal.printable(clip.name)
            span_lines += [f"{name}: {sentence}" for sentence in checked.spans]
    if as_json:
        single = len(clips) == run.count == 1 and split_clip(clips[0])[0].is_file()
        offsets = {} if calibration is None else offsets_deg(calibration)
        documents = [document | offsets for document in documents]
        terminal.echo_json(documents[0] if single else documents)
    elif csv_path != "-":
        if calibration is not None:
            terminal.echo_lines(offset_lines(calibration))
        if run.count > 1:
            listed = [f"{count} {verdict}" for verdict, count in violated.items()]
            lines.append(f"of {terminal.pluralize(run.count, 'clip')}: {', '.join(listed)}")
        terminal.echo_lines([*lines, *span_lines, *run.left_out("not checked")])
    options.exit_with(failed or bool(span_lines))


@contextlib.contextmanager
def csv_writer(target: str | None) -> Iterator[Callable[[Iterable[Sequence[object]]], object]]:
    """Yield a function that writes rows to a CSV file, to stdout ("-"), or nowhere (None)."""
    from ..io.files import atomic_file

    if target is None:
        yield lambda rows: None
    elif target == "-":
        yield lambda rows: terminal.echo(csv_text(rows), nl=False)
    else:
        with atomic_file(target) as table:
            yield lambda rows: table.write(csv_text(rows).encode())


def calibrate_performer(run: ClipRun, limits: str, others: Sequence[str]) -> Calibration:
    """Return a performer's offsets, estimated from the clips `others` without those checked."""
    from ..learn import calibrate
    from ..skeleton import names_in

    model = run.model
    if isinstance(model, str):
        raise click.UsageError(
            "--calibrate needs limits of your own, written with fit --keep-samples: "
            f"those of a human ({limits}) hold no samples"
        )
    if not any(model.samples.values()):
        raise ValueError(
            f"{limits}: no samples to calibrate with; write it with fit --keep-samples"
        )
    checked = {file.path.resolve() for file in run.files}
    used = [file for file in clip_files(others) if file.path.resolve() not in checked]
    if not used:
        raise click.UsageError("--calibrate needs other clips of the performer than those checked")
    clips = load_clips(used)
    for clip in clips:
        check_match(model, clip, names_in(run.names, clip.skeleton))
    return calibrate(
        clips,
        model.population,
        joints=[name for name in model.limits if model.samples.get(name)],
        names=run.names,
        progress=terminal.progress("calibrating"),
    )


def offsets_deg(calibration: Calibration) -> dict[str, Any]:
    """Return the rotation vectors that correct joints, and their uncertainty, in degrees."""
    offsets = calibration.offsets.items()
    return {
        "offsets_deg": {
            name: [math.degrees(angle) for angle in offset.vector.tolist()]
            for name, offset in offsets
        },
        "offset_uncertainty_deg": {
            name: math.degrees(offset.uncertainty) for name, offset in offsets
        },
    }


def offset_lines(calibration: Calibration) -> Iterator[str]:
    """Yield a table of the corrections of joints, by decreasing angle."""
    ordered = sorted(calibration.offsets.items(), key=lambda item: -item[1].angle)
    rows = []
    for name, offset in ordered:
        size, error, *vector_deg = (
            f"{math.degrees(angle):.1f}"
            for angle in (offset.angle, offset.uncertainty, *offset.vector)
        )
        rows.append((name, f"{size} ± {error}", *vector_deg))
    titles = ("turned back", "by deg", "about x", "y", "z")
    yield from terminal.table(titles, rows)
    yield ""


def clip_summary(checked: CheckedClip, *, list_all: bool) -> Iterator[str]:
    """Yield a line about a clip, lines about each verdict, and a table of joints.

    The table lists joints that stay inside only with `list_all`.
    """
    report = checked.report
    frames, joints = len(report.violation), len(report.judged)
    name = terminal.bold(report.clip)
    violated = [part for part in report.verdicts if not part.ok]
    if not violated:
        inside = click.style("inside", fg="green")
        counted = f"{terminal.pluralize(joints, 'joint')} in {terminal.pluralize(frames, 'frame')}"
        yield f"{name}: {inside}, all of {counted}"
    for part in violated:
        rows = [row for row in part.joints if row.frames]
        outside = int(part.outside.any(axis=1).sum())
        yield (
            f"{name}: {click.style(part.verdict, fg=COLOURS[part.verdict])}, {len(rows)} of "
            f"{terminal.pluralize(joints, 'joint')} in {outside} of "
            f"{terminal.pluralize(frames, 'frame')} ({percent(outside / frames)})"
        )
        findings = [finding for finding in checked.findings if finding.verdict == part.verdict]
        if not findings:
            worst = rows[0]
            yield from terminal.wrap(
                f"worst at frame {worst.worst_frame} ({_time(report, worst.worst_frame)} s): "
                f"{worst.name}, {terminal.degrees(worst.worst)} degrees outside"
            )
        for finding in findings[:MAX_FINDINGS]:
            yield from terminal.wrap(f"  {_finding_text(finding, report)}")
        for row in rows:
            if row.held_by is not None:
                yield from terminal.wrap(
                    f"  {row.name} is held by {row.held_by} in {row.held_frames} of "
                    f"{terminal.pluralize(row.frames, 'frame')}: elsewhere it could turn so far"
                )
    if checked.invented_first_frame and any(part.outside[0].any() for part in violated):
        yield "frame 0 counts, though nobody performed it: the motion jumps from it"
    listed = [row for row in report.rows if list_all or row.frames]
    if listed and frames:
        cells = [CHECK_TITLES, *(_cells(report, row) for row in listed)]
        if report.unusual is None:  # the line above names the only verdict
            cells = [(name, *others) for name, _, *others in cells]
        yield ""
        yield from terminal.table(cells[0], cells[1:])
        yield ""


def _finding_text(finding: Finding, report: Report) -> str:
    """Return a sentence about a joint with a verdict, and the time at which it is worst."""
    people = finding.verdict == "unusual" and finding.people is not None
    share = f"; {finding.people:.0%} of people come within 10°" if people else ""
    return f"{finding.text}: {finding.joint} at {_time(report, finding.frame)} s{share}"


def _cells(report: Report, row: JointReport) -> tuple[str, ...]:
    """Return the cells below `CHECK_TITLES`; dashes for a joint that stays inside."""
    if not row.frames:
        return row.name, row.verdict, *"------"
    often = str(row.frames), percent(row.share)
    where = str(row.worst_frame), _time(report, row.worst_frame)
    worst, mean = terminal.degrees(row.worst), terminal.degrees(row.mean)
    return row.name, row.verdict, *often, worst, *where, mean


def _time(report: Report, frame: int) -> str:
    return f"{frame * report.frame_time:.2f}"


@options.command(examples=REPORT_EXAMPLES)
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
    clips: tuple[str, ...], output: Path | None, curves: str | None, ranges: str | None
) -> None:
    """Show the range of motion of clips, joint by joint.

    Angles are clinical: flexion, abduction and rotation, 0 when standing with hanging arms. Beside
    the range that a clip uses are the published norm of healthy adults (mean and standard
    deviation) and the limit of what is possible.
    """
    from ..draw.report import MAX_RECORDINGS, Recording, motion_report
    from ..io.files import atomic_write
    from ..population.motion import RANGE_COLUMNS

    if curves == ranges == "-":
        raise click.UsageError("--csv - and --ranges - would both print to stdout: choose one")
    run = ClipRun(clips, "human", "measuring")
    if output is not None:
        options.check_suffix(output, (".html", ".htm"))
        if len(run.files) > MAX_RECORDINGS:
            raise click.UsageError(f"--output takes one or two clips, got {len(run.files)}")
    paths = [Path(path) for path in (output, curves, ranges) if path not in (None, "-")]
    for k, path in enumerate(paths):
        if path in paths[:k]:
            raise click.UsageError(f"two outputs would go to {path}: give each a file of its own")
        options.check_output(path)
    recordings = [
        Recording.of_human(applied.human, clip, run.joint_progress)
        for _, clip, applied in run
        if applied.human is not None
    ]
    with csv_writer(curves) as write_rows:
        write_rows(_joined([recording.angles.curve_rows() for recording in recordings]))
    with csv_writer(ranges) as write_rows:
        write_rows([RANGE_COLUMNS])
        for recording in recordings:
            write_rows(recording.angles.range_rows(recording.report))
    if output is not None:
        atomic_write(output, motion_report(recordings).encode())
        if "-" not in (curves, ranges):
            terminal.echo(f"wrote {output}")
    elif curves is None and ranges is None:
        for recording in recordings:
            terminal.echo_lines(_ranges(recording))
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


def _ranges(recording: Recording) -> Iterator[str]:
    """Yield the ranges of motion of a clip as a table."""
    yield terminal.bold(recording.clip.name)
    rows = []
    for curve in recording.angles.curves:
        joint = curve.name.removesuffix(f" {curve.axis.name}")
        rows.append(
            (
                joint,
                f"{curve.axis.name} (−{curve.axis.opposite})",
                terminal.interval(curve.least, curve.most),
                curve.norm_text,
                "" if math.isnan(curve.span[0]) else terminal.interval(*curve.span),
            )
        )
    yield from terminal.table(REPORT_TITLES, rows, left=2)
    for note in recording.angles.notes:
        yield from terminal.wrap(note)
    yield ""
