"""Fingers, thumb, jaw and eyes: their frames on rigs, and their possible limits."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from synovia import Clip, Pose, Skeleton, forward, quat
from synovia.io.smpl import smpl_skeleton
from synovia.model import LimitModel
from synovia.population.hand import hand_constraints
from synovia.rigs import FACE, FINGERS, PARENTS, align, canonical_skeleton, recognize
from synovia.rigs.frames import hand_axes
from synovia.rigs.human import PHALANGES, SIDES, split_role
from synovia.rigs.stance import stance_of

FLAT = [finger for finger in PHALANGES if finger != "Thumb"]
MIXAMO = {"Metacarpal": 1, "Proximal": 1, "Intermediate": 2, "Distal": 3}


def renamed(name):
    """The canonical skeleton with names by role."""
    skeleton = canonical_skeleton()
    return replace(skeleton, names=tuple(map(name, skeleton.names)))


def mixamo_name(role):
    side, bone = split_role(role)
    if role not in FINGERS:
        words = {"UpperArm": "Arm", "LowerArm": "ForeArm", "UpperLeg": "UpLeg", "LowerLeg": "Leg"}
        words |= {"Toes": "ToeBase", "hips": "Hips", "chest": "Spine2", "head": "Head"}
        return f"mixamorig:{side.capitalize()}{words.get(bone, bone)}"
    finger = next(each for each in PHALANGES if bone.startswith(each))
    number = 1 + PHALANGES[finger].index(bone.removeprefix(finger))
    return f"mixamorig:{side.capitalize()}Hand{finger.replace('Little', 'Pinky')}{number}"


def open_xr_name(role):
    """The joints of OpenXR, with the side before them."""
    side, bone = split_role(role)
    if role not in FINGERS:
        return role
    finger = next(each for each in PHALANGES if bone.startswith(each))
    return f"{side}-{finger.lower()}-{bone.removeprefix(finger).lower()}"


RIGS = {
    "canonical": canonical_skeleton,
    "VRM": lambda: renamed(lambda role: role),
    "Mixamo": lambda: renamed(mixamo_name),
    "OpenXR": lambda: renamed(open_xr_name),
    "SMPL-H": lambda: smpl_skeleton(52),
    "SMPL-X": lambda: smpl_skeleton(55),
    "MANO, left": lambda: smpl_skeleton(16, "left"),
    "MANO, right": lambda: smpl_skeleton(16),
}


@pytest.fixture(scope="module")
def model():
    return LimitModel(hand_constraints(), canonical_skeleton())


def carried(model, skeleton):
    """The limits on another rig, as far as it has the joints."""
    if skeleton.names == model.skeleton.names:
        return model
    with warnings.catch_warnings(action="ignore"):
        return model.on(skeleton)


def flexed(**degrees):
    """Flexion of the left hand's bones in degrees, as rotation vectors by bone."""
    return {bone: (0.0, 0.0, -angle) for bone, angle in degrees.items()}


def fist(**angles):
    bones = zip(("Proximal", "Intermediate", "Distal"), (85.0, 100.0, 60.0), strict=True)
    return flexed(**{finger + bone: angle for bone, angle in bones for finger in FLAT}) | angles


