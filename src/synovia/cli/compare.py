"""`synovia compare`: which family of limits fits clips best, by leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ..text import percent
from . import options, terminal
from .clips import joint_names, load_takes

if TYPE_CHECKING:
    from ..evidence import Comparison, Trial

EXAMPLES = (
    ("which family fits these clips?", "synovia compare captures/"),
    (
        "two shapes at the shoulders, where 0.5% of a newcomer's frames may be outside",
        "synovia compare captures/ -s kdop,ellipsoid -j LeftArm,RightArm --reject 0.5%",
    ),
    (
        "one performer: leave out clip by clip, and draw what is rejected against what is accepted",
        "synovia compare ann/ --by clip -o tradeoff.png",
    ),
)
SWEEP_DEG = (0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 13.0, 17.0, 22.0, 28.0, 35.0, 45.0, 60.0, 80.0)
"""Margins of the points of curves, in degrees."""
MAX_PANELS = 6
TITLES = ("margin", "rejected", "95th", "worst", "volume", "moved", "outside", "bytes", "ns")
SHORT_CHARTS = {"rotation-vector": "vector", "swing-twist": "swing"}
"""Charts as the tables name them, so that a line has room for all of its numbers."""
MEANING = (
    "families by shape, and chart where there are several (vector: rotation-vector, swing: "
    "swing-twist), or by what a distance field holds (people); "
    "margin, moved and outside in degrees: how much wider than observed, and how far frames were "
    "moved, over all of them and over those outside; rejected as a mean over those left out, with "
    "the 95th percentile and the worst; bytes in a file, ns to project a rotation, as measured at "
    "up to four joints"
)
QUICK_LOOK = (
    "a quick look at the joints that move most, at few frames of each clip, and at each shape in "
    "one chart: without --quick numbers differ"
)


@options.command(examples=EXAMPLES)
@options.clips_argument
@click.option("-s", "--shapes", multiple=True, metavar="A,B", help="Only these shapes.")
@click.option(
    "--reject",
    callback=options.parsed_by(options.parse_share),
    metavar="SHARE",
    default="1%",
    show_default=True,
    help="Compare each at the least margin that leaves at most this share (1% or 0.01) of the "
    "frames of those left out outside.",
)
@options.joints_option
@click.option(
    "--by",
    type=click.Choice(["performer", "clip"]),
    default="performer",
    show_default=True,
    help="What is left out in turn: all clips of a performer, or each clip.",
)
@options.performer_option
@options.map_option
@options.skeleton_option
@click.option(
    "--quick",
    is_flag=True,
    help="A first look in seconds: the three joints that move most, at most 300 frames of a clip, "
    "each shape in one chart.",
)
@click.option("-a", "--all", "list_all", is_flag=True, help="Every family at every joint.")
@options.json_option
@options.output_option(
    "Draw rejection against volume, like tradeoff.png.", "PICTURE", required=False
)
def compare(
    clips: tuple[str, ...],
    shapes: tuple[str, ...],
    reject: float,
    joints: list[str] | None,
    by: Literal["performer", "clip"],
    performer: str | None,
    quick: bool,
    list_all: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Show which family of limits fits clips best.

    Each performer is left out in turn; limits are fitted to the others, and the frames of the one
    left out are held against them. At equal rejection, the family that accepts the smallest share
    of all rotations (volume) is the closest. Clips that are the same, and performers with the same
    bones, are told, and merged.
    """
    from .. import evidence

    if output is not None:
        options.check_picture(output)
    names = joint_names()
    loaded, performers = load_takes(clips, performer, names)
    compared = evidence.compare(
        loaded,
        options.split_names(shapes) or None,
        by=by,
        reject=reject,
        margins=[math.radians(deg) for deg in SWEEP_DEG] if output or as_json else (),
        performers=performers,
        joints=joints,
        names=names or None,
        quick=quick,
        progress=terminal.progress("comparing"),
    )
    if output is not None:
        save_tradeoff(compared, reject, output)
    if as_json:
        terminal.echo_json({"reject": reject, "quick": quick, **compared.to_dict()})
        return
    if quick:
        terminal.echo("\n".join(terminal.wrap(QUICK_LOOK)))
    terminal.echo_lines(summary(compared, reject, list_all=list_all))
    if output is not None:
        terminal.echo(f"wrote {output}")


