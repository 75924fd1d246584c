"""What the page shows: the clip and its skeleton, violations over time, pictures of limits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Vectors
from ..components import Figure
from ..limit import Limit
from ..sides import partner
from ..skeleton import Skeleton
from ..softening import softening_of
from . import region as drawing
from .bearing import look_axis, looker, up_axis
from .cone_edits import outline
from .curve import curve
from .mesh import Finish
from .messages import Request
from .numbers import numbers_of
from .protocol import Bearing, Check, Clamping, Control, Opening, Picture
from .region import FINE
from .scene import Scene
from .session import Session
from .shares import share_of


def opened(session: Session, asked: Request) -> Opening:
    """Return the skeleton, the clip, which joints have limits, and the figure's controls."""
    scene = session.scene
    clip, skeleton = scene.clip, scene.clip.skeleton
    slides = (np.abs(clip.pose.positions - skeleton.offsets) > 0.0).any(axis=(0, 2))
    moving = np.flatnonzero(slides)
    return {
        "names": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "endParents": skeleton.end_parents.tolist(),
        "clip": clip.name,
        "frames": clip.frames,
        "frameTime": clip.frame_time,
        "notes": list(scene.notes),
        "moving": moving.tolist(),
        "controls": _controls(scene.figure),
        **_bearing(scene),
        "partners": _partners(skeleton),
        **session.state(),
        "offsets": skeleton.offsets,
        "endOffsets": skeleton.end_offsets,
        "rotations": clip.pose.rotations,
        "positions": clip.pose.positions[:, moving],
    }


def _bearing(scene: Scene) -> Bearing:
    """Return which way is up, the joint that looks if one is called so, and along which axis."""
    name = looker(scene.clip)
    last = scene.clip.skeleton.names[-1]
    return {
        "up": up_axis(scene.clip),
        "looker": name,
        "lookAxis": look_axis(scene.clip, last if name is None else name),
    }


def _partners(skeleton: Skeleton) -> list[int]:
    """Return by joint the number of its partner on the other side; -1 for none."""
    others = (partner(name, skeleton.names) for name in skeleton.names)
    return [-1 if other is None else skeleton.index(other) for other in others]


def _controls(figure: Figure | None) -> list[Control]:
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


def checked(session: Session, asked: Request) -> Check:
    """Return how far each limited joint is outside in each frame (frames, L), in degrees."""
    report = session.scene.model.check(session.scene.clip)
    return {"outsideDeg": np.degrees(np.where(report.outside, report.violation, 0.0))}


def clamped(session: Session, asked: Request) -> Clamping:
    """Return the clamped rotations of the joints that clamping changes.

    Softly where `soften` says how, as for `synovia clamp`, with the degrees that this leaves
    outside at most.
    """
    scene, softening = session.scene, softening_of(asked.get("soften"))
    made = scene.model.project(scene.clip, softening=softening)
    left = 0.0 if softening is None else scene.model.check(made).violation.max(initial=0.0)
    rotations = made.pose.rotations
    changed = np.flatnonzero((rotations != scene.clip.pose.rotations).any(axis=(0, 2)))
    return {
        "changed": changed.tolist(),
        "leftDeg": float(np.degrees(left)),
        "clamped": rotations[:, changed],
    }


def region(session: Session, asked: Request) -> Picture:
    """Return the pictures of a joint's limit: of directions with twists, and of rotations."""
    return pictures(session.scene, asked["joint"])


def pictures(scene: Scene, name: str, finish: Finish = FINE) -> Picture:
    """Return the pictures of the limit of the joint of this name; drafts while somebody drags."""
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    bone = tuple(bone_of(scene, joint).tolist())
    return _pictures(scene.model.limits[name], bone, finish)


def bone_of(scene: Scene, joint: int) -> Vectors:
    """Return where a joint's bone points in its own frame (3,); z where it has none."""
    bone: Vectors = scene.clip.skeleton.rest_directions[joint]
    return bone if bone.any() else np.array([0.0, 0.0, 1.0])


@lru_cache(maxsize=64)
def _pictures(limit: Limit, bone: tuple[float, ...], finish: Finish) -> Picture:
    directions, whole = drawing.pictures(limit, np.array(bone), finish)
    return {
        "family": limit.shape.name,
        "chart": limit.chart.name,
        "share": share_of(limit, directions, whole, finish),
        "reference": limit.chart.reference.tolist(),
        "axis": directions.axis.tolist(),
        "numbers": numbers_of(limit),
        "directions": directions.mesh.vertices,
        "faces": directions.mesh.triangles,
        "rim": directions.rim,
        "twistDeg": np.degrees(directions.widths),
        **outline(limit),
        "vectors": whole.vertices,
        "triangles": whole.triangles,
    }


SHOWN = {
    "open": opened,
    "check": checked,
    "clamp": clamped,
    "curve": curve,
    "region": region,
}
"""What may be asked for, by name."""
