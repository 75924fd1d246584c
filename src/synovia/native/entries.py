"""C sources of the kernels: of the library, with a table of entries, and of the header."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from .translate import Translator
from .types import (
    NOTHING,
    Array,
    Instance,
    KernelError,
    Number,
    Record,
    Source,
    Type,
    parse_type,
    read_kernels,
    record_of,
)

HERE = Path(__file__).parent


def kernel_modules() -> list[ModuleType]:
    """Return the modules of all kernels of the package."""
    from .. import kernels

    names = sorted(m.name for m in pkgutil.iter_modules(kernels.__path__))
    return [importlib.import_module(f"{kernels.__name__}.{n}") for n in names if n[0] != "_"]


def path_of(module: ModuleType) -> str:
    """Return the file of a module as errors name it."""
    return "/".join(Path(module.__file__ or "").parts[-2:])


@cache
def kernels_of(module: ModuleType) -> list[Source]:
    """Return the kernels of a module, parsed once."""
    return read_kernels(module, path_of(module))


@dataclass(frozen=True)
class Library:
    """The translated kernels that some modules define or call, and the entries among them."""

    whole: Translator
    entries: dict[str, list[Instance]]

    @property
    def list_of_entries(self) -> str:
        """The macro that names each entry by its number."""
        rows = " ".join(f'X({number}, "{name}")' for number, name in enumerate(self.entries))
        return f"#define KERNELS(X) {rows}\n"

    def restricted(self, modules: Collection[str]) -> Library:
        """Return the library with the entries of these modules alone."""
        kept = {n: e for n, e in self.entries.items() if e[0].source.module_name in modules}
        return Library(self.whole, kept)

    def units(self) -> dict[str, str]:
        """Return the C source files by name: one per module, and `entries` with their table.

        A module's file has its own functions and copies of the inlined ones that they call.
        Functions that another module's file calls have external linkage; their names end with the
        name of the build, so that one function can be compiled for several processors.
        """
        instances = {made.name: made for made in self.whole.order}
        contents: dict[str, set[str]] = {}  # names of the functions in each file
        shared: set[str] = set()
        waiting = [(e.source.module_name, e.name) for made in self.entries.values() for e in made]
        while waiting:
            module, name = waiting.pop()
            if name in contents.setdefault(module, set()):
                continue
            contents[module].add(name)
            for callee in words_of(instances[name].code) & instances.keys():
                made = instances[callee]
                home = module if made.inlined else made.source.module_name
                if home != module:
                    shared.add(callee)
                waiting.append((home, callee))
        units = {m: self._unit(m, contents[m], shared) for m in sorted(contents)}
        return units | {"entries": self._table()}

    def _unit(self, module: str, names: set[str], shared: set[str]) -> str:
        """Return the C source file of a module with these functions."""
        entries = [e for made in self.entries.values() for e in made]
        runs = [e for e in entries if e.source.module_name == module]
        ordered = sorted(self.whole.order, key=lambda made: made.name)
        bodies = [runner(self.whole, made) for made in runs]
        bodies += [made.code for made in ordered if made.name in names]
        used = names.union(*map(words_of, bodies))
        heads = {
            made.name: f"{'' if made.name in shared else made.storage} {self.whole.head(made)}"
            for made in ordered
            if made.name in used
        }
        external = [*sorted(shared & used), *(f"run_{made.name}" for made in runs)]
        lines = [*opening(external), *self.whole.data(used.union(*map(words_of, heads.values())))]
        lines += [f"{head};" for head in heads.values()]
        lines += [heads[m.name] + m.code for m in ordered if m.name in names]
        return "\n".join([*lines, *bodies[: len(runs)]])

    def _table(self) -> str:
        """Return the C source file with the table of entries."""
        runs = [f"run_{made.name}" for instances in self.entries.values() for made in instances]
        lines = [*opening(runs), *(f"void {n}(Arena *, const Slot *, Slot *);" for n in runs)]
        rows = [entry_row(name, instances) for name, instances in self.entries.items()]
        lines += ["const Entry NAMED(kernel_entries_, BUILD)[] = {", *rows, "    {0},", "};", ""]
        return "\n".join(lines)


def words_of(code: str) -> set[str]:
    """Return the identifiers and keywords in a text of C."""
    return set(re.findall(r"\w+", code))


def opening(external: Sequence[str]) -> list[str]:
    """Return the first lines of a C source file that shares these functions with others."""
    return ['#include "entry.h"', *(f"#define {name} NAMED({name}_, BUILD)" for name in external)]


def translate_modules(modules: Sequence[ModuleType]) -> Library:
    """Return what the signatures in some modules ask for."""
    from ..kernels import jit

    known = {module.__name__: module for module in [*kernel_modules(), *modules]}
    sources = [source for module in known.values() for source in kernels_of(module)]
    whole = Translator(sources)
    bundles = {name: record_of(made) for name, made in jit.BUNDLES.items()}
    entries: dict[str, list[Instance]] = {}
    for source in sources:
        if source.module not in modules:
            continue
        for text in jit.SIGNATURES.get((source.module.__name__, source.tree.name), ()):
            types = tuple(parse_type(word, bundles) for word in text.split())
            if len(types) != len(source.parameters):
                raise KernelError(
                    f"{source.path}:{source.tree.lineno}: {source.tree.name} has "
                    f"{len(source.parameters)} parameters, its signature {len(types)}"
                )
            entries.setdefault(source.name, []).append(whole.instance(source, types))
    return Library(whole, entries)


def slots_of(name: str, type: Type) -> list[tuple[str, Type]]:
    """Return name and type of each slot that a parameter has."""
    if not isinstance(type, Record):
        return [(name, type)]
    return [(f"{name}.{n}", m) for n, m in zip(type.names, type.members, strict=True)]


def letter(type: Type) -> str:
    """Return a slot's type: a letter and its dimensions."""
    item, ndim = (type.item, type.ndim) if isinstance(type, Array) else (type, 0)
    assert isinstance(item, Number)
    return f"{item.letter}{ndim}"


