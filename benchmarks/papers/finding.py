"""Options and results of reproductions, as tables and as numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from synovia import Clip

Step = Callable[[Sequence[Any]], Iterable[Any]]
"""Iterates over the parts of a job, and may show progress."""


@dataclass(frozen=True)
class Order:
    """Options of a reproduction."""

    quick: bool = False
    """Run a small part, as a smoke test; the figures mean little."""
    clips: tuple[Clip, ...] = ()
    """Captures, of one performer or more, for those that need them."""
    clips_from: str = ""
    """Description of the clips' origin."""
    step: Step = iter


@dataclass(frozen=True)
class Table:
    """Rows of cells under titles."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    """The result of a reproduction: `tables` and `notes` as text, `figures` as numbers."""

    item: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, texts, lists and mappings of them, with the unit at the end of the name."""

    def to_dict(self) -> dict[str, Any]:
        """Return it all, ready for JSON."""
        return {**asdict(self), "figures": dict(self.figures)}


class Result(Protocol):
    """Interface of the results of reproductions."""

    @property
    def finding(self) -> Finding:
        """Tables, notes and numbers."""
        ...


def shortest(run: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest time of several runs after a warm-up, in seconds."""
    run()
    return min(timed(run)[1] for _ in range(repeats))


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of `run`, and its time in seconds."""
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start
