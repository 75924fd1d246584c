"""One performer blended with a population: believed, counted for many, told in provenance."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import clips as made
from synovia import LimitModel, load_limits, quat, save_clip, save_limits
from synovia.cli import main
from synovia.learn import Take, trim
from synovia.learn.population import OWN_PEOPLE
from synovia.learn.trimming import distances_without


def turned(*angles):
    """Rotations about x by angles in degrees."""
    return quat.exp(np.radians(np.array(angles, dtype=float))[:, None] * np.eye(3)[0])


@pytest.fixture(scope="module")
def others():
    return [made.clip(f"{who}_1", seed=k) for k, who in enumerate(("bob", "cat", "dan", "eve"))]


@pytest.fixture(scope="module")
def population(others):
    return LimitModel.fit(others, keep_samples=True)


@pytest.fixture(scope="module")
def ann():
    return made.clip("ann_1", seed=20, size=0.8)


def test_every_frame_of_the_performer_is_inside(population, ann):
    model = LimitModel.fit([ann], blend=population)
    assert model.contains(ann.pose).all()


def test_a_blend_reaches_where_the_others_were(population, ann, others):
    alone = LimitModel.fit([ann])
    blended = LimitModel.fit([ann], blend=population)
    share = [np.mean([model.contains(c.pose).mean() for c in others]) for model in (alone, blended)]
    assert share[1] > share[0]
    assert share[1] > 0.85


def test_provenance_tells_of_the_blend(population, ann):
    model = LimitModel.fit([ann], blend=population, keep_samples=True)
    blend = model.provenance["blend"]
    assert blend["performers"] == ["bob", "cat", "dan", "eve"]
    assert blend["counted_as"] == OWN_PEOPLE == 20
    assert [clip["name"] for clip in blend["clips"]] == ["bob_1", "cat_1", "dan_1", "eve_1"]
    kept = {sample.performer for sample in model.samples["LeftArm"]}
    assert kept == {"ann", "bob", "cat", "dan", "eve"}
    assert "blend" not in LimitModel.fit([ann]).provenance


def test_a_performer_who_counts_for_many_confirms_alone():
    people = [Take(turned(0, 10, 80), 0.1, f"{k}_1", str(k), thinned=True) for k in range(2)]
    lone = Take(turned(40, 60), 0.1, "z_1", "z", thinned=True)
    own = Take(turned(40), 0.1, "own_1", "own", person_count=20)
    (near,) = distances_without([*people, lone, own], [()])
    assert np.degrees(near[2]) == pytest.approx([0.0, 20.0], abs=2.5)
    kept = trim([*people, lone, own], 0.9).kept
    assert kept[2].tolist() == [True, False]
    assert kept[3].all()


def test_the_performer_is_believed_far_from_everybody():
    people = [Take(turned(0, 5, 10), 0.1, f"{k}_1", str(k), thinned=True) for k in range(4)]
    own = Take(turned(90, 92), 1.0, "own_1", "own", person_count=20)
    assert trim([*people, own], 0.9).kept[4].all()


def test_thinned_frames_are_no_flips():
    rotations = turned(*[0, 100] * 10)
    assert not trim([Take(rotations, 1 / 120, "a", "a")], 0.001).kept[0].all()
    assert trim([Take(rotations, 1 / 120, "a", "a", thinned=True)], 0.001).kept[0].all()


def test_rejection_is_asked_of_the_performers_own_clips(population, ann):
    second = made.clip("ann_2", seed=23, size=0.8)
    kind = {"blend": population, "joints": ["LeftArm"], "reject": 0.05}
    model = LimitModel.fit([ann, second], **kind)
    assert model.provenance["joints"]["LeftArm"]["rejected"] <= 0.05
    with pytest.raises(ValueError, match="only with two clips or more"):
        LimitModel.fit([ann], **kind)


def test_what_cannot_be_blended_is_an_error(others, ann, population):
    with pytest.raises(ValueError, match="keep_samples"):
        LimitModel.fit([ann], blend=LimitModel.fit(others))
    with pytest.raises(ValueError, match="one performer is blended with a population, got ann, bo"):
        LimitModel.fit([ann, others[0]], blend=population)


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def test_fit_blends(tmp_path, population, ann, others):
    save_limits(population, tmp_path / "human.limits.json")
    save_clip(ann, tmp_path / "ann_1.bvh")
    out = tmp_path / "ann.limits.json"
    arguments = ("fit", tmp_path / "ann_1.bvh", "-fo", out, "--blend")
    said = run(*arguments, tmp_path / "human.limits.json").stdout
    assert "of 4 performers (bob, cat, dan, eve), and counted as 20 people" in said
    assert "blended with" in run("info", out).stdout
    assert load_limits(out).provenance["blend"]["counted_as"] == 20
    save_limits(LimitModel.fit(others), tmp_path / "bare.limits.json")
    said = run(*arguments, tmp_path / "bare.limits.json", code=2).stderr
    assert "bare.limits.json: no samples to blend with; write it with fit --keep-samples" in said
