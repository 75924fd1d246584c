"""glTF: what has not changed stays, and what is written is read back."""

import json
import shutil
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clips
from gltfs import FRAMES, TIMES, chain, quats, split, walking
from synovia import Clip, LimitModel, Pose, Skeleton, load_clip, quat, save_clip
from synovia.io import list_clips, save_clips
from synovia.io.gltf import humanoid
from synovia.quat import angle_between, exp, mul
from synovia.skeleton import forward, resample, with_unit, with_up
from test_gltf_read import HUMANOIDS, ROBOT, needs_robot, read, saved

FLOAT32_DEG = 2e-5


def turned(clip, *joints, frames=slice(None), angle=0.3):
    """The clip with some joints turned."""
    rotations = np.array(clip.pose.rotations)
    for name in joints:
        joint = clip.skeleton.index(name)
        rotations[frames, joint] = mul(exp(np.array([0.0, angle, 0.1])), rotations[frames, joint])
    return replace(clip, pose=Pose(rotations, clip.pose.positions))


def assert_same_motion(a, b):
    assert a.skeleton.names == b.skeleton.names
    assert (a.frames, a.frame_time) == (b.frames, pytest.approx(b.frame_time, rel=1e-7))
    angles = angle_between(a.pose.rotations, b.pose.rotations)
    assert np.degrees(angles).max() <= FLOAT32_DEG
    size = np.abs(b.pose.positions).max()
    np.testing.assert_allclose(a.pose.positions, b.pose.positions, atol=1e-6 * size)


def written(clip, path):
    save_clip(clip, path)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["Walk", "Wave"])
@pytest.mark.parametrize("suffix", [".glb", ".vrm", ".gltf"])
def test_an_unchanged_clip_gives_the_same_bytes(tmp_path, name, suffix):
    content = walking().gltf() if suffix == ".gltf" else walking().glb()
    clip = load_clip(f"{saved(tmp_path, content, 'a' + suffix)}#{name}")
    assert written(clip, tmp_path / f"b{suffix}") == content
    around = with_up(with_unit(with_unit(with_up(clip, "z"), 0.01), 1.0), "y")
    assert written(around, tmp_path / f"b{suffix}") == content
    both = replace(clip, pose=Pose(-clip.pose.rotations, clip.pose.positions))
    assert written(both, tmp_path / f"b{suffix}") == content


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_all_else_in_a_changed_file_stays(tmp_path, suffix):
    made = walking()
    content = made.gltf() if suffix == ".gltf" else made.glb()
    clip = turned(load_clip(f"{saved(tmp_path, content, 'a' + suffix)}#Wave"), "spine")
    after = written(clip, tmp_path / f"b{suffix}")
    root = json.loads(after) if suffix == ".gltf" else split(after)[0]
    before = json.loads(content) if suffix == ".gltf" else split(content)[0]
    for key, value in before.items():
        if key in ("accessors", "bufferViews"):
            assert root[key][: len(value)] == value
        elif key not in ("animations", "buffers"):
            assert root[key] == value
    assert root["animations"][0] == before["animations"][0]
    if suffix == ".gltf":
        assert root["buffers"][:-1] == before["buffers"]
    else:
        assert split(after)[1].startswith(bytes(made.data))
    assert_same_motion(load_clip(f"{tmp_path / 'b'}{suffix}#Wave"), clip)


def shared_output(made):
    wave = made.root["animations"][1]
    wave["samplers"][3]["output"] = wave["samplers"][0]["output"]


def shared_sampler(made):
    made.root["animations"][1]["channels"][3]["sampler"] = 0


def shared_bytes(made):
    root = made.root
    wave = root["animations"][1]["samplers"]
    wave[3]["output"] = made.add(dict(root["accessors"][wave[0]["output"]]))


def shared_view(made):
    root = made.root
    wave = root["animations"][1]["samplers"]
    twin = dict(root["accessors"][wave[0]["output"]])
    root["bufferViews"].append(dict(root["bufferViews"][twin["bufferView"]]))
    wave[3]["output"] = made.add({**twin, "bufferView": len(root["bufferViews"]) - 1})


