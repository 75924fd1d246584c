"""The human's joints, one by one: what their numbers promise, and that they keep it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import synovia
from synovia import Pose, quat
from synovia.anatomy import cervical_shao_2003
from synovia.anatomy.human import human, knee
from synovia.anatomy.part import Part, join
from synovia.anatomy.spine import MOVES, REGIONS, levels, rib, span
from synovia.components import Control, JointSet, Network, Rotation
from synovia.skeleton import end_positions, forward

DATA = sorted((Path(synovia.__file__).parent / "anatomy").glob("*.toml"))
SOURCE = {  # Shao and Ng-Thow-Hing, section 5.1
    "C7": (-13.2, 5.5),
    "C6": (-7.5, 5.5),
    "C5": (-4.0, 5.5),
    "C4": (-4.6, 5.5),
    "C3": (-8.0, 6.5),
    "C2": (-5.5, 6.5),
    "C1": (-18.5, 6.5),
}


@pytest.fixture(scope="module")
def body():
    return human()


def turned(matrix):
    """Return the angle of a rigid transform's rotation, degrees."""
    return np.degrees(2.0 * np.arccos(min(1.0, abs(quat.from_matrix(matrix[:3, :3])[0]))))


def in_world(figure, controls=()):
    """Return rotations in the world by segment."""
    _, rotations = forward(figure.skeleton, figure.pose(controls))
    return dict(zip(figure.skeleton.names, rotations, strict=True))


def tips(figure, pose):
    """Return the end sites in the world, by (segment, number)."""
    places = end_positions(figure.skeleton, pose)
    found = {}
    for owner, place in zip(figure.skeleton.end_parents, places, strict=True):
        name = figure.skeleton.names[owner]
        found[name, sum(each == name for each, _ in found)] = place
    return found


def test_parts_are_joined_depth_first():
    turn = Network({"turn": Rotation([0, 0, 1])}, {"turn.angle": "a"}, {"b": "turn.matrix"})
    arm = Part(
        {"b": "a", "c": "b"},
        {"b": [0, 1, 0], "c": [0, 1, 0]},
        {"s": JointSet(turn, {"a": Control(-1, 1)})},
        {"c": [[0, 2, 0]]},
    )
    root = Part({"a": None, "d": "a"}, {"a": [0, 0, 0], "d": [1, 0, 0]}, {})
    figure = join(arm, root, name="two")
    assert figure.skeleton.names == ("a", "b", "c", "d")
    assert figure.skeleton.parents.tolist() == [-1, 0, 1, 0]
    assert (figure.skeleton.end_parents.tolist(), figure.name) == ([2], "two")


def test_a_mirrored_part_is_the_other_side(body):
    left, right = knee("Left", 1.75), knee("Right", 1.75)
    assert set(left.parents) == {name.replace("Right", "Left") for name in right.parents}
    rng = np.random.default_rng(0)
    controls = {}
    for name, limits in body.controls.items():
        if name.startswith("left_"):
            values = rng.uniform(limits.low, limits.high, size=20)
            controls |= {name: values, name.replace("left", "right", 1): values}
    posed = body.pose(controls)
    places, _ = forward(body.skeleton, posed)
    for name in (name for name in body.skeleton.names if name.startswith("Left")):
        left, right = (
            body.skeleton.index(name.replace("Left", side)) for side in ("Left", "Right")
        )
        assert np.abs(places[:, left] - places[:, right] * [-1, 1, 1]).max() < 1e-12, name
        seen = posed.rotations[:, right] * [1, 1, -1, -1]
        assert quat.angle_between(seen, posed.rotations[:, left]).max() < 1e-9, name


def test_the_neck_of_the_source_has_its_ranges():
    neck = cervical_shao_2003()
    for value, end in ((-1.0, 0), (1.0, 1)):
        found = neck({"flexion": value, "bend": 0.0, "twist": 0.0})
        for name, limits in SOURCE.items():
            assert turned(found[name]) == pytest.approx(abs(limits[end]), abs=1e-6)
    middle = neck({"flexion": 0.0, "bend": 0.0, "twist": 0.0})
    # Linear over unequal limits: the neck is bent at 0, as in the paper; 9.9 degrees in all.
    assert sum(0.5 * sum(limits) for limits in SOURCE.values()) == pytest.approx(-9.9)
    total = quat.from_matrix(np.linalg.multi_dot([middle[name][:3, :3] for name in SOURCE]))
    assert np.degrees(2.0 * np.arctan2(total[1], total[0])) == pytest.approx(-9.9, abs=1e-6)


