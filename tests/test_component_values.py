"""Components that make values of values: one to many, and dependencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joints import CLAVICLE
from synovia.components import Curve, Dependency


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
