"""What newcomers are promised: margins from a few people that hold for the next, on average."""

from __future__ import annotations

import numpy as np
import pytest

from clips import person
from synovia import LimitModel, quat
from synovia.learn import FitOptions, Take, fit_joint, trim
from synovia.learn.fitting import DEFAULT_MARGIN, MAX_FOLDS, MAX_MARGIN
from synovia.learn.margins import DEFAULT_REJECT, MIN_TAIL_PEOPLE, HeldOut, Tail, least_for, promise
from synovia.learn.trimming import thin_takes, trim_without

AXIS = np.array([1.0, 0.0, 0.0])


def crowd(rng, people, frames=40):
    """Return what people need: mostly nothing, and a fifth of the time as much as each goes."""
    return [
        HeldOut(extent * (rng.uniform(size=frames) < 0.2), np.ones(frames, np.int64))
        for extent in rng.exponential(0.2, people)
    ]


@pytest.mark.parametrize("people", [10, 30])
def test_newcomers_are_outside_about_as_often_as_promised_on_average(people):
    rng = np.random.default_rng(people)
    newcomers = np.sort(np.concatenate([each.required for each in crowd(rng, 5000)]))
    promised, luck = [], []
    for _ in range(200):
        held_out = crowd(rng, people)
        kept = promise(0.005, held_out, 0.0, 10.0)
        assert kept.held_out <= kept.rejected <= 0.005 + 1e-9
        promised.append((newcomers > kept.margin).mean())
        luck.append((newcomers > least_for(0.005, held_out)).mean())
    assert 0.0025 < np.mean(promised) < 0.009  # few people: a tail of less than three
    assert np.mean(luck) > 1.3 * np.mean(promised)


def test_the_bound_on_the_next_of_exponentials_is_exact():
    rng = np.random.default_rng(0)
    rows = rng.exponential(0.3, (20_000, 5))
    sums = rows[:, :4].sum(axis=1)
    for share in (0.3, 0.05):
        tails = [Tail(0.0, 1.0, 4.0, total / 4.0).margin_for(share) for total in sums]
        assert (rows[:, 4] > tails).mean() == pytest.approx(share, abs=0.006)


def test_a_tail_undoes_itself():
    tail = Tail(0.2, 0.1, 3.5, 0.15)
    for share in (0.09, 0.01, 1e-4):
        assert tail.share_beyond(tail.margin_for(share)) == pytest.approx(share)
    assert tail.margin_for(0.2) == 0.2


def test_those_who_weigh_most_make_up_few_people():
    one = [HeldOut(np.linspace(0.0, 1.0, 11), np.ones(11, np.int64))]
    none = [HeldOut(np.zeros(11), np.ones(11, np.int64))] * 9
    assert Tail.of(one * 10, 0.5).people == pytest.approx(10.0)
    assert Tail.of(one * 5 + none, 0.5).people == pytest.approx(5.0)
    assert Tail.of(one + none, 0.5).people == MIN_TAIL_PEOPLE


def test_the_least_margin_counts_frames_and_weighs_people_alike():
    many = HeldOut(np.array([0.1, 0.5]), np.array([990, 10]))
    few = HeldOut(np.array([0.2, 0.3]), np.array([1, 1]))
    for share in (0.001, 0.004, 0.006, 0.2, 0.3):
        least = least_for(share, [many, few])
        beyond = [np.mean([each.share_beyond(m) for each in (many, few)]) for m in (least, 0.5)]
        assert beyond[0] <= share
        needed = sorted({*many.required, *few.required})
        smaller = [m for m in needed if m < least]
        for margin in smaller:
            assert np.mean([each.share_beyond(margin) for each in (many, few)]) > share


def test_less_rejected_is_wider():
    held_out = crowd(np.random.default_rng(3), 6)
    shares = np.geomspace(1e-4, 0.5, 60)
    margins = [promise(share, held_out, 0.0, 10.0).margin for share in shares]
    assert (np.diff(margins) <= 0.0).all()
    assert margins[-1] < margins[0]


