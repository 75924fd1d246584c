"""Families at the page: refits, brush and numbers are what the library makes."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from clips import clip, person
from synovia import Box, Limit, LimitModel, RotationVector, quat
from synovia.edit import push
from synovia.io.limits import FILES
from synovia.schema import encode
from synovia.shapes import SHAPES
from synovia.shapes.mesh import shape_surface
from synovia.view import answers, messages
from synovia.view.families import families
from synovia.view.scene import scene_of
from synovia.view.session import Session

ARM = "LeftArm"


@pytest.fixture(scope="module")
def shown():
    """A clip of an arm, and boxes for it that were fitted to another."""
    model = LimitModel.fit([clip(size=0.4, frames=80)], "box", margin=0.02)
    return scene_of(model, clip("wild", size=0.6, frames=150, seed=3))


@pytest.fixture
def session(shown):
    return Session(shown)


@pytest.fixture(scope="module")
def populous():
    """Limits that kept what three people did, shown with another clip."""
    people = [person(f"{who}_1", seed, frames=60) for seed, who in enumerate(("ann", "bo", "cy"))]
    model = LimitModel.fit(people, "kdop", keep_samples=True, joints=["Chest", ARM])
    return scene_of(model, clip("wild", size=0.6, frames=50))


def ask(session, what, **given):
    header, arrays = messages.unpack(
        answers.answer(session, json.dumps({"id": 1, "ask": what, **given}))
    )
    return header, arrays


def chosen(family, *, chart=None, margin_deg=3.0, source="clip", joint=ARM):
    return {
        "joint": joint,
        "edit": "refit",
        "family": family,
        "chart": chart,
        "marginDeg": margin_deg,
        "from": source,
    }


def assert_same(one, other):
    assert encode(one, FILES) == encode(other, FILES)


@pytest.mark.parametrize("family", families())
def test_a_refit_is_what_fit_makes_of_the_clip(session, family):
    kind = families()[family]
    for chart in SHAPES[kind.shape].charts[:2]:
        header, _ = ask(session, "edit", **chosen(family, chart=chart))
        assert header["chart"] == chart
        fitted = LimitModel.fit(
            [session.scene.clip],
            kind.shape,
            chart,
            margin=np.radians(3.0),
            joints=[ARM],
            **dict(kind.options),
        )
        assert_same(session.scene.model.limits[ARM], fitted.limits[ARM])
    assert header["choice"]["family"] == family
    assert header["state"]["undo"] == f"{kind.label[0].lower()}{kind.label[1:]} for {ARM}"


def test_a_refit_keeps_what_a_limit_is_measured_from():
    rom, above = clip(size=0.5, frames=90), {ARM: "Hips"}
    model = LimitModel.fit([rom], "box", joints=[ARM], relative_to=above)
    session = Session(scene_of(model, rom))
    ask(session, "edit", **chosen("kdop", margin_deg=2.0))
    fitted = LimitModel.fit([rom], "kdop", joints=[ARM], relative_to=above, margin=np.radians(2.0))
    assert_same(session.scene.model.limits[ARM], fitted.limits[ARM])


def test_kept_samples_are_refitted_whole(populous):
    session = Session(populous)
    header, _ = ask(session, "family", joint=ARM)
    assert header["choice"]["from"] == "samples"
    assert [source["why"] for source in header["sources"]] == [None, None, None]
    ask(session, "edit", **chosen("kdop", source="samples"))
    samples = populous.source.samples[ARM]
    fitted = Limit.fit(
        [sample.rotations for sample in samples],
        "kdop",
        "swing-twist",
        margin=np.radians(3.0),
        axis=[1.0, 0.0, 0.0],
    )
    assert_same(session.scene.model.limits[ARM], fitted)
    header, arrays = ask(session, "observed", joint=ARM, most=1000)
    assert (len(header["performers"]), header["count"]) == (3, len(arrays["rotations"]))
    assert np.allclose(
        arrays["rotations"], np.concatenate([each.rotations for each in samples]), atol=1e-6
    )
    assert len(ask(session, "observed", joint=ARM, most=7)[1]["rotations"]) <= 7
    assert ask(session, "observed", joint="LeftHand", most=7)[0]["count"] == 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"family": "sponge"}, "family must be one of box"),
        ({"chart": "direction-twist"}, "kdop works in rotation-vector or swing-twist"),
        ({"from": "hearsay"}, "from: expected samples or clip or limit, got 'hearsay'"),
        ({"marginDeg": -1}, "marginDeg: expected a number from 0 to 90, got -1"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(session, wrong, says):
    assert re.search(says, ask(session, "edit", **{**chosen("kdop"), **wrong})[0]["error"])


def test_what_a_fit_warns_of_is_told():
    model = LimitModel.fit([clip(frames=60)], "box", joints=[ARM])
    session = Session(scene_of(model, clip(size=1.4, frames=60)))
    header, _ = ask(session, "edit", **chosen("box", margin_deg=90.0))
    assert any("opposite the bone" in said for said in header["remarks"])
    assert ask(session, "family", joint=ARM)[0]["remarks"] == header["remarks"]
    assert ask(session, "edit", **chosen("box", margin_deg=1.0))[0]["remarks"] == []


@pytest.mark.parametrize("chart", ["rotation-vector", "swing-twist", "euler"])
def test_the_brush_pushes_where_the_page_points(session, chart):
    ask(session, "edit", **chosen("distance-field", chart=chart))
    limit = session.scene.model.limits[ARM]
    point = shape_surface(limit.shape).vertices[40]
    rotation = limit.chart.rotations(point)
    vector = quat.log(quat.mul(quat.inverse(limit.chart.reference), rotation))
    given = {"joint": ARM, "edit": "brush", "radiusDeg": 12.0, "amountDeg": 2.0, "stroke": "s"}
    header, _ = ask(session, "edit", **given, centers=[vector.tolist()])
    assert "error" not in header
    once = push(limit.shape, point, np.radians(12.0), np.radians(2.0))
    brushed = session.scene.model.limits[ARM].shape
    assert np.allclose(brushed.values, once.values, atol=1e-9)
    assert brushed.value(point) < limit.shape.value(point) - 0.01
    given["amountDeg"] = -1.0
    ask(session, "edit", **given, centers=[vector.tolist()] * 2)
    again = push(
        push(once, point, np.radians(12.0), -np.radians(1.0)),
        point,
        np.radians(12.0),
        -np.radians(1.0),
    )
    assert np.allclose(session.scene.model.limits[ARM].shape.values, again.values, atol=1e-9)
    ask(session, "undo", joint=ARM)
    assert session.scene.model.limits[ARM] is limit


def test_only_fields_are_brushed(session):
    given = {"joint": ARM, "edit": "brush", "radiusDeg": 12.0, "amountDeg": 2.0}
    header, _ = ask(session, "edit", **given, centers=[[0, 0, 0]])
    assert header["error"] == "a box cannot be sculpted: make it a distance field"
    ask(session, "edit", **chosen("distance-field"))
    for centers in ([], [[0, 0, 0]] * 33, [0, 0, 0]):
        assert "centers: expected" in ask(session, "edit", **given, centers=centers)[0]["error"]


@pytest.mark.parametrize(
    "family",
    [
        *("box", "ellipsoid", "kdop", "product"),
        *("reach-cone", "union", "theta-phi", "distance-field"),
    ],
)
def test_the_present_pose_becomes_a_sample(session, family):
    ask(session, "edit", **chosen(family))
    limit = session.scene.model.limits[ARM]
    pose = quat.mul(limit.chart.reference, quat.exp(np.array([0.9, -0.5, 0.6])))
    assert not limit.contains(pose)
    ask(session, "edit", joint=ARM, edit="add-sample", rotation=pose.tolist())
    grown = session.scene.model.limits[ARM]
    assert grown.distance(pose) <= 1e-9
    inside = limit.sample(500, np.random.default_rng(0))
    assert grown.contains(inside).all()


@pytest.mark.parametrize("family", ["box", "ellipsoid", "kdop", "product", "reach-cone", "union"])
def test_a_pose_that_is_inside_makes_no_step(session, family):
    ask(session, "edit", **chosen(family))
    limit = session.scene.model.limits[ARM]
    pose = limit.sample(1, np.random.default_rng(0))[0]
    header, _ = ask(session, "edit", joint=ARM, edit="add-sample", rotation=pose.tolist())
    assert header["error"] == "this pose is inside already"
    assert session.scene.model.limits[ARM] is limit


@pytest.mark.parametrize("family", ["box", "oriented-box", "ellipsoid", "kdop", "product"])
def test_numbers_are_those_of_the_shape(session, family):
    ask(session, "edit", **chosen(family, chart="swing-twist"))
    header, _ = ask(session, "region", joint=ARM)
    numbers = header["numbers"]
    for number in numbers[:: max(1, len(numbers) // 4)]:
        shape = session.scene.model.limits[ARM].shape
        owner, _, field = number["field"].rpartition(".")
        value = np.atleast_1d(getattr(shape.swing if owner else shape, field))[number["index"]]
        assert number["deg"] == pytest.approx(np.degrees(value), abs=1e-5)
        wider = number["deg"] + (-1.0 if field == "low" else 1.0)
        given = {"field": number["field"], "index": number["index"], "deg": wider}
        header, _ = ask(session, "edit", joint=ARM, edit="number", **given)
        assert "error" not in header
        shape = session.scene.model.limits[ARM].shape
        value = np.atleast_1d(getattr(shape.swing if owner else shape, field))[number["index"]]
        assert np.degrees(value) == pytest.approx(wider)


def test_numbers_have_names_that_people_understand():
    rows = {
        family: {number["row"] for number in ask(_boxed(family), "region", joint=ARM)[0]["numbers"]}
        for family in ("swing-twist", "rotation-vector")
    }
    assert rows == {
        "swing-twist": {"swing x", "swing y", "twist"},
        "rotation-vector": {"about x", "about y", "about z"},
    }


def _boxed(chart):
    session = Session(scene_of(LimitModel.fit([clip(frames=60)], "box", joints=[ARM])))
    ask(session, "edit", **chosen("box", chart=chart, source="limit"))
    return session


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ({"field": "low", "index": 0, "deg": 90}, "a range must not end before it starts: 90 to"),
        ({"field": "low", "index": 3, "deg": 0}, "a box has no number 'low'"),
        ({"field": "axes", "index": 0, "deg": 0}, "a box has no number 'axes'"),
    ],
)
def test_a_number_that_cannot_be_is_refused(number, says):
    limit = Limit(RotationVector(), Box([-1, -1, -1], [1, 1, 1], np.eye(3)))
    session = Session(scene_of(LimitModel({ARM: limit}, clip(frames=2).skeleton)))
    header, _ = ask(session, "edit", joint=ARM, edit="number", **number)
    assert says in header["error"]
    assert session.scene.model.limits[ARM] is limit
