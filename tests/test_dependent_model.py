"""Models whose joints depend on each other: poses, clips, files, rigs, and what is learned."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from arms import SOLVERS
from command_line import result_of, run
from synovia import Box, Clip, Limit, LimitModel, Pose, RotationVector, Skeleton, quat
from synovia.ik import Reach
from synovia.io import limits_schema, load_clip, load_limits, save_clip, save_limits
from synovia.learn.dependents import (
    DIRECTIONS,
    ROTATIONS,
    PairCrowd,
    PairFrames,
    VariableLimit,
    learn_pair,
)
from synovia.limit import DependentMargin, DependentRange
from synovia.limit.node_grid import NodeGrid
from synovia.model import LiveClamp, couple
from synovia.skeleton import forward

NAMES = ("Hips", "UpLeg", "Leg", "Foot")
LEG = Skeleton(NAMES, [-1, 0, 1, 2], [[0, 1, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0]])
DOWN = np.array([0.0, -1.0, 0.0])
HINGE = np.array([1.0, 0.0, 0.0])


def bend_for(directions):
    """How far the knee bends: less where the thigh points backwards."""
    return 1.5 + 1.1 * directions[..., 2]


def leg_model(**changes):
    hip = Limit(RotationVector(), Box([-1.4, -0.5, -0.5], [0.9, 0.5, 0.5], np.eye(3)))
    knee = Limit(RotationVector(), Box([-0.1, 0, 0], [2.5, 0, 0], np.eye(3)))
    ankle = Limit(RotationVector(), Box([-0.6, -0.3, -0.3], [0.6, 0.3, 0.3], np.eye(3)))
    high = bend_for(NodeGrid(3, 4).nodes)
    bends = DependentRange(knee, "UpLeg", DOWN, np.zeros(66), high, HINGE)
    limits = {"UpLeg": hip, "Leg": knee, "Foot": ankle}
    return LimitModel(couple(limits, changes.get("dependents", {"Leg": bends})), LEG)


def random_pose(shape, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    rotations = quat.exp(spread * rng.normal(size=(*shape, len(NAMES), 3)))
    rotations[..., 2, :] = quat.exp(HINGE * rng.uniform(-1.0, 3.0, size=(*shape, 1)))
    return (
        LEG.rest_pose().with_rotations(rotations)
        if not shape
        else Pose(rotations, np.broadcast_to(LEG.rest_pose().positions, (*shape, len(NAMES), 3)))
    )


def test_poses_are_legal_after_projection_and_stay():
    model, poses = leg_model(), random_pose((3, 10))
    legal = model.project(poses)
    assert legal.rotations.shape == poses.rotations.shape
    assert model.contains(legal).all()
    assert model.project(legal).rotations.tobytes() == legal.rotations.tobytes()
    samples = model.sample(40, np.random.default_rng(1))
    assert model.contains(samples).all()
    assert model.project(samples).rotations.tobytes() == samples.rotations.tobytes()


def test_a_pose_goes_to_the_nearest_pair():
    model, poses = leg_model(), random_pose((12,), seed=2)
    legal, pair = model.project(poses), model.pair("Leg")
    assert np.array_equal(legal.rotations[:, 1:3], pair.project(poses.rotations[:, 1:3]))
    alone = model.with_limits(model.limits, {}).project(poses)
    assert np.array_equal(legal.rotations[:, 3], alone.rotations[:, 3])
    assert not np.array_equal(legal.rotations[:, 2], alone.rotations[:, 2])


def test_distance_and_violation_are_at_the_drivers_rotation():
    model, poses = leg_model(), random_pose((30,), seed=3)
    hips, knees = poses.rotations[:, 1], poses.rotations[:, 2]
    dependent = model.dependents["Leg"]
    assert np.array_equal(model.distance(poses)[:, 2], dependent.distance(knees, hips))
    assert np.array_equal(model.violation(poses)[:, 2], dependent.violation(knees, hips))
    angle = (quat.log(knees) @ HINGE) % (2 * np.pi)
    forward = quat.rotate(hips, DOWN)
    far = (angle > bend_for(forward) + 0.4) & (angle < 2.5) & (angle > 0)
    assert (model.violation(poses)[far, 2] > 0.0).all()


def clip_of(frames=90):
    t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
    rotations = np.tile(quat.IDENTITY, (frames, len(NAMES), 1))
    rotations[:, 1] = quat.exp(HINGE * (0.7 * np.sin(t) - 0.2))
    rotations[:, 2] = quat.exp(HINGE * (1.2 + 1.1 * np.sin(2.0 * t)))
    return Clip(LEG, Pose(rotations, np.tile(LEG.rest_pose().positions, (frames, 1, 1))), 1 / 30)


def test_a_clip_is_legal_in_every_frame_and_moves_smoothly():
    model, clip = leg_model(), clip_of()
    clamped = model.project(clip)
    assert model.contains(clamped.pose).all()
    steps = [
        quat.angle_between(each.pose.rotations[:-1, 2], each.pose.rotations[1:, 2])
        for each in (clip, clamped)
    ]
    assert steps[1].max() < 2.0 * steps[0].max()
    assert np.array_equal(model.project(clamped).pose.rotations, clamped.pose.rotations)


def test_a_joint_whose_driver_leaps_keeps_to_the_bound_on_steps_or_says_where_not():
    model, still = leg_model(), clip_of(60)
    rotations = np.tile(still.pose.rotations[30], (60, 1, 1))
    rotations[30:, 1] = still.pose.rotations[0, 1]  # the driver is elsewhere at once
    rotations[:, 2] = quat.exp([1.9, 0.0, 0.0])  # and the knee bent far, all the time
    clamped, report = model.project_clip(replace(still, pose=still.pose.with_rotations(rotations)))
    assert model.check(clamped).ok
    steps = quat.angle_between(clamped.pose.rotations[:-1, 2], clamped.pose.rotations[1:, 2])
    bound = np.radians(400.0) * still.frame_time
    late = np.flatnonzero(steps > bound + 1e-9) + 1
    assert np.array_equal(late, report.over.get("Leg", late[:0]))
    assert steps.max() > 0.01  # the leap is felt


def test_a_report_says_which_joint_holds_another():
    model = leg_model()
    report = model.check(clip_of())
    row = next(row for row in report.joints if row.name == "Leg")
    assert row.held_by == "UpLeg"
    assert 0 < row.held_frames <= row.frames
    alone = model.with_limits(model.limits, {}).check(clip_of())
    assert all(row.held_by is None for row in alone.joints)


def test_first_exit_is_where_legal_ends():
    model = leg_model()
    start, end = model.sample(20, np.random.default_rng(4)), random_pose((20,), 5, spread=0.2)
    share = model.first_exit(start, end)

    def pose(shares):
        return start.with_rotations(quat.slerp(start.rotations, end.rotations, shares[:, None]))

    inside = share < 1.0
    assert 0 < inside.sum() < len(inside)
    for part in np.linspace(0.0, 1.0, 50):
        assert model.contains(pose(part * share)).all()
    assert not model.contains(pose(np.minimum(share + 1e-4, 1.0)))[inside].any()
    assert (model.first_exit(start, start) == 1.0).all()


def test_files_hold_dependent_limits_and_others_do_without(tmp_path):
    model, path = leg_model(), tmp_path / "leg.limits.json"
    save_limits(model, path)
    document = json.loads(path.read_text())
    jsonschema.validate(document, limits_schema())
    again = load_limits(path)
    assert np.array_equal(again.dependents["Leg"].values, model.dependents["Leg"].values)
    poses = random_pose((10,), seed=6)
    assert np.array_equal(again.distance(poses), model.distance(poses))
    save_limits(model.with_limits(model.limits, {}), path)
    assert "dependents" not in json.loads(path.read_text())
    document["dependents"]["Leg"]["driver"] = "Nobody"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"dependents.Leg.driver.*Nobody"):
        load_limits(path)


def test_other_skeletons_have_it_by_their_names():
    model = leg_model()
    there = replace(LEG, names=tuple(f"mixamorig:{name}" for name in NAMES))
    carried = model.for_skeleton(there)
    assert carried.dependents["mixamorig:Leg"].driver == "mixamorig:UpLeg"
    lacks = Skeleton(("Hips", "Other", "Leg", "Foot"), LEG.parents, LEG.offsets)
    with pytest.warns(UserWarning, match="limits that depend on UpLeg, which is not here.*: Leg"):
        assert not model.for_skeleton(lacks).dependents


def test_what_cannot_depend_is_refused():
    model, bends = leg_model(), leg_model().dependents["Leg"]
    with pytest.raises(ValueError, match="has no limit of its own"):
        couple({"UpLeg": model.limits["UpLeg"]}, {"Leg": bends})
    with pytest.raises(ValueError, match="above it or beside it"):
        model.with_limits(model.limits, {"Leg": replace(bends, driver="Foot")})
    narrow = DependentMargin(model.limits["Foot"], "Leg", DOWN, np.zeros(6))
    with pytest.raises(ValueError, match="depends on UpLeg itself"):
        model.with_limits(model.limits, {"Leg": bends, "Foot": narrow})
    with pytest.raises(ValueError, match="depends on no other joint; those that do: Leg"):
        model.pair("Foot")


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_keep_to_dependent_limits(solver):
    model = leg_model()
    start = LEG.rest_pose().rotations.copy()
    start[2] = quat.exp(0.6 * HINGE)
    pose = LEG.rest_pose().with_rotations(start)
    for target in ([0.1, 0.75, 0.25], [0.1, 0.7, -0.3], [0.15, 0.9, -0.35]):
        found = solver(model, LEG, pose, Reach("Foot", target))
        assert model.contains(found.pose)
        place = forward(LEG, found.pose)[0][3]
        assert np.linalg.norm(place - target) == pytest.approx(float(found.errors[0]), abs=1e-6)
        free = model.with_limits(model.limits, {})
        alone = solver(free, LEG, pose, Reach("Foot", target))
        after = forward(LEG, model.project(alone.pose))[0][3]
        assert found.errors[0] <= np.linalg.norm(after - target) + 1e-3
    many = Pose(*(np.tile(each, (3, 1, 1)) for each in (pose.rotations, pose.positions)))
    found = solver(model, LEG, many, Reach("Foot", [0.1, 0.7, -0.3]))
    assert model.contains(found.pose).all()


# What is learned.


def people(count=4, frames=700):
    """People whose knees bend as `bend_for` says, each a little otherwise."""
    clips = []
    for who in range(count):
        rng = np.random.default_rng(10 + who)
        sway = rng.uniform(-1.0, 1.0, size=(frames, 3)) * [0.9, 0.3, 0.2]
        hips = quat.exp(sway)
        share = 0.5 + 0.5 * np.sin(0.37 * np.arange(frames))
        bend = share * (bend_for(quat.rotate(hips, DOWN)) + 0.01 * who)
        rotations = np.tile(quat.IDENTITY, (frames, len(NAMES), 1))
        rotations[:, 1], rotations[:, 2] = hips, quat.exp(bend[:, None] * HINGE)
        positions = np.tile(LEG.rest_pose().positions, (frames, 1, 1))
        clips.append(Clip(LEG, Pose(rotations, positions), 1.0, name=f"p{who}_1"))
    return clips


@pytest.fixture(scope="module")
def learned():
    return LimitModel.fit(
        people(), "kdop", joints=["UpLeg", "Leg"], reject=0.01, depends={"Leg": "UpLeg"}
    )


def test_a_learned_range_follows_the_driver(learned):
    bends = learned.dependents["Leg"]
    assert isinstance(bends, DependentRange)
    sign = np.sign(bends.limit.chart.points(quat.exp(2.0 * HINGE)) @ bends.along)
    hips = quat.exp(np.array([[-0.7, 0.0, 0.0], [0.0, 0.0, 0.0], [0.4, 0.0, 0.0]]))
    ends = bends.values_at(hips)
    widths = ends[:, 1] - ends[:, 0]
    assert sign != 0.0
    truth = bend_for(quat.rotate(hips, DOWN))
    assert np.sign(widths[0] - widths[2]) == np.sign(truth[0] - truth[2])
    row = learned.provenance["joints"]["Leg"]["depends"]
    assert row["driver"] == "UpLeg"
    assert row["volume_share"] < 1.0
    for clip in people():
        outside = learned.violation(clip.pose)[:, 2] > np.radians(1.0)
        assert outside.mean() < 0.03


@pytest.mark.parametrize("of", ["direction", "twist"])
def test_the_drivers_twist_counts_where_that_saves_more(of):
    knee = VariableLimit(leg_model().limits["Leg"], HINGE)
    people = []
    for who in range(5):
        rng = np.random.default_rng(20 + who)
        direction, twist = rng.uniform(-0.9, 0.9, 600), rng.uniform(-0.9, 0.9, 600)
        hips = quat.mul(quat.exp(direction[:, None] * HINGE), quat.exp(twist[:, None] * DOWN))
        bend = 1.1 + {"direction": direction, "twist": twist}[of] + rng.uniform(-0.1, 0.1, 600)
        rotations = quat.exp(bend[:, None] * HINGE)
        people.append(PairFrames(f"p{who}", hips, rotations, np.ones(600, np.int64)))
    found = learn_pair(knee, "UpLeg", DOWN, people, 0.02)
    assert found.volume_share < 0.8
    assert found.dependent.by_rotation == (of == "twist")


def crowd(count, seed, frames=240):
    """People whose knees bend as `bend_for` says, and at times farther, some by much more."""
    rng, clips = np.random.default_rng(seed), []
    t = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
    for who in range(count):
        sway = np.sin(rng.integers(1, 6, 3) * t + rng.uniform(0.0, 6.0, 3)) * [0.9, 0.3, 0.2]
        share = 0.5 + 0.5 * np.sin(rng.integers(5, 9) * t[:, 0] + rng.uniform(0.0, 6.0))
        more = rng.exponential(0.15, (2, 1)) * (rng.uniform(size=(2, frames)) < 0.1)
        rotations = np.tile(quat.IDENTITY, (frames, len(NAMES), 1))
        rotations[:, 1] = quat.exp(sway)
        bend = share * bend_for(quat.rotate(rotations[:, 1], DOWN)) + more[0] - more[1]
        rotations[:, 2] = quat.exp(bend[:, None] * HINGE)
        positions = np.tile(LEG.rest_pose().positions, (frames, 1, 1))
        clips.append(Clip(LEG, Pose(rotations, positions), 1.0, name=f"s{seed}p{who}_1"))
    return clips


def test_newcomers_are_outside_about_as_often_as_asked():
    """The joint's own limit and its dependence share one rejection, here of 2 %."""
    shares = []
    for seed in range(4):
        model = LimitModel.fit(
            crowd(12, seed), "kdop", joints=["UpLeg", "Leg"], reject=0.02, depends={"Leg": "UpLeg"}
        )
        assert model.provenance["joints"]["Leg"]["depends"]["promised"] <= 0.02 + 1e-9
        knee = model.dependents["Leg"]
        for clip in crowd(20, 100 + seed):
            hips, legs = clip.pose.rotations[:, 1], clip.pose.rotations[:, 2]
            shares.append((~knee.contains(legs, hips)).mean())
    assert 0.5 * 0.02 < np.mean(shares) < 1.3 * 0.02  # 4.4 % with levels between the nodes


