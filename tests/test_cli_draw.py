"""`synovia draw`: pictures of every joint or of one, and clear words where there can be none."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from oracles import EXHAUSTIVE
from synovia import LimitModel, save_limits
from synovia.cli import main
from synovia.demo import range_of_motion
from synovia.limit import Limit
from synovia.shapes import SHAPES

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model():
    clip = range_of_motion(frames=400)
    joints = ["LeftUpperLeg", "LeftLowerLeg"]
    return LimitModel.fit([clip], "reach-cone", joints=joints, keep_samples=True)


@pytest.fixture
def here(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    save_limits(model, tmp_path / "human.limits.json")
    return tmp_path


def synovia(*arguments):
    return CliRunner().invoke(main, arguments)


def pixels(path):
    from matplotlib.image import imread

    return imread(path)[..., :3]


def test_all_joints_or_one_are_drawn(here):
    every = synovia("draw", "human.limits.json", "-o", "joints.png")
    assert every.exit_code == 0, every.output
    assert every.output == "wrote joints.png\n"
    one = synovia("draw", "human.limits.json", "--joint", "LeftUpperLeg", "-o", "hip.png")
    assert one.exit_code == 0, one.output
    assert pixels("hip.png").shape[:2] == (780, 1600)
    for name in ("joints.png", "hip.png"):
        red, green, blue = np.moveaxis(pixels(name), -1, 0)
        assert ((blue > red + 0.2) & (blue > green + 0.1)).mean() > 0.002  # a narrow twist


def test_what_was_observed_is_drawn_too(here, model):
    synovia("draw", "human.limits.json", "-j", "LeftUpperLeg", "-o", "with.png")
    save_limits(LimitModel(model.limits, model.skeleton), "without.limits.json")
    synovia("draw", "without.limits.json", "-j", "LeftUpperLeg", "-o", "without.png")
    assert np.abs(pixels("with.png") - pixels("without.png")).mean() > 1e-4


# Every family is drawn in test_draw.py; these come by ways of their own.
@pytest.mark.parametrize("shape", SHAPES if EXHAUSTIVE else ("box", "theta-phi", "union"))
def test_families_can_be_drawn(here, model, shape):
    samples = model.samples["LeftUpperLeg"][0].rotations
    limits = {"LeftUpperLeg": Limit.fit(samples, shape)}
    save_limits(LimitModel(limits, model.skeleton), "family.limits.json")
    done = synovia("draw", "family.limits.json", "-j", "LeftUpperLeg", "-o", "family.png")
    assert done.exit_code == 0, done.output
    white = (pixels("family.png") > 0.99).all(axis=-1).mean()
    assert 0.1 < white < 0.85


def test_what_cannot_be_drawn_is_said(here):
    unknown = synovia("draw", "human.limits.json", "-j", "Tail", "-o", "tail.png")
    assert unknown.exit_code == 2
    assert "with a limit (LeftUpperLeg, LeftLowerLeg), got Tail" in unknown.output
    suffix = synovia("draw", "human.limits.json", "-o", "joints.txt")
    assert suffix.exit_code != 0
    assert not (here / "joints.txt").exists()
    missing = synovia("draw", "nothing.limits.json", "-o", "joints.png")
    assert missing.exit_code != 0
    assert not (here / "joints.png").exists()


def test_what_a_joint_may_do_is_mapped_over_what_it_depends_on(here):
    from test_dependent_model import leg_model

    save_limits(leg_model(), "leg.limits.json")
    drawn = synovia("draw", "leg.limits.json", "--depends", "Leg", "-o", "knee.png")
    assert drawn.exit_code == 0, drawn.output
    red, green, blue = np.moveaxis(pixels("knee.png"), -1, 0)
    assert ((blue > red + 0.2) & (blue > green + 0.1)).mean() > 0.01  # bends little
    assert ((red > 0.9) & (green > 0.7) & (blue < 0.5)).mean() > 0.01  # bends far
    save_limits(leg_model(dependents={}), "alone.limits.json")
    alone = synovia("draw", "alone.limits.json", "--depends", "Leg", "-o", "no.png")
    assert alone.exit_code == 2
    assert "no joint of these limits depends on another" in " ".join(alone.output.split())
    for arguments, why in (
        (["--depends", "Foot"], "--depends must be a joint that depends on another (Leg), got"),
        (["--depends", "Leg", "--joint", "Leg"], "--joint and --depends draw different things"),
    ):
        refused = synovia("draw", "leg.limits.json", *arguments, "-o", "no.png")
        assert refused.exit_code == 2
        assert why in " ".join(refused.output.split())
