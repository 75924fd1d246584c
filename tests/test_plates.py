"""Plates: several poses of a figure in one picture, as data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from synovia import save_figure
from synovia.anatomy.shoulder import shoulders
from synovia.cli import main
from synovia.draw import PLATES, Plate, draw_plate
from synovia.draw.style import REGION

pytest.importorskip("matplotlib")


def pixels(picture):
    """The picture's colours (rows, columns, 3), 0 to 1."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3] / 255.0


def colored(drawn, color):
    """The share of pixels that are nearly of a colour."""
    from matplotlib.colors import to_rgb

    return float((np.abs(drawn - to_rgb(color)).max(axis=-1) < 0.02).mean())


def greenish(drawn):
    """The share of pixels that are of bones in green, in whatever light."""
    red, green, blue = np.moveaxis(drawn, -1, 0)
    return float(((green > 1.3 * red) & (green > blue)).mean())


def test_the_shoulders_plate_is_drawn():
    plate = PLATES["scapula"]
    picture = draw_plate(shoulders(), plate)
    assert len(picture.axes) == len(plate.poses) == 4
    drawn = pixels(picture)
    assert greenish(drawn) > 0.005
    one = {"at rest": plate.poses["at rest"]}
    plain = replace(plate, poses=one, highlighted=())
    assert greenish(pixels(draw_plate(shoulders(), plain))) < 0.001
    edges = {tuple(np.round(axes.get_xlim(), 9)) for axes in picture.axes}
    assert len(edges) == 1  # all to one scale
    assert set(plate.poses) <= {each.get_text() for each in picture.texts}
    bare = draw_plate(shoulders(), replace(plate, poses=one, ellipsoids=False))
    assert colored(drawn, REGION) > colored(pixels(bare), REGION) + 1e-4


def test_panels_may_be_about_a_joint():
    plate = replace(PLATES["scapula"], zoom=("RightScapula", 0.2))
    for axes in draw_plate(shoulders(), plate).axes:
        np.testing.assert_allclose(np.ptp([axes.get_xlim(), axes.get_ylim()], axis=1), 0.4)


def test_a_plate_of_bones_that_are_not_there_is_refused():
    with pytest.raises(ValueError, match="must have bones like Wing, got none"):
        draw_plate(shoulders(), Plate("Wings", {"": {}}, segments=("Wing",)))


def test_the_command_line_draws_plates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(main, ["draw", "--plate", "scapula", "-o", "scapula.png"])
    assert done.output == "wrote scapula.png\n"
    save_figure(shoulders(1.9), "tall.xml")
    done = run(main, ["draw", "tall.xml", "--plate", "scapula", "-o", "tall.svg"])
    assert done.output == "wrote tall.svg\n", done.output
    for arguments, words in (
        (["--plate", "wing"], "'wing' is not one of 'knee', 'scapula'"),
        (["tall.xml", "--plate", "knee"], "must have bones like LeftUpperLeg"),
        (["tall.xml", "--plate", "scapula", "--joint", "LeftHip"], "give one of them"),
    ):
        refused = run(main, ["draw", *arguments, "-o", "no.png"])
        assert refused.exit_code != 0
        assert words in refused.output + str(refused.exception)
    assert not (tmp_path / "no.png").exists()
