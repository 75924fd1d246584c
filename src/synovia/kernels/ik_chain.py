"""Data of the IK solvers: chains, goals, work space, and the axes about which joints can rotate.

The variables are the angles about three axes of each joint that may rotate (its `basis`, in the
joint's frame; an axis of 0 has no effect), then three coordinates of each root that may translate.
Every goal has three residuals.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .jit import bundle, kernel
from .layout import Layout
from .vector import (
    IDENTITY,
    Vec3,
    about,
    conj,
    copy,
    cross,
    norm,
    normalize,
    perpendicular,
    quat_at,
    rotate,
    set_vec3,
    vec3_at,
)

REACH, AIM, ORIENT, STAY, COMFORT = range(5)  # kinds of goals

MOVER = Layout("mover", joint=1, limit=1)
"""Row of a joint that may rotate; `limit` is the offset of its packed limit, or -1."""
GOAL = Layout("goal", kind=1, owner=1, weight=1, point=3, axis=3)
"""Row of a goal; `owner` is its joint, and point and axis are in that joint's frame."""
INNER_LIMIT, INNER_MOVER = GOAL.point, GOAL.point + 1  # of `COMFORT`: offset of its limit, mover
SWING = Layout("swing", active=1, into=4, axis=3)
"""Row of a mover: 1 if it swings without twist, inverse of its reference, axis of its bone."""
WAY = Layout("way", length=1, index=1, joints=0)
"""Row of a mover whose limit is measured from an ancestor. The limit applies to the product of
`length` rotations, those of `joints`, parents first; the mover is the one at `index`. The length is
0 if the limit applies to the joint's own rotation."""

Chain = bundle(
    "Chain",
    parents="i8[]",  # of all joints
    order="i8[]",  # joints that goals depend on, parents first
    movers="i8[,]",  # (movers, MOVER.SIZE) joints that may rotate, parents first
    basis="f8[,]",  # (movers, 9) axes as rows, in the joint's own frame
    ways="i8[,]",  # (movers, WAY.SIZE + longest)
    swings="f8[,]",  # (movers, SWING.SIZE)
    slides="i8[]",  # roots that may translate
    goals="f8[,]",  # (goals, GOAL.SIZE)
    moves="b1[,]",  # (goals, movers + slides) True if a mover moves the goal
    packed="f8[]",  # all limits
    tolerance="f8",  # radians, of limits
)

Trials = bundle(
    "Trials",  # n problems with one chain, a row each
    targets="f8[,,]",  # (n, goals, 4)
    rotations="f8[,,]",  # (n, joints, 4)
    positions="f8[,,]",  # (n, joints, 3)
    lengths="f8[]",  # of the chains
    squares="f8[]",  # sums of squares of the weighted residuals
    errors="f8[,]",  # (n, goals) lengths or radians
    unlimited="i8[]",  # mover whose limit is ignored, or -1
    steps="i8[]",
    met="b1[]",  # all goals but the soft ones
    blocked="b1[,]",  # (n, movers) by their limits
)

SETTINGS = Layout("settings", iterations=1, largest_step=1, goal_tolerance=1)

STATE = Layout("state of a goal", point=3, gap=3, by_move=9, by_turn=9)
"""Position of its point in the world; its gap, a translation or a rotation vector; the rates at
which the gap closes (3 × 3 for translations, 3 × 3 for rotations of a joint)."""
POSITION = 4  # offset in a row of `world`, after the rotation
ALL, FREE, FACTOR = range(3)  # all variables; those still free; factors of J Jᵀ, and y
STEP, FIXED = range(2)  # rows of steps: the whole, its fixed part

Work = namedtuple(
    "Work",
    [
        "basis",  # (movers, 9) axes at the current rotations
        "world",  # (joints, 7) rotations in the world, then positions
        "state",  # (goals, STATE.SIZE)
        "residuals",  # (3, rows) weighted gaps; these less the fixed part; y
        "jacobian",  # (2, variables, rows)
        "gram",  # (3, rows, rows) J Jᵀ
        "steps",  # (2, variables)
        "normals",  # (movers, 3, 3) directions in which a mover is fixed
        "counts",  # (movers,) numbers of normals
        "trial_q",  # (joints, 4)
        "trial_p",  # (joints, 3)
    ],
)


