"""Humans are recognised in skeletons of any names; what is none is refused, and says why."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigs import ON_ALL_FOURS, PLACES, RIGS, rig
from synovia import Skeleton, human, load_clip, quat
from synovia.io import clip_from_poses
from synovia.rigs import (
    FACE,
    FINGERS,
    PARENTS,
    ROLES,
    NotHumanError,
    Rig,
    align,
    parent_role,
    recognize,
)
from synovia.rigs.words import words_of

DATA = Path(__file__).parents[2] / "shared" / "data"
EXCHANGED = "left and right look exchanged"


@pytest.fixture(params=RIGS)
def text(request):
    return RIGS[request.param]


def noted(found, words):
    return any(words in note for note in found.notes)


def part(text, *missing):
    """Return a rig without the lines that have one of these words."""
    return "\n".join(
        line for line in text.splitlines() if not any(each in line for each in missing)
    )


# The canonical human.


def test_parents_come_first_and_sides_are_alike():
    assert len(ROLES) == 22
    assert len(FINGERS) == 30
    order = list(PARENTS)
    assert order == [*ROLES, *FINGERS, *FACE]
    assert all(
        above is None or order.index(above) < order.index(role) for role, above in PARENTS.items()
    )
    lefts = {role.removeprefix("left") for role in order if role.startswith("left")}
    assert lefts == {role.removeprefix("right") for role in order if role.startswith("right")}


def test_missing_roles_are_skipped_on_the_way_up():
    assert parent_role("leftUpperArm", {"hips", "chest"}) == "chest"
    assert parent_role("leftThumbProximal", {"leftHand"}) == "leftHand"
    assert parent_role("hips", PARENTS) is None


# Names.


def test_every_convention_is_recognised(text):
    skeleton, roles, starts = rig(text)
    found = recognize(skeleton)
    assert dict(found.roles) == roles
    assert dict(found.starts) == starts
    assert set(found.confidence) == set(roles)
    assert all(0.5 < sure <= 1.0 for sure in found.confidence.values())
    assert not noted(found, EXCHANGED)


def test_sides_are_never_swapped(text):
    skeleton, roles, _ = rig(text, exchange=True)
    found = recognize(skeleton)
    assert dict(found.roles) == roles  # what is called left is left, wherever it is
    assert noted(found, EXCHANGED) == ("leftToes" in roles)  # only feet tell where it faces


def test_rest_pose_need_not_be_a_pose(text):
    """As in some captures, where every bone lies along one axis until a frame turns it."""
    skeleton, roles, _ = rig(text)
    along = np.linalg.norm(skeleton.offsets, axis=1)[:, None] * np.array([1.0, 0.0, 0.0])
    found = recognize(replace(skeleton, offsets=along))
    assert dict(found.roles) == roles
    assert not noted(found, EXCHANGED)


def test_world_and_unit_do_not_matter(text):
    skeleton, roles, _ = rig(text)
    offsets = 100.0 * quat.rotate(quat.exp(np.array([1.2, 0.7, -1.0])), skeleton.offsets)
    found = recognize(replace(skeleton, offsets=offsets))
    upright = recognize(skeleton)
    assert dict(found.roles) == roles
    assert (found.notes, dict(found.confidence)) == (upright.notes, dict(upright.confidence))


@pytest.mark.parametrize(
    ("name", "convention"),
    [
        ("Mixamo", "Mixamo"),
        ("CMU", "CMU"),
        ("CMU, ASF", "CMU"),
        ("Biped", "Biped"),
        ("Rigify, bones that deform", "Rigify"),
        ("SMPL, short", "SMPL"),
        ("capitals", "names"),
    ],
)
def test_conventions_are_told(name, convention):
    assert recognize(rig(RIGS[name])[0]).convention == convention


@pytest.mark.parametrize(
    ("name", "side", "key"),
    [
        ("LeftUpLeg", "left", "upleg"),
        ("lThigh", "left", "thigh"),
        ("rhumerus", "right", "humerus"),
        ("HandR", "right", "hand"),
        ("hand_l_01", "left", "hand"),
        ("Bip01 R Foot", "right", "foot"),
        ("upper_arm.L.001", "left", "upperarm"),
        ("rig:grp|hero:right_knee", "right", "knee"),
        ("leg", "", "leg"),
        ("radius", "", "radius"),
        ("lowerleg", "", "lowerleg"),
        ("L5", "", "lumbar"),
        ("C7", "", "cervical"),
        ("右ひざ", "right", "knee"),
        ("ik_foot_l", "", ""),
        ("HeadTop_End", "", ""),
        ("upright", "", ""),
        ("LeftHandIndex1", "left", ""),
        ("L_to_R", "", ""),
    ],
)
def test_names_are_taken_apart(name, side, key):
    word = words_of(Skeleton((name,), [-1], [[0.0, 0.0, 0.0]]))[0]
    assert (word.side, word.key) == (side, key)


def test_default_human():
    found = recognize(human().skeleton)
    assert found.convention == "Synovia"
    assert (found.roles["hips"], found.roles["chest"], found.roles["head"]) == (
        "Pelvis",
        "Sternum",
        "Head",
    )
    assert (found.starts["spine"], found.roles["spine"]) == ("L5", "T6")
    assert (found.starts["neck"], found.roles["neck"]) == ("C7", "C1")
    assert (found.starts["leftLowerArm"], found.roles["leftLowerArm"]) == (
        "LeftLowerArm",
        "LeftForearm",
    )
    assert found.torso[0] == "Pelvis"
    assert found.torso[-1] == "Sternum"
    assert len(found.torso) == 14
    assert found.neck[-1] == "Head"


@pytest.mark.parametrize("joints", [24, 52, 55])
def test_bodies_of_smpl(joints):
    found = recognize(clip_from_poses(np.zeros((1, joints, 3))).skeleton)
    assert found.convention == "SMPL"
    assert (found.roles["leftToes"], found.roles["leftHand"]) == ("left_foot", "left_wrist")
    assert set(ROLES) - set(found.roles) == {"upperChest"}
    assert ("leftIndexDistal" in found.roles) == (joints > 24)


PARTS = (
    *("Left", "Right", "_L", "_R", "左", "右", "Arm", "Leg", "Hip", "Foot", "Hand", "Shoulder"),
    *("Spine", "Head", "Upper", "Lower", "足", "Index", "twist", "IK", "tail", "01", ".", "x"),
)


@pytest.mark.parametrize("seed", range(10))
def test_any_names_are_answered_and_sides_kept(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        text = part(RIGS[rng.choice(list(RIGS))], rng.choice(PARTS[6:20]))
        skeleton, *_ = rig(text.strip("\n") or RIGS["SMPL"], exchange=bool(rng.random() < 0.5))
        names = [
            (name if rng.random() < 0.95 else "".join(rng.choice(PARTS, 3))) + f"~{joint}"
            for joint, name in enumerate(skeleton.names)
        ]
        offsets = skeleton.offsets * rng.choice([0.0, 1.0, -1.0, 100.0])
        skeleton = replace(skeleton, names=tuple(names), offsets=offsets)
        try:
            found = recognize(skeleton)
        except NotHumanError:
            continue
        words = words_of(skeleton)
        for role, joint in (*found.roles.items(), *found.starts.items()):
            side = next((each for each in ("left", "right") if role.startswith(each)), "")
            assert side in (words[skeleton.index(joint)].side, "")


# What tree and rest pose say to names.


def test_a_foot_on_another_branch_is_no_foot():
    text = """
