"""Packed limits, `*.limits.bin`: a model as programs without Python read it; see docs/runtime.md.

One flat buffer of float64, little-endian: `kernels.runtime` tells where things stand.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import runtime as layout
from ..model import LimitModel

SUFFIX = ".limits.bin"


def packed_limits_bytes(model: LimitModel) -> bytes:
    """Return what a packed limits file of `model` holds; ValueError where a limit has no kernel."""
    from ..ik.problem import freedom_of

    model, skeleton = model.joint_by_joint("the runtime"), model.skeleton
    named = sorted(model.limits.items(), key=lambda each: skeleton.index(each[0]))
    for name, limit in named:
        if not limit.compiled:
            raise ValueError(
                f"the limit of {name} cannot be packed: a {limit.shape.name} in the chart "
                f"{limit.chart.name} has no kernel; convert it, as to a distance-field"
            )
    texts = [name.encode() for name in skeleton.names]
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    text = b"".join(texts)
    text += bytes(-len(text) % 8)
    packed = [limit.packed for _, limit in named]
    tables: list[Floats] = [
        np.asarray(skeleton.parents, np.float64),
        np.asarray(skeleton.offsets, np.float64).ravel(),
        starts.astype(np.float64),
        np.frombuffer(text, np.float64),
        np.zeros(layout.ROW * len(named)),
        *packed,
    ]
    first = layout.FILE_HEADER + np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    for k, (name, limit) in enumerate(named):
        above = limit.relative_to
        base = layout.PARENT if above is None else skeleton.index(above)
        axes = freedom_of(limit).axes
        hinge = axes[0] if len(axes) == 1 else np.zeros(3)
        row = skeleton.index(name), base, first[5 + k], *hinge
        tables[4][layout.ROW * k : layout.ROW * (k + 1)] = row
    header = np.zeros(layout.FILE_HEADER)
    header[layout.MAGIC : layout.MAGIC + 1].view(np.int64)[0] = layout.BEGINS
    header[layout.FILE_VERSION], header[layout.FILE_SIZE] = layout.FORMAT, first[-1]
    header[layout.JOINTS], header[layout.LIMITS] = len(skeleton.names), len(named)
    header[layout.PARENTS : layout.FILE_HEADER] = first[:5]
    whole = np.concatenate([header, *tables])
    whole[layout.CHECKSUM] = layout.sum_of(whole)
    wrong = layout.check_file(whole)
    if wrong != layout.WHOLE:
        raise ValueError(f"these limits cannot be packed: numbers are out of range (code {wrong})")
    return whole.astype("<f8").tobytes()
