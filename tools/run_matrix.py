"""Run the tests on several Pythons, instruction sets and BLAS thread counts."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "build" / "matrix"
BLAS_CORES = {"avx2": "Haswell", "baseline": "Nehalem"}
"""The OpenBLAS kernels of each instruction set."""
PLAIN_TESTS = (
    "tests/test_quat.py",
    "tests/test_charts.py",
    "tests/test_skeleton.py",
    "tests/test_curve.py",
    "tests/test_bvh.py",
    "tests/test_limits_file_text.py",
    "tests/test_limits_file_saving.py",
)
"""Tests that take seconds without compiled kernels; others take minutes."""


@dataclass(frozen=True)
class Combination:
    """One run of the tests.

    `vectors` is the largest instruction set that NumPy and BLAS may use, `kernels` that of
    Synovia's kernels: `avx512` (as far as the processor has it), `avx2` or `baseline`; kernels may
    also be `plain`, which is Python. Without `tests`, the whole suite runs.
    """

    name: str
    python: str
    vectors: str = "avx512"
    kernels: str = "avx512"
    blas_threads: int = 1
    tests: tuple[str, ...] = ()


COMBINATIONS = (
    Combination("avx2", "3.11", vectors="avx2", kernels="avx2"),
    Combination("threads", "3.12", blas_threads=4),
    Combination("baseline", "3.13", vectors="baseline", kernels="baseline"),
    Combination("mixed", "3.12", vectors="baseline", kernels="avx512", blas_threads=2),
    Combination("plain", "3.13", kernels="plain", tests=PLAIN_TESTS),
)
"""Every value of every field, and the pairs that have differed; `make test` runs the rest."""


@dataclass(frozen=True)
class Result:
    """Counts of a combination's tests; `problem` says why there are none."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: int = 0
    problem: str = ""


def find_python(version: str) -> str | None:
    """Return the path of a Python of this version, as `3.12`, from PATH or pyenv."""
    pyenv = Path.home() / ".pyenv" / "versions"
    candidates = [f"python{version}", "python3", *map(str, pyenv.glob(f"{version}.*/bin/python"))]
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for path in filter(None, map(shutil.which, candidates)):
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        actual, _, executable = done.stdout.strip().partition(" ")
        if actual == version:
            return executable
    return None


def disabled_features(features: Sequence[str], vectors: str) -> list[str]:
    """Return the CPU features of NumPy that are beyond an instruction set.

    `features` are those that this NumPy dispatches on and the processor has; NumPy warns about all
    others. NumPy before 2.4 names instructions (AVX512F), later versions levels (X86_V4).
    """
    if vectors == "avx512":
        return []
    if vectors == "baseline":
        return list(features)
    return [name for name in features if name.startswith("AVX512") or name == "X86_V4"]


def environment(combination: Combination, python: Path) -> dict[str, str]:
    """Return the environment variables that a combination sets."""
    code = "import json, numpy; print(json.dumps(numpy.show_config(mode='dicts')))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    features = json.loads(done.stdout)["SIMD Extensions"].get("found", [])
    variables = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled_features(features, combination.vectors)),
        "OPENBLAS_NUM_THREADS": str(combination.blas_threads),
    }
    if combination.vectors in BLAS_CORES and platform.machine() in ("x86_64", "AMD64"):
        variables["OPENBLAS_CORETYPE"] = BLAS_CORES[combination.vectors]
    if combination.kernels == "plain":
        variables["SYNOVIA_KERNELS"] = "plain"
    else:
        variables["SYNOVIA_PROCESSOR"] = combination.kernels
    return {name: value for name, value in variables.items() if value}


def run(combination: Combination, tests: Sequence[str]) -> Result:
    """Run `tests`, or the combination's tests, in an environment of its Python."""
    python = find_python(combination.python)
    if python is None:
        return Result(problem=f"skipped: Python {combination.python} is not installed")
    home = f".venv-{combination.python}"
    make = ["make", "--no-print-directory", f"VENV={home}", f"PYTHON={python}"]
    if subprocess.run([*make, "environment"], cwd=ROOT, check=False).returncode != 0:
        return Result(problem=f"failed: {' '.join(make)} environment")
    variables = environment(combination, ROOT / home / "bin" / "python")
    print(" ".join(f"{name}={value!r}" for name, value in variables.items()), flush=True)
    report = REPORTS / f"{combination.name}.xml"
    report.unlink(missing_ok=True)
    options = f"PYTEST_OPTIONS=--junitxml={report} {' '.join(tests or combination.tests)}"
    done = subprocess.run(
        [*make, "pytest", options], cwd=ROOT, env={**os.environ, **variables}, check=False
    )
    result = read_report(report)
    if done.returncode != 0 and not (result.failed or result.problem):
        return replace(result, problem=f"failed: make ended with {done.returncode}")
    return result


def read_report(report: Path) -> Result:
    """Return the counts and the failed tests of a JUnit report."""
    if not report.is_file():
        return Result(problem="failed: the tests did not run")
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = tuple(
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    )
    skipped = sum(case.find("skipped") is not None for case in cases)
    if not cases:
        return Result(problem="failed: no test ran")
    return Result(len(cases) - len(failed) - skipped, failed, skipped)


def table(results: dict[Combination, Result]) -> str:
    """Return the results as a table, with the names of failed tests below."""
    line = "{:<10} {:<7} {:<9} {:<9} {:>7}  {:>7} {:>7} {:>7}".format
    lines = [line("name", "python", "vectors", "kernels", "threads", "passed", "failed", "skipped")]
    for run, result in results.items():
        counts = (result.passed, len(result.failed), result.skipped)
        row = line(run.name, run.python, run.vectors, run.kernels, run.blas_threads, *counts)
        lines.append(f"{row}  {result.problem}".rstrip())
    for run, result in results.items():
        lines += [f"failed in {run.name}: {name}" for name in result.failed]
    return "\n".join(lines)


def main() -> int:
    """Run the combinations; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "tests", nargs="*", help="tests to run in each combination instead of its own"
    )
    parser.add_argument("--only", help="names of combinations, separated by commas")
    parser.add_argument("--list", action="store_true", help="print the combinations as JSON")
    arguments = parser.parse_args()
    if arguments.list:
        print(json.dumps([asdict(combination) for combination in COMBINATIONS]))
        return 0
    known = {combination.name: combination for combination in COMBINATIONS}
    names = arguments.only.split(",") if arguments.only else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"--only must name some of {', '.join(known)}, got {', '.join(unknown)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in names:
        print(f"\n{known[name]}", flush=True)
        results[known[name]] = run(known[name], arguments.tests)
    print(f"\n{table(results)}")
    return int(any(r.failed or r.problem.startswith("failed") for r in results.values()))


if __name__ == "__main__":
    sys.exit(main())
