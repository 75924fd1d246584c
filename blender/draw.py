# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit of a bone as a mesh in the scene: where the bone may point, coloured by twist.

The mesh is at the bone's head and as large as the bone, so that the bone's tip is on it. It turns
with what the limit is measured from: the bone's parent, or an ancestor.
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
from .rig import OWN

BANDS = 16
"""Colours that twists have, from none to a whole turn."""
COLOURS = ((0.13, 0.25, 0.58), (0.10, 0.58, 0.62), (0.55, 0.78, 0.42), (0.98, 0.86, 0.28))
"""From no twist to much: blue to yellow. Red means outside, and nothing else."""
RED = (0.85, 0.08, 0.10)
OPACITY = 0.5
KIND, BONE = "synovia", "synovia_bone"
"""Names of the properties by which objects that we made are known."""
SHEET, RIM = "limit", "rim"
RIM_COLOUR = (0.12, 0.15, 0.18)
RIM_WIDTH = 0.008
"""Of the bone's length."""


def twist_colour(share: float) -> tuple[float, float, float]:
    """Return the colour of a twist that may be a share of a turn."""
    place = np.clip(share, 0.0, 1.0) * (len(COLOURS) - 1)
    first = min(int(place), len(COLOURS) - 2)
    low, high = np.array(COLOURS[first]), np.array(COLOURS[first + 1])
    r, g, b = low + (place - first) * (high - low)
    return float(r), float(g), float(b)


def material(name: str, colour: tuple[float, float, float], alpha: float) -> Any:
    """Return the material of this name, made where it is not there."""
    found = bpy.data.materials.get(name)
    if found is not None:
        return found
    made = bpy.data.materials.new(name)
    made.diffuse_color = (*colour, alpha)
    if made.node_tree is None:  # always there from Blender 5.0 on
        made.use_nodes = True
    shader = next(node for node in made.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = 0.6
    shader.inputs["Alpha"].default_value = alpha
    return made


def drawn(thing: Any, kind: str = SHEET, bone: str = "") -> list[Any]:
    """Return what was drawn of an armature object: of one bone, or of all."""
    return [
        each
        for each in thing.children
        if each.get(KIND) == kind and (not bone or each.get(BONE) == bone)
    ]


def draw_limit(thing: Any, bone: str, collection: Any) -> Any:
    """Draw the limit of a bone, in place of what was drawn of it; return the object."""
    limits = bound(thing)
    limit = limit_of(limits, bone)
    erase(thing, bone)
    axis = limits.rig.skeleton.rest_directions[limits.rig.skeleton.index(bone)]
    picture = sheet(limit, _own_axis(limit, axis), PRINT)
    length = thing.data.bones[bone].length
    places = places_of(limits, limit, picture.mesh.vertices) * length
    made = _mesh_object(f"{thing.name} {bone} limit", places, picture.mesh.triangles)
    for band in range(BANDS):
        share = (band + 0.5) / BANDS
        made.data.materials.append(material(f"Synovia twist {band}", twist_colour(share), OPACITY))
    shares = picture.widths[picture.mesh.triangles].mean(axis=1) / (2.0 * np.pi)
    bands = np.minimum((shares * BANDS).astype(np.int32), BANDS - 1)
    made.data.polygons.foreach_set("material_index", bands)
    red = material("Synovia outside", RED, OPACITY)
    for slot in made.material_slots:
        slot.link = "OBJECT"
        slot.material = red
        slot.link = "DATA"
    attach(made, thing, bone, limit, SHEET, collection)
    rim = _rim(f"{thing.name} {bone} rim", places, picture.rim, length * RIM_WIDTH)
    attach(rim, thing, bone, limit, RIM, collection)
    for each in (made, rim):
        each.hide_select = True
    return made


def erase(thing: Any, bone: str = "") -> int:
    """Remove what was drawn of an armature object's bone, or of all; return how much it was."""
    found = [each for kind in (SHEET, RIM) for each in drawn(thing, kind, bone)]
    for each in found:
        data = each.data
        bpy.data.objects.remove(each)
        if not data.users:
            (bpy.data.curves if isinstance(data, bpy.types.Curve) else bpy.data.meshes).remove(data)
    return len(found)


def limit_of(limits: Bound, bone: str) -> Limit:
    """Return the limit of a bone; ValueError where it has none."""
    if bone not in limits.model.limits:
        raise ValueError(f"{bone} has no limit; those that do: {', '.join(limits.model.limits)}")
    return limits.model.limits[bone]


def show_state(thing: Any, outside: Collection[str]) -> None:
    """Draw in red what is drawn of bones that are outside, and others by their twist."""
    for each in drawn(thing):
        link = "OBJECT" if each.get(BONE) in outside else "DATA"
        for slot in each.material_slots:
            if slot.link != link:
                slot.link = link


def _own_axis(limit: Limit, axis: Vectors) -> Vectors:
    """Return the bone's direction: the limit's own, or that of the skeleton at rest."""
    own = limit.chart.bone
    if own is not None:
        return own
    return axis if axis.any() else np.array([0.0, 1.0, 0.0])


def places_of(limits: Bound, limit: Limit, directions: Vectors) -> Vectors:
    """Return directions, from the limit's reference, about the armature's axes at rest."""
    return limits.rig.to_armature(quat.rotate(limit.chart.reference, directions))


def directions_of(limits: Bound, limit: Limit, places: Vectors) -> Vectors:
    """Return places about the armature's axes at rest as unit directions from the reference."""
    turned = quat.rotate(limits.rig.axes, places)
    back = quat.rotate(quat.inverse(limit.chart.reference), turned)
    return np.asarray(back / np.linalg.norm(back, axis=1, keepdims=True))


def _mesh_object(name: str, places: Vectors, faces: Ints) -> Any:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(places.tolist(), [], faces.tolist())
    mesh.validate()
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), dtype=bool))
    return bpy.data.objects.new(name, mesh)


