"""Assignment of the joints of arms and legs to bones, from all names along a path together.

`Shoulder` may be a clavicle or an upper arm, `Leg` a thigh or a shin, `Foot` the toes below an
ankle. Bones follow each other in a fixed order from the torso outwards, so dynamic programming
over the joints of a path finds the assignment with the highest total score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from ..skeleton import Skeleton
from .conventions import FULL
from .human import ARM, LEG
from .words import Word

LIMBS: Mapping[str, tuple[str, ...]] = {"Arm": (*ARM, "Fingers"), "Leg": LEG}
"""Bones of each limb in order; `Fingers` ends a hand and is not a role."""
_GAIN = {
    **dict.fromkeys(("UpperArm", "LowerArm", "UpperLeg", "LowerLeg"), 1.0),
    **dict.fromkeys(("Hand", "Foot"), 0.7),
    "Shoulder": 0.2,
    "Toes": 0.3,
    "Fingers": 0.3,
}
"""Score for a bone that is present, in addition to the weight of its word."""
_INEXACT = 0.5  # factor of the weight if unknown words precede the known one
_SPLIT_COST = 0.3  # of a second joint for one bone, if both names mean that bone
_MISFIT_COST = 1.0  # of a second joint whose name means another bone
_TWIST_GAIN = 0.05  # of a twist joint within its bone, so that it is not left out
_SECOND_MEANING = 0.9  # confidence in a word that usually means another bone
_FORCED = 5.0  # weight of a role given by the user, more than any word adds
_NOT_SPLIT = ("Toes", "Fingers")
_FIRST_JOINTS = {"hip", "hips", "hipjoint", "knee", "elbow"}
"""Words of joints at which a bone begins; they do not name the second half of a bone."""


@dataclass(frozen=True)
class Candidate:
    """A joint that may be a bone of a limb, with the weight of each bone."""

    joint: int
    word: Word
    bones: Mapping[str, float]


@dataclass(frozen=True)
class Chain:
    """The joints assigned to one limb."""

    bones: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Joints by bone; several joints of a split bone from the torso outwards."""
    trust: Mapping[str, float] = field(default_factory=dict)
    """Confidence by bone, 0 to 1."""
    score: float = 0.0

    @property
    def joints(self) -> set[int]:
        """All joints of the limb."""
        return {joint for joints in self.bones.values() for joint in joints}

    def is_as_good_as(self, other: Chain) -> bool:
        """Return True if the least trusted bone, or the score, is as good as the other's."""
        is_trusted = min(self.trust.values()) >= min(other.trust.values())
        return is_trusted or self.score >= other.score

    def whole(self, limb: str) -> bool:
        """Return True if both long bones are present."""
        return f"Upper{limb}" in self.bones and f"Lower{limb}" in self.bones


def candidates(
    limb: str, side: str, skeleton: Skeleton, words: Sequence[Word], given: Mapping[int, str]
) -> list[Candidate]:
    """Return the joints that may be bones of a limb of one side.

    `given` are roles by joint, set by the user; an empty role excludes the joint. No other joint
    can have a role that is given.
    """
    taken = {role.removeprefix(side) for role in given.values() if role.startswith(side)}
    parents = set(skeleton.parents.tolist())
    result = []
    for joint, word in enumerate(words):
        if joint in given:
            bone = given[joint].removeprefix(side)
            if given[joint].startswith(side) and bone in LIMBS[limb]:
                result.append(Candidate(joint, Word(side, "given", (str(joint),)), {bone: _FORCED}))
            continue
        scale = 1.0 if word.exact else _INEXACT
        bones = {
            bone: scale * weight
            for bone, weight in word.bones.items()
            if word.side == side
            and bone in LIMBS[limb]
            and bone not in taken
            and (bone != "Fingers" or joint not in parents)
        }
        if bones:
            result.append(Candidate(joint, word, bones))
    return result


