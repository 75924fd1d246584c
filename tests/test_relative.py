"""Limits that are measured from an ancestor: the joints between may do what they like."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from oracles import random_quats
from synovia import Clip, Limit, LimitModel, Pose, Skeleton, load_limits, quat, save_limits
from synovia.charts import DirectionTwist, RotationVector, SwingTwist
from synovia.cli import main
from synovia.draw.limit import describe_limit
from synovia.io import limits_schema, save_clip
from synovia.learn import calibrate
from synovia.shapes import Box, Ellipsoid, ReachCone
from synovia.skeleton import lineage

NAMES = ("chest", "collar", "blade", "arm", "hand")
CHAIN = Skeleton(NAMES, [-1, 0, 1, 2, 3], np.array([[0.0, 0, 0]] + 4 * [[0.3, 0, 0]]))
ALONG = np.array([1.0, 0.0, 0.0])
CORNERS = quat.rotate(
    quat.exp([[0.0, 0.7, 0.0], [0.0, 0.0, 0.9], [0.0, -0.5, 0.2], [0.0, 0.1, -0.6]]), ALONG
)


def boxed(*half, chart=RotationVector):
    half = np.array(half)
    return Limit(chart(), Box(-half, half, np.eye(3)))


def cone():
    return ReachCone(CORNERS, -0.6 * np.ones(4), 0.8 * np.ones(4), ALONG, -0.6, 0.8)


ARM = {
    "box": boxed(0.3, 0.5, 0.4),
    "ellipsoid": Limit(SwingTwist(axis=ALONG), Ellipsoid(np.zeros(3), [0.5, 0.3, 0.4], np.eye(3))),
    "cone": Limit(DirectionTwist(quat.exp([0.2, 0.0, 0.3]), ALONG), cone()),
}


def model_of(arm, **others):
    """The arm from the chest, the collar from its parent; a hand, from the blade, if wanted."""
    limits = {"arm": replace(arm, relative_to="chest"), "collar": boxed(0.2, 0.2, 0.2), **others}
    return LimitModel(limits, CHAIN)


def poses(n, seed, size=1.5):
    turns = size * np.random.default_rng(seed).normal(size=(n, len(NAMES), 3))
    return Pose(quat.exp(turns), np.broadcast_to(CHAIN.offsets, (n, len(NAMES), 3)))


def from_chest(pose):
    """Return the arm's rotation from the chest, multiplied by SciPy."""
    joints = [Rotation.from_quat(pose.rotations[:, k], scalar_first=True) for k in (1, 2, 3)]
    return (joints[0] * joints[1] * joints[2]).as_quat(scalar_first=True)


@pytest.mark.parametrize("arm", ARM.values(), ids=ARM)
def test_distance_and_violation_are_those_of_what_the_ancestor_sees(arm):
    pose = poses(200, seed=1)
    model = model_of(arm)
    seen = from_chest(pose)
    assert np.allclose(model.distance(pose)[:, 3], arm.distance(seen), atol=1e-9)
    assert np.allclose(model.violation(pose)[:, 3], arm.violation(seen), atol=1e-7)
    alone = LimitModel({"collar": model.limits["collar"]}, CHAIN)
    assert np.array_equal(model.violation(pose)[:, 1], alone.violation(pose)[:, 1])
    assert np.array_equal(model.distance(pose)[:, [0, 2, 4]], np.full((200, 3), -np.inf))


@pytest.mark.parametrize("arm", ARM.values(), ids=ARM)
def test_what_is_projected_is_legal_and_nearest_given_the_parents(arm):
    pose = poses(300, seed=2)
    model = model_of(arm)
    found = model.project(pose)
    assert not model.contains(pose).all()
    assert model.contains(found).all()
    assert np.array_equal(model.project(found).rotations, found.rotations)
    assert np.array_equal(found.rotations[:, [0, 2, 4]], pose.rotations[:, [0, 2, 4]])
    collar = model.limits["collar"].project(pose.rotations[:, 1])
    assert np.array_equal(found.rotations[:, 1], collar)
    # With the collar where it is now, what the chest sees is the limit's own projection …
    rotations = pose.rotations.copy()
    rotations[:, 1:3] = found.rotations[:, 1:3]
    between = pose.with_rotations(rotations)
    wanted = arm.project(from_chest(between))
    apart = np.abs(np.sum(wanted * from_chest(found), axis=-1))
    assert np.allclose(apart, 1.0, atol=1e-12)
    # … and none of many legal arms is nearer, in the metric of the limit.
    if not isinstance(arm.shape, ReachCone):  # whose nearest is direction first
        legal = arm.chart.points(arm.sample(2000, np.random.default_rng(0)))
        here = arm.nearest_cover(from_chest(between))
        moved = np.maximum(model.distance(between)[:, 3], 0.0)
        ways = np.linalg.norm(here[:, None] - legal[None], axis=-1)
        assert (moved <= ways.min(axis=1) + 1e-9).all()


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(list(ARM)))
def test_legal_poses_stay_bit_for_bit(seed, name):
    model = model_of(ARM[name], hand=replace(boxed(0.5, 0.5, 0.5), relative_to="blade"))
    legal = model.sample(20, np.random.default_rng(seed))
    assert model.contains(legal).all()
    assert np.array_equal(model.project(legal).rotations, legal.rotations)
    wild = poses(20, seed)
    assert model.contains(model.project(wild)).all()


