"""Curves of rejection against volume, of every family of limits and of simpler regions.

A baseline is a region with one parameter, its knob, that makes it grow. Fitting one returns a
function that gives, for each rotation, the least knob at which the region contains it; one call
therefore gives the whole curve. Baselines are fitted to all frames except capture flips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from synovia import Clip, quat
from synovia.arrays import TURN, Floats, Quats, Scalars, Vectors
from synovia.charts import DirectionTwist
from synovia.evidence import TradeoffCurve, families
from synovia.evidence.study import JointStudy, Study, family_name, uniform_rotations, widen
from synovia.learn import FitOptions, thin
from synovia.shapes.extent import tangent_basis

RequiredKnob = Callable[[Quats], Scalars]
Baseline = Callable[[Quats, Vectors], RequiredKnob]

MARGINS = np.radians([*range(-40, -10, 3), *range(-10, 20), *range(20, 50, 2), 55.0, 65.0, 80.0])
MIN_SPREAD = 1e-6  # radians; keeps the hull and the whitening of a hinge's data finite
TAILS = (0.005, 0.995)  # quantiles at which ranges of angles end
SECTORS = 36  # of the star polygon, 10 degrees each
CURVE_POINTS = 120  # of a curve that is computed from required knobs
BLOCK = 4096  # rotations compared with all faces of a hull at once, to bound memory


def euler_box(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Range of each ZYX angle from the mean; the knob is a margin in radians."""
    reference = quat.inverse(quat.mean(rotations))

    def angles(q: Quats) -> Floats:
        return quat.to_euler(quat.mul(reference, q), "ZYX")

    low, high = np.quantile(angles(rotations), TAILS, axis=0)
    return lambda q: _excess(angles(q), low, high).max(axis=-1)


def round_cone(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Cone about the mean direction and a range of twist; the knob is a margin in radians."""
    polar = _polar_coordinates(rotations, axis)
    angles, _, twists = polar(rotations)
    most, (low, high) = np.quantile(angles, TAILS[1]), np.quantile(twists, TAILS)

    def required(q: Quats) -> Scalars:
        angle, _, twist = polar(q)
        return np.maximum(angle - most, _excess(twist, low, high))

    return required


def gaussian(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Ellipsoid of the covariance of rotation vectors; the knob is the Mahalanobis distance."""
    vectors = _rotation_vectors(rotations)
    center = vectors(rotations).mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(vectors(rotations).T, bias=True))
    whitening = axes / np.sqrt(np.maximum(variances, MIN_SPREAD**2))
    return lambda q: np.linalg.norm((vectors(q) - center) @ whitening, axis=-1)


