"""One rotation of one joint, pulled into its limit."""

from __future__ import annotations

import numpy as np

from .covers import nearest
from .jit import kernel
from .limits import enter, leave
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

ONE = np.int64(1)


@kernel
def pulled_in(packed, at, tolerance, w, x, y, z, block, other, lanes):
    """Return the nearest legal rotation, a member bit for bit, of the limit at packed[at:]."""
    block[W0], block[X0], block[Y0], block[Z0] = w, x, y, z
    enter(packed, at, block, ONE)
    nearest(packed, at, tolerance, block, other, lanes, ONE)
    leave(packed, at, tolerance, block, ONE)
    return block[QW], block[QX], block[QY], block[QZ]
