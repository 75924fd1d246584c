"""`synovia info`: what is in a clip, or in a file of limits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..text import percent
from . import inputs, terminal

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
DEEPEST = 12
LIMITS = ".limits.json"
MOST_CLIPS = 40
"""So many of the clips that limits were learned from are named."""
SURE = 0.85
"""Confidence in a bone below this is shown."""


@click.command(cls=terminal.TeachingCommand, examples=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
@inputs.skeleton_option
@terminal.debug_option
def info(file: Path, as_json: bool) -> None:
    """Show what is in FILE: a clip, or limits.

    For a clip its joints as a tree, what kind of joint each is, and how far it turns, in degrees
    from its mean; and which joints are the bones of a human, if it is one. For limits the range of
    each joint along the axes of its chart, in degrees from its reference, the share of all
    rotations that is legal, and what they were learned from.
    """
    described, lines = describe_file(file)
    if as_json:
        terminal.echo(json.dumps({"file": str(file), **described}, indent=2, allow_nan=False))
        return
    for line in lines:
        terminal.echo(line)


def describe_file(file: Path) -> tuple[dict[str, Any], Iterator[str]]:
    """Return what is in a file as plain values, angles in degrees, and as lines for people."""
    from ..io import ADVICE, CLIP_FORMATS, clip_suffix, is_clip, list_clips, split_clip

    path, _ = split_clip(file)
    inputs.check_file(path)
    title = terminal.printable(file.name)
    if path.name.lower().endswith(LIMITS) or (not clip_suffix(path) and _has_ranges(path)):
        from ..io import load_limits  # needs much more of the package than a clip

        described = describe_limits(load_limits(file))
        return described, limits_lines(title, described)
    if not is_clip(path):
        expected = f"expected a clip ({', '.join(CLIP_FORMATS)}) or limits ({LIMITS})"
        raise ValueError(f"{file}: {ADVICE.get(path.suffix.lower(), expected)}")
    names = list_clips(file)
    clips = inputs.load_all(inputs.clip_files([str(file)]))
    described = describe_clip(clips[0])
    if len(clips) == 1:
        return described, clip_lines(title, described)
    described["clips"] = [
        {"name": name, "frames": clip.frames, "duration": clip.frames * clip.frame_time}
        for name, clip in zip(names, clips, strict=True)
    ]
    return described, several_clips_lines(title, described)


def _has_ranges(path: Path) -> bool:
    """Tell whether a file is a model with ranges of joints, by its name."""
    from ..io.ranges import range_suffix  # as much as limits

    return bool(range_suffix(path))


def describe_clip(clip: Clip) -> dict[str, Any]:
    """Return what is in a clip as plain values, angles in degrees."""
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
    """Return which joints are the bones of a human, as plain values; else why there is none."""
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
    """Yield what people want to know of a clip."""
    joints = clip["joints"]
    yield (
        f"{click.style(title, bold=True)}: {terminal.pluralize(len(joints), 'joint')}, "
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
        indent = "  " * min(depth[joint["name"]], DEEPEST)
        turns = _turns(joint)
        rows.append((indent + joint["name"], joint["kind"] or "", turns[0]))
        rows.extend(("", "", turn) for turn in turns[1:])
    yield ""
    yield from terminal.heading(
        terminal.table(("joint", "kind", "turns, in degrees"), rows, left=3)
    )
    yield ""
    yield from human_lines(clip["human"])


def human_lines(human: Mapping[str, Any]) -> Iterator[str]:
    """Yield which joints are the bones of a human, both sides in a line; else why there is none."""
    if not human["recognized"]:
        yield from terminal.wrap(human["reason"])
        return
    from ..rigs import ROLES

    joints = {bone["role"]: _bone_joints(bone) for bone in human["roles"]}
    others = len(joints.keys() - set(ROLES))
    also = f", and {terminal.pluralize(others, 'bone')} of fingers and face" if others else ""
    known = human["convention"]
    names = "its names" if known == "names" else f"names as in {known}"
    bones = f"{len(joints) - others} of {len(ROLES) - 1} bones{also}"
    yield f"a human, by {names}: {bones}"
    for note in human["notes"]:
        yield from terminal.wrap(f"  {note}")
    yield from terminal.wrap(f"  {human['steps'][0]}")
    if human["no_verdict"]:
        unsure = _join_sides(human["no_verdict"])
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
    yield from terminal.heading(terminal.table(("bone", "joint, left", "right"), rows, left=3))


def _join_sides(roles: Sequence[str]) -> list[str]:
    """Return bones without their sides, each once."""
    bones = [role.removeprefix("left").removeprefix("right") for role in roles]
    return list(dict.fromkeys(bone[:1].lower() + bone[1:] for bone in bones))


def _bone_joints(bone: Mapping[str, Any]) -> str:
    """Return the joints of a bone: the first and the last where it is split."""
    ends = [bone["start"], bone["joint"]] if bone["start"] != bone["joint"] else [bone["joint"]]
    doubt = f" ({bone['confidence']:.1f})" if bone["confidence"] < SURE else ""
    return " … ".join(ends) + doubt


def several_clips_lines(title: str, clip: Mapping[str, Any]) -> Iterator[str]:
    """Yield which clips there are in a file, and what people want to know of the first."""
    clips = clip["clips"]
    first = f"{title}#{terminal.printable(clips[0]['name'])}"
    yield f"{click.style(title, bold=True)}: {len(clips)} clips; {first} is the first alone"
    yield ""
    rows = [(each["name"], str(each["frames"]), f"{each['duration']:.2f}") for each in clips]
    yield from terminal.heading(terminal.table(("clip", "frames", "seconds"), rows))
    yield ""
    yield from clip_lines(first, clip)


def _by_channels(joints: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return who has which channels, in the file's order."""
    owners: dict[str, list[str]] = {}
    for joint in joints:
        places = "".join(name[0] for name in joint["channels"] if name.endswith("position"))
        turns = "".join(name[0] for name in joint["channels"] if name.endswith("rotation"))
        parts = [f"position {places}"] * bool(places) + [f"rotation {turns}"] * bool(turns)
        owners.setdefault(", ".join(parts) or "none", []).append(terminal.printable(joint["name"]))
    return {
        channels: ", ".join(names) if len(names) <= 3 else terminal.pluralize(len(names), "joint")
        for channels, names in owners.items()
    }


