"""What people see: help with examples, tables, progress and warnings."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import UnionType
from typing import Any, TypeVar

import click

from ..text import percent
from ..text import printable as printable

Item = TypeVar("Item")
WIDEST = 100
"""Columns that a table may take."""
WHY_DROPPED = {
    "flips": "flips of the capture",
    "unconfirmed": "unconfirmed, no other performer comes near them",
    "isolated": "isolated, they stand apart from all others",
}
ANGLES = ("cell", "spread")
"""Options of shapes that are angles: people type and read degrees."""
_KEPT = re.compile(r"(\x1b\[(?:[01]|3[123])m|\n)")
"""What is printed as it is: bold, red, green, yellow, the end of a style, and line ends."""
DEBUG: ContextVar[bool] = ContextVar("DEBUG", default=False)
"""Whether the user wants tracebacks."""


def _remember_debug(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    DEBUG.set(value or DEBUG.get())


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_remember_debug,
    help="Show a traceback when something goes wrong.",
)


class TeachingCommand(click.Command):
    """A command whose help groups its options by `sections`, and ends with `examples`."""

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[str]] | None = None,
        examples: Sequence[tuple[str, str]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section; those of none come last."""
        params = {
            param.name: param for param in self.get_params(ctx) if isinstance(param, click.Option)
        }
        named = {name for names in self.sections.values() for name in names}
        rest = [name for name in params if name not in named]
        last = "Other options" if named else "Options"
        for title, names in {**self.sections, last: rest}.items():
            records = [params[name].get_help_record(ctx) for name in names]
            if shown := [record for record in records if record]:
                with formatter.section(title):
                    formatter.write_dl(shown)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are typed, each under a line that says what it does."""
        if self.examples:
            with formatter.section("Examples"):
                for what, line in self.examples:
                    indent = " " * formatter.current_indent
                    formatter.write(f"{indent}# {what}\n{indent}{line}\n")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Yield aligned lines, the titles first; the first column gives way where lines are too long.

    The first `left` columns begin together, the others end together.
    """
    rows = [[printable(cell) for cell in row] for row in [titles, *rows]]
    widths = [max(map(_display_width, column)) for column in zip(*rows, strict=True)]
    widths[0] = max(min(widths[0], WIDEST - sum(widths[1:]) - 2 * (len(widths) - 1)), 12)
    for row in rows:
        cells = [_shorten(row[0], widths[0]), *row[1:]]
        padded = []
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            gap = " " * (width - _display_width(cell))
            padded.append(cell + gap if place < left else gap + cell)
        yield "  ".join(padded).rstrip()


def wrap(text: str) -> Iterator[str]:
    """Yield `text` in lines that are no wider than a table, those after the first indented."""
    text = printable(text)
    yield from textwrap.wrap(text, WIDEST, subsequent_indent="  ", break_on_hyphens=False)


def _display_width(text: str) -> int:
    """Return how many columns of a terminal `text` takes: letters of East Asia take two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _shorten(text: str, width: int) -> str:
    """Return `text`, its middle left out where it is wider than `width`: ends tell names apart."""
    if _display_width(text) <= width:
        return text
    keep = width - 1
    while keep > 1:
        short = f"{text[: keep - keep // 2]}…{text[len(text) - keep // 2 :]}"
        if _display_width(short) <= width:
            return short
        keep -= 1
    return "…"


def heading(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a table, its titles in bold."""
    for place, line in enumerate(lines):
        yield click.style(line, bold=True) if place == 0 else line


def degrees(angle_deg: float) -> str:
    """Return an angle as a table shows it."""
    return "<0.1" if 0.0 < angle_deg < 0.05 else f"{angle_deg:.1f}"


def interval(low_deg: float, high_deg: float) -> str:
    """Return a range of angles, in whole degrees."""
    return f"{round(low_deg)} to {round(high_deg)}"


