"""Recognition of humans in skeletons: by joint names, confirmed by the tree and the rest pose.

See docs/human.md for the known conventions, the roles, and what is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from ..arrays import Vectors
from ..skeleton import Skeleton, forward, list_names
from ..text import did_you_mean
from .chains import LIMBS, Chain, best_chain, candidates
from .conventions import convention_of
from .human import FACE, FINGERS, PARENTS, PHALANGES, ROLES, SIDES
from .stance import Stance, exchanged_sides, is_on_all_fours, is_upright, stance_of_bones
from .words import Word, animal_joints, words_of

_VRM_0_THUMB = {"Proximal": "Metacarpal", "Intermediate": "Proximal"}
"""Names of VRM 0.x for the bones of a thumb, with those of 1.0; the distal one is the same."""
_HANDS = tuple(f"{side}Hand" for side in SIDES)
_LONG_BONES = {f"{part}{limb}" for part in ("Upper", "Lower") for limb in ("Arm", "Leg")}
_FINGERS_OF_A_HAND = 2  # whole fingers that make a hand without a body
_METACARPAL_JOINTS = 5  # a finger with as many joints begins with a bone inside the hand
_BY_POSITION = 0.8  # confidence in a joint that is found by its position in the tree
_NECK_AS_HEAD = 0.6  # confidence in the last joint of a neck that carries the head
_CONTRADICTED = 0.5  # factor of the confidence if the rest pose or the tree contradict the names
_COPY_DISTANCE = 0.05  # of the upper bone; second limbs that begin closer are copies
_PARTS = {"hips": ("hips", "root"), "chest": ("chest", "spine"), "head": ("head",)}
"""Parts of the torso whose names confirm a role."""


class NotHumanError(ValueError):
    """A skeleton in which no human is recognised; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton, and which of its joints are the bones of a human.

    `hips` is the joint from which both thighs branch and `chest` that from which both arms do;
    `spine` and `neck` are all joints between hips and chest, chest and head, as one bone each;
    `upperChest` is not used. One joint may be both hips and chest.
    """

    skeleton: Skeleton
    roles: Mapping[str, str]
    """The joint whose rotation is that of the bone, by role; the last joint of a split bone."""
    starts: Mapping[str, str]
    """The joint at which the bone begins, by role; the first joint of a split bone."""
    convention: str
    """One of `CONVENTIONS`, "names" if unknown, "map" if the user gave roles."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""
    confidence: Mapping[str, float] = field(default_factory=dict)
    """From 0 to 1, by role."""
    warnings: tuple[str, ...] = ()
    """The important ones of `notes`."""

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
            by_role: Mapping[str, str | float] = getattr(self, name)
            object.__setattr__(
                self, name, {role: by_role[role] for role in order if role in by_role}
            )

    @property
    def torso(self) -> tuple[str, ...]:
        """Joints from hips to chest, both included; empty if one of them is missing."""
        return self._joints_between("hips", "chest")

    @property
    def neck(self) -> tuple[str, ...]:
        """Joints from chest to head, both included; empty if one of them is missing."""
        return self._joints_between("chest", "head")

    def _joints_between(self, low: str, high: str) -> tuple[str, ...]:
        """Return the names of the joints from the start of one role to that of another."""
        if low not in self.roles or high not in self.roles:
            return ()
        ends = (self.skeleton.index(self.starts[role]) for role in (low, high))
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
        Any skeleton. Joints are recognised by name; tree and rest pose must agree.
    names
        Roles by joint, given by the user, which take precedence. Two joints with one role are a
        split bone; an empty role excludes a joint.
    humanoid
        Joints by bone, as a VRM file declares them (`io.gltf.humanoid`). They are trusted, and
        other names are not considered.

    Raises
    ------
    NotHumanError
        If there is no human, with the reason. A pair of arms or legs and a part of the torso
        suffice, or a hand with two whole fingers.
    ValueError
        If `names` or `humanoid` contain joints or roles that do not exist.

    Examples
    --------
    >>> from synovia.anatomy import human
    >>> rig = recognize(human().skeleton)
    >>> rig.convention, rig.starts["leftLowerArm"], rig.roles["leftLowerArm"]
    ('Synovia', 'LeftLowerArm', 'LeftForearm')
    """
    given = _given_roles(skeleton, names or {})
    declared = _declared_roles(skeleton, humanoid or {})
    if declared:
        taken = set(given.values())
        given = {**{joint: role for joint, role in declared.items() if role not in taken}, **given}
    words = words_of(skeleton) if not declared else [Word()] * len(skeleton)
    trusted = any(role for role in given.values())
    animals, legs, avatars = animal_joints(skeleton)
    if animals and not trusted:
        raise NotHumanError(f"no human: it has joints of an animal, {list_names(animals)}")
    if legs and not trusted:
        raise NotHumanError(f"no human: it has front or hind legs, {list_names(legs)}")
    search = _Search(skeleton, words, given)
    if not search.find_hands_alone():
        search.find_limbs()
        search.find_torso()
    search.find_fingers()
    search.find_face()
    rest = stance_of_bones(skeleton, search.starts, search.roles, skeleton.rest_pose())
    if not trusted:
        if is_on_all_fours(rest):
            raise NotHumanError(
                "no human: at rest it stands on four legs, with the torso level between them"
            )
        if avatars and not is_upright(rest):
            raise NotHumanError(
                f"no human: it has joints of an animal, {list_names(avatars)}, "
                "and does not stand upright at rest"
            )
    search.check_rest_pose(rest)
    convention = "VRM" if declared else convention_of(skeleton.names)
    return Rig(
        skeleton=skeleton,
        roles={role: skeleton.names[joint] for role, joint in search.roles.items()},
        starts={role: skeleton.names[joint] for role, joint in search.starts.items()},
        convention=convention or ("map" if names else "names"),
        notes=tuple(search.notes),
        warnings=tuple(search.warnings),
        confidence=search.confidence,
    )


def partial_roles(skeleton: Skeleton, names: Mapping[str, str]) -> dict[str, int]:
    """Return joint indices by role, as far as names give them, even if there is no human.

    `names` are roles by joint, given by the user.
    """
    given = _given_roles(skeleton, names)
    search = _Search(skeleton, words_of(skeleton), given)
    search.roles.update({role: joint for joint, role in given.items() if role})
    with suppress(NotHumanError):
        search.find_limbs()
        search.find_torso()
    return search.roles


def common_ancestor(skeleton: Skeleton, one: int, other: int) -> int | None:
    """Return the nearest joint above both joints; None if they are in different trees."""
    above = set(skeleton.path_to_root(other)[1:])
    return next((joint for joint in skeleton.path_to_root(one)[1:] if joint in above), None)


class _Search:
    """The roles found so far; each step adds to them.

    `given` are roles by joint from the user or the file. Their names are not considered.
    """

    def __init__(self, skeleton: Skeleton, words: Sequence[Word], given: Mapping[int, str]) -> None:
        self.skeleton, self.given = skeleton, given
        self.words = [Word() if joint in given else word for joint, word in enumerate(words)]
        self.paths = [skeleton.path_to_root(joint) for joint in range(len(skeleton))]
        self.roles: dict[str, int] = {}
        self.starts: dict[str, int] = {}
        self.confidence: dict[str, float] = {}
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def find_limbs(self) -> None:
        """Find arms and legs; raise NotHumanError if there is no pair of them."""
        second_chains: dict[tuple[str, str], Chain] = {}
        for limb, side in product(LIMBS, SIDES):
            named = candidates(limb, side, self.skeleton, self.words, self.given)
            chain = best_chain(limb, self.skeleton, named)
            related = {above for joint in chain.joints for above in self.paths[joint]}
            others = [
                candidate
                for candidate in named
                if candidate.joint not in related
                and chain.joints.isdisjoint(self.paths[candidate.joint])
            ]
            second = best_chain(limb, self.skeleton, others)
            if chain.whole(limb) and second.whole(limb) and second.is_as_good_as(chain):
                second_chains[side, limb] = second
            if f"Upper{limb}" in chain.bones:
                for bone, joints in chain.bones.items():
                    if bone != "Fingers":
                        self._assign(side + bone, joints, chain.trust[bone])
        for joint, role in self.given.items():
            if role.startswith(SIDES) and role in ROLES and role not in self.roles:
                self._assign(role, [joint], 1.0)  # not connected in the tree, but the user says so
        if not any(map(self._has_pair, LIMBS)):
            self._raise_no_pair()
        self._check_second_limbs(second_chains)

    def find_hands_alone(self) -> bool:
        """Find hands with two whole fingers in a skeleton without arms and legs.

        Returns True if there is one. Names without a side are those of the hand that is given.
        """
        given_hands = {role: joint for joint, role in self.given.items() if role in _HANDS}
        if any(_LONG_BONES.intersection(word.bones) for word in self.words):
            return False
        if len(given_hands) == 1 and not any(word.side for word in self.words if word.finger):
            side = next(iter(given_hands)).removesuffix("Hand")
            self.words = [replace(word, side=side) for word in self.words]
        for hand in _HANDS:
            side = hand.removesuffix("Hand")
            fingers = [k for k, word in enumerate(self.words) if word.finger and word.side == side]
            named_hands = [k for k, word in enumerate(self.words) if "Hand" in word.bones]
            wrists = [
                k
                for k in ([given_hands[hand]] if hand in given_hands else named_hands)
                if all(k in self.paths[finger] for finger in fingers)
            ]
            if fingers and wrists:
                self._assign(hand, wrists[-1:], 1.0)
        self.find_fingers()
        whole = [role for role in self.roles if role.endswith("Distal")]
        if len(whole) < _FINGERS_OF_A_HAND:
            self.roles.clear()
            self.starts.clear()
            self.confidence.clear()
        return bool(self.roles)

    def _assign(self, role: str, joints: Sequence[int], confidence: float) -> None:
        """Assign `joints`, from the torso outwards, to one bone."""
        self.starts[role], self.roles[role] = joints[0], joints[-1]
        self.confidence[role] = confidence

    def _names(self, joints: Iterable[int]) -> str:
        """Return the names of joints as a list for messages."""
        return list_names([self.skeleton.names[joint] for joint in joints])

    def _has_pair(self, limb: str) -> bool:
        """Return True if both limbs have both long bones."""
        bones = {f"{side}{part}{limb}" for side in SIDES for part in ("Upper", "Lower")}
        return bones <= self.roles.keys()

    def _raise_no_pair(self) -> None:
        """Raise NotHumanError with the likely reason why no pair of limbs is complete."""
        whole = any(
            {f"{side}Upper{limb}", f"{side}Lower{limb}"} <= self.roles.keys()
            for side, limb in product(SIDES, LIMBS)
        )
        fingers = [word for word in self.words if word.finger]
        recognised = ", ".join(sorted(self.roles)) or "none of their bones"
        reason = (
            "its joints name no pair of arms or legs, each with both of its long bones "
            f"({recognised}); a map of joints to roles can name them"
        )
        if fingers and not whole:
            reason = "its joints name hands and fingers, but no arms or legs"
            if not any(word.side for word in fingers):
                reason = (
                    "its joints name fingers, but not of which hand; a map of joints to roles can "
                    "name it, such as the wrist as leftHand"
                )
        raise NotHumanError(f"no human: {reason}")

    def _warn(self, text: str) -> None:
        """Add a note that is also a warning."""
        self.notes.append(text)
        self.warnings.append(text)

    def _check_second_limbs(self, chains: Mapping[tuple[str, str], Chain]) -> None:
        """Raise NotHumanError for additional limbs, by side and limb; copies are not used.

        A copy starts at the same position as the limb that is used.
        """
        positions, _ = forward(self.skeleton, self.skeleton.rest_pose())
        copies = []
        for (side, limb), chain in chains.items():
            upper, lower = (self.starts[f"{side}{part}{limb}"] for part in ("Upper", "Lower"))
            second = chain.bones[f"Upper{limb}"][0]
            away, length = np.linalg.norm(positions[[second, lower]] - positions[upper], axis=-1)
            if away > _COPY_DISTANCE * length:
                raise NotHumanError(
                    f"no human: more than two {limb.lower()}s, or two humans in one skeleton, by "
                    f"{self._names([upper])} and {self._names([second])}"
                )
            copies.append(second)
        if len(copies) == len(SIDES) * len(LIMBS):
            self._warn(f"a second human, to whom {self._names(copies[:1])} belongs, is not used")

    def find_torso(self) -> None:
        """Find hips, spine, chest, neck and head by where the limbs branch off, and by names."""
        given_torso = {role: joint for joint, role in self.given.items() if role in ROLES[:6]}
        upper_chest, arms = given_torso.pop("upperChest", None), self._branch("UpperArm")
        if upper_chest is not None and arms != given_torso.get("chest"):
            if "chest" in given_torso:
                given_torso.setdefault("spine", given_torso["chest"])
            # The arms branch off at the chest, whatever its name is.
            given_torso["chest"] = upper_chest
        hips = given_torso.get("hips", self._hips())
        chest = given_torso.get("chest", self._chest(hips))
        if hips is None and chest is not None:
            hips = self._nearest_above(chest, "hips")
        head = given_torso.get("head", self._head(chest))
        if chest is None and hips is not None:
            chest = self._chest_by_name(hips, head)
        has_legs, has_arms = self._has_pair("Leg"), self._has_pair("Arm")
        if not (has_legs and has_arms) and head is None and (chest is None or hips is None):
            raise NotHumanError(
                f"no human: it has a pair of {'legs' if has_legs else 'arms'}, but neither a head "
                f"nor {'a chest' if has_legs else 'hips'}"
            )
        for role, joint in (("hips", hips), ("chest", chest), ("head", head)):
            if joint is not None:
                sure = joint in self.given or self.words[joint].part in _PARTS[role]
                self._assign(role, [joint], 1.0 if sure else _BY_POSITION)
        self._assign_between("spine", hips, chest, given_torso.get("spine"))
        self._assign_between("neck", chest, head, given_torso.get("neck"))
        if "chest" in given_torso and arms not in (None, chest):
            self.notes.append(f"the arms branch off at {self._names([arms])}, not at the chest")
        if hips is not None and hips == chest:
            self.notes.append(f"{self._names([hips])} is hips and chest: the torso does not bend")
        if head is not None and "head" not in given_torso:
            head_name, part = self._names([head]), self.words[head].part
            if part == "neck":
                self.confidence["head"] = _NECK_AS_HEAD
                self.notes.append(f"there is no joint of the head: {head_name} carries it")
            elif part == "spine":
                self.notes.append(f"{head_name}, the last of the spine, is taken for the head")
        if hips is not None and chest is not None and chest in self.paths[hips][1:]:
            self._scale_confidence(ROLES[1:6], _CONTRADICTED)
            self.notes.append(
                f"{self._names([chest])} is above {self._names([hips])} in the tree: "
                "joints of the torso may turn other bones than they are named after"
            )

    def _named(self, *parts: str) -> list[int]:
        """Return the joints that are named after one of these parts of the torso."""
        return [joint for joint, word in enumerate(self.words) if word.part in parts]

    def _first_joints(self, bone: str) -> list[int]:
        """Return the first joint of a bone on each side that has it."""
        return [self.starts[side + bone] for side in SIDES if side + bone in self.starts]

    def _branch(self, bone: str) -> int | None:
        """Return the joint from which a bone of both sides branches; None without both."""
        first_joints = self._first_joints(bone)
        return common_ancestor(self.skeleton, *first_joints) if len(first_joints) == 2 else None

    def _nearest_above(self, joint: int, *parts: str) -> int | None:
        """Return the nearest of a joint and its ancestors that is named after one of the parts."""
        return next((above for above in self.paths[joint] if self.words[above].part in parts), None)

    def _hips(self) -> int | None:
        """Return the joint from which the thighs branch, or the hips above a lone thigh.

        If the thighs branch from a spine joint right below the hips, it is the hips.
        """
        branch = self._branch("UpperLeg")
        if branch is None:
            first_joints = self._first_joints("UpperLeg")
            return self._nearest_above(first_joints[0], "hips", "root") if first_joints else None
        parent = int(self.skeleton.parents[branch])
        is_spine = self.words[branch].part == "spine"
        return parent if is_spine and parent >= 0 and self.words[parent].part == "hips" else branch

    def _chest(self, hips: int | None) -> int | None:
        """Return the joint from which the arms branch, or the chest or spine above a lone arm.

        If the arms branch from the neck or head, it is the nearest chest or spine above that joint.
        """
        branch = self._branch("UpperArm")
        if branch is None:
            first_joints = self._first_joints("UpperArm")
            return self._nearest_above(first_joints[0], "chest", "spine") if first_joints else None
        if self.words[branch].part in ("neck", "head"):
            trunk_joint = self._nearest_above(branch, "chest", "spine")
            if trunk_joint not in (None, hips):
                return trunk_joint
        return branch

    def _chest_by_name(self, hips: int, head: int | None) -> int | None:
        """Return the chest of a torso without arms: the last joint named chest, or else spine."""
        joints = range(len(self.words)) if head is None else _route(self.skeleton, hips, head)
        for part in ("chest", "spine"):
            named = [joint for joint in joints if self.words[joint].part == part and joint != hips]
            if named:
                return named[-1]
        return None

    def _head(self, chest: int | None) -> int | None:
        """Return the joint that is named head, or else the last neck or spine joint."""
        named = self._named("head")
        if named:
            return min(
                named,
                key=lambda joint: (
                    chest not in self.paths[joint],
                    not self.words[joint].exact,
                    len(self.paths[joint]),
                ),
            )
        # Without a joint of the head, the last one of the neck or spine carries it.
        above_chest = [
            joint for joint in self._named("neck", "spine") if chest in self.paths[joint][1:]
        ]
        return max(above_chest, key=lambda joint: len(self.paths[joint]), default=None)

    def _assign_between(
        self, role: str, low: int | None, high: int | None, given_joint: int | None
    ) -> None:
        """Assign all joints between `low` and `high` to one bone.

        A `given_joint` that is not among them, `low` or `high` is assigned instead.
        """
        between: list[int] = []
        if low is not None and high is not None:
            route = _route(self.skeleton, low, high)
            top = min(route, key=lambda joint: len(self.paths[joint]))
            between = [joint for joint in route[1:-1] if joint != top]  # a joint above both is none
        if role == "neck":  # the chest may be a branch, with vertebrae of its own above it
            is_neck = [self.words[joint].part == "neck" for joint in between]
            between = between[is_neck.index(True) :] if any(is_neck) else between
        if given_joint is not None and given_joint not in (*between, low, high):
            between = [given_joint]
        if not between:
            return
        named = given_joint is not None or any(self.words[joint].part for joint in between)
        self._assign(role, between, 1.0 if named else _BY_POSITION)
        if len(between) > 1:
            self.notes.append(f"{role} is {len(between)} joints: {self._names(between)}")

    def find_fingers(self) -> None:
        """Find the bones of the fingers below each hand, by finger and depth."""
        fingers = {role: joint for joint, role in self.given.items() if role in FINGERS}
        for side in SIDES:
            hand = self.starts.get(f"{side}Hand")
            for finger, bones in PHALANGES.items():
                joints = [
                    joint
                    for joint, word in enumerate(self.words)
                    if (word.finger, word.side, word.palm) == (finger, side, False)
                    and hand in self.paths[joint]
                ]
                # Along one path, and the last of several joints with the same numbers.
                path = [joint for joint in joints if joint in self.paths[joints[-1]]]
                by_number = {self.words[joint].numbers or (joint,): joint for joint in path}
                chain = sorted(by_number.values(), key=path.index)
                if finger != "Thumb" and len(chain) >= _METACARPAL_JOINTS:
                    chain = chain[1:]
                for bone, joint in zip(bones, chain, strict=False):
                    fingers.setdefault(side + finger + bone, joint)
        for role, joint in fingers.items():
            self._assign(role, [joint], 1.0)

    def find_face(self) -> None:
        """Find jaw and eyes below the head, the ones nearest to it, by their names."""
        roles = {role: joint for joint, role in self.given.items() if role in FACE}
        for joint in sorted(range(len(self.words)), key=lambda joint: len(self.paths[joint])):
            word = self.words[joint]
            role = f"{word.side}Eye" if "Eye" in word.bones else word.part
            if role in FACE and self.roles.get("head") in self.paths[joint][1:]:
                roles.setdefault(role, joint)
        for role, joint in roles.items():
            self._assign(role, [joint], 1.0)

    def check_rest_pose(self, rest: Stance) -> None:
        """Lower the confidence where tree or rest pose contradict the names, and add notes."""
        problem = exchanged_sides(rest, self._feet(rest))
        if problem is not None:
            self._scale_confidence((r for r in self.roles if r.startswith(SIDES)), _CONTRADICTED)
            self._warn(problem)
        for side, limb in product(SIDES, LIMBS):
            self._note_joints_between(f"{side}Upper{limb}", f"{side}Lower{limb}")
        missing = [role for role in ROLES if role not in self.roles and role != "upperChest"]
        if missing and not self.roles.keys() <= {*_HANDS, *FINGERS}:
            self.notes.append(f"missing: {list_names(missing, len(ROLES))}")

    def _feet(self, rest: Stance) -> dict[str, Vectors]:
        """Return the vectors (3,) from the ankles to the toes, or to the ends of the feet."""
        feet = {}
        for side in SIDES:
            foot, toes = f"{side}Foot", rest.vector(f"{side}Foot", f"{side}Toes")
            ends = self.skeleton.end_offsets[self.skeleton.end_parents == self.roles.get(foot, -1)]
            if toes is not None or len(ends):
                feet[side] = ends.mean(axis=0) if toes is None else toes
        return feet

    def _note_joints_between(self, upper: str, lower: str) -> None:
        """Note unnamed joints between two bones, and lower the confidence in the lower one."""
        path = self.paths[self.starts[lower]][1:] if lower in self.roles else []
        between = path[: path.index(self.roles[upper])] if self.roles.get(upper) in path else []
        if between:
            self._scale_confidence([lower], _BY_POSITION)
            self.notes.append(
                f"{self._names(between)} between {upper} and {lower} is counted with {lower}"
            )

    def _scale_confidence(self, roles: Iterable[str], factor: float) -> None:
        """Multiply the confidence of roles that were not given."""
        for role in roles:
            if role in self.confidence and role not in self.given.values():
                self.confidence[role] *= factor


def _route(skeleton: Skeleton, start: int, end: int) -> list[int]:
    """Return the joints from start to end along the tree; only these two in different trees."""
    up, down = skeleton.path_to_root(start), skeleton.path_to_root(end)
    top = next((joint for joint in up if joint in down), None)
    if top is None:
        return [start, end]
    return [*up[: up.index(top) + 1], *down[: down.index(top)][::-1]]


def _check_role(role: str) -> None:
    """Raise ValueError, with similar names, for a role that does not exist."""
    if role not in PARENTS:
        hint = did_you_mean(role, PARENTS).strip() or f"roles are {', '.join(ROLES)}"
        raise ValueError(f"no role {role!r:.60}; {hint}")


def _given_roles(skeleton: Skeleton, names: Mapping[str, str]) -> dict[int, str]:
    """Return the user's roles by joint index, checked."""
    given = {}
    for joint, role in names.items():
        if role:
            _check_role(role)
        given[skeleton.index(joint)] = role
    for role in {*given.values()} - {""}:
        joints = sorted(joint for joint, other in given.items() if other == role)
        if not set(joints) <= set(skeleton.path_to_root(joints[-1])):
            both = " and ".join(skeleton.names[joint] for joint in joints)
            raise ValueError(f"{role}: joints of one bone must be below each other, got {both}")
    return given


def _declared_roles(skeleton: Skeleton, humanoid: Mapping[str, str]) -> dict[int, str]:
    """Return the roles that a VRM file declares, by joint index; other bones are left out."""
    is_vrm_0 = any(bone.endswith("ThumbIntermediate") for bone in humanoid)
    declared = {}
    for bone, joint in humanoid.items():
        role = bone
        if is_vrm_0 and "Thumb" in bone:
            side, phalanx = bone.split("Thumb")
            role = f"{side}Thumb{_VRM_0_THUMB.get(phalanx, phalanx)}"
        if role in PARENTS:
            declared[skeleton.index(joint)] = role
    return declared
