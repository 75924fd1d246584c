"""Ranges written into a model that exists: MJCF or URDF, by the names of its bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from .. import quat
from ..arrays import Floats
from ..charts import Hinges
from ..io.files import read_file
from ..io.ranges import HingeRange, RangesFile, complete_axes, read_ranges
from ..limit import Limit
from ..model import LimitModel
from ..shapes import Box
from ..skeleton import Skeleton
from . import Exported
from .hinged import MEMBERS, THINNEST, Loss, hinged_joint, loss_lines, measure_loss
from .mjcf import Slant, comment_text, name_slants, tendon_lines

MOST = 3  # hinges of a joint
ROOT_END = re.compile(r"</mujoco\s*>")
NEAR = np.radians(20.0)
"""Radians from what fewer hinges make that what is legal may be."""
SAME_FRAMES = np.radians(5.0)
"""Radians between bones of two skeletons at rest up to which they stand alike."""


def write_into(
    model: LimitModel, path: Path, *, progress: Callable[[Iterable[str]], Iterable[str]] = iter
) -> Exported:
    """Return the file at `path` with the ranges of its hinges as the limits have them.

    Limits of a skeleton with other names, or that stands otherwise, are carried over as by
    `LimitModel.on`. Into MJCF, half-spaces of joints with three hinges are written as tendons, at
    the end. Everything else in the file stays as it is, to the byte.
    """
    model, file = model.joint_by_joint("an export into a model"), read_ranges(path)
    if path.suffix.lower() not in (".xml", ".mjcf", ".urdf"):
        raise ValueError(f"{path}: ranges are written into .xml, .mjcf or .urdf")
    there = model if stands_alike(model.skeleton, file.skeleton) else model.on(file.skeleton)
    hinges = {name: each for name, each in file.by_joint().items() if name in there.limits}
    hinges = {name: each for name, each in hinges.items() if not each[0].ball}
    if not hinges:
        raise ValueError(f"{path}: none of its joints with hinges has a limit here")
    text = read_file(path).decode("utf-8")
    losses: dict[str, Loss] = {}
    notes: dict[str, str] = {}
    slants: list[Slant] = []
    slanted = path.suffix.lower() != ".urdf"
    for name in progress(list(hinges)):
        limit = there.limits[name]
        ranges, planes, loss = fit_ranges(limit, hinges[name], slanted=slanted)
        text, missing = _replace_ranges(text, file, hinges[name], ranges)
        if not missing:
            slants += name_slants(f"{name}_slant", [each.name for each in hinges[name]], *planes)
        elif len(planes[0]):
            loss = fit_ranges(limit, hinges[name], slanted=False)[2]
        losses[name] = loss
        if missing:
            notes[name] = f"not in this file by name, and left as they are: {', '.join(missing)}"
        elif limit.relative_to is not None:
            notes[name] = (
                f"measured from {limit.relative_to}: as if the joints between were at rest"
            )
    lines = loss_lines(losses, notes)
    if slanted:
        text = _with_tendons(text, slants, hinges)
    text = _with_comment(text, lines)
    return Exported(text.encode(), losses, notes)


def stands_alike(one: Skeleton, other: Skeleton) -> bool:
    """Tell whether all joints of `one` that `other` has are there with bones of its directions."""
    shared = [name for name in one.names if name in other.names]
    if not shared:
        return False
    a, b = (
        skeleton.rest_directions[[skeleton.index(name) for name in shared]]
        for skeleton in (one, other)
    )
    known = a.any(axis=1) & b.any(axis=1)
    apart = np.arccos(np.clip((a * b).sum(axis=1)[known], -1.0, 1.0))
    return bool(len(shared) > 1 and (apart <= SAME_FRAMES).all())


def fit_ranges(
    limit: Limit, hinges: list[HingeRange], *, slanted: bool = False
) -> tuple[Floats, tuple[Floats, Floats, Floats], Loss]:
    """Return ranges of hinges that are given, half-spaces beside them, and the loss.

    Ranges are low and high (n, 2), in radians from rest. Half-spaces, where `slanted` and of three
    hinges alone, are directions (k, 3) with low and high (k,), in the file's own angles. Fewer than
    three hinges have the ranges of what is legal and at most 20° from what they make; if that is
    nothing, of all that is legal.
    """
    axes, _, _ = complete_axes(hinges)
    chart, count = Hinges(quat.IDENTITY, axes), len(hinges)
    none = (np.empty((0, count)), np.empty(0), np.empty(0))
    if count == MOST:
        made = hinged_joint(limit, "", slanted=slanted, chart=chart)
        shift = made.slants @ np.array([hinge.zero for hinge in hinges])
        planes = (made.slants, made.slant_low + shift, made.slant_high + shift)
        return np.stack([made.low, made.high], axis=1), planes, made.loss
    members = limit.sample(MEMBERS // 4, np.random.default_rng(0))
    points = chart.gather(members)
    points[:, count:] = 0.0
    near = quat.angle_between(chart.rotations(points), members) <= NEAR
    points = points[near] if near.any() else points
    bounds = np.stack([points.min(axis=0), points.max(axis=0)])
    thin = bounds[1, :count] - bounds[0, :count] < THINNEST
    bounds[0, :count] -= 0.5 * THINNEST * thin
    bounds[1, :count] += 0.5 * THINNEST * thin
    made_limit = Limit(chart, Box(bounds[0], bounds[1], np.eye(3)))
    return bounds.T[:count], none, measure_loss(limit, made_limit)


def _replace_ranges(
    text: str, file: RangesFile, hinges: list[HingeRange], ranges: Floats
) -> tuple[str, list[str]]:
    """Return the text with new ranges, and the hinges that were not found in it."""
    scale = 180.0 / np.pi if file.degrees else 1.0
    missing = []
    for hinge, (low, high) in zip(hinges, ranges, strict=True):
        ends = [float(f"{scale * (end + hinge.zero):.9g}") for end in (low, high)]
        name = re.escape(escape(hinge.name, {'"': "&quot;"}))
        tag = re.compile(rf"<joint\b[^>]*?\bname\s*=\s*([\"']){name}\1[^>]*>")
        found = tag.search(text)
        if found is None:
            missing.append(hinge.name)
        elif file.path.suffix.lower() == ".urdf":
            end = text.index("</joint>", found.end())
            inner = text[found.end() : end]
            for key, value in zip(("lower", "upper"), ends, strict=True):
                inner = _with_attribute(inner, "limit", key, repr(value))
            text = text[: found.end()] + inner + text[end:]
        else:
            changed = _with_attribute(found[0], "joint", "range", f"{ends[0]!r} {ends[1]!r}")
            changed = _with_attribute(changed, "joint", "limited", "true")
            text = text[: found.start()] + changed + text[found.end() :]
    return text, missing


def _with_attribute(text: str, tag: str, key: str, value: str) -> str:
    """Return text in which the first such tag has this attribute."""
    start = re.search(rf"<{tag}\b[^>]*?(/?)>", text)
    if start is None:
        return text
    old = re.compile(rf"(\s{key}\s*=\s*)([\"'])[^\"']*\2")
    whole = start[0]
    if old.search(whole):
        whole = old.sub(lambda found: f'{found[1]}"{value}"', whole, count=1)
    else:
        whole = whole[: -1 - len(start[1])].rstrip() + f' {key}="{value}"{start[1]}>'
    return text[: start.start()] + whole + text[start.end() :]


def _with_tendons(text: str, slants: Iterable[Slant], joints: Iterable[str]) -> str:
    """Return the text of an MJCF model with tendons at its end, instead of earlier ones of ours.

    Those are named after `joints` that are written.
    """
    for joint in joints:
        name = re.escape(escape(f"{joint}_slant", {'"': "&quot;"}))
        text = re.sub(rf'[ \t]*<fixed name="{name}\d+".*?</fixed>\n?', "", text, flags=re.DOTALL)
    text = re.sub(r"[ \t]*<tendon>\s*</tendon>\n?", "", text)
    lines, end = tendon_lines(slants), [found.start() for found in ROOT_END.finditer(text)]
    if not lines:
        return text
    if not end:
        raise ValueError("the model has no end tag of its root: </mujoco>")
    return text[: end[-1]] + "".join(f"{line}\n" for line in lines) + text[end[-1] :]


def _with_comment(text: str, lines: Iterable[str]) -> str:
    root = re.search(r"<(mujoco|robot)\b[^>]*>", text)
    if root is None:
        return text
    about = ["Ranges by Synovia; shares are of all rotations.", *lines]
    comment = "".join(f"\n  <!-- {comment_text(line)} -->" for line in about)
    return text[: root.end()] + comment + text[root.end() :]
