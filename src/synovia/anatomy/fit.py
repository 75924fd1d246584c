"""fit_figure: a human of one's own, from captures of clips or of markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Vectors, whole_number
from ..components import Figure
from ..skeleton import Clip, forward
from .human import human
from .least_squares import (
    STEPS,
    Problem,
    State,
    at_frames,
    plausible_frames,
    restart_frames,
    solve_frames,
    solve_together,
    start_state,
)
from .observations import (
    LEAST_FRAMES,
    POINT_NOISE,
    TURN_NOISE,
    MarkerTracks,
    Observations,
    choose_frames,
    observe_markers,
    observe_rig,
)
from .parameters import Center, human_parameters
from .part import REFERENCE_HEIGHT, SIDES

FRAMES = 150
"""Frames that a fit looks at, unless given."""


@dataclass(frozen=True, eq=False)
class FittedFigure:
    """The figure of a person, and how near it comes to what was captured."""

    figure: Figure
    before: Mapping[str, Residual]
    """By segment, of the default human of the same height, with the best controls: where points are
    on it, and how a rig's frames are turned, is found already."""
    after: Mapping[str, Residual]
    """The same of the figure."""
    height: float
    """Metres, of the default human whose bones are as long in all."""
    frames: int
    """That were looked at."""
    left_out: int
    """Those of them that no controls explain, and that lengths do not depend on."""
    unit: str
    """That of the captures."""
    lengths: Mapping[str, tuple[float, float, float]]
    """By segment: metres from its joint to the one before, in the default human of this height, in
    the figure, and its standard error."""


@dataclass(frozen=True)
class Residual:
    """Root mean squares of what is left of a segment's points, metres, and turns, radians.

    NaN where it has none.
    """

    shift: float
    angle: float


def fit_figure(
    captures: Sequence[Clip] | Sequence[MarkerTracks] | Observations,
    *,
    height: float | None = None,
    frames: int = FRAMES,
    names: Mapping[str, str] | None = None,
    markers: Mapping[str, tuple[str, Vectors | None]] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> FittedFigure:
    """Return the default human with lengths, joint centres, axes and curves of a person.

    Parameters and the controls of some frames are found together, by least squares; what captures
    do not tell stays near the default human's numbers.

    Parameters
    ----------
    captures
        Clips of a rig that `synovia.rigs.recognize` knows, tracks of markers (y up), or
        observations of your own.
    height
        Metres, of the human to start from; unless given it is found.
    frames
        How many are looked at, those that differ most; 8 at least.
    names
        Roles of the rig's joints, where their names do not tell them.
    markers
        Segments of markers, and their places there where known, beside those of `known_markers`.
    progress
        Is told what is done, and how much of all, from 0 to 1.

    Returns
    -------
    FittedFigure
        The figure, and what is left by segment, before and after.
    """
    tell = progress or (lambda what, share: None)
    count = whole_number("frames", frames, LEAST_FRAMES)
    tell("reading", 0.0)
    seen = _observe(captures, names, markers)
    rows = choose_frames(seen.points, count)
    if len(rows) < LEAST_FRAMES:
        raise ValueError(
            f"captures must have {LEAST_FRAMES} frames at least in which half of the points are "
            f"seen, got {len(rows)}"
        )
    seen = seen.take(rows)
    tall = _height_of(seen) if height is None else float(height)
    figure, seen = human(tall), _scale_places(seen, tall)

    def stage(what: str, first: float, last: float) -> Callable[[int], None]:
        return lambda step: tell(what, first + (last - first) * step / STEPS)

    # First the default human as it is: where points are on it, and how frames are turned.
    problem = Problem(figure, [], seen)
    state = restart_frames(problem, solve_frames(problem, start_state(problem)))
    state, _ = solve_together(problem, state, stage("posing the default human", 0.05, 0.2))
    before = residuals_by_segment(problem, state)
    problem = Problem(figure, human_parameters(figure), seen)
    state = replace(state, numbers=problem.starts)
    state, _ = solve_together(problem, state, stage("fitting", 0.2, 0.6))
    state = restart_frames(problem, state)
    kept = plausible_frames(problem, state)
    part, inner = at_frames(problem, state, kept, state.shares[kept])
    inner, errors = solve_together(part, inner, stage("fitting", 0.65, 0.95))
    state = replace(state, numbers=inner.numbers, places=inner.places, turns=inner.turns)
    state = solve_frames(problem, state)
    fitted = problem.figure_at(state.numbers)
    tell("done", 1.0)
    return FittedFigure(
        _finish(fitted, figure),
        before,
        residuals_by_segment(problem, state),
        tall,
        len(rows),
        len(rows) - len(kept),
        seen.unit,
        _lengths(problem, fitted, errors),
    )


def _observe(
    captures: Sequence[Clip] | Sequence[MarkerTracks] | Observations,
    names: Mapping[str, str] | None,
    markers: Mapping[str, tuple[str, Vectors | None]] | None,
) -> Observations:
    if isinstance(captures, Observations):
        return captures
    given = list(captures)
    clips = [each for each in given if isinstance(each, Clip)]
    tracks = [each for each in given if isinstance(each, MarkerTracks)]
    if not given or len(given) not in (len(clips), len(tracks)):
        raise ValueError(
            "captures must be clips, or tracks of markers, of one person, "
            f"got {len(clips)} clips and {len(given) - len(clips)} others"
        )
    if clips:
        return observe_rig(clips, names)
    return observe_markers(tracks, human().skeleton.names, markers)


def _scale_places(seen: Observations, height: float) -> Observations:
    """Return the observations with places of a person 1.75 m tall as for this height."""
    return replace(seen, places=seen.places * (height / REFERENCE_HEIGHT))


def _height_of(seen: Observations) -> float:
    """Return the height of the human whose points are as far apart as those that were seen.

    Along bones where both of their joints were seen; else, of all points, how far they spread where
    they do most.
    """
    figure = human()
    skeleton, index = figure.skeleton, {n: k for k, n in enumerate(seen.point_segments)}
    ratios = []
    for side in SIDES:
        for upper, lower in BONES:
            a, b = (index.get(side + each) for each in (upper, lower))
            if a is None or b is None or seen.place_spread[[a, b]].any():
                continue
            apart = np.linalg.norm(seen.points[:, a] - seen.points[:, b], axis=-1)
            rest, _ = forward(skeleton, figure.pose())
            own = rest[skeleton.index(side + upper)] - rest[skeleton.index(side + lower)]
            ratios.append(float(np.nanmedian(apart) / np.linalg.norm(own)))
    if not ratios:
        where, how = forward(skeleton, figure.pose())
        joints = [skeleton.index(name) for name in seen.point_segments]
        points = where[joints] + quat.rotate(how[joints], seen.places)
        spreads = [_spread(frame) for frame in seen.points]
        ratios = [float(np.nanmedian(spreads)) / _spread(points)]
    found = REFERENCE_HEIGHT * float(np.median(ratios))
    if not HEIGHTS[0] <= found <= HEIGHTS[1]:
        raise ValueError(
            f"a person's height must be from {HEIGHTS[0]:g} to {HEIGHTS[1]:g} m, it seems to be "
            f"{found:.3g} m: are these captures of one?"
        )
    return found


BONES = (
    ("UpperLeg", "LowerLeg"),
    ("LowerLeg", "Foot"),
    ("UpperArm", "LowerArm"),
    ("LowerArm", "Hand"),
)
HEIGHTS = (0.5, 2.6)


def _spread(points: Floats) -> float:
    """Return the root mean square distance of points (n, 3) from their mean."""
    return float(np.sqrt(np.nanmean(np.square(points - np.nanmean(points, axis=0)).sum(axis=-1))))


def residuals_by_segment(problem: Problem, state: State) -> dict[str, Residual]:
    """Return by segment what is left of its points and turns."""
    left, seen = problem.left_at(state), problem.seen
    split = 3 * len(seen.point_segments)
    far = POINT_NOISE * np.linalg.norm(left[:, :split].reshape(len(left), -1, 3), axis=-1)
    far[np.isnan(seen.points).any(axis=-1)] = np.nan
    angles = TURN_NOISE * np.linalg.norm(left[:, split:].reshape(len(left), -1, 3), axis=-1)
    angles[np.isnan(seen.turns).any(axis=-1)] = np.nan
    found = {}
    for name in problem.figure.skeleton.names:
        own = [k for k, each in enumerate(seen.point_segments) if each == name]
        turned = [k for k, each in enumerate(seen.turn_segments) if each == name]
        if own or turned:
            found[name] = Residual(
                _root_mean_square(far[:, own]), _root_mean_square(angles[:, turned])
            )
    return found


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.nanmean(np.square(values)))) if np.isfinite(values).any() else np.nan


