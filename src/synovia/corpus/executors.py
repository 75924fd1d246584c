"""Running tasks in this process, in other processes, or on a Dask cluster."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from ..processes import process_pool
from .store import TaskOutcome, work

Work = Callable[[str, Any], TaskOutcome]
"""Function of a folder and a task. It must not raise, and must be importable by workers."""
StartExecutor = Callable[[int], AbstractContextManager[Executor]]
"""Function of a number of workers that starts an executor, or returns a running one."""
KILLED = "the process at work on it was killed"


def run(
    folder: str,
    tasks: Sequence[Any],
    work: Work = work,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
) -> Iterator[TaskOutcome]:
    """Yield the outcomes of tasks as they complete.

    They run on the Dask cluster of `scheduler` if one is given, else in `jobs` processes, or in
    this one. A task that kills its process gets an error. Raises ConnectionError
    if the scheduler is lost.
    """
    jobs = min(jobs, len(tasks))
    if not tasks:
        return
    if scheduler:
        with _client(scheduler) as client:
            executor = client.get_executor(pure=False)
            workers = max(len(client.nthreads()), 1)
            try:
                yield from _run_tasks(
                    lambda _jobs: nullcontext(executor), folder, tasks, work, workers, len(tasks)
                )
            except CancelledError:
                raise ConnectionError(
                    f"the scheduler {scheduler} is gone, or dropped its tasks; finished tasks are "
                    "kept: run the same command again"
                ) from None
    elif jobs == 1:
        yield from map(partial(work, folder), tasks)
    else:
        yield from _run_tasks(process_pool, folder, tasks, work, jobs, 2 * jobs)


def _run_tasks(
    start: StartExecutor,
    folder: str,
    tasks: Sequence[Any],
    work: Work,
    workers: int,
    max_in_flight: int,
) -> Iterator[TaskOutcome]:
    """Yield the outcomes of tasks, at most `max_in_flight` at a time.

    If a process dies, all tasks in flight are repeated alone, to find the one that kills it.
    CancelledError passes through.
    """
    left = deque(tasks)
    while left:
        suspects: list[Any] = []
        with start(workers) as executor:
            in_flight: dict[Future[TaskOutcome], Any] = {}
            while in_flight or (left and not suspects):
                while left and not suspects and len(in_flight) < max_in_flight:
                    task = left.popleft()
                    try:
                        in_flight[executor.submit(work, folder, task)] = task
                    except BrokenExecutor:
                        suspects.append(task)
                done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
                for future in done:
                    task = in_flight.pop(future)
                    try:
                        yield future.result()
                    except BrokenExecutor:
                        suspects.append(task)
                    except CancelledError:
                        raise
                    except Exception as error:  # any error of a cluster, such as a dead worker
                        yield TaskOutcome(task, error=f"{KILLED}: {type(error).__name__}")
        for task in suspects:
            with start(1) as executor:
                try:
                    yield executor.submit(work, folder, task).result()
                except BrokenExecutor:
                    yield TaskOutcome(task, error=KILLED)


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    """Connect to a Dask cluster, and print the address of its dashboard."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "a scheduler needs Dask: pip install 'synovia[dask]', or leave --scheduler away"
        ) from None
    with Client(scheduler) as client:
        if client.dashboard_link:
            print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
        yield client
