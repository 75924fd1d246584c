"""What the page may ask for, and the answers; everything is computed here, nothing in the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Floats, Vectors
from ..components import Figure
from ..ik import Reach, Solution, look_at, solve
from ..ik.held import between
from ..limit import Limit
from ..model import LimitModel
from ..shapes import ReachCone
from ..skeleton import Pose
from . import messages
from .region import pictures
from .scene import Scene

Request = Mapping[str, Any]
STEPS, LARGEST_STEP = 20, 0.3
"""How a dragged hand is followed: few iterations, and no large step (radians a joint)."""


def answer(scene: Scene, text: str | bytes) -> bytes:
    """Return the message that answers a request, or says why there is no answer."""
    number: int | None = None
    try:
        asked = messages.request(text)
        number = asked["id"]
        if asked["ask"] not in ASKED:
            raise ValueError(f"ask must be one of {', '.join(ASKED)}, got {asked['ask']!r:.60}")
        header, arrays = ASKED[asked["ask"]](scene, asked)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        header, arrays = {"error": _sentence(error)}, {}
    return messages.packed({"id": number, **header}, arrays)


def _sentence(error: Exception) -> str:
    return f"the request lacks {error}" if isinstance(error, KeyError) else str(error)


Answer = tuple[dict[str, Any], dict[str, Any]]


def opened(scene: Scene, asked: Request) -> Answer:
    """Return the skeleton, the clip, which joints have limits, and the figure's controls."""
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
        "limited": scene.limited,
        "measuredFrom": _measured_from(scene),
        "moving": moving.tolist(),
        "controls": _controls(scene.figure),
    }
    return header, {
        "offsets": skeleton.offsets,
        "endOffsets": skeleton.end_offsets,
        "rotations": clip.pose.rotations,
        "positions": clip.pose.positions[:, moving],
    }


def _measured_from(scene: Scene) -> list[int]:
    """Return, by joint, the number of the one that its limit is measured from; -1 for none."""
    skeleton = scene.clip.skeleton
    above = skeleton.parents.tolist()
    for name, ancestor in scene.model.ancestors.items():
        above[skeleton.index(name)] = skeleton.index(ancestor)
    return list(above)


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


def checked(scene: Scene, asked: Request) -> Answer:
    """Return how far each limited joint is outside in each frame (frames, L), in degrees.

    And the clamped rotations of the joints that clamping changes.
    """
    report = scene.model.check(scene.clip)
    clamped = scene.model.project(scene.clip).pose.rotations
    changed = np.flatnonzero((clamped != scene.clip.pose.rotations).any(axis=(0, 2)))
    outside_deg = np.degrees(np.where(report.outside, report.violation, 0.0))
    header = {"changed": changed.tolist()}
    return header, {"outsideDeg": outside_deg, "clamped": clamped[:, changed]}


def region(scene: Scene, asked: Request) -> Answer:
    """Return the pictures of a joint's limit: of directions with twists, and of rotations."""
    name = asked["joint"]
    joint = scene.clip.skeleton.index(name)
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit")
    bone = scene.clip.skeleton.rest_directions[joint]
    return _pictures(scene.model.limits[name], tuple(bone.tolist()))


@lru_cache(maxsize=256)
def _pictures(limit: Limit, bone: tuple[float, ...]) -> Answer:
    along: Vectors = np.array(bone) if any(bone) else np.array([0.0, 0.0, 1.0])
    directions, whole = pictures(limit, along)
    header = {
        "family": limit.shape.name,
        "chart": limit.chart.name,
        "share": limit.volume(4000),
        "reference": limit.chart.reference.tolist(),
        "axis": directions.axis.tolist(),
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


def reached(scene: Scene, asked: Request) -> Answer:
    """Return the pose in which a joint, or a point on it, is at a target, or near it.

    With `limits` false every joint is free; `joints` may turn, all if it is null. Beside the pose:
    how long it took, whether the target is met, and by how many degrees the limits of joints would
    have to give way.
    """
    pose = _pose(scene, asked)
    goal = Reach(asked["joint"], np.array(asked["target"]), np.array(asked["point"]))
    started = time.perf_counter()
    found = solve(
        _limits(scene, asked),
        scene.clip.skeleton,
        pose,
        [goal],
        joints=_free(scene, asked),
        restarts=0,
        iterations=STEPS,
        largest_step=LARGEST_STEP,
        threads=1,
    )
    return _told(scene, found, started)


def looked(scene: Scene, asked: Request) -> Answer:
    """Return the pose in which the last of `joints` looks, along its z axis, at a target.

    Each of the joints takes its share of the turn. The rest is as in `reached`.
    """
    pose, target = _pose(scene, asked), np.array(asked["target"])
    started = time.perf_counter()
    skeleton, joints = scene.clip.skeleton, _free(scene, asked) or []
    found = look_at(_limits(scene, asked), skeleton, pose, target, joints, threads=1)
    return _told(scene, found, started)


def _free(scene: Scene, asked: Request) -> list[str] | None:
    """Return the joints that a request lets turn, but those that limits below keep still."""
    if asked["joints"] is None:
        return None
    still = between(scene.model) if asked["limits"] is True else []
    return [name for name in asked["joints"] if name not in still]


def _limits(scene: Scene, asked: Request) -> LimitModel:
    """Return the limits that a request wants to be kept: all, or none."""
    return scene.model if asked["limits"] is True else LimitModel({}, scene.clip.skeleton)


def _told(scene: Scene, found: Solution, started: float) -> Answer:
    seconds = time.perf_counter() - started
    header = {
        "ms": 1000.0 * seconds,
        "met": bool(found.converged),
        "left": float(found.errors[0]),
        "blockingDeg": {name: float(np.degrees(angle)) for name, angle in found.blocking().items()},
        "outsideDeg": _outside_deg(scene, found.pose),
    }
    return header, {"rotations": found.pose.rotations}


def posed(scene: Scene, asked: Request) -> Answer:
    """Return the pose that controls of the figure give, and what became of them."""
    if scene.figure is None:
        raise ValueError("there is no figure here, so there are no controls")
    values = asked["values"]
    if not isinstance(values, dict):
        raise ValueError(f"values must be controls by name, got {values!r:.60}")
    pose = scene.figure.pose(values)
    header = {
        "clamped": {name: float(off) for name, off in pose.clamped.items()},
        "gaps": {name: float(off) for name, off in pose.gaps.items()},
        "outsideDeg": _outside_deg(scene, pose),
    }
    return header, {"rotations": pose.rotations, "positions": pose.positions}


def _outside_deg(scene: Scene, pose: Pose) -> list[float]:
    violation = np.degrees(scene.model.violation(pose))
    return [float(angle) for angle in violation[scene.limited]]


def _pose(scene: Scene, asked: Request) -> Pose:
    """Return the pose that a request sends: rotations, at the positions of one of the frames."""
    number = asked["frame"]
    if not (isinstance(number, int) and 0 <= number < scene.clip.frames):
        raise ValueError(f"frame must be from 0 to {scene.clip.frames - 1}, got {number!r:.60}")
    count = len(scene.clip.skeleton)
    flat: Floats = np.array(asked["rotations"], dtype=np.float64)
    if flat.shape != (4 * count,):
        raise ValueError(f"rotations must be 4 numbers for each of {count} joints")
    return Pose(flat.reshape(count, 4), scene.frame(number).positions)


ASKED: dict[str, Callable[[Scene, Request], Answer]] = {
    "open": opened,
    "check": checked,
    "region": region,
    "reach": reached,
    "look": looked,
    "pose": posed,
}
"""What may be asked for, by name."""
