"""Takes (one joint in one clip), capture flips, performers, duplicates and folds.

A performer who is held out must not be among the others under another name, or the test is not
independent. CMU has many such duplicates: identical clips, and one person under two names.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Annotated

import numpy as np

from .. import quat
from ..arrays import EachWithin, Floats, Ints, Mask, Quats, Scalars, unit_quats
from ..processes import search_texts
from ..skeleton import Clip, Skeleton, list_names, match, names_in

PATTERN_SECONDS = 10.0  # a sound pattern takes milliseconds for thousands of names
MAX_SPEED = np.radians(3600.0)  # radians per second; faster than any human joint
MAX_STEP = np.radians(120.0)  # radians between frames, however far apart in time
MIN_DURATION = 0.25  # seconds; shorter runs of frames between two jumps are flips
INVENTED_STEP = np.radians(1.0)  # radians; smaller first steps are ordinary motion
INVENTED_RATIO = 4.0  # of the first step to all until `MIN_DURATION`, if it was not performed
INVENTED_SHARE = 0.25  # of the moving joints whose first step is a jump
MIN_MOVING = 3  # fewer moving joints do not show whether a first frame is performed
BONE_TOLERANCE = 1e-6  # of the longest bone; rounding of offsets in files
MAX_NAMES = 3  # of one person; bones that more performers share belong to a common rig
STILL = 1e-6  # change of a quaternion's component that rounding in files may cause

Performers = str | Mapping[str, str] | None
"""Performers by clip name, a regular expression that finds them in clip names, or None."""
Progress = Callable[[Sequence[str]], Iterable[str]]
"""Yields the names it receives one by one, and may report progress."""


@dataclass(frozen=True, eq=False)
class Take:
    """One joint in one clip."""

    rotations: Quats
    """(frames, 4)"""
    frame_time: float
    """Seconds between frames."""
    clip: str
    performer: str
    first_frame: int = 0
    """Index in the clip of the first frame."""
    person_count: int = 1
    """Number of people that the performer counts for in the confirmation of frames."""
    thinned: bool = False
    """True if repeated frames were left out, so that steps between frames have no meaning."""
    counts: Ints | None = None
    """(n,): number of frames that each rotation represents; 1 if None."""

    def __post_init__(self) -> None:
        rotations = np.array(unit_path(f"rotations of {self.clip!r}", self.rotations))
        if len(rotations) == 0:
            raise ValueError(f"a take needs at least one frame, got none in {self.clip!r}")
        check_positive(f"frame_time of {self.clip!r}", self.frame_time, "seconds")
        if self.counts is not None and self.counts.shape != rotations.shape[:1]:
            raise ValueError(
                f"counts of {self.clip!r} must have shape ({len(rotations)},), "
                f"got {self.counts.shape}"
            )
        rotations.flags.writeable = False
        object.__setattr__(self, "rotations", rotations)

    @property
    def frame_counts(self) -> Ints:
        """Number of frames that each rotation represents: (n,)."""
        return np.ones(len(self.rotations), np.int64) if self.counts is None else self.counts

    @property
    def is_sample(self) -> bool:
        """True for samples of a population. These are never left out."""
        return self.thinned and self.counts is None

    def subset(self, kept: Mask) -> Take:
        """Return the frames of a mask (n,)."""
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, rotations=self.rotations[kept], counts=counts)

    @property
    def needs_confirmation(self) -> bool:
        """True if others must confirm the frames; False if the performer counts for many."""
        return self.person_count <= 1

    def flips(self) -> Mask:
        """Return a mask of the frames of capture flips; all False for thinned takes."""
        return self._flips.copy()

    @cached_property
    def _flips(self) -> Mask:
        if self.thinned:
            return np.zeros(len(self.rotations), dtype=bool)
        return flips(self.rotations, self.frame_time)

    def without_flips(self) -> Quats:
        """Return the rotations (n, 4) without capture flips."""
        return self.rotations if self.thinned else self.rotations[~self.flips()]


@dataclass(frozen=True, eq=False)
class Sample:
    """Thinned observations of one joint in one clip: frame indices (n,) and rotations (n, 4)."""

    clip: str
    performer: str
    frames: Annotated[Ints, "n", EachWithin(0, np.inf)]
    rotations: Annotated[Quats, "n", 4]

    def take(self, person_count: int = 1) -> Take:
        """Return the sample as a take of a performer who counts for `person_count` people."""
        return Take(
            self.rotations,
            frame_time=1.0,  # not used for thinned takes
            clip=self.clip,
            performer=self.performer,
            person_count=person_count,
            thinned=True,
        )


def flips(rotations: Quats, frame_time: float, *, max_speed: float = MAX_SPEED) -> Mask:
    """Return a mask (frames,) of capture flips in consecutive `rotations` (frames, 4).

    A step faster than `max_speed` (radians per second) or over 120 degrees is a jump, and so is a
    first step much larger than those after it, as from an invented pose in frame 0. Runs of frames
    between jumps, or at the ends, are flips if they last less than a quarter of a second. If all
    are that short, the longest is kept.
    """
    rotations = unit_path("rotations", rotations)
    check_positive("frame_time", frame_time, "seconds")
    check_positive("max_speed", max_speed, "radians a second")
    if len(rotations) == 0:
        return np.zeros(0, dtype=bool)
    steps = quat.angle_between(rotations[:-1], rotations[1:])
    return flips_by_steps(steps, frame_time, max_speed=max_speed)


def flips_by_steps(steps: Scalars, frame_time: float, *, max_speed: float = MAX_SPEED) -> Mask:
    """Return the mask of `flips` (..., frames) from steps (..., frames - 1) in radians."""
    jumps = steps > min(max_speed * frame_time, MAX_STEP)
    following = steps[..., 1 : 1 + int(np.ceil(MIN_DURATION / frame_time))]
    if following.shape[-1] * frame_time >= MIN_DURATION:
        usual = INVENTED_RATIO * following.max(axis=-1)
        jumps[..., 0] |= steps[..., 0] > np.maximum(INVENTED_STEP, usual)
    is_flip = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1), dtype=bool)
    jumping = jumps.any(axis=-1)
    for at in np.ndindex(jumping.shape):
        if jumping[at]:  # without a jump there is one run, which is kept
            is_flip[at] = _short_runs(jumps[at], frame_time)
    return is_flip


def _short_runs(jumps: Mask, frame_time: float) -> Mask:
    """Return a mask (frames,) of the frames in short runs between `jumps` (frames - 1,)."""
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], jumps, [True]])))
    short = lengths * frame_time < MIN_DURATION
    short[lengths.argmax()] &= not short.all()
    return np.repeat(short, lengths)


def invented_first_frame(clip: Clip, steps: Scalars | None = None) -> bool:
    """Return True if the clip starts with a pose that was not performed, such as CMU's T-poses.

    This is so if the first step is a jump for a quarter of the joints that move at all. `steps`
    (J, frames - 1) are the angles between frames in radians, computed as needed by default.
    """
    if clip.frames < 3:
        return False
    rotations = clip.pose.rotations
    if steps is None:
        steps = np.ascontiguousarray(quat.angle_between(rotations[:-1], rotations[1:]).T)
    moves = _moving_joints(rotations)
    jumps = int(flips_by_steps(steps[moves], clip.frame_time)[:, 0].sum())
    return int(moves.sum()) >= MIN_MOVING and jumps >= INVENTED_SHARE * int(moves.sum())


def _moving_joints(rotations: Quats) -> Mask:
    """Return a mask (J,) of the joints that move in `rotations` (frames, J, 4)."""
    paths = np.moveaxis(rotations, 1, 0)  # one joint at a time, to save memory
    return np.array([(np.abs(np.diff(path, axis=0)) > STILL).any() for path in paths], bool)


def unit_path(name: str, rotations: Quats) -> Quats:
    """Return `rotations` as unit quaternions (frames, 4)."""
    rotations = unit_quats(name, rotations)
    if rotations.ndim != 2:
        raise ValueError(f"{name} must have shape (frames, 4), got {rotations.shape}")
    return rotations


def check_positive(name: str, value: float, unit: str) -> None:
    """Raise ValueError unless `value` is finite and above 0."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be above 0 {unit}".rstrip() + f", got {value}")


