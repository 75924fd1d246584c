"""Writing ranges into an existing MJCF or URDF model, by the names of its bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from .. import quat
from ..arrays import Floats
from ..charts import Hinges
from ..io.files import read_file
from ..io.ranges import FULL, HingeRange, RangesFile, complete_axes, read_ranges
from ..io.xml import Element, format_element
from ..limit import Limit
from ..model import LimitModel, joint_by_joint
from ..skeleton import Skeleton
from . import Exported
from .hinged import (
    LOSS_SAMPLES,
    MEMBERS,
    MIN_RANGE,
    NO_SLANTS,
    HalfSpaces,
    HingedJoint,
    Loss,
    comment_text,
    element,
    fit_joint,
    loss_lines,
    measured_note,
)
from .mjcf import tendons

MAX_HINGES = 3  # of a joint
DIGITS = 9  # of an end that the limit gives
OWN_DIGITS = 15  # of an end that the file gave: the same number again
ROOT_END = re.compile(r"</mujoco\s*>")
ABOUT = "Ranges by Synovia; shares are of the model's own ranges."
OUR_COMMENTS = re.compile(
    r"\n  <!-- Ranges by Synovia; [^\n]* -->(?:\n  <!-- [^\n]*: limit [\d.]+%, gained [^\n]* -->)*"
)
MAX_OFF_HINGES = np.radians(20.0)  # of legal rotations from those that one or two hinges make
SAME_DIRECTION = np.radians(5.0)  # between bones of two skeletons that have the same rest pose


def write_into(
    model: LimitModel, path: Path, *, progress: Callable[[Iterable[str]], Iterable[str]] = iter
) -> Exported:
    """Return the file at `path` with the ranges of its hinges narrowed to what the limits allow.

    No range becomes wider than it is in the file. A joint whose ranges do not overlap with its
    limit keeps them, with a note. Losses are shares of the ranges in the file.

    Limits of a skeleton with other names, or with another rest pose, are transferred by
    `LimitModel.on`. Into MJCF, half-spaces of joints with three hinges are written as tendons, at
    the end. All other bytes of the file stay; tendons that were written into it before are
    replaced.
    """
    suffix = path.suffix.lower()
    model = joint_by_joint(model, "an export into a model")
    file = read_ranges(path)
    if suffix not in (".xml", ".mjcf", ".urdf"):
        raise ValueError(f"{path}: ranges are written into .xml, .mjcf or .urdf")
    on_rig = model if stands_alike(model.skeleton, file.skeleton) else model.on(file.skeleton)
    hinges = {
        name: joint_hinges
        for name, joint_hinges in file.by_joint().items()
        if name in on_rig.limits and not joint_hinges[0].ball
    }
    if not hinges:
        raise ValueError(f"{path}: none of its joints with hinges has a limit here")
    text = read_file(path).decode("utf-8")
    losses: dict[str, Loss] = {}
    notes: dict[str, str] = {}
    fixed: list[Element] = []
    for name in progress(list(hinges)):
        limit, own = on_rig.limits[name], hinges[name]
        joint, disjoint = narrow_ranges(limit, name, own, slanted=suffix != ".urdf")
        notes[name] = joint.note
        if disjoint:
            names = ", ".join(disjoint)
            notes[name] = f"left as they are, the limit allows nothing of their ranges: {names}"
        else:
            text, missing = _replace_ranges(text, file, own, joint)
            if missing:
                names = ", ".join(missing)
                notes[name] = f"not in this file by name, and left as they are: {names}"
                joint, _ = narrow_ranges(limit, name, own, slanted=False)
        losses[name] = joint.loss
        fixed += _own_tendons(joint, own)
    if suffix != ".urdf":
        text = _with_tendons(text, fixed, hinges)
    text = _with_comment(text, loss_lines(losses, notes))
    return Exported(text.encode(), losses, notes)


def stands_alike(one: Skeleton, other: Skeleton) -> bool:
    """Return whether the joints that two skeletons share have bones of the same directions."""
    shared = [name for name in one.names if name in other.names]
    if not shared:
        return False
    a, b = (
        skeleton.rest_directions[[skeleton.index(name) for name in shared]]
        for skeleton in (one, other)
    )
    has_bones = a.any(axis=1) & b.any(axis=1)
    angles = np.arccos(np.clip((a * b).sum(axis=1)[has_bones], -1.0, 1.0))
    return bool(len(shared) > 1 and (angles <= SAME_DIRECTION).all())


def fit_given_hinges(
    limit: Limit, name: str, hinges: list[HingeRange], *, slanted: bool = False
) -> HingedJoint:
    """Return a limit as ranges of the hinges that are given, in radians from rest.

    Half-spaces beside them, where `slanted`, are of three hinges alone. Fewer than three have the
    ranges of what is legal and at most 20° from what they make; if that is nothing, of all that is
    legal. Angles of hinges that are not there are 0. The loss is not measured.
    """
    axes, _, _ = complete_axes(hinges)
    chart, count = Hinges(quat.IDENTITY, axes), len(hinges)
    if count == MAX_HINGES:
        return fit_joint(limit, name, slanted=slanted, chart=chart)
    members = limit.sample(MEMBERS // 4, np.random.default_rng(0))
    points = chart.gather(members)
    points[:, count:] = 0.0
    is_near = quat.angle_between(chart.rotations(points), members) <= MAX_OFF_HINGES
    points = points[is_near] if is_near.any() else points
    low, high = points.min(axis=0), points.max(axis=0)
    thin = (high - low < MIN_RANGE) & (np.arange(MAX_HINGES) < count)
    low, high = low - 0.5 * MIN_RANGE * thin, high + 0.5 * MIN_RANGE * thin
    return HingedJoint(name, quat.IDENTITY, axes, low, high, note=measured_note(limit))


def narrow_ranges(
    limit: Limit, name: str, hinges: list[HingeRange], *, slanted: bool
) -> tuple[HingedJoint, list[str]]:
    """Return a limit as ranges of the hinges that are given, within their own ranges.

    Beside it are the names of hinges of whose own range the limit allows nothing. If there are
    such, the joint has its own ranges. Its loss is of the own ranges: see `measure_own_loss`.
    """
    fitted, count = fit_given_hinges(limit, name, hinges, slanted=slanted), len(hinges)
    own_low, own_high = fitted.low.copy(), fitted.high.copy()
    ends = [sorted((hinge.low, hinge.high)) for hinge in hinges]
    own_low[:count], own_high[:count] = np.transpose(ends)
    low, high = np.maximum(fitted.low, own_low), np.minimum(fitted.high, own_high)
    thin = high - low < np.minimum(MIN_RANGE, own_high - own_low)
    disjoint = [hinge.name for hinge, is_thin in zip(hinges, thin, strict=False) if is_thin]
    joint = replace(fitted, low=low, high=high)
    if not disjoint and _is_empty(joint):
        disjoint = [hinge.name for hinge in hinges]
    if disjoint:
        joint = replace(
            fitted,
            low=np.where(np.isfinite(own_low), own_low, -FULL),
            high=np.where(np.isfinite(own_high), own_high, FULL),
            slants=NO_SLANTS,
        )
    loss = measure_own_loss(limit, joint, own_low, own_high)
    return replace(joint, loss=loss), disjoint


def _is_empty(joint: HingedJoint) -> bool:
    """Return whether no angles are within both the ranges and the half-spaces of a joint."""
    try:
        _ = joint.limit
    except ValueError:
        return True
    return False


def measure_own_loss(limit: Limit, joint: HingedJoint, low: Floats, high: Floats) -> Loss:
    """Return how a joint differs from its limit, as shares of the box of angles `low` to `high`.

    A hinge with infinite ends (3,) has one turn about the middle of the joint's range.
    """
    middle, free = 0.5 * (joint.low + joint.high), ~np.isfinite(high - low)
    low, high = np.where(free, middle - FULL, low), np.where(free, middle + FULL, high)
    angles = np.random.default_rng(0).uniform(low, high, size=(LOSS_SAMPLES, MAX_HINGES))
    rotations = joint.limit.chart.rotations(angles)
    legal = limit.contains(rotations)
    gained = joint.limit.shape.contains(angles) & ~legal
    lost = legal & ~joint.limit.contains(rotations)  # other angles may make the same rotation
    return Loss(
        float(legal.mean()),
        float(gained.mean()),
        float(lost.mean()),
        float(limit.correction(rotations[gained]).max(initial=0.0)),
        float(joint.limit.correction(rotations[lost]).max(initial=0.0)),
    )


def fit_ranges(limit: Limit, hinges: list[HingeRange]) -> Floats:
    """Return low and high (n, 2) of hinges that are given, in radians from rest."""
    joint = fit_given_hinges(limit, "", hinges)
    return np.stack([joint.low, joint.high], axis=1)[: len(hinges)]


def _own_tendons(joint: HingedJoint, hinges: list[HingeRange]) -> Iterable[Element]:
    """Return tendons for the half-spaces of a joint, in the file's own angles."""
    planes = joint.slants
    if not len(planes):
        return []
    shift = planes.axes @ np.array([hinge.zero for hinge in hinges])
    own = HalfSpaces(planes.axes, planes.low + shift, planes.high + shift)
    return tendons(f"{joint.name}_slant", [hinge.name for hinge in hinges], own)


