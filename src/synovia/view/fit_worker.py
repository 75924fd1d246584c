"""The process beside the page's server that fits: `python -m synovia.view.fit_worker`."""

from __future__ import annotations

import os
import pickle
import sys

from .fitting import run_task


def main() -> None:
    """Read a task, and tell how far it has come until it is done."""
    if hasattr(os, "nice"):
        os.nice(5)  # the page comes first
    task = pickle.load(sys.stdin.buffer)
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else is said there

    def tell(message: object) -> None:
        try:
            pickle.dump(message, out)
            out.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody listens any more

    run_task(task, tell)


if __name__ == "__main__":
    main()
