"""`synovia draw`: pictures of limits, and of joints in their poses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, terminal
from .apply import load_model, model_on_rig
from .clips import joint_names, load_clip
from .figure import figure_of

if TYPE_CHECKING:
    from ..model import LimitModel
    from ..population import Source

HUMAN: Source = "human"
EXAMPLES = (
    ("what humans can do, every joint on one sheet", "synovia draw -o human.png"),
    (
        "one joint: where the bone may point and twist, and the region in space",
        "synovia draw human.limits.json --joint LeftUpperArm -o shoulder.png",
    ),
    (
        "what a knee may do, over where the hip points that it depends on",
        "synovia draw human.limits.json --depends LeftLeg -o knee.png",
    ),
    ("the scapulae on the thorax, in four poses", "synovia draw --plate scapula -o scapula.png"),
)


@options.command(examples=EXAMPLES)
@click.argument("file", metavar=f"[{options.LIMITS_METAVAR}]", required=False)
@click.option("-j", "--joint", metavar="NAME", help="Draw this joint alone, in detail.")
@click.option(
    "--depends",
    metavar="NAME",
    help="Draw maps of what this joint may do, over where the joint points that it depends on.",
)
@click.option(
    "--plate",
    type=click.Choice(["knee", "scapula"]),
    help="Draw a plate of joint components instead. FILE is then a figure (.xml) with such joints, "
    "if not the default human.",
)
@options.output_option("The picture: a name that ends in .png, .svg or .pdf.", "PICTURE")
@options.rig_options
def draw(
    file: str | None, joint: str | None, depends: str | None, plate: str | None, output: Path
) -> None:
    """Draw the limits in FILE, or a plate of joints.

    FILE holds limits, or it is a clip of a human, on whose rig the limits of a human are drawn;
    without it they are drawn on the canonical human, by role.

    On a sphere, where the bone may point, from dark blue, where it may twist little, to yellow.
    What was observed is drawn with it, if the file keeps that (synovia fit --keep-samples).
    """
    from .. import draw as pictures

    options.check_picture(output)
    kinds = {"--joint": joint, "--depends": depends, "--plate": plate}
    if len(chosen := [name for name, value in kinds.items() if value is not None]) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} draw different things: give one of them")
    if plate is not None:
        figure = figure_of(file or HUMAN, None)
        picture = pictures.draw_plate(figure, pictures.PLATES[plate])
    else:
        model = _model(HUMAN if file is None else file, joint_names())
        if joint is not None:
            _check_name("--joint", joint, "one of those with a limit", model.limits)
            picture = pictures.draw_joint(
                model.limits[joint], pictures.samples_of(model, joint), title=joint
            )
        elif depends is not None:
            if not model.dependents:
                raise click.UsageError(
                    f"--depends {depends}: no joint of these limits depends on another; synovia "
                    "fit --depends learns limits that do"
                )
            _check_name("--depends", depends, "a joint that depends on another", model.dependents)
            picture = pictures.draw_dependence(model, depends)
        else:
            picture = pictures.draw_joints(model, progress=terminal.progress("drawing"))
    pictures.save_picture(picture, output)
    terminal.echo(f"wrote {output}")


def _check_name(option: str, name: str, kind: str, names: Iterable[str]) -> None:
    """Raise UsageError unless an option's value is one of `names`, described by `kind`."""
    if name not in names:
        raise click.UsageError(
            f"{option} must be {kind} ({', '.join(names) or 'none'}), got {name}"
        )


def _model(file: str, roles: Mapping[str, str]) -> LimitModel:
    """Return the limits in a file, human limits for the rig of a clip, or those by role."""
    from ..io import clip_suffix, split_clip

    if clip_suffix(split_clip(file)[0]):
        return model_on_rig(HUMAN, load_clip(file), roles, file)
    return load_model(file, "FILE")
