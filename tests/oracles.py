"""Made-up data, and slow plain answers that the tests compare with."""

from __future__ import annotations

import os
from functools import cache
from itertools import combinations

import numpy as np

from synovia import quat
from synovia.charts import CHARTS
from synovia.shapes import SHAPES, Box, Convex, Ellipsoid, KDop, Product

EXHAUSTIVE = bool(os.environ.get("SYNOVIA_EXHAUSTIVE"))

# Shapes and charts of vector spaces, where regions are convex.
CONVEX = {name: shape for name, shape in SHAPES.items() if issubclass(shape, Convex)}
VECTORS = Convex.charts

# Beside its defaults, a shape is also fitted in these ways.
OPTIONS = {
    "box": [{"along": "chart"}],
    "kdop": [{"along": "chart"}],
    "product": [{"swing": "box"}, {"swing": "kdop"}],
}
CASES = {
    " ".join([name, *map(str, options.values())]): (name, options)
    for name in CONVEX
    for options in [{}, *OPTIONS.get(name, [])]
}
OTHER_CASES = ("box chart", "kdop chart")
# Every way to fit a shape, with every chart that it works in.
SEEN = [(case, chart) for case, (name, _) in CASES.items() for chart in SHAPES[name].charts]
# And one in the chart of hinges, which takes all of these shapes.
IN_HINGES = [("kdop chart", "hinges")]
THICK = ("round", "elongated", "tilted", "beyond")
THIN = ("one", "line", "plane")
CLOUDS = THICK + THIN
# What tests of every case on every cloud take, unless all are wanted: each shape, and each kind of
# swing of a product.
FEW_CASES = tuple(case for case in CASES if EXHAUSTIVE or case not in OTHER_CASES)
FEW_SEEN = [(case, chart) for case, chart in SEEN if case in FEW_CASES]
FEW_CLOUDS = CLOUDS if EXHAUSTIVE else ("tilted", "beyond", "one", "plane")
# One answer, none, some, and some in rows.
BATCHES = [(), (0,), (1,), (3, 1, 2)]


def random_quats(n, rng):
    """Rotations, uniform over all."""
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def smallest_angles(limit, rotations):
    """Rotation angles (n,) to the nearest legal rotation: of thousands, and of others near those.

    Around the best, legal rotations are tried at random, ever closer by.
    """
    rng = np.random.default_rng(5)
    everywhere = limit.project(np.concatenate([random_quats(3000, rng), limit.sample(1000, rng)]))
    least = np.empty(len(rotations))
    for k, rotation in enumerate(rotations):
        legal = np.concatenate([everywhere, limit.project(rotation[None])])
        for scale in 0.5 ** np.arange(1, 11):
            angles = quat.angle_between(legal, rotation)
            legal = legal[np.argsort(angles)[:40]]
            moves = rng.normal(size=(40, 25, 3)) * min(scale, angles.min())
            tried = limit.project(quat.normalize(quat.mul(legal[:, None], quat.exp(moves))))
            legal = np.concatenate([legal, tried.reshape(-1, 4)])
        least[k] = quat.angle_between(legal, rotation).min()
    return least


def random_frame(rng):
    """Orthonormal rows, right-handed."""
    return quat.to_matrix(random_quats(1, rng)[0])


def lengths(vectors):
    return np.linalg.norm(vectors, axis=-1)


def directions(n, rng):
    """Unit vectors, uniform."""
    v = rng.normal(size=(n, 3))
    return v / lengths(v)[:, None]


def curved(shape):
    return isinstance(shape, Ellipsoid) or (isinstance(shape, Product) and curved(shape.swing))


@cache
def cloud(kind, n=60, seed=7):
    """Points in a chart, as samples of a fit; locked."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(n, 3))
    tilt = random_frame(rng)
    points = {
        "round": lambda: 0.3 * normal,
        "elongated": lambda: normal * [0.6, 0.1, 0.02],
        "tilted": lambda: (normal * [0.5, 0.2, 0.1]) @ tilt + [0.3, -0.2, 0.5],
        "beyond": lambda: normal * [0.2, 0.2, 0.6] + [0.1, 0.0, 3.3],
        "one": lambda: np.array([[0.2, -0.1, 0.4]]),
        "line": lambda: (normal * [0.7, 0.0, 0.0]) @ tilt + [0.1, 0.2, -0.3],
        "plane": lambda: (normal * [0.7, 0.2, 0.0]) @ tilt + [0.1, 0.2, -0.3],
    }[kind]()
    points.flags.writeable = False
    return points


@cache
def fitted(case, kind, margin=0.0):
    name, options = CASES[case]
    return SHAPES[name].fit(cloud(kind), margin=margin, **options)


REGIONS = {
    "within pi": ([-0.5, -0.3, -1.0], [0.4, 0.6, 1.2]),
    "beyond pi": ([-0.2, -0.3, -0.5], [0.3, 0.2, 3.8]),
    "far beyond pi": ([-0.2, -0.3, 3.0], [0.3, 0.2, 5.9]),
    "beyond 2 pi": ([-0.2, -0.3, 1.0], [0.3, 0.2, 8.0]),
    "more than a whole turn": ([-0.6, -0.6, -2.0], [0.6, 0.6, 7.5]),
    "far beyond 2 pi": ([-0.2, -0.3, 7.0], [0.3, 0.2, 11.0]),
}


def region(case, name, rng):
    """A shape that fills the region, more or less."""
    low, high = REGIONS[name]
    kind, options = CASES[case]
    return SHAPES[kind].fit(rng.uniform(low, high, size=(200, 3)), **options)


def placed(chart):
    """A chart of this name, about a reference and a bone's axis that are nothing special."""
    reference = random_quats(1, np.random.default_rng(5))[0]
    kind = CHARTS[chart]
    return (
        kind(reference, np.array([0.6, 0.0, 0.8])) if hasattr(kind(), "axis") else kind(reference)
    )


