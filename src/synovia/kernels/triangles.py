"""How far points are from the nearest of some triangles each."""

from __future__ import annotations

import numpy as np

from .jit import kernel

THIN = 1e-30  # area, doubled, below which a triangle has no face but its edges


@kernel
def square_to_edge(x, y, z, dx, dy, dz):
    """Return the squared distance of the origin from the edge that begins at x, y, z."""
    along = -(x * dx + y * dy + z * dz) / max(dx * dx + dy * dy + dz * dz, 1e-300)
    share = min(max(along, 0.0), 1.0)
    return (x + share * dx) ** 2 + (y + share * dy) ** 2 + (z + share * dz) ** 2


@kernel
def turning(nx, ny, nz, x, y, z, dx, dy, dz):
    """Return a number that is not negative if the origin is left of an edge, about the normal."""
    u, v, w = ny * dz - nz * dy, nz * dx - nx * dz, nx * dy - ny * dx
    return -(u * x + v * y + w * z)


@kernel
def nearest_distances(points, corners, candidates, out):
    """Write how far each of (n, 3) points is from the nearest of its candidates.

    `corners` (t, 3, 3) are those of all triangles, `candidates` (n, k) the numbers of some.
    """
    for i in range(points.shape[0]):
        px, py, pz = points[i, 0], points[i, 1], points[i, 2]
        least = np.inf
        for k in range(candidates.shape[1]):
            t = candidates[i, k]
            ax, ay, az = corners[t, 0, 0] - px, corners[t, 0, 1] - py, corners[t, 0, 2] - pz
            bx, by, bz = corners[t, 1, 0] - px, corners[t, 1, 1] - py, corners[t, 1, 2] - pz
            cx, cy, cz = corners[t, 2, 0] - px, corners[t, 2, 1] - py, corners[t, 2, 2] - pz
            dx, dy, dz = bx - ax, by - ay, bz - az
            ex, ey, ez = cx - bx, cy - by, cz - bz
            fx, fy, fz = ax - cx, ay - cy, az - cz
            least = min(least, square_to_edge(ax, ay, az, dx, dy, dz))
            least = min(least, square_to_edge(bx, by, bz, ex, ey, ez))
            least = min(least, square_to_edge(cx, cy, cz, fx, fy, fz))
            # Above the face, if the point is on the inner side of all three edges.
            nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
            size = np.sqrt(nx * nx + ny * ny + nz * nz)
            first = turning(nx, ny, nz, ax, ay, az, dx, dy, dz)
            second = turning(nx, ny, nz, bx, by, bz, ex, ey, ez)
            third = turning(nx, ny, nz, cx, cy, cz, fx, fy, fz)
            if size > THIN and min(first, min(second, third)) >= 0.0:
                height = (ax * nx + ay * ny + az * nz) / size
                least = min(least, height * height)
        out[i] = np.sqrt(least)
