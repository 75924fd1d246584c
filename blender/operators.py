# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: disable-error-code="valid-type"
"""The operators. All of them can be undone."""

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import BoolProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from synovia import Clip, LimitModel, edit, load_limits, save_limits
from synovia.limit.convert import gained_and_lost
from synovia.repairs import KEEP, repair

from . import check, cone, constraints, draw, learn, limits, live, roles
from .action import action_of, bake, clip_of, frames_of
from .rig import rig_of

MAX_NOTES = 3  # reported notes; the console shows all


def active_armature(context: Any) -> Any:
    """Return the active armature object, or the armature of the active mesh or drawing."""
    active = context.object
    if active is None or active.type == "ARMATURE":
        return active
    if active.parent is not None and active.parent.type == "ARMATURE":
        return active.parent
    return active.find_armature()


def active_bone(context: Any, armature: Any) -> str:
    """Return the name of the active bone, or of the bone of the active drawing."""
    if context.object is not None and context.object.get(draw.BONE):
        return str(context.object[draw.BONE])
    bone = armature.data.bones.active
    if bone is None:
        raise ValueError(f"no bone of {armature.name} is active: click one in Pose Mode")
    return str(bone.name)


class ArmatureOperator:
    """Base of operators on an armature: errors and notes become reports."""

    bl_options = {"REGISTER", "UNDO"}
    needs_limits = True
    if TYPE_CHECKING:  # defined by Blender's classes
        report: Any
        filepath: Any

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Return True if there is an armature, with limits if the operator needs them."""
        armature = active_armature(context)
        return armature is not None and (not cls.needs_limits or limits.has_limits(armature))

    def execute(self, context: Any) -> set[str]:
        """Run, and report the message or the error."""
        try:
            message = self.run(context, active_armature(context))
        except (ValueError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, message)
        return {"FINISHED"}

    def run(self, context: Any, armature: Any) -> str:
        """Perform the operation; return a message."""
        raise NotImplementedError

    def report_notes(self, notes: list[str]) -> None:
        """Report the first notes as a warning, and print all."""
        for note in notes:
            print(f"Synovia: {note}")
        if notes:
            more = f" (and {len(notes) - MAX_NOTES} more)" if len(notes) > MAX_NOTES else ""
            self.report({"WARNING"}, "; ".join(notes[:MAX_NOTES]) + more)


def set_limits(armature: Any, model: Any, source: str) -> None:
    """Replace the limits of an armature object, and update what is shown of them."""
    limits.store(armature, model, source)
    check.clear(armature)
    armature.synovia.losses.clear()
    for bone in {drawing[draw.BONE] for drawing in draw.drawings(armature)}:
        collections = draw.drawings(armature, bone=bone)[0].users_collection
        draw.erase(armature, bone)
        if collections and bone in limits.bound(armature).model.limits:
            draw.draw_limit(armature, bone, collections[0])


class LimitsOperator(ArmatureOperator):
    """Base of operators that set the limits of an armature."""

    needs_limits = False

    def run(self, context: Any, armature: Any) -> str:
        """Make limits, store them, and report notes."""
        model, source, notes = self.make(context, armature)
        set_limits(armature, model, source)
        self.report_notes(notes)
        count = len(limits.bound(armature).limited)
        return f"{count} bones of {armature.name} have limits: {source}"

    def make(self, context: Any, armature: Any) -> tuple[LimitModel, str, list[str]]:
        """Return limits, their origin, and notes for the user."""
        raise NotImplementedError


class SYNOVIA_OT_open(LimitsOperator, ImportHelper, bpy.types.Operator):
    """Open limits from a file: *.limits.json, or ranges in URDF, OpenSim or ASF"""

    bl_idname = "synovia.open"
    bl_label = "Open Limits"
    filename_ext = ".limits.json"
    filter_glob: StringProperty(default="*.json;*.urdf;*.osim;*.asf;*.xml", options={"HIDDEN"})

    def make(self, context: Any, armature: Any) -> tuple[LimitModel, str, list[str]]:
        """Return the limits of the file, converted to this rig if necessary."""
        path = bpy.path.abspath(self.filepath)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load_limits(path)
        rig = rig_of(armature)
        clips = learn.clips_for(armature, rig, context.scene)
        assigned = roles.assigned_roles(armature, rig.skeleton)
        model, notes = limits.fit_to(model, rig, clips, assigned)
        return model, os.path.basename(path), notes


class SYNOVIA_OT_human(LimitsOperator, bpy.types.Operator):
    """Recognise the rig as a human, and use human limits"""

    bl_idname = "synovia.human"
    bl_label = "Human Limits"

    def make(self, context: Any, armature: Any) -> tuple[LimitModel, str, list[str]]:
        """Return human limits; print how the rig was recognised."""
        model, lines = learn.human_limits(armature, armature.synovia.human, context.scene)
        for line in lines:
            print(f"Synovia: {line}")
        return model, f"human ({armature.synovia.human})", []


class SYNOVIA_OT_suggest_roles(ArmatureOperator, bpy.types.Operator):
    """List the roles of a human, and suggest a bone of this rig for each"""

    bl_idname = "synovia.suggest_roles"
    bl_label = "Suggest Bones"
    needs_limits = False

    def run(self, context: Any, armature: Any) -> str:
        """Fill rows without a bone."""
        filled = roles.suggest(armature, rig_of(armature).skeleton)
        empty = sum(not row.bone for row in armature.synovia.roles)
        return f"{filled} bones suggested, {empty} of {len(roles.SHOWN)} roles are empty"


class SYNOVIA_OT_clear_roles(ArmatureOperator, bpy.types.Operator):
    """Remove assigned bones: roles follow from names alone"""

    bl_idname = "synovia.clear_roles"
    bl_label = "Clear Bones"
    needs_limits = False

    def run(self, context: Any, armature: Any) -> str:
        """Remove the rows."""
        armature.synovia.roles.clear()
        return "bones are recognised by their names alone"


class SYNOVIA_OT_learn(LimitsOperator, bpy.types.Operator):
    """Learn limits from the chosen actions"""

    bl_idname = "synovia.learn"
    bl_label = "Learn from Actions"

    def make(self, context: Any, armature: Any) -> tuple[LimitModel, str, list[str]]:
        """Return limits fitted to the chosen actions."""
        model, notes = learn.learn_limits(armature, context.scene)
        return model, f"learned from {len(learn.chosen_actions(armature))} actions", notes


class SYNOVIA_OT_save(ArmatureOperator, ExportHelper, bpy.types.Operator):
    """Write the limits to a file, for other rigs, the command line and other programs"""

    bl_idname = "synovia.save"
    bl_label = "Save Limits"
    filename_ext = ".limits.json"
    filter_glob: StringProperty(default="*.limits.json;*.limits.bin", options={"HIDDEN"})

    def check(self, context: Any) -> bool:
        """Append the suffix `.limits.json` if the name has neither suffix."""
        if self.filepath.lower().endswith((".limits.json", ".limits.bin")):
            return False
        self.filepath = f"{os.path.splitext(self.filepath)[0]}.limits.json"
        return True

    def run(self, context: Any, armature: Any) -> str:
        """Write the file."""
        path = bpy.path.abspath(self.filepath)
        save_limits(limits.bound(armature).model, path)
        return f"wrote {path}"


class SYNOVIA_OT_forget(ArmatureOperator, bpy.types.Operator):
    """Remove the limits of this armature"""

    bl_idname = "synovia.forget"
    bl_label = "Remove Limits"

    def run(self, context: Any, armature: Any) -> str:
        """Remove limits, drawings and results of checks."""
        check.clear(armature)
        draw.erase(armature)
        armature.synovia.losses.clear()
        armature.synovia.live = False
        limits.forget(armature)
        return f"removed the limits of {armature.name}"


class SYNOVIA_OT_settle(ArmatureOperator, bpy.types.Operator):
    """Rotate bones that are outside to their nearest legal rotations, in the current pose"""

    bl_idname = "synovia.settle"
    bl_label = "Clamp Pose"

    def run(self, context: Any, armature: Any) -> str:
        """Clamp the pose once."""
        live.forget(armature)
        rotated = live.settle(armature, context.evaluated_depsgraph_get())
        return f"{rotated} bones were outside" if rotated else "all bones are inside"


class SYNOVIA_OT_check(ArmatureOperator, bpy.types.Operator):
    """List where the action leaves the limits, mark the frames and colour the bones"""

    bl_idname = "synovia.check"
    bl_label = "Check Action"

    def run(self, context: Any, armature: Any) -> str:
        """Check and show."""
        action = action_of(armature)
        check.show_report(armature, action, check.check_action(armature, action, context.scene))
        return str(armature.synovia.summary)


class SYNOVIA_OT_clear(ArmatureOperator, bpy.types.Operator):
    """Clear the list, the markers and the colours"""

    bl_idname = "synovia.clear"
    bl_label = "Clear"

    def run(self, context: Any, armature: Any) -> str:
        """Clear list, markers and colours."""
        check.clear(armature)
        return "cleared"


class Bake(ArmatureOperator):
    """Base of operators that make a legal copy of the armature's action."""

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the new clip, a word for the name of its action, and notes."""
        raise NotImplementedError

    def run(self, context: Any, armature: Any) -> str:
        """Make the new action, assign it, and show its check."""
        action, bound = action_of(armature), limits.bound(armature)
        clip = clip_of(armature, action, bound.rig, context.scene)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            legal, word, notes = self.make(clip, bound.target)
        given, free = clip.pose.rotations, limits.movable(armature, bound)
        rotations = bound.bend_where_split_bones_begin(given, legal.pose.rotations, free)
        changed = np.flatnonzero((given != rotations).any(axis=(0, 2)))
        driven = [clip.skeleton.names[joint] for joint in changed if not free[joint]]
        moved = {int(joint): rotations[:, joint] for joint in changed if free[joint]}
        if driven:
            self.report_notes([f"not changed, as constraints drive them: {', '.join(driven)}"])
        if not moved:
            return f"{action.name} is already within the limits"
        new = bake(armature, action, bound.rig, moved, f"{action.name} {word}")
        assign(armature, new)
        self.report_notes(notes)
        after = check.check_action(armature, new, context.scene)
        check.show_report(armature, new, after)
        return f"{new.name}: {len(moved)} bones changed in {len(frames_of(action))} frames"


class SYNOVIA_OT_bake(Bake, bpy.types.Operator):
    """Make a new action that is within the limits in every frame, without pops"""

    bl_idname = "synovia.bake"
    bl_label = "Bake Action"

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the clamped clip."""
        legal, report = model.project_clip(clip)
        notes = [f"steps over the speed bound at {', '.join(report.over)}"] if report.over else []
        return legal, "legal", notes