def pluralize(number: int, thing: str) -> str:
    """Return the number and the thing, in the plural where there is not one."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def provenance_lines(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines that say from whom and what limits were learned; none where that is not known."""
    clips = _complete_rows(
        provenance.get("clips"), performer=object, frames=int, frame_time=float | int
    )
    joints = _complete_rows(provenance.get("joints"), frames=int, **dict.fromkeys(WHY_DROPPED, int))
    origin = people if isinstance(people := provenance.get("people"), Mapping) else provenance
    if rows := _complete_rows(provenance.get("published"), motion=str):
        yield f"possible ranges after {pluralize(len(rows), 'published range')} of motion"
    if "data" in origin:
        yield from wrap(
            f"learned from {origin.get('people', '?')} people in {origin.get('clips', '?')} clips "
            f"of {origin['data']}; {origin.get('rights', 'rights not known')}"
        )
        yield from wrap(str(origin.get("credits", "")))
    if clips:
        people = list(dict.fromkeys(str(clip["performer"]) for clip in clips))
        named = ", ".join(people[:8]) + ", …" * (len(people) > 8)
        frames = sum(clip["frames"] for clip in clips)
        seconds = sum(clip["frames"] * clip["frame_time"] for clip in clips)
        yield (
            f"learned from {pluralize(frames, 'frame')} ({seconds:.0f} s) "
            f"in {pluralize(len(clips), 'clip')} of {pluralize(len(people), 'performer')} "
            f"({printable(named)})"
        )
        if first := sum(bool(clip.get("first_frame_dropped")) for clip in clips):
            yield f"left out the first frame of {pluralize(first, 'clip')}: nobody performed it"
    for row in _complete_rows(
        [provenance.get("blend")], performers=list, samples=int, counted_as=float | int
    ):
        people = [str(name) for name in row["performers"]]
        named = ", ".join(people[:8]) + ", …" * (len(people) > 8)
        yield (
            f"blended with {pluralize(row['samples'], 'sample')} of "
            f"{pluralize(len(people), 'performer')} ({printable(named)}), "
            f"and counted as {row['counted_as']} people"
        )
    for key, why in WHY_DROPPED.items():
        if lost := sum(row[key] for row in joints):
            share = lost / max(sum(row["frames"] for row in joints), 1)
            yield f"left out {percent(share)} of the joints' frames: {why}"


def clip_names(provenance: Mapping[str, Any]) -> list[str]:
    """Return the names of the clips that limits were learned from."""
    return [str(clip["name"]) for clip in _complete_rows(provenance.get("clips"), name=object)]


def is_number(value: Any) -> bool:
    """Tell whether a value of provenance, which may be anything, is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _complete_rows(rows: Any, **kinds: type | UnionType) -> list[Mapping[str, Any]]:
    """Return the rows that have values of these kinds: limits need not come from a fit of ours."""
    rows = list(rows.values()) if isinstance(rows, Mapping) else rows
    rows = rows if isinstance(rows, list) else []
    return [
        row
        for row in rows
        if isinstance(row, Mapping)
        and all(key in row and isinstance(row[key], kind) for key, kind in kinds.items())
    ]


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print `text` with nothing in it that could control a terminal but line ends and styles.

    Names from files may hold anything, and get into most messages.
    """
    pieces = _KEPT.split(text)
    pieces[::2] = map(printable, pieces[::2])
    try:
        click.echo("".join(pieces), nl=nl, err=err, color=False if colourless() else None)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stderr" if err else "stdout") from error


def note(text: str) -> None:
    """Print a line to stderr, where a progress bar may stand at the moment."""
    if sys.stderr.isatty():
        blank = " " * (shutil.get_terminal_size().columns - 1)
        click.echo(f"\r{blank}\r", nl=False, err=True)
    echo(text, err=True)


def progress(label: str) -> Callable[[Sequence[Item]], Iterator[Item]]:
    """Return a function that gives back items one by one, with a bar where a terminal shows it."""

    def shown(items: Sequence[Item]) -> Iterator[Item]:
        if len(items) < 2 or not sys.stderr.isatty():
            yield from items
            return
        with click.progressbar(
            items, label=label, file=sys.stderr, item_show_func=_show_item
        ) as bar:
            yield from bar

    return shown


def _show_item(item: object) -> str | None:
    """Return what a bar says of the item at hand: names, and nothing of other things."""
    return printable(item) if isinstance(item, str) else None


@contextlib.contextmanager
def share_bar(label: str) -> Iterator[Callable[[str, float], None]]:
    """Give a function that is told what is done and how much of all, with a bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:

        def tell(what: str, share: float) -> None:
            bar.label = what
            bar.update(max(int(1000 * share) - bar.pos, 0))

        yield tell


def count_progress(label: str, items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield the `count` items of an iterator, with a bar on a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(items, count, label=label, file=sys.stderr) as bar:
        yield from bar


@contextlib.contextmanager
def show_warnings() -> Iterator[None]:
    """Print the library's warnings as lines on stderr, each once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message)
        if issubclass(category, UserWarning | RuntimeWarning) and text not in said:
            said.add(text)
            note(f"{click.style('synovia: warning:', fg='yellow')} {printable(text)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def colourless() -> bool:
    """Tell whether the user asked for no colour; see no-color.org."""
    return bool(os.environ.get("NO_COLOR"))
