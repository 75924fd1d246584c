"""XML of exported bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from ..io.xml import Element, format_element, make_element


def element(tag: str, *content: Any, **attributes: Any) -> Element:
    """Return an element; content and attributes may be numbers, content also elements.

    A name of an attribute that is a keyword of Python ends in _.
    """
    parts = [part if isinstance(part, Element) else text_of(part) for part in content]
    texts = {name.rstrip("_"): text_of(value) for name, value in attributes.items()}
    return make_element(tag, *parts, **texts)


def text_of(value: str | float | Floats | Sequence[float]) -> str:
    """Return a text as it is, and numbers with all digits, separated by spaces."""
    if isinstance(value, str):
        return value
    return " ".join(repr(float(number) + 0.0) for number in np.ravel(value))  # without -0.0


def document_text(root: Element, comments: Iterable[str]) -> str:
    """Return a document with comments before its root."""
    lines = [f"<!-- {comment_text(comment)} -->\n" for comment in comments]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(lines)}{format_element(root)}'


def comment_text(text: str) -> str:
    """Return text that may be in an XML comment."""
    return text.replace("--", "- -").rstrip("-")
