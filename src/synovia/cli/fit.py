"""`synovia fit`: learn limits from clips."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from ..charts import CHARTS
from ..learn import ESTIMATORS
from ..shapes import SHAPES
from ..text import percent
from . import options, terminal
from .clips import joint_names, load_takes
from .info import ANGLE_OPTIONS, provenance_lines

if TYPE_CHECKING:
    from ..model import LimitModel

EXAMPLES = (
    ("learn from every clip in a directory", "synovia fit captures/ -o human.limits.json"),
    (
        "choose the margins so that newcomers are outside in 0.5% of the frames, on average",
        "synovia fit 'rom/*.bvh' -o human.limits.json --reject 0.5%",
    ),
    (
        "performers by folder, swing and twist each by itself, a joint left out",
        "synovia fit s*/ -o arm.limits.json -p 's([0-9]+)/' -s product -w swing=kdop -x LThumb",
    ),
    (
        "limits for one performer, filled up with what others do (fitted with --keep-samples)",
        "synovia fit ann_rom.bvh -o ann.limits.json --blend human.limits.json",
    ),
)
DROPPED = ("flips", "unconfirmed", "isolated")
"""Reasons for dropping frames, as provenance names them."""
FIT_OPTIONS = (
    options.limits_output_option,
    click.option(
        "-s",
        "--shape",
        type=click.Choice([*SHAPES, *ESTIMATORS]),
        default="kdop",
        show_default=True,
        help="The shape of a joint's region; people is a distance field of the rotations near to "
        "many performers.",
    ),
    click.option(
        "-c",
        "--chart",
        type=click.Choice(list(CHARTS)),
        show_default="swing-twist, or what the shape needs",
        help="The coordinates of the region.",
    ),
    click.option(
        "-w",
        "--with",
        "shape_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the shape, like along=chart for box and kdop, swing=kdop for "
        "product, vertices=12 for reach-cone and union, cell=3 (degrees) for theta-phi, "
        "resolution=48 for distance-field and people. Repeat it for more.",
    ),
    click.option(
        "--margin",
        type=click.FloatRange(min=0.0),
        callback=options.parsed_by(math.radians),
        metavar="DEG",
        help="How much wider than what was observed, in degrees.",
        show_default="--reject 1% with three performers or more, else 2.9",
    ),
    click.option(
        "--reject",
        callback=options.parsed_by(options.parse_share),
        metavar="SHARE",
        help="Widen each joint's margin until at most this share (0.5% or 0.005) of the frames of "
        "people who are not in the clips is expected outside, on average; estimated by leaving "
        "out performers in turn. Needs two clips or more.",
    ),
    click.option(
        "--trim",
        callback=options.parsed_by(options.parse_share),
        metavar="SHARE",
        default="5%",
        show_default=True,
        help="The largest share of a joint's frames to drop because no other performer comes near "
        "them; 0 keeps every frame, capture flips too.",
    ),
    click.option(
        "-r",
        "--reference",
        type=click.Choice(["mean", "rest"]),
        default="mean",
        show_default=True,
        help="The origin of angles: the mean of what was observed, or the file's pose without "
        "rotation.",
    ),
    options.joints_option,
    click.option(
        "-x",
        "--exclude",
        multiple=True,
        metavar="A,B",
        callback=options.parsed_by(options.split_names),
        help="Not these joints.",
    ),
    options.map_option,
    click.option(
        "--depends",
        multiple=True,
        metavar="JOINT:DRIVER|auto",
        callback=options.parsed_by(options.parse_drivers),
        help="Let the limit of a joint depend on the rotation of another joint: "
        "LeftLeg:LeftUpLeg. Repeat it for more. With auto: where that pays on people who are left "
        "out.",
    ),
    click.option(
        "--keep-samples", is_flag=True, help="Also keep what was observed, thinned, in the file."
    ),
)
"""Options of `fit` and of `corpus fit`."""


def fit_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add `FIT_OPTIONS` to a command, which passes their values on to `fitting_of`."""
    for option in reversed(FIT_OPTIONS):
        function = option(function)
    return function


