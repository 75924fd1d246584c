"""Which joints of a skeleton are the bones of a human: by names, confirmed by tree and rest pose.

See docs/rigs.md for the words, what the roles of the torso mean and what is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches

from ..skeleton import Skeleton, bare_name, list_names
from .chains import LIMBS, Candidate, Chain, best_chain, candidates
from .confirm import Build, exchanged_sides, limb_doubts, on_all_fours, opposite_limbs, upright
from .human import FINGERS, PARENTS, PHALANGES, ROLES, SIDES
from .words import TORSO_WORDS, Word, animal_joints, words_of

_CONVENTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("VRoid", ("j_bip_l_upperarm",)),
    ("Character Creator", ("cc_base_l_upperarm",)),
    ("Rigify", ("def-upper_arm.l",)),
    ("Rigify", ("upper_arm.l", "spine.001")),
    ("MakeHuman", ("upperleg01.l", "upperleg02.l")),
    ("Unreal", ("upperarm_l", "thigh_l", "calf_l")),
    ("Bandai Namco", ("upperarm_l", "upperleg_l", "lowerleg_l")),
    ("DAZ", ("lshldrbend", "lthighbend")),
    ("Poser", ("lshldr", "lthigh")),
    ("CMU", ("lhumerus", "lfemur")),
    ("CMU", ("lhipjoint", "leftupleg", "leftfingerbase")),
    ("SMPL", ("left_collar", "left_hip", "spine3")),
    ("SMPL", ("l_collar", "l_hip", "spine3")),
    ("Synovia", ("sternum", "leftscapula", "leftupperarm")),
    ("Xsens", ("l5", "l3", "t12", "t8")),
    ("OpenSim", ("femur_r", "calcn_r")),
    ("MikuMikuDance", ("左腕", "上半身")),
    ("Advanced Skeleton", ("scapula_l", "root_m")),
    ("SlimeVR", ("hmd", "left-hip")),
    ("Rokoko", ("leftinhandindex", "leftupleg")),
    ("Rokoko", ("leftthigh", "leftshin", "leftupperarm")),
    ("DeepMimic", ("right_hip", "right_knee", "right_shoulder", "chest")),
    ("MediaPipe", ("left_foot_index",)),
    ("HumanIK", ("leftupleg", "leftforearm", "leftarm")),
    ("VRM", ("leftupperarm", "leftlowerarm", "leftlowerleg", "upperchest")),
)
"""Joints, in lower case and without namespaces, by which a convention is told; first come first."""
_PREFIXED = (("mixamorig", "Mixamo"), ("valvebiped", "Source"), ("bip0", "Biped"))
_THUMBS_0 = {"Proximal": "Metacarpal", "Intermediate": "Proximal"}
"""What VRM 0.x calls the bones of a thumb, and what 1.0 does; the distal one is the same."""
_WEAK = 0.8
"""The confidence in a joint that is told by its place, not by its name."""
_GUESS = 0.6
_NEAR = 0.05
"""Chains that begin within this share of a limb's length of each other are copies of one."""


_NAMED = {
    "hips": ("hips", "root"),
    "chest": ("chest", "spine"),
    "head": ("head",),
}
"""The parts that a joint may be named after to be believed at once."""


