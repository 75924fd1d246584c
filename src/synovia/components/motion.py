"""Figures in motion: clips of poses, and one that shows what every control does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..clip import Clip
from ..skeleton import POSITIONS, ROTATIONS, Pose
from .figure import Figure

SLIDES = 1e-9
"""Segments that move by more than this share of the figure's longest offset need positions."""


def clip_of(figure: Figure, pose: Pose, frame_time: float = 1.0 / 30.0) -> Clip:
    """Return poses (..., J) of a figure as a clip, frames `frame_time` seconds apart.

    Segments that slide as they turn have channels for their positions.
    """
    skeleton = figure.skeleton
    rotations = pose.rotations.reshape(-1, len(skeleton), 4)
    positions = pose.positions.reshape(-1, len(skeleton), 3)
    off = np.abs(positions - skeleton.offsets).max(axis=(0, 2), initial=0.0)
    slides = (off > SLIDES * figure.size) | (skeleton.parents < 0)
    channels = tuple(POSITIONS + ROTATIONS if each else ROTATIONS for each in slides)
    clip_pose = Pose(rotations, positions)
    return Clip(replace(skeleton, channels=channels), clip_pose, frame_time, figure.name)


def sweep(figure: Figure, frames: int = 60, start: Floats | None = None) -> Floats:
    """Return controls (C · frames, C) that run one control after the other through its range.

    Each goes from where it starts, its neutral value unless `start` (C,) says, to its low end, to
    its high end and back, at one speed; the others stay where they start.
    """
    if frames < 2:
        raise ValueError(f"a sweep needs two frames a control at least, got {frames}")
    base = figure.values(() if start is None else start)
    table = np.tile(base, (len(base) * frames, 1))
    for place, limits in enumerate(figure.controls.values()):
        way = np.array([base[place], limits.low, limits.high, base[place]])
        far = np.concatenate([[0.0], np.abs(np.diff(way)).cumsum()])
        along = np.linspace(0.0, far[-1], frames)
        rises = np.concatenate([[True], np.diff(far) > 0.0])  # an end where it starts is no way
        table[place * frames : (place + 1) * frames, place] = np.interp(
            along, far[rises], way[rises]
        )
    return table
