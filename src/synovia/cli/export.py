"""`synovia export`: limits for engines and editors, with the loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..export import EXPORTERS, export_limits, target_of
from ..text import percent
from . import options, terminal
from .apply import load_model
from .figure import figure_of

if TYPE_CHECKING:
    from ..export import Exported
    from ..skeleton import Axis

EXAMPLES = (
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


@options.command(examples=EXAMPLES)
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
    callback=options.parse_share,
    metavar="SHARE",
    help="Write nothing if a joint gains more than this share (5% or 0.05) of "
    "all rotations; with --into, of the model's own range.",
)
@click.option("--up", type=click.Choice(["x", "y", "z"]), help="Which axis of the skeleton is up.")
@click.option(
    "--unit",
    callback=options.parse_unit,
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
    unit: float,
    force: bool,
) -> None:
    """Write limits for an engine or an editor, and say what that gains and loses.

    A joint becomes three hinges along the axes that suit it best; MuJoCo has half-spaces beside
    their ranges, as tendons. What a target cannot say is measured: the share of all rotations that
    it accepts and the limit does not, and the other way round, with the largest angles. The same is
    in the file, as a comment. A joint that depends on another has its widest ranges. With --into,
    shares are of the model's own ranges, and no range becomes wider.
    """
    from ..io.files import atomic_write

    options.check_output(output, force=force)
    model = load_model(limits, "FILE")
    if up or unit:
        skeleton_before = model.skeleton
        skeleton = replace(
            skeleton_before, up=up or skeleton_before.up, unit=unit or skeleton_before.unit
        )
        model = replace(model, skeleton=skeleton)
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
    import numpy as np

    titles = ("joint", "limit", "gained", "by up to", "lost", "by up to")
    rows = [
        (
            name,
            percent(loss.share),
            percent(loss.gained),
            f"{terminal.degrees(float(np.degrees(loss.gained_angle)))}°",
            percent(loss.lost),
            f"{terminal.degrees(float(np.degrees(loss.lost_angle)))}°",
        )
        for name, loss in exported.losses.items()
    ]
    return terminal.table(titles, rows)
