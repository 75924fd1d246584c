"""`synovia look`: rotate spine, neck and head of a clip towards a target, within limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, solve, terminal
from .clips import parse_target

if TYPE_CHECKING:
    from ..arrays import Vectors
    from ..population import HumanLimits
    from ..skeleton import Skeleton

HEAD = "head"
EXAMPLES = (
    (
        "look at a point, with all joints from the hips to the head",
        "synovia look walk.bvh --at 0,50,200 -o looking.bvh",
    ),
    (
        "look after something that moves; the head does most of it",
        "synovia look walk.bvh --at ball.csv --with Neck=1,Head=3 -o looking.bvh",
    ),
)


@options.command(examples=EXAMPLES)
@solve.clip_argument
@options.human_options
@click.option(
    "--at",
    required=True,
    metavar="X,Y,Z|FILE.csv",
    help="The target, in the world and in the clip's unit: one point, or a file with a row x,y,z "
    "for each frame.",
)
@click.option(
    "--with",
    "joints",
    multiple=True,
    metavar="JOINT[=WEIGHT],…",
    help="The joints that rotate, from the body to the head, and the weight of each; equal unless "
    "given. Without it, all between the root and the head.",
)
@click.option(
    "--axis",
    metavar="X,Y,Z",
    help="The direction of the face, in the frame of the head.  [default: forwards, if human "
    "limits know the head, else 0,0,1]",
)
@solve.speed_option
@solve.output_option
def look(
    clip_path: str,
    limits: str,
    at: str,
    joints: tuple[str, ...],
    axis: str | None,
    speed_deg: float,
    maps: tuple[str, ...],
    output: Path,
    force: bool,
) -> None:
    """Turn spine, neck and head of CLIP towards something.

    Every joint stays inside its limits. From the body to the head each joint takes its share; what
    its limit does not allow, the others take up. Where the look changes sides, as behind the back,
    it takes some frames. The clip is written in any case.
    """
    from ..ik import watch

    direction = None if axis is None else options.parse_direction("--axis", axis)
    clip, applied = solve.load_clip_and_limits(clip_path, limits, maps, output, force=force)
    if direction is None:
        direction = face_direction(clip.name, applied.human)
    weights = parse_weights(options.split_names(joints))
    if not weights:
        weights = dict.fromkeys(joints_to_head(clip.skeleton, applied.human), 1.0)
    for joint in weights:
        clip.skeleton.index(joint)
    driven = watch(
        applied.model,
        clip,
        parse_target("--at", at, clip.frames),
        list(weights),
        weights=list(weights.values()),
        axis=direction,
        max_speed=math.radians(speed_deg),
        names=applied.names,
        progress=terminal.progress("looking"),
    )
    solve.finish(clip, driven, output)


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the weights of joints in texts like "Neck" or "Neck=2"."""
    weights: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        try:
            weight = float(number) if number else 1.0
        except ValueError:
            weight = math.nan
        if not (name and 0.0 <= weight < math.inf):
            raise click.UsageError(f"--with takes JOINT or JOINT=WEIGHT, got {text!r}")
        if weights.setdefault(name, weight) != weight:
            raise click.UsageError(f"--with gives {name} twice: {weights[name]:g} and {weight:g}")
    if weights and not [*weights.values()][-1] > 0.0:
        raise click.UsageError(f"--with needs a weight above 0 for the last joint, {name}, got 0")
    return weights


def face_direction(name: str, human: HumanLimits | None) -> Vectors:
    """Return the direction (3,) of the face of a clip, in the frame of its head."""
    import numpy as np

    from .. import quat

    ahead = np.array([0.0, 0.0, 1.0])
    if human is None:
        return ahead
    if HEAD not in human.alignment.trusted:
        warnings.warn(
            f"{name}: where the face points is not sure: 0,0,1 of the head is taken, and --axis "
            "says otherwise",
            stacklevel=2,
        )
        return ahead
    return quat.rotate(human.alignment.frames[HEAD], ahead)


def joints_to_head(skeleton: Skeleton, human: HumanLimits | None) -> list[str]:
    """Return the joints from below the root to the one with the role or the name of the head."""
    from ..skeleton import bare_name

    if human is not None and HEAD in human.alignment.rig.roles:
        head = skeleton.index(human.alignment.rig.roles[HEAD])
    else:
        bare = [bare_name(name).lower() for name in skeleton.names]
        if HEAD not in bare:
            raise click.UsageError(
                "no joint is called Head: say with --with which joints turn, from the body to the "
                f"head; there are {', '.join(skeleton.names)}"
            )
        head = bare.index(HEAD)
    return [skeleton.names[joint] for joint in skeleton.path_to_root(head)[-2::-1]]