def hull(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Convex hull of all rotation vectors; the knob moves its faces, in radians."""
    from scipy.spatial import ConvexHull

    vectors = _rotation_vectors(rotations)
    # A small cube about each sample gives flat data, such as a hinge's, a hull.
    corners = np.stack(np.meshgrid(*[[-MIN_SPREAD, MIN_SPREAD]] * 3), axis=-1).reshape(-1, 3)
    points = vectors(rotations)
    points = points[thin(points, cell=1e-3)]
    faces = ConvexHull((points[:, None] + corners).reshape(-1, 3)).equations
    faces = np.unique(faces.round(12), axis=0)

    def required(q: Quats) -> Scalars:
        flat = vectors(q).reshape(-1, 3)
        blocks = [flat[start : start + BLOCK] for start in range(0, len(flat), BLOCK)]
        excess = [(block @ faces[:, :3].T + faces[:, 3]).max(axis=1) for block in blocks]
        return np.concatenate([np.empty(0), *excess]).reshape(q.shape[:-1])

    return required


def nearest_frame(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Rotations near some frame; the knob is the distance in radians."""
    from scipy.spatial import cKDTree

    frames = rotations[thin(quat.log(rotations), cell=0.01)]
    tree = cKDTree(np.concatenate([frames, -frames]))
    return lambda q: 4.0 * np.arcsin(np.minimum(0.5 * tree.query(q)[0], 1.0))


def star_polygon(rotations: Quats, axis: Vectors) -> RequiredKnob:
    """Largest swing in each of 36 directions and a range of twist; the knob is in radians."""
    polar = _polar_coordinates(rotations, axis)
    angles, azimuths, twists = polar(rotations)
    sector = np.minimum((azimuths * SECTORS / TURN).astype(int), SECTORS - 1)
    reach = [np.quantile(np.append(angles[sector == k], 0.0), TAILS[1]) for k in range(SECTORS)]
    middles = (np.arange(SECTORS) + 0.5) * (TURN / SECTORS)
    low, high = np.quantile(twists, TAILS)

    def required(q: Quats) -> Scalars:
        angle, azimuth, twist = polar(q)
        allowed = np.interp(azimuth, middles, reach, period=TURN)
        return np.maximum(angle - allowed, _excess(twist, low, high))

    return required


BASELINES: dict[str, Baseline] = {
    "Euler box": euler_box,
    "round cone + twist": round_cone,
    "ellipsoid of spread": gaussian,
    "hull, untrimmed": hull,
    "nearest frame": nearest_frame,
    "star polygon + twist": star_polygon,
}


def _rotation_vectors(rotations: Quats) -> Callable[[Quats], Floats]:
    """Return the map from rotations to rotation vectors from the mean of `rotations`."""
    reference = quat.inverse(quat.mean(rotations))
    return lambda q: quat.log(quat.mul(reference, q))


def _polar_coordinates(
    rotations: Quats, axis: Vectors
) -> Callable[[Quats], tuple[Scalars, Scalars, Scalars]]:
    """Return the map from rotations to swing angle, azimuth (0 to 2π) and twist, in radians."""
    chart = DirectionTwist(quat.mean(rotations), axis)
    first, second = tangent_basis(chart.axis)

    def polar(q: Quats) -> tuple[Scalars, Scalars, Scalars]:
        points = chart.points(q)
        swing = quat.log(quat.between(chart.axis, points[..., :3]))
        azimuth = np.arctan2(swing @ second, swing @ first)
        return np.linalg.norm(swing, axis=-1), np.mod(azimuth, TURN), points[..., 3]

    return polar


def _excess(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return by how much values lie outside [low, high]; negative inside."""
    return np.maximum(low - values, values - high)


def at_volume(curve: TradeoffCurve, volume: float) -> float:
    """Return the share rejected where `volume` is accepted; nan below the least volume tried."""
    volumes, rejected = curve.frontier
    return float(np.interp(volume, volumes, rejected, left=np.nan))


def curves(
    clips: Sequence[Clip],
    joint: str,
    *,
    margins: Floats = MARGINS,
    samples: int = 20_000,
    seed: int = 0,
) -> list[TradeoffCurve]:
    """Return the curve of each family, then of each baseline, for one joint of `clips`.

    Each performer is held out in turn, duplicates merged; rejections and volumes are means over
    them. `margins` (radians) are the points of the families' curves. Volumes are shares of
    `samples` uniform rotations.
    """
    study = Study.of(clips, FitOptions(joints=[joint])).joint(joint)
    everywhere = uniform_rotations(samples, seed)
    found = [family_curve(study, *family, margins, everywhere) for family in families()]
    for name, fit in BASELINES.items():
        regions = [fit(fold.rest_rotations, study.axis) for fold in study.folds]
        found.append(_curve_of_knobs(name, study, regions, everywhere))
    return found


def family_curve(
    joint: JointStudy, shape: str, chart: str, margins: Floats, everywhere: Quats
) -> TradeoffCurve:
    """Return the curve of one family: fitted once for each fold, then widened."""
    options, name = FitOptions(shape, chart, margin=0.0), family_name(shape, chart)
    if options.estimator is not None:
        regions = [options.estimator.of(fold.rest).distance for fold in joint.folds]
        return _curve_of_knobs(name, joint, regions, everywhere)
    rows = []
    for fold in joint.folds:
        limit = joint.limit(options, fold)
        wider = [widen(limit, margin) for margin in margins.tolist()]
        rejected = [1.0 - wide.contains(fold.held_out).mean() for wide in wider]
        rows.append((rejected, [wide.contains(everywhere).mean() for wide in wider]))
    rejected, volume = np.mean(rows, axis=0)
    return TradeoffCurve(name, margins, rejected, volume)


def _curve_of_knobs(
    name: str, joint: JointStudy, regions: Sequence[RequiredKnob], everywhere: Quats
) -> TradeoffCurve:
    """Return the curve through knobs that are evenly spread over the square root of volume."""
    held_out = [region(fold.held_out) for region, fold in zip(regions, joint.folds, strict=True)]
    uniform = [region(everywhere) for region in regions]
    shares = np.linspace(0.0, 1.0, CURVE_POINTS) ** 2
    knobs = np.unique(np.quantile(np.concatenate(uniform), shares))
    rejected = np.mean([1.0 - _share_below(each, knobs) for each in held_out], axis=0)
    volume = np.mean([_share_below(each, knobs) for each in uniform], axis=0)
    return TradeoffCurve(name, knobs, rejected, volume)


def _share_below(values: Floats, knobs: Floats) -> Floats:
    return np.searchsorted(np.sort(values), knobs, side="right") / len(values)
