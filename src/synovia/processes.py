"""Processes to work in, beside this one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

BLAS_THREADS = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Matrices are small: threads of NumPy's algebra take a tenth of a second to start, and those of
several processes wait for each other. A number that is already set is kept."""
SECONDS_TO_CLEAN = 0.5  # for a terminated process to delete its temporary files
SECONDS_TO_END = 5.0  # for which such a process is waited for

_SEARCH = """
import json, re, sys
pattern, texts = json.load(sys.stdin)
matches = [re.search(pattern, text) for text in texts]
json.dump([match and match[1] for match in matches], sys.stdout)
"""


def search_texts(pattern: str, texts: Sequence[str], seconds: float) -> list[str | None]:
    """Return what the first group of `pattern` matches in each of `texts`, None where nothing.

    The search runs in a process of its own, because no thread can stop a regular expression that
    backtracks without end. TimeoutError where it takes more than `seconds`.
    """
    import json
    import subprocess
    import sys

    command = [sys.executable, "-I", "-S", "-c", _SEARCH]
    asked = json.dumps([pattern, list(texts)])
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, check=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"pattern {pattern!r} takes more than {seconds:g} s") from None
    found: list[str | None] = json.loads(done.stdout)
    return found


def limit_blas_threads() -> None:
    """Give NumPy's algebra one thread: here if NumPy is not imported yet, and in new processes.

    It changes the environment of this process, unless that says how many.
    """
    for name, threads in BLAS_THREADS.items():
        os.environ.setdefault(name, threads)


def _set_signals() -> None:
    """Let a process of a pool ignore interrupts, and delete its temporary files when terminated."""
    import signal
    import threading

    def leave(number: int, frame: object) -> None:
        # A pool catches what a task raises and waits for more work, so that the exit is forced.
        forced = threading.Timer(SECONDS_TO_CLEAN, os._exit, (128 + number,))
        forced.daemon = True
        forced.start()
        raise SystemExit(128 + number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)


@contextmanager
def process_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give so many processes to work in; if what is done with them is left early, they are ended.

    An interrupt is for this process alone. While they are there, the environment is as
    `limit_blas_threads` makes it: this is not for several threads at once.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    added = BLAS_THREADS.keys() - os.environ.keys()
    limit_blas_threads()  # processes start when there is something to do
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, _set_signals)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        started = set(multiprocessing.active_children()) - others
        for process in started:
            process.terminate()
        for process in started:
            process.join(SECONDS_TO_END)
        raise
    finally:
        for name in added:
            os.environ.pop(name, None)
    pool.shutdown()
