"""One rotation of one joint, pulled into its limit."""

from __future__ import annotations

import numpy as np

from .covers import nearest
from .jit import kernel
from .limits import enter, leave
from .rotation import QW, QX, QY, QZ, W0, X0, Y0, Z0

ONE = np.int64(1)


@kernel
def pull_in(packed, at, tolerance, q, block, other, lanes):
    """Move the rotation q (4,) to the nearest legal one of the limit at packed[at:].

    A member stays as it is, bit for bit.
    """
    block[W0], block[X0], block[Y0], block[Z0] = q[0], q[1], q[2], q[3]
    enter(packed, at, block, ONE)
    nearest(packed, at, tolerance, block, other, lanes, ONE)
    leave(packed, at, tolerance, block, ONE)
    q[0], q[1], q[2], q[3] = block[QW], block[QX], block[QY], block[QZ]
