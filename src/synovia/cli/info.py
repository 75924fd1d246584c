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
    ("the same, for a script", "synovia info human.limits.json --json"),
)
MAX_INDENT = 12  # levels of the tree of joints
LIMITS = ".limits.json"
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
@options.json_option
@options.skeleton_option
def info(file: Path, as_json: bool) -> None:
    """Show what is in FILE: a clip, or limits.

    For a clip its joints as a tree, what kind of joint each is, and how far it turns, in degrees
    from its mean; and which joints are the bones of a human, if it is one. For limits the range of
    each joint along the axes of its chart, in degrees from its reference, the share of all
    rotations that is legal, and what they were learned from.
    """
    described, lines = describe_file(file)
    if as_json:
        terminal.echo_json({"file": str(file), **described})
        return
    terminal.echo_lines(lines)


def provenance_lines(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about what limits were learned from; provenance may hold anything."""
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
        if first := sum(bool(clip.get("first_frame_dropped")) for clip in clips):
            dropped = terminal.pluralize(first, "clip")
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
        if lost := sum(row[key] for row in joints):
            share = lost / max(sum(row["frames"] for row in joints), 1)
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


def describe_file(file: Path) -> tuple[dict[str, Any], Iterator[str]]:
    """Return the contents of a file as plain values, angles in degrees, and as lines of text."""
    from ..io import ADVICE, CLIP_FORMATS, clip_suffix, is_clip, list_clips, split_clip
    from ..io.ranges import range_suffix

    path, _ = split_clip(file)
    options.check_file(path)
    title = terminal.printable(file.name)
    if path.name.lower().endswith(LIMITS) or (not clip_suffix(path) and range_suffix(path)):
        from ..io import load_limits  # needs much more of the package than a clip

        described = describe_limits(load_limits(file))
        return described, limits_lines(title, described)
    if not is_clip(path):
        expected = f"expected a clip ({', '.join(CLIP_FORMATS)}) or limits ({LIMITS})"
        raise ValueError(f"{file}: {ADVICE.get(path.suffix.lower(), expected)}")
    names = list_clips(file)
    clips = load_clips(clip_files([str(file)]))
    described = describe_clip(clips[0])
    if len(clips) == 1:
        return described, clip_lines(title, described)
    described["clips"] = [
        {"name": name, "frames": clip.frames, "duration": clip.frames * clip.frame_time}
        for name, clip in zip(names, clips, strict=True)
    ]
    return described, several_clips_lines(title, described)


def describe_clip(clip: Clip) -> dict[str, Any]:
    """Return the contents of a clip as plain values, angles in degrees."""
    import numpy as np

    from ..learn import invented_first_frame, joint_kinds

    skeleton = clip.skeleton
    kinds = joint_kinds([clip]) if clip.frames else {}
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    short = (lengths <= 1e-9 * lengths.max()) & (skeleton.parents >= 0)
    return {
        "type": "clip",
        "frames": clip.frames,
        "frame_time": clip.frame_time,
        "fps": 1.0 / clip.frame_time,
        "duration": clip.frames * clip.frame_time,
        "invented_first_frame": bool(invented_first_frame(clip)),
        "zero_length_bones": [skeleton.names[joint] for joint in np.flatnonzero(short)],
        "end_sites": len(skeleton.end_parents),
        "human": describe_human(clip),
        "joints": [
            {
                "name": name,
                "parent": skeleton.names[parent] if parent >= 0 else None,
                "channels": list(channels),
                **_describe_kind(kinds.get(name)),
            }
            for name, parent, channels in zip(
                skeleton.names, skeleton.parents.tolist(), skeleton.channels, strict=True
            )
        ],
    }


def describe_human(clip: Clip) -> dict[str, Any]:
    """Return the joints by human role as plain values, or why the rig is not human."""
    from ..population import recognize_clip
    from ..rigs import MEASURED_FROM, NotHumanError, align

    try:
        rig = recognize_clip(clip)
    except NotHumanError as error:
        return {"recognized": False, "reason": str(error)}
    try:
        alignment = align(rig, [clip])
        steps = list(alignment.steps)
        unsure = [role for role in alignment.measured if role not in alignment.trusted]
    except ValueError as error:
        steps, unsure = [str(error)], [role for role in rig.roles if role in MEASURED_FROM]
    return {
        "recognized": True,
        "convention": rig.convention,
        "roles": [
            {
                "role": role,
                "joint": joint,
                "start": rig.starts[role],
                "confidence": round(rig.confidence[role], 3),
            }
            for role, joint in rig.roles.items()
        ],
        "notes": list(rig.notes),
        "steps": steps,
        "no_verdict": unsure,
    }


def _describe_kind(kind: JointKind | None) -> dict[str, Any]:
    import numpy as np

    if kind is None:
        return {"kind": None, "axes": [], "ranges_deg": []}
    ranges_deg = np.degrees(kind.ranges).tolist()
    return {"kind": kind.kind, "axes": kind.axes.tolist(), "ranges_deg": ranges_deg}


def clip_lines(title: str, clip: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about a clip: channels, a tree of joints, and human roles."""
    joints = clip["joints"]
    yield (
        f"{terminal.bold(title)}: {terminal.pluralize(len(joints), 'joint')}, "
        f"{terminal.pluralize(clip['frames'], 'frame')}, "
        f"{clip['duration']:.2f} s at {clip['fps']:.4g} frames a second"
    )
    for channels, names in _by_channels(joints).items():
        yield from terminal.wrap(f"channels: {channels} ({names})")
    if clip["zero_length_bones"]:
        yield from terminal.wrap(f"no length: {', '.join(clip['zero_length_bones'])}")
    if clip["invented_first_frame"]:
        yield "first frame: nobody performed it, the motion jumps from it; a fit leaves it out"
    depth: dict[str | None, int] = {None: -1}
    rows = []
    for joint in joints:
        depth[joint["name"]] = depth[joint["parent"]] + 1
        indent = "  " * min(depth[joint["name"]], MAX_INDENT)
        texts = _range_texts(joint)
        rows.append((indent + joint["name"], joint["kind"] or "", texts[0]))
        rows.extend(("", "", text) for text in texts[1:])
    yield ""
    yield from terminal.table(("joint", "kind", "turns, in degrees"), rows, left=3)
    yield ""
    yield from human_lines(clip["human"])


def human_lines(human: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of joints by human role, both sides in a line, or why the rig is not human."""
    if not human["recognized"]:
        yield from terminal.wrap(human["reason"])
        return
    from ..rigs import ROLES

    joints = {bone["role"]: _bone_joints(bone) for bone in human["roles"]}
    others = len(joints.keys() - set(ROLES))
    also = f", and {terminal.pluralize(others, 'bone')} of fingers and face" if others else ""
    convention = human["convention"]
    names = "its names" if convention == "names" else f"names as in {convention}"
    bones = f"{len(joints) - others} of {len(ROLES) - 1} bones{also}"
    yield f"a human, by {names}: {bones}"
    for note in human["notes"]:
        yield from terminal.wrap(f"  {note}")
    yield from terminal.wrap(f"  {human['steps'][0]}")
    if human["no_verdict"]:
        sideless = [role.removeprefix("left").removeprefix("right") for role in human["no_verdict"]]
        unsure = dict.fromkeys(bone[:1].lower() + bone[1:] for bone in sideless)
        yield from terminal.wrap(f"  limits of a human give no verdict on {', '.join(unsure)}")
    rows = []
    for role in ROLES:
        if role.startswith("left"):
            right = role.replace("left", "right", 1)
            if role in joints or right in joints:
                bone = role.removeprefix("left")
                row = (bone[:1].lower() + bone[1:], joints.get(role, ""), joints.get(right, ""))
                rows.append(row)
        elif role in joints and not role.startswith("right"):
            rows.append((role, joints[role], ""))
    yield from terminal.table(("bone", "joint, left", "right"), rows, left=3)


def _bone_joints(bone: Mapping[str, Any]) -> str:
    """Return the joints of a bone: the first and the last where it is split."""
    ends = [bone["start"], bone["joint"]] if bone["start"] != bone["joint"] else [bone["joint"]]
    doubt = f" ({bone['confidence']:.1f})" if bone["confidence"] < CERTAIN else ""
    return " … ".join(ends) + doubt


def several_clips_lines(title: str, clip: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of the clips in a file, then lines about the first."""
    clips = clip["clips"]
    first = f"{title}#{terminal.printable(clips[0]['name'])}"
    yield f"{terminal.bold(title)}: {len(clips)} clips; {first} is the first alone"
    yield ""
    rows = [
        (clip_entry["name"], str(clip_entry["frames"]), f"{clip_entry['duration']:.2f}")
        for clip_entry in clips
    ]
    yield from terminal.table(("clip", "frames", "seconds"), rows)
    yield ""
    yield from clip_lines(first, clip)


def _by_channels(joints: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return names of joints by their channels, in the file's order."""
    owners: dict[str, list[str]] = {}
    for joint in joints:
        positions = "".join(name[0] for name in joint["channels"] if name.endswith("position"))
        rotations = "".join(name[0] for name in joint["channels"] if name.endswith("rotation"))
        parts = [f"position {positions}"] * bool(positions)
        parts += [f"rotation {rotations}"] * bool(rotations)
        owners.setdefault(", ".join(parts) or "none", []).append(terminal.printable(joint["name"]))
    return {
        channels: ", ".join(names) if len(names) <= 3 else terminal.pluralize(len(names), "joint")
        for channels, names in owners.items()
    }


def _range_texts(joint: Mapping[str, Any]) -> list[str]:
    """Return ranges in words: a line for each axis of a joint that rotates about one or two."""
    ranges = [terminal.interval(*ends) for ends in joint["ranges_deg"]]
    if len(ranges) not in (1, 2):
        return [", ".join(ranges)]
    pairs = zip(ranges, map(_axis, joint["axes"]), strict=True)
    return [f"{text} about {axis}" for text, axis in pairs]


def _axis(axis: Sequence[float]) -> str:
    for letter, along in zip("xyz", axis, strict=True):
        if abs(along) > 0.9998:
            return letter if along > 0.0 else f"-{letter}"
    return "({:.2f} {:.2f} {:.2f})".format(*(round(along, 2) + 0.0 for along in axis))


def describe_limits(model: LimitModel) -> dict[str, Any]:
    """Return the contents of a limits file as plain values, angles in degrees."""
    volumes = model.volume()
    return {
        "type": "limits",
        "skeleton": list(model.skeleton.names),
        "joints": [
            {
                "name": name,
                "shape": limit.shape.name,
                "chart": limit.chart.name,
                "relative_to": limit.relative_to,
                "frame": _frame(limit),
                "bounds_deg": _bounds_deg(limit),
                "volume": volumes[name],
                "samples": sum(len(sample.frames) for sample in model.samples.get(name, ())),
            }
            for name, limit in model.limits.items()
        ],
        "dependents": [
            {
                "name": name,
                "driver": dependent.driver,
                "type": dependent.name,
                "nodes": len(dependent.values),
                "share": model.pair(name).share_of_product(),
            }
            for name, dependent in model.dependents.items()
        ],
        "provenance": model.provenance,
    }


def _frame(limit: Limit) -> list[float] | None:
    """Return the rotation of the chart's axes in the joint's frame, w first; None for none."""
    frame = limit.chart.frame
    return frame.tolist() if frame[1:].any() else None


def _bounds_deg(limit: Limit) -> list[list[float]]:
    """Return the range of each coordinate in degrees; of directions, the elevation to each axis."""
    import numpy as np

    from ..shapes import as_directional

    bounds = limit.region.bounds.copy()
    if as_directional(limit.shape) is not None:
        bounds[:, :3] = np.arcsin(np.clip(bounds[:, :3], -1.0, 1.0))
    ends: list[list[float]] = np.degrees(bounds).T.tolist()
    return ends


def limits_lines(title: str, limits: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about limits: what they were learned from, and a table of ranges."""
    from ..charts import CHARTS
    from ..mesh import coordinate_names

    joints = limits["joints"]
    kinds = {f"{joint['shape']} in {joint['chart']}" for joint in joints}
    yield (
        f"{terminal.bold(title)}: limits for {len(joints)} of "
        f"{terminal.pluralize(len(limits['skeleton']), 'joint')}, {' and '.join(sorted(kinds))}"
    )
    yield from provenance_lines(limits["provenance"])
    options = limits["provenance"].get("options")
    if isinstance(options, Mapping) and options:
        text = ", ".join(f"{key} {_option(key, options[key])}" for key in options)
        yield from terminal.wrap(f"options: {text}")
    if kept := sum(joint["samples"] for joint in joints):
        yield f"with {terminal.pluralize(kept, 'sample')} of what was observed"
    charts = {joint["chart"] for joint in joints}
    widest = max((len(joint["bounds_deg"]) for joint in joints), default=3)
    axes = ("1st", "2nd", "3rd", "4th")[:widest]
    if len(charts) == 1:
        axes = coordinate_names(CHARTS[charts.pop()])
    titles = ["joint", *[f"{axis} deg" for axis in axes], "volume"]
    mixed, far = len(kinds) > 1, any(joint["relative_to"] for joint in joints)
    turned = any(joint["frame"] for joint in joints)
    rows = []
    for joint in joints:
        ranges = [terminal.interval(*ends) for ends in joint["bounds_deg"]]
        ranges += [""] * (widest - len(ranges))
        row = [joint["name"], *ranges, percent(joint["volume"])]
        row += [joint["shape"], joint["chart"]] * mixed
        row += [joint["relative_to"] or "its parent"] * far
        rows.append(row + [_rotation_text(joint["frame"])] * turned)
    titles += ["shape", "chart"] * mixed + ["measured from"] * far + ["axes turned by"] * turned
    yield ""
    yield from terminal.table(titles, rows)
    for dependent in limits["dependents"]:
        yield ""
        yield from terminal.wrap(
            f"{dependent['name']} depends on {dependent['driver']}: "
            f"{percent(dependent['share'])} of what both could do by themselves is legal together"
        )
    clips = _complete_rows(limits["provenance"].get("clips"), name=object)
    if names := [str(clip["name"]) for clip in clips]:
        yield ""
        left = f" and {len(names) - MAX_CLIPS} more (--json has all)"
        listed = ", ".join(names[:MAX_CLIPS]) + left * (len(names) > MAX_CLIPS)
        yield from terminal.wrap(f"clips: {listed}")


def _rotation_text(frame: Sequence[float] | None) -> str:
    """Return a rotation, w first, as angle and axis in words."""
    if frame is None:
        return ""
    sine, side = math.hypot(*frame[1:]), math.copysign(1.0, frame[0])
    angle_deg = math.degrees(2.0 * math.atan2(sine, abs(frame[0])))
    return f"{angle_deg:.0f} deg about {_axis([side * each / sine for each in frame[1:]])}"


def _option(key: str, value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if key == "margin" or key in ANGLE_OPTIONS:
            return f"{math.degrees(value):.3g} deg"
        if key in ("trim", "reject"):
            return percent(value)
    return "none" if value is None else str(value)
