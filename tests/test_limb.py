"""Limbs: twist is shared along upper bone, lower bone and end."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

from limbs import LIMBS, Y, arm, leg, legal_by_search, model_of, random_limbs, twins
from synovia import Clip, Pose, Skeleton, load_limits, quat, save_limits
from synovia.io import limits_schema
from synovia.io.smpl import smpl_skeleton
from synovia.limit import DependentRange
from synovia.limit.softening import Beyond, Inside
from synovia.model import (
    Limb,
    LiveClamp,
    LivePath,
    couple,
    joint_by_joint,
    limbs_on_rig,
    share_twist,
)
from synovia.model.clamp import clamp_paths, step_bounds
from synovia.model.retarget import limbs_from_rig
from synovia.rigs import (
    FINGERS,
    MEASURED_FROM,
    canonical_skeleton,
    limits_from_rig,
    limits_on_rig,
)
from synovia.skeleton import forward, lineage
from synovia.view.scene import scene_of
from synovia.view.session import Session

every_limb = pytest.mark.parametrize("limb", LIMBS.values(), ids=LIMBS)


@every_limb
def test_the_verdict_is_that_of_a_fine_search(limb):
    limbs = random_limbs(limb, 400)
    legal, _ = legal_by_search(limb, limbs)
    assert 40 < legal.sum() < 360
    found = limb.contains(limbs)
    assert not (legal & ~found).any()
    assert (found & ~legal).sum() <= 1  # legal only between two steps of the search


@every_limb
def test_the_verdict_near_the_boundary_is_that_of_a_fine_search(limb):
    outside = random_limbs(limb, 300, seed=1)
    edge = limb.project(outside)
    for share in (0.99, 1.01):  # of the way to the boundary
        limbs = quat.slerp(outside, edge, share)
        legal, least = legal_by_search(limb, limbs)
        found = limb.contains(limbs)
        assert not (legal & ~found).any()
        assert (least[found & ~legal] < np.radians(0.4)).all()  # what a step may hide


@every_limb
def test_equivalent_limbs_get_the_same_verdict(limb):
    rng = np.random.default_rng(2)
    legal = limb.sample(2000, rng, quat.IDENTITY)
    shift_deg = 45.0 if limb.axes[0, 0] else 30.0  # of arms, of legs
    most = np.minimum(limb.max_shift(legal), np.radians(shift_deg))
    shift = rng.uniform(-1.0, 1.0, len(legal)) * most
    twist = rng.uniform(-1.0, 1.0, len(legal)) if limb.moves_end_twist else None
    assert limb.contains(twins(limb, legal, shift, twist)).mean() >= 0.999
    limbs = random_limbs(limb, 4000, seed=14)
    same = twins(limb, limbs, rng.uniform(-1.0, 1.0, 4000) * np.radians(shift_deg))
    agreement = (limb.contains(same) == limb.contains(limbs)).mean()
    print(f"{agreement:.1%} keep their verdict when up to {shift_deg:.0f} degrees are moved")
    assert agreement >= 0.97
    if limb.moves_end_twist:  # between lower bone and end, whether legal or not
        limbs = random_limbs(limb, 2000, seed=3)
        same = twins(limb, limbs, np.zeros(2000), rng.uniform(-1.0, 1.0, 2000))
        assert (limb.contains(same) == limb.contains(limbs)).mean() >= 0.999


@every_limb
def test_legal_limbs_come_back_bit_for_bit_and_others_legal(limb):
    limbs = random_limbs(limb, 1000, seed=4, spread=1.5).reshape(20, 50, -1, 4)
    legal, projected = limb.contains(limbs), limb.project(limbs)
    assert 0.1 < legal.mean() < 0.9
    assert limb.contains(projected).all()
    assert projected[legal].tobytes() == limbs[legal].tobytes()
    assert limb.project(projected).tobytes() == projected.tobytes()
    violation = limb.violation(limbs)
    assert ((violation > 0.0).any(axis=-1) == ~legal).all()
    assert (limb.violation(projected) == 0.0).all()


@every_limb
def test_samples_are_legal_and_softened_limbs_stay_near(limb):
    limbs = limb.sample(200, np.random.default_rng(6), quat.IDENTITY)
    assert limb.contains(limbs).all()
    outside = random_limbs(limb, 200, seed=7)
    assert limb.contains(limb.soften(outside, Inside(0.1))).all()
    beyond = quat.angle_between(limb.soften(outside, Beyond(0.1)), limb.project(outside))
    assert 0.05 < beyond.max() <= 0.1 + 1e-9
    assert limb.soften(limbs, Beyond(0.1)).tobytes() == limbs.tobytes()


@every_limb
def test_the_way_to_the_first_exit_is_legal_and_the_next_step_is_not(limb):
    start = limb.sample(20, np.random.default_rng(8), quat.IDENTITY)
    end = random_limbs(limb, 20, seed=9, spread=2.0)
    exits = limb.first_exit(start, end)
    assert 0 < (exits < 1.0).sum() < 20

    def between(shares):
        return quat.slerp(start, end, np.broadcast_to(shares[:, None], start.shape[:2]))

    for share in np.linspace(0.0, 1.0, 50):
        assert limb.contains(between(share * exits)).all()
    left = exits < 1.0
    assert not limb.contains(between(np.minimum(exits + 1e-6, 1.0)))[left].any()
    assert (limb.first_exit(end, start)[~limb.contains(end)] == 0.0).all()


def wave(limb, frames=120, seed=0, size=1.0):
    """A path in time of a limb, in and out of its limits."""
    rng = np.random.default_rng(seed)
    middle = limb.sample(1, rng, quat.IDENTITY)[0]
    time = np.linspace(0.0, 2.0 * np.pi, frames)[:, None, None]
    axes = rng.normal(size=(2, *middle.shape[:1], 3))
    return quat.mul(middle, quat.exp(size * (np.sin(time) * axes[0] + np.sin(2 * time) * axes[1])))


@every_limb
def test_clamped_paths_are_legal_without_pops(limb):
    for seed in range(6):
        path = wave(limb, seed=seed, size=0.5)
        clamped = clamp_paths(limb, path, step_bounds(path, 1 / 60))
        assert limb.contains(clamped.rotations).all()
        changed = (clamped.rotations != path).any(axis=-1)
        assert (clamped.moved == (changed & limb.contains(path)[:, None])).all()
        again = clamp_paths(limb, clamped.rotations, step_bounds(path, 1 / 60))
        assert again.rotations.tobytes() == clamped.rotations.tobytes()
        for k in range(path.shape[1]):
            steps = quat.angle_between(clamped.rotations[:-1, k], clamped.rotations[1:, k])
            long = steps > step_bounds(path[:, k], 1 / 60)[1:] + 1e-9
            assert not long.any()
            assert not clamped.over[:, k].any()


@pytest.mark.parametrize("name", ["arm", "leg", "leg with muscles"])
def test_ends_that_roll_over_leave_no_long_steps(name):
    """As a captured foot flips: the twist of its joint about the shin jumps by a half turn."""
    limb = LIMBS[name]
    rng = np.random.default_rng(3)
    for _ in range(3):
        start, end = limb.sample(2, rng, quat.IDENTITY)
        path = quat.slerp(start, end, np.linspace(0.0, 1.0, 60)[:, None])
        path = limb.project(path)
        axis = np.cross(limb.axes[1], rng.normal(size=3))
        angle = np.pi * np.clip((np.arange(60) - 20.0) / 9.0, 0.0, 1.0)
        angle *= np.clip((50.0 - np.arange(60)) / 9.0, 0.0, 1.0)
        flips = quat.exp(angle[:, None] * axis / np.linalg.norm(axis))
        path[:, -1] = quat.mul(path[:, -1], flips)
        assert 0 < limb.contains(path).sum() < len(path)
        clamped = clamp_paths(limb, path, step_bounds(path, 1 / 30))
        assert limb.contains(clamped.rotations).all()
        assert not clamped.over.any()


@every_limb
def test_live_frames_are_legal_and_legal_clips_stay(limb):
    live = LivePath(limb, 1 / 60)
    out = np.stack([live.push(each) for each in wave(limb, seed=1, size=0.5)])
    assert limb.contains(out).all()
    legal = np.repeat(limb.sample(1, np.random.default_rng(1), quat.IDENTITY), 10, axis=0)
    live = LivePath(limb, 1 / 60)
    assert np.array_equal(np.stack([live.push(each) for each in legal]), legal)


def test_impossible_arms_are_refused_however_twist_is_shared():
    limb = arm()
    straight = np.tile(quat.IDENTITY, (3, 1))
    upper = limb.limits["leftUpperArm"].chart.reference
    bent = quat.exp(np.radians([0.0, -90.0, 0.0]))

    def verdict(lower, hand=quat.IDENTITY):
        limbs = np.stack([upper, lower, hand])[None]
        shifts = np.radians([-40.0, 0.0, 40.0])
        return limb.contains(np.concatenate([twins(limb, limbs, np.array([s])) for s in shifts]))

    assert limb.contains(np.stack([upper, *straight[1:]]))
    assert verdict(bent).all()
    assert not verdict(quat.exp(np.radians([0.0, 20.0, 0.0]))).any()  # bent back
    about = quat.exp(np.radians([125.0, 0.0, 0.0]))
    assert not verdict(quat.mul(bent, about)).any()  # pronated by 125°
    half = quat.exp(np.radians([62.5, 0.0, 0.0]))
    assert not verdict(quat.mul(bent, half), half).any()  # forearm and hand in total
    assert verdict(quat.mul(bent, quat.exp([0.5, 0, 0])), quat.exp([0.5, 0, 0])).all()


def test_a_model_reports_and_clamps_limbs_with_other_joints():
    limb = arm()
    head = leg().limits["leftFoot"]
    model = model_of(limb, others={"head": head})
    assert set(model.limits) == {"head", *limb.joints}
    skeleton = canonical_skeleton()
    rotations = np.tile(skeleton.rest_pose().rotations, (60, 1, 1))
    joints = [skeleton.index(name) for name in limb.joints]
    rotations[:, joints] = wave(limb, 60, seed=2, size=0.5)
    positions = np.tile(skeleton.rest_pose().positions, (60, 1, 1))
    clip = Clip(skeleton, Pose(rotations, positions), 1 / 60)
    legal = limb.contains(rotations[:, joints])
    assert 0 < legal.sum() < 60
    report = model.check(clip)
    assert (report.outside.any(axis=1) == ~legal).all()
    clamped = model.project(clip)
    assert model.check(clamped).ok
    live = LiveClamp(model, 1 / 60)
    poses = [live.push(Pose(r, p)) for r, p in zip(rotations, positions, strict=True)]
    assert all(model.contains(pose) for pose in poses)
    shared = share_twist(model, clip.pose)
    violation = model.violation(clip.pose)
    for name in limb.joints:
        joint, limit = skeleton.index(name), model.limits[name]
        relative = lineage(skeleton, name, limit.relative_to).relative_rotation(shared.rotations)
        np.testing.assert_allclose(limit.correction(relative), violation[:, joint], atol=1e-9)
    assert np.allclose(forward(skeleton, shared)[0], forward(skeleton, clip.pose)[0])
    sampled = model.sample(20, np.random.default_rng(0))
    assert model.contains(sampled).all()


def test_limbs_follow_the_limits_of_a_model():
    limb = arm()
    model = model_of(limb)
    wider = {**model.limits, "leftHand": leg().limits["leftFoot"]}
    (changed,) = model.with_limits(wider).limbs
    assert changed.limits["leftHand"] is wider["leftHand"]
    short = {name: model.limits[name] for name in limb.joints[:2]}
    assert model.with_limits(short).limbs[0].joints == limb.joints[:2]
    assert model.with_limits({"leftHand": wider["leftHand"]}).limbs == ()
    ends = np.radians(np.tile([[0.0], [90.0]], 6))
    depends = DependentRange(model.limits["leftLowerArm"], "leftUpperArm", [1, 0, 0], *ends, -Y)
    with pytest.raises(ValueError, match="leftLowerArm is in a limb"):
        couple(model.limits, {"leftLowerArm": depends}, [limb])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": [[1, 0, 0]]}, "2 unit vectors"),
        ({"shifts": [[1.0, 0.5], [0.5, 0.5]]}, "rising"),
        ({"shifts": [[1.0, 4.0]]}, "0 to π"),
        ({"limits": {}}, "2 or 3 joints"),
        ({"muscles": leg(muscles=True).muscles}, "hamstrings .* must bound its upper bone or"),
    ],
)
def test_wrong_limbs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        arm(**change)


def test_joints_of_a_limb_hang_on_one_another():
    one = arm()
    limits = dict(zip(("leftUpperArm", "rightLowerArm"), one.limits.values(), strict=False))
    with pytest.raises(ValueError, match="must be measured from leftUpperArm"):
        model_of(Limb(limits, one.axes, one.shifts))


def test_files_keep_limbs(tmp_path):
    model = model_of(arm(), leg(muscles=True))
    save_limits(model, tmp_path / "human.limits.json")
    again = load_limits(tmp_path / "human.limits.json")
    document = json.loads((tmp_path / "human.limits.json").read_text())
    jsonschema.validate(document, limits_schema())
    assert [limb.joints for limb in again.limbs] == [limb.joints for limb in model.limbs]
    for limb, other in zip(model.limbs, again.limbs, strict=True):
        limbs = random_limbs(limb, 50, seed=10)
        assert np.array_equal(limb.distance(limbs), other.distance(limbs))
    document["limbs"][0]["joints"] = ["leftUpperArm", "head"]
    (tmp_path / "wrong.limits.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"limbs.*head must have a limit of its own"):
        load_limits(tmp_path / "wrong.limits.json")


@every_limb
def test_a_mirrored_limb_judges_mirrored_limbs(limb):
    names = {name: name.replace("left", "right") for name in limb.joints}
    other = limb.mirror([1.0, 0.0, 0.0], names)
    limbs = random_limbs(limb, 300, seed=11)
    mirrored = limbs * [1.0, 1.0, -1.0, -1.0]
    assert np.array_equal(other.contains(mirrored), limb.contains(limbs))
    assert np.allclose(other.violation(mirrored), limb.violation(limbs), atol=1e-6)
    assert other.joints == tuple(names.values())


def rig_with_frames(seed=12):
    """The canonical human with other frames, and the alignment that knows them."""
    skeleton = canonical_skeleton()
    rng = np.random.default_rng(seed)
    frames = {role: quat.normalize(rng.normal(size=4)) for role in skeleton.names}
    names = tuple(f"rig_{role}" for role in skeleton.names)
    rig = replace(skeleton, names=names)
    roles = dict(zip(skeleton.names, names, strict=True))
    alignment = SimpleNamespace(
        rig=SimpleNamespace(roles=roles, skeleton=rig),
        frames=frames,
        trusted=dict(MEASURED_FROM),
        anchors={role: (roles[above], frames[above]) for role, above in MEASURED_FROM.items()},
    )
    return rig, alignment


@every_limb
def test_a_rig_with_other_frames_gets_the_same_verdicts(limb):
    model = model_of(limb)
    _, alignment = rig_with_frames()
    frames = alignment.frames
    limits = limits_on_rig(model.limits, alignment)
    (there,) = limbs_on_rig(model.limbs, limits, alignment)
    limbs = random_limbs(limb, 300, seed=13)
    above = np.stack([frames[MEASURED_FROM[name]] for name in limb.joints])
    own = np.stack([frames[name] for name in limb.joints])
    on_rig = quat.mul(quat.mul(above, limbs), quat.inverse(own))
    assert np.array_equal(there.contains(on_rig), limb.contains(limbs))
    assert np.allclose(there.distance(on_rig), limb.distance(limbs), atol=1e-5)
    back = limits_from_rig(limits, alignment)
    (again,) = limbs_from_rig([there], back, alignment)
    assert np.array_equal(again.contains(limbs), limb.contains(limbs))


def test_rigs_get_limbs_by_role():
    model = model_of(arm(), leg())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there = model.on(smpl_skeleton(24))
    assert [limb.joints for limb in there.limbs] == [
        ("left_shoulder", "left_elbow", "left_wrist"),
        ("left_hip", "left_knee", "left_ankle"),
    ]
    assert there.limbs[0].limits["left_shoulder"].relative_to == "spine3"


def test_skeletons_without_an_end_have_limbs_of_two_bones():
    model = model_of(arm())
    skeleton = canonical_skeleton()
    without = ("leftHand", "rightHand", *FINGERS)
    names = [name for name in skeleton.names if name not in without]

    def part(names):
        old = [skeleton.index(name) for name in names]
        parents = [old.index(skeleton.parents[k]) if skeleton.parents[k] >= 0 else -1 for k in old]
        return Skeleton(tuple(names), np.array(parents), skeleton.offsets[old])

    (limb,) = model.for_skeleton(part(names)).limbs
    assert limb.joints == ("leftUpperArm", "leftLowerArm")
    alone = [name for name in names if not name.startswith("leftLowerArm")]
    with pytest.warns(UserWarning, match="limited joint by joint: leftUpperArm"):
        there = model.for_skeleton(part(alone))
    assert there.limbs == ()
    assert list(there.limits) == ["leftUpperArm"]


def test_features_for_single_joints_take_the_joints_own_limits():
    model = model_of(arm(), leg(muscles=True))
    with pytest.warns(UserWarning, match="the loss does not share twist along limbs"):
        alone = joint_by_joint(model, "the loss")
    assert alone.limbs == ()
    assert alone.limits == model.limits


def test_a_page_keeps_limbs_while_limits_are_edited():
    model = model_of(arm())
    session = Session(scene_of(model))
    session.edit(
        lambda present: present.with_limits(
            {name: limit for name, limit in present.limits.items() if name != "leftUpperArm"}
        ),
        "delete",
        None,
    )
    assert session.scene.model.limbs == ()
    session.undo()
    assert session.scene.model.limbs[0].joints == model.limbs[0].joints
