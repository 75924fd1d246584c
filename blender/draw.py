# SPDX-License-Identifier: GPL-3.0-or-later
"""The legal directions of a bone as a mesh in the scene, coloured by the range of twist.

The mesh is at the bone's head and as large as the bone, so that the bone's tip is on it. It rotates
with the bone from which the limit is measured: the parent, or an ancestor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from synovia import Limit, quat
from synovia.arrays import Floats, Ints, Vectors
from synovia.mesh import PRINT, sheet

from .limits import Bound, bound
from .rig import CONSTRAINT_NAME

BANDS = 16  # materials for ranges of twist from 0 to 360°
COLOURS = ((0.13, 0.25, 0.58), (0.10, 0.58, 0.62), (0.55, 0.78, 0.42), (0.98, 0.86, 0.28))
"""From a small to a large range of twist: blue to yellow. Red means outside only."""
RED = (0.85, 0.08, 0.10)
OPACITY = 0.5
KIND, BONE = "synovia", "synovia_bone"
"""Custom properties that mark the extension's objects."""
SHEET, RIM = "limit", "rim"
RIM_COLOUR = (0.12, 0.15, 0.18)
RIM_WIDTH = 0.008  # as a fraction of the bone's length


def twist_colour(share: float) -> tuple[float, float, float]:
    """Return the colour (r, g, b) of a range of twist, given as a share of 360°."""
    stops = np.linspace(0.0, 1.0, len(COLOURS))
    r, g, b = (float(np.interp(share, stops, channel)) for channel in zip(*COLOURS, strict=True))
    return r, g, b


def material(name: str, colour: tuple[float, float, float], alpha: float) -> Any:
    """Return the material of this name; create it if it does not exist."""
    existing = bpy.data.materials.get(name)
    if existing is not None:
        return existing
    new = bpy.data.materials.new(name)
    new.diffuse_color = (*colour, alpha)
    if new.node_tree is None:  # before Blender 5.0
        new.use_nodes = True
    shader = next(node for node in new.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = 0.6
    shader.inputs["Alpha"].default_value = alpha
    return new


def drawings(armature: Any, kind: str = SHEET, bone: str = "") -> list[Any]:
    """Return the drawn objects of one bone of an armature object, or of all bones."""
    return [
        child
        for child in armature.children
        if child.get(KIND) == kind and (not bone or child.get(BONE) == bone)
    ]


def draw_limit(armature: Any, bone: str, collection: Any) -> Any:
    """Draw the limit of a bone, replacing an older drawing; return the object."""
    limits = bound(armature)
    limit = limit_of(limits, bone)
    erase(armature, bone)
    axis = limits.rig.skeleton.rest_directions[limits.rig.skeleton.index(bone)]
    picture = sheet(limit, _bone_axis(limit, axis), PRINT)
    length = armature.data.bones[bone].length
    positions = to_armature_axes(limits, limit, picture.mesh.vertices) * length
    drawing = _mesh_object(f"{armature.name} {bone} limit", positions, picture.mesh.triangles)
    for band in range(BANDS):
        share = (band + 0.5) / BANDS
        colour = twist_colour(share)
        drawing.data.materials.append(material(f"Synovia twist {band}", colour, OPACITY))
    shares = picture.widths[picture.mesh.triangles].mean(axis=1) / (2.0 * np.pi)
    bands = np.minimum((shares * BANDS).astype(np.int32), BANDS - 1)
    drawing.data.polygons.foreach_set("material_index", bands)
    red = material("Synovia outside", RED, OPACITY)
    for slot in drawing.material_slots:
        slot.link = "OBJECT"
        slot.material = red
        slot.link = "DATA"
    attach(drawing, armature, bone, limit, SHEET, collection)
    rim = _rim(f"{armature.name} {bone} rim", positions, picture.rim, length * RIM_WIDTH)
    attach(rim, armature, bone, limit, RIM, collection)
    drawing.hide_select = rim.hide_select = True
    return drawing


def erase(armature: Any, bone: str = "") -> int:
    """Remove the drawings of one bone of an armature object, or of all; return how many."""
    removed = [drawing for kind in (SHEET, RIM) for drawing in drawings(armature, kind, bone)]
    for drawing in removed:
        data = drawing.data
        bpy.data.objects.remove(drawing)
        if not data.users:
            (bpy.data.curves if isinstance(data, bpy.types.Curve) else bpy.data.meshes).remove(data)
    return len(removed)


def limit_of(limits: Bound, bone: str) -> Limit:
    """Return the limit of a bone; ValueError if it has none."""
    if bone not in limits.model.limits:
        raise ValueError(f"{bone} has no limit; those that do: {', '.join(limits.model.limits)}")
    return limits.model.limits[bone]


def show_state(armature: Any, outside: Collection[str]) -> None:
    """Colour the drawings of bones that are outside red, and all others by twist."""
    for drawing in drawings(armature):
        link = "OBJECT" if drawing.get(BONE) in outside else "DATA"
        for slot in drawing.material_slots:
            if slot.link != link:
                slot.link = link


def _bone_axis(limit: Limit, axis: Vectors) -> Vectors:
    """Return the bone's direction in the limit's chart, or else `axis`, the direction at rest."""
    if limit.chart.bone is not None:
        return limit.chart.bone
    return axis if axis.any() else np.array([0.0, 1.0, 0.0])


def to_armature_axes(limits: Bound, limit: Limit, directions: Vectors) -> Vectors:
    """Return directions (n, 3), given relative to the limit's reference, in the armature's axes."""
    return limits.rig.to_armature(quat.rotate(limit.chart.reference, directions))


def to_limit_axes(limits: Bound, limit: Limit, positions: Vectors) -> Vectors:
    """Return positions in the armature's axes as unit directions relative to the reference."""
    to_chart = quat.mul(quat.inverse(limit.chart.reference), limits.rig.axes)
    directions = quat.rotate(to_chart, positions)
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def _mesh_object(name: str, positions: Vectors, faces: Ints) -> Any:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(positions.tolist(), [], faces.tolist())
    mesh.validate()
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), dtype=bool))
    return bpy.data.objects.new(name, mesh)


