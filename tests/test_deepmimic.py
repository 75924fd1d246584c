"""DeepMimic: motion in JSON, on the skeleton of a character."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mutations import count, mutate, outcomes, renumber
from synovia import Clip, forward, load_clip, save_clip
from synovia.cli import main

DATA = Path(__file__).parents[2] / "shared" / "data" / "deepmimic"

TYPES = ("none", "spherical", "revolute", "prismatic", "planar", "fixed", "revolute")
PARENTS = (-1, 0, 1, 1, 3, 4, 4)
WIDTHS = {"none": 7, "spherical": 4, "revolute": 1, "prismatic": 1, "planar": 3, "fixed": 0}


def character(**changes):
    """A character with joints of every type, all of them attached askew."""
    rng = np.random.default_rng(5)
    joints = []
    for number, (kind, parent) in enumerate(zip(TYPES, PARENTS, strict=True)):
        joint = {"ID": number, "Name": f"{kind}{number}", "Type": kind, "Parent": parent}
        joint |= {f"Attach{axis}": rng.normal() for axis in "XYZ"}
        joint |= {f"AttachTheta{axis}": rng.normal() for axis in "XYZ"}
        joints.append(joint)
    bodies = [{"ID": n, "AttachX": 0.1, "AttachY": 0.2} for n in range(len(TYPES))]
    return {"Skeleton": {"Joints": joints}, "BodyDefs": bodies, **changes}


def motion(frames=5, **changes):
    rng = np.random.default_rng(6)
    rows = []
    for number in range(frames):
        row = [0.0 if number == frames - 1 else 0.05]
        for kind in TYPES:
            numbers = rng.normal(size=WIDTHS[kind])
            if kind in ("none", "spherical"):
                numbers[-4:] /= np.linalg.norm(numbers[-4:])
            row += numbers.tolist()
        rows.append(row)
    return {"Loop": "wrap", "Frames": rows, **changes}


def save(folder, name="odd_walk.txt", **files):
    (folder / "odd.character.json").write_text(json.dumps(files.get("character", character())))
    (folder / name).write_text(json.dumps(files.get("motion", motion())))
    return folder / name


def rotation(axis, angle):
    """A 4 x 4 matrix that turns about x, y or z."""
    matrix, (a, b) = np.eye(4), [(1, 2), (2, 0), (0, 1)][axis]
    matrix[[a, b], [a, b]] = np.cos(angle)
    matrix[a, b], matrix[b, a] = -np.sin(angle), np.sin(angle)
    return matrix


def quaternion(w, x, y, z):
    v = np.array([x, y, z]) / np.linalg.norm([w, x, y, z])
    w = w / np.linalg.norm([w, x, y, z])
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    matrix = np.eye(4)
    matrix[:3, :3] += 2 * w * cross + 2 * cross @ cross
    return matrix


def shift(*numbers):
    matrix = np.eye(4)
    matrix[: len(numbers), 3] = numbers
    return matrix


def oracle(character, row):
    """Where the joints are in the world, by 4 x 4 matrices in the character's own frames."""
    world, at = [], 1
    for number, joint in enumerate(character["Skeleton"]["Joints"]):
        place = [joint.get(f"Attach{axis}", 0.0) for axis in "XYZ"]
        angles = [joint.get(f"AttachTheta{axis}", 0.0) for axis in "XYZ"]
        attach = shift(*(place if number else (0, 0, 0)))
        attach = attach @ rotation(2, angles[2]) @ rotation(1, angles[1]) @ rotation(0, angles[0])
        kind = "none" if number == 0 else joint["Type"]
        own = row[at : at + WIDTHS[kind]]
        at += WIDTHS[kind]
        match kind:
            case "none":
                moves = shift(*own[:3]) @ quaternion(*own[3:])
            case "spherical":
                moves = quaternion(*own)
            case "revolute":
                moves = rotation(2, own[0])
            case "prismatic":
                moves = shift(own[0])
            case "planar":
                moves = rotation(2, own[2]) @ shift(own[0], own[1])
            case _:
                moves = np.eye(4)
        local = attach @ moves
        world.append(world[joint["Parent"]] @ local if number else local)
    return np.array(world)


