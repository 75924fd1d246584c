"""Where limits of a human come from: the names that people type."""

from typing import Literal, get_args

Source = Literal["human", "people", "anatomy"]
SOURCES: tuple[str, ...] = get_args(Source)
"""Both together; what people did; what anatomy says."""
WORDS = {
    "human": "66 people and anatomy",
    "people": "what 66 people did",
    "anatomy": "published ranges of motion",
}
