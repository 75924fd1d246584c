import numpy as np
import pytest

from oracles import random_quats
from synovia import quat
from synovia.skeleton import (
    POSITIONS,
    ROTATIONS,
    Clip,
    Pose,
    Skeleton,
    end_positions,
    forward,
    match,
)

NAMES = ("hip", "spine", "arm", "leg")


def skeleton(**changes):
    fields = {
        "names": NAMES,
        "parents": [-1, 0, 1, 0],
        "offsets": [[0, 1, 0], [0, 2, 0], [3, 0, 0], [0, -4, 0]],
        "end_parents": [2],
        "end_offsets": [[1, 0, 0]],
    }
    return Skeleton(**(fields | changes))


def random_pose(batch, dtype=np.float64, joints=4):
    rng = np.random.default_rng(3)
    rotations = quat.exp(rng.normal(size=(*batch, joints, 3)))
    return Pose(rotations.astype(dtype), rng.normal(size=(*batch, joints, 3)).astype(dtype))


def test_channels_default_to_six_on_roots_and_rotations_elsewhere():
    assert skeleton().channels == (POSITIONS + ROTATIONS, ROTATIONS, ROTATIONS, ROTATIONS)


def test_end_sites_default_to_none():
    assert Skeleton(("a",), [-1], [[0, 0, 0]]).end_offsets.shape == (0, 3)


def test_arrays_are_locked_copies():
    offsets = np.zeros((4, 3))
    made = skeleton(offsets=offsets)
    offsets[0] = 7.0
    assert not made.offsets.any()
    for array in (made.offsets, made.parents, made.end_parents, made.end_offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("hip", "", "arm", "leg")}, "names must be non-empty strings"),
        ({"names": "hips"}, "names must be non-empty strings, got 'hips'"),
        ({"names": ("hip", "arm", "arm", "leg")}, "names must differ from each other, got 'arm'"),
        ({"names": ()}, "at least one joint"),
        ({"parents": [-1, 0, 1]}, r"parents must have shape \(4,\), got \(3,\)"),
        ({"parents": [-1, 0, 3, 0]}, r"an earlier joint.* got 3 for joint 2 \(arm\)"),
        ({"parents": [-1, 0, 2, 0]}, "got 2 for joint 2"),
        ({"parents": [-2, 0, 1, 0]}, r"got -2 for joint 0 \(hip\)"),
        ({"parents": [-1.0, 0.5, 1, 0]}, "parents must be integers"),
        ({"offsets": np.zeros((3, 3))}, r"offsets must have shape \(4, 3\), got \(3, 3\)"),
        ({"offsets": np.full((4, 3), np.nan)}, "offsets must be finite"),
        ({"channels": (ROTATIONS,)}, "channels must have one entry for each of 4 joints, got 1"),
        ({"channels": (("Wrotation",),) * 4}, "got .*Wrotation.* for joint 'hip'"),
        ({"channels": (ROTATIONS[:1] * 2,) * 4}, "each once, got .* for joint 'hip'"),
        ({"end_parents": [4]}, "end_parents must be joints from 0 to 3"),
        ({"end_offsets": [[1, 0]]}, r"end_offsets must have shape \(1, 3\)"),
    ],
)
def test_what_makes_no_skeleton_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        skeleton(**changes)


def test_index_finds_names_and_suggests_others():
    assert skeleton().index("arm") == 2
    with pytest.raises(ValueError, match=r"no joint 'arms'; did you mean arm.* has hip, spine"):
        skeleton().index("arms")
    with pytest.raises(ValueError, match="no joint 'xyzzy'; this skeleton has hip, spine, arm"):
        skeleton().index("xyzzy")


def test_of_many_joints_a_few_are_named():
    names = [f"Joint{k}" for k in range(40)]
    many = Skeleton(names, [-1, *range(39)], np.zeros((40, 3)))
    with pytest.raises(ValueError, match=r"mean Joint7.* has Joint0, .*Joint11 and 28 more"):
        many.index("joint7x")


def test_children_and_length():
    assert len(skeleton()) == 4
    assert skeleton().children(0) == (1, 3)
    assert skeleton().children(2) == ()
    assert skeleton(parents=[-1, 0, -1, 0]).children(-1) == (0, 2)
    with pytest.raises(ValueError, match="joint must be from -1 to 3, got 4"):
        skeleton().children(4)


