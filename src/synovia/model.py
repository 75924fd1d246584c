"""LimitModel: a limit for each joint that has one; poses and clips in, the same out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np

from . import kernels, quat
from .arrays import Floats, Ints, Mask, Quats, Scalars, tolerance
from .clip import Clip
from .fitting import Recipe, Sample
from .learning import Progress, learn
from .limit import Limit, chart_for
from .matching import match
from .paths import TRANSITION, first_exit, project_path
from .population import Population
from .report import Report
from .sampling import SHARE
from .skeleton import Pose, Skeleton, check_joints
from .softening import Softening


@dataclass(frozen=True, eq=False)
class LimitModel:
    """Limits by the names of joints, the skeleton they are for, and where they come from."""

    limits: Mapping[str, Limit]
    skeleton: Skeleton
    provenance: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    """What was observed of each joint, thinned, where that was kept."""

    def __post_init__(self) -> None:
        for name in (*self.limits, *self.samples):
            self.skeleton.index(name)
        for field_ in ("limits", "samples"):
            locked = MappingProxyType(dict(getattr(self, field_)))
            object.__setattr__(self, field_, locked)

    @classmethod
    def fit(
        cls,
        clips: Sequence[Clip],
        shape: str = "kdop",
        chart: str | None = None,
        *,
        margin: float = 0.05,
        reject: float | None = None,
        trim: float = SHARE,
        reference: str | int | Clip = "mean",
        performers: str | Mapping[str, str] | None = None,
        joints: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
        keep_samples: bool = False,
        blend: LimitModel | None = None,
        progress: Progress = iter,
        **options: Any,
    ) -> Self:
        """Return limits learned from `clips`, for all joints but the roots unless `joints` says.

        The chart is "swing-twist" where the shape works in it, unless another is given.
        Every frame is inside, `margin` radians deep, but for capture flips and at most a share
        `trim` of frames that no other performer confirms or that stand alone. `reject` widens the
        margin of each joint until at most that share of held-out frames is outside. `reference` is
        "mean", "rest", the number of a frame of the first clip, or a clip, whose first frame
        counts. `performers` maps names of clips to performers, or is a regular expression with
        one group that finds them in the names; `names` maps names of joints of the clips to those
        of the first. `blend` is a model of a population that kept its samples: the clips are then
        those of one performer, who is believed in every frame but flips, and counts for 20 people
        where frames of others need to be confirmed. Further options go to the shape.
        """
        learned = learn(
            clips,
            Recipe(shape, chart_for(shape, chart), margin, reject, trim, options),
            reference=reference,
            performers=performers,
            joints=joints,
            exclude=exclude,
            names=names,
            keep_samples=keep_samples,
            blend=None if blend is None else blend.population,
            progress=progress,
        )
        return cls(learned.limits, clips[0].skeleton, learned.provenance, learned.samples)

    @property
    def population(self) -> Population:
        """What was observed of whom, to be blended with; an error where that was not kept."""
        rows = self.provenance.get("clips")
        clips = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return Population(self.skeleton, self.samples, clips)

    def contains(self, pose: Pose) -> Mask:
        """Tell which poses (...) are legal at every joint."""
        distance = self.distance(pose)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    def distance(self, pose: Pose) -> Scalars:
        """Return the signed distance of each joint (..., J), in its chart; -inf without a limit."""
        _, distances = self._projected(pose)
        out = np.full(pose.rotations.shape[:-1], -np.inf, pose.rotations.dtype)
        out[..., self._joints] = distances
        return out

    def violation(self, pose: Pose) -> Scalars:
        """Return the angle of each joint (..., J) from legal, in radians; 0 without a limit."""
        projected, _ = self._projected(pose)
        moved = (projected != pose.rotations).any(axis=-1)
        angles = quat.angle_between(pose.rotations, projected)
        return np.where(moved, angles, 0.0).astype(pose.rotations.dtype)

    @overload
    def project(self, what: Pose, *, softening: Softening | None = None) -> Pose: ...

    @overload
    def project(
        self,
        what: Clip,
        *,
        softening: Softening | None = None,
        transition: float = TRANSITION,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Clip: ...

    def project(
        self,
        what: Pose | Clip,
        *,
        softening: Softening | None = None,
        transition: float = TRANSITION,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Pose | Clip:
        """Return legal poses, or a legal clip free of pops (see `synovia.paths.project_path`).

        Poses are taken one by one, each to its nearest legal rotations, and have the joints of
        this model's skeleton. Joints of a clip are matched by name, `names` mapping the clip's
        to the model's. With `softening` the limits are approached instead.
        """
        if isinstance(what, Clip):
            return self._project_clip(what, softening, transition, names, progress)
        if softening is None:
            return what.turned(self._projected(what)[0])
        rotations = what.rotations.copy()
        for name, limit in self.limits.items():
            joint = self.skeleton.index(name)
            rotations[..., joint, :] = limit.soften(rotations[..., joint, :], softening)
        return what.turned(rotations)

    def _project_clip(
        self,
        clip: Clip,
        softening: Softening | None,
        transition: float,
        names: Mapping[str, str] | None,
        progress: Progress,
    ) -> Clip:
        found = match(self.limits, self.skeleton, clip.skeleton, names)
        found.warn(clip.name)
        rotations = clip.pose.rotations.copy()
        for name in progress(list(found.joints)):
            joint = found.joints[name]
            rotations[:, joint] = project_path(
                self.limits[name],
                rotations[:, joint],
                clip.frame_time,
                softening=softening,
                transition=transition,
            )
        return replace(clip, pose=clip.pose.turned(rotations))

    def check(self, clip: Clip, *, names: Mapping[str, str] | None = None) -> Report:
        """Return how far, where and how often the clip leaves these limits."""
        found = match(self.limits, self.skeleton, clip.skeleton, names)
        found.warn(clip.name)
        violation = np.zeros((clip.frames, len(found.joints)))
        for k, (name, joint) in enumerate(found.joints.items()):
            violation[:, k] = self.limits[name].violation(clip.pose.rotations[:, joint])
        return Report(clip.name, tuple(found.joints), violation, clip.frame_time)

    def first_exit(self, previous: Pose, proposed: Pose) -> Scalars:
        """Return the largest t (...) in [0, 1] with all joints legal before it."""
        check_joints(self.skeleton, previous)
        check_joints(self.skeleton, proposed)
        exits = [
            first_exit(limit, previous.rotations[..., joint, :], proposed.rotations[..., joint, :])
            for limit, joint in zip(self.limits.values(), self._joints.tolist(), strict=True)
        ]
        return np.asarray(np.min([np.ones(previous.rotations.shape[:-2]), *exits], axis=0))

    def sample(self, n: int, rng: np.random.Generator) -> Pose:
        """Return `n` legal poses: each joint uniform in its limit, others as at rest."""
        rest = self.skeleton.rest_pose()
        rotations = np.tile(rest.rotations, (n, 1, 1))
        for name, limit in self.limits.items():
            rotations[:, self.skeleton.index(name)] = limit.sample(n, rng)
        return Pose(rotations, np.tile(rest.positions, (n, 1, 1)))

    def volume(self) -> dict[str, float]:
        """Return, by joint, the share of all rotations that is legal."""
        return {name: limit.volume() for name, limit in self.limits.items()}

    @property
    def packed(self) -> tuple[Ints, Ints, Floats]:
        """The joints that have a limit, the offset of each limit, and one buffer with them all."""
        return (self._joints, *self._packed)

    @cached_property
    def _joints(self) -> Ints:
        return np.array([self.skeleton.index(name) for name in self.limits], dtype=np.int64)

    @cached_property
    def _packed(self) -> tuple[Ints, Floats]:
        """The offset of each limit, and one buffer with all of them."""
        parts = [limit.packed for limit in self.limits.values()]
        offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
        return offsets, np.concatenate([np.empty(0), *parts])

    def _projected(self, pose: Pose) -> tuple[Quats, Scalars]:
        """Return the nearest legal rotations, and the distances of the joints that have a limit."""
        check_joints(self.skeleton, pose)
        rotations = np.ascontiguousarray(pose.rotations)
        batch = rotations.shape[:-2]
        out = rotations.copy()
        distances = np.empty((math.prod(batch), len(self._joints)), rotations.dtype)
        offsets, packed = self._packed
        slack = tolerance(rotations.dtype)
        given = rotations.reshape(-1)
        given.flags.writeable = False  # as in most poses: for both kinds it would be compiled twice
        kernels.limits.project_poses(
            given, self._joints, offsets, packed, slack, out.reshape(-1), distances
        )
        return out, distances.reshape(*batch, len(self._joints))
