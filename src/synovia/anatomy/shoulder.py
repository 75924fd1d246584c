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
    Component,
    Control,
    Curve,
    Dependency,
    Figure,
    JointCone,
    JointSet,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
    Scapula,
    Translation,
)
from ..shapes import ReachCone
from ..skeleton import Skeleton
from .part import SIDES, Part, join, load_tables

BONES = {"Clavicle": "clavicle", "Scapula": "scapula", "UpperArm": "arm"}
CONTROLS = ("flexion", "abduction", "twist", "elevation", "protraction")
RHYTHM = ("elevation", "protraction", "rotation", "scapula")
"""Angles that follow the arm: three of the clavicle (`rotation` is backward), then the scapula's
rotation about the normal of its plane."""
DOWN = np.array([0.0, -1.0, 0.0])
ISB_AXES = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of the right arm's cone whose angles are minus the plane of elevation and minus the
elevation (Wu et al. 2005)."""

Parts = dict[str, Component]
Wires = dict[str, str]


def shoulder(side: str, height: float = 1.75) -> Part:
    """Return the shoulder of one side, in metres, for a person of this `height`.

    Its clavicle hangs on the segment "Sternum", whose frame is at the jugular notch. The controls
    of the set "left_shoulder" or "right_shoulder" are degrees: flexion, abduction and twist of the
    upper arm (lateral is above 0), elevation and protraction of the clavicle.
    """
    if side not in SIDES:
        raise ValueError(f"side must be one of {', '.join(SIDES)}, got {side!r}")
    if not 0.0 < height < np.inf:
        raise ValueError(f"height must be above 0 metres, got {height}")
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
    arms = [replace(each, ends={list(each.parents)[-1]: [scale * elbow]}) for each in sides]
    return join(sternum, *arms, name="shoulders")


def shoulder_shao_2003() -> Figure:
    """Return the right shoulder of Shao & Ng-Thow-Hing (2003), in the frame of its scapula.

    The controls go from -1 to 1, which stand for -180 to 180 degrees. What the paper does not
    publish is ours, and marked so in shoulder.toml.
    """
    data = load_tables("shoulder")["source"]
    places = data["places"]
    names = (data["parent"], *(f"Right{bone}" for bone in BONES))
    offsets = np.array([[0.0, 0.0, 0.0], *(places[place] for place in BONES.values())], dtype=float)
    elbow = np.array([places["elbow"]], dtype=float)
    skeleton = Skeleton(names, np.arange(-1, 3), offsets, (), np.array([3]), elbow)
    return Figure(skeleton, {"right_shoulder": _joint_set(data, 1.0)}, "shoulder_shao_2003")


def _joint_set(data: dict[str, Any], scale: float) -> JointSet:
    """Return the right side's joint set: the three parts, wired into one network."""
    parts: Parts = {}
    wires: Wires = {}
    for build in (_controls, _arm, _rhythm, _clavicle, _scapula):
        more, between = build(data, scale)
        parts |= more
        wires |= between
    outputs = {
        "RightClavicle": "clavicle_cone.matrix",
        "RightScapula": "scapula.matrix",
        "RightUpperArm": "arm.matrix",
    }
    ranges = {}
    for name in CONTROLS:
        low, high = data["controls"][name]["range"]
        ranges[name] = Control(low, high, unit=data["controls"][name]["unit"])
    return JointSet(Network(parts, wires, outputs, CONTROLS), ranges)


def _controls(data: dict[str, Any], scale: float) -> tuple[Parts, Wires]:
    """Return one mapping a control, to its angle in radians."""
    parts: Parts = {}
    for name in CONTROLS:
        control = data["controls"][name]
        low, high = control["range"]
        start, end = control.get("degrees", control["range"])
        parts[name] = OneToMany({"angle": Curve.linear((low, start), (high, end), y_scale=DEGREE)})
    return parts, {f"{name}.value": name for name in CONTROLS}


def _arm(data: dict[str, Any], scale: float) -> tuple[Parts, Wires]:
    """Return part 1 of the paper, for the scapulo-humeral joint.

    The arm is abducted first and then flexed, brought into its cone, and freed of the turns of
    scapula and clavicle: its cone stands in the thorax.
    """
    centers = data["abduction_centers"]
    axes = data["axes"]
    bounds = np.array(centers["bounds"]) * DEGREE
    middles = scale * np.array(centers["centers"], dtype=float)
    turn_axes = np.array([axes["flexion"], axes["abduction"]], dtype=float)
    cone_axes = ISB_AXES if "rhythm" in data else turn_axes
    parts: Parts = {
        "flex": Rotation(turn_axes[0]),
        "abduct": Rotation(turn_axes[1], bounds, middles),
        "arm_turn": MatrixProduct(("flexion", "abduction")),
        "arm_cone": JointCone(_arm_cone(data), DOWN, axes=cone_axes, towards=data["towards"]),
        "without_scapula": Compensation(),
        "without_clavicle": Compensation(),
        "arm": MatrixProduct(("scapula", "clavicle", "cone")),
    }
    wires = {
        "flex.angle": "flexion.angle",
        "abduct.angle": "abduction.angle",
        "arm_turn.flexion": "flex.matrix",
        "arm_turn.abduction": "abduct.matrix",
        "arm_cone.matrix": "arm_turn.matrix",
        "arm_cone.twist": "twist.angle",
        "without_scapula.ancestor": "scapula.matrix",
        "without_clavicle.ancestor": "clavicle_cone.matrix",
        "arm.scapula": "without_scapula.matrix",
        "arm.clavicle": "without_clavicle.matrix",
        "arm.cone": "arm_cone.matrix",
    }
    return parts, wires


