"""A step towards the goals that no limit forbids: an active set, found by projection alone."""

from __future__ import annotations

import numpy as np

from .covers import nearest
from .ik_turns import from_vector, product, to_vector
from .jit import kernel
from .limits import enter, leave
from .rotation import DISTANCE, QW, QX, QY, QZ, W0, X0, Y0, Z0

ROUNDS = 6  # in which joints are found to be at their limit
ALONG = 1e-10  # radians; a projection that moves a joint less along its freedoms blocks nothing
ONE = np.int64(1)


@kernel
def vector_of(chain, m, first, work):
    """Return the rotation vector, in the joint's frame, that a mover's variables mean."""
    vx, vy, vz = 0.0, 0.0, 0.0
    for f in range(chain.freedoms[m]):
        vx += work.x[first + f] * work.basis[m, f, 0]
        vy += work.x[first + f] * work.basis[m, f, 1]
        vz += work.x[first + f] * work.basis[m, f, 2]
    return vx, vy, vz


@kernel
def after(q, j, x, y, z):
    """Return the rotation of joint j, turned on by a rotation vector in its own frame."""
    w, x, y, z = from_vector(x, y, z)
    w, x, y, z = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], w, x, y, z)
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    return scale * w, scale * x, scale * y, scale * z


@kernel
def multiply_out(gram, jacobian, damping):
    """Write J Jᵀ + μ, the lower half."""
    for a in range(jacobian.shape[0]):
        for b in range(a + 1):
            total = 0.0
            for k in range(jacobian.shape[1]):
                total += jacobian[a, k] * jacobian[b, k]
            gram[a, b] = total
        gram[a, a] += damping


@kernel
def dual_solve(work, damping):
    """Write x = Jᵀ (J Jᵀ + μ)⁻¹ r of what is still free, by Cholesky's method."""
    gram, y, r, jacobian = work.gram, work.y, work.free_r, work.free_jacobian
    rows = r.shape[0]
    multiply_out(gram, jacobian, damping)
    for a in range(rows):
        for b in range(a):
            total = gram[a, b]
            for k in range(b):
                total -= gram[a, k] * gram[b, k]
            gram[a, b] = total / gram[b, b]
        total, value = gram[a, a], r[a]
        for k in range(a):
            total -= gram[a, k] * gram[a, k]
            value -= gram[a, k] * y[k]
        gram[a, a] = np.sqrt(max(total, 1e-14))
        y[a] = value / gram[a, a]
    for a in range(rows - 1, -1, -1):
        total = y[a]
        for k in range(a + 1, rows):
            total -= gram[k, a] * y[k]
        y[a] = total / gram[a, a]
    for k in range(jacobian.shape[1]):
        total = 0.0
        for a in range(rows):
            total += jacobian[a, k] * y[a]
        work.x[k] = total


@kernel
def shorten(chain, work, longest):
    """Scale the free step so that no joint turns by more than `longest` radians."""
    most, first = 0.0, 0
    for m in range(chain.movers.shape[0]):
        square = 0.0
        for f in range(chain.freedoms[m]):
            square += work.x[first + f] ** 2
        most = max(most, square)
        first += chain.freedoms[m]
    most = np.sqrt(most)
    if most > longest:
        for k in range(work.x.shape[0]):
            work.x[k] *= longest / most


@kernel
def settle(chain, m, first, q, bw, bx, by, bz, work):
    """Settle mover m in the direction in which its limit moved it, if that is a new one.

    b is its proposed rotation, `trial_q` the legal one. What is settled goes out of the gap and
    its columns, so that the next solve gives the rest of the error to those still free.
    """
    j, n = chain.movers[m], chain.freedoms[m]
    t = work.trial_q
    w, x, y, z = product(t[j, 0], -t[j, 1], -t[j, 2], -t[j, 3], bw, bx, by, bz)
    vx, vy, vz = to_vector(w, x, y, z)
    known, basis = work.counts[m], work.basis
    normal = work.normals[m, min(known, 2)]
    square = 0.0
    if known < n:
        for f in range(n):
            normal[f] = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]
        for k in range(known):
            along = 0.0
            for f in range(n):
                along += normal[f] * work.normals[m, k, f]
            for f in range(n):
                normal[f] -= along * work.normals[m, k, f]
        for f in range(n):
            square += normal[f] * normal[f]
    if square <= ALONG * ALONG:
        return False
    w, x, y, z = product(q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3], t[j, 0], t[j, 1], t[j, 2], t[j, 3])
    vx, vy, vz = to_vector(w, x, y, z)
    part = 0.0
    for f in range(n):
        normal[f] /= np.sqrt(square)
        part += normal[f] * (vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2])
    for f in range(n):
        part -= normal[f] * work.settled[first + f]
    work.counts[m] = known + 1
    jacobian = work.free_jacobian
    for a in range(jacobian.shape[0]):
        slope = 0.0
        for f in range(n):
            slope += jacobian[a, first + f] * normal[f]
        work.free_r[a] -= slope * part
        for f in range(n):
            jacobian[a, first + f] -= slope * normal[f]
    for f in range(n):
        work.settled[first + f] += part * normal[f]
    return True


@kernel
def propose(chain, q, p, damping, longest, work):
    """Write, as `trial_q` and `trial_p`, a legal pose nearer to the goals, by their slopes."""
    t, block = work.trial_q, work.block
    work.free_r[:] = work.r
    work.free_jacobian[:] = work.jacobian
    work.settled[:] = 0.0
    work.counts[:] = 0
    for _ in range(ROUNDS):
        dual_solve(work, damping)
        shorten(chain, work, longest)
        first, again = 0, False
        for k in range(work.x.shape[0]):
            work.x[k] += work.settled[k]
        for m in range(chain.movers.shape[0]):
            j, at = chain.movers[m], chain.limits[m]
            vx, vy, vz = vector_of(chain, m, first, work)
            w, x, y, z = after(q, j, vx, vy, vz)
            t[j, 0], t[j, 1], t[j, 2], t[j, 3] = w, x, y, z
            if at >= 0:
                block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
                enter(chain.packed, at, block, ONE)
                nearest(chain.packed, at, chain.tolerance, block, work.other, work.lanes, ONE)
                leave(chain.packed, at, chain.tolerance, block, ONE)
                t[j, 0], t[j, 1], t[j, 2], t[j, 3] = block[QW], block[QX], block[QY], block[QZ]
                if block[DISTANCE] > chain.tolerance:
                    again = settle(chain, m, first, q, w, x, y, z, work) or again
            first += chain.freedoms[m]
        for s in range(chain.slides.shape[0]):
            j = chain.slides[s]
            for i in range(3):
                work.trial_p[j, i] = p[j, i] + work.x[first + 3 * s + i]
        if not again:
            break


@kernel
def keep(chain, work, q, p):
    """Take the trial's rotations and positions for those of the pose."""
    for m in range(chain.movers.shape[0]):
        j = chain.movers[m]
        for i in range(4):
            q[j, i] = work.trial_q[j, i]
    for s in range(chain.slides.shape[0]):
        j = chain.slides[s]
        for i in range(3):
            p[j, i] = work.trial_p[j, i]
