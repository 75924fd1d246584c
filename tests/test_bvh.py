import errno
import os
import re

import numpy as np
import pytest

from synovia import quat
from synovia.io import load_clip, save_clip
from synovia.io.bvh import euler_angles_deg
from synovia.io.files import atomic_write
from synovia.skeleton import POSITIONS, ROTATIONS, Clip, Pose, Skeleton

OFFSETS = [[0.0, 0.0, 0.0], [0.1, 2.0, 0.0]]
ROWS = "1 2 3 10 20 30 40 50 60\n4 5 6 70 80 90 15 25 35\n"
SMALL = f"""HIERARCHY
ROOT hip
{{
OFFSET 1 2 3
CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT knee
{{
OFFSET 0 4 0
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{{
OFFSET 0 5 0
}}
}}
}}
MOTION
Frames: 2
Frame Time: 0.1
{ROWS}"""
DEEP = (
    "HIERARCHY\nROOT j\n{\nOFFSET 0 0 0\n"
    + "".join(f"JOINT j{k}\n{{\nOFFSET 0 1 0\n" for k in range(3_000))
    + "}\n" * 3_001
    + "MOTION\nFrames: 1\nFrame Time: 1\n"
)


def small(*changes):
    """Return the small file with each (old, new) replaced once, in order."""
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def read(folder, text):
    path = folder / "walk.bvh"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_clip(path)


def assert_same(a, b, degrees=1e-6):
    assert a.skeleton.names == b.skeleton.names
    assert a.skeleton.channels == b.skeleton.channels
    for field in ("parents", "offsets", "end_parents", "end_offsets"):
        np.testing.assert_array_equal(getattr(a.skeleton, field), getattr(b.skeleton, field))
    assert a.frame_time == b.frame_time
    assert a.frames == b.frames
    angles = quat.angle_between(a.pose.rotations, b.pose.rotations)
    assert np.degrees(angles).max(initial=0.0) <= degrees
    np.testing.assert_allclose(a.pose.positions, b.pose.positions, rtol=0, atol=1e-8)


def spinning(frames=90, channels=(POSITIONS + ROTATIONS, ROTATIONS), dtype=np.float64):
    """Return a clip of two joints that turn about slanted axes, through every singularity."""
    time = np.arange(frames)[:, None, None] / 10.0
    turns = time * np.array([[0.3, 0.2, 1.5], [1.0, 1.4, 0.1]])
    positions = np.broadcast_to(OFFSETS, (frames, 2, 3)).copy()
    positions[:, 0] = np.sin(time[:, 0]) / 3.0
    if channels[1] != ROTATIONS:
        positions[:, 1, 0] += time[:, 0, 0]
    skeleton = Skeleton(("hub", "tip"), [-1, 0], OFFSETS, channels, [1], [[0.0, 1 / 3, 1e-7]])
    pose = Pose(quat.exp(turns).astype(dtype), positions.astype(dtype))
    return Clip(skeleton, pose, 1 / 120)


def test_the_small_file_is_read(tmp_path):
    clip = read(tmp_path, SMALL)
    assert clip.name == "walk"
    assert clip.skeleton.names == ("hip", "knee")
    assert clip.skeleton.channels == (POSITIONS + ROTATIONS, ROTATIONS)
    assert (clip.frames, clip.frame_time) == (2, 0.1)
    np.testing.assert_array_equal(clip.skeleton.end_offsets, [[0, 5, 0]])
    np.testing.assert_array_equal(clip.pose.positions[0], [[1, 2, 3], [0, 4, 0]])
    turns = np.radians([[10, 20, 30], [40, 50, 60]])
    np.testing.assert_allclose(clip.pose.rotations[0], quat.from_euler(turns, "ZXY"), atol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r"),
        SMALL.replace("\n", "\r\n", 5).replace("\nJOINT", "\rJOINT"),
        SMALL.replace(" ", "\t"),
        SMALL.replace("\n", " \n\n  \t"),
        SMALL.rstrip(),
        "\ufeff" + SMALL,
        re.sub("HIERARCHY|ROOT|JOINT|End Site|OFFSET|MOTION", lambda m: m[0].lower(), SMALL),
        SMALL.replace("position", "POSITION").replace("CHANNELS", "Channels"),
        SMALL.replace("End Site", "End site").replace("Frame Time:", "FRAME TIME:"),
        SMALL.replace("End Site", "End Site4"),
        SMALL.replace("End Site", "End Site toe tip"),
        SMALL.replace("\n{", " {"),
        SMALL.replace("\n{", "{"),
        SMALL.replace("End Site\n{\nOFFSET 0 5 0\n}\n}\n}", "End Site { OFFSET 0 5 0 } }}"),
        small(("CHANNELS 3", "CHANNELS  03"), ("Frames: 2", "Frames:   0002")),
        small(("Frames: 2", "Frames :2"), ("Frame Time: 0.1", "Frame   Time:0.1")),
        small(("Frame Time: 0.1", "FrameTime :\t1e-1")),
        small(("OFFSET 1 2 3", "OFFSET +1.0 .2e1 3."), ("1 2 3 10", "1e0 +2.000 0.03E+2 1000e-2")),
        small((ROWS, "1 2 3 10\n20 30 40 50 60\n4 5 6 70\n\n80 90 15\n25 35\n")),
    ],
)
def test_spellings_make_no_difference(tmp_path, text):
    assert_same(read(tmp_path, text), read(tmp_path, SMALL), degrees=0.0)


