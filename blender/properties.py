# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: disable-error-code="valid-type"
"""Data that the extension stores in a .blend: settings of an armature, and results of a check.

Blender reads properties from annotations, so these are calls, not types.
"""

from typing import Any

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

SHAPES = (
    ("kdop", "k-DOP", "Planes in many directions: tight, convex"),
    ("box", "Box", "A range of each of three axes"),
    ("ellipsoid", "Ellipsoid", "The smallest ellipsoid around what was observed"),
    ("product", "Swing and twist", "An ellipse of swings, a range of twist"),
    ("reach-cone", "Reach cone", "A polygon of directions with ranges of twist; needs SciPy"),
    ("theta-phi", "Table", "Cells of directions that were observed; needs SciPy"),
    ("distance-field", "Distance field", "A region of any form; needs SciPy"),
)
SOURCES = (
    ("human", "Possible and usual", "Two verdicts: impossible, and possible but unusual"),
    ("possible", "Possible", "What anatomy lets a healthy adult do"),
    ("usual", "Usual", "What nearly all captured people did"),
    ("anatomy", "Anatomy", "Published ranges of motion of the default human"),
)
FORMS = (
    ("rotation", "Limit Rotation", "A constraint on each bone: ranges of three Euler angles"),
    ("ik", "IK limits", "Ranges that Blender's solver of inverse kinematics keeps to"),
)


def jump(settings: Any, context: Any) -> None:
    """Go to the worst frame of the selected row, and activate its bone."""
    if not 0 <= settings.row < len(settings.rows):
        return
    row = settings.rows[settings.row]
    context.scene.frame_set(row.frame)
    bones = settings.id_data.data.bones
    if row.bone in bones:
        bones.active = bones[row.bone]


class SynoviaRow(bpy.types.PropertyGroup):
    """Consecutive frames in which a bone is outside."""

    bone: StringProperty(name="Bone")
    verdict: StringProperty(name="Verdict")
    first: IntProperty(name="From")
    last: IntProperty(name="To")
    frame: IntProperty(name="Worst frame")
    worst: FloatProperty(name="Outside by", subtype="ANGLE")


class SynoviaLoss(bpy.types.PropertyGroup):
    """Share of rotations that a bone's limit gains and loses as a Blender limit."""

    bone: StringProperty(name="Bone")
    share: FloatProperty(name="Of all rotations", subtype="FACTOR")
    gained: FloatProperty(name="Gained", subtype="FACTOR")
    lost: FloatProperty(name="Lost", subtype="FACTOR")
    angle: FloatProperty(name="By up to", subtype="ANGLE")
    note: StringProperty(name="Note")


class SynoviaPaint(bpy.types.PropertyGroup):
    """A bone's palette before it was painted."""

    bone: StringProperty()
    palette: StringProperty()


class SynoviaRole(bpy.types.PropertyGroup):
    """The bone of a role; the row's name is the role. Empty for none."""

    bone: StringProperty(name="Bone", description="The bone with this role in a human")


class SynoviaSettings(bpy.types.PropertyGroup):
    """The extension's data of an armature object."""

    limits: StringProperty(options={"HIDDEN"})
    limits_id: StringProperty(options={"HIDDEN"})
    source: StringProperty(name="Limits", description="Where the limits are from")
    live: BoolProperty(
        name="Live",
        description="Keep bones within their limits while you pose; bones driven by constraints or "
        "inverse kinematics are coloured, but not moved",
        default=False,
    )
    summary: StringProperty(name="Found")
    rows: CollectionProperty(type=SynoviaRow)
    row: IntProperty(name="Row", default=-1, update=jump)
    losses: CollectionProperty(type=SynoviaLoss)
    loss: IntProperty()
    painted: CollectionProperty(type=SynoviaPaint)
    human: EnumProperty(name="Human", description="Which human limits to take", items=SOURCES)
    roles: CollectionProperty(type=SynoviaRole)
    form: EnumProperty(name="As", description="Form in which limits are written", items=FORMS)
    shape: EnumProperty(name="Shape", description="Shape of a joint's limit", items=SHAPES)
    margin: FloatProperty(
        name="Margin",
        description="Angle by which limits exceed the observed rotations",
        subtype="ANGLE",
        default=float(np.radians(3.0)),
        min=0.0,
        max=float(np.radians(45.0)),
    )


CLASSES = (SynoviaRow, SynoviaLoss, SynoviaPaint, SynoviaRole, SynoviaSettings)


def register() -> None:
    """Add the properties to Blender."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.synovia = PointerProperty(type=SynoviaSettings)
    bpy.types.Action.synovia_learn = BoolProperty(
        name="Learn from this action", description="Use this action to learn limits", default=True
    )


def unregister() -> None:
    """Remove the properties."""
    del bpy.types.Action.synovia_learn
    del bpy.types.Object.synovia
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