@pytest.mark.parametrize("nodes", [DIRECTIONS, ROTATIONS])
def test_a_cell_is_legal_from_the_level_on_that_it_requires(nodes):
    rng = np.random.default_rng(5)
    people = {}
    for who in range(4):
        hips, bends = quat.exp(0.5 * rng.normal(size=(200, 3))), rng.normal(1.0, 0.4, 200)
        people[f"p{who}"] = hips, bends, np.ones(200, np.int64)
    pairs, cells = PairCrowd.of(people, DOWN, nodes), np.arange(150)
    scores = pairs.scores(np.arange(1, 4), 2)
    required = pairs.required(scores, cells)
    around, weights = (each[cells] for each in pairs.places)
    number = pairs.number[cells]
    legal = []
    for level in np.radians([4.0, 12.0, 25.0, 40.0]):
        low, high = np.einsum("nck,nc->kn", pairs.ranges(scores, level)[around], weights)
        legal.append((number >= low) & (number <= high))
        np.testing.assert_array_equal(legal[-1], required <= level)
    assert 50 < np.sum(legal) < 550


def test_margins_of_cones_reject_no_more_than_promised():
    """Cores of cones are small: what is farther from them than the largest margin is few."""
    people = []
    for who in range(4):
        rng = np.random.default_rng(50 + who)
        hips, legs = (
            quat.exp(rng.normal(size=(200, 3)) * size)
            for size in ([0.4, 0.2, 0.3], [0.5, 0.3, 0.4])
        )
        people.append(PairFrames(f"p{who}", hips, legs, np.ones(200, np.int64)))
    hips, legs = (np.concatenate([getattr(p, n) for p in people]) for n in ("driver", "rotations"))
    limit = Limit.fit(legs, "reach-cone", margin=0.05, axis=DOWN)
    found = learn_pair(VariableLimit(limit, None), "UpLeg", DOWN, people, 0.05)
    assert limit.contains(legs).all()
    assert (~found.dependent.contains(legs, hips)).mean() <= found.promise.rejected


