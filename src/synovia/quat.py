"""Pure functions on unit quaternions (..., 4).

Quaternions are w first, Hamilton, active; `mul(a, b)` applies b first. Angles are radians. Leading
axes broadcast. Results are float32 if all arguments are, else float64. Arguments are not checked;
use `arrays.unit_quats` for untrusted input.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from .arrays import Floats, Points, Quats, Scalars, Vectors, cross

IDENTITY: Quats = np.array([1.0, 0.0, 0.0, 0.0])
"""The identity rotation, read-only."""
IDENTITY.flags.writeable = False


def mul(a: Quats, b: Quats) -> Quats:
    """Return the product: the rotation by `b`, then by `a`."""
    a, b = _same_dtype(a, b)
    if a.ndim == b.ndim == 1 and a.dtype == np.float64:
        return np.array(_product(*a.tolist(), *b.tolist()))  # seven times faster
    # Slicing columns is faster than np.moveaxis.
    return np.stack(_product(*(each[..., k] for each in (a, b) for k in range(4))), axis=-1)


def _product(
    aw: Floats, ax: Floats, ay: Floats, az: Floats, bw: Floats, bx: Floats, by: Floats, bz: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return w, x, y and z of a product, for arrays or floats."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
    )


def inverse(q: Quats) -> Quats:
    """Return the inverse rotation, the conjugate of `q`."""
    (q,) = _same_dtype(q)
    return np.concatenate([q[..., :1], -q[..., 1:]], axis=-1)


def normalize(q: Quats) -> Quats:
    """Return `q` scaled to length 1; zeros become the identity."""
    (q,) = _same_dtype(q)
    if q.ndim == 1 and q.dtype == np.float64:
        square = float(np.einsum("i,i->", q, q))
        if 1e-200 < square < 1e200:  # the same bits as `_polar`, four times faster
            return np.asarray(q / np.sqrt(square))
    return _polar(q)[1]


def rotate(q: Quats, vectors: Vectors) -> Vectors:
    """Return `vectors` (..., 3) rotated by `q`."""
    q, vectors = _same_dtype(q, vectors)
    w, v = q[..., :1], q[..., 1:]
    across = 2 * cross(v, vectors)
    return vectors + w * across + cross(v, across)


def log(q: Quats) -> Points:
    """Return the rotation vector (..., 3) of `q`, at most pi radians long; the same for -q.

    A half turn (w = 0) has two such vectors; the one along (x, y, z) is returned.
    """
    (q,) = _same_dtype(q)
    return log_unrolled(_positive_w(q))


def log_unrolled(q: Quats) -> Points:
    """Return the rotation vector (..., 3) of `q`, 0 to 2 pi radians long, beyond pi if w < 0.

    The quaternion (-1, 0, 0, 0) gives a full turn about x.
    """
    (q,) = _same_dtype(q)
    sine, axis = _polar(q[..., 1:])
    return 2 * np.arctan2(sine, q[..., :1]) * axis


def exp(v: Points) -> Quats:
    """Return the rotation about each vector `v` (..., 3) by its length in radians."""
    (v,) = _same_dtype(v)
    angle, axis = _polar(v)
    return np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=-1)


def between(a: Vectors, b: Vectors) -> Quats:
    """Return the shortest rotation from the direction of `a` to the direction of `b`.

    Opposite directions give a half turn about some axis perpendicular to `a`. A zero vector counts
    as x.
    """
    a, b = np.broadcast_arrays(*(_polar(each)[1] for each in _same_dtype(a, b)))
    behind = _dot(a, b) < 0
    # a × b from the difference of a and ±b, without cancellation for nearly parallel vectors.
    across = cross(a, np.where(behind, b + a, b - a))
    chord = _polar(a + b)[0]
    turn = np.concatenate([chord * chord / 2, across], axis=-1)
    opposite = behind & (_polar(across)[0] <= 4 * np.finfo(a.dtype).eps)
    if opposite.any():
        least = np.eye(3, dtype=a.dtype)[np.abs(a).argmin(axis=-1)]
        half_turn = np.concatenate([np.zeros_like(chord), cross(a, least)], axis=-1)
        turn = np.where(opposite, half_turn, turn)
    return _polar(turn)[1]


def angle_between(a: Quats, b: Quats) -> Scalars:
    """Return the angle (...) of the rotation from `a` to `b`, in radians from 0 to pi."""
    q = _difference(*_same_dtype(a, b))
    angle = 2 * np.arctan2(_polar(q[..., 1:])[0], q[..., :1])
    return angle[..., 0]


def swing_twist(q: Quats, axis: Vectors) -> tuple[Quats, Quats]:
    """Return (swing, twist): the twist is about the unit `axis`, and `q` is `mul(swing, twist)`.

    The swing has w >= 0 and an axis perpendicular to `axis`; the twist has the sign of `q`. If the
    swing is a half turn the twist is undefined: the identity is returned, with the swing `q`.
    """
    (q,) = _same_dtype(q)
    axis = np.asarray(axis, dtype=q.dtype)
    w, v = q[..., :1], q[..., 1:]
    along = _dot(v, axis)
    across = v - along * axis
    swing_w, circle = _polar(np.concatenate(np.broadcast_arrays(w, along), axis=-1))
    cosine, sine = circle[..., :1], circle[..., 1:]
    swing = np.concatenate([swing_w, cosine * across - sine * cross(across, axis)], axis=-1)
    return swing, np.concatenate([cosine, sine * axis], axis=-1)


def from_matrix(m: Floats) -> Quats:
    """Return the rotations, w >= 0, of rotation matrices `m` (..., 3, 3)."""
    (m,) = _same_dtype(m)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.moveaxis(m, (-2, -1), (0, 1))
    # Four times q qᵀ; its longest row gives q without cancellation (Shepperd 1978).
    outer = [
        [1 + xx + yy + zz, zy - yz, xz - zx, yx - xy],
        [zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx],
        [xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy],
        [yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz],
    ]
    candidates = np.stack([np.stack(row, axis=-1) for row in outer], axis=-2).astype(m.dtype)
    longest = np.diagonal(candidates, axis1=-2, axis2=-1).argmax(axis=-1)[..., None, None]
    return _positive_w(_polar(np.take_along_axis(candidates, longest, axis=-2)[..., 0, :])[1])


def to_matrix(q: Quats) -> Floats:
    """Return the rotation matrices (..., 3, 3) of `q`, for column vectors."""
    (q,) = _same_dtype(q)
    w, x, y, z = np.moveaxis(q, -1, 0)
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    matrices = np.empty((*q.shape[:-1], 3, 3), dtype=q.dtype)
    matrices[..., 0, 0] = 1 - (y * y2 + z * z2)
    matrices[..., 1, 1] = 1 - (x * x2 + z * z2)
    matrices[..., 2, 2] = 1 - (x * x2 + y * y2)
    others = ((1, 0, x * y2, w * z2), (0, 2, x * z2, w * y2), (2, 1, y * z2, w * x2))
    for row, column, product, along in others:
        matrices[..., row, column] = product + along
        matrices[..., column, row] = product - along
    return matrices


def from_6d(columns: Floats) -> Quats:
    """Return the rotations, w >= 0, whose matrices have these first two `columns` (..., 6).

    The first three numbers are the first column, the others the second (Zhou et al. 2019). They
    are orthonormalised, so that outputs of networks are accepted; they must not be parallel.
    """
    (columns,) = _same_dtype(columns)
    x = _polar(columns[..., :3])[1]
    z = _polar(cross(x, columns[..., 3:]))[1]
    return from_matrix(np.stack([x, cross(z, x), z], axis=-1))


def to_6d(q: Quats) -> Floats:
    """Return the first two columns (..., 6) of the matrices of `q`, concatenated."""
    matrices = to_matrix(q)
    return np.concatenate([matrices[..., 0], matrices[..., 1]], axis=-1)


def from_euler(angles: Floats, order: str) -> Quats:
    """Return the rotations by `angles` (..., n), radians, about the intrinsic axes of `order`.

    'ZXY' is Rz Rx Ry for column vectors, as in BVH; case is ignored.
    """
    letters = _letters(order)
    (angles,) = _same_dtype(angles)
    if angles.ndim == 0 or angles.shape[-1] != len(letters):
        raise ValueError(
            f"angles must have shape (..., {len(letters)}) for the order {order!r}, "
            f"got {angles.shape}"
        )
    if len(set(letters)) == 3:
        return _three_axes(angles, *letters)
    axes = np.eye(3, dtype=angles.dtype)[letters]
    return reduce(mul, np.moveaxis(exp(angles[..., None] * axes), -2, 0))


def _three_axes(angles: Floats, i: int, j: int, k: int) -> Quats:
    """Return the product of rotations about three different axes, expanded for speed."""
    half = np.moveaxis(angles, -1, 0) / 2
    c, s = np.cos(half), np.sin(half)
    side = 1 if (j - i) % 3 == 1 else -1
    cc, cs, sc, ss = c[1] * c[2], c[1] * s[2], s[1] * c[2], side * s[1] * s[2]
    q = np.empty((*angles.shape[:-1], 4), angles.dtype)
    q[..., 0] = c[0] * cc - s[0] * ss
    q[..., 1 + i] = s[0] * cc + c[0] * ss
    q[..., 1 + j] = c[0] * sc - side * s[0] * cs
    q[..., 1 + k] = c[0] * cs + side * s[0] * sc
    return q


def to_euler(q: Quats, order: str) -> Floats:
    """Return the angles (..., 3), radians, for which `from_euler` with this `order` gives `q`.

    The outer angles are within ±pi. The middle one is within ±pi/2, or from 0 to pi if the first
    letter equals the last. At its ends (gimbal lock) the third angle is 0. The method is that of
    Bernardes and Viollet 2022, "Quaternion to Euler angles conversion".
    """
    letters = _letters(order)
    if len(letters) != 3 or letters[1] in (letters[0], letters[2]):
        raise ValueError(f"order must be three letters without equal neighbours, got {order!r}")
    (q,) = _same_dtype(q)
    k, j, i = letters
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    a, b, c, d = q[..., 0], q[..., 1 + i], q[..., 1 + j], sign * q[..., 1 + k]
    if not proper:
        a, b, c, d = a - c, b + d, c + a, d - b
    near, far = np.hypot(a, b), np.hypot(c, d)
    middle = 2 * np.arctan2(far, near)
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    # At gimbal lock one of the two is free; with both equal the third angle is 0.
    lock = 64 * np.finfo(q.dtype).eps
    half_difference = np.where(far <= lock * near, half_sum, half_difference)
    half_sum = np.where(near <= lock * far, half_difference, half_sum)
    first, third = half_sum + half_difference, half_sum - half_difference
    if not proper:
        first, middle = sign * first, middle - np.pi / 2
    angles = np.stack([first, middle, third], axis=-1).astype(q.dtype)
    turn = q.dtype.type(2 * np.pi)
    return angles - turn * np.sign(angles) * (np.abs(angles) > q.dtype.type(np.pi))


def slerp(a: Quats, b: Quats, t: Scalars | float) -> Quats:
    """Return the spherical linear interpolation from `a` to `b` at fractions `t` (...).

    It takes the shortest path and keeps the sign of `a`, so it may end in -b.
    """
    a, b = _same_dtype(a, b)
    fraction = np.asarray(t, dtype=a.dtype)[..., None]
    return mul(a, exp(fraction * log(_difference(a, b))))


def mean(q: Quats, weights: Scalars | None = None) -> Quats:
    """Return the rotation (4,), w >= 0, with the least sum of squared chordal distances.

    All axes but the last are averaged over (Markley et al. 2007); signs do not matter.
    """
    (q,) = _same_dtype(q)
    shares = np.broadcast_to(np.asarray(1.0 if weights is None else weights), q.shape[:-1])
    if not ((shares >= 0).all() and shares.any()):
        raise ValueError(f"mean needs weights of at least 0 and one above, got {shares!r:.80}")
    flat = q.reshape(-1, 4).astype(np.float64)
    scatter = (flat * shares.reshape(-1, 1)).T @ flat
    return _positive_w(np.linalg.eigh(scatter)[1][:, -1]).astype(q.dtype)


def unroll(q: Quats, axis: int = 0) -> Quats:
    """Return `q` with signs that make inner products of neighbours along `axis` >= 0.

    The first quaternion has w >= 0.
    """
    (q,) = _same_dtype(q)
    if not -q.ndim <= axis < q.ndim - 1 or axis == -1:
        raise ValueError(f"axis must be one of the axes before the last of {q.shape}, got {axis}")
    frames = np.moveaxis(q, axis, 0)
    cosines = np.concatenate([frames[:1, ..., :1], _dot(frames[1:], frames[:-1])])
    signs = np.cumprod(np.where(cosines < 0, -1, 1), axis=0).astype(q.dtype)
    return np.moveaxis(signs * frames, 0, axis)


def _same_dtype(*values: Floats) -> list[Floats]:
    """Return `values` as arrays of one type: float32 if all arrays are, else float64."""
    types = {value.dtype for value in values if hasattr(value, "dtype")}
    dtype = np.float32 if types == {np.dtype(np.float32)} else np.float64
    return [np.asarray(value, dtype=dtype) for value in values]


def _dot(a: Floats, b: Floats) -> Floats:
    """Return the inner products (..., 1) of rows."""
    return np.asarray(np.einsum("...i,...i->...", a, b)[..., None])


def _letters(order: str) -> list[int]:
    """Return the axes, 0 to 2, of the one to three letters of `order`."""
    letters = ["xyz".find(letter) for letter in order.lower()]
    if not 1 <= len(letters) <= 3 or -1 in letters:
        raise ValueError(f"order must be one to three letters of 'xyz', got {order!r}")
    return letters


def _polar(v: Floats) -> tuple[Floats, Floats]:
    """Return lengths (..., 1) and unit vectors of rows; a row of zeros gives the first axis.

    Rows are scaled by a power of two, which is exact, so that squares do not underflow.
    """
    largest = reduce(np.maximum, (np.abs(v[..., k]) for k in range(v.shape[-1])))[..., None]
    exponent = np.maximum(np.frexp(largest)[1], np.finfo(v.dtype).minexp)
    scaled = v * np.ldexp(v.dtype.type(1), -exponent)
    scaled[..., :1] += largest == 0
    length = np.sqrt(_dot(scaled, scaled))
    return np.where(largest == 0, largest, np.ldexp(length, exponent)), scaled / length


def _positive_w(q: Quats) -> Quats:
    """Return `q` or -q, whichever has w >= 0; `q` if w is 0."""
    return np.where(q[..., :1] < 0, -q, q)


def _difference(a: Quats, b: Quats) -> Quats:
    """Return inverse(a) b or its negative, whichever has w >= 0.

    Its vector part is that of inverse(a) (b - a), which is accurate if a and b are close.
    """
    cosine = _dot(a, b)
    b = np.where(cosine < 0, -b, b)
    return np.concatenate([np.abs(cosine), mul(inverse(a), b - a)[..., 1:]], axis=-1)
