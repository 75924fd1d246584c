# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: disable-error-code="valid-type"
"""The operators, each of which undo takes back."""

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

MOST_NOTES = 3
"""How many notes are reported; the console has them all."""


def armature(context: Any) -> Any:
    """Return the armature object that operators are about: the active one, or a mesh's own."""
    thing = context.object
    if thing is not None and thing.type == "ARMATURE":
        return thing
    if thing is not None and thing.parent is not None and thing.parent.type == "ARMATURE":
        return thing.parent
    return thing.find_armature() if thing is not None else None


def active_bone(context: Any, thing: Any) -> str:
    """Return the name of the active bone, or of the one that the active object was drawn for."""
    if context.object is not None and context.object.get(draw.BONE):
        return str(context.object[draw.BONE])
    bone = thing.data.bones.active
    if bone is None:
        raise ValueError(f"no bone of {thing.name} is active: click one in Pose Mode")
    return str(bone.name)


class Command:
    """An operator about an armature: errors become reports, and notes too."""

    bl_options = {"REGISTER", "UNDO"}
    needs_limits = True
    if TYPE_CHECKING:  # what Blender's classes bring
        report: Any
        filepath: Any

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Tell whether there is an armature, with limits where they are needed."""
        thing = armature(context)
        return thing is not None and (not cls.needs_limits or limits.has_limits(thing))

    def execute(self, context: Any) -> set[str]:
        """Run, and report."""
        try:
            message = self.run(context, armature(context))
        except (ValueError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, message)
        return {"FINISHED"}

    def run(self, context: Any, thing: Any) -> str:
        """Do it, and return a line about it."""
        raise NotImplementedError

    def tell(self, notes: list[str]) -> None:
        """Report some notes as warnings, and print all."""
        for note in notes:
            print(f"Synovia: {note}")
        if notes:
            more = f" (and {len(notes) - MOST_NOTES} more)" if len(notes) > MOST_NOTES else ""
            self.report({"WARNING"}, "; ".join(notes[:MOST_NOTES]) + more)


def take(thing: Any, model: Any, source: str) -> None:
    """Give an armature object other limits, and take back what was shown of those before."""
    limits.store(thing, model, source)
    check.clear(thing)
    thing.synovia.losses.clear()
    for bone in {each[draw.BONE] for each in draw.drawn(thing)}:
        collections = draw.drawn(thing, bone=bone)[0].users_collection
        draw.erase(thing, bone)
        if collections and bone in limits.bound(thing).model.limits:
            draw.draw_limit(thing, bone, collections[0])


class Source(Command):
    """An operator that gives an armature other limits."""

    needs_limits = False

    def run(self, context: Any, thing: Any) -> str:
        """Make limits, store them, and say what a user should know of them."""
        model, source, notes = self.make(context, thing)
        take(thing, model, source)
        self.tell(notes)
        return f"{len(limits.bound(thing).limited)} bones of {thing.name} have limits: {source}"

    def make(self, context: Any, thing: Any) -> tuple[LimitModel, str, list[str]]:
        """Return limits, where they are from, and what a user should know."""
        raise NotImplementedError


class SYNOVIA_OT_open(Source, ImportHelper, bpy.types.Operator):
    """Take limits from a file: *.limits.json, or ranges in URDF, OpenSim or ASF"""

    bl_idname = "synovia.open"
    bl_label = "Open Limits"
    filename_ext = ".limits.json"
    filter_glob: StringProperty(default="*.json;*.urdf;*.osim;*.asf;*.xml", options={"HIDDEN"})

    def make(self, context: Any, thing: Any) -> tuple[LimitModel, str, list[str]]:
        """Return what is in the file, as it suits this rig."""
        path = bpy.path.abspath(self.filepath)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load_limits(path)
        rig = rig_of(thing)
        clips = learn.clips_for(thing, rig, context.scene)
        said = roles.said_roles(thing, rig.skeleton)
        model, notes = limits.fit_to(model, rig, clips, said)
        return model, os.path.basename(path), notes


class SYNOVIA_OT_human(Source, bpy.types.Operator):
    """Recognise the rig as a human, and take what humans can do as its limits"""

    bl_idname = "synovia.human"
    bl_label = "Limits of a Human"

    def make(self, context: Any, thing: Any) -> tuple[LimitModel, str, list[str]]:
        """Return limits of a human; the console has how the rig was understood."""
        model, lines = learn.human_limits(thing, thing.synovia.human, context.scene)
        for line in lines:
            print(f"Synovia: {line}")
        return model, f"human ({thing.synovia.human})", []


class SYNOVIA_OT_suggest_roles(Command, bpy.types.Operator):
    """List the bones of a human, each with the bone of this rig that is likely to be it"""

    bl_idname = "synovia.suggest_roles"
    bl_label = "Suggest Bones"
    needs_limits = False

    def run(self, context: Any, thing: Any) -> str:
        """Fill rows that have no bone."""
        filled = roles.fill(thing, rig_of(thing).skeleton)
        left = sum(not row.bone for row in thing.synovia.roles)
        return f"{filled} bones suggested, {left} of {len(roles.SHOWN)} are not known"


class SYNOVIA_OT_clear_roles(Command, bpy.types.Operator):
    """Forget which bone is which: names alone tell it"""

    bl_idname = "synovia.clear_roles"
    bl_label = "Clear Bones"
    needs_limits = False

    def run(self, context: Any, thing: Any) -> str:
        """Remove the rows."""
        thing.synovia.roles.clear()
        return "names alone tell which bone is which"


class SYNOVIA_OT_learn(Source, bpy.types.Operator):
    """Learn limits from the chosen actions"""

    bl_idname = "synovia.learn"
    bl_label = "Learn from Actions"

    def make(self, context: Any, thing: Any) -> tuple[LimitModel, str, list[str]]:
        """Return limits around what the chosen actions do."""
        model, notes = learn.learn_limits(thing, context.scene)
        return model, f"learned from {len(learn.chosen_actions(thing))} actions", notes


class SYNOVIA_OT_save(Command, ExportHelper, bpy.types.Operator):
    """Write the limits to a file, for other rigs, the command line and other programs"""

    bl_idname = "synovia.save"
    bl_label = "Save Limits"
    filename_ext = ".limits.json"
    filter_glob: StringProperty(default="*.limits.json;*.limits.bin", options={"HIDDEN"})

    def check(self, context: Any) -> bool:
        """Keep a name that has one of our two suffixes."""
        if self.filepath.lower().endswith((".limits.json", ".limits.bin")):
            return False
        self.filepath = f"{os.path.splitext(self.filepath)[0]}.limits.json"
        return True

    def run(self, context: Any, thing: Any) -> str:
        """Write the file."""
        path = bpy.path.abspath(self.filepath)
        save_limits(limits.bound(thing).model, path)
        return f"wrote {path}"


class SYNOVIA_OT_forget(Command, bpy.types.Operator):
    """Take the limits away from this armature"""

    bl_idname = "synovia.forget"
    bl_label = "Remove Limits"

    def run(self, context: Any, thing: Any) -> str:
        """Remove limits, and what was shown of them."""
        check.clear(thing)
        draw.erase(thing)
        thing.synovia.losses.clear()
        thing.synovia.live = False
        limits.forget(thing)
        return f"{thing.name} has no limits any more"


class SYNOVIA_OT_settle(Command, bpy.types.Operator):
    """Turn bones that are outside to their nearest legal rotations, in the pose as it is"""

    bl_idname = "synovia.settle"
    bl_label = "Clamp Pose"

    def run(self, context: Any, thing: Any) -> str:
        """Turn them once."""
        live.forget(thing)
        turned = live.settle(thing, context.evaluated_depsgraph_get())
        return f"{turned} bones were outside" if turned else "all bones are inside"


class SYNOVIA_OT_check(Command, bpy.types.Operator):
    """List where the action leaves the limits, mark the frames and colour the bones"""

    bl_idname = "synovia.check"
    bl_label = "Check Action"

    def run(self, context: Any, thing: Any) -> str:
        """Check and show."""
        action = action_of(thing)
        check.show_report(thing, action, check.check_action(thing, action, context.scene))
        return str(thing.synovia.summary)


class SYNOVIA_OT_clear(Command, bpy.types.Operator):
    """Clear the list, the markers and the colours"""

    bl_idname = "synovia.clear"
    bl_label = "Clear"

    def run(self, context: Any, thing: Any) -> str:
        """Take back what was shown."""
        check.clear(thing)
        return "cleared"


class Bake(Command):
    """An operator that makes a new action out of the one that an armature has."""

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the new clip, a word for the name of its action, and notes."""
        raise NotImplementedError

    def run(self, context: Any, thing: Any) -> str:
        """Make the new action, and give it to the object."""
        action, bound = action_of(thing), limits.bound(thing)
        clip = clip_of(thing, action, bound.rig, context.scene)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            legal, word, notes = self.make(clip, bound.target)
        given, free = clip.pose.rotations, limits.movable(thing, bound)
        made = bound.share_turns(given, legal.pose.rotations, free)
        changed = np.flatnonzero((given != made).any(axis=(0, 2)))
        stuck = [clip.skeleton.names[joint] for joint in changed if not free[joint]]
        moved = {int(joint): made[:, joint] for joint in changed if free[joint]}
        if stuck:
            self.tell([f"turned by constraints, and left alone: {', '.join(stuck)}"])
        if not moved:
            return f"{action.name} is within the limits as it is"
        new = bake(thing, action, bound.rig, moved, f"{action.name} {word}")
        assign(thing, new)
        self.tell(notes)
        after = check.check_action(thing, new, context.scene)
        check.show_report(thing, new, after)
        return f"{new.name}: {len(moved)} bones changed in {len(frames_of(action))} frames"


