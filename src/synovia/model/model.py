"""LimitModel: a limit for each joint that has one; poses and clips in, the same out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self, overload
from weakref import WeakKeyDictionary

import numpy as np

from .. import kernels, quat
from ..arrays import Floats, Ints, Mask, Quats, Scalars, tolerance
from ..charts import RotationVector
from ..components import ControlGroup, Figure, control_groups
from ..components.control_group import TOLERANCE as GROUP_TOLERANCE
from ..learn import Population, Progress, Sample
from ..limit import DependentLimit, Limit, PairLimit, nearest_together, sample_together
from ..limit.softening import Softening
from ..shapes import Box
from ..skeleton import (
    Clip,
    Lineage,
    Match,
    Pose,
    Skeleton,
    check_joints,
    lineage,
    list_names,
    match,
    measure_from_ancestor,
)
from .clamp import MAX_SPEED, first_exit
from .clips import ClipPaths, LimitedJoints, Paths
from .report import ClampReport, Report

_FOR_SKELETON: WeakKeyDictionary[LimitModel, LimitModel] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class LimitModel:
    """Limits by the names of joints, the skeleton they are for, and where they come from."""

    limits: Mapping[str, Limit]
    skeleton: Skeleton
    provenance: Mapping[str, Any] = field(default_factory=dict)
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    """What was observed of each joint, thinned, where that was kept."""
    dependents: Mapping[str, DependentLimit] = field(default_factory=dict)
    """Joints whose limits depend on another joint, beside what they may do at all: `limits`."""
    groups: tuple[ControlGroup, ...] = ()
    """Joints that are limited together, as the controls of a figure allow; see `of_figure`."""

    def __post_init__(self) -> None:
        for name in self.samples:
            self.skeleton.index(name)
        object.__setattr__(self, "groups", tuple(self.groups))
        for group in self.groups:
            if twice := [name for name in group.joints if name in self.limits]:
                raise ValueError(f"{twice[0]} must have a limit or be in a group, got both")
            if group.on(self.skeleton, self._indices(group)) is None:
                raise ValueError(
                    f"joints of a group ({', '.join(group.joints)}) must be those of the skeleton, "
                    "one below the other as in the figure"
                )
        for name, limit in self.limits.items():
            lineage(self.skeleton, name, limit.relative_to)
        object.__setattr__(self, "dependents", self._checked_dependents())
        for field_ in ("limits", "samples", "dependents"):
            locked = MappingProxyType(dict(getattr(self, field_)))
            object.__setattr__(self, field_, locked)

    def _checked_dependents(self) -> dict[str, DependentLimit]:
        """Return the dependent limits, each about the joint's own; ValueError where one cannot."""
        found = {}
        for name, each in self.dependents.items():
            joint, driver = self.skeleton.index(name), self.skeleton.index(each.driver)
            if name not in self.limits:
                raise ValueError(f"{name} depends on {each.driver}, but has no limit of its own")
            if joint in self.skeleton.path_to_root(driver):
                raise ValueError(
                    f"{name} must depend on a joint above it or beside it, got {each.driver}"
                )
            if any(each.driver in group.joints for group in self.groups):
                raise ValueError(f"{name} must not depend on {each.driver}, which is in a group")
            if each.driver in self.dependents:
                raise ValueError(
                    f"{name} depends on {each.driver}, which depends on "
                    f"{self.dependents[each.driver].driver} itself: one of the two must not"
                )
            same = each.limit is self.limits[name]
            found[name] = each if same else replace(each, limit=self.limits[name])
        for name, limit in self.limits.items():
            way = lineage(self.skeleton, name, limit.relative_to)
            between = [self.skeleton.names[joint] for joint in way.between]
            drivers = {each.driver for other, each in found.items() if other != name}
            if across := [each for each in between if each in found or each in drivers]:
                raise ValueError(
                    f"{name} is measured from {limit.relative_to}, across {', '.join(across)}, "
                    "which must not depend on another joint then, nor drive one"
                )
        return found

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
            What the region of a joint looks like: a name among `synovia.SHAPES`.
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
            cone; of a distance field these are also ``by``, "samples" unless it is "people".

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
        return cls(
            learned.limits,
            clips[0].skeleton,
            learned.provenance,
            learned.samples,
            learned.dependents,
        )

    @classmethod
    def of_figure(cls, figure: Figure, tolerance: float = GROUP_TOLERANCE) -> Self:
        """Return the limits of a figure: what controls within their ranges give, to a tolerance.

        Joints that share controls are limited together (`groups`); a limit for each joint by itself
        is `anatomy.limits_of`. Positions of joints do not count, and are left as they are.

        Parameters
        ----------
        figure
            What rules its joints.
        tolerance
            Radians by which a segment may be off what the controls give, as seen from where its
            group begins; 2 degrees unless given. Segments in a row share it evenly.

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
        return cls({}, figure.skeleton, {"figure": figure.name}, groups=groups)

    @property
    def population(self) -> Population:
        """What was observed of whom, to be blended with; an error where that was not kept."""
        rows = self.provenance.get("clips")
        clips = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return Population(self.skeleton, self.samples, clips, self.ancestors)

    @property
    def ancestors(self) -> dict[str, str]:
        """What joints are measured from, by joint, where that is not the parent."""
        named = {name: limit.relative_to for name, limit in self.limits.items()}
        return {name: above for name, above in named.items() if above is not None}

    def pair(self, name: str) -> PairLimit:
        """Return the legal pairs of a dependent joint and its driver, for verbs about both."""
        if name not in self.dependents:
            known = ", ".join(self.dependents) or "none"
            raise ValueError(f"{name} depends on no other joint; those that do: {known}")
        each = self.dependents[name]
        return PairLimit(self.limits.get(each.driver), each)

    @property
    def _drivers(self) -> list[str]:
        return [each.driver for each in self.dependents.values()]

    @cached_property
    def _driven(self) -> list[tuple[Lineage, Limit | None, list[tuple[DependentLimit, Lineage]]]]:
        """The drivers, with their limits, and what depends on each."""
        by_driver: dict[str, list[tuple[DependentLimit, Lineage]]] = {}
        for name, each in self.dependents.items():
            way = lineage(self.skeleton, name, each.limit.relative_to)
            by_driver.setdefault(each.driver, []).append((each, way))
        return [
            (lineage(self.skeleton, driver, self.ancestors.get(driver)), self.limits.get(driver), e)
            for driver, e in by_driver.items()
        ]

    def match(self, skeleton: Skeleton, names: Mapping[str, str] | None = None) -> Match:
        """Return where `skeleton` has the limited joints; `names` maps its names to these."""
        return match(dict.fromkeys([*self.names, *self._drivers]), self.skeleton, skeleton, names)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that are limited, by themselves or in groups."""
        return (*self.limits, *(name for group in self.groups for name in group.joints))

    def _indices(self, group: ControlGroup) -> dict[str, int]:
        places = {name: joint for joint, name in enumerate(self.skeleton.names)}
        return {name: places[name] for name in group.joints if name in places}

    def _limited_in(self, found: Match, clip: str) -> LimitedJoints:
        """Return what is limited of a skeleton; what is not there is named in warnings."""
        ways = found.only([*self.limits, *self._drivers]).lineages(self.ancestors, clip)
        dependents = self._dependents_in(ways, clip)
        placed = [(group, group.on(found.skeleton, found.joints)) for group in self.groups]
        if lost := [group.joints[0] for group, there in placed if there is None]:
            warnings.warn(
                f"{clip or 'skeleton'}: groups of joints that are not there as in the figure, and "
                f"are not limited: those of {list_names(lost)}",
                stacklevel=3,
            )
        return LimitedJoints(
            found.skeleton,
            {name: self.limits[name] for name in ways if name in self.limits},
            ways,
            dependents,
            [there for _, there in placed if there is not None],
            [group.joints for group, there in placed if there is not None],
        )

    def for_skeleton(
        self, skeleton: Skeleton, names: Mapping[str, str] | None = None, *, clip: str = ""
    ) -> LimitModel:
        """Return the limits of the joints that `skeleton` has, by its names for them.

        Parameters
        ----------
        skeleton
            The skeleton to be limited. Joints are matched by name; those that it does not have
            are left out, and so are those whose limit is measured from a joint that is not above
            them here, with a warning.
        names
            Names of `skeleton`, mapped to those of this model, where they differ by more than a
            prefix such as ``mixamorig:``.
        clip
            What warnings call the skeleton.
        """
        if skeleton is self.skeleton and not names:
            return self
        here = self._limited_in(self.match(skeleton, names), clip)
        own = {name: skeleton.names[way.joint] for name, way in here.ways.items()}
        limits = {
            own[name]: measure_from_ancestor(limit, here.ways[name], skeleton)
            for name, limit in here.limits.items()
        }
        dependents = {
            own[name]: replace(each, driver=own[each.driver])
            for name, each in here.dependents.items()
        }
        model = LimitModel(limits, skeleton, dependents=dependents, groups=tuple(here.groups))
        known = _FOR_SKELETON.get(self)
        if known is not None and known.skeleton is skeleton and known._is_like(model):
            return known  # frame after frame: what is cached of a model stays known
        _FOR_SKELETON[self] = model
        return model

    def _is_like(self, other: LimitModel) -> bool:
        """Tell whether two models for a skeleton were made from one model with the same names."""
        if dict(self.limits) != dict(other.limits):
            return False
        drivers = [{n: d.driver for n, d in each.dependents.items()} for each in (self, other)]
        groups = [[group.joints for group in each.groups] for each in (self, other)]
        return drivers[0] == drivers[1] and groups[0] == groups[1]

    def joint_by_joint(self, what: str) -> LimitModel:
        """Return the limits of single joints, where `what` knows no others.

        Groups are refused. Of joints that depend on others it is what they may do at all, with a
        warning.
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
        return replace(self, dependents={})

    def _dependents_in(self, ways: Mapping[str, Lineage], clip: str) -> dict[str, DependentLimit]:
        """Return the dependent limits whose joints and drivers were both found; warn of others."""
        found = {name: each for name, each in self.dependents.items() if name in ways}
        lost = {name: each.driver for name, each in found.items() if each.driver not in ways}
        for name, driver in lost.items():
            warnings.warn(
                f"{clip or 'clip'}: {name} depends on {driver}, which is not here: what it may do "
                "at all is legal",
                stacklevel=4,
            )
        return {name: each for name, each in found.items() if name not in lost}

    def on(
        self,
        skeleton: Skeleton,
        *,
        clips: Sequence[Clip] = (),
        roles: Mapping[str, str] | None = None,
        own_clips: Sequence[Clip] = (),
    ) -> LimitModel:
        """Return these limits for another rig of a human: names, rest pose and frames may differ.

        Both skeletons are recognised as humans and turned to the same T-pose (`synovia.rigs`).
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
        from ..rigs import (
            align,
            canonical_skeleton,
            dependents_from_rig,
            dependents_on_rig,
            limits_from_rig,
            limits_on_rig,
            recognize,
        )

        dependents = dict(self.dependents)
        if self.skeleton.names == canonical_skeleton().names:
            canonical, here = dict(self.limits), {name: name for name in self.limits}
        else:
            rig = recognize(self.skeleton)
            try:
                alignment = align(rig, own_clips)
                canonical = limits_from_rig(self.limits, alignment)
                dependents = dependents_from_rig(self.dependents, canonical, alignment)
            except ValueError as error:
                raise ValueError(f"of the rig that these limits are for: {error}") from None
            here = dict(rig.roles)
        there = align(recognize(skeleton, roles), clips)
        limits = limits_on_rig(canonical, there)
        dependents = dependents_on_rig(dependents, limits, there)
        carried = {here[role] for role in canonical if there.rig.roles.get(role) in limits}
        if lost := [name for name in self.names if name not in carried]:
            warnings.warn(f"limits that are not carried over: {list_names(lost)}", stacklevel=2)
        if alone := len(self.dependents) - len(dependents):
            warnings.warn(
                f"{alone} of {len(self.dependents)} joints depend on no other here, because that "
                "one is not carried over",
                stacklevel=2,
            )
        return LimitModel(limits, skeleton, self.provenance, dependents=dependents)

    def contains(self, pose: Pose) -> Mask:
        """Return which poses (...) are legal at every joint."""
        distance = self.distance(pose)
        return np.asarray((distance <= tolerance(distance.dtype)).all(axis=-1))

    def distance(self, pose: Pose) -> Scalars:
        """Return how far outside each joint (..., J) is, in its chart; -inf without a limit.

        At most 0 where a joint is legal. Of a joint that depends on another, it is that while the
        other stays as it is; `pair` tells how far both are together.
        """
        _, distances = self._projected(pose)
        out = np.full(pose.rotations.shape[:-1], -np.inf, pose.rotations.dtype)
        out[..., self._near] = distances
        for limit, way in self._apart:
            out[..., way.joint] = limit.distance(way.relative_rotation(pose.rotations))
        for group, joints in self._placed_groups:
            out[..., joints] = group.distance(pose.rotations[..., joints, :])
        for each, way, driver in self._dependents_of(pose.rotations):
            out[..., way.joint] = each.distance(way.relative_rotation(pose.rotations), driver)
        return out

    def _dependents_of(self, rotations: Quats) -> Iterator[tuple[DependentLimit, Lineage, Quats]]:
        """Yield dependent limits, their joints, and the rotations (..., 4) of their drivers."""
        for above, _, dependents in self._driven:
            driver = above.relative_rotation(rotations)
            for each, way in dependents:
                yield each, way, driver

    def violation(self, pose: Pose) -> Scalars:
        """Return the angle of each joint (..., J) from its projection, in radians.

        It is 0 where the joint is legal or has no limit.

        Other joints are taken as they are, also those between a joint and its limit's ancestor,
        and those that it depends on.
        """
        projected, _ = self._projected(pose)
        moved = (projected != pose.rotations).any(axis=-1)
        angles = quat.angle_between(pose.rotations, projected)
        out = np.where(moved, angles, 0.0).astype(pose.rotations.dtype)
        for limit, way in self._apart:
            out[..., way.joint] = limit.violation(way.relative_rotation(pose.rotations))
        for group, joints in self._placed_groups:
            out[..., joints] = group.violation(pose.rotations[..., joints, :])
        for each, way, driver in self._dependents_of(pose.rotations):
            out[..., way.joint] = each.violation(way.relative_rotation(pose.rotations), driver)
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
        the other one's path is made legal first, and then the joint's, frame by frame.

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
            The same as was given. What is legal comes back bit for bit.
        """
        if isinstance(what, Clip):
            return self.project_clip(
                what, softening=softening, max_speed=max_speed, names=names, progress=progress
            )[0]
        if softening is None:
            rotations = self._projected(what)[0]
            for group, joints in self._placed_groups:
                rotations[..., joints, :] = group.project(rotations[..., joints, :])
            for limit, way in self._apart:
                relative = way.relative_rotation(rotations)
                legal = limit.project(relative)
                if not np.array_equal(legal, relative):
                    way.set_relative_rotation(rotations, legal)
            self._project_dependents(what.rotations, rotations)
            return what.with_rotations(rotations)
        check_joints(self.skeleton, what)
        self._refuse_softening()
        rotations = what.rotations.copy()
        for limit, way in self.parents_first:
            way.set_relative_rotation(
                rotations, limit.soften(way.relative_rotation(rotations), softening)
            )
        for each, way, driver in self._dependents_of(rotations):
            soft = each.limit.soften(way.relative_rotation(rotations), softening)
            way.set_relative_rotation(rotations, each.project(soft, driver))
        return what.with_rotations(rotations)

    def _project_dependents(self, given: Quats, rotations: Quats) -> None:
        """Set drivers, as they were given, and what depends on them to the nearest legal ones."""
        for above, limit, dependents in self._driven:
            rotations[..., above.joint, :] = given[..., above.joint, :]
            driver = above.relative_rotation(rotations)
            owns = [(each, way.relative_rotation(rotations)) for each, way in dependents]
            flat = [(each, own.reshape(-1, 4)) for each, own in owns]
            found, others, _ = nearest_together(limit, driver.reshape(-1, 4), flat)
            above.set_relative_rotation(rotations, found.reshape(driver.shape))
            for (_, way), (_, own), legal in zip(dependents, owns, others, strict=True):
                way.set_relative_rotation(rotations, legal.reshape(own.shape))

    def project_clip(
        self,
        clip: Clip,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
    ) -> tuple[Clip, ClampReport]:
        """Return a clip as `project` does, and what that took: legal frames that had to move."""
        rotations = clip.pose.rotations.copy()
        report = self.project_paths(
            ClipPaths(rotations),
            clip.skeleton,
            clip.frame_time,
            softening=softening,
            max_speed=max_speed,
            names=names,
            progress=progress,
            clip=clip.name,
        )
        return replace(clip, pose=clip.pose.with_rotations(rotations)), report

    def project_paths(
        self,
        paths: Paths,
        skeleton: Skeleton,
        frame_time: float,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        names: Mapping[str, str] | None = None,
        progress: Progress = iter,
        clip: str = "",
    ) -> ClampReport:
        """Make the paths in time of a skeleton's joints legal, as `project` does those of a clip.

        Only a few joints are asked for at a time, so that `paths` need not be in memory:
        `io.JointPaths` keeps those of a long clip in a file.

        Parameters
        ----------
        paths
            By number of the joint, its rotations (frames, 4). Those that change are set.
        skeleton, frame_time, clip
            Whose joints they are, the seconds from frame to frame, and what warnings call it.
        softening, max_speed, names, progress
            As for `project`.

        Returns
        -------
        ClampReport
            By joint, the legal frames that had to move, and where the bound was not kept.
        """
        if softening is not None:
            self._refuse_softening()
        found = self.match(skeleton, names)
        found.warn(clip)
        return self._limited_in(found, clip).clamp(
            paths,
            frame_time,
            softening=softening,
            max_speed=max_speed,
            progress=progress,
            clip=clip,
        )

    def check(self, clip: Clip, *, names: Mapping[str, str] | None = None) -> Report:
        """Return how far, where and how often a clip leaves these limits.

        Parameters
        ----------
        clip
            The clip. Its joints are matched by name; what does not match is warned about.
        names
            Names of the clip's joints, mapped to those of the model.
        """
        return self.check_chunks([clip], names=names)

    def check_chunks(
        self, clips: Iterable[Clip], *, names: Mapping[str, str] | None = None
    ) -> Report:
        """Return the report of a clip that comes in consecutive chunks; see `io.load_chunks`.

        It is that of the whole clip; angles that a shape finds by iteration, as an ellipsoid does,
        may differ in their last digits.
        """
        return Report.merge(self._reports(clips, names))

    def _reports(self, clips: Iterable[Clip], names: Mapping[str, str] | None) -> Iterator[Report]:
        """Yield the reports of consecutive chunks, which are matched once."""
        limited: LimitedJoints | None = None
        for clip in clips:
            if limited is None or clip.skeleton is not limited.skeleton:
                found = self.match(clip.skeleton, names)
                found.warn(clip.name)
                limited = self._limited_in(found, clip.name)
            yield limited.check(clip)

    def first_exit(self, previous: Pose, proposed: Pose) -> Scalars:
        """Return the largest t (...) in [0, 1] with all joints legal before it.

        Joints below an ancestor that one is measured from, and above that one, must keep still.
        """
        check_joints(self.skeleton, previous)
        check_joints(self.skeleton, proposed)
        for _, way in self._apart:
            way.check_unmoved(self.skeleton, previous, proposed)
        exits = [
            first_exit(
                limit,
                way.relative_rotation(previous.rotations),
                way.relative_rotation(proposed.rotations),
            )
            for limit, way in self.parents_first
        ]
        exits += [
            group.first_exit(previous.rotations[..., joints, :], proposed.rotations[..., joints, :])
            for group, joints in self._placed_groups
        ]
        for above, limit, dependents in self._driven:
            for each, way in dependents:
                ends = [
                    (above.relative_rotation(pose.rotations), way.relative_rotation(pose.rotations))
                    for pose in (previous, proposed)
                ]
                exits.append(PairLimit(limit, each).first_exit(*ends))
        return np.asarray(np.min([np.ones(previous.rotations.shape[:-2]), *exits], axis=0))

    def sample(self, n: int, rng: np.random.Generator) -> Pose:
        """Return `n` legal poses: each joint uniform in its limit, others as at rest.

        A joint that depends on another is uniform together with that one. Joints of a group are as
        controls drawn evenly from their ranges have them.
        """
        rest = self.skeleton.rest_pose()
        rotations = np.tile(rest.rotations, (n, 1, 1))
        for limit, way in self.parents_first:
            rotations[:, way.joint] = way.local_rotation(rotations, limit.sample(n, rng))
        for group, joints in self._placed_groups:
            rotations[:, joints] = group.sample(n, rng)
        for above, own, dependents in self._driven:
            if own is None:  # it stays as at rest
                own = _only(above.relative_rotation(rotations)[0])
            found, others = sample_together(own, [each for each, _ in dependents], n, rng)
            rotations[:, above.joint] = above.local_rotation(rotations, found)
            for (_, way), each in zip(dependents, others, strict=True):
                rotations[:, way.joint] = way.local_rotation(rotations, each)
        return Pose(rotations, np.tile(rest.positions, (n, 1, 1)))

    def volume(self) -> dict[str, float]:
        """Return, by joint, the share of all rotations that is legal, whatever others do."""
        return {name: limit.volume() for name, limit in self.limits.items()}

    @property
    def packed(self) -> tuple[Ints, Ints, Floats]:
        """The joints that have a limit, the offset of each limit, and one buffer with them all.

        For solvers: limits without a kernel are packed as their stand-ins.
        """
        if self.groups:
            raise ValueError("limits must be of single joints to be packed, got groups of a figure")
        if self.ancestors:
            given = ", ".join(f"{name} from {above}" for name, above in self.ancestors.items())
            raise ValueError(f"limits must be measured from parents to be packed, got {given}")
        if self._apart or self.dependents:
            joints = np.array([self.skeleton.index(name) for name in self.limits], dtype=np.int64)
            return (joints, *pack_limits([limit.stand_in for limit in self.limits.values()]))
        return (self._near, *self._packed)

    @cached_property
    def _placed_groups(self) -> list[tuple[ControlGroup, list[int]]]:
        """The groups with the numbers of their joints."""
        return [(each, [self.skeleton.index(n) for n in each.joints]) for each in self.groups]

    def _refuse_softening(self) -> None:
        if self.groups:
            raise ValueError("limits of a figure's groups are hard, got a softening")

    @cached_property
    def parents_first(self) -> list[tuple[Limit, Lineage]]:
        """The limits with the joints that they are for and how those are measured.

        Those of dependent joints are not among them.
        """
        ways = [
            (limit, lineage(self.skeleton, name, limit.relative_to))
            for name, limit in self.limits.items()
            if name not in self.dependents
        ]
        return sorted(ways, key=lambda each: each[1].joint)

    @cached_property
    def _together(self) -> dict[str, Limit]:
        """Those that one kernel runs over: compiled, and measured from parents."""
        named = {name: each for name, each in self.limits.items() if name not in self.dependents}
        return {
            name: each for name, each in named.items() if each.compiled and each.relative_to is None
        }

    @cached_property
    def _apart(self) -> list[tuple[Limit, Lineage]]:
        """The others."""
        each = self.parents_first
        return [(limit, way) for limit, way in each if limit.relative_to or not limit.compiled]

    @cached_property
    def _near(self) -> Ints:
        """The joints of those that one kernel runs over."""
        return np.array([self.skeleton.index(name) for name in self._together], dtype=np.int64)

    @cached_property
    def _packed(self) -> tuple[Ints, Floats]:
        """The offset of each of these limits, and a buffer with them all."""
        return pack_limits(list(self._together.values()))

    def _projected(self, pose: Pose) -> tuple[Quats, Scalars]:
        """Return the rotations, legal for joints that parents see, and the distances of these."""
        check_joints(self.skeleton, pose)
        given = pose.rotations.dtype
        others = () if given == np.float64 else self.limits.values()
        precision = np.result_type(given, *(each.precision(given) for each in others))
        rotations = np.ascontiguousarray(pose.rotations, precision)
        batch, out = rotations.shape[:-2], rotations.copy()
        distances = np.empty((math.prod(batch), len(self._near)), rotations.dtype)
        (offsets, packed), flat, slack = self._packed, rotations.reshape(-1), tolerance(given)
        kernels.limit.project_poses(
            flat, self._near, offsets, packed, slack, out.reshape(-1), distances
        )
        out, distances = out.astype(given, copy=False), distances.astype(given, copy=False)
        return out, distances.reshape(*batch, len(self._near))


def _only(rotation: Quats) -> Limit:
    """Return the limit that one rotation (4,) is all of."""
    return Limit(RotationVector(rotation), Box(np.zeros(3), np.zeros(3), np.eye(3)))


def pack_limits(limits: Sequence[Limit]) -> tuple[Ints, Floats]:
    """Return the offset of each limit, and a buffer with them all."""
    parts = [limit.packed for limit in limits]
    offsets = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
    return offsets, np.concatenate([np.empty(0), *parts])


def hold_fixed(model: LimitModel, pose: Pose, moving: Iterable[str] = ()) -> LimitModel:
    """Return the limits, all measured from parents, while joints between stay as in one `pose`.

    With these still, a limit that is measured from an ancestor is the same region about another
    reference, so nothing is lost. Where a joint that is `moving` is between, it is refused.
    """
    if not model.ancestors:
        return model
    check_joints(model.skeleton, pose)
    if pose.rotations.ndim != 2:
        raise ValueError(
            f"limits measured from an ancestor ({', '.join(model.ancestors)}) are held at one "
            f"pose, got poses of shape {pose.rotations.shape[:-2]}"
        )
    moving, limits, dependents = set(moving), dict(model.limits), dict(model.dependents)
    for name, ancestor in model.ancestors.items():
        way = lineage(model.skeleton, name, ancestor)
        between = [model.skeleton.names[joint] for joint in way.between]
        if turning := [each for each in between if each in moving]:
            raise ValueError(
                f"{name} is measured from {ancestor}: {' and '.join(turning)} between them must "
                "not move"
            )
        chart = limits[name].chart
        reference = way.local_rotation(pose.rotations.astype(np.float64), chart.reference)
        limits[name] = Limit(replace(chart, reference=reference), limits[name].shape)
        parent = way.local_rotation(pose.rotations.astype(np.float64), quat.IDENTITY)
        for joint, each in dependents.items():
            if each.driver == name:  # which its parent sees from now on
                dependents[joint] = each.in_frames(parent, quat.IDENTITY)
    return replace(model, limits=limits, samples={}, dependents=dependents)
