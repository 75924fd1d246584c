"""Curves of one number: piecewise cubic, applied to many lanes; and what depends on them.

A packed curve, from `o` on: how many numbers in all, factors of what comes in and goes out, least
and greatest result, 1 if it goes on straight beyond its ends (else it holds them), the number of
pieces, the inner knots, then each piece's start and four coefficients, lowest power first, and
last the end's knot, value and slope.
"""

from __future__ import annotations

import numpy as np

from .cone_edges import place_of
from .jit import kernel
from .transforms import LANES

IN, OUT, LOW, HIGH, EXTEND, COUNT, KNOTS = 1, 2, 3, 4, 5, 6, 7
FEW = 3  # pieces, which are quicker tried one by one than looked for


@kernel
def valued(p, o, given):
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
def spread(p, o, work, a, to, n):
    """Write the values of a curve of few pieces, each for all lanes: vector code."""
    a, to = place_of(a), place_of(to)
    count = int(p[o + COUNT])
    first = o + KNOTS + count - 1
    begin, end = p[first], p[first + 5 * count]
    factor, out, low, high = p[o + IN], p[o + OUT], p[o + LOW], p[o + HIGH]
    for k in range(count):
        piece = first + 5 * k
        knot, c0, c1, c2, c3 = p[piece], p[piece + 1], p[piece + 2], p[piece + 3], p[piece + 4]
        for i in range(n):
            x = factor * work[a + i]
            inner = begin if x < begin else x
            inner = end if inner > end else inner
            t = inner - knot
            y = c0 + t * (c1 + t * (c2 + t * c3))
            y = low if y < low else y
            y = out * (high if y > high else y)
            work[to + i] = y if (k == 0) | (x > knot) else work[to + i]


@kernel
def mapping(p, given, outs, n, stride, work):
    """Write the value of every curve at `given`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = 0
        for k in range(outs.shape[0]):
            a, to = base + given, base + outs[k]
            if p[o + COUNT] <= FEW and p[o + EXTEND] == 0.0:
                spread(p, o, work, a, to, m)
            else:
                for i in range(m):
                    work[to + i] = valued(p, o, work[a + i])
            o += int(p[o])


@kernel
def exact(p, driver, out, n, stride, work):
    """Write the curve's value at `driver`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for i in range(m):
            work[base + out + i] = valued(p, 0, work[base + driver + i])


@kernel
def bounded(lower, upper, driver, given, out, n, stride, work):
    """Write `given` brought between the values of the curves; an empty one is no bound."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        for i in range(m):
            at = work[base + driver + i]
            least = valued(lower, 0, at) if lower.shape[0] > 0 else -np.inf
            most = valued(upper, 0, at) if upper.shape[0] > 0 else np.inf
            y = work[base + given + i]
            y = least if y < least else y
            work[base + out + i] = most if y > most else y


@kernel
def values(p, given, out):
    """Write the curve's value at each number."""
    for i in range(given.shape[0]):
        out[i] = valued(p, 0, given[i])