def swinging(frames=200, seed=5):
    """A clip in which collar and blade turn back and forth, and the arm far beyond its limit."""
    rng = np.random.default_rng(seed)
    phases = np.arange(frames)[:, None, None] / rng.uniform(9.0, 14.0, size=(len(NAMES), 3))
    turns = np.array([0.3, 0.3, 0.4, 0.9, 0.3])[:, None] * np.sin(phases)
    positions = np.broadcast_to(CHAIN.offsets, (frames, len(NAMES), 3))
    return Clip(CHAIN, Pose(quat.exp(turns), positions), 1 / 60, "07_swing")


def test_a_clip_is_checked_and_clamped_without_pops():
    clip = swinging()
    for arm in ARM.values():
        model = model_of(arm)
        before, clamped = model.check(clip), model.project(clip)
        at = before.names.index("arm")
        assert np.array_equal(before.violation[:, at], model.violation(clip.pose)[:, 3])
        assert not before.ok
        assert model.check(clamped).ok
        # The bound is about the rotation from the ancestor, once the joints between are legal.
        way = lineage(CHAIN, "arm", model.limits["arm"].relative_to)
        given = clamped.pose.rotations.copy()
        given[:, way.joint] = clip.pose.rotations[:, way.joint]
        paths = [way.relative_rotation(each) for each in (given, clamped.pose.rotations)]
        before_steps, steps = (quat.angle_between(each[:-1], each[1:]) for each in paths)
        assert (steps <= np.maximum(2.0 * before_steps, np.radians(400.0) / 60.0) + 1e-9).all()
        legal = model.contains(clip.pose)
        assert np.array_equal(clamped.pose.rotations[legal], clip.pose.rotations[legal])


def test_a_clip_of_another_skeleton_is_measured_along_its_own_joints():
    """This one has no blade, other names, and a pelvis below the chest."""
    clip = swinging()
    names = ("pelvis", "x:chest", "x:collar", "arm_r", "x:hand")
    skeleton = Skeleton(names, [-1, 0, 1, 2, 3], CHAIN.offsets)
    theirs = replace(clip, skeleton=skeleton)
    model = model_of(ARM["box"])
    mapped = {"arm_r": "arm"}
    seen = quat.mul(theirs.pose.rotations[:, 2], theirs.pose.rotations[:, 3])
    with pytest.warns(UserWarning, match="not known here"):  # the pelvis is a root, but the hand …
        report = LimitModel({"arm": model.limits["arm"]}, CHAIN).check(
            replace(theirs, skeleton=replace(skeleton, names=(*names[:4], "extra"))), names=mapped
        )
    assert np.allclose(report.violation[:, 0], ARM["box"].violation(seen), atol=1e-12)
    lost = replace(clip, skeleton=replace(CHAIN, names=("thorax", *NAMES[1:])))
    with pytest.warns(UserWarning, match="07_swing: arm is measured from chest, which is not"):
        report = model.check(lost)
    assert report.names == ("collar",)
    with pytest.warns(UserWarning, match="left alone"):
        clamped = model.project(lost)
    assert np.array_equal(clamped.pose.rotations[:, 3], clip.pose.rotations[:, 3])
    assert model.check(lost, names={"thorax": "chest"}).names == ("collar", "arm")


def test_limits_are_learned_as_an_ancestor_sees_them(tmp_path):
    clip = swinging()
    model = LimitModel.fit(
        [clip], joints=["arm", "hand"], relative_to={"arm": "chest"}, trim=0.0, keep_samples=True
    )
    assert model.ancestors == {"arm": "chest"}
    assert model.check(clip).ok
    flattened = Pose(clip.pose.rotations[:, [0, 3, 4]].copy(), clip.pose.positions[:, :3])
    flattened.rotations.flags.writeable = True
    flattened.rotations[:, 1] = from_chest(clip.pose)
    short = Skeleton(("chest", "arm", "hand"), [-1, 0, 1], CHAIN.offsets[:3])
    direct = LimitModel.fit([Clip(short, flattened, clip.frame_time, "07_swing")], trim=0.0)
    rotations = random_quats(500, np.random.default_rng(0))
    for name in ("arm", "hand"):
        ours, other = (each.limits[name].distance(rotations) for each in (model, direct))
        assert np.allclose(ours, other, atol=1e-6)
    assert np.allclose(
        np.abs(np.sum(model.samples["arm"][0].rotations * direct_samples(clip, model), axis=-1)), 1
    )