class SYNOVIA_OT_bake(Bake, bpy.types.Operator):
    """Make a new action that is within the limits in every frame, without pops"""

    bl_idname = "synovia.bake"
    bl_label = "Bake Action"

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the clamped clip."""
        legal, report = model.project_clip(clip)
        notes = [f"steps that are too long, at {', '.join(report.over)}"] if report.over else []
        return legal, "legal", notes


class SYNOVIA_OT_repair(Bake, bpy.types.Operator):
    """Make a new action within the limits that keeps hands, planted feet and head in place"""

    bl_idname = "synovia.repair"
    bl_label = "Repair Action"
    bl_options = {"REGISTER", "UNDO"}
    hands: BoolProperty(name="Keep Hands", default=True, description="Keep where the hands are")
    feet: BoolProperty(
        name="Keep Feet", default=True, description="Keep where feet in contact with the ground are"
    )
    head: BoolProperty(name="Keep Head", default=True, description="Keep how the head is rotated")

    def make(self, clip: Clip, model: LimitModel) -> tuple[Clip, str, list[str]]:
        """Return the repaired clip, and what could not be kept."""
        repaired, report = repair(clip, model, [name for name in KEEP if getattr(self, name)])
        return repaired, "repaired", report.describe()


def assign(thing: Any, action: Any) -> None:
    """Give an object an action, with the slot of the same name."""
    data = thing.animation_data
    slot = data.action_slot.identifier if data.action_slot is not None else ""
    data.action = action
    if data.action_slot is None and slot in action.slots:
        data.action_slot = action.slots[slot]


class SYNOVIA_OT_draw(Command, bpy.types.Operator):
    """Draw where the active bone may point, coloured by how far it may twist; red when outside"""

    bl_idname = "synovia.draw"
    bl_label = "Draw Limit"

    def run(self, context: Any, thing: Any) -> str:
        """Draw it."""
        bone = active_bone(context, thing)
        draw.draw_limit(thing, bone, context.collection)
        live.show_outside(thing, context.evaluated_depsgraph_get())
        return f"drew the limit of {bone}"


class SYNOVIA_OT_erase(Command, bpy.types.Operator):
    """Remove what was drawn of limits"""

    bl_idname = "synovia.erase"
    bl_label = "Remove Drawings"

    def run(self, context: Any, thing: Any) -> str:
        """Remove all drawings of the armature."""
        return f"removed {draw.erase(thing)} objects"


class SYNOVIA_OT_edit_cone(Command, bpy.types.Operator):
    """Put the points of the active bone's reach cone into the scene, as a mesh to edit"""

    bl_idname = "synovia.edit_cone"
    bl_label = "Edit Reach Cone"

    def run(self, context: Any, thing: Any) -> str:
        """Make the ring of points, and the active object of it."""
        bone = active_bone(context, thing)
        bound = limits.bound(thing)
        limit = draw.limit_of(bound, bone)
        if len(edit.cones(limit.shape)) != 1:
            axis = bound.rig.skeleton.rest_directions[bound.rig.skeleton.index(bone)]
            made_of = cone.as_cone(limit, axis)
            store_limit(thing, bone, made_of)
            gained, lost = gained_and_lost(limit, made_of)
            self.tell(
                [f"{bone} is a reach cone now: {gained:.1%} of rotations more, {lost:.1%} less"]
            )
        made = cone.draw_cone(thing, bone, context.collection)
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for each in context.selected_objects:
            each.select_set(False)
        made.select_set(True)
        context.view_layer.objects.active = made
        return f"move, cut or dissolve the points in Edit Mode, then Apply Cone ({bone})"


