"""A limit of every shape in each of its charts, fitted to several kinds of data."""

from __future__ import annotations

import warnings
from functools import cache, partial

import numpy as np

import cones
import fields
from cones import CONES, star
from oracles import (
    CONVEX,
    EXHAUSTIVE,
    FEW_CLOUDS,
    FEW_SEEN,
    IN_HINGES,
    cloud,
    fitted,
    placed,
    queries,
    random_quats,
)
from synovia import Limit, Union, quat
from synovia.charts import takes_axis
from synovia.limit import charts_of
from synovia.shapes import SHAPES, Convex
from tables import MASKS, points_around, table


def _axis(chart):
    return placed(chart).axis if takes_axis(type(placed(chart))) else None


@cache
def _limit(shape, chart):
    vectors = np.random.default_rng(7).normal(size=(300, 3)) * [0.7, 0.3, 0.4]
    rotations = quat.mul(placed("rotation-vector").reference, quat.exp(vectors))
    options = {"resolution": 16} if shape == "distance-field" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some have the direction opposite the axis
        return Limit.fit(rotations, shape, chart, axis=_axis(chart), **options)


FAMILIES = [(shape, chart) for shape in SHAPES for chart in charts_of(shape)]
LIMITS = {family: partial(_limit, *family) for family in FAMILIES}
"""By shape and chart, a limit around the same rotations."""

OTHERS = [
    (name, chart)
    for name, shape in SHAPES.items()
    if name not in CONVEX and name != "union"
    for chart in shape.charts
]
OTHER_KINDS = ("elongated", "wide", "islands", "one") + ("round", "hinge") * EXHAUSTIVE
# Softening packs a field anew for each of its levels, which takes long where cells are many.
OPTIONS = {} if EXHAUSTIVE else {"distance-field": {"resolution": 20}}

LIMIT_CASES = [
    *((*family, kind) for family in FEW_SEEN + IN_HINGES for kind in FEW_CLOUDS),
    *((*family, kind) for family in OTHERS for kind in OTHER_KINDS),
]
"""A way to fit a shape, a chart, and a kind of data: convex shapes first."""
SHAPE_CASES = list({(case if chart in ("rotation-vector", "swing-twist") else (case, chart), kind):
                    (case, chart, kind) for case, chart, kind in LIMIT_CASES}.values())  # fmt: skip
"""The same, with each convex shape in one chart; and fields, cones, tables and a union by hand."""
SPECIAL = {
    "field": fields.field,
    "cone": lambda kind: CONES[kind](),
    "table": table,
    "union": lambda kind: Union(
        (star(8, 0.5, 0.9, 41), star(6, 0.4, 0.8, 42), star(5, 0.3, 0.6, 41))
    ),
}
SHAPE_CASES += [
    ("field", "euler" if kind in fields.WRAPPED else "rotation-vector", kind) for kind in fields.FEW
]
SHAPE_CASES += [("cone", "direction-twist", kind) for kind in CONES]
SHAPE_CASES += [("table", "direction-twist", kind) for kind in MASKS]
SHAPE_CASES += [("union", "direction-twist", "of two")]


@cache
def samples_of(case, chart, kind):
    """Rotations to which a limit is fitted."""
    if case.split()[0] in CONVEX:
        return placed(chart).rotations(cloud(kind))
    normal = np.random.default_rng(7).normal(size=(300, 3))
    side = np.where(np.arange(300) % 2 == 0, 1.0, -1.0)[:, None]
    vectors = {
        "round": lambda: 0.3 * normal,
        "elongated": lambda: normal * [0.7, 0.15, 0.3],
        "wide": lambda: normal * [0.9, 0.8, 0.6],
        "islands": lambda: 0.12 * normal + side * [0.8, 0.0, 0.0],
        "hinge": lambda: normal[:, :1] * [0.5, 0.1, 0.2],
        "one": lambda: np.array([[0.2, -0.1, 0.4]]),
    }[kind]()
    return quat.mul(placed("rotation-vector").reference, quat.exp(vectors))


@cache
def limit_of(case, chart, kind, margin=0.0):
    """The limit of a case."""
    if case.split()[0] in CONVEX:
        return Limit(placed(chart), fitted(case, kind, margin))
    if case in SPECIAL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return Limit(placed(chart), SPECIAL[case](kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some have the direction opposite the axis
        samples, options = samples_of(case, chart, kind), OPTIONS.get(case, {})
        return Limit.fit(samples, case, chart, margin=margin, axis=_axis(chart), **options)


def asked_of(limit):
    """Rotations all over, legal with both signs, on the boundary, and just beyond; read-only."""
    rng = np.random.default_rng(11)
    everywhere = random_quats(400, rng)
    legal = limit.chart.rotations(limit.shape.scatter(200, rng))
    near = quat.mul(legal[:100], quat.exp(0.2 * rng.normal(size=(100, 3))))
    rim = limit.project(everywhere[:150])
    beyond = quat.slerp(rim, everywhere[:150], 10.0 ** rng.uniform(-10, -1, size=150))
    rotations = quat.normalize(np.concatenate([everywhere, legal, -legal, near, rim, beyond]))
    rotations.flags.writeable = False
    return rotations


def points_of(case, limit):
    """Points inside, near the boundary, around and far away; read-only."""
    shape, rng = limit.shape, np.random.default_rng(11)
    if isinstance(shape, Convex):
        return queries(shape)
    if case == "cone":
        points = cones.queries(shape, rng, 600)
    elif case == "field":
        points = fields.queries(shape, 300)
        first = shape.low + np.mod(
            points - shape.low, np.where(shape.wraps == 1.0, shape.periods, 1.0)
        )
        points = np.where(shape.wraps == 1.0, first, points)
    elif case in SPECIAL:
        points = np.concatenate([points_around(600, rng), shape.scatter(300, rng)])
    else:
        points = limit.chart.points(asked_of(limit))
    points.flags.writeable = False
    return points