@pytest.mark.parametrize("share", [shared_output, shared_sampler, shared_bytes, shared_view])
def test_what_joints_share_is_not_overwritten(tmp_path, share):
    made = walking()
    share(made)
    clip = turned(read(tmp_path, made, "Wave"), "hip")
    after = written(clip, tmp_path / "b.glb")
    assert split(after)[1].startswith(bytes(made.data))
    assert_same_motion(load_clip(f"{tmp_path / 'b.glb'}#Wave"), clip)


@pytest.mark.parametrize("joint", ["spine", "arm", "leg"])
def test_splines_and_quantised_keys_become_new_ones(tmp_path, joint):
    made = walking()
    clip = turned(read(tmp_path, made, "Walk"), joint)
    root, data = split(written(clip, tmp_path / "b.glb"))
    assert data.startswith(bytes(made.data))
    assert root["accessors"][: len(made.root["accessors"])] == made.root["accessors"]
    assert root["nodes"] == made.root["nodes"]
    assert root["animations"][1] == made.root["animations"][1]
    assert_same_motion(load_clip(f"{tmp_path / 'b.glb'}#Walk"), clip)
    assert len(list_clips(tmp_path / "b.glb")) == 2


def test_a_joint_without_a_channel_gets_one(tmp_path):
    made = chain()
    made.channel(made.animation("Nod"), 1, "rotation", TIMES, quats(FRAMES, 1))
    clip = turned(read(tmp_path, made), "arm")
    root, _ = split(written(clip, tmp_path / "b.glb"))
    assert "matrix" not in root["nodes"][4]  # what is animated must not have one
    assert_same_motion(load_clip(tmp_path / "b.glb"), clip)


def test_a_pose_at_rest_becomes_an_animation(tmp_path):
    clip = turned(read(tmp_path, chain()), "spine", "leg")
    save_clip(clip, tmp_path / "b.glb")
    after = load_clip(tmp_path / "b.glb")
    assert after.name == "a"
    assert_same_motion(after, replace(clip, frame_time=after.frame_time))


def test_other_frames_are_written(tmp_path):
    clip = resample(turned(read(tmp_path, walking(), "Wave"), "arm"), 1 / 60)
    save_clip(clip, tmp_path / "b.glb")
    after = load_clip(f"{tmp_path / 'b.glb'}#Wave")
    assert_same_motion(after, clip)
    short = replace(after, pose=Pose(after.pose.rotations[:9], after.pose.positions[:9]))
    save_clip(short, tmp_path / "c.glb")
    assert_same_motion(load_clip(f"{tmp_path / 'c.glb'}#Wave"), short)


@pytest.mark.parametrize("name", ["Walk", "Wave"])
def test_positions_are_written(tmp_path, name):
    clip = read(tmp_path, walking(), name)
    positions = np.array(clip.pose.positions)
    positions[:, 0] += np.linspace(0.0, [0.1, 0.2, -0.3], FRAMES)
    positions[4:, 2] *= 1.1
    moved = replace(clip, pose=Pose(clip.pose.rotations, positions))
    save_clip(moved, tmp_path / "b.glb")
    assert_same_motion(load_clip(f"{tmp_path / 'b.glb'}#{name}"), moved)


def test_several_clips_go_into_one_file(tmp_path):
    both = [turned(read(tmp_path, walking(), name), "hip", "leg") for name in ("Wave", "Walk")]
    save_clips(both, tmp_path / "b.glb")
    for clip in both:
        assert_same_motion(load_clip(f"{tmp_path / 'b.glb'}#{clip.name}"), clip)
    with pytest.raises(ValueError, match=r"b\.glb: expected one clip for each animation"):
        save_clips([both[0], both[0]], tmp_path / "b.glb")


