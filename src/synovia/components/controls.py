"""From a pose back to the controls that give it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Floats, Scalars
from ..skeleton import Pose, check_joints
from .component import error_weights
from .figure import JointSet
from .network import tangents

if TYPE_CHECKING:
    from .figure import Figure


CANDIDATES = 2048  # controls that are tried where the way from the neutral ones does not end well
STARTS = 30  # of them, the best that are not near each other
MIN_SEPARATION = 0.15  # shares of a range, in one control at least
SEARCH_RADII = (0.1, 0.03, 0.01)  # shares of the ranges: how far about the best it looks last
STEPS = 60  # of one fit
REPEAT_RATIO = 0.5  # a fit that lessens the least sum of squares to this share of it is begun anew
EXACT = 1e-12  # sums of squared errors that are small enough not to start again


@dataclass(frozen=True, eq=False)
class FittedControls:
    """Controls (..., C) in the figure's order, and how near their pose comes.

    `angle` (...) is the largest rotation left over in any segment, in radians, and `shift` (...)
    the largest distance of a segment's position from its parent, in the figure's unit.
    """

    controls: Floats
    angle: Scalars
    shift: Scalars


def controls_for(figure: Figure, pose: Pose) -> FittedControls:
    """Return the controls within range whose pose is nearest to `pose`, by least squares."""
    check_joints(figure.skeleton, pose)
    batch, joints = pose.rotations.shape[:-2], len(figure.skeleton)
    rotations = np.asarray(pose.rotations, np.float64).reshape(-1, joints, 4)
    positions = np.asarray(pose.positions, np.float64).reshape(-1, joints, 3)
    wanted = np.zeros((len(rotations), joints, 3, 4))
    wanted[..., :3] = quat.to_matrix(rotations)
    wanted[..., 3] = positions - figure.skeleton.offsets
    found = np.empty((len(rotations), len(figure.controls)))
    first = 0
    for joint_set in figure.joint_sets.values():
        segments = [figure.skeleton.index(name) for name in joint_set.network.outputs]
        last = first + len(joint_set.controls)
        for number, target in enumerate(wanted[:, segments]):
            found[number, first:last] = _solve_joint_set(
                joint_set, target.reshape(-1, 12), figure.size
            )
        first = last
    given = figure.pose(found)
    angle = quat.angle_between(given.rotations, rotations)
    shift = np.linalg.norm(given.positions - positions, axis=-1)
    driven = {name for each in figure.joint_sets.values() for name in each.network.outputs}
    for joint, name in enumerate(figure.skeleton.names):
        if figure.skeleton.parents[joint] < 0 and name not in driven:
            angle[:, joint] = shift[:, joint] = 0.0
    worst = (each.max(axis=-1).reshape(batch) for each in (angle, shift))
    return FittedControls(found.reshape(*batch, found.shape[-1]), *worst)


def _solve_joint_set(joint_set: JointSet, wanted: Floats, size: float) -> Floats:
    """Return the controls of one set that come nearest to transforms (segments, 12)."""
    from scipy.optimize import least_squares

    network = joint_set.network
    limits = list(joint_set.controls.values())
    neutral = np.array([each.neutral for each in limits])
    low, high = np.array([(each.low, each.high) for each in limits]).reshape(-1, 2).T
    free = np.flatnonzero(low < high)
    if len(free) == 0:
        return neutral
    scale = error_weights(len(wanted), size)
    sources = list(network.outputs.values())

    def control_values(shares: Floats) -> Floats:
        values = np.tile(neutral, (len(shares), 1))
        values[:, free] = low[free] + shares * (high - low)[free]
        return values

    def errors(share: Floats) -> Floats:
        return np.asarray((network.rows(control_values(share[None]))[0] - wanted.ravel()) * scale)

    def jacobian(share: Floats) -> Floats:
        found = tangents(network, control_values(share[None]))
        rows = np.concatenate([found[source][0] for source in sources])
        return np.asarray(rows[:, free] * (high - low)[free] * scale[:, None])

    def sort_by_error(shares: Floats) -> Floats:
        off = np.square((network.rows(control_values(shares)) - wanted.ravel()) * scale).sum(axis=1)
        return shares[np.argsort(off)]

    def starts() -> Iterator[Floats]:
        """Yield the neutral controls, then some from everywhere, then some about the best."""
        yield (neutral - low)[free] / (high - low)[free]
        rng = np.random.default_rng(0)
        chosen: list[Floats] = []
        for share in sort_by_error(rng.random((CANDIDATES, len(free)))):
            if all(np.abs(share - other).max() > MIN_SEPARATION for other in chosen):
                chosen.append(share)
                yield share
            if len(chosen) == STARTS:
                break
        for radius in SEARCH_RADII:
            steps = radius * rng.normal(size=(CANDIDATES // 4, len(free)))
            yield from sort_by_error(np.clip(best + steps, 0.0, 1.0))[:3]

    best, least = np.zeros(len(free)), np.inf
    last = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": STEPS}
    for start in starts():
        while True:  # where limits of a cone meet, a fit may stop early, and go on when begun anew
            found = least_squares(errors, start, jacobian, (0.0, 1.0), "dogbox", **last)
            start, better = found.x, found.cost < REPEAT_RATIO * least
            if found.cost < least:
                best, least = found.x, found.cost
            if not better or least <= EXACT**2:
                break
        if least <= EXACT**2:
            break
    return np.asarray(np.clip(control_values(best[None])[0], low, high))
