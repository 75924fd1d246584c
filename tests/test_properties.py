"""What holds for every limit and every rotation, however they are drawn."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracles import CONVEX
from synovia import CHARTS, SHAPES, Beyond, Inside, Limit, quat
from synovia.model import project_path

SETTINGS = settings(max_examples=60)
ANGLE = st.floats(-7.0, 7.0, allow_nan=False, width=64)
VECTORS = arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=ANGLE)


@st.composite
def limits(draw: st.DrawFn) -> Limit:
    """A limit of any shape in any chart, around any few rotations, thin ones among them."""
    shape = draw(st.sampled_from(sorted(CONVEX)))
    chart = draw(st.sampled_from([c for c in CHARTS if c in SHAPES[shape].charts]))
    size = draw(st.sampled_from([0.0, 1e-9, 0.1, 0.3]))
    margin = draw(st.sampled_from([0.0, 1e-6, 0.05, 0.5]))
    cloud = quat.exp(size * draw(VECTORS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some contain the direction opposite the axis
        return Limit.fit(cloud, shape, chart, margin=margin)


def away_from_the_antipode(limit: Limit, rotations: np.ndarray) -> bool:
    """Whether twists are well defined: opposite the bone's axis rounding decides them."""
    return bool((limit.chart.stretch(limit.chart.points(rotations)) < 1e4).all())


@SETTINGS
@given(limits(), VECTORS)
def test_projections_are_legal_and_stay(limit: Limit, vectors: np.ndarray) -> None:
    once = limit.project(quat.exp(vectors))
    assume(away_from_the_antipode(limit, once))
    assert limit.contains(once).all()
    np.testing.assert_array_equal(limit.project(once), once)


@SETTINGS
@given(limits(), VECTORS)
def test_the_distance_is_the_least_over_all_covers(limit: Limit, vectors: np.ndarray) -> None:
    rotations = quat.exp(vectors)
    assume(away_from_the_antipode(limit, rotations))
    brute = np.min([limit.shape.distance(points) for points in limit.covers(rotations)], axis=0)
    np.testing.assert_allclose(limit.distance(rotations), brute, atol=1e-9)
    np.testing.assert_allclose(limit.distance(-rotations), brute, atol=1e-9)


@SETTINGS
@given(limits(), VECTORS)
def test_paths_are_legal_and_legal_frames_stay(limit: Limit, vectors: np.ndarray) -> None:
    rotations = quat.exp(vectors)
    out = project_path(limit, rotations, 0.01)
    assume(away_from_the_antipode(limit, out))
    legal = limit.contains(rotations)
    assert limit.contains(out).all()
    np.testing.assert_array_equal(out[legal], rotations[legal])


@SETTINGS
@given(limits(), VECTORS, st.floats(0.01, 1.0), st.floats(0.1, 20.0))
def test_softening_never_goes_past_the_input(
    limit: Limit, vectors: np.ndarray, radius: float, falloff: float
) -> None:
    rotations = quat.exp(vectors)
    assume(away_from_the_antipode(limit, rotations))
    beyond = limit.soften(rotations, Beyond(radius, falloff))
    inside = limit.soften(rotations, Inside(radius))
    assume(away_from_the_antipode(limit, beyond) and away_from_the_antipode(limit, inside))
    distance = np.maximum(limit.distance(rotations), 0.0)
    assert (limit.distance(beyond) <= np.minimum(distance, radius) + 1e-8).all()
    assert limit.contains(inside).all()
