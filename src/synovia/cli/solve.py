"""`synovia solve`: drive joints of a clip to where they should be; what `look` shares with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import inputs, terminal
from .clamp import growth

if TYPE_CHECKING:
    from ..arrays import Mask
    from ..ik import ClipSolution
    from ..skeleton import Clip


# What `solve` and `look` share: one clip in, one out, and a report of how near it came.

MOST_NAMED = 6  # joints that block, named in the summary

clip_argument = click.argument("clip_path", metavar="CLIP", type=click.Path())
output_option = click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT.bvh",
    type=click.Path(path_type=Path),
    help="The clip to write.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON report of all frames, and nothing else."
)
speed_option = click.option(
    "--speed",
    "speed_deg",
    type=click.FloatRange(min=1e-3),
    default=600.0,
    show_default=True,
    metavar="DEG",
    help="How fast a joint may turn away from what it does in the clip, in degrees a second; what "
    "needs a jump takes some frames.",
)


def load_inputs(
    clip_path: str, limits: str, maps: Sequence[str], output: Path, *, force: bool
) -> tuple[Clip, inputs.Applied]:
    """Return a clip and its limits, once it is sure that the output can be written."""
    names = inputs.joint_names(maps)
    files = inputs.clip_files([clip_path])
    if len(files) != 1:
        several = "; name one as FILE#NAME" if not Path(clip_path).is_dir() else ""
        raise click.UsageError(f"give one clip, got {len(files)} in {clip_path}{several}")
    inputs.check_clip_output(output, force=force)
    found = inputs.clips_for(inputs.load_limits_or_figure(limits), files, names, "loading")
    _, clip, applied = next(iter(found))
    if clip.frames == 0:
        raise ValueError(f"{clip.name}: a clip to drive must have frames, got none")
    return clip, applied


def finish(
    clip: Clip, driven: ClipSolution, output: Path, *, as_json: bool, exit: Callable[[int], Any]
) -> None:
    """Write the clip, say how near it came, and exit: 0 when all goals are met, 1 when not."""
    from ..io import save_clip

    save_clip(driven.clip, output)
    if as_json:
        terminal.echo(json.dumps(report(driven), indent=2, allow_nan=False))
    else:
        for line in summary(clip, driven, output):
            terminal.echo(line)
    exit(0 if driven.solution.converged.all() else 1)


def summary(clip: Clip, driven: ClipSolution, output: Path) -> Iterator[str]:
    """Yield one line for a clip whose goals are all met, and otherwise also what is in the way."""
    met, frames = int(driven.solution.converged.sum()), driven.clip.frames
    name = click.style(terminal.printable(driven.clip.name), bold=True)
    farthest = ", ".join(_goal_text(row) for row in _goal_rows(driven))
    yield (
        f"{name}: goals met in {met} of {terminal.pluralize(frames, 'frame')}; {farthest}; "
        f"wrote {output}"
    )
    if met < frames:
        yield from _reason_lines(driven)
    yield from growth(clip, driven.clip)


def _reason_lines(driven: ClipSolution) -> Iterator[str]:
    """Yield what is in the way: the worst frame, then how often what is."""
    worst = _worst_frame(driven)
    time = worst * driven.clip.frame_time
    yield from terminal.wrap(f"frame {worst} ({time:.2f} s): {driven.reason(worst)}")
    if blocking := _blocking(driven):
        joints = [
            f"{joint} in {terminal.pluralize(row['frames'], 'frame')} "
            f"({terminal.degrees(row['worst_deg'])} degrees more)"
            for joint, row in blocking.items()
        ]
        more = f" and {len(joints) - MOST_NAMED} more" if len(joints) > MOST_NAMED else ""
        yield from terminal.wrap(f"held by limits: {', '.join(joints[:MOST_NAMED])}{more}")
    for count, what in (
        (_beyond(driven).sum(), "beyond reach in {}"),
        (driven.late.sum(), "still on the way in {}; --speed lets joints turn faster"),
        (driven.elsewhere.sum(), "another pose would do in {}, too far away to go to at once"),
    ):
        if count:
            yield what.format(terminal.pluralize(int(count), "frame"))


def report(driven: ClipSolution) -> dict[str, Any]:
    """Return everything that is known of the frames, with angles in degrees."""
    solution = driven.solution
    unmet = [frame for frame, met in enumerate(solution.converged.tolist()) if not met]
    rows = _goal_rows(driven)
    return {
        "clip": driven.clip.name,
        "frames": driven.clip.frames,
        "frame_time": driven.clip.frame_time,
        "ok": not unmet,
        "met": driven.clip.frames - len(unmet),
        "goals": rows,
        "blocking": _blocking(driven),
        "unmet": [
            {
                "frame": frame,
                "reason": driven.reason(frame),
                "errors": [row["errors"][frame] for row in rows],
                "blocking_deg": {
                    name: math.degrees(angle) for name, angle in solution.blocking(frame).items()
                },
                "beyond": bool(_beyond(driven)[frame]),
                "late": bool(driven.late[frame]),
                "elsewhere": bool(driven.elsewhere[frame]),
            }
            for frame in unmet
        ],
    }


def _goal_rows(driven: ClipSolution) -> list[dict[str, Any]]:
    """Return by goal how far it is off in each frame, and at most; lengths, or degrees."""
    from ..ik import Comfort, Reach, Stay

    rows = []
    for k, goal in enumerate(driven.solution.goals):
        if isinstance(goal, Stay | Comfort):
            continue
        length = isinstance(goal, Reach)
        errors = driven.solution.errors[:, k]
        values = [float(error if length else math.degrees(error)) for error in errors]
        worst = int(errors.argmax())
        rows.append(
            {
                "joint": goal.joint,
                "kind": type(goal).__name__.lower(),
                "unit": "length" if length else "degrees",
                "worst": values[worst],
                "worst_frame": worst,
                "errors": values,
            }
        )
    return rows


def _goal_text(row: dict[str, Any]) -> str:
    joint, worst = terminal.printable(row["joint"]), row["worst"]
    far = f"{worst:.3g}" if row["unit"] == "length" else f"{worst:.1f} degrees"
    return f"{joint} off by at most {far} (frame {row['worst_frame']})"


def _worst_frame(driven: ClipSolution) -> int:
    """Return the frame that is farthest off; of those on their way only where there is no other."""
    import numpy as np

    unmet = ~driven.solution.converged
    stuck = unmet & ~driven.late
    farthest = max(
        _goal_rows(driven), key=lambda row: row["worst"] if unmet[row["worst_frame"]] else 0
    )
    return int(np.where(stuck if stuck.any() else unmet, farthest["errors"], -1.0).argmax())


def _beyond(driven: ClipSolution) -> Mask:
    """Tell in which frames a target is farther away than the chain is long."""
    import numpy as np

    return np.asarray(driven.solution.beyond.any(axis=1) & ~driven.solution.converged)


def _blocking(driven: ClipSolution) -> dict[str, dict[str, Any]]:
    """Return the joints whose limits are in the way, in most frames first, and how far at most.

    Frames on their way, and those that no joint could help, do not count.
    """
    counts = ~driven.solution.converged & ~driven.late & ~_beyond(driven)
    angles = driven.solution.blocked_angle[counts]
    often = (angles > 0.0).sum(axis=0).tolist()
    names = driven.clip.skeleton.names
    order = sorted((j for j, times in enumerate(often) if times), key=lambda j: -often[j])
    return {
        names[j]: {"frames": often[j], "worst_deg": math.degrees(angles[:, j].max())} for j in order
    }


# `synovia solve`: drive joints of a clip to where they should be, within limits.


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
        "away from the limits by 15 degrees, where there is a choice",
        "synovia solve walk.bvh -l h.limits.json -g LeftHand=a.csv --comfort 15 -o b.bvh",
    ),
    (
        "for a script: exit code 1 where a goal is not met, and why",
        "synovia solve walk.bvh -l human.limits.json -g LeftHand=path.csv -o driven.bvh --json",
    ),
)
SECTIONS = {
    "Goals": ("goals", "pins"),
    "Limits": ("limits", "maps", "tpose"),
    "How": ("joints", "free_root", "comfort_deg", "speed_deg"),
    "Output": ("output", "force", "as_json"),
}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@clip_argument
@inputs.human_options
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
@click.option(
    "--comfort",
    "comfort_deg",
    type=click.FloatRange(min=0.0, min_open=True, max=180.0),
    is_flag=False,
    flag_value=10.0,
    metavar="[DEG]",
    help="Keep joints away from their limits by so many degrees, 10 if no number is given, where "
    "the goals leave a choice.",
)
@speed_option
@output_option
@inputs.force_option
@json_option
@terminal.debug_option
@click.pass_context
def solve(
    ctx: click.Context,
    clip_path: str,
    limits: str,
    goals: tuple[str, ...],
    pins: tuple[str, ...],
    joints: tuple[str, ...],
    free_root: bool,
    comfort_deg: float | None,
    speed_deg: float,
    maps: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Drive joints of CLIP to their goals, frame by frame.

    Every joint stays inside its limits. Each frame begins where the last one ended, and what the
    goals leave open stays near the clip, so nothing pops. Where a goal cannot be met, the frame
    comes as near as limits allow, and the joints that are in the way are named. The exit code is 0
    when all goals are met in every frame, 1 when not (the clip is written all the same), and 2 for
    an error.
    """
    from ..ik import Comfort, Reach, follow

    places = inputs.pairs(goals, "--goal")
    clip, applied = load_inputs(clip_path, limits, maps, output, force=force)
    for joint in (*places, *inputs.split_names(pins), *inputs.split_names(joints)):
        clip.skeleton.index(joint)
    reaches = [
        Reach(joint, inputs.parse_target("--goal", text, clip.frames))
        for joint, text in places.items()
    ]
    ease = [] if comfort_deg is None else [Comfort(margin=math.radians(comfort_deg))]
    found = follow(
        applied.model,
        clip,
        [*reaches, *ease],
        joints=inputs.split_names(joints) or None,
        pinned=inputs.split_names(pins),
        free_root=free_root,
        max_speed=math.radians(speed_deg),
        names=applied.names,
        progress=terminal.progress("solving"),
    )
    finish(clip, found, output, as_json=as_json, exit=ctx.exit)
