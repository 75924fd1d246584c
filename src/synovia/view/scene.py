"""Scene: a clip with limits by its own names for joints, and how edits of these are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..components import Figure, clip_of, sweep
from ..limit import DependentLimit, Limit
from ..model import LimitModel
from ..skeleton import Clip, Pose, Skeleton, list_names, match

FRAMES_PER_CONTROL = 60  # for the range of a control, in the clip made for a figure
EDITED_KEY = "edited"
"""The key in the provenance for the joints whose limits were edited at a page."""

Limits = Mapping[str, Limit]


@dataclass(frozen=True, kw_only=True)
class Start:
    """The pose and the picked joint that the page opens with if there is no clip."""

    values: dict[str, float]
    """Of the figure's controls; others are neutral."""
    joint: str


RAISED_ARM = Start(
    values={
        "left_shoulder.abduction": 122.0,
        "left_elbow.flexion": 22.0,
        "right_shoulder.flexion": 12.0,
        "right_elbow.flexion": 26.0,
        "left_hip.abduction": 6.0,
        "right_hip.abduction": 6.0,
        "cervical.twist": 18.0,
    },
    joint="LeftUpperArm",
)
"""The default human with one arm raised, so that its scapula and its cone are seen; in degrees."""


def start_of(figure: Figure | None) -> Start | None:
    """Return the start of a figure; None if it does not have the controls of the human."""
    if figure is None or not RAISED_ARM.values.keys() <= figure.controls.keys():
        return None
    return RAISED_ARM if RAISED_ARM.joint in figure.skeleton.names else None


@dataclass(frozen=True, eq=False)
class Scene:
    """A clip, and limits by the names that its own skeleton has for the joints."""

    clip: Clip
    model: LimitModel
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    """Sentences on what is the matter, for the person at the page."""
    source: LimitModel | None = None
    """The limits as they were given, by their own names for the joints; None for `model`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The source's names for joints that it has, by the clip's."""
    start: Start | None = None
    """The pose to open with, where that is none of the clip's."""
    given: LimitModel | None = None
    """The limits by the clip's names before any edit; None for `model`."""
    evidence: int = 0
    """Number of the given limits in a session."""

    @property
    def limited(self) -> list[int]:
        """The indices of the joints that have limits, in the order of the model."""
        return [self.clip.skeleton.index(name) for name in self.model.names]

    def frame(self, number: int) -> Pose:
        """Return the pose of one frame."""
        pose = self.clip.pose
        return Pose(pose.rotations[number], pose.positions[number])

    def with_clip(self, clip: Clip) -> Scene:
        """Return the scene with another clip of the same joints."""
        if clip is self.clip:
            return self
        model = replace(self.model, skeleton=clip.skeleton)
        return replace(self, clip=clip, model=model, notes=(), start=None)


def scene_of(
    model: LimitModel,
    clip: Clip | None = None,
    figure: Figure | None = None,
    names: Mapping[str, str] | None = None,
) -> Scene:
    """Return the scene of a clip with limits, which are matched by name; see `skeleton.match`.

    Without a clip, a figure runs each of its controls through its range, and a skeleton stands
    still.
    """
    notes = []
    if clip is None:
        clip = _clip_of(model.skeleton, figure)
    if clip.frames == 0:
        notes.append("The clip has no frames: its skeleton is shown at rest.")
        clip = replace(clip, pose=_rest_frame(clip.skeleton))
    matched = model.match(clip.skeleton, names)
    kept = model.for_skeleton(clip.skeleton, names, clip=clip.name)
    if kept.groups:
        together = [name for group in kept.groups for name in group.joints]
        notes.append(
            f"What {list_names(together, 4)} may do together with other joints is checked, but not "
            "drawn: the page draws limits of single joints."
        )
    ours = {clip.skeleton.names[joint]: name for name, joint in matched.joints.items()}
    limited = {name: ours[name] for name in kept.names}
    if not model.limits and not model.groups:
        notes.append(
            "There are no limits here, so nothing is checked: --limits FILE gives some, and Edit "
            "draws them, joint by joint."
        )
    elif not kept.names:
        notes.append(
            f"No joint of this clip has a limit. It has {list_names(clip.skeleton.names, 4)}; the "
            f"limits are for {list_names(model.names, 4)}. --map, or names= in Python, says "
            "which is which; Files, Human limits has some for the rig of a human."
        )
    else:
        notes += [f"{clip.name or 'The clip'}: {warning}." for warning in matched.warnings()]
    if figure is not None and figure.skeleton.names != clip.skeleton.names:
        notes.append("The clip has another skeleton than the figure, so controls are left out.")
        figure = None
    others = match(model.skeleton.names, model.skeleton, clip.skeleton, names).joints
    known = {
        clip.skeleton.names[joint]: name
        for name, joint in others.items()
        if name not in limited.values()
    }
    return Scene(clip, kept, figure, tuple(notes), source=model, names={**known, **limited})


