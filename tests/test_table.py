"""Tables of motion, CSV: an exact round trip, and errors that name the row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip
from synovia import Clip, Pose, Skeleton, load_clip, quat, save_clip
from synovia.cli import main
from synovia.io.tables import MARK


def every_field(dtype=np.float64):
    """A clip in which nothing is as usual."""
    skeleton = Skeleton(
        ('Hip.l, "the" 1st', " knee", "a\r\nb", "ümlaut"),
        [-1, 0, 0, -1],
        [[0.1, -0.0, 1 / 3], [0.0, 1e-300, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        (("Zrotation", "Xposition"), (), ("Yrotation",), ("Xrotation",)),
        [1, 1, 2],
        [[0.0, 0.1, 0.7], [1.0, -0.0, 0.0], [2.0, 0.0, 1e-9]],
        quat.normalize(np.random.default_rng(1).normal(size=(4, 4))),
        "z",
        0.0254,
    )
    rng = np.random.default_rng(2)
    rotations = quat.normalize(rng.normal(size=(7, 4, 4))).astype(dtype)
    positions = np.tile(skeleton.offsets, (7, 1, 1)).astype(dtype)
    positions[:, 0] = rng.normal(size=(7, 3))
    positions[3, 2, 1] = -0.0  # the offset is 0.0
    return Clip(skeleton, Pose(rotations, positions), 1 / 59.94, "odd")


def assert_same(after, before):
    assert after.frame_time == before.frame_time
    assert after.skeleton.names == before.skeleton.names
    assert after.skeleton.channels == before.skeleton.channels
    assert (after.skeleton.up, after.skeleton.unit) == (before.skeleton.up, before.skeleton.unit)
    for field in ("parents", "offsets", "end_parents", "end_offsets", "rest_rotations"):
        left, right = getattr(after.skeleton, field), getattr(before.skeleton, field)
        assert left.tobytes() == right.tobytes(), field
    for field in ("rotations", "positions"):
        left, right = getattr(after.pose, field), getattr(before.pose, field)
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes(), field


@pytest.mark.parametrize("frames", [7, 1, 0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_clip_comes_back_bit_for_bit(tmp_path, frames, dtype):
    before = every_field(dtype)
    pose = Pose(before.pose.rotations[:frames], before.pose.positions[:frames])
    before = replace(before, pose=pose)
    save_clip(before, tmp_path / "walk.motion.csv")
    after = load_clip(tmp_path / "walk.motion.csv")
    assert after.name == "walk"
    assert_same(after, before)


def test_a_plain_clip_comes_back_bit_for_bit(tmp_path):
    before = clip(frames=50)
    save_clip(before, tmp_path / "walk.motion.csv")
    assert_same(load_clip(tmp_path / "walk.motion.csv"), before)


def test_the_columns_are_as_documented(tmp_path):
    before = clip(frames=3, fps=50.0)
    save_clip(before, tmp_path / "walk.motion.csv")
    mark, titles, *rows = (tmp_path / "walk.motion.csv").read_text().splitlines()
    assert mark.startswith('# synovia-skeleton: {"names": ["Hips", ')
    assert titles.split(",")[:9] == [
        "time",
        *("Hips.qw", "Hips.qx", "Hips.qy", "Hips.qz"),
        *("Hips.px", "Hips.py", "Hips.pz"),
        "Chest.qw",
    ]
    assert titles.count(".p") == 3  # other joints stay at their offsets
    assert [float(row.split(",")[0]) for row in rows] == [0.0, 0.02, 0.04]


# Tables of others: no skeleton in them.


def foreign(tmp_path, text, **options):
    """Read CSV that we did not write, with the skeleton of a clip."""
    save_clip(clip(frames=2), tmp_path / "rig.bvh")
    (tmp_path / "a.motion.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_clip(tmp_path / "a.motion.csv", **{"skeleton": tmp_path / "rig.bvh", **options})


TITLES = "time,Hips.qw,Hips.qx,Hips.qy,Hips.qz,Chest.rx,Chest.ry,Chest.rz\n"


@pytest.mark.filterwarnings("ignore:.*left at rest")
@pytest.mark.parametrize(
    "text",
    [
        TITLES + "0,1,0,0,0,0.1,0,0\n0.5,1,0,0,0,0.2,0,0\n1.0,1,0,0,0,0.3,0,0\n",
        TITLES + "0,1,0,0,0,.1,0,0\r\n0.5,1,0,0,0,2e-1,0,0\r\n\r\n1.0,1,0,0,0,0.3,0,0",
        (b"\xef\xbb\xbf# made by hand\n\n" + TITLES.replace(",", ", ").encode())
        + b' 0, 1, 0, 0, 0, "0.1", 0, 0 \n0.5, 1,0,0,0,0.2,0,0\n1.0,1,0,0,0,\t+0.3,0,0\n\n',
        TITLES.replace("time,", "").replace("\n", ",time\n")
        + "1,0,0,0,0.1,0,0,7\n1,0,0,0,0.2,0,0,7.5\n1,0,0,0,0.3,0,0,8\n",
    ],
)
def test_tables_of_others_are_read(tmp_path, text):
    read = foreign(tmp_path, text)
    assert read.frames == 3
    assert read.frame_time == 0.5
    expected = quat.exp(np.array([[0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]]))
    np.testing.assert_array_equal(read.pose.rotations[:, 1], expected)
    np.testing.assert_array_equal(read.pose.positions[0], read.skeleton.offsets)


def test_joints_without_columns_are_left_at_rest_with_a_word(tmp_path):
    with pytest.warns(UserWarning, match="no rotations of LeftArm, LeftForeArm, LeftHand: left at"):
        foreign(tmp_path, TITLES + "0,1,0,0,0,0,0,0\n1,1,0,0,0,0,0,0\n")


def test_times_may_be_rounded(tmp_path):
    before = clip(frames=100, fps=120.0)
    save_clip(before, tmp_path / "walk.motion.csv")
    mark, titles, *rows = (tmp_path / "walk.motion.csv").read_text().splitlines()
    rows = [f"{float(row.split(',')[0]):.3f}," + row.split(",", 1)[1] for row in rows]
    read = foreign(tmp_path, "\n".join([titles, *rows]))
    assert read.frame_time == pytest.approx(1 / 120, rel=1e-3)
    read = foreign(tmp_path, "\n".join([mark, titles, *rows]))
    assert read.frame_time == before.frame_time
    read = foreign(tmp_path, "\n".join([mark, titles, *rows[::2]]))  # by somebody who thinned it
    assert read.frame_time == pytest.approx(1 / 60, rel=1e-3)


ROW = "0,1,0,0,0,0,0,0\n"
NEXT = "0.5,1,0,0,0,0,0,0\n"
BROKEN = [
    ("", r":1: expected the titles of columns"),
    ("# only\n# comments\n", r":2: expected the titles of columns"),
    ('"time,Hips', r":1: expected the titles of columns \(unexpected end of data\)"),
    (b"time,\xff\n", r":1: expected UTF-8, got the byte 0xff"),
    ("x,Hips.qw\n", r": expected the column 'time' and a joint's, such as 'Hips\.qw', got 'x'"),
    ("time,Head.qw\n", r": expected the column 'time' and .*, got 'Head\.qw'"),
    ("Hips.px,Hips.py,Hips.pz\n0,0,0\n", r": expected the column 'time', got none"),
    ("time,time\n0,0\n", r": expected each column once, got 'time'"),
    ("time,Hips.qw,Hips.qx,Hips.qy\n", r": expected the column 'Hips\.qz' beside the others"),
    (TITLES.strip() + ",Hips.rx,Hips.ry,Hips.rz\n", r": expected a quaternion or a rotation vec"),
    (TITLES + ROW, r": expected at least 2 rows, to know the frame time"),
    (TITLES + ROW + "0.5,1,0,0,0,0,0\n", r":3: expected 8 cells, one a column, got 7"),
    (TITLES + ROW + "0.5,1,,0,0,0,0,0\n", r":3: expected one finite number in each cell, got ''"),
    (TITLES + ROW + "0.5,1,0,0,0,0-0,0\n", r":3: expected 8 cells, one a column, got 7"),
    (TITLES + ROW + "0.5,1,0,0,0,0,nan,0\n", r":3: expected one finite number in each"),
    (TITLES + ROW + "0.5,1,0,0,0,0,1e308,0\n", r": rotation vectors: expected finite numbers of"),
    (TITLES + ROW + "0.5,1,1e308,0,0,0,0,0\n", r": quaternions: expected finite numbers of at mo"),
    (TITLES + ROW + "0.5,.5,0,0,0,0,0,0\n", r": rotations must be unit quaternions .* at \[1, 0\]"),
    (TITLES + ROW + "1e308,1,0,0,0,0,0,0\n", r": time: expected finite numbers of at most 1e\+12"),
    (TITLES + ROW + ROW, r": expected 1e-06 to 10000 seconds from frame to frame, got 0"),
    (
        TITLES + ROW + NEXT + NEXT.replace("0.5", "1") + NEXT.replace("0.5", "2"),
        r":5: expected even times, 0\.5 seconds apart, got 2\.0 after 1\.0",
    ),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*left at rest")
@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_what_is_broken_is_named_by_file_and_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"a\.motion\.csv{message}"):
        foreign(tmp_path, text)


def test_without_a_skeleton_the_error_says_what_to_do(tmp_path):
    with pytest.raises(
        ValueError, match=r"expected the skeleton .* with --skeleton FILE or load_cl"
    ):
        foreign(tmp_path, TITLES + ROW + NEXT, skeleton=None)


HEAD = '{"names": ["a"], "parents": [-1], "offsets": [[0, 0, 0]], "frame_time": 0.1}'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((HEAD, "{"), r"synovia-skeleton:1: expected JSON"),
        ((HEAD, "{}"), r"synovia-skeleton: the key 'names' is missing"),
        (('["a"]', '["a", "a"]'), r"synovia-skeleton: Skeleton\.names must differ"),
        (("[-1]", "[0]"), r"synovia-skeleton: Skeleton\.parents must name an earlier joint"),
        (("[-1]", "[0.5]"), r"synovia-skeleton: parents: expected whole numbers"),
        (("[[0, 0, 0]]", "[[0, 0]]"), r"synovia-skeleton: offsets: expected 1 by 3 numbers"),
        (("[[0, 0, 0]]", "[[0, 0, 1e300]]"), r"synovia-skeleton: offsets: expected finite numbers"),
        (("0.1}", "0}"), r"synovia-skeleton: expected 1e-06 to 10000 seconds"),
        (("0.1}", '0.1, "up": "w"}'), r"synovia-skeleton: up: expected x or y or z, got 'w'"),
        (("0.1}", '0.1, "unit": -1}'), r"synovia-skeleton: unit: expected a number of at least 0"),
        (("0.1}", '0.1, "end_parents": [0.5]}'), r"end_parents: expected whole numbers"),
        (
            ("0.1}", '0.1, "rest_rotations": [[9, 0, 0, 0]]}'),
            r"Skeleton\.rest_rotations must be un",
        ),
        (("0.1}", '0.1, "colour": 1}'), r"synovia-skeleton: unknown key 'colour'"),
        (("0.1}", f'0.1, "up": {"[" * 5000}'), "synovia-skeleton"),
    ],
)
def test_a_broken_skeleton_is_named_by_its_place(tmp_path, change, message):
    text = f"# {MARK}: {HEAD.replace(*change)}\ntime,a.qw,a.qx,a.qy,a.qz\n0,1,0,0,0\n"
    with pytest.raises(ValueError, match=message):
        foreign(tmp_path, text)


def test_names_are_bounded(tmp_path):
    with pytest.raises(ValueError, match="field larger than field limit"):
        foreign(tmp_path, f"time,{'x' * 5_000_000}.qw\n0,0\n")
    bones = clip(frames=2)
    odd = replace(bones, skeleton=replace(bones.skeleton, names=("\ud800", "b", "c", "d", "e")))
    with pytest.raises(ValueError, match=r"a.motion.csv: expected names of Unicode, got"):
        save_clip(odd, tmp_path / "a.motion.csv")


# The command line, and damage.


def test_a_directory_of_clips_may_have_other_csv_files(tmp_path):
    save_clip(clip(frames=60), tmp_path / "walk.motion.csv")
    (tmp_path / "map.csv").write_text("theirs,ours\na,b\n")
    done = CliRunner().invoke(main, ["fit", str(tmp_path), "-o", str(tmp_path / "a.limits.json")])
    assert done.exit_code == 0, done.output
    told = CliRunner().invoke(main, ["info", str(tmp_path / "walk.motion.csv")])
    assert told.exit_code == 0, told.output