def takes_of(
    clips: Sequence[Clip],
    joints: Sequence[str],
    *,
    drop_first: Sequence[bool] | None = None,
    performers: Performers = None,
    names: Mapping[str, str] | None = None,
    ancestors: Mapping[str, str] | None = None,
) -> dict[str, list[Take]]:
    """Return, by joint, one take for each clip that has the joint.

    Parameters
    ----------
    clips
        Joints are named as in the first of them.
    joints
        The names of the joints.
    drop_first
        For each clip, whether to drop its first frame; by default `invented_first_frame`.
    performers, names
        As in `LimitModel.fit`.
    ancestors
        Ancestors from which joints are measured, by joint, if it is not the parent.
    """
    takes: dict[str, list[Take]] = {name: [] for name in joints}
    if drop_first is None:
        drop_first = [invented_first_frame(clip) for clip in clips]
    for clip, invented in zip(clips, drop_first, strict=True):
        mapped = names_in(names, clip.skeleton)
        matched = match(joints, clips[0].skeleton, clip.skeleton, mapped)
        matched.warn(clip.name)
        first = 1 if invented else 0
        performer = performer_of(clip.name, performers)
        for name, line in matched.lineages(ancestors or {}, clip.name).items():
            rotations = line.relative_rotation(clip.pose.rotations[first:])
            takes[name].append(Take(rotations, clip.frame_time, clip.name, performer, first))
    return takes


