"""The page's protocol: both sides have the same types, and answers are made as it says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from synovia.view import protocol
from synovia.view.answers import HANDLERS
from synovia.view.editing import MODEL_EDITS, WHOLE_EDITS
from synovia.view.limit_edits import LIMIT_EDITS
from synovia.view.protocol import requests

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
GENERATOR = runpy.run_path(str(WEB / "protocol.py"))


def test_everything_that_may_be_asked_for_has_types():
    assert set(get_type_hints(protocol.Requests)) == set(HANDLERS)
    assert set(get_type_hints(protocol.Answers)) == set(HANDLERS)


@pytest.mark.parametrize("ask", HANDLERS)
def test_answers_are_made_as_the_protocol_says(ask):
    hints = get_type_hints(HANDLERS[ask])
    assert hints["request"] == get_type_hints(protocol.Requests)[ask]
    assert hints["return"] == get_type_hints(protocol.Answers)[ask]


def test_every_edit_has_a_request():
    edits = [get_type_hints(edit)["edit"] for edit in get_args(requests.Edit)]
    assert {get_args(edit)[0] for edit in edits} == {*LIMIT_EDITS, *WHOLE_EDITS, *MODEL_EDITS}


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("class A(TypedDict):\n    x: list[int] | None", "interface A {\n  x: number[] | null;\n}"),
        (
            "class A(B, C):\n    x_deg: bool = False",
            "interface A extends B, C {\n  xDeg?: boolean;\n}",
        ),
        ("class A(B):\n    '''Same.'''", "/** Same. */\nexport type A = B;"),
        ("class A:\n    pass", "type A = Record<string, never>;"),
        ("class A:\n    from_: dict[str, float]", "{\n  from: Record<string, number>;\n}"),
        (
            "class A:\n    x: Annotated[float, Within(0, 1)]\n    '''It.'''",
            "  /** It. */\n  x: number;",
        ),
        ("class A(B):\n    x: Annotated[C, FLAT]", "type A = B & C;"),
        ("A = B | Literal['y', 2.5, True]", 'type A = B | "y" | 2.5 | true;'),
    ],
)
def test_types_are_written_as_typescript_has_them(python, expected):
    assert expected in GENERATOR["typescript"](python)


def test_types_without_a_counterpart_are_refused():
    with pytest.raises(ValueError, match=r"no TypeScript is known for set\[int\]"):
        GENERATOR["typescript"]("class A(TypedDict):\n    x: set[int]")