def summary(compared: Comparison, reject: float, *, list_all: bool) -> Iterator[str]:
    """Yield the groups left out, families over all joints, and the best family at each joint."""
    groups, joints = compared.groups, compared.joints
    group_noun = "performer" if compared.by == "performer" else "clip"
    yield from terminal.wrap(
        f"left out in turn: {terminal.pluralize(len(groups), group_noun)} "
        f"({terminal.list_some(groups)})"
    )
    yield ""
    several = len(joints) > 1
    overall = compared.overall if several else next(iter(joints.values()))
    scope = f"over {len(joints)} joints" if several else f"of {next(iter(joints))}"
    title = f"families {scope} at the least margin for {percent(reject)} rejected"
    yield from family_lines(title, overall)
    yield ""
    yield from terminal.wrap(MEANING)
    yield ""
    if list_all and several:
        for name, trials in joints.items():
            yield from family_lines(name, trials)
            yield ""
    elif several:
        titles = ("joint", "closest family", *TITLES[:5])
        rows = [(name, *_cells(rank_trials(trials)[0])[:6]) for name, trials in joints.items()]
        yield from terminal.table(titles, rows, left=2)
        yield ""
    best = rank_trials(overall)[0]
    yield from terminal.wrap(
        f"closest: {best.family}, {percent(best.outcome.volume)} of all rotations for "
        f"{percent(best.outcome.mean)} rejected"
    )
    if unmet := [trial.family for trial in overall if not trial.met_target]:
        yield from terminal.wrap(
            f"not at every joint down to {percent(reject)}, even 90 degrees wider: "
            f"{', '.join(unmet)}"
        )


def family_lines(title: str, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield a table of families, the closest first."""
    rows = [_cells(trial) for trial in rank_trials(trials)]
    yield terminal.bold(title)
    yield from terminal.table(("family", *TITLES), rows)


def rank_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials by volume, those that met the target rejection first."""
    return sorted(trials, key=lambda trial: (not trial.met_target, trial.outcome.volume))


def short_name(trial: Trial) -> str:
    """Return the family for a table, with the chart only if the shape works in several."""
    from ..limit import charts_of
    from ..shapes import SHAPES

    if trial.shape not in SHAPES or len(charts_of(trial.shape)) == 1:
        return trial.shape
    return f"{trial.shape} {SHORT_CHARTS.get(trial.chart, trial.chart)}"


def format_bytes(n: int) -> str:
    """Return a number of bytes with three digits or so, as in 840, 4.5k and 1.2M."""
    if n < 1000:
        return str(n)
    return f"{n / 1e3:.3g}k" if n < 999_500 else f"{n / 1e6:.3g}M"


def _cells(trial: Trial) -> tuple[str, ...]:
    """Return the name of the family, then the cells below `TITLES`."""
    outcome = trial.outcome
    name, share = outcome.worst
    return (
        short_name(trial),
        terminal.degrees(outcome.margin),
        percent(outcome.mean),
        percent(outcome.percentile_95),
        f"{name} {percent(share)}",
        percent(outcome.volume),
        f"{math.degrees(outcome.correction):.2f}",
        terminal.degrees(outcome.correction_outside),
        format_bytes(trial.bytes),
        "" if trial.ns is None else f"{trial.ns:.0f}",
    )


def save_tradeoff(compared: Comparison, reject: float, path: Path) -> None:
    """Draw the curves of all joints together and of the joints with the largest limits."""
    from ..draw import draw_tradeoff, save_picture

    joints = compared.joints
    largest = sorted(joints, key=lambda name: -min(t.outcome.volume for t in joints[name]))
    panels = {name: joints[name] for name in largest}
    if len(joints) > 1:
        panels = {"all joints": compared.overall, **panels}
    curves = {
        title: [trial.curve for trial in trials if trial.curve is not None]
        for title, trials in list(panels.items())[:MAX_PANELS]
    }
    save_picture(draw_tradeoff(curves, reject=reject), path)
