"""LimitModel: a list of constraints on the joints of a skeleton."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, tolerance
from ..components import Figure
from ..learn import Population, Progress, Sample
from ..limit import DependentLimit, Limit, PairLimit
from ..limit.softening import Softening
from ..skeleton import Clip, Lineage, Match, Pose, Skeleton, check_joints, list_names, match
from .clamp import MAX_SPEED
from .constraint import Constraint, JointLimit
from .control_group import TOLERANCE as GROUP_TOLERANCE
from .control_group import ControlGroup, control_groups
from .coupled import Coupled, couple
from .placed import Placed, place_in_order
from .report import ClampReport, Held, Report

Kind = TypeVar("Kind", bound=Constraint)
_ON_SKELETON: WeakKeyDictionary[LimitModel, tuple[Skeleton, dict[str, str], LimitModel]] = (
    WeakKeyDictionary()
)
"""The last result of `for_skeleton` of a model, and what it was made for."""


@dataclass(frozen=True, eq=False)
class LimitModel:
    """Constraints on the joints of a skeleton, and where they come from.

    Limits of single joints may be given as a mapping from their names. A joint belongs to at most
    one constraint.
    """

    constraints: Sequence[Constraint]
    skeleton: Skeleton
    provenance: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    """Observed rotations of each joint, thinned, if they were kept."""

    def __init__(
        self,
        constraints: Sequence[Constraint] | Mapping[str, Limit],
        skeleton: Skeleton,
        provenance: Mapping[str, Any] = MappingProxyType({}),
        samples: Mapping[str, tuple[Sample, ...]] = MappingProxyType({}),
    ) -> None:
        if isinstance(constraints, Mapping):
            constraints = couple(constraints, {})
        for name, value in {
            "constraints": tuple(constraints),
            "skeleton": skeleton,
            "provenance": provenance,
            "samples": MappingProxyType(dict(samples)),
        }.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        for name in self.samples:
            self.skeleton.index(name)
        seen: set[str] = set()
        for constraint in self.constraints:
            constraint.check(self.skeleton)
            if twice := [name for name in constraint.joints if name in seen]:
                raise ValueError(f"{twice[0]} must belong to one constraint, got two")
            seen.update(constraint.joints)
        coupled = {name for each in self._of(Coupled) for name in each.joints}
        for placed in self.placed:
            across = [self.skeleton.names[joint] for joint in sorted(placed.between)]
            if mixed := [name for name in across if name in coupled]:
                raise ValueError(
                    f"{placed.constraint.joints[-1]} is measured across {', '.join(mixed)}, which "
                    "must not depend on another joint then, nor drive one"
                )

    @classmethod
    def fit(
        cls,
        clips: Sequence[Clip],
        shape: str = "kdop",
        chart: str | None = None,
        *,
        blend: LimitModel | None = None,
        progress: Progress = iter,
        **options: Any,
    ) -> Self:
        """Return limits learned from clips, for the joints of the first clip's skeleton.

        Parameters
        ----------
        clips
            At least one. Joints of the others are matched with those of the first by name.
        shape
            What the region of a joint looks like: a name among `synovia.SHAPES`, or "people" for a
            distance field of the rotations near to many performers.
        chart
            What coordinates it is drawn in: a name among `synovia.CHARTS`. Unless given, it is
            "swing-twist" where the shape works in that.
        blend
            A model of a population that kept its samples. The clips are then those of one
            performer, who is believed in every frame but flips, and counts for 20 people where
            frames of others need to be confirmed.
        progress
            Is given the names of the joints, and gives them back one by one.
        **options
            Any of those below. Further ones go to the shape, like ``vertices=12`` for a reach
            cone.

        Other Parameters
        ----------------
        margin : float
            How deep observed frames are inside, in radians. Unless given, it is chosen for a
            rejection of 1 % with three performers or more, and 0.05 with fewer.
        reject : float
            Widen each joint until at most this share of the frames of people who are not in the
            clips is to be expected outside, on average, but at least by the margin. Performers are
            left out in turn to tell, clips where there is one; see `synovia.learn.promise`.
        trim : float
            The largest share of frames, besides capture flips, that may be left out because no
            other performer confirms them or because they stand alone; 0.05 unless given. 0 keeps
            every frame, flips too.
        reference : str, int or Clip
            What rotations are measured from: "mean", that of what was observed, unless given;
            "rest"; the number of a frame of the first clip; or a clip, for its first frame.
        performers : str or mapping
            Who performs: a map from the names of clips, or a regular expression with one group
            that finds it in these. See `synovia.learn.performer_of`.
        joints : sequence of str
            The joints to limit; all but the roots unless given.
        exclude : sequence of str
            Joints not to limit.
        names : mapping
            Names of the clips' joints, mapped to those of the first.
        relative_to : mapping
            By joint, the ancestor from which it is measured instead of from its parent.
        depends : mapping or "auto"
            By joint, the one whose rotation its limit depends on, such as
            ``{"LeftLeg": "LeftUpLeg"}``. A hinge gets ends that vary with where the other bone
            points, another joint a margin. "auto" finds the joints for which that pays on people
            who are left out; `provenance` says how much.
        keep_samples : bool
            Whether to keep what was observed, thinned, to blend or calibrate with.

        Examples
        --------
        >>> from synovia.demo import range_of_motion
        >>> model = LimitModel.fit([range_of_motion(60)], "box", margin=0.1, joints=["Head"])
        >>> model.limits["Head"].shape.name, model.limits["Head"].chart.name
        ('box', 'swing-twist')
        """
        from ..learn import FitOptions, learn

        population = None if blend is None else blend.population
        chosen = FitOptions.of(shape, chart, blend=population, **options)
        learned = learn(clips, chosen, progress=progress)
        constraints = couple(learned.limits, learned.dependents)
        return cls(constraints, clips[0].skeleton, learned.provenance, learned.samples)

    @classmethod
    def of_figure(cls, figure: Figure, tolerance: float = GROUP_TOLERANCE) -> Self:
        """Return the limits of a figure: the poses that controls within their ranges give.

        Joints that share controls are limited together (`groups`); a limit for each joint by itself
        is `anatomy.limits_of`. Positions of joints are not limited.

        Parameters
        ----------
        figure
            The figure whose joints are limited.
        tolerance
            How far a segment may be off what the controls give, in radians, as seen from where its
            group begins; 2 degrees by default. Segments in a row share it evenly.

        Examples
        --------
        >>> import numpy as np
        >>> from synovia import LimitModel, human
        >>> body = human()
        >>> model = LimitModel.of_figure(body)
        >>> bool(model.contains(body.pose({"lumbar.flexion": 30.0})))
        True
        """
        groups = control_groups(figure, tolerance)
        return cls(groups, figure.skeleton, {"figure": figure.name})

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [each for each in self.constraints if isinstance(each, kind)]

    @cached_property
    def limits(self) -> Mapping[str, Limit]:
        """The limits of single joints, also of those that depend on others, by name."""
        found = {each.joint: each.limit for each in self._of(JointLimit)}
        for coupled in self._of(Coupled):
            found |= coupled.limits
        joints = sorted(found, key=self.skeleton.index)
        return MappingProxyType({name: found[name] for name in joints})

    @cached_property
    def dependents(self) -> Mapping[str, DependentLimit]:
        """The limits that depend on another joint, by name."""
        pairs = (each.followers.items() for each in self._of(Coupled))
        return MappingProxyType({name: each for pair in pairs for name, each in pair})

    @cached_property
    def groups(self) -> tuple[ControlGroup, ...]:
        """The groups of joints that controls of a figure move together."""
        return tuple(self._of(ControlGroup))

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that are limited, by themselves or in groups."""
        return (*self.limits, *(name for group in self.groups for name in group.joints))

    @property
    def ancestors(self) -> dict[str, str]:
        """The joints that limits are measured from, by joint, where that is not the parent."""
        named = {name: limit.relative_to for name, limit in self.limits.items()}
        return {name: above for name, above in named.items() if above is not None}

    @property
    def population(self) -> Population:
        """The observations to be blended with; ValueError if they were not kept."""
        rows = self.provenance.get("clips")
        clips = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return Population(self.skeleton, self.samples, clips, self.ancestors)

    def pair(self, name: str) -> PairLimit:
        """Return the legal pairs of rotations of a driver and the joint that depends on it."""
        if name not in self.dependents:
            known = ", ".join(self.dependents) or "none"
            raise ValueError(f"{name} depends on no other joint; those that do: {known}")
        each = self.dependents[name]
        return PairLimit(self.limits.get(each.driver), each)

    def with_limits(
        self,
        limits: Mapping[str, Limit],
        dependents: Mapping[str, DependentLimit] | None = None,
    ) -> LimitModel:
        """Return the model with other limits of single joints.

        Limits depend on other joints as `dependents` says, or as before. Groups stay as they are.
        """
        kept = dependents
        if kept is None:
            kept = {name: each for name, each in self.dependents.items() if name in limits}
        return replace(self, constraints=(*couple(limits, kept), *self.groups))

    def joint_by_joint(self, what: str) -> LimitModel:
        """Return the limits of single joints, for a feature `what` that supports no others.

        ValueError if there are groups. Limits that depend on others are as wide as they get, with
        a warning.
        """
        if self.groups:
            raise ValueError(f"{what} takes limits of single joints, got groups of a figure")
        if not self.dependents:
            return self
        warnings.warn(
            f"{what} does not know that {list_names(self.dependents)} depend on other joints: what "
            "they may do at all is legal",
            stacklevel=3,
        )
        return self.with_limits(self.limits, {})

    def match(self, skeleton: Skeleton, names: Mapping[str, str] | None = None) -> Match:
        """Return where `skeleton` has the limited joints; `names` maps its names to these."""
        wanted = [*self.names, *(each.driver for each in self._of(Coupled))]
        return match(dict.fromkeys(wanted), self.skeleton, skeleton, names)

    def for_skeleton(
        self, skeleton: Skeleton, names: Mapping[str, str] | None = None, *, clip: str = ""
    ) -> LimitModel:
        """Return the limits of the joints that `skeleton` has, by its names for them.

        Parameters
        ----------
        skeleton
            The skeleton to be limited. Joints are matched by name. Those that it does not have
            are left out, and so are those whose limit is measured from a joint that is not above
            them here, with a warning.
        names
            Names of `skeleton`, mapped to those of this model, where they differ by more than a
            prefix such as ``mixamorig:``.
        clip
            The name of the skeleton in warnings.
        """
        if skeleton is self.skeleton and not names:
            return self
        known = _ON_SKELETON.get(self)
        if known is not None and known[0] is skeleton and known[1] == dict(names or {}):
            return known[2]  # frame after frame: what is cached of a model stays cached
        there = self._carry(self.match(skeleton, names), clip)
        _ON_SKELETON[self] = skeleton, dict(names or {}), there
        return there

    def _carry(self, found: Match, clip: str) -> LimitModel:
        """Return the model on the skeleton in which joints were found, with warnings."""
        if found.skeleton is self.skeleton and not found.names:
            return self
        joints: dict[str, Lineage] = found.lineages(self.ancestors, clip)
        constraints: list[Constraint] = []
        losses: dict[str, list[str]] = {}
        for constraint in self.constraints:
            carried = constraint.on(found.skeleton, joints)
            constraints += carried.constraints
            if carried.loss:
                losses.setdefault(carried.loss, []).extend(carried.lost)
        for loss, lost in losses.items():
            warnings.warn(f"{clip or 'clip'}: {loss}: {list_names(lost)}", stacklevel=4)
        return LimitModel(constraints, found.skeleton)

    def on(
        self,
        skeleton: Skeleton,
        *,
        clips: Sequence[Clip] = (),
        roles: Mapping[str, str] | None = None,
        own_clips: Sequence[Clip] = (),
    ) -> LimitModel:
        """Return these limits for another rig of a human: names, rest pose and frames may differ.

        Both skeletons are recognised as humans and brought to the same T-pose (`synovia.rigs`).
        Only limits of joints that both have, measured from the same bones, are carried over;
        others are named in a warning.

        Parameters
        ----------
        skeleton
            The rig that gets limits.
        clips
            Motion of that rig, which shows how its limbs are twisted; see `rigs.align`.
        roles
            Roles of its joints, where names do not tell them: ``{"Bone_07": "leftUpperArm"}``.
        own_clips
            Motion of the rig that these limits are for, which shows how that stands, where its rest
            pose does not.

        Examples
        --------
        >>> from synovia import human_limits
        >>> from synovia.io.smpl import smpl_skeleton
        >>> model = human_limits(source="people").on(smpl_skeleton(24))
        >>> model.limits["left_shoulder"].relative_to
        'spine3'
        """
        from .retarget import retarget

        return retarget(self, skeleton, clips, roles, own_clips)

    @cached_property
    def placed(self) -> list[Placed]:
        """The constraints on the skeleton, each after those whose joints it is measured across."""
        return place_in_order(self.skeleton, self.constraints)

    @cached_property
    def _packed_limits(self) -> tuple[Ints, Ints, Floats]:
        """The joints whose limits one kernel evaluates, the limits' offsets, and their buffer."""
        packed = self._packed_constraints
        joints = np.array([self.skeleton.index(each.joint) for each in packed], np.int64)
        return (joints, *pack_limits([each.limit for each in packed]))

    @cached_property
    def _packed_constraints(self) -> list[JointLimit]:
        """The limits that one kernel evaluates."""
        return [each for each in self._of(JointLimit) if _has_kernel(each)]

    @cached_property
    def _others(self) -> list[Placed]:
        """The constraints that are evaluated one by one."""
        return [each for each in self.placed if not _has_kernel(each.constraint)]

    def contains(self, pose: Pose) -> Mask:
        """Return which poses (...) are legal at every joint."""
        distance = self.distance(pose)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    def distance(self, pose: Pose) -> Scalars:
        """Return the signed distance of each joint (..., J), in its chart; -inf without a limit.

        At most 0 where a joint is legal. For a joint that depends on another, that one stays as it
        is; `pair` has the distance of both together.
        """
        _, distances = self._projected(pose)
        out = np.full(pose.rotations.shape[:-1], -np.inf, pose.rotations.dtype)
        out[..., self._packed_limits[0]] = distances
        for placed in self._others:
            relative = placed.relative(pose.rotations)
            out[..., placed.joints] = placed.constraint.distance(relative)
        return out

    def violation(self, pose: Pose) -> Scalars:
        """Return the angle of each joint (..., J) from its projection, in radians.

        It is 0 where the joint is legal or has no limit. Other joints are taken as they are, also
        those between a joint and its limit's ancestor, and drivers.
        """
        projected, _ = self._projected(pose)
        moved = (projected != pose.rotations).any(axis=-1)
        angles = quat.angle_between(pose.rotations, projected)
        out = np.where(moved, angles, 0.0).astype(pose.rotations.dtype)
        for placed in self._others:
            relative = placed.relative(pose.rotations)
            out[..., placed.joints] = placed.constraint.violation(relative)
        return out

    @overload
    def project(self, what: Pose, *, softening: Softening | None = None) -> Pose: ...

    @overload
    def project(
        self,
        what: Clip,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Clip: ...

    def project(
        self,
        what: Pose | Clip,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Pose | Clip:
        """Return legal poses, or a legal clip that is free of pops (see `project_path`).

        Where a limit is measured from an ancestor, the joints between are made legal first. A joint
        that depends on another, and that one, go to the nearest legal pair of rotations; in a clip
        the driver's path is made legal first, and then the follower's, frame by frame.

        Parameters
        ----------
        what
            Poses (...) of this model's skeleton, each of which goes to its nearest legal
            rotations; or a clip, whose joints are matched by name.
        softening
            How to approach the limits instead of stopping at them: `Inside` or `Beyond`.
        max_speed
            Radians a second. No step of a clip becomes longer than that allows, or than twice
            what it was, whichever is more.
        names
            Names of the clip's joints, mapped to those of the model.
        progress
            Is given the names of the joints of a clip, and gives them back one by one.

        Returns
        -------
        Pose or Clip
            The same kind as was given. What is legal comes back bit for bit.
        """
        if isinstance(what, Clip):
            return self.project_clip(
                what, softening=softening, max_speed=max_speed, names=names, progress=progress
            )[0]
        if softening is None:
            rotations = self._projected(what)[0]
            for placed in self._others:
                legal = placed.constraint.project(placed.relative(rotations))
                placed.set_relative(rotations, legal)
            return what.with_rotations(rotations)
        check_joints(self.skeleton, what)
        rotations = what.rotations.copy()
        for placed in self.placed:
            soft = placed.constraint.soften(placed.relative(rotations), softening)
            placed.set_relative(rotations, soft)
        return what.with_rotations(rotations)

    def first_exit(self, previous: Pose, proposed: Pose) -> Scalars:
        """Return the largest t (...) in [0, 1] with all joints legal before it.

        Joints between a joint and the ancestor that it is measured from must keep still.
        """
        check_joints(self.skeleton, previous)
        check_joints(self.skeleton, proposed)
        exits: list[Scalars] = [np.ones(previous.rotations.shape[:-2])]
        for placed in self.placed:
            placed.check_unmoved(self.skeleton, previous, proposed)
            ends = (placed.relative(pose.rotations) for pose in (previous, proposed))
            exits.append(placed.constraint.first_exit(*ends))
        return np.asarray(np.min(exits, axis=0))

    def sample(self, n: int, rng: np.random.Generator) -> Pose:
        """Return `n` legal poses: each joint uniform in its limit, others as at rest.

        A joint that depends on another is uniform together with that one. Joints of a group are as
        controls drawn evenly from their ranges have them.
        """
        rest = self.skeleton.rest_pose()
        rotations = np.tile(rest.rotations, (n, 1, 1))
        for placed in self.placed:
            drawn = placed.constraint.sample(n, rng, placed.relative(rest.rotations))
            placed.set_relative(rotations, drawn)
        return Pose(rotations, np.tile(rest.positions, (n, 1, 1)))

    def volume(self) -> dict[str, float]:
        """Return, by joint, the share of all rotations that is legal, whatever others do."""
        return {name: limit.volume() for name, limit in self.limits.items()}

    def _projected(self, pose: Pose) -> tuple[Quats, Scalars]:
        """Return the rotations with the packed limits applied, and the distances from these."""
        check_joints(self.skeleton, pose)
        given = pose.rotations.dtype
        others = () if given == np.float64 else self.limits.values()
        precision = np.result_type(given, *(each.precision(given) for each in others))
        rotations = np.ascontiguousarray(pose.rotations, precision)
        batch, out = rotations.shape[:-2], rotations.copy()
        joints, offsets, packed = self._packed_limits
        distances = np.empty((math.prod(batch), len(joints)), rotations.dtype)
        flat, slack = rotations.reshape(-1), tolerance(given)
        kernels.limit.project_poses(
            flat, joints, offsets, packed, slack, out.reshape(-1), distances
        )
        legal, distances = out.astype(given, copy=False), distances.astype(given, copy=False)
        if out.dtype != given:
            for joint, constraint in zip(joints, self._packed_constraints, strict=True):
                legal[..., joint, :] = constraint.limit.round_members(out[..., joint, :], given)
        return legal, distances.reshape(*batch, len(joints))

    def project_clip(
        self,
        clip: Clip,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> tuple[Clip, ClampReport]:
        """Return a clip as `project` does, and a report of legal frames that had to move."""
        matched = self.match(clip.skeleton, names)
        matched.warn(clip.name)
        model = self._carry(matched, clip.name)
        placed = {each.constraint.joints[0]: each for each in model.placed}
        rotations = clip.pose.rotations.copy()
        moved: dict[str, Ints] = {}
        over: dict[str, Ints] = {}
        for name in progress(list(placed)):
            clamped = placed[name].clamp_paths(
                rotations, clip.frame_time, softening=softening, max_speed=max_speed
            )
            for frames, mask in ((moved, clamped.moved), (over, clamped.over)):
                columns = zip(placed[name].constraint.joints, mask.T, strict=True)
                frames |= {each: np.flatnonzero(column) for each, column in columns if column.any()}
        legal = replace(clip, pose=clip.pose.with_rotations(rotations))
        return legal, ClampReport(clip.name, moved, over)

    def check(
        self,
        clip: Clip,
        *,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Report:
        """Return how far, where and how often a clip leaves these limits.

        Parameters
        ----------
        clip
            The clip. Its joints are matched by name; what does not match is warned about.
        names
            Names of the clip's joints, mapped to those of the model.
        progress
            Is given the names of the joints, and gives them back one by one.
        """
        matched = self.match(clip.skeleton, names)
        matched.warn(clip.name)
        model = self._carry(matched, clip.name)
        placed = {each.constraint.joints[0]: each for each in model.placed}
        columns = {name: column for column, name in enumerate(model.names)}
        violation = np.zeros((clip.frames, len(columns)))
        held: dict[str, Held] = {}
        for name in progress(list(placed)):
            constraint = placed[name].constraint
            relative = placed[name].relative(clip.pose.rotations)
            angles = constraint.path_violation(relative)
            for joint, path in zip(constraint.joints, angles.T, strict=True):
                if joint in columns:
                    violation[:, columns[joint]] = path
            held |= constraint.held_frames(relative, angles)
        ours = {clip.skeleton.names[joint]: name for name, joint in matched.joints.items()}
        return Report(
            clip.name,
            tuple(ours[name] for name in columns),
            violation,
            clip.frame_time,
            {ours[name]: replace(each, driver=ours[each.driver]) for name, each in held.items()},
        )


def _has_kernel(constraint: Constraint) -> bool:
    """Return True if the kernel of packed limits evaluates a constraint."""
    if not isinstance(constraint, JointLimit):
        return False
    return constraint.limit.compiled and constraint.limit.relative_to is None


def pack_limits(limits: Sequence[Limit]) -> tuple[Ints, Floats]:
    """Return the offset of each limit, and a buffer with them all."""
    parts = [limit.packed for limit in limits]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
    return offsets, np.concatenate([np.empty(0), *parts])
