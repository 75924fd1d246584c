"""The shoulder: attached, on its ellipsoid, within its bounds, whatever the controls say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synovia import quat
from synovia.anatomy import isb_angles
from synovia.anatomy.part import Part, join, load_tables
from synovia.anatomy.shoulder import CONTROLS, shoulder, shoulder_shao_2003
from synovia.charts import DirectionTwist
from synovia.skeleton import forward

DOWN = np.array([0.0, -1.0, 0.0])


def body(*sides, height=1.75):
    root = Part({"Sternum": None}, {"Sternum": np.zeros(3)}, {})
    return join(root, *(shoulder(side, height) for side in sides))


RIGHT, BOTH, SOURCE = body("Right"), body("Right", "Left"), shoulder_shao_2003()
FIGURES = {"human": RIGHT, "source": SOURCE}


def inside(figure, name):
    """A value inside the shoulder's network, for controls by their short names."""
    network = figure.joint_sets["right_shoulder"].network
    return lambda **controls: replace(network, outputs={"it": name})(
        {each: controls.get(each, 0.0) for each in CONTROLS}
    )["it"]


def world(figure, **controls):
    """Matrices (..., 4, 4) by segment."""
    named = {f"right_shoulder.{name}": value for name, value in controls.items()}
    posed = figure.pose(named)
    places, turns = forward(figure.skeleton, posed)
    out = np.zeros((*places.shape[:-1], 4, 4))
    w, x, y, z = np.moveaxis(turns, -1, 0)
    out[..., :3, :3] = np.moveaxis(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        ),
        (0, 1),
        (-2, -1),
    )
    out[..., :3, 3], out[..., 3, 3] = places, 1.0
    return {name: out[..., k, :, :] for k, name in enumerate(figure.skeleton.names)}, posed


def anywhere(figure, seed, count=2000, beyond=3.0):
    """Controls all over their ranges and far beyond."""
    ranges = figure.joint_sets["right_shoulder"].controls
    rng = np.random.default_rng(seed)
    return {
        name: each.low
        + (each.high - each.low)
        * (rng.uniform(-beyond, 1.0 + beyond, count) if k % 2 else rng.random(count))
        for k, (name, each) in enumerate(ranges.items())
    }


def used(posed):
    return dict(zip(CONTROLS, np.moveaxis(posed.controls[..., :5], -1, 0), strict=True))


def degrees(figure, posed):
    """The controls used, as angles."""
    data = load_tables("shoulder")["human" if figure is not SOURCE else "source"]["controls"]
    return {
        name: np.interp(value, data[name]["range"], data[name].get("degrees", data[name]["range"]))
        for name, value in used(posed).items()
    }


@pytest.mark.parametrize("name", FIGURES)
@settings(max_examples=60)
@given(
    arm=st.tuples(*[st.floats(-1.0, 1.0)] * 3),
    shrug=st.tuples(*[st.floats(-1.0, 1.0)] * 2),
)
def test_a_shrug_does_not_turn_the_arm_and_leaves_it_attached(name, arm, shrug):
    figure = FIGURES[name]
    ranges = figure.joint_sets["right_shoulder"].controls
    at = {
        key: value * (each.high if value > 0 else -each.low)
        for (key, each), value in zip(ranges.items(), (*arm, *shrug), strict=True)
    }
    still, _ = world(figure, **{**at, "elevation": 0.0, "protraction": 0.0})
    moved, _ = world(figure, **at)
    before, after = still["RightUpperArm"], moved["RightUpperArm"]
    assert np.abs(before[:3, :3] - after[:3, :3]).max() < 1e-9
    # The humerus keeps its place at the socket, which has gone with the scapula.
    socket = np.append(figure.skeleton.offsets[figure.skeleton.index("RightUpperArm")], 1.0)
    way = [
        each["RightUpperArm"][:3, 3] - (each["RightScapula"] @ socket)[:3]
        for each in (still, moved)
    ]
    assert np.abs(way[0] - way[1]).max() < 1e-9 * np.abs(socket).max()
    # And clavicle, scapula are joined.
    for bone, parent in (("RightClavicle", "Sternum"), ("RightScapula", "RightClavicle")):
        joint = np.append(figure.skeleton.offsets[figure.skeleton.index(bone)], 1.0)
        assert np.abs(moved[parent] @ joint - moved[bone][:, 3]).max() < 1e-9


