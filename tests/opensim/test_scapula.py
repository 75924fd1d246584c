"""The scapulothoracic component agrees with OpenSim's ScapulothoracicJoint."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import ground_transforms, opensim

from synovia.components import Scapulothoracic
from synovia.components.bounded import COORDINATES

RADII = (0.0829975, 0.199991, 0.083001)  # of the thoracoscapular shoulder model
POSES = 10_000


def opensim_scapula(origin, direction):
    model = opensim.Model()
    scapula = opensim.Body("scapula", 1.0, opensim.Vec3(0.0), opensim.Inertia(1.0, 1.0, 1.0))
    joint = opensim.ScapulothoracicJoint()
    joint.setName("scapulothoracic")
    joint.connectSocket_parent_frame(model.getGround())
    joint.connectSocket_child_frame(scapula)
    joint.set_thoracic_ellipsoid_radii_x_y_z(opensim.Vec3(*RADII))
    for number, value in enumerate(origin):
        joint.set_scapula_winging_axis_origin(number, value)
    joint.set_scapula_winging_axis_direction(direction)
    model.addBody(scapula)
    model.addJoint(joint)
    return model, joint, scapula


@pytest.mark.parametrize(
    ("origin", "direction"), [((0.0, 0.0), 0.0), ((0.053, -0.0261), 0.56), ((-0.02, 0.04), -2.0)]
)
def test_the_scapula_agrees_with_opensim(origin, direction):
    values = np.random.default_rng(4).uniform(-1.4, 1.4, (POSES, 4))
    component = Scapulothoracic(RADII, origin, direction)
    matrices = component(**dict(zip(COORDINATES, values.T, strict=True)))["matrix"]
    expected = ground_transforms(*opensim_scapula(origin, direction), values)
    difference = np.abs(matrices - expected).max(axis=0)
    rotation, translation = difference[:, :3].max(), difference[:, 3].max()
    print(f"off by {rotation:.1e} in rotations and {translation:.1e} m over {POSES} poses")
    assert difference.max() < 1e-12