class SYNOVIA_OT_repair(Bake, bpy.types.Operator):
    """Make a new action within the limits that keeps hands, planted feet and head in place"""

    bl_idname = "synovia.repair"
    bl_label = "Repair Action"
    bl_options = {"REGISTER", "UNDO"}
    hands: BoolProperty(name="Keep Hands", default=True, description="Keep the positions of hands")
    feet: BoolProperty(
        name="Keep Feet", default=True, description="Keep the positions of feet on the ground"
    )
    head: BoolProperty(name="Keep Head", default=True, description="Keep the head's rotation")

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the repaired clip, and what could not be kept."""
        repaired, report = repair(clip, model, [name for name in KEEP if getattr(self, name)])
        return repaired, "repaired", report.describe()


def assign(armature: Any, action: Any) -> None:
    """Assign an action to an object, with the slot of the same name."""
    data = armature.animation_data
    slot = data.action_slot.identifier if data.action_slot is not None else ""
    data.action = action
    if data.action_slot is None and slot in action.slots:
        data.action_slot = action.slots[slot]


class SYNOVIA_OT_draw(ArmatureOperator, bpy.types.Operator):
    """Draw the legal directions of the active bone, coloured by twist; red when outside"""

    bl_idname = "synovia.draw"
    bl_label = "Draw Limit"

    def run(self, context: Any, armature: Any) -> str:
        """Draw the limit of the active bone."""
        bone = active_bone(context, armature)
        draw.draw_limit(armature, bone, context.collection)
        live.show_outside(armature, context.evaluated_depsgraph_get())
        return f"drew the limit of {bone}"


class SYNOVIA_OT_erase(ArmatureOperator, bpy.types.Operator):
    """Remove the drawings of limits"""

    bl_idname = "synovia.erase"
    bl_label = "Remove Drawings"

    def run(self, context: Any, armature: Any) -> str:
        """Remove all drawings of the armature."""
        return f"removed {draw.erase(armature)} objects"


class SYNOVIA_OT_edit_cone(ArmatureOperator, bpy.types.Operator):
    """Put the points of the active bone's reach cone into the scene, as a mesh to edit"""

    bl_idname = "synovia.edit_cone"
    bl_label = "Edit Reach Cone"

    def run(self, context: Any, armature: Any) -> str:
        """Add the ring of points, and make it the active object."""
        bone = active_bone(context, armature)
        bound = limits.bound(armature)
        limit = draw.limit_of(bound, bone)
        if len(edit.cones(limit.shape)) != 1:
            axis = bound.rig.skeleton.rest_directions[bound.rig.skeleton.index(bone)]
            converted = cone.as_cone(limit, axis)
            store_limit(armature, bone, converted)
            gained, lost = gained_and_lost(limit, converted)
            self.report_notes(
                [f"{bone} is a reach cone now: {gained:.1%} of rotations gained, {lost:.1%} lost"]
            )
        ring = cone.draw_cone(armature, bone, context.collection)
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for selected in context.selected_objects:
            selected.select_set(False)
        ring.select_set(True)
        context.view_layer.objects.active = ring
        return f"move, cut or dissolve the points in Edit Mode, then Apply Cone ({bone})"


