"""The human of the demo: a small skeleton, and what each of its joints can really do.

Metres, y up, facing z, in a T-pose with the arms along x. Ranges are in keeping with published
ones (AAOS; Boone and Azen 1979; Moromizato 2016; Wang 1998 for the shoulder's twist), rounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Vectors
from ..skeleton import Skeleton
from .truth import TrueLimit

TRUNK = {
    "Hips": ("", (0.0, 0.96, 0.0)),
    "Spine": ("Hips", (0.0, 0.10, -0.01)),
    "Chest": ("Spine", (0.0, 0.19, -0.01)),
    "Neck": ("Chest", (0.0, 0.24, -0.01)),
    "Head": ("Neck", (0.0, 0.10, 0.02)),
}
LEFT = {
    "Collar": ("Chest", (0.03, 0.19, 0.02)),
    "Shoulder": ("LeftCollar", (0.15, 0.01, -0.02)),
    "Elbow": ("LeftShoulder", (0.29, 0.0, 0.0)),
    "Wrist": ("LeftElbow", (0.26, 0.0, 0.0)),
    "Hip": ("Hips", (0.095, -0.04, 0.0)),
    "Knee": ("LeftHip", (0.0, -0.42, 0.0)),
    "Ankle": ("LeftKnee", (0.0, -0.42, -0.01)),
}
ENDS = {"Head": (0.0, 0.18, 0.02), "LeftWrist": (0.17, 0.0, 0.0), "LeftAnkle": (0.0, -0.07, 0.17)}
FLIP = np.array([-1.0, 1.0, 1.0])


def human() -> Skeleton:
    """Return the skeleton: 19 joints, and end sites at the head, the hands and the feet."""
    joints = {name: (parent, np.array(offset)) for name, (parent, offset) in TRUNK.items()}
    ends = {name: np.array(offset) for name, offset in ENDS.items()}
    joints |= {f"Left{name}": (parent, np.array(offset)) for name, (parent, offset) in LEFT.items()}
    for name, (parent, offset) in list(joints.items()):
        if name.startswith("Left"):
            joints[_right(name)] = (_right(parent), offset * FLIP)
    ends |= {_right(name): offset * FLIP for name, offset in ends.items()}
    names = _depth_first({name: parent for name, (parent, _) in joints.items()}, "")
    return Skeleton(
        tuple(names),
        np.array([names.index(joints[name][0]) if joints[name][0] else -1 for name in names]),
        np.array([joints[name][1] for name in names]),
        end_parents=np.array([names.index(name) for name in ends]),
        end_offsets=np.array(list(ends.values())),
    )


def true_limits() -> dict[str, TrueLimit]:
    """Return the truth by joint, for all but the root."""
    left = {
        "LeftCollar": _universal((0.99, 0.07, -0.13), (0.96, 0.20, -0.08), (0.1, 1, 0.2), (20, 13)),
        # The arm: 157° of twist hanging down, 94° raised; more forwards than back.
        "LeftShoulder": _ball(
            (1, 0, 0), (0.72, 0.02, 0.69), (-0.25, 1, 0.1), (74, 56), 63, drift=-22, narrowing=15
        ),
        "LeftElbow": _hinge((0.05, -1, 0.12), -3, 142),
        "LeftWrist": _universal((1, 0, 0), (1, -0.03, 0.12), (0.0, 1, 0.15), (74, 28)),
        "LeftHip": _ball(
            (0, -1, 0), (0.15, -0.55, 0.8), (0.1, 0.8, 0.55), (70, 27), 42, drift=12, narrowing=9
        ),
        "LeftKnee": _hinge((1, 0.06, -0.09), -2, 147),
        "LeftAnkle": _universal((0, -0.38, 0.92), (0.05, -0.58, 0.81), (0.1, 1, 0.6), (36, 15)),
    }
    return {
        "Spine": _ball((0, 1, 0), (0, 0.98, 0.2), (0, -0.2, 1), (34, 21), 16, narrowing=5),
        "Chest": _ball((0, 1, 0), (0, 0.99, 0.1), (0, -0.1, 1), (22, 17), 26, narrowing=7),
        "Neck": _ball((0, 1, 0.2), (0, 0.99, 0.2), (0, -0.2, 1), (33, 22), 34, narrowing=8),
        "Head": _ball((0, 1, 0.1), (0, 0.99, 0.1), (0, -0.1, 1), (24, 18), 40, narrowing=10),
        **left,
        **{_right(name): limit.mirrored() for name, limit in left.items()},
    }


def _depth_first(parents: dict[str, str], root: str) -> list[str]:
    """Return the names below `root`, each followed by all that hangs on it, as files have them."""
    children = [name for name, parent in parents.items() if parent == root]
    return [each for child in children for each in (child, *_depth_first(parents, child))]


def _right(name: str) -> str:
    return name.replace("Left", "Right")


def _ball(
    bone: ArrayLike,
    toward: ArrayLike,
    along: ArrayLike,
    reach_deg: ArrayLike,
    twist_deg: float,
    *,
    drift: float = 0.0,
    narrowing: float = 0.0,
) -> TrueLimit:
    """Return a ball joint from degrees: its `bone` points `toward` there, in the parent's frame."""
    axis = _unit(bone)
    center = quat.between(axis, _unit(toward))
    local = quat.rotate(quat.inverse(center), _unit(along))
    local = _unit(local - (local @ axis) * axis)
    return TrueLimit(
        center,
        axis,
        local,
        np.radians(reach_deg),
        *np.radians([twist_deg, drift, narrowing]).tolist(),
    )


def _universal(
    bone: ArrayLike, toward: ArrayLike, along: ArrayLike, reach_deg: ArrayLike
) -> TrueLimit:
    """Return a joint that swings its `bone` and does not twist it."""
    return _ball(bone, toward, along, reach_deg, 0.0)


def _hinge(axis: ArrayLike, low_deg: float, high_deg: float) -> TrueLimit:
    """Return a joint that turns about one axis, from low to high."""
    axis = _unit(axis)
    low, high = np.radians([low_deg, high_deg])
    across = _unit(np.cross(axis, np.eye(3)[np.abs(axis).argmin()]))
    center = quat.exp(0.5 * (low + high) * axis)
    return TrueLimit(center, axis, across, np.zeros(2), float(0.5 * (high - low)))


def _unit(vector: ArrayLike) -> Vectors:
    array = np.asarray(vector, dtype=np.float64)
    return np.asarray(array / np.linalg.norm(array))
