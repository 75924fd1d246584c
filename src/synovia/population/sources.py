"""Sources of human limits."""

from collections.abc import Mapping
from typing import Literal, get_args

from ..model.report import Verdict

Source = Literal["human", "possible", "usual", "anatomy"]
SOURCES: tuple[str, ...] = get_args(Source)
"""Both verdicts; each of them alone; published ranges of the default human."""
VERDICTS: Mapping[str, Verdict] = {
    "human": "impossible",
    "possible": "impossible",
    "usual": "unusual",
    "anatomy": "outside",
}
"""Verdicts about poses outside the limits of a source."""
WORDS = {
    "human": "possible and usual",
    "possible": "possible",
    "usual": "usual",
    "anatomy": "published ranges of motion",
}