class SYNOVIA_OT_apply_cone(ArmatureOperator, bpy.types.Operator):
    """Read the edited points back into the bone's reach cone"""

    bl_idname = "synovia.apply_cone"
    bl_label = "Apply Cone"

    def run(self, context: Any, armature: Any) -> str:
        """Store the cone and draw it."""
        bone = active_bone(context, armature)
        editing = context.object is not None and context.object.mode == "EDIT"
        if editing:  # Edit Mode works on a copy of the mesh
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            store_limit(armature, bone, cone.read_cone(armature, bone))
        finally:
            if editing:
                bpy.ops.object.mode_set(mode="EDIT")
        ring = draw.drawings(armature, cone.CONE, bone)[0]
        draw.draw_limit(armature, bone, ring.users_collection[0])
        (edited,) = edit.cones(limits.bound(armature).model.limits[bone].shape)
        return f"the cone of {bone} has {len(edited.points)} points"


def store_limit(armature: Any, bone: str, limit: Any) -> None:
    """Replace the limit of one bone."""
    bound = limits.bound(armature)
    provenance = limits.model_of(armature).provenance
    source = armature.synovia.source.removesuffix(", edited")
    model = limits.with_limit(bound.model, bone, limit)
    limits.store(armature, replace(model, provenance=provenance), f"{source}, edited")


