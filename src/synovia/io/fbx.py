"""FBX, read through Blender, which converts the file to glTF in its own process."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..skeleton import Clip
from .files import check_regular
from .format import ClipFormat, ReadOptions

if TYPE_CHECKING:
    import subprocess

TIME_LIMIT = 120.0  # seconds of Blender per file
VARIABLE = "SYNOVIA_BLENDER"  # environment variable: path of Blender, or of a Python with bpy
MAX_LINE = 300  # characters of an error message
_ERROR = re.compile(r"\w*Error: (?!Python: Traceback)")

# Only the armatures are exported, each with a triangle, since a skin in glTF needs a mesh.
SCRIPT = """
import sys
import bpy

source, target = sys.argv[-2:]
bpy.ops.wm.read_factory_settings(use_empty=True)
if "fbx_import" in dir(bpy.ops.wm):  # from Blender 4.5 on
    bpy.ops.wm.fbx_import(filepath=source)
else:
    bpy.ops.preferences.addon_enable(module="io_scene_fbx")
    bpy.ops.import_scene.fbx(filepath=source)
armatures = [each for each in bpy.data.objects if each.type == "ARMATURE"]
if not armatures:
    raise RuntimeError("there is no armature in the file")
for each in list(bpy.data.objects):
    if each.type not in ("ARMATURE", "EMPTY"):
        bpy.data.objects.remove(each)
for armature in armatures:
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    skin = bpy.data.objects.new("skin", mesh)
    skin.parent = armature
    skin.vertex_groups.new(name=armature.data.bones[0].name).add([0, 1, 2], 1.0, "REPLACE")
    skin.modifiers.new("skin", "ARMATURE").object = armature
    bpy.context.scene.collection.objects.link(skin)
bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
bpy.ops.export_scene.gltf(
    filepath=target,
    export_format="GLB",
    export_materials="NONE",
    export_optimize_animation_size=False,
    export_anim_slide_to_zero=True,
    export_frame_range=False,
)
"""


def read_fbx(path: Path, options: ReadOptions) -> Clip:
    """Return the clip in the FBX file at `path`, as Blender reads it."""
    from . import load_clip

    with _as_glb(path) as glb:
        clip = load_clip(f"{glb}#{options.clip}" if options.clip else glb)
    return replace(clip, origin=None)


def list_actions(path: Path) -> list[str]:
    """Return the names of the clips in the FBX file at `path`."""
    from . import list_clips

    with _as_glb(path) as glb:
        return list_clips(glb)


@contextmanager
def _as_glb(path: Path) -> Iterator[Path]:
    """Write the armatures and motions of an FBX file to a temporary GLB file."""
    from tempfile import TemporaryDirectory

    about = check_regular(path)
    command = _find_blender(path)
    content = _run_blender(path.resolve(), about.st_mtime_ns, about.st_size, *command)
    with TemporaryDirectory(prefix="synovia-") as folder:
        glb = Path(folder) / f"{path.stem}.glb"
        glb.write_bytes(content)
        yield glb


@lru_cache(maxsize=4)
def _run_blender(path: Path, _time: int, _size: int, *command: str) -> bytes:
    """Return an FBX file as GLB; the last few results are cached by the state of the file."""
    import subprocess
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="synovia-") as folder:
        target, output = Path(folder) / "motion.glb", Path(folder) / "output.txt"
        with open(output, "wb") as file:
            process = subprocess.Popen(
                [*command, str(path), str(target)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
            try:
                code = process.wait(TIME_LIMIT)
            except subprocess.TimeoutExpired:
                raise ValueError(f"{path}: Blender took longer than {TIME_LIMIT:g} s") from None
            finally:
                _end(process)
        if code != 0 or not target.is_file():
            reason = _last_line(output.read_text("utf-8", "replace"))
            raise ValueError(f"{path}: Blender could not convert it: {reason}")
        return target.read_bytes()


def _last_line(output: str) -> str:
    """Return the last line with an error, or else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or ["it said nothing"])[-1][:MAX_LINE]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    if process.poll() is None:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, 9)
        process.wait()


def _find_blender(path: Path) -> list[str]:
    """Return the command that runs the script; ValueError explains how to install Blender."""
    named = os.environ.get(VARIABLE)
    if named:
        program = shutil.which(named)
        if not program:
            raise ValueError(f"{path}: {VARIABLE} must name a program, got {named!r:.200}")
        if not Path(program).name.lower().startswith("python"):
            return _blender(program)
        return [program, "-c", SCRIPT]
    if find_spec("bpy"):
        return [sys.executable, "-c", SCRIPT]
    program = shutil.which("blender")
    if program:
        return _blender(program)
    raise ValueError(
        f"{path}: reading FBX needs Blender: pip install bpy, or put blender on the PATH, or name "
        f"it in {VARIABLE}"
    )


def _blender(program: str) -> list[str]:
    words = ["--background", "--factory-startup", "--python-exit-code", "1"]
    return [program, *words, "--python-expr", SCRIPT, "--"]


FBX = ClipFormat(read_fbx, contents=list_actions)
