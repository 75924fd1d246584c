"""The papers measured again: each item at its smallest, and plain oracles for what is measured."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.papers import robotics as chain
from benchmarks.papers.__main__ import ITEMS, main
from benchmarks.papers.arm import (
    STEP,
    Blocking,
    arm,
    clamp_after,
    largest_step_deg,
    smooth_paths,
    starts,
    sure_goals,
)
from benchmarks.papers.driving import ARM, FAMILIES, TALL_CM, Lesson, at_30, body_of, deviation
from benchmarks.papers.engell_norregard import build_fields, driven_clips
from benchmarks.papers.tradeoff import BASELINES
from benchmarks.papers.wilhelms_van_gelder import (
    BONES,
    CLOSE,
    GAIN,
    LENGTH,
    chain_limits,
    random_goals,
)
from benchmarks.papers.wilhelms_van_gelder_kernel import follow_goals, follow_plainly
from oracles import EXHAUSTIVE
from synovia import Clip, Pose, Skeleton, forward, human, load_clip, quat
from synovia.arrays import TOLERANCE
from synovia.demo import range_of_motion
from synovia.evidence.study import uniform_rotations

LONG = ("wilhelms-van-gelder", "engell-norregard")
"""Items that take some 10 s: one compiles kernels of its own, the other draws; `make papers` runs
all."""
SHORT = tuple(item for item in ITEMS if item not in LONG)
needs_all = pytest.mark.skipif(not EXHAUSTIVE, reason="takes long: SYNOVIA_EXHAUSTIVE=1 runs it")
CMU = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh"


def papers(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What items print and write, made once; all of them if all tests are asked for."""
    folder = tmp_path_factory.mktemp("papers")
    chosen = () if EXHAUSTIVE else SHORT
    return papers(*chosen, "--quick", "-o", folder).stdout, folder


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("item", [*SHORT, *(pytest.param(item, marks=needs_all) for item in LONG)])
def test_an_item_prints_tables_and_writes_numbers(written, item):
    said, folder = written
    found = json.loads((folder / f"{item}.json").read_text(encoding="utf-8"))
    assert found["item"] == item
    assert found["quick"] is True
    assert found["tables"]
    for table in found["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        assert table["rows"][0][0] in said
    assert found["figures"].get("legal", True) is True
    assert all(math.isfinite(number) for number in numbers(found["figures"]))
    assert max(map(len, said.splitlines())) <= 100 + len(str(folder))


@needs_all
def test_pictures_are_written_and_hold_something(written):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    for name in ("capture-times", "capture-deviation", "capture-bodies"):
        pixels = imread(written[1] / f"{name}.png")[::3, ::3, :3]
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


@needs_all
def test_the_papers_figures_stand_beside_ours(written):
    said, _ = written
    for figure in ("166,027", "1.26", "about 25%", "paper: worst", "0.21"):
        assert figure in said


@needs_all
def test_fields_are_weighed_as_a_user_has_them(written):
    found = json.loads((written[1] / "engell-norregard.json").read_text(encoding="utf-8"))
    rows = found["figures"]["building"]
    assert [(row["chart"], row["nodes"]) for row in rows] == [("euler", 8), ("rotation-vector", 8)]
    assert all(row["kilobytes"] > row["map_kilobytes"] > 0.1 for row in rows)
    assert all(row["seconds"] > 0.0 for row in rows)


@pytest.mark.skipif(not CMU.is_dir(), reason="the clips of ../shared/data are not here")
def test_fields_are_as_large_as_the_evidence_says():
    page = Path(__file__).parents[1].joinpath("docs", "evidence.md").read_text(encoding="utf-8")
    charts = {"euler": "Z-Y-Z", "rotation-vector": "rotation vectors"}
    grids = (8, 16, 32) if EXHAUSTIVE else (8,)
    for built in build_fields(load_clip(CMU / "motion" / "118_05.bvh"), grids):
        (row,) = re.findall(rf"\| {charts[built.chart]}, {built.nodes}³ \|(.*)\|", page)
        packed, distances = (float(cell) for cell in row.split("|")[2:4])
        assert packed == pytest.approx(built.kilobytes, rel=0.05)
        assert distances == pytest.approx(built.map_kilobytes, rel=0.05)


def test_an_item_runs_alone(tmp_path):
    papers("arm", "--quick", "-o", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["arm.json"]


def test_without_mink_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(chain, "mink_missing", lambda: True)
    said = " ".join(papers("robotics", "--quick").stdout.split())
    assert "pip install --editable '.[papers]'" in said
    assert "scipy least_squares" in said


def test_what_cannot_be_driven_is_refused(tmp_path):
    assert "--clips is for engell-norregard" in papers("arm", "--clips", "x", code=2).output
    (tmp_path / "taken").write_text("")
    assert "taken" in papers("arm", "-o", tmp_path / "taken", code=2).output
    stick = Skeleton(("Root", "Tip"), [-1, 0], [[0, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="must have a joint for the left hand"):
        body_of(stick)


def test_a_swivelled_elbow_deviates_by_the_chord():
    """Turned by a about the line from shoulder to wrist, at radius r, it is 2 r sin(a/2) off."""
    skeleton = Skeleton(("Arm", "Elbow", "Wrist"), [-1, 0, 1], [[0, 0, 0], [3, 0, 0], [0, 4, 0]])
    rest, angle = skeleton.rest_pose(), 0.7
    axis = np.array([3.0, 4.0, 0.0]) / 5.0
    rotations = rest.rotations.copy()
    rotations[0] = quat.exp(angle * axis)
    swivelled = Pose(rotations, rest.positions)
    radius = 3.0 * 4.0 / 5.0  # the height of the triangle
    expected = 2.0 * radius * math.sin(0.5 * angle)
    assert deviation(skeleton, swivelled, rest, "Elbow") == pytest.approx(expected)
    assert deviation(skeleton, swivelled, rest, "Wrist") == pytest.approx(0.0, abs=1e-12)


def test_the_parts_of_a_body_are_found():
    skeleton = human().skeleton
    body = body_of(skeleton)
    assert body.ends == ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
    assert body.elbows == ("LeftLowerArm", "RightLowerArm")
    assert body.knees == ("LeftLowerLeg", "RightLowerLeg")
    assert {"LeftUpperArm", "LeftForearm", "L5", "C1", "LeftUpperLeg"} <= set(body.movers)
    assert not {"Pelvis", "LeftHand", "Head", "Rib1Left"} & set(body.movers)
    bones = skeleton.offsets[[skeleton.index(name) for name in ("LeftHand", "LeftLowerArm")]]
    arm_length = np.linalg.norm(bones, axis=-1).sum()
    assert TALL_CM * ARM / body.cm == pytest.approx(arm_length)


def test_the_parts_of_a_captured_body_are_found():
    if not CMU.is_dir():
        pytest.skip("no captures in ../shared/data")
    clip = load_clip(CMU / "motion" / "118_05.bvh")
    body = body_of(clip.skeleton)
    assert body.elbows == ("LeftForeArm", "RightForeArm")
    assert body.knees == ("LeftLeg", "RightLeg")
    assert at_30(clip).frames == len(range(1, clip.frames, 4))  # the first was not performed
    assert at_30(clip, 7).frames == 7


def test_the_shortest_clip_of_performers_with_several_is_driven():
    clips = [
        Clip(clip.skeleton, clip.pose, clip.frame_time, name)
        for name, frames in (("ann_1", 9), ("ann_2", 5), ("bob_1", 3))
        for clip in [range_of_motion(frames)]
    ]
    assert [clip.name for clip in driven_clips(clips)] == ["ann_2"]
    assert driven_clips(clips[1:]) == clips[1:]


def test_a_sculpted_field_allows_more_than_the_sampled_one():
    clip = range_of_motion(240)
    lesson = Lesson.of([clip], ["LeftUpperArm"])
    sampled, sculpted = (lesson.model(family).limits["LeftUpperArm"] for family in FAMILIES[1:3])
    seen = clip.pose.rotations[:, clip.skeleton.index("LeftUpperArm")]
    assert sampled.contains(seen).mean() > 0.9
    assert sculpted.contains(seen).sum() >= sampled.contains(seen).sum()
    assert sculpted.volume() > 1.2 * sampled.volume()


def test_the_chain_of_wilhelms_and_van_gelder_keeps_to_limits_if_it_has_to():
    """Limits that are only looked at change nothing, and the gap is that of the final pose."""
    goals, limits = random_goals(8, np.random.default_rng(5))[:5], chain_limits()
    packed = np.concatenate([limit.packed for limit in limits])
    offsets = np.cumsum([0, *(len(limit.packed) for limit in limits[:-1])])
    skeleton = Skeleton(
        ("A", "B", "C", "D"), [-1, 0, 1, 2], [[0, 0, 0], *([bone, 0, 0] for bone in BONES)]
    )
    follow = follow_goals if EXHAUSTIVE else follow_plainly  # compiled, or as Python
    found = {}
    for name, obey, at in (
        ("kept", True, offsets),
        ("looked at", False, offsets),
        ("none", True, np.full(3, -1)),
    ):
        rotations = np.tile(quat.IDENTITY, (4, 1))
        rotations[1] = quat.exp(np.array([0.0, 0.5, 0.0]))
        turns = rotations[:3].copy()
        moves, stops, left = np.zeros(5, np.int64), np.zeros(5, np.int64), np.zeros(5)
        follow(
            *(BONES, at, packed, 0.5 * TOLERANCE, obey, goals, CLOSE * LENGTH, GAIN),
            *(turns, moves, stops, left),
        )
        rotations[:3] = turns
        end = forward(skeleton, Pose(rotations, skeleton.rest_pose().positions))[0][3]
        assert np.linalg.norm(end - goals[-1]) == pytest.approx(left[-1], abs=1e-9)
        found[name] = turns, moves, stops, left
    assert all(limit.contains(turn) for limit, turn in zip(limits, found["kept"][0], strict=True))
    assert found["kept"][2].sum() > 0
    assert found["looked at"][2].sum() > 0 == found["none"][2].sum()
    for k in (0, 1, 3):
        np.testing.assert_array_equal(found["looked at"][k], found["none"][k])


def test_half_of_the_goals_are_beyond_reach():
    far = np.linalg.norm(random_goals(4000, np.random.default_rng(0)), axis=-1)
    assert (far > LENGTH).mean() == pytest.approx(0.5, abs=0.03)


def test_precision_and_recall_by_hand():
    truth = np.array([[True, True], [False, True], [False, False]])
    named = np.array([[True, False], [True, True], [False, False]])
    found = Blocking(truth, named)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 3)


def test_a_wider_joint_holds_the_narrower():
    rotations = arm().limits["Elbow"].sample(50, np.random.default_rng(0))
    past = quat.exp(np.array([0.0, -np.radians(155.0), 0.0]))
    wide = arm(wider="Elbow", by=np.radians(10.0))
    assert wide.limits["Elbow"].contains(rotations).all()
    assert wide.limits["Elbow"].contains(past)
    assert not arm().limits["Elbow"].contains(past)
    assert arm(wider="Elbow", by=0.1).limits["Forearm"].volume() == 0.0


def test_clamping_afterwards_is_legal_and_meets_less():
    model = arm()
    goals = sure_goals(model, 60)
    clamped = clamp_after(model, starts(model.skeleton)["straight"], goals.position)
    assert model.contains(clamped).all()
    met, _ = goals.met(model.skeleton, clamped)
    assert 0 < met.sum() < 60


def test_targets_on_paths_creep():
    paths = smooth_paths(arm(), 5, 40)
    steps = np.linalg.norm(np.diff(paths, axis=1), axis=-1)
    assert steps.max() <= STEP * (1.0 + 1e-9)
    assert np.median(steps) > 0.99 * STEP


def test_the_largest_step_is_that_of_the_joint_that_turned_most():
    rest = arm().skeleton.rest_pose()
    rotations = rest.rotations.copy()
    rotations[1] = quat.exp(np.radians([0.0, 7.0, 0.0]))
    rotations[2] = quat.exp(np.radians([30.0, 0.0, 0.0]))
    moved = Pose(rotations, rest.positions)
    assert largest_step_deg(rest, moved, [0, 1]) == pytest.approx(7.0)
    assert largest_step_deg(rest, moved, [0, 1, 2]) == pytest.approx(30.0)


def test_the_plain_chain_is_where_the_hand_is_and_has_its_slopes():
    rng = np.random.default_rng(6)
    angles = rng.uniform(chain.RANGES[0], chain.RANGES[1])
    where, how = chain.hand_at(chain.chain_model().skeleton, angles)
    plain = chain.PlainChain(where, how)
    assert np.abs(plain.residual(angles)).max() < 1e-12
    small = 1e-6 * np.eye(7)
    slopes = [(plain.residual(angles + s) - plain.residual(angles - s)) / 2e-6 for s in small]
    assert np.abs(plain.slopes(angles) - np.stack(slopes, axis=1)).max() < 1e-8
    assert (
        np.abs(chain.angles_of(chain.posed(chain.chain_model().skeleton, angles)) - angles).max()
        < 1e-12
    )


def test_mujoco_is_given_the_same_hinges():
    root = ElementTree.fromstring(chain.as_mjcf())
    body, found = root.find("worldbody/body"), []
    while body is not None:
        joint = body.find("joint")
        found.append((float(body.get("pos").split()[0]), joint.get("axis"), joint.get("range")))
        last, body = body, body.find("body")
    assert [offset for offset, _, _ in found] == [each.offset for each in chain.HINGES]
    assert found[3][1:] == ("0 -1 0", "0.0 150.0")
    assert last.find("site").get("name") == "hand"


def test_mujoco_agrees_where_the_hand_is():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_string(chain.as_mjcf())
    data = mujoco.MjData(model)
    for angles in np.random.default_rng(7).uniform(chain.RANGES[0], chain.RANGES[1], size=(5, 7)):
        data.qpos[:] = angles
        mujoco.mj_kinematics(model, data)
        where, how = chain.hand_at(chain.chain_model().skeleton, angles)
        turn = np.zeros(4)
        mujoco.mju_mat2Quat(turn, data.site_xmat[0])
        assert np.abs(data.site_xpos[0] - where).max() < 1e-12
        assert quat.angle_between(turn, how) < 1e-7


@pytest.mark.parametrize("fit", BASELINES.values(), ids=BASELINES)
def test_baselines_grow_with_their_knob_and_accept_hinges(fit):
    rng = np.random.default_rng(5)
    about, axis = quat.exp(np.array([0.4, -0.8, 1.1])), np.array([1.0, 0.0, 0.0])
    ball = quat.mul(about, quat.exp(rng.uniform(-1.0, 1.0, (400, 3)) * (0.9, 0.5, 0.4)))
    required = fit(ball, axis)
    knobs = required(ball)
    assert np.allclose(required(-ball), knobs)
    everywhere = required(uniform_rotations(5000))
    volumes = [(everywhere <= knobs.max() + more).mean() for more in (0.0, 0.2, 20.0)]
    assert volumes[0] < 0.6
    assert volumes[0] < volumes[1] < volumes[2] == 1.0
    hinge = quat.exp(np.linspace(0.0, 1.5, 80)[:, None] * axis)
    assert np.isfinite(fit(hinge, axis)(hinge)).all()
