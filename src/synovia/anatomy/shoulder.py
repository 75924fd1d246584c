"""The shoulder: five controls move clavicle, scapula and upper arm, in three parts.

The parts are those of Shao & Ng-Thow-Hing (2003). The numbers are in shoulder.toml, for the right
side; the left is its mirror.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Vectors
from ..components import (
    DEGREE,
    Compensation,
    Control,
    Curve,
    Dependency,
    Figure,
    JointCone,
    JointSet,
    OneToMany,
    Rotation,
    Scapula,
    Translation,
)
from ..shapes import ReachCone
from ..skeleton import Skeleton
from .part import SIDES, Part, Wiring, join, load_tables

BONES = {"Clavicle": "clavicle", "Scapula": "scapula", "UpperArm": "arm"}
CONTROLS = ("flexion", "abduction", "twist", "elevation", "protraction")
RHYTHM = ("elevation", "protraction", "rotation", "scapula")
"""Angles that follow the arm: three of the clavicle (`rotation` is backward), then the scapula's
rotation about the normal of its plane."""
DOWN = np.array([0.0, -1.0, 0.0])
ISB_AXES = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of the right arm's cone whose angles are minus the plane of elevation and minus the
elevation (Wu et al. 2005)."""


def shoulder(side: str, height: float = 1.75) -> Part:
    """Return the shoulder of one side, in metres, for a person of this `height`.

    Its clavicle hangs on the segment "Sternum", whose frame is at the jugular notch. The controls
    of the set "left_shoulder" or "right_shoulder" are degrees: flexion, abduction and twist of the
    upper arm (lateral is above 0), elevation and protraction of the clavicle.
    """
    data = load_tables("shoulder")["human"]
    scale = height / data["height"]
    chain = [data["parent"], *(f"Right{bone}" for bone in BONES)]
    right = Part(
        dict(zip(chain[1:], chain[:-1], strict=True)),
        {f"Right{bone}": scale * np.array(data["places"][at]) for bone, at in BONES.items()},
        {"right_shoulder": _joint_set(data, scale)},
    )
    return right if side == "Right" else right.mirror()


def shoulders(height: float = 1.75) -> Figure:
    """Return both shoulders alone, on a sternum, in metres: the figure that plates of them show."""
    data = load_tables("shoulder")["human"]
    scale = height / data["height"]
    notch, tip, elbow = np.zeros(3), np.array([0.0, -0.2, 0.03]), np.array(data["places"]["elbow"])
    sternum = Part({"Sternum": None}, {"Sternum": notch}, {}, {"Sternum": [scale * tip]})
    sides = [shoulder(side, height) for side in SIDES]
    arms = [replace(arm, ends={list(arm.parents)[-1]: [scale * elbow]}) for arm in sides]
    return join(sternum, *arms, name="shoulders")


def shoulder_shao_2003() -> Figure:
    """Return the right shoulder of Shao & Ng-Thow-Hing (2003), in the frame of its scapula.

    The controls go from -1 to 1, which stand for -180 to 180 degrees. What the paper does not
    publish is ours, and marked so in shoulder.toml.
    """
    data = load_tables("shoulder")["source"]
    places = data["places"]
    names = (data["parent"], *(f"Right{bone}" for bone in BONES))
    offsets = np.array([[0.0, 0.0, 0.0], *(places[name] for name in BONES.values())], dtype=float)
    elbow = np.array([places["elbow"]], dtype=float)
    skeleton = Skeleton(names, np.arange(-1, 3), offsets, (), np.array([3]), elbow)
    return Figure(skeleton, {"right_shoulder": _joint_set(data, 1.0)}, "shoulder_shao_2003")


def _joint_set(data: dict[str, Any], scale: float) -> JointSet:
    """Return the right side's joint set: the three parts, wired into one network."""
    wiring = Wiring()
    ranges = {}
    for name in CONTROLS:
        control = data["controls"][name]
        low, high = control["range"]
        start, end = control.get("degrees", (low, high))
        angle = OneToMany({"angle": Curve.linear((low, start), (high, end), y_scale=DEGREE)})
        wiring.add(name, angle, name)
        ranges[name] = Control(low, high, unit=control["unit"])
    for add in (_add_arm, _add_rhythm, _add_clavicle, _add_scapula):
        add(wiring, data, scale)
    outputs = {
        "RightClavicle": "clavicle_cone",
        "RightScapula": "scapula",
        "RightUpperArm": "arm",
    }
    return JointSet(wiring.network(outputs, CONTROLS), ranges)


