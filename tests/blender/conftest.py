"""Blender with the extension installed from its zip into an empty profile.

`make test-blender` names the zip and the command line of Synovia, which has SciPy; Blender's Python
has none, so that nothing here can lean on it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

ZIP, COMMAND = os.environ.get("SYNOVIA_EXTENSION", ""), os.environ.get("SYNOVIA_COMMAND", "synovia")
PROFILE = tempfile.TemporaryDirectory(prefix="synovia-blender-")
os.environ["BLENDER_USER_RESOURCES"] = PROFILE.name  # before bpy is loaded

import bpy

DATA = Path(__file__).parents[3] / "shared" / "data"
MODULE = "bl_ext.user_default.synovia"


def pytest_configure(config):
    """Install the extension before tests are collected: they import what its wheel brings."""
    # Blender's own importers leave files to be closed, and its exporter of FBX sets shapes.
    for ignored in ("unclosed file:ResourceWarning", "Setting the shape:DeprecationWarning"):
        config.addinivalue_line("filterwarnings", f"ignore:{ignored}")
    if not ZIP:
        pytest.exit("SYNOVIA_EXTENSION must name the extension's zip: run make test-blender", 2)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=ZIP, repo="user_default", enable_on_install=True
    )


@pytest.fixture(scope="session", autouse=True)
def installed():
    yield import_module(MODULE)
    bpy.ops.preferences.addon_disable(module=MODULE)


@pytest.fixture(autouse=True)
def scene(installed):
    """An empty scene for each test."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True, load_ui=False)
    if MODULE not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module=MODULE)
    return bpy.context.scene


@pytest.fixture
def part():
    """The modules of the extension, by name."""
    return lambda name: import_module(f"{MODULE}.{name}")


@pytest.fixture
def data():
    if not DATA.is_dir():
        pytest.skip("needs the captures in ../shared/data")
    return DATA


@pytest.fixture
def load():
    """Import a BVH; returns the armature object."""

    def read(path, **options):
        bpy.ops.import_anim.bvh(
            filepath=str(path), update_scene_fps=True, update_scene_duration=True, **options
        )
        return bpy.context.object

    return read


@pytest.fixture
def synovia():
    """Run the command line; returns what it printed as JSON where it did, and the exit code."""

    def run(*words):
        done = subprocess.run(
            [COMMAND, *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        text = done.stdout.strip()
        return (json.loads(text) if text.startswith(("{", "[")) else text), done.returncode

    return run
