"""Kernels as C: each means what it means in Python, and what is not of the subset is refused."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sample_kernels
from oracles import EXHAUSTIVE, fitted, placed, random_quats
from synovia.kernels import jit
from synovia.kernels.layout import Layout
from synovia.limit import Limit
from synovia.native import build
from synovia.native.build import find_compiler, load_outside, this_system
from synovia.native.entries import translate_modules
from synovia.native.types import KernelError

pytestmark = pytest.mark.skipif(not find_compiler(), reason="there is no C compiler")


@pytest.fixture(scope="module")
def compiled():
    return load_outside(sample_kernels)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.3, -7.25, 1e300, np.inf, -np.inf, np.nan]
FINITE = [x for x in SPECIAL if np.isfinite(x) and abs(x) < 1e9]


def both(compiled, name, *arguments):
    """Return what a kernel gives, and what its plain Python does; arrays are compared here."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        expected = getattr(sample_kernels, name)(*copies)
    given = getattr(compiled, f"sample_kernels_{name}")(*arguments)
    for one, other in zip(arguments, copies, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-6 if one.itemsize == 4 else 1e-14)
    if expected is not None:
        # NumPy has sines of its own on some processors, an ulp or two from those of libm.
        np.testing.assert_allclose(np.array(given, float), np.array(expected, float), rtol=1e-14)
    return given


@pytest.mark.parametrize("b", [1, 3, 8, -5])
@pytest.mark.parametrize("a", [0, 7, -7, 16, -1, 2**40])
def test_integers_round_down(compiled, a, b):
    both(compiled, "round_down", a, b)


@pytest.mark.parametrize("b", SPECIAL)
@pytest.mark.parametrize("a", FINITE)
def test_order_and_comparisons_are_those_of_python(compiled, a, b):
    if np.isfinite(b):
        both(compiled, "order", a, min(b, 1e9))
    both(compiled, "compare", a, b)
    both(compiled, "compare", b, a)


def test_nan_stays_where_it_is_first(compiled):
    order = compiled.sample_kernels_order
    assert np.isnan(order(np.nan, 1.0)[0])
    assert order(1.0, np.nan)[0] == 1.0


@pytest.mark.parametrize("bounds", [(0, 50, 1), (5, 5, 1), (3, 60, 4), (9, 2, 2), (0, 300, 7)])
def test_loops_go_as_in_python(compiled, bounds):
    both(compiled, "loops", *bounds)


def test_arrays_rows_stretches_and_tuples(compiled, rng):
    both(compiled, "arrays", rng.normal(size=9), rng.normal(size=(2, 3, 3)), np.zeros((3, 3)))


@pytest.mark.parametrize("n", [0, 1, 50])
def test_arrays_of_any_size_are_new_and_zero(compiled, n):
    both(compiled, "allocate", n, np.empty(n))
    both(compiled, "take_table", n, np.empty(n))


