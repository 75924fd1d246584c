"""Compiled loops: flat arrays in, `out` last, no checks, no classes.

The only room that knows numba. Its files are loaded when first used, because importing numba
takes a fifth of a second that `import synovia` need not pay.
"""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"no kernels named {name!r}") from error
