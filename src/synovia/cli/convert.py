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

from . import options, terminal
from .clips import ClipFile, clip_files, output_paths, save_to
from .options import UNITS

if TYPE_CHECKING:
    from ..skeleton import Axis, Clip

EXAMPLES = (
    ("one clip", "synovia convert walk.amc -o walk.bvh"),
    ("a directory, in centimetres", "synovia convert amass/ -o bvh/ --to .bvh --unit cm"),
    (
        "a file that does not say that z is up and lengths are inches",
        "synovia convert old.bvh -o new.glb --from-up z --from-unit in",
    ),
)
NOTABLE_ANGLE = math.radians(1e-3)  # smaller differences of rotation are not reported
NOTABLE_SHARE = 1e-5  # of all bone lengths together or the largest position; smaller: likewise


@options.command(examples=EXAMPLES)
@options.clips_argument
@options.output_option("The clip to write, whose suffix gives the format; with --to, a directory.")
@click.option("--from-up", type=options.AXIS, help="Which axis is up in the CLIPs.")
@click.option(
    "--from-unit",
    callback=options.parsed_by(options.parse_unit),
    metavar="UNIT",
    help=f"What lengths in the CLIPs are: {', '.join(UNITS)}, or a number of metres.",
)
@click.option("--to", metavar="SUFFIX", help="The format of clips in the directory OUT, like .bvh.")
@click.option(
    "--up",
    type=options.AXIS,
    help="Which axis is to be up. Without it, what the format is usually taken to have.",
)
@click.option(
    "--unit",
    callback=options.parsed_by(options.parse_unit),
    metavar="UNIT",
    help="What lengths are to be.",
)
@click.option(
    "--fps",
    type=click.FloatRange(min=0.0, min_open=True, max=1e5),
    metavar="RATE",
    help="Frames a second; those between are interpolated.",
)
@options.skeleton_option
def convert(
    clips: tuple[str, ...],
    output: Path,
    from_up: Axis | None,
    from_unit: float | None,
    to: str | None,
    up: Axis | None,
    unit: float | None,
    fps: float | None,
) -> None:
    """Write clips in another format, with another axis up, another unit or rate.

    The skeleton at rest, the names of its joints and their rotations stay as they are: another
    axis up rotates the whole body. What a format cannot hold is reported.
    """
    from ..io import clip_format
    from ..skeleton import resample, with_unit, with_up

    files = clip_files(clips)
    targets = output_paths(clips, files, output, to=_suffix(output, to))
    groups = defaultdict[Path, list[ClipFile]](list)
    for file, target in targets.items():
        groups[target].append(file)
    lines: list[str] = []
    for target, group in terminal.progress("converting")(list(groups.items())):
        target_format, source_format = clip_format(target), clip_format(group[0].path)
        written = []
        for file in group:
            clip = file.load()
            world = clip.skeleton
            world = replace(world, up=from_up or world.up, unit=from_unit or world.unit)
            if unit and not world.unit:
                raise click.UsageError(
                    f"{clip.name} does not say what unit its lengths are in: give --from-unit"
                )
            clip = replace(clip, skeleton=world)
            if new_up := up or target_format.up:
                clip = with_up(clip, new_up)
            if world.unit:
                clip = with_unit(clip, unit or target_format.unit or world.unit)
            if fps is not None:
                clip = resample(clip, 1.0 / fps)
            written.append(replace(clip, name=file.clip) if len(group) > 1 else clip)
        with warnings.catch_warnings():
            if source_format is not target_format:  # channels are BVH's alone
                warnings.filterwarnings("ignore", ".*: added the channels that the motion needs")
            save_to(written, target)
        lines.append(f"{describe(group, written)}; wrote {target}")
        if source_format is not target_format and source_format.beside:
            lines.append(f"  not in it: {source_format.beside}, if {group[0].path.name} has any")
        for file, clip in zip(group, written, strict=True):
            lines += [
                f"  {line}" for line in losses(target_format.as_written(clip), target, file.clip)
            ]
    terminal.echo_lines(lines)


def _suffix(output: Path, to: str | None) -> str | None:
    """Return the suffix of `--to`; None if `output` is a file and its suffix gives the format."""
    from ..io import clip_suffix, writable_suffixes

    writable = writable_suffixes()
    if to is not None:
        suffix = f".{to.lstrip('.').lower()}"
        if suffix not in writable:
            raise click.UsageError(f"--to must be {' or '.join(writable)}, got {to!r}")
        return suffix
    if output.is_dir():
        raise click.UsageError(f"{str(output)!r} is a directory: --to must say which format")
    if clip_suffix(output) not in writable:
        raise click.UsageError(
            f"--output must end in {' or '.join(writable)}, or be a directory with --to, "
            f"got {str(output)!r}"
        )
    return None


def describe(group: Sequence[ClipFile], written: Sequence[Clip]) -> str:
    """Return a line about the clips that were converted."""
    name = terminal.bold(group[0].name if len(group) == 1 else str(group[0].path))
    clip = written[0]
    joints = terminal.pluralize(len(clip.skeleton), "joint")
    if len(group) > 1:
        return f"{name}: {len(group)} clips of {joints}"
    frames = terminal.pluralize(clip.frames, "frame")
    return f"{name}: {joints}, {frames} at {1.0 / clip.frame_time:.4g} a second"


def losses(clip: Clip, target: Path, name: str) -> Iterator[str]:
    """Read a clip back from `target`, and yield notable differences from what was written.

    `name` is that of the clip if the file holds several.
    """
    import numpy as np

    from .. import quat
    from ..io import list_clips, load_clip
    from ..skeleton import with_unit

    skeleton, pose = clip.skeleton, clip.pose
    with warnings.catch_warnings(action="ignore"):  # they were shown when it was written
        back = load_clip(f"{target}#{name}" if name in list_clips(target) else target)
    if skeleton.unit and back.skeleton.unit:
        back = with_unit(back, skeleton.unit)
    missing = [joint for joint in skeleton.names if joint not in back.skeleton.names]
    if missing:
        renamed = len(back.skeleton) == len(skeleton)
        yield f"{'renamed' if renamed else 'lost'}: the joints {', '.join(missing)}"
        return
    if back.frames != clip.frames:
        frames = terminal.pluralize(clip.frames, "frame")
        yield f"lost: {clip.frames - back.frames} of {frames}"
        return
    order = [back.skeleton.index(joint) for joint in skeleton.names]
    angles = quat.angle_between(back.pose.rotations[:, order], pose.rotations)
    if angles.max(initial=0.0) > NOTABLE_ANGLE:
        frame, joint = np.unravel_index(int(angles.argmax()), angles.shape)
        yield (
            f"lost: up to {terminal.degrees(float(angles.max()))} degrees of rotation "
            f"({skeleton.names[int(joint)]}, frame {int(frame)})"
        )
    moved = np.abs(back.pose.positions[:, order] - pose.positions)
    size = max(np.abs(skeleton.offsets).sum(), np.abs(pose.positions).max(initial=0.0))
    if moved.max(initial=0.0) > NOTABLE_SHARE * size:
        largest = skeleton.names[int(moved.max(axis=(0, 2)).argmax())]
        yield f"lost: joints move in their parents by up to {moved.max():.3g} ({largest})"
