"""A step towards the goals that no limit forbids: an active set, found by projection alone."""

from __future__ import annotations

import numpy as np

from .ik_chain import ALL, BEFORE, FACTOR, FREE, SETTLED, STEP
from .ik_project import is_clear, note_clear, project_one
from .ik_turns import from_vector, product, to_vector
from .jit import kernel
from .rotation import LANES, QW, W0, X0, Y0, Z0

ROUNDS = 6  # in which joints are found to be at their limit
ALONG = 1e-10  # radians; a projection that moves a joint less along its freedoms blocks nothing
PROBE = 1e-3  # radians; a small turn, to see what a limit leaves of it
ZERO = np.int64(0)  # not a literal, for which numba would compile what it is passed to once more
SAME = 1e-12  # radians; a step that changes less needs no new projection


@kernel
def multiply_out(slopes, gram):
    """Write J Jᵀ, the lower half; slopes are J's columns as rows."""
    rows = gram.shape[1]
    for a in range(rows):
        for b in range(a + 1):
            gram[ALL, a, b] = 0.0
    for k in range(slopes.shape[1]):
        for a in range(rows):
            along = slopes[ALL, k, a]
            if along != 0.0:  # a joint moves few goals
                for b in range(a + 1):
                    gram[ALL, a, b] += along * slopes[ALL, k, b]


@kernel
def begin_free(r, free_r, slopes, gram, steps, counts):
    """Begin with nothing settled."""
    rows = r.shape[0]
    for a in range(rows):
        free_r[a] = r[a]
        for b in range(a + 1):
            gram[FREE, a, b] = gram[ALL, a, b]
    for k in range(slopes.shape[1]):
        steps[SETTLED, k] = 0.0
        for a in range(rows):
            slopes[FREE, k, a] = slopes[ALL, k, a]
    for m in range(counts.shape[0]):
        counts[m] = 0


@kernel
def dual_solve(gram, damping, r, slopes, y, steps):
    """Write the free step x = Jᵀ (J Jᵀ + μ)⁻¹ r, by Cholesky's method."""
    rows = r.shape[0]
    for a in range(rows):
        for b in range(a):
            total = gram[FREE, a, b]
            for k in range(b):
                total -= gram[FACTOR, a, k] * gram[FACTOR, b, k]
            gram[FACTOR, a, b] = total * gram[FACTOR, b, b]
        total, value = gram[FREE, a, a] + damping, r[a]
        for k in range(a):
            total -= gram[FACTOR, a, k] * gram[FACTOR, a, k]
            value -= gram[FACTOR, a, k] * y[k]
        inverse = 1.0 / np.sqrt(max(total, 1e-14))
        gram[FACTOR, a, a] = inverse  # so that nothing is divided again
        y[a] = value * inverse
    for a in range(rows - 1, -1, -1):
        y[a] *= gram[FACTOR, a, a]
        for k in range(a):
            y[k] -= gram[FACTOR, a, k] * y[a]
    for k in range(slopes.shape[1]):
        total = 0.0
        for a in range(rows):
            total += slopes[FREE, k, a] * y[a]
        steps[STEP, k] = total


@kernel
def shorten(freedoms, longest, steps):
    """Scale the free step so that no joint turns by more than `longest`, and add the settled."""
    most, first = 0.0, 0
    for m in range(freedoms.shape[0]):
        square = 0.0
        for f in range(freedoms[m]):
            square += steps[STEP, first + f] ** 2
        most = max(most, square)
        first += freedoms[m]
    scale = longest / np.sqrt(most) if most > longest * longest else 1.0
    for k in range(steps.shape[1]):
        steps[STEP, k] = scale * steps[STEP, k] + steps[SETTLED, k]


@kernel
def new_normal(m, n, known, vx, vy, vz, basis, normals):
    """Write the direction of v in which mover m, of n axes, is not settled yet; tell if it is one.

    As numbers along its axes, of length 1, in `normals` after those known.
    """
    if known >= n:
        return False
    for f in range(n):
        normals[m, known, f] = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]
    for k in range(known):
        along = 0.0
        for f in range(n):
            along += normals[m, known, f] * normals[m, k, f]
        for f in range(n):
            normals[m, known, f] -= along * normals[m, k, f]
    square = 0.0
    for f in range(n):
        square += normals[m, known, f] ** 2
    if square <= ALONG * ALONG:
        return False
    scale = 1.0 / np.sqrt(square)
    for f in range(n):
        normals[m, known, f] *= scale
    return True


@kernel
def settle(m, n, first, known, vx, vy, vz, basis, normals, steps, slopes, gram, r, slope):
    """Settle mover m along its newest normal, at the turn v from where it is.

    What is settled goes out of the gap and its slopes, so that the next solve gives the rest of
    the error to those still free.
    """
    part = 0.0
    for f in range(n):
        along = vx * basis[m, f, 0] + vy * basis[m, f, 1] + vz * basis[m, f, 2]
        part += normals[m, known, f] * (along - steps[SETTLED, first + f])
    for f in range(n):
        steps[SETTLED, first + f] += part * normals[m, known, f]
    for a in range(r.shape[0]):
        total = 0.0
        for f in range(n):
            total += slopes[FREE, first + f, a] * normals[m, known, f]
        slope[a] = total
        if total == 0.0:
            continue
        r[a] -= total * part
        for f in range(n):
            slopes[FREE, first + f, a] -= total * normals[m, known, f]
        for b in range(a + 1):
            gram[FREE, a, b] -= total * slope[b]


