"""Hinges: rotations as the angles of three hinges, one after another, as engines have them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations, product
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from .. import quat
from ..arrays import (
    TURN,
    Floats,
    Points,
    Quats,
    Scalars,
    Vectors,
    principal_axes,
    rows,
    wrap_angles,
)
from ..kernels.kinds import HINGES
from .chart import STEEP, half_turn
from .framed import FramedChart
from .rotation_vector import whole_turns

LEAST_ANGLE = 1e-3  # radians between neighbouring axes; nearer ones turn about the same axis
SQUARE = 1e-12  # cosines up to this are of axes at right angles, but for rounding
LOCKED = 1e-6  # radians from gimbal lock within which rounding decides how two angles are shared
FOLD = 2e-7  # radians from where both solutions of the middle angle meet, likewise
THINNEST = 0.02  # radians that a range has at least, where boxes are compared
SEEN = 500  # rotations that axes are chosen by
GATHERED = (0.3, 0.5, 0.7, 0.85, 0.95, 1.0)  # shares of rotations whose box others are gathered to
TIE = 1e-6  # of a squared angle, to be taken for the nearer cover


class _Middle(NamedTuple):
    """The middle hinge, seen between the outer axes: the angle between them and what else turns."""

    plus: Scalars
    minus: Scalars
    psi: Scalars


@dataclass(frozen=True, eq=False)
class Hinges(FramedChart):
    """Angles (θ1, θ2, θ3) with reference⁻¹ · q = a1(θ1) · a2(θ2) · a3(θ3), about unit `axes`.

    The axes (3, 3) are rows along the chart's axes, the outermost first; each turns with the hinges
    before it. A rotation has two solutions for the middle angle, and every angle may be whole turns
    more. Neighbouring axes at right angles make all rotations; others make those with which the
    third axis stays within a range of angles from the first. A rotation that they cannot make is
    outside of every limit, and seen at the nearest that they can. Where the three axes lie in a
    plane, at gimbal lock, only the sum or the difference of the outer angles is known, and limits
    share it as suits them best.

    Examples
    --------
    >>> from synovia import Hinges, quat
    >>> knee = Hinges(axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> bent = knee.points(quat.exp(np.array([0.5, 0.0, 0.0])))
    >>> bool(np.allclose(bent, [0.5, 0.0, 0.0]))
    True
    """

    axes: Annotated[Floats, 3, 3] = field(default_factory=lambda: np.eye(3))

    name: ClassVar[str] = "hinges"
    kernel: ClassVar[int | None] = HINGES
    single_precision: ClassVar[bool] = False
    compared: ClassVar[bool] = False  # for engines: what it has of a joint, others have with less

    def __post_init__(self) -> None:
        super().__post_init__()
        lengths = np.linalg.norm(self.axes, axis=1, keepdims=True)
        if not (lengths > 1e-12).all():
            raise ValueError(f"Hinges.axes must not be zero, got {self.axes.tolist()}")
        if np.abs(lengths - 1.0).max() > 1e-15:
            axes = self.axes / lengths
            axes.flags.writeable = False
            object.__setattr__(self, "axes", axes)
        if min(np.sin(angle) for angle in self._apart) < np.sin(LEAST_ANGLE):
            raise ValueError(
                "Hinges.axes must not be parallel to their neighbours, which would turn about the "
                f"same axis, got {self.axes.tolist()}"
            )

    # Between the outer axes: with f1 and f3 turning z to the first and the last axis, f1⁻¹ · q · f3
    # = z(φ) · y(ψ) · z(χ), where ψ depends on the middle angle alone. `plus` and `minus` are
    # (φ ± χ)/2.

    @cached_property
    def _apart(self) -> tuple[float, float]:
        """The angles, in radians, between neighbouring axes."""
        found = []
        for one, other in ((0, 1), (1, 2)):
            cosine = float(self.axes[one] @ self.axes[other])
            sine = float(np.linalg.norm(np.cross(self.axes[one], self.axes[other])))
            found.append(0.5 * np.pi if abs(cosine) <= SQUARE else float(np.arctan2(sine, cosine)))
        return found[0], found[1]

    @cached_property
    def _reached(self) -> tuple[float, float]:
        """The least and the greatest angle, in radians, between the first axis and the third."""
        alpha, beta = self._apart
        return abs(alpha - beta), min(alpha + beta, TURN - alpha - beta)

    @cached_property
    def _folds(self) -> bool:
        """Whether there are rotations that the hinges cannot make."""
        least, greatest = self._reached
        return least > 1e-9 or greatest < np.pi - 1e-9

    @cached_property
    def lock(self) -> float:
        """The middle angle, in radians, at which the axes lie in a plane; half a turn on, too."""
        a, b, c = self.axes
        across = float(a @ c - (a @ b) * (b @ c))
        return float(np.arctan2(a @ np.cross(b, c), across))

    @cached_property
    def _outer(self) -> tuple[Quats, Quats, Quats, Quats]:
        """f1⁻¹ and f3, and the middle hinge between them: cos(θ2/2) · p + sin(θ2/2) · s."""
        z = np.array([0.0, 0.0, 1.0])
        first, last = (quat.between(z, self.axes[k]) for k in (0, 2))
        middle = np.concatenate([[0.0], self.axes[1]])
        back = quat.inverse(first)
        return back, last, quat.mul(back, last), quat.mul(quat.mul(back, middle), last)

    @cached_property
    def _canonical(self) -> tuple[Quats, Quats, list[float]]:
        """f1⁻¹ and f3 turned about z so that `kernels.hinges` needs five numbers alone, and these.

        At gimbal lock the middle hinge is then (along, 0, across, 0), and half a turn on
        (0, −across_far, 0, along_far).
        """
        back, last, p, s = self._outer
        c, d = np.cos(0.5 * self.lock), np.sin(0.5 * self.lock)
        near, far = c * p + d * s, c * s - d * p
        least, greatest = self._reached
        sizes = [(np.cos(0.5 * least), np.sin(0.5 * (np.pi - greatest)))]
        sizes += [(np.sin(0.5 * least), np.cos(0.5 * (np.pi - greatest)))]
        phases, numbers = [], []
        for real, imaginary, (size, size_far) in zip((0, 2), (3, 1), sizes, strict=True):
            sign = 1.0 if imaginary == 3 else -1.0
            one, other = (complex(each[real], sign * each[imaginary]) for each in (near, far))
            # The two are at right angles: the longer one tells the phase.
            phase = np.angle(one) if abs(one) >= abs(other) else np.angle(other) - 0.5 * np.pi
            phases.append(phase)
            back_turned = np.exp(-1j * phase)
            numbers.append(
                (
                    float(np.copysign(size, (one * back_turned).real)),
                    float(np.copysign(size_far, (other * back_turned).imag)),
                )
            )
        plus, minus = phases
        z = np.array([0.0, 0.0, 1.0])
        first = quat.mul(quat.exp(-(minus + plus) * z), back)
        third = quat.mul(last, quat.exp((minus - plus) * z))
        (along, along_far), (across, across_far) = numbers
        return first, third, [self.lock, along, across, along_far, across_far]

    @property
    def packed(self) -> list[float]:
        first, third, _ = self._canonical
        back, right = self._sides
        left, right = quat.mul(first, quat.inverse(back)), quat.mul(right, third)
        turns = (left, right, quat.inverse(left), quat.inverse(right))
        return [HINGES, *np.concatenate(turns).tolist(), 0.0, 0.0, 0.0]

    def packed_tail(self, shape: Any) -> list[float]:
        return [*self._canonical[2], *np.concatenate(shape.bounds).tolist()]

    @staticmethod
    def _angles(between: Quats) -> _Middle:
        w, x, y, z = np.moveaxis(between, -1, 0)
        along, across = np.hypot(w, z), np.hypot(x, y)
        plus = np.where(along > 0.0, np.arctan2(z, w), 0.0)
        minus = np.where(across > 0.0, np.arctan2(-x, y), 0.0)
        return _Middle(plus, minus, 2.0 * np.arctan2(across, along))

    def _seen(self, rotations: Quats) -> _Middle:
        back, last, _, _ = self._outer
        return self._angles(quat.mul(quat.mul(back, self._local(rotations)), last))

    def _middle(self, theta: Scalars) -> _Middle:
        _, _, p, s = self._outer
        half = 0.5 * np.asarray(theta)[..., None]
        return self._angles(np.cos(half) * p + np.sin(half) * s)

    def _swing(self, psi: Scalars) -> Scalars:
        """Return how far the middle angle is from `lock`, 0 to π, for outer axes `psi` apart."""
        least, greatest = self._reached
        psi = np.clip(psi, least, greatest)
        near = np.sin(0.5 * (psi + least)) * np.sin(0.5 * (psi - least))
        far = np.sin(0.5 * (greatest + psi)) * np.sin(0.5 * (greatest - psi))
        swing = 2.0 * np.arctan2(np.sqrt(np.maximum(near, 0.0)), np.sqrt(np.maximum(far, 0.0)))
        if self._folds:
            swing = np.where(swing < FOLD, 0.0, np.where(swing > np.pi - FOLD, np.pi, swing))
        return np.asarray(swing)

    def _solve(self, seen: _Middle, theta: Scalars) -> Points:
        """Return the points with this middle angle, each angle at most half a turn."""
        middle = self._middle(theta)
        locked = (seen.psi < LOCKED) | (seen.psi > np.pi - LOCKED)
        plus, minus = seen.plus - middle.plus, seen.minus - middle.minus
        plus = np.where(locked & (seen.psi > 1.0), 0.0, plus)
        minus = np.where(locked & (seen.psi < 1.0), 0.0, minus)
        return wrap_angles(np.stack([plus + minus, np.asarray(theta), plus - minus], axis=-1))

    def points(self, rotations: Quats) -> Points:
        seen = self._seen(rotations)
        swing = self._swing(seen.psi)
        one, other = (self._solve(seen, self.lock + way * swing) for way in (1.0, -1.0))
        farther = np.square(other).sum(axis=-1) < np.square(one).sum(axis=-1)
        return np.where(farther[..., None], other, one)

    def rotations(self, points: Points) -> Quats:
        turns = [quat.exp(points[..., k, None] * self.axes[k]) for k in range(3)]
        return self._global(quat.mul(quat.mul(turns[0], turns[1]), turns[2]))

    def second_solution(self, points: Points) -> Points:
        """Return the points (..., 3) of the same rotations with the other middle angle."""
        theta = 2.0 * self.lock - points[..., 1]
        before, after = self._middle(points[..., 1]), self._middle(theta)
        plus, minus = before.plus - after.plus, before.minus - after.minus
        first, last = points[..., 0] + plus + minus, points[..., 2] + plus - minus
        return wrap_angles(np.stack([first, theta, last], axis=-1))

    def shifts(self, points: Points, turns: int) -> list[Points]:
        steps = [TURN * np.array(each) for each in product(whole_turns(turns), repeat=3)]
        steps.sort(key=lambda step: float(np.abs(step).sum()))
        return [each + step for each in (points, self.second_solution(points)) for step in steps]

    def follow(self, points: Points) -> Points:
        """Return points (frames, 3) in time, each in the cover nearest to the one before."""
        both = np.stack([points, self.second_solution(points)]) if len(points) else points[None]
        path = both[0].copy()
        for frame in range(1, len(path)):
            before, here = path[frame - 1], both[:, frame]
            here = here + TURN * np.rint((before - here) / TURN)
            path[frame] = here[np.square(here - before).sum(axis=-1).argmin()]
        return np.asarray(path)

    def gather(self, rotations: Quats) -> Points:
        # From the reference outwards, each in the cover nearest to the box of those before it.
        points = rows("rotations", self.points(rotations), 3)
        if not len(points):
            return points
        both = np.stack([points, self.second_solution(points)])
        angles = quat.angle_between(rotations, self.reference)
        for share in GATHERED:
            core = points[angles <= np.quantile(angles, share)]
            low, high = core.min(axis=0), core.max(axis=0)
            near = both + TURN * np.rint((0.5 * (low + high) - both) / TURN)
            far = np.square(near - np.clip(near, low, high)).sum(axis=-1)
            far += TIE * np.square(near).sum(axis=-1)
            points = np.where((far[1] < far[0])[:, None], near[1], near[0])
        return np.asarray(points)

    def shortfall(self, rotations: Quats) -> Scalars | None:
        if not self._folds:
            return None
        least, greatest = self._reached
        psi = self._seen(rotations).psi
        return np.asarray(np.maximum(np.maximum(least - psi, psi - greatest), 0.0))

    def slides(self, points: Points) -> Points | None:
        psi = self._middle(points[..., 1]).psi
        opposed, aligned = psi < LOCKED, psi > np.pi - LOCKED
        if not (opposed.any() or aligned.any()):
            return None
        first = np.where(opposed | aligned, 1.0, 0.0)
        return np.stack([first, 0.0 * first, np.where(opposed, -first, first)], axis=-1)

    def is_steep_in(self, shape: Any) -> bool:
        # Gimbal lock is at middle angles of `lock` and whole half turns more.
        low, high = (shape.bounds[:, 1] - self.lock + [-STEEP, STEEP]) / np.pi
        return bool(np.ceil(low) <= high)

    def density(self, points: Points) -> Scalars:
        # The volume that the three axes span, as the outer two are turned by the middle hinge.
        return np.asarray(self._most_dense * np.abs(np.sin(points[..., 1] - self.lock)))

    @cached_property
    def _most_dense(self) -> float:
        return float(np.prod(np.sin(self._apart)) / (8.0 * np.pi**2))

    @cached_property
    def dense_volume(self) -> float:
        return 1.0 / self._most_dense

    def _turns(self, points: Points) -> Floats:
        """Return by what vector a rotation turns per radian of each angle, up to one rotation."""
        first = quat.rotate(quat.exp(-points[..., 1, None] * self.axes[1]), self.axes[0])
        others = np.broadcast_to(self.axes[1:], (*first.shape[:-1], 2, 3))
        return np.swapaxes(np.concatenate([first[..., None, :], others], axis=-2), -1, -2)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        return [({"axes": quat.rotate(half_turn(normal), self.axes)}, np.eye(3), np.zeros(3))]

    # Axes by data.

    def align(self, rotations: Quats) -> Self:
        """Return the chart with the axes and the order that take the smallest box.

        The box is around `rotations` (n, 4), and small as a share of all rotations. Tried are the
        principal axes of their rotation vectors, and the chart's own, in all orders.
        """
        seen = rotations[:: max(len(rotations) // SEEN, 1)]
        vectors = quat.log(self._local(seen))
        choices = [principal_axes(vectors), np.eye(3)]
        charts = [
            replace(self, axes=_right_handed(axes[list(order)]))
            for axes in choices
            for order in permutations(range(3))
        ]
        return min(charts, key=lambda chart: chart._box_share(seen))

    def _box_share(self, rotations: Quats) -> float:
        points = self.gather(rotations)
        low, high = points.min(axis=0) - THINNEST, points.max(axis=0) + THINNEST
        middle = np.linspace(low[1], high[1], 64)
        across = np.abs(np.sin(middle - self.lock)).mean() * self._most_dense
        return float(np.prod(high - low) * across)

    # For pictures.

    coordinates: ClassVar[tuple[str, ...]] = ("1st hinge", "2nd hinge", "3rd hinge")

    @property
    def left_handed(self) -> bool:
        return bool(np.linalg.det(self.axes) < 0.0)


def _right_handed(axes: Floats) -> Floats:
    """Return the rows, the last turned round where they are left-handed."""
    sign = 1.0 if np.linalg.det(axes) > 0.0 else -1.0
    return np.asarray(axes * np.array([[1.0], [1.0], [sign]]))
