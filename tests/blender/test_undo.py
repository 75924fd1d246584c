"""Undo: what an operator did is taken back by one step, and done again by redo."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from armatures import animate, human, small_limits, wild_rotations

from synovia.edit import cones


@pytest.fixture
def limited(part):
    thing = human()
    animate(thing, part, wild_rotations())
    part("limits").store(thing, small_limits(thing, part), "boxes")
    bpy.ops.object.mode_set(mode="POSE")
    thing.data.bones.active = thing.data.bones["LeftArm"]
    return thing


def run(name):
    """Run an operator as its button does: with a step of undo of its own."""
    assert getattr(bpy.ops.synovia, name)("EXEC_DEFAULT", True) == {"FINISHED"}


def there():
    """The armature object, which undo makes anew."""
    return bpy.data.objects["Human"]


def action_curves(part):
    action = part("action")
    curves = action.curves(action.action_of(there()), there())
    return {(c.data_path, c.array_index): c.evaluate(7.0) for c in curves}


def ring(part):
    found = part("draw").drawings(there(), part("cone").CONE)
    return [tuple(v.co) for each in found for v in each.data.vertices]


STATES = {
    "bake": lambda part: (there().animation_data.action.name, action_curves(part)),
    "repair": lambda part: (there().animation_data.action.name, action_curves(part)),
    "check": lambda part: (len(there().synovia.rows), len(_markers()), _palettes()),
    "draw": lambda part: sorted(each.name for each in there().children),
    "write": lambda part: (
        [(bone.use_ik_limit_x, bone.ik_max_x) for bone in there().pose.bones],
        len(there().synovia.losses),
    ),
    "edit_cone": lambda part: (there().synovia.limits_id, ring(part)),
    "settle": lambda part: [tuple(b.rotation_quaternion) for b in there().pose.bones],
    "human": lambda part: (there().synovia.limits_id, there().synovia.source),
    "suggest_roles": lambda part: [(row.name, row.bone) for row in there().synovia.roles],
    "forget": lambda part: there().synovia.limits_id,
}


def _markers():
    return there().animation_data.action.pose_markers


def _palettes():
    return [bone.color.palette for bone in there().pose.bones]


@pytest.mark.parametrize("name", STATES)
def test_an_operator_is_undone_and_redone(name, limited, part):
    if name == "settle":
        limited.animation_data.action = None
        limited.pose.bones["Head"].rotation_quaternion = (0.0, 1.0, 0.0, 0.0)
    limited.synovia.form = "ik"
    state = STATES[name]
    before = state(part)
    bpy.ops.ed.undo_push(message="before")
    run(name)
    after = state(part)
    assert after != before
    bpy.ops.ed.undo()
    assert state(part) == before
    bpy.ops.ed.redo()
    assert state(part) == after


def test_edits_of_a_cone_are_undone_one_by_one(limited, part):
    limits = part("limits")

    def cone():
        (found,) = cones(limits.bound(there()).model.limits["LeftArm"].shape)
        return found

    run("edit_cone")
    first = cone().points
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.ed.undo_push(message="in Edit Mode")
    bpy.ops.mesh.subdivide("EXEC_DEFAULT", True)
    run("apply_cone")
    assert len(cone().points) == 2 * len(first)
    bpy.ops.ed.undo()
    np.testing.assert_array_equal(cone().points, first)


def test_live_limits_add_no_undo_steps(limited, part):
    """A pose that live made legal is one step with the change that it came after."""
    limited.animation_data.action = None
    for bone in limited.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    limited.synovia.live = True
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="at rest")
    limited.pose.bones["LeftArm"].rotation_quaternion = (0.6, 0.0, 0.8, 0.0)
    bpy.context.view_layer.update()
    legal = tuple(there().pose.bones["LeftArm"].rotation_quaternion)
    assert legal != pytest.approx((0.6, 0.0, 0.8, 0.0))
    bpy.ops.ed.undo_push(message="turned")
    bpy.ops.ed.undo()
    bpy.context.view_layer.update()
    assert tuple(there().pose.bones["LeftArm"].rotation_quaternion) == (1.0, 0.0, 0.0, 0.0)
    bpy.ops.ed.redo()
    bpy.context.view_layer.update()
    assert tuple(there().pose.bones["LeftArm"].rotation_quaternion) == pytest.approx(legal)
