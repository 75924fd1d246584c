"""Detection of identical clips, and of one person under two names.

A performer who is held out must not be among the others under another name, or the test is not
independent. CMU has many such duplicates.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..skeleton import Clip, Skeleton, list_names, match

BONE_TOLERANCE = 1e-6  # of the longest bone; rounding of offsets in files
MAX_NAMES = 3  # of one person; bones that more performers share belong to a common rig


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Identical clips, performers with equal bones, and the person behind each performer."""

    identical: tuple[tuple[str, ...], ...]
    """Groups of clip names with equal rotations in all frames."""
    same_bones: tuple[tuple[str, ...], ...]
    """Groups of performers with equal bones, regarded as one person each."""
    common_rig: tuple[str, ...]
    """Performers with equal bones who are too many to be one person: they share a rig."""
    person: Mapping[str, str]
    """Person by performer; merged performers have a joint name, such as "83=122"."""

    def people(self, performers: Mapping[str, str]) -> dict[str, str]:
        """Return the person of each clip, from the performer of each, by clip name."""
        return {clip: self.person[performer] for clip, performer in performers.items()}

    def warnings(self) -> list[str]:
        """Return a sentence for each finding."""
        found = [
            f"the same clip under several names: {list_names(names)}" for names in self.identical
        ]
        found += [
            f"performers with the same bones, taken for one person: {list_names(names)}"
            for names in self.same_bones
        ]
        if self.common_rig:
            found.append(
                f"{len(self.common_rig)} performers share one rig, so that bones cannot tell "
                f"whether some of them are one person: {list_names(self.common_rig)}"
            )
        merged = [name for name in dict.fromkeys(self.person.values()) if "=" in name]
        if merged:
            found.append(f"merged, so that nobody is tested on themselves: {list_names(merged)}")
        return found

    def warn(self) -> None:
        """Issue the warnings."""
        for message in self.warnings():
            warnings.warn(message, stacklevel=3)


def find_duplicates(clips: Sequence[Clip], performers: Mapping[str, str]) -> Duplicates:
    """Return the duplicates among `clips`; `performers` are given by clip name.

    Performers are merged if they have a clip or their bones in common.
    """
    clip_names, skeletons = [clip.name for clip in clips], [clip.skeleton for clip in clips]
    return compare_marks(clip_names, skeletons, [fingerprint(clip) for clip in clips], performers)


def compare_marks(
    clips: Sequence[str],
    skeletons: Sequence[Skeleton],
    fingerprints: Sequence[str],
    performers: Mapping[str, str],
) -> Duplicates:
    """Return the duplicates among clips, given their names, skeletons and fingerprints."""
    names = list(dict.fromkeys(performers[clip] for clip in clips))
    identical = _names_sharing(clips, fingerprints)
    bones = _performers_by_bones(clips, skeletons, performers)
    same = [group for group in bones if 1 < len(group) <= MAX_NAMES and len(group) < len(names)]
    rigs = [group for group in bones if len(group) > 1 and group not in same]
    shared = [tuple({performers[clip]: None for clip in group}) for group in identical]
    return Duplicates(
        identical=tuple(identical),
        same_bones=tuple(same),
        common_rig=tuple(name for group in rigs for name in group),
        person=join_groups(names, [*same, *shared]),
    )


def join_groups(names: Sequence[str], together: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the group of each name after joining the names of each entry of `together`.

    A group is named after its members in order, such as "83=122". Union–find.
    """
    root = {name: name for name in names}

    def top(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    for group in together:
        for name in group[1:]:
            root[top(name)] = top(group[0])
    members = defaultdict(list)
    for name in names:
        members[top(name)].append(name)
    return {name: "=".join(members[top(name)]) for name in names}


def fingerprint(clip: Clip) -> str:
    """Return a hash of the clip's rotations and joint names."""
    rotations = np.ascontiguousarray(clip.pose.rotations, dtype=np.float64)
    shape = repr((rotations.shape, clip.skeleton.names)).encode()
    return hashlib.sha256(shape + rotations.tobytes()).hexdigest()


def same_bones(ours: Skeleton, theirs: Skeleton) -> bool:
    """Return True if two skeletons have the same joints, by name, at the same offsets."""
    offsets = theirs.offsets
    if ours.names != theirs.names:
        found = match(ours.names, ours, theirs)
        if found.missing or found.extra:
            return False
        offsets = offsets[[found.joints[name] for name in ours.names]]
    below_root = (ours.parents >= 0)[:, None]  # a root's offset is not a bone
    longest = np.abs(ours.offsets).max(initial=0.0, where=below_root)
    apart = np.abs(ours.offsets - offsets).max(initial=0.0, where=below_root)
    return bool(longest > 0.0 and apart <= BONE_TOLERANCE * longest)


def _performers_by_bones(
    clips: Sequence[str], skeletons: Sequence[Skeleton], performers: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return the performers of each set of bones, in order of appearance."""
    known: list[tuple[Skeleton, dict[str, None]]] = []
    for clip, skeleton in zip(clips, skeletons, strict=True):
        for other, who in known:
            if skeleton is other or same_bones(other, skeleton):
                who[performers[clip]] = None
                break
        else:
            known.append((skeleton, {performers[clip]: None}))
    return [tuple(who) for _, who in known]


def _names_sharing(names: Sequence[str], marks: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of names with equal marks, if they have several members."""
    found = defaultdict(list)
    for name, mark in zip(names, marks, strict=True):
        found[mark].append(name)
    return [tuple(group) for group in found.values() if len(group) > 1]
