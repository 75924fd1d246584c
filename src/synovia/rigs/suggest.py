"""Roles of joints as far as they can be guessed, where no human is recognised by names alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..skeleton import Skeleton, forward, partner
from .human import ARM, LEG, SIDES
from .recognize import NotHumanError, partial_roles, recognize

CHAINS = (ARM[1:], LEG)
"""Bones that follow each other along a limb."""
ALIKE = 0.05
"""By how much bones of two sides may differ, as a share of the body's size."""


def suggest_roles(skeleton: Skeleton, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the roles that joints seem to have, by joint.

    Where a human is recognised, these are its roles. Otherwise it is what names tell, and what
    follows from it and from `names`, a map of joints to roles as `recognize` takes it: the next
    bones of a limb are outward in the tree, the other side has bones of the same lengths, and hips
    and chest are where the limbs meet.
    """
    said = dict(names or {})
    try:
        rig = recognize(skeleton, said)
    except NotHumanError:
        return _guess(skeleton, said)
    return {joint: role for role, joint in rig.roles.items()}


def _guess(skeleton: Skeleton, said: Mapping[str, str]) -> dict[str, str]:
    search = _Guess(skeleton, partial_roles(skeleton, said))
    search.taken |= {skeleton.index(joint) for joint in said}
    for _ in range(2):  # what one side shows the other has, too
        search.extend()
        search.mirror()
    search.join()
    return {skeleton.names[joint]: role for role, joint in search.roles.items()}


class _Guess:
    """The joints of roles so far; each step adds some."""

    def __init__(self, skeleton: Skeleton, roles: Mapping[str, int]) -> None:
        self.skeleton, self.roles = skeleton, dict(roles)
        self.taken = set(self.roles.values())
        rest = skeleton.rest_pose()
        self.places, _ = forward(skeleton, rest)
        self.size = float(np.linalg.norm(np.ptp(self.places, axis=0))) or 1.0
        self.below = np.ones(len(skeleton), np.int64)
        self.reach = np.linalg.norm(skeleton.offsets, axis=1)
        for joint in reversed(range(len(skeleton))):
            parent = int(skeleton.parents[joint])
            if parent >= 0:
                self.below[parent] += self.below[joint]

    def give(self, role: str, joint: int | None) -> None:
        """Let a joint have a role, unless one of them is taken."""
        if joint is not None and role not in self.roles and joint not in self.taken:
            self.roles[role] = joint
            self.taken.add(joint)

    def extend(self) -> None:
        """Let the bones after a known one be those outward."""
        for side in SIDES:
            for chain in CHAINS:
                for bone, following in itertools.pairwise(chain):
                    if side + bone in self.roles:
                        self.give(side + following, self._outward(self.roles[side + bone]))

    def _outward(self, joint: int) -> int | None:
        """Return the child from which most hangs, and of those the farthest."""
        children = self.skeleton.children(joint)
        return max(children, key=lambda each: (self.below[each], self.reach[each]), default=None)

    def mirror(self) -> None:
        """Let the other side have what one side has."""
        for side, other in (SIDES, SIDES[::-1]):
            for chain in CHAINS:
                for bone in chain:
                    if side + bone in self.roles and other + bone not in self.roles:
                        self.give(other + bone, self._opposite(self.roles[side + bone]))

    def _opposite(self, joint: int) -> int | None:
        """Return the joint of the other side: by its name, or by lengths and tree."""
        names = self.skeleton.names
        named = partner(names[joint], names)
        if named is not None:
            return self.skeleton.index(named)
        depth = len(self.skeleton.path_to_root(joint))
        far = np.linalg.norm(self.places - self.places[0], axis=1)
        off = np.abs(far - far[joint]) + np.abs(self.reach - self.reach[joint])
        alike = [
            each
            for each in range(len(names))
            if each != joint
            and each not in self.taken
            and self.below[each] == self.below[joint]
            and len(self.skeleton.path_to_root(each)) == depth
            and off[each] <= ALIKE * self.size
        ]
        return min(alike, key=lambda each: off[each], default=None)

    def join(self) -> None:
        """Let hips and chest be where limbs of both sides meet, and the head what is above."""
        hips, chest = self._meeting("UpperLeg"), self._meeting("UpperArm")
        self.give("hips", hips)
        self.give("chest", chest)
        if chest is None:
            return
        limbs = {self.roles[side + "UpperArm"] for side in SIDES}
        above = [
            each
            for each in self.skeleton.children(chest)
            if not any(each in self.skeleton.path_to_root(limb) for limb in limbs)
            and each not in self.taken
        ]
        top = max(above, key=lambda each: self.below[each], default=None)
        while top is not None and (further := self._outward(top)) is not None:
            top = further
        self.give("head", top)

    def _meeting(self, bone: str) -> int | None:
        ends = [self.roles.get(side + bone) for side in SIDES]
        if ends[0] is None or ends[1] is None:
            return None
        one, other = (self.skeleton.path_to_root(each)[1:] for each in ends if each is not None)
        return next((each for each in one if each in other), None)
