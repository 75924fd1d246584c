# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the pictures of docs/blender.md by Blender, without a screen.

python blender/pictures.py ZIP docs/img, by a Python that has bpy; ZIP is the extension.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

PROFILE = tempfile.TemporaryDirectory(prefix="synovia-blender-")
os.environ["BLENDER_USER_RESOURCES"] = PROFILE.name  # before bpy is loaded

import bpy  # noqa: E402
import numpy as np  # noqa: E402
from mathutils import Vector  # noqa: E402

SIZE, SAMPLES = (1000, 566), 16
BONE, RED, PAPER = (0.80, 0.73, 0.60), (0.75, 0.04, 0.06), (0.93, 0.945, 0.955)
SKIN = (0.45, 0.55, 0.62)
LEG = "LeftUpperLeg"


def part(name: str) -> Any:
    """Return a module of the installed extension."""
    return import_module(f"bl_ext.user_default.synovia.{name}")


def main() -> None:
    """Render all pictures into the folder that is named."""
    package, out = (Path(word).resolve() for word in sys.argv[1:3])
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=str(package), repo="user_default", enable_on_install=True
    )
    render_draw(out / "blender-draw.png")
    render_bake(out / "blender-bake.png")


def import_human(clip: Any) -> Any:
    """Return an armature object with a clip's motion, with limits of a human."""
    from synovia import save_clip

    path = Path(PROFILE.name, "clip.bvh")
    save_clip(clip, path)
    bpy.ops.import_anim.bvh(filepath=str(path), update_scene_fps=True, update_scene_duration=True)
    thing = bpy.context.object
    bpy.ops.synovia.human()
    return thing


def add_body(thing: Any, skeleton: Any, red: set[str]) -> None:
    """Add bones and a skin, as Synovia makes them, to an armature in the pose that it has."""
    from synovia import Pose
    from synovia.body import body_of, pose_vertices

    limits = part("limits").bound(thing)
    graph = bpy.context.evaluated_depsgraph_get()
    rotations, _ = part("live").read_pose(thing, limits, graph)
    joints = [limits.rig.skeleton.index(name) for name in skeleton.names]
    pose = Pose(rotations[joints], skeleton.offsets)
    body = body_of(skeleton)
    if body is None or body.skin is None:
        raise ValueError("the clip must be of the default human")
    hips = limits.rig.skeleton.offsets[joints[0]]
    for mesh, name in ((body.mesh, "bones"), (body.skin, "skin")):
        places = pose_vertices(mesh, skeleton, pose) - skeleton.offsets[0] + hips
        made = bpy.data.meshes.new(name)
        made.from_pydata(
            limits.rig.to_armature(places).tolist(), [], np.asarray(mesh.triangles).tolist()
        )
        made.polygons.foreach_set("use_smooth", np.ones(len(made.polygons), dtype=bool))
        there = bpy.data.objects.new(name, made)
        there.parent = thing
        bpy.context.collection.objects.link(there)
        if name == "skin":
            made.materials.append(veil())
            continue
        made.materials.append(part("draw").material("Picture bone", BONE, 1.0))
        made.materials.append(part("draw").material("Picture outside", RED, 1.0))
        owners = _owners(body, skeleton)[np.asarray(mesh.triangles)[:, 0]]
        outside = np.isin(owners, [skeleton.index(each) for each in red])
        made.polygons.foreach_set("material_index", outside.astype(np.int32))


def _owners(body: Any, skeleton: Any) -> Any:
    """Return the joint of each vertex of a body's bones."""
    return np.concatenate(
        [np.full(len(bone.surface.vertices), bone.joints[0]) for bone in body.bones]
    )


def veil() -> Any:
    """Return a material that is clear in front and denser at the edges."""
    made = bpy.data.materials.get("Picture skin") or bpy.data.materials.new("Picture skin")
    if made.node_tree is None:
        made.use_nodes = True
    tree = made.node_tree
    tree.nodes.clear()
    out, mix, clear, solid, facing, curve = (
        tree.nodes.new(f"ShaderNode{kind}")
        for kind in (
            *("OutputMaterial", "MixShader", "BsdfTransparent", "BsdfDiffuse"),
            *("LayerWeight", "Math"),
        )
    )
    solid.inputs["Color"].default_value = (*SKIN, 1.0)
    facing.inputs["Blend"].default_value = 0.35
    curve.operation = "MULTIPLY"
    curve.inputs[1].default_value = 0.5
    tree.links.new(facing.outputs["Facing"], curve.inputs[0])
    tree.links.new(curve.outputs[0], mix.inputs[0])
    tree.links.new(clear.outputs[0], mix.inputs[1])
    tree.links.new(solid.outputs[0], mix.inputs[2])
    tree.links.new(mix.outputs[0], out.inputs["Surface"])
    return made


