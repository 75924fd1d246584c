"""`synovia look`: let the head of a clip look at something, within limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import inputs, solve, terminal

if TYPE_CHECKING:
    from ..arrays import Vectors
    from ..population import HumanLimits
    from ..skeleton import Skeleton


HEAD = "head"
EXAMPLES = (
    (
        "look at a place, with all joints from the hips to the head",
        "synovia look walk.bvh --at 0,50,200 -o looking.bvh",
    ),
    (
        "look after something that moves; the head does most of it",
        "synovia look walk.bvh --at ball.csv --with Neck=1,Head=3 -o looking.bvh",
    ),
    (
        "a rig whose head faces along x, with the eyes a little above the joint",
        "synovia look walk.bvh -l mine.limits.json --at 0,50,200 --axis 1,0,0 "
        "--eyes 2,3,0 -o b.bvh",
    ),
)
SECTIONS = {
    "What": ("at", "joints", "axis", "eyes"),
    "Limits": ("limits", "maps", "tpose"),
    "How": ("speed_deg",),
    "Output": ("output", "force", "as_json"),
}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@solve.clip_argument
@inputs.human_options
@click.option(
    "--at",
    required=True,
    metavar="X,Y,Z|FILE.csv",
    help="What to look at, in the world and in the clip's unit: one place, or a file with a row "
    "x,y,z for each frame.",
)
@click.option(
    "--with",
    "joints",
    multiple=True,
    metavar="JOINT[=WEIGHT],…",
    help="The joints that turn, from the body to the head, and how much of it each does; all alike "
    "unless given. Without it, all between the root and the head.",
)
@click.option(
    "--axis",
    metavar="X,Y,Z",
    help="Where the face points, in the frame of the head.  [default: forwards, where limits of a "
    "human know the head, else 0,0,1]",
)
@click.option(
    "--eyes",
    default="0,0,0",
    show_default=True,
    metavar="X,Y,Z",
    help="Where the eyes are, in the frame of the head.",
)
@solve.speed_option
@solve.output_option
@inputs.force_option
@solve.json_option
@terminal.debug_option
@click.pass_context
def look(
    ctx: click.Context,
    clip_path: str,
    limits: str,
    at: str,
    joints: tuple[str, ...],
    axis: str | None,
    eyes: str,
    speed_deg: float,
    maps: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Turn spine, neck and head of CLIP towards something.

    Every joint stays inside its limits. From the body to the head each joint takes its share; what
    its limit does not allow, the others take up. Where the look changes sides, as behind the back,
    it takes some frames. The exit code is 0 when it is met in every frame, 1 when not (the clip is
    written all the same), and 2 for an error.
    """
    from ..ik import watch

    typed = None if axis is None else inputs.parse_direction("--axis", axis)
    place = inputs.parse_vector("--eyes", eyes)
    clip, applied = solve.load_inputs(clip_path, limits, maps, output, force=force)
    model, names = applied.model, applied.names
    face = face_of(clip.name, applied.human) if typed is None else typed
    weights = parse_weights(inputs.split_names(joints))
    if not weights:
        weights = dict.fromkeys(joints_to_head(clip.skeleton, applied.human), 1.0)
    for joint in weights:
        clip.skeleton.index(joint)
    found = watch(
        model,
        clip,
        inputs.parse_target("--at", at, clip.frames),
        list(weights),
        weights=list(weights.values()),
        axis=face,
        point=place,
        max_speed=math.radians(speed_deg),
        names=names,
        progress=terminal.progress("looking"),
    )
    solve.finish(clip, found, output, as_json=as_json, exit=ctx.exit)


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the weights of joints in texts like "Neck" or "Neck=2"."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.partition("="))
        try:
            weight = float(number) if number else 1.0
        except ValueError:
            weight = math.nan
        if not (name and 0.0 <= weight < math.inf):
            raise click.UsageError(f"--with takes JOINT or JOINT=WEIGHT, got {text!r}")
        if found.setdefault(name, weight) != weight:
            raise click.UsageError(f"--with gives {name} twice: {found[name]:g} and {weight:g}")
    if found and not [*found.values()][-1] > 0.0:
        raise click.UsageError(f"--with needs a weight above 0 for the last joint, {name}, got 0")
    return found


def face_of(name: str, human: HumanLimits | None) -> Vectors:
    """Return where the face of a clip points, in the frame of its head."""
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
    """Return the joints from below the root to the head, or to the one called so."""
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
