"""Calibration: a constant offset is found from other clips, and turned back."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from oracles import EXHAUSTIVE
from synovia import Clip, LimitModel, Pose, Skeleton, quat, save_clip, save_limits
from synovia.cli import main
from synovia.learn import Sample, calibrate
from synovia.learn.population import MAX_OFFSET, OFFSET_SPREAD, OffsetObjective, turn_bones

JOINT = "LeftUpperLeg"
OFF = np.radians([6.0, -5.0, 3.0])


def performed(name, seed, off=None):
    """A leg that swings about its middle as people's do, its hip off by a rotation vector."""
    rng, frames, move = np.random.default_rng(seed), 900, 20
    stops = rng.normal(size=(frames // move + 2, 2, 3)) * [[0.45, 0.15, 0.2], [0.6, 0.0, 0.05]]
    low, high = [[-0.4, -0.3, -0.4], [-0.9, 0.0, -0.1]], [[1.0, 0.4, 0.3], [0.9, 0.0, 0.1]]
    stops = np.clip(stops, low, high)
    leg, share = np.divmod(np.arange(frames) / move, 1.0)
    leg, share = leg.astype(int), share[:, None, None]
    turns = quat.exp(stops[leg] + share * (stops[leg + 1] - stops[leg]))
    skeleton = Skeleton(("Pelvis", JOINT, "LeftLowerLeg"), [-1, 0, 1], -np.eye(3))
    rotations = np.concatenate([np.tile(quat.IDENTITY, (frames, 1, 1)), turns], axis=1)
    positions = np.broadcast_to(skeleton.offsets, (frames, 3, 3))
    clip = Clip(skeleton, Pose(rotations, positions), 1.0 / 60.0, name)
    if off is None:
        return clip
    rotations = clip.pose.rotations.copy()
    joint = clip.skeleton.index(JOINT)
    rotations[:, joint] = turn_bones(rotations[:, joint], off)
    return replace(clip, pose=clip.pose.with_rotations(rotations))


@pytest.fixture(scope="module")
def model():
    people = [performed(f"p{k}_1", k) for k in range(4)]
    return LimitModel.fit(people, joints=[JOINT, "LeftLowerLeg"], margin=0.08, keep_samples=True)


def test_an_offset_is_found_from_other_clips(model):
    others = [performed("ann_1", 10, OFF), performed("ann_2", 11, OFF)]
    found = calibrate(others, model.population, joints=[JOINT]).offsets[JOINT]
    back = quat.mul(quat.exp(OFF), quat.exp(found.vector))
    assert quat.angle_between(back, quat.IDENTITY) < np.radians(4.0)


def test_an_offset_is_off_by_about_its_uncertainty(model):
    rng = np.random.default_rng(0)
    errors = []
    for seed in range(5 if EXHAUSTIVE else 3):
        turn = np.radians(10.0) * quat.rotate(quat.normalize(rng.normal(size=4)), np.eye(3)[0])
        clip = performed("ann_1", 20 + seed, turn)
        found = calibrate([clip], model.population, joints=[JOINT]).offsets[JOINT]
        back = quat.mul(quat.exp(turn), quat.exp(found.vector))
        errors.append(quat.angle_between(back, quat.IDENTITY) / found.uncertainty)
        np.testing.assert_allclose(found.covariance, found.covariance.T)
        assert found.angle < 0.75 * MAX_OFFSET  # it does not drift to where the search ends
    assert max(errors) < 2.0
    assert np.mean(np.square(errors)) > 0.25


def test_one_still_pose_says_nothing_but_what_was_known_before(model):
    still = performed("ann_1", 10)
    pose = still.pose.with_rotations(np.tile(still.pose.rotations[:1], (900, 1, 1)))
    found = calibrate([replace(still, pose=pose)], model.population, joints=[JOINT]).offsets[JOINT]
    assert np.linalg.eigvalsh(found.covariance).max() >= 0.9 * OFFSET_SPREAD**2


def test_who_is_not_off_is_hardly_turned(model):
    found = calibrate([performed("bob_1", 12)], model.population)
    assert set(found.offsets) == {JOINT, "LeftLowerLeg"}
    assert found.offsets[JOINT].angle < np.radians(5.0)  # four people tell no better


def test_fewer_frames_are_outside_once_turned_back(model):
    calibration = calibrate([performed("ann_1", 10, OFF)], model.population)
    new = performed("ann_3", 13, OFF)
    before, after = model.check(new), model.check(calibration.apply(new))
    assert after.outside.mean() < 0.7 * before.outside.mean()
    assert np.array_equal(
        calibration.apply(new).pose.rotations[:, 0], new.pose.rotations[:, 0]
    )  # what is not calibrated stays


def test_the_score_is_the_share_of_people_nearby():
    here = np.tile(quat.IDENTITY, (9, 1))
    spread = quat.exp(np.linspace(0.0, 2.0, 9)[:, None] * np.eye(3)[0])
    samples = [
        Sample("a", "a", np.arange(9), quat.mul(spread, here)),
        Sample("b", "b", np.arange(9), quat.mul(quat.exp(np.array([0.0, 0, 3.0])), spread)),
    ]
    density = OffsetObjective.of(quat.exp(np.array([[0.5, 0, 0], [0, 1.5, 0]])), samples)
    near, far = density.score(np.zeros(3))
    assert 0.0 < near <= 0.5
    assert far == 0.0
    # Oracle: every sample, no cut in the search.
    angles = quat.angle_between(quat.exp(np.array([0.5, 0, 0])), spread)
    weights = np.exp(-0.5 * (angles / np.radians(8.0)) ** 2)[angles < np.radians(18.0)]
    assert near == pytest.approx(min(weights.sum() / 10.0, 1.0) / 2.0)


def test_what_cannot_be_calibrated_is_an_error(model):
    with pytest.raises(ValueError, match="got none"):
        calibrate([], model.population)
    with pytest.raises(ValueError, match="no joint 'Tail'"):
        calibrate([performed("a", 1)], model.population, joints=["Tail"])
    with pytest.raises(ValueError, match="keep_samples"):
        _ = LimitModel(model.limits, model.skeleton).population


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_check_calibrates(model, tmp_path):
    limits, ann = tmp_path / "human.limits.json", tmp_path / "ann"
    save_limits(model, limits)
    ann.mkdir()
    for k in (1, 2):
        save_clip(performed(f"ann_{k}", 9 + k, OFF), ann / f"ann_{k}.bvh")
    said = run(ann / "ann_2.bvh", "-l", limits, "--calibrate", ann, code=1).stdout.splitlines()
    assert said[0].split() == ["turned", "back", "by", "deg", "about", "x", "y", "z"]
    assert said[1].startswith(JOINT)
    _, size, sign, error, *_ = said[1].split()
    assert float(size) == pytest.approx(8.4, abs=4.0)
    assert sign == "±"
    assert 1.0 < float(error) < 6.0
    arguments = (ann / "ann_2.bvh", "-l", limits, "--json")
    aligned = json.loads(run(*arguments, "--calibrate", ann, code=1).stdout)
    assert set(aligned["offsets_deg"]) == {JOINT, "LeftLowerLeg"}
    assert aligned["offset_uncertainty_deg"][JOINT] == pytest.approx(float(error), abs=0.05)
    before = json.loads(run(*arguments, code=1).stdout)
    outside = [
        next(row["frames_outside"] for row in told["joints"] if row["name"] == JOINT)
        for told in (before, aligned)
    ]
    assert outside[1] < outside[0]
    assert "offsets_deg" not in before


def test_check_says_why_it_cannot_calibrate(model, tmp_path):
    bare, full = tmp_path / "bare.limits.json", tmp_path / "full.limits.json"
    save_limits(LimitModel(model.limits, model.skeleton), bare)
    save_limits(model, full)
    clip = tmp_path / "ann_1.bvh"
    save_clip(performed("ann_1", 10), clip)
    said = run(clip, "-l", bare, "--calibrate", clip, code=2).stderr
    assert "no samples to calibrate with; write it with fit --keep-samples" in said
    said = run(clip, "-l", full, "--calibrate", clip, code=2).stderr
    assert "needs other clips of the performer" in said
