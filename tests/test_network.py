"""Networks: wires that fit, one order, batches, derivatives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from joints import CERVICAL, neck, shoulder, turn
from synovia.components import (
    Compensation,
    Curve,
    JointCone,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
    Translation,
)

CONTROLS = {"abduction": 0.9, "elevation": 0.2, "flexion": 0.4, "twist": 0.1}
Z = [0.0, 0.0, 1.0]


def chain(count=2):
    """Turns about z, one after the other, by the same angle."""
    components = {f"r{k}": Rotation(Z, [-1.0, 1.0], [[k, 0.0, 0.0]]) for k in range(count)}
    wires = {f"r{k}.angle": "bend" for k in range(count)}
    return components, wires


def test_a_network_gives_what_its_parts_give():
    found = neck()({"flexion": 0.4, "bend": -0.2, "twist": 0.7})
    parts = neck().components
    for name, (low, high) in CERVICAL.items():
        angles = {
            "flexion": np.radians(low + 0.7 * (high - low)),
            "bend": np.radians(-1.0),
            "twist": np.radians(3.5),
        }
        turns = [
            turn(parts[f"{name}-{move}"].axis, angle, parts[f"{name}-{move}"].centers[0])
            for move, angle in angles.items()
        ]
        np.testing.assert_allclose(found[name], turns[0] @ turns[1] @ turns[2], atol=1e-12)


def test_a_part_gives_the_same_and_has_nothing_to_spare():
    whole = shoulder()
    for name in whole.outputs:
        part = whole.part([name])
        needed = {control: CONTROLS[control] for control in part.controls}
        np.testing.assert_array_equal(part(needed)[name], whole(CONTROLS)[name])
        used = {source.split(".")[0] for source in [*part.wires.values(), *part.outputs.values()]}
        assert used == {*part.components, *part.controls}
    assert len(whole.part(["clavicle"]).components) < len(whole.components)


def test_controls_broadcast():
    found = shoulder()({**CONTROLS, "abduction": np.zeros((3, 1)), "twist": np.zeros(2)})
    assert found["humerus"].shape == (3, 2, 4, 4)


def test_components_come_in_any_order():
    network = shoulder()
    expected = network(CONTROLS)["humerus"]
    names = list(network.components)
    for order in itertools.islice(itertools.permutations(names), 0, 40320, 5003):
        again = Network(
            {name: network.components[name] for name in order}, network.wires, network.outputs
        )
        np.testing.assert_array_equal(again(CONTROLS)["humerus"], expected)
        places = {name: place for place, name in enumerate(again.order)}
        for target, source in network.wires.items():
            if "." in source:
                assert places[source.split(".")[0]] < places[target.split(".")[0]]


@pytest.mark.parametrize("network", [neck(), shoulder()], ids=["neck", "shoulder"])
def test_the_jacobian_is_the_slope(network, rng):
    controls = {name: rng.uniform(0.1, 0.7, size=5) for name in network.controls}
    found = network.jacobian(controls)
    step = 1e-6
    for control in network.controls:
        ahead = network({**controls, control: controls[control] + step})
        behind = network({**controls, control: controls[control] - step})
        for name in network.outputs:
            slope = (ahead[name] - behind[name]) / (2.0 * step)
            np.testing.assert_allclose(found[name][control], slope, atol=1e-7)


def test_the_jacobian_by_a_vector_has_its_axis():
    network = Network(
        {"cone": JointCone(shoulder().components["cone"].cone, Z), "turn": Rotation(Z)},
        {"cone.matrix": "turn.matrix", "cone.center": "center", "turn.angle": "angle"},
        {"bone": "cone.matrix", "angle": "cone.first"},
    )
    assert network.kinds == {"center": "vector", "angle": "scalar"}
    found = network.jacobian({"center": np.zeros((2, 3)), "angle": 0.1})
    assert found["bone"]["center"].shape == (2, 4, 4, 3)
    assert found["angle"]["angle"].shape == (2,)


def test_a_cycle_is_refused_by_its_path():
    components = {name: MatrixProduct(("a", "b")) for name in ("one", "two", "three")}
    components["turn"] = Rotation(Z)
    wires = {
        "turn.angle": "bend",
        "one.a": "turn.matrix",
        "one.b": "three.matrix",
        "two.a": "turn.matrix",
        "two.b": "one.matrix",
        "three.a": "turn.matrix",
        "three.b": "two.matrix",
    }
    with pytest.raises(ValueError, match="cycle, got one → two → three → one"):
        Network(components, wires, {"bone": "three.matrix"})
    with pytest.raises(ValueError, match="cycle, got one → one"):
        Network({"one": Compensation()}, {"one.ancestor": "one.matrix"}, {"bone": "one.matrix"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p.a": "turn.angle"}, "no output 'turn.angle' for 'p.a'; there are"),
        ({"p.c": "turn.matrix"}, "no input 'p.c'; did you mean"),
        ({"q.a": "turn.matrix"}, "no input 'q.a'"),
        ({"p.a": "map.x"}, "'p.a' is a matrix, and cannot be wired to 'map.x', a scalar"),
        ({"p.a": "bend"}, "'p.a' is a matrix, and cannot .* 'bend', a scalar, as"),
        ({"p.a": None}, "the wire to 'p.a' must name its source"),
        ({"turn.angle": "a control"}, "without"),
    ],
)
def test_wires_that_do_not_fit_are_refused(change, words):
    components = {
        "map": OneToMany({"x": Curve([0.0, 1.0], [0.0, 1.0])}),
        "turn": Rotation(Z),
        "p": MatrixProduct(("a", "b")),
    }
    wires = {
        "map.value": "bend",
        "turn.angle": "map.x",
        "p.a": "turn.matrix",
        "p.b": "turn.matrix",
    }
    Network(components, wires, {"bone": "p.matrix"})
    with pytest.raises(ValueError, match=words):
        Network(components, {**wires, **change}, {"bone": "p.matrix"})


def test_a_missing_input_is_named_unless_it_has_a_default():
    with pytest.raises(ValueError, match=r"the input 'r1.angle' must be wired, got nothing"):
        Network(chain()[0], {"r0.angle": "bend"}, {"bone": "r0.matrix"})
    slide = Network({"slide": Translation([1.0, 2.0, 3.0])}, {}, {"bone": "slide.matrix"})
    np.testing.assert_array_equal(slide({})["bone"][:3, 3], [1.0, 2.0, 3.0])


def test_names_are_checked():
    components, wires = chain()
    with pytest.raises(ValueError, match=r"without '.', '/' or spaces, got 'a.b'"):
        Network({"a.b": Rotation(Z)}, {}, {})
    with pytest.raises(ValueError, match="the component 'r0' must be one"):
        Network({**components, "r0": "turn"}, wires, {"bone": "r0.matrix"})
    with pytest.raises(ValueError, match=r"the output 'bone': no source 'r7.matrix'"):
        Network(components, wires, {"bone": "r7.matrix"})
    with pytest.raises(ValueError, match="controls must be those that its wires use, bend"):
        Network(components, wires, {"bone": "r0.matrix"}, ("bend", "twist"))
    with pytest.raises(ValueError, match="must name at least one"):
        Network(components, wires, {})


def test_controls_are_checked():
    components, wires = chain()
    network = Network(components, wires, {"bone": "r0.matrix"})
    with pytest.raises(ValueError, match="no control 'bnd'; did you mean bend"):
        network({"bend": 0.0, "bnd": 0.0})
    with pytest.raises(ValueError, match="the control 'bend' must be given"):
        network({})
    with pytest.raises(ValueError, match="bend must be finite"):
        network({"bend": np.inf})
    with pytest.raises(ValueError, match="batches of the values must agree"):
        shoulder()({**CONTROLS, "twist": np.zeros(2), "flexion": np.zeros(3)})


def test_a_mirrored_network_gives_mirrored_transforms(rng):
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    network = shoulder()
    other = network.mirror([1.0, 0.0, 0.0], {"humerus": "left-humerus"})
    assert list(other.outputs) == ["clavicle", "left-humerus"]
    controls = {name: rng.uniform(-1.0, 2.0, size=100) for name in network.controls}
    expected = mirror @ network(controls)["humerus"] @ mirror
    np.testing.assert_allclose(other(controls)["left-humerus"], expected, atol=1e-12)
    with pytest.raises(ValueError, match="no output 'femur'"):
        network.mirror([1.0, 0.0, 0.0], {"femur": "left"})
    with pytest.raises(ValueError, match="the mirror's normal must not be zero"):
        network.mirror([0.0, 0.0, 0.0])


def test_what_nothing_reads_makes_no_difference():
    """A cone's matrix or angles may be spared, and rows are used again; the rest is the same."""
    network = shoulder()
    ports = [f"{name}.{port}" for name, each in network.components.items() for port in each.outputs]
    whole = Network(network.components, network.wires, {p.replace(".", "-"): p for p in ports})
    expected = whole(CONTROLS)
    for port in ports:
        alone = Network(network.components, network.wires, {"it": port})
        np.testing.assert_array_equal(alone(CONTROLS)["it"], expected[port.replace(".", "-")])
