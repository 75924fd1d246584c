"""Long clips in chunks: the same as whole ones, in memory that does not grow with them."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from click.testing import CliRunner

from clips import clip as made_clip
from oracles import EXHAUSTIVE
from synovia import (
    SHAPES,
    Clip,
    Inside,
    LimitModel,
    Pose,
    Report,
    io,
    load_clip,
    quat,
    save_clip,
    save_limits,
)
from synovia.cli import inputs, main
from synovia.io import (
    Chunks,
    chunks,
    clip_from_poses,
    lines,
    load_chunks,
    project_chunks,
    save_chunks,
)
from test_bvh import ROWS, SMALL, small
from test_bvh_fuzz import BROKEN, SEEDS, mutated
from test_table import BROKEN as BROKEN_TABLES
from test_table import NEXT, ROW, TITLES, every_field

MANY = int(os.environ.get("SYNOVIA_EXHAUSTIVE") == "1")
WRAPPED = ROWS.replace(" 30", "\n30").replace(" 90", "\n90")


@pytest.fixture(params=[1, 50])
def piece(request, monkeypatch):
    """Files are read in pieces of so many bytes, however short they are."""
    monkeypatch.setattr(lines, "PIECE", request.param)
    monkeypatch.setattr(chunks, "SHORT", 0)
    return request.param


def outcome(load):
    """What comes of loading: the bits of a clip or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = load()
        except (ValueError, OSError) as error:
            return str(error)
    said = [str(each.message) for each in caught]
    pose, skeleton = found.pose, found.skeleton
    bits = pose.rotations.tobytes(), pose.positions.tobytes(), found.frame_time
    return bits, pose.rotations.shape, skeleton.names, skeleton.channels, found.name, said