def _add_arm(wiring: Wiring, data: dict[str, Any], scale: float) -> None:
    """Add part 1 of the paper, for the scapulo-humeral joint.

    The arm is abducted first and then flexed, brought into its cone, and freed of the rotations of
    scapula and clavicle: its cone stands in the thorax.
    """
    centers = scale * np.array(data["abduction_centers"]["centers"], dtype=float)
    bounds = np.array(data["abduction_centers"]["bounds"]) * DEGREE
    axes = np.array([data["axes"]["flexion"], data["axes"]["abduction"]], dtype=float)
    cone_axes = ISB_AXES if "rhythm" in data else axes
    cone = JointCone(_arm_cone(data), DOWN, axes=cone_axes, towards=data["towards"])
    wiring.add("flex", Rotation(axes[0]), "flexion.angle")
    wiring.add("abduct", Rotation(axes[1], bounds, centers), "abduction.angle")
    wiring.multiply("arm_turn", "flex", "abduct")
    wiring.add("arm_cone", cone, "arm_turn.matrix", "twist.angle")
    wiring.add("without_scapula", Compensation(), "scapula.matrix")
    wiring.add("without_clavicle", Compensation(), "clavicle_cone.matrix")
    wiring.multiply("arm", "without_scapula", "without_clavicle", "arm_cone")


def _add_rhythm(wiring: Wiring, data: dict[str, Any], scale: float) -> None:
    """Add the curves of RHYTHM over the arm's elevation, if the table has them.

    Elevation backwards and across the chest counts up to a bound that depends on its plane.
    """
    if "rhythm" not in data:
        return
    table, planes = data["rhythm"], data["rhythm_planes"]
    bound = Curve(planes["plane"], planes["elevation"], x_scale=-1.0 / DEGREE, y_scale=-DEGREE)
    curves = {
        name: Curve(
            table["arm_elevation"], table[name], "spline", x_scale=-1.0 / DEGREE, y_scale=DEGREE
        )
        for name in RHYTHM
    }
    wiring.add("raised", Dependency(lower=bound), "arm_cone.first", "arm_cone.second")
    wiring.add("rhythm", OneToMany(curves), "raised.value")


def _add_clavicle(wiring: Wiring, data: dict[str, Any], scale: float) -> None:
    """Add part 2 of the paper, for the sterno-clavicular joint.

    The angles of the controls are bounded by the arm's, as in the paper, or added to the rhythm's.
    """
    axes = np.array([data["axes"][name] for name in ("elevation", "protraction")], dtype=float)
    factors: list[str] = []
    for name, axis in zip(("elevation", "protraction"), axes, strict=True):
        rotation, angle = f"clavicle_{name}", f"{name}.angle"
        if "rhythm" not in data:
            angle = _add_bounds(wiring, data[rotation], name, angle)
        wiring.add(rotation, Rotation(axis), angle)
        factors.append(rotation)
        if "rhythm" in data:
            factors.append(f"{rotation}_rhythm")
            wiring.add(factors[-1], Rotation(axis), f"rhythm.{name}")
    wiring.multiply("clavicle_turn", *factors)
    rest = np.array(data["places"]["scapula"], dtype=float)
    twist = ["rhythm.rotation"] if "rhythm" in data else []
    cone = JointCone(_clavicle_cone(data, rest), rest, axes=axes)
    wiring.add("clavicle_cone", cone, "clavicle_turn.matrix", *twist)


def _add_bounds(wiring: Wiring, table: dict[str, Any], name: str, angle: str) -> str:
    """Keep an angle between the table's curves of the arm's angles; return the bounded angle."""
    curves = {
        side: _degree_curve(table["driver"], table[side])
        for side in ("lower", "upper")
        if side in table
    }
    for driver in table["follows"]:
        wiring.add(f"{name}_by_{driver}", Dependency(**curves), f"{driver}.angle", angle)
        angle = f"{name}_by_{driver}.value"
    return angle


