"""Clips: the joints of a skeleton that a model limits, made legal in time, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..arrays import Ints, Mask, Quats
from ..components import ControlGroup
from ..learn import Progress
from ..limit import DependentLimit, Limit
from ..limit.softening import Softening
from ..skeleton import Clip, Lineage, Skeleton
from .clamp import MAX_SPEED, Within, clamp_path, step_bounds
from .group_paths import ClampedGroup, clamp_group
from .report import NEGLIGIBLE, ClampReport, Held, Report


class Paths(Protocol):
    """Paths in time by the number of their joint: rotations (frames, 4)."""

    def __getitem__(self, joint: int, /) -> Quats: ...

    def __setitem__(self, joint: int, path: Quats, /) -> None: ...


@dataclass(frozen=True)
class ClipPaths:
    """Those in rotations (frames, J, 4)."""

    rotations: Quats

    def __getitem__(self, joint: int) -> Quats:
        return self.rotations[:, joint]

    def __setitem__(self, joint: int, path: Quats) -> None:
        self.rotations[:, joint] = path


@dataclass(frozen=True, eq=False)
class LimitedJoints:
    """What a model limits of a skeleton, by the model's names for its joints."""

    skeleton: Skeleton
    limits: Mapping[str, Limit]
    """Those of joints that the skeleton has."""
    ways: Mapping[str, Lineage]
    """How these are measured, and the drivers of those that depend on others."""
    dependents: Mapping[str, DependentLimit]
    groups: Sequence[ControlGroup]
    """Those that the skeleton has whole, with its names for their joints."""
    group_names: Sequence[tuple[str, ...]]
    """The model's names for these."""

    def clamp(
        self,
        paths: Paths,
        frame_time: float,
        *,
        softening: Softening | None = None,
        max_speed: float = MAX_SPEED,
        progress: Progress = iter,
        clip: str = "",
    ) -> ClampReport:
        """Make the paths of the joints legal; see `LimitModel.project_paths`."""
        groups = {group.joints[0]: group for group in self.groups}
        moved: dict[str, Ints] = {}
        over: dict[str, Ints] = {}
        # Parents first, and drivers before what depends on them.
        in_order = sorted(self.limits, key=lambda n: (n in self.dependents, self.ways[n].joint))
        for name in progress([*groups, *in_order]):
            if name in groups:
                clamped = self._clamp_group(groups[name], paths, frame_time, max_speed)
                moved |= _frames_by_joint(groups[name], clamped.moved)
                over |= _frames_by_joint(groups[name], clamped.over)
                continue
            way = self.ways[name]
            joints = (*way.between, way.joint)
            rotations = np.stack([paths[joint] for joint in joints], axis=-2)
            near = Lineage(len(joints) - 1, tuple(range(len(joints) - 1)))
            path = clamp_path(
                self.limits[name],
                near.relative_rotation(rotations),
                frame_time,
                softening=softening,
                max_speed=max_speed,
                within=self._within(name, paths),
            )
            near.set_relative_rotation(rotations, path.rotations)
            paths[way.joint] = rotations[..., near.joint, :]
            own = self.skeleton.names[way.joint]
            moved.update({own: path.moved} if len(path.moved) else {})
            over.update({own: path.over} if len(path.over) else {})
        return ClampReport(clip, moved, over)

    def _within(self, name: str, paths: Paths) -> Within | None:
        """Return what brings rotations of some frames within what the driver allows there."""
        if name not in self.dependents:
            return None
        each = self.dependents[name]
        way = self.ways[each.driver]
        rotations = np.stack([paths[joint] for joint in (*way.between, way.joint)], axis=-2)
        near = Lineage(len(way.between), tuple(range(len(way.between))))
        driver = near.relative_rotation(rotations)
        return lambda rotations, frames: each.project(rotations, driver[frames])

    def _clamp_group(
        self, group: ControlGroup, paths: Paths, frame_time: float, max_speed: float
    ) -> ClampedGroup:
        """Make the paths of a group's joints legal, and return them."""
        joints = [self.skeleton.index(name) for name in group.joints]
        given = np.stack([paths[joint] for joint in joints], axis=-2)
        by_joint = np.moveaxis(given.astype(np.float64), 1, 0)
        bounds = [step_bounds(each, frame_time, max_speed) for each in by_joint]
        clamped = clamp_group(group, given, np.stack(bounds, axis=-1))
        for k, joint in enumerate(joints):
            paths[joint] = clamped.rotations[:, k]
        return clamped

    def check(self, clip: Clip) -> Report:
        """Return how far, where and how often a clip of the skeleton leaves the limits."""
        rotations, names = clip.pose.rotations, [name for name in self.ways if name in self.limits]
        violation, held = np.zeros((clip.frames, len(names))), {}
        for k, name in enumerate(names):
            own = self.ways[name].relative_rotation(rotations)
            if name not in self.dependents:
                violation[:, k] = self.limits[name].violation(own)
                continue
            driver = self.dependents[name].driver
            there = self.ways[driver].relative_rotation(rotations)
            angles = self.dependents[name].violation(own, there)
            violation[:, k] = angles
            held[name] = Held(driver, (angles > NEGLIGIBLE) & self.limits[name].contains(own))
        for group, known_as in zip(self.groups, self.group_names, strict=True):
            joints = [self.skeleton.index(name) for name in group.joints]
            beyond = group.path_violation(rotations[:, joints])
            violation = np.concatenate([violation, beyond], axis=1)
            names += known_as
        return Report(clip.name, tuple(names), violation, clip.frame_time, held)


def _frames_by_joint(group: ControlGroup, marked: Mask) -> dict[str, Ints]:
    """Return, by joint, the frames that are marked in (frames, S), where there are any."""
    found = zip(group.joints, marked.T, strict=True)
    return {name: np.flatnonzero(frames) for name, frames in found if frames.any()}
