"""The nearest point of a convex polytope, exactly: Goldfarb and Idnani's dual method in 3-D."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rotation import DISTANCE, PX, PY, PZ, SCRATCH, X, Y, Z

FARTHEST = SCRATCH  # the row with the number of the axis along which the point is farthest out
VIOLATION = 1e-13  # radians beyond a plane that count as on it
DEPENDENT = 1e-20  # squared length of what is left of a normal across the active ones


@kernel
def nearest_in_polytope(p, count, axes, lows, highs, block, i):
    """Write the nearest point to lane `i` with low <= axis · x <= high, and its distance.

    Starts at the point itself, and adds the plane that is violated most; each step keeps the
    planes already met and drops one when its multiplier would turn negative. In three dimensions
    at most three planes are active, so all is written out in scalars: normals (a·, b·, c·),
    their multipliers, and an orthonormal basis of their span.
    """
    x, y, z = block[X + i], block[Y + i], block[Z + i]
    active = 0
    ax = ay = az = bx = by = bz = cx = cy = cz = 0.0
    ma = mb = mc = 0.0
    chosen = int(block[FARTHEST + i])
    for _ in range(8 * count + 32):
        # The chosen plane, as normal · x <= offset.
        nx, ny, nz = p[axes + 3 * chosen], p[axes + 3 * chosen + 1], p[axes + 3 * chosen + 2]
        offset = p[highs + chosen]
        along = nx * x + ny * y + nz * z
        if p[lows + chosen] - along > along - offset:
            nx, ny, nz, offset = -nx, -ny, -nz, -p[lows + chosen]
        multiplier = 0.0
        for _ in range(8):  # at most three planes can leave
            # Basis e, f, g of the active normals; r such that the span's part of n is Σ r · normal.
            ra = rb = rc = 0.0
            zx, zy, zz = nx, ny, nz
            if active > 0:
                # a has length 1; f and g are b and c made orthogonal to those before.
                pa = ax * nx + ay * ny + az * nz
                zx, zy, zz = zx - pa * ax, zy - pa * ay, zz - pa * az
                ra = pa
                if active > 1:
                    ab = ax * bx + ay * by + az * bz
                    fx, fy, fz = bx - ab * ax, by - ab * ay, bz - ab * az
                    fl = 1.0 / np.sqrt(fx * fx + fy * fy + fz * fz)
                    fx, fy, fz = fx * fl, fy * fl, fz * fl
                    pf = fx * nx + fy * ny + fz * nz
                    zx, zy, zz = zx - pf * fx, zy - pf * fy, zz - pf * fz
                    rb = pf * fl
                    if active > 2:
                        ac = ax * cx + ay * cy + az * cz
                        fc = fx * cx + fy * cy + fz * cz
                        gx = cx - ac * ax - fc * fx
                        gy = cy - ac * ay - fc * fy
                        gz = cz - ac * az - fc * fz
                        gl = 1.0 / np.sqrt(gx * gx + gy * gy + gz * gz)
                        rc = (gx * nx + gy * ny + gz * nz) * gl * gl
                        rb = (pf - fc * rc) * fl
                        ra = pa - ab * rb - ac * rc
                        zx = zy = zz = 0.0
                    else:
                        ra = pa - ab * rb
                        left = fx * zx + fy * zy + fz * zz
                        zx, zy, zz = zx - left * fx, zy - left * fy, zz - left * fz
                # Again: what is left of a normal across almost the same one is mostly rounding.
                if active < 3:
                    left = ax * zx + ay * zy + az * zz
                    zx, zy, zz = zx - left * ax, zy - left * ay, zz - left * az
            length = zx * zx + zy * zy + zz * zz
            # How far until a multiplier reaches 0, and until the plane is met.
            until = np.inf
            leaving = 0
            if active > 0 and ra > 1e-14 and ma < until * ra:
                until, leaving = ma / ra, 1
            if active > 1 and rb > 1e-14 and mb < until * rb:
                until, leaving = mb / rb, 2
            if active > 2 and rc > 1e-14 and mc < until * rc:
                until, leaving = mc / rc, 3
            meets = np.inf
            if length > DEPENDENT:
                meets = (nx * x + ny * y + nz * z - offset) / length
            if leaving == 0 and meets == np.inf:
                # No point meets all planes to the last digit: this is as near as it gets.
                break
            step = min(until, meets)
            if length > DEPENDENT:
                x, y, z = x - step * zx, y - step * zy, z - step * zz
            ma, mb, mc = ma - step * ra, mb - step * rb, mc - step * rc
            multiplier += step
            if meets <= until:
                if active == 0:
                    ax, ay, az, ma = nx, ny, nz, multiplier
                elif active == 1:
                    bx, by, bz, mb = nx, ny, nz, multiplier
                else:
                    cx, cy, cz, mc = nx, ny, nz, multiplier
                active += 1
                break
            if leaving == 1:
                ax, ay, az, ma = bx, by, bz, mb
                bx, by, bz, mb = cx, cy, cz, mc
            elif leaving == 2:
                bx, by, bz, mb = cx, cy, cz, mc
            active -= 1
        if meets == np.inf and leaving == 0:
            break
        worst = VIOLATION
        chosen = -1
        for j in range(count):
            along = p[axes + 3 * j] * x + p[axes + 3 * j + 1] * y + p[axes + 3 * j + 2] * z
            excess = max(along - p[highs + j], p[lows + j] - along)
            chosen = j if excess > worst else chosen
            worst = max(worst, excess)
        if chosen < 0:
            break
    block[PX + i] = x
    block[PY + i] = y
    block[PZ + i] = z
    dx, dy, dz = block[X + i] - x, block[Y + i] - y, block[Z + i] - z
    block[DISTANCE + i] = np.sqrt(dx * dx + dy * dy + dz * dz)
