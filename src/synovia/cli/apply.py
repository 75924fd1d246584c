"""Limits as users name them, put on the rigs of clips, and the messages about that."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import error_text
from . import options
from .clips import ClipFile, check_map, clip_files, joint_names, load_clip, output_paths, save_to
from .terminal import note, pluralize, printable, progress, wrap

if TYPE_CHECKING:
    from ..learn import Progress
    from ..model import ClampReport, LimitModel, Report
    from ..population import Finding, HumanLimits, Source
    from ..skeleton import Clip

FIGURE_SUFFIX = ".xml"


class NoHumanLimitsError(ValueError):
    """Human limits do not apply to a clip; the message names the clip and the reason."""


@dataclass(frozen=True, eq=False)
class AppliedLimits:
    """Limits as they apply to one clip."""

    model: LimitModel
    names: dict[str, str]
    """Names of joints in the clip to names in the model."""
    human: HumanLimits | None = None
    """How the rig was recognised, for human limits."""

    def check(self, clip: Clip, progress: Progress) -> tuple[Report, Sequence[Finding]]:
        """Return the report of a clip, and findings in words for human limits."""
        if self.human is not None:
            return self.human.check(clip, progress=progress)
        return self.model.check(clip, names=self.names, progress=progress), ()

    def clamp(self, clip: Clip, **settings: Any) -> tuple[Clip, ClampReport]:
        """Return a clip inside its limits; `settings` are those of `LimitModel.project_clip`."""
        from ..population import clamp_until_clean

        if self.human is not None:
            return clamp_until_clean(self.human, clip, **settings)
        return self.model.project_clip(clip, names=self.names, **settings)


def load_limits(
    limits: str, option: str = "--limits", *, figures: bool = False
) -> LimitModel | Source:
    """Return the limits in a file, or the name of a source of human limits.

    `option` is named in errors. With `figures`, the file may be a figure, whose limits are the
    poses that its controls produce.
    """
    from .. import io
    from ..io.figure import is_figure
    from ..model import LimitModel

    for source in options.SOURCES:
        if limits == source:
            return source
    if figures and limits.lower().endswith(FIGURE_SUFFIX) and is_figure(limits):
        return LimitModel.of_figure(io.load_figure(limits))
    if not limits.lower().endswith(options.LIMITS_SUFFIX) and not Path(limits).exists():
        close = get_close_matches(limits, options.SOURCES, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        kinds = f"a file that ends in {options.LIMITS_SUFFIX}, or {', '.join(options.SOURCES)}"
        raise click.UsageError(f"{option} takes {kinds}; {hint}got {limits!r}")
    return io.load_limits(limits)


def load_model(limits: str, option: str = "--limits") -> LimitModel:
    """Return the limits in a file, or human limits on the canonical skeleton."""
    from ..population import canonical_limits

    model = load_limits(limits, option)
    return canonical_limits(model) if isinstance(model, str) else model


class ClipRun:
    """The clips that a command was given, with their limits, and the files that it writes.

    Iterate over it once: clips are loaded one by one. Among several clips, those that cannot be
    read, have no frames or get no limits are left out with a warning; `Settings.is_complete` tells
    whether that counts for the exit code.
    """

    def __init__(
        self, clips: Sequence[str], limits: str, label: str, output: Path | None = None
    ) -> None:
        """Find the clips and load the limits; with an output, check that it can be written.

        Clips that are to be written get human limits for the bones that they have in their files.
        """
        self.names, self.files = joint_names(), clip_files(clips)
        self.targets: dict[ClipFile, Path] = {}
        if output is not None:
            self.targets = output_paths(clips, self.files, output)
            self.files = list(self.targets)
        self._clip_counts = Counter(self.targets.values())
        self._to_write: dict[Path, list[Clip]] = {}
        self.model = load_limits(limits, figures=True)
        self.label, self.count = label, 0
        self.joint_progress: Progress = progress(label) if len(self.files) == 1 else iter
        """A bar over the joints of the only clip; several clips have a bar of their own."""

    def __iter__(self) -> Iterator[tuple[ClipFile, Clip, AppliedLimits]]:
        from ..skeleton import names_in

        single, unused = len(self.files) == 1, set(self.names)
        humans: dict[str, HumanLimits] = {}
        first_error: Exception | None = None
        if not isinstance(self.model, str):
            for name in self.names.values():
                self.model.skeleton.index(name)
        for file in progress(self.label)(self.files):
            try:
                clip = file.load()
                names = self.names if single else names_in(self.names, clip.skeleton)
                unused -= set(names)
                clip, applied = self._apply(file, clip, names)
            except (ValueError, OSError) as error:
                if single:
                    raise
                first_error = first_error or error
                ignored = isinstance(error, NoHumanLimitsError) and options.settings().humans_only
                options.settings().is_complete &= ignored
                warnings.warn(f"{error_text(error)}; this clip is left out", stacklevel=2)
                continue
            if applied.human is not None:
                humans[clip.name] = applied.human
                if single:
                    report_rigs(humans)
            self.count += 1
            yield file, clip, applied
        if not single:
            report_rigs(humans)
        if first_error is not None and not self.count:
            raise first_error
        if unused:
            listed = ", ".join(name for name in self.names if name in unused)
            warnings.warn(f"no clip has {listed}, which the map names", stacklevel=2)

    def _apply(
        self, file: ClipFile, clip: Clip, names: dict[str, str]
    ) -> tuple[Clip, AppliedLimits]:
        """Return a clip and its limits; for human limits, the clip as its output file holds it."""
        from ..io import clip_format

        if not clip.frames:
            raise ValueError(f"{file.path}: expected a clip with frames, got none")
        if not isinstance(self.model, str):
            check_map(names, self.model.skeleton, [clip])
            check_match(self.model, clip, names)
            return clip, AppliedLimits(self.model, names)
        if self.targets:
            written = clip_format(self.targets[file]).as_written(clip)
            clip, names = written, names if written is clip else {}
        try:
            human = human_limits_for(self.model, clip, names, str(file.path))
        except NoHumanLimitsError as error:
            hint = ". --limits FILE takes others" if len(self.files) == 1 else ""
            raise NoHumanLimitsError(f"{error}{hint}") from None
        return clip, AppliedLimits(human.model, {}, human)

    def write(self, file: ClipFile, clip: Clip) -> Path:
        """Store the changed clip of a file, and write its target once all clips for it are stored.

        Returns the path of the target.
        """
        target = self.targets[file]
        clips = self._to_write.setdefault(target, [])
        clips.append(replace(clip, name=file.clip or clip.name))
        if len(clips) == self._clip_counts[target]:
            save_to(self._to_write.pop(target), target)
        return target

    def finish_writing(self) -> None:
        """Write the remaining targets. Each has lost some of its clips to an error."""
        for target, clips in self._to_write.items():
            save_to(clips, target)

    def left_out(self, outcome: str) -> list[str]:
        """Return a line about clips left out, if any; `outcome` is "not checked", for example."""
        missing = len(self.files) - self.count
        clips = pluralize(missing, "clip")
        return [f"left out {clips}, {outcome}: stderr tells why"] if missing else []


def check_match(model: LimitModel, clip: Clip, names: Mapping[str, str]) -> None:
    """Raise ValueError if no joint of the clip has a limit."""
    from ..skeleton import list_names

    if not model.match(clip.skeleton, names).joints:
        raise ValueError(
            f"{clip.name}: no joint of this clip has a limit. It has "
            f"{list_names(clip.skeleton.names, 5)}; limits are for "
            f"{list_names(model.names, 5)}. --map THEIRS=OURS says which is which"
        )


def human_limits_for(
    source: Source, clip: Clip, roles: Mapping[str, str], path: str
) -> HumanLimits:
    """Return human limits for the rig of a clip; `roles` are by joint, errors begin with `path`."""
    from ..population import limits_on, recognize_clip
    from ..rigs import NotHumanError, align

    reference = _reference_clip(clip, path)
    try:
        rig = recognize_clip(clip, roles)
    except NotHumanError as error:
        raise NoHumanLimitsError(f"{path}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: --map: {error}") from None
    try:
        human = limits_on(align(rig, [clip], reference=reference), source)
    except ValueError as error:
        kind = NoHumanLimitsError if reference is None else ValueError
        raise kind(f"{path}: {error}") from None
    if not human.roles:
        raise NoHumanLimitsError(f"{path}: no joint gets a verdict: {'; '.join(human.explain())}")
    return human


def model_on_rig(source: Source, clip: Clip, roles: Mapping[str, str], path: str) -> LimitModel:
    """Return human limits for the rig of a clip, and print which limits these are."""
    human = human_limits_for(source, clip, roles, path)
    report_rigs({clip.name: human})
    return human.model


def _reference_clip(clip: Clip, path: str) -> Clip | None:
    """Return a clip whose first frame is the reference of `--tpose`; None if not given."""
    from ..io import clip_suffix, split_clip
    from ..skeleton import Pose

    tpose = options.settings().tpose
    if tpose is None:
        return None
    if tpose.lstrip("-").isdigit():
        frame = int(tpose)
        if not 0 <= frame < clip.frames:
            raise click.UsageError(
                f"--tpose must be a frame below {clip.frames}, as many as {printable(clip.name)} "
                f"has, or a clip, got {frame}"
            )
        one = slice(frame, frame + 1)
        return replace(clip, pose=Pose(clip.pose.rotations[one], clip.pose.positions[one]))
    file = split_clip(tpose)[0]
    if not file.exists() and not clip_suffix(file):
        raise click.UsageError(f"--tpose must be the number of a frame, or a clip, got {tpose!r}")
    reference = load_clip(tpose)
    if reference.skeleton.names != clip.skeleton.names:
        raise ValueError(
            f"{tpose}: --tpose takes a clip of the same joints as {path}, "
            f"which has {len(clip.skeleton)}, got {len(reference.skeleton)} and other names"
        )
    return reference


def report_rigs(humans: Mapping[str, HumanLimits]) -> None:
    """Print a line on the limits for each kind of rig, and warnings; keys are names of clips."""
    kinds: dict[tuple[str, str], dict[str, HumanLimits]] = {}
    for name, human in humans.items():
        kinds.setdefault((human.source, human.alignment.rig.convention), {})[name] = human
    for members in kinds.values():
        note(printable(_describe_kind(members)))
    for name, human in humans.items():
        for text in human.alignment.rig.warnings:
            warnings.warn(f"{name}: {text}", stacklevel=2)
    for name, human in humans.items() if options.settings().verbose else ():
        note(f"{printable(name)}:")
        for line in human.explain():
            note("\n".join(wrap(f"  {printable(line)}")))


def _describe_kind(humans: Mapping[str, HumanLimits]) -> str:
    """Return a line about clips of one kind of rig: their limits, and the joints without any."""
    from ..population import join_sides

    name, first = next(iter(humans.items()))
    single = len(humans) == 1
    counts = sorted({len(human.roles) for human in humans.values()})
    convention = first.alignment.rig.convention
    rig = f" with {convention}'s names" if convention not in ("names", "map") else ""
    joints = " to ".join(dict.fromkeys(str(count) for count in (counts[0], counts[-1])))
    counted = Counter(
        (reason, joint)
        for human in humans.values()
        for reason, joints in human.no_verdict.items()
        for joint in join_sides(joints)
    )
    missing: dict[str, list[str]] = {}
    for (reason, joint), count in counted.items():
        clips = "" if count == len(humans) else f" in {pluralize(count, 'clip')}"
        missing.setdefault(reason, []).append(joint + clips)
    reasons = " and ".join(f"{', '.join(names)} ({why})" for why, names in missing.items())
    return (
        f"{name if single else f'{len(humans)} clips'}: human limits ({first.words}) for {joints} "
        f"joints of {'this' if single else 'each'} rig{rig}"
        + (f"; no verdict on {reasons}" if reasons else "")
    )