def joints_to_fit(
    skeleton: Skeleton, joints: Sequence[str] | None, exclude: Sequence[str] = ()
) -> list[str]:
    """Return the names of the joints to fit: `joints`, or all but roots, without `exclude`."""
    for name in (*(joints or ()), *exclude):
        skeleton.index(name)
    roots = {skeleton.names[joint] for joint in skeleton.children(-1)}
    chosen = joints or [name for name in skeleton.names if name not in roots]
    wanted = [name for name in chosen if name not in exclude]
    if not wanted:
        raise ValueError("no joint is left to learn limits for")
    return wanted


def bone_axes(skeleton: Skeleton) -> Floats:
    """Return unit bone directions (J, 3): to the children, else from the parent, else z."""
    axes = skeleton.rest_directions.copy()
    for joint in np.flatnonzero(~axes.any(axis=1)):
        length = np.linalg.norm(skeleton.offsets[joint])
        axes[joint] = skeleton.offsets[joint] / length if length > 0.0 else (0.0, 0.0, 1.0)
    return axes


def performer_of(clip: str, performers: Performers = None) -> str:
    """Return the performer of a clip.

    Parameters
    ----------
    clip
        The name of the clip or file, with its folders.
    performers
        Performers by name, or a regular expression with one group that is searched in `clip`. By
        default the performer is the part of the file's stem before the first "_" or "-".

    Examples
    --------
    >>> performer_of("captures/ann_03.bvh")
    'ann'
    >>> performer_of("s12/walk.bvh", "s([0-9]+)/")
    '12'
    """
    if isinstance(performers, Mapping):
        if clip not in performers:
            raise ValueError(f"no performer is given for the clip {clip!r}")
        return performers[clip]
    if performers is None:
        stem = PurePath(clip).stem
        return re.split("[_-]", stem, maxsplit=1)[0] or stem
    hit = _performer_expression(performers).search(clip)
    return _performer_found(performers, clip, hit and hit[1])


def performers_of(clips: Sequence[str], pattern: str) -> list[str]:
    """Return who performs in each clip, by a regular expression that a user typed.

    It is that of `performer_of`, but ValueError is raised where the search takes too long.
    """
    _performer_expression(pattern)
    try:
        hits = search_texts(pattern, clips, PATTERN_SECONDS)
    except TimeoutError:
        raise ValueError(
            f"performer pattern {pattern!r} takes more than {PATTERN_SECONDS:g} s to search "
            f"{len(clips)} names: a repeated group must not repeat inside, as in (a+)+"
        ) from None
    return [_performer_found(pattern, *pair) for pair in zip(clips, hits, strict=True)]


def _performer_expression(pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"performer pattern {pattern!r:.80} is not valid: {error}") from error
    if expression.groups != 1:
        raise ValueError(
            f"performer pattern {pattern!r} must have one (group), got {expression.groups}"
        )
    return expression


