"""Files are read whole, and written whole or not at all."""

import os
import subprocess
import sys

import pytest

from synovia.io.files import atomic_write, read_file

KILLED = """
import os, signal, sys
from synovia.io import files
files.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.atomic_write(sys.argv[1], b"new")
"""


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "walk.bvh"
    target.write_bytes(b"old")
    subprocess.run([sys.executable, "-c", KILLED, target], timeout=60, check=False)
    assert len(list(tmp_path.iterdir())) == 2
    assert target.read_bytes() == b"old"
    atomic_write(target, b"newer")
    assert target.read_bytes() == b"newer"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_does_not_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe.bvh")
    with pytest.raises(OSError, match="only regular files can be read"):
        read_file(tmp_path / "pipe.bvh")
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
