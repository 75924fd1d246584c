"""Human limits for any rig: what is possible, what is usual, and published ranges."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from .. import quat
from ..anatomy import human, limits_of
from ..anatomy.part import REFERENCE_HEIGHT
from ..arrays import TURN, Bytes, Quats
from ..io import load_limits
from ..limit import Limit, mirror_limit
from ..model import JointReport, Limb, LimitModel, Report, couple, limbs_on_rig, share_twist
from ..model.report import Verdict
from ..rigs import FACE, FINGERS, MEASURED_FROM, ROLES, Alignment, Rig, align, recognize
from ..rigs.alignment import MIN_CONFIDENCE
from ..rigs.canonical import LEFT, canonical_skeleton, dependents_on_rig, limits_on_rig
from ..skeleton import Clip, Pose, Skeleton
from .envelope import possible_model
from .findings import Finding, join_sides, joint_name
from .hand import hand_constraints

if TYPE_CHECKING:
    from ..learn import Progress


Source = Literal["human", "possible", "usual", "anatomy"]
SOURCES: tuple[str, ...] = get_args(Source)
"""Both verdicts; each of them alone; published ranges of the default human."""
VERDICTS: Mapping[str, Verdict] = {
    "human": "impossible",
    "possible": "impossible",
    "usual": "unusual",
    "anatomy": "outside",
}
"""Verdicts about poses outside the limits of a source."""
WORDS = {
    "human": "possible and usual",
    "possible": "possible",
    "usual": "usual",
    "anatomy": "published ranges of motion",
}


def human_limits(height: float = REFERENCE_HEIGHT, *, source: Source = "anatomy") -> LimitModel:
    """Return human limits.

    Parameters
    ----------
    height
        Height in metres of the default human; only for the source "anatomy".
    source
        "anatomy": published ranges of motion for every joint of `synovia.human(height)`. The others
        are for the canonical human (`rigs.canonical_skeleton`). "possible": what a healthy adult
        can do. "usual": what nearly all of 66 captured people did. "human": the possible limits,
        with the usual ones as their `usual`, so that `check` gives both verdicts. See
        docs/human.md.
    """
    if source == "anatomy":
        return _anatomical_limits(float(height))
    return canonical_limits(source)


@lru_cache(maxsize=4)
def _anatomical_limits(height: float) -> LimitModel:
    """Return the limits of the default human of a height in metres."""
    return limits_of(human(height))


@cache
def canonical_limits(
    source: Source | Literal["people"], *, palm_known: bool = True, hands: bool = True
) -> LimitModel:
    """Return the limits of the canonical human, by role; see `human_limits`.

    "people" are the usual limits as they were learned, with counts of people. If `palm_known` is
    False, the possible limits leave pronation free, and wrists bend equally far in all directions.
    If `hands` is False, they leave out fingers and face, which saves time.
    """
    if source == "human":
        possible = canonical_limits("possible", palm_known=palm_known, hands=hands)
        usual = canonical_limits("usual")
        return replace(
            possible, usual=usual, provenance={**usual.provenance, **possible.provenance}
        )
    if source not in (*SOURCES, "people"):
        raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {source!r:.60}")
    if source == "possible":
        left = possible_model(palm_known=palm_known)
    else:
        with as_file(files(__package__) / f"{source}.limits.json") as path:
            left = load_limits(path)
    lefts = [name for name in left.limits if name.startswith("left")]
    names = {name: f"right{name.removeprefix('left')}" for name in lefts}
    right = {
        names[name]: dependent.mirror(LEFT, names.get(dependent.driver, dependent.driver))
        for name, dependent in left.dependents.items()
        if name in names
    }
    limbs = [limb.mirror(LEFT, names) for limb in left.limbs]
    mirrored = {name: limit for limb in limbs for name, limit in limb.limits.items()}
    limits = both_sides({**left.limits, **mirrored})
    constraints = couple(limits, {**left.dependents, **right}, [*left.limbs, *limbs])
    hand_limits = hand_constraints() if source == "possible" and hands else []
    return replace(left, constraints=[*constraints, *hand_limits], skeleton=canonical_skeleton())


def both_sides(limits: Mapping[str, Limit]) -> dict[str, Limit]:
    """Return limits of the trunk and left side, with mirrored ones for the right side.

    Limits of the right side that are given are kept. Roles are in the order of the canonical
    skeleton.
    """
    all_limits = dict(limits)
    for role in (role for role in limits if role.startswith("left")):
        other = f"right{role.removeprefix('left')}"
        if other not in all_limits:
            all_limits[other] = mirror_limit(limits[role], LEFT)
    return {role: all_limits[role] for role in canonical_skeleton().names if role in all_limits}


@dataclass(frozen=True, eq=False)
class HumanLimits:
    """Human limits for one rig, and how the rig was recognised."""

    model: LimitModel
    """The limits; those of the source "human" have both verdicts (`LimitModel.usual`)."""
    alignment: Alignment
    source: Source
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles of the limited joints, by joint name."""

    @property
    def skeleton(self) -> Skeleton:
        """The rig's skeleton."""
        return self.model.skeleton

    @property
    def no_verdict(self) -> dict[str, list[str]]:
        """Common names of the rig's joints without a verdict, by reason.

        Joints whose bone is recognised are named; fingers together if none of them is judged.
        """
        judged, alignment = set(self.roles.values()), self.alignment
        measured, trusted = alignment.measured, alignment.trusted
        names = {role: joint_name(role) for role in MEASURED_FROM}
        if judged.isdisjoint(FINGERS):
            names |= dict.fromkeys(FINGERS, "fingers")
        by_reason: dict[str, list[str]] = {}
        named = set()
        for role in (role for role in names if role in alignment.rig.roles and role not in judged):
            if role in trusted:
                reason = "no limits"
            elif role in alignment.reasons:
                reason = alignment.reasons[role]
            elif role not in measured:
                reason = "not below the bone from which it is measured"
            else:
                reason = f"confidence below {MIN_CONFIDENCE}"
            if names[role] not in named:
                named.add(names[role])
                by_reason.setdefault(reason, []).append(names[role])
        return by_reason

    @property
    def silent(self) -> list[str]:
        """Common names of the rig's joints without a verdict."""
        return [name for names in self.no_verdict.values() for name in names]

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
        for reason, names in self.no_verdict.items():
            yield f"no verdict on {', '.join(join_sides(names))}: {reason}"

    def check(self, clip: Clip, *, progress: Progress = iter) -> tuple[Report, list[Finding]]:
        """Return the report of a clip, and a finding for each joint and verdict, worst first.

        Findings of impossible joints come before those of unusual ones. `progress` is as for
        `LimitModel.check`.
        """
        report = self.model.check(clip, progress=progress)
        report = replace(report, verdict=VERDICTS[self.source])
        models = (self.model, self.model.usual or self.model)
        findings = [
            self._finding(model, row, clip)
            for model, part in zip(models, report.verdicts, strict=False)
            for row in part.joints
            if row.frames
        ]
        return report, findings

    def _finding(self, model: LimitModel, row: JointReport, clip: Clip) -> Finding:
        """Return a finding about a joint in its worst frame."""
        frame = row.worst_frame
        given = Pose(clip.pose.rotations[frame], clip.pose.positions[frame])
        pose = share_twist(model, given)
        placed = next(p for p in model.placed if row.name in p.constraint.joints)
        k, role = placed.constraint.joints.index(row.name), self.roles[row.name]
        relative = placed.relative(pose.rotations)
        limb, reason = placed.constraint, ""
        if isinstance(limb, Limb):  # with shared twist, joints are judged one by one
            legal = limb.project_each(relative[None], relative[None, 1])[0, k]
            if (tight := limb.tight_muscle(row.name, relative[None])) is not None:
                bend_deg = np.degrees(limb.bend(relative[1]))
                hinge = joint_name(self.roles[limb.joints[1]]).split()[-1]
                reason = f"for a {hinge} bent by {bend_deg:.0f}° ({tight[0].name})"
        else:
            legal = limb.nearest_rotations(relative)[k]
        to_canonical = self.alignment.to_canonical
        actual, nearest = to_canonical(role, relative[k]), to_canonical(role, legal)
        return Finding(
            role,
            row.name,
            row.worst,
            frame,
            actual,
            nearest,
            to_canonical(role, placed.relative(given.rotations)[k]),
            row.verdict,
            people_near(role, actual),
            reason,
        )


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
        "human", "possible", "usual" or "anatomy"; see `human_limits`.
    roles
        Roles by joint name, where they are not recognised.
    reference
        A clip of the same skeleton whose first frame is a standing pose; see `rigs.align`.
    """
    clips = [clips] if isinstance(clips, Clip) else list(clips)
    if not clips:
        raise ValueError("clips must be at least one, got none")
    rig = recognize_clip(clips[0], roles)
    return limits_on(align(rig, clips, reference=reference), source)


def recognize_clip(clip: Clip, roles: Mapping[str, str] | None = None) -> Rig:
    """Return the rig of a clip: by `roles`, by the bones that its VRM file names, or by names.

    `roles` are as for `limits_for`.
    """
    if clip.origin is None:  # not from a file with bones: saves the import of glTF
        return recognize(clip.skeleton, roles)
    from ..io.gltf import humanoid

    return recognize(clip.skeleton, roles, humanoid(clip) or None)


def limits_on(alignment: Alignment, source: Source = "human") -> HumanLimits:
    """Return human limits for an aligned rig."""
    palms = alignment.palm.values()
    canonical = canonical_limits(
        source,
        palm_known=bool(palms) and None not in palms,
        hands=not alignment.trusted.keys().isdisjoint((*FINGERS, *FACE)),
    )
    alignment = doubt_medians(alignment, canonical.limits)
    model = _model_on(alignment, canonical, source)
    judged = {*model.names, *(() if model.usual is None else model.usual.names)}
    by_joint = {name: role for role, name in alignment.rig.roles.items() if name in judged}
    return HumanLimits(model, alignment, source, by_joint)


def _model_on(alignment: Alignment, canonical: LimitModel, source: Source) -> LimitModel:
    """Return limits of the canonical human for an aligned rig."""
    limits = limits_on_rig(canonical.limits, alignment)
    dependents = dependents_on_rig(canonical.dependents, limits, alignment)
    limbs = limbs_on_rig(canonical.limbs, limits, alignment)
    return LimitModel(
        couple(limits, dependents, limbs),
        alignment.rig.skeleton,
        {"source": source, **canonical.provenance},
        usual=None if canonical.usual is None else _model_on(alignment, canonical.usual, "usual"),
    )


def doubt_medians(alignment: Alignment, limits: Mapping[str, Limit]) -> Alignment:
    """Return the alignment without confidence in bones whose median rotation is illegal.

    A hand, foot or head outside its canonical limit in half of the motion is attached to the rig
    in another way than to the canonical human, rather than held there.
    """
    doubted = [
        role
        for role, median in alignment.medians.items()
        if role in limits and role in alignment.trusted and not limits[role].contains(median)
    ]
    steps = (
        f"{role}: its median is outside the limits, so its frame is doubted" for role in doubted
    )
    return replace(
        alignment,
        confidence={**alignment.confidence, **dict.fromkeys(doubted, 0.0)},
        steps=(*alignment.steps, *steps),
    )


def check(clip: Clip, source: Source = "human", **options: Any) -> Report:
    """Return a report of the frames of a clip outside the human limits.

    With the source "human", `Report.ok` is False if something is impossible, and `Report.unusual`
    has the frames that are possible but unusual. The rig is recognised by its joint names.
    `options` are those of `limits_for`.
    """
    return limits_for(clip, source, **options).check(clip)[0]


def people_near(role: str, rotation: Quats) -> float | None:
    """Return the share of people who come within 10 degrees of a canonical rotation (4,).

    It is read from a coarse grid of rotation vectors; None for roles without one.
    """
    mirror = role.startswith("right")
    entry = _counts_of_people().get(f"left{role.removeprefix('right')}" if mirror else role)
    if entry is None:
        return None
    left_rotation = rotation * [1.0, 1.0, -1.0, -1.0] if mirror else rotation
    nodes = entry["nodes"]
    step = TURN / (nodes - 1)
    node = np.clip(np.rint((quat.log(left_rotation) + np.pi) / step).astype(int), 0, nodes - 1)
    return float(decode_counts(entry["counts"], nodes)[tuple(node)] / entry["people"])


@cache
def _counts_of_people() -> Mapping[str, Any]:
    """Return the grids of `people_near`, as stored, by role of the trunk and left side."""
    document = json.loads((files(__package__) / "people.limits.json").read_text("utf-8"))
    counts: Mapping[str, Any] = document["provenance"]["people_within_10_degrees"]
    return counts


@cache
def decode_counts(text: str, nodes: int) -> Bytes:
    """Return counts (nodes, nodes, nodes) from compressed bytes in base 64."""
    counts = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return counts.reshape(nodes, nodes, nodes)
