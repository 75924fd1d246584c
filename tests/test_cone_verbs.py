"""What reach cones do beyond all shapes' verbs: exits, pulls, smoothing, edits, Euler angles."""

from __future__ import annotations

import numpy as np
import pytest

from cones import CONES, NORTH, TURN, angle_between, queries, sphere
from synovia import DirectionTwist, ReachCone, quat
from synovia.arrays import unit_vectors
from synovia.edit.reach_cone import (
    add_point,
    delete_point,
    from_stereographic,
    move_point,
    relax,
    set_twist,
    set_visible,
    simplify,
    smooth,
    stereographic,
)
from synovia.limit.convert import (
    from_euler_cone,
    from_xyz_euler,
    matrix_to_xyz_euler,
    to_xyz_euler,
)
from synovia.shapes.reach_cone import exit_along_chord, pull_to_rest
from synovia.shapes.reach_cone.star import from_polar, nearest_on_edges


@pytest.fixture(params=["three", "convex", "concave", "beyond a hemisphere", "long edge", "free"])
def cone(request):
    return CONES[request.param]()


def boundary_gap(cone, points):
    """Distance (...) of directions from the polygon's edges."""
    feet, _ = nearest_on_edges(cone.points, points[..., :3])
    return np.linalg.norm(feet - points[..., :3], axis=-1)


def test_the_exit_is_the_first_place_where_dense_chords_leave(cone, rng):
    start, end = cone.scatter(300, rng), np.column_stack([sphere(300, rng), rng.normal(size=300)])
    exits = exit_along_chord(cone, start, end)
    t = np.linspace(0.0, 1.0, 2001)[:, None, None]
    chords = start[:, :3] + t * (end[:, :3] - start[:, :3])
    legal = cone.contains_direction(unit_vectors(chords))
    first = np.where(legal.all(axis=0), 1.0, (~legal).argmax(axis=0) / 2000.0)
    # Dense samples may step over a corner that is cut off, so no earlier leaving is allowed.
    assert (exits.t <= first + 1e-9).all()
    late = exits.t < first - 1.0 / 2000.0 - 1e-9
    assert late.mean() < 0.05
    assert cone.contains_direction(exits.points[:, :3]).all()
    at_boundary = boundary_gap(cone, exits.points) < 1e-9
    assert (at_boundary | (exits.t == 1.0)).all()
    just_after = start[late, :3] + (exits.t[late] + 1e-6)[:, None] * (end - start)[late, :3]
    assert not cone.contains_direction(unit_vectors(just_after)).any()
    twist = start[:, 3] + exits.t * (end[:, 3] - start[:, 3])
    assert np.abs(exits.points[:, 3] - twist).max() < 1e-12


@pytest.mark.parametrize("kind", ["concave", "beyond a hemisphere"])
def test_chords_from_vertices_leave_only_where_dense_chords_do(kind, rng):
    cone = CONES[kind]()
    vertices = np.column_stack([cone.points, np.zeros(len(cone.points))])
    ends = cone.scatter(60, rng)
    t = np.linspace(0.0, 1.0, 1001)[1:, None, None, None]
    chords = vertices[:, None, :3] + t * (ends[:, :3] - vertices[:, None, :3])
    stays = cone.contains_direction(unit_vectors(chords)).all(axis=0)
    exits = exit_along_chord(cone, vertices[:, None], ends).t
    assert stays.any()
    assert not stays.all()
    # A chord that cuts a corner for less than a step seems to stay: few do.
    assert (exits[stays] == 1.0).mean() > 0.98
    assert (exits[~stays] < 1.0).all()


def test_exits_where_nothing_moves_or_everything_turns_round(cone, rng):
    inner = cone.scatter(50, rng)
    assert (exit_along_chord(cone, inner, inner).t == 1.0).all()
    opposite = np.column_stack([-inner[:, :3], inner[:, 3]])
    turned = exit_along_chord(cone, inner, opposite)
    ends = cone.contains_direction(-inner[:, :3])
    assert np.array_equal(turned.t, np.where(ends, 1.0, 0.5))
    assert np.isfinite(turned.points).all()
    outer = np.array([*-cone.visible, 0.0])
    stuck = exit_along_chord(cone, outer, inner[0])
    assert stuck.t == 0.0
    assert np.array_equal(stuck.points, outer)


