"""fit_figure: the human fitted to a person, from captures of clips or of markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors, whole_number
from ..components import Figure
from ..skeleton import Clip, forward
from .bundle_adjustment import (
    CONTROL_SPREAD,
    MAX_STEPS,
    START_SPREAD,
    BundleProblem,
    Estimate,
    adjust,
    human_parameters,
    plausible_frames,
    restart_frames,
    solve_frames,
    start_estimate,
)
from .human import human
from .observations import (
    MIN_FRAMES,
    POINT_NOISE,
    ROTATION_NOISE,
    MarkerTracks,
    Observations,
    choose_frames,
    observe_markers,
    observe_rig,
)
from .part import REFERENCE_HEIGHT, SIDES

FRAMES = 150  # of a fit, by default: more change lengths by less than their standard errors
HEIGHTS = (0.5, 2.6)  # metres, of people
BONES = (
    ("UpperLeg", "LowerLeg"),
    ("LowerLeg", "Foot"),
    ("UpperArm", "LowerArm"),
    ("LowerArm", "Hand"),
)
"""Pairs of segments whose joints are the ends of a bone, which tells the height."""


@dataclass(frozen=True)
class Residual:
    """Root mean squares of a segment's points, in metres, and rotations, in radians.

    NaN where it has none.
    """

    shift: float
    angle: float


@dataclass(frozen=True, eq=False)
class FittedFigure:
    """The figure of a person, and how well it fits the captures."""

    figure: Figure
    before: Mapping[str, Residual]
    """By segment, of the default human of the same height with the best controls; positions of
    points and rotations of a rig's frames are fitted already."""
    after: Mapping[str, Residual]
    """The same of the fitted figure."""
    height: float
    """Metres, of the default human that the fit started from."""
    frames: int
    """The number of frames used."""
    left_out: int
    """Those of them that no controls explain; lengths do not depend on them."""
    unit: str
    """The unit of the captures."""
    lengths: Mapping[str, tuple[float, float, float]]
    """By segment, metres from its joint to that of its parent: in the default human of this height,
    in the figure, and the standard error."""


