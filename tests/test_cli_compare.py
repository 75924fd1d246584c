"""`synovia compare`: a table, JSON, a picture, warnings about doubles, and errors that help."""

from __future__ import annotations

import json
import shutil

import click
import pytest
from click.testing import CliRunner

from clips import person
from synovia import save_clip
from synovia.cli import main
from synovia.cli.compare import family_lines, format_bytes, short_name
from synovia.evidence import Trial, families
from synovia.evidence.comparison import Outcome

PEOPLE = (("ann_1", 1.0), ("ann_2", 1.0), ("bob_1", 1.1), ("cat_1", 0.9))


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    for seed, (name, tall) in enumerate(PEOPLE):
        save_clip(person(name, seed, tall=tall), folder / f"{name}.bvh")
    return folder


SOME = ["box", "kdop", "product"]


def test_the_table_has_the_closest_family_first(studio):
    said = run(
        studio, "-j", "Chest,LeftArm", "-s", ",".join(SOME), "--reject", "5%"
    ).stdout.splitlines()
    assert said[0] == "left out in turn: 3 performers (ann, bob, cat)"
    assert said[2] == "families over 2 joints at the least margin for 5.0% rejected"
    assert said[3].split()[:4] == ["family", "margin", "rejected", "95th"]
    table = said[4 : 4 + len(families(SOME))]
    assert {line[: line.index("  ")] for line in table} == {
        *("box vector", "box swing", "kdop vector", "kdop swing", "product")
    }
    closest = next(line for line in said if line.startswith("closest: "))
    assert closest.startswith(f"closest: {table[0].split()[0]} in ")
    assert sum(line.startswith(("Chest ", "LeftArm ")) for line in said) == 2
    assert max(map(len, said)) <= 100


def test_all_shows_every_family_at_every_joint(studio):
    said = run(studio, "-j", "Chest,LeftArm", "-s", "box", "--all", "--reject", "5%").stdout
    assert said.count("box swing ") >= 3


def test_lines_with_every_family_have_room_for_their_names():
    trials = [
        Trial(
            joint="LeftShoulderBlade",
            shape=shape,
            chart=chart,
            outcome=Outcome(1.2, {"dancer 12": 0.123}, 0.25, 0.01, 0.1),
            met_target=True,
            bytes=345_678,
            ns=1234.5,
            curve=None,
        )
        for shape, chart in families()
    ]
    assert max(map(len, map(short_name, trials))) <= 21
    lines = [click.unstyle(line) for line in family_lines("all", trials)]
    assert max(map(len, lines)) <= 100
    names = [line[: line.index("  ")] for line in lines[2:]]
    assert names == [short_name(trial) for trial in trials]
    assert len(set(names)) == len(trials)


@pytest.mark.parametrize(
    ("n", "said"), [(840, "840"), (4453, "4.45k"), (345_678, "346k"), (1_234_567, "1.23M")]
)
def test_sizes_are_short(n, said):
    assert format_bytes(n) == said


def test_json_is_all_that_is_printed(studio):
    document = json.loads(run(studio, "-j", "LeftArm", "-s", "box,kdop", "--json").stdout)
    assert document["reject"] == 0.01
    assert document["left_out"] == ["ann", "bob", "cat"]
    rows = document["joints"]["LeftArm"]
    assert {row["shape"] for row in rows} == {"box", "kdop"}
    assert set(rows[0]["rejected_by"]) == {"ann", "bob", "cat"}
    assert len(rows[0]["curve"]) > 5


def test_clips_can_be_left_out(studio):
    arguments = (studio, "-j", "LeftArm", "-s", "box", "--by", "clip", "--json")
    document = json.loads(run(*arguments).stdout)
    assert document["left_out"] == [name for name, _ in PEOPLE]


def test_a_quick_look_says_that_it_is_one(studio):
    said = run(studio, "-s", "box", "--quick").stdout
    assert said.startswith("a quick look at the joints that move most")
    assert "families over 3 joints" in said
    assert json.loads(run(studio, "-s", "box", "--quick", "--json").stdout)["quick"] is True


def test_the_trade_off_is_drawn(studio, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "tradeoff.png"
    said = run(studio, "-j", "Chest,LeftArm", "-s", "box", "-o", path).stdout
    assert f"wrote {path}" in said
    assert path.read_bytes().startswith(b"\x89PNG")


def test_doubles_are_warned_of_and_merged(studio, tmp_path):
    for path in studio.glob("*.bvh"):
        shutil.copy(path, tmp_path)
    shutil.copy(studio / "bob_1.bvh", tmp_path / "dan_1.bvh")
    result = run(tmp_path, "-j", "LeftArm", "-s", "box")
    assert "warning: the same clip under several names: bob_1, dan_1" in result.stderr
    assert "warning: performers with the same bones, taken for one person: bob, dan" in (
        result.stderr
    )
    assert "warning: merged, so that nobody is tested on themselves: bob=dan" in result.stderr
    assert "3 performers (ann, bob=dan, cat)" in result.stdout


def test_performers_can_be_said(studio, tmp_path):
    table = tmp_path / "people.csv"
    rows = [f"{studio / name}.bvh,{'x' if name < 'b' else name}" for name, _ in PEOPLE]
    table.write_text("\n".join(["path,performer", *rows]))
    said = run(table, "-j", "LeftArm", "-s", "box").stdout
    assert "3 performers (x, bob_1, cat_1)" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--shapes", "blob"), "shape must be one of"),
        (("--joints", "Tail"), "no joint 'Tail'"),
        (("--reject", "7"), "must be a share"),
        (("-p", "(nn)"), "finds nobody"),
        (("-p", "_(1|2)", "-s", "box", "-j", "Tail"), "no joint 'Tail'"),
        (("-p", "(.)vh",), "takes two or more"),
        (("-o", "picture.xyz"), "a picture's suffix must be one of"),
        (("-o", "nowhere/picture.png"), "no such directory"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(studio, arguments, said):
    if "-o" in arguments:
        pytest.importorskip("matplotlib")
    assert said in run(studio, *arguments, code=2).stderr