class NotHumanError(ValueError):
    """A skeleton in which no human is recognised; the message tells why."""


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton, and which of its joints are the bones of a human.

    `roles` has the joint whose rotation is that of each bone, and `starts` the joint where the bone
    begins: where a bone is split into several joints, the last and the first of them. They are
    those of `ROLES` that the skeleton has, and of `FINGERS`. `hips` is the joint from which both
    thighs branch and `chest` that from which both arms do; `spine` and `neck` are all joints
    between hips and chest, chest and head, as one bone each; `upperChest` is not used. One joint
    may be hips and chest.

    `convention` is what the names look like, "names" where they are nobody's, "map" where a user
    named them. `notes` are sentences for people, and `warnings` those of them that must not be
    missed. `confidence` is from 0 to 1, by role.
    """

    skeleton: Skeleton
    roles: Mapping[str, str]
    starts: Mapping[str, str]
    convention: str
    notes: tuple[str, ...] = ()
    confidence: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if set(self.roles) != set(self.starts):
            raise ValueError(
                f"Rig.roles and Rig.starts must have the same roles, "
                f"got {sorted(set(self.roles) ^ set(self.starts))} in one of them"
            )
        for role, joint in (*self.roles.items(), *self.starts.items()):
            _check_role(role)
            self.skeleton.index(joint)
        order = [role for role in PARENTS if role in self.roles]
        for name in ("roles", "starts", "confidence"):
            given: Mapping[str, str | float] = getattr(self, name)
            object.__setattr__(self, name, {role: given[role] for role in order if role in given})

    @property
    def torso(self) -> tuple[str, ...]:
        """The joints from the hips to the chest, both included; none if one of them is missing."""
        return self._between("hips", "chest")

    @property
    def neck(self) -> tuple[str, ...]:
        """The joints from the chest to the head, both included; none if one of them is missing."""
        return self._between("chest", "head")

    def _between(self, low: str, high: str) -> tuple[str, ...]:
        if low not in self.roles or high not in self.roles:
            return ()
        ends = (self.skeleton.index(self.starts[each]) for each in (low, high))
        return tuple(self.skeleton.names[joint] for joint in _route(self.skeleton, *ends))


def recognize(
    skeleton: Skeleton,
    names: Mapping[str, str] | None = None,
    humanoid: Mapping[str, str] | None = None,
) -> Rig:
    """Return which joints of `skeleton` are the bones of a human.

    Parameters
    ----------
    skeleton
        Any skeleton. Its joints are told by their names; tree and rest pose must agree.
    names
        A user's own map, from joints to roles, which comes first. Two joints with one role are a
        split bone; a joint with an empty role is none.
    humanoid
        The joint of each bone, as a VRM file declares it (`io.gltf.humanoid`). It is believed, and
        nothing else is looked for.

    Raises
    ------
    NotHumanError
        Where there is no human, with the reason; parts of one are enough: a pair of arms or legs,
        and something of a torso.
    ValueError
        Where `names` or `humanoid` name joints or roles that do not exist.

    Examples
    --------
    >>> from synovia.anatomy import human
    >>> rig = recognize(human().skeleton)
    >>> rig.convention, rig.starts["leftLowerArm"], rig.roles["leftLowerArm"]
    ('Synovia', 'LeftLowerArm', 'LeftForearm')
    """
    said = _said(skeleton, names or {})
    declared = _declared(skeleton, humanoid or {})
    if declared:
        taken = set(said.values())
        said = {**{joint: role for joint, role in declared.items() if role not in taken}, **said}
    words = [
        Word() if declared or joint in said else word
        for joint, word in enumerate(words_of(skeleton))
    ]
    believed = any(role for role in said.values())
    animals, legs, avatars = animal_joints(skeleton)
    if animals and not believed:
        raise NotHumanError(f"no human: it has joints of an animal, {list_names(animals)}")
    if legs and not believed:
        raise NotHumanError(f"no human: it has front or hind legs, {list_names(legs)}")
    found = _Search(skeleton, words, said)
    found.find_limbs()
    found.find_torso()
    found.find_fingers()
    build = Build(skeleton, found.starts, found.roles)
    if not believed:
        if on_all_fours(build):
            raise NotHumanError(
                "no human: at rest it stands on four legs, with the torso level between them"
            )
        if avatars and not upright(build):
            raise NotHumanError(
                f"no human: it has joints of an animal, {list_names(avatars)}, "
                "and does not stand upright at rest"
            )
    found.doubt(build)
    return Rig(
        skeleton=skeleton,
        roles={role: skeleton.names[joint] for role, joint in found.roles.items()},
        starts={role: skeleton.names[joint] for role, joint in found.starts.items()},
        convention=_convention(skeleton, declared=bool(declared), mapped=bool(names)),
        notes=tuple(found.notes),
        warnings=tuple(found.warnings),
        confidence=found.confidence,
    )


def partial_roles(skeleton: Skeleton, names: Mapping[str, str]) -> dict[str, int]:
    """Return the joints of the roles that names tell, also where they make no human.

    `names` is a user's own map, from joints to roles.
    """
    said = _said(skeleton, names)
    words = [Word() if joint in said else word for joint, word in enumerate(words_of(skeleton))]
    found = _Search(skeleton, words, said)
    found.roles.update({role: joint for joint, role in said.items() if role})
    with suppress(NotHumanError):
        found.find_limbs()
        found.find_torso()
    return found.roles


class _Search:
    """What was found so far; each step adds to it."""

    def __init__(self, skeleton: Skeleton, words: Sequence[Word], said: Mapping[int, str]) -> None:
        self.skeleton, self.words, self.said = skeleton, words, said
        self.parents: list[int] = skeleton.parents.tolist()
        self.roles: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.confidence: dict[str, float] = {}
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def place(self, role: str, joints: Sequence[int], confidence: float) -> None:
        """Let `joints`, outward, be one bone."""
        self.starts[role], self.roles[role] = joints[0], joints[-1]
        self.confidence[role] = confidence

    def path(self, joint: int) -> list[int]:
        """Return a joint and all joints above it, the root last."""
        path = []
        while joint >= 0:
            path.append(joint)
            joint = self.parents[joint]
        return path

    def name(self, joints: Iterable[int]) -> str:
        """Return the names of joints, for people."""
        return list_names([self.skeleton.names[joint] for joint in joints])

    # Arms and legs.

    def find_limbs(self) -> None:
        """Find arms and legs; raise NotHumanError where there is no pair of them."""
        spare: dict[str, Chain] = {}
        for limb in LIMBS:
            for side in SIDES:
                named = candidates(limb, side, self.skeleton, self.words, self.said)
                chain = best_chain(limb, self.skeleton, named)
                near = self._above_and_below(chain.joints)
                far = [each for each in named if each.joint not in near]
                second = best_chain(limb, self.skeleton, far)
                if chain.whole(limb) and second.whole(limb) and _as_good(chain, second):
                    spare[side + limb] = second
                if f"Upper{limb}" in chain.bones:
                    for bone in chain.bones.keys() - {"Fingers"}:
                        self.place(side + bone, chain.bones[bone], chain.trust[bone])
                if chain.whole(limb):
                    self._note_unused(side, limb, chain, named)
        for joint, role in self.said.items():
            if role.startswith(SIDES) and role in ROLES and role not in self.roles:
                self.place(role, [joint], 1.0)  # the tree does not join it, but somebody says so
        self.whole = {
            side + limb
            for side in SIDES
            for limb in LIMBS
            if {f"{side}Upper{limb}", f"{side}Lower{limb}"} <= self.roles.keys()
        }
        self._check_pairs()
        self._check_spares(spare)

    def _above_and_below(self, joints: set[int]) -> set[int]:
        """Return joints with all that are above or below one of them."""
        near = set(joints)
        for joint, parent in enumerate(self.parents):
            if parent in near:
                near.add(joint)
        return near.union(*(self.path(joint) for joint in joints))

    def _note_unused(self, side: str, limb: str, chain: Chain, named: Sequence[Candidate]) -> None:
        """Note hands and feet that are not below the limb that they are named after."""
        bone = {"Arm": "Hand", "Leg": "Foot"}[limb]
        loose = [each.joint for each in named if bone in each.bones]
        if loose and bone not in chain.bones:
            lower = self.skeleton.names[chain.bones[f"Lower{limb}"][-1]]
            self.notes.append(f"{side}{bone}: {self.name(loose)} is not below {lower}")

    def _check_pairs(self) -> None:
        pairs = [limb for limb in LIMBS if {f"left{limb}", f"right{limb}"} <= self.whole]
        if pairs:
            return
        sided = [word for word in self.words if word.side]
        if any(word.finger for word in sided) and not self.whole:
            raise NotHumanError("no human: its joints name hands and fingers, but no arms or legs")
        seen = ", ".join(sorted(self.roles)) or "none of their bones"
        raise NotHumanError(
            "no human: its joints name no pair of arms or legs, each with both of its long bones "
            f"({seen}); a map of joints to roles can name them"
        )

    def _warn(self, text: str) -> None:
        self.notes.append(text)
        self.warnings.append(text)

    def _check_spares(self, spare: Mapping[str, Chain]) -> None:
        """Raise NotHumanError for second arms or legs, but for copies in the same place."""
        build = Build(self.skeleton, self.starts, self.roles)
        apart, copies = {}, {}
        for which, chain in spare.items():
            limb = which.removeprefix("left").removeprefix("right")
            side = which.removesuffix(limb)
            upper, lower = (self.starts[f"{side}{part}{limb}"] for part in ("Upper", "Lower"))
            second = chain.bones[f"Upper{limb}"][0]
            if build.distance(upper, second) > _NEAR * build.distance(upper, lower):
                apart[which] = (upper, second)
            else:
                copies[f"{side} {limb.lower()}"] = second
        if len(copies) == len(SIDES) * len(LIMBS):
            second = copies["left arm"]
            self._warn(f"a second human, to whom {self.name([second])} belongs, is not used")
        else:
            self.notes += [
                f"{self.name([second])} begins a copy of the {limb}, not used"
                for limb, second in copies.items()
            ]
        if not apart:
            return
        which, (one, other) = next(iter(apart.items()))
        where = f"{self.name([one])} and {self.name([other])}"
        limb = which.removeprefix("left").removeprefix("right")
        pair = [apart.get(side + limb) for side in SIDES]
        if None not in pair:
            (left, second_left), (right, second_right) = (each for each in pair if each)
            if self._branch_of(left, right) != self._branch_of(second_left, second_right):
                raise NotHumanError(f"no human: two humans in one skeleton, by {where}")
        raise NotHumanError(f"no human: more than two {limb.lower()}s, by {where}")

    # The torso, neck and head.

    def find_torso(self) -> None:
        """Find hips, spine, chest, neck and head by where the limbs branch off, and by words."""
        said = {role: joint for joint, role in self.said.items() if role in ROLES[:6]}
        upper = said.pop("upperChest", None)
        if upper is not None and self._branch("UpperArm") != said.get("chest"):
            if "chest" in said:
                said.setdefault("spine", said["chest"])
            said["chest"] = upper  # the chest is where the arms branch off, whatever it is called
        hips = said.get("hips", self._hips())
        chest = said.get("chest", self._chest(hips))
        if hips is None and chest is not None:
            hips = self._above(chest, ("hips",))
        head = said.get("head", self._head(chest))
        if chest is None and hips is not None:
            chest = self._chest_by_name(hips, head)
        legs, arms = ({f"left{limb}", f"right{limb}"} <= self.whole for limb in ("Leg", "Arm"))
        if not (legs and arms) and head is None and (chest is None or hips is None):
            limbs = "legs" if legs else "arms"
            raise NotHumanError(
                f"no human: it has a pair of {limbs}, but neither a head nor "
                f"{'a chest' if legs else 'hips'}"
            )
        for role, joint in (("hips", hips), ("chest", chest), ("head", head)):
            if joint is not None:
                sure = joint in self.said or self._part(joint) in _NAMED[role]
                self.place(role, [joint], 1.0 if sure else _WEAK)
        self._collapse("spine", hips, chest, said.get("spine"))
        self._collapse("neck", chest, head, said.get("neck"))
        branch = self._branch("UpperArm")
        if "chest" in said and branch not in (None, chest):
            self.notes.append(f"the arms branch off at {self.name([branch])}, not at the chest")
        if hips is not None and hips == chest:
            self.notes.append(f"{self.name([hips])} is hips and chest: the torso does not bend")
        if head is not None and self._part(head) == "neck" and "head" not in said:
            self.confidence["head"] = _GUESS
            self.notes.append(f"there is no joint of the head: {self.name([head])} carries it")
        elif head is not None and self._part(head) == "spine" and "head" not in said:
            self.notes.append(f"{self.name([head])}, the last of the spine, is taken for the head")
        if hips is not None and chest is not None and chest in self.path(hips) and hips != chest:
            self._lower(ROLES[1:6], 0.5)
            self.notes.append(
                f"{self.name([chest])} is above {self.name([hips])} in the tree: "
                "joints of the torso may turn other bones than they are named after"
            )

    def _part(self, joint: int) -> str:
        """Return the part of the torso that a joint is named after; empty if none."""
        word = self.words[joint]
        return "" if word.side else TORSO_WORDS.get(word.key, "")

    def _branch(self, role: str) -> int | None:
        """Return the joint from which the bones of both sides branch."""
        ends = [self.starts[side + role] for side in SIDES if side + role in self.starts]
        return self._branch_of(*ends) if len(ends) == 2 else None

    def _branch_of(self, one: int, other: int) -> int | None:
        """Return the nearest joint above both."""
        above = set(self.path(other)[1:])
        return next((joint for joint in self.path(one)[1:] if joint in above), None)

    def _above(self, joint: int, parts: Sequence[str]) -> int | None:
        """Return the nearest joint from `joint` up that is named after one of the parts."""
        return next((each for each in self.path(joint) if self._part(each) in parts), None)

    def _above_one(self, role: str, parts: Sequence[str]) -> int | None:
        """Return the nearest joint named after one of the parts above the bone of either side."""
        ends = [self.starts[side + role] for side in SIDES if side + role in self.starts]
        return self._above(ends[0], parts) if ends else None

    def _hips(self) -> int | None:
        branch = self._branch("UpperLeg")
        if branch is None:
            return self._above_one("UpperLeg", ("hips", "root"))
        parent = int(self.skeleton.parents[branch])
        if self._part(branch) == "spine" and parent >= 0 and self._part(parent) == "hips":
            self.notes.append(
                f"the thighs hang from {self.name([branch])}; the hips are {self.name([parent])}"
            )
            return parent
        named = [joint for joint in range(len(self.words)) if self._part(joint) == "hips"]
        if named and branch not in named and self._above(branch, ("hips",)) is None:
            self.notes.append(f"the thighs hang from {self.name([branch])}, not {self.name(named)}")
        return branch

    def _chest(self, hips: int | None) -> int | None:
        branch = self._branch("UpperArm")
        if branch is None:
            return self._above_one("UpperArm", ("chest", "spine"))
        if self._part(branch) in ("neck", "head"):
            below = self._above(branch, ("chest", "spine"))
            if below is not None and below != hips:
                self.notes.append(
                    f"the arms hang from {self.name([branch])}; the chest is {self.name([below])}"
                )
                return below
        return branch

    def _chest_by_name(self, hips: int, head: int | None) -> int | None:
        """Return the chest of a torso without arms: the highest joint with such a name."""
        joints = range(len(self.words)) if head is None else _route(self.skeleton, hips, head)
        for part in ("chest", "spine"):
            named = [joint for joint in joints if self._part(joint) == part and joint != hips]
            if named:
                return named[-1]
        return None

    def _head(self, chest: int | None) -> int | None:
        named = [joint for joint in range(len(self.words)) if self._part(joint) == "head"]
        named.sort(key=lambda joint: (not self.words[joint].exact, len(self.path(joint))))
        below = [joint for joint in named if chest in self.path(joint)]
        if below or named:
            return (below or named)[0]
        if chest is None:
            return None
        # Some have no joint of the head but the last one of the neck, or of the spine.
        above = [
            joint
            for joint in range(len(self.words))
            if chest in self.path(joint)[1:] and self._part(joint) in ("neck", "spine")
        ]
        return max(above, key=lambda joint: len(self.path(joint)), default=None)

    def _collapse(self, role: str, low: int | None, high: int | None, said: int | None) -> None:
        """Let all joints between two be one bone."""
        between: list[int] = []
        if low is not None and high is not None:
            route = _route(self.skeleton, low, high)
            top = min(route, key=lambda joint: len(self.path(joint)))
            turn = [] if top in (low, high) else [top]  # above both, and part of neither
            between = [joint for joint in route[1:-1] if joint not in turn]
        if role == "neck":  # the chest may be a branch, with vertebrae of its own above it
            named_neck = [self._part(joint) == "neck" for joint in between]
            between = between[named_neck.index(True) :] if any(named_neck) else between
        if said is not None and said not in (*between, low, high):
            between = [said]
        if not between:
            return
        named = any(self._part(joint) for joint in between) or said is not None
        self.place(role, between, 1.0 if named else _WEAK)
        if len(between) > 1:
            self.notes.append(f"{role} is {len(between)} joints: {self.name(between)}")

    # Fingers.

    def find_fingers(self) -> None:
        """Find the bones of the fingers below each hand, by finger and by depth."""
        fingers = {role: joint for joint, role in self.said.items() if role in FINGERS}
        for side in SIDES:
            hand = self.starts.get(f"{side}Hand")
            for finger, bones in PHALANGES.items():
                joints = [
                    joint
                    for joint, word in enumerate(self.words)
                    if (word.finger, word.side, word.palm) == (finger, side, False)
                    and joint not in self.said
                    and hand in self.path(joint)
                ]
                # Along one path, and the last of those that have one name.
                path = [each for each in joints if each in self.path(joints[-1])]
                numbers = [self.words[joint].numbers for joint in path]
                chain = [
                    joint
                    for place, joint in enumerate(path)
                    if not numbers[place] or numbers[place] not in numbers[place + 1 :]
                ]
                for bone, joint in zip(bones, chain, strict=False):
                    fingers.setdefault(side + finger + bone, joint)
        for role, joint in fingers.items():
            self.place(role, [joint], 1.0)

    # What tree and rest pose say to it.

    def doubt(self, build: Build) -> None:
        """Lower the confidence where the rest pose contradicts the names, and note it."""
        for roles, factor, note in limb_doubts(build):
            self._lower(roles, factor)
            self.notes.append(note)
        sided = [role for role in self.roles if role.startswith(SIDES)]
        if opposite_limbs(build):
            self._lower(sided, 0.5)
            self._warn("the left arm is on the side of the right leg")
        elif exchanged_sides(build):
            self._lower(sided, 0.5)
            self._warn(
                "left and right look exchanged: by the feet, the left of the names is the right of "
                "the body"
            )
        for side in SIDES:
            for upper, lower in (("UpperArm", "LowerArm"), ("UpperLeg", "LowerLeg")):
                self._doubt_between(side + upper, side + lower)
        missing = [role for role in ROLES if role not in self.roles and role != "upperChest"]
        if missing:
            self.notes.append(f"missing: {list_names(missing, len(ROLES))}")

    def _doubt_between(self, upper: str, lower: str) -> None:
        """Note joints between two bones that are neither's by name."""
        if upper not in self.roles or lower not in self.roles:
            return
        path = self.path(self.starts[lower])[1:]
        if self.roles[upper] not in path:
            return
        between = path[: path.index(self.roles[upper])]
        if between:
            self._lower([lower], _WEAK)
            self.notes.append(
                f"{self.name(between)} between {upper} and {lower} is counted with {lower}"
            )

    def _lower(self, roles: Iterable[str], factor: float) -> None:
        for role in roles:
            if role in self.confidence and not self._is_said(role):
                self.confidence[role] *= factor

    def _is_said(self, role: str) -> bool:
        return role in self.said.values()


