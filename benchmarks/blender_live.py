"""Measure live limits in Blender: time of an update relative to Blender's, for a rig of 65 bones.

Run it by a Python that has bpy, with the extension's zip: python benchmarks/blender_live.py ZIP.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

PROFILE = tempfile.TemporaryDirectory(prefix="synovia-blender-")
os.environ["BLENDER_USER_RESOURCES"] = PROFILE.name

import bpy  # noqa: E402
import numpy as np  # noqa: E402

ROUNDS, FINGERS = 200, ("Thumb", "Index", "Middle", "Ring", "Pinky")


def part(name):
    return import_module(f"bl_ext.user_default.synovia.{name}")


def hands(thing):
    """Add 48 bones, such as fingers and toes."""
    bpy.ops.object.mode_set(mode="EDIT")
    bones = thing.data.edit_bones
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for k, finger in enumerate(FINGERS):
            above, x = bones[f"{side}Hand"], 0.85
            for number in range(1, 5):
                made = bones.new(f"{side}Hand{finger}{number}")
                made.head = (sign * x, 0.02 * (k - 2), 1.42)
                x += 0.025
                made.tail = (sign * x, 0.02 * (k - 2), 1.42)
                made.parent = above
                above = made
        for number in range(4):
            made = bones.new(f"{side}Extra{number}")
            made.head, made.tail = (sign * 0.1, 0.0, 0.02), (sign * 0.1, -0.03 * (number + 1), 0.02)
            made.parent = bones[f"{side}Foot"]
    bpy.ops.object.mode_set(mode="OBJECT")


def update_time(thing, rng, *, wild):
    """Return the median time, in milliseconds of the main thread, of an update after a change."""
    found = []
    for _ in range(ROUNDS):
        for bone in thing.pose.bones if wild else [thing.pose.bones["LeftArm"]]:
            bone.rotation_quaternion = rng.normal(size=4) * 0.3 + (1.0, 0.0, 0.0, 0.0)
        start = time.thread_time()
        bpy.context.view_layer.update()
        found.append(1e3 * (time.thread_time() - start))
    return statistics.median(found)


def main():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=str(Path(sys.argv[1]).resolve()), repo="user_default", enable_on_install=True
    )
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "blender"))
    from armatures import human, small_limits

    thing = human()
    hands(thing)
    rng = np.random.default_rng(0)
    print(f"Blender {bpy.app.version_string}, {len(thing.pose.bones)} bones; ms of the main thread")
    print(f"{'limits':<12} {'change':<10} {'off':>7} {'live':>7} {'limits alone':>13}")
    for name in ("all bones", "human"):
        if name == "human":
            bpy.ops.synovia.human()
        else:
            part("limits").store(thing, small_limits(thing, part), "boxes")
        for wild in (False, True):
            times = []
            for live in (False, True):
                thing.synovia.live = live
                update_time(thing, rng, wild=wild)  # once to warm up
                times.append(update_time(thing, rng, wild=wild))
            change = "all bones" if wild else "one bone"
            off, on = times
            print(f"{name:<12} {change:<10} {off:7.2f} {on:7.2f} {on - off:13.2f}")


if __name__ == "__main__":
    main()
