"""Scene: what a page shows, which is a clip, limits for its joints, and perhaps a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..clip import Clip
from ..components import Figure, clip_of, sweep
from ..lineage import lineages, seen_by
from ..matching import match
from ..model import LimitModel
from ..skeleton import Pose, Skeleton

FRAMES_A_CONTROL = 60


@dataclass(frozen=True, eq=False)
class Scene:
    """A clip, and limits by the names that its own skeleton has for the joints."""

    clip: Clip
    model: LimitModel
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    """Sentences on what is the matter, for the person at the page."""
    source: LimitModel | None = None
    """The limits as they were given, by their own names for the joints."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The source's names for joints that it has, by the clip's."""

    @property
    def limited(self) -> list[int]:
        """The numbers of the joints that have limits, in the order of the model."""
        return [self.clip.skeleton.index(name) for name in self.model.limits]

    @property
    def measured_from(self) -> list[int]:
        """By joint, the number of the one that its limit is measured from; -1 for none."""
        skeleton = self.clip.skeleton
        above = skeleton.parents.tolist()
        for name, ancestor in self.model.ancestors.items():
            above[skeleton.index(name)] = skeleton.index(ancestor)
        return list(above)

    def frame(self, number: int) -> Pose:
        """Return the pose of one frame."""
        pose = self.clip.pose
        return Pose(pose.rotations[number], pose.positions[number])


def scene_of(
    model: LimitModel,
    clip: Clip | None = None,
    figure: Figure | None = None,
    names: Mapping[str, str] | None = None,
) -> Scene:
    """Return the scene of a clip with limits, which are matched by name; see `matching.match`.

    Without a clip, a figure runs each of its controls through its range, and a skeleton stands
    still.
    """
    notes = []
    if clip is None:
        clip = _clip_of(model.skeleton, figure)
    if clip.frames == 0:
        notes.append("The clip has no frames: its skeleton is shown at rest.")
        clip = replace(clip, pose=_still(clip.skeleton))
    found = match(model.limits, model.skeleton, clip.skeleton, names)
    ways = lineages(found.joints, model.ancestors, model.skeleton, clip.skeleton, names, clip.name)
    theirs = {clip.skeleton.names[way.joint]: name for name, way in ways.items()}
    limits = {
        ours: seen_by(model.limits[name], ways[name], clip.skeleton)
        for ours, name in theirs.items()
    }
    if not model.limits:
        notes.append(
            "There are no limits here, so nothing is checked: --limits FILE gives some, and Edit "
            "draws them, joint by joint."
        )
    elif not limits:
        notes.append(
            f"No joint of this clip has a limit. It has {_some(clip.skeleton.names)}; the limits "
            f"are for {_some(tuple(model.limits))}. --map, or names= in Python, says which is "
            "which."
        )
    else:
        notes += [f"{clip.name or 'The clip'}: {said}." for said in found.complaints()]
    if figure is not None and figure.skeleton.names != clip.skeleton.names:
        notes.append("The clip has another skeleton than the figure, so controls are left out.")
        figure = None
    kept = LimitModel(limits, clip.skeleton)
    same = {**_others(model.skeleton, clip.skeleton, names, theirs), **theirs}
    return Scene(clip, kept, figure, tuple(notes), source=model, names=same)


def _others(
    source: Skeleton,
    skeleton: Skeleton,
    names: Mapping[str, str] | None,
    known: Mapping[str, str],
) -> dict[str, str]:
    """Return the source's names, by the clip's, of joints besides those that are known."""
    found = match(source.names, source, skeleton, names).joints
    ours = {skeleton.names[joint]: name for name, joint in found.items()}
    taken = set(known.values())
    return {
        name: theirs for name, theirs in ours.items() if name not in known and theirs not in taken
    }


def _clip_of(skeleton: Skeleton, figure: Figure | None) -> Clip:
    if figure is not None and figure.controls:
        clip = clip_of(figure, figure.pose(sweep(figure, FRAMES_A_CONTROL)))
        return replace(clip, name=f"{figure.name}: every control through its range")
    return Clip(skeleton, _still(skeleton), 1.0 / 30.0, "rest")


def _still(skeleton: Skeleton) -> Pose:
    rest = skeleton.rest_pose()
    return Pose(np.array(rest.rotations[None]), np.array(rest.positions[None]))


def _some(names: tuple[str, ...], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
