"""Bodies of hinges: limits as ranges of three hinges, their losses, and XML of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, Protocol

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Points, Quats, Scalars
from ..charts import Hinges
from ..io.xml import Element, format_element, make_element
from ..limit import Limit
from ..limit.convert import approximate
from ..model import LimitModel
from ..shapes import Box, KDop, Product, Region
from ..shapes.polytope import Polytope
from ..skeleton import Skeleton
from . import Exported, Progress
from .body import in_metres

MEMBERS = 20_000  # sampled legal rotations to which hinges are fitted
LOSS_SAMPLES = 10_000  # rotations per share of a loss: standard error below 0.5 %
MIN_CUT = 1e-3  # share of a box that a half-space must remove to be worth a tendon
MIN_RANGE = 1e-3  # radians: engines refuse hinges that cannot move
AXIS_TOLERANCE = 1e-9  # of the direction of a half-space that is a range of one hinge


@dataclass(frozen=True)
class Loss:
    """Difference between an exported limit and the original.

    `share`, `gained` and `lost` are shares of all rotations: those that the limit accepts, that
    only the export accepts, and that only the limit accepts. Angles, in radians, are the largest
    corrections found: of the limit by what is gained, and of the export by what is lost.
    """

    share: float
    gained: float
    lost: float
    gained_angle: float
    lost_angle: float


NO_LOSS = Loss(0.0, 0.0, 0.0, 0.0, 0.0)  # until it is measured


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """All points with low <= axes · x <= high: unit rows (k, d), and bounds (k,) in radians."""

    axes: Floats
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.axes)


NO_SLANTS = HalfSpaces(np.empty((0, 3)), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class HingedJoint:
    """A joint as three hinges: reference · a1(θ1) · a2(θ2) · a3(θ3) in its rest-aligned frame.

    `low` and `high` (3,) are their ranges in radians; `slants` are half-spaces beside them in the
    space of the three angles.
    """

    name: str
    reference: Quats
    axes: Floats
    low: Floats
    high: Floats
    slants: HalfSpaces = NO_SLANTS
    loss: Loss = NO_LOSS
    note: str = ""

    @property
    def hinge_names(self) -> list[str]:
        """Names of the three hinges, from the outermost."""
        return [f"{self.name}_{k}" for k in (1, 2, 3)]

    def hinges(self) -> Iterator[tuple[str, Floats, float, float]]:
        """Yield the name, the axis (3,) and the range of each hinge, from the outermost."""
        return zip(self.hinge_names, self.axes, self.low, self.high, strict=True)

    @cached_property
    def limit(self) -> Limit:
        """The rotations that the hinges accept."""
        chart = Hinges(self.reference, self.axes)
        if not len(self.slants):
            return Limit(chart, Box(self.low, self.high, np.eye(3)))
        axes = np.concatenate([np.eye(3), self.slants.axes])
        low = np.concatenate([self.low, self.slants.low])
        return Limit(chart, KDop(axes, low, np.concatenate([self.high, self.slants.high])))

    @cached_property
    def rest(self) -> Points:
        """The angles (3,), in radians, of the legal rotation nearest to rest."""
        limit = self.limit
        return limit.region.project(limit.nearest_cover(limit.project(quat.IDENTITY)))


@dataclass(frozen=True, eq=False)
class HingedBody:
    """A skeleton in metres, and its joints with limits as hinges, by name."""

    skeleton: Skeleton
    joints: dict[str, HingedJoint]

    @property
    def losses(self) -> dict[str, Loss]:
        """The loss of each joint."""
        return {name: joint.loss for name, joint in self.joints.items()}

    @property
    def notes(self) -> dict[str, str]:
        """A note about each joint; most are empty."""
        return {name: joint.note for name, joint in self.joints.items()}


class Rotations(Protocol):
    """A region of rotations that can be sampled: a `Limit`, or an engine's own limit."""

    def contains(self, rotations: Quats) -> Mask:
        """Return which rotations (..., 4) are members."""

    def correction(self, rotations: Quats) -> Scalars:
        """Return the violations (...) of rotations (..., 4), in radians."""

    def sample(self, n: int, rng: np.random.Generator) -> Quats:
        """Return `n` members (n, 4), uniform in rotation."""

    def volume(self) -> float:
        """Return the share of all rotations."""


