"""Processes to work in: how many threads they have, and what is left behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from synovia.processes import BLAS_THREADS, process_pool


def threads_in_a_process():
    with process_pool(1) as pool:
        return {name: pool.submit(os.getenv, name).result() for name in BLAS_THREADS}


@pytest.fixture
def untold(monkeypatch):
    """Nobody said how many threads there are."""
    for name in BLAS_THREADS:
        monkeypatch.delenv(name, raising=False)


def test_a_process_has_one_thread_of_algebra_and_the_environment_stays(untold):
    before = dict(os.environ)
    assert threads_in_a_process() == BLAS_THREADS
    assert dict(os.environ) == before


def test_a_number_that_is_given_is_heeded(untold, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert threads_in_a_process()["OPENBLAS_NUM_THREADS"] == "3"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_the_environment_stays_where_work_fails(untold):
    before = dict(os.environ)
    with pytest.raises(KeyError), process_pool(1):
        raise KeyError
    assert dict(os.environ) == before


def test_commands_say_it_before_numpy_is_imported():
    code = "import synovia.cli, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
