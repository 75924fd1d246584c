"""Sculpting fields: samples added and moved, boundaries pushed and pulled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fields import EULER
from synovia.edit import add_sample, brush, pull, push
from synovia.shapes import DistanceField
from synovia.shapes.mesh import shape_surface


@pytest.fixture(scope="module")
def ball():
    points = np.random.default_rng(0).normal(size=(3000, 3))
    return DistanceField.fit(0.5 * points / np.linalg.norm(points, axis=1, keepdims=True))


def members(shape, n=2000):
    return shape.scatter(n, np.random.default_rng(1))


def slopes(shape):
    rim = shape_surface(shape).vertices
    return np.linalg.norm(shape.gradient(rim), axis=1)


@pytest.mark.parametrize("point", [[0.9, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
def test_a_sample_more_is_legal_and_nothing_is_lost(ball, point):
    more = add_sample(ball, point)
    assert more.contains(point)
    near = np.array(point) + 0.5 * ball.threshold * np.eye(3)
    assert more.contains(near).all()
    assert more.contains(members(ball)).all()
    assert more.measure >= ball.measure - 1e-9
    assert not more.contains([0.0, 0.0, 1.5])
    np.testing.assert_allclose(slopes(more).mean(), 1.0, atol=0.15)


def test_brushes_push_out_and_pull_in_where_they_are(ball):
    rim = 0.5 + ball.threshold
    for stroke, sign in ((push, 1.0), (pull, -1.0)):
        shape = stroke(ball, [rim, 0.0, 0.0], 0.4, 0.1)
        assert shape.contains([rim + sign * 0.06, 0.0, 0.0]) == (sign > 0.0)
        assert shape.contains([-rim + 0.03, 0.0, 0.0])
        assert not shape.contains([-rim - 0.03, 0.0, 0.0])
        assert (shape.measure > ball.measure) == (sign > 0.0)
        np.testing.assert_allclose(slopes(shape).mean(), 1.0, atol=0.1)
        inner, outer = (shape, ball) if sign < 0.0 else (ball, shape)
        assert outer.contains(members(inner)).all()


def test_a_stroke_after_another_is_the_same_as_one_on_a_field_that_was_read(ball):
    once = push(ball, [0.6, 0.0, 0.0], 0.4, 0.1)
    read = replace(once, values=once.values.copy())  # nothing is known of how it came about
    for center in ([0.6, 0.2, 0.0], [-0.6, 0.0, 0.1]):
        twice, anew = pull(once, center, 0.3, 0.05), pull(read, center, 0.3, 0.05)
        np.testing.assert_allclose(twice.values, anew.values, atol=1e-7)  # single precision


def test_growing_after_a_stroke_still_means_radians(ball):
    shape = push(ball, [0.6, 0.0, 0.0], 0.4, 0.2)
    grown = shape.grow(0.2)
    points = np.random.default_rng(2).uniform(-1.2, 1.2, size=(4000, 3))
    distance = shape.distance(points)
    clear = np.abs(distance - 0.2) > 2.0 * shape.half_diagonal
    assert (grown.contains(points) == (distance <= 0.2))[clear].mean() > 0.995


def test_strokes_go_around_the_seam():
    field = DistanceField.fit(np.array([[3.1, 1.5, 0.0]]), periods=EULER)
    more = add_sample(field, [-2.9, 1.5, 0.0])
    assert more.contains([-2.9 + 2.0 * np.pi, 1.5, 0.0])
    assert push(field, [-3.1, 1.5, 0.0], 0.8, 0.3).measure > field.measure


def test_strokes_change_nothing_they_were_given(ball):
    before = ball.values.copy()
    push(ball, [0.5, 0.0, 0.0], 0.3, 0.1)
    add_sample(ball, [0.9, 0.0, 0.0])
    np.testing.assert_array_equal(ball.values, before)


def test_strokes_that_make_no_sense_are_refused(ball):
    with pytest.raises(ValueError, match="no member"):
        pull(ball, [0.0, 0.0, 0.0], 5.0, 20.0)
    with pytest.raises(ValueError, match="radius of the brush"):
        push(ball, [0.0, 0.0, 0.0], 0.0, 0.1)
    with pytest.raises(ValueError, match="amount"):
        push(ball, [0.0, 0.0, 0.0], 1.0, np.nan)
    with pytest.raises(ValueError, match="shape"):
        add_sample(ball, [[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("amount", [0.2, -0.2])
def test_a_brush_shows_the_region_that_a_push_makes(ball, amount):
    stroke = [0.6, 0.1, 0.0], 0.4, amount
    shown, made = brush(ball, *stroke), push(ball, *stroke)
    np.testing.assert_allclose(
        shape_surface(shown).vertices, shape_surface(made).vertices, atol=1e-12
    )
    points = np.random.default_rng(2).uniform(-1.2, 1.2, size=(2000, 3))
    np.testing.assert_array_equal(shown.contains(points), made.contains(points))
