"""FBX through Blender: what is said without it, when it fails and when it hangs, and real files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from clips import clip
from command_line import wait_for
from synovia import Clip, load_clip
from synovia.io import CLIP_FORMATS, ClipFormat, FormatEntry, fbx, list_clips
from synovia.skeleton import forward

DATA = Path(__file__).parents[2] / "shared" / "data" / "fbx"
posix = pytest.mark.skipif(os.name != "posix", reason="the stand-ins for Blender are shell scripts")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "walk.fbx"
    path.write_bytes(b"Kaydara FBX Binary  \0")
    return path


@pytest.fixture
def glb(monkeypatch):
    """A stand-in for the reader of glTF; returns what it was given."""
    given = []

    def read(path, options):
        given.append((path.read_bytes(), options.clip))
        return Clip(*vars(clip(name="Walk", frames=3)).values())

    stand_in = ClipFormat(read, contents=lambda path: ["Walk", "Run"])
    monkeypatch.setitem(CLIP_FORMATS, ".glb", FormatEntry("glTF", stand_in))
    return given


def stand_in(tmp_path, monkeypatch, script, name="blender-stand-in"):
    """Make a program that is taken for Blender."""
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv(fbx.VARIABLE, str(program))


def test_without_blender_a_line_says_how(file, monkeypatch):
    monkeypatch.delenv(fbx.VARIABLE, raising=False)
    monkeypatch.setattr(fbx, "find_spec", lambda name: None)
    monkeypatch.setattr(fbx.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"walk\.fbx: reading FBX needs Blender: pip install bpy"):
        load_clip(file)
    monkeypatch.setenv(fbx.VARIABLE, "no-such-program")
    with pytest.raises(ValueError, match=r"SYNOVIA_BLENDER must name a program, got 'no-such-pro"):
        load_clip(file)
    with pytest.raises(FileNotFoundError):
        load_clip(file.with_name("other.fbx"))


@posix
def test_what_blender_exports_is_read(file, tmp_path, monkeypatch, glb):
    log = tmp_path / "log"
    stand_in(
        tmp_path, monkeypatch, f'for last; do :; done; echo run >> {log}; printf GLB > "$last"'
    )
    found = load_clip(f"{file}#Walk")
    assert (found.frames, found.name, found.origin) == (3, "Walk", None)
    assert glb == [(b"GLB", "Walk")]
    assert list_clips(file) == ["Walk", "Run"]
    assert log.read_text() == "run\n"  # once for all clips of a file
    file.write_bytes(b"another")
    load_clip(f"{file}#Walk")
    assert log.read_text() == "run\nrun\n"


@posix
@pytest.mark.parametrize("name", ["blender", "python3-with-bpy"])
def test_a_program_is_called_as_it_wants(file, tmp_path, monkeypatch, name):
    stand_in(tmp_path, monkeypatch, 'echo "Error: $1"; exit 3', name)
    wanted = "--background" if name == "blender" else "-c"
    with pytest.raises(
        ValueError, match=rf"walk\.fbx: Blender could not convert it: Error: {wanted}"
    ):
        load_clip(file)


@posix
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo first; echo last; exit 1", "last"),
        (
            "echo 'RuntimeError: no armature'; echo 'Location: x'; exit 1",
            "RuntimeError: no armature",
        ),
        ("exit 0", "it said nothing"),
        ("kill -SEGV $$", "it said nothing"),
    ],
)
def test_a_blender_that_fails_gives_its_last_line(file, tmp_path, monkeypatch, script, message):
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(ValueError, match=rf"walk\.fbx: Blender could not convert it: {message}$"):
        load_clip(file)


@posix
def test_a_blender_that_hangs_is_ended(file, tmp_path, monkeypatch):
    monkeypatch.setattr(fbx, "TIME_LIMIT", 0.3)
    new, started = tmp_path / "new", tmp_path / "started"
    stand_in(tmp_path, monkeypatch, f"sleep 600 & echo $! > {new}; mv {new} {started}; wait")
    wait = subprocess.Popen.wait

    def wait_once_started(process, timeout=None):
        wait_for(started.exists)
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait_once_started)
    with pytest.raises(ValueError, match=r"walk\.fbx: Blender took longer than 0\.3 s"):
        load_clip(file)
    child = int(started.read_text())
    wait_for(lambda: not is_running(child))


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # nobody may have waited for it
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def blender():
    try:
        return fbx._find_blender(Path("any.fbx"))
    except ValueError:
        return None


POSES = """
import json
first, last = armatures[0].animation_data.action.frame_range
for frame in range(int(first), int(last) + 1):
    bpy.context.scene.frame_set(frame)
    world = armatures[0].matrix_world
    heads = {bone.name: list(world @ bone.head) for bone in armatures[0].pose.bones}
    print("HEADS", json.dumps(heads))
"""


@pytest.mark.skipif(blender() is None, reason="no Blender: neither bpy nor blender is found")
@pytest.mark.skipif(".glb" not in CLIP_FORMATS, reason="glTF is not read")
@pytest.mark.skipif(not DATA.exists(), reason=f"no FBX files in {DATA}")
@pytest.mark.parametrize("name", ["animation_with_skeleton", "huesitos"])
def test_joints_are_where_blender_has_them(name, tmp_path):
    found = load_clip(DATA / f"{name}.fbx")
    positions = forward(found.skeleton, found.pose)[0]
    script = fbx.SCRIPT[: fbx.SCRIPT.index("for each in list")] + POSES
    command = [script if word == fbx.SCRIPT else word for word in blender()]
    command += [str(DATA / f"{name}.fbx"), "unused"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    frames = [json.loads(line[6:]) for line in run.stdout.splitlines() if line.startswith("HEADS ")]
    assert len(frames) == found.frames
    heads = np.array([[frame[bone] for bone in frames[0]] for frame in frames])
    joints = [found.skeleton.index(bone) for bone in frames[0]]
    wanted = heads[..., [0, 2, 1]] * [1.0, 1.0, -1.0]  # z up in Blender, y up in glTF
    height = np.ptp(wanted, axis=(0, 1)).max()
    assert np.abs(positions[:, joints] - wanted).max() <= 1e-5 * height


@pytest.mark.skipif(blender() is None, reason="no Blender: neither bpy nor blender is found")
def test_blender_refuses_what_is_no_fbx(file):
    with pytest.raises(ValueError, match=r"walk\.fbx: Blender could not convert it: .*Error"):
        load_clip(file)


def test_the_script_is_python():
    compile(fbx.SCRIPT, "script", "exec")
