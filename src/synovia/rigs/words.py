"""What the names of joints say: a side, a part of the body, whether it is a bone at all.

Words are compared in lower case, without namespaces, prefixes of programs, sides and numbers:
`mixamorig:LeftForeArm`, `Bip01 L Forearm`, `lForearmBend` and `DEF-forearm.L.001` are all a left
`forearm`. A word may stand for several bones; which one it is depends on its neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ..skeleton import Skeleton

_Value = TypeVar("_Value")

FULL = 1.0
"""The weight of a bone that a word usually stands for; less is a weak reading."""
INEXACT = 0.5
"""By this much a reading is weaker where words before it are not understood."""


def _table(rows: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return what each word stands for, from rows of several words."""
    return {word: value for words, value in rows.items() for word in words.split()}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LEG_WORDS: Mapping[str, Mapping[str, float]] = _table(
    {
        "thigh upleg upperleg femur upperthigh upthigh legupper legup": {"UpperLeg": FULL},
        "hip hips": {"UpperLeg": 0.9},
        "hipjoint": {"UpperLeg": 0.5},
        "leg": {"LowerLeg": FULL, "UpperLeg": 0.8},
        "shin calf tibia crus knee shank": {"LowerLeg": FULL},
        "lowerleg lowleg loleg leglower legdown": {"LowerLeg": FULL},
        "ankle talus calcn calcaneus talocrural": {"Foot": FULL},
        "foot": {"Foot": FULL, "Toes": 0.6},
        "toe toes toebase ball footindex foottoe metatarsophalangeal": {"Toes": FULL},
        "bigtoe": {"Toes": 0.9},
    }
)
"""The bones of a leg that a word with a side may stand for, each with the weight of the reading."""
ARM_WORDS: Mapping[str, Mapping[str, float]] = _table(
    {
        "clavicle clav collar collarbone scapula shoulderblade": {"Shoulder": FULL},
        "sternoclavicular acromioclavicular": {"Shoulder": FULL},
        "shoulder": {"Shoulder": FULL, "UpperArm": 0.8},
        "upperarm uparm uarm humerus shldr armupper armup": {"UpperArm": FULL},
        "arm": {"UpperArm": FULL, "LowerArm": 0.4},
        "forearm forarm farm lowerarm lowarm loarm armlower armdown": {"LowerArm": FULL},
        "radius ulna elbow": {"LowerArm": FULL},
        "wrist radiocarpal": {"Hand": FULL},
        "palm fist": {"Hand": 0.9},
        "hand fingerbase": {"Hand": FULL, "Fingers": 0.6},
        "fingers finger": {"Fingers": FULL},
    }
)
"""The bones of an arm that a word with a side may stand for; `Fingers` is no role, but an end."""
BEGINNINGS = {"hip", "hips", "hipjoint", "knee", "elbow"}
"""Joints by which a bone begins: what has such a name is not the second half of another."""
TORSO_WORDS: Mapping[str, str] = _table(
    {
        "hips hip pelvis lowerbody sacrum sacroiliac": "hips",
        "root center centre cog reference": "root",
        "spine lowerspine midspine upperspine spinelower spinemid spineupper": "spine",
        "back lowerback upperback waist belly stomach ab body upperbody lowertorso": "spine",
        "abdomen abdomenlower abdomenupper lowerabdomen upperabdomen lumbar thoracic": "spine",
        "chest lowerchest upperchest chestlower chestupper": "chest",
        "thorax torso uppertorso trunk ribcage sternum": "chest",
        "neck cervical lowerneck upperneck necklower neckupper": "neck",
        "head skull cranium skullbase": "head",
    }
)
"""The part of the torso that a word without a side stands for."""
FINGER_WORDS = _table(
    {
        "thumb": "Thumb",
        "index pointer": "Index",
        "middle mid": "Middle",
        "ring": "Ring",
        "pinky pinkie little": "Little",
    }
)
_NUMBERED_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
_PALM_WORDS = {"in", "inhand", "palm", "metacarpal", "carpal", "meta"}
"""With these before it, a finger's word is a bone inside the hand."""
_VERTEBRAE = _table({"l vl": "lumbar", "t vt": "thoracic", "c vc": "cervical"})
_JAPANESE = _table(
    {
        "センター グルーブ 全ての親": "root",
        "腰": "waist",
        "下半身": "lowerbody",
        "上半身": "upperbody",
        "首": "neck",
        "頭": "head",
        "肩": "clavicle",
        "腕 腕捩 腕捩れ": "upperarm",
        "ひじ 肘 ヒジ": "elbow",
        "手捩 手捩れ": "forearm",
        "手首": "wrist",
        "足": "thigh",
        "ひざ 膝 ヒザ": "knee",
        "足首": "ankle",
        "つま先 爪先 足先EX": "toe",
        "親指": "thumb",
        "人指 人差指 人差し指": "index",
        "中指": "middle",
        "薬指": "ring",
        "小指": "little",
    }
)
"""MikuMikuDance's names of bones, without side and numbers; others are controls and clothes."""