def test_memory_that_is_not_there_is_an_error(compiled):
    with pytest.raises(MemoryError):
        compiled.sample_kernels_allocate(2**58, np.empty(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_is_made_for_each_type(compiled, rng, dtype):
    given = rng.normal(size=20).astype(dtype)
    both(compiled, "types", given, np.empty_like(given))


def test_what_may_stay_is_read_before(compiled, rng):
    given = np.array([*SPECIAL, *rng.normal(size=20)])
    both(compiled, "choose", given, rng.normal(size=31), rng.normal(size=31))
    code = translate_modules([sample_kernels]).units()["sample_kernels"]
    kept = r"double (\w+) = out\.p\[i\];\s+out\.p\[i\] = .*given\.p\[i\] > \1.* : \1\)"
    assert re.search(kept, code)


def test_flags(compiled, rng):
    both(compiled, "flagged", rng.normal(size=90) > 0.0, rng.integers(0, 255, 90))


def test_bundles_go_as_one(compiled, rng):
    places = rng.integers(0, 5, size=(4, 2))
    pair = sample_kernels.Pair(rng.normal(size=5), places, 2.5)
    both(compiled, "bundled", pair, np.empty(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_records_have_operators_and_layouts_offsets(compiled, rng, dtype):
    both(compiled, "records", rng.normal(size=7).astype(dtype), np.empty(9, dtype))


def test_a_layout_packs_its_fields():
    layout = Layout("row", kind=1, axis=3)
    packed = layout.pack(kind=2, axis=[0.1, 0.2, 0.3])
    assert (layout.axis, layout.SIZE, packed.tolist()) == (1, 4, [2.0, 0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="axis of a row must have 3 values, got 1"):
        layout.pack(kind=2, axis=0.0)
    with pytest.raises(ValueError, match="fields of a row are missing or unknown: axis"):
        layout.pack(kind=2)
    with pytest.raises(AttributeError, match="a row has no field 'other'"):
        layout.other  # noqa: B018


@pytest.mark.parametrize("b", [0.4, -3.0])
@pytest.mark.parametrize("a", FINITE)
def test_functions(compiled, a, b):
    both(compiled, "functions", a, b)


# What comes in is checked.


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((np.zeros(3),), "takes 2 arguments, got 1"),
        ((np.zeros(3), np.zeros((3, 1))), "out must have 1 dimensions, got 2"),
        ((np.zeros(3, np.int64), np.zeros(3)), "given must be an array of float64, got"),
        ((np.zeros(3), np.zeros(3, np.float32)), "out must be an array of float64"),
        ((np.zeros(6)[::2], np.zeros(3)), "given must be a C-contiguous array of float64"),
        ((np.zeros(3), np.zeros(3).view()), ""),
        ((3.0, np.zeros(3)), "given must be a C-contiguous array of float64"),
    ],
)
def test_arguments_are_checked(compiled, arguments, error):
    if not error:
        arguments[1].flags.writeable = False
        error = "out must be a C-contiguous, writable array"
    with pytest.raises(TypeError, match=error):
        compiled.sample_kernels_types(*arguments)


# What is not of the subset is refused, with file and line.

REFUSED = {
    "return [a]": "not an expression of kernels",
    "return a + 'x'": "not a number",
    "return {1: a}": "not an expression",
    "return [x for x in range(3)]": "not an expression",
    "b = 1.0\n    b = p": "the variable b is f8 and f8[]",
    "a = p": "the parameter a|the variable a",
    "for x in p:\n        pass": "loops are over range",
    "return p[-1]": "counted from the start",
    "return p[a]": "must be i8, is f8",
    "return p[0:4:2]": "a stretch has no step",
    "return p + p": "no arithmetic with f8[] and f8[]",
    "if a:\n        return 1.0\n    return 0.0": "a condition must be a bool",
    "return a and a > 1.0": "a condition must be a bool",
    "return np.linalg.norm(p)": "not a kernel",
    "return p.sum()": "not a function of kernels",
    "return sorted(p)": "not a function of kernels",
    "return max(a, key=p)": "positional arguments alone",
    "return a ** 2.5": "powers are 2 or 3",
    "return unknown": "no variable named unknown",
    "return not_of_kernels(a)": "not a kernel",
    "return refused(a, p)": "recursive",
    "with a:\n        pass": "not a statement of kernels",
    "p[0:2] = p[1:3]": "only numbers are stored in arrays",
    "return a if a > 0.0 else p": "do not mix",
    "return np.zeros(int(a))[0] + q": "no variable named q",
    "del a": "not a statement",
    "return Vec3(a, a)": "Vec3 has 3 members",
    "return Vec3(a, a, 1).x": "members of Vec3 are floats",
    "return Vec3(a, a, a) % a": "Vec3 has no",
    "return (a, a) + (a, a)": "a tuple has no __add__",
    "x: float = a": "not a statement",
}


def module_of(tmp_path, body, signature="f8 f8[]"):
    """A module with one kernel of this body."""
    path = tmp_path / "given.py"
    path.write_text(
        "import numpy as np\nfrom synovia.kernels.jit import kernel\n"
        "from sample_kernels import not_of_kernels\nfrom synovia.kernels.vector import Vec3\n\n\n"
        f'@kernel("{signature}")\ndef refused(a, p):\n    {body}\n',
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("given", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["given"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_of_the_subset_is_refused(tmp_path, body):
    with pytest.raises(KernelError, match=REFUSED[body].replace("[]", r"\[\]")) as refused:
        translate_modules([module_of(tmp_path, body)])
    assert f"{tmp_path.name}/given.py:" in str(refused.value)


def test_a_signature_must_fit(tmp_path):
    with pytest.raises(KernelError, match="has 2 parameters, its signature 1"):
        translate_modules([module_of(tmp_path, "return a", "f8")])
    with pytest.raises(ValueError, match="no such type in a signature: 'f16'"):
        translate_modules([module_of(tmp_path, "return a", "f16 f8[]")])


# All kernels against their own Python.

ANSWERS = Path(__file__).with_name("plain_answers.py")


@pytest.mark.parametrize("build", ["avx512", "avx2", "baseline"] if EXHAUSTIVE else ["avx512"])
def test_all_kernels_give_what_their_python_gives(build):
    """In a process of its own, where every entry is followed by its plain Python on copies."""
    env = {**os.environ, "SYNOVIA_PROCESSOR": build}
    command = [sys.executable, str(ANSWERS)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Processes and threads.


def projected(seed):
    limit = Limit(placed("swing-twist"), fitted("kdop", "tilted"))
    return limit.project(random_quats(500, np.random.default_rng(seed))).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_get_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(projected, range(4)) == [projected(seed) for seed in range(4)]


# Where there is no library, or an old one.


def run_with(code, *arguments, **env):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **env},
    )


@pytest.mark.skipif(this_system()[:6] != "x86_64", reason="there is one build elsewhere")
@pytest.mark.parametrize("build", ["baseline", "avx2"])
def test_other_processors_get_the_same(build):
    """Builds for lesser processors run on greater ones; without FMA the last digit differs."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_native import jit, projected\n"
        "print(jit.NATIVE.BUILD, projected(0).hex())"
    )
    done = run_with(code, str(Path(__file__).parent), SYNOVIA_PROCESSOR=build)
    built, answer = done.stdout.split()
    assert built in ("baseline", build)
    given, expected = (np.frombuffer(a) for a in (bytes.fromhex(answer), projected(0)))
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-14)


def test_plain_python_is_asked_for_without_a_word():
    code = "from synovia.kernels import jit; print(jit.COMPILED)"
    done = run_with(code, SYNOVIA_KERNELS="plain")
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_a_library_of_other_sources_is_not_used():
    code = (
        "from synovia.kernels import jit, _native\n"
        "import importlib, warnings\n"
        "jit.source_hash = lambda: 'other'\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    print(jit.load_native(), [str(w.message) for w in said])\n"
    )
    assert "None ['kernels run uncompiled" in run_with(code).stdout
    assert "`make kernels`" in run_with(code).stdout


def test_an_object_is_compiled_once_for_each_content(tmp_path, monkeypatch):
    command, code = [*find_compiler(), "-O1", "-DBUILD=test"], "int answer(void) { return 1; }\n"
    first = build.compile_unit("unit", code, command, tmp_path)
    other = build.compile_unit("unit", code.replace("1", "2"), command, tmp_path)
    assert build.compile_unit("unit", code, [*command, "-O2"], tmp_path) not in (first, other)
    monkeypatch.setattr(build, "run", None)
    assert build.compile_unit("unit", code, command, tmp_path) == first != other


def test_kernels_know_their_library():
    assert isinstance(jit.NATIVE, ModuleType)
    assert jit.source_hash() == jit.NATIVE.SOURCE