@pytest.mark.parametrize("extension", HUMANOIDS)
def test_a_vrm_stays_a_vrm(tmp_path, extension):
    extensions = {extension: {"humanoid": HUMANOIDS[extension], "meta": {"title": "Ann"}}}
    made = chain(extensions=extensions, extensionsUsed=[extension])
    made.channel(made.animation("Nod"), 1, "rotation", TIMES, quats(FRAMES, 1))
    clip = turned(load_clip(saved(tmp_path, made, "a.vrm")), "spine")
    root, _ = split(written(clip, tmp_path / "b.vrm"))
    assert root["extensions"] == extensions
    assert humanoid(load_clip(tmp_path / "b.vrm")) == humanoid(clip) != {}


def test_a_joint_below_an_uneven_scale_must_stay_as_it_is(tmp_path):
    made = chain()
    made.root["nodes"][2]["scale"] = [1, 2, 3]
    made.channel(made.animation("Nod"), 1, "rotation", TIMES, quats(FRAMES, 1))
    clip = read(tmp_path, made)
    assert_same_motion(
        read(tmp_path, written(turned(clip, "spine"), tmp_path / "b.glb")), turned(clip, "spine")
    )
    with pytest.raises(ValueError, match=r"c\.glb: nodes\[4\]: expected one scale"):
        save_clip(turned(clip, "arm"), tmp_path / "c.glb")
    assert not (tmp_path / "c.glb").exists()


def test_numbers_beyond_float32_are_refused(tmp_path):
    clip = posed()
    far = Pose(clip.pose.rotations, 1e39 + clip.pose.positions)
    with pytest.raises(ValueError, match=r"b\.glb: expected numbers that float32 can hold"):
        save_clip(replace(clip, pose=far), tmp_path / "b.glb")


def test_files_beside_it_come_along(tmp_path):
    made = walking()
    made.root["images"] = [{"uri": "skin.png"}, {"uri": "gone.png"}]
    (tmp_path / "there").mkdir()
    (tmp_path / "walk.bin").write_bytes(made.data)
    (tmp_path / "skin.png").write_bytes(b"\x89PNG-ish")
    path = saved(tmp_path, made.gltf("walk.bin"), "a.gltf")
    clip = turned(load_clip(f"{path}#Wave"), "leg")
    near = json.loads(written(clip, tmp_path / "b.gltf"))
    assert near["buffers"][0]["uri"] == "walk.bin"
    assert near["images"] == made.root["images"]
    with pytest.warns(UserWarning, match=r"b\.gltf: left an image out of it: .*gone\.png"):
        far = json.loads(written(clip, tmp_path / "there" / "b.gltf"))
    assert far["images"][0]["uri"].startswith("data:image/png;base64,")
    assert (tmp_path / "walk.bin").read_bytes() == made.data
    for file in ("b.gltf", "there/b.gltf"):
        assert_same_motion(load_clip(f"{tmp_path / file}#Wave"), clip)


def test_images_that_are_links_out_of_the_folder_are_left_out(tmp_path):
    made = walking()
    made.root["images"] = [{"uri": "skin.png"}]
    shared, output = tmp_path / "shared", tmp_path / "output"
    shared.mkdir()
    output.mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (shared / "skin.png").symlink_to(tmp_path / "secret")
    clip = load_clip(f"{saved(shared, made.gltf(), 'a.gltf')}#Walk")
    with pytest.warns(UserWarning, match=r"left an image out of it: .*leads outside"):
        content = json.loads(written(clip, output / "b.gltf"))
    assert content["images"] == made.root["images"]


@pytest.mark.parametrize(("before", "after"), [(".glb", ".gltf"), (".gltf", ".glb")])
@pytest.mark.parametrize("joints", [(), ("leg",), ("hip", "spine")])
def test_one_container_becomes_the_other(tmp_path, before, after, joints):
    content = walking().gltf() if before == ".gltf" else walking().glb()
    clip = turned(load_clip(f"{saved(tmp_path, content, 'a' + before)}#Walk"), *joints)
    save_clip(clip, tmp_path / f"b{after}")
    assert_same_motion(load_clip(f"{tmp_path / 'b'}{after}#Walk"), clip)


