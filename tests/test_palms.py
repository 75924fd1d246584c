"""The span of pronation, by which forearms are judged if the palm is unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from synovia import Clip, Pose, quat, save_clip
from synovia.anatomy import human
from synovia.cli import main
from synovia.population import limits_for
from synovia.population.clamping import MAX_SPAN, describe_spans, smallest_arc, total_pronation
from synovia.rigs import align, recognize
from twins import arms_down, walker, with_rest

WALK = walker()


def brute_force(angles, share):
    """The smallest arc that begins at one of the angles and has enough of them."""
    needed = np.ceil(share * len(angles))
    ahead = (np.subtract.outer(angles, angles).T) % (2.0 * np.pi)
    return min(np.sort(row)[int(needed) - 1] for row in ahead)


@given(st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 1.0]))
def test_the_smallest_arc_is_that_of_brute_force(angles, share):
    start, found = smallest_arc(np.array(angles), share)
    wanted = brute_force(np.array(angles), share)
    inside = (np.array(angles) - start + 1e-9) % (2.0 * np.pi) <= found + 2e-9
    assert inside.mean() >= share
    gap = abs(found - wanted) % (2.0 * np.pi)  # equal angles may be apart by rounding, or a turn
    assert min(gap, 2.0 * np.pi - gap) < 1e-9


def rolling(joint, span_deg):
    """The walk with a joint of the left arm that rotates about its bone by a span of angles."""
    rotations = np.array(WALK.pose.rotations)
    at = WALK.skeleton.index(f"mixamorig:{joint}")
    angles = np.radians(np.linspace(-0.5, 0.5, len(rotations)) * span_deg)
    vectors = angles[:, None] * np.array([1.0, 0.0, 0.0])
    rotations[:, at] = quat.mul(rotations[:, at], quat.exp(vectors))
    return replace(WALK, pose=Pose(rotations, WALK.pose.positions))


@pytest.mark.parametrize("joint", ["LeftForeArm", "LeftHand"])
@pytest.mark.parametrize(("span_deg", "possible"), [(150, True), (250, False)])
def test_spans_of_unknown_palms_are_judged(joint, span_deg, possible):
    clip = rolling(joint, span_deg)
    alignment = align(recognize(clip.skeleton), [clip])
    pronation = total_pronation(alignment, clip)
    spans = {side: smallest_arc(angles)[1] for side, angles in pronation.items()}
    assert (spans["left"] < MAX_SPAN) == possible
    assert spans["right"] < MAX_SPAN
    assert describe_spans(alignment, clip) == []  # the T-pose shows the palms
    unknown = replace(alignment, palm={"left": None, "right": None})
    assert len(describe_spans(unknown, clip)) == (not possible)


def test_check_reports_a_span(tmp_path):
    """The rest pose has hanging arms and no fingers, so that palms are unknown."""
    clip = with_rest(rolling("LeftHand", 300), arms_down(70.0))
    save_clip(clip, tmp_path / "rolling.bvh")
    said = CliRunner().invoke(main, ["check", str(tmp_path / "rolling.bvh")])
    assert said.exit_code == 1
    assert "left forearm: rotates through" in said.stdout


@pytest.mark.parametrize("suffix", [".bvh", ".glb", ".motion.csv", ".vrma"])
def test_a_clamped_span_passes_check(tmp_path, suffix):
    """Also as each format rounds it, and on the bones of VRM, whose rest pose shows the palms."""
    clip = with_rest(rolling("LeftHand", 300), arms_down(70.0))
    wild, clamped = tmp_path / "rolling.bvh", tmp_path / f"clamped{suffix}"
    save_clip(clip, wild)
    for words in (["clamp", wild, "-o", clamped], ["check", clamped]):
        said = CliRunner().invoke(main, [str(word) for word in words])
        assert said.exit_code == 0, said.output


def test_the_default_figure_shows_its_palms_though_its_arms_hang():
    figure = human()
    pose = figure.pose(figure.ranges[1])
    rotations = np.tile(pose.rotations, (7, 1, 1))
    hand = figure.skeleton.index("LeftHand")
    sideways = np.radians([-70.0, -60.0, -30.0, 0.0, 15.0, 60.0, 70.0])
    rotations[:, hand] = quat.mul(rotations[:, hand], quat.exp(sideways[:, None] * [1.0, 0.0, 0.0]))
    clip = Clip(figure.skeleton, Pose(rotations, np.tile(pose.positions, (7, 1, 1))), 1 / 30)
    limits = limits_for(clip, "possible")
    assert limits.alignment.palm == {"left": "convention", "right": "convention"}
    outside = limits.check(clip)[0].outside.any(axis=1)
    assert outside.tolist() == [True, True, False, False, False, True, True]
