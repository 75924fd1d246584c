"""Measure figures of components: one pose, a batch, growth of the cost, and reading XML.

python benchmarks/components.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from timing import best

from synovia import Figure, ReachCone, Skeleton, human, load_figure, save_figure
from synovia.components import (
    Compensation,
    Control,
    Curve,
    Dependency,
    JointCone,
    JointSet,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
)

MOVES = ("flexion", "bend", "twist")
BATCH = 10_000


def spine(levels, rng):
    """Return a spine with three controls and `levels` vertebrae of three rotations each."""
    bones = [f"v{k}" for k in range(levels)]
    parts, wires = {}, {}
    for move in MOVES:
        curves = {bone: Curve([-1.0, 0.0, 1.0], rng.normal(scale=0.1, size=3)) for bone in bones}
        parts[move] = OneToMany(curves)
        wires[f"{move}.value"] = move
        for bone in bones:
            axis, center = rng.normal(size=3), rng.normal(scale=0.01, size=(1, 3))
            parts[f"{move}-{bone}"] = Rotation(axis, [-1.0, 1.0], center)
            wires[f"{move}-{bone}.angle"] = f"{move}.{bone}"
            wires[f"{bone}.{move}"] = f"{move}-{bone}.matrix"
    parts |= {bone: MatrixProduct(MOVES) for bone in bones}
    return Network(parts, wires, {bone: f"{bone}.matrix" for bone in bones})


def arm(number):
    """Return a shoulder: a dependent clavicle, and a compensated humerus in a cone of 25 points."""
    around = 2.0 * np.pi * np.arange(25) / 25
    ring = np.stack([np.sin(1.2) * np.cos(around), np.sin(1.2) * np.sin(around)], axis=1)
    cone = ReachCone(np.column_stack([ring, np.full(25, np.cos(1.2))]), -1.0, 1.0)
    parts = {
        "bound": Dependency(lower=Curve([0.0, 1.0, 2.0, 3.0], [-0.2, -0.1, 0.1, 0.4])),
        "clavicle": Rotation([0, 0, 1], [-0.5, 1.0]),
        "abduct": Rotation([0, 1, 0], [0.0, 1.0, 3.0], [[0, 0, 0], [0, 0.1, 0]]),
        "flex": Rotation([1, 0, 0], [-1.0, 2.5]),
        "ball": MatrixProduct(("flex", "abduct")),
        "cone": JointCone(cone, [0, 0, 1]),
        "level": Compensation(),
        "humerus": MatrixProduct(("level", "cone")),
    }
    wires = {
        "bound.driver": "abduction",
        "bound.value": "elevation",
        "clavicle.angle": "bound.value",
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
    bones = {f"clavicle{number}": "clavicle.matrix", f"humerus{number}": "humerus.matrix"}
    return Network(parts, wires, bones)


def figure(levels, arms):
    """Return a figure of a spine and arms."""
    networks = {"spine": spine(levels, np.random.default_rng(levels))}
    networks |= {f"arm{k}": arm(k) for k in range(arms)}
    names = [name for network in networks.values() for name in network.outputs]
    skeleton = Skeleton(tuple(names), np.arange(len(names)) - 1, np.full((len(names), 3), 0.03))
    ranges = {
        name: JointSet(network, {control: Control(-1.0, 1.0) for control in network.controls})
        for name, network in networks.items()
    }
    return Figure(skeleton, ranges)


def line(body, controls):
    """Return the times of a figure; `controls` are those of one pose."""
    count = sum(len(each.network.components) for each in body.joint_sets.values())
    low, high = np.array([(each.low, each.high) for each in body.controls.values()]).T
    batch = np.random.default_rng(0).uniform(low, high, size=(BATCH, len(low)))
    one = best(lambda: [body.pose(controls) for _ in range(20)], 20) / 20
    many = best(lambda: body.pose(batch), 20) / BATCH
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.xml"
        save_figure(body, path)
        read = best(lambda: load_figure(path), 5)
    return (
        f"{count:>10}{1e6 * one:>9.0f} µs{1e6 * one / count:>11.2f} µs{1e6 * many:>9.2f} µs"
        f"{one / many:>8.0f}{1e3 * read:>9.1f} ms"
    )


def main():
    """Print the table."""
    print(f"{'components':>10}{'one pose':>12}{'a component':>14}{'of 10,000':>12}", end="")
    print(f"{'times':>8}{'read':>12}")
    for levels, arms in ((12, 0), (24, 0), (50, 0), (100, 0), (46, 2), (40, 5)):
        controls = {"spine.flexion": 0.3, "spine.bend": -0.2}
        print(f"{line(figure(levels, arms), controls)}   {levels} vertebrae, {arms} arms")
    print(f"{line(human(), {'lumbar.flexion': 20.0, 'left_knee.flexion': 60.0})}   the human")


if __name__ == "__main__":
    main()
