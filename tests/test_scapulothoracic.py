"""The ninth component: on its ellipsoid, mirrored, and through files; OpenSim's tests are apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synovia.components import Network, Scapulothoracic
from synovia.components.bounded import COORDINATES
from synovia.io import load_network, save_network

RADII = np.array([0.0829975, 0.199991, 0.083001])
AT = st.tuples(*[st.floats(-3.0, 3.0)] * 4)


def placed(component, values):
    return component(**dict(zip(COORDINATES, values, strict=True)))["matrix"]


def turn(axis, angle):
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


@settings(max_examples=60)
@given(AT)
def test_it_is_the_product_of_its_turns_and_stays_on_the_ellipsoid(values):
    abduction, elevation, upward, winging = values
    x, y, z = np.eye(3)
    plain = placed(Scapulothoracic(RADII), (abduction, elevation, upward, 0.0))
    assert abs(np.linalg.norm(plain[:3, 3] / RADII) - 1.0) < 1e-12
    want = turn(y, abduction) @ turn(x, -elevation) @ turn(z, upward)
    assert np.abs(plain[:3, :3] - want).max() < 1e-12
    # Winging leaves the points of its axis where they were.
    component = Scapulothoracic(RADII, [0.05, -0.03], 0.6)
    before = placed(component, (abduction, elevation, upward, 0.0))
    after = placed(component, values)
    edge = np.array([-np.sin(0.6), np.cos(0.6), 0.0])
    for along in (0.0, 0.1):
        point = np.append([0.05, -0.03, 0.0] + along * edge, 1.0)
        assert np.abs(before @ point - after @ point).max() < 1e-12
    assert np.abs(after[:3, :3] - want @ turn(edge, winging)).max() < 1e-12


def test_it_goes_through_files_and_coordinates_may_be_left_out(tmp_path):
    component = Scapulothoracic(RADII, [0.05, -0.03], 0.6)
    network = Network({"st": component}, {"st.upward": "upward"}, {"scapula": "st.matrix"})
    save_network(network, tmp_path / "network.xml")
    again = load_network(tmp_path / "network.xml")
    at = np.linspace(-1.0, 1.0, 7)
    got, want = (each({"upward": at})["scapula"] for each in (again, network))
    assert (got == want).all()
    assert np.abs(got[:, :3, 3] - [0.0, 0.0, RADII[2]]).max() < 1e-15


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="radii must be above 0"):
        Scapulothoracic([0.1, 0.0, 0.1])
    with pytest.raises(ValueError, match="direction must be finite"):
        Scapulothoracic(RADII, direction=np.nan)
    with pytest.raises(ValueError, match="axes must be orthonormal rows"):
        Scapulothoracic(RADII, axes=np.ones((3, 3)))
