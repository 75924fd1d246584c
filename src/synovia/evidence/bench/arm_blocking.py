"""Which joints block: what the solver says, held against widening each joint's limit in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Mask
from ...ik import Reach, Solution, solve
from ...model import LimitModel
from ...skeleton import Pose
from .arm_model import CLOSE, JOINTS, arm, loose_arm, starts, sure_goals
from .finding import Table

WIDER = np.radians(10.0)
"""By how much the limit of one joint is widened, in radians."""
HELPS = 0.95
"""A joint blocks if, with its limit widened, at most this share of the gap is left."""
BAR = 0.9


@dataclass(frozen=True, eq=False)
class Blocking:
    """For each goal that is not met and each joint: whether it blocks, and whether it was named."""

    truth: Mask
    said: Mask

    @property
    def precision(self) -> float:
        """Of the joints named, the share that block."""
        return _share(self.truth & self.said, self.said)

    @property
    def recall(self) -> float:
        """Of the joints that block, the share that was named."""
        return _share(self.truth & self.said, self.truth)

    @property
    def table(self) -> Table:
        """Precision and recall."""
        return Table(
            f"{len(self.truth):,} goals that the limits forbid: joints named as blocking, held "
            "against widening each limit by 10 degrees (at least 90% is asked for)",
            ("", "here"),
            (
                ("named, and do block (precision)", f"{100.0 * self.precision:.0f}%"),
                ("block, and are named (recall)", f"{100.0 * self.recall:.0f}%"),
            ),
        )

    @property
    def figures(self) -> dict[str, Any]:
        """The same as numbers."""
        return {"goals": len(self.truth), "precision": self.precision, "recall": self.recall}


def blocked(model: LimitModel, count: int) -> Blocking:
    """Return what the solver says of goals that only a loose arm reaches, and the truth."""
    skeleton = model.skeleton
    points = sure_goals(_reaching_arm(), count, seed=3).points
    found = _solved(model, starts(skeleton)["bent"], points)
    unmet = np.flatnonzero(found.errors[:, 0] > 5.0 * CLOSE)
    here = Pose(found.pose.rotations[unmet], found.pose.positions[unmet])
    gaps = found.errors[unmet, 0]
    truth = [
        _solved(arm(wider=name, by=WIDER), here, points[unmet]).errors[:, 0] <= HELPS * gaps
        for name in JOINTS
    ]
    said = found.further[unmet][:, [skeleton.index(name) for name in JOINTS]] > 0.0
    return Blocking(np.stack(truth, axis=-1), np.asarray(said))


def _reaching_arm() -> LimitModel:
    """Return an arm without ends, its shoulder too, whose poses can be drawn at random."""
    loose = loose_arm()
    limits = {**arm(wider="Shoulder", by=np.radians(60.0)).limits, **loose.limits}
    return LimitModel(limits, loose.skeleton)


def _solved(model: LimitModel, start: Pose, points: Any) -> Solution:
    return solve(model, model.skeleton, start, [Reach("Hand", points)], joints=JOINTS)


def _share(some: Mask, of: Mask) -> float:
    return float(some.sum() / of.sum()) if of.any() else 1.0
