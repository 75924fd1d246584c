"""`synovia info`: what is in a clip, or in a file of limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

import click

from ..text import percent
from . import options, terminal
from .clips import clip_files, load_clips

if TYPE_CHECKING:
    from ..learn import JointKind
    from ..limit import Limit
    from ..model import LimitModel
    from ..skeleton import Clip

EXAMPLES = (
    ("the joints of a clip, and how each of them moves", "synovia info walk.bvh"),
    ("the ranges that were learned, and from what", "synovia info human.limits.json"),
)
MAX_INDENT = 12  # levels of the tree of joints
MAX_CLIPS = 40  # names of clips that limits were learned from
CERTAIN = 0.85  # lower confidence in a bone is shown
ANGLE_OPTIONS = ("cell", "spread")
"""Options of shapes that are angles: radians inside, degrees for users."""
DROP_REASONS = {
    "flips": "flips of the capture",
    "unconfirmed": "unconfirmed, no other performer comes near them",
    "isolated": "isolated, they stand apart from all others",
}


@options.command(examples=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@options.skeleton_option
def info(file: Path) -> None:
    """Show what is in FILE: a clip, or limits.

    For a clip its joints as a tree, what kind of joint each is, and how far it turns, in degrees
    from its mean; and which joints are the bones of a human, if it is one. For limits the range of
    each joint along the axes of its chart, in degrees from its reference, the share of all
    rotations that is legal, and what they were learned from.
    """
    from ..io import ADVICE, CLIP_FORMATS, clip_suffix, list_clips, split_clip
    from ..io.ranges import range_suffix

    path, _ = split_clip(file)
    options.check_file(path)
    title = terminal.printable(file.name)
    if path.name.lower().endswith(options.LIMITS_SUFFIX) or (
        not clip_suffix(path) and range_suffix(path)
    ):
        from ..io import load_limits  # needs much more of the package than a clip

        terminal.echo_lines(limits_lines(title, load_limits(file)))
        return
    if not clip_suffix(path):
        expected = (
            f"expected a clip ({', '.join(CLIP_FORMATS)}) or limits ({options.LIMITS_SUFFIX})"
        )
        raise ValueError(f"{file}: {ADVICE.get(path.suffix.lower(), expected)}")
    names, clips = list_clips(file), load_clips(clip_files([str(file)]))
    if len(clips) > 1:
        first = f"{title}#{terminal.printable(names[0])}"
        terminal.echo(f"{terminal.bold(title)}: {len(clips)} clips; {first} is the first alone\n")
        rows = [
            (name, str(clip.frames), f"{clip.frames * clip.frame_time:.2f}")
            for name, clip in zip(names, clips, strict=True)
        ]
        terminal.echo_lines(terminal.table(("clip", "frames", "seconds"), rows))
        terminal.echo("")
        title = first
    terminal.echo_lines(clip_lines(title, clips[0]))


def provenance_lines(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about what limits were learned from; unknown or malformed entries are skipped."""
    clips = _complete_rows(
        provenance.get("clips"), performer=object, frames=int, frame_time=float | int
    )
    joints = _complete_rows(
        provenance.get("joints"), frames=int, **dict.fromkeys(DROP_REASONS, int)
    )
    origin = people if isinstance(people := provenance.get("people"), Mapping) else provenance
    if rows := _complete_rows(provenance.get("published"), motion=str):
        yield f"possible ranges after {terminal.pluralize(len(rows), 'published range')} of motion"
    if "data" in origin:
        yield from terminal.wrap(
            f"learned from {origin.get('people', '?')} people in {origin.get('clips', '?')} clips "
            f"of {origin['data']}; {origin.get('rights', 'rights not known')}"
        )
        yield from terminal.wrap(str(origin.get("credits", "")))
    if clips:
        performers = list(dict.fromkeys(str(clip["performer"]) for clip in clips))
        frames = sum(clip["frames"] for clip in clips)
        seconds = sum(clip["frames"] * clip["frame_time"] for clip in clips)
        yield (
            f"learned from {terminal.pluralize(frames, 'frame')} ({seconds:.0f} s) in "
            f"{terminal.pluralize(len(clips), 'clip')} of {_list_performers(performers)}"
        )
        if first_frames := sum(bool(clip.get("first_frame_dropped")) for clip in clips):
            dropped = terminal.pluralize(first_frames, "clip")
            yield f"left out the first frame of {dropped}: nobody performed it"
    for row in _complete_rows(
        [provenance.get("blend")], performers=list, samples=int, counted_as=float | int
    ):
        yield (
            f"blended with {terminal.pluralize(row['samples'], 'sample')} of "
            f"{_list_performers([str(name) for name in row['performers']])}, "
            f"and counted as {row['counted_as']} people"
        )
    for key, why in DROP_REASONS.items():
        if dropped_frames := sum(row[key] for row in joints):
            share = dropped_frames / max(sum(row["frames"] for row in joints), 1)
            yield f"left out {percent(share)} of the joints' frames: {why}"


