"""Distance fields from paths in time, without gaps between their frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Ints, Points, Quats, Vectors, unit_quats
from ..charts import AnyChart, Chart, RotationVector
from ..limit import Limit, chart_named, has_axis, unroll_path
from ..shapes import SHAPES, DistanceField
from ..shapes.distance_field.build import grid_around
from ..skeleton import Clip
from .density import density, level_for
from .people import People, within_for
from .takes import Take
from .trimming import MAX_DROPPED, TrimResult, flips, thin, trim

MAX_HALVINGS = 12  # of a step in time; then it is a jump, and stays one


def field_from_paths(
    paths: Sequence[Quats],
    chart: str | type[Chart] = "rotation-vector",
    *,
    margin: float = 0.0,
    resolution: int = 32,
    bridged: bool = False,
    reference: Quats | None = None,
    axis: Vectors | None = None,
    **options: Any,
) -> Limit:
    """Return the field around paths (frames, 4) in time, without gaps between their frames.

    Between neighbours in time rotations are added by slerp until no gap in the chart exceeds half
    a cell. Paths stay apart, unless `bridged`: then the last frame of each is joined to the first
    of the next. Further options go to `DistanceField.fit`.
    """
    given = [unit_quats("paths", path).astype(np.float64) for path in paths]
    given = [path for path in given if path.size]
    if not given or any(path.ndim != 2 for path in given):
        raise ValueError("paths must be a list of arrays (frames, 4), with at least one frame")
    if reference is None:
        reference = quat.mean(np.concatenate(given))
    framed = chart_named(chart, reference, axis)
    if bridged:
        given = [np.concatenate(given)]
    # Frames between others lie where those do, about: the first grid tells the cell.
    coarse = np.concatenate([unroll_path(framed, path) for path in given])
    threshold = float(options.get("threshold", 1.0))
    _, spacing, _ = grid_around(coarse, margin, threshold + 2.0, resolution, framed.periods)
    dense = [subdivide(path, framed, 0.5 * float(spacing.min())) for path in given]
    points = np.concatenate([unroll_path(framed, path) for path in dense])
    options = {"resolution": resolution, "periods": framed.periods, **options}
    return Limit(framed, DistanceField.fit(points, margin=margin, **options))


def subdivide(path: Quats, chart: AnyChart, gap: float) -> Quats:
    """Return a path with slerps between its frames, so that no step in the chart exceeds `gap`.

    A step that goes through a chart's singularity stays longer than that, however often halved.
    """
    if not gap > 0.0:
        raise ValueError(f"gap must be above 0 radians, got {gap}")
    for _ in range(MAX_HALVINGS):
        wide = np.flatnonzero(_step_lengths(chart, path) > gap)
        if len(wide) == 0:
            break
        middles = quat.slerp(path[wide], path[wide + 1], np.full(len(wide), 0.5))
        path = np.insert(path, wide + 1, middles, axis=0)
    return path


def _step_lengths(chart: AnyChart, path: Quats) -> Points:
    return np.asarray(np.linalg.norm(np.diff(chart.unroll(path), axis=0), axis=-1))


# From the takes of one joint to its limit: trim, refer to the mean, choose the margin, fit.


DEFAULT_LEVEL = 0.01
"""The score from which a density's region accepts, where no rejection is asked for."""
DEFAULT_WITHIN = np.radians(30.0)
"""How near to people a field of them reaches, in radians, where no rejection is asked for."""
FIELD_SOURCES = DistanceField.sources
"""What a distance field may hold: all that was seen, or in one of two ways what many do."""
MAX_MARGIN = np.radians(90.0)
"""The largest margin, in radians, that is tried for the rejection asked for."""
GAP = np.radians(60.0)
"""Where thinned rotations are farther apart than this, in radians, they are not one path."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to fit: see `LimitModel.fit` for what the fields mean."""

    shape: str = "kdop"
    chart: str = "swing-twist"
    margin: float = 0.05
    reject: float | None = None
    trim: float = MAX_DROPPED
    options: dict[str, Any] = field(default_factory=dict)
    """Of the shape's fit; of a distance field also `by`, one of `BY`, and a density's `level`."""

    @property
    def by(self) -> str:
        """What the limit is to hold: of all shapes but distance fields the samples."""
        by = self.options.get("by") if _has_sources(self.shape) else None
        return "samples" if by is None else str(by)

    def __post_init__(self) -> None:
        if self.by not in FIELD_SOURCES:
            *others, last = map(repr, FIELD_SOURCES)
            raise ValueError(f"by must be {', '.join(others)} or {last}, got {self.by!r}")
        if self.reject is not None and not 0.0 < self.reject < 1.0:
            raise ValueError(f"reject must be a share between 0 and 1, got {self.reject}")


