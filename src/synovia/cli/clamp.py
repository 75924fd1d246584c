"""`synovia clamp`: bring clips back inside their limits."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import human, inputs, terminal

if TYPE_CHECKING:
    from ..arrays import Ints, Quats
    from ..learn import Progress
    from ..limit.softening import Softening
    from ..model import ClampReport
    from ..skeleton import Clip


EXAMPLES = (
    ("a clip of a human, on any rig", "synovia clamp wild.bvh -o clamped.bvh"),
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
    "How": ("soften", "max_speed"),
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
    from ..io import project_chunks, save_chunks, save_clips

    softening = softening_option(soften)
    names = inputs.joint_names(maps)
    files = exclude_outputs(inputs.clip_files(clips), output)
    targets = dict(zip(files, output_paths(clips, files, output), strict=True))
    check_targets(targets, output, force=force)
    model = inputs.load_limits_or_figure(limits)
    show: Progress = terminal.progress("clamping") if len(files) == 1 else iter
    speed = math.radians(max_speed)
    options = {"softening": softening, "max_speed": speed, "progress": show}
    left, done = Counter(targets.values()), defaultdict[Path, list["Clip"]](list)
    lines, clamped_files = [], 0
    for file, chunks, applied in inputs.chunks_for(model, files, names, "clamping"):
        target, change = targets[file], Change(chunks.name)
        how: dict[str, Any] = {**options, "names": applied.names}
        if chunks.frames > inputs.MANY_FRAMES and left[target] == 1:
            target.parent.mkdir(parents=True, exist_ok=True)
            clamped = project_chunks(
                applied.model,
                chunks,
                folder=target.parent,
                notice=change.add,
                report=change.set_report,
                **how,
            ).rename(file.clip or chunks.name)
            save_chunks(clamped, target)
        else:
            clip = chunks.clip()
            legal, report = applied.model.project_clip(clip, **how)
            change.set_report(report)
            change.add(clip, legal)
            done[target].append(replace(legal, name=file.clip or legal.name))
            if len(done[target]) == left[target]:
                target.parent.mkdir(parents=True, exist_ok=True)
                save_clips(done.pop(target), target)
        clamped_files += 1
        lines.append(f"{change.summary()}; wrote {target}")
        if grown := change.growth():
            lines.append(grown)
        lines += change.exceptions()
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


@dataclass
class Change:
    """What became of a clip, from its consecutive chunks before and after."""

    name: str
    frames: int = 0
    changed_frames: int = 0
    changed_joints: set[str] = field(default_factory=set)
    worst_deg: float = 0.0
    worst: tuple[str, int] = ("", 0)
    grown: float = 0.0
    grown_step: tuple[str, int, float, float] = ("", 0, 0.0, 0.0)
    last: tuple[Quats, Quats] | None = None
    report: ClampReport | None = None

    def set_report(self, report: ClampReport) -> None:
        """Take note of what could not stay, or be kept."""
        self.report = report

    def add(self, before: Clip, after: Clip) -> None:
        """Look at the next chunk; nothing where it comes again."""
        import numpy as np

        from .. import quat

        names, first = before.skeleton.names, self.frames
        if before.start < first or not before.frames:
            return
        old, new = before.pose.rotations, after.pose.rotations
        changed = (old != new).any(axis=-1)
        angles_deg = np.degrees(np.where(changed, quat.angle_between(old, new), 0.0))
        self.frames += before.frames
        self.changed_frames += int(changed.any(axis=1).sum())
        self.changed_joints.update(names[k] for k in np.flatnonzero(changed.any(axis=0)))
        frame, joint = np.unravel_index(int(angles_deg.argmax()), angles_deg.shape)
        if angles_deg[frame, joint] > self.worst_deg or not self.worst[0]:
            self.worst_deg = float(angles_deg[frame, joint])
            self.worst = names[int(joint)], first + int(frame)
        if self.last:
            old, new = (np.concatenate(pair) for pair in zip(self.last, (old, new), strict=True))
            first -= 1
        self.last = old[-1:].copy(), new[-1:].copy()
        old_deg, new_deg = (np.degrees(quat.angle_between(q[:-1], q[1:])) for q in (old, new))
        grown = np.where(new_deg > STEP_DEG, new_deg / np.maximum(old_deg, STEP_DEG), 0.0)
        if grown.max(initial=0.0) > self.grown:
            frame, joint = np.unravel_index(int(grown.argmax()), grown.shape)
            step = float(old_deg[frame, joint]), float(new_deg[frame, joint])
            self.grown = float(grown[frame, joint])
            self.grown_step = (names[int(joint)], first + int(frame), *step)

    def summary(self) -> str:
        """Return in one line what was changed, and by how much at most."""
        name = click.style(terminal.printable(self.name), bold=True)
        if not self.changed_joints:
            return f"{name}: nothing to change"
        joint, frame = self.worst
        joints = terminal.pluralize(len(self.changed_joints), "joint")
        return (
            f"{name}: changed {joints} in {self.changed_frames} of "
            f"{terminal.pluralize(self.frames, 'frame')}, by at most "
            f"{terminal.degrees(self.worst_deg)} degrees ({joint}, frame {frame})"
        )

    def growth(self) -> str:
        """Return in one line which step from frame to frame grew most; nothing where none did."""
        if not self.grown > NOTABLE_GROWTH:
            return ""
        joint, frame, old_deg, new_deg = self.grown_step
        return (
            f"  the step that grew most: {terminal.printable(joint)}, frames {frame} to "
            f"{frame + 1}, from {terminal.degrees(old_deg)} to {terminal.degrees(new_deg)} degrees"
        )

    def exceptions(self) -> list[str]:
        """Return lines that name the legal frames that moved, and the steps over the bound."""
        if self.report is None:
            return []
        moved = [
            f"  {terminal.printable(joint)} moved in legal frames too, to change sides in time: "
            f"{frame_ranges(frames)}"
            for joint, frames in self.report.moved.items()
        ]
        over = [
            f"  {terminal.printable(joint)} has no legal way within the speed, and jumps to "
            f"{frame_ranges(frames)}"
            for joint, frames in self.report.over.items()
        ]
        return moved + over


def frame_ranges(frames: Ints) -> str:
    """Return ascending numbers of frames in words, consecutive ones as a range, some at most."""
    import numpy as np

    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    named = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(named) > MOST_RANGES:
        left = sum(len(run) for run in runs[MOST_RANGES:])
        named = [*named[:MOST_RANGES], f"and {left} more"]
    return f"frame{'s' * (len(frames) > 1)} {', '.join(named)}"
