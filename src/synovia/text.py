"""Text for people: percentages, and names from files made safe for terminals and spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

FORMULA_STARTS = tuple("=+-@＝＋－＠")  # as OWASP lists them; tab and line ends are not printable
"""What a spreadsheet takes for the beginning of a formula."""

MAX_STEM = 100  # characters; file systems accept 255 bytes

VIOLATION_COLUMNS = ("clip", "frame", "time", "joint", "violation_deg", "verdict")
"""Titles of the rows of `Report.violation_rows`; time is in seconds."""


def error_text(error: Exception) -> str:
    """Return the message of an error; of a system error its reason, after the file if known."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{os.fspath(error.filename)}: {reason}"


def printable(text: str) -> str:
    """Return `text` with "?" for each character that is not printable, such as escape."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return `rows` as CSV: floats with six digits, text such that no spreadsheet evaluates it.

    Text is made printable. Where it could be a formula, an apostrophe comes before it.

    Examples
    --------
    >>> csv_text([("=1+1", -1, 0.5)])
    "'=1+1,-1,0.5\\n"
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def percent(share: float) -> str:
    """Return a share (0 to 1) in percent: one decimal, or two digits below one percent.

    Trailing zeros are kept, so that 0.01 and its floating-point neighbours read the same.
    """
    if share < 1e-6:
        return "0%" if share == 0.0 else "<0.0001%"
    return f"{100.0 * share:.1f}%" if share >= 0.01 else f"{100.0 * share:#.2g}%"


def file_stem(name: str) -> str:
    """Return a name as the stem of a file that any system accepts.

    Examples
    --------
    >>> file_stem("walks/run#2")
    'walks_run_2'
    """
    return re.sub(r"[^\w .()-]+", "_", name).strip(" .")[:MAX_STEM] or "clip"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question with similar names and a space, whatever their case; empty if none is."""
    by_lower = {known_name.lower(): known_name for known_name in known}
    close = [by_lower[match] for match in get_close_matches(str(name).lower(), by_lower)]
    return f"did you mean {' or '.join(close)}? " if close else ""
