"""Kernels as C: a strict translator of the part of Python that they are written in.

The source of `synovia.kernels` is read as Python's own syntax tree. From the signatures of the
entries, which `jit.kernel` notes, the types of everything else follow: every function is translated
once for each combination of types that it is called with, as numba would, or a template of C++.
What is not in the subset is an error that names file and line; docs/performance.md describes it.

Numbers mean what they mean in Python: `//` and `%` round down, `min` and `max` keep the first of
two that are equal or not comparable, the bounds of `range` are computed once. Not checked are
indices, which must not be negative, and integers, which must fit 64 bits.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import ModuleType
from typing import Any

import numpy as np

from ..kernels.layout import Layout
from .types import (
    ARITHMETIC_TYPES,
    BOOL,
    BYTE,
    DOUBLE,
    INT,
    KINDS,
    NOTHING,
    SHORT,
    SINGLE,
    Array,
    KernelError,
    Number,
    Record,
    Source,
    Type,
    TypeName,
    Value,
    c_name,
    constant,
    has_array,
    literal,
    show,
    suffix,
)

FUNCTIONS = {
    name: name for name in ("sqrt", "sin", "cos", "tan", "exp", "tanh", "floor", "rint", "copysign")
}
FUNCTIONS |= {
    "arccos": "acos",
    "acos": "acos",
    "arctan2": "atan2",
    "atan2": "atan2",
    "tanh": "tanh",
}
COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
OPERATORS = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__"}
"""Methods of records; a number times a record is `__rmul__`."""
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
NEGATIVE = re.compile(r"\(-\d+\)")
BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}


def may_stay(place: ast.Subscript, choice: ast.IfExp) -> bool:
    """Tell whether a choice that is stored at a place is between a new value and what is there."""
    sides = ast.unparse(choice.body), ast.unparse(choice.orelse)
    calls = any(isinstance(each, ast.Call) for each in ast.walk(choice))  # which might write there
    return ast.unparse(place) in sides and not calls


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


class Function:
    """The translation of one instance: statements to lines, until the types of variables settle."""

    def __init__(self, whole: Translator, made: Instance) -> None:
        self.whole, self.made, self.source = whole, made, made.source
        self.variables: dict[str, Type] = dict(zip(made.source.parameters, made.types, strict=True))
        self.roots = {p: frozenset({p}) for p in made.source.parameters}
        self.changed = True
        self.read: dict[str, Value] = {}  # elements that were read into variables
        self.lines: list[str] = []
        self.buffers: list[str] = []
        self.depth = 1
        self.count = 0

    def fail(self, node: ast.AST, message: str) -> KernelError:
        """Return an error that says where."""
        text = ast.unparse(node).partition("\n")[0]
        line = getattr(node, "lineno", self.source.tree.lineno)
        return KernelError(f"{self.source.path}:{line}: {message}: {text}")

    def translate(self) -> None:
        """Translate the body again until no variable changes its type."""
        arguments = self.source.tree.args
        if arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
            raise self.fail(self.source.tree, "a kernel has positional parameters alone")
        while self.changed:
            self.changed = False
            self.lines, self.buffers, self.count, self.depth = [], [], 0, 1
            for statement in self.source.tree.body:
                self.statement(statement)
        own = set(self.source.parameters)
        declared = [
            f"    {self.whole.c(type)} {c_name(name)};"
            for name, type in self.variables.items()
            if name not in own
        ]
        body = [*declared, *self.buffers, *self.lines]
        self.made.code = "\n".join([" {", *body, "}", ""])

    # Lines and variables.

    def emit(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        """Return a name that no variable has."""
        self.count += 1
        return f"t{self.count}_"

    def declare(self, name: str, type: Type, node: ast.AST) -> None:
        """Note the type of a variable; integers give way to floats."""
        old = self.variables.get(name)
        if isinstance(type, TypeName):
            raise self.fail(node, f"a variable cannot be {show(type)}")
        if old is None or (old != type and old in (INT, BOOL) and type in ARITHMETIC_TYPES):
            if name in self.source.parameters and old is not None:
                raise self.fail(node, f"the parameter {name} changes its type")
            self.variables[name] = type
            self.changed = True
        elif old != type and not (old in ARITHMETIC_TYPES and type in (INT, BOOL)):
            raise self.fail(node, f"the variable {name} is {show(old)} and {show(type)}")

    # Statements.

    def statement(self, node: ast.stmt) -> None:
        """Translate a statement."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.emit(f"{self.expression(call).code};")
            case ast.Assign(targets=targets, value=value):
                self.assign(targets, value, node)
            case ast.AugAssign(target=target, op=op, value=value):
                loaded = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)
                binary = ast.copy_location(ast.BinOp(loaded, op, value), node)
                ast.fix_missing_locations(binary)
                self.store(target, self.expression(binary), node)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(test, body, orelse)
            case ast.For():
                self.made.loops = True
                self.loop(node)
            case ast.While(test=test, body=body, orelse=[]):
                self.made.loops = True
                self.emit(f"while ({self.condition(test)}) {{")
                self.block(body)
                self.emit("}")
            case ast.Break():
                self.emit("break;")
            case ast.Continue():
                self.emit("continue;")
            case ast.Return(value=value):
                self.give(value, node)
            case _:
                raise self.fail(node, "not a statement of kernels")

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Translate statements one level deeper."""
        self.depth += 1
        for statement in body:
            self.statement(statement)
        self.depth -= 1

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Translate `if`."""
        self.emit(f"if ({self.condition(test)}) {{")
        self.block(body)
        if orelse:
            self.emit("} else {")
            self.block(orelse)
        self.emit("}")

    def loop(self, node: ast.For) -> None:
        """Translate `for … in range(…)`."""
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
        self.emit("}")

    def give(self, value: ast.expr | None, node: ast.stmt) -> None:
        """Translate `return`."""
        if value is None:
            self.emit("return;")
            return
        found = self.expression(value)
        old = self.made.returns
        if old == NOTHING or (old is INT and found.type is DOUBLE):
            self.made.returns = found.type
            self.changed = True
        elif old != found.type and isinstance(old, Record) and isinstance(found.type, Record):
            wider = self.widest(old, found.type, node)
            self.changed |= wider != old
            self.made.returns = wider
            found = self.record(value, wider)
        elif old != found.type and not (old is DOUBLE and found.type is INT):
            raise self.fail(node, f"returns {show(old)} and {show(found.type)}")
        self.emit(f"return {found.code};")

    def widest(self, one: Record, other: Record, node: ast.AST) -> Record:
        """Return the record that holds both, with floats where one of them has integers."""
        if len(one.members) != len(other.members):
            raise self.fail(node, "returns tuples of different lengths")
        pairs = zip(one.members, other.members, strict=True)
        return Record(tuple(b if a in (INT, BOOL) else a for a, b in pairs))

    def record(self, value: ast.expr, wanted: Record) -> Value:
        """Return a tuple's members as a record of this type."""
        if not isinstance(value, ast.Tuple):
            raise self.fail(value, "returned tuples differ in their types")
        parts = ", ".join(self.expression(e).code for e in value.elts)
        return Value(f"(({self.whole.c(wanted)}){{{parts}}})", wanted)

    def assign(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        """Translate an assignment: all that comes in is computed before anything is stored."""
        match targets, value:
            case [ast.Tuple(elts=places)], ast.Tuple(elts=given) if len(places) == len(given):
                pairs = list(zip(places, given, strict=True))
            case [ast.Subscript() as place], ast.IfExp() as choice if may_stay(place, choice):
                # Read before: clang otherwise branches around the store, a lane at a time.
                self.read = {ast.unparse(place): self.keep(self.expression(place))}
                found, self.read = self.expression(choice), {}
                self.store(place, found, node)
                return
            case _:
                pairs = []
        if not pairs:
            found = self.expression(value)
            if len(targets) > 1 and isinstance(found.type, Number):
                found = self.keep(found)
            for target in targets:
                self.store(target, found, node)
            return
        kept = [self.keep(self.expression(v)) for _, v in pairs]
        for (target, _), found in zip(pairs, kept, strict=True):
            self.store(target, found, node)

    def keep(self, value: Value) -> Value:
        """Return the value from a variable of its own."""
        name = self.fresh()
        self.emit(f"{self.whole.c(value.type)} {name} = {value.code};")
        return replace(value, code=name)

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
                    raise self.fail(node, f"cannot unpack {show(value.type)}")
                whole = self.keep(value)
                for k, place in enumerate(places):
                    self.store(place, self.member_at(whole, k), node)
            case _:
                raise self.fail(node, "cannot store there")

    # Expressions.

    def expression(self, node: ast.expr) -> Value:
        """Translate an expression."""
        match node:
            case ast.Constant(value=value):
                found = constant(value)
                if found is None:
                    raise self.fail(node, "not a number")
                return found
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(self.expression(left), op, self.expression(right), right, node)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, operand, node)
            case ast.BoolOp(op=op, values=values):
                return self.junction(isinstance(op, ast.And), values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.compare(left, ops, others, node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.either(test, body, orelse, node)
            case ast.Tuple(elts=parts):
                return self.tuple_of(parts)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.fail(node, "not an expression of kernels")

    def junction(self, both: bool, values: list[ast.expr]) -> Value:
        """Translate `and` and `or`."""
        parts = [self.condition(node) for node in values]
        return Value(f"({(' && ' if both else ' || ').join(parts)})", BOOL)

    def tuple_of(self, parts: list[ast.expr]) -> Value:
        """Translate a tuple."""
        found = [self.expression(p) for p in parts]
        type = Record(tuple(f.type for f in found))
        return Value(f"(({self.whole.c(type)}){{{', '.join(f.code for f in found)}}})", type)

    def name(self, name: str, node: ast.expr) -> Value:
        """Translate a variable, or a constant of the module."""
        if name in self.variables:
            return Value(
                c_name(name), self.variables[name], roots=self.roots.get(name, frozenset())
            )
        if name not in vars(self.source.module):
            raise self.fail(node, f"no variable named {name}")
        value = vars(self.source.module)[name]
        if isinstance(value, np.ndarray):
            return self.whole.array_constant(f"{self.source.module_name}_{name}", value)
        if hasattr(value, "_fields"):
            parts = [constant(member) for member in value]
            return self.named_tuple(type(value), [part for part in parts if part], node)
        found = constant(value)
        if found is None:
            raise self.fail(node, f"{name} is no number")
        return found

    def outer(self, node: ast.expr) -> Any:
        """Return the module or layout that an expression names; None if it names neither."""
        match node:
            case ast.Name(id=name) if name not in self.variables:
                found = vars(self.source.module).get(name)
            case ast.Attribute(value=value, attr=name):
                found = getattr(self.outer(value), name, None)
            case _:
                found = None
        return found if isinstance(found, ModuleType | Layout) else None

    def attribute(self, node: ast.Attribute) -> Value:
        """Translate constants of math and NumPy, shapes and types of arrays, members of records."""
        match node:
            case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
                if name in KINDS:
                    return Value("", TypeName(KINDS[name]))
                found = constant(getattr(math, name, None))
                if found is not None:
                    return found
            case ast.Attribute(value=value, attr=name) if outer := self.outer(value):
                found = constant(getattr(outer, name, None))
                if found is not None:
                    return found
            case ast.Attribute(value=value, attr=name):
                whole = self.expression(value)
                if isinstance(whole.type, Record) and name in whole.type.names:
                    k = whole.type.names.index(name)
                    return self.member_at(whole, k)
                if isinstance(whole.type, Array):
                    if name == "size" and whole.type.ndim == 1:
                        return Value(f"{whole.code}.n0", INT)
                    if name == "shape":
                        type = Record((INT,) * whole.type.ndim)
                        sizes = ", ".join(f"{whole.code}.n{k}" for k in range(whole.type.ndim))
                        return Value(f"(({self.whole.c(type)}){{{sizes}}})", type)
        raise self.fail(node, "no such attribute")

    def subscript(self, node: ast.Subscript) -> Value:
        """Translate elements, rows and stretches of arrays, and members of tuples."""
        if self.read and (before := self.read.get(ast.unparse(node))):
            return before
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array = self.expression(node.value.value)
            axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(array.type, Array) and axis in range(array.type.ndim):
                return Value(f"{array.code}.n{axis!r}", INT)
        whole = self.expression(node.value)
        if isinstance(whole.type, Record):
            return self.member(whole, whole.type, node.slice)
        if not isinstance(whole.type, Array):
            raise self.fail(node, f"{show(whole.type)} has no elements")
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return replace(self.part(whole.code, whole.type, places, node), roots=whole.roots)

    def part(self, code: str, type: Array, places: list[ast.expr], node: ast.Subscript) -> Value:
        """Translate `a[i, j]`, the row `a[i]` and the stretch `a[i, first:last]`."""
        if len(places) > type.ndim or any(isinstance(p, ast.Slice) for p in places[:-1]):
            raise self.fail(node, "only the last place that is named may be a stretch")
        at, cut = "", places[-1]
        count = f"{code}.n{len(places) - 1}"
        for k, place in enumerate(places):
            index = "0"
            if not isinstance(place, ast.Slice):
                index = self.number(place, INT)
            elif place.step is not None:
                raise self.fail(node, "a stretch has no step")
            elif place.lower is not None:
                index = self.number(place.lower, INT)
            if NEGATIVE.fullmatch(index):
                raise self.fail(node, "places are counted from the start")
            at = index if k == 0 else f"({at}) * {code}.n{k} + {index}"
        if isinstance(cut, ast.Slice):
            last = self.number(cut.upper, INT) if cut.upper else count
            first = [f"({last}) - ({index})"]
        else:
            first = []
        inner = [f"{code}.n{k}" for k in range(len(places), type.ndim)]
        if not first and not inner:
            return Value(f"{code}.p[{at}]", type.item)
        made = Array(type.item, len(first) + len(inner))
        start = " * ".join([f"({at})", *inner])
        return Value(f"(({made.c}){{{code}.p + {start}, {', '.join(first + inner)}}})", made)

    def member(self, whole: Value, type: Record, place: ast.expr) -> Value:
        """Translate a tuple's member; of one found by a variable all have the same type."""
        match place:
            case ast.Constant(value=int(k)) if 0 <= k < len(type.members):
                return self.member_at(whole, k)
        if len(set(type.members)) > 1:
            raise self.fail(place, "which member it is must be known")
        index = self.number(place, INT)
        code = f"{whole.code}.{type.field(len(type.members) - 1)}"
        for k in reversed(range(len(type.members) - 1)):
            code = f"({index} == {k} ? {whole.code}.{type.field(k)} : {code})"
        return Value(code, type.members[0])

    def member_at(self, whole: Value, k: int) -> Value:
        """Return member k of a record."""
        assert isinstance(whole.type, Record)
        code = f"{whole.code}.{whole.type.field(k)}"
        return Value(code, whole.type.members[k], roots=whole.roots)

    def number(self, node: ast.expr, type: Number) -> str:
        """Translate an expression that must be a number of this type."""
        found = self.expression(node)
        if found.type is not type:
            raise self.fail(node, f"must be {show(type)}, is {show(found.type)}")
        return found.code

    def condition(self, node: ast.expr) -> str:
        """Translate a condition."""
        found = self.expression(node)
        if found.type is not BOOL:
            raise self.fail(node, f"a condition must be a bool, is {show(found.type)}")
        return found.code

    def unary(self, op: ast.unaryop, operand: ast.expr, node: ast.expr) -> Value:
        """Translate `-x` and `not x`."""
        if isinstance(op, ast.Not):
            return Value(f"(!{self.condition(operand)})", BOOL)
        found = self.expression(operand)
        if isinstance(op, ast.USub) and isinstance(found.type, Record):
            return self.method("__neg__", [found], node)
        if isinstance(op, ast.USub) and found.type in ARITHMETIC_TYPES:
            return Value(f"(-{found.code})", found.type)
        raise self.fail(node, "not an operation of kernels")

    def binary(
        self, a: Value, op: ast.operator, b: Value, right: ast.expr, node: ast.expr
    ) -> Value:
        """Translate arithmetic."""
        if isinstance(a.type, Record):
            return self.method(OPERATORS.get(type(op), "the operator"), [a, b], node)
        if isinstance(b.type, Record) and isinstance(op, ast.Mult):
            return self.method("__rmul__", [b, a], node)
        if not (isinstance(a.type, Number) and isinstance(b.type, Number)):
            raise self.fail(node, f"no arithmetic with {show(a.type)} and {show(b.type)}")
        kind = type(op)
        if kind in BITS and a.type is b.type is BOOL and kind in (ast.BitAnd, ast.BitOr):
            return Value(f"({a.code} {BITS[kind]} {b.code})", BOOL)
        if kind is ast.Pow:
            if not (isinstance(right, ast.Constant) and right.value in (2, 3, 4)):
                raise self.fail(node, "powers are 2, 3 or 4")
            return Value(f"power_{right.value}_{a.type.code}({a.code})", a.type)
        both = self.align(a, b, node)
        if kind in BITS:
            if both is not INT:
                raise self.fail(node, "bits are of integers")
            if kind is ast.LShift:
                return Value(f"(int64_t)((uint64_t){a.code} << {b.code})", INT)
            return Value(f"({a.code} {BITS[kind]} {b.code})", INT)
        if kind is ast.Div and both is INT:
            return Value(f"((double){a.code} / (double){b.code})", DOUBLE)
        if kind in ARITHMETIC:
            return Value(f"({a.code} {ARITHMETIC[kind]} {b.code})", both)
        if kind in (ast.FloorDiv, ast.Mod) and both in (INT, DOUBLE):
            what = "quotient" if kind is ast.FloorDiv else "remainder"
            return Value(f"floor_{what}_{both.code}({a.code}, {b.code})", both)
        raise self.fail(node, "not an operation of kernels")

    def align(self, a: Value, b: Value, node: ast.AST) -> Number:
        """Return the type of the result of two numbers."""
        for both in ARITHMETIC_TYPES:
            if {a.type, b.type} <= {BOOL, INT, both}:
                return both
        raise self.fail(node, f"{show(a.type)} and {show(b.type)} do not mix")

    def compare(
        self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], node: ast.expr
    ) -> Value:
        """Translate comparisons, chained ones too."""
        if isinstance(ops[0], ast.In | ast.NotIn) and len(ops) == 1:
            found = self.among(self.expression(left), others[0], node)
            return found if isinstance(ops[0], ast.In) else Value(f"(!{found.code})", BOOL)
        values = [self.expression(v) for v in (left, *others)]
        parts = []
        for a, op, b in zip(values, ops, values[1:], strict=False):
            if type(op) not in COMPARE:
                raise self.fail(node, "not a comparison of kernels")
            if BYTE not in (a.type, b.type):
                self.align(a, b, node)
            parts.append(f"({a.code} {COMPARE[type(op)]} {b.code})")
        return Value(parts[0] if len(parts) == 1 else f"({' && '.join(parts)})", BOOL)

    def among(self, value: Value, those: ast.expr, node: ast.expr) -> Value:
        """Translate `x in (a, b)`, also with a tuple or range of numbers of the module."""
        if isinstance(those, ast.Tuple):
            found: list[Value | None] = [self.expression(one) for one in those.elts]
        elif isinstance(those, ast.Name) and those.id not in self.variables:
            numbers = vars(self.source.module).get(those.id)
            found = [constant(m) for m in numbers] if isinstance(numbers, tuple | range) else []
        else:
            found = []
        members = [one for one in found if one]
        if not members:
            raise self.fail(node, "`in` is followed by a tuple of numbers")
        for one in members:
            self.align(value, one, node)
        return Value(f"({' || '.join(f'({value.code} == {m.code})' for m in members)})", BOOL)

    def either(self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.expr) -> Value:
        """Translate `a if test else b`."""
        condition, a, b = self.condition(test), self.expression(body), self.expression(orelse)
        type = a.type if a.type == b.type else self.align(a, b, node)
        return Value(f"({condition} ? {a.code} : {b.code})", type)

    # Calls.

    def call(self, node: ast.Call) -> Value:
        """Translate a call: of a kernel, of a conversion, or of a function that C has too."""
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.fail(node, "calls have positional arguments alone")
        match node.func:
            case ast.Name(id=name) if name in vars(self.source.module):
                return self.call_kernel(vars(self.source.module)[name], node)
            case ast.Name(id="min" | "max" as name):
                return self.extreme(name, node)
            case ast.Name(id="abs"):
                found = self.expression(node.args[0])
                if not isinstance(found.type, Number) or found.type not in ARITHMETIC_TYPES:
                    raise self.fail(node, "abs is of numbers")
                return Value(f"abs_{found.type.code}({found.code})", found.type)
            case ast.Name(id="int" | "float" as name):
                return self.convert(INT if name == "int" else DOUBLE, node)
            case ast.Name(id="len"):
                return Value(f"{self.expression(node.args[0]).code}.n0", INT)
            case ast.Attribute(value=ast.Name(id="np" | "math" as module), attr=name):
                return self.call_numpy(module, name, node)
            case ast.Attribute(value=value, attr=name) if outer := self.outer(value):
                return self.call_kernel(getattr(outer, name, None), node)
            case ast.Attribute(value=value, attr="reshape"):
                return self.reshape(value, node)
            case ast.Attribute(value=value, attr="view"):
                return self.view(self.expression(value), self.expression(node.args[0]), node)
        raise self.fail(node, "not a function of kernels")

    def view(self, found: Value, to: Value, node: ast.Call) -> Value:
        """Translate `x.view(np.int64)`, the bits of a number, and an array of float64 as halves."""
        kind = to.type.value if isinstance(to.type, TypeName) else None
        if found.type is DOUBLE and kind is INT:
            return Value(f"bits_of({found.code})", INT)
        if found.type == Array(DOUBLE, 1) and kind in (SINGLE, SHORT):
            type = Array(kind, 1)
            code = f"(({type.c}){{({kind.c} *){found.code}.p, 2 * {found.code}.n0}})"
            return Value(code, type, roots=found.roots)
        raise self.fail(node, "only float64 is viewed, as int64, float32 or int32")

    def convert(self, to: Number, node: ast.Call) -> Value:
        """Translate the conversion of a number to another type."""
        found = self.expression(node.args[0])
        if not isinstance(found.type, Number):
            raise self.fail(node, f"{show(found.type)} is no number")
        return found if found.type is to else Value(f"({to.c})({found.code})", to)

    def extreme(self, name: str, node: ast.Call) -> Value:
        """Translate `min` and `max` of two or more, or of a tuple."""
        found = [self.expression(a) for a in node.args]
        if len(found) == 1 and isinstance(found[0].type, Record):
            whole, type = found[0], found[0].type
            found = [self.member_at(whole, k) for k in range(len(type.members))]
        best = found[0]
        for other in found[1:]:
            both = self.align(best, other, node)
            best = Value(f"{name}_{both.code}({best.code}, {other.code})", both)
        return best

    def call_numpy(self, module: str, name: str, node: ast.Call) -> Value:
        """Translate functions of NumPy and of math."""
        if name in ("empty", "zeros", "full", "eye"):
            return self.allocate(name, node)
        if name in ("float64", "int64"):
            return self.convert(KINDS[name], node)
        found = [self.expression(a) for a in node.args]
        if name == "isfinite":
            return Value(f"isfinite({found[0].code})", BOOL)
        if name not in FUNCTIONS or any(f.type not in ARITHMETIC_TYPES for f in found):
            raise self.fail(node, "not a function of kernels")
        code = f"{FUNCTIONS[name]}({', '.join(f.code for f in found)})"
        if (module, name) == ("math", "floor"):
            return Value(f"(int64_t){code}", INT)
        return Value(code, DOUBLE)

    def allocate(self, name: str, node: ast.Call) -> Value:
        """Translate a new array: on the stack if its size is known, else from the arena."""
        shape = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
        item: Number = DOUBLE
        if len(node.args) > 1 and name != "full":
            kind = self.expression(node.args[1]).type
            if not isinstance(kind, TypeName) or kind.value is None:
                raise self.fail(node, "the type of its numbers must be named")
            item = kind.value
        sizes = [self.number(s, INT) for s in shape]
        type, made = Array(item, len(sizes)), self.fresh()
        fixed = [self.fixed(s) for s in shape]
        count = math.prod(s for s in fixed if s is not None)
        stays = not has_array(self.made.returns)  # else it may be what is returned
        if None not in fixed and stays and count * int(item.code[1]) <= 2**16:
            self.buffers.append(f"    {item.c} {made}[{max(count, 1)}];")
        else:
            self.made.allocates = True
            self.buffers.append(f"    {item.c} *{made};")
            self.emit(
                f"{made} = allocate(arena, {' * '.join(f'({s})' for s in sizes)}, sizeof *{made});"
            )
        array = Value(f"(({type.c}){{{made}, {', '.join(sizes)}}})", type)
        total = " * ".join(f"({s})" for s in sizes)
        if name == "zeros":
            self.emit(f"memset({made}, 0, (size_t)({total}) * sizeof *{made});")
        elif name == "full":
            at, value = self.fresh(), self.keep(self.expression(node.args[1]))
            self.emit(
                f"for (int64_t {at} = 0; {at} < {total}; {at}++) {made}[{at}] = {value.code};"
            )
        return array

    def fixed(self, node: ast.expr) -> int | None:
        """Return the value of an expression of constants; None if it is not one."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if names & set(self.variables) or any(isinstance(n, ast.Call) for n in ast.walk(node)):
            return None
        known = {n: vars(self.source.module)[n] for n in names}
        try:
            return int(eval(compile(ast.Expression(node), "", "eval"), known))  # our own source
        except Exception:
            return None

    def reshape(self, value: ast.expr, node: ast.Call) -> Value:
        """Translate `a.reshape(…)` with all sizes given."""
        whole = self.expression(value)
        if not isinstance(whole.type, Array):
            raise self.fail(node, "only arrays have a shape")
        type = Array(whole.type.item, len(node.args))
        sizes = ", ".join(self.number(a, INT) for a in node.args)
        return replace(whole, code=f"(({type.c}){{{whole.code}.p, {sizes}}})", type=type)

    def call_kernel(self, callee: Any, node: ast.Call) -> Value:
        """Translate the call of another kernel, or the making of a named tuple."""
        found = [self.expression(a) for a in node.args]
        if isinstance(callee, builtins.type) and hasattr(callee, "_fields"):
            return self.named_tuple(callee, found, node)
        source = self.whole.find(callee)
        if source is None:
            raise self.fail(node, "not a kernel")
        return self.invoke(source, found, node)

    def named_tuple(self, made: Any, found: list[Value], node: ast.expr) -> Value:
        """Translate the making of a named tuple from the values of its members."""
        if len(found) != len(made._fields):
            raise self.fail(node, f"{made.__name__} has {len(made._fields)} members")
        type = Record(tuple(f.type for f in found), tuple(made._fields), made.__name__)
        if f"{type.label}.__rmul__" in self.whole.methods and {*type.members} != {DOUBLE}:
            raise self.fail(node, f"members of {type.label} are floats")
        return Value(f"(({self.whole.c(type)}){{{', '.join(f.code for f in found)}}})", type)

    def method(self, name: str, found: list[Value], node: ast.expr) -> Value:
        """Translate an operator on a record, the first of these values."""
        label = found[0].type.label if isinstance(found[0].type, Record) else ""
        source = self.whole.methods.get(f"{label}.{name}")
        if source is None:
            raise self.fail(node, f"no arithmetic: {label or 'a tuple'} has no {name}")
        return self.invoke(source, found, node)

    def invoke(self, source: Source, found: list[Value], node: ast.expr) -> Value:
        """Translate the call of a kernel with these values."""
        if len(found) != len(source.parameters):
            raise self.fail(node, f"{source.tree.name} has {len(source.parameters)} parameters")
        made = self.whole.instance(source, tuple(f.type for f in found))
        self.made.allocates |= made.allocates
        self.made.loops |= made.loops
        for argument, parameter in zip(found, source.parameters, strict=True):
            if parameter in made.writes:
                self.made.writes |= argument.roots
        codes = [f.code for f in found]
        if made.allocates:
            codes.insert(0, "arena")
        return Value(f"{made.name}({', '.join(codes)})", made.returns)
