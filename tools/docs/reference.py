"""Write the generated pages of the reference: python tools/docs/reference.py [DIRECTORY].

They describe the command line, limits files, the page's protocol, and formats and targets. Sources
are click's commands, the JSON Schema, the protocol's classes and the registries. The pages are not
committed: `make docs` writes them into docs/reference before it builds the site.
"""

from __future__ import annotations

import ast
import inspect
import json
import runpy
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from synovia import Box, Limit, LimitModel, Skeleton, SwingTwist, save_limits
from synovia.charts import CHARTS
from synovia.cli import COMMANDS, main
from synovia.export import EXPORTERS
from synovia.ik import GOALS
from synovia.io import CLIP_FORMATS, limits_schema
from synovia.io import limits as limits_io
from synovia.shapes import SHAPES

ROOT = Path(__file__).parents[2]
PROTOCOL = runpy.run_path(str(ROOT / "web" / "protocol.py"))


def pages() -> dict[str, str]:
    """Return the text of each generated page by the name of its file."""
    return {
        "command-line.md": command_line(),
        "limits-file.md": limits_file(),
        "page-protocol.md": page_protocol(),
        "formats-and-targets.md": formats_and_targets(),
    }


# The command line.


def command_line() -> str:
    """Return the page about all commands, from click."""
    parts = ["# Command line\n", "This page is the `--help` of each command.\n"]
    context = click.Context(main, info_name="synovia")
    parts += _help(main, context)
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        parts.append(f"## {name}\n")
        parts += _command(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(parts)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from _help(command, context)
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        yield "| option | meaning |\n|---|---|\n" + "".join(_rows(options, context))
    examples = getattr(command, "examples", ())
    if examples:
        lines = "".join(f"# {about}\n{line}\n" for about, line in examples)
        yield f"```sh\n{lines}```\n"
    for name, part in (command.commands if isinstance(command, click.Group) else {}).items():
        yield f"### {context.info_name} {name}\n"
        yield from _command(part, click.Context(part, info_name=name, parent=context))


def _help(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"```text\n{command.get_usage(context).partition(': ')[2]}\n```\n"
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    for paragraph in paragraphs:
        if paragraph.startswith("\b\n"):
            yield "```text\n" + paragraph[2:] + "\n```\n"
        else:
            yield _plain(paragraph.replace("\n", " ")) + "\n"


def _rows(options: list[click.Option], context: click.Context) -> Iterator[str]:
    for option in options:
        record = option.get_help_record(context)
        if record:
            names = ", ".join(f"`{name}`" for name in option.opts + option.secondary_opts)
            value = "" if option.is_flag else f" `{option.make_metavar(ctx=context)}`"
            yield f"| {names}{_cell(value)} | {_cell(_plain(record[1]))} |\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# Limits files.


def limits_file() -> str:
    """Return the page about limits files, from the JSON Schema and its dataclasses."""
    schema = limits_schema()
    parts = [
        "# Limits files\n",
        '`save_limits(model, "mine.limits.json")` writes a model, `load_limits` reads it. The file'
        " is JSON in UTF-8; every number comes back bit for bit. Angles are radians, quaternions"
        " unit with w first, offsets in the unit of the clips. Other keys than these are not"
        " allowed. The JSON Schema is `synovia.io.limits_schema()`.\n",
        f"```json\n{_example()}```\n",
        "## The file\n",
        _keys(schema, _field_texts(limits_io)),
    ]
    for name, definition in schema["$defs"].items():
        if "properties" not in definition:
            continue
        kind, _, registered = name.partition("-")
        title = f"{kind.removeprefix('Stored').lower()} {registered}".strip()
        owner = {"Chart": CHARTS, "Region": SHAPES}.get(kind, {}).get(registered)
        parts.append(f"## {title}\n")
        about = definition.get("description") or _first_paragraph(owner)
        parts.append(_plain(about) + "\n")
        module = sys.modules[owner.__module__] if owner else limits_io
        parts.append(_keys(definition, _field_texts(module)))
    parts.append(
        "## Errors\n\nAn error names the position: `mine.limits.json: limits.LeftArm.shape.low:"
        " expected 3 numbers, got [1, 2]`. A file is written completely or not at all, nothing in"
        " it is executed, and files of a newer version are refused.\n"
    )
    return "\n".join(parts)


def _example() -> str:
    skeleton = Skeleton(
        ("Hips", "LeftUpLeg", "LeftLeg"), [-1, 0, 1], [[0, 0, 0], [9.1, -1.5, 0], [0, -41.2, 0.3]]
    )
    shape = Box([-0.1, -0.05, -0.3], [2.4, 0.05, 0.3], np.eye(3))
    knee = Limit(SwingTwist(axis=np.array([0.0, -1.0, 0.0])), shape)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "knee.limits.json")
        save_limits(LimitModel({"LeftLeg": knee}, skeleton), path)
        return path.read_text("utf-8").rstrip() + "\n"


def _keys(definition: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    required = definition.get("required", ())
    rows = [
        f"| `{name}` | {_cell(_kind(value))} | {'yes' if name in required else 'no'} |"
        f" {_cell(_plain(value.get('description', '') or texts.get(name, '')))} |\n"
        for name, value in definition["properties"].items()
    ]
    return "| key | value | required | meaning |\n|---|---|---|---|\n" + "".join(rows)


def _kind(value: Mapping[str, Any]) -> str:
    """Return the kind of value that a schema allows, in a few words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        kind, _, registered = name.partition("-")
        title = f"{kind.removeprefix('Stored').lower()} {registered}".strip()
        return title if name == "numbers" else f"[{title}](#{title.replace(' ', '-')})"
    for key in ("anyOf", "oneOf"):
        if key in value:
            kinds = [_kind(each) for each in value[key] if "Array" not in each.get("$ref", "")]
            return " or ".join(dict.fromkeys(kinds))
    if "enum" in value or "const" in value:
        return " or ".join(
            f"`{json.dumps(each)}`" for each in value.get("enum", [value.get("const")])
        )
    if value.get("type") == "array":
        count = value.get("maxItems")
        items = _kind(value.get("items", {}))
        return (
            f"{count} × {items}" if count == value.get("minItems") and count else f"list of {items}"
        )
    if value.get("type") == "object":
        extra = value.get("additionalProperties")
        return f"by name: {_kind(extra)}" if extra else "object"
    return str(value.get("type", "any"))


def _field_texts(module: Any) -> dict[str, str]:
    """Return the docstrings of the fields of a module's dataclasses, by the field's name."""
    body = ast.parse(inspect.getsource(module)).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {name: text for node in classes for name, _, text in _fields(node)}


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and docstring of the annotated fields of a class."""
    for number, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign):
            text = node.body[number + 1] if number + 1 < len(node.body) else None
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            about = inspect.cleandoc(str(text.value.value)) if is_text else ""  # type: ignore[union-attr]
            yield ast.unparse(each.target), ast.unparse(each.annotation), about


# The protocol of the page.


def page_protocol() -> str:
    """Return the page about the messages of `synovia view`, from their classes."""
    protocol = PROTOCOL["read_protocol"]()
    names = protocol.reach([*protocol.requests.values(), *protocol.answers.values()])
    nodes = {name: protocol.classes[name] for name in names if name in protocol.classes}
    parts = [
        "# The page's protocol\n",
        "One socket, at `socket` below the link. The page sends JSON, such as"
        ' `{"id": 3, "ask": "region", "joint": "LeftArm"}`; names are in camel case there'
        " (`margin_deg` is `marginDeg`). With a file, it is the length of the JSON (4 bytes,"
        " little-endian), the JSON and the bytes. An answer is the length of a JSON header, the"
        " header padded to a multiple of 4, then arrays: the header's `arrays` lists their `name`,"
        " `type` (`f4`, `u4`, `i2`, `u2`, `u1`) and `shape`. An `error` is a sentence.\n",
    ]
    mentioned: list[str] = []
    for name, request in protocol.requests.items():
        parts.append(f"## {name}\n")
        for title, kinds in (("Request", request), ("Answer", protocol.answers[name])):
            kinds = ast.unparse(kinds).split(" | ")
            mentioned += kinds
            parts += [_message(title, kind, nodes) for kind in kinds]
    edits = ast.unparse(protocol.aliases["Edit"][0]).split(" | ")
    parts.append("## Edits\n\n`edit` is one of these.\n")
    parts += [_message("Edit", kind, nodes) for kind in edits]
    parts.append("## Other types\n")
    others = sorted(nodes.keys() - set(mentioned) - set(edits))
    parts += [_message("Type", kind, nodes) for kind in others]
    return "\n".join(parts)


def _message(title: str, kind: str, nodes: Mapping[str, ast.ClassDef]) -> str:
    node = nodes[kind]
    about = _plain(ast.get_docstring(node) or "")
    rows = "".join(
        f"| `{name}` | `{_cell(annotation)}` | {_cell(_plain(text))} |\n"
        for name, annotation, text in _all_fields(node, nodes)
    )
    table = f"\n\n| field | type | meaning |\n|---|---|---|\n{rows}" if rows else "\n"
    return f"**{title}** `{kind}`: {about}{table}"


def _all_fields(
    node: ast.ClassDef, nodes: Mapping[str, ast.ClassDef]
) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a class after those of its bases."""
    for base in map(ast.unparse, node.bases):
        if base in nodes:
            yield from _all_fields(nodes[base], nodes)
    yield from _fields(node)


# Registries.


def formats_and_targets() -> str:
    """Return the page about the entries of the registries."""
    titles: dict[str, list[str]] = {}
    for suffix, entry in CLIP_FORMATS.items():
        titles.setdefault(entry.title, []).append(
            f"`{suffix}`" + ("" if entry.writable else " (read)")
        )
    parts = ["# Formats, targets, families\n", "## Clips\n", "| format | suffixes |\n|---|---|\n"]
    parts[-1] += "".join(f"| {title} | {', '.join(each)} |\n" for title, each in titles.items())
    parts += ["## Export targets\n", "| `--to` | suffixes | what it is |\n|---|---|---|\n"]
    parts[-1] += "".join(
        f"| `{name}` | {', '.join(f'`{suffix}`' for suffix in each.suffixes)} | {each.about} |\n"
        for name, each in EXPORTERS.items()
    )
    for title, registry in (("Shapes", SHAPES), ("Charts", CHARTS), ("Goals", GOALS)):
        parts += [f"## {title}\n", "| name | what it is |\n|---|---|\n"]
        parts[-1] += "".join(
            f"| `{name}` | {_cell(_plain(_first_paragraph(each)))} |\n"
            for name, each in registry.items()
        )
    return "\n".join(parts)


def _first_paragraph(value: object) -> str:
    return (inspect.getdoc(value) or "").partition("\n\n")[0]


def run(arguments: list[str]) -> None:
    """Write the pages."""
    into = Path(arguments[0]) if arguments else ROOT / "docs" / "reference"
    for name, text in pages().items():
        (into / name).write_text(textwrap.dedent(text), "utf-8")


if __name__ == "__main__":
    run(sys.argv[1:])
