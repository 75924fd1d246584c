"""MJCF as one tree of elements: includes resolved, files and sizes checked."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from .files import read_file
from .xml import Element, parse_xml

MAX_DEPTH = 200  # bodies within bodies; a human has fewer than 20
MAX_COPIES = 3000  # elements made by counts; MuJoCo's time grows with their square, a second here
_COPIED = ("replicate", "composite", "flexcomp")
_OPENED = ("model", "flexcomp")  # MuJoCo opens the files of these while it parses


def read_mjcf_tree(path: Path) -> Element:
    """Return the root of the MJCF file at `path`, with the contents of files that it includes.

    An element keeps the path and the line that it was read from. As in MuJoCo, an included file is
    searched from the folder of the file at `path`, then from that of the file that includes it, and
    is included once. ValueError if it is outside of the folder of the file at `path`, if an element
    needs another file, or if counts make more than `MAX_COPIES` elements.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "mujoco":
        root.fail(f"expected <mujoco>, got <{root.tag}>")
    tree = replace(root, text="", children=_expand(root, path.parent, {path.resolve()}, 1))
    _count_elements(tree)
    return tree


def _expand(element: Element, folder: Path, included: set[Path], depth: int) -> list[Element]:
    """Return the children of an element, with the children of the roots of files that it includes.

    `folder` is that of the main file. The files that were read are added to `included`.
    """
    children: list[Element] = []
    for child in element.children:
        if depth >= MAX_DEPTH:
            child.fail(f"expected at most {MAX_DEPTH} elements within each other, got more")
        if child.tag in _OPENED and "file" in child.attributes:
            child.fail(f"<{child.tag}> must have no file, got {child.attributes['file']!r:.80}")
        if child.tag == "include":
            path = _included_path(child, folder)
            if path.resolve() in included:
                child.fail(f"a file must be included once, got {path.name!r:.80} again")
            included.add(path.resolve())
            root = parse_xml(str(path), read_file(path), MAX_DEPTH)
            children += _expand(root, folder, included, depth + 1)
        else:
            below = _expand(child, folder, included, depth + 1)
            children.append(replace(child, text="", children=below))
    return children


def _included_path(include: Element, folder: Path) -> Path:
    if "file" not in include.attributes:
        include.fail("<include> must have the attribute 'file', got none")
    name = include.attributes["file"]
    paths = [folder / name, Path(include.path).parent / name]
    path = next((each for each in paths if each.exists()), paths[0])
    if not path.resolve().is_relative_to(folder.resolve()):
        include.fail(f"an included file must be in the folder of the model, got {name!r:.80}")
    return path


def _count_elements(element: Element) -> tuple[int, float]:
    """Return the number of elements of a tree, as written and with the copies that counts make."""
    sizes = [(1, 1.0), *map(_count_elements, element.children)]
    written, expanded = sum(size for size, _ in sizes), sum(size for _, size in sizes)
    if element.tag in _COPIED and "count" in element.attributes:
        expanded *= max(math.prod(element.numbers(element.attributes["count"]).tolist()), 1.0)
    if expanded - written > MAX_COPIES:
        element.fail(
            f"counts must make at most {MAX_COPIES} elements, got {expanded - written:.0f}"
        )
    return written, expanded
