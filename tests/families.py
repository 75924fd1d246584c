"""A limit of every family that can be fitted, in each of its charts, by their names."""

from __future__ import annotations

import warnings
from functools import cache, partial

import numpy as np

from oracles import placed
from synovia import Limit, quat
from synovia.limit import charts_of
from synovia.shapes import SHAPES


@cache
def _limit(shape, chart):
    vectors = np.random.default_rng(7).normal(size=(300, 3)) * [0.7, 0.3, 0.4]
    rotations = quat.mul(placed("rotation-vector").reference, quat.exp(vectors))
    axis = np.array([0.6, 0.0, 0.8]) if hasattr(placed(chart), "axis") else None
    options = {"resolution": 16} if shape == "distance-field" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some have the direction opposite the axis
        return Limit.fit(rotations, shape, chart, axis=axis, **options)


LIMITS = {
    (shape, chart): partial(_limit, shape, chart)
    for shape, kind in SHAPES.items()
    if "fit" in vars(kind) or shape != "union"
    for chart in charts_of(shape)
}
