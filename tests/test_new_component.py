"""A component is one file and one line: tests/new/screw.py does all that others do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

from plugins import add, load
from synovia.cli import main
from synovia.components import (
    COMPONENTS,
    ArrayComponent,
    Control,
    Figure,
    JointSet,
    Network,
    clip_of,
    fit_network,
    sweep,
)
from synovia.ik import Reach, SearchSettings, solve_controls
from synovia.io import (
    figure_schema,
    load_clip,
    load_figure,
    load_limits,
    load_network,
    save_figure,
    save_network,
)
from synovia.shapes import ReachCone
from synovia.skeleton import Skeleton, forward


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    add(monkeypatch, COMPONENTS, "screw", Screw)  # the line


Screw = load("components", "screw").Screw
SCREW = Screw([1.0, 2.0, -0.5], (0.1, 0.0, 0.2), 0.3)
NORMAL = np.array([0.6, -0.8, 0.0])


def network(screw=SCREW):
    return Network({"screw": screw}, {"screw.angle": "turn"}, {"nut": "screw.matrix"})


def figure():
    """A bolt that stands still, a nut on it, and a washer on the nut."""
    offsets = np.array([[0.0, 1.0, 0.0], [0.2, 0.0, 0.0], [0.1, 0.3, 0.0]])
    skeleton = Skeleton(("bolt", "nut", "washer"), [-1, 0, 1], offsets)
    sets = {"thread": JointSet(network(), {"turn": Control(-2.0, 2.0)})}
    return Figure(skeleton, sets, "bolt")


def same(one, other):
    table = np.linspace(-2.0, 2.0, 9)[:, None]
    np.testing.assert_array_equal(one.pose(table).rotations, other.pose(table).rotations)
    np.testing.assert_array_equal(one.pose(table).positions, other.pose(table).positions)


def test_it_is_evaluated_for_batches_of_any_shape():
    found = SCREW(angle=np.zeros((2, 3)))
    assert found["matrix"].shape == (2, 3, 4, 4)
    np.testing.assert_allclose(found["matrix"], np.broadcast_to(np.eye(4), (2, 3, 4, 4)))
    turned = SCREW(angle=1.0)["tip"] - SCREW(angle=1.0 - 2.0 * np.pi)["tip"]
    np.testing.assert_allclose(turned, 2.0 * np.pi * 0.3 * SCREW.axis, atol=1e-12)


def test_it_goes_through_files_bit_for_bit(tmp_path):
    save_network(network(), tmp_path / "screw.xml")
    again = load_network(tmp_path / "screw.xml")
    assert type(again.components["screw"]) is Screw
    np.testing.assert_array_equal(again({"turn": 0.7})["nut"], network()({"turn": 0.7})["nut"])
    body = figure()
    save_figure(body, tmp_path / "bolt.xml")
    same(load_figure(tmp_path / "bolt.xml"), body)


def test_what_is_written_is_valid_by_the_schema(tmp_path):
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.fromstring(figure_schema().encode()))
    save_network(network(), tmp_path / "screw.xml")
    schema.assertValid(etree.parse(str(tmp_path / "screw.xml")))


def test_its_parameters_are_fitted_to_what_was_observed():
    angles = np.linspace(-1.5, 1.5, 12)
    observed = network(Screw([1.0, 2.0, -0.4], SCREW.center, 0.35))({"turn": angles})
    fitted = fit_network(network(), {"turn": angles}, observed, ["screw.axis", "screw.pitch"])
    assert fitted.angle < 1e-6
    assert fitted.network.components["screw"].pitch == pytest.approx(0.35, abs=1e-6)


def test_it_is_mirrored_only_if_it_says_how():
    with pytest.raises(ValueError, match=r"'screw' cannot be mirrored"):
        network().mirror(NORMAL)


def test_controls_are_found_for_its_figure():
    body = figure()
    where, _ = forward(body.skeleton, body.pose({"thread.turn": 0.9}))
    found = solve_controls(
        body, (), [Reach("washer", where[2])], settings=SearchSettings(tolerance=1e-6)
    )
    assert found.converged
    np.testing.assert_allclose(found.controls, [0.9], atol=1e-4)
    assert body.contains(body.pose({"thread.turn": -1.3}))


def test_the_command_line_poses_it_and_learns_its_limits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_figure(figure(), "bolt.xml")
    for arguments in (
        ["--list"],
        ["--set", "thread.turn=1.2", "-o", "pose.bvh"],
        ["-o", "bolt.limits.json"],
    ):
        result = CliRunner().invoke(main, ["figure", "bolt.xml", *arguments])
        assert result.exit_code == 0, result.output
    posed = figure().pose({"thread.turn": 1.2})
    clip = load_clip("pose.bvh")
    np.testing.assert_allclose(np.abs(clip.pose.rotations[0, 1] @ posed.rotations[1]), 1.0)
    body = figure()
    limits = load_limits("bolt.limits.json")
    assert limits.contains(clip_of(body, body.pose(sweep(body)), 0.1).pose).all()


@dataclass(frozen=True, eq=False)
class Guard(ArrayComponent):
    """A component with a shape among its parameters."""

    region: ReachCone

    kind: ClassVar = "guard"
    inputs: ClassVar = {"value": "scalar"}
    outputs: ClassVar = {"value": "scalar"}

    def evaluate(self, value):
        return (value,)


def test_shapes_are_parameters_too(tmp_path, monkeypatch):
    from synovia.shapes import Ellipsoid

    monkeypatch.setitem(COMPONENTS, "guard", Guard)
    guard = Guard(Ellipsoid(np.zeros(3), np.ones(3), np.eye(3)))
    assert guard.mirror(NORMAL) is guard  # scalars alone have no sides
    made = Network({"guard": guard}, {"guard.value": "a"}, {"b": "guard.value"})
    save_network(made, tmp_path / "guard.xml")
    again = load_network(tmp_path / "guard.xml").components["guard"]
    assert type(again.region) is Ellipsoid