_LEFT = {"left", "l", "lt", "lf", "lft"}
_RIGHT = {"right", "r", "rt", "rgt"}
_PREFIXES = _words(
    "mixamorig mixamo valve biped bip def org cc character char rig armature skeleton skel sk "
    "metarig actor j b f"
)
_AXES = {"pitch", "yaw", "roll"}
"""Robots have a joint for each axis; without the other two, a roll is a twist."""
_FILLERS = _words("joint jnt jt bone bn bind skin geo node link c m x j bend stretch")
"""Words that say nothing of a bone."""
_TWISTS = {"twist", "roll", "twst", "tw"}
_NO_BONES = _words(
    "ik fk pole target ctrl control controller mch helper end nub effector eff site socket attach "
    "prop weapon share corrective phys jiggle sec hair skirt dress sleeve cape cloth coat strap "
    "pad armor armour tip goal handle marker fan"
)
"""A joint with such a word in its name is a control, an end or clothes."""
_ANIMAL_WORDS = _words(
    "hoof hooves paw paws forepaw hindpaw fetlock pastern hock flipper beak snout pincer "
    "foreleg frontleg hindleg rearleg backleg"
)
_AVATAR_WORDS = _words("tail wing wings antler tentacle")
"""Animals have these, and so have avatars of people who stand upright."""
_PLACES = {"front", "fore", "hind", "rear"}
_LEG_LIKE = {"leg", "upleg", "foot", "thigh", "shin", "knee", "toe", "ankle", "calf"}

_KNOWN = {*LEG_WORDS, *ARM_WORDS, *TORSO_WORDS, *FINGER_WORDS}
_TOKEN = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]")
_MOST_SHARED = 3
_SHARE = 0.6
"""A first or last word that this share of a tree's joints has says nothing."""
_LEVELS = {"up", "upper", "lower", "low", "lo"}
_FEWEST = 5


@dataclass(frozen=True)
class Word:
    """What the name of one joint says.

    `side` is left, right or empty; `key` the words that are left, joined, and empty for what is no
    bone; `numbers` those in the name, as they are written, and the axes of robots. A `twist` bone
    belongs to the bone of its key. `exact` is False where words before the key are not understood.
    `finger` and `palm` tell the fingers, and bones inside the hand; `deform` a bone marked so.
    """

    side: str = ""
    key: str = ""
    numbers: tuple[str, ...] = ()
    twist: bool = False
    exact: bool = True
    finger: str = ""
    palm: bool = False
    deform: bool = False

    def is_axis_of(self, other: Word) -> bool:
        """Return whether the two are axes of one joint of a robot."""
        return self.key == other.key and bool(_AXES.intersection(self.numbers))


def words_of(skeleton: Skeleton) -> list[Word]:
    """Return what the name of each joint says.

    A first or last word that most joints of a tree have is left out, whatever it is. Where some
    bones are marked as those that deform (DEF-), the others are controls.
    """
    names = [unicodedata.normalize("NFKC", name) for name in skeleton.names]
    tokens = [_tokens(name) for name in names]
    axes = any({"pitch", "yaw"} & set(each) for each in tokens)
    trees: list[list[int]] = []  # for each joint, all joints of its tree
    for joint, parent in enumerate(skeleton.parents.tolist()):
        trees.append([] if parent < 0 else trees[parent])
        trees[joint].append(joint)
    for root in np.flatnonzero(skeleton.parents < 0):
        _drop_shared(tokens, trees[root], 0)
        _drop_shared(tokens, trees[root], -1)
    words = [
        _japanese(name) if _is_japanese(name) else _word(each, axes=axes)
        for name, each in zip(names, tokens, strict=True)
    ]
    if any(word.deform and word.side and word.key for word in words):
        words = [word if word.deform else Word() for word in words]
    return words


def animal_joints(skeleton: Skeleton) -> tuple[list[str], list[str], list[str]]:
    """Return joints by their names: of animals alone, of front and hind legs, of avatars, too.

    Front legs count where two of their parts are named; one may be a muscle of a thigh.
    """
    animals, legs, avatars = [], [], []
    parts: set[str] = set()
    for name in skeleton.names:
        tokens = _tokens(unicodedata.normalize("NFKC", name))
        if _NO_BONES.intersection(tokens):
            continue
        spoken = {*tokens, *map("".join, pairwise(tokens))}
        if spoken & _ANIMAL_WORDS:
            animals.append(name)
        elif _PLACES.intersection(tokens) and _LEG_LIKE.intersection(tokens):
            legs.append(name)
            parts |= _LEG_LIKE.intersection(tokens)
        elif spoken & _AVATAR_WORDS:
            avatars.append(name)
    return animals, legs if len(parts) > 1 else [], avatars


