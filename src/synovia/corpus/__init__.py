"""Corpora of clips: summaries that merge exactly, and limits learned from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_getattr
from .store import ClipEntry, Corpus, Task, TaskOutcome, merge_corpora, pending, work
from .summary import Cells, Summary, SummaryOptions, load_summary, save_summary, summarize

if TYPE_CHECKING:
    from .fit import fit_corpus

# Imports charts and shapes, which summarising does not need.
__getattr__ = lazy_getattr(__name__, {"fit": ["fit_corpus"]})

__all__ = [
    "Cells",
    "ClipEntry",
    "Corpus",
    "Summary",
    "SummaryOptions",
    "Task",
    "TaskOutcome",
    "fit_corpus",
    "load_summary",
    "merge_corpora",
    "pending",
    "save_summary",
    "summarize",
    "work",
]
