"""From every format to every other, and back: the same motion of the same skeleton."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from synovia import load_clip, quat, save_clip
from synovia.io import CLIP_FORMATS, clip_from_poses, writable_suffixes
from synovia.skeleton import forward, with_up

SINGLE = {".glb", ".gltf"}
"""These hold float32."""
WHOLE = [suffix for suffix in writable_suffixes() if suffix not in (".vrm", ".vrma")]
"""These hold the joints of SMPL; AMC and VRM hold those of a file that exists."""
PAIRS = [
    (one, other) for one, other in itertools.permutations(WHOLE, 2) if not {one, other} <= SINGLE
]


@pytest.fixture(scope="module")
def walk():
    """A clip that every format can hold: the joints of SMPL, one root that moves."""
    rng = np.random.default_rng(5)
    time = np.linspace(0.0, 3.0, 40)[:, None]
    poses = 0.6 * np.sin(time * rng.uniform(1.0, 4.0, 72) + rng.uniform(0.0, 6.0, 72))
    trans = np.concatenate([time, 0.1 * np.sin(time), 0.9 + 0.0 * time], axis=1)
    return clip_from_poses(poses, trans, frame_time=1.0 / 30.0)


def places(clip):
    """Where the joints are in a world with y up, by name."""
    upright = with_up(clip, "y")
    positions = forward(upright.skeleton, upright.pose)[0] * (clip.skeleton.unit or 1.0)
    return {name: positions[:, joint] for joint, name in enumerate(clip.skeleton.names)}


@pytest.mark.filterwarnings("ignore:.*unit is not known")
@pytest.mark.filterwarnings("ignore:.*added the channels")
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=" ".join)
def test_there_and_back(walk, one, other, tmp_path):
    clip, error_deg = walk, 2e-5 if SINGLE & {one, other} else 1e-6
    for name in (f"first{one}", f"second{other}", f"third{one}"):
        save_clip(clip, tmp_path / name)
        clip = load_clip(tmp_path / name)
    assert clip.frames == walk.frames
    assert clip.frame_time == pytest.approx(walk.frame_time, rel=1e-9)
    for name in walk.skeleton.names[1:]:
        a = walk.pose.rotations[:, walk.skeleton.index(name)]
        b = clip.pose.rotations[:, clip.skeleton.index(name)]
        assert np.degrees(quat.angle_between(a, b)).max() <= error_deg, name


@pytest.mark.filterwarnings("ignore:.*added the channels")
@pytest.mark.parametrize("suffix", WHOLE)
def test_joints_are_where_they_were(walk, suffix, tmp_path):
    save_clip(walk, tmp_path / f"a{suffix}")
    before, after = places(walk), places(load_clip(tmp_path / f"a{suffix}"))
    if suffix == ".bvh":  # which does not say what is up
        after = {name: each[..., [0, 2, 1]] * [1, 1, -1] for name, each in after.items()}
    for name, expected in before.items():
        np.testing.assert_allclose(after[name], expected, atol=2e-6, err_msg=name)


def test_every_format_of_ours_is_written_or_said_to_be_read_only():
    assert set(CLIP_FORMATS) - set(writable_suffixes()) == {".amc", ".asf", ".fbx"}


def test_a_vrm_is_only_written_as_a_copy_of_one(walk, tmp_path):
    with pytest.raises(ValueError, match=r"a\.vrm: a VRM is a character with a body, .* \.vrma"):
        save_clip(walk, tmp_path / "a.vrm")
