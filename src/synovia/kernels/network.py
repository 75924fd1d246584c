"""How the values of a network change with its controls: the chain rule, component by component.

Forward mode, for one pose: beside the first lane of the work space, where values are, there are
`rates` (rows, directions), how fast each row changes with each control. Every step of a figure's
program has a twin here, which reads the rates of its inputs and writes those of its outputs. Only
where a joint cone brings a bone back, or a scapula does not reach its ellipsoid, there are central
differences instead, of that component alone along each direction.
"""

from __future__ import annotations

import numpy as np

from .circle_quartic import CLOSE
from .curve import COUNT, EXTEND, HIGH, IN, KNOTS, LOW, OUT, evaluate
from .figure import (
    BOUNDED,
    COMPENSATION,
    EXACT,
    FILL,
    JOINT_CONE,
    MAPPING,
    PRODUCT,
    ROTATION,
    SCAPULA,
    TRANSLATION,
)
from .jit import kernel
from .joint_cone import REST, SENSE, half_turn, joint_cone, rotate_about, rotate_by_lane
from .scapula import AXIS, CENTER, PAIRS, SHRINK, scapula
from .transforms import LANES
from .vector import Vec3, axis_vector, cross, dot, norm, vec3_at

MAX_DIRECTIONS = LANES // 2
"""Directions at once: two lanes each, for central differences."""
STEP = 1e-6  # of a direction; the error of central differences is some 1e-10
UNMOVED = 1e-12  # by which a matrix that a cone left as it is may differ
TOUCHING = 1e-6  # cosine under which a circle only touches an ellipsoid

# Of the scratch: rows for a component by itself, its inputs first and then its outputs.
SCRATCH_OUT = 16  # after a matrix and up to four numbers
SCRATCH_ROWS = 32


@kernel
def clear_rates(places, count, rates):
    """Write 0 for rows that do not change."""
    for k in range(places.shape[0]):
        row = places[k] // LANES
        for d in range(count):
            rates[row, d] = 0.0


@kernel
def rotation_rates(p, angle, out, count, work, rates):
    """A turn about an axis: M' = [axis]× M, about the centre of its interval; 0 beyond bounds."""
    given, intervals = work[angle], int(p[6])
    center = 6 + intervals
    for k in range(1, intervals):
        center += 6 if given > p[6 + k] else 0
    moves = 1.0 if given >= p[4] and given <= p[5] else 0.0
    x, y, z = moves * p[0], moves * p[1], moves * p[2]
    a, o = angle // LANES, out // LANES
    for c in range(4):
        at = out + c * LANES
        mx, my, mz = work[at], work[at + 4 * LANES], work[at + 8 * LANES]
        if c == 3:
            mx, my, mz = mx - p[center], my - p[center + 1], mz - p[center + 2]
        ux, uy, uz = y * mz - z * my, z * mx - x * mz, x * my - y * mx
        for d in range(count):
            rates[o + c, d] = ux * rates[a, d]
            rates[o + 4 + c, d] = uy * rates[a, d]
            rates[o + 8 + c, d] = uz * rates[a, d]


