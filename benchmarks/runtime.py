"""Measure projections in C and in WebAssembly (Node), relative to Python's native library.

Many rotations at a time, one thread, a limit of each family; the programs run in turns with the
library, and the best of several runs of several repetitions counts, after one that warms up (Node
compiles what is used often once more). Both C compilations have the same flags, which are printed:
those for AVX2, though the library has wider vectors where the processor has them. WebAssembly has
vectors of two numbers and no fused multiply-add. Needs a C compiler; for WebAssembly zig and Node.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np

os.environ["SYNOVIA_PROCESSOR"] = "avx2"  # read when the library is loaded

from synovia import Limit, LimitModel, Skeleton, kernels, quat, save_limits
from synovia.arrays import TOLERANCE
from synovia.native.build import (
    AVX2,
    FLAGS,
    compile_wasm,
    fast_flags,
    find_compiler,
    zig_compiler,
)
from synovia.native.entries import header_text

COUNT, ROUNDS, REPEATS = 100_000, 5, 8
NPM = Path(__file__).parent.parent / "npm"
PROGRAM = """
#define SYNOVIA_IMPLEMENTATION
#include "synovia.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    static double bytes[1 << 20];
    size_t count = COUNT;
    double *given = malloc(32 * count), *out = malloc(32 * count), *away = malloc(8 * count);
    SynoviaLimits limits;
    FILE *file = fopen(argv[argc - 2], "rb");
    if (synovia_load(&limits, bytes, fread(bytes, 1, sizeof bytes, file)) != 0) return 2;
    file = fopen(argv[argc - 1], "rb");
    if (fread(given, 32, count, file) != count) return 3;
    for (int limit = 0; limit < synovia_limit_count(&limits); limit++) {
        synovia_project_many(&limits, limit, given, out, away, count);
        clock_t least = 0;
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            clock_t start = clock();
            synovia_project_many(&limits, limit, given, out, away, count);
            clock_t took = clock() - start;
            if (repeat == 0 || took < least) least = took;
        }
        printf("%.9f ", (double)least / CLOCKS_PER_SEC);
    }
    return 0;
}
"""
SCRIPT = """
import { readFileSync } from "node:fs";
const { loadLimits } = await import(process.argv[2]);
const limits = await loadLimits(readFileSync(process.argv[3]));
const given = new Float64Array(new Uint8Array(readFileSync(process.argv[4])).buffer);
const out = new Float64Array(given.length);
const times = [];
for (const joint of limits.limited) {
  limits.projectMany(joint, given, out);
  let least = Infinity;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const start = process.cpuUsage();
    limits.projectMany(joint, given, out);
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1e6);
  }
  times.push(least);
}
console.log(times.join(" "));
"""


def limits() -> dict[str, Limit]:
    """Return a limit of each family, so that about half of the rotations are outside."""
    cloud = 0.38 * np.random.default_rng(1).normal(size=(5000, 3)) * (0.9, 0.7, 0.5)
    rotations, axis = quat.exp(cloud), np.array([1.0, 0.0, 0.0])
    found = {name: Limit.fit(rotations, name) for name in ("box", "ellipsoid", "kdop")}
    for name in ("product", "reach-cone", "theta-phi"):
        found[name] = Limit.fit(rotations, name, axis=axis)
    return found | {"distance-field": Limit.fit(rotations, "distance-field")}


def seconds_of(command: Sequence[object]) -> np.ndarray:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return np.array(done.stdout.split(), float)


def library_seconds(regions: dict[str, Limit], rotations: np.ndarray) -> np.ndarray:
    out, found = np.empty(rotations.size), []
    for limit in regions.values():
        least = np.inf
        for _ in range(REPEATS):
            start = process_time()
            kernels.limit.project(rotations.ravel(), limit.packed, TOLERANCE, out)
            least = min(least, process_time() - start)
        found.append(least)
    return np.array(found)


def main() -> None:
    regions = limits()
    cloud = np.random.default_rng(0).normal(size=(COUNT, 3)) * (0.9, 0.7, 0.5)
    rotations = quat.exp(cloud)
    names = ("root", *regions)
    skeleton = Skeleton(names, np.arange(-1, len(regions)), np.zeros((len(names), 3)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_limits(LimitModel(regions, skeleton), folder / "a.limits.bin")
        rotations.tofile(folder / "rotations")
        files = [folder / "a.limits.bin", folder / "rotations"]
        (folder / "synovia.h").write_text(header_text(), encoding="utf-8")
        (folder / "time.c").write_text(
            f"#define COUNT {COUNT}\n#define REPEATS {REPEATS}\n{PROGRAM}"
        )
        flags = [flag for flag in FLAGS if flag != "-std=c11"] + fast_flags(find_compiler())
        flags += AVX2 if platform.machine() in ("x86_64", "AMD64") else []
        build = [*find_compiler(), *flags, "-std=c99", folder / "time.c", "-lm"]
        subprocess.run([*map(str, build), "-o", str(folder / "time")], check=True)
        runs = {"C header": [folder / "time", *files]}
        if zig_compiler() and shutil.which("node"):
            shutil.copy(NPM / "index.js", folder / "index.mjs")
            compile_wasm(folder / "synovia.wasm")
            (folder / "time.mjs").write_text(f"const REPEATS = {REPEATS};\n{SCRIPT}")
            runs["WebAssembly"] = ["node", folder / "time.mjs", folder / "index.mjs", *files]
        library_seconds(regions, rotations)
        times: dict[str, list[np.ndarray]] = {"library": [], **{each: [] for each in runs}}
        for _ in range(ROUNDS):
            times["library"].append(library_seconds(regions, rotations))
            for each, command in runs.items():
                times[each].append(seconds_of(command))
    least = {each: np.min(found, axis=0) for each, found in times.items()}
    print(f"{'ns a projection':<18}{'library':>9}" + "".join(f"{each:>22}" for each in runs))
    for k, region in enumerate(regions):
        row = f"{region:<18}{least['library'][k] / COUNT * 1e9:>9.0f}"
        for each in runs:
            ratio = least[each][k] / least["library"][k]
            row += f"{least[each][k] / COUNT * 1e9:>12.0f}, ratio {ratio:.2f}"
        print(row)
    print(f"C: {' '.join(flags)}")
    print("bars: C at most 1.1, WebAssembly at most 3 times the library")


if __name__ == "__main__":
    main()
