"""Paths in time of a skeleton's joints, in memory or read one joint at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..arrays import Quats


class Paths(Protocol):
    """Rotations (frames, 4) of each joint, by the joint's index."""

    def __getitem__(self, joint: int, /) -> Quats: ...

    def __setitem__(self, joint: int, path: Quats, /) -> None: ...


@dataclass(frozen=True)
class ClipPaths:
    """The paths in rotations (frames, J, 4)."""

    rotations: Quats

    def __getitem__(self, joint: int) -> Quats:
        return self.rotations[:, joint]

    def __setitem__(self, joint: int, path: Quats) -> None:
        self.rotations[:, joint] = path
