"""watch: through a whole clip, spine, neck and head turn towards a target, without pops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..arrays import Vectors
from ..clip import Clip
from ..model import LimitModel
from ..skeleton import Pose
from .follow import Progress, stacked
from .followed import Followed
from .frames import check_frames, pose_at, within_limits
from .gaps import errors_of
from .goals import Aim
from .held import between
from .look_at import look_at
from .pace import FASTEST, held_back, largest_turn, moved_on
from .settings import TOLERANCE
from .solution import Solution


def watch(
    model: LimitModel,
    clip: Clip,
    target: Vectors,
    joints: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    axis: Vectors | None = None,
    point: Vectors | None = None,
    fastest: float = FASTEST,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> Followed:
    """Return `clip` with `axis` of the last of `joints` pointed at `target` in every frame.

    The target is one for all frames, or one for each: (frames, 3). The clip is clamped first; each
    frame is then that of `look_at`, with the same joints, weights, axis and point. Where this
    would turn a joint away from what the clip does by more than `fastest` radians a second, as
    when a target passes behind the back, it takes some frames. `names` maps names of the clip's
    joints to those of the model.
    """
    joints = list(joints)
    most = largest_turn(fastest, clip)
    fitted, legal = within_limits(model, clip, names)
    check_frames(Aim(joints[-1] if joints else "?", target), clip)
    look = partial(look_at, weights=weights, axis=axis, point=point, tolerance=TOLERANCE)
    if between(fitted):  # which differ from frame to frame
        found = _one_by_one(look, fitted, legal, target, joints)
    else:
        found = look(fitted, clip.skeleton, legal.pose, target, joints)
    rotations = found.pose.rotations.copy()
    slow = np.zeros(clip.frames, np.bool_)
    for frame in progress(range(1, clip.frames)):
        last = Pose(rotations[frame - 1], legal.pose.positions[frame - 1])
        start = moved_on(fitted, last, legal, frame)
        held = held_back(fitted, start.rotations, rotations[frame], most)
        if held is not None:
            rotations[frame], slow[frame] = held, True
    pose = Pose(rotations, legal.pose.positions)
    errors = np.where(slow[:, None], errors_of(found.goals, clip.skeleton, pose), found.errors)
    near = kernels.ik_goals.TURN_SHARE * errors[:, 0] <= TOLERANCE
    met = np.where(slow, near, found.converged)
    whole = replace(found, pose=pose, errors=errors, converged=met)
    return Followed(replace(clip, pose=pose), whole, slow & ~met, np.zeros_like(slow))


def _one_by_one(
    look: Callable[..., Solution],
    model: LimitModel,
    clip: Clip,
    target: Vectors,
    joints: Sequence[str],
) -> Solution:
    """Return what `look` finds for each frame by itself, frames first."""
    places = np.broadcast_to(np.asarray(target, dtype=np.float64), (clip.frames, 3))
    found = [
        look(model, clip.skeleton, pose_at(clip.pose, frame), places[frame], joints)
        for frame in range(clip.frames)
    ]
    (aim,) = found[0].goals
    whole = [replace(aim, target=places)] if isinstance(aim, Aim) else [aim]
    return stacked(found, whole)
