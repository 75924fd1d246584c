"""`synovia bench`: measure what the sources measured, and print both."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import inputs, terminal

if TYPE_CHECKING:
    from ..clip import Clip
    from ..evidence.bench import Finding, Result

NAMES = ("table1", "capture", "arm", "robotics")
"""In the order in which they are run."""
EXAMPLES = (
    ("everything, with JSON and pictures in a directory", "synovia bench -o bench"),
    ("does it work here? (a minute; the figures mean little)", "synovia bench --quick"),
    ("what limits make of your own captures", "synovia bench capture --clips captures/ -o bench"),
    (
        "beside mink and SciPy, after pip install 'synovia[robotics]'",
        "synovia bench robotics",
    ),
)


@click.command(cls=terminal.TeachingCommand, examples=EXAMPLES)
@click.argument("items", nargs=-1, metavar="[ITEM]...", type=click.Choice(NAMES))
@click.option("--quick", is_flag=True, help="Only so much that it is seen to work.")
@click.option(
    "--clips",
    "folders",
    multiple=True,
    metavar="CLIP|DIR",
    help="Captures for `capture`, two clips of each performer or more; what stands before the "
    "first _ or - of a file's name tells who performs. Without it, clips made like the demo's.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write ITEM.json, and pictures where there are some, to this directory.",
)
@terminal.debug_option
def bench(
    items: tuple[str, ...], quick: bool, folders: tuple[str, ...], output: Path | None
) -> None:
    """Measure inverse kinematics as the sources did.

    \b
    table1    a chain with reach cones, with and without its limits
              (Wilhelms and Van Gelder 2001, Table 1)
    capture   hands, feet and head driven by captures: how far elbows and knees stray,
              and how long a frame takes, by family of limits
              (Engell-Nørregård and others 2009, Table I, Figs. 1 and 2)
    arm       goals that an arm can reach for sure: how many are met, how fast, how smoothly,
              and whether joints that block are named
    robotics  the same chain with boxes, beside mink on MuJoCo and SciPy's least_squares

    Without ITEM all are run. Times are of this machine at this moment: where they are compared,
    both were taken in one run.
    """
    from ..evidence.bench import ITEMS, Order

    chosen = [name for name in NAMES if not items or name in items]
    if folders and "capture" not in chosen:
        raise click.UsageError("--clips is for `capture`")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    clips, origin = _clips(folders) if "capture" in chosen else ((), "")
    for name in chosen:
        click.echo(click.style(name, bold=True))
        order = Order(quick, clips, origin, terminal.progress(name))
        result = ITEMS[name](order)
        for line in lines_of(result.finding):
            click.echo(line)
        if output is not None:
            for line in _write(result, quick, output):
                click.echo(line)
        click.echo("")


def lines_of(finding: Finding) -> Iterator[str]:
    """Yield the tables and notes of a finding."""
    for table in finding.tables:
        yield from terminal.wrapped(table.title)
        yield from terminal.heading(terminal.table(table.columns, table.rows))
        yield ""
    for note in finding.notes:
        yield from terminal.wrapped(note)


def _clips(folders: tuple[str, ...]) -> tuple[tuple[Clip, ...], str]:
    """Return the captures asked for, or some made like those of the demo, and where from."""
    from dataclasses import replace

    from ..demo import range_of_motion

    if folders:
        files = inputs.clip_files(folders)
        return tuple(inputs.load_all(files)), terminal.counted(len(files), "clip")
    made = [("ann", 480, 1), ("ann", 1200, 2), ("bob", 480, 3), ("bob", 1200, 4)]
    return tuple(
        replace(range_of_motion(frames, seed), name=f"{who}_{seed}") for who, frames, seed in made
    ), "made in code, as in the demo"


def _write(result: Result, quick: bool, output: Path) -> Iterator[str]:
    """Write a finding as JSON and its pictures, and yield what was written."""
    from .. import __version__
    from ..io.atomic import atomic_write

    finding = result.finding
    content: dict[str, Any] = {
        "synovia": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "quick": quick,
        **finding.to_dict(),
    }
    path = output / f"{finding.item}.json"
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    atomic_write(path, (text + "\n").encode())
    yield f"wrote {path}"
    try:
        from ..draw import pictures_of, save_figure

        for name, figure in pictures_of(result).items():
            save_figure(figure, output / name)
            yield f"wrote {output / name}"
    except ImportError:
        yield "no pictures without matplotlib; pip install 'synovia[draw]' brings it"
