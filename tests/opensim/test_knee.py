"""A knee of spline components agrees with OpenSim's CustomJoint with SimmSplines."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import ground_transforms, opensim

from synovia.components import Curve, MatrixProduct, Network, OneToMany, Rotation, Translation

ANGLES = 10_000
KNOTS = np.radians(np.arange(0.0, 121.0, 10.0))
# Rajagopal et al. 2016, `walker_knee_r`, after Walker 1988; degrees and millimetres.
INWARD = [0, 3.41, 6.27, 8.63, 10.54, 12.04, 13.18, 14.00, 14.55, 14.88, 15.04, 15.06, 14.99]
ADDUCTED = [0, 0.73, 1.30, 1.70, 1.90, 1.92, 1.77, 1.48, 1.08, 0.65, 0.25, -0.03, -0.10]
UP = [0, 0.479, 0.835, 1.086, 1.251, 1.346, 1.391, 1.403, 1.400, 1.400, 1.421, 1.481, 1.599]
SIDEWAYS = [0, 0.988, 1.899, 2.734, 3.492, 4.173, 4.777, 5.305, 5.756, 6.130, 6.427, 6.648, 6.792]
WALKER = {
    "adduct": (KNOTS, np.radians(ADDUCTED)),
    "turn": (KNOTS, np.radians(INWARD)),
    "y": (KNOTS, 1e-3 * np.array(UP)),
    "z": (KNOTS, 1e-3 * np.array(SIDEWAYS)),
}
# gait2392, after Yamaguchi and Zajac; knots of unequal width, two sets of them.
PLANAR = {
    "x": (
        np.radians([-120.0, -100.0, -80.0, -60.0, -40.0, -20.0, -10.0]),
        np.array([-0.0032, 0.00179, 0.00411, 0.0041, 0.00212, -0.001, -0.0031]),
    ),
    "y": (
        np.radians([-120.0, -70.0, -30.0, -20.0, -10.0]),
        np.array([-0.4226, -0.4082, -0.399, -0.3976, -0.3966]),
    ),
}
AXES = {"flex": [0.0, 0.0, 1.0], "adduct": [1.0, 0.0, 0.0], "turn": [0.0, 1.0, 0.0]}
SHIFTS = ("x", "y", "z")


def synovia_knee(splines):
    """Return the knee as a network: one mapping, three rotations and a translation."""
    curves = {"flex": Curve.linear((-1.0, -1.0), (1.0, 1.0), beyond="extend")}
    curves |= {name: Curve(x, y, "spline", beyond="extend") for name, (x, y) in splines.items()}
    turns = [name for name in AXES if name in curves]
    parts = {"map": OneToMany(curves), "slide": Translation()}
    parts |= {name: Rotation(AXES[name]) for name in turns}
    parts["knee"] = MatrixProduct(("slide", *turns))
    wires = {"map.value": "angle", "knee.slide": "slide.matrix"}
    wires |= {f"{name}.angle": f"map.{name}" for name in turns}
    wires |= {f"knee.{name}": f"{name}.matrix" for name in turns}
    wires |= {f"slide.{shift}": f"map.{shift}" for shift in SHIFTS if shift in curves}
    return Network(parts, wires, {"tibia": "knee.matrix"})


def opensim_knee(splines):
    """Return the same knee in OpenSim: model, joint and tibia."""

    def function(name):
        if name == "flex":
            return opensim.LinearFunction(1.0, 0.0)
        if name not in splines:
            return opensim.Constant(0.0)
        spline = opensim.SimmSpline()
        for x, y in zip(*splines[name], strict=True):
            spline.addPoint(float(x), float(y))
        return spline

    transform = opensim.SpatialTransform()
    shifts = dict(zip(SHIFTS, np.eye(3).tolist(), strict=True))
    for number, (name, axis) in enumerate((AXES | shifts).items()):
        along = transform.updTransformAxis(number)
        along.setAxis(opensim.Vec3(*axis))
        if name == "flex" or name in splines:
            names = opensim.ArrayStr()
            names.append("angle")
            along.setCoordinateNames(names)
        along.set_function(function(name))  # a copy
    model = opensim.Model()
    tibia = opensim.Body("tibia", 1.0, opensim.Vec3(0.0), opensim.Inertia(1.0, 1.0, 1.0))
    model.addBody(tibia)
    joint = opensim.CustomJoint("knee", model.getGround(), tibia, transform)
    model.addJoint(joint)
    return model, joint, tibia


@pytest.mark.parametrize("splines", [WALKER, PLANAR], ids=["walker", "planar"])
def test_the_knee_agrees_with_opensim(splines):
    first = next(iter(splines.values()))[0]
    angles = np.linspace(first[0] - 0.3, first[-1] + 0.3, ANGLES)  # beyond the ends too
    matrices = synovia_knee(splines)({"angle": angles})["tibia"]
    expected = ground_transforms(*opensim_knee(splines), angles[:, None])
    between = np.swapaxes(expected[:, :3, :3], 1, 2) @ matrices[:, :3, :3]
    skew = between - np.swapaxes(between, 1, 2)
    angle = np.arcsin(np.clip(np.linalg.norm(skew, axis=(1, 2)) / 8**0.5, 0.0, 1.0))
    distance = np.linalg.norm(expected[:, :3, 3] - matrices[:, :3, 3], axis=-1)
    print(f"off by {angle.max():.1e} rad and {distance.max():.1e} m over {ANGLES} angles")
    assert angle.max() < 1e-6
    assert distance.max() < 1e-6
    assert np.ptp(expected[:, :3, 3], axis=0).max() > 1e-3  # the knee slides


def test_splines_with_few_knots_agree_with_opensim():
    rng = np.random.default_rng(2)
    for count in (2, 3, 4, 5, 9):
        x = np.cumsum(rng.uniform(0.1, 1.0, count))
        y = rng.normal(size=count)
        spline = opensim.SimmSpline()
        for one, other in zip(x, y, strict=True):
            spline.addPoint(float(one), float(other))
        at = np.linspace(x[0] - 0.5, x[-1] + 0.5, 500)
        expected = [spline.calcValue(opensim.Vector(1, float(x))) for x in at]
        assert np.abs(Curve(x, y, "spline", beyond="extend")(at) - expected).max() < 1e-12
