"""The combinations of `make test-matrix` and CI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.run_matrix import COMBINATIONS, Result, disabled_features, read_report, table

ROOT = Path(__file__).parents[1]


def test_combinations_cover_every_python_and_instruction_set():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    supported = set(re.findall(r"Python :: (3\.\d+)", project))
    assert {each.python for each in COMBINATIONS} == supported
    assert {each.kernels for each in COMBINATIONS} == {"avx512", "avx2", "baseline", "plain"}
    assert {each.vectors for each in COMBINATIONS} == {"avx512", "avx2", "baseline"}
    assert len({each.blas_threads for each in COMBINATIONS}) > 1
    assert len({each.name for each in COMBINATIONS}) == len(COMBINATIONS)
    assert all((ROOT / test).is_file() for each in COMBINATIONS for test in each.tests)


@pytest.mark.parametrize(
    ("features", "beyond_avx2"),
    [
        (["AVX2", "FMA3", "AVX512F", "AVX512_SKX"], ["AVX512F", "AVX512_SKX"]),
        (["X86_V3", "X86_V4", "AVX512_ICL"], ["X86_V4", "AVX512_ICL"]),
        (["ASIMDHP"], []),
    ],
)
def test_features_beyond_the_instruction_set_are_disabled(features, beyond_avx2):
    assert disabled_features(features, "avx512") == []
    assert disabled_features(features, "avx2") == beyond_avx2
    assert disabled_features(features, "baseline") == features


def test_results_are_counted_and_failures_named(tmp_path):
    report = tmp_path / "a.xml"
    report.write_text(
        "<testsuite><testcase classname='tests.test_a' name='good'/>"
        "<testcase classname='tests.test_a' name='bad'><failure/></testcase>"
        "<testcase classname='tests.test_a' name='left'><skipped/></testcase></testsuite>"
    )
    result = read_report(report)
    assert result == Result(1, ("tests.test_a::bad",), 1)
    assert "failed in avx2: tests.test_a::bad" in table({COMBINATIONS[0]: result})
    assert read_report(tmp_path / "none.xml").problem.startswith("failed")
