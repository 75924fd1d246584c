"""LimitModel: a list of constraints on the joints of a skeleton."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Self, TypeVar, cast

import numpy as np

from ..arrays import Mask, Scalars, tolerance
from ..components import Figure
from ..learn import Population, Progress, Sample
from ..limit import DependentLimit, Limit
from ..limit.softening import Softening
from ..skeleton import Clip, Match, Pose, Skeleton, check_joints, match
from .clamp import MAX_SPEED
from .constraint import Constraint, JointLimit
from .control_group import TOLERANCE as GROUP_TOLERANCE
from .control_group import ControlGroup, control_groups
from .coupled import Coupled, check_across, couple
from .limb import Limb
from .placed import PackedLimits, Placed, check_clip, clamp_clip, place_in_order
from .report import ClampReport, Report
from .retarget import carry, for_clip, retarget

Kind = TypeVar("Kind", bound=Constraint)
Motion = TypeVar("Motion", bound=Pose | Clip)


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
    usual: LimitModel | None = None
    """Tighter limits of the same skeleton, for a second verdict: what is legal here and outside
    these is *unusual*. Only `check` and, if asked, `project_clip` use them."""

    def __init__(
        self,
        constraints: Sequence[Constraint] | Mapping[str, Limit],
        skeleton: Skeleton,
        provenance: Mapping[str, Any] = MappingProxyType({}),
        samples: Mapping[str, tuple[Sample, ...]] = MappingProxyType({}),
        usual: LimitModel | None = None,
    ) -> None:
        if isinstance(constraints, Mapping):
            constraints = couple(constraints, {})
        self.__dict__.update(
            constraints=tuple(constraints),
            skeleton=skeleton,
            provenance=provenance,
            samples=MappingProxyType(dict(samples)),
            usual=usual,
        )
        if self.usual is not None and self.usual.skeleton.names != self.skeleton.names:
            raise ValueError("usual limits must be for the joints of the same skeleton")
        for name in self.samples:
            self.skeleton.index(name)
        seen: set[str] = set()
        for constraint in self.constraints:
            constraint.check(self.skeleton)
            if twice := [name for name in constraint.joints if name in seen]:
                raise ValueError(f"{twice[0]} must belong to one constraint, got two")
            seen.update(constraint.joints)
        check_across(self.skeleton, self.placed)

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
            A name among `synovia.SHAPES`, or "people" for a distance field of the rotations near
            to many performers.
        chart
            A name among `synovia.CHARTS`; by default "swing-twist" if the shape works in that.
        blend
            A model of a population that kept its samples. The clips are then those of one
            performer, all of whose frames but flips are kept, and who counts as 20 people where
            frames of others need support.
        progress
            Receives the names of the joints and yields them one by one.
        **options
            The other fields of `synovia.learn.FitOptions`, such as ``margin=0.1``. Further options
            go to the shape, such as ``vertices=12`` for a reach cone.

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
        """Return the limits of a figure: the poses of its controls within their ranges.

        Joints that share controls are limited together, as `groups`; see `anatomy.limits_of` for
        limits of single joints. Positions of joints are not limited. A segment may deviate by
        `tolerance` radians, 2 degrees by default, measured from the root of its group;
        consecutive segments share it evenly.

        Examples
        --------
        >>> from synovia import human
        >>> body = human()
        >>> model = LimitModel.of_figure(body)
        >>> bool(model.contains(body.pose({"lumbar.flexion": 30.0})))
        True
        """
        groups = control_groups(figure, tolerance)
        return cls(groups, figure.skeleton, {"figure": figure.name})

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [constraint for constraint in self.constraints if isinstance(constraint, kind)]

    @cached_property
    def limits(self) -> Mapping[str, Limit]:
        """The limits of single joints, also of those that depend on others, by name."""
        limits = {constraint.joint: constraint.limit for constraint in self._of(JointLimit)}
        for coupled in self._of(Coupled):
            limits |= coupled.limits
        for limb in self.limbs:
            limits |= limb.limits
        joints = sorted(limits, key=self.skeleton.index)
        return MappingProxyType({name: limits[name] for name in joints})

    @cached_property
    def dependents(self) -> Mapping[str, DependentLimit]:
        """The limits that depend on another joint, by name."""
        followers: dict[str, DependentLimit] = {}
        for coupled in self._of(Coupled):
            followers |= coupled.followers
        return MappingProxyType(followers)

    @cached_property
    def limbs(self) -> tuple[Limb, ...]:
        """The limbs along which twist is shared."""
        return tuple(self._of(Limb))

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
        """The observed rotations of this model, to blend with; ValueError if it kept none."""
        rows = self.provenance.get("clips")
        clips = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return Population(self.skeleton, self.samples, clips, self.ancestors)

    def pair(self, name: str) -> Coupled:
        """Return the coupled limit of the dependent joint `name` alone, and of its driver.

        ValueError if the joint depends on no other.
        """
        if name not in self.dependents:
            names = ", ".join(self.dependents) or "none"
            raise ValueError(f"{name} depends on no other joint; those that do: {names}")
        dependent = self.dependents[name]
        driver = dependent.driver
        return Coupled(driver, self.limits.get(driver), {name: dependent})

    def with_limits(
        self,
        limits: Mapping[str, Limit],
        dependents: Mapping[str, DependentLimit] | None = None,
    ) -> LimitModel:
        """Return the model with other limits of single joints.

        `limits` replaces all of them. `dependents` are limits that depend on other joints; by
        default those of this model. Limbs without limits of both bones are dropped. Groups, samples
        and provenance are kept.
        """
        if dependents is None:
            dependents = {
                name: dependent for name, dependent in self.dependents.items() if name in limits
            }
        return replace(self, constraints=(*couple(limits, dependents, self.limbs), *self.groups))

    def match(self, skeleton: Skeleton, names: Mapping[str, str] | None = None) -> Match:
        """Match `skeleton` with the limited joints by name; `names` maps its names to these."""
        wanted = [*self.names, *(coupled.driver for coupled in self._of(Coupled))]
        wanted += () if self.usual is None else self.usual.names
        return match(dict.fromkeys(wanted), self.skeleton, skeleton, names)

    def for_skeleton(
        self, skeleton: Skeleton, names: Mapping[str, str] | None = None, *, clip: str = ""
    ) -> LimitModel:
        """Return the model on `skeleton`, with its joint names.

        Joints are matched by name; `names` maps those of `skeleton` to those of this model if they
        differ by more than a prefix such as ``mixamorig:``. Joints that `skeleton` does not have,
        or that are not below the joint from which their limit is measured, are left out with a
        warning. `clip` names the skeleton in the warning. Samples and provenance are not kept.
        """
        if skeleton is self.skeleton and not names:
            return self
        return self._carry(skeleton, tuple((names or {}).items()), clip)

    @cached_property
    def _carry(self) -> Callable[[Skeleton, tuple[tuple[str, str], ...], str], LimitModel]:
        """The function behind `for_skeleton`, which caches its last result."""
        return lru_cache(maxsize=1)(
            lambda skeleton, names, clip: carry(self, self.match(skeleton, dict(names)), clip)
        )

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
            Roles of its joints that cannot be derived from names, such as
            ``{"Bone_07": "leftUpperArm"}``.
        own_clips
            Motion of the rig that these limits are for, from which its neutral pose is estimated if
            the rest pose does not show it.

        Examples
        --------
        >>> from synovia import human_limits
        >>> from synovia.io.smpl import smpl_skeleton
        >>> model = human_limits(source="usual").on(smpl_skeleton(24))
        >>> model.limits["left_shoulder"].relative_to
        'spine3'
        """
        return retarget(self, skeleton, clips, roles, own_clips)

    @cached_property
    def placed(self) -> list[Placed]:
        """The constraints on the skeleton, after those of joints across which they are measured."""
        return place_in_order(self.skeleton, self.constraints)

    @cached_property
    def _packed(self) -> PackedLimits:
        """Limits evaluated by the packed kernel."""
        return PackedLimits.of(self.placed)

    @cached_property
    def _others(self) -> list[Placed]:
        """Constraints evaluated one by one."""
        return [placed for placed in self.placed if not placed.has_kernel]

    def contains(self, pose: Pose) -> Mask:
        """Return a mask (...) of the poses that are legal at every joint."""
        distance = self.distance(pose)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    def distance(self, pose: Pose) -> Scalars:
        """Return the signed distance (..., J) of each joint, in radians; -inf without a limit.

        It is measured in the metric of the limit's chart. For a joint that depends on another, it
        holds for the current rotation of the driver; see `pair` for the distance of both together.
        """
        check_joints(self.skeleton, pose)
        _, distances = self._packed.project(pose.rotations)
        out = np.full(pose.rotations.shape[:-1], -np.inf, pose.rotations.dtype)
        out[..., self._packed.joints] = distances
        for placed in self._others:
            relative = placed.relative(pose.rotations)
            out[..., placed.joints] = placed.constraint.distance(relative)
        return out

    def violation(self, pose: Pose) -> Scalars:
        """Return the angle (..., J) of each joint from its nearest legal rotation, in radians.

        It is 0 if the joint is legal or has no limit. The rotations of other joints are fixed, also
        those of drivers and of joints between a joint and its limit's ancestor. In groups and limbs
        all joints move together.
        """
        check_joints(self.skeleton, pose)
        projected, _ = self._packed.project(pose.rotations)
        moved = (projected != pose.rotations).any(axis=-1)
        out = np.zeros(moved.shape, pose.rotations.dtype)
        for joint, limit in zip(self._packed.joints, self._packed.limits, strict=True):
            outside = moved[..., joint]
            if outside.any():
                out[outside, joint] = limit.violation(pose.rotations[outside, joint])
        for placed in self._others:
            relative = placed.relative(pose.rotations)
            out[..., placed.joints] = placed.constraint.violation(relative)
        return out

    def project(
        self, what: Motion, *, softening: Softening | None = None, **options: Any
    ) -> Motion:
        """Return legal poses, or a legal clip without sudden jumps (see `project_clip`).

        Joints between a joint and the ancestor from which it is measured are projected first. A
        dependent joint and its driver move to the nearest legal pair of rotations. Legal poses are
        returned unchanged, bit for bit; of a clip, frames may move to bound the steps.

        Parameters
        ----------
        what
            Poses (...) of this model's skeleton; or a clip, whose joints are matched by name.
        softening
            How to approach the limits instead of stopping at them: `Inside` or `Beyond`.
        **options
            Further options of `project_clip`, for clips only.
        """
        if isinstance(what, Clip):
            clip, _ = self.project_clip(what, softening=softening, **options)
            return cast(Motion, clip)
        if options:
            raise TypeError(f"{', '.join(options)}: options of a clip, not of poses")
        check_joints(self.skeleton, what)
        if softening is None:
            rotations, _ = self._packed.project(what.rotations)
            for placed in self._others:
                legal = placed.constraint.project(placed.relative(rotations))
                placed.set_relative(rotations, legal)
        else:
            rotations = what.rotations.copy()
            for placed in self.placed:
                soft = placed.constraint.soften(placed.relative(rotations), softening)
                placed.set_relative(rotations, soft)
        return cast(Motion, what.with_rotations(rotations))

    def first_exit(self, previous: Pose, proposed: Pose) -> Scalars:
        """Return the largest t (...) in [0, 1] up to which all joints are legal.

        t is the share of the path from `previous` to `proposed`. ValueError if a joint moves that
        is between another joint and the ancestor from which that is measured.
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
        """Return `n` legal poses: joints uniform within their limits, others at rest.

        A dependent joint and its driver are uniform together. For groups, controls are uniform
        within their ranges.
        """
        rest = self.skeleton.rest_pose()
        rotations = np.tile(rest.rotations, (n, 1, 1))
        for placed in self.placed:
            drawn = placed.constraint.sample(n, rng, placed.relative(rest.rotations))
            placed.set_relative(rotations, drawn)
        return Pose(rotations, np.tile(rest.positions, (n, 1, 1)))

    def volume(self) -> dict[str, float]:
        """Return the share of all rotations that is legal, by joint, for any pose of the driver."""
        return {name: limit.volume() for name, limit in self.limits.items()}

    def project_clip(
        self,
        clip: Clip,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        like: Clip | None = None,
        names: Mapping[str, str] | None = None,
        to_usual: bool = False,
        progress: Progress = iter,
    ) -> tuple[Clip, ClampReport]:
        """Return a legal clip with bounded steps, and a report of legal frames that had to move.

        Parameters
        ----------
        clip
            The clip. Its joints are matched by name, with a warning for those without a match.
        softening
            How to approach the limits instead of stopping at them: `Inside` or `Beyond`.
        max_speed
            Radians a second. No step becomes longer than this allows, or than twice its length.
        like
            A clip of the same skeleton from which those lengths are taken; `clip` if None.
        names
            Names of the clip's joints, mapped to those of the model.
        to_usual
            Project onto the `usual` limits as well. If both cannot be met, these limits have
            priority.
        progress
            Receives the names of the joints and yields them one by one.
        """
        model, _ = for_clip(self, clip, names)
        like = clip if like is None else like
        return clamp_clip(model, clip, like, softening, max_speed, progress, to_usual=to_usual)

    def check(
        self,
        clip: Clip,
        *,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> Report:
        """Return a report of the frames and joints of a clip that leave these or the usual limits.

        `names` and `progress` are as for `project_clip`.
        """
        model, ours = for_clip(self, clip, names)
        report = check_clip(model, clip, ours, progress=progress)
        if model.usual is None:
            return report
        return report.with_unusual(check_clip(model.usual, clip, ours, progress=iter))
