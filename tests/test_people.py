"""Near to several people: distances to persons, and how near for a rejection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from clips import person
from synovia import LimitModel, load_limits, quat, save_clip, save_limits
from synovia.cli import main
from synovia.evidence.study import uniform_rotations
from synovia.learn import DEFAULT_WITHIN, FitOptions, People, Take, fit_joint
from synovia.learn.margins import promise
from synovia.learn.people import MAX_PEOPLE, MAX_WITHIN, MIN_WITHIN, spread_evenly
from synovia.learn.trimming import COUNTED_CELL

AXIS = np.array([1.0, 0.0, 0.0])
AXIS_TURN = quat.exp(0.3 * AXIS)
CORNER = COUNTED_CELL * np.sqrt(3.0)
"""How far a frame may be from the one that stands for its cell."""


def path(size, seed, frames=300, offset=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
    waves = np.sin(rng.integers(1, 4, 3) * t + rng.uniform(0.0, 6.0, 3)) * size
    return quat.exp(waves + np.asarray(offset) + 0.05 * rng.normal(size=3))


def take(name, size=(0.7, 0.4, 0.3), seed=0, people=1, **options):
    return Take(path(size, seed, **options), 1 / 60, f"{name}_1", name, person_count=people)


def promise_of(reject, people):
    return promise(reject, people.leave_one_out(), MIN_WITHIN, MAX_WITHIN)


@pytest.fixture(scope="module")
def crowd():
    return [take(f"p{k}", seed=k) for k in range(8)]


def angle(rotations, others):
    """The angle from each rotation to the nearest of others, one by one."""
    return np.array([quat.angle_between(others, rotation).min() for rotation in rotations])


def plain_distance(rotations, takes):
    """The mean over the farther half of the third of people who are nearest."""
    count = min(max(round(sum(each.person_count for each in takes) / 3), 1), MAX_PEOPLE)
    columns = [angle(rotations, each.rotations) for each in takes for _ in range(each.person_count)]
    return np.sort(np.stack(columns, axis=1), axis=1)[:, count // 2 : count].mean(axis=1)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_the_distance_is_the_mean_to_the_farther_of_the_nearest_people(crowd, n):
    rotations = uniform_rotations(40)
    found = People.of(crowd[:n]).distance(rotations)
    np.testing.assert_allclose(found, plain_distance(rotations, crowd[:n]), atol=CORNER)


def test_a_performer_who_counts_for_several_is_met_as_often(crowd):
    takes = [take("own", seed=20, people=5, offset=(0.0, 0.0, 1.0)), *crowd]
    rotations = uniform_rotations(40, seed=1)
    found = People.of(takes).distance(rotations)
    np.testing.assert_allclose(found, plain_distance(rotations, takes), atol=CORNER)


def test_those_left_out_are_held_against_the_others_alone(crowd):
    everybody = People.of(crowd[:7])  # 7 and 6 people both have two who matter
    for k, held_out in enumerate(everybody.leave_one_out()):
        others = People.of([each for j, each in enumerate(crowd[:7]) if j != k])
        assert held_out.counts.sum() == len(crowd[k].rotations)
        far = others.distance(everybody.rotations_by_performer[k])
        np.testing.assert_allclose(held_out.required, far)


def test_some_of_many_cells_stand_for_all_frames():
    counts = np.array([1, 1, 1000, 1, 3000, 1])
    some, weights = spread_evenly(counts, 4)
    assert some.tolist() == [2, 4]
    assert weights.tolist() == [1, 3]
    every, same = spread_evenly(counts, 6)
    assert every.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(same, counts)


def test_one_stray_does_not_move_the_region(crowd):
    stray = take("stray", seed=30, offset=(0.0, 2.0, 0.0))
    near, with_stray = People.of(crowd), People.of([*crowd, stray])
    assert near.neighbor_count == with_stray.neighbor_count == 3
    alone = with_stray.distance(stray.rotations)
    assert alone.min() > np.radians(40.0)
    assert People.of([stray]).distance(stray.rotations).max() <= CORNER


@pytest.mark.parametrize("chart", ["rotation-vector", "swing-twist", "euler"])
def test_the_field_holds_what_is_near_enough(crowd, chart):
    people = People.of(crowd)
    within = np.radians(25.0)
    axis = AXIS if chart == "swing-twist" else None
    field = people.field(within, chart, axis=axis)
    rotations = uniform_rotations(4000, seed=3)
    far, inside = people.distance(rotations), field.contains(rotations)
    slack = np.radians(5.0)  # of a cell
    assert inside[far < within - slack].all()
    assert not inside[far > within + slack].any()
    assert (inside == (far <= within)).mean() > 0.97


def test_a_hinge_is_held_though_it_is_narrower_than_a_cell():
    hinges = [
        Take(quat.exp(np.linspace(-1.2, 1.2 + 0.1 * k, 300)[:, None] * AXIS), 0.1, str(k), str(k))
        for k in range(3)
    ]
    field = People.of(hinges).field(np.radians(1.0))
    assert field.contains(np.concatenate([each.rotations for each in hinges])).mean() > 0.99
    assert field.volume() < 0.01


def test_a_joint_that_nobody_moves_gets_a_limit_for_any_rejection():
    """Whoever is left out then needs nothing more than the others."""
    still = [replace(take(f"p{k}"), rotations=np.tile(AXIS_TURN, (30, 1))) for k in range(4)]
    options = FitOptions("people", reject=0.01)
    found = fit_joint(still, options, reference=None, axis=AXIS)
    assert found.limit.contains(AXIS_TURN)
    assert found.limit.volume() < 0.01


def test_where_nobody_is_near_enough_the_nearest_node_is_left():
    apart = [take(f"p{k}", size=0.05, offset=offset) for k, offset in enumerate(2.0 * np.eye(3))]
    takes = [*apart, *[take(f"q{k}", size=0.05, offset=o) for k, o in enumerate(-2.0 * np.eye(3))]]
    field = People.of(takes).field(1e-3, resolution=16)
    assert (field.shape.values <= 0.0).sum() >= 1
    assert field.volume() < 0.05
    assert field.contains(field.project(uniform_rotations(20))).all()


def test_the_rejection_asked_for_is_kept_by_those_left_out(crowd):
    people = People.of(crowd)
    near, wide = (promise_of(share, people) for share in (0.05, 0.005))
    assert near.held_out <= 0.05
    assert wide.held_out <= 0.005
    assert wide.margin > near.margin
    held = [People.of([b for b in crowd if b is not a]).distance(a.rotations) for a in crowd]
    assert np.mean([(far > near.margin + CORNER).mean() for far in held]) <= 0.05


def test_newcomers_are_rejected_about_as_often_as_asked_for():
    newcomers = [take(f"n{k}", seed=100 + k) for k in range(12)]
    known = [take(f"p{k}", seed=k) for k in range(12)]
    options = FitOptions("people", "rotation-vector", reject=0.05)
    fitted = fit_joint(known, options, reference=None, axis=AXIS)
    outside = [1.0 - fitted.limit.contains(each.rotations).mean() for each in newcomers]
    assert fitted.promise.rejected <= 0.05
    assert np.mean(outside) < 0.08
    assert fitted.limit.volume() < 0.2


def test_without_a_rejection_the_margin_is_added(crowd):
    options = FitOptions("people", "rotation-vector", margin=0.1)
    fitted = fit_joint(crowd, options, reference=None, axis=AXIS)
    assert fitted.margin == pytest.approx(0.1)
    expected = People.of(crowd).field(DEFAULT_WITHIN + 0.1)
    np.testing.assert_allclose(fitted.limit.shape.values, expected.shape.values)


def test_models_and_the_command_take_it_in_place_of_a_shape(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clips = [person(f"{name}_1", k, tall=1.0 + 0.1 * k) for k, name in enumerate("abcde")]
    model = LimitModel.fit(clips, "people", joints=["LeftArm"], reject=0.2)
    assert model.provenance["options"]["shape"] == "people"
    assert model.provenance["joints"]["LeftArm"]["promised"] <= 0.2 + 1e-9
    for clip in clips:
        save_clip(clip, f"{clip.name}.bvh")
    options = ["-s", "people", "-j", "LeftArm", "--reject", "20%"]
    done = CliRunner().invoke(main, ["fit", ".", "-o", "near.limits.json", *options])
    assert done.exit_code == 0, done.output
    assert load_limits("near.limits.json").provenance["options"]["shape"] == "people"


def test_files_with_options_that_are_gone_still_load(tmp_path):
    clips = [person(f"{name}_1", k) for k, name in enumerate("ab")]
    model = LimitModel.fit(clips, "distance-field", joints=["LeftArm"], resolution=16)
    options = {**model.provenance["options"], "by": "panel"}
    save_limits(
        replace(model, provenance={**model.provenance, "options": options}),
        tmp_path / "old.limits.json",
    )
    loaded = load_limits(tmp_path / "old.limits.json")
    assert loaded.provenance["options"]["by"] == "panel"
    assert loaded.project(clips[0]).frames == clips[0].frames
    shown = CliRunner().invoke(main, ["info", str(tmp_path / "old.limits.json")])
    assert shown.exit_code == 0, shown.output


def test_what_cannot_be_is_refused(crowd):
    with pytest.raises(ValueError, match="at least one take"):
        People.of([])
    with pytest.raises(ValueError, match="two performers"):
        People.of(crowd[:1]).leave_one_out()
    with pytest.raises(ValueError, match="between 0 and 1"):
        promise_of(1.0, People.of(crowd))
    with pytest.raises(ValueError, match="people takes no option threshold"):
        fit_joint(crowd, FitOptions.of("people", None, threshold=2.0), reference=None, axis=AXIS)
    with pytest.raises(ValueError, match="within must be above 0 radians"):
        People.of(crowd).field(0.0)
