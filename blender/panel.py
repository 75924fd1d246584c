# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel in the sidebar of the 3D view, tab *Synovia*."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from . import draw, learn, limits, roles
from .action import suits
from .cone import CONE
from .operators import active_armature


class SYNOVIA_UL_rows(bpy.types.UIList):
    """The list of bones and frames that are outside, the worst first."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active: Any, name: Any
    ) -> None:
        """Draw a row: verdict as an icon, bone, frames, and largest violation."""
        row = layout.row(align=True)
        row.label(text=item.bone, icon="INFO" if item.verdict == "unusual" else "ERROR")
        frames = f"{item.first}" if item.first == item.last else f"{item.first}-{item.last}"
        row.label(text=frames)
        row.label(text=f"{np.degrees(item.worst):.1f}° {item.verdict} at {item.frame}")


class SYNOVIA_UL_losses(bpy.types.UIList):
    """The list of shares that limits gain and lose as Blender's limits."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active: Any, name: Any
    ) -> None:
        """Draw a row: the bone, its share of all rotations, and the shares gained and lost."""
        row = layout.row(align=True)
        row.label(text=item.bone, icon="INFO" if item.note else "BONE_DATA")
        row.label(text=f"{item.share:.1%}")
        row.label(text=f"+{item.gained:.1%}, up to {np.degrees(item.angle):.0f}°")
        row.label(text=f"-{item.lost:.1%}")


class Section:
    """Base of the panels in the tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Synovia"
    needs_limits = True

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Return True if there is an armature, with limits if the panel needs them."""
        armature = active_armature(context)
        return armature is not None and (not cls.needs_limits or limits.has_limits(armature))


class SYNOVIA_PT_limits(Section, bpy.types.Panel):
    """Open, save and remove limits."""

    bl_label = "Limits"
    needs_limits = False

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout, armature = self.layout, active_armature(context)
        settings = armature.synovia
        if limits.has_limits(armature):
            layout.label(text=f"{armature.name}: {settings.source}", icon="CHECKMARK")
        else:
            layout.label(text=f"{armature.name} has no limits", icon="INFO")
        row = layout.row(align=True)
        row.operator("synovia.open", icon="FILE_FOLDER", text="Open")
        row.operator("synovia.save", icon="FILE_TICK", text="Save")
        row.operator("synovia.forget", icon="X", text="")
        row = layout.row(align=True)
        row.operator("synovia.human", icon="OUTLINER_OB_ARMATURE", text="Human")
        row.prop(settings, "human", text="")


class SYNOVIA_PT_roles(Section, bpy.types.Panel):
    """Roles of bones."""

    bl_label = "Bones of a Human"
    bl_parent_id = "SYNOVIA_PT_limits"
    bl_options = {"DEFAULT_CLOSED"}
    needs_limits = False

    def draw(self, context: Any) -> None:
        """Draw a row for each role, with a picker of bones."""
        layout, armature = self.layout, active_armature(context)
        row = layout.row(align=True)
        row.operator("synovia.suggest_roles", icon="VIEWZOOM", text="Suggest")
        row.operator("synovia.clear_roles", icon="X", text="")
        rows = armature.synovia.roles
        if not len(rows):
            layout.label(text="Bones are recognised by name", icon="INFO")
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        for row in rows:
            column.prop_search(row, "bone", armature.data, "bones", text=roles.title(row.name))


class SYNOVIA_PT_learn(Section, bpy.types.Panel):
    """Limits from actions."""

    bl_label = "Learn"
    bl_parent_id = "SYNOVIA_PT_limits"
    bl_options = {"DEFAULT_CLOSED"}
    needs_limits = False

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout, armature = self.layout, active_armature(context)
        settings = armature.synovia
        column = layout.column(align=True)
        for action in bpy.data.actions:
            if suits(action, armature):
                column.prop(action, "synovia_learn", text=action.name)
        layout.prop(settings, "shape")
        layout.prop(settings, "margin")
        if not learn.has_scipy():
            layout.label(text="Without SciPy no frames are dropped", icon="INFO")
        layout.operator("synovia.learn", icon="ACTION")


class SYNOVIA_PT_pose(Section, bpy.types.Panel):
    """Limits in the current pose."""

    bl_label = "Pose"

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout, armature = self.layout, active_armature(context)
        layout.prop(armature.synovia, "live", toggle=True, icon="PLAY")
        layout.operator("synovia.settle", icon="CON_ROTLIMIT")
        row = layout.row(align=True)
        row.operator("synovia.draw", icon="MESH_UVSPHERE", text="Draw Limit")
        row.operator("synovia.erase", icon="X", text="")
        row = layout.row(align=True)
        row.operator("synovia.edit_cone", icon="EDITMODE_HLT", text="Edit Cone")
        sub = row.row(align=True)
        sub.enabled = bool(draw.drawings(armature, CONE))
        sub.operator("synovia.apply_cone", icon="CHECKMARK", text="Apply")


class SYNOVIA_PT_action(Section, bpy.types.Panel):
    """Check, bake and repair the action."""

    bl_label = "Action"

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout, armature = self.layout, active_armature(context)
        settings = armature.synovia
        row = layout.row(align=True)
        row.operator("synovia.check", icon="VIEWZOOM", text="Check")
        row.operator("synovia.clear", icon="X", text="")
        layout.operator("synovia.bake", icon="REC", text="Bake Legal Action")
        layout.operator("synovia.repair", icon="TOOL_SETTINGS", text="Repair Action")
        if settings.summary:
            layout.label(text=settings.summary)
        if len(settings.rows):
            layout.template_list("SYNOVIA_UL_rows", "", settings, "rows", settings, "row", rows=6)


class SYNOVIA_PT_write(Section, bpy.types.Panel):
    """Write limits as Blender's constraints or IK limits."""

    bl_label = "As Blender's Limits"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Any) -> None:
        """Draw the panel."""
        layout, settings = self.layout, active_armature(context).synovia
        layout.prop(settings, "form", text="")
        row = layout.row(align=True)
        row.operator("synovia.write", icon="CON_ROTLIMIT", text="Write")
        row.operator("synovia.unwrite", icon="X", text="")
        if len(settings.losses):
            layout.label(text="Bone, share of rotations, gained, lost")
            layout.template_list(
                "SYNOVIA_UL_losses", "", settings, "losses", settings, "loss", rows=4
            )
            note = settings.losses[min(settings.loss, len(settings.losses) - 1)].note
            if note:
                layout.label(text=note, icon="INFO")


CLASSES = (
    SYNOVIA_UL_rows,
    SYNOVIA_UL_losses,
    SYNOVIA_PT_limits,
    SYNOVIA_PT_roles,
    SYNOVIA_PT_learn,
    SYNOVIA_PT_pose,
    SYNOVIA_PT_action,
    SYNOVIA_PT_write,
)


register, unregister = bpy.utils.register_classes_factory(CLASSES)
