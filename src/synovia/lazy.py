"""Names of a package that are imported from its modules on first use (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_getattr(package: str, exports: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` for a package.

    `exports` has the public names by module of the package. Accessing another name raises
    AttributeError.
    """
    module_of = {name: module for module, names in exports.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return load