def test_json_that_would_lose_something_is_not_written_anew(tmp_path):
    text = walking().gltf().replace(b'"scene": 0', b'"extras": {"a": 1, "a": 2}, "scene": 0')
    clip = load_clip(f"{saved(tmp_path, text, 'a.gltf')}#Walk")
    assert written(clip, tmp_path / "b.gltf").count(b'"a": 1, "a": 2') == 1
    with pytest.raises(ValueError, match=r"c\.gltf: expected JSON that can be written again"):
        save_clip(turned(clip, "spine"), tmp_path / "c.gltf")
    assert not (tmp_path / "c.gltf").exists()


def test_unknown_chunks_are_kept(tmp_path):
    content = bytearray(walking().glb() + b"\4\0\0\0XTRAwxyz")
    content[8:12] = len(content).to_bytes(4, "little")
    clip = turned(load_clip(f"{saved(tmp_path, bytes(content))}#Walk"), "hip", "arm")
    assert written(clip, tmp_path / "b.glb").endswith(b"\4\0\0\0XTRAwxyz")


def posed(rest=True):
    """A clip with frames of its own at rest, and a root that moves."""
    acted = clips.clip(frames=40)
    pose, bones = acted.pose, acted.skeleton
    rng = np.random.default_rng(3)
    frames = quat.normalize(rng.normal(size=(5, 4))) if rest else np.zeros((0, 4))
    own = replace(bones, rest_rotations=frames, up="y", unit=1.0)
    positions = np.array(pose.positions)
    positions[:, 0] += clips.wave(40, 3, 0.2, 7)
    rotations = np.array(pose.rotations)
    rotations[:, 0] = quat.exp(clips.wave(40, 3, 0.7, 8))
    return Clip(own, Pose(rotations, positions), acted.frame_time, acted.name)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("rest", [True, False])
def test_a_new_file_holds_skeleton_and_motion(tmp_path, suffix, rest):
    before = posed(rest)
    save_clip(before, tmp_path / f"b{suffix}")
    after = load_clip(tmp_path / f"b{suffix}")
    assert_same_motion(after, before)
    assert (after.name, after.frame_time) == (before.name, before.frame_time)
    for name in ("parents", "offsets", "end_parents", "end_offsets"):
        a, b = getattr(after.skeleton, name), getattr(before.skeleton, name)
        np.testing.assert_allclose(a, b, atol=1e-12)
    signs = (after.skeleton.rest_rotations * before.skeleton.rest_rotations).sum(-1)
    np.testing.assert_allclose(np.abs(signs), 1.0)
    far, near = (forward(each.skeleton, each.pose)[0] for each in (after, before))
    np.testing.assert_allclose(far, near, atol=2e-6)


def test_new_files_hold_several_clips_and_roots(tmp_path):
    bones = Skeleton(("a", "b", "c"), [-1, -1, 1], np.eye(3), unit=0.01, up="z")
    rest = bones.rest_pose()
    pose = Pose(np.tile(rest.rotations, (7, 1, 1)), np.tile(rest.positions, (7, 1, 1)))
    both = [turned(Clip(bones, pose, 0.0083333, name), name) for name in "ac"]
    save_clips(both, tmp_path / "b.glb")
    assert list_clips(tmp_path / "b.glb") == ["a", "c"]
    for clip in both:
        after = load_clip(f"{tmp_path / 'b.glb'}#{clip.name}")
        assert after.frame_time == clip.frame_time
        assert_same_motion(after, with_up(with_unit(clip, 1.0), "y"))
    with pytest.raises(ValueError, match=r"b\.glb: expected clips of one skeleton, got another in"):
        save_clips([both[0], posed()], tmp_path / "b.glb")


def test_a_clip_with_another_skeleton_than_its_file_becomes_a_new_file(tmp_path):
    clip = read(tmp_path, walking(), "Wave")
    longer = replace(clip.skeleton, offsets=1.2 * clip.skeleton.offsets)
    save_clip(replace(clip, skeleton=longer), tmp_path / "b.glb")
    np.testing.assert_allclose(load_clip(tmp_path / "b.glb").skeleton.offsets, longer.offsets)


