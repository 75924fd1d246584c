"""`synovia figure`: pose the default human or another figure by its controls, or fit it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, terminal
from .clips import clip_files, joint_names, load_clips

if TYPE_CHECKING:
    from ..anatomy import FittedFigure
    from ..anatomy.fit import Residual
    from ..components import Control, Figure, FigurePose

HUMAN = "human"
UNITS = {"degrees": "°", "radians": " rad", "length": "", "share": ""}
FRAMES_A_SECOND = 30
FIGURE_SUFFIXES = (".xml", options.LIMITS_SUFFIX)
"""Suffixes of a whole figure: the figure itself, and the limits of its joints."""
EXAMPLES = (
    ("which controls there are, and how far they go", "synovia figure human --list"),
    ("both arms out to the side", "synovia figure human --set shoulder.abduction=90 -o pose.bvh"),
    (
        "the left hand at a point, in metres: finds the controls",
        "synovia figure human --reach LeftHand=0.2,1.3,0.4 -o reaching.bvh",
    ),
    ("its limits, to check clips of it", "synovia figure human -o human.limits.json"),
    (
        "a human of your own, with the lengths, joints and axes of a person's captures",
        "synovia figure human --fit captures/ -o me.xml",
    ),
)


@options.command(examples=EXAMPLES)
@click.argument("which", metavar="human|FILE.xml")
@click.argument("more", metavar="[CLIP…]", nargs=-1)
@click.option(
    "-s",
    "--set",
    "sets",
    multiple=True,
    metavar="CONTROL=NUMBER",
    help="Set a control, in its own unit (degrees in the human); the others stay neutral. Without "
    "left_ or right_ it is for both sides.",
)
@click.option(
    "-r",
    "--reach",
    "reaches",
    multiple=True,
    metavar="SEGMENT=X,Y,Z",
    help="Find controls that bring a segment to a point in the world, in the figure's unit, and "
    "print them; controls of --set stay.",
)
@click.option(
    "--height", type=float, metavar="METRES", help="How tall the human is.  [default: 1.75]"
)
@click.option(
    "--fit",
    "captures",
    multiple=True,
    metavar="CLIP…",
    help="Fit the human to one person's captures: clips of a rig that is recognised, or tracks of "
    "markers, NAME.markers.csv with the columns frame,marker,x,y,z (y up; m, cm or mm; empty where "
    "not seen). Files, and of clips folders and patterns, as many as you like.",
)
@options.map_option
@click.option(
    "--markers",
    "marker_table",
    metavar="TABLE.csv",
    type=click.Path(path_type=Path),
    help="Segments of markers that do not have Plug-in Gait's names: the columns marker,segment "
    "and, where they are known, x,y,z in the segment's frame, in metres.",
)
@click.option("--list", "show", is_flag=True, help="List the controls with their ranges.")
@options.output_option(
    "Where to write the pose (.bvh), the figure itself (.xml), or limits of its "
    "joints (.limits.json).",
    required=False,
)
def figure(
    which: str,
    sets: tuple[str, ...],
    reaches: tuple[str, ...],
    height: float | None,
    more: tuple[str, ...],
    captures: tuple[str, ...],
    marker_table: Path | None,
    show: bool,
    output: Path | None,
) -> None:
    """Pose the human, or the figure in FILE.xml, by its controls; or fit it to a person.

    A control moves many bones at once, and no number takes a joint where it cannot go: what is out
    of range is clamped, and reported.
    """
    from ..io import writable_suffixes

    if captures:
        if which != HUMAN or sets or reaches or show:
            raise click.UsageError(
                "--fit makes a figure of the human: leave out --set, --reach, --list and figures "
                "of your own"
            )
        fit_human([*captures, *more], output, height, marker_table)
        return
    if more or options.settings().maps or marker_table is not None:
        raise click.UsageError("clips, --map and --markers are for --fit: give that, too")
    if output is None and not reaches:
        if sets:
            raise click.UsageError("--set poses the figure: give -o and a file to write")
        if not show:
            raise click.UsageError("nothing to do: give --list, --reach, or -o and a file to write")
    if output is not None:
        options.check_suffix(output, (*writable_suffixes(), *FIGURE_SUFFIXES))
        options.check_output(output)
        if (sets or reaches) and output.name.lower().endswith(FIGURE_SUFFIXES):
            raise click.UsageError(
                f"{' and '.join(FIGURE_SUFFIXES)} files are of the figure, not of a pose: leave "
                f"out --set and --reach, or write a .bvh file, got {output}"
            )
    body = figure_of(which, height)
    controls = parse_controls(body, options.parse_pairs(sets, "--set", form="CONTROL=NUMBER"))
    if show:
        terminal.echo_lines(control_lines(body))
    met = True
    if reaches:
        terminal.echo_lines(clamped_lines(body, body.pose(controls), controls))
        targets = options.parse_pairs(reaches, "--reach", form="SEGMENT=X,Y,Z")
        controls, met = find_controls(body, controls, targets)
    if output is not None:
        terminal.echo_lines(write_output(body, controls, output))
    options.exit_with(not met)


def figure_of(which: str, height: float | None) -> Figure:
    """Return the human, or the figure in a file."""
    if which == HUMAN:
        from ..anatomy import human

        return human() if height is None else human(height)
    if height is not None:
        raise click.UsageError(f"--height is for the human alone, got {which}")
    path = Path(which)
    if path.suffix.lower() != ".xml":
        raise click.UsageError(f"give {HUMAN!r} or a figure's .xml file, got {which}")
    from ..io import load_figure

    options.check_file(path)
    return load_figure(path)


def fit_human(
    arguments: Sequence[str], output: Path | None, height: float | None, marker_table: Path | None
) -> None:
    """Fit the human to captures, write it, and print the residuals by segment."""
    from ..anatomy import fit_figure
    from ..io import load_marker_table, load_markers, save_figure
    from ..io.tables import MARKERS_SUFFIX

    if output is None or output.suffix.lower() != ".xml":
        raise click.UsageError(f"--fit writes a figure: give -o and a .xml file, got {output}")
    options.check_output(output)
    tracks = [path for path in arguments if path.lower().endswith(MARKERS_SUFFIX)]
    clips = [path for path in arguments if path not in tracks]
    if tracks and clips:
        raise click.UsageError(
            f"--fit takes clips or tracks of markers, not both, got {clips[0]} and {tracks[0]}"
        )
    if marker_table is not None and clips:
        raise click.UsageError(f"--markers is for tracks of markers, got the clip {clips[0]}")
    if options.settings().maps and tracks:
        raise click.UsageError(f"--map is for clips, got tracks of markers, {tracks[0]}")
    table = None if marker_table is None else load_marker_table(marker_table)
    captures = load_clips(clip_files(clips)) if clips else [load_markers(path) for path in tracks]
    with terminal.share_bar("fitting") as update:
        fitted = fit_figure(
            captures, height=height, names=joint_names(), markers=table, progress=update
        )
    save_figure(fitted.figure, output)
    terminal.echo_lines(fit_lines(fitted))
    terminal.echo(f"wrote {output}")


def fit_lines(fitted: FittedFigure) -> Iterator[str]:
    """Yield tables of bone lengths and of residuals by segment, before and after the fit."""
    left_out = f", {fitted.left_out} of them left out" if fitted.left_out else ""
    yield (
        f"{terminal.pluralize(fitted.frames, 'frame')}{left_out}; lengths in {fitted.unit}; "
        f"a human of {fitted.height:.2f} m to start from"
    )
    yield ""
    lengths = [
        (name, f"{1e3 * was:.0f}", f"{1e3 * now:.0f}", f"± {1e3 * error:.1f}")
        for name, (was, now, error) in fitted.lengths.items()
    ]
    yield from terminal.table(
        ("joint, from the one before", "mm at first", "mm fitted", ""), lengths
    )
    yield ""
    residuals = [
        (name, *_residual_cells(fitted.before[name]), *_residual_cells(now))
        for name, now in fitted.after.items()
    ]
    titles = ("what is left of", "mm at first", "degrees", "mm fitted", "degrees")
    yield from terminal.table(titles, residuals)
    yield ""


def _residual_cells(residual: Residual) -> tuple[str, str]:
    """Return the millimetres and degrees of a residual; empty strings for NaN."""
    mm, degrees = 1e3 * residual.shift, math.degrees(residual.angle)
    return ("" if math.isnan(mm) else f"{mm:.1f}", "" if math.isnan(degrees) else f"{degrees:.1f}")


def parse_controls(body: Figure, pairs: Mapping[str, str]) -> dict[str, float]:
    """Return the values of `--set` by full names; a name without its side stands for both."""
    values: dict[str, float] = {}
    for name, text in pairs.items():
        both = [f"{side}_{name}" for side in ("left", "right")]
        names = both if name not in body.controls and set(both) <= set(body.controls) else [name]
        values |= dict.fromkeys(names, options.parse_number(f"--set {name}", text))
    return values


def find_controls(
    body: Figure, controls: Mapping[str, float], targets: Mapping[str, str]
) -> tuple[dict[str, float], bool]:
    """Return controls that bring segments to targets X,Y,Z, and whether all targets are met.

    Those in `controls` stay. The others that change are printed, with the reason for a miss.
    """
    from ..ik import Reach, solve_controls

    goals = [
        Reach(segment_of(body, name), options.parse_vector("--reach", text))
        for name, text in targets.items()
    ]
    start = body.pose(controls)
    free = [name for name in body.controls if name not in controls]
    solution = solve_controls(body, start.controls, goals, only=free)
    values = dict(zip(body.controls, solution.controls.tolist(), strict=True))
    before = dict(zip(body.controls, start.controls.tolist(), strict=True))
    changed = [name for name in values if abs(values[name] - before[name]) > 1e-9]
    if changed:
        terminal.echo(f"found {' '.join(f'{name}={values[name]:.4g}' for name in changed)}")
    if not changed or not solution.converged:
        terminal.echo(solution.reason())
    return values, bool(solution.converged)


def segment_of(body: Figure, name: str) -> str:
    """Return the segment of this name in any case and with underscores, as in left_hand."""
    plain = {segment.replace("_", "").lower(): segment for segment in body.skeleton.names}
    segment = plain.get(name.replace("_", "").lower(), name)
    return body.skeleton.names[body.skeleton.index(segment)]


def control_lines(body: Figure) -> Iterator[str]:
    """Yield the table of controls."""
    rows = [
        (name, *(_with_unit(value, limits) for value in (limits.low, limits.neutral, limits.high)))
        for name, limits in body.controls.items()
    ]
    yield from terminal.table(("control", "from", "neutral", "to"), rows)
    yield ""
    segments = terminal.pluralize(len(body.skeleton), "segment")
    yield f"{terminal.pluralize(len(rows), 'control')} for {segments}"


def write_output(body: Figure, controls: Mapping[str, float], output: Path) -> Iterator[str]:
    """Write the figure, its limits or its pose, and yield lines about it."""
    from ..anatomy import limits_of
    from ..components import clip_of
    from ..io import save_clip, save_figure, save_limits

    if output.suffix.lower() == ".xml":
        save_figure(body, output)
    elif output.name.lower().endswith(options.LIMITS_SUFFIX):
        save_limits(limits_of(body), output)
    else:
        pose = body.pose(controls)
        yield from clamped_lines(body, pose, controls)
        for name, gap in pose.gaps.items():
            yield f"{name} could not comply everywhere: it is off by {float(gap.max()):.2g}"
        save_clip(clip_of(body, pose, 1.0 / FRAMES_A_SECOND), output)
    yield f"wrote {output}"


def clamped_lines(body: Figure, posed: FigurePose, controls: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each control that was clamped to its range."""
    for name, beyond in posed.clamped.items():
        span, requested = body.controls[name], controls[name]
        low, high, asked, used = (
            _with_unit(value, span)
            for value in (span.low, span.high, requested, requested - float(beyond))
        )
        yield f"{name} goes from {low} to {high}: {asked} became {used}"


def _with_unit(value: float, limits: Control) -> str:
    """Return a value of the control `limits` with its unit."""
    return f"{value:.6g}{UNITS[limits.unit]}"
