"""Corpora: what a frame costs, what more workers bring, whether memory stays flat.

    python benchmarks/corpus.py CLIPS [--reject]

CLIPS is a directory, such as CMU's captures as BVH. Processor seconds, but for the ratios of
workers, which are of the time on the wall.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synovia.cli.inputs import clip_files
from synovia.corpus import Corpus, SummaryOptions, Task
from synovia.corpus.executors import run_dask, run_here, run_processes


def main() -> None:
    files = clip_files([sys.argv[1]])
    tasks = [Task(str(file.path.resolve()), "", file.name, file.name[:2]) for file in files]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone = timed(folder / "one", tasks, run_here)
        frames = alone["frames"]
        print(f"{len(tasks)} clips, {frames} frames")
        print(f"reading       {1e6 * alone['reading'] / frames:6.1f} µs a frame")
        print(f"summarising   {1e6 * alone['summarizing'] / frames:6.1f} µs a frame (bar 60)")
        two = timed(folder / "two", tasks, lambda f, t: run_processes(f, t, 2))
        print(f"two processes {alone['wall'] / two['wall']:6.2f} times one (bar 1.8)")
        try:
            dask = timed(folder / "dask", tasks, lambda f, t: run_dask(f, t, "local", 2))
            print(f"Dask, two     {alone['wall'] / dask['wall']:6.2f} times one (bar 1.6)")
            running = timed_on_cluster(folder, tasks)
            print(f"  started     {alone['wall'] / running['wall']:6.2f} times one, start-up apart")
        except ValueError as error:
            print(f"Dask: {error}")
        few = peak_memory(folder / "few", sys.argv[1], 100)
        many = peak_memory(folder / "many", sys.argv[1], len(tasks))
        print(f"memory        {many / few:6.2f} times that of 100 clips (bar 1.2), {many:.0f} MB")
        plain, default, promised = ("--margin", "3"), (), ("--reject", "0.5%")
        for words in (plain, default, *([promised] if "--reject" in sys.argv else [])):
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = ["corpus", "fit", str(folder / "one"), "-o", str(folder / "a.limits.json")]
            synovia(*command, "--force", *words)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            label = " ".join(("corpus fit", *words))
            bar = 180 if words == promised else 60
            print(f"{label:<24}{end.ru_utime - start.ru_utime:6.0f} s (bar {bar})")


def timed(folder: Path, tasks: list[Task], run) -> dict[str, float]:
    """Return the seconds of a run into a new corpus, and its frames."""
    Corpus.make(folder, SummaryOptions())
    start = time.perf_counter()
    outcomes = list(run(str(folder), tasks))
    failed = [outcome for outcome in outcomes if outcome.error]
    assert not failed, failed[0].error
    return {
        "wall": time.perf_counter() - start,
        "reading": sum(outcome.reading for outcome in outcomes),
        "summarizing": sum(outcome.summarizing for outcome in outcomes),
        "frames": sum(outcome.result.frames for outcome in outcomes),
    }


def timed_on_cluster(folder: Path, tasks: list[Task]) -> dict[str, float]:
    """Return the seconds of a run on a cluster that runs already and has done a clip or two."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        timed(folder / "first", tasks[:4], lambda f, t: run_dask(f, t, address, 2))
        return timed(folder / "running", tasks, lambda f, t: run_dask(f, t, address, 2))


MEMORY = """
import json, resource, sys
from synovia.cli.inputs import clip_files
from synovia.corpus import Corpus, SummaryOptions, Task
from synovia.corpus.executors import run_here
from pathlib import Path
folder, clips, count = sys.argv[1:]
Corpus.make(Path(folder), SummaryOptions())
files = clip_files([clips])
# The largest clips first, so that both runs meet them.
files.sort(key=lambda file: -file.path.stat().st_size)
tasks = [Task(str(f.path.resolve()), "", f.name, "x") for f in files[: int(count)]]
for outcome in run_here(folder, tasks):
    pass
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
"""


def peak_memory(folder: Path, clips: str, count: int) -> float:
    """Return the megabytes that a process needs to summarise so many clips."""
    command = [sys.executable, "-c", MEMORY, str(folder), clips, str(count)]
    return float(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def synovia(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "synovia", *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
