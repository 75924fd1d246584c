"""Arms and legs: which joints along a path are which bones, by all of their names together.

`Shoulder` may be a clavicle or an upper arm, `Leg` a thigh or a shin, `Foot` the toes below an
ankle. Along a path from the torso outward bones come in one order, so that the best reading of all
names at once decides what each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from ..skeleton import Skeleton
from .human import ARM, LEG
from .words import ARM_WORDS, BEGINNINGS, FULL, INEXACT, LEG_WORDS, Word

LIMBS: Mapping[str, tuple[str, ...]] = {"Arm": (*ARM, "Fingers"), "Leg": LEG}
"""The bones of each limb in their order; `Fingers` end a hand, and are no role."""
_WORDS = {"Arm": ARM_WORDS, "Leg": LEG_WORDS}
_GAIN = {
    **dict.fromkeys(("UpperArm", "LowerArm", "UpperLeg", "LowerLeg"), 1.0),
    **dict.fromkeys(("Hand", "Foot"), 0.7),
    "Shoulder": 0.2,
    "Toes": 0.3,
    "Fingers": 0.3,
}
"""What it is worth that a bone is there at all, beside the weight of its word."""
_SPLIT = 0.3
"""What it costs that a bone is split into another joint of its own."""
_MISFIT = 1.0
"""What it costs where the names of the two are no names of one bone."""
_UNSPLIT = ("Toes", "Fingers")
_TWIST = 0.05
"""What a twist joint within its bone is worth."""
_SECOND_MEANING = 0.9
"""The confidence in a word that stands for another bone in most rigs."""
FORCED = 5.0
"""The weight of what somebody has said, above that of any word."""


@dataclass(frozen=True)
class Candidate:
    """A joint that may be a bone of a limb: the weight of each reading."""

    joint: int
    word: Word
    bones: Mapping[str, float]


@dataclass(frozen=True)
class Chain:
    """The bones of one limb: the joints of each, those of a split bone outward."""

    bones: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    trust: Mapping[str, float] = field(default_factory=dict)
    score: float = 0.0

    @property
    def joints(self) -> set[int]:
        """All joints of the limb."""
        return {joint for joints in self.bones.values() for joint in joints}

    def whole(self, limb: str) -> bool:
        """Whether both long bones are there."""
        return f"Upper{limb}" in self.bones and f"Lower{limb}" in self.bones


def candidates(
    limb: str, side: str, skeleton: Skeleton, words: Sequence[Word], said: Mapping[int, str]
) -> list[Candidate]:
    """Return the joints that may be bones of a limb of one side.

    `said` has what joints are by somebody's word, as roles; an empty role is no bone. No other
    joint is then a bone that was said.
    """
    spoken_for = {role.removeprefix(side) for role in said.values() if role.startswith(side)}
    parents = set(skeleton.parents.tolist())
    found = []
    for joint, word in enumerate(words):
        if joint in said:
            bone = said[joint].removeprefix(side)
            if said[joint].startswith(side) and bone in LIMBS[limb]:
                found.append(Candidate(joint, Word(side, "said", (str(joint),)), {bone: FORCED}))
            continue
        readings = _WORDS[limb].get(word.key, {}) if word.side == side else {}
        scale = 1.0 if word.exact else INEXACT
        bones = {
            bone: scale * weight
            for bone, weight in readings.items()
            if bone not in spoken_for and (bone != "Fingers" or joint not in parents)
        }
        if bones:
            found.append(Candidate(joint, word, bones))
    return found


def best_chain(limb: str, skeleton: Skeleton, found: Iterable[Candidate]) -> Chain:
    """Return the best reading along any path from a root outward; an empty one of none."""
    by_joint = {each.joint: each for each in found}
    parents = skeleton.parents.tolist()
    inner: set[int] = set()  # the joints above candidates
    for joint in by_joint:
        above = parents[joint]
        while above >= 0 and above not in inner:
            inner.add(above)
            above = parents[above]
    chains = []
    for joint in by_joint.keys() - inner:
        up = skeleton.path_to_root(joint)
        path = [by_joint[each] for each in reversed(up) if each in by_joint]
        numbers = [int(each) for each in path[-1].word.numbers if each.isdigit()]
        chains.append((_read(limb, path), numbers, joint))
    # A whole limb first; and of the five toes of a foot, which read alike, the first.
    best = min(
        chains,
        key=lambda each: (not each[0].whole(limb), -round(each[0].score, 6), each[1], each[2]),
        default=None,
    )
    return Chain() if best is None else best[0]


@dataclass(frozen=True)
class _Reading:
    score: float = 0.0
    parts: tuple[tuple[Candidate, str], ...] = ()


def _read(limb: str, path: Sequence[Candidate]) -> Chain:
    """Return the best reading of one path: bones in order, each joint one of them or none."""
    order = LIMBS[limb]
    readings = [_Reading()]
    for candidate, after in zip_longest(path, path[1:]):
        if after is not None and after.word == candidate.word:
            continue  # of two of one name, the first only leads to the second
        readings += [
            _Reading(reading.score + gain, (*reading.parts, (candidate, bone)))
            for reading in readings
            for bone in candidate.bones
            if (gain := _gain(order, reading.parts, candidate, bone)) is not None
        ]
        readings = _best_of_each_end(readings)
    ended = [each for each in readings if not each.parts or not each.parts[-1][0].word.twist]
    best = max(ended, key=lambda each: each.score)
    bones: dict[str, tuple[int, ...]] = {}
    trust: dict[str, float] = {}
    for candidate, bone in best.parts:
        bones[bone] = (*bones.get(bone, ()), candidate.joint)
        trust[bone] = max(trust.get(bone, 0.0), _trust(candidate, bone))
    return Chain(bones, trust, best.score)


def _trust(candidate: Candidate, bone: str) -> float:
    """Return the confidence in a reading, from 0 to 1."""
    if candidate.bones[bone] >= FULL:
        return 1.0
    return _SECOND_MEANING if candidate.word.exact else INEXACT


def _best_of_each_end(readings: Sequence[_Reading]) -> list[_Reading]:
    """Return the best of the readings that end alike: what follows depends on the end alone."""
    best: dict[tuple[str, str, bool, float] | None, _Reading] = {}
    for reading in readings:
        end = None
        if reading.parts:
            last, bone = reading.parts[-1]
            end = (bone, last.word.key, last.word.twist, last.bones[bone])
        if end not in best or reading.score > best[end].score:
            best[end] = reading
    return list(best.values())


def _gain(
    order: Sequence[str],
    parts: Sequence[tuple[Candidate, str]],
    candidate: Candidate,
    bone: str,
) -> float | None:
    """Return what a joint adds to a reading as this bone; None if it cannot be."""
    last, before = (parts[-1][1], parts[-1][0]) if parts else ("", None)
    if last and order.index(bone) < order.index(last):
        return None
    weight = candidate.bones[bone]
    if before is not None and bone != last and candidate.word.is_axis_of(before.word):
        return None
    if bone != last or before is None:
        return None if candidate.word.twist else weight + _GAIN[bone]
    if candidate.word.twist:
        return _TWIST
    alike = candidate.word.key == before.word.key
    begins = candidate.word.key in BEGINNINGS and not alike
    if begins or bone in _UNSPLIT or not candidate.word.exact:
        return weight - _MISFIT
    strong = weight >= FULL and before.bones[bone] >= FULL
    return weight - (_SPLIT if alike or strong else _MISFIT)
