"""The least margin for a rejection, by few trials: to grow a limit takes longer than to guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arrays import Floats, Scalars


def halve_steps(low: float, high: float, halvings: int) -> Floats:
    """Return the ends of 2 ** `halvings` equal steps from `low` to `high`: (n,).

    They are those that halving the way between the two meets, bit for bit.
    """
    ends = np.array([low, high])
    for _ in range(halvings):
        finer = np.empty(2 * len(ends) - 1)
        finer[::2], finer[1::2] = ends, 0.5 * (ends[1:] + ends[:-1])
        ends = finer
    return ends


def least_margin(
    rejected: Callable[[float], float],
    reject: float,
    candidates: Floats,
    required: Sequence[Scalars],
) -> float:
    """Return the least of the `candidates` (n,), in radians, that rejects at most `reject`.

    What is rejected must not rise with the margin; then the result is that of a search by halves,
    however good the guess is. The greatest candidate is returned where all others reject more.

    Parameters
    ----------
    rejected
        The mean share of frames outside at a margin: what takes time.
    reject
        The share that may be outside.
    candidates
        Margins that grow.
    required
        About the margin from which each frame is inside, (m,), one array for each who is held out.
    """
    inside = [np.searchsorted(np.sort(each), candidates, "right") / len(each) for each in required]
    predicted = 1.0 - np.mean(inside, axis=0)

    def margin_of(share: float) -> float:
        """Return the margin at which so much was to be expected outside."""
        enough = np.flatnonzero(predicted <= share)
        return float(candidates[enough[0] if len(enough) else -1])

    aim, failed, passed, step = margin_of(reject), -1, len(candidates) - 1, 1
    # Margins, and those at which the same was to be expected: about a straight line.
    low, high = (candidates[0], candidates[0]), (candidates[-1], candidates[-1])
    while passed - failed > 1:
        share = (aim - low[1]) / (high[1] - low[1]) if high[1] > low[1] else 0.5
        at = int(np.searchsorted(candidates, low[0] + share * (high[0] - low[0])))
        # Steps of 1, 1, 2, 4, … from what is known, so that poor guesses end soon, too.
        least = min(max(step // 2, 1), (passed - failed) // 2)
        at, step = min(max(at, failed + least), passed - least), 2 * step
        found = rejected(float(candidates[at]))
        point = float(candidates[at]), margin_of(found)
        if found <= reject:
            passed, high = at, point
        else:
            failed, low = at, point
    return float(candidates[passed])
