"""What every shape promises of arrays: batches, types, nothing changed, fields, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles import BATCHES, CASES, cloud, fitted, lengths, queries
from synovia.arrays import TOLERANCE, tolerance
from synovia.shapes import SHAPES


@pytest.mark.parametrize("batch", BATCHES)
def test_answers_keep_the_batch_shape(shape, batch):
    points = np.full((*batch, 3), 0.7)
    assert shape.contains(points).shape == batch
    assert shape.contains(points).dtype == bool
    assert shape.distance(points).shape == batch
    assert shape.project(points).shape == (*batch, 3)
    assert shape.normal(points).shape == (*batch, 3)


def test_a_batch_gets_the_answers_of_its_items(shape, points):
    points = points[np.abs(shape.distance(points) - TOLERANCE) > 1e-12]
    few = points[:: len(points) // 7]
    for verb in (shape.contains, shape.distance, shape.project):
        one_by_one = np.stack([verb(point) for point in few])
        assert np.allclose(verb(few.reshape(1, -1, 3))[0], one_by_one, rtol=0.0, atol=1e-12)


def test_float32_stays_float32(shape, points):
    single = points.astype(np.float32)
    projected = shape.project(single)
    assert projected.dtype == shape.distance(single).dtype == shape.normal(single).dtype == "f4"
    assert shape.contains(projected).all()
    assert (shape.distance(projected.astype(np.float64)) <= tolerance(np.float32)).all()
    assert np.array_equal(shape.project(projected), projected)
    assert lengths(projected - shape.project(points)).max() < 1e-4


def test_integers_and_lists_are_numbers_too(shape):
    assert shape.distance([3, 0, 0]) == shape.distance(np.array([3.0, 0.0, 0.0]))


def test_nothing_given_is_changed(case, kind):
    shape = fitted(case, kind)
    points = queries(shape).copy()
    samples = cloud(kind).copy()
    before, samples_before = points.tobytes(), samples.tobytes()
    packed = shape.packed.tobytes()
    name, options = CASES[case]
    SHAPES[name].fit(samples, margin=0.1, **options)
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        verb(points)
    assert points.tobytes() == before
    assert samples.tobytes() == samples_before
    assert shape.packed.tobytes() == packed


def test_arrays_given_to_a_shape_can_be_changed_afterwards(case, rng):
    shape = fitted(case, "tilted")
    fields = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in vars(replace(shape)).items()
        if key in shape.__dataclass_fields__
    }
    twin = type(shape)(**fields)
    before = twin.distance(np.ones(3))
    for value in fields.values():
        if isinstance(value, np.ndarray):
            value += 100.0
    assert replace(twin).distance(np.ones(3)) == before


def test_what_to_dict_writes_from_dict_reads(shape, points):
    fields = shape.to_dict()
    assert fields.pop("type") == shape.name
    twin = type(shape).from_dict(fields)
    assert type(twin) is type(shape)
    assert twin.project(points).tobytes() == shape.project(points).tobytes()
    assert twin.distance(points).tobytes() == shape.distance(points).tobytes()


def test_to_dict_survives_plain_lists(shape, points):
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value.tolist() if isinstance(value, np.ndarray) else value

    fields = plain(shape.to_dict())
    del fields["type"]
    assert np.array_equal(type(shape).from_dict(fields).project(points), shape.project(points))


# Errors.


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_points_must_be_finite(case, bad):
    shape = fitted(case, "round")
    points = np.zeros((4, 3))
    points[2, 1] = bad
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        with pytest.raises(ValueError, match=r"points must be finite.*\[2, 1\]"):
            verb(points)
    with pytest.raises(ValueError, match="points must be finite"):
        type(shape).fit(points)


@pytest.mark.parametrize("wrong", [(), (2,), (4,), (3, 4), (3, 0)])
def test_points_must_have_the_right_width(case, wrong):
    shape = fitted(case, "round")
    for verb in (shape.contains, shape.distance, shape.project, shape.normal):
        with pytest.raises(ValueError, match=r"points must have shape \(..., 3\)"):
            verb(np.zeros(wrong))


def test_a_fit_needs_points(case):
    name, options = CASES[case]
    with pytest.raises(ValueError, match="at least one point"):
        SHAPES[name].fit(np.zeros((0, 3)), **options)
    with pytest.raises(ValueError, match=r"points to fit must have shape .*, got \(3,\)"):
        SHAPES[name].fit(np.zeros(3), **options)
    with pytest.raises(ValueError, match=r"points to fit must have shape"):
        SHAPES[name].fit(np.zeros((5, 4)), **options)


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf])
def test_margin_must_be_at_least_zero(case, margin):
    name, options = CASES[case]
    with pytest.raises(ValueError, match="margin must be at least 0"):
        SHAPES[name].fit(cloud("round"), margin=margin, **options)
