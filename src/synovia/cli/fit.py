"""`synovia fit`: learn limits from clips."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..charts import CHARTS
from ..learn import ESTIMATORS
from ..shapes import SHAPES
from ..text import percent
from . import inputs, terminal
from .inputs import shape_options

if TYPE_CHECKING:
    from ..model import LimitModel
    from ..skeleton import Clip


EXAMPLES = (
    ("learn from every clip in a directory", "synovia fit captures/ -o human.limits.json"),
    (
        "choose the margins so that newcomers are outside in 0.5% of the frames, on average",
        "synovia fit 'rom/*.bvh' -o human.limits.json --reject 0.5%",
    ),
    (
        "accept what is near to many performers, as wide as newcomers require",
        "synovia fit captures/ -o human.limits.json -s people --reject 0.5%",
    ),
    (
        "performers by folder, swing and twist each by itself, a joint left out",
        "synovia fit s*/ -o arm.limits.json -p 's([0-9]+)/' -s product -w swing=kdop -x LThumb",
    ),
    (
        "an arm measured from the chest, whatever the collar bone does",
        "synovia fit captures/ -o human.limits.json --relative-to LeftArm=Spine1",
    ),
    (
        "a knee that bends as far as people bend it at each rotation of the hip",
        "synovia fit captures/ -o human.limits.json --depends LeftLeg:LeftUpLeg",
    ),
    (
        "limits for one performer, filled up with what others do",
        "synovia fit ann_rom.bvh -o ann.limits.json --blend human.limits.json",
    ),
)
SECTIONS = {
    "The region": ("shape", "chart", "options", "reference", "ancestors", "depends"),
    "How wide it is, and what is believed": ("margin_deg", "reject", "trim", "performer", "blend"),
    "Joints": ("joints", "exclude", "maps"),
    "Output": ("output", "force", "keep_samples"),
}
Command = TypeVar("Command", bound=Callable[..., Any])
DROPPED = ("flips", "unconfirmed", "isolated")


FIT_OPTIONS = (
    click.option(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Where to write the limits: a name that ends in .limits.json.",
    ),
    click.option(
        "-s",
        "--shape",
        type=click.Choice([*SHAPES, *ESTIMATORS]),
        default="kdop",
        show_default=True,
        help="What the region of a joint looks like; people is a distance field of the rotations "
        "near to many performers.",
    ),
    click.option(
        "-c",
        "--chart",
        type=click.Choice(list(CHARTS)),
        show_default="swing-twist, or what the shape needs",
        help="What coordinates it is drawn in.",
    ),
    click.option(
        "-w",
        "--with",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the shape, like along=chart for box and kdop, by=volume for ellipsoid, "
        "swing=kdop for product, vertices=12 for reach-cone and union, cell=3 (degrees) for "
        "theta-phi, resolution=48 for distance-field and people. Repeat it for more.",
    ),
    click.option(
        "--margin",
        "margin_deg",
        type=click.FloatRange(min=0.0),
        metavar="DEG",
        help="How much wider than what was observed, in degrees.",
        show_default="--reject 1% with three performers or more, else 2.9",
    ),
    click.option(
        "--reject",
        callback=inputs.share,
        metavar="SHARE",
        help="Widen each joint's margin until at most this share (0.5% or 0.005) of the frames of "
        "people who are not in the clips is to be expected outside, on average; performers are "
        "left out in turn to tell. Needs two clips or more.",
    ),
    click.option(
        "--trim",
        callback=inputs.share,
        metavar="SHARE",
        default="5%",
        show_default=True,
        help="The most to drop of a joint's frames because nobody else comes near them; 0 keeps "
        "every frame, capture flips too.",
    ),
    inputs.joints_option,
    click.option("-x", "--exclude", multiple=True, metavar="A,B", help="Not these joints."),
    inputs.map_option,
    click.option(
        "--keep-samples", is_flag=True, help="Also keep what was observed, thinned, in the file."
    ),
    inputs.force_option,
)
"""What a fit is asked for, whatever it learns from."""


depends_option = click.option(
    "--depends",
    multiple=True,
    metavar="JOINT:DRIVER|auto",
    help="Let the limit of a joint depend on how another joint is turned: LeftLeg:LeftUpLeg. "
    "Repeat it for more. With auto: where that pays on people who are left out.",
)


def fit_options(command: Command) -> Command:
    """Give a command the options of a fit."""
    for option in reversed(FIT_OPTIONS):
        command = option(command)
    return command


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@inputs.clips_argument
@fit_options
@click.option(
    "-r",
    "--reference",
    default="mean",
    show_default=True,
    metavar="mean|rest|frame:N|FILE",
    help="What angles are measured from: the mean of what was observed, the file's pose without "
    "rotation, frame N of the first clip, or the first frame of another clip.",
)
@click.option(
    "--relative-to",
    "ancestors",
    multiple=True,
    metavar="JOINT=ANCESTOR",
    help="Measure a joint from a joint above it instead of from its parent. Repeat it for more.",
)
@depends_option
@inputs.performer_option
@click.option(
    "--blend",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Limits of a population, written with --keep-samples: the CLIPs are one performer's, who "
    "is believed in every frame and counts for 20 people; what the others did fills the rest.",
)
@inputs.skeleton_option
@terminal.debug_option
def fit(
    clips: tuple[str, ...],
    output: Path,
    shape: str,
    chart: str | None,
    options: tuple[str, ...],
    reference: str,
    ancestors: tuple[str, ...],
    depends: tuple[str, ...],
    margin_deg: float | None,
    reject: float | None,
    trim: float,
    performer: str | None,
    blend: Path | None,
    joints: tuple[str, ...],
    exclude: tuple[str, ...],
    maps: tuple[str, ...],
    keep_samples: bool,
    force: bool,
) -> None:
    """Learn the limits of every joint from clips.

    CLIPs are files, directories (with all that is below them) and globs. Names of joints are those
    of the first. Capture flips are dropped, and frames that no other performer confirms.
    """
    from ..io import load_limits, save_limits
    from ..model import LimitModel

    if margin_deg is not None and reject is not None:
        raise click.UsageError("--reject chooses the margin: give either --margin or --reject")
    inputs.check_limits_output(output, force=force)
    settings = shape_options(shape, inputs.pairs(options, "--with"))
    names = inputs.joint_names(maps)
    files = inputs.clip_files(clips)
    who = inputs.performers(performer, files)
    start = reference_of(reference)
    population = None if blend is None else load_limits(blend)
    if population is not None and not any(population.samples.values()):
        raise ValueError(f"{blend}: no samples to blend with; write it with fit --keep-samples")
    loaded = inputs.load_all(files)
    inputs.check_map(names, loaded[0].skeleton, loaded)
    model = LimitModel.fit(
        loaded,
        shape,
        chart,
        margin=None if margin_deg is None else math.radians(margin_deg),
        reject=reject,
        trim=trim,
        reference=start,
        performers=who,
        joints=inputs.split_names(joints) or None,
        exclude=inputs.split_names(exclude),
        names=names or None,
        keep_samples=keep_samples,
        blend=population,
        relative_to=inputs.pairs(ancestors, "--relative-to"),
        depends=drivers_of(depends),
        progress=terminal.progress("fitting"),
        **settings,
    )
    save_limits(model, output)
    for line in summary(model):
        terminal.echo(line)
    terminal.echo(f"wrote {output}")


def dependence_line(name: str, row: Mapping[str, Any]) -> str:
    """Return what is said of a learned dependence, and what it saves."""
    said = f"{name} depends on {row['driver']}"
    if row["volume_share"] is None:
        return said
    share, error = (100.0 * row[key] for key in ("volume_share", "volume_share_error"))
    return (
        f"{said}: together {share:.0f} ± {error:.0f}% of the volume without, at the same rejection "
        "of people left out"
    )


def drivers_of(texts: tuple[str, ...], option: str = "--depends") -> dict[str, str] | str | None:
    """Return what --depends, or another option, says: drivers by joint, or auto."""
    if "auto" in texts:
        if len(texts) > 1:
            raise click.UsageError(f"{option} auto finds the joints itself: give it alone")
        return "auto"
    return inputs.pairs(texts, option, sign=":", form="JOINT:DRIVER or auto") or None


def reference_of(text: str) -> str | int | Clip:
    """Return what --reference says, a clip loaded."""
    from ..io import clip_suffix, load_clip, split_clip

    word, colon, number = text.partition(":")
    if text in ("mean", "rest"):
        return text
    if word == "frame" and colon and number.lstrip("-").isdigit():
        return int(number)
    if not clip_suffix(split_clip(text)[0]):
        raise click.UsageError(f"--reference takes mean, rest, frame:N or a clip, got {text!r}")
    return load_clip(text, skeleton=inputs.SKELETON.get())


def summary(model: LimitModel) -> Iterator[str]:
    """Yield a table of the joints, then what it was learned from."""
    joints, volumes = model.provenance["joints"], model.volume()
    drops = [key for key in DROPPED if key == "flips" or any(row[key] for row in joints.values())]
    shares = {"held out": "rejected", "newcomers": "promised"}
    if model.provenance["options"]["reject"] is None:
        shares = {}
    titles = ["joint", "kind", "frames", *drops, "margin deg", *shares, "volume"]
    rows = []
    for name, row in joints.items():
        cells = [name, row["kind"], str(row["frames"]), *(str(row[key] or "-") for key in drops)]
        cells += [terminal.degrees(math.degrees(row["margin"]))]
        promised = [row[key] for key in shares.values()]
        cells += ["-" if share is None else percent(share) for share in promised]
        rows.append([*cells, percent(volumes[name])])
    totals = [sum(row[key] for row in joints.values()) for key in ("frames", *drops)]
    rows.append(["all joints", "", *map(str, totals), *[""] * (2 + len(shares))])
    yield from terminal.heading(terminal.table(titles, rows, left=2))
    yield ""
    for name, row in joints.items():
        if "depends" in row:
            yield dependence_line(name, row["depends"])
    yield from terminal.provenance_lines(model.provenance)
