"""The axes about which joints can turn, from where they are.

Those of a hinge or a ball are the same everywhere. A joint that swings without twisting rolls as
it goes round: with its swing φ about a, across the bone's axis u, it turns about a, and about
cos(φ/2) u × a − sin(φ/2) u, as seen before its constant twist.
"""

from __future__ import annotations

import math

from .ik_turns import aside, crossed, length, product, turned
from .jit import kernel


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
def refresh_basis(movers, swings, fixed, q, basis):
    """Write the axes of all movers, in their own frames, at the rotations q."""
    for m in range(movers.shape[0]):
        for f in range(3):
            for i in range(3):
                basis[m, f, i] = fixed[m, f, i]
        if swings[m, 0] == 0.0:
            continue
        j = movers[m]
        ux, uy, uz = swings[m, 5], swings[m, 6], swings[m, 7]
        w, x, y, z = product(
            swings[m, 1],
            swings[m, 2],
            swings[m, 3],
            swings[m, 4],
            q[j, 0],
            q[j, 1],
            q[j, 2],
            q[j, 3],
        )
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
            ax, ay, az = aside(ux, uy, uz)
        bx, by, bz = crossed(ux, uy, uz, ax, ay, az)
        bx, by, bz = cosine * bx - half * ux, cosine * by - half * uy, cosine * bz - half * uz
        ax, ay, az = turned(c, -s * ux, -s * uy, -s * uz, ax, ay, az)
        bx, by, bz = turned(c, -s * ux, -s * uy, -s * uz, bx, by, bz)
        basis[m, 0, 0], basis[m, 0, 1], basis[m, 0, 2] = ax, ay, az
        basis[m, 1, 0], basis[m, 1, 1], basis[m, 1, 2] = bx, by, bz
