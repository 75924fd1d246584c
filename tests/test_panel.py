"""A panel: views of what people do, shares of all rotations, and the region they agree on."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import Panel, quat, within_for
from synovia.everywhere import Everywhere, uniform_rotations
from synovia.fitting import NEAR, Recipe, fit_joint
from synovia.ranges import TAILS, EulerBox, RoundCone
from synovia.takes import Take
from test_people import AXIS, take

BALL = np.radians([5.0, 20.0, 60.0, 120.0])


@pytest.fixture(scope="module")
def crowd():
    return [take(f"p{k}", seed=k, frames=150) for k in range(6)]


@pytest.fixture(scope="module")
def panel(crowd):
    return Panel.of(crowd, AXIS)


def share_of(angle):
    return (angle - np.sin(angle)) / np.pi


def test_shares_are_those_of_balls_small_and_large():
    middle = quat.exp(np.array([0.4, -1.0, 0.2]))
    others = quat.mul(middle, quat.exp(0.02 * np.random.default_rng(0).normal(size=(50, 3))))
    everywhere = Everywhere.around(others)
    assert everywhere.weights.sum() == pytest.approx(1.0)
    angles = quat.angle_between(middle, everywhere.rotations)
    np.testing.assert_allclose(everywhere.shares(angles, BALL), share_of(BALL), rtol=0.12)
    assert 0.0 < everywhere.shares(angles, np.array([-1.0]))[0] < 1e-4


def test_where_others_are_all_around_everything_is_dense_once():
    everywhere = Everywhere.around(uniform_rotations(3000))
    angles = quat.angle_between(quat.IDENTITY, everywhere.rotations)
    np.testing.assert_allclose(everywhere.shares(angles, BALL[2:]), share_of(BALL[2:]), rtol=0.1)


@pytest.mark.parametrize("spared", [0, 1, 2])
def test_ranges_are_those_of_people_but_for_the_most_extreme(crowd, spared):
    people = [each.rotations for each in crowd]
    box, cone = EulerBox.of_people(people, spared), RoundCone.of_people(people, AXIS, spared)
    mean = quat.inverse(quat.mean(np.concatenate(people)))
    angles = [quat.to_euler(quat.mul(mean, own), "ZYX") for own in people]
    low, high = (np.sort([np.quantile(own, tail, axis=0) for own in angles], 0) for tail in TAILS)
    np.testing.assert_allclose(box.low, low[spared])
    np.testing.assert_allclose(box.high, high[::-1][spared])
    turned = [quat.rotate(quat.mul(mean, own), AXIS) @ AXIS for own in people]
    swings = np.sort([np.quantile(np.arccos(cosines), TAILS[1]) for cosines in turned])
    assert cone.angle == pytest.approx(swings[::-1][spared])


def test_a_person_alone_is_not_spared(crowd):
    assert EulerBox.of_people([crowd[0].rotations], 3).needed(crowd[0].rotations).min() < 0.0


def plain_sizes(panel, rotations, spread=40_000):
    """The root mean square of the shares of five views, counted over all rotations one by one.

    What is near people or between them counts three times, either alone twice, ranges once.
    """
    every = uniform_rotations(spread, seed=9)

    def views(asked):
        near, hull = panel.people.far(asked), panel.people.enclosure.beyond(asked)
        beyond = np.maximum(hull, 0.0)
        return [near, near + beyond, hull, panel.box.needed(asked), panel.cone.needed(asked)]

    shares = [
        [(everywhere < one).mean() for one in asked]
        for asked, everywhere in zip(views(rotations), views(every), strict=True)
    ]
    near, both, between, ranges, cone = np.square(shares)
    return np.sqrt((2.0 * near + 3.0 * both + 2.0 * between + ranges + cone) / 9.0)


def test_sizes_are_root_mean_squares_over_the_views(panel):
    rotations = uniform_rotations(60, seed=4)
    expected = plain_sizes(panel, rotations)
    np.testing.assert_allclose(share_of(panel.far(rotations)), expected, rtol=0.05, atol=2e-4)


def test_those_left_out_are_held_against_the_others_alone(crowd, panel):
    far, frames = panel.held_out()[4]
    others = Panel.of([*crowd[:4], *crowd[5:]], AXIS)
    assert frames.sum() == len(crowd[4].rotations)
    own = panel.people.rotations[panel.people.who == 4]
    np.testing.assert_allclose(far, others.far(own), rtol=0.05, atol=0.03)


def test_one_stray_does_not_move_the_region():
    many = [take(f"p{k}", seed=k, frames=100) for k in range(12)]
    stray = take("stray", seed=30, frames=100, offset=(0.0, 2.0, 0.0))
    own = np.concatenate([each.rotations[::10] for each in many])
    without, with_stray = Panel.of(many, AXIS), Panel.of([*many, stray], AXIS)
    assert np.abs(np.median(with_stray.far(own) - without.far(own))) < 0.1
    assert np.median(with_stray.far(stray.rotations)) > 1.5 * np.median(with_stray.far(own))


@pytest.mark.parametrize("chart", ["rotation-vector", "swing-twist", "euler"])
def test_the_field_is_as_large_as_asked_for(panel, chart):
    within = np.radians(55.0)
    field = panel.field(within, chart, axis=AXIS if chart == "swing-twist" else None)
    assert field.volume() == pytest.approx(share_of(within), rel=0.1)
    rotations = uniform_rotations(4000, seed=3)
    far, inside = panel.far(rotations), field.contains(rotations)
    assert (inside == (far <= within)).mean() > 0.98
    assert not inside[far > within + np.radians(12.0)].any()


def test_a_hinge_is_held_though_it_is_narrower_than_a_cell():
    hinges = [
        Take(quat.exp(np.linspace(-1.2, 1.2 + 0.1 * k, 300)[:, None] * AXIS), 0.1, str(k), str(k))
        for k in range(3)
    ]
    field = Panel.of(hinges, AXIS).field(np.radians(1.0))
    assert field.contains(np.concatenate([each.rotations for each in hinges])).mean() > 0.95
    assert field.volume() < 0.01


def test_the_rejection_asked_for_is_kept_by_those_left_out(panel):
    near, rejected = within_for(0.05, panel)
    wide, less = within_for(0.005, panel)
    assert 0.03 < rejected <= 0.05
    assert less <= 0.005
    assert near < wide


def test_without_a_rejection_it_is_as_large_as_what_is_near_people(crowd, panel):
    recipe = Recipe("distance-field", "rotation-vector", 0.1, options={"by": "panel"})
    fitted = fit_joint(crowd, recipe, reference=None, axis=AXIS)
    rotations = uniform_rotations(20_000, seed=8)
    beyond = np.maximum(panel.people.enclosure.beyond(rotations), 0.0)
    near = (panel.people.far(rotations) + beyond <= NEAR + 0.1).mean()
    assert share_of(NEAR + fitted.margin) == pytest.approx(near, rel=0.1)
    assert fitted.limit.volume() == pytest.approx(near, rel=0.1)


def test_what_cannot_be_is_refused(crowd, panel):
    with pytest.raises(ValueError, match="at least one take"):
        Panel.of([], AXIS)
    with pytest.raises(ValueError, match="two performers"):
        within_for(0.1, Panel.of(crowd[:1], AXIS))
    for within in (0.0, 3.2, np.nan):
        with pytest.raises(ValueError, match="above 0 and at most π radians"):
            panel.field(within)