Root -
 Hips hips
  Torso chest
   Head head
   UpperArm.{L} UpperArm
    LowerArm.{L} LowerArm
  UpperLeg.{L} UpperLeg
   LowerLeg.{L} LowerLeg
 Foot.{L} -
"""
    found = recognize(rig(text)[0])
    assert "leftFoot" not in found.roles
    assert noted(found, "missing: spine, neck, leftShoulder, leftHand")


def test_an_arm_on_the_other_side_is_doubted():
    skeleton, roles, _ = rig(RIGS["Bandai Namco"])
    offsets = skeleton.offsets.copy()
    for joint, name in enumerate(skeleton.names):
        if "Arm" in name or "Hand" in name or "Shoulder" in name:
            offsets[joint, 0] *= -1.0
    found = recognize(replace(skeleton, offsets=offsets))
    assert dict(found.roles) == roles
    assert noted(found, "the left arm is on the side of the right leg")
    assert found.confidence["leftUpperArm"] <= 0.5 < found.confidence["hips"]


def test_a_bone_between_two_that_is_not_understood_is_told():
    text = RIGS["no pause between words"].replace(
        "   {left}forearm LowerArm\n    {left}hand Hand",
        "   {left}gadget -\n    {left}forearm LowerArm\n     {left}hand Hand",
    )
    found = recognize(rig(text)[0])
    assert noted(found, "leftgadget between leftUpperArm and leftLowerArm")
    assert found.confidence["leftLowerArm"] < 1.0


def test_copies_of_a_limb_in_one_place_are_not_used():
    copy = " {left}_thigh -\n  {left}_calf -\n   {left}_foot -\n"
    skeleton, roles, _ = rig(RIGS["no pause between words"] + copy)
    thigh = skeleton.index("leftthigh")
    offsets = skeleton.offsets.copy()
    for side in ("left", "right"):
        offsets[skeleton.index(f"{side}_thigh")] = offsets[skeleton.index(f"{side}thigh")]
    found = recognize(replace(skeleton, offsets=offsets))
    assert thigh == skeleton.index(found.roles["leftUpperLeg"])
    assert dict(found.roles) == roles


# Parts of humans.


def test_a_body_without_legs():
    skeleton, roles, _ = rig(part(RIGS["Bandai Namco"], "Leg", "Foot", "Toes"))
    found = recognize(skeleton)
    assert dict(found.roles) == roles
    assert found.roles["hips"] == "Hips"
    assert noted(found, "missing: leftUpperLeg")


def test_a_body_without_arms():
    skeleton, roles, _ = rig(part(RIGS["Bandai Namco"], "Arm", "Hand", "Shoulder"))
    found = recognize(skeleton)
    assert dict(found.roles) == roles


def test_a_body_with_one_arm():
    skeleton, roles, _ = rig(RIGS["Bandai Namco"])
    gone = ("Shoulder_R", "UpperArm_R", "LowerArm_R", "Hand_R")
    kept = [joint for joint, name in enumerate(skeleton.names) if name not in gone]
    number = {joint: place for place, joint in enumerate(kept)}
    parents = [number.get(int(skeleton.parents[joint]), -1) for joint in kept]
    names = tuple(skeleton.names[joint] for joint in kept)
    found = recognize(Skeleton(names, parents, skeleton.offsets[kept]))
    assert dict(found.roles) == {role: name for role, name in roles.items() if name not in gone}


def test_a_torso_of_one_joint():
    text = RIGS["no pause between words"].replace(" spine chest\n", "").replace("\n  ", "\n ")
    found = recognize(rig(text)[0])
    assert found.roles["hips"] == found.roles["chest"] == "pelvis"
    assert found.torso == ("pelvis",)
    assert noted(found, "the torso does not bend")


def test_thighs_below_the_spine():
    """As in old bipeds of 3ds Max."""
    spine = RIGS["Biped"].replace("  Bip01 {L} Thigh", "   Bip01 {L} Thigh")
    legs = spine.index("   Bip01 {L} Thigh")
    text = spine[:legs] + spine[legs:].replace("\n ", "\n  ")
    skeleton, roles, _ = rig(text)
    assert skeleton.names[skeleton.parents[skeleton.index("Bip01 L Thigh")]] == "Bip01 Spine"
    found = recognize(skeleton)
    assert dict(found.roles) == roles


def test_a_tree_that_begins_at_the_head():
    text = """
