"""Kernels as C: a strict translator of the part of Python that they are written in.

The source of `synovia.kernels` is read as Python's own syntax tree. From the signatures of the
entries, which `jit.kernel` notes, the types of everything else follow: every function is translated
once for each combination of types that it is called with, as numba would, or a template of C++.
What is not in the subset is an error that names file and line; docs/architecture.md describes it.
The bounds of `range` are computed once, as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from .expressions import NEGATIVE, Expressions
from .types import (
    ARITHMETIC_TYPES,
    BOOL,
    DOUBLE,
    INT,
    NOTHING,
    Array,
    Instance,
    KernelError,
    Number,
    Record,
    Source,
    Type,
    TypeName,
    Value,
    c_name,
    literal,
    suffix,
)


def may_stay(place: ast.Subscript, choice: ast.IfExp) -> bool:
    """Tell whether a choice that is stored at a place is between a new value and what is there."""
    sides = ast.unparse(choice.body), ast.unparse(choice.orelse)
    calls = any(isinstance(each, ast.Call) for each in ast.walk(choice))  # which might write there
    return ast.unparse(place) in sides and not calls


class Translator:
    """All that is translated so far: functions, records and constants, in order of need."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = {s.name: s for s in sources}
        self.methods = {s.tree.name: s for s in sources if "." in s.tree.name}
        self.instances: dict[tuple[str, str, tuple[Type, ...]], Instance] = {}
        self.records: dict[Record, str] = {}
        self.constants: dict[str, str] = {}
        self.order: list[Instance] = []
        self.active: list[Source] = []

    def find(self, callee: Any) -> Source | None:
        """Return the kernel that is called, as a function of Python or as one already compiled."""
        module, name = getattr(callee, "__module__", ""), getattr(callee, "__name__", "")
        return self.sources.get(name) or self.sources.get(f"{module.rpartition('.')[2]}_{name}")

    def c(self, type: Type) -> str:
        """Return the name of a type in C."""
        if isinstance(type, Record):
            if type not in self.records:
                for member in type.members:
                    self.c(member)  # before what has it
                key = sha256(repr(type).encode()).hexdigest()[:8]  # not of the order of need
                self.records[type] = f"{type.label or 'tuple'}_{key}"
            return self.records[type]
        return "void" if isinstance(type, TypeName) else type.c

    def instance(self, source: Source, types: tuple[Type, ...]) -> Instance:
        """Return a kernel for parameters of these types, translated now if it was not yet."""
        key = (source.module.__name__, source.tree.name, types)
        if key in self.instances and source not in self.active:
            return self.instances[key]
        if source in self.active:
            raise KernelError(
                f"{source.path}:{source.tree.lineno}: {source.tree.name} is recursive"
            )
        name, number = source.name + suffix(types), 1
        while any(each.name == name for each in self.instances.values()):
            name, number = f"{source.name}{suffix(types)}_{number}", number + 1
        made = Instance(source, types, name)
        self.instances[key] = made
        self.active.append(source)
        Function(self, made).translate()
        self.active.pop()
        self.order.append(made)
        return made

    def array_constant(self, name: str, value: np.ndarray) -> Value:
        """Return an array that is the same for all calls."""
        item = INT if value.dtype.kind in "iu" else DOUBLE
        numbers = [
            literal(v) if item is DOUBLE else f"INT64_C({v})" for v in value.ravel().tolist()
        ]
        self.constants[name] = f"static {item.c} {name}[] = {{{', '.join(numbers)}}};"
        sizes = ", ".join(map(str, value.shape))
        type = Array(item, value.ndim)
        return Value(f"(({type.c}){{{name}, {sizes}}})", type)

    def data(self, used: Container[str]) -> Iterator[str]:
        """Yield the records and constants with these names, each after what it needs."""
        texts: dict[str, str] = {}

        def add(record: Record) -> None:
            for member in record.members:
                if isinstance(member, Record):
                    add(member)
            members = [f"{self.c(m)} {record.field(k)};" for k, m in enumerate(record.members)]
            name = self.c(record)
            texts[name] = f"typedef struct {{ {' '.join(members)} }} {name};"

        for record, name in sorted(self.records.items(), key=lambda item: item[1]):
            if name in used and name not in texts:
                add(record)
        yield from texts.values()
        yield from (text for name, text in sorted(self.constants.items()) if name in used)

    def definitions(self) -> Iterator[str]:
        """Yield records, constants and functions in the order of one C source file."""
        yield from self.data([*self.records.values(), *self.constants])
        yield from (f"{each.storage} {self.head(each)};" for each in self.order)
        yield from (f"{each.storage} {self.head(each)}{each.code}" for each in self.order)

    def head(self, instance: Instance) -> str:
        """Return the declaration of a function, without its storage class."""
        given = [f"{self.c(type)} {c_name(name)}" for name, type in instance.passed]
        if instance.allocates:
            given.insert(0, "Arena *arena")
        return f"{self.c(instance.returns)} {instance.name}({', '.join(given) or 'void'})"


