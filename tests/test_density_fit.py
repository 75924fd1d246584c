"""Limits of what many people do: a distance field by density, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from clips import person
from synovia import LimitModel, load_limits, save_clip
from synovia.cli import main

JOINT = ["LeftArm"]


@pytest.fixture(scope="module")
def people():
    return [person(f"{name}_1", seed, tall=1.0 + 0.1 * seed) for seed, name in enumerate("abcde")]


def test_what_many_do_is_inside_and_what_one_does_need_not_be(people):
    odd = person("odd_1", 9, size=1.6)
    every = LimitModel.fit([*people, odd], "distance-field", joints=JOINT, trim=0.0)
    many = LimitModel.fit([*people, odd], "distance-field", joints=JOINT, by="density", level=0.25)
    assert every.limits["LeftArm"].contains(odd.pose.rotations[:, 2]).all()
    assert many.limits["LeftArm"].contains(odd.pose.rotations[:, 2]).mean() < 0.7
    assert many.provenance["options"]["by"] == "density"
    assert many.limits["LeftArm"].volume() < every.limits["LeftArm"].volume()


def test_a_rejection_sets_the_level(people):
    tight, wide = (
        LimitModel.fit(people, "distance-field", joints=JOINT, by="density", reject=share)
        for share in (0.4, 0.1)
    )
    for model, share in ((tight, 0.4), (wide, 0.1)):
        assert model.provenance["joints"]["LeftArm"]["rejected"] <= share
    assert tight.limits["LeftArm"].volume() < wide.limits["LeftArm"].volume()


def test_one_who_counts_for_many_weighs_as_much(people):
    population = LimitModel.fit(people[1:], joints=JOINT, keep_samples=True)
    alone = people[0].pose.rotations[:, 2]
    options = {"joints": JOINT, "by": "density", "level": 0.5}
    blended = LimitModel.fit([people[0]], "distance-field", blend=population, **options)
    apart = LimitModel.fit(people, "distance-field", **options)
    assert (
        blended.limits["LeftArm"].contains(alone).mean()
        > apart.limits["LeftArm"].contains(alone).mean()
    )


def test_it_is_an_option_of_the_command(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for clip in people:
        save_clip(clip, f"{clip.name}.bvh")
    options = ["-s", "distance-field", "-w", "by=density", "-j", "LeftArm", "--reject", "20%"]
    done = CliRunner().invoke(main, ["fit", ".", "-o", "many.limits.json", *options])
    assert done.exit_code == 0, done.output
    model = load_limits("many.limits.json")
    assert model.limits["LeftArm"].shape.name == "distance-field"
    assert np.isfinite(model.provenance["joints"]["LeftArm"]["rejected"])
    wrong = CliRunner().invoke(
        main, ["fit", ".", "-o", "x.limits.json", "-s", "distance-field", "-w", "by=luck"]
    )
    assert wrong.exit_code == 2
    assert "by must be samples|density|people" in wrong.output


def test_unknown_ways_are_refused(people):
    with pytest.raises(ValueError, match=r"by must be 'samples', 'density' or 'people', got"):
        LimitModel.fit(people, "distance-field", joints=JOINT, by="luck")
