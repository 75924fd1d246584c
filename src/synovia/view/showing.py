"""What the page shows: the clip and its skeleton, violations over time, pictures of limits."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Vectors
from ..components import Figure
from ..limit import Limit
from ..sides import partner
from ..skeleton import Skeleton
from .cone_edits import outline
from .messages import Answer, Request
from .region import boundary, sheet
from .scene import Scene
from .session import Session


def opened(session: Session, asked: Request) -> Answer:
    """Return the skeleton, the clip, which joints have limits, and the figure's controls."""
    scene = session.scene
    clip, skeleton = scene.clip, scene.clip.skeleton
    slides = (np.abs(clip.pose.positions - skeleton.offsets) > 0.0).any(axis=(0, 2))
    moving = np.flatnonzero(slides)
    header = {
        "names": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "endParents": skeleton.end_parents.tolist(),
        "clip": clip.name,
        "frames": clip.frames,
        "frameTime": clip.frame_time,
        "notes": list(scene.notes),
        "moving": moving.tolist(),
        "controls": _controls(scene.figure),
        "partners": _partners(skeleton),
        **session.state(),
    }
    return header, {
        "offsets": skeleton.offsets,
        "endOffsets": skeleton.end_offsets,
        "rotations": clip.pose.rotations,
        "positions": clip.pose.positions[:, moving],
    }


def _partners(skeleton: Skeleton) -> list[int]:
    """Return by joint the number of its partner on the other side; -1 for none."""
    others = (partner(name, skeleton.names) for name in skeleton.names)
    return [-1 if other is None else skeleton.index(other) for other in others]


def _controls(figure: Figure | None) -> list[dict[str, Any]]:
    if figure is None:
        return []
    return [
        {
            "name": name,
            "low": control.low,
            "high": control.high,
            "neutral": control.neutral,
            "unit": control.unit,
        }
        for name, control in figure.controls.items()
    ]


def checked(session: Session, asked: Request) -> Answer:
    """Return how far each limited joint is outside in each frame (frames, L), in degrees.

    And the clamped rotations of the joints that clamping changes.
    """
    scene = session.scene
    report = scene.model.check(scene.clip)
    clamped = scene.model.project(scene.clip).pose.rotations
    changed = np.flatnonzero((clamped != scene.clip.pose.rotations).any(axis=(0, 2)))
    outside_deg = np.degrees(np.where(report.outside, report.violation, 0.0))
    header = {"changed": changed.tolist()}
    return header, {"outsideDeg": outside_deg, "clamped": clamped[:, changed]}


def region(session: Session, asked: Request) -> Answer:
    """Return the pictures of a joint's limit: of directions with twists, and of rotations."""
    return pictures(session.scene, asked["joint"])


def pictures(scene: Scene, name: str) -> Answer:
    """Return the pictures of the limit of the joint of this name."""
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    return _pictures(scene.model.limits[name], tuple(bone_of(scene, joint).tolist()))


def bone_of(scene: Scene, joint: int) -> Vectors:
    """Return where a joint's bone points in its own frame (3,); z where it has none."""
    bone: Vectors = scene.clip.skeleton.rest_directions[joint]
    return bone if bone.any() else np.array([0.0, 0.0, 1.0])


@lru_cache(maxsize=256)
def _pictures(limit: Limit, bone: tuple[float, ...]) -> Answer:
    directions, whole = sheet(limit, np.array(bone)), boundary(limit)
    header = {
        "family": limit.shape.name,
        "chart": limit.chart.name,
        "share": limit.volume(4000),
        "reference": limit.chart.reference.tolist(),
        "axis": directions.axis.tolist(),
    }
    return header, {
        "directions": directions.mesh.vertices,
        "faces": directions.mesh.triangles,
        "rim": directions.rim,
        "twistDeg": np.degrees(directions.widths),
        **outline(limit),
        "vectors": whole.vertices,
        "triangles": whole.triangles,
    }


SHOWN = {"open": opened, "check": checked, "region": region}
"""What may be asked for, by name."""
