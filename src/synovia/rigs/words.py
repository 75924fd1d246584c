"""Parsing of joint names into a side, a part of the body and numbers.

Names are compared in lower case, without namespaces, prefixes of programs, sides and numbers:
`mixamorig:LeftForeArm`, `Bip01 L Forearm`, `lForearmBend` and `DEF-forearm.L.001` are all a left
`forearm`. A word may have several meanings; `chains` chooses among them by the neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..skeleton import Skeleton
from .conventions import Vocabulary, vocabulary
from .human import PHALANGES, SIDES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SIDE_WORDS = {"left": _words("left l lt lf lft"), "right": _words("right r rt rgt")}
_ALL_SIDE_WORDS = _SIDE_WORDS["left"] | _SIDE_WORDS["right"]
_AXES = {"pitch", "yaw", "roll"}
"""Axes of robots, which have one joint for each; without the other two, a roll is a twist."""
_FILLERS = _words("joint jnt jt bone bn bind skin geo node link c m x j bend stretch smplhf")
_TWISTS = {"twist", "roll", "twst", "tw"}
_LEVELS = {"up", "upper", "lower", "low", "lo"}
_PALM_WORDS = {"in", "inhand", "palm", "metacarpal", "carpal", "meta"}
_VERTEBRAE = {"l": "lumbar", "t": "thoracic", "c": "cervical"}
_NO_BONES = _words(
    "ik fk pole target ctrl control controller mch helper end nub effector eff site socket attach "
    "prop weapon share corrective phys jiggle sec hair skirt dress sleeve cape cloth coat strap "
    "pad armor armour tip goal handle marker fan"
)
"""Words of controls, ends of chains and clothes."""
_ANIMAL_WORDS = _words(
    "hoof hooves paw paws forepaw hindpaw fetlock pastern hock flipper beak snout pincer "
    "foreleg frontleg hindleg rearleg backleg"
)
_AVATAR_WORDS = {"tail", "wing", "wings", "antler", "tentacle"}
"""Words of animals that also occur in avatars of upright people."""
_LEG_POSITIONS = {"front", "fore", "hind", "rear"}
_LEG_WORDS = {"leg", "upleg", "foot", "thigh", "shin", "knee", "toe", "ankle", "calf"}
_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]")
_SHARED_WORDS = 3  # at most so many first and last words are removed; no rig has more
_SHARE = 0.6  # share of a tree's joints with the same first or last word that makes it meaningless
_MIN_JOINTS = 5  # in smaller trees a shared word may be a name by chance


@dataclass(frozen=True)
class Word:
    """The meaning of one joint's name."""

    side: str = ""
    """Left, right or empty."""
    key: str = ""
    """The known word of the name, empty if it is not a bone."""
    numbers: tuple[str, ...] = ()
    """Numbers as written, and axes of robots."""
    twist: bool = False
    """True for a twist joint of the bone `key`."""
    exact: bool = True
    """False if unknown words stand before the key."""
    finger: str = ""
    """The finger, such as "Thumb"; empty if the joint belongs to none."""
    palm: bool = False
    """True for a finger's bone inside the hand."""
    deform: bool = False
    """True for a bone that is marked as deforming (DEF-)."""
    bones: Mapping[str, float] = field(default_factory=dict)
    """Bones of limbs that a sided key may mean, with weights."""
    part: str = ""
    """Part of the torso that a key without a side means."""

    def is_axis_of(self, other: Word) -> bool:
        """Return True if this is an axis (pitch, yaw, roll) of the bone that `other` names."""
        return self.key == other.key and bool(_AXES.intersection(self.numbers))


def words_of(skeleton: Skeleton) -> list[Word]:
    """Return the meaning of each joint's name.

    A first or last word that most joints of a tree share is ignored. If some bones are marked as
    deforming (DEF-), the others are controls.
    """
    lexicon = vocabulary()
    tokens = [_tokens(name, lexicon) for name in skeleton.names]
    has_axes = any({"pitch", "yaw"} & set(name_tokens) for name_tokens in tokens)
    trees: list[list[int]] = []  # for each joint, all joints of its tree
    for joint, parent in enumerate(skeleton.parents.tolist()):
        trees.append([] if parent < 0 else trees[parent])
        trees[joint].append(joint)
    for root in np.flatnonzero(skeleton.parents < 0):
        for position in (0, -1):
            _drop_shared(tokens, trees[root], position, lexicon)
    words = [_parse(name_tokens, has_axes, lexicon) for name_tokens in tokens]
    if any(word.deform and word.side and word.key for word in words):
        words = [word if word.deform else Word() for word in words]
    return words


def animal_joints(skeleton: Skeleton) -> tuple[list[str], list[str], list[str]]:
    """Return names of joints that only animals have, of their legs, and that avatars also have.

    Front and hind legs count only if two of their parts are named; one may be a muscle.
    """
    animals, legs, avatars = [], [], []
    parts, lexicon = set[str](), vocabulary()
    for name in skeleton.names:
        tokens = _tokens(name, lexicon)
        if _NO_BONES.intersection(tokens):
            continue
        words = {*tokens, *map("".join, pairwise(tokens))}
        if words & _ANIMAL_WORDS:
            animals.append(name)
        elif _LEG_POSITIONS.intersection(tokens) and _LEG_WORDS.intersection(tokens):
            legs.append(name)
            parts |= _LEG_WORDS.intersection(tokens)
        elif words & _AVATAR_WORDS:
            avatars.append(name)
    return animals, legs if len(parts) > 1 else [], avatars


