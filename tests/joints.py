"""Components to test with, and the plainest way to compute what they do."""

from __future__ import annotations

import numpy as np

from synovia import quat
from synovia.components import (
    DEGREE,
    Compensation,
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
    Scapulothoracic,
    Translation,
)
from synovia.shapes import ReachCone
from synovia.skeleton import Skeleton

CERVICAL = {
    "c7": (-13.2, 5.5),
    "c6": (-7.5, 5.5),
    "c5": (-4.0, 5.5),
    "c4": (-4.6, 5.5),
    "c3": (-8.0, 6.5),
    "c2": (-5.5, 6.5),
    "c1": (-18.5, 6.5),
}
"""Shao & Ng-Thow-Hing's ranges of flexion, degrees for -1 to 1."""
CLAVICLE = Curve([0.0, 60.0, 120.0, 180.0], [-10.0, -6.7, 4.85, 23.0])
"""Shao & Ng-Thow-Hing's least elevation of the clavicle by the arm's abduction, degrees."""
PAIRS = np.array(
    [
        [[8.5, -4.0, -0.3], [8.7, -2.4, -0.1]],
        [[8.2, 0.0, -0.1], [7.5, 2.0, 0.0]],
        [[8.0, 2.0, -0.8], [7.0, 3.0, -0.6]],
    ]
)
"""Shao & Ng-Thow-Hing's pairs of points on the right scapula, in its units."""


def round_cone(radius=0.8, low=-0.5, high=0.7, points=8):
    around = 2.0 * np.pi * np.arange(points) / points
    ring = [np.sin(radius) * np.cos(around), np.sin(radius) * np.sin(around)]
    return ReachCone(np.stack([*ring, np.full(points, np.cos(radius))], axis=1), low, high)


def scapula(**changes):
    """Shao & Ng-Thow-Hing's points and axis on an ellipsoid of ours, centred some way off."""
    given = {
        "center": [6.0, 1.0, -9.0],
        "radii": [9.0, 14.0, 9.5],
        "axis": [0.263, -0.912, 0.314],
        "pairs": PAIRS,
    }
    return Scapula(**{**given, **changes})


EXAMPLES = {
    "product": MatrixProduct(("first", "second", "third")),
    "mapping": OneToMany(
        {
            "line": Curve.linear((-1.0, -13.2), (1.0, 5.5), y_scale=DEGREE),
            "pieces": Curve([-1.0, 0.2, 1.0], [-0.3, 0.1, 0.2]),
            "spline": Curve([-1.0, -0.2, 0.5, 1.3, 2.0], [0.0, 1.0, 0.4, 0.7, 3.0], "spline"),
        }
    ),
    "compensation": Compensation(joint=[0.1, -0.2, 0.3]),
    "rotation": Rotation(
        [1.0, 2.0, -0.5], [-0.7, 0.1, 0.9, 2.0], [[1, 0, 0], [0, 2, 0], [0.3, 0, 1]]
    ),
    "dependency": Dependency(lower=Curve([0.0, 1.0, 2.0], [-0.4, 0.1, 0.3])),
    "joint-cone": JointCone(round_cone(), [0.0, 0.0, 1.0], [0.1, 0.2, -0.3]),
    "scapula": scapula(),
    "translation": Translation([1.0, 2.0, 3.0], [[1, 0, 0], [0.3, 1, 0], [0, 0, 2]]),
    "scapulothoracic": Scapulothoracic([0.08, 0.2, 0.1], [0.05, -0.03], 0.6),
}
"""One of every registered component."""


def random_matrices(shape, rng, spread=1.0):
    matrices = np.zeros((*shape, 4, 4))
    matrices[..., :3, :3] = quat.to_matrix(quat.exp(spread * rng.normal(size=(*shape, 3))))
    matrices[..., :3, 3] = rng.normal(size=(*shape, 3))
    matrices[..., 3, 3] = 1.0
    return matrices


def random_inputs(component, shape, rng):
    """Inputs of the right types, matrices near the identity."""
    makers = {
        "scalar": lambda: rng.uniform(-0.9, 1.2, size=shape),
        "vector": lambda: rng.normal(size=(*shape, 3)),
        "matrix": lambda: random_matrices(shape, rng, 0.4),
    }
    return {name: makers[kind]() for name, kind in component.inputs.items()}


