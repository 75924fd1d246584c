"""`synovia clamp`: bring clips back inside their limits."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import human, inputs, terminal

if TYPE_CHECKING:
    from ..arrays import Ints
    from ..limit.softening import Softening
    from ..model import ClampReport
    from ..skeleton import Clip


EXAMPLES = (
    ("a clip of a human, on any rig", "synovia clamp wild.bvh -o clamped.bvh"),
    ("to what people usually do", "synovia clamp wild.bvh -o clamped.bvh --to usual"),
    ("limits of your own", "synovia clamp wild.bvh -l mine.limits.json -o clamped.bvh"),
    (
        "slow down within the last 5 degrees instead of hitting the limit",
        "synovia clamp wild.bvh -o clamped.bvh --soften inside:5",
    ),
    ("many clips, into a directory", "synovia clamp takes/ -o clamped/"),
)
STEP_DEG = 1.0  # smaller steps may grow without anybody seeing it
NOTABLE_GROWTH = 1.5  # times; a step that grew less is not worth a line
MOST_RANGES = 8  # of frames that are named
SECTIONS = {
    "Limits": ("limits", "maps", "tpose", "humans_only"),
    "How": ("to", "soften", "max_speed"),
    "Output": ("output", "force"),
}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@inputs.clips_argument
@inputs.human_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="The clip to write, like clamped.bvh; for several clips, a directory.",
)
@click.option(
    "--to",
    type=click.Choice(("possible", "usual")),
    default="possible",
    show_default=True,
    help="With human limits, how far to bring poses: to what a healthy adult can do, or also to "
    "what nearly all captured people did.",
)
@click.option(
    "-s",
    "--soften",
    metavar="inside:DEG|beyond:DEG",
    help="Approach limits instead of hitting them: slow down within the last DEG degrees inside, "
    "or let violations go on beyond by less than DEG.",
)
@click.option(
    "--max-speed",
    type=click.FloatRange(min=0.0, min_open=True),
    default=400.0,
    show_default=True,
    metavar="DEG/S",
    help="How fast a joint may turn from one side of its limit to another, in degrees a second; "
    "where the clip itself is faster, up to twice its own speed.",
)
@human.humans_only_option
@inputs.force_option
@terminal.debug_option
@click.pass_context
def clamp(
    ctx: click.Context,
    clips: tuple[str, ...],
    limits: str,
    output: Path,
    to: str,
    soften: str | None,
    max_speed: float,
    maps: tuple[str, ...],
    humans_only: bool,
    force: bool,
) -> None:
    """Write clips with every joint inside its limits, free of pops.

    CLIPs are files, directories (with all that is below them) and globs. Frames that are legal stay
    as they are, unless a joint could not change sides in time otherwise: these are listed. The
    exit code is 1 when a clip is left out because it is no human, and 2 for an error.
    """
    from ..io import save_clips
    from ..population import clamp_until_clean

    softening = softening_option(soften)
    names = inputs.joint_names(maps)
    files = exclude_outputs(inputs.clip_files(clips), output)
    targets = dict(zip(files, output_paths(clips, files, output), strict=True))
    check_targets(targets, output, force=force)
    model = inputs.load_limits_or_figure(limits)
    left, done = Counter(targets.values()), defaultdict[Path, list["Clip"]](list)
    lines, clamped_files = [], 0
    for file, clip, applied in inputs.clips_for(model, files, names, "clamping"):
        target = targets[file]
        if to == "usual" and applied.model.usual is None:
            raise click.UsageError(f"--to usual needs limits with both verdicts, got {limits}")
        options: dict[str, Any] = {
            "to_usual": to == "usual",
            "softening": softening,
            "max_speed": math.radians(max_speed),
            "progress": inputs.joint_progress("clamping", files),
        }
        if applied.human is not None:
            legal, report = clamp_until_clean(applied.human, clip, **options)
        else:
            legal, report = applied.model.project_clip(clip, names=applied.names, **options)
        lines += [f"{summary(clip, legal)}; wrote {target}", *growth(clip, legal)]
        lines += exceptions(report)
        done[target].append(replace(legal, name=file.clip or legal.name))
        if len(done[target]) == left[target]:
            target.parent.mkdir(parents=True, exist_ok=True)
            save_clips(done.pop(target), target)
        clamped_files += 1
    for target, legal_clips in done.items():  # of files in which a clip was left out
        target.parent.mkdir(parents=True, exist_ok=True)
        save_clips(legal_clips, target)
    if clamped_files < len(files):
        lines.append(human.left_out(len(files) - clamped_files, "not clamped"))
    for line in lines:
        terminal.echo(line)
    ctx.exit(0 if humans_only or clamped_files == len(files) else 1)


def softening_option(text: str | None) -> Softening | None:
    """Return what --soften says."""
    from ..limit.softening import parse_softening

    try:
        return parse_softening(text)
    except ValueError:
        raise click.UsageError(
            f"--soften takes inside:DEG or beyond:DEG, with degrees above 0, got {text!r}"
        ) from None


def exclude_outputs(files: list[inputs.ClipFile], output: Path) -> list[inputs.ClipFile]:
    """Return the clips but for those in `output`, where that is a directory below theirs."""
    place = Path(os.path.realpath(output))
    others = [file for file in files if place not in Path(os.path.realpath(file.path)).parents]
    return others or files


def output_paths(
    clips: Sequence[str], files: Sequence[inputs.ClipFile], output: Path
) -> list[Path]:
    """Return where each clip is to be written: those of one file go to one file."""
    from ..io import clip_suffix, writable_suffixes

    suffix = clip_suffix(output)
    looks_like_clip = suffix != "" and not output.is_dir()
    sources = {file.path for file in files}
    if len(sources) == 1 and looks_like_clip:
        check_writable_suffix(output)
        return [output] * len(files)
    if looks_like_clip:
        raise click.UsageError(f"{len(files)} clips need a directory to go to, got {str(output)!r}")
    one_file = len(clips) == 1 and len(sources) == 1 and not Path(clips[0]).is_dir()
    if one_file and not output.is_dir():
        raise click.UsageError(
            f"--output must end in {' or '.join(writable_suffixes())} or be a directory that "
            f"exists, got {str(output)!r}"
        )
    if output.exists() and not output.is_dir():
        raise click.UsageError(f"clips need a directory to go to, and {str(output)!r} is a file")
    targets = [output / file.relative_path for file in files]
    for target in targets:
        check_writable_suffix(target)
    return targets


def check_writable_suffix(target: Path) -> None:
    """Raise UsageError where files of this suffix are only read."""
    from ..io import clip_suffix, writable_suffixes

    suffix = clip_suffix(target)
    if suffix not in writable_suffixes():
        raise click.UsageError(
            f"{suffix or target.suffix} files are only read; write "
            f"{' or '.join(writable_suffixes())}, one clip at a time, or convert them first"
        )


def check_targets(targets: Mapping[inputs.ClipFile, Path], output: Path, *, force: bool) -> None:
    """Raise where two files go to one, or a file cannot be written, or exists without `force`."""
    taken: dict[str, inputs.ClipFile] = {}
    for file, target in targets.items():
        real = os.path.realpath(target)
        if real in taken and taken[real].path != file.path:
            raise ValueError(
                f"{taken[real].path} and {file.path} would both be written to {target}"
            )
        taken[real] = file
        if target == output or target.parent.exists():
            inputs.check_output(target, force=force)


def summary(before: Clip, after: Clip) -> str:
    """Return in one line which joints and frames were changed, and by how much at most."""
    import numpy as np

    from .. import quat

    changed = np.zeros((before.frames, len(before.skeleton)), bool)
    largest = 0.0, 0, ""  # degrees, frame and joint of the largest change
    for joint, name in enumerate(before.skeleton.names):
        old, new = before.pose.rotations[:, joint], after.pose.rotations[:, joint]
        changed[:, joint] = (old != new).any(axis=-1)
        if changed[:, joint].any():
            angles_deg = np.degrees(np.where(changed[:, joint], quat.angle_between(old, new), 0.0))
            frame = int(angles_deg.argmax())
            largest = max(
                largest, (float(angles_deg[frame]), frame, name), key=lambda each: each[0]
            )
    clip = click.style(terminal.printable(before.name), bold=True)
    if not changed.any():
        return f"{clip}: nothing to change"
    largest_deg, frame, name = largest
    return (
        f"{clip}: changed {terminal.pluralize(int(changed.any(axis=0).sum()), 'joint')} in "
        f"{int(changed.any(axis=1).sum())} of {terminal.pluralize(before.frames, 'frame')}, by at "
        f"most {terminal.degrees(largest_deg)} degrees ({name}, frame {frame})"
    )


def growth(before: Clip, after: Clip) -> Iterator[str]:
    """Yield a line about the step from frame to frame that grew most, if one grew notably."""
    import numpy as np

    from .. import quat

    most, line = NOTABLE_GROWTH, ""
    for joint, name in enumerate(before.skeleton.names):
        old_deg, new_deg = (
            np.degrees(quat.angle_between(path[:-1], path[1:]))
            for path in (clip.pose.rotations[:, joint] for clip in (before, after))
        )
        grown = np.where(new_deg > STEP_DEG, new_deg / np.maximum(old_deg, STEP_DEG), 0.0)
        if grown.max(initial=0.0) > most:
            frame = int(grown.argmax())
            most = float(grown[frame])
            line = (
                f"  the step that grew most: {terminal.printable(name)}, frames {frame} to "
                f"{frame + 1}, from {terminal.degrees(float(old_deg[frame]))} to "
                f"{terminal.degrees(float(new_deg[frame]))} degrees"
            )
    if line:
        yield line


def exceptions(report: ClampReport) -> Iterator[str]:
    """Yield lines that name the legal frames that moved, and the steps over the bound."""
    for joint, frames in report.moved.items():
        yield (
            f"  {terminal.printable(joint)} moved in legal frames too, to change sides in time: "
            f"{frame_ranges(frames)}"
        )
    for joint, frames in report.over.items():
        yield (
            f"  {terminal.printable(joint)} has no legal way within the speed, and jumps to "
            f"{frame_ranges(frames)}"
        )


def frame_ranges(frames: Ints) -> str:
    """Return ascending numbers of frames in words, consecutive ones as a range, some at most."""
    import numpy as np

    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    named = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(named) > MOST_RANGES:
        left = sum(len(run) for run in runs[MOST_RANGES:])
        named = [*named[:MOST_RANGES], f"and {left} more"]
    return f"frame{'s' * (len(frames) > 1)} {', '.join(named)}"
