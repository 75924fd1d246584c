"""Shapes and charts in files of their own, as a contributor adds them: tests/new holds some."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
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
    """Add a class to a registry under its name, for one test: the one line that it takes."""
    add(monkeypatch, registry, kind.name, kind)


def add(monkeypatch, registry, name, entry):
    """Add an entry to a registry, for one test.

    A command offers what was registered when it was loaded, so it is loaded again in the test, and
    the module from before is put back afterwards.
    """
    modules = [f"synovia.cli.{command}" for command in COMMANDS]
    modules = [module for module in modules if importlib.util.find_spec(module)]
    for module in modules:
        importlib.import_module(module)
    for module in modules:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(registry, name, entry)


def laws_of(module, *fixtures):
    """Return the tests of a module that take one of the fixtures, by name, to run on new ones."""
    return {
        name: law
        for name, law in vars(module).items()
        if name.startswith("test_") and set(fixtures) & set(inspect.signature(law).parameters)
    }
