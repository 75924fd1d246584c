"""Components: what all of them promise, and what each of them computes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joints import (
    CERVICAL,
    CLAVICLE,
    EXAMPLES,
    random_inputs,
    random_matrices,
    round_cone,
    scapula,
    turn,
)
from synovia import DirectionTwist, Limit, quat
from synovia.components import (
    COMPONENTS,
    DEGREE,
    Compensation,
    Curve,
    Dependency,
    JointCone,
    OneToMany,
    Product,
    Rotation,
    Translation,
)

Z = np.array([0.0, 0.0, 1.0])
ANGLES = st.floats(-20.0, 20.0)


@pytest.fixture(params=EXAMPLES)
def component(request):
    return EXAMPLES[request.param]


def test_every_component_has_an_example():
    assert {name: type(each) for name, each in EXAMPLES.items()} == COMPONENTS


@pytest.mark.parametrize("batch", [(), (0,), (1,), (3, 1, 2), (130,)])
def test_answers_keep_the_batch_shape_and_match_single_calls(component, batch, rng):
    inputs = random_inputs(component, batch, rng)
    found = component(**inputs)
    shapes = {"scalar": (), "vector": (3,), "matrix": (4, 4)}
    assert list(found) == list(component.outputs)
    for name, kind in component.outputs.items():
        assert found[name].shape == (*batch, *shapes[kind])
    for place in list(np.ndindex(batch))[:: max(1, int(np.prod(batch)) // 5)]:
        alone = component(**{name: value[place] for name, value in inputs.items()})
        for name in component.outputs:
            np.testing.assert_array_equal(alone[name], found[name][place])


def test_matrices_stay_rigid(component, rng):
    found = component(**random_inputs(component, (200,), rng))
    for name, kind in component.outputs.items():
        if kind == "matrix":
            turns = found[name][:, :3, :3]
            assert np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max() < 1e-12
            assert (found[name][:, 3] == [0, 0, 0, 1]).all()


def test_derivatives_match_central_differences(component, rng):
    inputs = random_inputs(component, (40,), rng)
    parts = [
        value[:, :3].reshape(40, 12) if kind == "matrix" else value.reshape(40, -1)
        for value, kind in zip(inputs.values(), component.inputs.values(), strict=True)
    ]
    table = np.concatenate(parts, axis=1)
    step = 1e-6
    for column in range(table.shape[1]):
        nudge = step * np.eye(table.shape[1])[column]
        slope = (component.rows(table + nudge) - component.rows(table - nudge)) / (2.0 * step)
        off = np.abs(component.partials(table)[:, :, column] - slope).max(axis=1)
        # A bend within the step is in few places, if any.
        assert np.quantile(off, 0.9) < 1e-6, column


def test_parameters_go_through_a_dictionary(component, rng):
    again = type(component).from_dict(component.to_dict())
    inputs = random_inputs(component, (7,), rng)
    for name, value in component(**inputs).items():
        np.testing.assert_array_equal(again(**inputs)[name], value)


def test_what_is_adjustable_can_be_adjusted(component, rng):
    values = component.adjustable()
    again = component.adjusted(values)
    inputs = random_inputs(component, (7,), rng)
    for name, value in component(**inputs).items():
        np.testing.assert_array_equal(again(**inputs)[name], value)


NORMAL = np.array([0.9, 0.3, -0.2]) / np.linalg.norm([0.9, 0.3, -0.2])
MIRROR = np.eye(4)
MIRROR[:3, :3] -= 2.0 * np.outer(NORMAL, NORMAL)


def reflected(values, kinds):
    """Vectors and matrices as a mirror shows them."""
    ways = {
        "scalar": lambda value: value,
        "vector": lambda value: value @ MIRROR[:3, :3],
        "matrix": lambda value: MIRROR @ value @ MIRROR,
    }
    return {name: ways[kinds[name]](value) for name, value in values.items()}


def test_the_other_side_is_the_mirror_image(component, rng):
    inputs = random_inputs(component, (200,), rng)
    other = component.mirrored(NORMAL)(**reflected(inputs, component.inputs))
    expected = reflected(component(**inputs), component.outputs)
    if component.kind == "scapula":
        expected["second"] = -expected["second"]
    for name, value in expected.items():
        np.testing.assert_allclose(other[name], value, atol=1e-9)


def test_the_door_names_what_is_wrong(component, rng):
    inputs = random_inputs(component, (), rng)
    with pytest.raises(ValueError, match="has no input 'colour'; it has"):
        component(**inputs, colour=1.0)
    name = next(iter(component.inputs))
    if name not in component.defaults:
        with pytest.raises(ValueError, match=f"needs the input '{name}', got none"):
            component(**{each: value for each, value in inputs.items() if each != name})
    with pytest.raises(ValueError, match="must be finite"):
        component(**{**inputs, name: np.full_like(inputs[name], np.nan)})
    with pytest.raises(ValueError, match="has no parameter 'colour'; it has"):
        type(component).from_dict({"colour": 1.0})


def test_matrices_that_are_not_rigid_are_refused():
    with pytest.raises(ValueError, match="must be rigid transforms"):
        Compensation()(ancestor=2.0 * np.eye(4))
    with pytest.raises(ValueError, match="mirrors"):
        Compensation()(ancestor=np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match=r"is a matrix and must have shape \(..., 4, 4\)"):
        Compensation()(ancestor=np.eye(3))


def test_a_product_multiplies_in_order(rng):
    a, b, c, d = random_matrices((4,), rng)
    for factors, expected in (("a", a), ("ab", a @ b), ("abc", a @ b @ c), ("abcd", a @ b @ c @ d)):
        given = {name: {"a": a, "b": b, "c": c, "d": d}[name] for name in factors}
        found = Product(tuple(factors))(**given)["matrix"]
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("names", "words"),
    [((), "at least one"), (("a", "a"), "'a' twice"), (("a.b",), "without"), ("ab", "the text")],
)
def test_names_of_factors_are_checked(names, words):
    with pytest.raises(ValueError, match=words):
        Product(names)


def test_the_rotation_of_figure_4():
    """50° about c₁, then 20° about c₂, for 70°."""
    first, second = [0.1, -0.3, 0.2], [0.4, 0.25, -0.1]
    axis = [0.2, -0.1, 1.0]
    joint = Rotation(axis, np.radians([0.0, 50.0, 90.0]), [first, second])
    expected = turn(axis, np.radians(20.0), second) @ turn(axis, np.radians(50.0), first)
    found = joint(angle=np.radians(70.0))["matrix"]
    np.testing.assert_allclose(found, expected, atol=1e-12)


BOUNDS, CENTERS = EXAMPLES["rotation"].bounds, EXAMPLES["rotation"].centers


def by_the_source(angle, neutral):
    """Equation 1, from the first bound, seen from where it is at the neutral angle."""

    def from_the_first(alpha):
        product = np.eye(4)
        for low, high, center in zip(BOUNDS[:-1], BOUNDS[1:], CENTERS, strict=True):
            share = np.clip(alpha, low, high) - low
            product = turn(EXAMPLES["rotation"].axis, share, center) @ product
        return product

    clipped = np.clip(angle, BOUNDS[0], BOUNDS[-1])
    return from_the_first(clipped) @ np.linalg.inv(from_the_first(neutral))


@given(ANGLES, st.floats(-0.7, 2.0))
@settings(max_examples=50)
def test_a_rotation_is_the_product_of_its_intervals(angle, neutral):
    joint = Rotation(EXAMPLES["rotation"].axis, BOUNDS, CENTERS, neutral)
    found = joint(angle=angle)["matrix"]
    np.testing.assert_allclose(found, by_the_source(angle, neutral), atol=1e-12)


def test_a_rotation_is_continuous_and_the_identity_at_neutral():
    joint = EXAMPLES["rotation"]
    around = BOUNDS[:, None] + [-1e-9, 0.0, 1e-9]
    found = joint(angle=around)["matrix"]
    assert np.abs(found - found[:, 1:2]).max() < 1e-8
    np.testing.assert_allclose(joint(angle=0.0)["matrix"], np.eye(4), atol=1e-15)
    lifted = Rotation(Z, [0.5, 1.0], [[1.0, 0.0, 0.0]])  # 0 is not among its angles
    np.testing.assert_allclose(lifted(angle=0.5)["matrix"], np.eye(4), atol=1e-15)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (([0.0, 0.0, 0.0],), "axis must not be zero"),
        ((Z, [0.0, 1.0, 0.5], np.zeros((2, 3))), "must rise"),
        ((Z, [0.0, 1.0, 1.0], np.zeros((2, 3))), "must rise"),
        ((Z, [0.0, 1.0], np.zeros((2, 3))), "one more than"),
        ((Z, [0.0], np.zeros((0, 3))), "one more than"),
        ((Z, [0.0, 1.0], np.zeros((1, 3)), np.nan), "neutral must be finite"),
        ((Z, [0.0, 1.0], np.zeros((1, 2))), "must have shape"),
    ],
)
def test_bad_rotations_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        Rotation(*parameters)


def test_the_cervical_ranges_of_the_source():
    mapping = OneToMany(
        {
            name: Curve.linear((-1.0, low), (1.0, high), y_scale=DEGREE)
            for name, (low, high) in CERVICAL.items()
        }
    )
    for name, (low, high) in CERVICAL.items():
        found = np.degrees(mapping(value=[-5.0, -1.0, 0.0, 1.0, 5.0])[name])
        np.testing.assert_allclose(found, [low, low, (low + high) / 2, high, high], atol=1e-12)
    total = sum(np.degrees(mapping(value=0.0)[name]) for name in CERVICAL)
    assert total == pytest.approx(-9.9)


def test_the_clavicle_has_a_lower_bound_that_rises_with_the_arm():
    bound = Dependency(lower=CLAVICLE)
    assert bound(driver=90.0, value=-20.0)["value"] == pytest.approx((-6.7 + 4.85) / 2)
    assert bound(driver=90.0, value=15.0)["value"] == 15.0
    assert bound(driver=500.0, value=0.0)["value"] == 23.0


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
def test_a_value_stays_between_two_bounds(driver, value):
    lower, upper = Curve([0.0, 1.0], [-1.0, 0.5]), Curve([0.0, 0.5, 1.0], [1.0, 0.2, 0.6])
    found = Dependency(lower=lower, upper=upper)(driver=driver, value=value)["value"]
    assert lower(driver) <= found <= upper(driver)
    assert found == value or found in (lower(driver), upper(driver))


def test_an_exact_dependency_has_no_value_of_its_own():
    follows = Dependency(exact=Curve.linear((0.0, 0.0), (np.pi, 1.0)))
    assert list(follows.inputs) == ["driver"]
    assert follows(driver=np.pi / 2)["value"] == pytest.approx(0.5)


def test_bad_dependencies_are_refused():
    curve = Curve([0.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="an exact curve, or bounds"):
        Dependency()
    with pytest.raises(ValueError, match="an exact curve, or bounds"):
        Dependency(exact=curve, lower=curve)
    with pytest.raises(ValueError, match="lower must not exceed"):
        Dependency(lower=curve, upper=Curve([0.0, 1.0], [0.5, 0.5]))
    with pytest.raises(ValueError, match="needs a Curve"):
        Dependency(lower=1.0)


def test_compensation_undoes_the_turn_of_a_parent_and_stays_attached(rng):
    joint = rng.normal(size=3)
    parent, child = random_matrices((2,), rng)
    found = Compensation(joint)(ancestor=parent)["matrix"]
    np.testing.assert_allclose((parent @ found @ child)[:3, :3], child[:3, :3], atol=1e-12)
    np.testing.assert_allclose(found @ [*joint, 1.0], [*joint, 1.0], atol=1e-12)
    # As the source has it: the inverse, then the displacement of the joint.
    shift = np.eye(4)
    shift[:3, 3] = (parent @ [*joint, 1.0])[:3] - joint
    np.testing.assert_allclose(found, np.linalg.inv(parent) @ shift, atol=1e-12)


def test_compensation_of_a_farther_ancestor_keeps_what_is_between(rng):
    ancestor, upper, lower, child = random_matrices((4,), rng)
    both = Compensation(between=("upper", "lower"))
    found = both(ancestor=ancestor, upper=upper, lower=lower)["matrix"]
    whole = (ancestor @ upper @ lower @ found @ child)[:3, :3]
    np.testing.assert_allclose(whole, (upper @ lower @ child)[:3, :3], atol=1e-12)


def test_a_translation_slides_along_its_directions():
    found = EXAMPLES["translation"](y=2.0, z=-1.0)["matrix"]
    np.testing.assert_allclose(found[:3, 3], [1.0 + 0.6, 2.0 + 2.0, 3.0 - 2.0])
    np.testing.assert_array_equal(Translation()(x=[1.0, 2.0])["matrix"][:, 0, 3], [1.0, 2.0])


AXIS = np.array([0.3, -0.2, 1.0]) / np.linalg.norm([0.3, -0.2, 1.0])


@pytest.mark.parametrize("towards", ["rest", "nearest"])
def test_a_cone_moves_what_is_outside_and_nothing_else(towards, rng):
    cone, center = round_cone(), rng.normal(size=(500, 3))
    joint = JointCone(cone, AXIS, towards=towards)
    limit = Limit(DirectionTwist(axis=AXIS), cone)
    given = random_matrices((500,), rng, 0.6)
    found = joint(matrix=given, center=center)["matrix"]
    before, after = (quat.from_matrix(each[:, :3, :3]) for each in (given, found))
    legal = limit.contains(before)
    assert 50 < legal.sum() < 450
    np.testing.assert_array_equal(found[legal], given[legal])
    assert limit.distance(after).max() < 1e-9
    held = np.concatenate([center, np.ones((500, 1))], axis=1)[..., None]
    np.testing.assert_allclose(found @ held, given @ held, atol=1e-12)
    points = limit.chart.points(before)
    moved = cone.pull(points, AXIS) if towards == "rest" else cone.project(points)
    assert quat.angle_between(after, limit.chart.rotations(moved)).max() < 1e-9


def test_a_pulled_direction_is_on_the_way_to_rest(rng):
    given = random_matrices((300,), rng)
    found = JointCone(round_cone(), AXIS)(matrix=given)["matrix"]
    before, after = given[:, :3, :3] @ AXIS, found[:, :3, :3] @ AXIS
    normal = np.cross(before, AXIS)
    assert np.abs(np.sum(normal * after, axis=1)).max() < 1e-9


def test_the_twist_of_a_cone_adds_up_and_is_limited():
    joint = JointCone(round_cone(), Z)
    given = turn([1.0, 0.0, 0.0], 0.3)
    found = joint(matrix=given, twist=[-9.0, -0.2, 0.4, 0.9])
    np.testing.assert_allclose(found["twist"][1:], [-0.2, 0.4, 0.7], atol=1e-12)
    np.testing.assert_allclose(found["matrix"][2], given @ turn(Z, 0.4), atol=1e-12)


def test_the_new_angles_make_the_new_matrix(rng):
    axes = np.array([[1.0, 0.2, 0.1], [-0.1, 1.0, 0.0]])
    joint = JointCone(round_cone(), AXIS, axes=axes)
    found = joint(matrix=random_matrices((100,), rng))
    for k in range(100):
        angles = (found["first"][k], found["second"][k], found["twist"][k])
        turns = [turn(a, t) for a, t in zip((*axes, AXIS), angles, strict=True)]
        made = turns[0] @ turns[1] @ turns[2]
        np.testing.assert_allclose(made[:3, :3], found["matrix"][k, :3, :3], atol=1e-9)


def test_bad_cones_are_refused():
    with pytest.raises(ValueError, match="rest must be a legal direction"):
        JointCone(round_cone(), -Z)
    for out in (0.79, 0.81):  # the cone is 0.8 wide at its points, less between them
        beside = [np.sin(out), 0.0, np.cos(out)]
        if out < 0.8:
            JointCone(round_cone(), beside)
        else:
            with pytest.raises(ValueError, match="rest must be a legal direction"):
                JointCone(round_cone(), beside)
    with pytest.raises(ValueError, match="rest must not be zero"):
        JointCone(round_cone(), np.zeros(3))
    with pytest.raises(ValueError, match="towards must be one of rest, nearest"):
        JointCone(round_cone(), Z, towards="home")
    with pytest.raises(ValueError, match="sense must be 1 or -1"):
        JointCone(round_cone(), Z, sense=0.0)
    with pytest.raises(ValueError, match="must be a ReachCone"):
        JointCone("cone", Z)


def on_the_ellipsoid(bone, matrices, found, lift, rotation):
    """Where the blended points are: by how much |q| is off 1, (n, 2), and the points themselves."""
    u, w = np.clip(lift, 0, 1)[:, None, None], np.clip(rotation, 0, 1)[:, None, None]
    points = (1 - w) * ((1 - u) * bone.pairs[1] + u * bone.pairs[0]) + w * bone.pairs[2]
    held = np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)
    placed = np.einsum("nij,npj->npi", matrices @ found, held)[..., :3]
    unit = (placed - bone.center) @ bone.axes.T / bone.radii
    return np.linalg.norm(unit, axis=-1) - 1.0, points


def test_reference_points_are_on_the_ellipsoid(rng):
    bone = scapula(axes=quat.to_matrix(quat.exp(np.array([0.1, 0.2, -0.3]))))
    given = random_matrices((300,), rng, 0.1)
    lift, rotation = rng.uniform(-0.2, 1.2, size=(2, 300))
    found = bone(matrix=given, lift=lift, rotation=rotation)
    off, points = on_the_ellipsoid(bone, given, found["matrix"], lift, rotation)
    reached = found["gap"] == 0.0
    assert reached.sum() > 250
    assert np.abs(off[reached]).max() < 1e-9
    np.testing.assert_allclose(np.abs(off).max(axis=1), found["gap"], atol=1e-9)
    for k in range(300):
        first = turn(bone.axis, found["first"][k])
        second = turn(points[k, 0], found["second"][k])
        np.testing.assert_allclose(found["matrix"][k], first @ second, atol=1e-12)
        np.testing.assert_allclose((second @ [*points[k, 0], 1.0])[:3], points[k, 0], atol=1e-12)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-0.15, 0.15))
@settings(max_examples=50)
def test_any_lift_and_rotation_stays_on_the_ellipsoid(lift, rotation, tilt):
    bone, given = scapula(), turn([0.0, 1.0, 0.3], tilt)
    found = bone(matrix=given, lift=lift, rotation=rotation)
    assert found["gap"] == 0.0
    share = np.array([lift]), np.array([rotation])
    off, _ = on_the_ellipsoid(bone, given[None], found["matrix"][None], *share)
    assert np.abs(off).max() < 1e-9


def nearest_root(bone, matrix, axis, point):
    """The angle nearest to 0 on the ellipsoid, or the closest, on a fine grid of angles."""
    angles = np.linspace(-np.pi, np.pi, 20001)
    along = axis * np.dot(axis, point)
    circle = along + np.cos(angles)[:, None] * (point - along)
    circle = circle + np.sin(angles)[:, None] * np.cross(axis, point)
    placed = circle @ matrix[:3, :3].T + matrix[:3, 3] - bone.center
    off = np.linalg.norm(placed @ bone.axes.T / bone.radii, axis=1) - 1.0
    crossings = np.flatnonzero((off[:-1] > 0.0) != (off[1:] > 0.0))
    if len(crossings):
        return angles[crossings[np.abs(angles[crossings]).argmin()]], True
    return angles[np.abs(off).argmin()], False


def test_the_first_turn_is_the_nearest_to_none(rng):
    bone = scapula()
    given = random_matrices((60,), rng, 0.4)
    given[:, :3, 3] *= 4.0
    found = bone(matrix=given, lift=0.0, rotation=0.0)
    for k in range(60):
        angle, reached = nearest_root(bone, given[k], bone.axis, bone.pairs[1, 0])
        assert found["first"][k] == pytest.approx(angle, abs=1e-3)
        assert reached or found["gap"][k] > 0.0


def test_an_ellipsoid_out_of_reach_is_approached_and_flagged():
    bone = scapula(center=[100.0, 0.0, 0.0])
    found = bone(matrix=np.eye(4), lift=0.5, rotation=0.5)
    assert found["gap"] > 1.0
    assert np.isfinite(found["matrix"]).all()


def test_bad_scapulae_are_refused():
    with pytest.raises(ValueError, match="radii must be above 0"):
        scapula(radii=[1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="axis must not be zero"):
        scapula(axis=[0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="square to each other"):
        scapula(axes=np.ones((3, 3)))
    with pytest.raises(ValueError, match="away from the origin"):
        scapula(pairs=np.zeros((3, 2, 3)))
