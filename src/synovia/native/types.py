"""Types and sources of kernels, as the translator reads them."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np


@dataclass(frozen=True)
class Number:
    """A type of numbers: its code in signatures, and its name in C."""

    code: str
    c: str
    letter: str  # of the buffer protocol

    def __str__(self) -> str:
        return self.code


INT, BOOL = Number("i8", "int64_t", "q"), Number("b1", "bool", "?")
DOUBLE = Number("f8", "double", "d")
SINGLE = Number("f4", "float", "f")  # elements of arrays, converted when read and written
SHORT = Number("i4", "int32_t", "i")  # elements of arrays, only converted
NUMBERS = {number.code: number for number in (INT, BOOL, DOUBLE, SINGLE, SHORT)}
KINDS = {"float64": DOUBLE, "float32": SINGLE, "int64": INT, "int32": SHORT, "bool_": BOOL}
ARITHMETIC_TYPES = (INT, DOUBLE)


@dataclass(frozen=True)
class Array:
    """C-contiguous numbers with a number of dimensions."""

    item: Number
    ndim: int

    @property
    def c(self) -> str:
        """The name of its struct in C."""
        return f"{self.item.code}_{self.ndim}"

    def __str__(self) -> str:
        return f"{self.item}[{',' * (self.ndim - 1)}]"


@dataclass(frozen=True)
class Record:
    """A tuple; a named tuple also has the names of its members and of its class."""

    members: tuple[Type, ...]
    names: tuple[str, ...] = ()
    label: str = ""

    def field(self, k: int) -> str:
        """Return the name of member k in C."""
        return f"{self.names[k]}_" if self.names else f"m{k}"

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.members))})"


@dataclass(frozen=True)
class TypeName:
    """The type of `np.int64` and the like; of None, the result of a kernel without one."""

    value: Number | None

    def __str__(self) -> str:
        return "nothing" if self.value is None else f"the type {self.value}"


NOTHING = TypeName(None)
Type = Number | Array | Record | TypeName


@dataclass(frozen=True)
class Value:
    """An expression in C, its type, and for an array the parameters that it may be a part of."""

    code: str
    type: Type
    roots: frozenset[str] = frozenset()


class KernelError(SyntaxError):
    """Source that is not in the subset of kernels."""


def parse_type(text: str, records: dict[str, Record]) -> Type:
    """Return the type that a word of a signature names: `f8`, `i8[,]`, or a record."""
    if text in records:
        return records[text]
    code, bracket, rest = text.partition("[")
    if code not in NUMBERS or (bracket and not (rest.endswith("]") and set(rest) <= {",", "]"})):
        raise ValueError(f"no such type in a signature: {text!r}")
    return Array(NUMBERS[code], rest.count(",") + 1) if bracket else NUMBERS[code]


def record_of(bundle: Any) -> Record:
    """Return the type of a named tuple that was made by `jit.bundle`."""
    members = tuple(parse_type(text, {}) for text in bundle.types)
    return Record(members, tuple(bundle._fields), bundle.__name__)


def last_name(module: ModuleType) -> str:
    """Return the last part of a module's name."""
    return module.__name__.rpartition(".")[2]


@dataclass(frozen=True)
class Source:
    """A function under `@kernel`."""

    module: ModuleType
    tree: ast.FunctionDef
    path: str

    @property
    def module_name(self) -> str:
        """Its module's name without the package."""
        return last_name(self.module)

    @property
    def name(self) -> str:
        """Its name in C, but for the types it is translated for."""
        return f"{self.module_name}_{self.tree.name.replace('.', '_')}"

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [a.arg for a in self.tree.args.args]


def is_kernel(tree: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Return True if a statement defines a kernel."""
    return isinstance(tree, ast.FunctionDef) and any(
        ast.unparse(d).partition("(")[0] in ("kernel", "inlined") for d in tree.decorator_list
    )


def is_record(tree: ast.stmt) -> TypeGuard[ast.ClassDef]:
    """Return True if a statement defines a record, whose methods are kernels."""
    return isinstance(tree, ast.ClassDef) and [*map(ast.unparse, tree.decorator_list)] == ["record"]


def read_kernels(module: ModuleType, path: str) -> list[Source]:
    """Return the kernels of a module, in order; methods of a record are named Record.method."""
    tree, found = ast.parse(inspect.getsource(module), path), []
    for statement in tree.body:
        if is_kernel(statement):
            found.append(Source(module, statement, path))
        elif is_record(statement):
            for method in statement.body:
                if isinstance(method, ast.FunctionDef):
                    method.name = f"{statement.name}.{method.name}"
                    found.append(Source(module, method, path))
    return found


@dataclass
class Instance:
    """A kernel, translated for parameters of certain types."""

    source: Source
    types: tuple[Type, ...]
    name: str
    returns: Type = NOTHING
    allocates: bool = False
    loops: bool = False
    writes: set[str] = field(default_factory=set)  # parameters that are written to
    code: str = ""  # the body in C, with its braces

    @property
    def inlined(self) -> bool:
        """True if the function becomes part of its callers."""
        return not self.loops or ast.unparse(self.source.tree.decorator_list[0]) == "inlined"

    @property
    def storage(self) -> str:
        """The storage class in C, where one file has all that calls the function."""
        return "INLINED" if self.inlined else "static"

    @property
    def passed(self) -> list[tuple[str, Type]]:
        """Names and types of its parameters."""
        return [*zip(self.source.parameters, self.types, strict=True)]


RESERVED = {
    *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else"),
    *("enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register"),
    *("restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef"),
    *("union", "unsigned", "void", "volatile", "while", "bool", "true", "false", "arena"),
    *("near", "far", "small"),  # macros on Windows
}


def c_name(name: str) -> str:
    """Return a variable's name in C."""
    return f"{name}_" if name in RESERVED else name


def literal(value: float) -> str:
    """Return a float as a literal of C that has the same bits."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def constant(value: Any) -> Value | None:
    """Return a number of Python or NumPy as a value in C; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return Value("true" if value else "false", BOOL)
    if isinstance(value, int | np.integer):
        whole = int(value)
        return Value(f"INT64_C({whole})" if abs(whole) > 2**31 - 1 else f"{whole}", INT)
    if isinstance(value, float | np.floating):
        return Value(literal(float(value)), DOUBLE)
    return None


def suffix(types: Sequence[Type]) -> str:
    """Return the end of an instance's name: "_f4" if a parameter has numbers of float32.

    Names must not depend on the order of translation, because compiled files are cached.
    """
    return "_f4" if any("f4" in str(type) for type in types) else ""


def has_array(type: Type) -> bool:
    """Return True if a type is an array, or has one."""
    return "[" in str(type)
