"""From clips of whole skeletons to a limit for each joint, and a record of how."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats
from ..limit import Limit
from ..skeleton import Clip, Skeleton, lineage, match, names_in
from .duplicates import find_duplicates
from .fitting import FittedJoint, Recipe, Sample, fit_joint, invented_first_frame, samples_of
from .joint_kind import JointKind, joint_kind
from .population import Population
from .takes import Take, performer_of

Progress = Callable[[Sequence[str]], Iterable[str]]
"""Gives back the names of the joints one by one, and may show how far that has come."""


@dataclass(frozen=True, eq=False)
class LearnedLimits:
    """What a model is made of."""

    limits: dict[str, Limit]
    samples: dict[str, tuple[Sample, ...]]
    provenance: dict[str, Any]


def learn(
    clips: Sequence[Clip],
    recipe: Recipe,
    *,
    reference: str | int | Clip,
    performers: str | Mapping[str, str] | None,
    joints: Sequence[str] | None,
    exclude: Sequence[str],
    names: Mapping[str, str] | None,
    keep_samples: bool,
    blend: Population | None,
    relative_to: Mapping[str, str],
    progress: Progress,
) -> LearnedLimits:
    """Return a limit for each joint wanted; `LimitModel.fit` says what the arguments mean."""
    if not clips:
        raise ValueError("limits need at least one clip to learn from, got none")
    for clip in clips:
        if clip.frames == 0:
            raise ValueError(f"{clip.name or 'clip'}: limits cannot be learned from no frames")
    skeleton = clips[0].skeleton
    wanted = wanted_joints(skeleton, joints, exclude)
    for name, ancestor in relative_to.items():
        lineage(skeleton, name, ancestor)
        if name not in wanted:
            raise ValueError(f"relative_to names {name}, for which no limit is wanted")
    if recipe.reject is not None:
        performers = _people(clips, performers)
    first_frames = [recipe.trim > 0.0 and invented_first_frame(clip) for clip in clips]
    takes = takes_of(clips, wanted, names, performers, first_frames, relative_to)
    others = {} if blend is None else blend.join(takes, skeleton, names, relative_to)
    references = _references(reference, clips[0], names, relative_to)
    axes = bone_axes(skeleton)
    fits: dict[str, FittedJoint] = {}
    for name in progress(wanted):
        if takes[name]:
            axis = axes[skeleton.index(name)]
            fitted = _fit_named(name, takes[name], recipe, references.get(name), axis)
            fits[name] = _measure_from_ancestor(relative_to.get(name), fitted)
    return LearnedLimits(
        limits={name: fitted.limit for name, fitted in fits.items()},
        samples={
            name: (*samples_of(takes[name], fits[name]), *others.get(name, ()))
            for name in fits
            if keep_samples
        },
        provenance={
            "clips": [
                _clip_row(clip, performers, dropped)
                for clip, dropped in zip(clips, first_frames, strict=True)
            ],
            "options": _options(recipe, reference),
            "joints": {name: _joint_row(fitted, takes[name]) for name, fitted in fits.items()},
            **({} if blend is None else {"blend": blend.row(others)}),
        },
    )


def _people(clips: Sequence[Clip], performers: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return each clip's person; doubles are merged, and warned of.

    Whoever is held out must not be among the others under another name.
    """
    who = {clip.name: performer_in(clip.name, performers) for clip in clips}
    leaks = find_duplicates(clips, who)
    for complaint in replace(leaks, common_rig=()).warnings():
        warnings.warn(complaint, stacklevel=4)
    return {clip: leaks.person[performer] for clip, performer in who.items()}


