"""Bodies: bones that are closed, in their places and of both sides, and a skin around them."""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from oracles import EXHAUSTIVE
from synovia import Pose, Skeleton, forward, human, load_clip, quat
from synovia.body import body_of, human_bones, mesh_of, pose_vertices
from synovia.body.bones import KINDS, make_surface
from synovia.body.build import in_walk_order, make_stored
from synovia.body.connectivity import connect
from synovia.body.store import Stored, _unpack, save_stored
from synovia.body.surface import SKIN_STEPS, round_vertices
from synovia.demo import wild
from synovia.rigs import align, canonical_skeleton, recognize
from synovia.view.bodies import pack_body, pack_points, pack_weights
from synovia.view.messages import pack

ROKOKO = Path(__file__).parents[2] / "shared/data/animateddrawings_mit/rokoko__jesse_dance.bvh"
LONG = {
    "humerus": ("LeftUpperArm", "LeftLowerArm"),
    "femur": ("LeftUpperLeg", "LeftLowerLeg"),
    "tibia": ("LeftLowerLeg", "LeftFoot"),
    "radius": ("LeftForearm", "LeftHand"),
    "clavicle": ("LeftClavicle", "LeftScapula"),
}


@pytest.fixture(scope="module")
def figure():
    return human()


@pytest.fixture(scope="module")
def bones(figure):
    return human_bones(figure.skeleton)


@pytest.fixture(scope="module")
def mesh(figure, bones):
    return mesh_of(bones, figure.skeleton)


def joint_of(figure, bone):
    return figure.skeleton.names[bone.joints[0]]


def vertices_of(mesh, figure, name):
    """Which vertices go with a segment first."""
    return mesh.joints[:, 0] == figure.skeleton.index(name)


