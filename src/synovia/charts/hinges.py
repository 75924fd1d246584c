"""Hinges: rotations as the angles of three hinges in series, as physics engines use them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations, product
from typing import Annotated, Any, ClassVar

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
from ..kernels.layout import HINGES
from .chart import STEEP, Chart, ZYZAngles, half_turn, whole_turns, zyz_angles

MIN_AXIS_ANGLE = 1e-3  # radians between neighbouring axes; below it they are parallel
SQUARE = 1e-12  # cosine up to which axes are at right angles, but for rounding
LOCKED = 1e-6  # radians from gimbal lock within which the split of the outer angles is rounding
MIN_RANGE = 0.02  # radians; smallest range of an angle when boxes of angles are compared
ALIGN_SAMPLES = 500  # rotations from which axes are computed
CORE_SHARES = (0.3, 0.5, 0.7, 0.85, 0.95, 1.0)  # shares of the rotations, in order of distance
TIE = 1e-6  # weight of the distance from the origin when two covers are equally near
FOLD = 2e-7  # radians from where both solutions of the middle angle meet, likewise


@dataclass(frozen=True, eq=False)
class Hinges(Chart):
    """Angles (θ1, θ2, θ3) with reference⁻¹ · q = a1(θ1) · a2(θ2) · a3(θ3), about unit `axes`.

    The axes (3, 3) are rows along the chart's axes, the outermost first; each rotates with the
    hinges before it. A rotation has two solutions for the middle angle, and every angle may be
    whole turns more. If neighbouring axes are at right angles, the hinges reach every rotation.
    Otherwise the angle from the first axis to the third has a range, and a rotation out of reach is
    outside every limit, represented by the nearest one in reach. At gimbal lock, where the axes lie
    in a plane, only the sum or the difference of the outer angles is defined, and limits use the
    nearest of these points.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        lengths = np.linalg.norm(self.axes, axis=1, keepdims=True)
        if not (lengths > 1e-12).all():
            raise ValueError(f"Hinges.axes must not be zero, got {self.axes.tolist()}")
        if np.abs(lengths - 1.0).max() > 1e-15:
            axes = self.axes / lengths
            axes.flags.writeable = False
            object.__setattr__(self, "axes", axes)
        if min(np.sin(angle) for angle in self._apart) < np.sin(MIN_AXIS_ANGLE):
            raise ValueError(
                "Hinges.axes must not be parallel to their neighbours, which would rotate about "
                f"the same axis, got {self.axes.tolist()}"
            )

    # With f1 and f3 taking z to the first and the last axis, f1⁻¹ · q · f3 = z(φ) · y(ψ) · z(χ),
    # where ψ depends on the middle angle alone.

    @cached_property
    def _apart(self) -> tuple[float, float]:
        """The angles, in radians, between neighbouring axes."""
        angles = []
        for one, other in ((0, 1), (1, 2)):
            cosine = float(self.axes[one] @ self.axes[other])
            sine = float(np.linalg.norm(np.cross(self.axes[one], self.axes[other])))
            angles.append(0.5 * np.pi if abs(cosine) <= SQUARE else float(np.arctan2(sine, cosine)))
        return angles[0], angles[1]

    @cached_property
    def _reached(self) -> tuple[float, float]:
        """The range of the angle, in radians, between the first axis and the third."""
        alpha, beta = self._apart
        return abs(alpha - beta), min(alpha + beta, TURN - alpha - beta)

    @cached_property
    def _folds(self) -> bool:
        """True if some rotations are out of reach."""
        least, greatest = self._reached
        return least > 1e-9 or greatest < np.pi - 1e-9

    @cached_property
    def lock(self) -> float:
        """The middle angle of gimbal lock, in radians; half a turn more is another one."""
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
        """f1⁻¹ and f3, rotated about z so that `kernels.hinges` needs five numbers, and these.

        At gimbal lock the middle hinge is then (along, 0, across, 0), and half a turn further
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
            # The two are at right angles: the longer one gives the phase.
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

    def packed(self, shape: Any) -> tuple[list[float], list[float]]:
        first, third, numbers = self._canonical
        back, right = self._sides
        left, right = quat.mul(first, quat.inverse(back)), quat.mul(right, third)
        sides = (left, right, quat.inverse(left), quat.inverse(right))
        tail = [*numbers, *np.concatenate(shape.bounds).tolist()]
        return self._header(*sides, np.zeros(3), shape), tail

    def _seen(self, rotations: Quats) -> ZYZAngles:
        """Return the angles of f1⁻¹ · local · f3."""
        back, last, _, _ = self._outer
        return zyz_angles(quat.mul(quat.mul(back, self.to_local(rotations)), last))

    def _middle(self, theta: Scalars) -> ZYZAngles:
        """Return the angles of the middle hinge alone, at `theta` radians."""
        _, _, p, s = self._outer
        half = 0.5 * np.asarray(theta)[..., None]
        return zyz_angles(np.cos(half) * p + np.sin(half) * s)

    def _swing(self, psi: Scalars) -> Scalars:
        """Return the middle angle's distance from `lock`, 0 to π, for outer axes `psi` apart."""
        least, greatest = self._reached
        psi = np.clip(psi, least, greatest)
        near = np.sin(0.5 * (psi + least)) * np.sin(0.5 * (psi - least))
        far = np.sin(0.5 * (greatest + psi)) * np.sin(0.5 * (greatest - psi))
        swing = 2.0 * np.arctan2(np.sqrt(np.maximum(near, 0.0)), np.sqrt(np.maximum(far, 0.0)))
        if self._folds:
            swing = np.where(swing < FOLD, 0.0, np.where(swing > np.pi - FOLD, np.pi, swing))
        return np.asarray(swing)

    def _solve(self, seen: ZYZAngles, theta: Scalars) -> Points:
        """Return the points with the middle angle `theta`, each angle within half a turn."""
        middle = self._middle(theta)
        locked = (seen.psi < LOCKED) | (seen.psi > np.pi - LOCKED)
        plus, minus = seen.plus - middle.plus, seen.minus - middle.minus
        plus = np.where(locked & (seen.psi > 1.0), 0.0, plus)
        minus = np.where(locked & (seen.psi < 1.0), 0.0, minus)
        return wrap_angles(np.stack([plus + minus, np.asarray(theta), plus - minus], axis=-1))

    def points(self, rotations: Quats) -> Points:
        seen = self._seen(rotations)
        swing = self._swing(seen.psi)
        one, other = (self._solve(seen, self.lock + sign * swing) for sign in (1.0, -1.0))
        nearer = np.square(other).sum(axis=-1) < np.square(one).sum(axis=-1)
        return np.where(nearer[..., None], other, one)

    def rotations(self, points: Points) -> Quats:
        turns = [quat.exp(points[..., k, None] * self.axes[k]) for k in range(3)]
        return self.from_local(quat.mul(quat.mul(turns[0], turns[1]), turns[2]))

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
        both = np.stack([points, self.second_solution(points)]) if len(points) else points[None]
        path = both[0].copy()
        for frame in range(1, len(path)):
            before, here = path[frame - 1], both[:, frame]
            here = here + TURN * np.rint((before - here) / TURN)
            path[frame] = here[np.square(here - before).sum(axis=-1).argmin()]
        return np.asarray(path)

    def align(self, rotations: Quats) -> Hinges:
        """Return the chart with the axes and the order that have the smallest box of angles.

        Candidates are the principal axes of the rotation vectors and the chart's own, in all
        orders.
        """
        samples = rotations[:: max(len(rotations) // ALIGN_SAMPLES, 1)]
        vectors = quat.log(self.to_local(samples))
        charts = [
            replace(self, axes=_right_handed(axes[list(order)]))
            for axes in (principal_axes(vectors), np.eye(3))
            for order in permutations(range(3))
        ]
        return min(charts, key=lambda chart: chart._box_share(samples))

    def _box_share(self, rotations: Quats) -> float:
        """Return the share of all rotations in the box of the angles of `rotations`."""
        points = self.gather(rotations)
        low, high = points.min(axis=0) - MIN_RANGE, points.max(axis=0) + MIN_RANGE
        middle = np.linspace(low[1], high[1], 64)
        density = self.density(np.stack([middle, middle, middle], axis=-1)).mean()
        return float(np.prod(high - low) * density)

    def gather(self, rotations: Quats) -> Points:
        # From the reference outwards, each in the cover nearest to the box of those before it.
        points = rows("rotations", self.points(rotations), 3)
        if not len(points):
            return points
        both = np.stack([points, self.second_solution(points)])
        angles = quat.angle_between(rotations, self.reference)
        for share in CORE_SHARES:
            core = points[angles <= np.quantile(angles, share)]
            low, high = core.min(axis=0), core.max(axis=0)
            near = both + TURN * np.rint((0.5 * (low + high) - both) / TURN)
            cost = np.square(near - np.clip(near, low, high)).sum(axis=-1)
            cost += TIE * np.square(near).sum(axis=-1)
            points = np.where((cost[1] < cost[0])[:, None], near[1], near[0])
        return np.asarray(points)

    def is_steep(self, shape: Any) -> bool:
        # Gimbal lock is at middle angles of `lock` and whole half turns more.
        low, high = (shape.bounds[:, 1] - self.lock + [-STEEP, STEEP]) / np.pi
        return bool(np.ceil(low) <= high)

    def shortfall(self, rotations: Quats) -> Scalars | None:
        if not self._folds:
            return None
        least, greatest = self._reached
        psi = self._seen(rotations).psi
        return np.asarray(np.maximum(np.maximum(least - psi, psi - greatest), 0.0))

    def density(self, points: Points) -> Scalars:
        # The volume spanned by the three axes, the outer two rotated by the middle hinge.
        return np.asarray(self.max_density * np.abs(np.sin(points[..., 1] - self.lock)))

    @cached_property
    def max_density(self) -> float:
        return float(np.prod(np.sin(self._apart)) / (8.0 * np.pi**2))

    def _jacobian(self, points: Points) -> Floats:
        # Up to one rotation of all columns.
        first = quat.rotate(quat.exp(-points[..., 1, None] * self.axes[1]), self.axes[0])
        others = np.broadcast_to(self.axes[1:], (*first.shape[:-1], 2, 3))
        return np.swapaxes(np.concatenate([first[..., None, :], others], axis=-2), -1, -2)

    def _reflections(self, normal: Vectors) -> list[tuple[dict[str, Any], Floats, Points]]:
        return [({"axes": quat.rotate(half_turn(normal), self.axes)}, np.eye(3), np.zeros(3))]


def _right_handed(axes: Floats) -> Floats:
    """Return the rows, the last one negated if they are left-handed."""
    sign = 1.0 if np.linalg.det(axes) > 0.0 else -1.0
    return np.asarray(axes * np.array([[1.0], [1.0], [sign]]))