def _performer_found(pattern: str, clip: str, performer: str | None) -> str:
    if not performer:
        raise ValueError(f"performer pattern {pattern!r} finds nobody in {clip!r}")
    return performer


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Identical clips, performers with equal bones, and the person behind each performer."""

    identical: tuple[tuple[str, ...], ...]
    """Groups of clip names with equal rotations in all frames."""
    same_bones: tuple[tuple[str, ...], ...]
    """Groups of performers with equal bones, regarded as one person each."""
    common_rig: tuple[str, ...]
    """Performers with equal bones who are too many to be one person: they share a rig."""
    person: Mapping[str, str]
    """Person by performer; merged performers have a joint name, such as "83=122"."""

    def people(self, performers: Mapping[str, str]) -> dict[str, str]:
        """Return the person of each clip, from the performer of each, by clip name."""
        return {clip: self.person[performer] for clip, performer in performers.items()}

    def warnings(self) -> list[str]:
        """Return a sentence for each finding."""
        messages = [
            f"the same clip under several names: {list_names(names)}" for names in self.identical
        ]
        messages += [
            f"performers with the same bones, taken for one person: {list_names(names)}"
            for names in self.same_bones
        ]
        if self.common_rig:
            messages.append(
                f"{len(self.common_rig)} performers share one rig, so that bones cannot tell "
                f"whether some of them are one person: {list_names(self.common_rig)}"
            )
        merged = [name for name in dict.fromkeys(self.person.values()) if "=" in name]
        if merged:
            messages.append(f"merged, so that nobody is tested on themselves: {list_names(merged)}")
        return messages

    def warn(self, stacklevel: int = 3) -> None:
        """Issue the warnings."""
        for message in self.warnings():
            warnings.warn(message, stacklevel=stacklevel)


def find_duplicates(clips: Sequence[Clip], performers: Mapping[str, str]) -> Duplicates:
    """Return the duplicates among `clips`; `performers` are given by clip name.

    Performers are merged if they have a clip or their bones in common.
    """
    clip_names, skeletons = [clip.name for clip in clips], [clip.skeleton for clip in clips]
    return compare_marks(clip_names, skeletons, [fingerprint(clip) for clip in clips], performers)


def compare_marks(
    clips: Sequence[str],
    skeletons: Sequence[Skeleton],
    fingerprints: Sequence[str],
    performers: Mapping[str, str],
) -> Duplicates:
    """Return the duplicates among clips, given their names, skeletons and fingerprints."""
    names = list(dict.fromkeys(performers[clip] for clip in clips))
    identical = _names_sharing(clips, fingerprints)
    bones = _performers_by_bones(clips, skeletons, performers)
    same = [group for group in bones if 1 < len(group) <= MAX_NAMES and len(group) < len(names)]
    rigs = [group for group in bones if len(group) > 1 and group not in same]
    shared = [tuple({performers[clip]: None for clip in group}) for group in identical]
    return Duplicates(
        identical=tuple(identical),
        same_bones=tuple(same),
        common_rig=tuple(name for group in rigs for name in group),
        person=join_groups(names, [*same, *shared]),
    )


def join_groups(names: Sequence[str], together: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the group of each name after joining the names of each entry of `together`.

    A group is named after its members in order, such as "83=122". Union–find.
    """
    root = {name: name for name in names}

    def top(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    for group in together:
        for name in group[1:]:
            root[top(name)] = top(group[0])
    members = defaultdict(list)
    for name in names:
        members[top(name)].append(name)
    return {name: "=".join(members[top(name)]) for name in names}


def fingerprint(clip: Clip) -> str:
    """Return a hash of the clip's rotations and joint names."""
    rotations = np.ascontiguousarray(clip.pose.rotations, dtype=np.float64)
    shape = repr((rotations.shape, clip.skeleton.names)).encode()
    return hashlib.sha256(shape + rotations.tobytes()).hexdigest()


def same_bones(ours: Skeleton, theirs: Skeleton) -> bool:
    """Return True if two skeletons have the same joints, by name, at the same offsets."""
    offsets = theirs.offsets
    if ours.names != theirs.names:
        matched = match(ours.names, ours, theirs)
        if matched.missing or matched.extra:
            return False
        offsets = offsets[[matched.joints[name] for name in ours.names]]
    below_root = (ours.parents >= 0)[:, None]  # a root's offset is not a bone
    longest = np.abs(ours.offsets).max(initial=0.0, where=below_root)
    apart = np.abs(ours.offsets - offsets).max(initial=0.0, where=below_root)
    return bool(longest > 0.0 and apart <= BONE_TOLERANCE * longest)


def _performers_by_bones(
    clips: Sequence[str], skeletons: Sequence[Skeleton], performers: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return the performers of each set of bones, in order of appearance."""
    known: list[tuple[Skeleton, dict[str, None]]] = []
    for clip, skeleton in zip(clips, skeletons, strict=True):
        for other, who in known:
            if skeleton is other or same_bones(other, skeleton):
                who[performers[clip]] = None
                break
        else:
            known.append((skeleton, {performers[clip]: None}))
    return [tuple(who) for _, who in known]


def _names_sharing(names: Sequence[str], marks: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of names with equal marks, if they have several members."""
    found = defaultdict(list)
    for name, mark in zip(names, marks, strict=True):
        found[mark].append(name)
    return [tuple(group) for group in found.values() if len(group) > 1]


@dataclass(frozen=True, eq=False)
class Fold:
    """One joint with a group held out: its rotations, and the takes of the others."""

    name: str
    held_out: Quats
    """(n, 4): rotations of the group, without capture flips."""
    rest: tuple[Take, ...]

    @property
    def rest_rotations(self) -> Quats:
        """(n, 4): rotations of the others, without capture flips."""
        return np.concatenate([take.without_flips() for take in self.rest])


def leave_one_out(
    takes: Sequence[Take], group_of: Callable[[Take], str | None]
) -> tuple[Fold, ...]:
    """Return a fold for each group of one joint's takes, in order of appearance.

    Parameters
    ----------
    takes
        The takes of one joint.
    group_of
        Returns the group of a take. Takes of one group are held out together, those of None never.
        A group without others has no fold.
    """
    groups = [group_of(take) for take in takes]
    folds = []
    for group in dict.fromkeys(groups):
        pairs = list(zip(takes, groups, strict=True))
        rest = tuple(take for take, name in pairs if name != group)
        if group is not None and rest:
            held = [take.without_flips() for take, name in pairs if name == group]
            folds.append(Fold(group, np.concatenate(held), rest))
    return tuple(folds)
