"""What `solve` and `look` share: one clip in, one out, and a report of how near it came."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from . import inputs, terminal
from .clamp import growth

if TYPE_CHECKING:
    from ..arrays import Mask
    from ..clip import Clip
    from ..ik import Followed
    from ..model import LimitModel

MOST = 6  # joints that block, named in the summary

clip_argument = click.argument("clip_path", metavar="CLIP", type=click.Path())
output_option = click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT.bvh",
    type=click.Path(path_type=Path),
    help="The clip to write.",
)
force_option = click.option(
    "-f", "--force", is_flag=True, help="Overwrite even the clip that is read."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON report of all frames, and nothing else."
)
speed_option = click.option(
    "--speed",
    "speed_deg",
    type=click.FloatRange(min=0.0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="DEG",
    help="How fast a joint may turn away from what it does in the clip, in degrees a second; what "
    "needs a jump takes some frames.",
)


def loaded(
    clip_path: str, limits_path: Path, maps: Sequence[str], output: Path, *, force: bool
) -> tuple[LimitModel, Clip, dict[str, str]]:
    """Return limits, clip and map of names, once it is sure that the output can be written."""
    from ..io import CLIP_FORMATS, load_limits

    names = inputs.joint_names(maps)
    files = inputs.clip_files([clip_path])
    if len(files) != 1:
        raise click.UsageError(f"give one clip, got {len(files)} in {clip_path}")
    if output.suffix.lower() not in CLIP_FORMATS:
        raise click.UsageError(f"--output must end in {' or '.join(CLIP_FORMATS)}, got {output}")
    inputs.check_place(output)
    if os.path.realpath(output) == os.path.realpath(files[0].path) and not force:
        raise ValueError(f"{output} is the clip that is read; --force overwrites it")
    model = load_limits(limits_path)
    _, clip, known = next(iter(inputs.clips_for(model, files, names, "loading")))
    if clip.frames == 0:
        raise ValueError(f"{clip.name}: a clip to drive must have frames, got none")
    return model, clip, known


def finish(
    clip: Clip, driven: Followed, output: Path, *, as_json: bool, exit: Callable[[int], Any]
) -> None:
    """Write the clip, say how near it came, and exit: 0 when all goals are met, 1 when not."""
    from ..io import save_clip

    save_clip(driven.clip, output)
    if as_json:
        click.echo(json.dumps(report(driven), indent=2, allow_nan=False))
    else:
        for line in summary(clip, driven, output):
            click.echo(line)
    exit(0 if driven.solution.converged.all() else 1)


def summary(clip: Clip, driven: Followed, output: Path) -> Iterator[str]:
    """Yield one line for a clip whose goals are all met, and otherwise also what is in the way."""
    met, frames = int(driven.solution.converged.sum()), driven.clip.frames
    name = click.style(terminal.printable(driven.clip.name), bold=True)
    farthest = ", ".join(_farthest(row) for row in _goals(driven))
    yield (
        f"{name}: goals met in {met} of {terminal.counted(frames, 'frame')}; {farthest}; "
        f"wrote {output}"
    )
    if met < frames:
        yield from _why(driven)
    if grown := growth(clip, driven.clip):
        yield grown


def _why(driven: Followed) -> Iterator[str]:
    """Yield what is in the way: the worst frame, then how often what is."""
    worst = _worst(driven)
    time = worst * driven.clip.frame_time
    yield from terminal.wrapped(f"frame {worst} ({time:.2f} s): {driven.reason(worst)}")
    if blocking := _blocking(driven):
        said = [
            f"{joint} in {terminal.counted(row['frames'], 'frame')} "
            f"({terminal.degrees(row['worst_deg'])} degrees more)"
            for joint, row in blocking.items()
        ]
        more = f" and {len(said) - MOST} more" if len(said) > MOST else ""
        yield from terminal.wrapped(f"held by limits: {', '.join(said[:MOST])}{more}")
    for count, what in (
        (_beyond(driven).sum(), "beyond reach in {}"),
        (driven.late.sum(), "still on the way in {}; --speed lets joints turn faster"),
        (driven.elsewhere.sum(), "another pose would do in {}, too far away to go to at once"),
    ):
        if count:
            yield what.format(terminal.counted(int(count), "frame"))


def report(driven: Followed) -> dict[str, Any]:
    """Return everything that is known of the frames, with angles in degrees."""
    solution = driven.solution
    unmet = [frame for frame, met in enumerate(solution.converged.tolist()) if not met]
    rows = _goals(driven)
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


def _goals(driven: Followed) -> list[dict[str, Any]]:
    """Return by goal how far it is off in each frame, and at most; lengths, or degrees."""
    from ..ik import Reach, Stay

    rows = []
    for k, goal in enumerate(driven.solution.goals):
        if isinstance(goal, Stay):
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


def _farthest(row: dict[str, Any]) -> str:
    joint, worst = terminal.printable(row["joint"]), row["worst"]
    far = f"{worst:.3g}" if row["unit"] == "length" else f"{worst:.1f} degrees"
    return f"{joint} off by at most {far} (frame {row['worst_frame']})"


def _worst(driven: Followed) -> int:
    """Return the frame that is farthest off; of those on their way only where there is no other."""
    unmet = ~driven.solution.converged
    stuck = unmet & ~driven.late
    farthest = max(_goals(driven), key=lambda row: row["worst"] if unmet[row["worst_frame"]] else 0)
    return int(np.where(stuck if stuck.any() else unmet, farthest["errors"], -1.0).argmax())


def _beyond(driven: Followed) -> Mask:
    """Tell in which frames a target is farther away than the chain is long."""
    return np.asarray(driven.solution.beyond.any(axis=1) & ~driven.solution.converged)


def _blocking(driven: Followed) -> dict[str, dict[str, Any]]:
    """Return the joints whose limits are in the way, in most frames first, and how far at most.

    Frames on their way, and those that no joint could help, do not count.
    """
    counts = ~driven.solution.converged & ~driven.late & ~_beyond(driven)
    further = driven.solution.further[counts]
    often = (further > 0.0).sum(axis=0).tolist()
    names = driven.clip.skeleton.names
    order = sorted((j for j, times in enumerate(often) if times), key=lambda j: -often[j])
    return {
        names[j]: {"frames": often[j], "worst_deg": math.degrees(further[:, j].max())}
        for j in order
    }
