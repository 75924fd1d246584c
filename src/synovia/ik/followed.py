"""Followed: a clip that was driven by goals, and what it says of each frame."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Mask
from ..clip import Clip
from .solution import Solution


@dataclass(frozen=True, eq=False)
class Followed:
    """A clip that was driven by goals, and how near it came."""

    clip: Clip
    """Legal in every frame."""
    solution: Solution
    """Frames first: poses, errors, and what is in the way."""
    late: Mask
    """(frames,): still on the way to the goals, as fast as joints may turn."""
    elsewhere: Mask
    """(frames,): not met, though another pose would do, which is too far away to go to at once."""

    def reason(self, frame: int) -> str:
        """Return one sentence on a frame: what is not met, and why not."""
        said = self.solution.reason(frame)
        if self.late[frame]:
            missed, target, _ = said.partition(" its target: ")
            return f"{missed}{target}still on the way, as fast as joints may turn"
        if self.elsewhere[frame]:
            return f"{said}; another pose would do, too far away to go to at once"
        return said