@kernel
def new_work(chain):
    """Return work space for problems with this chain, solved one after another.

    Kernels that run often take single tables, because passing the whole record costs more than
    most of these kernels do.
    """
    joints, goals = chain.parents.shape[0], chain.goals.shape[0]
    rows, movers = 3 * goals, chain.movers.shape[0]
    variables = 3 * (movers + chain.slides.shape[0])
    return Work(
        np.zeros((movers, 9)),
        np.zeros((joints, 7)),
        np.zeros((goals, STATE.SIZE)),
        np.zeros((3, rows)),
        np.zeros((2, variables, rows)),
        np.zeros((3, rows, rows)),
        np.zeros((2, variables)),
        np.zeros((movers, 3, 3)),
        np.zeros(movers, np.int64),
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
    )


@kernel
def copy_rows(given, out):
    """Copy a 2-D array into another."""
    for i in range(given.shape[0]):
        copy(given[i], out[i])


@kernel
def jacobian_factor(angle):
    """Return c of J⁻¹ = 1 ± [e]/2 + c [e]², the Jacobian of the logarithm."""
    if angle < 1e-3:
        return 1.0 / 12.0 + angle * angle / 720.0
    half = 0.5 * angle
    return (1.0 - half / math.tan(half)) / (angle * angle)


@kernel
def apply_log_jacobian(e, side, v):
    """Return (1 + side [e]/2 + c [e]²) v: the derivative of the logarithm e along v.

    v is a small rotation vector, multiplied from the right if `side` is 1, from the left if −1.
    """
    a = cross(e, v)
    return v + 0.5 * side * a + jacobian_factor(norm(e)) * cross(e, a)


@kernel
def part_of_way(way, first, last, q):
    """Return the product of rotations `first` to `last` (excluded) of the joints of a `WAY`."""
    product = IDENTITY
    for k in range(first, last):
        product = product * quat_at(q[way[WAY.joints + k]], 0)
    return product


@kernel
def to_relative(way, above, below, q):
    """Return the rotation to which a mover's limit applies, for its own rotation q.

    `above` and `below` (joints, 4) are rotations of all joints, used for those above and below the
    mover.
    """
    if way[WAY.length] == 0:
        return q
    before = part_of_way(way, 0, way[WAY.index], above)
    after = part_of_way(way, way[WAY.index] + 1, way[WAY.length], below)
    return normalize(before * q * after)


@kernel
def from_relative(way, above, below, q):
    """Return a mover's own rotation for q, to which its limit applies; see `to_relative`."""
    if way[WAY.length] == 0:
        return q
    before = part_of_way(way, 0, way[WAY.index], above)
    after = part_of_way(way, way[WAY.index] + 1, way[WAY.length], below)
    return normalize(conj(before) * q * conj(after))


@kernel
def refresh_basis(movers, ways, swings, fixed, q, basis):
    """Write the axes about which the movers can rotate, in their own frames, at the rotations q.

    They are constant (`fixed`) for a hinge or a ball. For a joint that swings without twist, by an
    angle φ about an axis a orthogonal to the bone's axis u, they are a and
    cos(φ/2) u × a − sin(φ/2) u, in the frame before its constant twist.
    """
    for m in range(movers.shape[0]):
        copy(fixed[m], basis[m])
        if swings[m, SWING.active] == 0.0:
            continue
        u = vec3_at(swings[m], SWING.axis)
        r = to_relative(ways[m], q, q, quat_at(q[movers[m, MOVER.joint]], 0))
        r = quat_at(swings[m], SWING.into) * r
        sine = r.x * u.x + r.y * u.y + r.z * u.z
        cosine = math.sqrt(r.w * r.w + sine * sine)  # of half the swing
        if cosine < 1e-9:  # at a swing of π, where the twist is not defined
            continue
        untwist = about(u, r.w / cosine, -sine / cosine)
        swing = r * untwist
        a = Vec3(swing.x, swing.y, swing.z)
        half = norm(a)  # sine of half the swing
        a = a / half if half > 1e-9 else perpendicular(u)
        b = cosine * cross(u, a) - half * u
        set_vec3(basis[m], 0, rotate(untwist, a))
        set_vec3(basis[m], 3, rotate(untwist, b))
