"""`synovia figure`: the human and figures of one's own, posed by their controls."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from synovia import Figure, Skeleton, forward, human, human_limits, load_clip
from synovia.cli import main
from synovia.components import Control, JointSet, Network, Rotation, clip_of, sweep
from synovia.io import load_figure, save_figure

BODY = human()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["figure", *arguments])
    assert result.exit_code == code, result.output
    return result


def pose_in(name):
    clip = load_clip(name)
    return dict(zip(clip.skeleton.names, clip.pose.rotations[0], strict=True))


def same(rotations, controls):
    posed = BODY.pose(controls)
    for name, there in zip(BODY.skeleton.names, posed.rotations, strict=True):
        assert abs(rotations[name] @ there) == pytest.approx(1.0, abs=1e-9), name


def test_a_pose_is_written_for_both_sides_or_one():
    said = run("human", "--set", "elbow.flexion=70", "-o", "a.bvh").output
    assert said == "wrote a.bvh\n"
    same(pose_in("a.bvh"), {"left_elbow.flexion": 70, "right_elbow.flexion": 70})
    run("human", "-s", "left_elbow.flexion=70", "-s", "lumbar.flexion=-5", "-o", "b.bvh")
    same(pose_in("b.bvh"), {"left_elbow.flexion": 70, "lumbar.flexion": -5})


def test_what_is_out_of_range_is_clamped_and_said():
    said = run("human", "--set", "left_knee.flexion=400", "-o", "a.bvh").output
    assert said.splitlines()[0] == "left_knee.flexion goes from -4° to 158°: 400° became 158°"
    same(pose_in("a.bvh"), {"left_knee.flexion": 158.0})


def test_controls_are_listed():
    lines = run("human", "--list").output.splitlines()
    assert lines[0].split() == ["control", "from", "neutral", "to"]
    assert "left_knee.flexion" in {line.split()[0] for line in lines if line}
    assert lines[-1] == f"{len(BODY.controls)} controls for {len(BODY.skeleton)} segments"


def test_a_sweep_runs_every_control_through_its_range():
    table = sweep(BODY, 60)
    assert len(table) == 60 * len(BODY.controls)
    moved = np.abs(table - BODY.values()) > 0.0
    assert (moved.sum(axis=1) <= 1).all()
    for place, limits in enumerate(BODY.controls.values()):
        part = table[60 * place : 60 * (place + 1), place]
        assert (part[0], part[-1]) == (limits.neutral, limits.neutral)
        step = (limits.high - limits.low) / 20.0
        assert part.min() < limits.low + step
        assert part.max() > limits.high - step
    assert human_limits().contains(BODY.pose(table)).all()


def test_a_figure_of_ones_own_needs_no_human():
    network = Network({"turn": Rotation([0, 0, 1])}, {"turn.angle": "a"}, {"b": "turn.matrix"})
    skeleton = Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [0, 1, 0]])
    save_figure(Figure(skeleton, {"set": JointSet(network, {"a": Control(-1, 1)})}), "mine.xml")
    run("mine.xml", "--set", "set.a=0.5", "-o", "a.bvh")
    assert pose_in("a.bvh")["b"] == pytest.approx([np.cos(0.25), 0, 0, np.sin(0.25)])
    assert "set.a" in run("mine.xml", "--list").output
    assert "-1 rad" in run("mine.xml", "--list").output


def test_the_human_is_written_as_a_file_that_can_be_used():
    run("human", "--height", "1.6", "-o", "small.xml")
    again = load_figure("small.xml")
    assert np.array_equal(again.skeleton.offsets, human(1.6).skeleton.offsets)
    run("small.xml", "--set", "hip.flexion=30", "-o", "a.bvh")
    assert load_clip("a.bvh").pose.positions[0, 0, 1] == pytest.approx(0.53 * 1.6)


def test_limits_are_written_to_check_clips_with():
    run("human", "-o", "human.limits.json")
    run("human", "--set", "hip.flexion=90", "-o", "a.bvh")
    checked = CliRunner().invoke(main, ["check", "a.bvh", "-l", "human.limits.json"])
    assert checked.exit_code == 0, checked.output
    assert "inside, all of" in checked.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["human"], "nothing to do: give --list, --reach, or -o"),
        (["human", "--set", "hip.flexion=3"], "--set poses the figure: give -o"),
        (
            ["human", "--set", "knee=3", "-o", "a.bvh"],
            "no control 'knee'; there are lumbar.flexion",
        ),
        (["human", "--set", "hip.flexion", "-o", "a.bvh"], "--set takes CONTROL=NUMBER"),
        (
            ["human", "--set", "hip.flexion=much", "-o", "a.bvh"],
            "at most 1e+12, got 'much'",
        ),
        (["human", "--reach", "LeftHand=1e308,0,0"], "of at most 1e+12, got '1e308,0,0'"),
        (["human", "--set", "hip.flexion=3", "-o", "a.xml"], "are of the figure, not of a pose"),
        (["human", "--height", "0", "--list"], "height must be above 0 metres"),
        (["gone.xml", "--list"], "gone.xml: No such file"),
        (["dog", "--list"], "give 'human' or a figure's .xml file, got dog"),
        (["gone.xml", "--height", "2", "--list"], "--height is for the human alone"),
        (["bad.xml", "--list"], "bad.xml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_in_a_sentence(here, arguments, said):
    (here / "bad.xml").write_text("<figure>")
    result = run(*arguments, code=2)
    assert said in result.stderr
    assert result.stderr.startswith("synovia: error: ")
    assert result.stdout == ""


def test_a_clip_has_positions_where_bones_slide():
    with pytest.raises(ValueError, match="two frames a control at least, got 1"):
        sweep(BODY, 1)
    clip = clip_of(BODY, BODY.pose({"left_knee.flexion": [0.0, 90.0]}), 0.1)
    assert (clip.frames, clip.name) == (2, "human")
    slides = {
        name
        for name, channels in zip(clip.skeleton.names, clip.skeleton.channels, strict=True)
        if len(channels) == 6
    }
    assert slides == {"Pelvis", "LeftLowerLeg", "LeftPatella", "LeftFibula"}


def test_a_hand_reaches_a_place():
    said = run("human", "--reach", "left_hand=0.2,1.3,0.4", "-o", "a.bvh").output
    assert said.startswith("found lumbar.flexion=")
    assert said.endswith("wrote a.bvh\n")
    clip = load_clip("a.bvh")
    hand = forward(clip.skeleton, clip.pose)[0][0, clip.skeleton.index("LeftHand")]
    np.testing.assert_allclose(hand, [0.2, 1.3, 0.4], atol=1e-3)
    found = {name: float(value) for name, value in (each.split("=") for each in said.split()[1:-2])}
    assert "left_hip.flexion" not in found
    same(pose_in("a.bvh"), found)


def test_a_place_beyond_all_bones_is_no_range_s_fault():
    said = run("human", "--reach", "LeftHand=0.2,1.3,5", code=1).output
    assert "LeftHand is 4." in said
    assert said.endswith(" from its target: beyond the chain's reach for LeftHand\n")


def test_controls_that_reach_are_printed_also_without_a_file():
    options = ("--set", "left_elbow.flexion=200", "--reach", "LeftHand=0.2,1.3,0.4")
    clamped, found = run("human", *options).output.splitlines()
    assert clamped == "left_elbow.flexion goes from -5° to 152°: 200° became 152°"
    assert found.startswith("found lumbar.flexion=")
    hand = forward(BODY.skeleton, BODY.pose())[0][BODY.skeleton.index("LeftHand")]
    place = ",".join(map(str, hand.tolist()))
    assert run("human", "--reach", f"LeftHand={place}").output == "all goals are met\n"


def test_what_is_set_stays_and_what_cannot_be_reached_is_said():
    options = ("--set", "left_elbow.flexion=90", "--reach", "LeftHand=0.2,1.3,1", "-o", "a.bvh")
    said = run("human", *options, code=1).output
    assert "LeftHand is 0." in said
    assert "its target: held by the range of " in said
    assert "left_elbow.flexion" not in said
    assert said.endswith("wrote a.bvh\n")


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        ("LeftHnd=0,1,0", "no joint 'LeftHnd'; did you mean LeftHand"),
        ("LeftHand=0,1", "--reach takes three numbers X,Y,Z, of at most 1e+12, got '0,1'"),
        ("LeftHand=0,1,inf", "--reach takes three numbers"),
        ("LeftHand", "--reach takes SEGMENT=X,Y,Z"),
    ],
)
def test_a_place_that_is_none(reach, said):
    assert said in run("human", "--reach", reach, "-o", "a.bvh", code=2).stderr
