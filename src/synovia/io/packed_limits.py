"""Packed limits, `*.limits.bin`: a model as programs without Python read it; see docs/runtime.md.

One flat buffer of float64, little-endian: `kernels.runtime_file` describes the layout.
"""

from __future__ import annotations

import numpy as np

from ..kernels import runtime_file as layout
from ..kernels.dependent import MAX_DIVISIONS, MAX_TURNS, NODES
from ..kernels.layout import HINGES, MAX_NUMBER, MAX_REACH
from ..limit import Limit
from ..model import LimitModel, joint_by_joint, without_limbs

SUFFIX = ".limits.bin"


def packed_limits_bytes(model: LimitModel) -> bytes:
    """Return what a packed limits file of `model` holds; ValueError where a limit has no kernel."""
    from ..ik.problem import freedom_of

    model = without_limbs(model, "the runtime")
    skeleton, driven = model.skeleton, _pairs_of(model)
    packed_names = {name for _, names in driven for name in names}
    lost = {
        name: dependent for name, dependent in model.dependents.items() if name not in packed_names
    }
    joint_by_joint(model.with_limits(model.limits, lost), "the runtime")  # refuses groups, warns
    named = sorted(model.limits.items(), key=lambda dependent: skeleton.index(dependent[0]))
    for name, limit in named:
        if not limit.compiled:
            raise ValueError(
                f"the limit of {name} cannot be packed: a {limit.shape.name} in the chart "
                f"{limit.chart.name} has no kernel; convert it, as to a distance-field"
            )
    if _joints_between(model) > layout.MAX_BETWEEN:
        raise ValueError(
            f"this model cannot be packed: there are more than {layout.MAX_BETWEEN:,} joints "
            "between limits and the ancestors that they are measured from"
        )
    texts = [name.encode() for name in skeleton.names]
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    text = b"".join(texts)
    text += bytes(-len(text) % 8)
    dependents = [model.dependents[name] for _, names in driven for name in names]
    row_size, pair_size = layout.ROW.SIZE * len(named), layout.PAIR.SIZE * len(dependents)
    tables = [
        np.asarray(skeleton.parents, np.float64),
        np.asarray(skeleton.offsets, np.float64).ravel(),
        starts.astype(np.float64),
        np.frombuffer(text, np.float64),
    ]
    packed = [*(limit.packed for _, limit in named), *(each.packed for each in dependents)]
    sizes = [*map(len, tables), row_size, pair_size, *map(len, packed)]
    first = layout.FILE.SIZE + np.concatenate([[0], np.cumsum(sizes)])
    at_limits, at_dependents = first[6:], first[6 + len(named) :]
    for k, (name, limit) in enumerate(named):
        above = limit.relative_to
        axes = freedom_of(limit).axes
        tables.append(
            layout.ROW.pack(
                joint=skeleton.index(name),
                ancestor=layout.PARENT if above is None else skeleton.index(above),
                limit=at_limits[k],
                hinge=axes[0] if len(axes) == 1 else np.zeros(3),
            )
        )
    rows = {name: k for k, (name, _) in enumerate(named)}
    pairs = [(driver, name) for driver, names in driven for name in names]
    for k, (driver, name) in enumerate(pairs):
        tables.append(
            layout.PAIR.pack(
                row=rows[name],
                driver=skeleton.index(driver),
                driver_row=rows.get(driver, -1),
                numbers=at_dependents[k],
            )
        )
    header = layout.FILE.pack(
        magic=layout.BEGINS,
        version=layout.FORMAT,
        size=first[-1],
        checksum=0.0,
        joints=len(skeleton.names),
        limits=len(named),
        parents=first[0],
        offsets=first[1],
        names=first[2],
        text=first[3],
        rows=first[4],
        pairs=len(pairs),
        pair_rows=first[5],
    )
    content = np.concatenate([header, *tables, *packed])
    content[layout.FILE.checksum] = layout.checksum(content)
    if layout.check_file(content) != layout.WHOLE_FILE:
        raise ValueError(
            f"{_out_of_range(model, [name for _, name in pairs])} cannot be packed: a number of it "
            f"is out of range (all within {MAX_NUMBER:g}, angles within 100 radians, a "
            f"limit within {MAX_REACH:g} of its reference; "
            "docs/runtime.md says how many there may be)"
        )
    return content.astype("<f8").tobytes()


def _joints_between(model: LimitModel) -> int:
    """Return how many joints are between limits and their `relative_to`, of all limits."""
    names, depths = model.skeleton.names, dict[str, int]()
    for name, parent in zip(names, model.skeleton.parents.tolist(), strict=True):
        depths[name] = 0 if parent < 0 else depths[names[parent]] + 1  # parents come first
    return sum(
        depths[name] - depths[limit.relative_to] - 1
        for name, limit in model.limits.items()
        if limit.relative_to is not None
    )


def _is_searchable(limit: Limit | None) -> bool:
    """Return True if the runtime can search pairs with this limit of a joint."""
    return limit is None or (limit.compiled and limit.chart.kernel != HINGES)


def _pairs_of(model: LimitModel) -> list[tuple[str, list[str]]]:
    """Return drivers with their dependent joints, as many as the runtime supports."""
    dependents: dict[str, list[str]] = {}
    for name, dependent in model.dependents.items():
        driver, limit = model.limits.get(dependent.driver), dependent.limit
        small = dependent.packed[NODES.divisions] <= MAX_DIVISIONS
        small = small and dependent.packed[NODES.turns] <= MAX_TURNS
        room = len(dependents.get(dependent.driver, ())) < layout.MAX_DEPENDENTS
        room = room and sum(map(len, dependents.values())) < layout.MAX_PAIRS
        if small and room and _is_searchable(limit) and _is_searchable(driver):
            dependents.setdefault(dependent.driver, []).append(name)
    return list(dependents.items())


def _out_of_range(model: LimitModel, dependent: list[str]) -> str:
    """Return what of a model has numbers that the runtime refuses, by the name of its joint."""
    for name, offset in zip(model.skeleton.names, model.skeleton.offsets, strict=True):
        if not layout.are_finite(np.asarray(offset, np.float64), 0, 3):
            return f"the offset of {name}"
    for name, limit in model.limits.items():
        if not layout.check_limit(limit.packed, 0):
            return f"the limit of {name}"
    for name in dependent:
        dependence = model.dependents[name]
        if not layout.check_numbers(dependence.packed, 0) > 0:
            return f"the dependence of {name} on {dependence.driver}"
    return "this model"