def _tokens(name: str, lexicon: Vocabulary) -> list[str]:
    """Return the words and numbers of a name, in lower case; Japanese names in English."""
    text = _without_namespace(unicodedata.normalize("NFKC", name))
    if re.search(r"[\u3040-\u9fff]", text):
        side = {"左": "left", "右": "right"}.get(text[0], "")
        stem = re.sub(r"\d", "", text[1:] if side else text)
        words = [side, lexicon.synonyms.get(stem, stem), "twist" if "捩" in stem else ""]
        return [word for word in (*words, *re.findall(r"\d+", text)) if word]
    text = re.sub(r"\[[^\]]*\]", "", text)  # NPC L Thigh [LThg]
    text = re.sub(r"([LR])U(?=Arm|Leg)", r"\1Upper", re.sub(r"([LR])F(?=Arm)", r"\1Fore", text))
    return [token.lower() for token in _TOKEN.findall(text)]


def _without_namespace(name: str) -> str:
    """Return the last part of a path that has letters."""
    parts = [part for part in re.split(r"[:|#/\\]", name) if re.search(r"[^\W\d_]", part)]
    return parts[-1] if parts else name


def _drop_shared(
    tokens: list[list[str]], joints: Sequence[int], position: int, lexicon: Vocabulary
) -> None:
    """Remove, in place, unknown first (0) or last (-1) words that most names share."""
    for _ in range(_SHARED_WORDS):
        long = [joint for joint in joints if len(tokens[joint]) > 1]
        shared = Counter(tokens[joint][position] for joint in long).most_common(1)
        if len(joints) < _MIN_JOINTS or not shared or shared[0][1] < _SHARE * len(joints):
            return
        word = shared[0][0]
        means_something = word in lexicon or word in _ALL_SIDE_WORDS | _LEVELS or word.isdigit()
        if means_something or [word] in lexicon.ignored:
            return
        for joint in long:
            if tokens[joint][position] == word:
                del tokens[joint][position]


def _parse(tokens: list[str], has_axes: bool, lexicon: Vocabulary) -> Word:
    """Return the meaning of a name from its tokens; `has_axes` if joints are named after axes."""
    deform = "def" in tokens[:1]
    if _NO_BONES.intersection(tokens):
        return Word()
    tokens = _drop_prefixes(tokens, lexicon)
    numbers = tuple(token for token in tokens if token.isdigit())
    words = [
        token
        for before, token in zip(["", *tokens], tokens, strict=False)
        if not token.isdigit() and (token not in _FILLERS or (before, token) == ("hip", "joint"))
    ]
    if len(numbers) == 1 and len(tokens) == 2 and tokens[0].removeprefix("v") in _VERTEBRAE:
        key = _VERTEBRAE[tokens[0].removeprefix("v")]
        return Word(key=key, numbers=numbers, deform=deform, part=lexicon.torso[key])
    twist = bool(_TWISTS.intersection(words)) and not (has_axes and _AXES.intersection(words))
    numbers += tuple(token for token in words if token in _AXES)
    side, words = _split_side([token for token in words if token not in _TWISTS | _AXES], lexicon)
    finger = _finger(words, numbers, lexicon)
    key, exact = _longest_known(words, lexicon)
    if finger:
        key = ""
    return Word(
        side,
        key,
        numbers,
        twist,
        exact,
        finger,
        palm=finger not in ("", "Thumb") and bool(_PALM_WORDS.intersection(words)),
        deform=deform,
        bones=lexicon.limbs.get(key, {}) if side else {},
        part="" if side else lexicon.torso.get(key, ""),
    )


def _drop_prefixes(tokens: list[str], lexicon: Vocabulary) -> list[str]:
    """Return tokens without prefixes of programs and the numbers after them."""
    while len(tokens) > 1:
        phrase = next((p for p in lexicon.ignored if tokens[: len(p)] == p), None)
        if phrase is None:
            break
        tokens = tokens[len(phrase) :]
        while len(tokens) > 1 and tokens[0].isdigit():
            tokens = tokens[1:]
    return tokens


def _split_side(words: list[str], lexicon: Vocabulary) -> tuple[str, list[str]]:
    """Return the side, empty if none or both are named, and the words without it."""
    sides = [side for side in SIDES if _SIDE_WORDS[side].intersection(words)]
    if sides:
        rest = [word for word in words if word not in _ALL_SIDE_WORDS]
        return (sides[0] if len(sides) == 1 else ""), rest
    for position, word in enumerate(words):
        for side in SIDES:
            for mark in (side, side[0]):
                for bare in (word.removeprefix(mark), word.removesuffix(mark)):
                    if word not in lexicon and bare != word and bare in lexicon:
                        return side, [*words[:position], bare, *words[position + 1 :]]
    return "", words


def _longest_known(words: Sequence[str], lexicon: Vocabulary) -> tuple[str, bool]:
    """Return the longest known word that ends the name, and True if it is the whole name."""
    for start in range(len(words)):
        key = "".join(words[start:])
        if key in lexicon:
            return key, start == 0
    return "", False


def _finger(words: Sequence[str], numbers: Sequence[str], lexicon: Vocabulary) -> str:
    """Return the finger that a name means, such as "Thumb"; empty for none."""
    if {"foot", "toe", "toes"}.intersection(words):
        return ""
    for word in words:
        if word in lexicon.fingers:
            return lexicon.fingers[word]
    if "finger" in words and numbers:
        # finger1-1 belongs to the thumb, as do Biped's Finger0 and Finger01.
        index = int(numbers[0]) - 1 if len(numbers) > 1 else int(numbers[0][0])
        return list(PHALANGES)[index] if 0 <= index < len(PHALANGES) else ""
    return ""
