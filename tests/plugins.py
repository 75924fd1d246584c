"""Shapes and charts in files of their own, as anybody may add them: tests/new holds some."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from synovia.cli import COMMANDS

NEW = Path(__file__).parent / "new"


def load(room, name):
    """Return the module of the file tests/new/<name>.py, as if it stood in a room of Synovia."""
    full = f"synovia.{room}.{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, NEW / f"{name}.py")
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


def register(monkeypatch, registry, kind):
    """Add a class to a registry, for one test: the one line that it takes.

    Commands that were loaded before offer what was registered then, so they are loaded again.
    """
    monkeypatch.setitem(registry, kind.name, kind)
    for command in COMMANDS:
        monkeypatch.delitem(sys.modules, f"synovia.cli.{command}", raising=False)