def _list_performers(names: Sequence[str]) -> str:
    """Return the number of performers, and the names of the first ones."""
    listed = terminal.printable(terminal.list_some(names))
    return f"{terminal.pluralize(len(names), 'performer')} ({listed})"


def _complete_rows(rows: Any, **kinds: type | UnionType) -> list[Mapping[str, Any]]:
    """Return the rows that have values of these types, because files may hold any provenance."""
    rows = list(rows.values()) if isinstance(rows, Mapping) else rows
    rows = rows if isinstance(rows, list) else []
    return [
        row
        for row in rows
        if isinstance(row, Mapping)
        and all(key in row and isinstance(row[key], kind) for key, kind in kinds.items())
    ]


def clip_lines(title: str, clip: Clip) -> Iterator[str]:
    """Yield lines about a clip: channels, a tree of joints, and human roles."""
    import numpy as np

    from ..learn import invented_first_frame, joint_kinds

    skeleton = clip.skeleton
    kinds = joint_kinds([clip]) if clip.frames else {}
    yield (
        f"{terminal.bold(title)}: {terminal.pluralize(len(skeleton), 'joint')}, "
        f"{terminal.pluralize(clip.frames, 'frame')}, "
        f"{clip.frames * clip.frame_time:.2f} s at {1.0 / clip.frame_time:.4g} frames a second"
    )
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    short = np.flatnonzero((lengths <= 1e-9 * lengths.max()) & (skeleton.parents >= 0))
    if len(short):
        yield from terminal.wrap(f"no length: {', '.join(skeleton.names[j] for j in short)}")
    if invented_first_frame(clip):
        yield "first frame: nobody performed it, the motion jumps from it; a fit leaves it out"
    rows = []
    for joint, name in enumerate(skeleton.names):
        depth = len(skeleton.path_to_root(joint)) - 1
        kind = kinds.get(name)
        first, *others = [""] if kind is None else _range_texts(kind)
        word = "" if kind is None else kind.kind
        rows.append(("  " * min(depth, MAX_INDENT) + name, word, first))
        rows.extend(("", "", text) for text in others)
    yield ""
    yield from terminal.table(("joint", "kind", "turns, in degrees"), rows, left=3)
    yield ""
    yield from human_lines(clip)


def human_lines(clip: Clip) -> Iterator[str]:
    """Yield a table of joints by human role, both sides in a line, or why the rig is not human."""
    from ..population import recognize_clip
    from ..rigs import MEASURED_FROM, ROLES, NotHumanError, align

    try:
        rig = recognize_clip(clip)
    except NotHumanError as error:
        yield from terminal.wrap(str(error))
        return
    try:
        alignment = align(rig, [clip])
        step = alignment.steps[0]
        unsure = [role for role in alignment.measured if role not in alignment.trusted]
    except ValueError as error:
        step, unsure = str(error), [role for role in rig.roles if role in MEASURED_FROM]
    others = len(rig.roles.keys() - set(ROLES))
    also = f", and {terminal.pluralize(others, 'bone')} of fingers and face" if others else ""
    names = "its names" if rig.convention == "names" else f"names as in {rig.convention}"
    yield f"a human, by {names}: {len(rig.roles) - others} of {len(ROLES) - 1} bones{also}"
    for note in rig.notes:
        yield from terminal.wrap(f"  {note}")
    yield from terminal.wrap(f"  {step}")
    if unsure:
        bones = dict.fromkeys(_bone_of(role)[1] for role in unsure)
        yield from terminal.wrap(f"  limits of a human give no verdict on {', '.join(bones)}")
    by_bone: dict[str, dict[str, str]] = {}
    for role in ROLES:
        if role in rig.roles:
            start, joint, confidence = rig.starts[role], rig.roles[role], rig.confidence[role]
            text = joint if start == joint else f"{start} … {joint}"
            doubt = f" ({confidence:.1f})" if confidence < CERTAIN else ""
            side, bone = _bone_of(role)
            by_bone.setdefault(bone, {})[side] = text + doubt
    rows = [
        (bone, joints.get("left", "") or joints.get("", ""), joints.get("right", ""))
        for bone, joints in by_bone.items()
    ]
    yield from terminal.table(("bone", "joint, left", "right"), rows, left=3)