def turn(axis, angle, center=(0.0, 0.0, 0.0)):
    """A turn about an axis through a centre, T⁻¹ Q T, by SciPy's rotations."""
    from scipy.spatial.transform import Rotation as Turn

    axis, center = np.asarray(axis, float), np.asarray(center, float)
    there, turned = np.eye(4), np.eye(4)
    there[:3, 3] = -center
    turned[:3, :3] = Turn.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    return np.linalg.inv(there) @ turned @ there


def neck():
    """Shao & Ng-Thow-Hing's cervical joint set: three controls, seven vertebrae of three turns."""
    rng = np.random.default_rng(5)
    axes = {"flexion": [1.0, 0.0, 0.0], "bend": [0.0, 0.0, 1.0], "twist": [0.0, 1.0, 0.0]}
    components, wires, outputs = {}, {}, {}
    for move in axes:
        ranges = CERVICAL if move == "flexion" else dict.fromkeys(CERVICAL, (-5.0, 5.0))
        components[move] = OneToMany(
            {
                name: Curve.linear((-1.0, low), (1.0, high), y_scale=DEGREE)
                for name, (low, high) in ranges.items()
            }
        )
        wires[f"{move}.value"] = move
    for name in CERVICAL:
        for move, axis in axes.items():
            skew = np.add(axis, rng.normal(scale=0.05, size=3))
            center = rng.normal(scale=0.01, size=(1, 3))
            components[f"{name}-{move}"] = Rotation(skew, [-1.0, 1.0], center)
            wires[f"{name}-{move}.angle"] = f"{move}.{name}"
        components[name] = MatrixProduct(tuple(axes))
        wires |= {f"{name}.{move}": f"{name}-{move}.matrix" for move in axes}
        outputs[name] = f"{name}.matrix"
    return Network(components, wires, outputs)


def shoulder():
    """A small shoulder: clavicle with a bound, scapula compensated, humerus in a cone."""
    components = {
        "clavicle-bound": Dependency(
            lower=Curve(CLAVICLE.x, CLAVICLE.y, x_scale=1 / DEGREE, y_scale=DEGREE)
        ),
        "clavicle": Rotation([0.0, 0.0, 1.0], [-0.5, 1.0]),
        "abduct": Rotation(
            [0.0, 0.0, 1.0],
            np.radians([0.0, 60.0, 180.0]),
            [[-0.373, -0.247, -0.181], [-0.373, 0.449, -0.181]],
        ),
        "flex": Rotation([1.0, 0.0, 0.0], [-1.0, 2.5]),
        "ball": MatrixProduct(("flex", "abduct")),
        "cone": JointCone(round_cone(1.2, -1.0, 1.0), [0.0, 0.0, 1.0]),
        "level": Compensation(),
        "humerus": MatrixProduct(("level", "cone")),
    }
    wires = {
        "clavicle-bound.driver": "abduction",
        "clavicle-bound.value": "elevation",
        "clavicle.angle": "clavicle-bound.value",
        "abduct.angle": "abduction",
        "flex.angle": "flexion",
        "ball.flex": "flex.matrix",
        "ball.abduct": "abduct.matrix",
        "cone.matrix": "ball.matrix",
        "cone.twist": "twist",
        "level.ancestor": "clavicle.matrix",
        "humerus.level": "level.matrix",
        "humerus.cone": "cone.matrix",
    }
    outputs = {"clavicle": "clavicle.matrix", "humerus": "humerus.matrix"}
    return Network(components, wires, outputs)


def figure():
    """A trunk with a neck and an arm; the forearm hangs on it, and a hat floats free."""
    names = ("trunk", *CERVICAL, "clavicle", "humerus", "forearm", "hat")
    parents = [-1, 0, 1, 2, 3, 4, 5, 6, 0, 8, 9, -1]
    offsets = np.array([[0.05, 0.02 * k, 0.01] for k in range(len(names))])
    share = Control(-1.0, 1.0, 0.0, "share")
    return Figure(
        Skeleton(names, parents, offsets),
        {
            "neck": JointSet(neck(), dict.fromkeys(("flexion", "bend", "twist"), share)),
            "shoulder": JointSet(
                shoulder(),
                {
                    "abduction": Control(0.0, np.pi),
                    "elevation": Control(-0.5, 1.0),
                    "flexion": Control(-1.0, 2.5),
                    "twist": Control(-2.0, 2.0),
                },
            ),
        },
        "half a body",
    )