POSSIBLE = {
    "flat": {},
    "fist": fist(),
    "pointing": {
        **fist(),
        **flexed(IndexProximal=0.0, IndexIntermediate=0.0, IndexDistal=0.0),
    },
    "hook": {bone: turn for bone, turn in fist().items() if "Proximal" not in bone},
    "spread": {"IndexProximal": (0, -20, 0), "LittleProximal": (0, 25, 0)},
    "fingers bent back": flexed(**{f"{finger}Proximal": -40.0 for finger in FLAT}),
    "thumb beside the palm": {"ThumbMetacarpal": (0, -15, 0)},
    "thumb before the palm": {"ThumbMetacarpal": (25, 0, -25)},
    "thumb bent": {"ThumbProximal": (0, 45, 0), "ThumbDistal": (0, 70, 0)},
    "thumb bent to the palm": {"ThumbProximal": (30, 0, -30), "ThumbDistal": (45, 0, -45)},
}
IMPOSSIBLE = {
    **{f"{finger} back": flexed(**{f"{finger}Proximal": -90.0}) for finger in FLAT},
    **{f"{finger} to the thumb": {f"{finger}Proximal": (0, -60, 0)} for finger in FLAT},
    **{f"{finger} to the little": {f"{finger}Proximal": (0, 60, 0)} for finger in FLAT},
    **{f"{finger} middle back": flexed(**{f"{finger}Intermediate": -45.0}) for finger in FLAT},
    **{f"{finger} end back": flexed(**{f"{finger}Distal": -60.0}) for finger in FLAT},
    **{f"{finger} too far": flexed(**{f"{finger}Intermediate": 150.0}) for finger in FLAT},
    **{f"{finger} twisted": {f"{finger}Proximal": (60, 0, 0)} for finger in FLAT},
    "thumb through the palm": {"ThumbMetacarpal": (0, 90, 0)},
    "thumb through the back of the hand": {"ThumbMetacarpal": (-60, 0, 60)},
    "thumb round the palm": {"ThumbMetacarpal": (60, 60, -60)},
    "thumb back": {"ThumbProximal": (0, -70, 0)},
    "thumb's end back": {"ThumbDistal": (0, -80, 0)},
}


def posed(skeleton, pose):
    """A clip of one frame, with canonical rotations (degrees) of the hand's bones on a rig.

    Right hands are mirrored.
    """
    alignment = align(recognize(skeleton))
    rotations = np.tile(quat.IDENTITY, (len(skeleton), 1))
    for side in SIDES:
        for role in (
            role for role in FINGERS if role.startswith(side) and role in alignment.frames
        ):
            above, below = alignment.frames[PARENTS[role]], alignment.frames[role]
            vector = np.radians(pose.get(split_role(role)[1], (0.0, 0.0, 0.0)))
            mirror = [1.0, 1.0, 1.0] if side == "left" else [1.0, -1.0, -1.0]
            turn = quat.mul(quat.mul(above, quat.exp(vector * mirror)), quat.inverse(below))
            rotations[skeleton.index(alignment.rig.roles[role])] = turn
    positions = skeleton.offsets.copy()
    return Clip(skeleton, Pose(rotations[None], positions[None]), 1.0)


@pytest.mark.parametrize("rig", RIGS)
@pytest.mark.parametrize(("name", "pose"), [*POSSIBLE.items(), *IMPOSSIBLE.items()])
def test_hands_get_the_same_verdict_on_every_rig(model, rig, name, pose):
    clip = posed(RIGS[rig](), pose)
    limits = carried(model, clip.skeleton)
    report = limits.check(clip)
    assert (not report.ok) == (name in IMPOSSIBLE), [
        row.name for row in report.joints if row.frames
    ]


@pytest.mark.parametrize("rig", RIGS)
def test_every_finger_has_limits_and_rest_is_legal(model, rig):
    skeleton = RIGS[rig]()
    limits = carried(model, skeleton)
    hands = 1 if "MANO" in rig else 2
    face = 3 if rig in ("canonical", "VRM", "SMPL-X") else 0
    assert len(limits.limits) >= 15 * hands + face
    assert len(limits.dependents) == 4 * hands
    rest = skeleton.rest_pose()
    assert limits.contains(rest)


def test_the_right_side_mirrors_the_left(model):
    rotations = quat.exp(np.random.default_rng(1).normal(scale=0.6, size=(400, 3)))
    mirrored = rotations * [1.0, 1.0, -1.0, -1.0]
    for role, limit in model.limits.items():
        if role.startswith("right"):
            continue
        other = model.limits[role.replace("left", "right")]
        inside = limit.contains(rotations)
        assert 0 < inside.sum() < len(inside)
        np.testing.assert_array_equal(inside, other.contains(mirrored))


