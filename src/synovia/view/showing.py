"""What the page shows: the clip and its skeleton, violations over time, pictures of limits."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Vectors
from ..components import Figure
from ..limit import Limit
from ..shapes import ReachCone
from ..softening import softening_of
from .messages import Answer, Request
from .numbers import numbers_of
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
        **session.state(),
    }
    return header, {
        "offsets": skeleton.offsets,
        "endOffsets": skeleton.end_offsets,
        "rotations": clip.pose.rotations,
        "positions": clip.pose.positions[:, moving],
    }


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

    And the clamped rotations of the joints that clamping changes, softly where `soften` says how,
    as for `synovia clamp`, with the degrees that this leaves outside at most.
    """
    scene = session.scene
    report = scene.model.check(scene.clip)
    softening = softening_of(asked.get("soften"))
    made = scene.model.project(scene.clip, softening=softening)
    left = scene.model.check(made).violation.max(initial=0.0) if softening is not None else 0.0
    clamped = made.pose.rotations
    changed = np.flatnonzero((clamped != scene.clip.pose.rotations).any(axis=(0, 2)))
    outside_deg = np.degrees(np.where(report.outside, report.violation, 0.0))
    header = {"changed": changed.tolist(), "leftDeg": float(np.degrees(left))}
    return header, {"outsideDeg": outside_deg, "clamped": clamped[:, changed]}


def region(session: Session, asked: Request) -> Answer:
    """Return the pictures of a joint's limit: of directions with twists, and of rotations."""
    return pictures(session.scene, asked["joint"])


def pictures(scene: Scene, name: str) -> Answer:
    """Return the pictures of the limit of the joint of this name."""
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    bone = scene.clip.skeleton.rest_directions[joint]
    return _pictures(scene.model.limits[name], tuple(bone.tolist()))


@lru_cache(maxsize=256)
def _pictures(limit: Limit, bone: tuple[float, ...]) -> Answer:
    along: Vectors = np.array(bone) if any(bone) else np.array([0.0, 0.0, 1.0])
    directions, whole = sheet(limit, along), boundary(limit)
    header = {
        "family": limit.shape.name,
        "chart": limit.chart.name,
        "share": limit.volume(4000),
        "reference": limit.chart.reference.tolist(),
        "axis": directions.axis.tolist(),
        "numbers": numbers_of(limit),
    }
    corners = limit.shape.points if isinstance(limit.shape, ReachCone) else np.zeros((0, 3))
    return header, {
        "directions": directions.mesh.vertices,
        "faces": directions.mesh.triangles,
        "rim": directions.rim,
        "twistDeg": np.degrees(directions.widths),
        "corners": corners,
        "vectors": whole.vertices,
        "triangles": whole.triangles,
    }


SHOWN = {"open": opened, "check": checked, "region": region}
"""What may be asked for, by name."""
