"""Whole corpora: clips in little, which merge exactly; limits from them; any number of workers."""

from .fit import fit_corpus
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
