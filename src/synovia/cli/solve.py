"""`synovia solve`: drive joints of a clip to where they should be, within limits."""

from __future__ import annotations

import math
from pathlib import Path

import click

from . import driven, inputs, targets, terminal

EXAMPLES = (
    (
        "the left hand along a path, a row x,y,z for each frame",
        "synovia solve walk.bvh -l human.limits.json -g LeftHand=path.csv -o driven.bvh",
    ),
    (
        "both hands, one of them at one place throughout; the left arm alone turns",
        "synovia solve walk.bvh -l h.limits.json -g LeftHand=a.csv -g RightHand=0,30,8 "
        "-j LeftArm -o b.bvh",
    ),
    (
        "the hips may move, the feet stay on their tracks",
        "synovia solve walk.bvh -l h.limits.json -g LeftHand=a.csv --free-root "
        "--pin LFoot,RFoot -o b.bvh",
    ),
    (
        "for a script: exit code 1 where a goal is not met, and why",
        "synovia solve walk.bvh -l human.limits.json -g LeftHand=path.csv -o driven.bvh --json",
    ),
)
SECTIONS = {
    "Goals": ("goals", "pins"),
    "Limits": ("limits_path", "maps"),
    "How": ("joints", "free_root", "speed_deg"),
    "Output": ("output", "force", "as_json"),
}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@driven.clip_argument
@inputs.limits_option
@click.option(
    "-g",
    "--goal",
    "goals",
    multiple=True,
    required=True,
    metavar="JOINT=FILE.csv|JOINT=X,Y,Z",
    help="Where a joint should be, in the world and in the clip's unit: a file with a row x,y,z "
    "for each frame, or one place for all. With titles in its first line, a file may have other "
    "columns too. Repeat it for more joints.",
)
@click.option(
    "--pin",
    "pins",
    multiple=True,
    metavar="JOINT",
    help="Keep a joint where it is in the clip, frame by frame. Repeat it, or give A,B.",
)
@click.option(
    "-j",
    "--joints",
    multiple=True,
    metavar="JOINT",
    help="Turn these only; without it, all on the way to the goals but the root. Repeat it, or "
    "give A,B.",
)
@click.option("--free-root", is_flag=True, help="Let the root turn and move as well.")
@driven.speed_option
@inputs.map_option
@driven.output_option
@driven.force_option
@driven.json_option
@terminal.debug_option
@click.pass_context
def solve(
    ctx: click.Context,
    clip_path: str,
    limits_path: Path,
    goals: tuple[str, ...],
    pins: tuple[str, ...],
    joints: tuple[str, ...],
    free_root: bool,
    speed_deg: float,
    maps: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Drive joints of CLIP to their goals, frame by frame, with every joint inside its limits.

    Each frame begins where the last one ended, and what the goals leave open stays near the clip,
    so nothing pops. Where a goal cannot be met, the frame comes as near as limits allow, and the
    joints that are in the way are named. The exit code is 0 when all goals are met in every frame,
    1 when not (the clip is written all the same), and 2 for an error.
    """
    from ..ik import Reach, follow

    places = inputs.pairs(goals, "--goal")
    model, clip, names = driven.loaded(clip_path, limits_path, maps, output, force=force)
    for joint in (*places, *inputs.listed(pins), *inputs.listed(joints)):
        clip.skeleton.index(joint)
    asked = [
        Reach(joint, targets.target("--goal", text, clip.frames)) for joint, text in places.items()
    ]
    found = follow(
        model,
        clip,
        asked,
        joints=inputs.listed(joints) or None,
        pinned=inputs.listed(pins),
        free_root=free_root,
        fastest=math.radians(speed_deg),
        names=names,
        progress=terminal.progress("solving"),
    )
    driven.finish(clip, found, output, as_json=as_json, exit=ctx.exit)
