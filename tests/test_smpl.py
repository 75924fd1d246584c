"""SMPL, SMPL-H and SMPL-X: npz files of AMASS, and plain arrays."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip as arm_clip
from clips import wave
from synovia import Clip, Pose, Skeleton, forward, load_clip, quat, save_clip
from synovia.cli import main
from synovia.io import clip_from_poses, poses_of
from synovia.io.smpl import KINDS, smpl_skeleton
from synovia.skeleton import resample, with_up

JOINTS = sorted(KINDS)
BODIES = [joints for joints in JOINTS if joints != 16]
RATE = dict.fromkeys((16, 22, 24, 52), "mocap_framerate") | {55: "mocap_frame_rate"}
pytestmark = pytest.mark.filterwarnings("ignore:.*taken for a right hand")


def arrays(joints, frames=12, dtype=np.float64):
    """What a file of AMASS holds."""
    poses = wave(frames, 3 * joints, 0.8, seed=joints).astype(dtype)
    poses[:, :3] += [1.6, 0.2, 0.1]  # the turn from y up to z up
    found = {
        "poses": poses,
        "trans": wave(frames, 3, 2.0, seed=3).astype(dtype),
        RATE[joints]: np.array(120.0),
        "gender": np.array("female"),
        "betas": np.linspace(-1, 1, 16),
        "dmpls": wave(frames, 8, 1.0, seed=4),
    }
    if joints == 55:
        found |= {"surface_model_type": np.array("smplx"), "mocap_time_length": np.array(0.1)}
        found |= {"root_orient": poses[:, :3], "pose_body": poses[:, 3:66]}
        found |= {"pose_jaw": poses[:, 66:69], "pose_eye": poses[:, 69:75]}
        found |= {"pose_hand": poses[:, 75:]}
    return found


def save(path, found, **more):
    np.savez_compressed(path, **{**found, **more})
    return path


def load_arrays(path):
    with np.load(path, allow_pickle=True) as npz:
        return dict(npz)


@pytest.mark.parametrize("joints", JOINTS)
def test_a_file_becomes_a_clip(tmp_path, joints):
    found = arrays(joints)
    clip = load_clip(save(tmp_path / "walk_poses.npz", found))
    assert clip.skeleton.names == tuple(KINDS[joints][1])
    assert (clip.skeleton.up, clip.skeleton.unit, clip.name) == ("z", 1.0, "walk_poses")
    assert clip.frame_time == 1 / 120
    np.testing.assert_array_equal(clip.pose.positions[:, 0], found["trans"])
    expected = quat.exp(found["poses"].reshape(12, joints, 3))
    np.testing.assert_array_equal(clip.pose.rotations, expected)


def rest_places(joints):
    skeleton = smpl_skeleton(joints)
    return dict(zip(skeleton.names, forward(skeleton, skeleton.rest_pose())[0], strict=True))


@pytest.mark.parametrize("joints", BODIES)
def test_the_body_at_rest_stands_with_its_arms_stretched_out(joints):
    places = rest_places(joints)
    assert places["pelvis"].tolist() == [0.0, 0.0, 0.0]
    for name, place in places.items():
        if name.startswith("left"):
            np.testing.assert_allclose(
                place * [-1, 1, 1], places["right" + name.removeprefix("left")], atol=1e-9
            )
            assert place[0] > 0.0
    assert places["left_wrist"][1] == pytest.approx(places["left_shoulder"][1], abs=0.01)
    heights = [places[name][1] for name in ("left_foot", "left_knee", "pelvis", "spine1")]
    heights += [places[name][1] for name in ("spine2", "spine3", "neck", "head")]
    assert heights == sorted(heights)
    assert places["left_foot"][2] > places["left_ankle"][2]
    if joints > 24:
        thumb, little = places["left_thumb3"], places["left_pinky3"]
        assert thumb[2] > places["left_index1"][2] > places["left_middle1"][2] > little[2]
        assert places["left_middle3"][0] > places["left_pinky3"][0] > places["left_wrist"][0]
    if joints == 55:
        assert places["left_eye_smplhf"][1] > places["jaw"][1]


def test_a_left_hand_is_the_mirrored_right_one(tmp_path):
    left, right = smpl_skeleton(16, "left"), smpl_skeleton(16)
    assert left.names == tuple(name.replace("right", "left") for name in right.names)
    np.testing.assert_array_equal(left.offsets * [-1, 1, 1] + 0.0, right.offsets + 0.0)
    with pytest.warns(UserWarning, match="taken for a left hand, by the file's name"):
        clip = load_clip(save(tmp_path / "left_mano.npz", arrays(16)))
    assert clip.skeleton.names == left.names


@pytest.mark.parametrize("joints", JOINTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_motion_is_replaced_and_other_arrays_stay(tmp_path, joints, dtype):
    found = arrays(joints, dtype=dtype)
    found["dict"] = np.array({"vids": [1, 2]}, dtype=object)
    clip = load_clip(save(tmp_path / "walk.npz", found))
    rotations = clip.pose.rotations.copy()
    rotations[:, 1] = quat.exp(np.array([0.3, 0.0, 0.0]))
    clip = replace(clip, pose=clip.pose.with_rotations(rotations))
    save_clip(clip, tmp_path / "again.npz")
    after = load_arrays(tmp_path / "again.npz")
    np.testing.assert_allclose(quat.exp(after["poses"].reshape(12, -1, 3)), rotations, atol=1e-14)
    np.testing.assert_array_equal(after["trans"], found["trans"])
    assert after[RATE[joints]] == 120.0
    for key in ("gender", "betas", "dmpls"):
        np.testing.assert_array_equal(after[key], found[key])
    assert after["dict"].item() == {"vids": [1, 2]}
    assert not {"root_orient", "pose_body", "mocap_time_length"} & after.keys()
    again = load_clip(tmp_path / "again.npz")
    assert quat.angle_between(again.pose.rotations, rotations).max() < 1e-12


def test_another_rate_drops_what_stands_for_each_frame_and_says_so(tmp_path):
    clip = load_clip(save(tmp_path / "walk.npz", arrays(55)))
    with pytest.warns(UserWarning, match=r"left out dmpls, of 12 frames: the clip has 6"):
        save_clip(resample(clip, 1 / 60), tmp_path / "slow.npz")
    after = load_arrays(tmp_path / "slow.npz")
    assert after["mocap_frame_rate"] == 60.0
    assert after["poses"].shape == (6, 165)
    assert "dmpls" not in after
    assert load_clip(tmp_path / "slow.npz").frames == 6


@pytest.mark.parametrize("joints", JOINTS)
def test_a_clip_of_other_origin_is_written_with_the_same_keys(tmp_path, joints):
    clip = clip_from_poses(arrays(joints)["poses"], np.ones((12, 3)), frame_time=1 / 60, up="y")
    order = np.random.default_rng(1).permutation(joints)
    order = sorted(order, key=lambda joint: len(clip.skeleton.path_to_root(joint)))
    skeleton = clip.skeleton
    shuffled = Skeleton(
        tuple(skeleton.names[joint] for joint in order),
        [order.index(skeleton.parents[joint]) if joint else -1 for joint in order],
        skeleton.offsets[order],
        up="y",
        unit=1.0,
    )
    pose = Pose(clip.pose.rotations[:, order], clip.pose.positions[:, order])
    save_clip(Clip(shuffled, pose, 1 / 60), tmp_path / "new.npz")
    after = load_arrays(tmp_path / "new.npz")
    assert {*after} >= {"poses", "trans", RATE[joints], "gender", "betas"}
    again = load_clip(tmp_path / "new.npz")
    turned = with_up(clip, "z")
    assert np.degrees(quat.angle_between(again.pose.rotations, turned.pose.rotations).max()) < 1e-6
    np.testing.assert_allclose(again.pose.positions[:, 0], [[1, -1, 1]] * 12, atol=1e-12)
    assert again.frame_time == pytest.approx(1 / 60)


def test_lengths_are_written_in_metres(tmp_path):
    clip = clip_from_poses(np.zeros((2, 72)), np.ones((2, 3)))
    centimetres = replace(
        clip.skeleton,
        offsets=100 * clip.skeleton.offsets,
        unit=0.01,
        end_parents=[],
        end_offsets=np.zeros((0, 3)),
    )
    pose = Pose(clip.pose.rotations, 100 * clip.pose.positions)
    save_clip(replace(clip, skeleton=centimetres, pose=pose), tmp_path / "a.npz")
    np.testing.assert_allclose(load_arrays(tmp_path / "a.npz")["trans"], np.ones((2, 3)))
    unknown = replace(clip, skeleton=replace(clip.skeleton, unit=0.0))
    with pytest.warns(UserWarning, match=r"a\.npz: the clip's unit is not known; lengths are"):
        save_clip(unknown, tmp_path / "a.npz")


def test_what_smpl_cannot_hold_is_said(tmp_path):
    clip = clip_from_poses(np.zeros((2, 72)))
    longer = replace(clip.skeleton, offsets=1.1 * clip.skeleton.offsets)
    with pytest.warns(UserWarning, match="are lost") as caught:
        save_clip(replace(clip, skeleton=longer), tmp_path / "a.npz")
    said = [str(each.message) for each in caught]
    assert len(said) == 2
    assert "the clip's bones are lost" in said[0]
    assert "positions of joints other than the pelvis are lost" in said[1]


def test_other_rigs_are_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"a\.npz: expected the 24 joints of SMPL, got a rig of "):
        save_clip(arm_clip(frames=3), tmp_path / "a.npz")
    clip = clip_from_poses(np.zeros((2, 156)))
    renamed = replace(
        clip, skeleton=replace(clip.skeleton, names=("hips", *clip.skeleton.names[1:]))
    )
    with pytest.raises(ValueError, match=r"52 joints of SMPL-H, .*: 'pelvis' is missing"):
        save_clip(renamed, tmp_path / "a.npz")
    parents = clip.skeleton.parents.copy()
    parents[clip.skeleton.index("head")] = 0
    moved = replace(clip, skeleton=replace(clip.skeleton, parents=parents))
    with pytest.raises(ValueError, match=r"'head' is on pelvis, not on neck"):
        save_clip(moved, tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()


# Arrays.


FORMS = {
    "flat": lambda n, j: (n, 3 * j),
    "rotation-vector": lambda n, j: (n, j, 3),
    "6d": lambda n, j: (n, j, 6),
    "matrix": lambda n, j: (n, j, 3, 3),
    "quaternion": lambda n, j: (n, j, 4),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("joints", JOINTS)
def test_arrays_of_every_form_go_there_and_back(form, joints):
    clip = clip_from_poses(arrays(joints)["poses"], frame_time=0.01)
    poses, trans = poses_of(clip, form)
    assert poses.shape == FORMS[form](12, joints)
    again = clip_from_poses(poses, trans)
    assert np.degrees(quat.angle_between(again.pose.rotations, clip.pose.rotations).max()) < 1e-6
    assert clip_from_poses(poses[:0]).frames == 0


@pytest.mark.parametrize(
    ("poses", "message"),
    [
        (np.zeros((4, 71)), r"poses must have shape .*, got \(4, 71\)"),
        (np.zeros((4, 23, 3)), r"got \(4, 23, 3\)"),
        (np.zeros(72), r"got \(72,\)"),
        (np.zeros((4, 24, 4)), "unit quaternions"),
        (np.zeros((4, 24, 6)), r"columns in two directions, not so at \[0, 0\]"),
        (np.zeros((4, 24, 3, 3)), r"rotation matrices, not so at \[0, 0\]"),
        (-np.tile(np.eye(3), (4, 24, 1, 1)), "rotation matrices"),
        (np.full((4, 72), np.nan), "poses must be finite"),
        ("poses", "poses must be numbers"),
    ],
)
def test_arrays_that_are_no_poses_are_refused(poses, message):
    with pytest.raises(ValueError, match=message):
        clip_from_poses(poses)


def test_other_arguments_are_checked():
    with pytest.raises(ValueError, match=r"trans must have shape \(2, 3\), got \(3, 3\)"):
        clip_from_poses(np.zeros((2, 72)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"form must be flat, .* or quaternion, got 'euler'"):
        poses_of(clip_from_poses(np.zeros((2, 72))), "euler")
    with pytest.raises(ValueError, match=r"ann_01: expected the \d+ joints of "):
        poses_of(arm_clip(frames=2))
    with pytest.raises(ValueError, match="joints must be 24, 52, 55, 22 or 16, got 23"):
        smpl_skeleton(23)


# Files in parts.


def parts(joints, names):
    """The arrays of a file, with the pose under other keys."""
    found = arrays(joints)
    poses = found.pop("poses").reshape(12, joints, 3)
    spans = {
        "root": (0, 1),
        "body": (1, min(joints, 24) if joints < 52 else 22),
        "jaw": (22, 23),
        "eye": (23, 25),
        "hand": (joints - 30, joints),
        "left": (joints - 30, joints - 15),
        "right": (joints - 15, joints),
    }
    for key in ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand"):
        found.pop(key, None)
    return found | {
        key: poses[:, slice(*spans[span])].reshape(12, -1) for key, span in names.items()
    }


AMASS = {"root_orient": "root", "pose_body": "body"}
SMPLX = {"global_orient": "root", "body_pose": "body"}
LAYOUTS = [
    (22, AMASS),
    (24, SMPLX),
    (52, {**AMASS, "pose_hand": "hand"}),
    (52, {**SMPLX, "left_hand_pose": "left", "right_hand_pose": "right"}),
    (55, {**AMASS, "pose_jaw": "jaw", "pose_eye": "eye", "pose_hand": "hand"}),
]


@pytest.mark.parametrize(("joints", "names"), LAYOUTS)
def test_parts_make_the_same_clip(tmp_path, joints, names):
    found = parts(joints, names)
    expected = quat.exp(arrays(joints)["poses"].reshape(12, joints, 3))
    clip = load_clip(save(tmp_path / "parts.npz", found))
    np.testing.assert_array_equal(clip.pose.rotations, expected)


def test_other_keys_and_matrices_make_the_same_clip(tmp_path):
    found = arrays(24)
    matrices = quat.to_matrix(quat.exp(found["poses"].reshape(12, 24, 3)))
    clip = load_clip(
        save(
            tmp_path / "pose.npz",
            {"pose": matrices, "transl": found["trans"], "fps": np.array(120)},
        )
    )
    assert clip.frame_time == 1 / 120
    np.testing.assert_array_equal(clip.pose.positions[:, 0], found["trans"])
    expected = quat.exp(found["poses"].reshape(12, 24, 3))
    assert np.degrees(quat.angle_between(clip.pose.rotations, expected).max()) < 1e-5


def test_wrong_parts_are_named(tmp_path):
    found = parts(52, {**AMASS, "pose_hand": "hand"})
    for change, message in (
        ({"root_orient": np.zeros((11, 3))}, r"pose_body: expected 11 frames, got 12"),
        ({"pose_body": np.zeros((12, 60))}, r"pose_body: expected frames of 63 numbers, .*12, 60"),
        ({"pose_body": 2 * np.ones((12, 21, 3, 3))}, "pose_body must be rotation matrices"),
    ):
        with pytest.raises(ValueError, match=rf"a\.npz: {message}"):
            load_clip(save(tmp_path / "a.npz", found | change))
    with pytest.warns(UserWarning, match="pose_hand holds no rotations of fingers, left out"):
        clip = load_clip(save(tmp_path / "a.npz", found | {"pose_hand": np.zeros((12, 24))}))
    assert len(clip.skeleton) == 22
    del found["root_orient"]
    with pytest.raises(ValueError, match="holds a pose without the pelvis: expected the key"):
        load_clip(save(tmp_path / "a.npz", found))


# Files as people have them, and as nobody should.


def test_a_file_without_rate_or_place_is_read_with_a_word(tmp_path):
    np.savez(tmp_path / "plain.npz", poses=np.zeros((3, 24, 3), np.float32))
    with pytest.warns(UserWarning, match="no ") as caught:
        clip = load_clip(tmp_path / "plain.npz")
    said = [str(each.message) for each in caught]
    assert "no trans: the pelvis stays at the origin" in said[0]
    assert "no mocap_framerate or mocap_frame_rate: taken to have 30 frames a second" in said[1]
    assert clip.frame_time == 1 / 30


def test_integers_and_columns_first_are_read(tmp_path):
    poses = np.asfortranarray(arrays(24)["poses"])
    found = {"poses": poses, "trans": np.ones((12, 3), np.int16), "mocap_framerate": np.array([60])}
    clip = load_clip(save(tmp_path / "a.npz", found))
    np.testing.assert_array_equal(clip.pose.rotations, quat.exp(poses.reshape(12, 24, 3)))


def test_shapes_are_told_from_motion(tmp_path):
    save(tmp_path / "shape.npz", {"betas": np.zeros(16), "gender": np.array("male")})
    with pytest.raises(
        ValueError, match=r"shape\.npz: holds a shape, not motion: expected the key"
    ):
        load_clip(tmp_path / "shape.npz")
    save(tmp_path / "other.npz", {"x": np.zeros(3)})
    with pytest.raises(ValueError, match=r"holds no motion: expected the key 'poses', got 'x'"):
        load_clip(tmp_path / "other.npz")


def test_a_directory_of_amass_is_taken_without_its_shapes(tmp_path):
    folder = tmp_path / "Subject"
    folder.mkdir()
    save(folder / "walk_stageii.npz", arrays(55, frames=60))
    save(folder / "female_stagei.npz", {"betas": np.zeros(16)})
    save(folder / "shape.npz", {"betas": np.zeros(16)})
    done = CliRunner().invoke(
        main, ["fit", str(folder), "--shape", "box", "-o", str(tmp_path / "a.limits.json")]
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("skipped: holds a shape, not motion") == 2
    told = CliRunner().invoke(main, ["info", str(folder / "walk_stageii.npz")])
    assert told.exit_code == 0, told.output
    assert "left_eye_smplhf" in told.output


BROKEN = [
    ({"poses": np.zeros((4, 71))}, r"poses: expected frames of 72 \(SMPL\), 156 .*\(4, 71\)"),
    ({"poses": np.array([[None]], dtype=object)}, "poses: expected an npy array: Object arrays"),
    ({"poses": np.zeros((12, 72), complex)}, "poses: expected numbers, got an array of '<c16'"),
    ({"poses": np.full((12, 72), np.nan)}, r"poses: expected finite numbers .*, got nan at \[0, 0"),
    ({"trans": np.zeros((11, 3))}, r"trans: expected the shape \(12, 3\), got \(11, 3\)"),
    ({"mocap_framerate": np.array(0.0)}, "mocap_framerate: expected one number above 0, got 0.0"),
    ({"mocap_framerate": np.array([60.0, 1.0])}, "mocap_framerate: expected one number above 0"),
    ({"mocap_framerate": np.array("60")}, "mocap_framerate: expected numbers, got an array of"),
    (
        {"mocap_framerate": np.array(1e300)},
        "expected 1e-06 to 10000 seconds from f",
    ),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_what_is_broken_is_named_by_file_and_key(tmp_path, change, message):
    save(tmp_path / "walk.npz", {**arrays(24), **change})
    with pytest.raises(ValueError, match=rf"walk\.npz: {message}"):
        load_clip(tmp_path / "walk.npz")


def archive(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(shape, size=0, kind="<f8"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * size


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected an npz, a zip of arrays, got "),
        (b"PK\x03\x04", "expected an npz, a zip of arrays, got "),
        (archive({"poses": b""}), "poses: expected an npy array: "),
        (archive({"poses": b"\x93NUMPY\x01\x00\xff\xff"}), "poses: expected an npy array: "),
        (archive({"poses": npy("(10, 72)", 8)}), "poses: expected an npy array: "),
        (archive({"poses": npy(f"({10**18}, 72)", 8)}), "poses: expected an npy array: "),
        (archive({"poses": npy("(-1, 72)", 8)}), "poses: expected an npy array: "),
        (
            archive({"poses": npy("(1, 72)", 8, "|O")}),
            "poses: expected an npy array: Object arrays",
        ),
        (archive({"poses": npy("(1, 2)", 32, "<f16")}), "poses: expected numbers, got an array of"),
        (None, "expected at most 67108864 bytes in a file of 97"),
    ],
)
def test_hostile_files_are_refused_before_they_take_memory(tmp_path, content, message):
    bomb = archive({"poses": b"\0" * 10**8}) if content is None else content
    (tmp_path / "walk.npz").write_bytes(bomb)
    with pytest.raises(ValueError, match=rf"walk\.npz: {message}"):
        load_clip(tmp_path / "walk.npz")
