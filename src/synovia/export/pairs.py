"""Joints that depend on others, as half-spaces in the angles of both."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Mask, Points, Quats
from ..limit import DependentLimit, Limit, PairLimit
from ..model import LimitModel
from ..skeleton import list_names
from .hinged import LOSS_SAMPLES, MIN_CUT, NO_LOSS, HalfSpaces, HingedBody, HingedJoint, Loss

MAX_HALF_SPACES = 8  # of a pair
DRIVERS = 4000  # rotations of the driver in the fit, half of them on its boundary
THINNING = 4  # every 4th pair is in the linear program; the offsets hold for all
END_SHARE = 0.35  # of the driver's rotations, at one end of a hinge, where a plane is tight


@dataclass(frozen=True, eq=False)
class HingedPair:
    """Half-spaces of a joint and its driver: sums of six angles, the driver's and the joint's.

    Shares in the loss are of all pairs of which each is legal by itself.
    """

    name: str
    driver: str
    slants: HalfSpaces
    loss: Loss = NO_LOSS

    @property
    def title(self) -> str:
        """Name of the pair in lists of losses."""
        return f"{self.name} with {self.driver}"

    def contains(self, angles: Points) -> Mask:
        """Return which angles (n, 6) are within all ranges."""
        sums = angles @ self.slants.axes.T
        return np.asarray(((sums >= self.slants.low) & (sums <= self.slants.high)).all(axis=-1))


def with_pairs(body: HingedBody, model: LimitModel) -> HingedBody:
    """Return the body with half-spaces of joints that depend on others, where both are hinged."""
    pairs = [
        hinged_pair(
            model.limits[dependent.driver],
            dependent,
            body.joints[dependent.driver],
            body.joints[name],
        )
        for name, dependent in model.dependents.items()
        if name in body.joints and dependent.driver in body.joints
    ]
    used = tuple(pair for pair in pairs if len(pair.slants))
    lost = sorted(set(model.dependents) - {pair.name for pair in used})
    if lost:
        warnings.warn(
            f"no tendon says how {list_names(lost)} depend on other joints: what they may do at "
            "all is legal",
            stacklevel=2,
        )
    return replace(body, pairs=used)


def hinged_pair(
    driver: Limit, dependent: DependentLimit, above: HingedJoint, below: HingedJoint
) -> HingedPair:
    """Return half-spaces that contain the legal pairs of a driver and a dependent joint.

    They contain all pairs of a sample; the loss of others is measured. A linear program makes each
    as tight as possible: its plane bounds an angle of the joint from above for all legal pairs,
    with the smallest mean over the driver's rotations, or over those at one end of one of its
    hinges. Those that exclude the most illegal pairs are chosen, at most `MAX_HALF_SPACES`.
    """
    pair, rng = PairLimit(driver, dependent), np.random.default_rng(0)
    angles = _legal_angles(driver, dependent, above, below, rng)
    rotations = above.limit.sample(LOSS_SAMPLES, rng), below.limit.sample(LOSS_SAMPLES, rng)
    accepted = _angles_of(above, below, *rotations)
    wrong = ~pair.contains(*rotations)
    planes = _candidates(angles) if wrong.any() else np.empty((0, 7))
    left, chosen = wrong.copy(), list[Floats]()
    while len(planes) and len(chosen) < MAX_HALF_SPACES:
        cut = (accepted @ planes[:, :6].T > planes[:, 6]) & left[:, None]
        best = int(cut.sum(axis=0).argmax())
        if cut[:, best].mean() <= MIN_CUT:
            break
        chosen.append(planes[best])
        left &= ~cut[:, best]
    chosen_planes = np.array(chosen).reshape(-1, 7)
    axes, greatest = chosen_planes[:, :6], chosen_planes[:, 6]
    low = np.concatenate([above.low, below.low])
    high = np.concatenate([above.high, below.high])
    least = (axes * np.where(axes > 0.0, low, high)).sum(axis=1) - 1e-3
    result = HingedPair(below.name, above.name, HalfSpaces(axes, least, greatest))
    rotations = driver.sample(LOSS_SAMPLES, rng), dependent.limit.sample(LOSS_SAMPLES, rng)
    return replace(result, loss=_measure(pair, result, above, below, rotations))


def _angles_of(above: HingedJoint, below: HingedJoint, driver: Quats, joint: Quats) -> Points:
    """Return the angles (n, 6) of both, in the covers nearest to their ranges.

    A hinge that cannot move has its one angle.
    """
    angles_of_both = []
    for hinged, rotations in ((above, driver), (below, joint)):
        angles = hinged.limit.nearest_cover(rotations)
        angles_of_both.append(np.where(hinged.low < hinged.high, angles, hinged.low))
    return np.concatenate(angles_of_both, axis=-1)


def _legal_angles(
    driver: Limit,
    dependent: DependentLimit,
    above: HingedJoint,
    below: HingedJoint,
    rng: np.random.Generator,
) -> Points:
    """Return angles (n, 6) of legal pairs, most of them on the boundary."""
    inner = driver.sample(DRIVERS // 2, rng)
    outer = driver.project(quat.mul(inner, quat.exp(2.0 * rng.normal(size=(len(inner), 3)))))
    drivers = np.tile(np.concatenate([inner, outer]), (2, 1))
    members = dependent.limit.sample(len(drivers), rng)
    half = len(drivers) // 2
    members[half:] = quat.mul(members[half:], quat.exp(rng.normal(size=(half, 3))))
    return _angles_of(above, below, drivers, dependent.project(members, drivers))


def _candidates(angles: Points) -> Floats:
    """Return half-spaces (k, 7) that contain the angles (n, 6): shares, and the largest sum."""
    few = angles[::THINNING]
    drivers = few[:, :3]
    groups = [np.ones(len(few), dtype=bool)]
    for k in range(3):
        low, high = np.quantile(drivers[:, k], [END_SHARE, 1.0 - END_SHARE])
        groups += [drivers[:, k] <= low, drivers[:, k] >= high]
    planes = []
    for k in range(3):
        for side in (1.0, -1.0):
            for group in groups:
                slope = tightest_slope(drivers, side * few[:, 3 + k], group)
                plane = np.zeros(7)
                plane[:3], plane[3 + k] = -slope, side
                plane[:6] /= np.linalg.norm(plane[:6])
                plane[6] = (angles @ plane[:6]).max()
                planes.append(plane)
    return np.array(planes)


def tightest_slope(points: Points, heights: Floats, group: Mask) -> Floats:
    """Return the slope (d,) of the lowest plane above all heights (n,) at the points (n, d).

    The plane a · x + b has the smallest mean over the points of a group, by linear programming.
    """
    from scipy.optimize import linprog

    cost = np.append(points[group].mean(axis=0), 1.0)
    planes = -np.column_stack([points, np.ones(len(points))])
    solved = linprog(cost, A_ub=planes, b_ub=-heights, bounds=(None, None), method="highs")
    if solved.x is None:  # as where a driver's hinge cannot move
        return np.zeros(points.shape[1])
    return np.asarray(solved.x[:-1])


def _measure(
    pair: PairLimit,
    hinged: HingedPair,
    above: HingedJoint,
    below: HingedJoint,
    rotations: tuple[Quats, Quats],
) -> Loss:
    """Return the loss of a pair's export, among pairs of rotations that are each legal alone."""
    driver, joint = rotations
    slants = hinged.slants
    sums = _angles_of(above, below, driver, joint) @ slants.axes.T
    over = np.maximum(slants.low - sums, sums - slants.high)
    over = over / np.linalg.norm(slants.axes[:, 3:], axis=1)
    over = over.max(axis=-1, initial=0.0)
    accepted = above.limit.contains(driver) & below.limit.contains(joint) & (over <= 0.0)
    legal = pair.contains(driver, joint)
    gained, lost = accepted & ~legal, legal & ~accepted
    nearest = pair.dependent.project(joint[gained], driver[gained])
    far = quat.angle_between(joint[gained], nearest).max(initial=0.0)
    share, more, less = (float(mask.mean()) for mask in (legal, gained, lost))
    return Loss(share, more, less, float(far), float(over[lost].max(initial=0.0)))
