"""ASF/AMC: what is read, and that it is the same as elsewhere."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from synovia import Pose, load_clip, quat
from synovia.skeleton import forward

DATA = Path(__file__).parents[2] / "shared" / "data" / "cmu_asfamc"
ASF = """# a small skeleton (made for tests)
:version 1.10
:name tiny
:units
  mass 1.0
  length 0.45  # of an inch
  angle deg
:documentation
  anything: goes
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 0 -1 0
    length 2
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name thigh
    direction 0.6 -0.8 0
    length 5.0
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0, 70.0)
           (-inf inf)
  end
  begin
    id 3
    name shank
    direction 0 -1 0
    length 4
    axis -40 50 60 ZXY
    dof rz rx
    limits (-10 170) (-5 5)
  end
  begin
    id 4
    name arm
    direction 1 0 0
    length 3
    axis 180 -30 -90 YZX
    dof ry
  end
:hierarchy
  begin
    root hip arm
    hip thigh
    thigh shank
  end
"""
ROWS = {
    "root": [[1, 2, 3, 10, 20, 30], [1.5, 2.25, 3, -10, 120, 5]],
    "thigh": [[15, -25, 35], [-100, 95, 8]],
    "shank": [[12, 34], [170, -3]],
    "arm": [[77], [-181]],
}
FREEDOMS = {"thigh": "xyz", "shank": "zx", "arm": "y"}
AXES = {
    "thigh": ("xyz", (10, 20, 30)),
    "shank": ("zxy", (60, -40, 50)),
    "arm": ("yzx", (-30, -90, 180)),
}


def amc_text(rows=ROWS, header=":FULLY-SPECIFIED\n:DEGREES\n"):
    lines = [header]
    for frame in range(len(rows["root"])):
        lines.append(f"{frame + 1}\n")
        lines += [f"{name} {' '.join(map(str, each[frame]))}\n" for name, each in rows.items()]
    return "".join(lines)


def write(folder, amc=None, asf=ASF, name="walk"):
    for suffix, text in ((".asf", asf), (".amc", amc_text() if amc is None else amc)):
        content = text.encode("latin-1") if isinstance(text, str) else text
        (folder / f"{name}{suffix}").write_bytes(content)
    return folder / f"{name}.amc"


def assert_rotations(found, wanted, degrees=1e-9):
    assert found.shape == wanted.shape
    assert np.degrees(quat.angle_between(found, wanted)).max() <= degrees


def from_scipy(rotation):
    x, y, z, w = np.moveaxis(rotation.as_quat(), -1, 0)
    return np.stack([w, x, y, z], axis=-1)


def test_bones_are_joints_at_their_start(tmp_path):
    skeleton = load_clip(write(tmp_path)).skeleton
    assert skeleton.names == ("root", "hip", "thigh", "shank", "arm")
    assert skeleton.parents.tolist() == [-1, 0, 1, 2, 0]
    np.testing.assert_allclose(
        skeleton.offsets, [[0, 0, 0], [0, 0, 0], [0, -2, 0], [3, -4, 0], [0, 0, 0]]
    )
    assert skeleton.end_parents.tolist() == [3, 4]
    np.testing.assert_allclose(skeleton.end_offsets, [[0, -4, 0], [3, 0, 0]])
    assert skeleton.up == "y"
    assert skeleton.unit == pytest.approx(0.0254 / 0.45)
    assert load_clip(write(tmp_path, asf=ASF.replace("0.45", "1.0"))).skeleton.unit == 0.0


def test_rotations_are_about_the_bones_axes(tmp_path):
    found = load_clip(write(tmp_path))
    assert found.frame_time == 1 / 120
    # SciPy's small letters are turns about fixed axes, the first letter first.
    for name, order in FREEDOMS.items():
        joint = found.skeleton.index(name)
        axes = Rotation.from_euler(*AXES[name], degrees=True)
        motion = Rotation.from_euler(order, np.array(ROWS[name]), degrees=True)
        assert_rotations(found.pose.rotations[:, joint], from_scipy(axes * motion * axes.inv()))
        assert_rotations(found.skeleton.rest_rotations[joint], from_scipy(axes))
    root = np.array(ROWS["root"])
    wanted = from_scipy(Rotation.from_euler("xyz", root[:, 3:], degrees=True))
    assert_rotations(found.pose.rotations[:, 0], wanted)
    np.testing.assert_array_equal(found.pose.positions[:, 0], root[:, :3])
    np.testing.assert_array_equal(found.pose.rotations[:, 1], np.tile(quat.IDENTITY, (2, 1)))


def test_the_root_has_an_order_a_position_and_an_orientation(tmp_path):
    asf = ASF.replace("TX TY TZ RX RY RZ", "RZ TY RX").replace("position 0 0 0", "position 4 5 6")
    asf = asf.replace("orientation 0 0 0", "orientation 90 0 20").replace("axis XYZ", "axis ZYX", 1)
    rows = {**ROWS, "root": [[30, 2, 10], [5, 2.25, -10]]}
    found = load_clip(write(tmp_path, amc_text(rows), asf))
    offset = Rotation.from_euler("zyx", [20, 0, 90], degrees=True)
    motion = Rotation.from_euler("zx", [[30, 10], [5, -10]], degrees=True)
    assert_rotations(found.pose.rotations[:, 0], from_scipy(offset * motion))
    wanted = np.array([4, 5, 6]) + offset.apply([[0, 2, 0], [0, 2.25, 0]])
    np.testing.assert_allclose(found.pose.positions[:, 0], wanted)


def test_limits_are_a_table_by_bone_and_freedom_in_radians(tmp_path):
    limits = load_clip(write(tmp_path)).origin.limits
    assert list(limits) == ["thigh", "shank"]
    assert limits["thigh"]["rx"] == pytest.approx(np.radians([-160, 20]))
    assert limits["thigh"]["rz"] == (-np.inf, np.inf)
    assert limits["shank"] == {
        "rz": pytest.approx(np.radians([-10, 170])),
        "rx": pytest.approx(np.radians([-5, 5])),
    }


def test_radians_degrees_case_comments_and_line_ends_make_no_difference(tmp_path):
    wanted = load_clip(write(tmp_path))
    radians = {
        name: [[*row[:-3], *np.radians(row[-3:])] for row in each] for name, each in ROWS.items()
    }
    amc = amc_text(radians, "# in radians\n:RADIANS # yes\n").replace("shank", "  SHANK\t")
    found = load_clip(write(tmp_path, amc.replace("\n2\n", "\n2 # second\n\n").replace("\n", "\r")))
    assert_rotations(found.pose.rotations, wanted.pose.rotations)
    asf = re.sub(r"limits.*(\n\s+\(.*)*", "", ASF.replace("angle deg", "angle rad"))
    for angles in ("10 20 30", "-40 50 60", "180 -30 -90"):
        turned = " ".join(repr(math.radians(float(angle))) for angle in angles.split())
        asf = asf.replace(f"axis {angles}", f"axis {turned}")
    found = load_clip(write(tmp_path, asf=asf.replace("\n", "\r\n").replace("name tiny", "name ü")))
    assert_rotations(found.pose.rotations, wanted.pose.rotations)
    assert_rotations(found.skeleton.rest_rotations, wanted.skeleton.rest_rotations)


def test_names_may_be_latin_1(tmp_path):
    path = write(tmp_path, amc_text().replace("arm", "Ärm"), ASF.replace("arm", "Ärm"))
    found = load_clip(path)
    assert found.skeleton.names[-1] == "Ärm"
    assert_rotations(found.pose.rotations, load_clip(write(tmp_path)).pose.rotations)


def test_all_joints_may_be_forced_to_three_freedoms(tmp_path):
    rows = {**ROWS, "hip": [[1, 2, 3]] * 2, "shank": [[4, 5, 6]] * 2, "arm": [[7, 8, 9]] * 2}
    header = ":FULLY-SPECIFIED\n:FORCE-ALL-JOINTS-BE-3DOF\n:DEGREES\n"
    found = load_clip(write(tmp_path, amc_text(rows, header)))
    wanted = from_scipy(Rotation.from_euler("xyz", [1, 2, 3], degrees=True))
    assert_rotations(found.pose.rotations[0, 1], wanted)


def test_frames_that_are_irregular_are_told(tmp_path):
    with pytest.warns(UserWarning, match=r"walk\.amc: without motion of arm: at rest"):
        found = load_clip(write(tmp_path, re.sub("arm.*\n", "", amc_text())))
    assert found.pose.rotations[:, -1].tolist() == [[1, 0, 0, 0]] * 2
    with pytest.warns(UserWarning, match="numbers of frames have gaps"):
        load_clip(write(tmp_path, amc_text().replace("\n2\n", "\n7\n")))
    rate = load_clip(write(tmp_path, ":SAMPLES-PER-SECOND 60\n" + amc_text())).frame_time
    assert rate == 1 / 60
    assert load_clip(write(tmp_path, ":DEGREES\n")).frames == 0


def test_an_asf_file_alone_is_one_frame_at_rest(tmp_path):
    write(tmp_path)
    found = load_clip(tmp_path / "walk.asf")
    assert (found.frames, found.name) == (1, "walk")
    assert_rotations(found.pose.rotations[0], found.skeleton.rest_pose().rotations)


def test_the_skeleton_is_found_beside_the_motion(tmp_path):
    amc = write(tmp_path, name="07_05-walk").read_bytes()
    (tmp_path / "07_05-walk.asf").rename(tmp_path / "07-old.ASF")
    assert load_clip(tmp_path / "07_05-walk.amc").frames == 2
    assert load_clip(tmp_path / "07_05-walk.amc").origin.path.name == "07-old.ASF"
    (tmp_path / "other.amc").write_bytes(amc)
    assert load_clip(tmp_path / "other.amc").origin.path.name == "07-old.ASF"
    (tmp_path / "08.asf").write_text(ASF)
    with pytest.raises(ValueError, match=r"other\.amc: expected one \.asf .*07-old\.ASF, 08\.asf"):
        load_clip(tmp_path / "other.amc")
    (tmp_path / "07.asf").write_text(ASF)
    assert load_clip(tmp_path / "07_05-walk.amc").origin.path.name == "07.asf"
    assert load_clip(tmp_path / "other.amc", skeleton=tmp_path / "08.asf").frames == 2
    for each in tmp_path.glob("*.[aA][sS][fF]"):
        each.unlink()
    with pytest.raises(ValueError, match=r"other\.amc: expected one \.asf .*, got none"):
        load_clip(tmp_path / "other.amc")


BROKEN_AMC = [
    ("", "1: expected the number of a frame, got the end of the file"),
    (("arm 77", "leg 77"), "7: expected the number of a frame or a bone of walk.asf, got 'leg'"),
    (("arm 77", "arm"), "7: expected 1 numbers for arm, got 0"),
    (("shank 12 34", "shank 12 34 56"), "6: expected 2 numbers for shank, got 3"),
    (("shank 12 34", "shank 12 x"), "6: expected finite numbers, got 'x'"),
    (("shank 12 34", "shank 12 nan"), "6: expected finite numbers, got 'nan'"),
    (("root 1 2 3", "root 1 2 1e300"), " expected positions of at most 1e+09, got 1e+300 for root"),
    (("arm 77", "shank 1 2"), "7: expected the bones of the first frame in each, once"),
    (("arm 77\n", ""), "11: expected the bones of the first frame in each, once"),
    (("1\nroot", "root"), "3: expected the number of a frame before bones, got a bone"),
    (("1\nroot", "9" * 5000 + "\nroot"), "3: expected the number of a frame or a bone of walk"),
    ((":DEGREES", ":SAMPLES-PER-SECOND 0"), "2: expected a rate from 1e-4 to 1e6 after "),
]
BROKEN_ASF = [
    ("", "1: expected :bonedata, got the end of the file"),
    (("angle deg", "angle grad"), "7: expected angle deg or angle rad, got 'angle grad'"),
    (("order TX", "order TX TX"), "11: expected some of tx, ty, tz, rx, ry, rz, each once, got "),
    (("axis XYZ", "axis XYX"), "12: expected an order of the axes such as XYZ, got 'axis XYX'"),
    (("direction 0.6", "direction"), "26: expected 3 numbers after direction, "),
    (("length 5.0", "length 5 6"), "27: expected 1 numbers after length, got "),
    (("10 20 30 XYZ", "10 20 30"), "28: expected an order of the axes such as XYZ, got "),
    (("dof ry", "dof ry l"), "49: expected some of rx, ry, rz, each once, got 'dof ry l'"),
    (("(-10 170)", ""), "41: expected two limits for each of 2 freedoms of shank, or none, not 2"),
    (("(-10 170)", "(-10 x)"), "41: expected 1 numbers after limits, got "),
    (("name thigh", "name hip"), "25: expected name and a word that no other bone has, got "),
    (("name thigh\n", "\n"), "33: expected name in the bone that began in line 23, got 'end'"),
    (("  end\n  begin\n    id 2", "  begin\n    id 2"), "22: expected end before the next begin"),
    (("hip thigh", "hip leg"), "54: expected bones of :bonedata, not 'leg', got 'hip leg'"),
    (("hip thigh", "hip arm"), "54: expected arm below one bone, got 'hip arm'"),
    (
        ("root hip arm", "root arm"),
        "16: expected a bone that :hierarchy puts below root, got 'hip'",
    ),
    (("root hip arm", "shank hip\nroot arm"), "16: expected a bone that :hierarchy puts below "),
]


@pytest.mark.parametrize(("change", "message"), BROKEN_AMC)
def test_what_is_broken_in_amc_is_named_by_file_and_line(tmp_path, change, message):
    amc = amc_text().replace(*change, 1) if isinstance(change, tuple) else change
    with pytest.raises(ValueError, match="walk") as caught:
        load_clip(write(tmp_path, amc))
    assert str(caught.value).startswith(f"{tmp_path / 'walk.amc'}:{message}")


@pytest.mark.parametrize(("change", "message"), BROKEN_ASF)
def test_what_is_broken_in_asf_is_named_by_file_and_line(tmp_path, change, message):
    asf = ASF.replace(*change, 1) if isinstance(change, tuple) else change
    with pytest.raises(ValueError, match="walk") as caught:
        load_clip(write(tmp_path, asf=asf))
    assert f"{tmp_path / 'walk.asf'}:{message}" in str(caught.value)
    assert ", got " in str(caught.value)


needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"no captures to read in {DATA}")


def twins(amc, bvh):
    """The same motion from both formats, names as in BVH, without the frame that BVH adds."""
    found, twin = load_clip(DATA / f"{amc}.amc"), load_clip(DATA / f"{bvh}.bvh")
    twin = replace(twin, pose=Pose(twin.pose.rotations[1:], twin.pose.positions[1:]))
    return replace(found, skeleton=replace(found.skeleton, names=twin.skeleton.names)), twin


TWINS = [("07_05-walk", "07_05"), ("131_04-dance", "131_04")]


@needs_data
@pytest.mark.parametrize(("amc", "bvh"), TWINS)
def test_amc_equals_its_bvh_twin(amc, bvh):
    found, twin = twins(amc, bvh)
    assert found.skeleton.parents.tolist() == twin.skeleton.parents.tolist()
    assert found.skeleton.end_parents.tolist() == twin.skeleton.end_parents.tolist()
    np.testing.assert_allclose(found.skeleton.end_offsets, twin.skeleton.end_offsets, atol=1e-5)
    np.testing.assert_allclose(found.pose.positions[:, 0], twin.pose.positions[:, 0], atol=1e-4)
    assert_rotations(found.pose.rotations, twin.pose.rotations, 2e-4)
    # The twin leaves out the lengths of thorax and wrists.
    places = [forward(each.skeleton, each.pose)[0] for each in (found, twin)]
    legs = slice(0, 14)
    np.testing.assert_allclose(places[0][:, legs], places[1][:, legs], atol=2e-4)


@needs_data
@pytest.mark.parametrize("name", ["01_01", "07_05-walk", "11_01", "131_04-dance"])
def test_real_files_are_read(name):
    found = load_clip(DATA / f"{name}.amc")
    assert len(found.skeleton) == 31
    assert len(found.origin.limits) == 28