def test_a_published_row_is_behind_every_end():
    data = json.loads((files("synovia.population") / "hand.json").read_text(encoding="utf-8"))
    assert data["rows"]
    for row in data["rows"]:
        assert row["source"] in data["sources"]
        assert row["status"] in ("V", "S", "M")
        assert row["sd"] > 0.0
    assert 0.0 <= max(data["room"].values()) <= 15.0


def ends_of(limit, axis, direction):
    """The largest legal angle about an axis, in degrees, by brute force."""
    angles = np.arange(0.0, 180.0, 0.25)
    vectors = np.radians(angles)[:, None] * direction * np.array(axis)
    return angles[: int(np.argmin(limit.contains(quat.exp(vectors))))][-1]


def test_limits_end_where_the_table_says(model):
    finger, face = model.limits["leftIndexProximal"], model.limits["leftEye"]
    assert ends_of(finger, [0, 0, 1], -1) == pytest.approx(111, abs=0.3)
    assert ends_of(finger, [0, 0, 1], 1) == pytest.approx(75, abs=0.3)
    assert ends_of(finger, [0, 1, 0], 1) == pytest.approx(42, abs=0.3)
    assert ends_of(face, [0, 1, 0], 1) == pytest.approx(58, abs=0.3)
    assert ends_of(face, [1, 0, 0], -1) == pytest.approx(44, abs=0.3)
    assert ends_of(model.limits["jaw"], [1, 0, 0], 1) == pytest.approx(43, abs=0.3)


def test_spread_vanishes_as_the_base_joint_bends(model):
    limit = model.limits["leftLittleProximal"]
    spread = []
    for degrees in (0.0, 30.0, 60.0, 90.0):
        bend = quat.exp(np.radians([0.0, 0.0, -degrees]))
        angles = np.arange(0.0, 60.0, 0.25)
        turns = quat.mul(bend, quat.exp(np.radians(angles)[:, None] * [0.0, 1.0, 0.0]))
        spread.append(angles[: int(np.argmin(limit.contains(turns)))][-1])
    np.testing.assert_allclose(spread, [48.0, 36.0, 24.0, 12.0], atol=0.3)


@pytest.mark.parametrize(("middle", "end"), [(0.0, 60.0), (30.0, 80.0), (90.0, 98.0)])
def test_the_end_joint_follows_the_middle_joint(model, middle, end):
    for offset, legal in ((-3.0, True), (3.0, False)):
        pose = posed(
            canonical_skeleton(), flexed(IndexIntermediate=middle, IndexDistal=end + offset)
        )
        assert model.check(pose).ok == legal


# Frames.


@pytest.mark.parametrize("rig", RIGS)
def test_palms_face_down_in_a_t_pose_however_the_rig_is_turned(rig):
    skeleton = RIGS[rig]()
    rng = np.random.default_rng(2)
    for turn in (quat.IDENTITY, quat.normalize(rng.normal(size=4))):
        rotations = np.tile(quat.IDENTITY, (len(skeleton), 1))
        rotations[0] = turn
        stance = stance_of(recognize(skeleton), Pose(rotations, skeleton.offsets.copy()))
        for side in SIDES:
            if f"{side}Hand" not in stance.starts:
                continue
            palm = -hand_axes(stance, side)[:, 1]
            expected = quat.rotate(turn, np.array([0.0, -1.0, 0.0]))
            assert palm @ expected > np.cos(np.radians(25.0))
    bare = smpl_skeleton(24)
    assert hand_axes(stance_of(recognize(bare), bare.rest_pose()), "left") is None


