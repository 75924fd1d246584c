"""The decorator of every kernel: machine code where it was built, plain Python where it was not."""

from __future__ import annotations

import importlib
import os
import warnings
from collections import namedtuple
from collections.abc import Callable
from hashlib import sha256
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2] / "pyproject.toml"
"""There if this is no installation, but sources that somebody may be changing."""


def source_hash() -> str:
    """Return a name for all that the library is made of, in its present state."""
    native = HERE.parent / "native"
    files = [*HERE.glob("*.py"), *native.glob("*.py"), *native.glob("*.[hc]")]
    return sha256(b"\0".join(path.read_bytes() for path in sorted(files))).hexdigest()[:16]


def load_library(path: str) -> ModuleType:
    """Return the library of kernels in a file."""
    loader = ExtensionFileLoader(f"{__package__}._native", path)
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    made = module_from_spec(spec)
    loader.exec_module(made)
    return made


def load_native() -> ModuleType | None:
    """Return the library that was compiled from these files when the package was built, if any.

    SYNOVIA_KERNELS names another one, or is `plain` for none.
    """
    wanted = os.environ.get("SYNOVIA_KERNELS")
    if wanted:
        return None if wanted == "plain" else load_library(wanted)
    try:
        _native = importlib.import_module("._native", __package__)
    except ImportError as error:
        wrong = str(error)
    else:
        if not CHECKOUT.exists():
            return _native
        if source_hash() == _native.SOURCE:
            return _native
        wrong = "they changed since; `make kernels` compiles them"
    text = f"kernels run uncompiled, some thousand times slower: {wrong}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return None


NATIVE = load_native()
COMPILED = NATIVE is not None

SIGNATURES: dict[tuple[str, str], tuple[str, ...]] = {}
"""Of the kernels that Python calls, by module and name: one for each combination of types."""
BUNDLES: dict[str, Any] = {}
"""Named tuples that signatures may name."""


def kernel(*signatures: Any) -> Any:
    """Mark a function as a kernel, which the translator makes C of.

    A kernel that Python calls, not only other kernels, has signatures: the types of its parameters,
    one word each. `f8`, `f4`, `i8` and `b1` are numbers, `f8[]` and `i8[,]` arrays of one and two
    dimensions; a bundle goes by its name.

    >>> @kernel("f8[] f8 f8[]")
    ... def scale(given, factor, out):
    ...     for i in range(given.shape[0]):
    ...         out[i] = factor * given[i]
    """
    if signatures and callable(signatures[0]):
        return signatures[0]

    def mark(function: Callable[..., Any]) -> Any:
        SIGNATURES[function.__module__, function.__name__] = signatures
        name = f"{function.__module__.rpartition('.')[2]}_{function.__name__}"
        return getattr(NATIVE, name, function)

    return mark


def inlined(function: Callable[..., Any]) -> Any:
    """Mark a kernel that becomes part of each caller, whatever its size.

    Rows of a block that its callers name are then known in its loops, which become vector code.
    """
    return function


def record(made: Any) -> Any:
    """Mark a named tuple whose methods are kernels: operators on values of its class."""
    made.__array_ufunc__ = None  # numbers of NumPy leave `s * record` to the class
    return made


def bundle(name: str, **types: str) -> Any:
    """Return a named tuple whose members have these types, to hand kernels many arrays as one."""
    made: Any = namedtuple(name, list(types))  # type: ignore[misc]
    made.types = tuple(types.values())  # type: ignore[attr-defined]
    BUNDLES[name] = made
    return made
