"""Parameters from data: a network made to fit one person."""

from __future__ import annotations

import numpy as np
import pytest

from joints import shoulder
from synovia.components import (
    Curve,
    MatrixProduct,
    Network,
    OneToMany,
    Rotation,
    Translation,
    fit_network,
)


def knee(axis, center, turns, slides):
    """One control: a curve of the turn about an axis, one of a slide."""
    x = np.linspace(0.0, 2.0, len(turns))
    return Network(
        {
            "map": OneToMany(
                {"turn": Curve(x, turns, "spline"), "slide": Curve(x, slides, "spline")}
            ),
            "turn": Rotation(axis, [-1.0, 3.0], [center]),
            "slide": Translation(),
            "tibia": MatrixProduct(("slide", "turn")),
        },
        {
            "map.value": "flexion",
            "turn.angle": "map.turn",
            "slide.y": "map.slide",
            "tibia.slide": "slide.matrix",
            "tibia.turn": "turn.matrix",
        },
        {"tibia": "tibia.matrix"},
    )


TRUE = knee([1.0, 0.1, -0.2], [0.0, 0.03, 0.01], [0.0, 0.6, 1.1, 1.9], [0.0, 0.01, 0.02, 0.02])
GUESS = knee([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.5, 1.0, 1.5], [0.0, 0.0, 0.0, 0.0])
FLEXION = np.linspace(0.0, 2.0, 25)
PARAMETERS = ("turn.axis", "turn.centers", "map.turn", "map.slide")


def test_a_subject_is_found_again_from_its_transforms():
    observed = TRUE({"flexion": FLEXION})
    found = fit_network(GUESS, {"flexion": FLEXION}, observed, PARAMETERS, length=0.1)
    assert found.angle < 1e-7
    assert found.shift < 1e-8
    between = np.linspace(0.03, 1.97, 50)
    np.testing.assert_allclose(
        found.network({"flexion": between})["tibia"], TRUE({"flexion": between})["tibia"], atol=1e-6
    )
    axis = found.network.components["turn"].axis
    np.testing.assert_allclose(axis, TRUE.components["turn"].axis, atol=1e-6)


def test_noise_is_left_over(rng):
    observed = TRUE({"flexion": FLEXION})["tibia"].copy()
    observed[:, :3, 3] += rng.normal(scale=0.002, size=(25, 3))
    found = fit_network(GUESS, {"flexion": FLEXION}, {"tibia": observed}, PARAMETERS, length=0.1)
    assert found.shift == pytest.approx(0.002 * 3**0.5, rel=0.3)
    assert found.angle < 0.01


def test_what_is_not_named_stays_as_it_was():
    observed = TRUE({"flexion": FLEXION})
    found = fit_network(GUESS, {"flexion": FLEXION}, observed, ["turn.axis"])
    np.testing.assert_array_equal(found.network.components["turn"].centers, [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(GUESS.components["turn"].axis, [1.0, 0.0, 0.0])


def test_bad_fits_are_refused():
    observed = TRUE({"flexion": FLEXION})
    given = {"flexion": FLEXION}
    with pytest.raises(ValueError, match="no component 'trn'; did you mean turn"):
        fit_network(GUESS, given, observed, ["trn.axis"])
    with pytest.raises(ValueError, match="'turn' has no parameter 'axes'; did you mean axis"):
        fit_network(GUESS, given, observed, ["turn.axes"])
    with pytest.raises(ValueError, match="at least one to fit"):
        fit_network(GUESS, given, observed, [])
    with pytest.raises(ValueError, match="no output 'femur'"):
        fit_network(GUESS, given, {"femur": observed["tibia"]}, PARAMETERS)
    with pytest.raises(ValueError, match="at least one output"):
        fit_network(GUESS, given, {}, PARAMETERS)
    with pytest.raises(ValueError, match="control 'flexion' must be given"):
        fit_network(GUESS, {}, observed, PARAMETERS)
    with pytest.raises(ValueError, match="length must be above 0"):
        fit_network(GUESS, given, observed, PARAMETERS, length=0.0)
    scalar = Network(shoulder().components, shoulder().wires, {"angle": "cone.first"})
    with pytest.raises(ValueError, match="must be a matrix to fit to, got a scalar"):
        fit_network(scalar, {}, {"angle": 0.0}, ["clavicle.axis"])
