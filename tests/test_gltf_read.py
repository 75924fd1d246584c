"""glTF: what is read is what the nodes of the file do."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from gltfs import (
    FRAMES,
    TIMES,
    Builder,
    chain,
    elements,
    keys_of,
    node_matrices,
    quat,
    quats,
    split,
    walking,
)
from synovia import load_clip
from synovia.io import list_clips
from synovia.io.gltf import humanoid
from synovia.quat import to_matrix
from synovia.skeleton import end_positions, forward

DATA = Path(__file__).parents[2] / "shared" / "data"
ROBOT = DATA / "gltf" / "RobotExpressive.glb"
needs_robot = pytest.mark.skipif(not ROBOT.exists(), reason=f"no {ROBOT.name} in {DATA}")


def saved(folder, content, name="a.glb"):
    path = folder / name
    path.write_bytes(content.glb() if isinstance(content, Builder) else content)
    return path


def read(folder, content, clip=""):
    path = saved(folder, content)
    return load_clip(f"{path}#{clip}" if clip else path)


def nodes_of(root, clip):
    """The node of each joint; names in our small files are unique."""
    skins = {joint for skin in root.get("skins", []) for joint in skin["joints"]}
    by_name = {}
    for number, node in enumerate(root["nodes"]):
        if number in skins or node["name"] not in by_name:
            by_name[node["name"]] = number
    return [by_name[name] for name in clip.skeleton.names]


def assert_as_in_file(content, clip, animation, start=0.0):
    """Compare joints in the world with the plain evaluation; return the worst of both errors."""
    root, data = split(content)
    nodes = nodes_of(root, clip)
    keys = keys_of(root, data, animation)
    rest, turned_rest = node_matrices(root, [])
    positions, rotations = forward(clip.skeleton, clip.pose)
    ours = to_matrix(rotations)
    height = np.ptp(rest[nodes, :3, 3], axis=0).max()
    off, turn_off = 0.0, 0.0
    for frame in range(clip.frames):
        full, turned = node_matrices(root, keys, start + frame * clip.frame_time)
        off = max(off, np.abs(positions[frame] - full[nodes, :3, 3]).max() / height)
        theirs = turned[nodes] @ np.swapaxes(turned_rest[nodes], -1, -2)
        angles = np.linalg.norm(theirs - ours[frame], axis=(-2, -1)) / np.sqrt(2)
        turn_off = max(turn_off, np.degrees(angles).max())
    assert off <= 1e-6
    assert turn_off <= 1e-9
    return off, turn_off


@pytest.mark.parametrize(("number", "name"), [(0, "Walk"), (1, "Wave")])
def test_joints_are_where_the_nodes_of_the_file_are(tmp_path, number, name):
    made = walking()
    clip = read(tmp_path, made, name)
    assert clip.skeleton.names == ("hip", "spine", "arm", "leg")
    assert clip.skeleton.parents.tolist() == [-1, 0, 1, 0]
    assert (clip.skeleton.up, clip.skeleton.unit) == ("y", 1.0)
    assert (clip.frames, clip.frame_time, clip.name) == (FRAMES, 1 / 24, name)
    assert_as_in_file(made.glb(), clip, number)


@needs_robot
@pytest.mark.parametrize("number", range(14))
def test_a_real_robot_moves_as_its_nodes_do(number):
    names = list_clips(ROBOT)
    clip = load_clip(f"{ROBOT}#{names[number]}")
    assert (len(names), len(clip.skeleton), clip.frame_time) == (14, 43, 1 / 24)
    assert_as_in_file(ROBOT.read_bytes(), clip, number)


def test_rest_is_that_of_the_nodes(tmp_path):
    clip = read(tmp_path, chain())
    root, _ = split(chain().glb())
    full, turned = node_matrices(root, [])
    nodes = nodes_of(root, clip)
    assert clip.frames == 1
    np.testing.assert_array_equal(clip.pose.rotations, np.tile([1.0, 0, 0, 0], (1, 4, 1)))
    np.testing.assert_allclose(forward(clip.skeleton, clip.pose)[0][0], full[nodes, :3, 3])
    np.testing.assert_allclose(to_matrix(clip.skeleton.rest_rotations), turned[nodes], atol=1e-12)
    np.testing.assert_allclose(end_positions(clip.skeleton, clip.pose)[0], full[[5], :3, 3])


def test_ends_are_bare_nodes_at_the_ends_of_chains(tmp_path):
    made = chain()
    made.root["nodes"] += [{"name": "socket"}, {"name": "hip_end"}, {"name": "toe"}, {"mesh": 0}]
    made.root["nodes"][1]["children"] += [7, 8]
    made.root["nodes"][6]["children"] = [9, 10]
    skeleton = read(tmp_path, made).skeleton
    assert [skeleton.names[joint] for joint in skeleton.end_parents] == ["hip", "arm", "leg"]


def test_clips_are_chosen_by_name(tmp_path):
    made = walking()
    for name in (None, "Walk", "", "Walk"):
        made.channel(made.animation(name), 1, "rotation", TIMES, quats(FRAMES, 1))
    path = saved(tmp_path, made)
    names = ["Walk", "Wave", "animation 2", "Walk (2)", "animation 4", "Walk (3)"]
    assert list_clips(path) == names
    assert [load_clip(f"{path}#{name}").name for name in names] == names
    with pytest.raises(
        ValueError, match=r"a\.glb: expected one of its clips, .*#Walk; it has Walk"
    ):
        load_clip(path)
    with pytest.raises(ValueError, match=r"a\.glb: no clip 'Run'; this file has Walk, Wave, "):
        load_clip(f"{path}#Run")


def test_a_single_clip_needs_no_name(tmp_path):
    for name, shown in ((None, "a"), ("Walk", "Walk")):
        made = chain()
        made.channel(made.animation(name), 1, "rotation", TIMES, quats(FRAMES, 1))
        assert read(tmp_path, made).name == shown
        assert list_clips(tmp_path / "a.glb") == [""]


def test_joints_of_one_name_are_told_apart(tmp_path):
    made = chain()
    for number in (1, 2, 4):
        made.root["nodes"][number]["name"] = "bone"
    del made.root["nodes"][6]["name"]
    assert read(tmp_path, made).skeleton.names == ("bone", "bone (2)", "bone (3)", "node 6")


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "f4"])
def test_rotations_may_be_normalised_integers(tmp_path, dtype):
    made = chain()
    values = np.abs(quats(FRAMES, 1))
    made.channel(made.animation(), 1, "rotation", TIMES, made.accessor(values, dtype))
    assert_as_in_file(made.glb(), read(tmp_path, made), 0)


def test_interleaved_elements(tmp_path):
    made = chain()
    both = np.concatenate([quats(FRAMES, 1), quats(FRAMES, 2)[:, :3]], axis=1).astype("<f4")
    view = made.view(both.tobytes(), byteStride=28)
    about = {"bufferView": view, "componentType": 5126, "count": FRAMES}
    turns = made.add({**about, "type": "VEC4"})
    moves = made.add({**about, "type": "VEC3", "byteOffset": 16})
    animation = made.animation()
    made.channel(animation, 1, "rotation", TIMES, turns)
    made.channel(animation, 1, "translation", TIMES, moves)
    root, data = split(made.glb())
    np.testing.assert_array_equal(elements(root, data, moves), both[:, 4:])
    assert_as_in_file(made.glb(), read(tmp_path, made), 0)


@pytest.mark.parametrize("uri", [None, "walk.bin", "bin/a%20b.bin"])
def test_buffers_stand_in_the_file_or_beside_it(tmp_path, uri):
    made = walking()
    if uri:
        (tmp_path / "bin").mkdir()
        (tmp_path / uri.replace("%20", " ")).write_bytes(made.data)
    path = saved(tmp_path, made.gltf(uri), "a.gltf")
    np.testing.assert_array_equal(
        load_clip(f"{path}#Walk").pose.rotations, read(tmp_path, made, "Walk").pose.rotations
    )


@pytest.mark.parametrize(
    "uri",
    [
        *("https://example.org/a.bin", "file:///etc/passwd", "/etc/passwd", "../a.bin"),
        *("a/../../b", "%2e%2e/a.bin", "c:\\a.bin", "a\\b.bin", "", "a\0b"),
    ],
)
def test_buffers_elsewhere_are_refused(tmp_path, uri):
    (tmp_path / "x").mkdir()
    (tmp_path / "a.bin").write_bytes(walking().data)
    path = saved(tmp_path / "x", walking().gltf(uri), "a.gltf")
    with pytest.raises(ValueError, match=r"buffers\[0\]\.uri: expected a file in the same folder"):
        load_clip(f"{path}#Walk")


@pytest.mark.parametrize("link", ["walk.bin", "bin"])
def test_links_out_of_the_folder_are_refused(tmp_path, link):
    made = walking()
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir()
    shared.mkdir()
    (private / "walk.bin").write_bytes(made.data)
    (shared / link).symlink_to(private / link if link == "walk.bin" else private)
    uri = "walk.bin" if link == "walk.bin" else "bin/walk.bin"
    path = saved(shared, made.gltf(uri), "a.gltf")
    with pytest.raises(ValueError, match=r"buffers\[0\]\.uri: .*walk\.bin', which leads outside"):
        load_clip(f"{path}#Walk")


def test_links_within_the_folder_are_followed(tmp_path):
    made = walking()
    (tmp_path / "real.bin").write_bytes(made.data)
    (tmp_path / "walk.bin").symlink_to("real.bin")
    path = saved(tmp_path, made.gltf("walk.bin"), "a.gltf")
    assert load_clip(f"{path}#Walk").frames > 1


def test_a_missing_buffer_is_named(tmp_path):
    path = saved(tmp_path, walking().gltf("gone.bin"), "a.gltf")
    with pytest.raises(FileNotFoundError, match=r"gone\.bin"):
        load_clip(f"{path}#Walk")


# Which nodes are joints


def test_what_is_animated_between_and_above_joints_is_a_joint(tmp_path):
    made = chain()
    animation = made.animation()
    for node in (0, 3, 5):
        made.channel(animation, node, "rotation", TIMES, quats(FRAMES, node))
    clip = read(tmp_path, made)
    assert clip.skeleton.names == ("Armature", "hip", "spine", "bracket", "arm", "leg")
    assert_as_in_file(made.glb(), clip, 0)


def test_without_a_skin_joints_are_what_is_animated(tmp_path):
    made = walking()
    del made.root["skins"]
    del made.root["animations"][1]
    clip = read(tmp_path, made)
    assert clip.skeleton.names == ("hip", "spine", "arm", "leg")
    assert_as_in_file(made.glb(), clip, 0)
    del made.root["animations"]
    with pytest.raises(ValueError, match=r"a\.glb: skins: expected a skin, a humanoid or animated"):
        read(tmp_path, made)


def test_several_roots_and_skins(tmp_path):
    made = walking()
    made.root["skins"] = [{"joints": [2, 4]}, {"joints": [6, 4]}]
    for animation in made.root["animations"]:
        animation["channels"] = [
            each for each in animation["channels"] if each["target"]["node"] != 1
        ]
    clip = read(tmp_path, made, "Wave")
    assert clip.skeleton.names == ("spine", "arm", "leg")
    assert clip.skeleton.parents.tolist() == [-1, 0, -1]
    assert_as_in_file(made.glb(), clip, 1)


BONES = {"hips": 1, "spine": 2, "leftUpperArm": 4}
HUMANOIDS = {
    "VRM": {"humanBones": [{"bone": bone, "node": node} for bone, node in BONES.items()]},
    "VRMC_vrm": {"humanBones": {bone: {"node": node} for bone, node in BONES.items()}},
    "VRMC_vrm_animation": {"humanBones": {bone: {"node": node} for bone, node in BONES.items()}},
}


@pytest.mark.parametrize("extension", HUMANOIDS)
def test_the_bones_of_a_humanoid_are_named(tmp_path, extension):
    made = chain(extensions={extension: {"humanoid": HUMANOIDS[extension]}})
    del made.root["skins"]
    suffix = ".vrma" if extension.endswith("animation") else ".vrm"
    clip = load_clip(saved(tmp_path, made, f"a{suffix}"))
    assert humanoid(clip) == {"hips": "hip", "spine": "spine", "leftUpperArm": "arm"}
    assert clip.skeleton.names == ("hip", "spine", "arm")
    assert humanoid(read(tmp_path, walking(), "Walk")) == {}


# Scale


def test_a_mirror_turns_as_the_file_does(tmp_path):
    made = walking()
    made.root["nodes"][0]["scale"] = [-0.01, 0.01, 0.01]
    made.root["nodes"][2]["scale"] = [-1, -1, -1]
    clip = read(tmp_path, made, "Wave")
    root, data = split(made.glb())
    keys, nodes = keys_of(root, data, 1), nodes_of(root, clip)
    rest, _ = node_matrices(root, [])
    positions, rotations = forward(clip.skeleton, clip.pose)
    for frame in range(clip.frames):
        full, _ = node_matrices(root, keys, frame / 24)
        np.testing.assert_allclose(positions[frame], full[nodes, :3, 3], atol=1e-6)
        turns = full[nodes, :3, :3] @ np.linalg.inv(rest[nodes, :3, :3])
        np.testing.assert_allclose(to_matrix(rotations[frame]), turns, atol=1e-12)


def test_an_uneven_scale_is_folded_in_where_nothing_turns_below(tmp_path):
    made = chain()
    made.root["nodes"][2]["scale"] = [1, 2, 3]
    made.channel(made.animation(), 2, "rotation", TIMES, quats(FRAMES, 1))
    root, data = split(made.glb())
    clip = read(tmp_path, made)
    keys = keys_of(root, data, 0)
    for frame, positions in enumerate(forward(clip.skeleton, clip.pose)[0]):
        full, _ = node_matrices(root, keys, frame / 24)
        np.testing.assert_allclose(positions, full[nodes_of(root, clip), :3, 3], atol=1e-6)
    made.channel(made.root["animations"][0], 4, "rotation", TIMES, quats(FRAMES, 1))
    with pytest.raises(
        ValueError, match=r"nodes\[4\]: expected one scale for all axes of each node above"
    ):
        read(tmp_path, made)


def test_scale_that_changes_is_warned_about(tmp_path):
    made = chain()
    animation = made.animation()
    made.channel(animation, 1, "rotation", TIMES, quats(FRAMES, 1))
    made.channel(animation, 1, "scale", TIMES, np.ones((FRAMES, 3)))
    plain = read(tmp_path, made)
    made.channel(animation, 2, "scale", TIMES, np.linspace(1, [2, 2, 2], FRAMES))
    with pytest.warns(UserWarning, match=r"a\.glb: scale that changes is not read, at spine"):
        clip = read(tmp_path, made)
    np.testing.assert_array_equal(clip.pose.rotations, plain.pose.rotations)


# Frames


def keyed(*times, mode=None):
    made = chain()
    animation = made.animation()
    for each in times:
        width = 3 if mode == "CUBICSPLINE" else 1
        made.channel(animation, 1 + len(animation["channels"]), "rotation", each,
                     quats(width * len(each), 5), mode)  # fmt: skip
    return made


GRIDS = {
    "one rate": ([np.arange(50) / 30], 30, 50),
    "a late start": ([np.arange(1, 50) / 24], 24, 49),
    "an hour": ([np.arange(0, 216_000, 7) / 60, np.arange(3_600) / 60], 60, 216_000),
    "subsets": ([np.arange(40) / 30, np.array([0, 12, 39]) / 30], 30, 40),
    "no common key but a spacing": ([[0, 0.5, 1.2]], 10, 13),
    "gaps of 40 and 33 frames": ([np.array([0, 40, 73]) / 24], 24, 74),
    "milliseconds": ([np.round(np.arange(30) / 30, 3)], 30, 30),
    "film": ([np.arange(100) * 1001 / 30000], 30000 / 1001, 100),
    "two keys": ([[0, 2.0]], 0.5, 2),
    "one key": ([[0.5]], 30, 1),
    "uneven": ([[0, 0.1, 0.1 + 0.1 / np.pi, 0.2 + 0.1 / np.e]], 0, 0),
}


@pytest.mark.parametrize("case", GRIDS)
def test_frames_are_at_the_keys(tmp_path, case):
    times, rate, frames = GRIDS[case]
    clip = read(tmp_path, keyed(*times))
    if rate:
        assert (clip.frames, 1 / clip.frame_time) == (frames, pytest.approx(rate, rel=1e-6))
        if rate == int(rate):
            assert clip.frame_time == 1 / rate
    else:
        span = times[0][-1]
        assert clip.frame_time <= np.diff(times[0]).min() + 1e-6
        assert (clip.frames - 1) * clip.frame_time == pytest.approx(span, rel=1e-6)


def test_splines_have_frames_between_distant_keys(tmp_path):
    made = keyed([0, 0.5, 1.0], mode="CUBICSPLINE")
    clip = read(tmp_path, made)
    assert (clip.frames, clip.frame_time) == (25, 1 / 24)
    assert_as_in_file(made.glb(), clip, 0)


@pytest.mark.parametrize("mode", ["LINEAR", "STEP"])
def test_keys_that_stop_early_are_held(tmp_path, mode):
    made = keyed(np.arange(20) / 30, np.arange(5, 9) / 30, mode=mode)
    assert_as_in_file(made.glb(), read(tmp_path, made), 0)


def test_what_it_does_not_know_does_not_hurt(tmp_path):
    made = walking()
    walk = made.root["animations"][0]
    walk["channels"].append({"sampler": 0, "target": {"path": "pointer", "extensions": {}}})
    walk["channels"].append({"sampler": 0, "target": {"node": 5, "path": "weights"}})
    made.root["extras"] = {"deep": json.loads("[" * 30 + "]" * 30)}
    assert_as_in_file(made.glb(), read(tmp_path, made, "Walk"), 0)


def test_quaternions_that_are_nearly_unit_are_normalised(tmp_path):
    made = chain()
    made.root["nodes"][1]["rotation"] = (1.01 * np.array(quat(1, 2, 3, 4))).tolist()
    made.channel(made.animation(), 1, "rotation", TIMES, 0.98 * quats(FRAMES, 1))
    assert_as_in_file(made.glb(), read(tmp_path, made), 0)


def test_long_clips_of_many_joints_have_a_bound(tmp_path):
    made = Builder(nodes=[{"name": f"n{k}"} for k in range(1000)])
    made.root["skins"] = [{"joints": list(range(1000))}]
    made.channel(made.animation(), 0, "rotation", [0, 1 / 120, 999], quats(3, 1))
    with pytest.raises(ValueError, match=r"animations\[0\]: expected at most \d+ poses of joints"):
        read(tmp_path, made)


def test_all_that_a_file_has_is_the_same_in_every_clip(tmp_path):
    made = walking()
    clips = [read(tmp_path, made, name) for name in ("Walk", "Wave")]
    for a, b in itertools.pairwise(clips):
        assert a.skeleton.names == b.skeleton.names
        np.testing.assert_array_equal(a.skeleton.offsets, b.skeleton.offsets)
