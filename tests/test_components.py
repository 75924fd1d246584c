"""Components: what all of them promise; what each of them computes is in files of their own."""

from __future__ import annotations

import numpy as np
import pytest

from joints import EXAMPLES, random_inputs
from synovia.components import COMPONENTS, Compensation


@pytest.fixture(params=EXAMPLES)
def component(request):
    return EXAMPLES[request.param]


def test_every_component_has_an_example():
    assert {name: type(each) for name, each in EXAMPLES.items()} == COMPONENTS


@pytest.mark.parametrize("batch", [(), (0,), (1,), (3, 1, 2), (130,)])
def test_answers_keep_the_batch_shape_and_match_single_calls(component, batch, rng):
    inputs = random_inputs(component, batch, rng)
    found = component(**inputs)
    shapes = {"scalar": (), "vector": (3,), "matrix": (4, 4)}
    assert list(found) == list(component.outputs)
    for name, kind in component.outputs.items():
        assert found[name].shape == (*batch, *shapes[kind])
    for place in list(np.ndindex(batch))[:: max(1, int(np.prod(batch)) // 5)]:
        alone = component(**{name: value[place] for name, value in inputs.items()})
        for name in component.outputs:  # but for the rounding of fused multiply-adds
            np.testing.assert_allclose(alone[name], found[name][place], rtol=0.0, atol=1e-14)


def test_matrices_stay_rigid(component, rng):
    found = component(**random_inputs(component, (200,), rng))
    for name, kind in component.outputs.items():
        if kind == "matrix":
            turns = found[name][:, :3, :3]
            assert np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max() < 1e-12
            assert (found[name][:, 3] == [0, 0, 0, 1]).all()


def test_parameters_go_through_a_dictionary(component, rng):
    again = type(component).from_dict(component.to_dict())
    inputs = random_inputs(component, (7,), rng)
    for name, value in component(**inputs).items():
        np.testing.assert_array_equal(again(**inputs)[name], value)


def test_what_is_adjustable_can_be_adjusted(component, rng):
    values = component.parameters()
    again = component.with_parameters(values)
    inputs = random_inputs(component, (7,), rng)
    for name, value in component(**inputs).items():
        np.testing.assert_array_equal(again(**inputs)[name], value)


NORMAL = np.array([0.9, 0.3, -0.2]) / np.linalg.norm([0.9, 0.3, -0.2])
MIRROR = np.eye(4)
MIRROR[:3, :3] -= 2.0 * np.outer(NORMAL, NORMAL)


def reflected(values, kinds):
    """Vectors and matrices as a mirror shows them."""
    ways = {
        "scalar": lambda value: value,
        "vector": lambda value: value @ MIRROR[:3, :3],
        "matrix": lambda value: MIRROR @ value @ MIRROR,
    }
    return {name: ways[kinds[name]](value) for name, value in values.items()}


def test_the_other_side_is_the_mirror_image(component, rng):
    inputs = random_inputs(component, (200,), rng)
    other = component.mirror(NORMAL)(**reflected(inputs, component.inputs))
    expected = reflected(component(**inputs), component.outputs)
    if component.kind == "scapula":
        expected["second"] = -expected["second"]
    for name, value in expected.items():
        np.testing.assert_allclose(other[name], value, atol=1e-9)


def test_the_door_names_what_is_wrong(component, rng):
    inputs = random_inputs(component, (), rng)
    with pytest.raises(ValueError, match="has no input 'colour'; it has"):
        component(**inputs, colour=1.0)
    name = next(iter(component.inputs))
    if name not in component.defaults:
        with pytest.raises(ValueError, match=f"needs the input '{name}', got none"):
            component(**{each: value for each, value in inputs.items() if each != name})
    with pytest.raises(ValueError, match="must be finite"):
        component(**{**inputs, name: np.full_like(inputs[name], np.nan)})
    with pytest.raises(ValueError, match="has no parameter 'colour'; it has"):
        type(component).from_dict({"colour": 1.0})


def test_matrices_that_are_not_rigid_are_refused():
    with pytest.raises(ValueError, match="must be rigid transforms"):
        Compensation()(ancestor=2.0 * np.eye(4))
    with pytest.raises(ValueError, match="mirrors"):
        Compensation()(ancestor=np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match=r"is a matrix and must have shape \(..., 4, 4\)"):
        Compensation()(ancestor=np.eye(3))
