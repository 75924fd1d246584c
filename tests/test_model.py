"""LimitModel: learn, check, clamp; joints by name; poses in one compiled loop."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clips import NAMES, clip, skeleton
from synovia import SHAPES, Clip, Inside, Limit, LimitModel, Pose, Skeleton, quat
from synovia.learn import FitOptions


@pytest.fixture(scope="module")
def model() -> LimitModel:
    return LimitModel.fit([clip("ann_01"), clip("ann_02", seed=7)])


def renamed(source: Clip, names: tuple[str, ...]) -> Clip:
    return dataclasses.replace(source, skeleton=dataclasses.replace(source.skeleton, names=names))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_learned_from_is_inside(shape: str) -> None:
    source = clip()
    learned = LimitModel.fit([source], shape)
    report = learned.check(source)
    assert report.ok
    assert set(learned.limits) == set(NAMES[1:])


def test_roots_are_limited_only_when_asked_for(model: LimitModel) -> None:
    assert "Hips" not in model.limits
    assert "Hips" in LimitModel.fit([clip()], joints=["Hips", "Chest"]).limits


def test_joints_can_be_left_out() -> None:
    assert list(LimitModel.fit([clip()], exclude=["LeftHand", "Chest"]).limits) == [
        "LeftArm",
        "LeftForeArm",
    ]


def test_a_clip_beyond_the_limits_is_told_so_and_clamped(model: LimitModel) -> None:
    wild = clip("wild", size=1.4, seed=3)
    report = model.check(wild)
    assert not report.ok
    clamped = model.project(wild)
    assert model.check(clamped).ok
    legal = ~report.outside
    for k, name in enumerate(report.names):
        joint = wild.skeleton.index(name)
        np.testing.assert_array_equal(
            clamped.pose.rotations[legal[:, k], joint], wild.pose.rotations[legal[:, k], joint]
        )
    np.testing.assert_array_equal(clamped.pose.positions, wild.pose.positions)


def test_the_report_counts_what_the_limits_say(model: LimitModel) -> None:
    wild = clip("wild", size=1.4, seed=3)
    report = model.check(wild)
    for row in report.joints:
        limit = model.limits[row.name]
        angles = limit.violation(wild.pose.rotations[:, wild.skeleton.index(row.name)])
        outside = angles > 1e-6
        assert row.frames == outside.sum()
        assert row.share == pytest.approx(outside.mean())
        assert row.worst == pytest.approx(angles.max() if outside.any() else 0.0)
        assert row.worst_frame == (angles.argmax() if outside.any() else -1)
        assert row.mean == pytest.approx(angles[outside].mean() if outside.any() else 0.0)
    worst = [row.worst for row in report.joints]
    assert worst == sorted(worst, reverse=True)
    expected = np.where(report.outside.any(axis=1), report.violation.argmax(axis=1), -1)
    np.testing.assert_array_equal(report.worst_joints, expected)
    plain = report.to_dict()
    assert plain["frames"] == wild.frames
    assert plain["joints"][0]["worst_deg"] == pytest.approx(np.degrees(worst[0]))


def test_poses_in_one_loop_agree_with_each_limit_by_itself() -> None:
    rng = np.random.default_rng(0)
    kinds = [
        Limit.fit(quat.exp(0.3 * rng.normal(size=(50, 3))), name, shape.charts[-1])
        for name, shape in SHAPES.items()
    ]
    joints = len(kinds) + 1
    names = tuple(f"joint {k}" for k in range(joints))
    chain = Skeleton(names, np.arange(-1, joints - 1), np.ones((joints, 3)))
    mixed = LimitModel(dict(zip(names[1:], kinds, strict=True)), chain)
    for batch in [(), (0,), (1,), (7,), (300,), (2, 3)]:
        rotations = quat.exp(rng.normal(size=(*batch, joints, 3)))
        pose = Pose(rotations, np.zeros((*batch, joints, 3)))
        out = mixed.project(pose)
        np.testing.assert_array_equal(out.rotations[..., 0, :], rotations[..., 0, :])
        for joint, limit in enumerate(kinds, start=1):
            expected = limit.project(rotations[..., joint, :])
            np.testing.assert_allclose(out.rotations[..., joint, :], expected, atol=1e-14)
            np.testing.assert_allclose(
                mixed.violation(pose)[..., joint],
                limit.violation(rotations[..., joint, :]),
                atol=1e-7,
            )
        assert mixed.contains(out).all()
        assert mixed.contains(pose).shape == batch
        assert mixed.distance(pose).shape == (*batch, joints)
        assert np.isneginf(mixed.distance(pose)[..., 0]).all()


def test_float32_poses_stay_float32(model: LimitModel) -> None:
    rng = np.random.default_rng(1)
    rotations = quat.exp(rng.normal(size=(40, 5, 3))).astype(np.float32)
    out = model.project(Pose(rotations, np.zeros((40, 5, 3), np.float32)))
    assert out.rotations.dtype == np.float32
    assert model.contains(out).all()


def test_sampled_poses_are_legal(model: LimitModel) -> None:
    pose = model.sample(200, np.random.default_rng(0))
    assert model.contains(pose).all()


def test_the_first_joint_to_leave_stops_the_pose(model: LimitModel) -> None:
    rng = np.random.default_rng(2)
    inside = model.sample(5, rng)
    outside = Pose(quat.exp(rng.normal(size=(5, 5, 3))), inside.positions)
    exits = model.first_exit(inside, outside)
    between = quat.slerp(inside.rotations, outside.rotations, exits[:, None])
    assert model.contains(Pose(between, inside.positions)).all()
    assert (exits < 1.0).any()


def test_softened_poses_and_clips_are_legal(model: LimitModel) -> None:
    wild = clip("wild", size=1.4, seed=3)
    assert model.check(model.project(wild, softening=Inside(0.1))).ok
    assert model.contains(model.project(wild.pose, softening=Inside(0.1))).all()


def test_joints_match_by_name_by_map_and_without_prefix(model: LimitModel) -> None:
    wild = clip("wild", size=1.4, seed=3)
    expected = model.check(wild).violation
    prefixed = renamed(wild, tuple(f"mixamorig:{name}" for name in NAMES))
    np.testing.assert_array_equal(model.check(prefixed).violation, expected)
    other = renamed(wild, ("Root", "Thorax", "L_Humerus", "L_Ulna", "L_Manus"))
    names = dict(zip(other.skeleton.names, NAMES, strict=True))
    np.testing.assert_array_equal(model.check(other, names=names).violation, expected)


def test_limits_are_for_the_joints_that_another_skeleton_has(model: LimitModel) -> None:
    other = skeleton(("Hips", "rig:Chest", "Arm_L", "Elbow", "Tip"))
    there = model.for_skeleton(other, {"Arm_L": "LeftArm"})
    assert dict(there.limits) == {
        "rig:Chest": model.limits["Chest"],
        "Arm_L": model.limits["LeftArm"],
    }
    assert there.skeleton is other
    assert model.for_skeleton(other, {"Arm_L": "LeftArm"}) is there  # and what is cached of it
    assert model.for_skeleton(model.skeleton) is model


def test_options_go_to_the_fit_or_to_the_shape() -> None:
    options = FitOptions.of("reach-cone", None, margin=0.1, vertices=9)
    assert (options.chart, options.margin) == ("direction-twist", 0.1)
    assert options.shape_options == {"vertices": 9}
    assert options.to_dict()["vertices"] == 9
    with pytest.raises(ValueError, match="reject must be a share"):
        FitOptions(reject=1.0)


def test_a_clip_that_lacks_a_joint_is_told_so_and_still_served(model: LimitModel) -> None:
    wild = renamed(clip("wild", size=1.4), ("Hips", "Chest", "LeftArm", "Elbow", "Hand"))
    with pytest.warns(UserWarning, match="wild: ") as caught:
        report = model.check(wild)
    assert [str(warning.message) for warning in caught] == [
        "wild: has no LeftForeArm, LeftHand",
        "wild: joints that are not known here, and left alone: Elbow, Hand",
    ]
    assert report.names == ("Chest", "LeftArm")


def test_bones_that_point_another_way_are_told(model: LimitModel) -> None:
    wild = clip("wild")
    offsets = wild.skeleton.offsets.copy()
    offsets[3] = [0.0, -0.3, 0.0]
    bent = dataclasses.replace(wild, skeleton=dataclasses.replace(wild.skeleton, offsets=offsets))
    with pytest.warns(UserWarning, match="point another way .* by up to 90 degrees.*: LeftArm"):
        model.check(bent)


def test_a_map_of_unknown_joints_is_refused(model: LimitModel) -> None:
    with pytest.raises(ValueError, match="does not have: Nobody"):
        model.check(clip(), names={"Nobody": "LeftArm"})


@pytest.mark.parametrize("shape", ["box", "ellipsoid", "kdop", "product"])
def test_one_frame_and_joints_that_never_move_give_thin_but_valid_limits(shape: str) -> None:
    still = clip(frames=1)
    learned = LimitModel.fit([still], shape, margin=0.0)
    assert learned.check(still).ok
    assert learned.volume() == dict.fromkeys(NAMES[1:], 0.0)


@pytest.mark.parametrize("reference", ["mean", "rest"])
def test_references_change_the_chart_and_not_what_is_inside(reference: str) -> None:
    source = clip()
    learned = LimitModel.fit([source], reference=reference)
    assert learned.check(source).ok
    arm = learned.limits["LeftArm"].chart.reference
    rotations = source.pose.rotations[:, 2]
    expected = {"mean": quat.mean(rotations), "rest": quat.IDENTITY}[reference]
    np.testing.assert_allclose(quat.angle_between(arm, expected), 0.0, atol=1e-12)


def test_a_rejection_asked_for_is_met_on_people_left_out() -> None:
    takes = [clip(f"{who}_01", seed=11 * k, size=0.4 + 0.05 * k) for k, who in enumerate("abcde")]
    learned = LimitModel.fit(takes, reject=0.02, joints=["LeftArm"])
    row = learned.provenance["joints"]["LeftArm"]
    assert row["rejected"] <= 0.02
    assert row["margin"] > 0.05
    looser = LimitModel.fit(takes, reject=0.3, joints=["LeftArm"])
    assert looser.provenance["joints"]["LeftArm"]["margin"] < row["margin"]
    with pytest.raises(ValueError, match="two clips or more"):
        LimitModel.fit([clip()], reject=0.02)


def test_provenance_says_where_limits_come_from() -> None:
    learned = LimitModel.fit([clip("ann_01"), clip("bob_01", seed=4)], trim=0.0, margin=0.1)
    clips = learned.provenance["clips"]
    assert [row["performer"] for row in clips] == ["ann", "bob"]
    assert clips[0]["frames"] == 240
    assert learned.provenance["options"]["margin"] == 0.1
    assert learned.provenance["joints"]["LeftArm"]["frames"] == 480


def test_performers_come_from_a_map_or_a_pattern() -> None:
    clips = [clip("x1"), clip("x2", seed=3)]
    by_map = LimitModel.fit(clips, performers={"x1": "ann", "x2": "bob"})
    assert [row["performer"] for row in by_map.provenance["clips"]] == ["ann", "bob"]
    by_pattern = LimitModel.fit(clips, performers=r"x(\d)")
    assert [row["performer"] for row in by_pattern.provenance["clips"]] == ["1", "2"]
    with pytest.raises(ValueError, match="no performer is given for the clip 'x2'"):
        LimitModel.fit(clips, performers={"x1": "ann"})


def test_an_invented_first_frame_is_dropped() -> None:
    source = clip(size=0.3)
    rotations = source.pose.rotations.copy()
    rotations[0] = quat.exp(np.full((5, 3), 1.2))
    invented = dataclasses.replace(source, pose=Pose(rotations, source.pose.positions))
    learned = LimitModel.fit([invented])
    assert learned.provenance["clips"][0]["first_frame_dropped"]
    assert not learned.limits["LeftArm"].contains(rotations[0, 2])


def test_samples_are_kept_where_wanted_and_are_inside() -> None:
    source = clip()
    learned = LimitModel.fit([source], keep_samples=True)
    (sample,) = learned.samples["LeftArm"]
    np.testing.assert_array_equal(sample.rotations, source.pose.rotations[sample.frames, 2])
    assert 1 < len(sample.frames) < source.frames
    assert learned.limits["LeftArm"].contains(sample.rotations).all()
    assert not LimitModel.fit([source]).samples


def test_bad_input_is_refused_by_name(model: LimitModel) -> None:
    with pytest.raises(ValueError, match="at least one clip"):
        LimitModel.fit([])
    with pytest.raises(ValueError, match="empty: limits cannot be learned from no frames"):
        LimitModel.fit([clip("empty", frames=0)])
    with pytest.raises(ValueError, match="no joint 'LeftArn'; did you mean LeftArm"):
        LimitModel.fit([clip()], joints=["LeftArn"])
    with pytest.raises(ValueError, match="no joint is left"):
        LimitModel.fit([clip()], exclude=NAMES[1:])
    with pytest.raises(ValueError, match="reference must be"):
        LimitModel.fit([clip()], reference="median")
    with pytest.raises(ValueError, match="shape must be one of box, ellipsoid, kdop, product"):
        LimitModel.fit([clip()], "sphere")
    with pytest.raises(ValueError, match="reject must be a share"):
        LimitModel.fit([clip()], reject=1.5)
    with pytest.raises(ValueError, match="5 joints, got 3"):
        model.project(Pose(np.tile(quat.IDENTITY, (3, 1)), np.zeros((3, 3))))
    with pytest.raises(ValueError, match="no joint 'Tail'"):
        LimitModel({"Tail": model.limits["Chest"]}, skeleton())


def test_an_empty_clip_is_checked_and_clamped(model: LimitModel) -> None:
    empty = clip(frames=0)
    assert model.check(empty).ok
    assert model.project(empty).frames == 0


def test_bones_of_length_zero_still_get_limits() -> None:
    bones = Skeleton(("root", "point"), [-1, 0], np.zeros((2, 3)))
    rotations = quat.exp(np.random.default_rng(0).normal(size=(50, 2, 3)) * 0.2)
    source = Clip(bones, Pose(rotations, np.zeros((50, 2, 3))), 0.01)
    assert LimitModel.fit([source], trim=0.0).check(source).ok


def test_a_model_is_a_value(model: LimitModel) -> None:
    with pytest.raises(TypeError):
        model.limits["Chest"] = model.limits["LeftArm"]  # type: ignore[index]