def _bone_of(role: str) -> tuple[str, str]:
    """Return the side of a role, "left", "right" or none, and its bone, as in "upperArm"."""
    from ..rigs.human import split_role

    side, bone = split_role(role)
    return side, bone[:1].lower() + bone[1:]


def _range_texts(kind: JointKind) -> list[str]:
    """Return ranges in words: a line for each axis of a joint that rotates about one or two."""
    ranges = [terminal.interval(*ends) for ends in kind.ranges.tolist()]
    if len(ranges) not in (1, 2):
        return [", ".join(ranges)]
    pairs = zip(ranges, kind.axes.tolist(), strict=True)
    return [f"{text} about {_axis(axis)}" for text, axis in pairs]


def _axis(axis: Sequence[float]) -> str:
    """Return a unit vector in words: a letter with a sign, or its three numbers."""
    for letter, along in zip("xyz", axis, strict=True):
        if abs(along) > 0.9998:
            return letter if along > 0.0 else f"-{letter}"
    return "({:.2f} {:.2f} {:.2f})".format(*(round(along, 2) + 0.0 for along in axis))


def limits_lines(title: str, model: LimitModel) -> Iterator[str]:
    """Yield lines about limits: what they were learned from, and a table of ranges."""
    from ..mesh import coordinate_names

    limits, volumes, provenance = model.limits, model.volume(), model.provenance
    kinds = {f"{limit.shape.name} in {limit.chart.name}" for limit in limits.values()}
    yield (
        f"{terminal.bold(title)}: limits for {len(limits)} of "
        f"{terminal.pluralize(len(model.skeleton), 'joint')}, {' and '.join(sorted(kinds))}"
    )
    yield from provenance_lines(provenance)
    fitting = provenance.get("options")
    if isinstance(fitting, Mapping) and fitting:
        text = ", ".join(f"{key} {_option(key, fitting[key])}" for key in fitting)
        yield from terminal.wrap(f"options: {text}")
    samples = (sample for name in limits for sample in model.samples.get(name, ()))
    if count := sum(len(sample.frames) for sample in samples):
        yield f"with {terminal.pluralize(count, 'sample')} of what was observed"
    yield ""
    charts = {type(limit.chart) for limit in limits.values()}
    axes = coordinate_names(charts.pop()) if len(charts) == 1 else ("1st", "2nd", "3rd", "4th")
    bounds = [_range_cells(limit) for limit in limits.values()]
    columns = {"joint": list(limits)}
    for k, axis in zip(range(max(map(len, bounds), default=3)), axes, strict=False):
        columns[f"{axis} deg"] = [cells[k] if k < len(cells) else "" for cells in bounds]
    columns["volume"] = [percent(volumes[name]) for name in limits]
    if len(kinds) > 1:
        columns["shape"] = [limit.shape.name for limit in limits.values()]
        columns["chart"] = [limit.chart.name for limit in limits.values()]
    if any(limit.relative_to for limit in limits.values()):
        columns["measured from"] = [limit.relative_to or "its parent" for limit in limits.values()]
    yield from terminal.table([*columns], [*zip(*columns.values(), strict=True)])
    for name, dependent in model.dependents.items():
        yield ""
        yield from terminal.wrap(
            f"{name} depends on {dependent.driver}: "
            f"{percent(model.pair(name).share_of_product())} of what both could do by themselves "
            "is legal together"
        )
    if names := [
        str(clip["name"]) for clip in _complete_rows(provenance.get("clips"), name=object)
    ]:
        yield ""
        left = f" and {len(names) - MAX_CLIPS} more" if len(names) > MAX_CLIPS else ""
        yield from terminal.wrap(f"clips: {', '.join(names[:MAX_CLIPS])}{left}")


def _range_cells(limit: Limit) -> list[str]:
    """Return the range of each coordinate; of directions, the elevation to each axis."""
    import numpy as np

    from ..shapes import as_directional

    bounds = limit.region.bounds.copy()
    if as_directional(limit.shape) is not None:
        bounds[:, :3] = np.arcsin(np.clip(bounds[:, :3], -1.0, 1.0))
    return [terminal.interval(*ends) for ends in bounds.T.tolist()]


def _option(key: str, value: Any) -> str:
    """Return the value of a fitting option in the unit that users type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if key == "margin" or key in ANGLE_OPTIONS:
            return f"{math.degrees(value):.3g} deg"
        if key in ("trim", "reject"):
            return percent(value)
    return "none" if value is None else str(value)
