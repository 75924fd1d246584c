"""Findings: what a reproduction is asked for, and what it says, as tables and as numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from synovia import Clip

Step = Callable[[Sequence[Any]], Iterable[Any]]
"""Gives back the parts of a job one by one, and may show how far that has come."""


@dataclass(frozen=True)
class Order:
    """What a reproduction is asked for."""

    quick: bool = False
    """Only so much that it is seen to work; its figures mean little."""
    clips: tuple[Clip, ...] = ()
    """Captures, of one performer or more, for those that need them."""
    clips_from: str = ""
    """Where the clips are from, in words."""
    step: Step = iter


@dataclass(frozen=True)
class Table:
    """Rows of cells under titles."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    """What was found: `tables` and `notes` to read, `figures` to reckon with."""

    item: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, texts, lists and mappings of them, with the unit at the end of the name."""

    def to_dict(self) -> dict[str, Any]:
        """Return it all, ready for JSON."""
        return {**asdict(self), "figures": dict(self.figures)}


class Result(Protocol):
    """What every reproduction returns: a finding, and whatever pictures of it need."""

    @property
    def finding(self) -> Finding:
        """Tables, notes and numbers."""
        ...


def shortest(run: Callable[[], Any], repeats: int = 3) -> float:
    """Return the seconds of the quickest of several runs, after one warm-up run."""
    run()
    return min(timed(run)[1] for _ in range(repeats))


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of `run`, and the seconds that it took."""
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start
