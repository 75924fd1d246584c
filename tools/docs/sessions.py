"""Run the commands and the Python blocks of a page of the documentation, and compare output.

    python tools/docs/sessions.py PAGE...           # list what differs from the page
    python tools/docs/sessions.py PAGE... --write   # write real output into the page

In blocks marked `console`, `$ ` begins a command and the lines below are its output; `…` stands for
lines or the rest of a line that are left out. In blocks marked `sh` output is not compared. Both
run in one directory with the Python blocks, in the order of the page. A command
`synovia … -o NAME.png` makes the picture `img/PAGE-NAME.png`, if the page shows one of that name.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import click
from click.testing import CliRunner

from synovia import LimitModel, save_clip, save_limits
from synovia.cli import main
from synovia.demo import range_of_motion, wild

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(console|sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
SHORT_FRAMES = 60
PERFORMERS = ("ann", "ben", "cleo")
OTHER_PROGRAMS = ("pip", "make", "npm", "docker", "source", "eval", "git")
"""Programs whose commands are not run; the names of make's targets and of extras are checked."""
OUTPUT_OPTIONS = ("-o", "--csv", "--ranges")
OUTPUT_VARIES = ("compare",)
"""Commands that print times."""


@dataclass(frozen=True)
class Command:
    """A command of a page, and the output shown below it; None if output is not compared."""

    text: str
    shown: tuple[str, ...] | None


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the language and the text of each block that is run."""
    for match in FENCE.finditer(page.read_text("utf-8")):
        yield match[1], match[2]


def commands(language: str, text: str) -> Iterator[Command]:
    """Yield the commands of a block."""
    if language == "sh":
        for line in text.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield Command(line, None)
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE):
        if part.strip():
            first, *shown = (line.rstrip() for line in part.splitlines())
            yield Command(first, tuple(line for line in shown if line) or None)


def prepare(directory: Path) -> None:
    """Write the files that pages use: demo clips, short clips of three performers, and limits."""
    demo = directory / "synovia-demo"
    demo.mkdir(parents=True)
    save_clip(range_of_motion(), demo / "rom.bvh")
    save_clip(wild(), demo / "wild.bvh")
    shutil.copy(demo / "wild.bvh", directory / "wild.bvh")
    (directory / "captures").mkdir()
    for seed, performer in enumerate(PERFORMERS):
        save_clip(
            range_of_motion(SHORT_FRAMES, seed), directory / "captures" / f"{performer}_rom.bvh"
        )
    shutil.copy(directory / "captures" / "ann_rom.bvh", directory)
    shutil.copy(directory / "captures" / "ann_rom.bvh", directory / "rom.bvh")
    mine = LimitModel.fit([range_of_motion(SHORT_FRAMES)])
    save_limits(mine, directory / "mine.limits.json")


def run_page(page: Path, directory: Path) -> Iterator[str]:
    """Run a page in a prepared directory, and yield a sentence for each difference."""
    names: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(directory):
        for language, text in blocks(page):
            if language != "python":
                for command in commands(language, text):
                    yield from run_command(command)
            elif "torch" not in text or find_spec("torch"):
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(text, str(page), "exec"), names)


def run_command(command: Command) -> Iterator[str]:
    """Run a command, and yield a sentence if it fails or its output differs."""
    text = command.text.split("  #")[0].partition(" |")[0].partition(" > ")[0]
    name, *words = shlex.split(text)
    if name == "cd":
        os.chdir(words[0])
    elif name in OTHER_PROGRAMS:
        yield from check_other(name, words)
    elif name == "synovia":
        yield from run_synovia(command, words)
    else:
        yield f"{command.text}: unknown program {name}"


def check_other(name: str, words: list[str]) -> Iterator[str]:
    """Yield a sentence for each target of make and each extra of pip that does not exist."""
    if name == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        yield from (
            f"no target {word}" for word in words if "=" not in word and word not in targets
        )
    if name == "pip":
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            known = project["optional-dependencies"]
            yield from (f"no extra {extra}" for extra in extras.split(",") if extra not in known)


def run_synovia(command: Command, words: list[str]) -> Iterator[str]:
    """Run a command of synovia in this process; `demo` and `view` are only parsed."""
    if words[:1] in (["demo"], ["view"]):
        parsed = main.get_command(click.Context(main), words[0])
        assert parsed is not None
        try:
            parsed.make_context(words[0], words[1:])
        except click.ClickException as error:
            yield f"{command.text}: {error.format_message()}"
        return
    for option, value in pairwise(words):
        if option in OUTPUT_OPTIONS:
            output = Path(value)
            if output.is_dir():
                shutil.rmtree(output)
            output.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(main, words, prog_name="synovia")
    if result.exit_code not in (0, 1):
        yield f"{command.text}: {result.output or result.exception!r}"
    elif command.shown is not None and words[0] not in OUTPUT_VARIES:
        printed = [line.rstrip() for line in result.output.splitlines() if line.strip()]
        yield from differences(command, printed)


def differences(command: Command, printed: list[str]) -> Iterator[str]:
    """Yield a sentence for the first line of the page that is missing in the output, in order."""
    assert command.shown is not None
    rest = iter(printed)
    for line in command.shown:
        if line.strip() != "…" and not any(alike(line, other) for other in rest):
            yield f"{command.text}: not printed: {line}\n" + "\n".join(printed)
            return


def alike(shown: str, printed: str) -> bool:
    """Return True if two lines differ only in spaces and slightly in numbers."""
    if shown.endswith("…"):
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    texts = [NUMBER.sub("#", line).split() for line in (shown, printed)]
    numbers = [[float(word) for word in NUMBER.findall(line)] for line in (shown, printed)]
    return texts[0] == texts[1] and all(
        abs(a - b) <= max(0.11, 0.02 * abs(b)) for a, b in zip(*numbers, strict=True)
    )


def pictures(page: Path, directory: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the pictures that a page's commands wrote, and their paths in the documentation."""
    text = page.read_text("utf-8")
    for name in re.findall(rf"\(((?:\.\./)?img/{page.stem}-([\w-]+\.png))\)", text):
        written = [path for path in directory.rglob(name[1]) if "node_modules" not in path.parts]
        if written:
            yield written[0], (page.parent / name[0]).resolve()


def write_output(page: Path, directory: Path) -> None:
    """Replace the output in a page, except where it contains `…`, and copy pictures."""
    text = page.read_text("utf-8")
    with contextlib.chdir(directory):
        for language, block in blocks(page):
            updated = block
            for command in commands(language, block) if language == "console" else ():
                messages = list(run_command(command))
                if messages and command.shown and "…" not in "".join(command.shown):
                    printed = messages[0].partition("\n")[2]
                    updated = updated.replace("\n".join(command.shown), printed)
                elif messages:
                    print(messages[0])
            if language == "sh":
                for command in commands(language, block):
                    list(run_command(command))
            text = text.replace(block, updated)
    page.write_text(text, "utf-8")
    for written, target in pictures(page, directory):
        shutil.copy(written, target)


def run(arguments: list[str]) -> int:
    """Run the given pages; return 1 if something differs."""
    failed = 0
    for name in (word for word in arguments if word != "--write"):
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder) / "work")
            if "--write" in arguments:
                write_output(page, Path(folder) / "work")
            else:
                messages = list(run_page(page, Path(folder) / "work"))
                print(*messages, sep="\n\n")
                failed |= bool(messages)
    return failed


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
