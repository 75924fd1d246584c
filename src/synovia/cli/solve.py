"""`synovia solve` and `synovia look`: drive joints of a clip to goals, within limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, terminal
from .apply import AppliedLimits, ClipRun
from .clamp import largest_growth
from .clips import parse_target

if TYPE_CHECKING:
    from ..arrays import Mask, Vectors
    from ..ik import ClipSolution
    from ..population import HumanLimits
    from ..skeleton import Clip, Skeleton

SOLVE_EXAMPLES = (
    (
        "the left hand along a path, a row x,y,z for each frame",
        "synovia solve walk.bvh -l human.limits.json -g LeftHand=path.csv -o driven.bvh",
    ),
    (
        "the hips may move, the feet stay on their tracks",
        "synovia solve walk.bvh -l h.limits.json -g LeftHand=a.csv --free-root "
        "--pin LFoot,RFoot -o b.bvh",
    ),
)
LOOK_EXAMPLES = (
    (
        "look at a point, with all joints from the hips to the head",
        "synovia look walk.bvh --at 0,50,200 -o looking.bvh",
    ),
    (
        "look after something that moves; the head does most of it",
        "synovia look walk.bvh --at ball.csv --with Neck=1,Head=3 -o looking.bvh",
    ),
)
HEAD = "head"
MAX_BLOCKING = 6  # joints that block, named in the summary
clip_argument = click.argument("clip_path", metavar="CLIP", type=click.Path())
output_option = options.output_option("The clip to write.", "OUT.bvh")
speed_option = click.option(
    "--speed",
    type=click.FloatRange(min=1e-3),
    callback=options.parsed_by(math.radians),
    default=600.0,
    show_default=True,
    metavar="DEG",
    help="How fast a joint may rotate away from its motion in the clip, in degrees a second; what "
    "needs a jump takes some frames.",
)


def load_clip_and_limits(clip_path: str, limits: str, output: Path) -> tuple[Clip, AppliedLimits]:
    """Return a clip and its limits, after checking that the output can be written."""
    from ..io import writable_suffixes

    options.check_suffix(output, writable_suffixes())
    options.check_output(output)
    run = ClipRun([clip_path], limits, "loading")
    if len(run.files) != 1:
        several = "; name one as FILE#NAME" if not Path(clip_path).is_dir() else ""
        raise click.UsageError(f"give one clip, got {len(run.files)} in {clip_path}{several}")
    _, clip, applied = next(iter(run))
    return clip, applied


def finish(clip: Clip, driven: ClipSolution, output: Path) -> None:
    """Write the clip, report its errors, and exit with 0 if all goals are met, else with 1."""
    from ..io import save_clip

    save_clip(driven.clip, output)
    terminal.echo_lines(summary(clip, driven, output))
    options.exit_with(not driven.solution.converged.all())


def summary(clip: Clip, driven: ClipSolution, output: Path) -> Iterator[str]:
    """Yield a line about the goals, and lines about what blocks those that are not met."""
    met, frames = int(driven.solution.converged.sum()), driven.clip.frames
    errors = [_largest_error(driven, k) for k in _demands(driven)]
    yield (
        f"{terminal.bold(driven.clip.name)}: goals met in {met} of "
        f"{terminal.pluralize(frames, 'frame')}; {', '.join(errors)}; wrote {output}"
    )
    if met < frames:
        yield from _reason_lines(driven)
    yield from largest_growth(clip, driven.clip)


def _demands(driven: ClipSolution) -> list[int]:
    """Return the indices of the goals that are not soft."""
    return [k for k, goal in enumerate(driven.solution.goals) if not goal.soft]


def _largest_error(driven: ClipSolution, k: int) -> str:
    """Return the largest error of the goal at index `k`, in words."""
    goal, errors = driven.solution.goals[k], driven.solution.errors[:, k]
    frame, worst = int(errors.argmax()), float(errors.max())
    size = f"{worst:.3g}" if goal.is_length else f"{math.degrees(worst):.1f} degrees"
    return f"{terminal.printable(goal.label)} off by at most {size} (frame {frame})"


def _reason_lines(driven: ClipSolution) -> Iterator[str]:
    """Yield the reason in the worst frame, then how often each reason occurs."""
    worst = _worst_frame(driven)
    time = worst * driven.clip.frame_time
    yield from terminal.wrap(f"frame {worst} ({time:.2f} s): {driven.reason(worst)}")
    unmet = ~driven.solution.converged
    beyond = driven.solution.beyond.any(axis=1) & unmet
    if joints := _blocking(driven, unmet & ~driven.late & ~beyond):
        more = f" and {len(joints) - MAX_BLOCKING} more" if len(joints) > MAX_BLOCKING else ""
        yield from terminal.wrap(f"held by limits: {', '.join(joints[:MAX_BLOCKING])}{more}")
    for frames, what in (
        (beyond, "beyond reach in {}"),
        (driven.late, "still on the way in {}; --speed lets joints turn faster"),
    ):
        if frames.any():
            yield what.format(terminal.pluralize(int(frames.sum()), "frame"))


def _worst_frame(driven: ClipSolution) -> int:
    """Return the unmet frame with the largest error; late frames only if all unmet ones are late.

    The error is that of one goal: the one with the largest error in any unmet frame.
    """
    import numpy as np

    unmet = ~driven.solution.converged
    stuck = unmet & ~driven.late
    errors = driven.solution.errors[:, _demands(driven)]
    goal = int(np.where(unmet[:, None], errors, -1.0).max(axis=0).argmax())
    return int(np.where(stuck if stuck.any() else unmet, errors[:, goal], -1.0).argmax())


def _blocking(driven: ClipSolution, frames: Mask) -> list[str]:
    """Return the joints whose limits block in a mask of frames, in words, most frequent first."""
    angles, names = driven.solution.blocked_angle[frames], driven.clip.skeleton.names
    counts = (angles > 0.0).sum(axis=0).tolist()
    order = sorted((j for j, count in enumerate(counts) if count), key=lambda j: -counts[j])
    return [
        f"{names[j]} in {terminal.pluralize(counts[j], 'frame')} "
        f"({terminal.degrees(angles[:, j].max())} degrees more)"
        for j in order
    ]


def _goal_and_joint(text: str, joints: Sequence[str]) -> tuple[Callable[..., Any], str]:
    """Return the goal class and the joint typed as JOINT or KIND:JOINT; names may have colons."""
    from ..ik import GOALS, JointGoal

    kind, colon, joint = text.partition(":")
    goal = GOALS.get(kind, JointGoal)
    if text in joints or not colon or goal is JointGoal or not issubclass(goal, JointGoal):
        return GOALS["reach"], text
    return goal, joint


@options.command(examples=SOLVE_EXAMPLES)
@clip_argument
@options.human_options
@click.option(
    "-g",
    "--goal",
    "goals",
    multiple=True,
    required=True,
    metavar="JOINT=FILE.csv|JOINT=X,Y,Z",
    help="The target position of a joint, in the world and in the clip's unit: a file with a row "
    "x,y,z for each frame, or one position for all. With titles in its first line, a file may "
    "have other columns too. Repeat it for more joints. KIND:JOINT=… gives another goal than "
    "reach, as aim, which points the joint's z axis at the target.",
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
    help="Rotate these only; without it, all between the root and the goals. Repeat it, or give "
    "A,B.",
)
@click.option("--free-root", is_flag=True, help="Let the root rotate and move as well.")
@click.option(
    "--comfort",
    type=click.FloatRange(min=0.0, min_open=True, max=180.0),
    is_flag=False,
    flag_value=10.0,
    callback=options.parsed_by(math.radians),
    metavar="[DEG]",
    help="Keep joints away from their limits by so many degrees, 10 if no number is given, where "
    "the goals leave a choice.",
)
@speed_option
@output_option
def solve(
    clip_path: str,
    limits: str,
    goals: tuple[str, ...],
    pins: tuple[str, ...],
    joints: tuple[str, ...],
    free_root: bool,
    comfort: float | None,
    speed: float,
    output: Path,
) -> None:
    """Drive joints of CLIP to their goals, frame by frame.

    Every joint stays inside its limits. Each frame begins where the last one ended, and what the
    goals leave open stays near the clip, so nothing pops. Where a goal cannot be met, the frame
    comes as near as limits allow, and the joints that block are named; the clip is written in any
    case.
    """
    from ..ik import Comfort, follow

    targets = options.parse_pairs(goals, "--goal", form="JOINT=X,Y,Z or JOINT=FILE.csv")
    clip, applied = load_clip_and_limits(clip_path, limits, output)
    parsed = {key: _goal_and_joint(key, clip.skeleton.names) for key in targets}
    named = [joint for _, joint in parsed.values()]
    for joint in (*named, *options.split_names(pins), *options.split_names(joints)):
        clip.skeleton.index(joint)
    demands = [
        goal(joint, parse_target("--goal", targets[key], clip.frames))
        for key, (goal, joint) in parsed.items()
    ]
    soft = [] if comfort is None else [Comfort(margin=comfort)]
    driven = follow(
        applied.model,
        clip,
        [*demands, *soft],
        joints=options.split_names(joints) or None,
        pinned=options.split_names(pins),
        free_root=free_root,
        max_speed=speed,
        names=applied.names,
        progress=terminal.progress("solving"),
    )
    finish(clip, driven, output)


@options.command(examples=LOOK_EXAMPLES)
@clip_argument
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
@speed_option
@output_option
def look(
    clip_path: str,
    limits: str,
    at: str,
    joints: tuple[str, ...],
    axis: str | None,
    speed: float,
    output: Path,
) -> None:
    """Turn spine, neck and head of CLIP towards something.

    Every joint stays inside its limits. From the body to the head each joint takes its share; what
    its limit does not allow, the others take up. Where the look changes sides, as behind the back,
    it takes some frames. The clip is written in any case.
    """
    from ..ik import watch

    direction = None if axis is None else options.parse_vector("--axis", axis)
    if direction is not None and not direction.any():
        raise click.UsageError(f"--axis takes a direction X,Y,Z, got {axis!r}, which has none")
    clip, applied = load_clip_and_limits(clip_path, limits, output)
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
        max_speed=speed,
        names=applied.names,
        progress=terminal.progress("looking"),
    )
    finish(clip, driven, output)


def parse_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the weights of joints in texts like "Neck" or "Neck=2"."""
    pairs = [text if "=" in text else f"{text}=1" for text in texts]
    weights = {
        name: options.parse_number(f"--with {name}", number)
        for name, number in options.parse_pairs(
            pairs, "--with", form="JOINT or JOINT=WEIGHT"
        ).items()
    }
    for name, weight in weights.items():
        if weight < 0.0:
            raise click.UsageError(f"--with takes weights of at least 0, got {name}={weight:g}")
    if weights and not weight > 0.0:
        raise click.UsageError(f"--with needs a weight above 0 for the last joint, {name}, got 0")
    return weights


def face_direction(name: str, human: HumanLimits | None) -> Vectors:
    """Return the direction (3,) of the face of a clip, in the frame of its head."""
    import numpy as np

    from .. import quat

    ahead = np.array([0.0, 0.0, 1.0])
    if human is not None and HEAD in human.alignment.trusted:
        return quat.rotate(human.alignment.frames[HEAD], ahead)
    if human is not None:
        warnings.warn(
            f"{name}: where the face points is not sure: 0,0,1 of the head is taken, and --axis "
            "says otherwise",
            stacklevel=2,
        )
    return ahead


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
