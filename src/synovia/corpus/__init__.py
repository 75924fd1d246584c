"""Corpora of clips: summaries that merge exactly, and limits learned from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .store import ClipEntry, Corpus, Task, TaskOutcome, merge_corpora, pending, status, work
from .summary import (
    CELL,
    Cells,
    Head,
    Summary,
    SummaryOptions,
    load_summary,
    save_summary,
    summarize,
)

if TYPE_CHECKING:
    from .fit import fit_corpus


def __getattr__(name: str) -> Any:
    if name == "fit_corpus":  # imports charts and shapes, which summarising does not need
        from .fit import fit_corpus

        return fit_corpus
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "CELL",
    "Cells",
    "ClipEntry",
    "Corpus",
    "Head",
    "Summary",
    "SummaryOptions",
    "Task",
    "TaskOutcome",
    "fit_corpus",
    "load_summary",
    "merge_corpora",
    "pending",
    "save_summary",
    "status",
    "summarize",
    "work",
]
