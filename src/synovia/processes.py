"""Processes to work in, beside this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

BLAS_THREADS = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Matrices are small: threads of NumPy's algebra take a tenth of a second to start, and those of
several processes wait for each other. Who sets another number is heeded."""


def limit_blas_threads() -> None:
    """Give NumPy's algebra one thread: here if NumPy is not imported yet, and in new processes.

    It changes the environment of this process, unless that says how many.
    """
    for name, threads in BLAS_THREADS.items():
        os.environ.setdefault(name, threads)


@contextmanager
def process_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give so many processes to work in; if what is done with them is left early, they are ended.

    An interrupt is for this process alone. While they are there, the environment is as
    `limit_blas_threads` makes it: this is not for several threads at once.
    """
    import multiprocessing
    import signal
    from concurrent.futures import ProcessPoolExecutor

    added = BLAS_THREADS.keys() - os.environ.keys()
    limit_blas_threads()  # processes start when there is something to do
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        for name in added:
            os.environ.pop(name, None)
    pool.shutdown()
