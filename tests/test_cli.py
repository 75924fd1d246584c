"""The command line, as people use it: learn, look, check, clamp."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from synovia import Clip, Pose, Skeleton, __version__, load_clip, quat, save_clip
from synovia.cli import COMMANDS, main, terminal
from synovia.io import load_limits

NAMES = ("Hips", "Chest", "UpperArm", "Forearm")
FRAMES = 200
CMU = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh" / "rom" / "79_22.bvh"


def skeleton(names=NAMES):
    offsets = np.array([[0.0, 0, 0], [0, 3, 0], [2, 1, 0], [3, 0, 0]])
    return Skeleton(
        names,
        np.array([-1, 0, 1, 2]),
        offsets,
        end_parents=np.array([3]),
        end_offsets=np.array([[2.0, 0, 0]]),
    )


def acted(seed=0, size=1.0, names=NAMES, frames=FRAMES):
    """A chest and an arm that swing in all directions, a forearm that bends; `size` is how far."""
    rng = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] / 60.0
    vectors = np.zeros((frames, 4, 3))
    for joint, reach in ((0, 0.2), (1, 0.3), (2, 0.8)):
        turns = np.sin(time * rng.uniform(3.0, 6.0, 3) + rng.uniform(0.0, 6.0, 3))
        vectors[:, joint] = size * reach * turns
    vectors[:, 3, 2] = size * (0.7 + 0.7 * np.sin(4.0 * time[:, 0] + seed))
    positions = np.broadcast_to(skeleton().offsets, (frames, 4, 3))
    return Clip(skeleton(names), Pose(quat.exp(vectors), positions), 1.0 / 60.0)


def run(*arguments, code=0, **more):
    """Run synovia here, and return what it printed to stdout."""
    return result_of(*arguments, code=code, **more).stdout


def result_of(*arguments, code=0, **more):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **more)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def process(*arguments, **more):
    """Run synovia as a process of its own."""
    command = [sys.executable, "-m", "synovia", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)


def studio(folder):
    """Three performers, limits learned from them, and a clip that goes beyond."""
    captures = folder / "captures"
    captures.mkdir()
    for seed, name in enumerate(("ann_1", "ann_2", "bob_1", "cat_1")):
        save_clip(acted(seed), captures / f"{name}.bvh")
    save_clip(acted(9, size=1.6), folder / "wild.bvh")
    run("fit", captures, "-o", folder / "human.limits.json", "--trim", "0")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return studio(tmp_path_factory.mktemp("studio"))


@pytest.fixture
def here(made, monkeypatch):
    """The studio, as the directory that the user is in; not to be written to."""
    monkeypatch.chdir(made)
    return made


def test_the_whole_path(here, tmp_path):
    limits, clamped = tmp_path / "a.limits.json", tmp_path / "clamped.bvh"
    said = run("fit", "captures", "-o", limits)
    assert f"wrote {limits}" in said
    assert "UpperArm" in run("info", limits)
    assert "outside" in run("check", "wild.bvh", "-l", limits, code=1)
    said = run("clamp", "wild.bvh", "-l", limits, "-o", clamped)
    assert f"wrote {clamped}" in said
    assert "inside, all of 3 joints in 200 frames" in run("check", clamped, "-l", limits)


def test_fit_tells_joint_by_joint(here, tmp_path):
    said = run("fit", "captures", "-o", tmp_path / "a.limits.json").splitlines()
    rows = {line.split()[0]: line.split() for line in said if line}
    assert rows["joint"][:4] == ["joint", "kind", "frames", "flips"]
    assert [rows[name][1] for name in NAMES[1:]] == ["ball", "ball", "hinge"]
    assert rows["Forearm"][2] == "800"
    assert "2.9" in rows["Chest"]
    assert rows["Chest"][-1].endswith("%")
    assert rows["all"][2] == "2400"
    assert "learned from 800 frames (13 s) in 4 clips of 3 performers (ann, bob, cat)" in said
    assert "Hips" not in rows


def test_check_names_the_worst_first(here):
    said = run("check", "wild.bvh", "--limits", "human.limits.json", code=1).splitlines()
    assert said[0].startswith("wild: outside, 3 of 3 joints in ")
    assert said[1].startswith("worst at frame ")
    rows = [line.split() for line in said[4:7]]
    worst_deg = [float(row[3]) for row in rows]
    assert worst_deg == sorted(worst_deg, reverse=True)
    assert rows[0][0] in said[1]
    assert float(rows[0][5]) == pytest.approx(int(rows[0][4]) / 60.0, abs=0.006)


def test_check_lists_all_joints_when_asked(here):
    one = run("check", "captures/ann_1.bvh", "-l", "human.limits.json")
    every = run("check", "captures/ann_1.bvh", "-l", "human.limits.json", "--all")
    assert one.splitlines() == ["ann_1: inside, all of 3 joints in 200 frames"]
    assert all(name in every for name in NAMES[1:])


def test_json_is_the_report(here):
    report = load_limits("human.limits.json").check(replace(load_clip("wild.bvh"), name="wild"))
    said = run("check", "wild.bvh", "-l", "human.limits.json", "--json", code=1)
    assert json.loads(said) == report.to_dict()


def test_json_of_several_clips_is_a_list(here):
    said = run("check", "captures", "wild.bvh", "-l", "human.limits.json", "--json", code=1)
    documents = json.loads(said)
    assert [each["clip"] for each in documents] == ["ann_1", "ann_2", "bob_1", "cat_1", "wild"]
    assert [each["ok"] for each in documents] == [True] * 4 + [False]
    assert isinstance(
        json.loads(run("check", "captures/a*1.bvh", "-l", "human.limits.json", "--json")), list
    )


def test_csv_has_a_row_for_each_frame_and_joint_outside(here, tmp_path):
    report = load_limits("human.limits.json").check(load_clip("wild.bvh"))
    path = tmp_path / "outside.csv"
    table = run("check", "wild.bvh", "-l", "human.limits.json", "--csv", path, code=1)
    printed = run("check", "wild.bvh", "-l", "human.limits.json", "--csv", "-", code=1)
    assert "outside" in table
    assert path.read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert list(rows[0]) == ["clip", "frame", "time", "joint", "violation_deg"]
    assert len(rows) == report.outside.sum()
    worst = max(rows, key=lambda row: float(row["violation_deg"]))
    assert worst["joint"] == report.joints[0].name
    assert int(worst["frame"]) == report.joints[0].worst_frame
    assert float(worst["violation_deg"]) == pytest.approx(np.degrees(report.joints[0].worst), 1e-5)


@pytest.mark.parametrize(
    "clips",
    [
        ["captures"],
        ["captures/*.bvh"],
        ["captures/ann_*.bvh", "captures/bob_1.bvh", "captures/cat_1.bvh"],
        ["**/[a-c]*_?.bvh"],
        ["captures/ann_1.bvh", "captures"],
    ],
    ids=str,
)
def test_clips_are_files_directories_and_globs(here, clips):
    documents = json.loads(run("check", *clips, "-l", "human.limits.json", "--json"))
    assert [each["clip"] for each in documents] == ["ann_1", "ann_2", "bob_1", "cat_1"]


def test_clips_of_one_name_are_told_apart_by_their_folders(here, tmp_path):
    for folder in ("ann", "bob"):
        (tmp_path / folder / ".hidden").mkdir(parents=True)
        save_clip(acted(1), tmp_path / folder / "take.bvh")
        save_clip(acted(1), tmp_path / folder / ".hidden" / "take.bvh")
    documents = json.loads(run("check", tmp_path, "-l", "human.limits.json", "--json"))
    assert [each["clip"] for each in documents] == ["ann/take", "bob/take"]


def performers_in(path):
    return [clip["performer"] for clip in load_limits(path).provenance["clips"]]


def test_performers_come_from_names_a_pattern_or_a_file(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out)
    assert performers_in(out) == ["ann", "ann", "bob", "cat"]
    run("fit", "captures", "-o", out, "--performer", "(captures)/")
    assert performers_in(out) == ["captures"] * 4
    people = tmp_path / "people.csv"
    people.write_text("clip,performer\nann_1,x\nann_2.bvh,y\ncaptures/bob_1.bvh,x\ncat_1,z\n")
    run("fit", "captures", "-o", out, "-p", people)
    assert performers_in(out) == ["x", "y", "x", "z"]


OTHER = ("Pelvis", "Torso", "Arm_L", "Elbow_L")


@pytest.mark.parametrize("form", ["pairs", "file"])
def test_a_map_gives_other_names(here, tmp_path, form):
    save_clip(acted(9, size=1.6, names=OTHER), tmp_path / "rig.bvh")
    pairs = list(zip(OTHER, NAMES, strict=True))
    if form == "pairs":
        maps = [word for theirs, ours in pairs for word in ("--map", f"{theirs}={ours}")]
    else:
        lines = ["theirs,ours", *(",".join(pair) for pair in pairs)]
        (tmp_path / "map.csv").write_text("\n".join(lines))
        maps = ["-m", tmp_path / "map.csv"]
    ask = [tmp_path / "rig.bvh", "-l", "human.limits.json", *maps]
    rig = json.loads(run("check", *ask, "--json", code=1))
    wild = json.loads(run("check", "wild.bvh", "-l", "human.limits.json", "--json", code=1))
    assert rig["joints"] == wild["joints"]
    run("clamp", *ask, "-o", tmp_path / "clamped.bvh")
    assert load_clip(tmp_path / "clamped.bvh").skeleton.names == OTHER
    both = ["captures/ann_1.bvh", tmp_path / "rig.bvh"]
    said = result_of("fit", *both, "-o", tmp_path / "a.limits.json", *maps)
    assert said.stderr == ""
    assert load_limits(tmp_path / "a.limits.json").provenance["joints"]["Chest"]["frames"] == 400


def test_joints_are_chosen_and_left_out(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--joints", "Hips,Chest", "-j", "Forearm", "-x", "Chest")
    assert list(load_limits(out).limits) == ["Hips", "Forearm"]


@pytest.mark.parametrize("reference", ["mean", "rest", "frame:3", "wild.bvh"])
def test_references(here, tmp_path, reference):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--reference", reference)
    found = load_limits(out).limits["UpperArm"].chart.reference
    first, wild = (
        load_clip(path).pose.rotations[:, 2] for path in ("captures/ann_1.bvh", "wild.bvh")
    )
    wanted = {"rest": quat.IDENTITY, "frame:3": first[3], "wild.bvh": wild[0]}
    if reference in wanted:
        assert quat.angle_between(found, wanted[reference]) < 1e-9


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (["-s", "box", "--with", "along=chart"], "box"),
        (["-s", "ellipsoid", "-w", "by=volume", "-c", "rotation-vector"], "ellipsoid"),
        (["-s", "product", "-w", "swing=kdop", "-w", "along=chart"], "product"),
    ],
)
def test_shapes_with_their_options(here, tmp_path, options, shape):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, *options)
    model = load_limits(out)
    assert {limit.shape.name for limit in model.limits.values()} == {shape}
    typed = dict(word.split("=") for word in options if "=" in word)
    assert typed.items() <= model.provenance["options"].items()


@pytest.mark.parametrize("share", ["0.5%", "0.005", " .5 %"])
def test_shares_are_percent_or_fractions(here, tmp_path, share):
    out = tmp_path / "a.limits.json"
    said = run("fit", "captures", "-o", out, "--trim", share, "--reject", share)
    options = load_limits(out).provenance["options"]
    assert options["trim"] == options["reject"] == pytest.approx(0.005)
    assert "held out" in said.splitlines()[0]


def test_a_rejection_out_of_reach_is_said(here, tmp_path):
    clip = acted(7)
    rotations = clip.pose.rotations.copy()
    rotations[:, 1] = quat.mul(rotations[:, 1], np.array([0.0, 1.0, 0.0, 0.0]))
    save_clip(replace(clip, pose=replace(clip.pose, rotations=rotations)), tmp_path / "zoe.bvh")
    out = tmp_path / "a.limits.json"
    said = result_of("fit", "captures/bob_1.bvh", tmp_path / "zoe.bvh", "-o", out, "--reject", "1%")
    assert "synovia: warning: Chest: even 90 degrees of margin leave" in said.stderr


def test_the_margin_is_in_degrees(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--margin", "10")
    assert load_limits(out).provenance["options"]["margin"] == pytest.approx(np.radians(10.0))


def test_samples_are_kept_when_asked(here, tmp_path):
    out = tmp_path / "a.limits.json"
    run("fit", "captures", "-o", out, "--keep-samples")
    model = load_limits(out)
    kept = sum(len(sample.frames) for joint in model.samples.values() for sample in joint)
    assert f"with {kept} samples of what was observed" in run("info", out)


def test_clamp_says_how_much(here, tmp_path):
    said = run("clamp", "wild.bvh", "-l", "human.limits.json", "-o", tmp_path / "out.bvh")
    before, after = load_clip("wild.bvh"), load_clip(tmp_path / "out.bvh")
    angles_deg = np.degrees(quat.angle_between(before.pose.rotations, after.pose.rotations))
    assert f"by at most {angles_deg.max():.1f} degrees" in said
    assert f"in {(angles_deg > 1e-5).any(axis=1).sum()} of 200 frames" in said
    out = tmp_path / "same.bvh"
    assert "nothing to change" in run(
        "clamp", "captures/ann_1.bvh", "-l", "human.limits.json", "-o", out
    )


def test_clamp_softly(here, tmp_path):
    ask = ["clamp", "wild.bvh", "-l", "human.limits.json", "--transition", "0.5"]
    run(*ask, "-o", tmp_path / "in.bvh", "--soften", "inside:5")
    run(*ask, "-o", tmp_path / "beyond.bvh", "-s", "beyond:5")
    run("check", tmp_path / "in.bvh", "-l", "human.limits.json")
    said = run("check", tmp_path / "beyond.bvh", "-l", "human.limits.json", "--json", code=1)
    assert 0.1 < json.loads(said)["joints"][0]["worst_deg"] < 6.0


def test_clamp_into_a_directory(here, tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    save_clip(acted(2, size=1.5), tmp_path / "in" / "a.bvh")
    save_clip(acted(3, size=1.5), tmp_path / "in" / "deep" / "a.bvh")
    ask = ["clamp", tmp_path / "in", "-l", "human.limits.json", "-o", tmp_path / "in" / "out"]
    run(*ask)
    run(*ask)  # what was written is no input the next time
    found = sorted(str(path.relative_to(tmp_path / "in")) for path in tmp_path.rglob("*.bvh"))
    assert found == sorted(
        map(str, map(Path, ["a.bvh", "deep/a.bvh", "out/a.bvh", "out/deep/a.bvh"]))
    )
    run("check", tmp_path / "in" / "out", "-l", "human.limits.json")


def test_clamp_overwrites_a_source_only_by_force(here, tmp_path):
    clip = tmp_path / "a.bvh"
    save_clip(acted(2, size=1.5), clip)
    before = clip.read_bytes()
    said = result_of("clamp", clip, "-l", "human.limits.json", "-o", clip, code=2).stderr
    assert "--force" in said
    assert clip.read_bytes() == before
    run("clamp", clip, "-l", "human.limits.json", "-o", clip, "--force")
    run("check", clip, "-l", "human.limits.json")
    run("clamp", "wild.bvh", "-l", "human.limits.json", "-o", clip)  # not a source: overwritten


def test_info_of_a_clip(here):
    said = run("info", "captures/ann_1.bvh")
    assert "4 joints, 200 frames, 3.33 s at 60 frames a second" in said
    assert "      Forearm" in said
    assert "about z" in said
    described = json.loads(run("info", "captures/ann_1.bvh", "--json"))
    assert described["fps"] == pytest.approx(60.0)
    assert described["joints"][3]["parent"] == "UpperArm"
    assert described["joints"][3]["kind"] == "hinge"
    low, high = described["joints"][3]["ranges_deg"][0]
    assert high - low == pytest.approx(np.degrees(1.4), abs=1.0)
    assert described["zero_length_bones"] == []


def test_info_tells_zero_bones_and_invented_frames(tmp_path):
    clip = acted(0)
    rotations = clip.pose.rotations.copy()
    rotations[0] = quat.IDENTITY
    rotations[0, 1:] = quat.exp(np.array([1.5, 0.0, 0.0]))
    offsets = clip.skeleton.offsets.copy()
    offsets[2] = 0.0
    positions = np.broadcast_to(offsets, clip.pose.positions.shape)
    jumping = Clip(replace(clip.skeleton, offsets=offsets), Pose(rotations, positions), 1.0 / 60.0)
    save_clip(jumping, tmp_path / "t.bvh")
    said = run("info", tmp_path / "t.bvh")
    assert "no length: UpperArm" in said
    assert "first frame: nobody performed it" in said


def test_info_of_limits(here):
    said = run("info", "human.limits.json")
    assert "limits for 3 of 4 joints, kdop in swing-twist" in said
    assert "learned from 800 frames" in said
    assert "margin 2.86 deg" in said
    described = json.loads(run("info", "human.limits.json", "--json"))
    limit = load_limits("human.limits.json").limits["Chest"]
    assert described["joints"][0]["name"] == "Chest"
    assert np.allclose(described["joints"][0]["bounds_deg"], np.degrees(limit.shape.bounds).T)
    assert described["provenance"]["clips"][0]["name"] == "ann_1"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command):
    said = run(command, "--help")
    assert said.count(f"  synovia {command}") >= 2
    assert max(map(len, said.splitlines())) <= 100


def test_help_shows_the_main_path_and_is_light():
    code = (
        "import sys; from synovia.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numba', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    said = done.stdout
    assert said.index("synovia fit") < said.index("synovia check") < said.index("synovia clamp")
    assert "_SYNOVIA_COMPLETE" in said
    assert said.splitlines()[-1] == "[]"


def test_version():
    assert run("--version", prog_name="synovia") == f"synovia {__version__}\n"
    assert process("--version").stdout == f"synovia {__version__}\n"


def test_shells_can_complete():
    asked = {"COMP_WORDS": "synovia fit --shape k", "COMP_CWORD": "3"}
    done = process(env={**os.environ, **asked, "_SYNOVIA_COMPLETE": "bash_complete"})
    assert done.stdout.strip() == "plain,kdop"


def test_tables_keep_their_columns_whatever_the_names():
    long = "mixamorig:" + "VeryLongNameOfAJoint" * 6 + "End"
    rows = [(long, "123", "1.0"), ("左腕", "4", "22.5"), ("a\x1b[31mb", "-", "-")]
    lines = list(terminal.table(("joint", "frames", "deg"), rows))
    assert all(len(line) <= terminal.WIDEST for line in lines)
    assert lines[1].endswith("End     123   1.0")
    assert lines[1].startswith("mixamorig:Very")
    assert len(lines[2]) == len(lines[1]) - 2  # each of those letters takes two columns
    assert "\x1b" not in lines[3]


def test_long_names_fit_into_every_report(tmp_path):
    names = tuple(
        f"Character1:Skeleton:Reference_Group:{name}_Joint_With_A_Long_Name" for name in NAMES
    )
    for seed in range(2):
        save_clip(acted(seed, names=names), tmp_path / f"p{seed}.bvh")
    save_clip(acted(9, 1.6, names=names), tmp_path / "wild.bvh")
    limits = tmp_path / "a.limits.json"
    said = [
        run("fit", tmp_path / "p0.bvh", tmp_path / "p1.bvh", "-o", limits, "--reject", "1%"),
        run("check", tmp_path / "wild.bvh", "-l", limits, code=1),
        run("info", tmp_path / "wild.bvh"),
        run("info", limits),
    ]
    lines = [line for text in said for line in text.splitlines() if "wrote" not in line]
    assert max(map(len, lines)) <= 100


def test_a_pipe_gets_no_colours_and_no_bar(here, tmp_path):
    done = process("fit", "captures", "-o", tmp_path / "a.limits.json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert process("check", "wild.bvh", "-l", "human.limits.json").returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_a_bar_and_colours(here, tmp_path, no_color):
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "synovia"]
    command += ["fit", "captures", "-o", str(tmp_path / "a.limits.json")]
    done = subprocess.run(
        command, stdout=follower, stderr=follower, timeout=120, check=False,
        env={**os.environ, "NO_COLOR": no_color},
    )  # fmt: skip
    os.close(follower)
    said = os.read(leader, 1 << 20).decode()
    os.close(leader)
    assert done.returncode == 0
    assert "fitting" in said
    assert "100%" in said
    assert ("\x1b[1m" in said) == (not no_color)


def test_compiling_is_said_once_where_no_machine_code_was_kept(tmp_path, monkeypatch):
    from synovia.kernels import jit

    monkeypatch.setattr(jit, "CACHE", str(tmp_path))
    assert terminal._compiling(since=0.0)
    (tmp_path / "old.nbi").touch()
    os.utime(tmp_path / "old.nbi", (100.0, 100.0))
    assert not terminal._compiling(since=200.0)
    assert terminal._compiling(since=50.0)


def test_a_real_capture(tmp_path):
    if not CMU.exists():
        pytest.skip(f"no captures at {CMU}")
    limits = tmp_path / "a.limits.json"
    assert "LeftArm" in run("fit", CMU, "-o", limits)
    said = run("check", CMU, "-l", limits, code=1)
    assert "frame 0 counts, though nobody performed it" in said
    assert "first frame: nobody performed it" in run("info", CMU)
    run("clamp", CMU, "-l", limits, "-o", tmp_path / "clamped.bvh")
    run("check", tmp_path / "clamped.bvh", "-l", limits)
