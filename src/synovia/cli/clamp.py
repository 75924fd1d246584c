"""`synovia clamp`: bring clips back inside their limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import inputs, terminal

if TYPE_CHECKING:
    from ..learn import Progress
    from ..limit.softening import Softening
    from ..skeleton import Clip


EXAMPLES = (
    ("one clip", "synovia clamp wild.bvh -l human.limits.json -o clamped.bvh"),
    (
        "slow down within the last 5 degrees instead of hitting the limit",
        "synovia clamp wild.bvh -l human.limits.json -o clamped.bvh --soften inside:5",
    ),
    ("many clips, into a directory", "synovia clamp takes/ -l human.limits.json -o clamped/"),
)
STEP_DEG = 1.0  # smaller steps may grow without anybody seeing it
NOTABLE_GROWTH = 1.5  # times; a step that grew less is not worth a line
SECTIONS = {
    "Limits": ("limits_path", "maps"),
    "How": ("soften", "transition"),
    "Output": ("output", "force"),
}


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@inputs.clips_argument
@inputs.limits_option
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="The clip to write, like clamped.bvh; for several clips, a directory.",
)
@click.option(
    "-s",
    "--soften",
    metavar="inside:DEG|beyond:DEG",
    help="Approach limits instead of hitting them: slow down within the last DEG degrees inside, "
    "or let violations go on beyond by less than DEG.",
)
@click.option(
    "-t",
    "--transition",
    type=click.FloatRange(min=0.0),
    default=0.25,
    show_default=True,
    metavar="SECONDS",
    help="How long to take to the other side of a limit, where a joint goes out on one side and "
    "comes back on another.",
)
@inputs.map_option
@click.option("-f", "--force", is_flag=True, help="Overwrite even a clip that is being clamped.")
@terminal.debug_option
def clamp(
    clips: tuple[str, ...],
    limits_path: Path,
    output: Path,
    soften: str | None,
    transition: float,
    maps: tuple[str, ...],
    force: bool,
) -> None:
    """Write clips with every joint inside its limits, free of pops.

    CLIPs are files, directories (with all that is below them) and globs. Frames that are legal stay
    as they are. Where OUT exists it is overwritten, unless it is one of the CLIPs.
    """
    from ..io import load_limits, save_clip

    softening = softening_option(soften)
    names = inputs.joint_names(maps)
    files = exclude_outputs(inputs.clip_files(clips), output)
    targets = dict(zip(files, output_paths(clips, files, output), strict=True))
    check_targets(files, list(targets.values()), force=force)
    model = load_limits(limits_path)
    show: Progress = terminal.progress("clamping") if len(files) == 1 else iter
    lines = []
    for file, clip, known in inputs.clips_for(model, files, names, "clamping"):
        clamped = model.project(
            clip, softening=softening, transition=transition, names=known, progress=show
        )
        targets[file].parent.mkdir(parents=True, exist_ok=True)
        save_clip(clamped, targets[file])
        lines.append(f"{describe_change(clip, clamped)}; wrote {targets[file]}")
        if grown := describe_growth(clip, clamped):
            lines.append(grown)
    for line in lines:
        click.echo(line)


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
    """Return where each clip is to be written."""
    from ..io import CLIP_FORMATS

    looks_like_clip = output.suffix.lower() in CLIP_FORMATS and not output.is_dir()
    if len(files) == 1 and looks_like_clip:
        return [output]
    if looks_like_clip:
        raise click.UsageError(f"{len(files)} clips need a directory to go to, got {str(output)!r}")
    if len(clips) == 1 and Path(clips[0]).is_file() and not output.is_dir():
        raise click.UsageError(
            f"--output must end in {' or '.join(CLIP_FORMATS)} or be a directory that exists, "
            f"got {str(output)!r}"
        )
    if output.exists() and not output.is_dir():
        raise click.UsageError(f"clips need a directory to go to, and {str(output)!r} is a file")
    return [output / file.relative_path for file in files]


def check_targets(
    files: Sequence[inputs.ClipFile], targets: Sequence[Path], *, force: bool
) -> None:
    """Raise where two clips go to one file, a file cannot be written, or a clip would be lost."""
    sources = {os.path.realpath(file.path) for file in files}
    taken: dict[str, inputs.ClipFile] = {}
    for file, target in zip(files, targets, strict=True):
        real = os.path.realpath(target)
        if real in taken:
            raise ValueError(
                f"{taken[real].path} and {file.path} would both be written to {target}"
            )
        taken[real] = file
        if real in sources and not force:
            raise ValueError(f"{target} is one of the clips to clamp; --force overwrites it")
        if len(files) == 1 or target.parent.exists():
            inputs.check_writable(target)


def describe_change(before: Clip, after: Clip) -> str:
    """Return in one line what was changed, and by how much at most."""
    import numpy as np

    from .. import quat

    old, new = before.pose.rotations, after.pose.rotations
    changed = (old != new).any(axis=-1)
    name = click.style(terminal.printable(before.name), bold=True)
    if not changed.any():
        return f"{name}: nothing to change"
    angles_deg = np.degrees(np.where(changed, quat.angle_between(old, new), 0.0))
    frame, joint = np.unravel_index(int(angles_deg.argmax()), angles_deg.shape)
    frames = int(changed.any(axis=1).sum())
    joints = terminal.pluralize(int(changed.any(axis=0).sum()), "joint")
    return (
        f"{name}: changed {joints} in {frames} of {terminal.pluralize(before.frames, 'frame')}, "
        f"by at most {terminal.degrees(float(angles_deg[frame, joint]))} degrees "
        f"({before.skeleton.names[int(joint)]}, frame {int(frame)})"
    )


def describe_growth(before: Clip, after: Clip) -> str:
    """Return in one line which step from frame to frame grew most; nothing where none did."""
    import numpy as np

    old_deg, new_deg = np.degrees(before.steps), np.degrees(after.steps)
    grown = np.where(new_deg > STEP_DEG, new_deg / np.maximum(old_deg, STEP_DEG), 0.0)
    if not grown.max(initial=0.0) > NOTABLE_GROWTH:
        return ""
    frame, joint = np.unravel_index(int(grown.argmax()), grown.shape)
    return (
        f"  the step that grew most: {terminal.printable(before.skeleton.names[int(joint)])}, "
        f"frames {int(frame)} to {int(frame) + 1}, from "
        f"{terminal.degrees(float(old_deg[frame, joint]))} to "
        f"{terminal.degrees(float(new_deg[frame, joint]))} degrees"
    )
