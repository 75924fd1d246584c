"""Human limits for any rig: from 66 captured people, from anatomy, and from both."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from .. import quat
from ..anatomy import human, limits_of
from ..anatomy.part import REFERENCE_HEIGHT
from ..arrays import TURN, Bytes, Quats
from ..io import load_limits
from ..io.gltf import humanoid
from ..learn import Progress
from ..limit import Limit, mirror_limit
from ..model import LimitModel, Report, couple, limbs_on_rig
from ..rigs import ROLES, Alignment, Rig, align, recognize
from ..rigs.canonical import (
    LEFT,
    canonical_skeleton,
    dependents_on_rig,
    limits_on_rig,
)
from ..rigs.reference import MIN_CONFIDENCE
from ..skeleton import Clip, Pose, Skeleton, lineage
from .envelope import possible_model
from .findings import Finding, join_sides, joint_name
from .sources import SOURCES, WORDS, Source


def human_limits(height: float = REFERENCE_HEIGHT, *, source: Source = "anatomy") -> LimitModel:
    """Return human limits.

    Parameters
    ----------
    height
        Height in metres of the default human; only for the source "anatomy".
    source
        "anatomy": published ranges of motion for every joint of `synovia.human(height)`. "people":
        learned from motion capture of 66 people, for the canonical human
        (`rigs.canonical_skeleton`). "human": the intersection of both on that skeleton. "possible":
        what anatomy lets a healthy adult do, on that skeleton. See docs/population.md.
    """
    if source == "anatomy":
        return _anatomical_limits(float(height))
    return canonical_limits(source)


@lru_cache(maxsize=4)
def _anatomical_limits(height: float) -> LimitModel:
    return limits_of(human(height))


@cache
def canonical_limits(source: Source, *, palm_known: bool = True) -> LimitModel:
    """Return the limits of the canonical human, by role.

    If `palm_known` is False, the possible limits leave pronation free, and wrists bend equally far
    in all directions. Other sources ignore it.
    """
    if source not in SOURCES:
        raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {source!r:.60}")
    if source == "possible":
        left = possible_model(palm_known=palm_known)
    else:
        with as_file(files(__package__) / f"{source}.limits.json") as path:
            left = load_limits(path)
    limits = both_sides(left.limits)
    lefts = [name for name in left.limits if name.startswith("left")]
    names = {name: f"right{name.removeprefix('left')}" for name in lefts}
    right = {
        names[name]: each.mirror(LEFT, names.get(each.driver, each.driver))
        for name, each in left.dependents.items()
        if name in names
    }
    limbs = [*left.limbs, *(limb.mirror(LEFT, names) for limb in left.limbs)]
    constraints = couple(limits, {**left.dependents, **right}, limbs)
    return replace(left, constraints=constraints)


def both_sides(limits: Mapping[str, Limit]) -> dict[str, Limit]:
    """Return limits of the trunk and left side, with mirrored ones for the right side.

    Roles are in the order of the canonical skeleton.
    """
    mirrored = {
        f"right{role.removeprefix('left')}": mirror_limit(limit, LEFT)
        for role, limit in limits.items()
        if role.startswith("left")
    }
    every = {**limits, **mirrored}
    return {role: every[role] for role in canonical_skeleton().names if role in every}


@dataclass(frozen=True, eq=False)
class HumanLimits:
    """Human limits for one rig, and how the rig was recognised."""

    model: LimitModel
    alignment: Alignment
    source: Source
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles of the limited joints, by joint name."""

    @property
    def skeleton(self) -> Skeleton:
        """The rig's skeleton."""
        return self.model.skeleton

    @property
    def silent(self) -> list[str]:
        """Common names of the rig's joints that cannot be judged."""
        known = canonical_limits(self.source).limits
        wanted = [role for role in self.alignment.measured if role in known]
        return [joint_name(role) for role in wanted if role not in self.roles.values()]

    @property
    def words(self) -> str:
        """Description of the source."""
        return WORDS[self.source]

    def explain(self) -> Iterator[str]:
        """Yield lines about the recognised roles, notes, and the alignment."""
        rig, confidence = self.alignment.rig, self.alignment.confidence
        bones = {role: name for role, name in rig.roles.items() if role in ROLES}
        for role, name in bones.items():
            trust = confidence.get(role, 1.0)
            yield f"{role}: {name}" + (f" (confidence {trust:.2f})" if trust < 1.0 else "")
        if fingers := len(rig.roles) - len(bones):
            yield f"and {fingers} bones of the fingers"
        yield from rig.notes
        yield from self.alignment.steps
        if self.silent:
            yield (
                f"no verdict on {', '.join(join_sides(self.silent))}: the confidence in a joint's "
                f"two bones must be at least {MIN_CONFIDENCE}"
            )

    def check(self, clip: Clip, *, progress: Progress = iter) -> tuple[Report, list[Finding]]:
        """Return the report of a clip, and a finding for each joint outside, worst first.

        `progress` is as for `LimitModel.check`.
        """
        report = self.model.check(clip, progress=progress)
        found = [
            self._finding(row.name, row.worst, row.worst_frame, clip)
            for row in report.joints
            if row.frames
        ]
        return report, found

    def _finding(self, name: str, violation: float, frame: int, clip: Clip) -> Finding:
        """Return a finding about the rotation of a joint in a frame."""
        path = lineage(self.skeleton, name, self.model.limits[name].relative_to)
        pose = self.model.share_twist(Pose(clip.pose.rotations[frame], clip.pose.positions[frame]))
        rotation = path.relative_rotation(pose.rotations)
        role = self.roles[name]
        legal = self.model.limits[name].project(rotation)
        actual, nearest = (self.alignment.to_canonical(role, each) for each in (rotation, legal))
        outside = tuple(
            source
            for source in ("people", "anatomy")
            if role in (limits := canonical_limits(source).limits)
            and not limits[role].contains(actual)
        )
        near = people_near(role, actual)
        return Finding(role, name, violation, frame, actual, nearest, outside, near)


