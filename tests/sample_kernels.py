"""Kernels that do one thing of the subset each, to compare their C with their Python."""

from __future__ import annotations

import math

import numpy as np

from synovia.kernels.jit import bundle, kernel
from synovia.kernels.layout import Layout
from synovia.kernels.vector import Vec3, conj, cross, dot, quat_at, set_quat, vec3_at

TABLE = np.array([1.5, -2.0, 4.0])
COUNT = 3
ROW = Layout("row", rotation=4, axis=3)
UNIT = Vec3(0.0, 0.0, 1.0)
Pair = bundle("Pair", numbers="f8[]", places="i8[,]", scale="f8")


@kernel("i8 i8")
def round_down(a, b):
    return a // b, a % b, (a << 2) ^ (b & 3) | 1, a >> 1


@kernel("f8 f8")
def order(a, b):
    return max(a, b), min(a, b), max(b, a, 0.0), abs(a), int(a), float(int(b))


@kernel("f8 f8")
def compare(a, b):
    inner = 0.0 < a <= b
    other = (a == 1.0 or b > 2.0) and not inner
    return inner, other, (a > b) | (a != a), a in (1.0, 2.0), 1.0 * (a < b)


@kernel("i8 i8 i8")
def loops(first, last, step):
    total, k = 0, -1
    for k in range(first, last, step):
        if k == 7:
            continue
        if k > 40:
            break
        total += k
    for j in range(last, first, -2):
        total += 1000 * j
        j = 0
    while total > 10_000:
        total -= 999
    return total, k


@kernel
def rows_of(block, k):
    return (block[k], block[k + 1]), block[k] > 0.0


@kernel("f8[] f8[,,] f8[,]")
def arrays(flat, cube, out):
    deep, rows = cube.shape[0], cube[1]
    part, new = flat[2:5], np.zeros(COUNT)
    for i in range(COUNT):
        new[i] += part[i] * TABLE[i]
    (low, high), positive = rows_of(flat, 1)
    pair = (low, high)
    for i in range(rows.shape[0]):
        for j in range(cube.shape[2]):
            out[i, j] = rows[i, j] + new[j] + pair[j % 2] + deep
    out[0, 0], out[0, 1] = out[0, 1], out[0, 0]
    return out.shape[0] if positive else out.shape[1], max(cube.shape[0], cube.shape[1])


@kernel("i8 f8[]")
def allocate(n, out):
    table, seen = np.zeros((n, 2)), np.zeros(n, np.bool_)
    for i in range(n):
        table[i, 1] = i * i
        seen[i] = i % 3 == 0
    for i in range(n):
        out[i] = table[i, 1] if seen[i] else -1.0


@kernel
def new_table(n):
    return np.zeros(4), np.empty(n)


@kernel("i8 f8[]")
def take_table(n, out):
    first, rest = new_table(n)
    again, _ = new_table(n)
    for i in range(n):
        rest[i] = 2.0
    for i in range(4):
        first[i], again[i] = i + 1.0, -1.0
    for i in range(n):
        out[i] = first[i % 4] * rest[i]


@kernel("f8[] f8[]", "f4[] f4[]")
def types(given, out):
    for i in range(given.shape[0]):
        out[i] = np.sqrt(float(given[i]) ** 2 + 1.0) * i


@kernel("f8[] f8[] f8[]")
def choose(given, least, out):
    for i in range(given.shape[0]):
        out[i] = given[i] if given[i] > out[i] else out[i]
        least[i] = least[i] if least[i] < given[i] else out[i]
        least[i] = max(least[i], given[i]) if out[i] > 1.0 else least[i]


@kernel("b1[] i8[]")
def flagged(flags, numbers):
    total = 0
    for i in range(flags.shape[0]):
        total += numbers[i] if flags[i] and 20 <= numbers[i] <= 200 else -1
    return total


@kernel("Pair f8[]")
def bundled(pair, out):
    for i in range(pair.places.shape[0]):
        out[i] = pair.scale * pair.numbers[pair.places[i, 1]]


@kernel("f8 f8")
def functions(a, b):
    c = math.sin(a) + np.cos(b) + math.atan2(a, b) + np.arccos(0.5) + np.rint(a) + np.floor(b)
    return c, np.copysign(a, -b)


@kernel("f8[] f8[]", "f4[] f4[]")
def records(given, out):
    q, v = quat_at(given, 0), vec3_at(given, ROW.axis)
    w = -(v - v / q.w) + q.x * cross(v, Vec3(v.y, v.z, v.x))
    product = q * conj(q) * q
    for k in range(3):
        out[k] = w[k] if k < ROW.SIZE - 5 else dot(v, w)
    x, _, _ = w
    set_quat(out, 3, product if x > v.x else -product)
    out[7], out[8] = product.w, UNIT.z


def not_of_kernels(x):
    return x
