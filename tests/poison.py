"""Work that kills its process when it meets a clip called poison; imported by spawned processes."""

import os
import signal

from synovia.corpus import store


def work(folder, task):
    if "poison" in task.name:
        os.kill(os.getpid(), signal.SIGKILL)
    return store.work(folder, task)
