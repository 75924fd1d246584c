"""Output for people: tables, numbers, progress bars and warnings on a terminal or in a pipe."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

from ..text import printable as printable

Item = TypeVar("Item")
MAX_WIDTH = 100  # columns of a table or a paragraph
MAX_LISTED = 8  # names in a list that may be long
MIN_FIRST_COLUMN = 12  # columns; names shortened to fewer cannot be told apart
_SAFE_CONTROLS = re.compile(r"(\x1b\[(?:[01]|3[1236])m|\n)")
"""Line ends and our own styles: reset, bold, red, green, yellow, cyan."""


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print `text`, with "?" for characters that could control a terminal.

    Line ends and styles are kept. Names from files may hold anything, and get into most messages.
    """
    pieces = _SAFE_CONTROLS.split(text)
    pieces[::2] = map(printable, pieces[::2])
    try:
        click.echo("".join(pieces), nl=nl, err=err, color=False if is_colourless() else None)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stderr" if err else "stdout") from error


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines one by one, as they are produced."""
    for line in lines:
        echo(line)


def echo_json(document: Any) -> None:
    """Print plain values as indented JSON."""
    echo(json.dumps(document, indent=2, allow_nan=False))


def note(text: str) -> None:
    """Print a line to stderr, in place of a progress bar that may be there."""
    if sys.stderr.isatty():
        blank = " " * (shutil.get_terminal_size().columns - 1)
        click.echo(f"\r{blank}\r", nl=False, err=True)
    echo(text, err=True)


def bold(text: str) -> str:
    """Return text from a file, printable and in bold."""
    return click.style(printable(text), bold=True)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Yield aligned lines, the titles first and in bold.

    The first `left` columns are aligned to the left, the others to the right. Cells of the first
    column are shortened where a line would be longer than `MAX_WIDTH`.
    """
    rows = [[printable(cell) for cell in row] for row in [titles, *rows]]
    widths = [max(map(_display_width, column)) for column in zip(*rows, strict=True)]
    others = sum(widths[1:]) + 2 * (len(widths) - 1)
    widths[0] = max(min(widths[0], MAX_WIDTH - others), MIN_FIRST_COLUMN)
    for number, row in enumerate(rows):
        cells = [_shorten(row[0], widths[0]), *row[1:]]
        padded = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            gap = " " * (width - _display_width(cell))
            padded.append(cell + gap if column < left else gap + cell)
        line = "  ".join(padded).rstrip()
        yield click.style(line, bold=True) if number == 0 else line


def wrap(text: str) -> Iterator[str]:
    """Yield `text` in lines of at most `MAX_WIDTH` columns, all but the first indented."""
    text = printable(text)
    yield from textwrap.wrap(text, MAX_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _display_width(text: str) -> int:
    """Return the width of `text` in terminal columns; East Asian wide letters take two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _shorten(text: str, width: int) -> str:
    """Return `text` with an ellipsis in its middle if it is wider than `width` columns."""
    if _display_width(text) <= width:
        return text
    for keep in range(width - 1, 1, -1):
        short = f"{text[: keep - keep // 2]}…{text[len(text) - keep // 2 :]}"
        if _display_width(short) <= width:
            return short
    return "…"


def degrees(angle: float) -> str:
    """Return an angle, given in radians, in degrees with one decimal; "<0.1" for smaller ones."""
    angle_deg = math.degrees(angle)
    return "<0.1" if 0.0 < angle_deg < 0.05 else f"{angle_deg:.1f}"


def interval(low: float, high: float) -> str:
    """Return a range of angles, given in radians, in whole degrees."""
    return f"{round(math.degrees(low))} to {round(math.degrees(high))}"


def pluralize(number: int, noun: str) -> str:
    """Return the number and the noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def list_some(names: Sequence[str]) -> str:
    """Return the first `MAX_LISTED` names, with an ellipsis if there are more."""
    return ", ".join(names[:MAX_LISTED]) + ", …" * (len(names) > MAX_LISTED)


def progress(label: str, count: int | None = None) -> Callable[[Iterable[Item]], Iterator[Item]]:
    """Return a function that yields the items it is given, with a bar on a terminal.

    `count` is the number of items where they have no length.
    """

    def show(items: Iterable[Item]) -> Iterator[Item]:
        total = len(items) if isinstance(items, Sequence) else count
        if total is None or total < 2 or not sys.stderr.isatty():
            yield from items
            return
        with click.progressbar(
            items,
            total,
            label,
            file=sys.stderr,
            item_show_func=_show_item,
            show_pos=count is not None,
        ) as bar:
            yield from bar

    return show


def _show_item(item: object) -> str | None:
    """Return the name of the current item; None for items that are not names."""
    return printable(item) if isinstance(item, str) else None


@contextlib.contextmanager
def share_bar(label: str) -> Iterator[Callable[[str, float], None]]:
    """Yield a function that updates a progress bar with a label and the share done, 0 to 1."""
    if not sys.stderr.isatty():
        yield lambda label, share: None
        return
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:

        def update(label: str, share: float) -> None:
            bar.label = label
            bar.update(max(int(1000 * share) - bar.pos, 0))

        yield update


@contextlib.contextmanager
def show_warnings() -> Iterator[None]:
    """Print the library's warnings as lines on stderr, each once."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message)
        if issubclass(category, UserWarning | RuntimeWarning) and text not in shown:
            shown.add(text)
            note(f"{click.style('synovia: warning:', fg='yellow')} {printable(text)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def is_colourless() -> bool:
    """Return True if the user turned colours off; see no-color.org."""
    return bool(os.environ.get("NO_COLOR"))
