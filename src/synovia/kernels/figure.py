"""Programs of joint components: all instructions on many poses in one call.

The work space of a pose is an array of numbers. A value is named by the offset of its first number:
a scalar has one, a vector three, a transform the twelve of its upper three rows.

A program is `code` (instructions, COLUMNS), `lists` of offsets in the work space, and `numbers`, of
which the segments' offsets come first. Columns of the code:

0       the operation, below
1 to 4  begin and end of one or two ranges of numbers
5, 6    begin and end of a range of the lists
7 to 9  up to three offsets; for POSE the begin and end of a second range of the lists, for STORE
        the first column that is written

A packed curve, piecewise cubic, has from `o` on: how many numbers in all, factors of what comes in
and goes out, least and greatest result, 1 if it goes on straight beyond its ends (else it holds
them), the number of pieces, the inner knots, then each piece's start and four coefficients, lowest
power first, and last the end's knot, value and slope.
"""

from __future__ import annotations

from .jit import kernel
from .joint_cone import joint_cone
from .rotation import half_angle
from .scapula import scapula
from .vector import (
    IDENTITY,
    about,
    apply,
    mat3_product,
    matrix_of,
    quaternion_of,
    set_quat,
    set_transform,
    set_vec3,
    transform_at,
    transposed,
    vec3_at,
    wrap_angle,
)

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
def mapping(p, given, outs, work):
    """Write the value of every curve at the number at `given`."""
    o = 0
    for k in range(outs.shape[0]):
        work[outs[k]] = evaluate(p, o, work[given])
        o += int(p[o])


@kernel
def bounded(lower, upper, driver, given, out, work):
    """Write `given` brought between the values of the curves; an empty one is no bound."""
    y = work[given]
    if lower.shape[0] > 0:
        least = evaluate(lower, 0, work[driver])
        y = least if y < least else y
    if upper.shape[0] > 0:
        most = evaluate(upper, 0, work[driver])
        y = most if y > most else y
    work[out] = y


@kernel("f8[] f8[] f8[]")
def values(p, given, out):
    """Write the curve's value at each number."""
    for i in range(given.shape[0]):
        out[i] = evaluate(p, 0, given[i])


@kernel
def product(factors, out, work):
    """Write the product of the transforms at the offsets `factors`; the last one applies first."""
    whole = transform_at(work, factors[0])
    for k in range(1, factors.shape[0]):
        whole = whole * transform_at(work, factors[k])
    set_transform(work, out, whole.turn, whole.shift)


@kernel
def rotation(p, angle, out, work):
    """Write the rotation by the number at `angle` about a common axis and an interval's own centre.

    p: axis, neutral angle, least, greatest, number of intervals, their inner edges, then each
    interval's centre c and arm d: the translation is c + R d, R the whole rotation.
    """
    given, interval, count = work[angle], 0, int(p[6])
    for k in range(1, count):  # the inner edges ascend
        interval = k if given > p[6 + k] else interval
    clamped = p[4] if given < p[4] else (p[5] if given > p[5] else given)  # NaN stays
    cosine, sine = half_angle(wrap_angle(clamped - p[3]))
    turn, first = matrix_of(about(vec3_at(p, 0), cosine, sine)), 6 + count + 6 * interval
    set_transform(work, out, turn, vec3_at(p, first) + apply(turn, vec3_at(p, first + 3)))


@kernel
def translation(p, along, out, work):
    """Write the translation by an offset p[0:3] and by distances along three directions after it.

    `along` are the offsets of the distances.
    """
    shift = vec3_at(p, 0) + work[along[0]] * vec3_at(p, 3) + work[along[1]] * vec3_at(p, 6)
    shift = shift + work[along[2]] * vec3_at(p, 9)
    set_transform(work, out, matrix_of(IDENTITY), shift)


@kernel
def compensation(p, between, ancestor, out, work):
    """Write the rotation about the point p[0:3] that undoes the rotation of `ancestor`.

    With B the product of the rotations `between` it and the segment, B⁻¹ A⁻¹ B undoes A alone.
    """
    point, turn = vec3_at(p, 0), transposed(transform_at(work, ancestor).turn)
    for k in range(between.shape[0]):
        other = transform_at(work, between[k]).turn
        turn = mat3_product(transposed(other), mat3_product(turn, other))
    set_transform(work, out, turn, point - apply(turn, point))


FILL, PRODUCT, ROTATION, TRANSLATION, COMPENSATION = range(5)
MAPPING, BOUNDED, JOINT_CONE, SCAPULA = range(5, 9)
LOAD, POSE, STORE = range(9, 12)  # of the caller's arrays: copy controls, write segments and values
COLUMNS = 10


@kernel
def perform(row, lists, numbers, work):
    """Run the instruction of a component."""
    operation, p, q = row[0], numbers[row[1] : row[2]], numbers[row[3] : row[4]]
    values, at = lists[row[5] : row[6]], row[7:]
    if operation == ROTATION:
        rotation(p, at[0], at[1], work)
    elif operation == PRODUCT:
        product(values, at[0], work)
    elif operation == MAPPING:
        mapping(p, at[0], values, work)
    elif operation == TRANSLATION:
        translation(p, values, at[0], work)
    elif operation == COMPENSATION:
        compensation(p, values, at[0], at[1], work)
    elif operation == FILL:
        for k in range(values.shape[0]):
            work[values[k]] = p[k]
    elif operation == BOUNDED:
        bounded(p, q, at[0], at[1], at[2], work)
    elif operation == JOINT_CONE:
        joint_cone(p, q, values, work)
    elif operation == SCAPULA:
        scapula(p, values, work)


@kernel
def write_segments(segments, transforms, numbers, work, rotations, positions):
    """Write the rotations (J, 4) and positions (J, 3) of some segments, as their parents see them.

    Segment `segments[k]` has the transform at `transforms[k]`.
    """
    for k in range(segments.shape[0]):
        j, transform = segments[k], transform_at(work, transforms[k])
        set_quat(rotations[j], 0, quaternion_of(transform.turn))
        set_vec3(positions[j], 0, vec3_at(numbers, 3 * j) + transform.shift)


@kernel("i8[,] i8[] f8[] f8[,] f8[,] f8[,,] f8[,,] f8[,]")
def run(code, lists, numbers, table, work, rotations, positions, stored):
    """Run instructions on poses, one for each row of controls in `table` (n, C).

    `work` (n, …) are the work spaces. POSE writes rotations (n, J, 4) and positions (n, J, 3) of
    segments, STORE writes columns of `stored` (n, …).
    """
    for i in range(table.shape[0]):
        own = work[i]
        for k in range(code.shape[0]):
            row = code[k]
            values = lists[row[5] : row[6]]
            if row[0] == LOAD:
                for c in range(values.shape[0]):
                    own[values[c]] = table[i, c]
            elif row[0] == POSE:
                transforms = lists[row[7] : row[8]]
                write_segments(values, transforms, numbers, own, rotations[i], positions[i])
            elif row[0] == STORE:
                for c in range(values.shape[0]):
                    stored[i, row[7] + c] = own[values[c]]
            else:
                perform(row, lists, numbers, own)
