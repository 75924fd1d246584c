"""Files are read whole, and written whole or not at all; killed writers leave nothing for long."""

import os
import subprocess
import sys
import time

import pytest

from synovia.io.files import atomic_write, read_file

KILLED = """
import os, signal, sys
from synovia.io import files
files.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.atomic_write(sys.argv[1], b"new")
"""


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "walk.bvh"
    target.write_bytes(b"old")
    subprocess.run([sys.executable, "-c", KILLED, target], timeout=60, check=False)
    assert len(list(tmp_path.iterdir())) == 2
    assert target.read_bytes() == b"old"
    atomic_write(target, b"newer")
    assert [path.name for path in tmp_path.iterdir()] == ["walk.bvh"]
    assert target.read_bytes() == b"newer"


@pytest.mark.skipif(os.name == "nt", reason="files are locked otherwise on Windows")
def test_what_another_writer_has_open_stays(tmp_path):
    import fcntl

    busy, starting = tmp_path / ".synovia-1.tmp", tmp_path / ".synovia-2.tmp"
    starting.touch()
    with open(busy, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b"half")
        file.flush()
        old = time.time() - 1000.0
        os.utime(busy, (old, old))
        atomic_write(tmp_path / "walk.bvh", b"new")
        assert busy.exists()
        assert starting.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_does_not_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe.bvh")
    with pytest.raises(OSError, match="only regular files can be read"):
        read_file(tmp_path / "pipe.bvh")
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