HMD -
 Head head
  Neck neck
   Chest chest
    Waist spine
     Hip hips
      {Left}-Hip UpperLeg
       {Left}-Knee LowerLeg
        {Left}-Ankle Foot
         {Left}-Foot Toes
"""
    skeleton, roles, _ = rig(text)
    found = recognize(skeleton)
    assert dict(found.roles) == roles
    assert found.torso == ("Hip", "Waist", "Chest")
    assert found.confidence["chest"] <= 0.5 < found.confidence["leftUpperLeg"]
    assert noted(found, "Chest is above Hip in the tree")


# What is no human.


def refusal(skeleton, **options):
    with pytest.raises(NotHumanError, match=r"^no human: ") as caught:
        recognize(skeleton, **options)
    return str(caught.value)


HORSE = """
root -
 spine hips
  chest chest
   head head
   front_thigh.{L} UpperArm
    front_shin.{L} LowerArm
     front_foot.{L} Hand
  thigh.{L} UpperLeg
   shin.{L} LowerLeg
    foot.{L} Foot
"""
SPIDER = """
body hips
 head head
 leg1_{L} UpperLeg
  knee1_{L} LowerLeg
   foot1_{L} Foot
 leg2_{L} UpperArm
  knee2_{L} LowerArm
   foot2_{L} Hand
