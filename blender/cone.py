# SPDX-License-Identifier: GPL-3.0-or-later
"""Reach cones by hand: their points as a ring of vertices, to be moved, cut and dissolved.

The ring is an ordinary mesh, so that Edit Mode and its undo work on it as on any other. Limits of
the twist are attributes of its vertices, which Blender interpolates where it cuts an edge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np

from synovia import DirectionTwist, Limit, ReachCone, edit, quat
from synovia.arrays import Floats, Vectors

from .draw import attach, directions_of, drawn, limit_of, places_of
from .limits import bound

CONE = "cone"
MEMBERS = 4000
"""Legal rotations that a cone is made around."""
VERTICES = 24
FARTHEST = np.radians(170.0)
"""How far from its middle, in radians, a cone is made to reach."""


def as_cone(limit: Limit, axis: Vectors) -> Limit:
    """Return a limit as a reach cone about the bone's direction at rest, with NumPy alone.

    Around the mean direction each of its points is as far out as what is legal there, and a little
    beside; members that are outside all the same are added. `ReachCone.fit`, which needs SciPy, has
    narrower twists.
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
    off = np.abs((azimuth[:, None] - around + np.pi) % (2.0 * np.pi) - np.pi)
    beside = off <= step
    reach = np.where(beside, angle[:, None], 0.0).max(axis=0)
    reach = np.clip(reach, 0.05 * reach.max() + 1e-3, FARTHEST)
    low = np.where(beside, points[:, 3:], np.inf).min(axis=0)
    high = np.where(beside, points[:, 3:], -np.inf).max(axis=0)
    low, high = (np.where(np.isfinite(each), each, 0.0) for each in (low, high))
    ring = np.column_stack(
        [np.sin(reach) * np.cos(around), np.sin(reach) * np.sin(around), np.cos(reach)]
    )
    near = points[angle <= max(float(np.quantile(angle, 0.1)), 1e-9), 3]
    cone = ReachCone(
        points=quat.rotate(quat.inverse(to_pole), ring),
        low=low,
        high=high,
        visible=visible,
        visible_low=float(near.min()),
        visible_high=float(near.max()),
    )
    return Limit(chart, edit.add(cone, points[angle < FARTHEST]), limit.relative_to)


def draw_cone(thing: Any, bone: str, collection: Any) -> Any:
    """Return a ring of the points of a bone's reach cone, to be edited as any mesh."""
    limits = bound(thing)
    limit = limit_of(limits, bone)
    cones = edit.cones(limit.shape)
    if len(cones) != 1:
        raise ValueError(f"the limit of {bone} is no single reach cone: make one of it first")
    cone = cones[0]
    for each in drawn(thing, CONE, bone):
        bpy.data.objects.remove(each)
    points = limit.chart.in_joint(cone.points)
    places = places_of(limits, limit, points) * thing.data.bones[bone].length
    count = len(places)
    mesh = bpy.data.meshes.new(f"{thing.name} {bone} cone")
    ring = [(k, (k + 1) % count) for k in range(count)]
    mesh.from_pydata(places.tolist(), ring, [])
    for name, values in (("twist_low", cone.low), ("twist_high", cone.high)):
        mesh.attributes.new(name, "FLOAT", "POINT").data.foreach_set("value", values)
    made = bpy.data.objects.new(mesh.name, mesh)
    attach(made, thing, bone, limit, CONE, collection)
    made.show_in_front = True
    return made


def read_cone(thing: Any, bone: str) -> Limit:
    """Return the limit of a bone with its reach cone as the edited ring has it."""
    rings = drawn(thing, CONE, bone)
    if not rings:
        raise ValueError(f"the points of {bone} are not in the scene: edit its cone first")
    limits = bound(thing)
    limit = limit_of(limits, bone)
    mesh = rings[0].data
    order = ring_order(mesh)
    places = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", places)
    points = directions_of(limits, limit, places.reshape(-1, 3)[order].astype(np.float64))
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
    """Return the vertices of a mesh in the order in which its edges join them into one ring."""
    beside: dict[int, list[int]] = {vertex.index: [] for vertex in mesh.vertices}
    for edge in mesh.edges:
        one, other = edge.vertices
        beside[one].append(other)
        beside[other].append(one)
    broken = [vertex for vertex, others in beside.items() if len(others) != 2]
    if broken or len(beside) < 3:
        raise ValueError(
            f"the points must form one ring of at least 3, each with two neighbours, got "
            f"{len(beside)} points, {len(broken)} of them without two"
        )
    order, before, here = [0], 0, beside[0][0]
    while here != 0:
        order.append(here)
        one, other = beside[here]
        before, here = here, other if one == before else one
    if len(order) < len(beside):
        raise ValueError("the points must form one ring, got several")
    return order
