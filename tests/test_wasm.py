"""The kernels as WebAssembly, in Node: the same answers as here."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from oracles import SEEN, fitted, placed, random_quats
from synovia.limit import Limit

WASM = os.environ.get("SYNOVIA_WASM", "")
pytestmark = [
    pytest.mark.skipif(not WASM, reason="`make wheels` compiles it and sets SYNOVIA_WASM"),
    pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed"),
]
FORMATS = {"float64": "d", "float32": "f"}


class Job:
    """Calls of entries, whose arrays go through files."""

    def __init__(self, folder):
        self.folder, self.calls, self.files = folder, [], 0

    def array(self, values, back=False):
        self.files += 1
        file = self.folder / f"{self.files}.bin"
        values.tofile(file)
        return {
            "file": str(file), "shape": values.shape, "back": back,
            "kind": f"{FORMATS[values.dtype.name]}{values.ndim}",
        }  # fmt: skip

    def call(self, entry, *values):
        kinds = "".join("d0" if isinstance(v, float) else v["kind"] for v in values)
        self.calls.append({"entry": entry, "kinds": kinds, "values": values})

    def run(self):
        file = self.folder / "job.json"
        file.write_text(json.dumps(self.calls))
        runner = Path(__file__).with_name("run_wasm.mjs")
        done = subprocess.run(
            ["node", runner, WASM, file], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr


def test_limits_of_every_family_give_the_same_rotations(tmp_path, rng):
    rotations = random_quats(4000, rng)
    job, expected = Job(tmp_path), {}
    for case, chart in SEEN:
        limit = Limit(placed(chart), fitted(case, "tilted"))
        if not limit.compiled:
            continue
        out = job.array(np.zeros(rotations.size), back=True)
        job.call("limit_project", job.array(rotations.ravel()), job.array(limit.packed), 1e-9, out)
        expected[case, chart] = (Path(out["file"]), limit.project(rotations))
    job.run()
    assert len(expected) > 10
    for (case, chart), (file, here) in expected.items():
        there = np.fromfile(file).reshape(-1, 4)
        still = (here == rotations).all(axis=1)
        np.testing.assert_array_equal(there[still], here[still], err_msg=f"{case} {chart}")
        np.testing.assert_allclose(there, here, atol=1e-12, err_msg=f"{case} in {chart}")