class SYNOVIA_OT_write(ArmatureOperator, bpy.types.Operator):
    """Write the limits as constraints or IK limits, and show the loss"""

    bl_idname = "synovia.write"
    bl_label = "Write as Blender's Limits"

    def run(self, context: Any, armature: Any) -> str:
        """Write the limits, and list the losses."""
        settings = armature.synovia
        losses = constraints.write(armature, settings.form)
        settings.losses.clear()
        model = limits.bound(armature).model
        for bone, loss in sorted(losses.items(), key=lambda item: -item[1].gained):
            row = settings.losses.add()
            row.name = row.bone = bone
            row.share, row.gained, row.lost = loss.share, loss.gained, loss.lost
            row.angle = loss.gained_angle
            row.note = limits.loss_note(model, bone)
        return f"wrote limits of {len(losses)} bones"


class SYNOVIA_OT_unwrite(ArmatureOperator, bpy.types.Operator):
    """Remove the constraints of Synovia, and IK limits of bones that have limits"""

    bl_idname = "synovia.unwrite"
    bl_label = "Remove Blender's Limits"

    def run(self, context: Any, armature: Any) -> str:
        """Remove constraints and IK limits."""
        for bone in armature.pose.bones:
            constraints.remove_limit_rotation(bone)
        for name in limits.bound(armature).model.limits:
            for letter in "xyz":
                setattr(armature.pose.bones[name], f"use_ik_limit_{letter}", False)
        armature.synovia.losses.clear()
        return "removed Blender's limits"


CLASSES = (
    SYNOVIA_OT_open,
    SYNOVIA_OT_human,
    SYNOVIA_OT_suggest_roles,
    SYNOVIA_OT_clear_roles,
    SYNOVIA_OT_learn,
    SYNOVIA_OT_save,
    SYNOVIA_OT_forget,
    SYNOVIA_OT_settle,
    SYNOVIA_OT_check,
    SYNOVIA_OT_clear,
    SYNOVIA_OT_bake,
    SYNOVIA_OT_repair,
    SYNOVIA_OT_draw,
    SYNOVIA_OT_erase,
    SYNOVIA_OT_edit_cone,
    SYNOVIA_OT_apply_cone,
    SYNOVIA_OT_write,
    SYNOVIA_OT_unwrite,
)


register, unregister = bpy.utils.register_classes_factory(CLASSES)
