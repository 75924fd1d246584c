"""Theta-phi tables keep the promises of shapes, and say what is wrong with what is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from synovia import ThetaPhi
from tables import table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros((18, 36))}, "a table needs a legal cell"),
        ({"counts": -np.ones((18, 36))}, "counts must be at least 0"),
        ({"counts": np.ones((1, 36))}, r"counts must be at least \(2, 4\)"),
        ({"low": np.ones((18, 36)), "high": np.zeros((18, 36))}, "low must not exceed"),
        ({"low": np.full((18, 36), np.nan)}, "low must be finite"),
        ({"low": np.zeros((3, 3))}, r"low must have shape \(18, 36\)"),
        ({"frame": np.ones((3, 3))}, "frame must be orthonormal"),
        ({"least": -1.0}, "least must be at least 0"),
    ],
)
def test_wrong_fields_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(table("blob"), **change)


def test_wrong_samples_are_named():
    with pytest.raises(ValueError, match=r"must have shape \(n, 4\)"):
        ThetaPhi.fit(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="at least one point"):
        ThetaPhi.fit(np.zeros((0, 4)))
    with pytest.raises(ValueError, match="directions must be unit"):
        ThetaPhi.fit(np.zeros((5, 4)))
    with pytest.raises(ValueError, match="cell must be between"):
        ThetaPhi.fit(np.eye(4)[:1], cell=5.0)
    with pytest.raises(ValueError, match="holes must be"):
        ThetaPhi.fit(np.eye(4)[:1], holes="some")
    with pytest.raises(ValueError, match="directions must be unit"):
        table("blob").distance([[2.0, 0.0, 0.0, 0.0]])
