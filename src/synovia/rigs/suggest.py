"""Suggested roles for skeletons in which no human is recognised by names alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..skeleton import Skeleton, forward, partner
from .human import ARM, LEG, SIDES
from .recognize import NotHumanError, common_ancestor, partial_roles, recognize

_CHAINS = (ARM[1:], LEG)  # bones that follow each other along a limb
_MAX_DIFFERENCE = 0.05  # of the body's size, between the lengths of a bone and its mirror image


def suggest_roles(skeleton: Skeleton, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return likely roles by joint name.

    If a human is recognised, these are its roles. Otherwise they follow from names and from
    `names`, a map of joints to roles as for `recognize`: the next bones of a limb are its
    descendants, the other side has bones of equal length, and hips and chest are where limbs meet.
    """
    given = dict(names or {})
    try:
        rig = recognize(skeleton, given)
    except NotHumanError:
        pass
    else:
        return {joint: role for role, joint in rig.roles.items()}
    guess = _Guess(skeleton, partial_roles(skeleton, given))
    guess.taken |= {skeleton.index(joint) for joint in given}
    for _ in range(2):  # the second pass extends what was mirrored
        guess.extend()
        guess.mirror()
    guess.find_torso()
    return {skeleton.names[joint]: role for role, joint in guess.roles.items()}


class _Guess:
    """Joint indices by role; each step adds some."""

    def __init__(self, skeleton: Skeleton, roles: Mapping[str, int]) -> None:
        self.skeleton, self.roles = skeleton, dict(roles)
        self.taken = set(self.roles.values())
        self.positions, _ = forward(skeleton, skeleton.rest_pose())
        self.lengths = np.linalg.norm(skeleton.offsets, axis=1)
        paths = [skeleton.path_to_root(joint) for joint in range(len(skeleton))]
        self.depths = np.array([len(path) for path in paths])
        self.descendants = np.bincount([joint for path in paths for joint in path])

    def assign(self, role: str, joint: int | None) -> None:
        """Assign a joint to a role unless one of them is taken."""
        if joint is not None and role not in self.roles and joint not in self.taken:
            self.roles[role] = joint
            self.taken.add(joint)

    def extend(self) -> None:
        """Assign the bones that follow known ones along their limbs."""
        for side in SIDES:
            for chain in _CHAINS:
                for bone, following in itertools.pairwise(chain):
                    if side + bone in self.roles:
                        self.assign(side + following, self._main_child(self.roles[side + bone]))

    def _main_child(self, joint: int) -> int | None:
        """Return the child with the most descendants, then the longest offset."""
        children = self.skeleton.children(joint)
        return max(children, key=lambda k: (self.descendants[k], self.lengths[k]), default=None)

    def mirror(self) -> None:
        """Assign the bones that only one side has to the other side too."""
        for side, other in (SIDES, SIDES[::-1]):
            for bone in itertools.chain(*_CHAINS):
                if side + bone in self.roles and other + bone not in self.roles:
                    self.assign(other + bone, self._mirrored(self.roles[side + bone]))

    def _mirrored(self, joint: int) -> int | None:
        """Return the corresponding joint of the other side, by name or by tree and lengths."""
        names = self.skeleton.names
        named = partner(names[joint], names)
        if named is not None:
            return self.skeleton.index(named)
        distances = np.linalg.norm(self.positions - self.positions[0], axis=1)
        difference = abs(distances - distances[joint]) + abs(self.lengths - self.lengths[joint])
        size = float(np.linalg.norm(np.ptp(self.positions, axis=0))) or 1.0
        is_similar = (
            (self.descendants == self.descendants[joint])
            & (self.depths == self.depths[joint])
            & (difference <= _MAX_DIFFERENCE * size)
        )
        is_similar[[joint, *self.taken]] = False
        similar = np.flatnonzero(is_similar).tolist()
        return min(similar, key=lambda other: difference[other], default=None)

    def find_torso(self) -> None:
        """Assign hips and chest, where limbs of both sides meet, and the head above them."""
        self.assign("hips", self._meeting("UpperLeg"))
        chest = self._meeting("UpperArm")
        self.assign("chest", chest)
        if chest is None:
            return
        arms = {
            joint
            for side in SIDES
            for joint in self.skeleton.path_to_root(self.roles[f"{side}UpperArm"])
        }
        above = set(self.skeleton.children(chest)) - arms - self.taken
        top = max(sorted(above), key=lambda child: self.descendants[child], default=None)
        while top is not None and (next_joint := self._main_child(top)) is not None:
            top = next_joint
        self.assign("head", top)

    def _meeting(self, bone: str) -> int | None:
        """Return the nearest common ancestor of both sides' bones; None without both."""
        if not all(side + bone in self.roles for side in SIDES):
            return None
        return common_ancestor(self.skeleton, *(self.roles[side + bone] for side in SIDES))