"""
CHAIR = "\n".join(["seat -", " back -", " leg_front_{l} -", " leg_back_{l} -", ""])
HAND = """
wrist.{R} Hand
 thumb1.{R} -
  thumb2.{R} -
 index1.{R} -
  index2.{R} -
""".replace("{R}", "R")
WALKER = """
pelvis hips
 {left}_hip UpperLeg
  {left}_knee LowerLeg
   {left}_ankle Foot
"""


@pytest.mark.parametrize(
    ("text", "places", "reason"),
    [
        (HORSE, ON_ALL_FOURS, "front or hind legs, front_thigh.L"),
        (RIGS["Biped"], ON_ALL_FOURS, "it stands on four legs"),
        (RIGS["Biped"].replace("Toe0 ", "Hoof "), PLACES, "joints of an animal, Bip01 L Hoof"),
        (
            SPIDER,
            ON_ALL_FOURS,
            "more than two legs, or two humans in one skeleton, by leg1_L",
        ),
        (HAND, PLACES, "hands and fingers, but no arms or legs"),
        (CHAIR, PLACES, "no pair of arms or legs"),
        (WALKER, PLACES, "a pair of legs, but neither a head nor a chest"),
        ("base -\n link1 -\n  link2 -\n", PLACES, "none of their bones"),
    ],
)
def test_what_is_no_human_is_refused(text, places, reason):
    assert reason in refusal(rig(text, places=places)[0])


def test_clothes_and_muscles_of_legs_are_no_front_legs():
    text = RIGS["no pause between words"] + " {left}_thigh_front -\n skirt_front_leg_{left} -\n"
    assert len(recognize(rig(text)[0]).roles) == 15


def test_tails_are_for_avatars_that_stand_upright():
    text = RIGS["no pause between words"] + " tail1 -\n  tail2 -\n"
    found = recognize(rig(text)[0])
    assert len(found.roles) == 15
    lying = {role: (x, z, y) for role, (x, y, z) in PLACES.items() if role in ROLES} | {
        role: place for role, place in PLACES.items() if role not in ROLES
    }
    assert "tail1, tail2" in refusal(rig(text, places=lying)[0])


@pytest.mark.parametrize("between", ["", "world -\n"])
def test_two_humans_are_refused(between):
    one, _, _ = rig(RIGS["Unreal"])
    roots = 1 if between else 0
    names = (("world",) if between else ()) + tuple(
        f"{person}_{name}" for person in ("ann", "bob") for name in one.names
    )
    parents = [-1] * roots + [
        (parent + start if parent >= 0 else roots - 1)
        for start in (roots, roots + len(one))
        for parent in one.parents.tolist()
    ]
    offsets = np.concatenate([np.zeros((roots, 3)), one.offsets, one.offsets])
    offsets[roots + len(one), 0] += 2.0
    reason = refusal(Skeleton(names, parents, offsets))
    assert "two humans" in reason
    assert "ann_" in reason
    assert "bob_" in reason


def test_two_humans_in_the_same_place_are_one_and_a_warning():
    one = rig(RIGS["Mixamo"])[0]
    names = tuple(f"{who}_{name}" for who in ("ann", "bob") for name in one.names)
    below = np.where(one.parents < 0, -1, one.parents + len(one))
    both = Skeleton(names, np.concatenate([one.parents, below]), np.tile(one.offsets, (2, 1)))
    found = recognize(both)
    assert {name[:4] for name in found.roles.values()} == {"ann_"}
    assert any("a second human" in text and "bob_" in text for text in found.warnings)


# What somebody says.


GIBBERISH = """
bone0 hips
 bone1 chest
  bone2 head
  boneA{l} UpperArm
   boneB{l} LowerArm<
    boneC{l} LowerArm>
     boneD{l} Hand
 boneE{l} UpperLeg
  boneF{l} LowerLeg
   boneG{l} Foot