def test_an_unknown_unit_is_warned_about(tmp_path):
    with pytest.warns(UserWarning, match=r"b\.glb: the clip's unit is not known; lengths are"):
        save_clip(clips.clip(frames=3), tmp_path / "b.glb")


def test_no_frames_are_refused_and_nothing_is_written(tmp_path):
    clip = posed()
    empty = replace(clip, pose=Pose(clip.pose.rotations[:0], clip.pose.positions[:0]))
    with pytest.raises(ValueError, match=r"b\.glb: expected clips with frames"):
        save_clip(empty, tmp_path / "b.glb")
    assert list(tmp_path.iterdir()) == []


def test_single_precision_is_written(tmp_path):
    clip = posed()
    small = Pose(clip.pose.rotations.astype("f4"), clip.pose.positions.astype("f4"))
    save_clip(replace(clip, pose=small), tmp_path / "b.glb")
    assert_same_motion(load_clip(tmp_path / "b.glb"), clip)


# The Khronos validator

WEB = Path(__file__).parents[1] / "web"
VALIDATE = """
const {readFileSync} = require('fs');
const validator = require('gltf-validator');
validator.validateBytes(new Uint8Array(readFileSync(process.argv[1])))
  .then(report => console.log(JSON.stringify(report.issues)));
"""


def errors_in(path):
    """The errors, not the hints, that Khronos' validator has about a file."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js for the validator")
    if not (WEB / "node_modules" / "gltf-validator").is_dir():
        pytest.skip("no gltf-validator in web/node_modules: python web/build.py install")
    run = subprocess.run(
        [node, "-e", VALIDATE, path],
        cwd=WEB,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    issues = json.loads(run.stdout)
    assert not issues["truncated"]
    return [each for each in issues["messages"] if each["severity"] == 0]


@needs_robot
def test_a_clamped_robot_is_valid(tmp_path):
    source = errors_in(ROBOT)
    model = LimitModel.fit([load_clip(f"{ROBOT}#Walking")], shape="box")
    for name in ("Dance", "Wave"):
        clip = load_clip(f"{ROBOT}#{name}")
        clamped = model.project(clip)
        assert np.degrees(angle_between(clamped.pose.rotations, clip.pose.rotations)).max() > 1.0
        save_clip(clamped, tmp_path / "b.glb")
        assert_same_motion(load_clip(f"{tmp_path / 'b.glb'}#{name}"), clamped)
        assert errors_in(tmp_path / "b.glb") == source


@pytest.mark.parametrize("joints", [("hip",), ("spine", "arm", "leg")])
def test_a_changed_file_is_valid(tmp_path, joints):
    source = errors_in(saved(tmp_path, walking(), "source.glb"))
    clip = turned(read(tmp_path, walking(), "Walk"), *joints)
    save_clip(clip, tmp_path / "b.glb")
    assert [error for error in errors_in(tmp_path / "b.glb") if error not in source] == []


def test_a_new_file_is_valid(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_clips([posed(), replace(posed(), name="again")], tmp_path / "b.glb")
    assert errors_in(tmp_path / "b.glb") == []


def test_components_of_rest_rotations_are_at_most_1(tmp_path):
    turns = quat.normalize(np.random.default_rng(2).normal(size=(300, 4)))
    rests = np.repeat(turns, 2, axis=0)  # each joint and its child, turned alike
    assert (quat.mul(quat.inverse(turns), turns)[:, 0] > 1.0).any()
    parents = np.arange(-1, len(rests) - 1)
    names = tuple(f"j{k}" for k in range(len(rests)))
    skeleton = Skeleton(names, parents, np.ones((len(rests), 3)), rest_rotations=rests, unit=1.0)
    pose = skeleton.rest_pose()
    clip = Clip(skeleton, Pose(pose.rotations[None], pose.positions[None]), 0.1, "a")
    nodes = json.loads(written(clip, tmp_path / "a.gltf"))["nodes"]
    assert max(abs(each) for node in nodes for each in node["rotation"]) <= 1.0
