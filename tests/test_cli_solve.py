"""`synovia solve` and `synovia look`: clips driven from the command line, and what can go wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from command_line import process, result_of, run
from synovia import Pose, forward, load_clip, load_limits, quat, save_clip
from synovia.cli import clips
from synovia.demo import range_of_motion, wild

FRAMES = 24
LIMITS = ("-l", "human.limits.json")
HAND = "LeftHand"
ARM = "L3,T8,LeftClavicle,LeftUpperArm,LeftLowerArm,LeftForearm,LeftHand,C7,Head"
BEHIND = ("-g", f"{HAND}=-0.1,1.45,-0.45", "-j", "LeftUpperArm,LeftLowerArm")
"""A place behind the back, where the arm alone cannot go."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calm stretch of the demo's clip, limits for its trunk and arm, and a path for its hand."""
    folder = tmp_path_factory.mktemp("drive")
    save_clip(range_of_motion(400), folder / "rom.bvh")
    clip = wild()
    some = slice(100, 100 + FRAMES)
    pose = Pose(clip.pose.rotations[some], clip.pose.positions[some])
    save_clip(replace(clip, pose=pose), folder / "calm.bvh")
    run(
        *("fit", folder / "rom.bvh", "-o", folder / "human.limits.json"),
        *("--trim", "0", "-s", "box", "-j", ARM),
    )
    model = load_limits(folder / "human.limits.json")
    path = hand_of(model.project(load_clip(folder / "calm.bvh")))
    np.savetxt(folder / "path.csv", path + np.array([-0.04, 0.04, 0.02]), delimiter=",")
    return folder


@pytest.fixture
def here(made, monkeypatch):
    """Where these files are; not to be written to."""
    monkeypatch.chdir(made)
    return made


def hand_of(clip, joint=HAND):
    return forward(clip.skeleton, clip.pose)[0][:, clip.skeleton.index(joint)]


def solve(*arguments, **more):
    return run("solve", "calm.bvh", *LIMITS, *arguments, **more)


