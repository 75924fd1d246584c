"""Compile the kernels: `python -m synovia.native.build`.

The kernels are translated to one C source file per module and linked to one library beside them,
unless the existing library was made from the same sources. Compiled objects are cached by content.
The compiler is the system's, or zig from PyPI, which also compiles for other systems.
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
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    os.environ["SYNOVIA_KERNELS"] = "plain"  # no warning about a library that is not built yet

from ..kernels.jit import CHECKOUT, load_library, source_hash
from .entries import header_text, kernel_modules, translate_modules
from .types import last_name

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
COLD = ["runtime", "runtime_file"]
"""Modules that are compiled without AVX: the C runtime, which Python only tests."""
HOT = ["limit"]
"""Modules that are compiled for AVX-512 too: batches of rotations, where most time is spent."""
KEPT_SECONDS = 14 * 24 * 3600.0  # compiled objects that were not used for so long are deleted
WASM = [
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-mbulk-memory", "-mnontrapping-fptoint"),
    *("-msimd128", "-Wl,--strip-all"),
]
SANITIZE = ("-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")

TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}
"""What zig calls a system, and what wheels call it."""


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


@cache
def compiler_version(*compiler: str) -> str:
    """Return what a compiler prints about its version."""
    done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


def is_gcc(compiler: Sequence[str]) -> bool:
    """Return True if a compiler is gcc."""
    return "Free Software Foundation" in compiler_version(*compiler)


def fast_flags(compiler: Sequence[str]) -> list[str]:
    """Return the flags with which the compiler vectorises loops."""
    return FAST_GCC if is_gcc(compiler) else FAST


def run(command: Sequence[str]) -> None:
    """Run a compiler; raise RuntimeError with what it printed if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")


@contextmanager
def object_folder() -> Iterator[Path]:
    """Give the folder of compiled objects: a cache in a checkout, else a temporary one."""
    if not CHECKOUT.exists():
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)
        return
    folder = CHECKOUT.parent / "build" / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    for path in folder.iterdir():
        if path.stat().st_mtime < time.time() - KEPT_SECONDS:
            path.unlink(missing_ok=True)


def compile_unit(name: str, code: str, command: Sequence[str], folder: Path) -> Path:
    """Return the object of a C source file, from the folder if it was compiled before."""
    headers = [(HERE / header).read_text("utf-8") for header in ("prelude.h", "entry.h")]
    version = compiler_version(*command[: 3 if command[0] == sys.executable else 1])
    key = sha256("\0".join([version, *command, *headers, code]).encode()).hexdigest()[:24]
    made = folder / f"{name}-{key}.o"
    if made.exists():
        os.utime(made)
        return made
    source = made.with_suffix(".c")
    source.write_text(code, encoding="utf-8")
    partial = made.with_suffix(f".{os.getpid()}")
    run([*command, f"-I{HERE}", "-c", str(source), "-o", str(partial)])
    os.replace(partial, made)
    return made