def stage(
    at: tuple[float, float, float], towards: tuple[float, float, float], width: float
) -> None:
    """Set up camera, light and ground."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = at
    way = Vector(towards) - Vector(at)
    camera.rotation_euler = way.to_track_quat("-Z", "Y").to_euler()
    camera.data.type, camera.data.ortho_scale = "ORTHO", width
    scene.collection.objects.link(camera)
    scene.camera = camera
    for turn, energy, angle in (((0.7, 0.2, 0.5), 2.6, 0.25), ((1.0, -0.3, -1.6), 0.9, 1.0)):
        sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
        sun.rotation_euler, sun.data.energy, sun.data.angle = turn, energy, angle
        scene.collection.objects.link(sun)
    world = bpy.data.worlds.new("World")
    scene.world = world
    if world.node_tree is None:
        world.use_nodes = True
    back = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
    back.inputs["Color"].default_value = (*PAPER, 1.0)
    back.inputs["Strength"].default_value = 0.75


def render(path: Path) -> None:
    """Render the scene with Cycles on the processor."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device, scene.cycles.samples, scene.cycles.use_denoising = "CPU", SAMPLES, True
    scene.cycles.transparent_max_bounces = 16
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.compression = 90
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


def clear_scene() -> None:
    """Remove everything."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True, load_ui=False)


def place(thing: Any, x: float) -> None:
    """Move an armature aside."""
    thing.location.x = x
    bpy.context.view_layer.update()


def render_draw(path: Path) -> None:
    """Render the limit of a thigh twice: with the leg inside, and outside in red."""
    from synovia import Clip, Pose, human, quat

    clear_scene()
    skeleton = human().skeleton
    for x, turn in ((-0.62, (-0.9, 0.0, 0.25)), (0.62, (0.5, 0.0, 1.35))):
        rest = skeleton.rest_pose()
        rotations = np.array(rest.rotations)
        rotations[skeleton.index(LEG)] = quat.exp(np.array(turn))
        both = Pose(np.stack([rest.rotations, rotations]), np.stack([rest.positions] * 2))
        thing = import_human(Clip(skeleton, both, 1 / 30))
        bpy.context.scene.frame_set(2)
        place(thing, x)
        thing.data.bones.active = thing.data.bones[LEG]
        bpy.ops.synovia.draw()
        limits = part("limits").bound(thing)
        pose = part("live").read_pose(thing, limits, bpy.context.evaluated_depsgraph_get())[0]
        outside = np.flatnonzero(limits.outside(limits.pose(pose)))
        add_body(thing, skeleton, {limits.rig.skeleton.names[joint] for joint in outside})
    stage((1.8, -4.2, 1.3), (0.1, 0.0, 0.92), 3.2)
    render(path)


def render_bake(path: Path) -> None:
    """Render the frame of a wild clip with most bones outside, before and after it is baked."""
    from synovia.demo import wild

    clear_scene()
    clip = wild()
    for x, legal in ((-0.6, False), (0.6, True)):
        thing = import_human(clip)
        bpy.ops.synovia.check()
        rows = [(row.bone, row.first, row.last, row.frame) for row in thing.synovia.rows]
        frame = max(
            {row[3] for row in rows}, key=lambda at: sum(row[1] <= at <= row[2] for row in rows)
        )
        red = {bone for bone, first, last, _ in rows if first <= frame <= last}
        if legal:
            bpy.ops.synovia.bake()
            red = set()
        bpy.context.scene.frame_set(frame)
        place(thing, x)
        add_body(thing, clip.skeleton, red)
    stage((1.6, -4.2, 1.4), (0.0, 0.0, 0.9), 3.45)
    render(path)


if __name__ == "__main__":
    main()
