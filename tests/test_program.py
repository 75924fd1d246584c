"""Programs of components: batches, and components in Python among compiled ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from synovia import Figure, human
from synovia.anatomy.shoulder import shoulders
from synovia.components import ArrayComponent, Component, JointSet
from synovia.components.program import POSES
from synovia.kernels import scapula

BODY = human()


def anywhere(body, n):
    low, high = np.array([(each.low, each.high) for each in body.controls.values()]).T
    return np.random.default_rng(n).uniform(low, high, size=(n, len(low)))


def test_a_large_batch_is_what_its_poses_are_by_themselves():
    table = anywhere(BODY, 5 * POSES + 7)
    posed = BODY.pose(table)
    for k in (0, 1, POSES, 3 * POSES - 1, len(table) - 1):
        alone = BODY.pose(table[k])
        assert np.abs(alone.rotations - posed.rotations[k]).max() < 1e-15
        assert np.abs(alone.positions - posed.positions[k]).max() < 1e-15


@dataclass(frozen=True, eq=False)
class InPython(ArrayComponent):
    """Another component, evaluated in Python."""

    component: Component

    @property
    def inputs(self):
        return self.component.inputs

    @property
    def outputs(self):
        return self.component.outputs

    @property
    def defaults(self):
        return self.component.defaults

    def evaluate(self, *values):
        named = dict(zip(self.inputs, values, strict=True))
        return tuple(self.component(**named).values())


@pytest.mark.parametrize("every", [1, 2])
def test_components_in_python_give_the_same_poses(every):
    table = anywhere(BODY, 1100)
    sets = {}
    for name, joint_set in BODY.joint_sets.items():
        parts = list(joint_set.network.components.items())
        part = {each: InPython(component) for each, component in parts[::every]}
        network = replace(joint_set.network, components={**joint_set.network.components, **part})
        sets[name] = replace(joint_set, network=network)
    posed, again = BODY.pose(table), replace(BODY, joint_sets=sets).pose(table)
    assert np.abs(posed.rotations - again.rotations).max() < 1e-14
    assert np.abs(posed.positions - again.positions).max() < 1e-14


def test_gaps_of_a_large_batch_are_told():
    body = shoulders()
    set_of = body.joint_sets["right_shoulder"]
    parts = set_of.network.components
    small = replace(parts["onto_thorax"], radii=0.05 * parts["onto_thorax"].radii)
    network = replace(set_of.network, components={**parts, "onto_thorax": small})
    sets = {**body.joint_sets, "right_shoulder": JointSet(network, set_of.controls)}
    torn = Figure(body.skeleton, sets)
    table = anywhere(torn, 1024)
    posed = torn.pose(table)
    (name,) = posed.gaps
    assert name == "right_shoulder.onto_thorax.gap"
    for k in (0, 700):
        assert posed.gaps[name][k] == pytest.approx(torn.pose(table[k]).gaps[name], abs=1e-12)


def waves(n, seed):
    """Circles of all sizes about the unit ball: many meet it, some miss it, some touch it."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n, 3)) * rng.uniform(0.05, 1.5, size=(3, n, 1))
    k = np.stack([
        (a * a).sum(1) + 0.5 * ((b * b).sum(1) + (c * c).sum(1)) - 1.0,
        2.0 * (a * b).sum(1),
        2.0 * (a * c).sum(1),
        0.5 * ((b * b).sum(1) - (c * c).sum(1)),
        (b * c).sum(1),
    ])  # fmt: skip
    k[0, ::7] -= k[0, ::7] + k[1, ::7] + k[3, ::7]  # on the ball already
    k[0, 1::7] = lowest(k[:, 1::7])  # touches it
    return k


def height(k, t):
    t = np.asarray(t)[..., None]
    rows = [np.ones_like(t), np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)]
    return sum(row * each for row, each in zip(rows, k, strict=True))


def lowest(k):
    """k₀ that makes the least value 0."""
    level = height(k, np.linspace(-np.pi, np.pi, 20001)).min(axis=0)
    return k[0] - level


def test_circles_meet_the_ball_where_a_search_all_over_finds_them():
    t = np.linspace(0.0, np.pi, 4001)
    for seed in range(6):
        n = 96 if seed else 5
        k = waves(n, seed)
        roots = [scapula.nearest_root(scapula.Harmonics(*harmonics)) for harmonics in k.T]
        found, off = np.transpose(roots)
        ahead, behind = height(k, t), height(k, -t)
        start = np.sign(ahead[0])
        for i in range(n):
            if abs(ahead[0, i]) <= 1e-12:
                assert found[i] == 0.0
                continue
            crossed = (start[i] * ahead[:, i] <= 0.0) | (start[i] * behind[:, i] <= 0.0)
            first = t[crossed.argmax()] if crossed.any() else np.inf
            if off[i] > 0.0:  # it is nowhere on the ball
                assert first == np.inf
                nearest = np.abs(np.concatenate([ahead[:, i], behind[:, i]])).min()
                assert abs(height(k[:, i : i + 1], found[i])[0]) <= nearest + 1e-9
            else:
                assert abs(height(k[:, i : i + 1], found[i])[0]) < 1e-9
                assert abs(found[i]) <= first + 1e-6
                assert abs(found[i]) > first - 2e-3 or first == np.inf
