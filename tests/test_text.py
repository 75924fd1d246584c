"""Percentages, and text from files on its way to terminals and spreadsheets."""

from __future__ import annotations

import ast
import csv
import math
from pathlib import Path

import pytest

import synovia
from synovia.text import csv_text, percent, printable

SOURCE = Path(synovia.__file__).parent


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\uff1d1", "'\uff1d1"),
        ("\tTab", "?Tab"),
        ("two\r\nlines", "two??lines"),
        ("\x1b[2J", "?[2J"),
        ("\udcff", "?"),
        ('a, "b" - c', 'a, "b" - c'),
    ],
)
def test_text_is_no_formula_and_numbers_stay_numbers(name, cell):
    (row,) = csv.reader(csv_text([(name, -1, -0.5)]).splitlines())
    assert row == [cell, "-1", "-0.5"]


def test_printable_text_stays_as_it_is():
    assert printable("Größe 左腕 - é") == "Größe 左腕 - é"


def test_tables_are_written_in_one_place():
    """Clips as CSV are no tables for people: they must come back bit for bit."""
    writers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "csv.writer"
    }
    assert writers == {"text.py", "io/tables.py"}


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1e-9, "<0.0001%"),
        (1e-6, "0.00010%"),
        (0.005, "0.50%"),
        (0.01, "1.0%"),
        (0.1234, "12.3%"),
        (1.0, "100.0%"),
    ],
)
def test_percent_has_a_fixed_number_of_digits(share, text):
    assert percent(share) == text


@pytest.mark.parametrize("share", [0.005, 0.01, 0.1, 1.0])
def test_the_last_bit_of_a_share_does_not_change_its_digits(share):
    assert percent(math.nextafter(share, 0.0)) == percent(share) == percent(share + 1e-16)
