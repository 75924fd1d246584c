"""`synovia corpus`: whole corpora of clips."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..text import percent
from . import inputs, terminal
from .fit import depends_option, drivers_of, fit_options, summary
from .inputs import shape_options

if TYPE_CHECKING:
    from ..corpus import Corpus, Outcome

MOST_FAILURES = 20
"""How many clips that could not be read are named."""
FAILED = 1
"""The exit code where some clips could not be read."""


EPILOG = """\b
Examples:
  # all clips below a directory, as many processes as cores; run it again to go on
  synovia corpus add captures/ -o corpus/
  # what is in it
  synovia corpus status corpus/
  # limits from it
  synovia corpus fit corpus/ -o human.limits.json
"""


@click.group(epilog=EPILOG)
def corpus() -> None:
    """Learn from thousands of clips, stopped and resumed at will.

    A corpus is a folder with a small file for each clip, from which limits are fitted. It grows by
    `add`, and needs the clips no more: summaries can be shared where motion cannot.
    """


jobs_option = click.option(
    "-n",
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="one a core",
    metavar="N",
    help="How many processes to use.",
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS|local",
    help="A scheduler of Dask's, which sees the same files; local starts one here.",
)
folder_argument = click.argument(
    "folder", metavar="CORPUS", type=click.Path(path_type=Path, file_okay=False)
)


@corpus.command(
    cls=terminal.TeachingCommand,
    examples=(
        ("all clips below a directory", "synovia corpus add captures/ -o corpus/"),
        (
            "who performs in a table, two processes",
            "synovia corpus add mocap/ -o corpus/ -p people.csv --jobs 2",
        ),
        ("a list of clips: path,performer", "synovia corpus add clips.csv -o corpus/"),
        (
            "knees together with hips, for limits that depend on both",
            "synovia corpus add captures/ -o corpus/ --pairs LeftLeg:LeftUpLeg",
        ),
        ("on a cluster", "synovia corpus add /data -o /data/corpus --scheduler tcp://head:8786"),
    ),
)
@inputs.clips_argument
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="CORPUS",
    type=click.Path(path_type=Path, file_okay=False),
    help="The corpus to add to; made if there is none.",
)
@jobs_option
@scheduler_option
@click.option(
    "--relative-to",
    "ancestors",
    multiple=True,
    metavar="JOINT=ANCESTOR",
    help="Measure a joint from a joint above it instead of from its parent. Repeat it for more.",
)
@click.option(
    "--pairs",
    multiple=True,
    metavar="JOINT:DRIVER|auto",
    help="Also keep the rotations of a joint and of another together, LeftLeg:LeftUpLeg, for "
    "`corpus fit --depends`. Repeat it for more. With auto: of each joint and its parent.",
)
@inputs.performer_option
@inputs.skeleton_option
@click.option("--strict", is_flag=True, help="Stop at the first clip that cannot be read.")
@terminal.debug_option
@click.pass_context
def add(
    ctx: click.Context,
    clips: tuple[str, ...],
    folder: Path,
    jobs: int,
    scheduler: str | None,
    ancestors: tuple[str, ...],
    pairs: tuple[str, ...],
    performer: str | None,
    strict: bool,
) -> None:
    """Summarise clips into a corpus; what is there already is not read again.

    CLIPs are files, directories (with all that is below them), globs, and tables (.csv) with the
    columns path and performer. A run that was stopped goes on where it was: clips that were added
    or changed alone are read. Clips that cannot be read are named at the end; then the exit code
    is 1.
    """
    from ..corpus import Corpus, SummaryOptions, pending
    from ..corpus.executors import run
    from ..corpus.store import Task

    files = inputs.clip_files(clips, unread=True)
    who = inputs.performers(performer, files)
    bones = inputs.SKELETON.get()
    tasks = [
        Task(
            str(file.path.resolve()), file.clip, file.name, who[file.name],
            None if bones is None else str(bones.resolve()),
        )
        for file in files
    ]  # fmt: skip
    options = SummaryOptions(
        ancestors=inputs.pairs(ancestors, "--relative-to"),
        pairs=drivers_of(pairs, "--pairs") or {},
    )
    corpus = Corpus.make(folder, options)
    left = pending(corpus, tasks)
    start, failed, done, frames = time.monotonic(), [], 0, 0
    outcomes = run(str(folder.resolve()), left, jobs=jobs, scheduler=scheduler)
    for outcome in _with_bar("summarising", outcomes, len(left)):
        if outcome.error:
            failed.append(outcome)
            if outcome.disk_full:
                raise OSError(
                    f"{outcome.error}. {terminal.pluralize(done, 'clip')} were added and are kept: "
                    "make room, and run the same command again"
                )
            if strict:
                raise ValueError(describe_failure(outcome))
        else:
            done, frames = done + 1, frames + outcome.result.frames
    seconds = time.monotonic() - start
    note_failures("not added", [describe_failure(outcome) for outcome in failed])
    terminal.echo(
        f"added {terminal.pluralize(done, 'clip')} ({terminal.pluralize(frames, 'frame')}) in "
        f"{seconds:.0f} s; {len(tasks) - len(left)} were there; "
        f"{f'{len(failed)} could not be read; ' if failed else ''}"
        f"{len(Corpus.open(folder).entries)} in {folder}"
    )
    if missing := missing_pairs(Corpus.open(folder)):
        terminal.note(f"no clip has both joints of {', '.join(missing)} below a root")
    if failed:
        ctx.exit(FAILED)


def missing_pairs(corpus: Corpus) -> list[str]:
    """Return the pairs that are asked for by name, and that no clip of a corpus has."""
    from ..corpus.summary import load_head

    pairs = corpus.options.pairs
    left = set() if isinstance(pairs, str) else set(pairs.items())
    for entry in corpus.entries:
        if not left:
            break
        left -= set(load_head(corpus.summary_file(entry.mark)).pairs)
    return sorted(f"{name}:{driver}" for name, driver in left)


def note_failures(what: str, failures: Sequence[str]) -> None:
    """Say which clips were not done, and why; of very many the first."""
    for line in failures[:MOST_FAILURES]:
        terminal.note(f"{click.style(f'{what}:', fg='red')} {line}")
    if len(failures) > MOST_FAILURES:
        terminal.note(f"{what}: {len(failures) - MOST_FAILURES} more")


def describe_failure(outcome: Outcome) -> str:
    """Return in one line why a clip is not in the corpus."""
    known = outcome.task.path in outcome.error
    return outcome.error if known else f"{outcome.task.place}: {outcome.error}"


def _with_bar(label: str, outcomes: Iterator[Outcome], count: int) -> Iterator[Outcome]:
    if count < 2 or not sys.stderr.isatty():
        yield from outcomes
        return
    with click.progressbar(outcomes, count, label, file=sys.stderr, show_pos=True) as bar:
        yield from bar


@corpus.command("status")
@folder_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
@terminal.debug_option
def show_status(folder: Path, as_json: bool) -> None:
    """Show what is in a corpus, and what is to be done again."""
    from ..corpus import Corpus, status

    found = status(Corpus.open(folder))
    if as_json:
        terminal.echo(json.dumps(found, indent=2))
        return
    terminal.echo(
        f"{click.style(str(folder), bold=True)}: {terminal.pluralize(found['clips'], 'clip')} of "
        f"{terminal.pluralize(found['performers'], 'performer')}, "
        f"{terminal.pluralize(found['frames'], 'frame')}, {found['bytes'] / 1e6:.1f} MB"
    )
    for key, word in (
        ("damaged", "damaged, add them again"),
        ("changed", "changed since, add them again"),
        ("gone", "no longer there; their summaries are"),
    ):
        if paths := found[key]:
            terminal.echo(f"{len(paths)} {word}: {', '.join(paths[:3])}{', …' * (len(paths) > 3)}")


@corpus.command(
    "fit",
    cls=terminal.TeachingCommand,
    examples=(
        ("limits of all joints", "synovia corpus fit corpus/ -o human.limits.json"),
        (
            "a knee that bends as far as people bend it at each rotation of the hip",
            "synovia corpus fit corpus/ -o human.limits.json --depends LeftLeg:LeftUpLeg",
        ),
    ),
)
@folder_argument
@fit_options
@click.option(
    "-r",
    "--reference",
    type=click.Choice(["mean", "rest"]),
    default="mean",
    show_default=True,
    help="What angles are measured from.",
)
@depends_option
@jobs_option
@scheduler_option
@terminal.debug_option
def fit_command(
    folder: Path,
    output: Path,
    shape: str,
    chart: str | None,
    options: tuple[str, ...],
    margin_deg: float | None,
    reject: float | None,
    trim: float,
    joints: tuple[str, ...],
    exclude: tuple[str, ...],
    maps: tuple[str, ...],
    keep_samples: bool,
    force: bool,
    reference: str,
    depends: tuple[str, ...],
    jobs: int,
    scheduler: str | None,
) -> None:
    """Learn limits from a corpus: from cells of rotations, joint by joint.

    The limits are those of `synovia fit`, to within a cell of 0.02 radians. Each process has one
    joint at a time; how many there are changes nothing but the time. --depends needs a corpus that
    was made with --pairs.
    """
    from ..corpus import Corpus, fit_corpus
    from ..io import save_limits
    from ..learn import FitOptions

    if margin_deg is not None and reject is not None:
        raise click.UsageError("--reject chooses the margin: give either --margin or --reject")
    inputs.check_limits_output(output, force=force)
    corpus = Corpus.open(folder)
    chosen = FitOptions.of(
        shape,
        chart,
        margin=None if margin_deg is None else math.radians(margin_deg),
        reject=reject,
        trim=trim,
        reference=reference,
        joints=inputs.split_names(joints) or None,
        exclude=inputs.split_names(exclude),
        names=inputs.joint_names(maps) or None,
        keep_samples=keep_samples,
        depends=drivers_of(depends),
        **shape_options(shape, inputs.pairs(options, "--with")),
    )
    model = fit_corpus(
        corpus, chosen, jobs=jobs, scheduler=scheduler, progress=terminal.progress("fitting")
    )
    save_limits(model, output)
    for line in summary(model):
        terminal.echo(line)
    terminal.echo(f"wrote {output}")


@corpus.command(
    "check",
    cls=terminal.TeachingCommand,
    examples=(
        (
            "a table and a page in report/",
            "synovia corpus check corpus/ -l human.limits.json -o report/",
        ),
        (
            "the frames to drop, for those who clean data",
            "synovia corpus check corpus/ -l human.limits.json -o report/ --list outside.csv",
        ),
    ),
)
@folder_argument
@inputs.limits_file_option
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIRECTORY",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write report.html, and violations.csv, .jsonl and (with pyarrow) .parquet.",
)
@click.option(
    "--list",
    "listed",
    metavar="FILE.csv",
    type=click.Path(path_type=Path),
    help="Also write all frames in which a joint is outside: clip, frame.",
)
@inputs.force_option
@jobs_option
@scheduler_option
@inputs.map_option
@inputs.skeleton_option
@terminal.debug_option
@click.pass_context
def check_command(
    ctx: click.Context,
    folder: Path,
    limits_path: Path,
    output: Path,
    listed: Path | None,
    force: bool,
    jobs: int,
    scheduler: str | None,
    maps: tuple[str, ...],
) -> None:
    """Hold the clips of a corpus against limits: by clip, joint and performer.

    The clips are read again, from where they were added. The exit code is 0 when all joints stay
    inside, 1 when one does not or a clip could not be read, and 2 for an error.
    """
    from ..corpus import Corpus, check
    from ..corpus.executors import run
    from ..corpus.store import Task
    from ..io import load_limits
    from ..io.files import atomic_write

    load_limits(limits_path)
    output.mkdir(parents=True, exist_ok=True)
    tables = [output / f"violations.{suffix}" for suffix in ("csv", "jsonl", "parquet")]
    page = output / "report.html"
    for target in (page, *tables, *([] if listed is None else [listed])):
        inputs.check_output(target, force=force)
    bones = inputs.SKELETON.get()
    skeleton = None if bones is None else str(bones.resolve())
    corpus = Corpus.open(folder)
    tasks = [
        Task(corpus.clip_path(entry), entry.clip, entry.name, entry.performer, skeleton)
        for entry in corpus.entries
    ]
    work = partial(check.check_work, inputs.joint_names(maps))
    outcomes = run(str(limits_path.resolve()), tasks, work, jobs=jobs, scheduler=scheduler)
    found = sorted(
        _with_bar("checking", outcomes, len(tasks)),
        key=lambda outcome: (outcome.task.name, outcome.task.place),
    )
    failed = [describe_failure(outcome) for outcome in found if outcome.error]
    done = [(outcome.task.name, outcome.result) for outcome in found if not outcome.error]
    note_failures("not checked", failed)
    if not done:
        raise ValueError(f"{folder}: no clip could be checked")
    rows = [row for _, each in done for row in each.rows]
    atomic_write(tables[0], check.table_csv(rows).encode())
    atomic_write(tables[1], check.table_jsonl(rows).encode())
    check.write_parquet(rows, tables[2])
    html = check.report_page([each for _, each in done], limits_path.name, failed)
    atomic_write(page, html.encode())
    if listed is not None:
        atomic_write(listed, check.frames_csv(done).encode())
    outside = sum(bool(each.listed) for _, each in done)
    bad = sum(len(each.listed) for _, each in done)
    frames = sum(each.rows[0].frames for _, each in done)
    terminal.echo(
        f"{outside} of {terminal.pluralize(len(done), 'clip')} and {bad} of "
        f"{terminal.pluralize(frames, 'frame')} ({percent(bad / max(frames, 1))}) have a "
        f"joint outside; wrote {page}"
    )
    ctx.exit(FAILED if outside or failed else 0)


@corpus.command("merge")
@click.argument(
    "folders", nargs=-1, required=True, metavar="CORPUS...", type=click.Path(path_type=Path)
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="CORPUS",
    type=click.Path(path_type=Path, file_okay=False),
    help="The corpus to write; what is there stays.",
)
@terminal.debug_option
def merge_command(folders: tuple[Path, ...], output: Path) -> None:
    """Join corpora, as those of several labs, into one."""
    from ..corpus import Corpus, merge_corpora

    _, clips = merge_corpora([Corpus.open(folder) for folder in folders], output)
    terminal.echo(f"{terminal.pluralize(clips, 'clip')} in {output}")