class Function(Expressions):
    """The translation of one instance: statements to lines, until the types of variables settle."""

    def translate(self) -> None:
        """Translate the body again until no variable changes its type."""
        arguments = self.source.tree.args
        if arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
            raise self.fail(self.source.tree, "a kernel has positional parameters alone")
        while self.changed:
            self.changed = False
            self.lines, self.buffers, self.count, self.depth = [], [], 0, 1
            for statement in self.source.tree.body:
                self.visit(statement)
        own = set(self.source.parameters)
        declared = [
            f"    {self.whole.c(type)} {c_name(name)};"
            for name, type in self.variables.items()
            if name not in own
        ]
        body = [*declared, *self.buffers, *self.lines]
        self.made.code = "\n".join([" {", *body, "}", ""])

    def declare(self, name: str, type: Type, node: ast.AST) -> None:
        """Note the type of a variable; integers give way to floats."""
        old = self.variables.get(name)
        if isinstance(type, TypeName):
            raise self.fail(node, f"a variable cannot be {type}")
        if old is None or (old != type and old in (INT, BOOL) and type in ARITHMETIC_TYPES):
            if name in self.source.parameters and old is not None:
                raise self.fail(node, f"the parameter {name} changes its type")
            self.variables[name] = type
            self.changed = True
        elif old != type and not (old in ARITHMETIC_TYPES and type in (INT, BOOL)):
            raise self.fail(node, f"the variable {name} is {old} and {type}")

    def visit_expr(self, node: ast.Expr) -> None:
        """Translate a call; a docstring is nothing."""
        if not isinstance(node.value, ast.Constant):
            self.emit(f"{self.expression(node.value).code};")

    def visit_pass(self, node: ast.Pass) -> None:
        """Translate to nothing."""

    def visit_break(self, node: ast.Break) -> None:
        """Translate `break`."""
        self.emit("break;")

    def visit_continue(self, node: ast.Continue) -> None:
        """Translate `continue`."""
        self.emit("continue;")

    def visit_augassign(self, node: ast.AugAssign) -> None:
        """Translate `x += y` as `x = x + y`."""
        loaded = ast.parse(ast.unparse(node.target), mode="eval").body
        value = ast.fix_missing_locations(
            ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)
        )
        self.store(node.target, self.expression(value), node)

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Translate statements one level deeper, and the brace after them."""
        self.depth += 1
        for statement in body:
            self.visit(statement)
        self.depth -= 1
        self.emit("}")

    def visit_if(self, node: ast.If) -> None:
        """Translate `if`."""
        self.emit(f"if ({self.condition(node.test)}) {{")
        self.block(node.body)
        if node.orelse:
            self.emit("else {")
            self.block(node.orelse)

    def visit_while(self, node: ast.While) -> None:
        """Translate `while`."""
        self.made.loops = True
        self.emit(f"while ({self.condition(node.test)}) {{")
        self.block(node.body)

    def visit_for(self, node: ast.For) -> None:
        """Translate `for … in range(…)`."""
        self.made.loops = True
        match node:
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=bounds),
                orelse=[],
            ):
                pass
            case _:
                raise self.fail(node, "loops are over range")
        given = [self.number(b, INT) for b in bounds]
        first, last, step = ["0", *given, "1"] if len(given) == 1 else [*given, "1"][:3]
        at, end = self.fresh(), self.fresh()
        compare = ">" if NEGATIVE.fullmatch(step) else "<"  # one that is not known is positive
        self.emit(
            f"for (int64_t {at} = {first}, {end} = {last}; {at} {compare} {end}; {at} += {step}) {{"
        )
        if name != "_":
            self.declare(name, INT, node)
            self.lines.append("    " * (self.depth + 1) + f"{c_name(name)} = {at};")
        self.block(node.body)

    def visit_return(self, node: ast.Return) -> None:
        """Translate `return`."""
        if node.value is None:
            self.emit("return;")
            return
        found, old = self.expression(node.value), self.made.returns
        if old == NOTHING or (old is INT and found.type is DOUBLE):
            self.made.returns = found.type
            self.changed = True
        elif old != found.type and not (old is DOUBLE and found.type is INT):
            raise self.fail(node, f"returns {old} and {found.type}")
        self.emit(f"return {found.code};")

    def visit_assign(self, node: ast.Assign) -> None:
        """Translate an assignment: all that comes in is computed before anything is stored."""
        match node.targets, node.value:
            case [ast.Tuple(elts=places)], ast.Tuple(elts=given) if len(places) == len(given):
                kept = [self.keep(self.expression(value)) for value in given]
                for place, value in zip(places, kept, strict=True):
                    self.store(place, value, node)
                return
            case [ast.Subscript() as place], ast.IfExp() as choice if may_stay(place, choice):
                # Read before: clang otherwise branches around the store, a lane at a time.
                self.read = {ast.unparse(place): self.keep(self.expression(place))}
        found, self.read = self.expression(node.value), {}
        if len(node.targets) > 1 and isinstance(found.type, Number):
            found = self.keep(found)
        for target in node.targets:
            self.store(target, found, node)

    def store(self, target: ast.expr, value: Value, node: ast.stmt) -> None:
        """Translate the storing of a value in a variable, an element, or a tuple of these."""
        match target:
            case ast.Name(id="_"):
                self.emit(f"(void)({value.code});")
            case ast.Name(id=name):
                self.declare(name, value.type, node)
                self.roots[name] = self.roots.get(name, frozenset()) | value.roots
                self.emit(f"{c_name(name)} = {value.code};")
            case ast.Subscript():
                element = self.expression(target)
                if not isinstance(element.type, Number):
                    raise self.fail(node, "only numbers are stored in arrays")
                self.made.writes |= element.roots
                self.emit(f"{element.code} = {value.code};")
            case ast.Tuple(elts=places):
                if not isinstance(value.type, Record) or len(places) != len(value.type.members):
                    raise self.fail(node, f"cannot unpack {value.type}")
                whole = self.keep(value)
                for k, place in enumerate(places):
                    self.store(place, self.member_at(whole, k), node)
            case _:
                raise self.fail(node, "cannot store there")
