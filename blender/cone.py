# SPDX-License-Identifier: GPL-3.0-or-later
"""Editing of reach cones: their points as a ring of vertices.

The ring is an ordinary mesh, so that Edit Mode and undo work as usual. Twist limits are attributes
of its vertices; Blender interpolates them when an edge is cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np

from synovia import DirectionTwist, Limit, ReachCone, edit, quat
from synovia.arrays import Floats, Vectors

from .draw import attach, drawings, limit_of, to_armature_axes, to_limit_axes
from .limits import bound

CONE = "cone"
MEMBERS = 4000  # legal rotations that a cone is fitted to
VERTICES = 24
MAX_REACH = np.radians(170.0)  # from the cone's middle; at 180° a direction has no azimuth


def as_cone(limit: Limit, axis: Vectors) -> Limit:
    """Return a limit as a reach cone about the bone's direction at rest, with NumPy alone.

    Each point is as far from the mean direction as legal directions in its sector and the
    neighbouring ones. Members that are still outside are added. `ReachCone.fit`, which needs SciPy,
    has narrower twists.
    """
    chart = DirectionTwist(limit.chart.reference, axis)
    points = chart.points(limit.sample(MEMBERS, np.random.default_rng(0)))
    middle = points[:, :3].mean(axis=0)
    visible = middle / np.linalg.norm(middle)
    to_pole = quat.between(visible, np.array([0.0, 0.0, 1.0]))
    x, y, z = quat.rotate(to_pole, points[:, :3]).T
    azimuth, angle = np.arctan2(y, x), np.arctan2(np.hypot(x, y), z)
    step = 2.0 * np.pi / VERTICES
    around = step * np.arange(VERTICES)
    azimuth_difference = np.abs((azimuth[:, None] - around + np.pi) % (2.0 * np.pi) - np.pi)
    beside = azimuth_difference <= step
    reach = np.where(beside, angle[:, None], 0.0).max(axis=0)
    reach = np.clip(reach, 0.05 * reach.max() + 1e-3, MAX_REACH)
    low = np.where(beside, points[:, 3:], np.inf).min(axis=0)
    high = np.where(beside, points[:, 3:], -np.inf).max(axis=0)
    low, high = (np.where(np.isfinite(twists), twists, 0.0) for twists in (low, high))
    ring = np.column_stack(
        [np.sin(reach) * np.cos(around), np.sin(reach) * np.sin(around), np.cos(reach)]
    )
    central = points[angle <= max(float(np.quantile(angle, 0.1)), 1e-9), 3]  # twists
    cone = ReachCone(
        points=quat.rotate(quat.inverse(to_pole), ring),
        low=low,
        high=high,
        visible=visible,
        visible_low=float(central.min()),
        visible_high=float(central.max()),
    )
    return Limit(chart, edit.add(cone, points[angle < MAX_REACH]), limit.relative_to)


def draw_cone(armature: Any, bone: str, collection: Any) -> Any:
    """Add the points of a bone's reach cone as a ring of vertices; return the object."""
    limits = bound(armature)
    limit = limit_of(limits, bone)
    cones = edit.cones(limit.shape)
    if len(cones) != 1:
        raise ValueError(f"the limit of {bone} is not a single reach cone: convert it first")
    cone = cones[0]
    for ring in drawings(armature, CONE, bone):
        bpy.data.objects.remove(ring)
    points = limit.chart.in_joint(cone.points)
    positions = to_armature_axes(limits, limit, points) * armature.data.bones[bone].length
    count = len(positions)
    mesh = bpy.data.meshes.new(f"{armature.name} {bone} cone")
    edges = [(k, (k + 1) % count) for k in range(count)]
    mesh.from_pydata(positions.tolist(), edges, [])
    for name, values in (("twist_low", cone.low), ("twist_high", cone.high)):
        mesh.attributes.new(name, "FLOAT", "POINT").data.foreach_set("value", values)
    ring = bpy.data.objects.new(mesh.name, mesh)
    attach(ring, armature, bone, limit, CONE, collection)
    ring.show_in_front = True
    return ring


def read_cone(armature: Any, bone: str) -> Limit:
    """Return the limit of a bone with the reach cone of the edited ring."""
    rings = drawings(armature, CONE, bone)
    if not rings:
        raise ValueError(f"the points of {bone} are not in the scene: edit its cone first")
    limits = bound(armature)
    limit = limit_of(limits, bone)
    mesh = rings[0].data
    order = ring_order(mesh)
    positions = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", positions)
    points = to_limit_axes(limits, limit, positions.reshape(-1, 3)[order].astype(np.float64))
    points = limit.chart.in_chart(points)
    low, high = (_attribute(mesh, name)[order] for name in ("twist_low", "twist_high"))
    cone = edit.cones(limit.shape)[0]
    if np.einsum("ij,j->i", np.cross(points, np.roll(points, -1, axis=0)), cone.visible).sum() < 0:
        points, low, high = points[::-1], low[::-1], high[::-1]
    shape = edit.with_cones(limit.shape, [replace(cone, points=points, low=low, high=high)])
    return replace(limit, shape=shape)


def _attribute(mesh: Any, name: str) -> Floats:
    values = np.empty(len(mesh.vertices), np.float32)
    mesh.attributes[name].data.foreach_get("value", values)
    return values.astype(np.float64)


def ring_order(mesh: Any) -> list[int]:
    """Return the vertices of a ring in order along its edges; ValueError if it is not one ring."""
    neighbours: dict[int, list[int]] = {vertex.index: [] for vertex in mesh.vertices}
    for edge in mesh.edges:
        one, other = edge.vertices
        neighbours[one].append(other)
        neighbours[other].append(one)
    broken = [vertex for vertex, others in neighbours.items() if len(others) != 2]
    if broken or len(neighbours) < 3:
        raise ValueError(
            f"the points must form one ring of at least 3, each with two neighbours, got "
            f"{len(neighbours)} points, {len(broken)} of them without two"
        )
    order, previous, current = [0], 0, neighbours[0][0]
    while current != 0:
        order.append(current)
        one, other = neighbours[current]
        previous, current = current, other if one == previous else one
    if len(order) < len(neighbours):
        raise ValueError("the points must form one ring, got several")
    return order
