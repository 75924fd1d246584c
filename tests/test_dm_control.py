"""Trajectories of dm_control: hinges of an MJCF file, recorded in HDF5."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from synovia import Clip, load_clip, quat
from synovia.io import list_clips
from synovia.skeleton import forward
from test_bvh_fuzz import mutated

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
DATA = Path(__file__).parents[2] / "shared" / "data" / "dm_control"
MJCF = """<mujoco model="tiny">
  <compiler angle="radian"/>
  <default><joint damping="1"/></default>
  <worldbody>
    <light name="sun"/>
    <body name="root" quat="0.5 0.5 0.5 0.5">
      <freejoint/>
      <geom name="g" size=".1"/>
      <body name="thigh" pos="0.1 -0.2 0.05" quat="1 0 0 1">
        <joint name="thighrz" axis="0 0 1"/>
        <joint name="thighrx" axis="2 0 0" pos="0 0 0"/>
        <body name="shank" pos="0 -0.4 0" quat="0 1 1 0">
          <joint name="shankry" axis="0 1 0" pos="0.02 0.01 0.03"/>
        </body>
      </body>
      <body name="head" pos="0 0.5 0"/>
    </body>
  </worldbody>
</mujoco>
"""
FRAMES = 6


def bodies(angles, root):
    """The rotations and places of bodies, one after the other as MuJoCo turns them."""
    places = {"root": (np.array([1.0, 2.0, 3.0]), root)}

    def hang(parent, pos, own, hinges):
        place, turn = places[parent]
        place, turn = place + quat.rotate(turn, np.array(pos)), quat.mul(turn, quat.normalize(own))
        for axis, anchor, angle in hinges:
            fixed = place + quat.rotate(turn, np.array(anchor))
            turn = quat.mul(turn, quat.exp(angle * np.array(axis)))
            place = fixed - quat.rotate(turn, np.array(anchor))
        return place, turn

    z, x, y = angles
    nowhere = (0.0, 0.0, 0.0)
    turns = [((0.0, 0.0, 1.0), nowhere, z), ((1.0, 0.0, 0.0), nowhere, x)]
    places["thigh"] = hang("root", (0.1, -0.2, 0.05), np.array([1.0, 0, 0, 1]), turns)
    turns = [((0.0, 1.0, 0.0), (0.02, 0.01, 0.03), y)]
    places["shank"] = hang("thigh", (0, -0.4, 0), np.array([0, 1.0, 1, 0]), turns)
    places["head"] = hang("root", (0, 0.5, 0), np.array([1.0, 0, 0, 0]), [])
    return places


def motion():
    rng = np.random.default_rng(2)
    return rng.uniform(-2, 2, (FRAMES, 3)), quat.normalize(rng.normal(size=(FRAMES, 4)))


def write(folder, walkers=1, change=None, mjcf=MJCF):
    angles, root = motion()
    (folder / "body.xml").write_text(mjcf)
    with h5py.File(folder / "walk.h5", "w") as file:
        for name in ("a_001", "a_002"):
            group = file.create_group(name)
            group.attrs["dt"] = 0.05
            for number in range(walkers):
                walker = group.create_group(f"walkers/walker_{number}")
                walker["joints"] = angles.T
                walker["position"] = np.tile([[1.0], [2.0], [3.0]], FRAMES)
                walker["quaternion"] = root.T
                each = [bodies(*row) for row in zip(angles, root, strict=True)]
                turns = [[row[b][1] for b in ("thigh", "shank", "head")] for row in each]
                walker["body_quaternions"] = np.reshape(turns, (FRAMES, 12)).T
        if change:
            change(file)
    return folder / "walk.h5"


def test_bodies_turn_and_stand_as_they_did(tmp_path):
    path = write(tmp_path)
    assert list_clips(path) == ["a_001", "a_002"]
    clip = load_clip(f"{path}#a_002")
    assert (clip.name, clip.frames, clip.frame_time) == ("a_002", FRAMES, 0.05)
    assert clip.skeleton.names == ("root", "thigh", "shank", "head")
    assert (clip.skeleton.up, clip.skeleton.unit) == ("z", 1.0)
    positions, rotations = forward(clip.skeleton, clip.pose)
    rotations = quat.mul(rotations, clip.skeleton.rest_rotations)
    for frame, (angles, root) in enumerate(zip(*motion(), strict=True)):
        for joint, name in enumerate(clip.skeleton.names):
            place, turn = bodies(angles, root)[name]
            np.testing.assert_allclose(positions[frame, joint], place, atol=1e-12)
            assert quat.angle_between(rotations[frame, joint], turn) < 1e-12


def test_several_walkers_have_names_of_their_own(tmp_path):
    path = write(tmp_path, walkers=2)
    assert list_clips(path)[:2] == ["a_001/walker_0", "a_001/walker_1"]
    assert load_clip(f"{path}#a_001/walker_1").frames == FRAMES
    with pytest.raises(
        ValueError, match=r"walk\.h5: name one of its clips after #: a_001/walker_0"
    ):
        load_clip(path)


def test_without_h5py_a_line_says_how(tmp_path, monkeypatch):
    path = write(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"walk\.h5: .* pip install 'synovia\[hdf5\]'"):
        load_clip(path)


def set_joints(value):
    def change(file):
        del file["a_001/walkers/walker_0/joints"]
        file["a_001/walkers/walker_0/joints"] = value

    return change


def link_out(file):
    del file["a_001/walkers/walker_0/joints"]
    file["a_001/walkers/walker_0/joints"] = h5py.ExternalLink("other.h5", "/x")


def promise(file):
    del file["a_001/walkers/walker_0/joints"]
    file.create_dataset("a_001/walkers/walker_0/joints", (3, 10**10), "f8", chunks=(3, 1000))


BROKEN = [
    (set_joints(np.zeros((4, FRAMES))), "joints: expected 3 rows of floats, got (4, 6) float64"),
    (set_joints(np.full((3, FRAMES), np.nan)), "joints: expected finite numbers of at most 1e+06"),
    (set_joints(np.full((3, FRAMES), 1e300)), "joints: expected finite numbers of at most 1e+06"),
    (set_joints(np.zeros((3, 2))), "expected as many frames of all, got 2, 6 and 6"),
    (set_joints(np.zeros((3, FRAMES))), "expected the skeleton that was recorded, got one that t"),
    (set_joints(np.array([b"x"])), "joints: expected 3 rows of floats, got (1,) |S1"),
    (link_out, "expected 'joints' in the file, got a link"),
    (promise, "joints: expected numbers in the file, got 240000000000 bytes elsewhere"),
    (lambda file: file["a_001"].attrs.__setitem__("dt", 0.0), "expected dt from 1e-6 to 1e4 s, "),
    (lambda file: file.__delitem__("a_001"), "name one of its clips after #: a_002; got 'a_001'"),
    (lambda file: [file.__delitem__(n) for n in list(file)], "expected trajectories with walkers"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_what_is_broken_is_named_by_its_place(tmp_path, change, message):
    path = write(tmp_path, change=change)
    with pytest.raises(ValueError, match=r"walk\.h5") as caught:
        load_clip(f"{path}#a_001")
    assert message in str(caught.value)


BROKEN_MJCF = [
    (("<mujoco", "<robot"), ("</mujoco", "</robot"), "1: expected <mujoco>, got <robot>"),
    (('damping="1"', 'axis="1 0 0"'), "3: <joint> must have its axis, pos, ref, type in bodies"),
    (('quat="1 0 0 1"', 'euler="1 0 0"'), "9: expected the turn of a body as quat, got euler"),
    (('axis="2 0 0"', 'type="ball"'), "11: expected a hinge, got type 'ball'"),
    (('axis="2 0 0"', 'axis="0 0 0"'), "11: expected an axis that points somewhere, got zero"),
    (('axis="2 0 0"', 'ref="1"'), "11: expected a hinge with ref 0, got '1'"),
    (('pos="0 -0.4 0"', 'pos="0 1e99 0"'), "12: expected numbers of at most 1e+06 as pos, got "),
    (('name="shank"', 'name="head"'), "1: Skeleton.names must differ from each other, got 'head'"),
]


@pytest.mark.parametrize("changes", BROKEN_MJCF)
def test_what_is_broken_in_mjcf_is_named_by_its_line(tmp_path, changes):
    mjcf = MJCF
    for change in changes[:-1]:
        mjcf = mjcf.replace(*change)
    path = write(tmp_path, mjcf=mjcf)
    with pytest.raises(ValueError, match=r"body\.xml") as caught:
        load_clip(f"{path}#a_001")
    assert f"{tmp_path / 'body.xml'}:{changes[-1]}" in str(caught.value)


def test_the_skeleton_is_named_or_the_only_one_beside(tmp_path):
    path = write(tmp_path)
    (tmp_path / "other.xml").write_text(MJCF)
    with pytest.raises(ValueError, match=r"walk\.h5: expected its skeleton .* body\.xml, other\.x"):
        load_clip(f"{path}#a_001")
    assert load_clip(f"{path}#a_001", skeleton=tmp_path / "other.xml").frames == FRAMES


@pytest.mark.exhaustive
def test_mutations_give_a_clip_or_an_error(tmp_path):
    content = write(tmp_path).read_bytes()
    rng = np.random.default_rng(22)
    clips, errors = 0, []
    for number in range(10_000 if os.environ.get("SYNOVIA_EXHAUSTIVE") == "1" else 300):
        h5, xml = content, MJCF.encode()
        if number % 4:
            h5 = flipped(content, rng)
        else:
            xml = mutated(xml, rng)
        (tmp_path / "walk.h5").write_bytes(h5)
        (tmp_path / "body.xml").write_bytes(xml)
        try:
            clips += isinstance(load_clip(f"{tmp_path / 'walk.h5'}#a_001"), Clip)
        except ValueError as error:
            errors.append(str(error))
    assert [error for error in errors if not re.search(r"walk\.h5: |body\.xml:\d+: ", error)] == []
    assert min(clips, len(errors)) > 30


def flipped(content, rng):
    """Return bytes of which some are changed, or the end is missing."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 20)):
        changed[
            int(rng.integers(0, 4000) if rng.random() < 0.7 else rng.integers(len(content)))
        ] = int(rng.integers(256))
    return bytes(changed[: int(rng.integers(len(content)))] if rng.random() < 0.05 else changed)


@pytest.mark.skipif(not DATA.exists(), reason=f"no trajectories to read in {DATA}")
def test_real_trajectories_turn_as_recorded():
    for name in list_clips(DATA / "test_trajectories.h5"):
        clip = load_clip(f"{DATA / 'test_trajectories.h5'}#{name}")
        assert (clip.frames, len(clip.skeleton)) == (10, 31)
        with h5py.File(DATA / "test_trajectories.h5") as file:
            wanted = file[f"{name}/walkers/walker_0/body_quaternions"][()].T.reshape(10, 30, 4)
        found = quat.mul(forward(clip.skeleton, clip.pose)[1], clip.skeleton.rest_rotations)
        assert np.degrees(quat.angle_between(found[:, 1:], wanted)).max() < 1e-9
