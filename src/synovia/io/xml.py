"""XML as a tree whose elements know their lines; nothing from outside, nothing hidden."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from ..arrays import Floats, Vectors

MAX_DEPTH = 8  # elements within elements; ours have five
_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?inf", re.ASCII)


@dataclass(eq=False)
class Element:
    """An element: its name, attributes, children, text, and where it begins."""

    path: str
    line: int
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def fail(self, rule: str) -> NoReturn:
        """Raise ValueError with path and line."""
        raise ValueError(f"{self.path}:{self.line}: {rule}")

    def read(self, *known: str) -> dict[str, str]:
        """Return the attributes; only the `known` ones are allowed, those with `!` required."""
        names = [name.rstrip("!") for name in known]
        for name in self.attributes:
            if name not in names:
                self.fail(f"<{self.tag}> has the attributes {', '.join(names)}, got {name!r}")
        for name in known:
            if name.endswith("!") and name[:-1] not in self.attributes:
                self.fail(f"<{self.tag}> must have the attribute {name[:-1]!r}, got none")
        return self.attributes

    def parts(self, *known: str) -> list[Element]:
        """Return the children; only tags in `known` are allowed."""
        for child in self.children:
            if child.tag not in known:
                child.fail(
                    f"<{self.tag}> may hold {', '.join(known) or 'nothing'}, got <{child.tag}>"
                )
        if self.text.strip():
            self.fail(f"<{self.tag}> must have no text of its own, got {self.text.strip()!r:.40}")
        return self.children

    def parts_by(self, attribute: str, *tags: str) -> dict[str, Element]:
        """Return the children with these tags by an attribute, which must differ."""
        parts: dict[str, Element] = {}
        for child in self.children:
            key = child.attributes.get(attribute, "")
            if child.tag in tags and key in parts:
                child.fail(f"<{child.tag}> {attribute} must differ, got {key!r} twice")
            if child.tag in tags:
                parts[key] = child
        return parts

    def number(self, text: str) -> float:
        """Return the number that `text`, of this element, means."""
        if not _NUMBER.fullmatch(text.strip()):
            self.fail(f"expected a number, got {text.strip()!r:.40}")
        return float(text)

    def numbers(self, text: str, shape: tuple[int, ...] | None = None) -> Floats:
        """Return the numbers in `text`, in this shape; unless it is given, in a row."""
        numbers = [self.number(word) for word in text.split()]
        if shape is not None and math.prod(shape) != len(numbers):
            self.fail(f"expected {' × '.join(map(str, shape)) or 1} numbers, got {len(numbers)}")
        return np.array(numbers, dtype=np.float64).reshape(-1 if shape is None else shape)

    def child(self, tag: str) -> Element | None:
        """Return the last child with a tag; None if there is none."""
        return next((child for child in reversed(self.children) if child.tag == tag), None)

    def below(self, *tags: str) -> Iterator[Element]:
        """Yield the elements with these tags below this one, depth first."""
        for child in self.children:
            if child.tag in tags:
                yield child
            yield from child.below(*tags)

    def vector(self, tag: str, attribute: str = "", default: str = "0 0 0") -> Vectors:
        """Return three numbers in an attribute of the child with a tag, or in its text.

        The numbers are those of `default` if the child or the attribute is missing.
        """
        child = self.child(tag)
        if child is None:
            return self.numbers(default, (3,))
        text = child.attributes.get(attribute, default) if attribute else child.text
        return child.numbers(text, (3,))

    @contextmanager
    def locate_errors(self, *parts: Mapping[str, Element]) -> Iterator[None]:
        """Give errors of what is made from this element a path and a line: its own, or a part's.

        That is the first of the `parts`, by name, whose name the error quotes.
        """
        try:
            yield
        except ValueError as error:
            if str(error).startswith(f"{self.path}:"):  # has a line already
                raise
            named = (each for table in parts for each in table.items())
            guilty = (part for name, part in named if repr(name) in str(error))
            next(guilty, self).fail(str(error))


def parse_xml(path: str, content: bytes, depth: int = MAX_DEPTH) -> Element:
    """Return the root element of the XML in `content`; entities and DOCTYPE are refused.

    Elements may be within each other up to `depth`.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[Element] = []
    roots: list[Element] = []

    def refuse(what: str) -> NoReturn:
        raise ValueError(f"{path}:{parser.CurrentLineNumber}: {what} is not allowed here")

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(path, parser.CurrentLineNumber, tag, attributes)
        if len(stack) >= depth:
            element.fail(f"expected at most {depth} elements within each other, got more")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def text(content: str) -> None:
        stack[-1].text += content

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a DOCTYPE")
    parser.EntityDeclHandler = lambda *_: refuse("an entity")
    parser.ExternalEntityRefHandler = lambda *_: refuse("an external entity")
    parser.ProcessingInstructionHandler = lambda *_: refuse("a processing instruction")
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        words = expat.errors.messages[error.code]
        raise ValueError(f"{path}:{error.lineno}: expected well-formed XML, got {words}") from None
    except (LookupError, ValueError) as error:
        if str(error).startswith(f"{path}:"):  # raised by a handler
            raise
        raise ValueError(f"{path}:1: expected an encoding that is known, got {error}") from None
    return roots[0]


def format_element(element: Element, indent: int = 0) -> str:
    """Return the text of an element, two spaces for each level."""
    from xml.sax.saxutils import escape, quoteattr  # slow to import, and not needed to read

    space = " " * indent
    attributes = "".join(f" {name}={quoteattr(v)}" for name, v in element.attributes.items())
    if element.children:
        inner = "".join(format_element(child, indent + 2) for child in element.children)
        return f"{space}<{element.tag}{attributes}>\n{inner}{space}</{element.tag}>\n"
    if element.text:
        return f"{space}<{element.tag}{attributes}>{escape(element.text)}</{element.tag}>\n"
    return f"{space}<{element.tag}{attributes}/>\n"


def make_element(tag: str, *content: Element | str, **attributes: str) -> Element:
    """Return an element to be written; its content are elements, or one text."""
    children = [part for part in content if isinstance(part, Element)]
    text = "".join(part for part in content if isinstance(part, str))
    return Element("", 0, tag, attributes, children, text)


def format_numbers(numbers: Floats) -> str:
    """Return numbers as text that gives the same numbers again."""
    return " ".join(repr(float(number)) for number in np.ravel(numbers))
