"""LimitModel: a limit for each joint that has one; poses and clips in, the same out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from . import kernels, quat
from .arrays import Floats, Ints, Mask, Quats, Scalars, tolerance
from .clip import Clip
from .fitting import Recipe, Sample, fit_joint, invented_first_frame, observed
from .joint_kind import JointKind, joint_kind
from .limit import Limit
from .matching import match
from .paths import TRANSITION, first_exit, project_path
from .report import Report
from .sampling import SHARE, Take, performer_of
from .skeleton import Pose, Skeleton, check_joints
from .softening import Softening

PoseOrClip = TypeVar("PoseOrClip", Pose, Clip)
Progress = Callable[[Sequence[str]], Iterable[str]]


@dataclass(frozen=True, eq=False)
class LimitModel:
    """Limits by the names of joints, the skeleton they were learned on, and where they come from."""

    limits: Mapping[str, Limit]
    skeleton: Skeleton
    provenance: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    """What was observed of each joint, thinned, where that was kept."""

    def __post_init__(self) -> None:
        for name in (*self.limits, *self.samples):
            self.skeleton.index(name)

    @classmethod
    def fit(
        cls,
        clips: Sequence[Clip],
        shape: str = "kdop",
        chart: str = "swing-twist",
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
        progress: Progress = iter,  # type: ignore[assignment]
        **options: Any,
    ) -> Self:
        """Return limits learned from `clips`, for all joints but the roots unless `joints` says.

        Every frame is inside, `margin` radians deep, but for capture flips and at most a share
        `trim` of frames that no other performer confirms or that stand alone. `reject` instead
        chooses the margin of each joint for a share of held-out frames outside. `reference` is
        "mean", "rest", the number of a frame of the first clip, or a clip, whose first frame
        counts. `performers` maps names of clips to performers, or is a regular expression with
        one group that finds them in the names; `names` maps names of joints of the clips to those
        of the first. Further options go to the shape.
        """
        if not clips:
            raise ValueError("limits need at least one clip to learn from, got none")
        for clip in clips:
            if clip.frames == 0:
                raise ValueError(f"{clip.name or 'clip'}: limits cannot be learned from no frames")
        skeleton = clips[0].skeleton
        wanted = _wanted(skeleton, joints, exclude)
        recipe = Recipe(shape, chart, margin, reject, trim, options)
        takes = _takes(clips, wanted, names, performers)
        references = _references(reference, clips[0], names)
        axes = _bone_axes(skeleton)
        limits, samples, rows = {}, {}, {}
        for name in progress(wanted):
            if not takes[name]:
                continue
            joint = skeleton.index(name)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fitted = fit_joint(
                    takes[name], recipe, reference=references.get(name), axis=axes[joint]
                )
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                warnings.warn(f"{name}: {message}", stacklevel=2)
            limits[name] = fitted.limit
            if keep_samples:
                samples[name] = observed(takes[name], fitted)
            rows[name] = {
                "frames": fitted.trimmed.frames,
                "rule": fitted.trimmed.rule,
                "flips": fitted.trimmed.flips,
                "unconfirmed": fitted.trimmed.unconfirmed,
                "isolated": fitted.trimmed.isolated,
                "margin": fitted.margin,
                "rejected": fitted.rejected,
            }
        provenance = {
            "clips": [
                {
                    "name": clip.name,
                    "performer": _performer(clip.name, performers),
                    "frames": clip.frames,
                    "frame_time": clip.frame_time,
                    "first_frame_dropped": invented_first_frame(clip),
                }
                for clip in clips
            ],
            "options": {
                "shape": shape,
                "chart": chart,
                "margin": margin,
                "reject": reject,
                "trim": trim,
                "reference": reference.name if isinstance(reference, Clip) else reference,
                **options,
            },
            "joints": rows,
        }
        return cls(limits, skeleton, provenance, samples)

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

    def project(
        self,
        what: PoseOrClip,
        *,
        softening: Softening | None = None,
        transition: float = TRANSITION,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,  # type: ignore[assignment]
    ) -> PoseOrClip:
        """Return legal poses, or a legal clip free of pops (see `synovia.paths.project_path`).

        Poses are taken one by one, each to its nearest legal rotations, and have the joints of
        this model's skeleton. Joints of a clip are matched by name, `names` mapping the clip's
        to the model's. With `softening` the limits are approached instead.
        """
        if isinstance(what, Clip):
            return self._project_clip(what, softening, transition, names, progress)
        if softening is None:
            return replace(what, rotations=self._projected(what)[0])
        rotations = what.rotations.copy()
        for name, limit in self.limits.items():
            joint = self.skeleton.index(name)
            rotations[..., joint, :] = limit.soften(rotations[..., joint, :], softening)
        return replace(what, rotations=rotations)

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
        return replace(clip, pose=replace(clip.pose, rotations=rotations))

    def check(self, clip: Clip, *, names: Mapping[str, str] | None = None) -> Report:
        """Return how far, where and how often the clip leaves these limits."""
        found = match(self.limits, self.skeleton, clip.skeleton, names)
        found.warn(clip.name)
        violation = np.zeros((clip.frames, len(found.joints)))
        for k, (name, joint) in enumerate(found.joints.items()):
            violation[:, k] = self.limits[name].violation(clip.pose.rotations[:, joint])
        return Report(clip.name, tuple(found.joints), violation, clip.frame_time)

    def first_exit(self, previous: Pose, proposed: Pose) -> Scalars:
        """Return the largest t (...) in [0, 1] with all joints legal before it, turning together."""
        check_joints(self.skeleton, previous)
        check_joints(self.skeleton, proposed)
        exits = [
            first_exit(limit, previous.rotations[..., joint, :], proposed.rotations[..., joint, :])
            for limit, joint in zip(self.limits.values(), self._joints.tolist(), strict=True)
        ]
        return np.min([np.ones(previous.rotations.shape[:-2]), *exits], axis=0)

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
        distances = np.empty((int(np.prod(batch)), len(self._joints)), rotations.dtype)
        offsets, packed = self._packed
        slack = tolerance(rotations.dtype)
        kernels.limits.project_poses(
            rotations.reshape(-1), self._joints, offsets, packed, slack, out.reshape(-1), distances
        )
        return out, distances.reshape(*batch, -1)


def kinds_of(clips: Sequence[Clip]) -> dict[str, JointKind]:
    """Return what kind of joint each joint of the first clip is, from the frames of all."""
    names = clips[0].skeleton.names
    takes = _takes(clips, names, None, None)
    return {
        name: joint_kind(np.concatenate([take.rotations for take in takes[name]]))
        for name in names
        if takes[name]
    }


def _wanted(skeleton: Skeleton, joints: Sequence[str] | None, exclude: Sequence[str]) -> list[str]:
    for name in (*(joints or ()), *exclude):
        skeleton.index(name)
    roots = {skeleton.names[joint] for joint in skeleton.children(-1)}
    chosen = joints or [name for name in skeleton.names if name not in roots]
    wanted = [name for name in chosen if name not in exclude]
    if not wanted:
        raise ValueError("no joint is left to learn limits for")
    return wanted


def _takes(
    clips: Sequence[Clip],
    wanted: Sequence[str],
    names: Mapping[str, str] | None,
    performers: str | Mapping[str, str] | None,
) -> dict[str, list[Take]]:
    """Return, by joint, one take a clip, without first frames that nobody performed."""
    takes: dict[str, list[Take]] = {name: [] for name in wanted}
    for clip in clips:
        known = {name: to for name, to in (names or {}).items() if name in clip.skeleton.names}
        found = match(wanted, clips[0].skeleton, clip.skeleton, known)
        found.warn(clip.name)
        first = 1 if invented_first_frame(clip) else 0
        who = _performer(clip.name, performers)
        for name, joint in found.joints.items():
            rotations = clip.pose.rotations[first:, joint]
            takes[name].append(Take(rotations, clip.frame_time, clip.name, who))
    return takes


def _performer(clip: str, performers: str | Mapping[str, str] | None) -> str:
    if isinstance(performers, Mapping):
        if clip not in performers:
            raise ValueError(f"no performer is given for the clip {clip!r}")
        return performers[clip]
    return performer_of(clip, performers)


def _references(
    reference: str | int | Clip, first: Clip, names: Mapping[str, str] | None
) -> dict[str, Quats]:
    """Return the reference rotation by joint; none where the mean is to be taken."""
    if reference == "mean":
        return {}
    if reference == "rest":
        return {name: quat.IDENTITY for name in first.skeleton.names}
    if isinstance(reference, Clip):
        if reference.frames == 0:
            raise ValueError(f"{reference.name}: the reference clip has no frames")
        found = match(first.skeleton.names, first.skeleton, reference.skeleton, names)
        return {name: reference.pose.rotations[0, joint] for name, joint in found.joints.items()}
    if isinstance(reference, int) and -first.frames <= reference < first.frames:
        rotations = first.pose.rotations[reference]
        return dict(zip(first.skeleton.names, rotations, strict=True))
    raise ValueError(
        f"reference must be 'mean', 'rest', a clip, or a frame below {first.frames}, "
        f"got {reference!r}"
    )


def _bone_axes(skeleton: Skeleton) -> Floats:
    """Return the direction of each joint's bone: to its children, else on from its parent, else z."""
    axes = skeleton.rest_directions.copy()
    for joint in np.flatnonzero(~axes.any(axis=1)):
        length = np.linalg.norm(skeleton.offsets[joint])
        axes[joint] = skeleton.offsets[joint] / length if length > 0.0 else (0.0, 0.0, 1.0)
    return axes
