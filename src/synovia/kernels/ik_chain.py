"""What the IK solvers work on: chains and work space, rotations as numbers, axes of freedom."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from .jit import bundle, kernel
from .rotation import BLOCK, LANES

# One rotation at a time, as numbers: what inverse kinematics needs of quaternions.

TINY = 1e-12


@kernel
def product(aw, ax, ay, az, bw, bx, by, bz):
    """Return the quaternion a · b."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@kernel
def rotate(w, x, y, z, vx, vy, vz):
    """Return the vector v, turned by a quaternion."""
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


@kernel
def cross(ax, ay, az, bx, by, bz):
    """Return a × b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def length(x, y, z):
    """Return the length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@kernel
def to_vector(w, x, y, z):
    """Return the rotation vector, at most π long, of a quaternion."""
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = length(x, y, z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > TINY else 2.0
    return factor * x, factor * y, factor * z


@kernel
def from_vector(x, y, z):
    """Return the quaternion of a rotation vector."""
    angle = length(x, y, z)
    factor = math.sin(0.5 * angle) / angle if angle > TINY else 0.5
    return math.cos(0.5 * angle), factor * x, factor * y, factor * z


@kernel
def jacobian_factor(angle):
    """Return c of J⁻¹ = 1 ± [e]/2 + c [e]², by which log changes as its rotation turns on."""
    if angle < 1e-3:
        return 1.0 / 12.0 + angle * angle / 720.0
    half = 0.5 * angle
    return (1.0 - half / math.tan(half)) / (angle * angle)


@kernel
def apply_log_jacobian(ex, ey, ez, side, x, y, z):
    """Return (1 + side [e]/2 + c [e]²) v: how log moves at e, as its rotation turns on by v.

    `side` is 1 for a turn from the right, −1 for one from the left.
    """
    c = jacobian_factor(length(ex, ey, ez))
    ax, ay, az = cross(ex, ey, ez, x, y, z)
    bx, by, bz = cross(ex, ey, ez, ax, ay, az)
    half = 0.5 * side
    return x + half * ax + c * bx, y + half * ay + c * by, z + half * az + c * bz


@kernel
def perpendicular(x, y, z):
    """Return a unit vector across a unit vector."""
    if abs(x) < 0.6:
        ax, ay, az = 0.0, -z, y
    else:
        ax, ay, az = z, 0.0, -x
    size = length(ax, ay, az)
    return ax / size, ay / size, az / size


# What a solver is given, and where it works: two bundles of tables with named columns.
#
# The variables are a few numbers for each joint that may move: how far it turns about each axis of
# its `basis`, in its own frame, from where it is; then three for each root that may slide. Every
# goal is three numbers, its residuals, that should become zero.


REACH, AIM, ORIENT, STAY, COMFORT = 0, 1, 2, 3, 4  # the last two are wishes

JOINT, PARENT, FREEDOMS, LIMIT = range(4)  # of a mover: limits begin at LIMIT of `packed`, or -1
KIND, OWNER, WEIGHT, POINT, AXIS = 0, 1, 2, 3, 6  # of a goal: one of the above, its joint, …
GOAL_COLUMNS = 9
INNER_LIMIT, INNER_MOVER = POINT, POINT + 1  # of `COMFORT`: where its limit begins, and its mover
PARENT_NODE, CHILD, FIRST_CHILD, ORIENT_GOAL = range(4)  # of the tree that FABRIK follows

Chain = bundle(
    "Chain",
    parents="i8[]",  # of all joints
    order="i8[]",  # the joints that goals hang on, parents first
    movers="i8[,]",  # (movers, 4) joints that may turn, parents first
    basis="f8[,,]",  # (movers, 3, 3) axes as rows, in the joint's own frame
    ways="i8[,]",  # (movers, WAY_JOINTS + most) what limits measure, if not the joint; see below
    swings="f8[,]",  # (movers, 8) 1 where it swings without twist, inverse reference, bone's axis
    slides="i8[]",  # roots that may move
    goals="f8[,]",  # (goals, GOAL_COLUMNS) points and axes are in the joint's frame
    moves="b1[,]",  # (goals, movers + slides) whether a mover moves the goal
    tree="i8[,]",  # (movers + goals + 1, 4) nodes are movers, then goals; see `ik_fabrik`
    packed="f8[]",  # all limits
    tolerance="f8",  # radians, of limits
)

# A limit that is measured from an ancestor is one of the product of all rotations from below it to
# the joint: so many factors, which of them the mover is, and their joints, parents first. 0 factors
# where a limit is that of the joint itself.
WAY_LENGTH, WAY_PLACE, WAY_JOINTS = 0, 1, 2

# Of each problem of a batch: its numbers, with errors of all goals last; its counts; and its flags,
# with those of all movers last. And what all problems have in common.
LENGTH, SQUARE, ERRORS = 0, 1, 2
UNLIMITED, STEPS = 0, 1  # the mover whose limit is left out of account, -1 for none
MET, BLOCKED = 0, 1
ITERATIONS, LARGEST_STEP, GOAL_TOLERANCE = 0, 1, 2

PLACE, GAP, RATES, ROTATION = 0, 3, 6, 24  # of the state of a goal
STATE_COLUMNS = 28
ALL, FREE, FACTOR = 0, 1, 2  # of all variables; of those still free; factors of J Jᵀ, and y
STEP, FIXED, BEFORE, WANTED = 0, 1, 2, 3  # of steps: this, what of it is fixed, the last, where to

Work = namedtuple(
    "Work",
    [
        "basis",  # (movers, 3, 3) axes from where the joints are
        "world",  # (joints, 7) rotations in the world, then positions
        "state",  # (goals, STATE_COLUMNS) of each goal:
        # where its point is in the world, and its gap, a way to go or a vector to turn by; how fast
        # that closes, 3 × 3 by moves and then 3 × 3 by turns; the rotation of its joint
        "residuals",  # (3, rows) gaps by weight; the same, less what is fixed; y
        "jacobian",  # (2, variables, rows)
        "gram",  # (3, rows, rows) J Jᵀ
        "steps",  # (4, variables)
        "normals",  # (movers, 3, 3) directions in which each is fixed
        "counts",  # (movers,) and how many
        "clear",  # (movers, 5) a legal rotation, and cos α/2: within α of it all is legal
        "trial_q",  # (joints, 4)
        "trial_p",  # (joints, 3)
        "block",
        "other",
        "lanes",
    ],
)


@kernel
def new_work(chain):
    """Return the tables to solve problems of this chain with, one after the other.

    Kernels that run often take from it what they need, table by table: to hand on a bundle of so
    many costs more than most of them do.
    """
    joints, goals = chain.parents.shape[0], chain.goals.shape[0]
    rows, movers = 3 * goals, chain.movers.shape[0]
    variables = 3 * chain.slides.shape[0]
    for m in range(movers):
        variables += chain.movers[m, FREEDOMS]
    clear = np.zeros((movers, 5))
    for m in range(movers):
        clear[m, 4] = 1.0  # nothing is known yet
    return Work(
        np.zeros((movers, 3, 3)),
        np.zeros((joints, 7)),
        np.zeros((goals, STATE_COLUMNS)),
        np.zeros((3, rows)),
        np.zeros((2, variables, rows)),
        np.zeros((3, rows, rows)),
        np.zeros((4, variables)),
        np.zeros((movers, 3, 3)),
        np.zeros(movers, np.int64),
        clear,
        np.zeros((joints, 4)),
        np.zeros((joints, 3)),
        np.zeros(BLOCK),
        np.zeros(BLOCK),
        np.zeros(2 * LANES, np.int64),
    )


@kernel
def copy_rows(given, out):
    """Write the numbers of a 2-D array into another."""
    for i in range(given.shape[0]):
        for k in range(given.shape[1]):
            out[i, k] = given[i, k]


# The axes about which joints can turn, from where they are.
#
# Those of a hinge or a ball are the same everywhere. A joint that swings without twisting rolls as
# it goes round: with its swing φ about a, across the bone's axis u, it turns about a, and about
# cos(φ/2) u × a − sin(φ/2) u, as seen before its constant twist.


@kernel
def twist_of(swings, m, w, x, y, z):
    """Return cosine and sine of half the twist of a rotation of mover m."""
    w, x, y, z = product(swings[m, 1], swings[m, 2], swings[m, 3], swings[m, 4], w, x, y, z)
    sine = x * swings[m, 5] + y * swings[m, 6] + z * swings[m, 7]
    size = math.sqrt(w * w + sine * sine)
    if size < 1e-9:  # straight back, where every twist is as good
        return 1.0, 0.0
    return w / size, sine / size


@kernel
def with_twist_of(swings, m, start, end):
    """Give the rotation `end` the twist of `start`, for a joint that swings without twisting.

    The shortest turn between two such rotations has that twist all the way.
    """
    a, b = twist_of(swings, m, start[0], start[1], start[2], start[3])
    c, s = twist_of(swings, m, end[0], end[1], end[2], end[3])
    c, s = a * c + b * s, b * c - a * s
    w, x, y, z = product(
        end[0], end[1], end[2], end[3], c, s * swings[m, 5], s * swings[m, 6], s * swings[m, 7]
    )
    end[0], end[1], end[2], end[3] = w, x, y, z


@kernel
def part_of_way(ways, m, first, last, q):
    """Return the product of some factors of what the limit of mover m measures."""
    w, x, y, z = 1.0, 0.0, 0.0, 0.0
    for k in range(first, last):
        j = ways[m, WAY_JOINTS + k]
        w, x, y, z = product(w, x, y, z, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    return w, x, y, z


@kernel
def to_relative(ways, m, above, below, w, x, y, z):
    """Return a rotation of mover m as its limit measures it: with joints `above` it, and `below`.

    Those are rotations (joints, 4) of all joints.
    """
    if ways[m, WAY_LENGTH] == 0:
        return w, x, y, z
    a, b, c, d = part_of_way(ways, m, 0, ways[m, WAY_PLACE], above)
    w, x, y, z = product(a, b, c, d, w, x, y, z)
    a, b, c, d = part_of_way(ways, m, ways[m, WAY_PLACE] + 1, ways[m, WAY_LENGTH], below)
    w, x, y, z = product(w, x, y, z, a, b, c, d)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return size * w, size * x, size * y, size * z


@kernel
def from_relative(ways, m, above, below, w, x, y, z):
    """Return the rotation of mover m for what its limit measures."""
    if ways[m, WAY_LENGTH] == 0:
        return w, x, y, z
    a, b, c, d = part_of_way(ways, m, 0, ways[m, WAY_PLACE], above)
    w, x, y, z = product(a, -b, -c, -d, w, x, y, z)
    a, b, c, d = part_of_way(ways, m, ways[m, WAY_PLACE] + 1, ways[m, WAY_LENGTH], below)
    w, x, y, z = product(w, x, y, z, a, -b, -c, -d)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return size * w, size * x, size * y, size * z


@kernel
def refresh_basis(movers, ways, swings, fixed, q, basis):
    """Write the axes of all movers, in their own frames, at the rotations q."""
    for m in range(movers.shape[0]):
        for f in range(3):
            for i in range(3):
                basis[m, f, i] = fixed[m, f, i]
        if swings[m, 0] == 0.0:
            continue
        j = movers[m, JOINT]
        ux, uy, uz = swings[m, 5], swings[m, 6], swings[m, 7]
        w, x, y, z = to_relative(ways, m, q, q, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
        w, x, y, z = product(swings[m, 1], swings[m, 2], swings[m, 3], swings[m, 4], w, x, y, z)
        sine = x * ux + y * uy + z * uz
        cosine = math.sqrt(w * w + sine * sine)  # of half the swing
        if cosine < 1e-9:  # straight back, where the twist is not defined
            continue
        c, s = w / cosine, sine / cosine
        _, ax, ay, az = product(w, x, y, z, c, -s * ux, -s * uy, -s * uz)
        half = length(ax, ay, az)
        if half > 1e-9:
            ax, ay, az = ax / half, ay / half, az / half
        else:
            ax, ay, az = perpendicular(ux, uy, uz)
        bx, by, bz = cross(ux, uy, uz, ax, ay, az)
        bx, by, bz = cosine * bx - half * ux, cosine * by - half * uy, cosine * bz - half * uz
        ax, ay, az = rotate(c, -s * ux, -s * uy, -s * uz, ax, ay, az)
        bx, by, bz = rotate(c, -s * ux, -s * uy, -s * uz, bx, by, bz)
        basis[m, 0, 0], basis[m, 0, 1], basis[m, 0, 2] = ax, ay, az
        basis[m, 1, 0], basis[m, 1, 1], basis[m, 1, 2] = bx, by, bz
