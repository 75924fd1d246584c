# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the pictures of docs/blender.md in Blender, without a screen.

Run python blender/pictures.py ZIP docs/img with a Python that has bpy; ZIP is the extension.
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
LEG, FRAMES = "LeftUpLeg", 30


def part(name: str) -> Any:
    """Return a module of the installed extension."""
    return import_module(f"bl_ext.user_default.synovia.{name}")


def main() -> None:
    """Render all pictures into the given folder."""
    package, out = (Path(word).resolve() for word in sys.argv[1:3])
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=str(package), repo="user_default", enable_on_install=True
    )
    render_draw(out / "blender-draw.png")
    render_bake(out / "blender-bake.png")


def pose_human(name: str, rotations: dict[str, tuple[float, float, float]]) -> Any:
    """Return an armature with human limits and an action from rest to a pose.

    `rotations` are rotation vectors of bones in the armature's axes, in radians.
    """
    from synovia import quat

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "blender"))
    armatures = import_module("armatures")
    armature = armatures.human(name)
    share = np.linspace(0.0, 1.0, FRAMES)[:, None, None]
    vectors = np.array([rotations.get(bone, (0.0, 0.0, 0.0)) for bone in armatures.PLACES])
    bpy.ops.synovia.human()  # before the action, whose broken limbs would mislead the alignment
    armatures.animate(armature, part, quat.exp(share * vectors), name)
    bpy.context.scene.frame_set(FRAMES)
    return armature


def add_body(armature: Any) -> None:
    """Add Synovia's bones and skin in the current pose of an armature; bones outside are red."""
    from synovia.body import body_of

    limits = part("limits").bound(armature)
    skeleton = limits.rig.skeleton
    graph = bpy.context.evaluated_depsgraph_get()
    channels = part("channels").Channels.read(armature)
    rotations, _ = part("live").read_pose(armature, limits, channels, graph)
    pose = limits.pose(rotations)
    outside = np.flatnonzero(limits.outside(pose))
    body = body_of(skeleton)
    if body is None or body.skin is None:
        raise ValueError(f"{armature.name} must be a human rig")
    for mesh, name in ((body.bones, "bones"), (body.skin, "skin")):
        vertices = limits.rig.to_armature(body.vertices(mesh, pose))
        triangles = np.asarray(mesh.triangles)
        data = bpy.data.meshes.new(name)
        data.from_pydata(vertices.tolist(), [], triangles.tolist())
        data.polygons.foreach_set("use_smooth", np.ones(len(data.polygons), dtype=bool))
        body_part = bpy.data.objects.new(name, data)
        body_part.parent = armature
        bpy.context.collection.objects.link(body_part)
        if name == "skin":
            data.materials.append(skin_material())
            continue
        data.materials.append(part("draw").material("Picture bone", BONE, 1.0))
        data.materials.append(part("draw").material("Picture outside", RED, 1.0))
        is_outside = np.isin(body.owners(mesh)[triangles[:, 0]], outside)
        data.polygons.foreach_set("material_index", is_outside.astype(np.int32))


def skin_material() -> Any:
    """Return a material that is transparent where it faces the camera, and denser at the edges."""
    skin = bpy.data.materials.get("Picture skin") or bpy.data.materials.new("Picture skin")
    if skin.node_tree is None:
        skin.use_nodes = True
    tree = skin.node_tree
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
    return skin


def stage(
    at: tuple[float, float, float], towards: tuple[float, float, float], width: float
) -> None:
    """Set up camera, light and ground."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = at
    direction = Vector(towards) - Vector(at)
    camera.rotation_euler = direction.to_track_quat("-Z", "Y").to_euler()
    camera.data.type, camera.data.ortho_scale = "ORTHO", width
    scene.collection.objects.link(camera)
    scene.camera = camera
    for rotation, energy, angle in (((0.7, 0.2, 0.5), 2.6, 0.25), ((1.0, -0.3, -1.6), 0.9, 1.0)):
        sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
        sun.rotation_euler, sun.data.energy, sun.data.angle = rotation, energy, angle
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
    """Load an empty scene."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True, load_ui=False)


def move(armature: Any, x: float) -> None:
    """Move an armature sideways."""
    armature.location.x = x
    bpy.context.view_layer.update()


def render_draw(path: Path) -> None:
    """Render the limit of a thigh, as a reach cone, with the leg inside, and outside in red."""
    clear_scene()
    for x, rotation in ((-0.62, (-0.9, -0.2, 0.0)), (0.62, (1.1, -1.0, 0.0))):
        armature = pose_human(f"Human {x}", {LEG: rotation})
        armature.data.bones.active = armature.data.bones[LEG]
        bpy.ops.synovia.edit_cone()
        ring = bpy.context.object
        bpy.ops.synovia.apply_cone()
        bpy.data.objects.remove(ring)
        bpy.context.view_layer.objects.active = armature
        part("live").show_outside(armature, bpy.context.evaluated_depsgraph_get())
        move(armature, x)
        add_body(armature)
    stage((2.6, -4.2, 1.5), (0.1, 0.0, 0.88), 3.3)
    render(path)


def render_bake(path: Path) -> None:
    """Render a broken pose, and the same frame of the baked action."""
    broken = {
        "LeftForeArm": (0.0, 0.0, 1.3),
        "RightArm": (0.0, -0.9, 0.0),
        "RightLeg": (-1.0, 0.0, 0.0),
        "RightUpLeg": (-0.2, 0.3, 0.0),
        "Head": (0.0, 0.0, 2.2),
    }
    clear_scene()
    for x, legal in ((-0.85, False), (0.85, True)):
        armature = pose_human(f"Human {x}", broken)
        bpy.ops.synovia.check()
        if legal:
            bpy.ops.synovia.bake()
            bpy.context.scene.frame_set(FRAMES)
        move(armature, x)
        add_body(armature)
    stage((2.2, -4.2, 1.5), (0.0, 0.0, 0.9), 3.5)
    render(path)


if __name__ == "__main__":
    main()
