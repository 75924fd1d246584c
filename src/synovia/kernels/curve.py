"""Curves of one number: piecewise cubic, applied to many lanes; and what depends on them.

A packed curve, from `o` on: how many numbers in all, factors of what comes in and goes out, least
and greatest result, 1 if it goes on straight beyond its ends (else it holds them), the number of
pieces, the inner knots, then each piece's start and four coefficients, lowest power first, and
last the end's knot, value and slope.
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import LANES

IN, OUT, LOW, HIGH, EXTEND, COUNT, KNOTS = 1, 2, 3, 4, 5, 6, 7


@kernel
def evaluate(p, o, given):
    """Return the value of the curve at `given`."""
    x, count = given * p[o + IN], int(p[o + COUNT])
    number = 0
    for k in range(count - 1):
        number += 1 if x > p[o + KNOTS + k] else 0
    first = o + KNOTS + count - 1
    end = first + 5 * count
    extends = p[o + EXTEND] > 0.0
    if x < p[first]:
        y = p[first + 1] + (p[first + 2] * (x - p[first]) if extends else 0.0)
    elif x > p[end]:
        y = p[end + 1] + (p[end + 2] * (x - p[end]) if extends else 0.0)
    else:
        piece = first + 5 * number
        t = x - p[piece]
        y = p[piece + 1] + t * (p[piece + 2] + t * (p[piece + 3] + t * p[piece + 4]))
    y = p[o + LOW] if y < p[o + LOW] else y
    return p[o + OUT] * (p[o + HIGH] if y > p[o + HIGH] else y)


@kernel
def evaluate_lanes(p, o, work, a, out, to, n):
    """Write the values of the curve at `o` for n numbers of `work` from `a` on."""
    for i in range(n):
        out[to + i] = evaluate(p, o, work[a + i])


@kernel
def mapping(p, given, outs, n, stride, work):
    """Write the value of every curve at `given`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = 0
        for k in range(outs.shape[0]):
            evaluate_lanes(p, o, work, base + given, work, base + outs[k], m)
            o += int(p[o])


@kernel
def bounded(lower, upper, driver, given, out, n, stride, work):
    """Write `given` brought between the values of the curves; an empty one is no bound."""
    least, most = np.full(LANES, -np.inf), np.full(LANES, np.inf)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        if lower.shape[0] > 0:
            evaluate_lanes(lower, 0, work, base + driver, least, 0, m)
        if upper.shape[0] > 0:
            evaluate_lanes(upper, 0, work, base + driver, most, 0, m)
        a, to = base + given, base + out
        for i in range(m):
            y = work[a + i]
            y = least[i] if y < least[i] else y
            work[to + i] = most[i] if y > most[i] else y


@kernel("f8[] f8[] f8[]")
def values(p, given, out):
    """Write the curve's value at each number."""
    for i in range(given.shape[0]):
        out[i] = evaluate(p, 0, given[i])
