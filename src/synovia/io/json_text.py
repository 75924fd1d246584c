"""JSON as people read it: indented, and what is short in one line."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 100
"""Columns of a file, where text and base64 do not need more."""


def json_text(value: Any, indent: int = 0) -> str:
    """Return `value` as JSON, indented by 2, what is short in one line."""
    outer, inner = " " * indent, " " * (indent + 2)
    if isinstance(value, dict) and value:
        members = [f"{inner}{_scalar(key)}: {json_text(value[key], indent + 2)}" for key in value]
        return "{\n" + ",\n".join(members) + f"\n{outer}}}"
    if isinstance(value, list):
        items = [json_text(item, indent + 2) for item in value]
        line = f"[{', '.join(items)}]"
        if "\n" not in line and len(line) <= WIDTH - indent:
            return line
        nested = any(isinstance(item, (dict, list)) for item in value)
        rows = items if nested else _filled(items, WIDTH - indent)
        return "[\n" + ",\n".join(f"{inner}{row}" for row in rows) + f"\n{outer}]"
    return _scalar(value)


def _filled(items: list[str], width: int) -> list[str]:
    """Return rows of as many items as fit."""
    rows = [items[0]]
    for item in items[1:]:
        if len(rows[-1]) + len(item) + 2 <= width:
            rows[-1] += f", {item}"
        else:
            rows.append(item)
    return rows


def _scalar(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
