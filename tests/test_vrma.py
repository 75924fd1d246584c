"""VRM Animation: bones of VRM that rest in the T-pose, and the motion of the source."""

from __future__ import annotations

import numpy as np
import pytest

from command_line import result_of
from gltfs import split
from synovia import load_clip, save_clip
from synovia.io import clip_from_poses
from synovia.io.gltf import humanoid
from synovia.io.gltf.write import REQUIRED
from synovia.skeleton import forward, with_up

SMPL = {
    f"{side}{bone}": f"{side}_{joint}"
    for side in ("left", "right")
    for bone, joint in {
        "UpperArm": "shoulder",
        "LowerArm": "elbow",
        "Hand": "wrist",
        "UpperLeg": "hip",
        "LowerLeg": "knee",
        "Foot": "ankle",
    }.items()
}
BONES = [
    (f"{side}{one}", f"{side}{other}")
    for side in ("left", "right")
    for one, other in (
        *(("UpperArm", "LowerArm"), ("LowerArm", "Hand")),
        *(("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot")),
    )
]


@pytest.fixture(scope="module")
def walk():
    rng = np.random.default_rng(5)
    time = np.linspace(0.0, 3.0, 40)[:, None]
    poses = 0.4 * np.sin(time * rng.uniform(1.0, 4.0, 72) + rng.uniform(0.0, 6.0, 72))
    trans = np.concatenate([time, 0.1 * np.sin(time), 0.9 + 0.0 * time], axis=1)
    return clip_from_poses(poses, trans, frame_time=1.0 / 30.0)


@pytest.fixture
def written(walk, tmp_path):
    with pytest.warns(UserWarning, match="left out left_hand, right_hand"):
        save_clip(walk, tmp_path / "a.vrma")
    return tmp_path / "a.vrma"


def test_the_extension_names_all_bones_that_vrm_requires(written):
    root, _ = split(written.read_bytes())
    assert root["extensionsUsed"] == ["VRMC_vrm_animation"]
    extension = root["extensions"]["VRMC_vrm_animation"]
    assert extension["specVersion"] == "1.0"
    bones = extension["humanoid"]["humanBones"]
    assert set(REQUIRED) <= set(bones)
    assert {root["nodes"][bone["node"]]["name"]: name for name, bone in bones.items()} == {
        name: name for name in bones
    }
    moved = {
        root["nodes"][channel["target"]["node"]]["name"]
        for channel in root["animations"][0]["channels"]
        if channel["target"]["path"] != "rotation"
    }
    assert moved == {"hips"}


def test_the_rest_pose_is_a_t_pose(written):
    clip = load_clip(written)
    places = dict(
        zip(clip.skeleton.names, forward(clip.skeleton, clip.skeleton.rest_pose())[0], strict=True)
    )
    for one, other in BONES:
        way = places[other] - places[one]
        sign = 1.0 if one.startswith("left") else -1.0
        expected = [sign, 0.0, 0.0] if "Arm" in one else [0.0, -1.0, 0.0]
        np.testing.assert_allclose(way / np.linalg.norm(way), expected, atol=1e-5)
    np.testing.assert_allclose(places["hips"][[0, 2]], 0.0, atol=1e-9)
    assert 0.7 < places["hips"][1] < 1.2


def test_limbs_point_where_they_did(walk, written):
    clip, upright = load_clip(written), with_up(walk, "y")
    ours, theirs = (forward(each.skeleton, each.pose)[0] for each in (clip, upright))
    for one, other in BONES:
        found = ours[:, clip.skeleton.index(other)] - ours[:, clip.skeleton.index(one)]
        a, b = (upright.skeleton.index(SMPL[each]) for each in (one, other))
        np.testing.assert_allclose(found, theirs[:, b] - theirs[:, a], atol=1e-5)
    hips = ours[:, clip.skeleton.index("hips")]
    np.testing.assert_allclose(hips, theirs[:, 0], atol=1e-5)


def test_a_vrma_is_written_again_with_the_same_bytes(written, tmp_path):
    clip = load_clip(written)
    assert set(REQUIRED) <= set(humanoid(clip))
    save_clip(clip, tmp_path / "b.vrma")
    assert (tmp_path / "b.vrma").read_bytes() == written.read_bytes()


def test_convert_says_what_is_left_out(walk, tmp_path):
    save_clip(walk, tmp_path / "a.npz")
    done = result_of("convert", tmp_path / "a.npz", "-o", tmp_path / "a.vrma", code=0)
    assert "left out left_hand, right_hand, which are no bones of VRM" in done.output
    assert "lost" not in done.output


def test_what_is_no_human_is_refused_before_writing(here, tmp_path):
    said = result_of("convert", "wild.bvh", "-o", tmp_path / "a.vrma", code=2).output
    assert f"{tmp_path / 'a.vrma'}: a VRMA file holds the motion of a human: no human" in said
    assert not (tmp_path / "a.vrma").exists()
