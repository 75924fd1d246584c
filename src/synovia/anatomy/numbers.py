"""The numbers of the human, from the data files, each of which says where they come from."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

REFERENCE_HEIGHT = 1.75
"""Metres: lengths in millimetres in the data files are those of a person so tall."""


@cache
def numbers(name: str) -> dict[str, Any]:
    """Return the tables of the data file `name`.toml; not to be changed."""
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def millimetres(height: float) -> float:
    """Return what a millimetre of the data files is, in metres, for a person of this height."""
    return 1e-3 * height / REFERENCE_HEIGHT
