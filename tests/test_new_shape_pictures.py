"""A new shape is one file and one line: it is drawn and edited, too, by what Region gives it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clips import clip
from command_line import run
from oracles import EXHAUSTIVE
from plugins import load, register
from synovia import DirectionTwist, Limit, LimitModel, RotationVector, Skeleton, mirror_limit, quat
from synovia.charts import CHARTS
from synovia.io import save_limits
from synovia.mesh import DRAFT, boundary, coordinate_names, sheet_and_boundary
from synovia.shapes import SHAPES, Box
from synovia.shapes.mesh import shape_surface
from synovia.view import messages
from synovia.view.answers import answer
from synovia.view.scene import scene_of
from synovia.view.session import Session

Ball, Torus = load("shapes", "ball").Ball, load("shapes", "torus").Torus
RoundCone = load("shapes", "round_cone").RoundCone
REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
AXIS = np.array([0.0, 0.6, 0.8])
ARM = "LeftArm"
STEP = np.radians(0.1)


CONE = RoundCone([0.28, 0.0, 0.96], 0.7, 0.5)
LIMITS = {
    "ball in rotation-vector": (RotationVector(REFERENCE), Ball(0.7)),
    "ball in swing-twist": (CHARTS["swing-twist"](REFERENCE, AXIS), Ball(0.7)),
    "torus": (RotationVector(REFERENCE), Torus(0.8, 0.25, np.eye(3)[2])),
    "grown torus": (RotationVector(REFERENCE), Torus(0.8, 0.25, np.eye(3)[2]).grow(0.05)),
    "round cone": (DirectionTwist(REFERENCE, np.eye(3)[2]), CONE),
    "grown round cone": (DirectionTwist(REFERENCE, np.eye(3)[2]), CONE.grow(0.05)),
}


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in (Ball, Torus, RoundCone):
        register(monkeypatch, SHAPES, kind)


FEW = ("ball in swing-twist", "grown torus", "grown round cone")
"""CI draws one of each shape: what is grown is drawn from what is not."""


@pytest.fixture(params=LIMITS if EXHAUSTIVE else FEW)
def limit(request):
    return Limit(*LIMITS[request.param])


@pytest.fixture(params=LIMITS if EXHAUSTIVE else ("grown torus",))
def solid(request):
    """One that pictures are drawn of, which takes long."""
    return Limit(*LIMITS[request.param])


@pytest.fixture(params=LIMITS if EXHAUSTIVE else ("grown round cone",))
def edited(request):
    return Limit(*LIMITS[request.param])


def sampled(mesh, n, rng):
    """Points on the drawn triangles, uniform by area, and the outward normals there."""
    corners = mesh.vertices[mesh.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    which = rng.choice(len(corners), n, p=area / area.sum())
    points = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(3), n), corners[which])
    return points, normals[which] / area[which, None]


def test_what_is_drawn_is_where_contains_changes(limit, rng):
    points, normals = sampled(boundary(limit), 400, rng)
    for sign in (-1.0, 1.0):
        moved = quat.mul(REFERENCE, quat.exp(points + sign * STEP * normals))
        assert (limit.contains(moved) == (sign < 0.0)).mean() > 0.98


def test_a_draft_is_small(limit):
    drawn = sheet_and_boundary(limit, AXIS, DRAFT)
    assert 20 < len(drawn[1].triangles) < 5000
    assert len(drawn[0].rim) > 2


def coloured(figure):
    """Return the share of pixels that are not white."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return float((np.asarray(canvas.buffer_rgba())[..., :3] < 252).any(axis=-1).mean())


def test_a_limit_is_drawn(solid):
    """The command line draws the cone."""
    pytest.importorskip("matplotlib")
    from synovia.draw import draw_joint, draw_limit

    assert coloured(draw_limit(solid)) > 0.02
    assert coloured(draw_joint(solid, solid.sample(50, np.random.default_rng(0)))) > 0.02


def test_the_command_line_draws_it(tmp_path):
    pytest.importorskip("matplotlib")
    limit = Limit(*LIMITS["grown round cone"])
    bones = clip(frames=2).skeleton
    save_limits(LimitModel({ARM: limit}, bones), tmp_path / "a.limits.json")
    picture = tmp_path / "a.png"
    if EXHAUSTIVE:  # what is drawn of all joints is a part of what is drawn of one
        run("draw", tmp_path / "a.limits.json", "-o", picture)
        assert picture.stat().st_size > 5000
    run("draw", tmp_path / "a.limits.json", "-j", ARM, "-o", picture)
    assert picture.stat().st_size > 20_000


# The page.


def ask(session, what, **given):
    return messages.unpack(answer(session, json.dumps({"id": 1, "ask": what, **given})))


def two_arms():
    names, parents = ("Hips", ARM, "LeftHand", "RightArm", "RightHand"), [-1, 0, 1, 0, 3]
    offsets = [[0, 0, 0], [1, 5, 0], [4, 0, 0], [-1, 5, 0], [-4, 0, 0]]
    return Skeleton(names, np.array(parents), np.array(offsets, dtype=float))


