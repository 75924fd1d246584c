"""Plates: several poses of a figure in one picture, as data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from oracles import EXHAUSTIVE
from synovia import Figure, Skeleton, save_figure
from synovia.anatomy.shoulder import shoulders
from synovia.cli import main
from synovia.components import DEGREE, Control, Curve, JointSet, Network, OneToMany, Rotation
from synovia.draw import draw_plate, plates
from synovia.draw.plate import Plate, center_of_motion
from synovia.draw.style import REGION

pytest.importorskip("matplotlib")

CENTERS = np.array([[0.0, -0.1, 0.02], [0.0, 0.3, 0.05]])


@pytest.fixture(scope="module")
def hinge():
    """A leg whose hinge has one centre up to 40 degrees, and another from there on."""
    parts = {
        "map": OneToMany({"angle": Curve.linear((0.0, 0.0), (90.0, 90.0), y_scale=DEGREE)}),
        "turn": Rotation([1, 0, 0], [0.0, 40.0 * DEGREE, 90.0 * DEGREE], CENTERS),
    }
    wires = {"map.value": "flexion", "turn.angle": "map.angle"}
    network = Network(parts, wires, {"Shank": "turn.matrix"})
    skeleton = Skeleton(
        ("Thigh", "Shank"), [-1, 0], [[0, 0, 0], [0, -1.0, 0]], (), [1], [[0.0, -1.0, 0.0]]
    )
    return Figure(skeleton, {"knee": JointSet(network, {"flexion": Control(0, 90, 0, "degrees")})})


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


CAPTIONS = {
    "abduction": {"right shoulder abduction 60°"},
    "scapula": {"at rest", "shoulder elevation 35°"},
}


@pytest.mark.parametrize("name", ["abduction", "scapula"] if EXHAUSTIVE else ["scapula"])
def test_the_shoulders_plates_are_drawn(name):
    plate = plates()[name]
    picture = draw_plate(shoulders(), plate)
    assert len(picture.axes) == len(plate.poses) == 4
    drawn = pixels(picture)
    assert greenish(drawn) > 0.005
    plain = replace(plate, poses=plate.poses[:1], highlighted=())
    assert greenish(pixels(draw_plate(shoulders(), plain))) < 0.001
    edges = {tuple(np.round(axes.get_xlim(), 9)) for axes in picture.axes}
    assert len(edges) == 1  # all to one scale
    texts = {each.get_text() for each in picture.texts}
    assert CAPTIONS[name] <= texts  # of what both sides do, once
    bare = draw_plate(shoulders(), replace(plate, poses=plate.poses[:1], ellipsoids=False))
    assert colored(drawn, REGION) > colored(pixels(bare), REGION) + 1e-4


def test_the_centre_of_a_motion_is_found(hinge):
    joint = np.array([0.0, -1.0, 0.0])
    for angle, center in ((20.0, CENTERS[0]), (70.0, CENTERS[1])):
        found = center_of_motion(hinge, {"knee.flexion": angle}, "Shank", "knee.flexion")
        assert np.abs(found - (joint + center)).max() < 1e-9


def test_a_moving_centre_is_marked(hinge):
    plate = Plate("A hinge", ({"knee.flexion": 20.0}, {"knee.flexion": 70.0}), yaw=-90.0)
    marked = draw_plate(hinge, replace(plate, moving_segment="Shank"))
    assert len(marked.axes) == 3
    places = [axes.lines[-1].get_xydata()[0] for axes in marked.axes[:2]]
    assert abs(places[1][1] - places[0][1] - 0.4) < 0.02
    near = draw_plate(hinge, replace(plate, moving_segment="Shank", zoom_radius=0.1)).axes[0]
    assert np.ptp(near.get_xlim()) == pytest.approx(0.2)
    assert not draw_plate(hinge, plate).axes[0].lines


def test_the_way_of_a_moving_centre_is_shown_enlarged(hinge):
    poses = tuple({"knee.flexion": angle} for angle in (10.0, 20.0, 70.0))
    picture = draw_plate(
        hinge,
        Plate("A hinge", poses, pitch=0.0, yaw=-90.0, moving_segment="Shank", zoom_radius=2.0),
    )
    panels, trail = picture.axes[:3], picture.axes[3]
    assert [each.get_text() for each in trail.texts] == ["10°", "20°", "70°", "100 mm"]
    dots = np.array([line.get_xydata()[0] for line in trail.lines if line.get_marker() == "o"])
    there = [axes.lines[-1].get_xydata()[0] for axes in panels]
    np.testing.assert_allclose(dots, there, atol=1e-9)
    # In the view from the side z is to the left; both centres, and nothing farther off, are shown.
    np.testing.assert_allclose(np.ptp(dots, axis=0), [0.03, 0.4], atol=1e-9)
    way = trail.lines[0].get_xydata()
    assert np.abs(way.min(axis=0) - dots.min(axis=0)).max() < 1e-9
    assert np.abs(way.max(axis=0) - dots.max(axis=0)).max() < 1e-9
    assert np.ptp(trail.get_ylim()) == pytest.approx(1.5 * 0.4)
    assert any("6 times as large" in each.get_text() for each in picture.texts)


def test_a_plate_of_bones_that_are_not_there_is_refused(hinge):
    with pytest.raises(ValueError, match="must have bones like Wing, got none"):
        draw_plate(hinge, Plate("Wings", ({},), segments=("Wing",)))


def test_the_command_line_draws_plates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(main, ["draw", "--plate", "scapula", "-o", "scapula.png"])
    assert done.output == "wrote scapula.png\n"
    save_figure(shoulders(1.9), "tall.xml")
    done = run(main, ["draw", "tall.xml", "--plate", "abduction", "-o", "abduction.svg"])
    assert done.output == "wrote abduction.svg\n", done.output
    for arguments, words in (
        (
            ["--plate", "wing"],
            "--plate must be one of knee, abduction, scapula",
        ),
        (["tall.xml", "--plate", "knee"], "no control 'left_knee.flexion'"),
        (["tall.xml", "--plate", "scapula", "--joint", "LeftHip"], "give one of them"),
    ):
        refused = run(main, ["draw", *arguments, "-o", "no.png"])
        assert refused.exit_code != 0
        assert words in refused.output + str(refused.exception)
    assert not (tmp_path / "no.png").exists()
