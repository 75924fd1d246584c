"""Possible limits of fingers, thumb, jaw and eyes of the canonical human, from published ranges.

Published numbers are in hand.json, each with its source. Numbers here are allowances for rigs, or
for motions for which no range is published.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike

from .. import quat
from ..arrays import Vectors, unit_vectors
from ..charts import Hinges, SwingTwist
from ..limit import DependentRange, Limit, mirror_limit
from ..limit.node_grid import NodeGrid
from ..model import Constraint
from ..model.coupled import couple
from ..rigs.canonical import FINGER_DIRECTIONS, FORWARD, LEFT, UP
from ..rigs.human import PHALANGES
from ..shapes import Box, Ellipsoid, KDop

FINGER_AXES = np.array([-FORWARD, UP, LEFT])  # flexion, towards the little finger, twist
FACE_AXES = np.array([UP, LEFT, FORWARD])  # outwards with the left eye, down, roll
# Allowances in degrees: rigs place hinge axes and tips of fingers by eye.
SPREAD_BENT = 12.0  # spread that is left with the base joint (MCP) at 90
BASE_TWIST = 25.0  # of the base joint; collateral ligaments allow about 15
HINGE_SIDE, HINGE_TWIST = 15.0, 15.0  # of a finger's other two joints (hinges)
THUMB_SIDE, THUMB_TWIST = 60.0, 30.0  # rigs bend thumbs about axes that differ by 90
THUMB_TILT = 35.0  # from the index finger to the middle of what the metacarpal reaches
THUMB_ROLL = 50.0  # of the metacarpal; it rotates by about 20 in opposition
JAW = {"closing": 5.0, "side": 15.0, "roll": 10.0}  # 9 to 12 mm sideways are about 8
EYE_ROLL = 15.0  # torsion by Listing's law is below 10
COUPLING = 2.0 / 3.0  # flexion of the last joint (DIP) for one degree of the joint before (PIP)
COUPLING_DIVISIONS = 8  # of the octahedron; nodes are about 11 degrees apart


@cache
def published() -> dict[str, dict[str, float]]:
    """Return the ends of the limits, in degrees, by bone and motion: mean + 2 sd + room."""
    data = json.loads((files(__package__) / "hand.json").read_text(encoding="utf-8"))
    ends: dict[str, dict[str, float]] = {}
    for row in data["rows"]:
        room = data["room"]["face" if row["bone"] in ("jaw", "Eye") else "fingers"]
        end = row["mean"] + 2.0 * row["sd"] + room
        ends.setdefault(row["bone"], {})[row["motion"]] = float(end)
    return ends


def hand_constraints() -> list[Constraint]:
    """Return the possible limits of fingers, thumb, jaw and eyes on the canonical skeleton."""
    limits = _left_limits()
    dependents = {
        f"left{finger}Distal": _coupled_distal(finger, limits)
        for finger in PHALANGES
        if finger != "Thumb"
    }
    right_limits = {_right(role): mirror_limit(limit, LEFT) for role, limit in limits.items()}
    right_dependents = {
        _right(role): dependent.mirror(LEFT, _right(dependent.driver))
        for role, dependent in dependents.items()
    }
    return list(couple(limits | right_limits, dependents | right_dependents))


def _right(role: str) -> str:
    """Return the role of the right side; the jaw stays."""
    return role.replace("left", "right")


def _left_limits() -> dict[str, Limit]:
    """Return the limits of the left side and of the jaw, by role."""
    ends = published()
    limits = {}
    for finger in PHALANGES:
        if finger == "Thumb":
            continue
        limits[f"left{finger}Proximal"] = _base_limit(ends[f"{finger}Proximal"])
        for bone in ("Intermediate", "Distal"):
            low, high = -ends[bone]["extension"], ends[finger + bone]["flexion"]
            limits[f"left{finger}{bone}"] = _box(
                FINGER_AXES, [low, -HINGE_SIDE, -HINGE_TWIST], [high, HINGE_SIDE, HINGE_TWIST]
            )
    limits["leftThumbMetacarpal"] = _thumb_base_limit(ends["ThumbMetacarpal"])
    for bone in ("ThumbProximal", "ThumbDistal"):
        low, high = -ends[bone]["extension"], ends[bone]["flexion"]
        limits[f"left{bone}"] = _box(
            thumb_axes(), [low, -THUMB_SIDE, -THUMB_TWIST], [high, THUMB_SIDE, THUMB_TWIST]
        )
    eye, opening = ends["Eye"], ends["jaw"]["opening"]
    limits["leftEye"] = _box(
        FACE_AXES,
        [-eye["adduction"], -eye["elevation"], -EYE_ROLL],
        [eye["abduction"], eye["depression"], EYE_ROLL],
    )
    limits["jaw"] = _box(
        FACE_AXES,
        [-JAW["side"], -JAW["closing"], -JAW["roll"]],
        [JAW["side"], opening, JAW["roll"]],
    )
    return limits


def _box(axes: Vectors, low: ArrayLike, high: ArrayLike) -> Limit:
    """Return the limit of three hinges about `axes` (3, 3) with ranges in degrees."""
    shape = Box(np.radians(low), np.radians(high), np.eye(3))
    return Limit(Hinges(quat.IDENTITY, axes=axes), shape)


def _base_limit(ends: dict[str, float]) -> Limit:
    """Return the limit of a finger's base joint (MCP), whose spread vanishes as it bends.

    With flexion f and spread o: |o| ≤ S at f ≤ 0, and |o| + k f ≤ S with k = (S − S₉₀)/90.
    """
    spread = ends["spread"]
    slope = (spread - SPREAD_BENT) / 90.0
    length = np.hypot(1.0, slope)
    axes = [*np.eye(3), [slope / length, 1.0 / length, 0.0], [slope / length, -1.0 / length, 0.0]]
    open_end = -(slope * ends["extension"] + spread) / length  # the corner of the other ranges
    low = [-ends["extension"], -spread, -BASE_TWIST, open_end, open_end]
    high = [ends["flexion"], spread, BASE_TWIST, spread / length, spread / length]
    shape = KDop(np.array(axes), np.radians(low), np.radians(high))
    return Limit(Hinges(quat.IDENTITY, axes=FINGER_AXES), shape)


def thumb_axes() -> Vectors:
    """Return the axes (3, 3) of a left thumb's hinges: flexion, sideways, twist.

    Rigs flex it beside the palm, about the palm's normal, or towards the palm; this is between.
    """
    bone = FINGER_DIRECTIONS["leftThumbDistal"]
    flexion = unit_vectors(UP + np.cross(bone, -UP))
    return np.array([flexion, np.cross(bone, flexion), bone])


def _thumb_base_limit(ends: dict[str, float]) -> Limit:
    """Return the limit of the thumb's base joint (CMC): a round cone of directions, with twist.

    Its middle is `THUMB_TILT` from the index finger, half way between beside the palm and before
    it. The radius is such that it ends where abduction in these two directions does.
    """
    bone = FINGER_DIRECTIONS["leftThumbMetacarpal"]
    middle = _tilted((FORWARD - UP) / np.sqrt(2.0), THUMB_TILT)
    edges = [
        _tilted(FORWARD, ends["radial abduction"]),
        _tilted(-UP, ends["palmar abduction"]),
    ]
    radius = min(float(np.arccos(np.clip(edge @ middle, -1.0, 1.0))) for edge in edges)
    chart = SwingTwist(quat.between(bone, middle), axis=bone)
    radii = [radius, radius, np.radians(THUMB_ROLL)]
    return Limit(chart, Ellipsoid(np.zeros(3), np.array(radii), np.eye(3)))


def _tilted(towards: Vectors, degrees: float) -> Vectors:
    """Return the direction (3,) of a left index finger, tilted towards a unit vector."""
    angle = np.radians(degrees)
    return np.asarray(np.cos(angle) * LEFT + np.sin(angle) * towards)


def _coupled_distal(finger: str, limits: dict[str, Limit]) -> DependentRange:
    """Return the limit of a finger's last joint (DIP), which depends on the joint before (PIP).

    With flexion p of the PIP, it bends by at most c + ⅔ p, c being its end beside a straight
    finger. The two joints have one deep flexor, and a ligament that the PIP relaxes.
    """
    directions = NodeGrid(3, COUPLING_DIVISIONS).nodes
    bent = np.arctan2(-directions @ UP, directions @ LEFT)
    bent = np.where(bent < -0.5 * np.pi, np.pi, bent)  # far flexion, not extension, goes round
    straight = np.radians(published()["Distal"]["flexion beside a straight finger"])
    return DependentRange(
        limits[f"left{finger}Distal"],
        f"left{finger}Intermediate",
        LEFT,
        low=np.full(len(bent), -np.pi),  # the joint's own range also applies
        high=np.maximum(straight + COUPLING * bent, 0.0),
        along=np.array([1.0, 0.0, 0.0]),
    )
