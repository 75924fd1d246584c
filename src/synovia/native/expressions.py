"""Expressions of kernels as C: names, arithmetic, elements of arrays, calls.

Numbers mean what they mean in Python: `//` and `%` round down, `min` and `max` keep the first of
two that are equal or not comparable. Not checked are indices, which must not be negative, and
integers, which must fit 64 bits.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.layout import Layout
from .types import (
    ARITHMETIC_TYPES,
    BOOL,
    DOUBLE,
    INT,
    KINDS,
    SHORT,
    SINGLE,
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
    constant,
    has_array,
)

if TYPE_CHECKING:
    from .translate import Translator

FUNCTIONS = {
    name: name for name in ("sqrt", "sin", "cos", "tan", "tanh", "floor", "rint", "copysign")
}
FUNCTIONS |= {"arccos": "acos", "acos": "acos", "arctan2": "atan2", "atan2": "atan2"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
OPERATORS = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__"}
"""Methods of records; a number times a record is `__rmul__`."""
BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", **BITS}
NEGATIVE = re.compile(r"\(-\d+\)")


class Expressions:
    """What the translation of a kernel needs for its expressions, and the lines so far.

    Values of arrays know the parameters that they may be a part of, so that `Instance.writes` tells
    which of these a kernel changes.
    """

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

    def emit(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        """Return a name that no variable has."""
        self.count += 1
        return f"t{self.count}_"

    def keep(self, value: Value) -> Value:
        """Return the value from a variable of its own."""
        name = self.fresh()
        self.emit(f"{self.whole.c(value.type)} {name} = {value.code};")
        return replace(value, code=name)

    def expression(self, node: ast.expr) -> Value:
        """Translate an expression, by the method for its kind."""
        value: Value = self.visit(node)
        return value

    def visit(self, node: ast.expr | ast.stmt) -> Any:
        """Translate an expression to a value, or a statement to lines."""
        method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if method is None:
            kind = "a statement" if isinstance(node, ast.stmt) else "an expression"
            raise self.fail(node, f"not {kind} of kernels")
        return method(node)

    def visit_constant(self, node: ast.Constant) -> Value:
        """Translate a number."""
        number = constant(node.value)
        if number is None:
            raise self.fail(node, "not a number")
        return number

    def visit_boolop(self, node: ast.BoolOp) -> Value:
        """Translate `and` and `or`."""
        operator = " && " if isinstance(node.op, ast.And) else " || "
        return Value(f"({operator.join(map(self.condition, node.values))})", BOOL)

    def visit_tuple(self, node: ast.Tuple) -> Value:
        """Translate a tuple."""
        members = [self.expression(each) for each in node.elts]
        return self.record(Record(tuple(member.type for member in members)), members)

    def record(self, type: Record, members: list[Value]) -> Value:
        """Return a record with these values of its members."""
        return Value(f"(({self.whole.c(type)}){{{', '.join(m.code for m in members)}}})", type)

    def visit_name(self, node: ast.Name) -> Value:
        """Translate a variable, or a constant of the module."""
        name = node.id
        if name in self.variables:
            return Value(c_name(name), self.variables[name], self.roots.get(name, frozenset()))
        if name not in vars(self.source.module):
            raise self.fail(node, f"no variable named {name}")
        value = vars(self.source.module)[name]
        if isinstance(value, np.ndarray):
            return self.whole.array_constant(f"{self.source.module_name}_{name}", value)
        if hasattr(value, "_fields"):
            parts = [constant(member) for member in value]
            return self.named_tuple(type(value), [part for part in parts if part], node)
        number = constant(value)
        if number is None:
            raise self.fail(node, f"{name} is no number")
        return number

    def outer(self, node: ast.expr) -> Any:
        """Return the module or layout that an expression names; None if it names neither."""
        match node:
            case ast.Name(id=name) if name not in self.variables:
                named = vars(self.source.module).get(name)
            case ast.Attribute(value=value, attr=name):
                named = getattr(self.outer(value), name, None)
            case _:
                named = None
        return named if isinstance(named, ModuleType | Layout) else None

    def visit_attribute(self, node: ast.Attribute) -> Value:
        """Translate constants of math and NumPy, shapes and types of arrays, members of records."""
        match node:
            case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
                if name in KINDS:
                    return Value("", TypeName(KINDS[name]))
                number = constant(getattr(math, name, None))
                if number is not None:
                    return number
            case ast.Attribute(value=value, attr=name) if outer := self.outer(value):
                number = constant(getattr(outer, name, None))
                if number is not None:
                    return number
            case ast.Attribute(value=value, attr=name):
                base = self.expression(value)
                if isinstance(base.type, Record) and name in base.type.names:
                    return self.member_at(base, base.type.names.index(name))
                if isinstance(base.type, Array) and name == "shape":
                    sizes = [Value(f"{base.code}.n{k}", INT) for k in range(base.type.ndim)]
                    return self.record(Record((INT,) * len(sizes)), sizes)
        raise self.fail(node, "no such attribute")

    def visit_subscript(self, node: ast.Subscript) -> Value:
        """Translate elements, rows and stretches of arrays, and members of tuples."""
        if self.read and (before := self.read.get(ast.unparse(node))):
            return before
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            array = self.expression(node.value.value)
            axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(array.type, Array) and axis in range(array.type.ndim):
                return Value(f"{array.code}.n{axis!r}", INT)
        base = self.expression(node.value)
        if isinstance(base.type, Record):
            return self.member(base, base.type, node.slice)
        if not isinstance(base.type, Array):
            raise self.fail(node, f"{base.type} has no elements")
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return replace(self.part(base.code, base.type, places, node), roots=base.roots)

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
        result = Array(type.item, len(first) + len(inner))
        start = " * ".join([f"({at})", *inner])
        return Value(f"(({result.c}){{{code}.p + {start}, {', '.join(first + inner)}}})", result)

    def member(self, base: Value, type: Record, place: ast.expr) -> Value:
        """Translate a tuple's member; of one found by a variable all have the same type."""
        match place:
            case ast.Constant(value=int(k)) if 0 <= k < len(type.members):
                return self.member_at(base, k)
        if len(set(type.members)) > 1:
            raise self.fail(place, "which member it is must be known")
        index = self.number(place, INT)
        code = f"{base.code}.{type.field(len(type.members) - 1)}"
        for k in reversed(range(len(type.members) - 1)):
            code = f"({index} == {k} ? {base.code}.{type.field(k)} : {code})"
        return Value(code, type.members[0])

    def member_at(self, base: Value, k: int) -> Value:
        """Return member k of a record."""
        assert isinstance(base.type, Record)
        code = f"{base.code}.{base.type.field(k)}"
        return Value(code, base.type.members[k], roots=base.roots)

    def number(self, node: ast.expr, type: Number) -> str:
        """Translate an expression that must be a number of this type."""
        translated = self.expression(node)
        if translated.type is not type:
            raise self.fail(node, f"must be {type}, is {translated.type}")
        return translated.code

    def condition(self, node: ast.expr) -> str:
        """Translate a condition."""
        translated = self.expression(node)
        if translated.type is not BOOL:
            raise self.fail(node, f"a condition must be a bool, is {translated.type}")
        return translated.code

    def visit_unaryop(self, node: ast.UnaryOp) -> Value:
        """Translate `-x` and `not x`."""
        if isinstance(node.op, ast.Not):
            return Value(f"(!{self.condition(node.operand)})", BOOL)
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand.type, Record):
            return self.method("__neg__", [operand], node)
        if isinstance(node.op, ast.USub) and operand.type in ARITHMETIC_TYPES:
            return Value(f"(-{operand.code})", operand.type)
        raise self.fail(node, "not an operation of kernels")

    def visit_binop(self, node: ast.BinOp) -> Value:
        """Translate arithmetic."""
        a, kind, b = self.expression(node.left), type(node.op), self.expression(node.right)
        if isinstance(a.type, Record):
            return self.method(OPERATORS.get(kind, "the operator"), [a, b], node)
        if isinstance(b.type, Record) and kind is ast.Mult:
            return self.method("__rmul__", [b, a], node)
        if not (isinstance(a.type, Number) and isinstance(b.type, Number)):
            raise self.fail(node, f"no arithmetic with {a.type} and {b.type}")
        if a.type is b.type is BOOL and kind in (ast.BitAnd, ast.BitOr):
            return Value(f"({a.code} {BITS[kind]} {b.code})", BOOL)
        if kind is ast.Pow:
            if not (isinstance(node.right, ast.Constant) and node.right.value in (2, 3)):
                raise self.fail(node, "powers are 2 or 3")
            return Value(f"power_{node.right.value}_{a.type.code}({a.code})", a.type)
        both = self.align(a, b, node)
        if kind in BITS and both is not INT:
            raise self.fail(node, "bits are of integers")
        if kind is ast.LShift:
            return Value(f"(int64_t)((uint64_t){a.code} << {b.code})", INT)
        if kind is ast.Div and both is INT:
            return Value(f"((double){a.code} / (double){b.code})", DOUBLE)
        if kind in SYMBOLS:
            return Value(f"({a.code} {SYMBOLS[kind]} {b.code})", both)
        if kind in (ast.FloorDiv, ast.Mod) and both is INT:
            what = "quotient" if kind is ast.FloorDiv else "remainder"
            return Value(f"floor_{what}({a.code}, {b.code})", both)
        raise self.fail(node, "not an operation of kernels")

    def align(self, a: Value, b: Value, node: ast.AST) -> Number:
        """Return the type of the result of two numbers."""
        for both in ARITHMETIC_TYPES:
            if {a.type, b.type} <= {BOOL, INT, both}:
                return both
        raise self.fail(node, f"{a.type} and {b.type} do not mix")

    def visit_compare(self, node: ast.Compare) -> Value:
        """Translate comparisons, chained ones too."""
        if isinstance(node.ops[0], ast.In | ast.NotIn) and len(node.ops) == 1:
            result = self.among(self.expression(node.left), node.comparators[0], node)
            return result if isinstance(node.ops[0], ast.In) else Value(f"(!{result.code})", BOOL)
        values = [self.expression(v) for v in (node.left, *node.comparators)]
        parts = []
        for a, op, b in zip(values, node.ops, values[1:], strict=False):
            if type(op) not in COMPARE:
                raise self.fail(node, "not a comparison of kernels")
            self.align(a, b, node)
            parts.append(f"({a.code} {COMPARE[type(op)]} {b.code})")
        return Value(parts[0] if len(parts) == 1 else f"({' && '.join(parts)})", BOOL)

    def among(self, value: Value, those: ast.expr, node: ast.expr) -> Value:
        """Translate `x in (a, b)`, also with a tuple or range of numbers of the module."""
        members: list[Value | None] = []
        if isinstance(those, ast.Tuple):
            members = [self.expression(one) for one in those.elts]
        elif isinstance(those, ast.Name) and those.id not in self.variables:
            numbers = vars(self.source.module).get(those.id)
            members = [constant(m) for m in numbers] if isinstance(numbers, tuple | range) else []
        if not members:
            raise self.fail(node, "`in` is followed by a tuple of numbers")
        for one in filter(None, members):
            self.align(value, one, node)
        parts = [f"({value.code} == {one.code})" for one in filter(None, members)]
        return Value(f"({' || '.join(parts)})", BOOL)

    def visit_ifexp(self, node: ast.IfExp) -> Value:
        """Translate `a if test else b`."""
        test, a, b = (
            self.condition(node.test),
            self.expression(node.body),
            self.expression(node.orelse),
        )
        type = a.type if a.type == b.type else self.align(a, b, node)
        return Value(f"({test} ? {a.code} : {b.code})", type)

    def visit_call(self, node: ast.Call) -> Value:
        """Translate a call: of a kernel, of a conversion, or of a function that C has too."""
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.fail(node, "calls have positional arguments alone")
        match node.func:
            case ast.Name(id=name) if name in vars(self.source.module):
                return self.call_kernel(vars(self.source.module)[name], node)
            case ast.Name(id="min" | "max" as name):
                return self.extreme(name, node)
            case ast.Name(id="abs"):
                operand = self.expression(node.args[0])
                if not isinstance(operand.type, Number) or operand.type not in ARITHMETIC_TYPES:
                    raise self.fail(node, "abs is of numbers")
                return Value(f"abs_{operand.type.code}({operand.code})", operand.type)
            case ast.Name(id="int" | "float" as name):
                return self.convert(INT if name == "int" else DOUBLE, node)
            case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
                return self.call_numpy(name, node)
            case ast.Attribute(value=value, attr=name) if outer := self.outer(value):
                return self.call_kernel(getattr(outer, name, None), node)
            case ast.Attribute(value=value, attr="view"):
                return self.view(self.expression(value), self.expression(node.args[0]), node)
        raise self.fail(node, "not a function of kernels")

    def view(self, array: Value, to: Value, node: ast.Call) -> Value:
        """Translate the view of an array of float64 as numbers of half the size."""
        kind = to.type.value if isinstance(to.type, TypeName) else None
        if array.type != Array(DOUBLE, 1) or kind not in (SINGLE, SHORT):
            raise self.fail(node, "only float64 is viewed, as float32 or int32")
        type = Array(kind, 1)
        code = f"(({type.c}){{({kind.c} *){array.code}.p, 2 * {array.code}.n0}})"
        return Value(code, type, roots=array.roots)

    def convert(self, to: Number, node: ast.Call) -> Value:
        """Translate the conversion of a number to another type."""
        operand = self.expression(node.args[0])
        if not isinstance(operand.type, Number):
            raise self.fail(node, f"{operand.type} is no number")
        return operand if operand.type is to else Value(f"({to.c})({operand.code})", to)

    def extreme(self, name: str, node: ast.Call) -> Value:
        """Translate `min` and `max` of two or more."""
        operands = [self.expression(a) for a in node.args]
        best = operands[0]
        for other in operands[1:]:
            both = self.align(best, other, node)
            best = Value(f"{name}_{both.code}({best.code}, {other.code})", both)
        return best

    def call_numpy(self, name: str, node: ast.Call) -> Value:
        """Translate functions of NumPy and of math."""
        if name in ("empty", "zeros"):
            return self.allocate(name, node)
        operands = [self.expression(a) for a in node.args]
        if name not in FUNCTIONS or any(f.type not in ARITHMETIC_TYPES for f in operands):
            raise self.fail(node, "not a function of kernels")
        return Value(f"{FUNCTIONS[name]}({', '.join(f.code for f in operands)})", DOUBLE)

    def allocate(self, name: str, node: ast.Call) -> Value:
        """Translate a new array: on the stack if its size is known, else from the arena."""
        shape = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
        item: Number = DOUBLE
        if len(node.args) > 1:
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
        if name == "zeros":
            total = " * ".join(f"({s})" for s in sizes)
            self.emit(f"memset({made}, 0, (size_t)({total}) * sizeof *{made});")
        return Value(f"(({type.c}){{{made}, {', '.join(sizes)}}})", type)

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

    def call_kernel(self, callee: Any, node: ast.Call) -> Value:
        """Translate the call of another kernel, or the making of a named tuple."""
        arguments = [self.expression(a) for a in node.args]
        if isinstance(callee, builtins.type) and hasattr(callee, "_fields"):
            return self.named_tuple(callee, arguments, node)
        source = self.whole.find(callee)
        if source is None:
            raise self.fail(node, "not a kernel")
        return self.invoke(source, arguments, node)

    def named_tuple(self, made: Any, arguments: list[Value], node: ast.expr) -> Value:
        """Translate the making of a named tuple from the values of its members."""
        if len(arguments) != len(made._fields):
            raise self.fail(node, f"{made.__name__} has {len(made._fields)} members")
        type = Record(tuple(f.type for f in arguments), tuple(made._fields), made.__name__)
        if f"{type.label}.__rmul__" in self.whole.methods and {*type.members} != {DOUBLE}:
            raise self.fail(node, f"members of {type.label} are floats")
        return self.record(type, arguments)

    def method(self, name: str, arguments: list[Value], node: ast.expr) -> Value:
        """Translate an operator on a record, the first of these values."""
        label = arguments[0].type.label if isinstance(arguments[0].type, Record) else ""
        source = self.whole.methods.get(f"{label}.{name}")
        if source is None:
            raise self.fail(node, f"no arithmetic: {label or 'a tuple'} has no {name}")
        return self.invoke(source, arguments, node)

    def invoke(self, source: Source, arguments: list[Value], node: ast.expr) -> Value:
        """Translate the call of a kernel with these values."""
        if len(arguments) != len(source.parameters):
            raise self.fail(node, f"{source.tree.name} has {len(source.parameters)} parameters")
        made = self.whole.instance(source, tuple(f.type for f in arguments))
        self.made.allocates |= made.allocates
        self.made.loops |= made.loops
        for argument, parameter in zip(arguments, source.parameters, strict=True):
            if parameter in made.writes:
                self.made.writes |= argument.roots
        codes = [f.code for f in arguments]
        if made.allocates:
            codes.insert(0, "arena")
        return Value(f"{made.name}({', '.join(codes)})", made.returns)