def fit_figure(
    captures: Sequence[Clip] | Sequence[MarkerTracks] | Observations,
    *,
    height: float | None = None,
    frames: int = FRAMES,
    names: Mapping[str, str] | None = None,
    markers: Mapping[str, tuple[str, Vectors | None]] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> FittedFigure:
    """Return the default human with the lengths, joint centres, axes and curves of a person.

    Parameters of the figure and controls of some frames are fitted together, by bundle adjustment.
    What the captures do not determine stays near the default human.

    Parameters
    ----------
    captures
        Clips of a rig that `synovia.rigs.recognize` knows, tracks of markers (y up), or
        observations of your own.
    height
        Metres, of the human to start from; estimated by default.
    frames
        The number of frames to use, those that differ most; at least 8.
    names
        Roles of the rig's joints, where they are not recognised by name.
    markers
        Segments of markers and their positions there, if known, in addition to `known_markers`.
    progress
        Called with the current stage and the share of all work that is done, from 0 to 1.

    Returns
    -------
    FittedFigure
        The figure, and residuals by segment before and after the fit.
    """
    report = progress or (lambda stage, share: None)
    count = whole_number("frames", frames, MIN_FRAMES)
    report("reading", 0.0)
    observed = _observe(captures, names, markers)
    rows = choose_frames(observed.points, count)
    if len(rows) < MIN_FRAMES:
        raise ValueError(
            f"captures must have {MIN_FRAMES} frames at least in which half of the points are "
            f"seen, got {len(rows)}"
        )
    observed = observed.take(rows)
    start_height = _height_of(observed) if height is None else float(height)
    figure = human(start_height)
    observed = replace(observed, positions=observed.positions * (start_height / REFERENCE_HEIGHT))

    def stage(name: str, first: float, last: float) -> Callable[[int], None]:
        return lambda step: report(name, first + (last - first) * step / MAX_STEPS)

    # First the default human as it is: positions of points, and rotations of a rig's frames.
    problem = BundleProblem(figure, [], observed, START_SPREAD)
    estimate = restart_frames(problem, start_estimate(problem))
    estimate, _ = adjust(problem, estimate, stage("posing the default human", 0.05, 0.2))
    problem = replace(problem, control_spread=CONTROL_SPREAD)
    before = residuals_by_segment(problem, solve_frames(problem, estimate))
    problem = BundleProblem(figure, human_parameters(figure), observed, START_SPREAD)
    start_numbers = problem.start[: len(problem.owners)]
    estimate = replace(estimate, shared=np.concatenate([start_numbers, estimate.shared]))
    estimate, _ = adjust(problem, estimate, stage("fitting", 0.2, 0.6))
    problem = replace(problem, control_spread=CONTROL_SPREAD)
    estimate = restart_frames(problem, solve_frames(problem, estimate))
    plausible = plausible_frames(problem, estimate)
    plausible_estimate = replace(estimate, frames=estimate.frames[plausible])
    plausible_estimate, errors = adjust(
        problem.take(plausible), plausible_estimate, stage("fitting", 0.65, 0.95)
    )
    estimate = solve_frames(problem, replace(estimate, shared=plausible_estimate.shared))
    fitted = problem.figure_at(estimate.shared)
    report("done", 1.0)
    return FittedFigure(
        _finish(fitted, figure),
        before,
        residuals_by_segment(problem, estimate),
        start_height,
        len(rows),
        len(rows) - len(plausible),
        observed.unit,
        _lengths(problem, fitted, errors),
    )


def _observe(
    captures: Sequence[Clip] | Sequence[MarkerTracks] | Observations,
    names: Mapping[str, str] | None,
    markers: Mapping[str, tuple[str, Vectors | None]] | None,
) -> Observations:
    """Return the observations of captures; see `fit_figure`."""
    if isinstance(captures, Observations):
        return captures
    every = list(captures)
    clips = [capture for capture in every if isinstance(capture, Clip)]
    tracks = [capture for capture in every if isinstance(capture, MarkerTracks)]
    if not every or len(every) not in (len(clips), len(tracks)):
        raise ValueError(
            "captures must be clips, or tracks of markers, of one person, "
            f"got {len(clips)} clips and {len(every) - len(clips)} others"
        )
    if clips:
        return observe_rig(clips, names)
    return observe_markers(tracks, human().skeleton.names, markers)


def _height_of(observed: Observations) -> float:
    """Return the height in metres of the default human that is as large as the observed one.

    It follows from the lengths of bones with both joints observed, or else from the spread of all
    points.
    """
    figure = human()
    skeleton = figure.skeleton
    column = {name: k for k, name in enumerate(observed.point_segments)}
    positions, rotations = forward(skeleton, figure.pose())
    ratios = []
    for upper, lower in ((side + a, side + b) for side in SIDES for a, b in BONES):
        a, b = column.get(upper), column.get(lower)
        if a is None or b is None or observed.position_spread[[a, b]].any():
            continue
        distance = np.linalg.norm(observed.points[:, a] - observed.points[:, b], axis=-1)
        bone = positions[skeleton.index(upper)] - positions[skeleton.index(lower)]
        ratios.append(float(np.nanmedian(distance) / np.linalg.norm(bone)))
    if not ratios:
        joints = [skeleton.index(name) for name in observed.point_segments]
        points = positions[joints] + quat.rotate(rotations[joints], observed.positions)
        spreads = [_spread(frame) for frame in observed.points]
        ratios = [float(np.nanmedian(spreads)) / _spread(points)]
    height = REFERENCE_HEIGHT * float(np.median(ratios))
    if not HEIGHTS[0] <= height <= HEIGHTS[1]:
        raise ValueError(
            f"a person's height must be from {HEIGHTS[0]:g} to {HEIGHTS[1]:g} m, it seems to be "
            f"{height:.3g} m: are these captures of one?"
        )
    return height


def _spread(points: Floats) -> float:
    """Return the root mean square distance of points (n, 3) from their mean."""
    return float(np.sqrt(np.nanmean(np.square(points - np.nanmean(points, axis=0)).sum(axis=-1))))


def residuals_by_segment(problem: BundleProblem, estimate: Estimate) -> dict[str, Residual]:
    """Return the residuals of points and rotations by segment."""
    residuals, observed = problem.all_residuals(estimate), problem.observed
    first = 3 * len(observed.point_segments)
    last = first + 3 * len(observed.rotation_segments)
    parts = (
        (residuals[:, :first], POINT_NOISE, observed.points, observed.point_segments),
        (residuals[:, first:last], ROTATION_NOISE, observed.rotations, observed.rotation_segments),
    )
    by_segment: dict[str, list[float]] = {}
    for number, (part, noise, values, segments) in enumerate(parts):
        errors = noise * np.linalg.norm(part.reshape(len(part), -1, 3), axis=-1)
        errors[np.isnan(values).any(axis=-1)] = np.nan
        for name in set(segments):
            some = errors[:, [k for k, segment in enumerate(segments) if segment == name]]
            if np.isfinite(some).any():
                root_mean_square = float(np.sqrt(np.nanmean(np.square(some))))
                by_segment.setdefault(name, [np.nan, np.nan])[number] = root_mean_square
    return {
        name: Residual(*by_segment[name])
        for name in problem.figure.skeleton.names
        if name in by_segment
    }


def _lengths(
    problem: BundleProblem, fitted: Figure, errors: Floats
) -> dict[str, tuple[float, float, float]]:
    """Return `FittedFigure.lengths`; `errors` (S,) are standard errors of the shared variables."""
    lengths, first, skeleton = {}, 0, fitted.skeleton
    for parameter in problem.parameters:
        if parameter.is_center:
            (segment,) = parameter.segments
            joint = skeleton.index(segment)
            offset = skeleton.offsets[joint]
            length = float(np.linalg.norm(offset))
            error = float(np.linalg.norm(errors[first : first + 3] * offset) / length)
            before = float(np.linalg.norm(problem.figure.skeleton.offsets[joint]))
            lengths[segment] = (before, length, error)
        first += len(parameter.start)
    return lengths


def _finish(fitted: Figure, start: Figure) -> Figure:
    """Return the figure with kneecaps, fibulae, ribs and ends of bones scaled with their bones.

    The height of the root changes with the length of the legs.
    """
    skeleton, start_skeleton = fitted.skeleton, start.skeleton
    offsets, ends = skeleton.offsets.copy(), skeleton.end_offsets.copy()
    index = {name: joint for joint, name in enumerate(skeleton.names)}
    growth = offsets - start_skeleton.offsets

    lengths, start_lengths = (
        np.linalg.norm(part.offsets, axis=-1) for part in (skeleton, start_skeleton)
    )

    def ratio(name: str) -> float:
        return float(lengths[index[name]] / start_lengths[index[name]])

    cage = ratio("T6")
    factors = {name: cage for name in index if name.startswith(("Rib", "Sternum"))}
    for side in SIDES:
        factors[f"{side}Fibula"] = ratio(f"{side}Foot")
        factors[f"{side}LowerArm"] = ratio(f"{side}Hand")
        offsets[index[f"{side}Patella"]] += growth[index[f"{side}LowerLeg"]]
    for name in (name for name in index if name.startswith("Rib") or name.endswith("Fibula")):
        offsets[index[name]] *= factors[name]
    for k, joint in enumerate(skeleton.end_parents.tolist()):
        ends[k] *= factors.get(skeleton.names[joint], 1.0)
    legs = [side + name for side in SIDES for name in ("UpperLeg", "LowerLeg", "Foot")]
    root = int(np.flatnonzero(skeleton.parents < 0)[0])
    offsets[root, 1] -= 0.5 * sum(growth[index[name], 1] for name in legs)
    return replace(fitted, skeleton=replace(skeleton, offsets=offsets, end_offsets=ends))
