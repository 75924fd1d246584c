"""How limits of a human come onto the rigs of clips, and what is said about it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .terminal import note, pluralize, printable, wrap

if TYPE_CHECKING:
    from ..population import HumanLimits, Source
    from ..skeleton import Clip

TPOSE: ContextVar[str | None] = ContextVar("TPOSE", default=None)
"""Where somebody stands, for the limits of a human: the number of a frame, or a file."""
VERBOSE: ContextVar[bool] = ContextVar("VERBOSE", default=False)
"""Whether the user wants to know how a rig was understood."""


def _remember_tpose(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    TPOSE.set(value)


def _remember_verbose(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    VERBOSE.set(value)


tpose_option = click.option(
    "--tpose",
    metavar="FRAME|FILE",
    expose_value=False,
    callback=_remember_tpose,
    help="For the limits of a human, where somebody stands, the arms hanging or to the sides: a "
    "frame of the clip, or the first of another clip of this rig.  [default: the rest pose, or "
    "the frame that is most like standing]",
)
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember_verbose,
    help="Say how the rig was understood: roles of joints, the reference, what was turned.",
)


humans_only_option = click.option(
    "--humans-only",
    is_flag=True,
    help="Among several clips, pass over those that the limits of a human are not for: they do "
    "not count for the exit code.",
)


class NoHumanLimitsError(ValueError):
    """A clip that the limits of a human are not for; the message names it and tells why."""


def limits_on_clip(
    source: Source,
    clip: Clip,
    roles: Mapping[str, str],
    *,
    place: str,
    skeleton: Path | None = None,
) -> HumanLimits:
    """Return the limits of a human for the rig of a clip.

    `place` is what errors begin with, the file; `skeleton` the file with the skeleton of clips that
    come without.
    """
    from ..population import limits_on, recognize_clip
    from ..rigs import NotHumanError, align

    reference = _tpose(clip, place, skeleton)
    try:
        rig = recognize_clip(clip, roles)
    except NotHumanError as error:
        raise NoHumanLimitsError(f"{place}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{place}: --map: {error}") from None
    try:
        alignment = align(rig, [clip], reference=reference)
        found = limits_on(alignment, source)
    except ValueError as error:
        raise (NoHumanLimitsError if reference is None else ValueError)(
            f"{place}: {error}"
        ) from None
    if not found.roles:
        raise NoHumanLimitsError(f"{place}: no joint gets a verdict: {'; '.join(found.explain())}")
    return found


def _tpose(clip: Clip, place: str, skeleton: Path | None) -> Clip | None:
    """Return a clip whose first frame is the reference of --tpose; None if it was not given."""
    from ..io import clip_suffix, load_clip, split_clip

    given = TPOSE.get()
    if given is None:
        return None
    if given.lstrip("-").isdigit():
        return _one_frame(clip, int(given))
    path = split_clip(given)[0]
    if not path.exists() and not clip_suffix(path):
        raise click.UsageError(f"--tpose must be the number of a frame, or a clip, got {given!r}")
    reference = load_clip(given, skeleton=skeleton)
    if reference.skeleton.names != clip.skeleton.names:
        raise ValueError(
            f"{given}: --tpose takes a clip of the same joints as {place}, "
            f"which has {len(clip.skeleton)}, got {len(reference.skeleton)} and other names"
        )
    return reference


def _one_frame(clip: Clip, frame: int) -> Clip:
    """Return a clip of one frame of another."""
    from ..skeleton import Pose

    if not 0 <= frame < clip.frames:
        raise click.UsageError(
            f"--tpose must be a frame below {clip.frames}, as many as {printable(clip.name)} "
            f"has, or a clip, got {frame}"
        )
    one = slice(frame, frame + 1)
    return replace(clip, pose=Pose(clip.pose.rotations[one], clip.pose.positions[one]))


def tell(humans: Mapping[str, HumanLimits]) -> None:
    """Say which limits were put on clips, by the clips' names: a line for each kind of rig."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for name, human in humans.items():
        kinds.setdefault((human.source, human.alignment.rig.convention), []).append(name)
    for names in kinds.values():
        for line in describe_kind({name: humans[name] for name in names}):
            note(printable(line))
    for name, human in humans.items():
        for text in (*human.alignment.rig.warnings, *human.alignment.warnings):
            warnings.warn(f"{name}: {text}", stacklevel=2)
    if VERBOSE.get():
        for name, human in humans.items():
            for line in describe_rig(name, human):
                note(line)


def describe_kind(humans: Mapping[str, HumanLimits]) -> Iterator[str]:
    """Yield a line about clips of one kind of rig: which limits, and on what is no verdict."""
    from ..population import join_sides

    name, first = next(iter(humans.items()))
    counts = sorted({len(human.roles) for human in humans.values()})
    known = first.alignment.rig.convention
    rig = f" with {known}'s names" if known not in ("names", "map") else ""
    joints = f"{counts[0]} to {counts[-1]} joints" if len(counts) > 1 else f"{counts[0]} joints"
    who = name if len(humans) == 1 else f"{len(humans)} clips"
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
    reasons = " and ".join(f"{', '.join(each)} ({why})" for why, each in missing.items())
    yield (
        f"{who}: human limits ({first.words}) for {joints} of "
        f"{'this rig' if len(humans) == 1 else 'each rig'}{rig}"
        + (f"; no verdict on {reasons}" if reasons else "")
    )


def left_out(count: int, what: str) -> str:
    """Return in one line how many clips are no humans, and were not checked or not clamped."""
    return f"left out {pluralize(count, 'clip')}, {what}: stderr tells why"


def describe_rig(name: str, human: HumanLimits) -> Iterator[str]:
    """Yield how the rig of a clip was understood."""
    yield f"{printable(name)}:"
    for line in human.explain():
        yield from wrap(f"  {printable(line)}")
