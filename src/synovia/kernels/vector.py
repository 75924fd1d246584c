"""Vectors, quaternions and transforms of the kernel language: records, passed by value.

Quaternions are Hamilton's, w first; `p * q` applies q first. Angles are in radians.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .jit import kernel, record

TINY = 1e-12  # sine or angle below which a rotation vector is taken as its linear term

PARALLEL = 4.0 * 2.220446049250313e-16  # sine below which directions count as opposite
TURN = 2.0 * math.pi  # a whole turn, in radians


@record
class Vec3(NamedTuple):
    """A vector with the operators `a + b`, `a - b`, `-a`, `s * a` and `a / s`."""

    x: float
    y: float
    z: float

    def __add__(self, other):
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self):
        return Vec3(-self.x, -self.y, -self.z)

    def __rmul__(self, factor):
        return Vec3(factor * self.x, factor * self.y, factor * self.z)

    def __truediv__(self, divisor):
        return Vec3(self.x / divisor, self.y / divisor, self.z / divisor)


@record
class Quat(NamedTuple):
    """A quaternion with the operators `p * q` (the product), `s * q`, `p + q`, `p - q` and `-q`."""

    w: float
    x: float
    y: float
    z: float

    def __mul__(self, other):
        return Quat(
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w,
        )

    def __rmul__(self, factor):
        return Quat(factor * self.w, factor * self.x, factor * self.y, factor * self.z)

    def __add__(self, other):
        return Quat(self.w + other.w, self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Quat(self.w - other.w, self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self):
        return Quat(-self.w, -self.x, -self.y, -self.z)


class Mat3(NamedTuple):
    """A matrix, as its three rows; see `apply`."""

    a: Vec3
    b: Vec3
    c: Vec3


ZERO, ONES = Vec3(0.0, 0.0, 0.0), Vec3(1.0, 1.0, 1.0)
IDENTITY = Quat(1.0, 0.0, 0.0, 0.0)


@kernel
def vec3_at(a, o):
    """Return the vector a[o:o+3]; the array may be of float32."""
    return Vec3(float(a[o]), float(a[o + 1]), float(a[o + 2]))


@kernel
def set_vec3(a, o, v):
    """Write a vector to a[o:o+3]."""
    a[o], a[o + 1], a[o + 2] = v.x, v.y, v.z


@kernel
def quat_at(a, o):
    """Return the quaternion a[o:o+4]; the array may be of float32."""
    return Quat(float(a[o]), float(a[o + 1]), float(a[o + 2]), float(a[o + 3]))


@kernel
def set_quat(a, o, q):
    """Write a quaternion to a[o:o+4]."""
    a[o], a[o + 1], a[o + 2], a[o + 3] = q.w, q.x, q.y, q.z


@kernel
def copy(given, out):
    """Copy a 1-D array into another of the same length."""
    for i in range(out.shape[0]):
        out[i] = given[i]


@kernel
def mat3_at(a, o):
    """Return the matrix whose rows are a[o:o+9]."""
    return Mat3(vec3_at(a, o), vec3_at(a, o + 3), vec3_at(a, o + 6))


@kernel
def apply(m, v):
    """Return the matrix product m v."""
    return Vec3(dot(m.a, v), dot(m.b, v), dot(m.c, v))


@kernel
def apply_transposed(m, v):
    """Return the matrix product mᵀ v."""
    return v.x * m.a + v.y * m.b + v.z * m.c


@kernel
def transposed(m):
    """Return the transpose of a matrix, the inverse of a rotation."""
    a, b, c = m
    return Mat3(Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z))


@kernel
def mat3_product(m, n):
    """Return the matrix product m n."""
    return Mat3(apply_transposed(n, m.a), apply_transposed(n, m.b), apply_transposed(n, m.c))


@kernel
def solve_positive(matrix, factor, x):
    """Solve a positive definite system by Cholesky decomposition.

    Only the lower half of the matrix is read. `x` is the right side, then the solution. Elements on
    the diagonal of the factor are inverted.
    """
    n = x.shape[0]
    for a in range(n):
        total, value = matrix[a, a], x[a]
        for b in range(a):
            element = matrix[a, b]
            for k in range(b):
                element -= factor[a, k] * factor[b, k]
            element *= factor[b, b]
            factor[a, b] = element
            total -= element * element
            value -= element * x[b]
        factor[a, a] = 1.0 / math.sqrt(max(total, 1e-30))
        x[a] = value * factor[a, a]
    for a in range(n - 1, -1, -1):
        x[a] *= factor[a, a]
        for k in range(a):
            x[k] -= factor[a, k] * x[a]


@kernel
def wrap_angle(angle):
    """Return an angle less whole turns, in [−π, π]."""
    return angle - TURN * np.rint(angle * (1.0 / TURN))


@kernel
def clamp_vec3(v, low, high):
    """Return a vector with each component clamped between those of two others."""
    return Vec3(
        min(max(v.x, low.x), high.x), min(max(v.y, low.y), high.y), min(max(v.z, low.z), high.z)
    )


@kernel
def outside_of(v, low, high):
    """Return the vector to a point from the nearest one in a box with these corners."""
    return v - clamp_vec3(v, low, high)


@kernel
def times(a, b):
    """Return the products of components of two vectors."""
    return Vec3(a.x * b.x, a.y * b.y, a.z * b.z)


@kernel
def floors(v):
    """Return the components of a vector, rounded down."""
    return Vec3(np.floor(v.x), np.floor(v.y), np.floor(v.z))


@kernel
def inverses(v):
    """Return 1 over each component of a vector."""
    return Vec3(1.0 / v.x, 1.0 / v.y, 1.0 / v.z)


@kernel
def least_periods(move, period, inverse):
    """Return a move less whole periods; periods of 0, with inverses of 0, are none."""
    turns = times(move, inverse)
    return move - times(period, Vec3(np.rint(turns.x), np.rint(turns.y), np.rint(turns.z)))


@kernel
def dot(a, b):
    """Return a · b."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@kernel
