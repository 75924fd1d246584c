"""`synovia corpus`: whole corpora of clips."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, terminal
from .clips import clip_files, performers_by_clip
from .fit import fit_options, fitting_of, save_fit

if TYPE_CHECKING:
    from ..corpus import Corpus

MAX_FAILURES = 20  # names of clips that could not be read
EPILOG = """\b
Examples:
  # all clips below a directory, as many processes as cores; run it again to continue
  synovia corpus add captures/ -o corpus/
  # limits from it
  synovia corpus fit corpus/ -o human.limits.json
"""


@click.group(epilog=EPILOG)
def corpus() -> None:
    """Learn from thousands of clips, stopped and resumed at will.

    A corpus is a folder with a small file for each clip, from which limits are fitted. It grows by
    `add`, and needs the clips no more: summaries can be shared where motion cannot.
    """


corpus_command = partial(corpus.command, cls=options.TeachingCommand)
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
    "--scheduler", metavar="ADDRESS", help="A scheduler of Dask's, which sees the same files."
)
folder_argument = click.argument(
    "folder", metavar="CORPUS", type=click.Path(path_type=Path, file_okay=False)
)


@corpus_command(
    examples=(
        ("all clips below a directory", "synovia corpus add captures/ -o corpus/"),
        ("a list of clips: path,performer", "synovia corpus add clips.csv -o corpus/"),
        (
            "knees together with hips, for limits that depend on both",
            "synovia corpus add captures/ -o corpus/ --pairs LeftLeg:LeftUpLeg",
        ),
        ("on a cluster", "synovia corpus add /data -o /data/corpus --scheduler tcp://head:8786"),
    )
)
@options.clips_argument
@options.output_option(
    "The corpus to add to; created if missing.", "CORPUS", folder=True, force=False
)
@jobs_option
@scheduler_option
@options.relative_option
@click.option(
    "--pairs",
    multiple=True,
    metavar="JOINT:DRIVER|auto",
    help="Also keep the rotations of a joint and of another together, LeftLeg:LeftUpLeg, for "
    "`corpus fit --depends`. Repeat it for more. With auto: of each joint and its parent.",
)
@options.performer_option
@options.skeleton_option
def add(
    clips: tuple[str, ...],
    output: Path,
    jobs: int,
    scheduler: str | None,
    ancestors: tuple[str, ...],
    pairs: tuple[str, ...],
    performer: str | None,
) -> None:
    """Summarise clips into a corpus; what is there already is not read again.

    A run that was stopped continues: only clips that were added or changed are read. Clips that
    cannot be read are named at the end.
    """
    from ..corpus import Corpus, SummaryOptions, pending
    from ..corpus.executors import run
    from ..corpus.store import Task

    files = clip_files(clips)
    performers = performers_by_clip(performer, files)
    skeleton = options.settings().skeleton
    skeleton_path = None if skeleton is None else str(skeleton.resolve())
    tasks = [
        Task(str(file.path.resolve()), file.clip, file.name, performers[file.name], skeleton_path)
        for file in files
    ]
    summary_options = SummaryOptions(
        ancestors=options.parse_pairs(ancestors, "--relative-to", form="JOINT=ANCESTOR"),
        pairs=options.parse_drivers(pairs, "--pairs") or {},
    )
    remaining = pending(Corpus.make(output, summary_options), tasks)
    start, failures, done, frames = time.monotonic(), list[str](), 0, 0
    outcomes = run(str(output.resolve()), remaining, jobs=jobs, scheduler=scheduler)
    for outcome in terminal.progress("summarising", len(remaining))(outcomes):
        if outcome.disk_full:
            raise OSError(
                f"{outcome.error}. {terminal.pluralize(done, 'clip')} were added and are kept: "
                "make room, and run the same command again"
            )
        if outcome.error:
            is_named = outcome.task.path in outcome.error
            failures.append(outcome.error if is_named else f"{outcome.task.place}: {outcome.error}")
        else:
            done, frames = done + 1, frames + outcome.result.frames
    seconds = time.monotonic() - start
    for line in failures[:MAX_FAILURES]:
        terminal.note(f"{click.style('not added:', fg='red')} {line}")
    if len(failures) > MAX_FAILURES:
        terminal.note(f"not added: {len(failures) - MAX_FAILURES} more")
    corpus = Corpus.open(output)
    terminal.echo(
        f"added {terminal.pluralize(done, 'clip')} ({terminal.pluralize(frames, 'frame')}) in "
        f"{seconds:.0f} s; {len(tasks) - len(remaining)} were there; "
        f"{f'{len(failures)} could not be read; ' if failures else ''}"
        f"{len(corpus.entries)} in {output}"
    )
    if missing := missing_pairs(corpus):
        terminal.note(f"no clip has both joints of {', '.join(missing)} below a root")
    options.exit_with(bool(failures))


def missing_pairs(corpus: Corpus) -> list[str]:
    """Return the pairs named in the options of a corpus that none of its clips has."""
    from ..corpus.summary import load_head

    pairs = corpus.options.pairs
    missing = set() if pairs == "auto" else set(pairs.items())
    for entry in corpus.entries if missing else ():
        missing -= {info.joints for info in load_head(corpus.summary_file(entry.mark)).cells}
    return sorted(f"{name}:{driver}" for name, driver in missing)


@corpus_command(
    "fit",
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
@jobs_option
@scheduler_option
def fit_command(
    folder: Path, output: Path, jobs: int, scheduler: str | None, **fitting: Any
) -> None:
    """Learn limits from a corpus: from cells of rotations, joint by joint.

    The limits are those of `synovia fit`, to within a cell of 0.02 radians. Each process has one
    joint at a time; how many there are changes nothing but the time. --depends needs a corpus that
    was made with --pairs.
    """
    from ..corpus import Corpus, fit_corpus
    from ..learn import FitOptions

    options.check_limits_output(output)
    model = fit_corpus(
        Corpus.open(folder),
        FitOptions.of(**fitting_of(fitting)),
        jobs=jobs,
        scheduler=scheduler,
        progress=terminal.progress("fitting"),
    )
    save_fit(model, output)


@corpus_command(
    "merge", examples=(("the corpora of two labs", "synovia corpus merge lab1/ lab2/ -o both/"),)
)
@click.argument(
    "folders", nargs=-1, required=True, metavar="CORPUS...", type=click.Path(path_type=Path)
)
@options.output_option(
    "The corpus to write; what is there stays.", "CORPUS", folder=True, force=False
)
def merge_command(folders: tuple[Path, ...], output: Path) -> None:
    """Join corpora, as those of several labs, into one."""
    from ..corpus import Corpus, merge_corpora

    merged = merge_corpora([Corpus.open(folder) for folder in folders], output)
    terminal.echo(f"{terminal.pluralize(len(merged.entries), 'clip')} in {output}")
