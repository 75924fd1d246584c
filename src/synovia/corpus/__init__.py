"""Whole corpora: clips in little, which merge exactly; limits from them; any number of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .store import Corpus, Entry, Outcome, Task, merge_corpora, pending, status, work
from .summary import (
    CELL,
    Cells,
    Head,
    Summary,
    SummaryOptions,
    load_summary,
    merge,
    save_summary,
    summarize,
)

if TYPE_CHECKING:
    from .fit import fit_corpus


def __getattr__(name: str) -> Any:
    if name == "fit_corpus":  # needs charts and shapes, which workers that summarise do not
        from .fit import fit_corpus

        return fit_corpus
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "CELL",
    "Cells",
    "Corpus",
    "Entry",
    "Head",
    "Outcome",
    "Summary",
    "SummaryOptions",
    "Task",
    "fit_corpus",
    "load_summary",
    "merge",
    "merge_corpora",
    "pending",
    "save_summary",
    "status",
    "summarize",
    "work",
]
