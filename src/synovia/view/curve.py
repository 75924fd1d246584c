"""How far a joint is from its limit over time, before and after clamping."""

from __future__ import annotations

import numpy as np

from ..arrays import Quats, Scalars
from ..limit import Limit
from ..lineage import lineage
from ..paths import project_path
from ..softening import softening_of
from .given import word
from .messages import Request
from .protocol import Curve
from .session import Session


def curve(session: Session, asked: Request) -> Curve:
    """Return the degrees (frames) that a joint is outside its limit, before and after clamping.

    Inside they are negative, and those of the limit's chart. `soften` says how to clamp.
    """
    scene, name = session.scene, word(asked, "joint")
    clip, model = scene.clip, scene.model
    if name not in model.limits:
        clip.skeleton.index(name)
        raise ValueError(f"{name} has no limit")
    limit = model.limits[name]
    seen = lineage(clip.skeleton, name, limit.relative_to).seen(clip.pose.rotations)
    softening = softening_of(asked.get("soften"))
    kept = project_path(limit, seen, clip.frame_time, softening=softening)
    return {
        "joint": name,
        "before": _outside_deg(limit, seen),
        "after": _outside_deg(limit, kept),
    }


def _outside_deg(limit: Limit, seen: Quats) -> Scalars:
    violation = limit.violation(seen)
    inside = np.minimum(limit.distance(seen), 0.0)
    return np.asarray(np.degrees(np.where(violation > 0.0, violation, inside)))
