"""Components that make transforms: products, rotations, compensations and translations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joints import EXAMPLES, random_matrices, turn
from synovia.components import Compensation, MatrixProduct, Rotation, Translation

Z = np.array([0.0, 0.0, 1.0])
ANGLES = st.floats(-20.0, 20.0)


def test_a_product_multiplies_in_order(rng):
    a, b, c, d = random_matrices((4,), rng)
    for factors, expected in (("a", a), ("ab", a @ b), ("abc", a @ b @ c), ("abcd", a @ b @ c @ d)):
        given = {name: {"a": a, "b": b, "c": c, "d": d}[name] for name in factors}
        found = MatrixProduct(tuple(factors))(**given)["matrix"]
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("names", "words"),
    [((), "at least one"), (("a", "a"), "'a' twice"), (("a.b",), "without"), ("ab", "the text")],
)
def test_names_of_factors_are_checked(names, words):
    with pytest.raises(ValueError, match=words):
        MatrixProduct(names)


def test_the_rotation_of_figure_4():
    """50° about c₁, then 20° about c₂, for 70°."""
    first, second = [0.1, -0.3, 0.2], [0.4, 0.25, -0.1]
    axis = [0.2, -0.1, 1.0]
    joint = Rotation(axis, np.radians([0.0, 50.0, 90.0]), [first, second])
    expected = turn(axis, np.radians(20.0), second) @ turn(axis, np.radians(50.0), first)
    found = joint(angle=np.radians(70.0))["matrix"]
    np.testing.assert_allclose(found, expected, atol=1e-12)


BOUNDS, CENTERS = EXAMPLES["rotation"].bounds, EXAMPLES["rotation"].centers


def by_the_source(angle, neutral):
    """Equation 1, from the first bound, seen from where it is at the neutral angle."""

    def from_the_first(alpha):
        product = np.eye(4)
        for low, high, center in zip(BOUNDS[:-1], BOUNDS[1:], CENTERS, strict=True):
            share = np.clip(alpha, low, high) - low
            product = turn(EXAMPLES["rotation"].axis, share, center) @ product
        return product

    clipped = np.clip(angle, BOUNDS[0], BOUNDS[-1])
    return from_the_first(clipped) @ np.linalg.inv(from_the_first(neutral))


@given(ANGLES, st.floats(-0.7, 2.0))
@settings(max_examples=50)
def test_a_rotation_is_the_product_of_its_intervals(angle, neutral):
    joint = Rotation(EXAMPLES["rotation"].axis, BOUNDS, CENTERS, neutral)
    found = joint(angle=angle)["matrix"]
    np.testing.assert_allclose(found, by_the_source(angle, neutral), atol=1e-12)


def test_a_rotation_is_continuous_and_the_identity_at_neutral():
    joint = EXAMPLES["rotation"]
    around = BOUNDS[:, None] + [-1e-9, 0.0, 1e-9]
    found = joint(angle=around)["matrix"]
    assert np.abs(found - found[:, 1:2]).max() < 1e-8
    np.testing.assert_allclose(joint(angle=0.0)["matrix"], np.eye(4), atol=1e-15)
    lifted = Rotation(Z, [0.5, 1.0], [[1.0, 0.0, 0.0]])  # 0 is not among its angles
    np.testing.assert_allclose(lifted(angle=0.5)["matrix"], np.eye(4), atol=1e-15)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (([0.0, 0.0, 0.0],), "axis must not be zero"),
        ((Z, [0.0, 1.0, 0.5], np.zeros((2, 3))), "must rise"),
        ((Z, [0.0, 1.0, 1.0], np.zeros((2, 3))), "must rise"),
        ((Z, [0.0, 1.0], np.zeros((2, 3))), "one more than"),
        ((Z, [0.0], np.zeros((0, 3))), "one more than"),
        ((Z, [0.0, 1.0], np.zeros((1, 3)), np.nan), "neutral must be finite"),
        ((Z, [0.0, 1.0], np.zeros((1, 2))), "must have shape"),
    ],
)
def test_bad_rotations_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        Rotation(*parameters)


def test_compensation_undoes_the_turn_of_a_parent_and_stays_attached(rng):
    joint = rng.normal(size=3)
    parent, child = random_matrices((2,), rng)
    found = Compensation(joint)(ancestor=parent)["matrix"]
    np.testing.assert_allclose((parent @ found @ child)[:3, :3], child[:3, :3], atol=1e-12)
    np.testing.assert_allclose(found @ [*joint, 1.0], [*joint, 1.0], atol=1e-12)
    # As the paper has it: the inverse, then the displacement of the joint.
    shift = np.eye(4)
    shift[:3, 3] = (parent @ [*joint, 1.0])[:3] - joint
    np.testing.assert_allclose(found, np.linalg.inv(parent) @ shift, atol=1e-12)


def test_compensation_of_a_farther_ancestor_keeps_what_is_between(rng):
    ancestor, upper, lower, child = random_matrices((4,), rng)
    both = Compensation(between=("upper", "lower"))
    found = both(ancestor=ancestor, upper=upper, lower=lower)["matrix"]
    whole = (ancestor @ upper @ lower @ found @ child)[:3, :3]
    np.testing.assert_allclose(whole, (upper @ lower @ child)[:3, :3], atol=1e-12)


def test_a_translation_slides_along_its_directions():
    found = EXAMPLES["translation"](y=2.0, z=-1.0)["matrix"]
    np.testing.assert_allclose(found[:3, 3], [1.0 + 0.6, 2.0 + 2.0, 3.0 - 2.0])
    np.testing.assert_array_equal(Translation()(x=[1.0, 2.0])["matrix"][:, 0, 3], [1.0, 2.0])
