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
def spread(p, o, work, a, out, to, n):
    """Write the values of a curve of few pieces, each for all lanes: vector code."""
    count = int(p[o + COUNT])
    first = o + KNOTS + count - 1
    begin, end = p[first], p[first + 5 * count]
    factor, scale, low, high = p[o + IN], p[o + OUT], p[o + LOW], p[o + HIGH]
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
            y = scale * (high if y > high else y)
            out[to + i] = y if (k == 0) | (x > knot) else out[to + i]


@kernel
def pick(p, o, work, a, out, to, n):
    """Write the values of a curve of many pieces: the numbers of these first, for all lanes."""
    count = int(p[o + COUNT])
    first = o + KNOTS + count - 1
    begin, end = p[first], p[first + 5 * count]
    factor, scale, low, high = p[o + IN], p[o + OUT], p[o + LOW], p[o + HIGH]
    piece = np.empty(LANES)
    for i in range(n):
        piece[i] = first
    for k in range(count - 1):
        knot = p[o + KNOTS + k]
        for i in range(n):
            piece[i] += 5.0 if factor * work[a + i] > knot else 0.0
    for i in range(n):
        x = factor * work[a + i]
        inner = begin if x < begin else x
        inner = end if inner > end else inner
        at = place_of(piece[i])
        t = inner - p[at]
        y = p[at + 1] + t * (p[at + 2] + t * (p[at + 3] + t * p[at + 4]))
        y = low if y < low else y
        out[to + i] = scale * (high if y > high else y)


@kernel
def follow(p, o, work, a, out, to, n):
    """Write the values of the curve at `o` for what stands in `work` from `a` on."""
    a, to = place_of(a), place_of(to)
    if p[o + EXTEND] > 0.0:
        for i in range(n):
            out[to + i] = valued(p, o, work[a + i])
    elif p[o + COUNT] <= FEW:
        spread(p, o, work, a, out, to, n)
    else:
        pick(p, o, work, a, out, to, n)


@kernel
def mapping(p, given, outs, n, stride, work):
    """Write the value of every curve at `given`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        o = 0
        for k in range(outs.shape[0]):
            follow(p, o, work, base + given, work, base + outs[k], m)
            o += int(p[o])


@kernel
def exact(p, driver, out, n, stride, work):
    """Write the curve's value at `driver`."""
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        follow(p, 0, work, base + driver, work, base + out, m)


@kernel
def bounded(lower, upper, driver, given, out, n, stride, work):
    """Write `given` brought between the values of the curves; an empty one is no bound."""
    least, most = np.full(LANES, -np.inf), np.full(LANES, np.inf)
    for start in range(0, n, LANES):
        base, m = start // LANES * stride, min(LANES, n - start)
        if lower.shape[0] > 0:
            follow(lower, 0, work, base + driver, least, 0, m)
        if upper.shape[0] > 0:
            follow(upper, 0, work, base + driver, most, 0, m)
        a, to = place_of(base + given), place_of(base + out)
        for i in range(m):
            y = work[a + i]
            y = least[i] if y < least[i] else y
            work[to + i] = most[i] if y > most[i] else y


@kernel
def values(p, given, out):
    """Write the curve's value at each number."""
    for i in range(given.shape[0]):
        out[i] = valued(p, 0, given[i])