def _replace_ranges(
    text: str, file: RangesFile, hinges: list[HingeRange], joint: HingedJoint
) -> tuple[str, list[str]]:
    """Return the text with new ranges, and the hinges that were not found in it."""
    scale = 180.0 / np.pi if file.degrees else 1.0
    missing = []
    for hinge, low, high in zip(hinges, joint.low, joint.high, strict=False):
        old_ends = sorted((hinge.low, hinge.high))
        if [low, high] == old_ends:
            continue
        ends = [
            float(f"{scale * (end + hinge.zero):.{OWN_DIGITS if end in old_ends else DIGITS}g}")
            for end in (low, high)
        ]
        name = re.escape(escape(hinge.name, {'"': "&quot;"}))
        tag = re.compile(rf"<joint\b[^>]*?\bname\s*=\s*([\"']){name}\1[^>]*>")
        element = tag.search(text)
        if element is None:
            missing.append(hinge.name)
        elif file.path.suffix.lower() == ".urdf":
            end = text.index("</joint>", element.end())
            inner = text[element.end() : end]
            for key, value in zip(("lower", "upper"), ends, strict=True):
                inner = _with_attribute(inner, "limit", key, repr(value))
            text = text[: element.end()] + inner + text[end:]
        else:
            changed = _with_attribute(element[0], "joint", "range", f"{ends[0]!r} {ends[1]!r}")
            changed = _with_attribute(changed, "joint", "limited", "true")
            text = text[: element.start()] + changed + text[element.end() :]
    return text, missing


