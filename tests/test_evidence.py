"""Evidence: duplicates, folds, curves, and the comparison."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import clips as made
from clips import person
from synovia import SHAPES, Limit, LimitModel, quat
from synovia.evidence import TradeoffCurve, at_rejection, compare, families
from synovia.evidence.comparison import nanoseconds, size_in_file
from synovia.evidence.study import Study, uniform_rotations, widen
from synovia.learn import (
    FitOptions,
    find_duplicates,
    join_groups,
    same_bones,
)
from synovia.limit import has_axis

AXIS = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def people():
    names = ("ann_1", "ann_2", "bob_1", "cat_1", "dan_1")
    talls = (1.0, 1.0, 1.1, 0.9, 1.2)
    return [
        person(name, k, tall=tall) for k, (name, tall) in enumerate(zip(names, talls, strict=True))
    ]


@pytest.fixture
def shoulder():
    """Rotations of a ball joint about another place than the identity."""
    rng = np.random.default_rng(5)
    about = quat.exp(np.array([0.4, -0.8, 1.1]))
    return quat.mul(about, quat.exp(rng.uniform(-1.0, 1.0, (400, 3)) * (0.9, 0.5, 0.4)))


# Duplicates


def performers(clips):
    return {clip.name: clip.name.split("_")[0] for clip in clips}


def test_people_with_bones_of_their_own_are_left_alone(people):
    found = find_duplicates(people, performers(people))
    assert found.warnings() == []
    assert set(found.person.values()) == {"ann", "bob", "cat", "dan"}


def test_one_person_under_two_names_is_found_by_bones(people):
    twin = person("eve_1", 9, tall=1.1)
    found = find_duplicates([*people, twin], performers([*people, twin]))
    assert found.same_bones == (("bob", "eve"),)
    assert found.person["bob"] == found.person["eve"] == "bob=eve"
    assert any("same bones" in each for each in found.warnings())


def test_the_same_clip_under_two_names_is_found_by_its_rotations(people):
    copy = replace(people[3], name="fay_1", skeleton=person("fay_1", tall=1.3).skeleton)
    found = find_duplicates([*people, copy], performers([*people, copy]))
    assert found.identical == (("cat_1", "fay_1"),)
    assert found.person["fay"] == "cat=fay"


def test_bones_that_all_share_are_a_rig_and_merge_nobody():
    clips = [made.clip(name, frames=40, seed=k) for k, name in enumerate(("a_1", "b_1"))]
    found = find_duplicates(clips, performers(clips))
    assert found.common_rig == ("a", "b")
    assert found.person == {"a": "a", "b": "b"}
    assert any("share one rig" in each for each in found.warnings())


def test_a_fit_for_a_rejection_holds_nobody_out_against_themselves(people):
    copies = [replace(clip, name=f"again{clip.name}") for clip in people]

    def margin_of(clips):
        model = LimitModel.fit(clips, "box", reject=0.1, joints=["LeftArm"])
        return model.provenance["joints"]["LeftArm"]["margin"]

    with (
        pytest.warns(UserWarning, match="the same clip under several names"),
        pytest.warns(UserWarning, match="performers with the same bones"),
        pytest.warns(UserWarning, match="merged, so that nobody is tested.*ann=againann"),
    ):
        margin = margin_of([*people, *copies])
    assert margin == pytest.approx(margin_of(people), rel=1e-9)


def test_groups_are_joined_through_others():
    found = join_groups(["a", "b", "c", "d"], [("a", "b"), ("c", "b")])
    assert found == {"a": "a=b=c", "b": "a=b=c", "c": "a=b=c", "d": "d"}


def test_bones_are_the_same_to_a_millionth_and_by_name(people):
    ours = people[0].skeleton
    assert same_bones(ours, person("x", tall=1.0 + 1e-8).skeleton)
    assert not same_bones(ours, person("x", tall=1.0 + 1e-4).skeleton)
    assert not same_bones(ours, made.skeleton(("Hips", "Chest", "LeftArm", "Elbow", "LeftHand")))


# Folds


def test_nobody_is_among_the_others_when_left_out(people):
    study = Study.of(people, FitOptions(joints=["LeftArm"]))
    assert study.groups == ("ann", "bob", "cat", "dan")
    joint = study.joint("LeftArm")
    assert [fold.name for fold in joint.folds] == list(study.groups)
    for fold in joint.folds:
        assert fold.name not in {take.performer for take in fold.rest}
    assert len(joint.folds[0].held_out) == 240


def test_by_clip_each_clip_is_left_out(people):
    study = Study.of(people, by="clip")
    assert study.groups == tuple(clip.name for clip in people)


def test_merged_people_are_left_out_together(people):
    twin = person("eve_1", 9, tall=1.1)
    study = Study.of([*people, twin], FitOptions(joints=["LeftArm"]))
    assert "bob=eve" in study.groups
    for fold in study.joint("LeftArm").folds:
        clips = {take.clip for take in fold.rest}
        assert ("bob_1" in clips) == ("eve_1" in clips)


def test_a_fold_is_fitted_as_the_model_is(people):

    study = Study.of(people, FitOptions(joints=["LeftArm"]))
    joint = study.joint("LeftArm")
    fold = joint.folds[1]
    others = [clip for clip in people if not clip.name.startswith("bob")]
    model = LimitModel.fit(others, joints=["LeftArm"], margin=0.1)
    limit = joint.limit(FitOptions("kdop", "swing-twist", margin=0.1), fold)
    rotations = uniform_rotations(500)
    assert np.allclose(limit.distance(rotations), model.limits["LeftArm"].distance(rotations))


def test_too_few_to_leave_out_is_an_error(people):
    with pytest.raises(ValueError, match="takes two or more, got ann"):
        Study.of(people[:2])
    with pytest.raises(ValueError, match="got none"):
        Study.of([])
    with pytest.raises(ValueError, match="by must be"):
        Study.of(people, by="day")
    with pytest.raises(ValueError, match="one name twice"):
        Study.of([people[0], people[0]])
    again = [people[0], replace(people[0], name="ann_9")]
    with pytest.raises(ValueError, match="two that differ"):
        Study.of(again, by="clip")


# Curves


def test_a_curve_is_read_between_its_points():
    curve = TradeoffCurve("x", [0, 1, 2, 3], [0.5, 0.1, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4])
    assert at_rejection(curve, 0.3) == pytest.approx(0.15)
    assert at_rejection(curve, 0.05) == pytest.approx(0.35)
    assert at_rejection(curve, 0.9) == pytest.approx(0.1)
    worse = TradeoffCurve("y", [0], [0.5], [0.1])
    assert np.isnan(at_rejection(worse, 0.1))


def test_a_curve_needs_points():
    with pytest.raises(ValueError, match="as many rejections and volumes"):
        TradeoffCurve("x", [], [], [])


def test_all_rotations_are_spread_evenly():
    rotations = uniform_rotations(40_000, seed=3)
    assert np.array_equal(rotations, uniform_rotations(40_000, seed=3))
    limit = Limit.fit(quat.exp(np.random.default_rng(0).normal(size=(50, 3)) * 0.4), "box")
    assert limit.contains(rotations).mean() == pytest.approx(limit.volume(), rel=0.1)


# The comparison

SOME = ["box", "kdop", "product", "reach-cone", "people"]


@pytest.fixture(scope="module")
def compared(people):
    return compare(
        people,
        SOME,
        joints=["LeftArm", "LeftForeArm"],
        reject=0.05,
        margins=np.radians([0.0, 10.0, 30.0]),
    )


def test_every_family_is_tried_at_every_joint(compared):
    tried = [(trial.joint, trial.shape, trial.chart) for trial in compared.trials]
    assert tried == [(j, *family) for j in ("LeftArm", "LeftForeArm") for family in families(SOME)]
    assert {trial.shape for trial in compared.trials} == set(SOME)
    assert {shape for shape, _ in families()} == {*SHAPES, "people"}


def test_the_margin_is_the_least_for_the_rejection_asked_for(compared, people):
    study = Study.of(people, FitOptions(joints=["LeftArm"]))

    trial = next(t for t in compared.trials if t.shape == "box")
    assert trial.met_target
    assert trial.outcome.mean <= 0.05
    joint = study.joint("LeftArm")

    def rejected(margin):
        shares = []
        for fold in joint.folds:
            limit = joint.limit(FitOptions(trial.shape, trial.chart, margin=0.0), fold)
            shares.append(1.0 - widen(limit, margin).contains(fold.held_out).mean())
        return np.mean(shares)

    margin = trial.outcome.margin
    assert rejected(margin) == pytest.approx(trial.outcome.mean)
    assert margin == 0.0 or rejected(margin - np.radians(0.2)) > 0.05


@pytest.mark.parametrize(("shape", "chart"), families(SHAPES), ids=lambda name: name)
def test_the_growth_that_is_required_is_about_that(shoulder, shape, chart):
    limit = Limit.fit(shoulder, shape, chart, margin=0.0, axis=AXIS if has_axis(chart) else None)
    rotations = uniform_rotations(300)
    required = limit.required_margin(rotations)
    assert required.shape == (300,)
    assert (limit.required_margin(shoulder) <= 1e-9).all()
    for margin in (0.2, 0.5):
        inside = widen(limit, margin).contains(rotations)
        assert inside[required <= 0.4 * margin].all()
        assert ((required <= margin) == inside).mean() > 0.8


def test_progress_goes_family_by_family_the_fast_ones_first(people):
    steps = []

    def progress(items):
        for item in items:
            steps.append(item)
            yield item

    shapes, joints = ["people", "theta-phi", "box"], ["LeftArm", "Chest"]
    found = compare(people[2:], shapes, joints=joints, margin=0.1, progress=progress)
    assert steps[:2] == ["box in rotation-vector, LeftArm", "box in rotation-vector, Chest"]
    assert [step.split()[0].strip(",") for step in steps[4:]] == ["people"] * 2 + ["theta-phi"] * 2
    tried = [(trial.joint, trial.shape) for trial in found.trials]
    assert tried[:4] == [("LeftArm", s) for s in ("people", "theta-phi", "box", "box")]


def test_a_quick_look_is_at_joints_that_move_at_few_frames_and_charts(people, monkeypatch):
    monkeypatch.setattr("synovia.evidence.study.QUICK_JOINTS", 2)
    monkeypatch.setattr("synovia.evidence.study.QUICK_FRAMES", 50)
    whole = Study.of(people)
    study = whole.excerpt()
    spread = {
        name: np.mean(
            [quat.angle_between(quat.mean(t.rotations), t.rotations).mean() for t in takes]
        )
        for name, takes in whole.takes.items()
    }
    assert set(study.names) == set(sorted(spread, key=spread.get)[-2:])
    assert {len(take.rotations) for takes in study.takes.values() for take in takes} == {40}
    found = compare(people, ["box", "ellipsoid"], quick=True, margin=0.1)
    tried = [(trial.joint, trial.shape) for trial in found.trials]
    assert tried == [(joint, shape) for joint in study.names for shape in ("box", "ellipsoid")]
    assert found.trials[0].chart == families(["box"])[0][1]


def test_outcomes_name_the_worst_and_add_up(compared):
    for trial in compared.trials:
        outcome = trial.outcome
        assert set(outcome.rejected) == {"ann", "bob", "cat", "dan"}
        name, share = outcome.worst
        assert outcome.rejected[name] == share == max(outcome.rejected.values())
        assert outcome.mean <= outcome.percentile_95 <= share or share == 0.0
        assert outcome.correction <= outcome.correction_outside + 1e-12
        assert 0.0 <= outcome.volume <= 1.0
        assert trial.bytes > 50
        assert trial.ns is None or trial.ns > 0.0
        assert (np.diff(trial.curve.rejected) <= 1e-12).all()
        assert (np.diff(trial.curve.volume) >= -1e-3).all()


def test_the_curve_over_all_joints_has_each_at_the_same_rejection(compared):
    for overall in compared.overall:
        own = [trial.curve for trial in compared.trials if trial.family == overall.family]
        assert len(own) == len(compared.joints)
        for k in (0, len(overall.curve.rejected) // 2, -1):
            level, volume = overall.curve.rejected[k], overall.curve.volume[k]
            assert volume == pytest.approx(np.mean([at_rejection(each, level) for each in own]))


def test_curves_of_people_begin_where_hardly_anything_is_near(people):
    margins = np.radians([0.0, 10.0, 20.0, 40.0])
    found = compare(people, ["people"], joints=["LeftForeArm"], margins=margins)
    curve = found.trials[0].curve
    assert np.degrees(curve.knobs[[0, -1]]) == pytest.approx([-20.0, 40.0], abs=1e-6)
    assert curve.rejected.max() <= 0.3


def test_overall_is_the_mean_over_joints(compared):
    for k, overall in enumerate(compared.overall):
        trials = [trials[k] for trials in compared.joints.values()]
        assert overall.family == trials[0].family
        mean = np.mean([trial.outcome.mean for trial in trials])
        assert overall.outcome.mean == pytest.approx(mean)
        assert overall.bytes == sum(trial.bytes for trial in trials)


def test_a_comparison_goes_into_json(compared):
    document = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert list(document["joints"]) == ["LeftArm", "LeftForeArm"]
    assert len(document["overall"]) == len(families(SOME))
    row = document["joints"]["LeftArm"][0]
    assert row["margin_deg"] == pytest.approx(np.degrees(compared.trials[0].outcome.margin))
    assert [point["margin_deg"] for point in row["curve"]] == pytest.approx([0.0, 10.0, 30.0])


def test_a_given_margin_is_kept(people):
    found = compare(people, ["box"], joints=["Chest"], margin=0.2)
    assert [trial.outcome.margin for trial in found.trials] == [0.2, 0.2]
    assert all(trial.curve is None for trial in found.trials)


def test_duplicates_are_warned_of_and_merged(people):
    twin = person("eve_1", 9, tall=1.1)
    with pytest.warns(UserWarning, match="same bones"), pytest.warns(UserWarning, match="merged"):
        found = compare([*people, twin], ["box"], joints=["LeftArm"], margin=0.1)
    assert "bob=eve" in found.groups


def test_a_newcomer_who_moves_farther_is_the_worst(people):
    wild = person("zoe_1", 3, tall=1.4, size=1.5)
    found = compare([*people, wild], ["kdop"], joints=["LeftArm"], margin=0.05)
    assert all(trial.outcome.worst[0] == "zoe" for trial in found.trials)


def test_what_cannot_be_compared_is_an_error(people):
    with pytest.raises(ValueError, match="shape must be one of"):
        compare(people, ["blob"])
    with pytest.raises(ValueError, match="no joint 'Tail'"):
        compare(people, joints=["Tail"])
    with pytest.raises(ValueError, match="reject must be"):
        compare(people, reject=0.0)
    with pytest.raises(ValueError, match="margin must be"):
        compare(people, margin=-1.0)


def test_size_and_time_are_measured(shoulder):
    small, large = Limit.fit(shoulder, "box"), Limit.fit(shoulder, "kdop")
    assert size_in_file(small) < size_in_file(large)
    assert nanoseconds(small, shoulder) > 0.0


def test_times_are_measured_at_a_few_joints_that_differ(people, monkeypatch):
    monkeypatch.setattr("synovia.evidence.comparison.TIMED_JOINTS", 1)
    joints = ["Chest", "LeftArm", "LeftForeArm"]
    found = compare(people, ["box"], joints=joints, margin=0.1)
    timed = [trial.ns for trial in found.trials if trial.chart == "rotation-vector"]
    assert timed[0] > 0.0
    assert timed[1:] == [None, None]
    assert found.overall[0].ns == timed[0]
    assert found.to_dict()["joints"]["LeftArm"][0]["ns"] is None
