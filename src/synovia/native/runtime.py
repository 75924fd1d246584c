"""The header `synovia.h`, by which C programs apply limits: made of the kernels, as the library is.

Its text depends on the package alone, not on where that is or how it was installed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from ..kernels import runtime, runtime_file
from .build import FLAGS, replace_file, run, zig_compiler
from .entries import translate_modules

HERE = Path(__file__).parent


def offset_named(layout: str, field: str) -> int:
    """Return the offset of a field in a layout of packed files."""
    return int(getattr(getattr(runtime_file, layout), field))


def header_text() -> str:
    """Return the text of `synovia.h`."""
    library = translate_modules([runtime, runtime_file])
    made = library.whole.order
    if asking := [each.name for each in made if each.allocates]:
        raise SyntaxError(f"the runtime must not allocate, but {', '.join(asking)} does")
    kernels = "\n".join([(HERE / "prelude.h").read_text("utf-8"), *library.whole.definitions()])
    text = (HERE / "runtime.h").read_text("utf-8")
    text = re.sub(r"@([A-Z]+)\.(\w+)@", lambda name: str(offset_named(name[1], name[2])), text)
    return text.replace("@TOLERANCE@", repr(runtime.TOLERANCE)).replace("@KERNELS@", kernels)


def compile_wasm(into: Path) -> None:
    """Compile the functions of the header to WebAssembly, for the npm package, by zig."""
    compiler = zig_compiler()
    if not compiler:
        raise RuntimeError("WebAssembly is compiled by zig; pip install ziglang")
    text = header_text()
    exported = sorted(
        set(re.findall(r"^(?:int|void|double|const char \*)\s*(synovia_\w+)\(", text, re.M))
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "synovia.h").write_text(text, encoding="utf-8")
        source = folder / "synovia.c"
        source.write_text('#define SYNOVIA_IMPLEMENTATION\n#include "synovia.h"\n')
        flags = [flag for flag in FLAGS if flag not in ("-fPIC", "-std=c11")]
        command = [*compiler, *flags, "-std=c99", "-target", "wasm32-wasi", "-O3"]
        command += [
            "-mexec-model=reactor",
            "-mbulk-memory",
            "-mnontrapping-fptoint",
            "-msimd128",
            "-Wl,--strip-all",
        ]
        command += [f"-Wl,--export={each}" for each in (*exported, "malloc", "free")]
        run([*command, str(source), "-o", str(folder / into.name)])
        replace_file(folder / into.name, into)


def main() -> None:
    """Write the WebAssembly of the npm package."""
    into = Path(sys.argv[1])
    compile_wasm(into)
    print(f"compiled {into}, {into.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