def _turns(joint: Mapping[str, Any]) -> list[str]:
    """Return the ranges: a line for each axis of a joint that turns about one or two."""
    ranges = [terminal.interval(*ends) for ends in joint["ranges_deg"]]
    if len(ranges) not in (1, 2):
        return [", ".join(ranges)]
    pairs = zip(ranges, map(_axis, joint["axes"]), strict=True)
    return [f"{turns} about {axis}" for turns, axis in pairs]


def _axis(axis: Sequence[float]) -> str:
    for letter, along in zip("xyz", axis, strict=True):
        if abs(along) > 0.9998:
            return letter if along > 0.0 else f"-{letter}"
    return "({:.2f} {:.2f} {:.2f})".format(*(round(along, 2) + 0.0 for along in axis))


def describe_limits(model: LimitModel) -> dict[str, Any]:
    """Return what is in a file of limits as plain values, angles in degrees."""
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
                "driver": each.driver,
                "type": each.name,
                "nodes": len(each.values),
                "share": model.pair(name).share_of_product(),
            }
            for name, each in model.dependents.items()
        ],
        "provenance": model.provenance,
    }


def _frame(limit: Limit) -> list[float] | None:
    """Return how the chart's axes are turned in the joint's frame, w first; None if not."""
    from ..limit import frame_of

    frame = frame_of(limit.chart)
    return frame.tolist() if frame[1:].any() else None


def _bounds_deg(limit: Limit) -> list[list[float]]:
    """Return the range of each coordinate in degrees; of directions, how far towards each axis."""
    import numpy as np

    from ..shapes import as_directional

    bounds = limit.region.bounds.copy()
    if as_directional(limit.shape) is not None:
        bounds[:, :3] = np.arcsin(np.clip(bounds[:, :3], -1.0, 1.0))
    ends: list[list[float]] = np.degrees(bounds).T.tolist()
    return ends


def limits_lines(title: str, limits: Mapping[str, Any]) -> Iterator[str]:
    """Yield what people want to know of limits."""
    from ..charts import CHARTS
    from ..mesh import coordinate_names

    joints = limits["joints"]
    kinds = {f"{joint['shape']} in {joint['chart']}" for joint in joints}
    yield (
        f"{click.style(title, bold=True)}: limits for {len(joints)} of "
        f"{terminal.pluralize(len(limits['skeleton']), 'joint')}, {' and '.join(sorted(kinds))}"
    )
    yield from terminal.provenance_lines(limits["provenance"])
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
        rows.append(row + [_turn(joint["frame"])] * turned)
    titles += ["shape", "chart"] * mixed + ["measured from"] * far + ["axes turned by"] * turned
    yield ""
    yield from terminal.heading(terminal.table(titles, rows))
    for each in limits["dependents"]:
        yield ""
        yield from terminal.wrap(
            f"{each['name']} depends on {each['driver']}: {percent(each['share'])} of "
            "what both could do by themselves is legal together"
        )
    if names := terminal.clip_names(limits["provenance"]):
        yield ""
        left = f" and {len(names) - MOST_CLIPS} more (--json has all)"
        listed = ", ".join(names[:MOST_CLIPS]) + left * (len(names) > MOST_CLIPS)
        yield from terminal.wrap(f"clips: {listed}")


def _turn(frame: Sequence[float] | None) -> str:
    """Return a rotation, w first, in words."""
    if frame is None:
        return ""
    sine, side = math.hypot(*frame[1:]), math.copysign(1.0, frame[0])
    angle_deg = math.degrees(2.0 * math.atan2(sine, abs(frame[0])))
    return f"{angle_deg:.0f} deg about {_axis([side * each / sine for each in frame[1:]])}"


def _option(key: str, value: Any) -> str:
    if terminal.is_number(value) and (key == "margin" or key in terminal.ANGLES):
        return f"{math.degrees(value):.3g} deg"
    if terminal.is_number(value) and key in ("trim", "reject"):
        return percent(value)
    return "none" if value is None else str(value)