def _add_scapula(wiring: Wiring, data: dict[str, Any], scale: float) -> None:
    """Add part 3 of the paper, for the acromio-clavicular joint and the thorax.

    The clavicle's rotation is undone, the scapula turns about its normal with the arm, then onto
    the ellipsoid, which stands in the sternum's frame, moved to the sterno-clavicular joint.
    """
    plate = data["scapula"]
    acromion = scale * np.array(data["places"]["scapula"], dtype=float)
    angle = "rhythm.scapula"
    if "rhythm" not in data:
        rule = data["scapula_rotation"]
        curve = _degree_curve(rule["driver"], rule["exact"])
        wiring.add("scapula_by_abduction", Dependency(exact=curve), "abduction.angle")
        angle = "scapula_by_abduction.value"
    lift, rotated = (  # shares from 0 to 1 between two angles, written in degrees
        OneToMany({"share": Curve.linear((low, 0.0), (high, 1.0), x_scale=1.0 / DEGREE)})
        for low, high in (plate["lift"], plate["rotation"])
    )
    wiring.add("swivel", Rotation(data["axes"]["scapula"]), angle)
    wiring.add("upright", Compensation(), "clavicle_cone.matrix")
    wiring.add("acromion", Translation(acromion))
    wiring.multiply("scapula_place", "clavicle_cone", "acromion", "upright", "swivel")
    wiring.add("lift", lift, "clavicle_cone.first")
    wiring.add("rotated", rotated, angle)
    ellipsoid, sources = _ellipsoid(plate, acromion, scale), ("lift.share", "rotated.share")
    wiring.add("onto_thorax", ellipsoid, "scapula_place.matrix", *sources)
    wiring.multiply("scapula", "upright", "swivel", "onto_thorax")


def _ellipsoid(plate: dict[str, Any], acromion: Vectors, scale: float) -> Scapula:
    """Return the constraint; if the data says so, its points are brought to the ellipsoid."""
    center, radii = scale * np.array(plate["center"]), scale * np.array(plate["radii"])
    pairs = scale * np.array(plate["pairs"], dtype=float)
    if plate["on_ellipsoid"]:
        out = pairs + acromion - center
        out /= np.linalg.norm(out / radii, axis=-1, keepdims=True)
        pairs = out + center - acromion
    return Scapula(center, radii, np.array(plate["axis"], dtype=float), pairs)


def _arm_cone(data: dict[str, Any]) -> ReachCone:
    """Return the right arm's cone: directions by their plane and height, with limits of twist."""
    corners = np.array(data["arm_cone"]["corners"], dtype=float)[::-1]  # counter-clockwise
    plane, up, low, high = DEGREE * corners.T
    away = np.stack([-np.cos(plane), np.zeros(len(plane)), np.sin(plane)], axis=-1)
    points = np.cos(up)[:, None] * DOWN + np.sin(up)[:, None] * away
    at_rest = DEGREE * np.array(data["arm_cone"]["rest_twist"], dtype=float)
    return ReachCone(points, low, high, DOWN, *at_rest)


def _clavicle_cone(data: dict[str, Any], rest: Vectors) -> ReachCone:
    """Return the right clavicle's cone; its corners are where elevation and protraction lead."""
    elevation, protraction = DEGREE * np.array(data["clavicle_cone"]["corners"], dtype=float).T
    elevate, protract = (Rotation(data["axes"][name]) for name in ("elevation", "protraction"))
    turns = elevate(angle=elevation)["matrix"] @ protract(angle=protraction)["matrix"]
    points = turns[:, :3, :3] @ (rest / np.linalg.norm(rest))
    return ReachCone(points)


def _degree_curve(x: list[float], y: list[float]) -> Curve:
    """Return a piecewise linear curve of radians, written in degrees."""
    return Curve(np.array(x, float), np.array(y, float), x_scale=1.0 / DEGREE, y_scale=DEGREE)
