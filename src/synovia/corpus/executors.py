"""Executors: tasks run in this process, in other processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..processes import process_pool
from .store import Outcome, work

Work = Callable[[str, Any], Outcome]
"""Function of a folder and a task. It must not raise, and must be importable by workers."""
BATCHES, MAX_BATCH = 20, 16  # batches per worker, so that all end together; tasks per batch
RETRIES = 2  # of a batch on a cluster whose worker died
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
) -> Iterator[Outcome]:
    """Yield the outcomes of tasks as they complete.

    They run on the Dask cluster of `scheduler` if one is given ("local" starts one), else in `jobs`
    processes, or in this one.
    """
    if not tasks:
        return iter(())
    if scheduler:
        return run_dask(folder, tasks, scheduler, jobs, work)
    if jobs == 1 or len(tasks) == 1:
        return run_here(folder, tasks, work)
    return run_processes(folder, tasks, min(jobs, len(tasks)), work)


def run_here(folder: str, tasks: Sequence[Any], work: Work = work) -> Iterator[Outcome]:
    """Yield the outcomes of tasks that run in this process, in order."""
    yield from map(partial(work, folder), tasks)


def run_processes(
    folder: str, tasks: Sequence[Any], jobs: int, work: Work = work
) -> Iterator[Outcome]:
    """Yield the outcomes of tasks as they complete in `jobs` processes.

    If a process dies, the batches in flight are repeated task by task. If one dies again, the tasks
    in flight are repeated alone, and the one that kills its process gets an error.
    """
    left = batches_of(tasks, jobs)
    while left:
        suspects: list[Sequence[Any]] = []
        with process_pool(jobs) as pool:
            waiting = iter(left)
            in_flight: dict[Future[list[Outcome]], Sequence[Any]] = {}
            broken = False
            while True:
                while not broken and len(in_flight) < 2 * jobs and (batch := next(waiting, None)):
                    try:
                        in_flight[pool.submit(_work_batch, folder, batch, work)] = batch
                    except BrokenProcessPool:
                        broken = True
                        suspects.append(batch)
                if not in_flight:
                    break
                done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
                for future in done:
                    batch = in_flight.pop(future)
                    try:
                        yield from future.result()
                    except BrokenProcessPool:
                        broken = True
                        suspects.append(batch)
            left = list(waiting) if broken else []
        for batch in suspects:
            if len(batch) == 1:
                yield _run_alone(folder, batch[0], work)
            left = [[task] for task in batch if len(batch) > 1] + left


def batches_of(tasks: Sequence[Any], workers: int) -> list[Sequence[Any]]:
    """Return the tasks in batches, which reduces the overhead per task."""
    size = min(max(len(tasks) // (BATCHES * workers), 1), MAX_BATCH)
    return [tasks[k : k + size] for k in range(0, len(tasks), size)]


def _run_alone(folder: str, task: Any, work: Work) -> Outcome:
    with process_pool(1) as pool:
        try:
            return pool.submit(work, folder, task).result()
        except BrokenProcessPool:
            return Outcome(task, error=KILLED)


def run_dask(
    folder: str, tasks: Sequence[Any], scheduler: str, jobs: int, work: Work = work
) -> Iterator[Outcome]:
    """Yield the outcomes of tasks as they complete on a Dask cluster; "local" starts one.

    If a batch kills its worker, its tasks are repeated one by one.
    """
    with _client(scheduler, jobs) as client:
        from distributed import as_completed

        print_link(client)
        batches = {
            client.submit(_work_batch, folder, part, work, retries=RETRIES, pure=False): part
            for part in batches_of(tasks, max(len(client.nthreads()), 1))
        }
        completed = as_completed(batches)
        for future in completed:
            part = batches.pop(future)
            try:
                yield from future.result()
            except CancelledError:
                raise ConnectionError(
                    f"the scheduler {scheduler} is gone, or dropped what it had to do; what was "
                    "done is kept: run the same command again"
                ) from None
            except Exception as error:  # a worker that died, or whatever a cluster may raise
                if len(part) == 1:
                    yield Outcome(part[0], error=f"{KILLED}: {type(error).__name__}")
                for task in part if len(part) > 1 else ():
                    again = client.submit(_work_batch, folder, [task], work, pure=False)
                    batches[again] = [task]
                    completed.add(again)


def _work_batch(folder: str, tasks: Sequence[Any], work: Work) -> list[Outcome]:
    return [work(folder, task) for task in tasks]


def print_link(client: Any) -> None:
    """Print the address of the cluster's dashboard."""
    import sys

    if link := client.dashboard_link:
        print(f"dashboard: {link}", file=sys.stderr)


@contextmanager
def _client(scheduler: str, jobs: int) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "a scheduler needs Dask: pip install 'synovia[dask]', or leave --scheduler away"
        ) from None
    if scheduler != "local":
        with Client(scheduler) as client:
            yield client
        return
    with local_cluster(jobs) as cluster, Client(cluster) as client:
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