def test_numbers_may_run_together_at_a_sign(tmp_path):
    clip = read(tmp_path, small(("1 2 3 10", "1.5-2.25-1e-5+10"), ("1 2 3", "1-2-3e-1")))
    np.testing.assert_array_equal(clip.skeleton.offsets[0], [1, -2, -0.3])
    np.testing.assert_array_equal(clip.pose.positions[0, 0], [1.5, -2.25, -1e-5])


@pytest.mark.parametrize(
    "name", ["left hip", "#1", "mixamorig:Hips", "a  b", "{x} y", "JOINT", "é"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_are_kept(tmp_path, name, encoding):
    clip = read(tmp_path, small(("knee", name)).encode(encoding))
    assert clip.skeleton.names == ("hip", name)
    save_clip(clip, tmp_path / "again.bvh")
    assert load_clip(tmp_path / "again.bvh").skeleton.names == ("hip", name)


@pytest.mark.parametrize(
    ("channels", "row", "order", "position"),
    [
        ("0", "", "", [0, 4, 0]),
        ("1 Xrotation", "30", "X", [0, 4, 0]),
        ("1 Yposition", "9", "", [0, 9, 0]),
        ("2 Yrotation Zrotation", "30 -140", "YZ", [0, 4, 0]),
        ("2 Zposition Xrotation", "7 100", "X", [0, 4, 7]),
        ("3 Yrotation Xrotation Zrotation", "30 100 50", "YXZ", [0, 4, 0]),
        ("3 Zposition Yposition Xposition", "7 8 9", "", [9, 8, 7]),
        ("4 Xrotation Yposition Zrotation Xposition", "30 8 50 9", "XZ", [9, 8, 0]),
        ("5 Zrotation Yrotation Xrotation Xposition Yposition", "1 2 3 7 8", "ZYX", [7, 8, 0]),
    ],
)
def test_any_channels_on_any_joint(tmp_path, channels, row, order, position):
    text = small(
        ("CHANNELS 3 Zrotation Xrotation Yrotation", f"CHANNELS {channels}"),
        (ROWS, f"1 2 3 10 20 30 {row}\n" * 2),
    )
    clip = read(tmp_path, text)
    np.testing.assert_array_equal(clip.pose.positions[1, 1], position)
    columns = zip(channels.split()[1:], row.split(), strict=True)
    angles = [float(value) for channel, value in columns if channel in ROTATIONS]
    expected = quat.from_euler(np.radians(angles), order) if order else quat.IDENTITY
    assert quat.angle_between(clip.pose.rotations[1, 1], expected) < 1e-12
    save_clip(clip, tmp_path / "again.bvh")
    assert_same(load_clip(tmp_path / "again.bvh"), clip)


def test_several_roots_and_joints_without_end_sites_come_back(tmp_path):
    second = "ROOT hand\n{\nOFFSET 0 0 1\nCHANNELS 1 Zrotation\n}\nMOTION"
    text = small(("End Site\n{\nOFFSET 0 5 0\n}\n", ""), ("MOTION", second), ("60\n", "60 5\n"))
    clip = read(tmp_path, text.replace("35\n", "35 6\n"))
    np.testing.assert_array_equal(clip.skeleton.parents, [-1, 0, -1])
    assert clip.skeleton.end_parents.size == 0
    save_clip(clip, tmp_path / "again.bvh")
    assert_same(load_clip(tmp_path / "again.bvh"), clip)


def test_depth_and_frames_without_channels(tmp_path):
    clip = read(tmp_path, DEEP)
    assert (len(clip.skeleton), clip.frames) == (3_001, 1)  # three times as deep as Python calls
    save_clip(clip, tmp_path / "again.bvh")
    assert_same(load_clip(tmp_path / "again.bvh"), clip)


@pytest.mark.parametrize(
    ("change", "frames", "message"),
    [
        (("Frames: 2", "Frames: 5"), 2, "Frames: says 5, kept the 2 there are"),
        (("Frames: 2", "Frames: 1"), 2, "Frames: says 1, kept the 2 there are"),
        ((ROWS, ""), 0, "Frames: says 2, kept the 0 there are"),
        (("60\n", "60 7 8\n"), 2, "dropped 2 numbers at the ends of 1 rows"),
    ],
)
def test_what_can_be_mended_is_warned_about(tmp_path, change, frames, message):
    with pytest.warns(UserWarning, match=re.escape(f"walk.bvh: {message}")) as caught:
        clip = read(tmp_path, small(change))
    assert clip.frames == frames
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clips_come_back_as_they_were(tmp_path, dtype):
    clip = spinning(dtype=dtype)
    save_clip(clip, tmp_path / "spin.bvh")
    again = load_clip(tmp_path / "spin.bvh")
    assert_same(again, clip)
    np.testing.assert_array_equal(again.pose.positions[:, 0], clip.pose.positions[:, 0])


def test_angles_go_on_without_a_jump(tmp_path):
    save_clip(spinning(), tmp_path / "spin.bvh")
    rows = (tmp_path / "spin.bvh").read_text().split("Frame Time:")[1].splitlines()[1:]
    columns = np.array([row.split() for row in rows], dtype=float)
    assert np.abs(np.diff(columns[:, 3:], axis=0)).max() < 20.0
    assert columns[-1, 3:].max() > 700.0


@pytest.mark.parametrize("order", ["", "X", "ZY", "XZ", "YX", "YZX"])
def test_angles_about_few_axes_give_the_rotations(order):
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, (50, len(order)))
    rotations = quat.from_euler(angles, order) if order else np.tile(quat.IDENTITY, (50, 1))
    again = np.radians(euler_angles_deg(rotations, order))
    assert again.shape == angles.shape
    if order:
        assert quat.angle_between(quat.from_euler(again, order), rotations).max() < 1e-7


def test_clips_without_frames_and_trees_breadth_first_are_written(tmp_path):
    clip = spinning(frames=0)
    save_clip(clip, tmp_path / "none.bvh")
    assert_same(load_clip(tmp_path / "none.bvh"), clip)
    wide = Skeleton(("a", "b", "c", "b1"), [-1, 0, 0, 1], np.eye(4, 3))
    rest = wide.rest_pose()
    save_clip(
        Clip(wide, Pose(rest.rotations[None], rest.positions[None]), 1 / 3), tmp_path / "w.bvh"
    )
    assert load_clip(tmp_path / "w.bvh").skeleton.names == ("a", "b", "b1", "c")


@pytest.mark.parametrize("had", [(), ("Xrotation",), ("Yrotation", "Zrotation"), ("Yposition",)])
def test_missing_channels_are_added_and_named(tmp_path, had):
    clip = spinning(channels=(POSITIONS + ROTATIONS, had))
    with pytest.warns(UserWarning, match=r"spin.bvh: added the channels .* needs to tip$"):
        save_clip(clip, tmp_path / "spin.bvh")
    again = load_clip(tmp_path / "spin.bvh")
    assert [c for c in again.skeleton.channels[1] if c in had] == list(had)
    assert quat.angle_between(again.pose.rotations, clip.pose.rotations).max() < 1e-8
    np.testing.assert_array_equal(again.pose.positions, clip.pose.positions)


@pytest.mark.parametrize("name", [" a", "a\t", "a\nb", "a {", "{", "\ud800"])
def test_names_that_would_not_come_back_are_refused(tmp_path, name):
    skeleton = Skeleton((name,), [-1], [[0, 0, 0]])
    clip = Clip(skeleton, Pose(np.zeros((0, 1, 4)), np.zeros((0, 1, 3))), 0.1)
    with pytest.raises(ValueError, match="a joint's name in BVH must be one line"):
        save_clip(clip, tmp_path / "name.bvh")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch, call, error):
    def fail(*_):
        raise error

    path = tmp_path / "walk.bvh"
    path.write_text("old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)) as caught:
        save_clip(spinning(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert isinstance(error, KeyboardInterrupt) or caught.value.filename == str(path)


@pytest.mark.parametrize("place", ["", "file/walk.bvh", "nowhere/walk.bvh", "pipe"])
def test_places_that_hold_no_file_are_named(tmp_path, place):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=re.escape(repr(os.path.join(tmp_path, place)))):
        atomic_write(os.path.join(tmp_path, place), b"new")
    assert len(list(tmp_path.iterdir())) == 2


def test_replacing_keeps_mode_and_links(tmp_path):
    path, link = tmp_path / "a.bvh", tmp_path / "b.bvh"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    atomic_write(link, b"new")
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_unknown_suffixes_and_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"walk.xyz: .* one of .*\.bvh.*, got '\.xyz'"):
        load_clip("walk.xyz")
    with pytest.raises(ValueError, match=r"one of .*\.bvh.*, got ''"):
        save_clip(spinning(), tmp_path / "walk")
    with pytest.raises(FileNotFoundError, match=r"walk\.bvh"):
        load_clip(tmp_path / "walk.bvh")