def _with_attribute(text: str, tag: str, key: str, value: str) -> str:
    """Return text in which the first such tag has this attribute."""
    start = re.search(rf"<{tag}\b[^>]*?(/?)>", text)
    if start is None:
        return text
    old = re.compile(rf"(\s{key}\s*=\s*)([\"'])[^\"']*\2")
    changed = start[0]
    if old.search(changed):
        changed = old.sub(lambda match: f'{match[1]}"{value}"', changed, count=1)
    else:
        changed = changed[: -1 - len(start[1])].rstrip() + f' {key}="{value}"{start[1]}>'
    return text[: start.start()] + changed + text[start.end() :]


def _with_tendons(text: str, fixed: list[Element], joints: Iterable[str]) -> str:
    """Return the text of an MJCF model with tendons at its end, instead of earlier ones of ours.

    Those are named after `joints` that are written.
    """
    names = "|".join(re.escape(escape(joint, {'"': "&quot;"})) for joint in joints)
    ours = rf'[ \t]*<fixed name="(?:{names})_slant\d+".*?</fixed>\n?'
    text = re.sub(ours, "", text, flags=re.DOTALL)
    text = re.sub(r"[ \t]*<tendon>\s*</tendon>\n?", "", text)
    if not fixed:
        return text
    ends = [match.start() for match in ROOT_END.finditer(text)]
    if not ends:
        raise ValueError("the model has no end tag of its root: </mujoco>")
    return text[: ends[-1]] + format_element(element("tendon", *fixed), 2) + text[ends[-1] :]


def _with_comment(text: str, lines: Iterable[str]) -> str:
    """Return the text with comments at its beginning, instead of earlier ones of ours."""
    text = OUR_COMMENTS.sub("", text)
    root = re.search(r"<(mujoco|robot)\b[^>]*>", text)
    if root is None:
        return text
    comment = "".join(f"\n  <!-- {comment_text(line)} -->" for line in [ABOUT, *lines])
    return text[: root.end()] + comment + text[root.end() :]
