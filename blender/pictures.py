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
LEG, FRAMES = "LeftUpLeg", 30


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


def pose_human(name: str, turns: dict[str, tuple[float, float, float]]) -> Any:
    """Return an armature that goes from rest to a pose, with limits of a human.

    `turns` are rotation vectors of bones about the armature's axes, in radians.
    """
    from synovia import quat

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "blender"))
    armatures = import_module("armatures")
    thing = armatures.human(name)
    share = np.linspace(0.0, 1.0, FRAMES)[:, None, None]
    vectors = np.array([turns.get(bone, (0.0, 0.0, 0.0)) for bone in armatures.PLACES])
    bpy.ops.synovia.human()  # at rest: a broken motion would show broken limbs
    armatures.animate(thing, part, quat.exp(share * vectors), name)
    bpy.context.scene.frame_set(FRAMES)
    return thing


def add_body(thing: Any) -> None:
    """Add bones and a skin, as Synovia makes them, in the pose that an armature has.

    Bones that are outside are red.
    """
    from synovia.body import body_of

    limits = part("limits").bound(thing)
    skeleton = limits.rig.skeleton
    rotations, _ = part("live").read_pose(thing, limits, bpy.context.evaluated_depsgraph_get())
    pose = limits.pose(rotations)
    red = np.flatnonzero(limits.outside(pose))
    body = body_of(skeleton)
    if body is None or body.skin is None:
        raise ValueError("the rig must be that of a human")
    for mesh, name in ((body.bones, "bones"), (body.skin, "skin")):
        places = body.vertices(mesh, pose)
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
        owners = body.owners(mesh)[np.asarray(mesh.triangles)[:, 0]]
        outside = np.isin(owners, red)
        made.polygons.foreach_set("material_index", outside.astype(np.int32))


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
    """Render the limit of a thigh, as a reach cone, with the leg inside, and outside in red."""
    clear_scene()
    for x, turn in ((-0.62, (-0.9, -0.2, 0.0)), (0.62, (1.1, -1.0, 0.0))):
        thing = pose_human(f"Human {x}", {LEG: turn})
        thing.data.bones.active = thing.data.bones[LEG]
        bpy.ops.synovia.edit_cone()
        ring = bpy.context.object
        bpy.ops.synovia.apply_cone()
        bpy.data.objects.remove(ring)
        bpy.context.view_layer.objects.active = thing
        part("live").show_outside(thing, bpy.context.evaluated_depsgraph_get())
        place(thing, x)
        add_body(thing)
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
        thing = pose_human(f"Human {x}", broken)
        bpy.ops.synovia.check()
        if legal:
            bpy.ops.synovia.bake()
            bpy.context.scene.frame_set(FRAMES)
        place(thing, x)
        add_body(thing)
    stage((2.2, -4.2, 1.5), (0.0, 0.0, 0.9), 3.5)
    render(path)


if __name__ == "__main__":
    main()
