"""Bodies: bones in their places on both sides, a skin around them, on the human and on rigs."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from synovia import Pose, Skeleton, forward, human, load_clip, quat
from synovia.body import body_of
from synovia.body.asset import FILE, load_human
from synovia.demo import wild
from synovia.rigs import canonical_skeleton

ROKOKO = Path(__file__).parents[2] / "shared/data/animateddrawings_mit/rokoko__jesse_dance.bvh"
LONG_BONES = [
    ("LeftUpperArm", "LeftLowerArm"),
    ("LeftUpperLeg", "LeftLowerLeg"),
    ("LeftLowerLeg", "LeftFoot"),
    ("LeftForearm", "LeftHand"),
    ("LeftClavicle", "LeftScapula"),
]


@pytest.fixture(scope="module")
def figure():
    return human()


@pytest.fixture(scope="module")
def body(figure):
    return body_of(figure.skeleton)


def first_of(body, name):
    """Mask of the bones' vertices whose first segment is `name`."""
    return body.bones.segments[:, 0] == load_human().skeleton.index(name)


def is_closed(triangles):
    """True if each edge has one triangle on either side, with opposite directions."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = Counter(map(tuple, edges.tolist()))
    return all(number == count[b, a] for (a, b), number in count.items())


def volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum()) / 6.0


def winding(points, vertices, triangles):
    """Winding numbers (n,) of a surface about points: 1 inside (Van Oosterom and Strackee 1983)."""
    numbers = []
    for point in points:
        a, b, c = (vertices[triangles[:, k]] - point for k in range(3))
        p, q, r = (np.linalg.norm(corner, axis=1) for corner in (a, b, c))
        volumes = (a * np.cross(b, c)).sum(axis=1)
        dots = [(u * v).sum(axis=1) for u, v in ((a, b), (b, c), (c, a))]
        angles = np.arctan2(volumes, p * q * r + dots[0] * r + dots[1] * p + dots[2] * q)
        numbers.append(2.0 * angles.sum() / (4.0 * np.pi))
    return np.array(numbers)


def nearest(points, others):
    """Distances (n,) from each point to the nearest of `others`."""
    return np.array([np.linalg.norm(others - point, axis=1).min() for point in points])


def test_asset_has_the_segments_of_the_default_human(figure):
    ours = load_human().skeleton
    assert ours.names == human(1.75).skeleton.names
    np.testing.assert_array_equal(ours.parents, figure.skeleton.parents)
    np.testing.assert_allclose(ours.offsets, human(1.75).skeleton.offsets, atol=1e-12)


def test_asset_is_light():
    """The page loads it in one request: 450 kB in all, of which this is about half."""
    assert len(gzip.compress(FILE.read_bytes(), 9)) < 230_000


@pytest.mark.parametrize("part", ["bones", "skin"])
def test_meshes_are_closed_and_face_outwards(figure, body, part):
    mesh = getattr(body, part)
    assert is_closed(mesh.triangles)
    vertices = body.vertices(mesh, figure.skeleton.rest_pose())
    assert volume(vertices, mesh.triangles) > 0.0
    np.testing.assert_allclose(mesh.weights.sum(axis=1), 1.0)


def test_bones_are_as_tall_as_the_human(figure, body):
    vertices = body.vertices(body.bones, figure.skeleton.rest_pose())
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    assert high[1] == pytest.approx(1.75, abs=0.015)
    assert abs(low[1]) < 0.02
    assert 0.35 < high[0] - low[0] < 0.55


@pytest.mark.parametrize(("start", "end"), LONG_BONES)
def test_long_bones_end_at_their_joints(figure, body, start, end):
    rest = figure.skeleton.rest_pose()
    positions = forward(figure.skeleton, rest)[0]
    vertices = body.vertices(body.bones, rest)[first_of(body, start)]
    a, b = (positions[figure.skeleton.index(name)] for name in (start, end))
    length = np.linalg.norm(b - a)
    along = (vertices - a) @ (b - a) / length
    # The round heads of humerus and femur reach beyond the centre of the joint by their radius.
    head = 0.025 if start.endswith(("UpperArm", "UpperLeg")) else 0.0
    assert abs(along.min() + head) < 0.05 * length
    assert abs(along.max() - length) < 0.05 * length


def test_left_bones_mirror_right_bones(figure, body):
    vertices = body.vertices(body.bones, figure.skeleton.rest_pose())
    for name in figure.skeleton.names:
        if "Left" in name:
            left = vertices[first_of(body, name)] * [-1, 1, 1]
            right = vertices[first_of(body, name.replace("Left", "Right"))]
            assert len(left) == len(right) > 0
            assert nearest(left, right).max() < 0.001  # positions are rounded to 0.25 mm


@pytest.mark.parametrize(
    "controls",
    [
        {},
        {"thoracic.bend": 28.0},
        {"thoracic.flexion": 27.0, "thoracic.twist": 23.0},
        {"thoracic.flexion": -18.0, "thoracic.bend": -28.0},
    ],
)
def test_ribs_meet_the_sternum_or_the_rib_above(figure, body, controls):
    vertices = body.vertices(body.bones, figure.pose(controls))
    for number in range(1, 11):
        for side in ("Left", "Right"):
            carrier = "Sternum" if number <= 7 else f"Rib{number - 1}{side}"
            own = first_of(body, f"Rib{number}{side}")
            front = own & (body.bones.weights[:, 1] > 0.99)
            assert nearest(vertices[front], vertices[first_of(body, carrier)]).min() < 0.01


def test_the_scapula_glides_on_the_ribs(figure, body):
    """Its medial border stays near the ribs at every elevation of the arm."""
    names = np.array(load_human().skeleton.names)
    ribs = np.char.startswith(names, "Rib")[body.bones.segments[:, 0]]
    scapula = first_of(body, "LeftScapula")
    index = figure.skeleton.index("LeftScapula")
    at_rest = figure.skeleton.rest_pose()
    local = (
        body.vertices(body.bones, at_rest)[scapula] - forward(figure.skeleton, at_rest)[0][index]
    )
    border = local[:, 0] < -0.07
    for degrees in (0.0, 60.0, 120.0, 170.0):
        pose = figure.pose({"left_shoulder.abduction": degrees})
        vertices = body.vertices(body.bones, pose)
        apart = nearest(vertices[scapula][border], vertices[ribs])
        assert apart.min() < 0.007
        assert np.median(apart) < 0.02


def test_bodies_scale_with_their_figures(figure, body):
    tall = human(1.9).skeleton
    other = body_of(tall)
    for part in ("bones", "skin"):
        mesh = getattr(other, part)
        there = other.vertices(mesh, tall.rest_pose())
        here = body.vertices(mesh, figure.skeleton.rest_pose())
        np.testing.assert_allclose(there, here * 1.9 / 1.75, atol=1e-6)


def test_a_skin_is_around_the_bones_and_follows_them(figure, body):
    pose = figure.pose({"left_elbow.flexion": 90.0, "right_hip.flexion": 60.0})
    bones, skin = (body.vertices(mesh, pose) for mesh in (body.bones, body.skin))
    for axis in range(3):
        assert skin[:, axis].min() < bones[:, axis].min() + 0.01
        assert skin[:, axis].max() > bones[:, axis].max() - 0.01


def test_bones_stay_below_the_skin_as_the_knee_bends(figure, body):
    patella = first_of(body, "LeftPatella")
    shin = first_of(body, "LeftLowerLeg") | first_of(body, "LeftFibula")
    for degrees in (0.0, 45.0, 90.0, 120.0, 140.0):
        pose = figure.pose({"left_knee.flexion": degrees})
        bones, skin = (body.vertices(mesh, pose) for mesh in (body.bones, body.skin))
        assert winding(bones[patella], skin, body.skin.triangles).min() > 0.5
        inside = winding(bones[shin], skin, body.skin.triangles) > 0.5
        assert inside.mean() > 0.98


def test_hanging_hands_are_beside_the_thighs(figure, body):
    rest = figure.skeleton.rest_pose()
    skin = body.vertices(body.skin, rest)
    hand = body.skin.owners == load_human().skeleton.index("LeftHand")
    others = ~hand[body.skin.triangles].any(axis=1)
    fingers = hand & (skin[:, 1] < skin[hand, 1].max() - 0.04)  # below the wrist
    inside = winding(skin[fingers], skin, body.skin.triangles[others]) > 0.5
    assert inside.mean() < 0.03


def test_fingers_are_apart(figure, body):
    """Between the ends of two neighbouring fingers there is no skin."""
    rest = figure.skeleton.rest_pose()
    skin = body.vertices(body.skin, rest)
    hand = body.vertices(body.bones, rest)[first_of(body, "LeftHand")]
    level = hand[hand[:, 1] < hand[:, 1].min() + 0.04]
    across = np.linspace(level[:, 2].min(), level[:, 2].max(), 60)
    middle = level.mean(axis=0)
    line = np.column_stack([np.full(60, middle[0]), np.full(60, middle[1]), across])
    inside = winding(line, skin, body.skin.triangles) > 0.5
    assert (np.diff(inside.astype(int)) == 1).sum() + inside[0] >= 3


def test_the_face_moves_with_the_head(figure, body):
    """Jaw and chin, too, which are as near to the neck."""
    head = figure.skeleton.index("Head")
    pose = figure.pose()
    rotations = pose.rotations.copy()
    rotations[head] = quat.mul(rotations[head], quat.exp(np.array([0.0, 1.5, 0.0])))
    pose = Pose(rotations, pose.positions)
    bones, skin = (body.vertices(mesh, pose) for mesh in (body.bones, body.skin))
    position, rotation = (each[head] for each in forward(figure.skeleton, pose))
    bones, skin = (quat.rotate(quat.inverse(rotation), each - position) for each in (bones, skin))
    skull = bones[first_of(body, "Head")]
    chin = skull[skull[:, 1] < skull[:, 1].min() + 0.01]
    level = np.abs(skin[:, 1] - chin[:, 1].mean()) < 0.01
    assert skin[level, 2].max() > chin[:, 2].max() - 0.01


def test_a_recognised_rig_has_bones_of_its_own_lengths():
    """The canonical human has other names and lengths, and its arms sideways."""
    skeleton = canonical_skeleton()
    rest = skeleton.rest_pose()
    body = body_of(skeleton)
    positions, vertices = forward(skeleton, rest)[0], body.vertices(body.bones, rest)
    for start, end in (("UpperArm", "LowerArm"), ("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot")):
        a, b = (positions[skeleton.index(f"left{name}")] for name in (start, end))
        bone = vertices[first_of(body, f"Left{start}")]
        along = (bone - a) @ (b - a) / np.linalg.norm(b - a)
        assert along.max() == pytest.approx(np.linalg.norm(b - a), rel=0.06)
    skull = body.owners(body.bones)[first_of(body, "Head")]
    assert set(skull.tolist()) == {skeleton.index("head")}


def test_a_body_does_not_depend_on_axes_and_unit_of_a_rig():
    plain = canonical_skeleton()
    up = quat.to_matrix(quat.exp(np.array([0.5 * np.pi, 0.0, 0.0])))
    rotated = Skeleton(
        plain.names,
        plain.parents,
        100.0 * plain.offsets @ up.T,
        end_parents=plain.end_parents,
        end_offsets=100.0 * plain.end_offsets @ up.T,
    )
    bodies = [body_of(each, skin=False) for each in (plain, rotated)]
    here, there = (each.vertices(each.bones, each.skeleton.rest_pose()) for each in bodies)
    np.testing.assert_allclose(there, 100.0 * here @ up.T, atol=0.05)


def test_a_rig_without_a_rest_pose_has_a_whole_spine():
    """Its bones lie along x, and of two joints of its spine only one is known to be upright."""
    if not ROKOKO.is_file():
        pytest.skip(f"{ROKOKO.name} is not here")
    moving = load_clip(ROKOKO)
    body = body_of(moving.skeleton, moving, skin=False)
    first = Pose(moving.pose.rotations[0], moving.pose.positions[0])
    vertices = body.vertices(body.bones, first)
    names = load_human().skeleton.names
    column = [name for name in names if name[0] in "LT" and name[1:].isdigit()]
    spine = np.array([vertices[first_of(body, name)].mean(axis=0) for name in column])
    steps = np.linalg.norm(np.diff(spine, axis=0), axis=-1)
    assert steps.max() < 2.2 * np.median(steps)  # vertebrae leave no gap


def part_of(skeleton, names):
    """The joints of a skeleton that have these names."""
    parents = [skeleton.names[parent] if parent >= 0 else "" for parent in skeleton.parents]
    kept = [skeleton.index(name) for name in names]
    return Skeleton(
        tuple(names),
        np.array([names.index(parents[k]) if parents[k] else -1 for k in kept]),
        skeleton.offsets[kept],
    )


def test_without_its_joint_a_kneecap_moves_with_the_thigh(figure, body):
    names = [name for name in figure.skeleton.names if not name.endswith("Patella")]
    part = part_of(figure.skeleton, names)
    fewer = body_of(part)
    assert len(fewer.bones.triangles) == len(body.bones.triangles)
    assert fewer.skin is not None
    assert len(fewer.skin.triangles) == len(body.skin.triangles)  # there is no hole at the knee
    np.testing.assert_allclose(
        fewer.vertices(fewer.bones, part.rest_pose()),
        body.vertices(body.bones, figure.skeleton.rest_pose()),
        atol=1e-6,
    )


def test_a_part_of_the_human_has_only_its_own_bones(figure):
    names = [name for name in figure.skeleton.names if "Right" not in name]
    part = part_of(figure.skeleton, names)
    body = body_of(part)
    assert body.skin is None
    vertices = body.vertices(body.bones, part.rest_pose())[np.unique(body.bones.triangles)]
    assert -0.15 < vertices[:, 0].min() < 0.0  # half of the pelvis and of the vertebrae


def test_other_skeletons_have_no_body():
    names = ("Base", "Boom", "Arm", "Bucket")
    digger = Skeleton(names, np.arange(-1, 3), np.tile([0.0, 1.0, 0.0], (4, 1)))
    assert body_of(digger) is None


def test_a_rig_whose_feet_are_goals_has_no_body():
    """Its legs would end in the air."""
    plain = canonical_skeleton()
    parents = np.array(plain.parents)
    for side in ("left", "right"):
        parents[plain.index(f"{side}Foot")] = 0
    loose = Skeleton(
        plain.names,
        parents,
        plain.offsets,
        end_parents=plain.end_parents,
        end_offsets=plain.end_offsets,
    )
    assert body_of(plain, skin=False) is not None
    assert body_of(loose, skin=False) is None


def test_the_demos_skeleton_is_the_default_human():
    assert body_of(wild().skeleton).skin is not None


def test_a_hand_alone_has_no_body():
    whole = canonical_skeleton()
    first = whole.index("leftHand")
    kept = [k for k in range(len(whole)) if first in whole.path_to_root(k)]
    parents = [kept.index(whole.parents[k]) if k != first else -1 for k in kept]
    hand = Skeleton(tuple(whole.names[k] for k in kept), parents, whole.offsets[kept])
    assert "leftIndexDistal" in hand.names
    assert body_of(hand) is None
