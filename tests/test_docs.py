"""Commands and code of the documentation run, links resolve, generated pages are complete."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from synovia.cli import COMMANDS
from synovia.export import EXPORTERS
from synovia.io import CLIP_FORMATS, limits_schema, load_limits
from synovia.view.answers import HANDLERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SESSIONS = runpy.run_path(str(ROOT / "tools" / "docs" / "sessions.py"))
REFERENCE = runpy.run_path(str(ROOT / "tools" / "docs" / "reference.py"))
GENERATED: dict[str, str] = REFERENCE["pages"]()
HAND_WRITTEN = [path for path in PAGES if path.name not in GENERATED]
RUN = [
    path
    for path in HAND_WRITTEN
    if path.name not in ("CONTRIBUTING.md", "architecture.md")
    and re.search(r"^```(console|sh|python)$", path.read_text("utf-8"), re.MULTILINE)
]
MAX_WORDS = 22_000
MAX_GUIDE_WORDS = 900


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "work"
    SESSIONS["prepare"](folder)
    return folder


@pytest.fixture
def directory(prepared, tmp_path):
    """A directory of its own for each page, so that no page needs another's files."""
    return Path(shutil.copytree(prepared, tmp_path / "work"))


@pytest.mark.parametrize("page", RUN, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_commands_and_code_run_and_print_what_the_page_shows(page, directory):
    assert list(SESSIONS["run_page"](page, directory)) == []


def test_wrong_output_is_detected(directory):
    command = SESSIONS["Command"]
    good = command("synovia --version", ("synovia 0.1.0",))
    bad = command("synovia --version", ("synovia 0.2.9",))
    assert list(SESSIONS["run_command"](good)) == []
    assert list(SESSIONS["run_command"](bad)) != []
    assert list(SESSIONS["run_command"](command("synovia nonsense", None))) != []
    assert list(SESSIONS["run_command"](command("make nonsense", None))) != []
    assert list(SESSIONS["run_command"](command("pip install 'synovia[x]'", None))) != []


def anchors(text):
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in headings}


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda path: path.stem)
def test_links_and_anchors_resolve(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        linked = GENERATED.get(path.name) if path.parent == DOCS / "reference" else None
        assert linked or path.exists(), target
        if anchor:
            assert anchor in anchors(linked or path.read_text("utf-8")), target


def test_names_in_the_reference_exist():
    names = [
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)$", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(names) > 50
    for name in names:
        pkgutil.resolve_name(name)


def test_every_picture_is_used():
    text = "".join(path.read_text("utf-8") for path in PAGES)
    assert [path.name for path in (DOCS / "img").iterdir() if path.name not in text] == []


def test_pages_named_in_code_exist():
    folders = ("src", "tests", "tools", "web/src", "blender", "npm", "packaging", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    named = {
        (path.name, name)
        for path in files
        if path.suffix in (".py", ".ts", ".tsx", ".md", ".toml", ".yaml")
        and "node_modules" not in path.parts
        for name in re.findall(r"(?<![\w/])docs/[\w/-]+\.(?:md|png)", path.read_text("utf-8"))
    }
    missing = [(by, name) for by, name in named if not (ROOT / name).exists()]
    assert len(named) > 5
    assert [(by, name) for by, name in missing if Path(name).name not in GENERATED] == []


@pytest.mark.parametrize("folder", ["benchmarks", "blender", "examples", "tools"])
def test_names_imported_from_synovia_exist(folder):
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.split(".")[0] == "synovia":
                if module.startswith("synovia.torch") and not find_spec("torch"):
                    continue
                imported = importlib.import_module(module)
                for alias in node.names:
                    name = f"{module}.{alias.name}"
                    is_package = hasattr(imported, "__path__")
                    exists = hasattr(imported, alias.name) or (is_package and find_spec(name))
                    assert exists, f"{path.name} imports {name}"


def test_the_documentation_is_short():
    written = [path for path in HAND_WRITTEN if path.parent.name != "reference"]
    words = {path: len(path.read_text("utf-8").split()) for path in written}
    words[ROOT / "CHANGELOG.md"] = len((ROOT / "CHANGELOG.md").read_text("utf-8").split())
    assert sum(words.values()) <= MAX_WORDS
    assert [
        p.name for p, n in words.items() if p.parent.name == "guides" and n > MAX_GUIDE_WORDS
    ] == []
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()) <= 60


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "zensical.toml").read_text("utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in HAND_WRITTEN if DOCS in path.parents]
    pages += [f"reference/{name}" for name in GENERATED]
    assert [page for page in pages if f'"{page}"' not in navigation] == []


def test_the_reference_of_the_command_line_has_every_command_and_option():
    import click

    from synovia.cli import main

    text = GENERATED["command-line.md"]
    for name in COMMANDS:
        assert f"\n## {name}\n" in text
        command = main.get_command(click.Context(main), name)
        subcommands = command.commands.values() if isinstance(command, click.Group) else [command]
        for subcommand in subcommands:
            for option in subcommand.params:
                if isinstance(option, click.Option):
                    assert f"`{option.opts[-1]}" in text, (name, option.opts)


def test_the_reference_of_limits_files_has_every_key_and_its_example_loads(tmp_path):
    text = GENERATED["limits-file.md"]
    schema = limits_schema()
    objects = [schema, *schema["$defs"].values()]
    keys = {key for schema_object in objects for key in schema_object.get("properties", {})}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []
    example = text.split("```json\n")[1].split("```")[0]
    (tmp_path / "a.limits.json").write_text(example)
    assert set(load_limits(tmp_path / "a.limits.json").limits) == {"LeftLeg"}
    assert json.loads(example)["format"] == "synovia-limits"


def test_the_reference_of_the_protocol_has_every_request():
    text = GENERATED["page-protocol.md"]
    assert [name for name in HANDLERS if f"\n## {name}\n" not in text] == []


def test_the_reference_of_formats_has_every_format_and_target():
    text = GENERATED["formats-and-targets.md"]
    for suffix, entry in CLIP_FORMATS.items():
        assert f"`{suffix}`" in text
        assert entry.title in text
        assert f"`{suffix}`" in (DOCS / "formats.md").read_text("utf-8")
    for name, exporter in EXPORTERS.items():
        assert f"| `{name}` |" in text
        assert exporter.about in text


def test_pages_load_nothing_from_other_hosts():
    for path in HAND_WRITTEN:
        text = path.read_text("utf-8")
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(script|iframe|img)\b", text), path.name