def direct_samples(clip, model):
    return from_chest(clip.pose)[model.samples["arm"][0].frames]


def test_blend_and_calibration_measure_alike():
    population = LimitModel.fit(
        [replace(swinging(seed=k), name=f"{k}_swing") for k in range(4)],
        joints=["arm"],
        relative_to={"arm": "chest"},
        keep_samples=True,
        margin=0.05,
    )
    own = replace(swinging(seed=9), name="ann_swing")
    blended = LimitModel.fit([own], joints=["arm"], relative_to={"arm": "chest"}, blend=population)
    assert blended.ancestors == {"arm": "chest"}
    with pytest.raises(ValueError, match="arm is measured from its parent, and the population's"):
        LimitModel.fit([own], joints=["arm"], blend=population)
    # An arm that is off in its own frame is turned back, though collar and blade move.
    twin = replace(swinging(seed=2), name="ann_swing")
    off = quat.exp(np.array([0.15, 0.0, 0.0]))
    rotations = twin.pose.rotations.copy()
    rotations[:, 3] = quat.mul(rotations[:, 3], off)
    turned = replace(twin, pose=twin.pose.with_rotations(rotations))
    calibration = calibrate([turned], population.population)
    assert calibration.offsets["arm"].vector == pytest.approx([-0.15, 0.0, 0.0], abs=0.04)


def test_files_keep_what_a_limit_is_measured_from(tmp_path):
    model, path = model_of(ARM["cone"]), tmp_path / "arm.limits.json"
    save_limits(model, path)
    again = load_limits(path)
    assert again.ancestors == {"arm": "chest"}
    pose = poses(20, seed=6)
    assert np.array_equal(again.distance(pose), model.distance(pose))
    text = path.read_text()
    schema = jsonschema.Draft202012Validator(limits_schema())
    schema.validate(json.loads(text))
    for wrong, said in (
        ('"relative_to": "hand"', "arm must be measured from a joint above it, blade, collar, ch"),
        ('"relative_to": "cheast"', "did you mean chest"),
        ('"relative_to": 3', "limits.arm.relative_to: expected text, got 3"),
    ):
        path.write_text(text.replace('"relative_to": "chest"', wrong))
        with pytest.raises(ValueError, match=said):
            load_limits(path)


def test_first_exit_needs_joints_that_keep_still():
    model, here = model_of(ARM["box"]), CHAIN.rest_pose()
    turned = here.rotations.copy()
    turned[3] = quat.exp([0.0, 1.0, 0.0])
    assert model.first_exit(here, here.with_rotations(turned)) == pytest.approx(0.5)
    held = here.rotations.copy()
    held[2] = quat.exp([0.0, 0.2, 0.0])
    both = held.copy()
    both[3] = quat.exp([0.0, 1.0, 0.0])
    assert model.first_exit(here.with_rotations(held), here.with_rotations(both)) == pytest.approx(
        0.3
    )
    with pytest.raises(ValueError, match="blade must keep still, because arm is measured"):
        model.first_exit(here, here.with_rotations(both))


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="chest must be measured from a joint above it, but has"):
        LimitModel({"chest": replace(ARM["box"], relative_to="arm")}, CHAIN)
    with pytest.raises(ValueError, match="no joint 'spine'"):
        model_of(ARM["box"], hand=replace(ARM["box"], relative_to="spine"))
    with pytest.raises(ValueError, match="relative_to must name a joint, got 3"):
        replace(ARM["box"], relative_to=3)
    with pytest.raises(ValueError, match="relative_to names hand, for which no limit is wanted"):
        LimitModel.fit([swinging()], joints=["arm"], relative_to={"hand": "chest"})


def test_another_family_is_measured_from_the_same_joint():
    limit = replace(ARM["box"], relative_to="chest")
    assert limit.to("ellipsoid").limit.relative_to == "chest"
    assert describe_limit(limit).endswith("measured from chest")


def test_the_command_line_learns_checks_and_tells(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(main, [str(each) for each in arguments])

    clip, limits = tmp_path / "swing.bvh", tmp_path / "arm.limits.json"
    save_clip(swinging(), clip)
    made = run("fit", clip, "-o", limits, "-j", "arm,hand", "--relative-to", "arm=chest")
    assert made.exit_code == 0, made.output
    assert load_limits(limits).ancestors == {"arm": "chest"}
    assert run("check", clip, "-l", limits).exit_code == 0
    said = run("info", limits).output
    assert "measured from" in said
    assert "its parent" in said
    wrong = run("fit", clip, "-fo", limits, "--relative-to", "arm=hand")
    assert wrong.exit_code == 2
    assert "arm must be measured from a joint above it" in wrong.output
