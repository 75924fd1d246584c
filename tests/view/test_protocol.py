"""The page's protocol: both sides have the same types, and edits are requests."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from synovia.view.answers import HANDLERS
from synovia.view.editing import Edit
from synovia.view.limit_edits import ModelEdit

ROOT = Path(__file__).parents[2]
GENERATOR = runpy.run_path(str(ROOT / "web" / "protocol.py"))


def test_every_request_has_types():
    protocol = GENERATOR["read_protocol"]()
    assert [*protocol.requests] == [*protocol.answers] == [*HANDLERS]
    for ask, handler in HANDLERS.items():
        kind = get_type_hints(handler)["request"].__name__
        assert ast.unparse(protocol.requests[ask]) == kind
        assert kind in protocol.classes


def test_every_edit_can_be_requested():
    def leaves(kind):
        known = kind.__subclasses__()
        return {leaf for each in known for leaf in leaves(each)} if known else {kind}

    assert leaves(ModelEdit) == set(get_args(Edit))


DECLARED = "@dataclass(frozen=True)\nclass B:\n    b: int\n"


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("class A:\n    x: list[int] | None", "interface A {\n  x: number[] | null;\n}"),
        (
            DECLARED + "class A(B):\n    x_deg: bool = False",
            "interface A extends B {\n  xDeg?: boolean;\n}",
        ),
        (DECLARED + "class A(B):\n    '''Same.'''", "/** Same. */\nexport type A = B;"),
        ("class A:\n    pass", "type A = Record<string, never>;"),
        ("class B:\n    b: int\nclass A(B):\n    x: int", "interface A {\n  x: number;\n}"),
        ("class A:\n    from_: dict[str, float]", "{\n  from: Record<string, number>;\n}"),
        (
            "class A:\n    x: Annotated[float, Within(0, 1)]\n    '''It.'''",
            "  /** It. */\n  x: number;",
        ),
        ("class A:\n    x: Annotated[C, FLAT]", "type A = C;"),
        ("A = B | Literal['y', 2.5, True]", 'type A = B | "y" | 2.5 | true;'),
    ],
)
def test_types_are_written_as_typescript_has_them(python, expected):
    protocol = GENERATOR["Protocol"]()
    protocol.declare(python)
    assert expected in GENERATOR["declaration"](protocol, "A")


def test_types_without_a_counterpart_are_refused():
    protocol = GENERATOR["Protocol"]()
    protocol.declare("class A:\n    x: set[int]")
    with pytest.raises(ValueError, match=r"no TypeScript is known for set\[int\]"):
        GENERATOR["declaration"](protocol, "A")