def from_slot(type: Type, k: int) -> str:
    """Return slot k as what a kernel takes."""
    if isinstance(type, Array):
        sizes = ", ".join(f"s[{k}].array.n[{axis}]" for axis in range(type.ndim))
        return f"({type.c}){{s[{k}].array.p, {sizes}}}"
    assert isinstance(type, Number)
    return f"s[{k}].number" if letter(type)[0] in "df" else f"({type.c})s[{k}].integer"


def runner(whole: Translator, made: Instance) -> str:
    """Return a function that runs an entry on slots."""
    k, arguments = 0, ["arena"] if made.allocates else []
    for name, type in made.passed:
        parts = slots_of(name, type)
        codes = [from_slot(part, k + at) for at, (_, part) in enumerate(parts)]
        k += len(parts)
        bundle = f"({whole.c(type)}){{{', '.join(codes)}}}"
        arguments.append(bundle if isinstance(type, Record) else codes[0])
    call = f"{made.name}({', '.join(arguments)})"
    lines = [f"void run_{made.name}(Arena *arena, const Slot *s, Slot *r) {{"]
    lines += ["    (void)arena; (void)r;"]
    if made.returns == NOTHING:
        lines.append(f"    {call};")
    else:
        lines.append(f"    {whole.c(made.returns)} answer = {call};")
        for at, (code, member) in enumerate(results_of(made.returns)):
            kind = "number" if letter(member)[0] in "df" else "integer"
            lines.append(f"    r[{at}].{kind} = {code};")
    return "\n".join([*lines, "}", ""])


def results_of(type: Type) -> list[tuple[str, Type]]:
    """Return code and type of each number that an entry returns."""
    if isinstance(type, Record):
        return [(f"answer.{type.field(k)}", m) for k, m in enumerate(type.members)]
    return [] if type == NOTHING else [("answer", type)]


def entry_row(name: str, instances: list[Instance]) -> str:
    """Return an entry's row of the table, with its signatures and the names of its slots."""
    first, writes = instances[0], set().union(*(made.writes for made in instances))
    slots = [(given, slot) for given, type in first.passed for slot, _ in slots_of(given, type)]
    members = [len(type.members) if isinstance(type, Record) else 0 for _, type in first.passed]
    signatures = []
    for made in instances:
        types = [letter(part) for given, type in made.passed for _, part in slots_of(given, type)]
        returns = [letter(member)[0].replace("f", "d") for _, member in results_of(made.returns)]
        signatures.append(f'{{"{"".join(types)}", "{"".join(returns)}", run_{made.name}}}')
    names = ", ".join(f'"{slot}"' for _, slot in slots)
    fields = [
        f'"{name}"',
        f"(const char *const[]){{{names}}}",
        '"' + "".join("1" if given in writes else "0" for given, _ in slots) + '"',
        f"(const int[]){{{', '.join(map(str, members))}}}",
        f"{len(members)}, {len(slots)}, {len(instances)}",
        f"(const Signature[]){{{', '.join(signatures)}}}",
    ]
    return f"    {{{', '.join(fields)}}},"


def header_text() -> str:
    """Return the text of `synovia.h`, the header for C programs.

    It depends on the package alone, not on where that is or how it was installed.
    """
    from ..kernels import runtime, runtime_file

    whole = translate_modules([runtime, runtime_file]).whole
    if asking := [each.name for each in whole.order if each.allocates]:
        raise SyntaxError(f"the runtime must not allocate, but {', '.join(asking)} does")

    def offset(match: re.Match[str]) -> str:
        return str(getattr(getattr(runtime_file, match[1]), match[2]))

    kernels = "\n".join([(HERE / "prelude.h").read_text("utf-8"), *whole.definitions()])
    text = re.sub(r"@([A-Z]+)\.(\w+)@", offset, (HERE / "runtime.h").read_text("utf-8"))
    return text.replace("@TOLERANCE@", repr(runtime.TOLERANCE)).replace("@KERNELS@", kernels)
