"""Curves: linear, piecewise, splines, and what lies beyond their ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synovia.components import DEGREE, Curve

X = np.array([-1.0, -0.2, 0.5, 1.3, 2.0])
Y = np.array([0.0, 1.0, 0.4, 0.7, 3.0])
SPLINE = Curve(X, Y, "spline")


def test_every_kind_goes_through_its_knots():
    for curve in (
        Curve(X, Y),
        SPLINE,
        Curve(X[:3], Y[:3], "spline"),
        Curve(X[:2], Y[:2], "linear"),
    ):
        np.testing.assert_allclose(curve(curve.x), curve.y, atol=1e-14)


@given(st.floats(-1.0, 2.0))
def test_a_piecewise_curve_is_linear_between_knots(x):
    assert Curve(X, Y)(x) == pytest.approx(np.interp(x, X, Y), abs=1e-14)


def test_a_spline_bends_smoothly():
    for knot in X[1:-1]:
        step = 1e-4
        before, after = SPLINE(knot - step * np.arange(1, 4)), SPLINE(knot + step * np.arange(1, 4))
        at = SPLINE(knot)
        assert (at - before[0]) / step == pytest.approx((after[0] - at) / step, abs=1e-2)
    pieces = SPLINE.coefficients
    h = np.diff(X)[:-1]
    ends = pieces[:-1, 2] + 3.0 * h * pieces[:-1, 3]  # half the second derivative
    np.testing.assert_allclose(ends, pieces[1:, 2], atol=1e-12)
    slopes = pieces[:-1, 1] + h * (2.0 * pieces[:-1, 2] + 3.0 * h * pieces[:-1, 3])
    np.testing.assert_allclose(slopes, pieces[1:, 1], atol=1e-12)


def test_the_ends_of_a_spline_have_the_third_derivative_of_four_knots():
    pieces = SPLINE.coefficients
    assert pieces[0, 3] == pytest.approx(np.polyfit(X[:4], Y[:4], 3)[0], abs=1e-10)
    assert pieces[-1, 3] == pytest.approx(np.polyfit(X[-4:], Y[-4:], 3)[0], abs=1e-10)


def test_a_cubic_is_its_own_spline_and_a_parabola_needs_three_knots():
    x = np.linspace(-1.0, 2.0, 50)
    cubic = Curve(X, X**3 - 2.0 * X, "spline")
    np.testing.assert_allclose(cubic(x), x**3 - 2.0 * x, atol=1e-13)
    parabola = Curve(X[[0, 2, 4]], X[[0, 2, 4]] ** 2, "spline")
    np.testing.assert_allclose(parabola(x), x**2, atol=1e-13)


def test_beyond_its_ends_a_curve_holds_or_extends():
    np.testing.assert_array_equal(SPLINE([-9.0, 9.0]), Y[[0, -1]])
    longer = Curve(X, Y, "spline", "extend")
    for end, sign in ((X[0], -1.0), (X[-1], 1.0)):
        inside = (longer(end) - longer(end - 1e-6 * sign)) / (1e-6 * sign)
        assert longer(end + 2.0 * sign) == pytest.approx(
            longer(end) + 2.0 * sign * inside, rel=1e-4
        )


def test_scales_convert_and_bounds_limit():
    curve = Curve([0.0, 90.0], [0.0, 45.0], x_scale=1 / DEGREE, y_scale=DEGREE, high=30.0)
    assert curve(np.radians(40.0)) == pytest.approx(np.radians(20.0))
    assert curve(np.radians(80.0)) == pytest.approx(np.radians(30.0))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (([0.0], [0.0]), "two knots or more"),
        (([], []), "two knots or more"),
        (([0.0, 1.0], [0.0]), "as many x as y"),
        (([0.0, 0.0], [0.0, 1.0]), "x must rise"),
        (([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], "linear"), "linear curve has two knots"),
        (([0.0, 1.0], [0.0, 1.0], "cubic"), "one of linear, piecewise, spline"),
        (([0.0, 1.0], [0.0, 1.0], "linear", "stop"), "one of hold, extend"),
        (([0.0, 1.0], [0.0, np.inf]), "must be finite"),
        (([0.0, 1.0], [0.0, 1.0], "linear", "hold", 0.0), "not 0"),
        (([0.0, 1.0], [0.0, 1.0], "linear", "hold", 1.0, 1.0, 2.0, 1.0), "low must not exceed"),
    ],
)
def test_bad_curves_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        Curve(*parameters)
