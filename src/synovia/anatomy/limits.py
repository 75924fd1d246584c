"""Limits of figures, the default human above all, to check and clamp clips with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import quat
from ..arrays import Quats, Vectors
from ..charts import DirectionTwist
from ..components import Compensation, Figure, JointCone, JointSet, MatrixProduct, Network
from ..limit import Limit
from ..skeleton import Skeleton

if TYPE_CHECKING:
    from ..model import LimitModel

CONE_BONES = ("UpperArm", "UpperLeg", "Hand", "Foot")
"""Segments whose bone swings: they have a reach cone."""
HINGE_BONES = ("LowerArm", "Forearm", "LowerLeg", "Toes")
DOWN = np.array([0.0, -1.0, 0.0])
SLACK = np.radians(0.5)
"""How much wider limits are than what the controls give, where they are fitted to that."""
CONE_SLACK = np.radians(2.0)
"""The same for cones, whose corners few samples come near."""
STEPS = 9
"""Values of each control from which limits are fitted, three controls at most together."""
RANDOM_POSES = 20_000
"""Values of many controls at once, drawn at random, from which limits are fitted."""


def limits_of(figure: Figure) -> LimitModel:
    """Return limits for every segment that a figure moves, by the names of the human's bones.

    Shoulders, hips, wrists and ankles have the reach cones of their joint sets, with limits of the
    twist; a shoulder's is measured from the sternum, because its joint set frees the arm of the
    turns of clavicle and scapula. Elbows, forearms, knees and toes are hinges: a box of swing and
    twist about the axis. All else, such as a vertebra, has a k-DOP around what its controls give,
    half a degree wider.
    """
    from ..model import LimitModel

    limits: dict[str, Limit] = {}
    for joint_set in figure.joint_sets.values():
        rotations = _reachable_rotations(figure.skeleton, joint_set)
        for segment in joint_set.network.outputs:
            segment_rotations = rotations[:, figure.skeleton.index(segment)]
            limits[segment] = _segment_limit(segment, joint_set, figure.skeleton, segment_rotations)
    in_order = {name: limits[name] for name in figure.skeleton.names if name in limits}
    return LimitModel(in_order, figure.skeleton, {"figure": figure.name})


def _segment_limit(
    segment: str, joint_set: JointSet, skeleton: Skeleton, rotations: Quats
) -> Limit:
    """Return the limit of a segment; `rotations` (n, 4) are those that its controls give."""
    bone = segment.removeprefix("Left").removeprefix("Right")
    if bone in CONE_BONES and bone != segment:
        component, undone = _cone_of(joint_set.network, segment)
        if component is not None:
            tops = {int(skeleton.parents[skeleton.index(name)]) for name in undone}
            above = skeleton.names[min(tops)] if tops else None
            return Limit(DirectionTwist(axis=component.rest), component.cone, above)
        return Limit.fit(
            rotations, "reach-cone", margin=CONE_SLACK, reference=quat.IDENTITY, axis=DOWN
        )
    if bone in HINGE_BONES and bone != segment:
        return Limit.fit(
            rotations,
            "box",
            "swing-twist",
            margin=SLACK,
            axis=_hinge_axis(rotations),
            along="chart",
        )
    return Limit.fit(rotations, "kdop", "rotation-vector", margin=SLACK)


def _cone_of(network: Network, segment: str) -> tuple[JointCone | None, list[str]]:
    """Return the cone that limits a segment, if any, and the segments whose rotation it undoes.

    The segment's transform is the output of the cone, or compensations times that output: then the
    cone stands still when the compensated segments rotate.
    """
    last = network.outputs[segment].split(".")[0]
    factors, product = [last], network.components[last]
    if isinstance(product, MatrixProduct):
        factors = [network.wires[f"{last}.{name}"].split(".")[0] for name in product.factors]
    *others, cone = (network.components[name] for name in factors)
    if not isinstance(cone, JointCone) or not all(isinstance(o, Compensation) for o in others):
        return None, []
    sources = [network.wires[f"{name}.ancestor"] for name in factors[:-1]]
    return cone, [name for name, source in network.outputs.items() if source in sources]


def _hinge_axis(rotations: Quats) -> Vectors:
    """Return the axis, in the segment's frame, about which it turns farthest."""
    farthest = rotations[np.abs(rotations[:, 0]).argmin()]
    return np.asarray(farthest[1:] / np.linalg.norm(farthest[1:]))


def _reachable_rotations(skeleton: Skeleton, joint_set: JointSet) -> Quats:
    """Return rotations (n, J, 4) for a joint set's controls throughout their ranges.

    Other joint sets are at rest.
    """
    alone = Figure(skeleton, {"set": joint_set})
    low, neutral, high = alone.ranges
    if len(low) <= 3:
        grid = np.meshgrid(*np.linspace(low, high, STEPS).T, indexing="ij")
        return alone.pose(np.stack(grid, axis=-1).reshape(-1, len(low))).rotations
    # Half of the values are at ends of ranges, where the borders are; in every other row, half of
    # the controls are neutral.
    rng = np.random.default_rng(0)
    shares = np.clip(rng.uniform(-0.5, 1.5, size=(RANDOM_POSES, len(low))), 0.0, 1.0)
    is_neutral = rng.random(shares.shape) < 0.5
    is_neutral[::2] = False
    return alone.pose(np.where(is_neutral, neutral, low + shares * (high - low))).rotations