def test_what_is_out_of_reach_is_promised_as_it_is():
    rng = np.random.default_rng(1)
    held_out = crowd(rng, 4)
    kept = promise(0.001, held_out, 0.0, 0.3)
    assert kept.margin == 0.3
    assert kept.rejected > 0.001
    everybody_alike = [HeldOut(np.zeros(9), np.ones(9, np.int64))] * 3
    still = promise(0.01, everybody_alike, 0.05, 1.0)
    assert (still.margin, still.held_out, still.rejected) == (0.05, 0.0, 0.0)


# Through the fit: who is left out, and what is asked for unless somebody says.


def takes(people, frames=120, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for k in range(people):
        t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
        waves = np.sin(rng.integers(1, 4, 3) * t + rng.uniform(0.0, 6.0, 3))
        sizes = rng.uniform(0.6, 1.0, 3) * (0.8, 0.5, 0.4)
        made.append(Take(quat.exp(sizes * waves), 1 / 60, f"p{k}_1", f"p{k}"))
    return made


@pytest.mark.parametrize("people", [4, 9])  # as many must confirm as without one of them
def test_trimming_without_each_is_trimming_the_others(people):
    thinned = thin_takes(takes(people), lambda take: take.performer)
    groups = [[f"p{k}"] for k in range(people)]
    for group, (rest, kept) in zip(groups, trim_without(thinned, groups), strict=True):
        others = [take for take in thinned if take.performer not in group]
        assert rest == others
        # Cells that rotations are compared by are stood for by another rotation here and there.
        ours, theirs = np.concatenate(kept), np.concatenate(trim(others).kept)
        assert (ours == theirs).mean() > 0.98
        assert not ours.all()


def test_cells_stand_for_all_frames():
    (take,) = takes(1, frames=4000)
    (thinned,) = thin_takes([take], lambda take: take.performer)
    assert thinned.frame_counts.sum() == 4000
    assert len(thinned.rotations) < 1000
    assert not thinned.is_sample


@pytest.mark.parametrize("shape", ["kdop", "reach-cone"])
def test_newcomers_of_a_fit_are_outside_no_more_than_promised(shape):
    options = FitOptions.of(shape, None, reject=0.02)
    shares = []
    for seed in range(4):
        known, newcomers = takes(12, seed=seed), takes(20, seed=100 + seed)
        fitted = fit_joint(known, options, reference=None, axis=AXIS)
        assert fitted.promise.held_out <= fitted.promise.rejected <= 0.02 + 1e-9
        assert fitted.margin == fitted.promise.margin < MAX_MARGIN
        shares += [1.0 - fitted.limit.contains(each.rotations).mean() for each in newcomers]
    assert np.mean(shares) < 0.025


def test_many_are_left_out_some_at_a_time():
    fitted = fit_joint(takes(2 * MAX_FOLDS + 3), FitOptions(reject=0.02), reference=None, axis=AXIS)
    assert fitted.promise.held_out <= 0.02 + 1e-9


def test_three_performers_aim_at_one_percent_unless_somebody_says():
    clips = [person(f"{name}_1", k, tall=1.0 + 0.1 * k) for k, name in enumerate("abc")]
    three = LimitModel.fit(clips, joints=["LeftArm"])
    asked = LimitModel.fit(clips, joints=["LeftArm"], reject=DEFAULT_REJECT)
    assert three.provenance["options"]["reject"] == DEFAULT_REJECT
    np.testing.assert_array_equal(three.limits["LeftArm"].packed, asked.limits["LeftArm"].packed)
    row = three.provenance["joints"]["LeftArm"]
    assert row["rejected"] <= row["promised"]
    two = LimitModel.fit(clips[:2], joints=["LeftArm"])
    assert two.provenance["options"]["reject"] is None
    assert two.provenance["joints"]["LeftArm"]["margin"] == DEFAULT_MARGIN
    given = LimitModel.fit(clips, joints=["LeftArm"], margin=0.1)
    assert given.provenance["joints"]["LeftArm"]["margin"] == 0.1
    assert given.provenance["joints"]["LeftArm"]["promised"] is None
