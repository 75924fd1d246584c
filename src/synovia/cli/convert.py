"""`synovia convert`: clips in another format."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import inputs, terminal
from .clamp import check_targets

if TYPE_CHECKING:
    from ..skeleton import Axis, Clip

EXAMPLES = (
    ("one clip", "synovia convert walk.amc walk.bvh"),
    ("one clip of several in a file", "synovia convert robot.glb#Walk walk.bvh"),
    ("a directory, in centimetres", "synovia convert amass/ bvh/ --to .bvh --unit cm"),
    ("at another rate", "synovia convert walk.bvh walk30.bvh --fps 30"),
    (
        "a file that does not say that z is up and lengths are inches",
        "synovia convert old.bvh new.glb --from-up z --from-unit in",
    ),
)
SECTIONS = {
    "What the clips are": ("from_up", "from_unit"),
    "What they become": ("to", "up", "unit", "fps", "force"),
}
NOTABLE_DEG = 1e-3  # rotations that differ by less are the same to anybody
NOTABLE_SHARE = 1e-5  # of the lengths of all bones together, or the largest position: likewise
SMALLEST_UNIT, LARGEST_UNIT = 1e-9, 1e9  # metres
UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}


def metres(ctx: click.Context, param: click.Parameter, value: str | None) -> float:
    """Return how many metres a unit has, given by name or as a number; 0 for none."""
    if value is None:
        return 0.0
    try:
        unit = UNITS[value] if value in UNITS else float(value)
    except ValueError:
        unit = math.nan
    if not SMALLEST_UNIT <= unit <= LARGEST_UNIT:
        raise click.BadParameter(
            f"must be {', '.join(UNITS)}, or a number of metres from {SMALLEST_UNIT:g} to "
            f"{LARGEST_UNIT:g}, got {value!r}",
            ctx,
            param,
        )
    return unit


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@click.argument("clips", nargs=-1, required=True, metavar="CLIP... OUT", type=click.Path())
@click.option(
    "--from-up", type=click.Choice(["x", "y", "z"]), help="Which axis is up in the CLIPs."
)
@click.option(
    "--from-unit",
    callback=metres,
    metavar="UNIT",
    help=f"What lengths in the CLIPs are: {', '.join(UNITS)}, or a number of metres.",
)
@click.option(
    "--to", metavar="SUFFIX", help="The format to write into the directory OUT, like .bvh."
)
@click.option(
    "--up",
    type=click.Choice(["x", "y", "z"]),
    help="Which axis is to be up. Without it, what the format is usually taken to have.",
)
@click.option("--unit", callback=metres, metavar="UNIT", help="What lengths are to be.")
@click.option(
    "--fps",
    type=click.FloatRange(min=0.0, min_open=True, max=1e5),
    metavar="RATE",
    help="Frames a second; those between are interpolated.",
)
@inputs.skeleton_option
@inputs.force_option
@terminal.debug_option
def convert(
    clips: tuple[str, ...],
    from_up: Axis | None,
    from_unit: float,
    to: str | None,
    up: Axis | None,
    unit: float,
    fps: float | None,
    force: bool,
) -> None:
    """Write clips in another format, with another axis up, another unit or rate.

    CLIPs are files, directories (with all that is below them) and globs; FILE#NAME is one of
    several clips in a file. OUT is a file, whose suffix tells the format, or with --to a directory.
    The skeleton at rest, the names of its joints and their rotations stay as they are: another
    axis up turns the whole body. What a format cannot hold is said.
    """
    from ..io import clip_format, save_clips

    if len(clips) < 2:
        raise click.UsageError("give at least one CLIP, and OUT after it")
    *named, last = clips
    files, output = inputs.clip_files(named), Path(last)
    targets = dict(zip(files, output_paths(files, output, to), strict=True))
    check_targets(targets, output, force=force)
    groups = defaultdict[Path, list[inputs.ClipFile]](list)
    for file, target in targets.items():
        groups[target].append(file)
    lines: list[str] = []
    for target, group in terminal.progress("converting")(list(groups.items())):
        form, source = clip_format(target), clip_format(group[0].path)
        written = []
        for file in group:
            clip = with_facts(file.load(), from_up, from_unit)
            clip = change_world(clip, up or form.up, unit or form.unit, fps, asked=unit > 0.0)
            written.append(replace(clip, name=file.clip) if len(group) > 1 else clip)
        target.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            if source is not form:  # channels are BVH's, and nobody asked for fewer
                warnings.filterwarnings("ignore", ".*: added the channels that the motion needs")
            save_clips(written, target)
        lines.append(f"{describe(group, written)}; wrote {target}")
        if source is not form and source.beside:
            lines.append(f"  not in it: {source.beside}, if {group[0].path.name} has any")
        for file, clip in zip(group, written, strict=True):
            lines += [f"  {line}" for line in losses(form.as_written(clip), target, file.clip)]
    for line in lines:
        terminal.echo(line)


def output_paths(files: Sequence[inputs.ClipFile], output: Path, to: str | None) -> list[Path]:
    """Return where each clip is to be written."""
    from ..io import clip_suffix, writable_suffixes

    known = writable_suffixes()
    if to is None and not output.is_dir():
        if clip_suffix(output) not in known:
            raise click.UsageError(
                f"OUT must end in {' or '.join(known)}, or be a directory with --to, "
                f"got {str(output)!r}"
            )
        if len({file.path for file in files}) > 1:
            raise click.UsageError(
                f"{len(files)} clips need a directory to go to, and --to, got {str(output)!r}"
            )
        return [output] * len(files)
    if to is None:
        raise click.UsageError(f"{str(output)!r} is a directory: --to must say which format")
    suffix = f".{to.lstrip('.').lower()}"
    if suffix not in known:
        raise click.UsageError(f"--to must be {' or '.join(known)}, got {to!r}")
    if output.exists() and not output.is_dir():
        raise click.UsageError(f"clips need a directory to go to, and {str(output)!r} is a file")
    return [output / file.relative_path.with_name(_file_name(file) + suffix) for file in files]


def _file_name(file: inputs.ClipFile) -> str:
    """Return the name of a clip as that of a file, without a suffix."""
    name = "".join(sign if sign.isprintable() and sign not in '/\\:*?"<>|' else "_"
                   for sign in file.clip)  # fmt: skip
    stem = file.path.name[: len(file.path.name) - len(file.suffix)]
    return f"{stem}_{name}" if file.clip else stem


def with_facts(clip: Clip, up: Axis | None, unit: float) -> Clip:
    """Return a clip that says what is up and what its unit is, as the user says."""
    skeleton = clip.skeleton
    return replace(
        clip, skeleton=replace(skeleton, up=up or skeleton.up, unit=unit or skeleton.unit)
    )


def change_world(clip: Clip, up: Axis, unit: float, fps: float | None, *, asked: bool) -> Clip:
    """Return a clip with this axis up, in this unit, at this rate; nothing stays as it is."""
    from ..skeleton import resample, with_unit, with_up

    if up:
        clip = with_up(clip, up)
    if asked and not clip.skeleton.unit:
        raise click.UsageError(
            f"{clip.name} does not say what unit its lengths are in: give --from-unit"
        )
    if unit and clip.skeleton.unit:
        clip = with_unit(clip, unit)
    return clip if fps is None else resample(clip, 1.0 / fps)


def describe(group: Sequence[inputs.ClipFile], written: Sequence[Clip]) -> str:
    """Return in one line what was converted."""
    name = click.style(terminal.printable(group[0].name if len(group) == 1 else str(group[0].path)),
                       bold=True)  # fmt: skip
    clip = written[0]
    joints = terminal.pluralize(len(clip.skeleton), "joint")
    if len(group) > 1:
        return f"{name}: {len(group)} clips of {joints}"
    frames = terminal.pluralize(clip.frames, "frame")
    return f"{name}: {joints}, {frames} at {1.0 / clip.frame_time:.4g} a second"


def losses(clip: Clip, target: Path, name: str) -> Iterator[str]:
    """Yield how a clip that is read back differs from what was written, where it does.

    `name` is the clip's among those of `target`, where that holds several.
    """
    import numpy as np

    from .. import quat
    from ..io import list_clips, load_clip
    from ..skeleton import with_unit

    with warnings.catch_warnings(action="ignore"):  # they were shown when it was written
        found = load_clip(f"{target}#{name}" if name in list_clips(target) else target)
    if clip.skeleton.unit and found.skeleton.unit:
        found = with_unit(found, clip.skeleton.unit)
    if missing := [each for each in clip.skeleton.names if each not in found.skeleton.names]:
        renamed = len(found.skeleton) == len(clip.skeleton)
        yield f"{'renamed' if renamed else 'lost'}: the joints {', '.join(missing)}"
        return
    if found.frames != clip.frames:
        yield f"lost: {clip.frames - found.frames} of {terminal.pluralize(clip.frames, 'frame')}"
        return
    order = [found.skeleton.index(each) for each in clip.skeleton.names]
    angles_deg = np.degrees(quat.angle_between(found.pose.rotations[:, order], clip.pose.rotations))
    if angles_deg.max(initial=0.0) > NOTABLE_DEG:
        frame, joint = np.unravel_index(int(angles_deg.argmax()), angles_deg.shape)
        yield (
            f"lost: up to {terminal.degrees(float(angles_deg[frame, joint]))} degrees of rotation "
            f"({clip.skeleton.names[int(joint)]}, frame {int(frame)})"
        )
    moved = np.abs(found.pose.positions[:, order] - clip.pose.positions)
    size = max(np.abs(clip.skeleton.offsets).sum(), np.abs(clip.pose.positions).max(initial=0.0))
    if moved.max(initial=0.0) > NOTABLE_SHARE * size:
        largest = clip.skeleton.names[int(moved.max(axis=(0, 2)).argmax())]
        yield f"lost: joints move in their parents by up to {moved.max():.3g} ({largest})"