def fitting_of(fitting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `FitOptions.of` for the values of `FIT_OPTIONS`."""
    arguments = {key: value for key, value in fitting.items() if key != "shape_options"}
    if fitting["margin"] is not None and fitting["reject"] is not None:
        raise click.UsageError("--reject chooses the margin: give either --margin or --reject")
    pairs = options.parse_pairs(fitting["shape_options"], "--with", form="OPTION=VALUE")
    shape_options = parse_shape_options(fitting["shape"], pairs)
    return {**arguments, "names": joint_names() or None, **shape_options}


@options.command(examples=EXAMPLES)
@options.clips_argument
@fit_options
@options.relative_option
@options.performer_option
@click.option(
    "--blend",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Limits of a population, written with --keep-samples: the CLIPs are one performer's, who "
    "is believed in every frame and counts for 20 people; what the others did fills the rest.",
)
@options.skeleton_option
def fit(
    clips: tuple[str, ...],
    output: Path,
    ancestors: tuple[str, ...],
    performer: str | None,
    blend: Path | None,
    **fitting: Any,
) -> None:
    """Learn the limits of every joint from clips.

    Names of joints are those of the first clip. Capture flips are dropped, and frames that no
    other performer confirms.
    """
    from ..io import load_limits
    from ..model import LimitModel

    options.check_limits_output(output)
    fitting_values = fitting_of(fitting)
    population = None if blend is None else load_limits(blend)
    if population is not None and not any(population.samples.values()):
        raise ValueError(f"{blend}: no samples to blend with; write it with fit --keep-samples")
    loaded, performers = load_takes(clips, performer, fitting_values["names"] or {})
    model = LimitModel.fit(
        loaded,
        performers=performers,
        blend=population,
        relative_to=options.parse_pairs(ancestors, "--relative-to", form="JOINT=ANCESTOR"),
        progress=terminal.progress("fitting"),
        **fitting_values,
    )
    save_fit(model, output)


def save_fit(model: LimitModel, output: Path) -> None:
    """Write learned limits, and print a summary of them."""
    from ..io import save_limits

    save_limits(model, output)
    terminal.echo_lines(summary(model))
    terminal.echo(f"wrote {output}")


def parse_shape_options(shape: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a shape's fit, or of an estimator, converted to their types."""
    types = (SHAPES[shape] if shape in SHAPES else ESTIMATORS[shape]).fit_options(texts)
    offered = ", ".join(f"{key}={_option_form(key, kind)}" for key, kind in types.items())
    values: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in types:
            raise click.UsageError(f"--with {key}: {shape} takes {offered or 'no options'}")
        kind = types[key]
        try:
            if get_origin(kind) is Literal:
                values[key] = get_args(kind)[get_args(kind).index(text)]
            else:
                values[key] = math.radians(kind(text)) if key in ANGLE_OPTIONS else kind(text)
        except ValueError:
            raise click.UsageError(
                f"--with {key} must be {_option_form(key, kind)}, got {text!r}"
            ) from None
    return values


def _option_form(key: str, kind: Any) -> str:
    """Return what users type for an option: a unit, alternatives, or the name of a type."""
    if key in ANGLE_OPTIONS:
        return "DEGREES"
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else kind.__name__.upper()


def summary(model: LimitModel) -> Iterator[str]:
    """Yield a table of the joints, then lines about what was learned from."""
    joints, volumes = model.provenance["joints"], model.volume()
    drops = [key for key in DROPPED if key == "flips" or any(row[key] for row in joints.values())]
    shares = {"held out": "rejected", "newcomers": "promised"}
    if model.provenance["options"]["reject"] is None:
        shares = {}
    titles = ["joint", "kind", "frames", *drops, "margin deg", *shares, "volume"]
    rows = []
    for name, row in joints.items():
        cells = [name, row["kind"], str(row["frames"]), *(str(row[key] or "-") for key in drops)]
        cells += [terminal.degrees(row["margin"])]
        promised = [row[key] for key in shares.values()]
        cells += ["-" if share is None else percent(share) for share in promised]
        rows.append([*cells, percent(volumes[name])])
    totals = [sum(row[key] for row in joints.values()) for key in ("frames", *drops)]
    rows.append(["all joints", "", *map(str, totals), *[""] * (2 + len(shares))])
    yield from terminal.table(titles, rows, left=2)
    yield ""
    for name, row in joints.items():
        if "depends" in row:
            yield _dependence_line(name, row["depends"])
    yield from provenance_lines(model.provenance)


def _dependence_line(name: str, row: Mapping[str, Any]) -> str:
    """Return a line about a learned dependence and the volume that it saves."""
    text = f"{name} depends on {row['driver']}"
    if row["volume_share"] is None:
        return text
    return f"{text}: {row['volume_share']:.0%} of the volume without, at the same rejection"
