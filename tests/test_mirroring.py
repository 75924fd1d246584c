"""The limit of the other side contains what a mirror shows, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from fields import field
from synovia import (
    DirectionTwist,
    EulerZYZ,
    Limit,
    RotationVector,
    SwingTwist,
    quat,
)
from synovia.limit import mirror_limit, mirror_rotations
from synovia.shapes.mesh import shape_surface
from tables import table

REFERENCE = quat.exp(np.array([0.4, -0.3, 0.2]))
BONE = np.array([0.1, -0.9, 0.3])
ASLANT = np.array([0.9, 0.3, -0.2])
AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}


def fields():
    yield "rotation vectors", Limit(RotationVector(REFERENCE), field("random"))
    yield "swing and twist", Limit(SwingTwist(REFERENCE, BONE), field("sculpted"))
    yield "Euler angles", Limit(EulerZYZ(REFERENCE), field("random wrapped"))
    yield "Euler angles over the seam", Limit(EulerZYZ(REFERENCE), field("seam"))


FIELDS = dict(fields())


def agree(limit, normal):
    """Whether the mirrored limit says of mirrored rotations what the limit says of them."""
    rng = np.random.default_rng(5)
    rotations = np.concatenate(
        [quat.normalize(rng.normal(size=(2000, 4))), limit.sample(1000, rng)]
    )
    beside = quat.exp(0.2 * rng.normal(size=(1000, 3)))
    rotations = np.concatenate([rotations, quat.mul(rotations[-1000:], beside)])
    there = mirror_limit(limit, normal)
    shown = mirror_rotations(rotations, normal)
    distance = limit.distance(rotations)
    clear = np.abs(distance) > 1e-8
    legal = limit.contains(rotations)
    assert np.array_equal(there.contains(shown)[clear], legal[clear])
    assert 0 < legal.sum() < len(legal)


def test_a_mirrored_rotation_turns_mirrored_things():
    rng = np.random.default_rng(1)
    rotations, points = quat.normalize(rng.normal(size=(50, 4))), rng.normal(size=(50, 3))
    normal = ASLANT / np.linalg.norm(ASLANT)

    def mirror(vectors):
        return vectors - 2.0 * (vectors @ normal)[:, None] * normal

    shown = quat.rotate(mirror_rotations(rotations, 3.0 * normal), mirror(points))
    np.testing.assert_allclose(shown, mirror(quat.rotate(rotations, points)), atol=1e-12)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("axis", AXES)
def test_fields_are_mirrored_across_each_axis(name, axis):
    agree(FIELDS[name], AXES[axis])


def test_fields_of_vectors_are_mirrored_where_axes_change_places():
    agree(FIELDS["rotation vectors"], np.array([1.0, -1.0, 0.0]))


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_mirrored_in_any_other_plane_by_a_frame(name):
    agree(FIELDS[name], ASLANT)
    field = FIELDS[name].shape
    there = mirror_limit(FIELDS[name], ASLANT)
    assert there.chart.is_turned
    assert np.array_equal(np.sort(there.shape.values, axis=None), np.sort(field.values, axis=None))
    assert not mirror_limit(FIELDS[name], AXES["x"]).chart.is_turned


def test_the_surface_of_a_mirrored_table_faces_outwards():
    shape = table("blob")
    middle = shape.scatter(50, np.random.default_rng(0))[:, :3].sum(axis=0)
    there = mirror_limit(Limit(DirectionTwist(REFERENCE, middle), shape), ASLANT).shape
    assert np.linalg.det(there.frame) < 0.0
    surface = shape_surface(there)
    high = there.twist_range(surface.vertices[:, :3])[:, 1]
    top = np.abs(surface.vertices[:, 3] - high)[surface.triangles].max(axis=1) < 1e-9
    a, b, c = np.moveaxis(surface.vertices[surface.triangles[top]][..., :3], 1, 0)
    facing = np.sum(a * np.cross(b, c), axis=-1)
    assert top.sum() > 100
    assert (facing >= -1e-12).all()


def test_a_normal_must_point_somewhere():
    with pytest.raises(ValueError, match="the mirror's normal must not be zero"):
        mirror_limit(FIELDS["rotation vectors"], np.zeros(3))
