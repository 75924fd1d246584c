"""The possible range of every joint of the canonical human, built from published ranges.

The numbers are in `envelope.json`, in degrees, for the trunk and the left side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Scalars, Vectors
from ..charts import DirectionTwist, Hinges, RotationVector, SwingTwist
from ..limit import Limit
from ..model import ARM_SHIFTS, LEG_SHIFTS, Limb, LimitModel, TwoJointMuscle, couple
from ..rigs.canonical import BONE_DIRECTIONS, FORWARD, canonical_skeleton
from ..shapes import KDop, Product, ThetaPhi
from ..shapes.polytope import CORNERS, EDGES, FACES
from ..shapes.theta_phi.grid import centres

LEFT_ARM = ("leftUpperArm", "leftLowerArm", "leftHand")
LEFT_LEG = ("leftUpperLeg", "leftLowerLeg", "leftFoot")
CELL = np.radians(3.0)  # of the tables of shoulder and hip; their edge is true to half a cell
SHARPNESS = 8.0  # of the weights of anchors: half at 24 degrees from an anchor
PLANE_AXES = 16  # of k-DOPs in the plane: at most 0.5 % wider than the ellipse that they enclose
MARGIN_DEG = 15.0  # allowed beyond mean + 2 SD: rigs differ in how their frames are placed
EXCEPTION_DEG = 10.0  # most that an exception may add to the margin


@cache
def envelope_data() -> Mapping[str, Any]:
    """Return the contents of `envelope.json`."""
    data: Mapping[str, Any] = json.loads((files(__package__) / "envelope.json").read_text("utf-8"))
    return data


def possible_model(*, palm_known: bool = True) -> LimitModel:
    """Return the possible limits of the trunk and the left side, arm and leg as limbs.

    For `palm_known` see `possible_limits`.
    """
    limits = possible_limits(palm_known=palm_known)
    limbs = [
        Limb(
            {role: limits[role] for role in roles},
            np.stack([BONE_DIRECTIONS[role] for role in roles[:2]]),
            shifts,
            muscles=tuple(muscle for muscle in muscles() if muscle.joint in roles),
        )
        for roles, shifts in ((LEFT_ARM, ARM_SHIFTS), (LEFT_LEG, LEG_SHIFTS))
    ]
    about = {"published": [dict(vars(row)) for row in published_ranges()]}
    return LimitModel(couple(limits, {}, limbs), canonical_skeleton(), about)


def possible_limits(*, palm_known: bool = True) -> dict[str, Limit]:
    """Return the possible limits of the trunk and the left side, by role.

    Rotation of the hand about the forearm, and of the foot about the shin, is part of the limits of
    elbow and knee: these are for the sum over both joints; see `model.Limb`. If `palm_known` is
    False, pronation is free and the wrist bends equally far in all directions.
    """
    data = envelope_data()
    limits = {role: ball_limit(role, entry) for role, entry in data["balls"].items()}
    limits |= {role: hinge_limit(entry) for role, entry in data["hinges"].items()}
    limits |= {role: end_limit(role, entry) for role, entry in data["ends"].items()}
    limits |= {role: trunk_limit(entry) for role, entry in data["vectors"].items()}
    if not palm_known:
        hand, elbow = data["hand_of_unknown_palm"], data["hinges"]["leftLowerArm"]
        rows = [[*row[:2], *hand["twist"]] for row in elbow["rows"]]
        limits["leftHand"] = end_limit("leftHand", hand)
        limits["leftLowerArm"] = hinge_limit({**elbow, "rows": rows})
    return limits


def muscles() -> list[TwoJointMuscle]:
    """Return the muscles of the left side that span two joints."""
    down = BONE_DIRECTIONS["leftLowerLeg"]  # the thigh's direction as well; the foot swings from it
    return [
        TwoJointMuscle(
            row["name"],
            row["joint"],
            down,
            down,
            row["about"],
            np.radians(row["rows"]),
        )
        for row in envelope_data()["muscles"]
    ]


# Shoulder and hip: a region of directions, each with its interval of rotation.


def ball_limit(role: str, data: Mapping[str, Any]) -> Limit:
    """Return the limit of a shoulder or hip.

    Directions d of the bone lie inside a polygon. Rotation about the bone is measured from the
    shortest arcs from the bone's direction in the T-pose to the middle of the region, and on to
    d. Its interval is a mean over anchors i with weights exp(s (d · d_i − 1)), s = `SHARPNESS`.
    """
    bone = BONE_DIRECTIONS[role]
    chart = DirectionTwist(quat.between(bone, unit(data["middle"])), bone)
    back = quat.inverse(chart.reference)
    anchors = data["anchors"]
    directions = np.array([unit(anchor["direction"]) for anchor in anchors])
    rotations = np.stack([neutral_rotation(role, anchor) for anchor in anchors])
    neutral = chart.points(rotations)[:, 3]
    low = neutral - np.radians([anchor["outward"] for anchor in anchors])
    high = neutral + np.radians([anchor["inward"] for anchor in anchors])
    rows = round(np.pi / CELL)
    cells = quat.rotate(chart.reference, centres((rows, 2 * rows)))
    weights = np.exp(SHARPNESS * (cells @ directions.T - 1.0))
    weights /= weights.sum(axis=-1, keepdims=True)
    table = ThetaPhi.from_outline(
        quat.rotate(back, unit(data["edge"])), bone, weights @ low, weights @ high, cell=CELL
    )
    return Limit(chart, table)


def neutral_rotation(role: str, anchor: Mapping[str, Any]) -> Quats:
    """Return the rotation (4,) of a limb along the anchor's direction, at neutral rotation.

    Then the forearm or shin, bent by 90 degrees, points along the anchor's `neutral`.
    """
    bone = BONE_DIRECTIONS[role]
    bent = FORWARD if role.endswith("Arm") else -FORWARD
    along = unit(anchor["direction"])
    neutral = np.asarray(anchor["neutral"], np.float64)
    across = unit(neutral - (neutral @ along) * along)
    rest_axes = np.stack([bone, bent, np.cross(bone, bent)], axis=1)
    target_axes = np.stack([along, across, np.cross(along, across)], axis=1)
    return quat.from_matrix(target_axes @ rest_axes.T)


# Elbow and knee.


def hinge_limit(data: Mapping[str, Any]) -> Limit:
    """Return the limit of an elbow or knee: flexion, sideways bend and rotation about the bone.

    `rows` are flexion, the greatest sideways bend to either side, and the least and greatest
    rotation there. Between rows they are interpolated; both regions must be convex.
    """
    rows = np.radians(data["rows"])
    corners = [(f, side * o, t) for f, o, *ends in rows for side in (-1.0, 1.0) for t in ends]
    normals = list(np.eye(3))
    for (f0, *before), (f1, *after) in pairwise(rows):
        for column, first, last in zip((1, 2, 2), before, after, strict=True):
            normal = np.zeros(3)
            normal[[0, column]] = first - last, f1 - f0
            normals += [normal, normal * [-1.0, 1.0, 1.0]][: 2 if column == 1 else 1]
    # Parallel normals, which occur where a range does not change, count once. Without
    # `return_index`, `unique` imports masked arrays.
    rounded = np.round(unit(normals), 12)
    axes = rounded[np.unique(rounded, axis=0, return_index=True)[1]]
    return Limit(
        Hinges(axes=np.asarray(data["axes"], np.float64)),
        KDop.fit(np.array(corners), axes=axes, along="chart"),
    )


# Wrist, ankle, trunk and collarbone: convex regions with a half axis for either sign.


def end_limit(role: str, data: Mapping[str, Any]) -> Limit:
    """Return the limit of a hand or foot: a region of its swing, and an interval of its twist.

    Coordinates of the swing are flexion and ulnar deviation of a left hand, plantarflexion and
    eversion of a left foot. `tilt` turns the region's axes from the first to the second.
    """
    tilt = np.radians(data.get("tilt", 0.0))
    axes = np.array([[np.cos(tilt), np.sin(tilt)], [-np.sin(tilt), np.cos(tilt)]])
    angles = np.pi / PLANE_AXES * np.arange(PLANE_AXES)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    swing = superellipsoid(data, normals, axes)
    bone = BONE_DIRECTIONS.get(role, BONE_DIRECTIONS["leftLowerLeg"])
    low, high = np.radians(data["twist"])
    return Limit(SwingTwist(axis=bone), Product(swing, low, high))


def trunk_limit(data: Mapping[str, Any]) -> Limit:
    """Return the limit of rotation vectors (x, y, z)."""
    normals = unit(np.array(FACES + CORNERS + EDGES, np.float64))
    return Limit(RotationVector(), superellipsoid(data, normals, np.eye(3)))


def superellipsoid(data: Mapping[str, Any], normals: Vectors, axes: Floats) -> KDop:
    """Return a k-DOP around Σ |x_i / r_i|^p ≤ 1, with x along `axes`.

    `radii` has the half axes (low, high) below and above 0, low negative; p is `exponent`. The face
    across the unit normal n has the distance (Σ |r_i n_i|^q)^(1/q), 1/p + 1/q = 1, with r_i by the
    sign of n_i.
    """
    low, high = np.abs(np.radians(data["radii"])).T
    q = data["exponent"] / (data["exponent"] - 1.0)

    def support(directions: Vectors) -> Scalars:
        radii = np.where(directions > 0.0, high, low)
        return np.asarray(np.linalg.norm(radii * directions, ord=q, axis=-1))

    return KDop(normals @ axes, -support(-normals), support(normals))


def unit(vectors: Any) -> Vectors:
    """Return vectors (..., 3) or (..., 2) scaled to length 1."""
    vectors = np.asarray(vectors, np.float64)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


# Published ranges, with which the limits are compared.


@dataclass(frozen=True)
class PublishedRange:
    """A published range along one clinical axis, in degrees."""

    joint: str
    """Role of the joint."""
    motion: str
    start: tuple[tuple[float, float, float], ...]
    """Rotation vectors, applied last to first, that give the starting rotation."""
    about: tuple[float, float, float]
    """Axis of the motion in the parent's frame."""
    mean: float
    sd: float
    sd_is_stated: bool
    """True if no SD is published, so that `sd` is ours."""
    source: str
    status: str
    """V: read in the source. S: from a secondary source. M: from memory, to be checked."""
    any_rotation: bool = False
    """True if the limb may rotate about its bone on the way, as in raising an arm."""
    exception: float = 0.0
    """How much farther the possible range may end."""
    reason: str = ""
    """Source of the exception."""

    @property
    def farthest(self) -> float:
        """Greatest end that the possible range may have."""
        return self.mean + 2.0 * self.sd + MARGIN_DEG + min(self.exception, EXCEPTION_DEG)


@cache
def published_ranges() -> tuple[PublishedRange, ...]:
    """Return one published range for each clinical axis."""
    data = envelope_data()
    return tuple(
        PublishedRange(
            **{
                **row,
                "start": tuple(map(tuple, row["start"])),
                "about": tuple(row["about"]),
                "source": data["sources"][row["source"]],
            }
        )
        for row in data["published"]
    )