def _rim(name: str, places: Vectors, edges: Ints, width: float) -> Any:
    """Return the edge of legal directions as a curve with a thickness."""
    curve = bpy.data.curves.new(name, "CURVE")
    curve.dimensions, curve.bevel_depth, curve.bevel_resolution = "3D", width, 1
    for way in _ways(places, edges):
        spline = curve.splines.new("POLY")
        spline.points.add(len(way) - 1)
        spline.points.foreach_set("co", np.column_stack([way, np.ones(len(way))]).ravel())
    curve.materials.append(material("Synovia rim", RIM_COLOUR, 1.0))
    return bpy.data.objects.new(name, curve)


def _ways(places: Vectors, edges: Ints) -> Iterable[Floats]:
    """Yield the places along edges that meet, as long as they go on."""
    keys = [tuple(np.round(place, 7)) for place in places]
    after = {keys[a]: (keys[b], places[b]) for a, b in edges.tolist()}
    starts = {keys[a]: places[a] for a, _ in edges.tolist()}
    ends = {end for end, _ in after.values()}
    for start in [*(set(starts) - ends), *starts]:
        way, here = [starts[start]], start
        while here in after:
            here, place = after.pop(here)
            way.append(place)
        if len(way) > 1:
            yield np.array(way)


def attach(made: Any, thing: Any, bone: str, limit: Limit, kind: str, collection: Any) -> None:
    """Put an object at a bone's head, turning with what the bone's limit is measured from."""
    collection.objects.link(made)
    made[KIND], made[BONE] = kind, bone
    own = thing.data.bones[bone]
    above = limit.relative_to or (own.parent.name if own.parent else "")
    made.parent = thing
    if above:
        parent = thing.data.bones[above]
        made.parent_type, made.parent_bone = "BONE", above
        tail = parent.matrix_local @ Matrix.Translation((0.0, parent.length, 0.0))
        made.matrix_parent_inverse = tail.inverted()
    place = made.constraints.new("COPY_LOCATION")
    place.name, place.target, place.subtarget, place.head_tail = OWN, thing, bone, 0.0