def test_rest_directions_point_to_the_mean_of_what_hangs_on_a_joint():
    expected = [[0, -1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(skeleton().rest_directions, expected, atol=1e-15)
    opposite = skeleton(offsets=[[0, 0, 0], [0.1, 0.2, 0], [1, 0, 0], [-0.1, -0.2, 0]])
    assert not opposite.rest_directions[0].any()


def test_the_rest_pose_adds_up_offsets():
    positions, rotations = forward(skeleton(), skeleton().rest_pose())
    np.testing.assert_array_equal(positions, [[0, 1, 0], [0, 3, 0], [3, 3, 0], [0, -3, 0]])
    np.testing.assert_array_equal(rotations, np.tile(quat.IDENTITY, (4, 1)))
    np.testing.assert_array_equal(end_positions(skeleton(), skeleton().rest_pose()), [[4, 3, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [(), (0,), (1,), (3, 1, 2)])
def test_forward_keeps_batch_and_type(batch, dtype):
    pose = random_pose(batch, dtype)
    positions, rotations = forward(skeleton(), pose)
    ends = end_positions(skeleton(), pose)
    assert positions.shape == (*batch, 4, 3)
    assert rotations.shape == (*batch, 4, 4)
    assert ends.shape == (*batch, 1, 3)
    assert {positions.dtype, rotations.dtype, ends.dtype} == {np.dtype(dtype)}


def test_forward_is_the_product_of_transforms_up_to_the_root():
    rng = np.random.default_rng(5)
    bones = Skeleton(tuple("abcdef"), [-1, 0, 1, 0, -1, 4], np.zeros((6, 3)))
    pose = Pose(random_quats(18, rng).reshape(3, 6, 4), rng.normal(size=(3, 6, 3)))
    positions, rotations = forward(bones, pose)
    for item, joint in np.ndindex(3, 6):
        whole = np.eye(4)
        for each in bones.path_to_root(joint):
            local = np.eye(4)
            local[:3, :3] = quat.to_matrix(pose.rotations[item, each])
            local[:3, 3] = pose.positions[item, each]
            whole = local @ whole
        np.testing.assert_allclose(positions[item, joint], whole[:3, 3], atol=1e-14)
        matrix = quat.to_matrix(rotations[item, joint])
        np.testing.assert_allclose(matrix, whole[:3, :3], atol=1e-14)


def test_a_pose_locks_its_own_view_only():
    rotations = np.tile(quat.IDENTITY, (4, 1))
    pose = Pose(rotations, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="read-only"):
        pose.rotations[0] = 1.0
    assert rotations.flags.writeable


@pytest.mark.parametrize(
    ("rotations", "positions", "message"),
    [
        (np.ones((2, 4)), np.zeros((2, 3)), "unit quaternions"),
        (np.tile(quat.IDENTITY, (2, 1)), np.zeros((3, 3)), r"got \(2, 4\) and \(3, 3\)"),
        (quat.IDENTITY, np.zeros(3), r"got \(4,\) and \(3,\)"),
        (np.tile(quat.IDENTITY, (2, 1)), np.full((2, 3), np.inf), "positions must be finite"),
    ],
)
def test_what_makes_no_pose_is_refused(rotations, positions, message):
    with pytest.raises(ValueError, match=message):
        Pose(rotations, positions)


def test_a_pose_of_another_skeleton_is_refused():
    with pytest.raises(ValueError, match="the skeleton's 4 joints, got 3"):
        forward(skeleton(), random_pose((), joints=3))
    with pytest.raises(ValueError, match="the skeleton's 4 joints, got 3"):
        Clip(skeleton(), random_pose((2,), joints=3), 0.1)


@pytest.mark.parametrize("frame_time", [0.0, -0.1, np.nan, np.inf])
def test_a_clip_needs_time_between_frames(frame_time):
    with pytest.raises(ValueError, match="frame_time must be above 0 seconds and finite, got"):
        Clip(skeleton(), random_pose((2,)), frame_time)


def test_a_clip_is_frames_first():
    assert Clip(skeleton(), random_pose((7,)), 0.1).frames == 7
    assert Clip(skeleton(), random_pose((0,)), 0.1).frames == 0
    with pytest.raises(ValueError, match=r"\(frames, joints, 4\), got \(4, 4\)"):
        Clip(skeleton(), random_pose(()), 0.1)


def test_matching_compares_each_name_a_few_times():
    comparisons = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            nonlocal comparisons
            comparisons += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [f"joint {k}" for k in range(500)]
    skeleton = Skeleton(tuple(names), np.arange(-1, 499), np.ones((500, 3)))
    found = match(map(Name, names), skeleton, skeleton)
    assert found.joints == dict(zip(names, range(500), strict=True))
    assert comparisons < 20 * len(names)