def measure_loss(
    old: Rotations, new: Rotations, samples: int = LOSS_SAMPLES, seed: int = 0
) -> Loss:
    """Return the difference of `new` from `old`, estimated from `samples` members of each."""
    rng = np.random.default_rng(seed)

    def beyond(inner: Rotations, judge: Rotations) -> tuple[float, float, float]:
        members, share = inner.sample(samples, rng), inner.volume()
        outside = ~judge.contains(members)
        angle = judge.correction(members[outside]).max(initial=0.0)
        return share, share * float(outside.mean()), float(angle)

    share, lost, lost_angle = beyond(old, new)
    _, gained, gained_angle = beyond(new, old)
    return Loss(share, gained, lost, gained_angle, lost_angle)


def fit_hinges(limit: Limit, *, slanted: bool, chart: Hinges | None = None) -> Limit:
    """Return a limit as ranges of hinges, with additional half-spaces if `slanted`.

    A limit that consists of half-spaces in a chart of hinges is returned unchanged. The axes are
    fitted to the legal rotations, unless `chart` gives them.
    """
    if chart is None and isinstance(limit.chart, Hinges) and half_spaces(limit.region) is not None:
        if slanted or not len(split_ranges(limit)[2]):
            return limit
        chart = limit.chart
    if chart is None:
        members = limit.sample(MEMBERS // 4, np.random.default_rng(0))
        chart = Hinges(quat.mean(members)).align(members)
    kind = KDop if slanted else Box
    return Limit(chart, approximate(limit, kind, chart, MEMBERS, {"along": "chart"}))


def split_ranges(limit: Limit) -> tuple[Floats, Floats, HalfSpaces]:
    """Return low and high (3,) of the angles, and the other half-spaces.

    The limit must consist of half-spaces in a chart of hinges. Half-spaces that remove less than
    `MIN_CUT` of the box are left out.
    """
    planes = half_spaces(limit.region)
    if planes is None:
        raise ValueError(f"a {limit.region.name} is not made of half-spaces")
    low, high = (end.copy() for end in limit.region.bounds)
    along = np.abs(np.abs(planes.axes).max(axis=1) - 1.0) <= AXIS_TOLERANCE
    slants = HalfSpaces(planes.axes[~along], planes.low[~along], planes.high[~along])
    thin = high - low < MIN_RANGE
    middle = 0.5 * (low + high)
    low = np.where(thin, middle - 0.5 * MIN_RANGE, low)
    high = np.where(thin, middle + 0.5 * MIN_RANGE, high)
    inside = np.random.default_rng(0).uniform(low, high, size=(LOSS_SAMPLES, 3)) @ slants.axes.T
    cut = ((inside < slants.low) | (inside > slants.high)).mean(axis=0) > MIN_CUT
    room = 0.5 * MIN_RANGE * np.sqrt(3.0) * bool(thin.any())
    return low, high, HalfSpaces(slants.axes[cut], slants.low[cut] - room, slants.high[cut] + room)


def hinged_joint(
    limit: Limit, name: str, *, slanted: bool = True, chart: Hinges | None = None
) -> HingedJoint:
    """Return a joint's limit as hinges, with the loss.

    Examples
    --------
    >>> from synovia import Box, Limit, RotationVector
    >>> knee = Limit(RotationVector(), Box([0, -0.1, -0.1], [2.4, 0.1, 0.1], np.eye(3)))
    >>> joint = hinged_joint(knee, "Knee")
    >>> joint.loss.lost < 1e-4
    True
    """
    joint = fit_joint(limit, name, slanted=slanted, chart=chart)
    return replace(joint, loss=measure_loss(limit, joint.limit))


def fit_joint(
    limit: Limit, name: str, *, slanted: bool = True, chart: Hinges | None = None
) -> HingedJoint:
    """Return a joint's limit as hinges; its loss is not measured."""
    fitted = fit_hinges(limit, slanted=slanted, chart=chart)
    hinges = fitted.chart
    assert isinstance(hinges, Hinges)
    axes = hinges.in_joint(hinges.axes) + 0.0  # without negative zeros, which engines would print
    low, high, slants = split_ranges(fitted)
    return HingedJoint(name, hinges.reference, axes, low, high, slants, note=measured_note(limit))


def measured_note(limit: Limit) -> str:
    """Return a note about a limit that is measured from an ancestor; empty for others."""
    if limit.relative_to is None:
        return ""
    return f"measured from {limit.relative_to}: as if the joints between were at rest"


def hinged_body(
    model: LimitModel, *, slanted: bool = True, progress: Progress = iter
) -> HingedBody:
    """Return all joints of a model with limits, except roots, as hinges."""
    skeleton = in_metres(model.skeleton)
    moving = [name for name in model.limits if skeleton.parents[skeleton.index(name)] >= 0]
    joints = {
        name: hinged_joint(model.limits[name], name, slanted=slanted) for name in progress(moving)
    }
    return HingedBody(skeleton, joints)


def export_body(
    text: Callable[..., str],
    slanted: bool,
    model: LimitModel,
    name: str,
    mass: float,
    progress: Progress,
) -> Exported:
    """Return a model as a body of hinges; `text(body, name=, mass=)` gives the file's text."""
    body = hinged_body(model, slanted=slanted, progress=progress)
    return Exported(text(body, name=name, mass=mass).encode(), body.losses, body.notes)


def loss_lines(losses: Mapping[str, Loss], notes: Mapping[str, str]) -> Iterator[str]:
    """Yield a line per joint for the comment in a file: shares of all rotations."""
    for name, loss in losses.items():
        note = f"; {notes[name]}" if notes.get(name) else ""
        yield (
            f"{name}: limit {loss.share:.4%}, gained {loss.gained:.4%} "
            f"(by up to {np.degrees(loss.gained_angle):.1f} deg), lost {loss.lost:.4%} "
            f"(by up to {np.degrees(loss.lost_angle):.1f} deg){note}"
        )


@singledispatch
def half_spaces(shape: Region) -> HalfSpaces | None:
    """Return the pairs of planes that bound the shape exactly; None if planes do not."""
    return None


@half_spaces.register
def _(shape: Polytope) -> HalfSpaces | None:
    return HalfSpaces(shape.axes, shape.low, shape.high)


@half_spaces.register
def _(shape: Product) -> HalfSpaces | None:
    planes = half_spaces(shape.swing)
    if planes is None:
        return None
    axes = np.zeros((len(planes.axes) + 1, 3))
    axes[:-1, :2], axes[-1, 2] = planes.axes, 1.0
    return HalfSpaces(axes, np.append(planes.low, shape.low), np.append(planes.high, shape.high))


def element(tag: str, *content: Any, **attributes: Any) -> Element:
    """Return an XML element; content and attributes may be numbers, content also elements."""
    parts = [part if isinstance(part, Element) else _text_of(part) for part in content]
    return make_element(tag, *parts, **{name: _text_of(v) for name, v in attributes.items()})


def _text_of(value: str | float | Floats | Sequence[float]) -> str:
    """Return a text as it is, and numbers with all digits, separated by spaces."""
    if isinstance(value, str):
        return value
    return " ".join(repr(float(number) + 0.0) for number in np.ravel(value))  # without -0.0


def document_text(
    root: Element, about: Sequence[str], losses: Mapping[str, Loss], notes: Mapping[str, str]
) -> str:
    """Return a document with comments before its root: `about`, then the losses."""
    comments = [comment_text(line) for line in (*about, *loss_lines(losses, notes))]
    lines = "".join(f"<!-- {comment} -->\n" for comment in comments)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{lines}{format_element(root)}'


def comment_text(text: str) -> str:
    """Return text that may be in an XML comment."""
    return text.replace("--", "- -").rstrip("-")