def test_the_socket_moves_under_a_shrug_and_the_arm_would_turn_without_compensation():
    rest, _ = world(RIGHT)
    shrug, _ = world(RIGHT, elevation=30.0)
    rise = shrug["RightUpperArm"][:3, 3] - rest["RightUpperArm"][:3, 3]
    assert 0.05 < rise[1] < 0.1
    assert np.trace(shrug["RightClavicle"][:3, :3]) < 2.8


@pytest.mark.parametrize("name", FIGURES)
def test_no_control_leaves_ranges_cones_and_bounds(name):
    figure = FIGURES[name]
    network = figure.joint_sets["right_shoulder"].network
    at = anywhere(figure, 5)
    for key in at:
        at[key][:2] = 1e9, -1e9
    bones, posed = world(figure, **at)
    # The arm's direction and twist, seen from the thorax.
    cone = network.components["arm_cone"].cone
    arm = inside(figure, "arm_cone.matrix")(**used(posed))
    assert np.abs(arm[:, :3, :3] - bones["RightUpperArm"][:, :3, :3]).max() < 1e-9
    turns = quat.from_matrix(bones["RightUpperArm"][:, :3, :3])
    points = DirectionTwist(axis=DOWN).points(turns)
    assert cone.distance(points).max() < 1e-7
    # The clavicle's direction, and its angles against their bounds.
    limits = network.components["clavicle_cone"]
    turn = bones["RightClavicle"][:, :3, :3]
    assert limits.cone.contains_direction(turn @ limits.rest).all()
    angles = degrees(figure, posed)
    elevation = np.degrees(inside(figure, "clavicle_cone.first")(**used(posed)))
    protraction = np.degrees(inside(figure, "clavicle_cone.second")(**used(posed)))
    rebuilt = about([0, 0, -1], elevation) @ about([0, 1, 0], protraction)
    assert np.abs((rebuilt - turn) @ limits.rest).max() < 1e-9
    assert elevation.max() < 47.1
    assert np.abs(protraction).max() < 30.0
    if name == "source":
        table = load_tables("shoulder")["source"]["clavicle_elevation"]
        least = np.interp(angles["abduction"], table["driver"], table["lower"])
        assert (elevation - least).min() > -1e-9


def about(axis, angle):
    """Rotation matrices (n, 3, 3) by the plain formula."""
    x, y, z = np.asarray(axis, float)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(angle)[:, None, None]
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def test_poses_are_known_again():
    at = anywhere(RIGHT, 8, count=12)
    _, posed = world(RIGHT, **at)
    assert RIGHT.contains(posed).all()


@pytest.mark.parametrize(
    ("control", "bone", "axis"),
    [
        ("abduction", "RightUpperArm", [-1, 0, 0]),
        ("flexion", "RightUpperArm", [0, 0, 1]),
        ("elevation", "RightClavicle", [0, 1, 0]),
        ("protraction", "RightClavicle", [0, 0, 1]),
    ],
)
def test_controls_move_monotonically(control, bone, axis):
    each = RIGHT.controls[f"right_shoulder.{control}"]
    way = np.linspace(each.low, each.high, 400)
    bones, _ = world(RIGHT, **{control: way})
    rest = DOWN if bone == "RightUpperArm" else RIGHT.skeleton.offsets[2]
    v = bones[bone][:, :3, :3] @ (rest / np.linalg.norm(rest))
    across = np.array(axis, float)
    up = -DOWN if bone == "RightUpperArm" else np.array([-1.0, 0.0, 0.0])
    raised = np.unwrap(np.arctan2(v @ across, -(v @ up) if bone == "RightUpperArm" else v @ up))
    assert (np.diff(raised) > -1e-12).all()
    assert raised[-1] - raised[0] > 0.8 * np.radians(each.high - each.low)


@pytest.mark.parametrize("control", CONTROLS)
def test_bones_do_not_jump(control):
    each = RIGHT.controls[f"right_shoulder.{control}"]
    way = np.linspace(each.low, each.high, 2001)
    turns = RIGHT.pose({f"right_shoulder.{control}": way}).rotations
    speed = np.degrees(quat.angle_between(turns[1:], turns[:-1])) / (way[1] - way[0])
    assert speed.max() < 3.0  # degrees a degree of the control


