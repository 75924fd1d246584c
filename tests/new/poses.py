"""Poses: a clip as JSON, rotations and positions as they are in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..skeleton import Clip, Pose, Skeleton
from .format import ClipFormat, ReadOptions, only_clip


def read_poses(path: Path, _options: ReadOptions) -> Clip:
    """Return the clip in the file at `path`."""
    document = json.loads(path.read_text(encoding="utf-8"))
    skeleton = Skeleton(document["names"], document["parents"], document["offsets"])
    pose = Pose(np.array(document["rotations"]), np.array(document["positions"]))
    return Clip(skeleton, pose, document["frame_time"], name=path.stem)


def write_poses(clips: Sequence[Clip], path: Path) -> None:
    """Write one clip."""
    clip = only_clip(clips, path)
    document = {
        "names": list(clip.skeleton.names),
        "parents": clip.skeleton.parents.tolist(),
        "offsets": clip.skeleton.offsets.tolist(),
        "rotations": clip.pose.rotations.tolist(),
        "positions": clip.pose.positions.tolist(),
        "frame_time": clip.frame_time,
    }
    path.write_text(json.dumps(document), encoding="utf-8")


POSES = ClipFormat(read_poses, write_poses)
