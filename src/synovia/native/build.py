"""Compile the kernels: `python -m synovia.native.build`.

They are translated to C, and that is compiled to one library beside them, unless the one that is
there was made of the same sources. The compiler is the system's, or zig's from PyPI, which also
compiles for other systems.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    os.environ["SYNOVIA_KERNELS"] = "plain"  # no word about a library that is about to be made

from ..kernels.jit import is_cut_short, load_library, source_hash
from .entries import kernel_modules, translate_modules
from .translate import last_name

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels"

# Full fast-math would give up NaN; without traps and errno loops become vector code.
FLAGS = [
    *("-std=c11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast"),
    *("-fno-math-errno", "-fno-signed-zeros", "-fno-trapping-math", "-freciprocal-math"),
]
FAST = ["-O3"]
# By default gcc turns a choice between two values into a branch around a store, and gives up on
# loops over many rows of one block.
FAST_GCC = [*FAST, "-fno-thread-jumps", "--param=vect-max-version-for-alias-checks=200"]
# What -O3 does beside these takes a third longer to compile. Loops over lanes gain nothing by it,
# but solvers do.
LEAN_GCC = ["-O2", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "-funswitch-loops"]
AVX2 = ["-mavx2", "-mfma", "-mbmi", "-mbmi2"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mprefer-vector-width=512"]
COLD = ["runtime", "runtime_ik", "ik_ccd", "ik_fabrik"]
"""Modules that are compiled for every processor alone: what games call, which Python only tests,
and solvers that branch more than they compute, by a tenth slower so."""
HOT = ["limit", "gradient"]
"""Modules that are compiled for AVX-512 too: batches of rotations, where most time is spent."""
SANITIZE = ("-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")

TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""What zig calls a system, and what wheels call it."""
WASM = "wasm32-wasi"


def this_system() -> str:
    """Return the system this runs on, as zig would call it."""
    systems = {"linux": "linux", "darwin": "macos", "win32": "windows"}
    processor = {"amd64": "x86_64", "arm64": "aarch64"}
    machine = platform.machine().lower()
    return f"{processor.get(machine, machine)}-{systems.get(sys.platform, sys.platform)}"


def library_name(target: str) -> str:
    """Return the file that Python looks for on a system."""
    return "_native.pyd" if "windows" in target else "_native.abi3.so"


LIBRARY = KERNELS / library_name(this_system())


def zig_compiler() -> list[str]:
    """Return the command of zig's C compiler; empty if it is not installed."""
    found = importlib.util.find_spec("ziglang") is not None
    return [sys.executable, "-m", "ziglang", "cc"] if found else []


def find_compiler() -> list[str]:
    """Return the command of a C compiler: the system's, else zig's; empty if there is none."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return zig_compiler()


def is_gcc(compiler: Sequence[str]) -> bool:
    """Tell whether a compiler is gcc."""
    done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return "Free Software Foundation" in done.stdout


def fast_flags(compiler: Sequence[str]) -> list[str]:
    """Return the flags by which loops become vector code, which are gcc's or those of others."""
    return FAST_GCC if is_gcc(compiler) else FAST


def write_sources(modules: Sequence[ModuleType], folder: Path) -> None:
    """Write what is generated of the C."""
    library = translate_modules(modules)
    (folder / "kernels.h").write_text(library.code, encoding="utf-8")
    (folder / "entries.h").write_text(library.list_of_entries, encoding="utf-8")


