"""The process in which the page fits limits: `python -m synovia.view.fit_worker`."""

from __future__ import annotations

import os
import pickle
import sys

from .fitting import run_task


def main() -> None:
    """Read a task from standard input, and write its messages to standard output."""
    if hasattr(os, "nice"):
        os.nice(5)  # the page's server has priority
    task = pickle.load(sys.stdin.buffer)
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # only messages go to standard output

    def send(message: object) -> None:
        try:
            pickle.dump(message, out)
            out.flush()
        except BrokenPipeError:
            os._exit(1)  # the server has ended

    run_task(task, send)


if __name__ == "__main__":
    main()
