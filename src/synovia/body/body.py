"""Body: the bones and the skin of a human skeleton."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Mask, Vectors
from ..rigs import align, recognize
from ..skeleton import Clip, Pose, Skeleton, forward
from .asset import Mesh, load_human
from .fit import fit_default_human, fit_rig

SIDES = ("left", "right")
WHOLE = ("Pelvis", "Head", "LeftHand", "RightHand", "LeftToes", "RightToes")
"""Segments without which the default human has no skin."""


@dataclass(frozen=True, eq=False)
class Body:
    """Bones and skin of the default human, attached to the joints of a skeleton.

    `joints` (segments,) is the joint that moves each segment, -1 for segments that the skeleton
    lacks. `offsets` (segments, 3, 4) map the meshes' coordinates to the frame of that joint.
    """

    skeleton: Skeleton
    joints: Ints
    offsets: Floats
    bones: Mesh
    skin: Mesh | None

    def owners(self, mesh: Mesh) -> Ints:
        """Return the joint (n,) with the largest weight at each vertex of a mesh."""
        return np.asarray(self.joints[mesh.owners])

    def vertices(self, mesh: Mesh, pose: Pose) -> Vectors:
        """Return the world positions (n, 3) of a mesh's vertices in one pose (linear blending)."""
        positions, rotations = forward(self.skeleton, pose)
        matrices = quat.to_matrix(rotations)[self.joints] @ self.offsets
        matrices[:, :, 3] += positions[self.joints]
        blended = np.einsum("nk,nkij->nij", mesh.weights, matrices[mesh.segments])
        moved = np.einsum("nij,nj->ni", blended[:, :, :3], mesh.vertices)
        return np.asarray(moved + blended[:, :, 3])


def body_of(skeleton: Skeleton, clip: Clip | None = None, *, skin: bool = True) -> Body | None:
    """Return the body of the default human, or of a rig in which a human is recognised.

    A clip of the skeleton helps to find the directions of its bones. Returns None where no human is
    recognised, and for rigs whose feet are not below their legs.
    """
    fitting = fit_default_human(skeleton)
    if fitting is not None:
        skin = skin and all(name in skeleton.names for name in WHOLE)
    else:
        try:
            rig = recognize(skeleton)
            legs = [side for side in SIDES if f"{side}LowerLeg" in rig.roles]
            if any(f"{side}Foot" not in rig.roles for side in legs):
                return None
            fitting = fit_rig(align(rig, [] if clip is None else [clip]))
        except ValueError:  # not a human, or its upright pose is unknown
            return None
    human = load_human()
    known = fitting.joints >= 0
    return Body(
        skeleton,
        fitting.joints,
        fitting.offsets,
        _keep_segments(human.bones, known),
        _keep_segments(human.skin, known) if skin else None,
    )


def _keep_segments(mesh: Mesh, known: Mask) -> Mesh:
    """Return the part of a mesh whose first segments are in the mask `known` (segments,).

    The first segment of skin has the largest weight. The first segment of a rib's cartilage is the
    rib, even where it moves with the sternum.
    """
    if known.all():
        return mesh
    is_kept = known[mesh.segments[:, 0]]
    weights = np.where(known[mesh.segments], mesh.weights, 0.0)
    weights[weights.sum(axis=1) < 1e-6, 0] = 1.0
    return replace(
        mesh,
        triangles=mesh.triangles[is_kept[mesh.triangles].all(axis=1)],
        weights=weights / weights.sum(axis=1, keepdims=True),
    )
