"""Two rotations of a bone that put two of its points onto an ellipsoid.

In the frame where the ellipsoid is the unit sphere, a point that rotates about an axis moves on an
ellipse q(t) = a + b cos t + c sin t, and f(t) = |q(t)|² - 1 = k₀ + k₁ cos t + k₂ sin t + k₃ cos 2t
+ k₄ sin 2t has two harmonics. The root of f nearest to 0 is bracketed in steps from 0 outwards on
both sides, then found by Newton's method, safeguarded by bisection.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .jit import kernel
from .layout import Layout
from .rotation import half_angle
from .vector import (
    ZERO,
    about,
    apply,
    cross,
    dot,
    mat3_at,
    mat3_product,
    matrix_of,
    norm,
    set_transform,
    transform_at,
    vec3_at,
)

LAYOUT = Layout("scapula", axis=3, center=3, shrink=9, pairs=18)
"""First axis, centre of the ellipsoid, its matrix to the unit sphere, pairs of points."""
STEPS = 48  # of half a rotation to each side, in which a root or a closest approach is bracketed
ITERATIONS = 80  # at most: bisections, where Newton's steps do not do better
CLOSE = 1e-12  # of f: points as near as this are on the sphere
GRID = np.pi / STEPS * np.arange(STEPS + 1)
GRID_COSINE, GRID_SINE = np.cos(GRID), np.sin(GRID)

Harmonics = namedtuple("Harmonics", ["k0", "k1", "k2", "k3", "k4"])


@kernel
def value(k, c, s):
    """Return f(t), given the cosine and the sine of t."""
    return k.k0 + k.k1 * c + k.k2 * s + k.k3 * (c * c - s * s) + 2.0 * k.k4 * c * s


@kernel
def slope(k, c, s):
    """Return f'(t), given the cosine and the sine of t."""
    return k.k2 * c - k.k1 * s - 4.0 * k.k3 * c * s + 2.0 * k.k4 * (c * c - s * s)


@kernel
def second_derivative(k, c, s):
    """Return f''(t), given the cosine and the sine of t."""
    return -k.k1 * c - k.k2 * s - 4.0 * k.k3 * (c * c - s * s) - 8.0 * k.k4 * c * s


@kernel
def bracketed_root(k, near, far, of_slope):
    """Return a root of f, or of f' if `of_slope`, between two angles where its signs differ."""
    c, s = half_angle(2.0 * near)
    positive = (slope(k, c, s) if of_slope else value(k, c, s)) > 0.0
    t = 0.5 * (near + far)
    for _ in range(ITERATIONS):
        c, s = half_angle(2.0 * t)
        height = slope(k, c, s) if of_slope else value(k, c, s)
        steep = second_derivative(k, c, s) if of_slope else slope(k, c, s)
        if (height > 0.0) == positive:
            near = t
        else:
            far = t
        after = t - height / steep if steep != 0.0 else near
        if not min(near, far) < after < max(near, far):
            after = 0.5 * (near + far)
        if abs(after - t) <= 1e-16 * abs(t) or after in (near, far):
            return after
        t = after
    return t


@kernel
def approach(k, side, steps):
    """Return the first root of f within some grid steps to a side, 0, and the number of its step.

    Without a root, the closest approach and |f| there. An interval whose ends have the same sign
    may still have two roots between them: then f has an extremum there.
    """
    start, best, rose = value(k, 1.0, 0.0), 0.0, slope(k, 1.0, 0.0) > 0.0
    gap, outside = abs(start), start > 0.0
    for step in range(1, steps + 1):
        near, far = side * GRID[step - 1], side * GRID[step]
        c, s = GRID_COSINE[step], side * GRID_SINE[step]
        height, rises = value(k, c, s), slope(k, c, s) > 0.0
        if (height > 0.0) != outside:
            return bracketed_root(k, near, far, False), 0.0, step
        if abs(height) < gap:
            best, gap = far, abs(height)
        if rises != rose:
            middle = bracketed_root(k, near, far, True)
            c, s = half_angle(2.0 * middle)
            height = value(k, c, s)
            if (height > 0.0) != outside:
                return bracketed_root(k, near, middle, False), 0.0, step
            if abs(height) < gap:
                best, gap = middle, abs(height)
        rose = rises
    return best, gap, steps


@kernel
def nearest_root(k):
    """Return the angle of least size that puts the point on the sphere, and the gap that is left.

    The gap is 0 at a root. Without one, the closest approach and its distance from the sphere are
    returned.
    """
    if abs(value(k, 1.0, 0.0)) <= CLOSE:
        return 0.0, 0.0
    best, gap, steps = approach(k, 1.0, STEPS)
    other, other_gap, _ = approach(k, -1.0, steps)
    if other_gap < gap or (other_gap == gap and abs(other) < abs(best)):
        best, gap = other, other_gap
    if gap <= CLOSE:
        return best, 0.0
    c, s = half_angle(2.0 * best)
    return best, abs(np.sqrt(max(1.0 + value(k, c, s), 0.0)) - 1.0)


@kernel
def harmonics_about(axis, point, into, shift):
    """Return the harmonics of a point that rotates about a unit axis of the bone.

    `into` and `shift` are the transform from the bone to the frame where the ellipsoid is a sphere.
    """
    along = dot(axis, point) * axis
    a, b = apply(into, along) + shift, apply(into, point - along)
    c = apply(into, cross(axis, point))
    bb, cc = dot(b, b), dot(c, c)
    return Harmonics(
        dot(a, a) + 0.5 * (bb + cc) - 1.0,
        2.0 * dot(a, b),
        2.0 * dot(a, c),
        0.5 * (bb - cc),
        dot(b, c),
    )


@kernel
def matrix_about(axis, angle):
    """Return the matrix of the rotation about a unit axis by an angle of at most 2.5 π."""
    c, s = half_angle(angle)
    return matrix_of(about(axis, c, s))


@kernel
def blend(p, o, u, w):
    """Return the point at `o` of the three pairs, mixed by lift u and rotation w in [0, 1]."""
    mixed = (1.0 - u) * vec3_at(p, o + 6) + u * vec3_at(p, o)
    return (1.0 - w) * mixed + w * vec3_at(p, o + 12)


@kernel
def scapula(p, places, work):
    """Write both rotations as one transform, their angles, and the gap to the ellipsoid.

    `places` are the offsets of transform, lift and rotation, then of the results in order.
    """
    axis, center = vec3_at(p, LAYOUT.axis), vec3_at(p, LAYOUT.center)
    shrink, given = mat3_at(p, LAYOUT.shrink), transform_at(work, places[0])
    u, w = min(max(work[places[1]], 0.0), 1.0), min(max(work[places[2]], 0.0), 1.0)
    one, other = blend(p, LAYOUT.pairs, u, w), blend(p, LAYOUT.pairs + 3, u, w)
    into, shift = mat3_product(shrink, given.turn), apply(shrink, given.shift - center)
    theta, off = nearest_root(harmonics_about(axis, one, into, shift))
    first, psi, far = matrix_about(axis, theta), 0.0, norm(one)
    line = one / far if far > 0.0 else ZERO
    if far > 0.0:
        into = mat3_product(into, first)
        psi, rest = nearest_root(harmonics_about(line, other, into, shift))
        off = max(off, rest)
    set_transform(work, places[3], mat3_product(first, matrix_about(line, psi)), ZERO)
    work[places[4]], work[places[5]], work[places[6]] = theta, psi, off
