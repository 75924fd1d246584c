"""What limits take for rotations: unit quaternions of any type."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import fitted, placed, random_quats
from synovia import kernels, quat
from synovia.arrays import unit_quats
from synovia.limit import Limit
from synovia.limit.softening import Beyond


@pytest.fixture
def fit_limit():
    return Limit(placed("rotation-vector"), fitted("ellipsoid", "tilted"))


def test_scipy_rotations_are_accepted(fit_limit, rng):
    from scipy.spatial.transform import Rotation

    rotations = random_quats(100, rng)
    scipy = Rotation.from_quat(np.roll(rotations, -1, axis=1))
    assert np.allclose(fit_limit.distance(scipy), fit_limit.distance(rotations), atol=1e-12)
    assert quat.angle_between(fit_limit.project(scipy), fit_limit.project(rotations)).max() < 1e-9
    assert np.array_equal(fit_limit.contains(scipy), fit_limit.contains(rotations))
    assert fit_limit.distance(scipy[0]).shape == ()
    assert Limit.fit(scipy).contains(scipy).all()
    assert np.allclose(fit_limit.violation(scipy), fit_limit.violation(rotations), atol=1e-9)
    softened = fit_limit.soften(scipy, Beyond())
    assert softened.shape == (100, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths_off_by_a_little_are_normalised_and_by_more_refused(fit_limit, rng, dtype):
    rotations = random_quats(300, rng).astype(dtype)
    scaled = (rotations * rng.uniform(0.9992, 1.0008, size=(300, 1))).astype(dtype)
    slack = 1e-9 if dtype == np.float64 else 2e-5
    assert np.allclose(fit_limit.distance(scaled), fit_limit.distance(rotations), atol=slack)
    assert np.abs(np.linalg.norm(fit_limit.project(scaled), axis=1) - 1.0).max() < 1e-6
    assert fit_limit.project(scaled).dtype == dtype
    scaled[17] *= 1.01
    for verb in (fit_limit.distance, fit_limit.contains, fit_limit.project, fit_limit.violation):
        with pytest.raises(ValueError, match=r"unit quaternions to within 0.001.*\[17\]"):
            verb(scaled)


def test_one_length_that_is_off_is_seen_among_many(fit_limit, rng):
    rotations = random_quats(10_000, rng)
    for bad in (0.0, 1.1, 2.0, np.nan):
        for at in (0, 127, 128, 5000, 9999):
            spoiled = rotations.copy()
            spoiled[at] *= bad
            with pytest.raises(ValueError, match="rotations must be"):
                fit_limit.project(spoiled)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rotations_must_be_finite(fit_limit, dtype, bad):
    rotations = np.tile(quat.IDENTITY, (5, 1)).astype(dtype)
    rotations[3, 2] = bad
    for verb in ("distance", "contains", "project", "violation", "normal"):
        with pytest.raises(ValueError, match=r"rotations must be finite.*\[3, 2\]"):
            getattr(fit_limit, verb)(rotations)


@pytest.mark.parametrize("wrong", [(), (3,), (4, 3), (0,)])
def test_rotations_must_have_four_numbers(fit_limit, wrong):
    for verb in (fit_limit.distance, fit_limit.contains, fit_limit.project, fit_limit.violation):
        with pytest.raises(ValueError, match=r"rotations must have shape \(..., 4\)"):
            verb(np.zeros(wrong))


def test_lists_and_integers_are_rotations_too(fit_limit):
    assert fit_limit.distance([1, 0, 0, 0]) == fit_limit.distance(quat.IDENTITY)
    assert fit_limit.project([[0, 1, 0, 0]]).shape == (1, 4)
    with pytest.raises(ValueError, match="rotations must be numbers"):
        fit_limit.distance("north")


@pytest.mark.parametrize("kind", ["tilted"])
def test_a_packed_limit_of_another_layout_or_cut_short_is_refused(limit, rng):
    rotations = random_quats(5, rng)
    if not limit.compiled:
        pytest.skip("not packed")
    version, size = kernels.limit.HEADER.version, kernels.limit.HEADER.size
    other, longer = limit.packed.copy(), limit.packed.copy()
    other[version] += 1.0
    longer[size] += 1.0
    assert limit.packed[size] == len(limit.packed)
    for packed in (other, longer, limit.packed[:-1].copy(), limit.packed[:5].copy(), np.empty(0)):
        out, distances = np.full(20, 7.0), np.full(5, 7.0)
        refused = kernels.limit.OTHER_LAYOUT
        assert kernels.limit.project(rotations.ravel(), packed, 1e-9, out) == refused
        assert kernels.limit.measure(rotations.ravel(), packed, distances) == refused
        assert (out == 7.0).all()
        assert (distances == 7.0).all()
        joints, offsets = np.zeros(1, np.int64), np.zeros(1, np.int64)
        poses = (rotations[:1].ravel().copy(), joints, offsets, packed, 1e-9, out[:4])
        assert kernels.limit.project_poses(*poses, distances[:1, None]) == refused


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_lengths_off_by_more_than_rounding_are_normalised(dtype, rounding):
    unit = np.array([0.5, -0.5, 0.5, 0.5])
    kept, changed = (((1.0 + share * rounding) * unit).astype(dtype) for share in (0.5, 3.0))
    assert unit_quats("rotations", kept).tobytes() == kept.tobytes()
    normalised = unit_quats("rotations", changed)
    assert normalised.dtype == dtype
    assert np.abs(normalised - unit).max() < 0.2 * rounding
