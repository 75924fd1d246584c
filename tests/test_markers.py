"""Tracks of markers: in any order, with gaps, and errors that name file and line."""

from __future__ import annotations

import numpy as np
import pytest

from synovia import human
from synovia.anatomy.observations import observe_markers
from synovia.io import load_markers

NAMES = ("LASI", "RASI", "LKNE")


def written(folder, name, rows):
    path = folder / f"{name}.markers.csv"
    path.write_text("frame,marker,x,y,z\n" + "\n".join(rows), encoding="utf-8")
    return path


def test_takes_whose_markers_come_in_another_order_go_together(tmp_path):
    rows = [f"{t},{name},{k},{1 + k},{t}" for t in range(3) for k, name in enumerate(NAMES)]
    late = [row for row in rows if not row.startswith("0,LASI")]
    empty = [f"{t},{name},,," for t in (3, 4) for name in NAMES]
    takes = [load_markers(written(tmp_path, "a", rows))]
    takes.append(load_markers(written(tmp_path, "b", late[::-1] + empty)))
    seen = observe_markers(takes, human().skeleton.names)
    column = seen.names.index("LKNE")
    assert len(seen.points) == 6  # frames in which nothing is seen are none
    np.testing.assert_allclose(seen.points[:, column, 1] / seen.points[0, column, 1], 1.0)


def test_takes_with_other_markers_are_told_apart(tmp_path):
    one = load_markers(written(tmp_path, "a", ["0,LASI,0,1,0", "0,RASI,1,1,0"]))
    other = load_markers(written(tmp_path, "b", ["0,LASI,0,1,0"]))
    with pytest.raises(ValueError, match="the same markers, b and a differ in RASI"):
        observe_markers([one, other], human().skeleton.names)


def test_a_quote_that_does_not_end_names_its_line(tmp_path):
    path = written(tmp_path, "a", ["0,LASI,0,1,0", '0,"' + "x" * 200_000])
    with pytest.raises(ValueError, match=r"a\.markers\.csv:\d+: field larger"):
        load_markers(path)


def test_rows_bound_the_frames_times_markers(tmp_path):
    diagonal = written(tmp_path, "a", [f"{k},M{k},0,1,0" for k in range(2000)])
    with pytest.raises(ValueError, match=r"a\.markers\.csv: expected at most 1200000 .* of 2000"):
        load_markers(diagonal)
    sparse = written(tmp_path, "b", [f"{k},M{k},0,1,0" for k in range(900)])
    assert load_markers(sparse).points.shape == (900, 900, 3)