def _rhythm(data: dict[str, Any], scale: float) -> tuple[Parts, Wires]:
    """Return the curves of RHYTHM over the arm's elevation, if the table has them.

    Elevation backwards and across the chest counts up to a bound that depends on its plane.
    """
    if "rhythm" not in data:
        return {}, {}
    table, planes = data["rhythm"], data["rhythm_planes"]
    bound = Curve(planes["plane"], planes["elevation"], x_scale=-1.0 / DEGREE, y_scale=-DEGREE)
    curves = {
        name: Curve(
            table["arm_elevation"], table[name], "spline", x_scale=-1.0 / DEGREE, y_scale=DEGREE
        )
        for name in RHYTHM
    }
    parts: Parts = {"raised": Dependency(lower=bound), "rhythm": OneToMany(curves)}
    wires = {
        "raised.driver": "arm_cone.first",
        "raised.value": "arm_cone.second",
        "rhythm.value": "raised.value",
    }
    return parts, wires


def _clavicle(data: dict[str, Any], scale: float) -> tuple[Parts, Wires]:
    """Return part 2 of the paper, for the sterno-clavicular joint.

    The angles of the controls are bounded by the arm's, as in the paper, or added to the rhythm's.
    """
    parts: Parts = {}
    wires: Wires = {}
    axes = np.array([data["axes"][name] for name in ("elevation", "protraction")], dtype=float)
    factors: list[str] = []
    for name, axis in zip(("elevation", "protraction"), axes, strict=True):
        angles = [f"{name}.angle"]
        if "rhythm" in data:
            angles.append(f"rhythm.{name}")
        else:
            bounded, between = _bounds(data[f"clavicle_{name}"], name, angles.pop())
            parts |= bounded
            wires |= between
            angles.append(f"{list(bounded)[-1]}.value")
        for angle in angles:
            factors.append(f"clavicle_{name}" + ("_rhythm" if angle.startswith("rhythm") else ""))
            parts[factors[-1]] = Rotation(axis)
            wires[f"{factors[-1]}.angle"] = angle
            wires[f"clavicle_turn.{factors[-1]}"] = f"{factors[-1]}.matrix"
    rest = np.array(data["places"]["scapula"], dtype=float)
    parts |= {
        "clavicle_turn": MatrixProduct(tuple(factors)),
        "clavicle_cone": JointCone(_clavicle_cone(data, rest), rest, axes=axes),
    }
    wires["clavicle_cone.matrix"] = "clavicle_turn.matrix"
    if "rhythm" in data:
        wires["clavicle_cone.twist"] = "rhythm.rotation"
    return parts, wires


def _bounds(table: dict[str, Any], name: str, angle: str) -> tuple[Parts, Wires]:
    """Return dependencies that keep an angle between the table's curves of the arm's angles."""
    curves = {
        side: _degree_curve(table["driver"], table[side])
        for side in ("lower", "upper")
        if side in table
    }
    parts: Parts = {}
    wires: Wires = {}
    for driver in table["follows"]:
        step = f"{name}_by_{driver}"
        parts[step] = Dependency(**curves)
        wires |= {f"{step}.driver": f"{driver}.angle", f"{step}.value": angle}
        angle = f"{step}.value"
    return parts, wires


def _scapula(data: dict[str, Any], scale: float) -> tuple[Parts, Wires]:
    """Return part 3 of the paper, for the acromio-clavicular joint and the thorax.

    The clavicle's turn is undone, the scapula turns about its normal with the arm, then onto the
    ellipsoid, which stands in the sternum's frame, moved to the sterno-clavicular joint.
    """
    plate = data["scapula"]
    acromion = scale * np.array(data["places"]["scapula"], dtype=float)
    parts: Parts = {}
    wires: Wires = {}
    angle = "rhythm.scapula"
    if "rhythm" not in data:
        rule = data["scapula_rotation"]
        curve = _degree_curve(rule["driver"], rule["exact"])
        parts["scapula_by_abduction"] = Dependency(exact=curve)
        wires["scapula_by_abduction.driver"] = "abduction.angle"
        angle = "scapula_by_abduction.value"
    parts |= {
        "swivel": Rotation(data["axes"]["scapula"]),
        "upright": Compensation(),
        "acromion": Translation(acromion),
        "scapula_place": MatrixProduct(("clavicle", "acromion", "upright", "swivel")),
        "lift": OneToMany({"share": _share_curve(plate["lift"])}),
        "rotated": OneToMany({"share": _share_curve(plate["rotation"])}),
        "onto_thorax": _ellipsoid(plate, acromion, scale),
        "scapula": MatrixProduct(("upright", "swivel", "onto")),
    }
    wires |= {
        "swivel.angle": angle,
        "upright.ancestor": "clavicle_cone.matrix",
        "scapula_place.clavicle": "clavicle_cone.matrix",
        "scapula_place.acromion": "acromion.matrix",
        "scapula_place.upright": "upright.matrix",
        "scapula_place.swivel": "swivel.matrix",
        "lift.value": "clavicle_cone.first",
        "rotated.value": angle,
        "onto_thorax.matrix": "scapula_place.matrix",
        "onto_thorax.lift": "lift.share",
        "onto_thorax.rotation": "rotated.share",
        "scapula.upright": "upright.matrix",
        "scapula.swivel": "swivel.matrix",
        "scapula.onto": "onto_thorax.matrix",
    }
    return parts, wires


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


def _share_curve(ends: list[float]) -> Curve:
    """Return the curve from 0 to 1 between two angles, written in degrees."""
    low, high = ends
    return Curve.linear((low, 0.0), (high, 1.0), x_scale=1.0 / DEGREE)
