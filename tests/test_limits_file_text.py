"""Limits files as text: what is no JSON, what only text can hold, and what does not matter."""

from __future__ import annotations

import json

import pytest

from limits_files import SCHEMA, assert_same, refusal, small
from synovia.io import load_limits

WANTED = ': expected a limits file, an object with "format": "synovia-limits", got '
SYNTAX = [
    (b"", ":1: expected JSON (Expecting value), got the end of the file"),
    (b"\n \n", ":3: expected JSON (Expecting value), got the end of the file"),
    (b"[1, 2]", WANTED + "[1, 2]"),
    (b"3", WANTED + "3"),
    (b"null", WANTED + "None"),
    (b"{}", WANTED + "no format"),
    (b'{"format": "other"}', WANTED + "'other'"),
    (b'{"a": 1,\n "a": 2}', ": expected each key once, got 'a' twice"),
    (b'{"a": 1,\n "b": }', ":2: expected JSON (Expecting value), got '}'"),
    (b'{"a": 1,\n\n "b": 2 "c"}', ":3: expected JSON (Expecting ',' delimiter), got '\"c\"}'"),
    (b'{}\n{"b": 3}', ":2: expected JSON (Extra data), got '{\"b\": 3}'"),
    (b'{\n"a\xff"}', ":2: expected UTF-8, got the byte 0xff"),
    ("{}".encode("utf-16"), ":1: expected UTF-8, got the byte 0xff"),
    (b"\x80\x04\x95", ":1: expected UTF-8, got the byte 0x80"),
    (b"[" * 100_000, ": expected at most 64 lists and objects inside each other, got more"),
    (b'{"a":' * 100_000, ": expected at most 64 lists and objects inside each other, got more"),
]


@pytest.mark.parametrize(("content", "message"), SYNTAX, ids=range(len(SYNTAX)))
def test_what_is_not_a_limits_file_is_said_to_be_none(tmp_path, content, message):
    assert refusal(tmp_path, content).startswith(message)


WRITTEN = [
    ('"version": 2', '"version": 2, "version": 2', ": expected each key once, got 'version' twice"),
    ('"note": ', '"note": 1, "note": ', ": provenance: expected each key once, got 'note' twice"),
    (
        "[-1.0, -0.5, -0.0]",
        "[-1.0, -1e999, -0.0]",
        ": limits.knee.shape.low[1]: expected a finite number, got -inf",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[-1.0, NaN, -0.0]",
        ": limits.knee.shape.low[1]: expected a finite number, got nan",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[" + "9" * 5000 + "]",
        ": limits.knee.shape.low[0]: expected a finite number, got inf",
    ),
    (
        "[-1.0, -0.5, -0.0]",
        "[" + "9" * 290 + "]",
        ": limits.knee.shape.low[0]: expected a finite number, got one",
    ),
    ("[-1.0, -0.5, -0.0]", "[-01.0]", ":"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRITTEN)
def test_what_only_text_can_hold_is_named_too(document, tmp_path, old, new, message):
    assert old in document
    assert refusal(tmp_path, document.replace(old, new, 1)).startswith(message)


def test_truncated_files_are_refused(document, tmp_path):
    content = document.strip().encode()
    for end in range(0, len(content), 97):
        assert "expected" in refusal(tmp_path, content[:end])


def test_a_byte_order_mark_and_other_line_ends_do_not_matter(document, tmp_path):
    path = tmp_path / "A.LIMITS.JSON"
    path.write_bytes(b"\xef\xbb\xbf" + document.replace("\n", "\r\n").encode())
    assert_same(load_limits(path), small())


def test_whole_numbers_do_for_others(document, tmp_path):
    path = tmp_path / "a.limits.json"
    path.write_text(document.replace("[-1.0, -0.5, -0.0]", "[-1, -1, 0]"), encoding="utf-8")
    assert load_limits(path).limits["knee"].shape.low.tolist() == [-1.0, -1.0, 0.0]


def test_a_newer_version_asks_for_an_upgrade(document, tmp_path):
    newer = json.loads(document) | {"version": 7, "limits": "of another kind"}
    assert not SCHEMA.is_valid(newer)
    assert refusal(tmp_path, json.dumps(newer)) == (
        ": this is version 7 of the format, and this Synovia reads version 2; "
        "upgrade Synovia to read it"
    )
