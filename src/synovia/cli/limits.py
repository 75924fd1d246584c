"""`synovia limits` and `retarget-limits`: limits of a human as a file, for the rig at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import human, inputs, terminal

if TYPE_CHECKING:
    from ..model import LimitModel
    from ..population import Source
    from ..skeleton import Clip, Skeleton

RIGS = ("smpl", "smplh", "smplx", "vrm", "mixamo", "mujoco-cmu")
"""Rigs that need no file."""
LIMITS_EXAMPLES = (
    ("for every SMPL body there is", "synovia limits --rig smpl -o smpl.limits.json"),
    (
        "for the rig of a clip, what people did",
        "synovia limits people --rig walk.bvh -o walk.limits.json",
    ),
)
RETARGET_EXAMPLES = (
    (
        "learned on one rig, used on another",
        "synovia retarget-limits captured.limits.json --rig character.glb -o character.limits.json",
    ),
    (
        "for a training set of SMPL poses",
        "synovia retarget-limits captured.limits.json --rig smpl -o smpl.limits.json",
    ),
)
rig_option = click.option(
    "--rig",
    required=True,
    metavar=f"{'|'.join(RIGS)}|FILE",
    help="The rig: one of these, a clip of it, limits for it, or a model of it (MJCF, URDF).",
)
output_option = click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to write the limits: a name that ends in .limits.json.",
)


@click.command(cls=terminal.TeachingCommand, examples=LIMITS_EXAMPLES)
@click.argument(
    "source",
    metavar="[human|possible|usual|anatomy]",
    default="human",
    type=click.Choice(inputs.SOURCES),
)
@rig_option
@inputs.map_option
@human.tpose_option
@inputs.skeleton_option
@human.verbose_option
@output_option
@inputs.force_option
@terminal.debug_option
def limits(source: Source, rig: str, maps: tuple[str, ...], output: Path, force: bool) -> None:
    """Write the limits of a human for a rig.

    They give both verdicts, impossible and unusual, unless one set of limits is named. Every tool
    that reads limits files can use them from then on.
    """
    inputs.check_limits_output(output, force=force)
    skeleton, clip = _rig(rig)
    names = inputs.joint_names(maps)
    _write(inputs.apply_human(source, clip or _still(skeleton, rig), names, rig).model, output)


@click.command(cls=terminal.TeachingCommand, examples=RETARGET_EXAMPLES)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@rig_option
@inputs.map_option
@click.option(
    "--learned-on",
    "own_clip",
    metavar="CLIP",
    help="A clip of the rig that the limits were learned on: it shows how that stands, where its "
    "rest pose does not.",
)
@inputs.skeleton_option
@output_option
@inputs.force_option
@terminal.debug_option
def retarget_limits(
    file: Path, rig: str, maps: tuple[str, ...], own_clip: str | None, output: Path, force: bool
) -> None:
    """Write the limits in FILE for another rig of a human.

    Names, rest pose and frames of the rigs may differ: both are recognised as humans and brought
    to the same T-pose. Limits of joints that both have are carried over exactly, others are named.
    """
    from ..io import load_clip, load_limits

    inputs.check_limits_output(output, force=force)
    skeleton, clip = _rig(rig)
    limits = load_limits(file)
    own = [] if own_clip is None else [load_clip(own_clip, skeleton=inputs.SKELETON.get())]
    if own and own[0].skeleton.names != limits.skeleton.names:
        raise ValueError(f"{own_clip}: --learned-on takes a clip of the joints that {file} is for")
    try:
        model = limits.on(
            skeleton,
            clips=[] if clip is None else [clip],
            roles=inputs.joint_names(maps),
            own_clips=own,
        )
    except ValueError as error:
        hint = "" if own else "; --learned-on CLIP may show how its rig stands"
        raise ValueError(f"{file} on {rig}: {error}{hint}") from None
    if not model.limits:
        raise ValueError(f"{file}: none of its limits can be carried over to {rig}")
    _write(model, output)


def _rig(rig: str) -> tuple[Skeleton, Clip | None]:
    """Return the skeleton of a known rig or of a file, and the clip in the file if there is."""
    from ..io import clip_suffix, load_clip, load_limits
    from ..io.limits import SUFFIX
    from ..io.ranges import range_suffix, read_ranges
    from ..io.smpl import smpl_skeleton
    from ..rigs.known import mixamo_skeleton, mujoco_cmu_skeleton, vrm_skeleton

    if rig in RIGS:
        joints = {"smpl": 24, "smplh": 52, "smplx": 55}.get(rig)
        if joints is not None:
            return smpl_skeleton(joints), None
        named = {"vrm": vrm_skeleton, "mixamo": mixamo_skeleton, "mujoco-cmu": mujoco_cmu_skeleton}
        return named[rig](), None
    if rig.lower().endswith(SUFFIX):
        return load_limits(rig).skeleton, None
    if range_suffix(rig) and not clip_suffix(rig) and Path(rig).exists():
        return read_ranges(rig).skeleton, None
    if not Path(rig.split("#")[0]).exists():
        raise click.UsageError(f"--rig must be one of {', '.join(RIGS)}, or a file, got {rig!r}")
    clip = load_clip(rig, skeleton=inputs.SKELETON.get())
    return clip.skeleton, clip


def _still(skeleton: Skeleton, name: str) -> Clip:
    """Return a clip of a skeleton at rest, without frames."""
    import numpy as np

    from ..skeleton import Clip, Pose

    joints = len(skeleton)
    return Clip(skeleton, Pose(np.empty((0, joints, 4)), np.empty((0, joints, 3))), 1.0, name)


def _write(model: LimitModel, output: Path) -> None:
    from ..io import save_limits

    save_limits(model, output)
    terminal.echo(f"limits of {terminal.pluralize(len(model.limits), 'joint')}; wrote {output}")