def test_pulled_points_stop_at_the_boundary_on_the_way_to_rest(cone, rng):
    points = queries(cone, rng, 600)
    for rest in (None, cone.scatter(1, rng)[0, :3]):
        aim = cone.visible if rest is None else rest
        pulled = pull_to_rest(cone, points, rest)
        assert cone.contains(pulled).all()
        inside = cone.contains(points)
        assert np.array_equal(pulled[inside], points[inside])
        out = ~cone.contains_direction(points[:, :3])
        out &= angle_between(points[:, :3], -aim) > 1e-6
        assert boundary_gap(cone, pulled[out]).max() < 1e-9
        plane = unit_vectors(np.cross(points[out, :3], aim))
        assert np.abs(np.sum(plane * pulled[out, :3], axis=1)).max() < 1e-6
    with pytest.raises(ValueError, match="rest must be a legal direction"):
        pull_to_rest(cone, points, -cone.visible)


def test_smoothing_makes_an_ellipse_of_a_rhombus():
    """Fig. 5 of the source: points at 30° east and west, 15° north and south."""
    points = from_polar(np.radians([0, 90, 180, 270]), np.radians([30, 15, 30, 15]), NORTH)
    cone = smooth(ReachCone(points, [-1.0, -2.0, -1.0, -2.0], 1.0), 2)
    assert len(cone.points) == 16
    assert np.abs(cone.points[::4] - points).max() < 1e-15
    plane = stereographic(cone.points, NORTH)
    east, north = stereographic(points[:2], NORTH) - NORTH
    level = np.hypot(plane @ east / (east @ east), plane @ north / (north @ north))
    assert np.abs(level - 1.0).max() < 0.01
    assert cone.low[:5].tolist() == [-1.0, -1.25, -1.5, -1.75, -2.0]


def test_the_stereographic_plane_touches_at_the_visible_point(rng):
    directions = sphere(100, rng)
    plane = stereographic(directions, NORTH)
    assert np.abs(plane[:, 2] - 1.0).max() < 1e-9
    assert np.abs(from_stereographic(plane, NORTH) - directions).max() < 1e-12


def test_smoothing_that_breaks_the_star_is_refused():
    points = from_polar(np.radians([0, 3, 6, 120, 240]), np.radians([80, 5, 80, 40, 40]), NORTH)
    cone = ReachCone(points, visible=NORTH)
    with pytest.raises(ValueError, match=r"round \d of smoothing breaks the star: edge \d+"):
        smooth(cone, 4)
    with pytest.raises(ValueError, match="rounds must be at least 0"):
        smooth(cone, -1)
    assert smooth(cone, 0) is cone


def spiked():
    """A round cone whose point 3 sticks out, smoothed to many points."""
    azimuth = np.arange(12) * TURN / 12
    angle = np.where(np.arange(12) == 3, 1.1, 0.6)
    return smooth(ReachCone(from_polar(azimuth, angle, NORTH), -0.5, 0.5, NORTH), 2)


def test_relaxing_takes_a_spike_away_and_adds_no_point():
    cone = spiked()
    calm = relax(cone, 100)
    assert len(calm.points) == len(cone.points)
    away, before = (angle_between(NORTH, each.points) for each in (calm, cone))
    assert np.ptp(away) < 0.3 * np.ptp(before)
    np.testing.assert_allclose(calm.low, -0.5)
    with pytest.raises(ValueError, match="at least 0"):
        relax(cone, -1)


@pytest.mark.parametrize("tolerance", [0.01, 0.05])
def test_simplified_cones_have_fewer_points_and_are_as_near_as_said(tolerance):
    cone = spiked()
    fewer = simplify(cone, tolerance)
    assert 3 <= len(fewer.points) < 0.6 * len(cone.points)
    feet, _ = nearest_on_edges(fewer.points, cone.points)
    assert angle_between(feet, cone.points).max() <= tolerance + 1e-9
    assert len(simplify(cone, 9.0).points) == 3
    same = simplify(cone, 0.0)
    np.testing.assert_array_equal(same.points, cone.points)


def test_points_with_twists_of_their_own_stay():
    cone = set_twist(CONES["convex"](), -1.4, 1.4, 2)
    dense = smooth(cone, 2)
    fewer = simplify(dense, 0.02)
    assert fewer.high.max() == dense.high.max()


