"""Compiled loops: flat arrays in, `out` last, no checks, no classes.

Its files are loaded when first used. See `docs/architecture.md` for the subset of Python that they
are written in, and `synovia.native` for how machine code is made of it.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"no kernels named {name!r}") from error
