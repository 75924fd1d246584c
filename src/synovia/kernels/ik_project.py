"""One rotation brought into one limit, and how far around a legal one all is legal."""

from __future__ import annotations

import math

import numpy as np

from .covers import AXIS, CHART, DIRECTION_TWIST, SWING_TWIST, nearest
from .jit import kernel
from .limits import enter, leave
from .rotation import DISTANCE, W0, X0, Y0, Z0, X, Y, Z

ONE = np.int64(1)
ROOM = 0.5  # radians; farther around nothing is said to be clear
STEEP = 2.5  # radians of swing, beyond which a chart changes too fast to say so
LEAST = 1e-3  # radians; less is not worth a look, and cosines have no digits for it


@kernel
def project_one(packed, at, tolerance, block, other, lanes):
    """Project the quaternion at W0 … onto one limit; return whether it had to move, to QW …"""
    enter(packed, at, block, ONE)
    nearest(packed, at, tolerance, np.inf, block, other, lanes, ONE)
    if block[DISTANCE] <= tolerance:
        return False
    leave(packed, at, tolerance, block, ONE)
    return True


@kernel
def clearance(packed, at, block):
    """Return an angle by which the legal rotation in the block may turn, any way, and stay legal.

    A turn by δ moves a point of a chart, s from its origin, by at most
    δ √((s/sin s)² + 1/cos²(s/2)), s the swing or the whole angle; depths are never overstated.
    """
    depth, chart = -block[DISTANCE], int(packed[at + CHART])
    if depth <= LEAST or chart > DIRECTION_TWIST:
        return 0.0
    x, y, z = block[X], block[Y], block[Z]
    if chart == DIRECTION_TWIST:
        a = at + AXIS
        along = packed[a] * x + packed[a + 1] * y + packed[a + 2] * z
        s = math.acos(min(max(along, -1.0), 1.0)) + ROOM
    elif chart == SWING_TWIST:
        s = math.sqrt(x * x + y * y) + ROOM
    else:
        s = math.sqrt(x * x + y * y + z * z) + ROOM
    if s > STEEP:
        return 0.0
    stretch, cosine = s / math.sin(s), math.cos(0.5 * s)
    return min(ROOM, depth / math.sqrt(stretch * stretch + 1.0 / (cosine * cosine)))


@kernel
def is_clear(m, w, x, y, z, clear):
    """Tell whether a rotation is where all is known to be legal for mover m."""
    along = w * clear[m, 0] + x * clear[m, 1] + y * clear[m, 2] + z * clear[m, 3]
    return abs(along) > clear[m, 4]


@kernel
def note_clear(m, packed, at, block, clear):
    """Note around which rotation all is legal: the one in the block, if there is room.

    Returns the angle, 0 where there is too little.
    """
    angle = clearance(packed, at, block)
    if angle <= LEAST:
        return 0.0
    clear[m, 0], clear[m, 1], clear[m, 2] = block[W0], block[X0], block[Y0]
    clear[m, 3], clear[m, 4] = block[Z0], math.cos(0.499 * angle)
    return angle