"""


def test_a_map_names_what_names_do_not():
    skeleton, roles, starts = rig(GIBBERISH)
    refusal(skeleton)
    names = {joint: role for table in (starts, roles) for role, joint in table.items()}
    found = recognize(skeleton, names)
    assert dict(found.roles) == roles
    assert dict(found.starts) == starts
    assert found.convention == "map"
    assert set(found.confidence.values()) == {1.0}


def test_a_map_comes_before_names():
    skeleton, roles, _ = rig(RIGS["SMPL"])
    found = recognize(skeleton, {"left_hand": "leftHand", "spine2": "chest", "right_foot": ""})
    assert found.roles["leftHand"] == "left_hand"
    assert found.roles["chest"] == "spine2"
    assert "rightToes" not in found.roles
    assert found.roles["rightHand"] == roles["rightHand"]


def test_a_map_may_name_what_the_tree_does_not_join():
    skeleton, *_ = rig(
        RIGS["no pause between words"].replace("   {left}foot Foot", " {left}paddle -")
    )
    with_feet = {"leftpaddle": "leftFoot", "rightpaddle": "rightFoot"}
    found = recognize(skeleton, with_feet)
    assert found.roles["leftFoot"] == "leftpaddle"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"leftthigh": "leftUperLeg"}, "no role 'leftUperLeg'; did you mean leftUpperLeg"),
        ({"leftthigh": "xyz"}, "no role 'xyz'; roles are hips"),
        ({"lefttigh": "leftUpperLeg"}, "no joint 'lefttigh'; did you mean leftthigh"),
        ({"leftthigh": "head", "rightthigh": "head"}, "head: joints of one bone must be below"),
    ],
)
def test_wrong_maps_are_explained(names, message):
    with pytest.raises(ValueError, match=message):
        recognize(rig(RIGS["no pause between words"])[0], names)


def test_a_human_that_a_file_declares_is_believed():
    skeleton, roles, _ = rig(GIBBERISH.replace("<", "").replace("    boneC{l} LowerArm>\n", ""))
    found = recognize(skeleton, humanoid=roles)
    assert found.convention == "VRM"
    assert dict(found.roles) == roles
    changed = recognize(skeleton, {"boneDl": ""}, humanoid=roles)
    assert "leftHand" not in changed.roles


def test_names_of_vrm_0():
    skeleton, roles, _ = rig(RIGS["VRM"])
    thumbs = {
        "leftThumbProximal": "leftThumbMetacarpal",
        "leftThumbIntermediate": "leftThumbProximal",
        "leftThumbDistal": "leftThumbDistal",
    }
    body = {name: name for name in skeleton.names if "Thumb" not in name}
    found = recognize(skeleton, humanoid={**body, **thumbs})
    assert found.roles["leftThumbMetacarpal"] == "leftThumbMetacarpal"
    assert found.roles["leftThumbProximal"] == "leftThumbProximal"
    assert found.roles["chest"] == roles["chest"] == "upperChest"  # where the arms branch off
    assert (found.starts["spine"], found.roles["spine"]) == ("spine", "chest")


def test_a_vrm_without_a_chest():
    skeleton, roles, _ = rig(GIBBERISH.replace("<", "").replace("    boneC{l} LowerArm>\n", ""))
    declared = {**roles, "spine": roles["chest"]}
    del declared["chest"]
    found = recognize(skeleton, humanoid=declared)
    assert dict(found.roles) == roles  # the spine is the chest, for the arms branch off there
    assert found.confidence["chest"] == 1.0


def test_a_chest_beside_the_arms_is_told():
    found = recognize(rig(RIGS["SMPL"])[0], {"spine2": "chest"})
    assert found.roles["chest"] == "spine2"
    assert noted(found, "the arms branch off at spine3, not at the chest")


def test_rigs_can_be_sent_to_other_processes():
    found = recognize(rig(RIGS["SMPL"])[0])
    again = pickle.loads(pickle.dumps(found))
    assert again.roles == found.roles
    assert again.torso == found.torso == ("pelvis", "spine1", "spine2", "spine3")


def test_a_rig_checks_what_it_is_given():
    skeleton, roles, starts = rig(RIGS["SMPL"])
    with pytest.raises(ValueError, match="the same roles"):
        Rig(skeleton, roles, {}, "SMPL")
    with pytest.raises(ValueError, match="no joint 'nose'"):
        Rig(skeleton, {**roles, "head": "nose"}, starts, "SMPL")
    with pytest.raises(ValueError, match="no role 'tail'"):
        Rig(skeleton, {"tail": "head"}, {"tail": "head"}, "SMPL")


# Captures of many rigs.


HUMANS = [
    ("animateddrawings_mit/cmu1__jumping_jacks.bvh", 21, "LeftShoulder", "LeftHip"),
    ("animateddrawings_mit/rokoko__jesse_dance.bvh", 21, "LeftArm", "LeftUpLeg"),
    ("assimp/Boxing_Toes.bvh", 21, "LeftShoulder", "LeftHip"),
    ("cmu_asfamc/01_01.amc", 21, "lhumerus", "lfemur"),
    ("cmu_asfamc/07_05.bvh", 21, "LeftArm", "LeftUpLeg"),
    ("cmu_bvh/rom/79_22.bvh", 21, "LeftArm", "LeftUpLeg"),
    ("gltf/RobotExpressive.glb#Idle", 17, "UpperArm.L", "UpperLeg.L"),
    ("makehuman/10_01__97872f.bvh", 19, "LeftShoulder", "LeftHip"),
    ("makehuman/benchmark__fc03f6.bvh", 21, "upperarm02.L", "upperleg02.L"),
    ("makehuman/dance1__a85306.bvh", 21, "upper_arm.L", "thigh.L"),
    ("makehuman/example1__1691d6.bvh", 18, "LeftUpArm", "LeftUpLeg"),
    ("makehuman/face-poseunits__2965c3.bvh", 21, "upperarm02.L", "upperleg02.L"),
    ("makehuman/tpose__20e716.bvh", 21, "upperarm02.L", "upperleg02.L"),
    ("makehuman/tpose_allpos__63873c.bvh", 21, "upperarm02.L", "upperleg02.L"),
    ("makehuman/walk1__58e43d.bvh", 21, "UpArm_L", "UpLeg_L"),
    ("odd/rosemotion_robin_crlf_trailing_blank.bvh", 18, "LeftArm", "LeftUpLeg"),
    ("slimevr/BVH-Recording10__cae64e.bvh", 13, None, "Left-Hip"),
]


def capture(path):
    if not (DATA / path.split("#")[0]).exists():
        pytest.skip(f"no captures in ../shared/data: {path}")
    return load_clip(DATA / path).skeleton


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("path", "count", "arm", "leg"), HUMANS)
def test_captured_humans_are_recognised(path, count, arm, leg):
    found = recognize(capture(path))
    assert found.roles.get("leftUpperArm") == arm
    assert found.roles["leftUpperLeg"] == leg
    assert sum(role in ROLES for role in found.roles) == count
    assert not noted(found, EXCHANGED)
    assert not noted(found, "on the side of")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("odd/fairmotion_sinusoidal_no_endsite.bvh", "no pair of arms or legs"),
    ],
)
def test_captures_of_others_are_refused(path, reason):
    assert reason in refusal(capture(path))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("path", "hands"),
    [
        ("rosemotion_hand/test_output__988fd6.bvh", 1),
        ("odd/rosemotion_brekel_110_112_values_108_channels.bvh", 2),
    ],
)
def test_captures_of_hands_have_all_fingers(path, hands):
    found = recognize(capture(path))
    assert len(found.roles) == 16 * hands
    bones = {"rightIndexProximal": {1: "RightHandIndex2", 2: "RightHandIndex1"}[hands]}
    assert {role: found.roles[role] for role in bones} == bones


def test_a_human_whose_joints_are_in_one_point_is_refused_without_warnings():
    skeleton = human().skeleton
    point = replace(
        skeleton,
        offsets=np.zeros_like(skeleton.offsets),
        end_offsets=np.zeros_like(skeleton.end_offsets),
    )
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match="apart from each other"),
    ):
        align(recognize(point))