def test_auto_finds_what_pays_and_nothing_else(learned):
    # Here knees do the same whatever hips do.
    free = []
    for clip in people():
        rotations = clip.pose.rotations.copy()
        rotations[:, 2] = quat.exp(
            HINGE * (1.0 + np.sin(np.linspace(0, 57.0, len(rotations))))[:, None]
        )
        free.append(replace(clip, pose=clip.pose.with_rotations(rotations)))
    options = {"joints": ["UpLeg", "Leg"], "reject": 0.01, "depends": "auto"}
    assert not LimitModel.fit(free, "kdop", **options).dependents


def test_a_ball_joint_gets_a_margin():
    clips = []
    for clip in people():
        rotations = clip.pose.rotations.copy()
        rng = np.random.default_rng(len(clips))
        far = np.clip(0.5 + quat.rotate(rotations[:, 1], DOWN)[:, 2:], 0.1, 1.0)
        rotations[:, 2] = quat.exp(0.6 * far * rng.uniform(-1.0, 1.0, size=(len(rotations), 3)))
        clips.append(replace(clip, pose=clip.pose.with_rotations(rotations)))
    model = LimitModel.fit(
        clips, "box", joints=["UpLeg", "Leg"], margin=0.05, trim=0.0, depends={"Leg": "UpLeg"}
    )
    narrow = model.dependents["Leg"]
    assert isinstance(narrow, DependentMargin)
    hips = quat.exp(np.array([[-0.7, 0.0, 0.0], [0.5, 0.0, 0.0]]))
    margins = narrow.values_at(hips)[:, 0]
    widths = quat.rotate(hips, DOWN)[:, 2]
    assert np.sign(margins[0] - margins[1]) == np.sign(widths[0] - widths[1])


