"""Broken glTF files: a clip, or an error that names file and place."""

import struct

import numpy as np
import pytest

from gltfs import FRAMES, TIMES, Builder, chain, glb, quats, walking
from oracles import EXHAUSTIVE
from synovia import load_clip
from test_gltf_read import read, saved


def changed(path, value):
    """The small file with one value of its JSON replaced, or removed if that is None."""
    made = walking()
    place = made.root
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


WALK = ("animations", 0)
SAMPLER = (*WALK, "samplers", 0)
BROKEN = [
    (("asset",), None, "the key 'asset' is missing"),
    (("asset", "version"), "1.0", "asset.version: expected glTF 2.0, got '1.0'"),
    (("nodes", 2, "children"), [0], "nodes[2].children: expected nodes that are not above this "),
    (("nodes", 6, "children"), [2], "nodes[6].children[0]: expected a node that no other has as "),
    (
        ("nodes", 1, "children"),
        [99],
        "nodes[1].children[0]: expected the index of one of 7 nodes, got 99",
    ),
    (("nodes", 1, "children"), 2, "nodes[1].children: expected a list, got 2"),
    (("nodes", 1), "hip", "nodes[1]: expected an object, got 'hip'"),
    (("nodes", 1, "name"), "\ud800", "nodes[1].name: expected text of whole Unicode characters"),
    (("nodes", 1, "rotation"), [0, 0, 0, 0], "nodes[1].rotation: expected a unit quaternion, got "),
    (
        ("nodes", 1, "translation"),
        [0, 0, 1e300],
        "nodes[1].translation: expected finite numbers of at most 1e+100, got ",
    ),
    (("nodes", 1, "scale"), [1, 0, 1], "nodes[1].scale: expected scales of at least 1e-09"),
    (("nodes", 4, "matrix"), [0] * 16, "nodes[4].matrix: expected a matrix of translation, "),
    (("nodes", 4, "matrix"), [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "nodes[4].matrix: "),
    (("nodes", 0, "scale"), [1e12] * 3, "nodes[0]: expected scales and places up to 1e+12"),
    (
        ("skins", 0, "joints"),
        [77],
        "skins[0].joints[0]: expected the index of one of 7 nodes, got 77",
    ),
    (
        (*WALK, "channels", 2, "target", "node"),
        1,
        "animations[0].channels[2]: expected one channel",
    ),
    (
        (*SAMPLER, "interpolation"),
        "SMOOTH",
        "animations[0].samplers[0].interpolation: expected LINEAR or STEP or ",
    ),
    ((*SAMPLER, "interpolation"), "CUBICSPLINE", "accessors[1].count: expected as many as there "),
    ((*SAMPLER, "output"), 0, "accessors[0].type: expected VEC4 for rotations, VEC3 for others"),
    ((*SAMPLER, "input"), 1, "accessors[1].type: expected SCALAR for times, got 'VEC4'"),
    ((*SAMPLER, "input"), 3, "accessors[1].count: expected as many as there are times, 4 "),
    (("accessors", 1, "count"), 10**6, "accessors[1]: expected elements within the 208 bytes of "),
    (("accessors", 1, "count"), 0, "accessors[1].count: expected at least 1, got 0"),
    (
        ("accessors", 1, "bufferView"),
        None,
        "accessors[1]: expected unit quaternions, got one of le",
    ),
    (
        ("accessors", 1),
        {"count": 10**9, "type": "VEC4", "componentType": 5126},
        "accessors[1].coun",
    ),
    (("accessors", 1, "type"), "VEC5", "accessors[1].type: expected SCALAR or VEC2 or "),
    (("accessors", 1, "componentType"), 5124, "accessors[1].componentType: expected 5120 or 5121 "),
    (
        ("accessors", 1, "componentType"),
        5121,
        "accessors[1]: expected floats or normalized integers",
    ),
    (("accessors", 1, "byteOffset"), 4, "accessors[1]: expected elements within the 208 bytes of "),
    (
        ("bufferViews", 1, "byteOffset"),
        10**12,
        "bufferViews[1]: expected bytes within the buffer's ",
    ),
    (
        ("bufferViews", 1, "byteStride"),
        8,
        "bufferViews[1].byteStride: expected at least an element",
    ),
    (
        ("bufferViews", 1, "extensions"),
        {"EXT_meshopt_compression": {}},
        "bufferViews[1]: expected bytes without compression, got ['EXT_meshopt_compression']; "
        "gltf-transform cp IN OUT decompresses them",
    ),
    (("buffers",), [{"byteLength": 10**12}], "buffers[0].byteLength: expected at most the "),
    (("buffers",), [{"byteLength": 9, "uri": "data:;base64,?"}], "buffers[0].uri: expected base64"),
    (
        ("buffers",),
        [{"byteLength": 9, "uri": "data:x"}],
        "buffers[0].uri: expected a comma in a data",
    ),
    (
        ("buffers",),
        [],
        "bufferViews[0].buffer: expected the index of one of 0 buffers, got 0",
    ),
    (("accessors", 5, "sparse"), {}, "accessors[5]: expected an accessor whose elements are all"),
    (
        ("extensions",),
        {"VRM": {"humanoid": {}}},
        "extensions.VRM.humanoid: the key 'humanBones' is",
    ),
]


@pytest.mark.parametrize(("path", "value", "message"), BROKEN)
def test_what_is_broken_is_named_by_its_place(tmp_path, path, value, message):
    with pytest.raises(ValueError, match=r"a\.glb: ") as caught:
        read(tmp_path, changed(path, value), "Walk")
    assert str(caught.value).startswith(f"{tmp_path / 'a.glb'}: {message}")
    assert len(str(caught.value)) < 400


def resized(size):
    content = bytearray(walking().glb())
    content[12:16] = struct.pack("<I", size)
    return bytes(content)


CONTAINERS = [
    (b"glTF", "byte 4: expected the header of a GLB, got its end"),
    (b"glTF" + struct.pack("<II", 1, 20) + bytes(8), "byte 4: expected version 2, got 1"),
    (walking().glb()[:-5], "byte 8: expected "),
    (resized(2**32 - 1), "byte 12: expected a chunk of at most "),
    (resized(16), "byte 36: expected a chunk of at most "),
    (
        glb(b"{}")[:16] + b"BIN\0{}  ",
        "byte 16: expected one JSON chunk, the first, got b'BIN\\x00'",
    ),
    (glb(b"{}", (b"JSON", b"{}")), "byte 28: expected one JSON chunk, the first, got b'JSON'"),
    (glb(b"{]"), "1: expected JSON"),
    (glb(b"[]"), "expected an object, got []"),
    (glb(b"[" * 100_000), "expected at most 64 lists and objects inside each other"),
    (glb(b'{"asset": {"version": "2.0"}, "asset": 1}'), "expected an object, got _Dup"),
    (b'{"asset": {"version": "2.0"}}', "skins: expected a skin, a humanoid or animated nodes"),
    (b"", "1: expected JSON"),
    (b"\xff\xfe", "1: expected UTF-8, got the byte 0xff"),
]


@pytest.mark.parametrize(("content", "message"), CONTAINERS)
def test_a_broken_container_is_named_by_byte_or_line(tmp_path, content, message):
    path = saved(tmp_path, content)
    with pytest.raises(ValueError, match=r"a\.glb:") as caught:
        load_clip(path)
    told = str(caught.value).removeprefix(f"{path}:")
    assert told.removeprefix(" ").startswith(message)


def test_numbers_that_are_none_are_refused(tmp_path):
    for value in (np.nan, np.inf):
        made = chain()
        values = quats(FRAMES, 1)
        values[3, 2] = value
        made.channel(made.animation(), 1, "rotation", TIMES, values)
        with pytest.raises(ValueError, match=r"accessors\[1\]: expected finite numbers, got "):
            read(tmp_path, made)


@pytest.mark.parametrize("times", [[0, 2, 1], [0, 1, 1e7], [0, 1, 3e4]])
def test_times_must_be_sane(tmp_path, times):
    made = chain()
    made.channel(made.animation(), 1, "rotation", np.array(times), quats(3, 1), "STEP")
    if times[2] == 3e4:  # on a grid of a second
        assert read(tmp_path, made).frames == 30_001
        return
    with pytest.raises(ValueError, match=r"accessors\[0\]: expected times that increase, up to 1e"):
        read(tmp_path, made)


def test_a_circle_of_nodes_is_refused(tmp_path):
    made = Builder(nodes=[{"children": [1]}, {"children": [2]}, {"children": [1]}, {}])
    made.root["skins"] = [{"joints": [1]}]
    with pytest.raises(
        ValueError, match=r"nodes\[2\]\.children\[0\]: expected a node that no other"
    ):
        read(tmp_path, made)
    made.root["nodes"][0] = {}
    with pytest.raises(
        ValueError, match=r"nodes\[\d\]\.children: expected nodes that are not above"
    ):
        read(tmp_path, made)


def test_deep_and_wide_trees_are_read(tmp_path):
    count = 50_000 if EXHAUSTIVE else 10_000
    for children in ([[k + 1] for k in range(count - 1)], [list(range(1, count))]):
        nodes = [{"name": "n", "children": each, "translation": [0, 1, 0]} for each in children]
        nodes += [{"name": "n"} for _ in range(count - len(nodes))]
        made = Builder(nodes=nodes, skins=[{"joints": list(range(count))}])
        clip = read(tmp_path, made)
        assert len(clip.skeleton) == count


def test_a_long_name_is_cut_in_errors(tmp_path):
    made = walking()
    made.root["animations"][0]["name"] = "x" * 5_000_000
    with pytest.raises(ValueError, match="expected one of its clips") as caught:
        read(tmp_path, made)
    assert len(str(caught.value)) < 1000


def test_many_channels_of_one_long_accessor_have_a_bound(tmp_path):
    made = Builder(nodes=[{} for _ in range(3000)])
    keys = 40_000
    times, values = made.accessor(np.arange(keys)), made.accessor(quats(keys, 1))
    animation = made.animation()
    for node in range(3000):
        made.channel(animation, node, "rotation", times, values)
    with pytest.raises(ValueError, match=r"animations\[0\]: expected at most \d+ keys, got more"):
        read(tmp_path, made)