def test_the_spine_has_24_vertebrae_and_three_controls_a_set(body):
    bones = levels(1.75)
    counts = {region: len(bones[region]) for region in REGIONS}
    assert counts == {"lumbar": 5, "thoracic": 12, "cervical": 7, "head": 1}
    for region in REGIONS:
        assert body.joint_sets[region].network.controls == MOVES
        for move in MOVES:
            limits = body.controls[f"{region}.{move}"]
            assert (limits.low, limits.high) == pytest.approx(span(bones[region], move))


def test_axes_of_a_vertebra_are_skew_and_centres_differ():
    for level in (level for bones in levels(1.75).values() for level in bones):
        axes = np.stack([level.axes[move] for move in MOVES])
        assert np.allclose(np.linalg.norm(axes, axis=1), 1.0)
        assert abs(axes[1] @ axes[2]) > 0.05, level.name
        centers = [level.centers[move] for move in MOVES]
        assert (
            min(
                np.linalg.norm(a - b)
                for a, b in zip(centers, [*centers[1:], centers[0]], strict=True)
            )
            > 1e-4
        )


def test_the_spine_is_straight_at_zero_and_at_its_limits_at_the_ends(body):
    rest = body.pose()
    assert np.abs(rest.rotations - [1.0, 0, 0, 0]).max() < 1e-15
    for region, bones in levels(1.75).items():
        for move in MOVES:
            for end, value in enumerate((-1e6, 1e6)):
                posed = body.pose({f"{region}.{move}": value})
                for level in bones:
                    q = posed.rotations[body.skeleton.index(level.name)]
                    angle = np.degrees(2.0 * np.arctan2(q[1:] @ level.axes[move], q[0]))
                    assert angle == pytest.approx(level.ranges[move][end], abs=1e-9)


def test_controls_are_the_turn_of_the_whole_set(body):
    for region, top, below in (
        ("lumbar", "L1", "Pelvis"),
        ("thoracic", "T1", "L1"),
        ("cervical", "C1", "T1"),
    ):
        turns = in_world(body, {f"{region}.flexion": 12.0})
        assert np.degrees(quat.angle_between(turns[below], turns[top])) == pytest.approx(12.0)


def test_flexion_goes_forward_bend_and_twist_to_the_left(body):
    at = body.skeleton.index("Head")
    rest = forward(body.skeleton, body.pose())[0][at]
    ahead = forward(body.skeleton, body.pose({"lumbar.flexion": 30}))[0][at]
    aside = forward(body.skeleton, body.pose({"lumbar.bend": 10}))[0][at]
    assert ahead[2] - rest[2] > 0.2
    assert abs(ahead[0]) < 1e-9
    assert aside[0] > 0.05
    looks = quat.rotate(in_world(body, {"cervical.twist": 40})["Head"], np.array([0.0, 0.0, 1.0]))
    assert looks[0] > 0.5


def rib_gaps(figure, pose):
    """Return how much the distances of neighbouring ribs changed: root of the mean square."""
    rest, bent = tips(figure, figure.pose()), tips(figure, pose)
    changes = []
    for side in ("Left", "Right"):
        for number in range(1, 10):
            for where in (0, 1):
                pair = [(rib(number + k, side), where) for k in (0, 1)]
                before, after = (np.linalg.norm(at[pair[0]] - at[pair[1]]) for at in (rest, bent))
                changes.append(after - before)
    return float(np.sqrt(np.mean(np.square(changes))))


@pytest.mark.parametrize(
    "controls",
    [
        {"thoracic.bend": 28},
        {"thoracic.flexion": 27},
        {"thoracic.flexion": -18},
        {"thoracic.twist": 23},
    ],
)
def test_the_cage_keeps_its_shape_better_than_a_rigid_one(controls, body):
    posed = body.pose(controls)
    ribs = [k for k, name in enumerate(body.skeleton.names) if name.startswith("Rib")]
    rotations = posed.rotations.copy()
    rotations[ribs] = quat.IDENTITY
    rigid = rib_gaps(body, Pose(rotations, posed.positions))
    assert rib_gaps(body, posed) < 0.6 * rigid
    # A share of the vertebra's own rotation against the next, as the paper reads, is of no use:
    # what a rib turns back, its neighbour does as well.
    for joint in ribs:
        vertebra = int(body.skeleton.parents[joint])
        rotations[joint] = quat.exp(-0.8 * quat.log(posed.rotations[vertebra]))
    assert rib_gaps(body, Pose(rotations, posed.positions)) > 0.8 * rigid