def _as_good(chain: Chain, other: Chain) -> bool:
    return min(other.trust.values()) >= min(chain.trust.values()) or other.score >= chain.score


def _route(skeleton: Skeleton, one: int, other: int) -> list[int]:
    """Return the joints from one to another along the tree, both included; [] in two trees."""
    up, down = skeleton.path_to_root(one), skeleton.path_to_root(other)
    top = next((joint for joint in up if joint in down), None)
    if top is None:
        return [one, other]
    return [*up[: up.index(top) + 1], *down[: down.index(top)][::-1]]


def _check_role(role: str) -> None:
    if role not in PARENTS:
        by_small = {each.lower(): each for each in PARENTS}
        close = [by_small[each] for each in get_close_matches(str(role).lower(), by_small)]
        hint = f"did you mean {' or '.join(close)}?" if close else f"roles are {', '.join(ROLES)}"
        raise ValueError(f"no role {role!r:.60}; {hint}")


def _said(skeleton: Skeleton, names: Mapping[str, str]) -> dict[int, str]:
    """Return the roles that a user's map gives to joints, checked."""
    said = {}
    for joint, role in names.items():
        number = skeleton.index(joint)
        if role:
            _check_role(role)
        said[number] = role
    for role in {*said.values()} - {""}:
        joints = sorted(joint for joint, other in said.items() if other == role)
        paths = skeleton.path_to_root(joints[-1])
        if not set(joints) <= set(paths):
            both = " and ".join(skeleton.names[joint] for joint in joints)
            raise ValueError(f"{role}: joints of one bone must be below each other, got {both}")
    return said


def _declared(skeleton: Skeleton, humanoid: Mapping[str, str]) -> dict[int, str]:
    """Return the roles that a VRM file declares, by joint; bones without a role are left out."""
    old = any(role.endswith("ThumbIntermediate") for role in humanoid)
    declared = {}
    for bone, joint in humanoid.items():
        role = bone
        if old and "Thumb" in bone:
            side, phalanx = bone.split("Thumb")
            role = f"{side}Thumb{_THUMBS_0.get(phalanx, phalanx)}"
        if role in PARENTS:
            declared[skeleton.index(joint)] = role
    return declared


def _convention(skeleton: Skeleton, *, declared: bool, mapped: bool) -> str:
    if declared:
        return "VRM"
    small = [name.lower() for name in skeleton.names]
    for prefix, convention in _PREFIXED:
        if sum(name.startswith(prefix) or f"|{prefix}" in name for name in small) > len(small) / 2:
            return convention
    bare = {bare_name(name) for name in small}
    for convention, marks in _CONVENTIONS:
        if bare.issuperset(marks):
            return convention
    return "map" if mapped else "names"
