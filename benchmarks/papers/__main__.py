"""Run the reproductions, print their tables, and write JSON and pictures.

python -m benchmarks.papers -o synovia-papers                      # everything
python -m benchmarks.papers engell-norregard --clips captures/     # on captures of one's own
python -m benchmarks.papers --quick                                # does it work here?
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from synovia import Clip, __version__
from synovia.cli import clips as clip_arguments
from synovia.cli import terminal
from synovia.demo import range_of_motion
from synovia.io.files import atomic_write

from . import arm, engell_norregard, robotics, wilhelms_van_gelder
from .finding import Finding, Order, Result

ITEMS: dict[str, Callable[[Order], Result]] = {
    "wilhelms-van-gelder": wilhelms_van_gelder.run,
    "engell-norregard": engell_norregard.run,
    "arm": arm.run,
    "robotics": robotics.run,
}
"""Reproductions in order."""
DRIVEN = "engell-norregard"
"""The item that needs captures."""
MADE = (("ann", 480, 1), ("ann", 1200, 2), ("bob", 480, 3), ("bob", 1200, 4))
"""Performer, frames and seed of the synthetic clips used by default."""


@click.command()
@click.argument("items", nargs=-1, metavar="[ITEM]...", type=click.Choice(list(ITEMS)))
@click.option("--quick", is_flag=True, help="Only so much that it is seen to work.")
@click.option(
    "--clips",
    "folders",
    multiple=True,
    metavar="CLIP|DIR",
    help="Captures for `engell-norregard`, two clips of each performer or more; what stands before "
    "the first _ or - of a file's name tells who performs. Without it, clips made like the demo's.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write ITEM.json, and pictures where there are some, to this directory.",
)
def main(
    items: tuple[str, ...], quick: bool, folders: tuple[str, ...], output: Path | None
) -> None:
    """Repeat the papers' measurements, and print their figures next to ours.

    \b
    wilhelms-van-gelder  a chain with reach cones, with and without its limits (2001, Table 1)
    engell-norregard     hands, feet and head driven by captures: how far elbows and knees stray,
                         how long a frame takes, by family of limits, and the building of fields
                         (Table I, Figs. 1 and 2)
    arm                  goals that an arm can reach for sure: how many are met, how fast, how
                         smoothly, and whether joints that block are named
    robotics             the same chain with boxes, beside mink on MuJoCo and SciPy

    Without ITEM all are run. Times are of this machine at this moment: where they are compared,
    both were taken in one run.
    """
    chosen = [name for name in ITEMS if not items or name in items]
    if folders and DRIVEN not in chosen:
        raise click.UsageError(f"--clips is for {DRIVEN}")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    clips, origin = _clips(folders) if DRIVEN in chosen else ((), "")
    for name in chosen:
        click.echo(click.style(name, bold=True))
        result = ITEMS[name](Order(quick, clips, origin, terminal.progress(name)))
        for line in lines_of(result.finding):
            click.echo(line)
        if output is not None:
            for line in _write(result, quick, output):
                click.echo(line)
        click.echo("")


def lines_of(finding: Finding) -> Iterator[str]:
    """Yield the tables and notes of a finding."""
    for table in finding.tables:
        yield from terminal.wrap(table.title)
        yield from terminal.table(table.columns, table.rows)
        yield ""
    for note in finding.notes:
        yield from terminal.wrap(note)


def _clips(folders: tuple[str, ...]) -> tuple[tuple[Clip, ...], str]:
    """Return the requested captures, or synthetic ones, and a description of their origin."""
    if folders:
        files = clip_arguments.clip_files(folders)
        return tuple(clip_arguments.load_clips(files)), terminal.pluralize(len(files), "clip")
    made = [replace(range_of_motion(frames, k), name=f"{who}_{k}") for who, frames, k in MADE]
    return tuple(made), "made in code, as in the demo"


def _write(result: Result, quick: bool, output: Path) -> Iterator[str]:
    """Write a finding as JSON and pictures, and yield the paths."""
    content = {
        "synovia": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "quick": quick,
        **result.finding.to_dict(),
    }
    path = output / f"{result.finding.item}.json"
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    atomic_write(path, (text + "\n").encode())
    yield f"wrote {path}"
    try:
        from synovia.draw import save_picture as save_figure

        from .engell_norregard_pictures import pictures_of

        for name, figure in pictures_of(result).items():
            save_figure(figure, output / name)
            yield f"wrote {output / name}"
    except ImportError:
        yield "no pictures without matplotlib; pip install 'synovia[draw]' brings it"


if __name__ == "__main__":
    main()
