"""Thinning, flips, confirmation and isolation, against brute force and on made-up captures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synovia import quat
from synovia.learn import Take, flips, leave_one_out, performer_of, thin, trim
from synovia.learn.takes import flips_by_steps
from synovia.learn.trimming import (
    COMPARED_CELL,
    CONFIRMATION_RADIUS,
    _least_confirmed,
    confirmations,
    distances_without,
    isolated_frames,
)

CMU = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh"
FRAME = 1.0 / 120.0


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def cloud(rng, frames, center=(0.0, 0.0, 0.0), spread=0.3):
    """Rotations about `center`, a rotation vector, with signs at random."""
    turns = quat.exp(spread * rng.normal(size=(frames, 3)))
    return rng.choice([-1.0, 1.0], size=(frames, 1)) * quat.mul(quat.exp(np.array(center)), turns)


def wave(frames, size=0.3, axis=(1.0, 0.0, 0.0)):
    """A smooth movement about one axis, back and forth in two seconds."""
    angles = size * np.sin(np.pi * FRAME * np.arange(frames))
    return quat.exp(angles[:, None] * np.array(axis))


def turned(rotations, degrees):
    return quat.mul(rotations, quat.exp(np.array([0.0, np.radians(degrees), 0.0])))


def take(rotations, performer="a", clip=""):
    return Take(rotations, FRAME, clip or f"{performer}_1", performer)


def test_flips_of_several_joints_at_once_are_those_of_each(rng):
    paths = np.stack([wave(300), *(wave(300) for _ in range(3))])
    paths[1, :4] = turned(paths[1, :4], 150.0)
    paths[2, 200:210] = turned(paths[2, 200:210], 90.0)
    paths[3] = cloud(rng, 300, spread=2.0)
    steps = quat.angle_between(paths[:, :-1], paths[:, 1:])
    found = flips_by_steps(steps, FRAME)
    assert [bool(own.any()) for own in found] == [False, True, True, True]
    np.testing.assert_array_equal(found, [flips(path, FRAME) for path in paths])


@pytest.mark.parametrize("size", [0, 1, 2, 3000])
@pytest.mark.parametrize("cell", [0.05, 0.3, 7.0])
def test_thin_keeps_the_first_point_of_each_cell(rng, size, cell):
    points = rng.normal(size=(size, 3))
    first = {}
    for i, key in enumerate(map(tuple, np.floor(points / cell))):
        first.setdefault(key, i)
    assert thin(points, cell=cell).tolist() == sorted(first.values())


def test_smooth_movement_has_no_flips_whatever_the_signs(rng):
    assert not flips(wave(600) * rng.choice([-1.0, 1.0], size=(600, 1)), FRAME).any()


def test_a_fast_start_that_slows_down_is_no_flip():
    angles = 2.0 * (1.0 - np.exp(-np.arange(200) / 20.0))
    assert not flips(quat.exp(angles[:, None] * np.array([0.0, 0.0, 1.0])), FRAME).any()


@pytest.mark.parametrize(
    ("parts", "expected"),  # parts of a wave, by frames and degrees of rotation; flipped frames
    [
        ([(200, 0.0), (6, 150.0), (394, 0.0)], range(200, 206)),
        ([(300, 0.0), (300, 150.0)], ()),  # a rotation that stays
        ([(1, 90.0), (600, 0.0)], (0,)),  # an invented first frame
        ([(1, 12.0), (600, 0.0)], (0,)),
        ([(5, 0.0), (9, 150.0), (7, 0.0)], (*range(5), *range(14, 21))),  # the longest is kept
    ],
)
def test_frames_that_leap_and_come_back_are_flips(parts, expected):
    rotations = np.concatenate([turned(wave(frames), degrees) for frames, degrees in parts])
    assert np.flatnonzero(flips(rotations, FRAME)).tolist() == list(expected)


def test_slow_frames_may_turn_far_but_never_beyond_120_degrees():
    rotations = np.concatenate([wave(9), turned(wave(1), 110.0), turned(wave(9), 0.0)])
    assert not flips(rotations, 0.1).any()
    rotations[9] = turned(wave(1), 130.0)[0]
    assert np.flatnonzero(flips(rotations, 0.1)).tolist() == [9]


def test_a_lower_speed_finds_more_flips():
    rotations = np.concatenate([wave(200), turned(wave(6), 20.0), wave(200)])
    assert not flips(rotations, FRAME).any()
    assert flips(rotations, FRAME, max_speed=np.radians(1800.0)).sum() == 6


def others_by_brute_force(takes, k):
    """The angle of each frame to the k-th nearest other performer, from all pairs."""
    answers = []
    for one in takes:
        nearest = {}
        for other in takes:
            if other.performer != one.performer:
                angles = quat.angle_between(one.rotations[:, None], other.rotations).min(axis=1)
                nearest[other.performer] = np.minimum(nearest.get(other.performer, np.inf), angles)
        answers.append(np.sort(list(nearest.values()), axis=0)[k - 1])
    return answers


def distance_to_others(takes, **options):
    return distances_without(takes, [()], **options)[0]


def five_performers(rng):
    """Takes of five people, one of them in two clips, near a half turn, where vectors fold."""
    people = ["a", "b", "c", "c", "d", "e"]
    return [
        take(cloud(rng, 80, center=(2.9, 0.2 * i, 0.0)), name, f"{name}_{i}")
        for i, name in enumerate(people)
    ]


def test_distance_to_others_is_that_of_all_pairs(rng):
    takes = five_performers(rng)
    exact = np.concatenate(others_by_brute_force(takes, confirmations(5)))
    found = np.concatenate(distance_to_others(takes))
    assert 0.0 < np.abs(found - exact).max() <= 2.0 * np.sqrt(3.0) * COMPARED_CELL


def test_what_is_near_enough_needs_no_search(rng):
    takes = five_performers(rng)
    plain = np.concatenate(distance_to_others(takes))
    found = np.concatenate(distance_to_others(takes, enough=CONFIRMATION_RADIUS))
    far = plain > CONFIRMATION_RADIUS
    assert 0 < far.sum() < len(far)
    assert (found == 0.0).any()
    np.testing.assert_array_equal(found[far], plain[far])
    assert (found[~far] <= plain[~far]).all()


def test_what_may_all_be_dropped_needs_no_search(rng):
    takes = five_performers(rng)
    groups = [(), ("a",), ("b", "c")]
    plain = distances_without(takes, groups)
    spared = []
    for share in (0.02, 0.3, 0.6, 0.95):
        found = distances_without(takes, groups, enough=CONFIRMATION_RADIUS, spare=share)
        for group, exact, quick in zip(groups, plain, found, strict=True):
            here = [k for k, each in enumerate(takes) if each.performer not in group]
            rest = [takes[k] for k in here]
            masks = [
                np.concatenate(_least_confirmed(rest, [angles[k] for k in here], share))
                for angles in (exact, quick)
            ]
            assert masks[0].any()
            np.testing.assert_array_equal(*masks)
            spared.append(bool((np.concatenate(quick) == 2.0 * np.pi).any()))
    assert not all(spared[:3])
    assert all(spared[-3:])


def test_a_performer_does_not_confirm_themselves(rng):
    same = cloud(rng, 50, center=(0.0, 2.0, 0.0), spread=0.01)
    usual = [take(cloud(rng, 50, spread=0.01), name) for name in "abc"]
    far = distance_to_others([*usual, take(same, "d", "d_1"), take(same, "d", "d_2")])
    assert [bool((each > CONFIRMATION_RADIUS).all()) for each in far] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_a_third_of_the_performers_confirms():
    assert [confirmations(n) for n in (3, 4, 5, 8, 18, 99)] == [1, 1, 2, 3, 6, 6]


def test_a_small_group_apart_is_isolated_and_a_large_one_is_not(rng):
    far = cloud(rng, 10, center=(0.0, 1.5, 0.0), spread=0.01)
    (mask,) = isolated_frames([take(np.concatenate([wave(590), far]))])
    assert np.flatnonzero(mask).tolist() == list(range(590, 600))
    assert not isolated_frames([take(np.concatenate([wave(90), far]))])[0].any()


def test_groups_meet_across_the_half_turn():
    angles = np.linspace(-1.0, 0.05, 600) + np.pi
    rotations = quat.exp(quat.log(quat.exp(angles[:, None] * np.array([1.0, 0.0, 0.0]))))
    assert np.ptp(rotations[:, 1]) > 1.9
    assert not isolated_frames([take(rotations)])[0].any()


def test_the_smallest_groups_go_first_and_at_most_a_share(rng):
    small = [cloud(rng, n, center=(0.0, 1.0 + i, 0.0), spread=0.01) for i, n in enumerate((20, 15))]
    (mask,) = isolated_frames([take(np.concatenate([wave(565), *small]))])
    assert np.flatnonzero(mask).tolist() == list(range(585, 600))


def test_trim_drops_flips_and_what_nobody_confirms():
    takes = [take(wave(600), name) for name in "abcd"]
    odd = wave(600)
    odd[0] = turned(odd[:1], 90.0)[0]
    odd[300:340] = turned(odd[300:340], 25.0)
    trimmed = trim([*takes, take(odd, "e")])
    assert np.flatnonzero(~trimmed.kept[4]).tolist() == [0, *range(300, 340)]
    assert all(mask.all() for mask in trimmed.kept[:4])
    assert (trimmed.rule, trimmed.frames) == ("confirmation", 3000)
    assert (trimmed.flips, trimmed.unconfirmed, trimmed.isolated) == (1, 40, 0)


def test_trim_drops_the_least_confirmed_first_and_at_most_a_share():
    takes = [take(wave(600), name) for name in "abc"]
    odd = quat.exp(np.linspace(0.0, 2.0, 600)[:, None] * np.array([0.0, 0.0, 1.0]))
    trimmed = trim([*takes, take(odd, "d")], share=0.01)
    assert trimmed.unconfirmed == 24
    assert np.flatnonzero(~trimmed.kept[3]).min() > 570


def test_trim_of_two_performers_drops_what_stands_apart(rng):
    far = cloud(rng, 40, center=(0.0, 1.5, 0.0), spread=0.01)
    takes = [take(wave(600), "a"), take(np.concatenate([far, wave(560)]), "b")]
    trimmed = trim(takes)
    assert np.flatnonzero(~trimmed.kept[1]).tolist() == list(range(40))
    assert (trimmed.rule, trimmed.isolated, trimmed.unconfirmed) == ("isolation", 40, 0)
    assert trimmed.rotations(takes).shape == (1160, 4)


def test_nothing_to_trim_is_an_error():
    with pytest.raises(ValueError, match="at least one take, got none"):
        trim([])
    with pytest.raises(ValueError, match="at least one frame, got none in 'walk'"):
        take(np.empty((0, 4)), clip="walk")
    with pytest.raises(ValueError, match="rotations of 'walk' must be unit quaternions"):
        take(2.0 * wave(3), clip="walk")
    with pytest.raises(ValueError, match="share must be at least 0 and below 1, got 5"):
        trim([take(wave(3))], share=5)


@pytest.mark.parametrize(
    ("clip", "performer"),
    [("02_01.bvh", "02"), ("x/ann-walk_2.bvh", "ann"), ("walk", "walk"), ("_walk.bvh", "_walk")],
)
def test_the_performer_stands_first_in_the_name_or_where_the_pattern_says(clip, performer):
    assert performer_of(clip) == performer
    assert performer_of(f"S11/{clip}", r"S(\d+)/") == "11"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "is not valid"), ("S", "must have one"), ("(a)(b)", "got 2"), ("X(.)", "finds nobody")],
)
def test_a_pattern_that_cannot_find_the_performer_is_an_error(pattern, message):
    with pytest.raises(ValueError, match=message):
        performer_of("S11/walk.bvh", pattern)


@pytest.mark.skipif(not CMU.is_dir(), reason=f"no CMU captures at {CMU}")
@pytest.mark.parametrize(
    ("clip", "joint", "flipped"),
    [
        ("rom/74_13", "LeftFoot", [*range(1236, 1240), *range(1272, 1276)]),
        ("motion/88_04", "RightFoot", [648, 649]),
        ("motion/02_01", "LeftArm", [0]),
        ("motion/02_01", "LeftUpLeg", [0]),
    ],
)
def test_flips_of_real_captures_are_found(clip, joint, flipped):
    from synovia.io import load_clip

    real = load_clip(CMU / f"{clip}.bvh")
    rotations = real.pose.rotations[:, real.skeleton.names.index(joint)]
    found = np.flatnonzero(flips(rotations, real.frame_time))
    assert set(flipped) <= set(found.tolist())
    assert len(found) < 0.05 * len(rotations)


# Leave-one-out


def test_each_group_is_held_out_of_the_others(rng):
    takes = [
        take(cloud(rng, 40), "a", "a_1"),
        take(wave(60), "b"),
        take(cloud(rng, 30), "a", "a_2"),
        take(wave(80), "own"),
    ]
    folds = leave_one_out(takes, lambda each: None if each.performer == "own" else each.performer)
    assert [fold.name for fold in folds] == ["a", "b"]
    assert folds[0].rest == (takes[1], takes[3])
    assert folds[1].rest == (takes[0], takes[2], takes[3])
    assert np.array_equal(folds[1].held_out, takes[1].without_flips())
    assert np.array_equal(
        folds[0].held_out, np.concatenate([takes[k].without_flips() for k in (0, 2)])
    )
    assert len(folds[0].rest_rotations) == 140
    assert leave_one_out(takes, lambda each: "all") == ()
