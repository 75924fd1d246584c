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
BATCHES, MAX_BATCH = 20, 16  # batches per worker, so that all end together; tasks per batch
LOCAL = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}
"""Settings of a local cluster. By default, workers profile themselves 100 times a second, and
return memory to the system after each array, which makes the work 1.5 times slower."""
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

    They run on the Dask cluster of `scheduler` if one is given ("local" starts one), else in `jobs`
    processes, or in this one. A task that kills its process gets an error. Raises ConnectionError
    if the scheduler is lost.
    """
    jobs = min(jobs, len(tasks))
    if not tasks:
        return
    if scheduler:
        with _client(scheduler, jobs) as client:
            executor = client.get_executor(pure=False)
            workers = max(len(client.nthreads()), 1)
            try:
                yield from _run_batches(
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
        yield from _run_batches(process_pool, folder, tasks, work, jobs, 2 * jobs)


def _run_batches(
    start: StartExecutor,
    folder: str,
    tasks: Sequence[Any],
    work: Work,
    workers: int,
    max_in_flight: int,
) -> Iterator[TaskOutcome]:
    """Yield the outcomes of tasks, which run in batches, at most `max_in_flight` at a time.

    Batches that fail are repeated task by task. CancelledError passes through.
    """
    size = min(max(len(tasks) // (BATCHES * workers), 1), MAX_BATCH)
    left = deque(tasks[k : k + size] for k in range(0, len(tasks), size))
    while left:
        failed: list[tuple[Sequence[Any], Exception]] = []
        with start(workers) as executor:
            in_flight: dict[Future[list[TaskOutcome]], Sequence[Any]] = {}
            while in_flight or (left and not failed):
                while left and not failed and len(in_flight) < max_in_flight:
                    batch = left.popleft()
                    try:
                        in_flight[executor.submit(_work_batch, folder, batch, work)] = batch
                    except BrokenExecutor as error:
                        failed.append((batch, error))
                done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
                for future in done:
                    batch = in_flight.pop(future)
                    try:
                        yield from future.result()
                    except CancelledError:
                        raise
                    except Exception as error:  # a dead worker, or any error of a cluster
                        failed.append((batch, error))
        for batch, reason in failed:
            if len(batch) > 1:
                left.extendleft([task] for task in batch)
            elif isinstance(reason, BrokenExecutor):  # any task in flight may have broken it
                yield _run_alone(start, folder, batch[0], work)
            else:
                yield TaskOutcome(batch[0], error=f"{KILLED}: {type(reason).__name__}")


def _run_alone(start: StartExecutor, folder: str, task: Any, work: Work) -> TaskOutcome:
    with start(1) as executor:
        try:
            return executor.submit(work, folder, task).result()
        except BrokenExecutor:
            return TaskOutcome(task, error=KILLED)


def _work_batch(folder: str, tasks: Sequence[Any], work: Work) -> list[TaskOutcome]:
    return [work(folder, task) for task in tasks]


@contextmanager
def _client(scheduler: str, jobs: int) -> Iterator[Any]:
    """Connect to a Dask cluster, and print the address of its dashboard."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "a scheduler needs Dask: pip install 'synovia[dask]', or leave --scheduler away"
        ) from None
    with (
        local_cluster(jobs) if scheduler == "local" else nullcontext(scheduler) as cluster,
        Client(cluster) as client,
    ):
        if client.dashboard_link:
            print(f"dashboard: {client.dashboard_link}", file=sys.stderr)
        yield client


@contextmanager
def local_cluster(jobs: int) -> Iterator[Any]:
    """Start a local Dask cluster of `jobs` workers with one thread each."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set(LOCAL),
        LocalCluster(
            n_workers=jobs, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
    ):
        yield cluster