def is_closed(triangles):
    """Whether each edge has a triangle on both sides, which turn alike."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = Counter(map(tuple, edges.tolist()))
    return all(number == count[b, a] for (a, b), number in count.items())


def volume(vertices, triangles):
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum()) / 6.0


def nearest(points, others):
    """The distance (n,) from each point to the nearest of others."""
    return np.array([np.linalg.norm(others - point, axis=1).min() for point in points])


def test_every_bone_is_closed_with_its_outside_outwards(bones):
    for bone in {each.kind: each for each in bones}.values():
        surface = bone.surface
        assert is_closed(surface.triangles), bone.kind
        assert volume(surface.vertices, surface.triangles) > 0.0, bone.kind
    for bone in bones:
        there = bone.surface.place(bone.placing)
        assert volume(there.vertices, there.triangles) > 0.0, bone.kind


def test_bones_are_made_twice_alike(figure, bones):
    again = human_bones(human().skeleton)
    assert [each.kind for each in again] == [each.kind for each in bones]
    assert all(np.array_equal(a.placing, b.placing) for a, b in zip(again, bones, strict=True))


def test_the_human_is_as_tall_as_it_should_be(figure, mesh):
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    assert high[1] == pytest.approx(1.75, abs=0.015)
    assert abs(low[1]) < 0.02
    assert 0.35 < high[0] - low[0] < 0.55


@pytest.mark.parametrize("kind", LONG)
def test_long_bones_end_at_their_joints(figure, bones, kind):
    start, end = (figure.skeleton.index(name) for name in LONG[kind])
    places = forward(figure.skeleton, figure.skeleton.rest_pose())[0]
    bone = next(each for each in bones if each.kind == kind and each.joints[0] == start)
    vertices = bone.surface.place(bone.placing).vertices
    along = places[end] - places[start]
    length = np.linalg.norm(along)
    reach = (vertices - places[start]) @ along / length
    # Round ends are around a joint, so a bone goes beyond its centre by the radius of its head.
    head = 0.025 if kind in ("humerus", "femur") else 0.0
    assert abs(reach.min() + head) < 0.05 * length
    assert abs(reach.max() - length) < 0.05 * length


def test_left_is_the_mirror_of_right(figure, bones, mesh):
    for name in figure.skeleton.names:
        if "Left" not in name:
            continue
        ours = mesh.vertices[vertices_of(mesh, figure, name)]
        others = mesh.vertices[vertices_of(mesh, figure, name.replace("Left", "Right"))]
        assert len(ours) > 0
        np.testing.assert_allclose(ours * [-1, 1, 1], others, atol=1e-12)


@pytest.mark.parametrize(
    "controls",
    [
        {},
        {"thoracic.bend": 28.0},
        {"thoracic.flexion": 27.0, "thoracic.twist": 23.0},
        {"thoracic.flexion": -18.0, "thoracic.bend": -28.0},
    ],
)
def test_ribs_meet_the_sternum(figure, bones, mesh, controls):
    where = pose_vertices(mesh, figure.skeleton, figure.pose(controls))
    sternum = where[vertices_of(mesh, figure, "Sternum")]
    for number in range(1, 8):
        for side in ("Left", "Right"):
            rib = where[vertices_of(mesh, figure, f"Rib{number}{side}")]
            assert nearest(rib[-1:], sternum) < 0.01
    for number in range(8, 11):  # and the others the rib above
        rib, above = (
            where[vertices_of(mesh, figure, f"Rib{each}Left")] for each in (number, number - 1)
        )
        assert nearest(rib[-1:], above) < 0.01


def test_the_scapula_glides_on_the_cage(figure, bones, mesh):
    """Its border at the spine is near the ribs, and never far inside them, however high the arm."""
    names = figure.skeleton.names
    ribs = np.array([name.startswith("Rib") for name in names])[mesh.joints[:, 0]]
    own = vertices_of(mesh, figure, "LeftScapula")
    local = next(bone for bone in bones if bone.kind == "scapula").surface.vertices
    border = local[:, 0] < -70.0
    for degrees in (0.0, 60.0, 120.0, 170.0):
        where = pose_vertices(
            mesh, figure.skeleton, figure.pose({"left_shoulder.abduction": degrees})
        )
        apart = nearest(where[own][border][::7], where[ribs])
        assert apart.min() < 0.005
        assert np.median(apart) < 0.02


def test_bones_go_with_their_figures_size(bones):
    tall = human(1.9)
    there = mesh_of(human_bones(tall.skeleton), tall.skeleton).vertices
    here = mesh_of(bones, human().skeleton).vertices
    np.testing.assert_allclose(there, here * 1.9 / 1.75, atol=1e-9)


def test_a_skin_is_around_the_bones_and_follows_them(figure, mesh):
    body = body_of(figure.skeleton)
    assert is_closed(body.skin.triangles)
    np.testing.assert_allclose(body.skin.weights.sum(axis=1), 1.0)
    pose = figure.pose({"left_elbow.flexion": 90.0, "right_hip.flexion": 60.0})
    bones, skin = (pose_vertices(each, figure.skeleton, pose) for each in (mesh, body.skin))
    for axis in range(3):
        assert skin[:, axis].min() < bones[:, axis].min() + 0.01
        assert skin[:, axis].max() > bones[:, axis].max() - 0.01


def test_the_face_goes_with_the_head(figure, mesh):
    """Jaw and chin, too, which are as near to the neck: a head that turns takes its skin along."""
    body, head = body_of(figure.skeleton), figure.skeleton.index("Head")
    pose = figure.pose()
    turned = pose.rotations.copy()
    turned[head] = quat.mul(turned[head], quat.exp(np.array([0.0, 1.5, 0.0])))
    pose = Pose(turned, pose.positions)
    bones, skin = (pose_vertices(each, figure.skeleton, pose) for each in (mesh, body.skin))
    place, turn = (each[head] for each in forward(figure.skeleton, pose))
    bones, skin = (quat.rotate(quat.inverse(turn), each - place) for each in (bones, skin))
    skull = bones[vertices_of(mesh, figure, "Head")]
    chin = skull[skull[:, 1] < skull[:, 1].min() + 0.01]
    level = np.abs(skin[:, 1] - chin[:, 1].mean()) < 0.01
    assert skin[level, 2].max() > chin[:, 2].max() - 0.01


def test_a_recognised_rig_has_bones_of_its_own_lengths():
    """The canonical human has other names and lengths, and its arms sideways."""
    skeleton = canonical_skeleton()
    body = body_of(skeleton)
    places = forward(skeleton, body.bind)[0]
    for kind, (start, end) in {
        "humerus": ("leftUpperArm", "leftLowerArm"),
        "femur": ("rightUpperLeg", "rightLowerLeg"),
        "tibia": ("rightLowerLeg", "rightFoot"),
    }.items():
        a, b = (places[skeleton.index(name)] for name in (start, end))
        bone = next(
            each
            for each in body.bones
            if each.kind == kind and each.joints[0] == skeleton.index(start)
        )
        along = (bone.surface.place(bone.placing).vertices - a) @ (b - a) / np.linalg.norm(b - a)
        assert along.max() == pytest.approx(np.linalg.norm(b - a), rel=0.06)
    skull = [each for each in body.bones if each.kind == "skull"]
    assert skull[0].joints[0] == skeleton.index("head")


def test_a_rigs_axes_do_not_matter():
    """A rig that stands along z, in centimetres, has the same body."""
    plain = canonical_skeleton()
    up = quat.to_matrix(quat.exp(np.array([0.5 * np.pi, 0.0, 0.0])))
    turned = Skeleton(
        plain.names,
        plain.parents,
        100.0 * plain.offsets @ up.T,
        end_parents=plain.end_parents,
        end_offsets=100.0 * plain.end_offsets @ up.T,
    )
    here, there = (body_of(each, skin=False).mesh.vertices for each in (plain, turned))
    np.testing.assert_allclose(there, 100.0 * here @ up.T, atol=0.05)


def test_a_rig_without_a_rest_pose_has_a_whole_spine():
    """Its bones lie along x, and of two joints of its spine only one is known to stand upright."""
    if not ROKOKO.is_file():
        pytest.skip(f"{ROKOKO.name} is not here")
    moving = load_clip(ROKOKO)
    body = body_of(moving.skeleton, moving, skin=False)
    joints = [moving.skeleton.index(name) for name in ("LeftUpLeg", "Spine2")]
    bound = forward(moving.skeleton, body.bind)[0][joints]
    acted = forward(moving.skeleton, moving.pose)[0][:, joints]
    apart = np.linalg.norm(acted[:, 0] - acted[:, 1], axis=-1)
    assert np.linalg.norm(bound[0] - bound[1]) == pytest.approx(np.median(apart), rel=0.06)
    first = Pose(moving.pose.rotations[0], moving.pose.positions[0])
    where = pose_vertices(body.mesh, moving.skeleton, first)
    starts = np.cumsum([0, *(len(bone.surface.vertices) for bone in body.bones)])
    spine = np.array(
        [
            where[start:end].mean(axis=0)
            for bone, start, end in zip(body.bones, starts, starts[1:], strict=False)
            if bone.kind in ("lumbar", "thoracic")
        ]
    )
    steps = np.linalg.norm(np.diff(spine, axis=0), axis=-1)
    assert steps.max() < 2.2 * np.median(steps)  # vertebrae leave no gap


def test_what_is_no_human_has_no_body():
    names = ("Base", "Boom", "Arm", "Bucket")
    digger = Skeleton(names, np.arange(-1, 3), np.tile([0.0, 1.0, 0.0], (4, 1)))
    assert body_of(digger) is None
    with pytest.raises(ValueError, match="segments of the default human"):
        human_bones(digger)


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
    assert body_of(wild().skeleton, skin=False) is not None
    assert align(recognize(canonical_skeleton())).frames


def unpack_triangles(codes, others, vertices, triangles):
    """The triangles of a walk, as the page takes it, and how many codes are left."""
    codes, others = iter(codes.tolist()), iter(others.tolist())
    met, found, gates, wanted, after, before = 0, [], [], Counter(), {}, {}

    def go_on(start, end):
        if wanted[start, end]:
            wanted[start, end] -= 1
            return
        wanted[end, start] += 1
        after[end], before[start] = start, end
        gates.append((end, start))

    while len(found) < triangles:
        corners = []
        for _ in range(3):
            new = next(codes) == 0
            corners.append(met if new else next(others))
            met += new
        a, b, c = corners
        found.append((a, b, c))
        for start, end in ((a, b), (b, c), (c, a)):
            go_on(start, end)
        while gates:
            start, end = gates.pop()
            if not wanted[start, end]:
                continue
            wanted[start, end] -= 1
            code = next(codes)
            if code == 4:
                continue
            third = [met, after.get(end), before.get(start)][code] if code < 3 else next(others)
            met += code == 0
            found.append((start, end, third))
            go_on(end, third)
            go_on(third, start)
    assert met == vertices
    return np.array(found), len(list(codes))


def turned(triangles):
    """Triangles that begin with their least corner, sorted."""
    least = triangles.argmin(axis=1)
    rolled = [np.roll(each, -k).tolist() for each, k in zip(triangles, least, strict=True)]
    return sorted(map(tuple, rolled))


@pytest.mark.parametrize("kind", ["rib3", "atlas", "scapula"])
def test_a_walk_says_all_triangles(kind):
    surface = make_surface(kind)
    walk = connect(surface.triangles)
    size = len(surface.vertices), len(surface.triangles)
    found, left = unpack_triangles(walk.codes, walk.others, *size)
    assert left == 0
    assert turned(walk.order[found]) == turned(surface.triangles)
    assert (walk.bases < np.arange(len(walk.bases))[:, None]).all()


def test_a_walk_over_what_is_open_or_meets_at_a_point():
    """Two triangles that share a corner, and one by itself."""
    triangles = np.array([[0, 1, 2], [2, 3, 4], [5, 6, 7]])
    walk = connect(triangles)
    found, left = unpack_triangles(walk.codes, walk.others, 8, 3)
    assert left == 0
    assert turned(walk.order[found]) == turned(triangles)


def some_stored():
    """Two bones, and a third as the skin: all takes eight seconds."""
    bones = [in_walk_order(make_surface(kind)) for kind in ("femur", "patella", "clavicle")]
    bones[2] = round_vertices(bones[2], SKIN_STEPS)
    joints, weights = np.arange(2 * len(bones[2].vertices)).reshape(-1, 2) % 7, bones[2].shares
    weights = np.column_stack([weights, 1.0 - weights])
    return Stored(dict(zip(("femur", "patella"), bones, strict=False)), bones[2], joints, weights)


def test_what_is_stored_is_what_would_be_made(tmp_path):
    made = make_stored() if EXHAUSTIVE else some_stored()
    save_stored(made, tmp_path / "surfaces.npz")
    with np.load(tmp_path / "surfaces.npz") as found:
        again = _unpack({name: found[name] for name in found.files})
    assert list(again.surfaces) == list(made.surfaces)
    assert not EXHAUSTIVE or list(made.surfaces) == list(KINDS)
    for kind, surface in [*made.surfaces.items(), ("skin", made.skin)]:
        other = again.surfaces.get(kind, again.skin)
        np.testing.assert_allclose(other.vertices, surface.vertices, atol=1e-9)
        assert turned(other.triangles) == turned(surface.triangles)
        np.testing.assert_allclose(other.shares, surface.shares, atol=0.002)
        np.testing.assert_array_equal(other.connectivity.codes, surface.connectivity.codes)
        np.testing.assert_array_equal(other.connectivity.bases, surface.connectivity.bases)
    np.testing.assert_array_equal(again.joints, made.joints)
    np.testing.assert_allclose(again.weights, made.weights, atol=0.01)


def test_bodies_are_light(figure):
    """Bones alone, and with the skin, compressed; the page itself is some 215 kB more."""
    for skin, most in ((False, 90_000), (True, 160_000)):
        shape = pack_body(body_of(figure.skeleton, skin=skin))
        assert len(zlib.compress(pack(shape), 9)) < most


def test_packed_weights_have_the_whole_sum(figure):
    skin = body_of(figure.skeleton).skin
    packed = pack_weights(skin.weights)
    assert (packed.sum(axis=1, dtype=int) == 255).all()
    assert np.abs(packed / 255.0 - skin.weights).max() < 0.02


def test_what_is_packed_is_what_there_is(figure):
    surface = human_bones(figure.skeleton)[0].surface
    walk = connect(surface.triangles)
    step = float(np.abs(surface.vertices).max()) / 2047
    low, high = pack_points(surface.vertices, step, walk).astype(int)
    folded = (low + 256 * high).T
    off = np.where(folded % 2, -(folded + 1) // 2, folded // 2)
    points = np.zeros((len(off) + 1, 3), dtype=int)  # the last stays 0, for what has no base
    for number, (a, b, c) in enumerate(walk.bases.tolist()):
        points[number] = points[a] + points[b] - points[c] + off[number]
    np.testing.assert_allclose(step * points[:-1], surface.vertices[walk.order], atol=0.51 * step)