def compile_units(jobs: Sequence[tuple[str, str, Sequence[str]]], folder: Path) -> list[str]:
    """Return the objects of C source files; a job is a name, the code and the command."""
    longest_first = sorted(jobs, key=lambda job: -len(job[1]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda job: compile_unit(job[0], job[1], job[2], folder), longest_first)
        return sorted(map(str, made))


def compile_library(
    modules: Sequence[ModuleType],
    compiler: Sequence[str],
    into: Path,
    target: str = "",
    flags: Sequence[str] = (),
    hot: Sequence[str] = HOT,
) -> None:
    """Compile the kernels of modules for a system; `target` is empty for this one.

    For x86 there are three builds: for every processor, for processors with AVX2, and of the hot
    modules for those with AVX-512. The library chooses one when it is loaded.
    """
    system = target or this_system()
    x86 = system.startswith("x86_64")
    fast, names = fast_flags(compiler), {*map(last_name, modules)}
    # Without AVX2, -O2 gives nothing more than -O1, and takes twice as long to compile.
    options = {"baseline": (names, ["-O1"] if x86 else fast)}
    if x86:
        lean = LEAN_GCC if is_gcc(compiler) else []
        options["avx2"] = (names - {*COLD}, [*fast, *AVX2])
        options["avx512"] = (names & {*hot}, [*fast, *lean, *AVX512])
    library = translate_modules(modules)
    base = [*compiler, *FLAGS, *flags, *(["-target", target] if target else [])]
    jobs = [
        (f"{unit}-{build}", code, [*base, *chosen, f"-DBUILD={build}"])
        for build, (compiled, chosen) in options.items()
        for unit, code in library.restricted(compiled).units().items()
    ]
    defined = [f'-DSOURCE_HASH="{source_hash()}"', *(["-DWITH_AVX"] if x86 else [])]
    module = library.list_of_entries + (HERE / "module.c").read_text("utf-8")
    jobs.append(("module", module, [*base, "-O1", *defined]))
    with object_folder() as folder, tempfile.TemporaryDirectory() as name:
        objects = compile_units(jobs, folder)
        made = Path(name) / into.name
        link = [*compiler, *flags, *(["-target", target] if target else []), *objects]
        link += ["-s"] if "linux" in system and "-g" not in flags else []  # without symbol names
        run([*link, *shared_flags(system, Path(name)), "-o", str(made)])
        replace_file(made, into)


def replace_file(made: Path, into: Path) -> None:
    """Copy a file over another one in a single step, whatever other processes do meanwhile."""
    into.parent.mkdir(parents=True, exist_ok=True)
    os.replace(shutil.copy(made, into.with_suffix(f".{os.getpid()}")), into)


def shared_flags(system: str, folder: Path) -> list[str]:
    """Return the linker's flags for a library of Python."""
    if "macos" in system:
        return ["-shared", "-undefined", "dynamic_lookup"]
    if "windows" in system:  # needs an import library of Python's functions
        names = re.findall(r"^IMPORTED .*?(Py\w+)\(", (HERE / "module.c").read_text(), re.MULTILINE)
        exports = folder / "python3.def"
        exports.write_text(
            "LIBRARY python3.dll\nEXPORTS\n" + "\n".join([*names, "PyExc_TypeError DATA"])
        )
        run([sys.executable, "-m", "ziglang", "dlltool", "-m", "i386:x86-64", "-d", str(exports),
             "-l", str(folder / "python3.lib")])  # fmt: skip
        return ["-shared", f"-L{folder}", "-lpython3"]
    return ["-shared", "-lm"]


def is_current(library: Path) -> bool:
    """Return True if a library was made from the present sources."""
    return library.exists() and source_hash().encode() in library.read_bytes()


def build(
    into: Path = LIBRARY, target: str = "", flags: Sequence[str] = (), force: bool = False
) -> bool:
    """Build the library unless it is current; return False if there is no compiler."""
    if not force and is_current(into):
        return True
    compiler = zig_compiler() if target else find_compiler()
    if not compiler:
        print("no C compiler: kernels will run uncompiled; install one, or ziglang from PyPI")
        return False
    compile_library(kernel_modules(), compiler, into, target, flags)
    print(f"compiled the kernels: {into.name}, {into.stat().st_size // 1024} kB")
    return True


def load_outside(module: ModuleType) -> ModuleType:
    """Return the compiled kernels of a module outside the package, of a benchmark or a test."""
    with tempfile.TemporaryDirectory() as name:
        into = Path(name) / LIBRARY.name
        compile_library([module], find_compiler(), into, hot=[last_name(module)])
        return load_library(str(into))


def compile_wasm(into: Path) -> None:
    """Compile the functions of the C header to WebAssembly, for the npm package, by zig."""
    compiler, text = zig_compiler(), header_text()
    if not compiler:
        raise RuntimeError("WebAssembly is compiled by zig; pip install ziglang")
    declared = re.findall(r"^(?:int|void|double|const char \*)\s*(synovia_\w+)\(", text, re.M)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "synovia.h").write_text(text, encoding="utf-8")
        source = folder / "synovia.c"
        source.write_text('#define SYNOVIA_IMPLEMENTATION\n#include "synovia.h"\n')
        flags = [flag for flag in FLAGS if flag not in ("-fPIC", "-std=c11")]
        command = [*compiler, *flags, "-std=c99", "-O3", *WASM]
        command += [f"-Wl,--export={each}" for each in (*sorted(set(declared)), "malloc", "free")]
        run([*command, str(source), "-o", str(folder / into.name)])
        replace_file(folder / into.name, into)
    print(f"compiled {into}, {into.stat().st_size // 1024} kB")


def main() -> None:
    """Build the library or the WebAssembly, or only check that all kernels can be translated."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m synovia.native.build")
    parser.add_argument(
        "-o", "--out", type=Path, default=LIBRARY, help="where to write the library"
    )
    parser.add_argument("--target", default="", choices=["", *TARGETS], help="for another system")
    parser.add_argument("--sanitize", action="store_true", help="with ASan and UBSan")
    parser.add_argument("--check", action="store_true", help="translate, and compile nothing")
    parser.add_argument("--wasm", type=Path, help="write the npm package's WebAssembly instead")
    given = parser.parse_args()
    try:
        if given.check:
            translate_modules(kernel_modules())
        elif given.wasm:
            compile_wasm(given.wasm)
        else:
            build(given.out, given.target, SANITIZE if given.sanitize else (), given.sanitize)
    except SyntaxError as error:  # what is no kernel
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
