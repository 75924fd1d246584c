"""The chain rule through a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from .block import LANES, WIDTH, evaluated

if TYPE_CHECKING:
    from .network import Network


def tangents(network: Network, table: Floats) -> dict[str, Floats]:
    """Return how every source changes with the controls, (n, its width, all controls' width).

    `table` has the controls side by side, (n, width).
    """
    plan = network.whole_plan
    everything = LANES * np.arange(plan.rows)
    takes = plan.columns(network.controls, network.sources)
    values = evaluated(plan.steps, plan.rows, table, takes, everything)
    found: dict[str, Floats] = {}
    first, total = 0, table.shape[1]
    for control, kind in network.kinds.items():
        share = np.eye(total)[first : first + WIDTH[kind]]
        found[control] = np.broadcast_to(share, (len(table), *share.shape))
        first += WIDTH[kind]
    for name in network.order:
        component = network.components[name]
        given: list[Floats] = []
        moves: list[Floats] = []
        for port, kind in component.inputs.items():
            source = network.wires.get(f"{name}.{port}")
            width = WIDTH[kind]
            if source is None:
                constant = np.asarray(component.defaults[port], dtype=np.float64)
                constant = constant[:3] if kind == "matrix" else constant
                given.append(np.broadcast_to(constant.ravel(), (len(table), width)))
                moves.append(np.zeros((len(table), width, total)))
            else:
                row = plan.places[source] // LANES
                given.append(values[:, row : row + width])
                moves.append(found[source])
        change = component.partials(np.concatenate(given, axis=1)) @ np.concatenate(moves, axis=1)
        first = 0
        for port, kind in component.outputs.items():
            found[f"{name}.{port}"] = change[:, first : first + WIDTH[kind]]
            first += WIDTH[kind]
    return found
