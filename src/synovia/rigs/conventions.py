"""Naming conventions of rigs, as data.

The vocabulary says which bones a word may mean in any rig. A `Convention` adds what is particular
to one program. To support another program, add an entry to `CONVENTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..skeleton import bare_name


@dataclass(frozen=True)
class Convention:
    """The joint names of one program.

    A skeleton follows the convention if more than half of its names begin with `prefix`, or if it
    has all joints of one entry of `joints`. Names are compared in lower case, without namespaces.
    """

    prefix: str = ""
    joints: tuple[str, ...] = ()
    """Entries such as "upperarm_l thigh_l": joints that together identify the convention."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Added words, separated by spaces in each key, with a known word of the same meaning."""
    ignored: tuple[str, ...] = ()
    """Words before joint names that have no meaning, in lower case."""


CONVENTIONS: dict[str, Convention] = {
    "Mixamo": Convention(prefix="mixamorig", ignored=("mixamorig", "mixamo")),
    "Source": Convention(prefix="valvebiped", ignored=("valve", "biped")),
    "Biped": Convention(prefix="bip0", ignored=("bip",)),
    "VRoid": Convention(joints=("j_bip_l_upperarm",), ignored=("j",)),
    "Character Creator": Convention(joints=("cc_base_l_upperarm",), ignored=("cc base", "cc")),
    "Rigify": Convention(
        joints=("def-upper_arm.l", "upper_arm.l spine.001"), ignored=("def", "org", "metarig")
    ),
    "MakeHuman": Convention(joints=("upperleg01.l upperleg02.l",)),
    "Unreal": Convention(joints=("upperarm_l thigh_l calf_l",)),
    "Bandai Namco": Convention(joints=("upperarm_l upperleg_l lowerleg_l",)),
    "DAZ": Convention(joints=("lshldrbend lthighbend",)),
    "Poser": Convention(joints=("lshldr lthigh",), words={"shldr": "upperarm"}),
    "CMU": Convention(
        joints=("lhumerus lfemur", "lhipjoint leftupleg leftfingerbase"),
        words={"fingerbase": "hand"},
    ),
    "SMPL": Convention(joints=("left_collar left_hip spine3", "l_collar l_hip spine3")),
    "MANO": Convention(joints=("left_wrist left_index1", "right_wrist right_index1")),
    "OpenXR": Convention(
        prefix="xr_hand_joint", joints=("wrist thumb-metacarpal index-finger-phalanx-proximal",)
    ),
    "Synovia": Convention(joints=("sternum leftscapula leftupperarm",)),
    "Xsens": Convention(joints=("l5 l3 t12 t8",)),
    "OpenSim": Convention(joints=("femur_r calcn_r",), words={"talus calcn calcaneus": "ankle"}),
    "H-Anim": Convention(
        words={
            "sacroiliac": "pelvis",
            "skullbase": "skull",
            "sternoclavicular acromioclavicular": "clavicle",
            "radiocarpal": "wrist",
            "talocrural": "ankle",
            "metatarsophalangeal": "toe",
        }
    ),
    "MikuMikuDance": Convention(
        joints=("左腕 上半身",),
        words={
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
        },
    ),
    "Advanced Skeleton": Convention(joints=("scapula_l root_m",)),
    "SlimeVR": Convention(joints=("hmd left-hip",)),
    "Rokoko": Convention(joints=("leftinhandindex leftupleg", "leftthigh leftshin leftupperarm")),
    "DeepMimic": Convention(joints=("right_hip right_knee right_shoulder chest",)),
    "MediaPipe": Convention(joints=("left_foot_index",), words={"footindex": "toe"}),
    "HumanIK": Convention(joints=("leftupleg leftforearm leftarm",)),
    "VRM": Convention(
        joints=(
            "leftupperarm leftlowerarm leftlowerleg upperchest",
            "hips spine leftupperarm leftlowerarm leftupperleg leftlowerleg",
        )
    ),
}
"""Known conventions by name; the first that fits is reported."""

