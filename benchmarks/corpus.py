"""Measure corpora: time a frame, speed-up by workers, and memory; and `synovia compare`.

    python benchmarks/corpus.py CLIPS [--people TABLE] [--reject]

CLIPS is a directory, such as CMU's captures as BVH. Who performs stands before the first `_` of a
name, or in a table with the columns clip and performer. Processor seconds, but for the ratios of
workers, which are of the time on the wall, and on shared machines say less than those beside them.
A comparison is timed where CLIPS has `ROM`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synovia.cli.clips import clip_files, performers_by_clip
from synovia.corpus import Corpus, SummaryOptions, Task
from synovia.corpus.executors import run
from synovia.processes import BLAS_THREADS

ROM = ("118_32", "132_52", "93_02")
"""Range-of-motion clips of three people, on which all families are compared."""
FEW = 100
"""Number of clips whose memory use is compared with that of all clips."""
ALONE = BLAS_THREADS | os.environ
"""Environment of a single process: as many threads as each of several workers has."""


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("clips")
    given.add_argument("--people", help="a table with the columns clip and performer")
    given.add_argument("--reject", action="store_true", help="also fit for 0.5%% rejected")
    options = given.parse_args()
    tasks = tasks_of(options.clips, options.people)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = in_own_process(folder / "few", options.clips, options.people, FEW)
        one = in_own_process(folder / "one", options.clips, options.people, len(tasks))
        frames = one["frames"]
        say(f"{len(tasks)} clips, {frames} frames")
        say(f"reading and summarising {1e6 * one['processor'] / frames:6.1f} µs a frame")
        more, whole = one["memory"] / few["memory"], f"{one['memory']:.0f} MB"
        say(f"memory        {more:6.2f} times that of {FEW} clips (bar 1.2), {whole}")
        two = timed(folder / "two", tasks, lambda f, t: run(f, t, jobs=2))
        say(f"two processes {one['wall'] / two['wall']:6.2f} times one (bar 1.8){spent(two, one)}")
        try:
            running = timed_on_cluster(folder, tasks)
            say(f"Dask, two     {one['wall'] / running['wall']:6.2f} times one, start-up apart")
        except ImportError:
            say("Dask is not installed")
        fits = [(("--margin", "3"), 60), ((), 60), (("--reject", "0.5%"), 180)]
        for words, bar in fits if options.reject else fits[:2]:
            command = ("corpus", "fit", str(folder / "one"), "-o", str(folder / "a.limits.json"))
            say_seconds(" ".join(("corpus fit", *words)), bar, *command, "--force", *words)
        rom = [task.path for task in tasks if task.name in ROM]
        if len(rom) == len(ROM):
            say_seconds("compare, three clips", 60, "compare", *rom)


def say(line: str) -> None:
    print(line, flush=True)


def say_seconds(label: str, bar: int, *words: str) -> None:
    """Run a command of synovia, and print its processor time."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "synovia", *words], check=True, capture_output=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(f"{label:<24}{end.ru_utime - start.ru_utime:6.0f} s (bar {bar})")


def tasks_of(clips: str, people: str | None) -> list[Task]:
    """Return all clips to summarise, the largest first, so that workers end together."""
    files = clip_files([clips])
    who = performers_by_clip(None, files)
    if people:
        with open(people, newline="") as table:
            who |= dict(list(csv.reader(table))[1:])
    files.sort(key=lambda file: -file.path.stat().st_size)
    return [Task(str(file.path.resolve()), "", file.name, who[file.name]) for file in files]


def spent(some: dict[str, float], one: dict[str, float]) -> str:
    """Return the processor time relative to that of one worker, as text."""
    return f", {some['processor'] / one['processor']:.2f} times its processor seconds"


def processor_seconds() -> float:
    """Return the processor time of this process and its finished children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(folder: Path, tasks: list[Task], run) -> dict[str, float]:
    """Return the time of a run into a new corpus, in seconds, and its frames."""
    Corpus.make(folder, SummaryOptions())
    start, before = time.perf_counter(), processor_seconds()
    outcomes = list(run(str(folder), tasks))
    failed = [outcome for outcome in outcomes if outcome.error]
    assert not failed, failed[0].error
    return {
        "wall": time.perf_counter() - start,
        "processor": processor_seconds() - before,
        "frames": sum(outcome.result.frames for outcome in outcomes),
    }


def timed_on_cluster(folder: Path, tasks: list[Task]) -> dict[str, float]:
    """Return the time of a run on a warmed-up cluster, in seconds."""
    from distributed import LocalCluster

    with LocalCluster(2, threads_per_worker=1, host="127.0.0.1") as cluster:
        address = cluster.scheduler_address
        timed(folder / "first", tasks[:4], lambda f, t: run(f, t, scheduler=address))
        return timed(folder / "running", tasks, lambda f, t: run(f, t, scheduler=address))


def in_own_process(folder: Path, clips: str, people: str | None, count: int) -> dict[str, float]:
    """Return the result of `timed` for the first tasks, and the process's memory in megabytes."""
    words = [str(folder), clips, people or "", str(count)]
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import corpus; "
    command = [sys.executable, "-c", code + "corpus.measure(*sys.argv[1:])", *words]
    found: dict[str, float] = json.loads(
        subprocess.run(command, capture_output=True, check=True, env=ALONE).stdout
    )
    return found


def measure(folder: str, clips: str, people: str, count: str) -> None:
    """Print as JSON what `in_own_process` returns."""
    found = timed(Path(folder), tasks_of(clips, people or None)[: int(count)], run)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**found, "memory": memory}))


if __name__ == "__main__":
    main()