def test_the_scapula_and_the_clavicle_follow_a_raised_arm():
    way = np.linspace(0.0, 170.0, 200)
    for control in ("abduction", "flexion"):
        bones, _ = world(RIGHT, **{control: way})
        spine = bones["RightScapula"][:, :3, :3] @ [-0.76, 0.105, 0.64]
        rises = np.degrees(np.arcsin(spine[:, 1] / np.linalg.norm(spine[0])))
        assert (np.diff(rises) > -0.05).all()
        assert 40.0 < rises[-1] - rises[0] < 60.0
        tips = bones["RightScapula"][:, 1, 3]
        assert (np.diff(tips) > -1e-12).all()
        assert tips[-1] > tips[0] + 0.02


PLANES = {"frontal": 0.0, "scapular": 40.0, "sagittal": 90.0}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("bone", ["scapula", "clavicle"])
def test_the_rhythm_from_30_to_120_degrees_is_that_of_people(side, bone):
    published = np.array(load_tables("shoulder")["human"]["rhythm_means"][bone])
    for degrees, rows in zip(PLANES.values(), published, strict=True):
        plane, elevation = np.radians(degrees), np.radians([30.0, 120.0])
        # An arm that is abducted and then flexed points into the plane.
        abduction = np.arcsin(np.sin(elevation) * np.cos(plane))
        flexion = np.arctan2(np.sin(elevation) * np.sin(plane), np.cos(elevation))
        if degrees == 0.0:
            abduction, flexion = elevation, 0.0 * elevation
        controls = {"abduction": np.degrees(abduction), "flexion": np.degrees(flexion)}
        posed = BOTH.pose({f"{side}_shoulder.{name}": each for name, each in controls.items()})
        arm = np.degrees(isb_angles(BOTH.skeleton, posed, f"{side}_shoulder"))
        assert arm[:, 1] == pytest.approx([-30.0, -120.0], abs=1e-6)
        assert arm[:, 0] == pytest.approx([degrees, degrees], abs=1e-5)
        angles = np.degrees(isb_angles(BOTH.skeleton, posed, f"{side}_{bone}"))
        mean, deviation = rows.T
        off = np.abs(angles[1] - angles[0] - mean)
        assert (off < np.where(deviation > 0.0, deviation, 5.0)).all()


def test_an_arm_behind_the_body_or_across_the_chest_hardly_moves_the_scapula():
    rest = BOTH.pose().rotations
    for controls in ({"flexion": -60.0}, {"abduction": -40.0, "flexion": 10.0}):
        posed = BOTH.pose({f"right_shoulder.{name}": each for name, each in controls.items()})
        moved = quat.angle_between(rest, posed.rotations)[BOTH.skeleton.index("RightScapula")]
        assert np.degrees(moved) < 15.0


def test_the_centre_of_abduction_is_lower_first_and_higher_then():
    centers = load_tables("shoulder")["source"]["abduction_centers"]
    turn = SOURCE.joint_sets["right_shoulder"].network.components["abduct"]
    for angle in (30.0, 90.0):
        want = np.eye(4)
        for center, share in zip(centers["centers"], (min(angle, 60.0), angle - 60.0), strict=True):
            if share > 0.0:
                step = np.eye(4)
                step[:3, :3] = about([0, 0, -1], np.array([share]))[0]
                step[:3, 3] = np.array(center) - step[:3, :3] @ center
                want = step @ want
        assert np.abs(turn(angle=np.radians(angle))["matrix"] - want).max() < 1e-12


def test_a_taller_person_has_longer_bones_and_the_same_angles():
    tall = body("Right", height=2.1)
    at = {f"right_shoulder.{name}": 20.0 for name in CONTROLS}
    one, other = RIGHT.pose(at), tall.pose(at)
    assert np.abs(one.rotations - other.rotations).max() < 1e-12
    assert np.abs(1.2 * one.positions - other.positions).max() < 1e-12


def test_every_table_says_where_it_comes_from():
    for name in ("human", "source"):
        data = load_tables("shoulder")[name]
        tables = [data[key] for key in data if isinstance(data[key], dict) and key != "axes"]
        tables = [each for each in tables if each is not data["controls"]]
        tables += list(data["controls"].values()) if name == "human" else [data["controls"]]
        for table in tables:
            assert table["source"]
            assert any(word in table["status"] for word in ("verified", "transcribed", "ours"))