class SYNOVIA_OT_apply_cone(Command, bpy.types.Operator):
    """Read the edited points back into the bone's reach cone"""

    bl_idname = "synovia.apply_cone"
    bl_label = "Apply Cone"

    def run(self, context: Any, thing: Any) -> str:
        """Store the cone and draw it."""
        bone = active_bone(context, thing)
        editing = context.object is not None and context.object.mode == "EDIT"
        if editing:  # Edit Mode has a copy of its own
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            store_limit(thing, bone, cone.read_cone(thing, bone))
        finally:
            if editing:
                bpy.ops.object.mode_set(mode="EDIT")
        draw.draw_limit(thing, bone, draw.drawn(thing, cone.CONE, bone)[0].users_collection[0])
        (made,) = edit.cones(limits.bound(thing).model.limits[bone].shape)
        return f"{bone} has {len(made.points)} points"


def store_limit(thing: Any, bone: str, limit: Any) -> None:
    """Give one bone another limit."""
    bound = limits.bound(thing)
    provenance = limits.model_of(thing).provenance
    source = thing.synovia.source.removesuffix(", edited")
    model = limits.with_limit(bound.model, bone, limit)
    limits.store(thing, replace(model, provenance=provenance), f"{source}, edited")


class SYNOVIA_OT_write(Command, bpy.types.Operator):
    """Write the limits as constraints or as ranges for inverse kinematics, and show the loss"""

    bl_idname = "synovia.write"
    bl_label = "Write as Blender's Limits"

    def run(self, context: Any, thing: Any) -> str:
        """Write them, and list the losses."""
        settings = thing.synovia
        losses = constraints.write(thing, settings.form)
        settings.losses.clear()
        model = limits.bound(thing).model
        for bone, loss in sorted(losses.items(), key=lambda item: -item[1].gained):
            row = settings.losses.add()
            row.name = row.bone = bone
            row.share, row.gained, row.lost = loss.share, loss.gained, loss.lost
            row.angle = loss.gained_angle
            row.note = limits.loss_note(model, bone)
        return f"wrote limits of {len(losses)} bones"


class SYNOVIA_OT_unwrite(Command, bpy.types.Operator):
    """Remove our constraints, and ranges for inverse kinematics of bones that have limits"""

    bl_idname = "synovia.unwrite"
    bl_label = "Remove Blender's Limits"

    def run(self, context: Any, thing: Any) -> str:
        """Remove them."""
        for bone in thing.pose.bones:
            constraints.remove_limit_rotation(bone)
        for name in limits.bound(thing).model.limits:
            for letter in "xyz":
                setattr(thing.pose.bones[name], f"use_ik_limit_{letter}", False)
        thing.synovia.losses.clear()
        return "removed"


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