def _fit_named(
    name: str, takes: Sequence[Take], recipe: Recipe, reference: Quats | None, axis: Floats
) -> FittedJoint:
    """Fit, and let warnings name the joint, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit_joint(takes, recipe, reference=reference, axis=axis)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        warnings.warn(f"{name}: {message}", stacklevel=4)
    return fitted


def _measure_from_ancestor(ancestor: str | None, fitted: FittedJoint) -> FittedJoint:
    """Return the same with its limit measured from an ancestor, if one is named."""
    if ancestor is None:
        return fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong was said when the limit was fitted
        return replace(fitted, limit=replace(fitted.limit, relative_to=ancestor))


def _clip_row(
    clip: Clip, performers: str | Mapping[str, str] | None, first_frame_dropped: bool
) -> dict[str, Any]:
    return {
        "name": clip.name,
        "performer": performer_in(clip.name, performers),
        "frames": clip.frames,
        "frame_time": clip.frame_time,
        "first_frame_dropped": first_frame_dropped,
    }


def _options(recipe: Recipe, reference: str | int | Clip) -> dict[str, Any]:
    return {
        "shape": recipe.shape,
        "chart": recipe.chart,
        "margin": recipe.margin,
        "reject": recipe.reject,
        "trim": recipe.trim,
        "reference": reference.name if isinstance(reference, Clip) else reference,
        **recipe.options,
    }


def _joint_row(fitted: FittedJoint, takes: Sequence[Take]) -> dict[str, Any]:
    kind = joint_kind(fitted.trimmed.rotations(takes))
    return {
        "kind": kind.kind,
        "axes": kind.axes.tolist(),
        "frames": fitted.trimmed.frames,
        "rule": fitted.trimmed.rule,
        "flips": fitted.trimmed.flips,
        "unconfirmed": fitted.trimmed.unconfirmed,
        "isolated": fitted.trimmed.isolated,
        "margin": fitted.margin,
        "rejected": fitted.rejected,
    }


def kinds_of(
    clips: Sequence[Clip], *, names: Mapping[str, str] | None = None
) -> dict[str, JointKind]:
    """Return what kind of joint each joint of the first clip is, from the frames of all.

    `names` maps names of joints of the clips to those of the first.
    """
    joints = clips[0].skeleton.names
    takes = takes_of(clips, joints, names, None, [invented_first_frame(clip) for clip in clips])
    return {
        joint: joint_kind(np.concatenate([take.rotations for take in takes[joint]]))
        for joint in joints
        if takes[joint]
    }


def wanted_joints(
    skeleton: Skeleton, joints: Sequence[str] | None, exclude: Sequence[str] = ()
) -> list[str]:
    """Return the names of the joints to learn about: all but roots, unless `joints` says."""
    for name in (*(joints or ()), *exclude):
        skeleton.index(name)
    roots = {skeleton.names[joint] for joint in skeleton.children(-1)}
    chosen = joints or [name for name in skeleton.names if name not in roots]
    wanted = [name for name in chosen if name not in exclude]
    if not wanted:
        raise ValueError("no joint is left to learn limits for")
    return wanted


def takes_of(
    clips: Sequence[Clip],
    wanted: Sequence[str],
    names: Mapping[str, str] | None,
    performers: str | Mapping[str, str] | None,
    first_frames: Sequence[bool],
    ancestors: Mapping[str, str] | None = None,
) -> dict[str, list[Take]]:
    """Return, by joint, one take a clip, without first frames that nobody performed.

    Rotations are as parents see them, or as the `ancestors` that are named for some joints.
    """
    takes: dict[str, list[Take]] = {name: [] for name in wanted}
    for clip, invented in zip(clips, first_frames, strict=True):
        known = names_in(names, clip.skeleton)
        found = match(wanted, clips[0].skeleton, clip.skeleton, known)
        found.warn(clip.name)
        first = 1 if invented else 0
        who = performer_in(clip.name, performers)
        for name, way in found.lineages(ancestors or {}, clip.name).items():
            rotations = way.relative_rotation(clip.pose.rotations[first:])
            takes[name].append(Take(rotations, clip.frame_time, clip.name, who, first))
    return takes


def performer_in(clip: str, performers: str | Mapping[str, str] | None) -> str:
    """Return who performs in `clip`, as a map, a pattern or the clip's own name says."""
    if isinstance(performers, Mapping):
        if clip not in performers:
            raise ValueError(f"no performer is given for the clip {clip!r}")
        return performers[clip]
    return performer_of(clip, performers)


def _references(
    reference: str | int | Clip,
    first: Clip,
    names: Mapping[str, str] | None,
    ancestors: Mapping[str, str],
) -> dict[str, Quats]:
    """Return the reference rotation by joint; none where the mean is to be taken."""
    if reference == "mean":
        return {}
    if reference == "rest":
        return dict.fromkeys(first.skeleton.names, quat.IDENTITY)
    if isinstance(reference, Clip):
        if reference.frames == 0:
            raise ValueError(f"{reference.name}: the reference clip has no frames")
        known, theirs = names_in(names, reference.skeleton), first.skeleton
        found = match(theirs.names, theirs, reference.skeleton, known)
        ways = found.lineages(ancestors, reference.name)
        return {
            name: way.relative_rotation(reference.pose.rotations[0]) for name, way in ways.items()
        }
    if isinstance(reference, int) and -first.frames <= reference < first.frames:
        rotations = first.pose.rotations[reference]
        return {
            name: lineage(first.skeleton, name, ancestors.get(name)).relative_rotation(rotations)
            for name in first.skeleton.names
        }
    raise ValueError(
        f"reference must be 'mean', 'rest', a clip, or a frame below {first.frames}, "
        f"got {reference!r}"
    )


def bone_axes(skeleton: Skeleton) -> Floats:
    """Return the direction of each bone: to the children, else on from the parent, else z."""
    axes = skeleton.rest_directions.copy()
    for joint in np.flatnonzero(~axes.any(axis=1)):
        length = np.linalg.norm(skeleton.offsets[joint])
        axes[joint] = skeleton.offsets[joint] / length if length > 0.0 else (0.0, 0.0, 1.0)
    return axes