def test_the_command_line_learns_and_checks(tmp_path):
    for clip in people(3, 1500):
        save_clip(clip, tmp_path / f"{clip.name}.bvh")
    save_clip(clip_of(), tmp_path / "wild_1.bvh")
    limits = tmp_path / "leg.limits.json"
    clips = [str(tmp_path / f"p{k}_1.bvh") for k in range(3)]
    joints = ["--joints", "UpLeg,Leg"]
    said = run("fit", *clips, "-o", limits, *joints, "--depends", "Leg:UpLeg")
    assert "Leg depends on UpLeg: " in said
    said = run("check", tmp_path / "wild_1.bvh", "--limits", limits, code=1)
    assert "Leg is held by UpLeg in" in said
    said = result_of("fit", *clips, "-fo", limits, "--depends", "Leg", code=2).output
    assert "--depends takes JOINT:DRIVER or auto" in said


def test_a_corpus_learns_the_same_to_within_a_cell(tmp_path):
    clips, add = people(4, 500), ("corpus", "add", "--jobs", 1)
    for clip in clips:
        save_clip(clip, tmp_path / f"{clip.name}.bvh")
    for name, pattern in {"one": "p[01]*.bvh", "two": "p[23]*.bvh"}.items():
        run(*add, f"{tmp_path}/{pattern}", "-o", tmp_path / name, "--pairs", "auto")
    run("corpus", "merge", tmp_path / "two", tmp_path / "one", "-o", tmp_path / "both")
    words = ("corpus", "fit", tmp_path / "both", "-j", "UpLeg,Leg", "--reject", "1%")
    found = []
    for depends in ("Leg:UpLeg", "auto"):
        path = tmp_path / f"{len(found)}.limits.json"
        said = run(*words, "--depends", depends, "-o", path, "--jobs", 1)
        assert "Leg depends on UpLeg: " in said
        found.append(load_limits(path))
    own, auto = (model.dependents["Leg"] for model in found)
    np.testing.assert_array_equal(own.values, auto.values)
    frames = LimitModel.fit(
        [load_clip(tmp_path / f"{clip.name}.bvh") for clip in clips],
        "kdop", joints=["UpLeg", "Leg"], reject=0.01, depends={"Leg": "UpLeg"},
    )  # fmt: skip
    other = frames.dependents["Leg"]
    hips = quat.exp(np.array([[-0.7, 0.0, 0.0], [0.0, 0.0, 0.0], [0.4, 0.0, 0.0]]))
    widths = [np.diff(each.values_at(hips), axis=1) for each in (own, other)]
    # A cell of pairs is 0.04 radians long, and levels are chosen by those left out.
    np.testing.assert_allclose(*widths, atol=0.08)
    rows = [model.provenance["joints"]["Leg"]["depends"] for model in (found[0], frames)]
    assert rows[0]["volume_share"] == pytest.approx(rows[1]["volume_share"], abs=0.05)
    said = result_of(*add, tmp_path / "p0_1.bvh", "-o", tmp_path / "no", "--pairs", "Leg:Arm")
    assert "no clip has both joints of Leg:Arm" in said.output


@pytest.mark.parametrize("look_ahead", [0, 3])
def test_frames_are_clamped_within_what_the_driver_allows_as_they_come_in(look_ahead):
    model, clip = leg_model(), clip_of()
    live = LiveClamp(model, clip.frame_time, look_ahead=look_ahead)
    poses = [Pose(*each) for each in zip(clip.pose.rotations, clip.pose.positions, strict=True)]
    out = [pose for each in poses if (pose := live.push(each)) is not None]
    assert len(out) == len(poses) - look_ahead
    out += live.finish()
    found = Pose(np.stack([pose.rotations for pose in out]), clip.pose.positions)
    assert not model.contains(clip.pose).all()
    assert model.contains(found).all()


def test_what_knows_single_joints_alone_says_so():
    from synovia.export import export_limits

    model = leg_model()
    with pytest.warns(UserWarning, match="an export to urdf does not know"):
        export_limits(model, "urdf")
