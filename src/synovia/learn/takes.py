"""Takes: one joint in one clip, and who performs in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from ..arrays import Quats, unit_quats


@dataclass(frozen=True, eq=False)
class Take:
    """One joint in one clip: `rotations` (frames, 4), `frame_time` seconds apart."""

    rotations: Quats
    frame_time: float
    clip: str
    performer: str
    first: int = 0
    """The number, in the clip, of the first frame that is here."""
    people: int = 1
    """How many people the performer counts for, where frames need others to confirm them."""
    thinned: bool = False
    """Whether frames that repeat others were left out, so that steps between them mean nothing."""

    def __post_init__(self) -> None:
        rotations = np.array(frames_of(f"rotations of {self.clip!r}", self.rotations))
        if len(rotations) == 0:
            raise ValueError(f"a take needs at least one frame, got none in {self.clip!r}")
        check_positive(f"frame_time of {self.clip!r}", self.frame_time, "seconds")
        rotations.flags.writeable = False
        object.__setattr__(self, "rotations", rotations)

    @property
    def believed(self) -> bool:
        """Whether the performer, who counts for many, needs nobody's confirmation."""
        return self.people > 1


def performer_of(clip: str, pattern: str | None = None) -> str:
    """Return who performs in the file named `clip`.

    That is the one group of the regular expression `pattern`, searched in `clip` with its folders;
    without a pattern, what stands before the first "_" or "-" of the file's stem, else the stem.
    """
    if pattern is None:
        stem = PurePath(clip).stem
        return re.split("[_-]", stem, maxsplit=1)[0] or stem
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"performer pattern {pattern!r} is not valid: {error}") from error
    if expression.groups != 1:
        raise ValueError(
            f"performer pattern {pattern!r} must have one (group), got {expression.groups}"
        )
    found = expression.search(clip)
    if found is None or not found[1]:
        raise ValueError(f"performer pattern {pattern!r} finds nobody in {clip!r}")
    return found[1]


def frames_of(name: str, rotations: Quats) -> Quats:
    """Return `rotations` as unit quaternions (frames, 4)."""
    rotations = unit_quats(name, rotations)
    if rotations.ndim != 2:
        raise ValueError(f"{name} must have shape (frames, 4), got {rotations.shape}")
    return rotations


def check_positive(name: str, value: float, unit: str) -> None:
    """Raise ValueError unless `value` is finite and above 0."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be above 0 {unit}".rstrip() + f", got {value}")