def _lengths(
    problem: Problem, fitted: Figure, errors: Floats
) -> dict[str, tuple[float, float, float]]:
    """Return by segment how far it is from the joint before, and the standard error of that."""
    found, first, skeleton = {}, 0, fitted.skeleton
    for each in problem.parameters:
        if isinstance(each, Center):
            joint = skeleton.index(each.segment)
            place, spread = skeleton.offsets[joint], errors[first : first + 3]
            length = float(np.linalg.norm(place))
            error = float(np.linalg.norm(spread * place) / length)
            was = float(np.linalg.norm(problem.figure.skeleton.offsets[joint]))
            found[each.segment] = (was, length, error)
        first += len(each.start)
    return found


def _finish(fitted: Figure, start: Figure) -> Figure:
    """Return the figure with what goes with its bones: kneecaps, fibulae, ribs, ends of bones."""
    skeleton, was = fitted.skeleton, start.skeleton
    offsets, ends = skeleton.offsets.copy(), skeleton.end_offsets.copy()

    def ratio(name: str) -> float:
        joint = skeleton.index(name)
        return float(np.linalg.norm(offsets[joint]) / np.linalg.norm(was.offsets[joint]))

    factors = {}
    for side in SIDES:
        knee, patella, fibula = (
            skeleton.index(side + name) for name in ("LowerLeg", "Patella", "Fibula")
        )
        offsets[patella] += offsets[knee] - was.offsets[knee]
        factors[f"{side}Fibula"] = ratio(f"{side}Foot")
        offsets[fibula] *= factors[f"{side}Fibula"]
        factors[f"{side}LowerArm"] = ratio(f"{side}Hand")
    cage = ratio("T6")
    factors |= {name: cage for name in skeleton.names if name.startswith(("Rib", "Sternum"))}
    for k, joint in enumerate(skeleton.end_parents.tolist()):
        ends[k] *= factors.get(skeleton.names[joint], 1.0)
    for name in (name for name in skeleton.names if name.startswith("Rib")):
        offsets[skeleton.index(name)] *= cage
    legs = [
        name for side in SIDES for name in (f"{side}UpperLeg", f"{side}LowerLeg", f"{side}Foot")
    ]
    grown = sum(offsets[skeleton.index(n)][1] - was.offsets[skeleton.index(n)][1] for n in legs)
    root = int(np.flatnonzero(skeleton.parents < 0)[0])
    offsets[root, 1] -= 0.5 * grown
    return replace(fitted, skeleton=replace(skeleton, offsets=offsets, end_offsets=ends))