FULL = 1.0  # weight of the usual meaning of a word; others weigh less
LIMB_WORDS: Mapping[str, Mapping[str, float]] = {
    "thigh upleg upperleg femur upperthigh upthigh legupper legup": {"UpperLeg": FULL},
    "hip hips": {"UpperLeg": 0.9},
    "hipjoint": {"UpperLeg": 0.5},
    "leg": {"LowerLeg": FULL, "UpperLeg": 0.8},
    "shin calf tibia crus knee shank": {"LowerLeg": FULL},
    "lowerleg lowleg loleg leglower legdown": {"LowerLeg": FULL},
    "ankle": {"Foot": FULL},
    "foot": {"Foot": FULL, "Toes": 0.6},
    "toe toes toebase ball foottoe": {"Toes": FULL},
    "bigtoe": {"Toes": 0.9},
    "clavicle clav collar collarbone scapula shoulderblade": {"Shoulder": FULL},
    "shoulder": {"Shoulder": FULL, "UpperArm": 0.8},
    "upperarm uparm uarm humerus armupper armup": {"UpperArm": FULL},
    "arm": {"UpperArm": FULL, "LowerArm": 0.4},
    "forearm forarm farm lowerarm lowarm loarm armlower armdown": {"LowerArm": FULL},
    "radius ulna elbow": {"LowerArm": FULL},
    "wrist": {"Hand": FULL},
    "palm fist": {"Hand": 0.9},
    "hand": {"Hand": FULL, "Fingers": 0.6},
    "fingers finger": {"Fingers": FULL},
    "eye eyeball": {"Eye": FULL},
}
"""Bones of a limb that words with a side may mean, with the weight of each meaning.

`Fingers` is not a role; it marks the end of a hand. `Eye` is on the head, not in a limb.
"""
TORSO_WORDS: Mapping[str, str] = {
    "hips hip pelvis lowerbody sacrum": "hips",
    "root center centre cog reference": "root",
    "spine lowerspine midspine upperspine spinelower spinemid spineupper": "spine",
    "back lowerback upperback waist belly stomach ab body upperbody lowertorso": "spine",
    "abdomen abdomenlower abdomenupper lowerabdomen upperabdomen lumbar thoracic": "spine",
    "chest lowerchest upperchest chestlower chestupper": "chest",
    "thorax torso uppertorso trunk ribcage sternum": "chest",
    "neck cervical lowerneck upperneck necklower neckupper": "neck",
    "head skull cranium": "head",
    "jaw mandible": "jaw",
}
"""Parts of the torso that words without a side mean."""
FINGER_WORDS: Mapping[str, str] = {
    "thumb": "Thumb",
    "index pointer": "Index",
    "middle mid": "Middle",
    "ring": "Ring",
    "pinky pinkie little": "Little",
}
IGNORED = ("character", "char", "rig", "armature", "skeleton", "skel", "sk", "actor", "b", "f")
"""Words before joint names that have no meaning in any convention."""


@dataclass(frozen=True)
class Vocabulary:
    """All words that joint names may contain."""

    limbs: dict[str, Mapping[str, float]]
    torso: dict[str, str]
    fingers: dict[str, str]
    synonyms: dict[str, str]
    ignored: list[list[str]]
    """Phrases, as lists of words, that are removed from the beginning of names; longest first."""

    def __contains__(self, word: object) -> bool:
        return word in self.limbs or word in self.torso or word in self.fingers


def vocabulary() -> Vocabulary:
    """Return the general vocabulary with the words of all conventions."""
    synonyms: dict[str, str] = {}
    ignored = [[word] for word in IGNORED]
    for convention in CONVENTIONS.values():
        synonyms |= _by_word(convention.words)
        ignored += [phrase.split() for phrase in convention.ignored]
    limbs, torso, fingers = map(_by_word, (LIMB_WORDS, TORSO_WORDS, FINGER_WORDS))
    for table in (limbs, torso, fingers):
        table |= {word: table[same] for word, same in synonyms.items() if same in table}
    return Vocabulary(limbs, torso, fingers, synonyms, sorted(ignored, key=len, reverse=True))


def _by_word(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of each row for every word of its key."""
    return {word: value for words, value in rows.items() for word in words.split()}


def convention_of(names: Iterable[str]) -> str | None:
    """Return the name of the convention that joint names follow; None if none is known."""
    lower = [name.lower() for name in names]
    bare = {bare_name(name) for name in lower}
    for name, convention in CONVENTIONS.items():
        prefix = convention.prefix
        prefixed = [joint for joint in lower if joint.startswith(prefix) or f"|{prefix}" in joint]
        if prefix and len(prefixed) > len(lower) / 2:
            return name
        if any(bare.issuperset(joints.split()) for joints in convention.joints):
            return name
    return None
