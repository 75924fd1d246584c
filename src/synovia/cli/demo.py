"""`synovia demo`: learn, check and clamp on a human whose true limits are known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..text import percent
from . import options, terminal

if TYPE_CHECKING:
    from ..model import LimitModel
    from ..skeleton import Clip

EXAMPLES = (
    ("learn, check and clamp, and leave the files in synovia-demo", "synovia demo"),
    ("the same, in another directory", "synovia demo /tmp/limits"),
)
BEST = ("kdop", "swing-twist")
SHOWN_JOINT = "RightUpperArm"
SHOWN_VIOLATIONS = ("LeftLowerArm", "RightUpperArm", "LeftLowerLeg", "Head")
"""Joints whose worst frames the picture shows."""
FILES = ("rom.bvh", "wild.bvh", "clamped.bvh", "human.limits.json", "limits.png")


@options.command(examples=EXAMPLES)
@click.argument(
    "directory", metavar="[DIR]", default="synovia-demo", type=click.Path(path_type=Path)
)
@options.force_option
def demo(directory: Path) -> None:
    """Learn limits from motion, and clamp a wild clip with them.

    The demo takes the default human, whose limits are known, and makes two clips of it: in one a
    performer explores every joint, in the other an elbow bends backwards, an arm goes all the way
    round, a knee gives way to the side, a hand spins and the head looks behind. Limits are learned
    from the first; they check and clamp the second. Files go to DIR (synovia-demo unless given):
    rom.bvh, wild.bvh, clamped.bvh, human.limits.json and limits.png, and no other file there is
    touched.
    """
    if directory.exists() and not directory.is_dir():
        raise click.ClickException(
            f"{terminal.printable(str(directory))}: a file is where the demo's directory belongs; "
            "name another, as in: synovia demo elsewhere"
        )
    directory.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        options.check_output(directory / name)
    terminal.echo_lines(run_demo(directory))


def run_demo(directory: Path) -> Iterator[str]:
    """Learn, check and clamp; write the files, and yield lines about each step."""
    from .. import demo as data
    from ..io import save_clip, save_limits

    def title(text: str) -> str:
        return f"\n{click.style(text, bold=True)}"

    rom, wild = data.range_of_motion(), data.wild()
    yield title("A human whose true limits are known")
    yield f"{len(rom.skeleton)} joints, the limits of {len(data.JOINTS)} to be learned."
    save_clip(rom, directory / "rom.bvh")
    save_clip(wild, directory / "wild.bvh")

    yield title(f"Learning limits from {rom.frames} frames of rom.bvh")
    model = data.learn_limits(rom, *BEST)
    save_limits(model, directory / "human.limits.json")
    yield f"For each joint a k-DOP in the {BEST[1]} chart. Of random poses that its controls allow,"
    yield f"{percent(data.share_accepted(model))} are inside, as a mean over the joints."

    yield title("Checking wild.bvh")
    rows = [
        (row.name, terminal.degrees(row.worst), str(row.worst_frame), percent(row.share))
        for row in model.check(wild).joints
        if row.frames
    ]
    yield from terminal.table(("joint", "worst deg", "at frame", "frames outside"), rows)

    yield title("Clamping it, at 400 degrees a second at most")
    clamped = replace(model.project(wild), name="clamped")
    save_clip(clamped, directory / "clamped.bvh")
    outside = [row.name for row in model.check(clamped).joints if row.frames]
    yield f"Outside afterwards: {', '.join(outside) or 'no joint, in no frame'}."
    try:
        save_overview(model, rom, wild, clamped, directory / "limits.png")
        picture_line = "limits.png         all of this in one picture"
    except ImportError:
        picture_line = "(no picture: matplotlib is missing; pip install 'synovia[draw]' brings it)"

    yield title(f"Written to {terminal.printable(str(directory))}")
    yield "  rom.bvh            a performer exploring every joint, to learn from"
    yield "  wild.bvh           what breaks the limits"
    yield "  clamped.bvh        the same, brought back inside"
    yield "  human.limits.json  the limits"
    yield f"  {picture_line}"

    yield title("Try next")
    clip, limits, soft = (
        shlex.quote(str(directory / name)) for name in ("wild.bvh", "human.limits.json", "soft.bvh")
    )
    yield f"  synovia view {clip} --limits {limits}"
    yield f"  synovia check {clip} --limits {limits}"
    yield f"  synovia clamp {clip} --limits {limits} --soften inside:5 -o {soft}"


def save_overview(model: LimitModel, rom: Clip, wild: Clip, clamped: Clip, path: Path) -> None:
    """Draw the demo in one picture, and write it to `path`."""
    from ..draw import draw_overview, save_picture
    from ..skeleton import lineage

    path_up = lineage(rom.skeleton, SHOWN_JOINT, model.limits[SHOWN_JOINT].relative_to)
    worst = {row.name: row.worst_frame for row in model.check(wild).joints}
    figure = draw_overview(
        model,
        wild,
        clamped,
        joint=SHOWN_JOINT,
        samples=path_up.relative_rotation(rom.pose.rotations),
        frames=sorted(worst[name] for name in SHOWN_VIOLATIONS),
    )
    save_picture(figure, path)
