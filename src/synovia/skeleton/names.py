"""Which joint of one skeleton is which of another, and whether their bones agree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .skeleton import Skeleton

MAX_BONE_ANGLE = np.radians(45.0)
"""Bones whose directions at rest differ by more than this, in radians, are said to differ."""


@dataclass(frozen=True)
class Match:
    """What a skeleton has of the joints that are wanted."""

    joints: dict[str, int]
    """The wanted joints that are there, and their numbers in the skeleton."""
    missing: tuple[str, ...]
    """The wanted joints that are not."""
    extra: tuple[str, ...]
    """The joints of the skeleton, but for roots, that the other one does not have."""
    turned: dict[str, float]
    """Joints whose bone points another way at rest, and by how much, in radians."""

    def complaints(self) -> list[str]:
        """Return a sentence for each thing that a user should know."""
        said = []
        if self.missing:
            said.append(f"has no {_list_names(self.missing)}")
        if self.extra:
            said.append(
                f"joints that are not known here, and left alone: {_list_names(self.extra)}"
            )
        if self.turned:
            worst = np.degrees(max(self.turned.values()))
            said.append(
                f"bones that point another way at rest than those they are matched with, by up to "
                f"{worst:.0f} degrees, so that limits may not fit: {_list_names(self.turned)}"
            )
        return said

    def warn(self, clip: str) -> None:
        """Issue the complaints as warnings that name the clip."""
        for complaint in self.complaints():
            warnings.warn(f"{clip or 'clip'}: {complaint}", stacklevel=3)


def match(
    wanted: Iterable[str],
    theirs: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None = None,
) -> Match:
    """Return where `skeleton` has the joints `wanted`, which are named as in `theirs`.

    `names` maps names of `skeleton` to names of `theirs`. Other names match as they are, then
    without what stands before the last colon or bar, as in "mixamorig:LeftArm".
    """
    wanted = list(wanted)
    unknown = sorted(set(names or {}) - set(skeleton.names))
    if unknown:
        raise ValueError(
            f"the map names joints that the clip does not have: {_list_names(unknown)}"
        )
    found: dict[str, int] = {}
    for rename in ((names or {}).get, str, _bare_name):
        for joint, name in enumerate(skeleton.names):
            meant = rename(name)
            if meant in wanted and meant not in found and joint not in found.values():
                found[meant] = joint
    taken, known = set(found.values()), {*theirs.names, *(names or ())}
    return Match(
        joints={name: found[name] for name in wanted if name in found},
        missing=tuple(name for name in wanted if name not in found),
        extra=tuple(
            name
            for joint, name in enumerate(skeleton.names)
            if skeleton.parents[joint] >= 0  # roots are not joints
            and joint not in taken
            and not known.intersection((name, _bare_name(name)))
        ),
        turned=_differing_bones(found, theirs, skeleton),
    )


def _differing_bones(
    found: dict[str, int], theirs: Skeleton, skeleton: Skeleton
) -> dict[str, float]:
    ours, others = skeleton.rest_directions, theirs.rest_directions
    turned = {}
    for name, joint in found.items():
        a, b = ours[joint], others[theirs.index(name)]
        angle = float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
        if a.any() and b.any() and angle > MAX_BONE_ANGLE:
            turned[name] = angle
    return turned


def _bare_name(name: str) -> str:
    return re.split(r"[:|]", name)[-1]


def _list_names(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
