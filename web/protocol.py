"""Write `src/protocol.ts` from the page's protocol in Python: `python web/protocol.py`.

A TypedDict becomes an interface, `A | B` a union, `Annotated[A, B]` what is both. Docstrings become
comments.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).parent
FOLDER = WEB.parent / "src" / "synovia" / "view" / "protocol"
SOURCES = [FOLDER / f"{name}.py" for name in ("poses", "dependents", "edits", "__init__")]
TARGET = WEB / "src" / "protocol.ts"
WIDTH = 100
HEAD = """\
// What the page asks Python for, and what it is told.
// Written by `python web/protocol.py` from src/synovia/view/protocol: change that, not this.
"""
NAMES = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "Floats": "Float32Array",
    "Ints": "Uint32Array",
    "Halves": "Uint16Array",
    "Bytes": "Uint8Array<ArrayBuffer>",
}
"""TypeScript's names for types, where they are others than Python's."""


def read_sources() -> str:
    """Return the protocol's modules as one."""
    return "\n".join(path.read_text("utf-8") for path in SOURCES)


def typescript(source: str) -> str:
    """Return the types of a Python module as a module of TypeScript."""
    return HEAD + "".join(f"\n{each}" for each in _declarations(ast.parse(source).body))


def _declarations(body: list[ast.stmt]) -> Iterator[str]:
    for number, node in enumerate(body):
        if isinstance(node, ast.ClassDef):
            yield _interface(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield _comment(_docstring(body, number)) + _alias(node.targets[0].id, node.value)


def _interface(node: ast.ClassDef) -> str:
    comment = _comment(ast.get_docstring(node))
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) != "TypedDict"]
    fields = [
        _comment(_docstring(node.body, number), "  ") + _field(each.target.id, each.annotation)
        for number, each in enumerate(node.body)
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    if not fields:
        return (
            comment + f"export type {node.name} = {' & '.join(bases) or 'Record<string, never>'};\n"
        )
    extends = f" extends {', '.join(bases)}" if bases else ""
    return f"{comment}export interface {node.name}{extends} {{\n{''.join(fields)}}}\n"


def _alias(name: str, value: ast.expr) -> str:
    if isinstance(value, ast.Call):  # TypedDict("Name", {...}), for fields that are keywords
        table = value.args[1]
        if not isinstance(table, ast.Dict):
            raise ValueError(f"{name} must be TypedDict(name, {{...}}), got {ast.unparse(value)}")
        pairs = zip(table.keys, table.values, strict=True)
        fields = [_field(ast.literal_eval(key), kind) for key, kind in pairs if key is not None]
        return f"export interface {name} {{\n{''.join(fields)}}}\n"
    line = f"export type {name} = {_type(value)};\n"
    if len(line) <= WIDTH:
        return line
    return f"export type {name} =\n  | " + "\n  | ".join(_type(value).split(" | ")) + ";\n"


def _field(name: str, kind: ast.expr) -> str:
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "NotRequired":
        return f"  {name}?: {_type(kind.slice)};\n"
    return f"  {name}: {_type(kind)};\n"


def _type(node: ast.expr) -> str:
    """Return the TypeScript of an annotation."""
    if isinstance(node, ast.Name):
        return NAMES.get(node.id, node.id)
    if isinstance(node, ast.Constant) and node.value is None:
        return "null"
    if isinstance(node, ast.BinOp):
        return f"{_type(node.left)} | {_type(node.right)}"
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match ast.unparse(node.value):
            case "list":
                return f"{_type(inner[0])}[]"
            case "dict":
                return f"Record<{_type(inner[0])}, {_type(inner[1])}>"
            case "Annotated":
                return " & ".join(_type(each) for each in inner)
            case "Literal":
                return " | ".join(_literal(ast.literal_eval(each)) for each in inner)
    raise ValueError(f"{FOLDER.name}: no TypeScript is known for {ast.unparse(node)}")


def _literal(value: object) -> str:
    return json.dumps(value)


def _docstring(body: list[ast.stmt], number: int) -> str | None:
    """Return the text right after a statement, which is about it."""
    after = body[number + 1] if number + 1 < len(body) else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        return str(after.value.value)
    return None


def _comment(text: str | None, indent: str = "") -> str:
    return "" if text is None else f"{indent}/** {' '.join(text.split())} */\n"


if __name__ == "__main__":
    TARGET.write_text(typescript(read_sources()), "utf-8", newline="\n")