def test_the_page_has_its_picture_and_its_family(limit):
    session = Session(scene_of(LimitModel({ARM: limit}, two_arms())))
    header, arrays = ask(session, "region", joint=ARM)
    assert header["family"] == limit.shape.name
    assert header["numbers"] == []
    assert header["sculptable"] is False
    assert len(arrays["triangles"]) > 100
    assert len(arrays["corners"]) == 0
    header, _ = ask(session, "family", joint=ARM)
    names = {family["name"]: family for family in header["families"]}
    assert header["choice"]["family"] in names
    assert names["ball"] == {
        "name": "ball",
        "label": "Ball",
        "charts": list(Ball.charts),
        "sculptable": False,
    }
    assert [name for name, family in names.items() if family["sculptable"]] == ["distance-field"]


@pytest.mark.parametrize("family", ["ball", "torus", "round-cone"])
def test_a_limit_is_refitted_to_it(family):
    model = LimitModel.fit([clip(size=0.5, frames=60)], "box", joints=[ARM])
    session = Session(scene_of(model, clip("wild", size=0.6, frames=60)))
    chart = SHAPES[family].charts[0]
    for source in ("clip", "limit"):
        given = {"joint": ARM, "family": family, "chart": chart, "marginDeg": 3.0, "from": source}
        header, arrays = ask(session, "edit", **given, edit="refit", stroke="drag")
        assert "error" not in header
        assert header["family"] == family
        assert len(arrays["triangles"]) > 20
    ask(session, "undo", joint=ARM)
    assert session.scene.model.limits[ARM].shape.name == "box"


def test_a_pose_is_added_and_a_limit_is_mirrored(edited):
    session = Session(scene_of(LimitModel({ARM: edited}, two_arms())))
    pose = quat.mul(REFERENCE, quat.exp(np.array([0.9, 0.6, 0.5])))
    assert not edited.contains(pose)
    header, _ = ask(session, "edit", joint=ARM, edit="add-sample", rotation=pose.tolist())
    assert "error" not in header
    grown = session.scene.model.limits[ARM]
    assert grown.contains(pose)
    assert grown.contains(edited.sample(200, np.random.default_rng(0))).all()
    header, _ = ask(session, "edit", joint=ARM, edit="add-sample", rotation=pose.tolist())
    assert header["error"] == "this pose is inside already"
    header, _ = ask(session, "edit", joint=ARM, edit="mirror")
    assert "error" not in header
    header, arrays = ask(session, "region", joint="RightArm")
    assert len(arrays["triangles"]) > 20
    other = session.scene.model.limits["RightArm"]
    assert other.volume() == pytest.approx(grown.volume(), rel=0.1)


def test_what_it_cannot_do_is_refused_with_a_reason(limit):
    session = Session(scene_of(LimitModel({ARM: limit}, two_arms())))
    stroke = {"centers": [[0.0, 0.0, 0.0]], "radiusDeg": 10.0, "amountDeg": 2.0}
    for edit, given, says in (
        ("brush", stroke, "cannot be sculpted"),
        ("settle", {}, "cannot be sculpted"),
        ("move-point", {"index": 0, "point": [0, 0, 1]}, "only reach cones have points"),
        ("number", {"field": "radius", "index": 0, "deg": 10.0}, "has no number 'radius'"),
    ):
        header, _ = ask(session, "edit", joint=ARM, edit=edit, **given)
        assert says in header["error"]
    assert session.scene.model.limits[ARM] is limit


def test_a_mirrored_shape_faces_outwards(rng):
    limit = Limit(RotationVector(REFERENCE), Torus(0.8, 0.25, np.array([0.6, 0.0, 0.8])))
    there = mirror_limit(limit, np.array([1.0, 0.2, 0.0]))
    surface = shape_surface(there.shape)
    a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
    volume = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(limit.shape.measure, rel=0.1)


# A new chart.


def test_a_limit_in_a_new_chart_is_drawn(monkeypatch, rng):
    pytest.importorskip("matplotlib")
    from synovia.draw import draw_joint

    kind = load("charts", "modified_rodrigues").ModifiedRodrigues
    register(monkeypatch, CHARTS, kind)
    limit = Limit(kind(REFERENCE), Box([-0.5, -0.4, -0.3], [0.6, 0.5, 0.4], np.eye(3)))
    points, normals = sampled(boundary(limit), 400, rng)
    for sign in (-1.0, 1.0):
        moved = quat.mul(REFERENCE, quat.exp(points + sign * STEP * normals))
        assert (limit.contains(moved) == (sign < 0.0)).mean() > 0.98
    assert coloured(draw_joint(limit)) > 0.02
    session = Session(scene_of(LimitModel({ARM: limit}, two_arms())))
    header, _ = ask(session, "region", joint=ARM)
    assert {number["row"] for number in header["numbers"]} == set(coordinate_names(kind))
