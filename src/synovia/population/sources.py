"""Sources of human limits."""

from typing import Literal, get_args

Source = Literal["human", "people", "anatomy", "possible"]
SOURCES: tuple[str, ...] = get_args(Source)
"""Intersection of people and anatomy; motion capture; the default human; what anatomy allows."""
WORDS = {
    "human": "66 people and anatomy",
    "people": "what 66 people did",
    "anatomy": "published ranges of motion",
    "possible": "what anatomy lets a healthy adult do",
}