def _rim(name: str, positions: Vectors, edges: Ints, width: float) -> Any:
    """Return the boundary of the legal directions as a thick curve."""
    curve = bpy.data.curves.new(name, "CURVE")
    curve.dimensions, curve.bevel_depth, curve.bevel_resolution = "3D", width, 1
    for line in _polylines(positions, edges):
        spline = curve.splines.new("POLY")
        spline.points.add(len(line) - 1)
        spline.points.foreach_set("co", np.column_stack([line, np.ones(len(line))]).ravel())
    curve.materials.append(material("Synovia rim", RIM_COLOUR, 1.0))
    return bpy.data.objects.new(name, curve)


def _polylines(positions: Vectors, edges: Ints) -> Iterable[Floats]:
    """Yield polylines (n, 3) of connected edges; vertices at one position count as one."""
    keys = [tuple(np.round(position, 7)) for position in positions]
    following = {keys[a]: (keys[b], positions[b]) for a, b in edges.tolist()}
    starts = {keys[a]: positions[a] for a, _ in edges.tolist()}
    ends = {end for end, _ in following.values()}
    for start in [*(set(starts) - ends), *starts]:
        line, key = [starts[start]], start
        while key in following:
            key, position = following.pop(key)
            line.append(position)
        if len(line) > 1:
            yield np.array(line)


def attach(
    drawing: Any, armature: Any, bone: str, limit: Limit, kind: str, collection: Any
) -> None:
    """Attach an object to a bone's head; it rotates with the bone the limit is measured from."""
    collection.objects.link(drawing)
    drawing[KIND], drawing[BONE] = kind, bone
    bone_parent = armature.data.bones[bone].parent
    above = limit.relative_to or (bone_parent.name if bone_parent else "")
    drawing.parent = armature
    if above:
        parent = armature.data.bones[above]
        drawing.parent_type, drawing.parent_bone = "BONE", above
        tail = parent.matrix_local @ Matrix.Translation((0.0, parent.length, 0.0))
        drawing.matrix_parent_inverse = tail.inverted()
    follow = drawing.constraints.new("COPY_LOCATION")
    follow.name, follow.target, follow.subtarget = CONSTRAINT_NAME, armature, bone
    follow.head_tail = 0.0
