"""Roles are suggested where names say nothing: from two that a person names, and from the tree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clips import clip
from rigs import RIGS, rig
from synovia.rigs import NotHumanError, recognize, suggest_roles
from twins import walker

GIVEN = ("leftUpperArm", "leftUpperLeg")


def nameless(skeleton):
    return replace(skeleton, names=tuple(f"bone{number}" for number in range(len(skeleton))))


def test_two_named_joints_suggest_the_rest_of_a_body():
    known = recognize(walker().skeleton)
    body = nameless(known.skeleton)
    with pytest.raises(NotHumanError):
        recognize(body)
    assert suggest_roles(body) == {}
    said = {body.names[known.skeleton.index(known.starts[role])]: role for role in GIVEN}
    found = suggest_roles(body, said)
    bones = [*known.roles.items(), *known.starts.items()]
    right = {(body.names[known.skeleton.index(joint)], role) for role, joint in bones}
    assert set(found.items()) <= right
    limbs = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
    wanted = {side + bone for side in ("left", "right") for bone in limbs}
    assert wanted | {"hips", "chest"} <= set(found.values())
    assert recognize(body, found).roles["rightLowerLeg"]


def test_what_is_recognised_is_suggested():
    body = rig(next(iter(RIGS.values())))[0]
    known = recognize(body)
    assert suggest_roles(body) == {joint: role for role, joint in known.roles.items()}


def test_where_names_tell_of_an_arm_alone_it_is_suggested_unless_that_is_denied():
    body = clip().skeleton
    assert suggest_roles(body)["LeftForeArm"] == "leftLowerArm"
    assert "LeftForeArm" not in suggest_roles(body, {"LeftForeArm": ""})