def test_a_thumb_shows_the_palm_where_fingers_do_not():
    skeleton = canonical_skeleton()
    kept = [k for k, name in enumerate(skeleton.names) if name not in FINGERS or "Thumb" in name]
    parents = [kept.index(skeleton.parents[k]) if k else -1 for k in kept]
    names = tuple(skeleton.names[k] for k in kept)
    ends = np.array([[0.18, 0.0, 0.0], [-0.18, 0.0, 0.0]])
    mitten = Skeleton(
        names,
        parents,
        skeleton.offsets[kept],
        end_parents=[names.index("leftHand"), names.index("rightHand")],
        end_offsets=ends,
    )
    alignment = align(recognize(mitten))
    assert alignment.palm == {"left": "thumb", "right": "thumb"}
    reasons = alignment.no_verdict
    thumbs = [role for role in FINGERS if "Thumb" in role]
    why = "where the palm faces is not known without two knuckles"
    assert {role: reasons[role] for role in thumbs} == dict.fromkeys(thumbs, why)


def test_bent_fingers_at_rest_are_measured_from_straight_ones():
    """A skeleton whose rest pose has bent fingers shows the bend as its canonical rotation."""
    skeleton = canonical_skeleton()
    bent = posed(skeleton, flexed(IndexProximal=20.0, IndexIntermediate=35.0, LittleDistal=15.0))
    places, turns = (each[0] for each in forward(skeleton, bent.pose))
    parents = skeleton.parents
    offsets = np.where(parents[:, None] >= 0, places - places[parents], places)
    rest = replace(
        skeleton,
        offsets=offsets,
        end_offsets=quat.rotate(turns[skeleton.end_parents], skeleton.end_offsets),
    )
    found = align(recognize(rest)).canonical_rotations(rest.rest_pose())
    expected = align(recognize(skeleton)).canonical_rotations(bent.pose)
    for role in FINGERS:
        assert quat.angle_between(found[role], expected[role][0]) < 1e-6, role


def test_jaw_and_eyes_are_found_and_look_ahead():
    for skeleton in (canonical_skeleton(), smpl_skeleton(55)):
        alignment = align(recognize(skeleton))
        assert set(FACE) <= alignment.trusted.keys()
        found = alignment.canonical_rotations(skeleton.rest_pose())
        for role in FACE:
            assert quat.angle_between(found[role], quat.IDENTITY) < 1e-9


# Hands without a body.

WEB_XR = ["wrist"] + [
    f"{finger}-{bone}"
    for finger, bones in (
        ("thumb", ("metacarpal", "phalanx-proximal", "phalanx-distal", "tip")),
        *(
            (f"{each}-finger", ("metacarpal", "phalanx-proximal", "phalanx-intermediate",
                                "phalanx-distal", "tip"))
            for each in ("index", "middle", "ring", "pinky")
        ),
    )
    for bone in bones
]  # fmt: skip


def test_hands_without_a_side_need_one():
    parents = [-1, *(0 if "metacarpal" in name else k for k, name in enumerate(WEB_XR[1:]))]
    skeleton = Skeleton(tuple(WEB_XR), parents, np.zeros((25, 3)))
    with pytest.raises(ValueError, match=r"name fingers, but not of which hand; .* as leftHand"):
        recognize(skeleton)
    rig = recognize(skeleton, {"wrist": "rightHand"})
    assert rig.convention == "OpenXR"
    assert len(rig.roles) == 16
    assert rig.roles["rightIndexProximal"] == "index-finger-phalanx-proximal"
    assert rig.roles["rightThumbMetacarpal"] == "thumb-metacarpal"


def test_whatever_has_no_verdict_has_a_reason():
    reasons = align(recognize(smpl_skeleton(16))).no_verdict
    assert reasons == {"right_wrist": "it is not below a rightLowerArm that is recognised"}
    assert align(recognize(smpl_skeleton(55))).no_verdict == {}
    assert align(recognize(smpl_skeleton(24))).no_verdict == {
        f"{side}_hand": "it is no bone of the canonical human" for side in SIDES
    }
