"""`synovia report`: tables, the page, and what it refuses."""

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pytest

from command_line import result_of, run
from synovia import Clip, Pose, quat, save_clip
from twins import walker

ELBOW = "mixamorig:LeftForeArm"
VOID = {"meta", "br", "line", "rect", "circle", "polygon", "polyline", "path"}


class Page(HTMLParser):
    """Tags that are open, and what a browser or a screen reader would miss."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.headings, self.counts, self.addresses = [], [], [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        named = dict(attrs)
        if tag == "svg" and not (named.get("aria-label") or named.get("aria-hidden")):
            self.faults.append("a picture without words")
        if tag == "th" and "scope" not in named:
            self.faults.append("a title without scope")
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        self.addresses += [value for key, value in attrs if key in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def wild():
    clip = walker(120)
    rotations = np.array(clip.pose.rotations)
    rotations[40:50, clip.skeleton.index(ELBOW)] = quat.exp(np.radians([0.0, 60.0, 0.0]))
    return Clip(clip.skeleton, Pose(rotations, clip.pose.positions), clip.frame_time, "<wild> & b")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_clip(walker(120), "walk.bvh")
    save_clip(wild(), "wild.bvh")
    return tmp_path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_has_ranges_norms_and_limits(folder):
    said = run("report", "walk.bvh")
    line = next(line for line in said.splitlines() if line.startswith("left elbow        flexion"))
    assert "-3 to 143" in line
    assert "-14 to 160" in line


def test_curves_and_ranges_agree(folder):
    angles = rows_of(run("report", "wild.bvh", "--csv", "-"))
    ranges = rows_of(run("report", "wild.bvh", "--ranges", "-"))
    assert len(angles) == 120
    assert [row["frame"] for row in angles] == [str(frame) for frame in range(120)]
    for row in ranges:
        column = [float(each[f"{row['joint']} {row['axis']} (deg)"]) for each in angles]
        assert float(row["min_deg"]) == pytest.approx(min(column), abs=1e-3)
        assert column[int(row["max_frame"])] == pytest.approx(max(column), abs=1e-3)
    elbow = next(row for row in ranges if (row["joint"], row["axis"]) == ("left elbow", "flexion"))
    assert float(elbow["min_deg"]) == pytest.approx(-60.0, abs=1.0)
    assert int(elbow["impossible_frames"]) == 10
    assert elbow["norm_high_deg"] == "142.9"


@pytest.mark.parametrize("clips", [["wild.bvh"], ["walk.bvh", "wild.bvh"]], ids=["one", "two"])
def test_the_page_is_whole_and_readable(folder, clips):
    run("report", *clips, "-o", "report.html")
    text = (folder / "report.html").read_text("utf-8")
    page = Page(text)
    assert page.faults == []
    assert page.open == []
    assert page.addresses == []  # nothing is loaded from elsewhere
    assert page.headings[0] == 1
    assert max(np.diff(page.headings)) <= 1
    assert page.counts["table"] >= 6
    assert "left elbow: 4" in text
    assert "impossible in 10 frames" in text
    assert ("used in B" in text) == (len(clips) == 2)
    assert len(text) < 400_000


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["walk.bvh", "-o", "report.pdf"], "--output must end in .html or .htm, got 'report.pdf'"),
        (["walk.bvh", "wild.bvh", "three.bvh", "-o", "r.html"], "--output takes one or two clips"),
        (["walk.bvh", "--csv", "-", "--ranges", "-"], "choose one"),
        (["walk.bvh", "--csv", "walk.bvh"], "walk.bvh"),
        (["walk.bvh", "--csv", "a.csv", "--ranges", "./a.csv"], "two outputs would go to a.csv"),
        (["no.bvh"], "no.bvh"),
    ],
)
def test_refusals_are_sentences(folder, words, why):
    save_clip(walker(30), "three.bvh")
    result = result_of("report", *words, code=2)
    assert why in result.stderr
    assert not list(folder.glob("*.html"))