def complaint(*arguments):
    """Run what must fail, and return the sentence."""
    result = result_of(*arguments, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("synovia: error: ")
    return result.stderr


def test_a_hand_goes_along_its_path(here, tmp_path):
    out = tmp_path / "driven.bvh"
    said = solve("--goal", f"{HAND}=path.csv", "-o", out)
    assert said.startswith(
        f"calm: goals met in {FRAMES} of {FRAMES} frames; {HAND} off by at most "
    )
    assert f"; wrote {out}\n" in said
    clip = load_clip(out)
    np.testing.assert_allclose(hand_of(clip), np.loadtxt("path.csv", delimiter=","), atol=1e-3)
    assert "inside, all of" in run("check", out, *LIMITS)
    calm = load_clip("calm.bvh")
    assert clip.frame_time == pytest.approx(calm.frame_time)
    knee = clip.skeleton.index("LeftLowerLeg")
    same = quat.angle_between(clip.pose.rotations[:, knee], calm.pose.rotations[:, knee])
    assert same.max() < 1e-6


def test_as_a_process_of_its_own(here, tmp_path):
    out = tmp_path / "driven.bvh"
    done = process("solve", "calm.bvh", *LIMITS, "-g", f"{HAND}=path.csv", "-o", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "goals met in 24 of 24 frames" in done.stdout
    assert out.exists()


def test_what_is_not_met_is_said_and_written_all_the_same(here, tmp_path):
    out = tmp_path / "driven.bvh"
    said = solve(*BEHIND, "-o", out, code=1).splitlines()
    assert said[0].startswith(f"calm: goals met in 0 of {FRAMES} frames; {HAND} off by at most 0.")
    assert said[1].startswith("frame ")
    assert f": {HAND} is 0." in said[1]
    held = next(line for line in said if line.startswith("held by limits: "))
    assert "degrees more)" in held
    assert "inside, all of" in run("check", out, *LIMITS)
    far = solve("-g", f"{HAND}=30,1,0", "-o", out, "-f", code=1)
    assert f"beyond reach in {FRAMES} frames" in far
    assert "held by limits" not in far


def test_pins_joints_and_a_free_root(here, tmp_path):
    out = tmp_path / "driven.bvh"
    solve("-g", f"{HAND}=path.csv", "--pin", "RightHand", "-o", out)
    legal = load_limits("human.limits.json").project(load_clip("calm.bvh"))
    there = hand_of(load_clip(out), "RightHand")
    assert np.linalg.norm(there - hand_of(legal, "RightHand"), axis=1).max() < 2e-3
    solve("-g", f"{HAND}=path.csv", "-j", "LeftUpperArm,LeftLowerArm", "-o", out, "-f")
    for name in ("T8", "LeftClavicle"):
        joint = legal.skeleton.index(name)
        turned = quat.angle_between(
            load_clip(out).pose.rotations[:, joint], legal.pose.rotations[:, joint]
        )
        assert turned.max() < 1e-6
    solve("-g", f"{HAND}=1,1.5,0", "--free-root", "--pin", "LeftFoot", "-o", out, "-f")
    assert "inside, all of" in run("check", out, *LIMITS)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: "x,y,z\n" + rows,
        lambda rows: "\ufeffX, Y, Z\r\n" + rows.replace("\n", "\r\n"),
        lambda rows: rows + "\n\n",
        lambda rows: (
            "time,z,frame,y,x\n"
            + "\n".join(
                f"{0.1 * n},{z},{n},{y},{x}"
                for n, (x, y, z) in enumerate(line.split(",") for line in rows.split())
            )
        ),
    ],
    ids=["titles", "Windows", "blank lines", "other columns"],
)
def test_paths_as_people_have_them(here, tmp_path, change):
    rows = (here / "path.csv").read_text()
    (tmp_path / "other.csv").write_bytes(change(rows).encode())
    points = clips.parse_target("--goal", str(tmp_path / "other.csv"), FRAMES)
    np.testing.assert_array_equal(points, np.loadtxt("path.csv", delimiter=","))
    solve("-g", f"{HAND}={tmp_path / 'other.csv'}", "-o", tmp_path / "out.bvh")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": expected 24 rows, one for each frame of the clip, got 0"),
        ("1,2,3\n" * 25, ": expected 24 rows, one for each frame of the clip, got 25"),
        ("1,2\n" * 24, ":1: expected 3 columns, x,y,z, got 2"),
        ("1,2,3\n\n" + "1,2,3,4\n" * 23, ":3: expected 3 columns, x,y,z, got 4"),
        ("1,2,nan\n" * 24, ":1: z takes a number of at most 1e+12, got 'nan'"),
        ("x,y,z\n" + "1,inf,3\n" * 24, ":2: y takes a number of at most 1e+12, got 'inf'"),
        ("1;2;3\n", ":1: columns must be separated by commas, got '1;2;3'"),
        ("a,b,c\n" + "1,2,3\n" * 23, ":1: x takes a number of at most 1e+12, got 'a'"),
        (b"1,2,3\n\xff\xfe,2,3\n", ":2: expected UTF-8, got the byte 0xff"),
        ("1,2,3\n" * 23 + '"1,2,3\n', ":24: "),
    ],
)
def test_a_path_that_is_none(here, tmp_path, text, said):
    path, out = tmp_path / "bad.csv", tmp_path / "out.bvh"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    words = complaint("solve", "calm.bvh", *LIMITS, "-g", f"{HAND}={path}", "-o", out)
    assert f"{path}{said}" in words
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["solve", "-g", "LeftHnad=0,0,0", "-o", "O"],
            "no joint 'LeftHnad'; did you mean LeftHand",
        ),
        (
            ["solve", "-g", "LeftHand=0,0", "-o", "O"],
            "--goal takes three numbers X,Y,Z, or a .csv",
        ),
        (["solve", "-g", "LeftHand=gone.csv", "-o", "O"], "gone.csv: No such file"),
        (["solve", "-g", "LeftHand", "-o", "O"], "--goal takes JOINT=X,Y,Z or JOINT=FILE.csv"),
        (["solve", "-g", "Head=0,0,0", "-g", "Head=1,0,0", "-o", "O"], "--goal gives Head twice"),
        (["solve", "-o", "O"], "Missing option '-g'"),
        (["solve", "-g", "Head=0,0,0", "--speed", "0", "-o", "O"], "--speed"),
        (["look", "--at", "1e308,0,0", "-o", "O"], "of at most 1e+12, got '1e308,0,0'"),
        (["look", "--at", "path.csv", "--with", "C77,Head", "-o", "O"], "did you mean C7"),
        (["look", "--at", "0,1,2", "--with", "Head=two", "-o", "O"], "--with Head takes a number"),
        (["look", "--at", "0,1,2", "--with", "Head=0", "-o", "O"], "--with needs a weight above 0"),
        (["look", "--at", "0,1,2", "--with", "Head,C7", "-o", "O"], "from the body to the head"),
        (["look", "--at", "0,1,2", "--axis", "0,0,0", "-o", "O"], "--axis takes a direction"),
        (["look", "-o", "O"], "Missing option '--at'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said(here, tmp_path, arguments, said):
    out = tmp_path / "out.bvh"
    command, *options = [str(out) if word == "O" else word for word in arguments]
    before = (here / "calm.bvh").read_bytes()
    assert said in complaint(command, "calm.bvh", *LIMITS, *options)
    assert not out.exists()
    assert (here / "calm.bvh").read_bytes() == before


def test_one_clip_at_a_time_and_limits_that_fit(here, tmp_path):
    out = tmp_path / "out.bvh"
    goal = ("-g", "Head=0,0,0", "-o", out)
    assert "give one clip, got 2 in ." in complaint("solve", ".", *LIMITS, *goal)
    assert "gone.bvh: No such file" in complaint("solve", "gone.bvh", *LIMITS, *goal)
    assert "gone.json" in complaint("solve", "calm.bvh", "-l", "gone.json", *goal)
    empty = tmp_path / "empty.bvh"
    clip = load_clip("calm.bvh")
    none = Pose(clip.pose.rotations[:0], clip.pose.positions[:0])
    save_clip(replace(clip, pose=none), empty)
    assert f"{empty}: expected a clip with frames" in complaint("solve", empty, *LIMITS, *goal)


def test_joints_of_other_names(here, tmp_path):
    clip = load_clip("calm.bvh")
    names = tuple(f"rig:{name}" for name in clip.skeleton.names)
    save_clip(replace(clip, skeleton=replace(clip.skeleton, names=names)), tmp_path / "rig.bvh")
    out = tmp_path / "out.bvh"
    run("solve", tmp_path / "rig.bvh", *LIMITS, "-g", f"rig:{HAND}=path.csv", "-o", out)
    run("look", tmp_path / "rig.bvh", *LIMITS, "--at", "0.5,1.6,3", "-o", out, "-f")
    assert "inside" in run("check", out, *LIMITS)


def test_the_head_looks_at_something(here, tmp_path):
    out = tmp_path / "looking.bvh"
    said = run("look", "calm.bvh", *LIMITS, "--at", "1.5,1.5,3", "-o", out)
    assert said.startswith("calm: goals met in 24 of 24 frames; Head off by at most 0.")
    assert " degrees (frame " in said
    clip = load_clip(out)
    where, how = forward(clip.skeleton, clip.pose)
    head = clip.skeleton.index("Head")
    face = quat.rotate(how[:, head], np.array([0.0, 0.0, 1.0]))
    way = [1.5, 1.5, 3] - where[:, head]
    cosine = np.sum(face * way, axis=1) / np.linalg.norm(way, axis=1)
    assert np.degrees(np.arccos(cosine.min())) < 0.1
    assert "inside, all of" in run("check", out, *LIMITS)
    np.savetxt(
        tmp_path / "ball.csv", np.linspace([0.8, 1.5, 3], [0.2, 1.5, 3], FRAMES), delimiter=","
    )
    more = ("--at", tmp_path / "ball.csv", "--with", "C7=1,Head=3")
    met = run("look", "calm.bvh", *LIMITS, *more, "-o", out, "-f")
    assert f"goals met in {FRAMES} of {FRAMES} frames" in met
    back = ("--at", "0,1.5,-3", "--with", "C7,Head")
    behind = run("look", "calm.bvh", *LIMITS, *back, "-o", out, "-f", code=1)
    assert "degrees off its target" in behind
    assert "held by limits: " in behind


def test_a_clip_without_a_head_needs_to_be_told(here, tmp_path):
    clip = load_clip("calm.bvh")
    names = tuple(name.replace("Head", "Skull") for name in clip.skeleton.names)
    save_clip(replace(clip, skeleton=replace(clip.skeleton, names=names)), tmp_path / "rig.bvh")
    looking = ("look", tmp_path / "rig.bvh", *LIMITS, "--at", "1,1.5,3", "-o", tmp_path / "out.bvh")
    assert "no joint is called Head: say with --with which" in complaint(*looking)
    run(*looking, "--with", "T8,C7,Skull", "-m", "Skull=Head")