@dataclass(frozen=True, eq=False)
class Sample:
    """Thinned observations of one joint in one clip: frames by number, and rotations (n, 4)."""

    clip: str
    performer: str
    frames: Ints
    rotations: Quats


@dataclass(frozen=True, eq=False)
class FittedJoint:
    """A joint's limit, what was dropped on the way, and the margin that was used."""

    limit: Limit
    trimmed: TrimResult
    margin: float
    rejected: float | None
    """The share of held-out frames outside, where a rejection was asked for."""


def fit_joint(
    takes: Sequence[Take],
    recipe: Recipe,
    *,
    reference: Quats | None,
    axis: Vectors,
    trimmed: TrimResult | None = None,
) -> FittedJoint:
    """Return the limit of one joint around what can be believed of its takes.

    That is `trimmed`, where it is known already.
    """
    trimmed = trim(takes, recipe.trim) if trimmed is None else trimmed
    if recipe.by == "density":
        return _fit_density(takes, recipe, reference, axis, trimmed)
    if recipe.by == "people":
        return _fit_people(takes, recipe, reference, axis, trimmed)
    margin, rejected = recipe.margin, None
    if recipe.reject is not None:
        margin, rejected = margin_for(recipe.reject, takes, recipe, reference, axis)
        if rejected > recipe.reject:
            warnings.warn(
                f"even {np.degrees(MAX_MARGIN):.0f} degrees of margin leave {rejected:.1%} of "
                f"held-out frames outside, more than the {recipe.reject:.1%} asked for",
                stacklevel=2,
            )
    paths = _kept_paths(takes, trimmed)
    limit = _limit_of(paths, recipe, margin, reference, axis)
    return FittedJoint(limit, trimmed, margin, rejected)


def _fit_density(
    takes: Sequence[Take],
    recipe: Recipe,
    reference: Quats | None,
    axis: Vectors,
    trimmed: TrimResult,
) -> FittedJoint:
    """Return the region that scores high with many people, at the level for what is rejected."""
    scores = density(
        takes,
        recipe.chart,
        resolution=recipe.options.get("resolution", 32),
        reference=reference,
        axis=axis if has_axis(recipe.chart) else None,
    )
    if recipe.reject is None:
        level = min(recipe.options.get("level", DEFAULT_LEVEL), float(scores.score.max()))
        limit = scores.field(level)
        wider = replace(limit, shape=limit.shape.grow(recipe.margin))
        return FittedJoint(wider, trimmed, recipe.margin, None)
    level, rejected, _ = level_for(recipe.reject, scores)
    if rejected > recipe.reject:
        warnings.warn(
            f"even the lowest level leaves {rejected:.1%} of held-out frames outside, more than "
            f"the {recipe.reject:.1%} asked for",
            stacklevel=3,
        )
    return FittedJoint(scores.field(level), trimmed, 0.0, rejected)


def _fit_people(
    takes: Sequence[Take],
    recipe: Recipe,
    reference: Quats | None,
    axis: Vectors,
    trimmed: TrimResult,
) -> FittedJoint:
    """Return the region near to several people, as near as it takes for what is rejected."""
    people = People.of(takes)
    within, rejected = DEFAULT_WITHIN + recipe.margin, None
    if recipe.reject is not None:
        within, rejected = within_for(recipe.reject, people)
    limit = people_field(people, within, recipe, reference, axis)
    return FittedJoint(limit, trimmed, within - DEFAULT_WITHIN, rejected)


def people_field(
    people: People, within: float, recipe: Recipe, reference: Quats | None, axis: Vectors
) -> Limit:
    """Return what is `within` so many radians of people, in the recipe's chart."""
    return people.field(
        within,
        recipe.chart,
        resolution=recipe.options.get("resolution", 32),
        reference=reference,
        axis=axis if has_axis(recipe.chart) else None,
    )