@kernel
def propose_turn(m, j, n, first, steps, basis, q, t):
    """Write, as t[j], the rotation of mover m after its part of the step."""
    vx, vy, vz = 0.0, 0.0, 0.0
    for f in range(n):
        along = steps[STEP, first + f]
        vx += along * basis[m, f, 0]
        vy += along * basis[m, f, 1]
        vz += along * basis[m, f, 2]
    w, x, y, z = from_vector(vx, vy, vz)
    w, x, y, z = product(q[j, 0], q[j, 1], q[j, 2], q[j, 3], w, x, y, z)
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    t[j, 0], t[j, 1], t[j, 2], t[j, 3] = scale * w, scale * x, scale * y, scale * z


@kernel
def has_news(first, n, steps):
    """Tell whether the step of a mover differs from that of the round before; note it."""
    news = False
    for k in range(first, first + n):
        news = news or abs(steps[STEP, k] - steps[BEFORE, k]) > SAME
        steps[BEFORE, k] = steps[STEP, k]
    return news


@kernel
def turn_between(a, j, w, x, y, z):
    """Return the rotation vector, in the joint's frame, from a[j] to another rotation."""
    w, x, y, z = product(a[j, 0], -a[j, 1], -a[j, 2], -a[j, 3], w, x, y, z)
    return to_vector(w, x, y, z)


@kernel
def propose(
    movers,
    freedoms,
    limits,
    slides,
    packed,
    tolerance,
    lifted,
    damping,
    longest,
    q,
    p,
    basis,
    r,
    free_r,
    y,
    slopes,
    gram,
    steps,
    normals,
    counts,
    clear,
    trial_q,
    trial_p,
    block,
    other,
    lanes,
):
    """Write, as `trial_q` and `trial_p`, a legal pose nearer to the goals, by their slopes.

    The limit of the mover `lifted` is left out of account.
    """
    t = trial_q
    begin_free(r, free_r, slopes, gram, steps, counts)
    for number in range(ROUNDS):
        dual_solve(gram, damping, free_r, slopes, y, steps)
        shorten(freedoms, longest, steps)
        first, again = ZERO, False
        for m in range(movers.shape[0]):
            j, n, known, at = movers[m], freedoms[m], counts[m], limits[m]
            if has_news(first, n, steps) or number == 0:
                propose_turn(m, j, n, first, steps, basis, q, t)
                w, x, y_, z = t[j, 0], t[j, 1], t[j, 2], t[j, 3]
                if at >= 0 and m != lifted and not is_clear(m, w, x, y_, z, clear):
                    block[W0], block[X0], block[Y0], block[Z0] = w, x, y_, z
                    if project_one(packed, at, tolerance, block, other, lanes):
                        for i in range(4):
                            t[j, i] = block[QW + LANES * i]
                        vx, vy, vz = turn_between(t, j, w, x, y_, z)
                        if new_normal(m, n, known, vx, vy, vz, basis, normals):
                            vx, vy, vz = turn_between(q, j, t[j, 0], t[j, 1], t[j, 2], t[j, 3])
                            settle(
                                *(m, n, first, known, vx, vy, vz, basis, normals, steps),
                                *(slopes, gram, free_r, y),
                            )
                            counts[m] = known + 1
                            again = True
                    else:
                        note_clear(m, packed, at, block, clear)
            first += n
        for k in range(slides.shape[0]):
            for i in range(3):
                trial_p[slides[k], i] = p[slides[k], i] + steps[STEP, first + 3 * k + i]
        if not again:
            break


@kernel
def probe(m, j, n, first, flat, r, slopes, basis, q, steps, t):
    """Write, as t[j], mover m after a small turn down the slope; tell if that would do something.

    What it could do, squared, is held against `flat`.
    """
    size = 0.0
    for k in range(first, first + n):
        along = 0.0
        for a in range(r.shape[0]):
            along += slopes[ALL, k, a] * r[a]
        steps[STEP, k] = along
        size += along * along
    if size <= flat:
        return False
    for k in range(first, first + n):
        steps[STEP, k] *= PROBE / np.sqrt(size)
    propose_turn(m, j, n, first, steps, basis, q, t)
    return True


@kernel
def keep(movers, slides, trial_q, trial_p, q, p):
    """Take the trial's rotations and positions for those of the pose."""
    for m in range(movers.shape[0]):
        for i in range(4):
            q[movers[m], i] = trial_q[movers[m], i]
    for s in range(slides.shape[0]):
        for i in range(3):
            p[slides[s], i] = trial_p[slides[s], i]