@kernel
def product_rates(factors, out, count, work, rates, left):
    """A product: (P F)' = P' F + P F', factor after factor; `left` is room for P."""
    o, first = out // LANES, factors[0]
    for i in range(12):
        left[i] = work[first + i * LANES]
        for d in range(count):
            rates[o + i, d] = rates[first // LANES + i, d]
    for k in range(1, factors.shape[0]):
        f = factors[k]
        at = f // LANES
        for r in range(3):
            row = o + 4 * r
            px, py, pz = left[4 * r], left[4 * r + 1], left[4 * r + 2]
            for d in range(count):
                ax, ay, az = rates[row, d], rates[row + 1, d], rates[row + 2, d]
                for c in range(4):
                    j = f + c * LANES
                    moved = ax * work[j] + ay * work[j + 4 * LANES] + az * work[j + 8 * LANES]
                    moved += px * rates[at + c, d] + py * rates[at + 4 + c, d]
                    moved += pz * rates[at + 8 + c, d]
                    rates[row + c, d] = moved + (rates[row + 3, d] if c == 3 else 0.0)
            for c in range(4):
                j = f + c * LANES
                there = px * work[j] + py * work[j + 4 * LANES] + pz * work[j + 8 * LANES]
                left[4 * r + c] = there + (left[4 * r + 3] if c == 3 else 0.0)


@kernel
def translation_rates(p, along, out, count, rates):
    """A way along three directions."""
    o = out // LANES
    u, v, w = along[0] // LANES, along[1] // LANES, along[2] // LANES
    for r in range(3):
        for d in range(count):
            rates[o + 4 * r, d], rates[o + 4 * r + 1, d], rates[o + 4 * r + 2, d] = 0.0, 0.0, 0.0
            way = p[3 + r] * rates[u, d] + p[6 + r] * rates[v, d] + p[9 + r] * rates[w, d]
            rates[o + 4 * r + 3, d] = way


@kernel
def conjugate_rates(o, b, count, work, rates, c):
    """Replace the rotation C (9 numbers) by Bᵀ C B, and its rates likewise; b is the place of B."""
    at = b // LANES
    for r in range(3):
        x, y, z = c[3 * r], c[3 * r + 1], c[3 * r + 2]
        for d in range(count):
            u, v, w = rates[o + 4 * r, d], rates[o + 4 * r + 1, d], rates[o + 4 * r + 2, d]
            for k in range(3):
                j = b + k * LANES
                moved = u * work[j] + v * work[j + 4 * LANES] + w * work[j + 8 * LANES]
                moved += x * rates[at + k, d] + y * rates[at + 4 + k, d] + z * rates[at + 8 + k, d]
                rates[o + 4 * r + k, d] = moved
        for k in range(3):
            j = b + k * LANES
            c[3 * r + k] = x * work[j] + y * work[j + 4 * LANES] + z * work[j + 8 * LANES]
    for k in range(3):
        x, y, z = c[k], c[3 + k], c[6 + k]
        for d in range(count):
            u, v, w = rates[o + k, d], rates[o + 4 + k, d], rates[o + 8 + k, d]
            for r in range(3):
                j = b + r * LANES
                moved = u * work[j] + v * work[j + 4 * LANES] + w * work[j + 8 * LANES]
                moved += x * rates[at + r, d] + y * rates[at + 4 + r, d] + z * rates[at + 8 + r, d]
                rates[o + 4 * r + k, d] = moved
        for r in range(3):
            j = b + r * LANES
            c[3 * r + k] = x * work[j] + y * work[j + 4 * LANES] + z * work[j + 8 * LANES]


@kernel
def compensation_rates(p, between, places, count, work, rates, c):
    """A turn that undoes an ancestor's: C = B⁻¹ A⁻¹ B, about a point; `c` is room for it.

    The places are those of the ancestor and of what is written.
    """
    ancestor, o = places[0], places[1] // LANES
    at = ancestor // LANES
    for r in range(3):
        for k in range(3):
            c[3 * r + k] = work[ancestor + (4 * k + r) * LANES]
            for d in range(count):
                rates[o + 4 * r + k, d] = rates[at + 4 * k + r, d]
    for k in range(between.shape[0]):
        conjugate_rates(o, between[k], count, work, rates, c)
    for r in range(3):
        i = o + 4 * r
        for d in range(count):
            turned = rates[i, d] * p[0] + rates[i + 1, d] * p[1] + rates[i + 2, d] * p[2]
            rates[i + 3, d] = -turned


@kernel
def slope(p, o, given):
    """Return dy/dx of the curve at `o`; 0 where it is held or bounded."""
    x, count = given * p[o + IN], int(p[o + COUNT])
    first = o + KNOTS + count - 1
    end = first + 5 * count
    extends = p[o + EXTEND] > 0.0
    if (x < p[first] or x > p[end]) and not extends:
        return 0.0
    if x < p[first]:
        rise = p[first + 2]
        y = p[first + 1] + rise * (x - p[first])
    elif x > p[end]:
        rise = p[end + 2]
        y = p[end + 1] + rise * (x - p[end])
    else:
        piece = first
        for k in range(count - 1):
            piece += 5 if x > p[o + KNOTS + k] else 0
        t = x - p[piece]
        y = p[piece + 1] + t * (p[piece + 2] + t * (p[piece + 3] + t * p[piece + 4]))
        rise = p[piece + 2] + t * (2.0 * p[piece + 3] + 3.0 * t * p[piece + 4])
    if y < p[o + LOW] or y > p[o + HIGH]:
        return 0.0
    return rise * p[o + IN] * p[o + OUT]


@kernel
def scale_rates(given, out, factor, count, rates):
    """Write the rates of one number as those of another, times a factor."""
    a, o = given // LANES, out // LANES
    for d in range(count):
        rates[o, d] = factor * rates[a, d]


@kernel
def mapping_rates(p, given, outs, count, work, rates):
    """Many curves of one number."""
    o = 0
    for k in range(outs.shape[0]):
        scale_rates(given, outs[k], slope(p, o, work[given]), count, rates)
        o += int(p[o])


@kernel
def bounded_rates(lower, upper, places, count, work, rates):
    """A number between two curves of another: it moves by itself, or as the bound that it is at.

    The places are those of the driver, of the number, and of what is written.
    """
    driver, given, out = places[0], places[1], places[2]
    y, from_bound = work[given], False
    factor = 1.0
    if lower.shape[0] > 0:
        least = evaluate(lower, 0, work[driver])
        if y < least:
            y, from_bound, factor = least, True, slope(lower, 0, work[driver])
    if upper.shape[0] > 0 and y > evaluate(upper, 0, work[driver]):
        from_bound, factor = True, slope(upper, 0, work[driver])
    scale_rates(driver if from_bound else given, out, factor, count, rates)


# A joint cone, and a scapula.


@kernel
def cone_leaves(p, places, work, turn):
    """Tell whether a joint cone only twists what comes in; write the twist's matrix to `turn`."""
    given, out = places[0], places[3]
    x, y, z = p[REST], p[REST + 1], p[REST + 2]
    c, s = half_turn(p[SENSE] * work[places[1]])
    s, v = 2.0 * s * c, 2.0 * s * s  # sine, and 1 - cosine
    turn[0], turn[1], turn[2] = 1.0 - v * (y * y + z * z), v * x * y - s * z, v * x * z + s * y
    turn[3], turn[4], turn[5] = v * x * y + s * z, 1.0 - v * (x * x + z * z), v * y * z - s * x
    turn[6], turn[7], turn[8] = v * x * z - s * y, v * y * z + s * x, 1.0 - v * (x * x + y * y)
    off = 0.0
    for r in range(3):
        i = given + 4 * r * LANES
        for k in range(3):
            there = work[i] * turn[k] + work[i + LANES] * turn[3 + k]
            there += work[i + 2 * LANES] * turn[6 + k]
            off = max(off, abs(there - work[out + (4 * r + k) * LANES]))
    return off <= UNMOVED


@kernel
def cone_rates(p, places, count, work, rates, turn):
    """A cone that a bone is in: R Q, Q a twist about rest, the centre staying where it is."""
    x, y, z = p[SENSE] * p[REST], p[SENSE] * p[REST + 1], p[SENSE] * p[REST + 2]
    given, center, out = places[0], places[2], places[3]
    a, t, m, o = given // LANES, places[1] // LANES, center // LANES, out // LANES
    for r in range(3):
        i, j = a + 4 * r, o + 4 * r
        here, there = given + 4 * r * LANES, out + 4 * r * LANES
        ux, uy, uz = work[there], work[there + LANES], work[there + 2 * LANES]
        # A row of R Q [rest]×: how the result turns with the twist.
        vx, vy, vz = uy * z - uz * y, uz * x - ux * z, ux * y - uy * x
        for d in range(count):
            twist, place = rates[t, d], rates[i + 3, d]
            bx, by, bz = rates[i, d], rates[i + 1, d], rates[i + 2, d]
            rates[j, d] = bx * turn[0] + by * turn[3] + bz * turn[6] + twist * vx
            rates[j + 1, d] = bx * turn[1] + by * turn[4] + bz * turn[7] + twist * vy
            rates[j + 2, d] = bx * turn[2] + by * turn[5] + bz * turn[8] + twist * vz
            for k in range(3):
                at = k * LANES
                place += (rates[i + k, d] - rates[j + k, d]) * work[center + at]
                place += (work[here + at] - work[there + at]) * rates[m + k, d]
            rates[j + 3, d] = place


@kernel
def blend_points(p, work, places, rates, d, points):
    """Write the two points of a scapula, 6 numbers, and their rates in direction d after them."""
    lift, rotation = work[places[1]], work[places[2]]
    u, w = min(max(lift, 0.0), 1.0), min(max(rotation, 0.0), 1.0)
    du = rates[places[1] // LANES, d] if lift >= 0.0 and lift <= 1.0 else 0.0
    dw = rates[places[2] // LANES, d] if rotation >= 0.0 and rotation <= 1.0 else 0.0
    for k in range(6):
        a, b, c = p[PAIRS + k], p[PAIRS + k + 6], p[PAIRS + k + 12]
        mixed = (1.0 - u) * b + u * a
        points[k] = (1.0 - w) * mixed + w * c
        points[6 + k] = dw * (c - mixed) + (1.0 - w) * du * (a - b)


@kernel
def shrink_vector(p, v):
    """Return a vector in the frame where a scapula's ellipsoid is the unit ball."""
    return Vec3(
        dot(vec3_at(p, SHRINK), v), dot(vec3_at(p, SHRINK + 3), v), dot(vec3_at(p, SHRINK + 6), v)
    )


@kernel
def carry_rate(rates, o, d, v):
    """Return the rate, in direction d, of a vector transformed by the matrix of row `o`."""
    return Vec3(
        rates[o, d] * v.x + rates[o + 1, d] * v.y + rates[o + 2, d] * v.z + rates[o + 3, d],
        rates[o + 4, d] * v.x + rates[o + 5, d] * v.y + rates[o + 6, d] * v.z + rates[o + 7, d],
        rates[o + 8, d] * v.x + rates[o + 9, d] * v.y + rates[o + 10, d] * v.z + rates[o + 11, d],
    )


@kernel
def place_on_ball(p, work, given, v):
    """Return a point of the scapula in the frame of the ball; its length is 1 on the ellipsoid."""
    moved = Vec3(work[given + 3 * LANES], work[given + 7 * LANES], work[given + 11 * LANES])
    return shrink_vector(p, rotate_by_lane(work, given, v) + moved - vec3_at(p, CENTER))


@kernel
def angle_rate(p, work, rates, given, d, point, moves, turns):
    """Return the rate of an angle that keeps a point on the ellipsoid, and True if there is one.

    `moves` is the rate of the point by itself, `turns` its rate by the angle, all before the bone's
    own transform. On the ball |q| = 1, so q · q' = 0. Where the circle only touches the ellipsoid,
    the angle is not defined.
    """
    q = place_on_ball(p, work, given, point)
    moves = carry_rate(rates, given // LANES, d, point) + rotate_by_lane(work, given, moves)
    turns = shrink_vector(p, rotate_by_lane(work, given, turns))
    by_angle = dot(q, turns)
    if not abs(by_angle) > TOUCHING * norm(turns):
        return 0.0, False
    return -dot(q, shrink_vector(p, moves)) / by_angle, True


@kernel
def turn_rate(line, line_rate, angle, v):
    """Return the rate of a vector rotated by `angle` about a unit vector, as that moves."""
    c, s = half_turn(angle)
    swing = dot(line, v) * line_rate + dot(line_rate, v) * line
    return 2.0 * s * c * cross(line_rate, v) + 2.0 * s * s * swing


@kernel
def scapula_rate(p, places, d, work, rates, points):
    """Write the rates of a scapula in direction d; return True if both its angles are defined.

    It turns by θ about the axis, T, then by ψ about the line to its first point, A: R = T A. Both
    follow from their points' staying on the ellipsoid.
    """
    given, theta, psi, axis = places[0], work[places[4]], work[places[5]], vec3_at(p, AXIS)
    blend_points(p, work, places, rates, d, points)
    far = norm(vec3_at(points, 0))
    if not far > 0.0:
        return False
    line, line_rate = vec3_at(points, 0) / far, vec3_at(points, 6) / far
    line_rate = line_rate - dot(line, line_rate) * line
    x, moves = rotate_about(axis, theta, vec3_at(points, 0)), vec3_at(points, 6)
    moves = rotate_about(axis, theta, moves)
    first, defined = angle_rate(p, work, rates, given, d, x, moves, cross(axis, x))
    if not defined:
        return False
    # The other point: A y, then T of it.
    y = rotate_about(line, psi, vec3_at(points, 3))
    moves = turn_rate(line, line_rate, psi, vec3_at(points, 3))
    moves = rotate_about(axis, theta, moves + rotate_about(line, psi, vec3_at(points, 9)))
    turns = rotate_about(axis, theta, cross(line, y))
    y = rotate_about(axis, theta, y)
    moves = moves + first * cross(axis, y)
    second, defined = angle_rate(p, work, rates, given, d, y, moves, turns)
    if not defined:
        return False
    o = places[3] // LANES
    for c in range(3):
        x = rotate_about(line, psi, axis_vector(c))
        moves = turn_rate(line, line_rate, psi, axis_vector(c)) + second * cross(line, x)
        turns = cross(axis, rotate_about(axis, theta, x))
        moves = rotate_about(axis, theta, moves) + first * turns
        for r in range(3):
            rates[o + 4 * r + c, d] = moves[r]
        rates[o + 4 * c + 3, d] = 0.0
    rates[places[4] // LANES, d], rates[places[5] // LANES, d] = first, second
    rates[places[6] // LANES, d] = 0.0
    return True


@kernel
def scapula_rates(p, places, count, work, rates, buffer):
    """Write the rates of a scapula; tell whether it can be done, in all directions."""
    decided = work[places[6]] <= CLOSE
    for d in range(count):
        decided = decided and scapula_rate(p, places, d, work, rates, buffer)
    return decided


@kernel
def load_lanes(place, width, to, count, work, rates, scratch):
    """Write an input of a component, a little ahead and behind along each direction, to lanes."""
    row = place // LANES
    for i in range(width):
        at, here = (to + i) * LANES, work[place + i * LANES]
        for d in range(count):
            scratch[at + 2 * d] = here + STEP * rates[row + i, d]
            scratch[at + 2 * d + 1] = here - STEP * rates[row + i, d]


@kernel
def store_rates(place, width, start, count, scratch, rates):
    """Write the rates of an output by the differences of its lanes; none where nobody reads it."""
    if place < 0:
        return
    row = place // LANES
    for i in range(width):
        at = (start + i) * LANES
        for d in range(count):
            rates[row + i, d] = (scratch[at + 2 * d] - scratch[at + 2 * d + 1]) * (0.5 / STEP)


@kernel
def difference_rates(step, p, q, places, count, work, rates, scratch):
    """The rates of a component with three inputs, a matrix first, by central differences."""
    local = np.empty(7, np.int64)
    load_lanes(places[0], 12, 0, count, work, rates, scratch)
    load_lanes(places[1], 1, 12, count, work, rates, scratch)
    load_lanes(places[2], 3 if step == JOINT_CONE else 1, 13, count, work, rates, scratch)
    local[0], local[1], local[2], local[3] = 0, 12 * LANES, 13 * LANES, SCRATCH_OUT * LANES
    for k in range(3):
        local[4 + k] = (SCRATCH_OUT + 12 + k) * LANES
        if step == JOINT_CONE and places[4 + k] < 0:
            local[4 + k] = -1
    if step == JOINT_CONE:
        joint_cone(p, q, local, 2 * count, SCRATCH_ROWS * LANES, scratch)
    else:
        scapula(p, local, 2 * count, SCRATCH_ROWS * LANES, scratch)
    store_rates(places[3], 12, SCRATCH_OUT, count, scratch, rates)
    for k in range(3):
        store_rates(places[4 + k], 1, SCRATCH_OUT + 12 + k, count, scratch, rates)


@kernel
def differentiate(row, lists, numbers, count, work, rates, scratch):
    """Write the rates of what the step of a row of the code wrote, for the first directions.

    A step that has been performed is given; `scratch` is SCRATCH_ROWS rows.
    """
    step, p, q = row[0], numbers[row[1] : row[2]], numbers[row[3] : row[4]]
    those, to = lists[row[5] : row[6]], row[7:]
    if step == ROTATION:
        rotation_rates(p, to[0], to[1], count, work, rates)
    elif step == PRODUCT:
        product_rates(those, to[0], count, work, rates, scratch)
    elif step == MAPPING:
        mapping_rates(p, to[0], those, count, work, rates)
    elif step == TRANSLATION:
        translation_rates(p, those, to[0], count, rates)
    elif step == COMPENSATION:
        compensation_rates(p, those, to, count, work, rates, scratch)
    elif step == FILL:
        clear_rates(those, count, rates)
    elif step == EXACT:
        scale_rates(to[0], to[1], slope(p, 0, work[to[0]]), count, rates)
    elif step == BOUNDED:
        bounded_rates(p, q, to, count, work, rates)
    elif step == JOINT_CONE:
        asked = max(those[4], max(those[5], those[6])) >= 0
        if not asked and cone_leaves(p, those, work, scratch):
            cone_rates(p, those, count, work, rates, scratch)
        else:
            difference_rates(step, p, q, those, count, work, rates, scratch)
    elif step == SCAPULA and not scapula_rates(p, those, count, work, rates, scratch):
        difference_rates(step, p, q, those, count, work, rates, scratch)