def margin_for(
    reject: float, takes: Sequence[Take], recipe: Recipe, reference: Quats | None, axis: Vectors
) -> tuple[float, float]:
    """Return the margin, in radians, for a rejection of at most `reject`, and what it gives.

    It is at least the recipe's own margin.
    Each performer is left out in turn (each clip, where there is one performer, or one who is
    blended with others), and their frames, flips aside, are held against the limit of the others;
    the mean share outside counts.
    """
    held_out = [
        (
            _limit_of(_kept_paths(rest, trim(rest, recipe.trim)), recipe, 0.0, reference, axis),
            np.concatenate(
                [take.rotations[~flips(take.rotations, take.frame_time)] for take in left]
            ),
        )
        for rest, left in _leave_one_out(takes)
    ]
    low, high = recipe.margin, max(recipe.margin, MAX_MARGIN)
    if _rejection(held_out, low) <= reject:
        return low, _rejection(held_out, low)
    for _ in range(10):  # to a tenth of a degree
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _rejection(held_out, middle) <= reject else (middle, high)
    return high, _rejection(held_out, high)


def samples_of(
    takes: Sequence[Take], fitted: FittedJoint, *, cell: float = 0.05
) -> tuple[Sample, ...]:
    """Return the believed rotations of each take, one in each cell of `cell` radians.

    Those that came thinned are not among them.
    """
    samples = []
    for take, kept in zip(takes, fitted.trimmed.kept, strict=True):
        frames = np.flatnonzero(kept)
        if len(frames) == 0 or take.thinned:
            continue
        frames = frames[thin(_vectors(fitted.limit.chart, take.rotations[frames]), cell=cell)]
        rotations = take.rotations[frames]
        samples.append(Sample(take.clip, take.performer, frames + take.first, rotations))
    return tuple(samples)


def _vectors(chart: AnyChart, rotations: Quats) -> Points:
    """Return points (n, 3) that tell rotations apart: the chart's, or rotation vectors."""
    vectors = chart if chart.dimension == 3 else RotationVector(chart.reference)
    return vectors.points(rotations)


def invented_first_frame(clip: Clip) -> bool:
    """Tell whether the clip starts with a pose nobody performed, as CMU's T-poses.

    That is so when, for a quarter of the joints that move at all, the first step is a jump.
    """
    rotations = clip.pose.rotations
    if clip.frames < 3:
        return False
    moving = np.flatnonzero((np.abs(np.diff(rotations, axis=0)) > 1e-6).any(axis=(0, 2)))
    jumps = [flips(rotations[:, joint], clip.frame_time)[0] for joint in moving]
    return len(jumps) >= 3 and sum(jumps) >= 0.25 * len(jumps)


def _kept_paths(takes: Sequence[Take], trimmed: TrimResult) -> list[Quats]:
    paths: list[Quats] = []
    for take, kept in zip(takes, trimmed.kept, strict=True):
        path = take.rotations[kept]
        paths += np.split(path, _gaps(path)) if take.thinned else [path]
    return paths


def _gaps(path: Quats) -> Ints:
    """Return where a thinned path goes on elsewhere, having been on the way there before."""
    return 1 + np.flatnonzero(quat.angle_between(path[:-1], path[1:]) > GAP)


def _limit_of(
    paths: Sequence[Quats], recipe: Recipe, margin: float, reference: Quats | None, axis: Vectors
) -> Limit:
    return Limit.fit(
        [path for path in paths if len(path)],
        recipe.shape,
        recipe.chart,
        margin=margin,
        reference=reference,
        axis=axis if has_axis(recipe.chart) else None,
        **{
            key: value for key, value in recipe.options.items() if not _is_field_option(recipe, key)
        },
    )


def _leave_one_out(takes: Sequence[Take]) -> Iterator[tuple[list[Take], list[Take]]]:
    own = [take for take in takes if not take.thinned]
    by_performer = len({take.performer for take in own}) > 1
    groups = [take.performer if by_performer else take.clip for take in own]
    if len(set(groups)) < 2:
        raise ValueError(
            "a rejection can be asked for only with two clips or more, since each is left out in "
            f"turn; got {len(set(groups))}"
        )
    for group in dict.fromkeys(groups):
        left = [take for take, name in zip(own, groups, strict=True) if name == group]
        yield [take for take in takes if take not in left], left


def _rejection(held_out: Sequence[tuple[Limit, Quats]], margin: float) -> float:
    wider = [
        (replace(limit, shape=limit.shape.grow(margin)), rotations) for limit, rotations in held_out
    ]
    return float(np.mean([1.0 - limit.contains(rotations).mean() for limit, rotations in wider]))


def _is_field_option(recipe: Recipe, option: str) -> bool:
    """Tell whether an option is about what the shape is learned from, not about the shape."""
    return option in ("by", "level") and _has_sources(recipe.shape)


def _has_sources(shape: str) -> bool:
    """Tell whether a shape can be learned from more than samples."""
    return shape in SHAPES and len(SHAPES[shape].sources) > 1