def queries(shape, n=600, seed=11):
    """Points deep inside, near the boundary, around and far away."""
    rng = np.random.default_rng(seed)
    low, high = shape.bounds
    near = rng.uniform(low - 0.3, high + 0.3, size=(n, 3))
    far = 6.0 * rng.normal(size=(n // 3, 3))
    members = shape.scatter(n // 3, rng)
    rim = shape.project(far)
    outwards = rim + (far - rim) * 10.0 ** rng.uniform(-12, -1, size=(len(far), 1))
    points = np.concatenate([near, far, members, rim, outwards])
    points.flags.writeable = False
    return points


def spanned(points):
    """In how many dimensions points lie, to 1e-8."""
    return int((np.linalg.svd(points - points.mean(axis=0))[1] > 1e-8 * len(points) ** 0.5).sum())


# Polytopes as A x <= b.


def halfspaces(shape):
    """A (m, d) and b (m,) of a polytope, or None if the shape is not one."""
    if isinstance(shape, (Box, KDop)):
        return np.concatenate([shape.axes, -shape.axes]), np.concatenate([shape.high, -shape.low])
    if isinstance(shape, Product) and halfspaces(shape.swing) is not None:
        A, b = halfspaces(shape.swing)
        zero = np.zeros((len(A), 1))
        ends = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
        return np.concatenate([np.hstack([A, zero]), ends]), np.append(b, [shape.high, -shape.low])
    return None


def vertices(A, b, slack=1e-10):
    """All points where planes meet and no other plane cuts them off."""
    d = A.shape[1]
    picks = np.array(list(combinations(range(len(A)), d)))
    picks = picks[np.abs(np.linalg.det(A[picks])) > 1e-7]
    meets = np.linalg.solve(A[picks], b[picks][..., None])[..., 0]
    meets = meets[(meets @ A.T <= b + slack).all(axis=1)]
    _, first = np.unique(np.round(meets, 13), axis=0, return_index=True)
    return meets[first]


def support(shape, directions):
    """The greatest inner product of any member with each direction."""
    if isinstance(shape, Ellipsoid):
        across = directions @ shape.axes.T * shape.radii
        return np.linalg.norm(across, axis=-1) + directions @ shape.center
    if isinstance(shape, Product):
        twist = directions[..., 2]
        ends = np.maximum(twist * shape.low, twist * shape.high)
        return support(shape.swing, directions[..., :2]) + ends
    planes = halfspaces(shape)
    if planes is None:  # a shape this file does not know: members stand for all
        members = shape.scatter(2000, np.random.default_rng(0))
        return (directions @ members.T).max(axis=-1)
    best = np.full(directions.shape[:-1], -np.inf)
    for vertex in vertices(*planes):
        np.maximum(best, directions @ vertex, out=best)
    return best


# Limits, cover by cover.


def over_covers(limit, rotations):
    """Distance, projected rotation, and whether a second cover is as near, by NumPy alone."""
    covers = np.stack(limit.covers(rotations))
    distances = np.stack([limit.shape.distance(cover) for cover in covers])
    best = distances.argmin(axis=0)
    each = np.arange(len(rotations))
    projected = limit.chart.rotations(limit.shape.project(covers[best, each]))
    ordered = np.sort(distances, axis=0)
    tied = ordered[1] - ordered[0] < 1e-7
    return ordered[0], projected, tied


def followed(chart, rotations):
    """A path in the chart: at each step the nearest of many covers to the point before."""
    points, periods = chart.points(rotations), np.array(chart.periods)
    path = [points[0]]
    for point in points[1:]:
        covers = np.stack(chart.shifts(point, 2 + int(np.abs(path[-1]).max() / 6.0)))
        covers += periods * np.rint((path[-1] - covers) / np.where(periods > 0.0, periods, 1.0))
        path.append(covers[np.linalg.norm(covers - path[-1], axis=-1).argmin()])
    return np.stack(path)


def triangle_distance(points, corners):
    """How far each of (n, 3) points is from its own triangle (n, 3 corners, 3)."""
    a, b, c = np.moveaxis(corners, 1, 0)
    distance = np.minimum(edge_distance(points, a, b), edge_distance(points, b, c))
    distance = np.minimum(distance, edge_distance(points, c, a))
    # Above the face, if the point is on the inner side of all three edges.
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    unit = normal / np.maximum(size, 1e-300)[:, None]
    above = size > 1e-30
    for start, end in ((a, b), (b, c), (c, a)):
        side = np.einsum("ni,ni->n", np.cross(unit, end - start), points - start)
        above &= side >= 0.0
    height = np.abs(np.einsum("ni,ni->n", points - a, unit))
    return np.where(above, height, distance)


def edge_distance(points, start, end):
    way = end - start
    square = np.maximum(np.einsum("ni,ni->n", way, way), 1e-300)
    share = np.clip(np.einsum("ni,ni->n", points - start, way) / square, 0.0, 1.0)
    return np.linalg.norm(points - start - share[:, None] * way, axis=1)