def test_edits_give_new_cones_or_say_why_not():
    cone = CONES["convex"]()
    middle = unit_vectors(cone.points[2] + cone.points[3] - 0.1 * cone.visible)
    added = add_point(cone, middle)
    assert np.array_equal(added.points[3], middle)
    assert len(add_point(cone, middle, 3).points) == 9
    assert np.array_equal(delete_point(added, 3).points, cone.points)
    moved = move_point(cone, 0, unit_vectors(cone.points[0] + 0.2 * cone.visible))
    assert angle_between(moved.points[0], cone.visible) < 0.7
    aside = unit_vectors(cone.visible + 0.1 * cone.points[0])
    assert np.abs(set_visible(cone, aside).visible - aside).max() < 1e-15
    assert set_twist(cone, -2.0, 2.0, 4).low[4] == -2.0
    assert set_twist(cone, -2.0, 2.0).visible_high == 2.0
    three = CONES["three"]()
    for edit, message in [
        (lambda: delete_point(three, 0), "at least 3 points"),
        (lambda: delete_point(cone, 8), "no point 8; this cone has points 0 to 7"),
        (lambda: move_point(cone, 0, cone.points[2]), "edge"),
        (lambda: set_visible(cone, -cone.visible), "must make a star"),
        (lambda: set_twist(cone, 1.0, 0.0, 2), "low must not exceed"),
        (lambda: add_point(cone, middle, 99), "as number 0 to 8"),
        (lambda: add_point(cone, np.zeros((2, 3)) + NORTH), r"shape \(3,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            edit()


def test_euler_angles_of_the_source_come_back(rng):
    angles = rng.uniform(-3.0, 3.0, size=(300, 3))
    rotations = from_xyz_euler(angles)
    assert np.abs(to_xyz_euler(rotations, angles) - angles).max() < 1e-9
    found = to_xyz_euler(rotations, rng.normal(size=(300, 3)))
    assert quat.angle_between(from_xyz_euler(found), rotations).max() < 1e-9
    other = np.stack([angles[:, 0] + np.pi, np.pi - angles[:, 1], angles[:, 2] + np.pi], axis=1)
    both = [((each - 0.3 + np.pi) % TURN - np.pi) for each in (angles, other)]
    least = np.minimum(*[np.square(each).sum(axis=1) for each in both])
    chosen = to_xyz_euler(rotations, np.full(3, 0.3)) - 0.3
    assert np.abs(np.square(chosen).sum(axis=1) - least).max() < 1e-9


def test_matrix_five_is_the_transpose_for_row_vectors():
    x, y, z = 0.3, -0.5, 0.8
    (sx, sy, sz), (cx, cy, cz) = np.sin([x, y, z]), np.cos([x, y, z])
    five = np.array(
        [
            [cy * cz, cx * sz + sx * sy * cz, sx * sz - cx * sy * cz],
            [-cy * sz, cx * cz - sx * sy * sz, sx * cz + cx * sy * sz],
            [sy, -sx * cy, cx * cy],
        ]
    )
    assert np.abs(quat.to_matrix(from_xyz_euler([x, y, z])) - five.T).max() < 1e-12
    assert np.abs(matrix_to_xyz_euler(five.T, [0.3, -0.4, 0.7]) - [x, y, z]).max() < 1e-12


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_euler_angles_where_the_middle_one_locks_keep_the_first(side):
    angles = np.array([0.4, side * 0.5 * np.pi, -0.9])
    found = to_xyz_euler(from_xyz_euler(angles), [0.4, 0.0, 0.0])
    assert np.abs(found - angles).max() < 1e-7
    with pytest.raises(ValueError, match=r"\(\.\.\., 3, 3\)"):
        matrix_to_xyz_euler(np.eye(4))


def test_cones_of_the_source_convert_vertex_by_vertex(rng):
    points = from_polar(np.arange(8) * TURN / 8, np.full(8, 0.6), NORTH)
    source = ReachCone(points, -0.5, 0.8)
    converted = from_euler_cone(source)
    angles = np.column_stack([rng.uniform(-0.4, 0.4, (2000, 2)), rng.uniform(-1.5, 1.5, 2000)])
    at = DirectionTwist().points(from_xyz_euler(angles))
    legal_direction = source.contains_direction(at[:, :3])
    expected = (angles[:, 2] >= -0.5) & (angles[:, 2] <= 0.8)
    clear = np.minimum(abs(angles[:, 2] + 0.5), abs(angles[:, 2] - 0.8)) > converted.error + 1e-9
    found = converted.cone.contains(at)
    assert 0.0 < converted.error < 0.2
    assert np.array_equal(found[legal_direction & clear], expected[legal_direction & clear])
    at_points = from_euler_cone(ReachCone(points, 0.0, 0.0)).cone
    x, y = np.arctan2(-points[:, 1], points[:, 2]), np.arcsin(points[:, 0])
    exact = DirectionTwist().points(from_xyz_euler(np.stack([x, y, 0 * x], axis=1)))
    assert np.abs(at_points.low - exact[:, 3]).max() < 1e-12


def test_a_cone_around_the_source_s_axis_is_not_converted():
    wide = ReachCone(from_polar(np.arange(8) * TURN / 8, np.full(8, 1.8), NORTH))
    with pytest.raises(ValueError, match="contains the direction x"):
        from_euler_cone(wide)
