"""Broken, odd and real files: a clip, or an error that names file and line."""

import json
import warnings
from pathlib import Path

import pytest

from synovia.io import load_clip, save_clip
from test_bvh import ROWS, SMALL, assert_same, read, small

DATA = Path(__file__).parents[2] / "shared" / "data"
NUMBERS = "expected finite numbers, got"
COUNT = "expected 9 numbers, as many as there are channels"
BROKEN = [
    ("", "1: expected HIERARCHY, got the end of the file"),
    (b"\x89PNG\r\n\x1a\n\0\0", "1: expected HIERARCHY, got '\\x89PNG'"),
    (bytes(range(256)), "1: expected HIERARCHY, got "),
    ("HIERARCHY\nMOTION\n", "2: expected ROOT, got 'MOTION'"),
    ("HIERARCHY\nJOINT a\n", "2: expected JOINT inside of a joint, got 'JOINT a'"),
    ("HIERARCHY\n}\n", "2: expected ROOT or MOTION, got '}'"),
    (("OFFSET 1 2 3", "OFFSET 1.0 2"), "4: expected 3 numbers after OFFSET, got 'OFFSET 1.0 2'"),
    (("OFFSET 1 2 3", "OFFSET 1 2 1e999"), "4: expected 3 numbers after OFFSET, got "),
    (("OFFSET 1 2 3", "OFFSET 1 2 3\nOFFSET 1 2 3"), "5: expected one OFFSET in ROOT hip, got "),
    (("OFFSET 0 5 0\n", ""), "12: expected OFFSET in End Site, got '}'"),
    (("ROOT hip", "ROOT"), "2: expected a name after ROOT, got 'ROOT'"),
    (("JOINT knee", "JOINT {"), "6: expected a name after JOINT, got 'JOINT {'"),
    (("JOINT knee", "JOINT hip"), "6: expected a name that no other joint has, got 'JOINT hip'"),
    (("JOINT knee", "ROOT knee"), "6: expected '}' to close ROOT hip before ROOT, got "),
    (("JOINT knee\n{", "JOINT knee"), "7: expected '{' after JOINT knee, got 'OFFSET 0 4 0'"),
    (("JOINT knee\n{", "{"), "6: expected OFFSET, CHANNELS, JOINT, End Site or '}', got '{'"),
    (("End Site", "End Sight"), "10: expected OFFSET, CHANNELS, JOINT, End Site or '}', got "),
    (("5 0", "5 0\nEnd Site"), "13: expected End Site inside of a joint, got 'End Site'"),
    (("5 0", "5 0\nCHANNELS 0"), "13: expected CHANNELS once in a joint, before its children, "),
    (("CHANNELS 3", "CHANNELS"), "9: expected a count after CHANNELS, got "),
    (("CHANNELS 3", "CHANNELS 4"), "9: expected as many channels as CHANNELS says, got "),
    (("CHANNELS 3", "CHANNELS " + "9" * 5000), "9: expected as many channels as CHANNELS says, "),
    (("CHANNELS 3 Z", "CHANNELS 3 W"), "9: expected channels like Xposition or Zrotation, each "),
    (("}\nMOTION", "MOTION"), "15: expected '}' to close ROOT hip, got 'MOTION'"),
    (("}\nMOTION", "}\n}\nMOTION"), "16: expected ROOT or MOTION, got '}'"),
    ((SMALL[SMALL.index("JOINT") :], ""), "5: expected '}', got the end of the file"),
    ((SMALL[SMALL.index("MOTION") :], ""), "15: expected ROOT or MOTION, got the end of the file"),
    ((SMALL[SMALL.index("Frames") :], ""), "16: expected Frames:, got the end of the file"),
    ((SMALL[SMALL.index("Frame T") :], "\n"), "18: expected Frame Time:, got the end of the file"),
    (("Frames: 2", "Frames: -2"), "17: expected Frames: and a count from 0 to 999999999, got "),
    (("Frames: 2", "Frames: " + "9" * 5000), "17: expected Frames: and a count from 0 to 99999"),
    (
        ("Frame Time: 0.1", "Frame Time: 0"),
        "18: expected Frame Time: and seconds from 1e-06 to 10000, got ",
    ),
    (("Frame Time: 0.1", "Frame Time: 5e-324"), "18: expected Frame Time: and seconds from "),
    (("4 5 6 70", "4 1e308 6 70"), " expected positions of at most 1e+09, got 1e+308 for hip"),
    (("70 80", "70 nan"), f"20: {NUMBERS} 'nan'"),
    (("70 80", "70 -inf"), f"20: {NUMBERS} '-inf'"),
    (("70 80", "70 1e999"), f"20: {NUMBERS} '1e999'"),
    (("70 80", "70 - 5"), f"20: {NUMBERS} '-'"),
    (("70 80", "70 \0"), f"20: {NUMBERS} '\\x00'"),
    (("35\n", "1e"), f"20: {NUMBERS} '1e'"),
    ((" 60\n", "\n"), f"19: {COUNT}, got 8"),
    ((" 35\n", ""), f"20: {COUNT}, got 8"),
    ((ROWS, "1 2 3 4 5 6\n1 2 3 4\n"), f"19: {COUNT}, got 6"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_what_is_broken_is_named_by_file_and_line(tmp_path, change, message):
    with pytest.raises(ValueError, match=r"walk\.bvh") as caught:
        read(tmp_path, small(change) if isinstance(change, tuple) else change)
    assert str(caught.value).startswith(f"{tmp_path / 'walk.bvh'}:{message}")
    assert ", got " in str(caught.value)


def real_files():
    if not (DATA / "MANIFEST.json").exists():
        skip = pytest.mark.skip(reason=f"no captures to read in {DATA}")
        return [pytest.param({}, marks=skip, id="none")]
    entries = json.loads((DATA / "MANIFEST.json").read_text())
    return [
        pytest.param(each, id=each["path"]) for each in entries if each["path"].endswith(".bvh")
    ]


@pytest.mark.parametrize("entry", real_files())
def test_real_files_are_read_and_come_back(tmp_path, entry):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clip = load_clip(DATA / entry["path"])
    odd = [each for each in entry["oddities"] if each.startswith(("Frames says", "row lengths"))]
    assert len(caught) == len(odd)
    assert len(clip.skeleton) == entry["joints"]
    assert len(clip.skeleton.end_parents) == entry["end_sites"]
    assert sum(map(len, clip.skeleton.channels)) == entry["channels"]
    assert clip.frames == entry["rows"]
    assert clip.frame_time == entry["frame_time"]
    save_clip(clip, tmp_path / "again.bvh")
    assert_same(load_clip(tmp_path / "again.bvh"), clip)
