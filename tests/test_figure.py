"""Figures: from controls to a pose, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joints import figure, neck, scapula, shoulder
from synovia import DirectionTwist, Limit, quat
from synovia.components import Control, Figure, JointSet, Network, Translation
from synovia.skeleton import Pose, Skeleton, forward

BODY = figure()
CONTROLS = tuple(BODY.controls)
NUMBERS = st.floats(-1e6, 1e6)


def sliding():
    """One segment on a rail and one at rest, each a root."""
    network = Network({"slide": Translation()}, {"slide.x": "along"}, {"cart": "slide.matrix"})
    skeleton = Skeleton(("cart", "post"), [-1, -1], [[0.0, 1.0, 0.0], [5.0, 0.0, 0.0]])
    return Figure(
        skeleton, {"rail": JointSet(network, {"along": Control(0.0, 2.0, 0.5, "length")})}
    )


def test_controls_are_named_by_their_set_and_in_order():
    assert CONTROLS[:4] == ("neck.flexion", "neck.bend", "neck.twist", "shoulder.abduction")
    assert BODY.controls["shoulder.abduction"].high == np.pi


def test_a_pose_has_the_transforms_of_its_networks():
    posed = BODY.pose({"shoulder.abduction": 0.9, "shoulder.twist": 0.2, "neck.bend": 0.5})
    controls = {"abduction": 0.9, "elevation": 0.0, "flexion": 0.0, "twist": 0.2}
    expected = {
        **shoulder()(controls),
        **neck()({"flexion": 0.0, "bend": 0.5, "twist": 0.0}),
    }
    for name, matrix in expected.items():
        joint = BODY.skeleton.index(name)
        np.testing.assert_allclose(
            quat.to_matrix(posed.rotations[joint]), matrix[:3, :3], atol=1e-12
        )
        place = BODY.skeleton.offsets[joint] + matrix[:3, 3]
        np.testing.assert_allclose(posed.positions[joint], place, atol=1e-12)
    for name in ("trunk", "forearm", "hat"):
        joint = BODY.skeleton.index(name)
        np.testing.assert_array_equal(posed.rotations[joint], [1, 0, 0, 0])
        np.testing.assert_array_equal(posed.positions[joint], BODY.skeleton.offsets[joint])
    assert isinstance(posed, Pose)
    Pose(posed.rotations, posed.positions)  # passes the checks


def test_nothing_given_is_neutral():
    rest, named = BODY.pose(), BODY.pose({"shoulder.twist": 0.0})
    np.testing.assert_array_equal(rest.rotations, named.rotations)
    np.testing.assert_array_equal(sliding().pose().positions[0], [0.5, 1.0, 0.0])


def test_batches_and_arrays_are_the_same_as_names(rng):
    low = np.array([each.low for each in BODY.controls.values()])
    high = np.array([each.high for each in BODY.controls.values()])
    values = rng.uniform(low, high, size=(600, len(low)))
    batch = BODY.pose(values.reshape(3, 200, -1))
    assert batch.rotations.shape == (3, 200, len(BODY.skeleton), 4)
    for k in (0, 1, 599):
        alone = BODY.pose(dict(zip(CONTROLS, values[k], strict=True)))
        there = k // 200, k % 200  # the same but for the rounding of fused multiply-adds
        np.testing.assert_allclose(alone.rotations, batch.rotations[there], rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(alone.positions, batch.positions[there], rtol=0.0, atol=1e-13)


def test_what_is_out_of_range_is_clamped_and_reported():
    posed = BODY.pose({"neck.bend": [0.0, 1.5], "shoulder.abduction": -0.2})
    assert set(posed.clamped) == {"neck.bend", "shoulder.abduction"}
    np.testing.assert_allclose(posed.clamped["neck.bend"], [0.0, 0.5])
    np.testing.assert_allclose(posed.clamped["shoulder.abduction"], [-0.2, -0.2])
    at_the_bound = BODY.pose({"neck.bend": 1.0, "shoulder.abduction": 0.0})
    np.testing.assert_array_equal(posed.rotations[1], at_the_bound.rotations)
    assert at_the_bound.clamped == {}
    assert posed.controls[1, CONTROLS.index("neck.bend")] == 1.0


def test_bad_controls_are_refused():
    with pytest.raises(ValueError, match=r"no control 'neck.bent'; did you mean neck.bend"):
        BODY.pose({"neck.bent": 0.0})
    with pytest.raises(ValueError, match=r"there are neck.flexion, neck.bend, neck.twist,"):
        BODY.pose({"???": 0.0})
    with pytest.raises(ValueError, match=r"must be finite"):
        BODY.pose({"neck.bend": np.nan})
    with pytest.raises(ValueError, match=r"must have shape \(..., 7\), got \(3,\)"):
        BODY.pose([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="batches of controls must agree"):
        BODY.pose({"neck.bend": [0.0, 0.0], "neck.twist": [0.0, 0.0, 0.0]})
    with pytest.raises(ValueError, match="must be numbers"):
        BODY.pose({"neck.bend": "far"})


@given(st.lists(NUMBERS, min_size=len(CONTROLS), max_size=len(CONTROLS)))
@settings(max_examples=20)
def test_no_control_leads_out_of_the_limits(values):
    posed = BODY.pose(values)
    assert BODY.contains(Pose(posed.rotations, posed.positions))
    cone = shoulder().components["cone"]
    limit = Limit(DirectionTwist(axis=cone.rest), cone.cone)
    _, world = forward(BODY.skeleton, posed)
    assert limit.distance(world[BODY.skeleton.index("humerus")]) < 1e-9


def test_controls_come_back_from_the_pose(rng):
    values = {
        "neck.flexion": 0.3,
        "neck.bend": -0.8,
        "neck.twist": 1.0,
        "shoulder.abduction": 0.5,
        "shoulder.elevation": 0.4,
        "shoulder.flexion": 0.2,
        "shoulder.twist": 0.1,
    }
    found = BODY.controls_for(BODY.pose(values))
    np.testing.assert_allclose(found.controls, list(values.values()), atol=1e-6)
    assert found.angle < 1e-8
    assert found.shift < 1e-8


def test_a_rounded_pose_is_not_searched_for_longer_than_it_says(monkeypatch):
    posed = BODY.pose({"neck.flexion": 0.3, "shoulder.abduction": 0.5})
    rounded = Pose(*(each.astype(np.float32) for each in (posed.rotations, posed.positions)))
    monkeypatch.setattr("synovia.components.controls.FIRST_CANDIDATES", None)  # none are tried
    found = BODY.controls_for(rounded, tolerance=1e-5)
    np.testing.assert_allclose(found.controls, posed.controls, atol=1e-4)


def test_a_pose_that_no_controls_give_is_not_contained():
    posed = BODY.pose({"neck.flexion": [0.2, 0.2, 0.2]})
    rotations = posed.rotations.copy()
    rotations[1, 3] = quat.mul(rotations[1, 3], quat.exp(np.array([0.01, 0.0, 0.0])))
    forearm = BODY.skeleton.index("forearm")
    rotations[2, forearm] = quat.exp(np.array([0.1, 0.0, 0.0]))  # no set moves it
    pose = Pose(rotations, posed.positions)
    np.testing.assert_array_equal(BODY.contains(pose), [True, False, False])
    found = BODY.controls_for(pose)
    assert found.angle[2] == pytest.approx(0.1)


def test_controls_come_as_near_as_those_found_in_python(rng, monkeypatch):
    """To poses that no controls give, by what is left of all segments."""
    low, _, high = BODY.ranges
    posed = BODY.pose(low + (high - low) * rng.random((1, len(low))))
    off = quat.exp(0.1 * rng.normal(size=(*posed.rotations.shape[:-1], 3)))
    pose = Pose(quat.normalize(quat.mul(posed.rotations, off)), posed.positions)

    def left_over(found):
        given = BODY.pose(found.controls)
        turns = quat.to_matrix(given.rotations) - quat.to_matrix(pose.rotations)
        ways = (given.positions - pose.positions) / BODY.size
        return 0.5 * np.square(turns).sum(axis=(1, 2, 3)) + np.square(ways).sum(axis=(1, 2))

    compiled = BODY.controls_for(pose)
    monkeypatch.setattr("synovia.components.controls.program_for", lambda *_: None)
    assert (left_over(compiled) <= left_over(BODY.controls_for(pose)) * (1.0 + 1e-6)).all()
    assert ((compiled.controls >= low) & (compiled.controls <= high)).all()


def test_where_a_free_root_is_makes_no_difference():
    posed = BODY.pose({"neck.flexion": 0.2})
    rotations, positions = posed.rotations.copy(), posed.positions.copy()
    rotations[0], positions[0] = quat.exp(np.array([1.0, 0.2, 0.0])), [3.0, 4.0, 5.0]
    assert BODY.contains(Pose(rotations, positions))
    assert not sliding().contains(Pose(sliding().pose().rotations, [[9.0, 1.0, 0.0]] * 2))


def test_several_trees_and_sets_are_allowed():
    posed = sliding().pose({"rail.along": [0.0, 1.0]})
    np.testing.assert_array_equal(posed.positions[:, 0, 0], [0.0, 1.0])
    np.testing.assert_array_equal(posed.positions[:, 1], [[5.0, 0.0, 0.0]] * 2)
    bare = Figure(BODY.skeleton, {})
    assert bare.pose().rotations.shape == (len(BODY.skeleton), 4)
    assert bare.contains(bare.pose())


def test_a_gap_is_reported_by_its_component():
    network = Network(
        {"slide": Translation(), "blade": scapula()},
        {
            "slide.x": "away",
            "blade.matrix": "slide.matrix",
            "blade.lift": "lift",
            "blade.rotation": "turn",
        },
        {"scapula": "blade.matrix"},
    )
    share = Control(0.0, 1.0, 0.0, "share")
    ranges = {"away": Control(0.0, 99.0, 0.0, "length"), "lift": share, "turn": share}
    alone = Figure(
        Skeleton(("scapula",), [-1], np.zeros((1, 3))), {"blade": JointSet(network, ranges)}
    )
    assert alone.pose().gaps == {}
    found = alone.pose({"blade.away": [0.0, 99.0]}).gaps
    assert list(found) == ["blade.blade.gap"]
    assert found["blade.blade.gap"][0] == 0.0
    assert found["blade.blade.gap"][1] > 1.0


def test_bad_figures_are_refused():
    with pytest.raises(ValueError, match="low <= neutral <= high"):
        Control(1.0, 2.0)
    with pytest.raises(ValueError, match="unit must be one of"):
        Control(0.0, 1.0, 0.0, "miles")
    ranges = dict.fromkeys(("flexion", "bend", "twist"), Control(-1.0, 1.0))
    with pytest.raises(ValueError, match="the control 'twist' must have a range"):
        JointSet(neck(), {"flexion": ranges["flexion"], "bend": ranges["bend"]})
    with pytest.raises(ValueError, match="no control 'tilt'"):
        JointSet(neck(), {**ranges, "tilt": Control(0.0, 1.0)})
    sets = {"one": JointSet(neck(), ranges), "two": JointSet(neck(), ranges)}
    with pytest.raises(ValueError, match="in one joint set, got 'c7' in 'one' and 'two'"):
        Figure(BODY.skeleton, sets)
    with pytest.raises(ValueError, match="the joint set 'one': no segment 'c7'"):
        Figure(Skeleton(("c6",), [-1], np.zeros((1, 3))), {"one": sets["one"]})
    slider = Network({"s": Translation()}, {"s.x": "x"}, {"bone": "s.matrix", "x": "x"})
    with pytest.raises(ValueError, match="the output 'x' of a joint set must be a matrix"):
        JointSet(slider, {"x": Control(0.0, 1.0)})