def cross(a, b):
    """Return a × b."""
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@kernel
def norm(v):
    """Return the length of a vector."""
    return math.sqrt(v.x * v.x + v.y * v.y + v.z * v.z)


@kernel
def axis_vector(k):
    """Return the unit vector along axis k, 0 unless k is 0, 1 or 2."""
    return Vec3(1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@kernel
def least_axis(v):
    """Return the unit vector along the first axis with the smallest component of a vector."""
    if abs(v.x) <= abs(v.y) and abs(v.x) <= abs(v.z):
        return Vec3(1.0, 0.0, 0.0)
    if abs(v.y) <= abs(v.z):
        return Vec3(0.0, 1.0, 0.0)
    return Vec3(0.0, 0.0, 1.0)


@kernel
def perpendicular(v):
    """Return a unit vector at a right angle to a vector that is not 0."""
    across = cross(v, least_axis(v))
    return across / norm(across)


@kernel
def about(axis, cosine, sine):
    """Return the rotation about a unit axis, from cosine and sine of half its angle."""
    return Quat(cosine, sine * axis.x, sine * axis.y, sine * axis.z)


@kernel
def quat_dot(p, q):
    """Return the scalar product of two quaternions."""
    return p.w * q.w + p.x * q.x + p.y * q.y + p.z * q.z


@kernel
def conj(q):
    """Return the conjugate, the inverse of a unit quaternion."""
    return Quat(q.w, -q.x, -q.y, -q.z)


@kernel
def normalize(q):
    """Return a quaternion scaled to length 1."""
    return (1.0 / math.sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z)) * q


@kernel
def rotate(q, v):
    """Return v + 2 w u × v + 2 u × (u × v): a vector rotated by a unit quaternion (w, u)."""
    u = Vec3(q.x, q.y, q.z)
    across = 2.0 * cross(u, v)
    return v + q.w * across + cross(u, across)