def best_chain(limb: str, skeleton: Skeleton, candidates: Iterable[Candidate]) -> Chain:
    """Return the best assignment along any path from a root outwards; empty without candidates."""
    by_joint = {candidate.joint: candidate for candidate in candidates}
    inner = {above for joint in by_joint for above in skeleton.path_to_root(joint)[1:]}
    chains = []
    for joint in by_joint.keys() - inner:
        path = [by_joint[k] for k in reversed(skeleton.path_to_root(joint)) if k in by_joint]
        numbers = [int(number) for number in path[-1].word.numbers if number.isdigit()]
        chain = _best_assignment(limb, path)
        # Complete limbs first. Ties, such as the five toes of a foot, go to the lowest number.
        rank = (not chain.whole(limb), -round(chain.score, 6), numbers, joint)
        chains.append((rank, chain))
    return min(chains, key=lambda ranked: ranked[0])[1] if chains else Chain()


@dataclass(frozen=True)
class _Partial:
    """An assignment of the first joints of a path."""

    score: float = 0.0
    parts: tuple[tuple[Candidate, str], ...] = ()


def _best_assignment(limb: str, path: Sequence[Candidate]) -> Chain:
    """Return the best assignment of one path: bones in order, joints may be skipped."""
    order = LIMBS[limb]
    partials = [_Partial()]
    for candidate, after in zip_longest(path, path[1:]):
        if after is not None and after.word == candidate.word:
            continue  # if two joints have the same name, the second is the bone
        partials += [
            _Partial(partial.score + gain, (*partial.parts, (candidate, bone)))
            for partial in partials
            for bone in candidate.bones
            if (gain := _gain(order, partial.parts, candidate, bone)) is not None
        ]
        partials = _best_of_each_end(partials)
    complete = [
        partial for partial in partials if not partial.parts or not partial.parts[-1][0].word.twist
    ]
    best = max(complete, key=lambda partial: partial.score)
    bones: dict[str, tuple[int, ...]] = {}
    trust: dict[str, float] = {}
    for candidate, bone in best.parts:
        bones[bone] = (*bones.get(bone, ()), candidate.joint)
        trust[bone] = max(trust.get(bone, 0.0), _trust(candidate, bone))
    return Chain(bones, trust, best.score)


def _trust(candidate: Candidate, bone: str) -> float:
    """Return the confidence that a joint is this bone, from 0 to 1."""
    if candidate.bones[bone] >= FULL:
        return 1.0
    return _SECOND_MEANING if candidate.word.exact else _INEXACT


def _best_of_each_end(partials: Sequence[_Partial]) -> list[_Partial]:
    """Return the best partial assignment for each state of the last joint that `_gain` reads."""
    best: dict[tuple[str, str, bool, float] | None, _Partial] = {}
    for partial in partials:
        end = None
        if partial.parts:
            last, bone = partial.parts[-1]
            end = (bone, last.word.key, last.word.twist, last.bones[bone])
        if end not in best or partial.score > best[end].score:
            best[end] = partial
    return list(best.values())


def _gain(
    order: Sequence[str],
    parts: Sequence[tuple[Candidate, str]],
    candidate: Candidate,
    bone: str,
) -> float | None:
    """Return the score that a joint adds as the next joint, of `bone`; None if impossible."""
    weight, word = candidate.bones[bone], candidate.word
    if not parts or parts[-1][1] != bone:
        if parts:
            before, last = parts[-1]
            if order.index(bone) < order.index(last) or word.is_axis_of(before.word):
                return None
        return None if word.twist else weight + _GAIN[bone]
    before = parts[-1][0]
    if word.twist:
        return _TWIST_GAIN
    same_word = word.key == before.word.key
    begins = word.key in _FIRST_JOINTS and not same_word
    if begins or bone in _NOT_SPLIT or not word.exact:
        return weight - _MISFIT_COST
    strong = weight >= FULL and before.bones[bone] >= FULL
    return weight - (_SPLIT_COST if same_word or strong else _MISFIT_COST)
