"""Surfaces made beforehand: they take two seconds to make, and a hundredth of that to read.

`python -m synovia.body.build` writes them beside this file, and the wheel carries them. They are
used only where they were made by the code that is here; otherwise surfaces are made anew.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from .connectivity import Connectivity
from .surface import SKIN_STEPS, STEPS, Surface

HERE = Path(__file__).parent
FILE = HERE / "surfaces.npz"
SOURCES = ("body/*.py", "anatomy/*.py", "anatomy/*.toml", "components/*.py")
"""What surfaces depend on, below the package."""


@dataclass(frozen=True, eq=False)
class Stored:
    """Surfaces by kind; the skin with the joints (n, k) that its vertices go with, and weights."""

    surfaces: Mapping[str, Surface]
    skin: Surface
    joints: Ints
    weights: Floats


@cache
def load_stored() -> Stored | None:
    """Return the surfaces that were made by the code that is here; None where there are none."""
    try:
        with np.load(FILE) as found:
            if str(found["hash"]) != source_hash():
                return None
            return _unpack({name: found[name] for name in found.files})
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def source_hash() -> str:
    """Return a hash of all that surfaces are made from."""
    total = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(HERE.parent.glob(pattern)):
            total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def save_stored(made: Stored, path: Path = FILE) -> None:
    """Write surfaces, whose vertices are in the order of their walks."""
    every = [*made.surfaces.values(), made.skin]
    walks = [_walk(each) for each in every]
    counts = [STEPS] * len(made.surfaces) + [SKIN_STEPS]
    far = [float(np.abs(each.vertices).max()) for each in every]
    steps = np.array(far) / counts
    arrays = {
        "hash": np.array(source_hash()),
        "kinds": np.array(json.dumps(list(made.surfaces))),
        "sizes": np.array(
            [
                [len(each.vertices), len(each.triangles), len(walk.codes), len(walk.others)]
                for each, walk in zip(every, walks, strict=True)
            ]
        ),
        "steps": steps,
        "vertices": np.concatenate(
            [np.round(each.vertices / step) for each, step in zip(every, steps, strict=True)]
        ).astype(np.int16),
        "triangles": np.concatenate([_differences(each.triangles) for each in every]),
        "shares": np.concatenate([np.round(255.0 * each.shares) for each in every]).astype(
            np.uint8
        ),
        "codes": np.concatenate([walk.codes for walk in walks]).astype(np.uint8),
        "others": np.concatenate([walk.others for walk in walks]).astype(np.uint16),
        "bases": np.concatenate(
            [np.arange(len(walk.bases))[:, None] - walk.bases for walk in walks]
        ).astype(np.uint16),
        "joints": made.joints.astype(np.uint16),
        "weights": np.round(255.0 * made.weights).astype(np.uint8),
    }
    beside = path.with_suffix(".new")
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    beside.replace(path)


def _differences(triangles: Ints) -> NDArray[np.uint16]:
    """Return triangles in order of their least corner, as small numbers that wrap around."""
    turn = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3
    rolled = np.take_along_axis(triangles, turn, axis=1)
    rows = rolled[np.lexsort(rolled.T[::-1])]
    apart = np.column_stack([np.diff(rows[:, 0], prepend=0), rows[:, 1:] - rows[:, :1]])
    return apart.astype(np.uint16)


def _sums(apart: NDArray[np.uint16]) -> Ints:
    first = np.cumsum(apart[:, 0], dtype=np.uint16)
    others = first[:, None] + apart[:, 1:]
    return np.column_stack([first, others]).astype(np.int64)


def _walk(surface: Surface) -> Connectivity:
    if surface.connectivity is None:
        raise ValueError("surfaces are stored in the order of a walk, got one without")
    return surface.connectivity


def _unpack(arrays: Mapping[str, NDArray[Any]]) -> Stored:
    kinds = json.loads(str(arrays["kinds"]))
    ends = np.cumsum(arrays["sizes"], axis=0)
    starts = ends - arrays["sizes"]
    surfaces = []
    for start, end, step in zip(starts, ends, arrays["steps"], strict=True):
        (v, t, c, o), (ve, te, ce, oe) = start.tolist(), end.tolist()
        numbers = np.arange(ve - v)
        walk = Connectivity(
            numbers,
            arrays["codes"][c:ce],
            arrays["others"][o:oe].astype(np.int64),
            numbers[:, None] - arrays["bases"][v:ve],
        )
        surfaces.append(
            Surface(
                arrays["vertices"][v:ve] * float(step),
                _sums(arrays["triangles"][t:te]),
                arrays["shares"][v:ve] / 255.0,
                walk,
            )
        )
    *bones, skin = surfaces
    weights = arrays["weights"] / 255.0
    return Stored(
        dict(zip(kinds, bones, strict=True)),
        skin,
        arrays["joints"].astype(np.int64),
        weights / weights.sum(axis=1, keepdims=True),
    )