@kernel
def matrix_of(q):
    """Return the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return Mat3(
        Vec3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        Vec3(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        Vec3(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@kernel
def largest_quat(m):
    """Return a quaternion of a rotation matrix, of some length, and which of four it is.

    Each is a row of 4 q qᵀ, linear in the matrix; the one with the largest own component keeps its
    digits (Shepperd 1978). There are no branches, so that loops over lanes become vector code.
    """
    a, b, c = m
    x, y, z = c.y - b.z, a.z - c.x, b.x - a.y
    xy, yz, zx = a.y + b.x, b.z + c.y, c.x + a.z
    s0, s1 = 1.0 + a.x + b.y + c.z, 1.0 + a.x - b.y - c.z
    s2, s3 = 1.0 - a.x + b.y - c.z, 1.0 - a.x - b.y + c.z
    one, two, three = s0 >= max(s1, max(s2, s3)), s1 >= max(s2, s3), s2 >= s3
    p, q = x if two else (y if three else z), s1 if two else (xy if three else zx)
    r, s = xy if two else (s2 if three else yz), zx if two else (yz if three else s3)
    row = 0 if one else (1 if two else (2 if three else 3))
    return Quat(s0 if one else p, x if one else q, y if one else r, z if one else s), row


@kernel
def log(q):
    """Return the rotation vector of a unit quaternion, at most π long."""
    side = -1.0 if q.w < 0.0 else 1.0
    v = Vec3(side * q.x, side * q.y, side * q.z)
    sine = norm(v)
    return (2.0 * math.atan2(sine, side * q.w) / sine if sine > TINY else 2.0) * v


@kernel
def exp(v):
    """Return the unit quaternion of a rotation vector of any length."""
    angle = norm(v)
    factor = math.sin(0.5 * angle) / angle if angle > TINY else 0.5
    return Quat(math.cos(0.5 * angle), factor * v.x, factor * v.y, factor * v.z)


@kernel
def chord(p, q):
    """Return the distance between two unit quaternions, the nearer of q and −q, and of the other.

    Both are lengths of chords of the unit sphere, about half the rotation's angle if that is small.
    """
    less, more = p - q, p + q
    near, far = quat_dot(less, less), quat_dot(more, more)
    return math.sqrt(min(near, far)), math.sqrt(max(near, far))


@kernel
def angle_between(p, q):
    """Return the angle between two rotations, in [0, π]; precise for small angles."""
    near, far = chord(p, q)
    return 4.0 * math.atan2(near, far)


@kernel
def lerp(p, q, share):
    """Return the unit quaternion at a share of the chord from p to the nearer of q and −q."""
    b = share if quat_dot(p, q) >= 0.0 else -share
    return normalize((1.0 - share) * p + b * q)


@kernel
def slerp(p, q, half, share):
    """Return the rotation at a share of the shortest turn from p to q, given half its angle."""
    a, b = 1.0 - share, share
    if half >= 1e-9:
        a, b = math.sin(a * half) / math.sin(half), math.sin(b * half) / math.sin(half)
    return normalize(a * p + (b if quat_dot(p, q) >= 0.0 else -b) * q)


@kernel
def shortest_turn(a, b):
    """Return the rotation vector of the shortest turn from one unit vector to another.

    The sine is that of a and the small difference of a and ±b: a × b cancels for near parallels.
    Opposite vectors give a half turn about an axis across a.
    """
    along = dot(a, b)
    side = 1.0 if along < 0.0 else -1.0
    across = cross(a, b + side * a)
    sine = norm(across)
    if along < 0.0 and sine <= PARALLEL:
        across = cross(a, least_axis(a))
        return (math.pi / norm(across)) * across
    middle = a + b
    angle = 2.0 * math.atan2(sine, 0.5 * dot(middle, middle))
    return (angle / sine if sine > 0.0 else 1.0) * across


@record
class Transform(NamedTuple):
    """The map x → turn x + shift; `a * b` applies b first."""

    turn: Mat3
    shift: Vec3

    def __mul__(self, other):
        shift = apply(self.turn, other.shift) + self.shift
        return Transform(mat3_product(self.turn, other.turn), shift)


@kernel
def transform_at(work, o):
    """Return the transform at an offset: the upper three rows of its matrix."""
    turn = Mat3(vec3_at(work, o), vec3_at(work, o + 4), vec3_at(work, o + 8))
    return Transform(turn, Vec3(work[o + 3], work[o + 7], work[o + 11]))


@kernel
def set_transform(work, o, turn, shift):
    """Write the transform x → turn x + shift to an offset."""
    set_vec3(work, o, turn.a)
    set_vec3(work, o + 4, turn.b)
    set_vec3(work, o + 8, turn.c)
    work[o + 3], work[o + 7], work[o + 11] = shift.x, shift.y, shift.z


@kernel
def quaternion_of(turn):
    """Return the quaternion of a rotation matrix, w at least 0."""
    quat, _ = largest_quat(turn)
    scale = 1.0 / np.sqrt(quat_dot(quat, quat))
    return (-scale if quat.w < 0.0 else scale) * quat


@kernel("i8[] f8[,,] f8[,,]")
def forward(parents, rotations, positions):
    """Turn rotations (n, J, 4) and positions (n, J, 3) relative to parents into those in the world.

    In place: a parent is in the world when its children are read.
    """
    for item in range(rotations.shape[0]):
        for j in range(parents.shape[0]):
            up = parents[j]
            if up < 0:
                continue
            parent, own = quat_at(rotations[item, up], 0), rotations[item, j]
            position = positions[item]
            moved = rotate(parent, vec3_at(position[j], 0))
            set_vec3(position[j], 0, vec3_at(position[up], 0) + moved)
            set_quat(own, 0, parent * quat_at(own, 0))