def assert_same_in_chunks(path, frames, **options):
    """Loading in chunks gives what loading in one piece does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", 2**22)
        whole = outcome(lambda: load_clip(path, **options))
    assert outcome(lambda: load_clip(path, **options)) == whole
    assert outcome(lambda: load_chunks(path, frames=frames, **options).clip()) == whole


ODD = {
    "plain": SMALL,
    "crlf": SMALL.replace("\n", "\r\n"),
    "cr": SMALL.replace("\n", "\r"),
    "trailing blanks": small((ROWS, ROWS.replace("\n", "  \t\n\n \n"))) + " \n\t\n\n ",
    "no line end": SMALL.rstrip(),
    "wrapped": small((ROWS, WRAPPED)),
    "wrapped, crlf": small((ROWS, WRAPPED)).replace("\n", "\r\n\r\n"),
    "fewer frames": small(("Frames: 2", "Frames: 3")),
    "more frames": small(("Frames: 2", "Frames: 1")),
    "no frames": small((ROWS, "")),
    "long rows": small((ROWS, ROWS.replace("\n", " 1 2 3\n"))),
    "many": small((ROWS, ROWS * 12)),
    "many, wrapped": small((ROWS, WRAPPED * 12)),
    "numbers run together": small(("70 80", "70-80")),
    "late nonsense": small((ROWS, ROWS * 9 + "1 2\n" + ROWS + "1 2 x\n")),
    "late short row": small((ROWS, ROWS * 9 + "1 2\n" + ROWS)),
    "late long row among short ones": small((ROWS, WRAPPED * 9 + ROWS)),
    "a wrapped row too long, then a whole one": small((ROWS, WRAPPED * 3 + "1 2\n" * 9 + ROWS)),
    "an incomplete row": small((ROWS, WRAPPED * 9 + "1 2\n")),
    "too large, twice": small((ROWS, ROWS + "0 0 0 0 2e6 0 0 9e6 0\n0 0 0 0 3e6 0 0 0 0\n")),
    "a byte order mark within": small((ROWS, ROWS + "\ufeff" + ROWS)),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("frames", [1, 7] if EXHAUSTIVE else [7])
@pytest.mark.usefixtures("piece")
def test_odd_files_are_the_same_in_chunks(tmp_path, text, frames):
    (tmp_path / "walk.bvh").write_bytes(text.encode())
    assert_same_in_chunks(tmp_path / "walk.bvh", frames)


@pytest.mark.parametrize("change", [change for change, _ in BROKEN if len(change) < 3000])
@pytest.mark.parametrize("piece", [5], indirect=True)
@pytest.mark.usefixtures("piece")
def test_errors_are_the_same_in_chunks(tmp_path, change):
    text = small(change) if isinstance(change, tuple) else change
    (tmp_path / "walk.bvh").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_same_in_chunks(tmp_path / "walk.bvh", 2)


@pytest.mark.exhaustive
def test_mutations_are_the_same_in_chunks(tmp_path, monkeypatch):
    rng = np.random.default_rng(21)
    monkeypatch.setattr(chunks, "SHORT", 0)
    for _ in range(5000 if MANY else 200):
        text = mutated(SEEDS[int(rng.integers(len(SEEDS)))], rng)
        monkeypatch.setattr(lines, "PIECE", int(rng.integers(1, 400)))
        (tmp_path / "walk.bvh").write_bytes(text)
        assert_same_in_chunks(tmp_path / "walk.bvh", int(rng.integers(1, 5)))


def test_chunks_say_where_they_begin_and_share_a_skeleton(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "SHORT", 0)
    save_clip(made_clip(frames=25), tmp_path / "walk.bvh")
    walk = load_chunks(tmp_path / "walk.bvh", frames=10)
    assert (walk.frames, walk.name) == (25, "walk")
    for _ in range(2):
        assert [(each.start, each.frames) for each in walk] == [(0, 10), (10, 10), (20, 5)]
    assert {id(each.skeleton) for each in walk} == {id(walk.skeleton)}
    assert {each.name for each in walk} == {"walk"}
    with pytest.raises(ValueError, match="frames must be an integer of at least 1, got 0"):
        load_chunks(tmp_path / "walk.bvh", frames=0)


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "SHORT", 0)
    save_clip(made_clip(frames=25), tmp_path / "walk.bvh")
    walk = load_chunks(tmp_path / "walk.bvh", frames=10)
    save_clip(made_clip(frames=20), tmp_path / "walk.bvh")
    with pytest.raises(ValueError, match=r"walk\.bvh: the file changed while"):
        list(walk)


def spinning(frames: int = 200) -> Clip:
    """All joints turn round and round, through gimbal lock too; one of them moves late."""
    still = made_clip(frames=frames)
    rng = np.random.default_rng(5)
    vectors = np.cumsum(rng.normal(size=(frames, 5, 3)), axis=0)
    rotations = quat.exp(vectors)
    rotations[:, 4] = quat.exp(vectors[:, 4] * [1.0, 0.0, 0.0])
    positions = still.pose.positions.copy()
    positions[frames // 2 :, 2, 1] += 0.5
    channels = (*still.skeleton.channels[:4], ("Xrotation",))
    skeleton = replace(still.skeleton, channels=channels)
    return Clip(skeleton, Pose(rotations, positions), still.frame_time, "spin")


@pytest.mark.filterwarnings("ignore:.*added the channels:UserWarning")
@pytest.mark.parametrize("frames", [1, 7, 64, 1000])
def test_chunks_are_written_as_the_whole_is(tmp_path, frames):
    whole = spinning()
    pose = whole.pose
    empty = replace(whole, pose=Pose(pose.rotations[:0], pose.positions[:0]))
    for name, changed in (("spin", whole), ("empty", empty)):
        save_clip(changed, tmp_path / f"{name}.bvh")
        save_chunks(Chunks.of(changed, frames), tmp_path / f"{name}-again.bvh")
        expected = (tmp_path / f"{name}.bvh").read_bytes()
        assert (tmp_path / f"{name}-again.bvh").read_bytes() == expected
        save_chunks(list(Chunks.of(changed, frames)), tmp_path / "listed.bvh")
        assert (tmp_path / "listed.bvh").read_bytes() == expected


def test_an_angle_goes_on_over_a_chunks_end(tmp_path):
    angles = np.linspace(0.0, 12.0 * np.pi, 100)
    still = made_clip(frames=100)
    rotations = still.pose.rotations.copy()
    rotations[:, 0] = quat.exp(angles[:, None] * [0.0, 0.0, 1.0])
    save_chunks(
        Chunks.of(replace(still, pose=still.pose.with_rotations(rotations)), 9),
        tmp_path / "spin.bvh",
    )
    rows = (tmp_path / "spin.bvh").read_text().splitlines()[-100:]
    turned_deg = [float(row.split()[3]) for row in rows]
    np.testing.assert_allclose(turned_deg, np.degrees(angles), atol=1e-6)


def test_a_channel_that_only_the_last_chunk_needs_is_added(tmp_path):
    whole = spinning()
    with pytest.warns(UserWarning, match="added the channels that the motion needs to LeftArm"):
        save_chunks(Chunks.of(whole, 30), tmp_path / "spin.bvh")
    assert load_clip(tmp_path / "spin.bvh").skeleton.channels[2][0] == "Xposition"


def test_what_cannot_be_chunks_of_one_clip_is_refused(tmp_path):
    parts = list(Chunks.of(made_clip(frames=20), 10))
    path = tmp_path / "walk.bvh"
    with pytest.raises(ValueError, match="gone through more than once: give a list"):
        save_chunks(iter(parts), path)
    with pytest.raises(ValueError, match="at least one chunk"):
        save_chunks([], path)
    with pytest.raises(ValueError, match="the skeleton and the frame time of the first"):
        save_chunks([parts[0], replace(parts[1], frame_time=1.0)], path)
    with pytest.raises(ValueError, match=r"\.fbx is only read"):
        save_chunks(parts, tmp_path / "walk.fbx")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_between_chunks_leaves_nothing(tmp_path):
    parts = Chunks.of(made_clip(frames=20), 10)
    (tmp_path / "walk.bvh").write_text("old")
    rounds = []

    def fail_late(part):
        rounds.append(part.start)
        if rounds.count(10) == 2:
            raise ValueError("late")
        return part

    with pytest.raises(ValueError, match="late"):
        save_chunks(parts.change(fail_late), tmp_path / "walk.bvh")
    assert [path.name for path in tmp_path.iterdir()] == ["walk.bvh"]
    assert (tmp_path / "walk.bvh").read_text() == "old"


@pytest.mark.parametrize("suffix", [".motion.csv", ".motion.parquet"])
@pytest.mark.parametrize("whole", [made_clip(frames=50), every_field(), every_field(np.float32)])
@pytest.mark.usefixtures("piece")
def test_tables_are_the_same_in_chunks(tmp_path, suffix, whole):
    if suffix == ".motion.parquet":
        pytest.importorskip("pyarrow")
    save_clip(whole, tmp_path / f"a{suffix}")
    assert_same_in_chunks(tmp_path / f"a{suffix}", 3)
    parts = load_chunks(tmp_path / f"a{suffix}", frames=20)
    assert [each.start for each in parts] == list(range(0, whole.frames, 20))


@pytest.mark.parametrize("text", [text for text, _ in BROKEN_TABLES] + [TITLES + ROW + NEXT])
@pytest.mark.parametrize("piece", [5], indirect=True)
@pytest.mark.usefixtures("piece")
def test_tables_of_others_are_the_same_in_chunks(tmp_path, text):
    save_clip(made_clip(frames=2), tmp_path / "rig.bvh")
    path = tmp_path / "a.motion.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_same_in_chunks(path, 1, skeleton=tmp_path / "rig.bvh")


@pytest.mark.parametrize("suffix", [".npz", ".amc"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_formats_come_and_go_in_chunks_too(tmp_path, suffix):
    whole = made_clip(frames=50)
    if suffix == ".npz":
        whole = clip_from_poses(np.random.default_rng(1).normal(size=(50, 72)) * 0.3)
    save_clip(whole, tmp_path / f"a{suffix}")
    parts = load_chunks(tmp_path / f"a{suffix}", frames=20)
    assert outcome(parts.clip) == outcome(lambda: load_clip(tmp_path / f"a{suffix}"))
    assert [each.start for each in parts] == [0, 20, 40]
    save_chunks(Chunks.of(whole, 7), tmp_path / f"b{suffix}")
    assert (tmp_path / f"b{suffix}").read_bytes() == (tmp_path / f"a{suffix}").read_bytes()


# Checking and clamping.


@cache
def wild_clip(frames: int = 400) -> Clip:
    """The chain, with an arm that goes round and round, in and out of its limit."""
    still = made_clip(frames=frames, size=0.9, seed=3)
    rotations = still.pose.rotations.copy()
    turns = np.cumsum(np.random.default_rng(2).normal(scale=0.12, size=(frames, 3)), axis=0)
    rotations[:, 2] = quat.exp(turns)
    return replace(still, pose=still.pose.with_rotations(rotations))


@cache
def limits_of(shape: str) -> LimitModel:
    """Limits of the chain, one of them measured from an ancestor."""
    return LimitModel.fit(
        [made_clip(frames=120)],
        shape,
        relative_to={"LeftForeArm": "Chest"},
        **OPTIONS.get(shape, {}),
    )


OPTIONS = {"distance-field": {"resolution": 12}}


@pytest.fixture(scope="module", params=sorted(SHAPES))
def model(request):
    try:
        return limits_of(request.param)
    except ValueError as error:
        pytest.skip(f"not fitted: {error}")


@pytest.mark.parametrize("frames", [1, 33, 150, 1000] if EXHAUSTIVE else [33])
def test_reports_of_chunks_merge_to_that_of_the_whole(model, frames):
    clip = wild_clip()
    whole, merged = model.check(clip), model.check_chunks(Chunks.of(clip, frames))
    assert (merged.clip, merged.names, merged.frame_time) == (
        whole.clip,
        whole.names,
        whole.frame_time,
    )
    iterates = model.limits["LeftArm"].shape.name in ("ellipsoid", "product")
    np.testing.assert_allclose(
        merged.violation, whole.violation, rtol=0.0, atol=1e-12 if iterates else 0.0
    )
    assert not whole.ok


@pytest.mark.parametrize("frames", [1, 33, 150, 1000] if EXHAUSTIVE else [33])
def test_chunks_are_clamped_as_the_whole_is(model, frames, tmp_path):
    assert_clamped_in_chunks(model, frames, None, tmp_path)


@pytest.mark.parametrize("shape", sorted(SHAPES) if EXHAUSTIVE else ["kdop", "reach-cone"])
def test_chunks_are_clamped_softly_as_the_whole_is(shape, tmp_path):
    assert_clamped_in_chunks(limits_of(shape), 33, Inside(0.1), tmp_path)


def assert_clamped_in_chunks(model, frames, softening, tmp_path):
    """Chunks of so many frames become what the whole clip becomes."""
    clip = wild_clip()
    whole = model.project(clip, softening=softening)
    seen = []
    clamped = project_chunks(
        model,
        Chunks.of(clip, frames),
        folder=tmp_path,
        softening=softening,
        notice=lambda before, after: seen.append((before.start, after.start)),
    )
    assert outcome(clamped.clip) == outcome(lambda: whole)
    assert seen == [(first, first) for first in range(0, 400, frames)]
    assert list(tmp_path.iterdir()) == []  # the temporary file has no name


def test_single_precision_stays_in_chunks(tmp_path):
    clip = wild_clip()
    single = Pose(clip.pose.rotations.astype(np.float32), clip.pose.positions.astype(np.float32))
    clip = replace(clip, pose=single)
    model = limits_of("kdop")
    clamped = project_chunks(model, Chunks.of(clip, 77), folder=tmp_path).clip()
    assert outcome(lambda: clamped) == outcome(lambda: model.project(clip))
    assert clamped.pose.rotations.dtype == np.float32


def test_reports_of_other_joints_do_not_merge():
    report = limits_of("box").check(made_clip(frames=3))
    other = replace(report, names=("Tail",), violation=report.violation[:, :1])
    with pytest.raises(ValueError, match="must have the same joints, got 1 in 'ann_01' and"):
        Report.merge([report, other])
    with pytest.raises(ValueError, match="at least one chunk, got none"):
        Report.merge([])


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code in (0, 1), done.output
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_clip(wild_clip(), "wild.bvh")
    save_limits(limits_of("kdop"), "a.limits.json")
    return tmp_path


def in_chunks(monkeypatch, frames):
    """Files are taken in chunks of so many frames, however short they are."""
    monkeypatch.setattr(chunks, "SHORT", 0)
    monkeypatch.setattr(lines, "PIECE", 1000)
    monkeypatch.setattr(inputs, "MANY_FRAMES", 0)
    whole = io.load_chunks
    monkeypatch.setattr(io, "load_chunks", partial(whole, frames=frames))


@pytest.mark.parametrize("options", [(), ("--all",), ("--json",), ("--csv", "-")])
@pytest.mark.usefixtures("folder")
def test_the_command_line_checks_long_clips_in_chunks(monkeypatch, options):
    words = ("check", "wild.bvh", "-l", "a.limits.json", *options)
    whole = run(*words)
    in_chunks(monkeypatch, 37)
    assert run(*words).output == whole.output
    assert "LeftArm" in whole.output


@pytest.mark.usefixtures("folder")
def test_the_command_line_finds_an_invented_first_frame_in_chunks(monkeypatch):
    clip = made_clip(frames=200, size=0.3)
    rotations = clip.pose.rotations.copy()
    rotations[0] = quat.exp(np.tile([0.0, 2.5, 0.0], (5, 1)))
    save_clip(replace(clip, pose=clip.pose.with_rotations(rotations)), "posed.bvh")
    whole = run("check", "posed.bvh", "-l", "a.limits.json")
    in_chunks(monkeypatch, 50)
    assert "nobody performed it" in whole.output
    assert run("check", "posed.bvh", "-l", "a.limits.json").output == whole.output


def test_the_command_line_clamps_long_clips_in_chunks(monkeypatch, folder):
    words = ("clamp", "wild.bvh", "-l", "a.limits.json", "-o", "b.bvh")
    whole = run(*words)
    expected = (folder / "b.bvh").read_bytes()
    in_chunks(monkeypatch, 37)
    (folder / "b.bvh").unlink()
    assert run(*words).output == whole.output
    assert (folder / "b.bvh").read_bytes() == expected
    assert "changed" in whole.output
    assert sorted(path.name for path in folder.iterdir()) == ["a.limits.json", "b.bvh", "wild.bvh"]
    forced = run(*words[:-1], "wild.bvh", "--force")
    assert "wrote wild.bvh" in forced.output
    assert (folder / "wild.bvh").read_bytes() == expected


PEAK = """
import resource, sys
import numpy as np
from synovia import Clip, LimitModel, Pose, Skeleton, quat
from synovia.io import Chunks, chunks, lines, load_chunks, project_chunks, save_chunks

