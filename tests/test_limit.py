"""Limits on rotations: covers, fitting, sampling, and what is accepted at the door."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from oracles import CASES, CONVEX, SEEN, VECTORS, cloud, fitted, over_covers, placed, random_quats
from synovia import quat
from synovia.charts import CHARTS, TURN, RotationVector, SwingTwist
from synovia.kernels import jit, rotation, shapes
from synovia.limit import Limit, chart_named, shape_named
from synovia.shapes import SHAPES, Box, Ellipsoid, KDop, Product
from synovia.softening import Beyond

EYE = np.eye(3)
REGIONS = {
    "within pi": ([-0.5, -0.3, -1.0], [0.4, 0.6, 1.2]),
    "beyond pi": ([-0.2, -0.3, -0.5], [0.3, 0.2, 3.8]),
    "far beyond pi": ([-0.2, -0.3, 3.0], [0.3, 0.2, 5.9]),
    "beyond 2 pi": ([-0.2, -0.3, 1.0], [0.3, 0.2, 8.0]),
    "more than a whole turn": ([-0.6, -0.6, -2.0], [0.6, 0.6, 7.5]),
    "far beyond 2 pi": ([-0.2, -0.3, 7.0], [0.3, 0.2, 11.0]),
}


def region(case, name, rng):
    """A shape that fills the region, more or less."""
    low, high = REGIONS[name]
    kind, options = CASES[case]
    return SHAPES[kind].fit(rng.uniform(low, high, size=(200, 3)), **options)


def angles_from(rotations, center):
    return quat.angle_between(rotations, center)


# Covers.


@pytest.mark.parametrize(("case", "chart"), SEEN)
@pytest.mark.parametrize("name", REGIONS)
def test_the_nearest_of_all_covers_is_taken(case, chart, name, rng):
    limit = Limit(placed(chart), region(case, name, rng))
    rotations = random_quats(2000, rng)
    distance, projected, tied = over_covers(limit, rotations)
    assert np.abs(limit.distance(rotations) - distance).max() < 1e-9
    outside = distance > 1e-9
    apart = quat.angle_between(limit.project(rotations), projected)
    assert tied.mean() < 0.5
    assert apart[outside & ~tied].max() < 1e-9
    assert np.array_equal(limit.contains(rotations), ~outside)


@pytest.mark.parametrize("name", REGIONS)
def test_wide_swings_have_covers_of_their_own(name, rng):
    low, high = REGIONS[name]
    shape = Box(np.roll(low, 1), np.roll(high, 1) + 4.0 * EYE[0], EYE)
    with pytest.warns(UserWarning, match="opposite the bone's axis"):
        limit = Limit(placed("swing-twist"), shape)
    rotations = random_quats(2000, rng)
    distance, projected, tied = over_covers(limit, rotations)
    assert np.abs(limit.distance(rotations) - distance).max() < 1e-9
    apart = quat.angle_between(limit.project(rotations), projected)
    assert apart[(distance > 1e-9) & ~tied].max() < 1e-9


@pytest.mark.parametrize("chart", VECTORS)
def test_rotations_at_and_around_the_reference_and_half_turns_have_covers(chart, rng):
    limit = Limit(placed(chart), Box([-0.1, -0.1, 4.0], [0.1, 0.1, 6.0], EYE))
    tiny = 10.0 ** rng.uniform(-17, -3, size=(200, 1)) * rng.normal(size=(200, 3))
    half = np.pi * rng.normal(size=(200, 3))
    half *= np.pi / np.linalg.norm(half, axis=1, keepdims=True)
    points = np.concatenate([np.zeros((1, 3)), tiny, half])
    rotations = limit.chart.rotations(points)
    projected = limit.project(rotations)
    assert np.isfinite(projected).all()
    assert limit.contains(projected).all()
    distance, _, _ = over_covers(limit, rotations)
    # Shorter vectors have no direction to speak of, nor has the twist at a half turn of swing.
    sure = np.linalg.norm(points[:, : 2 if chart == "swing-twist" else 3], axis=1) > 1e-8
    sure[201:] &= chart == "rotation-vector"
    assert sure.sum() > 50
    assert np.abs(limit.distance(rotations) - distance)[sure].max() < 1e-6


def test_a_knee_at_111_degrees_the_wrong_way_goes_to_140_the_right_way():
    knee = Limit(RotationVector(), Box(np.radians([-140.0, 0.0, 0.0]), np.zeros(3), EYE))
    bent = quat.exp(np.radians([111.0, 0.0, 0.0]))
    limit = quat.exp(np.radians([-140.0, 0.0, 0.0]))
    for sign in (1.0, -1.0):
        assert quat.angle_between(knee.project(sign * bent), limit) < 1e-12
    assert np.degrees(knee.distance(bent)) == pytest.approx(109.0)
    assert np.degrees(knee.violation(bent)) == pytest.approx(109.0)
    straight = quat.exp(np.radians([109.0, 0.0, 0.0]))
    assert quat.angle_between(knee.project(straight), quat.IDENTITY) < 1e-12


@pytest.mark.parametrize("chart", VECTORS)
@pytest.mark.parametrize("name", [name for name in CONVEX if name != "product"])
def test_paths_are_followed_beyond_pi(chart, name):
    angles = np.radians(np.linspace(-20.0, 200.0, 300))
    path = quat.exp(angles[:, None] * EYE[2])
    limit = Limit.fit([path], name, chart, reference=quat.IDENTITY, margin=0.01)
    inside = quat.exp(np.radians([0.0, 0.0, 190.0]))
    outside = quat.exp(np.radians([0.0, 0.0, 270.0]))
    assert limit.contains(path).all()
    assert limit.contains(inside)
    assert not limit.contains(outside)
    assert np.degrees(limit.violation(outside)) == pytest.approx(69.4, abs=0.3)
    flipped = Limit.fit(
        [path * np.where(np.arange(300) % 3, 1, -1)[:, None]],
        name,
        chart,
        reference=quat.IDENTITY,
        margin=0.01,
    )
    assert np.allclose(flipped.shape.bounds, limit.shape.bounds)


def test_samples_in_no_order_are_folded():
    angles = np.radians(np.linspace(-20.0, 200.0, 300))
    limit = Limit.fit(quat.exp(angles[:, None] * EYE[2]), "box", reference=quat.IDENTITY)
    assert limit.contains(quat.exp(np.radians([0.0, 0.0, 270.0])))


def test_each_path_is_placed_nearest_to_the_reference():
    up = quat.exp(np.linspace(3.0, 4.5, 100)[:, None] * EYE[2])
    limit = Limit.fit([up, up[::-1]], "box", "swing-twist", reference=quat.IDENTITY, margin=0.0)
    # 4.5 is nearer to the reference as 4.5 - 2 pi: the path lies from 3 - 2 pi to 4.5 - 2 pi.
    assert limit.shape.bounds[:, 2] == pytest.approx([3.0 - TURN, 4.5 - TURN])


# Fitting.


@pytest.mark.parametrize(("case", "chart"), SEEN)
def test_a_fit_accepts_what_it_was_made_of(case, chart, rng):
    name, options = CASES[case]
    rotations = quat.mul(random_quats(1, rng)[0], quat.exp(0.4 * rng.normal(size=(300, 3))))
    limit = Limit.fit(rotations, name, chart, margin=0.0, **options)
    assert limit.contains(rotations).all()
    assert limit.project(rotations).tobytes() == rotations.tobytes()
    assert np.allclose(limit.chart.reference, quat.mean(rotations))


def test_the_reference_may_be_given(rng):
    reference = random_quats(1, rng)[0]
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    assert np.array_equal(Limit.fit(rotations, reference=reference).chart.reference, reference)


def test_names_and_classes_are_the_same(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    for shape in SHAPES.values():
        for name in shape.charts:
            by_name = Limit.fit(rotations, shape.name, name)
            by_class = Limit.fit(rotations, shape, CHARTS[name])
            assert type(by_class.shape) is type(by_name.shape) is shape
            assert type(by_class.chart) is type(by_name.chart) is CHARTS[name]
            assert np.array_equal(by_class.packed, by_name.packed)


def test_defaults_are_a_kdop_in_rotation_vectors_with_a_margin(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    limit = Limit.fit(rotations)
    assert isinstance(limit.shape, KDop)
    assert isinstance(limit.chart, RotationVector)
    assert limit.distance(rotations).max() == pytest.approx(-0.05)


def test_the_bone_s_axis_goes_to_the_chart(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    limit = Limit.fit(rotations, "product", "swing-twist", axis=[0.0, 2.0, 0.0], swing="box")
    assert limit.chart.axis.tolist() == [0.0, 1.0, 0.0]
    assert isinstance(limit.shape.swing, Box)


def test_unknown_names_are_answered_with_the_known_ones(rng):
    rotations = quat.exp(0.2 * rng.normal(size=(50, 3)))
    with pytest.raises(ValueError, match=r"shape must be one of box, ellipsoid, kdop.*got 'cube'"):
        Limit.fit(rotations, "cube")
    with pytest.raises(
        ValueError, match=r"chart must be one of rotation-vector, swing-twist.*'polar'"
    ):
        Limit.fit(rotations, "box", "polar")
    with pytest.raises(ValueError, match="shape must be one of"):
        shape_named(dict)
    with pytest.raises(ValueError, match="chart must be one of"):
        chart_named(dict, quat.IDENTITY, None)


def test_a_limit_refuses_what_does_not_go_together(rng):
    with pytest.raises(
        ValueError, match="a product works in swing-twist, got the chart rotation-v"
    ):
        Limit.fit(quat.exp(0.2 * rng.normal(size=(50, 3))), "product", "rotation-vector")
    plane = Box(np.zeros(2), np.ones(2), np.eye(2))
    with pytest.raises(ValueError, match="a limit needs a shape of space, got one of 2-D"):
        Limit(RotationVector(), plane)


def test_a_swing_that_reaches_the_opposite_direction_warns():
    wide = Box([-3.2, -0.1, -0.1], [0.1, 0.1, 0.1], EYE)
    with pytest.warns(UserWarning, match="contains the direction opposite the bone's axis"):
        Limit(SwingTwist(), wide)
    Limit(RotationVector(), wide)
    Limit(SwingTwist(), Box([-3.0, -0.1, -9.0], [0.1, 0.1, 9.0], EYE))


@pytest.mark.parametrize("empty", [np.zeros((0, 4)), [], [np.zeros((0, 4))]])
def test_a_fit_needs_rotations(empty):
    with pytest.raises(ValueError, match="at least one rotation"):
        Limit.fit(empty)


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf])
def test_the_margin_must_be_at_least_zero(margin):
    with pytest.raises(ValueError, match="margin must be at least 0 radians"):
        Limit.fit(quat.IDENTITY[None], margin=margin)


def test_paths_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"path in time, got shape \(2, 1, 4\)"):
        Limit.fit(np.tile(quat.IDENTITY, (2, 1, 1)))
    with pytest.raises(ValueError, match=r"rotations must have shape \(..., 4\), got \(5, 3\)"):
        Limit.fit(np.zeros((5, 3)))


# What people are told.


@pytest.mark.parametrize(("case", "chart"), SEEN)
def test_violation_is_the_true_angle(case, chart, rng):
    limit = Limit(placed(chart), fitted(case, "tilted"))
    rotations = random_quats(500, rng)
    violation = limit.violation(rotations)
    assert np.allclose(
        violation, quat.angle_between(rotations, limit.project(rotations)), atol=1e-7
    )
    assert (violation[limit.contains(rotations)] == 0.0).all()
    assert violation.max() <= np.pi + 1e-12
    if chart == "rotation-vector":
        # A straight line in this chart is never shorter than the turn itself.
        assert (violation <= np.maximum(limit.distance(rotations), 0.0) + 1e-9).all()


def test_the_normal_points_from_the_projection_to_the_rotation(rng):
    limit = Limit(placed("rotation-vector"), fitted("kdop", "tilted"))
    rotations = random_quats(300, rng)
    rotations = rotations[limit.distance(rotations) > 1e-3]
    point = limit.nearest_cover(rotations)
    move = point - limit.shape.project(point)
    length = np.linalg.norm(move, axis=1, keepdims=True)
    assert np.abs(limit.normal(rotations) - move / length).max() < 1e-9


# Sampling and volume.


@pytest.mark.parametrize(("case", "chart"), SEEN)
@pytest.mark.parametrize(
    "name", ["within pi", "beyond pi", "more than a whole turn", "far beyond 2 pi"]
)
def test_samples_are_legal_and_uniform(case, chart, name, rng):
    limit = Limit(placed(chart), region(case, name, rng))
    everywhere = random_quats(200_000, rng)
    legal = everywhere[limit.contains(everywhere)]
    sample = limit.sample(4000, rng)
    assert sample.shape == (4000, 4)
    assert limit.contains(sample).all()
    assert np.abs(np.linalg.norm(sample, axis=1) - 1.0).max() < 1e-12
    assert len(legal) > 50
    centers = [limit.chart.reference, *random_quats(3, rng)]
    for center in centers:
        a, b = angles_from(legal, center), angles_from(sample, center)
        error = np.sqrt(a.var() / len(a) + b.var() / len(b))
        assert abs(a.mean() - b.mean()) < 4.5 * error
        middle = np.median(b)
        share = (a < middle).mean()
        assert abs(share - 0.5) < 4.5 * np.sqrt(0.25 / len(a) + 0.25 / len(b))


@pytest.mark.parametrize(("case", "chart"), SEEN)
@pytest.mark.parametrize(
    "name", ["within pi", "beyond pi", "more than a whole turn", "far beyond 2 pi"]
)
def test_volume_is_the_share_of_all_rotations(case, chart, name, rng):
    limit = Limit(placed(chart), region(case, name, rng))
    n = 200_000
    share = limit.contains(random_quats(n, rng)).mean()
    # The rest is the error of the volume's own sampling.
    error = np.hypot(np.sqrt(share * (1.0 - share) / n), 0.005 * share)
    assert abs(limit.volume() - share) < 3.5 * error


def test_everything_is_all_of_all_rotations():
    everything = Limit(RotationVector(), Ellipsoid(np.zeros(3), np.full(3, 3.3), EYE))
    assert everything.volume() == pytest.approx(1.0, abs=0.02)
    many_times = Limit(RotationVector(), Box(np.full(3, -9.0), np.full(3, 9.0), EYE))
    assert many_times.volume() == pytest.approx(1.0, abs=0.05)


def test_more_room_is_more_volume(rng):
    rotations = quat.exp(0.3 * rng.normal(size=(100, 3)))
    volumes = [Limit.fit(rotations, margin=margin).volume() for margin in (0.0, 0.1, 0.5)]
    assert 0.0 < volumes[0] < volumes[1] < volumes[2] < 1.0


@pytest.mark.parametrize("name", [name for name in CONVEX if name != "product"])
@pytest.mark.parametrize(("kind", "dimensions"), [("one", 0), ("line", 1), ("plane", 2)])
@pytest.mark.parametrize("chart", VECTORS)
def test_thin_limits_have_no_volume_and_sample_their_own_dimensions(
    name, kind, dimensions, chart, rng
):
    limit = Limit(placed(chart), SHAPES[name].fit(cloud(kind)))
    assert limit.volume() == 0.0
    sample = limit.sample(300, rng)
    assert limit.contains(sample).all()
    points = limit.chart.points(sample)
    sizes = np.linalg.svd(points - points.mean(axis=0))[1]
    assert (sizes > 1e-6).sum() == dimensions


def test_a_hinge_is_sampled_evenly_along_its_angle(rng):
    hinge = Limit(RotationVector(), Box([-1.0, 0.0, 0.0], [2.0, 0.0, 0.0], EYE))
    angles = hinge.chart.points(hinge.sample(20_000, rng))[:, 0]
    counts, _ = np.histogram(angles, bins=6, range=(-1.0, 2.0))
    assert counts.sum() == 20_000
    assert np.abs(counts / 20_000 - 1.0 / 6.0).max() < 0.015


@pytest.mark.parametrize("n", [0, 1, 7])
def test_as_many_samples_as_asked_for(n, rng):
    for kind in ("tilted", "line"):
        assert Limit(placed("swing-twist"), fitted("box", kind)).sample(n, rng).shape == (n, 4)


# At the door.


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
            with pytest.raises(ValueError, match="rotations must be"):
                fit_limit.distance(spoiled)
            with pytest.raises(ValueError, match="rotations must be"):
                fit_limit.project(spoiled, threads=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("case", "chart"), SEEN)
def test_rotations_must_be_finite(case, chart, dtype, bad):
    limit = Limit(placed(chart), fitted(case, "tilted"))
    rotations = np.tile(quat.IDENTITY, (5, 1)).astype(dtype)
    rotations[3, 2] = bad
    for verb in (limit.distance, limit.contains, limit.project, limit.violation, limit.normal):
        with pytest.raises(ValueError, match=r"rotations must be finite.*\[3, 2\]"):
            verb(rotations)


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


@pytest.mark.parametrize(("case", "chart"), SEEN)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_give_the_same_bits(case, chart, dtype, rng):
    limit = Limit(placed(chart), fitted(case, "tilted"))
    rotations = random_quats(10_001, rng).astype(dtype)
    alone = limit.project(rotations)
    assert limit.project(rotations, threads=2).tobytes() == alone.tobytes()
    assert limit.project(rotations, threads=3).tobytes() == alone.tobytes()


# Machine code.


def has_fma():
    try:
        return re.search(r"\bfma\b", Path("/proc/cpuinfo").read_text()) is not None
    except OSError:
        return False


@pytest.mark.skipif(jit.numba is None, reason="numba is not installed")
@pytest.mark.skipif(not has_fma(), reason="this processor has no fused multiply-add, or hides it")
@pytest.mark.parametrize(
    "function",
    [
        rotation.turn_in_and_log,
        rotation.turn_out,
        rotation.exp,
        rotation.split,
        rotation.join,
        shapes.box,
        shapes.ellipsoid,
    ],
    ids=lambda function: function.__name__,
)
def test_kernels_become_packed_instructions(function):
    compiled = jit.numba.njit(nogil=True, fastmath=jit.FAST, error_model="numpy")(function.py_func)
    block = np.zeros(rotation.BLOCK)
    if function in (shapes.box, shapes.ellipsoid):
        packed = (
            Box(-np.ones(3), np.ones(3), EYE)
            if function is shapes.box
            else Ellipsoid(np.zeros(3), np.ones(3), EYE)
        ).packed
        compiled(packed, 1, block, rotation.LANES)
    elif function is rotation.turn_in_and_log:
        compiled(np.ones(4), 0, block, rotation.LANES)
    elif function is rotation.turn_out:
        compiled(np.ones(4), 0, 0.0, block, rotation.LANES)
    else:
        compiled(block, rotation.LANES)
    (assembly,) = compiled.inspect_asm().values()
    assert len(re.findall(r"\bvfn?m(?:add|sub)\d+pd\b", assembly)) >= 6


def test_products_have_their_swing_projected_by_every_kind():
    assert {type(fitted(case, "tilted").swing) for case in CASES if case.startswith("product")} == {
        Box,
        Ellipsoid,
        KDop,
    }
    assert Product.name in SHAPES


def test_what_a_fit_cannot_take_is_refused_by_name():
    samples = quat.exp(np.random.default_rng(0).normal(size=(20, 3)) * 0.2)
    with pytest.raises(ValueError, match="box cannot be fitted with by"):
        Limit.fit(samples, "box", by="volume")
    with pytest.raises(ValueError, match="product cannot be fitted with swing, by"):
        Limit.fit(samples, "product", "swing-twist", swing="box", by="volume")
    with pytest.raises(ValueError, match="rotation-vector has no axis"):
        Limit.fit(samples, axis=[1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="a list with one of shape"):
        Limit.fit([[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]])
    with pytest.raises(ValueError, match="n must be at least 0"):
        Limit.fit(samples).sample(-1, np.random.default_rng(0))