def run(command: Sequence[str]) -> None:
    """Run a compiler; raise RuntimeError with what it printed if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")


def compile_library(
    modules: Sequence[ModuleType],
    compiler: Sequence[str],
    into: Path,
    target: str = "",
    flags: Sequence[str] = (),
    hot: Sequence[str] = HOT,
) -> None:
    """Compile the kernels of modules for a system; `target` is empty for this one.

    For x86 they are compiled for every processor, for those with AVX2, and the hot ones for those
    with AVX-512, as the library finds out when it is loaded.
    """
    system = target or this_system()
    x86 = system.startswith("x86_64")
    fast, others = fast_flags(compiler), sorted({*map(last_name, modules)} - {*hot})
    without = {"baseline": [], "avx2": COLD, "avx512": others}
    # Without AVX2, -O2 gives nothing more than -O1, and takes twice as long to compile.
    options = {"baseline": ["-O1"] if x86 else fast}
    if x86:
        lean = LEAN_GCC if is_gcc(compiler) else []
        options |= {"avx2": [*fast, *AVX2], "avx512": [*fast, *lean, *AVX512]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sources(modules, folder)
        base = [*compiler, *FLAGS, *flags, f"-I{HERE}", f"-I{folder}"]
        base += ["-target", target] if target else []
        jobs = []
        for build, chosen in options.items():
            left_out = [f"-DWITHOUT_{module}" for module in without[build]]
            kernels = [f"-DBUILD={build}", *left_out, "-c", str(HERE / "kernels.c")]
            jobs.append([*base, *chosen, *kernels])
        defined = [f'-DSOURCE_HASH="{source_hash()}"', *(["-DWITH_AVX"] if x86 else [])]
        jobs.append([*base, "-O2", *defined, "-c", str(HERE / "module.c")])
        objects = [str(folder / f"{k}.o") for k in range(len(jobs))]
        commands = [[*job, "-o", made] for job, made in zip(jobs, objects, strict=True)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # more would only take each other's caches
            list(pool.map(run, commands))
        made = folder / into.name
        link = [*compiler, *flags, *(["-target", target] if target else []), *objects]
        link += ["-s"] if "linux" in system and "-g" not in flags else []  # no names of functions
        run([*link, *shared_flags(system, folder), "-o", str(made)])
        into.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(made, into.with_suffix(".new")), into)


def shared_flags(system: str, folder: Path) -> list[str]:
    """Return how a library for Python is linked."""
    if "macos" in system:
        return ["-shared", "-undefined", "dynamic_lookup"]
    if "windows" in system:  # where Python's functions are found must be known
        names = re.findall(r"^IMPORTED .*?(Py\w+)\(", (HERE / "module.c").read_text(), re.MULTILINE)
        exports = folder / "python3.def"
        exports.write_text(
            "LIBRARY python3.dll\nEXPORTS\n" + "\n".join([*names, "PyExc_TypeError DATA"])
        )
        run([sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64", "-d", str(exports),
             "-l", str(folder / "python3.lib")])  # fmt: skip
        return ["-shared", f"-L{folder}", "-lpython3"]
    return ["-shared", "-lm"]


def compile_wasm(into: Path) -> None:
    """Compile the kernels for browsers and Node, by zig: see `wasm.c` for how they are called."""
    compiler = zig_compiler()
    if not compiler:
        raise RuntimeError("WebAssembly is compiled by zig; pip install ziglang")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sources(kernel_modules(), folder)
        made = folder / into.name
        flags = [flag for flag in FLAGS if flag != "-fPIC"]
        command = [*compiler, *flags, "-target", WASM, "-mexec-model=reactor", "-O3"]
        command += ["-mbulk-memory", "-mnontrapping-fptoint", "-Wl,--strip-all", "-DBUILD=baseline"]
        command += [f"-I{HERE}", f"-I{folder}", str(HERE / "kernels.c"), str(HERE / "wasm.c")]
        run([*command, "-o", str(made)])
        into.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(made, into.with_suffix(".new")), into)


def is_current(library: Path) -> bool:
    """Tell whether a library was made of the sources as they are, and is whole."""
    if not library.exists() or is_cut_short(library):
        return False
    return source_hash().encode() in library.read_bytes()


def build(
    into: Path = LIBRARY, target: str = "", flags: Sequence[str] = (), force: bool = False
) -> bool:
    """Build the library if it is not that of the present sources; tell whether there is one now."""
    if not force and is_current(into):
        return True
    if target == WASM:
        compile_wasm(into)
        print(f"compiled the kernels: {into.name}, {into.stat().st_size // 1024} kB")
        return True
    compiler = zig_compiler() if target else find_compiler()
    if not compiler:
        print("no C compiler: kernels will run uncompiled; install one, or ziglang from PyPI")
        return False
    compile_library(kernel_modules(), compiler, into, target, flags)
    print(f"compiled the kernels: {into.name}, {into.stat().st_size // 1024} kB")
    return True


def load_outside(module: ModuleType) -> ModuleType:
    """Return a module's own kernels, compiled now: those of a benchmark, say, or of a test."""
    with tempfile.TemporaryDirectory() as name:
        into = Path(name) / LIBRARY.name
        compile_library([module], find_compiler(), into, hot=[last_name(module)])
        return load_library(str(into))


def main() -> None:
    """Build the library, or only check that all kernels can be translated."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m synovia.native.build")
    parser.add_argument(
        "-o", "--out", type=Path, default=LIBRARY, help="where to write the library"
    )
    parser.add_argument(
        "--target", default="", choices=["", *TARGETS, WASM], help="for another system"
    )
    parser.add_argument("--sanitize", action="store_true", help="with ASan and UBSan")
    parser.add_argument("--check", action="store_true", help="translate, and compile nothing")
    given = parser.parse_args()
    try:
        if given.check:
            translate_modules(kernel_modules())
        else:
            build(given.out, given.target, SANITIZE if given.sanitize else (), given.sanitize)
    except SyntaxError as error:  # what is no kernel
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