def _tokens(name: str) -> list[str]:
    """Return the words and numbers of a name, in lower case."""
    text = re.sub(r"\[[^\]]*\]", "", _bare(name))  # NPC L Thigh [LThg]
    text = re.sub(r"([LR])U(?=Arm|Leg)", r"\1Upper", re.sub(r"([LR])F(?=Arm)", r"\1Fore", text))
    return [token.lower() for token in _TOKEN.findall(text)]


def _bare(name: str) -> str:
    """Return a name without namespaces: the last part that has letters."""
    parts = [part for part in re.split(r"[:|#/\\]", name) if re.search(r"[^\W\d_]", part)]
    return parts[-1] if parts else name


def _drop_shared(tokens: list[list[str]], joints: Sequence[int], place: int) -> None:
    """Leave out the first or last word (place 0, -1) of most names, unless it says something."""
    for _ in range(_MOST_SHARED):
        long = [joint for joint in joints if len(tokens[joint]) > 1]
        shared = Counter(tokens[joint][place] for joint in long).most_common(1)
        if len(joints) < _FEWEST or not shared or shared[0][1] < _SHARE * len(joints):
            return
        word = shared[0][0]
        if word in _KNOWN | _LEFT | _RIGHT | _PREFIXES | _LEVELS or word.isdigit():
            return
        for joint in long:
            if tokens[joint][place] == word:
                del tokens[joint][place]


def _word(tokens: list[str], *, axes: bool) -> Word:
    deform = "def" in tokens[:1]
    if _NO_BONES.intersection(tokens):
        return Word()
    while len(tokens) > 1 and tokens[0] in _PREFIXES:
        base = tokens[:2] == ["cc", "base"]
        tokens = tokens[2:] if base else tokens[1:]
        while len(tokens) > 1 and tokens[0].isdigit():
            tokens = tokens[1:]
    numbers = tuple(token for token in tokens if token.isdigit())
    letters = [
        token
        for before, token in zip(["", *tokens], tokens, strict=False)
        if not token.isdigit() and (token not in _FILLERS or (before, token) == ("hip", "joint"))
    ]
    if len(numbers) == 1 and len(tokens) == 2 and tokens[0] in _VERTEBRAE:
        return Word(key=_VERTEBRAE[tokens[0]], numbers=numbers, deform=deform)
    twist = bool(_TWISTS.intersection(letters)) and not (axes and _AXES.intersection(letters))
    numbers += tuple(token for token in letters if token in _AXES)
    letters = [token for token in letters if token not in _TWISTS | _AXES]
    side, letters = _side(letters)
    key, exact = _key(letters)
    finger = _finger(letters, numbers)
    palm = finger not in ("", "Thumb") and bool(_PALM_WORDS.intersection(letters))
    if finger:
        key = ""
    return Word(side, key, numbers, twist, exact, finger, palm, deform)


def _side(letters: list[str]) -> tuple[str, list[str]]:
    """Return the side that words name, empty if none or both, and the words without it."""
    lefts, rights = ([token for token in letters if token in each] for each in (_LEFT, _RIGHT))
    if lefts or rights:
        words = [token for token in letters if token not in _LEFT | _RIGHT]
        if lefts and rights:
            return "", words
        return ("left" if lefts else "right"), words
    for place, token in enumerate(letters):
        for side, marks in (("left", ("left", "l")), ("right", ("right", "r"))):
            if token in _KNOWN:
                continue
            for mark in marks:
                if bare := _without(token, mark):
                    return side, [*letters[:place], bare, *letters[place + 1 :]]
    return "", letters


def _without(token: str, mark: str) -> str:
    """Return a word without the mark of a side before or behind it; empty if it has none."""
    candidates = [token.removeprefix(mark), token.removesuffix(mark)]
    return next((each for each in candidates if each != token and each in _KNOWN), "")


def _key(letters: Sequence[str]) -> tuple[str, bool]:
    """Return the longest known word at the end, and whether it is all that there is."""
    for start in range(len(letters)):
        key = "".join(letters[start:])
        if key in _KNOWN:
            return key, start == 0
    return "", False


def _finger(letters: Sequence[str], numbers: Sequence[str]) -> str:
    if {"foot", "toe", "toes"}.intersection(letters):
        return ""
    for token in letters:
        if token in FINGER_WORDS:
            return FINGER_WORDS[token]
    if "finger" in letters and numbers:
        # finger1-1 is a thumb's, and so are Biped's Finger0 and Finger01.
        which = int(numbers[0]) - 1 if len(numbers) > 1 else int(numbers[0][0])
        return _NUMBERED_FINGERS[which] if 0 <= which < len(_NUMBERED_FINGERS) else ""
    return ""


def _is_japanese(name: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in name)


def _japanese(name: str) -> Word:
    bare = _bare(name)
    side = {"左": "left", "右": "right"}.get(bare[:1], "")
    stem = re.sub(r"\d", "", bare[1:] if side else bare)
    key = _JAPANESE.get(stem, "")
    finger = FINGER_WORDS.get(key, "")
    numbers = tuple(re.findall(r"\d+", bare))
    return Word(side, "" if finger else key, numbers, "捩" in stem, finger=finger)