def test_ribs_turn_back_by_less_than_their_vertebra_turned(body):
    for control in ("thoracic.bend", "thoracic.flexion", "thoracic.twist"):
        turns = in_world(body, {control: 15.0})
        for number in range(1, 13):
            vertebra, bone = turns[f"T{number}"], turns[rib(number, "Left")]
            middle = turns["T6"]
            moved = quat.angle_between(middle, vertebra)
            back, left = quat.angle_between(vertebra, bone), quat.angle_between(middle, bone)
            if number != 6:
                assert 0.0 < back < moved
                assert left < moved
            assert np.allclose(bone, turns[rib(number, "Right")])


def test_the_tibia_follows_its_table_and_the_axis_of_its_motion_moves(body):
    table = tomllib.loads((DATA[0].parent / "knee.toml").read_text())["tibia"]
    at = body.skeleton.index("RightLowerLeg")
    posed = body.pose({"right_knee.flexion": np.array(table["flexion"])})
    angles = np.degrees(quat.to_euler(posed.rotations[:, at], "xzy"))
    wanted = np.stack([table["flexion"], table["adduction"], table["rotation"]], axis=1)
    assert np.abs(angles - wanted).max() < 1e-9
    moved = 1e3 * (posed.positions[:, at] - body.skeleton.offsets[at])
    assert (
        np.abs(
            moved - np.stack([-np.array(table["outwards"]), table["up"], np.zeros(13)], axis=1)
        ).max()
        < 1e-9
    )
    fine = body.pose({"right_knee.flexion": np.array([5.0, 5.01, 90.0, 90.01])})
    axes = [
        quat.log(quat.mul(fine.rotations[k + 1, at], quat.inverse(fine.rotations[k, at])))
        for k in (0, 2)
    ]
    ways = [a / np.linalg.norm(a) for a in axes]
    assert np.degrees(np.arccos(ways[0] @ ways[1])) > 10.0


def test_the_patella_lags_and_stays_on_the_femur(body):
    angles = np.linspace(0.0, 147.0, 50)
    posed = body.pose({"left_knee.flexion": angles})
    at, thigh = (body.skeleton.index(f"Left{name}") for name in ("Patella", "LowerLeg"))
    tip = np.degrees(2.0 * np.arctan2(posed.rotations[:, at, 1], posed.rotations[:, at, 0]))
    assert (np.diff(tip) > 0.0).all()
    assert (tip[1:] < 0.8 * angles[1:]).all()
    away = np.linalg.norm(posed.positions[:, at] - body.skeleton.offsets[thigh], axis=-1)
    assert 0.03 < away.min() < away.max() < 0.05


def test_proportions_are_those_of_the_height():
    for height in (1.5, 1.75, 2.0):
        figure = human(height)
        ends = end_positions(figure.skeleton, figure.pose())
        assert ends[:, 1].max() == pytest.approx(height, rel=1e-3)
        assert ends[:, 1].min() == pytest.approx(0.0, abs=1e-3 * height)
        places, _ = forward(figure.skeleton, figure.pose())
        at = dict(zip(figure.skeleton.names, places, strict=True))
        for name, share in (
            ("LeftUpperLeg", 0.530),
            ("LeftLowerLeg", 0.285),
            ("LeftUpperArm", 0.818),
            ("LeftLowerArm", 0.632),
            ("LeftFoot", 0.039),
        ):
            assert at[name][1] / height == pytest.approx(share, abs=0.003)
    with pytest.raises(ValueError, match="height must be above 0 metres and finite, got -1"):
        human(-1)


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_every_number_has_its_source_and_its_status(path):
    def check(table, name, known):
        here = {**known, **{key: table[key] for key in ("status", "source") if key in table}}
        about = table.get("about") if isinstance(table.get("about"), dict) else None
        here |= about or {}
        for key, value in table.items():
            if isinstance(value, dict):
                check(value, f"{name}.{key}", here)
            elif isinstance(value, (int, float)) or (
                isinstance(value, list) and not isinstance(value[0], str)
            ):
                assert here.get("source"), f"{name}.{key} has no source"
                assert here.get("status") in ("verified", "transcribed", "ours"), f"{name}.{key}"

    for key, table in tomllib.loads(path.read_text()).items():
        if path.stem != "shoulder":
            check(table, key, {})