def limits_for(
    clips: Clip | Sequence[Clip],
    source: Source = "human",
    *,
    roles: Mapping[str, str] | None = None,
    reference: Clip | None = None,
) -> HumanLimits:
    """Return human limits for the rig of clips.

    Parameters
    ----------
    clips
        One or several clips of one skeleton, by which it is aligned; see `rigs.align`.
    source
        "human", "anatomy", "people" or "possible"; see `human_limits`.
    roles
        Roles by joint name, where they are not recognised.
    reference
        A clip of the same skeleton whose first frame is a standing pose; see `rigs.align`.
    """
    clips = [clips] if isinstance(clips, Clip) else list(clips)
    if not clips:
        raise ValueError("clips must be at least one, got none")
    rig = recognize(clips[0].skeleton, roles, humanoid(clips[0]) or None)
    return limits_on(align(rig, clips, reference=reference), source)


def limits_on(alignment: Alignment, source: Source = "human") -> HumanLimits:
    """Return human limits for an aligned rig."""
    canonical = canonical_limits(source)
    limits = limits_on_rig(canonical.limits, alignment)
    rig: Rig = alignment.rig
    by_joint = {name: role for role, name in rig.roles.items() if name in limits}
    dependents = dependents_on_rig(canonical.dependents, limits, alignment)
    constraints = couple(
        limits, dependents, limbs_on_rig(canonical.limbs, limits, dependents, alignment)
    )
    model = LimitModel(constraints, rig.skeleton, {"source": source, **canonical.provenance})
    return HumanLimits(model, alignment, source, by_joint)


def check(clip: Clip, source: Source = "human", **options: Any) -> Report:
    """Return a report of the frames of a clip outside the human limits.

    The rig is recognised by its joint names. `options` are those of `limits_for`.
    """
    return limits_for(clip, source, **options).check(clip)[0]


def clamp(clip: Clip, source: Source = "human", **options: Any) -> Clip:
    """Return the clip projected onto the human limits, with bounded steps.

    The rig is recognised by its joint names. `options` are those of `limits_for`.
    """
    return limits_for(clip, source, **options).model.project(clip)


def people_near(role: str, rotation: Quats) -> float | None:
    """Return the share of people who come within 10 degrees of a canonical rotation (4,).

    It is read from a coarse grid of rotation vectors; None for roles without one.
    """
    counted = canonical_limits("people").provenance.get("people_within_10_degrees", {})
    mirror = role.startswith("right")
    entry = counted.get(f"left{role.removeprefix('right')}" if mirror else role)
    if entry is None:
        return None
    seen = rotation * [1.0, 1.0, -1.0, -1.0] if mirror else rotation
    nodes = entry["nodes"]
    step = TURN / (nodes - 1)
    node = np.clip(np.rint((quat.log(seen) + np.pi) / step).astype(int), 0, nodes - 1)
    return float(decode_counts(entry["counts"], nodes)[tuple(node)] / entry["people"])


@cache
def decode_counts(text: str, nodes: int) -> Bytes:
    """Return counts (nodes, nodes, nodes) from compressed bytes in base 64."""
    counts = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return counts.reshape(nodes, nodes, nodes)