def assert_as_the_oracle(clip, character, motion):
    positions, rotations = forward(clip.skeleton, clip.pose)
    for frame, row in enumerate(motion["Frames"]):
        world = oracle(character, row)
        np.testing.assert_allclose(positions[frame], world[:, :3, 3], atol=1e-12)
    return positions, rotations


def test_every_type_of_joint_is_where_matrices_put_it(tmp_path):
    clip = load_clip(save(tmp_path))
    assert clip.skeleton.names == tuple(f"{kind}{n}" for n, kind in enumerate(TYPES))
    assert (clip.skeleton.up, clip.skeleton.unit, clip.frame_time) == ("y", 1.0, 0.05)
    assert clip.name == "odd_walk"
    assert_as_the_oracle(clip, character(), motion())


def test_at_rest_all_rotations_are_the_identity_and_tips_are_the_bodies(tmp_path):
    rest = [0.05, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    clip = load_clip(save(tmp_path, motion=motion(Frames=[rest, rest])))
    np.testing.assert_allclose(clip.pose.rotations[..., 0], 1.0)
    np.testing.assert_allclose(clip.pose.positions[0], clip.skeleton.offsets, atol=1e-15)
    world = oracle(character(), rest)
    places = forward(clip.skeleton, clip.skeleton.rest_pose())[0]
    assert clip.skeleton.end_parents.tolist() == [2, 5, 6]
    for joint, end in zip(clip.skeleton.end_parents, clip.skeleton.end_offsets, strict=True):
        tip = world[joint] @ [0.1, 0.2, 0.0, 1.0]
        np.testing.assert_allclose(places[joint] + end, tip[:3], atol=1e-12)


def test_the_character_is_beside_the_motion_or_named(tmp_path):
    path = save(tmp_path)
    (tmp_path / "odd.character.json").rename(tmp_path / "else.json")
    with pytest.raises(
        ValueError, match=r"expected the character beside it, as odd\.character\.js"
    ):
        load_clip(path)
    assert load_clip(path, skeleton=tmp_path / "else.json").frames == 5
    (tmp_path / "characters").mkdir()
    (tmp_path / "else.json").rename(tmp_path / "characters" / "odd.txt")
    (tmp_path / "motions").mkdir()
    moved = path.rename(tmp_path / "motions" / "odd_walk.txt")
    assert load_clip(moved).frames == 5


def test_it_is_known_by_suffix_or_content_and_only_read(tmp_path):
    path = save(tmp_path, "odd_walk.deepmimic.json")
    clip = load_clip(path)
    assert clip.name == "odd_walk"
    with pytest.raises(ValueError, match=r"is only read; \.bvh"):
        save_clip(clip, path)
    with pytest.warns(UserWarning, match="added the channels"):
        save_clip(clip, tmp_path / "walk.bvh")
    for named in ("odd_walk.deepmimic.json", "odd_walk.txt"):
        path = path.rename(tmp_path / named)
        told = CliRunner().invoke(main, ["info", str(path)])
        assert told.exit_code == 0, told.output
    with pytest.raises(ValueError, match="a clip's suffix must be one of"):
        load_clip(tmp_path / "odd.character.json")


def test_uneven_durations_are_resampled_with_a_word(tmp_path):
    rows = motion()["Frames"]
    for row, duration in zip(rows, [0.1, 0.2, 0.1, 0.2, 7.0], strict=True):
        row[0] = duration
    with pytest.warns(UserWarning, match=r"last differently long: resampled at 6\.66667 a second"):
        clip = load_clip(save(tmp_path, motion=motion(Frames=rows)))
    assert (clip.frames, clip.frame_time) == (5, pytest.approx(0.15))
    # The root goes along lines: after 0.15 s it is a quarter of the way from frame 1 to frame 2.
    root = [np.array(row[1:4]) for row in rows]
    attach = oracle(character(), [0.0] * 4 + [1.0, 0, 0, 0, 1.0] + [0.0] * 9)[0][:3, :3]
    np.testing.assert_allclose(
        clip.pose.positions[1, 0], attach @ (0.75 * root[1] + 0.25 * root[2]), atol=1e-12
    )
    np.testing.assert_allclose(clip.pose.positions[-1, 0], attach @ root[-1], atol=1e-12)


def test_a_single_frame_is_a_clip(tmp_path):
    clip = load_clip(save(tmp_path, motion=motion(1)))
    assert (clip.frames, clip.frame_time) == (1, 1 / 30)


def test_blends_of_quaternions_are_normalised_with_a_word(tmp_path):
    rows = motion()["Frames"]
    rows[2][8:12] = [0.5 * number for number in rows[2][8:12]]
    with pytest.warns(UserWarning, match=r"1 quaternions are not of length 1, but 0\.5 to 1: norm"):
        clip = load_clip(save(tmp_path, motion=motion(Frames=rows)))
    assert_as_the_oracle(clip, character(), motion())


def with_row(number, place, value):
    rows = motion()["Frames"]
    rows[number][place] = value
    return motion(Frames=rows)


BROKEN = [
    ([], r"expected an object, got \[\]"),
    ({"Frames": 1}, r"Frames: expected a list of at least one row, got 1"),
    ({"Frames": []}, r"Frames: expected a list of at least one row, got \[\]"),
    ({"Frames": [[1, 2], [1]]}, r"Frames\[1\]: expected 2 numbers, as in the first row, got \[1\]"),
    ({"Frames": [1]}, r"Frames\[0\]: expected 0 numbers, as in the first row, got 1"),
    ({"Frames": [[0.1, 2.0]]}, r"Frames\[0\]: expected 18 numbers, for the 7 joints of the char"),
    (with_row(3, 9, "x"), r"Frames\[3\]\[9\]: expected a number, got 'x'"),
    (with_row(3, 9, None), r"Frames\[3\]\[9\]: expected a number, got None"),
    (with_row(3, 9, True), r"Frames\[3\]\[9\]: expected a number, got True"),
    (with_row(3, 9, [1]), r"Frames\[3\]"),
    (with_row(3, 9, float("nan")), r"Frames: expected finite numbers .* got nan at \[3, 9\]"),
    (with_row(3, 9, 10**400), r"Frames: expected finite numbers"),
    (with_row(3, 9, 10**250), r"Frames: expected finite numbers"),
    (with_row(3, 9, 5.0), r"Frames, quaternions: expected finite numbers of at most 2, got 5.0"),
    (with_row(3, 12, 1e6), r"Frames, revolute joints: expected finite numbers of at most 1\.745e"),
    (with_row(1, 0, -0.1), r"Frames\[1\]\[0\]: expected a duration from 0 to 10000 seconds, got"),
    (with_row(1, 0, 1e6), r"Frames\[1\]\[0\]: expected a duration from 0 to 10000 seconds, got"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_what_is_broken_in_the_motion_is_named_by_its_place(tmp_path, broken, message):
    path = save(tmp_path, "odd_walk.deepmimic.json", motion=broken)
    with pytest.raises(ValueError, match=rf"odd_walk\.deepmimic\.json: {message}"):
        load_clip(path)


def test_still_or_zero_motion_is_refused(tmp_path):
    rows = [[0.0, *row[1:]] for row in motion()["Frames"]]
    with pytest.raises(ValueError, match=r"durations: expected 1e-06 to 10000 seconds"):
        load_clip(save(tmp_path, motion=motion(Frames=rows)))
    rows = [[*row[:8], 0, 0, 0, 0, *row[12:]] for row in motion()["Frames"]]
    with pytest.raises(
        ValueError, match=r"Frames\[0\]: expected unit quaternions, got one of leng"
    ):
        load_clip(save(tmp_path, motion=motion(Frames=rows)))


def with_joint(number, **changes):
    body = character()
    body["Skeleton"]["Joints"][number] |= changes
    return body


CHARACTERS = [
    ([], r"expected an object, got \[\]"),
    ({}, r"the key 'Skeleton' is missing"),
    ({"Skeleton": {"Joints": []}}, r"Skeleton\.Joints: expected 1 to 20000, got 0"),
    (
        with_joint(2, Parent=2),
        r"Joints\[2\]\.Parent: expected -1 for the first joint, and an earlie",
    ),
    (
        with_joint(2, Parent=-1),
        r"Joints\[2\]\.Parent: expected -1 for the first joint, and an earli",
    ),
    (with_joint(2, Parent=0.5), r"Joints\[2\]\.Parent: expected whole numbers"),
    (
        with_joint(2, Type="none"),
        r"Joints\[2\]\.Type: expected spherical or revolute or .* got 'none",
    ),
    (with_joint(2, Type=7), r"Joints\[2\]\.Type: expected spherical or revolute or"),
    (with_joint(2, Name=7), r"Joints\[2\]\.Name: expected text, got 7"),
    (
        with_joint(2, Name="none0"),
        r"Skeleton\.names must differ from each other, got 'none0' twice",
    ),
    (with_joint(2, AttachX="a"), r"Joints\[2\]\.AttachX: expected a number, got 'a'"),
    (
        with_joint(2, AttachX=1e300),
        r"Joints\[2\]\.Attach: expected finite numbers of at most 1e\+09",
    ),
    (with_joint(2, AttachThetaX=1e9), r"Joints\[2\]\.AttachTheta: expected finite numbers"),
    (character(BodyDefs=[1]), r"BodyDefs\[0\]: expected an object, got 1"),
]


@pytest.mark.parametrize(("broken", "message"), CHARACTERS)
def test_what_is_broken_in_the_character_is_named_by_its_place(tmp_path, broken, message):
    path = save(tmp_path, character=broken)
    with pytest.raises(ValueError, match=rf"odd\.character\.json: .*{message}"):
        load_clip(path)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", ["odd_walk.deepmimic.json", "odd.character.json"])
def test_mutations_give_a_clip_or_an_error_with_its_file(tmp_path, which):
    path = save(tmp_path, "odd_walk.deepmimic.json")
    content = (tmp_path / which).read_bytes()
    rng = np.random.default_rng(19)

    def read(mutant):
        (tmp_path / which).write_bytes(mutant)
        return load_clip(path)

    mutants = ((mutate, renumber)[n % 2](content, rng) for n in range(count()))
    clips, errors = outcomes(read, mutants)
    assert [error for error in errors if "/odd" not in error] == []
    assert all(isinstance(clip, Clip) for clip in clips)
    assert min(len(clips), len(errors)) > 30


def real_files():
    files = sorted(DATA.glob("*_*.txt"))
    if not files:
        skip = pytest.mark.skip(reason=f"no motion of DeepMimic in {DATA}")
        return [pytest.param(None, marks=skip, id="none")]
    return [pytest.param(path, id=path.name) for path in files]


@pytest.mark.parametrize("path", real_files())
def test_real_files_stand_on_the_ground_and_are_as_the_oracle(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*quaternions are not of length 1")
        clip = load_clip(path)
    found = json.loads(path.read_text())
    body = json.loads((DATA / f"{path.name.partition('_')[0]}.character.json").read_text())
    assert clip.frames == len(found["Frames"])
    positions, _ = assert_as_the_oracle(clip, body, found)
    lowest = positions[..., 1].min(axis=1)
    height = np.ptp(positions[..., 1], axis=1).max()
    assert abs(np.median(lowest)) < 0.1
    assert lowest.min() > -0.1
    assert 0.4 < height < 2.0
