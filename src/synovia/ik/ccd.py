"""Cyclic coordinate descent of a batch: one joint at a time, from the start alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from .descent import Batch, begun, ended, lightened, shared
from .problem import Problem
from .settings import Settings
from .solution import Solution

MOVES = 2000
"""Moves of one joint, unless given."""


def ccd(problem: Problem, settings: Settings, dtype: Any) -> Solution:
    """Return where the batch ends, as numbers of `dtype`."""
    batch = begun(problem)
    _sweep(problem.chain, batch, settings)
    problem, wishes = lightened(problem)
    if wishes:
        unmet = np.flatnonzero(~batch.met)
        pressed = batch.take(unmet)
        _sweep(problem.chain, pressed, settings)
        batch.put(unmet, pressed)
    return ended(problem, batch, settings, dtype)


def _sweep(chain: Any, batch: Batch, settings: Settings) -> None:
    """Bring all problems nearer to their goals, in at most `settings.iterations` moves each."""

    def part(here: slice) -> None:
        kernels.ik_ccd.ccd_each(
            *(chain, batch.targets[here], batch.lengths[here], settings.iterations),
            *(settings.largest_step, settings.tolerance),
            *(batch.rotations[here], batch.positions[here]),
            *(batch.steps[here], batch.left[here], batch.met[here]),
        )

    shared(len(batch.targets), settings.threads, part)