def _clip_of(skeleton: Skeleton, figure: Figure | None) -> Clip:
    if figure is not None and figure.controls:
        clip = clip_of(figure, figure.pose(sweep(figure, FRAMES_PER_CONTROL)))
        return replace(clip, name=f"{figure.name}: every control through its range")
    return Clip(skeleton, _rest_frame(skeleton), 1.0 / 30.0, "rest")


def _rest_frame(skeleton: Skeleton) -> Pose:
    rest = skeleton.rest_pose()
    return Pose(np.array(rest.rotations[None]), np.array(rest.positions[None]))


# Edits at the page are by the clip's names for joints; the limits as they were given have others.


def edited_source(scene: Scene) -> LimitModel:
    """Return the limits that a scene was made of, with those that were edited.

    Skeleton, samples, provenance and joints that the clip does not have stay as they are;
    provenance gets the names of the edited joints. Where nothing was changed, it is the source.
    """
    source, present, given = scene.source or scene.model, scene.model, scene.given or scene.model
    edited = [
        name
        for name in dict.fromkeys([*given.limits, *present.limits])
        if present.limits.get(name) is not given.limits.get(name)
        or present.dependents.get(name) is not given.dependents.get(name)
    ]
    if not edited:
        return source
    names = _source_names(scene)
    changed = _carry_edits(present, given, source, names, edited)
    before = source.provenance.get(EDITED_KEY)
    known = set(before) if isinstance(before, list) else set()
    known |= {_look_up(names, name) for name in edited}
    listed = [name for name in source.skeleton.names if name in known]
    return replace(changed, provenance={**source.provenance, EDITED_KEY: listed})


def restored_scene(scene: Scene, found: LimitModel) -> Scene:
    """Return a scene with the edits that are noted in another version of its source."""
    source, given = scene.source or scene.model, scene.given or scene.model
    edited = found.provenance.get(EDITED_KEY)
    ours = {theirs: name for name, theirs in _source_names(scene).items()}
    touched = [name for name in ours if name in (edited if isinstance(edited, list) else [])]
    return replace(scene, model=_carry_edits(found, source, given, ours, touched))


def _source_names(scene: Scene) -> dict[str, str]:
    """Return the source's names of joints, by the clip's."""
    if scene.source is None:
        return {name: name for name in scene.clip.skeleton.names}
    return dict(scene.names)


def _look_up(names: Mapping[str, str], name: str) -> str:
    if name not in names:
        raise ValueError(
            f"the limit of {name} cannot be saved: the skeleton of the limits has no such joint; "
            f"undo it, or map the joint to one of theirs with --map {name}=JOINT"
        )
    return names[name]


def _carry_edits(
    edited: LimitModel,
    before: LimitModel,
    target: LimitModel,
    names: Mapping[str, str],
    joints: Iterable[str],
) -> LimitModel:
    """Return `target` with the edits of some joints, which it has by other `names`.

    `before` is the model that was edited. A limit that is still measured from the same joint is
    measured in `target` as before; otherwise from the joint of that name.
    """
    limits, dependents = dict(target.limits), dict(target.dependents)
    for name in joints:
        theirs, limit = _look_up(names, name), edited.limits.get(name)
        dependents.pop(theirs, None)
        if limit is None:
            limits.pop(theirs, None)
            continue
        was, there = before.limits.get(name), target.limits.get(theirs)
        if limit is not was:
            above = limit.relative_to
            if was is not None and there is not None and above == was.relative_to:
                above = there.relative_to
            elif above is not None:
                above = _look_up(names, above)
            limits[theirs] = replace(limit, relative_to=above)
        dependent = edited.dependents.get(name)
        if dependent is not None:
            driver = _look_up(names, dependent.driver)
            dependents[theirs] = replace(dependent, limit=limits[theirs], driver=driver)
    return target.with_limits(limits, dependents)


def limit_to_edit(limits: Limits, name: str) -> Limit:
    """Return the limit of a joint; ValueError if it has none."""
    if name not in limits:
        raise ValueError(f"{name} has no limit to edit")
    return limits[name]


def with_limits(model: LimitModel, limits: Limits) -> LimitModel:
    """Return a model with other limits, which depend on the same joints as before.

    ValueError where one is of a family that cannot.
    """
    dependents: dict[str, DependentLimit] = {}
    for name, dependent in model.dependents.items():
        if name not in limits:
            continue
        try:
            same = dependent.limit is limits[name]
            dependents[name] = dependent if same else replace(dependent, limit=limits[name])
        except ValueError as error:
            raise ValueError(
                f"{name} depends on {dependent.driver}, which a limit like this cannot: {error}. "
                "Remove the dependence first"
            ) from error
    return model.with_limits(limits, dependents)


def same_tree(one: Skeleton, other: Skeleton) -> bool:
    """Return True if two skeletons have the same joints on the same parents."""
    return one.names == other.names and one.parents.tolist() == other.parents.tolist()
