"""Sources of human limits."""

from typing import Literal, get_args

Source = Literal["human", "people", "anatomy"]
SOURCES: tuple[str, ...] = get_args(Source)
"""The intersection of the other two; motion capture of people; published ranges of motion."""
WORDS = {
    "human": "66 people and anatomy",
    "people": "what 66 people did",
    "anatomy": "published ranges of motion",
}