chunks.SHORT, lines.PIECE = 0, 2**18
frames, joints, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
names = tuple(f"Joint{k}" for k in range(joints))
bones = Skeleton(names, np.arange(joints) - 1, np.ones((joints, 3)))
speeds = np.random.default_rng(0).uniform(0.5, 3.0, (joints, 3))

def read():
    for start in range(0, frames, 1000):
        t = np.arange(start, start + 1000)[:, None, None] / 120.0
        pose = Pose(quat.exp(0.6 * np.sin(speeds * t)), np.tile(bones.offsets, (1000, 1, 1)))
        yield Clip(bones, pose, 1.0 / 120.0, "long", start=start)

long = Chunks(bones, frames, 1.0 / 120.0, "long", read)
model = LimitModel.fit([next(read())], "box")
save_chunks(long, path)
report = model.check_chunks(load_chunks(path, frames=1000))
clamped = project_chunks(model, load_chunks(path, frames=1000))
save_chunks(clamped, path + ".clamped.bvh")
assert len(report.violation) == frames
unit = 1 if sys.platform == "darwin" else 1024
print(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell the peak of memory in this way")
def test_memory_stays_flat(tmp_path):
    joints = 60 if MANY else 12
    few, many = (20_000, 100_000) if MANY else (4_000, 16_000)

    def peak(frames):
        words = [sys.executable, "-c", PEAK, str(frames), str(joints), str(tmp_path / "a.bvh")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
        return int(done.stdout)

    report = 8 * joints * (many - few)  # bytes: the violations of all frames
    path = 1000 * (many - few)  # bytes: what clamping one joint takes
    assert peak(many) <= 1.1 * peak(few) + report + path
