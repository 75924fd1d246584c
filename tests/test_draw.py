"""Pictures: they hold something, they say the same twice, and they leave no state behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oracles import EXHAUSTIVE
from synovia import Box, Limit, LimitModel, RotationVector, human_limits, quat
from synovia.demo import JOINTS, range_of_motion, wild
from synovia.demo.clips import ANCESTORS
from synovia.draw import (
    draw_joint,
    draw_limit,
    draw_overview,
    draw_skeleton,
    draw_violation,
    save_picture,
)
from synovia.draw.sphere import TWIST_COLOURS
from synovia.draw.style import new_figure, readable_name
from synovia.limit import chart_for
from synovia.shapes import SHAPES

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model():
    return LimitModel.fit([range_of_motion(frames=600)], joints=JOINTS, relative_to=ANCESTORS)


def pixels(figure):
    """Return the picture as (rows, columns, 4), 0 to 1."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()) / 255.0


def coloured(picture):
    """Return the share of a picture's pixels that are not white."""
    return float((picture[..., :3] < 0.99).any(axis=-1).mean())


def test_the_overview_is_a_full_picture_of_its_size(model):
    clip = wild()
    figure = draw_overview(
        model,
        clip,
        model.project(clip),
        joint="RightUpperArm",
        samples=human_limits().limits["RightUpperArm"].sample(600, np.random.default_rng(0)),
        frames=[100, 200, 300],
    )
    picture = pixels(figure)
    assert picture.shape[:2] == (900, 1600)
    assert coloured(picture) > 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_can_be_drawn_with_samples_or_without(shape, rng):
    rotations = human_limits().limits["LeftUpperLeg"].sample(300, rng)
    limit = Limit.fit(rotations, shape, chart_for(shape, None))
    if EXHAUSTIVE or shape in ("box", "reach-cone"):
        assert coloured(pixels(draw_limit(limit))) > 0.05
    assert coloured(pixels(draw_limit(limit, rotations, title="Left hip"))) > 0.05


def test_a_hinge_without_margin_is_thin_and_can_be_drawn(rng):
    bent = quat.exp(rng.uniform(0.0, 2.0, (100, 1)) * [[-1.0, 0.1, 0.0]])
    limit = Limit.fit(bent, "box", margin=0.0)
    assert coloured(pixels(draw_limit(limit))) > 0.01


def test_violations_are_a_strip_with_a_row_for_each_joint(model):
    report = model.check(wild())
    every = pixels(draw_violation(report))
    some = pixels(draw_violation(report, joints=["Head", "LeftLowerArm"]))
    assert coloured(every) > 0.1
    assert every.shape[0] > some.shape[0]


def test_joints_outside_are_red():
    skeleton = wild().skeleton
    counts = []
    for outside in ((), ("LeftUpperArm",)):
        figure = new_figure(400, 400)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        draw_skeleton(axes, skeleton, skeleton.rest_pose(), outside=outside)
        red, green, blue, _ = np.moveaxis(pixels(figure), -1, 0)
        counts.append(int(((red > 0.7) & (green < 0.4) & (blue < 0.5)).sum()))
    assert counts[0] == 0
    assert counts[1] > 100


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RightShoulder", "right shoulder"),
        ("left_arm", "left arm"),
        ("Head", "head"),
        ("LHIP", "LHIP"),
        ("LHipJoint", "l hip joint"),
    ],
)
def test_joints_are_named_as_people_say_them(name, said):
    assert readable_name(name) == said


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures_are_saved_whole_in_the_format_of_their_suffix(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    save_picture(new_figure(50, 50), path)
    assert path.stat().st_size > 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_suffix_that_is_no_pictures_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"picture\.xyz: a picture's suffix must be one of"):
        save_picture(new_figure(50, 50), tmp_path / "picture.xyz")
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_no_global_state(model):
    import matplotlib
    import matplotlib.pyplot as plt

    plt.close("all")
    mine = plt.figure()
    before = dict(matplotlib.rcParams)
    pixels(draw_violation(model.check(wild())))
    pixels(draw_limit(model.limits["Head"]))
    assert plt.get_fignums() == [mine.number]
    assert dict(matplotlib.rcParams) == before
    plt.close(mine)


def test_importing_the_room_does_not_import_matplotlib():
    program = "import sys, synovia.draw; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=120, check=False).returncode == 0


def test_curves_are_drawn_with_a_name_each():
    from synovia.draw import draw_tradeoff
    from synovia.evidence import TradeoffCurve as Curve

    margins = [0.0, 0.1, 0.2]
    found = [
        Curve("kdop in swing-twist", margins, [0.2, 0.05, 0.0], [0.1, 0.2, 0.3]),
        Curve("nearest frame", margins, [0.3, 0.1, 0.01], [0.0, 0.2, 0.4]),
    ]
    figure = draw_tradeoff({"LeftArm": found, "Head": found}, reject=0.01)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["left arm", "head"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["kdop in swing-twist", "nearest frame"]
    assert coloured(pixels(figure)) > 0.02
    with pytest.raises(ValueError, match="at least one panel"):
        draw_tradeoff({})


@pytest.mark.parametrize("reach", [(1.2, 0.4, 0.3), (0.3, 0.4, 1.2)])
def test_labels_of_a_joint_are_on_the_sheet(reach):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    box = Box(-np.array(reach), np.array(reach), np.eye(3))
    figure = draw_joint(Limit(RotationVector(), box), title="LeftHip")
    FigureCanvasAgg(figure).draw()
    space = next(axes for axes in figure.axes if axes.name == "3d")
    sheet = figure.bbox
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        label = axis.label.get_window_extent()
        assert sheet.x0 <= label.x0 <= label.x1 <= sheet.x1
        assert sheet.y0 <= label.y0 <= label.y1 <= sheet.y1


def test_widths_of_twist_have_the_colours_of_the_page():
    source = Path(__file__).parents[1] / "web" / "src" / "stage" / "colours.ts"
    (colours,) = re.findall(r"const TWIST = \[(.*)\];", source.read_text(encoding="utf-8"))
    assert re.findall(r"#\w{6}", colours) == list(TWIST_COLOURS)


def test_a_map_has_the_colours_of_its_spheres(rng):
    directions = quat.exp(rng.normal(size=(300, 3)) * (0.5, 0.3, 0.2))
    figure = draw_joint(Limit.fit(directions, "theta-phi", axis=[0.0, 0.0, 1.0]))
    spans = {image.get_clim() for axes in figure.axes for image in axes.images}
    assert len(spans - {(0.0, 1.0)}) == 1
